"""The settings of the design of research tiers."""

from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.settings import SettingsRecord, part_of, setting
from theorex_lab.memory.contract import Home


@dataclass(frozen=True, kw_only=True, repr=False)
class ResearchSettings(SettingsRecord):
    """Hold the settings of the design of research tiers."""

    domain: str = setting(
        "",
        "the domain of what names none; '' for the project of a captured session",
    )
    inject_k: int = setting(4, "insights that a session is given", ge=0, le=100)
    rank_by: str = setting(
        "search",
        "how insights are ranked for what is asked: search, or cosine",
        choices=("search", "cosine"),
    )
    similarity_floor: float = setting(
        0.25, "cosine to what is asked from which an insight is given", ge=-1, le=1
    )
    insight_confidence: float = setting(
        0.5, "confidence from which an insight is kept and given", ge=0, le=1
    )
    duplicate_overlap: float = setting(
        0.4, "share of an insight's words above which another is alike", ge=0, le=1
    )
    success_alpha: float = setting(
        0.3, "weight of the last outcome in a skill's success rate", gt=0, le=1
    )
    skills_k: int = setting(5, "skills that a role is given", ge=0, le=100)
    distill_failures: int = setting(
        2, "failures of a session from which a skill is distilled", ge=1, le=1_000
    )
    distill_successes: int = setting(
        5, "successes of a session from which one is", ge=1, le=1_000
    )
    pattern_calls: int = setting(
        3, "calls of tools for a lemma from which they are a pattern", ge=1, le=100
    )
    pattern_confidence: float = setting(
        0.7, "confidence of a lemma, where it is known, from which they are", ge=0, le=1
    )
    model: str = setting(
        "",
        "the model that extracts and merges, of `models`; '' for rules without a model",
    )
    night_tokens: int = setting(
        0, "tokens a day that a model that costs may take", ge=0, le=10**9
    )


def research_settings(home: Home) -> ResearchSettings:
    """Return the settings of the design in a home.

    Raises:
        ConfigError: Something in them is wrong.
    """
    return part_of(home.settings, "research", ResearchSettings, home.config_file)
