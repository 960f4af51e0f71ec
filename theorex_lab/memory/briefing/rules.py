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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.remembering import remembered
from theorex_lab.memory.briefing.candidates import (
    RULES,
    Candidate,
    fits_a_line,
    short_date,
)
from theorex_lab.memory.briefing.rule_reversals import standing_sayings
from theorex_lab.memory.briefing.rule_sayings import Saying, Source, sayings_of
from theorex_lab.memory.briefing.rule_signs import WEIGHTS
from theorex_lab.memory.briefing.session_log import Session
from theorex_lab.text.wording import content_words, overlap, specifics

_USERS_SOURCES = frozenset({"own", "repeated", "template", "summary", "reminder"})
MOST_RULES = 60
_MOST_TRIED = 200  # wordings of a rule, until one fits a line
MICROSECONDS_PER_DAY = 86_400_000_000
_SESSIONS_OF_TEMPLATE = 3
_IF_ONLY = lazy_pattern(r"\b(?:would|could|might)\b", re.I)
_MOST_SPECIFICS = 2  # names in a rule that its user may state once
_SHORT_RULE = 25  # words of a rule that its user may state once, in general
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
# How readable a rule is in the words of a source, of an objection, of few words, and
# what each word adds that tells what it is about.
_READABILITY: Mapping[Source, float] = {
    "own": 0.2,
    "repeated": 0.2,
    "template": 0.2,
    "summary": 0.2,
    "obeyed": -1.5,
    "reminder": -2.8,
}
_AS_OBJECTION = 0.8
_AS_SHORT = 1.0
_PER_WORD = 0.1
_MOST_WORDS_THAT_TELL = 8

_SAME_WISH = 0.6  # share of the smaller set of words
_SAME_SUBJECT = 0.5
_FEWEST_SHARED = 2
# Principles that are named by an acronym; two sayings that name one mean the same.
_PRINCIPLE = lazy_pattern(r"\b(?:DRY|KISS|YAGNI|SOLID|TDD)\b")
_ASIDE = lazy_pattern(r"\s*\([^)]*\)")
_PRACTICE_STEMS = content_words("rule rules instructions file agent create update")


@dataclass(slots=True)
class _Group:
    """Sayings that state the same rule, in time order."""

    sayings: list[Saying] = field(default_factory=list)

    @property
    def best(self) -> Saying:
        """The saying that reads best as a rule; of equals, the newest."""
        return max(self.sayings, key=_readability)

    @property
    def last(self) -> int:
        """When it was last said (µs UTC)."""
        return max(saying.at for saying in self.sayings)

    def sessions(self, *sources: Source) -> set[str]:
        """Return the sessions of its sayings, of all or of some sources."""
        sessions = set()
        for saying in self.sayings:
            if not sources or saying.source in sources:
                sessions.add(saying.session)
        return sessions

    def sessions_with(self, feature: str) -> set[str]:
        """Return the sessions of its sayings that have a feature."""
        sessions = set()
        for saying in self.sayings:
            if saying.features.get(feature):
                sessions.add(saying.session)
        return sessions


_Scored = tuple[float, _Group]


def rule_candidates(sessions: Iterable[Session], now: int) -> list[Candidate]:
    """Return the standing rules of the sessions, the best first.

    A rule that the user later takes back is left out.

    Args:
        sessions: The sessions, by their start.
        now: The time (µs UTC).
    """
    return rules_of_sayings(list(sayings_of(sessions)), now)


def rules_of_sayings(sayings: Sequence[Saying], now: int) -> list[Candidate]:
    """Return the standing rules that the sayings of sessions state, the best first.

    A rule that the user later takes back is left out.

    Args:
        sayings: What may state a rule, in time order.
        now: The time (µs UTC).
    """
    return candidates_of_sayings(standing_sayings(sayings), now)


def candidates_of_sayings(sayings: Sequence[Saying], now: int) -> list[Candidate]:
    """Return the standing rules that sayings state, the best first.

    Args:
        sayings: The sayings, in time order; none that a later one took back.
        now: The time (µs UTC).
    """
    scored: list[_Scored] = []
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


def _groups(sayings: Sequence[Saying]) -> list[_Group]:
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


def _group_of(saying: Saying, groups: Sequence[_Group]) -> _Group | None:
    """Return the group whose first saying a saying is most like."""
    nearest = None
    highest = 0.0
    for group in groups:
        likeness = _likeness(saying, group)
        if likeness > highest:
            nearest = group
            highest = likeness
    return nearest


def _likeness(saying: Saying, group: _Group) -> float:
    """Return how sure it is that a saying states a group's rule; 0 for another one."""
    first = group.sayings[0]
    if "standing" in (saying.source, first.source) and saying.source != first.source:
        return 0.0
    shared = saying.words & first.words
    if saying.source == "report" and _answers(saying, group):
        return 1.0
    if _principles(saying.text) & _principles(first.text):
        return 1.0
    if len(shared) < _FEWEST_SHARED or _name_other_things(saying, first):
        return 0.0
    likeness = overlap(saying.words, first.words)
    return likeness if likeness >= _SAME_WISH else 0.0


def _name_other_things(saying: Saying, other: Saying) -> bool:
    """Return whether two sayings name exact things, such as a path, and none alike."""
    names = _exact_names(saying.text)
    other_names = _exact_names(other.text)
    return bool(names and other_names) and names.isdisjoint(other_names)


# Each saying is compared with many others.
@remembered(1 << 12)
def _exact_names(text: str) -> frozenset[str]:
    """Return what a text names exactly, such as a path."""
    return frozenset(specifics(text))


def _answers(report: Saying, group: _Group) -> bool:
    """Return whether a report repeats a wish that its user asked to record."""
    telling = report.words - _PRACTICE_STEMS
    for saying in group.sayings:
        if saying.source != "own" or saying.request != report.request:
            continue
        if saying.words & telling:
            return True
    return False


@remembered(1 << 12)
def _principles(text: str) -> frozenset[str]:
    """Return the principles, such as DRY, that a text names."""
    return frozenset(_PRINCIPLE.findall(text))


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
    naming = None
    highest = -math.inf
    for group in groups:
        best = group.best
        if name not in best.text.lower() or not best.features["every_time"]:
            continue
        if best.score > highest:
            naming = group
            highest = best.score
    return naming


def _readability(saying: Saying) -> tuple[float, int]:
    """Return how well a saying reads as a rule, and when it was said."""
    readability = saying.score + _READABILITY.get(saying.source, 0.0)
    if saying.features["objection"]:
        readability -= _AS_OBJECTION
    if saying.features["short"]:
        readability -= _AS_SHORT
    n_words = min(len(saying.words), _MOST_WORDS_THAT_TELL)
    readability += _PER_WORD * n_words
    return readability, saying.at


def _reasons(group: _Group) -> list[str]:
    """Return what gives a rule its authority, in plain words; none for no rule."""
    reasons = []
    for reason_of in _AUTHORITIES:
        reason = reason_of(group)
        if reason:
            reasons.append(reason)
    if not reasons and _is_general(group.best):
        reasons.append("the user stated it in general")
    return reasons


def _of_a_program(group: _Group) -> str:
    if group.sessions("standing"):
        return "a program of the user's sends it after each answer"
    return ""


def _of_a_summary(group: _Group) -> str:
    if group.sessions("summary"):
        return "a summary of a session lists it among the user's rules"
    return ""


def _of_repetition(group: _Group) -> str:
    if not group.sessions("own"):
        return ""
    n_sessions = len(group.sessions("own", "repeated"))
    if n_sessions > 1:
        return f"the user said it in {n_sessions} sessions"
    return ""


def _of_a_correction(group: _Group) -> str:
    n_sessions = len(group.sessions_with("correction"))
    if n_sessions:
        return f"the user corrected an agent with it {_times(n_sessions)}"
    return ""


def _of_a_request(group: _Group) -> str:
    if group.sessions_with("recorded"):
        return "the user asked to record it"
    return ""


def _of_a_report(group: _Group) -> str:
    if group.sessions("report"):
        return "an agent reported that it recorded it"
    return ""


def _of_obedience(group: _Group) -> str:
    if _is_named_as_obeyed(group):
        n_sessions = len(group.sessions("obeyed"))
        return f"agents named it as obeyed {_times(n_sessions)}"
    return ""


def _of_reminders(group: _Group) -> str:
    n_sessions = len(group.sessions("reminder"))
    if n_sessions > 1:
        return f"the user pointed to its file in {n_sessions} sessions"
    return ""


def _of_a_template(group: _Group) -> str:
    n_sessions = len(_template_sessions(group))
    if n_sessions >= _SESSIONS_OF_TEMPLATE and not group.best.features["deictic"]:
        return f"a template of the user's holds it in {n_sessions} sessions"
    return ""


# What may give a rule its authority: each tells it in words, or says ''.
_AUTHORITIES: tuple[Callable[[_Group], str], ...] = (
    _of_a_program,
    _of_a_summary,
    _of_repetition,
    _of_a_correction,
    _of_a_request,
    _of_a_report,
    _of_obedience,
    _of_reminders,
    _of_a_template,
)


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
    sessions = set()
    for saying in group.sayings:
        is_of_template = saying.source in ("template", "repeated")
        if is_of_template and saying.words == words:
            sessions.add(saying.session)
    return sessions


def _times(n: int) -> str:
    if n == 1:
        return "once"
    return f"in {n} sessions"


def _is_general(saying: Saying) -> bool:
    """Return whether a user's short sentence holds beyond the work at hand."""
    signs = saying.features
    if saying.source != "own" or len(saying.text.split()) > _SHORT_RULE:
        return False
    if signs["deictic"] or signs["pronoun"] or signs["specific"] > _MOST_SPECIFICS:
        return False
    if signs["wish"] or signs["every_time"] or signs["role"]:
        return True
    return bool(signs["ought"] and signs["universal"])


def _group_score(group: _Group, sayings: Sequence[Saying], now: int) -> float:
    """Return how much speaks for a rule: log odds but for a constant."""
    best = group.best
    score = best.score + _recurrence(group) + _RECENT * _recency(group, now)
    if _is_of_two_voices(group):
        score += _TWO_VOICES
    if group.sessions_with("correction"):
        score += _ONCE_A_CORRECTION
    if group.sessions_with("recorded") and not best.features.get("recorded"):
        score += WEIGHTS["recorded"] / 2
    n_like = len(_like_sessions(best, sayings))
    return score + _PER_DOUBLING_OF_LIKE * math.log2(1 + n_like)


def _recency(group: _Group, now: int) -> float:
    """Return 1 for a rule that was said just now, and ever less for an older one."""
    age_days = (now - group.last) / MICROSECONDS_PER_DAY
    return math.pow(0.5, age_days / _HALF_LIFE_DAYS)


def _is_of_two_voices(group: _Group) -> bool:
    """Return whether both the user and an agent speak of a rule."""
    n_of_users = 0
    for saying in group.sayings:
        if saying.source in _USERS_SOURCES:
            n_of_users += 1
    return 0 < n_of_users < len(group.sayings)


def _like_sessions(best: Saying, sayings: Sequence[Saying]) -> set[str]:
    """Return the sessions with a saying on the subject of another one."""
    sessions = set()
    for saying in sayings:
        shared = saying.words & best.words
        if len(shared) >= _FEWEST_SHARED:
            sessions.add(saying.session)
    return sessions


def _recurrence(group: _Group) -> float:
    """Return what the number of its sessions adds to a rule."""
    recurrence = _PER_DOUBLING * math.log2(len(group.sessions()))
    if group.sessions() == group.sessions("template", "repeated"):
        return min(recurrence, _MOST_OF_TEMPLATE)
    if group.best.source == "standing":
        return min(recurrence, _MOST_OF_STANDING)
    return recurrence


def _without_repetition(scored: Sequence[_Scored]) -> list[_Scored]:
    """Return groups by score, each lowered that is on the subject of a better one."""
    lowered: list[_Scored] = []
    for score, group in sorted(scored, key=_descending):
        if _is_said_already(group, lowered):
            score -= _SAID_ALREADY
        lowered.append((score, group))
    return sorted(lowered, key=_descending)


def _is_said_already(group: _Group, better: Iterable[_Scored]) -> bool:
    """Return whether a better rule is on the same subject."""
    words = group.best.words
    for _, other in better:
        other_words = other.best.words
        n_shared = len(words & other_words)
        is_like = overlap(words, other_words) >= _SAME_SUBJECT
        if n_shared >= _FEWEST_SHARED and is_like:
            return True
    return False


def _descending(scored: _Scored) -> tuple[float, int]:
    score, group = scored
    return -score, -group.last


def _candidate(group: _Group, score: float, now: int) -> Candidate | None:
    """Return the line of a rule; None where no wording of it fits a line."""
    saying, text = _shown(group)
    if not text:
        return None
    features = {
        **saying.features,
        "sessions": math.log2(len(group.sessions())),
        "recency": _recency(group, now),
        "score": score,
    }
    newest_first = sorted(group.sayings, key=_time, reverse=True)
    events = dict.fromkeys(saying.event for saying in newest_first)
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


def _time(saying: Saying) -> int:
    return saying.at


def _shown(group: _Group) -> tuple[Saying, str]:
    """Return the saying that is shown of a rule, and its line; '' where none fits."""
    by_readability = sorted(group.sayings, key=_readability, reverse=True)
    for saying in by_readability[:_MOST_TRIED]:
        for wording in (saying.text, _ASIDE.sub("", saying.text)):
            line = _line(wording, group)
            if fits_a_line(line):
                return saying, line
    return group.best, ""


def _line(wording: str, group: _Group) -> str:
    """Return a rule with how often and when it was last said."""
    n_sessions = len(group.sessions())
    day = short_date(group.last)
    if n_sessions > 1:
        return f"{wording} ({n_sessions} sessions, last {day})."
    return f"{wording} ({day})."
