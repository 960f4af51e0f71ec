"""The audit log read from the journal, drift from an agent's moments, the context
monitor.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import DAY, NOW, observation
from hypothesis import given, settings
from hypothesis import strategies as st

from theorex_lab import Event, FixedClock, Lab, new_event
from theorex_lab.core.clock import to_iso
from theorex_lab.core.ids import concept_id
from theorex_lab.designs.theorex.answers import reading
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.design import READ_FROM
from theorex_lab.designs.theorex.upkeep import ContextCheck, Drift, check_context, drift
from theorex_lab.evolution.audit import AuditEntry, audit, kinds_of
from theorex_lab.journal.sqlite.store import SqliteJournal

BODIES = Path(__file__).parents[1] / "golden" / "bodies.json"
KINDS = (
    "tier_change",
    "graduation",
    "prune",
    "moment_capture",
    "fact_superseded",
    "tension_noted",
    "entity_archived",
    "strategy_merged",
    "strategy_compacted",
    "strategy_migrated",
    "personality",
    "external_candidate",
    "insight",
    "skill",
    "post_run",
    "outcome_record",
    "review",
    "policy_test",
    "erasure",
    "salvage",
    "pin",
    "dismiss",
    "correct",
    "trust",
)


def felt(label: str, sentiment: float, *, agent: str = "main", count: int = 1) -> Event:
    event = observation("t", labels=[label], agent=agent)
    concepts = [[concept_id(label), label, label.title(), count]]
    return event._replace(
        body={**event.body, "sentiment": sentiment, "concepts": concepts}
    )


def told(entries: list[AuditEntry], *names: str) -> list[tuple[Any, ...]]:
    return [
        (each.agent, each.kind, *(each.detail[name] for name in names))
        for each in entries
    ]


def test_every_kind_is_read_from_the_journal(lab: Lab) -> None:
    main = lab.agent("main")
    kept = main.write("the session cache is wonderful").event_id
    lab.pin(kept)
    lab.dismiss(kept)
    lab.correct(kept, "the session cache is\nwonderful again")
    lab.trust(kept)
    main.write("the session cache crashed and lost data, a terrible failure")
    main.write("We moved the scheduler", observation_type="moment")
    for town, source in (("Bath", "user"), ("York", "user"), ("Rome", "tool")):
        lab.facts.write("people/ann", f"Lives in {town}", source=source)
    lab.facts.archive("people/ann")
    dreamt = {
        "strategy_id": "st-1",
        "project": "",
        "state": json.loads(BODIES.read_text(encoding="utf-8"))["strategy_merged"][
            "state"
        ],
        "source": "agent",
        "why": "they are alike",
        "undo": False,
        "pruned": False,
        "absorbed": "",
    }
    for kind in ("strategy_merged", "strategy_compacted", "strategy_migrated"):
        lab.dreams.append(kind, dreamt)
    lab.causal.append(
        "personality",
        {"state": {"rigor": 0.8}, "why": "three failures", "source": "agent"},
    )
    lab.causal.append(
        "external_candidate",
        {"asset": {"type": "Gene", "id": "g"}, "external": {"source": "external"}},
    )
    lab.research.post_run(
        "s1",
        {
            "failed_attempts": [
                {"failure_reason": "too slow"},
                {"failure_reason": "too loose"},
            ]
        },
    )
    lab.theorex.scan()
    outcome = lab.outcomes.record(
        "sage", "raised\nthe TTL", "stale", success=False, tags=["db"]
    )
    reviewed = {
        "outcome_id": outcome.outcome_id,
        "trace_id": None,
        "score": 0.7,
        "fix_description": "Lower the TTL.",
        "decisive_step": None,
        "failure_class": "other",
        "model_used": "qwen",
        "observation_id": "x",
        "confidence": 0.44,
    }
    gated = {
        "number": 1,
        "part": "memory",
        "evidence": "e",
        "against": "a",
        "result": "r",
        "decision": "refuse",
        "before": 0.5,
        "after": 0.4,
        "n": 9,
        "margin": 0.02,
        "proposed": {},
        "policy": None,
    }
    graduated = {
        "concept_id": concept_id("ttl"),
        "label": "ttl",
        "surface": "TTL",
        "times": [NOW],
        "counts": [7],
        "days": [1, 2, 3, 4, 5, 6, 7],
        "upto": NOW,
        "source": "tool",
        "weight": 0.7,
    }
    salvaged = {
        "events": 7,
        "lost": [[2, 2], [4, 6]],
        "set_aside": "set-aside-1",
        "problems": ["event 2 …"],
    }
    bodies = (
        ("reviewed", reviewed),
        ("gated", gated),
        ("graduated", graduated),
        ("salvaged", salvaged),
    )
    lab.journal.append(
        [new_event(kind, body, agent="sage", at=NOW) for kind, body in bodies]
    )
    lab.clock.advance(days=60)  # type: ignore[attr-defined]
    lab.theorex.prune()
    lab.erase(match="terrible")
    found = audit(lab.home)
    assert kinds_of(lab.home) == KINDS
    assert {each.kind for each in found} == set(KINDS)
    by_kind = {each.kind: each for each in found}
    assert by_kind["moment_capture"].detail["story"] == "We moved the scheduler"
    assert by_kind["outcome_record"].detail["decision"] == "raised the TTL"
    assert by_kind["correct"].detail["text"] == "the session cache is wonderful again"
    assert [by_kind[kind].detail["item"] for kind in ("pin", "dismiss", "correct")] == [
        kept
    ] * 3
    assert (by_kind["review"].agent, by_kind["review"].detail["fix"]) == (
        "sage",
        "Lower the TTL.",
    )
    assert by_kind["policy_test"].detail["decision"] == "refuse"
    assert (
        by_kind["graduation"].detail["label"],
        by_kind["graduation"].detail["days"],
    ) == ("ttl", 7)
    assert {each.detail["label"] for each in found if each.kind == "prune"} >= {
        "ttl",
        "scheduler",
    }
    assert by_kind["erasure"].detail["events"] == 1
    assert by_kind["salvage"].detail["lost"] == "2, 4–6"
    assert by_kind["tier_change"].timestamp == "2026-03-01T09:00:00.000000Z"
    assert lab.journal.read(ids=[each.detail["event_id"] for each in found])


def test_what_was_pruned_starts_anew(lab: Lab) -> None:
    lab.journal.append([felt("cache", 0.9)])
    lab.theorex.scan()
    gone = {"concepts": {"main": [{"concept_id": concept_id("cache"), "count": 1}]}}
    lab.journal.append(
        [new_event("prune", gone, agent="theorex", at=NOW), felt("cache", -0.1)]
    )
    lab.theorex.scan()
    changes = audit(lab.home, kinds=["tier_change"])
    assert (
        told(changes, "from", "to")
        == [("main", "tier_change", "NEUTRAL", "ACTIVE")] * 2
    )


def test_imported_numbers_are_where_the_running_ones_go_on(lab: Lab) -> None:
    stated = {
        "concepts": [[concept_id("cache"), "cache", "Cache", 5]],
        "sentiment_sum": 2.0,
        "tier": "MILD",
        "type": "decision",
        "source": "import",
        "fix_count": 0,
        "first_seen": NOW,
        "last_seen": NOW,
        "source_weight": 0.7,
        "decayed": [1.0] * 6,
    }
    lab.journal.append(
        [
            new_event("imported", stated, agent="main", at=NOW),
            felt("cache", -1.0),
            felt("cache", -1.5),
        ]
    )
    lab.theorex.scan()
    assert told(audit(lab.home, kinds=["tier_change"]), "from", "to") == [
        ("main", "tier_change", "MILD", "ACTIVE")
    ]


def test_tier_changes_say_from_where(lab: Lab) -> None:
    lab.journal.append(
        [
            observation("t", labels=["cache"]),
            observation("t", labels=["db"], agent="sage"),
        ]
    )
    for days in (0, 12, 20):
        lab.clock.advance(days=days)  # type: ignore[attr-defined]
        lab.theorex.scan(agents=["main"])
    lab.journal.append([observation("t", labels=["cache"], at=lab.clock.now())])
    lab.theorex.scan()
    assert told(audit(lab.home, kinds=["tier_change"]), "label", "from", "to") == [
        ("main", "tier_change", "cache", "NEUTRAL", "ACTIVE"),
        ("main", "tier_change", "cache", "ACTIVE", "MILD"),
        ("main", "tier_change", "cache", "MILD", "SLEEPING"),
        ("main", "tier_change", "cache", "SLEEPING", "ACTIVE"),
        ("sage", "tier_change", "db", "NEUTRAL", "SLEEPING"),
    ]


def test_since_kind_and_limit(lab: Lab) -> None:
    for day in range(3):
        lab.outcomes.record("main", f"d{day}", "r", success=True)
        lab.agent("main").write(f"story {day}", observation_type="moment")
        lab.clock.advance(days=1)  # type: ignore[attr-defined]
    assert len(audit(lab.home)) == 6
    assert [each.kind for each in audit(lab.home, since=NOW + 2 * DAY)] == [
        "outcome_record",
        "moment_capture",
    ]
    assert told(audit(lab.home, kinds=["moment_capture"], limit=1), "story") == [
        ("main", "moment_capture", "story 2")
    ]
    assert audit(lab.home, limit=0) == []
    assert audit(lab.home, kinds=[]) == []


def stated(label: str, count: int, sentiment_sum: float, tier: str) -> Event:
    body = {
        "concepts": [[concept_id(label), label, label.title(), count]],
        "sentiment_sum": sentiment_sum,
        "tier": tier,
        "type": "decision",
        "source": "import",
        "fix_count": 0,
        "first_seen": NOW,
        "last_seen": NOW,
        "source_weight": 0.7,
        "decayed": [1.0] * 6,
    }
    return new_event("imported", body, agent="main", at=NOW)


LABELS = ["cache", "db", "queue"]
STEPS = st.one_of(
    st.tuples(
        st.just("felt"),
        st.sampled_from(LABELS),
        st.sampled_from([-0.5, -0.25, 0.0, 0.0, 0.0, 0.25, 0.5]),
        st.sampled_from(["main", "sage"]),
    ),
    st.tuples(
        st.just("imported"),
        st.sampled_from(LABELS),
        st.integers(1, 9),
        st.sampled_from([-1.0, 0.0, 1.0]),
    ),
    st.tuples(
        st.sampled_from(["scan", "scan", "prune", "erase", "moment", "outcome"]),
        st.floats(0, 25),
    ),
)


def lived(lab: Lab, step: tuple[Any, ...]) -> None:
    match step:
        case ("felt", label, sentiment, agent):
            lab.journal.append(
                [felt(label, sentiment, agent=agent)._replace(at=lab.clock.now())]
            )
        case ("imported", label, count, total):
            lab.journal.append([stated(label, count, total, "MILD")])
        case (what, days):
            lab.clock.advance(days=days)  # type: ignore[attr-defined]
            if what == "scan":
                lab.theorex.scan()
            elif what == "prune":
                lab.theorex.prune()
            elif what == "moment":
                lab.agent("main").write("the cache", observation_type="moment")
            elif what == "outcome":
                lab.outcomes.record("main", "d", "r", success=True)
            elif ids := [
                event.id for event in lab.journal.tail(0, kinds=["observation"])
            ][:1]:
                lab.erase(ids=ids)


@given(
    steps=st.lists(STEPS, max_size=25),
    limit=st.integers(1, 8),
    days=st.one_of(st.none(), st.integers(0, 100)),
    kinds=st.one_of(
        st.none(), st.lists(st.sampled_from(KINDS), min_size=1, max_size=2)
    ),
)
@settings(deadline=None, max_examples=60)
def test_the_latest_entries_are_those_of_a_whole_reading(
    steps: list[Any], limit: int, days: int | None, kinds: list[str] | None
) -> None:
    with Lab.temporary(clock=FixedClock(NOW)) as lab:
        for step in steps:
            lived(lab, step)
        since = None if days is None else NOW + days * DAY
        take = reading()
        since = 0 if since is None else since
        found = [
            (to_iso(event.at), *told)
            for event in lab.journal.tail(
                0, kinds=["observation", "graduated", "imported", "scan", "prune"]
            )
            for told in take(event)
            if event.at >= since and told[0] in (kinds or KINDS)
        ]
        of_design = [kind for kind in kinds or KINDS if kind in READ_FROM]
        told_of = audit(lab.home, since=since, kinds=of_design)
        shown = [
            (each.timestamp, each.kind, each.agent, _unnamed(each.detail))
            for each in told_of
        ]
        assert shown == [
            (at, kind, agent, _unnamed(detail)) for at, kind, agent, detail in found
        ]
        expected = audit(lab.home, since=since, kinds=kinds)[-limit:]
        assert audit(lab.home, since=since, kinds=kinds, limit=limit) == expected


def _unnamed(detail: Mapping[str, Any]) -> dict[str, Any]:
    """The detail without the label, which the axon may know although what named the
    concept was erased.
    """
    return {
        name: value
        for name, value in detail.items()
        if name not in ("label", "event_id")
    }


def test_the_latest_entries_are_told_and_kinds_of_which_there_are_none_read_nothing(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        batch = [
            felt(f"c{n % 300}", (-1.0) ** number * (0.5 if not number else n % 2))
            for n in range(1_000)
        ]
        lab.journal.append([event._replace(at=lab.clock.now()) for event in batch])
        lab.theorex.scan()
        lab.clock.advance(days=6)  # type: ignore[attr-defined]
    lab.journal.append([felt("fresh", 0.5), felt("c0", 0.5), felt("c1", 0.25)])
    expected = audit(lab.home)
    assert {each.kind for each in expected} == {"tier_change"}
    lab.views.get(Axon)
    read: list[int] = []
    decode = SqliteJournal._as_written

    def counted(self: SqliteJournal, row: Any) -> Event:
        read.append(row[0])
        return decode(self, row)

    monkeypatch.setattr(SqliteJournal, "_as_written", counted)
    for options in ({}, {"kinds": ["tier_change"]}, {"since": NOW + 30 * DAY}):
        whole = [
            each
            for each in expected
            if each.kind in options.get("kinds", KINDS)
            and (not options.get("since") or each.timestamp > "2026-03-31")
        ]
        assert audit(lab.home, limit=20, **options) == whole[-20:]  # type: ignore[arg-type]
    read.clear()
    assert audit(lab.home, kinds=["policy_test"], limit=20) == []
    assert read == []


def drifted(lab: Lab, agent: str = "main") -> Drift:
    return drift(lab.home, agent=agent)


def anchored(
    lab: Lab, labels: list[str], *, days_ago: float = 0, agent: str = "main"
) -> None:
    at = NOW - round(days_ago * DAY)
    # One text a concept, so that no link keeps another up.
    lab.journal.append(
        [
            observation(
                "t", labels=[each], observation_type="moment", at=at, agent=agent
            )
            for each in labels
        ]
    )


def test_without_anchors_nothing_drifts(lab: Lab) -> None:
    lab.agent("main").write("a session cache")
    assert drifted(lab) == Drift("main", 1.0, "stable", 0, 0, [])
    assert drifted(lab, "nobody").coverage == 1.0


@pytest.mark.parametrize(
    ("active", "faded_lately", "faded_long_ago", "state"),
    [
        (3, 0, 0, "stable"),
        (7, 3, 0, "recovering"),
        (7, 0, 3, "stable"),
        (6, 4, 0, "stable"),
        (1, 1, 0, "stable"),
        (4, 6, 0, "drifting"),
        (0, 0, 2, "drifting"),
    ],
)
def test_the_state_follows_from_what_is_left(
    lab: Lab, active: int, faded_lately: int, faded_long_ago: int, state: str
) -> None:
    anchored(lab, [f"a{n}" for n in range(active)])
    anchored(
        lab, [f"l{n}" for n in range(faded_lately)], days_ago=11
    )  # one mention leaves ACTIVE between day 10 and 11
    anchored(lab, [f"o{n}" for n in range(faded_long_ago)], days_ago=20)
    found = drifted(lab)
    total = active + faded_lately + faded_long_ago
    assert (found.anchors, found.active, found.coverage) == (
        total,
        active,
        pytest.approx(active / total),
    )
    assert found.left == [f"l{n}" for n in range(faded_lately)]
    assert found.state == state
    lab.theorex.scan()
    assert drifted(lab) == found, "a scan writes down what was so already"


def test_a_growing_memory_does_not_drift_and_an_anchor_heard_again_is_back(
    lab: Lab,
) -> None:
    anchored(lab, ["cache", "db"], days_ago=11)
    lab.journal.append([observation("t", labels=[f"new {n}"]) for n in range(50)])
    assert (drifted(lab).state, drifted(lab).left) == ("drifting", ["cache", "db"])
    lab.journal.append([observation("t", labels=["cache", "db"])])
    assert drifted(lab) == Drift("main", 1.0, "stable", 2, 2, [])
    lab.clock.advance(days=100)  # type: ignore[attr-defined]
    lab.theorex.prune()
    assert (drifted(lab).coverage, drifted(lab).anchors) == (
        0.0,
        2,
    ), "what was pruned is an anchor still"
    lab.agent("main").write("the cache is back")
    assert drifted(lab).coverage == 0.5


def test_an_erased_moment_is_no_moment(lab: Lab) -> None:
    done = lab.agent("main").write("a secret cache", observation_type="moment")
    assert drifted(lab).anchors == 1
    lab.erase(ids=[done.event_id])
    assert drifted(lab).anchors == 0


def checked(
    lab: Lab, context_pct: float, session: str = "s1", agent: str = "main"
) -> ContextCheck:
    return check_context(
        lab.home, session=session, context_pct=context_pct, agent=agent
    )


def used(lab: Lab, text: str, *, session: str = "s1", tool: str = "Bash") -> Event:
    body = {"tool": tool, "input": text, "response": "", "source": "tool"}
    event = new_event("tool_used", body, agent="main", session=session, at=NOW)
    lab.journal.append([event])
    return event


def asked(lab: Lab, text: str) -> Event:
    event = new_event(
        "prompt", {"text": text, "source": "user"}, agent="main", session="s1", at=NOW
    )
    lab.journal.append([event])
    return event


def summaries(lab: Lab) -> list[Event]:
    return [
        event
        for event in lab.journal.tail(0, kinds=["observation"])
        if event.body["type"] == "summary"
    ]


def test_the_monitor_fires_at_the_alert_and_then_every_twenty_calls(lab: Lab) -> None:
    used(lab, "the session cache")
    assert checked(lab, 49.9) == ContextCheck(False, 49.9, 1, None)
    first = checked(lab, 50)
    assert (first.fired, first.calls, first.written) == (True, 2, summaries(lab)[0].id)
    found = [checked(lab, 90) for _ in range(19)]
    assert [each.calls for each in found] == [*range(1, 20)]
    assert not any(each.fired for each in found)
    assert checked(lab, 10).fired is False, (
        "twenty calls have passed, but there is room again"
    )
    again = checked(lab, 60)
    assert (again.fired, again.calls, again.written) == (
        True,
        21,
        None,
    ), "nothing happened since, nothing is summed up"
    assert checked(lab, 60).calls == 1
    assert checked(lab, 60, session="s2").fired
    assert checked(lab, 60, agent="sage").fired


def test_recorded_tool_calls_count_too(lab: Lab) -> None:
    used(lab, "the session cache")
    assert checked(lab, 60).fired
    for number in range(19):
        used(lab, f"parser rule {number}")
        asked(lab, "a prompt is no call")
    assert (checked(lab, 60).fired, checked(lab, 60).calls) == (False, 19)
    used(lab, "one more")
    again = checked(lab, 60)
    assert (again.fired, again.calls) == (True, 20)
    assert len(summaries(lab)) == 2
    assert "parser rule" in summaries(lab)[1].body["text"]
    assert "session cache" not in summaries(lab)[1].body["text"], (
        "each summary begins where the last one ended"
    )


def test_the_summary_is_of_the_session_and_the_only_thing_written(lab: Lab) -> None:
    events = [
        used(lab, "fix the session cache"),
        used(lab, "x", tool="Edit"),
        asked(lab, "why is the\nsession cache stale?"),
    ]
    used(lab, "of another session", session="s2")
    before = lab.journal.last_seq()
    done = checked(lab, 62.5)
    (summary,) = summaries(lab)
    assert done.written == summary.id
    assert [event.kind for event in lab.journal.tail(before)] == [
        "observation",
        "context_checked",
    ]
    assert (
        summary.body["text"]
        == "Session s1 filled 62.5 % of its context in 2 tool calls; tools: Bash 1,"
        " Edit 1; about: session cache; asked last: why is the session cache stale?"
    )
    assert (summary.body["source"], summary.session) == ("tool", "s1")
    assert [concept[1] for concept in summary.body["concepts"]] == ["session cache"], (
        "its own words are no concepts"
    )
    assert list(summary.lineage) == [event.id for event in events]


def test_checks_at_once_fire_once(lab: Lab) -> None:
    used(lab, "the session cache")
    labs = [Lab(lab.folder, clock=FixedClock(NOW)) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda each: checked(each, 80), labs * 3))
    for each in labs:
        each.close()
    assert sum(each.fired for each in done) == 1
    assert len(summaries(lab)) == 1
    assert len(list(lab.journal.tail(0, kinds=["context_checked"]))) == 12
    assert sorted(each.calls for each in done) == [1, *range(1, 12)]


def test_after_an_erasure_the_monitor_starts_anew(lab: Lab) -> None:
    used(lab, "a secret cache")
    assert checked(lab, 80).fired
    lab.erase(agent="main")
    assert checked(lab, 80) == ContextCheck(True, 80.0, 1, None)
    assert checked(lab, 80).fired is False
