"""Name the systems whose contexts are scored by sessions' needs.

A system is a function of the events before a session's start, the time, the first
prompt ('' at the start), and the budget in tokens; it returns the text that it gives.
It is asked about the sessions of one project in the order of their starts, so that the
events of each call begin with those of the call before; a system with a state takes in
what is new. `close`, where it has one, is called at the end.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.datasets.needs_rows import START, Need, SessionNeeds
from theorex_lab.eval.metrics.needs import (
    LINE_BYTES,
    NEEDS_A_LINE,
    comparable,
    comparable_match,
    holds_match,
    is_told,
    statement_lines,
)
from theorex_lab.eval.replay.baselines import Bm25, Files
from theorex_lab.eval.replay.baselines import text_of as event_text
from theorex_lab.eval.replay.design_systems import (
    ALL_DESIGNS,
    PUBLISHED,
    BriefingWithDesigns,
    DesignLines,
)
from theorex_lab.journal.event import Event
from theorex_lab.memory.briefing.compose import compose
from theorex_lab.memory.contract import Item
from theorex_lab.search.embed import Embedder, bundled_embedder
from theorex_lab.text.line import BYTES_PER_TOKEN

BRIEFING = "briefing"
BEST_LINES = "best_lines"
# Scored where they are named: a model, and the maintenance of designs, take minutes.
BRIEFING_WITH_VECTORS = "briefing_with_vectors"
BRIEFING_WITH = "briefing_with_"  # before the name of a design
_SPOKEN_KINDS = ("prompt", "turn_ended")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")
_LINE_MARKS = "#>< -*"
_SHORTEST_STATEMENT = 8


class NeedsSystem(Protocol):
    """Gives a context for a session that begins.

    A system that gives an upper bound with hindsight has a further method
    `reveal(row)`, which takes the session's needs before each call.
    """

    def __call__(
        self, events: Sequence[Event], now: int, prompt: str, tokens: int
    ) -> str:
        """Return the text that the session is given.

        Args:
            events: What happened before, in the order of time.
            now: When the session starts, in µs UTC.
            prompt: Its first prompt; '' at the start, where it is not known yet.
            tokens: The budget; four bytes are a token.
        """


def give_nothing(
    events: Sequence[Event],  # noqa: ARG001
    now: int,  # noqa: ARG001
    prompt: str,  # noqa: ARG001
    tokens: int,  # noqa: ARG001
) -> str:
    """Return an empty text."""
    return ""


def last_message(
    events: Sequence[Event],
    now: int,  # noqa: ARG001
    prompt: str,
    tokens: int,  # noqa: ARG001
) -> str:
    """Return the last message of the session that spoke last.

    It is given at the start; a prompt adds nothing.
    """
    if prompt:
        return ""
    for event in reversed(events):
        if event.kind == "turn_ended" and event_text(event):
            return event_text(event)
    return ""


class RecentFiles:
    """Gives the paths that were touched last, one a line; a prompt adds nothing."""

    def __init__(self) -> None:
        self._files = Files()

    def __call__(
        self, events: Sequence[Event], now: int, prompt: str, tokens: int
    ) -> str:
        """See `NeedsSystem`."""
        self._files.observe(events[len(self._files.events) :])
        if prompt:
            return ""
        return _text_of(self._files.inject(now, tokens))


class MessageSearch:
    """Gives what was said before and shares most words with the prompt, by BM25.

    Searched are the statements of prompts and messages, each of at most 240 bytes.
    Nothing is given at the start.
    """

    def __init__(self) -> None:
        self._search = _StatementBm25()

    def __call__(
        self, events: Sequence[Event], now: int, prompt: str, tokens: int
    ) -> str:
        """See `NeedsSystem`."""
        self._search.observe(events[len(self._search.events) :])
        return _text_of(self._search.retrieve(prompt, now, tokens))


class _StatementBm25(Bm25):
    """Ranks statements rather than whole texts."""

    def observe(self, events: Sequence[Event]) -> None:
        """Take in the statements of what was said."""
        self.events += events
        for event in events:
            if event.kind not in _SPOKEN_KINDS:
                continue
            for statement in statements(event_text(event)):
                self.texts.pop(statement, None)
                self.texts[statement] = Item(statement, (event.id,))


class HistoryLine(NamedTuple):
    """A statement of the history, on one line.

    Attributes:
        text: As it was said.
        comparable: The same without what makes no difference to a match.
    """

    text: str
    comparable: str


class _StatementBlock:
    """Statements that can be searched for a string at once."""

    def __init__(self, block_statements: Sequence[HistoryLine]) -> None:
        self._statements = block_statements
        self._text = "\n".join(row.comparable for row in block_statements)
        self._starts: list[int] = []
        start = 0
        for row in block_statements:
            self._starts.append(start)
            start += len(row.comparable) + 1

    def holding(self, part: str) -> Iterator[HistoryLine]:
        """Yield the statements that hold a string without line breaks."""
        position = self._text.find(part)
        while position >= 0:
            number = bisect_right(self._starts, position) - 1
            yield self._statements[number]
            end = self._starts[number] + len(self._statements[number].comparable)
            position = self._text.find(part, end)


class BestLines:
    """Knows what the session needs, and gives the lines of the history that tell it.

    It is an upper bound with hindsight: of all statements of prompts, messages and
    tools those that tell most of what is not told yet, for their length.
    """

    def __init__(self) -> None:
        self._blocks: list[_StatementBlock] = []
        self._seen_texts: set[str] = set()
        self._n_observed = 0
        self._needs: Sequence[Need] = ()
        self._candidates: dict[str, list[Need]] = {}

    def reveal(self, row: SessionNeeds) -> None:
        """Take in what the session needs that is asked about next."""
        self._needs = row.needs
        self._candidates = {}

    def __call__(
        self, events: Sequence[Event], now: int, prompt: str, tokens: int
    ) -> str:
        """See `NeedsSystem`."""
        self._observe(events[self._n_observed :])
        self._n_observed = len(events)
        if not self._candidates:
            self._candidates = self._telling_lines()
        if not prompt:
            needs = [need for need in self._needs if need.when == START]
            return self._choose(needs, tokens)
        start_lines = statement_lines(self(events, now, "", tokens), tokens)
        untold = []
        for need in self._needs:
            if not any(is_told(line, need) for line in start_lines):
                untold.append(need)
        return self._choose(untold, tokens)

    def _observe(self, events: Sequence[Event]) -> None:
        """Take in the statements of events, each text once."""
        block_statements = []
        for event in events:
            for text in _history_texts(event):
                for statement in statements(text):
                    key = comparable(statement)
                    if key not in self._seen_texts:
                        self._seen_texts.add(key)
                        block_statements.append(HistoryLine(statement, key))
        if block_statements:
            self._blocks.append(_StatementBlock(block_statements))

    def _telling_lines(self) -> dict[str, list[Need]]:
        """Return the statements that tell something, with the needs that each tells."""
        candidates: dict[str, list[Need]] = {}
        for need in self._needs:
            for text in self._lines_telling(need):
                candidates.setdefault(text, []).append(need)
        return candidates

    def _lines_telling(self, need: Need) -> list[str]:
        """Return the statements that tell a need, each once."""
        texts: dict[str, None] = {}
        for parts in comparable_match(need.match):
            for statement in self._holding(parts):
                if holds_match(statement.comparable, need):
                    texts[statement.text] = None
        return [text for text in texts if _tells(text, need)]

    def _holding(self, parts: Sequence[str]) -> Iterator[HistoryLine]:
        """Yield the statements that hold the longest of these strings."""
        longest = max(parts, key=len)
        for block in self._blocks:
            yield from block.holding(longest)

    def _choose(self, needs: Sequence[Need], tokens: int) -> str:
        """Return the lines that tell most of these needs within the budget.

        Each next line is the one that tells the gravest needs for its length.
        """
        bytes_left = BYTES_PER_TOKEN * tokens
        untold = {need.id: need for need in needs}
        lines: list[str] = []
        while untold:
            line = self._best_line(untold, bytes_left)
            if not line:
                break
            lines.append(line)
            bytes_left -= _line_size(line)
            for need in _gravest(self._candidates[line], untold):
                del untold[need.id]
        return "\n".join(lines)

    def _best_line(self, untold: Mapping[str, Need], bytes_left: int) -> str:
        """Return the line that tells most for its length; '' where none fits."""
        best_line = ""
        best_value = 0.0
        for line, needs in self._candidates.items():
            n_bytes = _line_size(line)
            value = _grade_sum(needs, untold) / n_bytes
            if n_bytes <= bytes_left and value > best_value:
                best_line = line
                best_value = value
        return best_line


def _line_size(line: str) -> int:
    """Return the bytes of a line with its line break."""
    return len(line.encode("utf-8", "replace")) + 1


def _gravest(needs: Iterable[Need], untold: Mapping[str, Need]) -> list[Need]:
    """Return the needs that a line tells newly."""
    fitting = [need for need in needs if need.id in untold]
    fitting.sort(key=lambda need: -need.grade)
    return fitting[:NEEDS_A_LINE]


def _grade_sum(needs: Iterable[Need], untold: Mapping[str, Need]) -> int:
    """Return the sum of the grades of the needs that a line tells newly."""
    return sum(need.grade for need in _gravest(needs, untold))


def _tells(text: str, need: Need) -> bool:
    """Return whether a text, alone on a line, tells a need."""
    lines = statement_lines(text, LINE_BYTES)
    return lines == [text] and is_told(text, need)


def _history_texts(event: Event) -> Iterator[str]:
    """Yield all texts of an event."""
    for name in ("text", "message", "command", "input", "response", "decision"):
        value = event.body.get(name)
        if isinstance(value, str) and value:
            yield value


def statements(text: str) -> Iterator[str]:
    r"""Yield the statements of a text, each of at most 240 bytes on one line.

    They are its lines; of a longer line runs of sentences, from each sentence on as
    many as fit; and of a longer sentence overlapping runs of words.

    >>> list(statements("# Title of it\n- Never commit anything."))
    ['Title of it', 'Never commit anything.']
    """
    for line in text.splitlines():
        stripped = " ".join(line.split()).lstrip(_LINE_MARKS)
        if len(stripped) < _SHORTEST_STATEMENT:
            continue
        if _fits(stripped):
            yield stripped
        else:
            yield from _runs(_SENTENCE_END.split(stripped))


def _runs(sentences: Sequence[str]) -> Iterator[str]:
    """Yield from each sentence on as many as fit on a line."""
    for number, sentence in enumerate(sentences):
        if not _fits(sentence):
            yield from _word_runs(sentence.split(" "))
            continue
        run = sentence
        for following in sentences[number + 1 :]:
            if not _fits(f"{run} {following}"):
                break
            run = f"{run} {following}"
        yield run.lstrip(_LINE_MARKS)


def _word_runs(sentence_words: Sequence[str]) -> Iterator[str]:
    """Yield runs of words that fit on a line; each begins in the middle of the last."""
    first = 0
    while first < len(sentence_words):
        end = first + 1
        while end < len(sentence_words):
            longer = " ".join(sentence_words[first : end + 1])
            if not _fits(longer):
                break
            end += 1
        run = " ".join(sentence_words[first:end])
        yield _cut(run).lstrip(_LINE_MARKS)
        if end >= len(sentence_words):
            return
        first += max(1, (end - first) // 2)


def _fits(text: str) -> bool:
    """Return whether a text is read whole where it stands on a line."""
    return len(text.encode("utf-8", "replace")) <= LINE_BYTES


def _cut(text: str) -> str:
    """Return the beginning of a text that fits."""
    return text.encode("utf-8", "replace")[:LINE_BYTES].decode("utf-8", "ignore")


def _text_of(items: Iterable[Item]) -> str:
    """Return items as they are read, a line each."""
    return "\n".join(item.text for item in items)


def composed_briefing(
    events: Sequence[Event], now: int, prompt: str, tokens: int
) -> str:
    """Return the briefing that is composed of the events alone."""
    return compose(events, now, query=prompt, tokens=tokens)


class BriefingWithVectors:
    """Composes the briefing of the events; at a prompt both words and meaning count.

    Raises:
        InvalidInput: No model that knows meaning is installed.
    """

    def __init__(self) -> None:
        embedder = bundled_embedder()
        if embedder is None:
            raise InvalidInput(
                f"got the system {BRIEFING_WITH_VECTORS}, but no model of meaning is"
                " installed; install theorex-lab[embeddings]"
            )
        self._embedder: Embedder = embedder
        self._vectors: dict[str, np.ndarray] = {}

    def __call__(
        self, events: Sequence[Event], now: int, prompt: str, tokens: int
    ) -> str:
        """Return the text that the session is given, as `NeedsSystem` says."""
        similarity = partial(self._similarity, prompt) if prompt else None
        return compose(events, now, query=prompt, tokens=tokens, similarity=similarity)

    def _similarity(self, prompt: str, texts: Sequence[str]) -> list[float]:
        """Return the cosine of each text to a prompt."""
        new: list[str] = []
        for text in dict.fromkeys([prompt, *texts]):
            if text not in self._vectors:
                new.append(text)
        if new:
            vectors = self._embedder.embed(new)
            self._vectors.update(zip(new, vectors, strict=True))
        asked = self._vectors[prompt]
        return [float(self._vectors[text] @ asked) for text in texts]


def _function(system: NeedsSystem) -> Callable[[], NeedsSystem]:
    """Return what gives a system that has no state."""
    return lambda: system


def needs_systems() -> dict[str, Callable[[], NeedsSystem]]:
    """Return what makes each system that can be scored, by name."""
    systems: dict[str, Callable[[], NeedsSystem]] = {
        "nothing": _function(give_nothing),
        "last_message": _function(last_message),
        "recent_files": RecentFiles,
        "bm25": MessageSearch,
    }
    for name in PUBLISHED:
        systems[name] = partial(DesignLines, name)
    systems[ALL_DESIGNS] = partial(DesignLines, *PUBLISHED)
    systems[BRIEFING] = _function(composed_briefing)
    systems[BEST_LINES] = BestLines
    return systems


def named_systems() -> dict[str, Callable[[], NeedsSystem]]:
    """Return what makes the systems that are scored only where they are named."""
    systems: dict[str, Callable[[], NeedsSystem]] = {
        BRIEFING_WITH_VECTORS: BriefingWithVectors
    }
    for name in PUBLISHED:
        systems[f"{BRIEFING_WITH}{name}"] = partial(BriefingWithDesigns, name)
    systems[f"{BRIEFING_WITH}{ALL_DESIGNS}"] = partial(BriefingWithDesigns, *PUBLISHED)
    return systems
