"""The types of a memory design."""

from __future__ import annotations


class Design:
    """What a design brings."""
