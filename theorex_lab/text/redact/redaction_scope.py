"""Mask every text that comes in, in one place.

A scope says what a text is kept as, how many secrets that took out, and the way round
it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from theorex_lab.text.redact.hints import MASK
from theorex_lab.text.redact.masking import mask, masked_value
from theorex_lab.text.visible import visible, visible_value


@dataclass
class RedactionScope:
    """What one call took out of the texts that it was given.

    `masked` counts the secrets; it is 0 where secrets are kept on request.
    """

    keeps_secrets: bool = False
    masked: int = 0

    def told(self) -> dict[str, Any]:
        """Return what a command says of it in its result.

        It says nothing where nothing was masked or kept on request.
        """
        if self.keeps_secrets:
            return {"kept_secrets": True}
        return {"masked": self.masked} if self.masked else {}


Kept = TypeVar("Kept")
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
    here = RedactionScope(keep_secrets or (outer is not None and outer.keeps_secrets))
    token = _OPEN.set(here)
    try:
        yield here
    finally:
        _OPEN.reset(token)
        if outer is not None:
            outer.masked += here.masked


def current() -> RedactionScope:
    """Return the door of the running call; a new one where none was opened."""
    return _OPEN.get() or RedactionScope()


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


def _kept(value: Kept, mask_all: Callable[[Kept], Kept]) -> Kept:
    here = _OPEN.get()
    if here is not None and here.keeps_secrets:
        return value
    masked = mask_all(value)
    if here is not None and masked != value:
        here.masked += max(1, str(masked).count(MASK) - str(value).count(MASK))
    return masked
