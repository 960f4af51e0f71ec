"""What other memories wrote down: notes, which are nobody's own word here.

- `memory.jsonl` of the reference MCP memory server: a line is an entity with its
  observations, or a relation between two entities.
- An export of mem0: a list of memories, or an object with `results` and `relations`.

A note has its id by its words, so that a file which was written again comes in once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from theorex_lab.files.transcripts.message_pieces import MessageOrigin
from theorex_lab.files.transcripts.messages import (
    NOTE_CHARACTERS,
    Row,
    object_of,
    time_of,
)
from theorex_lab.files.transcripts.pieces import NOTE, Piece, ToldAtOnce, TraceEntry
from theorex_lab.text.redact.masking import mask
from theorex_lab.text.visible import visible

_DIGEST_DIGITS = 16
_LISTS = ("results", "memories")
_RELATION = "relation"
_RELATION_PARTS = 3


class McpMemoryFile(ToldAtOnce):
    """Finds the notes in the file of the reference MCP memory server.

    Args:
        stem: The session of the notes.
    """

    name = "mcp-memory"

    def __init__(self, stem: str) -> None:
        self._origin = MessageOrigin(stem, "")

    @staticmethod
    def reads(row: Row) -> bool:
        """Return whether a line is of this form."""
        is_entity = row.get("type") == "entity" and "entityType" in row
        is_relation = row.get("type") == "relation" and "relationType" in row
        return is_entity or is_relation

    def entries(self, row: Row, number: int | str) -> Iterator[TraceEntry]:
        """See `PieceForm`. Nothing in such a file has a time."""
        yield TraceEntry(row, number)

    def ending(self, entry: TraceEntry) -> Iterator[Piece]:
        """See `PieceForm`."""
        row = entry.row
        kind = row.get("type")
        if kind == "entity":
            yield from self._entity(row)
        elif kind == "relation":
            yield from _relation_pieces(
                row.get("from"), row.get("relationType"), row.get("to"), self._origin
            )
        else:
            yield self._origin.unread("no entity and no relation")

    def _entity(self, row: Row) -> Iterator[Piece]:
        name = row.get("name")
        entity_type = row.get("entityType")
        observations = row.get("observations")
        if not isinstance(name, str):
            yield self._origin.unread("an entity without a name")
            return
        title = f"{name} ({entity_type})" if isinstance(entity_type, str) else name
        if not isinstance(observations, list):
            yield self._origin.unread("an entity without a list of observations")
            return
        if not observations:
            yield from note_pieces(title, self._origin)
        for observation in observations:
            text = observation
            if isinstance(observation, dict):
                text = observation.get("content")
            if isinstance(text, str):
                yield from note_pieces(f"{title}: {text}", self._origin)
            else:
                yield self._origin.unread("an observation is no text")


class Mem0Export(ToldAtOnce):
    """Finds the notes in an export of mem0.

    Args:
        stem: The session of notes that name no run.
    """

    name = "mem0"

    def __init__(self, stem: str) -> None:
        self._stem = stem

    @staticmethod
    def reads(row: Row) -> bool:
        """Return whether an object is of this form."""
        return _is_memory(row) or any(_holds_memories(row, name) for name in _LISTS)

    def entries(self, row: Row, number: int | str) -> Iterator[TraceEntry]:
        """See `PieceForm`."""
        lists = [row[name] for name in _LISTS if isinstance(row.get(name), list)]
        if not lists:
            lists = [[row]]
        for memories in lists:
            for value in memories:
                memory = object_of(value)
                yield TraceEntry(memory, number, time_of(_made_at(memory)))
        relations = row.get("relations")
        if isinstance(relations, list):
            for relation in relations:
                yield TraceEntry(object_of(relation), number, kind=_RELATION)

    def ending(self, entry: TraceEntry) -> Iterator[Piece]:
        """See `PieceForm`."""
        if entry.kind == _RELATION:
            yield from self._relation(entry.row)
        else:
            yield from self._memory(entry.row)

    def _memory(self, memory: Row) -> list[Piece]:
        session = memory.get("run_id")
        at = _made_at(memory)
        if not isinstance(session, str):
            session = self._stem
        origin = MessageOrigin(
            session,
            "",
            at,
        )
        text = memory.get("memory")
        if not isinstance(text, str):
            return [origin.unread("a memory without words")]
        return note_pieces(text, origin)

    def _relation(self, relation: Row) -> list[Piece]:
        target = relation.get("target") or relation.get("destination")
        verb = relation.get("relationship") or relation.get("relation")
        origin = MessageOrigin(self._stem, "")
        return _relation_pieces(
            relation.get("source"),
            verb,
            target,
            origin,
        )


def _made_at(memory: Row) -> object:
    return memory.get("created_at") or memory.get("updated_at")


def _relation_pieces(
    source: object, verb: object, target: object, origin: MessageOrigin
) -> list[Piece]:
    """Return the note that a relation is."""
    words = [word for word in (source, verb, target) if isinstance(word, str)]
    if len(words) < _RELATION_PARTS:
        return [origin.unread("a relation without two ends and a type")]
    return note_pieces(" ".join(words), origin)


def note_pieces(
    text: str,
    origin: MessageOrigin,
) -> list[Piece]:
    """Return a note, in parts where it is long, at least one piece.

    >>> [piece.text for piece in note_pieces("The port is 8080", MessageOrigin("s", ""))]
    ['The port is 8080']
    """
    # Masked as a whole: of a secret that is cut in two no half would be recognized.
    clean = mask(text.replace("\0", "").encode("utf-8", "replace").decode())
    pieces = list[Piece]()
    for start in range(
        0,
        len(clean),
        NOTE_CHARACTERS,
    ):
        part = clean[start : start + NOTE_CHARACTERS]
        if visible(part).strip():
            digest = hashlib.sha256(part.encode()).hexdigest()
            own_id = digest[:_DIGEST_DIGITS]
            pieces.append(origin._replace(own=own_id).piece(NOTE, part))
    return pieces or [origin.unread("a note without words")]


def _is_memory(row: Row) -> bool:
    """Return whether an object is a memory of mem0."""
    has_id = "id" in row or "hash" in row
    return has_id and isinstance(row.get("memory"), str)


def _holds_memories(
    row: Row,
    name: str,
) -> bool:
    """Return whether a list of this name holds memories."""
    values = row.get(name)
    if not isinstance(values, list) or not values:
        return False
    return _is_memory(object_of(values[0]))
