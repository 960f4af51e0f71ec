"""A seeded simulation of a small team of agents at work on software for months, and its
recorded file.

Nobody did this work: wherever its data is shown, it is called a simulation. Two stages:
a calendar of moments (who is at work on which topic, when), then what happens in each
moment, walked in the order of time. All draws are integers of the PCG64 stream, which
numpy keeps stable, so that a seed gives the same team on every machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from simulate_needs import save_needs, simulate_needs
from simulate_questions import DAYS as QUESTION_DAYS
from simulate_questions import save_questions, simulate_questions
from simulate_routing import save_calls
from simulate_sessions import save_sessions, simulate_sessions
from simulation_draws import HOUR, SECOND, START, Dice, topic_weights, write_stored
from simulation_words import Aspect, Failure, lines, own, topics

from theorex_lab import InvalidInput, TheorexError
from theorex_lab.core.clock import MICROSECONDS_PER_DAY, to_datetime
from theorex_lab.eval.datasets.log_sets.simulated_facts import FACTS
from theorex_lab.eval.datasets.sources import Activity, SourceKind

AGENTS = ("main", "qwen-sage", "secretarius")
MAX_DAYS = 3_650
MAX_COMMIT_FILES = 20
# facts about people, places and tools that belong to no piece of the software
TEAM_TOPIC = "team"


def simulate(
    *, seed: int, days: int = 180, commits_per_day: float = 5.0
) -> list[Activity]:
    """The activities of a simulated team in the order of time; the same for the same
    arguments on every machine.

    seed: 0 or more.  days: 1 to 3650, counted in UTC from 5 January 2026.
    commits_per_day: about how many on a working day of the whole team, above 0 and up
    to 100. Raises InvalidInput for anything else.

    >>> team = simulate(seed=7, days=30)
    >>> team == simulate(seed=7, days=30), sorted({activity.agent for activity in team})
    (True, ['main', 'qwen-sage', 'secretarius'])
    """
    if type(seed) is not int or seed < 0:
        raise InvalidInput(f"got the seed {seed!r}; allowed is a whole number from 0")
    if type(days) is not int or not 1 <= days <= MAX_DAYS:
        raise InvalidInput(
            f"got days {days!r}; allowed is a whole number from 1 to {MAX_DAYS}"
        )
    if not isinstance(commits_per_day, int | float) or not 0 < commits_per_day <= 100:
        raise InvalidInput(
            f"got commits_per_day {commits_per_day!r}; allowed is a number above 0 and up to 100"
        )
    dice = Dice(seed)
    moments = _calendar(dice, days, round(commits_per_day * 1000))
    team = _Team(dice)
    return [team.act(moment) for moment in moments]


# The calendar: who is at work, when, on what.


class _Moment(NamedTuple):
    at: int
    role: int  # position among the agents: builder, reviewer, secretary
    session: str
    topic: int  # position among the topics


# Start of the day in hours UTC and sessions a day in percent, for builder, reviewer and
# secretary.
_START_HOURS = (8, 10, 7)
_SESSIONS_PERCENT = (170, 130, 100)
_WEEKEND_PER_THOUSAND = 40
_PACE_PERCENT = (
    35,
    55,
    75,
    90,
    100,
    110,
    140,
    210,
)  # some weeks are slow, some are a rush
_ACTIVITIES_PER_COMMIT_PERCENT = 345  # measured over the roles


def _calendar(dice: Dice, days: int, thousandth_commits: int) -> list[_Moment]:
    plan = [topic_weights(topic.rhythm, days, dice) for topic in topics()]
    holiday = _holiday(dice, days)
    # Of a session, in thousandths.
    size = thousandth_commits * _ACTIVITIES_PER_COMMIT_PERCENT // sum(_SESSIONS_PERCENT)
    moments: list[_Moment] = []
    paces: list[int] = []
    for day in range(days):
        if day % 7 == 0:
            # Each pace once in eight weeks, so that no seed gives a team that does next
            # to nothing.
            paces = paces[1:] or dice.several(_PACE_PERCENT, len(_PACE_PERCENT))
        if day not in holiday:
            weights = [plan_of_topic[day] for plan_of_topic in plan]
            for role in range(len(AGENTS)):
                moments += _day_of_agent(
                    dice, role, day, weights, size * paces[0] // 100
                )
    return sorted(moments)


def _holiday(dice: Dice, days: int) -> range:
    """One pause of 8 to 12 days about the middle, where there is time for one."""
    if days < 45:
        return range(0)
    first = days * (45 + dice.below(15)) // 100
    return range(first, first + 8 + dice.below(5))


def _day_of_agent(
    dice: Dice, role: int, day: int, weights: Sequence[int], size: int
) -> Iterator[_Moment]:
    percent = _SESSIONS_PERCENT[role]
    count = percent // 100 + dice.chance(10 * (percent % 100))
    if day % 7 >= 5:
        count = int(dice.chance(_WEEKEND_PER_THOUSAND))
    midnight = START + day * MICROSECONDS_PER_DAY
    topic = 0
    opening_hour = 18 if dice.chance(25) else _START_HOURS[role]
    for number in range(count):
        session = f"{AGENTS[role]}-{to_datetime(midnight):%Y%m%d}-{number + 1}"
        at = midnight + (opening_hour + 4 * number) * HOUR + dice.below(3 * HOUR)
        if number == 0 or dice.chance(400):
            topic = dice.weighted(weights)
        for _ in range(
            max(1, size * dice.pick((20, 50, 70, 90, 110, 140, 220)) // 100_000)
        ):
            if at >= midnight + MICROSECONDS_PER_DAY:
                return
            yield _Moment(at, role, session, topic)
            at += dice.heavy_tail(40 * SECOND, 7)
            if dice.chance(60):
                topic = dice.weighted(weights)


# What happens in each moment.


class _Done(NamedTuple):
    text: str
    tags: tuple[str, ...] = ()
    success: bool | None = None
    files: tuple[tuple[str, str], ...] = ()
    topic: str = ""  # where it is not the one at hand


# Weights of commit, tool, failure, decision and fact for builder, reviewer and
# secretary.
_KIND_WEIGHTS = ((36, 37, 17, 5, 5), (29, 40, 18, 7, 6), (24, 27, 10, 16, 23))


class _Team:
    """What there is at a moment: the files, what failed and was mended, what was
    decided, what is known.
    """

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.aspects = [list(topic.aspects) for topic in topics()]
        self.failures = [list(topic.failures) for topic in topics()]
        self.existing: dict[
            str, None
        ] = {}  # a dictionary, since the order of a set is not fixed
        for topic in topics():
            if topic.rhythm != "once":
                self.existing.update(
                    dict.fromkeys(
                        path for aspect in topic.aspects for path in aspect.files
                    )
                )
        self.times_seen: dict[str, int] = {}
        self.fix_holds: dict[str, bool] = {}
        self.fix_to_note: dict[int, Failure] = {}
        self.fix_to_commit: dict[int, Failure] = {}
        self.chosen: dict[str, str] = {}
        self.known: dict[str, str] = {}
        self.latest: dict[int, Aspect] = {}

    def act(self, moment: _Moment) -> Activity:
        acts: dict[SourceKind, Callable[[int], _Done]] = {
            "commit": self._commit,
            "tool": self._tool,
            "failure": self._fail,
            "decision": self._decide,
            "fact": self._note_fact,
            "fix": self._fix,
        }
        kind: SourceKind = "fix"
        if not (moment.topic in self.fix_to_note and self.dice.chance(350)):
            kind = list(acts)[self.dice.weighted(_KIND_WEIGHTS[moment.role])]
        done = acts[kind](moment.topic)
        text = done.text if kind == "tool" else done.text[0].upper() + done.text[1:]
        topic = done.topic or topics()[moment.topic].name
        return Activity(
            moment.at,
            AGENTS[moment.role],
            moment.session,
            kind,
            text,
            done.files,
            done.success,
            topic,
            done.tags,
        )

    def _focus(self, topic: int) -> Aspect:
        """Often the aspect that the topic's work was on last, else one of them, the
        first ones more often.
        """
        aspects = self.aspects[topic]
        if self.latest.get(topic) not in aspects or self.dice.chance(300):
            self.latest[topic] = aspects[
                self.dice.weighted([20 // (place + 1) for place in range(len(aspects))])
            ]
        return self.latest[topic]

    def _words(self, topic: int, aspect: Aspect) -> dict[str, str | int]:
        """What the templates may ask for."""
        dice = self.dice
        others = [other.phrase for other in self.aspects[topic] if other != aspect]
        existing = [path for path in aspect.files if path in self.existing]
        place = topics()[topic]
        return {  # drawn in this order
            "case": dice.pick(own(lines("cases"), topic)),
            "purpose": dice.pick(lines("purposes")),
            "technique": dice.pick(own(lines("techniques"), topic)),
            "person": dice.pick(lines("people")),
            "other": dice.pick(others),
            "path": dice.pick(existing or ["README.md"]),
            "n": 2 + dice.below(58),
            "m": 60 + dice.below(900),
            "aspect": aspect.phrase,
            "stem": aspect.stem,
            "folder": place.folder,
            "topic": place.name.replace("-", " "),
        }

    def _commit(self, topic: int) -> _Done:
        dice = self.dice
        if topic in self.fix_to_commit:
            return self._commit_fix(topic, self.fix_to_commit.pop(topic))
        roll = dice.below(100)
        there = [
            aspect for aspect in self.aspects[topic] if aspect.files[0] in self.existing
        ]
        if roll < 2 and len(there) > 4:
            return self._remove(topic, dice.pick(there))
        if roll < 6 and there:
            return self._rename(topic, dice.pick(there))
        if roll < 9 and there:
            return self._sweep(topic)
        aspect = self._focus(topic)
        others = dice.several(
            [other for other in self.aspects[topic] if other != aspect],
            dice.pick((0, 0, 0, 1, 1, 2)),
        )
        text = dice.pick(lines("commits")).format(**self._words(topic, aspect))
        return _Done(text, files=self._change(topic, [aspect, *others]))

    def _commit_fix(self, topic: int, failure: Failure) -> _Done:
        places = [
            aspect for aspect in self.aspects[topic] if aspect.stem == failure.stem
        ]
        files = self._change(topic, places or [self._focus(topic)])
        return _Done(
            f"{failure.remedy}, since {failure.cause}",
            (f"cause:{failure.name}",),
            files=files,
        )

    def _sweep(self, topic: int) -> _Done:
        own = [path for path in self.existing if f"/{topics()[topic].folder}/" in path]
        others = self.dice.several(
            [path for path in self.existing if path not in own], self.dice.below(8)
        )
        text = self.dice.pick(lines("sweeps")).format(
            **self._words(topic, self._focus(topic))
        )
        return _Done(
            text,
            ("sweep",),
            files=tuple(
                ("M", path) for path in sorted([*own, *others][:MAX_COMMIT_FILES])
            ),
        )

    def _change(
        self, topic: int, aspects: Sequence[Aspect]
    ) -> tuple[tuple[str, str], ...]:
        """Files that change together: those of a few aspects, and now and then a page
        or a piece of a core topic.
        """
        dice = self.dice
        paths: dict[str, None] = {}
        for aspect in aspects:
            paths[aspect.files[0]] = None
            paths.update(
                dict.fromkeys(path for path in aspect.files[1:] if dice.chance(750))
            )
        if dice.chance(120):
            paths[f"docs/{topics()[topic].name}.md"] = None
        if dice.chance(500 if topics()[topic].name == "release" else 40):
            paths["CHANGELOG.md"] = None
        if dice.chance(80):
            core = dice.pick(
                [
                    place
                    for place, other in enumerate(topics())
                    if other.rhythm == "core"
                ]
            )
            paths[dice.pick(self.aspects[core]).files[0]] = None
        changes = tuple(
            ("M" if path in self.existing else "A", path) for path in sorted(paths)
        )
        self.existing.update(paths)
        return changes

    def _remove(self, topic: int, aspect: Aspect) -> _Done:
        self.aspects[topic].remove(aspect)
        gone = sorted(path for path in aspect.files if path in self.existing)
        for path in gone:
            del self.existing[path]
        text = f"Remove {aspect.phrase}: {self.dice.pick(lines('removals'))}"
        return _Done(text, ("removal",), files=tuple(("D", path) for path in gone))

    def _rename(self, topic: int, aspect: Aspect) -> _Done:
        place = topics()[topic]
        stems = [f"{aspect.stem}_{ending}" for ending in lines("endings")]
        paths = self.dice.pick(
            [
                paths
                for paths in (place.paths(stem) for stem in stems)
                if paths != aspect.files
            ]
        )
        renamed = [
            (old, new)
            for old, new in zip(aspect.files, paths, strict=True)
            if old in self.existing
        ]
        for old, new in renamed:
            del self.existing[old]
            self.existing[new] = None
        self.aspects[topic][self.aspects[topic].index(aspect)] = aspect._replace(
            files=paths
        )
        changes = [("D", old) for old, _ in renamed] + [
            ("A", new) for _, new in renamed
        ]
        text = f"Rename {aspect.files[0]} to {paths[0]}, {self.dice.pick(lines('reasons'))}"
        return _Done(
            text,
            ("rename",),
            files=tuple(sorted(changes, key=lambda change: change[1])),
        )

    def _tool(self, topic: int) -> _Done:
        success = not self.dice.chance(90)
        template = self.dice.pick(lines("tools" if success else "broken tools"))
        return _Done(
            template.format(**self._words(topic, self._focus(topic))), (), success
        )

    def _fail(self, topic: int) -> _Done:
        dice = self.dice
        known = self.failures[topic]
        if dice.chance(450):
            failure = self._new_failure(topic)
            if failure.name not in [other.name for other in known]:
                known.append(failure)
        failure = known[dice.weighted([self._likelihood(other) for other in known])]
        seen = self.times_seen[failure.name] = self.times_seen.get(failure.name, 0) + 1
        if dice.chance(720):
            self.fix_to_note[topic] = failure
        template = dice.pick(lines("failures" if seen == 1 else "failures again"))
        text = template.format(symptom=failure.symptom, cause=failure.cause, seen=seen)
        return _Done(
            text, (f"cause:{failure.name}", *(["again"] if seen > 1 else [])), False
        )

    def _likelihood(self, failure: Failure) -> int:
        """What was never seen, or whose fix did not hold, comes sooner than what was
        mended.
        """
        if failure.name not in self.times_seen:
            return 8
        return {None: 4, False: 8, True: 1}[self.fix_holds.get(failure.name)]

    def _new_failure(self, topic: int) -> Failure:
        aspect = self._focus(topic)
        case = self.dice.pick(own(lines("cases"), topic))
        name = f"{topics()[topic].folder}-{aspect.stem}-{case}".replace(
            " ", "-"
        ).replace("_", "-")
        cause, remedy = (
            self.dice.pick(lines("causes"))
            .format(case=case, aspect=aspect.phrase)
            .split(" | ")
        )
        return Failure(
            aspect.stem, name, f"{aspect.phrase} broke on {case}", cause, remedy
        )

    def _fix(self, topic: int) -> _Done:
        failure = self.fix_to_note.pop(topic)
        holds = self.fix_holds[failure.name] = self.dice.chance(820)
        if holds:
            self.fix_to_commit[topic] = failure
        template = self.dice.pick(lines("fixes" if holds else "false fixes"))
        text = template.format(
            symptom=failure.symptom, cause=failure.cause, remedy=failure.remedy
        )
        return _Done(text, ("trace_fix", f"cause:{failure.name}"), holds)

    def _decide(self, topic: int) -> _Done:
        dice = self.dice
        question = topics()[topic].question
        options = topics()[topic].options
        if dice.chance(550):
            question = f"the approach in {self._focus(topic).phrase}"
            options = own(lines("techniques"), topic)
        reason = dice.pick(lines("reasons"))
        old = self.chosen.get(question)
        if old is not None and dice.chance(500):
            return _Done(f"{question} stays {old}, {reason}", ("confirms",))
        new = self.chosen[question] = dice.pick(
            [option for option in options if option != old]
        )
        if old is None:
            return _Done(f"Decided: {question} will be {new}, {reason}")
        return _Done(
            f"Decision changed: {question} will be {new} instead of {old}, {reason}",
            ("supersedes",),
        )

    def _note_fact(self, topic: int) -> _Done:
        dice = self.dice
        sentence, values = dice.pick(FACTS)
        name = TEAM_TOPIC
        if dice.chance(600):
            sentence = f"{{}} {dice.pick(lines('care'))} {self._focus(topic).phrase}"
            values = lines("people")
            name = topics()[topic].name
        old = self.known.get(sentence)
        if old is not None and dice.chance(600):
            return _Done(
                f"{dice.pick(lines('reminders'))}: {sentence.format(old)}",
                (),
                topic=name,
            )
        new = self.known[sentence] = dice.pick(
            [value for value in values if value != old]
        )
        if old is None:
            return _Done(sentence.format(new), topic=name)
        return _Done(
            f"{sentence.format(new)} from now on; until now it was {old}",
            ("supersedes",),
            topic=name,
        )


# The file.


def save(
    activities: Sequence[Activity], path: str | Path, *, seed: int, days: int
) -> None:
    """Write activities as a simulation's file. Raises StorageError."""
    write_stored(
        {"simulation": True, "seed": seed, "days": days, "version": 1},
        map(asdict, activities),
        path,
    )


# The command.


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a simulation's file: `python tests/helpers/simulate.py --seed 7 --output FILE`."""
    parser = argparse.ArgumentParser(
        description="Write the recorded file of a simulation."
    )
    parser.add_argument(
        "--of",
        choices=["team", "sessions", "needs", "questions", "calls"],
        default="team",
        help="a team of agents, coding sessions, what these needed to know,"
        " conversations with questions, or calls of models",
    )
    parser.add_argument("--seed", type=int, required=True, help="whole number from 0")
    parser.add_argument(
        "--days",
        type=int,
        default=180,
        help=f"1 to {MAX_DAYS} (default 180; questions are always of 120 days)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        required=True,
        help="file to write, such as team.jsonl.gz",
    )
    given = parser.parse_args(arguments)
    try:
        if given.of == "sessions":
            lines_made = simulate_sessions(seed=given.seed, days=given.days)
            save_sessions(lines_made, given.output, seed=given.seed, days=given.days)
            made = f"{len(lines_made)} lines of coding sessions"
        elif given.of == "needs":
            rows = simulate_needs(seed=given.seed, days=given.days)
            save_needs(rows, given.output, seed=given.seed, days=given.days)
            made = f"the needs of {len(rows)} coding sessions"
        elif given.of == "calls":
            n_queries = save_calls(given.seed, given.output)
            made = f"{n_queries} queries to seven models"
        elif given.of == "questions":
            given.days = QUESTION_DAYS
            turns = simulate_questions(seed=given.seed)
            save_questions(turns, given.output, seed=given.seed)
            made = f"{len(turns)} turns and questions"
        else:
            activities = simulate(seed=given.seed, days=given.days)
            save(activities, given.output, seed=given.seed, days=given.days)
            made = f"{len(activities)} activities"
    except TheorexError as error:
        parser.error(str(error))
    when = "" if given.of == "calls" else f" in {given.days} days"
    sys.stdout.write(f"{given.output}: simulation of {made}{when}\n")


if __name__ == "__main__":
    main()
