"""Tell by rules which strategies belong together: what one made, another works with."""

from __future__ import annotations

from collections.abc import Sequence

from theorex_lab.designs.dreams.consolidate import Link
from theorex_lab.designs.dreams.strategies import Strategy


def links_by_rule(new: Strategy, near: Sequence[Strategy]) -> list[Link]:  # noqa: ARG001
    """Return none yet."""
    return []
