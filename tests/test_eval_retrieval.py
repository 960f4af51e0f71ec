"""Scores of search with labels and without, beside hand computations; weights fitted to queries; what is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import NOW, Run

from theorex_lab import ConfigError, InvalidInput, Lab
from theorex_lab.config import SIGNALS, check_settings
from theorex_lab.design import Log, Probe
from theorex_lab.experiments.scores.retrieval import (
    METRICS,
    SETS,
    TEXTS,
    KeptEmbedder,
    Retrieval,
    found_by,
    known_figures,
    question_scores,
    remembering,
    score_left_out,
    score_methods,
    score_retrieval,
)
from theorex_lab.experiments.scores.search_log import logs_to_search, score_search
from theorex_lab.experiments.scores.search_weights import (
    DELETED,
    FEWEST,
    MOST,
    Considered,
    fit_weights,
    floor_table,
    shown_right,
    without_words,
)
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.retrieve import Hit, Hits
from theorex_lab.search.blend import WEIGHTS, WORD_WEIGHTS, blend, weights_for
from theorex_lab.search.embed import HashedNgramEmbedder

WORDS = HashedNgramEmbedder()
SUBJECTS = "anvil bellows cistern drawbridge engine ferry granary harbour icehouse jetty kiln lantern mill".split()
MATTERS = (
    "painted copper varnish repaired Tuesday inspector leaking timber merchant ledger granite winter supply".split()
)


class Counted:
    """An embedder that counts the texts that it is given, and knows one direction a word."""

    id, dimensions = "counted", 16
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
    return new_event("prompt", body, agent="main", at=NOW + number, session=session, event_id=f"e{number}")


@pytest.fixture
def log() -> Log:
    """Thirteen texts of different words, and a question to each."""
    texts = [
        f"The {subject} was {MATTERS[number]} and {MATTERS[number - 1]} beside {MATTERS[number - 2]} {MATTERS[number - 3]}."
        for number, subject in enumerate(SUBJECTS)
    ]
    events = [said(text, number) for number, text in enumerate(texts)]
    return Log(
        "shop", events, [Probe(NOW + 99, f"the {name}?", frozenset({f"e{n}"})) for n, name in enumerate(SUBJECTS)]
    )


def hits(*events: str) -> Hits:
    return Hits("q", tuple(Hit(event, "text", "four", "main", 1.0, "", NOW) for event in events), (), events)


def test_scores_are_those_computed_by_hand() -> None:
    found = hits("x", "a", *"klmnopqrs", "b")  # the right ones are second and twelfth
    scores = dict(zip(METRICS, question_scores(found, frozenset({"a", "b", "absent"})), strict=True))
    assert [scores[f"recall@{depth}"] for depth in (5, 10, 25, 50)] == pytest.approx([1 / 3, 1 / 3, 2 / 3, 2 / 3])
    assert scores["ndcg@10"] == pytest.approx((1 / math.log2(3)) / (1 + 1 / math.log2(3) + 1 / 2))
    assert (scores["hit@5"], scores["hit@10"], scores["tokens"]) == (1.0, 1.0, 10.0)
    assert scores["precision"] == 0.1
    nothing = dict(zip(METRICS, question_scores(hits(), frozenset({"a"})), strict=True))
    assert set(nothing.values()) == {0.0}


def test_every_method_finds_what_holds_the_words_and_tells_so_as_json(log: Log) -> None:
    score = score_retrieval([log], embedder=WORDS, fitted=False)
    assert (score.n, list(score.scores)) == (13, ["lexical", "vector", "fused", "default_words", "default"])
    assert score.value("lexical", "recall@5") == score.value("default", "ndcg@10") == 1.0
    told = json.loads(json.dumps(score.result()))
    assert set(told["default"]) == {"recall_at", "hit_at", "ndcg_at_10", "tokens", "precision"}
    assert list(told["default"]["recall_at"]) == ["5", "10", "25", "50"]
    assert list(score.frame.columns) == list(METRICS)


def test_methods_go_through_search_and_leave_the_settings_as_they_were(log: Log) -> None:
    with remembering(log, Counted(), search_floor=0.4) as lab:
        before = lab.settings
        shipped = lab.search("the mill?", limit=50)
        assert found_by(lab, "the mill?").events == shipped.events
        assert len(found_by(lab, "the mill?", "vector")) > len(shipped)  # without the floor
        assert found_by(lab, "the mill?", "fitted", WEIGHTS).events == shipped.events
        assert lab.settings == before


def test_a_question_without_an_answer_is_not_counted_and_a_log_without_any_is_refused(log: Log) -> None:
    odd = [Probe(NOW, "who?"), Probe(NOW, " ", frozenset({"e1"}))]
    assert score_methods([Log("shop", log.events, [*log.probes, *odd])], WORDS).n == 13
    with pytest.raises(InvalidInput, match="got no question that a text answers"):
        score_methods([Log("shop", log.events, odd)], WORDS)


def test_a_vector_is_computed_once_for_all_runs(log: Log, tmp_path: Path) -> None:
    first, second = Counted(), Counted()
    scores = [score_methods([log], KeptEmbedder(counted, tmp_path)) for counted in (first, second)]
    assert (first.given, second.given) == (26, 0)
    assert scores[0].result() == scores[1].result()


def test_signals_blended_by_hand_are_the_order_of_search(log: Log) -> None:
    with remembering(log, Counted(), search_floor=0.0) as lab:
        events, columns = lab.searcher.signals("the leaking timber of the mill")
        total, _ = blend(columns, weights_for(columns, None))
        best = [events[row] for row in np.argsort(-total, kind="stable")]
        assert list(lab.search("the leaking timber of the mill", limit=50).events)[:3] == best[:3]


def test_weights_of_the_settings_decide(log: Log) -> None:
    query = "drawbridge kiln kiln"
    with remembering(
        log, Counted(), search_weights={**dict.fromkeys(WEIGHTS, 0.0), "length": 1.0}, search_floor=0.0
    ) as lab:
        events, columns = lab.searcher.signals(query)
        longest = events[int(np.argmax(columns["length"]))]
        with_length = lab.search(query, limit=50)
        assert columns["length"][events.index(with_length.events[0])] == columns["length"][events.index(longest)]
        lab.settings = check_settings({"searchFloor": 0.0})
        assert lab.search(query).events[0] in ("e3", "e10")


@pytest.mark.parametrize("given", [{"wrods": 1.0}, {"words": 5.1}, {"words": -0.1}])
def test_weights_of_other_signals_or_outside_their_range_are_refused(given: dict[str, float]) -> None:
    with pytest.raises(
        ConfigError, match=f"searchWeights.{next(iter(given))} is .*; allowed is 0 to 5 for each of words"
    ):
        check_settings({"searchWeights": given})


def test_the_settings_know_every_signal() -> None:
    assert set(SIGNALS) == set(WEIGHTS)
    assert set(WORD_WEIGHTS) == {name for name in WEIGHTS if "vector" not in name}


class TestQueriesWithoutLabels:
    def test_most_of_a_querys_words_are_gone_from_its_text(self, log: Log) -> None:
        made = without_words(log, TEXTS, 3)
        before, after = ({event.id: event.body["text"].lower() for event in each.events} for each in (log, made))
        assert len(made.probes) == 3
        for probe in made.probes:
            (target,), words = probe.answers, probe.query.split()
            assert FEWEST <= len(words) <= MOST
            assert all(word in before[target] for word in words)
            assert sum(word not in after[target] for word in words) == round(DELETED * len(words))
        assert sum(before[event] != after[event] for event in before) == 3

    def test_the_same_seed_makes_the_same_queries(self, log: Log) -> None:
        first, same, other = (without_words(log, TEXTS, 3, seed).probes for seed in (1, 1, 2))
        assert first == same
        assert first != other

    def test_at_most_a_quarter_of_the_texts_is_shortened(self, log: Log) -> None:
        assert len(without_words(log, TEXTS, 100).probes) == 3

    def test_the_speakers_name_is_no_word_of_a_query(self) -> None:
        text = "Bartholomew Cromwell: granite, timber, copper, varnish"
        query = without_words(Log("one", [said(text, 0)]), TEXTS, 1).probes[0].query
        assert sorted(query.split()) == ["copper", "granite", "timber", "varnish"]

    def test_what_cannot_be_asked_of_is_refused(self, log: Log) -> None:
        with pytest.raises(InvalidInput, match="got 0 queries; allowed is 1 or more"):
            without_words(log, TEXTS, 0)
        with pytest.raises(InvalidInput, match="got 1 texts; allowed are some that hold a sentence of 4"):
            without_words(Log("short", [said("yes", 0)]), TEXTS, 1)


def made_choices(weights: dict[str, float], count: int, seed: int = 0) -> list[Considered]:
    """Queries whose right text is drawn by these weights of signals that are noise."""
    rng, choices = np.random.default_rng(seed), []
    for _ in range(count):
        columns = {name: rng.normal(size=40) for name in weights}
        total, _ = blend(columns, weights)
        chances = np.exp(2 * total)
        right = np.zeros(40, bool)
        right[rng.choice(40, p=chances / chances.sum())] = True
        choices.append(Considered(right, columns))
    return choices


class TestFit:
    TRUE = WEIGHTS | {"words": 0.2, "passage": 0.9, "vector": 0.3, "passage_vector": 0.7, "around": 0.0, "length": 0.3}

    def test_it_recovers_the_weights_by_which_texts_were_drawn(self) -> None:
        fitted = fit_weights(made_choices({**self.TRUE}, 1_500))
        assert fitted == pytest.approx(self.TRUE, abs=0.1)

    def test_of_few_queries_it_stays_near_what_ships(self) -> None:
        few, many = (fit_weights(made_choices({**self.TRUE}, count)) for count in (5, 1_500))
        assert abs(few["passage"] - WEIGHTS["passage"]) < abs(many["passage"] - WEIGHTS["passage"]) / 2

    def test_kept_signals_and_half_the_trust(self) -> None:
        choices = made_choices({**self.TRUE}, 500)
        whole, half = (fit_weights(choices, kept=("length", "asked"), trust=trust) for trust in (1.0, 0.5))
        assert (whole["length"], whole["asked"]) == (WEIGHTS["length"], WEIGHTS["asked"])
        assert half["passage"] == pytest.approx((whole["passage"] + WEIGHTS["passage"]) / 2, abs=1e-3)

    def test_queries_without_a_right_text_say_nothing(self) -> None:
        choices = made_choices({**self.TRUE}, 100)
        wrong = [choice._replace(right=np.zeros(40, bool)) for choice in choices]
        assert fit_weights([*choices, *wrong]) == fit_weights(choices)
        with pytest.raises(InvalidInput, match="got 100 queries and no text that answers one"):
            fit_weights(wrong)


class TestSearchOfALog:
    @pytest.fixture
    def long_log(self) -> Log:
        """Texts of words at random, of which a made query's rest still names one."""
        rng = np.random.default_rng(3)
        words = np.array([*SUBJECTS, *MATTERS, *(f"thing{number}" for number in range(200))])
        events = [said(f"{' '.join(rng.choice(words, 12))}.", number, f"s{number // 8}") for number in range(240)]
        return Log("long", events)

    def test_it_scores_the_methods_and_proposes_weights_only_where_they_help(self, long_log: Log) -> None:
        score = score_search([long_log], queries=60, fit=True, embedder=WORDS)
        told = score.result()
        assert (told["log"], told["n"]) == ("long", 30)  # every other query
        assert "fitted" in told["methods"]
        assert told["gain"]["low"] <= told["gain"]["value"] <= told["gain"]["high"]
        assert score.helps == (told["gain"]["low"] > 0) == bool(told["adopt"])
        check_settings({"searchWeights": told["weights"]})

    def test_the_command_to_adopt_is_one_that_the_settings_take(self, long_log: Log) -> None:
        score = score_search([long_log], queries=24, fit=True, embedder=WORDS)
        better = type(score)("long", score.found, type(score.gain)(0.1, 0.05, 0.2))  # type: ignore[misc]
        assert better.adopt.startswith("theorex config set searchWeights '{")
        assert json.loads(better.adopt.split("'")[1]) == score.found.weights

    def test_a_seed_gives_the_same_again(self, long_log: Log) -> None:
        first, same, other = (score_search([long_log], queries=20, embedder=WORDS, seed=seed) for seed in (1, 1, 2))
        assert first.result() == same.result() != other.result()
        assert first.result()["gain"] is None

    def test_too_few_queries_to_fit_are_refused(self, long_log: Log) -> None:
        with pytest.raises(InvalidInput, match="got 19 queries; allowed is 20 or more"):
            score_search([long_log], queries=19, fit=True, embedder=WORDS)

    def test_a_home_is_searched_by_its_folder(self, tmp_path: Path) -> None:
        with Lab(tmp_path / "own") as lab:
            lab.agent("main").write("the drawbridge was painted in copper varnish by the merchant")
        (log,) = logs_to_search(str(tmp_path / "own"))
        assert [event.kind for event in log.events] == ["observation"]


class TestCommand:
    def test_search_of_this_home(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("theorex_lab.experiments.scores.retrieval.kept_embedder", lambda: WORDS)
        for number in range(8):
            run("write", f"the {SUBJECTS[number]} was {' and '.join(MATTERS[number : number + 4])} again")
        told = run("eval", "search", "--queries", "2", "--json").json
        assert set(told) == {"log", "n", "methods", "weights", "gain", "adopt"}
        assert told["n"] == 2

    def test_a_picture_is_drawn_of_retrieval_alone(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        retrieval = "theorex_lab.experiments.scores.retrieval"
        monkeypatch.setattr(f"{retrieval}.retrieval_logs", lambda *_: [])
        score = Retrieval(9, {"default": np.full((9, len(METRICS)), 0.5)})
        monkeypatch.setattr(f"{retrieval}.score_retrieval", lambda *_, **__: score)
        picture = tmp_path / "search.png"
        assert run("eval", "retrieval", "--picture", str(picture)).code == 0
        assert picture.read_bytes().startswith(b"\x89PNG")
        ended = run("eval", "routing", "--picture", str(tmp_path / "no.png"))
        assert (ended.code, (tmp_path / "no.png").exists()) == (1, False)
        assert "allowed is it with retrieval" in ended.err

    def test_what_is_no_set_is_refused(self, run: Run) -> None:
        for arguments in (("--dataset", "coding_sessions"), ("--dataset", "beam"), ("--path", "x")):
            ended = run("eval", "retrieval", *arguments)
            assert ended.code != 0
            assert "allowed are locomo, qmsum, fact_updates, precisionmembench" in ended.err


def test_weights_of_one_log_are_fitted_to_the_others(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted_to: list[int] = []

    def counting(choices: Sequence[Considered], **_: Any) -> dict[str, float]:
        fitted_to.append(len(choices))
        return dict(WEIGHTS)

    monkeypatch.setattr("theorex_lab.experiments.scores.retrieval.fit_weights", counting)
    shorter = Log("shorter", log.events, log.probes[:5])
    score = score_left_out([log, shorter], WORDS)
    assert fitted_to == [5, 13]
    assert (score.n, list(score.scores)) == (18, ["fitted"])


class TestFloor:
    # The first text stands out and is right; the second holds one of the words and is wrong.
    ASKED = Considered(
        np.array([True, False, False, True]), {"words": np.array([9.0, 3.0, 0.0, 0.0]), "asked": np.zeros(4)}, 3
    )

    def test_what_comes_back_is_counted_by_hand(self) -> None:
        assert shown_right(self.ASKED, WORD_WEIGHTS).tolist() == [True, False, False, True]
        table = floor_table([self.ASKED], WORD_WEIGHTS, [0.0, 0.5, 0.99])
        assert table.precision.tolist() == [0.5, 1.0, 0.0]
        assert table.recall.tolist() == pytest.approx([2 / 3, 1 / 3, 0.0])

    def test_questions_that_nothing_answers_are_left_out(self) -> None:
        unanswered = Considered(np.zeros(4, bool), self.ASKED.columns, 0)
        both = floor_table([self.ASKED, unanswered], WORD_WEIGHTS, [0.0])
        assert both.equals(floor_table([self.ASKED], WORD_WEIGHTS, [0.0]))

    def test_the_floor_of_the_table_is_that_of_search(self, log: Log) -> None:
        with remembering(log, Counted()) as lab:
            events, columns = lab.searcher.signals("granite winter supply and timber")
            right = np.array([event in ("e0", "e1") for event in events])
            found = lab.search("granite winter supply and timber", limit=50).events
        shown = shown_right(Considered(right, columns), WEIGHTS, lab.settings.search_floor)
        assert [event in ("e0", "e1") for event in found][: len(shown)] == shown.tolist()


def test_figures_of_others_name_their_source() -> None:
    for name in SETS:
        known = known_figures(name)
        assert known["source"]
        assert known["baselines"]
    assert len(known_figures("precisionmembench")["published"]) == 13
    assert known_figures("beam") == {"baselines": {}, "published": {}, "source": ""}
