"""Where a server listens, and how an ASGI application is served.

Here too is under which names it may be reached, and what is done while nobody asks.
"""

import logging
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Any

from theorex_lab.app.server.limits import LimitedServer
from theorex_lab.app.server.line_budget import BoundedLog, LineBudget
from theorex_lab.core.errors import InvalidInput, StorageError, TheorexError
from theorex_lab.core.progress import end_notice
from theorex_lab.evolution.syncing import sync_if_shared
from theorex_lab.store.lab import Lab

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
# What uvicorn logs, in words for who runs the server.
_PLAIN = {
    "ASGI callable returned without completing handshake.": "a web socket was refused"
}
_HOST_NAME = re.compile(r"[\w.-]+|\[[0-9a-fA-F:.]+\]")


def host_names(hosts: Sequence[str]) -> list[str]:
    """Return the values of the Host header that a server takes.

    They are this machine's names and these, with any port.

    Raises:
        InvalidInput: A host is no name.

    >>> host_names(["memory.example"])[-1]
    'memory.example:*'
    """
    for name in hosts:
        if not _HOST_NAME.fullmatch(name):
            raise InvalidInput(
                f"got the host name {name!r}; allowed is a name without a port, or [an"
                " IPv6 address]"
            )
    return [f"{name.lower()}:*" for name in ("127.0.0.1", "localhost", "[::1]", *hosts)]


def listen(
    lab: Lab,
    make: Callable[..., LimitedServer],
    *,
    port: int,
    host: str = "127.0.0.1",
    allow_remote: bool = False,
    hosts: Sequence[str] = (),
    started: Callable[[str], None] = lambda _: None,
    path: str = "",
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Serve an application until the process is told to end.

    Args:
        lab: The lab, whose vectors are computed meanwhile.
        make: Makes the application, given the allowed names as `hosts`.
        port: The port; 0 for any free one.
        host: The address to listen on.
        allow_remote: Whether it may be an address beyond this machine.
        hosts: Names under which it may be reached, beside those of this machine.
        started: Gets the address, with `path`, once requests are taken.
        path: What stands behind the address.
        settings: As `server_settings` takes it.

    Raises:
        InvalidInput: The address is beyond this machine, and `allow_remote` is not
            given.
        TheorexError: The port is taken.
    """
    import uvicorn

    if not host or (host not in _LOOPBACK and not allow_remote):
        advice = "to be reached from other machines, say --allow-remote"
        raise InvalidInput(
            f"got the host {host!r}; allowed are {', '.join(_LOOPBACK)}: {advice}"
        )
    host_text = f"[{host}]" if ":" in host else host
    local_hosts = [] if host in ("0.0.0.0", "::", *_LOOPBACK) else [host_text]
    application = make(hosts=[*local_hosts, *hosts])
    try:
        host.encode("idna")  # else the socket would be left open
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise TheorexError(
            f"cannot listen on {host}, port {port}: {reason}; choose another with"
            " --port"
        ) from error
    address = f"http://{host_text}:{listener.getsockname()[1]}{path}"

    class Announcing(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            if self.started:
                end_notice()
                started(address)

    config = server_settings(application, settings)
    with listener, embedding(lab):
        try:
            Announcing(config).run(sockets=[listener])
        finally:
            config.log.summarise(at_end=True)


def server_settings(
    application: LimitedServer, settings: Mapping[str, Any] = MappingProxyType({})
) -> Any:
    """Return how an ASGI application is served over HTTP, a `uvicorn.Config`.

    Args:
        application: The application, with the limits under which it is served.
        settings: uvicorn's own settings, which take the place of these.

    Raises:
        TypeError: The application has no limits.
    """
    from theorex_lab.app.server.connections import LOGGER, limited_config

    if not isinstance(application, LimitedServer):
        raise TypeError(
            f"got {type(application).__name__}; allowed is a LimitedServer: derive the"
            " application from it, so that nobody can shut others out"
        )
    quiet: dict[str, Any] = {
        "access_log": False,
        "server_header": False,
        "lifespan": "on",
        "ws": "none",
        **settings,
    }
    logger = logging.getLogger(LOGGER)
    log = BoundedLog(logger, LineBudget(), _is_strangers, plain=_PLAIN)
    return limited_config(application, log, quiet)


def _is_strangers(error: BaseException) -> bool:
    """Return whether an error is what a client of a web socket did wrong."""
    from websockets.exceptions import WebSocketException

    return isinstance(error, WebSocketException)


called = threading.Event()  # a tool, since `embedding` looked last
_SECONDS = 2.0
_PAUSES_PER_SYNC = 30  # so that what was erased elsewhere is gone here within minutes


@contextmanager
def embedding(lab: Lab) -> Iterator[None]:
    """Compute meanwhile the vectors that texts wait for.

    That is done whenever no tool was called for some seconds. A home that shares a
    journal is synced now and then as well. While that journal cannot be reached
    neither is done; whoever asks is told.
    """
    ended = threading.Event()

    def work() -> None:
        n_pauses = 0
        while not ended.wait(_SECONDS):
            if not called.is_set():
                with suppress(StorageError):
                    if n_pauses % _PAUSES_PER_SYNC == 0:
                        sync_if_shared(lab.home)
                    lab.searcher.vectors.embed_some(_SECONDS)
                n_pauses += 1
            called.clear()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_SECONDS)
