"""What rules find in prompts and last messages, beside trivial baselines, on turns that people labelled.

The labels name places in the recorded sessions, never their words. Sessions are halved by the SHA-256 of their name: the
rules were made on one half and are reported on the other, though one hand labelled both before they were final.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.dataset_files import read_files
from theorex_lab.experiments.data.dataset_table import DATASETS
from theorex_lab.experiments.data.recorded_lines import read_lines
from theorex_lab.experiments.data.sources import packaged
from theorex_lab.memory.intervals import bootstrap_mean
from theorex_lab.memory.rows import Rows
from theorex_lab.text.directives import directive_of
from theorex_lab.text.spoken import Span, Speaker, sentences_of, worth

LABELS = "sentence_labels.jsonl.gz"
MARK = {"labels": "sentences"}
HASH_CHARACTERS = 12
_CUE = re.compile(r"(?i)\b(?:always|never|don['’]?t|must|should)\b")
_Chosen = Callable[[list[Span]], Sequence[Span]]


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


class SentenceScore(NamedTuple):
    """How well a method finds labelled sentences: a share with its 95 % interval over sessions each.

    task: what is looked for.  labelled, found: sentences.  f1: 2 hits / (labelled + found).
    """

    task: str
    half: str
    method: str
    turns: int
    labelled: int
    found: int
    precision: float
    precision_low: float
    precision_high: float
    recall: float
    recall_low: float
    recall_high: float
    f1: float
    f1_low: float
    f1_high: float


class SentenceScores(Rows[SentenceScore]):
    """A row a task, half and method.

    types_right: share of the right type among the sentences of the report half that are rightly held worth keeping.
    """

    row_class = SentenceScore
    types_right: float = 0.0

    def result(self) -> dict[str, Any]:
        """{dataset, n, methods, types_right}; n: labelled turns."""
        n = sum(row.turns for row in self if row.method == "rules" and not row.task.endswith("keeping of prompts"))
        return {"dataset": "coding_sessions", "n": n, "methods": self.to_dict(), "types_right": self.types_right}


def labelled_texts() -> list[tuple[LabelledTurn, str]]:
    """The labelled turns with their texts, from the recorded sessions.

    Raises InvalidInput where a labelled sentence is not the one that was labelled, and as `read_files` does.
    """
    turns = read_lines(packaged(LABELS), LabelledTurn, MARK, 1)[1]
    counts: Counter[str] = Counter()
    texts = {}
    for line in read_files(DATASETS["coding_sessions"])["getspecstory.jsonl"].data.decode().splitlines():
        event = json.loads(line)
        texts[event["session"], counts[event["session"]]] = event.get("prompt") or event.get("agent_text") or ""
        counts[event["session"]] += 1
    found = [(turn, texts.get((turn.session, turn.event), "")) for turn in turns]
    for turn, text in found:
        for start, end, digest, *_ in turn.sentences:
            if hashlib.sha256(text[start:end].encode()).hexdigest()[:HASH_CHARACTERS] != digest:
                raise InvalidInput(
                    f"got another sentence at {turn.session}, event {turn.event}, {start}; restore {LABELS} or the sessions"
                )
    return found


def score_sentences(*, seed: int = 0) -> SentenceScores:
    """Precision, recall and F1 of the rules and of trivial baselines on both halves; see SentenceScore.

    Baselines choose among the same sentences as the rules do. Raises as `labelled_texts`.
    """
    texts = labelled_texts()
    rows = [
        _score(task, half, method, [pair for pair in of if pair[0].half == half], column, choose, seed)
        for task, column, of, rules in _tasks(texts)
        for half in ("make", "report")
        for method, choose in {**rules, **_BASELINES}.items()
    ]
    scores = SentenceScores(rows)
    scores.types_right = _types_right([pair for pair in texts if pair[0].half == "report"])
    return scores


_Texts = list[tuple[LabelledTurn, str]]


def _tasks(texts: _Texts) -> list[tuple[str, int, _Texts, dict[str, _Chosen]]]:
    """What is looked for, where its label stands, among which turns, and the rules that look for it."""

    def said(by: str, drawn: str) -> _Texts:
        return [(turn, text) for turn, text in texts if (turn.by, turn.drawn) == (by, drawn)]

    told: dict[str, _Chosen] = {"rules": lambda spans: [span for span in spans if _binds(span)]}
    kept: dict[str, dict[str, _Chosen]] = {
        by: {"rules": lambda spans, by=by: [span for span in spans if worth(span.text, by)[0] != "none"]}  # type: ignore[misc]
        for by in ("user", "agent")
    }
    return [
        ("directives of prompts", 3, said("user", "random"), told),
        ("directives of cued prompts", 3, said("user", "cued"), told),
        ("worth keeping of prompts", 4, said("user", "random"), kept["user"]),
        ("worth keeping of messages", 4, said("agent", "random"), kept["agent"]),
    ]


def _binds(span: Span) -> bool:
    found = directive_of(span)
    return found is not None and (found.stands or found.kind == "correction")


_BASELINES: dict[str, _Chosen] = {
    "cue word": lambda spans: [span for span in spans if _CUE.search(span.text)],
    "every sentence": lambda spans: spans,
    "longest sentence": lambda spans: sorted(spans, key=lambda span: -len(span.text))[:1],
    "first sentence": lambda spans: spans[:1],
}


def _score(task: str, half: str, method: str, of: _Texts, column: int, choose: _Chosen, seed: int) -> SentenceScore:
    hits: list[tuple[str, bool]] = []
    recalled: list[tuple[str, bool]] = []
    for turn, text in of:
        wanted = [label for label in turn.sentences if label[column] != "none"]
        chosen = choose(sentences_of(text, turn.by))
        hits += [(turn.session, any(_meets(span, label) for label in wanted)) for span in chosen]
        recalled += [(turn.session, any(_meets(span, label) for span in chosen)) for label in wanted]
    shares = [share for values in (hits, recalled, hits + recalled) for share in _share(values, seed)]
    return SentenceScore(task, half, method, len(of), len(recalled), len(hits), *shares)


def _share(values: Sequence[tuple[str, bool]], seed: int) -> tuple[float, float, float]:
    if not values:
        return 0.0, 0.0, 1.0
    mean = bootstrap_mean([hit for _, hit in values], seed, groups=[session for session, _ in values])
    return mean.mean, mean.low, mean.high


def _meets(span: Span, label: Sequence[int | str]) -> bool:
    """Whether they share half of the shorter of them: sentences may be cut in more than one way."""
    start, end = int(label[0]), int(label[1])
    return 2 * (min(span.end, end) - max(span.start, start)) >= min(span.end - span.start, end - start)


def _types_right(texts: _Texts) -> float:
    pairs = [
        (worth(span.text, turn.by)[0], label[4])
        for turn, text in texts
        if turn.drawn == "random"
        for span in sentences_of(text, turn.by)
        for label in turn.sentences
        if label[4] != "none" and _meets(span, label)
    ]
    known = [said == labelled for said, labelled in pairs if said != "none"]
    return sum(known) / max(1, len(known))
