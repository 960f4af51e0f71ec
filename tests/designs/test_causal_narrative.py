"""The narrative of causal memory: the last outcomes in words, of a size that holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import NOW
from theorex_lab import FixedClock, InvalidInput, Lab
from theorex_lab.designs.causal.narrative import narrative, narrative_summary

ERROR = ["log_error", "errsig:TypeError: Cannot read x.js:10 at 0xFF"]
NASTY = (
    "</script><img src=x>\n\n# heading\n```\n[link](http://x) | *bold* \x1b[2J \u202e"
)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=FixedClock(NOW)) as opened:
        yield opened


def close_many(lab: Lab, count: int, text: str) -> None:
    for number in range(count):
        gene = {"id": f"gene_{number}", "category": "repair"}
        done = lab.causal.record_attempt([f"{number} {text}", text], gene)
        lab.causal.close(done.id, "success", note=text)


@pytest.mark.parametrize("text", ["plain words that go on", NASTY * 20, "日" * 900])
def test_it_never_exceeds_its_size_and_drops_the_oldest(lab: Lab, text: str) -> None:
    assert narrative(lab.home) == narrative_summary(lab.home) == ""
    close_many(lab, 130, text)
    whole = narrative(lab.home)
    short = narrative_summary(lab.home)
    assert 11_000 < len(whole) <= 12_000
    assert len(short) <= 4_000
    assert "129" in whole
    assert "- Tried: gene\\_0," not in whole
    assert short.count("\n### ") <= 8
    assert whole.endswith(short[short.index("\n### ") :])
    for limit in (0, 1, 90, 100, 333, 1_000):
        assert len(narrative(lab.home, characters=limit)) <= limit


def test_a_number_below_nothing_is_refused(lab: Lab) -> None:
    with pytest.raises(InvalidInput, match="got -1 entries"):
        narrative(lab.home, entries=-1)


def test_nothing_that_was_stored_becomes_markup(lab: Lab) -> None:
    close_many(lab, 3, NASTY)
    lines = narrative(lab.home).splitlines()
    assert {text.split(" ")[0] for text in lines} <= {"#", ">", "###", "-", ""}
    assert len([text for text in lines if text.startswith("# ")]) == 1
    stored = "\n".join(text for text in lines if text.startswith("- "))
    unescaped = re.sub(r"\\.", "", stored)
    assert not [sign for sign in "<>[]`|*\x1b\u202e" if sign in unescaped]


def test_it_is_of_one_agent_and_of_the_project(lab: Lab) -> None:
    for agent, gene in (("a", "gene_a"), ("b", "gene_b")):
        done = lab.causal.record_attempt(ERROR, {"id": gene}, agent=agent)
        lab.causal.close(done.id, "failed", agent=agent)
    assert "gene\\_b" not in lab.causal.narrative(agent="a")
    shop = lab.in_project("shop", new=True).causal
    shop.close(shop.record_attempt(ERROR, {"id": "gene_c"}).id, "failed")
    inn = lab.in_project("inn", new=True).causal
    assert "gene\\_c" in shop.narrative()
    assert "gene\\_c" not in inn.narrative()


def test_outcomes_in_a_row_that_say_the_same_are_told_once(lab: Lab) -> None:
    lab.causal.record_gene({"id": "gene_a", "strategy": ["look first", "mend"]})
    for status in ("failed", "failed", "failed", "success"):
        done = lab.causal.record_attempt(ERROR, {"id": "gene_a"})
        lab.causal.close(done.id, status, note="by_hand")
        lab.clock.advance(seconds=3_600)  # type: ignore[attr-defined]
    text = lab.causal.narrative()
    assert text.count("\n### ") == 2
    first, last = text.split("\n### ")[1:]
    assert ", 3 times since " in first.splitlines()[0]
    assert "times" not in last
    assert "- Tried: look first; mend (gene\\_a)\n" in first
    assert "- Outcome: failed, by hand" in first


def test_what_is_cut_ends_with_a_whole_word(lab: Lab) -> None:
    words = [f"word{number}" for number in range(60)]
    done = lab.causal.record_attempt([" ".join(words)], {"id": "gene_a"})
    lab.causal.close(done.id, "success")
    (signals,) = re.findall(r"- Signals: (.*)", lab.causal.narrative())
    *whole, dots = signals.split(" ")
    assert dots == "…"
    assert whole == words[: len(whole)]
    assert len(whole) > 10


def test_an_entry_names_the_mutation_and_why_the_outcome_is_one(lab: Lab) -> None:
    mutation = lab.causal.build_mutation(ERROR)
    lab.causal.record_attempt(ERROR, {"id": "gene_a"}, mutation=mutation)
    lab.causal.record_outcome_from_state([])
    text = lab.causal.narrative()
    assert "- Tried: gene\\_a; mutation: repair, low risk\n" in text
    assert "- Outcome: success, error cleared, score 0.85\n" in text
