"""Processes at once: every step is counted once, and a reader sees a prefix of the
journal at every look.
"""

from __future__ import annotations

import functools
import os
import select
import shutil
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import DAY, NOW, Meanings, observation
from faults import (
    ITEMS,
    STEPS,
    VIEWS,
    Boundaries,
    documented,
    fill,
    forked,
    holding,
    quick_folder,
    state,
    together,
    tool_event,
)

from theorex_lab import Event, FixedClock, Lab, new_event
from theorex_lab.core.ids import concept_id, new_event_id
from theorex_lab.core.settings import check_settings
from theorex_lab.designs.theorex import lifecycle, scores
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.flash import Flash
from theorex_lab.designs.theorex.stages import SharedWeb, ShortTerm
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.memory.decay import Tier
from theorex_lab.search.vectors import record_type

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs processes that are forked"
)
ROUNDS = 6
SENTENCE = "the upload worker met a database deadlock"


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


def _whole_cycle(home: Path) -> None:
    with documented(home, snapshotAfterEvents=3) as lab:
        for step in STEPS.values():
            step(lab)
        for agent in ("main", "sage"):
            lab.theorex.promote(agent=agent)


def _counts(home: Path) -> dict[str, object]:
    """What must be the same whether one process went through the cycle or two did."""
    with documented(home) as lab:
        axon = lab.views.get(Axon)
        shared = lab.views.get(SharedWeb)
        keys = [
            (axon.agents[int(a)], int(c))
            for a, c in zip(
                axon.concepts["agent"], axon.concepts["concept_id"], strict=True
            )
        ]
        given = {
            agent: (shared.contributed(agent), shared.contributed_links(agent))
            for agent in ("main", "sage")
        }
        kinds = Counter(event.kind for event in lab.journal.tail(0))
        return {
            "concepts": dict(zip(keys, axon.concepts["count"].tolist(), strict=True)),
            "tiers": dict(zip(keys, axon.concepts["tier"].tolist(), strict=True)),
            "alive": dict(zip(keys, axon.concepts["alive"].tolist(), strict=True)),
            "links": sorted(axon.links["count"].tolist()),
            "given": given,
            "shared": {
                each.text: each.count
                for each in lab.theorex.query_shared(
                    "cache ttl worker deadlock", limit=50
                )
            },
            "kept": sorted(lab.views.get(ShortTerm).records["concept_id"].tolist()),
            "waiting": lab.theorex.sessions(),
            "kinds": {
                kind: kinds[kind]
                for kind in (
                    "observation",
                    "tool_used",
                    "short_term",
                    "flushed",
                    "graduated",
                    "prune",
                )
            },
        }


def test_two_processes_that_go_through_the_cycle_at_once_count_as_one(
    tmp_path: Path,
) -> None:
    template = tmp_path / "template"
    with documented(template) as lab:
        fill(lab)
    alone = shutil.copytree(template, tmp_path / "alone")
    _whole_cycle(alone)
    expected = _counts(alone)
    assert expected["kinds"] == {
        "observation": 6,
        "tool_used": 9,
        "short_term": 8,
        "flushed": 7,
        "graduated": 2,
        "prune": 1,
    }
    for number in range(ROUNDS):
        home = shutil.copytree(template, tmp_path / f"home-{number}")
        assert together(
            lambda home=home: _whole_cycle(home), lambda home=home: _whole_cycle(home)
        ) == [0, 0]
        assert _counts(home) == expected
        state(home)  # it verifies
        shutil.rmtree(home)


@pytest.mark.parametrize("name", ["flush", "promote", "snapshot"])
def test_a_step_decided_twice_on_one_state_is_taken_once(
    name: str, tmp_path: Path, monkeypatch
) -> None:
    """The worst moment: the other process takes the whole step after this one has
    decided and before it appends.
    """
    with documented(tmp_path) as lab:
        fill(lab)
        for step in [*STEPS][: [*STEPS].index(name)]:
            STEPS[step](lab)
        append = lifecycle.append_once
        results: list[object] = []

        def late(journal: object, events: Sequence[Event]) -> bool:
            monkeypatch.setattr(lifecycle, "append_once", append)
            with documented(tmp_path) as other:
                results.append(STEPS[name](other))
            return append(journal, events)  # type: ignore[arg-type]

        monkeypatch.setattr(lifecycle, "append_once", late)
        results.append(STEPS[name](lab))
        if name == "snapshot":
            assert results == [True]
            return
        once = state(tmp_path)
        kinds = Counter(event.kind for event in lab.journal.tail(0))
    assert len(results) == 2
    done, undone = results
    assert done != undone
    assert {"flush": kinds["flushed"] == 7, "promote": kinds["promoted"] == 1}[name]
    assert once["events"]


@pytest.mark.parametrize(("name", "days"), [("scan", 300), ("prune", 31)])
def test_a_concept_that_is_mentioned_meanwhile_is_neither_put_to_sleep_nor_pruned(
    name: str, days: int, tmp_path: Path, monkeypatch
) -> None:
    """The worst moments: another process writes after the axon was read, and tries to
    before what was decided is written.
    """
    tried = []
    decide = getattr(scores, name)
    exclusive = SqliteJournal.exclusive

    def deciding(*arguments: object, **options: object) -> Event | None:
        with closing(sqlite3.connect(tmp_path / "theorex.db", timeout=0)) as other:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("BEGIN IMMEDIATE")
            tried.append(other)
        return decide(*arguments, **options)

    def late(journal: SqliteJournal) -> object:
        with documented(tmp_path) as other:
            other.journal.append([observation("the lease", labels=["lease"])])
        return exclusive(journal)

    with documented(tmp_path) as lab:
        old = [
            observation("x", labels=[label], at=NOW - days * DAY)
            for label in ("lease", "quorum")
        ]
        lab.journal.append(old)
        monkeypatch.setattr(scores, name, deciding)
        monkeypatch.setattr(SqliteJournal, "exclusive", late)
        STEPS[name](lab)
        axon = lab.views.get(Axon)
        alive = axon.rows_of()
        tiers = {
            axon.labels[row]: (
                int(axon.concepts["count"][row]),
                int(axon.concepts["tier"][row]),
            )
            for row in alive
        }
        expected = {"lease": (2, int(Tier.ACTIVE)), "quorum": (1, int(Tier.SLEEPING))}
        assert tiers == (
            expected if name == "scan" else {"lease": (2, int(Tier.NEUTRAL))}
        )
    assert tried


def test_a_graduation_counts_the_day_that_another_process_adds_meanwhile(
    tmp_path: Path, monkeypatch
) -> None:
    def kept(day: int) -> Event:
        body = {
            "concepts": [[concept_id("cache"), "cache", "cache", 1]],
            "score": 0.9,
            "source": "tool",
            "weight": 0.7,
        }
        return new_event(
            "short_term", body, agent="main", session=f"d{day}", at=NOW - day * DAY
        )

    exclusive = SqliteJournal.exclusive

    def late(journal: SqliteJournal) -> object:
        monkeypatch.setattr(SqliteJournal, "exclusive", exclusive)
        with documented(tmp_path) as other:
            other.journal.append([kept(0)])
            assert other.theorex.graduate() == ["cache"]
        return exclusive(journal)

    with documented(tmp_path) as lab:
        lab.journal.append([kept(day) for day in range(7, 0, -1)])
        monkeypatch.setattr(SqliteJournal, "exclusive", late)
        assert lab.theorex.graduate() == []
        assert lab.views.get(Axon).concepts["count"].tolist() == [8]


@pytest.mark.parametrize(
    ("text", "later", "expected"), [(SENTENCE, SENTENCE, (2, 1)), ("ok", "", (0, 1))]
)
def test_a_flush_decided_before_another_process_flushed_more_keeps_nothing_twice(
    tmp_path: Path, monkeypatch, text: str, later: str, expected: tuple[int, int]
) -> None:
    """Also where nothing is kept, so that no short-term record stands in the way of the
    second flush.
    """
    with documented(tmp_path) as lab:
        lab.journal.append([tool_event(text)])
        append = lifecycle.append_once

        def late(journal: object, events: Sequence[Event]) -> bool:
            monkeypatch.setattr(lifecycle, "append_once", append)
            with documented(tmp_path) as other:
                other.journal.append([tool_event(later, at=NOW + 1)] if later else [])
                other.theorex.flush("s1")
            return append(journal, events)  # type: ignore[arg-type]

        monkeypatch.setattr(lifecycle, "append_once", late)
        assert lab.theorex.flush("s1") == (0, 0)
        kinds = Counter(event.kind for event in lab.journal.tail(0))
        assert (kinds["short_term"], kinds["flushed"]) == expected
        assert lab.theorex.sessions() == []


def test_two_processes_that_erase_scan_and_snapshot_at_once_are_in_nobodys_way(
    tmp_path: Path,
) -> None:
    with documented(tmp_path) as lab:
        fill(lab)

    def erasing() -> None:
        for number in range(12):
            with documented(tmp_path, snapshotAfterEvents=1) as lab:
                (seq,) = lab.journal.append(
                    [observation(f"secret {number}", labels=[f"secret {number}"])]
                )
                lab.erase(ids=[lab.journal.read(seqs=[seq])[0].id])

    def reading() -> None:
        with documented(tmp_path, snapshotAfterEvents=1) as lab:
            for _ in range(40):
                for kind in VIEWS:
                    lab.views.snapshot(lab.views.get(kind))
                lab.theorex.scan()

    assert together(erasing, reading) == [0, 0]
    state(tmp_path)


SECRET = "zq9secretcanary7"
WRITERS = 4
TEXTS = 12
LIVES = 3
# About as many boundaries as a life passes that is not killed.
WRITER_BOUNDARIES = 700
MAINTENANCE_BOUNDARIES = 2_700


def _with_vectors(home: Path, **settings: Any) -> Lab:
    return Lab(
        home,
        clock=FixedClock(NOW),
        settings=check_settings(settings),
        embedder=Meanings(),
    )


def _write_until_killed(
    home: Path, acknowledged: Path, writer: int, kill_at: int
) -> None:
    """Append texts, every fourth a secret one, and note the id of each once it was
    appended.
    """
    seen = Boundaries(home, kill_at)
    seen.install()
    with (
        _with_vectors(home, snapshotAfterEvents=20) as lab,
        acknowledged.open("a") as file,
    ):
        for number in range(TEXTS):
            text = (
                f"the {SECRET} vault"
                if number % 4 == 3
                else f"the upload worker {writer} met a wall"
            )
            event = observation(
                f"{text} {new_event_id(NOW)}", labels=[text, f"wall {number}"]
            )
            lab.journal.append([event, tool_event(text, session=f"w{writer}")])
            file.write(f"{event.id}\n")
            file.flush()
            lab.search("wall")
            lab.searcher.vectors.embed_pending(2)


def _maintain_until_killed(home: Path, kill_at: int) -> None:
    """All that reads much and rewrites files, as often as a writer writes a few texts."""
    seen = Boundaries(home, kill_at)
    seen.install()
    with _with_vectors(home, snapshotAfterEvents=10) as lab:
        for _ in range(3):
            for session in lab.theorex.sessions():
                lab.theorex.flush(session)
            lab.erase(match=f"the {SECRET}")
            lab.theorex.scan()
            for kind in VIEWS:
                lab.views.snapshot(lab.views.get(kind))
            lab.archive(NOW + 1)
            lab.searcher.vectors.embed_pending()
            lab.save_briefing()


def test_writers_beside_scans_snapshots_archives_and_erasures_lose_nothing_though_all_are_killed(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    acknowledged = tmp_path / "acknowledged"
    with _with_vectors(home) as lab:
        fill(lab)
        before = lab.journal.last_seq()

    def lives(life: Callable[[int], None], seed: int, n_boundaries: int) -> None:
        kills = np.random.default_rng(seed).integers(1, n_boundaries, LIVES).tolist()
        ends = [forked(functools.partial(life, kill_at)) for kill_at in kills]
        assert set(ends) <= {0, -signal.SIGKILL}

    def writing(writer: int) -> Callable[[], None]:
        life = functools.partial(_write_until_killed, home, acknowledged, writer)
        return functools.partial(lives, life, writer, WRITER_BOUNDARIES)

    def maintaining(seed: int) -> Callable[[], None]:
        life = functools.partial(_maintain_until_killed, home)
        return functools.partial(lives, life, seed, MAINTENANCE_BOUNDARIES)

    codes = together(
        *(writing(number) for number in range(WRITERS)),
        maintaining(100),
        maintaining(101),
    )
    assert set(codes) == {0}
    noted = acknowledged.read_text().split()
    assert len(noted) > WRITERS * LIVES
    with _with_vectors(home) as lab:
        lab.erase(match=f"the {SECRET}")
        assert holding(home, SECRET) == []
        events = [
            event
            for event in lab.journal.tail(before, erased=True)
            if event.kind == "observation"
        ]
        assert set(noted) <= {event.id for event in events}, "none is lost"
        assert len({event.id for event in events}) == len(events)
        axon = lab.views.get(Axon)
        written = axon.observations["seq"][axon.observations["seq"] > before].tolist()
        assert written == [event.seq for event in events if not event.erased], (
            "and none is counted twice"
        )
        assert any(event.erased for event in events)
        assert not any(SECRET in label.lower() for label in axon.labels)
        index = lab.views.get(ITEMS)
        cache = lab.searcher.vectors.cache
        keys = np.frombuffer(cache.path.read_bytes(), record_type(cache.dimensions))[
            "key"
        ]
        assert index.holds(keys).all(), "no vector of what was erased"
        lab.save_briefing()
    state(home)


def test_two_processes_that_embed_one_backlog_keep_each_text_once(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    texts = 300
    with documented(home) as lab:
        lab.journal.append(
            [observation(f"text {number} of a queue") for number in range(texts)]
        )

    def embed() -> None:
        with Lab(home, clock=FixedClock(NOW), embedder=Meanings()) as lab:
            lab.searcher.vectors.embed_pending()

    assert together(embed, embed, lambda: embed()) == [0, 0, 0]
    with Lab(home, clock=FixedClock(NOW), embedder=Meanings()) as lab:
        assert lab.searcher.vectors.coverage() == {"covered": texts, "queued": 0}
        assert len(lab.searcher.vectors.cache) == texts, "each text once"
        assert lab.search("text 7 of a queue")[0].text == "text 7 of a queue"


def test_two_processes_that_create_a_home_at_once_write_into_the_same(
    tmp_path: Path,
) -> None:
    for number in range(ROUNDS):
        home = tmp_path / f"home-{number}"

        def live(home: Path = home) -> None:
            with documented(home) as lab:
                lab.agent("main").write("the cache was cold")
                lab.theorex.scan()
                lab.save_briefing()

        assert together(live, live) == [0, 0]
        with documented(home) as lab:
            assert len(lab.views.get(Axon).observations) == 2
            assert lab.verify().ok


# A reader while another process writes

EVENTS = 10_000


def _numbered(number: int) -> Event:
    """The event that gets the seq `number`: two observations, then something hooked,
    then something kept.
    """
    if number % 4 in (0, 1):
        return observation(f"text {number}", labels=["cache", f"concept {number % 50}"])
    if number % 4 == 2:
        return tool_event(f"run {number}", session=f"s{number % 3}")
    body = {
        "concepts": [[concept_id("queue"), "queue", "queue", 1]],
        "score": 0.6,
        "source": "tool",
        "weight": 0.7,
    }
    return new_event("short_term", body, agent="main", session="s", at=NOW)


def _append_all(home: Path, looks: int) -> None:
    """Append every event in batches; at each tenth wait until the reader (a byte in the
    pipe a look) has looked anew.
    """
    journal = SqliteJournal(home / "theorex.db")
    chance = np.random.default_rng(1)
    events = [_numbered(number) for number in range(1, EVENTS + 1)]
    done = tenths = 0
    while done < EVENTS:
        size = int(chance.integers(1, 60))
        journal.append(events[done : done + size])
        done += size
        if tenths < done * 10 // EVENTS < 10:
            tenths = done * 10 // EVENTS
            while select.select([looks], [], [], 0)[0]:
                os.read(looks, 65_536)
            for _ in range(
                2
                # the first look may have begun before; a reader that has failed looks no
                # more
            ):
                if select.select([looks], [], [], 30)[0]:
                    os.read(looks, 1)


def _agrees(lab: Lab, before: int) -> int:
    """Look at every view once; each must hold exactly the events up to its seq, and
    that never goes back.
    """
    for kind in VIEWS:
        view = lab.views.get(kind)
        seq = view.seq
        assert seq >= before
        before = seq
        written = seq // 4 * 2 + (seq % 4 >= 1)
        if isinstance(view, Axon):
            assert len(view.observations) == written
            assert view.observations["seq"].tolist() == [
                n for n in range(1, seq + 1) if n % 4 in (0, 1)
            ]
            assert int(view.concepts["count"].sum()) == 2 * written
        elif isinstance(view, ITEMS):
            assert int(view.of_kinds(["observation"]).sum()) == written
        elif isinstance(view, Flash):
            assert view.events["seq"].tolist() == list(range(2, seq + 1, 4))
        elif isinstance(view, ShortTerm):
            assert view.records["seq"].tolist() == list(range(3, seq + 1, 4))
    last = lab.journal.last_seq()
    assert last >= before
    recent = [event.seq for event in lab.journal.tail(max(0, last - 300), upto=last)]
    assert recent == list(range(max(0, last - 300) + 1, last + 1)), "no gap"
    return last


def test_a_reader_sees_a_prefix_while_ten_thousand_events_are_appended(
    tmp_path: Path,
) -> None:
    SqliteJournal(tmp_path / "theorex.db").close()
    looks, looked = os.pipe()

    def reading() -> None:
        seen = [0]
        with documented(tmp_path, snapshotAfterEvents=1_500) as lab:
            while seen[-1] < EVENTS:
                seen.append(_agrees(lab, seen[-1]))
                os.write(looked, b".")
        assert len(set(seen)) >= 5, "it looked while the other was writing"
        with documented(tmp_path) as lab:
            assert _agrees(lab, EVENTS) == EVENTS, (
                "from the snapshots that were written meanwhile"
            )

    assert together(lambda: _append_all(tmp_path, looks), reading) == [0, 0]
    os.close(looks)
    os.close(looked)
