"""The growth bench: its fit, its data, the limit on a process; no figure is judged."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from benchmarks import measure
from benchmarks.growth import ProcessCost, _SizeRun, table_lines, table_rows
from benchmarks.growth_fit import draw_growth, fit_growth
from benchmarks.growth_homes import PROJECTS, GrowthGround, lay_transcripts

SIZES = [10_000, 100_000, 1_000_000]


def run_of(size: int, cost: ProcessCost) -> _SizeRun:
    run = _SizeRun(GrowthGround(Path(), size, 1), Path(), 1, 1)
    run.costs["status"] = [cost]
    run.snapshot_bytes = size
    run.n_events = size
    return run


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_is_found_with_a_narrow_interval(power: float) -> None:
    growth = fit_growth(SIZES, [3 * size**power for size in SIZES])
    assert growth is not None
    assert growth[:3] == pytest.approx((power, power, power), abs=1e-9)
    assert growth.is_marked == (power > 1.05)


def test_a_steep_last_step_is_marked_though_the_whole_is_flat() -> None:
    growth = fit_growth([1, 10, 100, 1_000], [1, 1, 1, 20])
    assert growth is not None
    assert growth.exponent < 1.05 < growth.last_step
    assert growth.is_marked


def test_two_sizes_give_no_interval_and_one_gives_no_exponent() -> None:
    growth = fit_growth([10, 100], [1, 10])
    assert growth is not None
    assert math.isinf(growth.ci_high)
    assert fit_growth([10], [1]) is None


def test_an_unfinished_process_is_reported_and_left_out_of_the_fit() -> None:
    costs = [ProcessCost(size / 1e6, size, size == SIZES[-1]) for size in SIZES]
    runs = [run_of(size, cost) for size, cost in zip(SIZES, costs, strict=True)]
    rows = table_rows(runs)
    assert rows["status"]["unfinished"] == [SIZES[-1]]
    (line,) = [
        line
        for line in table_lines(SIZES, rows)
        if line.startswith("| status | seconds")
    ]
    assert "unfinished" in line
    assert "| 1.00 [-inf, inf] |" in line


def test_a_process_beyond_its_limit_is_stopped(tmp_path: Path) -> None:
    program = (measure.PYTHON, "-c", "while True: pass")
    launcher = (measure.PYTHON, "-m", "benchmarks.limited", "1")
    assert json.loads(measure.run(*launcher, *program))["stopped"]


def test_sessions_are_the_same_each_time_and_made_once(tmp_path: Path) -> None:
    first = lay_transcripts(tmp_path / "a", 1_000)
    second = lay_transcripts(tmp_path / "b", 1_000)
    files = sorted(first.transcripts.iterdir())
    assert len(files) == PROJECTS
    for file in files:
        assert file.read_bytes() == (second.transcripts / file.name).read_bytes()
    files[0].write_text("", encoding="utf-8")
    lay_transcripts(tmp_path / "a", 1_000)
    assert files[0].read_text(encoding="utf-8") == ""


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    file = tmp_path / "growth.png"
    draw_growth(SIZES, {"status": {"seconds": SIZES, "megabytes": SIZES}}, file)
    assert file.stat().st_size > 0
