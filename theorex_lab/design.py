"""The types of a memory design: what it brings, and how anything that remembers is
driven to be compared.

The rooms below know these types and no design. What a design leaves out has a default,
so that a small one stays small.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from theorex_lab.errors import InvalidInput
from theorex_lab.search.items import ItemKind as ItemKind
from theorex_lab.search.items import ItemText as ItemText

if TYPE_CHECKING:
    from pathlib import Path

    import click
    import numpy as np
    from numpy.typing import NDArray

    from theorex_lab.core.settings import Settings, SettingsRecord
    from theorex_lab.home import Home
    from theorex_lab.journal.event import Body, Event
    from theorex_lab.journal.shapes import Kind
    from theorex_lab.journal.view import View
    from theorex_lab.search.index import ItemIndex

    Mask = NDArray[np.bool_]
    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

Told = tuple[str, str, Mapping[str, Any]]  # kind of an audit entry, agent, detail
SearchFound = tuple[
    "Event", Told
]  # the event that an audit entry was read from, and what it tells

R = TypeVar("R")
FIXED_KIND = "fix"  # of a line that tells how something was fixed
# Of evidence, after the design's name and a slash: how an option did, such as an item
# that was given, whatever it was tried for.
OPTION_KEY = "option"


class Line(NamedTuple):
    """A line of a context. kind: concept, failure, or an observation type.  owner:
    whose it is shown as.

    heard_from: agent and trust of what is trusted less than an agent; None for what is
    trusted.  items: ids of what it shows, as search gives them.  events: ids of the
    events that it rests on, where those are others than the items.  why: why it is
    there, for who asks.
    """

    kind: str
    owner: str
    text: str
    heard_from: tuple[str, int] | None = None
    items: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    why: str = ""

    @property
    def trusted(self) -> bool:
        """Whether it is an agent's or a person's own word."""
        return self.heard_from is None


class Wanted(NamedTuple):
    """What a context is made for: a time (µs UTC), a budget of tokens, and what is
    asked, '' at the start of a session.
    """

    now: int
    tokens: int
    query: str = ""


@dataclass(frozen=True)
class Section:
    """Lines of the context, of the home's project or of none, what matters most first.

    titles: by kind of line, the title that it stands under; one without is listed under
    its owner.  share: of the budget, by its size in tokens, what the section has for
    itself; what it leaves goes to the sections with the greatest shares. A section
    without has what others leave.  inline: kinds of lines that are words of one
    paragraph.  always: it is shown whichever designs are.  by_event: what has room is
    shown by the events that it rests on, so that what was said together stands
    together.
    """

    lines: Callable[[Home, Wanted], Iterable[Line]]
    titles: Mapping[str, str] = field(default_factory=dict)
    share: Callable[[int], float] | None = None
    inline: Container[str] = ()
    always: bool = False
    by_event: bool = False


@dataclass(frozen=True)
class NightStep:
    """A step of the night: done for one agent, or for all where that is None; it says
    what it did.

    Repeating it at once changes nothing. before_gate: done before the policy is judged.
    """

    name: str
    run: Callable[[Home, str | None], str]
    before_gate: bool = False


class Proposal(NamedTuple):
    """Changed settings, how the policy in force and the changed one did on the later
    records, and how many those are.
    """

    changes: dict[str, Any]
    before: float | None
    after: float | None
    n: int


@dataclass(frozen=True)
class PolicyPart:
    """What the gate judges by itself: the settings (camelCase), a proposal beside those
    turned down, its score and its records.

    The settings are among those that a policy keeps. Of those turned down
    `evolution.policy.digest` is given.
    """

    settings: tuple[str, ...]
    propose: Callable[[Home, frozenset[str]], Proposal]
    score: Callable[[Home], Mapping[str, float | int]]
    evidence: Callable[[Home], list[Any]]


class Asked(NamedTuple):
    """Which entries of the audit log are wanted: of these kinds, from this time on (µs
    UTC), the last `limit` or all.

    They are read from events with seq ≤ `upto`.
    """

    kinds: tuple[str, ...]
    since: int
    limit: int | None
    upto: int


@dataclass(frozen=True)
class AuditPart:
    """Entries of the audit log. read_from: by kind of entry, the kinds of events that
    tell of it.

    reading: makes a function that takes the events in order and tells what each of them
    did.  entries: how a design finds its entries with that function where not all
    events of these kinds need to be read.
    """

    read_from: Mapping[str, tuple[str, ...]]
    reading: Callable[[], Callable[[Event], Iterable[Told]]]
    entries: (
        Callable[[Home, Asked, Callable[[Event], Iterable[Told]]], list[SearchFound]]
        | None
    ) = None


@dataclass(frozen=True)
class SearchPart:
    """What search asks a design, by masks over the index's documents.

    asleep: those that sleep for now, beside what events put to sleep; asked again once
    something was appended.  visible: those of others that the agents may find too,
    whose own are the mask.  related: documents that belong to the found ones, among
    those of the mask, with their activation at a time (µs UTC), 0..1.
    """

    asleep: Callable[[Home, ItemIndex], Mask] | None = None
    visible: Callable[[Home, ItemIndex, Mask], Mask] | None = None
    related: (
        Callable[[Home, ItemIndex, Ints, Mask, int], tuple[Ints, Floats]] | None
    ) = None


@dataclass(frozen=True)
class EventsPart:
    """What those who take in events must know of a design, since they know no kind by
    themselves.

    settled: of captures that were taken in from files (an agent's, of one session), the
    events that say that the design waits for none of them.
    """

    settled: Callable[[Sequence[Event]], Sequence[Event]] | None = None


@dataclass(frozen=True)
class FileLayout:
    """Files of a design in an exported folder, and, where the original system has them,
    at places of its own.

    names: as an error lists what is read; '' where the files are written alone, and
    then files_of finds none.  export: (home, searcher, folder, agent=) → an
    `exchange.files.Exported`.  files_of: the files of this layout below a folder, or
    the file itself where it may be one.  take: (home, a function that gives the
    searcher, path, agent=, trust_own=) → a list of `exchange.files.FileReport`.
    export_places: (home, agent=) → an `Exported`.  in_places: (home, agent=) → the
    files that this would write, there already or not.
    """

    names: str
    export: Callable[..., Any]
    files_of: Callable[[Path], list[Path]] = lambda _path: []
    take: Callable[..., list[Any]] = lambda *_given, **_named: []
    places: Callable[[Settings], list[Path]] | None = None
    export_places: Callable[..., Any] | None = None
    in_places: Callable[..., Iterable[Path]] = lambda _home, **_chosen: ()


class Reminder(NamedTuple):
    """What may be given back at a prompt that fits it: a sentence, a file with what was
    last done to it, a fix, a rule.

    id: as search gives it, no other reminder has it.  project: '' for what is of none.
    kind: a word, such as rule, fix, session, file or sentence.  text: what is shown,
    one line.  weight: from 0 upwards, 1 for an ordinary one; what weighs more comes
    first among those that fit alike.  trust: as `observation.TRUST` has it.  events:
    ids it rests on.
    """

    id: str
    project: str
    kind: str
    text: str
    weight: float = 1.0
    trust: int = 0
    events: tuple[str, ...] = ()


class EvidenceRun(NamedTuple):
    """Evidence that an event yields: under a key, an option was tried and succeeded or
    not.

    latency_ms, tokens, cost: finite numbers from 0, None where they are not known.
    """

    key: str
    option: str
    success: bool
    latency_ms: float | None = None
    tokens: float | None = None
    cost: float | None = None


@dataclass(frozen=True)
class AgentTool:
    """What agents may call over MCP: a function of `lab.design(NAME)` and typed,
    annotated arguments of the call.

    `agent_id` among them, None unless the call names one, is replaced by the agent whom
    the call speaks of. What it returns, a dictionary of JSON values or a pydantic
    model, is the answer.  changes: whether it writes.  repeatable: whether doing it
    twice changes nothing more.
    """

    name: str
    description: str
    run: Callable[..., Any]
    changes: bool = False
    repeatable: bool = False


class Route(NamedTuple):
    """What programs may ask over HTTP: a function of `lab.design(NAME)` and typed,
    annotated arguments of the request.

    method: GET, whose arguments stand in the query; POST, whose arguments are a body of
    JSON; or WS, a web socket, whose first message is that body, and whose answers are
    the dictionaries with which the function calls its argument `progress`, each with an
    `event`, and at last what it returns as the event `completed`.  path: from `/`;
    arguments named in braces stand there.  `agent_id` is as in `AgentTool`.  answer:
    the JSON schema of what it returns.
    """

    method: str
    path: str
    run: Callable[..., Any]
    answer: Mapping[str, Any]


class RouteRefused(InvalidInput):
    """What a route cannot do, with the status that HTTP has for it: 404 for what is not
    there, 409 for what is under way.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Face:
    """What `lab.design(NAME)` gives for a design in one home; a design's own class adds
    what one does with it.

    home: the home.  searcher: the home's search.
    """

    def __init__(self, home: Home, searcher: Callable[[], Any] | None = None) -> None:
        self.home, self._searcher = home, searcher

    @property
    def searcher(self) -> Any:
        """Search over the home, a `memory.retrieve.Searcher`; imported when it is first
        needed.

        Raises InvalidInput where the face was made without one, by hand.
        """
        if self._searcher is None:
            raise InvalidInput(
                "got a design opened without search; allowed is one from lab.design(NAME)"
            )
        return self._searcher()

    def append(
        self,
        kind: str,
        body: Body,
        *,
        agent: str = "main",
        session: str = "",
        lineage: Sequence[str] = (),
        event_id: str = "",
    ) -> Event:
        """Append an event dated now, its secrets masked; returns it with its seq.
        Raises InvalidInput as `new_event`.

        In a project its body says so (`project`), unless it names one itself.
        """
        from theorex_lab.journal.event import new_event
        from theorex_lab.text.doors import kept_value

        if self.home.project:
            body = {"project": self.home.project, **body}
        who = {"agent": agent, "session": session}
        event = new_event(
            kind,
            kept_value(body),
            **who,
            lineage=lineage,
            at=self.home.clock.now(),
            event_id=event_id,
        )
        return event._replace(seq=self.home.journal.append([event])[0])


def on_home(function: Callable[..., R]) -> Callable[..., R]:
    """A function of a home as a method of a face, which has one."""

    @wraps(function)
    def method(self: Face, *given: Any, **named: Any) -> R:
        return function(self.home, *given, **named)

    return method


def audit_telling(*names: str) -> Callable[[], Callable[[Event], Iterable[Told]]]:
    """A reading of the audit log that tells of each event the members of its body with
    these names that say something.
    """

    def told(event: Event) -> Iterable[Told]:
        return [
            (
                event.kind,
                event.agent,
                {name: event.body[name] for name in names if event.body.get(name)},
            )
        ]

    return lambda: told


@dataclass(frozen=True, eq=False)
class Design:
    """What one memory design brings to a home.

    name: how commands and `lab.design` call it, 1 to 32 of a-z 0-9 _.  face: the class
    of what `lab.design` gives. kinds: its event kinds, each with a
    `journal.shapes.Kind`, by which bodies are checked when they are appended and read;
    or with the version that it writes alone: then bodies may be any JSON objects, and
    one on which a fold raises is set aside.  upcasters: by event kind and version, what
    turns a body of that version into one of the next.  events: what their bodies hold.
    views: what it folds.  evidence: by event kind, the runs that such an event tells
    of; their keys get `name/` before them.  reminders: of every project, what may be
    recalled at a prompt.  leads: whether its sections are shown where no setting names
    others.  flush: what is done for an agent's session that ended or is about to be
    summarized.  retrieve: (home, its search, query, now, tokens) → what a query gets,
    where that is more than search finds.  agents: who has something in it.
    consolidated: by agent and session, the seq up to which it has taken in what was
    captured.  needs: likewise the first seq that it has not taken in yet, of those
    alone where there is one.  status: members of the status, of all agents or of one,
    each of a name that no other has.  settings: a dataclass of settings, read from
    `designs.NAME` of config.json by `home.settings_of`.  commands: a click group, which
    is called `theorex NAME …`; `theorex_lab.console` has what its commands are made of.
    silos: projects whose captures reach no other project, whatever is shared.  tools:
    what agents may call over MCP. routes: what programs may ask over HTTP.
    """

    name: str
    face: Callable[[Home, Callable[[], Any]], Any] = Face
    kinds: Mapping[str, int | Kind] = field(default_factory=dict)
    upcasters: Mapping[tuple[str, int], Callable[[Body], Body]] = field(
        default_factory=dict
    )
    events: EventsPart = EventsPart()
    views: Callable[[], Sequence[type[View]]] = tuple
    items: tuple[ItemKind, ...] = ()
    search: SearchPart = SearchPart()
    sections: tuple[Section, ...] = ()
    leads: bool = True
    flush: Callable[[Home, str, str], Any] | None = None
    retrieve: Callable[[Home, Any, str, int, int], Sequence[Item]] | None = None
    reminders: Callable[[Home], Iterable[Reminder]] | None = None
    steps: tuple[NightStep, ...] = ()
    audit: AuditPart | None = None
    policies: Mapping[str, PolicyPart] = field(default_factory=dict)
    files: tuple[FileLayout, ...] = ()
    evidence: Mapping[str, Callable[[Event], Iterable[EvidenceRun]]] = field(
        default_factory=dict
    )
    agents: Callable[[Home], Iterable[str]] | None = None
    consolidated: Callable[[Home], Mapping[tuple[str, str], int]] | None = None
    needs: Callable[[Home], Mapping[tuple[str, str], int]] | None = None
    status: Callable[[Home, str | None], Mapping[str, Any]] | None = None
    settings: type[SettingsRecord] | None = None
    commands: Callable[[], click.Group] | None = None
    silos: Callable[[Home], frozenset[str]] | None = None
    tools: Callable[[], Sequence[AgentTool]] = tuple
    routes: Callable[[], Sequence[Route]] = tuple


class Item(NamedTuple):
    """What is given back: a text, and the ids of the events that it rests on."""

    text: str
    events: tuple[str, ...] = ()


class Probe(NamedTuple):
    """A question at a time (µs UTC): the ids of the events that answer it, and words
    that must be readable.

    stale: ids of events that must not come back, since later ones correct them or they
    answer something else.
    """

    at: int
    query: str
    answers: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()
    stale: frozenset[str] = frozenset()


class SessionLine(NamedTuple):
    """What a coding session says at a time (µs UTC), in full: a prompt, the last
    message of a turn, or a tool call.

    inputs: the texts in a tool's input.  reads, edits: paths from the project's root.
    """

    at: int
    session: str
    prompt: str = ""
    message: str = ""
    inputs: str = ""
    reads: tuple[str, ...] = ()
    edits: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Log:
    """Recorded events in journal order, and what is asked of whoever lived them.

    name: of its data set, `set/part` for a part of one.  lines: of coding sessions,
    what a score of contexts is read from; events hold previews.
    """

    name: str
    events: Sequence[Event]
    probes: Sequence[Probe] = ()
    lines: Sequence[SessionLine] = ()


class MemoryDesign(Protocol):
    """Anything that remembers, so that it can be compared: a design, a baseline, an
    adapter to another system.
    """

    def observe(self, events: Sequence[Event]) -> None:
        """Take in what a hook, a dispatch or a person appended, in journal order."""

    def consolidate(self, now: int) -> None:
        """The night; repeating it changes nothing. `now` in µs UTC."""

    def inject(self, now: int, tokens: int) -> Sequence[Item]:
        """What a session starts with, unasked, within a budget."""

    def retrieve(self, query: str, now: int, tokens: int) -> Sequence[Item]:
        """What a question or a first prompt gets within a budget, best first."""
