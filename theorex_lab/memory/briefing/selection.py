"""Choose the lines of a briefing: what is most likely needed, in the least room.

The choice is greedy. What stands in a briefing of 150 tokens also stands in one of 500,
and what stands there in one of 2,000. Room that has no good line stays empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from theorex_lab.memory.briefing.candidates import (
    COMPUTED_SECTIONS,
    LINE_MARK,
    PITFALLS,
    RULES,
    SECTIONS,
    WORK,
    Candidate,
)
from theorex_lab.memory.briefing.prompt_lines import (
    BUDGET_STEPS,
    SAME_OVERLAP,
    SAME_WORDS,
    TUNING,
    least_weight_at_prompt,
)
from theorex_lab.text.line import BYTES_PER_TOKEN
from theorex_lab.text.wording import overlap

# The largest share of a budget that one section may have: from 500 tokens on half.
_SHARE_OF_SMALL = 0.6
_SHARE = 0.5
_SHARE_FROM = 500
# What failed is told briefly, and where it is known what helped also if it failed once.
_SHARE_OF_PITFALLS = 0.25
_LEAST_WEIGHT_OF_CURED = 0.05
# A line that is twice as long must be worth 2 ** .7 as much at a session's start, and
# less at a prompt, where the best lines say most.
_LENGTH_POWER = 0.7
_LENGTH_POWER_AT_PROMPT = TUNING["length_power"]
# A candidate of less weight is not shown, even where there is room: a short briefing is
# a good one. Only a reader who asks for much is given what is doubtful or a detail.
LEAST_WEIGHT = 0.12
_LEAST_WEIGHT_OF_LARGE = 0.05  # from more than 500 tokens on
_LEAST_WEIGHT_OF_LARGEST = 0.02  # from 2,000 tokens on
_FEWEST_WORDS_OF_A_RULE = 2
_SECTION_NUMBERS = {section: number for number, section in enumerate(SECTIONS)}


@dataclass
class _Room:
    """What is left of a budget.

    Attributes:
        size: The bytes that are used.
        by_section: The bytes that the lines of each section use.
    """

    size: int = 0
    by_section: dict[str, int] = field(default_factory=dict)

    def cost(self, candidate: Candidate) -> int:
        """Return the bytes that a line takes, with its title where it is the first."""
        line = _line_bytes(candidate)
        if candidate.section in self.by_section:
            return line
        return line + len(candidate.section.encode()) + len(":\n")

    def holds(
        self,
        candidate: Candidate,
        budget: int,
    ) -> bool:
        """Return whether a line fits into a budget (tokens), and into its section's."""
        limit = BYTES_PER_TOKEN * budget
        if self.size + self.cost(candidate) > limit:
            return False
        share = _SHARE if budget >= _SHARE_FROM else _SHARE_OF_SMALL
        if candidate.section == PITFALLS:
            share = _SHARE_OF_PITFALLS
        section_size = self.by_section.get(candidate.section, 0)
        return section_size + _line_bytes(candidate) <= share * limit

    def take(self, candidate: Candidate) -> None:
        """Use the bytes of a line."""
        self.size += self.cost(candidate)
        section_size = self.by_section.get(candidate.section, 0)
        self.by_section[candidate.section] = section_size + _line_bytes(candidate)


def _line_bytes(candidate: Candidate) -> int:
    return len(f"{LINE_MARK}{candidate.text}\n".encode())


def choose(
    candidates: Iterable[Candidate],
    tokens: int,
    *,
    shown: Sequence[Candidate] = (),
    whole_budget: bool = False,
) -> list[Candidate]:
    """Return the lines that a budget has room for, those of a section together.

    Args:
        candidates: The lines to choose from.
        tokens: The budget.
        shown: Lines that the reader has already. What says the same is left out.
        whole_budget: Whether one section may fill the whole budget.

    Returns:
        The lines in the order of `SECTIONS`, within a section the pinned ones and then
        those chosen first, those on recent work by their session. The share of a
        section does not limit what is pinned.
    """
    length_power = _LENGTH_POWER_AT_PROMPT if whole_budget else _LENGTH_POWER
    waiting = sorted(
        _without_asked_rules(list(candidates)),
        key=partial(_worth, length_power=length_power),
        reverse=True,
    )
    waiting.sort(key=_is_unpinned)
    chosen: list[Candidate] = []
    room = _Room()
    steps = [step for step in BUDGET_STEPS if step < tokens]
    for budget in [*steps, tokens]:
        waiting = _fill(
            room,
            chosen,
            waiting,
            budget,
            shown,
            whole_budget,
        )
    return sorted(chosen, key=partial(_reading_order, latest=_latest_of(chosen)))


def _without_asked_rules(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the lines without those on recent work that only ask for a rule again."""
    rules = [line for line in candidates if line.section == RULES]
    lines: list[Candidate] = []
    for line in candidates:
        if line.section != WORK or not any(_asks_for(line, rule) for rule in rules):
            lines.append(line)
    return lines


def _asks_for(line: Candidate, rule: Candidate) -> bool:
    """Return whether a line on recent work says what a rule says, and nothing more."""
    if len(line.words & rule.words) < _FEWEST_WORDS_OF_A_RULE:
        return False
    return line.words <= rule.words or are_near_duplicates(line.words, rule.words)


def _least_weight(budget: int, candidate: Candidate, *, at_prompt: bool) -> float:
    """Return the weight below which a line is not worth a place in a budget."""
    if at_prompt:
        return least_weight_at_prompt(budget)
    is_cured = candidate.features.get("cured", 0.0) > 0
    if candidate.section == PITFALLS and is_cured and budget <= _SHARE_FROM:
        return _LEAST_WEIGHT_OF_CURED
    if budget <= _SHARE_FROM:
        return LEAST_WEIGHT
    if budget < BUDGET_STEPS[-1]:
        return _LEAST_WEIGHT_OF_LARGE
    return _LEAST_WEIGHT_OF_LARGEST


def _latest_of(chosen: Iterable[Candidate]) -> dict[str, int]:
    """Return by session the time of its latest line on the work."""
    latest: dict[str, int] = {}
    for line in chosen:
        if line.section == WORK:
            latest[line.session] = max(line.at, latest.get(line.session, 0))
    return latest


def _reading_order(
    line: Candidate, latest: Mapping[str, int]
) -> tuple[int, bool, int, str, int]:
    """Return what sorts lines by section, those on the work by session and time.

    Pinned lines come first in their section. The latest session comes before others,
    and what it was asked before what it concluded.
    """
    section = _SECTION_NUMBERS.get(line.section, len(_SECTION_NUMBERS))
    unpinned = _is_unpinned(line)
    if line.section != WORK:
        return section, unpinned, 0, "", 0
    return section, unpinned, -latest[line.session], line.session, line.at


def _is_unpinned(candidate: Candidate) -> bool:
    return not candidate.is_pinned


def _fill(
    room: _Room,
    chosen: list[Candidate],
    waiting: Sequence[Candidate],
    budget: int,
    shown: Sequence[Candidate],
    whole_budget: bool,
) -> list[Candidate]:
    """Take the waiting lines that fit into a budget; return those that wait on."""
    left: list[Candidate] = []
    for candidate in waiting:
        fits = room.holds(candidate, budget)
        if whole_budget or candidate.is_pinned:
            fits = room.size + room.cost(candidate) <= BYTES_PER_TOKEN * budget
        least_weight = _least_weight(budget, candidate, at_prompt=whole_budget)
        if not fits or candidate.weight < least_weight:
            left.append(candidate)
        elif not _is_said(candidate, [*shown, *chosen]):
            room.take(candidate)
            chosen.append(candidate)
    return left


def _worth(candidate: Candidate, *, length_power: float) -> float:
    """Return what a line is worth for the room that it takes."""
    length_cost: float = _line_bytes(candidate) ** length_power
    return candidate.weight / length_cost


def _is_said(candidate: Candidate, lines: Iterable[Candidate]) -> bool:
    """Return whether one of these lines says the same already, or is of the same item."""
    return any(_say_the_same(candidate, line) for line in lines)


def _say_the_same(candidate: Candidate, line: Candidate) -> bool:
    """Return whether two lines say the same, or show the same item.

    A command, a pitfall and a place that have the same words are still three things.
    """
    if candidate.own_id and candidate.own_id == line.own_id:
        return True
    sections = {candidate.section, line.section}
    if len(sections) > 1 and not sections.isdisjoint(COMPUTED_SECTIONS):
        return False
    return are_near_duplicates(candidate.words, line.words)


def are_near_duplicates(words: frozenset[str], others: frozenset[str]) -> bool:
    """Return whether two lines with these content words say the same."""
    if len(words & others) < SAME_WORDS:
        return False
    return overlap(words, others) > SAME_OVERLAP
