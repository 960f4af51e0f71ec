"""Does advice help? Recorded logs are walked in the order of time, and before each attempt advice is asked with what was known until then.

An attempt counts as known from the place in the log at which it was closed. Where it is not said otherwise, what is
scored was done by agents that got no advice: it says what advice would have known, not what it would have changed.
"""

import heapq
import math
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.clock import FixedClock
from theorex_lab.design import EvidenceRun, Log
from theorex_lab.designs.causal import FAILED, SUCCESS
from theorex_lab.designs.causal.advice import GeneAdvice, advice_from, records
from theorex_lab.designs.causal.design import DESIGN
from theorex_lab.designs.causal.items import CausalSettings, runs_of
from theorex_lab.designs.causal.keys import compute_signal_key, error_signature
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data import datasets
from theorex_lab.experiments.data.logs import MINUTE, UNDATED, load_logs
from theorex_lab.experiments.replay.baselines import Bm25
from theorex_lab.experiments.scores.statements import auc
from theorex_lab.experiments.scores.strategies import programs
from theorex_lab.journal.event import Event
from theorex_lab.lab import Lab
from theorex_lab.memory.evidence import AMOUNTS, EvidenceTable
from theorex_lab.memory.intervals import BOOTSTRAPS
from theorex_lab.memory.rows import Rows

Row = dict[str, Any]
Run = tuple[int, str, str, str, bool, float | None]  # when (µs UTC), of which task, the signal, gene, success and cost
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
ADVICE, BASE, OF_GENE, OF_SIGNALS = "advice", "base rate so far", "rate of the gene", "rate of the signals"
HALF_LIVES = {"half-life 7 days": 7.0, "half-life 30 days": 30.0, "half-life 45 days": 45.0, "no half-life": None}  # of all evidence
OFFERED = 3  # genes that each method may offer
_HOUR = 60 * MINUTE
_DAY = 24 * _HOUR
_LATE = 366 * _DAY  # after the last event, when every session is over
_FEW = 5  # attempts below which nothing is said of which is better
_AGAIN = "make the same call again"


class Tried(NamedTuple):
    """An attempt of which it is known what came of it.

    group: what intervals draw together, such as a task.  did: what the gene does, in words.  asked, known: places in the log at
    which it was chosen, and at which it was known how it went.  at, ended: the same, µs UTC.
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
    runs: tuple[EvidenceRun, ...]


class Past:
    """What was known at a place of a log: the evidence, and the attempts that were closed."""

    def __init__(self) -> None:
        self.table, self.tried = EvidenceTable(), list[Tried]()
        self._counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])

    def learn(self, one: Tried) -> None:
        """Take in how an attempt went."""
        self.tried.append(one)
        for run in one.runs:
            used = dict(zip(AMOUNTS, run[3:], strict=True))
            self.table.add(f"{DESIGN.name}/{run.key}", run.option, one.success, at=one.ended, **used)
        for what in ("", one.gene, compute_signal_key(one.signals)):
            self._counts[what][0] += one.success
            self._counts[what][1] += 1

    def genes(self) -> list[str]:
        """The genes that were tried, in the order in which they were known."""
        return list(dict.fromkeys(one.gene for one in self.tried))

    def rate(self, *names: str) -> float:
        """(successes + 1) / (attempts + 2) of the first name (a gene, a key of signals) that was tried, else of all."""
        found = next((name for name in names if name in self._counts), "")
        successes, n = self._counts[found] if self.tried else (0, 0)
        return (successes + 1) / (n + 2)

    def advise(self, one: Tried, genes: Sequence[str], settings: CausalSettings, **given: Any) -> GeneAdvice:
        """What advice says of these genes where this one was chosen."""
        return advice_from(self.table, one.signals, genes, settings, one.at, **given)


def walk(tried: Iterable[Tried]) -> Iterator[tuple[Tried, Past]]:
    """Each attempt in the order in which they were chosen, with what was known then: only what was closed before."""
    past, waiting = Past(), list[tuple[int, int, Tried]]()
    for number, one in enumerate(sorted(tried, key=lambda one: one.asked)):
        while waiting and waiting[0][0] <= one.asked:
            past.learn(heapq.heappop(waiting)[2])
        yield one, past
        heapq.heappush(waiting, (one.known, number, one))


def foretell(tried: Iterable[Tried], settings: CausalSettings | None = None) -> list[Row]:
    """A row an attempt: what each method expected of it before, what advice banned and preferred, and what came of it.

    Methods that know nothing of an attempt expect the base rate so far. told: whether advice knew anything of it.
    """
    ages = {name: CausalSettings(edge_half_life_days=days, gene_half_life_days=days) for name, days in HALF_LIVES.items()}
    ships, rows = settings or CausalSettings(), list[Row]()
    for one, past in walk(tried):
        base, key = past.rate(), compute_signal_key(one.signals)
        told = past.advise(one, list(dict.fromkeys([*past.genes(), one.gene])), ships)
        known = {name: _expected(past, one, kind) for name, kind in {ADVICE: ships, **ages}.items()}
        expected = {name if name == ADVICE else f"{ADVICE}, {name}": value or base for name, value in known.items()}
        expected |= {"score of advice as it is": min(1.0, told.scores[one.gene]), BASE: base, OF_GENE: past.rate(one.gene)}
        expected |= {OF_SIGNALS: past.rate(key), "rate of the gene for the signals": _rate_of(past, one.gene, key)}
        last = next((float(other.success) for other in reversed(past.tried) if other.signals == one.signals), base)
        rows.append({
            "group": one.group, "asked": one.asked, "gene": one.gene, "success": one.success, "known": len(past.tried),
            "told": bool(known[ADVICE]), "expected": {**expected, "last outcome of the signals": last},
            "banned": one.gene in told.banned_gene_ids, "preferred": told.preferred_gene_id,
            **_earlier(one, past, ships), "offered": _offered(one, past, told)})  # fmt: skip
    return rows


def _expected(past: Past, one: Tried, settings: CausalSettings) -> float:
    """What evidence lets expect of an attempt, 0 where there is none."""
    known = records(past.table, one.signals, [one.gene], settings, one.at)[one.gene]
    return known.best or known.prior


def _rate_of(past: Past, gene: str, key: str) -> float:
    own = [other.success for other in past.tried if other.gene == gene and compute_signal_key(other.signals) == key]
    return (sum(own) + 1) / (len(own) + 2) if own else past.rate()


def _earlier(one: Tried, past: Past, settings: CausalSettings) -> Row:
    """Whether there was earlier evidence: of the same error, under the same key, and under one that is alike."""
    error, parts = error_signature(one.signals), compute_signal_key(one.signals).split("|")
    same = any(error == error_signature(other.signals) for other in past.tried) if error else False
    rows, likeness = past.table.alike(f"{DESIGN.name}/signal:", set(parts), settings.similarity)
    return {"same_error": same, "same_key": bool((likeness == 1).any()), "alike": bool(len(rows))}


def _offered(one: Tried, past: Past, told: GeneAdvice) -> dict[str, float]:
    """Of what helped, the share that is among what each method offers; nothing where it did not help, or nothing is known."""
    wanted = named(one.did)
    if not (one.success and wanted and past.tried):
        return {}
    did = {other.gene: other.did for other in past.tried}
    good = [other for other in reversed(past.tried) if other.success and named(other.did)]
    same = [other for other in good if _called(other) == _called(one)]
    often = sorted(did, key=lambda gene: -sum(other.gene == gene for other in past.tried))
    usable = [gene for gene in told.scores if told.scores[gene] > 0 and gene not in told.banned_gene_ids]
    texts = [" ".join([*other.signals, *other.did]) for other in good]
    ranked = np.argsort(-np.array(Bm25().rank(" ".join(one.signals), texts)), kind="stable").tolist() if good else []
    offers: dict[str, Iterable[tuple[str, ...]]] = {
        ADVICE: (did[gene] for gene in usable), "BM25 over earlier successes": (good[place].did for place in ranked),
        "last successes of the same command": (other.did for other in same), "last successes": (other.did for other in good),
        "most frequent genes": (did[gene] for gene in often)}  # fmt: skip
    firsts = {method: [offer for offer in dict.fromkeys(given) if named(offer)][:OFFERED] for method, given in offers.items()}
    return {method: len(wanted & named(_flat(given))) / len(wanted) for method, given in firsts.items()}


def _flat(given: Iterable[Iterable[str]]) -> list[str]:
    return [act for did in given for act in did]


def _called(one: Tried) -> str:
    return next((signal for kind in ("command:", "tool:") for signal in one.signals if signal.startswith(kind)), "")


def named(acts: Iterable[str]) -> set[str]:
    """The files, programs and other calls that acts name; to make the same call again names nothing.

    >>> sorted(named(["edit a.py, b.py", "run go test ./... | tail", "call cancel", "make the same call again"]))
    ['a.py', 'b.py', 'call cancel', 'go test', 'tail']
    """
    found = set[str]()
    for act in acts:
        kind, _, rest = act.partition(" ")
        found |= set(rest.split(", ")) if kind == "edit" else set(programs(rest)) if kind == "run" else {act} - {_AGAIN}
    return found


class Figure(NamedTuple):
    """A figure of a part of the score and a method, with its 95 % interval over groups; n: how many attempts it is of."""

    part: str
    method: str
    score: str
    value: float
    low: float
    high: float
    n: int


class AdviceScore(Rows[Figure]):
    """Figures of what advice is worth on a data set, beside its peers; `.verdict` says in words what they come to.

    tried: a row an attempt, as `foretell` makes it.
    """

    row_class = Figure

    def __init__(self, dataset: str, figures: Sequence[Figure], tried: Sequence[Row], verdict: str) -> None:
        super().__init__(figures)
        self.dataset, self.tried, self.verdict = dataset, tried, verdict

    def rows(self) -> list[Figure]:
        """The figures."""
        return list(self)

    def figure(self, part: str, method: str, score: str) -> Figure:
        """One figure. Raises InvalidInput where there is none of these names."""
        if found := [one for one in self if one[:3] == (part, method, score)]:
            return found[0]
        known = "; ".join(dict.fromkeys(", ".join(one[:3]) for one in self))
        raise InvalidInput(f"got {part}, {method}, {score}; allowed are {known}")

    def result(self) -> dict[str, Any]:
        """{dataset, n, figures, verdict}, as JSON holds it."""
        return {"dataset": self.dataset, "n": len(self.tried), "figures": self.to_dict(), "verdict": self.verdict}

    def __repr__(self) -> str:
        return f"AdviceScore({self.dataset}, {len(self.tried)} attempts, {len(self)} figures)"

    def __str__(self) -> str:
        lines, part = [f"{self.dataset}, n = {len(self.tried)} attempts; in brackets 95 % intervals"], ""
        for one in self:
            lines += [f"  {one.part}:"] if one.part != part else []
            lines.append(f"    {one.method:<40}{one.score:<14}{one.value:7.3f} [{one.low:.3f}, {one.high:.3f}]  n {one.n}")
            part = one.part
        return "\n".join([*lines, self.verdict])


class _Figures:
    """Figures of rows, whose intervals are drawn by group."""

    def __init__(self, rows: Sequence[Row], seed: int) -> None:
        self.made, self.rows = list[Figure](), rows
        _, self._member = np.unique([row["group"] for row in rows], return_inverse=True)
        m = int(self._member.max()) + 1
        self._drawn = np.random.default_rng(seed).multinomial(m, np.full(m, 1 / m), size=BOOTSTRAPS)

    def add(self, part: str, method: str, measure: Callable[[Ints], float], score: str, n: int | None = None) -> Figure:
        """A figure: what `measure` makes of the numbers of rows, each as often as it was drawn; NaN where it is of none."""
        every = np.arange(len(self.rows))
        drawn = np.array([measure(np.repeat(every, times[self._member])) for times in self._drawn])
        low, high = np.nanquantile(drawn, [0.025, 0.975]).tolist() if np.isfinite(drawn).any() else (math.nan, math.nan)
        self.made.append(Figure(part, method, score, measure(every), low, high, len(every) if n is None else n))
        return self.made[-1]

    def share(self, part: str, method: str, values: Sequence[float], score: str) -> Figure:
        """The mean of values, one a row; NaN for rows that do not count."""
        column = np.array(values, float)
        return self.add(part, method, lambda rows: _mean(column[rows]), score, int(np.isfinite(column).sum()))

    def column(self, name: str) -> list[Any]:
        """What each row says under a name."""
        return [row[name] for row in self.rows]


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan


def _score_expected(figures: _Figures, part: str = "expected success of what was tried") -> str:
    success, words = np.array(figures.column("success"), float), []
    methods = {method: np.array([row["expected"][method] for row in figures.rows]) for method in figures.rows[0]["expected"]}
    own = (methods[ADVICE] - success) ** 2
    for method, found in methods.items():
        error = (found - success) ** 2
        brier = figures.share(part, method, error.tolist(), "brier")
        figures.add(part, method, lambda rows, found=found: auc(found[rows], success[rows]), "auc")  # type: ignore[misc]
        if method != ADVICE:
            gain = figures.share(part, method, (error - own).tolist(), "advice gains")
            words += [f"{_than(gain)} the {method} ({brier.value:.3f})"] if method in (BASE, OF_GENE, OF_SIGNALS) else []
    told = np.mean(figures.column("told"))
    return f"Advice knew something of {told:.0%} of the attempts; it foretells success (Brier {own.mean():.3f}) {', '.join(words)}."


def _than(gain: Figure) -> str:
    return "better than" if gain.low > 0 else "worse than" if gain.high < 0 else "no better than"


def _score_bans(figures: _Figures, part: str = "bans") -> str:
    failed, settings = ~np.array(figures.column("success"), bool), CausalSettings()
    rates = {method: np.array([row["expected"][method] for row in figures.rows]) for method in (OF_GENE, OF_SIGNALS)}
    methods = {ADVICE: np.array(figures.column("banned"), bool)}
    methods |= {f"{method} below {settings.ban_below}": rate < settings.ban_below for method, rate in rates.items()}
    methods["everything"] = np.ones(len(failed), bool)
    for method, banned in methods.items():
        figures.share(part, method, np.where(banned, failed, np.nan).tolist(), "precision")
        figures.share(part, method, np.where(failed, banned, np.nan).tolist(), "recall")
    banned = methods[ADVICE]
    if not banned.any():
        return "It banned nothing that was tried."
    return f"It banned {banned.sum()} of them, of which {failed[banned].mean():.0%} failed, as {failed.mean():.0%} of all did."


def _score_choices(figures: _Figures, part: str = "done as preferred (observational)") -> str:
    success = np.array(figures.column("success"), float)
    same = np.array([row["preferred"] == row["gene"] for row in figures.rows])
    told = np.array([row["preferred"] is not None for row in figures.rows])
    did, other = np.where(same, success, np.nan), np.where(told & ~same, success, np.nan)
    one, two = (figures.share(part, method, values.tolist(), "success") for method, values in (("as preferred", did), ("otherwise", other)))
    more = figures.add(part, "as preferred", lambda rows: _mean(did[rows]) - _mean(other[rows]), "difference", one.n)
    few = min(one.n, two.n) < _FEW
    said = "more often than" if more.low > 0 and not few else "less often than" if more.high < 0 and not few else "no more often than"
    return f"What was done as it preferred succeeded {said} the rest ({one.value:.2f} of {one.n}, {two.value:.2f} of {two.n}; nobody was told to)."


def _score_offers(figures: _Figures, part: str = "what then helped, among what is offered") -> str:
    for score in ("same_error", "same_key", "alike"):
        figures.share("earlier evidence", score, figures.column(score), "share")
    offered = [row["offered"] for row in figures.rows]
    methods = dict.fromkeys(method for given in offered for method in given)
    shares = {method: [given.get(method, math.nan) for given in offered] for method in methods}
    found = {method: figures.share(part, method, values, "share") for method, values in shares.items()}
    if not found:
        return "Nothing that helped names a file or a command."
    words = []
    for method in found:
        if method != ADVICE:
            more = (np.array(shares[ADVICE]) - np.array(shares[method])).tolist()
            words.append(f"{_than(figures.share(part, method, more, 'advice gains'))} {method} ({found[method].value:.2f})")
    return f"Of what then helped, the {OFFERED} genes that it offers name {found[ADVICE].value:.2f}: {', '.join(words)}."


def captured(log: Log, group: Callable[[Event], str] = attrgetter("session")) -> list[Tried]:
    """The attempts that are read from what was captured in a log; group: what intervals draw together, of an attempt's event."""
    with _home(log.events[-1].at + _LATE) as (lab, _):
        lab.journal.append(log.events, allow_future=True)
        lab.causal.fill()
        return _recorded(lab, group)


@contextmanager
def _home(at: int) -> Iterator[tuple[Lab, FixedClock]]:
    clock = FixedClock(at)
    with tempfile.TemporaryDirectory(prefix="theorex-advice-") as folder, Lab(folder, clock=clock, designs=[DESIGN]) as lab:
        yield lab, clock


def _recorded(lab: Lab, group: Callable[[Event], str]) -> list[Tried]:
    """The attempts of a home that were closed."""
    events = {event.id: event for event in lab.journal.tail(0)}
    did = {gene["id"]: tuple(gene.get("strategy", ())) for gene in lab.causal.genes()}
    found = []
    for event in events.values():
        if event.kind == "attempt_closed":
            start, by = (events[event.lineage[place]] for place in (0, -1))
            asked, known = events.get(start.body.get("cause", ""), start), event if by is start else by
            gene, signals = event.body["gene"]["id"], tuple(event.body["signal"]["signals"])
            about = group(start), signals, gene, did.get(gene, ()), event.body["outcome"]["status"] == SUCCESS
            found.append(Tried(*about, asked.seq, known.seq, start.at, event.at, tuple(runs_of(event))))
    return found


def _told(runs: Iterable[Run], lasts: int) -> list[Tried]:
    """Attempts as they are recorded through a lab; those of one time are all chosen before any of them is closed, `lasts` µs later."""
    with _home(0) as (lab, clock):
        for at, at_once in groupby(runs, itemgetter(0)):
            clock.microseconds, open_ = at, []
            for _, task, signal, gene, success, cost in at_once:
                action = lab.causal.record_attempt([signal], {"id": gene}, observations={"task": task}).id
                open_.append((action, success, {} if cost is None else {"cost": cost}))
            clock.microseconds += lasts
            for action, success, used in open_:
                lab.causal.close(action, SUCCESS if success else FAILED, **used)
        return _recorded(lab, _task)


def _task(event: Event) -> str:
    return str(event.body["observed"]["task"])


def score_advice(dataset: str | Log = "taubench_airline", *, seed: int = 0) -> AdviceScore:
    """What advice is worth on a data set: taubench_airline, reflexion_alfworld, local_runs, or a log in which calls failed.

    Raises InvalidInput for a log without an attempt that was closed.
    """
    name = dataset if isinstance(dataset, str) else dataset.name
    if name in _SETS and isinstance(dataset, str):
        return _SETS[name](name, seed)
    log = load_logs(dataset)[0] if isinstance(dataset, str) else dataset
    return _score_log(name, captured(log), seed)


def _score_log(name: str, tried: Sequence[Tried], seed: int) -> AdviceScore:
    if not tried:
        raise InvalidInput(f"got {name}, in which no call failed and was made again; give a log of agents that use tools")
    rows = foretell(tried)
    figures = _Figures(rows, seed)
    words = [score(figures) for score in (_score_expected, _score_bans, _score_choices, _score_offers)]
    return AdviceScore(name, figures.made, rows, " ".join(words))


def _score_taubench(name: str, seed: int) -> AdviceScore:
    calls = _score_log(name, captured(load_logs(name)[0], lambda event: event.session.partition("-")[2]), seed)
    trials = sorted(datasets.fetch_taubench_airline().runs, key=attrgetter("trial", "task"))
    runs = [(UNDATED + number * _HOUR, str(run.task), f"task:{run.task}", "run", run.reward == 1, None) for number, run in enumerate(trials)]
    rows = [row for row, run in zip(foretell(_told(runs, MINUTE)), trials, strict=True) if run.trial == trials[-1].trial]
    figures = _Figures(rows, seed)
    said = _score_expected(figures, "success of a task in the last trial, from those before")
    return AdviceScore(name, [*calls, *figures.made], calls.tried, f"{calls.verdict} Of whole tasks: {said}")


def _score_reflexion(name: str, seed: int) -> AdviceScore:
    """An attempt is made after a failed trial, and the next closes it: with the lesson that was written, or without one."""
    found, runs = datasets.fetch_reflexion_alfworld(), []
    for gene, arm in (("reflect", found.success), ("again", found.base_success)):
        for trial, task in np.argwhere(~arm[:-1]).tolist():
            of = found.environments[task]
            runs.append((UNDATED + trial * _DAY, of, f"task:{of}", gene, bool(arm[trial + 1][task]), None))
    runs.sort(key=itemgetter(0))
    rows = foretell(_told(runs, _DAY - MINUTE))
    figures = _Figures(rows, seed)
    words = [score(figures) for score in (_score_expected, _score_bans, _score_choices)]
    shared = [run[0] < UNDATED + (len(found.base_success) - 1) * _DAY for run in runs]
    won = {gene: np.array([run[4] if run[3] == gene and both else np.nan for run, both in zip(runs, shared, strict=True)], float) for gene in ("reflect", "again")}
    for gene, values in won.items():
        figures.share("next trial, while both arms ran", gene, values.tolist(), "success")
    more = figures.add("next trial, while both arms ran", "reflect", lambda rows: _mean(won["reflect"][rows]) - _mean(won["again"][rows]), "difference")
    words.append(f"After a written reflection the next trial succeeded {more.value:+.2f} [{more.low:+.2f}, {more.high:+.2f}] more often than after none.")
    return AdviceScore(name, figures.made, rows, " ".join(words))


def _score_local_runs(name: str, seed: int) -> AdviceScore:
    """Tasks in an order drawn by `seed`; every model answered each of them, and what it took is told as its cost, in seconds."""
    runs = datasets.load_local_runs().runs
    place = {task: number for number, task in enumerate(np.random.default_rng(seed).permutation(sorted({run.task_id for run in runs})).tolist())}
    told = [(UNDATED + place[run.task_id] * MINUTE, run.task_id, f"query_type:{run.query_type}", run.model, run.success,
             (run.latency_ms or 0.0) / 1_000) for run in runs]  # fmt: skip
    tried = _told(sorted(told, key=itemgetter(0)), MINUTE // 2)
    rows = foretell(tried)
    figures, routes = _Figures(rows, seed), _Figures(routed(tried), seed)
    words = [_score_expected(figures), _score_bans(figures), _score_routes(routes)]
    return AdviceScore(name, [*figures.made, *routes.made], rows, " ".join(words))


def routed(tried: Sequence[Tried]) -> list[Row]:
    """A row a task: its regret and cost by the model that each method chooses, with what all models did before."""
    by_task: dict[str, dict[str, Tried]] = defaultdict(dict)
    for one in tried:
        by_task[one.group][one.gene] = one
    models, done, own, rows = list(dict.fromkeys(one.gene for one in tried)), set[str](), Past(), list[Row]()
    best = max(models, key=lambda model: sum(one.success for one in tried if one.gene == model))
    for one, past in walk(tried):
        if one.group not in done:
            done.add(one.group)
            chosen, key = {f"always {best}": best}, compute_signal_key(one.signals)
            for cheapest, told in ((False, ADVICE), (True, f"{ADVICE}, the cheapest not worse")):
                chosen[told] = past.advise(one, models, CausalSettings(), cheapest=cheapest).preferred_gene_id or models[0]
            chosen["best so far"] = max(models, key=past.rate)
            chosen["best of the type so far"] = max(models, key=lambda model: _rate_of(past, model, key))
            kept = own.advise(one, models, CausalSettings(), cheapest=False).preferred_gene_id or models[0]
            chosen[f"{ADVICE}, knowing its own choices only"] = kept
            of = by_task[one.group]
            own.learn(of[kept])
            most = max(other.success for other in of.values())
            told_of = {method: (float(most - of[model].success), float(of[model].runs[0].cost or 0.0)) for method, model in chosen.items()}
            rows.append({"group": one.group, "routes": told_of})
    return rows


def _score_routes(figures: _Figures, part: str = "which model") -> str:
    routes, words = [row["routes"] for row in figures.rows], []
    regrets = {method: np.array([of[method][0] for of in routes]) for method in routes[0]}
    for method, regret in regrets.items():
        found = figures.share(part, method, regret.tolist(), "regret")
        figures.share(part, method, [of[method][1] for of in routes], "seconds")
        if method != ADVICE:
            gain = figures.share(part, method, (regret - regrets[ADVICE]).tolist(), "advice gains")
            words.append(f"{_than(gain)} {method} ({found.value:.2f})")
    return f"The models that it prefers have a regret of {regrets[ADVICE].mean():.2f}: {', '.join(words)}."


_SETS: dict[str, Callable[[str, int], AdviceScore]] = {
    "taubench_airline": _score_taubench, "reflexion_alfworld": _score_reflexion, "local_runs": _score_local_runs}  # fmt: skip
