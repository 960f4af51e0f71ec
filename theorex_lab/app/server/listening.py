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
from theorex_lab.evolution.syncing import is_shared, spooled_journal, sync
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
_SECONDS_TO_SYNC = 10.0  # at least, between two syncs of a busy shared journal
_SECONDS_AWAY = 30.0  # until a shared journal that cannot be reached is tried again


@contextmanager
def embedding(lab: Lab) -> Iterator[None]:
    """Compute meanwhile the vectors that texts wait for.

    That is done whenever no tool was called for some seconds. A home that shares a
    journal is synced as well whenever that got an event. While that journal cannot be
    reached neither is done; whoever asks is told.
    """
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(_SECONDS):
            if not called.is_set():
                with suppress(StorageError):
                    lab.searcher.vectors.embed_some(_SECONDS)
            called.clear()

    threads = [threading.Thread(target=work, daemon=True)]
    if is_shared(lab.home):
        threads.append(threading.Thread(target=_follow, args=[lab, ended], daemon=True))
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join(2 * _SECONDS)


def _follow(lab: Lab, ended: threading.Event) -> None:
    """Sync a home whenever its shared journal got an event, until that is ended."""
    while not ended.is_set():
        pause = _SECONDS_TO_SYNC
        try:
            _sync_after_next_event(lab, ended)
        except StorageError:
            pause = _SECONDS_AWAY
        ended.wait(pause)


def _sync_after_next_event(lab: Lab, ended: threading.Event) -> None:
    """Sync a home, and wait until its shared journal has an event that it had not.

    Args:
        lab: The lab of a home that shares a journal.
        ended: Set when nothing is to be waited for any more.

    Raises:
        StorageError: The shared journal cannot be reached.
    """
    journal = spooled_journal(lab.home)
    # Before the sync: what arrives while it runs is another reason for one.
    last_seq = journal.connected.journal.last_seq()
    sync(lab.home)
    while not ended.is_set():
        if journal.connected.wait_for_events(last_seq, _SECONDS):
            return
