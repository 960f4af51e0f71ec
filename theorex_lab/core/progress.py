"""A progress bar where somebody watches, and none elsewhere."""

import sys
from types import SimpleNamespace
from typing import Any

_DELAY_SECONDS = 2.0


def bar(total: int, *, unit: str, what: str, progress: bool | None) -> Any:
    """Return a bar of tqdm's that begins at 0, or what takes its place.

    Args:
        total: The number of units at which the bar is full.
        unit: What is counted.
        what: What is done, which stands before the bar.
        progress: Whether to show a bar; None shows it in a terminal or notebook alone,
            once the work has lasted two seconds.
    """
    delay_seconds = 0.0
    if progress is None:
        is_notebook = "ipykernel" in sys.modules
        progress = is_notebook or sys.stderr.isatty()
        delay_seconds = _DELAY_SECONDS
    if not progress:
        return _hidden_bar()
    from tqdm.auto import tqdm  # type: ignore[import-untyped]

    return tqdm(
        total=total,
        unit=unit,
        desc=what,
        delay=delay_seconds,
    )


def _hidden_bar() -> SimpleNamespace:
    """Return a bar that shows nothing."""

    def update(_n_units: int) -> None:
        """Take what was done."""

    def set_postfix_str(_text: str) -> None:
        """Take what is done now."""

    def close() -> None:
        """Show nothing more."""

    return SimpleNamespace(
        update=update,
        set_postfix_str=set_postfix_str,
        close=close,
    )
