"""Read what another memory holds as a log: its folder, its files, or its database.

Whatever `theorex import` reads is taken into a home that is made for it, so that each
record has the time, agent and project that it has there. The log has these events in
the order of time. It asks for each text that holds at the end by some of its words, as
one looks for something that one has seen: simulated queries for known items (Azzopardi
and de Rijke, 2006). An answer rests on the events that say this text; those that it
replaced are stale.
"""

import math
import random
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import derived_event_id
from theorex_lab.eval.adapters.protocol import EvalLog, EvalQuery
from theorex_lab.eval.datasets.design_texts import (
    ended_items,
    item_texts,
)
from theorex_lab.eval.datasets.recorder import Parts, informative
from theorex_lab.journal.event import Event
from theorex_lab.search.embed import HashedNgramEmbedder
from theorex_lab.store.lab import Lab

# A question has half of a text's words that tell something, and so many at most.
QUERY_WORDS = 2
# A text of fewer such words is not asked for.
_FEWEST_WORDS = 3
_SHOWN_PROBLEMS = 3
# How many texts are asked for, drawn at random where there are more.
MOST_QUERIES = 300


def memory(path: Path) -> Parts:
    """Return the log of what is at a path, as another memory left it.

    Args:
        path: A folder, a file or a database that `theorex import` reads.

    Raises:
        InvalidInput: Nothing there can be read.
    """
    return [(f"memory/{path.name}", partial(memory_log, path))]


def memory_log(path: Path) -> EvalLog:
    """Return the records of another memory, and a question for each known text.

    Records that cannot be read are left out, and a warning tells them.

    Raises:
        InvalidInput: Nothing there can be read.
    """
    with tempfile.TemporaryDirectory(
        prefix="theorex-memory-", ignore_cleanup_errors=True
    ) as folder:
        home = Path(folder) / "home"
        with Lab(home, embedder=HashedNgramEmbedder()) as lab:
            reports = lab.import_files(path, trusted=True)
            events = list(lab.journal.tail(0))
    problems: list[str] = []
    for report in reports:
        problems += report.problems
    reason = "; ".join(problems[:_SHOWN_PROBLEMS])
    if not events:
        raise InvalidInput(f"got {path}, in which no record could be read: {reason}")
    if problems:
        warnings.warn(
            f"{len(problems)} records of {path} are left out: {reason}", stacklevel=2
        )
    # A journal is in the order in which it was written, which is not that of time.
    in_time = sorted(
        (event._replace(seq=0) for event in events), key=lambda event: event.at
    )
    return EvalLog(f"memory/{path.name}", in_time, _questions(in_time))


def _questions(events: Sequence[Event]) -> list[EvalQuery]:
    """Return a question for each text that holds after the last event."""
    texts = _Texts()
    for event in events:
        texts.take_in(event)
    now = events[-1].at + 1
    questions: list[EvalQuery] = []
    for text, answers in texts.events_by_text().items():
        query = _query(text)
        if not query:
            continue
        stale = texts.replaced_by(answers) - answers
        question = EvalQuery(
            now,
            query,
            frozenset(answers),
            stale=frozenset(stale),
        )
        questions.append(question)
    if len(questions) <= MOST_QUERIES:
        return questions
    return random.Random(0).sample(questions, MOST_QUERIES)


class _ItemText(NamedTuple):
    """A text that holds, and the id of the event that says it."""

    text: str
    event: str


class _Texts:
    """The texts that hold after some events, and what each event replaced."""

    def __init__(self) -> None:
        self._items: dict[tuple[str, str], _ItemText] = {}
        # By the id of an event, those of the events whose texts it ended.
        self._replaced: dict[str, set[str]] = defaultdict(set)

    def take_in(self, event: Event) -> None:
        """Take in an event: what it ends first, then what it says."""
        for item_id in ended_items(event):
            former = self._items.pop((event.agent, item_id), None)
            if former is not None:
                for event_id in (event.id, *self._named_by(event)):
                    self._replaced[event_id].add(former.event)
        for item in item_texts(event):
            key = (event.agent, item.item_id)
            former = self._items.get(key)
            if former is not None and former.text != item.text:
                self._replaced[event.id].add(former.event)
            self._items[key] = _ItemText(item.text, event.id)

    def _named_by(self, event: Event) -> list[str]:
        """Return the events whose items an event names, as the one that replaces others."""
        events: list[str] = []
        for value in event.body.values():
            if not isinstance(value, str):
                continue
            item = self._items.get((event.agent, value))
            if item is not None:
                events.append(item.event)
        return events

    def events_by_text(self) -> dict[str, set[str]]:
        """Return the ids of the events that say each text."""
        events: dict[str, set[str]] = defaultdict(set)
        for item in self._items.values():
            events[item.text].add(item.event)
        return events

    def replaced_by(self, event_ids: set[str]) -> set[str]:
        """Return the events that some events replaced, and those that these did."""
        replaced: set[str] = set()
        pending = set(event_ids)
        while pending:
            earlier: set[str] = set()
            for event_id in pending:
                earlier |= self._replaced[event_id]
            pending = earlier - replaced
            replaced |= earlier
        return replaced


def _query(text: str) -> str:
    """Return some words of a text in their order, '' for a text of too few.

    Which words these are depends on the text alone.

    >>> _query("It is so")
    ''
    >>> text = "The staging database moved from Dublin to Frankfurt in October"
    >>> len(_query(text).split()), _query(text) == _query(text)
    (2, True)
    """
    words = informative(text)
    if len(words) < _FEWEST_WORDS:
        return ""
    generator = random.Random(derived_event_id("query", text))
    half = math.ceil(len(words) / 2)
    numbers = generator.sample(
        range(len(words)),
        min(QUERY_WORDS, half),
    )
    numbers.sort()
    return " ".join(words[number] for number in numbers)
