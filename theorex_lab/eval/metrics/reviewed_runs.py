"""Failed runs as they are looked at: the suspected step, the fix, and what it was worth.

Runs of the simulation, of Who&When and of a home have the same form here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.datasets.data_sets import available
from theorex_lab.eval.datasets.parsing import FailedRun
from theorex_lab.eval.datasets.recorded_runs import failed_cases, fetch_whoandwhen
from theorex_lab.eval.datasets.simulated_failures import load_simulated_failures
from theorex_lab.eval.metrics.costs import HOME_VARIABLE
from theorex_lab.eval.metrics.failures import effect_of_fixes, run_steps
from theorex_lab.evolution.cases import FailureCase, TraceReviewRecord
from theorex_lab.evolution.decisive import (
    KNOWN_FROM,
    DecisiveStep,
    LikelyStep,
    RunStep,
    find_decisive,
)
from theorex_lab.evolution.failures import (
    HeuristicReviewer,
    PersonReviewer,
    review_failure,
)
from theorex_lab.evolution.outcomes import Outcome
from theorex_lab.memory.rows import Rows
from theorex_lab.store.lab import DEFAULT_HOME, Lab
from theorex_lab.text.line import one_line

SIMULATION = "simulation"
WHOANDWHEN = "whoandwhen"
_TITLE_CHARACTERS = 70
_LEVEL = 0.05
_QUOTE_CHARACTERS = 160


class SecondTries(NamedTuple):
    """For each trial after a failure whether the task was solved by then."""

    with_fix: tuple[bool, ...]
    without: tuple[bool, ...]


@dataclass(frozen=True)
class ReviewedRun:
    """A failed run, what the rules find in it, and what is known of its fix.

    Attributes:
        id: The id in its source.
        task: What was to be done.
        steps: The run.
        suspected: The index of the step that the rules hold for the likeliest; None for
            none.
        confidence: The chance that it is the decisive one, 0..1.
        reasons: Why they suspect it, a line each.
        failure_class: The labelled kind of mistake, or what the rules take it for.
        labelled: The index of the labelled step; None where nobody labelled it.
        label_reason: Why that step is the decisive one, in the words of who labelled.
        label_agent: Who made the labelled mistake.
        fix: The written fix, '' for none.
        tries: The paired second tries; None where there are none.
        later: What is known of the fix and of later failures alike; '' for nothing.
        name: What it is called where it is shown; '' for its id.
        likely_steps: The likeliest steps with their chances, best first.
    """

    id: str
    task: str
    steps: tuple[RunStep, ...]
    suspected: int | None
    confidence: float
    reasons: tuple[str, ...]
    failure_class: str
    labelled: int | None = None
    label_reason: str = ""
    label_agent: str = ""
    fix: str = ""
    tries: SecondTries | None = None
    later: str = ""
    name: str = ""
    likely_steps: tuple[LikelyStep, ...] = ()

    @property
    def is_known(self) -> bool:
        """Return whether the suspected step is the decisive one more likely than not."""
        return self.suspected is not None and self.confidence > KNOWN_FROM

    @property
    def agent(self) -> str:
        """Return who is held responsible: by the label, else by the rules."""
        if self.label_agent:
            return self.label_agent
        agents = {step.index: step.agent for step in self.steps}
        return agents.get(self.suspected, "") if self.suspected is not None else ""

    @property
    def title(self) -> str:
        """Return the name and the beginning of the task."""
        return f"{self.name or self.id}: {one_line(self.task, _TITLE_CHARACTERS)}"


@dataclass(frozen=True)
class FailureSource:
    """Failed runs of one source.

    Attributes:
        runs: The runs.
        about: What they are, in one line.
        keep_fix: Records a fix of a run and trusts it; None where nothing is recorded.
    """

    runs: tuple[ReviewedRun, ...]
    about: str
    keep_fix: Callable[[ReviewedRun, str], str] | None = None

    def chosen(self, failure_class: str = "", agent: str = "") -> list[ReviewedRun]:
        """Return the runs of a kind of mistake and of an agent; '' is any."""
        return [
            run
            for run in self.runs
            if failure_class in ("", run.failure_class) and agent in ("", run.agent)
        ]


def failure_sources(lab: Lab | None = None) -> dict[str, Callable[[], FailureSource]]:
    """Return the failed runs at hand by name, each read when it is called.

    These are the simulation, Who&When where it is at hand, and your own.

    Args:
        lab: The home whose failures are read, and where a fix is kept. With None they
            are read from $THEOREX_HOME, else ~/.theorex, where that exists; nothing is
            written there.

    >>> next(iter(failure_sources()))
    'simulation'
    """
    sources: dict[str, Callable[[], FailureSource]] = {SIMULATION: simulated_source}
    if available(WHOANDWHEN):
        sources[WHOANDWHEN] = whoandwhen_source
    if lab is not None:
        sources["your own failures"] = lambda: home_source(lab)
        return sources
    folder = Path(os.environ.get(HOME_VARIABLE) or DEFAULT_HOME).expanduser()
    if (folder / "theorex.db").exists():
        sources["your own failures"] = lambda: _home_read_only(folder)
    return sources


@cache
def simulated_source() -> FailureSource:
    """Return the failed runs of the packaged simulation, read once in a process."""
    runs = []
    for failure in load_simulated_failures().failures:
        run = replace(
            _labelled(failure.run),
            failure_class=failure.failure_class,
            fix=failure.fix,
            tries=SecondTries(failure.with_fix, failure.without),
        )
        runs.append(run)
    return FailureSource(tuple(runs), "a packaged simulation; nobody ran these teams")


def whoandwhen_source() -> FailureSource:
    """Return the failed runs of Who&When, with the classes that the rules read."""
    runs = tuple(_labelled(run) for run in fetch_whoandwhen().runs)
    return FailureSource(
        runs,
        "failed runs of real teams of models; people labelled the step, the rules read"
        " the kind",
    )


def _labelled(run: FailedRun) -> ReviewedRun:
    """Return a run whose decisive step is labelled."""
    steps = run_steps(run)
    finding = find_decisive(steps, task=run.question)
    return ReviewedRun(
        run.id,
        run.question,
        tuple(steps),
        finding.step,
        finding.confidence,
        _reasons(finding),
        finding.failure_class.value,
        run.mistake_step,
        run.mistake_reason,
        run.mistake_agent,
        likely_steps=finding.likely_steps,
    )


def _reasons(finding: DecisiveStep) -> tuple[str, ...]:
    """Return why the rules suspect a step."""
    kind = finding.failure_class.value.replace("_", " ")
    first = f"reads like {kind} (the rules give it {finding.confidence:.0%})"
    quotes = [
        f"step {quote.step}: “{one_line(quote.quote, _QUOTE_CHARACTERS)}”"
        for quote in finding.evidence
    ]
    return (first, *quotes)


def home_source(lab: Lab) -> FailureSource:
    """Return the failures of a home, and the door by which a fix is kept there.

    Reading writes nothing.
    """

    def keep(run: ReviewedRun, fix: str) -> str:
        record = keep_fix(lab, run.id, fix, decisive_step=run.suspected)
        return f"kept and trusted as {record.observation_id}"

    return FailureSource(
        _home_runs(lab),
        "failures that this home recorded, as the rules read them",
        keep,
    )


def _home_read_only(folder: Path) -> FailureSource:
    """Return the failures of a home, without a door to write."""
    with Lab(folder) as lab:
        runs = _home_runs(lab)
    about = (
        "failures that your home recorded, read only; pass failure_explorer(lab=…) to"
        " keep fixes"
    )
    return FailureSource(runs, about)


def _home_runs(lab: Lab) -> tuple[ReviewedRun, ...]:
    cases = failed_cases(lab)
    outcomes = lab.outcomes.outcomes()
    reviews = {
        event.body["outcome_id"]: event.body
        for event in lab.journal.tail(0, kinds=["reviewed"])
    }
    runs = []
    for number, case in enumerate(cases, start=1):
        run = _home_run(case, outcomes, reviews.get(case.outcome.outcome_id))
        runs.append(replace(run, name=f"failure {number}"))
    return tuple(runs)


def _home_run(
    case: FailureCase, outcomes: Sequence[Outcome], review: dict[str, Any] | None
) -> ReviewedRun:
    """Return one failure of a home; without a usable trace the rules suspect nothing."""
    verdict = HeuristicReviewer().review(case)
    reasons = [verdict.problem or ""]
    suspected = verdict.decisive_step
    if suspected is None and verdict.likely_steps:
        suspected = verdict.likely_steps[0].step
        reasons = []
    if verdict.decisive_step is not None:
        finding = find_decisive(case.steps, task=case.task)
        if finding.step == verdict.decisive_step:
            reasons = list(_reasons(finding))
        else:
            reasons = ["the first call of a tool that failed and was not mended"]
    fix = review["fix_description"] if review else verdict.fix_description
    return ReviewedRun(
        case.outcome.outcome_id,
        case.task,
        case.steps,
        suspected,
        verdict.confidence or 0.0,
        tuple(filter(None, reasons)),
        verdict.failure_class,
        fix=fix,
        later=_later(case.outcome, outcomes, is_reviewed=review is not None),
        likely_steps=verdict.likely_steps,
    )


def _later(failure: Outcome, outcomes: Iterable[Outcome], *, is_reviewed: bool) -> str:
    """Return what the memory knows of a fix, and of later outcomes like the failure.

    Alike are outcomes of the same agent with the same decision or a shared tag.
    """
    tags = set(failure.tags)
    alike = [
        outcome
        for outcome in outcomes
        if outcome.agent_id == failure.agent_id
        and outcome.timestamp > failure.timestamp
        and (outcome.decision == failure.decision or tags & set(outcome.tags))
    ]
    state = "a fix is in the memory" if is_reviewed else "no fix is in the memory yet"
    if not alike:
        return f"{state}; nothing like it was recorded since"
    n_failed = sum(not outcome.success for outcome in alike)
    return f"{state}; since then {n_failed} of {len(alike)} tries like it failed again"


def keep_fix(
    lab: Lab, outcome_id: str, fix: str, *, decisive_step: int | None = None
) -> TraceReviewRecord:
    """Record a person's fix of a failure, and trust it.

    It passes the same checks as the fix of any reviewer, and `Lab.trust` then makes it
    a known fix.

    Args:
        lab: The home of the failure.
        outcome_id: The id of the failure.
        fix: One sentence in words of its own.
        decisive_step: The step that decided, None where that is not known.

    Raises:
        InvalidInput: The failure is unknown, or the fix may not be kept; the message
            says why.
    """
    reviewer = PersonReviewer(fix, decisive_step)
    record = review_failure(lab.home, outcome_id, reviewer)
    if record.observation_id is None:
        raise InvalidInput(f"got a fix that is not kept: {record.problem}")
    lab.trust(record.observation_id)
    return record


class ClassEffect(NamedTuple):
    """What fixes were worth for one kind of mistake, in the first second try.

    Attributes:
        failure_class: The kind.
        pairs: How many pairs.
        only_with: Pairs solved with the fix alone, and `only_without` without it alone.
        difference: The share of pairs solved more with fixes, with its 95 % interval.
        p_value: Of McNemar's exact test.
        adjusted_p: The same by Holm, over all kinds.
        verdict: helps, harms or not significant, by the adjusted p at .05.
    """

    failure_class: str
    pairs: int
    only_with: int
    only_without: int
    difference: float
    ci_low: float
    ci_high: float
    p_value: float
    adjusted_p: float
    verdict: str


class ClassEffects(Rows[ClassEffect]):
    """What fixes were worth by kind of mistake, best first."""

    row_class = ClassEffect

    def __repr__(self) -> str:
        n_helped = sum(effect.verdict == "helps" for effect in self)
        return f"ClassEffects({len(self)} kinds, fixes help in {n_helped})"


def effect_by_class(*, seed: int = 0) -> ClassEffects:
    """Return for each kind of mistake in the simulation what its fixes were worth.

    Args:
        seed: Draws the intervals.
    """
    simulation = load_simulated_failures()
    effects = []
    for name in simulation.failure_classes:
        effect = effect_of_fixes(simulation.second_tries(name), seed=seed)
        row = effect.frame.iloc[0]
        effects.append(
            ClassEffect(
                name,
                effect.with_fixes.shape[1],
                int(row["only_with"]),
                int(row["only_without"]),
                float(row["difference"]),
                float(row["difference_ci_low"]),
                float(row["difference_ci_high"]),
                float(row["p_value"]),
                1.0,
                "",
            )
        )
    p_values = [effect.p_value for effect in effects]
    adjusted = [
        effect._replace(adjusted_p=p, verdict=_verdict(effect.difference, p))
        for effect, p in zip(effects, holm(p_values), strict=True)
    ]
    adjusted.sort(key=lambda effect: -effect.difference)
    return ClassEffects(adjusted)


def _verdict(difference: float, p_value: float) -> str:
    if p_value >= _LEVEL:
        return "not significant"
    return "helps" if difference > 0 else "harms"


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values adjusted by Holm for as many tests.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda k: p_values[k])
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for rank, k in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[k]))
        adjusted[k] = highest
    return adjusted
