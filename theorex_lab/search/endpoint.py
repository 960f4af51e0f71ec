"""Check addresses of model endpoints, and show them and their replies in errors."""

import ipaddress
import os
import re
from urllib.parse import SplitResult, urlsplit

from theorex_lab.core.errors import ConfigError, ModelUnavailable
from theorex_lab.core.patterns import lazy_pattern

EXCERPT_LENGTH = 120
# What looks like a key or a token: at least 20 characters that hold a digit, or what
# follows "Bearer".
_KEY = lazy_pattern(r"[!-~]+")
_SECRET = lazy_pattern(r"(?<=Bearer )\S+|(?=[\w-]*\d)[\w-]{20,}")


def endpoint_url(url: str, route: str, *, what: str, allow_remote: bool = False) -> str:
    """Return the whole address of a route at an endpoint.

    Args:
        url: The endpoint's address, which may stop at the host, at /v1 or at the route.
        route: The route, such as "embeddings".
        what: What the address is of, for errors.
        allow_remote: Whether the host may be another one than a loopback address or
            `localhost`.

    Raises:
        ConfigError: The address is not http(s)://host:port, or its host is not allowed.

    >>> endpoint_url("http://127.0.0.1:8080/v1", "embeddings", what="embedding")
    'http://127.0.0.1:8080/v1/embeddings'
    """
    parts = _usable_parts(url)
    got = f"got the {what} url {masked_url(url)!r}"
    if parts is None:
        raise ConfigError(
            f"{got}; allowed is http(s)://host:port, without user or query"
        )
    if not (allow_remote or is_loopback(parts.hostname or "")):
        advice = (
            "use a loopback address, or allow remote endpoints if texts of the memory"
            " may be sent there"
        )
        raise ConfigError(f"{got}, which is not on this machine; {advice}")
    path = parts.path.rstrip("/")
    if not path.endswith(f"/{route}"):
        if not path.endswith("/v1"):
            path = f"{path}/v1"
        path = f"{path}/{route}"
    return f"{parts.scheme}://{parts.netloc}{path}"


def _usable_parts(url: str) -> SplitResult | None:
    """Return the parts of an http address without user and query, None for others."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or parts.port == 0:
            return None
        if not parts.hostname:
            return None
    except ValueError:  # of a port past 65535 or an unclosed bracket
        return None
    if "@" in parts.netloc or parts.query:
        return None
    return parts


def is_loopback(host: str) -> bool:
    """Return whether a host is a loopback address or `localhost`.

    Other names are not looked up.

    >>> is_loopback("127.0.0.1"), is_loopback("192.168.0.7")
    (True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def masked_url(url: str) -> str:
    """Return a refused address as errors may show it: without user, password and query.

    >>> masked_url("http://user:secret@host:80/v1?key=1")
    'http://***@host:80/v1?***'
    """
    bare = re.sub(
        r"^((?:[a-z][a-z0-9+.-]*:)?//)?.*@",
        r"\1***@",
        url,
        flags=re.IGNORECASE | re.DOTALL,
    )
    return re.sub(r"\?.*", "?***", bare, flags=re.DOTALL)


def key_from(variable: str | None, whose: str) -> str | None:
    """Return the key in an environment variable; None where no variable is named.

    Raises:
        ModelUnavailable: It is not set, or holds what no header can.

    >>> key_from("NO_KEY", "bge-m3")
    Traceback (most recent call last):
    theorex_lab.core.errors.ModelUnavailable: bge-m3 takes its key from $NO_KEY, which is not set
    """
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ModelUnavailable(
            f"{whose} takes its key from ${variable}, which is not set"
        )
    if not _KEY.fullmatch(key):
        raise ModelUnavailable(
            f"{whose} takes its key from ${variable}, which holds more than visible"
            " ASCII; mend it"
        )
    return key


def checked_key(key: str | None, whose: str) -> str | None:
    """Return the key itself; None stays.

    Raises:
        ConfigError: No header can hold the key.
    """
    if key is not None and not _KEY.fullmatch(key):
        raise ConfigError(
            f"got a key for {whose} that is empty or holds more than visible ASCII;"
            " mend it"
        )
    return key


def authorization(key: str | None) -> dict[str, str]:
    """Return the header that carries a key, if there is one.

    >>> authorization("sk-1")
    {'Authorization': 'Bearer sk-1'}
    """
    return {"Authorization": f"Bearer {key}"} if key else {}


def excerpt(content: bytes, key: str | None = None) -> str:
    """Return the beginning of a reply as errors may show it.

    It is short and escaped, without `key` and what looks like one.

    >>> excerpt(b"no model for Bearer sk-123")
    "'no model for Bearer ***'"
    """
    if key:
        content = content.replace(key.encode(), b"***")
    # More is searched than shown, so that a key across the cut is seen whole.
    text = content[: 8 * EXCERPT_LENGTH].decode(errors="replace")
    return repr(_SECRET.sub("***", text)[:EXCERPT_LENGTH])


def encodable(text: str) -> str:
    """Return `text` with its lone surrogates replaced.

    They can be neither sent nor tokenised nor stored.

    >>> encodable("a" + chr(0xD800))
    'a?'
    """
    return text.encode(errors="replace").decode()
