"""A progress bar where somebody watches, and none elsewhere."""

import sys
from types import SimpleNamespace
from typing import Any


def bar(total: int, done: int, progress: bool | None, unit: str, what: str) -> Any:
    """A bar of tqdm's that begins at `done`; `progress` None shows it in a terminal or
    notebook alone.
    """
    if progress is None:
        progress = "ipykernel" in sys.modules or sys.stderr.isatty()
    if not progress:
        return SimpleNamespace(update=lambda _done: None, close=lambda: None)
    from tqdm.auto import tqdm  # type: ignore[import-untyped]

    return tqdm(total=total, initial=done, unit=unit, desc=what)
