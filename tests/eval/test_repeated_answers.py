"""What a comparison does once: searches of one question, vectors of the same texts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from conftest import NOW, observation

from theorex_lab import Settings
from theorex_lab.designs import installed
from theorex_lab.eval.replay import repeated_vectors
from theorex_lab.eval.replay.baselines import Baseline, ReplayAdapter
from theorex_lab.eval.replay.latest_answers import LatestAnswer
from theorex_lab.eval.replay.repeated_vectors import (
    VectorMemo,
    call_key,
    repeating_model,
)
from theorex_lab.eval.replay.spared_time import seconds_used, spare
from theorex_lab.eval.replay.trials import GuardedMemory
from theorex_lab.journal.event import Event
from theorex_lab.memory.retrieve import Searcher
from theorex_lab.search.embed import HashedNgramEmbedder, OnnxEmbedder

QUESTION = "which port has the till?"


TEXTS = (
    "A till listens on a port of its own, which the installer wrote down",
    "The harbour office lists which port a ship may enter before dawn",
    "Nobody told the till which port its printer was plugged into",
)


def note(number: int) -> Event:
    return observation(TEXTS[number], at=NOW + number)


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give the queries that a searcher gets."""
    queries: list[str] = []
    search = Searcher.search

    def counting(searcher: Searcher, query: str, **options: Any) -> Any:
        queries.append(query)
        return search(searcher, query, **options)

    monkeypatch.setattr(Searcher, "search", counting)
    return queries


def adapter(name: str) -> ReplayAdapter:
    designs = [design for design in installed() if design.name == name]
    return ReplayAdapter(designs, embedder=HashedNgramEmbedder())


@pytest.mark.parametrize("name", ["theorex", "sessions", "facts", "dreams"])
def test_a_question_is_searched_once_for_all_budgets(
    name: str, searches: list[str]
) -> None:
    with closing(adapter(name)) as memory:
        memory.observe([note(1), note(2)])
        answers = [memory.retrieve(QUESTION, NOW + 9, tokens) for tokens in (25, 900)]
    assert len(searches) == 1
    assert len(answers[0]) < len(answers[1])


@pytest.mark.parametrize("change", ["event", "maintenance", "time", "question"])
def test_what_may_change_an_answer_is_searched_again(
    change: str, searches: list[str]
) -> None:
    with closing(adapter("theorex")) as memory:
        memory.observe([note(1)])
        memory.retrieve(QUESTION, NOW + 9, 900)
        if change == "event":
            memory.observe([note(2)])
        if change == "maintenance":
            memory.consolidate(NOW + 9)
        now = NOW + 10 if change == "time" else NOW + 9
        query = "port" if change == "question" else QUESTION
        answer = memory.retrieve(query, now, 900)
    assert len(searches) == 2
    assert len(answer) == (2 if change == "event" else 1)


def test_a_projects_answer_is_none_of_another(searches: list[str]) -> None:
    events = []
    for number, project in enumerate(("north", "south")):
        event = note(number)
        events.append(event._replace(body={**event.body, "project": project}))
    with closing(adapter("theorex")) as memory:
        memory.observe(events)
        texts = set[str]()
        for project in ("north", "south"):
            memory.enter(project)
            texts |= {item.text for item in memory.retrieve(QUESTION, NOW + 9, 900)}
    assert len(searches) == 2
    assert len(texts) == 2


def test_a_model_computes_a_call_once_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("onnxruntime")
    model = repeating_model(Settings())
    if model is None:
        pytest.skip("the model is not installed")
    monkeypatch.setattr(repeated_vectors, "_memo", VectorMemo())
    calls: list[int] = []
    vectors_of = OnnxEmbedder._vectors

    def counting(embedder: OnnxEmbedder, texts: Sequence[str]) -> Any:
        calls.append(len(texts))
        return vectors_of(embedder, texts)

    monkeypatch.setattr(OnnxEmbedder, "_vectors", counting)
    texts = ["The till rounds half up", "The port is 8080"]
    first = model.embed(texts)
    first[:] = 0
    again = model.embed(texts)
    assert calls == [2]
    turned = model.embed(texts[::-1])
    assert calls == [2, 2]
    assert np.abs(turned[::-1] - again).max() < 0.05
    np.testing.assert_array_equal(again, vectors_of(model, texts))


def test_a_memo_holds_so_many_vectors_and_no_more() -> None:
    memo = VectorMemo(most=5)
    for number in range(4):
        memo.add(call_key([str(number)]), np.full((2, 3), number, np.float32), 0.5)
        memo.get(call_key(["0"]))
    assert memo.n_vectors == 4
    assert memo.get(call_key(["0"])) is not None
    assert memo.get(call_key(["1"])) is None
    memo.add(call_key(["0"]), np.zeros((2, 3), np.float32), 0.5)
    assert memo.n_vectors == 4


def test_a_trial_counts_what_its_memory_was_spared() -> None:
    memo = VectorMemo()
    memo.add(b"call", np.zeros((1, 3), np.float32), 5.0)

    class Repeating(Baseline):
        def consolidate(self, now: int) -> None:
            memo.get(b"call")

    guarded = GuardedMemory(Repeating)
    guarded.call("consolidate", NOW)
    guarded.close()
    assert 5 <= guarded.seconds["consolidate"] < 6
    assert guarded.seconds["make"] < 5


def test_a_question_within_another_budget_costs_as_much_again() -> None:
    latest = LatestAnswer[str]()

    def make() -> str:
        spare(5)
        return "8080"

    for _ in range(3):
        begun = seconds_used()
        assert latest.of("port", make) == "8080"
        assert 5 <= seconds_used() - begun < 6


def test_a_home_that_asks_an_endpoint_is_left_alone() -> None:
    settings = Settings(lm_studio_url="http://127.0.0.1:1", lm_studio_embed_model="m")
    assert repeating_model(settings) is None
