"""Files that were ingested.

This says which are known and in which state, and what a briefing says of them and of a
session that was summed up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.ids import derived_event_id
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Body, Event
from theorex_lab.journal.view import View
from theorex_lab.memory.briefing.candidates import PLACES, WORK
from theorex_lab.memory.briefing.token_budget import age_in_words
from theorex_lab.memory.contract import (
    BriefingPart,
    ContextLine,
    ContextRequest,
    Home,
    Section,
)
from theorex_lab.memory.document_part import Part
from theorex_lab.memory.observation import (
    TRUST,
    ObservationEntry,
    WrittenObservation,
    owner_of,
    write_all,
)
from theorex_lab.search.items import SECTION, SYMBOL
from theorex_lab.text.line import folded, one_line
from theorex_lab.text.statements import statements_in

SUMMARY_TAG = "session-summary"
# What a session's summary tells, and the type of observation that each is.
SUMMED_UP = {
    "investigated": "discovery",
    "learned": "decision",
    "completed": "feature",
    "next": "change",
}
# Kinds of lines.
_DOCUMENT = "document"
_SUMMARY = "summary"
_MOST_FOUND = 3
_MOST_FILES = 3
_MOST_SYMBOLS = 12
_FEW_SYMBOLS = 4
_SHOWN_SYMBOLS = ("code_class", "code_function")
_RECENT_EVENTS = 2_000


class KnownFile(NamedTuple):
    """The state in which a file was ingested.

    Attributes:
        digest: The hash of its content, '' once it is gone.
        seq: The seq of the event that holds the content.
    """

    digest: str
    seq: int


class Documents(View):
    """The files that are known, by agent, project and name, each with its state.

    It also has where trusted summaries stand, by project.
    """

    name = "documents"
    code = 3
    kinds = ("document", "observation")

    def __init__(self) -> None:
        super().__init__()
        self.files = Names()
        self.digests = Names()
        self.projects = Names()
        self.rows = Table(seq="i8", hash="i8", moves="i8")
        self.said = Table(seq="i8", at="i8", project="i4")

    def _document(self, event: Event) -> None:
        """Note the state of a file, and that it was moved away from an old name."""
        body = event.body
        project = body.get("project", "")
        old_name = body.get("moved_from", "")
        self._put(event, project, body.get("file", ""), body["hash"])
        if old_name:
            row = self._put(event, project, old_name, "")  # which may make it
            self.rows["moves"][row] += 1

    def _observation(self, event: Event) -> None:
        """Note a trusted summary."""
        body = event.body
        is_trusted = TRUST[body["source"]] >= TRUST["agent"]
        if is_trusted and SUMMARY_TAG in body["tags"]:
            self.said.add(
                seq=event.seq,
                at=event.at,
                project=self.projects.number(body.get("project", "")),
            )

    def _put(self, event: Event, project: str, file: str, digest: str) -> int:
        """Set the state of a file; return its row."""
        row = self.files.number(_file_name(event.agent, project, file))
        n_new = len(self.files) - len(self.rows)
        self.rows.grow(n_new)
        digest_number = self.digests.number(digest)
        self.rows.put(row, seq=event.seq, hash=digest_number)
        return row

    def state(self, agent: str, project: str, file: str) -> KnownFile | None:
        """Return the state of a file, None where the file is not known or gone."""
        row = self.files.find(_file_name(agent, project, file))
        return None if row is None else self._state(row)

    def moves(self, agent: str, project: str, file: str) -> int:
        """Return how many files were moved away from a name.

        They have kept the ids that were made of it.
        """
        row = self.files.find(_file_name(agent, project, file))
        if row is None:
            return 0
        return int(self.rows["moves"][row])

    def _state(self, row: int) -> KnownFile | None:
        """Return the state of the file of a row, None where the file is gone."""
        digest = self.digests[int(self.rows["hash"][row])]
        if not digest:
            return None
        return KnownFile(digest, int(self.rows["seq"][row]))

    def known(self, agent: str, project: str) -> dict[str, KnownFile]:
        """Return by name the files of an agent in a project that are not gone."""
        start = f"{agent}\n{project}\n"
        files: dict[str, KnownFile] = {}
        for row, key in enumerate(self.files):
            if key.startswith(start):
                state = self._state(row)
                if state is not None:
                    files[key.removeprefix(start)] = state
        return files


def _file_name(agent: str, project: str, file: str) -> str:
    """Return the name of a file among those of all agents and projects."""
    return f"{agent}\n{project}\n{file}"


def document_body(
    file: str,
    digest: str,
    parts: Sequence[Part],
    *,
    before: Body | None,
    salt: str,
    source: str,
    project: str,
    moved_from: str | None = None,
) -> Body:
    """Return the body of a file's event.

    It holds the file's parts, each under the id that it had before where its name is
    the same.

    Args:
        file: The file's name.
        digest: The hash of its content.
        parts: Its parts.
        before: The body that holds the file's earlier state, whose parts are gone.
        salt: The salt of new ids.
        source: Whose words the file is.
        project: The project of the file, '' for none.
        moved_from: The name that it had before, '' for the same; None leaves that out.
    """
    old_parts = before["parts"] if before else []
    old_ids: dict[str, str] = {}
    gone: list[str] = []
    for old_id, _, name, *_ in old_parts:
        gone.append(old_id)
        # Of parts with one name the first keeps its id.
        old_ids.setdefault(name, old_id)
    rows = []
    used_ids = set[str]()
    for number, part in enumerate(parts):
        name_words = (salt, project, file, part.name)
        item_id = old_ids.get(part.name)
        if not item_id:
            item_id = derived_event_id(*name_words, "")
        if item_id in used_ids:
            item_id = derived_event_id(*name_words, number)
        used_ids.add(item_id)
        rows.append([item_id, *part])
    body = {
        "file": file,
        "hash": digest,
        "parts": rows,
        "gone": gone,
        "source": source,
        "project": project,
    }
    if moved_from is not None:
        body["moved_from"] = moved_from
    return body


def sum_up(
    home: Home, said: dict[str, str], *, agent: str, session: str = ""
) -> list[WrittenObservation]:
    """Write what a session says of itself, in one transaction.

    Args:
        home: The home.
        said: Texts by the names of SUMMED_UP.
        agent: Whose session it is.
        session: The session.

    Raises:
        InvalidInput: As `write_all`.
    """
    entries = [
        ObservationEntry(
            f"{name.capitalize()}: {text}",
            agent,
            observation_type=SUMMED_UP[name],
            tags=[SUMMARY_TAG],
            session=session,
        )
        for name, text in said.items()
    ]
    return write_all(home, entries)


def summary_lines(home: Home, request: ContextRequest) -> Iterator[ContextLine]:
    """Yield the last summary of a session of the home's project, or of none."""
    with home.views.reading(Documents) as view:
        summaries = view.said
        if not len(summaries):
            return
        names = home.projects or view.projects
        projects = view.projects.numbers("", *names)
        is_inside = np.isin(summaries["project"], projects)
        is_past = summaries["at"] <= request.now
        rows = np.flatnonzero(is_past & is_inside)
        times = summaries["at"][rows]
        rows = rows[times == times.max(initial=0)]
        seqs = summaries["seq"][rows]
        events = home.journal.read(seqs=seqs.tolist())
    if not events:
        return
    days = (request.now - events[-1].at) / MICROSECONDS_PER_DAY
    age = age_in_words(days)
    why = "what the last session that was summed up said of itself"
    for event in events:
        text = one_line(f"{event.body['text']} ({age})")
        yield ContextLine(
            _SUMMARY,
            event.agent,
            text,
            None,
            (event.id,),
            (event.id,),
            why,
            statement=folded(event.body["text"]),
            at=event.at,
        )


def document_lines(home: Home, request: ContextRequest) -> Iterator[ContextLine]:
    """Yield what of files and code fits the query.

    Without a query it is what is defined in the files that were touched last.
    """
    if not request.query:
        yield from _touched(home, request.now)
        return
    with home.views.reading(Documents) as view:
        if not len(view.rows):
            return
    from theorex_lab.memory.retrieve import Searcher

    hits = Searcher(home).search(
        request.query,
        kinds=[SECTION.name, SYMBOL.name],
        projects=home.projects,
        limit=_MOST_FOUND,
    )
    event_ids = list({*hits.events})
    events = {event.id: event for event in home.journal.read(ids=event_ids)}
    for hit, event_id in zip(hits, hits.events, strict=True):
        _, _, body_text = hit.text.partition("\n")
        yield _line(
            events[event_id],
            f"{hit.subject}: {body_text}",
            (hit.id,),
            (),
            f"fits the prompt, {hit.score:.2f}",
            f"{hit.subject}: {_first_statement(body_text)}",
        )


def _first_statement(text: str) -> str:
    """Return the first whole statement of a part of a file, the text without one."""
    statements = statements_in(text)
    return statements[0].text if statements else text


def _touched(home: Home, now: int) -> Iterator[ContextLine]:
    """Yield the files that were touched last, each with its symbols.

    Only those are of interest whose symbols are known.
    """
    touched = _touched_at(home)
    for event in home.journal.read(seqs=sorted(touched)):
        item_ids: list[str] = []
        names: list[str] = []
        for item_id, node_type, name, *_ in event.body["parts"]:
            if node_type in _SHOWN_SYMBOLS:
                item_ids.append(item_id)
                names.append(name)
        if not names:
            continue
        listed = ", ".join(names[:_MOST_SYMBOLS])
        few = ", ".join(names[:_FEW_SYMBOLS])
        age = age_in_words((now - touched[event.seq]) / MICROSECONDS_PER_DAY)
        yield _line(
            event,
            f"{event.body['file']} defines {listed} (touched {age})",
            tuple(item_ids[:_MOST_SYMBOLS]),
            (event.id,),
            "a file that was touched last",
            f"{event.body['file']} defines {few}",
        )


def _touched_at(home: Home) -> dict[int, int]:
    """Return when the last known files were touched (µs UTC).

    They are given by the seq of the event that holds the file.
    """
    with home.views.reading(Documents) as view:
        seqs = view.rows["seq"].tolist()
        file_seqs: dict[tuple[str, ...], int] = {}
        for name, seq in zip(view.files, seqs, strict=True):
            key = tuple(name.split("\n", 2))
            file_seqs[key] = seq
    if not file_seqs:
        return {}
    start = max(home.journal.last_seq() - _RECENT_EVENTS, 0)
    calls = home.journal.tail(start, kinds=["tool_used"], projects=home.projects)
    events = list(calls)
    touched: dict[int, int] = {}
    for event in reversed(events):
        for file_key in _file_keys(event):
            if file_key in file_seqs and len(touched) < _MOST_FILES:
                touched.setdefault(file_seqs[file_key], event.at)
    return touched


def _file_keys(event: Event) -> Iterator[tuple[str, str, str]]:
    """Yield the agent, project and name of the files that a tool call touched.

    They are names as the files may have been ingested by.
    """
    paths = event.body.get("paths", {})
    project = event.body.get("project", "")
    edited = paths.get("edited", ())
    read = paths.get("read", ())
    for path in (*edited, *read):
        yield event.agent, project, path
        yield event.agent, "", f"{project}/{path}"


def _line(
    event: Event,
    text: str,
    item_ids: tuple[str, ...],
    event_ids: tuple[str, ...],
    why: str,
    statement: str,
) -> ContextLine:
    """Return a line of an event's file.

    An untrusted one names its source beside the agent.
    """
    trust = TRUST[event.body["source"]]
    untrusted_source = None if trust >= TRUST["agent"] else (event.agent, trust)
    return ContextLine(
        _DOCUMENT,
        owner_of(event),
        one_line(text),
        untrusted_source,
        item_ids,
        event_ids or (event.id,),
        why,
        statement=folded(statement),
        at=event.at,
    )


SUMMARY = Section(
    summary_lines,
    {_SUMMARY: BriefingPart(WORK, 0.6, "the last session summed itself up so", 14)},
)
DOCUMENTS = Section(
    document_lines,
    {_DOCUMENT: BriefingPart(PLACES, 0.25, "a file that you ingested")},
)
