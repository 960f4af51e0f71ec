"""A seeded simulation of one developer's coding sessions with an agent, as the lines
that the agent's hook would have got.

Nobody had these sessions: wherever they are shown, they are called a simulation. A
calendar says when there is a session and on which topic; then the sessions are lived
one after the other on a project that remembers its files, what failed, what was
decided, what was left open and which rules the user gave. The agent knows none of it,
so the user repeats rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simulation_draws import HOUR, SECOND, START, Dice, topic_weights, write_stored
from simulation_words import Aspect, Failure, lines, own, topics

from theorex_lab import InvalidInput
from theorex_lab.core.clock import MICROSECONDS_PER_DAY, to_datetime
from theorex_lab.core.ids import derived_event_id

Line = dict[str, Any]
PROJECT = "delivery-planner"
MAX_DAYS = 3_650
_SESSIONS_A_DAY, _HOURS = (
    (0, 0, 1, 1, 1, 2, 2),
    (8, 13),
)  # when the first and the second of a day may begin, UTC
_CHECKS = {
    "py": "pytest tests/{folder} -q",
    "sql": "pytest tests/{folder} -q",
    "ts": "npm test -- web/{folder}",
    "yaml": "make check-{folder}",
}


def simulate_sessions(*, seed: int, days: int = 180) -> list[Line]:
    """The lines of simulated coding sessions in a hook's form, in the order of time;
    the same for the same arguments.

    seed: 0 or more.  days: 1 to 3650, from 5 January 2026. Raises InvalidInput for
    anything else.

    >>> made = simulate_sessions(seed=7, days=30)
    >>> (
    ...     made == simulate_sessions(seed=7, days=30),
    ...     made[0]["hook_event_name"],
    ...     made[-1]["hook_event_name"],
    ... )
    (True, 'SessionStart', 'SessionEnd')
    """
    if type(seed) is not int or seed < 0:
        raise InvalidInput(f"got the seed {seed!r}; allowed is a whole number from 0")
    if type(days) is not int or not 1 <= days <= MAX_DAYS:
        raise InvalidInput(
            f"got days {days!r}; allowed is a whole number from 1 to {MAX_DAYS}"
        )
    made: list[Line] = []
    for lived in live_sessions(seed=seed, days=days):
        made += lived.lines
    return made


def live_sessions(*, seed: int, days: int) -> list[LivedSession]:
    """Return the sessions in the order of time, with what is true of each.

    seed, days: as in `simulate_sessions`, which checks them.
    """
    dice = Dice(seed)
    calendar = list(_calendar(dice, days))
    project = _Project(dice, len(calendar))
    for number, (at, topic) in enumerate(calendar):
        project.live(number, at, topic)
    return project.lived


def save_sessions(
    made: Sequence[Line], path: str | Path, *, seed: int, days: int
) -> None:
    """Write the lines as a simulation's file, below a header that says so. Raises
    StorageError.
    """
    header = {
        "simulation": True,
        "of": "coding sessions",
        "seed": seed,
        "days": days,
        "version": 1,
    }
    write_stored(header, made, path)


def _calendar(dice: Dice, days: int) -> Iterator[tuple[int, int]]:
    """(start in µs UTC, topic) of each session: on working days, often on the topic of
    the session before.
    """
    plan = [topic_weights(topic.rhythm, days, dice) for topic in topics()]
    topic = 0
    for day in range(days):
        count = dice.pick(_SESSIONS_A_DAY) if day % 7 < 5 else int(dice.chance(60))
        for hour in _HOURS[:count]:
            weights = [of_topic[day] for of_topic in plan]
            if not weights[topic] or dice.chance(450):
                topic = dice.weighted(weights)
            yield (
                START + day * MICROSECONDS_PER_DAY + hour * HOUR + dice.below(2 * HOUR),
                topic,
            )


@dataclass
class LivedSession:
    """The lines of a session, and what the simulation knows of it.

    Attributes:
        name: The id of the session.
        lines: What a hook would have got.
        given_rules: The rules that the user gives in it, by their number, with the
            words.
        taken_up: What an earlier session left open and this one goes on with.
        left_open: What it leaves open, the words that say so, and strings that any
            such words hold.
        mended: The known failures that it is asked to mend, each with whether the
            check passes in the end.
        decided: What it decides: the question, the option, the words.
        put_right: What the user corrects: the part, the technique, the words.
        checks: The commands that check the work.
        parts: The parts that it works on: the topic, the name, the first file.
        commits: Whether it commits.
    """

    name: str
    lines: list[Line] = field(default_factory=list)
    given_rules: list[tuple[int, str]] = field(default_factory=list)
    taken_up: str = ""
    left_open: tuple[str, str, tuple[str, ...]] = ("", "", ())
    mended: list[tuple[Failure, bool]] = field(default_factory=list)
    decided: list[tuple[str, str, str]] = field(default_factory=list)
    put_right: list[tuple[str, str, str]] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    parts: list[tuple[int, str, str]] = field(default_factory=list)
    commits: bool = False


@dataclass
class _Rule:
    """A standing rule: its wordings, and the number of the session in which the user
    gives it next.
    """

    number: int
    wordings: list[str]
    due: int


class _Session:
    """The lines of one session, each some time after the one before."""

    def __init__(self, dice: Dice, at: int) -> None:
        self.dice = dice
        self.at = at
        self.name = f"{to_datetime(at):%Y%m%d-%H%M}"
        self.truth = LivedSession(self.name)
        self.line("SessionStart", cwd=PROJECT)

    def line(self, event: str, **given: object) -> None:
        at = f"{to_datetime(self.at):%Y-%m-%dT%H:%M:%SZ}"
        self.truth.lines.append(
            {"session_id": self.name, "at": at, "hook_event_name": event, **given}
        )
        self.at += self.dice.heavy_tail(12 * SECOND, 4)

    def tool(self, name: str, given: Mapping[str, str], response: str) -> None:
        self.line(
            "PostToolUse", tool_name=name, tool_input=given, tool_response=response
        )

    def run(self, command: str, response: str) -> None:
        self.tool("Bash", {"command": command}, response)

    def prompt(self, text: str) -> None:
        self.line("UserPromptSubmit", prompt=text[0].upper() + text[1:])

    def stop(self, text: str) -> None:
        self.line("Stop", last_assistant_message=text[0].upper() + text[1:])


@dataclass
class _Task:
    """What a session is about: a part of a topic, with the words that the templates may
    ask for.
    """

    topic: int
    aspect: Aspect
    words: dict[str, Any]
    failure: Failure | None = None
    edited: list[str] = field(default_factory=list)

    @property
    def part(self) -> tuple[int, str, str]:
        return self.topic, self.aspect.phrase, self.aspect.files[0]

    @property
    def check(self) -> str:
        return _CHECKS[topics()[self.topic].extension].format(
            folder=topics()[self.topic].folder
        )


class _Project:
    """What there is when a session begins: files, failures that were seen, decisions,
    what was left open, rules.
    """

    def __init__(self, dice: Dice, sessions: int) -> None:
        self.dice = dice
        self.files = {
            path
            for topic in topics()
            if topic.rhythm != "once"
            for aspect in topic.aspects
            for path in aspect.files
        }
        self.seen: dict[str, int] = {}
        self.latest: dict[int, Aspect] = {}
        self.chosen: dict[str, str] = {}
        self.open: tuple[int, Aspect, str] | None = None
        self.rules = [
            _Rule(place, rule.split(" | "), 1 + dice.below(1 + sessions // 2))
            for place, rule in enumerate(lines("rules"))
        ]
        self.lived: list[LivedSession] = []

    def live(self, number: int, at: int, topic: int) -> None:
        """Live the session of this number."""
        dice, session = self.dice, _Session(self.dice, at)
        self.lived.append(session.truth)
        task = self._first(session, topic)
        if task.words["technique"] in task.words["done"] and dice.chance(500):
            self._put_right(session, task)
        if dice.chance(350):
            task = self._ask(session, self._task(topic))
        for rule in [rule for rule in self.rules if rule.due <= number][:2]:
            self._give(session, task, rule, number)
        if task.edited and dice.chance(600):
            self._commit(session, task)
        session.line("SessionEnd", reason="exit")

    # What the user asks.

    def _first(self, session: _Session, topic: int) -> _Task:
        dice = self.dice
        if (
            self.open
            and (self.open[0] == topic or dice.chance(120))
            and dice.chance(600)
        ):
            place, aspect, left = self.open
            self.open = None
            session.truth.taken_up = left
            task = self._task(place, aspect)
            return self._change(
                session,
                task,
                dice.pick(lines("asks to go on")).format(open=left),
                done=left,
            )
        roll = dice.below(100)
        if roll < 34:
            return self._mend(session, topic)
        return (
            self._look(session, self._task(topic))
            if roll < 46
            else self._ask(session, self._task(topic))
        )

    def _ask(self, session: _Session, task: _Task) -> _Task:
        return self._change(
            session, task, self.dice.pick(lines("asks")).format(**task.words)
        )

    def _mend(self, session: _Session, topic: int) -> _Task:
        known = topics()[topic].failures
        failure = known[
            self.dice.weighted([8 if other.name in self.seen else 2 for other in known])
        ]
        again = failure.name in self.seen
        self.seen[failure.name] = self.seen.get(failure.name, 0) + 1
        aspects = [
            aspect for aspect in topics()[topic].aspects if aspect.stem == failure.stem
        ]
        task = self._task(topic, aspects[0])
        task.failure, task.words = failure, {**task.words, **failure._asdict()}
        ask = self.dice.pick(lines("asks again" if again else "asks to mend")).format(
            **task.words
        )
        return self._change(session, task, ask, done=failure.remedy)

    def _look(self, session: _Session, task: _Task) -> _Task:
        session.truth.parts.append(task.part)
        session.prompt(self.dice.pick(lines("asks to look")).format(**task.words))
        self._read(session, task)
        session.stop(self.dice.pick(lines("answers to a look")).format(**task.words))
        return task

    def _put_right(self, session: _Session, task: _Task) -> None:
        technique = self.dice.pick(
            [other for other in lines("techniques") if other != task.words["technique"]]
        )
        words = {
            **task.words,
            "technique": technique,
            "rejected": task.words["technique"],
        }
        session.prompt(self.dice.pick(lines("put right")).format(**words))
        self._edit(session, task, self.dice.pick(task.edited))
        self._until_green(session, task, 200)
        said = f"{task.aspect.phrase} uses {technique} now."
        session.truth.put_right.append((task.aspect.phrase, technique, said))
        session.stop(said)

    def _give(self, session: _Session, task: _Task, rule: _Rule, number: int) -> None:
        dice = self.dice
        words = {"rule": dice.pick(rule.wordings), "path": task.words["path"]}
        rule.due = number + dice.heavy_tail(5, 4)
        session.truth.given_rules.append((rule.number, words["rule"]))
        session.prompt(dice.pick(lines("rule leads")).format(**words))
        self._edit(session, task, task.words["path"])
        session.stop(dice.pick(lines("rule answers")).format(**words))

    def _commit(self, session: _Session, task: _Task) -> None:
        session.truth.commits = True
        session.prompt(self.dice.pick(lines("asks to commit")))
        message = task.words["done"][0].upper() + task.words["done"][1:]
        made = derived_event_id("commit", session.name)[-7:]
        session.run(
            f'git commit -m "{message}"',
            f"[main {made}] {message}\n {len(set(task.edited))} files changed",
        )
        session.stop("Committed.")

    # What the agent does.

    def _task(self, topic: int, aspect: Aspect | None = None) -> _Task:
        """On the part that the topic's work was on last, often, or on one of its parts,
        the first ones more often.
        """
        dice = self.dice
        place = topics()[topic]
        if aspect is None and (topic not in self.latest or dice.chance(400)):
            aspect = place.aspects[
                dice.weighted([20 // (n + 1) for n in range(len(place.aspects))])
            ]
        chosen = self.latest[topic] = aspect or self.latest[topic]
        words = {
            "technique": dice.pick(own(lines("techniques"), topic)),
            "case": dice.pick(own(lines("cases"), topic)),
            "purpose": dice.pick(lines("purposes")),
            "reason": dice.pick(lines("reasons")),
            "person": dice.pick(lines("people")),
            "other": dice.pick(
                [other.phrase for other in place.aspects if other != chosen]
            ),
            "n": 2 + dice.below(58),
            "m": 60 + dice.below(900),
            "aspect": chosen.phrase,
            "stem": chosen.stem,
            "folder": place.folder,
            "path": chosen.files[0],
            "done": f"follow the rules of the project in {chosen.phrase}",
        }
        return _Task(topic, chosen, words)

    def _change(
        self, session: _Session, task: _Task, ask: str, done: str = ""
    ) -> _Task:
        """Read, edit and check until it is green, or given up."""
        dice = self.dice
        task.words["done"] = done or (ask[0].lower() + ask[1:].rstrip("."))
        session.truth.parts.append(task.part)
        session.prompt(ask)
        self._read(session, task)
        if task.failure:
            self._fail(session, task)
        for path in [path for path in task.aspect.files[1:] if dice.chance(700)]:
            self._edit(session, task, path)
        for _ in range(1 + dice.pick((0, 0, 1, 2))):
            self._edit(session, task, task.aspect.files[0])
        if dice.chance(200):
            self._edit(session, task, self._neighbour(task))
        green = self._until_green(session, task, 200 if task.failure else 350)
        if task.failure:
            session.truth.mended.append((task.failure, green))
        session.stop(
            self._answer(session, task) if green else self._left_red(session, task)
        )
        return task

    def _neighbour(self, task: _Task) -> str:
        others = [
            aspect for aspect in topics()[task.topic].aspects if aspect != task.aspect
        ]
        return self.dice.pick(others).files[0]

    def _read(self, session: _Session, task: _Task) -> None:
        dice = self.dice
        known = [path for path in task.aspect.files if path in self.files]
        if dice.chance(350):
            session.run(f"rg -l {task.aspect.stem}", "\n".join(known) or "no match")
        paths = [path for path in known if dice.chance(800)]
        if dice.chance(400):
            paths.append(self._neighbour(task))
        if dice.chance(100):
            paths.append(f"docs/{topics()[task.topic].name}.md")
        for path in paths:
            self.files.add(path)
            session.tool("Read", {"file_path": path}, f"{30 + dice.below(400)} lines")

    def _edit(self, session: _Session, task: _Task, path: str) -> None:
        tool, said = ("Edit", "updated") if path in self.files else ("Write", "created")
        self.files.add(path)
        task.edited.append(path)
        session.tool(tool, {"file_path": path}, f"The file {path} has been {said}.")

    def _fail(self, session: _Session, task: _Task) -> None:
        """A check that fails: as a known failure does each time, or with an error of
        the change at hand.
        """
        dice = self.dice
        template = (
            "E   AssertionError: {symptom}"
            if task.failure
            else dice.pick(lines("errors"))
        )
        where = task.aspect.files[-1]
        passed = 5 + dice.below(60)
        response = (
            f"Exit code 1\nFAILED {where}\n{template.format(**task.words)}\n1 failed,"
            f" {passed} passed"
        )
        session.truth.checks.append(task.check)
        session.run(task.check, response)

    def _until_green(self, session: _Session, task: _Task, per_thousand: int) -> bool:
        """Whether the check passes in the end: after each failure a file is edited, and
        after three it is given up.
        """
        dice = self.dice
        for _ in range(3):
            if not dice.chance(per_thousand):
                session.truth.checks.append(task.check)
                session.run(
                    task.check,
                    f"{6 + dice.below(60)} passed in"
                    f" {1 + dice.below(9)}.{dice.below(10)}s",
                )
                return True
            self._fail(session, task)
            self._edit(session, task, dice.pick(task.aspect.files))
        return False

    # What the agent says at the end of its turn.

    def _answer(self, session: _Session, task: _Task) -> str:
        dice = self.dice
        parts = [
            dice.pick(
                lines("answers to a failure" if task.failure else "answers")
            ).format(**task.words)
        ]
        if dice.chance(250):
            parts.append(self._decision(session, task))
        if dice.chance(400):
            left = dice.pick(lines("left open")).format(**task.words)
            self.open = task.topic, task.aspect, left
            session.truth.left_open = (left, f"Still open: {left}.", (left,))
            parts.append(f"Still open: {left}.")
        return " ".join(part[0].upper() + part[1:] for part in parts)

    def _left_red(self, session: _Session, task: _Task) -> str:
        left = f"make the tests of {task.aspect.phrase} pass"
        self.open = task.topic, task.aspect, left
        said = self.dice.pick(lines("answers in red")).format(**task.words)
        sign = "still red" if "still red" in said else "still fails"
        session.truth.left_open = (left, said, (task.words["path"], sign))
        return said

    def _decision(self, session: _Session, task: _Task) -> str:
        dice = self.dice
        place = topics()[task.topic]
        old = self.chosen.get(place.question)
        option = self.chosen[place.question] = dice.pick(
            [other for other in place.options if other != old]
        )
        template = dice.pick(lines("decided anew" if old else "decided"))
        said = template.format(
            question=place.question, option=option, old=old, reason=task.words["reason"]
        )
        session.truth.decided.append((place.question, option, said))
        return said
