"""Events are decoded once while a long piece of work lasts, and not past an erasure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from theorex_lab import Lab
from theorex_lab.core.clock import FixedClock
from theorex_lab.journal.base import Journal
from theorex_lab.journal.decoded import DecodedEvents
from theorex_lab.journal.event import Event
from theorex_lab.journal.sqlite import store
from theorex_lab.search.embed import HashedNgramEmbedder


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    clock = FixedClock.at("2026-03-02T09:00:00+00:00")
    embedder = HashedNgramEmbedder()
    with Lab(tmp_path / "home", clock=clock, embedder=embedder) as opened:
        for number in range(5):
            opened.agent("main").write(f"The till number {number} rounds half up")
        yield opened


@pytest.fixture
def decoded_seqs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seqs of the events that are decoded from now on."""
    seqs: list[int] = []
    content = store.SqliteJournal._as_written

    def counted(self: store.SqliteJournal, row: tuple[int, ...]) -> object:
        seqs.append(row[0])
        return content(self, row)  # type: ignore[arg-type]

    monkeypatch.setattr(store.SqliteJournal, "_as_written", counted)
    return seqs


def texts(journal: Journal) -> list[str]:
    return [event.body["text"] for event in journal.tail(0, kinds=["observation"])]


def test_an_event_is_decoded_once_however_it_is_read(
    lab: Lab, decoded_seqs: list[int]
) -> None:
    journal = lab.journal
    plain = list(journal.tail(0))
    seqs = [event.seq for event in plain]
    ids = [event.id for event in plain]
    decoded_seqs.clear()
    with journal.decoding_once():
        assert list(journal.tail(0)) == plain
        assert list(journal.tail(0, kinds=["observation"])) == [
            event for event in plain if event.kind == "observation"
        ]
        assert journal.read(seqs=seqs[1:3]) == plain[1:3]
        assert journal.read(ids=ids[2:4]) == plain[2:4]
    assert sorted(decoded_seqs) == seqs
    list(journal.tail(0))  # nothing is kept any longer
    assert len(decoded_seqs) == 2 * len(seqs)


def test_what_is_appended_meanwhile_is_read(lab: Lab, decoded_seqs: list[int]) -> None:
    with lab.journal.decoding_once():
        before = texts(lab.journal)
        decoded_seqs.clear()
        lab.agent("main").write("The till prints twice")
        assert texts(lab.journal) == [*before, "The till prints twice"]
    assert len(set(decoded_seqs)) == len(decoded_seqs)


def test_what_is_erased_meanwhile_is_not_read_again(lab: Lab) -> None:
    event_id = lab.agent("main").write("The till prints the secret").event_id
    with lab.journal.decoding_once():
        assert any("secret" in text for text in texts(lab.journal))
        with Lab(lab.folder, clock=lab.clock) as other:  # as another process does
            other.erase(ids=[event_id])
        assert not any("secret" in text for text in texts(lab.journal))
        assert lab.journal.read(ids=[event_id]) == []


def append_and_fail(journal: Journal, event: Event) -> None:
    """Append an event, read it, and let it be taken back."""
    with journal.exclusive() as append:
        seq = append(event)
        assert [read.id for read in journal.read(seqs=[seq])] == [event.id]
        raise ZeroDivisionError


def test_what_was_taken_back_is_not_read_again(lab: Lab) -> None:
    journal = lab.journal
    before = texts(journal)
    event = next(journal.tail(0, kinds=["observation"]))
    another = event._replace(id="another-event")
    with journal.decoding_once():
        with pytest.raises(ZeroDivisionError):
            append_and_fail(journal, another)
        lab.agent("main").write("The till prints twice")
        assert texts(journal) == [*before, "The till prints twice"]


def test_blocks_within_a_block_share_what_is_kept(
    lab: Lab, decoded_seqs: list[int]
) -> None:
    journal = lab.journal
    with journal.decoding_once():
        with journal.decoding_once():
            n_events = len(list(journal.tail(0)))
        list(journal.tail(0))
    assert len(decoded_seqs) == n_events


def test_what_is_full_reads_the_others_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = list(lab.journal.tail(0))
    with lab.journal.decoding_once():
        decoded = lab.journal._local.decoded  # type: ignore[attr-defined]
        monkeypatch.setattr(decoded, "_most_characters", 3_500)
        for _ in range(3):
            assert list(lab.journal.tail(0)) == plain
        assert 0 < len(decoded) < len(plain)
        assert isinstance(decoded, DecodedEvents)
