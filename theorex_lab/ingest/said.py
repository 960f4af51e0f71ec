"""What every reader of transcripts makes: an event in Claude Code's hook form, with its session, its own id and its time.

The reader of lines in that form itself is here: a program may have kept them, or made them of others. Members beside the
hook's: `session` and `at` for the session and the time, `agent_text` for a turn's last message, `reads` and `edits` for the
project's paths, from its root.
"""

import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from theorex_lab.clock import to_microseconds
from theorex_lab.errors import InvalidInput
from theorex_lab.text.sections import read_sections

Row = dict[str, Any]
_SECTIONS = read_sections(__file__, "prompts.txt")
_NAMES = _SECTIONS["names"].replace("\n", "")
_WHOLE = re.compile(rf"(?is)\s*<({_NAMES})\b[^<>]{{0,2000}}>.*</\1\s*>\s*")
_ELEMENT = re.compile(rf"(?is)<({_NAMES})\b[^<>]{{0,2000}}>.*?(?:</\1\s*>|\Z)")
_LEFT_OVER = re.compile(rf"(?is).*</(?:{_NAMES})\s*>")
_PASTED = re.compile(r"\[Pasted text #\d+(?: \+\d+ lines)?\]")
_REQUEST = "## My request for Codex:"
_WRITTEN = tuple(line.removeprefix("= ") for line in _SECTIONS["written"].split("\n"))


def own_words(blocks: Sequence[str]) -> str:
    """The text of a prompt's blocks, '' where a program wrote all of it.

    What stands between the first and the last sign of one element is left out where it fills a block, and what comes
    before an end without a beginning: a file in a reminder may hold the reminder's end.

    >>> own_words(["<system-reminder>be brief</system-reminder>", "Fix the cache <ide_selection>x = 1</ide_selection>"])
    'Fix the cache'
    >>> own_words(["<command-name>/clear</command-name>"])
    ''
    """
    kept = [_cut(block) for block in blocks if len(blocks) == 1 or not _WHOLE.fullmatch(block)]
    return "\n".join(filter(None, kept))


def _cut(text: str) -> str:
    if "<" in text:
        text = _LEFT_OVER.sub("", _ELEMENT.sub("", text))
    text = _PASTED.sub("", text).strip()
    if text.startswith(_WRITTEN):
        return ""
    return text.rpartition(_REQUEST)[2].strip() if text.startswith("# Context from my IDE setup") else text


_PENDING_BYTES = 128 << 20  # of the inputs of calls whose answers have not come yet


class Utterance(NamedTuple):
    """One thing that a transcript tells.

    hook: the event as the hook would have got it.  own: its id within the session.  at: as the transcript states it.
    cwd: the folder of the session.
    """

    hook: Row
    session: str
    own: str
    at: object = None
    cwd: object = None


class Source(NamedTuple):
    """Where something is told: in which session, by which line or number of it, when, in which folder."""

    session: str
    own: object
    at: object = None
    cwd: object = None

    def says(self, hook: Row, kind: str) -> Utterance:
        """What is told there, of a kind that stands in its id."""
        return Utterance(hook, self.session, f"{kind} {self.own}", self.at, self.cwd)

    def prompt(self, blocks: list[str]) -> list[Utterance]:
        """What a person asked, without what a program put in; nothing where that is all."""
        text = own_words(blocks)
        event = {"hook_event_name": "UserPromptSubmit", "prompt": text}
        return [self.says(event, "prompt")] if text else []

    def compacting(self, trigger: object = "") -> Utterance:
        """That the context was summarized; the summary itself is nobody's word."""
        return self.says({"hook_event_name": "PreCompact", "trigger": trigger}, "compacting")


class Reader(Protocol):
    """Reads the lines of one transcript in order. What it tells of a start of them, it tells of the whole as well."""

    name: str

    def feed(self, row: Row, number: int, size: int) -> Iterator[Utterance]:
        """What a line tells: an object of JSON; its number from 1 and its size in bytes."""

    def end(self) -> Iterator[Utterance]:
        """What is told by there being no further line; asked only where the session is over."""


class Turns:
    """The last message of each speaker whose turn has not ended; a call of a tool after it means that it was not the last."""

    def __init__(self) -> None:
        self._last: dict[str, Utterance] = {}

    def says(self, source: Source, text: str, *, helper: str = "") -> None:
        """A message of the agent, or of the `helper` that it had started."""
        if text.strip():
            name = "SubagentStop" if helper else "Stop"
            event = {"hook_event_name": name, "last_assistant_message": text.strip()}
            self._last[helper] = source.says(event, "turn")

    def goes_on(self, helper: str = "") -> None:
        """What was said was not the last of the turn, or the turn was broken off."""
        self._last.pop(helper, None)

    def ended(self, helper: str = "") -> list[Utterance]:
        """The end of the turn, once; nothing where nothing was said in it."""
        last = self._last.pop(helper, None)
        return [] if last is None else [last]

    def all_ended(self) -> list[Utterance]:
        """The ends of all turns."""
        return [utterance for helper in list(self._last) for utterance in self.ended(helper)]


class Calls:
    """Calls of tools whose answers have not come yet; the oldest are given up where they are too large together."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, tuple[str, object, int]] = OrderedDict()
        self._size = 0

    def begin(self, call: object, tool: object, given: object, size: int) -> None:
        """A tool is called; `size` in bytes."""
        self._calls[str(call)] = str(tool), given, size
        self._size += size
        while self._size > _PENDING_BYTES:
            self._size -= self._calls.popitem(last=False)[1][2]

    def answered(self, source: Source, call: object, answer: Row) -> Utterance:
        """The call with its `answer`: tool_response or error. Raises InvalidInput where no such call is under way."""
        found = self._calls.pop(str(call), None)
        if found is None:
            raise InvalidInput("a tool answers a call that is not in the transcript before it")
        self._size -= found[2]
        name = "PostToolUseFailure" if "error" in answer else "PostToolUse"
        event = {"hook_event_name": name, "tool_name": found[0], "tool_input": found[1], **answer}
        return source._replace(own=call).says(event, "tool")


def object_of(value: object) -> Row:
    """The value where it is an object of JSON, else an empty one."""
    return value if isinstance(value, dict) else {}


def blocks_of(content: object) -> list[Row]:
    """The blocks of a message's content, which may be one text."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def texts_of(content: object, *kinds: str) -> list[str]:
    """The texts in a message's content, of blocks of these types."""
    found = (block.get("text") for block in blocks_of(content) if block.get("type") in ("text", *kinds))
    return [text for text in found if isinstance(text, str)]


def time_of(stated: object) -> int | None:
    """A stated time in µs UTC; one without an offset is UTC's, None where there is none."""
    if not isinstance(stated, str) or not 8 <= len(stated) <= 64:
        return None
    for offset in ("", "+00:00"):
        try:
            return to_microseconds(stated.strip() + offset)
        except (InvalidInput, OverflowError):
            continue
    return None


_TIMES = ("at", "timestamp", "captured_at")
_TAKEN = "SessionStart UserPromptSubmit PostToolUse PostToolUseFailure Stop SubagentStop PreCompact SessionEnd".split()


class HookForm:
    """Reads lines of many sessions; `stem` is that of lines that name none."""

    name = "hook"

    def __init__(self, stem: str, words: Callable[[Sequence[str]], str] = own_words) -> None:
        """words: what of a prompt is kept; a published log is measured with all of it, which takes `"".join`."""
        self._stem, self._words = stem, words
        self._folders: dict[str, object] = {}
        self._lines = Counter[str]()

    @staticmethod
    def reads(row: Row) -> bool:
        """Whether a line is of this form."""
        return isinstance(row.get("hook_event_name"), str)

    def feed(self, row: Row, number: int, size: int) -> Iterator[Utterance]:  # noqa: ARG002
        """See `Reader`."""
        session = row.get("session", row.get("session_id"))
        session = session if isinstance(session, str) else self._stem
        self._lines[session] += 1
        if row.get("hook_event_name") not in _TAKEN:
            return
        cwd = self._folders[session] = row.get("cwd") or self._folders.get(session)
        if row["hook_event_name"] == "UserPromptSubmit":
            asked = row.get("prompt")
            row["prompt"] = self._words([asked]) if isinstance(asked, str) else ""
            if not row["prompt"]:
                return
        if "agent_text" in row:
            row["last_assistant_message"] = row["agent_text"]
        at = next((row[name] for name in _TIMES if name in row), None)
        yield Utterance(row, session, str(row.get("tool_use_id") or self._lines[session]), at, cwd)

    def end(self) -> Iterator[Utterance]:
        """See `Reader`: each line stands for itself."""
        yield from ()
