"""Whole processes against `python -c pass` and `python -c "import numpy"`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import HomeOf
from corpus import NOW, texts
from measure import PYTHON, child_seconds, compare, launcher, run
from pytest_benchmark.fixture import BenchmarkFixture

from theorex_lab import FixedClock, Lab
from theorex_lab.memory.axon import Axon
from theorex_lab.search.index import ItemIndex

EVENT = json.dumps(
    {
        "hook_event_name": "PostToolUse",
        "session_id": "a-session",
        "tool_name": "Bash",
        "tool_input": {"command": "make test", "description": "Run the tests"},
        "tool_response": {"stdout": "203 passed in 8.1 s", "stderr": "", "interrupted": False},
    }
).encode()
# The vector of a query is left out: the command runs with hashed n-grams, a tenth of a millisecond a query.
WITHOUT_MODEL = "import theorex_lab.search.embed as embed; embed.bundled_embedder = lambda **_: None; "
COMMAND_LINE = "from theorex_lab.cli import main; main()"


def _pass() -> object:
    return run([PYTHON, "-c", "pass"])


@pytest.mark.parametrize("events", [0, 1_000_000])
def test_hook(benchmark: BenchmarkFixture, tmp_path: Path, request: pytest.FixtureRequest, events: int) -> None:
    home = request.getfixturevalue("million_home") if events else tmp_path / "home"
    hook = launcher(tmp_path, "theorex-hook", "theorex_lab.hook:main")
    compare(
        benchmark,
        f"theorex-hook PostToolUse, journal of {events:,} events",
        lambda: run([hook], given=EVENT, home=home),
        _pass,
        peer_name="python -c pass",
        at_most=3,
        rounds=15,
        meter=child_seconds,
    )
    assert not (home / "hook.log").exists()


def test_import(benchmark: BenchmarkFixture) -> None:
    compare(
        benchmark,
        "import theorex_lab",
        lambda: run([PYTHON, "-c", "import theorex_lab"]),
        _pass,
        peer_name="python -c pass",
        at_most=3,
        rounds=11,
        meter=child_seconds,
    )


def test_help(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    theorex = launcher(tmp_path, "theorex", "theorex_lab.cli:main")
    compare(
        benchmark,
        "theorex --help",
        lambda: run([theorex, "--help"]),
        _pass,
        peer_name="python -c pass",
        at_most=10,
        rounds=9,
        meter=child_seconds,
    )


def test_write(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    theorex = launcher(tmp_path, "theorex", "theorex_lab.cli:main")
    compare(
        benchmark,
        "theorex write",
        lambda: run([theorex, "write", "TTL invalidation prevents cache stampedes"], home=tmp_path / "home"),
        _pass,
        peer_name="python -c pass",
        at_most=20,
        meter=child_seconds,
    )


def test_search(benchmark: BenchmarkFixture, home_of: HomeOf) -> None:
    """Snapshots and vectors are there already, as after the first search."""
    home = home_of(100_000)
    query = " ".join(texts(1)[0].split()[:3])
    _command(home, "scan")
    _command(home, "embed")
    with Lab(home, clock=FixedClock(NOW)) as lab:
        for kind in (Axon, ItemIndex):
            lab.views.snapshot(lab.views.get(kind))
    compare(
        benchmark,
        "theorex search, one-shot, 100,000 observations",
        lambda: _command(home, "search", query),
        lambda: run([PYTHON, "-c", "import numpy"]),
        peer_name='python -c "import numpy"',
        at_most=4,
        meter=child_seconds,
    )


def _command(home: Path, *arguments: str) -> bytes:
    program = f"import sys; sys.argv = ['theorex', '--now', '2026-03-01T09:00:00Z', *{list(arguments)!r}]; {WITHOUT_MODEL}{COMMAND_LINE}"
    return run([PYTHON, "-c", program], home=home)
