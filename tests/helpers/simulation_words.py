"""The words of the simulation: its topics with their failures and decisions, its facts,
its sentence templates.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from theorex_lab.core.sections import read_sections

_LAYOUT = {
    "py": ("src/{folder}/{stem}.py", "tests/{folder}/test_{stem}.py"),
    "ts": (
        "web/{folder}/{stem}.ts",
        "web/{folder}/{stem}.test.ts",
        "web/{folder}/{stem}.css",
    ),
    "sql": ("db/{folder}/{stem}.sql", "tests/{folder}/test_{stem}.py"),
    "yaml": ("ops/{folder}/{stem}.yaml",),
}


class Failure(NamedTuple):
    stem: str  # of the aspect that it belongs to
    name: str
    symptom: str
    cause: str
    remedy: str


class Aspect(NamedTuple):
    """One part of a topic: what it is called, and the files that change together; a
    rename changes the files alone.
    """

    phrase: str
    stem: str
    files: tuple[str, ...]


class _Topic(NamedTuple):
    name: str
    rhythm: str
    folder: str
    extension: str
    aspects: tuple[Aspect, ...]
    failures: tuple[Failure, ...]
    question: str
    options: tuple[str, ...]

    def paths(self, stem: str) -> tuple[str, ...]:
        return _paths(self.folder, self.extension, stem)


@cache
def topics() -> tuple[_Topic, ...]:
    return tuple(_topic(block) for block in _sections()["topics"].split("\n\n"))


def _topic(block: str) -> _Topic:
    """Lines: name | rhythm | folder extension | stem = phrase; …   ! stem | name |
    symptom | cause | remedy   ? question = options.
    """
    head, *failures, decision = block.strip().split("\n")
    name, rhythm, place, aspects = head.split(" | ")
    folder, extension = place.split()
    pairs = (aspect.split(" = ") for aspect in aspects.split("; "))
    question, options = decision.removeprefix("? ").split(" = ")
    return _Topic(
        name,
        rhythm,
        folder,
        extension,
        tuple(
            Aspect(phrase, stem, _paths(folder, extension, stem))
            for stem, phrase in pairs
        ),
        tuple(
            Failure(*failure.removeprefix("! ").split(" | ")) for failure in failures
        ),
        question,
        tuple(options.split("; ")),
    )


def _paths(folder: str, extension: str, stem: str) -> tuple[str, ...]:
    return tuple(path.format(folder=folder, stem=stem) for path in _LAYOUT[extension])


def own(choices: tuple[str, ...], topic: int) -> tuple[str, ...]:
    """The five that a topic keeps coming back to."""
    return tuple(choices[(5 * topic + step) % len(choices)] for step in range(5))


@cache
def lines(section: str) -> tuple[str, ...]:
    """The lines of one section of `simulation_words.txt`, such as "commits" or "broken
    tools".
    """
    return tuple(_sections()[section].split("\n"))


@cache
def _sections() -> dict[str, str]:
    return read_sections(__file__, "simulation_words.txt")
