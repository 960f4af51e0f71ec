"""A server that hangs: whoever waits for it ends in bounded time."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from faults import forked
from postgres_server import (
    PostgresServer,
    end_abandoned_servers,
    running_server,
    server_program,
)

from theorex_lab import Lab
from theorex_lab.core.errors import ServerAway, StorageError
from theorex_lab.core.settings import check_settings
from theorex_lab.evolution.view_sharing import home_views
from theorex_lab.journal.postgres import answering
from theorex_lab.journal.postgres.connection import server_connection

SHORT_SECONDS = 0.5
LONGEST_SECONDS = 60.0


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresServer]:
    """Give a server of its own, which a test may stop; waiting is short."""
    if server_program("initdb") is None:
        pytest.skip("needs PostgreSQL's initdb, which Debian's postgresql has")
    monkeypatch.setattr(answering, "SILENT_SECONDS", SHORT_SECONDS)
    monkeypatch.setattr(answering, "_away_until", {})
    with running_server() as server:
        yield server


class Hanging:
    """The processes of a server, stopped as on a machine that hangs."""

    def __init__(self, server: PostgresServer) -> None:
        first = (server.data / "postmaster.pid").read_text().split()[0]
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        self._pids = [int(pid) for pid in (first, *children)]

    def __enter__(self) -> None:
        self._signal(signal.SIGSTOP)

    def __exit__(self, *_: object) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, sent: signal.Signals) -> None:
        for pid in self._pids:
            os.kill(pid, sent)


def shared_lab(home: Path, url: str) -> Lab:
    return Lab(home, settings=check_settings({"journalUrl": url}))


def test_a_server_whose_tests_were_killed_is_ended_by_the_next(
    server: PostgresServer,
) -> None:
    """Another one, whose tests go on, is left alone."""
    reading, writing = os.pipe()

    def start_and_be_killed() -> None:
        with running_server() as abandoned:
            os.write(writing, str(abandoned.folder).encode())
            os.kill(os.getpid(), signal.SIGKILL)

    assert forked(start_and_be_killed) == -signal.SIGKILL
    folder = Path(os.read(reading, 1_000).decode())
    os.close(reading)
    os.close(writing)
    pid = int((folder / "data" / "postmaster.pid").read_text().split()[0])
    end_abandoned_servers()
    assert not folder.exists()
    command_line = Path(f"/proc/{pid}/cmdline")
    # That of a process that nobody has waited for is empty.
    assert not command_line.exists() or not command_line.read_bytes()
    server.new_database()


def test_an_open_connection_to_a_server_that_hangs_is_ended(
    server: PostgresServer, tmp_path: Path
) -> None:
    """Each view of a verification is told at once, and nothing is lost."""
    with shared_lab(tmp_path, f"{server.new_database()}&connect_timeout=2") as lab:
        lab.agent("main").write("The till rounds half up")
        lab.sync()
        lab.agent("main").write("The till closes at six")
        with Hanging(server):
            for _ in range(3):
                with pytest.raises(ServerAway, match="asked a moment ago"):
                    lab.journal.last_seq()
        answering._away_until.clear()
        assert lab.sync().sent == 1
        assert lab.verify().ok


def test_a_write_whose_server_hangs_says_that_its_outcome_is_not_known(
    server: PostgresServer, tmp_path: Path
) -> None:
    with shared_lab(tmp_path, f"{server.new_database()}&connect_timeout=2") as lab:
        writing = lab.journal.shared.writing()
        writing.__enter__()
        message = "whether this write is kept is not known"
        with Hanging(server), pytest.raises(ServerAway, match=message):
            writing.__exit__(None, None, None)


def test_a_statement_that_takes_long_on_a_server_that_answers_is_waited_for(
    server: PostgresServer,
) -> None:
    """Also where the server has no connection left to give."""
    url = server.new_database()
    with server_connection(url) as connection:
        query = f"SELECT pg_sleep({4 * SHORT_SECONDS})"
        assert connection.execute(query).fetchone() == ("",)
        server.execute(f"ALTER DATABASE {connection.info.dbname} CONNECTION LIMIT 0")
        server.execute("ALTER ROLE theorex NOSUPERUSER", database="postgres")
        with pytest.raises(psycopg.OperationalError, match="too many connections"):
            server_connection(url)
        assert connection.execute(query).fetchone() == ("",)


def test_a_socket_that_takes_and_never_answers_is_told_once_and_then_at_once(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_connected = itertools.count()
    with socket.create_server(("127.0.0.1", 0)) as mute:

        def take() -> None:
            while True:
                try:
                    taken.append(mute.accept()[0])
                except OSError:
                    return
                next(n_connected)

        taken: list[socket.socket] = []
        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        port = mute.getsockname()[1]
        url = f"postgresql://team@127.0.0.1:{port}/memory?connect_timeout=2"
        with shared_lab(tmp_path, url) as lab:
            event_id = lab.agent("main").write("It waits").event_id
            for _ in range(3):
                with pytest.raises(ServerAway, match="1 events wait in"):
                    lab.sync()
            assert [event.id for event in lab.journal.local.read(ids=[event_id])]
        mute.shutdown(socket.SHUT_RDWR)
    thread.join(LONGEST_SECONDS)
    for connection in taken:
        connection.close()
    assert next(n_connected) == 1


def test_who_stands_still_in_a_transaction_does_not_keep_the_lock_for_ever(
    server: PostgresServer,
) -> None:
    """The server ends it, and tells a machine that is gone from one that is silent."""
    with server_connection(server.new_database()) as connection:
        row = connection.execute("SHOW idle_in_transaction_session_timeout").fetchone()
        assert row == ("10min",)
        parameters = connection.info.get_parameters()
        assert parameters["tcp_user_timeout"] == "60000"
        assert parameters["keepalives_idle"] == "30"


def test_a_verification_tells_a_server_that_is_away_once(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shared_lab(tmp_path, server.new_database()) as lab:
        lab.agent("main").write("The till rounds half up")
        lab.sync()

        def away(*_: object) -> list[str]:
            raise StorageError("the server is away")

        assert len(home_views(lab.home)) > 1
        monkeypatch.setattr("theorex_lab.journal.view._compare", away)
        assert lab.verify().problems == ["the server is away"]
