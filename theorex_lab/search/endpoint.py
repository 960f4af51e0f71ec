"""Addresses of model endpoints: which are allowed, and how they and what they said are
shown in errors.
"""

import ipaddress
import os
import re
from urllib.parse import SplitResult, urlsplit

from theorex_lab.core.errors import ConfigError, ModelUnavailable

EXCERPT_LENGTH = 120
# What looks like a key or a token: at least 20 characters that hold a digit, or what
# follows "Bearer".
_KEY = re.compile(r"[!-~]+")
_SECRET = re.compile(r"(?<=Bearer )\S+|(?=[\w-]*\d)[\w-]{20,}")


def endpoint_url(url: str, route: str, *, what: str, allow_remote: bool = False) -> str:
    """The whole address of `route` (such as "embeddings") at `url`, which may stop at
    the host, at /v1 or at the route.

    Raises ConfigError, naming it as the url of `what`, for anything but
    http(s)://host:port and, unless `allow_remote`, for a host that is not a loopback
    address or `localhost`.

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
        path = (path if path.endswith("/v1") else f"{path}/v1") + f"/{route}"
    return f"{parts.scheme}://{parts.netloc}{path}"


def _usable_parts(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        usable = (
            parts.scheme in ("http", "https")
            and parts.port != 0
            and bool(parts.hostname)
        )
    except ValueError:  # of a port past 65535 or an unclosed bracket
        return None
    return parts if usable and "@" not in parts.netloc and not parts.query else None


def is_loopback(host: str) -> bool:
    """Whether a host is a loopback address or `localhost`; other names are not looked
    up.

    >>> is_loopback("127.0.0.1"), is_loopback("192.168.0.7")
    (True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def masked_url(url: str) -> str:
    """A refused address as errors may show it: without user, password and query.

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
    """The key in an environment variable; None where no variable is named.

    Raises ModelUnavailable where it is not set, or holds what no header can.

    >>> key_from("NO_SUCH_VARIABLE", "nomic-embed")
    Traceback (most recent call last):
    theorex_lab.core.errors.ModelUnavailable: nomic-embed takes its key from $NO_SUCH_VARIABLE, which is not set
    """  # noqa: E501
    if variable is None:
        return None
    if not (key := os.environ.get(variable, "").strip()):
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
    """The key itself. Raises ConfigError for one that no header can hold; None stays."""
    if key is not None and not _KEY.fullmatch(key):
        raise ConfigError(
            f"got a key for {whose} that is empty or holds more than visible ASCII;"
            " mend it"
        )
    return key


def authorization(key: str | None) -> dict[str, str]:
    """The header that carries a key, if there is one.

    >>> authorization("sk-1")
    {'Authorization': 'Bearer sk-1'}
    """
    return {"Authorization": f"Bearer {key}"} if key else {}


def excerpt(content: bytes, key: str | None = None) -> str:
    """The beginning of a reply as errors may show it: short, escaped, without `key` and
    what looks like one.

    >>> excerpt(b"no model for Bearer sk-123")
    "'no model for Bearer ***'"
    """
    if key:
        content = content.replace(key.encode(), b"***")
    # More is searched than shown, so that a key across the cut is seen whole.
    return repr(
        _SECRET.sub("***", content[: 8 * EXCERPT_LENGTH].decode(errors="replace"))[
            :EXCERPT_LENGTH
        ]
    )


def encodable(text: str) -> str:
    """`text` with its lone surrogates replaced: they can be neither sent nor tokenised
    nor stored.

    >>> encodable("a" + chr(0xD800))
    'a?'
    """
    return text.encode(errors="replace").decode()
