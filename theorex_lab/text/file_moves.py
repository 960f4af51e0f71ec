"""What a shell command does to the names of files: which it moves, removes, brings
back, and which folders it makes.

It is read from the command alone, as an event keeps it: cut, and without paths that
lead out of the project. What cannot be told from it (variables, substitutions, loops)
is no step. Linear in the command's length.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

ELSEWHERE = (
    "\0"  # stands for a path outside of the project, and for one that is not known
)
PATTERN = "\1"  # begins a path that is a pattern, with * and ?
MOVE = "move"
REMOVE = "remove"
RESTORE = "restore"
FOLDER = "folder"
_TELLING = re.compile(
    r"(?i)\b(?:mv|rm|unlink|rimraf|trash|trash-put|mkdir|restore|checkout|move|ren|del|erase|rd"
    r"|move-item|rename-item|remove-item|mi|rni|ri)\b"
)
_WINDOWS_VERBS = {
    "move": "move",
    "move-item": "move",
    "mi": "move",
    "ren": "rename",
    "rename-item": "rename",
    "rni": "rename",
    "del": "remove",
    "erase": "remove",
    "rd": "remove",
    "remove-item": "remove",
    "ri": "remove",
}
_WINDOWS = re.compile(rf"(?i)(?:^|[;&|\n])\s*(?:{'|'.join(_WINDOWS_VERBS)})\s")
_REMOVERS = frozenset(("rm", "unlink", "rimraf", "trash", "trash-put"))
_BEFORE = frozenset(
    (
        "sudo",
        "command",
        "env",
        "time",
        "nohup",
        "exec",
        "npx",
        "then",
        "do",
        "else",
        "{",
        "!",
    )
)
_WITH_VALUE = {
    "mv": ("-t", "--target-directory", "-S", "--suffix"),
    "mkdir": ("-m", "--mode"),
}
_PATH_OPTIONS = ("-path", "-literalpath")
_TARGET_OPTIONS = ("-destination", "-newname")
_DRY = ("-n", "--dry-run")
_ENDS = frozenset(("&&", "||", "|", ";", "&", "(", ")", "\n", "|&", ";;"))
_LONGEST = 4_000
_MOST_STEPS = 200
_MOST_WORDS = 200
_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh"))
_MOST_NESTED = 3  # shells that start shells
_ASSIGNMENT = re.compile(r"\w+=")
_COMMAND_OPTION = re.compile(r"-[a-z]*c")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_HERE = re.compile(r"<<-?\s*(['\"]?)([\w.-]+)\1")


class FileStep(NamedTuple):
    """What is done: MOVE, REMOVE, RESTORE or FOLDER, with operands; `into`: its target
    is a folder, None for unknown.

    folders: in which the operands may be, from the project's root, the likeliest first.
    """

    verb: str
    folders: tuple[str, ...]
    paths: tuple[str, ...]
    target: str = ""
    into: bool | None = None


def steps_of(command: str, folder: str | None = None) -> list[FileStep]:
    """The steps of a command, in order. folder: where it began, from the root; None
    where nobody noted that.

    >>> for step in steps_of(
    ...     "cd web && git mv 'my a.py' b.py || rm c.py; rm -rf old $x"
    ... ):
    ...     print(step.target, step.verb, step.folders, step.paths)
    b.py move ('web',) ('my a.py',)
     remove ('web',) ('old',)
    """
    if not _TELLING.search(command):
        return []
    is_windows = _WINDOWS.search(command) is not None
    reading = _CommandReading(folder)
    for end, words in _commands(command[:_LONGEST], is_windows):
        reading.take(end, words)
        if len(reading.steps) >= _MOST_STEPS:
            break
    return reading.steps


@dataclass
class _CommandReading:
    """Where a command stands while its parts are read, and the steps so far."""

    folder: str | None
    steps: list[FileStep] = field(default_factory=list)
    folders: tuple[str, ...] | None = ()  # None: outside of the project
    _outer: list[tuple[str, ...] | None] = field(default_factory=list)
    _nested: int = 0

    def __post_init__(self) -> None:
        started = self.folder or ""
        self.folders = (started, "") if started else ("",)

    def take(self, before: str, words: list[str]) -> None:
        """Read one part of the command; before: the sign that stands before it."""
        if before == "(":
            self._outer.append(self.folders)
        if before == ")" and self._outer:
            self.folders = self._outer.pop()
        while words and (words[0] in _BEFORE or _ASSIGNMENT.match(words[0])):
            words = words[1:]
        if not words or before == "||":
            return
        verb = words[0].removeprefix("\\").rpartition("/")[2]
        rest = words[1:]
        if verb in ("cd", "pushd", "chdir", "Set-Location"):
            self._enter(rest)
        elif verb in _SHELLS:
            self._run(rest)
        elif self.folders is not None:
            step = _step_of(verb, rest, self.folders)
            if step is not None:
                self.steps.append(step)

    def _run(self, rest: list[str]) -> None:
        """Read the command that another shell is given; where that one ends is nothing
        to this one.
        """
        place = next(
            (
                place
                for place, word in enumerate(rest)
                if _COMMAND_OPTION.fullmatch(word)
            ),
            None,
        )
        if place is None or place + 1 >= len(rest) or self._nested >= _MOST_NESTED:
            return
        folders = self.folders
        self._nested += 1
        for end, words in _commands(rest[place + 1], is_windows=False):
            self.take(end, words)
        self._nested -= 1
        self.folders = folders

    def _enter(self, rest: list[str]) -> None:
        words = [word for word in rest if word not in ("--", "-P", "-L", "/d")]
        target = words[0] if words else ELSEWHERE
        if target == ELSEWHERE and self.folder is None:
            self.folders = (
                "",
            )  # the root was left out with the paths that lead elsewhere
        elif target == ELSEWHERE or target == "-":
            self.folders = None
        elif target == ".":
            self.folders = tuple(dict.fromkeys(["", *(self.folders or ())]))
        else:
            inside = [joined_path(folder, target) for folder in self.folders or ("",)]
            known = tuple(
                dict.fromkeys(folder for folder in inside if folder is not None)
            )
            self.folders = known or None


def joined_path(folder: str, path: str) -> str | None:
    """A path from a folder of the project, from its root; '' is the root, and None is
    outside.

    >>> joined_path("web", "../a.py"), joined_path("", "../a.py"), joined_path("web", "..")
    ('a.py', None, '')
    """
    if path == ELSEWHERE or path.startswith(("/", "~")):
        return None
    found = posixpath.normpath(posixpath.join(folder, path))
    if found == ".." or found.startswith("../"):
        return None
    return "" if found == "." else found


def _step_of(verb: str, rest: list[str], folders: tuple[str, ...]) -> FileStep | None:
    if verb == "git":
        return _git_step(rest, folders)
    if verb == "mv":
        return _move(rest, folders)
    if verb in _REMOVERS:
        return _on(REMOVE, _operands(rest, verb)[0], folders)
    if verb == "mkdir":
        return _on(FOLDER, _operands(rest, verb)[0], folders)
    windows = _WINDOWS_VERBS.get(verb.lower())
    return _windows_step(windows, rest, folders) if windows else None


def _on(
    verb: str, operands: Sequence[str], folders: tuple[str, ...]
) -> FileStep | None:
    paths = tuple(path for path in operands if path != ELSEWHERE)
    return FileStep(verb, folders, paths) if paths else None


def _operands(rest: Sequence[str], verb: str) -> tuple[list[str], dict[str, str]]:
    """The operands of a command, and its options, each with its value."""
    operands: list[str] = []
    options: dict[str, str] = {}
    words = iter(rest)
    for word in words:
        if word == "--":
            operands += words
        elif word.startswith("-") and len(word) > 1:
            name, sign, value = word.partition("=")
            if not sign and name in _WITH_VALUE.get(verb, ()):
                value = next(words, ELSEWHERE)
            options[name] = value
            if not name.startswith("--"):
                options.update({f"-{letter}": value for letter in name[1:]})
        else:
            operands.append(word)
    return operands, options


def _git_step(rest: list[str], folders: tuple[str, ...]) -> FileStep | None:
    while rest and rest[0].startswith("-"):
        if rest[0] == "-C" and len(rest) > 1:
            inside = [joined_path(folder, rest[1]) for folder in folders]
            folders = tuple(folder for folder in inside if folder is not None)
        rest = (
            rest[2:]
            if rest[0] in ("-C", "-c", "--git-dir", "--work-tree")
            else rest[1:]
        )
    if not rest or not folders:
        return None
    verb = rest[0]
    rest = rest[1:]
    operands, options = _operands(rest, verb)
    if verb in ("mv", "rm") and not options.keys().isdisjoint(_DRY):
        return None
    if verb == "mv":
        return _move(rest, folders)
    if verb == "rm":
        return None if "--cached" in options else _on(REMOVE, operands, folders)
    if verb == "restore":
        is_staged_alone = "--staged" in options and "--worktree" not in options
        return None if is_staged_alone else _on(RESTORE, operands, folders)
    if verb == "checkout" and "--" in rest:
        return _on(RESTORE, rest[rest.index("--") + 1 :], folders)
    return None


def _move(rest: list[str], folders: tuple[str, ...]) -> FileStep | None:
    operands, options = _operands(rest, "mv")
    target = options.get("--target-directory") or options.get("-t", "")
    if target:
        return _moved(operands, target, folders, into=True)
    if not operands:
        return None
    *sources, target = operands
    if target == ELSEWHERE and len([path for path in sources if path != ELSEWHERE]) > 1:
        return _moved(sources, target, folders, into=True)
    into = False if "-T" in options or "--no-target-directory" in options else None
    return _moved(sources, target, folders, into)


def _moved(
    sources: Sequence[str], target: str, folders: tuple[str, ...], into: bool | None
) -> FileStep | None:
    paths = tuple(path for path in sources if path != ELSEWHERE)
    if not paths:
        return None
    is_folder = True if len(paths) > 1 else into
    return FileStep(MOVE, folders, paths, target, is_folder)


def _windows_step(
    verb: str, rest: list[str], folders: tuple[str, ...]
) -> FileStep | None:
    operands: list[str] = []
    target = ""
    words = iter(rest)
    for word in words:
        name = word.lower()
        if name in _PATH_OPTIONS:
            operands.insert(0, next(words, ELSEWHERE))
        elif name in _TARGET_OPTIONS:
            target = next(words, ELSEWHERE)
        elif name in ("-whatif", "-filter", "-include", "-exclude"):
            return None
        elif not name.startswith("-") and not re.fullmatch(r"/[a-z]", name):
            operands += [path for path in word.split(",") if path]
    if verb == "remove":
        return _on(REMOVE, operands, folders)
    if not target and len(operands) > 1:
        target = operands.pop()
    if not operands or not target:
        return None
    if verb == "rename" and operands[0] != ELSEWHERE:
        target = posixpath.join(posixpath.dirname(operands[0]), target)
        return FileStep(MOVE, folders, tuple(operands[:1]), target, into=False)
    return _moved(operands, target, folders, into=None)


def _commands(text: str, is_windows: bool) -> Iterator[tuple[str, list[str]]]:
    """Each simple command as its words, with the sign before it; one whose words are
    not all known is cut there.
    """
    before = ""
    words = list[str]()
    for token in _tokens(text, is_windows):
        if token in _ENDS:
            yield before, _filled(words)
            before = token
            words = []
        elif len(words) < _MOST_WORDS:
            words.append(token)
    # The last words of a command that was cut say something else than they said.
    if not text.endswith("…"):
        yield before, _filled(words)


def _filled(words: list[str]) -> list[str]:
    """Words without those in the midst or at the start that stand for a run of blanks
    alone.
    """
    known = [word for word in words[1:] if word != ELSEWHERE]
    if len(known) < 2:
        return words
    last = [ELSEWHERE] if words[-1] == ELSEWHERE else []
    return [words[0], *known, *last]


class _Word:
    """A word that grows sign by sign. is_known: whether it holds no variable and no
    substitution.
    """

    def __init__(self) -> None:
        self.signs: list[str] = []
        self.is_open = False
        self.is_known = True
        self.is_pattern = False

    def add(self, sign: str, *, is_literal: bool = False) -> None:
        """A sign of the word; is_literal: it stands in quotes and means itself."""
        self.is_open = True
        self.signs.append(sign)
        if sign in ("*", "?") and not is_literal:
            self.is_pattern = True

    def expanded(self) -> list[str]:
        """The words that it stands for."""
        if not self.is_known:
            return [ELSEWHERE]
        start = PATTERN if self.is_pattern else ""
        return [start + word for word in _with_braces("".join(self.signs))]


def _with_braces(word: str) -> list[str]:
    found = _BRACES.search(word)
    if found is None or word.count("{") > 3:
        return [word]
    start = word[: found.start()]
    end = word[found.end() :]
    return [
        each
        for part in found[1].split(",")
        for each in _with_braces(f"{start}{part}{end}")
    ]


def _tokens(text: str, is_windows: bool) -> Iterator[str]:
    """Words and signs between commands; ELSEWHERE for a word that is not known or was
    left out.
    """
    place = 0
    word = _Word()
    blanks = 0
    skips = False
    heres: list[str] = []
    while place < len(text):
        char = text[place]
        if char in " \t" or text.startswith("\\\n", place):
            if word.is_open:
                if not skips:
                    yield from word.expanded()
                word = _Word()
                blanks = 0
                skips = False
            blanks += 1
            # A path that was left out leaves two blanks, or one before the end.
            has_gap = text[place + 1 : place + 2] in ("", " ", ";", ")", "\n")
            if char == " " and has_gap and blanks == 1 and not skips:
                yield ELSEWHERE
            place += 2 if char == "\\" else 1
        elif char in "\n;&|()":
            if char == "&" and text[place + 1 : place + 2] == ">":
                place += 1
                continue
            if word.is_open and not skips:
                yield from word.expanded()
            word = _Word()
            blanks = 0
            skips = False
            sign = (
                text[place : place + 2]
                if text[place : place + 2] in ("&&", "||", "|&", ";;")
                else char
            )
            yield sign
            place += len(sign)
            if char == "\n" and heres:
                place = _after_here(text, place, heres)
                heres = []
        elif char in "<>":
            here = _HERE.match(text, place)
            if here:
                heres.append(here[2])
                place = here.end()
                continue
            if word.is_open and not "".join(word.signs).isdigit() and not skips:
                yield from word.expanded()
            word = _Word()
            blanks = 0
            place += 1
            while place < len(text) and text[place] in "<>&|":
                place += 1
            while place < len(text) and text[place] == " ":
                place += 1
            skips = place < len(text) and text[place] not in "\n;&|()"
        elif char == "'" or (char == '"' and is_windows):
            end = text.find(char, place + 1)
            if end < 0:
                return
            word.is_open = True
            for sign in text[place + 1 : end]:
                word.add("/" if sign == "\\" and is_windows else sign, is_literal=True)
            place = end + 1
        elif char == '"':
            place = _quoted(text, place + 1, word)
            if place < 0:
                return
        elif char == "\\" and not is_windows:
            word.add(text[place + 1 : place + 2], is_literal=True)
            place += 2
        elif char == "#" and not word.is_open:
            end = text.find("\n", place)
            place = len(text) if end < 0 else end
        else:
            if char in "$`":
                word.is_known = False
            word.add("/" if char == "\\" else char)
            place += 1
    if word.is_open and not skips:
        yield from word.expanded()


def _quoted(text: str, place: int, word: _Word) -> int:
    """Take what stands in double quotes; the place after them, -1 where they are not
    closed.
    """
    word.is_open = True
    while place < len(text):
        char = text[place]
        if char == '"':
            return place + 1
        if char == "\\" and text[place + 1 : place + 2] in ("$", "`", '"', "\\", "\n"):
            word.add(text[place + 1], is_literal=True)
            place += 2
            continue
        if char in "$`":
            word.is_known = False
        word.add(char, is_literal=True)
        place += 1
    return -1


def _after_here(text: str, place: int, marks: Sequence[str]) -> int:
    """The place after the lines that a command is given in it."""
    for mark in marks:
        while place < len(text):
            end = text.find("\n", place)
            end = len(text) if end < 0 else end
            line = text[place:end].strip()
            place = end + 1
            if line == mark:
                break
    return min(place, len(text))
