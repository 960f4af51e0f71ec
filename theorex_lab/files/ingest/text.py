"""Documents: Markdown, plain text, reStructuredText, HTML, PDF and notebooks, cut by
their headings, then by size.
"""

from __future__ import annotations

import io
import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.files.ingest.documents import FileReader
from theorex_lab.files.ingest.isolated import call_apart
from theorex_lab.memory.documents import Part
from theorex_lab.text.line import folded

_SECTION_CHARACTERS = (
    1_200  # a text of some 300 tokens, about what the sentence model reads
)
_MOST_PAGES = 5_000
_FRONT = re.compile(r"\A---\n.*?\n(?:---|\.\.\.)\n", re.DOTALL)
_LINK = re.compile(
    r"\]\(<?([^()\s<>]{1,300})>?[^()]{0,100}\)|`[^`<>]{1,200}<([^<>\s]{1,300})>`__?|\[\[([^\[\]|]{1,200})"
)
_HEADINGS = [f"h{level}" for level in range(1, 7)]
_LINED = (
    ".md",
    ".markdown",
    ".txt",
    ".text",
    ".rst",
)  # whose sections begin at a line of the file
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
    """A heading of a level from 1, or (level 0) what stands below it; line: where it
    begins, from 1.
    """

    level: int
    text: str
    line: int = 1


Blocks = Iterable[TextBlock | Sequence[object]]


def markdown_blocks(text: str) -> Iterator[TextBlock]:
    """The headings of a text in Markdown, and its source between them; nothing of it is
    lost.

    >>> [
    ...     block.text
    ...     for block in markdown_blocks("# One\\ntwo\\n```\\n# no heading\\n```")
    ...     if block.text
    ... ]
    ['One', 'two\\n```\\n# no heading\\n```']
    """
    from markdown_it import MarkdownIt

    front = _FRONT.match(text)
    shift = front[0].count("\n") if front else 0
    tokens = MarkdownIt("commonmark").parse(text[front.end() :] if front else text)
    opened = [
        index
        for index, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0
    ]
    heads = [
        (tokens[at].map or [0, 0], int(tokens[at].tag[1]), tokens[at + 1].content)
        for at in opened
    ]
    return _between(
        text,
        [
            (first + shift, last + shift, level, title)
            for (first, last), level, title in heads
        ],
    )


def _between(
    text: str, heads: Sequence[tuple[int, int, int, str]]
) -> Iterator[TextBlock]:
    """Headings, given by their first line from 0, the line after them, their level and
    title, and the source between them.
    """
    lines = text.split("\n")
    start = 0
    for first, last, level, title in heads:
        yield TextBlock(0, "\n".join(lines[start:first]), start + 1)
        yield TextBlock(level, title, first + 1)
        start = last
    yield TextBlock(0, "\n".join(lines[start:]), start + 1)


def _restructured(text: str) -> Iterator[TextBlock]:
    from docutils import nodes  # type: ignore[import-untyped]
    from docutils.core import publish_doctree  # type: ignore[import-untyped]

    closed = {
        "file_insertion_enabled": False,
        "raw_enabled": False,
        "_disable_config": True,
        "doctitle_xform": False,
    }
    tree = publish_doctree(
        text, settings_overrides={**closed, "report_level": 5, "halt_level": 6}
    )
    heads = list[tuple[int, int, int, str]]()
    lines = text.split("\n")
    for title in tree.findall(nodes.title):
        level = 0
        above = title.parent
        while isinstance(above, nodes.section):
            level = level + 1
            above = above.parent
        near = range((title.line or 1) - 2, (title.line or 1) + 2)
        underline = next((at for at in near if _is_rule(lines, at)), None)
        if level and underline is not None:
            heads.append((underline - 1, underline + 1, level, title.astext()))
    return _between(text, heads)


def _is_rule(lines: Sequence[str], at: int) -> bool:
    """Whether a line underlines the one before it."""
    rule = r"([!-/:-@\[-`{-~])\1+\s*"
    return 1 <= at < len(lines) and bool(
        re.fullmatch(rule, lines[at]) and lines[at - 1].strip()
    )


def _html(content: bytes) -> Iterator[TextBlock]:
    from bs4 import BeautifulSoup
    from bs4.element import NavigableString

    soup = BeautifulSoup(_checked(content), "html.parser")
    for unseen in soup.find_all(_UNSEEN):
        unseen.decompose()
    for end in soup.find_all("br"):
        end.replace_with("\n")
    texts = list[str]()
    heading = None
    last = None
    for string in soup.find_all(string=True):
        block = next(above for above in string.parents if above.name not in _INLINE)
        if type(string) is NavigableString and (
            block is last or string.strip()
        ):  # else a comment, a declaration
            if (above := string.find_parent(_HEADINGS)) is not heading:
                yield TextBlock(
                    int(heading.name[1]) if heading else 0, "".join(texts).strip()
                )
                texts = []
                heading = above
            texts.append(str(string) if block is last else f"\n{string.lstrip()}")
            last = block
    yield TextBlock(int(heading.name[1]) if heading else 0, "".join(texts).strip())


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
            if (contents := page.get_contents()) is not None:
                # raises where it unpacks to more than is allowed, which `extract_text`
                # passes over
                contents.get_data()
            yield TextBlock(1, f"page {number}", number)
            yield TextBlock(0, _clean(page.extract_text()), number)
    except PyPdfError as error:
        raise InvalidInput(f"it is no PDF that can be read: {error}") from error


def _notebook(text: str) -> Iterator[TextBlock]:
    """The cells of a notebook, without their outputs; a line is the number of a cell."""
    try:
        cells = json.loads(text)["cells"]
        sources = [
            (str(cell["cell_type"]), _clean("".join(cell["source"]))) for cell in cells
        ]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InvalidInput("it is no notebook of nbformat 4") from error
    for number, (kind, source) in enumerate(sources, start=1):
        if kind == "markdown":
            yield from (
                block._replace(line=number) for block in markdown_blocks(source)
            )
        elif kind == "code":
            yield TextBlock(0, f"```\n{source}\n```", number)


def parse_apart(suffix: str, content: bytes) -> list[TextBlock]:
    """The blocks of a form whose parser may be led astray; called in a process apart."""
    form: Callable[[], Iterator[TextBlock]] = {
        ".pdf": lambda: _pdf(content),
        ".rst": lambda: _restructured(_decoded(content)),
    }.get(suffix, lambda: _html(content))
    return list(form())


def _apart(suffix: str) -> Callable[[bytes], Blocks]:
    return lambda content: call_apart(parse_apart, suffix, content)


def _checked(content: bytes) -> bytes:
    if b"\0" in content:
        raise InvalidInput(
            "it holds bytes that no text has; is it another kind of file?"
        )
    return content


def _clean(text: str) -> str:
    """The text with one kind of line break, and with nothing that cannot be kept."""
    text = re.sub("[\v\f\x1c-\x1e\x85\u2028\u2029]", " ", re.sub("\r\n?", "\n", text))
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _decoded(content: bytes) -> str:
    """The text of a file. Raises InvalidInput where it is none."""
    try:
        return _clean(_checked(content).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"it is no text in UTF-8 (byte {error.start:,}); convert it"
        ) from error


FORMS: dict[str, Callable[[bytes], Blocks]] = {
    **dict.fromkeys(
        (".md", ".markdown"), lambda content: markdown_blocks(_decoded(content))
    ),
    **dict.fromkeys(
        (".txt", ".text"), lambda content: [TextBlock(0, _decoded(content))]
    ),
    ".ipynb": lambda content: _notebook(_decoded(content)),
    ".rst": _apart(".rst"),
    ".pdf": _apart(".pdf"),
    **dict.fromkeys((".html", ".htm"), _apart(".html")),
}


def read_document(
    path: Path, name: str, content: bytes
) -> tuple[list[Part], list[str]]:
    """The sections of a document; see `documents.FileReader`."""
    form = FORMS.get(path.suffix.lower())
    if form is None:
        raise InvalidInput(f"its kind is not known; allowed are {', '.join(FORMS)}")
    parts = [*sections(form(content), name)]
    return parts, [] if parts else ["there is no text in it"]


def sections(blocks: Blocks, file: str) -> Iterator[Part]:
    """The sections that blocks make, each named by the headings above it; a long one is
    cut between paragraphs or lines.

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
    headings: list[tuple[int, str]] = []
    used: dict[str, int] = {}
    for level, text, line in (TextBlock(*block) for block in blocks):
        if level:
            headings = [
                *((deep, title) for deep, title in headings if deep < level),
                (level, folded(text)),
            ]
            continue
        name = " › ".join(title for _, title in headings) or posixpath.basename(file)
        for piece, shift in _cut(text):
            used[name] = number = used.get(name, 0) + 1
            named = name if number == 1 else f"{name} ({number})"
            yield Part(
                "section",
                named,
                piece,
                line + shift * file.lower().endswith(_LINED),
                _links(piece, file),
            )


def _cut(text: str) -> Iterator[tuple[str, int]]:
    """A text in pieces of some size, none of them blank, each with the number of lines
    before it.
    """
    start = 0
    size = len(text)
    while start < size:
        end = min(start + _SECTION_CHARACTERS, size)
        if end < size:
            least = start + _SECTION_CHARACTERS // 2
            ends = (text.rfind(mark, least, end) for mark in ("\n\n", "\n", ". ", " "))
            end = next((at + 1 for at in ends if at >= 0), end)
        if piece := text[start:end].strip():
            yield (
                piece,
                text.count(
                    "\n",
                    0,
                    start + len(text[start:end]) - len(text[start:end].lstrip()),
                ),
            )
        start = end


def _links(text: str, file: str) -> tuple[tuple[str, str], ...]:
    """What a section cites: files from the root as the file's own name is, headings
    behind `#`, addresses as they are.
    """
    targets = (next(filter(None, groups)) for groups in _LINK.findall(text))
    return tuple(
        ("cites", _resolved(target, file)) for target in dict.fromkeys(targets)
    )


def _resolved(target: str, file: str) -> str:
    if re.match(r"[a-z][a-z0-9+.-]*:|/", target, re.IGNORECASE):
        return target
    path, sign, heading = target.partition("#")
    return (
        (
            posixpath.normpath(posixpath.join(posixpath.dirname(file), path))
            if path
            else file
        )
        + sign
        + heading
    )


DOCUMENTS = FileReader("text 2", lambda: FORMS, read_document, "ingest")
