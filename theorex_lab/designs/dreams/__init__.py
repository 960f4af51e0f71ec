"""Trajectories, an instruction set and dream cycles, as Evolving Memory has them: what was done becomes strategies."""

from __future__ import annotations

from enum import IntEnum, StrEnum

ISA_VERSION = "1.0"
DEFAULT_DOMAIN = "default"


class Level(IntEnum):
    """How much a trajectory is about: from what is wanted to what answers a moment."""

    GOAL = 1
    ARCHITECTURE = 2
    TACTICAL = 3
    REACTIVE = 4


class Ended(StrEnum):
    """How a trajectory came out."""

    SUCCESS = "success"
    FAILURE = "failure"
    PARTIAL = "partial"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


class Edge(StrEnum):
    """How two nodes of the graph belong together."""

    NEXT_STEP = "next_step"
    PREVIOUS_STEP = "previous_step"
    IS_CHILD_OF = "is_child_of"
    CAUSAL = "causal"
    CONTEXT_JUMP = "context_jump"


# Why something failed, as far as that is known; a value is the name in lower case.
Fault = StrEnum(
    "Fault",
    "PHYSICAL_SLIP MECHANICAL_STALL VLM_HALLUCINATION LIGHTING_GLARE COMMAND_LOST SENSOR_OCCLUSION TIMEOUT LOGIC_ERROR UNKNOWN_FAILURE",
)


# How far what was lived there holds in the world, by where a trajectory is from.
FIDELITY = {"real_world": 1.0, "sim_3d": 0.8, "agent": 0.7, "sim_2d": 0.5, "unknown_source": 0.5, "dream_text": 0.3}
# Kind of an event -> the version that is written. A `state` is that of a `strategies.Strategy`, whole.
KINDS = {
    "trajectory_started": 1,  # trajectory_id, parent_id, goal, level, from, domain, tags, isa_version
    "acted": 1,  # trajectory_id, reasoning, action, result, ok
    "trajectory_ended": 1,  # trajectory_id, outcome, confidence, error, fault
    "strategy": 1,  # a strategy was made of a trajectory: strategy_id, state, trajectory, upto
    "strategy_merged": 1,  # a trajectory, or another strategy, was taken into one: strategy_id, state, absorbed; with `undo`, given up
    "constraint": 1,  # what is not to be done again: constraint_id, strategy_id, text, fault, trajectory
    "strategy_linked": 1,  # one strategy leads to another: from_id, to_id, type, weight
    "strategy_compacted": 1,  # a strategy was told shorter, or with `pruned` put to sleep: strategy_id, state
    "strategy_migrated": 1,  # a strategy was carried to another version of the instruction set: strategy_id, state, ok
    "dream": 1,  # one cycle: what it processed, passed over and made, phase by phase
}
