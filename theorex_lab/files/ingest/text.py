"""Documents, cut by their headings, then by size.

They are Markdown, plain text, reStructuredText, AsciiDoc, Org, HTML, PDF and notebooks.
Every character of a document is in a part, or is counted among what was left out.
"""

from __future__ import annotations

import io
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.files.ingest.decoding import cleaned_text, decode
from theorex_lab.files.ingest.file_reader import Account, FileReader, Problem
from theorex_lab.files.ingest.notebooks import (
    NotebookCell,
    check_readable,
    notebook_cells,
)
from theorex_lab.files.isolated.readers import reads_apart
from theorex_lab.memory.document_part import Part
from theorex_lab.text.line import folded, one_line

# A text of some 300 tokens, about what the sentence model reads.
_SECTION_CHARACTERS = 1_200
_MOST_PAGES = 5_000
# A longer heading is a paragraph above a line; it is shown as one, and named shorter.
_LONGEST_TITLE = 200
# The heads of files in YAML, in TOML and after a first one.
_YAML_HEAD = re.compile(
    r"\A\s*---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
_TOML_HEAD = re.compile(
    r"\A\s*\+\+\+[ \t]*\n.*?^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
_MOST_HEADS = 3
_YAML_KEY = re.compile(r"[\w$\"'.@/-][^\n:]*:(?:\s|\Z)")
_YAML_LINE = re.compile(r"\s|#|- |[}\]]|\Z")
_ASCIIDOC_HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*)")
_ORG_HEADING = re.compile(r"(\*{1,20})[ \t]+(\S.*)")
_LINK = re.compile(
    r"\]\(<?([^()\s<>]{1,300})>?[^()]{0,100}\)|`[^`<>]{1,200}<([^<>\s]{1,300})>`__?|\[\[([^\[\]|]{1,200})"
)
_HEADINGS = [f"h{level}" for level in range(1, 7)]
# Endings of files whose sections do not begin at a line of the file.
_WITHOUT_LINES = (
    ".htm",
    ".html",
    ".ipynb",
    ".pdf",
    ".xhtml",
)
_INLINE = (
    "a",
    "abbr",
    "b",
    "bdi",
    "bdo",
    "big",
    "cite",
    "code",
    "data",
    "del",
    "dfn",
    "em",
    "font",
    "i",
    "ins",
    "kbd",
    "label",
    "mark",
    "q",
    "rb",
    "rp",
    "rt",
    "ruby",
    "s",
    "samp",
    "small",
    "span",
    "strong",
    "sub",
    "sup",
    "time",
    "tt",
    "u",
    "var",
    "wbr",
)
# What no reader of a page sees, and how a report names it.
_UNSEEN = {
    "script": "scripts",
    "style": "styles",
    "template": "templates",
    "noscript": "texts for browsers without scripts",
}
# Strings of a page that are marks, no texts.
_MARKUP = (
    "Declaration",
    "Doctype",
    "ProcessingInstruction",
    "XMLProcessingInstruction",
)
HEADING_MARKS = "marks of headings"
_UNSEEN_CHARACTERS = "signs that nobody sees"


class TextBlock(NamedTuple):
    """A heading, or what stands below it.

    Attributes:
        level: The level of a heading, from 1; 0 for text below a heading.
        text: Its text.
        line: Where it begins, from 1.
    """

    level: int
    text: str
    line: int = 1


Blocks = Iterable[TextBlock | Sequence[object]]


@dataclass
class ParsedDocument:
    """What a document holds, and what of it is in no block.

    Attributes:
        blocks: The headings and texts, in order.
        characters: How many characters it has that are no blanks.
        added: How many of those of the blocks are not the document's own.
        left_out: How many of its characters are in no block, by what they are.
        notes: What was guessed of it, and what could not be read, in words.
    """

    blocks: list[TextBlock] = field(default_factory=list)
    characters: int = 0
    added: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def decode(self, content: bytes, declared: str = "") -> str:
        """Return the text of a file, and count it; see `decoding.decode`."""
        text, notes, n_unseen = decode(content, declared)
        self.notes += notes
        self.characters += n_characters(text)
        self.leave_out(_UNSEEN_CHARACTERS, n_unseen)
        return text

    def count_texts_alone(self) -> None:
        """Count none of what was decoded: the texts in it are counted one by one."""
        self.characters = sum(self.left_out.values())

    def clean(self, text: str) -> str:
        """Return a text of the document as it can be kept, and count it."""
        text, notes, n_unseen = cleaned_text(text)
        self.notes += notes
        self.characters += n_characters(text)
        self.leave_out(_UNSEEN_CHARACTERS, n_unseen)
        return text

    def leave_out(self, what: str, count: int) -> None:
        """Count characters of the document that were not counted, and are in no block."""
        self.characters += count
        self._count(what, count)

    def add_lines(self, text: str, headings: Iterable[_Heading]) -> None:
        """Add a text whose headings are known; their marks are left out."""
        blocks, n_marks = _between(text, headings)
        self.blocks += blocks
        self._count(HEADING_MARKS, n_marks)

    def add_text(self, text: str, line: int, *, level: int = 0, added: int = 0) -> None:
        """Add a block; `added` of its characters are not the document's own."""
        self.blocks.append(TextBlock(level, text, line))
        self.added += added

    def account(self) -> Account:
        """Return how many characters the document has, and which are in no block."""
        n_in_blocks = sum(n_characters(str(block[1])) for block in self.blocks)
        n_left_out = sum(self.left_out.values())
        n_others = self.characters - n_left_out - (n_in_blocks - self.added)
        self._count("others", n_others)
        return Account(self.characters, dict(self.left_out))

    def _count(self, what: str, count: int) -> None:
        if count > 0:
            self.left_out[what] = self.left_out.get(what, 0) + count


def n_characters(text: str) -> int:
    """Return how many characters of a text are no blanks."""
    return len("".join(text.split()))


class _Heading(NamedTuple):
    """A heading: its first line from 0, the line after it, its level and title."""

    first: int
    end: int
    level: int
    title: str


def markdown_blocks(text: str) -> list[TextBlock]:
    r"""Return the headings of a text in Markdown, and its source between them.

    Nothing of it is lost.

    >>> [
    ...     block.text
    ...     for block in markdown_blocks("# One\ntwo\n```\n# no heading\n```")
    ...     if block.text
    ... ]
    ['One', 'two\n```\n# no heading\n```']
    """
    blocks, _ = _between(text, _markdown_headings(text))
    return blocks


def _markdown_headings(text: str) -> Iterator[_Heading]:
    from markdown_it import MarkdownIt

    head_end = _head_end(text)
    shift = text.count("\n", 0, head_end)
    # What stands in a line is not parsed: nothing is made of it, and the time for it
    # would grow with the square of its length.
    parser = MarkdownIt("commonmark").disable("inline")
    tokens = parser.parse(text[head_end:])
    for index, token in enumerate(tokens):
        if token.type != "heading_open" or token.level != 0:
            continue
        first, end = token.map or [0, 0]
        level = int(token.tag[1])
        title = tokens[index + 1].content
        yield _Heading(first + shift, end + shift, level, title)


def _head_end(text: str) -> int:
    """Return where the head of a file ends, its front matter: 0 where it has none.

    A second head may follow the first one, as where a program put its own above it.
    """
    end = 0
    for _ in range(_MOST_HEADS):
        rest = text[end:]
        match = _TOML_HEAD.match(rest) or _YAML_HEAD.match(rest)
        if match is None or not _is_head(match):
            break
        end += match.end()
    return end


def _is_head(match: re.Match[str]) -> bool:
    """Return whether what stands between two lines of marks is the head of a file."""
    if not match.re.groups:
        return True
    lines = match[1].strip().split("\n")
    if lines[0] and not _YAML_KEY.match(lines[0]):
        return False
    return all(_YAML_KEY.match(line) or _YAML_LINE.match(line) for line in lines)


def _between(text: str, headings: Iterable[_Heading]) -> tuple[list[TextBlock], int]:
    """Return the headings and the source between them, and count their marks."""
    lines = text.split("\n")
    blocks = []
    n_marks = 0
    start = 0
    for heading in headings:
        if heading.first < start:  # a parser that names a line twice
            continue
        above = "\n".join(lines[start : heading.first])
        blocks.append(TextBlock(0, above, start + 1))
        blocks.append(TextBlock(heading.level, heading.title, heading.first + 1))
        heading_source = "\n".join(lines[heading.first : heading.end])
        n_marks += n_characters(heading_source) - n_characters(heading.title)
        start = heading.end
    rest = "\n".join(lines[start:])
    blocks.append(TextBlock(0, rest, start + 1))
    return blocks, n_marks


def _line_headings(text: str, pattern: re.Pattern[str]) -> Iterator[_Heading]:
    """Yield the lines that are headings, which begin with a mark for each level."""
    for number, line in enumerate(text.split("\n")):
        match = pattern.fullmatch(line)
        if match:
            level = len(match[1])
            yield _Heading(number, number + 1, level, match[2].strip())


def _restructured_headings(text: str) -> Iterator[_Heading]:
    from docutils import nodes  # type: ignore[import-untyped]
    from docutils.core import publish_doctree  # type: ignore[import-untyped]

    settings = {
        "file_insertion_enabled": False,
        "raw_enabled": False,
        "_disable_config": True,
        "doctitle_xform": False,
        "report_level": 5,
        "halt_level": 6,
    }
    tree = publish_doctree(text, settings_overrides=settings)
    lines = text.split("\n")
    for title in tree.findall(nodes.title):
        level = 0
        above = title.parent
        while isinstance(above, nodes.section):
            level = level + 1
            above = above.parent
        underline = _underline_near(lines, title.line or 1)
        if level and underline is not None:
            first = underline - 1
            if first and lines[first - 1].rstrip() == lines[underline].rstrip():
                first -= 1
            written_title = lines[underline - 1].strip()
            yield _Heading(first, underline + 1, level, written_title)


def _underline_near(lines: Sequence[str], line: int) -> int | None:
    """Return the index of the first underline next to a line, which counts from 1."""
    for index in range(line - 2, line + 2):
        if _is_rule(lines, index):
            return index
    return None


def _is_rule(lines: Sequence[str], index: int) -> bool:
    """Return whether a line underlines the one before it."""
    if not 1 <= index < len(lines):
        return False
    rule = r"([!-/:-@\[-`{-~])\1*\s*"
    if not re.fullmatch(rule, lines[index]):
        return False
    return bool(lines[index - 1].strip())


def _html(content: bytes) -> ParsedDocument:
    from bs4 import BeautifulSoup
    from bs4.dammit import EncodingDetector

    document = ParsedDocument()
    declared = EncodingDetector.find_declared_encoding(content, is_html=True)
    source = document.decode(content, declared or "")
    document.count_texts_alone()
    soup = BeautifulSoup(source, "html.parser")
    _take_unseen(soup, document)
    _take_title(soup, document)
    texts = list[str]()
    heading = None
    last = None
    for string, block in _visible_strings(soup):
        document.characters += n_characters(string)
        if block is not last and not string.strip():
            continue
        heading_above = string.find_parent(_HEADINGS)
        if heading_above is not heading:
            document.blocks.append(_text_block(heading, texts))
            texts = []
            heading = heading_above
        texts.append(str(string) if block is last else f"\n{string.lstrip()}")
        last = block
    document.blocks.append(_text_block(heading, texts))
    return document


def _take_title(soup: Any, document: ParsedDocument) -> None:
    """Add what a page says of itself: its title and description."""
    about = list[str]()
    for title in soup.find_all("title"):
        if title.find_parent("svg") is None:
            about.append("".join(title.find_all(string=True)))
            title.decompose()
    for meta in soup.find_all("meta", attrs={"name": "description", "content": True}):
        about.append(meta["content"])
    text = "\n".join(about).strip()
    if text:
        document.characters += n_characters(text)
        document.add_text(text, 1)


def _take_unseen(soup: Any, document: ParsedDocument) -> None:
    """Take out what no reader of a page sees, and count it."""
    for name, what in _UNSEEN.items():
        for unseen in soup.find_all(name):
            document.leave_out(
                what, n_characters("".join(unseen.find_all(string=True)))
            )
            unseen.decompose()
    for string in soup.find_all(string=True):
        string_type = type(string).__name__
        if string_type == "Comment":
            document.leave_out("comments", n_characters(string))
        if string_type == "Comment" or string_type in _MARKUP:
            string.extract()


def _visible_strings(soup: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the texts of a page, each with the nearest element that makes a block."""
    for end in soup.find_all("br"):
        end.replace_with("\n")
    for image in soup.find_all("img", alt=True):
        image.replace_with(f" {image['alt']} ")
    for string in soup.find_all(string=True):
        block = next(above for above in string.parents if above.name not in _INLINE)
        yield string, block


def _text_block(heading: Any, texts: list[str]) -> TextBlock:
    """Return the texts as a block of the level of their heading, 0 without one."""
    level = int(heading.name[1]) if heading else 0
    return TextBlock(level, "".join(texts).strip())


def _pdf(content: bytes) -> ParsedDocument:
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    document = ParsedDocument()
    empty_pages = list[int]()
    try:
        reader = PdfReader(io.BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            raise InvalidInput("it is locked by a password")
        if len(reader.pages) > _MOST_PAGES:
            raise InvalidInput(
                f"it has {len(reader.pages)} pages; allowed are {_MOST_PAGES}"
            )
        for number, page in enumerate(reader.pages, start=1):
            contents = page.get_contents()
            if contents is not None:
                # raises where it unpacks to more than is allowed, which `extract_text`
                # passes over
                contents.get_data()
            text = document.clean(page.extract_text())
            if not text.strip():
                empty_pages.append(number)
                continue
            title = f"page {number}"
            document.add_text(title, number, level=1, added=n_characters(title))
            document.add_text(text, number)
    except PyPdfError as error:
        raise InvalidInput(f"it is no PDF that can be read: {error}") from error
    if empty_pages and document.blocks:
        listed = _listed(empty_pages)
        document.notes.append(f"there is no text on {listed}; are they pictures?")
    return document


def _listed(numbers: Sequence[int]) -> str:
    """Return the numbers of pages in words, in ranges.

    >>> _listed([2, 4, 5, 6])
    'pages 2, 4-6'
    """
    ranges = list[list[int]]()
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    texts = []
    for first, last in ranges:
        texts.append(str(first) if first == last else f"{first}-{last}")
    noun = "page" if len(numbers) == 1 else "pages"
    return f"{noun} {', '.join(texts)}"


def _notebook(content: bytes) -> ParsedDocument:
    """Return the cells of a notebook, without their outputs.

    A line is the number of a cell.
    """
    document = ParsedDocument()
    source = document.decode(content)
    document.count_texts_alone()
    cells = list(notebook_cells(source))
    check_readable(cells)
    for cell in cells:
        document.leave_out("outputs of cells", cell.outputs)
        document.leave_out("attachments of cells", cell.attachments)
        if cell.problem:
            is_lost = not cell.source
            verb = " was left out" if is_lost else ""
            document.notes.append(f"cell {cell.number}{verb}: {cell.problem}")
        _add_cell(document, cell)
    return document


def _add_cell(document: ParsedDocument, cell: NotebookCell) -> None:
    """Add the source of a cell."""
    text = document.clean(cell.source)
    if cell.kind == "markdown":
        first_block = len(document.blocks)
        document.add_lines(text, _markdown_headings(text))
        for index in range(first_block, len(document.blocks)):
            block = document.blocks[index]
            document.blocks[index] = block._replace(line=cell.number)
    elif cell.kind == "code" and text.strip():
        fences = "```\n", "\n```"
        n_added = n_characters("".join(fences))
        document.add_text(text.join(fences), cell.number, added=n_added)
    else:
        document.add_text(text, cell.number, level=cell.level)


def _restructured(content: bytes) -> ParsedDocument:
    document = ParsedDocument()
    text = document.decode(content)
    document.add_lines(text, _restructured_headings(text))
    return document


def _markdown(content: bytes) -> ParsedDocument:
    document = ParsedDocument()
    text = document.decode(content)
    document.add_lines(text, _markdown_headings(text))
    return document


def _by_lines(pattern: re.Pattern[str]) -> Callable[[bytes], ParsedDocument]:
    def parse(content: bytes) -> ParsedDocument:
        document = ParsedDocument()
        text = document.decode(content)
        document.add_lines(text, _line_headings(text, pattern))
        return document

    return parse


def _plain(content: bytes) -> ParsedDocument:
    document = ParsedDocument()
    document.add_text(document.decode(content), 1)
    return document


FORMS: dict[str, Callable[[bytes], ParsedDocument]] = {
    ".md": _markdown,
    ".markdown": _markdown,
    ".mdown": _markdown,
    ".mkd": _markdown,
    ".mdx": _markdown,
    ".txt": _plain,
    ".text": _plain,
    ".ipynb": _notebook,
    ".rst": _restructured,
    ".rest": _restructured,
    ".adoc": _by_lines(_ASCIIDOC_HEADING),
    ".asciidoc": _by_lines(_ASCIIDOC_HEADING),
    ".org": _by_lines(_ORG_HEADING),
    ".pdf": _pdf,
    ".html": _html,
    ".htm": _html,
    ".xhtml": _html,
}


@reads_apart()
def read_document(
    path: Path | str,
    name: str,
    content: bytes,
) -> tuple[list[Part], list[Problem]]:
    """Return the sections of a document; see `files.ingest.file_reader.FileReader`.

    Args:
        path: The file; its ending says its form.
        name: Its name in the memory.
        content: Its content.

    Returns:
        The sections, and what could not be read or was guessed. The last of these is
        the account of the document's characters.

    Raises:
        InvalidInput: For a broken file, or another form.
    """
    form = FORMS.get(Path(path).suffix.lower())
    if form is None:
        raise InvalidInput(f"its kind is not known; allowed are {', '.join(FORMS)}")
    document = form(content)
    parts = list(sections(document.blocks, name))
    problems: list[Problem] = [*document.notes]
    if not parts:
        problems.append("there is no text in it")
    problems.append(document.account())
    return parts, problems


def sections(blocks: Blocks, file: str) -> Iterator[Part]:
    """Yield the sections that blocks make, each named by the headings above it.

    A long one is cut between paragraphs or lines.

    Args:
        blocks: The headings and texts in order, as `TextBlock` or sequences like it.
        file: The name of their file.

    >>> [
    ...     part.name
    ...     for part in sections(
    ...         [
    ...             TextBlock(1, "Cache"),
    ...             TextBlock(0, "It is warm."),
    ...             TextBlock(2, "Faults"),
    ...             TextBlock(0, "None."),
    ...         ],
    ...         "a.md",
    ...     )
    ... ]
    ['Cache', 'Cache › Faults']
    """
    names = _SectionNames(file)
    has_lines = not file.lower().endswith(_WITHOUT_LINES)
    # A heading below which nothing was met so far.
    bare: TextBlock | None = None
    for block in blocks:
        level, text, line = TextBlock(*block)
        if level:
            if bare is not None:
                yield from _parts_of(bare, names, has_lines=has_lines)
            names.enter(level, text)
            bare = TextBlock(0, text, line)
            if len(text) > _LONGEST_TITLE:
                yield from _parts_of(bare, names, has_lines=has_lines)
                bare = None
        elif text.strip():
            bare = None
            yield from _parts_of(TextBlock(0, text, line), names, has_lines=has_lines)
    if bare is not None:
        yield from _parts_of(bare, names, has_lines=has_lines)


class _SectionNames:
    """The names of sections: the headings above each, with a number where used."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._headings: list[tuple[int, str]] = []
        self._used = Counter[str]()

    def enter(self, level: int, title: str) -> None:
        """Go on below a heading."""
        above = [heading for heading in self._headings if heading[0] < level]
        short_title = folded(title)
        if len(title) > _LONGEST_TITLE:
            short_title = one_line(title, _LONGEST_TITLE)
        self._headings = [*above, (level, short_title)]

    def next_name(self) -> str:
        """Return the name of the next section here."""
        titles = [title for _, title in self._headings if title]
        # What stands below no heading is named by its file.
        name = " › ".join(titles) or posixpath.basename(self._file)
        self._used[name] += 1
        number = self._used[name]
        return name if number == 1 else f"{name} ({number})"

    @property
    def file(self) -> str:
        """The name of the file."""
        return self._file


def _parts_of(
    block: TextBlock,
    names: _SectionNames,
    *,
    has_lines: bool,
) -> Iterator[Part]:
    """Yield a text as parts of some size."""
    for piece, shift in _cut(block.text):
        name = names.next_name()
        first_line = block.line + shift if has_lines else block.line
        links = _links(piece, names.file)
        yield Part("section", name, piece, first_line, links)


def _cut(text: str) -> Iterator[tuple[str, int]]:
    """Yield a text in pieces of some size, none of them blank.

    Each comes with the number of lines before it.
    """
    start = 0
    size = len(text)
    n_lines = 0
    counted = 0
    while start < size:
        end = min(start + _SECTION_CHARACTERS, size)
        if end < size:
            end = _break_before(text, start, end)
        piece = text[start:end].lstrip()
        if piece:
            first = end - len(piece)
            n_lines += text.count("\n", counted, first)
            counted = first
            yield piece.rstrip(), n_lines
        start = end


def _break_before(
    text: str,
    start: int,
    end: int,
) -> int:
    """Return where a piece ends, between paragraphs, lines, sentences or words."""
    least = start + _SECTION_CHARACTERS // 2
    for mark in ("\n\n", "\n", ". ", " "):
        index = text.rfind(mark, least, end)
        while index > 0 and mark == "\n" and text[index - 1] == "-":
            # A word goes on in the next line.
            index = text.rfind(mark, least, index)
        if index >= 0:
            return index + 1
    return end


def _links(text: str, file: str) -> tuple[tuple[str, str], ...]:
    """Return what a section cites.

    Files are named from the root as the file's own name is, headings behind `#`;
    addresses stay as they are.
    """
    targets = list[str]()
    for groups in _LINK.findall(text):
        targets.append(next(filter(None, groups)))
    distinct = dict.fromkeys(targets)
    return tuple(("cites", _resolved(target, file)) for target in distinct)


def _resolved(target: str, file: str) -> str:
    if re.match(r"[a-z][a-z0-9+.-]*:|/", target, re.IGNORECASE):
        return target
    path, sign, heading = target.partition("#")
    cited_file = file
    if path:
        folder = posixpath.dirname(file)
        cited_file = posixpath.normpath(posixpath.join(folder, path))
    return cited_file + sign + heading


DOCUMENTS = FileReader("text 3", lambda: FORMS, read_document, "ingest")
