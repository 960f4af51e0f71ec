"""Pictures and widgets of facts: what they show of a memory, in a process and in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
from lab_page import ERRORS, until
from test_browser import STATUS, _no_error, _outputs, _picture, _shown, browser, jupyterlab, notebook

from theorex_lab import Lab
from theorex_lab.clock import MICROSECONDS_PER_DAY, FixedClock
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.draw import facts_plots as plots
from theorex_lab.experiments.draw import facts_widgets as explore

__all__ = ["browser", "jupyterlab"]  # fixtures
pytestmark = pytest.mark.xdist_group("browser")
DAY, NOW = MICROSECONDS_PER_DAY, 100 * MICROSECONDS_PER_DAY


@pytest.fixture
def facts() -> Iterator[Any]:
    with Lab.temporary(clock=FixedClock(NOW)) as lab:
        lab.facts.write("people/ann", "Ann lives in Bath", source="user", at=10 * DAY)
        lab.facts.write("people/ann", "Ann moved to York", source="user", at=90 * DAY)
        lab.facts.write("projects/parser", "The parser reads big files", at=95 * DAY)
        lab.facts.write("projects/parser", "The parser does not read big files", at=99 * DAY)
        yield lab.facts
    plt.close("all")


def _texts(ax: Any) -> list[str]:
    return [text for each in ax.texts if (text := each.get_text())]


def test_the_graph_shows_each_entity_and_what_replaced_what(facts: Any) -> None:
    ax = plots.plot_fact_graph(facts.list(active=None), NOW)
    assert {"people/ann", "projects/parser"} <= {*_texts(ax)}
    assert ax.get_title() == "4 facts of 2 entities, 1970-04-11"


def test_tiers_follow_the_days_and_end_where_a_fact_gave_way(facts: Any) -> None:
    (old,) = [fact for fact in facts.list(active=None) if not fact.active]
    spells = plots._spells(old, NOW)
    assert [state for _, _, state in spells] == ["hot", "warm", "cold", "superseded"]
    assert [(ends - begins) // DAY for begins, ends, _ in spells] == [8, 23, 49, 10]
    assert len(plots.plot_tiers(facts.list(active=None), NOW).get_yticklabels()) == 4


def test_a_chain_and_the_beliefs_of_a_day_say_what_held(facts: Any) -> None:
    first, second = _texts(plots.plot_chain(facts.chain("ann-001")))[:2]
    assert first == "1970-01-11, user: Ann lives in Bath (held until 1970-04-01)"
    assert second == "1970-04-01, user: Ann moved to York (holds)"
    assert len(_texts(plots.plot_beliefs(facts.list(active=None), 20 * DAY))) == 1
    crosses = [line.get_marker() for line in plots.plot_beliefs(facts.list(active=None), 92 * DAY).lines]
    assert crosses == ["o", "X"]


def test_the_slider_shows_what_was_believed_on_its_day(facts: Any) -> None:
    entity, slider, status, picture = explore.belief_explorer(facts).children
    assert "3 facts were believed on 1970-04-11" in status.value
    before = picture.value
    slider.value = "1970-02-01"
    assert "1 facts were believed on 1970-02-01" in status.value
    assert picture.value != before
    entity.value = "projects/parser"
    assert "0 facts" in status.value


def test_a_contradiction_is_accepted_rejected_and_taken_back(facts: Any) -> None:
    tension, picture, buttons, status = explore.contradiction_explorer(facts).children
    accept, reject, undo = buttons.children
    assert "tension-0001 is pending. 1 of 1 are pending." in status.value
    before = picture.value
    accept.click()
    assert "is resolved, in favour of parser-002. 0 of 1" in status.value
    assert picture.value != before
    assert not facts.show("parser-001").active
    accept.click()
    assert "undo" in status.value  # what is settled can only be taken back
    undo.click()
    assert facts.show("parser-001").active
    reject.click()
    assert "both hold. 0 of 1" in status.value
    assert tension.options[0][0].startswith("✓")


def test_an_empty_memory_is_refused_or_said(facts: Any) -> None:
    with Lab.temporary() as lab:
        for explorer in (explore.chain_explorer, explore.belief_explorer, explore.contradiction_explorer):
            with pytest.raises(InvalidInput, match="got "):
                explorer(lab.facts)
    for empty in (plots.plot_fact_graph([], NOW), plots.plot_tiers([], NOW)):
        assert _texts(empty) == ["No facts yet"]
    assert plots.plot_chain([]).get_title() == "No facts yet"
    assert plots.plot_beliefs(facts.list(), DAY).get_title() == "Nothing was believed by 1970-01-02"


def test_the_widgets_of_the_facts_notebook_work_by_keyboard(
    browser: Any, jupyterlab: tuple[str, Path], tmp_path: Path
) -> None:
    with notebook(browser, jupyterlab, "07_facts_and_heartbeat.ipynb", tmp_path / "facts.png") as (page, file):
        _no_error(_outputs(file))
        chain, beliefs, queue = (page.locator(STATUS).nth(place) for place in range(3))
        choice = page.locator(".widget-dropdown select")
        chain.scroll_into_view_if_needed()
        picture = _shown(page)
        choice.nth(0).select_option(label="ann-005: Ann lives in Leeds")
        until(page, lambda: chain.inner_text() == "3 facts; now: Ann lives in Leeds", "the chain of where Ann lives")
        until(page, lambda: _picture(page) not in (picture, b""), "another picture")
        before = beliefs.inner_text()
        handle = page.locator(".widget-slider .noUi-handle, .widget-hslider .noUi-handle").first
        handle.focus()
        for _ in range(30):
            handle.press("ArrowLeft")
        until(page, lambda: beliefs.inner_text() != before, f"other beliefs than {before}")
        assert re.fullmatch(r"\d+ facts were believed on 2026-\d\d-\d\d", beliefs.inner_text())
        choice.nth(2).select_option(label="tension-0006: The parser reads files above 10 MB in chunks")

        def press(button: str, then: str) -> None:
            page.locator(f"button.jupyter-button:text-is('{button}')").focus()
            page.keyboard.press("Space")
            until(page, lambda: then in queue.inner_text(), then)

        press("Accept", "tension-0006 is resolved, in favour of parser-006. 5 of 6 are pending.")
        press("Undo", "tension-0006 is pending. 6 of 6 are pending.")
        press("Reject", "tension-0006 is resolved, both hold. 5 of 6 are pending.")
        assert page.locator(ERRORS).count() == 0
