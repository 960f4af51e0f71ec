"""What is kept of an index while texts are added is what is made of all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab.designs.theorex.sleepers import Sleepers
from theorex_lab.search.passages import Passages

TEXTS = st.lists(
    st.tuples(
        st.integers(-1, 3),  # the session
        st.integers(1, 70),  # how many words
        st.booleans(),  # whether it duplicates another one
    ),
    max_size=40,
)


def columns(texts: list[tuple[int, int, bool]]) -> tuple[np.ndarray, ...]:
    """Return the sessions, the numbers of words and the mask of duplicates."""
    rows = np.array(texts, np.int64).reshape(-1, 3)
    return rows[:, 0], rows[:, 1], rows[:, 2] > 0


def assert_equal(left: Passages, right: Passages) -> None:
    """Compare all that passages answer."""
    assert left.any == right.any
    assert left.mean_text == right.mean_text
    assert left.mean_passage == right.mean_passage
    assert left.words.tolist() == right.words.tolist()
    assert left.echo.tolist() == right.echo.tolist()
    assert left.before().tolist() == right.before().tolist()
    assert left.after().tolist() == right.after().tolist()
    texts = np.arange(len(left.words))
    pairs = zip(left.holding(texts), right.holding(texts), strict=True)
    for (left_texts, left_mask), (right_texts, right_mask) in pairs:
        assert left_texts.tolist() == right_texts.tolist()
        assert left_mask.tolist() == right_mask.tolist()


@given(TEXTS, st.lists(st.integers(0, 8), max_size=8))
def test_passages_that_grow_are_those_of_all_texts(
    texts: list[tuple[int, int, bool]], steps: list[int]
) -> None:
    session, words, echo = columns(texts)
    grown = Passages(session[:0], words[:0], echo[:0])
    n_texts = 0
    for step in [*steps, len(texts)]:
        n_texts = min(n_texts + step, len(texts))
        grown = grown.grown(session[:n_texts], words[:n_texts], echo[:n_texts])
    assert_equal(grown, Passages(session, words, echo))


def test_passages_are_not_changed_by_those_that_grow_of_them() -> None:
    session, words, echo = columns([(0, 5, False), (1, 9, False), (0, 7, False)])
    before = Passages(session[:2], words[:2], echo[:2])
    before.grown(session, words, echo)
    assert_equal(before, Passages(session[:2], words[:2], echo[:2]))


@pytest.mark.parametrize("seed", range(20))
def test_sleepers_that_are_asked_again_are_those_of_all_mentions(seed: int) -> None:
    generator = np.random.default_rng(seed)
    n_concepts = 6
    observation = np.repeat(np.arange(30), generator.integers(0, 4, 30))
    concept = generator.integers(0, n_concepts, len(observation))
    is_gone = np.zeros(n_concepts, np.bool_)
    sleepers = Sleepers()
    for n_observations in sorted(generator.integers(0, 31, 10).tolist()):
        if generator.random() < 0.4:
            is_gone = generator.random(n_concepts) < 0.6
        n_mentions = int(np.searchsorted(observation, n_observations))
        sleeping = sleepers.now(
            is_gone,
            observation[:n_mentions],
            concept[:n_mentions],
            n_observations=n_observations,
        )
        for row in range(n_observations):
            mentioned = concept[observation == row]
            sleeps = len(mentioned) > 0 and bool(is_gone[mentioned].all())
            assert sleeping[row] == sleeps
