"""A PostgreSQL server for tests: in a temporary folder, on a UNIX socket alone.

`initdb` refuses the user root, so that the server belongs to `nobody` there.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

ROLE = "theorex"
_PREFIX = "theorex-pg-"  # of folders of servers
_LOCK = "lock"
# Debian puts the server's programs where no PATH has them.
_DEBIAN_FOLDERS = "/usr/lib/postgresql"


def server_program(name: str) -> str | None:
    """Return the path of a program of the server, None where it is not installed."""
    on_path = shutil.which(name)
    if on_path is not None:
        return on_path
    found_in = sorted(Path(_DEBIAN_FOLDERS).glob(f"*/bin/{name}"))
    return str(found_in[-1]) if found_in else None


class PostgresServer:
    """A server with its data in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self._as_user: dict[str, object] = {}
        if os.geteuid() == 0:
            shutil.chown(folder, "nobody", "nogroup")
            self._as_user = {"user": "nobody", "group": "nogroup", "extra_groups": []}

    def _run(self, program: str, *arguments: str) -> None:
        path = server_program(program)
        assert path is not None
        done = subprocess.run(
            [path, "-D", str(self.data), *arguments],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # the server would hold a pipe open
            stderr=subprocess.DEVNULL,
            check=False,
            **self._as_user,  # type: ignore[call-overload]
        )
        if done.returncode != 0:
            log = self.folder / "log"
            raise RuntimeError(log.read_text() if log.exists() else f"{program} failed")

    def make(self) -> None:
        """Make the data, in which the role may do everything without a password."""
        command = ["cp", "-a", str(_data_of_new_servers()), str(self.data)]
        subprocess.run(command, check=True)
        settings = [
            f"unix_socket_directories = '{self.folder}'",
            "listen_addresses = ''",
            "fsync = off",  # the machine does not fail during tests
            "shared_buffers = 32MB",
            "max_connections = 60",
            "autovacuum = off",
        ]
        with (self.data / "postgresql.conf").open("a") as file:
            file.write("\n".join([*settings, ""]))

    def initialise(self) -> None:
        """Make the data of a server that nobody has used, as PostgreSQL's program does."""
        options = ["-A", "trust", "-U", ROLE, "-E", "UTF8", "--locale=C", "--no-sync"]
        self._run("initdb", *options)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it; `immediate` does so as a crash of the server would."""
        self._run("pg_ctl", "-w", "-m", mode, "stop")

    def url(self, database: str, *, role: str = ROLE) -> str:
        """Return the URL of a database, as the setting journalUrl has it."""
        return f"postgresql://{role}@/{database}?host={self.folder}"

    def new_database(self) -> str:
        """Make an empty database, and return its URL."""
        name = f"test_{secrets.token_hex(6)}"
        self.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def execute(self, statement: str, *, database: str = "postgres") -> None:
        """Run a statement with all rights."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute(statement)


@cache
def _data_of_new_servers() -> Path:
    """Return the folder of the data that each server of this process begins with.

    To initialise them anew takes as much time as some tests of servers.
    """
    folder = Path(tempfile.mkdtemp(prefix="theorex-new-pg-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    server = PostgresServer(folder)
    server.initialise()
    return server.data


@contextmanager
def running_server() -> Iterator[PostgresServer]:
    """Give a server that is stopped, and whose data are removed, at the end.

    Servers whose tests were killed are ended first.
    """
    end_abandoned_servers()
    # Not in the folders of pytest, which nobody else may enter.
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name:
        folder = Path(name)
        with _locked(folder):
            server = PostgresServer(folder)
            server.make()
            server.start()
            try:
                yield server
            finally:
                server.stop()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a file in a folder; the system unlocks it when this process is gone."""
    unnamed = folder / "lock.new"
    with unnamed.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        unnamed.rename(folder / _LOCK)
        yield


def end_abandoned_servers() -> None:
    """Stop the servers whose tests were killed, and remove their data."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(FileNotFoundError), (folder / _LOCK).open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            with suppress(RuntimeError):  # it does not run
                PostgresServer(folder).stop()
            shutil.rmtree(folder)
