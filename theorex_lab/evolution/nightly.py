"""One night: failures reviewed, outcomes acted on, the policy gated, tiers set anew, and the next context rendered.

Each step leaves whole transactions and may be repeated, so that a night that was cut off is made good by running it
again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from theorex_lab.designs.theorex import lifecycle
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.refine import refine
from theorex_lab.designs.theorex.short_term import ShortTerm
from theorex_lab.errors import StorageError, TheorexError
from theorex_lab.evolution.cases import TraceReviewRecord
from theorex_lab.evolution.gate import Gated, gate
from theorex_lab.evolution.outcomes import Outcomes
from theorex_lab.evolution.what_failed import what_failed
from theorex_lab.home import Home
from theorex_lab.ids import SCANNER, check_agent
from theorex_lab.journal.event import new_event
from theorex_lab.journal.files import exclusive
from theorex_lab.memory.context_file import CONTEXT_FILE

T = TypeVar("T")

LOCK_FILE = "nightly.lock"
_MICROSECONDS = 1_000_000
_PROBLEMS_TOLD = 3
# Reviews the failures of an agent, or of all where it is None.
ReviewFailures = Callable[[str | None], Sequence[TraceReviewRecord]]


class Step(NamedTuple):
    """How one step of a night ended: `detail` says what it did, or what was wrong."""

    name: str
    ok: bool
    seconds: float
    detail: str


@dataclass(frozen=True)
class NightlyReport:
    """What a night did. ran: False where another process is at it, and then nothing was done."""

    ran: bool
    steps: list[Step]

    @property
    def ok(self) -> bool:
        """Whether every step ended well."""
        return all(step.ok for step in self.steps)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON holds it."""
        return {"ran": self.ran, "ok": self.ok, "steps": [step._asdict() for step in self.steps]}


def nightly(home: Home, *, review: ReviewFailures, agent: str | None = None) -> NightlyReport:
    """Run the steps for every agent, or for one; a step that fails is reported and does not stop those after it.

    Repeating it at once changes nothing. The report is appended, unless nothing has happened since the last one.
    Raises InvalidInput for an agent outside the rule, StorageError where the home or the report cannot be written.
    """
    night = _Night(home, review, None if agent is None else check_agent(agent))
    try:
        with exclusive(home.folder / LOCK_FILE, wait=False) as held:
            return night.run() if held else NightlyReport(False, [])
    except OSError as error:
        raise StorageError(
            f"cannot write in {home.folder}: {error.strerror}; make it writable, or choose a home with --home"
        ) from error


class _Night:
    """The steps, and what they share."""

    def __init__(self, home: Home, review: ReviewFailures, agent: str | None) -> None:
        self.home = home
        self.review_failures, self.agent = review, agent

    def run(self) -> NightlyReport:
        steps: dict[str, Callable[[], str]] = {
            "review": self.review,
            "refine": self.refine,
            "gate": self.gate,
            "scan": self.scan,
            "graduate": self.graduate,
            "promote": self.promote,
            "boot-inject": self.boot_inject,
        }
        before = self.home.journal.last_seq()
        report = NightlyReport(True, [self._isolated(name, step) for name, step in steps.items()])
        if not (report.ok and self._as_the_last_night_left_it(before)):
            body = {"steps": report.to_dict()["steps"]}
            event = new_event("nightly", body, agent=SCANNER, at=self.home.clock.now())
            self.home.journal.append([event], allow_future=True)
        return report

    def review(self) -> str:
        records = self.review_failures(self.agent)
        written = sum(each.written_to_axon for each in records)
        problems = Counter(each.problem for each in records if each.problem)
        waiting = "".join(f"; {n} wait on: {problem}" for problem, n in problems.most_common(_PROBLEMS_TOLD))
        return f"{written} fixes written{waiting}"

    def refine(self) -> str:
        done = self._for_each(lambda agent: refine(self.home, agent=agent))
        return f"{sum(len(each.observations) for each in done)} observations written"

    def gate(self) -> str:
        return "; ".join(map(told, gate(self.home)))

    def graduate(self) -> str:
        return f"{sum(map(len, self._for_each(self._graduate)))} concepts graduated"

    def _graduate(self, agent: str) -> list[str]:
        labels = lifecycle.graduate(self.home, agent=agent)
        if labels:  # what is new has its tier tonight, so that a second night finds nothing to do
            lifecycle.scan(self.home, agents=[agent])
        return labels

    def scan(self) -> str:
        agents = None if self.agent is None else [self.agent]
        found = lifecycle.scan(self.home, agents=agents)
        return f"{found.changed} concepts changed tier, {found.slept} fell asleep, {found.links_dropped} links dropped"

    def promote(self) -> str:
        done = self._for_each(lambda agent: lifecycle.promote(self.home, agent=agent))
        return f"{sum(each.concepts for each in done)} concepts, {sum(each.links for each in done)} links promoted"

    def boot_inject(self) -> str:
        file = self.home.folder / CONTEXT_FILE
        context = lifecycle.boot_inject(self.home, file, failed=what_failed)
        return f"{context.concepts} concepts and {context.fixes} fixes in {context.tokens} tokens"

    def _isolated(self, name: str, step: Callable[[], str]) -> Step:
        started = self.home.clock.now()
        try:
            ok, detail = True, step()
        except TheorexError as error:
            ok, detail = False, str(error)
        return Step(name, ok, (self.home.clock.now() - started) / _MICROSECONDS, detail)

    def _for_each(self, act: Callable[[str], T]) -> list[T]:
        """What the act gives for each agent; those that failed are named together when all had their turn."""
        done, problems = [], []
        for agent in self._agents():
            try:
                done.append(act(agent))
            except TheorexError as error:
                problems.append(f"{agent}: {error}")
        if problems:
            raise TheorexError("; ".join(problems))
        return done

    def _agents(self) -> list[str]:
        """Who has written, decided, or had a session kept."""
        if self.agent is not None:
            return [self.agent]
        names: dict[str, None] = {}
        for view in (self.home.views.get(Axon), self.home.views.get(Outcomes), self.home.views.get(ShortTerm)):
            with view.lock:
                names |= dict.fromkeys(view.agents)
        return list(names)

    def _as_the_last_night_left_it(self, seq: int) -> bool:
        """Whether nothing was appended since `seq`, which is where the last night ended."""
        journal = self.home.journal
        last = journal.read(seqs=[journal.last_seq()])
        return bool(last) and last[0].seq == seq and last[0].kind == "nightly"


def told(said: Gated) -> str:
    """What the gate said of one part, for people."""
    if said.before is None or said.after is None:
        return f"{said.part}: {said.decision}, {said.n} records are too few"
    scores = f"{said.before:.3f} now, {said.after:.3f} proposed, on {said.n} records"
    repeated = ", judged before" if said.repeated else ""
    changes = ", ".join(f"{key} {value}" for key, value in said.proposed.items()) or "nothing better found"
    return f"{said.part}: {said.decision} ({scores}{repeated}): {changes}"
