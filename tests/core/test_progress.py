"""The notice that says what a command is doing, once it takes long."""

from __future__ import annotations

import io
import sys
import threading
from types import SimpleNamespace
from typing import Any

import click
import pytest

from theorex_lab.core import progress
from theorex_lab.core.progress import Notice, bar, noticed, paused_notice, working
from theorex_lab.files.command_line import command, confirm, emit

NEVER = 3_600.0
WAIT_SECONDS = 20.0


class Terminal(io.StringIO):
    """A terminal that says when something was written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        length = super().write(text)
        self.written.set()
        return length

    def wait(self) -> str:
        """Return all that was written, after something was."""
        assert self.written.wait(WAIT_SECONDS)
        return self.getvalue()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    stream = Terminal()
    # What captures output here puts its own stream back between set-up and test.
    watched = SimpleNamespace(stderr=stream, modules=sys.modules)
    monkeypatch.setattr(progress, "sys", watched)
    monkeypatch.setattr(progress, "_DELAY_SECONDS", 0.0)
    return stream


def test_a_notice_says_what_is_done_and_leaves_the_line_empty() -> None:
    terminal = Terminal()
    notice = Notice("reads the log", terminal, delay_seconds=0.0)
    notice.start()
    assert "reads the log … 0 s" in terminal.wait()
    notice.stop()
    notice.stop()
    assert terminal.getvalue().endswith("\r\x1b[2K")


def test_a_short_work_shows_nothing() -> None:
    terminal = Terminal()
    notice = Notice("reads the log", terminal, delay_seconds=NEVER)
    notice.start()
    notice.stop()
    assert terminal.getvalue() == ""


def test_working_names_the_step_and_goes_back(terminal: Terminal) -> None:
    with noticed("theorex verify runs"):
        notice = progress._current
        assert notice is not None
        with working("reads the journal"):
            assert notice.what == "reads the journal"
        assert notice.what == "theorex verify runs"
    assert progress._current is None


def test_nothing_is_shown_where_nobody_watches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "_DELAY_SECONDS", 0.0)
    with noticed("runs"), working("reads"):
        assert progress._current is None
    assert stream.getvalue() == ""


def test_a_pause_clears_the_line_and_a_pause_within_it_does_not_end_it(
    terminal: Terminal,
) -> None:
    with noticed("runs"):
        terminal.wait()
        notice = progress._current
        assert notice is not None
        with paused_notice():
            with paused_notice():
                pass
            before = terminal.getvalue()
            assert before.endswith("\r\x1b[2K")
            notice._show()
            assert terminal.getvalue() == before, "it is silent in a pause"
        notice._show()
        assert terminal.getvalue() != before


def test_a_bar_silences_the_notice_until_it_is_closed(terminal: Terminal) -> None:
    with noticed("runs"):
        notice = progress._current
        assert notice is not None
        shown = bar(3, unit="step", what="count", progress=True)
        assert notice._n_pauses == 1
        shown.close()
        shown.close()
        assert notice._n_pauses == 0


def test_a_terminal_that_goes_away_ends_the_notice() -> None:
    terminal = Terminal()
    terminal.close()
    notice = Notice("runs", terminal, delay_seconds=0.0)
    notice.start()
    notice._thread.join(WAIT_SECONDS)
    assert not notice._thread.is_alive()


def test_a_command_has_a_notice_until_its_result_is_printed(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    seen: list[object] = []

    @command("slow", "Take long.")
    def slow() -> None:
        """It takes long."""
        seen.append(terminal.wait())
        monkeypatch.setattr(click, "confirm", lambda *_, **__: _pauses())
        seen.append(confirm("Go on?"))
        emit({"done": True}, "done")
        seen.append(progress._current)

    slow.main(["--json"], standalone_mode=False, obj={}, prog_name="theorex slow")
    first, pauses, after = seen
    assert "theorex slow runs … " in str(first)
    assert pauses == 1, "a question stands alone on its line"
    assert after is None
    assert capsys.readouterr().out == '{"done": true}\n'


def _pauses() -> int:
    notice = progress._current
    assert notice is not None
    return notice._n_pauses
