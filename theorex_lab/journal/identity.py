"""What a home calls the project of a folder: an id that was drawn once, and stays where
the folder is moved.

Events say which id was bound to which place, and which projects were merged. A file
beside the journal holds what they say, so that a known folder costs a hook one look at
the folder and one small file; it is a cache, and where it is missing, torn or of
another journal, the events are read. Standard library only: each tool call waits for
it.
"""

from __future__ import annotations

import json
import os
from collections import namedtuple

# what type checkers take for true; `typing` and its NamedTuple would cost every hook 7
# ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, NamedTuple

    from theorex_lab.core.project import Repository
    from theorex_lab.journal.base import Journal
    from theorex_lab.journal.event import Event

    class _BindingFields(NamedTuple):
        project: str
        path: str
        git: str
        device: int | None
        inode: int | None
        born: int | None
        folder: int | None

else:
    _BindingFields = namedtuple("_Fields", "project path git device inode born folder")

UNSEEN_DIGITS = (
    "00000000"  # never drawn: a project with them stands for one that has no id yet
)
BOUND = "project_bound"
ROOTS = "project_roots"
MERGED = "projects_merged"
KINDS = (BOUND, ROOTS, MERGED)
CACHE_FILE = "projects.json"
_LAYOUT = 1
_LARGEST_CACHE_BYTES = 16 << 20
# Git writes this file when it makes a repository, and never again: its time tells a
# repository that was moved from one
# that was made later and got the number of the old one's folder.
_WRITTEN_ONCE = "description"


class Binding(_BindingFields):
    """A project at a place, or with the project '' a place that was looked at.

    path: the project's folder.  git: its git directory, '' for none.  device, inode: of
    the git directory.  born: when the repository was made (ns).  folder: the inode of
    the project's folder. None: there was no such folder to look at.
    """

    __slots__ = ()

    @property
    def key(self) -> str:
        """What the place is looked up by."""
        return self.git or self.path


class Places:
    """What the events up to `seq` say of projects and their places. event_id: of the
    event at `seq`.

    bindings: all that there were, the latest last.  places: the latest of each key.
    folders: the latest of each project's folder.  merged: by each project that was
    merged, the one that it is now.  bound: every id that was bound. events: how many
    said all that.
    """

    def __init__(self) -> None:
        self.seq = 0
        self.event_id = ""
        self.events = 0
        self.bindings: dict[Binding, None] = {}
        self.places: dict[str, Binding] = {}
        self.folders: dict[str, Binding] = {}
        self.merged: dict[str, str] = {}
        self.bound: dict[str, None] = {}

    def after(self, events: Iterable[Event], seq: int, event_id: str) -> Places:
        """The same with what these events say, which are all of its kinds up to `seq`."""
        other = Places()
        other.seq, other.event_id, other.events = seq, event_id, self.events
        other.bindings = dict(self.bindings)
        other.places = dict(self.places)
        other.folders = dict(self.folders)
        other.merged = dict(self.merged)
        other.bound = dict(self.bound)
        for event in events:
            other.events += 1
            if not event.erased:
                other.take(event.kind, event.body)
        return other

    def take(self, kind: str, body: dict[str, Any]) -> None:
        """Take in what an event says; one that lacks what it should say says nothing."""
        project = body.get("project")
        old = body.get("from")
        if not isinstance(project, str) or not project:
            return
        if (
            kind == BOUND
            and isinstance(body.get("path"), str)
            and isinstance(body.get("git"), str)
        ):
            self.bind(Binding._make(body.get(name) for name in Binding._fields))
        elif kind == MERGED and isinstance(old, str):
            self.merge(old, project)

    def bind(self, binding: Binding) -> None:
        """Take in that a project was bound to a place."""
        self.bound[binding.project] = None
        self.bindings.pop(binding, None)
        self.bindings[binding] = None
        self.places[binding.key] = binding
        self.folders[binding.path] = binding

    def merge(self, old: str, new: str) -> None:
        """Take in that a project was merged into another."""
        now = self.current(new)
        if now == old:
            return
        for name in (*self.merged, old):
            if self.current(name) == old:
                self.merged[name] = now

    def current(self, project: str) -> str:
        """What a project is now, after all merges."""
        return self.merged.get(project, project)

    def names_of(self, project: str) -> list[str]:
        """The project's id, and those of all that were merged into it."""
        return [project, *(old for old, new in self.merged.items() if new == project)]

    def paths_of(self, project: str) -> list[str]:
        """The folders that a project was bound to, the latest last."""
        bound = [
            binding.path
            for binding in self.bindings
            if self.current(binding.project) == project
        ]
        return list(dict.fromkeys(reversed(bound)))[::-1]

    def project_at(self, place: Binding) -> str:
        """The project of a place that is known as it is now; '' where more has to be
        looked at.
        """
        if place.git:
            known = self.places.get(place.git)
            is_same = (
                known is not None
                and known.inode is not None
                and known.inode == place.inode
            )
            return self.current(known.project) if known is not None and is_same else ""
        at_path = self.folders.get(place.path)
        if at_path is not None:
            return "" if at_path.git else self.current(at_path.project)
        return self.project_by_path(place)

    def project_by_path(self, place: Binding) -> str:
        """The project that a folder without git has by its path alone; '' where that id
        was bound to a place.
        """
        from theorex_lab.core.project import project_by_path

        by_path = project_by_path(place.path)
        return "" if by_path in self.bound else self.current(by_path)

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON holds it."""
        bindings = [list(binding) for binding in self.bindings]
        head = {
            "layout": _LAYOUT,
            "seq": self.seq,
            "event": self.event_id,
            "events": self.events,
        }
        return {**head, "bindings": bindings, "merged": self.merged}


def place_of(repository: Repository) -> Binding:
    """A place as the file system has it now, of no project."""
    root, git = repository
    if not git:
        return Binding("", root, "", None, None, None, None)
    status = _status(git)
    if status is None:
        return Binding("", root, git, None, None, None, None)
    return Binding("", root, git, status.st_dev, status.st_ino, None, None)


def known_project(home: str, repository: Repository) -> tuple[str, Places | None]:
    """The project of a folder by the home's file alone, and what the file says; ''
    where that does not tell it.
    """
    known = read_cache(home)
    return (
        ("", None) if known is None else (known.project_at(place_of(repository)), known)
    )


def project_in(journal: Journal, repository: Repository, *, bind: bool) -> str:
    """The project of a folder in a journal. With `bind`, one that is not known gets an
    id, which is noted as an event.

    Without, nothing is written, and a repository that was never seen has the project
    ''. A folder without git, or one that is not here, as in a transcript of another
    machine, has the project that was bound at its path, else one by its path alone.
    """
    place = place_of(repository)
    known = journal.places()
    if project := known.project_at(place):
        return project
    place = _all_of(place)
    if not bind:
        return known.current(_found(journal, known, place))
    from theorex_lab.core.ids import SCANNER, drawn_digits
    from theorex_lab.core.project import name_of
    from theorex_lab.journal.event import new_event

    with journal.exclusive() as append:
        # Another process may have bound it meanwhile; from here on nobody does.
        known = journal.places()
        project = known.project_at(place)
        if not project:
            project = (
                _found(journal, known, place)
                or f"{name_of(place.path)}-{drawn_digits()}"
            )
            body = {**place._replace(project=project)._asdict()}
            now = journal.clock.now()
            append(new_event(BOUND, body, agent=SCANNER, at=now))
    journal.keep_places()
    return journal.places().current(project)


def unseen_project(repository: Repository) -> str:
    """What stands for the project of a folder that has no id yet: nothing is of it, and
    nothing is written as its own.
    """
    from theorex_lab.core.project import name_of

    return f"{name_of(repository.root)}-{UNSEEN_DIGITS}"


def merge_into(journal: Journal, old: str, new: str) -> None:
    """Note that a project was merged into another; nothing takes that back.

    Raises InvalidInput for a project with itself, and for one that was merged before.
    """
    from theorex_lab.core.errors import InvalidInput
    from theorex_lab.core.ids import SCANNER
    from theorex_lab.journal.event import new_event

    with journal.exclusive() as append:
        known = journal.places()
        target = known.current(new)
        if old == target:
            advice = "name two projects that are apart; `theorex projects` lists them"
            raise InvalidInput(
                f"got {old!r} to be merged into {new!r}, which is the same project by now; {advice}"
            )
        if old in known.merged:
            advice = f"merge {known.merged[old]!r} where both shall be one"
            raise InvalidInput(
                f"got {old!r}, which was merged into {known.merged[old]!r} before; {advice}"
            )
        body = {"project": target, "from": old}
        append(new_event(MERGED, body, agent=SCANNER, at=journal.clock.now()))
    journal.keep_places()


def read_cache(home: str) -> Places | None:
    """What the home's file says; None where there is none that can be read."""
    try:
        with open(os.path.join(home, CACHE_FILE), "rb") as file:
            content = json.loads(file.read(_LARGEST_CACHE_BYTES))
        known = Places()
        if content["layout"] != _LAYOUT:
            return None
        known.seq, known.event_id, known.events = (
            int(content["seq"]),
            str(content["event"]),
            int(content["events"]),
        )
        for fields in content["bindings"]:
            known.bind(Binding._make(fields))
        known.merged = dict(content["merged"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return known


def write_cache(home: str, known: Places) -> None:
    """Write the home's file as a whole; where it cannot be written, the next one who
    looks reads the events.
    """
    from theorex_lab.core.files import open_private

    content = json.dumps(known.to_json(), separators=(",", ":")).encode()
    file = os.path.join(home, CACHE_FILE)
    draft = f"{file}.{os.getpid()}-{os.urandom(4).hex()}"
    try:
        with open(draft, "xb", opener=open_private) as handle:
            handle.write(content)
        os.replace(draft, file)
    except OSError:
        if os.path.exists(draft):
            os.remove(draft)


def _found(journal: Journal, known: Places, place: Binding) -> str:
    """The project that a place which is not known as it is must be of; '' where it is a
    new one.
    """
    at_path = known.folders.get(place.path)
    if at_path is not None and (
        place.folder is None or _is_same_folder(at_path, place)
    ):
        return at_path.project
    moved = _moved(known, place)
    if moved:
        return moved
    # So projects were called before ids were drawn, and so are those of folders that no
    # id is bound to.
    by_path = known.project_by_path(place)
    return (
        by_path if by_path and (not place.git or journal.has_project(by_path)) else ""
    )


def _is_same_folder(before: Binding, now: Binding) -> bool:
    """Whether the folder of a place is the one that was bound at its path, though its
    git directory is another by now.
    """
    if before.folder is None:
        return not before.git  # bound by its path alone: nobody had looked at it
    return before.folder == now.folder


def _moved(known: Places, place: Binding) -> str:
    """The project whose git directory this is, which has gone from where it was; ''
    where there is none.
    """
    if not place.git or not place.inode:
        return ""
    for before in reversed(known.bindings):
        same = (before.device, before.inode) == (place.device, place.inode)
        if not same or (
            before.born is not None
            and place.born is not None
            and before.born != place.born
        ):
            continue
        if _is_gone(before):
            return before.project
    return ""


def _is_gone(before: Binding) -> bool:
    """Whether a git directory is no longer where it was; another one may be there by
    now.
    """
    try:
        status = os.stat(before.git)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False  # it may be there, and not ours to look at
    return (status.st_dev, status.st_ino) != (before.device, before.inode)


def _all_of(place: Binding) -> Binding:
    folder = _status(place.path)
    once = _status(os.path.join(place.git, _WRITTEN_ONCE)) if place.git else None
    born = None if once is None else once.st_mtime_ns
    return place._replace(born=born, folder=None if folder is None else folder.st_ino)


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None
