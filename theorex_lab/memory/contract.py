"""The contract of homes and designs.

It says what every policy gets, what a design brings, and how anything that remembers is
driven. The rooms below know these types and no design. What a design leaves out has a
default, so that a small one stays small.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import field
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from theorex_lab.core.clock import Clock, SystemClock
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.project import check_project
from theorex_lab.core.settings import Settings, load_settings, part_of
from theorex_lab.journal.event import register_kinds
from theorex_lab.journal.opened import open_home_journal
from theorex_lab.search.items import OWN_ITEMS
from theorex_lab.search.items import ItemKind as ItemKind
from theorex_lab.search.items import ItemText as ItemText
from theorex_lab.text.redact.redaction_scope import kept_id

if TYPE_CHECKING:
    from pathlib import Path

    import click
    import numpy as np
    from numpy.typing import NDArray

    from theorex_lab.core.settings import Settings, SettingsRecord
    from theorex_lab.journal.event import Body, Event
    from theorex_lab.journal.shapes import Kind
    from theorex_lab.journal.view import View
    from theorex_lab.search.index import ItemIndex

    Mask = NDArray[np.bool_]
    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    from collections.abc import Callable, Iterable, Sequence

    from theorex_lab.journal.base import Journal
    from theorex_lab.journal.view import Views
    from theorex_lab.journal.view_scopes import AgentViews
    from theorex_lab.search.embed import Embedder

# The kind of an entry of the audit log, the agent, and the detail.
AuditRecord = tuple[str, str, Mapping[str, Any]]
# The event that an entry of the audit log was read from, and the entry.
AuditMatch = tuple["Event", AuditRecord]

R = TypeVar("R")
FIXED_KIND = "fix"  # of a line that tells how something was fixed
# Of evidence, after the design's name and a slash: how an option did, such as an item
# that was given, whatever it was tried for.
OPTION_KEY = "option"


class ContextLine(NamedTuple):
    """A line of a briefing.

    Attributes:
        kind: concept, failure, or an observation type.
        owner: Whose it is shown as.
        text: The text.
        untrusted_source: Agent and trust of what is trusted less than an agent; None for what
            is trusted.
        items: Ids of what it shows, as search gives them.
        events: Ids of the events that it rests on, where those are others than the
            items.
        why: Why it is shown, for a reader who asks.
        statement: What it says as one whole statement, its subject first, without marks
            and age; '' where it is no statement, as a label.
        at: When that was last said or done (µs UTC); 0 where it is not known.
        automatic: Whether the design made it of recorded sessions by itself.
        confirmed: Whether a person trusted it expressly.

    >>> line = ContextLine("note", "main", "Rounds half up", items=("note-1",))
    >>> line.trusted, line.items
    (True, ('note-1',))
    """

    kind: str
    owner: str
    text: str
    untrusted_source: tuple[str, int] | None = None
    items: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    why: str = ""
    statement: str = ""
    at: int = 0
    automatic: bool = False
    confirmed: bool = False

    @property
    def trusted(self) -> bool:
        """Whether it is an agent's or a person's own word."""
        return self.untrusted_source is None


class ContextRequest(NamedTuple):
    """What a briefing is made for.

    Attributes:
        now: The time (µs UTC).
        tokens: The budget.
        query: What is asked, '' at the start of a session.
    """

    now: int
    tokens: int
    query: str = ""


class BriefingPart(NamedTuple):
    """Where the statements of a kind of lines stand in a briefing.

    Attributes:
        section: The title of the section, one of `briefing.candidates.SECTIONS`.
        weight: What a statement is worth on its day, above 0 and at most 1.
        why: Why it is there, in words a person understands.
        half_life_days: The days in which its worth halves.
    """

    section: str
    weight: float
    why: str
    half_life_days: float = 60.0


@dataclass(frozen=True)
class Section:
    """Lines that a design offers a briefing, of the home's project or of none.

    Attributes:
        lines: Gives the lines, what matters most first.
        briefing: By kind of line, where its statements stand in a briefing. Kinds that
            are not named offer it nothing.

    >>> part = BriefingPart("Decisions", 0.5, "a note of yours")
    >>> section = Section(lambda home, request: [], briefing={"note": part})
    >>> section.briefing["note"].section
    'Decisions'
    """

    lines: Callable[[Home, ContextRequest], Iterable[ContextLine]]
    briefing: Mapping[str, BriefingPart]


@dataclass(frozen=True)
class MaintenanceStep:
    """A step of the maintenance. Repeating it at once changes nothing.

    Attributes:
        name: Its name.
        run: Runs it for one agent, or for all where that is None, and says what it did.
        before_policy_test: Whether it runs before the policy is judged.
    """

    name: str
    run: Callable[[Home, str | None], str]
    before_policy_test: bool = False


class Proposal(NamedTuple):
    """Settings to be changed.

    Attributes:
        changes: The changed settings.
        before: How the policy in force did on the later records.
        after: How the changed policy did on them.
        n: How many these records are.
    """

    changes: dict[str, Any]
    before: float | None
    after: float | None
    n: int


@dataclass(frozen=True)
class PolicyPart:
    """What the offline acceptance test judges by itself.

    Attributes:
        settings: The settings (camelCase), among those that a policy keeps.
        propose: Gives a proposal beside those that were turned down, of which it gets
            `evolution.acceptance.digest`.
        score: Gives the score of the policy in force.
        evidence: Gives the records that it is judged on.
    """

    settings: tuple[str, ...]
    propose: Callable[[Home, frozenset[str]], Proposal]
    score: Callable[[Home], Mapping[str, float | int]]
    evidence: Callable[[Home], list[Any]]


class AuditQuery(NamedTuple):
    """Which entries of the audit log are asked for.

    Attributes:
        kinds: The kinds of entries.
        since: The earliest time (µs UTC).
        limit: How many of the last entries; None for all.
        upto: The highest seq of the events that they are read from.
    """

    kinds: tuple[str, ...]
    since: int
    limit: int | None
    upto: int


@dataclass(frozen=True)
class AuditPart:
    """Entries of the audit log.

    Attributes:
        read_from: By kind of entry, the kinds of events that it is read from.
        reading: Makes a function that gets the events in order and gives the entries of
            each.
        entries: Gives a design's entries with that function, where not all events of
            these kinds need to be read.
    """

    read_from: Mapping[str, tuple[str, ...]]
    reading: Callable[[], Callable[[Event], Iterable[AuditRecord]]]
    entries: (
        Callable[
            [Home, AuditQuery, Callable[[Event], Iterable[AuditRecord]]],
            list[AuditMatch],
        ]
        | None
    ) = None


@dataclass(frozen=True)
class SearchPart:
    """What search asks a design, by masks over the index's documents.

    Attributes:
        asleep: Gives the documents that are archived for now, beside those that events
            archived. It is asked again once something was appended.
        visible: Gives those of others' documents that the agents may find too. The mask
            is of the agents' own documents.
        related: Gives the documents that belong to the results, among those of the
            mask, with their activation at a time (µs UTC), 0..1.
    """

    asleep: Callable[[Home, ItemIndex], Mask] | None = None
    visible: Callable[[Home, ItemIndex, Mask], Mask] | None = None
    related: (
        Callable[[Home, ItemIndex, Ints, Mask, int], tuple[Ints, Floats]] | None
    ) = None


@dataclass(frozen=True)
class EventsPart:
    """What an importer of events must know of a design.

    It knows no kind by itself.

    Attributes:
        settled: Gives the events that say that the design waits for none of some
            captures. The captures were imported from files; they are an agent's, of one
            session.
    """

    settled: Callable[[Sequence[Event]], Sequence[Event]] | None = None


# The command that does what most things wait for.
MAINTAIN = "theorex maintain"


class Holding(NamedTuple):
    """How much of one thing a home holds, or how much of it waits.

    Attributes:
        what: What people call several of them.
        n: How many there are.
        do: The command that does what they wait for; '' where they do not wait.

    >>> Holding("facts", 3).waits, Holding("failures", 1, "theorex review").waits
    (False, True)
    """

    what: str
    n: int
    do: str = ""

    @property
    def waits(self) -> bool:
        """Whether these wait for something."""
        return bool(self.do)


class FlushResult(NamedTuple):
    """What the end of a session did with its captures.

    Attributes:
        kept: How many captured events were kept.
        discarded: How many captured events were let go.
    """

    kept: int
    discarded: int


class SessionsEnd(NamedTuple):
    """What the end of sessions did.

    Attributes:
        sessions: How many sessions were ended.
        kept: How many captured events the designs kept.
        let_go: How many captured events the designs let go.
        problem: Why texts wait for their vectors, '' where none does.
    """

    sessions: int
    kept: int
    let_go: int
    problem: str


@dataclass(frozen=True)
class CapturesPart:
    """What a design does with captures that it holds until their session ends.

    Attributes:
        waiting: Gives the agent's sessions with captures that wait for their end. The
            design takes them in before designs without this.
        check: Checks a session that is named as ended or about to be summarized, before
            any design takes it in.
    """

    waiting: Callable[[Home, str], Iterable[str]] | None = None
    check: Callable[[Home, str, str], Any] | None = None


@dataclass(frozen=True)
class FileLayout:
    """Files of a design in an exported folder.

    Where the original system has them, they are also at places of its own.

    Attributes:
        names: The files as an error lists what is read; '' where the files are written
            alone, and then `files_of` gives none.
        export: (home, searcher, folder, agent=) → an
            `files.formats.reports.Exported`; None where the files are read alone.
        files_of: The files of this layout below a folder, or the file itself where it
            may be one.
        take: (home, a function that gives the searcher, path, agent=, trusted=) → a
            list of `files.formats.reports.FileReport`.
        places: The places of the original system, by settings.
        export_places: (home, agent=) → an `Exported`.
        in_places: (home, agent=) → the files that `export_places` would write, whether
            they exist or not.
        is_copy: Whether the files tell again what the design's records tell, so that
            they are read after these.
    """

    names: str
    export: Callable[..., Any] | None = None
    files_of: Callable[[Path], list[Path]] = lambda _path: []
    take: Callable[..., list[Any]] = lambda *_arguments, **_options: []
    places: Callable[[Settings], list[Path]] | None = None
    export_places: Callable[..., Any] | None = None
    in_places: Callable[..., Iterable[Path]] = lambda _home, **_options: ()
    is_copy: bool = False


class EvidenceRun(NamedTuple):
    """Evidence that an event yields: an option was tried and succeeded or not.

    Attributes:
        key: The key.
        option: What was tried.
        success: Whether it succeeded.
        latency_ms: A finite number from 0, None where it is not known.
        tokens: Likewise.
        cost: Likewise.
    """

    key: str
    option: str
    success: bool
    latency_ms: float | None = None
    tokens: float | None = None
    cost: float | None = None


@dataclass(frozen=True)
class AgentTool:
    """What agents may call over MCP.

    Attributes:
        name: The name of the tool.
        description: What it does.
        run: A function of `lab.design(NAME)` and typed, annotated arguments of the
            call. The argument `agent_id`, None unless the call names one, is replaced
            by the agent whom the call speaks of. What it returns, a dictionary of JSON
            values or a pydantic model, is the answer.
        changes: Whether it writes. It works on the whole memory then, and its answer
            tells nothing of other agents; else on what the agent may read.
        repeatable: Whether doing it twice changes nothing more.
    """

    name: str
    description: str
    run: Callable[..., Any]
    changes: bool = False
    repeatable: bool = False


class Route(NamedTuple):
    """What programs may ask over HTTP.

    Attributes:
        method: GET, whose arguments stand in the query; POST, whose arguments are a
            body of JSON; or WS, a web socket, whose first message is that body. The
            answers of a web socket are the dictionaries with which the function calls
            its argument `progress`, each with an `event`, and at last what it returns
            as the event `completed`.
        path: The path from `/`; arguments named in braces stand there.
        run: A function of `lab.design(NAME)` and typed, annotated arguments of the
            request. `agent_id` is as in `AgentTool`.
        answer: The JSON schema of what it returns.
        lines: Whether it returns a list that is sent as one item a line.
        changes: As in `AgentTool`.
    """

    method: str
    path: str
    run: Callable[..., Any]
    answer: Mapping[str, Any]
    lines: bool = False
    changes: bool = False


class RouteRefused(InvalidInput):
    """What a route cannot do, with the status that HTTP has for it.

    The status is 404 for what is missing, 409 for what is under way.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class DesignApi:
    """What `lab.design(NAME)` gives for a design in one home.

    A design's own class adds what one does with it.

    Attributes:
        home: The home.
        searcher: The home's search.
    """

    def __init__(self, home: Home, searcher: Callable[[], Any] | None = None) -> None:
        self.home = home
        self._searcher = searcher

    @property
    def searcher(self) -> Any:
        """Search over the home, a `memory.retrieve.Searcher`.

        It is imported when it is first needed.

        Raises:
            InvalidInput: The API was made without search, by hand.
        """
        if self._searcher is None:
            raise InvalidInput(
                "got a design opened without search; allowed is one from"
                " lab.design(NAME)"
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
        """Append an event dated now, its secrets masked, and return it with its seq.

        In a project its body says so (`project`), unless it names one itself.

        Raises:
            InvalidInput: As `new_event`.
        """
        from theorex_lab.journal.event import new_event
        from theorex_lab.text.redact.redaction_scope import kept_value

        if self.home.project:
            body = {"project": self.home.project, **body}
        event = new_event(
            kind,
            kept_value(body),
            agent=agent,
            session=session,
            lineage=lineage,
            at=self.home.clock.now(),
            event_id=event_id,
        )
        (seq,) = self.home.journal.append([event])
        return event._replace(seq=seq)


def on_home(function: Callable[..., R]) -> Callable[..., R]:
    """Make a function of a home a method of an API, which has one.

    The parameters are those of the function, so they are open here.
    """

    @wraps(function)
    def method(self: DesignApi, *arguments: Any, **options: Any) -> R:
        return function(self.home, *arguments, **options)

    return method


def audit_telling(
    *names: str,
) -> Callable[[], Callable[[Event], Iterable[AuditRecord]]]:
    """Return a reading of the audit log that gives members of each event's body.

    These are the members with these names that are not empty.
    """

    def read(event: Event) -> Iterable[AuditRecord]:
        detail = {name: event.body[name] for name in names if event.body.get(name)}
        return [(event.kind, event.agent, detail)]

    return lambda: read


@dataclass(frozen=True, eq=False)
class Design:
    """What one memory design brings to a home.

    Attributes:
        name: How commands and `lab.design` call it, 1 to 32 of a-z 0-9 _.
        api: The class of what `lab.design` gives.
        kinds: Its event kinds, each with a `journal.shapes.Kind`, by which bodies are
            checked when they are appended and read. A kind may have the version that it
            writes alone: then bodies may be any JSON objects, and an event that a view
            cannot apply is set aside.
        upcasters: By event kind and version, what turns a body of that version into one
            of the next.
        events: What the bodies of its events hold.
        views: Its views.
        status_views: Gives those of its views that its status and its holdings read, where
            it is active or not. They are opened together, each event read once.
        items: Its kinds of items.
        search: What search asks it.
        sections: Its sections of a briefing.
        reads_sessions: Whether what it gives is what a briefing makes of recorded
            sessions.
        captures: What it does with captures before the end of their session.
        flush: What is done for an agent's session that ended or is about to be
            summarized. Where it gives a `FlushResult`, that is reported.
        retrieve: (home, its search, query, now, tokens) → what a query gets, where that
            is more than search gives.
        steps: Its steps of the maintenance.
        active_by_default: Whether it takes part where the setting activeDesigns names
            no design: its steps run, sessions that end are given to it, and a briefing
            may have what it learnt by itself.
        results: By event kind, what people call several of what those steps make.
        audit: Its entries of the audit log.
        policies: What the offline acceptance test judges, by name.
        files: Its files.
        records: Gives what an export holds of it in a file of its own, NAME.jsonl: a
            `files.formats.design_records.DesignRecords`.
        evidence: By event kind, the runs that such an event yields; their keys get
            `name/` before them.
        agents: Who has something in it.
        processed_up_to: By agent and session, the seq up to which it has processed what
            was captured.
        pending_from: Likewise the first seq that it has not processed yet, of those
            sessions alone that have one.
        status: Members of the status, of all agents or of one, each of a name that no
            other has.
        holdings: (home, agent or None for all) → how much it holds of each thing, and
            how much of it waits.
        settings: A dataclass of settings, read from `designs.NAME` of config.json by
            `home.settings_of`.
        commands: A click group, which is called `theorex NAME …`;
            `theorex_lab.files.command_line` has what its commands are made of.
        silos: Projects whose captures reach no other project, whatever is shared.
        shared_kinds: Kinds of its events that every agent may read: those by which
            agents share what they know, and those that hold nobody's words.
        tools: What agents may call over MCP.
        routes: What programs may ask over HTTP.

    >>> from theorex_lab import Lab, installed
    >>> from tempfile import TemporaryDirectory
    >>> memos = Design("memos", kinds={"memo": 1})
    >>> with TemporaryDirectory() as folder:
    ...     with Lab(folder, designs=[*installed(), memos]) as lab:
    ...         lab.home.designs[-1].name
    'memos'
    """

    name: str
    api: Callable[[Home, Callable[[], Any]], Any] = DesignApi
    kinds: Mapping[str, int | Kind] = field(default_factory=dict)
    upcasters: Mapping[tuple[str, int], Callable[[Body], Body]] = field(
        default_factory=dict
    )
    events: EventsPart = EventsPart()
    views: Callable[[], Sequence[type[View]]] = tuple
    status_views: Callable[[bool], Sequence[type[View]]] | None = None
    items: tuple[ItemKind, ...] = ()
    search: SearchPart = SearchPart()
    sections: tuple[Section, ...] = ()
    reads_sessions: bool = False
    captures: CapturesPart = CapturesPart()
    flush: Callable[[Home, str, str], Any] | None = None
    retrieve: Callable[[Home, Any, str, int, int], Sequence[Item]] | None = None
    steps: tuple[MaintenanceStep, ...] = ()
    active_by_default: bool = True
    results: Mapping[str, str] = field(default_factory=dict)
    audit: AuditPart | None = None
    policies: Mapping[str, PolicyPart] = field(default_factory=dict)
    files: tuple[FileLayout, ...] = ()
    records: Callable[[], Any] | None = None
    evidence: Mapping[str, Callable[[Event], Iterable[EvidenceRun]]] = field(
        default_factory=dict
    )
    agents: Callable[[Home], Iterable[str]] | None = None
    processed_up_to: Callable[[Home], Mapping[tuple[str, str], int]] | None = None
    pending_from: Callable[[Home], Mapping[tuple[str, str], int]] | None = None
    status: Callable[[Home, str | None], Mapping[str, Any]] | None = None
    holdings: Callable[[Home, str | None], Iterable[Holding]] | None = None
    settings: type[SettingsRecord] | None = None
    commands: Callable[[], click.Group] | None = None
    shared_kinds: tuple[str, ...] = ()
    silos: Callable[[Home], frozenset[str]] | None = None
    tools: Callable[[], Sequence[AgentTool]] = tuple
    routes: Callable[[], Sequence[Route]] = tuple


class Item(NamedTuple):
    """A result of a memory.

    Attributes:
        text: Its text.
        events: The ids of the events that it rests on.

    >>> Item("The till rounds half up.", events=("event-1",)).text
    'The till rounds half up.'
    """

    text: str
    events: tuple[str, ...] = ()


CONFIG_FILE = "config.json"
_NAME = lazy_pattern(r"[a-z][a-z0-9_]{0,31}")
_ABSENT = object()
# What an embedder must have. Nothing of it is called, since it may ask a model.
_MEMBERS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "id": (
        "a text that is not empty",
        lambda value: isinstance(value, str) and bool(value.strip()),
    ),
    "dimensions": (
        "a whole number from 1",
        lambda value: type(value) is int and value > 0,
    ),
    "kind": ("'semantic' or 'lexical'", lambda value: value in ("semantic", "lexical")),
    "embed": ("a method", callable),
}


class Home:
    """A folder with its journal, its views, and the designs that work in it.

    It has settings, a clock, and an embedder as well.

    Attributes:
        folder: The folder.
        project: The project that is written to. Only its memory and memory without a
            project is returned. With '', for none, all memory is returned.
        clock: The clock.
        settings: The settings. They are replaced as a whole where a policy is changed,
            so they are read here each time.
        own_settings: The settings without the policy that machines share.
        policy_problem: Why that policy is not in force here, '' where it is.
        journal: The journal.
        reader: The agent who alone may read what this home gives, '' for its owner.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     lab.home.journal.last_seq(), lab.home.project
    (0, '')
    """

    def __init__(
        self,
        folder: Path,
        *,
        journal: Journal | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
        embedder: Embedder | None = None,
        designs: Callable[[], Sequence[Design]] = tuple,
        project: str = "",
    ) -> None:
        """Open a home, or create it.

        Args:
            folder: The folder.
            journal: The journal; by default the folder's own.
            settings: The settings; by default those of the folder's config.json.
            clock: The clock; by default the system's.
            embedder: The embedder; by default the best that there is.
            designs: Gives the designs, once they are needed.
            project: The project, '' for none.

        Raises:
            ConfigError: config.json is broken.
            StorageError: The folder cannot be written.
            CorruptJournal: The journal is damaged.
            InvalidInput: The project is outside the rule.
        """
        self.folder = folder
        self.project = kept_id(check_project(project))
        self.clock: Clock = clock or SystemClock()
        if settings is None:
            settings = load_settings(self.config_file)
        self.own_settings = settings
        self.settings = settings
        self.policy_problem = ""
        self.journal = journal or open_home_journal(
            folder, url=settings.journal_url, clock=self.clock
        )
        self.take_policy()
        self._find_designs = designs
        self._activated: frozenset[str] = frozenset()
        self._given_embedder = embedder
        self.reader = ""
        self._readings: dict[str, AgentViews] = {}

    def take_policy(self) -> None:
        """Put the policy in force that this home's copy of the shared one holds.

        A home with a journal of its own has it in config.json.
        """
        if self.journal.local is self.journal:
            return
        from theorex_lab.memory.policy_file import with_policy

        taken = with_policy(self.own_settings, self.folder)
        self.settings, self.policy_problem = taken

    @property
    def config_file(self) -> Path:
        """The file of settings that were changed."""
        return self.folder / CONFIG_FILE

    @cached_property
    def designs(self) -> tuple[Design, ...]:
        """The designs that work here, whose kinds of events are known from then on.

        A write asks for none.

        Raises:
            InvalidInput: Two have one name, or one kind of event or of items, or a kind
                has another version.
        """
        designs = tuple(self._find_designs())
        _check_names(designs)
        for design in designs:
            register_kinds(design.kinds, design.upcasters)
        return designs

    @property
    def active(self) -> tuple[Design, ...]:
        """The designs that take part by themselves.

        Their maintenance runs, sessions that end are given to them, and a briefing may
        have what they learnt. They are those that the setting activeDesigns names; where
        it names none, those that are active by default. Further ones are those of
        `activating`.

        Raises:
            InvalidInput: No design has a name that the setting has.
        """
        names = self.settings.active_designs
        self._check_designs(names, "in activeDesigns")
        active: list[Design] = []
        for design in self.designs:
            is_chosen = design.name in names if names else design.active_by_default
            if is_chosen or design.name in self._activated:
                active.append(design)
        return tuple(active)

    def is_active(self, name: str) -> bool:
        """Return whether a design takes part by itself.

        Args:
            name: The name of the design.
        """
        return any(design.name == name for design in self.active)

    def activating(self, names: Collection[str]) -> Home:
        """Return the same home, in which further designs are active.

        It shares journal, views and clock with this one.

        Args:
            names: The names of the designs.

        Raises:
            InvalidInput: No design has one of the names.
        """
        self._check_designs(names, "to be maintained")
        _ = self.views, self.designs  # made once, for both
        other = copy(self)
        other._activated = self._activated | frozenset(names)
        return other

    def _check_designs(self, names: Iterable[str], where: str) -> None:
        """Raise InvalidInput where no design has one of these names.

        Args:
            names: The names.
            where: Where they stand, for the message.
        """
        installed_names = [design.name for design in self.designs]
        for name in names:
            if name not in installed_names:
                raise InvalidInput(
                    f"got the design {name!r} {where}; allowed are"
                    f" {', '.join(installed_names)}"
                )

    @property
    def closed_projects(self) -> frozenset[str]:
        """The projects that designs closed to others.

        Nothing that was captured there is given in any other project.
        """
        if not self.project:
            return frozenset()
        closed = set[str]()
        for design in self.designs:
            if design.silos is not None:
                closed |= design.silos(self)
        return frozenset(closed - {self.project})

    @property
    def projects(self) -> tuple[str, ...] | None:
        """The projects whose memory is returned, beside memory without a project.

        None stands for all projects.
        """
        return (self.project,) if self.project else None

    def in_project(self, project: str) -> Home:
        """Return the same home for another project, '' for all.

        It shares journal, clock and the views that are of no project with this one.

        Args:
            project: The id of the project; `memory.projects.find_project` gives it for
                a name or folder.

        Raises:
            InvalidInput: The project is outside the rule.
        """
        _ = self.views, self.designs  # made once, for both
        other = copy(self)
        other.project = self.journal.places().current(kept_id(check_project(project)))
        return other

    def as_read_by(self, agent: str) -> Home:
        """Return the home as an agent may read it: its own memory, and what is shared.

        It is this very home as long as no other agent has anything in it. Else it has
        views of its own, see `journal.view_scopes`.

        Args:
            agent: The agent.
        """
        from theorex_lab.journal.view_scopes import AgentViews

        _ = self.views, self.designs, self.chosen_embedder  # made once, for both
        if agent not in self._readings:
            shared_kinds: list[str] = []
            for design in self.designs:
                shared_kinds += design.shared_kinds
            self._readings[agent] = AgentViews(self.views.whole, agent, shared_kinds)
        views = self._readings[agent]
        if not views.agent_journal.hides_any():
            return self
        other = copy(self)
        other.journal = views.journal
        other.views = views
        other.reader = agent
        other._readings = {}
        return other

    def at_another_time(self, folder: Path, journal: Journal, clock: Clock) -> Home:
        """Return a home that reads another journal, by another clock.

        It has the settings, the designs and the project of this one. Its views keep no
        snapshots.

        Args:
            folder: The folder, for what its designs may write.
            journal: The journal.
            clock: The clock.
        """
        from theorex_lab.journal.view import Views

        # Made once, for both.
        _ = self.designs, self.chosen_embedder
        other = copy(self)
        other.folder = folder
        other.journal = journal
        other.clock = clock
        other.views = Views(
            journal, folder / "views", snapshot_after_events=sys.maxsize
        )
        return other

    @cached_property
    def item_view(self) -> type[ItemIndex]:
        """The search index over the texts of every design that works here."""
        return item_view(self.designs)

    @cached_property
    def label_view(self) -> type[ItemIndex]:
        """The search index over the labels of every design that works here."""
        return item_view(self.designs, labels=True)

    @property
    def views(self) -> Views:
        """The views of this home, those of its project among them; a write opens none.

        Views that are set are of the whole home.
        """
        from theorex_lab.journal.view_scopes import views_of_project

        return views_of_project(self._whole_views, self.project)

    @views.setter
    def views(self, views: Views) -> None:
        self.__dict__["_whole_views"] = views.whole

    @cached_property
    def _whole_views(self) -> Views:
        """The views of the whole home."""
        from theorex_lab.journal.view import Views

        _ = self.designs  # whose kinds of events the views read
        is_shared = self.journal.local is not self.journal
        own_folder, shared_folder = views_folders(self.folder)
        return Views(
            self.journal,
            shared_folder if is_shared else own_folder,
            snapshot_after_events=self.settings.snapshot_after_events,
        )

    def keep_no_snapshots(self) -> None:
        """Let the views of a spool stand in memory alone.

        Their folder is that of the shared journal all the same: whoever writes a
        briefing locks it there.
        """
        from theorex_lab.journal.view import Views

        _, folder = views_folders(self.folder)
        self.views = Views(self.journal, folder, snapshot_after_events=sys.maxsize)

    def agents(self) -> list[str]:
        """Return the names of the agents who have something in a design.

        They are in the order in which they first appear.
        """
        names: dict[str, None] = {}
        for design in self.designs:
            if design.agents is not None:
                names.update(dict.fromkeys(design.agents(self)))
        return list(names)

    def waiting_sessions(self, agent: str) -> list[str]:
        """Return the agent's sessions that wait in a design for their end, each once."""
        sessions: dict[str, None] = {}
        for design in self.designs:
            if design.captures.waiting is not None:
                sessions.update(dict.fromkeys(design.captures.waiting(self, agent)))
        return list(sessions)

    def check_session(self, agent: str, session: str) -> None:
        """Let each design that wishes it check a session before its end is processed.

        Args:
            agent: The agent.
            session: The session of the agent.
        """
        for design in self.designs:
            if design.captures.check is not None:
                design.captures.check(self, agent, session)

    def flush(self, agent: str, sessions: Sequence[str]) -> FlushResult:
        """Let each active design take in an agent's sessions.

        Designs that hold captures come first, since the others may read what those
        keep. They take part also where they are not active.

        Args:
            agent: The agent.
            sessions: The sessions of the agent that are over, or are about to be summarized.

        Returns:
            How many captured events were kept, and how many let go, in all.
        """
        active = self.active
        holding: list[Design] = []
        others: list[Design] = []
        for design in self.designs:
            if design.captures.waiting is not None:
                holding.append(design)
            elif design in active:
                others.append(design)
        n_kept = 0
        n_discarded = 0
        for design in (*holding, *others):
            if design.flush is None:
                continue
            for session in sessions:
                result = design.flush(self, agent, session)
                if isinstance(result, FlushResult):
                    n_kept += result.kept
                    n_discarded += result.discarded
        return FlushResult(n_kept, n_discarded)

    def settings_of(self, design: Design) -> Any:
        """Return a design's own settings, as `designs.NAME` of config.json has them.

        Once they were checked this needs no pydantic.

        Raises:
            ConfigError: Something in them is wrong.
            InvalidInput: The design has no settings.
        """
        if design.settings is None:
            raise InvalidInput(
                f"got the design {design.name!r}; allowed is one that has settings"
            )
        return part_of(self.settings, design.name, design.settings, self.config_file)

    def taken_in(self) -> dict[tuple[str, str], int]:
        """Return the seq up to which every design has processed what was captured.

        It is given by agent and session.
        """
        by_design = self._processed_by_design()
        if not by_design:
            return {}
        sessions = set.intersection(*map(set, by_design))
        processed: dict[tuple[str, str], int] = {}
        for session in sessions:
            seqs = [upto[session] for upto in by_design]
            processed[session] = min(seqs)
        for design in self.designs:
            if design.pending_from is None:
                continue
            for session, first_pending in design.pending_from(self).items():
                if session in processed:
                    processed[session] = min(processed[session], first_pending - 1)
        return processed

    def _processed_by_design(self) -> list[Mapping[tuple[str, str], int]]:
        """Return up to which seq each design has processed what was captured."""
        by_design = []
        for design in self.designs:
            if design.processed_up_to is not None:
                by_design.append(design.processed_up_to(self))
        return by_design

    @property
    def embedder(self) -> Embedder:
        """The embedder in use."""
        return self.chosen_embedder[0]

    @cached_property
    def chosen_embedder(self) -> tuple[Embedder, str]:
        """The embedder in use, and why it was chosen."""
        from theorex_lab.search.embed import choose_embedder

        if self._given_embedder is not None:
            return self._given_embedder, "it was handed in"
        settings = self.settings
        options: dict[str, Any] = {
            "api_key_env": settings.lm_studio_api_key_env,
            "threads": settings.embed_threads,
        }
        # Naming a host in the config is the consent.
        if settings.is_set("lm_studio_url"):
            options["url"] = settings.lm_studio_url
            options["model"] = settings.lm_studio_embed_model
            options["allow_remote"] = True
        return choose_embedder(**options)

    def __repr__(self) -> str:
        return f"Home({str(self.folder)!r})"


def views_folders(home: Path) -> tuple[Path, Path]:
    """Return where snapshots of a home's own journal lie, and those of a shared one.

    They lie apart, since the seqs of one mean other events in the other: a spool that
    ends before a snapshot of its own would be taken for damaged.
    """
    return home / "views", home / "shared-views"


def _check_names(designs: Sequence[Design]) -> None:
    """Refuse names of designs that clash or are outside the rule.

    Raises:
        InvalidInput: A name is outside the rule, or two designs have one name, one kind
            of event or one kind of items.
    """
    names: list[str] = []
    for design in designs:
        if not _NAME.fullmatch(design.name):
            allowed = "1 to 32 of a-z 0-9 _ starting with a letter"
            raise InvalidInput(
                f"got a design named {design.name!r}; allowed are {allowed}"
            )
        names += (design.name, *design.kinds)
    item_names = [kind.name for kind in (*OWN_ITEMS, *item_kinds(designs))]
    repeated = _first_repeated(names) or _first_repeated(item_names)
    if repeated is not None:
        allowed = "one of each name, of each kind of event and of items"
        raise InvalidInput(f"got two designs with {repeated!r}; allowed is {allowed}")


def _first_repeated(names: Sequence[str]) -> str | None:
    """Return the first name that stands in the list again, None without one."""
    for name in names:
        if names.count(name) > 1:
            return name
    return None


def item_view(designs: Iterable[Design], *, labels: bool = False) -> type[ItemIndex]:
    """Return the search index over the texts, or the labels, of these designs.

    It is the same in whatever order they are named.
    """
    from theorex_lab.search.index import item_index

    ordered = sorted(designs, key=lambda design: design.name)
    kinds = (*OWN_ITEMS, *item_kinds(ordered))
    indexed_kinds = tuple(kind for kind in kinds if kind.label == labels)
    return item_index(indexed_kinds, "labels" if labels else "items")


def item_kinds(designs: Iterable[Design]) -> list[ItemKind]:
    """Return the kinds of items of these designs.

    One that several bring, as that of observations, comes once.
    """
    kinds: dict[int, ItemKind] = {}
    for design in designs:
        for kind in design.items:
            kinds[id(kind)] = kind
    return list(kinds.values())


def check_given(
    clock: Clock | None, settings: Settings | None, embedder: Embedder | None
) -> None:
    """Refuse an object that is not what it is handed in as.

    Later it would fail far from here.

    Raises:
        InvalidInput: An object is of another class, or lacks something.
    """
    if clock is not None and not _is_clock(clock):
        raise InvalidInput(
            f"got {clock!r:.100} for a clock; allowed is an object whose now() tells"
            " the time in µs UTC"
        )
    if settings is not None and not isinstance(settings, Settings):
        raise InvalidInput(
            f"got {settings!r:.100} for settings; allowed is such as"
            " Settings(half_life_days=7)"
        )
    if embedder is not None:
        _check_embedder(embedder)


def _is_clock(clock: object) -> bool:
    """Return whether an object can tell the time."""
    if isinstance(clock, type):
        return False
    return callable(getattr(clock, "now", None))


def _check_embedder(embedder: Any) -> None:
    """Refuse what is no `search.embed.Embedder`.

    A property is computed when it is asked for, so it is only looked for.

    Raises:
        InvalidInput: It names all that is wrong.
    """
    if isinstance(embedder, type):
        raise InvalidInput(
            f"got the class {embedder.__name__} for an embedder; allowed is an object"
            " of it"
        )
    import inspect  # which takes longer than most commands

    problems = []
    for name, (allowed, is_right) in _MEMBERS.items():
        member = inspect.getattr_static(embedder, name, _ABSENT)
        is_computed = hasattr(type(member), "__get__")
        if member is _ABSENT:
            problems.append(f"it has no {name} (allowed: {allowed})")
        elif not is_computed and not is_right(member):
            problems.append(f"{name} is {member!r:.100} (allowed: {allowed})")
    if problems:
        raise InvalidInput(
            f"got a {type(embedder).__name__} for an embedder: {'; '.join(problems)}"
        )
