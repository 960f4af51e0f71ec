"""Documents, cut by their headings, then by size.

They are Markdown, plain text, reStructuredText, HTML, PDF and notebooks.
"""

from __future__ import annotations

import io
import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.files.ingest.file_reader import FileReader
from theorex_lab.memory.document_part import Part
from theorex_lab.text.line import folded

# A text of some 300 tokens, about what the sentence model reads.
_SECTION_CHARACTERS = 1_200
_MOST_PAGES = 5_000
_FRONT = re.compile(r"\A---\n.*?\n(?:---|\.\.\.)\n", re.DOTALL)
_LINK = re.compile(
    r"\]\(<?([^()\s<>]{1,300})>?[^()]{0,100}\)|`[^`<>]{1,200}<([^<>\s]{1,300})>`__?|\[\[([^\[\]|]{1,200})"
)
_HEADINGS = [f"h{level}" for level in range(1, 7)]
# Endings of files whose sections begin at a line of the file.
_LINED = (
    ".md",
    ".markdown",
    ".txt",
    ".text",
    ".rst",
)
_INLINE = (
    "a",
    "abbr",
    "b",
    "code",
    "em",
    "i",
    "kbd",
    "q",
    "s",
    "small",
    "span",
    "strong",
    "sub",
    "sup",
    "u",
)
_UNSEEN = ("script", "style", "template", "noscript", "head")


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


class _Heading(NamedTuple):
    """A heading: its first line from 0, the line after it, its level and title."""

    first: int
    end: int
    level: int
    title: str


def markdown_blocks(text: str) -> Iterator[TextBlock]:
    r"""Return the headings of a text in Markdown, and its source between them.

    Nothing of it is lost.

    >>> [
    ...     block.text
    ...     for block in markdown_blocks("# One\ntwo\n```\n# no heading\n```")
    ...     if block.text
    ... ]
    ['One', 'two\n```\n# no heading\n```']
    """
    from markdown_it import MarkdownIt

    front = _FRONT.match(text)
    body = text[front.end() :] if front else text
    shift = front[0].count("\n") if front else 0
    # What stands in a line is not parsed: nothing is made of it, and the time for it
    # would grow with the square of its length.
    tokens = MarkdownIt("commonmark").disable("inline").parse(body)
    headings = list[_Heading]()
    for index, token in enumerate(tokens):
        if token.type != "heading_open" or token.level != 0:
            continue
        first, end = token.map or [0, 0]
        level = int(token.tag[1])
        title = tokens[index + 1].content
        headings.append(_Heading(first + shift, end + shift, level, title))
    return _between(text, headings)


def _between(text: str, headings: Sequence[_Heading]) -> Iterator[TextBlock]:
    """Yield the headings, and the source between them."""
    lines = text.split("\n")
    start = 0
    for heading in headings:
        above = "\n".join(lines[start : heading.first])
        yield TextBlock(0, above, start + 1)
        yield TextBlock(heading.level, heading.title, heading.first + 1)
        start = heading.end
    rest = "\n".join(lines[start:])
    yield TextBlock(0, rest, start + 1)


def _restructured(text: str) -> Iterator[TextBlock]:
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
    headings = list[_Heading]()
    lines = text.split("\n")
    for title in tree.findall(nodes.title):
        level = 0
        above = title.parent
        while isinstance(above, nodes.section):
            level = level + 1
            above = above.parent
        underline = _underline_near(lines, title.line or 1)
        if level and underline is not None:
            heading = _Heading(underline - 1, underline + 1, level, title.astext())
            headings.append(heading)
    return _between(text, headings)


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
    rule = r"([!-/:-@\[-`{-~])\1+\s*"
    if not re.fullmatch(rule, lines[index]):
        return False
    return bool(lines[index - 1].strip())


def _html(content: bytes) -> Iterator[TextBlock]:
    texts = list[str]()
    heading = None
    last = None
    for string, block in _visible_strings(content):
        if block is not last and not string.strip():
            continue
        heading_above = string.find_parent(_HEADINGS)
        if heading_above is not heading:
            yield _text_block(heading, texts)
            texts = []
            heading = heading_above
        texts.append(str(string) if block is last else f"\n{string.lstrip()}")
        last = block
    yield _text_block(heading, texts)


def _visible_strings(content: bytes) -> Iterator[tuple[Any, Any]]:
    """Yield the texts of a page, each with the nearest element that makes a block."""
    from bs4 import BeautifulSoup
    from bs4.element import NavigableString

    soup = BeautifulSoup(_checked(content), "html.parser")
    for unseen in soup.find_all(_UNSEEN):
        unseen.decompose()
    for end in soup.find_all("br"):
        end.replace_with("\n")
    for string in soup.find_all(string=True):
        if type(string) is not NavigableString:  # a comment, a declaration
            continue
        block = next(above for above in string.parents if above.name not in _INLINE)
        yield string, block


def _text_block(heading: Any, texts: list[str]) -> TextBlock:
    """Return the texts as a block of the level of their heading, 0 without one."""
    level = int(heading.name[1]) if heading else 0
    return TextBlock(level, "".join(texts).strip())


def _pdf(content: bytes) -> Iterator[TextBlock]:
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

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
            yield TextBlock(1, f"page {number}", number)
            yield TextBlock(0, _clean(page.extract_text()), number)
    except PyPdfError as error:
        raise InvalidInput(f"it is no PDF that can be read: {error}") from error


def _notebook(text: str) -> Iterator[TextBlock]:
    """Yield the cells of a notebook, without their outputs.

    A line is the number of a cell.
    """
    try:
        cells = json.loads(text)["cells"]
        sources = [_cell_source(cell) for cell in cells]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InvalidInput("it is no notebook of nbformat 4") from error
    for number, (kind, source) in enumerate(sources, start=1):
        if kind == "markdown":
            for block in markdown_blocks(source):
                yield block._replace(line=number)
        elif kind == "code":
            yield TextBlock(0, f"```\n{source}\n```", number)


def _cell_source(cell: Any) -> tuple[str, str]:
    """Return the kind of a cell, and its source."""
    kind = str(cell["cell_type"])
    source = "".join(cell["source"])
    return kind, _clean(source)


def _checked(content: bytes) -> bytes:
    if b"\0" in content:
        raise InvalidInput(
            "it holds bytes that no text has; is it another kind of file?"
        )
    return content


def _clean(text: str) -> str:
    """Return the text with one kind of line break.

    Nothing that cannot be kept is in it.
    """
    text = re.sub("\r\n?", "\n", text)
    text = re.sub("[\v\f\x1c-\x1e\x85\u2028\u2029]", " ", text)
    text = text.replace("\0", "\ufffd")
    return text.encode("utf-8", "replace").decode()


def _decoded(content: bytes) -> str:
    """Return the text of a file.

    Raises:
        InvalidInput: Where it is none.
    """
    try:
        return _clean(_checked(content).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"it is no text in UTF-8 (byte {error.start:,}); convert it"
        ) from error


def _markdown_form(content: bytes) -> Blocks:
    return markdown_blocks(_decoded(content))


def _text_form(content: bytes) -> Blocks:
    return [TextBlock(0, _decoded(content))]


def _notebook_form(content: bytes) -> Blocks:
    return _notebook(_decoded(content))


def _restructured_form(content: bytes) -> Blocks:
    return _restructured(_decoded(content))


FORMS: dict[str, Callable[[bytes], Blocks]] = {
    ".md": _markdown_form,
    ".markdown": _markdown_form,
    ".txt": _text_form,
    ".text": _text_form,
    ".ipynb": _notebook_form,
    ".rst": _restructured_form,
    ".pdf": _pdf,
    ".html": _html,
    ".htm": _html,
}


def read_document(
    path: Path | str,
    name: str,
    content: bytes,
) -> tuple[list[Part], list[str]]:
    """Return the sections of a document; see `files.ingest.file_reader.FileReader`.

    Args:
        path: The file; its ending says its form.
        name: Its name in the memory.
        content: Its content.

    Returns:
        The sections, and what could not be read.

    Raises:
        InvalidInput: For a broken file, or another form.
    """
    form = FORMS.get(Path(path).suffix.lower())
    if form is None:
        raise InvalidInput(f"its kind is not known; allowed are {', '.join(FORMS)}")
    parts = list(sections(form(content), name))
    problems = [] if parts else ["there is no text in it"]
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
    has_lines = file.lower().endswith(_LINED)
    headings: list[tuple[int, str]] = []
    used: dict[str, int] = {}
    for block in blocks:
        level, text, line = TextBlock(*block)
        if level:
            headings = [heading for heading in headings if heading[0] < level]
            headings.append((level, folded(text)))
            continue
        # What stands below no heading is named by its file.
        titles = [title for _, title in headings]
        name = " › ".join(titles) or posixpath.basename(file)
        for piece, shift in _cut(text):
            number = used.get(name, 0) + 1
            used[name] = number
            named = name if number == 1 else f"{name} ({number})"
            first_line = line + shift if has_lines else line
            yield Part(
                "section",
                named,
                piece,
                first_line,
                _links(piece, file),
            )


def _cut(text: str) -> Iterator[tuple[str, int]]:
    """Yield a text in pieces of some size, none of them blank.

    Each comes with the number of lines before it.
    """
    start = 0
    size = len(text)
    counted_to = 0
    n_lines = 0
    while start < size:
        end = min(start + _SECTION_CHARACTERS, size)
        if end < size:
            end = _break_before(text, start, end)
        piece = text[start:end].lstrip()
        if piece:
            first = end - len(piece)
            n_lines += text.count("\n", counted_to, first)
            counted_to = first
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


DOCUMENTS = FileReader("text 2", lambda: FORMS, read_document, "ingest")
