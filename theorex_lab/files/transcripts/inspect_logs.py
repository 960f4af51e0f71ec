"""Logs of inspect_ai in its JSON form: an evaluation with its samples.

Each sample is a session, which holds its messages. A log whose samples lie in files of
their own, and one in the form .eval, is not read: `inspect log convert --to json` makes
it one that is.
"""

from __future__ import annotations

from collections.abc import Iterator

from theorex_lab.files.transcripts.message_pieces import MessageOrigin, message_pieces
from theorex_lab.files.transcripts.messages import Row, object_of, time_of
from theorex_lab.files.transcripts.pieces import Piece, ToldAtOnce, TraceEntry

_NO_SAMPLES = "log without samples"


class InspectLog(ToldAtOnce):
    """Finds the pieces in the samples of a log.

    Args:
        stem: The name of a log that names no task.
    """

    name = "inspect"

    def __init__(self, stem: str) -> None:
        self._stem = stem

    @staticmethod
    def reads(row: Row) -> bool:
        """Return whether an object is of this form."""
        head = object_of(row.get("eval"))
        return "task" in head and ("samples" in row or "status" in row)

    def entries(
        self,
        row: Row,
        number: int | str,
    ) -> Iterator[TraceEntry]:
        """See `PieceForm`."""
        head = object_of(row.get("eval"))
        task = head.get("task") or self._stem
        run = head.get("run_id") or head.get("task_id") or number
        samples = row.get("samples")
        if not isinstance(samples, list) or not samples:
            yield TraceEntry(
                {},
                number,
                kind=_NO_SAMPLES,
                session=self._stem,
            )
            return
        for index, value in enumerate(samples):
            sample = object_of(value)
            name = sample.get("id", index)
            epoch = sample.get("epoch", 1)
            stated_at = sample.get("started_at") or head.get("created")
            told_members = {
                "messages": sample.get("messages"),
                "started_at": stated_at,
            }
            session = f"{task} {name} {epoch} {run}"
            yield TraceEntry(told_members, number, time_of(stated_at), session=session)

    def ending(self, entry: TraceEntry) -> Iterator[Piece]:
        """See `PieceForm`."""
        sample = entry.row
        origin = MessageOrigin(
            entry.session,
            "",
            sample.get("started_at"),
        )
        if entry.kind == _NO_SAMPLES:
            yield origin._replace(own=entry.number).left_out(_NO_SAMPLES)
        else:
            yield from _sample(sample, origin)


def _sample(
    sample: Row,
    origin: MessageOrigin,
) -> Iterator[Piece]:
    """Yield the pieces of a sample, at least one."""
    messages = sample.get("messages")
    if not isinstance(messages, list):
        yield origin.unread("a sample without a list of messages")
        return
    pieces = list[Piece]()
    for index, message in enumerate(messages):
        own_id = object_of(message).get("id") or index
        pieces += message_pieces(message, origin._replace(own=own_id))
    if not pieces:
        pieces = [origin.left_out("sample in which nothing was said")]
    yield from pieces[:-1]
    yield pieces[-1]._replace(ends=True)
