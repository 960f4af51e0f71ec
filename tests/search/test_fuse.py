"""Fusion of ranked lists: worked examples, and what must not change the order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab.search.fuse import best_first, fuse_reciprocal_rank

entries = st.dictionaries(st.integers(0, 40), st.integers(-50, 50), max_size=12).map(
    lambda found: (list(found), [float(score) for score in found.values()])
)


@given(st.lists(st.integers(0, 5), max_size=60), st.integers(0, 70))
def test_best_first_is_a_sort_by_score_then_by_higher_id(
    levels: list[int], limit: int
) -> None:
    ids = np.arange(100, 100 + len(levels))
    scores = np.array(levels, dtype=np.float64)
    expected = sorted(zip(scores.tolist(), ids.tolist(), strict=True), reverse=True)[
        :limit
    ]
    found, found_scores = best_first(ids, scores, limit)
    assert list(zip(found_scores.tolist(), found.tolist(), strict=True)) == expected


def test_reciprocal_ranks_worked_by_hand() -> None:
    ids, scores = fuse_reciprocal_rank([([7, 8], [0.2, 0.9]), ([7], [3.0])], k=1)
    assert ids.tolist() == [7, 8]
    np.testing.assert_allclose(scores, [1 / 3 + 1 / 2, 1 / 2])


def test_no_lists_and_empty_lists_give_nothing() -> None:
    assert [part.tolist() for part in fuse_reciprocal_rank([])] == [[], []]
    assert [part.tolist() for part in fuse_reciprocal_rank([([], []), ([], [])])] == [
        [],
        [],
    ]


@given(entries)
def test_an_empty_list_leaves_the_order_of_the_other(
    entry: tuple[list[int], list[float]],
) -> None:
    expected = best_first(
        np.array(entry[0], dtype=np.int64), np.array(entry[1]), len(entry[0])
    )[0].tolist()
    assert fuse_reciprocal_rank([([], []), entry])[0].tolist() == expected


@given(st.lists(entries, max_size=4), st.randoms())
def test_the_order_of_entries_does_not_matter(lists, random) -> None:
    shuffled = []
    for ids, scores in lists:
        pairs = list(zip(ids, scores, strict=True))
        random.shuffle(pairs)
        shuffled.append(
            ([number for number, _ in pairs], [score for _, score in pairs])
        )
    before = fuse_reciprocal_rank(lists)
    after = fuse_reciprocal_rank(shuffled)
    np.testing.assert_allclose(np.sort(before[1]), np.sort(after[1]), atol=1e-9)
    assert (
        set(before[0].tolist())
        == set(after[0].tolist())
        == {number for ids, _ in lists for number in ids}
    )
