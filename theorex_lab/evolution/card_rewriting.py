"""Let a model reword the cards of the latest sessions during maintenance, within a budget.

A model is asked once about a line, with one question a card. Its answer is checked line
by line against the lines that it was shown; what fails is dropped and counted, and the
extracted line stays. Each answer is on disk before the next question is asked, so that
a maintenance that was cut off asks nothing twice.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.errors import (
    ConfigError,
    ModelUnavailable,
    UnusableAnswer,
)
from theorex_lab.core.ids import SCANNER
from theorex_lab.core.sections import read_sections
from theorex_lab.core.strict_json import unambiguous
from theorex_lab.memory.briefing.candidates import Candidate
from theorex_lab.memory.briefing.cards import work_candidates
from theorex_lab.memory.briefing.rewording import (
    MOST_SOURCES,
    bare_text,
    label_of,
    may_be_reworded,
    rewording_problem,
)
from theorex_lab.memory.briefing.rewritten_cards import (
    asked_lines,
    line_key,
    rewriting_event,
    tokens_spent,
)
from theorex_lab.memory.briefing.session_log import recorded_sessions
from theorex_lab.memory.contract import Home
from theorex_lab.memory.projects import known_projects
from theorex_lab.text.line import count_tokens, fence, one_line

if TYPE_CHECKING:
    from theorex_lab.dispatch.llm import Completion

Complete = Callable[[str], "Completion"]

MOST_LINES_ASKED = 8  # the best ones of a card
_MOST_PROJECTS = 50
_ANSWER_TOKENS = 1_024
_READ_CHARACTERS = 20_000  # of an answer
_SILENCES_TO_STOP = 2
_PROBLEM_CHARACTERS = 300
_PROBLEMS_REPORTED = 3
# A run that was cut off and is repeated has what the first one left of its tokens.
_BUDGET_MICROSECONDS = MICROSECONDS_PER_DAY // 2
_PROMPTS = read_sections(__file__, "prompts.txt")
_WORDING = {
    "type": "object",
    "properties": {
        "of": {"type": "array", "items": {"type": "integer"}},
        "text": {"type": "string"},
    },
    "required": ["of", "text"],
    "additionalProperties": False,
}
ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"lines": {"type": "array", "items": _WORDING}},
    "required": ["lines"],
    "additionalProperties": False,
}


def rewrite_cards(home: Home) -> str:
    """Let the setting's model word the latest sessions' cards; return what was done.

    Args:
        home: The home. One of a project has its cards worded, another one those of the
            projects that were active last, and those of all together.

    Raises:
        ConfigError: The setting cardModel names no model of `models`.
        ModelUnavailable: The model has no url, or its key is not set.
    """
    settings = home.settings
    name = settings.card_model
    if name is None or settings.card_tokens == 0:
        return "no model was set up for it"
    if name not in settings.models:
        names = ", ".join(settings.models)
        raise ConfigError(f"cardModel is {name!r}; allowed are the models {names}")

    from theorex_lab.dispatch.llm import client_for

    with client_for(name, settings) as client:
        complete = partial(
            client.complete,
            json_schema=ANSWER_SCHEMA,
            max_tokens=_ANSWER_TOKENS,
            temperature=0.0,
        )
        return CardRewriter(home, complete).run()


@dataclass
class CardRewriter:
    """Asks one model about the cards of a home, in one maintenance.

    Attributes:
        home: The home.
        complete: Takes a prompt to the model's completion.
        tokens: What this maintenance spent, before an interruption too.
        n_cards: How many cards got a new wording.
        n_lines: How many lines have a new wording.
        refused: Why wordings were refused, with how often.
        waiting: Why cards wait for another maintenance, with how many.
    """

    home: Home
    complete: Complete
    tokens: int = 0
    n_cards: int = 0
    n_lines: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    waiting: Counter[str] = field(default_factory=Counter)
    _silences: int = 0

    @property
    def model(self) -> str:
        """The name of the model that is asked."""
        return self.home.settings.card_model or ""

    def run(self) -> str:
        """Ask about every card with lines that no model was asked about.

        Returns:
            What was done, and what waits and why.
        """
        now = self.home.clock.now()
        self.tokens = tokens_spent(self.home, now - _BUDGET_MICROSECONDS)
        asked = asked_lines(self.home)
        projects = self.home.projects or known_projects(self.home)[:_MOST_PROJECTS]
        homes = [self.home.in_project(project) for project in projects]
        if not self.home.project:
            homes.append(self.home)
        for project_home in homes:
            for card in _cards(project_home, now):
                new_lines = [line for line in card if line_key(line) not in asked]
                if new_lines:
                    asked.update(map(line_key, new_lines))
                    self._word(project_home, new_lines)
        return self.report()

    def report(self) -> str:
        """Return in words what was done so far."""
        limit = self.home.settings.card_tokens
        text = (
            f"{self.n_lines} lines of {self.n_cards} cards worded by {self.model},"
            f" {self.tokens} of {limit} tokens spent"
        )
        price = self.home.settings.price(self.model)
        if price:
            text += f" (cost {self.tokens * price / 1e6:.4f})"
        for problem, n_wordings in self.refused.most_common(_PROBLEMS_REPORTED):
            text += f"; {n_wordings} refused: {problem}"
        for problem, n_cards in self.waiting.most_common(_PROBLEMS_REPORTED):
            text += f"; {n_cards} wait on: {problem}"
        return text

    def _word(self, home: Home, lines: list[Candidate]) -> None:
        """Ask about the lines of one card, and append what became of the answer."""
        prompt = card_prompt(lines)
        problem = self._why_not_asked(prompt)
        if problem:
            self.waiting[problem] += 1
            return
        tokens_before = self.tokens
        wordings: list[tuple[list[int], str]] = []
        refused: list[str] = []
        try:
            for of, text in self._answer(prompt):
                problem = _problem_of(of, text, lines, wordings)
                if problem:
                    refused.append(problem)
                else:
                    wordings.append(([number - 1 for number in of], text))
        except UnusableAnswer as error:
            # Asked again it would say the same, at the same price.
            refused.append(one_line(str(error), _PROBLEM_CHARACTERS))
        except ModelUnavailable as error:
            self.waiting[one_line(str(error), _PROBLEM_CHARACTERS)] += 1
            return
        event = rewriting_event(
            home,
            lines,
            wordings,
            agent=SCANNER,
            model=self.model,
            refused=refused,
            tokens=self.tokens - tokens_before,
        )
        home.journal.append([event])
        self.refused.update(refused)
        self.n_lines += len(wordings)
        self.n_cards += bool(wordings)

    def _why_not_asked(self, prompt: str) -> str:
        """Return why the model is not asked now, '' where it is."""
        if self._silences >= _SILENCES_TO_STOP:
            return f"{self.model} was silent {_SILENCES_TO_STOP} times in a row"
        needed = self.tokens + count_tokens(prompt) + _ANSWER_TOKENS
        if needed > self.home.settings.card_tokens:
            return "the setting cardTokens leaves no room for another question"
        return ""

    def _answer(self, prompt: str) -> list[tuple[list[int], str]]:
        """Return the wordings of the model's answer, and count its tokens.

        Raises:
            UnusableAnswer: It is not of the form that was asked for.
            ModelUnavailable: No answer came.
        """
        try:
            completion = self.complete(prompt)
        except UnusableAnswer:
            self._silences = 0
            self.tokens += count_tokens(prompt) + _ANSWER_TOKENS  # what it was at most
            raise
        except ModelUnavailable as error:
            if error.kind in ("silent", "busy"):
                self._silences += 1
            raise
        self._silences = 0
        text = completion.text[:_READ_CHARACTERS]
        if completion.tokens is None:
            self.tokens += count_tokens(prompt + text)
        else:
            self.tokens += completion.tokens
        return answered_wordings(text)


def _cards(home: Home, now: int) -> Iterator[list[Candidate]]:
    """Yield the best lines of each card that a briefing of the home would have."""
    lines = work_candidates(recorded_sessions(home, now), now)
    for _, card in groupby(lines, key=lambda line: line.session):
        allowed = [line for line in card if may_be_reworded(line)]
        yield allowed[:MOST_LINES_ASKED]


def card_prompt(lines: Sequence[Candidate]) -> str:
    """Return what a model is asked about the lines of a card, which are fenced."""
    texts: list[str] = []
    for number, line in enumerate(lines, 1):
        kind = label_of(line) or line.kind
        texts.append(f"{number} ({kind}): {bare_text(line)}")
    answer = _PROMPTS["card_answer"].format(most=MOST_SOURCES)
    return "\n".join([_PROMPTS["card"], *fence(texts, "card"), answer])


def answered_wordings(text: str) -> list[tuple[list[int], str]]:
    """Return the wordings of an answer, each after the numbers of its lines, from 1.

    Raises:
        UnusableAnswer: The answer is not one JSON object of the form asked for.

    >>> answered_wordings('{"lines": [{"of": [1], "text": "Moved the cache."}]}')
    [([1], 'Moved the cache.')]
    """
    what = f"the model answered {one_line(text, 120)!r}"
    allowed = "allowed is one JSON object of lines, each with of and text"
    try:
        answer = json.loads(text, object_pairs_hook=partial(unambiguous, "the answer"))
    except (ValueError, RecursionError, ConfigError) as error:
        raise UnusableAnswer(f"{what}; {allowed}") from error
    if not isinstance(answer, dict) or answer.keys() != {"lines"}:
        raise UnusableAnswer(f"{what}; {allowed}")
    lines = answer["lines"]
    if not isinstance(lines, list) or not all(map(_is_wording, lines)):
        raise UnusableAnswer(f"{what}; {allowed}")
    return [(line["of"], line["text"]) for line in lines]


def _is_wording(line: object) -> bool:
    """Return whether a line of an answer has the members asked for, and no others."""
    if not isinstance(line, dict) or line.keys() != {"of", "text"}:
        return False
    numbers = line["of"]
    if not isinstance(numbers, list) or not isinstance(line["text"], str):
        return False
    return all(type(number) is int for number in numbers)


def _problem_of(
    of: Sequence[int],
    text: str,
    lines: Sequence[Candidate],
    wordings: Sequence[tuple[list[int], str]],
) -> str:
    """Return why a wording is refused, '' where it is not.

    Args:
        of: The numbers of the lines that it stands for, from 1.
        text: The wording.
        lines: The lines that the model was shown.
        wordings: The wordings before it, with the numbers of their lines from 0.
    """
    if len(set(of)) < len(of) or not all(1 <= n <= len(lines) for n in of):
        return f"it stands for the lines {of}; allowed are 1 to {len(lines)}, each once"
    for worded_numbers, _ in wordings:
        if any(number - 1 in worded_numbers for number in of):
            return "it stands for a line that has another wording"
    return rewording_problem(text, [lines[number - 1] for number in of])
