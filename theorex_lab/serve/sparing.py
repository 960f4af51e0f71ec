"""A log that strangers cannot fill: lines that say the same are written a few times a minute, and counted beyond that."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

_WINDOW_SECONDS = 60.0
_MOST_KINDS = 64  # messages that differ are counted apart, up to so many


class Sparing(logging.Filter):
    """Lets `most` lines of a kind through in a minute; the first line after that minute says how many were left out.

    Lines are of one kind where their text before the arguments is the same.

    >>> now = 0.0
    >>> sparing = Sparing(most=1, now=lambda: now)
    >>> line = logging.makeLogRecord({"msg": "refused"})
    >>> [sparing.filter(line) for _ in range(3)], sparing.left_out()
    ([True, False, False], ['refused (2 times more)'])
    """

    def __init__(self, most: int = 5, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._most, self._now, self._lock = most, now, threading.Lock()
        self._kinds: dict[str, tuple[float, int]] = {}  # when its minute began, lines since

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written; where lines of its kind were left out before, it then says so."""
        kind = str(record.msg)
        with self._lock:
            if kind not in self._kinds and len(self._kinds) >= _MOST_KINDS:
                kind = ""
            began, lines = self._kinds.get(kind, (self._now(), 0))
            if self._now() - began < _WINDOW_SECONDS:
                self._kinds[kind] = began, lines + 1
                return lines < self._most
            self._kinds[kind] = self._now(), 1
        if lines > self._most:
            record.msg, record.args = (
                f"{record.getMessage()} ({_times(lines - self._most)} since the last such line)",
                (),
            )
        return True

    def left_out(self) -> list[str]:
        """The omitted log lines, one line a kind; they count as reported afterwards."""
        with self._lock:
            told = [
                f"{kind or 'other lines'} ({_times(lines - self._most)})"
                for kind, (_, lines) in self._kinds.items()
                if lines > self._most
            ]
            self._kinds.clear()
        return told


def _times(count: int) -> str:
    return f"{count} times more" if count > 1 else "once more"
