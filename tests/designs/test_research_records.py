"""Episodes and records of the research tiers."""

import json
import subprocess
import sys

import pytest
from faults import at_once
from hypothesis import given, settings
from hypothesis import strategies as st

from theorex_lab import FixedClock, InvalidInput, Lab
from theorex_lab.designs.research.records import RING

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(alphabet="aé日 .x"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(alphabet="abc", min_size=1), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.fixture
def lab(tmp_path):
    with Lab(tmp_path / "home", clock=FixedClock.at("2026-05-01T00:00:00Z")) as opened:
        yield opened


def test_a_record_keeps_its_id_and_its_first_time(lab):
    first = lab.research.remember(
        "theory.failed.bounds", ["Hoeffding"], tags=["bounds"], source_session="s1"
    )
    lab.clock.advance(days=1)
    assert (
        lab.research.remember("theory.failed.bounds", {"now": 2}, tags=["other"])
        == first
    )
    found = lab.research.record_of("theory.failed.bounds")
    assert (found.value, found.tags, found.record_id) == ({"now": 2}, ["other"], first)
    assert (found.updated_at - found.created_at).days == 1
    assert lab.research.recall_by_tag("bounds") == []
    assert [one.key for one in lab.research.recall_by_tag("other")] == [
        "theory.failed.bounds"
    ]


def test_what_is_deleted_is_gone_and_begins_anew(lab):
    lab.research.remember("a.b", 1)
    lab.clock.advance(days=1)
    assert lab.research.delete("a.b")
    assert not lab.research.delete("a.b")
    assert lab.research.recall("a.b") is None
    assert lab.research.search_keys("a") == []
    assert lab.research.all_records() == []
    assert len(lab.search("a.b", kinds=["record"])) == 0
    lab.research.remember("a.b", 2)
    found = lab.research.record_of("a.b")
    assert found.value == 2
    assert found.created_at == found.updated_at


@pytest.mark.parametrize(
    "value",
    [
        {1: "a"},
        {"x": object()},
        float("nan"),
        {"x": {1, 2}},
        b"bytes",
        "\ud800",
        [float("inf")],
    ],
)
def test_what_json_does_not_hold_is_refused_and_the_store_goes_on(lab, value):
    lab.research.remember("kept", 1)
    with pytest.raises(InvalidInput):
        lab.research.remember("bad", value)
    assert lab.research.recall("bad") is None
    lab.research.remember("after", [value is None])
    assert lab.research.search_keys() == ["after", "kept"]


def test_a_value_that_holds_itself_or_is_too_large_is_refused(lab):
    circle = []
    circle.append(circle)
    for value in (circle, "x" * 300_000):
        with pytest.raises(InvalidInput):
            lab.research.remember("bad", value)
    assert lab.research.all_records() == []


@pytest.mark.parametrize("key", ["", " ", "x" * 501, "a\nb", "a\0b", 7])
def test_a_key_outside_the_rules_is_refused(lab, key):
    with pytest.raises(InvalidInput, match="allowed are"):
        lab.research.remember(key, 1)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), VALUES | st.just("delete")), max_size=12
    )
)
def test_records_are_what_a_dictionary_would_be(written):
    expected = {}
    with Lab.temporary() as lab:
        for key, value in written:
            if value == "delete":
                assert lab.research.delete(key) == (key in expected)
                expected.pop(key, None)
            else:
                lab.research.remember(key, value)
                expected[key] = value
        assert {one.key: one.value for one in lab.research.all_records()} == expected
        assert lab.research.search_keys() == sorted(expected)
        assert lab.verify().ok


def test_records_of_a_project_stay_there(tmp_path):
    with Lab(tmp_path / "home") as lab:
        lab.research.remember("x", "everywhere")
        one = lab.home.in_project("one")
        from theorex_lab.designs.research import records

        records.keep_record(one, "x", "of one")
        assert records.recall_value(one, "x") == "of one"
        assert records.recall_value(lab.home.in_project("two"), "x") == "everywhere"


def test_the_ring_keeps_the_last_five_hundred_captures_of_all_kinds(lab):
    lab.agent("main").write("an observation")
    for number in range(RING + 20):
        lab.research.log_event(
            "theory" if number % 2 else "survey", f"event {number}", {"number": number}
        )
    recent = lab.research.recent_events(3)
    assert [entry.content for entry in recent] == [
        f"event {number}" for number in range(RING + 17, RING + 20)
    ]
    assert len(lab.research.recent_events(10_000)) == RING
    assert lab.research.recent_events(0) == []
    assert [
        entry.metadata["number"]
        for entry in lab.research.recent_events(2, agent_role="theory")
    ] == [
        RING + 17,
        RING + 19,
    ]
    assert [entry.content for entry in lab.research.search_events("EVENT 519")] == [
        "event 519"
    ]
    assert [
        entry.content for entry in lab.research.search_events(metadata={"number": 400})
    ] == ["event 400"]
    with pytest.raises(InvalidInput):
        lab.research.recent_events(-1)


def test_hook_captures_are_episodes_too(lab):
    lab.agent("sage").write("the cache is cold", session="s1")
    (entry,) = lab.research.recent_events()
    assert (entry.agent_role, entry.session_id, entry.content) == (
        "sage",
        "s1",
        "the cache is cold",
    )


@pytest.mark.parametrize(
    "bad",
    [
        {"agent_role": ""},
        {"content": " "},
        {"metadata": {"x": "y" * 9000}},
        {"metadata": {"x": object()}},
    ],
)
def test_an_episode_outside_the_rules_is_refused(lab, bad):
    with pytest.raises(InvalidInput):
        lab.research.log_event(**{"agent_role": "theory", "content": "x", **bad})
    assert lab.research.recent_events() == []


def test_a_secret_in_a_record_is_masked(lab):
    lab.research.remember("login", {"text": "password=hunter2hunter2"})
    assert lab.research.recall("login") == {"text": "password=[masked]"}


def _record(home, writer):
    with Lab(home) as lab:
        for number in range(20):
            lab.research.remember(f"own.{writer}.{number}", number)
            lab.research.remember("shared", [writer, number])


def test_eight_processes_record_at_once_and_lose_nothing(tmp_path):
    home = str(tmp_path / "home")
    writers = [(home, str(number)) for number in range(8)]
    assert at_once(_record, *writers) == [0] * 8
    with Lab(home) as lab:
        assert len(lab.research.search_keys("own.")) == 160
        who, last = lab.research.recall("shared")
        assert who in "01234567"
        assert last == 19
        assert lab.verify().ok
        assert json.dumps([one.to_dict() for one in lab.research.all_records()])


_FOREVER = """
import sys
from theorex_lab import Lab
with Lab(sys.argv[1]) as lab:
    number = 0
    while True:
        lab.research.remember("count", number)
        print(number, flush=True)
        number += 1
"""


def test_what_was_told_before_a_kill_is_kept(tmp_path):
    home = str(tmp_path / "home")
    with subprocess.Popen(
        [sys.executable, "-c", _FOREVER, home], stdout=subprocess.PIPE, text=True
    ) as running:
        last = [int(running.stdout.readline()) for _ in range(30)][-1]
        running.kill()
    with Lab(home) as lab:
        assert lab.research.recall("count") >= last
        assert lab.verify().ok
        lab.research.remember("count", "after")
        assert lab.research.recall("count") == "after"
