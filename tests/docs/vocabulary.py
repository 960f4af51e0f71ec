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


# Lines of help, which are read where the commands print them.
HELP_TABLES = ("theorex_lab/app/cli/command_table.py",)
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
_GLOSSARY = "docs/glossary.md"
_IN_THEOREX = ("theorex_lab/designs/theorex/", "theorex tiers ", _GLOSSARY)
_IN_FACTS = (
    *("theorex_lab/designs/facts/", "theorex facts ", _GLOSSARY),
    "notebooks/07_facts_and_heartbeat.ipynb",
)
_IN_DREAMS = (
    *("theorex_lab/designs/dreams/", "theorex dreams ", _GLOSSARY),
    *("theorex_lab/eval/metrics/strategies.py", "theorex_lab/eval/plots/dreams.py"),
    *("theorex_lab/eval/widgets/dreams.py", "notebooks/05_dream_cycles.ipynb"),
)
_IN_CAUSAL = (
    *("theorex_lab/designs/causal/", "theorex causal ", _GLOSSARY),
    "theorex_lab/eval/metrics/causal.py",
    *("theorex_lab/eval/plots/causal.py", "theorex_lab/eval/widgets/causal.py"),
    "notebooks/06_causal_advice.ipynb",
)
# Lines of the README that name a published system's group of commands.
_GROUPS = {
    "| `theorex tiers` |": "the group of a published system, in its words",
    "| `theorex dreams` |": "the group of a published system, in its words",
}
_TITLES = (Role.MESSAGE, Role.NOTEBOOK, Role.PAGE)
_COMPARED = r"(?:the|no|other|five|simple|plain|two|its|all|these|trivial)\s+"

BANNED = (
    # How far a text is believed.
    Banned(r"\bhearsay\b", "untrusted text"),
    Banned(r"\b(?:un)?heard\b", "untrusted, unverified"),
    Banned(r"--trust-own\b", "--trusted"),
    Banned(r"\bvouch\w*|\bconfirm\w*\s+(?:a|the|this|that)\s+fix\b", "trust"),
    # What is done between sessions.
    Banned(
        r"\bnight(?:s|ly)?\b",
        "maintenance",
        exceptions={
            "publish the nightly build": "the goal of a made-up session",
        },
    ),
    Banned(r"\bheartbeats?\b", "maintenance", allowed_in=_IN_FACTS),
    Banned(
        r"\bdream(?:s|ing|t|ed)?\b",
        "maintenance",
        allowed_in=_IN_DREAMS,
        exceptions={
            "| `theorex dreams` |": "the name of a group of commands",
            "facts, dreams,": "the names of designs",
        },
    ),
    Banned(r"\bflush(?:es|ed|ing)?\b", "end of session", allowed_in=_IN_THEOREX),
    Banned(
        r"\b(?:a?sleep(?:s|ing)?|wakes?|woken|wakened)\b",
        "archive, restore",
        allowed_in=_IN_THEOREX,
    ),
    Banned(
        r"\bprun(?:e[sd]?|ing)\b",
        "remove from the index",
        allowed_in=(*_IN_THEOREX, "theorex_lab/designs/dreams/"),
    ),
    Banned(
        r"\bgraduat(?:e[sd]?|ing|ions?)\b",
        "promote to long-term",
        # There it is what a student does.
        allowed_in=(*_IN_THEOREX, "theorex_lab/memory/relation_senses.py"),
    ),
    Banned(
        r"\bpromot(?:e[sd]?|ing|ions?)\b(?!\s+to\s+long-term)",
        "promote to long-term; publish",
        allowed_in=(*_IN_THEOREX, "theorex_lab/designs/facts/", "theorex facts "),
        exceptions=_GROUPS,
    ),
    Banned(
        r"(?<!persona )\bdrift(?:s|ed|ing)?\b",
        "stale anchor; persona drift",
        allowed_in=(
            *(*_IN_THEOREX, "theorex_lab/designs/causal/", "theorex causal "),
            *("theorex_lab/eval/plots/causal.py", "theorex_lab/eval/widgets/"),
            "notebooks/06_causal_advice.ipynb",
        ),
    ),
    Banned(r"\bgates?\b", "offline acceptance test"),
    # What a memory holds.
    Banned(
        r"\bboot[-\s]+(?:context|inject|aware)|\bflash-inject\b|\bquery-shared\b"
        r"|\bmemory (?:context|show)\b",
        "briefing",
        allowed_in=(_GLOSSARY, "theorex tiers "),
        exceptions={"[MEMORY CONTEXT]": "the mark that a document prints"},
    ),
    Banned(r"\baxons?\b(?!\.json)", "concepts", allowed_in=_IN_THEOREX),
    Banned(r"\bflash\b", "events of the session", allowed_in=_IN_THEOREX),
    Banned(r"\bgenes?\b|\bcapsules?\b", "option, recorded fix", allowed_in=_IN_CAUSAL),
    Banned(
        r"\bstrateg(?:y|ies)\b",
        "procedure",
        allowed_in=(
            *(*_IN_DREAMS, "theorex_lab/designs/causal/"),
            *("theorex eval --help", "theorex_lab/app/cli/evaluate.py"),
        ),
        exceptions=_GROUPS,
    ),
    Banned(r"\bdeeds?\b", "action"),
    Banned(r"\btensions?\b", "conflict", allowed_in=_IN_FACTS),
    Banned(r"\bsilo(?:s|ed)?\b", "isolated project", allowed_in=(_GLOSSARY,)),
    Banned(r"\butterances?\b|\bspoken\b", "message"),
    Banned(
        r"\A(?:told|said|spoken)\b|^#+ .*\b(?:told|said|spoken)\b",
        "messages; decisions",
        roles=_TITLES,
        exceptions={"said by": "the name of a column, which its code decides"},
    ),
    # How a measurement is reported.
    Banned(r"\bnam(?:es?|ed)\s+(?:only\s+)?\.\d+\s+of\b|\bshare\s+named\b", "recall"),
    Banned(
        r"\b(?:held|kept)[-\s]+(?:back|aside)\b",
        "held-out",
        # Removals that wait for a second word are held back; nothing is measured there.
        allowed_in=(
            "theorex_lab/app/cli/ingest.py",
            "theorex_lab/files/ingest/documents.py",
        ),
    ),
    Banned(r"\bfore(?:tell\w*|told)\b", "predict"),
    Banned(
        r"\b(?:set|earns|worth|measured|scored|better|worse)\s+beside\b"
        rf"|\bbeside\s+(?:{_COMPARED})*"
        r"(?:best|baselines?|guess\w*|rates?|peers|others|default|BM25|thresholds|\.?\d)",
        "compared with",
    ),
    Banned(
        r"\b(?:told|tells?|telling)\s+apart\b"
        r"|\btold\s+from\s+(?:the|nothing|zero|chance)\b",
        "significantly different; distinguished",
    ),
    Banned(r"\bknows?\s+what\s+(?:comes|will)\b", "upper bound with hindsight"),
    Banned(
        r"\bliv(?:es?|ed|ing)\s+(?:again|(?:it\s+)?through)\b",
        "replay a log to a memory",
    ),
    Banned(r"\bof\s+(?:late|old)\b", "recent; earlier"),
)
