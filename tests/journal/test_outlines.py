"""Outlines of events, and events of projects, as SQLite chooses them from the rows."""

import json
import sqlite3
from collections import Counter

import pytest

from theorex_lab import Lab
from theorex_lab.core.clock import FixedClock
from theorex_lab.core.errors import CorruptJournal
from theorex_lab.evolution.holdings import status_views
from theorex_lab.journal.base import is_wanted
from theorex_lab.journal.event import new_event
from theorex_lab.journal.identity import merge_into
from theorex_lab.journal.outlines import OUTLINED_KIND, outline_of
from theorex_lab.journal.sqlite.inserting import INSERT
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.stored import checksum, row_checksum
from theorex_lab.journal.view import (
    differing_columns,
    fold_into,
    fold_together,
)

NOW = 1_770_000_000_000_000
CALL = {"tool": "Read", "source": "tool", "input": "a.py", "response": "x" * 50}
# What stands in a journal's file, but is written by no release, or by the first ones.
ODD_BODIES = (
    '{"v":2,"tool":"Read","source":"tool","input":null}',
    '{"v":2,"tool":"Read","source":"tool","input":7,"input":"a"}',
    '{"v":2,"tool":"Read","source":"tool","input":"a","input":7}',
    '{"v":2,"tool":"Read","source":"tool","\\u0069nput":"a"}',
    '{"v":2,"tool":"Read","source":"tool","response":"\\ud800"}',
    '{"v":2,"tool":"Read","source":"tool","response":"\\ud83d\\ude00","project":"p1"}',
    '{"v":2,"tool":"Read","source":"tool","paths":{"read":["\\ud800"]}}',
    '{"v":2,"tool":"Read","source":"tool","paths":{"read":[7]},"input":"a"}',
    '{"v":2,"tool":"Read","source":"nobody","input":"a"}',
    '{"v":2,"tool":"Read","source":"tool","project":"no project","input":"a"}',
    '{"v":2,"tool":"Read","source":"tool","project":"p1","project":"p2"}',
    '{"v":2,"tool":"Read","source":"tool","project":7}',
    '{"v":2.0,"tool":"Read","source":"tool","project":"p2"}',
    '{"v":true,"tool":"Read","source":"tool","project":"p2"}',
    '{"v":1,"tool":"Read","input":"a","project":"p2"}',
    '{"tool":"Read","source":"tool","project":"p2"}',
    '{"v":2,"tool":"Read","source":"tool","ok":NaN}',
    '{"erased":1,"hmac_sha256":"0"}',
    "[]",
    "7",
)


def put(journal, body, *, kind=OUTLINED_KIND, lineage="[]", covers_seq=True):
    """Write a row with its checksum, whatever its body; return its seq."""
    seq = journal.last_seq() + 1
    row = (seq, f"odd-{seq}", NOW, "main", "s", kind, lineage, body)
    crc = row_checksum(*row) if covers_seq else checksum(*row[1:])
    with sqlite3.connect(journal.path) as connection:
        connection.execute(INSERT, (*row, crc))
    connection.close()
    return seq


def calls(n, *, n_projects=2):
    events = []
    for number in range(n):
        body = CALL | {"project": f"p{number % n_projects}"}
        events.append(
            new_event("tool_used", body, agent="main", session="s", at=NOW + number)
        )
    return events


@pytest.fixture
def journal(tmp_path):
    journal = SqliteJournal(tmp_path / "theorex.db", clock=FixedClock(NOW + 10**9))
    yield journal
    journal.close()


@pytest.fixture
def odd_journal(journal):
    journal.append(calls(4))
    for body in ODD_BODIES:
        put(journal, body)
        put(journal, body, covers_seq=False)
    put(journal, json.dumps({"v": 2, **CALL}), lineage='["odd-5"]')
    prompt = {"v": 2, "text": "fix the till", "source": "user", "project": "p1"}
    put(journal, json.dumps(prompt), kind="prompt")
    put(journal, json.dumps({"project": "p2"}), kind="of_no_release")
    return journal


def test_an_outline_is_the_event_without_its_long_texts(odd_journal):
    whole = list(odd_journal.tail(0, erased=True))
    assert len(whole) == odd_journal.last_seq()
    assert any(event.set_aside for event in whole)
    outlines = list(odd_journal.outlines(0, erased=True))
    assert outlines == [outline_of(event) for event in whole]
    assert [event.set_aside for event in outlines] == [
        event.set_aside for event in whole
    ]
    chosen = list(odd_journal.outlines(2, kinds=["prompt", "tool_used"], upto=30))
    assert chosen == [
        outline_of(event)
        for event in odd_journal.tail(2, kinds=["prompt", "tool_used"], upto=30)
    ]


def test_outlines_are_the_same_where_some_of_their_events_are_kept(odd_journal):
    expected = list(odd_journal.outlines(0, erased=True))
    some_seqs = [event.seq for event in expected][::2]
    with odd_journal.decoding_once():
        odd_journal.read(seqs=some_seqs, erased=True)
        assert list(odd_journal.outlines(0, erased=True)) == expected
        list(odd_journal.tail(0, erased=True))
        assert list(odd_journal.outlines(0, erased=True)) == expected


@pytest.mark.parametrize("projects", [["p0"], ["p2"], ["p1", ""], [""], ["p3"]])
@pytest.mark.parametrize("kinds", [None, ["tool_used"], ["prompt", "lease"]])
def test_a_tail_of_projects_has_each_of_their_events(odd_journal, projects, kinds):
    expected = [
        event
        for event in odd_journal.tail(0)
        if is_wanted(event, kinds, projects, erased=False)
    ]
    assert list(odd_journal.tail(0, kinds=kinds, projects=projects)) == expected


def test_a_tail_of_a_project_has_those_of_the_projects_merged_into_it(journal):
    journal.append(calls(6, n_projects=3))
    merge_into(journal, "p0", "p1")
    of_both = [event.seq for event in journal.tail(0, projects=["p1"])]
    assert of_both == [1, 2, 4, 5, 7], "and that they were merged"
    assert [event.seq for event in journal.tail(0, projects=["p0"])] == of_both
    calls_now = journal.outlines(0, kinds=["tool_used"])
    assert {event.body["project"] for event in calls_now} == {"p1", "p2"}


@pytest.mark.parametrize(
    "change",
    [
        "agent = 'sage'",
        "seq = 900",
        "body = replace(body, 'xxx', 'yyy')",
        "body = replace(body, 'p1', 'p2')",
        "kind = 'of_no_release'",
    ],
)
def test_a_damaged_row_is_refused_whatever_is_read(journal, change):
    journal.append(calls(6))
    with sqlite3.connect(journal.path) as connection:
        connection.execute("DROP TRIGGER events_are_not_changed")
        connection.execute(f"UPDATE events SET {change} WHERE seq = 4")
    connection.close()
    with pytest.raises(CorruptJournal):
        list(journal.outlines(0, upto=6))
    with pytest.raises(CorruptJournal):
        list(journal.tail(0, upto=6, projects=["p0"]))


@pytest.fixture
def decoded(monkeypatch):
    """Count the events whose whole bodies are decoded, by kind."""
    counts = Counter()
    of_row = SqliteJournal._decoded

    def counted(journal, row):
        counts[row[5]] += 1
        return of_row(journal, row)

    monkeypatch.setattr(SqliteJournal, "_decoded", counted)
    return counts


def test_a_cold_status_decodes_no_tool_call(tmp_path, decoded):
    prompt = {"text": "fix the till", "source": "user"}
    with Lab(tmp_path, clock=FixedClock(NOW + 10**9)) as lab:
        lab.journal.append(calls(60))
        lab.journal.append([new_event("prompt", prompt, agent="main", at=NOW)])
    with Lab(tmp_path, clock=FixedClock(NOW + 10**9)) as lab:
        decoded.clear()
        status = lab.status()
        assert status["events"] == 61
        waits = {row["what"]: row["n"] for row in status["waits"]}
        assert waits["events that no maintenance has read"] == 61
    assert decoded == {"prompt": 1}


def test_a_tail_of_a_project_decodes_its_events_alone(journal, decoded):
    journal.append(calls(100, n_projects=50))
    decoded.clear()
    assert len(list(journal.tail(0, projects=["p7", ""]))) == 2
    assert decoded == {"tool_used": 2}


def test_views_of_a_status_are_the_same_of_outlines(tmp_path, odd_journal):
    for number, event in enumerate(calls(40)):
        session = f"s{number // 7 % 3}"
        body = event.body | {"ok": number % 5 > 0, "command": "make"}
        if number % 11 == 0:
            body |= {"trace_id": "t-1"}
        odd_journal.append([event._replace(session=session, body=body)])
        if number % 9 == 0:
            text = {"text": f"fix till {number}", "source": "user", "project": "p1"}
            odd_journal.append(
                [new_event("prompt", text, agent="main", session=session, at=NOW)]
            )
    with Lab(tmp_path / "other") as lab:
        kinds = status_views(lab.home)
    last = odd_journal.last_seq()
    views = [kind() for kind in kinds]
    for view in fold_together(views, odd_journal, last):
        fresh = type(view)()
        fold_into(fresh, odd_journal, last)
        assert differing_columns(view, fresh) == [], view.name
        assert view.reads_outlines or OUTLINED_KIND not in view.kinds
