"""Episodes and records: what happened of late, and what is kept under a key for the
sessions to come.

Each write is one event, in the journal when the call returns: nothing is ever written
again as a whole, so that a write costs the same however much is kept, and several
processes may write at once.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import numpy as np

from theorex_lab.core.clock import to_datetime
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent, check_session
from theorex_lab.designs.research.items import checked_domain, record_id_of
from theorex_lab.journal.columns import Names, Strings, Table
from theorex_lab.journal.event import Event, encode, new_event
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import DesignApi, Home
from theorex_lab.memory.observation import TRUST, check_tags, check_text
from theorex_lab.text.redact.redaction_scope import kept_text, kept_value

RING = 500
_CAPTURES = ("episode", "prompt", "tool_used", "turn_ended", "outcome", "observation")
_KEY_CHARACTERS = 500
_SAID_CHARACTERS = 200
_METADATA_BYTES = 8_192
_SAID = (
    "content",
    "text",
    "command",
    "result",
    "response",
)  # members of a capture's body that say what happened
_DEEPEST = 100
_BETWEEN = "\0"  # a project and a key; neither holds it
Metadata = Mapping[str, Any]


@dataclass(frozen=True)
class EpisodicEntry:
    """What an agent did. agent_role: as it said, else the agent.  metadata: structured,
    such as {"tool": "bash"}.
    """

    entry_id: str
    session_id: str
    agent_role: str
    content: str
    metadata: Metadata
    timestamp: datetime


@dataclass(frozen=True)
class CrossRunRecord:
    """What is kept under a key. value: any JSON value.  created_at: when the key was
    first written.
    """

    record_id: str
    key: str
    value: Any
    tags: list[str]
    source_session: str
    created_at: datetime
    updated_at: datetime

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        return with_iso_times(asdict(self))


def with_iso_times(told: dict[str, Any]) -> dict[str, Any]:
    """A dictionary whose times are ISO 8601."""
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in told.items()
    }


class Episodes(View):
    """The last 500 captures, whoever made them, and what each session is about.

    rows: seq and role (number of a name: what an episode says, else the agent).
    domains: by session, the domain said last.
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
        """Take in captures, the last 500 stay, and domains of sessions."""
        for event in events:
            if event.kind == "session_begun":
                if (row := self.sessions.number(event.session)) == len(self.about):
                    self.about.add()
                self.about.put(row, domain=len(self.domains))
                self.domains.append(event.body["domain"])
            else:
                self.rows.add(
                    seq=event.seq,
                    role=self.roles.number(event.body.get("agent_role") or event.agent),
                )
        if (more := len(self.rows) - RING) > 0:
            self.rows.keep(np.arange(len(self.rows)) >= more)


def begin_session(
    home: Home, session_id: str, domain: str, *, agent: str = "main"
) -> None:
    """Say what a session is about: what it leaves is kept in this domain, where the
    next sessions look.

    Raises InvalidInput for a session or a domain outside the rules.
    """
    DesignApi(home).append(
        "session_begun",
        {"domain": checked_domain(domain), "source": "agent"},
        agent=agent,
        session=session_id,
    )


def domain_of(home: Home, session_id: str) -> str:
    """What a session is about, '' where nobody said it."""
    with home.views.reading(Episodes) as view:
        row = view.sessions.find(session_id) if session_id else None
        return "" if row is None else view.domains[int(view.about["domain"][row])]


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

    metadata: a JSON object of up to 8 KiB. Raises InvalidInput for a role, text or
    metadata outside the rules.
    """
    if len(encode(metadata or {}).encode()) > _METADATA_BYTES or not isinstance(
        metadata or {}, Mapping
    ):
        raise InvalidInput(
            f"got the metadata {metadata!r:.100}; allowed is a JSON object of up to 8"
            " KiB, such as {'tool': 'bash'}"
        )
    said = {
        "agent_role": check_agent(agent_role),
        "content": check_text(content, home.settings.max_text_bytes),
    }
    body = {**said, "metadata": dict(metadata or {}), "source": checked_source(source)}
    return _entry(
        DesignApi(home).append(
            "episode", body, agent=agent, session=check_session(session)
        )
    )


def checked_source(source: str) -> str:
    """A source of what is written. Raises InvalidInput for one that does not exist."""
    if source not in TRUST:
        raise InvalidInput(f"got the source {source!r}; allowed are {', '.join(TRUST)}")
    return source


def recent_events(
    home: Home, n: int = 20, agent_role: str | None = None
) -> list[EpisodicEntry]:
    """The last n of the last 500 captures, of a role or of all, the newest last; n = 0
    gives none.

    Raises InvalidInput for a negative n.
    """
    if n < 0:
        raise InvalidInput(f"got n={n}; allowed are whole numbers from 0")
    with home.views.reading(Episodes) as view:
        seqs = view.rows["seq"]
        if agent_role is not None:
            seqs = seqs[np.isin(view.rows["role"], view.roles.numbers(agent_role))]
        chosen = (
            seqs.tolist()
            if home.projects is not None
            else seqs[len(seqs) - min(n, len(seqs)) :].tolist()
        )
    found = [
        _entry(event) for event in home.journal.read(seqs=chosen) if _here(home, event)
    ]
    return found[len(found) - min(n, len(found)) :]


def search_events(home: Home, text: str = "", **metadata: Any) -> list[EpisodicEntry]:
    """Those of the last 500 captures that hold a text, in any case, and have this
    metadata.
    """
    wanted = text.casefold()
    return [
        entry
        for entry in recent_events(home, RING)
        if wanted in entry.content.casefold()
        and all(
            name in entry.metadata and entry.metadata[name] == value
            for name, value in metadata.items()
        )
    ]


def _here(home: Home, event: Event) -> bool:
    return home.projects is None or event.body.get("project", "") in (
        "",
        *home.projects,
    )


def _entry(event: Event) -> EpisodicEntry:
    body = event.body
    own = event.kind == "episode"
    content = next((str(body[name]) for name in _SAID if body.get(name)), "")
    told = (
        body["metadata"]
        if own
        else {"kind": event.kind, **({"tool": body["tool"]} if "tool" in body else {})}
    )
    role = body.get("agent_role") or event.agent
    shown = content if own else content[:_SAID_CHARACTERS]
    return EpisodicEntry(
        event.id, event.session, role, shown, told, to_datetime(event.at)
    )


class Records(View):
    """Records by project and key. rows: seq of the last write (0: deleted), when it was
    first and last written (µs).

    about: JSON of the tags of each write, the last of a record at `place`.
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
        if (
            row := self.keys.number(
                _place(event.body.get("project", ""), event.body["key"])
            )
        ) == len(self.rows):
            self.rows.add()
        return row

    def _record(self, event: Event) -> None:
        row = self._row(event)
        body = event.body
        created = (
            body.get("created_at", event.at)
            if not self.rows["seq"][row]
            else int(self.rows["created"][row])
        )
        self.rows.put(
            row, seq=event.seq, created=created, updated=event.at, place=len(self.about)
        )
        self.about.append(json.dumps(body["tags"]))

    def _record_deleted(self, event: Event) -> None:
        self.rows.put(self._row(event), seq=0)


def _place(project: str, key: str) -> str:
    return f"{project}{_BETWEEN}{key}"


def keep_record(
    home: Home,
    key: str,
    value: Any,
    tags: Sequence[str] | None = None,
    source_session: str = "",
    *,
    agent: str = "main",
    source: str = "agent",
) -> str:
    """Keep a JSON value under a key of the home's project, in the place of what was
    there; returns the record's id.

    Raises InvalidInput for a key that is blank or longer than 500 characters, and for a
    value that JSON does not hold as it is, or that is larger than four texts may be;
    then nothing was written.
    """
    body = record_body(home, key, value, tags or ())
    body |= {
        "source_session": check_session(source_session),
        "source": checked_source(source),
    }
    body["project"] = home.project
    home.journal.append(
        [
            new_event(
                "record", body, agent=agent, session=source_session, at=home.clock.now()
            )
        ]
    )
    return str(body["record_id"])


def record_body(
    home: Home, key: str, value: Any, tags: Sequence[str]
) -> dict[str, Any]:
    """The checked members record_id, key, value and tags of a record, secrets masked.
    Raises InvalidInput as `keep_record`.
    """
    if (
        not isinstance(key, str)
        or not 0 < len(key.strip()) <= len(key) <= _KEY_CHARACTERS
        or not key.isprintable()
    ):
        raise InvalidInput(
            f"got the key {key!r:.100}; allowed are 1 to 500 printable characters, such"
            " as theory.failed.bounds"
        )
    text = encode(_exactly(value))
    most = 4 * home.settings.max_text_bytes
    if (size := len(text.encode())) > most:
        raise InvalidInput(
            f"got a value of {size:,} bytes; allowed are {most:,}: keep it as a file,"
            " and its path here"
        )
    ((key, kept),) = kept_value(
        {key: value}
    ).items()  # a key may say that its value is a secret
    body = {"record_id": record_id_of(home.project, key), "key": key, "value": kept}
    return {**body, "tags": [kept_text(tag) for tag in check_tags(tags)]}


def _exactly(value: Any) -> Any:
    """The value, if JSON gives it back as it was. Raises InvalidInput for keys that are
    no texts, and for nesting without end.
    """
    held = [value]
    depth = 0
    while held:
        depth += 1
        if depth > _DEEPEST or any(
            isinstance(one, dict) and not all(isinstance(key, str) for key in one)
            for one in held
        ):
            allowed = f"JSON values with texts as keys, nested up to {_DEEPEST} deep"
            raise InvalidInput(
                f"got a value that JSON does not hold as it is ({value!r:.100});"
                f" allowed are {allowed}"
            )
        held = [
            part
            for one in held
            if isinstance(one, dict | list | tuple)
            for part in (one.values() if isinstance(one, dict) else one)
        ]
    return value


def recall_value(home: Home, key: str) -> Any | None:
    """The value under a key of the home's project, else of none; None where there is
    none.
    """
    found = record_of(home, key)
    return None if found is None else found.value


def record_of(home: Home, key: str) -> CrossRunRecord | None:
    """The record under a key of the home's project, else of none; None where there is
    none.
    """
    with home.views.reading(Records) as view:
        rows = [
            row
            for project in dict.fromkeys((home.project, ""))
            if (row := view.keys.find(_place(project, key))) is not None
        ]
        rows = [row for row in rows if view.rows["seq"][row]][:1]
        return next(iter(_told(home, view, rows)), None)


def recall_by_tag(home: Home, tag: str) -> list[CrossRunRecord]:
    """The records with this tag, the first written first."""
    with home.views.reading(Records) as view:
        rows = [
            row
            for row in _rows(home, view)
            if tag in json.loads(view.about[int(view.rows["place"][row])])
        ]
        return _told(home, view, rows)


def search_keys(home: Home, prefix: str = "") -> list[str]:
    """The keys that begin with a text, in their order."""
    with home.views.reading(Records) as view:
        found = {view.keys[row].partition(_BETWEEN)[2] for row in _rows(home, view)}
    return sorted(key for key in found if key.startswith(prefix))


def all_records(home: Home) -> list[CrossRunRecord]:
    """All records of the home's project or of none, the first written first."""
    with home.views.reading(Records) as view:
        return _told(home, view, _rows(home, view))


def delete(home: Home, key: str, *, agent: str = "main") -> bool:
    """Take a record of the home's project back; whether there was one. What it said
    stays in the journal, `erase` removes it.
    """
    with home.views.reading(Records) as view:
        row = view.keys.find(_place(home.project, key))
        if row is None or not view.rows["seq"][row]:
            return False
    body = {"record_id": record_id_of(home.project, key), "key": key, "source": "agent"}
    DesignApi(home).append("record_deleted", body, agent=agent)
    return True


def _rows(home: Home, view: Records) -> list[int]:
    """The rows that are there, of the home's projects or of none, the first written
    first.
    """
    rows = np.flatnonzero(view.rows["seq"] > 0)
    rows = rows[np.argsort(view.rows["created"][rows], kind="stable")].tolist()
    seen = None if home.projects is None else {"", *home.projects}
    return [
        row
        for row in rows
        if seen is None or view.keys[row].partition(_BETWEEN)[0] in seen
    ]


def _told(home: Home, view: Records, rows: Iterable[int]) -> list[CrossRunRecord]:
    by_seq = {int(view.rows["seq"][row]): row for row in rows}
    events = {event.seq: event.body for event in home.journal.read(seqs=[*by_seq])}
    found = []
    for seq, row in by_seq.items():
        if body := events.get(seq):
            times = (
                to_datetime(int(view.rows[name][row]))
                for name in ("created", "updated")
            )
            found.append(
                CrossRunRecord(
                    body["record_id"],
                    body["key"],
                    body["value"],
                    body["tags"],
                    body["source_session"],
                    *times,
                )
            )
    return found
