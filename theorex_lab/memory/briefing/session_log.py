"""The sessions of a journal, with every prompt marked for whose words it holds.

A prompt may hold more than its user's own words: pages and logs that were pasted,
templates that a program sends, summaries of an earlier context. What a briefing learns
of its user comes from the own words alone. Standard library only.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain, takewhile
from sys import intern
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary

from theorex_lab.core.clock import to_iso
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.remembering import remembered
from theorex_lab.journal.base import Journal
from theorex_lab.journal.erasing import ERASURE
from theorex_lab.journal.event import Event
from theorex_lab.journal.places import KINDS as PLACE_KINDS
from theorex_lab.memory.briefing.packed_steps import PackedSteps
from theorex_lab.memory.contract import Home
from theorex_lab.text.pasted import is_likely_pasted, own_line_numbers
from theorex_lab.text.statements import Statement, statements_in

PromptKind = Literal[
    "own",
    "interrupt",
    "noise",
    "summary",
    "plan",
    "slash",
    "standing",
    "template",
]
WordsOf = Literal[
    "own", "repeated", "quoted", "template", "summary", "plan", "standing"
]
StepBefore = Literal["start", "agent", "tool", "prompt", "slash", "interrupt"]

KINDS = ("prompt", "tool_used", "turn_ended", "turn_message", "session_ended")

# The prompt by which an agent's program says that its user stopped it.
_INTERRUPT = lazy_pattern(r"\[Request interrupted|Cancelled$", re.I)
# What an agent's program sends as a prompt of its own.
_NOISE = lazy_pattern(
    r"""
      <local-command
    | <command-(?:name|message)>
    | <bash-
    | <task-notification
    | <system-reminder
    | Caveat:[ ]The[ ]messages[ ]below
    | \[Image:
    | \[Image[^\]\n]*\]\s*$
    | \[object[ ]Object\]
    | undefined$
    """,
    re.I | re.VERBOSE,
)
# How a context begins that was summarized.
_SUMMARY = lazy_pattern(r"This session is being continued", re.I)
# How a plan is handed on that the agent itself wrote.
_PLAN = lazy_pattern(r"Implement the following plan", re.I)
_SLASH = lazy_pattern(r"/[A-Za-z][\w:-]*(?:\s|$)")
# Kinds of prompts by how they begin, in the order in which they are tried.
_BEGINNINGS: tuple[tuple[re.Pattern[str], PromptKind], ...] = (
    (_INTERRUPT, "interrupt"),
    (_NOISE, "noise"),
    (_SUMMARY, "summary"),
    (_PLAN, "plan"),
    (_SLASH, "slash"),
)
# Whose words all statements of a prompt are, by its kind; of another kind each one is
# looked at.
_WORDS_OF_WHOLE: dict[PromptKind, WordsOf] = {
    "summary": "summary",
    "plan": "plan",
    "standing": "standing",
    "template": "template",
}
# How the text begins into which many programs expand a slash command.
_EXPANDED_COMMAND = "## Context"
_LONG_AFTER_SLASH = 500  # characters of a prompt that a slash command became

# Prompts are the same where these many first characters are; a shorter one than the
# other number, such as "continue", is repeated by anybody.
_HEAD_CHARACTERS = 400
_SHORTEST_HEAD = 60
# Sessions in which the same prompt is no user's typing any more.
_SESSIONS_OF_TEMPLATE = 3
# Characters of a line, but for signs, from which on its return is no chance.
_SHORTEST_REPEATED_LINE = 30

# How the response begins of a call that the agent's own program failed to make. It
# holds whatever a hook said of the call.
_FAILURE_MARK = lazy_pattern(
    r"""
    \s*(?:
          Exit[ ]code:?[ ][1-9]\d*
        | (?:Command[ ]|Process[ ])?exited[ ]with[ ]code:?[ ][1-9]
        | <tool_use_error>
        | The[ ]user[ ]doesn't[ ]want
        | \(eval\)
    )
    """,
    re.I | re.VERBOSE,
)
# How the output of a command begins that failed, unless a hook said that it did not: a
# log that is shown begins in the same way.
_FAILURE_START = lazy_pattern(r"\s*(?:Error\b|fatal:|Traceback|Command failed)", re.I)
# How a file may begin that a tool read, which is about errors and none itself.
_ABOUT_ERRORS = lazy_pattern(r"\s*error\b(?!\s*(?::|$))", re.I)
_FAILURE_CODE = lazy_pattern(r"exit code:? [1-9]|exited with code [1-9]", re.I)
_CODE_CHARACTERS = 400  # of a response, among which its exit code is sought

# Of how many events the sessions of projects stay in memory, those of the project that
# was asked for last whatever there are.
MOST_KEPT_EVENTS = 20_000
# From how many events on the steps of a log are packed: that many take some 100 MB.
# Packed ones take a tenth of it, and half as much time again.
_MOST_OPEN_STEPS = 100_000
# How many steps of a log that is packed are open while it is read. Most sessions have
# come to their end within that many, so that they are packed once.
_OPEN_STEPS_OF_PACKED = 20_000
_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Prompt:
    """What was sent to the agent.

    Attributes:
        at: When (µs UTC).
        event: The id of its event.
        session: The session.
        text: Its text.
        kind: What it is as a whole.
        after: What came before it in its session.
        statements: Its statements, each with whose words it holds.
        trusted: Whether its user surely sent it: it was captured, not imported.
    """

    at: int
    event: str
    session: str
    text: str
    kind: PromptKind
    after: StepBefore
    statements: tuple[tuple[Statement, WordsOf], ...]
    trusted: bool


@dataclass(frozen=True, slots=True)
class Message:
    """What the agent said at the end of an answer.

    Attributes:
        at: When (µs UTC).
        event: The id of its event.
        session: The session.
        text: Its text.
        statements: Its statements.
        is_automatic: Whether it answers a standing prompt, which no person asked.
        trusted: Whether it was captured, not imported.
    """

    at: int
    event: str
    session: str
    text: str
    statements: tuple[Statement, ...]
    is_automatic: bool
    trusted: bool


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call of the agent.

    Attributes:
        at: When (µs UTC).
        event: The id of its event.
        session: The session.
        tool: The tool's name.
        command: Its command, '' for a tool that runs none.
        response: The beginning of what it returned.
        ok: Whether it did its work, None where that is open.
        reads: The paths that it read.
        edits: The paths that it edited.
        trusted: Whether it was captured, not imported.
    """

    at: int
    event: str
    session: str
    tool: str
    command: str
    response: str
    ok: bool | None
    reads: tuple[str, ...]
    edits: tuple[str, ...]
    trusted: bool


@dataclass(frozen=True, slots=True)
class Session:
    """A session, with what happened in it.

    Attributes:
        id: The session's name; the day for what is of no session.
        start: When its first event was (µs UTC).
        end: When its last event was (µs UTC).
        steps: What happened, in order. In a large log equal ones come each time that
            they are looked at, and not the same ones.
    """

    id: str
    start: int
    end: int
    steps: Sequence[Prompt | Message | ToolUse]

    def __hash__(self) -> int:
        """Return a hash for which no step is looked at; few sessions share it."""
        return hash((self.id, self.start, self.end))

    @property
    def prompts(self) -> list[Prompt]:
        """Its prompts, in order."""
        return [step for step in self.steps if isinstance(step, Prompt)]

    @property
    def messages(self) -> list[Message]:
        """The agent's messages, in order."""
        return [step for step in self.steps if isinstance(step, Message)]

    @property
    def tools(self) -> list[ToolUse]:
        """The agent's tool calls, in order."""
        return [step for step in self.steps if isinstance(step, ToolUse)]


_SessionKey = tuple[str, str]  # agent, session


class _SentPrompt(NamedTuple):
    """A prompt before its kind is known, which rests on those of all sessions.

    Attributes:
        at: When (µs UTC).
        event: The id of its event.
        text: Its text.
        head: By what it is compared with other prompts; empty where it is not.
        kind: What it is by its own text.
        after: What came before it in its session.
        repeated: The lines that an earlier prompt of another session had.
        trusted: Whether it was captured, not imported.
    """

    at: int
    event: str
    text: str
    head: bytes
    kind: PromptKind
    after: StepBefore
    repeated: frozenset[str]
    trusted: bool


class _SentMessage(NamedTuple):
    """A message before it is known which prompt it answers; see `Message`."""

    at: int
    event: str
    text: str
    trusted: bool


_NotedStep = _SentPrompt | _SentMessage | ToolUse


def sessions_of(events: Iterable[Event], *, n_events: int = 0) -> list[Session]:
    """Return the sessions of events that come in time order, by their start.

    Erased events, those that were set aside, and what helpers of an agent did are left
    out.

    Args:
        events: The events.
        n_events: How many there are. The steps of more than 100,000 are packed from the
            first on; 0 is unknown, and they are packed from that many on.
    """
    log = _Log(is_packed=n_events > _MOST_OPEN_STEPS)
    log.note_all(events)
    return log.sessions()


class GrowingLog:
    """The sessions of a log of some thousand events that is added to.

    A session that nothing was added to stays the same object.
    """

    def __init__(self) -> None:
        """Begin without events."""
        self._log = _Log(is_packed=False)
        # Of each session, how many steps it had, and its end.
        self._sizes: dict[_SessionKey, tuple[int, int]] = {}
        self._sessions: dict[_SessionKey, Session] = {}
        self._n_templates = 0

    def add(self, events: Iterable[Event]) -> None:
        """Take in events that come after those before, in time order."""
        self._log.note_all(events)

    def sessions(self) -> list[Session]:
        """Return what `sessions_of` returns of all events."""
        log = self._log
        if log.n_templates != self._n_templates:
            # What a prompt is may have changed in each session.
            self._n_templates = log.n_templates
            self._sizes = {}
        for key, size in log.sizes():
            if self._sizes.get(key) != size:
                self._sizes[key] = size
                self._sessions[key] = log.session(key)
        return sorted(self._sessions.values(), key=_start_of)


def _start_of(session: Session) -> int:
    """Return when a session began."""
    return session.start


def recorded_sessions(home: Home, now: int) -> list[Session]:
    """Return the sessions up to a time that are of the home's project or of none.

    They are kept in memory until something that they are read from is appended, or the
    sessions of other projects need the room.

    Args:
        home: The home.
        now: The time (µs UTC).
    """
    journal = home.journal
    last_seq = journal.last_seq()
    by_project = _kept_logs.setdefault(journal, {})
    log = by_project.get(home.project)
    if log is not None and _is_current(journal, log, now, last_seq):
        _keep(by_project, home.project, log._replace(last_seq=last_seq))
        return list(log.sessions)
    projects = None
    if home.projects is not None:
        projects = (*home.projects, "")
    seqs, newest_at, events = home.views.events_in_time_order(
        KINDS, projects=projects, upto=last_seq
    )
    if newest_at > now:
        _make_room(by_project)
        past_events = takewhile(lambda event: event.at <= now, events)
        return sessions_of(past_events, n_events=len(seqs))
    log = _log_of_same(by_project, seqs, last_seq)
    if log is None:
        _make_room(by_project)
        event_seqs = array("q")
        sessions = sessions_of(
            _noting_seqs(events, event_seqs),
            n_events=len(seqs),
        )
        log = _KeptLog(
            last_seq=last_seq,
            newest_at=newest_at,
            sessions=sessions,
            event_seqs=event_seqs,
        )
    _keep(by_project, home.project, log)
    return list(log.sessions)


def holds_sessions(home: Home, now: int) -> bool:
    """Return whether the sessions that `recorded_sessions` returns are in memory.

    Args:
        home: The home.
        now: The time (µs UTC).
    """
    return seq_of_sessions(home, now) is not None


def seq_of_sessions(home: Home, now: int) -> int | None:
    """Return the seq up to which the sessions in memory were read.

    Args:
        home: The home.
        now: The time (µs UTC).

    Returns:
        The seq; None where `recorded_sessions` would read them again.
    """
    journal = home.journal
    log = _kept_logs.get(journal, {}).get(home.project)
    if log is None or not _is_current(journal, log, now, journal.last_seq()):
        return None
    return log.last_seq


def _noting_seqs(events: Iterable[Event], seqs: array[int]) -> Iterator[Event]:
    """Yield the events, and put their seqs into the array."""
    for event in events:
        seqs.append(event.seq)
        yield event


def _log_of_same(
    logs: Mapping[str, _KeptLog], event_seqs: array[int], last_seq: int
) -> _KeptLog | None:
    """Return what another project has of the same events, None for none.

    A home of one project reads them for the project and for all projects.

    Args:
        logs: What is kept, by project.
        event_seqs: The seqs of the events, in time order.
        last_seq: The seq of the journal's newest event.
    """
    for log in logs.values():
        if log.last_seq == last_seq and log.event_seqs == event_seqs:
            return log
    return None


def _keep(logs: dict[str, _KeptLog], project: str, log: _KeptLog) -> None:
    """Keep the sessions of a project, which is then the one asked for last."""
    logs.pop(project, None)
    logs[project] = log


def _make_room(logs: dict[str, _KeptLog]) -> None:
    """Let go of the sessions that were not asked for longest, where there are many."""
    n_events = 0
    for project in reversed(list(logs)):
        n_events += len(logs[project].event_seqs)
        if n_events > MOST_KEPT_EVENTS:
            del logs[project]


class _KeptLog(NamedTuple):
    """The sessions of a project as of a seq of the journal."""

    last_seq: int
    newest_at: int
    sessions: list[Session]
    event_seqs: array[int]


def _is_current(journal: Journal, log: _KeptLog, now: int, upto: int) -> bool:
    """Return whether the sessions of a log are those up to a time and a seq."""
    return log.newest_at <= now and _says_nothing_new(journal, log, upto)


def _says_nothing_new(journal: Journal, log: _KeptLog, upto: int) -> bool:
    """Return whether what came after a log leaves its sessions as they were.

    An erasure may take something out of them, and a merge of projects may add to them.
    """
    if log.last_seq == upto:
        return True
    if log.last_seq > upto:  # the journal was replaced
        return False
    kinds = (*KINDS, *PLACE_KINDS, ERASURE)
    return next(journal.tail(log.last_seq, kinds=kinds, upto=upto), None) is None


_kept_logs: WeakKeyDictionary[Journal, dict[str, _KeptLog]] = WeakKeyDictionary()


class _NotedSteps:
    """The steps of a session while its log is read, the earlier ones packed."""

    __slots__ = ("open", "packed")

    def __init__(self) -> None:
        self.packed: list[PackedSteps[_NotedStep]] = []
        self.open: list[_NotedStep] = []

    def __iter__(self) -> Iterator[_NotedStep]:
        yield from chain.from_iterable(self.packed)
        yield from self.open

    def pack(self) -> None:
        """Pack the steps that are open."""
        if self.open:
            self.packed.append(PackedSteps(self.open))
            self.open = []


class _FirstSessions:
    """The first sessions that have something, as many as make a template of it.

    Attributes:
        n_templates: How much is had by so many.
    """

    def __init__(self) -> None:
        self._by_digest: dict[bytes, tuple[_SessionKey, ...]] = {}
        self.n_templates = 0

    def add(self, digest: bytes, session: _SessionKey) -> None:
        """Note that a session has it."""
        sessions = self._by_digest.get(digest, ())
        if len(sessions) < _SESSIONS_OF_TEMPLATE and session not in sessions:
            self._by_digest[digest] = (*sessions, session)
            self.n_templates += self.are_enough(digest)

    def are_enough(self, digest: bytes) -> bool:
        """Return whether as many sessions have it as make a template of it."""
        return len(self._by_digest.get(digest, ())) >= _SESSIONS_OF_TEMPLATE


class _Log:
    """Sorts events into sessions, then says what each prompt is."""

    def __init__(self, *, is_packed: bool) -> None:
        self._steps: dict[_SessionKey, _NotedSteps] = defaultdict(_NotedSteps)
        self._n_open = 0
        self._is_packed = is_packed
        self._keys: dict[_SessionKey, _SessionKey] = {}
        self._bounds: dict[_SessionKey, list[int]] = {}  # first and last time
        self._last: dict[_SessionKey, StepBefore] = {}
        # The sessions that have the head of a prompt, and those that have it after an
        # answer.
        self._sessions_with = _FirstSessions()
        self._answered_with = _FirstSessions()
        # Digest of a line of prompts -> the session that has it, None for several.
        self._session_with_line: dict[bytes, _SessionKey | None] = {}

    @property
    def n_templates(self) -> int:
        """How many heads of prompts make a template; it changes what prompts are."""
        return self._sessions_with.n_templates + self._answered_with.n_templates

    def note_all(self, events: Iterable[Event]) -> None:
        """Take in those of the next events that say what happened in a session."""
        for event in events:
            is_read = event.kind in KINDS and not event.erased
            if is_read and not event.body.get("subagent"):
                self.note(event)

    def note(self, event: Event) -> None:
        """Take in the next event."""
        key = _key_of(event)
        # Events of a session share its key, and do not each have a copy of it.
        key = self._keys.setdefault(key, key)
        bounds = self._bounds.setdefault(key, [event.at, event.at])
        bounds[1] = max(bounds[1], event.at)
        noted = self._steps[key]
        if event.kind == "prompt":
            noted.open.append(self._sent_prompt(event, key))
        elif event.kind == "tool_used":
            noted.open.append(_tool_use(event, key[1]))
            self._last[key] = "tool"
        else:
            text = _message_text(event)
            if not text:
                return
            trusted = event.body.get("source") in ("agent", "user")
            noted.open.append(_SentMessage(event.at, event.id, text, trusted))
            self._last[key] = "agent"
        self._n_open += 1
        most = _OPEN_STEPS_OF_PACKED if self._is_packed else _MOST_OPEN_STEPS
        if self._n_open > most:
            self._pack()

    def _pack(self) -> None:
        """Pack the steps of all sessions; most of these have come to their end."""
        for noted in self._steps.values():
            noted.pack()
        self._n_open = 0
        self._is_packed = True

    def _sent_prompt(self, event: Event, key: _SessionKey) -> _SentPrompt:
        text = event.body["text"].strip("\r\n").rstrip()
        after = self._last.get(key, "start")
        kind = _kind_by_form(text.lstrip(), after)
        head = b""
        if kind in ("own", "template"):
            head = _head_of(text)
        if head:
            self._sessions_with.add(head, key)
            if after in ("agent", "tool"):
                self._answered_with.add(head, key)
        if kind in ("interrupt", "slash"):
            self._last[key] = kind
        elif kind != "noise":
            self._last[key] = "prompt"
        repeated: frozenset[str] = frozenset()
        if kind not in ("noise", "interrupt"):
            repeated = self._lines_of_others(text, key)
        return _SentPrompt(
            at=event.at,
            event=event.id,
            text=text,
            head=head,
            kind=kind,
            after=after,
            repeated=repeated,
            trusted=event.body.get("source") == "user",
        )

    def _lines_of_others(self, text: str, key: _SessionKey) -> frozenset[str]:
        """Return the lines of a prompt that an earlier one of another session had."""
        session_with = self._session_with_line
        digests = {line: _digest(line) for line in _repeatable_lines(text)}
        repeated: list[str] = []
        for line, digest in digests.items():
            if session_with.setdefault(digest, key) != key:
                session_with[digest] = None
                repeated.append(line)
        return frozenset(repeated)

    def sessions(self) -> list[Session]:
        """Return the sessions of all events that were noted, by their start."""
        sessions: list[Session] = []
        for key in list(self._steps):
            sessions.append(self.session(key))
            del self._steps[key]
        sessions.sort(key=_start_of)
        return sessions

    def session(self, key: _SessionKey) -> Session:
        """Return a session as it is after all events that were noted."""
        start, end = self._bounds[key]
        steps: Sequence[Prompt | Message | ToolUse]
        steps = tuple(self._steps_of(self._steps[key], key[1]))
        if self._is_packed:
            steps = PackedSteps(steps)
        return Session(key[1], start, end, steps)

    def sizes(self) -> Iterator[tuple[_SessionKey, tuple[int, int]]]:
        """Yield each session with the number of its open steps, and its end."""
        for key, noted in self._steps.items():
            yield key, (len(noted.open), self._bounds[key][1])

    def _steps_of(
        self, noted: Iterable[_NotedStep], session: str
    ) -> Iterator[Prompt | Message | ToolUse]:
        """Yield the steps of a session."""
        is_automatic = False
        for step in noted:
            if isinstance(step, _SentPrompt):
                prompt = self._prompt(step, session)
                is_automatic = prompt.kind == "standing"
                yield prompt
            elif isinstance(step, _SentMessage):
                yield Message(
                    at=step.at,
                    event=step.event,
                    session=session,
                    text=step.text,
                    statements=_statements(step.text),
                    is_automatic=is_automatic,
                    trusted=step.trusted,
                )
            else:
                yield step

    def _prompt(self, sent: _SentPrompt, session: str) -> Prompt:
        """Return a prompt, now that those of all sessions are known."""
        kind = self._kind(sent)
        statements: tuple[tuple[Statement, WordsOf], ...] = ()
        if kind not in ("noise", "interrupt"):
            statements = tuple(_marked(sent.text, kind, sent.repeated))
        return Prompt(
            at=sent.at,
            event=sent.event,
            session=session,
            text=sent.text,
            kind=kind,
            after=sent.after,
            statements=statements,
            trusted=sent.trusted,
        )

    def _kind(self, sent: _SentPrompt) -> PromptKind:
        """Return what a prompt is, now that those of all sessions are known."""
        if sent.kind not in ("own", "template"):
            return sent.kind
        is_answer = sent.after in ("agent", "tool")
        if is_answer and self._answered_with.are_enough(sent.head):
            return "standing"
        if self._sessions_with.are_enough(sent.head):
            return "template"
        return sent.kind


def _head_of(text: str) -> bytes:
    """Return what prompts with the same beginning share, empty for a short one."""
    head = " ".join(text[:_HEAD_CHARACTERS].lower().split())
    if len(head) <= _SHORTEST_HEAD:
        return b""
    return _digest(head)


def _digest(text: str) -> bytes:
    """Return what stands for a text that is compared alone, and not read."""
    content = text.encode("utf-8", "surrogatepass")
    return blake2b(content, digest_size=_DIGEST_BYTES).digest()


def _key_of(event: Event) -> _SessionKey:
    """Return the agent and session of an event; the day stands for no session."""
    return event.agent, event.session or to_iso(event.at)[:10]


def are_own_words(prompt: str) -> bool:
    """Return whether a prompt looks like a person's own words by its form alone.

    >>> are_own_words("Run the tests"), are_own_words("<system-reminder>Be brief")
    (True, False)
    """
    return _kind_by_form(prompt.lstrip(), "start") == "own"


def _kind_by_form(text: str, after: StepBefore) -> PromptKind:
    """Return what a prompt is by its own text and what came before it."""
    for pattern, kind in _BEGINNINGS:
        if pattern.match(text):
            return kind
    if text.startswith(_EXPANDED_COMMAND):
        return "template"
    if after == "slash" and len(text) > _LONG_AFTER_SLASH:
        return "template"
    return "own"


def _message_text(event: Event) -> str:
    """Return what the agent said; '' for what its program says in its place."""
    member = "message" if event.kind == "turn_ended" else "text"
    text: str = event.body.get(member, "").strip()
    if _INTERRUPT.match(text) or _NOISE.match(text):
        return ""
    return text


def _tool_use(event: Event, session: str) -> ToolUse:
    body = event.body
    paths = body.get("paths") or {}
    command = body.get("command", "")
    response = body.get("response", "")
    ok = body.get("ok")
    if ok is not False and _has_failed(command, response, is_said_ok=ok is True):
        ok = False
    return ToolUse(
        at=event.at,
        event=event.id,
        session=session,
        tool=intern(body.get("tool", "")),
        command=command,
        response=response,
        ok=ok,
        reads=tuple(paths.get("read", ())),
        edits=tuple(paths.get("edited", ())),
        trusted=body.get("source") in ("tool", "agent", "user"),
    )


def _has_failed(command: str, response: str, *, is_said_ok: bool) -> bool:
    """Return whether what a call returned says that it failed.

    Args:
        command: The command of the call, '' for none.
        response: The beginning of what it returned.
        is_said_ok: Whether a hook said that it succeeded. The output of a command is
            then no evidence against it.
    """
    output = response
    if command:
        output = response.removeprefix(command).lstrip()
    elif _ABOUT_ERRORS.match(output):
        return False
    if _FAILURE_MARK.match(output):
        return True
    if command and is_said_ok:
        return False
    if _FAILURE_START.match(output):
        return True
    beginning = output[:_CODE_CHARACTERS]
    return bool(command) and _FAILURE_CODE.search(beginning) is not None


@remembered(1 << 12)
def _statements(text: str) -> tuple[Statement, ...]:
    return tuple(statements_in(text))


@remembered(1 << 14)
def _bare(line: str) -> str:
    """Return a line in lower case without its signs."""
    return re.sub(r"\W+", " ", line.lower()).strip()


def _repeatable_lines(text: str) -> Iterator[str]:
    """Yield the lines, without their signs, that nobody types again by chance."""
    for line in text.splitlines():
        bare = _bare(line)
        if len(bare) > _SHORTEST_REPEATED_LINE:
            yield bare


def _marked(
    text: str, kind: PromptKind, repeated: frozenset[str]
) -> Iterator[tuple[Statement, WordsOf]]:
    """Yield the statements of a prompt, each with whose words it holds.

    Args:
        text: The prompt.
        kind: What the prompt is; none that has no statements.
        repeated: The lines that an earlier prompt of another session had.
    """
    words_of_all = _WORDS_OF_WHOLE.get(kind)
    if words_of_all is not None:
        for statement in _statements(text):
            yield statement, words_of_all
        return
    lines = text.splitlines()
    own_numbers = own_line_numbers(text)
    for statement in _statements(text):
        numbers = range(statement.line, statement.last_line + 1)
        words_of: WordsOf = "own"
        if statement.quoted or not own_numbers.issuperset(numbers):
            words_of = "quoted"
        elif _bare(lines[statement.line]) in repeated:
            words_of = "repeated"
        elif is_likely_pasted(text, statement.line):
            words_of = "quoted"
        yield statement, words_of
