"""What the machine runs on, and which sizes of model that allows."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from theorex_lab.config import ModelTier, Settings
from theorex_lab.errors import InvalidInput
from theorex_lab.routing.heuristic import Complexity

POWER_SUPPLIES = Path("/sys/class/power_supply")
PMSET = ("/usr/bin/pmset", "-g", "batt")
_SOURCE = re.compile(r"drawing from '([^']*)'")
_CHARGE = re.compile(
    r"^\s*-(?P<name>.*?)\s*(?:\(id=\d+\))?\s+(?P<percent>\d{1,3})%;\s*(?P<state>[^;\n]*)", re.MULTILINE
)


@dataclass(frozen=True)
class Power:
    """What the machine runs on. `percent`: charge, 0 to 100, None where unknown; `source`: how that was found out.

    Raises InvalidInput for a charge outside 0 to 100.
    """

    percent: float | None
    on_battery: bool
    source: str = "given"

    def __post_init__(self) -> None:
        if self.percent is not None and not 0 <= self.percent <= 100:
            raise InvalidInput(f"got a charge of {self.percent!r} percent; allowed is 0 to 100, or None where unknown")


def veto(power: Power, complexity: Complexity, settings: Settings) -> str | None:
    """Why no large model may run now, or None where it may.

    On battery: never below the setting `battery_threshold`, nor for what is of low complexity.

    >>> veto(Power(8.0, True), "high", Settings())
    'battery at 8 %, below 20 %'
    >>> veto(Power(8.0, False), "low", Settings()) is None
    True
    """
    if not power.on_battery:
        return None
    threshold_percent = 100 * settings.battery_threshold
    if power.percent is not None and power.percent < threshold_percent:
        return f"battery at {power.percent:g} %, below {threshold_percent:g} %"
    if complexity == "low":
        return "on battery, and the query is of low complexity"
    return None


def allows(tier: ModelTier, power: Power, complexity: Complexity, settings: Settings) -> bool:
    """Whether a model of this size may run now; small and medium ones always may.

    >>> allows("large", Power(90.0, True), "low", Settings())
    False
    """
    return tier != "large" or veto(power, complexity, settings) is None


def describe_power(power: Power) -> str:
    """In words, such as 'battery at 55 %'.

    >>> describe_power(Power(None, False))
    'mains'
    """
    if not power.on_battery:
        return "mains"
    return "battery of unknown charge" if power.percent is None else f"battery at {power.percent:g} %"


def read_power(
    *,
    platform: str = sys.platform,
    supplies: Path = POWER_SUPPLIES,
    pmset: Sequence[str] = PMSET,
    timeout_seconds: float = 2.0,
) -> Power:
    """What this machine runs on: from `pmset` on macOS, from the folder `supplies` on Linux, else mains is assumed.

    Mains is assumed too where these say nothing, or `pmset` takes longer than `timeout_seconds`.
    """
    found = None
    if platform == "darwin":
        found = parse_pmset(_output_of(pmset, timeout_seconds))
    elif platform.startswith("linux"):
        found = read_supplies(supplies)
    return found or Power(None, False, "mains assumed")


def parse_pmset(text: str) -> Power | None:
    """Power from the output of `pmset -g batt`: one line names the source, one a battery gives its charge.

    Internal batteries count before others; of several, the mean. None where no source is named.

    >>> parse_pmset("Now drawing from 'Battery Power'\\n -InternalBattery-0 (id=1)\\t8%; discharging; 0:25 remaining\\n")
    Power(percent=8.0, on_battery=True, source='pmset')
    """
    source = _SOURCE.search(text)
    if source is None:
        return None
    charges = [(found["name"], min(100.0, float(found["percent"]))) for found in _CHARGE.finditer(text)]
    internal = [percent for name, percent in charges if name.startswith("InternalBattery")]
    counted = internal or [percent for _, percent in charges]
    percent = sum(counted) / len(counted) if counted else None
    return Power(percent, source[1] != "AC Power", "pmset")


def read_supplies(folder: Path) -> Power | None:
    """Power from a folder laid out as Linux's /sys/class/power_supply; None where it knows of no battery.

    Batteries of mice, headsets and the like (scope Device) are passed over, as are empty bays. With mains or USB power
    online the machine runs on that; else on battery, unless no battery is discharging and there is no plug to tell.
    """
    machine = [supply for supply in _supplies(folder) if supply.get("scope") != "Device"]
    batteries = [
        supply for supply in machine if supply.get("type") in ("Battery", "UPS") and supply.get("present") != "0"
    ]
    if not batteries:
        return None
    plugs = [
        supply["online"] != "0" for supply in machine if supply.get("type") in ("Mains", "USB") and "online" in supply
    ]
    discharging = any(battery.get("status") == "Discharging" for battery in batteries)
    on_battery = not any(plugs) and (bool(plugs) or discharging)
    return Power(_percent(batteries), on_battery, str(folder))


def _supplies(folder: Path) -> list[dict[str, str]]:
    """One dictionary a supply: the files that could be read."""
    names = (
        "type", "scope", "present", "online", "status", "capacity",
        "energy_now", "energy_full", "charge_now", "charge_full",
    )  # fmt: skip
    try:
        supplies = sorted(folder.iterdir())
    except OSError:
        return []
    return [{name: text for name in names if (text := _text(supply / name)) is not None} for supply in supplies]


def _text(file: Path) -> str | None:
    """A file's text; None where it is missing, or the driver refuses to be read just now."""
    try:
        return file.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None


def _percent(batteries: Sequence[dict[str, str]]) -> float | None:
    """Charge of all batteries together, 0 to 100: of their energy where all state it, else the mean of their percents."""
    for now, full in (("energy_now", "energy_full"), ("charge_now", "charge_full")):
        held = [_number(battery.get(now)) for battery in batteries]
        room = [_number(battery.get(full)) for battery in batteries]
        if None not in held and None not in room and (total := sum(filter(None, room))) > 0:
            return round(min(100.0, 100 * sum(filter(None, held)) / total), 1)
    stated = [min(100.0, number) for battery in batteries if (number := _number(battery.get("capacity"))) is not None]
    return sum(stated) / len(stated) if stated else None


def _number(text: str | None) -> float | None:
    return float(text) if text is not None and text.isdecimal() else None


def _output_of(command: Sequence[str], timeout_seconds: float) -> str:
    """What a command prints; '' where it cannot run, fails or takes too long."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_seconds, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace")
