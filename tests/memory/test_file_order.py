"""The order of a project's files: the law that predicted its own steps best."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from theorex_lab.memory import file_order
from theorex_lab.memory.file_order import (
    FEWEST_STEPS,
    FILE_LAWS,
    FREQUENCY,
    RECENCY,
    START_LAW,
    FileWalk,
    WorkStep,
    order_of_files,
    ranked_like,
)

DAY = 86_400_000_000


def _steps(*files: str) -> list[WorkStep]:
    """Return a step a day, each of the files that a text names."""
    return [
        WorkStep(n * DAY, frozenset(names.split())) for n, names in enumerate(files)
    ]


def _drawn(n_steps: int, seed: int = 0) -> list[WorkStep]:
    draw = random.Random(seed)
    steps: list[WorkStep] = []
    for number in range(n_steps):
        files = {f"f{int(draw.expovariate(0.3))}" for _ in range(draw.randint(1, 3))}
        steps.append(WorkStep(number * DAY // 2, frozenset(files)))
    return steps


def _by_frequency(n_steps: int, seed: int) -> list[WorkStep]:
    """Every step changes one file, drawn from shares that never change.

    None is changed again within five steps, so that what was changed last misleads.
    """
    draw = random.Random(seed)
    share_of = {f"f{number}": 0.8**number for number in range(25)}
    recent: list[str] = []
    for _ in range(n_steps):
        names = [name for name in share_of if name not in recent[-5:]]
        shares = [share_of[name] for name in names]
        recent += draw.choices(names, shares)
    return [WorkStep(n * DAY, frozenset((name,))) for n, name in enumerate(recent)]


def _by_recency(n_steps: int, seed: int) -> list[WorkStep]:
    """The next step nearly always changes the file that the last one changed.

    A change of the subject goes to a file that was the subject rarely, so that what was
    changed often misleads.
    """
    draw = random.Random(seed)
    counts = dict.fromkeys((f"f{number}" for number in range(30)), 0)
    current = "f0"
    steps: list[WorkStep] = []
    for number in range(n_steps):
        if draw.random() < 0.15:
            current = min(counts, key=lambda name: (counts[name], name))
        counts[current] += 1
        steps.append(WorkStep(number * DAY, frozenset((current,))))
    return steps


def _rank_by_hand(past: Sequence[WorkStep], law: str, step: WorkStep) -> int:
    """Return the rank of a step's first known file under recency or frequency."""
    counts: dict[str, int] = {}
    last: dict[str, int] = {}
    for position, earlier in enumerate(past):
        for name in earlier.changed:
            counts[name] = counts.get(name, 0) + 1
            last[name] = position

    def key(name: str) -> tuple[int, int, int, str]:
        first = last[name] if law == RECENCY else counts[name]
        return -first, -counts[name], -last[name], name

    ordered = sorted(counts, key=key)
    return min(ordered.index(name) + 1 for name in step.changed if name in counts)


def test_nothing_and_a_single_file_have_an_order() -> None:
    assert order_of_files([]).paths == ()
    order = order_of_files(_steps("a", "a", "a"))
    assert order.paths == ("a",)
    assert order.law == START_LAW
    assert order.mrr[RECENCY] == order.mrr[FREQUENCY] == 1.0


def test_ties_go_by_path() -> None:
    assert order_of_files(_steps("c b a")).paths == ("a", "b", "c")
    assert order_of_files(_steps("c a", "b", "c a")).paths == ("a", "c", "b")


def test_a_removed_file_is_not_in_the_order_until_it_is_there_again() -> None:
    gone = WorkStep(3 * DAY, frozenset(), frozenset({"a"}))
    assert order_of_files([*_steps("a", "a b"), gone]).paths == ("b",)
    back = WorkStep(4 * DAY, frozenset({"a"}))
    assert order_of_files([*_steps("a", "a b"), gone, back]).paths == ("a", "b")


def test_other_names_of_the_files_change_nothing_but_the_names() -> None:
    steps = _drawn(80)
    renamed: list[WorkStep] = []
    for step in steps:
        names = frozenset(f"moved/{name}" for name in step.changed)
        renamed.append(WorkStep(step.at, names))
    before = order_of_files(steps)
    after = order_of_files(renamed)
    assert after.paths == tuple(f"moved/{path}" for path in before.paths)
    assert after.mrr == before.mrr


def test_the_order_in_which_steps_are_given_changes_nothing() -> None:
    steps = _drawn(60)
    shuffled = list(steps)
    random.Random(1).shuffle(shuffled)
    assert order_of_files(shuffled) == order_of_files(steps)


@pytest.mark.parametrize("law", [RECENCY, FREQUENCY])
def test_ranks_are_those_that_a_sorted_list_gives(law: str) -> None:
    steps = _drawn(70, seed=3)
    column = FILE_LAWS.index(law)
    walk = FileWalk(steps)
    n_compared = 0
    for position, step in enumerate(steps):
        walk.go_to(position)
        ranks = walk.ranks_of(step.changed, step.at)
        if len(ranks):
            expected = _rank_by_hand(steps[:position], law, step)
            assert ranks[:, column].min() == expected
            n_compared += 1
    assert n_compared > 50


def test_skipped_steps_count_as_those_that_are_predicted() -> None:
    steps = _drawn(90, seed=5)
    whole = FileWalk(steps, most_scored=90)
    skipping = FileWalk(steps, most_scored=10)
    for position in (85, 90):
        whole.go_to(position)
        skipping.go_to(position)
        for law in FILE_LAWS:
            at = steps[-1].at
            assert np.allclose(whole.scores(law, at), skipping.scores(law, at))


def test_steps_that_are_skipped_a_few_at_once_count_as_those_skipped_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps = [*_drawn(90, seed=5), WorkStep(2_000 * DAY, frozenset(), frozenset({"f1"}))]
    at_once = FileWalk(steps, most_scored=0)
    at_once.finish()
    monkeypatch.setattr(file_order, "_STEPS_AT_ONCE", 9)
    a_few = FileWalk(steps, most_scored=0)
    a_few.finish()
    for law in FILE_LAWS:
        at = steps[-1].at
        assert np.array_equal(at_once.scores(law, at), a_few.scores(law, at))


@pytest.mark.parametrize("n_past", [5, 31, 60, 119])
def test_what_comes_later_changes_no_earlier_prediction(n_past: int) -> None:
    past = _drawn(n_past, seed=2)
    futures = [
        [WorkStep(1_000 * DAY + n * DAY, frozenset({f"x{n % 3}"})) for n in range(60)],
        [WorkStep(1_000 * DAY, frozenset({"a", "f1"}))],
        [],
    ]
    n_all = n_past + 60
    orders = []
    for future in futures:
        walk = FileWalk([*past, *future], most_scored=n_all)
        walk.go_to(n_past)
        orders.append(walk.order(past[-1].at))
    assert orders[0] == orders[1] == orders[2]


def test_later_is_never_less_faded_and_an_early_clock_counts_as_now() -> None:
    steps = _drawn(40)
    walk = FileWalk(steps)
    walk.finish()
    last_at = steps[-1].at
    for law in FILE_LAWS:
        now = walk.scores(law, last_at)
        later = walk.scores(law, last_at + 9 * DAY)
        assert (later <= now + 1e-12).all()
        assert np.array_equal(now, walk.scores(law, last_at - 9 * DAY))


def test_few_steps_keep_the_start() -> None:
    order = order_of_files(_by_recency(FEWEST_STEPS, seed=0))
    assert order.law == START_LAW
    assert f"other laws are tried from {FEWEST_STEPS} on" in order.in_words("commits")


@pytest.mark.parametrize("seed", range(5))
def test_where_frequency_is_right_it_is_found_and_little_is_lost(seed: int) -> None:
    order = order_of_files(_by_frequency(400, seed))
    assert order.mrr[FREQUENCY] > order.mrr[RECENCY] + 0.05
    assert order.mrr[order.law] >= order.mrr[FREQUENCY] - 0.02
    assert order.law != START_LAW
    assert order.n_changes <= 3


@pytest.mark.parametrize("seed", range(5))
def test_where_recency_is_right_little_is_lost(seed: int) -> None:
    order = order_of_files(_by_recency(400, seed))
    assert order.mrr[RECENCY] > order.mrr[FREQUENCY] + 0.2
    assert order.mrr[order.law] >= order.mrr[RECENCY] - 0.02


@pytest.mark.parametrize("seed", range(20))
def test_without_a_difference_the_law_stays(seed: int) -> None:
    draw = random.Random(seed)
    steps = [
        WorkStep(n * DAY, frozenset({f"f{draw.randrange(15)}"})) for n in range(250)
    ]
    assert order_of_files(steps).n_changes <= 1


def test_a_sweeping_step_is_not_predicted() -> None:
    many = " ".join(f"f{number}" for number in range(40))
    steps = _steps(many, many, many)
    assert order_of_files(steps).n_scored == 0


def test_worth_follows_the_order() -> None:
    worth = {"a": 1.0, "b": 3.0, "c": 2.0, "not ordered": 9.0}
    ranked = ranked_like(["c", "gone", "a", "b"], worth)
    assert ranked == {"c": 9.0, "a": 3.0, "b": 2.0, "not ordered": 1.0}
