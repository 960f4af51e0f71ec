"""Servers on a shared home: the shared journal wakes them when it got an event."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Meanings
from faults import holding
from postgres_server import PostgresServer
from shared_machines import Machine, machines_at

from theorex_lab import Lab
from theorex_lab.app.server import listening
from theorex_lab.evolution import syncing

SECRET = "zebrastripes"
LONGEST_SECONDS = 60.0


@pytest.fixture
def machine(tmp_path: Path, postgres_url: str) -> Iterator[Machine]:
    """Return a function that opens a machine's home; all share one database."""
    with machines_at(tmp_path, postgres_url, embedder=Meanings()) as opened:
        yield opened


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> threading.Semaphore:
    """Return what is released after each sync of a server, which then waits again."""
    released = threading.Semaphore(0)

    def noted(home: object) -> object:
        try:
            return syncing.sync(home)  # type: ignore[arg-type]
        finally:
            released.release()

    monkeypatch.setattr(listening, "sync", noted)
    monkeypatch.setattr(listening, "_SECONDS_TO_SYNC", 0.0)
    monkeypatch.setattr(listening, "_SECONDS_AWAY", 0.0)
    return released


def test_a_server_takes_in_at_once_what_another_machine_erased(
    machine: Machine, synced: threading.Semaphore, tmp_path: Path
) -> None:
    server = machine("server")
    server.agent("main").write(f"{SECRET} are the word for the rollout")
    other = machine("other")
    with listening.embedding(server):
        assert synced.acquire(timeout=LONGEST_SECONDS)
        assert holding(tmp_path / "server", SECRET)
        assert other.erase(match=SECRET)
        while holding(tmp_path / "server", SECRET):
            assert synced.acquire(timeout=LONGEST_SECONDS)


def test_a_server_waits_where_nothing_comes(
    machine: Machine,
    synced: threading.Semaphore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It asks the database how far it goes, and syncs no more."""
    server = machine("server")
    server.agent("main").write("The till rounds half up")
    server.sync()
    journal = syncing.spooled_journal(server.home).connected
    waits: list[bool] = []
    ended = threading.Event()

    def noted(after: int, seconds: float) -> bool:
        waits.append(type(journal).wait_for_events(journal, after, 0.01))
        if len(waits) == 5:
            ended.set()
        return waits[-1]

    monkeypatch.setattr(journal, "wait_for_events", noted)
    listening._sync_after_next_event(server, ended)
    assert waits == [False] * 5
    assert synced.acquire(blocking=False)
    assert not synced.acquire(blocking=False)


def test_a_server_goes_on_when_the_database_is_back(
    machine: Machine,
    synced: threading.Semaphore,
    postgres_server: PostgresServer,
    tmp_path: Path,
) -> None:
    server = machine("server")
    server.agent("main").write(f"{SECRET} are the word for the rollout")
    other = machine("other")
    with listening.embedding(server):
        assert synced.acquire(timeout=LONGEST_SECONDS)
        postgres_server.stop()
        postgres_server.start()
        assert other.erase(match=SECRET)
        while holding(tmp_path / "server", SECRET):
            assert synced.acquire(timeout=LONGEST_SECONDS)


def test_a_home_of_its_own_is_never_synced(
    lab: Lab, synced: threading.Semaphore, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded = threading.Semaphore(0)

    def embed_some(_: float) -> None:
        embedded.release()

    monkeypatch.setattr(listening, "_SECONDS", 0.01)
    monkeypatch.setattr(lab.searcher.vectors, "embed_some", embed_some)
    listening.called.clear()
    with listening.embedding(lab):
        assert embedded.acquire(timeout=LONGEST_SECONDS)
    assert not synced.acquire(blocking=False)
