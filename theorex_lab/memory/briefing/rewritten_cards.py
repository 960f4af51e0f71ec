"""Lines of cards that a model worded, in the place of the extracted ones.

Maintenance may let a model of the setting `cardModel` word the cards of the latest
sessions, see `evolution.card_rewriting`. What it said is kept as events of the kind
`card_rewritten`, which are derived from the events that the lines rest on: who erases
one of those erases the wording too. A briefing has a wording where each of its lines is
a candidate now, with the words that the model was shown; else the extracted lines
stand. Wordings are of what was asked and concluded alone; they become no rule, command
or pitfall, since nothing else reads these events.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.briefing.candidates import WORK, Candidate
from theorex_lab.memory.briefing.kept_events import newest_events
from theorex_lab.memory.briefing.rewording import (
    may_be_reworded,
    rewording_problem,
    worded_line,
)
from theorex_lab.memory.contract import Home
from theorex_lab.text.wording import content_words

REWRITTEN = "card_rewritten"
_DIGEST_CHARACTERS = 32
_MOST_EVENTS = 500  # the newest, whose wordings are looked at

# The event that a line rests on, and the digest of its text.
LineKey = tuple[str, str]


def line_key(line: Candidate) -> LineKey:
    """Return what tells a card's line from all others, and from itself once changed."""
    digest = hashlib.sha256(line.text.encode()).hexdigest()
    return line.events[0], digest[:_DIGEST_CHARACTERS]


def with_rewritten_cards(
    home: Home, candidates: Sequence[Candidate], now: int
) -> list[Candidate]:
    """Return the candidates, with a model's wording for the lines that have one.

    A wording is checked again, so that one from elsewhere is not believed either.

    Args:
        home: The home whose wordings are read.
        candidates: The lines that a briefing may have.
        now: The time of the briefing (µs UTC); later wordings are left out.
    """
    choice = _Choice(candidates)
    for event in reversed(_rewritings(home, now)):
        model = event.body["model"]
        for keys, text in _wordings(event.body):
            choice.take(keys, text, model)
    return list(choice.lines())


class _Choice:
    """Puts wordings in the place of the lines that they stand for; the first one wins.

    Args:
        candidates: The lines that a briefing may have.
    """

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._candidates = candidates
        self._lines_by_key: dict[LineKey, Candidate] = {}
        for line in candidates:
            if line.section == WORK and may_be_reworded(line):
                self._lines_by_key[line_key(line)] = line
        # By the key of each line that has a wording: the wording at the first line
        # that it stands for, None at the others.
        self._replacements: dict[LineKey, Candidate | None] = {}

    def take(self, keys: Sequence[LineKey], text: str, model: str) -> None:
        """Take a wording, where all its lines are there and it says nothing else."""
        sources: list[Candidate] = []
        for key in keys:
            line = self._lines_by_key.get(key)
            if line is None or key in self._replacements:
                return
            sources.append(line)
        if rewording_problem(text, sources):
            return
        self._replacements.update(dict.fromkeys(keys))
        self._replacements[keys[0]] = _reworded(text, sources, model)

    def lines(self) -> Iterator[Candidate]:
        """Yield the candidates, with a wording for those that have one."""
        for line in self._candidates:
            key: LineKey | None = None
            if line.section == WORK:
                key = line_key(line)
            if key is None or key not in self._replacements:
                yield line
                continue
            replacement = self._replacements[key]
            if replacement is not None:
                yield replacement


def asked_lines(home: Home) -> set[LineKey]:
    """Return the lines that a model was asked about, whatever it answered."""
    keys: set[LineKey] = set()
    for event in home.journal.tail(0, kinds=[REWRITTEN]):
        for event_id, digest, *_ in event.body["asked"]:
            keys.add((event_id, digest))
    return keys


def tokens_spent(home: Home, since: int) -> int:
    """Return the tokens that wordings took since a time (µs UTC)."""
    total = 0
    for event in home.journal.tail(0, kinds=[REWRITTEN]):
        if event.at >= since:
            total += event.body["tokens"]
    return total


def rewriting_event(
    home: Home,
    asked: Sequence[Candidate],
    wordings: Sequence[tuple[Sequence[int], str]],
    *,
    agent: str,
    model: str,
    refused: Sequence[str],
    tokens: int,
) -> Event:
    """Return the event of one answer of a model.

    Args:
        home: The home, of whose project the lines are.
        asked: The lines that the model was shown.
        wordings: Each wording that passed the checks, after the numbers of the lines
            that it stands for, from 0.
        agent: Who asked it.
        model: Its name.
        refused: Why its other wordings were refused.
        tokens: What the answer cost.
    """
    lines: list[dict[str, Any]] = []
    for numbers, text in wordings:
        lines.append({"of": list(numbers), "text": text})
    body = {
        "model": model,
        "source": "model",
        "asked": [list(line_key(line)) for line in asked],
        "lines": lines,
        "refused": list(refused),
        "tokens": tokens,
        "project": home.project,
    }
    event_ids = dict.fromkeys(line.events[0] for line in asked)
    return new_event(
        REWRITTEN,
        body,
        agent=agent,
        at=home.clock.now(),
        lineage=list(event_ids),
    )


def _rewritings(home: Home, now: int) -> list[Event]:
    """Return the newest events with wordings up to a time, oldest first."""
    newest = newest_events(home, [REWRITTEN], most=_MOST_EVENTS)
    return [event for event in newest if event.at <= now]


def _wordings(body: Mapping[str, Any]) -> Iterator[tuple[list[LineKey], str]]:
    """Yield each wording of an event, after the lines that it stands for."""
    asked = body["asked"]
    for line in body["lines"]:
        keys: list[LineKey] = []
        for number in dict.fromkeys(line["of"]):
            if number < len(asked):
                event_id, digest, *_ = asked[number]
                keys.append((event_id, digest))
        if keys and len(keys) == len(line["of"]):
            yield keys, line["text"]


def _reworded(text: str, sources: Sequence[Candidate], model: str) -> Candidate:
    """Return the candidate of a wording.

    It has the words of the lines that it stands for too, so that none of them is shown
    beside it.
    """
    events: dict[str, None] = {}
    words = content_words(text)
    for line in sources:
        events.update(dict.fromkeys(line.events))
        words |= line.words
    event_ids = ", ".join(events)
    why = f"{sources[0].why}; the model {model} worded it, from {event_ids}"
    return replace(
        sources[0],
        text=worded_line(text, sources),
        weight=max(line.weight for line in sources),
        words=words,
        events=tuple(events),
        why=why,
    )
