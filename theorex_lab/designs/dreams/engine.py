"""Run dream cycles.

Each trajectory is curated and read, then consolidated one by one, then long strategies
are told shorter.

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
from theorex_lab.designs.dreams.cross_links import links_by_rule
from theorex_lab.designs.dreams.isa import MOST_INSTRUCTIONS, ProgramEffects, parse, run
from theorex_lab.designs.dreams.lessons import (
    CONFIDENCE,
    MOST_LESSONS,
    Lesson,
    critical_of,
    lessons_of,
    summary_of,
)
from theorex_lab.designs.dreams.migration import (
    MigrationTransform,
    has_older,
    migrate,
    restamped,
)
from theorex_lab.designs.dreams.providers import (
    BaseLLMProvider,
    provider_program,
    provider_text,
)
from theorex_lab.designs.dreams.settings import DreamSettings, dream_settings
from theorex_lab.designs.dreams.strategies import (
    Strategy,
    StrategyVectors,
    strategy_by_id,
    vectors_of,
)
from theorex_lab.designs.dreams.strategy_view import Strategies
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
from theorex_lab.memory.briefing.step_words import step_in_words
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
    """Curate by rules, without a model.

    The rules are those of `designs.dreams.lessons`. Other dreamers derive from it. A
    model that does not answer raises ModelUnavailable; UnusableAnswer where it answers
    nonsense.
    """

    name: str = "heuristic"

    def curate(self, trajectory: Trajectory) -> CuratedTrajectory:
        """Return what counts in a trajectory.

        It is the actions that changed something, a sentence of what was done, and one
        for each kind of failure.
        """
        certainty = CONFIDENCE[trajectory.outcome] * trajectory.confidence
        return CuratedTrajectory(
            critical_of(trajectory.actions, trajectory.goal),
            lessons_of(trajectory),
            summary_of(trajectory),
            certainty,
            {},
            "agent",
        )

    def links(
        self,
        new: Strategy,
        near: Sequence[Strategy],
    ) -> list[Link]:
        """Return the links that rules see: what one made, another works with."""
        return links_by_rule(new, near)

    def shorten(self, strategy: Strategy) -> str:  # noqa: ARG002
        """Return '': a summary stays."""
        return ""


class DreamDomainAdapter(NamedTuple):
    """Hold what a domain adds to what a model is asked.

    `lab.dreams.register_domain_adapter(domain, adapter)` and the setting
    designs.dreams.domainAdapters bring adapters of one's own.

    Attributes:
        role: The role of the model.
        look_for: What to look for.
        faults: The classes of failures there.
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
    """Write what a model is asked; everything that was recorded is fenced.

    Attributes:
        adapters: What each domain adds; `default` is for all others.

    >>> DreamPromptBuilder().adapters["robotics"].faults.split()[0]
    'physical_slip'
    """

    adapters: Mapping[str, DreamDomainAdapter] = field(default_factory=lambda: ADAPTERS)

    def curate(self, trajectory: Trajectory, near: Sequence[Strategy] = ()) -> str:
        """Return the question what of a trajectory is worth keeping.

        It asks which actions counted, what not to do again, and which strategy it
        makes.

        Args:
            trajectory: The trajectory.
            near: Strategies that may be the same.
        """
        actions = list(enumerate(trajectory.actions))
        n_actions = len(actions)
        half = _SHOWN_ACTIONS // 2
        del actions[half : max(half, n_actions - half)]
        lines = [_action_line(index, action) for index, action in actions]
        outcome = TEXTS[trajectory.outcome.value]
        lines.append(f"It took {n_actions} actions; {outcome}. {trajectory.error}")
        data = fence([trajectory.goal], "goal") + fence(lines, "actions")
        return self._prompt("curate", trajectory.domain, data, near)

    def links(self, new: Strategy, near: Sequence[Strategy]) -> str:
        """Return the question what a new strategy is linked with.

        It asks which strategies near the new one lead to it, or it to them.
        """
        data = ["The new one:", *_listed([new])]
        return self._prompt("links", new.domain, data, near)

    def shorten(self, strategy: Strategy) -> str:
        """Return the question for the summary in fewer words."""
        data = fence([strategy.summary], "summary")
        return self._prompt("shorten", strategy.domain, data)

    def _prompt(
        self,
        question: str,
        domain: str,
        data: Iterable[str],
        near: Sequence[Strategy] = (),
    ) -> str:
        adapter = self.adapters.get(domain, self.adapters["default"])
        lines = [adapter.role, TEXTS["data"], *data]
        if near:
            lines += ["Strategies that are there:", *_listed(near)]
        lines.append(TEXTS[question].format(**adapter._asdict()))
        return "\n".join(lines)


def _action_line(index: int, action: CapturedAction) -> str:
    """Return an action as a model is shown it: why, what was done, what came of it."""
    result_name = "failed" if action.ok is False else "came"
    texts = {
        "why": action.reasoning,
        "did": action.action,
        result_name: action.result,
    }
    parts = [str(index)]
    for name, text in texts.items():
        if text:
            parts.append(f"{name}: {one_line(text, _SHOWN_CHARACTERS)}")
    return " | ".join(parts)


def _listed(strategies: Iterable[Strategy]) -> list[str]:
    lines = []
    for strategy in strategies:
        text = one_line(f"{strategy.goal}. {strategy.summary}")
        lines.append(f"{strategy.id}: {text}")
    return fence(lines, "strategies")


@dataclass
class ModelDreamer(HeuristicDreamer):
    """Curate by a language model that answers with programs.

    What it says of actions counts by their index alone.

    Attributes:
        complete: A prompt to a completion.
        complete_text: The same for what is no program; None: by `complete`.
        near: Strategies that a trajectory may belong to, which the model may group or
            prune.
        most_tokens: What it may spend; None is without a limit.
        tokens: What it has spent.
    """

    complete: Callable[[str], Completion]
    complete_text: Callable[[str], Completion] | None = None
    prompts: DreamPromptBuilder = field(default_factory=DreamPromptBuilder)
    name: str = "model"
    most_tokens: int | None = None
    max_instructions: int = MOST_INSTRUCTIONS
    near: Callable[[Trajectory], Sequence[Strategy]] = lambda _: ()
    tokens: int = 0

    def curate(self, trajectory: Trajectory) -> CuratedTrajectory:
        """Return what the model's program asks for, as far as it is sound.

        The summary is the rules' where the program has none.

        Raises:
            UnusableAnswer: The program did not end within the limit, or keeps nothing.
        """
        near = self.near(trajectory)
        tokens_before = self.tokens
        rules = super().curate(trajectory)
        prompt = self.prompts.curate(trajectory, near)
        program, effects = self._run(prompt, len(trajectory.actions), near)
        whys = {}
        for _, index, why, *_ in effects.children:
            whys[index] = one_line(why, _WHY_CHARACTERS)
        critical = {*effects.critical, *whys} - {*effects.noise}
        constraints = _model_constraints(effects)
        if not critical and not constraints:
            raise UnusableAnswer(
                f"{self.name} answered {one_line(program, 120)!r}, which keeps nothing"
            )
        summary = ""
        confidence = rules.confidence
        if effects.parents:
            _, summary, confidence = effects.parents[0]
        summary = one_line(summary, _SUMMARY_CHARACTERS)
        return CuratedTrajectory(
            critical=tuple(sorted(critical)),
            constraints=tuple(constraints[:MOST_LESSONS]),
            summary=summary or rules.summary,
            confidence=min(confidence, CONFIDENCE[trajectory.outcome]),
            whys={index: why for index, why in whys.items() if why != _KEPT},
            source="model" if summary else rules.source,
            groups=tuple(effects.groups),
            prunes=tuple(effects.prunes),
            program=program,
            tokens=self.tokens - tokens_before,
        )

    def links(self, new: Strategy, near: Sequence[Strategy]) -> list[Link]:
        """Return the links between the new strategy and those near it.

        They are the causal edges and context jumps that the model names.
        """
        _, effects = self._run(self.prompts.links(new, near), 0, [new, *near])
        links = []
        for source, target, edge in dict.fromkeys(effects.links):
            if edge not in (Edge.CAUSAL, Edge.CONTEXT_JUMP) or source == target:
                continue
            if new.id in (source, target):
                links.append((source, target, edge.value))
        return links

    def shorten(self, strategy: Strategy) -> str:
        """Return the model's summary where it is shorter and has words, else ''."""
        answer = self.ask_text(self.prompts.shorten(strategy))
        text = one_line(answer, len(strategy.summary) + 1)
        if len(text) >= len(strategy.summary):
            return ""
        has_words = any(letter.isalnum() for letter in text)
        return text if has_words else ""

    def ask_text(self, prompt: str) -> str:
        """Return the model's answer, where that is no program, and count its tokens.

        Args:
            prompt: What is asked.

        Raises:
            ModelUnavailable: The model has spent what it may.
        """
        return self._ask(prompt, self.complete_text or self.complete)

    def _ask(self, prompt: str, complete: Callable[[str], Completion]) -> str:
        """Return the model's answer, and count its tokens.

        Raises:
            ModelUnavailable: The model has spent what it may.
        """
        if self.most_tokens is not None:
            needed = self.tokens + count_tokens(prompt) + _ANSWER_TOKENS
            if needed > self.most_tokens:
                raise ModelUnavailable(
                    f"{self.name} has spent {self.tokens} of the"
                    f" {self.most_tokens} tokens that it may spend; set"
                    " dreams.nightTokens for more"
                )
        completion = complete(prompt)
        text = encodable(completion.text[:_READ_CHARACTERS])
        if completion.tokens is None:
            self.tokens += count_tokens(prompt + text)
        else:
            self.tokens += completion.tokens
        return text

    def _run(
        self, prompt: str, n_actions: int, near: Iterable[Strategy]
    ) -> tuple[str, ProgramEffects]:
        """Return the program that answers a prompt, and what it asks for."""
        nodes = {strategy.id for strategy in near}
        program = self._ask(prompt, self.complete)
        result = run(
            parse(program),
            actions=n_actions,
            nodes=nodes,
            max_instructions=self.max_instructions,
        )
        if not result.success:
            raise UnusableAnswer(
                f"{self.name} answered {one_line(program, 120)!r}: {result.errors[-1]}"
            )
        return program, result.effects


def _model_constraints(effects: ProgramEffects) -> list[Lesson]:
    """Return the constraints of a program that have words."""
    constraints = []
    for text, fault in effects.constraints:
        if text.strip():
            constraints.append((one_line(text), fault.value, "model"))
    return constraints


Adapters = Mapping[str, DreamDomainAdapter]


def prompts_for(home: Home, adapters: Adapters | None = None) -> DreamPromptBuilder:
    """Return what asks the model, with the adapters of the settings.

    Args:
        home: Whose settings they are.
        adapters: More adapters by domain; they count before those of the settings.
    """
    merged = dict(ADAPTERS)
    for domain, words in dream_settings(home).domain_adapters.items():
        merged[domain] = DreamDomainAdapter(words.role, words.look_for, words.faults)
    return DreamPromptBuilder({**merged, **(adapters or {})})


def provider_dreamer(
    home: Home, provider: BaseLLMProvider, adapters: Adapters | None = None
) -> ModelDreamer:
    """Return a dreamer that asks a provider.

    Args:
        home: Whose strategies may be the same.
        provider: The provider.
        adapters: Adapters by domain, beside those of the settings.
    """
    settings = dream_settings(home)
    return ModelDreamer(
        provider_program(provider),
        provider_text(provider),
        prompts=prompts_for(home, adapters),
        name=provider.name,
        max_instructions=settings.isa_max_instructions,
        near=_near_strategies(home, settings),
    )


def _near_strategies(
    home: Home, settings: DreamSettings
) -> Callable[[Trajectory], list[Strategy]]:
    """Return what finds the strategies that a trajectory may belong to."""
    vectors = StrategyVectors(home)

    def near(trajectory: Trajectory) -> list[Strategy]:
        goal_vector = vectors_of(home, [trajectory.goal])[0]
        nearest = vectors.nearest(goal_vector, _NEAR, trajectory.domain)
        strategies = []
        for strategy_id, cosine in nearest:
            if cosine >= settings.link_similarity:
                strategy = strategy_by_id(home, strategy_id)
                strategies.append(strategy)
        return strategies

    return near


def dreamer_for(
    home: Home,
    *,
    in_maintenance: bool = False,
    adapters: Adapters | None = None,
) -> HeuristicDreamer:
    """Return the dreamer of a home by its setting dreamingModel.

    During maintenance a model that costs may spend nightTokens in all. Any model of
    `models` with an OpenAI-compatible url can be used, and Anthropic's models by theirs.

    Args:
        home: The home.
        in_maintenance: Whether it dreams during maintenance.
        adapters: Adapters by domain, beside those of the settings.

    Raises:
        ConfigError: The model is unknown.
    """
    settings = dream_settings(home)
    models = home.settings.models
    name = settings.dreaming_model
    if not name:
        return HeuristicDreamer()
    if name not in models:
        raise ConfigError(
            f"dreams.dreamingModel is {name!r}; allowed are '' and the models"
            f" {', '.join(models)}"
        )

    def complete(prompt: str) -> Completion:
        with client_for(name, home.settings) as client:
            return client.complete(prompt, temperature=0.0, max_tokens=_ANSWER_TOKENS)

    limit = None
    if in_maintenance and models[name].cost_per_million_tokens:
        limit = settings.night_tokens
    return ModelDreamer(
        complete,
        prompts=prompts_for(home, adapters),
        name=name,
        most_tokens=limit,
        max_instructions=settings.isa_max_instructions,
        near=_near_strategies(home, settings),
    )


Progress = Callable[[dict[str, Any]], object]
# What a cycle counts, by the names of Evolving Memory's journal, and the tokens that
# its model took.
COUNTED = (
    "traces_processed",
    "nodes_created",
    "nodes_merged",
    "edges_created",
    "cross_edges_created",
    "nodes_compacted",
    "constraints_extracted",
    "traces_migrated",
    "nodes_migrated",
    "tokens",
)
_FEWEST_STEPS = 2
_MOST_CYCLES = 20  # a run of the maintenance
Done = tuple[int, list[str]]  # how many, and what went wrong
Reading = tuple[Trajectory, CuratedTrajectory, Strategy]


class DreamReport(SimpleNamespace):
    """Hold what one cycle did.

    Attributes:
        ran: False where another process tends the home, the `holder`.

    Its other members: journal_id, started_at and ended_at (µs UTC), domain, dreamer,
    each of COUNTED, phase_log (lines), passed [trajectory, seq up to which, why there
    was nothing to learn], held [trajectory, why it waits on].
    """

    def __init__(
        self,
        members: Mapping[str, Any] | None = None,
        *,
        ran: bool = True,
        holder: LeaseHolder | None = None,
    ) -> None:
        report: dict[str, Any] = {"ran": ran, "holder": holder}
        report |= dict.fromkeys(COUNTED, 0)
        report["passed"] = ()
        report["held"] = ()
        report |= members or {}
        super().__init__(**report)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON holds it, times as ISO."""
        report: Body = dict(vars(self))
        for name, value in report.items():
            if name.endswith("_at"):
                report[name] = to_iso(value)
        holder: LeaseHolder | None = report.pop("holder")
        if holder:
            report |= holder.to_dict()
        return report


def dream(
    home: Home,
    dreamer: HeuristicDreamer | BaseLLMProvider | None = None,
    *,
    domain: str | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
    transforms: Sequence[MigrationTransform] = (),
    adapters: Adapters | None = None,
) -> DreamReport:
    """Run one cycle over what waits, under the home's lease.

    Args:
        home: Whose trajectories are dreamt.
        dreamer: A dreamer, or a provider of a model; by default the one of the
            settings.
        domain: Only of this domain.
        limit: Trajectories at most, by default maxTracesPerCycle.
        progress: Is given {"event": started, phase, trace or completed, …}.
        transforms: What carries strategies of an older version to a later one.
        adapters: What domains add to what a model is asked, by domain.

    Raises:
        InvalidInput: The limit is below 1.
        ModelUnavailable: The embedder is silent.
        LeaseLost: Another process has taken over.

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
    if isinstance(dreamer, BaseLLMProvider):
        dreamer = provider_dreamer(home, dreamer, adapters)
    chosen = dreamer or dreamer_for(home, adapters=adapters)
    with leased(home, "dream") as lease:
        if not lease.held:
            return DreamReport(ran=False, holder=lease.holder)
        cycle = _Cycle(
            ActiveStrategies(home),
            chosen,
            domain=domain,
            limit=limit,
            tell=progress,
            keep=lease.renew,
        )
        cycle.transforms = tuple(transforms)
        return cycle.run()


def dream_in_maintenance(home: Home, _agent: str | None) -> str:
    """Dream under the lease of maintenance, cycle by cycle.

    It ends when no cycle has anything left to take.
    """
    whole = home.in_project("")
    counts = Counter[str]()
    report = DreamReport()
    if not _waits(whole):
        return "nothing waits"
    mind = ActiveStrategies(whole)
    dreamer = dreamer_for(whole, in_maintenance=True)
    for _ in range(_MOST_CYCLES):
        report = _Cycle(mind, dreamer).run(always=False)
        counts.update({name: getattr(report, name) for name in COUNTED})
        did_nothing = not (report.traces_processed or report.passed)
        if did_nothing or not _waits(whole):
            break
    reasons = "".join(f"; {name} waits on: {why}" for name, why in report.held[:3])
    return (
        f"{counts['nodes_created']} strategies made, {counts['nodes_merged']}"
        f" trajectories taken into one{reasons}"
    )


def _waits(home: Home) -> bool:
    """Return whether a trajectory waits to be dreamt."""
    return bool(trajectories_of(home, waiting=True, limit=1))


class _Cycle:
    """Run one cycle, and hold what it has done so far."""

    def __init__(
        self,
        mind: ActiveStrategies,
        dreamer: HeuristicDreamer,
        *,
        domain: str | None = None,
        limit: int | None = None,
        tell: Progress | None = None,
        keep: Callable[[], object] = lambda: None,
    ) -> None:
        self.mind = mind
        self.home = mind.home
        self.dreamer = dreamer
        self.domain = domain
        self.tell = tell or (lambda _event: None)
        self.keep = keep
        self.most = limit or mind.settings.max_traces_per_cycle
        self.done = Counter(dict.fromkeys(COUNTED, 0))
        self.log = list[str]()
        self.passed = list[tuple[str, int, str]]()
        self.held = list[tuple[str, str]]()
        self.transforms: tuple[MigrationTransform, ...] = ()

    def run(self, *, always: bool = True) -> DreamReport:
        """Run the phases.

        Unless `always`, a cycle that changed nothing is not noted.
        """
        started = self.home.clock.now()
        held_before = self._held_before()
        waiting = self._waiting(held_before)
        self.tell({"event": "started", "waiting": len(waiting)})
        waiting = self._migrate(waiting)
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
        n_shortened, problems = shorten_summaries(self.mind, self.dreamer, self.domain)
        self.done["nodes_compacted"] = n_shortened
        self._phase("compaction", f"{n_shortened} strategies", *problems)
        body = self._body(started)
        if always or self._has_changed(held_before):
            event = new_event("dream", body, agent=SCANNER, at=body["ended_at"])
            self.home.journal.append([event])
        report = DreamReport({**body, "journal_id": body["dream_id"]})
        self.tell({"event": "completed", **report.to_dict()})
        return report

    def _held_before(self) -> set[str]:
        """Return the trajectories that the last cycle held."""
        last = self.home.views.get(Strategies).cycles["seq"][-1:].tolist()
        held = set[str]()
        for event in self.home.journal.read(seqs=last):
            held.update(name for name, _ in event.body["held"])
        return held

    def _waiting(self, held_before: set[str]) -> list[Trajectory]:
        """Return the trajectories to take; what was held keeps nobody waiting."""
        trajectories = trajectories_of(
            self.home,
            waiting=True,
            domain=self.domain,
            limit=self.most + len(held_before),
        )
        trajectories.sort(key=lambda trajectory: trajectory.id in held_before)
        return trajectories[: self.most]

    def _migrate(self, waiting: Sequence[Trajectory]) -> list[Trajectory]:
        """Carry what is of an older version to a later one; return what waits.

        Where all is of the present version, nothing is told of it.
        """
        present = [restamped(trajectory, self.transforms) for trajectory in waiting]
        pairs = zip(waiting, present, strict=True)
        n_traces = sum(before is not after for before, after in pairs)
        strategies = list(self.mind.strategies.values())
        if not n_traces and not has_older(strategies, self.transforms):
            return present
        ask = None
        if isinstance(self.dreamer, ModelDreamer):
            ask = self.dreamer.ask_text
        report = migrate(self.mind, self.transforms, ask, self.domain)
        self.done["traces_migrated"] = n_traces
        self.done["nodes_migrated"] = report.nodes
        self._phase(
            "migration",
            f"{report.nodes} strategies migrated, {report.enriched} enriched,"
            f" {n_traces} trajectories migrated",
            *report.problems,
        )
        return present

    def _body(self, started: int) -> Body:
        """Return the body of the cycle's event."""
        return {
            "dream_id": new_event_id(started),
            "started_at": started,
            "ended_at": self.home.clock.now(),
            **self.done,
            "domain": self.domain or "",
            "dreamer": self.dreamer.name,
            "phase_log": self.log,
            "passed": self.passed,
            "held": self.held,
        }

    def _has_changed(self, held_before: set[str]) -> bool:
        """Return whether the cycle did anything, or holds others than the last one."""
        if any(self.done.values()) or self.passed:
            return True
        return {name for name, _ in self.held} != held_before

    def _phase(self, name: str, summary: str, *problems: str) -> None:
        self.log += [f"{name}: {summary}", *problems]
        self.tell({"event": "phase", "phase": name, "told": summary})

    def _take(self, waiting: Sequence[Trajectory]) -> None:
        """Read trajectories, then consolidate one after the other."""
        readings = []
        for trajectory in waiting:
            with self._waits_where_silent(trajectory):
                reading = self._read(trajectory)
                if reading is not None:
                    readings.append(reading)
        with self._waits_where_silent(*(trajectory for trajectory, _, _ in readings)):
            texts = []
            for _, _, new in readings:
                texts += [new.text, new.goal]
            self.mind.vectors(*texts)
            for trajectory, curated, new in readings:
                with self._waits_where_silent(trajectory):
                    self._consolidate(trajectory, curated, new)

    @contextmanager
    def _waits_where_silent(self, *trajectories: Trajectory) -> Iterator[None]:
        """Hold trajectories until the next cycle where a model does not answer."""
        try:
            yield
        except ModelUnavailable as error:
            for trajectory in trajectories:
                self._note(trajectory, "held", str(error))

    def _note(self, trajectory: Trajectory, outcome: str, text: str) -> None:
        """Note what became of a trajectory.

        It is passed over for good, held until the next cycle, or taken in.
        """
        if outcome == "passed":
            self.passed.append((trajectory.id, trajectory.upto, text))
        elif outcome == "held":
            self.held.append((trajectory.id, one_line(text)))
        self.tell(
            {
                "event": "trace",
                "trajectory": trajectory.id,
                "did": outcome,
                "told": text,
            }
        )

    def _read(self, trajectory: Trajectory) -> Reading | None:
        """Return what the dreamer sees in a trajectory; None for nothing."""
        n_actions = len(trajectory.actions)
        n_needed = self.mind.settings.min_actions
        if n_actions < n_needed:
            why = f"{n_actions} actions; {n_needed} are needed"
            self._note(trajectory, "passed", why)
            return None
        if not trajectory.is_task:
            self._note(trajectory, "passed", "no task is named")
            return None
        curated = self.dreamer.curate(trajectory)
        self.done["tokens"] += curated.tokens
        if not curated.critical and not curated.constraints:
            self._note(trajectory, "passed", "nothing in it is worth keeping")
            return None
        if not _is_procedure(trajectory, curated):
            self._note(trajectory, "passed", "its steps are no procedure")
            return None
        return trajectory, curated, strategy_from(trajectory, curated)

    def _consolidate(
        self, trajectory: Trajectory, curated: CuratedTrajectory, new: Strategy
    ) -> None:
        """Take a trajectory in, with the links of its strategy."""
        links = self._links(new)
        outcome, text, counts = self.mind.consolidate(trajectory, curated, new, links)
        self.done.update(counts)
        self._note(trajectory, outcome, text)

    def _links(self, new: Strategy) -> list[Link]:
        """Return the links that the dreamer sees for a new strategy.

        One that will be merged has none.
        """
        settings = self.mind.settings
        near = self.mind.near(new)
        if not near or near[0][1] >= settings.merge_similarity:
            return []
        candidates = self._link_candidates(new, near)
        if not candidates:
            return []
        try:
            return list(self.dreamer.links(new, candidates))
        except ModelUnavailable as error:
            self.log.append(f"{new.id} is not linked: {error}")
            return []

    def _link_candidates(
        self, new: Strategy, near: Sequence[tuple[str, float]]
    ) -> list[Strategy]:
        """Return the strategies that a new one may be linked with.

        A model is shown those that are alike, since what it says rests on the words
        alone. A rule looks at what was made, so it sees all of the same scope.
        """
        settings = self.mind.settings
        strategies = self.mind.strategies
        if isinstance(self.dreamer, ModelDreamer):
            alike = [
                strategies[strategy_id]
                for strategy_id, cosine in near
                if cosine >= settings.link_similarity
            ]
            return alike[: settings.most_links]
        scope = self.mind.scope(new)
        return [
            strategy
            for strategy in strategies.values()
            if self.mind.scope(strategy) is scope
        ]


def _is_procedure(trajectory: Trajectory, curated: CuratedTrajectory) -> bool:
    """Return whether what a session did for its task has two steps of different kinds.

    What was captured on purpose, or was dispatched, is kept as it is.
    """
    if not trajectory.is_of_session:
        return True
    kinds = set()
    for index in curated.critical:
        action = trajectory.actions[index]
        if action.tool != trajectory.agent:  # which only talked
            kinds.add(step_in_words(action.action))
    return len(kinds - {""}) >= _FEWEST_STEPS


def shorten_summaries(
    mind: ActiveStrategies, dreamer: HeuristicDreamer, domain: str | None
) -> Done:
    """Tell strategies shorter that are long, little used and not yet settled.

    Args:
        mind: The strategies.
        dreamer: Who tells them shorter.
        domain: Only of this domain; None: of all.

    Returns:
        How many were told shorter, and what went wrong.
    """
    n_shortened = 0
    problems = list[str]()
    if not mind.settings.compaction:
        return n_shortened, problems
    for old in list(mind.strategies.values()):
        if domain not in (None, old.domain) or not _is_long(mind, old):
            continue
        try:
            shorter = dreamer.shorten(old)
        except ModelUnavailable as error:
            return n_shortened, [*problems, str(error)]
        if not 0 < len(shorter) < len(old.summary):
            continue
        new = _retold(old, shorter, dreamer)
        body = {"pruned": False, "undo": False}
        problem = mind.rewrite("strategy_compacted", old, new, body)
        if problem:
            problems.append(f"{old.id} stays as it is: {problem}")
        else:
            n_shortened += 1
    return n_shortened, problems


def _retold(old: Strategy, summary: str, dreamer: HeuristicDreamer) -> Strategy:
    """Return a strategy with another summary, trusted no more than who wrote it."""
    source = old.source
    if dreamer.name != "heuristic":
        source = min(old.source, "model", key=TRUST.__getitem__)
    return replace(old, summary=summary, version=old.version + 1, source=source)


def _is_long(mind: ActiveStrategies, strategy: Strategy) -> bool:
    """Return whether a strategy is told at length, and may be told shorter."""
    if len(strategy.summary) <= mind.settings.compaction_min_characters:
        return False
    if strategy.version >= mind.settings.compaction_max_version:
        return False
    return mind.may_change(strategy)
