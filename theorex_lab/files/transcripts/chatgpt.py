"""The export of ChatGPT: conversations.json, a list of conversations.

A conversation is a tree of messages in its member `mapping`, since a person may edit a
prompt and ask for another answer. What counts is the path from the first message to
`current_node`. The messages of branches that were left are counted as left out.

The agent calls a tool by a message that has the tool as its `recipient`.
"""

from __future__ import annotations

from collections.abc import Iterator

from theorex_lab.files.transcripts.message_pieces import (
    MessageOrigin,
    message_pieces,
    parsed_json,
    speaker_of,
)
from theorex_lab.files.transcripts.messages import Row, kind_name, object_of, time_of
from theorex_lab.files.transcripts.pieces import (
    ANSWER,
    CALL,
    MESSAGE,
    PROMPT,
    TOOL,
    Piece,
    ToldAtOnce,
    TraceEntry,
)

# A tuple, since a broken content may have anything at the place of a kind.
_WORDS = (
    "text",
    "multimodal_text",
    "code",
    "execution_output",
    "tether_quote",
    "tether_browsing_display",
    "system_error",
)
_TEXT_MEMBERS = ("text", "result")


class ChatGpt(ToldAtOnce):
    """Finds the pieces of conversations.

    Args:
        stem: The session of conversations without an id.
    """

    name = "chatgpt"

    def __init__(self, stem: str) -> None:
        self._stem = stem

    @staticmethod
    def reads(row: Row) -> bool:
        """Return whether an object is a conversation of this form."""
        has_tree = isinstance(row.get("mapping"), dict)
        return has_tree and ("current_node" in row or "create_time" in row)

    def entries(self, row: Row, number: int | str) -> Iterator[TraceEntry]:
        """See `PieceForm`. An export lists the latest conversation first."""
        yield TraceEntry(row, number, time_of(row.get("create_time")))

    def ending(self, entry: TraceEntry) -> Iterator[Piece]:
        """See `PieceForm`."""
        row = entry.row
        number = entry.number
        session = (
            row.get("conversation_id") or row.get("id") or f"{self._stem} {number}"
        )
        origin = MessageOrigin(
            str(session),
            number,
            row.get("create_time"),
        )
        nodes = object_of(row.get("mapping"))
        path = _path(nodes, row.get("current_node"))
        if not path:
            silent = "conversation in which nothing was said"
            yield origin.left_out(silent)
        open_calls: dict[str, str] = {}
        for index, name in enumerate(path):
            message = object_of(nodes[name]).get("message")
            stated_at = object_of(message).get("create_time")
            if stated_at:
                # What states no time stands where the message before it does.
                origin = origin._replace(timestamp=stated_at)
            pieces = _pieces_of(
                message,
                name,
                origin,
                open_calls,
            )
            is_last = index == len(path) - 1
            yield from pieces[:-1]
            yield pieces[-1]._replace(ends=is_last)
        on_path = set(path)
        for name, node in nodes.items():
            if name not in on_path:
                yield origin.left_out(_kind_of_left(node))


def _path(
    nodes: Row,
    current: object,
) -> list[str]:
    """Return the nodes from the first to the current one, each once.

    The current one is the latest message where none is named.
    """
    if not isinstance(current, str) or current not in nodes:
        current = _latest(nodes)
    path: dict[str, None] = {}
    while isinstance(current, str) and current in nodes and current not in path:
        path[current] = None
        current = object_of(nodes[current]).get("parent")
    return list(path)[::-1]


def _latest(nodes: Row) -> str | None:
    """Return the node that no other comes after, the last of them."""
    parents = set[str]()
    for node in nodes.values():
        parent = object_of(node).get("parent")
        if isinstance(parent, str):
            parents.add(parent)
    latest = None
    for name in nodes:
        if name not in parents:
            latest = name
    return latest


def _kind_of_left(node: object) -> str:
    """Return what kind of node it is that is not on the path."""
    if object_of(object_of(node).get("message")):
        return "message of a branch that was left"
    return "node without a message"


def _pieces_of(
    message: object, name: str, origin: MessageOrigin, open_calls: dict[str, str]
) -> list[Piece]:
    """Return the pieces of a node's message, at least one.

    Args:
        message: The message.
        name: The node's name.
        origin: The conversation.
        open_calls: By tool, the last call of it; is added to.
    """
    if message is None:
        return [origin.left_out("node without a message")]
    if not isinstance(message, dict):
        return [origin.unread("a message is no object of JSON")]
    author = object_of(message.get("author"))
    own_id = message.get("id") or name
    origin = origin._replace(own=own_id)
    metadata = object_of(message.get("metadata"))
    if metadata.get("is_visually_hidden_from_conversation") is True:
        return [origin.left_out("hidden message")]
    role = speaker_of(author)
    recipient = message.get("recipient")
    if role == "assistant" and isinstance(recipient, str) and recipient != "all":
        open_calls[recipient] = str(own_id)
        return [
            _call(
                message,
                recipient,
                origin,
            )
        ]
    if role == "tool":
        return [
            _answer(
                message,
                author.get("name"),
                origin,
                open_calls,
            )
        ]
    content = _as_content(object_of(message.get("content")))
    return message_pieces({"role": author.get("role"), "content": content}, origin)


def _as_content(content: Row) -> list[object]:
    """Return a content as blocks, with a block of its kind where it is nobody's word."""
    kind = content.get("content_type")
    if kind not in _WORDS:
        return [{"type": kind_name(kind)}]
    blocks = list[object]()
    parts = content.get("parts")
    if isinstance(parts, list):
        for part in parts:
            blocks.append(_block_of(part))
    for member in _TEXT_MEMBERS:
        if isinstance(content.get(member), str):
            blocks.append(content[member])
    return blocks


def _block_of(part: object) -> object:
    """Return a part of a content as a block: its words, or its kind."""
    members = object_of(part)
    if not members:
        return part
    text = members.get("text")
    kind = members.get("content_type")
    if isinstance(text, str):
        return {"type": "text", "text": text}
    return {"type": kind_name(kind)}


def _words(message: Row) -> str:
    """Return the words of a message."""
    content = _as_content(object_of(message.get("content")))
    pieces = message_pieces({"role": "user", "content": content}, _NOWHERE)
    texts = [piece.text for piece in pieces if piece.kind in (PROMPT, MESSAGE)]
    return "\n".join(texts)


_NOWHERE = MessageOrigin("", "")


def _call(
    message: Row,
    tool: str,
    origin: MessageOrigin,
) -> Piece:
    """Return the call of a tool that a message is."""
    words = _words(message)
    arguments = parsed_json(words)
    if not isinstance(arguments, dict):
        arguments = {"input": words}
    call = origin.piece(CALL)
    return call._replace(
        call=str(origin.own),
        tool=tool,
        arguments=arguments,
    )


def _answer(
    message: Row, tool: object, origin: MessageOrigin, open_calls: dict[str, str]
) -> Piece:
    """Return the answer of a tool; where none called it, the call as well."""
    content = object_of(message.get("content"))
    failed = content.get("content_type") == "system_error"
    call = open_calls.pop(str(tool), None)
    kind = TOOL if call is None else ANSWER
    answer = origin.piece(kind)
    return answer._replace(
        call=call,
        tool=tool,
        answer=_words(message),
        failed=failed,
    )
