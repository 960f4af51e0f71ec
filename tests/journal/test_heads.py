"""Views that are folded from heads of events are as those folded from the events."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_outlines import ODD_BODIES, put

from theorex_lab import Event, FixedClock, Lab, new_event
from theorex_lab.core.errors import CorruptJournal
from theorex_lab.designs.sessions.session_ends import SessionEnds
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.flash import Flash
from theorex_lab.evolution.holdings import status_views
from theorex_lab.evolution.maintained import CaptureTimes
from theorex_lab.journal import directed, head_folding
from theorex_lab.journal.columns import Names
from theorex_lab.journal.directory import directory_view
from theorex_lab.journal.heads import NameColumn, first_seen, heads_tell
from theorex_lab.journal.identity import merge_into
from theorex_lab.journal.sqlite import head_reading
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.view import (
    View,
    Views,
    differing_columns,
    fold_into,
    set_aside_view,
)
from theorex_lab.memory.projects import projects_view

NOW = 1_770_000_000_000_000
HOUR = 3_600_000_000
PROJECTS = ("", "till", "shop", "attic")
SESSIONS = ("", "s-1", "s-2", "s-3", "s-4")
AGENTS = ("main", "sage", "till")  # one is called as a project is
KINDS = ("prompt", "tool_used", "turn_ended", "pinned", "digest", "flushed")


@pytest.fixture(autouse=True)
def small_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the directory serve journals of a few events."""
    monkeypatch.setattr(directed, "FEWEST_EVENTS", 1)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=FixedClock(NOW + 10**13)) as opened:
        yield opened


def body_of(kind: str, number: int) -> dict[str, Any]:
    bodies: dict[str, dict[str, Any]] = {
        "prompt": {"text": f"look {number}", "source": "user"},
        "tool_used": {"tool": "Read", "source": "tool", "input": "a.py"},
        "turn_ended": {"message": "done", "source": "agent"},
        "pinned": {"item": f"item {number}", "undo": False},
        "digest": {
            "upto": max(number - 3, 1),
            "text": "short",
            **{name: [] for name in ("asked", "ended", "open", "commits")},
            **{name: {} for name in ("edited", "checks")},
            "source": "agent",
        },
        "flushed": {"upto": max(number - 2, 1)},
    }
    return bodies[kind]


def events_of(n_events: int, rng: np.random.Generator) -> list[Event]:
    """Return events of all kinds, of several agents, sessions, projects and days."""
    events: list[Event] = []
    for number in range(n_events):
        kind = str(rng.choice(KINDS, p=(0.3, 0.4, 0.1, 0.1, 0.05, 0.05)))
        body = body_of(kind, number)
        project = str(rng.choice(PROJECTS))
        if kind == "digest" or (project and heads_tell(kind)):
            body = {**body, "project": project}
        event = new_event(
            kind,
            body,
            agent=str(rng.choice(AGENTS)),
            session=str(rng.choice(SESSIONS)),
            at=NOW + int(rng.integers(0, 72)) * HOUR,
        )
        events.append(event)
    return events


def headed_views(lab: Lab) -> list[type[View]]:
    return [view for view in lab._views() if view.reads_heads]


def assert_as_folded_from_events(lab: Lab) -> None:
    for kind in [*headed_views(lab), directory_view(), set_aside_view()]:
        view = lab.views.get(kind)
        fresh = kind()
        fold_into(fresh, lab.journal, view.seq)
        assert differing_columns(view, fresh) == [], kind.name


def test_the_views_of_a_status_that_read_no_bodies_read_heads(lab: Lab) -> None:
    expected = {CaptureTimes, Flash, SessionEnds, projects_view(lab.home)}
    assert set(headed_views(lab)) == expected


@pytest.mark.parametrize("seed", range(8))
def test_a_fold_by_heads_is_the_fold_of_the_events(lab: Lab, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_events = int(rng.integers(1, 120))
    lab.journal.append(events_of(n_events, rng))
    assert_as_folded_from_events(lab)
    lab.journal.append(events_of(30, rng))  # new names behind those that are there
    assert_as_folded_from_events(lab)


def test_events_that_are_read_as_a_whole_are_taken_in_a_few_at_a_time(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A maintenance appends a digest of each session, one behind the other."""
    monkeypatch.setattr(head_folding, "_BATCH_EVENTS", 4)
    events = events_of(20, np.random.default_rng(0))
    digests: list[Event] = []
    for number in range(30):
        body = {**body_of("digest", number), "project": "till"}
        digests.append(
            new_event("digest", body, agent="main", session="s-1", at=NOW + 72 * HOUR)
        )
    lab.journal.append([*events, *digests])
    batches: list[int] = []
    apply = SessionEnds.apply

    def counting(view: SessionEnds, batch: Sequence[Event]) -> None:
        batches.append(len(batch))
        apply(view, batch)

    monkeypatch.setattr(SessionEnds, "apply", counting)
    lab.views.get(SessionEnds)
    assert sum(batches) >= len(digests)
    assert max(batches) == 4
    monkeypatch.undo()
    assert_as_folded_from_events(lab)


@pytest.mark.parametrize("seed", range(6))
def test_after_an_erasure_the_heads_hold_nothing_of_it(lab: Lab, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lab.journal.append(events_of(80, rng))
    lonely = new_event(
        "prompt",
        {"text": "away", "source": "user", "project": "secret-project"},
        agent="main",
        session="secret-session",
        at=NOW,
    )
    lab.journal.append([lonely])
    lab.status()
    events = list(lab.journal.tail(0, kinds=["prompt", "tool_used"]))
    rows = rng.integers(0, len(events), 5).tolist()
    chosen = [events[row].id for row in rows]
    lab.erase(ids=[*dict.fromkeys(chosen), lonely.id])
    assert_as_folded_from_events(lab)
    directory = lab.views.get(directory_view())
    assert "secret-project" not in list(directory.projects)
    assert "secret-session" not in list(directory.sessions)
    for file in lab.views.folder.rglob("*.npy"):
        assert b"secret-" not in file.read_bytes()


def test_after_an_erasure_a_status_decodes_no_event_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    events = events_of(100, rng)
    lab.journal.append(events)
    for kind in (*status_views(lab.home), directory_view()):
        lab.views.snapshot(lab.views.get(kind))
    erased = next(event for event in events if event.kind == "tool_used")
    lab.erase(ids=[erased.id])
    decoded: Counter[str] = Counter()
    of_row = SqliteJournal._decoded

    def counted(journal: SqliteJournal, row: tuple[Any, ...]) -> Event:
        # What an earlier test left running may read another journal meanwhile.
        if journal.path.is_relative_to(lab.folder):
            decoded[row[5]] += 1
        return of_row(journal, row)

    monkeypatch.setattr(SqliteJournal, "_decoded", counted)
    with Lab(lab.folder, clock=lab.clock) as reopened:
        counts = {row["what"]: row["n"] for row in reopened.status()["waits"]}
    n_captured = sum(event.kind in KINDS[:3] for event in events)
    assert counts["events that no maintenance has read"] == n_captured - 1
    assert not decoded.keys() & {"prompt", "turn_ended", "pinned"}
    assert decoded["tool_used"] <= 1 + 2  # the erased one is looked up by its id


def as_its_journal_gives_it(journal: SqliteJournal) -> list[str]:
    """Return the columns in which the directory differs from one made of the events."""
    kind = directory_view()
    fresh = kind()
    by_pages = kind()
    last = journal.last_seq()
    fold_into(fresh, journal, last)
    fold_into(by_pages, journal, last, in_outline=True)
    return differing_columns(fresh, by_pages)


def odd_journal(path: Path) -> SqliteJournal:
    """Return a journal with bodies that no release writes, and ones of all kinds."""
    journal = SqliteJournal(path, clock=FixedClock(NOW + 10**13))
    journal.append(events_of(60, np.random.default_rng(3)))
    for body in ODD_BODIES:
        for kind in ("tool_used", "prompt", "turn_ended", "session_ended"):
            put(journal, body, kind=kind)
            put(journal, body, kind=kind, covers_seq=False)
    texts = ('"a"', "7", "null", '"\\ud800"', '"a\\u0000b"', '["a"]')
    for text in texts:
        body = f'{{"v":2,"source":"user","project":"p1","text":{text}}}'
        put(journal, body, kind="prompt")
        put(journal, body.replace('"text"', '"message"'), kind="turn_ended")
    put(journal, '{"v":2,"source":"user","text":"a","text":7}', kind="prompt")
    put(journal, '{"v":2,"source":"user","text":7,"text":"a"}', kind="prompt")
    texts = (
        '"text":"a\\"b\\\\"',  # an escaped quote, and a backslash before the last
        '"text":"a\\u00e9\\n"',
        '"text":"a\\uD800"',
        '"text": "a"',
        '"text":"a","text":"b"',
        '"n":{"text":"a"}',
        '"n":{"text":"a"},"text":"b"',
        '"a\\"text":"b"',
        '"n":"a\\"text\\":\\"b\\"","text":"c"',
        '"":"…"',
    )
    for text in texts:
        put(journal, f'{{"v":2,"source":"user","project":"p1",{text}}}', kind="prompt")
    sound = '{"v":2,"source":"user","text":"a","project":"p1"}'
    put(journal, sound, kind="prompt", lineage='["odd-5"]')
    put(journal, sound.replace(",", ",\n"), kind="prompt")  # of several lines
    put(journal, sound.replace("p1", "p2"), kind="prompt")
    return journal


def test_the_pages_of_heads_tell_odd_rows_as_their_events_do(tmp_path: Path) -> None:
    journal = odd_journal(tmp_path / "theorex.db")
    assert as_its_journal_gives_it(journal) == []
    merge_into(journal, "p1", "p2")
    assert as_its_journal_gives_it(journal) == []
    put(journal, '{"project": "p2"}', kind="of_no_release")
    assert as_its_journal_gives_it(journal) == []
    journal.close()


def test_plain_rows_are_told_without_decoding_an_event(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = events_of(60, np.random.default_rng(3))
    lab.journal.append(events)
    read = SqliteJournal.read
    n_read = 0

    def counted(journal: SqliteJournal, **options: Any) -> list[Event]:
        nonlocal n_read
        n_read += len(options.get("seqs", ()))
        return read(journal, **options)

    monkeypatch.setattr(SqliteJournal, "read", counted)
    monkeypatch.delattr(SqliteJournal, "outlines")
    directory = lab.views.get(directory_view())
    assert len(directory.rows) == lab.journal.last_seq()
    assert n_read == 0


def test_views_beside_the_directory_are_folded_from_the_events_that_it_decodes(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = lab.agent("main")
    till = lab.in_project("p1", new=True)
    for number in range(12):
        agent.write(f"The till rounds half up in export {number}")
        till.agent("sage").write(f"The shop counts stock {number}")
    lab.journal.append(events_of(40, np.random.default_rng(3)))
    erased = next(iter(lab.journal.tail(0, kinds=["observation"])))
    lab.erase(ids=[erased.id])
    merge_into(lab.journal, "p1", "p2")
    decoded: Counter[int] = Counter()
    of_row = SqliteJournal._decoded

    def counted(journal: SqliteJournal, row: tuple[Any, ...]) -> Event:
        if journal.path.is_relative_to(lab.folder) and row[5] == "observation":
            decoded[row[0]] += 1
        return of_row(journal, row)

    monkeypatch.setattr(SqliteJournal, "_decoded", counted)
    views = Views(lab.journal, lab.folder / "other-views")
    views.open_together([Axon, directory_view()])
    assert set(decoded.values()) == {1}
    for kind in (Axon, directory_view()):
        fresh = kind()
        fold_into(fresh, lab.journal, lab.journal.last_seq())
        assert differing_columns(views.get(kind), fresh) == [], kind.name


def test_a_view_whose_fold_raises_beside_the_directory_is_left_to_its_reader(
    lab: Lab,
) -> None:
    class Raising(Axon):
        name = "raising"

        def apply(self, events: Sequence[Event]) -> None:
            raise KeyError("text")

    lab.agent("main").write("The till rounds half up")
    views = Views(lab.journal, lab.folder / "other-views")
    views.open_together([Raising, Axon, directory_view()])
    assert Raising not in views._open
    assert {Axon, directory_view()} <= set(views._open)
    with pytest.raises(KeyError):
        views.get(Raising)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE events SET agent = 'other' WHERE seq = 30",
        "UPDATE events SET body = replace(body, 'look', 'loot') WHERE kind = 'prompt'",
        "UPDATE events SET body = substr(body, 2) WHERE seq = 30",
        "UPDATE events SET crc = crc + 1 WHERE seq = 30",
        "DELETE FROM events WHERE seq = 30",
    ],
)
def test_a_damaged_row_is_noticed(tmp_path: Path, damage: str) -> None:
    journal = SqliteJournal(tmp_path / "theorex.db", clock=FixedClock(NOW + 10**13))
    journal.append(events_of(60, np.random.default_rng(3)))
    with sqlite3.connect(journal.path) as connection:
        query = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        for (name,) in connection.execute(query).fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(damage)
    connection.close()
    with pytest.raises(CorruptJournal):
        fold_into(directory_view()(), journal, 60, in_outline=True)
    journal.close()


@pytest.mark.parametrize("text", ["a\\x", "a\tb", 'a"', "a\\u00g0"])
def test_a_text_that_is_no_json_is_noticed_as_where_events_are_read(
    tmp_path: Path, text: str
) -> None:
    journal = SqliteJournal(tmp_path / "theorex.db", clock=FixedClock(NOW + 10**13))
    put(journal, f'{{"v":2,"source":"user","text":"{text}"}}', kind="prompt")
    for in_outline in (False, True):
        with pytest.raises(CorruptJournal, match="event 1 is not JSON"):
            fold_into(directory_view()(), journal, 1, in_outline=in_outline)
    journal.close()


@pytest.mark.parametrize("most_kept", [0, 3])
def test_bodies_are_told_alike_whether_they_are_kept_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_kept: int
) -> None:
    monkeypatch.setattr(head_reading, "_MOST_KEPT", most_kept)
    monkeypatch.setattr(head_reading, "PAGE_ROWS", 7)
    journal = odd_journal(tmp_path / "theorex.db")
    assert as_its_journal_gives_it(journal) == []
    journal.close()


def test_names_are_numbered_as_they_first_stand() -> None:
    numbers = np.array([3, 1, 3, 0, 1])
    assert first_seen(numbers, 4) == first_seen(numbers, 40) == [3, 1, 0]
    names = Names()
    names.number("d")
    column = NameColumn(["a", "b", "c", "d"], numbers)
    assert column.numbers_in(names).tolist() == [0, 1, 0, 2, 1]
    assert list(names) == ["d", "b", "a"]
