"""What advice is worth on recorded logs: nothing of what comes later is known, and
chance outcomes give no gain.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from random import Random

import pytest
from conftest import Run
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab import InvalidInput
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.datasets.logs import load_logs
from theorex_lab.eval.metrics.causal import (
    ADVICE,
    BASE,
    OF_GENE,
    AdviceScore,
    ClosedAttempt,
    MethodScore,
    captured,
    foretell,
    score_advice,
    telling_acts,
    walk,
)
from theorex_lab.eval.metrics.causal import _score_log as score_tried
from theorex_lab.eval.metrics.compare import compare
from theorex_lab.memory.contract import EvidenceRun

pytestmark = pytest.mark.usefixtures("shared_logs")

needs_data = pytest.mark.skipif(
    not os.environ.get("THEOREX_DATA"), reason="THEOREX_DATA names no folder"
)
SECOND = 1_000_000
EXPECTED = "expected success of what was tried"


def figure(score: AdviceScore, *names: str) -> MethodScore:
    return next(one for one in score if one[:3] == names)


def attempt(
    place: int, gene: str, *, success: bool, lasts: int = 1, signal: str = "slow"
) -> ClosedAttempt:
    """An attempt that is chosen at a place and closed `lasts` places later."""
    runs = tuple(
        EvidenceRun(key, gene, success) for key in (f"signal:{signal}", "option")
    )
    places = place, place + lasts, place * SECOND, (place + lasts) * SECOND
    return ClosedAttempt(
        f"session {place % 60}",
        (signal,),
        gene,
        (f"edit {gene}.py",),
        success,
        *places,
        signal,
        runs,
    )


def shuffled(tried: Sequence[ClosedAttempt], seed: int) -> list[ClosedAttempt]:
    """The same attempts, whose outcomes were drawn from one another's."""
    outcomes = [one.success for one in tried]
    Random(seed).shuffle(outcomes)
    return [
        one._replace(success=success)
        for one, success in zip(tried, outcomes, strict=True)
    ]


@cache
def sessions() -> EvalLog:
    return load_logs("simulated_sessions")[0]


@cache
def score_of_sessions() -> AdviceScore:
    return score_advice("simulated_sessions")


@cache
def tried_in_sessions() -> list[ClosedAttempt]:
    return captured(sessions())


def test_only_what_was_closed_before_is_known() -> None:
    tried = [
        attempt(0, "g", success=True, lasts=5),
        attempt(1, "g", success=False),
        attempt(3, "g", success=True),
    ]
    known = {
        one.asked: [other.asked for other in past.tried] for one, past in walk(tried)
    }
    assert known == {0: [], 1: [], 3: [1]}
    assert [row["expected"][OF_GENE] for row in foretell(tried)] == [
        1 / 2,
        1 / 2,
        1 / 3,
    ]


STEP = st.tuples(
    st.sampled_from("ab"),
    st.sampled_from(["slow", "slow|log_error"]),
    st.booleans(),
    st.integers(1, 9),
)


@given(st.lists(STEP, min_size=1, max_size=25), st.integers(0, 25))
def test_what_comes_later_changes_no_earlier_row(
    steps: list[tuple[str, str, bool, int]], cut: int
) -> None:
    tried = [
        attempt(place, gene, success=success, lasts=lasts, signal=signal)
        for place, (gene, signal, success, lasts) in enumerate(steps)
    ]
    other = [
        one if one.known <= cut else one._replace(success=not one.success)
        for one in tried
    ]
    rows = [
        (row["expected"], row["banned"], row["preferred"])
        for row in foretell(tried)[: cut + 1]
    ]
    assert rows == [
        (row["expected"], row["banned"], row["preferred"])
        for row in foretell(other)[: cut + 1]
    ]
    assert rows == [
        (row["expected"], row["banned"], row["preferred"])
        for row in foretell(tried[: cut + 1])
    ]


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_a_log_that_ends_earlier_gives_the_same_rows(share: float) -> None:
    log = sessions()
    whole = {row["asked"]: row for row in foretell(tried_in_sessions())}
    rows = foretell(
        captured(replace(log, events=log.events[: round(share * len(log.events))]))
    )
    assert len(rows) > 5
    assert rows == [whole[row["asked"]] for row in rows]


def good_and_bad(n: int = 300) -> list[ClosedAttempt]:
    """Two genes, of which one succeeds nine times in ten and the other once."""
    draw = Random(1)
    genes = [draw.choice(["good", "bad"]) for _ in range(n)]
    return [
        attempt(place, gene, success=draw.random() < (0.9 if gene == "good" else 0.1))
        for place, gene in enumerate(genes)
    ]


def test_advice_gains_where_genes_differ_and_nothing_where_outcomes_are_chance() -> (
    None
):
    found = score_tried("made up", good_and_bad(), 0)
    assert figure(found, EXPECTED, BASE, "advice gains").ci_low > 0.05
    assert figure(found, EXPECTED, ADVICE, "auc").ci_low > 0.8
    assert figure(found, "bans", ADVICE, "precision").value > 0.8
    assert (
        figure(
            found, "by observation", "what was done as it preferred", "difference"
        ).ci_low
        > 0.5
    )
    assert "better than base rate so far" in found.verdict
    for seed in range(3):
        chance = score_tried("chance", shuffled(good_and_bad(), seed), 0)
        assert figure(chance, EXPECTED, BASE, "advice gains").ci_low <= 0
        assert (
            figure(
                chance, "by observation", "what was done as it preferred", "difference"
            ).ci_low
            <= 0
        )
        assert "better than base rate so far" not in chance.verdict.replace(
            "no better", ""
        )


def test_recorded_outcomes_that_are_shuffled_give_no_gain() -> None:
    tried = tried_in_sessions()
    for seed in range(3):
        assert (
            figure(
                score_tried("chance", shuffled(tried, seed), 0),
                EXPECTED,
                BASE,
                "advice gains",
            ).ci_low
            <= 0
        )


def test_packaged_logs_are_scored_and_the_verdict_says_where_advice_does_not_help(
    run: Run,
) -> None:
    ended = run("eval", "causal", "--dataset", "simulated_sessions", "--json")
    told = json.loads(ended.out)
    assert (ended.code, told["dataset"], told["n"] > 50) == (
        0,
        "simulated_sessions",
        True,
    )
    assert {one["part"] for one in told["figures"]} >= {
        EXPECTED,
        "bans",
        "by observation",
    }
    found = score_of_sessions()
    assert found.to_dict() == told["figures"]
    assert found.frame["part"].nunique() == 4
    assert (
        repr(found)
        == f"AdviceScore(simulated_sessions, {told['n']} attempts, {len(found)} figures)"
    )
    assert told["verdict"] in str(found)
    gain = figure(found, EXPECTED, BASE, "advice gains")
    assert ("no better than base rate" in found.verdict) == (
        gain.ci_low <= 0 <= gain.ci_high
    )
    assert score_advice(load_logs("simulated_team")[0]).verdict


def test_every_share_is_between_its_bounds() -> None:
    for one in score_of_sessions():
        assert (
            math.isnan(one.value)
            or one.ci_low - 1e-9 <= one.value <= one.ci_high + 1e-9
        )
        assert (
            one.score in ("advice gains", "difference")
            or math.isnan(one.value)
            or 0 <= one.value <= 1
        )


def test_a_log_without_a_failed_call_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no call that failed"):
        score_advice(replace(sessions(), events=sessions().events[:3]))


def test_the_design_is_compared_by_its_name() -> None:
    found = compare([sessions()], ["causal", "nothing"], budgets=(500,))
    assert (
        found.value("causal", "inject", 500, "mean").value
        > found.value("nothing", "inject", 500, "mean").value
    )


def test_what_then_helped_is_told_by_kinds_of_acts() -> None:
    helped = [one for one in tried_in_sessions() if one.success]
    acts = {act for one in helped for act in telling_acts(one.did)}
    assert "edit the file that the error names" in acts
    assert not any("gene_seen" in act for act in acts)
    part = "what then helped, among what is offered"
    share = figure(score_of_sessions(), part, ADVICE, "share")
    assert share.n == sum(bool(telling_acts(one.did)) for one in helped) > 0
