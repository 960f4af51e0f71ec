"""Codex's sessions: ~/.codex/sessions/**/rollout-*.jsonl.

Its items stand in an envelope of time, type and payload, or bare. In the envelope two
logs interleave: `response_item` is what the model gets and says, `event_msg` what the
person sees. What a person asked stands in both, and in the first also what the program
says in the person's name: where the second has prompts, only these are taken. The first
versions wrote bare items, without times or a folder.

A fork is a file of its own: its head, then the lines of its origin, head and all, most
of them with the time of the fork, then what is new. The copy is left out, since the
origin's file tells it: it lasts until a turn whose id, which has its time in it, was
drawn after the fork. A session that was resumed goes on in its own file.
"""

import json
import re
from collections.abc import Iterator

from theorex_lab.files.transcripts.messages import (
    MessageSource,
    OpenCalls,
    OpenTurns,
    Row,
    Utterance,
    kind_name,
    object_of,
    texts_of,
    time_of,
)

_ENVELOPE = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_BARE = (
    "message",
    "function_call",
    "function_call_output",
    "local_shell_call",
    "custom_tool_call",
    "reasoning",
)
_FOLDER = re.compile(r"<cwd>([^<>\n]{1,4096})</cwd>")
# For so long after its fork a line without a turn's id is taken for a copy.
_COPYING_MICROSECONDS = 5_000_000
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_OUTPUTS = (
    "function_call_output",
    "custom_tool_call_output",
    "local_shell_call_output",
)
# The members of a head without a type.
_HEAD = frozenset(("id", "timestamp", "instructions"))
_UUID_7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f-]{17}")
_STEM_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_UNIFIED = r"(?:Chunk ID: [^\n]*\n)?(?:Wall time: [^\n]*\n)?Process exited with code "
_EXIT_CODE = re.compile(rf"(?:Exit code: |{_UNIFIED})(-?\d{{1,9}})\n")


class Codex:
    """Reads one session of Codex.

    Args:
        stem: The session where no line names it.
    """

    name = "codex"

    def __init__(self, stem: str) -> None:
        id_match = _STEM_ID.search(stem)
        self._session = id_match[0] if id_match else stem
        self._named = False
        self._helper = ""
        self._began_at = 0
        self._cwd: object = None
        self._at: object = None  # of the line before, for those that state none
        # whether the lines are those of the session that this one was forked from
        self._copied = False
        self._calls = OpenCalls()
        self._turns = OpenTurns()
        # Prompts of the model's log, until it is known whether the other log has some.
        self._asked = list[Utterance]()
        self._has_prompts = False

    @staticmethod
    def reads(row: Row) -> bool:
        """Return whether a line is of this form."""
        if row.get("record_type") == "state":
            return True
        if "type" not in row:
            return row.keys() >= _HEAD
        kind = row["type"]
        if kind in _ENVELOPE and "payload" in row:
            return True
        return kind in _BARE and "message" not in row

    def feed(
        self,
        row: Row,
        number: int | str,
        size: int,
    ) -> Iterator[Utterance]:
        """See `Reader`."""
        kind = row.get("type")
        at = row.get("timestamp") or self._at
        self._at = at
        payload = row
        if kind in _ENVELOPE:
            payload = object_of(row.get("payload"))
        is_head = kind == "session_meta" or (kind is None and "id" in row)
        if is_head:
            self._read_head(payload, at)
        elif not self._is_copy(payload, at):
            source = MessageSource(self._session, number, at, self._cwd, rows=(number,))
            yield from self._payload(kind, payload, source, size)

    def end(self) -> Iterator[Utterance]:
        """See `Reader`."""
        yield from self._prompts()
        yield from self._turns.all_ended()

    def kind_of(self, row: Row) -> str:
        """See `Reader`."""
        if self._copied:
            return "copy of the session that this one was forked from"
        kind = row.get("type")
        if kind not in _ENVELOPE:
            return _kind_of_item(row)
        payload = object_of(row.get("payload"))
        if kind == "response_item":
            return _kind_of_item(payload)
        if kind == "event_msg":
            return f"event_msg: {kind_name(payload.get('type'))}"
        return kind_name(kind)

    def _payload(
        self,
        kind: object,
        payload: Row,
        source: MessageSource,
        size: int,
    ) -> Iterator[Utterance]:
        """Yield what a line tells that is the session's own."""
        if kind == "turn_context":
            self._cwd = payload.get("cwd") or self._cwd
        elif kind == "compacted":
            yield source.compacting()
        elif kind == "event_msg":
            yield from self._event(payload, source)
        else:
            yield from self._item(payload, source, size)

    def _read_head(self, payload: Row, at: object) -> None:
        """Read the session's head; a fork has that of its origin after its own."""
        session = payload.get("id")
        if self._named:
            self._copied |= session != self._session
            return
        if not isinstance(session, str):
            return
        stated_at = time_of(payload.get("timestamp")) or time_of(at)
        self._began_at = _drawn_at(session) or stated_at or 0
        self._copied = bool(payload.get("forked_from_id"))
        self._session = session
        self._named = True
        self._cwd = payload.get("cwd")
        source = payload.get("source")
        is_helper = isinstance(source, dict) and "subagent" in source
        self._helper = "helper" if is_helper else ""

    def _is_copy(self, payload: Row, at: object) -> bool:
        """Return whether a line is of the session that this one was forked from."""
        if self._copied:
            earliest = (time_of(at) or 0) - _COPYING_MICROSECONDS
            drawn_at = _drawn_at(payload.get("turn_id")) or earliest
            self._copied = drawn_at < self._began_at
        return self._copied

    def _event(self, payload: Row, source: MessageSource) -> Iterator[Utterance]:
        kind = payload.get("type")
        if kind == "user_message":
            self._has_prompts = True
            self._asked.clear()
            message = payload.get("message")
            texts = [message] if isinstance(message, str) else []
            yield from self._ask(source.prompt(texts))
        elif kind == "task_complete":
            yield from self._turns.ended(self._helper)
        elif kind == "turn_aborted":
            self._turns.goes_on(self._helper)

    def _item(
        self,
        item: Row,
        source: MessageSource,
        size: int,
    ) -> Iterator[Utterance]:
        kind = item.get("type")
        role = item.get("role")
        if kind == "message" and role == "user":
            self._user(item, source)
            return
        if kind == "message" and role == "assistant":
            yield from self._prompts()
            text = "\n".join(texts_of(item.get("content"), "output_text"))
            self._turns.says(source, text, helper=self._helper)
        elif kind in _CALLS:
            yield from self._prompts()
            self._turns.goes_on(self._helper)
            tool, tool_input = _call(item)
            row_number = source.rows[0]
            self._calls.begin(
                _call_id(item), tool, tool_input, size=size, row=row_number
            )
        elif kind in _OUTPUTS:
            answer = _answer(item.get("output"))
            yield self._calls.answered(source, _call_id(item), answer)

    def _user(self, item: Row, source: MessageSource) -> None:
        texts = texts_of(item.get("content"), "input_text")
        if self._cwd is None:
            self._cwd = _folder_in(texts)
        self._asked += source._replace(cwd=self._cwd).prompt(texts)

    def _prompts(self) -> list[Utterance]:
        """Return the prompts of the model's log, where the other has none."""
        utterances = self._asked
        self._asked = []
        if self._has_prompts:
            return []
        prompts = []
        for utterance in utterances:
            prompts += self._ask([utterance])
        return prompts

    def _ask(self, utterances: list[Utterance]) -> list[Utterance]:
        """Return a prompt, after the end of the turn before.

        What a sub-agent is asked is no prompt.
        """
        if self._helper or not utterances:
            return []
        return [*self._turns.ended(), *utterances]


def _kind_of_item(item: Row) -> str:
    """Return what kind of item it is that told nothing."""
    kind = item.get("type")
    if kind is None:
        return "session_meta"
    role = item.get("role")
    if kind == "message" and role == "assistant":
        return "message: within a turn"
    if kind == "message" and role == "user":
        return "message: of the program, or told by the other log"
    if kind in _CALLS:
        return f"{kind_name(kind)}: without an answer"
    return kind_name(kind)


def _folder_in(texts: list[str]) -> str | None:
    """Return the folder that the program states in the first of these texts."""
    for text in texts:
        folder_match = _FOLDER.search(text)
        if folder_match:
            return folder_match[1]
    return None


def _drawn_at(drawn: object) -> int:
    """Return the time in a UUIDv7, in µs UTC; 0 of anything else."""
    id_match = _UUID_7.fullmatch(str(drawn))
    if not id_match:
        return 0
    milliseconds = int(id_match[1] + id_match[2], 16)
    return milliseconds * 1_000


def _call_id(item: Row) -> object:
    return item.get("call_id") or item.get("id")


def _call(item: Row) -> tuple[str, object]:
    """Return a call's tool and input."""
    if item.get("type") == "local_shell_call":
        return "local_shell", item.get("action")
    tool = str(item.get("name", ""))
    tool_input = item.get("arguments", item.get("input"))
    return tool, _parsed(tool_input)


def _answer(output: object) -> Row:
    """Return a tool's answer, with the exit code that the program states around it."""
    parsed = _parsed(output)
    if isinstance(parsed, dict):
        return {"tool_response": {**parsed, **object_of(parsed.get("metadata"))}}
    text = "\n".join(texts_of(parsed, "output_text", "input_text"))
    code_match = _EXIT_CODE.match(text)
    if not code_match:
        return {"tool_response": text}
    exit_code = int(code_match[1])
    response = {"exit_code": exit_code, "output": text[code_match.end() :]}
    return {"tool_response": response}


def _parsed(value: object) -> object:
    """Return what a text holds as an object of JSON, else the value itself."""
    if not isinstance(value, str) or not value.startswith("{"):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
