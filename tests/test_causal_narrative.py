"""The narrative of causal memory, and what outcomes may say of amounts and secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Run

from theorex_lab import Lab
from theorex_lab.clock import FixedClock
from theorex_lab.designs.causal.narrative import last_of_narrative, narrative
from theorex_lab.errors import InvalidInput

ERROR = ["log_error", "errsig:TypeError: Cannot read /srv/app/x.js:10 at 0xFF"]
AT = "2026-03-10T00:00:00Z"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[], Lab]]:
    """Makes empty homes whose clocks stand at the same time."""
    labs: list[Lab] = []

    def make() -> Lab:
        labs.append(Lab(tmp_path / f"home-{len(labs)}", clock=FixedClock.at(AT)))
        return labs[-1]

    yield make
    for lab in labs:
        lab.close()


def told_at_length(lab: Lab, count: int, text: str) -> None:
    for number in range(count):
        done = lab.causal.record_attempt([f"{number} {text}", text], {"id": f"gene_{number}", "category": "repair"})
        lab.causal.close(done.id, "success", note=text)


NASTY = "</script><img src=x>\n\n# heading\n```\n[link](http://x) | *bold* \x1b[2J \u202e" * 20


@pytest.mark.parametrize("text", ["plain", NASTY, "日" * 900])
def test_the_narrative_never_exceeds_its_size_and_drops_the_oldest(opened: Callable[[], Lab], text: str) -> None:
    lab = opened()
    assert narrative(lab.home) == last_of_narrative(lab.home) == ""
    told_at_length(lab, 130, text)
    whole, short = narrative(lab.home), last_of_narrative(lab.home)
    assert 11_000 < len(whole) <= 12_000
    assert len(short) <= 4_000
    assert "129" in whole
    assert "- Tried: gene\\_0," not in whole
    assert short.count("\n### ") <= 8
    assert whole.endswith(short[short.index("\n### ") :])
    for limit in (0, 1, 90, 100, 333, 1_000):
        assert len(narrative(lab.home, characters=limit)) <= limit
    with pytest.raises(InvalidInput, match="got -1 entries"):
        narrative(lab.home, entries=-1)


def test_nothing_that_was_stored_becomes_markup(opened: Callable[[], Lab]) -> None:
    lab = opened()
    told_at_length(lab, 3, NASTY)
    lines = narrative(lab.home).splitlines()
    assert {line.split(" ")[0] for line in lines} <= {"#", ">", "###", "-", ""}
    assert len([line for line in lines if line.startswith("# ")]) == 1
    body = re.sub(r"\\.", "", "\n".join(line for line in lines if line.startswith("- ")))
    assert not [sign for sign in "<>[]`|*\x1b\u202e" if sign in body]


def test_the_narrative_is_of_one_agent_and_of_the_project(opened: Callable[[], Lab]) -> None:
    lab = opened()
    for agent, gene in (("a", "gene_a"), ("b", "gene_b")):
        lab.causal.close(lab.causal.record_attempt(ERROR, {"id": gene}, agent=agent).id, "failed", agent=agent)
    assert "gene\\_b" not in narrative(lab.home, agent="a")
    here = lab.home.in_project("shop")
    here_lab = type(lab.causal)(here)
    here_lab.close(here_lab.record_attempt(ERROR, {"id": "gene_c"}).id, "failed")
    assert "gene\\_c" not in narrative(lab.home.in_project("other"))
    assert "gene\\_c" in narrative(here)


def test_signals_with_secrets_are_advised_as_they_were_recorded(opened: Callable[[], Lab]) -> None:
    lab, signals = opened(), ["errsig:login with password=hunter2secret refused"]
    done = lab.causal.record_attempt(signals, {"id": "gene_login"})
    lab.causal.close(done.id, "success")
    advice = lab.causal.get_advice(signals, ["gene_login"])
    assert advice.signal_key == done.signal_key
    assert advice.scores["gene_login"] > 2 / 3  # not by what the gene did elsewhere alone


@pytest.mark.parametrize("amount", [10**400, float("inf"), float("nan"), -1, True])
def test_an_amount_that_no_sum_holds_is_refused(opened: Callable[[], Lab], amount: float) -> None:
    lab = opened()
    done = lab.causal.record_attempt(ERROR, {"id": "gene_a"})
    with pytest.raises(InvalidInput, match="got latency_ms="):
        lab.causal.close(done.id, "success", latency_ms=amount)
    assert lab.causal.get_advice(ERROR, ["gene_a"]).preferred_gene_id is None


def test_the_command(run: Run) -> None:
    attempt = run("causal", "attempt", "--signals", *ERROR, "--gene", "gene_tune", "--json").json["id"]
    run("causal", "close", "--action", attempt, "--status", "success")
    assert "gene\\_tune" in run("causal", "narrative").out
    told = run("causal", "narrative", "--summary", "--characters", "300", "--json")
    assert told.json["characters"] <= 300
