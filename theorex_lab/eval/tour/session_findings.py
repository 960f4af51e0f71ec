"""What recorded sessions tell of a project: what was learnt, and where that stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from theorex_lab.eval.tour.tables import TableRows, TourTable, counted, day
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
# What says that something is not there asks for nothing, as git's "No newline at end".
_DENIES = re.compile(r"no\b", re.IGNORECASE)
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
        content = TableRows()
        places = _Places(self.sessions)
        for what, line in self._best_lines():
            quotes = places.quotes_for(line)
            text = bare_text(line.text)
            why = _sentence(line.why)
            cells = (text, day(line.at), why, quotes)
            content.add(what, *cells, line=f"{text}. {why}\n  {quotes}")
        return TourTable(
            key="learnt",
            title="Which rules and commands does the memory hold?",
            lead=(
                "Each rests on the places beside it. What is wrong can be taken out:"
                " `theorex briefing --why` names the lines, `theorex dismiss` and"
                " `theorex correct` change them."
            ),
            columns=("what", "text", "last", "why", "where it stands"),
            content=content,
            nothing="No rule and no command was given or run often enough.",
            shown=2 * _MOST_LEARNT,
        )

    def _best_lines(self) -> list[tuple[str, Candidate]]:
        """Return the rules and the commands that weigh most, each with what it is."""
        candidates = kept_start_candidates(self.sessions, self.now)
        candidates.sort(key=lambda line: -line.weight)
        best: list[tuple[str, Candidate]] = []
        for section, what in ((RULES, "rule"), (COMMANDS, "command")):
            lines = [line for line in candidates if line.section == section]
            best += [(what, line) for line in lines[:_MOST_LEARNT]]
        return best

    @property
    def failures(self) -> TourTable:
        """The failures that came back in another session, and what helped."""
        content = TableRows()
        recurring = list(recurring_pitfalls(self.sessions).values())
        recurring.sort(key=lambda pitfall: -pitfall.newest.tool.at)
        recurring.sort(key=lambda pitfall: -pitfall.n_sessions)
        for pitfall in recurring[:_MOST_ROWS]:
            calls = pitfall.occurrences
            n_sessions = pitfall.n_sessions
            remedy = pitfall.what_helps or "nothing surely helped"
            first = day(calls[0].tool.at)
            last = day(calls[-1].tool.at)
            line = (
                f"{pitfall.what_fails}: {counted(len(calls), 'time')} in"
                f" {counted(n_sessions, 'session')}, {first} to {last}."
                f" {_sentence(remedy)}"
            )
            cells = (n_sessions, len(calls), first, last, remedy)
            content.add(pitfall.what_fails, *cells, line=line)
        return TourTable(
            key="failures",
            title="Which failures came back, and what helped?",
            lead=(
                "The same program with the same complaint, in at least two sessions. A"
                " cure is named only where it is near to what failed."
            ),
            columns=("what fails", "sessions", "times", "first", "last", "what helps"),
            content=content,
            nothing="No failure came back in another session.",
        )

    @property
    def asked_again(self) -> TourTable:
        """What the user asked for in several sessions."""
        content = TableRows()
        requests = []
        for request in _requests(self.sessions):
            if len(request.sessions) >= _FEWEST_SESSIONS:
                requests.append(request)
        requests.sort(key=lambda request: (-len(request.sessions), -request.last_at))
        for request in requests[:_MOST_ROWS]:
            n_sessions = len(request.sessions)
            first = day(request.first_at)
            last = day(request.last_at)
            line = (
                f"“{request.text}” in {n_sessions} sessions, {first} to {last}"
                f" ({request.how})."
            )
            content.add(request.text, n_sessions, first, last, request.how, line=line)
        return TourTable(
            key="asked_again",
            title="What was asked again and again?",
            lead=(
                "Requests in at least three sessions. What is asked in the same words"
                " can be a command of the agent, or a line of its instructions."
            ),
            columns=("request", "sessions", "first", "last", "how"),
            content=content,
            nothing="Nothing was asked in three sessions or more.",
        )

    @property
    def files(self) -> TourTable:
        """The files that the sessions edited most."""
        content = TableRows()
        for file in _edited_files(self.sessions)[:_MOST_ROWS]:
            n_sessions = len(file.sessions)
            first = day(file.first_at)
            last = day(file.last_at)
            line = (
                f"{file.path}: {counted(file.n_edits, 'edit')} in"
                f" {counted(n_sessions, 'session')}, {first} to {last}."
            )
            content.add(file.path, n_sessions, file.n_edits, first, last, line=line)
        return TourTable(
            key="files",
            title="Which files do the sessions return to?",
            lead="Files by the number of sessions that edited them.",
            columns=("file", "sessions", "edits", "first", "last"),
            content=content,
        )


@dataclass
class _EditedFile:
    """A file that sessions edited.

    Attributes:
        path: Its path.
        first_at: When it was first edited (µs UTC).
        last_at: When it was last edited (µs UTC).
        n_edits: How often.
        sessions: The sessions that did.
    """

    path: str
    first_at: int
    last_at: int = 0
    n_edits: int = 0
    sessions: set[str] = field(default_factory=set)


def _edited_files(sessions: Iterable[Session]) -> list[_EditedFile]:
    """Return the edited files, those of most sessions first."""
    files: dict[str, _EditedFile] = {}
    for session in sessions:
        for tool in session.tools:
            for path in tool.edits:
                file = files.setdefault(path, _EditedFile(path, tool.at))
                file.last_at = max(file.last_at, tool.at)
                file.n_edits += 1
                file.sessions.add(tool.session)
    return sorted(files.values(), key=lambda file: (-len(file.sessions), file.path))


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
    best = ""
    highest = 0
    for statement in statements_in(step.text):
        n_shared = len(content_words(statement.text) & words)
        if n_shared > highest:
            best = statement.text
            highest = n_shared
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
                group = _request_like(text, groups)
                if group is None:
                    group = _Request(text, content_words(text))
                    groups.append(group)
                group.note(text, prompt)
    return groups


def _request_like(text: str, requests: Iterable[_Request]) -> _Request | None:
    """Return the request that a text is most like; None for a new one."""
    words = content_words(text)
    nearest = None
    highest = 0.0
    for request in requests:
        likeness = request.likeness(words)
        if likeness > highest:
            nearest = request
            highest = likeness
    return nearest


def _asked(prompt: Prompt) -> list[str]:
    """Return what a prompt asks for, as lines.

    Of a template, and of what a slash command became, it is the first request that is
    the same each time: the rest was filled in.
    """
    if prompt.kind in _TEMPLATE_KINDS:
        return _wishes(prompt, "repeated", "template")[:1]
    if prompt.kind != "own" or not prompt.trusted:
        return []
    # A line that returns in a long prompt was pasted.
    if len(prompt.text) <= _LONGEST_TYPED:
        return _wishes(prompt, "own", "repeated")
    return _wishes(prompt, "own")


def _wishes(prompt: Prompt, *words_of: WordsOf) -> list[str]:
    """Return the requests among the statements of a prompt that hold such words."""
    wishes = []
    for statement, whose in prompt.statements:
        wish = wish_in(statement.text) if whose in words_of else ""
        if wish and is_imperative(wish) and not _DENIES.match(wish):
            wishes.append(_cut(wish))
    return wishes
