"""What recorded sessions tell of a project: what was learnt, and where that stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from theorex_lab.eval.tour.tables import TourTable, counted, day
from theorex_lab.memory.briefing.candidates import COMMANDS, RULES, Candidate, bare_text
from theorex_lab.memory.briefing.cards import wish_in
from theorex_lab.memory.briefing.compose import kept_start_candidates
from theorex_lab.memory.briefing.pitfalls import recurring_pitfalls
from theorex_lab.memory.briefing.rule_sayings import is_imperative
from theorex_lab.memory.briefing.session_log import (
    Message,
    Prompt,
    Session,
    ToolUse,
    WordsOf,
)
from theorex_lab.text.statements import statements_in
from theorex_lab.text.wording import content_words, overlap

_MOST_LEARNT = 5  # rules, and as many commands
_MOST_ROWS = 15
_PLACES_OF_A_LINE = 2
_LONGEST_QUOTE = 160  # characters
# Requests are the same where they share this part of the shorter one's words.
_SAME_REQUEST = 0.75
_FEWEST_SHARED = 3
_FEWEST_SESSIONS = 3
_LONGEST_TYPED = 300  # characters of a prompt that was surely typed
_TEMPLATE_KINDS = ("slash", "template")


@dataclass(frozen=True)
class SessionFindings:
    """What recorded sessions tell.

    Attributes:
        sessions: The sessions, by their start.
        now: The time of the tour (µs UTC).
    """

    sessions: Sequence[Session]
    now: int

    @property
    def tables(self) -> list[TourTable]:
        """The tables of what was found, the most telling first."""
        return [self.learnt, self.failures, self.asked_again, self.files]

    @property
    def learnt(self) -> TourTable:
        """The rules and commands that were learnt, with the places they rest on."""
        candidates = kept_start_candidates(self.sessions, self.now)
        places = _Places(self.sessions)
        rows: list[tuple[str | int, ...]] = []
        lines: list[str] = []
        for section, what in ((RULES, "rule"), (COMMANDS, "command")):
            best = [line for line in candidates if line.section == section]
            best.sort(key=lambda line: -line.weight)
            for line in best[:_MOST_LEARNT]:
                quotes = places.quotes_for(line)
                text = bare_text(line.text)
                why = _sentence(line.why)
                rows.append((what, text, day(line.at), why, quotes))
                lines.append(f"{text}. {why}\n  {quotes}")
        return TourTable(
            key="learnt",
            title="Which rules and commands does the memory hold?",
            lead=(
                "Each rests on the places beside it. What is wrong can be taken out:"
                " `theorex briefing --why` names the lines, `theorex dismiss` and"
                " `theorex correct` change them."
            ),
            columns=("what", "text", "last", "why", "where it stands"),
            rows=tuple(rows),
            lines=tuple(lines),
            nothing="No rule and no command was told or run often enough.",
            shown=2 * _MOST_LEARNT,
        )

    @property
    def failures(self) -> TourTable:
        """The failures that came back in another session, and what helped."""
        recurring = sorted(
            recurring_pitfalls(self.sessions).values(),
            key=lambda pitfall: (-pitfall.n_sessions, -pitfall.newest.tool.at),
        )
        rows: list[tuple[str | int, ...]] = []
        lines: list[str] = []
        for pitfall in recurring[:_MOST_ROWS]:
            calls = pitfall.occurrences
            remedy = pitfall.what_helps or "nothing surely helped"
            first, last = day(calls[0].tool.at), day(calls[-1].tool.at)
            n_sessions = pitfall.n_sessions
            rows.append(
                (pitfall.what_fails, n_sessions, len(calls), first, last, remedy)
            )
            lines.append(
                f"{pitfall.what_fails}: {counted(len(calls), 'time')} in"
                f" {counted(n_sessions, 'session')}, {first} to {last}. {_sentence(remedy)}"
            )
        return TourTable(
            key="failures",
            title="Which failures came back, and what helped?",
            lead=(
                "The same program with the same complaint, in at least two sessions. A"
                " cure is told only where it is near to what failed."
            ),
            columns=("what fails", "sessions", "times", "first", "last", "what helps"),
            rows=tuple(rows),
            lines=tuple(lines),
            nothing="No failure came back in another session.",
        )

    @property
    def asked_again(self) -> TourTable:
        """What the user asked for in several sessions."""
        rows: list[tuple[str | int, ...]] = []
        lines: list[str] = []
        groups = sorted(
            _requests(self.sessions),
            key=lambda group: (-len(group.sessions), -group.last_at),
        )
        for group in groups[:_MOST_ROWS]:
            if len(group.sessions) < _FEWEST_SESSIONS:
                break
            first, last = day(group.first_at), day(group.last_at)
            rows.append((group.text, len(group.sessions), first, last, group.how))
            lines.append(
                f"“{group.text}” in {len(group.sessions)} sessions, {first} to {last}"
                f" ({group.how})."
            )
        return TourTable(
            key="asked_again",
            title="What was asked again and again?",
            lead=(
                "Requests in at least three sessions. What is asked in the same words"
                " can be a command of the agent, or a line of its instructions."
            ),
            columns=("request", "sessions", "first", "last", "how"),
            rows=tuple(rows),
            lines=tuple(lines),
            nothing="Nothing was asked in three sessions or more.",
        )

    @property
    def files(self) -> TourTable:
        """The files that the sessions edited most."""
        sessions_of: dict[str, list[Session]] = {}
        n_edits: Counter[str] = Counter()
        for session in self.sessions:
            edits = [path for tool in session.tools for path in tool.edits]
            n_edits.update(edits)
            for path in dict.fromkeys(edits):
                sessions_of.setdefault(path, []).append(session)
        rows: list[tuple[str | int, ...]] = []
        lines: list[str] = []
        for path, sessions in sorted(
            sessions_of.items(), key=lambda item: (-len(item[1]), item[0])
        )[:_MOST_ROWS]:
            first, last = day(sessions[0].start), day(sessions[-1].end)
            rows.append((path, len(sessions), n_edits[path], first, last))
            lines.append(
                f"{path}: {counted(n_edits[path], 'edit')} in"
                f" {counted(len(sessions), 'session')}, {first} to {last}."
            )
        return TourTable(
            key="files",
            title="Which files do the sessions return to?",
            lead="Files by the number of sessions that edited them.",
            columns=("file", "sessions", "edits", "first", "last"),
            rows=tuple(rows),
            lines=tuple(lines),
        )


class _Places:
    """Finds what the events that a line rests on say.

    Args:
        sessions: The sessions.
    """

    def __init__(self, sessions: Iterable[Session]) -> None:
        self._steps: dict[str, Prompt | Message | ToolUse] = {}
        for session in sessions:
            for step in session.steps:
                self._steps[step.event] = step

    def quotes_for(self, line: Candidate) -> str:
        """Return what stands at the newest places of a line, each with its day."""
        quotes: dict[str, str] = {}
        for step in self._steps_of(line):
            quote = _nearest_words(step, line.words)
            if quote:
                quotes.setdefault(quote, f"{day(step.at)}: “{quote}”")
        return "; ".join(list(quotes.values())[:_PLACES_OF_A_LINE])

    def _steps_of(self, line: Candidate) -> list[Prompt | Message | ToolUse]:
        """Return the steps of a line, newest first."""
        steps = [self._steps[event] for event in line.events if event in self._steps]
        return sorted(steps, key=lambda step: -step.at)


def _nearest_words(step: Prompt | Message | ToolUse, words: frozenset[str]) -> str:
    """Return the sentence of a step that shares most words; of a call its command."""
    if isinstance(step, ToolUse):
        return _cut(step.command)
    best, highest = "", 0
    for statement in statements_in(step.text):
        shared = len(content_words(statement.text) & words)
        if shared > highest:
            best, highest = statement.text, shared
    return _cut(best)


def _cut(text: str) -> str:
    """Return the beginning of a text, on one line."""
    line = " ".join(text.split())
    if len(line) <= _LONGEST_QUOTE:
        return line
    start, _, _ = line[:_LONGEST_QUOTE].rpartition(" ")
    return f"{start} …"


def _sentence(text: str) -> str:
    """Return a text as a sentence, with a capital and a stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


@dataclass
class _Request:
    """What was asked, over all sessions.

    Attributes:
        text: How it was put first.
        words: Its content words.
        texts: All wordings.
        sessions: The sessions in which it was asked.
        first_at: When it was first asked (µs UTC).
        last_at: When it was last asked (µs UTC).
    """

    text: str
    words: frozenset[str]
    texts: set[str] = field(default_factory=set)
    sessions: set[str] = field(default_factory=set)
    first_at: int = 0
    last_at: int = 0

    @property
    def how(self) -> str:
        """Whether it was asked in the same words."""
        if len(self.texts) == 1:
            return "in the same words"
        return f"in {len(self.texts)} wordings"

    def note(self, text: str, prompt: Prompt) -> None:
        """Take in that a prompt asks it."""
        self.texts.add(text)
        self.sessions.add(prompt.session)
        self.first_at = min(self.first_at or prompt.at, prompt.at)
        self.last_at = max(self.last_at, prompt.at)

    def likeness(self, words: frozenset[str]) -> float:
        """Return how like other words are, 0 for another request."""
        if len(words & self.words) < _FEWEST_SHARED:
            return 0.0
        likeness = overlap(words, self.words)
        return likeness if likeness >= _SAME_REQUEST else 0.0


def _requests(sessions: Iterable[Session]) -> list[_Request]:
    """Return what was asked, each request once, in the order of the first asking."""
    groups: list[_Request] = []
    for session in sessions:
        for prompt in session.prompts:
            for text in _asked(prompt):
                words = content_words(text)
                group = max(
                    groups, key=lambda group: group.likeness(words), default=None
                )
                if group is None or not group.likeness(words):
                    group = _Request(text, words)
                    groups.append(group)
                group.note(text, prompt)
    return groups


def _asked(prompt: Prompt) -> list[str]:
    """Return what a prompt asks for, as lines.

    Of a template, and of what a slash command became, it is the first request that is
    the same each time: the rest was filled in.
    """
    if prompt.kind in _TEMPLATE_KINDS:
        return _wishes(prompt, ("repeated", "template"))[:1]
    if prompt.kind != "own" or not prompt.trusted:
        return []
    # A line that returns in a long prompt was pasted.
    is_typed = len(prompt.text) <= _LONGEST_TYPED
    return _wishes(prompt, ("own", "repeated") if is_typed else ("own",))


def _wishes(prompt: Prompt, words_of: Collection[WordsOf]) -> list[str]:
    """Return the requests among the statements of a prompt that hold such words."""
    wishes = []
    for statement, whose in prompt.statements:
        wish = wish_in(statement.text) if whose in words_of else ""
        if wish and is_imperative(wish):
            wishes.append(_cut(wish))
    return wishes
