"""Where a server listens, under which names it may be reached, how an ASGI application
is served, and what is done while nobody asks.
"""

import re
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from theorex_lab.app.server.auth import Application
from theorex_lab.core.errors import InvalidInput, TheorexError
from theorex_lab.store.lab import Lab

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_HOST_NAME = re.compile(r"[\w.-]+|\[[0-9a-fA-F:.]+\]")
_MOST_CONNECTIONS = 512  # beyond them requests are answered with 503


def host_names(hosts: Sequence[str]) -> list[str]:
    """Values of the Host header that a server takes: this machine's names and these,
    with any port.

    Raises InvalidInput for what is no name.

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
    make: Callable[..., Application],
    *,
    port: int,
    host: str = "127.0.0.1",
    allow_remote: bool = False,
    hosts: Sequence[str] = (),
    started: Callable[[str], None] = lambda _: None,
    path: str = "",
    **settings: Any,
) -> None:
    """Serve what `make`, given the names as `hosts`, makes until the process is told to
    end.

    `started` gets the address, with `path`, once requests are taken (port 0: any free
    one); `how` as `server_settings` takes it. Raises InvalidInput for an address beyond
    this machine without `allow_remote`, TheorexError where the port is taken.
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
        listener = socket.create_server((host, port), family=family, backlog=128)
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
                started(address)

    with listener, embedding(lab):
        Announcing(server_settings(application, **settings)).run(sockets=[listener])


def server_settings(application: Application, **settings: Any) -> Any:
    """How an ASGI application is served over HTTP, a `uvicorn.Config`; `how` are
    uvicorn's own settings in the place of these.
    """
    import uvicorn

    quiet: dict[str, Any] = {
        "access_log": False,
        "server_header": False,
        "lifespan": "on",
        "ws": "none",
        **settings,
    }
    # "error": a stranger's broken request is a warning, so that the log would be theirs
    # to fill.
    return uvicorn.Config(
        cast(Any, application),
        log_level="error",
        limit_concurrency=_MOST_CONNECTIONS,
        **quiet,
    )


called = threading.Event()  # a tool, since `embedding` looked last
_SECONDS = 2.0


@contextmanager
def embedding(lab: Lab) -> Iterator[None]:
    """Meanwhile compute the vectors that texts wait for, whenever no tool was called
    for some seconds.
    """
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(_SECONDS):
            if not called.is_set():
                lab.searcher.vectors.embed_some(_SECONDS)
            called.clear()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_SECONDS)
