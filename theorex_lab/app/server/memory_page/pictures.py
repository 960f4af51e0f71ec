"""Tables of what fades and of how models did, and the pictures beside them.

A picture is drawn when it is asked for, and kept while nothing changed.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any

from theorex_lab.app.server.memory_page.scope import (
    TIME,
    object_schema,
    row_schema,
    tells_the_owner,
)
from theorex_lab.core.clock import MICROSECONDS_PER_HOUR
from theorex_lab.memory.contract import Route
from theorex_lab.store.lab import Lab
from theorex_lab.text.line import one_line
from theorex_lab.text.redact.masking import mask

_MOST_CONCEPTS = 40  # of the table
_MOST_CELLS = 100
_drawing = Lock()  # the library that draws is not made for several threads
_PictureKey = tuple[str, str, int, int]
_pictures: dict[_PictureKey, bytes] = {}
_MOST_PICTURES = 8


@tells_the_owner
def read_decay(lab: Lab) -> dict[str, Any]:
    """Return the concepts by how present they are now, and the law of decay."""
    frame = lab.theorex.axon().frame()
    rows = []
    for concept in frame.head(_MOST_CONCEPTS).itertuples():
        rows.append(
            {
                "concept": one_line(mask(concept.surface_form), 80),
                "agent": concept.agent_id,
                "tier": concept.relevance_tier,
                "importance": round(float(concept.importance_weight), 3),
                "mentions": int(concept.frequency_count),
                "last_seen": concept.last_seen.isoformat(),
            }
        )
    return {
        "law": lab.settings.decay_law,
        "half_life_days": lab.settings.half_life_days,
        "concepts": rows,
        "total": len(frame),
    }


@tells_the_owner
def read_matrix(lab: Lab) -> dict[str, Any]:
    """Return how each model did on each type of query."""
    cells = lab.matrix()
    rows = []
    for cell in cells[:_MOST_CELLS]:
        rows.append(
            {
                "query_type": one_line(cell.query_type, 80),
                "model": one_line(cell.model, 80),
                "n": round(float(cell.n), 1),
                "success_rate": _share(cell.success_rate),
                "ci_low": _share(cell.ci_low),
                "ci_high": _share(cell.ci_high),
                "usable": bool(cell.usable),
            }
        )
    return {"cells": rows, "total": len(cells)}


def _share(value: float) -> float | None:
    """Return a share as JSON holds it; None where it is not known."""
    return None if value != value else round(float(value), 3)


@tells_the_owner
def decay_picture(lab: Lab) -> dict[str, Any]:
    """Return the picture of how concepts fade, as PNG in base64."""
    from theorex_lab.designs.theorex.scores import law_of
    from theorex_lab.eval.plots.decay import plot_fading

    settings = lab.settings

    def plot(**options: Any) -> Any:
        return plot_fading(
            lab.theorex.axon().frame(),
            law_of(settings),
            now=lab.clock.now(),
            active_threshold=settings.active_threshold,
            mild_threshold=settings.mild_threshold,
            **options,
        )

    return _picture(lab, "decay", plot)


@tells_the_owner
def matrix_picture(lab: Lab) -> dict[str, Any]:
    """Return the picture of the confidence matrix, as PNG in base64."""
    from theorex_lab.eval.plots.routing import plot_matrix

    return _picture(lab, "matrix", partial(plot_matrix, lab.matrix()))


def _picture(lab: Lab, name: str, plot: Callable[..., Any]) -> dict[str, Any]:
    """Return a picture, drawn again where the memory or the hour is another."""
    from theorex_lab.eval.widgets.explorer import drawn

    hour = lab.clock.now() // MICROSECONDS_PER_HOUR
    key = (name, str(lab.folder), lab.journal.last_seq(), hour)
    with _drawing:
        if key not in _pictures:
            _pictures[key] = drawn(plot)
        for old_key in list(_pictures)[:-_MOST_PICTURES]:
            del _pictures[old_key]
        return {"png": b64encode(_pictures[key]).decode()}


_PNG = object_schema({"png": {"type": "string", "contentEncoding": "base64"}})
_SHARE = {"type": ["number", "null"]}
PICTURE_ROUTES = (
    Route(
        "GET",
        "/memory/decay",
        read_decay,
        object_schema(
            {
                "law": "string",
                "half_life_days": "number",
                "concepts": row_schema(
                    {
                        "concept": "string",
                        "agent": "string",
                        "tier": "string",
                        "importance": "number",
                        "mentions": "integer",
                        "last_seen": TIME,
                    }
                ),
                "total": "integer",
            }
        ),
    ),
    Route(
        "GET",
        "/memory/matrix",
        read_matrix,
        object_schema(
            {
                "cells": row_schema(
                    {
                        "query_type": "string",
                        "model": "string",
                        "n": "number",
                        "success_rate": _SHARE,
                        "ci_low": _SHARE,
                        "ci_high": _SHARE,
                        "usable": "boolean",
                    }
                ),
                "total": "integer",
            }
        ),
    ),
    Route("GET", "/memory/decay/picture", decay_picture, _PNG),
    Route("GET", "/memory/matrix/picture", matrix_picture, _PNG),
)
