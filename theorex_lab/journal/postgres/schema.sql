-- Which journal this is, and how it is laid out.
CREATE TABLE journal (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    layout integer NOT NULL
);
INSERT INTO journal (layout) VALUES (1);
CREATE TABLE events (
    seq bigint PRIMARY KEY CHECK (seq > 0),
    id text COLLATE "C" NOT NULL CONSTRAINT events_have_ids_of_their_own UNIQUE,
    at bigint NOT NULL,
    agent text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    lineage text COLLATE "C" NOT NULL,
    body text COLLATE "C" NOT NULL,
    crc bigint NOT NULL,
    -- The project as the body writes it, '' for none. PostgreSQL cannot read the escape of the sign U+0000, so that
    -- another is read in its place; both have the same length, and may follow a backslash.
    project text COLLATE "C" NOT NULL GENERATED ALWAYS AS (
        coalesce(left(substring((replace(body, '\u0000', '\u0001')::json -> 'project')::text FROM '^"(.*)"$'), 100), '')
    ) STORED
);
-- What the planner samples of a column outlives what is erased.
ALTER TABLE events ALTER COLUMN body SET STATISTICS 0, ALTER COLUMN session SET STATISTICS 0;
CREATE INDEX events_of_projects ON events (project, seq);
-- An update may only replace a body by its erased form, which takes the session along; nothing else about an event
-- ever changes.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.seq = OLD.seq AND NEW.id = OLD.id AND NEW.at = OLD.at AND NEW.agent = OLD.agent
            AND NEW.kind = OLD.kind AND NEW.lineage = OLD.lineage AND NEW.session IN ('', OLD.session)
            AND (NEW.body::json -> 'erased')::text = '1'
        THEN
            RETURN NEW;
        END IF;
        RAISE EXCEPTION 'events are never changed' USING ERRCODE = 'restrict_violation';
    END IF;
    RAISE EXCEPTION 'events are never deleted' USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER events_are_not_deleted BEFORE DELETE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER events_are_not_truncated BEFORE TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- Also where a session takes itself for a replica.
ALTER TABLE events ENABLE ALWAYS TRIGGER events_are_not_changed;
ALTER TABLE events ENABLE ALWAYS TRIGGER events_are_not_deleted;
ALTER TABLE events ENABLE ALWAYS TRIGGER events_are_not_truncated;
