"""Presets: named sets of settings, which `preset` in config.json or `--preset` puts in the place of the defaults.

`document` spells out every value that the published description of Theorex states, also those that are the defaults now.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

PresetName = Literal["none", "document"]
PRESET_NAMES: tuple[PresetName, ...] = get_args(PresetName)
# The models and roles of the document, which are the defaults too.
MODEL_TIERS = {"qwen3-32b": "large", "ministral-3b": "medium", "claude-sonnet": "large"}
ROLES: list[dict[str, Any]] = [
    {"agent_id": agent, "role": role, "capabilities": capabilities, "model_preference": model}
    for agent, role, capabilities, model in (
        ("main", "orchestrator", ["synthesis", "general"], "claude-sonnet"),
        ("qwen-sage", "operative", ["retrieval", "code", "math"], "qwen3-32b"),
        ("secretarius", "operative", ["retrieval", "general"], "ministral-3b"),
    )
]

PRESETS: dict[str, dict[str, Any]] = {
    "none": {},
    "document": {
        "decay_law": "product",
        "decay_params": {},
        "half_life_days": 14.0,
        "fix_half_life_days": 7.0,
        "active_threshold": 0.6,
        "mild_threshold": 0.3,
        "sleep_after_days": 30.0,
        "prune_threshold_days": 30.0,
        "promotion_threshold": 0.5,
        "flush_threshold": 0.5,
        "graduation_threshold": 0.5,
        "graduation_days": 7,
        "graduation_window_days": 7,
        "flash_echo_weight": 0.0,
        "evolve_window_days": 7.0,
        "context_tokens": 2_000,
        "context_designs": ["theorex"],
        "fusion": "reciprocal_rank",
        "reciprocal_rank_k": 60.0,
        "lm_studio_url": "http://localhost:1234",
        "lm_studio_embed_model": "nomic-embed-text-v1.5",
        "models": {name: {"tier": tier} for name, tier in MODEL_TIERS.items()},
        "roles": ROLES,
        "battery_threshold": 0.2,
        "matrix_min_samples": 5,
        "matrix_success_weight": 0.6,
        "matrix_half_life_days": None,
        "recall_calls": 0,
        "dispatch_context_pct": 50.0,
        "model_timeout_seconds": 30.0,
        "reviewers": ["qwen3-32b", "ministral-3b"],
        "review_timeout_seconds": 45.0,
        "review_threshold": 0.3,
        "gate_margin": 0.02,
        "gate_min_samples": 5,
        "context_alert_pct": 50.0,
        "context_cooldown_calls": 20,
        "agent_axon_dir": "~/.openclaw/agents",
        "shared_axon_path": "~/.openclaw/workspace/theorex/shared-axon.json",
        "outcomes_dir": "data/outcomes",
        "cold_store_path": "data/cold-store.db",
    },
}
