"""One night: outcomes judged, failures reviewed, the policy gated, each design's own
steps, vectors, the next context.

Each step leaves whole transactions and may be repeated, so that a night that was cut
off is made good by running it again.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

from theorex_lab.core.errors import ModelUnavailable, TheorexError
from theorex_lab.core.ids import SCANNER, check_agent
from theorex_lab.evolution.acceptance import AcceptanceResult, gate
from theorex_lab.evolution.briefing import refresh
from theorex_lab.evolution.cases import TraceReviewRecord, judge_pending
from theorex_lab.evolution.lease import Lease, LeaseHolder, leased
from theorex_lab.evolution.outcomes import Outcomes
from theorex_lab.journal.event import new_event
from theorex_lab.memory.contract import Home
from theorex_lab.memory.retrieve import Searcher

T = TypeVar("T")

_MICROSECONDS = 1_000_000
_PROBLEMS_TOLD = 3
_MOST_PROJECTS = 50  # whose contexts are rendered
ReviewFailures = Callable[
    ..., Sequence[TraceReviewRecord]
]  # of an `agent`, or of all where it is None


class NightlyStep(NamedTuple):
    """How one step of a night ended: `detail` says what it did, or what was wrong."""

    name: str
    ok: bool
    seconds: float
    detail: str


@dataclass(frozen=True)
class NightlyReport:
    """The report of a night. ran: False when another process tended the home, the
    holder of its lease, and nothing was done.
    """

    ran: bool
    steps: list[NightlyStep]
    holder: LeaseHolder | None = None

    @property
    def ok(self) -> bool:
        """Whether every step ended well."""
        return all(step.ok for step in self.steps)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON holds it."""
        held = {} if self.holder is None else self.holder.to_dict()
        return {
            "ran": self.ran,
            "ok": self.ok,
            "steps": [step._asdict() for step in self.steps],
            **held,
        }


def nightly(
    home: Home,
    *,
    review: ReviewFailures,
    agent: str | None = None,
    asks_models: bool = False,
) -> NightlyReport:
    """Run the steps for every agent, or for one; a step that fails is reported and does
    not stop those after it.

    `asks_models`: whether a model may judge outcomes, see `cases.judge_pending`.

    Repeating it at once changes nothing but the lease. The report is appended, unless
    nothing has happened since the last one. Raises InvalidInput for an agent outside
    the rule, StorageError where the report cannot be written, LeaseLost where another
    process has taken over.
    """
    night = _Night(
        home, review, None if agent is None else check_agent(agent), asks_models
    )
    with leased(home, "nightly") as lease:
        return (
            night.run(lease) if lease.held else NightlyReport(False, [], lease.holder)
        )


class _Night:
    """The steps, and what they share."""

    def __init__(
        self, home: Home, review: ReviewFailures, agent: str | None, asks_models: bool
    ) -> None:
        self.home = home
        self.review_failures = review
        self.agent = agent
        self.asks_models = asks_models
        self.fixes = 0
        self.gated = list[AcceptanceResult]()

    def run(self, lease: Lease) -> NightlyReport:
        own = [step for design in self.home.designs for step in design.steps]
        runs = {step.name: partial(step.run, self.home, self.agent) for step in own}
        before = {step.name: runs[step.name] for step in own if step.before_gate}
        after = {step.name: runs[step.name] for step in own if not step.before_gate}
        steps: dict[str, Callable[[], str]] = {
            "judge": self.judge,
            "review": self.review,
            **before,
            "gate": self.gate,
        }
        steps |= {**after, "embed": self.embed, "boot-inject": self.boot_inject}
        report = NightlyReport(
            True, [self._isolated(lease, name, step) for name, step in steps.items()]
        )
        journal = self.home.journal
        kinds = (
            journal.read(seqs=[seq], erased=True)[0].kind
            for seq in range(journal.last_seq(), 0, -1)
        )
        last = next((kind for kind in kinds if kind != "lease"), "")
        if not report.ok or last != "nightly":  # else nothing has happened
            gated = [result.to_dict() for result in self.gated]
            body = {
                "steps": report.to_dict()["steps"],
                "fixes": self.fixes,
                "gate": gated,
            }
            lease.append(
                [new_event("nightly", body, agent=SCANNER, at=self.home.clock.now())]
            )
        return report

    def judge(self) -> str:
        return (
            judge_pending(self.home, self.agent)
            if self.asks_models
            else "no model was to be asked"
        )

    def review(self) -> str:
        records = self.review_failures(agent=self.agent)
        written = self.fixes = sum(record.written_to_axon for record in records)
        problems = Counter(record.problem for record in records if record.problem)
        waiting = "".join(
            f"; {n} wait on: {problem}"
            for problem, n in problems.most_common(_PROBLEMS_TOLD)
        )
        return f"{written} fixes written{waiting}"

    def gate(self) -> str:
        self.gated = gate(self.home)
        return "; ".join(map(told, self.gated))

    def embed(self) -> str:
        """Compute the vectors that are queued; where the embedder is silent they wait
        on.
        """
        searcher = Searcher(self.home)
        try:
            return (
                searcher.vectors.no_vectors
                or f"{searcher.vectors.embed_pending()} embedded"
            )
        except ModelUnavailable as error:
            return f"{searcher.vectors.coverage()['queued']} wait on: {error}"

    def boot_inject(self) -> str:
        """Bring up to date what hooks give, of the projects that were active last or
        the one that the night is for.
        """
        context, projects = refresh(self.home, _MOST_PROJECTS)
        also = f", and for {projects} project(s)" if projects else ""
        return (
            f"{context.concepts} concepts and {context.fixes} fixes in {context.tokens}"
            f" tokens{also}"
        )

    def _isolated(
        self, lease: Lease, name: str, step: Callable[[], str]
    ) -> NightlyStep:
        lease.renew()
        started = self.home.clock.now()
        try:
            ok = True
            detail = step()
        except TheorexError as error:
            ok = False
            detail = str(error)
        return NightlyStep(
            name, ok, (self.home.clock.now() - started) / _MICROSECONDS, detail
        )


def for_each_agent(home: Home, agent: str | None, act: Callable[[str], T]) -> list[T]:
    """What the act gives for this agent, or for each who has something in a design or
    has decided something; see `in_turn`.
    """
    return in_turn([agent] if agent is not None else agents_of(home), act)


def in_turn(names: Iterable[str], act: Callable[[str], T]) -> list[T]:
    """What the act gives for each of these. Those that failed are named together in a
    TheorexError when all had their turn.
    """
    done = []
    problems = []
    for name in names:
        try:
            done.append(act(name))
        except TheorexError as error:
            problems.append(f"{name}: {error}")
    if problems:
        raise TheorexError("; ".join(problems))
    return done


def agents_of(home: Home) -> list[str]:
    """Those who have something in a design, and those who have outcomes only."""
    names = dict.fromkeys(home.agents())
    with home.views.reading(Outcomes) as outcomes:
        return list(names | dict.fromkeys(outcomes.agents))


def told(said: AcceptanceResult) -> str:
    """The gate's decision on one part, for people."""
    if said.before is None or said.after is None:
        return f"{said.part}: {said.decision}, {said.n} records are too few"
    scores = f"{said.before:.3f} now, {said.after:.3f} proposed, on {said.n} records"
    repeated = ", judged before" if said.repeated else ""
    changes = (
        ", ".join(f"{key} {value}" for key, value in said.proposed.items())
        or "nothing better found"
    )
    return f"{said.part}: {said.decision} ({scores}{repeated}): {changes}"
