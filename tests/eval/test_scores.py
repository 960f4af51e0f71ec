"""How concepts stand: tiers over time, sleep and wake, scan and prune, links."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from conftest import DAY, NOW, THEOREX_SHOWN, observation

from theorex_lab import ConfigError, FixedClock, HashedNgramEmbedder, Lab
from theorex_lab.core.ids import concept_id
from theorex_lab.core.settings import check_settings
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.scores import items_of, law_of, scores_of
from theorex_lab.memory.decay import Tier


@pytest.fixture
def lab(clock: FixedClock) -> Iterator[Lab]:
    with Lab.temporary(clock=clock, embedder=HashedNgramEmbedder()) as lab:
        yield lab


def _tier(lab: Lab, label: str, agent: str = "main") -> str:
    frame = lab.agent(agent).axon.frame()
    return str(frame.loc[frame["canonical_form"] == label, "relevance_tier"].item())


@pytest.mark.parametrize(
    ("days", "importance", "tier"),
    [
        (0, 1.0, "ACTIVE"),
        (10, 0.609507, "ACTIVE"),
        (11, 0.580065, "MILD"),
        (14, 0.5, "MILD"),
        (24, 0.304753, "MILD"),
        (25, 0.290032, "LESS"),
    ],
)
def test_one_mention_fades_as_the_formula_says(
    lab: Lab, clock: FixedClock, days: int, importance: float, tier: str
) -> None:
    lab.journal.append([observation("x", labels=["cache"])])
    clock.advance(days=days)
    row = lab.agent("main").axon.frame().iloc[0]
    assert row["importance_weight"] == pytest.approx(importance, abs=1e-6)
    assert row["relevance_tier"] == tier


def test_ten_mentions_stay_longer(lab: Lab, clock: FixedClock) -> None:
    lab.journal.append([observation("x", labels=["cache"]) for _ in range(10)])
    clock.advance(days=34)
    assert lab.agent("main").axon.frame()["importance_weight"].item() == pytest.approx(
        0.613453, abs=1e-6
    )
    clock.advance(days=1)
    assert _tier(lab, "cache") == "MILD"


def test_a_scan_puts_to_sleep_and_a_write_wakes_with_the_count_kept(
    lab: Lab, clock: FixedClock
) -> None:
    lab.journal.append(
        [observation("old", labels=["cache"]), observation("old", labels=["cache"])]
    )
    clock.advance(days=29.9)
    lab.theorex.scan()
    assert _tier(lab, "cache") == "MILD"
    clock.advance(days=30)
    first = lab.theorex.scan()
    assert (first.slept, first.tiers["SLEEPING"]) == (1, 1)
    before = lab.journal.last_seq()
    again = lab.theorex.scan()
    assert (again.changed, again.slept, again.links_dropped) == (0, 0, 0)
    assert lab.journal.last_seq() == before, "a second scan at one time leaves no event"
    lab.journal.append([observation("back", labels=["cache"], at=clock.now())])
    frame = lab.agent("main").axon.frame()
    assert (frame["relevance_tier"].item(), frame["frequency_count"].item()) == (
        "ACTIVE",
        3,
    )


def test_a_less_item_unseen_for_exactly_thirty_days_sleeps(
    lab: Lab, clock: FixedClock
) -> None:
    lab.journal.append([observation("x", labels=["cache"])])
    clock.advance(days=30, seconds=-1)
    assert lab.theorex.scan().tiers["LESS"] == 1
    clock.advance(seconds=1)
    assert lab.theorex.scan().tiers["SLEEPING"] == 1


def test_scanning_one_agent_leaves_the_others(lab: Lab, clock: FixedClock) -> None:
    lab.journal.append(
        [observation("x", labels=["cache"], agent=agent) for agent in ("main", "sage")]
    )
    clock.advance(days=40)
    assert lab.theorex.scan(agents=["sage"]).slept == 1
    assert (_tier(lab, "cache", "main"), _tier(lab, "cache", "sage")) == (
        "LESS",
        "SLEEPING",
    )


def test_prune_takes_less_items_strictly_older_and_leaves_what_sleeps(
    clock: FixedClock,
) -> None:
    with Lab.temporary(
        clock=clock, prune_threshold_days=26, embedder=HashedNgramEmbedder()
    ) as lab:
        lab.journal.append(
            [
                observation("x", labels=["cache", "ttl"]),
                observation("y", labels=["kept"], at=NOW + 1),
            ]
        )
        clock.advance(days=26)
        assert lab.theorex.prune() == 0, "exactly the threshold is not older"
        clock.advance(seconds=0.000001)
        assert lab.theorex.prune() == 2
        assert lab.agent("main").axon.frame()["canonical_form"].tolist() == ["kept"]
        archived = next(lab.journal.tail(0, kinds=["prune"])).body["concepts"]["main"]
        assert {row["concept_id"] for row in archived} == {
            concept_id("cache"),
            concept_id("ttl"),
        }
        clock.advance(days=10)
        lab.theorex.scan()
        assert lab.theorex.prune() == 0, "what sleeps stays"
        lab.journal.append([observation("again", labels=["cache"], at=clock.now())])
        frame = lab.agent("main").axon.frame()
        assert (
            frame.loc[frame["canonical_form"] == "cache", "frequency_count"].item() == 1
        )
        assert lab.verify().ok


def test_trace_fixes_fade_with_seven_days_unless_seen_otherwise(
    lab: Lab, clock: FixedClock
) -> None:
    lab.journal.append(
        [
            observation("f", labels=["only fix", "both"], observation_type="trace_fix"),
            observation("d", labels=["both"], observation_type="decision"),
        ]
    )
    clock.advance(days=7)
    axon = lab.views.get(Axon)
    current = scores_of(axon, clock.now(), lab.settings)
    by_label = {
        axon.labels[row]: raw
        for row, raw in zip(current.rows, current.raw, strict=True)
    }
    boost = 1 + 0.25 * 0.1 * 2 ** (-0.5)
    assert by_label["only fix"] == pytest.approx(0.5 * boost)
    assert by_label["both"] == pytest.approx(2**-0.5 * (1 + np.log(2)) * boost)
    assert "only fix" in {
        axon.labels[r]
        for r, t in zip(current.rows, current.tier, strict=True)
        if t == Tier.MILD
    }


def test_links_grow_by_a_twentieth_fade_and_are_dropped_once(
    lab: Lab, clock: FixedClock
) -> None:
    lab.journal.append([observation("x", labels=["a", "b"]) for _ in range(19)])
    axon = lab.views.get(Axon)
    assert axon.link_counts.present(NOW, lab.settings.half_life_days)[1].tolist() == [
        1.0
    ]
    lab.journal.append([observation("x", labels=["c", "d"])])
    clock.advance(days=14)
    edges = lab.agent("main").axon.graph().edges(data=True)
    assert sorted(round(data["strength"], 9) for _, _, data in edges) == [0.05, 0.5]
    clock.advance(days=14 * 3)
    assert lab.theorex.scan().links_dropped == 1, ".1 has fallen below .01, 1.0 has not"
    assert lab.theorex.scan().links_dropped == 0
    lab.journal.append([observation("x", labels=["c", "d"], at=clock.now())])
    strengths = lab.views.get(Axon).link_counts.present(
        clock.now(), lab.settings.half_life_days
    )[1]
    assert sorted(round(strength, 4) for strength in strengths) == [0.0625, 0.1]


def test_what_is_dated_before_never_lowers_last_seen(lab: Lab) -> None:
    lab.journal.append(
        [
            observation("x", labels=["a"]),
            observation("earlier", labels=["a"], at=NOW - 50 * DAY),
        ]
    )
    axon = lab.views.get(Axon)
    assert axon.concepts["last_seen"].tolist() == [NOW]
    assert axon.concepts["first_seen"].tolist() == [NOW - 50 * DAY]
    half_lives = np.array([0.1, 0.5, 2, 7, 30, 120])
    assert axon.concepts["decayed"][0] == pytest.approx(1 + 2 ** (-50 / half_lives))


@pytest.mark.parametrize(
    "law", ["product", "weighted_sum", "power", "constant", "recency", "frequency"]
)
def test_the_memory_runs_on_every_law(clock: FixedClock, law: str) -> None:
    with Lab.temporary(
        clock=clock, decay_law=law, embedder=HashedNgramEmbedder(), **THEOREX_SHOWN
    ) as lab:
        lab.journal.append(
            [
                observation("x", labels=["a", "b"]),
                observation("y", labels=["b"], at=NOW - 100 * DAY),
            ]
        )
        items = items_of(lab.views.get(Axon), NOW, lab.settings)
        assert items.decayed_counts[1] == pytest.approx(
            1 + 2 ** (-100 / np.array([0.1, 0.5, 2, 7, 30, 120]))
        )
        assert sum(lab.theorex.scan().tiers.values()) == 2
        known = lab.agent("main").axon.frame()["canonical_form"]
        assert sorted(known) == ["a", "b"]
        assert "x (1 Mar)." in [line.text for line in lab.briefing().lines]


def test_an_unknown_law_or_parameter_is_named() -> None:
    with pytest.raises(ConfigError, match="decayLaw is 'nope'; allowed are .*product"):
        law_of(check_settings({"decayLaw": "nope"}))
    with pytest.raises(ConfigError, match="decayParams: .*speed"):
        law_of(check_settings({"decayParams": {"speed": 3}}))


def test_lists_are_ordered_by_raw_not_by_the_clamped_weight(lab: Lab) -> None:
    lab.journal.append(
        [
            observation("x", labels=["once"]),
            observation("y", labels=["thrice"]),
            observation("y", labels=["thrice"]),
        ]
    )
    assert lab.agent("main").axon.frame()["canonical_form"].tolist() == [
        "thrice",
        "once",
    ]
