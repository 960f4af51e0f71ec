"""What rules find in messages that people labelled, beside trivial baselines.

The labels name places in recorded sessions and public sets, never their words; the
Russian messages are self-written. The patterns of signals were chosen on some messages
and are reported on others: English ones that were drawn when the patterns were final,
and half of the Russian.
"""

import csv
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.facts import pairs as facts
from theorex_lab.designs.facts.signals import HIGH, Signal, signal_of
from theorex_lab.designs.facts.superseding import Superseding
from theorex_lab.eval.adapters.protocol import EvalLog, EvalQuery
from theorex_lab.eval.datasets.dataset_files import read_files
from theorex_lab.eval.datasets.dataset_table import DATASETS
from theorex_lab.eval.datasets.logs import load_logs
from theorex_lab.eval.datasets.sources import packaged, read_lines
from theorex_lab.eval.metrics.retrieval import found_by, kept_embedder, remembering
from theorex_lab.memory.intervals import BOOTSTRAPS, Floats, Interval, bootstrap_mean
from theorex_lab.search.embed import Embedder
from theorex_lab.text.spoken import Speaker

HASH_CHARACTERS = 12
SIGNALS = {"labels": "signals"}
SETS = {"signals": ("en", "ru"), "signals_en": ("en",), "signals_ru": ("ru",)}
ROWS = (*HIGH, "signal", "micro", "macro")
SHARES = ("precision", "recall", "f1")
# The words that the document names for each category of signals, and those of its
# examples: patterns.
_WORDS = {
    "preference": (
        "prefer",
        "like",
        "love",
        "favou?rite",
        "hate",
        "better to use",
        "предпочита",
        "нравится",
        "люблю",
        "ненавижу",
        "любимый",
    ),
    "decision": (
        "decided",
        "let's go with",
        "decision",
        "agreed",
        "решил",
        "решили",
        "решено",
        "выбрали",
        "договорились",
    ),
    "correction": (
        "in fact",
        "actually",
        "i meant",
        "wrong",
        "mistake",
        "на самом деле",
        "имел в виду",
        "ошибся",
        "ошибка",
        "вообще-то",
    ),
    "milestone": (
        "launched",
        "deployed",
        "released",
        "finished",
        "done",
        "запустили",
        "закончил",
        "закончила",
        "готово",
        "сделано",
    ),
    "instruction": (
        "remember",
        "always",
        "never",
        "keep in mind",
        "don't forget",
        "запомни",
        "всегда",
        "никогда",
        "не забудь",
    ),
    "identity": (
        "my name",
        "i'm",
        "i am",
        "i work",
        "i live",
        "years old",
        "меня зовут",
        "я живу",
        "работаю",
        "родился",
        "мне .* лет",
    ),
    "low": (
        "working on",
        "project",
        "task",
        "need",
        "try",
        "работаю над",
        "проект",
        "задач",
        "нужно",
        "надо",
    ),
}


@dataclass(frozen=True, slots=True)
class LabelledMessage:
    """A message and what it is labelled to signal.

    It is named by its position in a public set, or self-written.

    Attributes:
        talk: The conversation or session that it is of.
        id: The id of the event.
        offset: Where in the event's text the message begins.
        drawn: At random, or by the words of which category.
        text: In the file only where it is self-written.
    """

    talk: str
    id: str
    offset: int
    sha256: str
    drawn: str
    signal: str
    categories: tuple[str, ...]
    by: Speaker = "user"
    text: str = ""

    @property
    def half(self) -> str:
        """Return the half that the message is of, make or report.

        The patterns were chosen on make. They were not on report: the English ones were
        drawn and labelled when the patterns were final.
        """
        odd = hashlib.sha256(self.talk.encode()).digest()[4] % 2
        return (
            "report"
            if (odd and self.drawn == "written") or self.drawn.startswith("fresh")
            else "make"
        )


Method = Callable[[LabelledMessage], Signal]


def labelled_messages(language: str) -> list[LabelledMessage]:
    """Return the labelled messages with their texts: en, from the public sets, or ru.

    Raises:
        InvalidInput: A message is not the one that was labelled; or as `load_logs`.
    """
    name = f"signals_{language}.jsonl.gz"
    labels = read_lines(packaged(name), LabelledMessage, SIGNALS, 1)[1]
    sets = sorted({label.talk.partition("/")[0] for label in labels if not label.text})
    bodies = {
        event.id: event.body
        for dataset in sets
        for log in load_logs(dataset)
        for event in log.events
    }
    messages = []
    for label in labels:
        body = bodies.get(label.id, {"text": label.text})
        text = str(body.get("text") or body.get("message", ""))[label.offset :]
        if hashlib.sha256(text.encode()).hexdigest()[:HASH_CHARACTERS] != label.sha256:
            raise InvalidInput(
                f"got another message at {label.talk}, event {label.id}; restore {name} or the sets"
            )
        messages.append(replace(label, text=text))
    return messages


def score_signals(dataset: str = "signals", *, seed: int = 0) -> dict[str, Any]:
    """Score how signals are told from messages, beside baselines.

    Args:
        dataset: signals (both), signals_en or signals_ru.
        seed: Draws the intervals.

    Returns:
        {dataset, n, metrics, baselines, make}. metrics, and those of each baseline, are
        of n messages that did not choose the patterns: for each category, for all of
        them by hits (micro) and by the mean of those labelled (macro), and for the
        level of the signal (high, low or none; all three shares are its accuracy)
        labelled, precision, recall and f1, the last three with a 95 % interval over
        talks (`_low`, `_high`), 0 where nothing was found. make: {n, metrics,
        baselines} of those that chose the patterns.

    Raises:
        InvalidInput: The set is another; or as `labelled_messages`.
    """
    if dataset not in SETS:
        raise InvalidInput(f"got data set {dataset!r}; allowed are {', '.join(SETS)}")
    messages = [
        message for language in SETS[dataset] for message in labelled_messages(language)
    ]
    report, make = (
        _scored([labelled for labelled in messages if labelled.half == half], seed)
        for half in ("report", "make")
    )
    return {"dataset": dataset, **report, "make": make}


def _scored(messages: Sequence[LabelledMessage], seed: int) -> dict[str, Any]:
    figures = {
        method: _figures(messages, signal, seed) for method, signal in METHODS.items()
    }
    return {
        "n": len(messages),
        "metrics": figures.pop("this project"),
        "baselines": figures,
    }


def _figures(
    messages: Sequence[LabelledMessage], method: Method, seed: int
) -> dict[str, dict[str, float]]:
    counts = np.array(
        [_counted(message, method(message)) for message in messages], float
    )
    _, member = np.unique([message.talk for message in messages], return_inverse=True)
    n_talks = int(member.max()) + 1
    talks = np.zeros((n_talks, *counts.shape[1:]))
    np.add.at(talks, member, counts)
    draws = (
        np.random.default_rng(seed)
        .multinomial(n_talks, np.full(n_talks, 1 / n_talks), size=BOOTSTRAPS)
        .astype(np.float64)
    )
    bounds = np.quantile(_shares(np.tensordot(draws, talks, 1)), [0.025, 0.975], axis=0)
    shares = (
        np.stack([_shares(counts.sum(0)), *bounds], -1).reshape(len(ROWS), -1).tolist()
    )
    names = [share + end for share in SHARES for end in ("", "_low", "_high")]
    n_labelled = counts.sum(0)[: len(HIGH), 2].astype(int).tolist()
    rows = zip(
        ROWS,
        [*n_labelled, len(messages), sum(n_labelled), sum(n_labelled)],
        shares,
        strict=True,
    )
    return {
        row: {"labelled": labelled, **dict(zip(names, figures, strict=True))}
        for row, labelled, figures in rows
    }


def _counted(message: LabelledMessage, signal: Signal) -> list[list[bool]]:
    """Return whether each category, and the signal, is hit, found and labelled."""
    pairs = [(name in signal.categories, name in message.categories) for name in HIGH]
    return [
        *([a and b, a, b] for a, b in pairs),
        [signal.signal == message.signal, True, True],
    ]


def _shares(sums: Floats) -> Floats:
    """Return precision, recall and F1 of sums.

    Args:
        sums: Shape (…, categories and signal, 3).

    Returns:
        Shape (…, ROWS, 3).
    """
    sums = np.concatenate([sums, sums[..., : len(HIGH), :].sum(-2, keepdims=True)], -2)
    hits, n_found, labelled = np.moveaxis(sums, -1, 0)
    shares = np.stack(
        [
            hits / np.maximum(totals, 1)
            for totals in (n_found, labelled, (n_found + labelled) / 2)
        ],
        -1,
    )
    is_labelled = labelled[..., : len(HIGH), None] > 0
    macro = (shares[..., : len(HIGH), :] * is_labelled).sum(
        -2, keepdims=True
    ) / np.maximum(is_labelled.sum(-2, keepdims=True), 1)
    return np.concatenate([shares, macro], -2)


def _by_words(form: str) -> Method:
    """Return a baseline: the words of a category.

    Args:
        form: A regular expression with a gap for the words.
    """
    patterns = {
        name: re.compile(form.format("|".join(words)), re.IGNORECASE)
        for name, words in _WORDS.items()
    }

    def signal(message: LabelledMessage) -> Signal:
        categories = tuple(
            name for name, pattern in patterns.items() if pattern.search(message.text)
        )
        return Signal(
            "none" if not categories else "low" if categories == ("low",) else "high",
            categories,
            1.0,
        )

    return signal


METHODS: dict[str, Method] = {
    "this project": lambda message: signal_of(message.text, message.by),
    "document's words": _by_words("{}"),
    "whole words": _by_words(r"\b(?:{})\b"),
    "every category": lambda _: Signal("high", HIGH, 1.0),
    "always none": lambda _: Signal("none", (), 1.0),
}


Compare = Callable[[str, str, float | None], float]
Measure = Callable[[Floats, Floats], float]
Cuts = dict[str, tuple[float, float]]
# judgement from which two sentences say the same: 4 of 5, "details differ that do not
# matter"
_SAME = 0.8
_SAFE = 0.9  # the least precision of what may be skipped
_OURS = "this project"
_WORD = re.compile(r"\w+")
METRICS = ("right_first", "stale_first", "in_ten", "many_in_ten")


class Pairs(NamedTuple):
    """Pairs of sentences.

    Attributes:
        told: What people said of each, 0..1: how alike they are, or whether they
            contradict each other.
        cosines: None where no model is installed.
        made: Whether a pair is of the half that made the rules.
    """

    texts: list[tuple[str, str]]
    told: Floats
    cosines: list[float | None]
    made: NDArray[np.bool_]

    def by(self, compare: Compare) -> Floats:
        """Return what a comparison says of each pair."""
        return np.array(
            [
                compare(*pair, near)
                for pair, near in zip(self.texts, self.cosines, strict=True)
            ]
        )


def sentence_pairs(dataset: str) -> Pairs:
    """Return the pairs of stsb, sick or fever_symmetric.

    Raises:
        InvalidInput: As `read_files`.
    """
    rows = [
        row
        for file in read_files(DATASETS[dataset]).values()
        for row in _judged(dataset, file.data.decode())
    ]
    texts = [row[:2] for row in rows]
    in_making_half = [
        hashlib.sha256("\n".join(pair).encode()).digest()[0] % 2 == 0 for pair in texts
    ]
    embedder = kept_embedder()
    first, second = (embedder.embed(list(side)) for side in zip(*texts, strict=True))
    cosines = (
        (first * second).sum(axis=1).tolist()
        if embedder.kind == "semantic"
        else [None] * len(texts)
    )
    return Pairs(
        texts,
        np.array([float(row[2]) for row in rows]),
        cosines,
        np.array(in_making_half),
    )


def _judged(dataset: str, text: str) -> Iterator[tuple[str, str, float]]:
    """Yield both sentences of each pair in a file, and what people said of it."""
    lines = text.splitlines()
    if dataset == "stsb":
        return (
            (first, second, float(judgement) / 5)
            for first, second, judgement in csv.reader(lines)
        )
    if dataset == "sick":
        rows = csv.reader(lines[1:], "excel-tab", quoting=csv.QUOTE_NONE)
        return ((row[1], row[2], row[4] == "CONTRADICTION") for row in rows)
    return (
        (row["evidence"], row["claim"], row["gold_label"] == "REFUTES")
        for row in map(json.loads, lines)
    )


def pearson(scores: Floats, judgements: Floats) -> float:
    """Return Pearson's correlation; 0 where either is the same for all pairs."""
    return (
        float(np.corrcoef(scores, judgements)[0, 1])
        if np.ptp(scores) and np.ptp(judgements)
        else 0.0
    )


def auc(scores: Floats, judgements: Floats) -> float:
    """Return the area under the ROC curve.

    It is the share of pairs of a contradiction and another in which the contradiction
    scores higher; equal scores count half.

    >>> auc(np.array([0.1, 0.9, 0.9]), np.array([0.0, 1.0, 0.0]))
    0.75
    """
    positives = scores[judgements > 0]
    negatives = np.sort(scores[judgements <= 0])
    if not len(positives) or not len(negatives):
        return 0.5
    return float(
        (
            np.searchsorted(negatives, positives, "left")
            + np.searchsorted(negatives, positives, "right")
        ).mean()
        / 2
        / len(negatives)
    )


def _overlap(first: str, second: str, longer_than: int = 0) -> float:
    left, right = (
        {word for word in _WORD.findall(text.lower()) if len(word) > longer_than}
        for text in (first, second)
    )
    return len(left & right) / max(1, len(left | right))


_TRIVIAL: dict[str, Compare] = {
    "cosine": lambda _first, _second, near: near or 0.0,
    "word overlap": lambda first, second, _: _overlap(first, second),
}


def score_duplicates(dataset: str = "stsb", *, seed: int = 0) -> dict[str, Any]:
    """Score how duplicates are told, each metric with its 95 % interval over pairs.

    Baselines have the thresholds that the same rules choose on the other half.

    Args:
        dataset: stsb.
        seed: Draws the intervals.

    Returns:
        {dataset, n, metrics, baselines, thresholds}, the bounds of the intervals as
        `_low` and `_high`. pearson: correlation with how alike people found them.
        precision, recall: of NEAR_DUPLICATE, where people gave 4 of 5 or more.
        warn_precision, warn_recall: of NEAR_WARN.

    Raises:
        InvalidInput: The set is another.
    """
    methods: dict[str, Compare] = {
        _OURS: facts.likeness,
        "words alone": lambda first, second, _: facts.likeness(first, second),
        "words over three letters": lambda first, second, _: _overlap(first, second, 3),
    }
    cuts = {"": (facts.NEAR_DUPLICATE, _SAFE), "warn_": (facts.NEAR_WARN, 0.0)}
    return _score(dataset, "stsb", pearson, methods, cuts, seed)


def score_contradictions(
    dataset: str = "fever_symmetric", *, seed: int = 0
) -> dict[str, Any]:
    """Score how contradictions are told, each metric with its 95 % interval over pairs.

    The better of more and less counts for baselines, with the threshold of the largest
    F1 on the other half of this very set.

    Args:
        dataset: fever_symmetric or sick.
        seed: Draws the intervals.

    Returns:
        {dataset, n, metrics, baselines, thresholds}, the bounds of the intervals as
        `_low` and `_high`. auc: area under the ROC curve. precision, recall: of
        CONTRADICTS.

    Raises:
        InvalidInput: The set is another.
    """
    methods: dict[str, Compare] = {
        _OURS: facts.contradiction,
        "negation": lambda *pair: float(
            len({facts.sentence_words(str(text)).negative for text in pair[:2]}) > 1
        ),
    }
    return _score(
        dataset,
        "fever_symmetric, sick",
        auc,
        methods,
        {"": (facts.CONTRADICTS, 0.0)},
        seed,
    )


def _score(
    dataset: str,
    allowed: str,
    measure: Measure,
    methods: dict[str, Compare],
    cuts: Cuts,
    seed: int,
) -> dict[str, Any]:
    """Score methods on the pairs of a set.

    Args:
        dataset: The name of the set.
        allowed: The sets that are allowed.
        measure: The measure of the scores as a whole.
        methods: The comparisons.
        cuts: By the beginning of a metric's name the threshold that ships, and the
            least precision that it was chosen by.
        seed: Draws the intervals.
    """
    if dataset not in allowed.split(", "):
        raise InvalidInput(f"got data set {dataset!r}; allowed: {allowed}")
    pairs = sentence_pairs(dataset)
    figures = {}
    shipped = {prefix: cut for prefix, (cut, _) in cuts.items()}
    for method, compare in (methods | _TRIVIAL).items():
        scores = pairs.by(compare)
        scores = (
            scores
            if pearson(scores[pairs.made], pairs.told[pairs.made]) >= 0
            else -scores
        )
        fitted = {
            prefix: threshold(pairs, scores, least)
            for prefix, (_, least) in cuts.items()
        }
        figures[method] = _pair_figures(
            pairs, scores, measure, shipped if method == _OURS else fitted, seed
        )
    result = {
        "dataset": dataset,
        "n": int((~pairs.made).sum()),
        "metrics": figures.pop(_OURS),
    }
    return {**result, "baselines": figures, "thresholds": shipped}


def threshold(pairs: Pairs, scores: Floats, least_precision: float = 0.0) -> float:
    """Return the lowest threshold with so much precision.

    It is chosen on the half that made the rules. Where no precision is asked, it is
    that of the largest F1.
    """
    values = scores[pairs.made]
    same = pairs.told[pairs.made] >= _SAME
    order = np.argsort(-values, kind="stable")
    hits = np.cumsum(same[order])
    n_called = np.arange(1, len(order) + 1)
    values_of_cut = (
        n_called * (hits >= least_precision * n_called)
        if least_precision
        else hits / (n_called + same.sum())
    )
    is_last_of_equals = np.append(np.diff(values[order]) < 0, True)
    return float(
        values[order][np.argmax(np.where(is_last_of_equals, values_of_cut, -1.0))]
    )


def _pair_figures(
    pairs: Pairs, scores: Floats, measure: Measure, cuts: dict[str, float], seed: int
) -> dict[str, float]:
    """Return figures of the half that is reported."""
    values = scores[~pairs.made]
    judgements = pairs.told[~pairs.made]
    draws = np.random.default_rng(seed).integers(
        0, len(judgements), (BOOTSTRAPS, len(judgements))
    )
    low, high = np.quantile(
        [measure(values[rows], judgements[rows]) for rows in draws], [0.025, 0.975]
    ).tolist()
    figures = Interval(measure(values, judgements), low, high).named(measure.__name__)
    for prefix, cut in cuts.items():
        called = values >= cut
        same = judgements >= _SAME
        figures |= bootstrap_mean(
            same[called] if called.any() else [False], seed
        ).named(f"{prefix}precision")
        figures |= bootstrap_mean(called[same], seed).named(f"{prefix}recall")
    return figures


def score_fact_updates(
    file: str = "", *, embedder: Embedder | None = None, seed: int = 0
) -> dict[str, Any]:
    """Score whether search finds the statement that holds now.

    Baselines are the search that ships without superseding, and "words alone", which
    searches by BM25.

    Args:
        file: 1k or 8k, both where it is empty, or a log with questions and corrected
            statements, as `load_logs` names it.
        embedder: The installed one by default.
        seed: Draws the intervals.

    Returns:
        {dataset, n, metrics, baselines}, each metric with its 95 % interval (`_low`,
        `_high`) over the questions. right_first, stale_first: the first text found is
        one that answers, or one that was corrected. in_ten: all that answer are among
        the first ten; many_in_ten: the same of questions that several statements
        answer.

    Raises:
        InvalidInput: The log is unknown, or no statement answers its questions.
    """
    name = f"fact_updates/{file}" if file in ("1k", "8k") else file or "fact_updates"
    embedder_used = embedder or kept_embedder()
    rows: dict[str, list[list[float]]] = {
        "superseding": [],
        "words alone": [],
        "search that ships": [],
    }
    for log in load_logs(name):
        hidden = replaced(log)
        with remembering(log, embedder_used) as lab:
            for probe in log.probes:
                if not probe.answers:
                    continue
                lexical_ids = found_by(lab, probe.query, "lexical").events
                shipped_ids = found_by(lab, probe.query, "default").events
                current_ids = [id for id in shipped_ids if id not in hidden]
                rows["superseding"].append(_scores(probe, current_ids))
                rows["words alone"].append(_scores(probe, lexical_ids))
                rows["search that ships"].append(_scores(probe, shipped_ids))
    n = len(rows["superseding"])
    if not n:
        raise InvalidInput(
            f"got {name!r} without a question that a statement answers; give a log with"
            " both"
        )
    figures = {method: _pair_shares(row, seed) for method, row in rows.items()}
    return {
        "dataset": name,
        "n": n,
        "metrics": figures.pop("superseding"),
        "baselines": figures,
    }


def _scores(probe: EvalQuery, result_ids: Sequence[str]) -> list[float]:
    """Return the METRICS of what a search found for one question."""
    first = set(result_ids[:1])
    in_ten = probe.answers.issubset(result_ids[:10])
    many_in_ten = in_ten if len(probe.answers) > 1 else np.nan
    return [bool(first & probe.answers), bool(first & probe.stale), in_ten, many_in_ten]


def _pair_shares(rows: Sequence[Sequence[float]], seed: int) -> dict[str, float]:
    """Return the mean of each of METRICS, NaN left out, with its interval."""
    figures: dict[str, float] = {}
    for metric, column in zip(METRICS, np.array(rows, float).T, strict=True):
        values = column[~np.isnan(column)]
        if len(values):
            figures |= bootstrap_mean(values, seed).named(metric)
    return figures


def replaced(log: EvalLog) -> set[str]:
    """Return ids of the statements that no longer hold at the end of a log.

    `Superseding` decides it.
    """
    facts = Superseding()
    for event in log.events:
        facts.add(event.id, str(event.body["text"]))
    return {event.id for event in log.events} - set(facts.active())
