"""What a session's start costs day by day: notes grow, pages and a query do not."""

from __future__ import annotations

import numpy as np
import pytest

from theorex_lab import InvalidInput, new_event
from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.eval import EvalLog
from theorex_lab.eval.plots.facts import plot_token_growth
from theorex_lab.eval.replay.token_growth import token_growth
from theorex_lab.journal.event import Event

RULE = "Remember: never push the parser on Fridays"
BUDGET = 40


def prompt(day: int, text: str) -> Event:
    return new_event(
        "prompt",
        {"text": text, "source": "user", "project": ""},
        agent="main",
        session=f"s{day}",
        at=day * MICROSECONDS_PER_DAY + 1,
    )


def log_of_days(n_days: int) -> EvalLog:
    """A rule on the first day, then talk that states nothing."""
    events = [prompt(0, RULE)]
    talk = "could you look at that once more, please, and at the other one"
    events += [prompt(day, f"{talk} {day}") for day in range(1, n_days)]
    return EvalLog("talk", events)


def test_notes_grow_with_the_days_and_pages_and_a_query_do_not() -> None:
    growth = token_growth(log_of_days(60), tokens=BUDGET, every_days=7)
    frame = growth.frame
    assert list(frame["n_days"]) == [7, 14, 21, 28, 35, 42, 49, 56]
    assert frame["notes"].is_monotonic_increasing
    assert frame["notes"].iloc[-1] > 6 * frame["notes"].iloc[0]
    assert set(frame["facts"]) == {1}
    assert frame["summaries"].max() < 2 * frame["summaries"].min()
    assert frame["query"].iloc[0] > 0
    assert frame["query"].max() <= BUDGET + 1


def test_a_day_knows_nothing_of_later_ones() -> None:
    short = token_growth(log_of_days(30), every_days=7)
    long = token_growth(log_of_days(60), every_days=7)
    assert list(long.points[: len(short.points)]) == list(short.points)


def test_the_picture_has_the_three_curves() -> None:
    ax = plot_token_growth(token_growth(log_of_days(30), every_days=7))
    labels = [line.get_label() for line in ax.get_lines()]
    assert labels == ["all daily notes", "pages of all entities", "answer to a query"]
    (days, _) = ax.get_lines()[0].get_data()
    assert np.asarray(days).tolist() == [7, 14, 21, 28]


@pytest.mark.parametrize("options", [{"tokens": 0}, {"every_days": 0}])
def test_a_number_below_one_is_refused(options: dict[str, int]) -> None:
    with pytest.raises(InvalidInput, match="1 or more"):
        token_growth(log_of_days(2), **options)
