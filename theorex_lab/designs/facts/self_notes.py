"""MEMORY.md and SOUL.md: lines that were chosen to be known always, a person's or an agent's own, or promoted facts."""

from theorex_lab.design import Face
from theorex_lab.designs.facts import checks, facts, items
from theorex_lab.errors import InvalidInput
from theorex_lab.home import Home
from theorex_lab.journal.event import Event
from theorex_lab.memory.observation import TRUST

FILES = ("MEMORY", "SOUL")
_MARKDOWN = ("#", "- ", "* ", "+ ", ">", "|", "```", " ", "\t")  # a line that begins so is shown as it is


def add_line(home: Home, file: str, text: str = "", *, fact: str = "", undo: bool = False, source: str = "agent",
             agent: str = "main") -> Event:  # fmt: skip
    """Add a line to MEMORY or SOUL: a text, or that of a fact, which this promotes. undo: take it out again.

    Raises InvalidInput for another file, for both or neither of text and fact, and where the line is there already, or with
    `undo` is not.
    """
    if bool(text) == bool(fact):
        raise InvalidInput(f"got {'both' if fact else 'neither'} of a text and a fact; allowed is one of them")
    promoted = facts.fact_by_id(home, fact) if fact else None
    text = checks.check_line(home, items.told_of(promoted.entity, promoted.text) if promoted else text, source)
    if (text in self_lines(home, file)) != undo:
        raise InvalidInput(f"got {text!r:.80}, which {file}.md {'does not have' if undo else 'has already'}")
    body = {"file": file, "text": text, "undo": undo, "source": source}
    if promoted is not None:
        body["source"] = min(source, promoted.source, key=TRUST.__getitem__)
    return Face(home).append("self_added", body, agent=agent, lineage=[promoted.event_id] if promoted else [])


def self_lines(home: Home, file: str, *, agent: str | None = None) -> list[str]:
    """The lines of MEMORY or SOUL, of all agents or of one, in the order in which they were added."""
    checks.one_of("file", file, FILES)
    lines: dict[str, None] = {}
    for event in home.journal.tail(0, kinds=["self_added"], projects=home.projects):
        if event.body["file"] == file and agent in (None, event.agent):
            lines.pop(event.body["text"], None)
            lines |= {} if event.body["undo"] else {event.body["text"]: None}
    return list(lines)


def document(home: Home, file: str, *, agent: str | None = None) -> str:
    """MEMORY.md or SOUL.md as Markdown; '' where it has no line."""
    lines = self_lines(home, file, agent=agent)
    shown = [line if line.startswith(_MARKDOWN) else f"- {line}" for line in lines]
    text = "\n".join(f"\n{line}\n" if line.startswith("#") else line for line in shown)
    return f"# {file}\n\n{text.strip()}\n" if lines else ""


def lines_in(file: str, text: str) -> list[str]:
    """The lines of a document, without comments: what `document` writes, it reads."""
    lines = (line.rstrip().removeprefix("- ") for line in text.splitlines())
    return [line for line in lines if line and line != f"# {file}" and not line.startswith("<!--")]
