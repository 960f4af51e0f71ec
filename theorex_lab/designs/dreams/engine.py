"""The dream cycle: each trajectory curated and read, then consolidated one by one, then
compaction: long strategies are told shorter.

What a cycle cannot take waits for the next. A process that is killed anywhere leaves
each trajectory untouched, or wholly consolidated. Dreamers are rules without a model,
or a language model that answers with programs of the instruction set.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, NamedTuple

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import (
    ConfigError,
    InvalidInput,
    ModelUnavailable,
    UnusableAnswer,
)
from theorex_lab.core.ids import SCANNER, new_event_id
from theorex_lab.designs.dreams import Edge
from theorex_lab.designs.dreams.consolidate import ActiveStrategies, Link, strategy_from
from theorex_lab.designs.dreams.isa import MOST_INSTRUCTIONS, ProgramEffects, parse, run
from theorex_lab.designs.dreams.lessons import (
    CONFIDENCE,
    MOST_LESSONS,
    critical_of,
    lessons_of,
    summary_of,
)
from theorex_lab.designs.dreams.settings import dream_settings
from theorex_lab.designs.dreams.strategies import (
    Strategies,
    Strategy,
    StrategyVectors,
    strategy_by_id,
    vectors_of,
)
from theorex_lab.designs.dreams.trajectories import (
    TEXTS,
    CapturedAction,
    CuratedTrajectory,
    Trajectory,
    trajectories_of,
)
from theorex_lab.dispatch.llm import Completion, client_for
from theorex_lab.evolution.lease import LeaseHolder, leased
from theorex_lab.journal.event import Body, new_event
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import TRUST
from theorex_lab.search.endpoint import encodable
from theorex_lab.text.line import count_tokens, fence, one_line

_SHOWN_ACTIONS = 60
_SHOWN_CHARACTERS = 300
_SUMMARY_CHARACTERS = 400
_WHY_CHARACTERS = 200
_READ_CHARACTERS = 200_000
_ANSWER_TOKENS = 2_048
_NEAR = 5
_KEPT = "-"  # stands in a program for words that are kept as they were recorded


class HeuristicDreamer:
    """Rules without a model; see `lessons`. Other dreamers derive from it.

    A model that does not answer raises ModelUnavailable; UnusableAnswer where it
    answers nonsense.
    """

    name: str = "heuristic"

    def curate(self, trajectory: Trajectory) -> CuratedTrajectory:
        """The actions that changed something, a sentence of what was done, and one for
        each kind of failure.
        """
        kept = (
            critical_of(trajectory.actions, trajectory.goal),
            lessons_of(trajectory),
            summary_of(trajectory),
        )
        return CuratedTrajectory(
            *kept, CONFIDENCE[trajectory.outcome] * trajectory.confidence, {}, "agent"
        )

    def links(self, new: Strategy, near: Sequence[Strategy]) -> list[Link]:
        """None: what leads to what is not told by rules."""
        return []

    def shorten(self, strategy: Strategy) -> str:
        """'': a summary stays."""
        return ""


class DreamDomainAdapter(NamedTuple):
    """What a domain adds to what a model is asked: its role, what to look for, and the
    classes of failures there.
    """

    role: str
    look_for: str
    faults: str


ADAPTERS = {
    name: DreamDomainAdapter(*TEXTS[name].split("\n"))
    for name in ("default", "robotics")
}


@dataclass(frozen=True)
class DreamPromptBuilder:
    """What a model is asked; everything that was recorded is fenced. adapters: by
    domain, `default` for all others.

    >>> DreamPromptBuilder().adapters["robotics"].faults.split()[0]
    'physical_slip'
    """

    adapters: Mapping[str, DreamDomainAdapter] = field(default_factory=lambda: ADAPTERS)

    def curate(self, trajectory: Trajectory, near: Sequence[Strategy] = ()) -> str:
        """Which actions counted, what not to do again, and the strategy; `near`:
        strategies that may be the same.
        """
        shown = [*enumerate(trajectory.actions)]
        half = _SHOWN_ACTIONS // 2
        shown[half : max(half, len(shown) - half)] = []
        ended = (
            f"It took {len(trajectory.actions)} actions;"
            f" {TEXTS[trajectory.outcome.value]}. {trajectory.error}"
        )
        told = fence([trajectory.goal], "goal") + fence(
            [*map(_told, shown), ended], "actions"
        )
        return self._asked("curate", trajectory.domain, told, near)

    def links(self, new: Strategy, near: Sequence[Strategy]) -> str:
        """Which of the strategies near a new one lead to it, or it to them."""
        return self._asked("links", new.domain, ["The new one:", *_listed([new])], near)

    def shorten(self, strategy: Strategy) -> str:
        """The summary in fewer words."""
        return self._asked(
            "shorten", strategy.domain, fence([strategy.summary], "summary")
        )

    def _asked(
        self, what: str, domain: str, data: Iterable[str], near: Sequence[Strategy] = ()
    ) -> str:
        adapter = self.adapters.get(domain, self.adapters["default"])
        known = ["Strategies that are there:", *_listed(near)] if near else []
        return "\n".join(
            [
                adapter.role,
                TEXTS["data"],
                *data,
                *known,
                TEXTS[what].format(**adapter._asdict()),
            ]
        )


def _told(numbered: tuple[int, CapturedAction]) -> str:
    index, action = numbered
    words = {
        "why": action.reasoning,
        "did": action.action,
        "failed" if action.ok is False else "came": action.result,
    }
    parts = [
        f"{name}: {one_line(text, _SHOWN_CHARACTERS)}"
        for name, text in words.items()
        if text
    ]
    return " | ".join([str(index), *parts])


def _listed(strategies: Iterable[Strategy]) -> list[str]:
    return fence(
        [f"{one.id}: {one_line(f'{one.goal}. {one.summary}')}" for one in strategies],
        "strategies",
    )


@dataclass
class ModelDreamer(HeuristicDreamer):
    """A language model that answers with programs; what it says of actions counts by
    their index alone.

    complete: a prompt to a completion.  near: strategies that a trajectory may belong
    to, which the model may group or prune.  most_tokens: what it may spend, None
    without a limit.  tokens: what it has spent.
    """

    complete: Callable[[str], Completion]
    prompts: DreamPromptBuilder = field(default_factory=DreamPromptBuilder)
    name: str = "model"
    most_tokens: int | None = None
    max_instructions: int = MOST_INSTRUCTIONS
    near: Callable[[Trajectory], Sequence[Strategy]] = lambda _: ()
    tokens: int = 0

    def curate(self, trajectory: Trajectory) -> CuratedTrajectory:
        """What the model's program asks for, as far as it is sound; the summary is the
        rules' where it has none.

        Raises UnusableAnswer for a program that did not end within the limit, or that
        keeps nothing.
        """
        near = self.near(trajectory)
        before = self.tokens
        rules = super().curate(trajectory)
        program, found = self._run(
            self.prompts.curate(trajectory, near), len(trajectory.actions), near
        )
        whys = {
            index: one_line(why, _WHY_CHARACTERS)
            for _, index, why, *_ in found.children
        }
        critical = {*found.critical, *whys} - {*found.noise}
        told = [
            (one_line(text), fault.value, "model")
            for text, fault in found.constraints
            if text.strip()
        ]
        if not critical and not told:
            raise UnusableAnswer(
                f"{self.name} answered {one_line(program, 120)!r}, which keeps nothing"
            )
        _, summary, confidence = (
            found.parents[0] if found.parents else ("", "", rules.confidence)
        )
        summary = one_line(summary, _SUMMARY_CHARACTERS)
        return CuratedTrajectory(
            tuple(sorted(critical)),
            tuple(told[:MOST_LESSONS]),
            summary or rules.summary,
            min(confidence, CONFIDENCE[trajectory.outcome]),
            {index: why for index, why in whys.items() if why != _KEPT},
            "model" if summary else rules.source,
            tuple(found.groups),
            tuple(found.prunes),
            program,
            self.tokens - before,
        )

    def links(self, new: Strategy, near: Sequence[Strategy]) -> list[Link]:
        """The causal edges and context jumps between the new strategy and those near it
        that the model names.
        """
        found = dict.fromkeys(
            self._run(self.prompts.links(new, near), 0, [new, *near])[1].links
        )
        kept = [
            link
            for link in found
            if link[2] in (Edge.CAUSAL, Edge.CONTEXT_JUMP) and link[0] != link[1]
        ]
        return [
            (first, second, edge.value)
            for first, second, edge in kept
            if new.id in (first, second)
        ]

    def shorten(self, strategy: Strategy) -> str:
        """The model's summary where it is shorter and has words, else ''."""
        text = one_line(
            self._ask(self.prompts.shorten(strategy)), len(strategy.summary) + 1
        )
        return (
            text
            if any(letter.isalnum() for letter in text)
            and len(text) < len(strategy.summary)
            else ""
        )

    def _ask(self, prompt: str) -> str:
        if (
            self.most_tokens is not None
            and self.tokens + count_tokens(prompt) + _ANSWER_TOKENS > self.most_tokens
        ):
            told = (
                f"{self.name} has spent {self.tokens} of the {self.most_tokens} tokens"
                " that it may spend"
            )
            raise ModelUnavailable(f"{told}; set dreams.nightTokens for more")
        done = self.complete(prompt)
        text = encodable(done.text[:_READ_CHARACTERS])
        self.tokens += (
            count_tokens(prompt + text) if done.tokens is None else done.tokens
        )
        return text

    def _run(
        self, prompt: str, actions: int, near: Iterable[Strategy]
    ) -> tuple[str, ProgramEffects]:
        nodes = {strategy.id for strategy in near}
        program = self._ask(prompt)
        done = run(
            parse(program),
            actions=actions,
            nodes=nodes,
            max_instructions=self.max_instructions,
        )
        if not done.success:
            raise UnusableAnswer(
                f"{self.name} answered {one_line(program, 120)!r}: {done.errors[-1]}"
            )
        return program, done.effects


def dreamer_for(home: Home, *, night: bool = False) -> HeuristicDreamer:
    """Who dreams in a home by its setting dreamingModel; at night a model that costs
    has nightTokens for all that it does.

    Any model of `models` does that has an OpenAI-compatible url; Anthropic's are
    reached by the one of theirs.

    Raises ConfigError for an unknown model.
    """
    settings, every = dream_settings(home), home.settings
    vectors = StrategyVectors(home)
    most = settings.isa_max_instructions
    if not (name := settings.dreaming_model):
        return HeuristicDreamer()
    if name not in every.models:
        raise ConfigError(
            f"dreams.dreamingModel is {name!r}; allowed are '' and the models"
            f" {', '.join(every.models)}"
        )

    def complete(prompt: str) -> Completion:
        with client_for(name, every) as client:
            return client.complete(prompt, temperature=0.0, max_tokens=_ANSWER_TOKENS)

    def near(trajectory: Trajectory) -> list[Strategy]:
        found = vectors.nearest(
            vectors_of(home, [trajectory.goal])[0], _NEAR, trajectory.domain
        )
        return [
            strategy_by_id(home, one)
            for one, cosine in found
            if cosine >= settings.link_similarity
        ]

    limit = (
        settings.night_tokens
        if night and every.models[name].cost_per_million_tokens
        else None
    )
    return ModelDreamer(
        complete, name=name, most_tokens=limit, max_instructions=most, near=near
    )


Progress = Callable[[dict[str, Any]], object]
# What a cycle counts, by the names of Evolving Memory's journal, and the tokens that
# its model took.
COUNTED = (
    "traces_processed nodes_created nodes_merged edges_created cross_edges_created"
    " nodes_compacted constraints_extracted tokens"
).split()
_MOST_CYCLES = 20  # a night
Done = tuple[int, list[str]]  # how many, and what went wrong


class DreamReport(SimpleNamespace):
    """What one cycle did. ran: False where another process tends the home, the
    `holder`.

    Its other members: journal_id, started_at and ended_at (µs UTC), domain, dreamer,
    each of COUNTED, phase_log (lines), passed [trajectory, seq up to which, why there
    was nothing to learn], held [trajectory, why it waits on].
    """

    def __init__(
        self, ran: bool = True, holder: LeaseHolder | None = None, **told: Any
    ) -> None:
        super().__init__(
            ran=ran,
            holder=holder,
            **dict.fromkeys(COUNTED, 0) | {"passed": (), "held": ()} | told,
        )

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON holds it, times as ISO."""
        told: Body = {
            name: to_iso(value) if name.endswith("_at") else value
            for name, value in vars(self).items()
        }
        holder: LeaseHolder | None = told.pop("holder")
        return told | (holder.to_dict() if holder else {})


def dream(
    home: Home,
    dreamer: HeuristicDreamer | None = None,
    *,
    domain: str | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
) -> DreamReport:
    """One cycle over what waits, under the home's lease: `limit` trajectories at most,
    by default maxTracesPerCycle.

    dreamer: by default the one of the settings.  progress: is told {"event": started,
    phase, trace or completed, …}.  Raises InvalidInput for a limit below 1,
    ModelUnavailable where the embedder is silent, LeaseLost where another process has
    taken over.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     _ = lab.dreams.capture(
    ...         "deploy the site",
    ...         [{"action": "make all"}, {"action": "rsync out/ host:"}],
    ...     )
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
        return _Cycle(
            ActiveStrategies(home), chosen, domain, limit, progress, lease.renew
        ).run()


def dream_at_night(home: Home, agent: str | None) -> str:
    """Dream inside the night's lease, cycle by cycle, until nothing waits that a cycle
    can take.
    """
    whole = home.in_project("")
    done = Counter[str]()
    report = DreamReport()
    if not trajectories_of(whole, waiting=True, limit=1):
        return "nothing waits"
    mind = ActiveStrategies(whole)
    dreamer = dreamer_for(whole, night=True)
    for _ in range(_MOST_CYCLES):
        report = _Cycle(mind, dreamer, None, None, None, lambda: None).run(always=False)
        done.update({name: getattr(report, name) for name in COUNTED})
        if not (report.traces_processed or report.passed) or not trajectories_of(
            whole, waiting=True, limit=1
        ):
            break
    waits = "".join(f"; {name} waits on: {why}" for name, why in report.held[:3])
    return (
        f"{done['nodes_created']} strategies made, {done['nodes_merged']} trajectories"
        f" taken into one{waits}"
    )


class _Cycle:
    """One cycle, and what it has done so far."""

    def __init__(
        self,
        mind: ActiveStrategies,
        dreamer: HeuristicDreamer,
        domain: str | None,
        limit: int | None,
        tell: Progress | None,
        keep: Callable[[], object],
    ) -> None:
        self.mind, self.home, self.dreamer, self.domain = (
            mind,
            mind.home,
            dreamer,
            domain,
        )
        self.tell = tell or (lambda _told: None)
        self.keep = keep
        self.most = limit or mind.settings.max_traces_per_cycle
        self.done = Counter(dict.fromkeys(COUNTED, 0))
        self.log = list[str]()
        self.passed = list[tuple[str, int, str]]()
        self.held = list[tuple[str, str]]()

    def run(self, *, always: bool = True) -> DreamReport:
        """The phases; unless `always`, a cycle that changed nothing is not noted."""
        started = self.home.clock.now()
        last = self.home.views.get(Strategies).cycles["seq"][-1:].tolist()
        before = {
            name
            for event in self.home.journal.read(seqs=last)
            for name, _ in event.body["held"]
        }
        found = trajectories_of(
            self.home, waiting=True, domain=self.domain, limit=self.most + len(before)
        )
        waiting = sorted(found, key=lambda one: one.id in before)[
            : self.most
        ]  # what was held keeps nobody waiting
        self.tell({"event": "started", "waiting": len(waiting)})
        # A model's answers cost: what it said of one trajectory is kept before it is
        # asked about the next.
        at_once = self.most if self.dreamer.name == "heuristic" else 1
        for start in range(0, len(waiting), at_once):
            self.keep()
            self._take(waiting[start : start + at_once])
        self._phase(
            "curation",
            f"{len(waiting)} read, {len(self.passed)} passed over, {len(self.held)}"
            " wait on",
        )
        self._phase(
            "consolidation",
            f"{self.done['nodes_created']} made, {self.done['nodes_merged']} merged",
        )
        self.keep()
        self.done["nodes_compacted"], problems = shorten_summaries(
            self.mind, self.dreamer, self.domain
        )
        self._phase(
            "compaction", f"{self.done['nodes_compacted']} strategies", *problems
        )
        body: Body = {
            "dream_id": new_event_id(started),
            "started_at": started,
            "ended_at": self.home.clock.now(),
        }
        body |= {
            **self.done,
            "domain": self.domain or "",
            "dreamer": self.dreamer.name,
            "phase_log": self.log,
        }
        body |= {"passed": self.passed, "held": self.held}
        if (
            always
            or any(self.done.values())
            or self.passed
            or {name for name, _ in self.held} != before
        ):
            self.home.journal.append(
                [new_event("dream", body, agent=SCANNER, at=body["ended_at"])]
            )
        report = DreamReport(**body, journal_id=body["dream_id"])
        self.tell({"event": "completed", **report.to_dict()})
        return report

    def _phase(self, name: str, told: str, *problems: str) -> None:
        self.log += [f"{name}: {told}", *problems]
        self.tell({"event": "phase", "phase": name, "told": told})

    def _take(self, waiting: Sequence[Trajectory]) -> None:
        """Read trajectories, then consolidate one after the other."""
        read = list[tuple[Trajectory, CuratedTrajectory, Strategy]]()
        for one in waiting:
            with self._waits_where_silent(one):
                read += self._read(one)
        with self._waits_where_silent(*(one for one, _, _ in read)):
            self.mind.vectors(
                *(text for _, _, new in read for text in (new.text, new.goal))
            )
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

    def _read(
        self, one: Trajectory
    ) -> Iterator[tuple[Trajectory, CuratedTrajectory, Strategy]]:
        """What the dreamer sees in a trajectory; nothing where there is nothing to
        learn.
        """
        if len(one.actions) < (least := self.mind.settings.min_actions):
            return self._aside(
                one, "passed", f"{len(one.actions)} actions; {least} are needed"
            )
        curated = self.dreamer.curate(one)
        self.done["tokens"] += curated.tokens
        if not curated.critical and not curated.constraints:
            return self._aside(one, "passed", "nothing in it is worth keeping")
        yield one, curated, strategy_from(one, curated)

    def _consolidate(
        self, one: Trajectory, curated: CuratedTrajectory, new: Strategy
    ) -> None:
        settings = self.mind.settings
        links = list[Link]()
        near = self.mind.near(new)
        if near and near[0][1] < settings.merge_similarity:
            alike = [
                self.mind.known[found]
                for found, cosine in near
                if cosine >= settings.link_similarity
            ]
            try:
                links = (
                    list(self.dreamer.links(new, alike[: settings.most_links]))
                    if alike
                    else []
                )
            except ModelUnavailable as error:
                self.log.append(f"{new.id} is not linked: {error}")
        did, what, counts = self.mind.consolidate(one, curated, new, links)
        self.done.update(counts)
        self._aside(one, did, what)


def shorten_summaries(
    mind: ActiveStrategies, dreamer: HeuristicDreamer, domain: str | None
) -> Done:
    """Tell strategies shorter that are told at length, little used and not yet settled;
    how many, and what went wrong.
    """
    done = 0
    problems = list[str]()
    settings = mind.settings
    chosen = (
        one
        for one in [*mind.known.values()]
        if settings.compaction and domain in (None, one.domain)
    )
    for old in chosen:
        long = (
            len(old.summary) > settings.compaction_min_characters
            and old.version < settings.compaction_max_version
        )
        try:
            shorter = dreamer.shorten(old) if long and mind.may_change(old) else ""
        except ModelUnavailable as error:
            return done, [*problems, str(error)]
        if 0 < len(shorter) < len(old.summary):
            source = (
                old.source
                if dreamer.name == "heuristic"
                else min(old.source, "model", key=TRUST.__getitem__)
            )
            one = replace(old, summary=shorter, version=old.version + 1, source=source)
            problem = mind.rewrite(
                "strategy_compacted", old, one, pruned=False, undo=False
            )
            problems += [f"{old.id} stays as it is: {problem}"] * bool(problem)
            done += not problem
    return done, problems
