"""What rules find in messages that people labelled, beside trivial baselines.

The labels name places in recorded sessions and public sets, never their words; the Russian messages are self-written. The
patterns of signals were chosen on some messages and are reported on others: English ones that were drawn when the patterns were
final, and half of the Russian.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from theorex_lab.designs.facts.signals import HIGH, Signal, signal_of
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.logs import load_logs
from theorex_lab.experiments.data.sources import packaged, read_lines
from theorex_lab.memory.intervals import BOOTSTRAPS, Floats
from theorex_lab.text.sections import read_sections
from theorex_lab.text.spoken import Speaker

HASH_CHARACTERS = 12
SIGNALS = {"labels": "signals"}
SETS = {"signals": ("en", "ru"), "signals_en": ("en",), "signals_ru": ("ru",)}
ROWS = (*HIGH, "signal", "micro", "macro")
SHARES = ("precision", "recall", "f1")
# By category.
_WORDS = dict(line.split(" = ") for line in read_sections(__file__, "signal_words.txt")["words"].splitlines())


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
    "this project": lambda message: signal_of(message.text, message.by), "document's words": _by_words("{}"),
    "whole words": _by_words(r"\b(?:{})\b"), "every category": lambda _: Signal("high", HIGH, 1.0),
    "always none": lambda _: Signal("none", (), 1.0)}  # fmt: skip
