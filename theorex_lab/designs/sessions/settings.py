"""The settings of the design of sessions."""

from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.settings import SettingsRecord, setting


@dataclass(frozen=True, kw_only=True, repr=False)
class SessionSettings(SettingsRecord):
    """The settings of the design of sessions."""

    age_power: float = setting(
        0.75,
        "how fast a file is forgotten: the sum over days of (age in days + .1)^-agePower",
        ge=0.1,
        le=1,
    )
