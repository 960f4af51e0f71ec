"""What the tests of pictures share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure


@pytest.fixture(autouse=True)
def no_window(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail where a plot calls show(); close what was opened."""

    def shown(*_: Any, **__: Any) -> None:
        raise AssertionError("a plot called show()")

    monkeypatch.setattr(plt, "show", shown)
    monkeypatch.setattr(Figure, "show", shown)
    yield
    plt.close("all")


def own_axes() -> Axes:
    """Axes of a figure that pyplot knows nothing of."""
    return Figure(figsize=(9, 5), layout="constrained").add_subplot()
