"""The labels of sentences, and how the rules that read them are scored."""

import os

import pytest

from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data import sources
from theorex_lab.experiments.data.sources import read_lines
from theorex_lab.experiments.scores import labelled
from theorex_lab.experiments.scores.labelled import LABELS, SENTENCES, LabelledTurn, labelled_texts, score_sentences
from theorex_lab.text.spoken import TYPES

needs_data = pytest.mark.skipif(
    not os.environ.get(sources.DATA_VARIABLE), reason=f"{sources.DATA_VARIABLE} names no folder with the public sets"
)


def turns():
    return read_lines(sources.packaged(LABELS), LabelledTurn, SENTENCES, 1)[1]


def test_labels_are_places_and_no_sentences():
    found = turns()
    assert [sum(turn.by == by and turn.drawn == "random" for turn in found) for by in ("user", "agent")] == [150, 150]
    for turn in found:
        for start, end, digest, directive, worth in turn.sentences:
            assert 0 <= start < end
            assert len(digest) == 12
            assert int(digest, 16) >= 0
            assert directive in ("rule", "correction", "none")
            assert worth in (*TYPES, "none")
            assert (directive, worth) != ("none", "none")


def test_halves_share_no_session():
    halves = {half: {turn.session for turn in turns() if turn.half == half} for half in ("make", "report")}
    assert halves["make"].isdisjoint(halves["report"])
    assert min(map(len, halves.values())) > 30


@needs_data
def test_another_text_is_refused(monkeypatch):
    turn = next(turn for turn in turns() if turn.sentences)
    (_, end, digest, *labels), *_ = turn.sentences
    moved = LabelledTurn(turn.session, turn.event, turn.by, turn.drawn, ((end, end + 20, digest, *labels),))
    monkeypatch.setattr(labelled, "read_lines", lambda *_: ({}, [moved]))
    with pytest.raises(InvalidInput, match="another sentence"):
        labelled_texts()


@needs_data
def test_rules_find_more_than_every_baseline_on_the_report_half():
    scores = score_sentences()
    assert scores.result()["n"] == 450
    assert scores.types_right > 0.5
    for task in {row["task"] for row in scores}:
        rows = {row["method"]: row for row in scores if (row["task"], row["half"]) == (task, "report")}
        best = max(row["f1"] for method, row in rows.items() if method != "rules")
        assert rows["rules"]["f1"] > best
        assert all(0 <= row["f1_low"] <= row["f1"] <= row["f1_high"] <= 1 for row in rows.values())
