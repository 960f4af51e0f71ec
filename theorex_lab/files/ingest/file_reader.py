"""How files of some form become parts.

Standard library only, since each process that reads files starts with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from theorex_lab.memory.document_part import Part


class Account(NamedTuple):
    """The characters of a file that are no blanks.

    Attributes:
        characters: How many it has.
        left_out: How many of them are in no part, by what they are.
    """

    characters: int
    left_out: Mapping[str, int]


# What a reader says of a file beside its parts: what could not be read or was guessed,
# and the account of its characters.
Problem = str | Account
PartsAndProblems = tuple[list[Part], Sequence[Problem]]


def parts_as_read(_: Path, value: Any) -> PartsAndProblems:
    """Return the parts that a reader made in another process, as JSON holds them."""
    rows, problem_rows = value
    problems = [
        problem if isinstance(problem, str) else Account(*problem)
        for problem in problem_rows
    ]
    parts = []
    for row in rows:
        part = Part(*row)
        # JSON has lists for tuples.
        links = [(relation, target) for relation, target in part.links]
        parts.append(part._replace(links=links))
    return parts, problems


class FileReader(NamedTuple):
    """How files of some form become parts.

    Attributes:
        name: Raised with a number whenever it reads otherwise, so that files are read
            again.
        suffixes: Returns the endings of the files in folders that it takes.
        read: Takes the file's path, its name, `options` and its content, and returns
            what JSON holds: the parts, and what could not be read or was guessed, in
            words; an `Account` among these counts the file's characters. It raises
            InvalidInput for a broken file. It is a function
            of a module, called in a process apart, and is marked with
            `files.isolated.readers.reads_apart`.
        extra: The extra of the package that it needs.
        whole: Whether it is given the content; else it reads the path itself, however
            large the file is.
        options: What else it is given.
        finish: Takes the path and what `read` made, and returns the parts, and what
            could not be read. It does what may be done in this process alone.
    """

    name: str
    suffixes: Callable[[], Iterable[str]]
    read: Callable[..., Any]
    extra: str
    whole: bool = True
    options: tuple[object, ...] = ()
    finish: Callable[[Path, Any], PartsAndProblems] = parts_as_read
