"""Checks of the events of a page are those of each event."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import theorex_lab.store.lab  # noqa: F401 - declares the kinds of the designs
from theorex_lab.core.clock import FixedClock
from theorex_lab.core.errors import CorruptJournal
from theorex_lab.journal.event import FIELDS, VERSIONS, Event, readable
from theorex_lab.journal.page_checks import bodies_test, readable_page
from theorex_lab.journal.shapes import (
    AMOUNT,
    COUNT,
    FILLED,
    SHARE,
    body_check,
    one_of,
    row,
)
from theorex_lab.journal.sqlite.store import SqliteJournal

NOW = 1_700_000_000_000_000
SHAPES: list[Any] = [
    str,
    bool,
    int,
    float,
    None,
    object,
    COUNT,
    SHARE,
    AMOUNT,
    FILLED,
    one_of("user", "agent"),
    [int],
    [[str]],
    [row(int, str, str, COUNT)],
    row(float, object),
    {"read": [str], "edited?": [str]},
    {str: int},
    (str, None),
    ([int], None, COUNT),
]
VALUES: list[Any] = [
    "",
    "agent",
    True,
    None,
    0,
    -1,
    2**53,
    2**53 + 1,
    2**70,
    2.0**70,
    1.0,
    0.5,
    float("nan"),
    float("inf"),
    [],
    [1, 2**63],
    [1, True],
    [["a"], []],
    [["a"], [1]],
    [[1, "till", "Till", 2]],
    [[1, "till", "Till", 2, "more"], [2, "tax", "Tax", 1]],
    [[1, "till", "Till", 2], [2, "tax", "Tax"]],
    [[1, "till", "Till", 2], "text"],
    [1.5, {"any": "JSON"}],
    {"read": ["a.py"]},
    {"read": ["a.py"], "edited": [None]},
    {"edited": []},
    {},
]


def observation(**members: Any) -> dict[str, Any]:
    body = {
        "v": VERSIONS["observation"],
        "text": "The till rounds half up",
        "type": "discovery",
        "source": "agent",
        "tags": [],
        "concepts": [[7, "till", "till", 1]],
        "sentiment": 0.0,
        "weight": 0.7,
    }
    return {**body, **members}


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_many_values_are_sound_where_each_is(shape: Any) -> None:
    check = body_check({"member?": shape})
    are_sound = bodies_test({"member?": shape})
    for first in VALUES:
        for second in VALUES:
            bodies = [{"member": first}, {}, {"member": second}]
            is_each_sound = not any(map(check, bodies))
            assert are_sound(bodies) == is_each_sound, bodies


def test_a_member_that_is_needed_and_missing_is_noticed() -> None:
    are_sound = bodies_test({"text": object})
    assert are_sound([{"text": None}])
    assert not are_sound([{"text": None}, {}])


def test_a_page_of_odd_bodies_is_read_as_each_event_is() -> None:
    bodies: list[Any] = [
        observation(),
        observation(concepts=[[7, "till", "till", -1]]),
        observation(text=None),
        observation(v=1),
        observation(v="2"),
        observation(v=True),
        {"erased": NOW, "hmac_sha256": "00"},
        [],
        None,
        {},
    ]
    events = [
        Event(number, f"id-{number}", NOW, "main", "", kind, (), body)
        for number, body in enumerate(bodies * 2)
        for kind in ("observation", "of_nobody")
    ]
    assert readable_page(events) == [readable(event) for event in events]


def test_a_sound_page_stays_as_it_is() -> None:
    events = [
        Event(number, f"id-{number}", NOW, "main", "", "observation", (), observation())
        for number in range(300)
    ]
    assert readable_page(events) == events


def test_a_kind_that_is_declared_anew_is_checked_as_it_is_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    event = Event(1, "id", NOW, "main", "", "observation", (), observation(weight=1))
    assert not readable_page([event])[0].erased
    monkeypatch.setitem(FIELDS, "observation", {"weight": str})
    monkeypatch.setattr("theorex_lab.journal.event._CHECKS", {})
    assert readable_page([event])[0].erased


def test_a_changed_row_of_a_large_page_is_refused(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "theorex.db", clock=FixedClock(NOW))
    events = [
        Event(0, f"id-{number}", NOW, "main", "", "observation", (), observation())
        for number in range(300)
    ]
    journal.append(events)
    connection = journal.connection()
    triggers = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'trigger'"
    )
    for (name,) in triggers.fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute("UPDATE events SET agent = 'sage' WHERE seq = 250")
    with pytest.raises(CorruptJournal, match="event 250 does not have its checksum"):
        list(journal.tail(0))
    journal.close()
