"""What the machine runs on, and which sizes of model that allows."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from theorex_lab import Settings
from theorex_lab.routing.energy import Power, allows, describe_power, parse_pmset, read_power, read_supplies, veto

BATTERY_LINE = " -InternalBattery-0 (id=4653155)\t{percent}%; {state}; {left} present: true\n"
ON_BATTERY = "Now drawing from 'Battery Power'\n"
ON_MAINS = "Now drawing from 'AC Power'\n"


def _battery(percent: int, state: str = "discharging", left: str = "0:25 remaining") -> str:
    return BATTERY_LINE.format(percent=percent, state=state, left=left)


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
    assert not allows("large", Power(49.0, True), "high", Settings(battery_threshold=0.5))
    assert allows("large", Power(1.0, True), "high", Settings(battery_threshold=0.0))
    assert veto(Power(8.5, True), "high", Settings(battery_threshold=0.15)) == "battery at 8.5 %, below 15 %"


def test_power_in_words() -> None:
    assert [describe_power(each) for each in (Power(None, False), Power(None, True), Power(55.0, True))] == [
        "mains", "battery of unknown charge", "battery at 55 %",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ON_BATTERY + _battery(8), (8.0, True)),
        (ON_MAINS + _battery(95, "charging"), (95.0, False)),
        (ON_MAINS + _battery(100, "charged", "0:00 remaining"), (100.0, False)),
        (ON_BATTERY + _battery(63, left="(no estimate)"), (63.0, True)),
        (ON_MAINS, (None, False)),
        (ON_BATTERY + _battery(10) + _battery(30).replace("-0", "-1"), (20.0, True)),
        (ON_BATTERY + _battery(10) + " -Desk UPS (id=7)\t90%; discharging; 1:00 remaining\n", (10.0, True)),
        ("Now drawing from 'UPS Power'\n -Desk UPS (id=7)\t40%; discharging; 0:20 remaining\n", (40.0, True)),
        (ON_BATTERY.strip() + "\r\n" + _battery(8).strip() + "\r\n", (8.0, True)),
        (ON_BATTERY + " -InternalBattery-0\t7%; discharging\n", (7.0, True)),
        (ON_BATTERY + _battery(999), (100.0, True)),
    ],
)
def test_both_lines_of_pmset_are_read(text: str, expected: tuple[float | None, bool]) -> None:
    assert parse_pmset(text) == Power(*expected, "pmset")


@pytest.mark.parametrize("text", ["", "No batteries", "-InternalBattery-0 8%; discharging", "drawing from nowhere"])
def test_other_output_of_pmset_says_nothing(text: str) -> None:
    assert parse_pmset(text) is None


def _python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def test_pmset_is_run_as_a_process() -> None:
    program = f"print({(ON_BATTERY + _battery(8))!r})"
    assert read_power(platform="darwin", pmset=_python(program)) == Power(8.0, True, "pmset")


MAINS_ASSUMED = Power(None, False, "mains assumed")


@pytest.mark.parametrize(
    "command",
    [
        ["/no/such/pmset"],
        _python(f"print({ON_BATTERY!r}); raise SystemExit(3)"),
        _python("import sys; sys.stdout.buffer.write(bytes([255, 254]))"),
        ["sh", "-c"],
    ],
)
def test_a_pmset_that_fails_means_mains(command: list[str]) -> None:
    assert read_power(platform="darwin", pmset=command) == MAINS_ASSUMED


def test_a_pmset_that_hangs_is_given_up() -> None:
    started = time.monotonic()
    hanging = _python("import time; time.sleep(600)")
    assert read_power(platform="darwin", pmset=hanging, timeout_seconds=0.2) == MAINS_ASSUMED
    assert time.monotonic() - started < 300


def test_no_shell_reads_the_command(tmp_path: Path) -> None:
    target = tmp_path / "made"
    assert read_power(platform="darwin", pmset=["echo", f"; touch {target}"]) == MAINS_ASSUMED
    assert not target.exists()


def _supply(folder: Path, name: str, **files: str) -> None:
    (folder / name).mkdir(parents=True)
    for file, text in files.items():
        (folder / name / file).write_text(text + "\n")


def _laptop(folder: Path, percent: int = 42, online: str = "0", status: str = "Discharging") -> Path:
    _supply(folder, "AC", type="Mains", online=online)
    _supply(folder, "BAT0", type="Battery", present="1", status=status, capacity=str(percent))
    return folder


def test_a_laptop(tmp_path: Path) -> None:
    unplugged = _laptop(tmp_path / "unplugged")
    assert read_power(platform="linux", supplies=unplugged) == Power(42.0, True, str(unplugged))
    plugged = _laptop(tmp_path / "plugged", 15, "1", "Charging")
    assert read_supplies(plugged) == Power(15.0, False, str(plugged))
    draining = _laptop(tmp_path / "draining", 15, "1", "Discharging")
    assert read_supplies(draining) == Power(15.0, False, str(draining))
    idle = _laptop(tmp_path / "idle", 80, "0", "Not charging")
    assert read_supplies(idle) == Power(80.0, True, str(idle))


def test_a_plug_of_usb_counts_as_mains(tmp_path: Path) -> None:
    _laptop(tmp_path)
    _supply(tmp_path, "ucsi-source-1", type="USB", online="0")
    assert read_supplies(tmp_path) == Power(42.0, True, str(tmp_path))
    _supply(tmp_path, "ucsi-source-2", type="USB", online="1")
    assert read_supplies(tmp_path) == Power(42.0, False, str(tmp_path))


def test_without_a_plug_the_state_of_the_battery_tells(tmp_path: Path) -> None:
    _supply(tmp_path, "BAT0", type="Battery", status="Full", capacity="100")
    assert read_supplies(tmp_path) == Power(100.0, False, str(tmp_path))
    _supply(tmp_path, "BAT1", type="Battery", status="Discharging", capacity="50")
    assert read_supplies(tmp_path) == Power(75.0, True, str(tmp_path))


def test_the_battery_of_a_mouse_is_not_the_machines(tmp_path: Path) -> None:
    mouse = {"type": "Battery", "scope": "Device", "status": "Discharging", "capacity": "3"}
    _supply(tmp_path, "hidpp_battery_0", **mouse)
    assert read_supplies(tmp_path) is None
    assert read_power(platform="linux", supplies=tmp_path) == MAINS_ASSUMED
    _laptop(tmp_path)
    assert read_supplies(tmp_path) == Power(42.0, True, str(tmp_path))


def test_an_empty_bay_and_a_machine_without_battery(tmp_path: Path) -> None:
    _supply(tmp_path, "AC", type="Mains", online="0")
    assert read_supplies(tmp_path) is None
    _supply(tmp_path, "BAT1", type="Battery", present="0", status="Unknown")
    assert read_supplies(tmp_path) is None
    _supply(tmp_path, "BAT0", type="Battery", scope="System", status="Discharging", capacity="30")
    assert read_supplies(tmp_path) == Power(30.0, True, str(tmp_path))


def test_batteries_count_by_what_they_hold(tmp_path: Path) -> None:
    _supply(tmp_path, "BAT0", type="Battery", status="Discharging", capacity="100", energy_now="20", energy_full="20")
    _supply(tmp_path, "BAT1", type="Battery", status="Unknown", capacity="0", energy_now="0", energy_full="60")
    assert read_supplies(tmp_path) == Power(25.0, True, str(tmp_path))
    # One that states its charge only: the two cannot be added up, so that their percents are averaged.
    _supply(tmp_path, "BAT2", type="Battery", status="Full", capacity="80", charge_now="8", charge_full="10")
    assert read_supplies(tmp_path) == Power(60.0, True, str(tmp_path))


@pytest.mark.parametrize(
    ("files", "percent"),
    [
        ({}, None),
        ({"capacity": ""}, None),
        ({"capacity": "many"}, None),
        ({"capacity": "-5"}, None),
        ({"capacity": "104"}, 100.0),
        ({"capacity": "17", "energy_now": "5"}, 17.0),
        ({"capacity": "17", "energy_now": "5", "energy_full": "0"}, 17.0),
        ({"energy_now": "11", "energy_full": "10"}, 100.0),
        ({"charge_now": "1", "charge_full": "3"}, 33.3),
    ],
)
def test_files_that_are_missing_or_odd(tmp_path: Path, files: dict[str, str], percent: float | None) -> None:
    _supply(tmp_path, "BAT0", type="Battery", status="Discharging", **files)
    assert read_supplies(tmp_path) == Power(percent, True, str(tmp_path))


def test_what_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    _laptop(tmp_path)
    (tmp_path / "BAT0" / "energy_now").mkdir()
    (tmp_path / "a file").write_text("no folder")
    assert read_supplies(tmp_path) == Power(42.0, True, str(tmp_path))
    assert read_supplies(tmp_path / "missing") is None
    assert read_power(platform="linux", supplies=tmp_path / "missing") == MAINS_ASSUMED


def test_other_systems_are_on_mains() -> None:
    assert read_power(platform="win32") == MAINS_ASSUMED


def test_this_machine_is_read() -> None:
    power = read_power()
    assert power.percent is None or 0 <= power.percent <= 100
    assert power.source
