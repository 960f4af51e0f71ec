"""Cut a shell line into its simple commands, as they were written.

Quotes, here-documents, pipes, redirections and subshells are read; the bodies of loops,
conditions and functions are left out, since what stands there does not run as written.
`text.file_moves` reads what a command does to files; here the command's own text is
what is wanted. Takes time linear in the line's length.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.text.file_moves import joined_path

_LONGEST_CHARACTERS = 4_000
_MOST_COMMANDS = 60

_WORD_ENDS = " \t\n;&|()"
_SIGN = lazy_pattern(r"&&|\|\||\|&|;;&?|;&|[|&;()\n]")
_REDIRECTION = lazy_pattern(
    r"(?:\d+|&)?"  # the stream
    r"(?P<sign><<<|<<-?|<>|>>|>\||>&|<&|>|<)"
    r"(?!\()"  # which would be a substitution
)
# Redirections after which the input stands in the line itself.
_DOCUMENTS_OF_LINES = frozenset(("<<", "<<-"))
_DOCUMENTS = frozenset(("<<", "<<-", "<<<"))
_PROCESS_SUBSTITUTION = lazy_pattern(r"[<>]\(")
_ASSIGNMENT = lazy_pattern(r"[A-Za-z_]\w*\+?=")
_FUNCTION_SIGN = "()"
_PIPES = frozenset(("|", "|&"))
# Blanks, and the end of a line that a backslash hides with the next one's indentation.
_BLANKS_OF_LINE = lazy_pattern(r"(?:[ \t]|\\\n)+")
# A path that was left out leaves two blanks, or one before the end. Blanks before a
# comment and before the end of a line are no gap.
_GAP = lazy_pattern(r" (?: (?! *(?:\\\n|#))| ?\Z)")
_CUT = "…"  # ends a command of which the journal keeps the start only
# Runs of characters that mean themselves, outside of quotes and in double quotes.
_PLAIN = lazy_pattern(r"[^\s;&|()<>'\"`$\\]+")
_PLAIN_IN_QUOTES = lazy_pattern(r"[^\"`$\\]+")
_ESCAPED_IN_QUOTES = '$`"\\\n'

# Words that open and close a body, and those that may stand before another of them.
_OPENING = frozenset(("if", "for", "while", "until", "case", "select", "{"))
_CLOSING = frozenset(("fi", "done", "esac", "}"))
_INSIDE = frozenset(("then", "do", "else", "elif", "in", "!", "time"))
_CHANGE_FOLDER = frozenset(("cd", "pushd", "chdir"))


class SimpleCommand(NamedTuple):
    """One command of a shell line.

    Attributes:
        text: It as it was written, on one line, without its redirections.
        words: Its words without quotes and without leading assignments.
        folder: The folder that a `cd` before it led to, from where the line began; ''
            where there was none, or where it led elsewhere.
        sign: The sign before it: '', `&&`, `||`, `;`, `|` and the like.
        is_whole: Whether it can be run again as it is written: it holds no variable, no
            substitution, no here-document, and no gap that a path left which an event
            does not keep.
        is_piped: Whether its output goes into another command, which hides its status.
    """

    text: str
    words: tuple[str, ...]
    folder: str = ""
    sign: str = ""
    is_whole: bool = True
    is_piped: bool = False

    @property
    def reads_pipe(self) -> bool:
        """Whether its input is the output of the command before it."""
        return self.sign in _PIPES


def simple_commands(line: str) -> list[SimpleCommand]:
    """Return the simple commands of a shell line, in order, without `cd`.

    A command whose quotes nobody closes is left out, and so is all that follows it.

    >>> for command in simple_commands("cd web && npm test 2>&1 | tail -3; ls 'a b'"):
    ...     print(command.folder, command.words, command.is_piped)
    web ('npm', 'test') True
    web ('tail', '-3') False
    web ('ls', 'a b') False
    """
    reading = _LineReading()
    for part in _parts(line[:_LONGEST_CHARACTERS]):
        reading.take(part)
        if len(reading.commands) >= _MOST_COMMANDS:
            break
    return reading.commands


class _Word(NamedTuple):
    """A word as it was written, its value, and whether the shell fills it in."""

    raw: str
    value: str
    is_filled_in: bool


@dataclass
class _Part:
    """What stands between two signs of a line."""

    sign: str
    words: list[_Word] = field(default_factory=list)
    has_document: bool = False
    has_gap: bool = False
    sign_after: str = ""


@dataclass
class _LineReading:
    """The state of a line while its parts are read, and the commands so far."""

    commands: list[SimpleCommand] = field(default_factory=list)
    folder: str = ""
    _outer_folders: list[str] = field(default_factory=list)
    _depth: int = 0  # of bodies that are left out

    def take(self, part: _Part) -> None:
        """Read one part of the line."""
        self._follow_subshell(part.sign)
        words = self._after_keywords(part.words)
        is_function_head = part.sign_after == _FUNCTION_SIGN
        if self._depth > 0 or is_function_head:
            return
        plain_words = _without_assignments(words)
        if not plain_words or _is_condition(plain_words):
            return
        if plain_words[0].value in _CHANGE_FOLDER:
            self._enter(plain_words, part)
            return
        self.commands.append(_command(part, words, plain_words, self.folder))

    def _follow_subshell(self, sign: str) -> None:
        """Keep the folder at the start of a subshell, and take it back at its end."""
        if self._depth:
            return
        if sign == "(":
            self._outer_folders.append(self.folder)
        if sign == ")" and self._outer_folders:
            self.folder = self._outer_folders.pop()

    def _after_keywords(self, words: list[_Word]) -> list[_Word]:
        """Return the words after those of the shell's language; note what they open."""
        for index, word in enumerate(words):
            if word.raw in _OPENING:
                self._depth += 1
            elif word.raw in _CLOSING:
                self._depth = max(0, self._depth - 1)
            elif word.raw not in _INSIDE:
                return words[index:]
        return []

    def _enter(self, words: list[_Word], part: _Part) -> None:
        """Follow a change of folder, unless it is one of a pipe."""
        if part.sign in _PIPES or part.sign_after in _PIPES:
            return
        outer_folder = self.folder
        self.folder = ""
        targets = [word for word in words[1:] if not word.value.startswith("-")]
        if len(targets) != 1:
            return
        target = targets[0]
        if target.is_filled_in:
            return
        folder = joined_path(outer_folder, target.value)
        if folder is not None:
            self.folder = folder


def _is_condition(words: list[_Word]) -> bool:
    """Return whether the words are a condition in double brackets, or its end."""
    first = words[0]
    last = words[-1]
    return first.raw == "[[" or last.raw == "]]"


def _without_assignments(words: list[_Word]) -> list[_Word]:
    """Return the words from the program on."""
    for index, word in enumerate(words):
        if not _ASSIGNMENT.match(word.raw):
            return words[index:]
    return []


def _command(
    part: _Part,
    words: list[_Word],
    plain_words: list[_Word],
    folder: str,
) -> SimpleCommand:
    """Return the command of a part."""
    raw_text = " ".join(word.raw for word in words)
    one_line = " ".join(raw_text.split())
    values = [word.value for word in plain_words]
    is_filled_in = any(word.is_filled_in for word in words)
    has_other_input = part.has_document or part.has_gap
    return SimpleCommand(
        text=one_line,
        words=tuple(values),
        folder=folder,
        sign=part.sign,
        is_whole=not is_filled_in and not has_other_input,
        is_piped=part.sign_after in _PIPES,
    )


def _parts(line: str) -> Iterator[_Part]:
    """Yield what stands between the signs of a line, up to what cannot be read."""
    reader = _PartReader(line)
    try:
        yield from reader.read()
    except _UnclosedError:
        return


class _UnclosedError(Exception):
    """A quote or a bracket that nobody closes."""


class _PartReader:
    """Cuts a line at its signs, and the parts into words."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._index = 0
        self._end_words: list[str] = []  # of here-documents that follow the line

    def read(self) -> Iterator[_Part]:
        """Yield the parts.

        Raises:
            _UnclosedError: Where a quote or a bracket is not closed.
        """
        part = _Part("")
        while self._skip_blanks(part):
            sign = self._sign()
            if sign:
                part.sign_after = sign
                yield part
                part = _Part("" if sign == _FUNCTION_SIGN else sign)
            elif not self._read_redirection(part):
                part.words.append(self._word())
        # The last words of a line that was cut may be the starts of other words.
        if not self._line.endswith(_CUT):
            yield part

    def _skip_blanks(self, part: _Part) -> bool:
        """Skip blanks and comments; return whether anything is left.

        Args:
            part: The part that is read, in which the blanks may be a gap.
        """
        if part.words and _GAP.match(self._line, self._index):
            part.has_gap = True
        while self._index < len(self._line):
            blanks = _BLANKS_OF_LINE.match(self._line, self._index)
            if blanks is not None:
                self._index = blanks.end()
            elif self._line[self._index] == "#":
                self._index = self._line_end()
            else:
                return True
        return False

    def _next_char(self) -> str:
        """Return the character after the present one; '' at the end."""
        start = self._index + 1
        return self._line[start : start + 1]

    def _line_end(self) -> int:
        """Return the index of the end of the line that is read."""
        end = self._line.find("\n", self._index)
        return len(self._line) if end < 0 else end

    def _sign(self) -> str:
        """Read a sign between commands; '' where none stands here."""
        if _REDIRECTION.match(self._line, self._index):
            return ""
        if self._line.startswith(_FUNCTION_SIGN, self._index):
            self._index += len(_FUNCTION_SIGN)
            return _FUNCTION_SIGN
        match = _SIGN.match(self._line, self._index)
        if match is None:
            return ""
        self._index = match.end()
        if match[0] == "\n":
            self._skip_documents()
        return match[0]

    def _skip_documents(self) -> None:
        """Skip the here-documents that begin at this line."""
        for end_word in self._end_words:
            while self._index < len(self._line):
                end = self._line_end()
                line = self._line[self._index : end].strip()
                self._index = end + 1
                if line == end_word:
                    break
        self._end_words = []

    def _read_redirection(self, part: _Part) -> bool:
        """Read a redirection with its target; return whether one stands here."""
        match = _REDIRECTION.match(self._line, self._index)
        if match is None:
            return False
        self._index = match.end()
        blanks = _BLANKS_OF_LINE.match(self._line, self._index)
        if blanks is not None:
            self._index = blanks.end()
        target = ""
        if not _SIGN.match(self._line, self._index):
            target = self._word().value
        sign = match["sign"]
        if sign in _DOCUMENTS:
            part.has_document = True
        if sign in _DOCUMENTS_OF_LINES:
            self._end_words.append(target)
        return True

    def _word(self) -> _Word:
        """Read a word."""
        start = self._index
        value = ""
        is_filled_in = False
        while not self._is_word_end():
            piece, is_variable = self._piece()
            value += piece
            if is_variable:
                is_filled_in = True
        raw = self._line[start : self._index]
        return _Word(raw, value, is_filled_in)

    def _is_word_end(self) -> bool:
        """Return whether the word ends before the next character."""
        if self._index >= len(self._line):
            return True
        char = self._line[self._index]
        if char in _WORD_ENDS:
            return True
        if _PROCESS_SUBSTITUTION.match(self._line, self._index):
            return False
        return char in "<>"

    def _piece(self) -> tuple[str, bool]:
        """Read a piece of a word; return its value and whether it is filled in."""
        plain = _PLAIN.match(self._line, self._index)
        if plain is not None:
            self._index = plain.end()
            return plain[0], False
        char = self._line[self._index]
        if char == "\\":
            value = self._next_char()
            self._index += 2
            return value, False
        if char == "'":
            return self._literal(), False
        if char == '"':
            return self._quoted()
        if char in "$`<>":
            return self._filled_in(), True
        self._index += 1
        return char, False

    def _literal(self) -> str:
        """Read a text in single quotes."""
        start = self._index + 1
        end = self._line.find("'", start)
        if end < 0:
            raise _UnclosedError
        self._index = end + 1
        return self._line[start:end]

    def _quoted(self) -> tuple[str, bool]:
        """Read a text in double quotes."""
        pieces: list[str] = []
        is_filled_in = False
        self._index += 1
        while self._index < len(self._line):
            char = self._line[self._index]
            if char == '"':
                self._index += 1
                return "".join(pieces), is_filled_in
            if char in "$`":
                pieces.append(self._filled_in())
                is_filled_in = True
            else:
                pieces.append(self._quoted_piece(char))
        raise _UnclosedError

    def _quoted_piece(self, char: str) -> str:
        """Read plain characters in double quotes, or what a backslash escapes."""
        plain = _PLAIN_IN_QUOTES.match(self._line, self._index)
        if plain is not None:
            self._index = plain.end()
            return plain[0]
        next_char = self._next_char()
        is_escaped = next_char != "" and next_char in _ESCAPED_IN_QUOTES
        if char == "\\" and is_escaped:
            self._index += 2
            return next_char
        self._index += 1
        return char

    def _filled_in(self) -> str:
        """Read a variable or a substitution, which the shell fills in."""
        start = self._index
        if self._line[start] == "`":
            end = self._line.find("`", start + 1)
            if end < 0:
                raise _UnclosedError
            self._index = end + 1
        elif self._next_char() in ("(", "{"):
            self._index += 1
            self._skip_brackets()
        else:
            self._index += 1
        return self._line[start : self._index]

    def _skip_brackets(self) -> None:
        """Skip a text in brackets, with the brackets and quotes in it."""
        opening = self._line[self._index]
        closing = ")" if opening == "(" else "}"
        depth = 0
        while self._index < len(self._line):
            char = self._line[self._index]
            if char == "'":
                self._literal()
                continue
            if char == opening:
                depth += 1
            elif char == closing:
                depth -= 1
            self._index += 2 if char == "\\" else 1
            if depth == 0:
                return
        raise _UnclosedError
