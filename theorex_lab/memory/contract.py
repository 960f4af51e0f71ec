"""A home and a design: what every policy takes, what a design brings, and how anything that remembers is driven.

The rooms below know these types and no design. What a design leaves out has a default, so that a small one stays small.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from theorex_lab.core.clock import Clock, SystemClock
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.project import check_project
from theorex_lab.core.settings import Settings, load_settings, part_of
from theorex_lab.journal.event import register_kinds
from theorex_lab.journal.sqlite.store import open_journal
from theorex_lab.search.items import OWN_ITEMS
from theorex_lab.search.items import ItemKind as ItemKind
from theorex_lab.search.items import ItemText as ItemText

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
    from theorex_lab.search.embed import Embedder

AuditRecord = tuple[
    str, str, Mapping[str, Any]
]  # kind of an audit entry, agent, detail
AuditMatch = tuple[
    "Event", AuditRecord
]  # the event that an audit entry was read from, and what it tells

R = TypeVar("R")
FIXED_KIND = "fix"  # of a line that tells how something was fixed
# Of evidence, after the design's name and a slash: how an option did, such as an item
# that was given, whatever it was tried for.
OPTION_KEY = "option"


class ContextLine(NamedTuple):
    """A line of a context. kind: concept, failure, or an observation type.  owner:
    whose it is shown as.

    heard_from: agent and trust of what is trusted less than an agent; None for what is
    trusted.  items: ids of what it shows, as search gives them.  events: ids of the
    events that it rests on, where those are others than the items.  why: why it is
    there, for who asks.  longer: a text that says more, shown in the place of `text`
    where a section has a share of the budget and room is left over; '' without one.
    """

    kind: str
    owner: str
    text: str
    heard_from: tuple[str, int] | None = None
    items: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    why: str = ""
    longer: str = ""

    @property
    def trusted(self) -> bool:
        """Whether it is an agent's or a person's own word."""
        return self.heard_from is None


class ContextRequest(NamedTuple):
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

    lines: Callable[[Home, ContextRequest], Iterable[ContextLine]]
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


class AuditQuery(NamedTuple):
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


class DesignApi:
    """What `lab.design(NAME)` gives for a design in one home; a design's own class adds
    what one does with it.

    home: the home.  searcher: the home's search.
    """

    def __init__(self, home: Home, searcher: Callable[[], Any] | None = None) -> None:
        self.home = home
        self._searcher = searcher

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
        from theorex_lab.text.redact.redaction_scope import kept_value

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
    def method(self: DesignApi, *given: Any, **named: Any) -> R:
        return function(self.home, *given, **named)

    return method


def audit_telling(
    *names: str,
) -> Callable[[], Callable[[Event], Iterable[AuditRecord]]]:
    """A reading of the audit log that tells of each event the members of its body with
    these names that say something.
    """

    def told(event: Event) -> Iterable[AuditRecord]:
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
    is called `theorex NAME …`; `theorex_lab.files.command_line` has what its commands are made of.
    silos: projects whose captures reach no other project, whatever is shared.  tools:
    what agents may call over MCP. routes: what programs may ask over HTTP.
    """

    name: str
    face: Callable[[Home, Callable[[], Any]], Any] = DesignApi
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


CONFIG_FILE = "config.json"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
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
    """A folder with its journal, the views folded from it, settings, a clock, an
    embedder, and the designs that work in it.

    `settings` are replaced as a whole where a policy is changed: who needs them reads
    them here each time. `project`: what is written is of it, and only what is of it or
    of none is given back; '' is none, to which all is given.
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
        """What is not given is the folder's own; its journal is opened, or created.
        `designs` is asked for them once they are needed.

        Raises ConfigError for a broken config.json, StorageError where the folder
        cannot be written, CorruptJournal where its journal is damaged, InvalidInput for
        a project outside the rule.
        """
        self.folder = folder
        self.project = check_project(project)
        self.clock: Clock = clock or SystemClock()
        self.settings = (
            settings if settings is not None else load_settings(self.config_file)
        )
        self.journal = journal or open_journal(folder, clock=self.clock)
        self._find_designs = designs
        self._given_embedder = embedder

    @property
    def config_file(self) -> Path:
        """The file of settings that were changed."""
        return self.folder / CONFIG_FILE

    @cached_property
    def designs(self) -> tuple[Design, ...]:
        """The designs that work here, whose kinds of events are known from then on; a
        write asks for none.

        Raises InvalidInput where two have one name, or one kind of event or of items,
        or where a kind has another version.
        """
        found = tuple(self._find_designs())
        for design in found:
            if not _NAME.fullmatch(design.name):
                allowed = "1 to 32 of a-z 0-9 _ starting with a letter"
                raise InvalidInput(
                    f"got a design named {design.name!r}; allowed are {allowed}"
                )
        names = [name for design in found for name in (design.name, *design.kinds)]
        items = [kind.name for kind in (*OWN_ITEMS, *item_kinds(found))]
        if twice := [
            name for known in (names, items) for name in known if known.count(name) > 1
        ]:
            allowed = "one of each name, of each kind of event and of items"
            raise InvalidInput(
                f"got two designs with {twice[0]!r}; allowed is {allowed}"
            )
        for design in found:
            register_kinds(design.kinds, design.upcasters)
        return found

    @property
    def shown(self) -> tuple[Design, ...]:
        """The designs whose sections a context has: those that the setting
        contextDesigns names; where it names none, those that lead, and of other
        packages all; where there is none of these, every one.

        Raises InvalidInput for a name that no design has.
        """
        named = self.settings.context_designs
        known = {design.name: design for design in self.designs}
        if unknown := [name for name in named if name not in known]:
            raise InvalidInput(
                f"got the design {unknown[0]!r} in contextDesigns; allowed are"
                f" {', '.join(known)}"
            )
        chosen = [known[name] for name in named] or [
            design for design in self.designs if design.leads
        ]
        return (
            tuple(chosen) if any(design.sections for design in chosen) else self.designs
        )

    @property
    def closed_projects(self) -> frozenset[str]:
        """The projects that designs closed to others: of what was captured there
        nothing is given in any other project.
        """
        if not self.project:
            return frozenset()
        found = (
            design.silos(self) for design in self.designs if design.silos is not None
        )
        return frozenset().union(*found) - {self.project}

    @property
    def projects(self) -> tuple[str, ...] | None:
        """The projects whose memory is returned, beside memory without a project; None:
        all projects.
        """
        return (self.project,) if self.project else None

    def in_project(self, project: str) -> Home:
        """The same home for another project, '' for all; it shares journal, views and
        clock with this one.

        Raises InvalidInput for a project outside the rule.
        """
        _ = self.views, self.designs  # made once, for both
        other = copy(self)
        other.project = self.journal.places().current(check_project(project))
        return other

    @cached_property
    def item_view(self) -> type[ItemIndex]:
        """The search index over the texts of every design that works here."""
        return item_view(self.designs)

    @cached_property
    def label_view(self) -> type[ItemIndex]:
        """The search index over the labels of every design that works here."""
        return item_view(self.designs, labels=True)

    @cached_property
    def views(self) -> Views:
        """The views of this home; a write opens none."""
        from theorex_lab.journal.view import Views

        self.designs
        return Views(
            self.journal,
            self.folder / "views",
            snapshot_after_events=self.settings.snapshot_after_events,
        )

    def agents(self) -> list[str]:
        """Names of the agents who have something in a design, in order of their first."""
        found = (
            design.agents(self) for design in self.designs if design.agents is not None
        )
        return list(dict.fromkeys(name for names in found for name in names))

    def settings_of(self, design: Design) -> Any:
        """A design's own settings, as they stand in `designs.NAME` of config.json;
        without pydantic once they were checked.

        Raises ConfigError for what is wrong in them, InvalidInput for a design without
        settings.
        """
        if design.settings is None:
            raise InvalidInput(
                f"got the design {design.name!r}; allowed is one that has settings"
            )
        return part_of(self.settings, design.name, design.settings, self.config_file)

    def taken_in(self) -> dict[tuple[str, str], int]:
        """By agent and session, the seq up to which every design has taken in what was
        captured.
        """
        found = [
            design.consolidated(self)
            for design in self.designs
            if design.consolidated is not None
        ]
        taken = (
            {
                key: min(upto[key] for upto in found)
                for key in set.intersection(*map(set, found))
            }
            if found
            else {}
        )
        for needed in (
            design.needs(self) for design in self.designs if design.needs is not None
        ):
            taken |= {
                key: min(taken[key], first - 1)
                for key, first in needed.items()
                if key in taken
            }
        return taken

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
        how: dict[str, Any] = {
            "api_key_env": settings.lm_studio_api_key_env,
            "threads": settings.embed_threads,
        }
        if settings.is_set(
            "lm_studio_url"
        ):  # naming a host in the config is the consent
            how |= {
                "url": settings.lm_studio_url,
                "model": settings.lm_studio_embed_model,
                "allow_remote": True,
            }
        return choose_embedder(**how)

    def __repr__(self) -> str:
        return f"Home({str(self.folder)!r})"


def item_view(designs: Iterable[Design], *, labels: bool = False) -> type[ItemIndex]:
    """The search index over the texts, or the labels, of these designs, in whatever
    order they are named.
    """
    from theorex_lab.search.index import item_index

    items = (*OWN_ITEMS, *item_kinds(sorted(designs, key=lambda design: design.name)))
    items = tuple(kind for kind in items if kind.label == labels)
    return item_index(items, "labels" if labels else "items")


def item_kinds(designs: Iterable[Design]) -> list[ItemKind]:
    """The kinds of items of these designs; one that several bring, as that of
    observations, once.
    """
    return list(
        {id(kind): kind for design in designs for kind in design.items}.values()
    )


def check_given(
    clock: Clock | None, settings: Settings | None, embedder: Embedder | None
) -> None:
    """Raises InvalidInput for an object that is not what it is handed in as: later it
    would fail far from here.
    """
    if clock is not None and (
        isinstance(clock, type) or not callable(getattr(clock, "now", None))
    ):
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


def _check_embedder(given: Any) -> None:
    """Raises InvalidInput, naming all that is wrong, where `given` is no
    `search.embed.Embedder`.

    What is computed when it is asked for (a property) is only looked for.
    """
    if isinstance(given, type):
        raise InvalidInput(
            f"got the class {given.__name__} for an embedder; allowed is an object"
            " of it"
        )
    import inspect  # which takes longer than most commands

    wrong = []
    for name, (allowed, is_right) in _MEMBERS.items():
        if (found := inspect.getattr_static(given, name, _ABSENT)) is _ABSENT:
            wrong.append(f"it has no {name} (allowed: {allowed})")
        elif not hasattr(type(found), "__get__") and not is_right(found):
            wrong.append(f"{name} is {found!r:.100} (allowed: {allowed})")
    if wrong:
        raise InvalidInput(
            f"got a {type(given).__name__} for an embedder: {'; '.join(wrong)}"
        )
