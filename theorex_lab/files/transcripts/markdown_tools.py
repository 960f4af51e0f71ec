"""Read what a Markdown transcript of SpecStory tells of a tool's call.

The transcript shows a call as a person reads it: a summary, a command or a path in
backquotes, parameters, and what the tool answered in a fence. The paths of edits often
stand only in the answer.
"""

import json
import ntpath
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import Any

from theorex_lab.files.transcripts.markdown_blocks import FENCE, fenced_in
from theorex_lab.journal.event import paths_by_use, tool_key

_TAG = re.compile(
    r'<tool-use\b[^>]*?data-tool-type="(?P<kind>[^"]*)"[^>]*?data-tool-name="(?P<name>[^"]*)"'
)
_SUMMARY_NAME = re.compile(r"^Tool use: \*\*(?P<name>[^*\n]{1,128})\*\*")
_FRAME_START = re.compile(
    r"\s*(?P<tag><tool-use\b[^>]*>)?\s*(?:<details>)?\s*"
    r"(?:<summary>(?P<summary>.*?)</summary>)?",
    re.S,
)
_FRAME_END = re.compile(r"(?:\s*</details>)?(?:\s*</tool-use>)?\s*\Z")
_ABOUT_FILE = re.compile(
    r"(?P<action>Read|Edit|Create|Write|Delete|Search and replace in) file: ?(?P<path>.+)"
)
_RAN = re.compile(r"Run (?:terminal )?command: ?(?P<command>.+)", re.S)
_ONLY_QUOTED = re.compile(r"`(?P<value>.+)`")
_NAMED_VALUE = re.compile(r"(?P<name>path|pattern|include) `(?P<value>[^`]+)`")
_MEMBER = re.compile(r"- (?P<name>[A-Za-z_][\w-]{0,40}): `(?P<value>.*)")
_PATCHED = re.compile(
    r"\*\*(?P<action>Add|Modify|Update|Delete): `(?P<path>[^`]+)`\*\*"
)
_NOTHING = re.compile(
    r"\*\*Chunk \d+\*\*|Lines added: \w+, lines removed: \w+|Output mode: \w+"
)
_ANSWERED = re.compile(r"\*\*Answer:\*\* (?P<text>.*)")
_WRITTEN = re.compile(
    r"(?:The file (?P<updated>\S.{0,1000}?) has been (?:updated|created)"
    r"|File created successfully at: (?P<created>[^\n]{1,1000}?)(?: \(file state|$))",
    re.M,
)
_EXIT_CODE = re.compile(
    r"(?:Exit code:? |Process exited with code |Error: Exit code )(?P<code>-?\d{1,9})"
)
_REFUSED = (
    "<tool_use_error>",
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action",
)
_SHELL_LANGUAGES = ("bash", "sh", "shell", "zsh", "powershell", "console")
_SHELL_TOOLS = frozenset(
    "bash shell shellcommand execcommand runterminalcmd runterminalcommand"
    " runshellcommand localshell".split()
)
_READ_TOOLS = frozenset("read readfile viewfile view cat openfile".split())
_VERSION = re.compile(r"_?v\d+$")
_LABELS = ("input", "result", "output", "error", "parameters", "agent task list")
# The tool that a summary without a tool's name is of.
_ACTIONS = {
    "Read": "read_file",
    "Edit": "edit_file",
    "Create": "create_file",
    "Write": "write_file",
    "Delete": "delete_file",
    "Search and replace in": "search_replace",
}
_PATH_MEMBERS = ("file_path", "path", "target_file", "filePath", "notebook_path")


@dataclass
class ShownCall:
    """A call of a tool, as a transcript shows it.

    Attributes:
        name: The tool's name.
        kind: What the transcript says the tool does, such as `shell`, `read`, `write`.
        tool_input: What it was given, as far as that is shown.
        response: What it answered.
        failed: Whether it failed, as far as that is shown.
        paths: The paths that it names, as they stand there.
    """

    name: str
    kind: str = ""
    tool_input: dict[str, Any] = field(default_factory=dict)
    response: str = ""
    failed: bool = False
    paths: list[str] = field(default_factory=list)

    @property
    def runs_command(self) -> bool:
        """Return whether the tool runs a command."""
        key = tool_key(self.name)
        return self.kind == "shell" or key in _SHELL_TOOLS

    @property
    def edits(self) -> bool:
        """Return whether the tool writes to its paths."""
        plain_name = _VERSION.sub("", self.name)
        by_use = paths_by_use(plain_name, ["x"])
        return self.kind == "write" or bool(by_use["edited"])

    @property
    def reads(self) -> bool:
        """Return whether the tool reads its paths."""
        if self.edits:
            return False
        plain_name = _VERSION.sub("", self.name)
        key = tool_key(plain_name)
        return self.kind == "read" or key in _READ_TOOLS

    @property
    def names_files(self) -> bool:
        """Return whether the tool reads or writes to its paths."""
        return self.reads or self.edits

    @property
    def is_empty(self) -> bool:
        """Return whether the transcript shows nothing of the call but its name."""
        return not (self.tool_input or self.response or self.paths)


def call_in(lines: Sequence[str]) -> ShownCall:
    """Return the call that a tool's block tells.

    >>> call = call_in(
    ...     [
    ...         '<tool-use data-tool-type="read" data-tool-name="Read"><details>',
    ...         "<summary>Tool use: **Read**</summary>",
    ...         " `./till/sums.py`",
    ...         "</details></tool-use>",
    ...     ]
    ... )
    >>> call.name, call.paths
    ('Read', ['./till/sums.py'])
    """
    text = "\n".join(lines)
    frame = _FRAME_START.match(text)
    assert frame is not None
    tag = _TAG.search(frame["tag"] or "")
    call = ShownCall("")
    if tag is not None:
        call = ShownCall(tag["name"], tag["kind"])
    body = _FRAME_END.sub("", text[frame.end() :])
    _read_summary(call, frame["summary"] or "")
    _read_body(call, body.split("\n"))
    return _finished(call)


def legacy_call_in(lines: Sequence[str]) -> ShownCall:
    """Return the call that lines without a frame tell: the first names the tool.

    >>> call = legacy_call_in(["Tool use: **Bash**", "", "`make test`"])
    >>> call.name, call.tool_input
    ('Bash', {'command': 'make test'})
    """
    call = ShownCall("")
    _read_summary(call, lines[0])
    inner = "\n".join(lines[1:]).strip()
    frame = _FRAME_START.match(inner)
    if frame is not None and frame["summary"]:
        _read_summary(call, frame["summary"])
        inner = _FRAME_END.sub("", inner[frame.end() :])
    _read_body(call, inner.split("\n"))
    return _finished(call)


def _read_summary(call: ShownCall, summary: str) -> None:
    """Read the name of the tool, and what its summary says of the call."""
    rest = summary.strip()
    named = _SUMMARY_NAME.match(rest)
    if named is not None:
        call.name = call.name or named["name"]
        rest = rest[named.end() :]
    rest = rest.strip().removeprefix("•").strip()
    if rest:
        _read_summary_words(call, rest)


def _read_summary_words(call: ShownCall, words: str) -> None:
    """Read what follows the name in a summary: a path, a command or a description."""
    about_file = _ABOUT_FILE.match(words)
    ran = _RAN.match(words)
    quoted = _ONLY_QUOTED.fullmatch(words)
    if about_file is not None:
        path, _, _ = about_file["path"].partition(" • ")
        _note_path(call, path)
        call.name = call.name or _ACTIONS[about_file["action"]]
    elif ran is not None:
        call.tool_input["command"] = ran["command"]
    elif quoted is None or not _take_quoted(call, quoted["value"]):
        description = words.split()
        call.tool_input["description"] = " ".join(description)


def _take_quoted(call: ShownCall, value: str) -> bool:
    """Take what stands in backquotes for the command or the path of a call.

    Return whether the call has such.
    """
    if call.runs_command:
        call.tool_input.setdefault("command", value)
        return True
    if call.names_files:
        _note_path(call, value)
        return True
    return False


def _note_path(call: ShownCall, path: str) -> None:
    """Note a path that the call names; the first is its own."""
    path = path.strip()
    if not path or path in call.paths:
        return
    call.paths.append(path)
    call.tool_input.setdefault("file_path", path)


def _read_body(call: ShownCall, lines: list[str]) -> None:
    """Read what stands in a call's block below its summary."""
    reading = _Body(call)
    for block in fenced_in(lines, 0, len(lines)):
        part = lines[block.start : block.end]
        if block.kind == FENCE:
            first_line = part[0].strip()
            language = first_line.lstrip("`~").strip()
            content = "\n".join(part[1:-1])
            reading.fence(language.lower(), content)
        else:
            reading.line(part[0])
    reading.end()


class _Body:
    """Reads the body of a call line by line, and fence by fence."""

    def __init__(self, call: ShownCall) -> None:
        self._call = call
        self._label = ""  # the line above a fence that says what it holds
        self._member: list[str] = []  # a parameter whose value goes on below
        self._plain: list[str] = []
        self._answers: list[str] = []
        self._contents: list[str] = []

    def line(self, line: str) -> None:
        """Take a line outside of fences."""
        if self._member:
            self._go_on(line)
            return
        text = line.strip()
        member = _MEMBER.match(text)
        label = text.strip("*").rstrip(":").lower()
        if member is not None:
            self._member = [member["name"]]
            self._go_on(member["value"])
        elif label in _LABELS:
            self._label = label
            self._call.failed |= label == "error"
        elif text.startswith("Status:"):
            self._call.failed |= "error" in text or "failed" in text
        elif text and not _NOTHING.fullmatch(text):
            self._text(text, line)

    def _go_on(self, line: str) -> None:
        """Take the next line of a parameter's value."""
        self._member.append(line)
        if line.rstrip().endswith("`"):
            name, *values = self._member
            value = "\n".join(values)
            self._call.tool_input[name] = value.rstrip().removesuffix("`")
            self._member = []

    def _text(self, text: str, line: str) -> None:
        """Take a line of words, a command or a path in backquotes."""
        call = self._call
        patched = _PATCHED.match(text)
        answered = _ANSWERED.match(text)
        quoted = _ONLY_QUOTED.fullmatch(text)
        if patched is not None:
            path = patched["path"]
            _note_path(call, path)
            call.kind = call.kind or "write"
        elif answered is not None:
            self._answers.append(answered["text"])
        elif quoted is None or not _take_quoted(call, quoted["value"]):
            self._words(text, line)

    def _words(self, text: str, line: str) -> None:
        """Take a line of words; an indented one may name values."""
        named_values = _NAMED_VALUE.findall(text)
        if named_values and line.startswith(" "):
            self._call.tool_input.update(dict(named_values))
        else:
            self._plain.append(text)

    def fence(self, language: str, content: str) -> None:
        """Take a fence."""
        label = self._label
        self._label = ""
        if label in ("parameters", "input") and _takes_members(self._call, content):
            return
        if language == "diff":
            self._answers.append(unescape(content))
        elif self._is_command(language, label):
            self._call.tool_input.setdefault("command", content)
        elif self._is_content(language, label):
            self._contents.append(content)
        else:
            self._answers.append(content)

    def _is_command(self, language: str, label: str) -> bool:
        """Return whether a fence holds the command that a tool ran."""
        if label or self._answers:
            return False
        return language in _SHELL_LANGUAGES and self._call.runs_command

    def _is_content(self, language: str, label: str) -> bool:
        """Return whether a fence holds what a tool wrote to a file."""
        return self._call.edits and language != "text" and label != "result"

    def end(self) -> None:
        """Take the end of the body."""
        call = self._call
        if self._member:
            name, *values = self._member
            value = "\n".join(values)
            call.tool_input[name] = value
        if len(self._contents) > 1 and not self._answers:
            self._answers.append(self._contents.pop())
        if self._contents:
            call.tool_input["content"] = "\n".join(self._contents)
        self._end_plain()
        call.response = "\n".join(self._answers)

    def _end_plain(self) -> None:
        """Take plain lines for the description, or for the answer without another."""
        if not self._plain:
            return
        plain = "\n".join(self._plain)
        tool_input = self._call.tool_input
        if self._answers or tool_input.get("command"):
            descriptions = [plain]
            if "description" in tool_input:
                descriptions.insert(0, tool_input["description"])
            tool_input["description"] = "\n".join(descriptions)
        else:
            self._answers.append(plain)


def _takes_members(call: ShownCall, content: str) -> bool:
    """Take the parameters in a fence; return whether they are an object of JSON."""
    try:
        members = json.loads(content)
    except (ValueError, RecursionError):
        return False
    if not isinstance(members, dict):
        return False
    call.tool_input.update(members)
    return True


def _finished(call: ShownCall) -> ShownCall:
    """Return the call with what its parameters and its answer tell besides."""
    call.name = call.name or "tool"
    if call.names_files:
        for member in _PATH_MEMBERS:
            stated_path = call.tool_input.get(member)
            if isinstance(stated_path, str):
                _note_path(call, stated_path)
    if call.edits and not call.paths:
        written = _WRITTEN.search(call.response)
        if written is not None:
            updated = written["updated"]
            created = written["created"]
            _note_path(call, updated or created)
    call.failed |= _tells_failure(call)
    return call


def _tells_failure(call: ShownCall) -> bool:
    """Return whether the answer begins as that of a call that failed."""
    answer = call.response.lstrip()
    if answer.startswith(_REFUSED):
        return True
    exit_code = _EXIT_CODE.match(answer)
    if exit_code is None or not call.runs_command:
        return False
    code = int(exit_code["code"])
    return code != 0


class Workplace:
    """Where a session worked: finds the project's paths in what its tools name.

    A transcript holds paths of another machine. The root there is the one that most
    absolute paths have which end with a relative path of the same session, else the
    folder with the name of the project's.

    Args:
        calls: All calls of the session.
        name: The name of the project's folder, "" where it is not known.
        inside: Where that folder lies in its repository, "" for its root.
    """

    def __init__(
        self,
        calls: Iterable[ShownCall],
        *,
        name: str = "",
        inside: str = "",
    ) -> None:
        self._inside = inside
        paths = set[str]()
        for call in calls:
            paths.update(map(_slashed, call.paths))
        self.root = _root_of(paths, name)

    def project_path(self, path: str) -> str:
        """Return a path from the repository's root, "" for one outside of it."""
        path = _slashed(path)
        if _is_absolute(path):
            if not self.root:
                return ""
            path = posixpath.relpath(path, self.root)
        elif path.startswith("~"):
            return ""
        joined = posixpath.join(self._inside, path)
        joined = posixpath.normpath(joined)
        is_outside = joined.startswith("..") or joined == "."
        return "" if is_outside else joined

    def command(self, text: str) -> str:
        """Return a command with the root's paths cut to what follows the root."""
        if not self.root:
            return text
        start = rf"(?<![\w.@/~-]){re.escape(self.root)}"
        text = re.sub(rf"{start}/(?=[\w.])", "", text)
        return re.sub(rf"{start}(?![\w./-])", ".", text)


def _root_of(paths: Iterable[str], name: str) -> str:
    """Return the folder that a session worked in on its own machine, "" for none."""
    absolute_paths = []
    relative_paths = set[str]()
    for path in paths:
        if _is_absolute(path):
            absolute_paths.append(path)
        elif not path.startswith(("~", "..")):
            relative_paths.add(posixpath.normpath(path))
    roots = Counter[str]()
    for path in absolute_paths:
        roots.update(_roots_by_end(path, relative_paths))
    if not roots and name:
        for path in absolute_paths:
            roots.update(_roots_by_name(path, name))
    if not roots:
        return ""
    return max(roots, key=lambda root: (roots[root], -len(root)))


def _roots_by_end(path: str, relative_paths: set[str]) -> list[str]:
    """Return what stands before each known relative path at the end of a path."""
    parts = path.split("/")
    roots = []
    for start in range(1, len(parts)):
        end = "/".join(parts[start:])
        if end in relative_paths:
            root = "/".join(parts[:start])
            roots.append(root)
    return roots


def _roots_by_name(path: str, name: str) -> list[str]:
    """Return the first folder of a name above a path, where there is one."""
    parts = path.split("/")
    folders = parts[1:-1]
    if name not in folders:
        return []
    end = parts.index(name, 1) + 1
    root = "/".join(parts[:end])
    return [root]


def _slashed(path: str) -> str:
    """Return a path with slashes, also one of Windows."""
    is_windows = re.match(r"[A-Za-z]:[\\/]", path) is not None
    return path.replace(ntpath.sep, "/") if is_windows else path


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or re.match(r"[A-Za-z]:/", path) is not None
