"""The signals that ask a process to end: SIGTERM, and SIGHUP when its terminal closes."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

Handler = Callable[[int, FrameType | None], object] | signal.Handlers
Handlers = dict[signal.Signals, Any]


def ending() -> list[signal.Signals]:
    """The signals that ask this process to end, as the system knows them.

    One that is ignored is none: `nohup` means a process to outlive its terminal.
    """
    known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    return [sign for sign in known if signal.getsignal(sign) is not signal.SIG_IGN]


def on_end(handler: Handler) -> Handlers:
    """Let `handler` take the signals that ask to end; returns who took them before, for `restore`."""
    return {sign: signal.signal(sign, handler) for sign in ending()}


def restore(before: Handlers) -> None:
    """Give the signals back."""
    for sign, handler in before.items():
        signal.signal(sign, handler)


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Within, a signal that asks to end ends the process as an exception does, so that what is begun is put in order."""

    def end(number: int, _: object) -> NoReturn:
        on_end(signal.SIG_IGN)  # a terminal that closes sends both, and the second would break off the writing
        sys.exit(128 + number)

    before = on_end(end)
    try:
        yield
    finally:
        restore(before)
