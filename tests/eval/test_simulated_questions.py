"""The simulated questions: the same file everywhere, and hard in the ways it says."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from simulate import main
from simulate_questions import ASKED, simulate_questions
from simulated_question_words import PARAPHRASES
from simulation_draws import write_stored

from theorex_lab import HashedNgramEmbedder, InvalidInput
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.datasets.log_sets.simulated_questions import (
    KIND_REASONS,
    questions_of,
)
from theorex_lab.eval.datasets.logs import load_logs
from theorex_lab.eval.datasets.sources import packaged
from theorex_lab.eval.metrics.retrieval import (
    found_without_answer,
    log_texts,
    retrieval_logs,
    score_retrieval,
)
from theorex_lab.search.lexical import tokenize

pytestmark = pytest.mark.usefixtures("shared_logs")
LETTERS = HashedNgramEmbedder()
NAME = "simulated_questions.jsonl.gz"


@pytest.fixture(scope="module")
def logs(shared_logs: None) -> list[EvalLog]:
    return load_logs("simulated_questions")


def test_the_packaged_questions_are_made_again_byte_for_byte(tmp_path: Path) -> None:
    output = tmp_path / "again.jsonl.gz"
    command = f"--of questions --seed 7 --output datasets/{NAME}"
    assert command in packaged("README.md").read_text(encoding="utf-8")
    main(["--of", "questions", "--seed", "7", "--output", str(output)])
    shipped = packaged(NAME).read_bytes()
    assert output.read_bytes() == shipped
    assert len(shipped) < 1_000_000


def test_other_seeds_give_other_texts_and_a_bad_seed_is_refused() -> None:
    assert simulate_questions(seed=3) != simulate_questions(seed=4)
    with pytest.raises(InvalidInput, match="got the seed -1"):
        simulate_questions(seed=-1)


def test_the_readme_says_how_many_of_each_kind_there_are(logs: list[EvalLog]) -> None:
    readme = packaged("README.md").read_text(encoding="utf-8")
    kinds = Counter(probe.kind for log in logs for probe in log.probes)
    assert {*kinds} == {*ASKED} == {*KIND_REASONS}
    for kind, count in kinds.items():
        assert f"| `{kind}` | {count} |" in readme
    assert f"**{kinds.total()} questions**" in readme
    n_texts = sum(len(log.events) for log in logs)
    assert f"({n_texts:,} of them)" in readme


def test_a_question_has_one_answer_or_none_and_only_changes_are_stale(
    logs: list[EvalLog],
) -> None:
    for log in logs:
        at = {event.id: event.at for event in log.events}
        for probe in log.probes:
            assert len(probe.answers) == (probe.kind != "no answer")
            assert bool(probe.stale) == (probe.kind == "changed")
            (answer,) = probe.answers or {""}
            assert all(at[stale] < at[answer] for stale in probe.stale)


def test_no_text_stands_twice_in_a_conversation(logs: list[EvalLog]) -> None:
    for log in logs:
        texts = log_texts(log)
        assert len({*texts}) == len(texts)


def test_what_means_the_same_shares_no_word_that_tells_anything() -> None:
    for statement, question in PARAPHRASES:
        assert not {*tokenize(statement)} & {*tokenize(question)}, question


def test_an_answer_beside_its_question_lacks_its_words(logs: list[EvalLog]) -> None:
    for log in logs:
        texts = {event.id: event.body["text"] for event in log.events}
        order = [event.id for event in log.events]
        for probe in log.probes:
            if probe.kind == "a neighbour":
                (answer,) = probe.answers
                said = texts[answer].partition(": ")[2]
                assert not {*tokenize(said)} & {*tokenize(probe.query)}
                before = texts[order[order.index(answer) - 1]]
                assert before.endswith(probe.query)


def test_ways_of_searching_differ_and_none_finds_all(logs: list[EvalLog]) -> None:
    def newest_first(texts: list[str]) -> object:
        return lambda _query: [*range(len(texts))][::-1]

    def holding(texts: list[str]) -> object:
        """The texts that hold the longest word of the question."""
        folded = [text.casefold() for text in texts]

        def search(query: str) -> list[int]:
            word = max(re.findall(r"\w+", query.casefold()), key=len)
            return [place for place, text in enumerate(folded) if word in text]

        return search

    score = score_retrieval(
        logs[:4],
        embedder=LETTERS,
        methods=("lexical", "default_words"),
        peers={"newest": newest_first, "longest word": holding},  # type: ignore[dict-item]
    )
    recall = score.by_kind("recall@5")
    assert [*recall.index] == [kind for kind in ASKED if kind != "no answer"]
    assert recall.loc["other words", "lexical"] < 0.1
    assert recall.loc["a neighbour", "lexical"] == 0.0
    assert recall.loc["a neighbour", "default_words"] > 0.4
    assert recall.loc["a mark", "longest word"] > recall.loc["a mark", "newest"]
    assert (recall.mean() < 0.9).all()
    # Words alone do not know what is stale.
    assert np.nanmean(score.stale_first["lexical"]) > 0.8
    assert np.isnan(score.stale_first["lexical"]).sum() == score.n - 16
    with pytest.raises(InvalidInput, match="got the metric 'luck'"):
        score.by_kind("luck")


def test_what_nothing_answers_is_scored_by_what_comes_back(logs: list[EvalLog]) -> None:
    share, texts = found_without_answer(
        logs[:2], embedder=LETTERS, method="default_words", search_floor=0.0
    )
    strict_share, fewer = found_without_answer(
        logs[:2], embedder=LETTERS, method="default_words", search_floor=0.9
    )
    assert share < strict_share
    assert texts > fewer
    answered = EvalLog("answered", logs[0].events, logs[0].probes[:3])
    with pytest.raises(InvalidInput, match="got no question without an answer"):
        found_without_answer([answered], embedder=LETTERS)


def test_it_is_a_set_of_the_eval_of_retrieval() -> None:
    assert len(retrieval_logs("simulated_questions")) == 12


def test_damaged_lines_and_other_headers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl.gz"
    header = {"simulation": True, "of": "questions", "seed": 1, "days": 9, "version": 1}
    write_stored(header, [{"project": "x", "kind": 3}], path)
    with pytest.raises(InvalidInput, match="1 damaged lines"):
        list(questions_of(path))
    write_stored({**header, "of": "answers"}, [], path)
    with pytest.raises(InvalidInput):
        list(questions_of(path))
