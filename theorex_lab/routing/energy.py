"""What the machine runs on, and which sizes of model that allows."""

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.settings import ModelTier, Settings
from theorex_lab.routing.heuristic import Complexity


@dataclass(frozen=True)
class Power:
    """What the machine runs on.

    Attributes:
        percent: Charge, 0 to 100, None where unknown.
        on_battery: Whether it runs on its battery.
        source: Where this is known from.

    Raises:
        InvalidInput: For a charge outside 0 to 100.
    """

    percent: float | None
    on_battery: bool
    source: str = "given"

    def __post_init__(self) -> None:
        if self.percent is not None and not 0 <= self.percent <= 100:
            raise InvalidInput(
                f"got a charge of {self.percent!r} percent; allowed is 0 to 100, or"
                " None where unknown"
            )


def veto(power: Power, complexity: Complexity, settings: Settings) -> str | None:
    """Return why no large model may run now, or None where it may.

    On battery it may not run below the setting `battery_threshold`, nor for a query of
    low complexity.

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


def allows(
    tier: ModelTier, power: Power, complexity: Complexity, settings: Settings
) -> bool:
    """Return whether a model of this size may run now.

    Small and medium ones always may.

    >>> allows("large", Power(90.0, True), "low", Settings())
    False
    """
    return tier != "large" or veto(power, complexity, settings) is None


def describe_power(power: Power) -> str:
    """Return in words what the machine runs on, such as 'battery at 55 %'.

    >>> describe_power(Power(None, False))
    'mains'
    """
    if not power.on_battery:
        return "mains"
    if power.percent is None:
        return "battery of unknown charge"
    return f"battery at {power.percent:g} %"


def read_power() -> Power:
    """Return what this machine runs on, as psutil asks the system.

    Without a battery mains is assumed. A charge that the system does not know is None.
    One above 100, as worn batteries state it, counts as 100.
    """
    import psutil

    try:
        # Missing on systems for which psutil knows no battery.
        battery = getattr(psutil, "sensors_battery", lambda: None)()
    except (OSError, RuntimeError, ValueError, psutil.Error):
        battery = None
    if battery is None:
        return Power(None, False, "mains assumed")
    percent = None
    if battery.percent is not None:
        percent = min(100.0, max(0.0, float(battery.percent)))
    return Power(percent, battery.power_plugged is False, "psutil")
