"""A real HTTP server on loopback that answers as badly as it is told to.

    with HostileServer(status(429), completion("yes")) as server:
        ModelClient(server.url, "model").complete("hello")
        assert len(server.requests) == 2

Behaviours are used up one a request, in order; the last one stays. A behaviour is any
function of an Exchange; what it returns says whether the connection stays open for the
next request.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import responses
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any, Self


@dataclass(frozen=True)
class Request:
    """What was asked."""

    path: str
    headers: dict[str, str]  # names in lower case
    content: bytes

    @property
    def body(self) -> dict[str, Any]:
        """The content as JSON."""
        parsed: dict[str, Any] = json.loads(self.content)
        return parsed


class Exchange:
    """One request on its connection; `send` raises OSError once the client has gone."""

    def __init__(
        self, request: Request, connection: socket.socket, closing: threading.Event
    ) -> None:
        self.request = request
        self.connection = connection
        self.closing = closing

    def send(self, content: bytes) -> None:
        """Send bytes as they are."""
        self.connection.sendall(content)

    def wait(self, seconds: float) -> bool:
        """Wait; True where the server is closing."""
        return self.closing.wait(seconds)


Behaviour = Callable[[Exchange], bool]


class HostileServer:
    """A threaded server on a free port of 127.0.0.1; a context manager. `requests` and
    `connections` are what came.
    """

    def __init__(self, *behaviours: Behaviour) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self.then(*behaviours or (completion(),))
        server = self

        class Handler(StreamRequestHandler):
            def handle(self) -> None:
                with server._lock:
                    server.connections += 1
                # The client going away is what most of these tests are about.
                with contextlib.suppress(OSError):
                    while server._answered_one(self):
                        pass

        self._server = ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}
        )

    def then(self, *behaviours: Behaviour) -> None:
        """Answer so from now on."""
        self._behaviours = list(behaviours)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all that hang, and stop."""
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answered_one(self, handler: StreamRequestHandler) -> bool:
        # An idle connection must not keep the server from closing.
        handler.connection.settimeout(0.05)
        request = _read_request(handler, self._closing)
        handler.connection.settimeout(None)
        if request is None:
            return False
        with self._lock:
            self.requests.append(request)
            behaviour = (
                self._behaviours.pop(0)
                if len(self._behaviours) > 1
                else self._behaviours[0]
            )
        return behaviour(Exchange(request, handler.connection, self._closing))


def _read_request(
    handler: StreamRequestHandler, closing: threading.Event
) -> Request | None:
    received = b""
    while b"\r\n\r\n" not in received or len(received) < _length(received):
        try:
            part = handler.connection.recv(65_536)
        except TimeoutError:
            if closing.is_set():
                return None
            continue
        if not part:
            return None
        received += part
    head, _, content = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {
        name.lower(): value.strip()
        for name, _, value in (line.partition(":") for line in lines)
    }
    return Request(first.split(" ")[1], headers, content)


def _length(received: bytes) -> int:
    head, _, _ = received.partition(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return len(head) + 4 + int(line.partition(b":")[2])
    return len(head) + 4


def head(status: int = 200, headers: Mapping[str, str] | None = None) -> bytes:
    """Status line and headers, up to the empty line."""
    lines = [f"HTTP/1.1 {status} {responses.get(status, 'Unknown')}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def reply(
    content: bytes | str, status: int = 200, headers: Mapping[str, str] | None = None
) -> Behaviour:
    """A whole reply with its right length; the connection stays open."""
    data = content.encode() if isinstance(content, str) else content

    def behave(exchange: Exchange) -> bool:
        length = {"Content-Type": "application/json", "Content-Length": str(len(data))}
        exchange.send(head(status, {**length, **(headers or {})}) + data)
        return True

    return behave


def completion_body(
    text: Any = "yes",
    *,
    usage: Any = None,
    finish_reason: str | None = "stop",
    **more: Any,
) -> dict[str, Any]:
    """What an OpenAI-compatible endpoint answers."""
    counted = (
        {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}
        if usage is None
        else usage
    )
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return {
        "id": "1",
        "object": "chat.completion",
        "choices": [choice],
        "usage": counted,
        **more,
    }


def completion(text: Any = "yes", **parts: Any) -> Behaviour:
    """An answer as it should be; `parts` as in `completion_body`."""
    return reply(json.dumps(completion_body(text, **parts)))


def status(code: int, content: bytes | str = b"{}", **headers: str) -> Behaviour:
    """A bare status; header names with _ for -."""
    return reply(
        content,
        code,
        {name.replace("_", "-"): value for name, value in headers.items()},
    )


def redirect(to: str, code: int = 307) -> Behaviour:
    """Send the client elsewhere."""
    return status(code, Location=to)


def slowly(seconds: float, behaviour: Behaviour) -> Behaviour:
    """Wait, then behave so."""

    def behave(exchange: Exchange) -> bool:
        return not exchange.wait(seconds) and behaviour(exchange)

    return behave


def after(event: threading.Event, behaviour: Behaviour) -> Behaviour:
    """Wait for `event` (or the server's end), then behave so."""

    def behave(exchange: Exchange) -> bool:
        while not event.wait(0.01):
            if exchange.closing.is_set():
                return False
        return behaviour(exchange)

    return behave


def hang(exchange: Exchange) -> bool:
    """Never answer."""
    exchange.closing.wait()
    return False


def trickle_headers(exchange: Exchange) -> bool:
    """Send one header byte every 20 ms, without end."""
    exchange.send(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not exchange.wait(0.02):
        exchange.send(b"a")
    return False


def trickle_body(exchange: Exchange) -> bool:
    """Send one byte of the body every 20 ms, without end."""
    exchange.send(head(200, {"Content-Type": "application/json"}))
    while not exchange.wait(0.02):
        exchange.send(b" ")
    return False


def cut_off(exchange: Exchange) -> bool:
    """Announce a body and close in the middle of it."""
    data = json.dumps(completion_body()).encode()
    exchange.send(
        head(200, {"Content-Length": str(len(data))}) + data[: len(data) // 2]
    )
    return False


def close_at_once(exchange: Exchange) -> bool:
    """Close without a word."""
    return False


def reset(exchange: Exchange) -> bool:
    """Tear the connection down with an RST."""
    exchange.connection.setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
    )
    exchange.connection.close()
    return False


def huge(megabytes: int) -> Behaviour:
    """A valid JSON body of that size, without a length."""

    def behave(exchange: Exchange) -> bool:
        exchange.send(head() + b'{"choices": "')
        for _ in range(16 * megabytes):
            exchange.send(b"a" * 65_536)
        exchange.send(b'"}')
        return False

    return behave


def no_http(exchange: Exchange) -> bool:
    """Speak another protocol."""
    exchange.send(b"SSH-2.0-OpenSSH_9.6\r\n")
    return False


def gzipped(content: bytes) -> Behaviour:
    """Content packed with gzip, and said to be."""
    return reply(gzip.compress(content), headers={"Content-Encoding": "gzip"})


def gzip_bomb(exchange: Exchange) -> bool:
    """50 MB of spaces, packed about a thousandfold."""
    return _packed_spaces()(exchange)


@functools.cache
def _packed_spaces() -> Behaviour:
    return gzipped(b" " * (50 << 20))


# Every way of failing that ends within a second or by the caller's deadline, by name;
# for matrices of faults.
FAILURES: dict[str, Behaviour] = {
    "hangs": hang,
    "trickles headers": trickle_headers,
    "trickles the body": trickle_body,
    "cuts off": cut_off,
    "closes at once": close_at_once,
    "resets": reset,
    "status 500": status(500, "model is loading"),
    "status 429 for long": status(429, Retry_After="3600"),
    "status 401": status(401, '{"error": "no key"}'),
    "HTML": reply(
        "<html><body>Sign in</body></html>", headers={"Content-Type": "text/html"}
    ),
    "no content": reply(b""),
    "50 MB": huge(50),
    "a gzip bomb": gzip_bomb,
    "broken gzip": reply(b"not packed", headers={"Content-Encoding": "gzip"}),
    "not JSON": reply(b"\xff\xfe\x00yes"),
    "JSON of another shape": reply('{"choices": []}'),
    "a text that is none": completion(42),
    "an empty text": completion(""),
    "blanks": completion(" \n\t "),
    "no text": completion(None),
    "deep JSON": reply("[" * 100_000),
    "a redirect": redirect("http://169.254.169.254/latest/meta-data/"),
    "no HTTP at all": no_http,
}
