"""How connections to the HTTP server are kept: one that sends no whole request in time is ended, and locks out nobody."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

_MOST_CONNECTIONS = 512  # beyond them requests are answered with 503


class TimedConnection(H11Protocol):
    """A connection that waits for its next request's head `head_seconds` at most, however it trickles in.

    Of more than `most_waiting` that wait, the one that has waited longest is closed. Bodies have a limit of their own.
    """

    head_seconds = 10.0
    most_waiting = _MOST_CONNECTIONS // 2
    _waiting_since = math.inf
    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        waiting = [
            connection
            for connection in self.connections
            if isinstance(connection, TimedConnection) and connection._is_waiting()
        ]
        if len(waiting) > self.most_waiting:
            min(waiting, key=lambda connection: connection._waiting_since).transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._limit is not None:
            self._limit.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()

    def _wait(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
        self._waiting_since = self.loop.time()
        self._limit = self.loop.call_later(self.head_seconds, self._give_up)

    def _is_waiting(self) -> bool:
        return not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete)

    def _give_up(self) -> None:
        # While a request is being answered the time limit stands still; it restarts with the answer.
        if self._is_waiting():
            self.transport.close()


def server_settings(application: Any) -> uvicorn.Config:
    """How an ASGI application is served over HTTP."""
    return uvicorn.Config(
        application,
        http=TimedConnection,
        log_level="error",  # a stranger's broken request is a warning: the log would be theirs to fill
        access_log=False,
        lifespan="on",
        server_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        ws="none",
    )
