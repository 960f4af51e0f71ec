"""Send one HTTP request to a model endpoint, bounded in time and size.

Imported where a call is made: httpx takes a while.
"""

import ssl
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx

from theorex_lab.core.errors import ModelUnavailable, UnusableAnswer
from theorex_lab.search.endpoint import authorization


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
        """Return the seconds that are left; negative once it is past."""
        return self._end - time.monotonic()


@dataclass(frozen=True)
class HttpReply:
    """A whole reply: its status, its headers and its content, decoded."""

    status: int
    headers: httpx.Headers
    content: bytes


def new_client(transport: httpx.BaseTransport | None = None) -> httpx.Client:
    """Return a client that pools connections.

    It follows no redirect and knows no proxy of the environment.
    """
    return httpx.Client(
        verify=_trusted_authorities(),
        transport=transport,
        follow_redirects=False,
        trust_env=False,
    )


@cache
def _trusted_authorities() -> ssl.SSLContext:
    """Return what HTTPS is checked by, for all clients: it takes 25 ms to read."""
    return httpx.create_ssl_context(trust_env=False)


def post(
    client: httpx.Client,
    url: str,
    body: bytes,
    *,
    deadline: Deadline,
    limit_bytes: int,
    key: str | None,
) -> HttpReply:
    """POST a JSON body and read the whole reply.

    The deadline holds for all of it, so that a reply which trickles is cut too.

    Args:
        client: The client.
        url: Where it is sent.
        body: The JSON.
        deadline: When it must be over.
        limit_bytes: How long the reply may be, also once it is unpacked.
        key: The key that is sent along; None for none.

    Raises:
        ConnectionLost: The connection broke.
        UnusableAnswer: The reply is too long.
        ModelUnavailable: The reply is a redirect, late or packed wrongly, or nobody
            listens.
    """
    headers = {
        "Content-Type": "application/json",
        "Accept-Encoding": "identity",
        **authorization(key),
    }
    done: Future[HttpReply] = Future()

    def ask() -> None:
        try:
            done.set_result(
                _whole(
                    client,
                    url,
                    {"content": body, "headers": headers},
                    deadline,
                    limit_bytes,
                )
            )
        except (
            httpx.HTTPError,
            httpx.InvalidURL,
            ModelUnavailable,
            UnicodeError,
            OSError,
        ) as error:
            done.set_exception(error)

    # In a thread of its own, which is left behind at the deadline: httpx bounds each
    # read and write, not all of them.
    threading.Thread(target=ask, daemon=True).start()
    try:
        return done.result(max(deadline.left(), 0.0))
    except (httpx.TimeoutException, TimeoutError) as error:
        late = f"{url} gave no whole reply within {deadline.seconds:g} s: {type(error).__name__}"
        raise ModelUnavailable(late, "silent") from error
    except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError) as error:
        raise ConnectionLost(
            f"{url} did not answer: {type(error).__name__} {error}", "silent"
        ) from error
    except httpx.DecodingError as error:
        raise ModelUnavailable(
            f"{url} answered with broken content: {error}"
        ) from error
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise ModelUnavailable(
            f"{url} did not answer: {type(error).__name__} {error}", "silent"
        ) from error


def _whole(
    client: httpx.Client,
    url: str,
    sent: dict[str, Any],
    deadline: Deadline,
    limit_bytes: int,
) -> HttpReply:
    """Read a whole reply.

    Args:
        client: The client.
        url: The address.
        sent: The content and the headers.
        deadline: The deadline.
        limit_bytes: The greatest size of the reply.
    """
    with client.stream(
        "POST", url, timeout=max(deadline.left(), 0.0), **sent
    ) as response:
        if response.has_redirect_location:
            advice = "configure the address that it leads to"
            raise ModelUnavailable(
                f"{url} answered with redirects, which are not followed; {advice}"
            )
        content = bytearray()
        for part in response.iter_bytes():
            content += part
            if len(content) > limit_bytes:
                raise UnusableAnswer(
                    f"{url} answered with more than {limit_bytes} bytes"
                )
            if deadline.left() <= 0:
                raise httpx.ReadTimeout("timed out")
        return HttpReply(response.status_code, response.headers, bytes(content))
