"""How much anybody may ask of a server at once, in the one place that all of it passes.

A server is a `LimitedServer`: it says who asks and answers, and nothing reaches its
answers beside the limits. `listening.server_settings` serves no other application; the
limits of connections, which come before a request, are in `connections`.
"""

from __future__ import annotations

import ipaddress
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Self

import anyio

from theorex_lab.app.server.asgi import (
    Application,
    Receive,
    RequestRefused,
    RpcMessage,
    Send,
)
from theorex_lab.core.settings import Settings

DEFAULT_RATE = 500.0
_BURST = 2_000_000  # µs of the rate that may be used up at once
_MOST_CALLERS = 1024  # whose rate is counted
_IPV6_NETWORK = 64  # bits that one household or machine has


class Rank(Enum):
    """What the limits know of who asks."""

    OWNER = "owner"
    AGENT = "agent"
    STRANGER = "stranger"


class Caller(NamedTuple):
    """Who sends a request: the rank, and whose rate it counts for."""

    rank: Rank
    name: str


@dataclass(frozen=True, kw_only=True)
class ServerLimits:
    """What a server bounds. The defaults are those of the settings.

    Attributes:
        connections: How many connections are held at once.
        head_seconds: Within which the head of a request must be there.
        body_seconds: Within which its body must be there, or a web socket's message.
        answer_seconds: Within which an answer must have been read.
        rate: Requests a second of the token, and of each address without it.
    """

    connections: int = 512
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    answer_seconds: float = 60.0
    rate: float = DEFAULT_RATE

    @classmethod
    def of(cls, settings: Settings, rate: float = DEFAULT_RATE) -> Self:
        """Return the limits that settings name."""
        return cls(
            connections=min(settings.server_connections, _files_at_once() // 2),
            head_seconds=settings.server_head_seconds,
            body_seconds=settings.server_body_seconds,
            answer_seconds=settings.server_answer_seconds,
            rate=rate,
        )

    @property
    def of_an_address(self) -> int:
        """How many connections of one address are held at once."""
        return self.connections // 2

    @property
    def backlog(self) -> int:
        """How many connections are taken in one go, before any of them is answered."""
        return max(1, self.connections // 2)

    @property
    def requests(self) -> int:
        """How many requests of one rank are under way at once.

        Those of agents and of strangers leave half of an address's connections to the
        owner, who may sit at the same one.
        """
        return max(1, self.connections // 8)


class RateCount:
    """The requests a second of each caller.

    Args:
        rate: How many are allowed; twice as many at once.
        now: Returns the time (µs).

    >>> count = RateCount(1.0, lambda: 0)
    >>> [count.wait("a") for _ in range(3)], count.wait("b")
    ([0.0, 0.0, 1000000.0], 0.0)
    """

    def __init__(self, rate: float, now: Callable[[], int]) -> None:
        self._step = 1e6 / rate
        self._now = now
        # who asks -> until when (µs) the requests so far use up the rate
        self._used_up: dict[str, float] = {}

    def wait(self, caller: str) -> float:
        """Count a request; return for how long (µs) it comes too early, 0 for not."""
        now = self._now()
        earlier = self._used_up.pop(caller, now)
        used_up = min(max(earlier, now), now + _BURST)
        wait = used_up + self._step - now - _BURST
        self._used_up[caller] = used_up if wait > 0 else used_up + self._step
        if len(self._used_up) > _MOST_CALLERS:
            del self._used_up[next(iter(self._used_up))]
        return max(0.0, wait)


def _files_at_once() -> int:
    """Return how many files and connections the system lets this process hold."""
    try:
        import resource
    except ImportError:  # only POSIX has it
        return sys.maxsize
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def network_of(address: str) -> str:
    """Return what counts as one address: of IPv6 the network that one machine has.

    >>> network_of("10.0.0.7"), network_of("2001:db8::7:1"), network_of("?")
    ('10.0.0.7', '2001:db8::/64', '?')
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address) or parsed.is_loopback:
        return str(parsed)
    network = ipaddress.IPv6Network((int(parsed), _IPV6_NETWORK), strict=False)
    return str(network)


def address_of(scope: RpcMessage) -> str:
    """Return from which address a request comes."""
    client = scope.get("client") or ("?",)
    return network_of(str(client[0]))


def monotonic_us() -> int:
    """Return a time (µs) that only goes forward."""
    return time.monotonic_ns() // 1000


class LimitedServer(ABC):
    """An ASGI application whose every request passes the limits.

    Who has the owner's key is bound by none. A request of an agent that is one too many
    is refused. A request without a key ends the oldest of its like instead, so that
    those who hold on keep nobody out.

    Args:
        limits: The limits.
        now: Returns the time (µs) by which the rate is counted.
    """

    def __init__(
        self, limits: ServerLimits, now: Callable[[], int] = monotonic_us
    ) -> None:
        self.limits = limits
        self._rates = RateCount(limits.rate, now)
        self._under_way: dict[Rank, dict[object, anyio.CancelScope]] = {
            Rank.AGENT: {},
            Rank.STRANGER: {},
        }

    @abstractmethod
    def caller(self, scope: RpcMessage) -> Caller:
        """Return who sends a request."""

    @abstractmethod
    async def answer(
        self, scope: RpcMessage, receive: Receive, send: Send, caller: Caller
    ) -> None:
        """Answer what the limits let pass, as ASGI has it: a request, or the lifespan."""

    @abstractmethod
    def refusing(self, refusal: RequestRefused) -> Application:
        """Return the application that says what was refused, in the server's form."""

    def is_way_in(self, scope: RpcMessage) -> bool:  # noqa: ARG002 - others have one
        """Return whether a request belongs to how the owner gets a key.

        Its rate is not counted: to refuse it costs no less than to answer it.
        """
        return False

    async def __call__(self, scope: RpcMessage, receive: Receive, send: Send) -> None:
        """As ASGI has it."""
        if scope["type"] not in ("http", "websocket"):
            await self.answer(scope, receive, send, Caller(Rank.STRANGER, ""))
            return
        caller = self.caller(scope)
        timed = _TimedReceive(receive, self.limits.body_seconds)
        try:
            self._check_rate(caller, scope)
            with self._counted(caller) as held:
                await self.answer(scope, timed, send, caller)
            if held.cancelled_caught:
                raise RequestRefused(
                    503, "others came after this request", Connection="close"
                )
        except RequestRefused as refusal:
            await self.refusing(refusal)(scope, receive, send)

    def _check_rate(self, caller: Caller, scope: RpcMessage) -> None:
        if caller.rank is Rank.OWNER or self.is_way_in(scope):
            return
        if wait := self._rates.wait(caller.name):
            allowed = f"{self.limits.rate:g} requests a second"
            raise RequestRefused(
                429,
                f"more than {allowed}; --rate allows others",
                Retry_After=str(1 + int(wait / 1e6)),
            )

    @contextmanager
    def _counted(self, caller: Caller) -> Iterator[anyio.CancelScope]:
        """Count a request while it is under way.

        Raises:
            RequestRefused: The token has as many under way as it may.
        """
        with anyio.CancelScope() as held:
            if caller.rank is Rank.OWNER:
                yield held
                return
            under_way = self._under_way[caller.rank]
            if len(under_way) >= self.limits.requests:
                self._make_room(caller.rank)
            request = object()
            under_way[request] = held
            try:
                yield held
            finally:
                under_way.pop(request, None)

    def _make_room(self, rank: Rank) -> None:
        under_way = self._under_way[rank]
        if rank is Rank.STRANGER:
            oldest = next(iter(under_way))
            under_way.pop(oldest).cancel()
            return
        raise RequestRefused(
            429,
            f"{len(under_way)} requests with this token are under way; allowed are"
            f" {self.limits.requests}: wait until one is answered",
            Retry_After="1",
        )


class _TimedReceive:
    """What a client sends, for which it has a bounded time.

    A body must be there in that time as a whole, each message of a web socket by itself.

    Args:
        receive: Returns what comes next.
        seconds: How long a client may take.
    """

    def __init__(self, receive: Receive, seconds: float) -> None:
        self._receive = receive
        self._seconds = seconds
        self._until = anyio.current_time() + seconds
        self._is_whole = False

    async def __call__(self) -> RpcMessage:
        """As ASGI has it.

        Raises:
            RequestRefused: A body takes too long.
        """
        if self._is_whole:  # what comes now is the end of the connection
            return await self._receive()
        message: RpcMessage | None = None
        with anyio.move_on_at(self._until):
            message = await self._receive()
        if message is None:
            raise RequestRefused(
                408,
                f"the body was not there within {self._seconds:g} seconds",
                Connection="close",
            )
        if message["type"] == "http.request":
            self._is_whole = not message.get("more_body", False)
        elif message["type"].startswith("websocket."):
            self._until = anyio.current_time() + self._seconds
        return message
