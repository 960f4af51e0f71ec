"""Score what a session is given of insights.

The scores say whether what fits is among it, and what does not is not, by each way to
rank them.
"""

import math
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from theorex_lab.core.clock import FixedClock
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.settings import check_settings
from theorex_lab.designs.research.design import DESIGN
from theorex_lab.designs.research.insights import distinct, ranked
from theorex_lab.designs.research.premises import PremiseIndex
from theorex_lab.designs.research.readers import closure_of_theories
from theorex_lab.designs.research.reading import theorems_in
from theorex_lab.eval.datasets import recorded_runs
from theorex_lab.eval.datasets.data_sets import data_set_folder
from theorex_lab.eval.datasets.log_sets.said import precisionmembench
from theorex_lab.eval.metrics.retrieval import kept_embedder, known_figures
from theorex_lab.memory.intervals import bootstrap_mean
from theorex_lab.search.embed import Embedder, HashedNgramEmbedder
from theorex_lab.store.lab import Lab

SETS = ("precisionmembench", "reflexion_alfworld")
_K = 4  # as the document gives
# By way: the settings of the design, and whether texts have vectors.
WAYS: Mapping[str, tuple[Mapping[str, Any], bool]] = {
    "search": ({"rank_by": "search"}, True),
    "search, words alone": ({"rank_by": "search"}, False),
    "cosine": ({"rank_by": "cosine"}, True),
    "newest": ({"rank_by": "cosine"}, False),
}


class InjectionCase(NamedTuple):
    """What is asked of insights.

    It is a query, the titles of those that fit, and of those that must not be given.
    """

    query: str
    right: frozenset[str]
    wrong: frozenset[str] = frozenset()


def score_injection(name: str, seed: int = 0) -> dict[str, Any]:
    """Score up to four insights that a query is given by `search`, beside other ways.

    Args:
        name: The set.
        seed: Draws the intervals.

    Returns:
        {dataset, n, metrics, baselines, published}. recall: share of what fits that is
        given. precision: share of what is given that fits; 1 where nothing is given and
        nothing fits. clean: share of cases in which nothing is given that must not be.

    Raises:
        InvalidInput: The set is another.
    """
    if name not in SETS:
        raise InvalidInput(f"got the data set {name!r}; allowed are {', '.join(SETS)}")
    if name == "precisionmembench":
        insights, cases = _beliefs()
    else:
        insights, cases = _reflections()
    rows = {}
    for way, (settings, vectors) in WAYS.items():
        rows[way] = _scored(insights, cases, settings, vectors, seed)
    metrics = rows.pop("search")
    published = known_figures(name)["published"]
    return {
        "dataset": name,
        "n": len(cases),
        "metrics": metrics,
        "baselines": rows,
        "published": published,
    }


def _beliefs() -> tuple[list[tuple[str, str]], list[InjectionCase]]:
    """Return the beliefs of precisionMemBench, and its cases.

    What a case does not list is wrong but for what always may stand there.
    """
    ((_, make),) = precisionmembench()
    log = make()
    texts = {event.id: event.body["text"] for event in log.events}
    cases = []
    for probe in log.probes:
        if probe.query.strip():
            cases.append(InjectionCase(probe.query, probe.answers, probe.stale))
    return list(texts.items()), cases


def _reflections() -> tuple[list[tuple[str, str]], list[InjectionCase]]:
    """Return Reflexion's reflections, and the cases made of them.

    Each that is not a task's first is looked for by the words of those that came before
    it.
    """
    reflexion = recorded_runs.fetch_reflexion_alfworld()
    by_task: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for number, written in enumerate(reflexion.reflections):
        title = f"reflection {number}"
        by_task[written.environment].append((title, written.text.strip()))
    texts: list[tuple[str, str]] = []
    cases: list[InjectionCase] = []
    for reflections in by_task.values():
        texts += reflections
        if len(reflections) < 2:
            continue
        titles = frozenset(title for title, _ in reflections)
        for title, text in reflections:
            cases.append(InjectionCase(text, titles - {title}))
    return texts, cases


@contextmanager
def taught(
    insights: Iterable[tuple[str, str]],
    embedder: Embedder,
    settings: Mapping[str, Any],
) -> Iterator[Lab]:
    """Yield a lab in a folder of its own with these insights: title and content."""
    clock = FixedClock(0)
    lab_settings = check_settings({"designs": {"research": dict(settings)}})
    scratch = tempfile.TemporaryDirectory(
        prefix="theorex-",
        ignore_cleanup_errors=True,
    )
    with ExitStack() as stack:
        folder = stack.enter_context(scratch)
        lab = Lab(
            folder,
            designs=[DESIGN],
            settings=lab_settings,
            embedder=embedder,
            clock=clock,
        )
        stack.enter_context(lab)
        for title, content in insights:
            clock.advance(seconds=1)
            lab.research.add_insight(
                "domain_knowledge",
                title,
                content,
                confidence=1.0,
            )
        if embedder.kind == "semantic":
            lab.searcher.vectors.embed_pending()
        yield lab


def _scored(
    insights: list[tuple[str, str]],
    cases: list[InjectionCase],
    settings: Mapping[str, Any],
    vectors: bool,
    seed: int,
) -> dict[str, float]:
    """Return recall, precision and clean of one way, with their intervals."""
    embedder: Embedder = HashedNgramEmbedder()
    if vectors:
        embedder = kept_embedder()
    rows = []
    with taught(insights, embedder, settings) as lab, lab.journal.decoding_once():
        for case in cases:
            titles = []
            for insight, _ in distinct(ranked(lab.home, case.query)):
                if insight.content != case.query:
                    titles.append(insight.title)
            rows.append(_case_scores(case, titles[:_K]))
    names = ("recall", "precision", "clean")
    figures: dict[str, float] = {}
    for name, column in zip(names, np.array(rows).T, strict=True):
        values = column[~np.isnan(column)]
        interval = bootstrap_mean(values, seed)
        figures.update(interval.named(name))
    return figures


def _case_scores(
    case: InjectionCase,
    titles: Sequence[str],
) -> tuple[float, float, float]:
    """Return recall (NaN where nothing fits), precision and clean of what is given."""
    n_right = sum(title in case.right for title in titles)
    n_wrong = sum(title in case.wrong for title in titles)
    recall = math.nan
    if case.right:
        recall = n_right / len(case.right)
    precision = float(not case.right)
    if titles:
        precision = n_right / len(titles)
    return recall, precision, float(not n_wrong)


GRAPHS = ("equational_theories", "metamath_ql", "pfr_blueprint")
_CREDITS = re.compile(r"\((?:Contributed|Revised|Proof|New usage).*")
_PREMISES = 10
_PREMISE_WAYS = ("premises", "most used", "text alone", "neighbours alone")


def set_folder(name: str) -> Path:
    """Return the folder of a set of theorems.

    Raises:
        InvalidInput: It is no such set.
        StorageError: It is not on this machine.
    """
    if name not in GRAPHS:
        raise InvalidInput(
            f"got the data set {name!r}; allowed are {', '.join(GRAPHS)}"
        )
    return data_set_folder(name)


def score_theorems(name: str, seed: int = 0) -> dict[str, Any]:
    """Return {dataset, n, metrics, baselines} of a set of theorems.

    For equational_theories its closure is scored, for pfr_blueprint what was read, for
    metamath_ql `premise_recall`.

    Raises:
        InvalidInput: As `set_folder`.
    """
    folder = set_folder(name)
    if name == "metamath_ql":
        return premise_recall(folder, seed)
    if name == "equational_theories":
        closure = closure_of_theories(folder)
        return {
            "dataset": name,
            "n": closure.nodes,
            "metrics": {
                "nodes": closure.nodes,
                "edges": closure.edges,
                "pairs": closure.pairs,
                "seconds": closure.seconds,
            },
            "baselines": {"published": {"pairs": 8_178_279}},
        }
    read = theorems_in(folder)
    names = {node for node, *_ in read.nodes}
    unresolved = sum(end not in names for _, end, _ in read.links)
    metrics = {
        "nodes": len(read.nodes),
        "links": len(read.links),
        "unresolved": unresolved,
        "problems": len(read.problems),
    }
    return {
        "dataset": name,
        "n": len(read.nodes),
        "metrics": metrics,
        "baselines": {"counted": {"nodes": 218, "links": 497}},
    }


def premise_recall(folder: Path, seed: int = 0) -> dict[str, Any]:
    """Return the recall of ten premises of each theorem, by what stands before it.

    Theorems are asked for in the order of the file. Weights were chosen on the first
    half. metrics: of the second half and of all.  baselines: the most used, likeness of
    texts alone, what neighbours use alone.
    """
    read = theorems_in(folder)
    number_of: dict[str, int] = {}
    premises_of: dict[str, list[int]] = {}
    for number, (name, *_) in enumerate(read.nodes):
        number_of[name] = number
        premises_of[name] = []
    for start, end, _ in read.links:
        premises_of[start].append(number_of[end])
    index = PremiseIndex()
    hits: dict[str, list[float]] = {way: [] for way in _PREMISE_WAYS}
    for name, statement, _ in read.nodes:
        comment = _CREDITS.sub("", read.comments[name])
        premises = premises_of[name]
        if premises and len(index):
            for way, suggested in _suggestions(index, statement, comment).items():
                n_hits = len(set(premises).intersection(suggested))
                hits[way].append(n_hits / len(premises))
        index.add(statement, premises, comment)
    half = len(hits["premises"]) // 2
    rows = {}
    for way, recalls in hits.items():
        overall = bootstrap_mean(np.array(recalls), seed)
        later = bootstrap_mean(np.array(recalls[half:]), seed)
        rows[way] = {
            **overall.named("recall@10"),
            **later.named("second_half"),
        }
    metrics = rows.pop("premises")
    return {
        "dataset": "metamath_ql",
        "n": len(hits["premises"]),
        "metrics": metrics,
        "baselines": rows,
    }


def _suggestions(
    index: PremiseIndex, statement: str, comment: str
) -> dict[str, list[int]]:
    """Return by way the ten premises that it suggests for a statement."""
    suggested = index.suggest(statement, _PREMISES, comment)
    return {
        "premises": [premise for premise, _ in suggested],
        "most used": _ten_highest(index.uses()),
        "text alone": _ten_highest(index.likeness(statement, comment)),
        "neighbours alone": _ten_highest(index.votes(statement, comment)),
    }


def _ten_highest(values: Any) -> list[int]:
    """Return the positions of the ten highest values; of equal ones the first."""
    order = np.argsort(-values, kind="stable")
    highest: list[int] = order[:_PREMISES].tolist()
    return highest
