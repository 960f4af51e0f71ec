"""Rules about the person, which hold in every project.

A user who states the same wish in two projects states it of themselves. Such a rule
names no file, command or place; and each of its telling words was said in both, so that
nothing of one project is told in another.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from theorex_lab.memory.briefing.candidates import Candidate
from theorex_lab.memory.briefing.rule_reversals import standing_sayings
from theorex_lab.memory.briefing.rule_sayings import Saying, Source, sayings_of
from theorex_lab.memory.briefing.rules import candidates_of_sayings
from theorex_lab.memory.briefing.session_log import Session, sessions_of
from theorex_lab.memory.contract import Home
from theorex_lab.memory.projects import known_projects
from theorex_lab.text.wording import specifics

# How many other projects are looked at, those that were active last, and how many
# prompts of each, the newest.
_MOST_PROJECTS = 8
_MOST_PROMPTS = 1_000
_FEWEST_PROJECTS = 2  # that a rule about the person was said in
_FEWEST_WORDS = 2  # that tell what it is about
_USERS: frozenset[Source] = frozenset({"own", "repeated"})
# Marks of code, paths, options and numbers.
_LOCAL = re.compile(r"[`/\\$_]|\w\.\w|(?:^|\s)--?\w|\d")
# What makes a sentence depend on what stands around it.
_DEPENDENT = ("task", "deictic", "pronoun")


def personal_rule_candidates(
    home: Home, sessions: Sequence[Session], now: int
) -> list[Candidate]:
    """Return the rules about the person that other projects tell of, the best first.

    What the home's own project says or takes back is left out. A home of all projects
    has none: its sessions tell of every rule.

    Args:
        home: The home.
        sessions: The recorded sessions of the home's project.
        now: The time (µs UTC).
    """
    if not home.project:
        return []
    personal = _said_in_several(_sayings_by_project(home, now))
    if not personal:
        return []
    own = list(sayings_of(sessions))
    standing: list[Saying] = []
    for saying in standing_sayings(personal, own):
        if not any(_states(other, saying) for other in own):
            standing.append(saying)
    candidates: list[Candidate] = []
    for candidate in candidates_of_sayings(standing, now):
        why = f"The user said it in several projects. {candidate.why}"
        candidates.append(replace(candidate, why=why))
    return candidates


def _sayings_by_project(home: Home, now: int) -> dict[str, list[Saying]]:
    """Return what may be about the person, by the other project that it was said in."""
    closed = home.closed_projects
    projects: list[str] = []
    for project in known_projects(home):
        if project != home.project and project not in closed:
            projects.append(project)
    sayings: dict[str, list[Saying]] = {}
    for project in projects[:_MOST_PROJECTS]:
        prompts = home.journal.tail(0, kinds=("prompt",), projects=(project,))
        newest = deque(prompts, maxlen=_MOST_PROMPTS)
        in_time = sorted(newest, key=lambda event: (event.at, event.seq))
        sessions = sessions_of(event for event in in_time if event.at <= now)
        said = list(sayings_of(sessions))
        sayings[project] = [
            saying for saying in standing_sayings(said) if _is_personal(saying)
        ]
    return sayings


def _is_personal(saying: Saying) -> bool:
    """Return whether a user's own saying names nothing of its project."""
    if saying.source not in _USERS or len(saying.words) < _FEWEST_WORDS:
        return False
    if any(saying.features[sign] for sign in _DEPENDENT):
        return False
    return _LOCAL.search(saying.text) is None and not specifics(saying.text)


def _said_in_several(by_project: Mapping[str, Iterable[Saying]]) -> list[Saying]:
    """Return the sayings that several projects state, in time order."""
    personal: list[Saying] = []
    for said in by_project.values():
        for saying in said:
            if _n_stating(saying, by_project) >= _FEWEST_PROJECTS:
                personal.append(saying)
    return sorted(personal, key=lambda saying: saying.at)


def _n_stating(saying: Saying, by_project: Mapping[str, Iterable[Saying]]) -> int:
    """Return in how many projects the user states all that a saying tells."""
    n_projects = 0
    for said in by_project.values():
        if any(_states(other, saying) for other in said):
            n_projects += 1
    return n_projects


def _states(other: Saying, saying: Saying) -> bool:
    """Return whether another saying tells all that a saying does."""
    if other.features["negative"] != saying.features["negative"]:
        return False
    return saying.words <= other.words
