"""Collect from sessions the sentences that may state a standing rule.

What is quoted or pasted never does, nor does what an agent says of its future.
Standard library only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.remembering import remembered
from theorex_lab.memory.briefing import rule_cues as cues
from theorex_lab.memory.briefing.rule_signs import (
    score_of,
    states_a_wish,
    wish_signs,
)
from theorex_lab.memory.briefing.rule_wording import (
    obedience_wording,
    report_wording,
    standing_wording,
    without_shouting,
)
from theorex_lab.memory.briefing.session_log import (
    Message,
    Prompt,
    Session,
    ToolUse,
    WordsOf,
)
from theorex_lab.text.statements import Statement
from theorex_lab.text.wording import content_words, specifics

# Whose words a saying is. 'reminder' names a rule file and nothing else; 'report' is an
# agent's of what it wrote down; 'obeyed' is an agent's of a rule that it keeps.
Source = Literal[
    "own", "repeated", "template", "summary", "standing", "reminder", "report", "obeyed"
]
_SOURCES: Mapping[WordsOf, Source] = {
    "own": "own",
    "repeated": "repeated",
    "template": "template",
    "summary": "summary",
}
_SHORTEST = 15  # characters of a sentence that may be a rule
_LONGEST = 220
_CORRECTION_CHARACTERS = 280  # a longer prompt is a new piece of work
_AFTER_AN_ACT = frozenset({"agent", "tool", "interrupt", "prompt"})
_MOST_ANNOUNCING_WORDS = 12
_SHORTEST_STANDING = 100  # characters of a prompt that nobody types again
_SENT_OFTEN = 3
_REMEMBERED_PROMPTS = 1 << 11  # each is looked at twice, and many are sent again
# "I decide. […] Not you!"
_NOT_YOU = lazy_pattern(r"\bnot you\b", re.I)
# Where a sentence ends before another one in small letters.
_CLAUSE_END = lazy_pattern(
    r"(?<!\.[a-z])(?<!\bvs)(?<!\betc)\s*(?:[.!;]|(?<=\?))\s+(?=[a-z])|,\s+(?=just [a-z])"
)
_CONDITION = lazy_pattern(r"\b(?:if|when|once|after)\b (?P<condition>[^:]+)", re.I)
_CONDITIONAL = lazy_pattern(r"^(?:if|when(?:ever)?|after|once)\b.{8,}, ", re.I)
_ASIDE = lazy_pattern(r"\s*\([^)]*\)")
# "committed" and "uncommitted" are of "commit".
_DOUBLED_END = lazy_pattern(r"([bdgmnprt])\1$")
# Words of how a rule is put, not of what it is about.
_FORM = content_words(
    "never always don doesn isn won can per rule rules convention conventions agents"
    " agent report reports user nothing ensure first avoid stop haven didn anything ve"
    " left made global project house repo"
)


@dataclass(frozen=True, slots=True)
class Saying:
    """One sentence that may state a rule.

    Attributes:
        text: The sentence as it would be shown.
        at: When it was said (µs UTC).
        event: The id of the event that holds it.
        session: Its session.
        source: Whose words it is.
        features: By name the signs for and against it.
        words: Its content words.
        key: What it is grouped by instead of its words; '' for its words.
        request: The event of the request to record it, '' for none.
    """

    text: str
    at: int
    event: str
    session: str
    source: Source
    features: Mapping[str, float]
    words: frozenset[str]
    key: str = ""
    request: str = ""

    @property
    def score(self) -> float:
        """The sum of its features, each with its weight."""
        return score_of(self.features)


def sayings_of(sessions: Iterable[Session]) -> Iterator[Saying]:
    """Yield the sayings of sessions that may state a rule.

    Only what was captured counts; what was imported is nobody's rule.
    """
    sessions = list(sessions)
    standing = _standing_texts(sessions)
    for session in sessions:
        yield from _session_sayings(session, standing)


def _session_sayings(session: Session, standing: set[str]) -> Iterator[Saying]:
    """Yield the sayings of a session.

    Args:
        session: The session.
        standing: Prompts that a program sends.
    """
    request = ""
    for step in session.steps:
        if isinstance(step, ToolUse) or not step.trusted:
            continue
        if isinstance(step, Message):
            yield from _message_sayings(step, request)
        elif step.kind == "standing" or step.text in standing:
            yield from _standing_sayings(step)
        else:
            request = _request_of(step)
            yield from _prompt_sayings(step)


def _request_of(prompt: Prompt) -> str:
    """Return a prompt's event where it asks to record a wish, otherwise ''."""
    if _asks_to_record(prompt):
        return prompt.event
    return ""


def _standing_texts(sessions: Iterable[Session]) -> set[str]:
    """Return the long prompts that follow answers again and again, word for word."""
    counts: Counter[str] = Counter()
    for session in sessions:
        for prompt in session.prompts:
            is_long = len(prompt.text) > _SHORTEST_STANDING
            is_own = prompt.trusted and prompt.kind == "own"
            if is_own and is_long and prompt.after == "agent":
                counts[prompt.text] += 1
    return {text for text, n_sent in counts.items() if n_sent >= _SENT_OFTEN}


def _asks_to_record(prompt: Prompt) -> bool:
    """Return whether a user asks to write a wish down where agents read it."""
    if prompt.kind != "own":
        return False
    return _holds_record_request(prompt.text)


@remembered(_REMEMBERED_PROMPTS)
def _holds_record_request(text: str) -> bool:
    return cues.RECORD_REQUEST.is_in(text)


def _is_correction(prompt: Prompt) -> bool:
    """Return whether a short prompt objects to what the agent has just done."""
    if len(prompt.text) >= _CORRECTION_CHARACTERS or prompt.after not in _AFTER_AN_ACT:
        return False
    return cues.CORRECTION.is_in(prompt.text)


def _prompt_sayings(prompt: Prompt) -> Iterator[Saying]:
    """Yield what a prompt says that may be a rule."""
    yield from _reminders(prompt)
    context = {
        "correction": float(_is_correction(prompt)),
        "interrupted": float(prompt.after == "interrupt"),
    }
    if _asks_to_record(prompt):
        context["recorded"] = 1.0
    for sentence, source in _sentences(prompt):
        saying = _user_saying(prompt, sentence, source, context)
        if saying is not None:
            yield saying


def _sentences(prompt: Prompt) -> Iterator[tuple[str, Source]]:
    """Yield the sentences of a prompt that may state a rule, with whose they are."""
    for statement, words_of in _joined(prompt.statements):
        if words_of == "own" and _announces(statement.text):
            return
        source = _source_of(statement, words_of)
        if source is None:
            continue
        for sentence in _CLAUSE_END.split(statement.text):
            yield sentence, source


def _announces(text: str) -> bool:
    """Return whether a sentence hands over another text: "Summarise this: …".

    Where the text begins on another line, `session_log` has marked it as quoted.
    """
    head, colon, _ = text.partition(": ")
    if not colon or len(head.split()) > _MOST_ANNOUNCING_WORDS:
        return False
    if cues.EVERY_TIME.is_in(head) or re.search(cues.RULE_FILE, head, re.I | re.X):
        return False
    return cues.TASK.is_in(head) or cues.ANNOUNCEMENT.is_in(head)


def _joined(
    statements: Iterable[tuple[Statement, WordsOf]],
) -> list[tuple[Statement, WordsOf]]:
    """Return statements, each that begins with "Not" joined to the one before it."""
    joined: list[tuple[Statement, WordsOf]] = []
    for statement, words_of in statements:
        if joined and statement.text.lower().startswith("not "):
            before, words_before = joined.pop()
            text = (
                f"{without_shouting(before.text).rstrip(' .!')}, n{statement.text[1:]}"
            )
            joined.append((before._replace(text=text), words_before))
        else:
            joined.append((statement, words_of))
    return joined


def _source_of(statement: Statement, words_of: WordsOf) -> Source | None:
    """Return whose words a statement is; None where it cannot state a rule."""
    if words_of == "summary" and not cues.NORM_HEADING.is_in(statement.heading):
        return None
    return _SOURCES.get(words_of)


def _user_saying(
    prompt: Prompt,
    sentence: str,
    source: Source,
    context: Mapping[str, float],
) -> Saying | None:
    """Return the saying of one sentence of a user; None where it states no rule."""
    if not _SHORTEST <= len(sentence) <= _LONGEST:
        return None
    wording = standing_wording(sentence)
    signs = wish_signs(wording)
    if signs["role"] and _NOT_YOU.search(prompt.text) and " not " not in wording:
        wording = f"{wording}, not the agent"
    if not states_a_wish(wording, signs, sentence):
        return None
    features = {**signs, **context, source: 1.0}
    if source == "template" and prompt.after != "slash":
        features["unasked"] = 1.0
    return Saying(
        text=wording,
        at=prompt.at,
        event=prompt.event,
        session=prompt.session,
        source=source,
        features=features,
        words=_rule_words(wording),
        request=_request_of(prompt),
    )


def _reminders(prompt: Prompt) -> Iterator[Saying]:
    """Yield a saying where a prompt points an agent at a rule file."""
    if prompt.kind != "own":
        return
    match = cues.BARE_REMINDER.search(prompt.text)
    if match is None and _is_correction(prompt):
        match = cues.RULE_MENTION.search(prompt.text)
    if match is None or match[1].isupper() or not match[1].endswith(".mdc"):
        return
    wording = f"Follow the rule file {match[1]}"
    yield Saying(
        text=wording,
        at=prompt.at,
        event=prompt.event,
        session=prompt.session,
        source="reminder",
        features={**wish_signs("Follow the rule"), "reminder": 1.0},
        words=content_words(match[1]),
        key=match[1].lower(),
    )


def _standing_sayings(prompt: Prompt) -> Iterator[Saying]:
    """Yield what a program asks for after each answer, each with its condition."""
    condition = ""
    texts: list[str] = []
    for statement, _ in prompt.statements:
        if statement.text.endswith(":"):
            condition = condition or _condition_in(statement.text)
        elif not statement.is_bullet:
            texts.append(statement.text)
    demand = _demand_of(texts)
    if demand:
        yield _standing_saying(prompt, _conditioned(demand, condition))
    for text in texts:
        if text != demand and specifics(text) and _CONDITIONAL.search(text):
            yield _standing_saying(prompt, _conditioned(text, ""))


def _demand_of(texts: Sequence[str]) -> str:
    """Return the first imperative, one that names something before any other."""
    demands = [text for text in texts if is_imperative(text)]
    for demand in demands:
        if specifics(demand):
            return demand
    return demands[0] if demands else ""


def _condition_in(text: str) -> str:
    """Return the condition that a sentence names; '' for none."""
    match = _CONDITION.search(text)
    if match is None:
        return ""
    return _ASIDE.sub("", match["condition"]).strip()


def is_imperative(text: str) -> bool:
    """Return whether a sentence asks for something.

    >>> is_imperative("Run the tests"), is_imperative("Parsing sessions")
    (True, False)
    """
    return cues.TASK.is_in(text) or cues.WISH.is_in(text)


def _conditioned(text: str, condition: str) -> str:
    """Return what a program asks for, with when it does."""
    task = text[:1].lower() + text[1:]
    if condition:
        return f"After each answer, if {condition}: {task}"
    return f"After each answer: {task}"


def _standing_saying(prompt: Prompt, text: str) -> Saying:
    wording = text.rstrip(" .:")
    return Saying(
        text=wording,
        at=prompt.at,
        event=prompt.event,
        session=prompt.session,
        source="standing",
        features={**wish_signs(wording), "task": 0.0, "standing": 1.0},
        words=_rule_words(wording),
    )


def _message_sayings(message: Message, request: str) -> Iterator[Saying]:
    """Yield what an agent says of rules that it keeps or has written down.

    What it says of its future is its own statement, not a rule.

    Args:
        message: The message.
        request: The event of the prompt that asked to record a rule, '' for none.
    """
    for statement in message.statements:
        text = statement.text
        if not _SHORTEST <= len(text) <= _LONGEST or text.endswith(("?", ":")):
            continue
        wording = report_wording(text) if request else ""
        if wording:
            yield _agent_saying(message, wording, "report", request)
        elif cues.OBEYED.is_in(text) and not cues.NOT_OBEDIENCE.is_in(text):
            yield _agent_saying(message, obedience_wording(text), "obeyed", "")


def _agent_saying(
    message: Message, wording: str, source: Source, request: str
) -> Saying:
    feature = "reported" if source == "report" else "obeyed"
    return Saying(
        text=wording,
        at=message.at,
        event=message.event,
        session=message.session,
        source=source,
        features={**wish_signs(wording), "task": 0.0, feature: 1.0},
        words=_rule_words(wording),
        request=request,
    )


def _rule_words(wording: str) -> frozenset[str]:
    """Return the words that say what a rule is about."""
    words = content_words(wording) - _FORM
    return frozenset(_DOUBLED_END.sub(r"\1", word.removeprefix("un")) for word in words)
