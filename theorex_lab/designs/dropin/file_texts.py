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
_MOST_OCCURRENCES = 100
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


def file_lines(text: str) -> list[str]:
    r"""Return the lines of a text; an end of line at its end begins no new one.

    >>> file_lines("a\nb\n"), file_lines(""), file_lines("\n")
    (['a', 'b'], [], [''])
    """
    if not text:
        return []
    whole_lines = text.removesuffix("\n")
    return whole_lines.split("\n")


def numbered(lines: Sequence[str], first: int = 1) -> str:
    r"""Return lines with their numbers.

    >>> numbered(["round half up"], 7)
    '     7\tround half up'
    """
    rows: list[str] = []
    for number, line in enumerate(lines, first):
        shown_number = str(number).rjust(_NUMBER_WIDTH)
        row = f"{shown_number}\t{line}"
        rows.append(row)
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
    lines = file_lines(text)
    if len(lines) > MOST_LINES:
        raise InvalidInput(
            f"File {path} exceeds maximum line limit of {MOST_LINES:,} lines."
        )
    first = 1
    if view_range is not None:
        first, last = _checked_range(view_range, len(lines))
        start = first - 1
        lines = lines[start:last]
    heading = f"Here's the content of {path} with line numbers:"
    rows = [heading]
    if lines:
        rows.append(numbered(lines, first))
    return "\n".join(rows)


def _checked_range(view_range: Sequence[int], n_lines: int) -> tuple[int, int]:
    """Return the first and the last line of a range."""
    if not _is_pair(view_range):
        raise InvalidInput(
            f"Error: Invalid `view_range` parameter: {view_range!r:.60}. It should be"
            " two whole numbers: the first line and the last one, or -1 for the end."
        )
    first, last = view_range
    end = n_lines if last == -1 else last
    if n_lines == 0:
        return 1, 0
    if not 1 <= first <= min(n_lines, end):
        raise InvalidInput(
            f"Error: Invalid `view_range` parameter: {list(view_range)}. It should be"
            f" within the range of lines of the file: [1, {n_lines}]"
        )
    return first, end


def _is_pair(value: object) -> bool:
    """Return whether a value is a list of two whole numbers."""
    if not isinstance(value, list | tuple):
        return False
    types = [type(bound) for bound in value]
    return types == [int, int]


def with_replacement(path: str, text: str, old: str, new: str) -> Edit:
    """Return a text in which another one stands for a part that occurs once.

    Raises:
        InvalidInput: The part is empty, or does not occur once.
    """
    if not old:
        raise InvalidInput(
            "No replacement was performed, `old_str` is empty; give the text that is to"
            " be replaced."
        )
    starts = _occurrences(text, old)
    if not starts:
        raise InvalidInput(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in"
            f" {path}."
        )
    if len(starts) > 1:
        shown = _line_numbers(text, starts)
        raise InvalidInput(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in"
            f" lines: {shown}. Please ensure it is unique"
        )
    (start,) = starts
    end = start + len(old)
    edited = text[:start] + new + text[end:]
    first = text.count("\n", 0, start)
    last = first + new.count("\n")
    snippet = _snippet(edited, first, last)
    return Edit(edited, snippet)


def _occurrences(text: str, part: str) -> list[int]:
    """Return where a part begins in a text; occurrences may overlap.

    No more are looked for than an error names.
    """
    starts: list[int] = []
    start = text.find(part)
    while start >= 0:
        if len(starts) == _MOST_OCCURRENCES:
            break
        starts.append(start)
        next_start = start + 1
        start = text.find(part, next_start)
    return starts


def _line_numbers(text: str, starts: Sequence[int]) -> str:
    """Return the numbers of the lines in which these characters stand, each once."""
    numbers: dict[str, None] = {}
    for start in starts:
        n_lines_before = text.count("\n", 0, start)
        number = str(n_lines_before + 1)
        numbers[number] = None
    return ", ".join(numbers)


def with_insertion(text: str, after_line: int, new: str) -> Edit:
    r"""Return a text with lines put in after a line.

    Args:
        text: The text.
        after_line: The number of the line, 0 for the beginning.
        new: The lines.

    Raises:
        InvalidInput: There is no such line.

    >>> with_insertion("a\nb\n", 1, "new\n").text
    'a\nnew\nb\n'
    """
    lines = file_lines(text)
    n_lines = len(lines)
    is_number = type(after_line) is int
    if not is_number or not 0 <= after_line <= n_lines:
        raise InvalidInput(
            f"Error: Invalid `insert_line` parameter: {after_line!r:.60}. It should be"
            f" within the range of lines of the file: [0, {n_lines}]"
        )
    new_lines = file_lines(new) or [""]
    lines[after_line:after_line] = new_lines
    edited = "\n".join(lines)
    is_at_end = after_line == n_lines
    is_ended = text.endswith("\n")
    if is_at_end and new.endswith("\n"):
        is_ended = True
    if is_ended:
        edited += "\n"
    last = after_line + len(new_lines) - 1
    snippet = _snippet(edited, after_line, last)
    return Edit(edited, snippet)


def _snippet(text: str, first: int, last: int) -> str:
    """Return the lines around an edit of the lines `first` to `last`, from 0."""
    lines = file_lines(text)
    start = max(0, first - _SNIPPET_LINES)
    end = last + 1 + _SNIPPET_LINES
    shown = lines[start:end]
    return numbered(shown, start + 1)


def shown_folder(path: str, sizes: Mapping[str, int]) -> str:
    """Return the files and folders in a folder, up to two levels deep.

    Hidden ones, and what is in them, are left out.

    Args:
        path: The folder.
        sizes: The bytes of each file below it, by its path.
    """
    entries = {path: sum(sizes.values())}
    for file, size in sizes.items():
        below = file.removeprefix(f"{path}/")
        names = below.split("/")
        if _is_hidden(names):
            continue
        for entry in _shown_entries(path, names):
            entries.setdefault(entry, 0)
            entries[entry] += size
    heading = (
        f"Here're the files and directories up to {_LEVELS} levels deep in {path},"
        f" excluding hidden items and {_LEFT_OUT}:"
    )
    rows = [heading]
    for entry in sorted(entries):
        amount = shown_size(entries[entry])
        row = f"{amount}\t{entry}"
        rows.append(row)
    return "\n".join(rows)


def _is_hidden(names: Sequence[str]) -> bool:
    """Return whether a file, or a folder that it is in, is left out."""
    if _LEFT_OUT in names:
        return True
    return any(name.startswith(".") for name in names)


def _shown_entries(folder: str, names: Sequence[str]) -> list[str]:
    """Return a file and the folders that it is in, as far as they are shown.

    Args:
        folder: The folder that is shown.
        names: The names that lead from it to the file.
    """
    entries: list[str] = []
    entry = folder
    for name in names[:_LEVELS]:
        entry = f"{entry}/{name}"
        folder_entry = f"{entry}/"
        entries.append(folder_entry)
    if len(names) <= _LEVELS:
        entries[-1] = entry
    return entries


def shown_size(n_bytes: int) -> str:
    """Return a size in units of 1024 bytes.

    >>> shown_size(7), shown_size(1_536), shown_size(2_048)
    ('7B', '1.5K', '2K')
    """
    size = float(n_bytes)
    unit = "B"
    for larger_unit in ("K", "M", "G"):
        if size < _KIBI:
            break
        size /= _KIBI
        unit = larger_unit
    amount = f"{size:.1f}".removesuffix(".0")
    return f"{amount}{unit}"
