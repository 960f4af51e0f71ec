"""What failed in earlier sessions, and what helped.

Failures are the same where the program and the complaint are, but for numbers, paths
and quotations. A cure is only told where it is near to what failed: the same program
with much the same words, a formatter after an error of format, an installation after a
missing module. A false cure is worse than none. Standard library only.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.memory.briefing.candidates import (
    PITFALLS,
    Candidate,
    fits_a_line,
)
from theorex_lab.memory.briefing.command_roles import (
    FORMAT,
    INSTALL,
    SCRIPT_RUNNERS,
    TEST,
    arguments_of,
    asks_for_help,
    general_text,
    is_everyday,
    is_general,
    program_of,
    role_of,
)
from theorex_lab.memory.briefing.commands import freshness, times_text
from theorex_lab.memory.briefing.session_log import Session, ToolUse
from theorex_lab.memory.briefing.tool_failures import (
    LONGEST_COMPLAINT,
    NEAR,
    Failure,
    command_likeness,
    cut_commands,
    failure_of,
)
from theorex_lab.text.shell_lines import SimpleCommand
from theorex_lab.text.wording import content_words

_CALLS_UNTIL_CURE = 8  # after a failure, among which a cure is sought
_LONGEST_SHOWN = 90  # characters of a command in a line
_MOST_EVENTS = 5
# How a complaint begins that only tells which tests failed: that is what tests are for.
_TEST_REPORT = lazy_pattern(
    r"\W*(?:FAILED\b|FAIL[: ]|--- FAIL|\d+ (?:tests? )?failed|Tests?: +\d+ failed"
    r"|not ok \d|test result: FAILED|AssertionError)"
)
_MOST_CANDIDATES = 25

# From which on a failure is worth a line without a cure.
_FEWEST_SESSIONS = 2
_FEWEST_TIMES = 3
# Weights: the sessions count less than their number, a cure counts more.
_SESSIONS_POWER = 0.7
_CURED_OFTEN = 1.5
_CURED_ONCE = 1.2
_UNCURED = 0.7
_ONCE = 0.5
_WEIGHT_OF_SCORE = 0.16
_LEAST_WEIGHT = 0.05
_MOST_WEIGHT = 0.45
_RANK_DECAY = 0.93


@dataclass(frozen=True, slots=True)
class _Hint:
    """What helps against a complaint that everybody knows.

    Attributes:
        complaint: The complaint.
        advice: What to do instead.
    """

    complaint: re.Pattern[str]
    advice: str


_HINTS = (
    _Hint(
        lazy_pattern(r"no matches found: (?:-[\w-]*=|\*\.)"),
        "quote the pattern, which the shell expands",
    ),
    _Hint(
        lazy_pattern(r"^=+ not found"),
        "quote a word that begins with =, which zsh expands",
    ),
    _Hint(
        lazy_pattern(
            r"exceeds (?:the )?maximum (?:allowed )?(?:tokens|size)|too large"
        ),
        "read the file in parts, or search in it",
    ),
    _Hint(
        lazy_pattern(r"^no such file or directory: \S+$"),
        "the shell may be in that folder already",
    ),
    _Hint(
        lazy_pattern(r"^illegal option|^invalid option|^unrecognized option"),
        "the system's own variant of the tool has no such option",
    ),
)
# Complaints of the agent's own tools: a user said no, an edit did not fit, an input was
# not one of the tool's. They tell nothing of the project.
_AGENTS_OWN = lazy_pattern(
    r"""
      doesn't[ ]want[ ]to | user[ ](?:rejected|denied|declined) | has[ ]not[ ]been[ ]read
    | [Ss]tring[ ]to[ ]replace | [Ff]ile[ ]has[ ]been[ ](?:modified|unexpectedly)
    | no[ ]changes[ ]to[ ]make | old_string | InputValidationError | Cancelled
    | [Ff]ile[ ]does[ ]not[ ]exist | permission[ ]to[ ]use | was[ ]interrupted
    | sibling[ ]tool[ ]call | requested[ ]permissions
    """,
    re.VERBOSE,
)
# What a test says that fails as it should.
_EXPECTATION = lazy_pattern(r"\b(?:expect\w*|received|should|want)\b", re.I)
# What a program does not know, as the complaint quotes it.
_UNKNOWN = lazy_pattern(
    r"(?:[Uu]nknown|[Uu]nrecognized|not found|[Nn]o such|[Ii]nvalid)\b[^\"'`]{0,20}"
    r"[\"'`]([^\"'`]+)[\"'`]"
)
# A file that is not where one looked for it.
_MISSING_FILE = lazy_pattern(
    r"[Nn]o such file or directory|cannot access|ENOENT|[Nn]ot a directory"
    r"|[Ii]s a directory"
)
_MISSING_MODULE = lazy_pattern(
    r"[Cc]annot find (?:module|package)|[Nn]o module named|[Mm]odule not found"
    r"|ModuleNotFoundError|[Uu]nresolved import|missing go\.sum entry"
    r"|is not in (?:std|GOROOT)|no required module|[Pp]ackage .* not found"
    r"|could not find gem"
)


@dataclass(frozen=True, slots=True)
class _Cure:
    """What helped against a failure.

    Attributes:
        text: The command.
        is_instead: Whether it did what the failed one was for; else it made that work.
    """

    text: str
    is_instead: bool


@dataclass(frozen=True, slots=True)
class _FailedCall:
    """One call that failed.

    Attributes:
        tool: The call, without what it returned.
        failure: How it failed.
        cure: What helped; None where that cannot be told.
    """

    tool: ToolUse
    failure: Failure
    cure: _Cure | None


@dataclass
class Pitfall:
    """A failure, over all sessions.

    Attributes:
        occurrences: The calls that failed in this way, in order.
    """

    occurrences: list[_FailedCall] = field(default_factory=list)

    @property
    def newest(self) -> _FailedCall:
        """The call that failed last."""
        return self.occurrences[-1]

    @property
    def shown(self) -> _FailedCall:
        """The call that is shown: the last of those with the usual cure and complaint."""
        cure = self.cure
        usual = [call for call in self.occurrences if call.cure == cure]
        complaints = Counter(call.failure.complaint for call in usual)
        complaint, _ = complaints.most_common(1)[0]
        shown = [call for call in usual if call.failure.complaint == complaint]
        return shown[-1]

    @property
    def cures(self) -> Counter[_Cure]:
        """What helped, by how often."""
        cures = [occurrence.cure for occurrence in self.occurrences]
        return Counter(cure for cure in cures if cure is not None)

    @property
    def cure(self) -> _Cure | None:
        """What helped most often; None where nothing surely did."""
        best = self.cures.most_common(1)
        return best[0][0] if best else None

    @property
    def hint(self) -> str:
        """What is known to help; '' for nothing."""
        for hint in _HINTS:
            if hint.complaint.search(self.shown.failure.complaint):
                return hint.advice
        return ""

    @property
    def what_fails(self) -> str:
        """The command and what it complained of, in words."""
        failure = self.shown.failure
        shown = failure.shown
        if failure.command is not None:
            shown = general_text(failure.command)
        if not failure.is_of_tool:
            shown = f"`{_shortened(shown)}`"
        return f"{shown} fails with “{failure.shown_complaint(LONGEST_COMPLAINT)}”"

    @property
    def what_helps(self) -> str:
        """What to do instead, or what helped, in words; '' where that is not known."""
        if self.hint:
            return self.hint
        if self.cure is None:
            return ""
        verb = "worked" if self.cure.is_instead else "helped"
        return f"`{_shortened(self.cure.text)}` {verb}"

    @property
    def n_sessions(self) -> int:
        """In how many sessions it failed."""
        return len({occurrence.tool.session for occurrence in self.occurrences})

    @property
    def is_repeated(self) -> bool:
        """Whether it is worth a line without a cure."""
        is_of_several = self.n_sessions >= _FEWEST_SESSIONS
        return is_of_several or len(self.occurrences) >= _FEWEST_TIMES

    @property
    def times(self) -> str:
        """In how many sessions it failed, and when last."""
        return times_text(self.n_sessions, self.newest.tool.at)


def pitfall_candidates(sessions: Sequence[Session], now: int) -> list[Candidate]:
    """Return the lines on what failed and what helped, the best first.

    Args:
        sessions: The sessions so far.
        now: The time (µs UTC).
    """
    formatters = _general_formatters(sessions)
    successes = _last_successes(sessions)
    scored: list[tuple[float, Pitfall]] = []
    for pitfall in _pitfalls(sessions, formatters).values():
        if _is_worth(pitfall) and not _works_now(pitfall, successes):
            scored.append((_score(pitfall, now), pitfall))
    scored.sort(key=lambda entry: (-entry[0], entry[1].newest.failure.shown))
    candidates: list[Candidate] = []
    for score, pitfall in scored:
        text = _text(pitfall)
        if fits_a_line(text):
            rank = len(candidates)
            candidates.append(_candidate(pitfall, text, score, rank, now))
        if len(candidates) == _MOST_CANDIDATES:
            break
    return candidates


def recurring_pitfalls(
    sessions: Sequence[Session],
) -> dict[tuple[str, str], Pitfall]:
    """Return the failures that are worth a line and came in at least two sessions.

    They are told whether or not they would come again today.

    Args:
        sessions: The sessions so far.

    Returns:
        The failures by the program and what it complained of.
    """
    recurring = {}
    for key, pitfall in _pitfalls(sessions, _general_formatters(sessions)).items():
        if pitfall.n_sessions >= _FEWEST_SESSIONS and _is_worth(pitfall):
            recurring[key] = pitfall
    return recurring


def _general_formatters(sessions: Iterable[Session]) -> dict[str, str]:
    """Return by program the command that last formatted the whole project."""
    formatters: dict[str, str] = {}
    for tool in _trusted_calls(sessions):
        if tool.ok is False:
            continue
        for command in cut_commands(tool.command):
            is_formatter = role_of(command.words) == FORMAT and command.is_whole
            if is_formatter and is_general(command.words):
                formatters[program_of(command.words)] = command.text
    return formatters


class _Success(NamedTuple):
    """When a command last succeeded (µs UTC), and in which session."""

    at: int
    session: str


def _last_successes(sessions: Iterable[Session]) -> dict[str, _Success]:
    """Return by command, as it is shown, when it last succeeded."""
    successes: dict[str, _Success] = {}
    for tool in _trusted_calls(sessions):
        success = _Success(tool.at, tool.session)
        for command in _succeeded_commands(tool):
            successes[general_text(command)] = success
    return successes


def _works_now(pitfall: Pitfall, successes: dict[str, _Success]) -> bool:
    """Return whether what failed has succeeded in a later session.

    What only fails until something else was done, such as formatting, still does.
    """
    occurrence = pitfall.shown
    failed_command = occurrence.failure.command
    is_recurrent = occurrence.cure is not None and not occurrence.cure.is_instead
    if failed_command is None or pitfall.hint or is_recurrent:
        return False
    success = successes.get(general_text(failed_command))
    if success is None:
        return False
    newest = pitfall.newest.tool
    return success.at > newest.at and success.session != newest.session


def _trusted_calls(sessions: Iterable[Session]) -> Iterator[ToolUse]:
    """Yield the calls of sessions that were captured, not imported."""
    for session in sessions:
        for tool in session.tools:
            if tool.trusted:
                yield tool


def _pitfalls(
    sessions: Iterable[Session], formatters: dict[str, str]
) -> dict[tuple[str, str], Pitfall]:
    """Return what failed, with its cures, by the program and what it complained of."""
    pitfalls: dict[tuple[str, str], Pitfall] = {}
    for session in sessions:
        calls = list(_trusted_calls([session]))
        for index, tool in enumerate(calls):
            failure = failure_of(tool)
            if failure is None or not _is_of_project(failure):
                continue
            name, _, _ = failure.program.partition(" ")
            key = (name, failure.signature)
            later_calls = calls[index + 1 : index + 1 + _CALLS_UNTIL_CURE]
            cure = _cure_of(failure, later_calls, formatters)
            pitfall = pitfalls.setdefault(key, Pitfall())
            call = replace(tool, response="")
            pitfall.occurrences.append(_FailedCall(call, failure, cure))
    return pitfalls


def _is_of_project(failure: Failure) -> bool:
    """Return whether a failure tells how to work here, not how the work stands."""
    if failure.is_of_work or _AGENTS_OWN.search(failure.complaint):
        return False
    command = failure.command
    if command is None:
        return True
    is_of_test = role_of(command.words) == TEST
    if is_of_test and _EXPECTATION.search(failure.complaint):
        return False
    is_looking = is_everyday(command.words)
    return not (is_looking and _MISSING_FILE.search(failure.complaint))


def _cure_of(
    failure: Failure, later_calls: Iterable[ToolUse], formatters: dict[str, str]
) -> _Cure | None:
    """Return what surely helped against a failure; None where nothing did.

    Args:
        failure: The failure.
        later_calls: The calls after it.
        formatters: By program the command that formats the whole project.
    """
    if failure.command is None:
        return None
    helpers: list[SimpleCommand] = []
    for tool in later_calls:
        commands = _succeeded_commands(tool)
        retries = [command for command in commands if _is_retry(command, failure)]
        helpers += [command for command in commands if _may_help(command, failure)]
        if retries:
            return _cure_by(failure, failure.command, retries, helpers, formatters)
    return None


def _succeeded_commands(tool: ToolUse) -> tuple[SimpleCommand, ...]:
    """Return the commands of a call; none where it failed."""
    has_failed = tool.ok is False or failure_of(tool) is not None
    if has_failed or not tool.command:
        return ()
    return cut_commands(tool.command)


def _is_retry(command: SimpleCommand, failure: Failure) -> bool:
    """Return whether a command does something with the program that failed."""
    if not command.is_whole or asks_for_help(command.words):
        return False
    program = program_of(command.words)
    if program == failure.program:
        return True
    name, _, _ = program.partition(" ")
    failed_name, _, _ = failure.program.partition(" ")
    if role_of(command.words) == INSTALL:
        return False
    return name == failed_name and name in SCRIPT_RUNNERS


def _may_help(command: SimpleCommand, failure: Failure) -> bool:
    """Return whether a command can have made another work."""
    role = role_of(command.words)
    if failure.is_of_format:
        return role == FORMAT
    is_of_module = _MISSING_MODULE.search(failure.complaint) is not None
    return role == INSTALL and is_of_module


def _cure_by(
    failure: Failure,
    failed_command: SimpleCommand,
    retries: Sequence[SimpleCommand],
    helpers: Sequence[SimpleCommand],
    formatters: dict[str, str],
) -> _Cure | None:
    """Return what made the program succeed; None where that cannot be told."""
    failed_words = failed_command.words
    nearest = max(
        retries, key=lambda retry: command_likeness(retry.words, failed_words)
    )
    text = general_text(nearest)
    is_same = text == general_text(failed_command)
    if helpers and (is_same or failure.is_of_format):
        helper = helpers[-1]
        general = formatters.get(program_of(helper.words), "")
        return _Cure(general or general_text(helper), is_instead=False)
    if is_same or failure.is_of_format:
        return None
    is_near = command_likeness(nearest.words, failed_words) >= NEAR
    if not is_near or not _has_same_aim(nearest.words, failed_words):
        return None
    if _names_unknown(nearest.words, failure.complaint):
        return None
    return _Cure(text, is_instead=True)


def _names_unknown(words: tuple[str, ...], complaint: str) -> bool:
    """Return whether a command still names what the complaint says is unknown."""
    unknown = _UNKNOWN.search(complaint)
    return unknown is not None and unknown[1] in words


def _has_same_aim(words: tuple[str, ...], failed_words: tuple[str, ...]) -> bool:
    """Return whether a command is asked for what the failed one was asked for.

    The first argument says that, where it is a plain word such as `start`.
    """
    arguments = arguments_of(failed_words)
    if not arguments or not arguments[0].isalpha():
        return True
    return arguments[0] in words


def _is_worth(pitfall: Pitfall) -> bool:
    """Return whether a failure is worth a line."""
    if _TEST_REPORT.match(pitfall.shown.failure.complaint):
        return False
    if pitfall.hint:
        return pitfall.is_repeated
    failure = pitfall.shown.failure
    if failure.command is None:
        is_absent_program = failure.complaint == "command not found"
        return is_absent_program and pitfall.is_repeated
    if is_everyday(failure.command.words):
        return pitfall.is_repeated and pitfall.cure is not None
    return pitfall.is_repeated or pitfall.cure is not None


def _score(pitfall: Pitfall, now: int) -> float:
    """Return how much it is worth to know a failure."""
    freshness_now = freshness(pitfall.newest.tool.at, now)
    score = math.pow(pitfall.n_sessions, _SESSIONS_POWER) * freshness_now
    n_cured = max(pitfall.cures.values(), default=0)
    if n_cured > 1:
        score *= _CURED_OFTEN
    elif n_cured == 1 or pitfall.hint:
        score *= _CURED_ONCE
    else:
        score *= _UNCURED
    return score if pitfall.is_repeated else score * _ONCE


def _text(pitfall: Pitfall) -> str:
    """Return the line on a failure."""
    line = pitfall.what_fails
    if pitfall.what_helps:
        line += f"; {pitfall.what_helps}"
    return f"{line} ({pitfall.times})."


def _shortened(text: str) -> str:
    """Return a command that is shown, its end left out where it is long."""
    if len(text) <= _LONGEST_SHOWN:
        return text
    start, _, _ = text[:_LONGEST_SHOWN].rpartition(" ")
    return f"{start} …"


def _candidate(
    pitfall: Pitfall, text: str, score: float, rank: int, now: int
) -> Candidate:
    """Return the candidate of a line on a failure."""
    weight = min(_MOST_WEIGHT, max(_LEAST_WEIGHT, _WEIGHT_OF_SCORE * score))
    events = [occurrence.tool.event for occurrence in pitfall.occurrences]
    newest = pitfall.newest.tool
    return Candidate(
        section=PITFALLS,
        kind="pitfall",
        text=text,
        weight=weight * _RANK_DECAY**rank,
        at=newest.at,
        session=newest.session,
        words=content_words(text),
        events=tuple(events[-_MOST_EVENTS:]),
        why=f"it failed {len(events)} times, in {pitfall.times}",
        features={
            "score": score,
            "sessions": math.log2(1 + pitfall.n_sessions),
            "cured": float(pitfall.cure is not None),
            "hint": float(bool(pitfall.hint)),
            "recency": freshness(newest.at, now),
            "rank": float(rank),
        },
    )
