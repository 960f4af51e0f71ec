-- Snapshots of views, which machines keep for each other: of each view the newest. They are a cache, and may be removed.
CREATE TABLE snapshots (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name text COLLATE "C" NOT NULL CHECK (length(name) <= 200),
    code integer NOT NULL,
    seq bigint NOT NULL CHECK (seq > 0),
    event_id text COLLATE "C" NOT NULL,
    kinds text[] NOT NULL,
    n_bytes bigint NOT NULL CHECK (n_bytes BETWEEN 0 AND 1073741824),
    manifest bytea NOT NULL CHECK (length(manifest) <= 4194304)
);
CREATE TABLE snapshot_parts (
    snapshot uuid NOT NULL REFERENCES snapshots ON DELETE CASCADE,
    column_name text COLLATE "C" NOT NULL CHECK (length(column_name) <= 200),
    number integer NOT NULL CHECK (number BETWEEN 0 AND 1024),
    data bytea NOT NULL CHECK (length(data) <= 4194304),
    PRIMARY KEY (snapshot, column_name, number)
);
-- What the planner samples of a column outlives what is erased.
ALTER TABLE snapshots ALTER COLUMN manifest SET STATISTICS 0;
ALTER TABLE snapshot_parts ALTER COLUMN data SET STATISTICS 0;
-- An erasure removes the snapshots that may hold something of it, whoever erases: whoever may change a body need not
-- be allowed to change these tables. After a merge of projects is erased, all is folded anew.
CREATE FUNCTION remove_reached_snapshots() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = theorex, pg_temp AS $$
BEGIN
    DELETE FROM snapshots WHERE seq >= OLD.seq AND (OLD.kind = ANY (kinds) OR OLD.kind = 'projects_merged');
    RETURN NULL;
END
$$;
CREATE TRIGGER erasures_remove_snapshots AFTER UPDATE ON events
    FOR EACH ROW EXECUTE FUNCTION remove_reached_snapshots();
ALTER TABLE events ENABLE ALWAYS TRIGGER erasures_remove_snapshots;
UPDATE journal SET layout = 2;
