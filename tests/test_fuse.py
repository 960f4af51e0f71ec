"""Fusion of ranked lists: worked examples, and what must not change the order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab.search.fuse import best_first, fuse_reciprocal_rank, fuse_standardised

entries = st.dictionaries(st.integers(0, 40), st.integers(-50, 50), max_size=12).map(
    lambda found: (list(found), [float(score) for score in found.values()])
)


@given(st.lists(st.integers(0, 5), max_size=60), st.integers(0, 70))
def test_best_first_is_a_sort_by_score_then_by_higher_id(levels: list[int], limit: int) -> None:
    ids = np.arange(100, 100 + len(levels))
    scores = np.array(levels, dtype=np.float64)
    expected = sorted(zip(scores.tolist(), ids.tolist(), strict=True), reverse=True)[:limit]
    found, found_scores = best_first(ids, scores, limit)
    assert list(zip(found_scores.tolist(), found.tolist(), strict=True)) == expected


def test_standardised_scores_worked_by_hand() -> None:
    # First list: mean 2, deviation sqrt(2/3); second: mean 6, deviation 2, its minimum -1 for the ids it misses.
    ids, scores = fuse_standardised([([1, 2, 3], [1.0, 2.0, 3.0]), ([3, 9], [4.0, 8.0])])
    step = np.sqrt(1.5)
    assert ids.tolist() == [3, 9, 2, 1]
    np.testing.assert_allclose(scores, [step - 1, 1 - step, -1, -step - 1])


def test_weights_decide_between_opposite_lists() -> None:
    lists = [([1, 2], [1.0, 0.0]), ([1, 2], [0.0, 1.0])]
    assert fuse_standardised(lists, [2, 1])[0].tolist() == [1, 2]
    assert fuse_standardised(lists, [1, 2])[0].tolist() == [2, 1]
    assert fuse_standardised(lists)[0].tolist() == [2, 1]  # equal: the newer first


def test_a_constant_list_adds_nothing() -> None:
    ids, scores = fuse_standardised([([1, 2], [5.0, 1.0]), ([2, 3, 4], [0.1, 0.1, 0.1])])
    assert ids.tolist() == [1, 4, 3, 2]
    np.testing.assert_allclose(scores, [1, -1, -1, -1])


def test_reciprocal_ranks_worked_by_hand() -> None:
    ids, scores = fuse_reciprocal_rank([([7, 8], [0.2, 0.9]), ([7], [3.0])], k=1)
    assert ids.tolist() == [7, 8]
    np.testing.assert_allclose(scores, [1 / 3 + 1 / 2, 1 / 2])


@pytest.mark.parametrize("fuse", [fuse_standardised, fuse_reciprocal_rank])
def test_no_lists_and_empty_lists_give_nothing(fuse) -> None:
    assert [part.tolist() for part in fuse([])] == [[], []]
    assert [part.tolist() for part in fuse([([], []), ([], [])])] == [[], []]


@given(entries)
def test_an_empty_list_leaves_the_order_of_the_other(entry: tuple[list[int], list[float]]) -> None:
    expected = best_first(np.array(entry[0], dtype=np.int64), np.array(entry[1]), len(entry[0]))[0].tolist()
    assert fuse_standardised([entry, ([], [])])[0].tolist() == expected
    assert fuse_reciprocal_rank([([], []), entry])[0].tolist() == expected


@given(st.lists(entries, max_size=4), st.randoms())
def test_the_order_of_entries_does_not_matter(lists, random) -> None:
    shuffled = []
    for ids, scores in lists:
        pairs = list(zip(ids, scores, strict=True))
        random.shuffle(pairs)
        shuffled.append(([number for number, _ in pairs], [score for _, score in pairs]))
    for fuse in (fuse_standardised, fuse_reciprocal_rank):
        before, after = fuse(lists), fuse(shuffled)
        np.testing.assert_allclose(np.sort(before[1]), np.sort(after[1]), atol=1e-9)
        assert set(before[0].tolist()) == set(after[0].tolist()) == {number for ids, _ in lists for number in ids}


@given(entries, entries, st.sampled_from([0.25, 4.0, 1024.0]), st.integers(-100, 100))
def test_scale_and_offset_of_a_list_do_not_matter(first, second, scale: float, offset: int) -> None:
    moved = (first[0], [scale * score + offset for score in first[1]])
    before, after = fuse_standardised([first, second]), fuse_standardised([moved, second])
    scores = dict(zip(after[0].tolist(), after[1].tolist(), strict=True))
    np.testing.assert_allclose([scores[number] for number in before[0].tolist()], before[1], atol=1e-9)
