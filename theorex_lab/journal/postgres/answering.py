"""A connection that ends when its server answers no more.

libpq waits for ever for a server that hangs, or that lies behind a cable that was
pulled. How long a statement takes says nothing: a table of a hundred gigabytes is
written anew for an hour, and no byte comes meanwhile. So after some silence the server
is asked for a second connection. While it answers that, the first one waits on.
"""

from __future__ import annotations

import re
import time
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg import errors

if TYPE_CHECKING:
    from psycopg.abc import PQGen
    from psycopg.waiting import Ready

Row = tuple[Any, ...]
Answer = TypeVar("Answer")
# When a server that was silent is asked again, by what it is connected with (s of the
# monotonic clock).
_away_until: dict[str, float] = {}
_SERVER_MESSAGE = re.compile(r"\S:  \S")
_FULL = "too many"  # connections, for the server, its database or the role
_SILENT = "it was asked a moment ago, and does not answer"

CONNECT_TIMEOUT_SECONDS = 10
# How long nothing may come before the server is asked whether it is there.
SILENT_SECONDS = 10.0
# How long a silent server is not asked again.
AWAY_SECONDS = 20.0
# A connection that lost its other side without a word, as behind a router that forgot
# it, ends after a minute of unanswered packets.
LOST_LINE = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}


class RefusedConnection(psycopg.OperationalError):
    """A server runs, and does not let a role in."""


class AnsweringConnection(psycopg.Connection[Row]):
    """A connection that is closed when its server answers no more.

    Attributes:
        made_of: By what it was connected, without a password.
    """

    made_of: str

    def wait(self, gen: PQGen[Answer], *arguments: Any, **options: Any) -> Answer:
        """See `psycopg.Connection.wait`.

        Raises:
            OperationalError: The server was silent, and takes no new connection.
        """
        return super().wait(self._while_answering(gen), *arguments, **options)

    def _while_answering(
        self, steps: PQGen[Answer]
    ) -> Generator[Any, Ready | int, Answer]:
        """Carry out steps of libpq, and look after the server while nothing comes."""
        silent_since = time.monotonic()
        try:
            wanted = next(steps)
            while True:
                ready = yield wanted
                now = time.monotonic()
                if ready:
                    silent_since = now
                elif now - silent_since >= SILENT_SECONDS:
                    self._end_unless_answering()
                    silent_since = time.monotonic()
                wanted = steps.send(ready)
        except StopIteration as end:
            answer: Answer = end.value
            return answer

    def _end_unless_answering(self) -> None:
        """Close this connection, unless the server answers another.

        A refusal is an answer too: there may be as many connections as it allows.
        """
        try:
            self.connect(self.made_of).close()
        except psycopg.OperationalError as error:
            if _is_answer(error):
                return
            self.close()
            _note_away(self.made_of)
            raise errors.ConnectionTimeout(_SILENT) from error


def _is_answer(error: psycopg.OperationalError) -> bool:
    """Return whether a server refused a connection, so that it is there.

    Servers answer in the language that they are set to, and libpq in the user's. Before
    what a server says libpq writes how bad it is, a colon and two spaces, in each
    language. Nothing that a computer says of its network looks so.
    """
    if isinstance(error, errors.ConnectionTimeout):
        return False
    if _SERVER_MESSAGE.search(str(error)):
        return True
    return error.pgconn is not None and error.pgconn.needs_password


def answering_connection(conninfo: str) -> AnsweringConnection:
    """Return a connection in which each statement is a transaction of its own.

    A command asks many times, and each time would wait. So for some seconds after a
    server was silent whoever asks is told that it is.

    Raises:
        RefusedConnection: The server runs, and does not let this role in.
        OperationalError: The server cannot be reached, or was silent a moment ago.
    """
    now = time.monotonic()
    if now < _away_until.get(conninfo, 0.0):
        raise errors.ConnectionTimeout(_SILENT)
    try:
        connection = AnsweringConnection.connect(conninfo, autocommit=True)
    except errors.ConnectionTimeout:
        _note_away(conninfo)
        raise
    except psycopg.OperationalError as error:
        if _is_answer(error) and not _is_busy(conninfo, error):
            raise RefusedConnection(str(error)) from error
        raise
    connection.made_of = conninfo
    return connection


def _is_busy(conninfo: str, error: psycopg.OperationalError) -> bool:
    """Return whether a server that refused a connection may take it later.

    Whether it starts, stops or is put back, libpq tells by the code of its answer to a
    ping. The ping stops every thread meanwhile, yet this server answered just now.
    """
    if _FULL in str(error):
        return True
    return psycopg.pq.PGconn.ping(conninfo.encode()) != psycopg.pq.Ping.OK


def _note_away(conninfo: str) -> None:
    """Keep that a server was silent."""
    _away_until[conninfo] = time.monotonic() + AWAY_SECONDS
