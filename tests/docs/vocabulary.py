"""The words that users do not meet, and what is said instead.

`Banned.use` is what a text says instead of what `Banned.pattern` finds. A word that
comes from a published system may be used by the design of that system and by what
measures this design.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shown_texts import Role


@dataclass(frozen=True)
class Banned:
    """A word that users should not meet.

    Attributes:
        pattern: A regular expression that finds it; case is ignored.
        use: What is said instead.
        roles: In which texts it is looked for.
        allowed_in: How the paths of files begin that may use it.
        exceptions: Phrases of a line that may use it, each with a reason.
    """

    pattern: str
    use: str
    roles: tuple[Role, ...] = tuple(Role)
    allowed_in: tuple[str, ...] = ()
    exceptions: Mapping[str, str] = field(default_factory=dict)


# Files that are rewritten at this moment; take out what is done.
EDITED_ELSEWHERE = (
    *("README.md", "theorex ", "theorex_lab/app/cli/"),
    "theorex_lab/designs/causal/commands.py",
    "theorex_lab/designs/dreams/commands.py",
    "theorex_lab/designs/facts/commands.py",
    "theorex_lab/designs/research/commands.py",
    "theorex_lab/designs/theorex/commands.py",
)

# Files whose strings are words and patterns that users wrote, or lists of words; they
# are matched with texts and never shown. Their docstrings are looked at.
WORDS_OF_USERS = (
    "theorex_lab/designs/facts/signal_patterns.py",
    "theorex_lab/memory/assertions.py",
    "theorex_lab/memory/briefing/",
    "theorex_lab/memory/claims.py",
    "theorex_lab/memory/relations.py",
    "theorex_lab/memory/superseding.py",
    "theorex_lab/routing/query_signs.py",
    "theorex_lab/text/",
)
# Where the words of a published system stand: its design, what measures it, its group
# of commands, its notebook, and its section of the glossary.
GLOSSARY = ("docs/glossary.md",)
THEOREX = ("theorex_lab/designs/theorex/", "theorex tiers ", *GLOSSARY)
FACTS = (
    *("theorex_lab/designs/facts/", "theorex facts ", *GLOSSARY),
    "notebooks/07_facts_and_heartbeat.ipynb",
)
DREAMS = (
    *("theorex_lab/designs/dreams/", "theorex dreams ", *GLOSSARY),
    *("theorex_lab/eval/metrics/strategies.py", "theorex_lab/eval/plots/dreams.py"),
    "theorex_lab/eval/widgets/dreams.py",
    "notebooks/05_dream_cycles.ipynb",
)
CAUSAL = (
    *("theorex_lab/designs/causal/", "theorex causal ", *GLOSSARY),
    *("theorex_lab/eval/metrics/causal.py", "theorex_lab/eval/plots/causal.py"),
    "theorex_lab/eval/widgets/causal.py",
    "notebooks/06_causal_advice.ipynb",
)

BANNED = (
    # How far a text is believed.
    Banned(r"\bhearsay\b", "untrusted text"),
    Banned(r"\b(?:un)?heard\b", "untrusted, unverified"),
    Banned(r"--trust-own\b", "--trusted"),
    Banned(r"\bvouch\w*|\bconfirm\w* (?:a|the|this|that) fix\b", "trust"),
    # What is done between sessions.
    Banned(r"\bnight(?:s|ly)?\b", "maintenance"),
    Banned(r"\bheartbeats?\b", "maintenance", allowed_in=FACTS),
    Banned(r"\bdream(?:s|ing|t|ed)?\b", "maintenance", allowed_in=DREAMS),
    Banned(r"\bflush(?:es|ed|ing)?\b", "end of session", allowed_in=THEOREX),
    Banned(r"\b(?:a?sleep(?:s|ing)?|wakes?|woken|wakened)\b", "archive, restore"),
    Banned(r"\bprun(?:e[sd]?|ing)\b", "remove from the index", allowed_in=THEOREX),
    Banned(r"\bgraduat\w+", "promote to long-term", allowed_in=THEOREX),
    Banned(r"\bpromot\w+", "promote to long-term; publish", allowed_in=THEOREX),
    Banned(
        r"(?<!persona )\bdrift\w*", "stale anchor; persona drift", allowed_in=THEOREX
    ),
    Banned(r"\bgates?\b", "offline acceptance test"),
    # What a memory holds.
    Banned(
        r"\bboot[- ](?:context|inject|aware)|\bflash-inject\b",
        "briefing",
        allowed_in=THEOREX,
    ),
    Banned(
        r"\bmemory (?:context|show)\b|\bquery-shared\b", "briefing", allowed_in=THEOREX
    ),
    Banned(r"\baxons?\b", "concepts", allowed_in=THEOREX),
    Banned(r"\bflash\b", "events of the session", allowed_in=THEOREX),
    Banned(r"\bgenes?\b|\bcapsules?\b", "option, recorded fix", allowed_in=CAUSAL),
    Banned(r"\bstrateg(?:y|ies)\b", "procedure", allowed_in=(*DREAMS, *CAUSAL)),
    Banned(r"\bdeeds?\b", "action"),
    Banned(r"\btensions?\b", "conflict", allowed_in=FACTS),
    Banned(r"\bsilo(?:s|ed)?\b", "isolated project", allowed_in=THEOREX),
    Banned(r"\butterances?\b|\bspoken\b", "message"),
    Banned(
        r"^(?:#+ )?(?:told|said|spoken)\b|^#+ .*\b(?:told|said)$",
        "messages; decisions",
        roles=(Role.MESSAGE, Role.NOTEBOOK, Role.PAGE),
    ),
    # How a measurement is told.
    Banned(r"\bnam(?:es?|ed) (?:only )?\.\d+ of\b|\bshare named\b", "recall"),
    Banned(r"\b(?:held|kept)[- ]back\b", "held-out"),
    Banned(r"\bfore(?:tell\w*|told)\b", "predict"),
    Banned(
        r"\b(?:set|stands?|earns|worth|measured|more|less|better|gives?)\s+beside\b"
        r"|\bbeside\s+(?:(?:the|no|other|five|simple|plain)\s+)*"
        r"(?:best|baselines?|guess\w*|rates?|peers|others|designs?|default|BM25|"
        r"thresholds|words|most|files|lists?|\.?\d)",
        "compared with",
    ),
    Banned(
        r"\b(?:told|tells?|telling)\s+apart\b|\btold from (?:the|nothing|zero|chance)\b",
        "significantly different; distinguished",
    ),
    Banned(r"\bknows? what (?:comes|will)\b", "upper bound with hindsight"),
    Banned(r"\bliv(?:es?|ed|ing) (?:again|(?:it )?through)\b", "replay"),
    Banned(r"\bof (?:late|old)\b", "recent; earlier"),
)
