"""A seeded simulation of what a team said, and questions whose answers are known.

Nobody said it: it is composed so that each kind of question is hard for another way of
searching. Draws are whole numbers, so that a seed gives the same texts everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import simulated_question_words as words
from simulation_draws import HOUR, SECOND, START, Dice, write_stored

from theorex_lab import InvalidInput
from theorex_lab.core.clock import MICROSECONDS_PER_DAY

SESSION_TURNS = 14
DAYS = 120
# By project, how many questions of each kind.
ASKED = {
    "same words": 4,
    "two words": 4,
    "other words": 5,
    "a neighbour": 4,
    "a mark": 4,
    "changed": 4,
    "no answer": 4,
}
_CELLS = 56
_MARK_FAMILIES = 4
_TURN_PAIRS = 9
_STATED = 16  # of the paraphrases; most are not asked for


@dataclass
class _Unit:
    """Turns that follow each other, and the question that the last one answers."""

    texts: list[str]
    question: tuple[str, str] = ("", "")
    fact: str = ""  # units of one fact stay in their order
    stale: bool = False
    ids: list[int] = field(default_factory=list)


def simulate_questions(*, seed: int) -> list[dict[str, Any]]:
    """The texts of twelve conversations, and after each of them its questions.

    Raises InvalidInput for a seed that is no whole number from 0.
    """
    if type(seed) is not int or seed < 0:
        raise InvalidInput(f"got the seed {seed!r}; allowed is a whole number from 0")
    dice = Dice(seed)
    rows: list[dict[str, Any]] = []
    for project in words.PROJECTS:
        rows += _conversation(dice, project, len(rows))
    return rows


def _conversation(dice: Dice, project: str, first_id: int) -> list[dict[str, Any]]:
    stem, parts_text = words.PROJECTS[project]
    parts = parts_text.split("|")
    units = [
        *_cells(dice, parts),
        *_paraphrases(dice),
        *_turns(dice, parts),
        *_marks(dice, stem),
        *_figures(dice, parts),
        *(_Unit([text]) for text in words.SMALL_TALK),
    ]
    ordered = _shuffled(dice, units)
    people = dice.several(words.PEOPLE, 4)
    rows = _said(dice, project, people, ordered, first_id)
    return [*rows, *_questions(dice, project, parts, units)]


def _cells(dice: Dice, parts: list[str]) -> Iterator[_Unit]:
    """What was settled on an aspect of a part; some are talked about without a result."""
    cells = dice.several(list(product(parts, words.ASPECTS)), _CELLS)
    kinds = ["same words"] * ASKED["same words"] + ["two words"] * ASKED["two words"]
    for number, (part, aspect) in enumerate(cells):
        slots = {"part": part, "aspect": aspect, "settled": words.ASPECTS[aspect]}
        question = ("", "")
        n_mentions = int(dice.chance(400))
        if number < len(kinds):
            n_mentions = dice.pick((1, 3, 5, 5))
            text = f"{part.split()[-1]} {aspect}"
            if kinds[number] == "same words":
                text = dice.pick(words.CELL_QUESTIONS).format(**slots)
            question = (kinds[number], text)
        yield _Unit([dice.pick(words.STATEMENTS).format(**slots)], question)
        for template in dice.several(words.MENTIONS, n_mentions):
            yield _Unit([template.format(**slots)])


def _paraphrases(dice: Dice) -> Iterator[_Unit]:
    stated = dice.several(words.PARAPHRASES, _STATED)
    for number, (statement, question) in enumerate(stated):
        is_asked = number < ASKED["other words"]
        yield _Unit([statement], ("other words", question) if is_asked else ("", ""))


def _turns(dice: Dice, parts: list[str]) -> Iterator[_Unit]:
    """A turn that asks, and one that answers without its words."""
    pairs = dice.several(words.TURNS, _TURN_PAIRS)
    for number, (template, answer) in enumerate(pairs):
        slots = {"part": dice.pick(parts), "name": dice.pick(words.PEOPLE)}
        question = template.format(**slots)
        is_asked = number < ASKED["a neighbour"]
        yield _Unit(
            [question, answer], ("a neighbour", question) if is_asked else ("", "")
        )


def _marks(dice: Dice, stem: str) -> Iterator[_Unit]:
    """Names of files, numbers of errors and of tickets that look alike."""
    for family in range(_MARK_FAMILIES):
        number = 1_000 + dice.below(8_000)
        verbs = ("load", "merge") if family == 0 else ("sync", "split")
        members = [f"{stem}_{dice.pick(verbs)}_v{n}.py" for n in range(1, 5)]
        if family % 2:
            letters = "ERR" if family == 1 else stem[:3].upper()
            members = [f"{letters}-{number + n * 9}" for n in range(4)]
        complaints = dice.several(words.COMPLAINTS, len(members))
        for position, (mark, complaint) in enumerate(
            zip(members, complaints, strict=True)
        ):
            slots = {"mark": mark, "complaint": complaint}
            question = ("", "")
            if position == 0:
                question = ("a mark", dice.pick(words.MARK_QUESTIONS).format(**slots))
            yield _Unit([dice.pick(words.MARK_STATEMENTS).format(**slots)], question)
            for template in dice.several(words.MARK_MENTIONS, dice.below(9)):
                yield _Unit([template.format(**slots)])


def _figures(dice: Dice, parts: list[str]) -> Iterator[_Unit]:
    """Figures that change: the old ones are told in the words of the question."""
    cells = dice.several(list(product(parts, words.FIGURES)), 2 * ASKED["changed"])
    for number, (part, figure) in enumerate(cells):
        values = dice.several(words.FIGURES[figure].split("|"), 3)
        slots = {"part": part, "figure": figure}
        fact = f"{figure} of {part}"
        yield _Unit(
            [dice.pick(words.FIRST_FIGURES).format(**slots, value=values[0])],
            fact=fact,
            stale=True,
        )
        for template in dice.several(words.OLD_FIGURES, 1 + dice.below(6)):
            text = template.format(**slots, value=values[0])
            yield _Unit([text], fact=fact, stale=True)
        question = ("", "")
        if number < ASKED["changed"]:
            question = ("changed", words.FIGURE_QUESTION.format(**slots))
        template = dice.pick(words.NEW_FIGURES)
        text = template.format(**slots, old=values[0], value=values[1])
        yield _Unit([text], question, fact)


def _shuffled(dice: Dice, units: list[_Unit]) -> list[_Unit]:
    """The units in an order drawn, those of one fact one after the other in time."""
    shuffled = dice.several(units, len(units))
    by_fact: dict[str, list[_Unit]] = {}
    for unit in units:
        by_fact.setdefault(unit.fact, []).append(unit)
    in_turn = {fact: iter(of_fact) for fact, of_fact in by_fact.items()}
    return [next(in_turn[unit.fact]) if unit.fact else unit for unit in shuffled]


def _said(
    dice: Dice, project: str, people: list[str], units: list[_Unit], first_id: int
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    pace = DAYS * MICROSECONDS_PER_DAY
    n_turns = sum(len(unit.texts) for unit in units)
    n_sessions = n_turns // SESSION_TURNS + 1
    speaker = people[0]
    for unit in units:
        for text in unit.texts:
            session = len(rows) // SESSION_TURNS
            at = START + session * (pace // n_sessions) + 9 * HOUR
            at += (len(rows) % SESSION_TURNS) * 40 * SECOND
            speaker = dice.pick([name for name in people if name != speaker])
            unit.ids.append(first_id + len(rows))
            rows.append(
                {
                    "id": unit.ids[-1],
                    "at": at,
                    "project": project,
                    "session": f"{project} {session + 1}".replace(" ", "-"),
                    "text": f"{speaker}: {_begun(text)}",
                }
            )
    return rows


def _begun(text: str) -> str:
    """The text with a capital letter; a file keeps its name."""
    return text if "_" in text.split()[0] else text[0].upper() + text[1:]


def _questions(
    dice: Dice, project: str, parts: list[str], units: list[_Unit]
) -> Iterator[dict[str, Any]]:
    stale: dict[str, list[int]] = {}
    for unit in units:
        if unit.stale:
            stale.setdefault(unit.fact, []).extend(unit.ids)
    for unit in units:
        kind, text = unit.question
        if kind:
            yield {
                "project": project,
                "kind": kind,
                "question": text,
                "answers": [unit.ids[-1]],
                "stale": sorted(stale.get(unit.fact, [])),
            }
    unheard = dice.several(words.UNHEARD, ASKED["no answer"] // 2)
    without = [
        dice.pick(words.UNHEARD_QUESTIONS).format(unheard=word, part=dice.pick(parts))
        for word in unheard
    ]
    without += dice.several(words.FOREIGN_QUESTIONS, ASKED["no answer"] - len(without))
    for text in without:
        yield {
            "project": project,
            "kind": "no answer",
            "question": text,
            "answers": [],
            "stale": [],
        }


def save_questions(rows: list[dict[str, Any]], path: str | Path, *, seed: int) -> None:
    """Write the texts and questions as a simulation's file. Raises StorageError."""
    header = {
        "simulation": True,
        "of": "questions",
        "seed": seed,
        "days": DAYS,
        "version": 1,
    }
    write_stored(header, rows, path)
