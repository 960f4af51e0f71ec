"""A dream that is killed at any change to the disk, and two at once: a trajectory is
untouched or wholly consolidated.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from faults import boundaries, documented, forked, quick_folder
from killed_homes import every, killed_homes
from small_process import in_small_process

from theorex_lab import Lab
from theorex_lab.designs.dreams import engine
from theorex_lab.designs.dreams.engine import HeuristicDreamer, dream
from theorex_lab.designs.dreams.strategies import Strategy

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs processes that are forked"
)
GOALS = [
    "deploy the site",
    "bake a loaf of bread",
    "deploy the site",
    "read the meter in the cellar",
]


class Thorough(HeuristicDreamer):
    """Rules that also link and tell shorter, so that every phase has something to
    write.
    """

    def links(self, new: Strategy, near: Any) -> list[tuple[str, str, str]]:
        return [(new.id, one.id, "causal") for one in near]

    def shorten(self, strategy: Strategy) -> str:
        return strategy.summary[:10]


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


@pytest.fixture
def template(tmp_path: Path) -> Path:
    with _opened(tmp_path / "template") as lab:
        _capture(lab, GOALS[1])
        dream(lab.home)
        for goal in GOALS:
            _capture(lab, goal)
    return tmp_path / "template"


def _opened(home: Path) -> Lab:
    return documented(
        home,
        designs={
            "dreams": {
                "compaction": True,
                "compactionMinCharacters": 11,
                "linkSimilarity": 0.0,
            }
        },
    )


def _capture(lab: Lab, goal: str) -> None:
    failed = {
        "action": "upload(place='ftp')",
        "ok": False,
        "result": "550 Permission denied",
    }
    lab.dreams.capture(
        goal,
        [
            {"action": f"begin(what='{goal}')"},
            failed,
            {"action": "upload(place='web')", "ok": True},
        ],
    )


def _maintain(lab: Lab) -> None:
    settings = {
        "compaction": True,
        "compactionMinCharacters": 11,
        "linkSimilarity": 0.0,
    }
    lab.settings = lab.settings.replaced(designs={"dreams": settings})
    lab.home.settings = lab.settings
    dream(lab.home, Thorough())


def _known(home: Path) -> tuple[Any, ...]:
    """What the dreams came to, without the ids that chance drew; each trajectory was
    taken in once or not at all.
    """
    with documented(home) as lab:
        assert lab.verify().ok
        events = list(
            lab.journal.tail(
                0,
                kinds=["strategy", "strategy_merged", "constraint", "strategy_linked"],
            )
        )
        taken = [
            event.body["trajectory"]
            for event in events
            if event.kind in ("strategy", "strategy_merged")
        ]
        assert len(taken) == len(set(taken))
        warned = {
            event.body["trajectory"] for event in events if event.kind == "constraint"
        }
        assert warned <= set(taken), (
            "no constraint of a trajectory that was not taken in"
        )
        made = [
            (
                one.goal,
                one.summary,
                one.content,
                one.success,
                one.version,
                len(one.constraints),
                len(lab.dreams.edges(one.id)[0]),
            )
            for one in lab.dreams.strategies()
        ]
        return sorted(made), len(lab.dreams.trajectories(waiting=True))


@in_small_process
def test_a_dream_that_was_killed_anywhere_is_made_good_by_the_next(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = SimpleNamespace(held=True, renew=lambda: None)
    monkeypatch.setattr(
        engine, "leased", lambda *_: nullcontext(lease)
    )  # which a killed one leaves behind; see test_lease
    whole = shutil.copytree(template, tmp_path / "whole")
    with documented(whole) as lab:
        _maintain(lab)
    with documented(whole) as lab:
        _maintain(lab)
    expected = _known(whole)
    passed = boundaries(template, tmp_path, _maintain)
    assert passed.count("COMMIT") >= len(GOALS) + 3
    places = {
        number: name
        for number, name in every(passed).items()
        if name in ("fsync", "COMMIT", "end") or name.startswith("INSERT")
    }
    for killed in killed_homes(template, tmp_path, _maintain, places):
        _known(killed.home)
        for _ in range(2):
            with documented(killed.home) as lab:
                _maintain(lab)
        assert _known(killed.home) == expected, f"killed at {killed.boundaries}"


def test_two_processes_that_dream_at_once_take_nothing_twice(
    template: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with documented(template) as lab:
        for number in range(20):
            _capture(lab, f"task {number}")
    lease = SimpleNamespace(held=True, renew=lambda: None)
    monkeypatch.setattr(engine, "leased", lambda *_: nullcontext(lease))

    def both() -> None:
        child = os.fork()
        with documented(template) as lab:
            dream(lab.home)
        if child == 0:
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    assert forked(both) == 0
    assert _known(template)[1] == 0
