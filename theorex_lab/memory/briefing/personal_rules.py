"""Rules about the person, which hold in every project.

A user who states the same wish in two projects states it of themselves. Such a rule
names no file, command or place; and each of its telling words was said in both, so that
nothing of one project is shown in another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import Event
from theorex_lab.journal.kept_results import ResultQuery, keep_result, kept_result
from theorex_lab.memory.briefing.candidates import Candidate
from theorex_lab.memory.briefing.kept_start import (
    SAYINGS_CODE,
    as_json_row,
    sayings_of_json_rows,
)
from theorex_lab.memory.briefing.rule_reversals import standing_sayings
from theorex_lab.memory.briefing.rule_sayings import Saying, Source, sayings_of
from theorex_lab.memory.briefing.rules import candidates_of_sayings
from theorex_lab.memory.briefing.session_log import KINDS as SESSION_KINDS
from theorex_lab.memory.briefing.session_log import sessions_of
from theorex_lab.memory.contract import Home
from theorex_lab.memory.projects import known_projects
from theorex_lab.text.wording import specifics

# Raised where others of the same sayings stand.
STANDING_CODE = 1
_DIGEST_BYTES = 16
# How many other projects are looked at, those that were active last, and how many
# prompts of each, the newest.
_MOST_PROJECTS = 8
_MOST_PROMPTS = 1_000
# About as many events come with a prompt: tool calls and answers.
_EVENTS_A_PROMPT = 10
_LONGEST_PROMPT = 2_000  # characters; a longer one is mostly pasted
_FEWEST_PROJECTS = 2  # that a rule about the person was said in
_FEWEST_WORDS = 2  # that tell what it is about
_SayingsByWord = dict[str, list[Saying]]
_USERS: frozenset[Source] = frozenset({"own", "repeated"})
# Marks of code, paths, options and numbers.
_LOCAL = lazy_pattern(r"[`/\\$_]|\w\.\w|(?:^|\s)--?\w|\d")


def personal_rule_candidates(
    home: Home, own: Callable[[], Sequence[Saying]], now: int
) -> list[Candidate]:
    """Return the rules about the person that other projects tell of, the best first.

    What the home's own project says or takes back is left out. A home of all projects
    has none: its sessions tell of every rule.

    Args:
        home: The home.
        own: Gives what the recorded sessions of the home's project say; it is asked only
            where other projects tell of a rule.
        now: The time (µs UTC).
    """
    if not home.project:
        return []
    personal = _said_in_several(_sayings_by_project(home, now))
    if not personal:
        return []
    positions = _standing_positions(home, personal, own())
    standing = [personal[position] for position in positions]
    candidates: list[Candidate] = []
    for candidate in candidates_of_sayings(standing, now):
        why = f"The user said it in several projects. {candidate.why}"
        candidates.append(replace(candidate, why=why))
    return candidates


def _standing_positions(
    home: Home, personal: Sequence[Saying], own_sayings: Sequence[Saying]
) -> list[int]:
    """Return which of some sayings the home's project neither says nor takes back.

    Where there are many sayings, it is kept beside the views for the very same ones. No
    text is kept.

    Args:
        home: The home.
        personal: The sayings.
        own_sayings: What the recorded sessions of the home's project say.
    """
    query = ResultQuery(
        name="standing_sayings",
        code=STANDING_CODE,
        kinds=SESSION_KINDS,
        projects=(home.project, ""),
        key=_digest_of(personal) + _digest_of(own_sayings),
    )
    last_seq = home.journal.last_seq()
    kept_positions: list[int] | None = kept_result(home.views, query, last_seq)
    if kept_positions is not None:
        return kept_positions
    standing_ids = set(map(id, standing_sayings(personal, own_sayings)))
    positions: list[int] = []
    for position, saying in enumerate(personal):
        if id(saying) in standing_ids and not _is_stated(saying, own_sayings):
            positions.append(position)
    n_sayings = len(personal) + len(own_sayings)
    if n_sayings * _EVENTS_A_PROMPT >= home.views.snapshot_after_events:
        keep_result(home.views, query, last_seq, positions)
    return positions


def _digest_of(sayings: Iterable[Saying]) -> str:
    """Return a digest of all by which sayings take each other back."""
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for saying in sayings:
        words = sorted(saying.words)
        parts = (
            saying.text,
            saying.at,
            saying.source,
            saying.features["negative"],
            words,
        )
        digest.update(repr(parts).encode())
    return digest.hexdigest()


def _sayings_by_project(
    home: Home,
    now: int,
) -> dict[str, list[Saying]]:
    """Return what may be about the person, by the other project that it was said in."""
    closed = home.closed_projects
    projects: list[str] = []
    for project in known_projects(home):
        if project != home.project and project not in closed:
            projects.append(project)
    latest_projects = projects[:_MOST_PROJECTS]
    sayings: dict[str, list[Saying]] = {}
    for project in latest_projects:
        sayings[project] = _sayings_in(home, project, now)
    return sayings


def _sayings_in(
    home: Home,
    project: str,
    now: int,
) -> list[Saying]:
    """Return what its user said in a project that may be about the person.

    It is kept in memory until the journal grows.
    """
    journal = home.journal
    last_seq = journal.last_seq()
    by_project = _kept_sayings.setdefault(journal, {})
    last = by_project.get(project)
    if last is not None and last.last_seq == last_seq and last.newest_at <= now:
        return last.sayings
    query = ResultQuery("personal_sayings", SAYINGS_CODE, ("prompt",), (project,))
    result = kept_result(home.views, query, last_seq)
    if result is None or result["newest_at"] > now:
        result = _made_sayings(home, query, now, last_seq)
    made = _KeptSayings(
        last_seq,
        result["newest_at"],
        sayings_of_json_rows(result["rows"]),
    )
    if made.newest_at <= now:
        by_project[project] = made
    return made.sayings


def _made_sayings(
    home: Home,
    query: ResultQuery,
    now: int,
    last_seq: int,
) -> dict[str, Any]:
    """Return what prompts up to a time say that may be about the person.

    It is kept beside the views where there are many prompts, all of them past.

    Returns:
        The sayings as JSON has them, and when the newest prompt of all was sent (µs UTC).
    """
    events = home.views.events(query.kinds, projects=query.projects, upto=last_seq)
    prompts = sorted(events, key=lambda event: (event.at, event.seq))
    past = [event for event in prompts if event.at <= now]
    rows = [as_json_row(saying) for saying in _personal_sayings(past)]
    newest_at = prompts[-1].at if prompts else 0
    result = {"newest_at": newest_at, "rows": rows}
    is_worth_it = len(prompts) * _EVENTS_A_PROMPT >= home.views.snapshot_after_events
    if is_worth_it and len(past) == len(prompts):
        keep_result(home.views, query, last_seq, result)
    return result


def _personal_sayings(prompts: Sequence[Event]) -> list[Saying]:
    """Return what prompts, in time order, say that may be about the person."""
    short_prompts: list[Event] = []
    for event in prompts:
        if len(event.body["text"]) <= _LONGEST_PROMPT:
            short_prompts.append(event)
    newest = short_prompts[-_MOST_PROMPTS:]
    sessions = sessions_of(newest)
    every_saying = list(sayings_of(sessions))
    personal: list[Saying] = []
    for saying in standing_sayings(every_saying):
        if _is_personal(saying):
            personal.append(saying)
    return personal


class _KeptSayings(NamedTuple):
    """The sayings of a project as of a seq of the journal."""

    last_seq: int
    newest_at: int
    sayings: list[Saying]


_kept_sayings: WeakKeyDictionary[Journal, dict[str, _KeptSayings]] = WeakKeyDictionary()


def _is_personal(saying: Saying) -> bool:
    """Return whether a user's own saying names nothing of its project."""
    if saying.source not in _USERS or len(saying.words) < _FEWEST_WORDS:
        return False
    signs = saying.features
    if signs["task"] or signs["deictic"] or signs["pronoun"]:
        return False
    text = saying.text
    if _LOCAL.search(text):
        return False
    return not specifics(text)


def _said_in_several(
    by_project: Mapping[str, Sequence[Saying]],
) -> list[Saying]:
    """Return the sayings that several projects state, in time order."""
    indexes = [_by_word(sayings) for sayings in by_project.values()]
    personal: list[Saying] = []
    for sayings in by_project.values():
        for saying in sayings:
            if _n_stating(saying, indexes) >= _FEWEST_PROJECTS:
                personal.append(saying)
    return sorted(personal, key=lambda saying: saying.at)


def _by_word(sayings: Iterable[Saying]) -> _SayingsByWord:
    """Return the sayings that have each word."""
    by_word: _SayingsByWord = {}
    for saying in sayings:
        for word in saying.words:
            by_word.setdefault(word, []).append(saying)
    return by_word


def _n_stating(saying: Saying, indexes: Iterable[_SayingsByWord]) -> int:
    """Return in how many projects the user states all that a saying tells.

    Args:
        saying: The saying, which has a word.
        indexes: The sayings of each project by their words.
    """
    long_word = max(saying.words, key=len)  # which few others have
    n_projects = 0
    for by_word in indexes:
        if _is_stated(saying, by_word.get(long_word, ())):
            n_projects += 1
    return n_projects


def _is_stated(
    saying: Saying,
    others: Iterable[Saying],
) -> bool:
    """Return whether one of other sayings tells all that a saying does."""
    return any(_states(other, saying) for other in others)


def _states(
    other: Saying,
    saying: Saying,
) -> bool:
    """Return whether another saying tells all that a saying does."""
    if other.features["negative"] != saying.features["negative"]:
        return False
    return saying.words <= other.words
