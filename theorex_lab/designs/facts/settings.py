"""The settings of the design of facts."""

from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.settings import SettingsRecord, part_of, setting
from theorex_lab.memory.contract import Home


@dataclass(frozen=True, kw_only=True, repr=False)
class FactSettings(SettingsRecord):
    """The settings of the design of facts."""

    timezone: str = setting(
        "",
        "of days and weeks, such as Europe/Moscow; '' is $ENGRAM_TZ, else $TZ, else UTC",
    )
    near_duplicate_threshold: float = setting(
        0.82, "likeness from which an entity's fact is not kept", ge=0, le=1
    )
    hot_days: float = setting(
        7.0, "days after its last use that a fact is hot", "days", gt=0, le=36_500
    )
    warm_days: float = setting(30.0, "days that it is warm", "days", gt=0, le=36_500)
    doubtful_days: float = setting(
        14.0, "days that a doubtful fact is warm", "days", gt=0, le=36_500
    )
    doubtful_below: float = setting(
        0.5, "confidence below which a fact is doubtful", ge=0, le=1
    )
    warm_accesses: int = setting(
        10, "uses from which a cold fact is warm", ge=1, le=1_000_000
    )
    heartbeat_minutes: float = setting(
        30.0, "between two heartbeats", "minutes", ge=1, le=1_440
    )
    observation_alerts: int = setting(
        20, "pending notes above which the heartbeat gives an alert", ge=1, le=10_000
    )
    tension_alerts: int = setting(
        5, "pending tensions above which the heartbeat gives an alert", ge=1, le=10_000
    )


def fact_settings(home: Home) -> FactSettings:
    """Return the settings of the design in a home.

    Raises:
        ConfigError: Something in them is wrong.
    """
    return part_of(home.settings, "facts", FactSettings, home.config_file)
