"""The face of the toolkit: a home opened as a `Lab`, and the agents who remember in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from theorex_lab.core.clock import Clock
from theorex_lab.core.errors import InvalidInput, StorageError
from theorex_lab.core.ids import SCANNER, check_agent, check_session, new_event_id
from theorex_lab.core.settings import Settings, check_settings
from theorex_lab.core.spans import (
    CREATE,
    DELETE,
    SEARCH,
    MemorySpan,
    memory_operation,
)
from theorex_lab.designs import installed
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import register_kinds
from theorex_lab.journal.sqlite.store import in_file
from theorex_lab.memory.briefing.briefing_file import (
    CONTEXT_FILE,
    remove_briefings,
)
from theorex_lab.memory.contract import Home, check_given
from theorex_lab.memory.observation import (
    DEFAULT_TYPE,
    ObservationEntry,
    WrittenObservation,
    write_all,
)
from theorex_lab.text.redact.masking import mask
from theorex_lab.text.redact.redaction_scope import door, kept_id

if TYPE_CHECKING:
    import tempfile

    from theorex_lab.designs.causal.face import Causal
    from theorex_lab.designs.dreams.face import Dreams
    from theorex_lab.designs.facts.face import FactsMemory
    from theorex_lab.designs.research.face import MemoryManager
    from theorex_lab.designs.sessions.face import Sessions
    from theorex_lab.designs.theorex.answers import AxonView
    from theorex_lab.designs.theorex.face import Theorex
    from theorex_lab.dispatch.tasks import TaskBoard
    from theorex_lab.dispatch.traces import Trace, TraceStatistics
    from theorex_lab.dispatch.worker import Dispatcher, DispatchResult
    from theorex_lab.evolution.cases import Reviewer, TraceReviewRecord
    from theorex_lab.evolution.maintenance import MaintenanceReport
    from theorex_lab.evolution.outcomes import OutcomeLog
    from theorex_lab.evolution.replay import ReplayReport
    from theorex_lab.evolution.syncing import SyncReport
    from theorex_lab.files.formats.reports import Exported, FileReport
    from theorex_lab.files.ingest.documents import Ingested
    from theorex_lab.files.ingest.file_reader import FileReader
    from theorex_lab.files.transcripts.importing import Imported
    from theorex_lab.journal.erasing import EraseSelection
    from theorex_lab.journal.event import Event
    from theorex_lab.journal.shared_snapshots import SnapshotTransfer
    from theorex_lab.journal.sqlite.archive import Archiving
    from theorex_lab.journal.sqlite.backup import Backup
    from theorex_lab.journal.view import BadEvent, Verification, View, Views
    from theorex_lab.memory.briefing.briefing import Briefing
    from theorex_lab.memory.contract import Design, SessionsEnd
    from theorex_lab.memory.retrieve import Hits, Searcher, VectorUse
    from theorex_lab.routing.cascade import Check
    from theorex_lab.routing.confidence import MatrixResult
    from theorex_lab.routing.energy import Power
    from theorex_lab.routing.router import Decision
    from theorex_lab.search.embed import Embedder
    from theorex_lab.store.lifecycle import SessionHome

DEFAULT_HOME = "~/.theorex"
FilePath = str | Path | None


class Lab:
    """A home: its journal, the views folded from it, its settings and a clock.

    Attributes:
        home: The home.
        folder: The folder of the home.
        journal: The journal of the home.
        clock: What tells the time here.
        config_file: In the folder, with the settings that were changed.
        context_file: Where the briefing is written by default.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     main = lab.agent("main")
    ...     _ = main.write(
    ...         "TTL invalidation prevents cache stampedes", observation_type="decision"
    ...     )
    ...     hits = main.search("stampede")
    >>> [hit.kind for hit in hits]
    ['observation']
    """

    def __init__(
        self,
        home: str | Path = DEFAULT_HOME,
        *,
        clock: Clock | None = None,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
        journal: Journal | None = None,
        designs: Sequence[Design] | None = None,
        project: str = "",
    ) -> None:
        """Open the home at `home`, or create it.

        Args:
            home: The folder.
            clock: Tells the time; None for the system's clock.
            settings: Take the place of the home's config.json.
            embedder: Makes vectors of texts; None for the best that there is.
            journal: Takes the place of the one in the folder.
            designs: Take the place of those that are installed.
            project: The project, see `core.project.project_of`. The lab writes into it, and
                returns its memory and memory without a project. Tiers are updated and items
                published in it alone, and status counts it. '' is none: such a lab reads all
                projects.

        Raises:
            InvalidInput: An object is no clock, settings or embedder, or a design's kinds of
                events are known in another version.
            ConfigError: config.json is broken.
            StorageError: The home cannot be written.
            CorruptJournal: The home's journal is damaged.
        """
        check_given(clock, settings, embedder)
        # A write, which asks for no designs, may be one of theirs.
        for design in designs or ():
            register_kinds(design.kinds, design.upcasters)
        self.home = Home(
            Path(home).expanduser(),
            journal=journal,
            settings=settings,
            clock=clock,
            embedder=embedder,
            designs=installed if designs is None else partial(tuple, designs),
            project=project,
        )
        self.folder = self.home.folder
        self.journal = self.home.journal
        self.clock = self.home.clock
        self.config_file = self.home.config_file
        self.context_file = self.folder / CONTEXT_FILE
        self._faces: dict[str, Any] = {}  # by design
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    @classmethod
    def temporary(
        cls,
        *,
        clock: Clock | None = None,
        embedder: Embedder | None = None,
        **settings: Any,
    ) -> Self:
        """Open a lab in a folder of its own, for experiments.

        It is gone when the lab is closed.

        Args:
            clock: Tells the time; None for the system's clock.
            embedder: Makes vectors of texts; None for the best that there is.
            settings: Any settings by their names in Python, as `Settings` takes them;
                they are as many as there are settings.

        Raises:
            InvalidInput: An object is no clock or embedder, or a setting is unknown or
                outside its range.
        """
        import tempfile

        checked = check_settings(settings)
        check_given(clock, checked, embedder)
        folder = tempfile.TemporaryDirectory(
            prefix="theorex-", ignore_cleanup_errors=True
        )
        lab = cls(folder.name, clock=clock, settings=checked, embedder=embedder)
        lab._temporary = folder
        return lab

    @property
    def views(self) -> Views:
        """The views of the home."""
        return self.home.views

    @property
    def settings(self) -> Settings:
        """The settings in force; assigning others puts them in force in this lab alone."""
        return self.home.settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self.home.settings = settings

    @property
    def chosen_embedder(self) -> tuple[Embedder, str]:
        """The embedder in use, and why it was chosen."""
        return self.home.chosen_embedder

    @cached_property
    def searcher(self) -> Searcher:
        """Search over this home, kept between calls so that vectors are read once."""
        from theorex_lab.memory.retrieve import Searcher

        return Searcher(self.home)

    @cached_property
    def dispatcher(self) -> Dispatcher:
        """What hands tasks to models.

        Opening it closes the traces of processes that have died.
        """
        from theorex_lab.dispatch.worker import Dispatcher

        return Dispatcher(self.home)

    @property
    def tasks(self) -> TaskBoard:
        """Tasks that agents send to each other."""
        from theorex_lab.dispatch.tasks import TaskBoard

        return TaskBoard(self.home)

    @property
    def outcomes(self) -> OutcomeLog:
        """How what agents decided went: record, correct, list.

        See `evolution.outcomes.OutcomeLog`.
        """
        from theorex_lab.evolution.outcomes import OutcomeLog

        return OutcomeLog(self.home)

    def in_project(self, project: str | Path, *, new: bool = False) -> Lab:
        """Return this lab for a project, '' for all.

        It shares everything with this one, which is the one to close.

        Args:
            project: The project: its id, its name where only one has it, or a folder in
                it. `Lab.projects` lists them.
            new: Whether it may be one that is not known yet.

        Raises:
            InvalidInput: No project is called so, or several are; or the name of a new
                one is outside the rule.
        """
        from theorex_lab.memory.projects import find_project, known_or_new_project

        name = str(project)
        if name == self.home.project:
            return self
        if new:
            name = known_or_new_project(self.home, name)
        elif name:
            advice = "give '' for all, or new=True to begin one"
            name = find_project(self.home, name, advice=advice)
        other = copy(self)
        other.home = self.home.in_project(name)
        other._faces = {}
        other.searcher = copy(self.searcher)  # vectors are read once for both
        other.searcher.home = other.home
        return other

    def as_read_by(self, agent: str) -> Lab:
        """Return this lab as an agent may read it: its own memory, and what is shared.

        Writes reach the whole memory. It shares everything with this one, which is the
        one to close.

        Args:
            agent: The agent's name.

        Raises:
            InvalidInput: The name is outside the rule.
        """
        home = self.home.as_read_by(check_agent(agent))
        if home is self.home:
            return self
        other = copy(self)
        other.home = home
        other.journal = home.journal
        other._faces = {}
        for kept_name in ("searcher", "dispatcher"):
            other.__dict__.pop(kept_name, None)
        return other

    def agent(self, name: str) -> Agent:
        """Return an agent of this home.

        Raises:
            InvalidInput: The name is outside the rule.
        """
        return Agent(self, kept_id(check_agent(name)))

    def agents(self) -> list[str]:
        """Return the agents who have something in a design.

        They stand in the order of their first.
        """
        return self.home.agents()

    def design(self, name: str) -> Any:
        """Return what one does with a design of this home: the steps of its own.

        See `Design.api`.

        Raises:
            InvalidInput: No design has the name.
        """
        if name not in self._faces:
            designs = {design.name: design for design in self.home.designs}
            if name not in designs:
                raise InvalidInput(
                    f"got the design {name!r}; allowed are {', '.join(designs)}"
                )
            self._faces[name] = designs[name].api(self.home, lambda: self.searcher)
        return self._faces[name]

    @property
    def sessions(self) -> Sessions:
        """The design of sessions: rules, files and sessions in short."""
        return cast("Sessions", self.design("sessions"))

    @property
    def facts(self) -> FactsMemory:
        """The design Engram: facts with their history, channels, notes and summaries."""
        return cast("FactsMemory", self.design("facts"))

    @property
    def dreams(self) -> Dreams:
        """The design Evolving Memory: procedures made of recorded work.

        It captures trajectories and makes procedures of them, which are recalled and
        followed step by step.
        """
        return cast("Dreams", self.design("dreams"))

    @property
    def causal(self) -> Causal:
        """The design of causal memory.

        It has signals, attempts and outcomes, and advice on what to try.
        """
        return cast("Causal", self.design("causal"))

    @property
    def research(self) -> MemoryManager:
        """The design of research tiers.

        It has episodes, records, theorems, insights and skills.
        """
        return cast("MemoryManager", self.design("research"))

    @property
    def theorex(self) -> Theorex:
        """The design Theorex.

        It has the tiers of concepts, their life cycle, and what an agent knows now.
        """
        return cast("Theorex", self.design("theorex"))

    def write_all(
        self,
        entries: Sequence[ObservationEntry],
        *,
        imported: bool = False,
        keep_secrets: bool = False,
    ) -> list[WrittenObservation]:
        """Write many texts in one transaction: all or none.

        Args:
            entries: The texts.
            imported: Whether dates ahead of the clock are allowed.
            keep_secrets: Whether what looks like a secret is kept unmasked.

        Raises:
            InvalidInput: An entry is outside the rules; then nothing was written.
        """
        operation = memory_operation(CREATE, self.home.project)
        with operation as span, door(keep_secrets=keep_secrets):
            written = write_all(self.home, entries, imported=imported)
            span.records(_records_of(self.home, written, span))
            return written

    def search(
        self,
        query: str,
        *,
        agents: Sequence[str] | None = None,
        limit: int = 10,
        cold: bool = False,
        tag: str | None = None,
        spread: bool = False,
        kinds: Sequence[str] | None = None,
        all_projects: bool = False,
        vectors: VectorUse | None = None,
        history: bool = False,
    ) -> Hits:
        """Search what all agents remember, or these and the shared web.

        In a lab of a project that is what is of it or of none, and the shared web. See
        `memory.retrieve.Searcher.search`.

        Args:
            query: The query.
            agents: Whose items are results, beside what they share; None for all.
            limit: The greatest number of results.
            cold: Whether archived items are results too.
            tag: A tag that the items carry; None for any.
            spread: Whether texts that belong to the results are results too.
            kinds: The kinds of items; None for texts of all kinds.
            all_projects: Whether the items of all projects are results.
            vectors: Whether the query's vector is computed; None as the setting says.
            history: Whether older statements that a newer one replaces are results too.

        Raises:
            InvalidInput: The query is blank, the limit is outside 1..1000, or no design here
                has a kind of item.
        """
        store = "" if all_projects else self.home.project
        with memory_operation(SEARCH, store, agent=_only(agents)) as span:
            hits = self.searcher.search(
                query,
                agents=agents,
                projects=None if all_projects else self.home.projects,
                vectors=vectors,
                limit=limit,
                cold=cold,
                tag=tag,
                spread=spread,
                kinds=kinds,
                history=history,
            )
            span.asked(mask(query))
            span.records((hit.id, hit.text) for hit in hits)
        if hits or all_projects:
            return hits
        from theorex_lab.memory.projects import note_of_other_projects

        note = note_of_other_projects(self.home)
        return replace(hits, notes=(*hits.notes, note)) if note else hits

    def briefing(
        self,
        query: str | None = None,
        *,
        tokens: int = 500,
        folder: FilePath = None,
    ) -> Briefing:
        """Return what an agent would read now, at a session's start or at a prompt.

        Nothing is written, and no maintenance has to have run.

        Args:
            query: A prompt; None is the start of a session.
            tokens: The budget, from 20.
            folder: A folder of the project. Its git history is shown as long as no session
                is recorded. None is the last folder that the home knows, '' is none.

        Returns:
            The briefing, with its `text` and `lines`.

        Raises:
            InvalidInput: The budget is too small.
        """
        from theorex_lab.memory.briefing.briefing import make_briefing

        with memory_operation(SEARCH, self.home.project) as span:
            briefing = make_briefing(
                self.home,
                query=query or "",
                tokens=tokens,
                folder=folder,
            )
            span.asked(mask(query or ""))
            span.records((line.id, line.text) for line in briefing.lines)
            return briefing

    def pin(self, item: str, *, undo: bool = False) -> str:
        """Put an item, or a line of a briefing, first.

        Args:
            item: Its id, or a prefix that no other id has. `briefing().lines` has the
                ids of lines, `search` those of items.
            undo: Take the pin back.

        Returns:
            Its id.

        Raises:
            InvalidInput: Nothing has that id, or several begin so.
            StorageError: A briefing cannot be written.
        """
        return self._mark("pinned", item, undo=undo)

    def dismiss(self, item: str, *, undo: bool = False) -> str:
        """Let an item or a line come back no more, in whatever words; as `pin`.

        A search with `cold` still finds the item.

        Args:
            item: Its id, or the beginning that it alone has.
            undo: Let it come back again.
        """
        return self._mark("dismissed", item, undo=undo)

    def correct(self, item: str, text: str = "", *, undo: bool = False) -> str:
        """Put a text in the place of an item's or a line's own; as `pin`.

        Args:
            item: Its id, or the beginning that it alone has.
            text: The text that stands for it from now on.
            undo: Take the correction back.

        Raises:
            InvalidInput: The text is blank, or too long for the line; or as `pin`.
        """
        return self._mark("corrected", item, text=text, undo=undo)

    def trust(self, item: str, *, undo: bool = False) -> str:
        """Make a statement a standing rule of the user, or trust a fix; as `pin`.

        A pasted or imported statement becomes a rule, a fix that a review wrote becomes
        a known fix.

        Args:
            item: Its id, or a prefix that no other id has. For a fix also the end of
                the id that a rendered context shows.
            undo: Take the trust in a statement back.

        Raises:
            InvalidInput: It is no statement, or too long for a line; it is a fix and
                `undo` is given; or as `pin`.
        """
        from theorex_lab.designs.theorex.sections import fix_id as find_fix

        fix_id = find_fix(self.home, item)
        if not fix_id:
            return self._mark("trusted", item, undo=undo)
        if undo:
            raise InvalidInput(
                f"got the fix {fix_id}, whose trust cannot be taken back; `theorex"
                f" dismiss {fix_id}` shows it no more"
            )
        return self.theorex.trust(fix_id).observation_id

    def start_session(
        self,
        session: str,
        *,
        agent: str = "main",
        folder: str | Path = "",
        is_resumed: bool = False,
    ) -> str:
        """Return the briefing that a session starts with, and note that it was given.

        It is the one that was rendered last; see `store.lifecycle.start_session`.

        Args:
            session: The session.
            agent: The agent.
            folder: The folder in which the agent works, which names the project; '' for
                none.
            is_resumed: Whether what the session was given before still counts.

        Returns:
            The briefing, '' where there is nothing to give.

        Raises:
            InvalidInput: The agent or the session is outside the rules.
            StorageError: The journal cannot be written.
        """
        from theorex_lab.store.lifecycle import start_session

        event = {
            "hook_event_name": "SessionStart",
            "session_id": check_session(session),
            "cwd": str(folder),
            "source": "resume" if is_resumed else "startup",
        }
        briefing = start_session(
            self._session_home(), event, agent=check_agent(agent), give=_keep_back
        )
        return briefing.text.decode(errors="replace")

    def take_prompt(
        self,
        text: str,
        *,
        session: str,
        agent: str = "main",
        folder: str | Path = "",
    ) -> str:
        """Keep what a person asked; return what is remembered that fits it.

        See `store.lifecycle.take_prompt`.

        Args:
            text: The prompt.
            session: The session.
            agent: The agent.
            folder: The folder in which the agent works, which names the project; '' for
                none.

        Returns:
            What fits, '' where nothing does; it counts as given.

        Raises:
            InvalidInput: The agent or the session is outside the rules.
            StorageError: The journal cannot be written.
        """
        from theorex_lab.store.lifecycle import take_prompt

        event = {
            "hook_event_name": "UserPromptSubmit",
            "session_id": check_session(session),
            "cwd": str(folder),
            "prompt": text,
        }
        matches = take_prompt(
            self._session_home(), event, agent=check_agent(agent), give=_keep_back
        )
        return matches.text.decode()

    def take_event(self, event: Mapping[str, Any], *, agent: str = "main") -> Event:
        """Keep what happened in a session: a tool use, the end of an answer, and so on.

        See `store.lifecycle.take_event`.

        Args:
            event: The event in Claude Code's hook form, such as {"hook_event_name":
                "PostToolUse", "session_id": …, "cwd": …, "tool_name": …, "tool_input":
                …, "tool_response": …}.
            agent: The agent.

        Returns:
            The event that was appended.

        Raises:
            InvalidInput: The agent is outside the rule, or the event's name is none of
                `memory.hook_payloads.BODIES`.
            StorageError: The journal cannot be written.
        """
        from theorex_lab.memory.hook_payloads import BODIES
        from theorex_lab.store.lifecycle import take_event

        name = event.get("hook_event_name")
        if name not in BODIES:
            allowed = ", ".join(BODIES)
            raise InvalidInput(
                f"got the hook_event_name {name!r:.100}; allowed are {allowed}"
            )
        return take_event(self._session_home(), event, agent=check_agent(agent))

    def end_session(
        self, session: str | None = None, *, agent: str = "main"
    ) -> SessionsEnd:
        """Let every design take in a session that ended.

        See `store.lifecycle.end_session`.

        Args:
            session: The session; None for all of the agent that wait.
            agent: The agent.

        Returns:
            How many sessions there were, and what became of their events.

        Raises:
            InvalidInput: The agent or the session is outside the rules.
            StorageError: The journal or a briefing cannot be written.
        """
        from theorex_lab.store.lifecycle import end_session

        return end_session(self.home, self.searcher, session, agent=agent)

    def _session_home(self) -> SessionHome:
        """Return this home as the steps within a session need it."""
        from theorex_lab.store.lifecycle import SessionHome

        return SessionHome(
            str(self.folder),
            journal=self.journal,
            settings=self.settings,
            clock=self.clock,
            project=self.home.project,
        )

    def save_briefing(self, output: str | Path | None = None) -> Briefing:
        """Write the briefing into a file, in a project into its own file too.

        Hooks give the next session what the project's own file holds.

        Args:
            output: The file; None: SHARED_CONTEXT.md in the home.

        Returns:
            The briefing.

        Raises:
            StorageError: A file cannot be written.
        """
        from theorex_lab.evolution.briefing import save_briefing

        file = Path(output).expanduser() if output is not None else self.context_file
        return save_briefing(self.home, file)

    def status(self, *, agent: str | None = None) -> dict[str, Any]:
        """Return the state of the home.

        The state is the home, the number of its events, the embedder in use, and the state
        of each design (see `Design.status`). `active` names the designs that take part by
        themselves. `holds` is how much there is of each thing,
        and `waits` what waits, with the command that helps. `bad_events` are those that
        the method of this name returns. In a lab of a project it counts memory of the
        project and memory without one, and the events that were captured in it.

        Args:
            agent: The agent whose state the designs report; None for all.

        Raises:
            InvalidInput: The agent is outside the rule.
        """
        if agent is not None:
            check_agent(agent)
        self._open_for_status()
        design_parts = [
            design.status(self.home, agent)
            for design in self.home.designs
            if design.status is not None
        ]
        embedder, reason = self.chosen_embedder
        status = {
            "home": str(self.folder),
            "project": self.home.project,
            "events": self._n_events(),
            "active": [design.name for design in self.home.active],
        }
        for part in reversed(
            design_parts
        ):  # of two designs the first one's value holds
            status |= part
        status |= self._holdings(agent)
        status["bad_events"] = [event._asdict() for event in self.bad_events()]
        status["embedder"] = {
            "id": embedder.id,
            "kind": embedder.kind,
            "reason": reason,
        }
        return status

    def _open_for_status(self) -> None:
        """Open the views that a status reads, in one pass over the journal.

        The directory of the journal is opened with them where one of them is far behind.
        """
        from theorex_lab.evolution.holdings import status_views
        from theorex_lab.journal.directory import directory_view

        views = status_views(self.home)
        self.views.open_together([*views, directory_view()])

    def _holdings(self, agent: str | None) -> dict[str, Any]:
        """Return what the home holds, and what waits in it, as the status has it."""
        from theorex_lab.evolution.holdings import holdings_in

        holds = []
        waits = []
        for holding in holdings_in(self.home, agent):
            row = {"what": holding.what, "n": holding.n}
            if not holding.waits:
                holds.append(row)
            elif holding.n:
                waits.append(row | {"do": holding.do})
        return {"holds": holds, "waits": waits}

    def _n_events(self) -> int:
        """Return how many events there are, in a project how many were captured in it.

        What is noted of where projects are says nothing of what happened in them.
        """
        n_noted = self.journal.places().events
        if self.home.project:
            return self._captured()
        return self.journal.last_seq() - n_noted

    def route(
        self,
        query: str,
        *,
        power: Power | None = None,
        agent: str | None = None,
        urgent: bool = False,
        context_pct: float = 0.0,
        query_tokens: int = 0,
        margin: float | None = None,
        willingness: float | None = None,
    ) -> Decision:
        """Return which model a query should go to, and why; nothing is called.

        See `routing.router.route`.

        Args:
            query: The query.
            power: What the machine runs on; None: read from the machine.
            agent: Who asks; None for nobody.
            urgent: Whether a small model is asked for, unless a role prefers otherwise.
            context_pct: The share of the context in use, 0 to 100.
            query_tokens: The length of the query; 0 to estimate it.
            margin: By how much the success of a cheaper model may be lower, 0 to 1;
                None as the setting `route_margin` says.
            willingness: The cost a run that a point of success (0.01) is worth, in
                place of the margin; None as the settings say.

        Raises:
            InvalidInput: The query is blank, or a number outside its range.
        """
        from theorex_lab.routing.noninferiority import with_knobs
        from theorex_lab.routing.router import route_in

        return route_in(
            self.home,
            query,
            with_knobs(self.settings, margin=margin, willingness=willingness),
            power=power,
            agent=agent,
            urgent=urgent,
            context_pct=context_pct,
            query_tokens=query_tokens,
        )

    def matrix(
        self,
        *,
        half_life_days: float | None = None,
        min_samples: int | None = None,
        untrusted: bool = False,
    ) -> MatrixResult:
        """Return how well each model did on each type of query.

        See `routing.confidence.matrix_of`.

        Args:
            half_life_days: After how many days a run counts half; None as the settings
                say.
            min_samples: From how many runs a cell is usable; None as the settings say.
            untrusted: Whether the untrusted evidence is taken instead. No route uses it.
        """
        from theorex_lab.routing.confidence import matrix_of

        return matrix_of(
            self.home,
            half_life_days=half_life_days,
            min_samples=min_samples,
            untrusted=untrusted,
        )

    def trace_stats(self, *, agent: str | None = None) -> TraceStatistics:
        """Return how calls of models went, of all agents or of one.

        Args:
            agent: The agent; None is all.
        """
        from theorex_lab.dispatch.traces import trace_stats

        if agent is not None:
            agent = check_agent(agent)
        return trace_stats(self.views, agent=agent)

    def trace(self, trace_id: str) -> Trace:
        """Return one call of a model, step by step.

        Args:
            trace_id: The id of the call.

        Raises:
            InvalidInput: The id is unknown; the error names the nearest.
        """
        from theorex_lab.dispatch.traces import trace

        return trace(self.views, trace_id)

    def reviewer(self, kind: str = "auto") -> tuple[Reviewer, str]:
        """Return a reviewer of failures, and why it was chosen.

        See `evolution.failures.choose_reviewer`.

        Args:
            kind: auto, heuristic or model.
        """
        from theorex_lab.evolution.failures import choose_reviewer

        return choose_reviewer(kind, self.settings)

    def review_failures(
        self,
        *,
        agent: str | None = None,
        reviewer: str | Reviewer = "auto",
        again: bool = False,
        outcomes: Collection[str] = (),
    ) -> list[TraceReviewRecord]:
        """Review the failures of an agent, or of all, that wait for it.

        See `evolution.failures.review_failures`.

        Args:
            agent: The agent, None for all.
            reviewer: The reviewer, or its kind: auto, heuristic or model.
            again: Whether those that were reviewed before are reviewed too.
            outcomes: The ids of the failures that are reviewed; none for all that wait.
        """
        from theorex_lab.evolution.failures import review_failures

        chosen = self.reviewer(reviewer)[0] if isinstance(reviewer, str) else reviewer
        self.dispatcher.close_lost()
        return review_failures(
            self.home, chosen, agent=agent, again=again, outcomes=outcomes
        )

    def maintain(
        self,
        *,
        agent: str | None = None,
        reviewer: str | Reviewer = "auto",
        designs: Collection[str] = (),
        progress: bool | None = None,
    ) -> MaintenanceReport:
        """Run the steps of maintenance for an agent, or for all.

        See `store.lifecycle.maintain`. What the acceptance test accepts is in force in
        this lab too.

        Args:
            agent: The agent, None for all.
            reviewer: The reviewer of failures, or its kind: auto, heuristic or model.
            designs: Names of designs whose steps run beside those of the active ones.
            progress: Whether a bar is shown; None: in a terminal or notebook.

        Returns:
            How each step ended.

        Raises:
            InvalidInput: The agent is outside the rule, or no design has a name.
            StorageError: The report cannot be written.
            LeaseLost: Another process has taken over.
        """
        from theorex_lab.store.lifecycle import maintain

        home = self.home.activating(designs)
        review = partial(self.review_failures, reviewer=reviewer)
        try:
            return maintain(
                home,
                review=review,
                agent=agent,
                asks_models=reviewer in ("auto", "model"),
                progress=progress,
            )
        finally:
            # A policy that was accepted stands in the settings of that home.
            self.home.settings = home.settings

    def replay(
        self,
        *,
        agent: str | None = None,
        reviewer: str | Reviewer = "heuristic",
        designs: Collection[str] = (),
        vectors: bool = True,
        progress: bool | None = None,
    ) -> ReplayReport:
        """Run maintenance for each past day that none has seen, as of that day.

        See `evolution.replay.replay_maintenance`: maintenance runs as it would have run
        at the end of each day on which something happened. It is for sessions that were
        imported. Repeating it changes nothing.

        Args:
            agent: The agent, None for all.
            reviewer: The reviewer of failures, or its kind: auto, heuristic or model.
            designs: Names of designs whose steps run beside those of the active ones.
            vectors: Whether vectors are computed at the end.
            progress: Whether a bar is shown; None: in a terminal or notebook.

        Returns:
            What came of it.

        Raises:
            InvalidInput: The agent is outside the rule, or no design has a name.
            StorageError: The journal cannot be written.
            LeaseLost: Another process has taken over.
        """
        from theorex_lab.evolution.failures import review_failures
        from theorex_lab.evolution.replay import replay_maintenance

        chosen = self.reviewer(reviewer)[0] if isinstance(reviewer, str) else reviewer

        def review(home: Home, agent: str | None) -> Sequence[TraceReviewRecord]:
            return review_failures(home, chosen, agent=agent)

        self.dispatcher.close_lost()
        return replay_maintenance(
            self.home.activating(designs),
            review=review,
            agent=agent,
            embeds=vectors,
            progress=progress,
        )

    def verify(self, *, progress: bool | None = None) -> Verification:
        """Read the whole journal, fold every view from nothing and compare.

        In a project the events counted are its own.

        Args:
            progress: Whether a bar is shown; None: in a terminal or notebook.
        """
        from theorex_lab.journal.view import verify

        verification = verify(self.views, self._views(), progress=progress)
        if verification.problems:
            return verification
        if not self.home.project:
            # As `status` counts them.
            n_noted = self.journal.places().events
            return replace(verification, events=verification.events - n_noted)
        events = self.journal.tail(0, projects=[self.home.project])
        counts = Counter(event.kind for event in events)
        return replace(verification, events=counts.total(), kinds=dict(counts))

    def bad_events(self) -> list[BadEvent]:
        """Return the events of the home that were set aside.

        Their bodies are not what their kinds say. They stay in the journal, and nothing is read
        from them. `erase` takes the ids that stand there.
        """
        from theorex_lab.journal.event import undeclared_kinds
        from theorex_lab.journal.view import bad_events

        # A view passes over none but those of a kind that declares no fields.
        views = self._views() if undeclared_kinds() else []
        return bad_events(self.views, views)

    def _views(self) -> list[type[View]]:
        """Return every view of the home."""
        from theorex_lab.evolution.view_sharing import home_views

        return home_views(self.home)

    def erase(
        self,
        *,
        ids: Sequence[str] = (),
        agent: str | None = None,
        match: str | None = None,
        project: str | None = None,
    ) -> list[str]:
        """Erase events and all that was derived from them; return their ids.

        With a `project` those of its events to which each of the others applies that is
        given. Their bodies and sessions are overwritten; the snapshots and vectors that
        hold something of them and the saved briefings are removed, and so is what the
        index of prompts has of their projects, which is then rebuilt; old bytes are
        wiped from the journal's file. Safe to repeat, which also finishes an erasure
        that was killed; see `theorex_lab.journal.sqlite.erase`.

        Args:
            ids: Ids of events.
            agent: An agent, of whom all events are erased.
            match: A text that the events hold.
            project: The project whose events are meant.

        Raises:
            InvalidInput: As `select` raises it.
            StorageError: Something could not be removed or wiped; the bodies are erased
                then.
        """
        from theorex_lab.journal.erasing import EraseSelection

        selection = EraseSelection(ids, agent, match, project)
        with memory_operation(DELETE, project or "") as span:
            erased_ids = self._erase(selection)
            span.records((event_id, "") for event_id in erased_ids)
            return erased_ids

    def _erase(self, selection: EraseSelection) -> list[str]:
        """Erase what is selected, and return the ids; see `erase`."""
        from theorex_lab.core.remembering import forget_texts
        from theorex_lab.evolution.syncing import erase_everywhere, is_shared
        from theorex_lab.journal.erasing import erasable
        from theorex_lab.journal.view import set_aside_view
        from theorex_lab.memory.briefing.prompt_index import (
            remove_erased_projects,
            write_prompt_index,
        )
        from theorex_lab.memory.projects import known_projects

        if is_shared(self.home):
            return erase_everywhere(self.home, selection)
        journal = erasable(self.journal)
        erased = journal.erase_part(selection, agent=SCANNER, at=self.clock.now())
        # From here on nobody folds or renders it. What others had made before is removed
        # once they have let go of it.
        forget_texts()
        remove_briefings(self.folder, self.views.folder)
        projects = remove_erased_projects(self.home, erased)
        self.views.remove_reached([set_aside_view(), *self._views()])
        journal.forget_places()
        journal.erase_archived()
        self._sweep_vectors()
        journal.wipe()
        if projects:
            # A project that holds nothing any longer is not written again.
            left = {*known_projects(self.home), ""}
            write_prompt_index(self.home, sorted(left.intersection(projects)))
        return erased.ids

    def sync(self) -> SyncReport:
        """Forward what waits here to the shared journal, and take in what others decided.

        See `evolution.syncing.sync`.

        Raises:
            InvalidInput: The home has a journal of its own.
            StorageError: The shared journal cannot be reached; nothing is lost.
        """
        from theorex_lab.evolution.syncing import sync

        return sync(self.home)

    def push_views(self) -> SnapshotTransfer:
        """Let other machines of the shared journal take over the views of this one.

        See `evolution.view_sharing.push_views`.

        Raises:
            StorageError: The shared journal keeps no snapshots, cannot be reached, or this
                role may not write them.
        """
        from theorex_lab.evolution.view_sharing import push_views

        return push_views(self.home)

    def pull_views(self) -> SnapshotTransfer:
        """Take over the views of other machines, where they are newer than those here.

        See `evolution.view_sharing.pull_views`.

        Raises:
            StorageError: The shared journal keeps no snapshots, cannot be reached, or this
                role may not read them.
        """
        from theorex_lab.evolution.view_sharing import pull_views

        return pull_views(self.home)

    def spool_status(self) -> dict[str, Any] | None:
        """Return how many events wait to be forwarded, and why some or all cannot be.

        Returns:
            The number `waiting`; by id why the shared journal `refused` events, which
            stay in the spool; and the `problem`, '' where the shared journal can be
            reached and written. None for a home with a journal of its own.
        """
        if self.journal.local is self.journal:
            return None
        from theorex_lab.journal.spool import SpooledJournal

        if not isinstance(self.journal, SpooledJournal):
            return None
        problem = ""
        waiting = self.journal.n_waiting()
        try:
            self.journal.forward()
            waiting = self.journal.n_waiting()
        except StorageError as error:
            cause = error.__cause__
            problem = str(cause if isinstance(cause, StorageError) else error)
        refused = self.journal.refused()
        return {"waiting": waiting, "refused": refused, "problem": problem}

    def projects(self) -> list[dict[str, Any]]:
        """Return the projects that the home has memory of.

        See `memory.projects.project_rows`.
        """
        from theorex_lab.memory.projects import project_rows

        return project_rows(self.home)

    def merge_projects(self, old: str, new: str) -> dict[str, Any]:
        """Make all that is of one project another's, for good; return what was merged.

        Both are named as `theorex projects` lists them. Nothing in the journal is rewritten:
        from here on events of `old` are read as events of `new`, and so is what will still be
        written for it. Nothing takes that back.

        Args:
            old: The project that is merged into the other.
            new: The project that it becomes.

        Raises:
            InvalidInput: A name is unknown or ambiguous, the two are one project, or one was
                merged before.
            StorageError: A briefing or the index of prompts cannot be written.
        """
        from theorex_lab.evolution.briefing import save_again
        from theorex_lab.evolution.syncing import sync_if_shared
        from theorex_lab.memory.briefing.prompt_index import write_prompt_index
        from theorex_lab.memory.projects import merge_projects

        merged = merge_projects(self.home, old, new)
        self.views.remove_reached()
        write_prompt_index(self.home)
        save_again(self.home)
        sync_if_shared(self.home)
        return merged

    def archive(self, before: int, *, project: str | None = None) -> Archiving:
        """Move the bodies of earlier raw events out of the journal's file.

        See `journal.sqlite.archive`.

        Args:
            before: The time before which events are dated (µs UTC).
            project: The project whose events alone are moved; None for all.

        Raises:
            StorageError: The journal lies in no file of this machine, or a file cannot be
                written.
        """
        from theorex_lab.journal.sqlite.archive import archive

        return archive(
            in_file(self.journal, instead="PostgreSQL compresses long bodies itself"),
            before,
            consolidated=self.home.taken_in(),
            agent=SCANNER,
            at=self.clock.now(),
            project=project,
        )

    def backup(self, file: str | Path, *, replace: bool = False) -> Backup:
        """Copy journal, archived segments and settings into one file.

        See `journal.sqlite.backup`.

        Args:
            file: The file that is written.
            replace: Whether a file of that name may be replaced.
        """
        from theorex_lab.journal.sqlite.backup import backup

        journal = in_file(
            self.journal, instead="back the database up with pg_dump --schema=theorex"
        )
        return backup(journal, Path(file).expanduser(), replace=replace)

    def export_files(
        self,
        folder: FilePath = None,
        *,
        agent: str | None = None,
        replace: bool = False,
    ) -> Exported:
        """Write the memory, of all agents or of one, as files for other programs.

        See `files.formats.home_files.export_home`.

        Args:
            folder: The folder; None: the original system's places that the settings name.
            agent: The agent whose memory is written; None for all.
            replace: Whether files that are there already are replaced.

        Raises:
            InvalidInput: The lab is of a project; files hold what is of all.
        """
        from theorex_lab.files.formats.home_files import export_home

        if self.home.project:
            raise InvalidInput(
                f"got the project {self.home.project}; allowed is a lab without one: files"
                " hold what is of all"
            )
        return export_home(
            self.home, self.searcher, _path(folder), agent=agent, replace=replace
        )

    def export_events(self, folder: str | Path, *, replace: bool = False) -> Exported:
        """Write all events as Parquet files, partitioned by project and month.

        See `files.formats.event_tables.export_events`. It needs the extra `parquet`.

        Args:
            folder: The folder, which is made.
            replace: Whether an earlier export of events there is replaced.

        Raises:
            InvalidInput: The lab is of a project; files hold what is of all.
        """
        from theorex_lab.files.formats import event_tables

        if self.home.project:
            raise InvalidInput(
                f"got the project {self.home.project}; allowed is a lab without one: files"
                " hold what is of all"
            )
        target = Path(folder).expanduser()
        return event_tables.export_events(self.journal, target, replace=replace)

    def import_files(
        self,
        path: FilePath = None,
        *,
        agent: str = "main",
        trusted: bool = False,
        keep_secrets: bool = False,
    ) -> list[FileReport]:
        """Take in a folder or a file that was exported.

        See `files.formats.home_files.import_home`.

        Args:
            path: The folder or the file; None: the original system's places that the
                settings name.
            agent: The agent whose the memory is where the files do not say so.
            trusted: Whether it counts as the user's own words; without it, it is
                untrusted.
            keep_secrets: Whether what looks like a secret is kept unmasked.

        Raises:
            InvalidInput: There is nothing to import, or the agent is outside the rule.
        """
        from theorex_lab.files.formats.home_files import import_home

        return import_home(
            self.home,
            lambda: self.searcher,
            _path(path),
            agent=agent,
            trusted=trusted,
            keep_secrets=keep_secrets,
        )

    def import_transcripts(
        self,
        path: str | Path,
        *,
        project: str = "",
        since: str | datetime | None = None,
        trusted: bool = False,
        dry_run: bool = False,
        agent: str = "main",
        progress: bool | None = None,
    ) -> Imported:
        """Take in what coding agents kept of their sessions.

        See `files.transcripts.importing.import_transcripts`.

        Args:
            path: A transcript, or a folder of some.
            project: The project of sessions that name no absolute folder; '' for their
                file's name.
            since: What is earlier is left out; None: nothing is.
            trusted: Whether prompts count as the user's own words; without it they are
                untrusted.
            dry_run: Whether nothing is written.
            agent: The agent whose sessions they are.
            progress: Whether a bar is shown; None: in a terminal or notebook.

        Raises:
            InvalidInput: There is no transcript.
            StorageError: The disk is full.
        """
        from theorex_lab.files.transcripts.importing import import_transcripts

        return import_transcripts(
            self.home,
            Path(path).expanduser(),
            project=project,
            since=since,
            trusted=trusted,
            dry_run=dry_run,
            agent=agent,
            progress=progress,
        )

    def ingest(
        self,
        *paths: str | Path,
        reader: FileReader | None = None,
        agent: str = "main",
        trusted: bool = False,
        sync: bool = False,
        yes: bool = False,
        dry_run: bool = False,
        progress: bool | None = None,
    ) -> Ingested:
        """Take in documents, or by another reader what it reads.

        See `files.ingest.documents.ingest`.

        Args:
            paths: Files and folders.
            reader: `files.ingest.code.CODE`, or `images(home)` and `videos(home)` of
                `files.ingest.media`; None reads documents.
            agent: The agent whose they are.
            trusted: Whether they count as the user's own words; without it they are
                untrusted.
            sync: Whether what was taken in from these folders, and is there no more, is
                hidden. Where that is all that was taken in from them, or more than 10
                files and more than a tenth, none of it is hidden without `yes`.
            yes: Whether it is hidden however much it is.
            dry_run: Whether nothing is written.
            progress: Whether a bar is shown; None: where somebody watches.

        Raises:
            InvalidInput: A path is not there, or the reader's extra is not installed.
            StorageError: The disk is full.
        """
        from theorex_lab.files.ingest.documents import ingest
        from theorex_lab.files.ingest.text import DOCUMENTS

        return ingest(
            self.home,
            [Path(path).expanduser() for path in paths],
            reader or DOCUMENTS,
            agent=agent,
            trusted=trusted,
            sync=sync,
            yes=yes,
            dry_run=dry_run,
            progress=progress,
        )

    def close(self) -> None:
        """Close the journal, after the calls of models that are under way.

        A temporary home is removed.
        """
        if "dispatcher" in self.__dict__:
            self.dispatcher.close()
        self.journal.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Lab({str(self.folder)!r}, events={self.journal.last_seq()})"

    def _repr_html_(self) -> str:
        """Return for a notebook where the home is, and which projects it has."""
        from html import escape

        from theorex_lab.memory.rows import Rows, table_html

        projects: list[dict[str, Any]] = []
        for row in self.projects():
            shown = {"name": row["name"], "events": row["events"]}
            projects.append(shown | {"last_at": row["last_at"]})
        heading = escape(repr(self))
        if not projects:
            return f"<p>{heading}</p>"
        return f"<p>{heading}</p>{table_html(Rows(projects).frame)}"

    def _mark(self, kind: str, item: str, *, text: str = "", undo: bool = False) -> str:
        """Note what a person says of an item; return the item's id."""
        from theorex_lab.evolution.briefing import mark_item

        return mark_item(self.home, kind, item, text=text, undo=undo)

    def _captured(self) -> int:
        from theorex_lab.memory.projects import projects_view

        with self.views.reading(projects_view(self.home)) as projects:
            return projects.events_of(self.home.project)

    def _sweep_vectors(self) -> None:
        """Remove the vectors of texts that are no longer remembered."""
        from theorex_lab.memory.erased_texts import sweep_home_vectors

        sweep_home_vectors(self.home)


def _keep_back(text: bytes) -> None:
    """Hand nothing to an agent: the caller gets the text."""


def _path(path: FilePath) -> Path | None:
    return None if path is None else Path(path).expanduser()


def _only(agents: Sequence[str] | None) -> str:
    """Return the one agent of a search; '' where there are several, or all."""
    return agents[0] if agents is not None and len(agents) == 1 else ""


def _records_of(
    home: Home, written: Sequence[WrittenObservation], span: MemorySpan
) -> Iterator[tuple[str, str]]:
    """Yield the id of each written text, and what was kept of it where a span holds it."""
    texts: dict[str, str] = {}
    if span.holds_texts:
        for event in home.journal.read(ids=[row.event_id for row in written]):
            texts[event.id] = str(event.body.get("text", ""))
    for row in written:
        yield row.event_id, texts.get(row.event_id, "")


class Agent:
    """One agent of a home: writes, searches and looks at what it remembers.

    Args:
        lab: The lab of its home.
        name: Its name.

    >>> with Lab.temporary() as lab:
    ...     agent = lab.agent("main")
    ...     written = agent.write("The till rounds half up")
    ...     agent.search("till")[0].id == written.event_id
    True
    """

    def __init__(self, lab: Lab, name: str) -> None:
        self.lab = lab
        self.name = name

    def write(
        self,
        text: str,
        *,
        observation_type: str = DEFAULT_TYPE,
        source: str = "agent",
        tags: Sequence[str] = (),
        session: str = "",
        at: str | datetime | None = None,
        keep_secrets: bool = False,
    ) -> WrittenObservation:
        """Write a text; it is on disk when this returns.

        Args:
            text: The text.
            observation_type: Such as decision, discovery or trace_fix.
            source: user, agent, model, tool or import, which says how far the text is trusted.
            tags: Labels to find it by.
            session: The session, '' for none.
            at: When it happened; None for now.
            keep_secrets: Whether what looks like a secret is kept unmasked; the result says how
                much was masked.

        Returns:
            Its event id and the concepts found in it.

        Raises:
            InvalidInput: Something is outside the rules; then nothing was written.
        """
        entry = ObservationEntry(
            text, self.name, at, observation_type, source, tags, session
        )
        operation = memory_operation(CREATE, self.lab.home.project, agent=self.name)
        with operation as span, door(keep_secrets=keep_secrets):
            (written,) = write_all(self.lab.home, [entry])
            span.records(_records_of(self.lab.home, [written], span))
            return written

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        cold: bool = False,
        tag: str | None = None,
        spread: bool = False,
        kinds: Sequence[str] | None = None,
        history: bool = False,
    ) -> Hits:
        """Search what this agent remembers and what is shared.

        What another keeps to itself is never found. See `Lab.search`.

        Args:
            query: What is searched for.
            limit: The most results.
            cold: Whether archived and dismissed items come too.
            tag: Only what has this tag.
            spread: Whether concepts that are linked to the best ones come too.
            kinds: Only items of these kinds; None is all.
            history: Whether older statements that a newer one replaces come too.
        """
        return self.lab.search(
            query,
            agents=[self.name],
            limit=limit,
            cold=cold,
            tag=tag,
            spread=spread,
            kinds=kinds,
            history=history,
        )

    def dispatch(
        self,
        task: str,
        *,
        context_pct: float = 50.0,
        query_tokens: int | None = None,
        tags: Sequence[str] = (),
        outcome_id: str | None = None,
        trace_id: str | None = None,
        session: str = "",
        keep_secrets: bool = False,
        check: Check | None = None,
        cascade: bool = False,
    ) -> DispatchResult:
        """Give a task to a model and keep a trace of it.

        See `dispatch.worker.Dispatcher.dispatch`.

        Args:
            task: What the model is asked.
            context_pct: The share of the agent's context in use, 0 to 100.
            query_tokens: The length of the task; None to estimate it.
            tags: The tag `urgent` asks for a quick answer.
            outcome_id: The outcome that the trace is linked to; None for none.
            trace_id: The id of the trace; None for a new one.
            session: The session; '' for none.
            keep_secrets: Whether what is sent and stored is left unmasked.
            check: What an answer must pass, else the next model is asked: `not_empty`,
                `json`, `regex:PATTERN`, or a function of its text; None for none.
            cascade: Whether a cheap model is asked first, and the strong one where its
                answer does not pass.
        """
        from theorex_lab.dispatch.worker import DispatchTask

        dispatch_task = DispatchTask(
            new_event_id(self.lab.clock.now()),
            self.name,
            task,
            context_pct=context_pct,
            query_tokens=query_tokens,
            tags=tags,
            outcome_id=outcome_id,
            trace_id=trace_id,
            session=session,
            keep_secrets=keep_secrets,
            check=check,
            cascade=cascade,
        )
        return self.lab.dispatcher.dispatch(dispatch_task)

    @property
    def axon(self) -> AxonView:
        """The agent's concepts as tables and graphs."""
        return self.lab.theorex.axon(agents=[self.name])

    def __repr__(self) -> str:
        return f"Agent({self.name!r}, home={str(self.lab.folder)!r})"
