"""Trajectories, an instruction set and dream cycles, as Evolving Memory has them: what was done becomes strategies."""

from enum import IntEnum, StrEnum

ISA_VERSION = "1.0"
DEFAULT_DOMAIN = "default"


# How much a trajectory is about: from what is wanted (1) to what answers a moment (4).
Level = IntEnum("Level", "GOAL ARCHITECTURE TACTICAL REACTIVE")
# How a trajectory came out; here and below a value is the name in lower case.
Ended = StrEnum("Ended", "SUCCESS FAILURE PARTIAL ABORTED UNKNOWN")
# How two nodes of the graph belong together.
Edge = StrEnum("Edge", "NEXT_STEP PREVIOUS_STEP IS_CHILD_OF CAUSAL CONTEXT_JUMP")
# Why something failed, as far as that is known.
Fault = StrEnum("Fault", "PHYSICAL_SLIP MECHANICAL_STALL VLM_HALLUCINATION LIGHTING_GLARE COMMAND_LOST SENSOR_OCCLUSION "
                "TIMEOUT LOGIC_ERROR UNKNOWN_FAILURE")  # fmt: skip
# How far what was lived there holds in the world, by where a trajectory is from.
FIDELITY = {"real_world": 1.0, "sim_3d": 0.8, "agent": 0.7, "sim_2d": 0.5, "unknown_source": 0.5, "dream_text": 0.3}
# Kinds of events, and their members. A `state` is that of a `strategies.Strategy`, whole.
#
# trajectory_started  trajectory_id, parent_id, goal, level, from, domain, tags, isa_version
# acted               trajectory_id, reasoning, action, result, ok
# trajectory_ended    trajectory_id, outcome, confidence, error, fault
# strategy            one was made of a trajectory: strategy_id, state, trajectory, upto
# strategy_merged     a trajectory, or another strategy, was taken into one: strategy_id, state, absorbed; with `undo`, given up
# constraint          what is not to be done again: constraint_id, strategy_id, text, fault, trajectory
# strategy_linked     one leads to another: from_id, to_id, type, weight
# strategy_compacted  one was told shorter, or with `pruned` put to sleep: strategy_id, state
# strategy_migrated   one was carried to another version of the instruction set: strategy_id, state, ok
# dream               one cycle: what it processed, passed over and made, phase by phase
STATED = ("strategy", "strategy_merged", "strategy_compacted", "strategy_migrated")
_CAPTURED = ("trajectory_started", "acted", "trajectory_ended")
KINDS = dict.fromkeys((*_CAPTURED, *STATED, "constraint", "strategy_linked", "dream"), 1)
