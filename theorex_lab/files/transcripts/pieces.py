"""Pieces of conversations, and what they tell.

Programs that record conversations write them in many forms. The reader of a form turns
what it finds into pieces: a prompt, a message, a call, an answer, a note. What they tell
is the same for all forms, and stands here.

A message may have several pieces. Each counts as a line of its own, so that whatever
came in is kept or reported.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterator
from typing import NamedTuple, Protocol, runtime_checkable

from theorex_lab.core.errors import InvalidInput
from theorex_lab.files.transcripts.messages import (
    NOTE_EVENT,
    MessageSource,
    OpenCalls,
    OpenTurns,
    Row,
    Utterance,
)

# What a piece may be.
PROMPT = "prompt"
MESSAGE = "message"
CALL = "call"
ANSWER = "answer"
TOOL = "tool"  # a call together with its answer
NOTE = "note"
LEFT_OUT = "left out"
UNREAD = "unread"

_REPEATED = {
    PROMPT: "prompt with the id and the words of an earlier one",
    MESSAGE: "message with the id and the words of an earlier one",
    NOTE: "note with the words of an earlier one",
    ANSWER: "answer to a call that was answered before",
    TOOL: "call that was answered before",
}
_MOST_MIXED_REQUESTS = 32
_SILENT = {
    PROMPT: "user: words of the program",
    MESSAGE: "assistant: message within a turn",
    CALL: "assistant: call without an answer",
    TOOL: "tool that was called, without its answer",
}


class Piece(NamedTuple):
    """One thing that a conversation holds.

    Attributes:
        kind: What it is, one of the kinds above.
        session: The session.
        own: Its id within the session.
        timestamp: The time, as it is stated.
        cwd: The folder of the session.
        texts: Its words. Of what is left out its kind, of what cannot be read the
            reason.
        call: The id of a call, None for none.
        tool: The name of a tool.
        arguments: What a tool is given.
        answer: What a tool answers.
        failed: Whether the tool failed.
        ends: Whether the conversation ends with it.
    """

    kind: str
    session: str
    own: object = ""
    timestamp: object = None
    cwd: object = None
    texts: tuple[str, ...] = ()
    call: object = None
    tool: object = None
    arguments: object = None
    answer: object = None
    failed: bool = False
    ends: bool = False

    @property
    def text(self) -> str:
        """Return its words as one text."""
        return "\n".join(self.texts)

    def digest(self) -> int:
        """Return a hash of what it says, without where and when."""
        values = (self.call, self.tool, self.arguments, self.answer)
        return _fingerprint((self.kind, self.texts, values))


class TraceEntry(NamedTuple):
    """A part of a file that has its own time.

    Attributes:
        row: Its object.
        number: The number of the line that it stands in.
        start: When it began, in µs UTC; None where that is unknown.
        end: When it ended; None for when it began.
        kind: What it is, in the words of its form.
        session: Its session, where its object does not name it.
    """

    row: Row
    number: int | str
    start: int | None = None
    end: int | None = None
    kind: str = ""
    session: str = ""


@runtime_checkable
class PieceForm(Protocol):
    """Finds the pieces in the objects of one file.

    All objects are looked through for entries before the first entry tells anything.
    """

    name: str

    def entries(self, row: Row, number: int | str) -> Iterator[TraceEntry]:
        """Yield the entries in an object.

        Args:
            row: The object.
            number: The number of its line, or its position in a list.

        Raises:
            InvalidInput: It cannot be read, wholly or from some place on.
        """

    def beginning(self, entry: TraceEntry) -> Iterator[Piece]:
        """Yield what an entry was given."""

    def ending(self, entry: TraceEntry) -> Iterator[Piece]:
        """Yield what came of it, at least one piece where it was given nothing.

        Raises:
            InvalidInput: It cannot be read, wholly or from some place on.
        """


class ToldAtOnce:
    """A form whose entries tell all at one time."""

    def beginning(self, entry: TraceEntry) -> Iterator[Piece]:  # noqa: ARG002
        """See `PieceForm`."""
        yield from ()


class PieceReader:
    """Reads pieces, as rows, in order.

    Args:
        name: The name of the form that they come from.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._turns: dict[str, OpenTurns] = defaultdict(OpenTurns)
        self._calls = _SessionCalls()
        self._ids = _UsedIds()
        self._is_repeated = False

    def feed(
        self,
        row: Row,
        number: int | str,
        size: int,
    ) -> Iterator[Utterance]:
        """See `Reader`."""
        piece = Piece(**row)
        turns = self._turns[piece.session]
        self._is_repeated = False
        if piece.kind == PROMPT:
            yield from self._prompt(
                piece,
                number,
                turns,
            )
        elif piece.kind == MESSAGE:
            source = self._source(piece, number)
            if source is not None:
                turns.says(source, piece.text)
        elif piece.kind == NOTE:
            source = self._source(piece, number)
            if source is not None:
                event = {"hook_event_name": NOTE_EVENT, "text": piece.text}
                yield source.says(event, NOTE)
        elif piece.kind == CALL:
            turns.goes_on()
            self._calls.begin(
                piece,
                number,
                size,
            )
        elif piece.kind in (ANSWER, TOOL):
            yield from self._answered(
                piece,
                number,
                size,
            )
        if piece.ends:
            yield from turns.all_ended()
        if piece.kind == UNREAD:
            raise InvalidInput(piece.text)

    def end(self) -> Iterator[Utterance]:
        """See `Reader`."""
        for turns in self._turns.values():
            yield from turns.all_ended()

    def kind_of(self, row: Row) -> str:
        """See `Reader`."""
        piece = Piece(**row)
        if piece.kind == LEFT_OUT:
            return piece.text
        if self._is_repeated:
            return _REPEATED[piece.kind]
        return _SILENT.get(piece.kind, piece.kind)

    def _prompt(
        self, piece: Piece, number: int | str, turns: OpenTurns
    ) -> Iterator[Utterance]:
        source = self._source(piece, number)
        prompts = source.prompt([*piece.texts]) if source is not None else []
        if prompts:
            yield from [*turns.ended(), *prompts]

    def _answered(
        self, piece: Piece, number: int | str, size: int
    ) -> Iterator[Utterance]:
        """Yield a call with its answer.

        Raises:
            InvalidInput: There is no such call.
        """
        if piece.kind == TOOL and piece.call is None:
            piece = piece._replace(call=self._calls.open_like(piece))
        is_open = self._calls.is_open(piece)
        if self._calls.was_answered(piece) and not is_open:
            self._is_repeated = True
            return
        if piece.kind == TOOL and not is_open:
            self._turns[piece.session].goes_on()
            self._calls.begin(
                piece,
                number,
                size,
            )
        elif _is_silent(piece):
            return  # the next request may tell its answer
        source = MessageSource(
            piece.session,
            piece.own,
            piece.timestamp,
            piece.cwd,
            rows=(number,),
        )
        utterance = self._calls.answered(piece, source)
        if self._ids.has(
            piece.session,
            utterance.own,
            utterance.hook,
        ):
            self._is_repeated = True
            return
        own_id = self._ids.unused(
            piece.session,
            utterance.own,
            utterance.hook,
        )
        yield utterance._replace(own=own_id)

    def _source(
        self,
        piece: Piece,
        number: int | str,
    ) -> MessageSource | None:
        """Return where a piece stands; None where the same was told there before."""
        key = f"{piece.kind} {piece.own}"
        if self._ids.has(
            piece.session,
            key,
            piece.texts,
        ):
            self._is_repeated = True
            return None
        name = self._ids.unused(
            piece.session,
            key,
            piece.texts,
        )
        own_id = str(piece.own) + name.removeprefix(key)
        return MessageSource(
            piece.session,
            own_id,
            piece.timestamp,
            piece.cwd,
            rows=(number,),
        )


def _is_silent(piece: Piece) -> bool:
    """Return whether a piece says that a tool was used, and not how it went."""
    return piece.kind == TOOL and piece.answer is None and not piece.failed


class _UsedIds:
    """The ids that were given within each session, and for which words."""

    def __init__(self) -> None:
        self._digests: dict[tuple[str, str], set[int]] = defaultdict(set)

    def has(
        self,
        session: str,
        own_id: str,
        content: object,
    ) -> bool:
        """Return whether an id was given to these words."""
        return _fingerprint(content) in self._digests.get((session, own_id), ())

    def unused(
        self,
        session: str,
        own_id: str,
        content: object,
    ) -> str:
        """Return the id, with a number where other words have it."""
        digests = self._digests[session, own_id]
        digests.add(_fingerprint(content))
        return own_id if len(digests) == 1 else f"{own_id} #{len(digests)}"


def _fingerprint(content: object) -> int:
    """Return a hash of texts and values; what nests too deeply shares one."""
    try:
        return hash(repr(content))
    except RecursionError:
        return 0


def _request_print(piece: Piece) -> int:
    """Return a hash of a tool and its arguments, in whatever order they are listed."""
    arguments = piece.arguments
    if isinstance(arguments, dict):
        arguments = sorted(arguments.items(), key=str)
    return _fingerprint((piece.tool, arguments))


class _SessionCalls:
    """The calls of each session; some have no id.

    An answer without an id is that of the oldest call without one, of its tool where it
    names one.
    """

    def __init__(self) -> None:
        self._calls = OpenCalls()
        self._open = set[tuple[str, str]]()
        self._answered = set[tuple[str, str]]()
        self._nameless: dict[str, list[tuple[str, str]]] = defaultdict(list)
        # By session, tool and arguments, the ids of calls.
        self._alike: dict[tuple[str, int], list[str]] = defaultdict(list)

    def begin(
        self,
        piece: Piece,
        number: int | str,
        size: int,
    ) -> None:
        call = self._id_of(piece, number)
        if piece.call is None and piece.kind == CALL:
            self._nameless[piece.session].append((str(piece.tool), call))
        self._open.add((piece.session, call))
        if piece.call is not None and piece.kind == CALL:
            self._alike[piece.session, _request_print(piece)].append(call)
        self._calls.begin(
            f"{piece.session}\0{call}",
            piece.tool,
            piece.arguments,
            size=size,
            row=number,
        )

    def is_open(self, piece: Piece) -> bool:
        return (piece.session, str(piece.call)) in self._open

    def open_like(self, piece: Piece) -> str | None:
        """Return the oldest open call of the same tool with the same arguments."""
        calls = self._alike.get((piece.session, _request_print(piece)), [])
        for call in calls:
            if (piece.session, call) in self._open:
                return call
        return None

    def was_answered(self, piece: Piece) -> bool:
        return (piece.session, str(piece.call)) in self._answered

    def answered(
        self,
        piece: Piece,
        source: MessageSource,
    ) -> Utterance:
        """Return a call with its answer, and the id that it has in its session.

        Raises:
            InvalidInput: There is no such call.
        """
        call = self._id_of(piece, source.rows[0])
        if piece.call is None and piece.kind == ANSWER:
            call = self._oldest_nameless(piece)
        member = "error" if piece.failed else "tool_response"
        answer = {member: piece.answer}
        utterance = self._calls.answered(
            source,
            f"{piece.session}\0{call}",
            answer,
        )
        self._open.discard((piece.session, call))
        if piece.call is not None:
            self._answered.add((piece.session, call))
        return utterance._replace(own=f"{TOOL} {call}")

    def _id_of(
        self,
        piece: Piece,
        number: int | str,
    ) -> str:
        if piece.call is not None:
            return str(piece.call)
        return f"of {piece.own}" if piece.kind == TOOL else f"at {number}"

    def _oldest_nameless(self, piece: Piece) -> str:
        waiting = self._nameless[piece.session]
        for index, (tool, call) in enumerate(waiting):
            if piece.tool is None or tool == str(piece.tool):
                del waiting[index]
                return call
        return ""


class Requests:
    """Tells what is new in the requests that a model gets.

    Each request repeats the conversation that precedes it. A piece is a repetition where
    a session has told it as often as the request holds it up to there.
    """

    def __init__(self) -> None:
        # By session and piece, how often a request held it, and how often a model said it.
        self._in_request: dict[tuple[str, int], int] = defaultdict(int)
        self._from_model: dict[tuple[str, int], int] = defaultdict(int)
        # By request, how often it holds each, so far. Parts of the latest may come mixed.
        self._counts: OrderedDict[str, Counter[tuple[str, int]]] = OrderedDict()

    def request(
        self,
        pieces: list[Piece],
        request_id: str,
    ) -> Iterator[Piece]:
        """Yield the pieces of a request; what was told before is left out.

        Args:
            pieces: The pieces, or the next ones where the request comes in parts.
            request_id: The id of the request.
        """
        counts = self._counts.setdefault(request_id, Counter())
        if len(self._counts) > _MOST_MIXED_REQUESTS:
            self._counts.popitem(last=False)
        for piece in pieces:
            key = (piece.session, piece.digest())
            counts[key] += 1
            n_told = max(self._in_request[key], self._from_model[key])
            self._in_request[key] = max(self._in_request[key], counts[key])
            yield piece if counts[key] > n_told else _repetition(piece)

    def reply(self, pieces: list[Piece]) -> Iterator[Piece]:
        """Yield the pieces of a model's reply.

        What a request that was read before repeats of it is left out.
        """
        for piece in pieces:
            key = (piece.session, piece.digest())
            self._from_model[key] += 1
            is_new = self._from_model[key] > self._in_request[key]
            yield piece if is_new else _repetition(piece)


def _repetition(piece: Piece) -> Piece:
    texts = ("repeated by a request, or by a span around it",)
    return Piece(
        LEFT_OUT,
        piece.session,
        timestamp=piece.timestamp,
        texts=texts,
    )
