"""The user's own words in a prompt: what an agent's program put beside them is cut, and nothing else.

A program hands texts to the model in elements of known names. Such an element is cut

- where it is balanced and starts a line, or follows another one on its line; elements of its own name in it are part
  of it, and one that closes itself is whole;
- where it fills a block, from the first sign to the last: a file in a reminder may hold the reminder's end;
- where it begins a block and is never closed, up to the block's end, since the program's text was cut there; a
  tag with a blank behind it is a word of a sentence.

An element of an editor also stands behind the words, at the end of their line. A tag elsewhere in a line, in fenced code,
in a quoted line, or without its other half is the user's, and so is all around it.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from theorex_lab.text.sections import read_sections

_SECTIONS = read_sections(__file__, "prompts.txt")
_NAMES = _SECTIONS["names"].replace("\n", "")
_TAG = re.compile(rf"(?i)<(/?)({_NAMES})(?:(?=[\s/>])([^<>]{{0,2000}}))>")
_EDITORS = "ide_"
_INDENT_CHARACTERS = 200
_IN_SENTENCE = tuple(" \t.,:;?!'\"`)")  # what follows a tag that is a word
_FENCE = re.compile(r"(?m)^[ \t]{0,3}(`{3,}(?=[^`\n]*$)|~{3,})")
_PASTED = re.compile(r"\[Pasted text #\d+(?: \+\d+ lines)?\]")
_BETWEEN = re.compile(rf"(?:[ \t]|{_PASTED.pattern})*")
_BLANK = re.compile(r"[ \t]*")
_REQUEST = re.compile(r"(?m)^## My request for Codex:")
_WRITTEN = re.compile("|".join(f"(?:{line})" for line in _SECTIONS["written"].split("\n")))


class _Element(NamedTuple):
    """An element of a program in a text: where it starts and ends, and its name."""

    start: int
    end: int
    name: str


class _Tag(NamedTuple):
    """A tag of a program's element: where it stands, and what it does."""

    start: int
    end: int
    name: str
    closes: bool
    is_whole: bool
    starts_line: bool


def own_words(blocks: Sequence[str]) -> str:
    """The text of a prompt's blocks, '' where a program wrote all of it.

    >>> own_words(["<system-reminder>be brief</system-reminder>", "Fix the cache <ide_selection>x = 1</ide_selection>"])
    'Fix the cache'
    >>> own_words(["<command-name>/clear</command-name>"])
    ''
    >>> own_words(["The tag </system-reminder> leaks, and <command-name> does"])
    'The tag </system-reminder> leaks, and <command-name> does'
    """
    is_alone = len(blocks) == 1
    words = [_words_of(block, is_alone=is_alone) for block in blocks]
    return "\n".join(filter(None, words))


def _words_of(block: str, *, is_alone: bool) -> str:
    """The user's words in a block; is_alone: no other one holds the program's part."""
    text = _without_elements(block, is_alone=is_alone) if "<" in block else block
    text = _PASTED.sub("", text).strip()
    if _WRITTEN.match(text):
        return ""
    if not text.startswith("# Context from my IDE setup"):
        return text
    requests = list(_REQUEST.finditer(text))
    return text[requests[-1].end() :].strip() if requests else text


def _without_elements(text: str, *, is_alone: bool) -> str:
    tags = list(_tags(text))
    if not tags or _is_filled(text, tags, is_alone=is_alone):
        return "" if tags else text
    elements = {element.start: element for element in _elements(tags)}
    first = len(text) - len(text.lstrip())
    opening = tags[0]
    if opening.start == first and first not in elements and not opening.closes:
        is_word = text.startswith(_IN_SENTENCE, opening.end)
        if not is_word:
            return ""
    kept = list[str]()
    done = 0
    for element in _cut(text, elements):
        kept.append(text[done : element.start])
        done = element.end
    kept.append(text[done:])
    return "".join(kept)


def _tags(text: str) -> Iterator[_Tag]:
    for match in _TAG.finditer(text):
        near = max(0, match.start() - _INDENT_CHARACTERS)
        before = text[near : match.start()].rstrip(" \t")
        starts_line = before.endswith("\n") or (not before and near == 0)
        is_whole = not match[1] and match[3].endswith("/")
        name = match[2].lower()
        yield _Tag(match.start(), match.end(), name, bool(match[1]), is_whole, starts_line)


def _is_filled(text: str, tags: Sequence[_Tag], *, is_alone: bool) -> bool:
    """Whether a text is one element, which may hold more ends of it than beginnings.

    In the only block the user's words may follow the element, after a blank or on a line of their own.
    """
    first, last = tags[0], tags[-1]
    is_framed = not text[: first.start].strip() and not text[last.end :].strip()
    if not is_framed or first.closes or not last.closes or first.name != last.name:
        return False
    depth = 0
    for tag in tags:
        if tag.name != first.name or tag.is_whole:
            continue
        depth += -1 if tag.closes else 1
        if depth == 0 and tag is not last:
            has_more_ends = _surplus(tags, first.name)
            goes_on = not text[tag.end : tag.end + 1].isspace()
            return has_more_ends and (goes_on or not is_alone)
    return depth == 0


def _surplus(tags: Sequence[_Tag], name: str) -> bool:
    same = [tag for tag in tags if tag.name == name and not tag.is_whole]
    ends = sum(tag.closes for tag in same)
    return ends > len(same) - ends


def _elements(tags: Sequence[_Tag]) -> Iterator[_Element]:
    """The balanced elements.

    A tag that a program's text only mentions takes no end away: where an element that starts a line is left without
    one, it has the nearest end that a beginning within a line had.
    """
    by_name: dict[str, list[_Tag]] = defaultdict(list)
    for tag in tags:
        by_name[tag.name].append(tag)
    for same in by_name.values():
        partners = _partners(same)
        for tag in same:
            if tag.is_whole:
                yield _Element(tag.start, tag.end, tag.name)
            elif tag.start in partners:
                yield _Element(tag.start, partners[tag.start].end, tag.name)


def _partners(tags: Sequence[_Tag]) -> dict[int, _Tag]:
    """The end of each beginning, by where that one stands."""
    partners: dict[int, _Tag] = {}
    mentioned: dict[int, _Tag] = {}  # by the place of an end, the beginning within a line that has it
    opened: list[_Tag] = []
    for tag in tags:
        if tag.closes and opened:
            beginning = opened.pop()
            partners[beginning.start] = tag
            if not beginning.starts_line:
                mentioned[tag.start] = beginning
        elif not tag.closes and not tag.is_whole:
            opened.append(tag)
    lacking = {tag.start for tag in opened if tag.starts_line}
    ends: list[_Tag] = []
    for tag in reversed(tags):
        if tag.start in mentioned:
            ends.append(tag)
        elif tag.start in lacking and ends:
            end = ends.pop()
            partners.pop(mentioned[end.start].start)
            partners[tag.start] = end
    return partners


def _cut(text: str, elements: Mapping[int, _Element]) -> Iterator[_Element]:
    """The elements that a program wrote, in their order: at the start of a line, outside of fenced code."""
    of_editors = sorted(start for start, element in elements.items() if element.name.startswith(_EDITORS))
    place = 0
    while place < len(text):
        for element in _row_of(elements, text, place, _BLANK):
            yield element
            place = element.end
        fence = _FENCE.match(text, place)
        if fence:
            place = _fence_end(text, fence)
            continue
        line_end = text.find("\n", place)
        line_end = len(text) if line_end < 0 else line_end
        attached = _attached(text, elements, of_editors, place, line_end)
        yield from attached
        place = attached[-1].end if attached else line_end + 1


def _row_of(elements: Mapping[int, _Element], text: str, place: int, between: re.Pattern[str]) -> list[_Element]:
    """The elements that follow each other from a place on, with nothing but `between` before each."""
    row = list[_Element]()
    while True:
        blank = between.match(text, place)
        start = blank.end() if blank else place
        if start not in elements:
            return row
        row.append(elements[start])
        place = row[-1].end


def _attached(
    text: str, elements: Mapping[int, _Element], of_editors: Sequence[int], start: int, end: int
) -> list[_Element]:
    """The elements of an editor behind the words of a line, with nothing of the user's after them."""
    place = bisect_left(of_editors, start)
    while place < len(of_editors) and of_editors[place] < end:
        row = _row_of(elements, text, of_editors[place], _BETWEEN)
        rest = _BETWEEN.match(text, row[-1].end)
        after = rest.end() if rest else row[-1].end
        if after == len(text) or text[after] in "\r\n":
            return row
        place = bisect_left(of_editors, row[-1].end)
    return []


def _fence_end(text: str, fence: re.Match[str]) -> int:
    """Where the code that a fence opens ends: behind its closing fence, or with the text."""
    sign = re.escape(fence[1][0])
    closing = re.compile(rf"(?m)^[ \t]{{0,3}}{sign}{{{len(fence[1])},}}[ \t]*$").search(text, fence.end())
    return closing.end() if closing else len(text)
