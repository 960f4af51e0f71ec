"""Hand-set weights of lines beside fitted ones, on projects left out of the fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import Run

from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.datasets.needs_rows import Need
from theorex_lab.eval.replay.needs_fit import (
    FITTED,
    HAND,
    LineModel,
    SessionStart,
    compare_needs_weights,
    ridge_logistic,
)
from theorex_lab.memory.briefing.candidates import PLACES, RULES, Candidate
from theorex_lab.text.wording import content_words

DAY = 86_400_000_000
TOPICS = "invoices uploads queues caches tokens mails fonts themes maps orders".split()


def line(text: str, section: str, weight: float) -> Candidate:
    return Candidate(
        section=section,
        kind=section.lower(),
        text=text,
        weight=weight,
        at=DAY,
        session="s",
        words=content_words(text),
        events=("e1",),
        why="made up",
    )


def start_of(number: int) -> SessionStart:
    """Return a start whose rules are needed, though by hand its places weigh more."""
    topic = TOPICS[number % len(TOPICS)]
    rules = [line(f"Never delete {topic} of a customer", RULES, 0.05)]
    places = []
    for other in TOPICS:
        text = f"The folder {other} holds all that draws {other} on one screen"
        places.append(line(text, PLACES, 0.5))
    need = Need("n1", "rule", 2, "start", "Keep them", (("never delete",),))
    return SessionStart((need,), frozenset(), 2 * DAY, (*rules, *places))


def test_fitted_weights_find_what_is_needed_on_a_project_left_out():
    projects = {
        "one": [start_of(number) for number in range(4)],
        "two": [start_of(number) for number in range(4, 8)],
    }
    rows = compare_needs_weights(projects)
    assert [row[:2] for row in rows] == [
        ("one", HAND),
        ("one", FITTED),
        ("two", HAND),
        ("two", FITTED),
    ]
    for hand, fitted in zip(rows[::2], rows[1::2], strict=True):
        assert hand.start_150 == 0
        assert fitted.start_150 == 1
        assert fitted.useful_500 > hand.useful_500 - 1e-9
    assert rows == compare_needs_weights(projects)


def test_weights_are_only_dealt_out_anew():
    start = start_of(0)
    model = LineModel.fit([start_of(1), start_of(2)])
    reweighted = model.reweighted(start)
    assert [row.text for row in reweighted] == [row.text for row in start.candidates]
    assert sorted(row.weight for row in reweighted) == sorted(
        row.weight for row in start.candidates
    )
    assert reweighted[0].weight == 0.5


def test_the_regression_finds_known_odds_and_a_ridge_draws_them_to_zero():
    values = np.array([[0.0]] * 4 + [[1.0]] * 4)
    labels = np.array([1.0, 0, 0, 0, 1, 1, 1, 0])
    counts = np.ones(8)
    free = ridge_logistic(values, labels, counts, ridge=1e-9)
    assert free == pytest.approx([-np.log(3), 2 * np.log(3)], abs=1e-4)
    drawn = ridge_logistic(values, labels, counts, ridge=10.0)
    assert 0 < drawn[1] < free[1] / 2


def test_one_project_or_no_ridge_is_refused():
    starts = [start_of(0)]
    with pytest.raises(InvalidInput, match="got 1 projects"):
        compare_needs_weights({"one": starts})
    with pytest.raises(InvalidInput, match="ridge"):
        compare_needs_weights({"one": starts, "two": starts}, ridge=0.0)


def test_the_command_compares_weights_over_projects(run: Run, tmp_path: Path) -> None:
    with_one = tmp_path / "empty"
    with_one.mkdir()
    ended = run("eval", "line-weights", "--path", str(with_one))
    assert ended.code == 1
    assert "holds no needs of sessions" in ended.err
