"""Keep episodes and records.

They are what happened recently, and what is kept under a key for the sessions to come.

Each write is one event, in the journal when the call returns: nothing is ever written
again as a whole, so that a write costs the same however much is kept, and several
processes may write at once.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import chain
from typing import Any

import numpy as np

from theorex_lab.core.clock import to_datetime
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent, check_session
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.designs.research import GENERAL
from theorex_lab.designs.research.items import checked_domain, record_id_of
from theorex_lab.designs.research.settings import research_settings
from theorex_lab.journal.columns import Names, Strings, Table
from theorex_lab.journal.event import Event, encode, new_event
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import DesignApi, Home
from theorex_lab.memory.observation import TRUST, check_tags, check_text
from theorex_lab.text.redact.redaction_scope import kept_text, kept_value

RING = 500
_CAPTURES = ("episode", "prompt", "tool_used", "turn_ended", "outcome", "observation")
_KEY_CHARACTERS = 500
_CAPTURE_CHARACTERS = 200
_METADATA_BYTES = 8_192
# Members of a capture's body that say what happened.
_CONTENT_MEMBERS = ("content", "text", "command", "result", "response")
_DEEPEST = 100
_BETWEEN = "\0"  # a project and a key; neither holds it
Metadata = Mapping[str, Any]


@dataclass(frozen=True)
class EpisodicEntry:
    """Hold what an agent did.

    Attributes:
        entry_id: The id of its event.
        session_id: In which session.
        agent_role: The role that the agent named, else the agent.
        content: What was done, in words.
        metadata: Structured, such as {"tool": "bash"}.
        timestamp: When.
    """

    entry_id: str
    session_id: str
    agent_role: str
    content: str
    metadata: Metadata
    timestamp: datetime


@dataclass(frozen=True)
class CrossRunRecord:
    """Hold what is kept under a key.

    Attributes:
        record_id: The id of the key's record.
        key: The key.
        value: Any JSON value.
        tags: Its tags.
        source_session: The session that wrote it.
        created_at: When the key was first written.
        updated_at: When it was written last.
    """

    record_id: str
    key: str
    value: Any
    tags: list[str]
    source_session: str
    created_at: datetime
    updated_at: datetime

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        return with_iso_times(asdict(self))


def with_iso_times(members: dict[str, Any]) -> dict[str, Any]:
    """Return a dictionary whose times are ISO 8601."""
    plain = dict(members)
    for name, value in members.items():
        if isinstance(value, datetime):
            plain[name] = value.isoformat()
    return plain


class Episodes(View):
    """Hold the last 500 captures, whoever made them, and what each session is about.

    Attributes:
        rows: seq and role of each capture. The role is the number of a name: what an
            episode says, else the agent.
        domains: The domains of sessions, in the order in which they were told.
        about: By session, the index of the domain that was told last.
    """

    name = "research_episodes"
    code = 1
    kinds = (*_CAPTURES, "session_begun")

    def __init__(self) -> None:
        super().__init__()
        self.roles = Names()
        self.sessions = Names()
        self.domains = Strings()
        self.rows = Table(seq="i8", role="i4")
        self.about = Table(domain="i8")

    def apply(self, events: Sequence[Event]) -> None:
        """Take in captures and domains of sessions; the last 500 captures stay."""
        seqs: list[int] = []
        roles: list[str] = []
        for event in events:
            if event.kind == "session_begun":
                row = self.sessions.number(event.session)
                if row == len(self.about):
                    self.about.add()
                self.about.put(row, domain=len(self.domains))
                self.domains.append(event.body["domain"])
            else:
                seqs.append(event.seq)
                roles.append(event.body.get("agent_role") or event.agent)
        if seqs:
            self.rows.put(
                self.rows.grow(len(seqs)),
                seq=seqs,
                role=self.roles.numbered(roles),
            )
        n_rows = len(self.rows)
        if n_rows > RING:
            is_recent = np.arange(n_rows) >= n_rows - RING
            self.rows.keep(is_recent)


def begin_session(
    home: Home, session_id: str, domain: str, *, agent: str = "main"
) -> None:
    """Say what a session is about.

    What it leaves is kept in this domain, where the next sessions look.

    Args:
        home: Where that is noted.
        session_id: The session.
        domain: What it is about, one line.
        agent: Whose session it is.

    Raises:
        InvalidInput: The session or the domain is outside the rules.
    """
    DesignApi(home).append(
        "session_begun",
        {"domain": checked_domain(domain), "source": "agent"},
        agent=agent,
        session=session_id,
    )


def domain_of(home: Home, session_id: str) -> str:
    """Return what a session is about, '' where nobody said it."""
    if not session_id:
        return ""
    with home.views.reading(Episodes) as view:
        row = view.sessions.find(session_id)
        if row is None:
            return ""
        index = int(view.about["domain"][row])
        return view.domains[index]


def chosen_domain(
    home: Home, domain: str, session_id: str, *, project: str = ""
) -> str:
    """Return a domain, else the session's, the setting's, the project, or `general`.

    The setting is `domain`. Each counts where those before it are ''.

    Args:
        home: Where it is noted what sessions are about.
        domain: The domain that was named; '' for none.
        session_id: The session.
        project: The project that the session worked on; '' where nobody knows it.

    Raises:
        InvalidInput: The domain, or that of the setting, is outside the rules.
    """
    named_domain = checked_domain(domain) or domain_of(home, session_id)
    if named_domain:
        return named_domain
    return checked_domain(research_settings(home).domain) or project or GENERAL


def log_event(
    home: Home,
    agent_role: str,
    content: str,
    metadata: Metadata | None = None,
    *,
    session: str = "",
    agent: str = "main",
    source: str = "agent",
) -> EpisodicEntry:
    """Record what an agent did, decided or met, in a text of its own.

    Args:
        home: Where it is kept.
        agent_role: In which role.
        content: What was done, in words.
        metadata: A JSON object of up to 8 KiB.
        session: In which session.
        agent: Which agent.
        source: Whose word it is.

    Raises:
        InvalidInput: The role, text or metadata is outside the rules.
    """
    text = encode(metadata or {})
    size = len(text.encode())
    if size > _METADATA_BYTES or not isinstance(metadata or {}, Mapping):
        raise InvalidInput(
            f"got the metadata {metadata!r:.100}; allowed is a JSON object of up to 8"
            " KiB, such as {'tool': 'bash'}"
        )
    body = {
        "agent_role": check_agent(agent_role),
        "content": check_text(content, home.settings.max_text_bytes),
        "metadata": dict(metadata or {}),
        "source": checked_source(source),
    }
    event = DesignApi(home).append(
        "episode", body, agent=agent, session=check_session(session)
    )
    return _entry(event)


def checked_source(source: str) -> str:
    """Return a source of what is written.

    Raises:
        InvalidInput: There is no such source.
    """
    if source not in TRUST:
        raise InvalidInput(f"got the source {source!r}; allowed are {', '.join(TRUST)}")
    return source


def recent_events(
    home: Home, n: int = 20, agent_role: str | None = None
) -> list[EpisodicEntry]:
    """Return the last n of the last 500 captures, the newest last.

    Args:
        home: Where they are kept.
        n: How many at most.
        agent_role: Only of this role; default: of all.

    Raises:
        InvalidInput: n is negative.
    """
    if n < 0:
        raise InvalidInput(f"got n={n}; allowed are whole numbers from 0")
    with home.views.reading(Episodes) as view:
        seqs = view.rows["seq"]
        if agent_role is not None:
            numbers = view.roles.numbers(agent_role)
            has_role = np.isin(view.rows["role"], numbers)
            seqs = seqs[has_role]
        if home.projects is None:
            start = max(0, len(seqs) - n)
            seqs = seqs[start:]
        chosen = seqs.tolist()
    entries = []
    for event in home.journal.read(seqs=chosen):
        if _is_of_projects(home, event):
            entries.append(_entry(event))
    start = max(0, len(entries) - n)
    return entries[start:]


def search_events(
    home: Home, text: str = "", *, metadata: Metadata | None = None
) -> list[EpisodicEntry]:
    """Return those of the last 500 captures that hold a text and have this metadata.

    Upper and lower case are the same.

    Args:
        home: Where they are kept.
        text: A part of what was done.
        metadata: Members that the entries' metadata has, with their values; None for
            any.
    """
    folded_text = text.casefold()
    entries = []
    for entry in recent_events(home, RING):
        has_text = folded_text in entry.content.casefold()
        if has_text and _has_metadata(entry, metadata or {}):
            entries.append(entry)
    return entries


def _has_metadata(entry: EpisodicEntry, metadata: Metadata) -> bool:
    """Return whether an entry has each of these members with its value."""
    for name, value in metadata.items():
        if name not in entry.metadata or entry.metadata[name] != value:
            return False
    return True


def _is_of_projects(home: Home, event: Event) -> bool:
    """Return whether an event is of the home's projects or of none."""
    if home.projects is None:
        return True
    return event.body.get("project", "") in ("", *home.projects)


def _entry(event: Event) -> EpisodicEntry:
    """Return a capture as an entry; of what is no episode, the beginning."""
    body = event.body
    content = ""
    for name in _CONTENT_MEMBERS:
        if body.get(name):
            content = str(body[name])
            break
    if event.kind == "episode":
        metadata = body["metadata"]
    else:
        content = content[:_CAPTURE_CHARACTERS]
        metadata = {"kind": event.kind}
        if "tool" in body:
            metadata["tool"] = body["tool"]
    return EpisodicEntry(
        entry_id=event.id,
        session_id=event.session,
        agent_role=body.get("agent_role") or event.agent,
        content=content,
        metadata=metadata,
        timestamp=to_datetime(event.at),
    )


class Records(View):
    """Hold records by project and key, a row each.

    Attributes:
        keys: The project and the key of each, with a NUL between.
        about: JSON of the tags of each write.
        rows: seq of the last write (0: deleted); created, updated: when it was first
            and last written (µs); place: the index in `about` of its last write.
    """

    name = "research_records"
    code = 1
    kinds = ("record", "record_deleted")

    def __init__(self) -> None:
        super().__init__()
        self.keys = Names()
        self.about = Strings()
        self.rows = Table(seq="i8", created="i8", updated="i8", place="i8")

    def _row(self, event: Event) -> int:
        """Return the row of an event's key, which is added where there is none."""
        name = _name_of(event.body.get("project", ""), event.body["key"])
        row = self.keys.number(name)
        if row == len(self.rows):
            self.rows.add()
        return row

    def _record(self, event: Event) -> None:
        row = self._row(event)
        body = event.body
        if self.rows["seq"][row]:
            created = int(self.rows["created"][row])
        else:
            created = body.get("created_at", event.at)
        self.rows.put(
            row,
            seq=event.seq,
            created=created,
            updated=event.at,
            place=len(self.about),
        )
        tags = json.dumps(body["tags"])
        self.about.append(tags)

    def _record_deleted(self, event: Event) -> None:
        row = self._row(event)
        self.rows.put(row, seq=0)


def _name_of(project: str, key: str) -> str:
    """Return the name under which a view holds a key of a project."""
    return f"{project}{_BETWEEN}{key}"


def keep_record(
    home: Home,
    key: str,
    value: Any,
    tags: Sequence[str] | None = None,
    *,
    source_session: str = "",
    agent: str = "main",
    source: str = "agent",
) -> str:
    """Keep a JSON value under a key of the home's project; return the record's id.

    It replaces what was there.

    Args:
        home: Where it is kept.
        key: 1 to 500 printable characters.
        value: What JSON holds as it is, no larger than four texts may be.
        tags: Its tags.
        source_session: The session that writes it.
        agent: The agent that writes it.
        source: Whose word it is.

    Raises:
        InvalidInput: The key or the value is outside the rules. Nothing was written.
    """
    body = record_body(home, key, value, tags or ())
    body |= {
        "source_session": check_session(source_session),
        "source": checked_source(source),
        "project": home.project,
    }
    event = new_event(
        "record", body, agent=agent, session=source_session, at=home.clock.now()
    )
    home.journal.append([event])
    return str(body["record_id"])


def record_body(
    home: Home, key: str, value: Any, tags: Sequence[str]
) -> dict[str, Any]:
    """Return the members record_id, key, value and tags of a record, secrets masked.

    Args:
        home: Where it is to be kept.
        key: The key.
        value: Any JSON value.
        tags: Its tags.

    Raises:
        InvalidInput: As `keep_record` raises it.
    """
    _check_key(key)
    text = encode(_exactly(value))
    size = len(text.encode())
    most = 4 * home.settings.max_text_bytes
    if size > most:
        raise InvalidInput(
            f"got a value of {size:,} bytes; allowed are {most:,}: keep it as a file,"
            " and its path here"
        )
    # A key may say that its value is a secret.
    ((masked_key, masked_value),) = kept_value({key: value}).items()
    return {
        "record_id": record_id_of(home.project, masked_key),
        "key": masked_key,
        "value": masked_value,
        "tags": [kept_text(tag) for tag in check_tags(tags)],
    }


def _check_key(key: object) -> None:
    """Raise an error for a key that is blank, too long or not printable.

    Raises:
        InvalidInput: It is.
    """
    is_valid = (
        isinstance(key, str)
        and 0 < len(key.strip()) <= len(key) <= _KEY_CHARACTERS
        and key.isprintable()
    )
    if not is_valid:
        raise InvalidInput(
            f"got the key {key!r:.100}; allowed are 1 to 500 printable characters, such"
            " as theory.failed.bounds"
        )


def _exactly(value: Any) -> Any:
    """Return the value, if JSON gives it back as it was.

    Raises:
        InvalidInput: A key is no text, or the value is nested without end.
    """
    # Each round goes one level deeper: the parts of the parts before.
    level = [value]
    depth = 0
    while level:
        depth += 1
        if depth > _DEEPEST or not all(_has_text_keys(part) for part in level):
            allowed = f"JSON values with texts as keys, nested up to {_DEEPEST} deep"
            raise InvalidInput(
                f"got a value that JSON does not hold as it is ({value!r:.100});"
                f" allowed are {allowed}"
            )
        level = list(chain.from_iterable(map(_parts_of, level)))
    return value


def _has_text_keys(value: Any) -> bool:
    """Return whether a value is no object, or one whose keys are texts."""
    if not isinstance(value, dict):
        return True
    return all(isinstance(key, str) for key in value)


def _parts_of(value: Any) -> Iterable[Any]:
    """Return the values that an object or a list holds."""
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, list | tuple):
        return value
    return ()


def recall_value(home: Home, key: str) -> Any | None:
    """Return the value under a key of the home's project, else of none.

    None where there is none.
    """
    record = record_of(home, key)
    if record is None:
        return None
    return record.value


def record_of(home: Home, key: str) -> CrossRunRecord | None:
    """Return the record under a key of the home's project, else of none.

    None where there is none.
    """
    with home.views.reading(Records) as view:
        for project in (home.project, ""):
            name = _name_of(project, key)
            row = view.keys.find(name)
            if row is None or not view.rows["seq"][row]:
                continue
            records = _records(home, view, [row])
            return records[0] if records else None
    return None


def recall_by_tag(home: Home, tag: str) -> list[CrossRunRecord]:
    """Return the records with this tag, the first written first."""
    with home.views.reading(Records) as view:
        rows = []
        for row in _rows(home, view):
            index = int(view.rows["place"][row])
            tags = json.loads(view.about[index])
            if tag in tags:
                rows.append(row)
        return _records(home, view, rows)


def search_keys(home: Home, prefix: str = "") -> list[str]:
    """Return the keys that begin with a text, in their order."""
    keys = set()
    with home.views.reading(Records) as view:
        for row in _rows(home, view):
            _, _, key = view.keys[row].partition(_BETWEEN)
            if key.startswith(prefix):
                keys.add(key)
    return sorted(keys)


def all_records(home: Home) -> list[CrossRunRecord]:
    """Return all records of the home's project or of none, the first written first."""
    with home.views.reading(Records) as view:
        return _records(home, view, _rows(home, view))


def delete(home: Home, key: str, *, agent: str = "main") -> bool:
    """Take a record of the home's project back; return whether there was one.

    What it said stays in the journal; `erase` removes it.

    Args:
        home: Where it is kept.
        key: The key.
        agent: Who takes it back.
    """
    with home.views.reading(Records) as view:
        name = _name_of(home.project, key)
        row = view.keys.find(name)
        if row is None or not view.rows["seq"][row]:
            return False
    body = {
        "record_id": record_id_of(home.project, key),
        "key": key,
        "source": "agent",
    }
    DesignApi(home).append("record_deleted", body, agent=agent)
    return True


def _rows(home: Home, view: Records) -> list[int]:
    """Return the rows that are not deleted, the first written first.

    They are of the home's projects or of none.
    """
    is_there = view.rows["seq"] > 0
    row_numbers = np.flatnonzero(is_there)
    created = view.rows["created"][row_numbers]
    by_time = np.argsort(created, kind="stable")
    rows: list[int] = row_numbers[by_time].tolist()
    if home.projects is None:
        return rows
    projects = {"", *home.projects}
    rows_of_projects = []
    for row in rows:
        project, _, _ = view.keys[row].partition(_BETWEEN)
        if project in projects:
            rows_of_projects.append(row)
    return rows_of_projects


def _records(home: Home, view: Records, rows: Iterable[int]) -> list[CrossRunRecord]:
    """Return the records in rows, those whose events are not erased."""
    by_seq = {int(view.rows["seq"][row]): row for row in rows}
    bodies = {event.seq: event.body for event in home.journal.read(seqs=[*by_seq])}
    records = []
    for seq, row in by_seq.items():
        body = bodies.get(seq)
        if not body:
            continue
        created = int(view.rows["created"][row])
        updated = int(view.rows["updated"][row])
        record = CrossRunRecord(
            record_id=body["record_id"],
            key=body["key"],
            value=body["value"],
            tags=body["tags"],
            source_session=body["source_session"],
            created_at=to_datetime(created),
            updated_at=to_datetime(updated),
        )
        records.append(record)
    return records
