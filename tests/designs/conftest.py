"""The designs are tested as they work where they are active."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _every_design_active(every_design_active: None) -> None:
    """Every design takes part in every test of this folder."""
