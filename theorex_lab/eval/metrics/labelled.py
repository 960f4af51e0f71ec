"""What rules find in messages that people labelled, compared with trivial baselines.

The labels name places in recorded sessions and public sets, never their words; the
Russian messages are self-written. The patterns of signals were chosen on some messages
and are reported on others: English ones that were drawn when the patterns were final,
and half of the Russian.
"""

import csv
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
SETS = {
    "signals": ("en", "ru"),
    "signals_en": ("en",),
    "signals_ru": ("ru",),
}
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
        digest = hashlib.sha256(self.talk.encode()).digest()
        is_odd = digest[4] % 2 == 1
        if self.drawn.startswith("fresh"):
            return "report"
        if is_odd and self.drawn == "written":
            return "report"
        return "make"


Method = Callable[[LabelledMessage], Signal]


def labelled_messages(language: str) -> list[LabelledMessage]:
    """Return the labelled messages with their texts: en, from the public sets, or ru.

    Raises:
        InvalidInput: A message is not the one that was labelled; or as `load_logs`.
    """
    name = f"signals_{language}.jsonl.gz"
    _, labels = read_lines(packaged(name), LabelledMessage, SIGNALS, 1)
    sets = {label.talk.partition("/")[0] for label in labels if not label.text}
    bodies: dict[str, Mapping[str, Any]] = {}
    for dataset in sorted(sets):
        for log in load_logs(dataset):
            bodies.update((event.id, event.body) for event in log.events)
    messages = []
    for label in labels:
        body = bodies.get(label.id, {"text": label.text})
        whole_text = str(body.get("text") or body.get("message", ""))
        text = whole_text[label.offset :]
        digest = hashlib.sha256(text.encode()).hexdigest()
        if digest[:HASH_CHARACTERS] != label.sha256:
            raise InvalidInput(
                f"got another message at {label.talk}, event {label.id}; restore {name} or the sets"
            )
        messages.append(replace(label, text=text))
    return messages


def score_signals(dataset: str = "signals", *, seed: int = 0) -> dict[str, Any]:
    """Score how signals are recognised in messages, compared with baselines.

    Args:
        dataset: signals (both), signals_en or signals_ru.
        seed: Draws the intervals.

    Returns:
        {dataset, n, metrics, baselines, make}. metrics, and those of each baseline, are
        of n messages that did not choose the patterns: for each category, for all of
        them by hits (micro) and by the mean of those labelled (macro), and for the
        level of the signal (high, low or none; all three shares are its accuracy)
        labelled, precision, recall and f1, the last three with a 95 % interval over
        talks (`_ci_low`, `_ci_high`), 0 where nothing was found. make: {n, metrics,
        baselines} of those that chose the patterns.

    Raises:
        InvalidInput: The set is another; or as `labelled_messages`.
    """
    if dataset not in SETS:
        raise InvalidInput(f"got data set {dataset!r}; allowed are {', '.join(SETS)}")
    by_half: dict[str, list[LabelledMessage]] = {"report": [], "make": []}
    for language in SETS[dataset]:
        for message in labelled_messages(language):
            by_half[message.half].append(message)
    report = _scored(by_half["report"], seed)
    make = _scored(by_half["make"], seed)
    return {"dataset": dataset, **report, "make": make}


def _scored(messages: Sequence[LabelledMessage], seed: int) -> dict[str, Any]:
    """Return the figures of every method on these messages."""
    figures = {}
    for name, method in METHODS.items():
        figures[name] = _figures(messages, method, seed)
    return {
        "n": len(messages),
        "metrics": figures.pop("this project"),
        "baselines": figures,
    }


def _figures(
    messages: Sequence[LabelledMessage], method: Method, seed: int
) -> dict[str, dict[str, float]]:
    """Return the figures of a method by row of ROWS, with intervals over talks."""
    counted = [_counted(message, method(message)) for message in messages]
    counts = np.array(counted, float)
    sums = counts.sum(0)
    talk_names = [message.talk for message in messages]
    _, talk_of_message = np.unique(talk_names, return_inverse=True)
    n_talks = int(talk_of_message.max()) + 1
    sums_by_talk = np.zeros((n_talks, *counts.shape[1:]))
    np.add.at(sums_by_talk, talk_of_message, counts)
    # In each draw, how often each talk is drawn.
    generator = np.random.default_rng(seed)
    chances = np.full(n_talks, 1 / n_talks)
    draws = generator.multinomial(n_talks, chances, size=BOOTSTRAPS)
    drawn_sums = np.tensordot(draws.astype(np.float64), sums_by_talk, 1)
    bounds = np.quantile(
        _shares(drawn_sums),
        [0.025, 0.975],
        axis=0,
    )
    with_bounds = np.stack([_shares(sums), *bounds], -1)
    shares = with_bounds.reshape(len(ROWS), -1).tolist()
    names: list[str] = []
    for share in SHARES:
        names += [share, f"{share}_ci_low", f"{share}_ci_high"]
    n_labelled = sums[: len(HIGH), 2].astype(int).tolist()
    n_all = sum(n_labelled)
    n_by_row = [*n_labelled, len(messages), n_all, n_all]
    figures: dict[str, dict[str, float]] = {}
    for row, n, values in zip(ROWS, n_by_row, shares, strict=True):
        figures[row] = {"labelled": n, **dict(zip(names, values, strict=True))}
    return figures


def _counted(message: LabelledMessage, signal: Signal) -> list[list[bool]]:
    """Return whether each category, and the signal, is hit, found and labelled."""
    counted = []
    for name in HIGH:
        is_found = name in signal.categories
        is_labelled = name in message.categories
        counted.append([is_found and is_labelled, is_found, is_labelled])
    counted.append([signal.signal == message.signal, True, True])
    return counted


def _shares(sums: Floats) -> Floats:
    """Return precision, recall and F1 of sums.

    Args:
        sums: Shape (…, categories and signal, 3).

    Returns:
        Shape (…, ROWS, 3).
    """
    n_categories = len(HIGH)
    micro = sums[..., :n_categories, :].sum(-2, keepdims=True)
    hits, n_found, labelled = np.moveaxis(
        np.concatenate([sums, micro], -2),
        -1,
        0,
    )
    precision = hits / np.maximum(n_found, 1)
    recall = hits / np.maximum(labelled, 1)
    f1 = hits / np.maximum((n_found + labelled) / 2, 1)
    shares = np.stack([precision, recall, f1], -1)
    # The mean over the categories that are labelled at all.
    is_labelled = labelled[..., :n_categories, None] > 0
    totals = (shares[..., :n_categories, :] * is_labelled).sum(-2, keepdims=True)
    n_labelled = is_labelled.sum(-2, keepdims=True)
    macro = totals / np.maximum(n_labelled, 1)
    return np.concatenate([shares, macro], -2)


def _by_words(form: str) -> Method:
    """Return a baseline: the words of a category.

    Args:
        form: A regular expression with a gap for the words.
    """
    patterns = {}
    for name, words in _WORDS.items():
        pattern = form.format("|".join(words))
        patterns[name] = re.compile(pattern, re.IGNORECASE)

    def signal(message: LabelledMessage) -> Signal:
        names = [name for name in patterns if patterns[name].search(message.text)]
        level = "high"
        if not names:
            level = "none"
        elif names == ["low"]:
            level = "low"
        return Signal(level, tuple(names), 1.0)

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
        values = []
        for (first, second), cosine in zip(self.texts, self.cosines, strict=True):
            values.append(compare(first, second, cosine))
        return np.array(values)


def sentence_pairs(dataset: str) -> Pairs:
    """Return the pairs of stsb, sick or fever_symmetric.

    Raises:
        InvalidInput: As `read_files`.
    """
    rows: list[tuple[str, str, float]] = []
    for file in read_files(DATASETS[dataset]).values():
        rows += _judged(dataset, file.data.decode())
    texts = [(first, second) for first, second, _ in rows]
    judgements = [float(judgement) for *_, judgement in rows]
    embedder = kept_embedder()
    first_vectors = embedder.embed([first for first, _ in texts])
    second_vectors = embedder.embed([second for _, second in texts])
    cosines: list[float | None] = [None] * len(texts)
    if embedder.kind == "semantic":
        cosines = (first_vectors * second_vectors).sum(axis=1).tolist()
    in_making_half = [_is_in_making_half(pair) for pair in texts]
    return Pairs(
        texts,
        np.array(judgements),
        cosines,
        np.array(in_making_half),
    )


def _is_in_making_half(pair: tuple[str, str]) -> bool:
    """Return whether a pair is of the half that made the rules, by its hash."""
    digest = hashlib.sha256("\n".join(pair).encode()).digest()
    return digest[0] % 2 == 0


def _judged(dataset: str, text: str) -> Iterator[tuple[str, str, float]]:
    """Yield both sentences of each pair in a file, and what people said of it."""
    lines = text.splitlines()
    if dataset == "stsb":
        return (
            (first, second, float(judgement) / 5)
            for first, second, judgement in csv.reader(lines)
        )
    if dataset == "sick":
        rows = csv.reader(
            lines[1:],
            "excel-tab",
            quoting=csv.QUOTE_NONE,
        )
        return ((row[1], row[2], row[4] == "CONTRADICTION") for row in rows)
    return (
        (row["evidence"], row["claim"], row["gold_label"] == "REFUTES")
        for row in map(json.loads, lines)
    )


def pearson(scores: Floats, judgements: Floats) -> float:
    """Return Pearson's correlation; 0 where either is the same for all pairs."""
    if not np.ptp(scores) or not np.ptp(judgements):
        return 0.0
    return float(np.corrcoef(scores, judgements)[0, 1])


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
    n_below = np.searchsorted(negatives, positives, "left")
    n_not_above = np.searchsorted(negatives, positives, "right")
    # Half of what is equal counts.
    twice_won = (n_below + n_not_above).mean()
    return float(twice_won / 2 / len(negatives))


def _overlap(
    first: str,
    second: str,
    longer_than: int = 0,
) -> float:
    """Return the Jaccard overlap of two texts' words of more than so many letters."""
    first_words = _words_longer_than(first, longer_than)
    second_words = _words_longer_than(second, longer_than)
    n_common = len(first_words & second_words)
    return n_common / max(1, len(first_words | second_words))


def _words_longer_than(text: str, n_letters: int) -> set[str]:
    return {word for word in _WORD.findall(text.lower()) if len(word) > n_letters}


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
        `_ci_low` and `_ci_high`. pearson: correlation with how alike people found them.
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
        `_ci_low` and `_ci_high`. auc: area under the ROC curve. precision, recall: of
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
        # More or less may say the same; the half that made the rules tells which.
        if pearson(scores[pairs.made], pairs.told[pairs.made]) < 0:
            scores = -scores
        method_cuts = {}
        for prefix, (shipped_cut, least_precision) in cuts.items():
            cut = shipped_cut
            if method != _OURS:
                cut = threshold(pairs, scores, least_precision)
            method_cuts[prefix] = cut
        figures[method] = _pair_figures(pairs, scores, measure, method_cuts, seed)
    return {
        "dataset": dataset,
        "n": int((~pairs.made).sum()),
        "metrics": figures.pop(_OURS),
        "baselines": figures,
        "thresholds": shipped,
    }


def threshold(
    pairs: Pairs,
    scores: Floats,
    least_precision: float = 0.0,
) -> float:
    """Return the lowest threshold with so much precision.

    It is chosen on the half that made the rules. Where no precision is asked, it is
    that of the largest F1.
    """
    values = scores[pairs.made]
    same = pairs.told[pairs.made] >= _SAME
    order = np.argsort(-values, kind="stable")
    hits = np.cumsum(same[order])
    n_called = np.arange(1, len(order) + 1)
    if least_precision:
        is_precise = hits >= least_precision * n_called
        worth = n_called * is_precise
    else:
        worth = hits / (n_called + same.sum())
    ordered = values[order]
    is_last_of_equals = np.append(np.diff(ordered) < 0, True)
    best = np.argmax(np.where(is_last_of_equals, worth, -1.0))
    return float(ordered[best])


def _pair_figures(
    pairs: Pairs, scores: Floats, measure: Measure, cuts: dict[str, float], seed: int
) -> dict[str, float]:
    """Return figures of the half that is reported."""
    values = scores[~pairs.made]
    judgements = pairs.told[~pairs.made]
    n_pairs = len(judgements)
    generator = np.random.default_rng(seed)
    draws = generator.integers(0, n_pairs, (BOOTSTRAPS, n_pairs))
    drawn = [measure(values[rows], judgements[rows]) for rows in draws]
    low, high = np.quantile(drawn, [0.025, 0.975]).tolist()
    interval = Interval(measure(values, judgements), low, high)
    figures = interval.named(measure.__name__)
    for prefix, cut in cuts.items():
        called = values >= cut
        same = judgements >= _SAME
        are_right = same[called] if called.any() else [False]
        precision = bootstrap_mean(are_right, seed)
        figures.update(precision.named(f"{prefix}precision"))
        recall = bootstrap_mean(called[same], seed)
        figures.update(recall.named(f"{prefix}recall"))
    return figures


def score_fact_updates(
    file: str = "", *, embedder: Embedder | None = None, seed: int = 0
) -> dict[str, Any]:
    """Score whether search finds the statement that holds now.

    Measured is a search without what `fact write` would have replaced, by all
    statements. Baselines are the search that ships, which compares the best results of
    each question; the same without comparing them; and "words alone", by BM25.

    Args:
        file: 1k or 8k, both where it is empty, or a log with questions and corrected
            statements, as `load_logs` names it.
        embedder: The installed one by default.
        seed: Draws the intervals.

    Returns:
        {dataset, n, metrics, baselines}, each metric with its 95 % interval (`_ci_low`,
        `_ci_high`) over the questions. right_first, stale_first: the first text found is
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
        "without comparing": [],
    }
    for log in load_logs(name):
        for probe, ids_by_method in _searched(log, embedder_used):
            for method, result_ids in ids_by_method.items():
                rows[method].append(_scores(probe, result_ids))
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


def _searched(
    log: EvalLog,
    embedder: Embedder,
) -> Iterator[tuple[EvalQuery, dict[str, Sequence[str]]]]:
    """Yield each question that has an answer, with the ids that each method finds."""
    hidden_ids = replaced(log)
    with remembering(log, embedder) as lab:
        for probe in log.probes:
            if not probe.answers:
                continue
            lexical_ids = found_by(lab, probe.query, "lexical").events
            shipped_ids = found_by(lab, probe.query, "default").events
            ships = lab.settings
            lab.settings = ships.replaced(search_superseding=False)
            all_ids = found_by(lab, probe.query, "default").events
            lab.settings = ships
            current_ids = [id for id in all_ids if id not in hidden_ids]
            yield (
                probe,
                {
                    "superseding": current_ids,
                    "words alone": lexical_ids,
                    "search that ships": shipped_ids,
                    "without comparing": all_ids,
                },
            )


def _scores(probe: EvalQuery, result_ids: Sequence[str]) -> list[float]:
    """Return the METRICS of what a search found for one question."""
    first = set(result_ids[:1])
    in_ten = probe.answers.issubset(result_ids[:10])
    many_in_ten = in_ten if len(probe.answers) > 1 else np.nan
    return [
        bool(first & probe.answers),
        bool(first & probe.stale),
        in_ten,
        many_in_ten,
    ]


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
