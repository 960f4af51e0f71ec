"""Codex's sessions: ~/.codex/sessions/**/rollout-*.jsonl, its items in an envelope of
time, type and payload, or bare.

In the envelope two logs interleave: `response_item` is what the model gets and says,
`event_msg` what the person sees. What a person asked stands in both, and in the first
also what the program says in the person's name: where the second has prompts, only
these are taken. The first versions wrote bare items, without times or a folder.

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
_COPYING_MICROSECONDS = (
    5_000_000  # after its fork a line without a turn's id is taken for a copy
)
_STEM_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_UNIFIED = r"(?:Chunk ID: [^\n]*\n)?(?:Wall time: [^\n]*\n)?Process exited with code "
_EXIT_CODE = re.compile(rf"(?:Exit code: |{_UNIFIED})(-?\d{{1,9}})\n")


class Codex:
    """Reads one session of Codex; `stem` names it where no line does."""

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
        """Whether a line is of this form."""
        if "type" not in row:
            return (
                row.get("record_type") == "state"
                or {"id", "timestamp", "instructions"} <= row.keys()
            )
        wrapped = row["type"] in _ENVELOPE and "payload" in row
        bare = row["type"] in _BARE and "message" not in row
        return wrapped or bare or row.get("record_type") == "state"

    def feed(self, row: Row, number: int | str, size: int) -> Iterator[Utterance]:
        """See `Reader`."""
        kind = row.get("type")
        at = row.get("timestamp") or self._at
        self._at = at
        payload = object_of(row.get("payload")) if kind in _ENVELOPE else row
        if kind == "session_meta" or (kind is None and "id" in row):
            self._meta(payload, at)
            return
        if self._is_copy(payload, at):
            return
        source = MessageSource(self._session, number, at, self._cwd)
        if kind == "turn_context":
            self._cwd = payload.get("cwd") or self._cwd
        elif kind == "compacted":
            yield source.compacting()
        elif kind == "event_msg":
            yield from self._event(payload, source)
        else:
            yield from self._item(payload, source, size)

    def end(self) -> Iterator[Utterance]:
        """See `Reader`."""
        yield from self._prompts()
        yield from self._turns.all_ended()

    def _meta(self, payload: Row, at: object) -> None:
        """The session's head; a fork has that of its origin after its own."""
        if self._named or not isinstance(payload.get("id"), str):
            self._copied |= self._named and payload.get("id") != self._session
            return
        self._began_at = (
            _drawn_at(payload["id"])
            or time_of(payload.get("timestamp"))
            or time_of(at)
            or 0
        )
        self._copied = bool(payload.get("forked_from_id"))
        self._session = payload["id"]
        self._named = True
        self._cwd = payload.get("cwd")
        source = payload.get("source")
        self._helper = (
            "helper" if isinstance(source, dict) and "subagent" in source else ""
        )

    def _is_copy(self, payload: Row, at: object) -> bool:
        if self._copied:
            drawn = (
                _drawn_at(payload.get("turn_id"))
                or (time_of(at) or 0) - _COPYING_MICROSECONDS
            )
            self._copied = drawn < self._began_at
        return self._copied

    def _event(self, payload: Row, source: MessageSource) -> Iterator[Utterance]:
        kind = payload.get("type")
        if kind == "user_message":
            self._has_prompts = True
            self._asked.clear()
            message = payload.get("message")
            yield from self._ask(
                source.prompt([message] if isinstance(message, str) else [])
            )
        elif kind == "task_complete":
            yield from self._turns.ended(self._helper)
        elif kind == "turn_aborted":
            self._turns.goes_on(self._helper)

    def _item(self, item: Row, source: MessageSource, size: int) -> Iterator[Utterance]:
        kind = item.get("type")
        role = item.get("role")
        if kind == "message" and role == "user":
            self._user(item, source)
            return
        if kind == "message" and role == "assistant":
            yield from self._prompts()
            self._turns.says(
                source,
                "\n".join(texts_of(item.get("content"), "output_text")),
                helper=self._helper,
            )
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            yield from self._prompts()
            self._turns.goes_on(self._helper)
            self._calls.begin(item.get("call_id") or item.get("id"), *_call(item), size)
        elif kind in (
            "function_call_output",
            "custom_tool_call_output",
            "local_shell_call_output",
        ):
            yield self._calls.answered(
                source,
                item.get("call_id") or item.get("id"),
                _answer(item.get("output")),
            )

    def _user(self, item: Row, source: MessageSource) -> None:
        texts = texts_of(item.get("content"), "input_text")
        if self._cwd is None and (
            folder_match := next(filter(None, map(_FOLDER.search, texts)), None)
        ):
            self._cwd = folder_match[1]
        self._asked += source._replace(cwd=self._cwd).prompt(texts)

    def _prompts(self) -> list[Utterance]:
        """The prompts of the model's log, where the other has none."""
        utterances = self._asked
        self._asked = []
        return (
            []
            if self._has_prompts
            else [
                prompt for utterance in utterances for prompt in self._ask([utterance])
            ]
        )

    def _ask(self, utterances: list[Utterance]) -> list[Utterance]:
        """A prompt, after the end of the turn before; what a sub-agent is asked is no
        prompt.
        """
        return (
            []
            if self._helper or not utterances
            else [*self._turns.ended(), *utterances]
        )


def _drawn_at(drawn: object) -> int:
    """The time in a UUIDv7, in µs UTC; 0 of anything else."""
    id_match = re.fullmatch(
        r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f-]{17}", str(drawn)
    )
    return int(id_match[1] + id_match[2], 16) * 1_000 if id_match else 0


def _call(item: Row) -> tuple[str, object]:
    """A call's tool and input."""
    if item.get("type") == "local_shell_call":
        return "local_shell", item.get("action")
    return str(item.get("name", "")), _parsed(item.get("arguments", item.get("input")))


def _answer(output: object) -> Row:
    """A tool's answer, with the exit code that the program states around it."""
    parsed = _parsed(output)
    if isinstance(parsed, dict):
        return {"tool_response": {**parsed, **object_of(parsed.get("metadata"))}}
    text = "\n".join(texts_of(parsed, "output_text", "input_text"))
    stated = _EXIT_CODE.match(text)
    return {
        "tool_response": {"exit_code": int(stated[1]), "output": text[stated.end() :]}
        if stated
        else text
    }


def _parsed(value: object) -> object:
    """What a text holds as an object of JSON, else the value itself."""
    if not isinstance(value, str) or not value.startswith("{"):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
