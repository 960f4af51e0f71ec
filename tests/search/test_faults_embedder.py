"""Embedders that fail, each in its way: a search goes on by words and says why, and
nothing wrong is kept.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from conftest import NOW, observation

from benchmarks.measure import DIMENSIONS, GivenVectors
from theorex_lab import FixedClock, Lab, ModelUnavailable, Settings
from theorex_lab.core.settings import check_settings
from theorex_lab.memory import embedded

TEXTS = 200


class Failing(GivenVectors):
    """Given vectors, until so many texts were asked; then `failure` is what it does
    with those it would have given.
    """

    is_local = False

    def __init__(self, after: int = 0) -> None:
        super().__init__("failing")
        self.left = after
        self.failure = "none"
        self.woken = threading.Event()

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        matrix = super().embed(texts)
        self.left -= len(texts)
        if self.left >= 0 or self.failure == "none":
            return matrix
        if self.failure == "dies":
            raise ModelUnavailable("the model died")
        if self.failure == "slow":
            self.woken.wait(60)
            return matrix
        matrix[-1, 0] = {"not a number": np.nan, "infinite": np.inf, "long": 3.0}.get(
            self.failure, matrix[-1, 0]
        )
        wrong = {
            "too few": matrix[:-1],
            "too many": np.concatenate([matrix, matrix]),
            "other dimensions": matrix[:, :5],
        }
        return wrong.get(self.failure, matrix)


@pytest.fixture
def embedder() -> Failing:
    return Failing()


@pytest.fixture
def lab(tmp_path: Path, embedder: Failing) -> Iterator[Lab]:
    settings: Settings = check_settings({"searchTimeoutSeconds": 0.5})
    with Lab(
        tmp_path / "home", clock=FixedClock(NOW), embedder=embedder, settings=settings
    ) as lab:
        lab.journal.append(
            [
                observation(f"text {number} of a cache", labels=["cache"])
                for number in range(TEXTS)
            ]
        )
        yield lab


def counted(lab: Lab) -> tuple[int, int]:
    return lab.searcher.vectors.coverage()["covered"], lab.searcher.vectors.coverage()[
        "queued"
    ]


def test_what_was_computed_before_a_death_is_kept_and_the_rest_is_queued(
    lab: Lab, embedder: Failing
) -> None:
    embedder.left, embedder.failure = 100, "dies"
    with pytest.raises(ModelUnavailable, match="died"):
        lab.searcher.vectors.embed_pending()
    assert counted(lab) == (64, TEXTS - 64)
    embedder.failure = "none"
    assert lab.searcher.vectors.embed_pending() == TEXTS - 64
    assert counted(lab) == (TEXTS, 0)
    assert len(lab.searcher.vectors.cache) == TEXTS, "each text once"


@pytest.mark.parametrize(
    "failure",
    ["not a number", "infinite", "long", "too few", "too many", "other dimensions"],
)
def test_what_is_not_a_vector_is_named_and_not_kept(
    lab: Lab, embedder: Failing, failure: str
) -> None:
    assert lab.searcher.vectors.embed_pending(50) == 50
    embedder.failure, embedder.left = failure, 0
    with pytest.raises(ModelUnavailable, match=r"failing gave .* allowed is"):
        lab.searcher.vectors.embed_pending()
    assert counted(lab) == (50, TEXTS - 50)
    hits = lab.search("text of a cache")
    assert len(hits) == 10
    assert "failing gave" in hits.notes[0]
    assert hits.notes[0].startswith("by words alone")
    assert "vector" not in hits.why[0]


def test_a_search_waits_no_longer_than_the_settings_say(
    lab: Lab, embedder: Failing
) -> None:
    lab.searcher.vectors.embed_pending()
    embedder.failure, embedder.left = "slow", 0
    started = time.monotonic()
    hits = lab.search("text of a cache")
    assert time.monotonic() - started < 30, "it would be 60"
    embedder.woken.set()
    assert len(hits) == 10
    assert hits.notes == ("by words alone: failing did not answer within 0.5 s",)


@pytest.mark.parametrize("is_local", [True, False])
def test_only_a_model_of_this_process_is_asked_without_a_thread(
    lab: Lab, embedder: Failing, monkeypatch: pytest.MonkeyPatch, is_local: bool
) -> None:
    lab.searcher.vectors.embed_pending()
    asked_in = []
    embed = embedder.embed

    def noting(texts: Sequence[str]) -> np.ndarray:
        asked_in.append(threading.current_thread())
        return embed(texts)

    monkeypatch.setattr(embedder, "embed", noting)
    monkeypatch.setattr(embedder, "is_local", is_local)
    hits = lab.search("text of a cache")
    assert len(hits) == 10
    assert "vector" in hits.why[0]
    (thread,) = asked_in
    assert (thread is threading.current_thread()) == is_local


@pytest.mark.parametrize("fault", ["cut", "flipped"])
def test_a_damaged_file_costs_only_what_was_damaged(
    lab: Lab, tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "_FEW_TEXTS", 0)
    lab.searcher.vectors.embed_pending()
    file = lab.searcher.vectors.cache.path
    record = 16 + 4 * DIMENSIONS + 4
    content = bytearray(file.read_bytes())
    if fault == "cut":
        del content[-record // 2 :]
    else:
        content[7 * record + 100] ^= 64
    file.write_bytes(content)
    with Lab(tmp_path / "home", clock=FixedClock(NOW), embedder=Failing()) as other:
        assert len(other.search("text of a cache", limit=TEXTS)) == TEXTS
        assert counted(other) == (TEXTS - 1, 1)
        assert other.searcher.vectors.embed_pending() == 1
        assert counted(other) == (TEXTS, 0)
    assert len(file.read_bytes()) == (TEXTS if fault == "cut" else TEXTS + 1) * record


def test_two_that_embed_one_backlog_keep_each_text_once(
    lab: Lab, tmp_path: Path
) -> None:
    with (
        Lab(tmp_path / "home", clock=FixedClock(NOW), embedder=Failing()) as other,
        ThreadPoolExecutor(2) as both,
    ):
        done = [both.submit(one.searcher.vectors.embed_pending) for one in (lab, other)]
        assert sum(each.result() for each in done) >= TEXTS, (
            "the slower one may find nothing left"
        )
        assert counted(lab) == counted(other) == (TEXTS, 0)
        assert len(other.searcher.vectors.cache) == TEXTS
