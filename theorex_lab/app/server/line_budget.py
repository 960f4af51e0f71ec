"""How many lines a server writes of what repeats, so that no caller fills its log."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

_LINES_AT_FIRST = 3  # of one kind, in one window
_WINDOW_SECONDS = 60.0
_MOST_KINDS = 64
_OTHER = "other lines"  # what all further kinds are counted as


@dataclass
class _Window:
    began: float
    shown: int = 0
    held: int = 0


class LineBudget:
    """The lines of each kind: the first ones are shown, the rest is counted.

    Args:
        now: Returns the time in seconds since 1970.
        lines: How many lines of one kind are shown in a window.
        window: How long a window is, in seconds.

    >>> budget = LineBudget(lambda: 0.0, lines=1)
    >>> budget.admits("refused"), budget.admits("refused"), budget.admits("refused")
    (True, False, False)
    >>> budget.summaries(at_end=True)
    ['2 more since 00:00:00 UTC: refused']
    """

    def __init__(
        self,
        now: Callable[[], float] = time.time,
        *,
        lines: int = _LINES_AT_FIRST,
        window: float = _WINDOW_SECONDS,
    ) -> None:
        self._now = now
        self._lines = lines
        self._seconds = window
        self._windows: dict[str, _Window] = {}

    def admits(self, kind: str) -> bool:
        """Return whether one more line of a kind may be shown; count it where not."""
        if kind not in self._windows and len(self._windows) >= _MOST_KINDS:
            kind = _OTHER
        window = self._windows.setdefault(kind, _Window(self._now()))
        if window.shown < self._lines:
            window.shown += 1
            return True
        window.held += 1
        return False

    def summaries(self, *, at_end: bool = False) -> list[str]:
        """Return how many lines of each kind were only counted, and begin new windows.

        Args:
            at_end: Whether windows that are not over are ended too.
        """
        now = self._now()
        lines: list[str] = []
        for kind, window in list(self._windows.items()):
            if not at_end and 0 <= now - window.began < self._seconds:
                continue
            del self._windows[kind]
            if window.held:
                since = time.strftime("%H:%M:%S UTC", time.gmtime(window.began))
                lines.append(f"{window.held} more since {since}: {kind}")
        return lines


class BoundedLog(logging.Filter):
    """A filter of a logger that shows a few records of a kind, and counts the rest.

    The kind of a record is its text before arguments are put in. What a stranger sent
    wrong is told without a traceback.

    Args:
        logger: The logger, in which `summarise` tells how many were counted.
        budget: How many records are shown.
        is_strangers: Returns whether an exception is a stranger's fault.
        plain: What stands in the place of a record's text.
    """

    def __init__(
        self,
        logger: logging.Logger,
        budget: LineBudget,
        is_strangers: Callable[[BaseException], bool] = lambda _: False,
        *,
        plain: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__()
        self._logger = logger
        self._budget = budget
        self._is_strangers = is_strangers
        self._plain = plain

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is shown."""
        if getattr(record, "is_summary", False):
            return True
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and self._is_strangers(error):
            record.exc_info = None
            record.exc_text = None
        record.msg = self._plain.get(record.msg, record.msg)
        return self._budget.admits(str(record.msg).strip())

    def summarise(self, *, at_end: bool = False) -> None:
        """Tell how many records were only counted in the windows that are over."""
        for line in self._budget.summaries(at_end=at_end):
            self._logger.error("%s", line, extra={"is_summary": True})
