"""What Theorex brings to a home."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from theorex_lab.design import Design, PolicyPart
from theorex_lab.designs.theorex.audit import AUDIT
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.context import SECTIONS
from theorex_lab.designs.theorex.exchange import FILES
from theorex_lab.designs.theorex.flash import Flash, flushed_upto
from theorex_lab.designs.theorex.search import CONCEPT, OBSERVATION, SEARCH
from theorex_lab.designs.theorex.shared import SharedWeb
from theorex_lab.designs.theorex.short_term import ShortTerm
from theorex_lab.designs.theorex.steps import STEPS, agents_of

MEMORY_SETTINGS = (
    "decayLaw", "decayParams", "halfLifeDays", "fixHalfLifeDays", "activeThreshold", "mildThreshold", "contextTokens",
)  # fmt: skip


def _of_gate(name: str) -> Callable[..., Any]:
    """A function of `memory_policy`, which is imported when the gate calls it: nobody else needs it."""

    def call(*given: Any) -> Any:
        return getattr(import_module("theorex_lab.designs.theorex.memory_policy"), name)(*given)

    return call


DESIGN = Design(
    name="theorex",
    views=(Axon, Flash, ShortTerm, SharedWeb),
    items=(OBSERVATION, CONCEPT),
    search=SEARCH,
    sections=SECTIONS,
    steps=STEPS,
    files=(FILES,),
    agents=agents_of,
    audit=AUDIT,
    policies={"memory": PolicyPart(MEMORY_SETTINGS, _of_gate("propose"), _of_gate("score"), _of_gate("evidence"))},
    consolidated=lambda home: flushed_upto(home.journal),
)
