"""Traces: what belongs to which, what is open, lost or erased, and the statistics over
many.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import DAY, NOW, erase
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from theorex_lab import Event, FixedClock, InvalidInput, new_event
from theorex_lab.core.clock import to_iso
from theorex_lab.core.ids import derived_event_id
from theorex_lab.dispatch.traces import Traces, trace, trace_stats
from theorex_lab.journal.erasing import select
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.view import Views, differing_columns, fold_into, verify

TASK = "why does the parser drop the last line?"


def started(
    trace_id: str,
    *,
    agent: str = "main",
    session: str = "",
    at: int = NOW,
    **changed: Any,
) -> Event:
    body = {
        "trace_id": trace_id,
        "task": TASK,
        "query_type": "code",
        "tags": ["code", "parser"],
        "model": "qwen3-32b",
        "reasons": ["heuristic: code"],
        "context_pct": 60.0,
        "query_tokens": 12,
        "outcome_id": "outcome-1",
        "owner": None,
        "lost_after_seconds": 0.0,
        **changed,
    }
    event_id = derived_event_id("trace started", trace_id)
    return new_event(
        "trace_started", body, agent=agent, session=session, at=at, event_id=event_id
    )


def ended(
    trace_id: str,
    *,
    agent: str = "main",
    session: str = "",
    at: int = NOW + 2_000_000,
    **changed: Any,
) -> Event:
    body = {
        "trace_id": trace_id,
        "query_type": "code",
        "success": True,
        "lost": False,
        "model": "ministral-3b",
        "tokens": 90,
        "prompt_tokens": 70,
        "completion_tokens": 20,
        "latency_ms": 812.5,
        "error": None,
        "response": "the buffer is not flushed",
        "attempts": [
            {
                "model": "qwen3-32b",
                "success": False,
                "latency_ms": None,
                "tokens": None,
                "cost": None,
                "error": "silent",
            }
        ],
        **changed,
    }
    return new_event(
        "trace_ended",
        body,
        agent=agent,
        session=session,
        at=at,
        lineage=[derived_event_id("trace started", trace_id)],
        event_id=derived_event_id("trace ended", trace_id),
    )


def tool(
    name: str,
    *,
    agent: str = "main",
    session: str = "",
    at: int = NOW + 1_000_000,
    **changed: Any,
) -> Event:
    body = {
        "tool": name,
        "input": "cat a.py",
        "response": "1 line",
        "source": "tool",
        **changed,
    }
    return new_event("tool_used", body, agent=agent, session=session, at=at)


@pytest.fixture
def views(tmp_path: Path) -> Iterator[Views]:
    journal = SqliteJournal(tmp_path / "theorex.db", clock=FixedClock(NOW + DAY))
    yield Views(journal, tmp_path / "views")
    journal.close()


def tools_of(views: Views, *trace_ids: str) -> list[list[str]]:
    return [
        [event["tool"] for event in trace(views, each).events] for each in trace_ids
    ]


def test_a_whole_trace(views: Views) -> None:
    views.journal.append([started("t-1"), tool("Read"), ended("t-1")])
    found = trace(views, "t-1")
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == {
        "id": "t-1",
        "agent_id": "main",
        "model": "ministral-3b",
        "start_time": to_iso(NOW),
        "end_time": to_iso(NOW + 2_000_000),
        "total_tokens": 90,
        "prompt_tokens": 70,
        "completion_tokens": 20,
        "latency_ms": 812.5,
        "success": True,
        "lost": False,
        "unavailable": False,
        "error": None,
        "tags": ["code", "parser"],
        "query_type": "code",
        "task": TASK,
        "response": "the buffer is not flushed",
        "events": [
            {
                "tool": "Read",
                "input": "cat a.py",
                "response": "1 line",
                "timestamp": to_iso(NOW + 1_000_000),
            }
        ],
        "outcome_id": "outcome-1",
        "attempts": ended("t-1").body["attempts"],
        "reasons": ["heuristic: code"],
    }


def test_an_open_trace_knows_its_start_only(views: Views) -> None:
    views.journal.append(
        [started("t-1", outcome_id=None), started("t-2", model=None), ended("t-1")]
    )
    found = trace(views, "t-2")
    assert (found.success, found.end_time, found.model, found.lost, found.response) == (
        None,
        None,
        "",
        False,
        "",
    )
    assert list(views.get(Traces).open) == ["t-2"]


def test_a_lost_trace(views: Views) -> None:
    lost = {
        "success": False,
        "lost": True,
        "model": "",
        "latency_ms": None,
        "tokens": None,
        "error": "the process ended",
    }
    views.journal.append([started("t-1"), ended("t-1", **lost)])
    found = trace(views, "t-1")
    assert (found.lost, found.success, found.latency_ms, found.error) == (
        True,
        False,
        None,
        "the process ended",
    )
    assert list(views.get(Traces).open) == []


def test_overlapping_calls_of_one_agent(views: Views) -> None:
    views.journal.append(
        [
            started("t-1"),
            started("t-2"),
            ended("t-2", response="second"),
            ended("t-1", response="first"),
        ]
    )
    assert [trace(views, each).response for each in ("t-1", "t-2")] == [
        "first",
        "second",
    ]


def test_an_end_without_start_adds_nothing(views: Views) -> None:
    views.journal.append([ended("t-1")])
    assert len(views.get(Traces).traces) == 0
    with pytest.raises(InvalidInput, match="there are no traces yet"):
        trace(views, "t-1")


def test_a_tool_event_belongs_to_the_trace_that_it_names(views: Views) -> None:
    views.journal.append(
        [
            started("t-1"),
            started("t-2", agent="sage"),
            tool("named", trace_id="t-2"),
            ended("t-2", agent="sage"),
            tool("late", trace_id="t-2"),
            tool("unknown", trace_id="t-3"),
            started("t-3"),
            tool("empty", trace_id=""),
        ]
    )
    assert tools_of(views, "t-1", "t-2", "t-3") == [[], ["named", "late"], ["empty"]]


def test_a_tool_event_without_id_belongs_to_the_newest_open_trace_of_its_agent(
    views: Views,
) -> None:
    views.journal.append(
        [
            tool("before"),
            started("t-1"),
            tool("1"),
            started("t-2"),
            tool("2"),
            tool("s", agent="sage"),
        ]
    )
    views.journal.append([ended("t-2"), tool("1 again"), ended("t-1"), tool("after")])
    assert tools_of(views, "t-1", "t-2") == [["1", "1 again"], ["2"]]
    assert len(views.get(Traces).tools) == 3


def test_a_session_tells_apart_where_both_have_one(views: Views) -> None:
    views.journal.append(
        [started("none"), started("a", session="a"), started("b", session="b")]
    )
    views.journal.append(
        [tool("in a", session="a"), tool("in c", session="c"), tool("anywhere")]
    )
    assert tools_of(views, "none", "a", "b") == [["in c"], ["in a"], ["anywhere"]]


def test_a_second_start_changes_nothing(views: Views) -> None:
    views.journal.append(
        [
            started("t-1"),
            started("t-1", task="another")._replace(id="another id"),
            tool("Read"),
        ]
    )
    assert trace(views, "t-1").task == TASK
    assert len(views.get(Traces).traces) == 1


def test_an_unknown_id_names_the_nearest(views: Views) -> None:
    views.journal.append([started(f"parse-{number}") for number in range(30)])
    with pytest.raises(
        InvalidInput,
        match=r"'parse17', which is not in the journal; the nearest is parse-17$",
    ):
        trace(views, "parse17")
    with pytest.raises(InvalidInput, match="''"):
        trace(views, "")


def test_an_erased_trace_is_said_to_be_erased(views: Views) -> None:
    views.journal.append(
        [
            started("t-1"),
            tool("1"),
            ended("t-1"),
            started("t-2"),
            tool("2"),
            ended("t-2"),
        ]
    )
    assert len(tools_of(views, "t-1")[0]) == 1
    for erased in (started("t-1").id, ended("t-2").id):
        erase(views.journal, select(views.journal, ids=[erased]), agent="main", at=NOW)
    for trace_id in ("t-1", "t-2"):
        with pytest.raises(InvalidInput, match=f"'{trace_id}' was erased"):
            trace(views, trace_id)
    assert verify(views, [Traces]).ok


def test_an_erased_tool_event_is_left_out(views: Views) -> None:
    secret = tool("secret")
    views.journal.append([started("t-1"), secret, tool("plain"), ended("t-1")])
    erase(views.journal, [secret.id], agent="main", at=NOW)
    assert tools_of(views, "t-1") == [["plain"]]


def test_many_traces_are_found_through_their_sorted_keys() -> None:
    view = Traces()
    count = 3_000
    for number in range(count):
        view.apply([started(f"trace {number}")._replace(seq=2 * number + 1)])
        view.apply([ended(f"trace {number}")._replace(seq=2 * number + 2)])
        if number % 500 == 7:
            assert view.row("trace 3") == 3
            assert view.row(f"trace {number + 1}") is None
    assert [view.row(f"trace {number}") for number in range(count)] == list(
        range(count)
    )
    reopened = Traces()
    reopened.load(view.columns())
    assert [reopened.row(f"trace {number}") for number in (0, count - 1)] == [
        0,
        count - 1,
    ]
    assert reopened.open == {}


def test_no_object_is_kept_for_an_event() -> None:
    """What a view from a snapshot holds beside its arrays does not grow with the
    traces.
    """

    def held(value: object) -> int:
        parts = vars(value).values() if hasattr(value, "__dict__") else value
        inner = parts.values() if isinstance(parts, dict) else parts
        nested = [
            each
            for each in inner
            if isinstance(each, dict | list | tuple) or hasattr(each, "__dict__")
        ]
        return len(list(inner)) + sum(map(held, nested))

    sizes = []
    for count in (10, 1_000):
        view = Traces()
        reopened = Traces()
        for number in range(count):
            view.apply(
                [started(f"trace {number}"), tool("Read"), ended(f"trace {number}")]
            )
        reopened.load(view.columns())
        sizes.append(held(reopened))
    assert sizes[0] == sizes[1]


def statistics_stream() -> list[Event]:
    stream = []
    for number in range(20):
        stream += [
            started(f"q {number}"),
            ended(
                f"q {number}",
                success=number < 15,
                latency_ms=100.0 * number if number else None,
                tokens=None,
            ),
        ]
    lost = {"lost": True, "success": False, "latency_ms": None, "tokens": None}
    stream += [started("lost"), ended("lost", **lost), started("going on")]
    stream += [
        started("m", query_type="math", agent="sage", at=NOW - DAY),
        ended("m", agent="sage", model="", **lost),
    ]
    return stream


def test_statistics_golden(views: Views) -> None:
    views.journal.append(statistics_stream())
    found = trace_stats(views)
    code, maths = found
    assert list(code.values())[:4] == ["code", "ministral-3b", 20, 0.75]
    assert (code["ci_low"], code["ci_high"]) == pytest.approx(
        (0.53130, 0.88814), abs=1e-4
    )
    assert (code["lost"], code["median_latency_ms"], code["p95_latency_ms"]) == (
        1,
        1_000.0,
        pytest.approx(1_810.0),
    )
    assert math.isnan(code["mean_tokens"])
    assert (code["mean_prompt_tokens"], code["mean_completion_tokens"]) == (70.0, 20.0)
    assert list(maths.values())[:3] == ["math", "", 0]
    assert (maths["lost"], maths["ci_low"], maths["ci_high"]) == (1, 0.0, 1.0)
    assert found.open == 1
    assert (
        json.loads(json.dumps(found.to_dict(), allow_nan=False))[1]["success_rate"]
        is None
    )
    assert list(found.frame.columns) == [
        "query_type",
        "model",
        "n",
        "success_rate",
        "ci_low",
        "ci_high",
        "lost",
        "unavailable",
        "median_latency_ms",
        "p95_latency_ms",
        "mean_tokens",
        "mean_prompt_tokens",
        "mean_completion_tokens",
    ]
    assert "ministral-3b" in found._repr_html_()


def test_statistics_of_an_agent(views: Views) -> None:
    assert list(trace_stats(views)) == []
    views.journal.append(statistics_stream())
    assert [row["query_type"] for row in trace_stats(views, agent="sage")] == ["math"]
    assert trace_stats(views, agent="sage").open == 0
    assert list(trace_stats(views, agent="nobody")) == []


names = st.sampled_from(["t-1", "t-2", "t-3", "t-4"])
agents = st.sampled_from(["main", "sage"])
sessions = st.sampled_from(["", "a", "b"])
streams = st.lists(
    st.one_of(
        st.builds(
            started,
            names,
            agent=agents,
            session=sessions,
            query_type=st.sampled_from(["code", "math"]),
        ),
        st.builds(
            ended,
            names,
            agent=agents,
            success=st.booleans(),
            lost=st.booleans(),
            latency_ms=st.none() | st.floats(0, 1e5),
            tokens=st.none() | st.integers(0, 9_000),
        ),
        st.builds(
            tool,
            st.just("Read"),
            agent=agents,
            session=sessions,
            trace_id=st.just("") | names,
        ),
        st.builds(tool, st.just("Read"), agent=agents, session=sessions),
    ),
    max_size=30,
    unique_by=lambda event: event.id,
)


def attributed(stream: Sequence[Event]) -> dict[str, tuple[bool, int]]:
    """By trace id: whether it ended, and its tool events; a plain model of the view."""
    opened: dict[str, Event] = {}
    found: dict[str, tuple[bool, int]] = {}
    for event in stream:
        trace_id = event.body.get("trace_id", "")
        if event.kind == "trace_started":
            opened[trace_id] = event
            found[trace_id] = (False, 0)
        elif event.kind == "trace_ended":
            if opened.pop(trace_id, None):
                found[trace_id] = (True, found[trace_id][1])
        else:
            if not trace_id:
                own = [each for each in opened.values() if each.agent == event.agent]
                own = [
                    each
                    for each in own
                    if not (each.session and event.session)
                    or each.session == event.session
                ]
                trace_id = own[-1].body["trace_id"] if own else ""
            if trace_id in found:
                found[trace_id] = (found[trace_id][0], found[trace_id][1] + 1)
    return found


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(stream=streams, cuts=st.lists(st.integers(0, 30), max_size=4))
def test_the_view_equals_a_plain_model_whatever_the_cuts(
    stream: list[Event], cuts: list[int]
) -> None:
    numbered = [event._replace(seq=seq) for seq, event in enumerate(stream, start=1)]
    whole = Traces()
    cut = Traces()
    whole.apply(numbered)
    for start, end in pairwise(
        sorted({0, len(stream), *(each for each in cuts if each < len(stream))})
    ):
        reopened = Traces()
        cut.apply(numbered[start:end])
        reopened.load(cut.columns())
        cut = reopened
    assert differing_columns(whole, cut) == []
    assert whole.open == cut.open
    rows = {whole.ids[row]: row for row in range(len(whole.ids))}
    found = {
        each: (bool(whole.traces["ended"][row]), len(whole.tool_seqs(row)))
        for each, row in rows.items()
    }
    assert found == attributed(stream)


def test_the_view_follows_the_journal(views: Views) -> None:
    stream = statistics_stream()
    views.journal.append(stream[:21])
    assert views.snapshot(views.get(Traces))
    views.journal.append(stream[21:])
    again = Views(views.journal, views.folder)
    fresh = Traces()
    fold_into(fresh, views.journal, views.journal.last_seq())
    assert differing_columns(again.get(Traces), fresh) == []
    assert np.array_equal(
        np.diff(fresh.traces["started"]) > 0, np.ones(len(fresh.traces) - 1, bool)
    )
