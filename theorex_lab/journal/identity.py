"""Give the project of a folder its id, which stays where the folder is moved.

An id is drawn once. Events say which id was bound to which place; see `journal.places`.
Standard library only: each tool call waits for it.
"""

from __future__ import annotations

import os

from theorex_lab.journal.places import (
    BOUND,
    MERGED,
    Binding,
    Places,
    place_of,
    status_of,
)
from theorex_lab.text.redact.redaction_scope import kept_path

# what type checkers take for true; `typing` would cost every hook 7 ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    from theorex_lab.core.project import Repository
    from theorex_lab.journal.base import Journal

# Never drawn: a project with these digits stands for one that has no id yet.
UNSEEN_DIGITS = "00000000"
# Git writes this file when it makes a repository, and never again: its time tells a
# repository that was moved from one that was made later and got the number of the old
# one's folder.
_WRITTEN_ONCE = "description"


def project_in(journal: Journal, repository: Repository, *, bind: bool) -> str:
    """Return the project of a folder in a journal.

    A folder without git, or one that is not here, as in a transcript of another
    machine, has the project that was bound at its path, else one by its path alone.

    Where machines share a journal, the events of this machine alone are asked: another
    may have another project at the same path.

    Args:
        journal: The journal of the home.
        repository: The folder, and its git directory.
        bind: Whether a folder that is not known gets an id, which is noted as an event.
            Else nothing is written, and a repository that was never seen has the
            project ''.
    """
    journal = journal.local
    location = place_of(repository)
    places = journal.places()
    project = places.project_at(location)
    if project:
        return project
    location = _with_times(location)
    if not bind:
        return places.current(_bound_before(journal, places, location))
    return _bind(journal, location)


def _bind(journal: Journal, place: Binding) -> str:
    """Bind a place to its project, or to one that is new; return the project."""
    from theorex_lab.core.ids import SCANNER, drawn_digits
    from theorex_lab.core.project import name_of
    from theorex_lab.journal.event import new_event

    with journal.exclusive() as append:
        # Another process may have bound it meanwhile; from here on nobody does.
        places = journal.places()
        project = places.project_at(place)
        if not project:
            project = _bound_before(journal, places, place)
            if not project:
                project = f"{name_of(place.path)}-{drawn_digits()}"
            body = {**place.to_dict(), "project": project}
            now = journal.clock.now()
            append(new_event(BOUND, body, agent=SCANNER, at=now))
    journal.keep_places()
    return journal.places().current(project)


def unseen_project(repository: Repository) -> str:
    """Return what stands for the project of a folder that has no id yet.

    Nothing is of that project, and nothing is written as its own.
    """
    from theorex_lab.core.project import name_of

    name = name_of(kept_path(repository.root))
    return f"{name}-{UNSEEN_DIGITS}"


def merge_into(journal: Journal, old: str, new: str) -> None:
    """Note that a project was merged into another; nothing takes that back.

    Raises:
        InvalidInput: Both are one project, or the first was merged before.
    """
    from theorex_lab.core.errors import InvalidInput
    from theorex_lab.core.ids import SCANNER
    from theorex_lab.journal.event import new_event

    with journal.exclusive() as append:
        places = journal.places()
        target = places.current(new)
        if old == target:
            advice = "name two projects that are apart; `theorex projects` lists them"
            raise InvalidInput(
                f"got {old!r} to be merged into {new!r}, which is the same project by"
                f" now; {advice}"
            )
        if old in places.merged:
            advice = f"merge {places.merged[old]!r} where both shall be one"
            raise InvalidInput(
                f"got {old!r}, which was merged into {places.merged[old]!r} before;"
                f" {advice}"
            )
        body = {"project": target, "from": old}
        append(new_event(MERGED, body, agent=SCANNER, at=journal.clock.now()))
    journal.keep_places()


def _bound_before(journal: Journal, places: Places, place: Binding) -> str:
    """Return the project that an unknown place must be of; '' where it is a new one."""
    binding = places.folders.get(place.path)
    if binding is not None and (
        place.folder is None or _is_same_folder(binding, place)
    ):
        return binding.project
    project = _moved_project(places, place)
    if project:
        return project
    # So projects were called before ids were drawn, and so are those of folders that no
    # id is bound to.
    project = places.project_by_path(place)
    if not project:
        return ""
    return project if not place.git or journal.has_project(project) else ""


def _is_same_folder(before: Binding, now: Binding) -> bool:
    """Return whether the folder of a place is the one that was bound at its path.

    Its git directory is another by now.
    """
    if before.folder is None:
        return not before.git  # bound by its path alone: nobody had looked at it
    return before.folder == now.folder


def _moved_project(places: Places, place: Binding) -> str:
    """Return the project whose git directory was moved here; '' where there is none."""
    if not place.git or not place.inode:
        return ""
    for binding in reversed(places.bindings):
        if _is_same_git(binding, place) and _is_gone(binding):
            return binding.project
    return ""


def _is_same_git(before: Binding, now: Binding) -> bool:
    """Return whether a place may have the git directory that was bound before."""
    if (before.device, before.inode) != (now.device, now.inode):
        return False
    return before.born is None or now.born is None or before.born == now.born


def _is_gone(before: Binding) -> bool:
    """Return whether a git directory is no longer where it was.

    Another one may be there by now.
    """
    try:
        status = os.stat(before.git)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False  # it may be there, and not ours to look at
    return (status.st_dev, status.st_ino) != (before.device, before.inode)


def _with_times(place: Binding) -> Binding:
    """Return the place with its folder's inode and the time of its repository."""
    folder = status_of(place.path)
    description = None
    if place.git:
        description = status_of(os.path.join(place.git, _WRITTEN_ONCE))
    born = None if description is None else description.st_mtime_ns
    inode = None if folder is None else folder.st_ino
    return Binding(*place[:3], place.device, place.inode, born, inode)
