"""What the machine runs on, and which sizes of model that allows."""

from __future__ import annotations

from types import SimpleNamespace

import psutil
import pytest

from theorex_lab import Settings
from theorex_lab.routing.energy import Power, allows, describe_power, read_power, veto


@pytest.mark.parametrize(
    ("power", "complexity", "large"),
    [
        (Power(19.9, True), "high", False),
        (Power(20.0, True), "high", True),
        (Power(19.9, True), "low", False),
        (Power(100.0, True), "low", False),
        (Power(100.0, True), "high", True),
        (Power(1.0, False), "low", True),
        (Power(None, False), "low", True),
        (Power(None, True), "high", True),
        (Power(None, True), "low", False),
        (Power(0.0, True), "high", False),
    ],
)
def test_when_a_large_model_may_run(power: Power, complexity: str, large: bool) -> None:
    settings = Settings()
    assert allows("large", power, complexity, settings) is large  # type: ignore[arg-type]
    assert (veto(power, complexity, settings) is None) is large  # type: ignore[arg-type]
    assert allows("medium", power, complexity, settings)  # type: ignore[arg-type]
    assert allows("small", power, complexity, settings)  # type: ignore[arg-type]


def test_the_threshold_is_a_setting() -> None:
    assert not allows(
        "large", Power(49.0, True), "high", Settings(battery_threshold=0.5)
    )
    assert allows("large", Power(1.0, True), "high", Settings(battery_threshold=0.0))
    assert (
        veto(Power(8.5, True), "high", Settings(battery_threshold=0.15))
        == "battery at 8.5 %, below 15 %"
    )


def test_power_in_words() -> None:
    assert [
        describe_power(each)
        for each in (Power(None, False), Power(None, True), Power(55.0, True))
    ] == [
        "mains",
        "battery of unknown charge",
        "battery at 55 %",
    ]


@pytest.mark.parametrize(
    ("battery", "expected"),
    [
        ((8.4, 1500, False), Power(8.4, True, "psutil")),
        ((95, 0, True), Power(95.0, False, "psutil")),
        ((101.0, 0, False), Power(100.0, True, "psutil")),
        ((55.0, 0, None), Power(55.0, False, "psutil")),
        ((None, 0, False), Power(None, True, "psutil")),
        (None, Power(None, False, "mains assumed")),
    ],
)
def test_what_psutil_says_of_the_battery(
    monkeypatch: pytest.MonkeyPatch,
    battery: tuple[float | None, int, bool | None] | None,
    expected: Power,
) -> None:
    told = (
        None
        if battery is None
        else SimpleNamespace(
            percent=battery[0], secsleft=battery[1], power_plugged=battery[2]
        )
    )
    monkeypatch.setattr(psutil, "sensors_battery", lambda: told, raising=False)
    assert read_power() == expected


def test_a_system_that_says_nothing_is_on_mains(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse() -> None:
        raise PermissionError("no")

    monkeypatch.setattr(psutil, "sensors_battery", refuse, raising=False)
    assert read_power() == Power(None, False, "mains assumed")
    monkeypatch.delattr(psutil, "sensors_battery")
    assert read_power() == Power(None, False, "mains assumed")


def test_this_machine_is_read() -> None:
    power = read_power()
    assert power.percent is None or 0 <= power.percent <= 100
    assert power.source
