"""The steps of a session in a tenth of the memory, unpacked whenever they are looked at.

The briefing of a home of all projects looks at the sessions of all of them. What would
take a gigabyte for a million events takes a hundred megabytes here. Packed steps stay
in the memory of one process: they are no format. Standard library only.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

Step = TypeVar("Step")
# Of steps that are looked at a few times, more than this costs more than it saves.
_LEVEL = 1


class PackedSteps(Sequence[Step]):
    """A sequence of steps that is unpacked anew whenever it is looked at.

    Equal steps come each time, and not the same ones.

    >>> steps = PackedSteps(["open the till", "count it"])
    >>> len(steps), list(steps), steps[-1]
    (2, ['open the till', 'count it'], 'count it')
    """

    __slots__ = ("_length", "_packed")

    def __init__(self, steps: Sequence[Step]) -> None:
        self._length = len(steps)
        pickled = pickle.dumps(
            tuple(steps),
            pickle.HIGHEST_PROTOCOL,
        )
        self._packed = zlib.compress(pickled, _LEVEL)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Step]:
        return iter(self._steps())

    @overload
    def __getitem__(self, index: int) -> Step: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Step]: ...

    def __getitem__(self, index: int | slice) -> Step | Sequence[Step]:
        return self._steps()[index]

    def _steps(self) -> tuple[Step, ...]:
        pickled = zlib.decompress(self._packed)
        steps: tuple[Step, ...] = pickle.loads(pickled)
        return steps
