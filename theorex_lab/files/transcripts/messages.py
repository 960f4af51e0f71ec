"""What every reader of transcripts makes: an event in Claude Code's hook form.

It comes with its session, its own id and its time.

The reader of lines in that form itself is here: a program may have kept them, or made
them of others. Members beside the hook's: `session` and `at` for the session and the
time, `agent_text` for a turn's last message, `reads` and `edits` for the project's
paths, from its root.
"""

import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from theorex_lab.core.clock import LATEST, to_microseconds
from theorex_lab.core.errors import InvalidInput
from theorex_lab.files.ingest.words import own_words
from theorex_lab.text.line import one_line

Row = dict[str, Any]
_PENDING_BYTES = 128 << 20  # of the inputs of calls whose answers have not come yet
# What a note of another memory is called here; no hook sends such an event.
NOTE_EVENT = "ImportedNote"
_MOST_TIMES = 1_024  # that are remembered as they were stated
NOTE_CHARACTERS = 16_000  # a longer one comes in parts


class Utterance(NamedTuple):
    """One thing that a transcript tells.

    Attributes:
        hook: The event as the hook would have got it.
        session: The session, as the transcript names it.
        own: Its id within the session.
        at: The time, as the transcript states it.
        cwd: The folder of the session.
        is_unique: Whether its id, with its time, is that of no other event in any
            session, so that a session which repeats it has the same event.
        written: The text that the hook's was cut from.
        rows: The numbers of the lines that it stands for.
    """

    hook: Row
    session: str
    own: str
    at: object = None
    cwd: object = None
    is_unique: bool = False
    written: str = ""
    rows: tuple[int | str, ...] = ()


class MessageSource(NamedTuple):
    """The place of a message in a transcript.

    Attributes:
        session: In which session.
        own: By which line or number of it.
        at: When, as the transcript states it.
        cwd: In which folder.
        is_unique: As of `Utterance`.
        rows: The numbers of its line, and of those that belong to it.
    """

    session: str
    own: object
    at: object = None
    cwd: object = None
    is_unique: bool = False
    rows: tuple[int | str, ...] = ()

    def says(
        self,
        hook: Row,
        kind: str,
        text: str = "",
    ) -> Utterance:
        """Return the message at this place, with its kind in its id.

        Args:
            hook: The event as the hook would have got it.
            kind: Stands in the id.
            text: The text that the hook's was cut from.
        """
        return Utterance(
            hook,
            self.session,
            f"{kind} {self.own}",
            self.at,
            self.cwd,
            self.is_unique,
            text,
            self.rows,
        )

    def prompt(self, blocks: list[str]) -> list[Utterance]:
        """Return what a person asked, without what a program put in.

        It is nothing where that is all.
        """
        text = own_words(blocks)
        if not text:
            return []
        event = {"hook_event_name": "UserPromptSubmit", "prompt": text}
        return [self.says(event, "prompt", "\n".join(blocks))]

    def compacting(self, trigger: object = "") -> Utterance:
        """Return that the context was summarized.

        The summary itself is nobody's word.
        """
        event = {"hook_event_name": "PreCompact", "trigger": trigger}
        return self.says(event, "compacting")


class Reader(Protocol):
    """Reads the lines of one transcript in order.

    What it yields for the first lines, it yields for all lines as well.
    """

    name: str

    def feed(
        self,
        row: Row,
        number: int | str,
        size: int,
    ) -> Iterator[Utterance]:
        """Return what a line tells.

        Args:
            row: The line, an object of JSON.
            number: Its number from 1. A second object on a line has the number with
                its own behind a dot.
            size: The bytes of the line.
        """

    def end(self) -> Iterator[Utterance]:
        """Return what the end of the lines implies.

        It is asked only where the session is over.
        """

    def kind_of(self, row: Row) -> str:
        """Return what kind of line it is that told nothing, in words for a report.

        It is asked after the line was fed.
        """


def kind_name(value: object) -> str:
    r"""Return the name of a kind as a transcript states it, short and on one line.

    >>> kind_name("progress"), kind_name(None), kind_name("a\nb")
    ('progress', 'no type', 'a b')
    """
    if value is None:
        return "no type"
    if not isinstance(value, str):
        return "a type that is no text"
    name = one_line(value, _KIND_CHARACTERS)
    return name or "an empty type"


_KIND_CHARACTERS = 40


class OpenTurns:
    """The last message of each speaker whose turn has not ended.

    A call of a tool after it means that it was not the last.
    """

    def __init__(self) -> None:
        self._last: dict[str, Utterance] = {}

    def says(
        self,
        source: MessageSource,
        text: str,
        *,
        helper: str = "",
    ) -> None:
        """Note a message of the agent, or of a helper that it had started.

        Args:
            source: Where it is told.
            text: The message.
            helper: The helper's name, '' for the agent itself.
        """
        message = text.strip()
        if message:
            name = "SubagentStop" if helper else "Stop"
            event = {"hook_event_name": name, "last_assistant_message": message}
            self._last[helper] = source.says(event, "turn")

    def goes_on(self, helper: str = "") -> None:
        """Note that a turn goes on, or was broken off.

        What was said in it was not the last.
        """
        self._last.pop(helper, None)

    def ended(self, helper: str = "") -> list[Utterance]:
        """Return the end of the turn, once; nothing where nothing was said in it."""
        last = self._last.pop(helper, None)
        return [] if last is None else [last]

    def all_ended(self) -> list[Utterance]:
        """Return the ends of all turns."""
        utterances = list[Utterance]()
        for helper in list(self._last):
            utterances += self.ended(helper)
        return utterances


class OpenCalls:
    """Calls of tools whose answers have not come yet.

    The oldest are given up where they are too large together.
    """

    def __init__(self) -> None:
        self._calls: OrderedDict[str, _OpenCall] = OrderedDict()
        self._size = 0

    def begin(
        self,
        call: object,
        tool: object,
        tool_input: object,
        *,
        size: int,
        row: int | str,
    ) -> None:
        """Note that a tool is called.

        Args:
            call: The id of the call.
            tool: The tool's name.
            tool_input: What it is given.
            size: The bytes of the line.
            row: The number of the line.
        """
        replaced = self._calls.pop(str(call), None)
        if replaced is not None:
            self._size -= replaced.size
        self._calls[str(call)] = _OpenCall(str(tool), tool_input, size, row)
        self._size += size
        while self._size > _PENDING_BYTES:
            _, oldest = self._calls.popitem(last=False)
            self._size -= oldest.size

    def answered(
        self,
        source: MessageSource,
        call: object,
        answer: Row,
    ) -> Utterance:
        """Return the call with its answer.

        Args:
            source: Where the answer is told.
            call: The id of the call.
            answer: The member tool_response or error.

        Raises:
            InvalidInput: Where no such call is under way.
        """
        call_record = self._calls.pop(str(call), None)
        if call_record is None:
            raise InvalidInput(
                "a tool answers a call that is not in the transcript before it"
            )
        self._size -= call_record.size
        name = "PostToolUseFailure" if "error" in answer else "PostToolUse"
        event = {
            "hook_event_name": name,
            "tool_name": call_record.tool,
            "tool_input": call_record.tool_input,
            **answer,
        }
        rows = (call_record.row, *source.rows)
        return source._replace(own=call, rows=rows).says(event, "tool")


class _OpenCall(NamedTuple):
    """A call whose answer has not come yet, with the size and number of its line."""

    tool: str
    tool_input: object
    size: int
    row: int | str


def object_of(value: object) -> Row:
    """Return the value where it is an object of JSON, else an empty one."""
    return value if isinstance(value, dict) else {}


def blocks_of(content: object) -> list[Row]:
    """Return the blocks of a message's content, which may be one text."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return []
    return [block for block in content if isinstance(block, dict)]


def texts_of(content: object, *kinds: str) -> list[str]:
    """Return the texts in a message's content, of blocks of these types.

    Blocks of the type `text` are always among them.
    """
    text_kinds = ("text", *kinds)
    texts = list[str]()
    for block in blocks_of(content):
        text = block.get("text")
        if block.get("type") in text_kinds and isinstance(text, str):
            texts.append(text)
    return texts


class StatedTime(NamedTuple):
    """A time as a transcript states it.

    Attributes:
        at: µs UTC.
        guess: How it was read where that is more than reading ISO 8601: `number` (its
            unit goes by its size) or `leap_second`.
    """

    at: int
    guess: str = ""


def time_of(stated: object) -> int | None:
    """Return a stated time in µs UTC; None where there is none."""
    time = read_time(stated)
    return None if time is None else time.at


def read_time(stated: object) -> StatedTime | None:
    """Return a stated time; None where there is none.

    A text is ISO 8601, without an offset UTC's; its second may be the 60th, a leap
    second, which is the first of the next minute. A number counts seconds,
    milliseconds, microseconds or nanoseconds since 1970, from 1973 on.

    >>> read_time("2016-12-31T23:59:60Z") == StatedTime(
    ...     time_of("2017-01-01T00:00:00Z"), "leap_second"
    ... )
    True
    >>> read_time(1_791_280_800_000) == StatedTime(
    ...     time_of("2026-10-06T10:00:00Z"), "number"
    ... )
    True
    """
    if isinstance(stated, str):
        if _DAY_DIGITS <= len(stated) <= _TIME_CHARACTERS:
            return _time_in(stated)
        return None
    if isinstance(stated, int | float) and not isinstance(stated, bool):
        return _counted(stated)
    return None


@lru_cache(_MOST_TIMES)
def _time_in(stated: str) -> StatedTime | None:
    """Return the time that a text states, a number or ISO 8601.

    Each line's time is asked for several times.
    """
    text = stated.strip()
    if text[4:5] == "-":  # no number, and rarely a leap second, which is no ISO 8601
        iso_time = _iso_time(text)
        if iso_time is not None:
            return StatedTime(iso_time)
    if _NUMBER.fullmatch(text):
        return _counted(float(text) if "." in text else int(text))
    if text.isdigit() and len(text) != _DAY_DIGITS:
        return None  # Python reads a time even in a long number
    leap = _LEAP_SECOND.match(text)
    if leap:
        return _leap_second(f"{leap[1]}59{text[leap.end() :]}")
    at = _iso_time(text)
    return None if at is None else StatedTime(at)


def _leap_second(second_before: str) -> StatedTime | None:
    """Return the time of a leap second, by the second before it."""
    before = _iso_time(second_before)
    if before is None:
        return None
    return StatedTime(min(before + 1_000_000, LATEST), "leap_second")


_TIME_CHARACTERS = 64
_DAY_DIGITS = 8
_NUMBER = re.compile(r"[0-9]{9,19}(?:\.[0-9]{1,9})?")
_LEAP_SECOND = re.compile(
    r"([0-9]{4}-?[0-9]{2}-?[0-9]{2}[ T][0-9]{2}:?[0-9]{2}:?)60(?![0-9:])"
)
_FIRST_SECOND = 100_000_000  # a smaller number counts something else
# From which number on it counts which part of a second: µs in one, or parts in a µs.
_MILLISECONDS_FROM = 10**11
_MICROSECONDS_FROM = 10**14
_NANOSECONDS_FROM = 10**17


def _counted(number: float) -> StatedTime | None:
    """Return a time that is a number since 1970."""
    is_time = _FIRST_SECOND <= number < 1_000 * _NANOSECONDS_FROM
    if not is_time:  # nor are NaN and infinity
        return None
    if number < _MILLISECONDS_FROM:
        at = round(number * 1_000_000)
    elif number < _MICROSECONDS_FROM:
        at = round(number * 1_000)
    elif number < _NANOSECONDS_FROM:
        at = round(number)
    else:
        at = int(number) // 1_000
    return StatedTime(at, "number") if at <= LATEST else None


def _iso_time(text: str) -> int | None:
    for offset in ("", "+00:00"):
        try:
            return to_microseconds(text + offset)
        except (InvalidInput, OverflowError):
            continue
    return None


def stated_in(row: Row) -> object:
    """Return the time that a line states, None where it states none."""
    for name in _TIMES:
        if name in row:
            return row[name]
    return None


_TIMES = ("at", "timestamp", "captured_at")
_TAKEN = (
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "SubagentStop",
    "PreCompact",
    "SessionEnd",
)


class HookForm:
    """Reads lines of many sessions.

    Args:
        stem: The session of lines that name none.
        words: Returns what of a prompt is kept. A published log is measured with all of
            it, which takes `"".join`.
    """

    name = "hook"

    def __init__(
        self, stem: str, words: Callable[[Sequence[str]], str] = own_words
    ) -> None:
        self._stem = stem
        self._words = words
        self._folders: dict[str, object] = {}
        self._lines = Counter[str]()

    @staticmethod
    def reads(row: Row) -> bool:
        """Return whether a line is of this form."""
        return isinstance(row.get("hook_event_name"), str)

    def feed(
        self,
        row: Row,
        number: int | str,
        size: int,  # noqa: ARG002
    ) -> Iterator[Utterance]:
        """See `Reader`."""
        session = row.get("session", row.get("session_id"))
        if not isinstance(session, str):
            session = self._stem
        self._lines[session] += 1
        if row.get("hook_event_name") not in _TAKEN:
            return
        cwd = row.get("cwd") or self._folders.get(session)
        self._folders[session] = cwd
        if row["hook_event_name"] == "UserPromptSubmit":
            prompt = row.get("prompt")
            row["prompt"] = self._words([prompt]) if isinstance(prompt, str) else ""
            if not row["prompt"]:
                return
        if "agent_text" in row:
            row["last_assistant_message"] = row["agent_text"]
        own_id = str(row.get("tool_use_id") or self._lines[session])
        yield Utterance(
            row,
            session,
            own_id,
            stated_in(row),
            cwd,
            rows=(number,),
        )

    def end(self) -> Iterator[Utterance]:
        """See `Reader`; each line stands for itself."""
        yield from ()

    def kind_of(self, row: Row) -> str:
        """See `Reader`."""
        name = row.get("hook_event_name")
        if name == "UserPromptSubmit":
            return "prompt without words of a person"
        return f"hook event: {kind_name(name)}"
