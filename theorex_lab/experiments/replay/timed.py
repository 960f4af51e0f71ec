"""A memory that is driven from outside: every call has a deadline, and what it gives back is checked."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from theorex_lab.design import Item, MemoryDesign
from theorex_lab.errors import TheorexError
from theorex_lab.memory.filling import count_tokens


class Failed(TheorexError):
    """A memory raised, did not answer in time, or gave what cannot be right; the text says which."""


class Guarded:
    """Calls a memory in a thread of its own, so that one that hangs is left behind.

    seconds: CPU seconds that its calls took, by the name of the method.  timeout: seconds that a call may take, None for
    any time. A thread that hangs ends with the process.
    """

    def __init__(self, make: Callable[[], MemoryDesign], timeout: float | None = None) -> None:
        """Make the memory in that thread. Raises Failed where that fails."""
        self.seconds: dict[str, float] = {}
        self.memory: Any = None
        self._timeout = timeout
        self._jobs: queue.SimpleQueue[tuple[str, Callable[[], Any]] | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
        self._lost = False  # whether a call is still under way, and nothing can be asked any more
        threading.Thread(target=self._work, daemon=True).start()
        self.memory = self._call("make", make)

    def call(self, name: str, *given: Any) -> Any:
        """What the memory's method gives, None where it has none of that name. Raises Failed."""
        return self._call(name, lambda: getattr(self.memory, name)(*given) if hasattr(self.memory, name) else None)

    def items(self, name: str, *given: Any) -> Any:
        """What `inject` or `retrieve` gives, read to its end, so that a generator has the deadline too. Raises Failed."""
        return self._call(name, lambda: _read(getattr(self.memory, name)(*given)))

    def close(self) -> None:
        """Close the memory, where it can be closed, and end its thread. Raises Failed where closing fails."""
        try:
            if not self._lost:
                self.call("close")
        finally:
            self._jobs.put(None)

    def _call(self, name: str, job: Callable[[], Any]) -> Any:
        if self._lost:
            raise Failed("an earlier call did not answer in time")
        self._jobs.put((name, job))
        try:
            found, error = self._answers.get(timeout=self._timeout)
        except queue.Empty:
            self._lost = True
            raise Failed(f"{name} did not answer within {self._timeout:g} s") from None
        if error is not None:
            raise Failed(f"{name} raised {type(error).__name__}: {error}") from error
        return found

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            name, function = job
            begun = time.thread_time()
            try:
                answer: tuple[Any, BaseException | None] = (function(), None)
            # Whatever a memory of somebody else's raises is its result; `_call` raises it again as Failed.
            except (Exception, SystemExit) as error:  # noqa: BLE001
                answer = (None, error)
            self.seconds[name] = self.seconds.get(name, 0.0) + time.thread_time() - begun
            self._answers.put(answer)


def _read(items: Any) -> Any:
    return list(items) if isinstance(items, Iterable) and not isinstance(items, str) else items


def checked(items: Any, known: Collection[str], tokens: int | None) -> Sequence[Item]:
    """The items, if they may count: texts, resting on events that were shown, within the budget (None: any).

    Raises Failed saying what is wrong.
    """
    if not isinstance(items, list):
        raise Failed(f"got a {type(items).__name__} that holds no items; allowed are (text, event ids)")
    found = [_checked(item, known) for item in items]
    used = count_tokens("\n".join(item.text for item in found))
    if tokens is not None and used > tokens:
        raise Failed(f"got {used} tokens; allowed were {tokens}")
    return found


def _checked(given: Any, known: Collection[str]) -> Item:
    if not isinstance(given, tuple | list) or not 1 <= len(given) <= 2 or not isinstance(given[0], str):
        shown = type(given[0] if isinstance(given, tuple | list) and given else given).__name__
        raise Failed(f"got an item whose text is a {shown}; allowed are (text, event ids)")
    item, events = Item(*given), given[1] if len(given) == 2 else ()
    try:
        item.text.encode()
    except UnicodeEncodeError as error:
        raise Failed("got half a surrogate pair in a text; allowed is whole Unicode text") from error
    if isinstance(events, str) or not isinstance(events, Iterable):
        raise Failed(f"got event ids in a {type(events).__name__}; allowed are several")
    # Without the id, so that all answers that are wrong in this way are counted as one problem.
    if any(not isinstance(event, str) or event not in known for event in events):
        raise Failed("got an item that rests on an unknown id; allowed are events that it was shown before")
    return item
