"""The end of a command that runs for long.

A signal that asks for it leaves everything in order.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


def ending() -> list[signal.Signals]:
    """Return the signals that ask this process to end, as the system knows them.

    One that is ignored is none: `nohup` means a process to outlive its terminal.
    """
    signals = [
        getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
    ]
    return [sign for sign in signals if signal.getsignal(sign) is not signal.SIG_IGN]


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Let a signal that asks to end do so as an exception does.

    So what is begun is put in order.
    """

    def end(number: int, _: object) -> NoReturn:
        # a terminal that closes sends both, and the second would break off the writing
        for sign in ending():
            signal.signal(sign, signal.SIG_IGN)
        sys.exit(128 + number)

    before = {sign: signal.signal(sign, end) for sign in ending()}
    try:
        yield
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)
