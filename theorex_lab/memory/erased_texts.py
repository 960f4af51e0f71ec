"""What a home has made of texts, removed once those are erased."""

from theorex_lab.core.remembering import forget_texts
from theorex_lab.journal.erasing import ErasedPart
from theorex_lab.journal.snapshot import drop_snapshots
from theorex_lab.memory.briefing.briefing_file import remove_briefings
from theorex_lab.memory.briefing.prompt_index import remove_erased_projects
from theorex_lab.memory.contract import Home, views_folders
from theorex_lab.search.vectors import sweep_vectors


def forget_erased(home: Home, erased: ErasedPart) -> list[str]:
    """Remove every cache that may hold something of what was erased.

    From the erasure on nobody folds or renders it. What others had made before is
    removed once they have let go of it.

    Args:
        home: The home.
        erased: What was erased in its journal.

    Returns:
        The projects that the index of prompts had and has no longer.

    Raises:
        StorageError: Something could not be removed.
    """
    forget_texts()
    remove_briefings(home.folder, home.views.folder)
    projects = remove_erased_projects(home, erased)
    home.views.remove_reached()
    _remove_other_snapshots(home)
    sweep_home_vectors(home)
    return projects


def _remove_other_snapshots(home: Home) -> None:
    """Remove what was folded from the journal that the home had before or beside.

    Where machines share a journal, that is the home's own one, and else a shared one.
    """
    for folder in views_folders(home.folder):
        if folder == home.views.folder:
            continue
        for path in folder.glob("*"):
            if path.is_dir():
                drop_snapshots(path)


def sweep_home_vectors(home: Home) -> None:
    """Remove the vectors of texts that are no longer remembered."""
    folder = home.folder / "vectors"
    index = home.item_view
    if any(folder.glob("*")):
        with home.views.reading(index):
            sweep_vectors(folder, lambda keys: home.views.get(index).holds(keys))
