"""What the simulated coding sessions needed to know when they began.

Nobody read them: the simulation knows which rule is broken again, which error comes
back, what was left open and what was decided, so that it can say what an agent would
have wanted to be told. A need is written down only where an earlier session holds it,
with the words that stand there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from simulate_sessions import LivedSession, live_sessions
from simulation_draws import Dice, write_stored
from simulation_words import topics

from theorex_lab import InvalidInput
from theorex_lab.eval.datasets.needs_rows import Need, NeedEvidence, SessionNeeds
from theorex_lab.eval.metrics.needs import Match

MOST_STARTS = 24
# Before that there is little to be told.
FIRST_START = 10
# By the number of a rule, strings that all its wordings hold.
_RULE_STRINGS = (
    ("tests of the folder", "commit"),
    ("integer cents",),
    ("dependency", "ask"),
    ("UTC", "local time"),
    ("commit messages", "imperative"),
    ("failing test", "fix"),
    ("customer addresses", "log"),
    ("fixed clock",),
    ("migration", "released"),
    ("workaround", "comment"),
)
_COMMIT_RULES = (0, 4)
# By what a command that checks begins with, strings that it holds on any folder.
_CHECK_STRINGS = {
    "pytest": ("pytest", "-q"),
    "npm": ("npm test",),
    "make": ("make check-",),
}
# Most parts are checked by it, so that it is needed whatever is asked.
_USUAL_CHECK = "pytest"


def simulate_needs(*, seed: int, days: int = 180) -> list[SessionNeeds]:
    """Return the needs of at most 24 sessions, from the eleventh on.

    They are drawn: first of the sessions that need something vital, then of the others.

    seed, days: as in `simulate_sessions`. Raises InvalidInput where no session needs
    anything.

    >>> rows = simulate_needs(seed=7, days=60)
    >>> rows == simulate_needs(seed=7, days=60), rows[0].needs[0].kind
    (True, 'command')
    """
    lived = live_sessions(seed=seed, days=days)
    rows = []
    for number in range(FIRST_START, len(lived)):
        needs = _numbered(_needs_of(lived[number], lived[:number]))
        if needs:
            rows.append(_row(lived[number], needs))
    if not rows:
        raise InvalidInput(
            f"got {days} days, in which no session needs anything; allowed are more"
        )
    drawn = Dice(seed).several(rows, len(rows))
    vital_first = sorted(drawn, key=lambda row: -row.needs[0].grade)
    return sorted(vital_first[:MOST_STARTS], key=lambda row: row.at)


def save_needs(
    rows: Sequence[SessionNeeds], path: str | Path, *, seed: int, days: int
) -> None:
    """Write rows as a simulation's file, below a header that says so. Raises
    StorageError.
    """
    header = {
        "simulation": True,
        "of": "needs of coding sessions",
        "seed": seed,
        "days": days,
        "version": 1,
    }
    write_stored(header, map(asdict, rows), path)


def _row(session: LivedSession, needs: tuple[Need, ...]) -> SessionNeeds:
    """Return the row of a session."""
    gist = ", ".join(dict.fromkeys(name for _, name, _ in session.parts))
    return SessionNeeds(session.name, session.lines[0]["at"], needs, gist)


def _numbered(needs: Iterator[Need]) -> tuple[Need, ...]:
    """Return needs with ids, those of the higher grade first."""
    by_grade = sorted(needs, key=lambda need: -need.grade)
    numbered = []
    for number, need in enumerate(by_grade, start=1):
        members = {name: getattr(need, name) for name in Need.__slots__}
        numbered.append(Need(**{**members, "id": f"n{number}"}))
    return tuple(numbered)


def _needs_of(session: LivedSession, earlier: Sequence[LivedSession]) -> Iterator[Need]:
    """Yield what a session needs to know of earlier ones."""
    yield from _rules(session, earlier)
    yield from _open_work(session, earlier)
    yield from _commands(session, earlier)
    yield from _pitfalls(session, earlier)
    yield from _decisions(session, earlier)
    yield from _corrections(session, earlier)
    yield from _places(session, earlier)


def _need(
    kind: str,
    grade: Literal[1, 2],
    when: Literal["start", "asked"],
    text: str,
    match: Match,
    evidence: Sequence[tuple[str, str]],
) -> Need:
    """Return a need; its id comes later. evidence: the sessions with the words."""
    stands_in = tuple(NeedEvidence(*pair) for pair in evidence)
    return Need("-", kind, grade, when, text, match, stands_in)


def _rules(session: LivedSession, earlier: Sequence[LivedSession]) -> Iterator[Need]:
    """Yield the rules that the agent breaks again, and those for commits."""
    broken = [number for number, _ in session.given_rules]
    for number, strings in enumerate(_RULE_STRINGS):
        is_due = number in broken or (session.commits and number in _COMMIT_RULES)
        evidence = []
        for other in earlier:
            for given, words in other.given_rules:
                if given == number:
                    evidence.append((other.name, words))
        if is_due and evidence:
            grade: Literal[1, 2] = 2 if number in broken else 1
            yield _need("rule", grade, "start", evidence[-1][1], (strings,), evidence)


def _open_work(
    session: LivedSession, earlier: Sequence[LivedSession]
) -> Iterator[Need]:
    """Yield what was left open and is taken up."""
    for other in reversed(earlier):
        left, words, strings = other.left_open
        if left and left == session.taken_up:
            text = f"Open since {other.name}: {left}."
            evidence = [(other.name, words)]
            yield _need("state", 2, "start", text, (strings,), evidence)
            return


def _commands(session: LivedSession, earlier: Sequence[LivedSession]) -> Iterator[Need]:
    """Yield the commands that check the work."""
    names = dict.fromkeys(check.partition(" ")[0] for check in session.checks)
    for name in names:
        for other in reversed(earlier):
            runs = [check for check in other.checks if check.startswith(name)]
            if runs:
                when: Literal["start", "asked"] = "asked"
                if name == _USUAL_CHECK:
                    when = "start"
                match = (_CHECK_STRINGS[name],)
                text = f"Checks run as in `{runs[0]}`."
                evidence = [(other.name, runs[0])]
                yield _need("command", 1, when, text, match, evidence)
                break


def _pitfalls(session: LivedSession, earlier: Sequence[LivedSession]) -> Iterator[Need]:
    """Yield what helped when the same error was there before."""
    for failure, _ in session.mended:
        evidence = []
        for other in earlier:
            if (failure, True) in other.mended:
                evidence.append((other.name, failure.remedy))
        if evidence:
            text = f"When {failure.symptom}: {failure.remedy}, since {failure.cause}."
            yield _need("pitfall", 2, "asked", text, ((failure.remedy,),), evidence)


def _decisions(
    session: LivedSession, earlier: Sequence[LivedSession]
) -> Iterator[Need]:
    """Yield what holds of the topics at hand; it is vital where it was changed."""
    for topic in dict.fromkeys(topic for topic, _, _ in session.parts):
        question = topics()[topic].question
        decided = []
        for other in earlier:
            for asked, option, words in other.decided:
                if asked == question:
                    decided.append((other.name, option, words))
        if decided:
            name, option, words = decided[-1]
            match = (
                (question, f"is {option}"),
                (question, f"will be {option}"),
                (question, f"to {option}"),
            )
            grade: Literal[1, 2] = 2 if len(decided) > 1 else 1
            text = f"{question} is {option}."
            yield _need("decision", grade, "asked", text, match, [(name, words)])


def _corrections(
    session: LivedSession, earlier: Sequence[LivedSession]
) -> Iterator[Need]:
    """Yield what the user wanted otherwise in the parts at hand."""
    for part in dict.fromkeys(name for _, name, _ in session.parts):
        corrected = []
        for other in earlier:
            for name, technique, words in other.put_right:
                if name == part:
                    corrected.append((other.name, technique, words))
        if corrected:
            session_name, technique, words = corrected[-1]
            quote = words[0].upper() + words[1:]
            match = ((f"{part} uses {technique}",),)
            text = f"The user wants {technique} in {part}."
            yield _need("decision", 1, "asked", text, match, [(session_name, quote)])


def _places(session: LivedSession, earlier: Sequence[LivedSession]) -> Iterator[Need]:
    """Yield where the parts at hand are."""
    for part in dict.fromkeys(session.parts):
        _, name, path = part
        folder, slash, file = path.rpartition("/")
        for other in reversed(earlier):
            if part in other.parts:
                text = f"{name}: {path}."
                match = ((folder + slash, file),)
                evidence = [(other.name, path)]
                yield _need("location", 1, "asked", text, match, evidence)
                break
