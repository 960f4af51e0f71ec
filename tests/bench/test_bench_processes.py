"""Whole processes against `python -c pass` and `python -c "import numpy"`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import HomeOf
from corpus import NOW, texts
from measure import PYTHON, child_seconds, compare, launcher, run
from pytest_benchmark.fixture import BenchmarkFixture

from theorex_lab import FixedClock, Lab
from theorex_lab.designs.theorex.axon import Axon

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
        at_most=10,
        meter=child_seconds,
    )


@pytest.mark.parametrize("scanned", [False, True])
def test_status(benchmark: BenchmarkFixture, tmp_path: Path, home_of: HomeOf, scanned: bool) -> None:
    """A million events, with the snapshot that the first command leaves; then again after a scan."""
    home = home_of(1_000_000)
    _command(home, "scan" if scanned else "status")
    with Lab(home, clock=FixedClock(NOW)) as lab:
        lab.views.snapshot(lab.views.get(Axon))
    theorex = launcher(tmp_path, "theorex", "theorex_lab.cli:main")
    compare(
        benchmark,
        f"theorex status, 1,000,000 events{', after a scan' if scanned else ''}",
        lambda: run([theorex, "--now", "2026-03-01T09:00:00Z", "status"], home=home),
        _pass,
        peer_name="python -c pass",
        at_most=25,
        meter=child_seconds,
    )


def test_status_of_an_empty_home(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    theorex = launcher(tmp_path, "theorex", "theorex_lab.cli:main")
    compare(
        benchmark,
        "theorex status, no events",
        lambda: run([theorex, "status"], home=tmp_path / "home"),
        _pass,
        peer_name="python -c pass",
        at_most=25,
        meter=child_seconds,
    )


def test_tune(tmp_path: Path) -> None:
    """A million accesses: what a fit and its costs hold at once is bounded. No ratio: memory has no peer."""
    log = tmp_path / "accesses.csv"
    generator = np.random.default_rng(0)
    events = np.sort(generator.integers(0, 250_000, 1_000_000)).tolist()
    items = (generator.zipf(1.3, 1_000_000) % 20_000).tolist()
    with log.open("w") as file:
        file.write("time,item,event\n")
        file.writelines(
            f"{1_600_000_000 + event * 300},item {item},e{event}\n" for event, item in zip(events, items, strict=True)
        )
    peak = (
        "import resource, sys\nsys.argv = ['theorex', '--json', *sys.argv[1:]]\nfrom theorex_lab.cli import main\n"
        "try:\n    main()\nfinally:\n    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    said = run([PYTHON, "-c", peak, "tune", "--log", str(log)], home=tmp_path / "home").splitlines()
    assert int(said[-1]) / 1024 <= 600, "MB"


def test_search(benchmark: BenchmarkFixture, home_of: HomeOf) -> None:
    """Snapshots and vectors are there already, as after the first search."""
    home = home_of(100_000)
    query = " ".join(texts(1)[0].split()[:3])
    _command(home, "scan")
    _command(home, "embed")
    with Lab(home, clock=FixedClock(NOW)) as lab:
        for kind in (Axon, lab.home.item_view):
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
