"""Open a home of its own for a file or a demo; it is gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from theorex_lab.memory.contract import Home

if TYPE_CHECKING:
    from theorex_lab.core.settings import Settings
    from theorex_lab.search.embed import Embedder


@contextmanager
def temporary_home(
    settings: Settings | None = None, embedder: Embedder | None = None
) -> Iterator[Home]:
    """Yield an empty home in which dreams work alone.

    Args:
        settings: The settings; by default those that ship.
        embedder: The embedder; by default the best that there is.
    """
    from theorex_lab.designs.dreams.design import DESIGN

    with TemporaryDirectory(prefix="theorex-") as folder:
        home = Home(
            Path(folder),
            settings=settings,
            embedder=embedder,
            designs=lambda: (DESIGN,),
        )
        _ = home.designs  # their kinds of events become known
        with closing(home.journal):
            yield home
