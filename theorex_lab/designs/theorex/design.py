"""What Theorex brings to a home."""

from __future__ import annotations

from theorex_lab.design import Design
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.context import SECTIONS
from theorex_lab.designs.theorex.exchange import FILES
from theorex_lab.designs.theorex.flash import Flash, flushed_upto
from theorex_lab.designs.theorex.shared import SharedWeb
from theorex_lab.designs.theorex.short_term import ShortTerm
from theorex_lab.designs.theorex.steps import STEPS, agents_of

DESIGN = Design(
    name="theorex",
    views=(Axon, Flash, ShortTerm, SharedWeb),
    sections=SECTIONS,
    steps=STEPS,
    files=(FILES,),
    agents=agents_of,
    consolidated=lambda home: flushed_upto(home.journal),
)
