"""Files that were taken in: which are known and in which state, and what a context says
of them and of a session that was summed up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.ids import derived_event_id
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Body, Event
from theorex_lab.journal.view import View
from theorex_lab.memory.briefing.token_budget import age_in_words
from theorex_lab.memory.contract import ContextLine, ContextRequest, Home, Section
from theorex_lab.memory.observation import (
    TRUST,
    ObservationEntry,
    WrittenObservation,
    owner_of,
    write_all,
)
from theorex_lab.memory.retrieve import Searcher
from theorex_lab.search.items import SECTION, SYMBOL
from theorex_lab.text.line import one_line

SUMMARY_TAG = "session-summary"
# What a session's summary tells, and the type of observation that each is.
SUMMED_UP = {
    "investigated": "discovery",
    "learned": "decision",
    "completed": "feature",
    "next": "change",
}
_DOCUMENT, _SUMMARY = "document", "summary"  # kinds of lines
_MOST_FOUND = 3
_MOST_FILES = 3
_MOST_SYMBOLS = 12
_RECENT_EVENTS = 2_000


class Part(NamedTuple):
    """A part of a file: a section, or a symbol of its code.

    node_type: section, code_module, code_class, code_function, code_method, image or
    scene.  name: headings, or the qualified name.  line: where it begins, from 1; of a
    PDF the page, of a film the second.  links: pairs of relation and target.
    """

    node_type: str
    name: str
    text: str
    line: int = 1
    links: Sequence[tuple[str, str]] = ()


class KnownFile(NamedTuple):
    """The state in which a file was taken in: hash of its content ('' once it is gone),
    and the seq of the event that holds it.
    """

    digest: str
    seq: int


class Documents(View):
    """The files that are known, by agent, project and name, each with its state; and
    what trusted summaries say, by project.
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
        project, file, moved = (
            event.body.get(name, "") for name in ("project", "file", "moved_from")
        )
        self._put(event, project, file, event.body["hash"])
        if moved:
            row = self._put(event, project, moved, "")  # which may make it
            self.rows["moves"][row] += 1

    def _observation(self, event: Event) -> None:
        body = event.body
        if SUMMARY_TAG in body["tags"] and TRUST[body["source"]] >= TRUST["agent"]:
            self.said.add(
                seq=event.seq,
                at=event.at,
                project=self.projects.number(body.get("project", "")),
            )

    def _put(self, event: Event, project: str, file: str, digest: str) -> int:
        row = self.files.number(f"{event.agent}\n{project}\n{file}")
        self.rows.grow(len(self.files) - len(self.rows))
        self.rows.put(row, seq=event.seq, hash=self.digests.number(digest))
        return row

    def state(self, agent: str, project: str, file: str) -> KnownFile | None:
        """The state of a file, None where it is not there."""
        row = self.files.find(f"{agent}\n{project}\n{file}")
        return None if row is None else self._state(row)

    def moves(self, agent: str, project: str, file: str) -> int:
        """How many files were moved away from a name, and have kept the ids that were
        made of it.
        """
        row = self.files.find(f"{agent}\n{project}\n{file}")
        return 0 if row is None else int(self.rows["moves"][row])

    def _state(self, row: int) -> KnownFile | None:
        digest = self.digests[int(self.rows["hash"][row])]
        return KnownFile(digest, int(self.rows["seq"][row])) if digest else None

    def known(self, agent: str, project: str) -> dict[str, KnownFile]:
        """By name, the files of an agent in a project that are there."""
        own = f"{agent}\n{project}\n"
        rows = (
            (key.removeprefix(own), self._state(row))
            for row, key in enumerate(self.files)
            if key.startswith(own)
        )
        return {name: known for name, known in rows if known is not None}


def document_body(
    file: str,
    digest: str,
    parts: Sequence[Part],
    before: Body | None,
    salt: str,
    **more: str,
) -> Body:
    """The body of a file's event: its parts, each under the id that it had before where
    its name is the same.

    before: the body that holds the file's earlier state; its parts are gone.  salt: of
    new ids.  more: source, project, moved_from.
    """
    there = before["parts"] if before else []
    held = {part[2]: part[0] for part in reversed(there)}
    rows = []
    used = set[str]()
    for number, part in enumerate(parts):
        named = (salt, more.get("project", ""), file, part.name)
        item = held.get(part.name) or derived_event_id(*named, "")
        item = derived_event_id(*named, number) if item in used else item
        used.add(item)
        rows.append([item, *part])
    return {
        "file": file,
        "hash": digest,
        "parts": rows,
        "gone": [part[0] for part in there],
        **more,
    }


def sum_up(
    home: Home, said: dict[str, str], *, agent: str, session: str = ""
) -> list[WrittenObservation]:
    """Keep what a session says of itself, by the names of SUMMED_UP, in one
    transaction. Raises as `write_all`.
    """
    how: dict[str, Any] = {"tags": [SUMMARY_TAG], "session": session}
    told = [
        (f"{name.capitalize()}: {text}", SUMMED_UP[name]) for name, text in said.items()
    ]
    return write_all(
        home,
        [
            ObservationEntry(text, agent, observation_type=kind, **how)
            for text, kind in told
        ],
    )


def summary_lines(home: Home, wanted: ContextRequest) -> Iterator[ContextLine]:
    """The last summary of a session of the home's project, or of none."""
    with home.views.reading(Documents) as view:
        said = view.said
        own = view.projects.numbers("", *(home.projects or view.projects))
        rows = np.flatnonzero(
            (said["at"] <= wanted.now) & np.isin(said["project"], own)
        )
        rows = rows[said["at"][rows] == said["at"][rows].max(initial=0)]
        last = home.journal.read(seqs=said["seq"][rows].tolist())
    age = (
        age_in_words((wanted.now - last[-1].at) / MICROSECONDS_PER_DAY) if last else ""
    )
    why = "what the last session that was summed up said of itself"
    for event in last:
        yield ContextLine(
            _SUMMARY,
            event.agent,
            one_line(f"{event.body['text']} ({age})"),
            None,
            (event.id,),
            (),
            why,
        )


def document_lines(home: Home, wanted: ContextRequest) -> Iterator[ContextLine]:
    """What of files and code fits the query; without one, what is defined in the files
    that were touched last.
    """
    if not wanted.query:
        yield from _touched(home, wanted.now)
        return
    with home.views.reading(Documents) as view:
        if not len(view.rows):
            return
    kinds = [SECTION.name, SYMBOL.name]
    found = Searcher(home).search(
        wanted.query, kinds=kinds, projects=home.projects, limit=_MOST_FOUND
    )
    events = {event.id: event for event in home.journal.read(ids=list({*found.events}))}
    for hit, event in zip(found, map(events.__getitem__, found.events), strict=True):
        text = one_line(f"{hit.about}: {hit.text.partition(chr(10))[2]}")
        yield ContextLine(
            _DOCUMENT,
            *_whose(event, text),
            (hit.id,),
            (),
            f"fits the prompt, {hit.score:.2f}",
        )


def _touched(home: Home, now: int) -> Iterator[ContextLine]:
    """The files that were touched last and whose symbols are known, each with these."""
    with home.views.reading(Documents) as view:
        known = {
            tuple(name.split("\n", 2)): int(view.rows["seq"][row])
            for row, name in enumerate(view.files)
        }
    start = max(home.journal.last_seq() - _RECENT_EVENTS, 0)
    recent = (
        [*home.journal.tail(start, kinds=["tool_used"], projects=home.projects)]
        if known
        else []
    )
    touched: dict[int, int] = {}
    for event in reversed(recent):
        paths = event.body.get("paths", {})
        project = event.body.get("project", "")
        for path in (*paths.get("edited", ()), *paths.get("read", ())):
            for key in (
                (event.agent, project, path),
                (event.agent, "", f"{project}/{path}"),
            ):
                if key in known and len(touched) < _MOST_FILES:
                    touched.setdefault(known[key], event.at)
    for event in home.journal.read(seqs=sorted(touched)):
        parts = [
            part
            for part in event.body["parts"]
            if part[1] in ("code_class", "code_function")
        ][:_MOST_SYMBOLS]
        if parts:
            age = age_in_words((now - touched[event.seq]) / MICROSECONDS_PER_DAY)
            text = one_line(
                f"{event.body['file']} defines {', '.join(part[2] for part in parts)}"
                f" (touched {age})"
            )
            items = tuple(part[0] for part in parts)
            yield ContextLine(
                _DOCUMENT,
                *_whose(event, text),
                items,
                (event.id,),
                "a file that was touched last",
            )


def _whose(event: Event, text: str) -> tuple[str, str, tuple[str, int] | None]:
    """Owner, text and source of a line; what was only heard names its source beside the
    agent.
    """
    trust = TRUST[event.body["source"]]
    return (
        owner_of(event),
        text,
        None if trust >= TRUST["agent"] else (event.agent, trust),
    )


SUMMARY = Section(
    summary_lines,
    {_SUMMARY: "How the last session summed itself up"},
    lambda tokens: 0.1 if tokens >= 400 else 0.0,
)
# What is trusted of it has what others leave; what was heard comes first of that.
DOCUMENTS = Section(document_lines, {_DOCUMENT: "Documents and code"}, lambda _: 0.0)
