"""What the briefing would have told the sessions that were recorded.

Three things are looked up at the start of a session, before it happened: the command by
which it then checked its work, the rules that the user then gave again, and the errors
that came back. Only what an earlier session holds is asked for. Where nothing of a kind
was needed often enough, no share is shown.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from theorex_lab.core.progress import bar
from theorex_lab.eval.metrics.needs import comparable
from theorex_lab.eval.tour.tables import TableRows, TourTable, counted
from theorex_lab.memory.briefing.candidates import PITFALLS, RULES, Candidate
from theorex_lab.memory.briefing.command_roles import BUILD, FORMAT, LINT, TEST
from theorex_lab.memory.briefing.commands import CommandUse, command_uses
from theorex_lab.memory.briefing.compose import start_lines
from theorex_lab.memory.briefing.pitfalls import Pitfall, recurring_pitfalls
from theorex_lab.memory.briefing.rule_sayings import Saying, sayings_of
from theorex_lab.memory.briefing.session_log import Session
from theorex_lab.text.wording import content_words, overlap

MOST_REPLAYED = 15
_FEWEST_REPLAYED = 5
# Of long histories fewer sessions are replayed, so that a tour takes about a minute: a
# replay reads all steps before it.
_STEPS_TO_READ = 60_000
_FEWEST_BEFORE = 5  # sessions that a replayed one comes after
FEWEST_TO_TELL = 5  # of a kind, below which no share is shown
_CHECKS = frozenset((BUILD, FORMAT, LINT, TEST))
_PLACEHOLDER = re.compile(r" <\w+>")
_SAME_RULE = 0.6  # share of the smaller set of words, as rules are grouped by
_FEWEST_SHARED = 2
_GIVEN_BY_USER = ("own", "repeated")
KINDS = {
    "command": "the command that then checked the work",
    "rule": "a rule that the user then gave again",
    "failure": "a failure that then came back",
}


class LookedUpNeed(NamedTuple):
    """One thing that a session turned out to need.

    Attributes:
        session: The session.
        kind: command, rule or failure.
        what: What was needed, as it stood in the session.
        in_briefing: Whether the briefing of its start said it.
        in_message: Whether the last message before it said it.
    """

    session: str
    kind: str
    what: str
    in_briefing: bool
    in_message: bool


@dataclass(frozen=True)
class MeasuredBriefings:
    """What the briefings of the replayed sessions told.

    Attributes:
        needs: What the sessions turned out to need.
        n_replayed: How many sessions were replayed.
        n_sessions: How many there are.
        tokens: The budget of a briefing.
    """

    needs: tuple[LookedUpNeed, ...]
    n_replayed: int
    n_sessions: int
    tokens: int

    def of_kind(self, kind: str) -> list[LookedUpNeed]:
        """Return the needs of a kind."""
        return [need for need in self.needs if need.kind == kind]

    @property
    def table(self) -> TourTable:
        """How many of the needs the briefing held, and the last message before it."""
        content = TableRows()
        for kind, what in KINDS.items():
            needs = self.of_kind(kind)
            if not needs:
                continue
            name = what
            if len(needs) < FEWEST_TO_TELL:
                name += " (too few to tell)"
            in_briefing = sum(need.in_briefing for need in needs)
            in_message = sum(need.in_message for need in needs)
            line = (
                f"{name}: needed {counted(len(needs), 'time')}, {in_briefing} of them in"
                f" the briefing, {in_message} in the last message before."
            )
            content.add(name, len(needs), in_briefing, in_message, line=line)
        return TourTable(
            key="measured",
            title=(
                f"What would the briefing have told the last {self.n_replayed} sessions?"
            ),
            lead=(
                f"Each was given what was known at its start, in {self.tokens} tokens."
                " What it then needed is counted where an earlier session holds it."
                " These are three kinds of needs of many: nothing is said of the"
                " others, nor of whether an agent would have used it."
            ),
            columns=(
                "what was needed",
                "times",
                "in the briefing",
                "in the last message before",
            ),
            content=content,
            nothing="None of these sessions needed what an earlier one holds.",
        )

    def result(self) -> dict[str, Any]:
        """Return the figures as values for JSON."""
        kinds = {}
        for kind in KINDS:
            needs = self.of_kind(kind)
            kinds[kind] = {
                "needed": len(needs),
                "briefing": sum(need.in_briefing for need in needs),
                "last_message": sum(need.in_message for need in needs),
            }
        return {
            "replayed": self.n_replayed,
            "of": self.n_sessions,
            "tokens": self.tokens,
            "kinds": kinds,
        }


def measure_briefings(
    sessions: Sequence[Session], *, tokens: int, progress: bool | None = None
) -> MeasuredBriefings | None:
    """Give the last sessions their briefings, and count what these told of the needs.

    Args:
        sessions: The sessions, by their start.
        tokens: The budget of a briefing.
        progress: Whether there is a bar (None: in a terminal or notebook).

    Returns:
        None where no session has five before it.
    """
    replayed = sessions[_FEWEST_BEFORE:][-_most_replayed(sessions) :]
    if not replayed:
        return None
    sayings = list(_rules_given(sessions))
    needs: list[LookedUpNeed] = []
    progress_bar = bar(
        len(replayed),
        unit="session",
        what="replay the last sessions",
        progress=progress,
    )
    for session in replayed:
        before = [other for other in sessions if other.end < session.start]
        if before:
            needs += _needs_of(session, before, sayings, tokens)
        progress_bar.update(1)
    progress_bar.close()
    return MeasuredBriefings(tuple(needs), len(replayed), len(sessions), tokens)


def _most_replayed(sessions: Sequence[Session]) -> int:
    """Return how many sessions are replayed of a history as long as this one."""
    n_steps = sum(len(session.steps) for session in sessions)
    affordable = _STEPS_TO_READ // max(n_steps, 1)
    return min(MOST_REPLAYED, max(_FEWEST_REPLAYED, affordable))


def _needs_of(
    session: Session,
    before: Sequence[Session],
    sayings: Sequence[Saying],
    tokens: int,
) -> list[LookedUpNeed]:
    """Return what a session needed of earlier ones, and whether it was told.

    Args:
        session: The session.
        before: Those that ended before it.
        sayings: What the user said of how to work, in all sessions.
        tokens: The budget of a briefing.
    """
    briefing = start_lines(before, session.start, tokens=tokens)
    message = _last_message(before)
    return [
        *_commands(session, before, briefing, message),
        *_rules(session, sayings, briefing, message),
        *_failures(session, before, briefing, message),
    ]


def _last_message(sessions: Sequence[Session]) -> str:
    """Return the last message of the session that ended last; '' for none."""
    latest = max(sessions, key=lambda session: session.end)
    messages = latest.messages
    return messages[-1].text if messages else ""


def _commands(
    session: Session,
    before: Sequence[Session],
    briefing: Iterable[Candidate],
    message: str,
) -> list[LookedUpNeed]:
    """Return the commands that checked the work of a session, one of each kind."""
    text_of_briefing = "\n".join(line.text for line in briefing)
    needs: list[LookedUpNeed] = []
    for command in _checks_of(session, before):
        # Who is told `pytest` can run it on one file.
        general = _PLACEHOLDER.sub("", command)
        in_briefing = _holds_any([text_of_briefing], [f"`{command}`", f"`{general}`"])
        in_message = _holds_any([message], [command, general])
        needs.append(
            LookedUpNeed(
                session.id,
                "command",
                command,
                in_briefing,
                in_message,
            )
        )
    return needs


def _checks_of(session: Session, before: Sequence[Session]) -> list[str]:
    """Return the commands that checked the work of a session, one of each kind.

    It is the one that was run most in the session among those that worked in an earlier
    one.
    """
    worked = {use.text for use in command_uses(before) if use.n_ok > 0}
    most_used: dict[str, CommandUse] = {}
    for use in command_uses([session]):
        if use.role not in _CHECKS or not use.sessions or use.text not in worked:
            continue
        best = most_used.get(use.role)
        if best is None or use.n_uses > best.n_uses:
            most_used[use.role] = use
    return [use.text for use in most_used.values()]


def _rules(
    session: Session,
    sayings: Sequence[Saying],
    briefing: Iterable[Candidate],
    message: str,
) -> list[LookedUpNeed]:
    """Return the rules that the user gave in a session and in an earlier one."""
    earlier: list[frozenset[str]] = []
    now: dict[frozenset[str], str] = {}
    for saying in sayings:
        if saying.session == session.id:
            now.setdefault(saying.words, saying.text)
        elif saying.at < session.start:
            earlier.append(saying.words)
    lines = [line.words for line in briefing if line.section == RULES]
    message_words = content_words(message)
    counted_words: list[frozenset[str]] = []
    needs: list[LookedUpNeed] = []
    for words, text in now.items():
        if not _is_among(words, earlier) or _is_among(words, counted_words):
            continue
        counted_words.append(words)
        needs.append(
            LookedUpNeed(
                session.id,
                "rule",
                text,
                _is_among(words, lines),
                words <= message_words,
            )
        )
    return needs


def _rules_given(sessions: Sequence[Session]) -> Iterable[Saying]:
    """Yield what the user said of how to work, in words of their own."""
    for saying in sayings_of(sessions):
        if saying.source in _GIVEN_BY_USER and saying.score > 0 and not saying.key:
            yield saying


def _is_among(words: frozenset[str], sayings: Iterable[frozenset[str]]) -> bool:
    """Return whether one of some sayings states a rule too, by its words."""
    for others in sayings:
        is_enough = len(words & others) >= _FEWEST_SHARED
        if is_enough and overlap(words, others) >= _SAME_RULE:
            return True
    return False


def _failures(
    session: Session,
    before: Sequence[Session],
    briefing: Iterable[Candidate],
    message: str,
) -> list[LookedUpNeed]:
    """Return the failures of a session that an earlier one had too."""
    earlier = {other.id for other in before}
    lines = [comparable(line.text) for line in briefing if line.section == PITFALLS]
    needs: list[LookedUpNeed] = []
    for pitfall in recurring_pitfalls([*before, session]).values():
        sessions = {call.tool.session for call in pitfall.occurrences}
        if session.id not in sessions or sessions.isdisjoint(earlier):
            continue
        complaints = _complaints(pitfall)
        needs.append(
            LookedUpNeed(
                session.id,
                "failure",
                pitfall.what_fails,
                _holds_any(lines, complaints),
                _holds_any([comparable(message)], complaints),
            )
        )
    return needs


def _complaints(pitfall: Pitfall) -> set[str]:
    """Return what a failure complained of, each time that it came."""
    complaints: set[str] = set()
    for call in pitfall.occurrences:
        if call.failure.complaint:
            complaints.add(comparable(call.failure.complaint))
    return complaints


def _holds_any(texts: Iterable[str], parts: Collection[str]) -> bool:
    """Return whether one of some texts holds one of some parts."""
    everything = "\n".join(texts)
    return any(part in everything for part in parts)
