"""A seeded simulation of a small team of agents at work on software for months, and its recorded file.

Nobody did this work: wherever its data is shown, it is called a simulation. Two stages: a calendar of moments
(who is at work on which topic, when), then what happens in each moment, walked in the order of time. All draws are
integers of the PCG64 stream, which numpy keeps stable, so that a seed gives the same team on every machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from theorex_lab.clock import LATEST, MICROSECONDS_PER_DAY, to_datetime, to_microseconds
from theorex_lab.errors import InvalidInput, TheorexError
from theorex_lab.experiments.sources import Activity, Kind, load, save
from theorex_lab.ids import check_agent

__all__ = ["AGENTS", "TEAM_TOPIC", "Activity", "load", "main", "save", "simulate"]

AGENTS = ("main", "qwen-sage", "secretarius")
MAX_DAYS = 3_650
MAX_AGENTS = 50
MAX_COMMIT_FILES = 20
TEAM_TOPIC = "team"  # facts about people, places and tools that belong to no piece of the software
_SECOND = 1_000_000
_HOUR = 3_600 * _SECOND
_T = TypeVar("_T")


def simulate(
    *,
    seed: int,
    days: int = 180,
    agents: Sequence[str] = AGENTS,
    start: str = "2026-01-05T00:00:00Z",
    commits_per_day: float = 5.0,
) -> list[Activity]:
    """The activities of a simulated team in the order of time; the same for the same arguments on every machine.

    seed: 0 or more.  days: 1 to 3650.  agents: 1 to 50 different agent ids; the first is the busiest, and the roles
    builder, reviewer and secretary are given in turn.  start: ISO 8601 with an offset; days are counted in UTC from
    its midnight, and nothing happens before it.  commits_per_day: about how many on a working day of the whole team,
    above 0 and up to 100. Raises InvalidInput for anything else.

    >>> team = simulate(seed=7, days=30)
    >>> team == simulate(seed=7, days=30), sorted({activity.agent for activity in team})
    (True, ['main', 'qwen-sage', 'secretarius'])
    """
    first = _check(seed, days, agents, start, commits_per_day)
    dice = _Dice(seed)
    moments = _calendar(dice, days, agents, first, round(commits_per_day * 1000))
    team = _Team(dice)
    return [team.act(moment) for moment in moments]


def _check(seed: int, days: int, agents: Sequence[str], start: str, commits_per_day: float) -> int:
    """The start in microseconds UTC, once every argument was found allowed."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InvalidInput(f"got the seed {seed!r}; allowed is a whole number from 0")
    if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= MAX_DAYS:
        raise InvalidInput(f"got days {days!r}; allowed is a whole number from 1 to {MAX_DAYS}")
    if not isinstance(agents, list | tuple) or not 1 <= len(agents) <= MAX_AGENTS:
        raise InvalidInput(f"got the agents {agents!r}; allowed is a list of 1 to {MAX_AGENTS} agent ids")
    for agent in agents:
        if agents.count(check_agent(agent)) > 1:
            raise InvalidInput(f"got the agent {agent!r} more than once; allowed are different agent ids")
    if not isinstance(commits_per_day, int | float) or not 0 < commits_per_day <= 100:
        raise InvalidInput(f"got commits_per_day {commits_per_day!r}; allowed is a number above 0 and up to 100")
    first = to_microseconds(start)
    if not 0 <= first <= LATEST - (days + 1) * MICROSECONDS_PER_DAY:
        raise InvalidInput(f"got the start {start!r}; allowed is 1970 to the year 9999 less {days} days")
    return first


class _Dice:
    """Draws in whole numbers only: floating point may round differently elsewhere."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def below(self, n: int) -> int:
        """0 to n − 1, evenly."""
        return (int(self._bits.random_raw()) * n) >> 64

    def chance(self, per_thousand: int) -> bool:
        return self.below(1000) < per_thousand

    def pick(self, choices: Sequence[_T]) -> _T:
        return choices[self.below(len(choices))]

    def weighted(self, weights: Sequence[int]) -> int:
        """A position, in proportion to its weight."""
        rest = self.below(sum(weights))
        for position, weight in enumerate(weights):
            rest -= weight
            if rest < 0:
                return position
        raise AssertionError("a draw below the sum of the weights always falls on one of them")

    def several(self, choices: Sequence[_T], n: int) -> list[_T]:
        """Up to n different ones, in the order drawn."""
        rest = list(choices)
        return [rest.pop(self.below(len(rest))) for _ in range(min(n, len(rest)))]

    def heavy_tail(self, base: int, doublings: int) -> int:
        """From `base` up to base · 2^(doublings + 1); the chance halves as the size doubles, a power law cut off."""
        scale = base
        for _ in range(doublings):
            if not self.chance(500):
                break
            scale *= 2
        return scale + self.below(scale)


# The calendar: who is at work, when, on what.


class _Moment(NamedTuple):
    at: int
    agent: int  # position among the agents
    name: str
    session: str
    topic: int  # position among the topics


# Start of the day in hours UTC and sessions a day in percent, for builder, reviewer and secretary.
_START_HOURS = (8, 10, 7)
_SESSIONS_PERCENT = (170, 130, 100)
_WEEKEND_PER_THOUSAND = 40
_PACE_PERCENT = (35, 55, 75, 90, 100, 110, 140, 210)  # some weeks are slow, some are a rush
_ACTIVITIES_PER_COMMIT_PERCENT = 345  # measured over the roles


def _calendar(dice: _Dice, days: int, agents: Sequence[str], first: int, thousandth_commits: int) -> list[_Moment]:
    plan = [_weights(topic.rhythm, days, dice) for topic in _topics()]
    holiday = _holiday(dice, days)
    midnight = first - first % MICROSECONDS_PER_DAY
    sessions = sum(_SESSIONS_PERCENT[agent % 3] for agent in range(len(agents)))
    size = thousandth_commits * _ACTIVITIES_PER_COMMIT_PERCENT // sessions  # of a session, in thousandths
    moments: list[_Moment] = []
    paces: list[int] = []
    for day in range(days):
        start_of_day = midnight + day * MICROSECONDS_PER_DAY
        weekday = (start_of_day // MICROSECONDS_PER_DAY + 3) % 7  # 1970-01-01 was a Thursday
        if weekday == 0 or day == 0:
            # Each pace once in eight weeks, so that no seed gives a team that does next to nothing.
            paces = paces[1:] or dice.several(_PACE_PERCENT, len(_PACE_PERCENT))
        if day in holiday:
            continue
        weights = [plan_of_topic[day] for plan_of_topic in plan]
        for agent, name in enumerate(agents):
            moments += _day_of_agent(dice, agent, name, start_of_day, weekday >= 5, weights, size * paces[0] // 100)
    moments = [moment for moment in moments if moment.at >= first]
    return sorted(moments)


def _holiday(dice: _Dice, days: int) -> range:
    """One pause of 8 to 12 days about the middle, where there is time for one."""
    if days < 45:
        return range(0)
    first = days * (45 + dice.below(15)) // 100
    return range(first, first + 8 + dice.below(5))


def _day_of_agent(
    dice: _Dice, agent: int, name: str, midnight: int, weekend: bool, weights: Sequence[int], size: int
) -> Iterator[_Moment]:
    role = agent % 3
    percent = _SESSIONS_PERCENT[role]
    count = percent // 100 + dice.chance(10 * (percent % 100))
    if weekend:
        count = int(dice.chance(_WEEKEND_PER_THOUSAND))
    date = to_datetime(midnight).date().isoformat().replace("-", "")
    topic = 0
    opening_hour = 18 if dice.chance(25) else _START_HOURS[role]
    for number in range(count):
        at = midnight + (opening_hour + 4 * number) * _HOUR + dice.below(3 * _HOUR)
        if number == 0 or dice.chance(400):
            topic = dice.weighted(weights)
        for _ in range(max(1, size * dice.pick((20, 50, 70, 90, 110, 140, 220)) // 100_000)):
            if at >= midnight + MICROSECONDS_PER_DAY:
                return
            yield _Moment(at, agent, name, f"{name}-{date}-{number + 1}", topic)
            at += dice.heavy_tail(40 * _SECOND, 7)
            if dice.chance(60):
                topic = dice.weighted(weights)


def _weights(rhythm: str, days: int, dice: _Dice) -> list[int]:
    """How much a topic is worked on, for each day."""
    weights = [0] * days
    for first, length, weight in _episodes(rhythm, days, dice):
        for day in range(first, min(first + length, days)):
            weights[day] += weight
    return weights


def _episodes(rhythm: str, days: int, dice: _Dice) -> Iterator[tuple[int, int, int]]:
    """(first day, length in days, weight) of a topic's episodes.

    `core` is there throughout, `every N` returns each N days, an `incident` is short and returns after long gaps,
    `recurring` work is dropped and taken up again, and what is done `once` is over before the last third.
    """
    if rhythm == "core":
        yield 0, days, 8
    elif rhythm == "once":
        length = min(5 + dice.below(14), days // 3 + 1)
        yield dice.below(days * 6 // 10 - length + 1) if days * 6 // 10 > length else 0, length, 14
    elif rhythm.startswith("every "):
        period = int(rhythm.removeprefix("every "))
        for first in range(dice.below(period), days, period):
            yield first, 3, 16
    else:
        day = dice.below(days * 4 // 10 + 1)
        while day < days:
            incident = rhythm == "incident"
            length = 1 + dice.below(3) if incident else 4 + dice.below(11)
            yield day, length, 30 if incident else 12
            day += length + dice.heavy_tail(9, 4)


# What happens in each moment.


class _Done(NamedTuple):
    text: str
    tags: tuple[str, ...] = ()
    success: bool | None = None
    files: tuple[tuple[str, str], ...] = ()
    topic: str = ""  # where it is not the one at hand


# Weights of commit, tool, failure, decision and fact for builder, reviewer and secretary.
_KIND_WEIGHTS = ((36, 37, 17, 5, 5), (29, 40, 18, 7, 6), (24, 27, 10, 16, 23))


class _Team:
    """What there is at a moment: the files, what failed and was mended, what was decided, what is known."""

    def __init__(self, dice: _Dice) -> None:
        self.dice = dice
        self.aspects = [list(topic.aspects) for topic in _topics()]
        self.failures = [list(topic.failures) for topic in _topics()]
        self.existing: dict[str, None] = {}  # a dictionary, since the order of a set is not fixed
        for topic in _topics():
            if topic.rhythm != "once":
                self.existing.update(dict.fromkeys(path for aspect in topic.aspects for path in aspect.files))
        self.times_seen: dict[str, int] = {}
        self.fix_holds: dict[str, bool] = {}
        self.fix_to_note: dict[int, _Failure] = {}
        self.fix_to_commit: dict[int, _Failure] = {}
        self.chosen: dict[str, str] = {}
        self.known: dict[str, str] = {}
        self.latest: dict[int, _Aspect] = {}

    def act(self, moment: _Moment) -> Activity:
        acts: dict[Kind, Callable[[int], _Done]] = {
            "commit": self._commit,
            "tool": self._tool,
            "failure": self._fail,
            "decision": self._decide,
            "fact": self._note_fact,
            "fix": self._fix,
        }
        kind: Kind = "fix"
        if not (moment.topic in self.fix_to_note and self.dice.chance(350)):
            kind = list(acts)[self.dice.weighted(_KIND_WEIGHTS[moment.agent % 3])]
        done = acts[kind](moment.topic)
        text = done.text if kind == "tool" else done.text[0].upper() + done.text[1:]
        topic = done.topic or _topics()[moment.topic].name
        return Activity(moment.at, moment.name, moment.session, kind, text, done.files, done.success, topic, done.tags)

    def _focus(self, topic: int) -> _Aspect:
        """Often the aspect that the topic's work was on last, else one of them, the first ones more often."""
        aspects = self.aspects[topic]
        if self.latest.get(topic) not in aspects or self.dice.chance(300):
            self.latest[topic] = aspects[self.dice.weighted([20 // (place + 1) for place in range(len(aspects))])]
        return self.latest[topic]

    def _words(self, topic: int, aspect: _Aspect) -> dict[str, str | int]:
        """What the templates may ask for."""
        dice = self.dice
        others = [each.phrase for each in self.aspects[topic] if each != aspect]
        existing = [path for path in aspect.files if path in self.existing]
        words: dict[str, str | int] = {"case": dice.pick(_own(_CASES, topic)), "purpose": dice.pick(_PURPOSES)}
        words |= {"technique": dice.pick(_own(_TECHNIQUES, topic)), "person": dice.pick(_PEOPLE)}
        words |= {"aspect": aspect.phrase, "stem": aspect.stem, "other": dice.pick(others)}
        words |= {"folder": _topics()[topic].folder, "topic": _topics()[topic].name.replace("-", " ")}
        words |= {"path": dice.pick(existing or ["README.md"]), "n": 2 + dice.below(58), "m": 60 + dice.below(900)}
        return words

    def _commit(self, topic: int) -> _Done:
        dice = self.dice
        if topic in self.fix_to_commit:
            return self._commit_fix(topic, self.fix_to_commit.pop(topic))
        roll = dice.below(100)
        there = [aspect for aspect in self.aspects[topic] if aspect.files[0] in self.existing]
        if roll < 2 and len(there) > 4:
            return self._remove(topic, dice.pick(there))
        if roll < 6 and there:
            return self._rename(topic, dice.pick(there))
        if roll < 9 and there:
            return self._sweep(topic)
        aspect = self._focus(topic)
        others = dice.several([each for each in self.aspects[topic] if each != aspect], dice.pick((0, 0, 0, 1, 1, 2)))
        text = dice.pick(_COMMITS).format(**self._words(topic, aspect))
        return _Done(text, files=self._change(topic, [aspect, *others]))

    def _commit_fix(self, topic: int, failure: _Failure) -> _Done:
        places = [aspect for aspect in self.aspects[topic] if aspect.stem == failure.stem]
        files = self._change(topic, places or [self._focus(topic)])
        return _Done(f"{failure.remedy}, since {failure.cause}", (f"cause:{failure.name}",), files=files)

    def _sweep(self, topic: int) -> _Done:
        own = [path for path in self.existing if f"/{_topics()[topic].folder}/" in path]
        others = self.dice.several([path for path in self.existing if path not in own], self.dice.below(8))
        text = self.dice.pick(_SWEEPS).format(**self._words(topic, self._focus(topic)))
        return _Done(text, ("sweep",), files=tuple(("M", path) for path in sorted([*own, *others][:MAX_COMMIT_FILES])))

    def _change(self, topic: int, aspects: Sequence[_Aspect]) -> tuple[tuple[str, str], ...]:
        """Files that change together: those of a few aspects, and now and then a page or a piece of a core topic."""
        dice = self.dice
        paths: dict[str, None] = {}
        for aspect in aspects:
            paths[aspect.files[0]] = None
            paths.update(dict.fromkeys(path for path in aspect.files[1:] if dice.chance(750)))
        if dice.chance(120):
            paths[f"docs/{_topics()[topic].name}.md"] = None
        if dice.chance(500 if _topics()[topic].name == "release" else 40):
            paths["CHANGELOG.md"] = None
        if dice.chance(80):
            core = dice.pick([place for place, other in enumerate(_topics()) if other.rhythm == "core"])
            paths[dice.pick(self.aspects[core]).files[0]] = None
        changes = tuple(("M" if path in self.existing else "A", path) for path in sorted(paths))
        self.existing.update(paths)
        return changes

    def _remove(self, topic: int, aspect: _Aspect) -> _Done:
        self.aspects[topic].remove(aspect)
        gone = sorted(path for path in aspect.files if path in self.existing)
        for path in gone:
            del self.existing[path]
        text = f"Remove {aspect.phrase}: {self.dice.pick(_REMOVALS)}"
        return _Done(text, ("removal",), files=tuple(("D", path) for path in gone))

    def _rename(self, topic: int, aspect: _Aspect) -> _Done:
        place = _topics()[topic]
        stems = [f"{aspect.stem}_{ending}" for ending in _ENDINGS]
        paths = self.dice.pick([paths for paths in (place.paths(stem) for stem in stems) if paths != aspect.files])
        renamed = [(old, new) for old, new in zip(aspect.files, paths, strict=True) if old in self.existing]
        for old, new in renamed:
            del self.existing[old]
            self.existing[new] = None
        self.aspects[topic][self.aspects[topic].index(aspect)] = aspect._replace(files=paths)
        changes = [("D", old) for old, _ in renamed] + [("A", new) for _, new in renamed]
        text = f"Rename {aspect.files[0]} to {paths[0]}, {self.dice.pick(_REASONS)}"
        return _Done(text, ("rename",), files=tuple(sorted(changes, key=lambda change: change[1])))

    def _tool(self, topic: int) -> _Done:
        success = not self.dice.chance(90)
        template = self.dice.pick(_TOOLS if success else _BROKEN_TOOLS)
        return _Done(template.format(**self._words(topic, self._focus(topic))), (), success)

    def _fail(self, topic: int) -> _Done:
        dice = self.dice
        known = self.failures[topic]
        if dice.chance(450):
            failure = self._new_failure(topic)
            if failure.name not in [each.name for each in known]:
                known.append(failure)
        failure = known[dice.weighted([self._likelihood(each) for each in known])]
        seen = self.times_seen[failure.name] = self.times_seen.get(failure.name, 0) + 1
        if dice.chance(720):
            self.fix_to_note[topic] = failure
        template = dice.pick(_FAILURES if seen == 1 else _FAILURES_AGAIN)
        text = template.format(symptom=failure.symptom, cause=failure.cause, seen=seen)
        return _Done(text, (f"cause:{failure.name}", *(["again"] if seen > 1 else [])), False)

    def _likelihood(self, failure: _Failure) -> int:
        """What was never seen, or whose fix did not hold, comes sooner than what was mended."""
        if failure.name not in self.times_seen:
            return 8
        return {None: 4, False: 8, True: 1}[self.fix_holds.get(failure.name)]

    def _new_failure(self, topic: int) -> _Failure:
        aspect = self._focus(topic)
        case = self.dice.pick(_own(_CASES, topic))
        name = f"{_topics()[topic].folder}-{aspect.stem}-{case}".replace(" ", "-").replace("_", "-")
        cause, remedy = self.dice.pick(_CAUSES).format(case=case, aspect=aspect.phrase).split(" | ")
        return _Failure(aspect.stem, name, f"{aspect.phrase} broke on {case}", cause, remedy)

    def _fix(self, topic: int) -> _Done:
        failure = self.fix_to_note.pop(topic)
        holds = self.fix_holds[failure.name] = self.dice.chance(820)
        if holds:
            self.fix_to_commit[topic] = failure
        template = self.dice.pick(_FIXES if holds else _FALSE_FIXES)
        text = template.format(symptom=failure.symptom, cause=failure.cause, remedy=failure.remedy)
        return _Done(text, ("trace_fix", f"cause:{failure.name}"), holds)

    def _decide(self, topic: int) -> _Done:
        dice = self.dice
        question, options = _topics()[topic].question, _topics()[topic].options
        if dice.chance(550):
            question, options = f"the approach in {self._focus(topic).phrase}", _own(_TECHNIQUES, topic)
        reason, old = dice.pick(_REASONS), self.chosen.get(question)
        if old is not None and dice.chance(500):
            return _Done(f"{question} stays {old}, {reason}", ("confirms",))
        new = self.chosen[question] = dice.pick([option for option in options if option != old])
        if old is None:
            return _Done(f"Decided: {question} will be {new}, {reason}")
        return _Done(f"Decision changed: {question} will be {new} instead of {old}, {reason}", ("supersedes",))

    def _note_fact(self, topic: int) -> _Done:
        dice = self.dice
        sentence, values = dice.pick(_facts())
        name = TEAM_TOPIC
        if dice.chance(600):
            sentence, values = f"{{}} {dice.pick(_CARE)} {self._focus(topic).phrase}", _PEOPLE
            name = _topics()[topic].name
        old = self.known.get(sentence)
        if old is not None and dice.chance(600):
            return _Done(f"{dice.pick(_REMINDERS)}: {sentence.format(old)}", (), topic=name)
        new = self.known[sentence] = dice.pick([value for value in values if value != old])
        if old is None:
            return _Done(sentence.format(new), topic=name)
        return _Done(f"{sentence.format(new)} from now on; until now it was {old}", ("supersedes",), topic=name)


# The command.


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a simulation's file: `python -m theorex_lab.experiments.simulate --seed 7 --output FILE`."""
    parser = argparse.ArgumentParser(description="Write the recorded file of a simulation of a small team of agents.")
    parser.add_argument("--seed", type=int, required=True, help="whole number from 0")
    parser.add_argument("--days", type=int, default=180, help=f"1 to {MAX_DAYS} (default 180)")
    parser.add_argument("--output", type=Path, required=True, help="file to write, such as team.jsonl.gz")
    given = parser.parse_args(arguments)
    try:
        activities = simulate(seed=given.seed, days=given.days)
        save(activities, given.output, seed=given.seed, days=given.days)
    except TheorexError as error:
        parser.error(str(error))
    sys.stdout.write(f"{given.output}: simulation of {len(activities)} activities in {given.days} days\n")


# The words.


class _Failure(NamedTuple):
    stem: str  # of the aspect that it belongs to
    name: str
    symptom: str
    cause: str
    remedy: str


class _Aspect(NamedTuple):
    """One part of a topic: what it is called, and the files that change together; a rename changes the files alone."""

    phrase: str
    stem: str
    files: tuple[str, ...]


class _Topic(NamedTuple):
    name: str
    rhythm: str
    folder: str
    extension: str
    aspects: tuple[_Aspect, ...]
    failures: tuple[_Failure, ...]
    question: str
    options: tuple[str, ...]

    def paths(self, stem: str) -> tuple[str, ...]:
        return _paths(self.folder, self.extension, stem)


@cache
def _topics() -> tuple[_Topic, ...]:
    return tuple(_topic(block) for block in _TOPICS.split("\n\n"))


def _topic(block: str) -> _Topic:
    """Lines: name | rhythm | folder extension | stem = phrase; …   ! stem | name | symptom | cause | remedy   ? question = options."""
    head, *failures, decision = block.strip().split("\n")
    name, rhythm, place, aspects = head.split(" | ")
    folder, extension = place.split()
    pairs = (aspect.split(" = ") for aspect in aspects.split("; "))
    question, options = decision.removeprefix("? ").split(" = ")
    return _Topic(
        name,
        rhythm,
        folder,
        extension,
        tuple(_Aspect(phrase, stem, _paths(folder, extension, stem)) for stem, phrase in pairs),
        tuple(_Failure(*failure.removeprefix("! ").split(" | ")) for failure in failures),
        question,
        tuple(options.split("; ")),
    )


def _paths(folder: str, extension: str, stem: str) -> tuple[str, ...]:
    return tuple(path.format(folder=folder, stem=stem) for path in _LAYOUT[extension])


def _own(choices: tuple[str, ...], topic: int) -> tuple[str, ...]:
    """The five that a topic keeps coming back to."""
    return tuple(choices[(5 * topic + step) % len(choices)] for step in range(5))


@cache
def _facts() -> tuple[tuple[str, tuple[str, ...]], ...]:
    pairs = (line.split(" = ") for line in _FACTS.strip().split("\n"))
    return tuple((sentence, tuple(values.split("; "))) for sentence, values in pairs)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.strip().split("\n"))


_ENDINGS = ("core", "rules", "store", "service", "v2")
_LAYOUT = {
    "py": ("src/{folder}/{stem}.py", "tests/{folder}/test_{stem}.py"),
    "ts": ("web/{folder}/{stem}.ts", "web/{folder}/{stem}.test.ts", "web/{folder}/{stem}.css"),
    "sql": ("db/{folder}/{stem}.sql", "tests/{folder}/test_{stem}.py"),
    "yaml": ("ops/{folder}/{stem}.yaml",),
}
_CASES = _lines("""
empty input
two writers at once
a half-written file
duplicate identifiers
very long names
a lost connection
numbers above two billion
names with accents
a slow disk
retries out of order
a leap day
a full queue
""")
_TECHNIQUES = _lines("""
a bounded queue
a bloom filter
binary search
a lookup table
a read-write lock
prepared statements
batches of 500 rows
a compare-and-swap
exponential backoff with jitter
a ring buffer
a covering index
a single pass over the rows
""")
_PURPOSES = _lines("""
so that a second call costs nothing
to halve the memory it holds
so that a restart loses no work
for customers with more than a thousand stops
before the next release depends on it
so that a reader finds it in one place
because the profile showed most of the time there
to make the order of results stable
so that one tenant cannot starve another
as agreed in the review
""")
_PEOPLE = ("Mara Okafor", "Jonas Lindqvist", "Priya Raman", "Tomasz Zielinski", "Aiko Brandt", "Luc Moreau")
_CARE = ("looks after", "reviews changes to", "knows most about", "asked for a summary of")
_COMMITS = _lines("""
Rework {aspect} {purpose}
Use {technique} in {aspect} {purpose}
Add {technique} to {aspect}
Guard {aspect} against {case}
Cover {aspect} with tests for {case}
Split {aspect} from {other} {purpose}
Simplify {aspect} {purpose}
Make the limit in {aspect} configurable as {stem}_limit, {n} by default
Document {aspect} and what happens with {case}
Log how long {aspect} takes, with a warning above {m} ms
Replace the loop in {aspect} by {technique}
Speed up {aspect} by {n} % with {technique}
{topic}: refuse {case} in {aspect}
{topic}: let {aspect} report {case} {purpose}
Address the review by {person} on {aspect}
""")
_SWEEPS = _lines("""
Apply the formatter to {topic} and its neighbours
Type annotations across {topic} {purpose}
Use one name for {aspect} in all of {topic}
""")
_REMOVALS = ("nothing calls it any longer", "the last customer who used it has moved", "its work is done elsewhere")
_REASONS = _lines("""
because it is simpler to explain
because measurements on a week of traffic favour it
since the old way cost us two incidents
because it needs no new service
since the team can maintain it
because it keeps the tail latency low
since the customer's auditor asked for it
because it fails in the open
""")
_TOOLS = _lines("""
pytest tests/{folder} -k {stem}: {n} passed in {m} ms
Read {path} ({m} lines) to see how {aspect} handles {case}
rg {stem} finds {n} hits, most of them in {path}
git log {path}: {n} commits, the last by {person}
Profile of {aspect}: {n} % of the time goes into {other}
Trace of a request through {aspect}: {m} ms, {n} of them in {other}
Benchmark of {aspect}: median {n} ms over {m} runs
Edited {path} to try {technique}
Searched the notes on {topic} for {case}: {n} entries
Staging deployment of {topic} took {m} s
Type check of {folder}: no complaint in {n} files
""")
_BROKEN_TOOLS = _lines("""
pytest tests/{folder} -k {stem}: {n} failed, {m} passed
Linter stops at {path}, line {m}: unused name {stem}
Build of {folder} ended with exit code 1 after {m} s
Connection to staging refused while looking at {aspect}
""")
_CAUSES = _lines("""
a check was lost in the last refactoring | bring back the check for {case} and test it
the default changed with the last update | set the default for {aspect} in our own configuration
the error is caught and dropped | let the error through and count it
the limit is read once at start | read the limit at every call
a retry repeats what had already succeeded | make {aspect} idempotent
the test data never contained {case} | add {case} to the test data and handle it
two threads share one buffer | give each thread a buffer of its own
the value is compared before it is normalised | normalise once at the border
""")
_FAILURES = _lines("""
{symptom} because {cause}
{symptom}; the cause: {cause}
Found why {symptom}: {cause}
Incident: {symptom}, since {cause}
""")
_FAILURES_AGAIN = _lines("""
Again {symptom}: {cause}
Seen {seen} times by now: {symptom}, because {cause}
It came back: {symptom}; {cause}
""")
_FIXES = _lines("""
Fixed that {symptom}: {remedy}
Why {symptom}: {cause}. The remedy is to {remedy}
When {symptom}, {remedy}
Since {cause}, we now {remedy}; before, {symptom}
""")
_FALSE_FIXES = _lines("""
Restarted the workers because {symptom}; it helped for an hour only
Raised the timeout because {symptom}; that hides it and mends nothing
Tried a larger host because {symptom}; no change
""")
_REMINDERS = ("Still true", "As noted before", "Asked again today", "For the hand-over")
_FACTS = """
Mara Okafor works from {} = Lisbon; Utrecht; Bergen
Jonas Lindqvist works from {} = Malmö; Gothenburg
Priya Raman works from {} = Leeds; Pune
Tomasz Zielinski works from {} = Kraków; Vienna
Aiko Brandt works from {} = Hamburg; Osaka
Luc Moreau works from {} = Lyon; Brussels
Support for the northern depots is done by {} = Jonas Lindqvist; Aiko Brandt; Luc Moreau
The staging database runs in {} = Frankfurt; Dublin; the office rack
Backups are kept in {} = Stockholm; Milan
The weekly planning meets in {} = the harbour room; the library; a video call
The pilot depot is in {} = Rotterdam; Antwerp; Gdańsk
The customer's acceptance tests are led by {} = Ms Adeyemi; Mr Castellan
The database version is {} = PostgreSQL 15; PostgreSQL 16; PostgreSQL 17
Builds run on {} = two shared runners; four shared runners; one large host
The linter in use is {} = ruff 0.6; ruff 0.8
Dashboards are drawn with {} = Grafana 10; Grafana 11
Secrets are read from {} = the vault on host kestrel; the cloud secret store
The design files are in {} = the shared drive; the wiki
"""
_TOPICS = """
http-api | core | api py | routing = the request router; pagination = cursor pagination; errors = the error responses; throttle = the rate limiter; schemas = the request schemas; versions = version negotiation
! pagination | cursor-skip | the orders list skips a row between two pages | the cursor orders by a timestamp that is not unique | order by timestamp and id together
! throttle | throttle-shared | a single customer is throttled for everybody behind the same proxy | the rate limiter counts by address | count by API key and fall back to the address
! errors | body-limit | uploads above 8 MB end in a bare 502 | the proxy cuts the body before the handler sees it | answer 413 with the limit in the error response
? the error format of the API = problem details in JSON; a plain code with a message; an error envelope with a trace id

data-model | core | model py | orders = the order aggregate; parcels = the parcel states; money = the money type; identifiers = identifier generation; events = the domain events; depots = depot opening hours
! money | rounding | totals differ by one cent from the invoice | amounts pass through floating point in the discount step | keep cents as integers until they are shown
! orders | lost-update | a parcel jumps back from delivered to loaded | two writers save the same row without a version check | compare the row version on save and retry once
! depots | dst-gap | a depot opens one hour late in spring | opening hours are stored as UTC offsets | store local hours with the time zone name
? primary keys of new tables = sequential integers; time-ordered UUIDs; random UUIDs

test-suite | core | testing py | fixtures = the database fixtures; factories = the object factories; golden = the golden files; parallel = parallel test runs; coverage = the coverage gate
! fixtures | flaky-clock | the expiry test fails about once in forty runs | it reads the wall clock on both sides of midnight | pass a fixed clock to the code under test
! parallel | shared-port | parallel test runs hang at the start | two workers bind the same port | ask the system for a free port in each worker
! golden | golden-newline | golden files differ on one laptop only | the checkout turns line ends into CRLF | pin line ends in .gitattributes
? the test database = SQLite in memory; a container for each run; one schema for each worker

logging | core | logs py | context = request context in log lines; redaction = the masking of secrets; sampling = log sampling; rotation = log rotation; levels = the log level switch
! rotation | disk-full | the worker host stops writing at night | rotated logs are never removed | keep seven files and remove older ones
! redaction | token-leak | a bearer token shows up in the debug log | masking looks at headers but not at query strings | mask query parameters by the same list as headers
! context | lost-context | background jobs log without a request id | the context variable is not copied into the thread pool | submit jobs through a copied context
? the log format = key=value lines; JSON lines; plain text with a trace id

release | every 14 | release py | changelog = the changelog; tagging = the release tag; notes = the release notes; smoke = the smoke test; rollback = the rollback script; freeze = the code freeze
! tagging | tag-missing | the release build starts from the wrong commit | the tag was pushed after the pipeline had read the branch | start the pipeline from the tag alone
! smoke | smoke-timeout | the smoke test times out after deployment | the first request compiles all templates | warm the templates before the health check turns green
! rollback | rollback-schema | the rollback leaves the old code on the new schema | the migration dropped a column in the same release | drop columns one release later
? the day of the release = every second Tuesday; every second Thursday; Wednesday morning

dependency-updates | every 28 | deps py | lockfile = the lock file; audit = the vulnerability audit; pins = the version pins; images = the base images; licences = the licence list
! lockfile | transitive-break | the worker fails on import after the monthly update | a transitive package dropped a module that we import | depend on the package directly and pin it
! audit | audit-noise | the audit fails every build for a package used only in tests | the audit reads all groups of the lock file | audit the groups that are shipped
! images | image-libc | wheels do not load in the new base image | the image moved to another C library | build the wheels inside the same image
? the rule for updates = monthly in one batch; weekly and automatic; security fixes only

invoicing | every 30 | billing py | runs = the monthly invoice run; taxes = tax rules by country; reminders = payment reminders; creditnotes = credit notes; export = the ledger export
! runs | double-invoice | eleven customers received two invoices | the invoice run was restarted without an idempotency key | derive the key from customer and month
! taxes | tax-border | island addresses get the mainland tax rate | the rule looks at the country and not at the postcode | match postcode ranges before the country
! reminders | late-reminder | reminders go out on the day after payment | the bank file is read after the reminders | read the bank file first and wait for it
? the time of the invoice run = the first working day; the last day of the month; the third of the month

connection-pool | incident | db py | pool = the connection pool; timeouts = statement timeouts; retries = the retry of transactions; replicas = reads from replicas; health = the connection health check
! pool | pool-exhausted | checkout requests time out after 30 seconds | idle transactions hold every connection of the pool | close transactions before calling other services
! replicas | replica-lag | a new order is missing from the list right after checkout | the list reads from a lagging replica | read your own writes from the primary for ten seconds
! health | dead-peer | requests hang after the database failed over | the pool hands out sockets to a dead host | check a connection that was idle for a minute before use
? the size of the connection pool = 20 for each process; 8 for each process; a shared pool through a proxy

message-queue | incident | queue py | consumers = the queue consumers; deadletters = the dead letter queue; ordering = message ordering; backpressure = backpressure on producers; visibility = the visibility timeout
! deadletters | poison-message | one consumer restarts in a loop | a malformed message is put back at the head of the queue | move a message aside after three attempts
! visibility | duplicate-delivery | labels are printed twice | the visibility timeout is shorter than the slowest job | extend the timeout while the job runs
! consumers | queue-backlog | pick-up messages arrive forty minutes late | one slow tenant fills the only queue | give each tenant its share of the consumers
? delivery in the message queue = at least once; at most once; at least once with deduplication

certificates | incident | infra yaml | renewal = certificate renewal; gateway = the gateway listeners; secrets = the secret store; dns = the DNS records; clocks = host clock synchronisation
! renewal | cert-expired | partners cannot connect since the morning | the renewed certificate was never loaded by the gateway | reload the gateway when the file changes
! gateway | chain-missing | old scanners refuse the certificate | the intermediate certificate is not sent | serve the full chain
! clocks | clock-drift | signed requests are refused as expired | one host runs four minutes ahead | alert on drift above one second and resynchronise
? the issuer of certificates = the public authority; our internal authority; the cloud provider

response-cache | recurring | cache py | eviction = the eviction policy; expiry = the time to live of entries; warmup = the cache warm-up; keys = the cache key builder; stampede = the stampede guard; stats = the hit rate counters
! keys | stale-price | price pages stay stale for an hour | invalidation misses variants that share a cache key | put the variant id into the cache key
! stampede | cache-stampede | the database peaks whenever the home page expires | every worker rebuilds the same entry at once | let one worker rebuild while the others serve the old entry
! eviction | cache-memory | the cache grows until the host swaps | entries are counted but not weighed | evict by bytes instead of entries
? the eviction policy of the response cache = least recently used; least frequently used; segmented LRU

authentication | recurring | auth py | tokens = the refresh tokens; sessions = session storage; passwords = password hashing; roles = the role check; lockout = the account lockout; sso = single sign-on
! tokens | refresh-race | users are logged out when two tabs are open | both tabs rotate the same refresh token | accept the previous token for thirty seconds
! sso | clock-skew | single sign-on fails for one customer | their clock is ahead of ours and the assertion is not yet valid | allow two minutes of skew
! roles | role-cache | a removed administrator keeps access until evening | roles are cached for eight hours | drop cached roles when a role changes
? password hashing = bcrypt with cost 12; argon2id; scrypt

search-index | recurring | search py | tokenizer = the tokenizer; ranking = the ranking function; synonyms = the synonym list; reindex = the reindex job; highlights = result highlights; typos = typo tolerance
! tokenizer | umlaut-miss | searching for Müller finds nothing | documents are normalised and queries are not | normalise queries with the same function
! reindex | reindex-gap | new products are missing after a reindex | writes during the rebuild go to the old index only | write to both indexes until the alias moves
! typos | slow-prefix | one-letter searches take six seconds | the prefix expands to the whole vocabulary | ask for two letters before expanding
? the ranking of search results = BM25; BM25 with a freshness boost; BM25 fused with vectors

route-planner | recurring | planner py | distances = the distance matrix; windows = delivery time windows; solver = the local search solver; capacity = vehicle capacity; breaks = driver breaks; traffic = traffic profiles
! distances | ferry-route | a tour crosses the bay by a ferry that does not run | the distance matrix ignores timetables | exclude ferries unless the tour asks for them
! solver | solver-stuck | planning for the north depot never ends | two moves undo each other at equal cost | accept only moves that lower the cost
! windows | window-overlap | a driver is expected at two doors at nine | windows are checked before service time is added | check windows after the service time
? the solver of the route planner = savings heuristic; simulated annealing; large neighbourhood search

schema-migrations | recurring | migrations sql | backfill = the backfill of old rows; locks = lock timeouts in migrations; indexes = concurrent index builds; partitions = table partitions; constraints = foreign key constraints
! constraints | long-lock | all writes stop during a migration | adding the constraint scans the table under an exclusive lock | add it as not valid and validate later
! backfill | backfill-replay | the backfill starts again from the first row after a restart | progress is kept in memory | store the last id after each batch
! indexes | index-invalid | a query is slow although its index exists | the concurrent build failed and left an invalid index | drop the invalid index and build it again
? the way migrations run = before the deployment; as a separate job; by hand with two people

csv-import | recurring | imports py | parser = the CSV parser; encodings = encoding detection; mapping = the column mapping; preview = the import preview; duplicates = duplicate detection; batches = batch size
! parser | quote-split | addresses with a comma end up in two columns | the parser splits before it looks at quotes | parse quotes in one state machine
! encodings | bom-header | the first column is never recognised | the file starts with a byte order mark | decode with utf-8-sig
! mapping | date-order | deliveries move from April to January | day and month are guessed for each row | decide the order once for the whole file
? what the import does with a bad row = refuse the whole file; skip the row and report it; stop at the row

web-forms | recurring | forms ts | validation = form validation; autosave = autosave of drafts; addressbox = the address box; keyboard = keyboard navigation; uploads = the upload widget
! autosave | autosave-loop | the order form saves every second without a change | the saved draft comes back with another field order | compare drafts after sorting their fields
! keyboard | focus-lost | keyboard users lose the focus after an error | the form is rendered again from the root | keep the node and update its message only
! validation | double-submit | two orders are created by a double click | the button stays enabled during the request | disable the button and send an idempotency key
? form validation = in the browser and on the server; on the server only; from one shared schema

monitoring | recurring | metrics yaml | alerts = the alert rules; dashboards = the dashboards; latency = latency histograms; oncall = the on-call rota; traces = trace sampling
! latency | alert-flap | the latency alert fires and clears all night | the threshold is compared with a one-minute average | alert on the burn rate over an hour
! traces | label-explosion | the metrics server runs out of memory | the customer id is used as a label | drop the label and keep it in traces
! alerts | silent-job | a nightly job was dead for nine days | nothing alerts on a missing metric | alert when the last success is older than a day
? the alert threshold = p95 above 400 ms; p99 above one second; error budget burn

pdf-export | once | pdf py | fonts = font embedding; tables = table layout; pages = page breaks; barcodes = barcode rendering; templates = the label templates
! fonts | font-missing | Polish names show boxes on the label | the embedded font lacks Latin Extended | embed the full font subset
! pages | page-break | the total is printed alone on a second page | the break is decided before the footer is measured | measure the footer first
! barcodes | barcode-blur | scanners reject the printed barcode | the barcode is scaled as a bitmap | draw the bars as vectors
? the PDF engine = a headless browser; a layout library; LaTeX in a container

address-parser | once | addresses py | grammar = the address grammar; postcodes = postcode patterns; abbreviations = street abbreviations; geocoding = the geocoding fallback; scoring = the confidence score
! grammar | house-letter | house number 12b becomes apartment b | the grammar takes letters after a number for a unit | allow one letter next to the digits
! postcodes | postcode-zero | postcodes in Saxony lose their first zero | the column is read as an integer | read postcodes as text
! geocoding | geocode-quota | geocoding stops at noon | every keystroke asks the paid service | ask once after the field is left
? the address parser = hand-written grammar; a statistical tagger; the paid service

feature-flags | once | flags py | rollout = gradual rollout; targeting = flag targeting; cleanup = the cleanup of old flags; defaults = flag defaults; auditlog = the flag audit log
! targeting | flag-bucket | the same user sees both variants | the bucket is drawn for each request | hash user and flag name into the bucket
! defaults | flag-outage | the site is down while the flag service restarts | flags are read without a default | keep the last known flags on disk
! rollout | flag-typo | the new checkout never reaches anyone | the code asks for a flag that does not exist | refuse unknown flag names at start
? where flags are kept = in a table; in a configuration file; in a hosted service

legacy-sync | once | legacy py | poller = the mainframe poller; fixedwidth = the fixed-width reader; mapping_codes = the code mapping; reconcile = the nightly reconciliation; cutover = the cut-over plan
! mapping_codes | ebcdic-euro | the euro sign turns into a currency sign | the code page is older than the euro | decode with code page 1141
! poller | poll-overlap | records are copied twice on Mondays | the weekend run overlaps the first poll | take a lease before polling
! fixedwidth | width-shift | weights are ten times too large | a new field shifted the record by one | read offsets from the copybook version
? the source of truth during the sync = the mainframe; our database; the newer of the two

push-notifications | once | push py | devices = the device registry; quiet = quiet hours; payloads = the push payloads; badges = badge counts; optout = the opt-out page
! quiet | night-push | drivers are woken at three | quiet hours use the server's time zone | use the zone of the device
! devices | token-stale | half of all pushes are dropped | device tokens are never refreshed | replace a token when the gateway reports it gone
! badges | badge-stuck | the badge shows 4 with an empty inbox | reading on the web does not update devices | send a silent push after reading
? the push provider = direct to the vendors; a hosted gateway; e-mail only

demo-day | once | demo py | script = the demo script; dataset = the demo data set; reset = the demo reset; slides = the slides; booth = the booth screen
! reset | demo-reset | the second demo shows yesterday's tour | the reset forgets the cache | clear the cache in the reset
! booth | demo-offline | the booth screen stays white | the map needs a network that the hall lacks | ship the tiles with the demo
! dataset | demo-names | real customer names appear in the demo | the data set was copied from staging | generate names from a list
? the story of the demo = a day at the depot; a parcel's journey; the planner's morning

licence-audit | once | licences py | inventory = the package inventory; headers = the licence headers; notices = the notices file; exceptions = the exception list; review = the legal review
! inventory | notice-missing | the shipped image lacks three notices | the inventory skips vendored folders | scan vendored folders as well
! review | dual-licence | the audit refuses a package under two licences | the expression is compared as plain text | parse licence expressions
! headers | header-year | the header check fails on the first of the month | the year is compared with the build date | drop the year from the header
? the file that lists licences = one notices file; a page in the product; a bill of materials

map-tiles | once | tiles py | renderer = the tile renderer; zoom = zoom levels; borders = tile borders; styles = the map styles; storage = tile storage
! borders | tile-seam | white seams appear between tiles | coordinates are rounded before clipping | clip with a margin of eight pixels
! storage | tile-budget | tile storage grew to 400 GB | the ocean is stored at every zoom level | store one tile for all that are equal
! styles | label-cut | city names are cut at tile borders | labels are placed for each tile alone | place labels on blocks of four tiles
? the format of map tiles = raster; vector; vector with raster overview
"""

if __name__ == "__main__":
    main()
