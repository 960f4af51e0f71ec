"""One HTTP request to a model endpoint, bounded in time and size. Imported where a call is made: httpx takes a while."""

from __future__ import annotations

import socket
import ssl
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import httpcore
import httpx

from theorex_lab.errors import ModelUnavailable, UnusableAnswer
from theorex_lab.search.endpoint import excerpt

_PART_BYTES = 65_536


class ConnectionLost(ModelUnavailable):
    """The connection broke before the whole reply was there; the next may hold."""


class Deadline:
    """The moment by which something has to be over, `seconds` from now.

    >>> Deadline(60).left() > 59
    True
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds that are left; negative once it is past."""
        return self._end - time.monotonic()


@dataclass(frozen=True)
class HttpReply:
    """A whole reply: its status, its headers and its content, decoded."""

    status: int
    headers: httpx.Headers
    content: bytes


# A connection serves one request at a time, in the thread that asked: its streams find that request's deadline here.
_current_deadline: ContextVar[Deadline] = ContextVar("deadline")


def new_client(transport: httpx.BaseTransport | None = None) -> httpx.Client:
    """A client that pools connections, follows no redirect and knows no proxy of the environment."""
    return httpx.Client(transport=transport or _Transport(), follow_redirects=False, trust_env=False)


def post(
    client: httpx.Client,
    url: str,
    body: bytes,
    *,
    deadline: Deadline,
    limit_bytes: int,
    headers: Mapping[str, str] | None = None,
) -> HttpReply:
    """POST a JSON body and read the whole reply, at most `limit_bytes` of it, also once it is unpacked.

    The deadline holds for all of it, so that a reply which trickles is cut too; only a name server keeps its own
    time. Raises ConnectionLost, UnusableAnswer for a reply that is too long, and ModelUnavailable for a redirect, for a
    reply that is late or packed wrongly, and where nobody listens.
    """
    sent = {"Content-Type": "application/json", "Accept-Encoding": "identity", **(headers or {})}
    token = _current_deadline.set(deadline)
    try:
        with client.stream("POST", url, content=body, headers=sent, timeout=max(deadline.left(), 0.0)) as response:
            if response.has_redirect_location:
                raise ModelUnavailable(
                    f"{url} answered with redirects, which are not followed; configure the address that it leads to"
                )
            content = _read(response, url, limit_bytes)
    except httpx.TimeoutException as error:
        raise ModelUnavailable(
            f"{url} gave no whole reply within {deadline.seconds:g} s: {type(error).__name__}", "silent"
        ) from error
    except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError) as error:
        raise ConnectionLost(f"{url} did not answer: {type(error).__name__} {error}", "silent") from error
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise ModelUnavailable(f"{url} did not answer: {type(error).__name__} {error}", "silent") from error
    finally:
        _current_deadline.reset(token)
    return HttpReply(response.status_code, response.headers, content)


def _read(response: httpx.Response, url: str, limit_bytes: int) -> bytes:
    content = bytearray()
    for part in _unpacked(response, url):
        content += part
        if len(content) > limit_bytes:
            raise UnusableAnswer(f"{url} answered with more than {limit_bytes} bytes")
    return bytes(content)


def _unpacked(response: httpx.Response, url: str) -> Iterator[bytes]:
    """The content in parts of bounded size; httpx would unpack a bomb of 64 kB to 64 MB at once."""
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding == "identity":
        yield from response.iter_bytes()
        return
    if encoding not in ("gzip", "deflate"):
        raise ModelUnavailable(
            f"{url} answered in the encoding {excerpt(encoding.encode())}; allowed are identity, gzip and deflate"
        )
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        for packed in response.iter_raw():
            part = unpacker.decompress(packed, _PART_BYTES)
            while len(part) == _PART_BYTES:
                yield part
                part = unpacker.decompress(unpacker.unconsumed_tail, _PART_BYTES)
            yield part
    except zlib.error as error:
        raise ModelUnavailable(f"{url} answered with broken {encoding}: {error}") from error
    if not unpacker.eof:
        raise ConnectionLost(f"{url} answered with {encoding} that is cut off")


class _Transport(httpx.BaseTransport):
    """httpx over connections whose every read and write keeps the deadline of the whole request."""

    def __init__(self) -> None:
        self._pool = httpcore.ConnectionPool(network_backend=_Backend(), keepalive_expiry=30.0)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        asked = httpcore.Request(
            request.method,
            httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _errors_of_httpx():
            reply = self._pool.handle_request(asked)
        return httpx.Response(reply.status, headers=reply.headers, stream=_Content(reply), extensions=reply.extensions)

    def close(self) -> None:
        self._pool.close()


class _Content(httpx.SyncByteStream):
    def __init__(self, reply: httpcore.Response) -> None:
        self._reply = reply

    def __iter__(self) -> Iterator[bytes]:
        with _errors_of_httpx():
            yield from self._reply.iter_stream()

    def close(self) -> None:
        self._reply.close()


class _Backend(httpcore.SyncBackend):
    def connect_tcp(self, host: str, port: int, timeout: float | None = None, *args: Any, **options: Any) -> _Stream:
        refusal: httpcore.ConnectError | None = None
        for address in _addresses(host, port):
            try:
                stream = super().connect_tcp(address, port, _left(timeout, httpcore.ConnectTimeout), *args, **options)
            except httpcore.ConnectError as error:
                refusal = error
            else:
                return _Stream(stream)
        raise refusal or httpcore.ConnectError(f"{host} has no address")


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        channel: socket.socket = self._stream.get_extra_info("socket")
        channel.settimeout(_left(timeout, httpcore.WriteTimeout))
        try:
            # Its time limit is for all of it, where httpcore's is for each part that the other side takes.
            channel.sendall(buffer)
        except TimeoutError as error:
            raise httpcore.WriteTimeout("timed out") from error
        except OSError as error:
            raise httpcore.WriteError(str(error)) from error

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> _Stream:
        try:
            left = _left(timeout, httpcore.ConnectTimeout)
        except httpcore.ConnectTimeout:
            self.close()  # as `start_tls` itself does where it fails
            raise
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def close(self) -> None:
        self._stream.close()


def _left(timeout: float | None, too_late: type[httpcore.TimeoutException]) -> float:
    left = _current_deadline.get().left()
    seconds = left if timeout is None else min(left, timeout)
    if seconds <= 0:
        raise too_late("timed out")
    return seconds


def _addresses(host: str, port: int) -> Iterable[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(str(error)) from error
    return dict.fromkeys(str(entry[4][0]) for entry in found)


@contextmanager
def _errors_of_httpx() -> Iterator[None]:
    """httpx has a class of the same name for each of httpcore's."""
    try:
        yield
    except (
        httpcore.TimeoutException,
        httpcore.NetworkError,
        httpcore.ProtocolError,
        httpcore.UnsupportedProtocol,
    ) as error:
        raise getattr(httpx, type(error).__name__)(str(error)) from error
