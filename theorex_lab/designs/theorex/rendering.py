"""Render the texts that Theorex's own commands show.

They are Markdown that stays data whatever is in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.memory.contract import ContextLine
from theorex_lab.memory.observation import FIX_TYPE, TRUST
from theorex_lab.text.line import escape, fence, one_line

UNVERIFIED = "Unverified"


@dataclass(frozen=True)
class Context:
    """A rendered text.

    Attributes:
        text: The Markdown text.
        concepts: How many concepts it lists.
        fixes: How many fixes it lists.
        agents: How many agents have a section in it.
        tokens: How many tokens the text has.
        items: The ids of what it shows, as search gives them, each once.
    """

    text: str
    concepts: int
    fixes: int
    agents: int
    tokens: int
    items: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


def as_markdown(text: str) -> str:
    """Cut a text to one line and escape its signs, as an item of a list shows it."""
    return escape(one_line(text))


class ChosenLines(NamedTuple):
    """Sentences that have room in a text.

    Attributes:
        told: Trusted lines, each under the title of its kind.
        heard: Untrusted lines of those kinds.
        titles: The title by kind of line.
    """

    told: list[ContextLine]
    heard: list[ContextLine]
    titles: Mapping[str, str]

    @property
    def fixes(self) -> int:
        """How many of them are fixes."""
        lines = [*self.told, *self.heard]
        return sum(line.kind == FIX_TYPE for line in lines)

    @property
    def lines(self) -> list[ContextLine]:
        """All of them, in the order in which they are shown."""
        return [*self.told, *self.heard]


def sections_of(chosen: ChosenLines) -> list[str]:
    """Return the lines under titles, a section a title, and then the untrusted ones.

    All of it stands in fences.
    """
    texts: list[str] = []
    for kind, title in chosen.titles.items():
        of_kind = [line for line in chosen.told if line.kind == kind]
        texts += _fenced(title, of_kind)
    return texts + _fenced(UNVERIFIED, chosen.heard)


def items_of(lines: Iterable[ContextLine]) -> tuple[str, ...]:
    """Return the ids of what these lines show, each once."""
    items: dict[str, None] = {}
    for line in lines:
        items.update(dict.fromkeys(line.items))
    return tuple(items)


def _fenced(
    title: str,
    lines: Sequence[ContextLine],
) -> list[str]:
    """Return a section of sentences, a fence for each of those who said them.

    Without sentences there is no section.
    """
    if not lines:
        return []
    texts = ["", f"## {title}"]
    for owner in dict.fromkeys(line.owner for line in lines):
        sentences = [line.text for line in lines if line.owner == owner]
        texts += fence(sentences, owner)
    return texts


def marked_up(
    kind: str,
    agent: str,
    text: str,
    *,
    note: str,
    trust: int,
    items: tuple[str, ...] = (),
) -> ContextLine:
    """Return a line with a note.

    An untrusted text goes into a fence and needs no mark-up.

    Args:
        kind: The kind of the line.
        agent: Whose it is.
        text: What it says.
        note: What stands in brackets behind the text.
        trust: How far the text is trusted, as `memory.observation.TRUST` has it.
        items: The ids of the items that it shows.
    """
    if trust >= TRUST["agent"]:
        marked_text = f"{as_markdown(text)} _({note})_"
        return ContextLine(kind, agent, marked_text, None, items)
    plain_text = f"{one_line(text)} ({note})"
    return ContextLine(kind, agent, plain_text, (agent, trust), items)


def listed(lines: Sequence[ContextLine]) -> list[str]:
    """Return trusted lines as a list, and the others in a fence.

    The fence says what kind of source they came from.
    """
    trusted = [f"- {line.text}" for line in lines if line.trusted]
    untrusted = [line.text for line in lines if not line.trusted]
    if not untrusted:
        return trusted
    return trusted + fence(untrusted, "tools,imports,models")
