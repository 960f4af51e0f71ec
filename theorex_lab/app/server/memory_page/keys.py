"""Who may use the page: the owner's token, links that open it once, and keys of tabs."""

from __future__ import annotations

import hmac
import secrets
from pathlib import Path

from theorex_lab.app.server.asgi import RequestRefused

_TOKEN_FILE = "page-token"
_CODE_BYTES = 24
_MOST_KEYS = 64  # tabs that were opened by a link
_REFUSED = (
    "this part needs the page's token: open the link that `theorex serve` prints, or"
    " paste what the file page-token in the home holds"
)
_USED = (
    "this link was used already; paste what the file page-token in the home holds, or"
    " start `theorex serve` again"
)


def page_token_file(home: Path) -> Path:
    """Return where the token of the home's owner lies, which no agent is given.

    >>> page_token_file(Path("home")).name
    'page-token'
    """
    return home / _TOKEN_FILE


class PageKeys:
    """What opens the page of one server.

    Args:
        token: The owner's token, which stays the same from start to start.

    >>> keys = PageKeys("a-token-of-the-owner")
    >>> code = keys.new_code()
    >>> key = keys.key_for(code)
    >>> keys.is_open_to(key), keys.is_open_to("guessed")
    (True, False)
    """

    def __init__(self, token: str) -> None:
        self._token = token
        self._code = ""
        self._keys: list[str] = []  # in memory alone, the newest last

    def new_code(self) -> str:
        """Return the code of a link that opens the page once; an earlier one ends."""
        self._code = secrets.token_urlsafe(_CODE_BYTES)
        return self._code

    def key_for(self, code: str) -> str:
        """Return a key for the tab that has the code of a link; the code then ends.

        Raises:
            RequestRefused: The code is none, or was used.
        """
        if not self._code or not _is_same(code, self._code):
            raise RequestRefused(401, _USED, WWW_Authenticate="Bearer")
        self._code = ""
        key = secrets.token_urlsafe(_CODE_BYTES)
        self._keys = [*self._keys, key][-_MOST_KEYS:]
        return key

    def is_open_to(self, credential: str) -> bool:
        """Return whether a credential is the owner's token or the key of a tab."""
        matches = [_is_same(credential, key) for key in (self._token, *self._keys)]
        return any(matches)

    def check(self, header: str) -> None:
        """Refuse an Authorization header that does not open the page."""
        scheme, _, credential = header.partition(" ")
        is_open = self.is_open_to(credential.strip())
        if not is_open or scheme.lower() != "bearer":
            raise RequestRefused(401, _REFUSED, WWW_Authenticate="Bearer")


def _is_same(credential: str, secret: str) -> bool:
    return hmac.compare_digest(credential.encode(), secret.encode())
