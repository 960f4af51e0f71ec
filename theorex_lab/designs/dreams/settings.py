"""The settings of the design of dreams."""

from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.settings import SettingRule, SettingsRecord, part_of, setting
from theorex_lab.memory.contract import Home


@dataclass(frozen=True, kw_only=True, repr=False)
class AdapterSettings(SettingsRecord):
    """Hold what a domain adds to what a dreaming model is asked."""

    role: str = setting("", "the role of the model")
    look_for: str = setting("", "what it is to look for")
    faults: str = setting("unknown_failure", "the classes of failures there")


@dataclass(frozen=True, kw_only=True, repr=False)
class DreamSettings(SettingsRecord):
    """Hold the settings of the design of dreams."""

    merge_similarity: float = setting(
        0.85,
        "cosine from which a trajectory is taken into a strategy; below 1 one of the same"
        " task is taken in too",
        ge=0,
        le=1,
    )
    max_traces_per_cycle: int = setting(
        50, "trajectories that one cycle takes; the rest wait", ge=1, le=10_000
    )
    min_actions: int = setting(
        2, "actions from which a trajectory is worth a strategy", ge=1, le=1_000
    )
    link_similarity: float = setting(
        0.3, "cosine from which two strategies may be linked", ge=0, le=1
    )
    most_links: int = setting(5, "links of a new strategy to others", ge=0, le=100)
    compaction: bool = setting(
        False, "whether strategies told at length are told shorter"
    )
    compaction_max_uses: int = setting(
        3, "uses from which a strategy is left as it is", ge=0, le=1_000_000
    )
    compaction_min_characters: int = setting(
        200, "of a summary that may be told shorter", ge=1, le=100_000
    )
    compaction_max_version: int = setting(
        5, "version from which a strategy is left as it is", ge=1, le=10_000
    )
    recall_similarity: float = setting(
        0.5, "weight of likeness in a recall", ge=0, le=1
    )
    recall_confidence: float = setting(
        0.3, "weight of a strategy's confidence", ge=0, le=1
    )
    recall_success: float = setting(
        0.2, "weight of how often it succeeded, where that is known", ge=0, le=1
    )
    recall_threshold: float = setting(
        0.25, "sum from which a strategy answers", ge=0, le=1
    )
    recall_floor: float | None = setting(
        None,
        "cosine below which nothing answers; null: unrelated tasks'",
        kind=float,
        ge=-1,
        le=1,
    )
    recall_top: int = setting(5, "strategies that are compared", ge=1, le=1_000)
    drift_threshold: float | None = setting(
        None,
        "cosine below which a way no longer fits; null: the floor",
        kind=float,
        ge=-1,
        le=1,
    )
    isa_max_instructions: int = setting(
        500, "instructions that a program may run", ge=1, le=1_000_000
    )
    dreaming_model: str = setting(
        "", "the model that dreams, of `models`; '' for rules without a model"
    )
    domain_adapters: dict[str, AdapterSettings] = setting(
        {},
        "what a domain adds to what the dreaming model is asked, by domain",
        each=SettingRule(AdapterSettings),
    )
    night_tokens: int = setting(
        0,
        "tokens that one maintenance may spend on a dreaming model that costs",
        ge=0,
        le=10**9,
    )


def dream_settings(home: Home) -> DreamSettings:
    """Return the settings of the design in a home.

    Raises:
        ConfigError: Something in them is wrong.
    """
    return part_of(home.settings, "dreams", DreamSettings, home.config_file)
