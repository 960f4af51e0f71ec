"""What Theorex brings to a home."""

from __future__ import annotations

from theorex_lab.design import Design
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.flash import Flash, flushed_upto
from theorex_lab.designs.theorex.search import CONCEPT, OBSERVATION, SEARCH
from theorex_lab.designs.theorex.shared import SharedWeb
from theorex_lab.designs.theorex.short_term import ShortTerm

DESIGN = Design(
    name="theorex",
    views=(Axon, Flash, ShortTerm, SharedWeb),
    items=(OBSERVATION, CONCEPT),
    search=SEARCH,
    consolidated=lambda home: flushed_upto(home.journal),
)
