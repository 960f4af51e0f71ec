"""The rendered context as a file, which outlives neither its replacement nor an
erasure.
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
    from theorex_lab.memory.briefing.context import Context

CONTEXT_FILE = "SHARED_CONTEXT.md"
CONTEXTS_FOLDER = "contexts"  # of those that were rendered for one project
NO_PROJECT = (
    "none"  # stands for an unknown project: its context is what belongs to no project
)
_LOCK = "context.lock"


def write_context(file: Path, locks: Path, render: Callable[[], Context]) -> Context:
    """Render a context into the file, which is replaced as a whole. `locks`: the folder
    that holds the lock.

    It is rendered under the lock, so that nothing from before an erasure is written
    after it. In the home, a note beside it tells what it gives, see
    `recalled.given_of`. Raises StorageError where a file cannot be written.
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


def project_context(folder: Path, project: str) -> Path:
    """The file of a project's own context, in the home `folder`."""
    return folder / CONTEXTS_FOLDER / f"{project}.md"


def remove_contexts(folder: Path, locks: Path) -> None:
    """Remove every context that was rendered in the home `folder`, as `remove_context`
    does. Raises StorageError.
    """
    remove_context(folder / CONTEXT_FILE, locks)
    for file in sorted((folder / CONTEXTS_FOLDER).glob("*")):
        remove_context(file, locks)


def remove_context(file: Path, locks: Path) -> None:
    """Remove a rendered context and the note beside it, those being written too, and
    drafts that killed processes left.

    Raises StorageError where that fails.
    """
    with told(f"cannot remove {file}"), exclusive(locks / _LOCK, wait=True):
        # With two dots: the drafts of the note.
        for path in (
            file,
            *(
                draft
                for dots in ("", ".")
                for draft in file.parent.glob(f"{dots}.{file.name}.*")
            ),
        ):
            path.unlink(missing_ok=True)
