"""Maintenance says what it does while it works, where somebody watches."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from theorex_lab import Lab
from theorex_lab.core import progress


def test_a_bar_names_each_step(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[str] = []
    bar = progress.bar(1, unit="steps", what="maintenance", progress=True)
    bar.close()
    monkeypatch.setattr(
        type(bar), "set_postfix_str", lambda _, text: shown.append(text)
    )
    report = lab.maintain(progress=True)
    assert shown == [step.name for step in report.steps]
    assert f"{len(shown)}/{len(shown)}" in capsys.readouterr().err


def test_nothing_is_shown_where_nobody_watches(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.maintain()
    assert capsys.readouterr().err == ""


def test_a_terminal_sees_a_bar_once_work_has_lasted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = SimpleNamespace(isatty=lambda: True, write=lambda _: 0, flush=lambda: 0)
    monkeypatch.setattr(sys, "stderr", terminal)
    with_delay = progress.bar(3, unit="texts", what="vectors", progress=None)
    assert with_delay.delay == 2.0
    asked_for = progress.bar(3, unit="texts", what="vectors", progress=True)
    assert asked_for.delay == 0.0
    with_delay.close()
    asked_for.close()
