"""Evidence: how often each option succeeded under each key.

It says also how long it took and what it used, as sums in columns. A key says what was
asked, such as `query_type/code`. An option is what was tried, such as a model's name.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import ClassVar, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import EARLIEST, LATEST, MICROSECONDS_PER_DAY
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.settings import QueryType
from theorex_lab.journal.columns import Names, Parts, Table
from theorex_lab.journal.event import Body, Event
from theorex_lab.journal.view import View
from theorex_lab.memory import outcome_lookup as verdicts
from theorex_lab.memory.contract import OPTION_KEY, Design, EvidenceRun, Home
from theorex_lab.memory.observation import TRUST
from theorex_lab.memory.similarity import PartIndex

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# What stands before its keys, and the runs of an event.
Reader = tuple[str, Callable[[Event], Iterable[EvidenceRun]]]

# The chance of error at which `not_worse` holds an option for worse than the best.
WORSE_AT = 0.3
QUERY_TYPES: tuple[str, ...] = get_args(QueryType)
FALLBACK_TYPE = "general"
QUERY_TYPE_PREFIX = "query_type/"
# Before the key of what only a file says: it is shown, and nothing goes by it.
UNTRUSTED_PREFIX = "heard/"
AMOUNTS = ("latency_ms", "tokens", "cost")
# Runs, successes, then of each amount its sum and how many runs stated it.
_WIDTH = 2 + 2 * len(AMOUNTS)
_FIRST_AMOUNT = 2
_AMOUNT_COLUMNS = (2, 4, 6)  # of the sums, where each amount's two begin


class Option(NamedTuple):
    """What was tried, how often it succeeded, and what it takes.

    Attributes:
        name: Any text, such as a model's name.
        n: How many runs there are; fractions are allowed.
        successes: How many of them succeeded, 0 to n; fractions are allowed.
        cost: The mean cost in any unit that is the same for all that are compared, NaN
            where it is not known.
        latency_ms: The mean latency likewise.
    """

    name: str
    n: float
    successes: float
    cost: float = math.nan
    latency_ms: float = math.nan


def not_worse(options: Sequence[Option], level: float = WORSE_AT) -> list[int]:
    """Return the indexes of the options that are not worse than the best.

    They are not distinguishably worse, by their success. The best itself comes first.

    The best has the highest rate; of equals it has more runs, then the first name.
    Another is worse where the difference is so many standard errors wide that chance
    gives it with a probability below `level`, one-sided. Options without a run are left
    out.

    Args:
        options: The options.
        level: 0 holds none for worse, 0.5 every one whose rate is lower.

    Raises:
        InvalidInput: The level is outside 0..0.5, or no option has a run.

    >>> not_worse([Option("a", 20, 17), Option("b", 20, 18), Option("c", 20, 4)])
    [1, 0]
    """
    tried = [index for index, option in enumerate(options) if option.n > 0]
    is_level = 0 <= level <= 0.5
    if not tried or not is_level:
        got = f"{len(options)} options, {len(tried)} with runs, at the level {level!r}"
        raise InvalidInput(f"got {got}; allowed is one or more with runs, at 0 to 0.5")

    def by_rate(index: int) -> tuple[float, float, str]:
        option = options[index]
        return -_rate(option), -option.n, option.name

    best = min(tried, key=by_rate)
    indexes = [best]
    for index in tried:
        if index == best:
            continue
        if _chance(options[index], options[best]) >= level:
            indexes.append(index)
    return indexes


def cheapest_not_worse(options: Sequence[Option], level: float = WORSE_AT) -> int:
    """Return the index of the cheapest option among those that `not_worse` leaves.

    The lowest known cost wins, then the lowest known latency, then success, runs and
    name: what is not known is never taken for cheap or quick.

    Raises:
        InvalidInput: As `not_worse`.

    >>> cheapest_not_worse(
    ...     [
    ...         Option("dear", 50, 45, 9.0),
    ...         Option("cheap", 50, 44, 1.0),
    ...         Option("bad", 50, 5, 0.1),
    ...     ]
    ... )
    1
    """
    indexes = not_worse(options, level)
    return min(indexes, key=lambda index: by_cost_and_speed(options[index]))


def by_cost_and_speed(option: Option) -> tuple[float, float, float, float, str]:
    """Return the sort key of an option.

    It is cost, then latency (unknown ones last), then success, runs and name.
    """
    return (
        _known_first(option.cost),
        _known_first(option.latency_ms),
        -_rate(option),
        -option.n,
        option.name,
    )


def _known_first(amount: float) -> float:
    """Return an amount, infinity where it is not known."""
    return math.inf if math.isnan(amount) else amount


def _rate(option: Option) -> float:
    """Return the share of runs that succeeded."""
    return option.successes / option.n


def _chance(option: Option, best: Option) -> float:
    """Return how probable at least this difference to the best is by chance, 0 to 0.5.

    The errors are those of the rates after a success and a failure more, since a rate
    of 0 or 1 has an error too.
    """
    variance = _variance(option) + _variance(best)
    difference = _rate(best) - _rate(option)
    errors_wide = difference / math.sqrt(variance)
    return 0.5 * math.erfc(errors_wide / math.sqrt(2.0))


def _variance(option: Option) -> float:
    """Return the variance of an option's rate after a success and a failure more."""
    rate = (option.successes + 1.0) / (option.n + 2.0)
    return rate * (1.0 - rate) / option.n


@dataclass(frozen=True)
class Cells:
    """Evidence as columns, a row for each key and option.

    The rows are in the order in which the table got them.

    Attributes:
        keys: The keys.
        options: The options.
        n: How many runs; fractions where they were aged.
        successes: How many of them succeeded, likewise.
        latency_ms: The mean over the runs that stated it, NaN where none did.
        tokens: Likewise.
        cost: Likewise.
        last: The time of the latest run (µs UTC).
    """

    keys: list[str]
    options: list[str]
    n: Floats
    successes: Floats
    latency_ms: Floats
    tokens: Floats
    cost: Floats
    last: Integers

    def __len__(self) -> int:
        return len(self.keys)


class RowRuns(NamedTuple):
    """Runs of some rows of a table.

    Attributes:
        option: The numbers of their options.
        n: How many runs.
        successes: How many of them succeeded.
        last: The time of the latest (µs UTC).
        cost: The mean cost.
    """

    option: Integers
    n: Floats
    successes: Floats
    last: Integers
    cost: Floats


class EvidenceTable(Parts):
    """Sums by key and option.

    >>> table = EvidenceTable()
    >>> table.add("query_type/code", "qwen3-32b", True, at=0, latency_ms=800)
    >>> table.add("query_type/code", "qwen3-32b", False, at=5)
    >>> cells = table.cells("query_type/")
    >>> (
    ...     cells.options,
    ...     cells.n.tolist(),
    ...     cells.successes.tolist(),
    ...     cells.latency_ms.tolist(),
    ... )
    (['qwen3-32b'], [2.0], [1.0], [800.0])
    """

    def __init__(self) -> None:
        self._keys = Names()
        self._options = Names()
        self._cells = Table(key="i4", option="i4", last="i8", sums=("f8", _WIDTH))
        self._rows: dict[tuple[str, str], int] = {}  # in the order of the table's rows
        # By number of a key, its last row.
        self._first = Table(row="i8")
        # By row, the row of the same key before it, -1 without one.
        self._before = Table(row="i8")
        # By prefix; keys under another are empty sets there.
        self._alike: dict[str, PartIndex] = {}

    def __len__(self) -> int:
        return len(self._cells)

    def add(
        self,
        key: str,
        option: str,
        success: bool,
        *,
        at: int,
        latency_ms: float | None = None,
        tokens: float | None = None,
        cost: float | None = None,
    ) -> None:
        """Count one run.

        Args:
            key: What was asked.
            option: What was tried.
            success: Whether it succeeded.
            at: The time of the run (µs UTC).
            latency_ms: How long it took; None or NaN is not stated.
            tokens: What it used, likewise.
            cost: What it cost, likewise.

        Raises:
            InvalidInput: The success is not a truth value, no date has the time, or an
                amount is negative or infinite; then nothing was counted.
        """
        amounts = (latency_ms, tokens, cost)
        _check_run(success, at, amounts)
        row = self._rows.get((key, option))
        if row is None:
            row = self._add_row(key, option)
        last = self._cells["last"]
        last[row] = max(last[row], at)
        sums = self._cells["sums"][row]
        sums[:_FIRST_AMOUNT] += 1.0, success
        for column, amount in zip(_AMOUNT_COLUMNS, amounts, strict=True):
            is_stated = amount is not None and amount == amount  # not NaN
            if is_stated:
                sums[column : column + 2] += amount, 1.0

    def _add_row(self, key: str, option: str) -> int:
        """Add a row for a key and option, and link it to the key's row before it."""
        if not isinstance(key, str) or not isinstance(option, str):
            raise InvalidInput(
                f"got {key!r}, {option!r} as a key and an option; allowed are texts"
            )
        key_number = self._keys.number(key)
        option_number = self._options.number(option)
        row = self._cells.add(key=key_number, option=option_number, last=EARLIEST)
        self._rows[key, option] = row
        if key_number == len(self._first):
            self._first.add(row=-1)
        row_before = self._first["row"][key_number]
        self._before.add(row=row_before)
        self._first.put(key_number, row=row)
        return row

    def row(self, key: str, option: str) -> int | None:
        """Return the row of a key and option, which stays the same.

        It is None where no run of them was counted.
        """
        return self._rows.get((key, option))

    def option_number(self, option: str) -> int:
        """Return the number of an option, -1 where no run of it was counted."""
        number = self._options.find(option)
        return -1 if number is None else number

    def alike(
        self, prefix: str, parts: Collection[str], floor: float
    ) -> tuple[Integers, Floats]:
        """Return the rows of keys like these parts, and how alike they are.

        Args:
            prefix: What stands before the parts of a key, which are joined by `|`.
            parts: The parts.
            floor: The lowest likeness; see `PartIndex`.
        """
        index = self._part_index(prefix)
        keys, likeness = index.alike(parts, floor)
        rows = self._first["row"][keys]
        all_rows = [rows]
        all_likeness = [likeness]
        # Each step goes to the row before of every key that has one.
        while len(rows):
            rows = self._before["row"][rows]
            has_row = rows >= 0
            rows = rows[has_row]
            likeness = likeness[has_row]
            all_rows.append(rows)
            all_likeness.append(likeness)
        return np.concatenate(all_rows), np.concatenate(all_likeness)

    def _part_index(self, prefix: str) -> PartIndex:
        """Return the index over the parts of the keys with a prefix, up to date."""
        index = self._alike.setdefault(prefix, PartIndex())
        for number in range(len(index), len(self._keys)):
            key = self._keys[number]
            parts: list[str] = []
            if key.startswith(prefix):
                parts = key.removeprefix(prefix).split("|")
            index.add(parts)
        return index

    def runs(self, rows: Integers) -> RowRuns:
        """Return the runs of these rows."""
        sums = self._cells["sums"]
        cost_column = _FIRST_AMOUNT + 2 * AMOUNTS.index("cost")
        cost = sums[rows, cost_column]
        n_stated = sums[rows, cost_column + 1]
        with np.errstate(invalid="ignore"):
            mean_cost = cost / n_stated
        return RowRuns(
            option=self._cells["option"][rows],
            n=sums[rows, 0],
            successes=sums[rows, 1],
            last=self._cells["last"][rows],
            cost=mean_cost,
        )

    def correct(self, row: int, successes: int) -> None:
        """Count so many successes more (below 0: fewer) among the runs of a row."""
        self._cells["sums"][row, 1] += successes

    def cells(
        self,
        prefix: str = "",
        *,
        now: int | None = None,
        half_life_days: float | None = None,
    ) -> Cells:
        """Return the evidence under keys that begin with `prefix`.

        It is as it weighs at `now`.

        Args:
            prefix: The beginning of the keys.
            now: A time (µs UTC). A run later than `now` has no age.
            half_life_days: n and successes of a cell count half as much for each
                half-life since its last run; rates and means stay. None: they do not
                age.

        Raises:
            InvalidInput: The half-life is not a number above 0, or has no `now`.
        """
        keys: list[str] = []
        options: list[str] = []
        rows: list[int] = []
        # Keys stand in the order of their rows, one each.
        for (key, option), row in self._rows.items():
            if key.startswith(prefix):
                keys.append(key)
                options.append(option)
                rows.append(row)
        sums = self._cells["sums"][rows]
        last = self._cells["last"][rows]
        amount_sums = sums[:, _FIRST_AMOUNT::2]
        n_stated = sums[:, _FIRST_AMOUNT + 1 :: 2]
        with np.errstate(invalid="ignore"):
            means = amount_sums / n_stated
        weights = _weight(last[:, None], now, half_life_days)
        counts = sums[:, :_FIRST_AMOUNT] * weights
        return Cells(
            keys=keys,
            options=options,
            n=counts[:, 0],
            successes=counts[:, 1],
            latency_ms=means[:, 0],
            tokens=means[:, 1],
            cost=means[:, 2],
            last=last,
        )

    def _after_load(self) -> None:
        keys = [*self._keys]
        options = [*self._options]
        key_numbers = self._cells["key"].tolist()
        option_numbers = self._cells["option"].tolist()
        self._rows = {}
        pairs = zip(key_numbers, option_numbers, strict=True)
        for row, (key_number, option_number) in enumerate(pairs):
            key = keys[key_number]
            option = options[option_number]
            self._rows[key, option] = row
        self._alike = {}


def _check_run(success: bool, at: int, amounts: Iterable[float | None]) -> None:
    """Raise InvalidInput for a run that cannot be counted.

    Args:
        success: Whether it succeeded.
        at: Its time (µs UTC).
        amounts: What it took; None or NaN is not stated.
    """
    if success not in (True, False) or not EARLIEST <= at <= LATEST:
        raise InvalidInput(
            f"got success {success!r} at {at!r}; allowed is True or False, in"
            " microseconds"
        )
    for amount in amounts:
        if amount is None:
            continue
        if amount < 0 or amount == math.inf:
            raise InvalidInput(
                f"got {amount!r} as {', '.join(AMOUNTS)}; allowed are finite"
                " numbers from 0, None"
            )


def expected_success(
    runs: RowRuns, now: int, half_life_days: float | None
) -> tuple[Floats, Floats, Floats]:
    """Return what each row's success counts for.

    The weight is 1 without a half-life, and for what lies ahead of `now` (µs UTC).

    Returns:
        For each row the weight of its age, .5^(age / half-life); (successes + 1) /
        (runs + 2); and their product.
    """
    weight = _weight(runs.last, now, half_life_days) * np.ones(len(runs.n))
    rate = (runs.successes + 1.0) / (runs.n + 2.0)
    return weight, rate, rate * weight


def success_of(home: Home, options: Iterable[str]) -> dict[str, float]:
    """Return (successes + 1) / (runs + 2) of the options, over all runs.

    They are the options of which a design knows how they did.

    What is known of an option does not fade here: a fix that failed is no better for
    having been forgotten.
    """
    rates: dict[str, float] = {}
    keys = []
    for design in home.designs:
        if design.evidence:
            keys.append(f"{design.name}/{OPTION_KEY}")
    with home.views.reading(evidence_view(home)) as view:
        if not len(view.table):
            return rates
        for option in options:
            rows = _rows_of(view.table, keys, option)
            if not rows:
                continue
            runs = view.table.runs(np.array(rows, np.int64))
            n_successes = runs.successes.sum() + 1.0
            rate = n_successes / (runs.n.sum() + 2.0)
            rates[option] = float(rate)
    return rates


def _rows_of(table: EvidenceTable, keys: Iterable[str], option: str) -> list[int]:
    """Return the rows of an option under those of these keys that have one."""
    rows = []
    for key in keys:
        row = table.row(key, option)
        if row is not None:
            rows.append(row)
    return rows


def is_untrusted(body: Body) -> bool:
    """Return whether a call is known only from a file or a tool.

    Anybody may have made such a file up.
    """
    source = body.get("source", "model")
    return TRUST[source] < TRUST["model"]


class EvidenceView(View):
    """Every attempt of every trace that was not lost, one run each.

    A run is counted under its query type and model.

    An attempt without any answer says something about the endpoint, not about the model,
    and is left out. Untrusted attempts (`is_untrusted`) are counted separately, under keys
    that begin with `UNTRUSTED_PREFIX`.

    A run succeeds where the model answered, unless an outcome says afterwards that it
    went wrong: the one that it was called for, or one that was recorded of it.
    """

    name = "evidence"
    code = 7
    kinds = ("trace_ended", *verdicts.KINDS)
    # By event kind: what a design reads from such an event.
    readers: ClassVar[Mapping[str, Sequence[Reader]]] = {}

    def __init__(self) -> None:
        super().__init__()
        self.table = EvidenceTable()
        self.verdicts = verdicts.Verdicts()

    def apply(self, events: Sequence[Event]) -> None:
        """Count how calls went, and what outcomes say of them."""
        for event in events:
            self._count_runs(event)
            if event.kind == "trace_ended":
                self._count_attempts(event)
            elif event.kind in verdicts.KINDS:
                self._apply_verdict(event)

    def _count_runs(self, event: Event) -> None:
        """Count the runs that designs read from an event."""
        for prefix, runs in self.readers.get(event.kind, ()):
            for key, option, success, *amounts in runs(event):
                stated = dict(zip(AMOUNTS, amounts, strict=True))
                self.table.add(prefix + key, option, success, at=event.at, **stated)

    def _apply_verdict(self, event: Event) -> None:
        """Correct the runs of which an event says that they went otherwise."""
        verdict = verdicts.verdict_of(event)
        if not verdict:
            return
        for row, change in self.verdicts.say(*verdict):
            self.table.correct(row, change)
        if event.kind == "outcome" and "answer" in event.body:
            answer = event.body["answer"]
            self._judge(event.id, _key(answer), answer["model"], answer["at"])

    def _count_attempts(self, event: Event) -> None:
        """Count the attempts of a trace that got an answer."""
        body = event.body
        if body["lost"]:
            return
        key = _key(body)
        outcome_id = body.get("outcome_id")
        for attempt in body["attempts"]:
            if attempt.get("unavailable"):
                continue
            model = attempt["model"]
            stated = {name: attempt[name] for name in AMOUNTS}
            self.table.add(key, model, attempt["success"], at=event.at, **stated)
            if outcome_id and attempt["success"]:
                self._judge(outcome_id, key, model, event.at)

    def _judge(self, outcome_id: str, key: str, model: str, at: int) -> None:
        """Let an outcome say how an answer went that was counted as good.

        Args:
            outcome_id: The id of the outcome.
            key: The key of the answer.
            model: The model of the answer.
            at: When the answer was given (µs UTC).
        """
        row = self.table.row(key, model)
        if row is not None and not self.verdicts.answer(outcome_id, cell=row, at=at):
            self.table.correct(row, -1)


def evidence_view(home: Home) -> type[EvidenceView]:
    """Return the view of the evidence of a home.

    It is evidence of models' answers, and of whatever else its designs read from their
    events.
    """
    designs = [design for design in home.designs if design.evidence]
    designs.sort(key=lambda design: design.name)
    return _with_readers(tuple(designs))


@cache
def _with_readers(designs: tuple[Design, ...]) -> type[EvidenceView]:
    """Return the view that these designs add to.

    It is the same class for the same designs, so that views are found by it.
    """
    if not designs:
        return EvidenceView
    readers: dict[str, list[Reader]] = {}
    reads = [*EvidenceView.kinds]
    for design in designs:
        prefix = f"{design.name}/"
        for kind, runs in design.evidence.items():
            readers_of_kind = readers.setdefault(kind, [])
            readers_of_kind.append((prefix, runs))
            reads.append(f"{design.name}:{kind}")
    kinds = tuple(dict.fromkeys([*EvidenceView.kinds, *readers]))
    return type(
        "DesignEvidence",
        (EvidenceView,),
        {"kinds": kinds, "readers": readers, "reads": tuple(reads)},
    )


def counted_type(query_type: str) -> str:
    """Return the query type under which runs count.

    It is `general` where the query type is not one of the seven.

    >>> counted_type("math"), counted_type("weather")
    ('math', 'general')
    """
    return query_type if query_type in QUERY_TYPES else FALLBACK_TYPE


def _key(body: Body) -> str:
    """Return the key under which the runs of a call are counted.

    Args:
        body: The body of the call's end, or what an outcome says of its answer.
    """
    query_type = str(body["query_type"])
    key = QUERY_TYPE_PREFIX + counted_type(query_type)
    if is_untrusted(body):
        return UNTRUSTED_PREFIX + key
    return key


def _weight(
    last: Integers, now: int | None, half_life_days: float | None
) -> Floats | float:
    """Return .5^(age / half-life), 1 without a half-life."""
    if half_life_days is None:
        return 1.0
    if now is None or not 0 < half_life_days < math.inf:
        got = f"half_life_days = {half_life_days!r} at now = {now!r}"
        raise InvalidInput(
            f"got {got}; allowed is a number of days above 0, with now in µs"
        )
    # Few steps, since a route takes this at every call.
    negative_age = np.minimum(last - now, 0)
    half_life = MICROSECONDS_PER_DAY * half_life_days
    return np.exp2(negative_age / half_life)
