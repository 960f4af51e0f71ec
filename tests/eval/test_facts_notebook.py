"""Pictures of facts: what they show of a memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
import pytest

from theorex_lab import FixedClock, Lab
from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.eval.plots import facts as plots

DAY = MICROSECONDS_PER_DAY
NOW = 100 * MICROSECONDS_PER_DAY


@pytest.fixture
def facts() -> Iterator[Any]:
    with Lab.temporary(clock=FixedClock(NOW)) as lab:
        lab.facts.write("people/ann", "Ann lives in Bath", source="user", at=10 * DAY)
        lab.facts.write("people/ann", "Ann moved to York", source="user", at=90 * DAY)
        lab.facts.write("projects/parser", "The parser reads big files", at=95 * DAY)
        lab.facts.write(
            "projects/parser", "The parser does not read big files", at=99 * DAY
        )
        yield lab.facts
    plt.close("all")


def _texts(ax: Any) -> list[str]:
    return [text for each in ax.texts if (text := each.get_text())]


def test_the_graph_shows_each_entity_and_what_replaced_what(facts: Any) -> None:
    ax = plots.plot_fact_graph(facts.list(active=None), NOW)
    assert {"people/ann", "projects/parser"} <= {*_texts(ax)}
    assert ax.get_title() == "4 facts of 2 entities, 1970-04-11"


def test_an_empty_memory_is_said(facts: Any) -> None:
    assert _texts(plots.plot_fact_graph([], NOW)) == ["No facts yet"]
