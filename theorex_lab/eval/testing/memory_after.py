"""A memory that has lived a log, and what a test may demand of it.

>>> with memory_under_test("bm25") as memory:
...     after = memory.after(["The port is 8080.", "We deploy on Fridays."])
...     after.recalls("the port is 8080", asked="Which port is it?", within=50)
...     after.never("JWT secret")
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.datasets.needs_rows import LogNeeds, ProjectNeeds, SessionNeeds
from theorex_lab.eval.metrics.needs import (
    ALL_COVERED,
    ContextTexts,
    mean_interval,
    score_context,
)
from theorex_lab.eval.replay.baselines import Memory, ReplayAdapterMaker, names_of
from theorex_lab.eval.replay.trials import (
    INJECT,
    RETRIEVE,
    GuardedMemory,
    MemoryFailure,
    Plan,
    checked,
    text_of,
    try_out,
)
from theorex_lab.eval.testing.figures import (
    check_against,
    figures_of,
    read_figures,
    write_figures,
)
from theorex_lab.eval.testing.given_log import GivenLog, log_given
from theorex_lab.eval.testing.says import holds, line_says
from theorex_lab.memory.contract import Item

# What a test asks of a memory where it names no budget, in tokens.
USUAL_BUDGET = 500
# The budget within which nothing forbidden may come back.
_WHOLE_BUDGET = 8_000
_MOST_SHOWN_LINES = 8
_LINE_CHARACTERS = 160

Needs = LogNeeds | Sequence[SessionNeeds] | Sequence[str]


class MemoryFailedTest(AssertionError):
    """A memory does not do what a test demands; the text says what it gave."""


class LivedMemory:
    """A memory that took in some events, asked at a time.

    Attributes:
        name: The name of the memory.
        log: The log whose events it takes in.
        now: When it is asked, in µs UTC.
    """

    def __init__(self, name: str, memory: Memory, log: EvalLog) -> None:
        """Make a fresh memory; it has taken in nothing yet.

        Raises:
            MemoryFailedTest: The memory cannot be made.
        """
        self.name = name
        self.log = log
        self.now = log.events[0].at if log.events else 0
        self._n_observed = 0
        self._observed_ids: set[str] = set()
        try:
            self._guarded = GuardedMemory(ReplayAdapterMaker(memory))
        except MemoryFailure as error:
            raise MemoryFailedTest(f"the memory {name} failed: {error}") from error

    def live(self, until: int) -> None:
        """Let it take in what happened up to a time, with maintenance every day.

        Args:
            until: The time, in µs UTC; later than that of the last call.

        Raises:
            MemoryFailedTest: The memory raises.
        """
        while self.now + MICROSECONDS_PER_DAY < until:
            self._take_in(self.now + MICROSECONDS_PER_DAY)
            self.maintain()
        self._take_in(until)

    def _take_in(self, until: int) -> None:
        """Let it observe what happened up to a time."""
        events = self.log.events
        first = self._n_observed
        end = first
        while end < len(events) and events[end].at <= until:
            end += 1
        self._n_observed = end
        self.now = until
        if end > first:
            new_events = events[first:end]
            self._observed_ids.update(event.id for event in new_events)
            self._call("observe", new_events)

    def maintain(self) -> None:
        """Run its maintenance now.

        Raises:
            MemoryFailedTest: The memory raises.
        """
        self._call("consolidate", self.now)

    def rest(self, days: int) -> None:
        """Let days pass without events, with a maintenance on each.

        Args:
            days: Their number.

        Raises:
            MemoryFailedTest: The memory raises.
        """
        for _ in range(days):
            self.now += MICROSECONDS_PER_DAY
            self.maintain()

    def at_start(self, within: int = USUAL_BUDGET) -> Sequence[Item]:
        """Return what a session that starts now is given.

        Args:
            within: The budget, in tokens.

        Raises:
            MemoryFailedTest: The memory raises, or gives what cannot be right.
        """
        return self._items(INJECT, within, self.now, within)

    def answer(self, question: str, within: int = USUAL_BUDGET) -> Sequence[Item]:
        """Return what a question gets now, best first.

        Args:
            question: Its text.
            within: The budget, in tokens.

        Raises:
            MemoryFailedTest: The memory raises, or gives what cannot be right.
        """
        return self._items(RETRIEVE, within, question, self.now, within)

    def _items(self, mode: str, within: int, *arguments: Any) -> Sequence[Item]:
        """Return items that may count, whatever the memory gave."""
        try:
            items = self._guarded.items(mode, *arguments)
            return checked(items, self._observed_ids, within)
        except MemoryFailure as error:
            raise MemoryFailedTest(f"the memory {self.name} failed: {error}") from error

    def _call(self, method: str, *arguments: Any) -> None:
        """Call a method of the memory."""
        try:
            self._guarded.call(method, *arguments)
        except MemoryFailure as error:
            raise MemoryFailedTest(f"the memory {self.name} failed: {error}") from error

    def close(self) -> None:
        """Close the memory.

        Raises:
            MemoryFailure: It cannot be closed.
        """
        self._guarded.close()


class MemoryAfter(LivedMemory):
    """A memory at the end of a log, with what a test may demand of it."""

    def __init__(
        self, name: str, memory: Memory, log: EvalLog, *, update: bool = False
    ) -> None:
        """Replay the whole log to a fresh memory.

        With `update` every file of earlier figures is replaced.

        Raises:
            MemoryFailedTest: The memory cannot be made, or raises.
            InvalidInput: The log has no events.
        """
        if not log.events:
            raise InvalidInput(
                f"got the log {log.name!r} without events; allowed is one with some"
            )
        super().__init__(name, memory, log)
        self._memory = memory
        self._update = update
        self.live(log.events[-1].at)
        self.now += 1

    def recalls(
        self,
        statement: str,
        *,
        asked: str | None = None,
        within: int = USUAL_BUDGET,
        at_start: bool = False,
    ) -> None:
        """Demand that a line says a statement.

        See `eval.testing.says` for when a line says it.

        Args:
            statement: What must be recalled, in a few words.
            asked: The question that is asked; None asks the statement itself.
            within: The budget, in tokens.
            at_start: Whether what a session starts with must say it, unasked.

        Raises:
            MemoryFailedTest: No line says it; the text shows what was given.
        """
        _check_text("statement", statement)
        if at_start:
            items = self.at_start(within)
            occasion = "at the start"
        else:
            question = statement if asked is None else asked
            items = self.answer(question, within)
            occasion = f"asked {question!r}"
        if _line_that_says(items, statement) is None:
            raise MemoryFailedTest(
                f"got from {self.name}, {occasion}, no line within {within} tokens that"
                f" says {statement!r}; it gave:\n{_shown(items)}"
            )

    def never(self, part: str, *, asked: Sequence[str] = ()) -> None:
        """Demand that a text never comes back.

        Neither what a session starts with may hold it, nor what is found for it or for
        further questions.

        Args:
            part: The text, whatever its case and white space.
            asked: Further questions that may bring it.

        Raises:
            MemoryFailedTest: It comes back; the text shows the line.
        """
        _check_text("part", part)
        answers = {"at the start": self.at_start(_WHOLE_BUDGET)}
        for question in (part, *asked):
            answers[f"asked {question!r}"] = self.answer(question, _WHOLE_BUDGET)
        for occasion, items in answers.items():
            for item in items:
                if holds(item.text, part):
                    raise MemoryFailedTest(
                        f"got from {self.name}, {occasion}, {part!r}, which must never"
                        f" come back; the line is:\n{_shown([item])}"
                    )

    def prefers(
        self, statement: str, over: str, *, asked: str, within: int = USUAL_BUDGET
    ) -> None:
        """Demand that a statement comes back before another, which it replaces.

        The other need not come back at all.

        Args:
            statement: What holds now.
            over: What held before.
            asked: The question.
            within: The budget, in tokens.

        Raises:
            MemoryFailedTest: The statement does not come back, or after the other.
        """
        self.recalls(statement, asked=asked, within=within)
        items = self.answer(asked, within)
        newer = _line_that_says(items, statement)
        older = _line_that_says(items, over)
        if newer is not None and older is not None and older < newer:
            raise MemoryFailedTest(
                f"got from {self.name}, asked {asked!r}, {over!r} before {statement!r};"
                f" it gave:\n{_shown(items)}"
            )

    def covers(
        self,
        needs: Needs | None = None,
        *,
        at_least: float = 1.0,
        within: int = USUAL_BUDGET,
    ) -> float:
        """Demand that it gives a share of what sessions needed to know.

        Needs of sessions are asked for when those sessions begin, of a fresh memory
        that has lived the log up to there: at the start, and with the first prompt.

        Args:
            needs: The sessions with their needs, or statements that must all come back
                when they are asked for; None takes the needs that the log brings.
            at_least: The share, from 0 to 1.
            within: The budget of each answer, in tokens.

        Returns:
            The share that is covered.

        Raises:
            MemoryFailedTest: The share is lower.
            InvalidInput: The log brings no needs, or there are none.
        """
        wanted = self.log.needs if needs is None else needs
        if not wanted:
            raise InvalidInput(
                f"got no needs, and the log {self.log.name!r} brings none; allowed are"
                " statements, or sessions with their needs"
            )
        if isinstance(wanted, LogNeeds):
            share, missing = self._covered_sessions(wanted, within)
        else:
            share, missing = self._covered_rows(wanted, within)
        if share < at_least:
            raise MemoryFailedTest(
                f"got from {self.name} {share:.3f} of what was needed within {within}"
                f" tokens; allowed is {at_least:g} or more; missing are:\n"
                + "\n".join(missing[:_MOST_SHOWN_LINES])
            )
        return share

    def _covered_rows(
        self, rows: Sequence[SessionNeeds] | Sequence[str], within: int
    ) -> tuple[float, list[str]]:
        """Return the covered share of sessions' needs, or of statements."""
        sessions = [row for row in rows if isinstance(row, SessionNeeds)]
        if len(sessions) == len(rows):
            return self._covered_sessions(LogNeeds(sessions, {}), within)
        missing: list[str] = []
        for statement in rows:
            if not isinstance(statement, str):
                raise InvalidInput(
                    f"got {statement!r:.80} among statements; allowed are statements"
                    " alone, or sessions alone"
                )
            _check_text("need", statement)
            if _line_that_says(self.answer(statement, within), statement) is None:
                missing.append(f"  {statement}")
        return 1 - len(missing) / len(rows), missing

    def _covered_sessions(
        self, needs: LogNeeds, within: int
    ) -> tuple[float, list[str]]:
        """Return the mean covered share of sessions, and what is missing."""
        project = ProjectNeeds(
            self.log.name, needs.sessions, self.log, needs.touched_files
        )
        shares: list[float] = []
        missing: list[str] = []
        lived = LivedMemory(self.name, self._memory, self.log)
        try:
            for row in sorted(needs.sessions, key=lambda session: session.start):
                lived.live(row.start - 1)
                context = _context(lived, project.first_prompt(row.session), within)
                score = score_context(context, row.needs, within)
                shares.append(score.figures[ALL_COVERED])
                for needed in score.all_needs:
                    if not needed.line:
                        missing.append(f"  {needed.need.need}")
        finally:
            lived.close()
        return mean_interval(shares).value, missing

    def keeps_up(
        self,
        baseline: str | Path,
        *,
        drop: float = 0.05,
        budgets: Sequence[int] = (150, USUAL_BUDGET),
        update: bool = False,
    ) -> Mapping[str, float]:
        """Demand that no figure of the log falls below a file of earlier figures.

        The figures are those of a comparison: what sessions' starts and questions of
        the log get within each budget. The first time there is no such file: the test
        fails and says how to write it.

        Args:
            baseline: The file, which belongs beside the test, under version control.
            drop: By how much a figure may fall, from 0 to 1.
            budgets: The budgets, in tokens.
            update: Whether the file is replaced. It is so too where pytest is run
                with `--theorex-update`.

        Returns:
            The figures of this run.

        Raises:
            MemoryFailedTest: A figure fell further, or a figure is gone.
            InvalidInput: There is no such file, or it is damaged, or the log has no
                sessions or questions that could be scored.
        """
        trial = try_out(
            self.log,
            self.name,
            ReplayAdapterMaker(self._memory),
            Plan(budgets=tuple(budgets)),
        )
        if trial.problems:
            raise MemoryFailedTest(
                f"the memory {self.name} failed: {'; '.join(trial.problems)}"
            )
        figures = figures_of(trial)
        if update or self._update:
            write_figures(Path(baseline), figures)
            return figures
        fallen = check_against(read_figures(Path(baseline)), figures, drop=drop)
        if fallen:
            raise MemoryFailedTest(
                f"got from {self.name} figures below those of {baseline} by more than"
                f" {drop:g}:\n" + "\n".join(fallen)
            )
        return figures


class MemoryUnderTest:
    """Makes a fresh memory for each log that a test replays to it.

    Attributes:
        name: The name of the memory.
        update: Whether files of earlier figures are replaced.
    """

    def __init__(self, memory: Memory, *, update: bool = False) -> None:
        """Name the memory.

        Args:
            memory: As `compare` takes it: the name of a design or baseline,
                `module:Name`, a `Design`, or a function that makes a `MemoryDesign`.
            update: Whether files of earlier figures are replaced.

        Raises:
            InvalidInput: The name is unknown.
        """
        ((name, made),) = names_of([memory]).items()
        self.name = name
        self.update = update
        self._memory = made
        self._opened: list[MemoryAfter] = []

    def after(self, log: GivenLog) -> MemoryAfter:
        """Return a fresh memory that has lived a log.

        Args:
            log: An `EvalLog`, the name or path of a log, a list of events, or a list of
                what a user said.

        Raises:
            InvalidInput: It is nothing of these, or has no events.
            MemoryFailedTest: The memory cannot be made, or raises.
        """
        lived = MemoryAfter(self.name, self._memory, log_given(log), update=self.update)
        self._opened.append(lived)
        return lived

    def close(self) -> None:
        """Close the memories that were made; one that fails to close is left."""
        for lived in self._opened:
            with suppress(MemoryFailure):
                lived.close()
        self._opened.clear()


@contextmanager
def memory_under_test(
    memory: Memory, *, update: bool = False
) -> Iterator[MemoryUnderTest]:
    """Give a memory that tests can replay logs to, and close what it made.

    Args:
        memory: As `compare` takes it.
        update: Whether files of earlier figures are replaced.

    Raises:
        InvalidInput: The name is unknown.
    """
    tested = MemoryUnderTest(memory, update=update)
    try:
        yield tested
    finally:
        tested.close()


def _context(lived: LivedMemory, prompt: str, within: int) -> ContextTexts:
    """Return what a session that begins now is given."""
    start = text_of(lived.at_start(within))
    asked = text_of(lived.answer(prompt, within)) if prompt.strip() else ""
    return ContextTexts(start, asked)


def _line_that_says(items: Sequence[Item], statement: str) -> int | None:
    """Return the number of the first line that says a statement, None without one."""
    lines = text_of(items).splitlines()
    for number, line in enumerate(lines):
        if line_says(line, statement):
            return number
    return None


def _shown(items: Sequence[Item]) -> str:
    """Return what was given, as a failure shows it."""
    lines = text_of(items).splitlines()
    if not lines:
        return "  (nothing)"
    shown = [f"  {line[:_LINE_CHARACTERS]}" for line in lines[:_MOST_SHOWN_LINES]]
    if len(lines) > _MOST_SHOWN_LINES:
        shown.append(f"  … and {len(lines) - _MOST_SHOWN_LINES} more lines")
    return "\n".join(shown)


def _check_text(name: str, text: object) -> None:
    """Raise InvalidInput unless this is a text that says something."""
    if not (isinstance(text, str) and text.strip()):
        raise InvalidInput(f"got the {name} {text!r}; allowed is a text of some words")
