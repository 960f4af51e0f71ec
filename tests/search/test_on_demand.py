"""Sentences of sessions get their vectors where a search comes near them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from conftest import NOW, Meanings, observation

from theorex_lab import FixedClock, Lab
from theorex_lab.core.errors import ModelUnavailable
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory import embedded
from theorex_lab.search import embed
from theorex_lab.search.embed import bundled_embedder
from theorex_lab.search.vectors import text_key

_SAID = 12


class Asked(Meanings):
    """Notes the texts that it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.is_silent = False

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        if self.is_silent and len(texts) > 1:
            raise ModelUnavailable("nobody listens")
        self.texts += texts
        return super().embed(texts)


def said(text: str, *, number: int = 0) -> Event:
    body = {"text": text, "source": "user", "project": ""}
    at = NOW + number
    return new_event("prompt", body, agent="main", session=f"s{number}", at=at)


def sentence(number: int) -> str:
    return f"Please look into the lantern of harbour number {number} today."


@pytest.fixture
def embedder() -> Asked:
    return Asked()


@pytest.fixture
def lab(tmp_path: Path, embedder: Asked) -> Iterator[Lab]:
    with Lab(tmp_path, clock=FixedClock(NOW + _SAID), embedder=embedder) as opened:
        prompts = [said(sentence(number), number=number) for number in range(_SAID)]
        opened.journal.append(prompts)
        yield opened


def n_kept(lab: Lab) -> int:
    lab.searcher.vectors.cache.refresh()
    return len(lab.searcher.vectors.cache)


def test_sentences_wait_for_no_vector(lab: Lab, embedder: Asked) -> None:
    lab.journal.append([observation("The harbour has a lighthouse")])
    assert lab.searcher.vectors.embed_pending() == 1
    assert embedder.texts == ["The harbour has a lighthouse"]
    assert lab.searcher.vectors.coverage() == {"covered": 1, "queued": 0}
    assert lab.searcher.vectors.told() == (
        "1 of 1 texts embedded, and 0 of 12 sentences, which follow where a search"
        " comes near them"
    )


def test_a_search_embeds_its_best_candidates_once_and_keeps_their_vectors(
    lab: Lab, embedder: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "CANDIDATES_EMBEDDED", 5)
    hits = lab.search("the lantern of the harbour")
    assert len(hits) == 10
    assert "meaning" in hits.signals[0]
    assert hits.notes == (), "sentences without a vector are as they should be"
    assert len(embedder.texts) == 1 + 5, "the query, and as many as a search may"
    assert n_kept(lab) == 5
    embedder.texts.clear()
    lab.search("the lantern of the harbour")
    assert embedder.texts == []
    with Lab(lab.folder, clock=lab.clock, embedder=embedder) as other:
        other.search("the lantern of the harbour")
    assert embedder.texts == ["the lantern of the harbour"], "they are on disk"


def test_only_what_may_be_a_result_is_embedded(lab: Lab, embedder: Asked) -> None:
    lab.search("lantern", agents=["sage"])
    assert embedder.texts == ["lantern"]
    assert n_kept(lab) == 0


def test_the_same_sentence_is_embedded_once(lab: Lab, embedder: Asked) -> None:
    again = [said(sentence(7), number=_SAID + n) for n in range(3)]
    lab.journal.append(again)
    assert lab.searcher.vectors.embed_pending(n_on_demand=None) == _SAID + 3
    assert sorted(embedder.texts) == sorted(sentence(n) for n in range(_SAID))
    assert n_kept(lab) == _SAID
    lab.journal.append([said(sentence(2), number=_SAID + 9)])
    assert lab.searcher.vectors.embed_pending(n_on_demand=None) == 0
    assert len(embedder.texts) == _SAID


def test_a_maintenance_embeds_the_newest_and_each_further_one_goes_on(
    lab: Lab, embedder: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "_ON_DEMAND_AT_ONCE", 5)
    assert lab.searcher.vectors.embed_maintained() == 5
    assert set(embedder.texts) == {sentence(n) for n in range(_SAID - 5, _SAID)}
    assert lab.searcher.vectors.embed_maintained() == 5
    assert lab.searcher.vectors.embed_maintained() == 2
    assert lab.searcher.vectors.embed_maintained() == 0
    assert n_kept(lab) == _SAID


def test_an_erasure_takes_the_vector_of_a_sentence_too(lab: Lab) -> None:
    lab.search("lantern of harbour number 3")
    cache = lab.searcher.vectors.cache
    key = text_key(sentence(3))
    assert cache.get([key])[0].tolist() == [True]
    lab.erase(match="number 3")
    assert cache.get([key])[0].tolist() == [False]
    assert sentence(3) not in [hit.text for hit in lab.search("lantern", limit=50)]


def test_where_sentences_cannot_be_embedded_a_search_says_so_and_answers(
    lab: Lab, embedder: Asked
) -> None:
    embedder.is_silent = True
    hits = lab.search("the lantern of the harbour")
    assert len(hits) == 10
    assert hits.notes == ("some texts wait for a vector: nobody listens",)
    embedder.is_silent = False
    assert lab.search("the lantern of the harbour").notes == ()


def test_a_search_that_has_all_vectors_ranks_once(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.searcher.vectors.embed_pending(n_on_demand=None)
    rankings: list[bool] = []
    ranked = lab.searcher._ranked
    monkeypatch.setattr(
        lab.searcher,
        "_ranked",
        lambda index, request, vector, allowed: (
            rankings.append(vector is not None),
            ranked(index, request, vector, allowed),
        )[1],
    )
    lab.search("lantern")
    assert rankings == [True]


def test_no_model_is_loaded_where_nothing_may_be_found(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded.EmbeddedTexts, "must_load", True)
    asked: list[str] = []
    monkeypatch.setattr(
        lab.searcher.vectors,
        "vector_of",
        lambda query: (asked.append(query), (None, []))[1],
    )
    assert list(lab.search("lantern", agents=["sage"], vectors="auto")) == []
    assert asked == []
    lab.search("beacon of a port", vectors="auto")
    assert asked == ["beacon of a port"]


@pytest.mark.parametrize("is_used_elsewhere", [False, True])
def test_a_maintenance_lets_the_model_go_that_it_loaded_for_many_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_used_elsewhere: bool
) -> None:
    model = bundled_embedder()
    if model is None:
        pytest.skip("the embeddings extra is not installed")
    monkeypatch.setattr(embed, "_SESSIONS", {})
    monkeypatch.setattr(embedded, "_MANY_TEXTS", 2)
    if is_used_elsewhere:
        bundled_embedder().embed(["the lantern"])  # type: ignore[union-attr]
    with Lab(tmp_path, clock=FixedClock(NOW + _SAID), embedder=model) as lab:
        lab.journal.append([observation("The harbour has a lighthouse")])
        assert lab.searcher.vectors.embed_maintained() == 1
        assert model.is_in_memory, "one text is not worth loading the model again"
        if not is_used_elsewhere:
            model.let_go()
        prompts = [said(sentence(number), number=number) for number in range(_SAID)]
        lab.journal.append(prompts)
        assert lab.searcher.vectors.embed_maintained() == _SAID
        assert model.is_in_memory == is_used_elsewhere
        assert len(lab.search("the lantern of the harbour")) == 10
