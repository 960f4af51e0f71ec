"""The last events of a journal are read once for all views, and are as the journal's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import NOW, observation

from theorex_lab import FixedClock, Lab, installed
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.journal.event import Event
from theorex_lab.journal.recent_events import MOST_EVENTS, RecentEvents
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.view import differing_columns, fold_into, verify
from theorex_lab.memory.contract import item_view

ITEMS = item_view(installed())
KINDS = ("observation", "prompt")


def written(number: int) -> Event:
    return observation(f"Lamp {number} of the harbour is lit.", at=NOW + number)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path, clock=FixedClock(NOW + 1_000), embedder=None) as opened:
        opened.journal.append([written(number) for number in range(6)])
        opened.views.get(Axon)
        opened.views.get(ITEMS)
        yield opened


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seqs of the events that are decoded, in order."""
    seqs: list[int] = []
    decode = SqliteJournal._decoded

    def decoding(journal: SqliteJournal, row: tuple) -> Event:
        seqs.append(row[0])
        return decode(journal, row)

    monkeypatch.setattr(SqliteJournal, "_decoded", decoding)
    return seqs


def test_two_views_decode_an_event_once(lab: Lab, decoded: list[int]) -> None:
    (seq,) = lab.journal.append([written(6)])
    axon = lab.views.get(Axon)
    items = lab.views.get(ITEMS)
    assert axon.seq == items.seq == seq
    assert decoded == [seq]


def test_a_longer_stretch_is_read_by_each_view(lab: Lab, decoded: list[int]) -> None:
    numbers = range(MOST_EVENTS + 1)
    seqs = lab.journal.append([written(number) for number in numbers])
    lab.views.get(Axon)
    lab.views.get(ITEMS)
    assert sorted(decoded) == sorted([*seqs, *seqs])


@pytest.mark.parametrize("erased", [False, True])
@pytest.mark.parametrize("kinds", [KINDS, ("observation",), ("erasure",), None])
def test_what_is_in_memory_is_what_the_journal_has(
    lab: Lab, kinds: tuple[str, ...] | None, *, erased: bool
) -> None:
    third = lab.journal.read(seqs=[3])[0]
    lab.erase(ids=[third.id])
    last = lab.journal.last_seq()
    recent = RecentEvents(lab.journal, 1, last, [*KINDS, "erasure"])
    for after in range(last + 1):
        for upto in (last, last - 1, None):
            events = recent.tail(after, kinds=kinds, upto=upto, erased=erased)
            expected = lab.journal.tail(after, kinds=kinds, upto=upto, erased=erased)
            assert list(events) == list(expected)


def test_a_view_that_comes_later_is_not_given_what_was_erased_meanwhile(
    lab: Lab, tmp_path: Path
) -> None:
    (seq,) = lab.journal.append([written(6)])
    lab.views.get(Axon)  # reads it for the index too
    with Lab(tmp_path, clock=FixedClock(NOW + 1_000), embedder=None) as other:
        other.erase(ids=[other.journal.read(seqs=[seq])[0].id])
    for kind in (ITEMS, Axon):
        view = lab.views.get(kind)
        fresh = kind()
        fold_into(fresh, lab.journal, view.seq)
        assert differing_columns(view, fresh) == []
    assert len(lab.views.get(ITEMS).documents) == 6
    assert verify(lab.views, [Axon, ITEMS], progress=False).ok


def test_what_another_process_wrote_is_in_the_next_search(
    lab: Lab, tmp_path: Path
) -> None:
    lab.search("harbour")
    with Lab(tmp_path, clock=FixedClock(NOW + 1_000), embedder=None) as other:
        other.agent("sage").write("A buoy rings in the fog.")
    assert lab.search("buoy")[0].text == "A buoy rings in the fog."
