"""The commands that work in a project, by what they are for.

They are mined from the agent's tool calls: what was run in many sessions, lately, and
succeeded. Where a session's calls were not recorded, the commands that the agent's
messages tell stand in for them and count less. Standard library only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.memory.briefing.candidates import (
    COMMANDS,
    Candidate,
    fits_a_line,
    short_date,
)
from theorex_lab.memory.briefing.command_roles import (
    BUILD,
    CHECK_ROLES,
    FORMAT,
    INSTALL,
    LINT,
    REVIEW,
    RUN,
    TEST,
    asks_for_help,
    general_text,
    general_words,
    is_everyday,
    is_general,
    program_of,
    role_of,
)
from theorex_lab.memory.briefing.line_features import with_capital
from theorex_lab.memory.briefing.session_log import Message, Session, ToolUse
from theorex_lab.memory.briefing.tool_failures import (
    NEAR,
    Failure,
    command_likeness,
    cut_commands,
    failure_of,
)
from theorex_lab.text.shell_lines import SimpleCommand
from theorex_lab.text.wording import content_words

_DAY = 86_400_000_000  # µs
_HALF_LIFE = 30 * _DAY  # of how much the last use counts
_LONGEST_COMMAND = 110  # characters of a command that is worth a line
_LONGEST_OF_CHECK = 70  # characters of a command in the line of checks
_PROGRAM = lazy_pattern(r"[A-Za-z_.~][\w./+@-]*")
_MOST_EVENTS = 5  # that a line names

# What a command that only a message tells counts, against one that was run.
_TOLD_USE = 0.3
_TOLD_SESSION = 0.4
# Uses that are taken for granted, so that a single success is no certainty.
_PRIOR_OK = 0.3
_PRIOR_USES = 0.6
_FEWEST_OK = 0.3
_OPEN_OK = 0.5  # of a call whose event does not say how it ended
# A command's weight does not vanish with its age.
_AGED = 0.25
_FRESH = 0.5
# A command that names one file, against one of the whole project.
_SINGLE_FILE = 1 / 1.8
# A general command stands for its role from this share of the best score on.
_GENERAL_SHARE = 0.15
# Commands with this share of the best score are equals: the newest is shown.
_EQUAL_SHARE = 0.8
# A folder is named where this share of the sessions that name any entered it.
_FOLDER_SHARE = 0.5
_FOLDER_SESSIONS = 2
# Singles, in which order they are worth a line.
_MOST_SINGLES = 3
_WITHOUT_ROLE = 0.7
_PAIR_BONUS = 2.0
_CHECK_WEIGHT = 0.75
_SINGLE_WEIGHT = 0.22
_SINGLE_DECAY = 0.8
_OFTEN_SESSIONS = 3  # from which on a command of no role is worth a line
_FEW_SESSIONS = 3  # below which a single use is all that there can be
_FAILED_TIMES = 2  # from which on a variant is told to fail
_LONGEST_REASON = 70  # characters of why it fails

_TITLES = {
    FORMAT: "Format with",
    LINT: "Lint with",
    BUILD: "Build with",
    TEST: "Test with",
    RUN: "Run with",
    INSTALL: "Install dependencies with",
    REVIEW: "Review with",
    "": "Often run:",
}
_SPAN = lazy_pattern(r"`([^`\n]{4,90})`")
_BLOCK = lazy_pattern(r"```(?:bash|sh|shell|zsh|console)\n(.*?)```", re.DOTALL)
_PROMPT_SIGN = lazy_pattern(r"^[$❯%]\s+")
_LONGEST_TOLD = 100


@dataclass
class CommandUse:
    """How one command was used, over all sessions.

    Attributes:
        text: The command as it is shown.
        words: Its words, those of one file and the like replaced by marks.
        n_uses: How often it was run; a telling counts less.
        n_ok: How often it succeeded.
        sessions: The sessions in which it was run.
        told_sessions: The sessions in which a message told it.
        last: When it was last run or told (µs UTC).
        last_ok: When it last succeeded (µs UTC).
        last_session: The session of that.
        folders: By folder the sessions that ran it there.
        events: The ids of the events of its last uses, in order.
        failures: How it failed, in order.
    """

    text: str
    words: tuple[str, ...]
    n_uses: float = 0.0
    n_ok: float = 0.0
    sessions: set[str] = field(default_factory=set)
    told_sessions: set[str] = field(default_factory=set)
    last: int = 0
    last_ok: int = 0
    last_session: str = ""
    folders: dict[str, set[str]] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    @property
    def role(self) -> str:
        """What it is for."""
        return role_of(self.words)

    @property
    def n_sessions(self) -> int:
        """In how many sessions it was run or told."""
        return len(self.sessions | self.told_sessions)

    @property
    def success(self) -> float:
        """The share of its uses that succeeded, drawn to the middle."""
        n_ok = self.n_ok + _PRIOR_OK
        n_uses = self.n_uses + _PRIOR_USES
        return n_ok / n_uses

    def score(self, now: int) -> float:
        """Return how much it is worth to know the command at a time (µs UTC)."""
        n_only_told = len(self.told_sessions - self.sessions)
        n_sessions = len(self.sessions) + _TOLD_SESSION * n_only_told
        score = n_sessions * self.success * freshness(self.last, now)
        if not is_general(self.words):
            score *= _SINGLE_FILE
        return score


def freshness(at: int, now: int) -> float:
    """Return what a use at a time still counts, 0.25..0.75."""
    age = max(0, now - at)
    recency = math.exp2(-age / _HALF_LIFE)
    return _AGED + _FRESH * recency


def command_candidates(sessions: Sequence[Session], now: int) -> list[Candidate]:
    """Return the lines on commands: how to check a change, and at most three others.

    Args:
        sessions: The sessions so far.
        now: The time (µs UTC).
    """
    uses = command_uses(sessions)
    working = [use for use in uses if use.n_ok >= _FEWEST_OK]
    checks = _checks(
        working,
        len(sessions),
        now,
    )
    candidates: list[Candidate] = []
    if checks:
        check = _check_candidate(checks, now)
        candidates.append(check)
    candidates += _singles(
        uses,
        checks,
        now,
    )
    return candidates


def command_uses(sessions: Iterable[Session]) -> list[CommandUse]:
    """Return how each command of the project was used, from trusted steps alone.

    Commands that differ in one file, test or number are listed as one, with a
    placeholder.
    """
    uses: dict[str, CommandUse] = {}
    for session in sessions:
        for step in session.steps:
            if isinstance(step, ToolUse) and step.trusted:
                _note_run(uses, step)
            elif isinstance(step, Message) and step.trusted:
                _note_told(uses, step)
    return list(uses.values())


def _note_run(uses: dict[str, CommandUse], tool: ToolUse) -> None:
    """Note the commands of a call."""
    if not tool.command:
        return
    failure = failure_of(tool)
    for command in cut_commands(tool.command):
        if command.reads_pipe or not _is_of_project(command):
            continue
        use = _use_of(uses, command)
        use.n_uses += 1
        use.sessions.add(tool.session)
        _note_time(use, tool)
        use.n_ok += _ok_of(
            tool,
            failure,
            use,
        )
        if command.folder:
            use.folders.setdefault(command.folder, set()).add(tool.session)


def _ok_of(
    tool: ToolUse,
    failure: Failure | None,
    use: CommandUse,
) -> float:
    """Return how surely a command of a call succeeded; note how it failed."""
    if failure is not None:
        command = failure.command
        if command is not None and general_words(command.words) == use.words:
            use.failures.append(failure)
        return 0.0
    if tool.ok is False:
        return 0.0
    use.last_ok = max(use.last_ok, tool.at)
    return _OPEN_OK if tool.ok is None else 1.0


def _note_told(uses: dict[str, CommandUse], message: Message) -> None:
    """Note the commands that a message tells, each once."""
    shown_texts: set[str] = set()
    for command in told_commands(message.text):
        use = _use_of(uses, command)
        if use.text in shown_texts:
            continue
        shown_texts.add(use.text)
        use.n_uses += _TOLD_USE
        use.n_ok += _TOLD_USE
        use.told_sessions.add(message.session)
        _note_time(use, message)


def _note_time(use: CommandUse, step: ToolUse | Message) -> None:
    """Note when a command was used."""
    if step.at >= use.last:
        use.last = step.at
        use.last_session = step.session
    use.events.append(step.event)
    del use.events[:-_MOST_EVENTS]


def _use_of(uses: dict[str, CommandUse], command: SimpleCommand) -> CommandUse:
    """Return the use of a command, which may be its first."""
    text = general_text(command)
    use = uses.get(text)
    if use is None:
        use = CommandUse(text, general_words(command.words))
        uses[text] = use
    return use


def _is_of_project(command: SimpleCommand) -> bool:
    """Return whether a command can be run again and is no everyday one."""
    words = command.words
    if not command.is_whole or len(command.text) > _LONGEST_COMMAND:
        return False
    if is_everyday(words) or asks_for_help(words):
        return False
    return _PROGRAM.fullmatch(words[0]) is not None


def told_commands(text: str) -> Iterator[SimpleCommand]:
    """Yield the commands with a role that a message tells, in code."""
    for block in _BLOCK.findall(text):
        for line in block.splitlines():
            line = _PROMPT_SIGN.sub("", line.strip())
            if len(line) <= _LONGEST_TOLD:
                yield from _with_role(line, fewest_words=1)
    for span in _SPAN.findall(text):
        if " " not in span:
            continue
        yield from _with_role(span, fewest_words=2)


def _with_role(line: str, fewest_words: int) -> Iterator[SimpleCommand]:
    """Yield the commands of a line that have a role and enough words."""
    for command in cut_commands(line):
        is_long_enough = len(command.words) >= fewest_words
        if is_long_enough and _is_of_project(command) and role_of(command.words):
            yield command


def _checks(
    uses: Sequence[CommandUse], n_sessions: int, now: int
) -> dict[str, CommandUse]:
    """Return by role the command that checks a change."""
    checks: dict[str, CommandUse] = {}
    for role in CHECK_ROLES:
        of_role = [
            use
            for use in uses
            if use.role == role and len(use.text) <= _LONGEST_OF_CHECK
        ]
        best = _best(of_role, now)
        if best is not None and _is_established(best, n_sessions):
            checks[role] = best
    return checks


def _best(uses: Sequence[CommandUse], now: int) -> CommandUse | None:
    """Return the command that stands for a role: a general one, the newest of equals."""
    general = [use for use in uses if is_general(use.words)]
    best_score = _best_score(uses, now)
    general_score = _best_score(general, now)
    if general and general_score >= _GENERAL_SHARE * best_score:
        uses = general
        best_score = general_score
    least_score = _EQUAL_SHARE * best_score
    equals = [use for use in uses if use.score(now) >= least_score]
    return max(
        equals,
        key=_recency_key,
        default=None,
    )


def _best_score(uses: Iterable[CommandUse], now: int) -> float:
    """Return the best score of some commands; 0 for none."""
    scores = [use.score(now) for use in uses]
    return max(scores, default=0.0)


def _recency_key(use: CommandUse) -> tuple[int, int]:
    """Return what sorts commands by when they last succeeded, then were used."""
    return use.last_ok, use.last


def _is_established(use: CommandUse, n_sessions: int) -> bool:
    """Return whether a command was used more than by chance."""
    if n_sessions < _FEW_SESSIONS:
        return True
    return use.n_sessions > 1 or use.n_uses >= 2


def _check_candidate(checks: Mapping[str, CommandUse], now: int) -> Candidate:
    """Return the line that says how to check a change."""
    uses = list(checks.values())
    parts: list[str] = []
    for role, use in checks.items():
        parts.append(f"{role} with `{use.text}`")
    what_to_do = "Check a change: " + ", ".join(parts)
    if len(parts) == 1:
        what_to_do = with_capital(parts[0])
    n_sessions = max(use.n_sessions for use in uses)
    last = max(use.last for use in uses)
    note = times_text(n_sessions, last)
    text = f"{what_to_do} ({note})."
    folder = _folder_of(uses)
    if folder:
        placed_text = f"{what_to_do}, in {folder}/ ({note})."
        if fits_a_line(placed_text):
            text = placed_text
    return _candidate(
        "check",
        text,
        _CHECK_WEIGHT,
        uses,
        now,
    )


def _folder_of(uses: Iterable[CommandUse]) -> str:
    """Return the folder in which the commands are mostly run; '' for none."""
    sessions_by_folder: dict[str, set[str]] = {}
    all_sessions: set[str] = set()
    for use in uses:
        for folder, sessions in use.folders.items():
            of_folder = sessions_by_folder.setdefault(folder, set())
            of_folder |= sessions
            all_sessions |= sessions
    for folder, sessions in sessions_by_folder.items():
        n_sessions = len(sessions)
        is_common = n_sessions > _FOLDER_SHARE * len(all_sessions)
        if is_common and n_sessions >= _FOLDER_SESSIONS:
            return folder
    return ""


def times_text(n_sessions: int, last: int) -> str:
    """Return in how many sessions something was seen, and when last."""
    sessions = "1 session" if n_sessions == 1 else f"{n_sessions} sessions"
    return f"{sessions}, last {short_date(last)}"


@dataclass(frozen=True, slots=True)
class _Single:
    """A command for a line of its own.

    Attributes:
        score: How much it is worth.
        use: The command.
        variant: One much like it that fails; None for none.
    """

    score: float
    use: CommandUse
    variant: CommandUse | None


def _singles(
    uses: Sequence[CommandUse], checks: Mapping[str, CommandUse], now: int
) -> list[Candidate]:
    """Return at most three lines, each on one command or on one and what fails."""
    checked = [program_of(use.words) for use in checks.values()]
    failing = [use for use in uses if _always_fails(use)]
    working = [use for use in uses if use.n_ok >= _FEWEST_OK]
    singles: list[_Single] = []
    for use in working:
        variant = _failing_variant(use, failing)
        is_shown = program_of(use.words) in checked
        is_news = _is_worth(use) and not is_shown
        if is_news or variant is not None:
            score = _single_score(
                use,
                variant,
                now,
            )
            single = _Single(
                score,
                use,
                variant,
            )
            singles.append(single)
    singles.sort(key=_rank_key)
    candidates = _single_candidates(singles, now)
    return list(candidates)


def _rank_key(single: _Single) -> tuple[float, str]:
    """Return what sorts lines from the best on, equals by their command."""
    return -single.score, single.use.text


def _single_score(
    use: CommandUse,
    variant: CommandUse | None,
    now: int,
) -> float:
    """Return how much a line of its own is worth to a command."""
    score = use.score(now)
    if variant is not None:
        score *= _PAIR_BONUS
    if not use.role:
        score *= _WITHOUT_ROLE
    return score


def _is_worth(use: CommandUse) -> bool:
    """Return whether a command is worth a line of its own."""
    if use.role in CHECK_ROLES and not is_general(use.words):
        return False
    if use.role:
        return use.n_sessions >= 2
    return len(use.sessions) >= _OFTEN_SESSIONS


def _always_fails(use: CommandUse) -> bool:
    """Return whether a command never worked, for what is not the work at hand."""
    if use.n_ok > 0 or len(use.failures) < _FAILED_TIMES:
        return False
    return not use.failures[-1].is_of_work


def _failing_variant(
    use: CommandUse, failing: Sequence[CommandUse]
) -> CommandUse | None:
    """Return the command much like another that always fails; None for none."""
    program = program_of(use.words)
    variants = [
        other
        for other in failing
        if program_of(other.words) == program
        if command_likeness(other.words, use.words) >= NEAR
    ]
    return max(
        variants,
        key=lambda variant: variant.n_uses,
        default=None,
    )


def _single_candidates(singles: Iterable[_Single], now: int) -> Iterator[Candidate]:
    """Yield the lines of the best commands, each of another program and role."""
    shown: set[str] = set()
    n_lines = 0
    for single in singles:
        program = program_of(single.use.words)
        role = single.use.role
        text = _single_text(single)
        is_repeated = program in shown or bool(role and role in shown)
        if is_repeated or not fits_a_line(text):
            continue
        shown |= {program, role}
        uses = [single.use]
        if single.variant is not None:
            uses.append(single.variant)
        weight = _SINGLE_WEIGHT * _SINGLE_DECAY**n_lines
        yield _candidate(
            role or "often",
            text,
            weight,
            uses,
            now,
        )
        n_lines += 1
        if n_lines == _MOST_SINGLES:
            return


def _single_text(single: _Single) -> str:
    """Return the line on a command."""
    use = single.use
    note = times_text(use.n_sessions, use.last)
    title = _TITLES[use.role]
    line = f"{title} `{use.text}`"
    variant = single.variant
    if variant is not None:
        failure = variant.failures[-1]
        complaint = failure.shown_complaint(_LONGEST_REASON)
        line += f"; `{variant.text}` fails: {complaint}"
    return f"{line} ({note})."


def _candidate(
    kind: str, text: str, weight: float, uses: Sequence[CommandUse], now: int
) -> Candidate:
    """Return the candidate of a line on some commands."""
    first = uses[0]
    newest = max(uses, key=lambda use: use.last)
    n_sessions = max(use.n_sessions for use in uses)
    events: list[str] = []
    for use in uses:
        events += use.events[-_MOST_EVENTS:]
    n_run = sum(len(use.sessions) for use in uses)
    source = "the agent ran" if n_run else "the agent's messages tell"
    return Candidate(
        section=COMMANDS,
        kind=kind,
        text=text,
        weight=weight,
        at=newest.last,
        session=newest.last_session,
        words=content_words(text),
        events=tuple(dict.fromkeys(events)),
        why=f"{source} it in {times_text(n_sessions, newest.last)}",
        features={
            "score": sum(use.score(now) for use in uses) / len(uses),
            "sessions": math.log2(1 + n_sessions),
            "success": first.success,
            "recency": freshness(newest.last, now),
            "check": float(kind == "check"),
            "told": float(n_run == 0),
        },
    )
