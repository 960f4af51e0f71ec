"""The connections of a server: those that ask nothing make room for others.

uvicorn counts a connection as a request and waits for a request's head without end.
Here a connection counts for what it is: one that waits for a head, or whose answer is
sent, has a bounded time, and is the first to go where there are too many.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import BaseTransport, Transport
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import (
    WebSocketsSansIOProtocol,
)

from theorex_lab.app.server.limits import (
    LimitedServer,
    ServerLimits,
    network_of,
)
from theorex_lab.app.server.line_budget import BoundedLog

_LONGEST_TICK = 1.0  # seconds between two looks at the connections
_LOOKS = 4  # in the shortest time that a connection may take
LOGGER = "uvicorn.error"


class Watched(Protocol):
    """A connection as the limits see it."""

    transport: Transport

    @property
    def is_serving(self) -> bool:
        """Whether a request on it is being read or answered."""


@dataclass
class _Connection:
    """What is known of a connection; the times are seconds of the loop's clock."""

    address: str
    waits_since: float  # for a head
    unread_since: float | None = None
    closing_since: float | None = None


class Connections:
    """The connections of one server.

    Args:
        limits: How many there may be, and how long each may take.
        now: Returns the time in seconds.
        tell: Is told why a connection was closed.
        at_tick: Is called whenever the connections were looked at.
    """

    def __init__(
        self,
        limits: ServerLimits,
        now: Callable[[], float],
        *,
        tell: Callable[[str], None] = lambda _: None,
        at_tick: Callable[[], None] = lambda: None,
    ) -> None:
        self._limits = limits
        self._now = now
        self._tell = tell
        self._at_tick = at_tick
        self._held: dict[Watched, _Connection] = {}
        self._addresses: Counter[str] = Counter()
        self._timer: asyncio.TimerHandle | None = None
        shortest = min(limits.head_seconds, limits.answer_seconds)
        self._tick = min(_LONGEST_TICK, shortest / _LOOKS)

    def __len__(self) -> int:
        """Return how many connections there are."""
        return len(self._held)

    def add(self, connection: Watched, client: tuple[str, int] | None) -> None:
        """Take a new connection; close another, or else this one, if it is too many.

        An address may hold more only while all of its others are answered.
        """
        address = network_of(client[0] if client else "?")
        self._held[connection] = _Connection(address, self._now())
        self._addresses[address] += 1
        if self._addresses[address] > self._limits.of_an_address:
            self._make_room(connection, address)
        elif len(self._held) > self._limits.connections:
            self._make_room(connection, None)

    def remove(self, connection: Watched) -> None:
        """Forget a connection that ended."""
        held = self._held.pop(connection, None)
        if held is None:
            return
        self._addresses[held.address] -= 1
        if not self._addresses[held.address]:
            del self._addresses[held.address]

    def answered(self, connection: Watched) -> None:
        """Note that a connection waits for the head of its next request."""
        if held := self._held.get(connection):
            held.waits_since = self._now()

    def unread(self, connection: Watched, is_unread: bool) -> None:
        """Note whether a client leaves what it is sent unread."""
        if held := self._held.get(connection):
            held.unread_since = self._now() if is_unread else None

    def sweep(self) -> None:
        """Close the connections that took longer than they may."""
        now = self._now()
        for connection, held in list(self._held.items()):
            if reason := self._overdue(connection, held, now):
                self._close(connection, reason)

    def watch(self) -> None:
        """Look at the connections from now on, as long as there are any."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._tick, self._look)

    def _look(self) -> None:
        self._timer = None
        self.sweep()
        self._at_tick()
        if self._held:
            self.watch()

    def _overdue(
        self, connection: Watched, held: _Connection, now: float
    ) -> str | None:
        """Return why a connection is to be closed, None if it is not."""
        unread_seconds = self._limits.answer_seconds
        if held.unread_since is not None:
            is_late = now - held.unread_since > unread_seconds
            return "a client did not read its answer in time" if is_late else None
        if connection.transport.is_closing():
            if held.closing_since is None:
                held.closing_since = now
            is_late = now - held.closing_since > unread_seconds
            return "a client did not read its answer in time" if is_late else None
        if connection.is_serving:
            return None
        is_late = now - held.waits_since > self._limits.head_seconds
        return "a client did not send a whole request in time" if is_late else None

    def _make_room(self, newest: Watched, address: str | None) -> None:
        """Close the connection that waits longest, of an address or of all."""
        waiting: list[Watched] = []
        for connection, held in self._held.items():
            is_of_address = address is None or held.address == address
            if is_of_address and connection is not newest and not connection.is_serving:
                waiting.append(connection)
        if not waiting:
            # Those that are answered are bounded by rank, and soon less; only where
            # there is no room at all the newest goes.
            if len(self._held) > self._limits.connections:
                self._close(newest, "more connections came than can be answered")
            return
        longest = min(waiting, key=self._waits_since)
        self._close(longest, "a waiting connection made room for a newer one")

    def _waits_since(self, connection: Watched) -> float:
        return self._held[connection].waits_since

    def _close(self, connection: Watched, reason: str) -> None:
        self.remove(connection)
        connection.transport.abort()
        self._tell(reason)


class LimitedConfig(uvicorn.Config):
    """How uvicorn serves an application, with the connections that it holds."""

    connections: Connections
    log: BoundedLog


def _connections(config: uvicorn.Config) -> Connections:
    return cast(LimitedConfig, config).connections


class HttpConnection(H11Protocol):
    """uvicorn's connection, which the limits see."""

    @property
    def is_serving(self) -> bool:
        """Whether a request on it is being read or answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: BaseTransport) -> None:
        """Take a new connection."""
        super().connection_made(cast(Transport, transport))
        connections = _connections(self.config)
        connections.add(self, self.client)
        connections.watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection that ended."""
        _connections(self.config).remove(self)
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Leave the connection to the protocol of web sockets."""
        _connections(self.config).remove(self)
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        _connections(self.config).answered(self)
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Wait until the client reads."""
        _connections(self.config).unread(self, True)
        super().pause_writing()

    def resume_writing(self) -> None:
        """Go on, since the client reads."""
        _connections(self.config).unread(self, False)
        super().resume_writing()


class SocketConnection(WebSocketsSansIOProtocol):
    """uvicorn's web socket, which the limits see."""

    @property
    def is_serving(self) -> bool:
        """Whether it is open, or is being opened."""
        return not self.close_sent and not self.transport.is_closing()

    def connection_made(self, transport: BaseTransport) -> None:
        """Take over a connection."""
        super().connection_made(transport)
        connections = _connections(self.config)
        connections.add(self, self.client)
        connections.watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection that ended."""
        _connections(self.config).remove(self)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Wait until the client reads."""
        _connections(self.config).unread(self, True)
        super().pause_writing()

    def resume_writing(self) -> None:
        """Go on, since the client reads."""
        _connections(self.config).unread(self, False)
        super().resume_writing()


def _put_in_place(log: BoundedLog) -> None:
    """Let a server's log pass through a filter, in the place of an earlier one."""
    logger = logging.getLogger(LOGGER)
    for earlier in list(logger.filters):
        if isinstance(earlier, BoundedLog):
            logger.removeFilter(earlier)
    logger.addFilter(log)


def limited_config(
    application: LimitedServer, log: BoundedLog, options: dict[str, Any]
) -> LimitedConfig:
    """Return how an application is served over connections with limits.

    Args:
        application: The application, which has the limits.
        log: The filter of the server's log.
        options: uvicorn's options.
    """
    has_sockets = options.pop("ws") != "none"
    config = LimitedConfig(
        cast(Any, application),
        http=HttpConnection,
        backlog=application.limits.backlog,
        ws=SocketConnection if has_sockets else "none",
        # A stranger's broken request is a warning, so that the log would be theirs to
        # fill.
        log_level="error",
        **options,
    )
    _put_in_place(log)
    config.log = log
    logger = logging.getLogger(LOGGER)
    config.connections = Connections(
        application.limits,
        lambda: asyncio.get_running_loop().time(),
        tell=logger.error,
        at_tick=log.summarise,
    )
    return config
