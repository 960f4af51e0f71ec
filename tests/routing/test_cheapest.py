"""The cheapest option that is not distinguishably worse, and a route that takes a cheaper
model only where it is shown to be not worse.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW
from faults import opened
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab import InvalidInput, Settings
from theorex_lab.core.settings import ModelSettings, load_settings
from theorex_lab.dispatch.bus import CallEnd, CallStart
from theorex_lab.dispatch.llm import Attempt
from theorex_lab.memory.evidence import (
    EvidenceTable,
    Option,
    cheapest_not_worse,
    not_worse,
)
from theorex_lab.routing.confidence import matrix, priced
from theorex_lab.routing.energy import Power
from theorex_lab.routing.router import Decision, route

NAN = math.nan
amounts = st.none().map(lambda _: NAN) | st.floats(0, 1e3)
options = st.lists(
    st.tuples(st.integers(0, 60), st.floats(0, 1), amounts, amounts).map(
        lambda drawn: Option("x", drawn[0], round(drawn[0] * drawn[1]), *drawn[2:])
    ),
    min_size=1,
    max_size=6,
).filter(lambda drawn: any(option.n for option in drawn))
levels = st.floats(0, 0.5)


@given(options, levels)
def test_what_holds_of_every_choice(drawn: list[Option], level: float) -> None:
    near = not_worse(drawn, level)
    chosen = cheapest_not_worse(drawn, level)
    best = drawn[near[0]]
    assert chosen in near
    assert all(
        best.successes / best.n >= option.successes / option.n
        for option in drawn
        if option.n
    )
    assert drawn[chosen].n > 0
    if not math.isnan(best.cost):
        assert drawn[chosen].cost <= best.cost, (
            "an unknown cost never stands in for a known one"
        )


@given(options, levels, levels)
def test_a_higher_level_leaves_no_more(
    drawn: list[Option], one: float, other: float
) -> None:
    assert set(not_worse(drawn, max(one, other))) <= set(
        not_worse(drawn, min(one, other))
    )


@given(options)
def test_at_the_ends_every_lower_rate_is_worse_or_none_is(drawn: list[Option]) -> None:
    rates = [option.successes / option.n if option.n else NAN for option in drawn]
    assert {rates[place] for place in not_worse(drawn, 0.5)} == {
        max(rate for rate in rates if rate == rate)
    }
    assert set(not_worse(drawn, 0.0)) == {
        place for place, option in enumerate(drawn) if option.n
    }


@pytest.mark.parametrize(
    ("drawn", "chosen"),
    [
        (
            [
                Option("dear", 100, 90, 9.0),
                Option("cheap", 100, 89, 1.0),
                Option("bad", 100, 60, 0.1),
            ],
            1,
        ),
        ([Option("known", 100, 90, 9.0), Option("unknown", 100, 90, NAN)], 0),
        ([Option("unknown", 100, 90, NAN), Option("known", 100, 89, 9.0)], 1),
        ([Option("slow", 100, 90, NAN, 900.0), Option("quick", 100, 89, NAN, 9.0)], 1),
        ([Option("one success", 1, 1, 9.0), Option("many", 100, 90, 1.0)], 1),
        ([Option("perfect", 20, 20, 9.0), Option("hopeless", 20, 0, 0.0)], 0),
        ([Option("never tried", 0, 0, 0.0), Option("tried", 5, 1, 9.0)], 1),
    ],
)
def test_golden_choices(drawn: list[Option], chosen: int) -> None:
    assert cheapest_not_worse(drawn) == chosen


@pytest.mark.parametrize(
    ("drawn", "level"),
    [([], 0.1), ([Option("a", 0, 0)], 0.1), ([Option("a", 1, 1)], 0.6)],
)
def test_nothing_to_choose_from_or_no_level_is_refused(
    drawn: list[Option], level: float
) -> None:
    with pytest.raises(
        InvalidInput, match="allowed is one or more with runs, at 0 to 0.5"
    ):
        cheapest_not_worse(drawn, level)


# In a route

MODELS = {name: ModelSettings(tier="medium") for name in ("dear", "cheap", "bad")}
RUNS = 2_000


def filled(**went: tuple[int, float | None, int | None]) -> EvidenceTable:
    """Under code, so many of a hundred runs succeed, with cost and tokens."""
    table = EvidenceTable()
    for model, (percent, cost, tokens) in went.items():
        for number in range(RUNS):
            table.add(
                "query_type/code",
                model,
                number % 100 < percent,
                at=NOW,
                cost=cost,
                tokens=tokens,
            )
    return table


def routed(
    table: EvidenceTable, models: dict[str, ModelSettings] = MODELS, **changes: Any
) -> Decision:
    settings = Settings(models=models, roles=[], **changes)
    return route(
        "debug this", settings, evidence=table, power=Power(None, False), now=NOW
    )


def test_the_reason_says_what_was_shown_and_beside_whom() -> None:
    decision = routed(
        filled(dear=(90, 2.0, None), cheap=(89, 1.0, None), bad=(60, 0.1, None))
    )
    assert decision.model == "cheap"
    assert re.search(
        r"cheaper than dear and shown to be not worse by more than 3 points \(-1\.\d, at"
        r" least -[12]\.\d at 80%\) for code$",
        decision.reasons[3],
    )
    dear = routed(filled(dear=(90, 2.0, None), bad=(60, 0.1, None)))
    assert dear.reasons[3].endswith(
        "the best; nothing cheaper is shown to be not worse for code"
    )


def test_margin_confidence_and_willingness_are_settings() -> None:
    table = filled(dear=(90, 2.0, None), cheap=(86, 1.0, None))
    assert routed(table).model == "dear", "it is 4 points worse"
    assert routed(table, route_margin=0.06).model == "cheap"
    sure = {"route_margin": 0.05, "route_confidence": 0.99}
    assert routed(table, **sure).model == "dear"
    assert routed(table, route_willingness=0.1).model == "cheap", (
        "it saves what ten points are worth"
    )
    assert routed(table, route_willingness=1.0).model == "dear"
    assert routed(table, route_margin=0.06, route_prefers="success").model == "dear"


def test_a_former_setting_is_named_and_has_no_effect(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"routeWorseAt": 0.1}')
    with pytest.warns(FutureWarning, match="routeWorseAt .routeMargin and"):
        settings = load_settings(file)
    assert settings.route_margin == 0.03


def test_prices_stand_in_for_costs_that_no_run_stated() -> None:
    priced_models = {
        "dear": ModelSettings(tier="medium", cost_per_million_tokens=5.0),
        "cheap": ModelSettings(tier="medium", cost_per_million_tokens=1.0),
        "bad": ModelSettings(tier="medium"),
    }
    table = filled(dear=(90, None, None), cheap=(89, None, None), bad=(90, None, None))
    assert routed(table, priced_models).model == "cheap"
    assert routed(table).reasons[3].endswith("the best for code"), (
        "nothing is known to be cheaper"
    )
    wordy = filled(dear=(90, None, 100), cheap=(89, None, 900))
    assert routed(wordy, priced_models).model == "dear", (
        "it takes a ninth of the tokens"
    )
    cells = {
        cell.model: cell.cost
        for cell in priced(matrix(wordy.cells()), Settings(models=priced_models))
    }
    assert cells == {"dear": pytest.approx(5e-4), "cheap": pytest.approx(9e-4)}
    stated = filled(cheap=(89, 0.5, 900))
    assert (
        priced(matrix(stated.cells()), Settings(models=priced_models))[0].cost == 0.5
    ), "what runs state holds"


def test_a_price_that_is_not_set_is_not_free() -> None:
    settings = Settings(
        models={
            "free": ModelSettings(tier="small", cost_per_million_tokens=0.0),
            **MODELS,
        }
    )
    assert (
        settings.price("free"),
        settings.price("dear"),
        settings.price("stranger"),
    ) == (0.0, None, None)


def test_recall_takes_a_cheaper_model_too_that_is_shown_to_be_not_worse(
    tmp_path: Path,
) -> None:
    with opened(tmp_path / "home", models=MODELS, roles=[]) as lab:
        for number in range(300):
            good = {"dear": True, "cheap": number != 150, "bad": number % 4 > 1}
            costs = {"dear": 2.0, "cheap": 1.0, "bad": 0.1}
            text = "debug this parser" if number % 2 else f"debug thing {number}"
            start = CallStart(f"t{number}", "main", NOW, text, "code", "dear")
            runs = tuple(Attempt(name, good[name], cost=costs[name]) for name in good)
            lab.journal.append(
                [
                    start.event(),
                    CallEnd(start.trace_id, NOW, True, "dear", attempts=runs).event(
                        start
                    ),
                ]
            )
        decision = lab.route("debug this parser", power=Power(None, False))
        assert decision.model == "cheap"
        assert decision.reasons[2].startswith("recall: cheap succeeds by")
        assert "shown to be not worse by more than 3 points" in decision.reasons[2]
        margin = lab.route("debug this parser", power=Power(None, False), margin=0.0)
        assert margin.model == "dear", "no number of runs shows that nothing is lost"
