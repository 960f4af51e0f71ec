"""The settings of the design of causal memory."""

from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.settings import SettingRule, SettingsRecord, part_of, setting
from theorex_lab.memory.contract import Home

_MOST_DAYS = 365_000


@dataclass(frozen=True, kw_only=True, repr=False)
class CausalSettings(SettingsRecord):
    """Hold the settings of the design of causal memory."""

    edge_half_life_days: float | None = setting(
        30.0,
        "of (signals, gene); null: it never ages",
        gt=0,
        le=_MOST_DAYS,
        nullable=True,
    )
    gene_half_life_days: float | None = setting(
        45.0,
        "of a gene whatever it was tried for; null: it never ages",
        gt=0,
        le=_MOST_DAYS,
        nullable=True,
    )
    similarity: float = setting(
        0.34,
        "likeness (Jaccard) of signals from which what they tell counts",
        gt=0,
        le=1,
    )
    prior_weight: float = setting(
        0.12, "of what a gene did elsewhere, beside what it did here", ge=0, le=1
    )
    prior_alone: float = setting(
        0.4, "of what a gene did elsewhere, where nothing is known here", ge=0, le=1
    )
    ban_below: float = setting(
        0.18, "expected success below which a gene is banned for signals", ge=0, le=1
    )
    ban_attempts: int = setting(2, "attempts from which it may be", ge=1, le=1_000)
    prior_ban_below: float = setting(
        0.12,
        "expected success below which a gene is banned that is unknown here",
        ge=0,
        le=1,
    )
    prior_ban_attempts: int = setting(
        3, "attempts from which it may be", ge=1, le=1_000
    )
    error_tokens: tuple[str, ...] = setting(
        ("log_error", "errsig:"),
        "signals that are errors; one that ends in a colon is how they begin",
        each=SettingRule(str),
    )
    cheapest: bool = setting(
        True,
        "whether to prefer the cheapest of the genes not significantly worse than the"
        " best, where costs are known",
    )
    external_confidence: float = setting(
        0.6,
        "by what the confidence of a capsule from outside is multiplied",
        ge=0,
        le=1,
    )
    drift: bool = setting(
        False, "whether genes are also drawn at random, bans left aside"
    )


def causal_settings(home: Home) -> CausalSettings:
    """Return the settings of the design in a home.

    Raises:
        ConfigError: Something in them is wrong.
    """
    return part_of(home.settings, "causal", CausalSettings, home.config_file)
