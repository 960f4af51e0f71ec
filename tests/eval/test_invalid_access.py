"""Access logs, laws and fits that are refused, and what the refusal says."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from theorex_lab import InvalidInput, make_law
from theorex_lab.eval.metrics.access import (
    from_git,
    from_git_touches,
    from_jsonl,
    load_log,
    tune,
)
from theorex_lab.eval.metrics.access_log import AccessLog, LogReplay, split
from theorex_lab.eval.metrics.fitting import _ranks
from theorex_lab.memory.decay import Items, effective_link_strength, tiers

SHORT = AccessLog.of([(day, "a", None, False) for day in range(4)])
LONG = AccessLog.of(
    [(day * 86_400_000_000, f"f{day % 3}", None, False) for day in range(30)]
)


def test_law_names_every_bad_parameter_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        make_law(
            "weighted_sum",
            half_life_days=-3.0,
            count_weight=7.0,
            speed=1.0,
            link_weight=float("nan"),
        )
    text = str(caught.value)
    for part in (
        "half_life_days = -3.0",
        "0.01 to 36500 days",
        "count_weight = 7.0",
        "0 to 1",
        "speed",
        "link_weight = nan",
    ):
        assert part in text


@pytest.mark.parametrize("value", ["7", None, True, float("inf"), 0])
def test_half_life_must_be_a_number_in_range(value: Any) -> None:
    with pytest.raises(InvalidInput, match="half_life_days"):
        make_law("product", half_life_days=value)


def test_unknown_law_names_those_allowed() -> None:
    with pytest.raises(InvalidInput, match=r"'linear'.*product.*frequency"):
        make_law("linear")


@pytest.mark.parametrize(
    "bounds", [(0.3, 0.6), (1.1, 0.3), (0.6, -0.1), (float("nan"), 0.3)]
)
def test_tier_thresholds_out_of_order(bounds: tuple[float, float]) -> None:
    with pytest.raises(InvalidInput, match="active_threshold"):
        tiers([0.5], *bounds)


def test_items_name_every_bad_column() -> None:
    with pytest.raises(
        InvalidInput, match=r"count of shape \(1,\).*link_strength with NaN"
    ):
        Items.of(
            [1.0, 2.0],
            [1.0],
            decayed_counts=np.zeros((2, 6)),
            link_strength=float("nan"),
        )


def test_link_half_life_must_be_positive() -> None:
    with pytest.raises(InvalidInput, match="half_life_days 0"):
        effective_link_strength([0.1], [1.0], 0)


def test_times_of_an_access_log() -> None:
    with pytest.raises(InvalidInput, match="years 1 to 9999"):
        AccessLog.of([(0, "a", None, False), (10**18, "b", None, False)])


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ('{"time": "2026-01-01T00:00:00", "item": "a"}', "offset"),
        ('{"time": "yesterday", "item": "a"}', "ISO 8601"),
        ('{"time": true, "item": "a"}', "time True"),
        ('{"time": NaN, "item": "a"}', "no number of JSON"),
        ('{"time": 1e300, "item": "a"}', "years 1 to 9999"),
        ('{"item": "a"}', "time None"),
        ('{"time": 1}', "item None"),
        ('{"time": 1, "item": ""}', "not empty"),
        ('{"time": 1, "item": 5}', "item 5"),
        ('{"time": 1, "item": "a", "event": []}', "event"),
        ('{"time": 1, "item": "a", "deleted": "perhaps"}', "perhaps"),
        ("[1]", "object"),
        ("{", "not JSON"),
    ],
)
def test_bad_jsonl_rows_are_named(tmp_path: Path, row: str, reason: str) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text('{"time": 1, "item": "a"}\n' + row + "\n")
    with pytest.raises(InvalidInput, match=rf"row 2: .*{reason}"):
        from_jsonl(file)


def test_only_the_first_bad_rows_are_listed(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text('{"time": "x", "item": "a"}\n' * 9)
    with pytest.raises(InvalidInput, match="9 bad rows") as caught:
        from_jsonl(file)
    assert "row 5:" in str(caught.value)
    assert "row 6:" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("M\ta\n", "before the first"),
        ("\x01sha soon\n", "soon"),
        ("\x01sha 5\nnonsense\n", "tab and a path"),
    ],
)
def test_bad_touches(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "touches.log"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=reason):
        from_git_touches(file)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\xff\xfe\xff")
    (tmp_path / "b.jsonl.gz").write_bytes(b"no gzip")
    (tmp_path / "c.log.gz").write_bytes(gzip.compress(b"x" * 999)[:-9])
    for name in ("a.jsonl", "b.jsonl.gz", "c.log.gz", "missing.jsonl"):
        with pytest.raises(InvalidInput, match="cannot be read"):
            load_log(tmp_path / name)


def test_unknown_formats(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"'xml'.*git-touches"):
        load_log(tmp_path / "a.jsonl", "xml")
    with pytest.raises(InvalidInput, match="does not tell"):
        load_log(tmp_path / "a.bin")


def test_not_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(InvalidInput, match="no git repository"):
        from_git(tmp_path)
    with pytest.raises(InvalidInput, match="nowhere"):
        from_git(tmp_path / "nowhere")


def test_git_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InvalidInput, match="git was not found"):
        from_git(tmp_path)


def test_logs_too_short_to_fit() -> None:
    for log in (SHORT, AccessLog.of([])):
        with pytest.raises(InvalidInput, match="6 or more"):
            tune(log)


@pytest.mark.parametrize("n_earlier", [0, 30])
def test_held_out_events_of_one_time_are_refused_before_anything_is_fitted(
    n_earlier: int, recwarn: pytest.WarningsRecorder
) -> None:
    times = [*range(n_earlier), *[n_earlier] * 200]
    rows = [(at, f"f{row % 7}", f"e{row}", False) for row, at in enumerate(times)]
    with pytest.raises(InvalidInput, match="events at different times"):
        tune(AccessLog.of(rows))
    assert not recwarn.list


def test_a_log_of_a_few_seconds_is_fitted_without_warnings(
    recwarn: pytest.WarningsRecorder,
) -> None:
    rows = [(row * 10**6, f"f{row % 7}", f"e{row}", False) for row in range(40)]
    assert not tune(AccessLog.of(rows)).advice["adopt"]
    assert not recwarn.list


def test_nothing_to_score() -> None:
    assert len(split(LONG)[1]) == 9
    empty = LogReplay(LONG).snapshots([])
    with pytest.raises(InvalidInput, match="no events to score"):
        _ranks([empty], {"recency": make_law("recency")})
