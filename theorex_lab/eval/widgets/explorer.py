"""Show sources: what every explorer stands on.

It has a choice of sources, a line of status, and the picture under it.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from html import escape
from io import BytesIO
from typing import Any, Generic, TypedDict, TypeVar, Unpack

import ipywidgets as widgets
from matplotlib.figure import Figure

from theorex_lab.core.errors import InvalidInput, TheorexError

T = TypeVar("T")
Redraw = Callable[..., None]


class ControlSettings(TypedDict, total=False):
    """What a control holds and allows, by the names of ipywidgets."""

    continuous_update: bool
    max: float
    min: float
    options: Sequence[Any]
    readout_format: str
    step: float
    value: Any


class Explorer(Generic[T]):
    """Sources by name, each read once when it is chosen, and what is shown of one.

    Args:
        sources: By name what reads a source.
        gives: What a source returns, for the message.

    Raises:
        InvalidInput: There is no source.
    """

    def __init__(self, sources: Mapping[str, Callable[[], T]], gives: str) -> None:
        if not sources:
            raise InvalidInput(
                f"got no source; give at least one name with a function that returns {gives}"
            )
        self._read = cache(lambda name: sources[name]())
        self.source = control("Dropdown", "Source", options=list(sources))
        self.status = widgets.HTML()
        self.picture = widgets.Image(format="png")

    def show(self, drawn: Callable[[T], tuple[str, Figure]]) -> None:
        """Show the line and the picture of the chosen source.

        The reason is shown where it cannot be drawn.
        """
        try:
            line, figure = drawn(self._read(self.source.value))
        except TheorexError as error:
            self.status.value = paragraph(str(error))
            self.picture.value = b""
            return
        self.status.value = line
        self.picture.value = to_png(figure)

    def box(
        self,
        controls: Sequence[Any],
        redraw: Redraw,
        begin: Redraw | None = None,
    ) -> Any:
        """Return the VBox of all.

        Args:
            controls: They call `redraw` with their change.
            redraw: Draws again.
            begin: It is called for a new source; `redraw` by default.
        """
        first = begin or redraw
        self.source.observe(first, names="value")
        for control in controls:
            control.observe(redraw, names="value")
        first()
        return widgets.VBox(
            [
                self.source,
                *controls,
                self.status,
                self.picture,
            ]
        )


def control(kind: str, description: str, **settings: Unpack[ControlSettings]) -> Any:
    """Return a control of ipywidgets by the name of its class.

    Its description stands before it; it acts when it is let go.

    Args:
        kind: The name of the class.
        description: The description.
        settings: What it holds and allows.
    """
    if kind.endswith("Slider"):
        settings["continuous_update"] = False
    widget_class = getattr(widgets, kind)
    return widget_class(
        description=description,
        style={"description_width": "13em"},
        layout=widgets.Layout(width="38em"),
        **settings,
    )


def paragraph(text: str) -> str:
    """Return a text of status as HTML, which screen readers say when it changes."""
    lines = escape(text).replace("\n", "<br>")
    return f'<p role="status">{lines}</p>'


def to_png(figure: Figure, dpi: int = 80) -> bytes:
    """Return the figure as a PNG file; it needs no window and leaves nothing open.

    A sign that the font lacks is drawn as a box; that is not worth a warning.
    """
    file = BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(
            file,
            format="png",
            dpi=dpi,
            pil_kwargs={"compress_level": 1},
        )
    return file.getvalue()


def drawn(
    draw: Callable[..., Any],
    dpi: int = 110,
    *,
    size: tuple[float, float] = (8, 4.8),
) -> bytes:
    """Return what `draw(ax=…)` draws, as a small PNG file of 64 colours.

    Args:
        draw: Draws on Axes.
        dpi: Dots an inch.
        size: Width and height, in inches.
    """
    from PIL import Image

    figure = Figure(figsize=size, layout="constrained")
    file = BytesIO()
    draw(ax=figure.add_subplot())
    picture = Image.open(BytesIO(to_png(figure, dpi)))
    small = picture.convert("RGB").quantize(64)
    small.save(file, "PNG", optimize=True)
    return file.getvalue()
