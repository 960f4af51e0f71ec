"""Draw a story: what a user says of made-up things over some weeks.

A memory that lived it can be asked about every fact, and the right answer is known.
Nothing in it is recorded; all names and values are drawn from a seed.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.testing.given_log import sentences_log

_THINGS = (
    "till",
    "kiosk",
    "importer",
    "scheduler",
    "printer",
    "gateway",
    "archive",
    "mailer",
    "crawler",
    "dashboard",
    "ledger",
    "parser",
)
# A property of a thing, and how the question about it begins.
_PROPERTIES = (
    "port",
    "owner",
    "database",
    "release branch",
    "time limit",
    "log folder",
    "test command",
)
_REMARKS = (
    "Please look at the tests of the {thing} again.",
    "The {thing} was slow this morning, have a look.",
    "Tidy up the names in the {thing}, nothing else.",
    "Write a short summary of what the {thing} does.",
)
_SYLLABLES = ("ka", "lo", "mi", "ren", "tu", "vas", "dor", "pel", "qui", "zan")
_SMALLEST_NUMBER = 1_000
_LARGEST_NUMBER = 9_999
_FEWEST_FACTS = 3
_MOST_FACTS = len(_THINGS) * len(_PROPERTIES) // 2
_UPDATED_SHARE = 3  # one fact in so many gets a new value later


class StoryFact(NamedTuple):
    """A fact of a story.

    Attributes:
        question: What asks for it.
        statement: What holds at the end.
        value: The value that holds at the end.
        replaced: The statement that held before; '' where none did.
        event: The id of the event that said what holds.
    """

    question: str
    statement: str
    value: str
    replaced: str
    event: str


class Story(NamedTuple):
    """A drawn log and what it says.

    Attributes:
        log: The log.
        facts: The facts in the order in which they were first said.
    """

    log: EvalLog
    facts: tuple[StoryFact, ...]


class _Draft(NamedTuple):
    """A fact before it is said."""

    topic: str
    value: str
    replaced_value: str


def draw_story(seed: int, *, n_facts: int = 9, name: str = "story") -> Story:
    """Return a story.

    Args:
        seed: Draws it.
        n_facts: The facts, from 3 to 42; a third of them are replaced later.
        name: The name of its project. Another name gives another story.

    Raises:
        InvalidInput: The number of facts is outside its range.

    >>> story = draw_story(1)
    >>> len(story.facts), sum(bool(fact.replaced) for fact in story.facts)
    (9, 3)
    """
    if not _FEWEST_FACTS <= n_facts <= _MOST_FACTS:
        raise InvalidInput(
            f"got {n_facts} facts; allowed are {_FEWEST_FACTS} to {_MOST_FACTS}"
        )
    generator = np.random.default_rng([seed, *name.encode()])
    drafts = _drafts(generator, n_facts)
    sentences: list[str] = []
    for draft in drafts:
        first_value = draft.replaced_value or draft.value
        sentences.append(f"The {draft.topic} is {first_value}.")
    for draft in drafts:
        if draft.replaced_value:
            sentences.append(f"The {draft.topic} is {draft.value} now.")
    sentences = _with_remarks(generator, sentences)
    log = sentences_log(sentences, name=name)
    events = {event.body.get("text"): event.id for event in log.events}
    facts: list[StoryFact] = []
    for draft in drafts:
        ending = " now." if draft.replaced_value else "."
        sentence = f"The {draft.topic} is {draft.value}{ending}"
        replaced = ""
        if draft.replaced_value:
            replaced = f"the {draft.topic} is {draft.replaced_value}"
        facts.append(
            StoryFact(
                question=f"What is the {draft.topic}?",
                statement=f"the {draft.topic} is {draft.value}",
                value=draft.value,
                replaced=replaced,
                event=events[sentence],
            )
        )
    return Story(log, tuple(facts))


def _drafts(generator: np.random.Generator, n_facts: int) -> list[_Draft]:
    """Return facts about different topics, with values that all differ."""
    topics = [f"{part} of the {thing}" for thing, part in product(_THINGS, _PROPERTIES)]
    rows = generator.permutation(len(topics))[:n_facts]
    values: set[str] = set()
    drafts: list[_Draft] = []
    for number, row in enumerate(rows):
        value = _new_value(generator, values)
        replaced_value = ""
        if number % _UPDATED_SHARE == 0:
            replaced_value = _new_value(generator, values)
        drafts.append(_Draft(topics[row], value, replaced_value))
    return drafts


def _new_value(generator: np.random.Generator, taken: set[str]) -> str:
    """Return a value that was not drawn before, such as Mirenlo-4821."""
    while True:
        syllables = generator.choice(_SYLLABLES, 3)
        number = generator.integers(_SMALLEST_NUMBER, _LARGEST_NUMBER + 1)
        value = f"{''.join(syllables).capitalize()}-{number}"
        if value not in taken:
            taken.add(value)
            return value


def _with_remarks(generator: np.random.Generator, facts: list[str]) -> list[str]:
    """Return sentences, each followed by another that states no fact; none twice."""
    remarks = [row.format(thing=thing) for row, thing in product(_REMARKS, _THINGS)]
    rows = generator.permutation(len(remarks))
    sentences: list[str] = []
    for number, sentence in enumerate(facts):
        sentences.append(sentence)
        if number < len(remarks):
            sentences.append(remarks[rows[number]])
    return sentences
