"""Claude Code's transcripts: ~/.claude/projects/**/*.jsonl, one object a line.

They are read as versions 1 and 2 write them. A line is of a `user` (a prompt, answers
of tools, what the program itself says), an `assistant` (messages, calls) or the
`system`; what sub-agents do is marked `isSidechain`, and has an `agentId` in later
versions. A turn's end is stated by a `stop_reason` or a line of the system; in
transcripts without either the next prompt shows it.

A session that is resumed or forked may repeat the lines of its origin in a file of its
own, in its own name and with their ids and times, or name the origin (`forkedFrom`):
they tell what the origin's file tells.
"""

import re
from collections.abc import Iterator

from theorex_lab.files.transcripts.messages import (
    MessageSource,
    OpenCalls,
    OpenTurns,
    Row,
    Utterance,
    blocks_of,
    kind_name,
    object_of,
    texts_of,
    time_of,
)

# Tuples, since a broken line may have anything at the place of a name.
_KINDS = (
    "user",
    "assistant",
    "system",
    "summary",
    "progress",
    "attachment",
    "queue-operation",
    "file-history-snapshot",
)
_MARKS = frozenset({"message", "sessionId", "uuid", "leafUuid"})
_ENDS = ("end_turn", "stop_sequence", "refusal")
_TURN_ENDS = ("turn_duration", "stop_hook_summary")
_INTERRUPTED = re.compile(r"\[Request interrupted by user(?: for [a-z ]{1,40})?\]\s*\Z")


class Claude:
    """Reads one transcript of Claude Code.

    Args:
        stem: The session where its lines name none.
    """

    name = "claude"

    def __init__(self, stem: str) -> None:
        self._stem = stem
        self._calls = OpenCalls()
        self._turns = OpenTurns()
        self._compacted = False

    @staticmethod
    def reads(row: Row) -> bool:
        """Return whether a line is of this form."""
        return row.get("type") in _KINDS and not _MARKS.isdisjoint(row)

    def feed(
        self,
        row: Row,
        number: int | str,
        size: int,
    ) -> Iterator[Utterance]:
        """See `Reader`."""
        kind = row.get("type")
        source = self._source(row, number)
        if kind == "assistant" and not row.get("isApiErrorMessage"):
            yield from self._assistant(row, source, size)
        elif kind == "user":
            yield from self._user(row, source)
        elif kind == "system":
            yield from self._system(row, source)
        elif kind == "attachment":
            yield from self._queued(row, source)

    def kind_of(self, row: Row) -> str:
        """See `Reader`."""
        kind = row.get("type")
        if kind == "assistant":
            return _kind_of_message(row)
        if kind == "user":
            return _kind_of_user(row)
        if kind == "system":
            return f"system: {kind_name(row.get('subtype'))}"
        name = kind_name(kind)
        return name if kind in _KINDS else f"unknown type: {name}"

    def end(self) -> Iterator[Utterance]:
        """See `Reader`."""
        yield from self._turns.all_ended()

    def _source(self, row: Row, number: int | str) -> MessageSource:
        session = row.get("sessionId")
        own_id = row.get("uuid", number)
        at = row.get("timestamp")
        origin = object_of(row.get("forkedFrom"))
        origin_session = origin.get("sessionId")
        origin_id = origin.get("messageUuid")
        if isinstance(origin_session, str) and isinstance(origin_id, str):
            session = origin_session
            own_id = origin_id
        has_id = isinstance(own_id, str) and bool(own_id) and own_id != number
        is_unique = has_id and time_of(at) is not None
        if not isinstance(session, str):
            session = self._stem
        return MessageSource(
            session,
            own_id,
            at,
            row.get("cwd"),
            is_unique,
            (number,),
        )

    def _assistant(
        self,
        row: Row,
        source: MessageSource,
        size: int,
    ) -> Iterator[Utterance]:
        message = object_of(row.get("message"))
        content = message.get("content")
        helper = _helper(row)
        text = "\n".join(texts_of(content))
        self._turns.says(source, text, helper=helper)
        for block in blocks_of(content):
            if block.get("type") == "tool_use":
                self._turns.goes_on(helper)
                call = block.get("id")
                tool = block.get("name")
                row_number = source.rows[0]
                self._calls.begin(
                    call, tool, block.get("input"), size=size, row=row_number
                )
        if message.get("stop_reason") in _ENDS:
            yield from self._turns.ended(helper)

    def _user(self, row: Row, source: MessageSource) -> Iterator[Utterance]:
        content = object_of(row.get("message")).get("content")
        answers = [
            block for block in blocks_of(content) if block.get("type") == "tool_result"
        ]
        # The program's own record is of one answer.
        result = row.get("toolUseResult") if len(answers) == 1 else None
        for block in answers:
            answer = _answer(block, result)
            yield self._calls.answered(source, block.get("tool_use_id"), answer)
        if row.get("isCompactSummary"):
            if not self._compacted:
                yield source.compacting()
            self._compacted = False
        elif not answers and not row.get("isMeta") and not row.get("isSidechain"):
            yield from self._prompt(texts_of(content), source)

    def _prompt(self, texts: list[str], source: MessageSource) -> Iterator[Utterance]:
        """Yield what a person asked, after the end of the turn before."""
        if any(_INTERRUPTED.match(text) for text in texts):
            self._turns.goes_on()
        prompts = source.prompt(texts)
        if prompts:
            yield from [*self._turns.ended(), *prompts]

    def _system(self, row: Row, source: MessageSource) -> Iterator[Utterance]:
        subtype = row.get("subtype")
        if subtype == "compact_boundary":
            self._compacted = True
            metadata = object_of(row.get("compactMetadata"))
            yield source.compacting(metadata.get("trigger"))
        elif subtype in _TURN_ENDS:
            yield from self._turns.ended(_helper(row))

    def _queued(self, row: Row, source: MessageSource) -> Iterator[Utterance]:
        """Yield a prompt that was given while the agent was at work.

        Its turn goes on.
        """
        if row.get("isSidechain"):
            return
        queued = object_of(row.get("attachment"))
        form = queued.get("type"), queued.get("commandMode")
        if form == ("queued_command", "prompt"):
            texts = texts_of(queued.get("prompt"))
            yield from source.prompt(texts)


def _helper(row: Row) -> str:
    """Return which sub-agent speaks, '' where it is the agent itself."""
    if not row.get("isSidechain"):
        return ""
    return f"helper {row.get('agentId', '')}"


def _kind_of_message(row: Row) -> str:
    """Return what kind of line it is by which the agent told nothing."""
    if row.get("isApiErrorMessage"):
        return "assistant: error of the service"
    content = object_of(row.get("message")).get("content")
    kinds = [block.get("type") for block in blocks_of(content)]
    if "tool_use" in kinds:
        return "assistant: call without an answer"
    if "text" in kinds:
        return "assistant: message within a turn"
    if "thinking" in kinds or "redacted_thinking" in kinds:
        return "assistant: thinking"
    return "assistant: no text and no call"


def _kind_of_user(row: Row) -> str:
    """Return what kind of line it is by which a person told nothing."""
    if row.get("isSidechain"):
        return "user: what the agent asks a helper"
    if row.get("isMeta") or row.get("isCompactSummary"):
        return "user: words of the program"
    content = object_of(row.get("message")).get("content")
    if texts_of(content):
        return "user: words of the program"
    return "user: no text"


def _answer(block: Row, result: object) -> Row:
    """Return a tool's answer: structured where the program kept it so, else its text."""
    text = "\n".join(texts_of(block.get("content")))
    if block.get("is_error") is True:
        return {"error": text or result}
    return {"tool_response": result if isinstance(result, dict | list) else text}
