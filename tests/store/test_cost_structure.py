"""What the figures of the benchmarks rest on, without a clock: syncs, events read,
bytes written, views opened, copies.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import NOW, Meanings, observation

from benchmarks.measure import GivenVectors
from theorex_lab import Event, FixedClock, Lab, Settings
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.journal.snapshot import _READ_BYTES, open_snapshots, write_snapshot
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.search.index import ItemIndex
from theorex_lab.search.lexical import LexicalIndex, tokenize
from theorex_lab.search.vectors import VectorCache

# Stands between a process and the C library, and counts what reaches the disk for good.
SYNC_COUNTER = """
#define _GNU_SOURCE
#include <dlfcn.h>
static long calls;
long sync_calls(void) { return calls; }
int fsync(int file) { calls++; return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file); }
int fdatasync(int file) { calls++; return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file); }
"""
WRITES = """
import ctypes, sys
from theorex_lab import Lab, ObservationEntry
count = ctypes.CDLL(None).sync_calls
with Lab(sys.argv[1]) as lab:
    main = lab.agent("main")
    main.write("the first write makes the log")
    before = count()
    for _ in range(5):
        main.write("TTL invalidation prevents cache stampedes")
    each = count()
    lab.write_all([ObservationEntry(f"entry {n} of a batch", "main") for n in range(20)])
    print(each - before, count() - each)
"""


@pytest.fixture
def lab(tmp_path: Path, clock: FixedClock) -> Any:
    with Lab(tmp_path / "home", clock=clock, embedder=Meanings()) as lab:
        yield lab


def _events(count: int) -> list[Event]:
    return [
        observation(f"text {n} of caches", labels=[f"concept {n}", "shared"])
        for n in range(count)
    ]


def test_a_durable_write_syncs_exactly_once(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip(
            "counting syncs needs a C compiler, and Linux, where a library can be put"
            " before the C library"
        )
    source = tmp_path / "count.c"
    library = tmp_path / "count.so"
    source.write_text(SYNC_COUNTER)
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True
    )
    done = subprocess.run(
        [sys.executable, "-c", WRITES, tmp_path / "home"],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["5", "1"], "one a write, and one for a whole batch"


def test_a_search_reads_no_more_events_than_it_compares(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.journal.append(_events(300))
    lab.searcher.vectors.embed_pending()
    lab.search("caches")
    read: list[int] = []
    selected: list[str] = []
    real_read = SqliteJournal.read
    real_select = SqliteJournal._select

    def counted_read(
        journal: SqliteJournal, *, seqs: Sequence[int] = (), ids: Sequence[str] = ()
    ) -> list[Event]:
        read.append(len(seqs) + len(ids))
        return real_read(journal, seqs=seqs, ids=ids)

    def noted_select(
        journal: SqliteJournal, where: str, parameters: Sequence[object]
    ) -> list[Event]:
        selected.append(where)
        return real_select(journal, where, parameters)

    monkeypatch.setattr(SqliteJournal, "read", counted_read)
    monkeypatch.setattr(SqliteJournal, "_select", noted_select)
    assert len(lab.search("caches", limit=7)) == 7
    assert read == [15], "the best, of which newer ones may replace others"
    assert [where for where in selected if "seq >" in where] == [], (
        "nothing is new, so no tail is folded"
    )


def test_a_view_that_is_current_folds_nothing(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.journal.append(_events(3))
    lab.views.get(Axon)
    folded: list[int] = []
    real = Axon.apply
    monkeypatch.setattr(
        Axon,
        "apply",
        lambda view, events: (folded.append(len(events)), real(view, events))[1],
    )
    lab.views.get(Axon)
    assert folded == []
    lab.journal.append(_events(2))
    lab.views.get(Axon)
    assert folded == [2]


@pytest.mark.skipif(
    not Path("/proc/self/io").exists(), reason="counts written bytes through /proc"
)
def test_a_scan_that_changes_nothing_writes_nothing(lab: Lab) -> None:
    def written() -> int:
        lines = Path("/proc/self/io").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("wchar")))

    lab.journal.append(_events(500))
    lab.theorex.scan()
    before = written()
    seq = lab.journal.last_seq()
    lab.theorex.scan()
    assert lab.journal.last_seq() == seq
    assert written() == before


@pytest.mark.parametrize(
    ("act", "opened"),
    [
        (lambda lab: lab.agent("main").write("caches go stale"), set()),
        (lambda lab: lab.theorex.scan(), {"axon"}),
        (lambda lab: lab.theorex.prune(), {"axon"}),
        (lambda lab: lab.save_briefing(), {"axon", "documents", "outcomes", "marks"}),
        (
            lambda lab: lab.status(),
            {
                "axon",
                "facts",
                "channels",
                "strategies",
                "causal_graph",
                "research_records",
                "research_theorems",
                "research_insights",
                "research_skills",
                "notes",
                "flash",
                "capture_times",
                "maintenance_reports",
                "session_ends",
                "outcomes",
                "projects",
                "set_aside",
            },
        ),
        (lambda lab: lab.search("caches"), {"items", "axon"}),
        (lambda lab: lab.agent("main").search("caches"), {"items", "axon"}),
        (
            lambda lab: lab.agent("main").search("caches", kinds=["concept"]),
            {"labels", "axon", "shared"},
        ),
        (lambda lab: lab.theorex.graduate(), {"short_term"}),
        (lambda lab: lab.theorex.flush("a-session"), {"flash"}),
        (lambda lab: lab.theorex.promote(), {"axon", "shared"}),
        (lambda lab: lab.theorex.boot_aware(), {"axon", "shared", "marks"}),
    ],
    ids=[
        "write",
        "scan",
        "prune",
        "boot-inject",
        "status",
        "search",
        "search of an agent",
        "search of concepts",
        "graduate",
        "flush",
        "promote",
        "boot-aware",
    ],
)
def test_an_act_opens_only_the_views_that_it_needs(
    tmp_path: Path, clock: FixedClock, act: Callable[[Lab], object], opened: set[str]
) -> None:
    own = Settings(active_designs=["theorex"])
    with Lab(tmp_path, clock=clock, embedder=Meanings(), settings=own) as lab:
        lab.journal.append(_events(3))
        act(lab)
        names = {
            view.name
            for view in (
                lab.views._open.values() if "_whole_views" in vars(lab.home) else ()
            )
        }
    # The directory is no view that an act asks for: others are read by it.
    assert names - {"event_directory"} == opened


def test_a_scan_and_a_promotion_are_one_event_each(lab: Lab) -> None:
    lab.journal.append(_events(200))
    for act in (lab.theorex.scan, lab.theorex.promote):
        before = lab.journal.last_seq()
        act()
        assert lab.journal.last_seq() == before + 1
        act()
        assert lab.journal.last_seq() == before + 1, "a second time changes nothing"


def test_adding_to_the_lexical_index_leaves_its_segments_alone() -> None:
    index = LexicalIndex()
    index.add(
        [
            tokenize(f"word{n} of a document about caches and {n % 97}")
            for n in range(2_000)
        ]
    )
    segments = list(index._segments)
    assert segments
    for n in range(20):
        index.add([tokenize(f"a new document {n} about caches")])
        index.search(tokenize("caches"))
    assert all(
        now is before for now, before in zip(index._segments, segments, strict=True)
    )


def test_opening_a_snapshot_maps_its_large_files_and_copies_no_column(
    tmp_path: Path, lab: Lab
) -> None:
    lab.journal.append(_events(2_500))
    for kind in (Axon, lab.home.item_view):
        view = lab.views.get(kind)
        write_snapshot(
            tmp_path / view.name,
            view.columns(),
            code=kind.code,
            seq=view.seq,
            event_id="one",
            kinds=kind.kinds,
        )
        columns = next(open_snapshots(tmp_path / view.name, kind.code)).columns
        large = [array.base for array in columns.values() if array.nbytes > _READ_BYTES]
        assert large
        assert all(isinstance(base, mmap) for base in large)
        opened = kind()
        opened.load(columns)
        held = [array for array in _arrays(opened) if len(array) > 1]
        maps = [array for array in columns.values() if len(array) > 1]
        assert all(any(np.shares_memory(array, one) for one in maps) for array in held)


def _arrays(view: Axon | ItemIndex) -> list[np.ndarray[Any, Any]]:
    """The tables that a view holds, and the postings of the lexical index."""
    if isinstance(view, Axon):
        tables = [view.concepts, view.links, view.observations, view.mentions]
        return [array for table in tables for array in table.columns("").values()]
    return [
        *view.documents.columns("").values(),
        *view.lexical._segments[0],
        view.lexical._documents["length"],
    ]


def _searched_anew(lab: Lab, limit: int = 5) -> tuple[Lab, list[tuple[str, float]]]:
    """Another process' lab on the same home, and what its first search finds."""
    other = Lab(lab.folder, clock=FixedClock(NOW), embedder=Meanings())
    return other, [
        (hit.id, round(hit.score, 6)) for hit in other.search("caches", limit=limit)
    ]


def test_a_search_copies_out_only_vectors_that_may_be_near(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.searcher.vectors.embedder = GivenVectors()
    lab.journal.append(_events(6_000))
    lab.searcher.vectors.embed_pending()
    copied: list[int] = []
    real = VectorCache.read
    monkeypatch.setattr(
        VectorCache,
        "read",
        lambda cache, numbers: (copied.append(len(numbers)), real(cache, numbers))[1],
    )
    assert len(lab.search("caches")) == 10
    assert copied[0] == 1_000
    assert copied[1] <= 3 * 300, (
        "a text and those around it, of as many as each signal names"
    )


def test_a_damaged_vector_is_seen_by_the_search_that_would_return_it(lab: Lab) -> None:
    lab.journal.append(_events(100))
    lab.searcher.vectors.embed_pending()
    file = lab.searcher.vectors.cache.path
    content = bytearray(file.read_bytes())
    size = lab.searcher.vectors.cache._record.itemsize
    for record in range(0, len(content), size):
        content[record + 20] ^= 1
    file.write_bytes(content)
    other, found = _searched_anew(lab)
    assert len(found) == 5, "by words alone"
    assert other.searcher.vectors.coverage() == {
        "covered": 0,
        "queued": len(other.views.get(other.home.item_view).documents),
    }
    other.close()


def test_embedding_looks_each_document_up_a_bounded_number_of_times(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batch after batch, without going through the whole queue for each."""
    lab.journal.append(_events(400))
    looked_up: list[int] = []
    real = VectorCache.find
    monkeypatch.setattr(
        VectorCache,
        "find",
        lambda cache, keys: (looked_up.append(len(keys)), real(cache, keys))[1],
    )
    embedded = lab.searcher.vectors.embed_pending()
    assert embedded == len(lab.views.get(lab.home.item_view).documents)
    assert sum(looked_up) <= 4 * embedded
