"""A progress bar where somebody watches, and none elsewhere."""

import sys
from types import SimpleNamespace
from typing import Any


def bar(total: int, *, unit: str, what: str, progress: bool | None) -> Any:
    """Return a bar of tqdm's that begins at 0, or what takes its place.

    Args:
        total: The number of units at which the bar is full.
        unit: What is counted.
        what: What is done, which stands before the bar.
        progress: Whether to show a bar; None shows it in a terminal or notebook alone.
    """
    if progress is None:
        is_notebook = "ipykernel" in sys.modules
        progress = is_notebook or sys.stderr.isatty()
    if not progress:
        return _hidden_bar()
    from tqdm.auto import tqdm  # type: ignore[import-untyped]

    return tqdm(
        total=total,
        unit=unit,
        desc=what,
    )


def _hidden_bar() -> SimpleNamespace:
    """Return a bar that shows nothing."""

    def update(_n_units: int) -> None:
        """Take what was done."""

    def close() -> None:
        """Show nothing more."""

    return SimpleNamespace(
        update=update,
        close=close,
    )
