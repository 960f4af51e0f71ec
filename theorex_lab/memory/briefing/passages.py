"""Passages: what earlier sessions said that a prompt may be answered with.

A passage is a statement with its subject, and the next ones while a line holds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from theorex_lab.memory.briefing.candidates import dated
from theorex_lab.memory.briefing.cards import branch_of, session_numbers, weighted_sum
from theorex_lab.memory.briefing.line_features import (
    has_open_subject,
    is_process,
    is_question,
    is_usable,
    line_features_of,
    says_what,
    standing_alone,
    windows,
)
from theorex_lab.memory.briefing.prompt_words import (
    FILE_MARK,
    NUMBER_MARK,
    words_in,
)
from theorex_lab.memory.briefing.session_log import Message, Prompt, Session
from theorex_lab.text.statements import Statement

# How much each feature of a passage speaks for it, as an exponent.
WEIGHTS: Mapping[str, float] = {
    "process": -0.8,
    "meta": -1.0,
    "praise": -0.9,
    "why": 0.3,
    "factual": 0.15,
    "decide": 0.25,
    "done": 0.1,
    "code": 0.1,
    "short": -0.5,
    "pronoun": -0.3,
    "user": 0.2,
    "line_number": -0.4,
    "automatic": -0.3,
}

_NOT_SEARCHED = ("noise", "interrupt")
_NOT_OF_A_SUBJECT = ("noise", "interrupt", "standing")
_USERS_WORDS = ("own", "repeated")
# What was pasted into a prompt is said by nobody in the project.
_NOBODYS_WORDS = ("template", "standing", "quoted")
# How a line begins that holds the user's words.
_SPEAKER = {"own": "Asked: ", "repeated": "Asked: "}
_SUBJECT_WORDS = ("own", "repeated", "plan", "slash")


@dataclass(frozen=True, slots=True)
class Passage:
    """A statement of an earlier session, with the next ones while a line holds them.

    Attributes:
        text: The text, with its subject, without its date.
        heading: The heading under which it stood, '' for none.
        line: The text as it is shown, with its date.
        at: When it was said (µs UTC).
        session: The session.
        event: The event that it is of.
        features: By name what speaks for it and against it.
        is_users: Whether the user said it.
    """

    text: str
    heading: str
    line: str
    at: int
    session: str
    event: str
    features: Mapping[str, float]
    is_users: bool


@dataclass(frozen=True, slots=True)
class SessionProfile:
    """What a session was about.

    Attributes:
        terms: The words of its prompts, and parts of their names.
        numbers: The issues and pull requests that its prompts name.
        files: The names of the files that it read or edited, in lower case.
        branch: The branch that it worked on, '' for a usual one or none.
    """

    terms: frozenset[str]
    numbers: frozenset[str]
    files: frozenset[str]
    branch: str

    def index_terms(self) -> Iterator[str]:
        """Yield by which terms of a prompt the session is found, each once."""
        yield from self.terms
        for number in self.numbers:
            yield f"{NUMBER_MARK}{number}"
        for file in self.files:
            yield f"{FILE_MARK}{file}"


def quality_of(passage: Passage) -> float:
    """Return what speaks for a passage whatever the prompt is, as an exponent."""
    return weighted_sum(passage.features, WEIGHTS)


def profile_of(session: Session) -> SessionProfile:
    """Return what a session was about."""
    terms: set[str] = set()
    for prompt in session.prompts:
        if prompt.kind in _NOT_OF_A_SUBJECT:
            continue
        for statement, words_of in prompt.statements:
            if words_of in _SUBJECT_WORDS:
                words, parts = words_in(statement.text)
                terms |= words | parts
    paths: list[str] = []
    for tool in session.tools:
        paths.extend(tool.reads)
        paths.extend(tool.edits)
    terms = {term for term in terms if not term.startswith(NUMBER_MARK)}
    return SessionProfile(
        terms=frozenset(terms),
        numbers=session_numbers(session),
        files=_file_names(paths),
        branch=branch_of(session),
    )


def passages_of(session: Session) -> Iterator[Passage]:
    """Yield what a session said that may be a line."""
    for step in session.steps:
        if isinstance(step, Message):
            yield from _message_passages(step)
        elif isinstance(step, Prompt) and step.kind not in _NOT_SEARCHED:
            yield from _prompt_passages(step)


def _file_names(paths: Iterable[str]) -> frozenset[str]:
    """Return the names of files without their folders, in lower case."""
    return frozenset(path.rpartition("/")[2].lower() for path in paths)


def _message_passages(message: Message) -> Iterator[Passage]:
    """Yield what an agent said, each statement with its neighbours."""
    for statement, text in windows(message.statements):
        if has_open_subject(text):
            continue
        if is_usable(statement.text) and not is_process(statement.text):
            features = line_features_of(statement, is_users=False)
            features["automatic"] = float(message.is_automatic)
            yield _passage(
                message,
                statement,
                text,
                features,
            )


def _prompt_passages(prompt: Prompt) -> Iterator[Passage]:
    """Yield what the user said, and the summaries and plans that were handed on."""
    for statement, words_of in prompt.statements:
        if words_of in _NOBODYS_WORDS or not is_usable(statement.text):
            continue
        if is_question(statement.text) or not says_what(statement.text):
            continue
        if words_of not in _USERS_WORDS and is_process(statement.text):
            continue
        features = line_features_of(statement, is_users=True)
        text = _SPEAKER.get(words_of, "") + standing_alone(statement)
        yield _passage(
            prompt,
            statement,
            text,
            features,
        )


def _passage(
    step: Prompt | Message,
    statement: Statement,
    text: str,
    features: Mapping[str, float],
) -> Passage:
    """Return a passage of a prompt or a message."""
    return Passage(
        text=text,
        heading=statement.heading,
        line=dated(text, step.at),
        at=step.at,
        session=step.session,
        event=step.event,
        features=features,
        is_users=isinstance(step, Prompt),
    )
