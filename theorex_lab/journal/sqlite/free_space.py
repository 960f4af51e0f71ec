"""What is left in the room of an SQLite file that holds nothing.

With `secure_delete`, SQLite overwrites what it deletes; but where it moves rows from
one page to another, the copies that were moved stay behind. This reads the pages
themselves and tells whether text stands where nothing should: a run of five bytes that
are not zero.

It is run as a program: a process that has the file open must not open and close it
otherwise, since that would give back the locks that SQLite holds on it. Standard library
only, and nothing of this package: its own start is most of its cost.

The format: https://www.sqlite.org/fileformat2.html
"""

import json
import mmap
import os
import re
import subprocess
import sys

_HEADER_BYTES = 100  # of the file, before the header of page 1
# SQLite leaves the pointers to rows that are gone, and the heads of free blocks that were
# joined: numbers of two bytes, one or two of them. What is longer may be text.
_OLD_BYTES = re.compile(rb"[^\0]{5}")
_TABLE_LEAF = 13  # the kind of the pages with rows; those of indexes hold ids alone


def free_space(path: str) -> tuple[bool, float]:
    """Return whether old bytes are left in free room, and the free share of the file.

    The file's log is not looked at. Another process reads the file.

    Args:
        path: The file.

    Returns:
        True where it cannot be told too; and a share from 0 to 1.
    """
    command = [sys.executable, "-I", "-S", __file__, path]
    try:
        result = subprocess.run(command, capture_output=True, check=True)
        is_left, share = json.loads(result.stdout)
    except (OSError, ValueError, TypeError, subprocess.CalledProcessError):
        return True, 1.0
    return bool(is_left), float(share)


class _Pages:
    """The pages of a file, and how many of their bytes are free."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.size = int.from_bytes(data[16:18], "big")
        if self.size == 1:
            self.size = 65_536
        self.usable = self.size - data[20]
        self.n_pages = len(data) // self.size
        self.zeros = bytes(65_536)
        self.n_free = 0
        self.is_left = False

    def look(self) -> None:
        """Look at all pages."""
        self._look_at_free_pages()
        for number in range(self.n_pages):
            self._look_at(number * self.size)

    def _expect_zeros(self, start: int, end: int) -> None:
        self.n_free += end - start
        free = self.data[start:end]
        if free != self.zeros[: end - start] and _OLD_BYTES.search(free):
            self.is_left = True

    def _look_at(self, page: int) -> None:
        """Look at the free room of a page of rows; `page` is where it begins."""
        head = page if page else _HEADER_BYTES
        kind = self.data[head]
        if kind != _TABLE_LEAF:
            return
        header = self.data[head : head + 8]
        n_cells = header[3] << 8 | header[4]
        content = (header[5] << 8 | header[6]) or 65_536
        self._expect_zeros(head + 8 + 2 * n_cells, page + content)
        block = header[1] << 8 | header[2]
        while block:
            start = page + block
            following = int.from_bytes(self.data[start : start + 2], "big")
            length = int.from_bytes(self.data[start + 2 : start + 4], "big")
            self._expect_zeros(start + 4, start + max(length, 4))
            if following <= block:
                break
            block = following

    def _look_at_free_pages(self) -> None:
        """Look at the pages of the list of free pages."""
        trunk = self._number(32)
        for _ in range(self.n_pages):
            if not trunk:
                return
            page = (trunk - 1) * self.size
            n_leaves = self._number(page + 4)
            first = page + 8
            for place in range(first, first + 4 * n_leaves, 4):
                leaf = (self._number(place) - 1) * self.size
                self._expect_zeros(leaf, leaf + self.size)
            self._expect_zeros(first + 4 * n_leaves, page + self.usable)
            trunk = self._number(page)

    def _number(self, place: int) -> int:
        return int.from_bytes(self.data[place : place + 4], "big")


def main(path: str) -> None:
    """Print what `free_space` returns, as JSON."""
    with (
        open(path, "rb") as file,  # noqa: PTH123 - pathlib would cost 6 ms
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        pages = _Pages(data)
        pages.look()
        size = os.fstat(file.fileno()).st_size
    sys.stdout.write(json.dumps([pages.is_left, pages.n_free / size]))


if __name__ == "__main__":
    main(sys.argv[1])
