CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    at INTEGER NOT NULL,
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    kind TEXT NOT NULL,
    lineage TEXT NOT NULL,
    body TEXT NOT NULL,
    crc INTEGER NOT NULL
) STRICT;
CREATE TRIGGER events_are_not_replaced BEFORE INSERT ON events
WHEN EXISTS (SELECT 1 FROM events WHERE seq = NEW.seq OR id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'an event with this id is there already'); END;
CREATE TRIGGER events_are_not_deleted BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
-- An update may only replace a body by its erased form, which takes the session along, or a whole one by its archived
-- form; nothing else about an event ever changes.
CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
WHEN NEW.seq IS NOT OLD.seq OR NEW.id IS NOT OLD.id OR NEW.at IS NOT OLD.at OR NEW.agent IS NOT OLD.agent
    OR NEW.kind IS NOT OLD.kind OR NEW.lineage IS NOT OLD.lineage
    OR NOT (NEW.session IS OLD.session OR (NEW.session IS '' AND json_extract(NEW.body, '$.erased') IS 1))
    OR NOT (json_extract(NEW.body, '$.erased') IS 1 OR (
        json_type(NEW.body, '$.archived') IS 'text' AND json_type(NEW.body, '$.sha256') IS 'text'
        AND json_type(OLD.body, '$.archived') IS NULL AND json_type(OLD.body, '$.erased') IS NULL))
BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
-- As `store.py` names them.
PRAGMA application_id = 8258787;
PRAGMA user_version = 2;
