"""Does advice help?

Recorded logs are walked in the order of time, and before each attempt advice is asked
with what was known until then.

An attempt is known from the place in the log at which it was closed. What is scored was
done by agents that got no advice: it says what advice would have known, not what it
would have changed.
"""

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import FixedClock
from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.causal import SUCCESS
from theorex_lab.designs.causal.advice import GeneAdvice, advice_from, records
from theorex_lab.designs.causal.design import DESIGN
from theorex_lab.designs.causal.items import runs_of
from theorex_lab.designs.causal.remedies import says_what_helped
from theorex_lab.designs.causal.settings import CausalSettings
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.datasets.logs import load_logs
from theorex_lab.eval.datasets.recorder import MINUTE
from theorex_lab.eval.replay.baselines import Bm25
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import EvidenceRun
from theorex_lab.memory.evidence import AMOUNTS, EvidenceTable
from theorex_lab.memory.intervals import Interval, bootstrap_means
from theorex_lab.memory.rows import Rows
from theorex_lab.store.lab import Lab

Row = dict[str, Any]
Floats = NDArray[np.float64]
Run = tuple[int, str, str, bool]  # when (µs UTC), of which task, the gene and success
ADVICE = "advice"
BASE = "base rate so far"
OF_GENE = "rate of the gene"
OF_SIGNALS = "rate of the signals"
OFFERED = 3  # genes that each method may offer
_HOUR = 60 * MINUTE
_DAY = 24 * _HOUR
_LATE = 366 * _DAY  # after the last event, when every session is over
_UNKNOWN = Interval(math.nan, math.nan, math.nan)
_FEW = 5  # attempts below which nothing is said of which is better


class ClosedAttempt(NamedTuple):
    """An attempt of which it is known what came of it.

    group: what intervals draw together, such as a task.  did: what the gene does, in
    words.  asked, known: places in the log at which it was chosen, and at which it was
    known how it went.  at, ended: the same, µs UTC.  key: of the signals.  runs: the
    evidence that it is.
    """

    group: str
    signals: tuple[str, ...]
    gene: str
    did: tuple[str, ...]
    success: bool
    asked: int
    known: int
    at: int
    ended: int
    key: str
    runs: tuple[EvidenceRun, ...]


class EvidenceBefore:
    """What was known at a position of a log.

    It is the evidence, and the attempts that were closed.
    """

    def __init__(self) -> None:
        self.table = EvidenceTable()
        self.tried = list[ClosedAttempt]()
        self._counts: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0])

    def learn(self, attempt: ClosedAttempt) -> None:
        """Take in how an attempt went."""
        self.tried.append(attempt)
        for run in attempt.runs:
            amounts = dict(zip(AMOUNTS, run[3:], strict=True))
            self.table.add(
                f"{DESIGN.name}/{run.key}",
                run.option,
                attempt.success,
                at=attempt.ended,
                **amounts,
            )
        for names in ((), (attempt.gene,), (attempt.key,)):
            self._counts[names][0] += attempt.success
            self._counts[names][1] += 1

    def rate(self, *names: str) -> float:
        """Return (successes + 1) / (attempts + 2) of a gene or a key of signals.

        Where that was never tried, it is the rate of all.
        """
        key = names if names in self._counts else ()
        n_successes, n_attempts = self._counts[key]
        return (n_successes + 1) / (n_attempts + 2)


def walk(
    tried: Iterable[ClosedAttempt],
) -> Iterator[tuple[ClosedAttempt, EvidenceBefore]]:
    """Yield each attempt in the order in which they were chosen.

    With it comes what was known then: only what was closed before.
    """
    past = EvidenceBefore()
    waiting = list[tuple[int, int, ClosedAttempt]]()
    for number, attempt in enumerate(sorted(tried, key=attrgetter("asked"))):
        while waiting and waiting[0][0] <= attempt.asked:
            past.learn(heapq.heappop(waiting)[2])
        yield attempt, past
        heapq.heappush(waiting, (attempt.known, number, attempt))


def foretell(tried: Iterable[ClosedAttempt]) -> list[Row]:
    """Return a row an attempt: what each method expected, and what came of it.

    A row also says what advice banned, preferred and offered. Methods that know nothing
    of an attempt expect the base rate so far. The column told is whether advice knew
    anything of it.
    """
    ships = CausalSettings()
    rows = list[Row]()
    for attempt, past in walk(tried):
        base = past.rate()
        by_gene = records(
            past.table,
            attempt.signals,
            [attempt.gene],
            ships,
            now=attempt.at,
        )
        record = by_gene[attempt.gene]
        expectation = record.best or record.prior
        genes = dict.fromkeys(other.gene for other in past.tried)
        genes[attempt.gene] = None
        advice = advice_from(
            past.table,
            attempt.signals,
            list(genes),
            ships,
            now=attempt.at,
        )
        expected = {
            ADVICE: expectation or base,
            BASE: base,
            OF_GENE: past.rate(attempt.gene),
            OF_SIGNALS: past.rate(attempt.key),
        }
        rows.append(
            {
                "group": attempt.group,
                "asked": attempt.asked,
                "gene": attempt.gene,
                "success": attempt.success,
                "told": expectation > 0,
                "expected": expected,
                "banned": attempt.gene in advice.banned_gene_ids,
                "preferred": advice.preferred_gene_id,
                "offered": _offered(attempt, past, advice),
            }
        )
    return rows


def _offered(
    attempt: ClosedAttempt, past: EvidenceBefore, advice: GeneAdvice
) -> dict[str, float]:
    """Return by method the share of what helped that is among what it offers.

    There is none where the attempt did not help, or where nothing is known.
    """
    helpful_acts = telling_acts(attempt.did)
    if not attempt.success or not helpful_acts or not past.tried:
        return {}
    shares = {}
    for method, acts in _offers(attempt, past, advice).items():
        telling = filter(telling_acts, dict.fromkeys(acts))
        first = islice(telling, OFFERED)
        offered_acts = telling_acts(chain(*first))
        n_hits = len(helpful_acts & offered_acts)
        shares[method] = n_hits / len(helpful_acts)
    return shares


def _offers(
    attempt: ClosedAttempt, past: EvidenceBefore, advice: GeneAdvice
) -> dict[str, Iterable[tuple[str, ...]]]:
    """Return by method the acts that it offers for an attempt, the best first."""
    acts_by_gene = {other.gene: other.did for other in past.tried}
    successes = [other for other in reversed(past.tried) if other.success]
    n_tried = Counter(other.gene for other in past.tried)
    most_tried = sorted(acts_by_gene, key=lambda gene: -n_tried[gene])
    of_signals = [other for other in successes if other.key == attempt.key]
    return {
        ADVICE: _advised(acts_by_gene, advice),
        "BM25 over earlier successes": _most_similar(attempt, successes),
        "last successes of the signals": [other.did for other in of_signals],
        "last successes": [other.did for other in successes],
        "most frequent genes": [acts_by_gene[gene] for gene in most_tried],
    }


def _advised(
    acts_by_gene: Mapping[str, tuple[str, ...]],
    advice: GeneAdvice,
) -> list[tuple[str, ...]]:
    """Return the acts of the genes that advice scores above 0 and does not ban."""
    allowed = acts_by_gene.keys() - advice.banned_gene_ids
    advised = []
    for gene, score in advice.scores.items():
        if score > 0 and gene in allowed:
            advised.append(acts_by_gene[gene])
    return advised


def _most_similar(
    attempt: ClosedAttempt,
    successes: Sequence[ClosedAttempt],
) -> list[tuple[str, ...]]:
    """Return the acts of successes, those first whose words are most alike by BM25."""
    texts = [" ".join([*other.signals, *other.did]) for other in successes]
    similarity = np.array(Bm25().rank(" ".join(attempt.signals), texts))
    order = np.argsort(-similarity, kind="stable").tolist()
    return [successes[index].did for index in order]


def telling_acts(acts: Iterable[str]) -> set[str]:
    """Return the acts that say what to do, by kind.

    The same call again, or one on something else, says nothing.

    >>> sorted(telling_acts(["edit the test", "make the same call again"]))
    ['edit the test']
    """
    return set(filter(says_what_helped, acts))


class MethodScore(NamedTuple):
    """A figure of a part of the score and a method.

    It has its 95 % interval over groups.

    Attributes:
        n: How many rows count for it.
    """

    part: str
    method: str
    score: str
    value: float
    ci_low: float
    ci_high: float
    n: int


class AdviceScore(Rows[MethodScore]):
    """Figures of what advice is worth on a data set, compared with its peers.

    `advice gains` is by how much advice is better than a method, paired.

    Attributes:
        dataset: The name of the data set.
        tried: A row an attempt, as `foretell` makes it.
        verdict: What the figures come to, in words.
    """

    row_class = MethodScore

    def __init__(
        self,
        dataset: str,
        figures: Sequence[MethodScore],
        tried: Sequence[Row],
        verdict: str,
    ) -> None:
        super().__init__(figures)
        self.dataset = dataset
        self.tried = tried
        self.verdict = verdict

    def result(self) -> Row:
        """Return {dataset, n, figures, verdict}, as JSON holds it."""
        return {
            "dataset": self.dataset,
            "n": len(self.tried),
            "figures": self.to_dict(),
            "verdict": self.verdict,
        }

    def __repr__(self) -> str:
        return (
            f"AdviceScore({self.dataset}, {len(self.tried)} attempts, {len(self)}"
            " figures)"
        )

    def __str__(self) -> str:
        lines = [
            f"{self.dataset}, n = {len(self.tried)} attempts; in brackets 95 %"
            " intervals"
        ]
        for part, figures in groupby(self, attrgetter("part")):
            lines.append(f"  {part}:")
            for _, method, score, value, ci_low, ci_high, n in figures:
                lines.append(
                    f"    {method:<38}{score:<14}{value:7.3f} [{ci_low:.3f}, {ci_high:.3f}] "
                    f" n {n}"
                )
        return "\n".join([*lines, self.verdict])


class _Figures:
    """Figures of rows, whose intervals are drawn by group."""

    def __init__(self, rows: Sequence[Row], seed: int) -> None:
        self.made = list[MethodScore]()
        self.rows = rows
        self._seed = seed
        self._groups = np.array([row["group"] for row in rows])

    def columns(self, name: str) -> dict[str, Floats]:
        """Return what each row says of each method under a name.

        It is NaN where a row says nothing.
        """
        methods: dict[str, None] = {}
        for row in self.rows:
            methods.update(dict.fromkeys(row[name]))
        columns: dict[str, Floats] = {}
        for method in methods:
            values = [row[name].get(method, math.nan) for row in self.rows]
            columns[method] = np.array(values)
        return columns

    def add(
        self,
        part: str,
        method: str,
        score: str,
        values: Floats,
    ) -> MethodScore:
        """Return the mean of values, one a row; NaN where a row does not count."""
        is_known = np.isfinite(values)
        groups = self._groups[is_known].tolist()
        interval = _UNKNOWN
        if is_known.any():
            known_values = values[is_known]
            (interval,) = bootstrap_means(known_values, seed=self._seed, groups=groups)
        figure = MethodScore(
            part,
            method,
            score,
            value=interval.mean,
            ci_low=interval.ci_low,
            ci_high=interval.ci_high,
            n=len(groups),
        )
        self.made.append(figure)
        return figure

    def compare(
        self, part: str, score: str, columns: Mapping[str, Floats], sign: int
    ) -> str:
        """Add the mean of each column, and by how much advice is better.

        Args:
            part: The part of the score.
            score: The name of the figure.
            columns: The values of each row, by method.
            sign: 1 where more is better, -1 where less is.

        Returns:
            The mean of advice compared with its peers, in words.
        """
        phrases = list[str]()
        for method, values in columns.items():
            figure = self.add(part, method, score, values)
            if method == ADVICE:
                continue
            advantage = sign * (columns[ADVICE] - values)
            gain = self.add(part, method, "advice gains", advantage)
            if not method.startswith(ADVICE):
                phrases.append(f"{_than(gain)} {method} ({figure.value:.3f})")
        return f"{np.nanmean(columns[ADVICE]):.3f}: {', '.join(phrases)}"

    def versus(
        self, part: str, name: str, ours: Floats, other_name: str, theirs: Floats
    ) -> str:
        """Say how much more often one column succeeded than the other, in words."""
        first = self.add(part, name, "success", ours)
        second = self.add(part, other_name, "success", theirs)
        more = self.add(
            part,
            name,
            "difference",
            _contrast(ours, theirs, -1.0),
        )
        than = "no more often than"
        if min(first.n, second.n) >= _FEW:
            if more.ci_low > 0:
                than = "more often than"
            elif more.ci_high < 0:
                than = "less often than"
        return (
            f"{name} ({first.value:.2f} of {first.n}) succeeded {than}"
            f" {other_name} ({second.value:.2f} of {second.n})"
        )


def _than(gain: MethodScore) -> str:
    """Return in words whether a gain is significantly above or below zero."""
    if gain.ci_low > 0:
        return "better than"
    if gain.ci_high < 0:
        return "worse than"
    return "no better than"


def _contrast(
    ours: Floats,
    theirs: Floats,
    sign: float,
) -> Floats:
    """Return a column whose mean is that of one column plus `sign` times the other's.

    Each value is what its row moves that mean by, to first order.
    """
    column = np.zeros(len(ours))
    for values, times in ((ours, 1.0), (theirs, sign)):
        is_known = np.isfinite(values)
        mean = values[is_known].mean() if is_known.any() else math.nan
        n_known = max(1, is_known.sum())
        deviation = np.where(
            is_known,
            (values - mean) * len(values) / n_known,
            0.0,
        )
        column += times * (mean + deviation)
    return column


def _auc(values: Floats, success: Floats) -> Floats:
    """Return a column whose mean is the area under the ROC curve.

    That is the share of pairs of a success and a failure that values tell right. It is
    not known where all went alike.
    """
    is_success = success > 0
    if is_success.all() or not is_success.any():
        return np.full(len(values), np.nan)
    of_successes = values[is_success]
    of_failures = values[~is_success]
    is_higher = np.greater.outer(of_successes, of_failures)
    is_equal = np.equal.outer(of_successes, of_failures)
    right = is_higher + 0.5 * is_equal
    won = np.full(len(values), np.nan)
    won[is_success] = right.mean(1)
    lost = np.full(len(values), np.nan)
    lost[~is_success] = right.mean(0)
    return _contrast(won, lost, 1.0) - float(right.mean())


def _score(figures: _Figures) -> list[str]:
    """Score what was expected of attempts: the Brier score, and the AUC."""
    part = "expected success of what was tried"
    success = np.array([row["success"] for row in figures.rows], float)
    expected = figures.columns("expected")
    squares = {}
    for method, values in expected.items():
        squares[method] = (values - success) ** 2
    comparison = figures.compare(part, "brier", squares, -1)
    for method, values in expected.items():
        figures.add(part, method, "auc", _auc(values, success))
    share_with_evidence = np.mean([row["told"] for row in figures.rows])
    return [
        f"Advice knew something of {share_with_evidence:.0%} of the attempts; the Brier"
        f" score of what it expects is {comparison}."
    ]


def _score_bans(figures: _Figures) -> list[str]:
    """Score whether what was banned failed, and what was preferred succeeded.

    Nobody was told to heed advice: this is observation.
    """
    success = np.array([row["success"] for row in figures.rows], float)
    failed = 1 - success
    rates = figures.columns("expected")
    cut = CausalSettings().ban_below
    banned = {ADVICE: np.array([row["banned"] for row in figures.rows])}
    for method in (OF_GENE, OF_SIGNALS):
        banned[f"{method} below {cut}"] = rates[method] < cut
    banned["everything"] = np.full(len(success), True)
    for method, is_banned in banned.items():
        precision = np.where(is_banned, failed, np.nan)
        recall = np.where(success == 0, is_banned, np.nan)
        figures.add("bans", method, "precision", precision)
        figures.add("bans", method, "recall", recall)
    has_preference = np.array([row["preferred"] is not None for row in figures.rows])
    is_preferred = np.array([row["preferred"] == row["gene"] for row in figures.rows])
    ours = np.where(is_preferred, success, np.nan)
    theirs = np.where(~is_preferred & has_preference, success, np.nan)
    comparison = figures.versus(
        "by observation",
        "what was done as it preferred",
        ours,
        "the rest",
        theirs,
    )
    n_banned = int(banned[ADVICE].sum())
    bans = "nothing that was tried"
    if n_banned:
        bans = f"{n_banned}, of which {failed[banned[ADVICE]].mean():.0%} failed"
    return [
        f"Bans: {bans}; of all, {failed.mean():.0%} failed.",
        f"By observation, {comparison}.",
    ]


def _score_offers(figures: _Figures) -> list[str]:
    """Score how much of what then helped is among what is offered."""
    columns = figures.columns("offered")
    if not columns:
        return ["Nothing that helped says what was done."]
    part = "what then helped, among what is offered"
    comparison = figures.compare(part, "share", columns, 1)
    return [
        f"Of the kinds of acts that then helped, the {OFFERED} genes that it offers"
        f" first hold a share of {comparison}."
    ]


def captured(
    log: EvalLog, group: Callable[[Event], str] = attrgetter("session")
) -> list[ClosedAttempt]:
    """Return the attempts that are read from what was captured in a log.

    Args:
        log: The log.
        group: What intervals draw together, of an attempt's event.
    """
    with lab_of(log) as lab:
        return _recorded(lab, group)


def lab_of(log: EvalLog) -> Lab:
    """Return a lab to which a log was replayed.

    Its attempts were recorded after the end of every session. The caller closes it.
    """
    lab = Lab.temporary(clock=FixedClock(log.events[-1].at + _LATE))
    lab.journal.append(log.events, allow_future=True)
    lab.causal.fill()
    return lab


def _recorded(lab: Lab, group: Callable[[Event], str]) -> list[ClosedAttempt]:
    """Return the attempts of a home that were closed."""
    events = {event.id: event for event in lab.journal.tail(0)}
    acts_by_gene = {}
    for gene in lab.causal.genes():
        acts_by_gene[gene["id"]] = tuple(gene.get("strategy", ()))
    attempts = []
    for event in events.values():
        if event.kind != "attempt_closed":
            continue
        start = events[event.lineage[0]]
        closed_by = events[event.lineage[-1]]
        cause = events.get(start.body.get("cause", ""), start)
        closing = event if closed_by is start else closed_by
        gene = event.body["gene"]
        signal = event.body["signal"]
        attempts.append(
            ClosedAttempt(
                group=group(start),
                signals=tuple(signal["signals"]),
                gene=gene["id"],
                did=acts_by_gene.get(gene["id"], ()),
                success=event.body["outcome"]["status"] == SUCCESS,
                asked=cause.seq,
                known=closing.seq,
                at=start.at,
                ended=event.at,
                key=signal["key"],
                runs=tuple(runs_of(event)),
            )
        )
    return attempts


def score_advice(
    dataset: str | EvalLog = "taubench_airline", *, seed: int = 0
) -> AdviceScore:
    """Return what advice is worth on a log in which calls failed.

    Args:
        dataset: A log, or a data set, whose first log is taken.
        seed: Draws the intervals.

    Returns:
        A row a part of the score and a method, each value 0..1 with its 95 % interval;
        `.verdict` says in words what they come to.

    Raises:
        InvalidInput: The log has no attempt that was closed, or the data set is
            unknown, as `load_logs` says.
    """
    log = dataset
    if isinstance(log, str):
        log = load_logs(log)[0]
    group: Callable[[Event], str] = attrgetter("session")
    if log.name == "taubench_airline":
        group = _task_of
    return _score_log(log.name, captured(log, group), seed)


def _task_of(event: Event) -> str:
    """Return the task of a run of tau-bench, which every trial repeats."""
    return event.session.partition("-")[2]


def _score_log(
    name: str,
    tried: Sequence[ClosedAttempt],
    seed: int,
) -> AdviceScore:
    if not tried:
        raise InvalidInput(
            f"got {name}, in which no call that failed was made again; give a log of"
            " work with tools"
        )
    figures = _Figures(foretell(tried), seed)
    words = [
        *_score(figures),
        *_score_bans(figures),
        *_score_offers(figures),
    ]
    return AdviceScore(name, figures.made, figures.rows, " ".join(words))
