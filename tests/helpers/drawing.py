"""What the tests of pictures share: no window opens, and every picture keeps one
contract.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from theorex_lab.eval.widgets.explorer import to_png

Drawing = Callable[..., Axes]


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


def figure_of(ax: Axes) -> Figure:
    """The whole figure that the Axes stand in."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def texts(ax: Axes) -> list[str]:
    """Every text that was written on the Axes, but titles and labels."""
    return [text.get_text() for text in ax.texts]


class PictureContract:
    """What holds for every picture; a test class that inherits this names its own.

    drawings: each called with `ax` or without.  empty: the same where there is nothing
    to draw.
    """

    drawings: ClassVar[Mapping[str, Drawing]]
    empty: ClassVar[Mapping[str, Drawing]]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        for argument, made in (("drawing", self.drawings), ("nothing", self.empty)):
            if argument in metafunc.fixturenames:
                metafunc.parametrize(argument, list(made.values()), ids=list(made))

    def test_it_draws_on_the_axes_given_and_opens_no_figure(
        self, drawing: Drawing
    ) -> None:
        ax = own_axes()
        before = plt.get_fignums()
        assert drawing(ax=ax) is ax
        assert plt.get_fignums() == before
        assert ax.has_data()
        assert ax.get_title()

    def test_without_axes_it_makes_one_figure(self, drawing: Drawing) -> None:
        before = plt.get_fignums()
        ax = drawing()
        assert [
            plt.figure(number) for number in plt.get_fignums() if number not in before
        ] == [ax.figure]

    def test_twice_the_same_bytes(self, drawing: Drawing) -> None:
        first = own_axes()
        second = own_axes()
        assert to_png(figure_of(drawing(ax=first))) == to_png(
            figure_of(drawing(ax=second))
        )

    @pytest.mark.parametrize("axes", [own_axes, lambda: None], ids=["given", "own"])
    def test_the_legend_covers_no_data(
        self, drawing: Drawing, axes: Callable[[], Axes | None]
    ) -> None:
        ax = drawing(ax=axes())
        legend = ax.get_legend()
        if legend is not None:
            figure_of(ax).draw_without_rendering()
            assert not legend.get_window_extent().overlaps(
                ax.get_window_extent().padded(-1)
            )

    def test_nothing_to_draw_is_said_in_words(self, nothing: Drawing) -> None:
        ax = nothing(ax=own_axes())
        assert any("yet" in text for text in [ax.get_title(), *texts(ax)])
        assert to_png(figure_of(ax))
