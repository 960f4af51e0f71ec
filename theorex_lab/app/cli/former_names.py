"""Former names of commands, and what each is called now.

A former name ends in an error that says the present one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# Names that this program has written into files of other programs: the entry of the
# MCP server in an agent's settings, and the line in a crontab. They still run.
KEPT = {"mcp-start": "mcp", "nightly": "maintain"}

_TIERS = (
    "scan scan-agent prune prune-agent flush graduate promote moment drift"
    " context-monitor boot-inject boot-aware flash-inject query-shared session-summary"
    " synthesize role-route roles energy-check evolve-review a2a-send a2a-tasks"
    " a2a-claim a2a-complete a2a-fail"
).split()
_FACTS = (
    "memory-signal memory-write memory-contradict memory-observe memory-tension"
    " add-session validate heartbeat"
).split()
# Former commands by their names without a group.
_COMMANDS = {
    **{name: f"tiers {name}" for name in _TIERS},
    **{name: f"facts {name}" for name in _FACTS},
    "confirm": "trust",
    "evolve-status": "outcomes",
    "gate": "policy --test",
    "ingest-code": "ingest --kind code",
    "ingest-image": "ingest --kind image",
    "ingest-video": "ingest --kind video",
    "judge": "outcomes --judge",
    "matrix-build": "tiers matrix-build",
    "matrix-show": "matrix",
    "policy-list": "policy",
    "policy-rollback": "policy --rollback",
    "policy-snapshot": "policy --snapshot",
    "projects-merge": "projects merge",
    "salvage": "verify --salvage",
    "schedule": "maintain --schedule cron",
    "trace-review": "review",
    "trace-show": "traces",
    "trace-stats": "traces",
    "unpin": "pin --undo",
}
# Former commands that had another name in their group.
_IN_GROUPS = {
    ("memory", "context"): "briefing",
    ("memory", "show"): "briefing --why",
    ("learn", "status"): "outcomes",
    ("learn", "review"): "tiers evolve-review",
    ("task", "send"): "tiers a2a-send",
    ("task", "list"): "tiers a2a-tasks",
    ("task", "claim"): "tiers a2a-claim",
    ("task", "complete"): "tiers a2a-complete",
    ("task", "fail"): "tiers a2a-fail",
    ("projects", "list"): "projects",
    ("config", "set"): "config",
    ("config", "unset"): "config --unset",
    ("mcp", "start"): "mcp",
    ("mcp", "serve"): "serve",
    ("mcp", "install-hooks"): "install-hooks",
    ("lab", "open"): "lab",
    ("lab", "tune"): "tune",
    ("lab", "eval"): "eval",
    ("lab", "compare"): "compare",
    ("lab", "tour"): "tour",
    ("fact", "session"): "facts add-session",
}
# Groups of the toolkit that are gone, and groups of designs that are renamed.
_GONE = ("memory", "learn", "home")
_RENAMED = {"fact": "facts", "dream": "dreams"}
# Beginnings of the names that a design's commands had outside of its group.
_BEGINNINGS = {
    "fact-": "facts",
    "dream-": "dreams",
    "causal-": "causal",
    "research-": "research",
}


class NewName(NamedTuple):
    """The present name of a command that was renamed.

    Attributes:
        former: The name that was given.
        present: What it is called now, without `theorex`.
    """

    former: str
    present: str


def new_name(words: Sequence[str]) -> NewName | None:
    """Return the present name of a command that was renamed, else None.

    Args:
        words: What stands behind `theorex`, the command's name first.

    >>> new_name(["salvage"]).present
    'verify --salvage'
    >>> new_name(["learn", "gate"]).present
    'policy --test'
    >>> new_name(["fact-list", "--all"]).present
    'facts list'
    >>> new_name(["write", "a text"])
    """
    first = words[0]
    second = words[1] if len(words) > 1 else ""
    former_pair = f"{first} {second}".strip()
    if (first, second) in _IN_GROUPS:
        return NewName(former_pair, _IN_GROUPS[first, second])
    if first in _RENAMED:
        return NewName(former_pair, f"{_RENAMED[first]} {second}".strip())
    if first in _COMMANDS:
        return NewName(first, _COMMANDS[first])
    for beginning, group in _BEGINNINGS.items():
        if first.startswith(beginning):
            return NewName(first, f"{group} {first.removeprefix(beginning)}")
    if first in _GONE:
        return NewName(former_pair, _COMMANDS.get(second, second) or "--help")
    return None
