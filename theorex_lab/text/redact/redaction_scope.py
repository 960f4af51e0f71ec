"""Mask every text that is kept, and say how much was masked.

The journal masks what is appended to it, see `theorex_lab.journal.redaction`. A scope
counts what that and the calls of this module take out of texts, and is the way round
it. Standard library only, since hooks append.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar

from theorex_lab.text.redact.hints import MASK
from theorex_lab.text.redact.masking import mask, masked_value
from theorex_lab.text.visible import visible, visible_value

# what type checkers take for true; `typing` and `dataclasses` would cost every hook
# some milliseconds
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    Kept = TypeVar("Kept")

_DIGEST_CHARACTERS = 32


class RedactionScope:
    """What one call took out of the texts that it was given.

    Attributes:
        keeps_secrets: Whether secrets stay, on request.
        masked: How many were masked; 0 where they stay.
    """

    __slots__ = ("keeps_secrets", "masked")

    def __init__(self, *, keeps_secrets: bool = False) -> None:
        self.keeps_secrets = keeps_secrets
        self.masked = 0

    def told(self) -> dict[str, Any]:
        """Return what a command says of it in its result.

        It says nothing where nothing was masked or kept on request.
        """
        if self.keeps_secrets:
            return {"kept_secrets": True}
        return {"masked": self.masked} if self.masked else {}


_OPEN: ContextVar[RedactionScope | None] = ContextVar("theorex_door", default=None)


@contextmanager
def door(*, keep_secrets: bool = False) -> Iterator[RedactionScope]:
    """Count what is masked within.

    Args:
        keep_secrets: Whether nothing is masked, neither here nor in scopes within.

    >>> with door() as here:
    ...     text = kept_text("token=abc123def")
    >>> text, here.masked
    ('token=[masked]', 1)
    """
    outer = _OPEN.get()
    is_open_outside = outer is not None and outer.keeps_secrets
    here = RedactionScope(keeps_secrets=keep_secrets or is_open_outside)
    token = _OPEN.set(here)
    try:
        yield here
    finally:
        _OPEN.reset(token)
        if outer is not None:
            outer.masked += here.masked


def secrets_stay() -> bool:
    """Return whether the running call keeps secrets, on request."""
    here = _OPEN.get()
    return here is not None and here.keeps_secrets


def kept_text(text: str) -> str:
    """Return the text as it may be kept.

    It is without what nobody sees, which could split a secret, and masked unless the
    call keeps secrets.
    """
    return _kept(visible(text), mask)


def kept_value(value: Any) -> Any:
    """Return a JSON value as it may be kept, each text in it as by `kept_text`.

    See `masking.masked_value`.
    """
    return _kept(visible_value(value), masked_value)


def kept_id(name: str) -> str:
    """Return the name of a session, an agent or a project as it may be kept.

    A name with a secret in it becomes a hash, the same each time, so that what is of
    one name stays together, and apart from what is of another.

    >>> kept_id("s-1"), kept_id("sk_live_" + 24 * "a1")
    ('s-1', 'hash-da8058a824f354ec48ec1da5103ee23e')
    """
    if secrets_stay() or mask(name) == name:
        return name
    return f"hash-{_digest(name)}"


def kept_path(path: str) -> str:
    """Return the path of a folder as it may be kept.

    The mask in it holds a hash, the same each time, so that two folders stay apart.

    >>> kept_path("/srv/shop"), kept_path("/srv/sk_live_" + 24 * "a1")
    ('/srv/shop', '/srv/[masked-386b6f8a5e7e]')
    """
    if secrets_stay():
        return path
    masked = mask(path)
    if masked == path:
        return path
    digits = _digest(path)[:12]
    return masked.replace(MASK, f"{MASK[:-1]}-{digits}]")


def _digest(name: str) -> str:
    """Return hexadecimal digits that are the same for the same name."""
    import hashlib

    digits = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return digits[:_DIGEST_CHARACTERS]


def count_masked(before: str, after: str) -> int:
    """Return how many secrets were masked between two states of a text, and count them.

    Args:
        before: The text.
        after: What was kept of it.
    """
    if before == after:
        return 0
    n_masked = max(1, after.count(MASK) - before.count(MASK))
    here = _OPEN.get()
    if here is not None:
        here.masked += n_masked
    return n_masked


def _kept(value: Kept, mask_all: Callable[[Kept], Kept]) -> Kept:
    if secrets_stay():
        return value
    here = _OPEN.get()
    masked = mask_all(value)
    if here is not None and masked != value:
        count_masked(str(value), str(masked))
    return masked
