"""Answer Anthropic's memory tool (`memory_20250818`) from the journal.

The tool runs in the program that calls the model: the model sends one of six commands,
the program answers with a text. Here the files below /memories are events of the
journal, so that every version is kept, search and briefings read them, and many
processes may write at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent
from theorex_lab.designs.dropin.file_paths import ROOT, checked_path
from theorex_lab.designs.dropin.file_texts import (
    Edit,
    shown_file,
    shown_folder,
    with_insertion,
    with_replacement,
)
from theorex_lab.designs.dropin.file_view import MemoryFileEntry, MemoryFiles
from theorex_lab.designs.dropin.passages import (
    file_number,
    file_passages,
    passage_ids,
)
from theorex_lab.journal.event import Body, Event, new_event
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import check_text
from theorex_lab.text.redact.redaction_scope import door, kept_id, kept_text
from theorex_lab.text.visible import visible

TOOL_TYPE = "memory_20250818"
MOST_FILES = 2_000  # of one agent in one project
_SHOWN_CHARACTERS = 200  # of a text in an error

Append = Callable[[Event], int]


class MemoryToolResult(NamedTuple):
    """The answer to a command.

    Attributes:
        text: What the model is told.
        is_error: Whether the command was refused.
    """

    text: str
    is_error: bool = False


class MemoryTool:
    r"""The files below /memories of one agent, in the project of a home.

    Attributes:
        home: Where the files are kept.
        agent: Whose files they are.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     tool = lab.design("dropin").memory_tool()
    ...     _ = tool.create("/memories/till.md", "The till rounds half up.\n")
    ...     answer = tool.run({"command": "view", "path": "/memories/till.md"})
    >>> answer.text.endswith("The till rounds half up.")
    True
    """

    name = "memory"

    def __init__(self, home: Home, agent: str = "main") -> None:
        """Open the files of an agent.

        Args:
            home: Where they are kept.
            agent: The agent.

        Raises:
            InvalidInput: The agent is outside the rule.
        """
        self.home = home
        self.agent = kept_id(check_agent(agent))

    def definition(self) -> dict[str, str]:
        """Return the entry of the list `tools` in a request to the model."""
        return {"type": TOOL_TYPE, "name": self.name}

    def run(self, command: Mapping[str, Any]) -> MemoryToolResult:
        """Run a command as the model sent it; what is wrong with it is the answer.

        Args:
            command: The member `input` of the model's `tool_use`.

        Raises:
            StorageError: The journal cannot be written.
            CorruptJournal: The journal is damaged.
        """
        try:
            return MemoryToolResult(self._run(command))
        except InvalidInput as error:
            return MemoryToolResult(_told_error(error), is_error=True)

    def answer(self, tool_use_id: str, command: Mapping[str, Any]) -> dict[str, Any]:
        """Run a command; return the block of the next message that answers it.

        Args:
            tool_use_id: The member `id` of the model's `tool_use`.
            command: Its member `input`.

        Raises:
            StorageError: As `run`.
            CorruptJournal: As `run`.
        """
        result = self.run(command)
        return {
            "type": "tool_result",
            "tool_use_id": tool_use_id,
            "content": result.text,
            "is_error": result.is_error,
        }

    def _run(self, command: Mapping[str, Any]) -> str:
        """Run a command.

        Raises:
            InvalidInput: There is no such command, or it lacks something.
        """
        if not isinstance(command, Mapping):
            raise InvalidInput(
                f"got {command!r:.60} for a command; allowed is an object such as"
                ' {"command": "view", "path": "/memories"}'
            )
        name = command.get("command")
        if not isinstance(name, str) or name not in _COMMANDS:
            raise InvalidInput(
                f"got the command {name!r:.60}; allowed are {', '.join(_COMMANDS)}"
            )
        needed, optional = _COMMANDS[name]
        members = (*needed, *optional)
        arguments: dict[str, Any] = {}
        for member in members:
            if command.get(member) is not None:
                arguments[member] = command[member]
        missing = [member for member in needed if member not in arguments]
        if missing:
            raise InvalidInput(
                f"{name} lacks {', '.join(missing)}; it takes {', '.join(members)}"
            )
        run: Callable[..., str] = getattr(self, name)
        return run(**arguments)

    def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """Show a folder, or a file with the numbers of its lines.

        Args:
            path: The folder or file.
            view_range: The first line and the last one, from 1; -1 for the end.

        Raises:
            InvalidInput: It is not there, or the range lies outside of it.
        """
        checked = checked_path(path)
        tree = self._tree()
        if checked in tree:
            return shown_file(checked, self._text(tree[checked]), view_range)
        below = _below(tree, checked)
        if not below and checked != ROOT:
            raise InvalidInput(
                f"The path {checked} does not exist. Please provide a valid path."
            )
        sizes: dict[str, int] = {}
        for file in below:
            sizes[file] = tree[file].size
        return shown_folder(checked, sizes)

    def create(self, path: str, file_text: str) -> str:
        """Create a file; its folders need not be there.

        Args:
            path: The file.
            file_text: Its text.

        Raises:
            InvalidInput: It is there already, or something is outside the rules.
        """
        with self._writing() as writer:
            checked = writer.new_path(path)
            writer.write(checked, file_text)
        return f"File created successfully at: {checked}{writer.masked_note}"

    def str_replace(self, path: str, old_str: str, new_str: str = "") -> str:
        """Replace a part of a file that occurs there once.

        Args:
            path: The file.
            old_str: The part.
            new_str: What takes its place.

        Raises:
            InvalidInput: The file is not there, or the part does not occur once.
        """
        _check_texts(old_str=old_str, new_str=new_str)
        with self._writing() as writer:
            advice = ". Please provide a valid path."
            checked = writer.file(path, advice)
            edit = with_replacement(
                checked,
                writer.text(checked),
                kept_text(old_str),
                kept_text(new_str),
            )
            writer.edit(checked, edit)
        # The edit may have made a secret of two harmless halves.
        snippet = kept_text(edit.snippet)
        return f"The memory file has been edited.{writer.masked_note}\n{snippet}"

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Put lines into a file.

        Args:
            path: The file.
            insert_line: The number of the line after which they go; 0 for the beginning.
            insert_text: The lines.

        Raises:
            InvalidInput: The file or the line is not there.
        """
        _check_texts(insert_text=insert_text)
        with self._writing() as writer:
            checked = writer.file(path)
            text = writer.text(checked)
            new_text = kept_text(insert_text)
            edit = with_insertion(text, insert_line, new_text)
            writer.edit(checked, edit)
        return f"The file {checked} has been edited.{writer.masked_note}"

    def delete(self, path: str) -> str:
        """Delete a file, or a folder with all that is in it.

        What was deleted is gone from the tree, from search and from briefings. It stays
        in the journal until `theorex erase` takes it out.

        Args:
            path: The file or folder.

        Raises:
            InvalidInput: It is not there, or it is /memories itself.
        """
        with self._writing() as writer:
            checked = writer.path(path)
            files = writer.files_of(checked)
            for file in files:
                writer.remove(file)
        return f"Successfully deleted {checked}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Rename or move a file, or a folder with all that is in it.

        Args:
            old_path: The file or folder.
            new_path: Where it goes.

        Raises:
            InvalidInput: It is not there, something is at its new place, or the new
                place lies in the folder itself.
        """
        with self._writing() as writer:
            old = writer.path(old_path)
            files = writer.files_of(old)
            new = writer.destination(new_path, moved=old)
            for file in files:
                rest = file.removeprefix(old)
                writer.move(file, new + rest)
        return f"Successfully renamed {old} to {new}"

    def _tree(self) -> dict[str, MemoryFileEntry]:
        """Return the files by their paths."""
        with self.home.views.reading(MemoryFiles) as view:
            return view.tree(self.agent, self.home.project)

    def _text(self, entry: MemoryFileEntry) -> str:
        """Return the text of a file."""
        (event,) = self.home.journal.read(seqs=[entry.seq])
        text: str = event.body["text"]
        return text

    @contextmanager
    def _writing(self) -> Iterator[_TreeWriter]:
        """Yield the tree while nobody else writes, and count what is masked."""
        with door() as redaction, self.home.journal.exclusive() as append:
            writer = _TreeWriter(self.home, self.agent, self._tree(), append)
            yield writer
            if redaction.masked:
                writer.masked_note = f" ({redaction.masked} secret(s) masked in it)"


class _TreeWriter:
    """A tree of files while it is written, and nobody else writes.

    Attributes:
        masked_note: What the answer says of secrets that were masked.
    """

    def __init__(
        self,
        home: Home,
        agent: str,
        tree: dict[str, MemoryFileEntry],
        append: Append,
    ) -> None:
        self.masked_note = ""
        self._home = home
        self._agent = agent
        self._tree = tree
        self._append = append
        self._events: dict[str, Event] = {}

    def path(self, path: object) -> str:
        """Return the path of a file or folder that is there, but not of the root.

        Raises:
            InvalidInput: It is none.
        """
        checked = checked_path(path)
        if checked == ROOT:
            raise InvalidInput(
                f"Error: {ROOT} itself cannot be deleted or renamed; name what is in it"
            )
        if checked not in self._tree and not _below(self._tree, checked):
            raise InvalidInput(f"Error: The path {checked} does not exist")
        return checked

    def file(self, path: object, advice: str = "") -> str:
        """Return the path of a file that is there.

        Args:
            path: The path.
            advice: What the error ends with.

        Raises:
            InvalidInput: It is none.
        """
        checked = checked_path(path)
        if checked not in self._tree:
            raise InvalidInput(f"Error: The path {checked} does not exist{advice}")
        return checked

    def new_path(self, path: object) -> str:
        """Return a path at which a file can be made.

        Raises:
            InvalidInput: Something is there, or a file is where a folder would be.
        """
        checked = checked_path(path)
        if self._is_taken(checked):
            raise InvalidInput(f"Error: File {checked} already exists")
        self._check_folders(checked)
        if len(self._tree) >= MOST_FILES:
            raise InvalidInput(
                f"got a file beside {len(self._tree)} others; allowed are up to"
                f" {MOST_FILES}: delete some, or put what belongs together into one"
            )
        return checked

    def destination(self, path: object, *, moved: str) -> str:
        """Return a path to which something can be moved.

        Raises:
            InvalidInput: Something is there, or it lies in what is moved.
        """
        checked = checked_path(path)
        if self._is_taken(checked):
            raise InvalidInput(f"Error: The destination {checked} already exists")
        if checked.startswith(f"{moved}/"):
            raise InvalidInput(
                f"Error: {moved} cannot be moved into itself, to {checked}"
            )
        self._check_folders(checked)
        return checked

    def _is_taken(self, path: str) -> bool:
        return path == ROOT or path in self._tree or bool(_below(self._tree, path))

    def _check_folders(self, path: str) -> None:
        """Refuse a path that leads through a file.

        Raises:
            InvalidInput: It does.
        """
        folder = path.rpartition("/")[0]
        while folder != ROOT:
            if folder in self._tree:
                raise InvalidInput(f"Error: {folder} is a file, not a folder")
            folder = folder.rpartition("/")[0]

    def files_of(self, path: str) -> list[str]:
        """Return a file, or the files in a folder."""
        if path in self._tree:
            return [path]
        return _below(self._tree, path)

    def text(self, path: str) -> str:
        """Return the text of a file."""
        text: str = self._event(path).body["text"]
        return text

    def edit(self, path: str, edit: Edit) -> None:
        """Write an edited text."""
        self.write(path, edit.text, before=self._event(path))

    def write(self, path: str, text: str, *, before: Event | None = None) -> None:
        """Write a file as it is from now on.

        Args:
            path: The file.
            text: Its text.
            before: The event of the file before, or of what it was moved from.

        Raises:
            InvalidInput: The text is outside the rules.
        """
        max_bytes = self._home.settings.max_text_bytes
        checked_text = _checked_file_text(text, max_bytes)
        masked_text = kept_text(checked_text)
        ids = self._ids(path, masked_text)
        ids_before: list[str] = []
        if before is not None and before.body["path"] == path:
            ids_before = self._ids(path, before.body["text"])
        body = {
            "path": path,
            "text": masked_text,
            "added": _numbers_of_new(ids, ids_before),
            "gone": _left_out(ids_before, ids),
        }
        lineage = [] if before is None else [before.id]
        self._note("memory_file", body, lineage=lineage)

    def remove(self, path: str) -> None:
        """Remove a file."""
        text = self.text(path)
        ids = self._ids(path, text)
        body = {"path": path, "gone": ids}
        self._note("memory_file_removed", body)

    def move(self, path: str, new_path: str) -> None:
        """Move a file.

        Raises:
            InvalidInput: The new path is outside the rules.
        """
        before = self._event(path)
        self.write(
            checked_path(new_path),
            before.body["text"],
            before=before,
        )
        self.remove(path)

    def _event(self, path: str) -> Event:
        """Return the event that holds the text of a file."""
        if path not in self._events:
            seq = self._tree[path].seq
            (event,) = self._home.journal.read(seqs=[seq])
            self._events[path] = event
        return self._events[path]

    def _ids(self, path: str, text: str) -> list[str]:
        number = file_number(
            self._agent,
            self._home.project,
            path,
        )
        passages = file_passages(text)
        return passage_ids(number, passages)

    def _note(self, kind: str, body: Body, *, lineage: Sequence[str] = ()) -> None:
        """Append an event."""
        said_by = {"source": "agent", "project": self._home.project}
        event = new_event(
            kind,
            {**body, **said_by},
            agent=self._agent,
            lineage=lineage,
            at=self._home.clock.now(),
        )
        self._append(event)


def _numbers_of_new(ids: Sequence[str], ids_before: Sequence[str]) -> list[int]:
    """Return the numbers of the passages that were not there before."""
    earlier = set(ids_before)
    numbers: list[int] = []
    for number, item_id in enumerate(ids):
        if item_id not in earlier:
            numbers.append(number)
    return numbers


def _left_out(ids_before: Sequence[str], ids: Sequence[str]) -> list[str]:
    """Return the ids of the passages that are there no more."""
    present = set(ids)
    return [item_id for item_id in ids_before if item_id not in present]


# Of each command the members that it needs, and those that it may have.
_COMMANDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "view": (("path",), ("view_range",)),
    "create": (("path", "file_text"), ()),
    "str_replace": (("path", "old_str"), ("new_str",)),
    "insert": (("path", "insert_line", "insert_text"), ()),
    "delete": (("path",), ()),
    "rename": (("old_path", "new_path"), ()),
}


def _below(tree: Mapping[str, MemoryFileEntry], folder: str) -> list[str]:
    """Return the paths of the files in a folder."""
    prefix = f"{folder}/"
    return [path for path in tree if path.startswith(prefix)]


def _checked_file_text(text: object, max_bytes: int) -> str:
    """Return the text of a file without hidden characters; blank ones are allowed.

    Raises:
        InvalidInput: It is no text, too long, or cannot be kept.
    """
    if isinstance(text, str):
        shown = visible(text)
        is_blank = not shown.strip()
        if is_blank and len(shown) <= max_bytes:
            return shown
    return check_text(text, max_bytes)  # type: ignore[arg-type]


def _told_error(error: InvalidInput) -> str:
    """Return what the model is told of an error.

    It may hold what the model sent: secrets are masked, and half a surrogate pair, which
    no request can hold, becomes a question mark.
    """
    whole = str(error).encode("utf-8", "replace").decode()
    return kept_text(whole)


def _check_texts(**texts: object) -> None:
    """Refuse arguments that are no texts.

    Raises:
        InvalidInput: It names the first.
    """
    for name, text in texts.items():
        if not isinstance(text, str):
            raise InvalidInput(
                f"got {text!r:.{_SHOWN_CHARACTERS}} for {name}; allowed is a text"
            )
