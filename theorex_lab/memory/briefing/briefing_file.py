"""Keep the rendered briefing in a file.

The file outlives neither its replacement nor an erasure.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from theorex_lab.core.files import (
    exclusive,
    make_folder,
    told,
    write_atomically,
    writing,
)
from theorex_lab.memory.context_served import note_of, note_text

if TYPE_CHECKING:
    from theorex_lab.memory.briefing.briefing import Briefing

CONTEXT_FILE = "SHARED_CONTEXT.md"
CONTEXTS_FOLDER = "contexts"  # of those that were rendered for one project
_LOCK = "context.lock"


def write_briefing(file: Path, locks: Path, render: Callable[[], Briefing]) -> Briefing:
    """Render a briefing into the file, which is replaced as a whole.

    It is rendered under the lock, so that nothing from before an erasure is written
    after it. In the home, a note beside it says what it shows, see
    `memory.context_served.given_of`.

    Args:
        file: The file.
        locks: The folder that holds the lock.
        render: Renders the briefing.

    Raises:
        StorageError: A file cannot be written.
    """
    with writing(file, "the old file is untouched; choose another with --output"):
        make_folder(str(file.parent))
        with exclusive(locks / _LOCK, wait=True):
            rendered = render()
            text = rendered.text.encode()
            write_atomically(file, text)
            if file.parent.resolve().is_relative_to(locks.resolve().parent):
                # After the text: in between, the note is one of another text, and not
                # believed.
                write_atomically(
                    Path(note_of(str(file))),
                    note_text(text, rendered.items, rendered.tokens),
                )
    return rendered


def project_briefing(folder: Path, project: str) -> Path:
    """Return the file of a project's own briefing, in the home `folder`."""
    return folder / CONTEXTS_FOLDER / f"{project}.md"


def remove_briefings(folder: Path, locks: Path) -> None:
    """Remove every briefing that was rendered in the home `folder`.

    Raises:
        StorageError: As `remove_briefing`.
    """
    remove_briefing(folder / CONTEXT_FILE, locks)
    for file in sorted((folder / CONTEXTS_FOLDER).glob("*")):
        remove_briefing(file, locks)


def remove_briefing(file: Path, locks: Path) -> None:
    """Remove a rendered briefing and the note beside it.

    Those being written are removed too, and drafts that killed processes left.

    Args:
        file: The briefing's file.
        locks: The folder of the locks.

    Raises:
        StorageError: That fails.
    """
    with told(f"cannot remove {file}"), exclusive(locks / _LOCK, wait=True):
        drafts = file.parent.glob(f".{file.name}.*")
        drafts_of_note = file.parent.glob(f"..{file.name}.*")
        for path in (file, *drafts, *drafts_of_note):
            path.unlink(missing_ok=True)
