"""Maintenance: the steps that run once a day or on demand.

Outcomes are judged, failures are reviewed and the policy is put to the offline
acceptance test. Then come each design's own steps, the wording of cards, vectors and
the next context.

Each step leaves whole transactions and may be repeated, so that a maintenance that was
cut off is completed by running it again.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from functools import partial
from html import escape
from typing import Any, NamedTuple, TypeVar

from theorex_lab.core.collector import collector_paused
from theorex_lab.core.errors import ModelUnavailable, TheorexError
from theorex_lab.core.ids import SCANNER, check_agent
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.progress import bar
from theorex_lab.core.remembering import forget_texts
from theorex_lab.evolution.acceptance import AcceptanceResult, gate
from theorex_lab.evolution.briefing import refresh
from theorex_lab.evolution.card_rewriting import rewrite_cards
from theorex_lab.evolution.cases import TraceReviewRecord, judge_pending
from theorex_lab.evolution.lease import Lease, LeaseHolder, leased
from theorex_lab.evolution.maintained import MAINTENANCE_KIND
from theorex_lab.evolution.outcomes import Outcomes
from theorex_lab.evolution.view_sharing import push_grown_views
from theorex_lab.journal.event import RAW_KINDS, new_event
from theorex_lab.journal.spool import SpooledJournal
from theorex_lab.memory.contract import Home
from theorex_lab.memory.embedded import EmbeddedTexts
from theorex_lab.memory.retrieve import Searcher

T = TypeVar("T")

_MICROSECONDS = 1_000_000
_PROBLEMS_REPORTED = 3
_MOST_PROJECTS = 50  # whose contexts are rendered
# Of an `agent`, or of all where it is None.
ReviewFailures = Callable[..., Sequence[TraceReviewRecord]]
Steps = dict[str, Callable[[], str]]


class StepReport(NamedTuple):
    """How one step of maintenance ended: `detail` says what it did, or what was wrong."""

    name: str
    ok: bool
    seconds: float
    detail: str


@dataclass(frozen=True, repr=False)
class MaintenanceReport:
    """The report of one maintenance.

    Attributes:
        ran: Whether this process tended the home. It is False when another process did,
            the holder of its lease, and nothing was done.
        steps: How each step ended.
        holder: Who held the lease instead, None for nobody.
    """

    ran: bool
    steps: list[StepReport]
    holder: LeaseHolder | None = None

    @property
    def ok(self) -> bool:
        """Return whether every step ended well."""
        return all(step.ok for step in self.steps)

    def __repr__(self) -> str:
        outcome = "all well"
        failed_steps = [step.name for step in self.steps if not step.ok]
        if failed_steps:
            outcome = f"failed: {', '.join(failed_steps)}"
        if not self.ran:
            outcome = "another process tends the home"
        n_steps = len(self.steps)
        return f"{type(self).__name__}({n_steps} steps, {outcome})"

    def __str__(self) -> str:
        """Return a line for each step: whether it ended well, and what it did."""
        lines = [repr(self)]
        for step in self.steps:
            ending = "ok" if step.ok else "FAILED"
            lines.append(f"  {ending:6}  {step.name}: {step.detail}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from theorex_lab.memory.rows import Rows, table_html

        escaped = escape(repr(self))
        heading = f"<p>{escaped}</p>"
        if not self.steps:
            return heading
        rows = [step._asdict() for step in self.steps]
        table = table_html(Rows(rows).frame)
        return f"{heading}{table}"

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON holds it."""
        holder = {} if self.holder is None else self.holder.to_dict()
        return {
            "ran": self.ran,
            "ok": self.ok,
            "steps": [step._asdict() for step in self.steps],
            **holder,
        }


def run_maintenance(
    home: Home,
    *,
    review: ReviewFailures,
    agent: str | None = None,
    asks_models: bool = False,
    progress: bool | None = None,
) -> MaintenanceReport:
    """Run the steps for every agent, or for one.

    A step that fails is reported and does not stop those after it. Repeating
    maintenance at once changes nothing but the lease. The report is appended, unless nothing has
    happened since the last one.

    Args:
        home: The home that is tended.
        review: Reviews the failures.
        agent: The agent, None for all.
        asks_models: Whether a model may judge outcomes and word cards, see
            `evolution.cases.judge_pending` and `evolution.card_rewriting`.
        progress: Whether there is a bar that names the step; None: in a terminal or
            notebook.

    Raises:
        InvalidInput: For an agent outside the rule.
        StorageError: Where the report cannot be written.
        LeaseLost: Where another process has taken over.
    """
    if agent is not None:
        check_agent(agent)
    maintenance = _Maintenance(home, review, agent, asks_models)
    with leased(home, "nightly") as lease:
        if not lease.held:
            return MaintenanceReport(False, [], lease.holder)
        try:
            with home.journal.decoding_once():
                report = maintenance.run(lease, progress)
            home.views.whole.save_grown()
            return report
        finally:
            forget_texts()


class _Maintenance:
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

    def run(self, lease: Lease, progress: bool | None = None) -> MaintenanceReport:
        """Run every step, and append the report unless nothing has happened."""
        steps = self._steps()
        upto = self.home.journal.last_seq()
        results = []
        progress_bar = bar(
            len(steps), unit="steps", what="maintenance", progress=progress
        )
        with closing(progress_bar):
            for name, step in steps.items():
                progress_bar.set_postfix_str(name)
                results.append(run_step(self.home, lease, name, step))
                progress_bar.update(1)
        report = MaintenanceReport(True, results)
        if report.ok and self._nothing_happened():
            return report
        body = {
            "upto": upto,
            "steps": report.to_dict()["steps"],
            "fixes": self.fixes,
            "gate": [result.to_dict() for result in self.gated],
        }
        lease.append(
            [new_event("nightly", body, agent=SCANNER, at=self.home.clock.now())]
        )
        return report

    def _steps(self) -> Steps:
        """Return the steps by name, in their order, those of the designs among them."""
        before, after = design_steps(self.home, self.agent)
        return {
            "judge": self.judge,
            "review": self.review,
            **before,
            "acceptance": self.test_policy,
            **after,
            "cards": self.cards,
            **closing_steps(self.home),
            **_sharing_steps(self.home),
        }

    def _nothing_happened(self) -> bool:
        """Return whether nothing has happened since the last run began.

        Its own report stands last then, beside leases, and it has seen all captures:
        what was captured while it ran waits for the next.
        """
        journal = self.home.journal
        for seq in range(journal.last_seq(), 0, -1):
            (event,) = journal.read(seqs=[seq], erased=True)
            if event.kind == "lease":
                continue
            if event.kind != MAINTENANCE_KIND or event.erased:
                return False
            upto = event.body.get("upto", seq)
            captures = journal.tail(upto, kinds=RAW_KINDS, upto=seq)
            return next(iter(captures), None) is None
        return False

    def judge(self) -> str:
        """Let models judge the outcomes that wait for it."""
        if not self.asks_models:
            return "no model was to be asked"
        return judge_pending(self.home, self.agent)

    def review(self) -> str:
        """Review the failures that wait for it."""
        records = self.review_failures(agent=self.agent)
        self.fixes = sum(record.written_to_axon for record in records)
        return describe_reviews(records)

    def test_policy(self) -> str:
        """Judge the policy that is proposed for each part."""
        self.gated = gate(self.home)
        return "; ".join(describe_acceptance(result) for result in self.gated)

    def cards(self) -> str:
        """Let a model word the latest sessions' cards better."""
        if not self.asks_models:
            return "no model was to be asked"
        return rewrite_cards(self.home)


def design_steps(home: Home, agent: str | None) -> tuple[Steps, Steps]:
    """Return the steps of the active designs by name, in their order.

    Those that come before the acceptance test are apart from those that follow it.
    """
    before: Steps = {}
    after: Steps = {}
    for design in home.active:
        for step in design.steps:
            steps = before if step.before_policy_test else after
            steps[step.name] = partial(step.run, home, agent)
    return before, after


def closing_steps(home: Home) -> Steps:
    """Return the steps that come last, by name: vectors, and what hooks give."""
    return {
        "embed": partial(_embed, home),
        "briefing": partial(_save_briefings, home),
    }


def _sharing_steps(home: Home) -> Steps:
    """Return the step by which other machines take over what is folded here."""
    if not isinstance(home.journal, SpooledJournal):
        return {}
    return {"views": partial(push_grown_views, home)}


def _embed(home: Home) -> str:
    """Compute the vectors that are queued.

    Where nothing listens they wait on.

    Raises:
        ModelUnavailable: The embedder answered an error.
    """
    vectors = Searcher(home).vectors
    try:
        return vectors.no_vectors or f"{vectors.embed_maintained()} embedded"
    except ModelUnavailable as error:
        if error.kind != "silent":
            raise
        return f"{_waiting(vectors)} wait: {error}; start it, or unset lmStudioUrl"


def _waiting(vectors: EmbeddedTexts) -> str:
    """Return what waits for its vector, in words.

    How many texts these are is not known before an endpoint answered once, since it
    says what a vector is.
    """
    try:
        return str(vectors.coverage()["queued"])
    except ModelUnavailable:
        return "all"


def _save_briefings(home: Home) -> str:
    """Bring up to date what hooks give.

    This is done for the projects that were active last, or for the one project that
    is maintained.
    """
    briefing, n_projects = refresh(home, _MOST_PROJECTS)
    report = f"{len(briefing.lines)} lines in {briefing.tokens} tokens"
    if n_projects:
        report += f", and for {n_projects} project(s)"
    return report


def run_step(
    home: Home, lease: Lease, name: str, step: Callable[[], str]
) -> StepReport:
    """Run a step, and return how it ended.

    A step that fails is reported; it stops none after it.

    Args:
        home: The home, whose clock says how long it took.
        lease: The lease, which is renewed first.
        name: The name of the step.
        step: Does it, and returns what it did.

    Raises:
        LeaseLost: Another process has taken over.
    """
    lease.renew()
    started = home.clock.now()
    try:
        with collector_paused():
            detail = step()
        ok = True
    except TheorexError as error:
        detail = str(error)
        ok = False
    seconds = (home.clock.now() - started) / _MICROSECONDS
    return StepReport(name, ok, seconds, detail)


def describe_reviews(records: Sequence[TraceReviewRecord]) -> str:
    """Return what came of reviews of failures, for people."""
    n_fixes = sum(record.written_to_axon for record in records)
    problems = Counter(record.problem for record in records if record.problem)
    report = f"{n_fixes} fixes written"
    for problem, n_failures in problems.most_common(_PROBLEMS_REPORTED):
        report += f"; {n_failures} wait on: {problem}"
    return report


def for_each_agent(home: Home, agent: str | None, act: Callable[[str], T]) -> list[T]:
    """Return what the act gives for this agent, or for each of `agents_of`.

    Args:
        home: The home.
        agent: The agent, None for all.
        act: Takes the name of an agent.

    Raises:
        TheorexError: As `in_turn` does.
    """
    return in_turn([agent] if agent is not None else agents_of(home), act)


def in_turn(names: Iterable[str], act: Callable[[str], T]) -> list[T]:
    """Return what the act gives for each of these.

    Raises:
        TheorexError: Where some failed. It names them together when all had their
            turn.
    """
    results = []
    problems = []
    for name in names:
        try:
            results.append(act(name))
        except TheorexError as error:
            problems.append(f"{name}: {error}")
    if problems:
        raise TheorexError("; ".join(problems))
    return results


def agents_of(home: Home) -> list[str]:
    """Return those who have something in a design, and those who have outcomes only."""
    names = dict.fromkeys(home.agents())
    with home.views.reading(Outcomes) as outcomes:
        return list(names | dict.fromkeys(outcomes.agents))


def describe_acceptance(result: AcceptanceResult) -> str:
    """Return the acceptance test's decision on one part, for people."""
    if result.before is None or result.after is None:
        return f"{result.part}: {result.decision}, {result.n} records are too few"
    scores = (
        f"{result.before:.3f} now, {result.after:.3f} proposed, on {result.n} records"
    )
    repeated = ", judged before" if result.repeated else ""
    changes = ", ".join(f"{key} {value}" for key, value in result.proposed.items())
    if not changes:
        changes = "nothing better found"
    return f"{result.part}: {result.decision} ({scores}{repeated}): {changes}"
