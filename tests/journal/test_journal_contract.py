"""What every journal keeps to, whatever holds its events: the file of a home, or the
memory of a test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, observation

from theorex_lab import AlreadyThere, Event, FixedClock, InvalidInput, Lab, new_event
from theorex_lab.journal.base import Journal, check_time, is_wanted
from theorex_lab.journal.event import encode, upcast
from theorex_lab.journal.opened import open_journal

MINUTE = 60 * 1_000_000


class MemoryJournal(Journal):
    """Events in a list."""

    def __init__(self) -> None:
        self.clock = FixedClock(NOW)
        self.events: list[Event] = []

    def append(
        self, events: Sequence[Event], *, allow_future: bool = False
    ) -> list[int]:
        for event in events:
            check_time(event, self.clock.now(), allow_future=allow_future)
        with self.exclusive() as append:
            return [append(event) for event in events]

    @contextmanager
    def exclusive(self) -> Iterator[Callable[[Event], int]]:
        before = len(self.events)

        def add(event: Event) -> int:
            encode(event.body)
            if any(event.id == each.id for each in self.events):
                raise AlreadyThere(f"the event {event.id} is there already")
            self.events.append(event._replace(seq=len(self.events) + 1))
            return len(self.events)

        try:
            yield add
        except BaseException:
            del self.events[before:]
            raise

    def read(
        self, *, seqs: Sequence[int] = (), ids: Sequence[str] = (), erased: bool = False
    ) -> list[Event]:
        found = [event for event in self.events if event.seq in seqs or event.id in ids]
        return [upcast(event) for event in found if erased or not event.erased]

    def tail(
        self,
        after: int,
        *,
        kinds: Sequence[str] | None = None,
        upto: int | None = None,
        projects: Sequence[str] | None = None,
        lacking: tuple[str, str] | None = None,
        erased: bool = False,
    ) -> Iterator[Event]:
        for event in self.events[after:upto]:
            text = encode(event.body)
            is_left_out = (
                lacking is not None and lacking[0] in text and lacking[1] not in text
            )
            if is_wanted(event, kinds, projects, erased=erased) and not is_left_out:
                yield upcast(event)

    def last_seq(self) -> int:
        return len(self.events)

    def event_id(self, seq: int) -> str | None:
        return self.events[seq - 1].id if 1 <= seq <= len(self.events) else None

    def check(self) -> tuple[list[str], dict[str, int]]:
        kinds = [event.kind for event in self.events]
        return [], {kind: kinds.count(kind) for kind in kinds}

    def close(self) -> None:
        pass


@pytest.fixture(params=["file", "memory", "postgres"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    made: Journal
    if request.param == "memory":
        made = MemoryJournal()
    else:
        is_file = request.param == "file"
        url = "" if is_file else request.getfixturevalue("postgres_url")
        made = open_journal(tmp_path, url=url, clock=FixedClock(NOW))
    yield made
    made.close()


def test_seqs_count_from_one_and_events_come_back_as_they_were(
    journal: Journal,
) -> None:
    events = [observation(f"text {n}", at=NOW - n) for n in range(5)]
    assert journal.last_seq() == 0
    assert journal.append(events) == [1, 2, 3, 4, 5]
    assert journal.append([]) == []
    assert [*journal.tail(0)] == [
        event._replace(seq=n) for n, event in enumerate(events, 1)
    ]
    assert [event.seq for event in journal.tail(1, upto=3)] == [2, 3]
    assert [event.seq for event in journal.tail(0, kinds=["scan"])] == []
    assert [
        event.seq for event in journal.read(ids=[events[3].id, "none"], seqs=[2])
    ] == [2, 4]
    assert journal.event_id(2) == events[1].id
    assert journal.event_id(9) is None
    assert journal.check() == ([], {"observation": 5})


def test_all_or_nothing(journal: Journal) -> None:
    first = observation("first")
    second = observation("second")
    journal.append([first])
    with pytest.raises(AlreadyThere):
        journal.append([second, first])
    with pytest.raises(InvalidInput, match="NaN"):
        journal.append(
            [second, observation("bad")._replace(body={"v": 1, "x": float("nan")})]
        )
    with pytest.raises(InvalidInput, match="ahead of the clock"):
        journal.append([second, observation("later", at=NOW + 6 * MINUTE)])
    with pytest.raises(AlreadyThere), journal.exclusive() as append:
        append(second) and append(first)
    assert [event.body["text"] for event in journal.tail(0)] == ["first"]
    assert journal.append(
        [observation("later", at=NOW + 6 * MINUTE)], allow_future=True
    ) == [2]


def test_what_is_read_in_a_decision_holds_what_it_appended(journal: Journal) -> None:
    journal.append([observation("before")])
    with journal.exclusive() as append:
        assert append(observation("in it")) == 2
        assert [event.body["text"] for event in journal.tail(0)] == ["before", "in it"]


def test_erased_events_are_left_out_unless_asked_for(journal: Journal) -> None:
    gone = observation("gone")._replace(body={"erased": 1, "hmac_sha256": "0"})
    journal.append([observation("kept"), gone])
    assert (
        [event.seq for event in journal.tail(0)]
        == [event.seq for event in journal.read(seqs=[1, 2])]
        == [1]
    )
    assert [event.seq for event in journal.tail(0, erased=True)] == [1, 2]
    assert [event.seq for event in journal.read(seqs=[1, 2], erased=True)] == [1, 2]


def test_a_tail_is_of_the_projects_that_are_named(journal: Journal) -> None:
    said = [("main", "shop-1"), ("sage", "shop-1"), ("main", "mill-2"), ("main", "")]
    for agent, project in said:
        body = {"text": "mend it", "source": "user", "project": project}
        journal.append([new_event("prompt", body, agent=agent, at=NOW)])

    def seqs(**named: Any) -> list[int]:
        return [event.seq for event in journal.tail(0, **named)]

    assert seqs(projects=["shop-1"]) == [1, 2]
    assert seqs(projects=["shop-1", ""], upto=4) == [1, 2, 4]
    assert seqs(projects=[]) == []


def test_bodies_that_hold_a_text_are_left_out(journal: Journal) -> None:
    events = [observation(f"text {n}", at=NOW - 9 + n) for n in range(6)]
    journal.append(events)
    left = journal.tail(0, kinds=["observation"], lacking=('"text":"text', '"text 3"'))
    assert [event.seq for event in left] == [4]


def test_a_lab_gives_the_same_on_each(tmp_path: Path, postgres_url: str) -> None:
    told = []
    clock = FixedClock(NOW)
    in_database = open_journal(tmp_path / "3", url=postgres_url, clock=clock)
    for number, given in enumerate((None, MemoryJournal(), in_database)):
        with Lab(tmp_path / str(number), clock=clock, journal=given) as lab:
            main = lab.agent("main")
            for text in (
                "TTL invalidation prevents cache stampedes",
                "the cache stampede came back",
                "deploy on Mondays",
            ):
                main.write(text, observation_type="decision")
            lab.theorex.scan()
            lab.theorex.promote()
            assert lab.verify().ok
            found = [(hit.kind, hit.text) for hit in lab.search("stampede")]
            told.append(
                (found, lab.briefing().text, lab.status()["agents"], main.axon.tiers())
            )
    in_database.close()
    assert told[0] == told[1] == told[2]
    assert told[0][0]
