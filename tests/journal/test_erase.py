"""Erasure: nothing of what was erased stays or comes back, whoever else is at work, and
nothing else is thrown away.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from conftest import DAY, NOW, Meanings, erase, observation
from faults import (
    VIEWS,
    boundaries,
    fill,
    holding,
    killed_at,
    opened,
    quick_folder,
    tool_event,
)
from small_process import in_small_process

from theorex_lab import Event, InvalidInput, Lab, StorageError, new_event
from theorex_lab.core.ids import concept_id
from theorex_lab.designs.theorex import lifecycle
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.flash import Flash
from theorex_lab.designs.theorex.stages import SharedWeb, ShortTerm
from theorex_lab.evolution.briefing import refresh
from theorex_lab.journal import snapshot, view
from theorex_lab.journal.erasing import select
from theorex_lab.journal.event import encode
from theorex_lab.journal.sqlite import connection as connection_module
from theorex_lab.journal.sqlite import erase as erasing
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.view import verify
from theorex_lab.memory.briefing import briefing_file
from theorex_lab.memory.briefing.briefing_file import CONTEXT_FILE
from theorex_lab.memory.briefing.index_file import INDEX_FILE, prompt_index_at
from theorex_lab.memory.briefing.prompt_lines import lines_for_prompt
from theorex_lab.search.vectors import VectorCache, text_key

SECRET = "zq9secretcanary7"
PATIENCE_SECONDS = 60
HEAD_START_SECONDS = 1


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


def secret(text: str = f"the {SECRET} vault", **options: object) -> Event:
    return observation(text, labels=[f"{SECRET} vault"], **options)  # type: ignore[arg-type]


def raw_rows(home: Path) -> list[tuple[str, str]]:
    """(session, body) of each event, as the file holds them."""
    connection = sqlite3.connect(home / "theorex.db")
    rows = connection.execute(
        "SELECT session, body FROM events ORDER BY seq"
    ).fetchall()
    connection.close()
    return rows


# Hashes


def test_the_hash_of_an_erased_body_cannot_be_tried_out(tmp_path: Path) -> None:
    digests = []
    for name in ("one", "two"):
        with opened(tmp_path / name) as lab:
            event = observation("the room is 4711", event_id="a-secret")
            lab.journal.append([event])
            lab.erase(ids=["a-secret"])
        body = json.loads(raw_rows(tmp_path / name)[0][1])
        assert body.keys() == {"erased", "hmac_sha256"}
        digests.append(body["hmac_sha256"])
        plain = hashlib.sha256(encode(event.body).encode()).hexdigest()
        assert holding(tmp_path / name, plain) == []
    assert digests[0] != digests[1], "the key is another one each time"


def test_no_hash_of_an_archived_body_or_of_its_segment_is_left(tmp_path: Path) -> None:
    with opened(tmp_path) as lab:
        lab.journal.append([tool_event("the room is 4711"), tool_event("make test")])
        lab.journal.append(
            [new_event("flushed", {"upto": 2}, agent="main", session="s1", at=NOW)]
        )
        lab.archive(NOW + 1)
        stub = json.loads(raw_rows(tmp_path)[0][1])
        (segment,) = (tmp_path / "archive").iterdir()
        of_segment = hashlib.sha256(segment.read_bytes()).hexdigest()
        assert holding(tmp_path, of_segment) == []
        assert lab.erase(match="4711")
        assert holding(tmp_path, stub["sha256"], "4711") == []
        assert lab.verify().ok


def test_an_id_with_the_sign_of_no_value_is_erased_as_any_other(tmp_path: Path) -> None:
    """SQLite ends a text of JSON there, and would look for another event."""
    with Lab(tmp_path) as lab:
        lab.journal.append(
            [
                observation("kept", event_id="a"),
                observation(SECRET, event_id="a\0b"),
                observation(SECRET, event_id="c", lineage=["a\0b"]),
            ]
        )
        with pytest.raises(InvalidInput, match="got the event id 'a.x00c', which"):
            lab.erase(ids=["a\0c"])
        assert lab.erase(ids=["a\0b"]) == ["a\0b", "c"]
        assert [event.id for event in lab.journal.read(ids=["a"])] == ["a"]
        assert lab.verify().ok
    assert holding(tmp_path, SECRET) == []


def test_a_session_is_matched_and_goes_with_its_events(tmp_path: Path) -> None:
    session = f"s-{SECRET}"
    with opened(tmp_path) as lab, opened(tmp_path) as other:
        fill(lab)
        lab.journal.append(
            [tool_event("the upload worker met a wall", session=session)]
        )
        assert lab.theorex.flush(session).kept == 1
        lab.journal.append(
            [tool_event("the upload worker met a door", session=session)]
        )
        lab.journal.append(
            [new_event("session_ended", {}, agent="main", session=session, at=NOW)]
        )
        for kind in VIEWS:
            assert lab.views.snapshot(lab.views.get(kind))
            other.views.get(kind)
        assert holding(tmp_path, SECRET)
        assert len(select(lab.journal, match=SECRET)) == 5
        assert len(lab.erase(match=SECRET)) == 5
        assert holding(tmp_path, SECRET) == []
        assert session not in lab.theorex.sessions() + other.theorex.sessions()
        for each in (lab, other):
            views = (each.views.get(Flash), each.views.get(ShortTerm))
            assert not any(SECRET in name for one in views for name in one.sessions)
        assert lab.verify().ok
        assert lab.erase(match=SECRET) == []
    assert [row[0] for row in raw_rows(tmp_path)[-6:-1]] == [""] * 5


def test_what_was_erased_does_not_end_the_session_without_a_name(
    tmp_path: Path,
) -> None:
    with opened(tmp_path) as lab:
        lab.journal.append([tool_event("make test", session="", at=NOW - DAY)])
        lab.journal.append(
            [new_event("session_ended", {}, agent="main", session="s9", at=NOW - DAY)]
        )
        lab.erase(match="s9")
        assert lab.archive(NOW).events == 0


def test_a_session_changes_only_with_an_erasure(tmp_path: Path) -> None:
    with opened(tmp_path) as lab:
        lab.journal.append([tool_event("x")])
        for session, body in (
            ("", encode({"v": 1})),
            ("s2", encode({"erased": 1})),
            ("", "body"),
        ):
            value = "body" if body == "body" else "?"
            with pytest.raises(sqlite3.IntegrityError, match="never changed"):
                lab.journal.connection().execute(
                    f"UPDATE events SET session = ?, body = {value}",
                    [session, *([] if body == "body" else [body])],
                )


def test_hexadecimal_digits_are_not_found_in_a_hash(tmp_path: Path) -> None:
    with opened(tmp_path) as lab:
        first = observation("x", event_id="first")
        lab.journal.append(
            [first, observation("y", lineage=["first"], event_id="second")]
        )
        erase(lab.journal, ["first"], agent="main", at=NOW)
        digest = json.loads(raw_rows(tmp_path)[0][1])["hmac_sha256"]
        assert select(lab.journal, match=digest[:8]) == []


def test_choosing_takes_no_more_memory_for_a_longer_journal(tmp_path: Path) -> None:
    with opened(tmp_path) as lab:
        lab.journal.append(
            [observation("long " * 1_000) for _ in range(4_000)] + [secret()]
        )
        tracemalloc.start()
        assert len(select(lab.journal, match=SECRET)) == 1
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 2_000_000, "20 MB of bodies"


# Others at work meanwhile


class Erasing:
    """Erases the secret in a thread with a home of its own, as another process would."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = home
        self.committed = threading.Event()
        self.reached: list[str] = []
        self.thread = threading.Thread(target=self._run)
        remove = briefing_file.remove_briefings

        def removing(*arguments: Path) -> None:
            self.committed.set()
            remove(*arguments)

        monkeypatch.setattr("theorex_lab.store.lab.remove_briefings", removing)

    def _run(self) -> None:
        with opened(self.home) as lab:
            self.reached = lab.erase(match=SECRET)

    def until_committed(self) -> None:
        """Let it run up to where the bodies are gone from the journal; it may be
        waiting for a lock then.
        """
        if self.thread.ident is None:
            self.thread.start()
            assert self.committed.wait(PATIENCE_SECONDS)

    def end(self) -> None:
        self.thread.join(PATIENCE_SECONDS)
        assert not self.thread.is_alive()
        assert self.reached


def _with_secret(home: Path) -> None:
    with opened(home) as lab:
        fill(lab)
        lab.journal.append([secret()])


@pytest.mark.parametrize(
    "moment", ["before the lock", "before it is written", "after it was written"]
)
@pytest.mark.parametrize("locks", [True, False])
def test_no_snapshot_is_written_past_an_erasure(
    tmp_path: Path, monkeypatch, moment: str, locks: bool
) -> None:
    """Also where the system has no locks: then what was written is taken back."""
    _with_secret(tmp_path)
    erasing = Erasing(tmp_path, monkeypatch)
    write = snapshot.write_snapshot
    exclusive = view.exclusive
    writes: list[int] = []

    def writing(*arguments: object, **options: object) -> Path:
        writes.append(1)
        if moment == "before it is written":
            erasing.until_committed()
        path = write(*arguments, **options)  # type: ignore[arg-type]
        if moment == "after it was written" and not erasing.committed.is_set():
            assert holding(path, SECRET)
            erasing.until_committed()
        return path

    @contextmanager
    def locking(path: Path, *, wait: bool) -> Iterator[bool]:
        if moment == "before the lock" and path.parent.name == Axon.name and not wait:
            erasing.until_committed()
        if locks:
            with exclusive(path, wait=wait) as held:
                yield held
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            yield True

    monkeypatch.setattr(view, "write_snapshot", writing)
    monkeypatch.setattr(view, "exclusive", locking)
    if not locks:
        monkeypatch.setattr(snapshot, "exclusive", locking)
    with opened(tmp_path) as lab:
        assert not lab.views.snapshot(lab.views.get(Axon))
        assert len(writes) == (moment != "before the lock"), (
            "what is known to be erased is not even written"
        )
        erasing.end()
        assert holding(tmp_path, SECRET) == []
        assert lab.views.snapshot(lab.views.get(Axon)), "the next look has forgotten it"
        assert holding(tmp_path, SECRET) == []
        assert lab.verify().ok


def test_an_erasure_waits_for_whoever_writes_a_snapshot(
    tmp_path: Path, monkeypatch
) -> None:
    """One that is killed after it has written takes nothing back."""
    exclusive = snapshot.exclusive
    waited = []

    @contextmanager
    def noting(path: Path, *, wait: bool) -> Iterator[bool]:
        waited.append((path.parent.name, wait))
        with exclusive(path, wait=wait) as held:
            yield held

    _with_secret(tmp_path)
    with opened(tmp_path) as lab:
        lab.views.snapshot(lab.views.get(Axon))
        monkeypatch.setattr(snapshot, "exclusive", noting)
        lab.erase(match=SECRET)
    assert (Axon.name, True) in waited


@in_small_process
def test_a_snapshot_that_was_killed_anywhere_is_reached(tmp_path: Path) -> None:
    template = tmp_path / "template"
    _with_secret(template)

    def step(lab: Lab) -> None:
        lab.views.snapshot(lab.views.get(Axon))

    passed = boundaries(template, tmp_path, step)
    assert "os.rename" in {name.split()[0] for name in passed}
    for number in range(2, len(passed) + 1, 3):
        home = killed_at(number, template, tmp_path, step)
        with opened(home) as lab:
            lab.erase(match=SECRET)
        assert holding(home, SECRET) == [], passed[number - 1]


def test_an_erasure_killed_before_it_had_removed_snapshots_is_noticed_by_the_next_reader(
    tmp_path: Path,
) -> None:
    with opened(tmp_path) as lab, opened(tmp_path) as other:
        fill(lab)
        lab.journal.append([secret(event_id="it")])
        lab.views.snapshot(lab.views.get(Axon))
        other.views.get(Axon)
        erase(lab.journal, ["it"], agent="main", at=NOW)
        assert holding(tmp_path, SECRET), "the snapshot"
        assert not any(SECRET in label for label in other.views.get(Axon).labels)
        assert holding(tmp_path, SECRET) == []


def test_a_briefing_rendered_before_an_erasure_is_not_left_after_it(
    tmp_path: Path, monkeypatch
) -> None:
    _with_secret(tmp_path)
    erasing = Erasing(tmp_path, monkeypatch)
    write = briefing_file.write_atomically

    def writing(path: Path, data: bytes) -> None:
        assert SECRET.encode() in data.lower() or path.name.endswith(".items.json")
        erasing.until_committed()
        # Without a lock it would be done by now, and what follows would stay.
        erasing.thread.join(HEAD_START_SECONDS)
        write(path, data)

    monkeypatch.setattr(briefing_file, "write_atomically", writing)
    with opened(tmp_path) as lab:
        lab.save_briefing()
        erasing.end()
    assert holding(tmp_path, SECRET) == []


def test_an_erasure_reaches_the_index_of_prompts_and_every_briefing(
    tmp_path: Path,
) -> None:
    with opened(tmp_path) as lab:
        fill(lab)
        lab.agent("main").write(f"The {SECRET} vault opens at six.")
        said = {
            "text": f"Paint the {SECRET} vault",
            "source": "user",
            "project": "shop",
        }
        prompt = new_event("prompt", said, agent="main", session="s8", at=NOW)
        lab.journal.append([prompt])
        refresh(lab.home, 5)
        written = {*holding(tmp_path, SECRET)}
        files = (INDEX_FILE, CONTEXT_FILE, "contexts/shop.md")
        assert {*files} <= written
        lab.erase(match=SECRET)
        assert holding(tmp_path, SECRET) == []
        assert not (tmp_path / CONTEXT_FILE).exists()
        with prompt_index_at(str(tmp_path / INDEX_FILE)) as index:
            found = lines_for_prompt(
                index, "shop", f"Where is the {SECRET} vault?", NOW, tokens=500
            )
        assert found == []


def test_what_is_erased_while_it_is_flushed_is_not_kept(
    tmp_path: Path, monkeypatch
) -> None:
    append = lifecycle.append_once

    def late(journal: object, events: Sequence[Event]) -> bool:
        with opened(tmp_path) as other:
            assert len(other.erase(match=SECRET)) == 1
        return append(journal, events)

    with opened(tmp_path) as lab:
        lab.journal.append(
            [
                tool_event(f"the {SECRET} gateway"),
                tool_event("the upload worker met a wall"),
            ]
        )
        with monkeypatch.context() as patch:
            patch.setattr(lifecycle, "append_once", late)
            assert lab.theorex.flush("s1") == (0, 0)
        assert holding(tmp_path, SECRET) == []
        assert lab.theorex.flush("s1") == (1, 0), "the rest is kept by the next"


def test_what_is_derived_between_choosing_and_erasing_cannot_be(
    tmp_path: Path, monkeypatch
) -> None:
    """Others cannot write from the moment that is chosen until all of it is erased."""
    tried = []
    one = erasing._erase_one

    def trying(
        connection: sqlite3.Connection, event_id: str, key: bytes
    ) -> tuple[str, int] | None:
        other = sqlite3.connect(tmp_path / "theorex.db", timeout=0)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        other.close()
        tried.append(event_id)
        return one(connection, event_id, key)

    monkeypatch.setattr(erasing, "_erase_one", trying)
    with opened(tmp_path) as lab:
        lab.journal.append([secret(event_id="it")])
        lab.erase(match=SECRET)
    assert tried == ["it"]


# Checkpoints


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Another process in the midst of reading."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM events").fetchall()
    try:
        yield
    finally:
        other.close()


@contextmanager
def writing_meanwhile(path: Path) -> Iterator[None]:
    """Another process in the midst of writing."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close()


DOINGS: dict[str, tuple[Callable[[Lab], object], str]] = {
    "erase": (lambda lab: lab.erase(match=SECRET), "the bodies are erased"),
    "archive": (lambda lab: lab.archive(NOW + 1), "the events are archived"),
}


@pytest.mark.parametrize("doing", DOINGS)
@pytest.mark.parametrize("number", [1, 2])
def test_a_checkpoint_that_waited_in_vain_is_told(
    tmp_path: Path, monkeypatch, doing: str, number: int
) -> None:
    checkpoint = erasing._checkpoint
    calls = []
    do, done = DOINGS[doing]
    # A connection keeps the patience that it is opened with.
    monkeypatch.setattr(connection_module, "BUSY_TIMEOUT_SECONDS", 0.05)

    def checking(connection: sqlite3.Connection) -> bool:
        calls.append(1)
        if len(calls) != number:
            return checkpoint(connection)
        with reading(tmp_path / "theorex.db"):
            # Something to move that the reader does not let go of.
            with opened(tmp_path) as other:
                other.journal.append([observation("meanwhile")])
            return checkpoint(connection)

    with opened(tmp_path) as lab:
        fill(lab)
        lab.journal.append([secret()])
        lab.views.snapshot(lab.views.get(Axon))
        with monkeypatch.context() as patch:
            patch.setattr(erasing, "_checkpoint", checking)
            patch.setattr(erasing, "free_space", lambda _: (True, 0.0))
            with pytest.raises(
                StorageError, match=f"{done}.* write-ahead log .*repeat"
            ):
                do(lab)
        assert len(calls) == number, (
            "where the log cannot be emptied the file is not rewritten into it"
        )
        do(lab)
        if doing == "erase":
            assert holding(tmp_path, SECRET) == []


@pytest.mark.parametrize("doing", DOINGS)
def test_a_file_that_could_not_be_rewritten_is_told(
    tmp_path: Path, monkeypatch, doing: str
) -> None:
    checkpoint = erasing._checkpoint
    do, done = DOINGS[doing]
    monkeypatch.setattr(connection_module, "BUSY_TIMEOUT_SECONDS", 0.05)
    with opened(tmp_path) as lab:
        fill(lab)
        lab.journal.append([secret()])
        lab.views.snapshot(lab.views.get(Axon))
        with monkeypatch.context() as patch:
            patch.setattr(erasing, "free_space", lambda _: (True, 0.0))
            with (
                writing_meanwhile_after(checkpoint, tmp_path, monkeypatch),
                pytest.raises(StorageError, match=f"{done}, but old bytes.*repeat"),
            ):
                do(lab)
        if doing == "erase":
            assert not any(
                name.startswith("views") for name in holding(tmp_path, SECRET)
            ), "all else is done"
        do(lab)


@contextmanager
def writing_meanwhile_after(
    checkpoint: Callable[[sqlite3.Connection], bool],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[None]:
    """Another process begins to write after the first checkpoint, and does not end."""
    other = sqlite3.connect(home / "theorex.db", isolation_level=None)

    def checking(connection: sqlite3.Connection) -> bool:
        done = checkpoint(connection)
        other.execute("BEGIN IMMEDIATE")
        return done

    with monkeypatch.context() as patch:
        patch.setattr(erasing, "_checkpoint", checking)
        try:
            yield
        finally:
            other.close()


# What is not reached stays


@pytest.fixture
def folded(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """view -> the seqs that were folded, in order."""
    seqs: dict[str, list[int]] = {kind.name: [] for kind in VIEWS}
    for kind in VIEWS:

        def counting(
            self: view.View,
            events: Sequence[Event],
            kind: type = kind,
            fold: object = kind.apply,
        ) -> None:
            seqs[kind.name] += [event.seq for event in events]
            fold(self, events)  # type: ignore[operator]

        monkeypatch.setattr(kind, "apply", counting)
    return seqs


def test_a_view_whose_kinds_are_not_reached_goes_on(
    tmp_path: Path, folded: dict[str, list[int]]
) -> None:
    with opened(tmp_path) as lab, opened(tmp_path) as other:
        fill(lab)
        lab.journal.append([tool_event(f"the {SECRET} gateway", session="s7")])
        for kind in VIEWS:
            assert lab.views.snapshot(lab.views.get(kind))
            other.views.get(kind)
        last = lab.journal.last_seq()
        lab.erase(match=SECRET)
        for seqs in folded.values():
            seqs.clear()
        for kind in VIEWS:
            other.views.get(kind)
            assert any(
                snapshot.open_snapshots(tmp_path / "views" / kind.name, kind.code)
            ) == (kind.name not in ("flash", "traces"))
        assert {
            name for name, seqs in folded.items() if any(seq <= last for seq in seqs)
        } == {"flash", "traces"}
        assert other.verify().ok


def test_a_view_goes_back_to_the_snapshot_before_what_was_erased(
    tmp_path: Path, folded: dict[str, list[int]]
) -> None:
    with opened(tmp_path) as lab:
        lab.journal.append([observation(f"{n}", labels=[f"c{n}"]) for n in range(10)])
        lab.views.snapshot(lab.views.get(Axon))
        lab.journal.append(
            [
                observation("y", labels=["cache"]),
                secret(),
                observation("z", labels=["ttl"]),
            ]
        )
        lab.views.snapshot(lab.views.get(Axon))
        folded["axon"].clear()
        lab.erase(match=SECRET)
        lab.views.get(Axon)
        assert folded["axon"] == [11, 13]
        assert lab.verify().ok
    folded["axon"].clear()
    with opened(tmp_path) as lab:
        lab.views.get(Axon)
        assert folded["axon"] == [11, 13]


def test_an_erasure_of_an_earlier_release_or_one_that_was_erased_reaches_everything(
    tmp_path: Path, folded: dict[str, list[int]]
) -> None:
    with opened(tmp_path) as lab, opened(tmp_path) as other:
        lab.journal.append([observation("x", labels=["cache"])])
        for number in range(2):
            lab.views.snapshot(lab.views.get(Axon))
            folded["axon"].clear()
            if number:
                other.erase(
                    ids=[
                        lab.journal.append([tool_event("x")])
                        and lab.journal.read(seqs=[3])[0].id
                    ]
                )
                other.erase(agent="theorex")
                folded["axon"].clear()
            else:
                old = Event(
                    0,
                    "old-erasure",
                    NOW,
                    "theorex",
                    "",
                    "erasure",
                    (),
                    {"v": 1, "ids": []},
                )
                lab.journal.append([old])
            lab.views.get(Axon)
            assert folded["axon"] == [1]
        assert lab.verify().ok


def test_an_erasure_during_a_verification_is_no_difference(
    tmp_path: Path, monkeypatch
) -> None:
    fold_into = view.fold_into
    erased = []

    def late(
        each: view.View, journal: SqliteJournal, upto: int, *, in_outline: bool = False
    ) -> int:
        if each is not lab.views._open[Axon] and not erased:
            erased.append(1)
            with opened(tmp_path) as other:
                other.erase(match=SECRET)
        return fold_into(each, journal, upto, in_outline=in_outline)

    with opened(tmp_path) as lab:
        lab.journal.append([secret(), observation("y", labels=["cache"])])
        lab.views.get(Axon)
        monkeypatch.setattr(view, "fold_into", late)
        assert verify(lab.views, [Axon]).ok
    assert erased


# Vectors


class Counting(Meanings):
    """Counts the texts that it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        return super().embed(texts)


def held(home: Path, embedder: Meanings, *texts: str) -> list[bool]:
    """Whether the cache holds a vector of each text: by a look at every record of the
    file, and by asking it.
    """
    cache = VectorCache(home / "vectors", embedder.id, embedder.dimensions)
    content = cache.path.read_bytes()
    found = [text_key(text) in content for text in texts]
    assert found == cache.get([text_key(text) for text in texts])[0].tolist()
    return found


def test_only_the_vectors_of_erased_texts_go_and_the_others_are_not_computed_anew(
    tmp_path: Path,
) -> None:
    embedder = Counting()
    with Lab(tmp_path, embedder=embedder) as lab:
        lab.journal.append(
            [observation(f"text {n}", labels=["cache", f"c{n}"]) for n in range(5)]
        )
        lab.journal.append([secret(), observation("the end", labels=["cache"])])
        lab.searcher.vectors.embed_pending()
        foreign = VectorCache(tmp_path / "vectors", "another embedder", 3)
        foreign.add(
            [text_key(text) for text in ("text 1", f"the {SECRET} vault")],
            np.eye(2, 3, dtype=np.float32),
        )
        texts = ["text 0", "the end", f"the {SECRET} vault"]
        assert held(tmp_path, embedder, *texts) == [True] * 3
        assert held(tmp_path, embedder, "cache", f"{SECRET} vault") == [False] * 2, (
            "labels have no vectors"
        )
        (tmp_path / "vectors" / f".{foreign.path.name}.999").write_bytes(
            text_key(f"the {SECRET} vault")
        )
        lab.erase(match=SECRET)
        assert held(tmp_path, embedder, *texts) == [True, True, False]
        assert foreign.get(
            [text_key(text) for text in ("text 1", f"the {SECRET} vault")]
        )[0].tolist() == [True, False]
        assert not list((tmp_path / "vectors").glob(".*"))
        embedder.asked.clear()
        assert lab.searcher.vectors.embed_pending() == 0
        assert next(iter(lab.search("text 3"))).text == "text 3"
        assert embedder.asked == ["text 3"], "the query alone"
        inode = foreign.path.stat().st_ino
        lab.erase(match="nothing of the kind")
        assert foreign.path.stat().st_ino == inode, (
            "a file that holds nothing erased is left alone"
        )


@pytest.mark.parametrize("moment", ["before it is kept", "while it is kept"])
def test_a_vector_made_of_a_text_that_is_erased_meanwhile_is_not_kept(
    tmp_path: Path, monkeypatch, moment: str
) -> None:
    """Between the reading of the texts and the lock, or after the look under the lock:
    then the erasure waits for it.
    """
    embedder = Counting()
    with Lab(tmp_path, embedder=embedder) as lab:
        lab.journal.append([observation("y", labels=["cache"]), secret(at=NOW)])
        erasing = Erasing(tmp_path, monkeypatch)
        keep = lab.searcher.vectors._keep
        remembered = lab.searcher.vectors._remembered

        def keeping(*arguments: object) -> None:
            if moment == "before it is kept":
                erasing.until_committed()
            keep(*arguments)  # type: ignore[arg-type]

        def looking(*arguments: object) -> np.ndarray:
            wanted = remembered(*arguments)  # type: ignore[arg-type]
            if moment == "while it is kept":
                assert wanted.all()
                erasing.until_committed()
            return wanted

        monkeypatch.setattr(lab.searcher.vectors, "_keep", keeping)
        monkeypatch.setattr(lab.searcher.vectors, "_remembered", looking)
        lab.searcher.vectors.embed_pending()
        erasing.end()
        assert held(tmp_path, embedder, "y", f"the {SECRET} vault") == [True, False]
        assert lab.searcher.vectors.coverage() == {"covered": 1, "queued": 0}


def test_who_searches_follows_a_file_that_was_swept(tmp_path: Path) -> None:
    with (
        Lab(tmp_path, embedder=Meanings()) as lab,
        Lab(tmp_path, embedder=Meanings()) as other,
    ):
        lab.journal.append(
            [secret(), *(observation(f"text {n}", labels=[f"c{n}"]) for n in range(5))]
        )
        other.searcher.vectors.embed_pending()
        for text in ("text 2", "text 4"):
            assert other.search(text).hits[0].text == text
        lab.erase(match=SECRET)
        assert other.search("text 2").hits[0].text == "text 2"
        assert other.searcher.vectors.coverage() == {"covered": 5, "queued": 0}


@pytest.mark.parametrize("call", [0, 1, 2])
def test_a_file_may_be_swept_between_any_two_looks_into_it(
    tmp_path: Path, monkeypatch, call: int
) -> None:
    with (
        Lab(tmp_path, embedder=Meanings()) as lab,
        Lab(tmp_path, embedder=Meanings()) as other,
    ):
        # The newest is embedded first: without it all the others have other numbers.
        lab.journal.append(
            [*(observation(f"text {n}", labels=[f"c{n}"]) for n in range(5)), secret()]
        )
        other.searcher.vectors.embed_pending()
        lab.journal.append([observation("text late", labels=["late"])])
        with monkeypatch.context() as patch:
            patch.setattr(Lab, "_sweep_vectors", lambda _self: None)
            other.erase(match=SECRET)
        find = VectorCache.find
        add = VectorCache.add
        calls = []
        locked = []

        def adding(self: VectorCache, *arguments: object, **options: object) -> None:
            if call == 0:
                other._sweep_vectors()
            locked.append(1)
            add(self, *arguments, **options)  # type: ignore[arg-type]
            locked.pop()

        def finding(self: VectorCache, keys: np.ndarray) -> np.ndarray:
            if self is lab.searcher.vectors.cache and not locked:
                calls.append(1)
                if len(calls) == call:
                    other._sweep_vectors()
            return find(self, keys)

        monkeypatch.setattr(VectorCache, "find", finding)
        monkeypatch.setattr(VectorCache, "add", adding)
        assert lab.search("text 4").hits[0].text == "text 4"
        assert lab.searcher.vectors.embed_pending() == 0, "the search did it"
        assert lab.search("text late").hits[0].text == "text late"
        assert lab.searcher.vectors.coverage() == {"covered": 6, "queued": 0}
        assert len(calls) >= call


def test_a_name_that_only_the_shared_web_keeps_is_numbers(tmp_path: Path) -> None:
    with opened(tmp_path) as lab:
        lab.journal.append([secret()])
        lab.theorex.promote()
        assert lab.views.get(SharedWeb).contributed("main").keys() == {
            concept_id(f"{SECRET} vault")
        }
        lab.erase(match=SECRET)
        assert lab.theorex.query_shared(SECRET) == []
