"""Damaged, cut, replaced and foreign files: never an empty or a wrong memory, and
always a way out.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import NOW, Meanings, Run, observation
from faults import boundaries, documented, fill, forked, quick_folder, state
from killed_homes import killed_homes
from small_process import in_small_process
from test_faults_disk import files_of_at_most
from test_faults_processes import together

from theorex_lab import (
    CorruptJournal,
    Event,
    FixedClock,
    InvalidInput,
    Lab,
    StorageError,
)
from theorex_lab.core.settings import check_settings
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.journal.sqlite import connection as connections
from theorex_lab.journal.sqlite.backup import backup, restore
from theorex_lab.journal.sqlite.check import check_rows
from theorex_lab.journal.sqlite.connection import explained, transaction
from theorex_lab.journal.sqlite.salvage import salvage
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.memory.retrieval_log import note_recalled

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs processes that are forked"
)
EVENTS = 1_000
LATE = 40


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


def _events(number: int) -> list[Event]:
    chance = random.Random(number)
    texts = [f"text {n} {'word ' * chance.randrange(5, 60)}" for n in range(number)]
    return [observation(text, labels=[f"c {n % 50}"]) for n, text in enumerate(texts)]


def _journal(home: Path) -> SqliteJournal:
    return SqliteJournal(home / "theorex.db", clock=FixedClock(NOW))


@pytest.fixture(scope="module")
def sound() -> Iterator[tuple[bytes, list[Event]]]:
    """The bytes of a journal's file, and the events in it."""
    with quick_folder() as home, closing(_journal(home)) as journal:
        journal.append(_events(EVENTS))
        # One whose body takes many pages.
        journal.append([observation("long " * 9_000), *_events(50)])
        written = list(journal.tail(0))
        journal.close()
        yield (home / "theorex.db").read_bytes(), written


def _home(folder: Path, content: bytes) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "theorex.db").write_bytes(content)
    return folder


def _reading(home: Path, expected: list[Event]) -> str:
    """How a home reads: 'same', 'refused', or 'silent' where it differs without an
    error.
    """
    try:
        with closing(_journal(home)) as journal:
            everything = list(journal.tail(0))
            of_kind = list(journal.tail(0, kinds=["observation"]))
            one_by_one = journal.read(seqs=[event.seq for event in expected])
            last = journal.last_seq()
    except CorruptJournal as error:
        return (
            "refused"
            if "theorex restore" in str(error)
            and "theorex verify --salvage" in str(error)
            else "no way out"
        )
    return (
        "same"
        if everything == of_kind == one_by_one == expected and last == len(expected)
        else "silent"
    )


def test_a_file_that_was_cut_is_refused_and_not_touched(
    sound: tuple[bytes, list[Event]], tmp_path: Path
) -> None:
    content, expected = sound
    for size in [
        *range(1, 4_096, 64),
        4_096,
        40_960,
        len(content) - 4_096,
        len(content) - 100,
        len(content),
    ]:
        home = _home(tmp_path / "home", content[:-size])
        assert _reading(home, expected) == "refused", size
        with pytest.raises(CorruptJournal, match="restore"):
            documented(home)
        assert {path.name: path.read_bytes() for path in home.iterdir()} == {
            "theorex.db": content[:-size]
        }


def test_no_flipped_bit_gives_another_text(
    sound: tuple[bytes, list[Event]], tmp_path: Path
) -> None:
    content, expected = sound
    chance = random.Random(5)
    found: Counter[str] = Counter()
    for _ in range(200):
        damaged = bytearray(content)
        damaged[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        found[_reading(_home(tmp_path / "home", bytes(damaged)), expected)] += 1
    assert found.keys() == {"same", "refused"}, (
        "what is the same was hit in free room, or in an index"
    )
    assert found["refused"] > 100


@pytest.mark.parametrize("place", ["seq", "kind", "text that is not UTF-8", "type"])
def test_damage_that_a_query_would_pass_over_is_an_error(
    place: str, sound: tuple[bytes, list[Event]], tmp_path: Path
) -> None:
    content, expected = sound
    damaged = bytearray(content)
    at = content.rindex(expected[500].id.encode(), 0, content.index(b"text 500 word"))
    if place == "seq":
        at = content.rindex(
            b"\x83", at - 20, at
        )  # the seqs 501 and so on begin with this byte
        damaged[at] ^= 0x04
    elif place == "kind":
        damaged[content.index(b"observation", at)] ^= 1
    elif place == "type":
        damaged[at - 4] ^= 1
    else:
        damaged[content.index(b"word", at)] ^= 0x80
    assert _reading(_home(tmp_path / "home", bytes(damaged)), expected) == "refused"


def test_archiving_gives_a_damaged_event_no_new_checksum(tmp_path: Path) -> None:
    with documented(tmp_path / "home") as lab:
        fill(lab)
    file = tmp_path / "home" / "theorex.db"
    file.write_bytes(
        file.read_bytes().replace(b"the upload worker", b"the upload walker", 1)
    )
    with (
        documented(tmp_path / "home") as lab,
        pytest.raises(CorruptJournal, match="checksum"),
    ):
        lab.archive(NOW + 1)


def test_a_journal_that_ends_before_its_snapshots_is_refused(tmp_path: Path) -> None:
    with documented(tmp_path / "home") as lab:
        lab.journal.append(_events(30))
        backup(lab.journal, tmp_path / "old.db")
        lab.journal.append(_events(5))
        lab.views.snapshot(lab.views.get(Axon))
    shutil.copy(tmp_path / "old.db", tmp_path / "home" / "theorex.db")
    with pytest.raises(
        CorruptJournal,
        match="ends at event 30, yet theorex.db-last goes up to event 35",
    ):
        documented(tmp_path / "home")
    (tmp_path / "home" / "theorex.db-last").unlink()
    with pytest.raises(
        CorruptJournal, match="yet a snapshot in views goes up to event 35"
    ):
        documented(tmp_path / "home")


# A crashed home


@pytest.fixture(scope="module")
def crashed() -> Iterator[dict[str, bytes]]:
    """The files of a home whose process was killed with forty commits in the
    write-ahead log.
    """
    with quick_folder() as home:

        def live() -> None:
            journal = _journal(home)
            journal.append(_events(EVENTS))
            journal.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
            for number in range(LATE):
                journal.append([observation(f"late {number}")])
            os.kill(os.getpid(), signal.SIGKILL)

        assert forked(live) == -signal.SIGKILL
        yield {path.name: path.read_bytes() for path in home.iterdir()}


def _crashed(folder: Path, files: dict[str, bytes], **changed: bytes) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in {
        **files,
        **{f"theorex.db-{key}": value for key, value in changed.items()},
    }.items():
        (folder / name).write_bytes(content)
    return folder


def test_a_crashed_home_opens_with_every_commit(
    crashed: dict[str, bytes], tmp_path: Path
) -> None:
    assert crashed.keys() == {
        "theorex.db",
        "theorex.db-last",
        "theorex.db-wal",
        "theorex.db-shm",
    }
    with closing(_journal(_crashed(tmp_path / "home", crashed))) as journal:
        assert journal.last_seq() == EVENTS + LATE


def test_a_flipped_bit_in_the_log_of_a_crashed_home_is_refused_again_and_again(
    crashed: dict[str, bytes], tmp_path: Path
) -> None:
    """Damage within the last commit cannot be told from a commit that the crash tore."""
    chance = random.Random(7)
    log = crashed["theorex.db-wal"]
    last_commits = len(log) - 3 * 5 * 4_120
    for _ in range(60):
        damaged = bytearray(log)
        damaged[chance.randrange(last_commits)] ^= 1 << chance.randrange(8)
        home = _crashed(tmp_path / "home", crashed, wal=bytes(damaged))
        for _ in ("once", "again"):
            with pytest.raises(CorruptJournal, match="salvage"):
                _journal(home)
        assert (home / "theorex.db-wal").read_bytes() == damaged, (
            "what is there can still be salvaged"
        )


def test_a_torn_commit_of_a_crash_is_left_out_in_silence(
    crashed: dict[str, bytes], tmp_path: Path
) -> None:
    """It was never acknowledged, so that nothing beside the journal knows of it. After
    a power cut there is no index of the log.
    """
    log = bytearray(crashed["theorex.db-wal"])
    log[-100] ^= 1
    files = {
        name: content
        for name, content in crashed.items()
        if not name.endswith(("-shm", "-last"))
    }
    with closing(
        _journal(_crashed(tmp_path / "home", files, wal=bytes(log)))
    ) as journal:
        assert journal.last_seq() == EVENTS + LATE - 1


def test_a_log_without_its_journal_is_no_new_memory(
    crashed: dict[str, bytes], tmp_path: Path
) -> None:
    files = {name: content for name, content in crashed.items() if name != "theorex.db"}
    home = _crashed(tmp_path / "home", files)
    with pytest.raises(CorruptJournal, match="is gone"):
        _journal(home)
    assert not (home / "theorex.db").exists()


# Salvage


def _salvaged(home: Path) -> tuple[int, int]:
    """Salvage, and how many events were kept and lost; what is left verifies and can be
    written to.
    """
    done = salvage(home, aside="aside", at=NOW)
    lost = sum(last - first + 1 for first, last in done.lost)
    assert check_rows(home / "theorex.db")[0] == []
    with closing(_journal(home)) as journal:
        assert journal.append([observation("it goes on")]) == [done.events + lost + 2]
    return done.events, lost


def test_salvage_keeps_what_is_sound(
    sound: tuple[bytes, list[Event]], tmp_path: Path
) -> None:
    content, expected = sound
    chance = random.Random(11)
    losses: Counter[int] = Counter()
    for _ in range(25):
        damaged = bytearray(content)
        for _ in range(3):
            damaged[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        home = _home(tmp_path / "home", bytes(damaged))
        if (
            _reading(home, expected) == "same"
            and check_rows(home / "theorex.db")[0] == []
        ):
            continue
        kept, lost = _salvaged(home)
        assert kept + lost == len(expected)
        losses[lost] += 1
        with closing(_journal(home)) as journal:
            for event, was in zip(
                journal.tail(0, upto=len(expected)), expected, strict=True
            ):
                assert event == was or event.kind == "lost"
        aside = (home / "aside" / "theorex.db").read_bytes()
        assert aside == damaged, "the damaged file is kept as it was"
    assert max(losses) <= 4, "a damaged cell may hide a row beside it"
    assert losses.total() > 15


def test_salvage_of_noise_cuts_and_wiped_pages(
    sound: tuple[bytes, list[Event]], tmp_path: Path
) -> None:
    content, _ = sound
    half = len(content) // 8_192 * 4_096
    wiped = content[:8_192] + bytes(20 * 4_096) + content[8_192 + 20 * 4_096 :]
    headless = os.urandom(100) + content[100:]
    for damaged, least, most in (
        (content[:half], 300, 700),
        (wiped, 800, 1_040),
        (headless, 0, 0),
        (b"", 0, 0),
    ):
        home = _home(tmp_path / "home", damaged)
        assert least <= _salvaged(home)[0] <= most


def test_salvage_takes_the_commits_before_the_damage_in_a_log(
    crashed: dict[str, bytes], tmp_path: Path
) -> None:
    log = bytearray(crashed["theorex.db-wal"])
    log[len(log) // 2] ^= 16
    home = _crashed(tmp_path / "home", crashed, wal=bytes(log))
    kept, lost = _salvaged(home)
    assert EVENTS < kept < EVENTS + LATE
    assert kept + lost == EVENTS + LATE, "the file beside it tells how many followed"
    assert {"theorex.db", "theorex.db-wal", "theorex.db-shm"} <= {
        path.name for path in (home / "aside").iterdir()
    }


def test_salvage_notes_what_only_a_snapshot_remembers(tmp_path: Path) -> None:
    with documented(tmp_path / "home") as lab:
        lab.journal.append(_events(20))
        backup(lab.journal, tmp_path / "old.db")
        lab.journal.append(_events(5))
        lab.views.snapshot(lab.views.get(Axon))
    shutil.copy(tmp_path / "old.db", tmp_path / "home" / "theorex.db")
    done = salvage(tmp_path / "home", aside="aside", at=NOW)
    assert (done.events, done.lost) == (20, [(21, 25)])
    with documented(tmp_path / "home") as lab:
        (note,) = lab.journal.tail(0, kinds=["salvaged"])
        assert (note.seq, note.body["lost"], note.body["events"]) == (
            26,
            [[21, 25]],
            20,
        )
        assert lab.verify().ok


def test_salvage_of_a_segment_that_is_damaged_or_gone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with documented(home) as lab:
        fill(lab)
        assert lab.archive(NOW + 1).events == 6
        events = {event.seq: event for event in lab.journal.tail(0)}
    (segment,) = (home / "archive").glob("*.gz")
    segment.chmod(0o600)
    segment.write_bytes(segment.read_bytes()[:-30])
    kept, lost = _salvaged(home)
    assert (kept + lost, lost) == (len(events), 1) or lost <= 6
    with closing(_journal(home)) as journal:
        for event in journal.tail(0, upto=len(events)):
            assert event == events[event.seq] or (
                event.kind == "lost" and events[event.seq].kind == "tool_used"
            )


def test_salvage_of_a_sound_home_changes_nothing(tmp_path: Path) -> None:
    with documented(tmp_path / "home") as lab:
        fill(lab)
    before = {
        path: path.read_bytes()
        for path in (tmp_path / "home").rglob("*")
        if path.is_file()
    }
    assert salvage(tmp_path / "home", aside="aside", at=NOW).set_aside == ""
    after = {
        path: path.read_bytes()
        for path in (tmp_path / "home").rglob("*")
        if path.is_file()
    }
    assert {
        path: text for path, text in after.items() if path.name != "replacing.lock"
    } == before
    with pytest.raises(InvalidInput, match="nothing to salvage"):
        salvage(tmp_path / "nowhere", aside="aside", at=NOW)


# Backup and restore


def test_a_backup_taken_while_others_write_is_a_prefix_and_can_be_put_back(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    with documented(home) as lab:
        fill(lab)

    def writing() -> None:
        with closing(_journal(home)) as journal:
            for number in range(5_000):
                journal.append(
                    [observation(f"one {number}"), observation(f"two {number}")]
                )
                if (
                    number >= 150 and (tmp_path / "7.db").exists()
                ):  # whatever the machine's pace, until all are taken
                    return

    def copying() -> None:
        with closing(_journal(home)) as journal:
            for number in range(8):
                backup(journal, tmp_path / f"{number}.db")

    assert together(writing, writing, copying) == [0, 0, 0]
    with closing(_journal(home)) as journal:
        everything = list(journal.tail(0))
    sizes = []
    for number in range(8):
        target = tmp_path / f"restored-{number}"
        done = restore(target, tmp_path / f"{number}.db", aside="aside")
        with closing(_journal(target)) as journal:
            events = list(journal.tail(0))
        assert events == everything[: len(events)]
        assert (len(events), done.set_aside) == (done.events, "")
        sizes.append(len(events))
    assert len(set(sizes)) > 2, "it wrote meanwhile"


def test_a_restore_sets_aside_what_was_there(tmp_path: Path) -> None:
    home = tmp_path / "home"
    file = tmp_path / "backup.db"
    with documented(home) as lab:
        fill(lab)
        lab.archive(NOW + 1)
        (home / "config.json").write_text('{"halfLifeDays": 9}')
        done = backup(lab.journal, file)
        expected = state(home)
        with pytest.raises(InvalidInput, match="--replace"):
            backup(lab.journal, file)
        backup(lab.journal, file, replace=True)
        lab.journal.append(_events(40))
        for kind in (Axon,):
            lab.views.snapshot(lab.views.get(kind))
        assert done.segments == 1
        assert done.bytes == file.stat().st_size
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    found = restore(home, file, aside="aside")
    assert found.set_aside == str(home / "aside")
    assert state(home) == {**expected, "context": None}
    assert {"theorex.db", "views", "archive"} <= {
        path.name for path in (home / "aside").iterdir()
    }
    fresh = tmp_path / "fresh"
    restore(fresh, file, aside="aside")
    assert (fresh / "config.json").read_text() == '{"halfLifeDays": 9}'
    assert state(fresh) == {**expected, "context": None}


def test_what_is_no_sound_backup_is_refused_and_nothing_changes(
    sound: tuple[bytes, list[Event]], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    with documented(home) as lab:
        fill(lab)
        backup(lab.journal, tmp_path / "good.db")
    before = state(home)
    content = (tmp_path / "good.db").read_bytes()
    flipped = bytearray(content)
    flipped[content.index(b"shorten the TTL")] ^= 1
    (tmp_path / "flipped.db").write_bytes(flipped)
    (tmp_path / "cut.db").write_bytes(content[:-5_000])
    (tmp_path / "noise.db").write_bytes(os.urandom(9_000))
    with closing(sqlite3.connect(tmp_path / "foreign.db")) as foreign:
        foreign.execute("CREATE VIEW events AS SELECT 1")
    for name in ("flipped", "cut", "noise", "foreign", "nowhere"):
        with pytest.raises((CorruptJournal, InvalidInput)):
            restore(home, tmp_path / f"{name}.db", aside="aside")
        assert state(home) == before
        assert not (home / "aside").exists()
    (home / "theorex.db").write_bytes(sound[0][:-10])
    with pytest.raises(CorruptJournal, match="cut"):
        documented(home)


@pytest.mark.parametrize("step", ["restore", "salvage"])
@in_small_process
def test_a_home_is_old_or_new_wherever_its_replacement_is_killed(
    step: str, tmp_path: Path
) -> None:
    """In between it refuses to be opened, and repeating brings it to the end."""
    template = tmp_path / "template"
    file = tmp_path / "backup.db"
    with documented(template) as lab:
        fill(lab)
        backup(lab.journal, file)
        lab.journal.append([observation("later")])
        lab.views.snapshot(lab.views.get(Axon))
    old = state(template)
    if step == "salvage":
        shutil.copy(file, template / "theorex.db")

    def replace(home: Path) -> None:
        if step == "restore":
            restore(home, file, aside="aside")
        else:
            salvage(home, aside="aside", at=NOW)

    def run(lab: Lab) -> object:
        return replace(lab.folder)

    # A home to be salvaged cannot be opened.
    opening = _only_home if step == "salvage" else documented
    names = boundaries(template, tmp_path, run, opening=opening)
    replaced = shutil.copytree(template, tmp_path / "replaced")
    replace(replaced)
    expected = _columns(state(replaced))
    places = {number: names[number - 1] for number in range(len(names), 0, -3)}
    in_order = dict(sorted(places.items()))
    for killed in killed_homes(template, tmp_path, run, in_order, opening=opening):
        try:
            found = state(killed.home)
        except StorageError:
            replace(killed.home)
            found = state(killed.home)
        is_old = step == "restore" and found == old
        assert is_old or _columns(found) == expected, killed.boundaries


def _columns(found: dict[str, Any]) -> dict[str, Any]:
    """Return what a home holds without its context, and without notes of a salvage."""
    events = [event for event in found["events"] if event[0] != "salvaged"]
    columns = {key: value for key, value in found.items() if key != "context"}
    return {**columns, "events": events}


@contextmanager
def _only_home(home: Path) -> Iterator[Any]:
    """Give the home alone, since the step opens it itself."""
    yield SimpleNamespace(folder=home)


# Creating, replacing, refusing


@in_small_process
def test_two_processes_create_a_home_at_once(tmp_path: Path) -> None:
    for number in range(60):
        home = tmp_path / f"home-{number}"

        def live(home: Path = home) -> None:
            with closing(_journal(home)) as journal:
                journal.append([observation("from one of them")])

        assert together(live, live, live) == [0, 0, 0]
        with closing(_journal(home)) as journal:
            assert journal.last_seq() == 3
        assert {path.name for path in home.iterdir()} == {
            "theorex.db",
            "theorex.db-last",
        }


@in_small_process
def test_a_copy_in_another_mode_is_opened_by_many_at_once(tmp_path: Path) -> None:
    for number in range(10):
        home = tmp_path / f"home-{number}"
        _journal(home).close()
        with closing(sqlite3.connect(home / "theorex.db")) as other:
            assert other.execute("PRAGMA journal_mode = DELETE").fetchone() == (
                "delete",
            )

        def live(home: Path = home) -> None:
            with closing(_journal(home)) as journal:
                journal.append([observation("from one of them")])

        assert together(live, live, live) == [0, 0, 0]


def test_a_wait_for_a_lock_names_the_time_that_it_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "BUSY_TIMEOUT_SECONDS", 0.2)
    with (
        closing(_journal(tmp_path)) as journal,
        closing(sqlite3.connect(tmp_path / "theorex.db")) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match=r"kept it locked for 0\.[23] s"):
            journal.append([observation("x")])


@pytest.mark.parametrize("how", ["removed", "replaced", "moved", "log removed"])
def test_a_home_that_went_away_acknowledges_nothing(how: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with closing(_journal(home)) as journal:
        journal.append([observation("before")])
        if how == "log removed":
            (home / "theorex.db-wal").unlink()
        else:
            home.rename(tmp_path / "moved") if how == "moved" else shutil.rmtree(home)
        if how == "replaced":
            _journal(home).close()
        with pytest.raises(StorageError, match="removed or replaced"):
            journal.append([observation("after")])
        with (
            pytest.raises(StorageError, match="removed or replaced"),
            journal.exclusive() as append,
        ):
            append(observation("after"))
        if how != "log removed":
            with pytest.raises(StorageError, match="removed or replaced"):
                journal.last_seq()
    if how == "replaced":
        with closing(_journal(home)) as journal:
            assert journal.last_seq() == 0


@in_small_process
def test_what_is_said_to_be_unwritten_is_unwritten_at_every_size_of_a_full_disk(
    tmp_path: Path,
) -> None:
    """The process dies at once afterwards, so that the next one takes what the log
    holds.
    """
    said: Counter[str] = Counter()
    secret = "secret " * 600
    # Patterns of secrets are compiled here, once rather than in each process.
    with closing(_journal(tmp_path / "first")) as journal:
        journal.append([observation(secret)])
    for number, size in enumerate(range(0, 83_400, 600)):
        home = tmp_path / f"home-{number}"
        _journal(home).close()

        def full(home: Path = home, size: int = size) -> None:
            journal = _journal(home)
            journal.append([observation("before")])
            text = "written"
            with files_of_at_most(size):
                try:
                    journal.append([observation(secret), observation("after")])
                except StorageError as error:
                    text = str(error)
            (tmp_path / "said").write_text(text)
            os._exit(0)

        forked(full)
        text = (tmp_path / "said").read_text()
        with closing(_journal(home)) as journal:
            stored = journal.last_seq() - 1
        assert stored in (0, 2)
        kind = next(
            words
            for words in ("nothing was written", "not known", "written")
            if words in text
        )
        said[kind] += 1
        assert stored == {"written": 2, "nothing was written": 0}.get(kind, stored), (
            size,
            text,
        )
        shutil.rmtree(home)
    assert min(said["written"], said["nothing was written"]) > 20
    assert said["not known"] < 20, "what is known is said"


class _Failing:
    """A connection whose commit fails with the disk."""

    def __init__(self, statement: str) -> None:
        self.statement = statement
        self.in_transaction = False

    def execute(self, statement: str) -> None:
        if statement == self.statement:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorname = "SQLITE_FULL"
            raise error


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("COMMIT", "is not known"),
        ("INSERT", "nothing was written"),
        ("VACUUM", "make room"),
    ],
)
def test_a_failed_commit_says_that_its_outcome_is_unknown(
    statement: str, text: str
) -> None:
    connection = _Failing(statement)
    with pytest.raises(StorageError, match=text) as raised, explained("theorex.db"):  # noqa: PT012
        if statement == "VACUUM":
            connection.execute("VACUUM")
        with transaction(connection):  # type: ignore[arg-type]
            connection.execute("INSERT")
    assert ("nothing was written" in str(raised.value)) == (statement == "INSERT")


# Whose a home is


def _modes(home: Path) -> dict[str, int]:
    return {
        str(path.relative_to(home.parent)): stat.S_IMODE(path.stat().st_mode)
        for path in (home, *home.rglob("*"))
    }


def test_a_new_home_is_its_owners_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    mask = os.umask(0o022)
    try:
        settings = check_settings({"snapshotAfterEvents": 1})
        with Lab(
            home, clock=FixedClock(NOW), settings=settings, embedder=Meanings()
        ) as lab:
            fill(lab)
            lab.theorex.scan()
            lab.search("cache")
            lab.searcher.vectors.embed_pending()
            lab.maintain()
            lab.archive(NOW + 1)
            modes = _modes(home)
    finally:
        os.umask(mask)
    assert {name.split("/")[1] for name in modes if "/" in name} >= {
        "theorex.db",
        "theorex.db-wal",
        "views",
        "vectors",
    }
    assert {name: oct(mode) for name, mode in modes.items() if mode & 0o077} == {}


def _read_only(home: Path) -> None:
    """Make a home one that this process can only read: by a mount of its own, else by
    its modes.
    """
    import ctypes

    system = ctypes.CDLL(None, use_errno=True)
    name = bytes(home)
    bind = 0x1000
    remount_read_only = 0x1000 | 0x20 | 0x1
    mounted = (
        system.unshare(0x20000) == 0
        and system.mount(b"none", b"/", None, 0x44000, None) == 0
        and system.mount(name, name, None, bind, None) == 0
        and system.mount(b"none", name, None, remount_read_only, None) == 0
    )
    if not mounted:
        for path in (*home.rglob("*"), home):
            path.chmod(path.stat().st_mode & 0o555)


@pytest.mark.parametrize("state_of_log", ["closed", "in use", "crashed"])
def test_a_home_that_may_only_be_read_is_read(
    state_of_log: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    numbers = count()
    with documented(home) as lab:
        fill(lab)
        lab.search("cache")
    if state_of_log == "crashed":
        forked(lambda: (_journal(home).append([observation("late")]), os._exit(0)))
    kept = _journal(home) if state_of_log == "in use" else None

    def reading() -> None:
        _read_only(home)
        with documented(home) as lab:
            assert (
                next(hit.text for hit in lab.search("cache", kinds=["concept"]))
                == "cache"
            )
            assert lab.status()["events"] == lab.journal.last_seq() > 10
            assert lab.verify().ok
            assert "shorten the TTL" in lab.briefing().text
            assert note_recalled(lab.home, "search", agent="main").startswith(
                "what was given is not noted: "
            )
            assert len(list(lab.journal.tail(0))) == lab.journal.last_seq()
            backup(lab.journal, tmp_path / f"backup-{next(numbers)}.db")
            for write in (
                lambda: lab.agent("main").write("x"),
                lab.theorex.scan,
                lambda: lab.erase(agent="sage"),
            ):
                with pytest.raises(StorageError):
                    write()

    assert forked(reading) == 0
    if kept is not None:
        kept.close()
    with closing(SqliteJournal(tmp_path / "backup-0.db")) as copy:
        assert copy.last_seq() > 10


def test_the_commands_of_a_home(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # in no project
    run("write", "the cache was cold")
    file = tmp_path / "backup.db"
    done = run("backup", str(file), "--json")
    assert (done.code, done.json.keys()) == (
        0,
        {"file", "events", "segments", "bytes", "bad_events"},
    )
    assert run("backup", str(file)).code == 1
    again = run("backup", str(file), "--replace", "--json")
    assert again.json["events"] == done.json["events"]
    assert run("--json", "verify").json["ok"] is True
    sound = run("verify", "--salvage", "--json").json
    assert sound == {
        "events": 1,
        "lost": [],
        "set_aside": "",
        "problems": [],
        "bad_events": [],
    }
    run("write", "the queue was full")
    database = tmp_path / "home" / "theorex.db"
    content = database.read_bytes()
    database.write_bytes(content.replace(b"the queue was full", b"the queue was fuel"))
    refused = run("status", "--json")
    assert (refused.code, "theorex verify --salvage" in refused.json["error"]) == (
        1,
        True,
    )
    salvaged = run("verify", "--salvage", "--json").json
    assert (salvaged["events"], salvaged["lost"]) == (1, [[2, 2]])
    assert "the cache was cold" in run("search", "cache").out
    restored = run("restore", str(file), "--json").json
    assert restored.keys() == {"file", "events", "set_aside"}
    assert restored["events"] == 1
    assert Path(restored["set_aside"], "theorex.db").is_file()
    assert (tmp_path / "home" / "SHARED_CONTEXT.md").is_file()
    assert "restore" in run("--help").out
