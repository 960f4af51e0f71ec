"""The signals that ask a process to end: SIGTERM, and SIGHUP when its terminal closes."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], object] | signal.Handlers
Handlers = dict[signal.Signals, Any]


def on_end(handler: Handler) -> Handlers:
    """Let `handler` take the signals that ask to end; returns who took them before, for `restore`.

    One that is ignored stays so: `nohup` means a process to outlive its terminal.
    """
    known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    return {sign: signal.signal(sign, handler) for sign in known if signal.getsignal(sign) is not signal.SIG_IGN}


def restore(before: Handlers) -> None:
    """Give the signals back."""
    for sign, handler in before.items():
        signal.signal(sign, handler)
