"""Say how far a long piece of work is: where somebody watches, and nowhere else.

What is counted has a bar. What cannot be counted has a notice: one line that says what
is done, and for how long. Both begin once the work has lasted two seconds.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, TextIO

_DELAY_SECONDS = 2.0
_SECONDS_BETWEEN = 1.0
_START_OF_LINE = "\r"
_CLEAR_LINE = "\r\x1b[2K"


class Notice:
    """One line on a terminal that says what is being done.

    A thread of its own writes it, so that it appears while the work goes on. It is
    silent while it is paused, as during a bar or a question.

    Args:
        what: What is being done.
        stream: The terminal.
        delay_seconds: How long the work lasts before anything is shown.
    """

    def __init__(self, what: str, stream: TextIO, *, delay_seconds: float) -> None:
        self.what = what
        self._stream = stream
        self._delay_seconds = delay_seconds
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._n_pauses = 0
        self._is_shown = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin; nothing is shown yet."""
        self._thread.start()

    def stop(self) -> None:
        """End, and leave the terminal as it was. A second call does nothing."""
        self._ended.set()
        with self._lock:
            self._clear()

    def pause(self) -> None:
        """Clear the line, and show nothing until `resume` is called as often."""
        with self._lock:
            self._n_pauses += 1
            self._clear()

    def resume(self) -> None:
        """End a pause."""
        with self._lock:
            self._n_pauses -= 1

    def _run(self) -> None:
        if self._ended.wait(self._delay_seconds):
            return
        while True:
            with self._lock:
                if self._ended.is_set():
                    return
                self._show()
            if self._ended.wait(_SECONDS_BETWEEN):
                return

    def _show(self) -> None:
        if self._n_pauses:
            return
        seconds = time.monotonic() - self._started
        line = f"{_CLEAR_LINE}{self.what} … {seconds:.0f} s{_START_OF_LINE}"
        self._is_shown = self._write(line)

    def _clear(self) -> None:
        if self._is_shown:
            self._write(_CLEAR_LINE)
            self._is_shown = False

    def _write(self, text: str) -> bool:
        """Write to the terminal; where that has gone away, nothing is shown any more."""
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._ended.set()
            return False
        return True


_current: Notice | None = None


@contextmanager
def noticed(what: str) -> Iterator[None]:
    """Show a notice while a command runs, in a terminal alone.

    Args:
        what: What is being done, until `working` says more.
    """
    global _current
    if _current is not None or not sys.stderr.isatty():
        yield
        return
    _current = Notice(what, sys.stderr, delay_seconds=_DELAY_SECONDS)
    _current.start()
    try:
        yield
    finally:
        end_notice()


def end_notice() -> None:
    """End the notice, if there is one: the result is printed now."""
    global _current
    if _current is not None:
        _current.stop()
        _current = None


@contextmanager
def working(what: str) -> Iterator[None]:
    """Say in the notice what is being done now; without a notice nothing is shown.

    Args:
        what: What is being done, such as "reads the sessions of shop".
    """
    notice = _current
    if notice is None:
        yield
        return
    before = notice.what
    notice.what = what
    try:
        yield
    finally:
        notice.what = before


@contextmanager
def paused_notice() -> Iterator[None]:
    """Show no notice for a while, as during a question."""
    notice = _current
    if notice is None:
        yield
        return
    notice.pause()
    try:
        yield
    finally:
        notice.resume()


def bar(total: int, *, unit: str, what: str, progress: bool | None) -> Any:
    """Return a bar of tqdm's that begins at 0, or what takes its place.

    A notice is silent until the bar is closed.

    Args:
        total: The number of units at which the bar is full.
        unit: What is counted.
        what: What is done, which stands before the bar.
        progress: Whether to show a bar; None shows it in a terminal or notebook alone,
            once the work has lasted two seconds.
    """
    delay_seconds = 0.0
    if progress is None:
        is_notebook = "ipykernel" in sys.modules
        progress = is_notebook or sys.stderr.isatty()
        delay_seconds = _DELAY_SECONDS
    if not progress:
        return _hidden_bar()
    from tqdm.auto import tqdm  # type: ignore[import-untyped]

    shown = tqdm(
        total=total,
        unit=unit,
        desc=what,
        delay=delay_seconds,
    )
    if _current is not None:
        _pause_until_closed(_current, shown)
    return shown


def _pause_until_closed(notice: Notice, shown: Any) -> None:
    """Let a notice be silent until a bar is closed for the first time."""
    close = shown.close
    notice.pause()

    def close_and_resume() -> None:
        shown.close = close
        close()
        notice.resume()

    shown.close = close_and_resume


def _hidden_bar() -> SimpleNamespace:
    """Return a bar that shows nothing."""

    def update(_n_units: int) -> None:
        """Take what was done."""

    def set_postfix_str(_text: str) -> None:
        """Take what is done now."""

    def close() -> None:
        """Show nothing more."""

    return SimpleNamespace(
        update=update,
        set_postfix_str=set_postfix_str,
        close=close,
    )
