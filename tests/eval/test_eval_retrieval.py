"""Scores of search beside hand computations, what its floor does, and what is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import NOW, Run

from theorex_lab import (
    ConfigError,
    Event,
    HashedNgramEmbedder,
    Hit,
    Hits,
    InvalidInput,
    new_event,
)
from theorex_lab.core.settings import SIGNALS, check_settings
from theorex_lab.eval.adapters.protocol import EvalLog, EvalQuery
from theorex_lab.eval.metrics.retrieval import (
    METRICS,
    SETS,
    KeptEmbedder,
    Retrieval,
    found_by,
    known_figures,
    question_scores,
    remembering,
    score_retrieval,
)
from theorex_lab.search.blend import WEIGHTS, WORD_WEIGHTS

WORDS = HashedNgramEmbedder()
SUBJECTS = (
    "anvil bellows cistern drawbridge engine ferry granary harbour icehouse jetty kiln"
    " lantern mill".split()
)
MATTERS = (
    "painted copper varnish repaired Tuesday inspector leaking timber merchant ledger"
    " granite winter supply".split()
)


class Counted:
    """An embedder that counts the texts that it is given, and knows one direction a
    word.
    """

    id = "counted"
    dimensions = 16
    kind: Any = "semantic"

    def __init__(self) -> None:
        self.given = 0

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.given += len(texts)
        rows = np.zeros((len(texts), 16), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[sum(word.encode()) % 16] += 1
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def said(text: str, number: int, session: str = "s1") -> Event:
    body = {"text": text, "source": "user", "project": ""}
    return new_event(
        "prompt",
        body,
        agent="main",
        at=NOW + number,
        session=session,
        event_id=f"e{number}",
    )


@pytest.fixture
def log() -> EvalLog:
    """Thirteen texts of different words, and a question to each."""
    texts = [
        f"The {subject} was {MATTERS[number]} and {MATTERS[number - 1]} beside"
        f" {MATTERS[number - 2]} {MATTERS[number - 3]}."
        for number, subject in enumerate(SUBJECTS)
    ]
    events = [said(text, number) for number, text in enumerate(texts)]
    return EvalLog(
        "shop",
        events,
        [
            EvalQuery(NOW + 99, f"the {name}?", frozenset({f"e{n}"}))
            for n, name in enumerate(SUBJECTS)
        ],
    )


def hits(*events: str) -> Hits:
    return Hits(
        "q",
        tuple(Hit(event, "text", "four", "main", 1.0, "", NOW) for event in events),
        (),
        events,
    )


def test_scores_are_those_computed_by_hand() -> None:
    found = hits("x", "a", *"klmnopqrs", "b")  # the right ones are second and twelfth
    scores = dict(
        zip(
            METRICS,
            question_scores(found, frozenset({"a", "b", "absent"})),
            strict=True,
        )
    )
    assert [scores[f"recall@{depth}"] for depth in (5, 10, 25, 50)] == pytest.approx(
        [1 / 3, 1 / 3, 2 / 3, 2 / 3]
    )
    assert scores["ndcg@10"] == pytest.approx(
        (1 / math.log2(3)) / (1 + 1 / math.log2(3) + 1 / 2)
    )
    assert (scores["hit@5"], scores["hit@10"], scores["tokens"]) == (1.0, 1.0, 10.0)
    assert scores["precision"] == 0.1
    nothing = dict(zip(METRICS, question_scores(hits(), frozenset({"a"})), strict=True))
    assert set(nothing.values()) == {0.0}


def test_every_method_finds_what_holds_the_words_and_tells_so_as_json(
    log: EvalLog,
) -> None:
    score = score_retrieval([log], embedder=WORDS)
    assert (score.n, list(score.scores)) == (
        13,
        ["lexical", "vector", "fused", "default_words", "default"],
    )
    assert (
        score.value("lexical", "recall@5") == score.value("default", "ndcg@10") == 1.0
    )
    told = json.loads(json.dumps(score.result()))
    assert set(told["default"]) == {
        "recall_at",
        "hit_at",
        "ndcg_at_10",
        "tokens",
        "precision",
    }
    assert list(told["default"]["recall_at"]) == ["5", "10", "25", "50"]
    assert list(score.frame.columns) == list(METRICS)


def test_methods_go_through_search_and_leave_the_settings_as_they_were(
    log: EvalLog,
) -> None:
    with remembering(log, Counted(), search_floor=0.4) as lab:
        before = lab.settings
        shipped = lab.search("the mill?", limit=50)
        assert found_by(lab, "the mill?").events == shipped.events
        assert len(found_by(lab, "the mill?", "vector")) > len(
            shipped
        )  # without the floor
        assert lab.settings == before


def test_a_question_without_an_answer_is_not_counted_and_a_log_without_any_is_refused(
    log: EvalLog,
) -> None:
    odd = [EvalQuery(NOW, "who?"), EvalQuery(NOW, " ", frozenset({"e1"}))]
    assert (
        score_retrieval(
            [EvalLog("shop", log.events, [*log.probes, *odd])], embedder=WORDS
        ).n
        == 13
    )
    with pytest.raises(InvalidInput, match="got no question that a text answers"):
        score_retrieval([EvalLog("shop", log.events, odd)], embedder=WORDS)


def test_a_vector_is_computed_once_for_all_runs(log: EvalLog, tmp_path: Path) -> None:
    first = Counted()
    second = Counted()
    scores = [
        score_retrieval([log], embedder=KeptEmbedder(counted, tmp_path))
        for counted in (first, second)
    ]
    assert (first.given, second.given) == (26, 0)
    assert scores[0].result() == scores[1].result()


def test_a_home_of_the_same_events_and_embedder_is_made_once(log: EvalLog) -> None:
    counted = Counted()
    with remembering(log, counted) as lab:
        first = lab.search("the mill?", limit=50)
        n_events = lab.journal.last_seq()
        lab.agent("main").write("The mill was sold to the baker", source="user")
        assert lab.journal.last_seq() > n_events
    computed = counted.given
    with remembering(log, counted, search_floor=0.0) as lab:
        assert lab.journal.last_seq() == n_events, "nobody's later writing is in it"
        assert lab.verify().ok
        assert counted.given == computed
    with remembering(log, counted) as lab:
        assert lab.search("the mill?", limit=50).events == first.events
    shorter = EvalLog("shop", log.events[:-1], log.probes)
    with remembering(shorter, counted) as lab:
        assert lab.journal.last_seq() == n_events - 1
    with remembering(log, WORDS) as lab:
        assert lab.journal.last_seq() == n_events


def test_weights_of_the_settings_decide(log: EvalLog) -> None:
    query = "drawbridge kiln kiln"
    with remembering(
        log,
        Counted(),
        search_weights={**dict.fromkeys(WEIGHTS, 0.0), "length": 1.0},
        search_floor=0.0,
    ) as lab:
        lengths = {event.id: len(event.body["text"].split()) for event in log.events}
        found = [lengths[event] for event in lab.search(query, limit=50).events]
        assert found == sorted(found, reverse=True)
        lab.settings = check_settings({"searchFloor": 0.0})
        assert lab.search(query).events[0] in ("e3", "e10")


@pytest.mark.parametrize("given", [{"wrods": 1.0}, {"words": 5.1}, {"words": -0.1}])
def test_weights_of_other_signals_or_outside_their_range_are_refused(
    given: dict[str, float],
) -> None:
    with pytest.raises(
        ConfigError,
        match=(
            f"searchWeights.{next(iter(given))} is .*; allowed is 0 to 5 for each of"
            " words"
        ),
    ):
        check_settings({"searchWeights": given})


def test_the_settings_know_every_signal() -> None:
    assert set(SIGNALS) == set(WEIGHTS)
    assert set(WORD_WEIGHTS) == {name for name in WEIGHTS if "vector" not in name}


class TestCommand:
    def test_a_picture_is_drawn_of_retrieval_alone(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        retrieval = "theorex_lab.eval.metrics.retrieval"
        monkeypatch.setattr(f"{retrieval}.retrieval_logs", lambda *_: [])
        score = Retrieval(9, {"default": np.full((9, len(METRICS)), 0.5)})
        monkeypatch.setattr(f"{retrieval}.score_retrieval", lambda *_, **__: score)
        picture = tmp_path / "search.png"
        assert run("eval", "retrieval", "--picture", str(picture)).code == 0
        assert picture.read_bytes().startswith(b"\x89PNG")
        ended = run("eval", "routing", "--picture", str(tmp_path / "no.png"))
        assert (ended.code, (tmp_path / "no.png").exists()) == (1, False)
        assert "it is allowed with retrieval" in ended.err

    def test_what_is_no_set_is_refused(self, run: Run) -> None:
        for arguments in (
            ("--dataset", "coding_sessions"),
            ("--dataset", "beam"),
            ("--path", "x"),
        ):
            ended = run("eval", "retrieval", *arguments)
            assert ended.code != 0
            assert (
                "allowed are locomo, qmsum, fact_updates, precisionmembench"
                in ended.err
            )


def test_settings_take_the_place_of_those_that_ship(log: EvalLog) -> None:
    found = {
        floor: score_retrieval([log], embedder=Counted(), search_floor=floor)
        for floor in (0.0, 0.9)
    }
    assert found[0.0].value("default", "precision") < found[0.9].value(
        "default", "precision"
    )
    assert found[0.0].value("vector", "precision") == found[0.9].value(
        "vector", "precision"
    ), "it has no floor"
    lengths = {**dict.fromkeys(WEIGHTS, 0.0), "length": 1.0}
    more = {"search_weights": lengths, "search_floor": 0.0}
    alone = score_retrieval([log], embedder=Counted(), methods=("default",), **more)
    assert (list(alone.scores), alone.n) == (["default"], 13)
    assert alone.value("default", "ndcg@10") < found[0.0].value("default", "ndcg@10")


def test_figures_of_others_name_their_source() -> None:
    for name in SETS:
        known = known_figures(name)
        assert known["source"]
        assert known["baselines"]
    assert len(known_figures("precisionmembench")["published"]) == 13
    assert known_figures("beam") == {"baselines": {}, "published": {}, "source": ""}
