"""Edit the text of a memory file, and show files and folders, all without a disk.

The forms of what is shown are those that the public documentation of Anthropic's memory
tool describes, since models were trained to read them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from theorex_lab.core.errors import InvalidInput

MOST_LINES = 999_999
_NUMBER_WIDTH = 6
_SNIPPET_LINES = 4  # shown before and after an edit
_LEVELS = 2
_KIBI = 1_024
_LEFT_OUT = "node_modules"


class Edit(NamedTuple):
    """An edited text.

    Attributes:
        text: The text.
        snippet: The lines around the edit, with their numbers.
    """

    text: str
    snippet: str


def lines_of(text: str) -> list[str]:
    """Return the lines of a text; an end of line at its end begins no new one.

    >>> lines_of("a\\nb\\n"), lines_of(""), lines_of("\\n")
    (['a', 'b'], [], [''])
    """
    if not text:
        return []
    return text.removesuffix("\n").split("\n")


def numbered(lines: Sequence[str], first: int = 1) -> str:
    """Return lines with their numbers.

    >>> numbered(["round half up"], 7)
    '     7\\tround half up'
    """
    rows: list[str] = []
    for number, line in enumerate(lines, first):
        rows.append(f"{number:>{_NUMBER_WIDTH}}\t{line}")
    return "\n".join(rows)


def shown_file(path: str, text: str, view_range: Sequence[int] | None = None) -> str:
    """Return a file, or some of its lines, with their numbers.

    Args:
        path: The path, for the heading.
        text: The text.
        view_range: The first line and the last one, from 1; -1 for the end of the file.

    Raises:
        InvalidInput: The file has too many lines, or the range lies outside of it.
    """
    lines = lines_of(text)
    if len(lines) > MOST_LINES:
        raise InvalidInput(
            f"File {path} exceeds maximum line limit of {MOST_LINES:,} lines."
        )
    first = 1
    if view_range is not None:
        first, last = _checked_range(view_range, len(lines))
        lines = lines[first - 1 : last]
    heading = f"Here's the content of {path} with line numbers:"
    return "\n".join([heading, *([numbered(lines, first)] if lines else [])])


def _checked_range(view_range: Sequence[int], n_lines: int) -> tuple[int, int]:
    """Return the first and the last line of a range."""
    is_pair = isinstance(view_range, Sequence) and len(view_range) == 2
    if not is_pair or any(type(bound) is not int for bound in view_range):
        raise InvalidInput(
            f"Error: Invalid `view_range` parameter: {view_range!r:.60}. It should be"
            " two whole numbers: the first line and the last one, or -1 for the end."
        )
    first, last = view_range
    end = n_lines if last == -1 else last
    if not 1 <= first <= max(1, n_lines) or end < first - (not n_lines):
        raise InvalidInput(
            f"Error: Invalid `view_range` parameter: {list(view_range)}. It should be"
            f" within the range of lines of the file: [1, {n_lines}]"
        )
    return first, end


def replaced(path: str, text: str, old: str, new: str) -> Edit:
    """Return a text in which another one stands for a part that occurs once.

    Raises:
        InvalidInput: The part is empty, or does not occur once.
    """
    if not old:
        raise InvalidInput(
            "No replacement was performed, `old_str` is empty; give the text that is to"
            " be replaced."
        )
    places = _places(text, old)
    if not places:
        raise InvalidInput(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in"
            f" {path}."
        )
    if len(places) > 1:
        numbers = [text.count("\n", 0, place) + 1 for place in places]
        shown = ", ".join(map(str, dict.fromkeys(numbers)))
        raise InvalidInput(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in"
            f" lines: {shown}. Please ensure it is unique"
        )
    (place,) = places
    edited = text[:place] + new + text[place + len(old) :]
    first = text.count("\n", 0, place)
    return Edit(edited, _snippet(edited, first, first + new.count("\n")))


def _places(text: str, part: str) -> list[int]:
    """Return where a part begins in a text; occurrences may overlap."""
    places: list[int] = []
    place = text.find(part)
    while place >= 0:
        places.append(place)
        place = text.find(part, place + 1)
    return places


def inserted(text: str, after_line: int, new: str) -> Edit:
    """Return a text with lines put in after a line.

    Args:
        text: The text.
        after_line: The number of the line, 0 for the beginning.
        new: The lines.

    Raises:
        InvalidInput: There is no such line.

    >>> inserted("a\\nb\\n", 1, "new\\n").text
    'a\\nnew\\nb\\n'
    """
    lines = lines_of(text)
    if type(after_line) is not int or not 0 <= after_line <= len(lines):
        raise InvalidInput(
            f"Error: Invalid `insert_line` parameter: {after_line!r:.60}. It should be"
            f" within the range of lines of the file: [0, {len(lines)}]"
        )
    new_lines = lines_of(new) or [""]
    edited = "\n".join([*lines[:after_line], *new_lines, *lines[after_line:]])
    if text.endswith("\n") or not text or new.endswith("\n"):
        edited += "\n"
    last = after_line + len(new_lines) - 1
    return Edit(edited, _snippet(edited, after_line, last))


def _snippet(text: str, first: int, last: int) -> str:
    """Return the lines around an edit of the lines `first` to `last`, from 0."""
    lines = lines_of(text)
    start = max(0, first - _SNIPPET_LINES)
    return numbered(lines[start : last + 1 + _SNIPPET_LINES], start + 1)


def shown_folder(path: str, sizes: Mapping[str, int]) -> str:
    """Return the files and folders in a folder, up to two levels deep.

    Hidden ones, and what is in them, are left out.

    Args:
        path: The folder.
        sizes: The bytes of each file below it, by its path.
    """
    entries = {path: sum(sizes.values())}
    for file, size in sizes.items():
        names = file.removeprefix(f"{path}/").split("/")
        if any(name.startswith(".") or name == _LEFT_OUT for name in names):
            continue
        for level in range(1, min(_LEVELS, len(names)) + 1):
            entry = f"{path}/{'/'.join(names[:level])}"
            if level < len(names):
                entry += "/"
            entries[entry] = entries.get(entry, 0) + size
    heading = (
        f"Here're the files and directories up to {_LEVELS} levels deep in {path},"
        f" excluding hidden items and {_LEFT_OUT}:"
    )
    rows = [f"{shown_size(size)}\t{entry}" for entry, size in sorted(entries.items())]
    return "\n".join([heading, *rows])


def shown_size(n_bytes: int) -> str:
    """Return a size in units of 1024 bytes.

    >>> shown_size(7), shown_size(1_536), shown_size(2_048)
    ('7B', '1.5K', '2K')
    """
    size = float(n_bytes)
    for unit in ("B", "K", "M"):
        if size < _KIBI:
            return f"{size:.1f}".removesuffix(".0") + unit
        size /= _KIBI
    return f"{size:.1f}".removesuffix(".0") + "G"
