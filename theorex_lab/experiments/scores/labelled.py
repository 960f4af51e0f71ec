"""What rules find in sentences and messages that people labelled, beside trivial baselines.

The labels name places in recorded sessions and public sets, never their words; the Russian messages are self-written.
Sessions are halved by the SHA-256 of their name: the rules for sentences were made on one half and are reported on the other,
though one hand labelled both before they were final. The patterns of signals were chosen on some messages and are reported on
others: English ones that were drawn when the patterns were final, and half of the Russian.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from theorex_lab.designs.facts.signals import HIGH, Signal, signal_of
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.dataset_files import DATASETS, read_files
from theorex_lab.experiments.data.logs import load_logs
from theorex_lab.experiments.data.sources import packaged, read_lines
from theorex_lab.memory.intervals import BOOTSTRAPS, Floats, Interval, bootstrap_mean
from theorex_lab.memory.rows import Rows
from theorex_lab.text.directives import directive_of
from theorex_lab.text.sections import read_sections
from theorex_lab.text.spoken import Span, Speaker, sentences_of, worth

LABELS = "sentence_labels.jsonl.gz"
HASH_CHARACTERS = 12
SENTENCES, SIGNALS = {"labels": "sentences"}, {"labels": "signals"}
SETS = {"signals": ("en", "ru"), "signals_en": ("en",), "signals_ru": ("ru",)}
ROWS = (*HIGH, "signal", "micro", "macro")
SHARES = ("precision", "recall", "f1")
# By category.
_WORDS = dict(line.split(" = ") for line in read_sections(__file__, "signal_words.txt")["words"].splitlines())
_CUE = re.compile(r"(?i)\b(?:always|never|don['’]?t|must|should)\b")
_DIRECTIVE, _WORTH = 3, 4  # where a labelled sentence says what it is
# What is looked for, and among which turns: said by whom, drawn how.
_TASKS: tuple[tuple[str, int, str, str], ...] = (
    ("directives of prompts", _DIRECTIVE, "user", "random"), ("directives of cued prompts", _DIRECTIVE, "user", "cued"),
    ("worth keeping of prompts", _WORTH, "user", "random"), ("worth keeping of messages", _WORTH, "agent", "random"),
)  # fmt: skip
_Chosen = Callable[[list[Span], int, Speaker], Sequence[Span]]


@dataclass(frozen=True, slots=True)
class LabelledTurn:
    """A prompt or last message by its place in the recorded sessions, and what is labelled in it.

    session, event: whose how many-th line, from 0.  by: user or agent.  drawn: at "random", or among the "cued": prompts
    with a word of command.
    sentences: (start, end, beginning of the SHA-256 of text[start:end], directive, worth); directive: rule, correction or
    none; worth: decision, discovery, feature, change or none. A sentence that is not there is none of them.
    """

    session: str
    event: int
    by: Speaker
    drawn: str
    sentences: tuple[tuple[int, int, str, str, str], ...]

    @property
    def half(self) -> str:
        """make: seen while the rules were made; report: not."""
        return "report" if hashlib.sha256(self.session.encode()).digest()[3] % 2 else "make"


_Texts = list[tuple[LabelledTurn, str]]


class SentenceScores(Rows[dict[str, Any]]):
    """How well methods find labelled sentences: a row a task, half and method.

    A row holds task (what is looked for), half, method, turns, labelled and found (sentences), and precision, recall and
    f1, 2 hits / (labelled + found), each a share with its 95 % interval over sessions (`_low`, `_high`).
    types_right: share of the right type among the sentences of the report half that are rightly held worth keeping.
    """

    types_right: float = 0.0

    def result(self) -> dict[str, Any]:
        """{dataset, n, methods, types_right}; n: labelled turns."""
        told = [row for row in self if row["method"] == "rules" and row["task"] != "worth keeping of prompts"]
        n = sum(row["turns"] for row in told)
        return {"dataset": "coding_sessions", "n": n, "methods": self.to_dict(), "types_right": self.types_right}


def labelled_texts() -> list[tuple[LabelledTurn, str]]:
    """The labelled turns with their texts, from the recorded sessions.

    Raises InvalidInput where a labelled sentence is not the one that was labelled, and as `read_files` does.
    """
    turns = read_lines(packaged(LABELS), LabelledTurn, SENTENCES, 1)[1]
    counts, texts = Counter[str](), dict[tuple[str, int], str]()
    for line in read_files(DATASETS["coding_sessions"])["getspecstory.jsonl"].data.decode().splitlines():
        event = json.loads(line)
        texts[event["session"], counts[event["session"]]] = event.get("prompt") or event.get("agent_text") or ""
        counts[event["session"]] += 1
    found = [(turn, texts.get((turn.session, turn.event), "")) for turn in turns]
    for turn, text in found:
        for start, end, digest, *_ in turn.sentences:
            if hashlib.sha256(text[start:end].encode()).hexdigest()[:HASH_CHARACTERS] != digest:
                place = f"{turn.session}, event {turn.event}, {start}"
                raise InvalidInput(f"got another sentence at {place}; restore {LABELS} or the sessions")
    return found


def score_sentences(*, seed: int = 0) -> SentenceScores:
    """Precision, recall and F1 of the rules and of trivial baselines on both halves; see SentenceScores.

    Baselines choose among the same sentences as the rules do. Raises as `labelled_texts`.
    """
    texts, rows = labelled_texts(), []
    for (task, column, *of), half in product(_TASKS, ("make", "report")):
        among = [(turn, text) for turn, text in texts if [turn.by, turn.drawn, turn.half] == [*of, half]]
        for method, choose in _METHODS.items():
            rows.append({"task": task, "half": half, "method": method, **_score(among, column, choose, seed)})
    scores = SentenceScores(rows)
    scores.types_right = _types_right([pair for pair in texts if pair[0].half == "report"])
    return scores


def _by_rules(spans: list[Span], column: int, by: Speaker) -> list[Span]:
    if column == _WORTH:
        return [span for span in spans if worth(span.text, by)[0] != "none"]
    found = [(span, directive_of(span)) for span in spans]
    return [span for span, said in found if said is not None and (said.stands or said.kind == "correction")]


# Of a turn's sentences those that a method chooses; the rules go by what is looked for, and by who speaks.
_METHODS: dict[str, _Chosen] = {
    "rules": _by_rules,
    "cue word": lambda spans, *_: [span for span in spans if _CUE.search(span.text)],
    "every sentence": lambda spans, *_: spans,
    "longest sentence": lambda spans, *_: sorted(spans, key=lambda span: -len(span.text))[:1],
    "first sentence": lambda spans, *_: spans[:1],
}


def _score(among: _Texts, column: int, choose: _Chosen, seed: int) -> dict[str, float]:
    hits, recalled = list[tuple[str, bool]](), list[tuple[str, bool]]()
    for turn, text in among:
        wanted = [label for label in turn.sentences if label[column] != "none"]
        chosen = choose(sentences_of(text, turn.by), column, turn.by)
        hits += [(turn.session, any(_meets(span, label) for label in wanted)) for span in chosen]
        recalled += [(turn.session, any(_meets(span, label) for span in chosen)) for label in wanted]
    scored: dict[str, float] = {"turns": len(among), "labelled": len(recalled), "found": len(hits)}
    for name, values in {"precision": hits, "recall": recalled, "f1": hits + recalled}.items():
        right, sessions = [hit for _, hit in values], [session for session, _ in values]
        scored |= (bootstrap_mean(right, seed, groups=sessions) if right else Interval(0.0, 0.0, 1.0)).named(name)
    return scored


def _meets(span: Span, label: Sequence[int | str]) -> bool:
    """Whether they share half of the shorter of them: sentences may be cut in more than one way."""
    start, end = int(label[0]), int(label[1])
    return 2 * (min(span.end, end) - max(span.start, start)) >= min(span.end - span.start, end - start)


def _types_right(texts: _Texts) -> float:
    right: list[bool] = []
    for turn, text in texts:
        for span, label in product(sentences_of(text, turn.by), turn.sentences):
            said = {worth(span.text, turn.by)[0], label[_WORTH]}
            if turn.drawn == "random" and "none" not in said and _meets(span, label):
                right.append(len(said) == 1)
    return sum(right) / max(1, len(right))


@dataclass(frozen=True, slots=True)
class LabelledMessage:
    """A message by its place in a public set, or self-written, and what it is labelled to signal.

    talk: the conversation or session that it is of.  id, offset: of the event, and where in its text the message begins.
    drawn: at random, or by the words of which category.  text: in the file only where it is self-written.
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
        """make: the patterns were chosen on it; report: not, the English ones were drawn and labelled when they were final."""
        odd = hashlib.sha256(self.talk.encode()).digest()[4] % 2
        return "report" if (odd and self.drawn == "written") or self.drawn.startswith("fresh") else "make"


Method = Callable[[LabelledMessage], Signal]


def labelled_messages(language: str) -> list[LabelledMessage]:
    """The labelled messages with their texts: en, from the public sets, or ru.

    Raises InvalidInput where a message is not the one that was labelled, and as `load_logs` does.
    """
    name = f"signals_{language}.jsonl.gz"
    labels = read_lines(packaged(name), LabelledMessage, SIGNALS, 1)[1]
    sets = sorted({label.talk.partition("/")[0] for label in labels if not label.text})
    bodies = {event.id: event.body for of in sets for log in load_logs(of) for event in log.events}
    found = []
    for label in labels:
        body = bodies.get(label.id, {"text": label.text})
        text = str(body.get("text") or body.get("message", ""))[label.offset :]
        if hashlib.sha256(text.encode()).hexdigest()[:HASH_CHARACTERS] != label.sha256:
            raise InvalidInput(f"got another message at {label.talk}, event {label.id}; restore {name} or the sets")
        found.append(replace(label, text=text))
    return found


def score_signals(dataset: str = "signals", *, seed: int = 0) -> dict[str, Any]:
    """{dataset, n, metrics, baselines, make} of signals (both), signals_en or signals_ru.

    metrics, and those of each baseline, are of n messages that did not choose the patterns: for each category, for all of them by
    hits (micro) and by the mean of those labelled (macro), and for the level of the signal (high, low or none; all three
    shares are its accuracy) labelled, precision, recall and f1, the last three with a 95 % interval over talks (`_low`, `_high`),
    0 where nothing was found. make: {n, metrics, baselines} of those that chose the patterns. Raises InvalidInput for
    another set, and as `labelled_messages`.
    """
    if dataset not in SETS:
        raise InvalidInput(f"got data set {dataset!r}; allowed are {', '.join(SETS)}")
    messages = [message for language in SETS[dataset] for message in labelled_messages(language)]
    report, make = (_scored([one for one in messages if one.half == half], seed) for half in ("report", "make"))
    return {"dataset": dataset, **report, "make": make}


def _scored(messages: Sequence[LabelledMessage], seed: int) -> dict[str, Any]:
    figures = {method: _figures(messages, signal, seed) for method, signal in METHODS.items()}
    return {"n": len(messages), "metrics": figures.pop("this project"), "baselines": figures}


def _figures(messages: Sequence[LabelledMessage], method: Method, seed: int) -> dict[str, dict[str, float]]:
    counts = np.array([_counted(message, method(message)) for message in messages], float)
    _, member = np.unique([message.talk for message in messages], return_inverse=True)
    m = int(member.max()) + 1
    talks = np.zeros((m, *counts.shape[1:]))
    np.add.at(talks, member, counts)
    drawn = np.random.default_rng(seed).multinomial(m, np.full(m, 1 / m), size=BOOTSTRAPS).astype(np.float64)
    bounds = np.quantile(_shares(np.tensordot(drawn, talks, 1)), [0.025, 0.975], axis=0)
    shares = np.stack([_shares(counts.sum(0)), *bounds], -1).reshape(len(ROWS), -1).tolist()
    names = [share + end for share in SHARES for end in ("", "_low", "_high")]
    known = counts.sum(0)[: len(HIGH), 2].astype(int).tolist()
    rows = zip(ROWS, [*known, len(messages), sum(known), sum(known)], shares, strict=True)
    return {row: {"labelled": many, **dict(zip(names, of, strict=True))} for row, many, of in rows}


def _counted(message: LabelledMessage, found: Signal) -> list[list[bool]]:
    """Of each category, and of the signal: whether it is hit, found, labelled."""
    pairs = [(name in found.categories, name in message.categories) for name in HIGH]
    return [*([a and b, a, b] for a, b in pairs), [found.signal == message.signal, True, True]]


def _shares(sums: Floats) -> Floats:
    """Precision, recall and F1 (…, ROWS, 3) of sums (…, categories and signal, 3)."""
    sums = np.concatenate([sums, sums[..., : len(HIGH), :].sum(-2, keepdims=True)], -2)
    hits, found, labelled = np.moveaxis(sums, -1, 0)
    shares = np.stack([hits / np.maximum(of, 1) for of in (found, labelled, (found + labelled) / 2)], -1)
    known = labelled[..., : len(HIGH), None] > 0
    macro = (shares[..., : len(HIGH), :] * known).sum(-2, keepdims=True) / np.maximum(known.sum(-2, keepdims=True), 1)
    return np.concatenate([shares, macro], -2)


def _by_words(form: str) -> Method:
    """Baseline: the words of a category, in the form of a regular expression that holds them."""
    patterns = {name: re.compile(form.format(words), re.IGNORECASE) for name, words in _WORDS.items()}

    def signal(message: LabelledMessage) -> Signal:
        found = tuple(name for name, pattern in patterns.items() if pattern.search(message.text))
        return Signal("none" if not found else "low" if found == ("low",) else "high", found, 1.0)

    return signal


METHODS: dict[str, Method] = {
    "this project": lambda message: signal_of(message.text, message.by),
    "document's words": _by_words("{}"),
    "whole words": _by_words(r"\b(?:{})\b"),
    "every category": lambda _: Signal("high", HIGH, 1.0),
    "always none": lambda _: Signal("none", (), 1.0),
}
