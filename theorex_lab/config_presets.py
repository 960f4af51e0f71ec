"""Presets: named sets of settings, which `preset` in config.json or `--preset` puts in the place of the defaults.

`document`, which stands in `config_document.json`, spells out every value that the published description of Theorex
states, also those that are the defaults now; its models and roles are the defaults. Of other designs it has the rules that
their own descriptions state, where ours differ.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, get_args

PresetName = Literal["none", "document"]
PRESET_NAMES: tuple[PresetName, ...] = get_args(PresetName)
_DOCUMENT: dict[str, Any] = json.loads(Path(__file__).with_name("config_document.json").read_text(encoding="utf-8"))
PRESETS: dict[str, dict[str, Any]] = {"none": {}, "document": _DOCUMENT}
