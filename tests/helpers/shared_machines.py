"""Machines of one team: homes of their own that share one PostgreSQL database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conftest import NOW

from theorex_lab import FixedClock, Lab
from theorex_lab.core.settings import check_settings

Machine = Callable[..., Lab]


@contextmanager
def machines_at(folder: Path, url: str, **options: Any) -> Iterator[Machine]:
    """Give a function that opens a machine's home by its name, with settings.

    Args:
        folder: Where the homes lie.
        url: The database.
        options: What each lab is made with, as its embedder.
    """
    labs: list[Lab] = []

    def opened(name: str, **settings: Any) -> Lab:
        chosen = check_settings({"journalUrl": url, **settings})
        lab = Lab(folder / name, settings=chosen, clock=FixedClock(NOW), **options)
        labs.append(lab)
        return lab

    yield opened
    for lab in labs:
        lab.close()
