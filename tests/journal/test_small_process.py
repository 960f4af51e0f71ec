"""Tests that a small process does fail as they would here, and begin as they would here."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import small_process
from small_process import in_small_process

from theorex_lab import installed

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs processes that are forked"
)


@pytest.fixture
def _is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process counts as large."""
    monkeypatch.setattr(small_process, "_FEWEST_BYTES_OF_LARGE", 0)


class _Lost:
    def __del__(self) -> None:
        raise ValueError("it was let go of")


@in_small_process
def _note_process(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEOREX_HOME", "elsewhere")
    file.write_text(str(os.getpid()))


@in_small_process
def _note_designs(file: Path) -> None:
    active = [design.name for design in installed() if design.active_by_default]
    file.write_text(" ".join(active))


@in_small_process
def _expect_something_else() -> None:
    assert sum([1, 1]) == 3, "one and one"


@in_small_process
def _warn() -> None:
    warnings.warn("it is deprecated", DeprecationWarning, stacklevel=1)


@in_small_process
def _lose() -> None:
    _Lost()


@in_small_process
def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.usefixtures("_is_large")
def test_it_is_done_by_another_process(tmp_path: Path) -> None:
    file = tmp_path / "process"
    with pytest.MonkeyPatch.context() as monkeypatch:
        _note_process(file=file, monkeypatch=monkeypatch)
    assert int(file.read_text()) != os.getpid()
    assert "THEOREX_HOME" not in os.environ


def test_a_process_that_is_small_does_it_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_process, "_FEWEST_BYTES_OF_LARGE", 1 << 60)
    file = tmp_path / "process"
    _note_process(file=file, monkeypatch=monkeypatch)
    assert int(file.read_text()) == os.getpid()


@pytest.mark.usefixtures("_is_large")
@pytest.mark.parametrize("active", [True, False])
def test_the_same_designs_take_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, active: bool
) -> None:
    for design in installed():
        monkeypatch.setitem(vars(design), "active_by_default", active)
    file = tmp_path / "designs"
    _note_designs(file=file)
    names = [design.name for design in installed()]
    assert file.read_text().split() == (names if active else [])


@pytest.mark.usefixtures("_is_large")
@pytest.mark.parametrize(
    ("test", "why"),
    [
        (_expect_something_else, "AssertionError: one and one"),
        (_warn, "DeprecationWarning: it is deprecated"),
        (_lose, "it was let go of"),
        (_die, "it ended without an answer"),
    ],
)
def test_what_fails_there_fails_here(test: Callable[[], None], why: str) -> None:
    with pytest.raises(pytest.fail.Exception, match=why):
        test()
