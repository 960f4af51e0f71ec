r"""Cut LaTeX into its tokens: control words, groups, comments and verbatim text.

No macro is executed. The tokens of a text are found in one pass, and so are the ends of
its groups, so that no argument is looked for twice: the time is linear in the text.

The libraries were looked at first: pylatexenc and TexSoup build a tree by recursion
and know nothing of environments that a document declares, and plasTeX executes the
document, as TeX does.
"""

import re
from bisect import bisect_left
from typing import NamedTuple

_TOKEN = re.compile(r"(?s)\\(?:[a-zA-Z@]+\*?|[^a-zA-Z@])|%[^\n]*|[{}\[\]]")
_ENVIRONMENT_NAME = re.compile(r"\s*\{\s*([^{}\\%]{1,80}?)\s*\}")
_BLANK = re.compile(r"(?:[^\S\n]|\n(?![^\S\n]*\n)|%[^\n]*\n?)*")
_CONTROL_WORD = re.compile(r"(?s)\\(?:[a-zA-Z@]+|.)")
COMMENT = "% comment"
# What stands in these is no LaTeX.
VERBATIM_ENVIRONMENTS = frozenset(
    "comment verbatim verbatim* Verbatim Verbatim* BVerbatim LVerbatim lstlisting"
    " minted filecontents filecontents*".split()
)
_NO_OPTIONS = re.compile("")
_OPTIONS = re.compile(r"[ \t]*(?:\[[^\]\n]*\])?[ \t]*")
_OPTIONS_AND_LANGUAGE = re.compile(_OPTIONS.pattern + r"(?:\{[^{}\n]*\})?[ \t]*")
# What may stand between these words and the sign that begins their text.
_INLINE_OPTIONS = {
    "verb": _NO_OPTIONS,
    "verb*": _NO_OPTIONS,
    "Verb": _OPTIONS,
    "Verb*": _OPTIONS,
    "lstinline": _OPTIONS,
    "lstinline*": _OPTIONS,
    "mintinline": _OPTIONS_AND_LANGUAGE,
}
_BEFORE_VERBATIM = frozenset(["begin", *_INLINE_OPTIONS])
_BRACKETS = frozenset("{}[]")


class TexToken(NamedTuple):
    """Hold a token.

    Attributes:
        word: A control word without its backslash, or COMMENT.
        start: Where it begins.
        end: Where it ends.
    """

    word: str
    start: int
    end: int


class TexArgument(NamedTuple):
    """Hold an argument: the text between its braces, and where it ends."""

    text: str
    end: int


class TexText:
    """A text of LaTeX, its tokens, and the ends of its groups.

    Attributes:
        file: The name of the file that it stands in.
        text: The text.
        tokens: Its tokens, in their order.
        unclosed: What has no end, and where: an environment of verbatim text.
    """

    def __init__(self, file: str, text: str, *, first_line: int = 1) -> None:
        self.file = file
        self.text = text
        self.tokens = list[TexToken]()
        self.unclosed = list[tuple[str, int]]()
        self._first_line = first_line
        self._starts = list[int]()  # of the tokens
        self._line_ends = list[int]()
        # By where a brace or a bracket opens, where it closes.
        self._closes = dict[int, int]()
        self._groups = [_OpenGroup(-1)]
        self._scan()

    def line(self, offset: int) -> int:
        """Return the number of the line that an offset lies in."""
        if not self._line_ends:
            ends = [match.start() for match in re.finditer("\n", self.text)]
            length = len(self.text)
            ends.append(length)
            self._line_ends = ends
        return self._first_line + bisect_left(self._line_ends, offset)

    def place(self, offset: int) -> str:
        """Return the file and the line that an offset lies in."""
        line = self.line(offset)
        return f"{self.file}:{line}"

    def token_at(self, offset: int) -> int:
        """Return the number of the first token that begins at an offset or later."""
        return bisect_left(self._starts, offset)

    def argument(self, offset: int) -> TexArgument | None:
        """Return the group in braces that stands at an offset, behind blanks."""
        start = self._behind_blanks(offset)
        return self._group(start, "{")

    def option(self, offset: int) -> TexArgument | None:
        """Return the group in brackets that stands at an offset, behind blanks."""
        start = self._behind_blanks(offset)
        return self._group(start, "[")

    def one_argument(self, offset: int) -> TexArgument | None:
        """Return the argument of a macro: a group, a control word or a character."""
        start = self._behind_blanks(offset)
        group = self._group(start, "{")
        if group is not None:
            return group
        if start >= len(self.text):
            return None
        end = start + 1
        word = _CONTROL_WORD.match(self.text, start)
        if word is not None:
            end = word.end()
        text = self.text[start:end]
        return TexArgument(text, end)

    def without_comments(self, start: int, end: int) -> str:
        """Return a part of the text without its comments."""
        pieces = list[str]()
        first = self.token_at(start)
        last = self.token_at(end)
        tokens = self.tokens[first:last]
        for token in tokens:
            if token.word == COMMENT:
                piece = self.text[start : token.start]
                pieces.append(piece)
                start = token.end
        last_piece = self.text[start:end]
        pieces.append(last_piece)
        return "".join(pieces)

    def _behind_blanks(self, offset: int) -> int:
        """Return where the blanks and the comments at an offset end."""
        match = _BLANK.match(self.text, offset)
        if match is None:
            return offset
        return match.end()

    def _group(self, start: int, bracket: str) -> TexArgument | None:
        if not self.text.startswith(bracket, start):
            return None
        if start not in self._closes:
            return None
        close = self._closes[start]
        text = self.without_comments(start + 1, close)
        return TexArgument(text, close + 1)

    def _scan(self) -> None:
        """Find the tokens, and match the braces and brackets."""
        offset = 0
        text = self.text
        while match := _TOKEN.search(text, offset):
            sign = match[0]
            start = match.start()
            offset = match.end()
            if sign in _BRACKETS:
                self._bracket(sign, start)
                continue
            self._starts.append(start)
            word = sign[1:]
            if sign[0] == "%":
                word = COMMENT
            token = TexToken(word, start, offset)
            self.tokens.append(token)
            if word in _BEFORE_VERBATIM:
                offset = self._behind_verbatim(word, offset)

    def _bracket(self, bracket: str, offset: int) -> None:
        """Open or close a group; a bracket closes those of its own group alone."""
        group = self._groups[-1]
        if bracket == "{":
            inner = _OpenGroup(offset)
            self._groups.append(inner)
        elif bracket == "[":
            group.brackets.append(offset)
        elif bracket == "]":
            for opened in group.brackets:
                self._closes[opened] = offset
            group.brackets.clear()
        elif len(self._groups) > 1:
            self._closes[group.start] = offset
            self._groups.pop()

    def _behind_verbatim(self, word: str, offset: int) -> int:
        """Return where verbatim text ends that a control word begins."""
        if word == "begin":
            return self._behind_environment(offset)
        return self._behind_inline(word, offset)

    def _behind_environment(self, offset: int) -> int:
        match = _ENVIRONMENT_NAME.match(self.text, offset)
        if match is None:
            return offset
        name = match[1]
        if name not in VERBATIM_ENVIRONMENTS:
            return offset
        brace = self.text.index("{", offset)
        self._closes[brace] = match.end() - 1
        ending = f"\\end{{{name}}}"
        end = self.text.find(ending, match.end())
        if end >= 0:
            return end
        unclosed = (name, offset)
        self.unclosed.append(unclosed)
        return len(self.text)

    def _behind_inline(self, word: str, offset: int) -> int:
        r"""Return where \verb and its like end: at the next sign like their first."""
        options = _INLINE_OPTIONS[word].match(self.text, offset)
        if options is not None:
            offset = options.end()
        line_end = self.text.find("\n", offset)
        if line_end < 0:
            line_end = len(self.text)
        rest = self.text[offset:line_end]
        sign = rest[:1]
        close = sign
        if sign == "{":
            close = "}"
        end = self.text.find(close, offset + 1, line_end)
        if end < 0:
            return line_end
        return end + len(close)


class _OpenGroup:
    """A group that is open: where it begins, and the brackets that are open in it."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.brackets = list[int]()
