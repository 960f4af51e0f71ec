"""Read from a shell command which files it moves, removes or brings back.

The folders that it makes are read too.

The command is all that is read, as an event keeps it: cut, and without paths that lead
out of the project. What the command alone does not say (variables, substitutions,
loops) is no step. Takes time linear in the command's length.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from theorex_lab.core.patterns import lazy_pattern

# Stands for a path outside of the project, and for one that is not known.
ELSEWHERE = "\0"
PATTERN = "\1"  # begins a path that is a pattern, with * and ?
MOVE = "move"
REMOVE = "remove"
RESTORE = "restore"
FOLDER = "folder"
_STEP_WORDS = lazy_pattern(
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
_ANY_WINDOWS_VERB = "|".join(_WINDOWS_VERBS)
_WINDOWS = lazy_pattern(rf"(?i)(?:^|[;&|\n])\s*(?:{_ANY_WINDOWS_VERB})\s")
_REMOVERS = frozenset(("rm", "unlink", "rimraf", "trash", "trash-put"))
_WORDS_BEFORE_VERB = frozenset(
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
_CHANGE_FOLDER = (
    "cd",
    "pushd",
    "chdir",
    "Set-Location",
)
_CHANGE_OPTIONS = (
    "--",
    "-P",
    "-L",
    "/d",
)
_GIT_OPTIONS_WITH_VALUE = ("-C", "-c", "--git-dir", "--work-tree")
_UNREAD_WINDOWS_OPTIONS = ("-whatif", "-filter", "-include", "-exclude")
_PATH_OPTIONS = ("-path", "-literalpath")
_TARGET_OPTIONS = ("-destination", "-newname")
_DRY_RUN_OPTIONS = ("-n", "--dry-run")
_NO_FOLDER_OPTIONS = ("-T", "--no-target-directory")
_COMMAND_ENDS = frozenset(("&&", "||", "|", ";", "&", "(", ")", "\n", "|&", ";;"))
_LONGEST_CHARACTERS = 4_000
_MOST_STEPS = 200
_MOST_WORDS = 200
_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh"))
_MOST_NESTED = 3  # shells that start shells
_ASSIGNMENT = lazy_pattern(r"\w+=")
_COMMAND_OPTION = lazy_pattern(r"-[a-z]*c")
_LONG_SIGNS = (
    "&&",
    "||",
    "|&",
    ";;",
)
# What follows the blank that a path leaves which was left out; "" is the end.
_AFTER_GAP = (
    "",
    " ",
    ";",
    ")",
    "\n",
)
_ESCAPED_IN_QUOTES = (
    "$",
    "`",
    '"',
    "\\",
    "\n",
)
_BRACES = lazy_pattern(r"\{([^{}]*,[^{}]*)\}")
_MOST_BRACES = 3
_MOST_WORDS_OF_BRACES = 100
_HERE_DOCUMENT = lazy_pattern(r"<<-?\s*(['\"]?)([\w.-]+)\1")


class FileStep(NamedTuple):
    """One thing that a command does to names of files.

    Attributes:
        verb: MOVE, REMOVE, RESTORE or FOLDER.
        folders: The folders in which the paths may be, from the project's root, the
            likeliest first.
        paths: The paths that it is done to.
        target: Where they are moved to.
        into: Whether the target is a folder; None where that is unknown.
    """

    verb: str
    folders: tuple[str, ...]
    paths: tuple[str, ...]
    target: str = ""
    into: bool | None = None


def steps_of(command: str, folder: str | None = None) -> list[FileStep]:
    """Return the steps of a command, in order.

    Args:
        command: The command, as an event keeps it.
        folder: The folder in which it began, from the project's root; None where nobody
            noted that.

    >>> for step in steps_of(
    ...     "cd web && git mv 'my a.py' b.py || rm c.py; rm -rf old $x"
    ... ):
    ...     print(step.target, step.verb, step.folders, step.paths)
    b.py move ('web',) ('my a.py',)
     remove ('web',) ('old',)
    """
    if not _STEP_WORDS.search(command):
        return []
    is_windows = _WINDOWS.search(command) is not None
    reading = _CommandReading(folder)
    for sign, words in _commands(command[:_LONGEST_CHARACTERS], is_windows):
        reading.take(sign, words)
        if len(reading.steps) >= _MOST_STEPS:
            break
    return reading.steps


@dataclass
class _CommandReading:
    """The state of a command while its parts are read, and the steps so far."""

    folder: str | None
    steps: list[FileStep] = field(default_factory=list)
    folders: tuple[str, ...] | None = ()  # None: outside of the project
    _outer: list[tuple[str, ...] | None] = field(default_factory=list)
    _nested: int = 0

    def __post_init__(self) -> None:
        if self.folder:
            self.folders = (self.folder, "")
        else:
            self.folders = ("",)

    def take(self, sign_before: str, words: list[str]) -> None:
        """Read one part of the command.

        Args:
            sign_before: The sign that stands before the part.
            words: The words of the part.
        """
        if sign_before == "(":
            self._outer.append(self.folders)
        if sign_before == ")" and self._outer:
            self.folders = self._outer.pop()
        words = _from_verb(words)
        if not words or sign_before == "||":
            return
        program = words[0].removeprefix("\\")
        _, _, verb = program.rpartition("/")
        arguments = words[1:]
        if verb in _CHANGE_FOLDER:
            self._enter(arguments)
        elif verb in _SHELLS:
            self._run(arguments)
        else:
            self._add_step(verb, arguments)

    def _add_step(self, verb: str, arguments: list[str]) -> None:
        """Note the step of one simple command, where it is one."""
        if self.folders is None:
            return
        step = _step_of(verb, arguments, self.folders)
        if step is not None:
            self.steps.append(step)

    def _run(self, arguments: list[str]) -> None:
        """Read the command that another shell is given.

        The folder in which that shell ends is not the folder of this one.
        """
        index = _command_index(arguments)
        if index is None or self._nested >= _MOST_NESTED:
            return
        command = arguments[index]
        folders = self.folders
        self._nested += 1
        for sign, words in _commands(command, is_windows=False):
            self.take(sign, words)
        self._nested -= 1
        self.folders = folders

    def _enter(self, arguments: list[str]) -> None:
        """Follow a change of folder."""
        words = [word for word in arguments if word not in _CHANGE_OPTIONS]
        target = words[0] if words else ELSEWHERE
        if target == ELSEWHERE and self.folder is None:
            # The root was left out of the command with the paths that lead elsewhere.
            self.folders = ("",)
        elif target in (ELSEWHERE, "-"):
            self.folders = None
        else:
            self.folders = _entered_folders(self.folders or (), target)


def _entered_folders(folders: tuple[str, ...], target: str) -> tuple[str, ...] | None:
    """Return the folders after a change to `target`; None outside of the project."""
    if target == ".":
        root_first = ["", *folders]
        return tuple(dict.fromkeys(root_first))
    inner_folders = _inner_folders(folders or ("",), target)
    if not inner_folders:
        return None
    return tuple(dict.fromkeys(inner_folders))


def _from_verb(words: list[str]) -> list[str]:
    """Return the words from the verb on: without assignments, `sudo` and the like."""
    for index, word in enumerate(words):
        if word in _WORDS_BEFORE_VERB:
            continue
        if not _ASSIGNMENT.match(word):
            return words[index:]
    return []


def _command_index(arguments: list[str]) -> int | None:
    """Return the index of the command in a shell's arguments; None for no command."""
    for index, word in enumerate(arguments[:-1]):
        if _COMMAND_OPTION.fullmatch(word):
            return index + 1
    return None


def joined_path(folder: str, path: str) -> str | None:
    """Return a path that stands in a folder of the project, from the project's root.

    Returns:
        The path; '' is the root, and None is outside of the project.

    >>> joined_path("web", "../a.py"), joined_path("", "../a.py"), joined_path("web", "..")
    ('a.py', None, '')
    """
    if path == ELSEWHERE or path.startswith(("/", "~")):
        return None
    joined = posixpath.join(folder, path)
    whole_path = posixpath.normpath(joined)
    if whole_path == ".." or whole_path.startswith("../"):
        return None
    if whole_path == ".":
        return ""
    return whole_path


def _inner_folders(folders: Sequence[str], path: str) -> tuple[str, ...]:
    """Return the path from each of the folders, without those outside the project."""
    paths = [joined_path(folder, path) for folder in folders]
    return tuple(inner for inner in paths if inner is not None)


def _step_of(
    verb: str,
    arguments: list[str],
    folders: tuple[str, ...],
) -> FileStep | None:
    """Return the step of one simple command; None where it is none."""
    if verb == "git":
        return _git_step(arguments, folders)
    if verb == "mv":
        return _move(arguments, folders)
    if verb in _REMOVERS:
        operands, _ = _operands(arguments, verb)
        return _step_on(REMOVE, operands, folders)
    if verb == "mkdir":
        operands, _ = _operands(arguments, verb)
        return _step_on(FOLDER, operands, folders)
    windows_verb = _WINDOWS_VERBS.get(verb.lower())
    if windows_verb is None:
        return None
    return _windows_step(windows_verb, arguments, folders)


def _inside_project(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the paths without those that are outside of the project or unknown."""
    return tuple(path for path in paths if path != ELSEWHERE)


def _step_on(
    verb: str,
    operands: Sequence[str],
    folders: tuple[str, ...],
) -> FileStep | None:
    """Return a step that has no target; None where no operand is in the project."""
    paths = _inside_project(operands)
    if not paths:
        return None
    return FileStep(verb, folders, paths)


def _operands(arguments: Sequence[str], verb: str) -> tuple[list[str], dict[str, str]]:
    """Return the operands of a command, and its options, each with its value."""
    operands: list[str] = []
    options: dict[str, str] = {}
    words = iter(arguments)
    for word in words:
        is_option = word.startswith("-") and len(word) > 1
        if word == "--":
            operands += words
        elif is_option:
            names_with_value = _WITH_VALUE.get(verb, ())
            options |= _option(word, words, names_with_value)
        else:
            operands.append(word)
    return operands, options


def _option(
    word: str,
    words_after: Iterator[str],
    names_with_value: Sequence[str],
) -> dict[str, str]:
    """Return an option with its value, and each of its letters where it is short.

    Args:
        word: The option.
        words_after: The words after it, of which it takes its value where it has one.
        names_with_value: The options whose value is the next word.
    """
    name, sign, value = word.partition("=")
    if not sign and name in names_with_value:
        value = next(words_after, ELSEWHERE)
    options = {name: value}
    if not name.startswith("--"):
        for letter in name[1:]:
            options[f"-{letter}"] = value
    return options


def _git_step(arguments: list[str], folders: tuple[str, ...]) -> FileStep | None:
    """Return the step of a git command; None where it is none."""
    arguments, folders = _from_git_verb(arguments, folders)
    if not arguments or not folders:
        return None
    verb = arguments[0]
    arguments = arguments[1:]
    if verb == "mv":
        return _git_move(arguments, folders)
    if verb == "rm":
        return _git_remove(arguments, folders)
    if verb == "restore":
        return _git_restore(arguments, folders)
    if verb == "checkout" and "--" in arguments:
        index = arguments.index("--")
        paths = arguments[index + 1 :]
        return _step_on(RESTORE, paths, folders)
    return None


def _from_git_verb(
    arguments: list[str],
    folders: tuple[str, ...],
) -> tuple[list[str], tuple[str, ...]]:
    """Return the arguments from git's verb on, and the folders in which it runs."""
    while arguments and arguments[0].startswith("-"):
        option = arguments[0]
        if option == "-C" and len(arguments) > 1:
            folders = _inner_folders(folders, arguments[1])
        n_words = 2 if option in _GIT_OPTIONS_WITH_VALUE else 1
        arguments = arguments[n_words:]
    return arguments, folders


def _is_dry_run(options: dict[str, str]) -> bool:
    """Return whether a command only shows what it would do."""
    return not options.keys().isdisjoint(_DRY_RUN_OPTIONS)


def _git_move(arguments: list[str], folders: tuple[str, ...]) -> FileStep | None:
    """Return the step of a `git mv`; None where it does nothing."""
    _, options = _operands(arguments, "mv")
    if _is_dry_run(options):
        return None
    return _move(arguments, folders)


def _git_remove(arguments: list[str], folders: tuple[str, ...]) -> FileStep | None:
    """Return the step of a `git rm`; None where the file stays."""
    operands, options = _operands(arguments, "rm")
    if _is_dry_run(options) or "--cached" in options:
        return None
    return _step_on(REMOVE, operands, folders)


def _git_restore(arguments: list[str], folders: tuple[str, ...]) -> FileStep | None:
    """Return the step of a `git restore`; None where the file stays as it is."""
    operands, options = _operands(arguments, "restore")
    if "--staged" in options and "--worktree" not in options:
        return None  # the file itself stays as it is
    return _step_on(RESTORE, operands, folders)


def _move(arguments: list[str], folders: tuple[str, ...]) -> FileStep | None:
    """Return the step of an `mv`; None where nothing in the project is moved."""
    operands, options = _operands(arguments, "mv")
    target = options.get("--target-directory") or options.get("-t", "")
    if target:
        return _move_step(operands, target, folders, into=True)
    if not operands:
        return None
    *sources, target = operands
    n_inside = len(_inside_project(sources))
    if target == ELSEWHERE and n_inside > 1:
        return _move_step(sources, target, folders, into=True)
    if options.keys().isdisjoint(_NO_FOLDER_OPTIONS):
        return _move_step(sources, target, folders, into=None)
    return _move_step(sources, target, folders, into=False)


def _move_step(
    sources: Sequence[str],
    target: str,
    folders: tuple[str, ...],
    into: bool | None,
) -> FileStep | None:
    """Return the step that moves the sources; None where none is in the project."""
    paths = _inside_project(sources)
    if not paths:
        return None
    if len(paths) > 1:
        into = True
    return FileStep(
        verb=MOVE,
        folders=folders,
        paths=paths,
        target=target,
        into=into,
    )


def _windows_step(
    verb: str,
    arguments: list[str],
    folders: tuple[str, ...],
) -> FileStep | None:
    """Return the step of a command of cmd or PowerShell; None where it is none."""
    paths = _windows_paths(arguments)
    if paths is None:
        return None
    operands, target = paths
    if verb == "remove":
        return _step_on(REMOVE, operands, folders)
    if not target and len(operands) > 1:
        target = operands.pop()
    if not operands or not target:
        return None
    renamed = operands[0]
    if verb == "rename" and renamed != ELSEWHERE:
        folder = posixpath.dirname(renamed)
        return FileStep(
            verb=MOVE,
            folders=folders,
            paths=(renamed,),
            target=posixpath.join(folder, target),
            into=False,
        )
    return _move_step(operands, target, folders, into=None)


def _windows_paths(arguments: list[str]) -> tuple[list[str], str] | None:
    """Return the operands and the target that an option names, '' for none.

    Returns:
        None where an option chooses among the files, or nothing is done.
    """
    operands: list[str] = []
    target = ""
    words = iter(arguments)
    for word in words:
        name = word.lower()
        if name in _PATH_OPTIONS:
            path = next(words, ELSEWHERE)
            operands.insert(0, path)
        elif name in _TARGET_OPTIONS:
            target = next(words, ELSEWHERE)
        elif name in _UNREAD_WINDOWS_OPTIONS:
            return None
        elif not _is_windows_option(name):
            operands += filter(None, word.split(","))
    return operands, target


def _is_windows_option(name: str) -> bool:
    """Return whether a word in lower case is an option of cmd or PowerShell."""
    if name.startswith("-"):
        return True
    return re.fullmatch(r"/[a-z]", name) is not None


def _commands(text: str, is_windows: bool) -> Iterator[tuple[str, list[str]]]:
    """Yield each simple command as the sign before it and its words.

    A command of which a word cannot be read is cut there.
    """
    sign_before = ""
    words: list[str] = []
    for token in _TokenReader(text, is_windows).read():
        if token in _COMMAND_ENDS:
            yield sign_before, _without_gaps(words)
            sign_before = token
            words = []
        elif len(words) < _MOST_WORDS:
            words.append(token)
    # The last words of a command that was cut may be the starts of other words.
    if not text.endswith("…"):
        yield sign_before, _without_gaps(words)


def _without_gaps(words: list[str]) -> list[str]:
    """Return the words without each ELSEWHERE that only stands for a run of blanks.

    The verb stays, and so does an ELSEWHERE at the end, which may be the target.
    """
    paths = [word for word in words[1:] if word != ELSEWHERE]
    if len(paths) < 2:
        return words
    verb = words[0]
    last = words[-1]
    if last == ELSEWHERE:
        return [verb, *paths, last]
    return [verb, *paths]


class _Word:
    """A word that grows character by character.

    Attributes:
        chars: The characters so far.
        is_open: Whether the word has begun.
        is_readable: Whether it holds no variable and no substitution.
        is_pattern: Whether it holds `*` or `?`.
    """

    def __init__(self) -> None:
        self.chars: list[str] = []
        self.is_open = False
        self.is_readable = True
        self.is_pattern = False

    def add(self, char: str, *, is_literal: bool = False) -> None:
        """Add a character.

        Args:
            char: The character.
            is_literal: Whether it stands in quotes and means itself.
        """
        self.is_open = True
        self.chars.append(char)
        if char in ("*", "?") and not is_literal:
            self.is_pattern = True

    def is_number(self) -> bool:
        """Return whether it is a number, as that of a stream before `>`."""
        return "".join(self.chars).isdigit()

    def expanded(self) -> list[str]:
        """Return the words that it stands for."""
        if not self.is_readable:
            return [ELSEWHERE]
        start = PATTERN if self.is_pattern else ""
        word = "".join(self.chars)
        return [start + part for part in _with_braces(word)]


def _n_words(word: str) -> int:
    """Return how many words the braces of a word multiply out to."""
    n_words = 1
    for braces in _BRACES.finditer(word):
        n_parts = braces[1].count(",") + 1
        n_words *= n_parts
    return n_words


def _with_braces(word: str) -> list[str]:
    """Return the words that a word with braces stands for: `{a,b}.py` for two.

    A word that stands for more than a hundred is left as it is: it names no file.
    """
    braces = _BRACES.search(word)
    if braces is None or word.count("{") > _MOST_BRACES:
        return [word]
    if _n_words(word) > _MOST_WORDS_OF_BRACES:
        return [word]
    start = word[: braces.start()]
    end = word[braces.end() :]
    words: list[str] = []
    for part in braces[1].split(","):
        words += _with_braces(f"{start}{part}{end}")
    return words


class _TokenReader:
    """Cuts a command into words and the signs between commands.

    ELSEWHERE stands for a word that cannot be read or was left out.
    """

    def __init__(self, text: str, is_windows: bool) -> None:
        self._text = text
        self._is_windows = is_windows
        self._tokens: list[str] = []
        self._index = 0
        self._word = _Word()
        self._n_blanks = 0
        # Whether the word is the file of a redirection, which is no operand.
        self._is_redirection = False
        self._end_lines: list[str] = []  # of the here-documents that follow the line

    def read(self) -> list[str]:
        """Return the tokens, up to a quote that nobody closes."""
        while self._index < len(self._text):
            if not self._read_part(self._text[self._index]):
                return self._tokens
        self._end_word()
        return self._tokens

    def _read_part(self, char: str) -> bool:
        """Read the part of the text that begins with the next character.

        Returns:
            False where a quote begins that nobody closes.
        """
        is_hidden_break = self._text.startswith("\\\n", self._index)
        if char in " \t" or is_hidden_break:
            self._read_blank(char)
        elif char in "\n;&|()":
            self._read_command_end(char)
        elif char in "<>":
            self._read_redirection()
        elif char in "'\"":
            return self._read_quotes(char)
        elif char == "#" and not self._word.is_open:
            self._index = _line_end(self._text, self._index)
        else:
            self._read_plain(char)
        return True

    def _read_quotes(self, quote: str) -> bool:
        """Read a text in quotes; False where they are not closed."""
        if quote == "'" or self._is_windows:
            return self._read_literal(quote)
        return self._read_quoted()

    def _next_chars(self, number: int) -> str:
        """Return the characters after the present one."""
        start = self._index + 1
        return self._text[start : start + number]

    def _end_word(self) -> None:
        """Note the word where one has begun, and begin another."""
        if self._word.is_open and not self._is_redirection:
            self._tokens += self._word.expanded()
        self._word = _Word()
        self._n_blanks = 0
        self._is_redirection = False

    def _read_blank(self, char: str) -> None:
        """Read a blank, or a line break that a backslash hides."""
        if self._word.is_open:
            self._end_word()
        self._n_blanks += 1
        # A path that was left out leaves two blanks, or one before the end.
        is_gap = char == " " and self._next_chars(1) in _AFTER_GAP
        is_first = self._n_blanks == 1
        if is_gap and is_first and not self._is_redirection:
            self._tokens.append(ELSEWHERE)
        self._index += 2 if char == "\\" else 1

    def _read_command_end(self, char: str) -> None:
        """Read a sign that ends a command, and the here-documents after its line."""
        if char == "&" and self._next_chars(1) == ">":
            self._index += 1  # the redirection of both streams
            return
        self._end_word()
        sign = self._text[self._index : self._index + 2]
        if sign not in _LONG_SIGNS:
            sign = char
        self._tokens.append(sign)
        self._index += len(sign)
        if char == "\n" and self._end_lines:
            end_lines = self._end_lines
            self._end_lines = []
            self._index = _after_here_documents(self._text, self._index, end_lines)

    def _read_redirection(self) -> None:
        """Read the sign of a redirection, or the beginning of a here-document."""
        here_document = _HERE_DOCUMENT.match(self._text, self._index)
        if here_document:
            self._end_lines.append(here_document[2])
            self._index = here_document.end()
            return
        if self._word.is_number():
            self._word = _Word()
        self._end_word()
        self._index += 1
        self._skip("<>&|")
        self._skip(" ")
        next_char = self._text[self._index : self._index + 1]
        self._is_redirection = bool(next_char) and next_char not in "\n;&|()"

    def _skip(self, chars: str) -> None:
        """Skip a run of these characters."""
        while self._index < len(self._text):
            char = self._text[self._index]
            if char not in chars:
                break
            self._index += 1

    def _read_literal(self, quote: str) -> bool:
        """Read a text in quotes in which each character means itself.

        Returns:
            False where the quotes are not closed.
        """
        start = self._index + 1
        end = self._text.find(quote, start)
        if end < 0:
            return False
        self._word.is_open = True
        for char in self._text[start:end]:
            self._word.add(self._with_slash(char), is_literal=True)
        self._index = end + 1
        return True

    def _with_slash(self, char: str) -> str:
        """Return the slash for the backslash of a Windows path."""
        if char == "\\" and self._is_windows:
            return "/"
        return char

    def _read_quoted(self) -> bool:
        """Read a text in double quotes, in which a shell looks for variables.

        Returns:
            False where the quotes are not closed.
        """
        self._word.is_open = True
        self._index += 1
        while self._index < len(self._text):
            char = self._text[self._index]
            if char == '"':
                self._index += 1
                return True
            escaped_char = self._next_chars(1)
            is_escape = char == "\\" and escaped_char in _ESCAPED_IN_QUOTES
            if is_escape:
                self._word.add(escaped_char, is_literal=True)
                self._index += 2
            else:
                self._note_variable(char)
                self._word.add(char, is_literal=True)
                self._index += 1
        return False

    def _read_plain(self, char: str) -> None:
        """Read a character outside of quotes, or one that a backslash escapes."""
        if char == "\\" and not self._is_windows:
            self._word.add(self._next_chars(1), is_literal=True)
            self._index += 2
            return
        self._note_variable(char)
        self._word.add(self._with_slash(char))
        self._index += 1

    def _note_variable(self, char: str) -> None:
        """Note that the word cannot be read where a variable or a command is in it."""
        if char in "$`":
            self._word.is_readable = False


def _line_end(text: str, index: int) -> int:
    """Return the index of the end of the line in which `index` lies."""
    end = text.find("\n", index)
    return len(text) if end < 0 else end


def _after_here_documents(text: str, index: int, end_lines: Sequence[str]) -> int:
    """Return the index after the here-documents that begin at `index`.

    Args:
        text: The whole command.
        index: The start of the line after the command's.
        end_lines: The line that ends each of the here-documents.
    """
    for end_line in end_lines:
        while index < len(text):
            end = _line_end(text, index)
            line = text[index:end].strip()
            index = end + 1
            if line == end_line:
                break
    return min(index, len(text))
