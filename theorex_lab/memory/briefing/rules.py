"""Tell the standing rules of a user from what was said in their sessions.

A standing rule is a lasting wish about how work is done. Words alone do not make one:
it needs an authority, such as that its user said it in general, twice, or as a
correction, that they asked to record it, that an agent obeys it by name, or that a
program of theirs sends it after each answer. What is quoted or pasted is never a rule.
Standard library only.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from theorex_lab.memory.briefing import rule_cues as cues
from theorex_lab.memory.briefing.candidates import (
    RULES,
    Candidate,
    fits_a_line,
    short_date,
)
from theorex_lab.memory.briefing.rule_wording import (
    is_objection,
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
from theorex_lab.text.wording import content_words, overlap, specifics

# Whose words a saying is. 'reminder' names a rule file and nothing else; 'report' is an
# agent's of what it wrote down; 'obeyed' is an agent's of a rule that it keeps.
Source = Literal[
    "own", "repeated", "template", "summary", "standing", "reminder", "report", "obeyed"
]
_USERS_SOURCES = frozenset({"own", "repeated", "template", "summary", "reminder"})
_SOURCES: Mapping[WordsOf, Source] = {
    "own": "own",
    "repeated": "repeated",
    "template": "template",
    "summary": "summary",
}

MOST_RULES = 60
MICROSECONDS_PER_DAY = 86_400_000_000
_SHORTEST = 15  # characters of a sentence that may be a rule
_SHORTEST_WORDING = 10
_LONGEST = 220
_CORRECTION_CHARACTERS = 280  # a longer prompt is a new piece of work
_AFTER_AN_ACT = frozenset({"agent", "tool", "interrupt", "prompt"})
_MOST_ANNOUNCING_WORDS = 12
_SHORTEST_STANDING = 100  # characters of a prompt that nobody types again
_SENT_OFTEN = 3
_MANY_WORDS = 28
_FEW_WORDS = 5
_MOST_PRACTICES = 3  # more words of practice do not make a rule more general
_MOST_SPECIFICS = 3
_SESSIONS_OF_TEMPLATE = 3
_IF_ONLY = re.compile(r"\b(?:would|could|might)\b", re.I)
_SHORT_RULE = 25  # words of a rule that its user may state once, in general

# What each feature adds to the log odds that a maintainer keeps the rule.
WEIGHTS: Mapping[str, float] = {
    "wish": 0.6,
    "every_time": 1.0,
    "negative": 0.5,
    "ought": 0.4,
    "practice": 0.9,
    "specific": -0.35,
    "name": -0.35,
    "role": 1.0,
    "task": -1.3,
    "deictic": -0.5,
    "long": -0.6,
    "short": -0.3,
    "pronoun": -0.8,
    "objection": -0.5,
    "correction": 0.6,
    "recorded": 1.6,
    "obeyed": 1.1,
    "reported": 1.7,
    "interrupted": 0.3,
    "standing": 3.0,
    "template": -0.6,
    "unasked": -1.0,
    "repeated": -0.2,
    "summary": 1.4,
    "reminder": 0.6,
}
_PER_DOUBLING = 1.1  # of the sessions in which it was said
_MOST_OF_TEMPLATE = 1.2  # a template says the same each time it is used
_MOST_OF_STANDING = 3.0
_TWO_VOICES = 0.8  # the user says it, and an agent says that it keeps it
_RECENT = 1.0
_HALF_LIFE_DAYS = 60
_ONCE_A_CORRECTION = 0.3
_PER_DOUBLING_OF_LIKE = 0.35  # of the sessions with a wish on the same subject
_SAID_ALREADY = 1.0  # off a rule on the subject of a better one
# The score at which a maintainer keeps one of two, how fast that changes, and the most
# that a rule is worth beside other lines.
_EVEN_SCORE = 4.6
_STEEPNESS = 0.8
_MOST_WEIGHT = 0.6

_SAME_WISH = 0.6  # share of the smaller set of words
_SAME_SUBJECT = 0.5
_FEWEST_SHARED = 2
# Principles that are named by an acronym; two sayings that name one mean the same.
_PRINCIPLE = re.compile(r"\b(?:DRY|KISS|YAGNI|SOLID|TDD)\b")
# "I decide. […] Not you!"
_NOT_YOU = re.compile(r"\bnot you\b", re.I)
# What is quoted within a sentence is another's.
_QUOTATION = re.compile(r"[\"“][^\"”]{5,}[\"”]")
# A capitalised word within a sentence: mostly the name of a product or a part of it.
_NAME = re.compile(r"(?<=[a-z,] )(?:[A-Z][a-z]+)\b")
# Where a sentence ends before another one in small letters.
_CLAUSE_END = re.compile(
    r"(?<!\.[a-z])(?<!\bvs)(?<!\betc)\s*(?:[.!;]|(?<=\?))\s+(?=[a-z])|,\s+(?=just [a-z])"
)
_CONDITION = re.compile(r"\b(?:if|when|once|after)\b (?P<condition>[^:]+)", re.I)
_CONDITIONAL = re.compile(r"^(?:if|when(?:ever)?|after|once)\b.{8,}, ", re.I)
_ASIDE = re.compile(r"\s*\([^)]*\)")


@dataclass(frozen=True, slots=True)
class _Saying:
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
        return sum(
            WEIGHTS.get(name, 0.0) * value for name, value in self.features.items()
        )


@dataclass(slots=True)
class _Group:
    """Sayings that state the same rule, in time order."""

    sayings: list[_Saying] = field(default_factory=list)

    @property
    def best(self) -> _Saying:
        """The saying that reads best as a rule; of equals, the newest."""
        return max(self.sayings, key=_readability)

    @property
    def last(self) -> int:
        """When it was last said (µs UTC)."""
        return max(saying.at for saying in self.sayings)

    def sessions(self, *sources: Source) -> set[str]:
        """Return the sessions of its sayings, of all or of some sources."""
        return {
            saying.session
            for saying in self.sayings
            if not sources or saying.source in sources
        }

    def sessions_with(self, feature: str) -> set[str]:
        """Return the sessions of its sayings that have a feature."""
        return {
            saying.session for saying in self.sayings if saying.features.get(feature)
        }


def rule_candidates(sessions: Iterable[Session], now: int) -> list[Candidate]:
    """Return the standing rules that sessions tell of, the best first.

    Args:
        sessions: The sessions, by their start.
        now: The time (µs UTC).
    """
    sayings = list(_sayings(sessions))
    scored: list[tuple[float, _Group]] = []
    for group in _groups(sayings):
        if _reasons(group):
            scored.append((_group_score(group, sayings, now), group))
    scored = _without_repetition(scored)
    candidates: list[Candidate] = []
    for score, group in scored[:MOST_RULES]:
        candidate = _candidate(group, score, now)
        if candidate is not None:
            candidates.append(candidate)
    return candidates


# What was said


def _sayings(sessions: Iterable[Session]) -> Iterator[_Saying]:
    """Yield the sayings of sessions that may state a rule."""
    sessions = list(sessions)
    standing = _standing_texts(sessions)
    for session in sessions:
        request = ""
        for step in session.steps:
            if isinstance(step, ToolUse) or not step.trusted:
                continue
            if isinstance(step, Message):
                yield from _message_sayings(step, request)
                continue
            if step.kind == "standing" or step.text in standing:
                yield from _standing_sayings(step)
                continue
            request = step.event if _asks_to_record(step) else ""
            yield from _prompt_sayings(step)


def _standing_texts(sessions: Iterable[Session]) -> set[str]:
    """Return the long prompts that follow answers again and again, word for word."""
    counts: Counter[str] = Counter()
    for session in sessions:
        for prompt in session.prompts:
            is_long = len(prompt.text) > _SHORTEST_STANDING
            if prompt.kind == "own" and is_long and prompt.after == "agent":
                counts[prompt.text] += 1
    return {text for text, n_sent in counts.items() if n_sent >= _SENT_OFTEN}


def _asks_to_record(prompt: Prompt) -> bool:
    """Return whether a user asks to write a wish down where agents read it."""
    if prompt.kind != "own":
        return False
    return cues.RECORD_REQUEST.search(prompt.text) is not None


def _is_correction(prompt: Prompt) -> bool:
    """Return whether a short prompt objects to what the agent has just done."""
    if len(prompt.text) >= _CORRECTION_CHARACTERS or prompt.after not in _AFTER_AN_ACT:
        return False
    return cues.CORRECTION.search(prompt.text) is not None


def _prompt_sayings(prompt: Prompt) -> Iterator[_Saying]:
    """Yield what a prompt says that may be a rule."""
    yield from _reminders(prompt)
    context = {
        "correction": float(_is_correction(prompt)),
        "interrupted": float(prompt.after == "interrupt"),
    }
    request = prompt.event if _asks_to_record(prompt) else ""
    for statement, words_of in _joined(prompt.statements):
        if words_of == "own" and _announces(statement.text):
            return
        source = _source_of(statement, words_of)
        if source is None:
            continue
        for sentence in _CLAUSE_END.split(statement.text):
            saying = _user_saying(prompt, sentence, source, context, request)
            if saying is not None:
                yield saying


def _announces(text: str) -> bool:
    """Return whether a sentence hands over another text: "Summarise this: …"."""
    head, colon, _ = text.partition(": ")
    if not colon and text.endswith(":"):
        head = text
    elif not colon or len(head.split()) > _MOST_ANNOUNCING_WORDS:
        return False
    if cues.EVERY_TIME.search(head) or re.search(cues.RULE_FILE, head, re.I | re.X):
        return False
    return bool(cues.TASK.search(head) or cues.ANNOUNCEMENT.search(head))


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
    if words_of == "summary" and not cues.NORM_HEADING.search(statement.heading):
        return None
    return _SOURCES.get(words_of)


def _user_saying(
    prompt: Prompt,
    sentence: str,
    source: Source,
    context: Mapping[str, float],
    request: str,
) -> _Saying | None:
    """Return the saying of one sentence of a user; None where it states no rule."""
    if not _SHORTEST <= len(sentence) <= _LONGEST:
        return None
    wording = standing_wording(sentence)
    signs = _signs(wording)
    if signs["role"] and _NOT_YOU.search(prompt.text) and " not " not in wording:
        wording = f"{wording}, not the agent"
    if not _states_a_wish(wording, signs, sentence):
        return None
    features = {**signs, **context, source: 1.0}
    if source == "template" and prompt.after != "slash":
        features["unasked"] = 1.0
    if request:
        features["recorded"] = 1.0
    return _Saying(
        text=wording,
        at=prompt.at,
        event=prompt.event,
        session=prompt.session,
        source=source,
        features=features,
        words=_rule_words(wording),
        request=request,
    )


def _signs(wording: str) -> dict[str, float]:
    """Return the signs for and against a rule that its wording holds."""
    n_specifics = min(_MOST_SPECIFICS, len(specifics(wording)))
    wording = _QUOTATION.sub(" ", wording)
    practices = {practice.lower() for practice in cues.PRACTICE.findall(wording)}
    n_practices = min(_MOST_PRACTICES, len(practices))
    n_words = len(wording.split())
    is_lasting = cues.EVERY_TIME.search(wording) is not None
    is_task = cues.TASK.search(wording) is not None and not is_lasting
    n_names = min(_MOST_SPECIFICS, len(_NAME.findall(wording)))
    is_wish = _begins_as_wish(wording) and not is_task
    return {
        "wish": float(is_wish),
        "every_time": float(is_lasting),
        "negative": float(cues.NEGATION.search(wording) is not None),
        "ought": float(cues.OUGHT.search(wording) is not None),
        "practice": n_practices**0.8,
        "specific": float(n_specifics),
        "name": float(n_names),
        "role": float(cues.ROLE.search(wording) is not None),
        "task": float(is_task),
        "deictic": float(cues.DEICTIC.search(wording) is not None),
        "long": float(n_words > _MANY_WORDS),
        "short": float(n_words < _FEW_WORDS),
        "pronoun": float(cues.BEGINS_WITH_PRONOUN.search(wording) is not None),
        "objection": float(is_objection(wording)),
    }


def _begins_as_wish(wording: str) -> bool:
    """Return whether a sentence begins with a verb that says how to work."""
    if cues.WISH.search(wording):
        return True
    is_either = cues.WISH_OR_TASK.search(wording) is not None
    return is_either and cues.MANNER.search(wording) is not None


def _states_a_wish(wording: str, signs: Mapping[str, float], sentence: str) -> bool:
    """Return whether a sentence says how work is to be done."""
    is_lasting_wish = signs["every_time"] and signs["wish"]
    is_general = bool(signs["practice"] or is_lasting_wish)
    if len(wording) < _SHORTEST_WORDING or signs["task"] or not is_general:
        return False
    if cues.SMALL_TALK.search(wording) or cues.WITHOUT_REFERENT.search(wording):
        return False
    if signs["pronoun"] and not signs["every_time"]:
        return False
    if cues.TASK.search(wording) and cues.RECORD_REQUEST.search(wording):
        return False
    if signs["objection"]:
        return not signs["deictic"]
    is_question = sentence.rstrip().endswith("?") and not signs["wish"]
    if is_question:
        return False
    if signs["wish"] or signs["ought"] or signs["role"]:
        return True
    # "Run the linter after every change", but not "The root is always set".
    return bool(signs["every_time"]) and cues.TASK.search(wording) is not None


def _reminders(prompt: Prompt) -> Iterator[_Saying]:
    """Yield a saying where a prompt points an agent at a rule file."""
    if prompt.kind != "own":
        return
    match = cues.BARE_REMINDER.search(prompt.text)
    if match is None and _is_correction(prompt):
        match = cues.RULE_MENTION.search(prompt.text)
    if match is None or match[1].isupper() or not match[1].endswith(".mdc"):
        return
    wording = f"Follow the rule file {match[1]}"
    yield _Saying(
        text=wording,
        at=prompt.at,
        event=prompt.event,
        session=prompt.session,
        source="reminder",
        features={**_signs("Follow the rule"), "reminder": 1.0},
        words=content_words(match[1]),
        key=match[1].lower(),
    )


def _standing_sayings(prompt: Prompt) -> Iterator[_Saying]:
    """Yield what a program asks for after each answer, each with its condition."""
    condition = ""
    is_first = True
    for statement, _ in prompt.statements:
        text = statement.text
        match = _CONDITION.search(text)
        if text.endswith(":") and match:
            condition = _ASIDE.sub("", match["condition"]).strip()
            continue
        if statement.is_bullet or not specifics(text):
            continue
        if is_first and (cues.TASK.search(text) or cues.WISH.search(text)):
            yield _standing_saying(prompt, _conditioned(text, condition))
            is_first = False
        elif _CONDITIONAL.search(text):
            yield _standing_saying(prompt, f"After each answer: {text}")


def _conditioned(text: str, condition: str) -> str:
    """Return what a program asks for, with when it does."""
    task = text[:1].lower() + text[1:]
    if condition:
        return f"After each answer, if {condition}: {task}"
    return f"After each answer: {task}"


def _standing_saying(prompt: Prompt, text: str) -> _Saying:
    wording = text.rstrip(" .:")
    return _Saying(
        text=wording,
        at=prompt.at,
        event=prompt.event,
        session=prompt.session,
        source="standing",
        features={**_signs(wording), "task": 0.0, "standing": 1.0},
        words=_rule_words(wording),
    )


def _message_sayings(message: Message, request: str) -> Iterator[_Saying]:
    """Yield what an agent says of rules that it keeps or has written down.

    What it says of its future is its own statement, not a rule.

    Args:
        message: The message.
        request: The event of the prompt that asked to record a rule, '' for none.
    """
    for statement in message.statements:
        text = statement.text
        if not _SHORTEST <= len(text) <= _LONGEST or text.endswith("?"):
            continue
        wording = report_wording(text) if request else ""
        if wording:
            yield _agent_saying(message, wording, "report", request)
        elif cues.OBEYED.search(text) and not cues.NOT_OBEDIENCE.search(text):
            yield _agent_saying(message, obedience_wording(text), "obeyed", "")


def _agent_saying(
    message: Message, wording: str, source: Source, request: str
) -> _Saying:
    feature = "reported" if source == "report" else "obeyed"
    return _Saying(
        text=wording,
        at=message.at,
        event=message.event,
        session=message.session,
        source=source,
        features={**_signs(wording), "task": 0.0, feature: 1.0},
        words=_rule_words(wording),
        request=request,
    )


# Which sayings are one rule


def _groups(sayings: Sequence[_Saying]) -> list[_Group]:
    """Return the sayings by the rule that they state."""
    groups: list[_Group] = []
    reminders: dict[str, _Group] = {}
    for saying in sayings:
        if saying.key:
            reminders.setdefault(saying.key, _Group()).sayings.append(saying)
            continue
        group = _group_of(saying, groups)
        if group is None:
            group = _Group()
            groups.append(group)
        group.sayings.append(saying)
    return _with_reminders(groups, reminders)


def _group_of(saying: _Saying, groups: Sequence[_Group]) -> _Group | None:
    """Return the group whose first saying a saying is most like."""
    nearest = None
    highest = 0.0
    for group in groups:
        likeness = _likeness(saying, group)
        if likeness > highest:
            nearest = group
            highest = likeness
    return nearest


def _likeness(saying: _Saying, group: _Group) -> float:
    """Return how sure it is that a saying states a group's rule; 0 for another one."""
    first = group.sayings[0]
    if "standing" in (saying.source, first.source) and saying.source != first.source:
        return 0.0
    shared = saying.words & first.words
    if saying.source == "report" and _answers(saying, group):
        return 1.0
    if _principles(saying) & _principles(first):
        return 1.0
    if len(shared) < _FEWEST_SHARED:
        return 0.0
    likeness = overlap(saying.words, first.words)
    return likeness if likeness >= _SAME_WISH else 0.0


def _answers(report: _Saying, group: _Group) -> bool:
    """Return whether a report tells of a wish that its user asked to record."""
    for saying in group.sayings:
        is_asked = saying.request == report.request and saying.source == "own"
        if is_asked and any(
            word not in _PRACTICE_STEMS for word in saying.words & report.words
        ):
            return True
    return False


_PRACTICE_STEMS = content_words("rule rules instructions file agent create update")
# "committed" and "uncommitted" are of "commit".
_DOUBLED_END = re.compile(r"([bdgmnprt])\1$")
# Words of how a rule is put, not of what it is about.
_FORM = content_words(
    "never always don doesn isn won can per rule rules convention conventions agents"
    " agent report reports user nothing ensure first avoid stop haven didn anything ve"
    " left made global project house repo"
)


def _rule_words(wording: str) -> frozenset[str]:
    """Return the words that say what a rule is about."""
    words = content_words(wording) - _FORM
    return frozenset(_DOUBLED_END.sub(r"\1", word.removeprefix("un")) for word in words)


def _principles(saying: _Saying) -> set[str]:
    return set(_PRINCIPLE.findall(saying.text))


def _with_reminders(
    groups: list[_Group], reminders: Mapping[str, _Group]
) -> list[_Group]:
    """Add reminders of a rule file to the rule that names it, if there is one."""
    merged = list(groups)
    for name, reminder in reminders.items():
        target = _rule_naming(name, groups)
        if target is None:
            merged.append(reminder)
        else:
            target.sayings.extend(reminder.sayings)
    return merged


def _rule_naming(name: str, groups: Sequence[_Group]) -> _Group | None:
    """Return the best group whose rule names a rule file in general."""
    naming = [
        group
        for group in groups
        if name in group.best.text.lower() and group.best.features["every_time"]
    ]
    if not naming:
        return None
    return max(naming, key=lambda group: group.best.score)


def _readability(saying: _Saying) -> tuple[float, int]:
    """Return how well a saying reads as a rule, and when it was said."""
    worth = saying.score
    if saying.source in _USERS_SOURCES:
        worth += 0.2
    if saying.source == "obeyed":
        worth -= 1.5
    if saying.source == "reminder":
        worth -= 3.0
    worth -= 0.8 * saying.features["objection"]
    worth += 0.1 * min(len(saying.words), 8)
    return worth, saying.at


# What speaks for a rule


def _reasons(group: _Group) -> list[str]:
    """Return what gives a rule its authority, in plain words; none for no rule."""
    best = group.best
    own_sessions = group.sessions("own")
    reasons: list[str] = []
    if group.sessions("standing"):
        reasons.append("a program of the user's sends it after each answer")
    if group.sessions("summary"):
        reasons.append("a summary of a session lists it among the user's rules")
    if len(own_sessions) > 1:
        reasons.append(f"the user said it in {len(own_sessions)} sessions")
    if group.sessions_with("correction"):
        n_corrections = len(group.sessions_with("correction"))
        reasons.append(f"the user corrected an agent with it {_times(n_corrections)}")
    if group.sessions_with("recorded"):
        reasons.append("the user asked to record it")
    if group.sessions("report"):
        reasons.append("an agent reported that it recorded it")
    if _is_named_as_obeyed(group):
        n_obeyed = len(group.sessions("obeyed"))
        reasons.append(f"agents named it as obeyed {_times(n_obeyed)}")
    if len(group.sessions("reminder")) > 1:
        n_reminders = len(group.sessions("reminder"))
        reasons.append(f"the user pointed to its file in {n_reminders} sessions")
    n_templates = len(_template_sessions(group))
    if n_templates >= _SESSIONS_OF_TEMPLATE and not best.features["deictic"]:
        reasons.append(f"a template of the user's holds it in {n_templates} sessions")
    if not reasons and _is_general(best):
        reasons.append("the user stated it in general")
    return reasons


def _is_named_as_obeyed(group: _Group) -> bool:
    """Return whether agents say of a rule that they obey it, and what it is."""
    best = group.best
    if best.source != "obeyed":
        return bool(group.sessions("obeyed"))
    if best.features["deictic"] or best.features["specific"] > 1:
        return False
    if _IF_ONLY.search(best.text):
        return False
    is_users = "the user's" in best.text
    return bool(is_users or best.features["negative"] or best.features["ought"])


def _template_sessions(group: _Group) -> set[str]:
    """Return the sessions in which a template holds a rule word for word."""
    words = group.best.words
    return {
        saying.session
        for saying in group.sayings
        if saying.source in ("template", "repeated") and saying.words == words
    }


def _times(n: int) -> str:
    if n == 1:
        return "once"
    return f"in {n} sessions"


def _is_general(saying: _Saying) -> bool:
    """Return whether a user's short sentence holds beyond the work at hand."""
    signs = saying.features
    if saying.source != "own" or len(saying.text.split()) > _SHORT_RULE:
        return False
    if signs["deictic"] or signs["pronoun"] or signs["specific"] > 2:
        return False
    return bool(signs["wish"] or signs["every_time"] or signs["role"])


def _group_score(group: _Group, sayings: Sequence[_Saying], now: int) -> float:
    """Return how much speaks for a rule: log odds but for a constant."""
    best = group.best
    score = best.score + _recurrence(group)
    voices = {saying.source in _USERS_SOURCES for saying in group.sayings}
    if len(voices) > 1:
        score += _TWO_VOICES
    age_days = (now - group.last) / MICROSECONDS_PER_DAY
    score += _RECENT * 0.5 ** (age_days / _HALF_LIFE_DAYS)
    if group.sessions_with("correction"):
        score += _ONCE_A_CORRECTION
    if group.sessions_with("recorded") and not best.features.get("recorded"):
        score += WEIGHTS["recorded"] / 2
    like_sessions = {
        saying.session
        for saying in sayings
        if len(saying.words & best.words) >= _FEWEST_SHARED
    }
    return score + _PER_DOUBLING_OF_LIKE * math.log2(1 + len(like_sessions))


def _recurrence(group: _Group) -> float:
    """Return what the number of its sessions adds to a rule."""
    recurrence = _PER_DOUBLING * math.log2(len(group.sessions()))
    if group.sessions() == group.sessions("template", "repeated"):
        return min(recurrence, _MOST_OF_TEMPLATE)
    if group.best.source == "standing":
        return min(recurrence, _MOST_OF_STANDING)
    return recurrence


def _without_repetition(
    scored: Sequence[tuple[float, _Group]],
) -> list[tuple[float, _Group]]:
    """Return groups by score, each lowered that is on the subject of a better one."""
    ordered = sorted(scored, key=_descending)
    lowered: list[tuple[float, _Group]] = []
    for score, group in ordered:
        words = group.best.words
        for _, better in lowered:
            shared = words & better.best.words
            if len(shared) >= _FEWEST_SHARED and (
                overlap(words, better.best.words) >= _SAME_SUBJECT
            ):
                score -= _SAID_ALREADY
                break
        lowered.append((score, group))
    return sorted(lowered, key=_descending)


def _descending(scored: tuple[float, _Group]) -> tuple[float, int]:
    score, group = scored
    return -score, -group.last


# The line


def _candidate(group: _Group, score: float, now: int) -> Candidate | None:
    """Return the line of a rule; None where no wording of it fits a line."""
    saying = group.best
    text = _line(saying.text, group)
    if not fits_a_line(text):
        saying = replace(saying, text=_ASIDE.sub("", saying.text))
        text = _line(saying.text, group)
    if not fits_a_line(text):
        return None
    age_days = (now - group.last) / MICROSECONDS_PER_DAY
    features = {
        **saying.features,
        "sessions": math.log2(len(group.sessions())),
        "recency": 0.5 ** (age_days / _HALF_LIFE_DAYS),
        "score": score,
    }
    events = dict.fromkeys(saying.event for saying in reversed(group.sayings))
    odds = math.exp(_STEEPNESS * (score - _EVEN_SCORE))
    why = "; ".join(_reasons(group))
    return Candidate(
        section=RULES,
        kind="rule",
        text=text,
        weight=_MOST_WEIGHT * odds / (1 + odds),
        at=group.last,
        session=saying.session,
        words=saying.words,
        events=tuple(events),
        why=f"{why[:1].upper()}{why[1:]}.",
        features=features,
    )


def _line(wording: str, group: _Group) -> str:
    """Return a rule with how often and when it was last said."""
    n_sessions = len(group.sessions())
    day = short_date(group.last)
    if n_sessions > 1:
        return f"{wording} ({n_sessions} sessions, last {day})."
    return f"{wording} ({day})."
