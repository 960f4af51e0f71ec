"""What a journal's events say of projects: where they are, and which were merged.

A place is the folder that a project is bound to. A file beside the journal holds what
the events say, so that a known folder costs a hook one look at the folder and one small
file. The file is a cache: where it is missing, torn or of another journal, the events
are read. Standard library only: each tool call waits for it.
"""

from __future__ import annotations

import os

from theorex_lab.core import light_json as json
from theorex_lab.text.redact.redaction_scope import kept_path

# what type checkers take for true; `typing` and its NamedTuple would cost every hook 7
# ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Self

    from theorex_lab.core.project import Repository
    from theorex_lab.journal.event import Event

BOUND = "project_bound"
ROOTS = "project_roots"
MERGED = "projects_merged"
KINDS = (BOUND, ROOTS, MERGED)
CACHE_FILE = "projects.json"
_LAYOUT = 1
_LARGEST_CACHE_BYTES = 16 << 20


BINDING_FIELDS = ("project", "path", "git", "device", "inode", "born", "folder")


_Number = int | None


class Binding(tuple[str, str, str, _Number, _Number, _Number, _Number]):
    """A project at a place, or with the project '' a place that was looked at.

    It is a tuple of BINDING_FIELDS, written out since `namedtuple` compiles a function,
    which would cost every hook .3 ms. A number is None where there was no such folder
    to look at.
    """

    __slots__ = ()

    def __new__(
        cls,
        project: str,
        path: str,
        git: str,
        device: int | None = None,
        inode: int | None = None,
        born: int | None = None,
        folder: int | None = None,
    ) -> Self:
        """Make one of its members."""
        return tuple.__new__(cls, (project, path, git, device, inode, born, folder))

    @property
    def project(self) -> str:
        """Return the id of the project."""
        return self[0]

    @property
    def path(self) -> str:
        """Return the project's folder."""
        return self[1]

    @property
    def git(self) -> str:
        """Return its git directory, '' for none."""
        return self[2]

    @property
    def device(self) -> int | None:
        """Return the device of the git directory."""
        return self[3]

    @property
    def inode(self) -> int | None:
        """Return the inode of the git directory."""
        return self[4]

    @property
    def born(self) -> int | None:
        """Return when the repository was made (ns)."""
        return self[5]

    @property
    def folder(self) -> int | None:
        """Return the inode of the project's folder."""
        return self[6]

    def to_dict(self) -> dict[str, Any]:
        """Return the members by their names, as an event holds them."""
        return dict(zip(BINDING_FIELDS, self, strict=True))

    @property
    def key(self) -> str:
        """Return what the place is looked up by."""
        return self.git or self.path


class Places:
    """What the events up to `seq` say of projects and their places.

    Attributes:
        seq: The seq up to which the events were read.
        event_id: The id of the event at `seq`.
        events: How many events said all that.
        bindings: All bindings that there were, the latest last.
        places: The latest binding of each key.
        folders: The latest binding of each project's folder.
        merged: For each project that was merged, the one that it is now.
        bound: Every id that was bound.
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
        """Return the same with what later events say.

        Args:
            events: All events of the kinds `KINDS` after this state, up to `seq`.
            seq: The seq up to which they were read.
            event_id: The id of the event at `seq`.
        """
        other = Places()
        other.seq = seq
        other.event_id = event_id
        other.events = self.events
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
        """Take in what an event says.

        One that lacks what it should say says nothing.
        """
        project = body.get("project")
        if not isinstance(project, str) or not project:
            return
        if kind == BOUND and _has_texts(body, "path", "git"):
            fields: list[Any] = [body.get(name) for name in BINDING_FIELDS]
            self.bind(Binding(*fields))
        elif kind == MERGED and _has_texts(body, "from"):
            self.merge(body["from"], project)

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
        """Return what a project is now, after all merges."""
        return self.merged.get(project, project)

    def names_of(self, project: str) -> list[str]:
        """Return the project's id, and those of all that were merged into it."""
        names = [project]
        for old, new in self.merged.items():
            if new == project:
                names.append(old)
        return names

    def paths_of(self, project: str) -> list[str]:
        """Return the folders that a project was bound to, the latest last."""
        paths: dict[str, None] = {}
        for binding in self.bindings:
            if self.current(binding.project) == project:
                paths.pop(binding.path, None)
                paths[binding.path] = None
        return list(paths)

    def project_at(self, place: Binding) -> str:
        """Return the project of a place that is known as it is now.

        Returns:
            The project, '' where more has to be looked at.
        """
        if place.git:
            return self._project_of_git(place)
        binding = self.folders.get(place.path)
        if binding is None:
            return self.project_by_path(place)
        return "" if binding.git else self.current(binding.project)

    def _project_of_git(self, place: Binding) -> str:
        """Return the project bound to the git directory; '' where it is another now."""
        binding = self.places.get(place.git)
        if binding is None or binding.inode is None:
            return ""
        if binding.inode != place.inode:
            return ""
        return self.current(binding.project)

    def project_by_path(self, place: Binding) -> str:
        """Return the project that a folder without git has by its path alone.

        Returns:
            The project, '' where that id was bound to a place.
        """
        from theorex_lab.core.project import project_by_path

        project = project_by_path(place.path)
        return "" if project in self.bound else self.current(project)

    def to_json(self) -> dict[str, Any]:
        """Return all of it as JSON holds it."""
        return {
            "layout": _LAYOUT,
            "seq": self.seq,
            "event": self.event_id,
            "events": self.events,
            "bindings": [list(binding) for binding in self.bindings],
            "merged": self.merged,
        }


def _has_texts(body: dict[str, Any], *fields: str) -> bool:
    """Return whether these fields of a body are texts."""
    return all(isinstance(body.get(field), str) for field in fields)


def read_cache(home: str) -> Places | None:
    """Return what the home's file says; None where there is none that can be read."""
    try:
        with open(os.path.join(home, CACHE_FILE), "rb") as file:
            content = json.loads(file.read(_LARGEST_CACHE_BYTES))
        places = Places()
        if content["layout"] != _LAYOUT:
            return None
        places.seq = int(content["seq"])
        places.event_id = str(content["event"])
        places.events = int(content["events"])
        for fields in content["bindings"]:
            places.bind(Binding(*fields))
        places.merged = dict(content["merged"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return places


def write_cache(home: str, places: Places) -> None:
    """Write the home's file as a whole.

    Where it cannot be written, the next one who looks reads the events.
    """
    from theorex_lab.core.files import open_private

    text = json.dumps(places.to_json())
    content = text.encode()
    path = os.path.join(home, CACHE_FILE)
    drawn = os.urandom(4).hex()
    draft = f"{path}.{os.getpid()}-{drawn}"
    try:
        with open(draft, "xb", opener=open_private) as file:
            file.write(content)
        os.replace(draft, path)
    except OSError:
        if os.path.exists(draft):
            os.remove(draft)


def place_of(repository: Repository) -> Binding:
    """Return a place as the file system has it now, of no project.

    Secrets in its paths are masked, as in the event that binds it.
    """
    root = kept_path(repository.root)
    git = kept_path(repository.git)
    if not git:
        return Binding("", root, "")
    status = status_of(repository.git)
    if status is None:
        return Binding("", root, git)
    return Binding("", root, git, status.st_dev, status.st_ino)


def known_project(home: str, repository: Repository) -> tuple[str, Places | None]:
    """Return the project of a folder by the home's file alone, and what the file says.

    Returns:
        The project, '' where the file does not tell it; and the places, None where
        there is no file.
    """
    places = read_cache(home)
    if places is None:
        return "", None
    return places.project_at(place_of(repository)), places


def status_of(path: str) -> os.stat_result | None:
    """Return the status of a file; None where it cannot be looked at."""
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None
