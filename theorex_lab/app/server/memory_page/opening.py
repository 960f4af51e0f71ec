"""The way into the page: its token, a link that opens it once, and the user's browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html import escape

from theorex_lab.app.server.auth import read_token
from theorex_lab.app.server.memory_page.keys import PageKeys, page_token_file
from theorex_lab.core.errors import TheorexError
from theorex_lab.core.files import write_atomically
from theorex_lab.core.processes import open_in_browser
from theorex_lab.memory.session_list import SessionList
from theorex_lab.store.lab import Lab

_LINK_FILE = "open-page.html"
_LONGEST_SECONDS = 60.0  # that the end of the server waits for what is being read
_LINK_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>Opening the memory</title>
<p><a href="{address}">Open the memory</a></p>
</html>
"""


class PageOpening:
    """How one server's page is opened.

    Attributes:
        keys: What opens the page.
        token_file: The file of the owner's token, made at the first start.
    """

    def __init__(self, lab: Lab, *, prints_link: bool, opens_browser: bool) -> None:
        self.token_file = page_token_file(lab.folder)
        self.keys = PageKeys(read_token(self.token_file))
        self._lab = lab
        self._prints_link = prints_link
        self._opens_browser = opens_browser
        self._link_file = lab.folder / _LINK_FILE
        self._ended = threading.Event()
        self._reading = threading.Thread(target=self._read_first, daemon=True)

    def start(self, address: str) -> str:
        """Make ready what the page asks first, and open it where that is wanted.

        Args:
            address: The address of the server.

        Returns:
            What a person is told of it.
        """
        self._reading.start()
        if not self._prints_link:
            return f"page      {address}/  (its token is in {self.token_file})"
        link = f"{address}/#{self.keys.new_code()}"
        if self._opens_browser:
            self._open(link)
        return (
            f"page      {link}\n          (the link works once; after that the page asks"
            f" for what {self.token_file} holds)"
        )

    def _open(self, link: str) -> None:
        """Open a link in the browser.

        Others on this machine may see what a program is called with. So the browser
        gets a file that leads to the link, and that its owner alone can read.
        """
        with suppress(OSError):
            page = _LINK_PAGE.format(address=escape(link))
            write_atomically(self._link_file, page.encode(), mode=0o600)
            open_in_browser(str(self._link_file.absolute()))

    def close(self) -> None:
        """Remove the file that leads to the link, and wait until nothing is read."""
        self._ended.set()
        with suppress(OSError):
            self._link_file.unlink(missing_ok=True)
        if self._reading.is_alive():  # what it reads must not be closed meanwhile
            self._reading.join(_LONGEST_SECONDS)

    def _read_first(self) -> None:
        """Read what the page asks first, which takes seconds for the first time."""
        lab = self._lab
        with suppress(TheorexError):
            projects = lab.projects()
            if projects and not lab.home.project:
                lab = lab.in_project(projects[0]["project"])
            for read in (
                lambda: lab.views.get(SessionList),
                lab.briefing,
                lambda: lab.search("memory", limit=1, vectors="never"),
            ):
                if self._ended.is_set():
                    return
                read()


@contextmanager
def opened_page(
    lab: Lab, *, prints_link: bool, opens_browser: bool
) -> Iterator[PageOpening]:
    """Return how the page of a lab is opened, while its server runs.

    Args:
        lab: The lab.
        prints_link: Whether a link that opens it once is told.
        opens_browser: Whether the user's browser is started.
    """
    opening = PageOpening(lab, prints_link=prints_link, opens_browser=opens_browser)
    try:
        yield opening
    finally:
        opening.close()
