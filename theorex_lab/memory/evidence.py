"""Evidence: how often each option succeeded under each key, how long it took and what
it used, as sums in columns.

A key says what was asked, such as `query_type/code`; an option is what was tried, such
as a model's name.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import EARLIEST, LATEST, MICROSECONDS_PER_DAY
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.settings import WORSE_AT, QueryType
from theorex_lab.journal.columns import Names, Parts, Table
from theorex_lab.journal.event import Body, Event
from theorex_lab.journal.view import View
from theorex_lab.memory import outcome_lookup as verdicts
from theorex_lab.memory.contract import OPTION_KEY, Design, EvidenceRun, Home
from theorex_lab.memory.observation import TRUST
from theorex_lab.memory.similarity import PartIndex

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Reader = tuple[
    str, Callable[[Event], Iterable[EvidenceRun]]
]  # what stands before its keys, and the runs of an event

QUERY_TYPES: tuple[str, ...] = get_args(QueryType)
FALLBACK_TYPE = "general"
QUERY_TYPE_PREFIX = "query_type/"
# before the key of what only a file says: it is shown, and nothing goes by it
HEARD_PREFIX = "heard/"
AMOUNTS = ("latency_ms", "tokens", "cost")
_WIDTH = 2 + 2 * len(
    AMOUNTS
)  # runs, successes, then of each amount its sum and how many runs stated it
_FIRST_AMOUNT = 2


class Option(NamedTuple):
    """What was tried, how often it succeeded, and what it takes.

    name: any text, such as a model's or a gene's.  n, successes: 0 <= successes <= n,
    fractions allowed.  cost, latency_ms: means in any unit that is the same for all
    that are compared, NaN where they are not known.
    """

    name: str
    n: float
    successes: float
    cost: float = math.nan
    latency_ms: float = math.nan


def not_worse(options: Sequence[Option], level: float = WORSE_AT) -> list[int]:
    """The places of the options whose success is not distinguishably below the best
    rate, the best itself first.

    The best is that of the highest rate; of equals the one with more runs, then by
    name. Another is worse where the difference is so many standard errors wide that
    chance gives it with a probability below `level`, one-sided: 0 holds none for worse,
    0.5 every one whose rate is lower. Options without a run are left out. Raises
    InvalidInput for a level outside 0..0.5 and where no option has a run.

    >>> not_worse([Option("a", 20, 17), Option("b", 20, 18), Option("c", 20, 4)])
    [1, 0]
    """
    tried = [place for place, option in enumerate(options) if option.n > 0]
    if not tried or not 0 <= level <= 0.5:
        got = f"{len(options)} options, {len(tried)} with runs, at the level {level!r}"
        raise InvalidInput(f"got {got}; allowed is one or more with runs, at 0 to 0.5")
    first = min(
        tried,
        key=lambda place: (
            -_rate(options[place]),
            -options[place].n,
            options[place].name,
        ),
    )
    others = (
        place
        for place in tried
        if place != first and _chance(options[place], options[first]) >= level
    )
    return [first, *others]


def cheapest_not_worse(options: Sequence[Option], level: float = WORSE_AT) -> int:
    """The place of the cheapest option among those that `not_worse` leaves, which
    raises what this does.

    The lowest known cost wins, then the lowest known latency, then success, runs and
    name: what is not known is never taken for cheap or quick.

    >>> cheapest_not_worse(
    ...     [
    ...         Option("dear", 50, 45, 9.0),
    ...         Option("cheap", 50, 44, 1.0),
    ...         Option("bad", 50, 5, 0.1),
    ...     ]
    ... )
    1
    """
    return min(
        not_worse(options, level), key=lambda place: by_cost_and_speed(options[place])
    )


def by_cost_and_speed(option: Option) -> tuple[float, float, float, float, str]:
    """The sort key: cost, then latency (unknown ones last), then success, runs and
    name.
    """
    cost, latency_ms = (
        math.inf if math.isnan(amount) else amount
        for amount in (option.cost, option.latency_ms)
    )
    return cost, latency_ms, -_rate(option), -option.n, option.name


def _rate(option: Option) -> float:
    return option.successes / option.n


def _chance(option: Option, best: Option) -> float:
    """How probable at least this difference to the best is by chance, 0 to 0.5; the
    errors are those of the rates after a success and a failure more, since a rate of 0
    or 1 has an error too.
    """
    rates = [(side, (side.successes + 1.0) / (side.n + 2.0)) for side in (option, best)]
    error = math.sqrt(sum(rate * (1.0 - rate) / side.n for side, rate in rates))
    return 0.5 * math.erfc((_rate(best) - _rate(option)) / error / math.sqrt(2.0))


@dataclass(frozen=True)
class Cells:
    """Evidence as columns, one row a key and option, in the order in which the table
    took them in.

    n, successes: runs and how many of them succeeded, fractions where they were aged.
    latency_ms, tokens, cost: means over the runs that stated them, NaN where none did.
    last: time of the latest run, µs UTC.
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
    """Runs of some rows of a table: numbers of their options, runs and successes, the
    time of the latest (µs), mean cost.
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
        self._first = Table(row="i8")  # by number of a key, its last row
        self._before = Table(
            row="i8"
        )  # by row, the row of the same key before it, -1 without one
        self._alike: dict[
            str, PartIndex
        ] = {}  # by prefix; keys under another are empty sets there

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
        """Count one run. `at`: µs UTC. None or NaN: not stated.

        Raises InvalidInput for a success that is not a truth value, a time that no date
        has, a negative or infinite amount; then nothing was counted.
        """
        if success not in (True, False) or not EARLIEST <= at <= LATEST:
            raise InvalidInput(
                f"got success {success!r} at {at!r}; allowed is True or False, in"
                " microseconds"
            )
        for amount in (latency_ms, tokens, cost):
            if amount is not None and (amount < 0 or amount == math.inf):
                raise InvalidInput(
                    f"got {amount!r} as {', '.join(AMOUNTS)}; allowed are finite"
                    " numbers from 0, None"
                )
        if (row := self._rows.get((key, option))) is None:
            if not isinstance(key, str) or not isinstance(option, str):
                raise InvalidInput(
                    f"got {key!r}, {option!r} as a key and an option; allowed are texts"
                )
            numbers = {
                "key": self._keys.number(key),
                "option": self._options.number(option),
            }
            row = self._rows[key, option] = self._cells.add(**numbers, last=EARLIEST)
            if numbers["key"] == len(self._first):
                self._first.add(row=-1)
            self._before.add(row=self._first["row"][numbers["key"]])
            self._first.put(numbers["key"], row=row)
        sums = self._cells["sums"][row]
        last = self._cells["last"]
        last[row] = max(last[row], at)
        sums[:_FIRST_AMOUNT] += 1.0, success
        for number, amount in enumerate((latency_ms, tokens, cost), 1):
            if amount is not None and amount == amount:  # not NaN
                sums[2 * number : 2 * number + 2] += amount, 1.0

    def row(self, key: str, option: str) -> int | None:
        """The row of a key and option, which stays the same; None where no run of them
        was counted.
        """
        return self._rows.get((key, option))

    def option_number(self, option: str) -> int:
        """The number of an option, -1 where no run of it was counted."""
        found = self._options.find(option)
        return -1 if found is None else found

    def alike(
        self, prefix: str, parts: Collection[str], floor: float
    ) -> tuple[Integers, Floats]:
        """The rows of keys like these parts, and how alike: keys are `prefix` and then
        parts, joined by `|`; see `PartIndex`.
        """
        index = self._alike.setdefault(prefix, PartIndex())
        for number in range(len(index), len(self._keys)):
            key = self._keys[number]
            index.add(
                key.removeprefix(prefix).split("|") if key.startswith(prefix) else ()
            )
        keys, likeness = index.alike(parts, floor)
        rows = self._first["row"][keys]
        found = [(rows, likeness)]
        while len(rows):
            rows = self._before["row"][rows]
            rows, likeness = rows[rows >= 0], likeness[rows >= 0]
            found.append((rows, likeness))
        return np.concatenate([pair[0] for pair in found]), np.concatenate(
            [pair[1] for pair in found]
        )

    def runs(self, rows: Integers) -> RowRuns:
        """The runs of these rows."""
        sums = self._cells["sums"]
        cost = _FIRST_AMOUNT + 2 * AMOUNTS.index("cost")
        n, successes, total, stated = (
            sums[rows, column] for column in (0, 1, cost, cost + 1)
        )
        with np.errstate(invalid="ignore"):
            return RowRuns(
                self._cells["option"][rows],
                n,
                successes,
                self._cells["last"][rows],
                total / stated,
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
        """The evidence under keys that begin with `prefix`, as it weighs at `now` (µs
        UTC).

        With `half_life_days`, n and successes of a cell count half as much for each
        half-life since its last run (a run later than `now` has no age); rates and
        means stay. Raises InvalidInput for a half-life that is not a number above 0, or
        one without `now`.
        """
        # Keys stand in the order of their rows, one each.
        chosen = {
            pair: row for pair, row in self._rows.items() if pair[0].startswith(prefix)
        }
        rows = [*chosen.values()]
        sums = self._cells["sums"][rows]
        last = self._cells["last"][rows]
        with np.errstate(invalid="ignore"):
            means = sums[:, _FIRST_AMOUNT::2] / sums[:, _FIRST_AMOUNT + 1 :: 2]
        counts = sums[:, :2] * _weight(last[:, None], now, half_life_days)
        keys, options = ([pair[place] for pair in chosen] for place in (0, 1))
        (n, successes), (latency_ms, tokens, cost) = counts.T, means.T
        return Cells(keys, options, n, successes, latency_ms, tokens, cost, last)

    def _after_load(self) -> None:
        keys = [*self._keys]
        options = [*self._options]
        pairs = zip(
            self._cells["key"].tolist(), self._cells["option"].tolist(), strict=True
        )
        self._rows = {
            (keys[key], options[option]): row for row, (key, option) in enumerate(pairs)
        }
        self._alike = {}


def expected_success(
    runs: RowRuns, now: int, half_life_days: float | None
) -> tuple[Floats, Floats, Floats]:
    """Of each row the weight of its age, .5^(age / half-life); (successes + 1) / (runs
    + 2); and their product.

    The weight is 1 without a half-life, and for what lies ahead of `now` (µs UTC).
    """
    weight = np.ones(len(runs.n)) * _weight(runs.last, now, half_life_days)
    rate = (runs.successes + 1.0) / (runs.n + 2.0)
    return weight, rate, rate * weight


def success_of(home: Home, options: Iterable[str]) -> dict[str, float]:
    """Of the options of which a design knows how they did, (successes + 1) / (runs + 2)
    over all their runs.

    What is known of an option does not fade here: a fix that failed is no better for
    having been forgotten.
    """
    found: dict[str, float] = {}
    keys = [f"{design.name}/{OPTION_KEY}" for design in home.designs if design.evidence]
    with home.views.reading(evidence_view(home)) as view:
        for option in options if len(view.table) else ():
            rows = np.array(
                [
                    row
                    for key in keys
                    if (row := view.table.row(key, option)) is not None
                ],
                np.int64,
            )
            if len(rows):
                runs = view.table.runs(rows)
                found[option] = float(
                    (runs.successes.sum() + 1.0) / (runs.n.sum() + 2.0)
                )
    return found


def is_heard(body: Body) -> bool:
    """Whether a call is known only from a file that somebody made, or from a tool:
    anybody may have made it up.
    """
    return TRUST[body.get("source", "model")] < TRUST["model"]


class EvidenceView(View):
    """Every attempt of every trace that was not lost, one run each under its query type
    and model.

    An attempt that got no answer at all tells of the endpoint, not of what the model
    answers: it is left out. What `is_heard` stands apart, under keys with HEARD_PREFIX
    before them.

    A run succeeds where the model answered, unless an outcome says afterwards that it
    went wrong: the one that it was called for, or one that was recorded of it.
    """

    name = "evidence"
    code = 7
    kinds = ("trace_ended", *verdicts.KINDS)
    readers: ClassVar[
        Mapping[str, Sequence[Reader]]
    ] = {}  # by event kind: what a design reads from such an event

    def __init__(self) -> None:
        super().__init__()
        self.table = EvidenceTable()
        self.verdicts = verdicts.Verdicts()

    def apply(self, events: Sequence[Event]) -> None:
        """Take in how calls went, and what outcomes say of them."""
        for event in events:
            for prefix, runs in self.readers.get(event.kind, ()):
                for key, option, success, *amounts in runs(event):
                    stated = dict(zip(AMOUNTS, amounts, strict=True))
                    self.table.add(prefix + key, option, success, at=event.at, **stated)
            if event.kind == "trace_ended":
                self._count(event)
            elif event.kind in verdicts.KINDS and (said := verdicts.verdict_of(event)):
                for row, change in self.verdicts.say(*said):
                    self.table.correct(row, change)
                if event.kind == "outcome" and "answer" in event.body:
                    answer = event.body["answer"]
                    self._judge(event.id, _key(answer), answer["model"], answer["at"])

    def _count(self, event: Event) -> None:
        body = event.body
        if body["lost"]:
            return
        key = _key(body)
        outcome_id = body.get("outcome_id")
        for attempt in (
            attempt for attempt in body["attempts"] if not attempt.get("unavailable")
        ):
            stated = {name: attempt[name] for name in AMOUNTS}
            self.table.add(
                key, attempt["model"], attempt["success"], at=event.at, **stated
            )
            if outcome_id and attempt["success"]:
                self._judge(outcome_id, key, attempt["model"], event.at)

    def _judge(self, outcome_id: str, key: str, model: str, at: int) -> None:
        """Let an outcome say how an answer went that was counted as good; `at`: when it
        was given, µs UTC.
        """
        row = self.table.row(key, model)
        if row is not None and not self.verdicts.answer(outcome_id, cell=row, at=at):
            self.table.correct(row, -1)


def evidence_view(home: Home) -> type[EvidenceView]:
    """The evidence of a home: of models' answers, and of whatever else its designs read
    from their events.
    """
    return _with_readers(
        tuple(
            sorted(
                (each for each in home.designs if each.evidence),
                key=lambda each: each.name,
            )
        )
    )


@cache
def _with_readers(designs: tuple[Design, ...]) -> type[EvidenceView]:
    """The view that these designs add to: the same class for the same ones, so that
    views are found by it.
    """
    if not designs:
        return EvidenceView
    readers: dict[str, list[Reader]] = {}
    for design in designs:
        for kind, runs in design.evidence.items():
            readers.setdefault(kind, []).append((f"{design.name}/", runs))
    reads = (
        *EvidenceView.kinds,
        *(f"{design.name}:{kind}" for design in designs for kind in design.evidence),
    )
    kinds = tuple(dict.fromkeys([*EvidenceView.kinds, *readers]))
    return type(
        "DesignEvidence",
        (EvidenceView,),
        {"kinds": kinds, "readers": readers, "reads": reads},
    )


def counted_type(query_type: str) -> str:
    """The query type under which runs count: `general` where it is none of the seven.

    >>> counted_type("math"), counted_type("weather")
    ('math', 'general')
    """
    return query_type if query_type in QUERY_TYPES else FALLBACK_TYPE


def _key(body: Body) -> str:
    """Where the runs of a call are counted; `body`: that of its END, or what an outcome
    says of its answer.
    """
    return (
        (HEARD_PREFIX if is_heard(body) else "")
        + QUERY_TYPE_PREFIX
        + counted_type(str(body["query_type"]))
    )


def _weight(
    last: Integers, now: int | None, half_life_days: float | None
) -> Floats | float:
    if half_life_days is None:
        return 1.0
    if now is None or not 0 < half_life_days < math.inf:
        got = f"half_life_days = {half_life_days!r} at now = {now!r}"
        raise InvalidInput(
            f"got {got}; allowed is a number of days above 0, with now in µs"
        )
    # Four steps, since a route takes this at every call.
    return np.exp2(np.minimum(last - now, 0) / (MICROSECONDS_PER_DAY * half_life_days))
