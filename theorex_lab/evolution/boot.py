"""The context of the next session: what the designs remember, and what failed of late."""

from __future__ import annotations

from pathlib import Path

from theorex_lab.evolution.what_failed import WHAT_FAILED
from theorex_lab.home import Home
from theorex_lab.memory.context import Context, render
from theorex_lab.memory.context_file import write_context


def boot_context(home: Home, *, tokens: int | None = None) -> Context:
    """What the next session is given now, within `tokens` (default: the setting contextTokens)."""
    return render(home, home.clock.now(), more=[WHAT_FAILED], tokens=tokens)


def boot_inject(home: Home, output: Path) -> Context:
    """Render the context into `output`, which is replaced as a whole. Raises StorageError where that fails."""
    return write_context(output, home.views.folder, lambda: boot_context(home))
