"""Claude Code's transcripts: ~/.claude/projects/**/*.jsonl, one object a line, as its
versions 1 and 2 write them.

A line is of a `user` (a prompt, answers of tools, what the program itself says), an
`assistant` (messages, calls) or the `system`; what sub-agents do is marked
`isSidechain`, and has an `agentId` in later versions. A turn's end is stated by a
`stop_reason` or a line of the system; in transcripts without either the next prompt
shows it.

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
)
_MARKS = frozenset({"message", "sessionId", "uuid", "leafUuid"})
_ENDS = ("end_turn", "stop_sequence", "refusal")
_TURN_ENDS = ("turn_duration", "stop_hook_summary")
_INTERRUPTED = re.compile(r"\[Request interrupted by user(?: for [a-z ]{1,40})?\]\s*\Z")


class Claude:
    """Reads one transcript of Claude Code; `stem` is its session where its lines name
    none.
    """

    name = "claude"

    def __init__(self, stem: str) -> None:
        self._stem = stem
        self._calls = OpenCalls()
        self._turns = OpenTurns()
        self._compacted = False

    @staticmethod
    def reads(row: Row) -> bool:
        """Whether a line is of this form."""
        return row.get("type") in _KINDS and not _MARKS.isdisjoint(row)

    def feed(self, row: Row, number: int | str, size: int) -> Iterator[Utterance]:
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

    def end(self) -> Iterator[Utterance]:
        """See `Reader`."""
        yield from self._turns.all_ended()

    def _source(self, row: Row, number: int | str) -> MessageSource:
        session = row.get("sessionId")
        own_id = row.get("uuid", number)
        at = row.get("timestamp")
        origin = object_of(row.get("forkedFrom"))
        if isinstance(origin.get("sessionId"), str) and isinstance(
            origin.get("messageUuid"), str
        ):
            session = origin["sessionId"]
            own_id = origin["messageUuid"]
        is_unique = (
            isinstance(own_id, str)
            and bool(own_id)
            and own_id != number
            and time_of(at) is not None
        )
        return MessageSource(
            session if isinstance(session, str) else self._stem,
            own_id,
            at,
            row.get("cwd"),
            is_unique,
        )

    def _assistant(
        self, row: Row, source: MessageSource, size: int
    ) -> Iterator[Utterance]:
        message = object_of(row.get("message"))
        helper = _helper(row)
        self._turns.says(
            source, "\n".join(texts_of(message.get("content"))), helper=helper
        )
        for block in blocks_of(message.get("content")):
            if block.get("type") == "tool_use":
                self._turns.goes_on(helper)
                self._calls.begin(
                    block.get("id"), block.get("name"), block.get("input"), size
                )
        if message.get("stop_reason") in _ENDS:
            yield from self._turns.ended(helper)

    def _user(self, row: Row, source: MessageSource) -> Iterator[Utterance]:
        content = object_of(row.get("message")).get("content")
        answers = [
            block for block in blocks_of(content) if block.get("type") == "tool_result"
        ]
        for block in answers:
            answer = _answer(
                block, row.get("toolUseResult") if len(answers) == 1 else None
            )
            yield self._calls.answered(source, block.get("tool_use_id"), answer)
        if row.get("isCompactSummary"):
            if not self._compacted:
                yield source.compacting()
            self._compacted = False
        elif not answers and not row.get("isMeta") and not row.get("isSidechain"):
            texts = texts_of(content)
            if any(_INTERRUPTED.match(text) for text in texts):
                self._turns.goes_on()
            if prompts := source.prompt(texts):
                yield from [*self._turns.ended(), *prompts]

    def _system(self, row: Row, source: MessageSource) -> Iterator[Utterance]:
        if row.get("subtype") == "compact_boundary":
            self._compacted = True
            yield source.compacting(
                object_of(row.get("compactMetadata")).get("trigger")
            )
        elif row.get("subtype") in _TURN_ENDS:
            yield from self._turns.ended(_helper(row))

    def _queued(self, row: Row, source: MessageSource) -> Iterator[Utterance]:
        """A prompt that was given while the agent was at work: its turn goes on."""
        queued = object_of(row.get("attachment"))
        form = queued.get("type"), queued.get("commandMode")
        if form == ("queued_command", "prompt") and not row.get("isSidechain"):
            yield from source.prompt(texts_of(queued.get("prompt")))


def _helper(row: Row) -> str:
    """Which sub-agent speaks, '' where it is the agent itself."""
    return f"helper {row.get('agentId', '')}" if row.get("isSidechain") else ""


def _answer(block: Row, result: object) -> Row:
    """A tool's answer: structured where the program kept it so, else its text."""
    text = "\n".join(texts_of(block.get("content")))
    if block.get("is_error") is True:
        return {"error": text or result}
    return {"tool_response": result if isinstance(result, dict | list) else text}
