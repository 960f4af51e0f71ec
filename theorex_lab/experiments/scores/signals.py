"""What messages are found to signal, beside trivial baselines, on messages that a person labelled.

The English labels name places in public sets, never their words; the Russian messages are self-written. Talks are halved
by the SHA-256 of their name: the patterns were chosen on one half and are reported on the other.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from theorex_lab.designs.facts.signals import HIGH, Signal, signal_of
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.logs import load_logs
from theorex_lab.experiments.data.recorded_lines import read_lines
from theorex_lab.experiments.data.sources import packaged
from theorex_lab.memory.intervals import BOOTSTRAPS, Floats
from theorex_lab.text.spoken import Speaker

SETS = {"signals": ("en", "ru"), "signals_en": ("en",), "signals_ru": ("ru",)}
MARK = {"labels": "signals"}
HASH_CHARACTERS = 12
_ROWS = (*HIGH, "signal", "micro", "macro")
_SHARES = ("precision", "recall", "f1")
_KEYWORDS = {
    "preference": "prefer|like|love|favou?rite|hate|better to use|предпочита|нравится|люблю|ненавижу|любимый",
    "decision": "decided|let's go with|decision|agreed|решил|решили|решено|выбрали|договорились",
    "correction": "in fact|actually|i meant|wrong|mistake|на самом деле|имел в виду|ошибся|ошибка|вообще-то",
    "milestone": "launched|deployed|released|finished|done|запустили|закончил|закончила|готово|сделано",
    "instruction": "remember|always|never|keep in mind|don't forget|запомни|всегда|никогда|не забудь",
    "identity": "my name|i'm|i am|i work|i live|years old|меня зовут|я живу|работаю|родился|мне .* лет",
}
_LOW = "working on|project|task|need|try|работаю над|проект|задач|нужно|надо"


@dataclass(frozen=True, slots=True)
class LabelledMessage:
    """A message by its place in a public set, or self-written, and what it is labelled to signal.

    talk: the conversation or session that it is of.  id, offset: of the event, and where in its text the message begins.
    drawn: at random, or by the words of which category.  text, by: empty in the file of a public set until they are read.
    """

    talk: str
    id: str
    offset: int
    sha256: str
    drawn: str
    signal: str
    categories: tuple[str, ...]
    text: str = ""
    by: Speaker = "user"

    @property
    def half(self) -> str:
        """make: seen while the patterns were chosen; report: not."""
        return "report" if hashlib.sha256(self.talk.encode()).digest()[4] % 2 else "make"


_Method = Callable[[LabelledMessage], Signal]


def labelled_messages(language: str) -> list[LabelledMessage]:
    """The labelled messages with their texts: en, from the public sets, or ru.

    Raises InvalidInput where a message is not the one that was labelled, and as `load_logs` does.
    """
    name = f"signals_{language}.jsonl.gz"
    labels = read_lines(packaged(name), LabelledMessage, MARK, 1)[1]
    sets = sorted({label.talk.partition("/")[0] for label in labels if not label.text})
    events = {event.id: event for of in sets for log in load_logs(of) for event in log.events}
    found = [_read(label, events[label.id]) if label.id in events else label for label in labels]
    for label in found:
        if hashlib.sha256(label.text.encode()).hexdigest()[:HASH_CHARACTERS] != label.sha256:
            raise InvalidInput(f"got another message at {label.talk}, event {label.id}; restore {name} or the sets")
    return found


def _read(label: LabelledMessage, event: Any) -> LabelledMessage:
    by: Speaker = "agent" if event.kind == "turn_ended" else "user"
    text = str(event.body["message" if by == "agent" else "text"])
    return replace(label, text=text[label.offset :], by=by)


def score_signals(dataset: str = "signals", *, seed: int = 0) -> dict[str, Any]:
    """{dataset, n, metrics, baselines, categories} of signals (all), signals_en or signals_ru.

    metrics, baselines: of the half that reports, with 95 % intervals (`_low`, `_high`) over talks: signal_accuracy (high,
    low or none), micro_f1 and macro_f1 of the six categories. categories: a row for each half, method and category with
    precision, recall and F1; 0 where nothing was found. Raises InvalidInput for another set, and as `labelled_messages`.
    """
    if dataset not in SETS:
        raise InvalidInput(f"got data set {dataset!r}; allowed are {', '.join(SETS)}")
    messages = [message for language in SETS[dataset] for message in labelled_messages(language)]
    rows = [
        {"half": half, "method": method, **row}
        for half in ("make", "report")
        for method, signal in METHODS.items()
        for row in _rows([message for message in messages if message.half == half], signal, seed)
    ]
    figures = {
        method: _overall(row for row in rows if row["half"] == "report" and row["method"] == method)
        for method in METHODS
    }
    n = sum(message.half == "report" for message in messages)
    return {
        "dataset": dataset,
        "n": n,
        "metrics": figures.pop("this project"),
        "baselines": figures,
        "categories": rows,
    }


def _overall(rows: Any) -> dict[str, float]:
    shown = {"signal": "signal_accuracy", "micro": "micro_f1", "macro": "macro_f1"}
    return {
        shown[row["category"]] + end: row["f1" + end]
        for row in rows
        if row["category"] in shown
        for end in ("", "_low", "_high")
    }


def _rows(messages: Sequence[LabelledMessage], method: _Method, seed: int) -> list[dict[str, Any]]:
    """A row for each category, for the level of the signal, and for all categories by hits (micro) and by mean (macro)."""
    counts = np.array([_counted(message, method(message)) for message in messages], float)
    _, member = np.unique([message.talk for message in messages], return_inverse=True)
    talks = np.zeros((member.max() + 1, *counts.shape[1:]))
    np.add.at(talks, member, counts)
    drawn = np.random.default_rng(seed).multinomial(len(talks), np.full(len(talks), 1 / len(talks)), size=BOOTSTRAPS)
    low, high = np.quantile(_shares(np.tensordot(drawn, talks, 1)), [0.025, 0.975], axis=0)
    sums, means = counts.sum(0), _shares(counts.sum(0))
    told = []
    for place, category in enumerate(_ROWS):
        size = {} if place >= len(sums) else {"labelled": int(sums[place, 2]), "found": int(sums[place, 1])}
        values = {
            f"{share}{end}": float(of[place, column])
            for column, share in enumerate(_SHARES)
            for end, of in (("", means), ("_low", low), ("_high", high))
        }
        told.append({"category": category, **size, **values})
    return told


def _counted(message: LabelledMessage, found: Signal) -> list[list[bool]]:
    """Of each category and of the signal: whether it is hit, found, labelled."""
    pairs = [(name in found.categories, name in message.categories) for name in HIGH]
    return [[told and labelled, told, labelled] for told, labelled in pairs] + [
        [found.signal == message.signal, True, True]
    ]


def _shares(sums: Floats) -> Floats:
    """Precision, recall and F1 of sums (…, categories and signal, 3), with those of all categories added."""
    sums = np.concatenate([sums, sums[..., : len(HIGH), :].sum(-2, keepdims=True)], -2)
    hits, found, labelled = np.moveaxis(sums, -1, 0)
    parts = [hits / np.maximum(found, 1), hits / np.maximum(labelled, 1), 2 * hits / np.maximum(found + labelled, 1)]
    shares = np.stack(parts, -1)
    return np.concatenate([shares, shares[..., : len(HIGH), :].mean(-2, keepdims=True)], -2)


def _by_words(form: str) -> _Method:
    """Baseline: the words of a category, in the form of a regular expression that holds them."""
    patterns = {
        name: re.compile(form.format(words), re.IGNORECASE) for name, words in {**_KEYWORDS, "low": _LOW}.items()
    }

    def signal(message: LabelledMessage) -> Signal:
        found = tuple(name for name in HIGH if patterns[name].search(message.text))
        return Signal("high" if found else "low" if patterns["low"].search(message.text) else "none", found, 1.0)

    return signal


METHODS: dict[str, _Method] = {
    "this project": lambda message: signal_of(message.text, message.by),
    "document's words anywhere": _by_words("{}"),
    "document's words, whole": _by_words(r"\b(?:{})\b"),
    "every category": lambda _: Signal("high", HIGH, 1.0),
    "always none": lambda _: Signal("none", (), 1.0),
}
