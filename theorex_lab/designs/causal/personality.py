"""Personality: five parameters by which genes are chosen, and the mutations that they allow."""

from collections.abc import Mapping
from typing import Any

from theorex_lab.errors import InvalidInput

PARAMETERS = {"rigor": 0.7, "creativity": 0.35, "verbosity": 0.25, "risk_tolerance": 0.4, "obedience": 0.85}


def personality_key(state: Mapping[str, Any]) -> str:
    """The key of a personality: its parameters rounded to .1; one that is not given has its default.

    >>> personality_key({"rigor": 0.72})
    'rigor=0.7|creativity=0.4|verbosity=0.3|risk_tolerance=0.4|obedience=0.9'
    """
    raise NotImplementedError


def checked_mutation(mutation: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A mutation as events hold it."""
    raise InvalidInput("")
