"""The dream cycle: each trajectory curated and read, then consolidated one by one, then compaction: long strategies are told
shorter.

What a cycle cannot take waits for the next. A process that is killed anywhere leaves each trajectory untouched, or
wholly consolidated.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from theorex_lab.clock import to_iso
from theorex_lab.designs.dreams.consolidate import Link, Mind, strategy_from
from theorex_lab.designs.dreams.dreamers import Curated, HeuristicDreamer, dreamer_for
from theorex_lab.designs.dreams.strategies import Strategies, Strategy
from theorex_lab.designs.dreams.trajectories import Trajectory, trajectories_of
from theorex_lab.errors import InvalidInput, ModelUnavailable
from theorex_lab.evolution.lease import Holder, leased
from theorex_lab.home import Home
from theorex_lab.ids import SCANNER, new_event_id
from theorex_lab.journal.event import Body, new_event
from theorex_lab.memory.observation import TRUST
from theorex_lab.text.line import one_line

Progress = Callable[[dict[str, Any]], object]
# What a cycle counts, by the names of Evolving Memory's journal, and the tokens that its model took.
COUNTED = ("traces_processed nodes_created nodes_merged edges_created cross_edges_created nodes_compacted "
           "constraints_extracted tokens").split()  # fmt: skip
_MOST_CYCLES = 20  # a night
Done = tuple[int, list[str]]  # how many, and what went wrong


class DreamReport(SimpleNamespace):
    """What one cycle did. ran: False where another process tends the home, the `holder`.

    Its other members: journal_id, started_at and ended_at (µs UTC), domain, dreamer, each of
    COUNTED, phase_log (lines), passed [trajectory, seq up to which, why there was nothing to learn], held [trajectory, why it
    waits on].
    """

    def __init__(self, ran: bool = True, holder: Holder | None = None, **told: Any) -> None:
        super().__init__(ran=ran, holder=holder, **dict.fromkeys(COUNTED, 0) | {"passed": (), "held": ()} | told)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON holds it, times as ISO."""
        told: Body = {name: to_iso(value) if name.endswith("_at") else value for name, value in vars(self).items()}
        holder: Holder | None = told.pop("holder")
        return told | (holder.to_dict() if holder else {})


def dream(
    home: Home, dreamer: HeuristicDreamer | None = None, *, domain: str | None = None, limit: int | None = None,
    progress: Progress | None = None) -> DreamReport:  # fmt: skip
    """One cycle over what waits, under the home's lease: `limit` trajectories at most, by default maxTracesPerCycle.

    dreamer: by default the one of the settings.  progress: is told {"event": started, phase, trace or completed, …}.  Raises
    InvalidInput for a limit below 1, ModelUnavailable where the embedder is silent, LeaseLost where another process has taken
    over.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     _ = lab.dreams.capture("deploy the site", [{"action": "make all"}, {"action": "rsync out/ host:"}])
    ...     report = dream(lab.home)
    >>> report.traces_processed, report.nodes_created
    (1, 1)
    """
    if limit is not None and limit < 1:
        raise InvalidInput(f"got limit={limit}; allowed is a number from 1")
    chosen = dreamer or dreamer_for(home)
    with leased(home, "dream") as lease:
        if not lease.held:
            return DreamReport(False, lease.holder)
        return _Cycle(Mind(home), chosen, domain, limit, progress, lease.renew).run()


def dream_at_night(home: Home, agent: str | None) -> str:  # noqa: ARG001 - of all agents
    """Dream inside the night's lease, cycle by cycle, until nothing waits that a cycle can take."""
    whole, done, report = home.in_project(""), Counter[str](), DreamReport()
    if not trajectories_of(whole, waiting=True, limit=1):
        return "nothing waits"
    mind, dreamer = Mind(whole), dreamer_for(whole, night=True)
    for _ in range(_MOST_CYCLES):
        report = _Cycle(mind, dreamer, None, None, None, lambda: None).run(always=False)
        done.update({name: getattr(report, name) for name in COUNTED})
        if not (report.traces_processed or report.passed) or not trajectories_of(whole, waiting=True, limit=1):
            break
    waits = "".join(f"; {name} waits on: {why}" for name, why in report.held[:3])
    return f"{done['nodes_created']} strategies made, {done['nodes_merged']} trajectories taken into one{waits}"


class _Cycle:
    """One cycle, and what it has done so far."""

    def __init__(
        self, mind: Mind, dreamer: HeuristicDreamer, domain: str | None, limit: int | None, tell: Progress | None,
        keep: Callable[[], object]) -> None:  # fmt: skip
        self.mind, self.home, self.dreamer, self.domain = mind, mind.home, dreamer, domain
        self.tell, self.keep = tell or (lambda _told: None), keep
        self.most = limit or mind.settings.max_traces_per_cycle
        self.done, self.log = Counter(dict.fromkeys(COUNTED, 0)), list[str]()
        self.passed, self.held = list[tuple[str, int, str]](), list[tuple[str, str]]()

    def run(self, *, always: bool = True) -> DreamReport:
        """The phases; unless `always`, a cycle that changed nothing is not noted."""
        started, last = self.home.clock.now(), self.home.views.get(Strategies).cycles["seq"][-1:].tolist()
        before = {name for event in self.home.journal.read(seqs=last) for name, _ in event.body["held"]}
        found = trajectories_of(self.home, waiting=True, domain=self.domain, limit=self.most + len(before))
        waiting = sorted(found, key=lambda one: one.id in before)[: self.most]  # what was held keeps nobody waiting
        self.tell({"event": "started", "waiting": len(waiting)})
        # A model's answers cost: what it said of one trajectory is kept before it is asked about the next.
        at_once = self.most if self.dreamer.name == "heuristic" else 1
        for start in range(0, len(waiting), at_once):
            self.keep()
            self._take(waiting[start : start + at_once])
        self._phase("curation", f"{len(waiting)} read, {len(self.passed)} passed over, {len(self.held)} wait on")
        self._phase("consolidation", f"{self.done['nodes_created']} made, {self.done['nodes_merged']} merged")
        self.keep()
        self.done["nodes_compacted"], problems = shorten_summaries(self.mind, self.dreamer, self.domain)
        self._phase("compaction", f"{self.done['nodes_compacted']} strategies", *problems)
        body: Body = {"dream_id": new_event_id(started), "started_at": started, "ended_at": self.home.clock.now()}
        body |= {**self.done, "domain": self.domain or "", "dreamer": self.dreamer.name, "phase_log": self.log}
        body |= {"passed": self.passed, "held": self.held}
        if always or any(self.done.values()) or self.passed or {name for name, _ in self.held} != before:
            self.home.journal.append([new_event("dream", body, agent=SCANNER, at=body["ended_at"])])
        report = DreamReport(**body, journal_id=body["dream_id"])
        self.tell({"event": "completed", **report.to_dict()})
        return report

    def _phase(self, name: str, told: str, *problems: str) -> None:
        self.log += [f"{name}: {told}", *problems]
        self.tell({"event": "phase", "phase": name, "told": told})

    def _take(self, waiting: Sequence[Trajectory]) -> None:
        """Read trajectories, then consolidate one after the other."""
        read = list[tuple[Trajectory, Curated, Strategy]]()
        for one in waiting:
            with self._waits_where_silent(one):
                read += self._read(one)
        with self._waits_where_silent(*(one for one, _, _ in read)):
            self.mind.vectors(*(text for _, _, new in read for text in (new.text, new.goal)))
            for one, curated, new in read:
                with self._waits_where_silent(one):
                    self._consolidate(one, curated, new)

    @contextmanager
    def _waits_where_silent(self, *trajectories: Trajectory) -> Iterator[None]:
        try:
            yield
        except ModelUnavailable as error:
            for one in trajectories:
                self._aside(one, "held", str(error))

    def _aside(self, one: Trajectory, did: str, why: str) -> None:
        """Note what is passed over for good, or held until the next cycle."""
        if did == "passed":
            self.passed.append((one.id, one.upto, why))
        elif did == "held":
            self.held.append((one.id, one_line(why)))
        self.tell({"event": "trace", "trajectory": one.id, "did": did, "told": why})

    def _read(self, one: Trajectory) -> Iterator[tuple[Trajectory, Curated, Strategy]]:
        """What the dreamer sees in a trajectory; nothing where there is nothing to learn."""
        if len(one.actions) < (least := self.mind.settings.min_actions):
            return self._aside(one, "passed", f"{len(one.actions)} actions; {least} are needed")
        curated = self.dreamer.curate(one)
        self.done["tokens"] += curated.tokens
        if not curated.critical and not curated.constraints:
            return self._aside(one, "passed", "nothing in it is worth keeping")
        yield one, curated, strategy_from(one, curated)

    def _consolidate(self, one: Trajectory, curated: Curated, new: Strategy) -> None:
        settings, links, near = self.mind.settings, list[Link](), self.mind.near(new)
        if near and near[0][1] < settings.merge_similarity:
            alike = [self.mind.known[found] for found, cosine in near if cosine >= settings.link_similarity]
            try:
                links = list(self.dreamer.links(new, alike[: settings.most_links])) if alike else []
            except ModelUnavailable as error:
                self.log.append(f"{new.id} is not linked: {error}")
        did, what, counts = self.mind.consolidate(one, curated, new, links)
        self.done.update(counts)
        self._aside(one, did, what)


def shorten_summaries(mind: Mind, dreamer: HeuristicDreamer, domain: str | None) -> Done:
    """Tell strategies shorter that are told at length, little used and not yet settled; how many, and what went wrong."""
    done, problems, settings = 0, list[str](), mind.settings
    chosen = (one for one in [*mind.known.values()] if settings.compaction and domain in (None, one.domain))
    for old in chosen:
        long = len(old.summary) > settings.compaction_min_characters and old.version < settings.compaction_max_version
        try:
            shorter = dreamer.shorten(old) if long and mind.may_change(old) else ""
        except ModelUnavailable as error:
            return done, [*problems, str(error)]
        if 0 < len(shorter) < len(old.summary):
            source = old.source if dreamer.name == "heuristic" else min(old.source, "model", key=TRUST.__getitem__)
            one = replace(old, summary=shorter, version=old.version + 1, source=source)
            problem = mind.rewrite("strategy_compacted", old, one, pruned=False, undo=False)
            problems += [f"{old.id} stays as it is: {problem}"] * bool(problem)
            done += not problem
    return done, problems
