"""A view equals the fold of the journal, whatever the batches, snapshots and processes
in between.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import DAY, NOW, erase, observation
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from theorex_lab import Event, FixedClock, Lab, installed, new_event
from theorex_lab.core.ids import concept_id
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.flash import Flash
from theorex_lab.designs.theorex.stages import SharedWeb, ShortTerm
from theorex_lab.dispatch.tasks import Tasks
from theorex_lab.dispatch.traces import Traces
from theorex_lab.evolution.outcomes import Outcomes
from theorex_lab.journal.columns import Names, Parts, Strings, Table
from theorex_lab.journal.directory import directory_view
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.view import (
    View,
    Views,
    differing_columns,
    fold_into,
    verify,
)
from theorex_lab.memory.contract import item_view
from theorex_lab.memory.decay import Tier
from theorex_lab.memory.evidence import EvidenceView

VIEWS = (
    Axon,
    item_view(installed()),
    Flash,
    ShortTerm,
    SharedWeb,
    Traces,
    EvidenceView,
    Tasks,
    Outcomes,
)
LABELS = ["cache", "cache stampede", "ttl", "postgres", "парсер", "缓存"]
AGENTS = ["main", "sage"]

observations = st.builds(
    observation,
    st.sampled_from(
        ["the cache was stale", "TTL set to 30 s", "Парсер упал", "缓存 失效"]
    ),
    labels=st.lists(st.sampled_from(LABELS), max_size=4, unique=True),
    agent=st.sampled_from(AGENTS),
    at=st.integers(-200, 0).map(lambda day: NOW + day * DAY),
    observation_type=st.sampled_from(["decision", "trace_fix"]),
    source=st.sampled_from(["user", "agent", "tool"]),
    tags=st.lists(st.sampled_from(["x", "y"]), max_size=2, unique=True),
)
concept_ids = st.lists(st.sampled_from(LABELS).map(concept_id), max_size=3, unique=True)
scans = st.builds(
    lambda agent, tier, concepts, pair: new_event(
        "scan",
        {
            "tiers": {agent: {tier.name: concepts}},
            "dropped_links": {agent: [pair] if len(pair) == 2 else []},
            "policy": {},
        },
        agent=agent,
        at=NOW,
    ),
    st.sampled_from(AGENTS),
    st.sampled_from([Tier.SLEEPING, Tier.MILD]),
    concept_ids,
    concept_ids.map(lambda ids: ids[:2]),
)
prunes = st.builds(
    lambda agent, concepts: new_event(
        "prune",
        {"concepts": {agent: [{"concept_id": each} for each in concepts]}},
        agent=agent,
        at=NOW,
    ),
    st.sampled_from(AGENTS),
    concept_ids,
)
sessions = st.sampled_from(["s1", "s2"])
hooked = st.builds(
    lambda kind, agent, session: new_event(
        kind,
        {
            "tool": "Bash",
            "input": "cache",
            "response": "",
            "text": "cache",
            "message": "cache",
            "source": "tool",
        },
        agent=agent,
        session=session,
        at=NOW,
    ),
    st.sampled_from(["tool_used", "prompt", "turn_ended"]),
    st.sampled_from(AGENTS),
    sessions,
)
flushes = st.builds(
    lambda agent, session, upto: new_event(
        "flushed", {"upto": upto}, agent=agent, session=session, at=NOW
    ),
    st.sampled_from(AGENTS),
    sessions,
    st.integers(0, 40),
)
kept = st.builds(
    lambda agent, session, label, day: new_event(
        "short_term",
        {
            "concepts": [[concept_id(label), label, label, 2]],
            "score": 0.75,
            "source": "tool",
            "weight": 0.7,
        },
        agent=agent,
        session=session,
        at=NOW - day * DAY,
    ),
    st.sampled_from(AGENTS),
    sessions,
    st.sampled_from(LABELS),
    st.integers(0, 20),
)
graduations = st.builds(
    lambda agent, label, days: new_event(
        "graduated",
        {
            "concept_id": concept_id(label),
            "label": label,
            "surface": label,
            "times": [NOW - day * DAY for day in days],
            "counts": [1] * len(days),
            "days": days,
            "upto": NOW,
            "source": "tool",
            "weight": 0.7,
        },
        agent=agent,
        at=NOW,
    ),
    st.sampled_from(AGENTS),
    st.sampled_from(LABELS),
    st.lists(st.integers(0, 14), min_size=1, max_size=9),
)
promotions = st.builds(
    lambda agent, ids, count: new_event(
        "promoted",
        {
            "concepts": [
                {
                    "concept_id": each,
                    "count": count,
                    "fix_count": 0,
                    "first_seen": NOW,
                    "last_seen": NOW,
                    "trust": 2,
                    "source_weight": 0.7,
                }
                for each in ids
            ],
            "links": [[*sorted(ids[:2]), count, NOW]] if len(ids) > 1 else [],
        },
        agent=agent,
        at=NOW,
    ),
    st.sampled_from(AGENTS),
    concept_ids,
    st.integers(1, 9),
)
traces = st.sampled_from(["t1", "t2", "t3"])
called = st.builds(
    lambda agent, session, trace, outcome: new_event(
        "trace_started",
        {
            "trace_id": trace,
            "task": "mend the cache",
            "query_type": "code",
            "tags": ["code"],
            "model": "small",
            "reasons": [],
            "context_pct": 60,
            "query_tokens": 4,
            "outcome_id": outcome,
            "owner": {"lock": "o"},
        },
        agent=agent,
        session=session,
        at=NOW,
    ),
    st.sampled_from(AGENTS),
    sessions,
    traces,
    st.none() | st.sampled_from(["o1", "o2"]),
)
answered = st.builds(
    lambda agent, trace, success, latency: new_event(
        "trace_ended",
        {
            "trace_id": trace,
            "query_type": "code",
            "success": success,
            "lost": latency is None and not success,
            "unavailable": False,
            "model": "small",
            "tokens": 7,
            "prompt_tokens": 5,
            "completion_tokens": 2,
            "latency_ms": latency,
            "error": None,
            "response": "done",
            "attempts": [
                {
                    "model": "large",
                    "success": False,
                    "latency_ms": None,
                    "tokens": None,
                    "cost": None,
                    "error": "gone",
                    "unavailable": True,
                    "prompt_tokens": None,
                    "completion_tokens": None,
                },
                {
                    "model": "small",
                    "success": success,
                    "latency_ms": latency,
                    "tokens": 7,
                    "cost": 0.1,
                    "error": None,
                    "unavailable": False,
                    "prompt_tokens": 5,
                    "completion_tokens": 2,
                },
            ],
        },
        agent=agent,
        at=NOW,
    ),
    st.sampled_from(AGENTS),
    traces,
    st.booleans(),
    st.none() | st.sampled_from([10.5, 900.0]),
)
concluded = st.builds(
    lambda number, agent, success, explicit, thumbs, tags: new_event(
        "outcome",
        {
            "decision": "raised the TTL",
            "result": "stale",
            "success": success,
            "tags": tags,
            "concepts": [],
            "explicit": explicit,
            "thumbs": thumbs,
            "source": "agent",
        },
        agent=agent,
        at=NOW,
        event_id=f"o{number}",
    ),
    st.integers(1, 4),
    st.sampled_from(AGENTS),
    st.booleans(),
    st.none() | st.floats(0, 1),
    st.none() | st.sampled_from([0.0, 1.0]),
    st.lists(st.sampled_from(["x", "y"]), max_size=2, unique=True),
)
looked_back = st.builds(
    lambda kind, outcome, judge, success: new_event(
        kind,
        {
            "outcome_id": outcome,
            "judge": judge,
            "success": success,
            "explicit": None,
            "thumbs": None,
        },
        agent="main",
        at=NOW,
    ),
    st.sampled_from(["outcome_scored", "reviewed"]),
    st.sampled_from(["o1", "o2", "o3"]),
    st.floats(0, 1),
    st.sampled_from([None, True, False]),
)
streams = st.lists(
    st.one_of(
        observations,
        observations,
        scans,
        prunes,
        hooked,
        flushes,
        kept,
        graduations,
        promotions,
        called,
        answered,
        concluded,
        looked_back,
    ),
    max_size=40,
    unique_by=lambda event: event.id,
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    stream=streams,
    cuts=st.lists(st.integers(0, 40), max_size=5),
    erased=st.none() | st.integers(0, 39),
    kept_views=st.sets(st.sampled_from(range(len(VIEWS)))),
    together=st.booleans(),
)
def test_a_view_equals_the_fold_from_nothing(
    tmp_path_factory,
    stream: list[Event],
    cuts: list[int],
    erased: int | None,
    kept_views: set[int],
    together: bool,
) -> None:
    home = tmp_path_factory.mktemp("home")
    journal = SqliteJournal(home / "theorex.db", clock=FixedClock(NOW))
    bounds = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    views = Views(journal, home / "views")
    for start, end in pairwise(bounds):
        journal.append(stream[start:end])
        for number in kept_views:
            assert views.snapshot(views.get(VIEWS[number]))
        views = Views(journal, home / "views")
    if erased is not None and erased < len(stream):
        erase(journal, [stream[erased].id], agent="main", at=NOW)
    if together:
        views.open_together(VIEWS)
    for kind in VIEWS:
        fresh = kind()
        fold_into(fresh, journal, journal.last_seq())
        assert differing_columns(views.get(kind), fresh) == []
    report = verify(views, VIEWS)
    assert report.ok, report.problems
    assert report.events == len(stream) + (erased is not None and erased < len(stream))
    journal.close()


def _filled(home: Path) -> Views:
    journal = SqliteJournal(home / "theorex.db", clock=FixedClock(NOW))
    journal.append(
        [observation(f"text {n}", labels=[f"concept {n}", "cache"]) for n in range(30)]
    )
    views = Views(journal, home / "views")
    for kind in VIEWS:
        assert views.snapshot(views.get(kind))
    return Views(journal, home / "views")


def test_views_that_are_opened_together_are_read_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever their snapshots hold, and also where one of them cannot take it in."""
    views = _filled(tmp_path)
    views.journal.append([observation("one more", labels=["late"])])
    shutil.rmtree(tmp_path / "views" / Axon.name)
    asked: list[tuple[int, int]] = []
    tail = SqliteJournal.tail

    def counted(self: SqliteJournal, after: int, **others: Any) -> Any:
        if "observation" in (others["kinds"] or ()):
            asked.append((after, others["upto"]))
        return tail(self, after, **others)

    def refuse(_view: Axon, _events: Sequence[Event]) -> None:
        raise KeyError("no such column")

    monkeypatch.setattr(SqliteJournal, "tail", counted)
    views.open_together(VIEWS)
    # The stretches follow each other, so that no event is read twice.
    assert asked == [(0, 30), (30, 31)]
    assert {views.get(kind).seq for kind in VIEWS} == {31}
    assert asked == [(0, 30), (30, 31)], "all are current"
    views = Views(views.journal, tmp_path / "others")
    with monkeypatch.context() as patched:
        patched.setattr(Axon, "apply", refuse)
        views.open_together(VIEWS)
    assert views.get(Traces).seq == 31
    assert len(views.get(Axon).labels) == 32, "folded again, from nothing"


def test_a_status_opens_the_views_that_it_reads_in_one_pass(tmp_path: Path) -> None:
    with Lab(tmp_path, clock=FixedClock(NOW)) as lab:
        lab.agent("main").write("The till rounds half up")
    with Lab(tmp_path, clock=FixedClock(NOW)) as lab:
        folded: list[type[View]] = []
        together: list[type[View]] = []
        get = lab.views.get
        open_together = lab.views.open_together

        def noted_get(kind: type[View], **others: Any) -> View:
            folded.append(kind)
            return get(kind, **others)

        def noted_open(kinds: Iterable[type[View]]) -> None:
            together.extend(kinds)
            open_together(together)

        lab.views.get = noted_get  # type: ignore[method-assign, assignment]
        lab.views.open_together = noted_open  # type: ignore[method-assign]
        lab.status()
    # The directory, of which the others are folded, is read by pages of heads.
    directory = {directory_view()}
    assert {*folded} - directory == {*together} - directory


def test_a_snapshot_is_used_and_only_the_tail_is_folded(
    tmp_path: Path, monkeypatch
) -> None:
    views = _filled(tmp_path)
    views.journal.append([observation("one more", labels=["late"])])
    folded: list[int] = []
    fold = Axon.apply
    monkeypatch.setattr(
        Axon,
        "apply",
        lambda self, events: (folded.append(len(events)), fold(self, events))[1],
    )
    axon = views.get(Axon)
    assert folded == [1]
    assert axon.labels[len(axon.labels) - 1] == "late"
    views.get(Axon)
    assert folded == [1], "nothing new, nothing folded"


def test_a_snapshot_with_a_flipped_bit_is_passed_over(tmp_path: Path) -> None:
    views = _filled(tmp_path)
    for file in (tmp_path / "views").glob("*/*/*.npy"):
        content = bytearray(file.read_bytes())
        if len(content) > 128:
            content[-1] ^= 1
            file.write_bytes(content)
    assert verify(views, VIEWS).ok
    assert len(views.get(Axon).rows_of()) == 31


def test_a_snapshot_of_other_code_or_without_manifest_is_passed_over(
    tmp_path: Path,
) -> None:
    views = _filled(tmp_path)
    folder = next((tmp_path / "views" / "axon").glob("[0-9]*-*"))
    folder.rename(folder.with_name("0-000000000030"))
    (next((tmp_path / "views" / "items").glob("*-*")) / "manifest.json").unlink()
    assert verify(views, VIEWS).ok


def test_a_snapshot_of_another_journal_is_passed_over(tmp_path: Path) -> None:
    _filled(tmp_path).journal.close()
    for file in tmp_path.glob("theorex.db*"):
        file.unlink()
    moved = tmp_path / "views"
    moved.rename(tmp_path / "kept")
    journal = SqliteJournal(tmp_path / "theorex.db", clock=FixedClock(NOW))
    (tmp_path / "kept").rename(moved)
    journal.append([observation("another life", labels=["other"]) for _ in range(40)])
    views = Views(journal, moved)
    assert list(views.get(Axon).labels) == ["other"]
    assert verify(views, VIEWS).ok


def test_old_snapshots_are_removed_and_none_is_written_for_a_short_tail(
    tmp_path: Path,
) -> None:
    journal = SqliteJournal(tmp_path / "theorex.db", clock=FixedClock(NOW))
    views = Views(journal, tmp_path / "views", snapshot_after_events=10)
    journal.append([observation("short")] * 0 + [observation(f"{n}") for n in range(9)])
    views.get(Axon)
    assert not list((tmp_path / "views").glob("axon/[0-9]*-*"))
    for _ in range(5):
        journal.append([observation(f"{n}") for n in range(10)])
        views.get(Axon)
    assert len(list((tmp_path / "views").glob("axon/[0-9]*-*"))) == 2


def test_verification_finds_a_view_that_differs(tmp_path: Path) -> None:
    views = _filled(tmp_path)
    views.get(Axon).concepts["count"][3] += 1
    report = verify(views, VIEWS)
    assert not report.ok
    assert report.views["axon"] == ["concepts.count"]


def test_unknown_kinds_are_skipped_and_counted(tmp_path: Path) -> None:
    views = _filled(tmp_path)
    event = Event(0, "unknown-1", NOW, "main", "", "dreamt", (), {"v": 7})
    views.journal.append([event])
    report = verify(views, VIEWS)
    assert report.ok
    assert report.kinds == {"observation": 30, "dreamt": 1}


def test_the_golden_journal_still_folds_to_the_same_state(tmp_path: Path) -> None:
    """A journal written by an earlier release; its state must never change, whatever
    becomes of the events.
    """
    folder = Path(__file__).parents[1] / "golden"
    journal = SqliteJournal(tmp_path / "theorex.db", clock=FixedClock(NOW))
    lines = (folder / "journal-0.1.jsonl").read_text(encoding="utf-8").splitlines()
    journal.append([Event(0, *json.loads(line)) for line in lines])
    axon = Views(journal, tmp_path / "views").get(Axon)
    expected = json.loads((folder / "axon-0.1.json").read_text(encoding="utf-8"))
    assert list(axon.labels) == expected["labels"]
    for name in ("count", "fix_count", "last_seen", "tier", "alive"):
        assert axon.concepts[name].tolist() == expected[name], name
    assert np.allclose(axon.concepts["decayed"], expected["decayed"])
    assert axon.links["count"].tolist() == expected["links"]


class _Inner(Parts):
    def __init__(self) -> None:
        self._ids = Names()


class _Outer(Parts):
    def __init__(self) -> None:
        self.labels = Strings()
        self.inner = _Inner()
        self.rows = Table(count="i8")
        self.other = [1]


def test_parts_are_stored_by_the_names_of_their_attributes_and_taken_over_again() -> (
    None
):
    one = _Outer()
    other = _Outer()
    one.labels.append("cache")
    one.inner._ids.number("a")
    one.rows.grow(1)
    other.load(one.columns())
    assert [*one.columns()] == [
        "labels.blob",
        "labels.offsets",
        "ids.blob",
        "ids.offsets",
        "rows.count",
    ]
    assert (other.labels[0], other.inner._ids.find("a"), len(other.rows)) == (
        "cache",
        0,
        1,
    )
