"""What is left in the room of an SQLite file that holds nothing.

With `secure_delete`, SQLite overwrites what it deletes; but where it moves rows from
one page to another, the copies that were moved stay behind. This reads the pages
themselves and tells whether text stands where nothing should: a run of five bytes that
are not zero.

It is run as a program: a process that has the file open must not open and close it
otherwise, since that would give back the locks that SQLite holds on it. Standard library
only, little of that, and nothing of this package: its own start is most of its cost,
and the modules `json` and `re` would double it.

The format: https://www.sqlite.org/fileformat2.html
"""

import mmap
import os
import sys

_HEADER_BYTES = 100  # of the file, before the header of page 1
# SQLite leaves the pointers to rows that are gone, and the heads of free blocks that were
# joined: numbers of two bytes, one or two of them. What is longer may be text.
_FEWEST_OLD_BYTES = 5
_MOST_BYTES = 65_536  # of a page
_ZEROS = bytes(_MOST_BYTES)
_TABLE_LEAF = 13  # the kind of the pages with rows; those of indexes hold ids alone


def free_space(path: str) -> tuple[bool, float]:
    """Return whether old bytes are left in free room, and the free share of the file.

    The file's log is not looked at. Another process reads the file.

    Args:
        path: The file.

    Returns:
        True where it cannot be told too; and a share from 0 to 1.
    """
    # It is imported here, since this file is run as a program of its own too.
    import json

    from theorex_lab.core.processes import (
        python_program,
        python_variables,
        run_program,
    )

    arguments = [
        "-I",
        "-S",
        __file__,
        os.path.abspath(path),  # noqa: PTH100 - pathlib would cost 6 ms
    ]
    try:
        result = run_program(
            python_program(),
            arguments,
            variables=python_variables(),
        )
        is_left, share = json.loads(result.output)
    except (OSError, ValueError, TypeError):
        return True, 1.0
    return bool(is_left), float(share)


class _Pages:
    """The pages of a file.

    Attributes:
        data: The bytes of the file.
        size: The bytes of a page.
        usable: Those of them that SQLite uses.
        n_pages: How many pages there are.
        n_free: How many bytes are free in those that were looked at.
        is_left: Whether old bytes stand in free room of them.
    """

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.size = self._short(16)
        if self.size == 1:
            self.size = _MOST_BYTES
        n_reserved = data[20]
        self.usable = self.size - n_reserved
        self.n_pages = len(data) // self.size
        self.n_free = 0
        self.is_left = False

    def look(self) -> None:
        """Look at all pages."""
        self._look_at_free_pages()
        for number in range(self.n_pages):
            start = number * self.size
            header = start or _HEADER_BYTES
            if self.data[header] == _TABLE_LEAF:
                self._look_at_rows(start, header)

    def _look_at_rows(self, start: int, header: int) -> None:
        """Look at the free room of a page of rows.

        Args:
            start: Where the page begins.
            header: Where its header begins.
        """
        n_rows = self._short(header + 3)
        content = self._short(header + 5)
        if not content:
            content = _MOST_BYTES
        pointers = header + 8
        pointer_bytes = 2 * n_rows
        self._expect_zeros(
            pointers + pointer_bytes,
            start + content,
        )
        block = self._short(header + 1)
        while block:
            first = start + block
            length = self._short(first + 2)
            self._expect_zeros(
                first + 4,
                first + length,
            )
            following = self._short(first)
            if following <= block:  # they stand in order
                return
            block = following

    def _look_at_free_pages(self) -> None:
        """Look at the pages in the list of free pages."""
        trunk = self._number(32)
        for _ in range(self.n_pages):
            if not trunk:
                return
            start = self._start_of(trunk)
            n_leaves = self._number(start + 4)
            first = start + 8
            end = first + 4 * n_leaves
            for position in range(first, end, 4):
                leaf = self._number(position)
                leaf_start = self._start_of(leaf)
                self._expect_zeros(
                    leaf_start,
                    leaf_start + self.size,
                )
            self._expect_zeros(
                end,
                start + self.usable,
            )
            trunk = self._number(start)

    def _start_of(self, page: int) -> int:
        """Return where a page begins; the first is 1."""
        return (page - 1) * self.size

    def _short(self, position: int) -> int:
        """Return the number of two bytes that stands there."""
        end = position + 2
        digits = self.data[position:end]
        return int.from_bytes(digits, "big")

    def _number(self, position: int) -> int:
        """Return the number of four bytes that stands there."""
        end = position + 4
        digits = self.data[position:end]
        return int.from_bytes(digits, "big")

    def _expect_zeros(self, start: int, end: int) -> None:
        """Count free room, and note where old bytes stand in it."""
        length = max(end - start, 0)
        self.n_free += length
        free = self.data[start:end]
        if free == _ZEROS[:length]:
            return
        longest = max(map(len, free.split(b"\0")))
        if longest >= _FEWEST_OLD_BYTES:
            self.is_left = True


def main(path: str) -> None:
    """Print what `free_space` returns, as JSON."""
    with open(path, "rb") as file:  # noqa: PTH123 - pathlib would cost 6 ms
        size = os.fstat(file.fileno()).st_size
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            pages = _Pages(data)
            pages.look()
    share = pages.n_free / size
    is_left = "true" if pages.is_left else "false"
    sys.stdout.write(f"[{is_left}, {share!r}]")


if __name__ == "__main__":
    main(sys.argv[1])
