"""Declare the events of dreams, as Evolving Memory has them.

There are trajectories, an instruction set and dream cycles. What was done becomes
strategies.
"""

from enum import IntEnum, StrEnum

from theorex_lab.journal.kinds import PROJECT, SOURCE
from theorex_lab.journal.shapes import (
    COUNT,
    FILLED,
    SEQ,
    SHARE,
    TIME,
    Kind,
    one_of,
    one_of_numbers,
    row,
)

ISA_VERSION = "1.0"
DEFAULT_DOMAIN = "default"


# How much a trajectory is about: from what is wanted (1) to what answers a moment (4).
Level = IntEnum("Level", "GOAL ARCHITECTURE TACTICAL REACTIVE")
# How a trajectory came out; here and below a value is the name in lower case.
Ended = StrEnum("Ended", "SUCCESS FAILURE PARTIAL ABORTED UNKNOWN")
# How two nodes of the graph belong together.
Edge = StrEnum("Edge", "NEXT_STEP PREVIOUS_STEP IS_CHILD_OF CAUSAL CONTEXT_JUMP")
# Why something failed, as far as that is known.
Fault = StrEnum(
    "Fault",
    [
        "PHYSICAL_SLIP",
        "MECHANICAL_STALL",
        "VLM_HALLUCINATION",
        "LIGHTING_GLARE",
        "COMMAND_LOST",
        "SENSOR_OCCLUSION",
        "TIMEOUT",
        "LOGIC_ERROR",
        "UNKNOWN_FAILURE",
    ],
)
# How far what was lived there holds in the world, by where a trajectory is from.
FIDELITY = {
    "real_world": 1.0,
    "sim_3d": 0.8,
    "agent": 0.7,
    "sim_2d": 0.5,
    "unknown_source": 0.5,
    "dream_text": 0.3,
}
# Kinds of events that tell what a strategy is as a whole, each in a `state`: that of a
# `designs.dreams.strategies.Strategy`.
STATED = ("strategy", "strategy_merged", "strategy_compacted", "strategy_migrated")
_OUTCOME = one_of(*(ended.value for ended in Ended))
_STEP = {
    "reasoning": str,
    "action": str,
    "result": str,
    "why?": str,
    "seen?": COUNT,
    "event?": str,
    "ok?": (bool, None),
}
_STATE = {
    "goal": str,
    "summary": str,
    "confidence": SHARE,
    "outcome": _OUTCOME,
    "level": one_of_numbers(*map(int, Level)),
    "domain": str,
    "origin": one_of(*FIDELITY),
    "success": COUNT,
    "failure": COUNT,
    "version": COUNT,
    "isa_version": str,
    "content": str,
    "source": SOURCE,
    "steps": [_STEP],
    "branches": [{"after": int, "step": _STEP}],
    "goals": [str],
    "tags": [str],
    "evidence?": {str: COUNT},
}
_ABOUT = {"strategy_id": FILLED, "project": PROJECT}
_TOLD = {**_ABOUT, "state": _STATE, "source": SOURCE}
KINDS = {
    "trajectory_started": Kind(
        1,
        "work for a goal begins; `parent_id`: the trajectory that it is part of, or ''",
        {
            "trajectory_id": FILLED,
            "parent_id?": str,
            "goal": str,
            "root_goal?": str,
            "level": one_of_numbers(*map(int, Level)),
            "from": one_of(*FIDELITY),
            "domain": str,
            "tags": [str],
            "isa_version": str,
            "source": SOURCE,
            "project?": PROJECT,
        },
    ),
    "acted": Kind(
        1,
        "what was done for it, why, and what came of it",
        {
            "trajectory_id": FILLED,
            "reasoning": str,
            "action": str,
            "result": str,
            "ok": (bool, None),
            "source?": SOURCE,
            "project?": PROJECT,
        },
    ),
    "trajectory_ended": Kind(
        1,
        "how it came out, how sure that is, and for a failure its class",
        {
            "trajectory_id": FILLED,
            "outcome": _OUTCOME,
            "confidence": SHARE,
            "error": str,
            "fault": str,
            "source?": SOURCE,
            "project?": PROJECT,
        },
    ),
    "strategy": Kind(
        1, "one was made of a trajectory", {**_TOLD, "trajectory": str, "upto": SEQ}
    ),
    "strategy_merged": Kind(
        1,
        "a trajectory, or another strategy, was taken into one: absorbed; with `undo`,"
        " given up",
        {
            **_TOLD,
            "absorbed": str,
            "undo": bool,
            "trajectory?": str,
            "upto?": SEQ,
            "why?": str,
        },
    ),
    "constraint": Kind(
        1,
        "what is not to be done again",
        {
            **_ABOUT,
            "constraint_id": FILLED,
            "text": str,
            "fault": str,
            "source": SOURCE,
            "trajectory": str,
        },
    ),
    "strategy_linked": Kind(
        1,
        "one leads to another",
        {**_ABOUT, "from_id": FILLED, "to_id": FILLED, "type": str, "weight": float},
    ),
    "strategy_compacted": Kind(
        1,
        "one was shortened, or with `pruned` archived",
        {**_TOLD, "pruned": bool, "undo": bool, "why?": str},
    ),
    "strategy_migrated": Kind(
        1,
        "one was carried to another version of the instruction set",
        {**_TOLD, "ok?": bool, "from?": str, "to?": str, "problem?": str},
    ),
    "sqlite_rows": Kind(
        1,
        "rows of Evolving Memory's file, as they were read; `of`: the event that they"
        " became, or ''",
        {
            "of": str,
            "rows": {str: [{str: object}]},
            "source": SOURCE,
            "project": PROJECT,
        },
    ),
    "dream": Kind(
        1,
        "one cycle: what it processed, passed over and made, phase by phase",
        {
            "dream_id": FILLED,
            "started_at": TIME,
            "ended_at": TIME,
            "traces_processed": COUNT,
            "nodes_created": COUNT,
            "nodes_merged": COUNT,
            "domain": str,
            "dreamer": str,
            "phase_log": [str],
            "passed": [row(str, SEQ, str)],
            "held": [row(str, str)],
        },
    ),
}
