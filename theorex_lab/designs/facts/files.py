"""Write the folders of the facts design, as Engram has them, from the memory.

They are not read back:

- `life/<people|projects|archives>/<slug>/items.json` and `summary.md`: the facts of an
  entity, and its page
- `memory/<channel>/YYYY-MM-DD.md`: what was said on a day in a channel (main: in none),
  a line each
- `ops/observations/` and `ops/tensions/`: notes of the work, a file each, and index.json
- `MEMORY.md` and `SOUL.md`: lines that are known always
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from theorex_lab.designs.facts import KINDS, notes
from theorex_lab.designs.facts.facts import Fact, facts_of
from theorex_lab.designs.facts.note_view import Note
from theorex_lab.designs.facts.notes import notes_of
from theorex_lab.designs.facts.settings import fact_settings
from theorex_lab.designs.facts.summaries import local_day, summary
from theorex_lab.files.formats.flat_files import write_lines
from theorex_lab.files.formats.reports import Exported, portable
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import AVOID_TYPE, FIX_TYPE
from theorex_lab.text.line import folded

_SAID = ("prompt", "observation", "turn_ended", "turn_message")
_MAIN = "main"  # the folder of what was said in no channel and no project
_USED = tuple(
    kind for kind in KINDS if kind not in ("extracted", "summarized", "heartbeat")
)
_SECTION_OF = {"decision": "Decisions", FIX_TYPE: "Learnings", AVOID_TYPE: "Learnings"}
_SECTIONS = ("Events", "Decisions", "Learnings")

# The pattern of its path, its path in the folder, its text.
Document = tuple[str, str, str]


def export_tree(
    home: Home, _searcher: object, folder: Path, *, agent: str | None = None
) -> Exported:
    """Write the folders of all agents, or of one without summaries.

    Nothing is written where the design was never used. Each file is replaced as a
    whole; others are left alone.

    Raises:
        StorageError: A file cannot be written.
    """
    used = next(home.journal.tail(0, kinds=_USED), None) is not None
    return write_documents(folder, documents(home, agent) if used else ())


def write_documents(folder: Path, documents: Iterable[Document]) -> Exported:
    """Write these files below a folder.

    Raises:
        StorageError: A file cannot be written.
    """
    exported = Exported(folder)
    for pattern, name, text in documents:
        write_lines(folder / name, text.splitlines())
        exported.files[pattern] = exported.files.get(pattern, 0) + 1
    return exported


def documents(home: Home, agent: str | None = None) -> Iterator[Document]:
    """Yield every file, of all agents or of one."""
    yield from _life(home, agent)
    yield from _days(home, agent)
    for folder, tensions in (("ops/observations", False), ("ops/tensions", True)):
        all_notes = notes_of(home, tensions=tensions)
        agent_notes = [note for note in all_notes if agent in (None, note.agent)]
        yield from _notes(folder, agent_notes)
    yield from self_documents(home, agent)


def _in_json(value: object) -> str:
    """Return a value as these files have it: indented, in plain letters."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def _life(home: Home, agent: str | None) -> Iterator[Document]:
    """Yield the facts and the page of each entity."""
    entities: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts_of(home, active=None):
        if agent in (None, fact.agent):
            entities[fact.entity].append(fact)
    for entity, facts in sorted(entities.items()):
        document = {
            "schemaVersion": 2,
            "entity": entity,
            "facts": [fact.to_dict() for fact in facts],
        }
        yield "life/*/*/items.json", f"life/{entity}/items.json", _in_json(document)
        active = [fact for fact in facts if fact.active]
        if agent is None and active:
            page = summary(entity, active, home.clock.now(), fact_settings(home))
            yield "life/*/*/summary.md", f"life/{entity}/summary.md", page


def _days(home: Home, agent: str | None) -> Iterator[Document]:
    """Yield the page of each day in each channel."""
    for (channel, day), sections in sorted(_lines_by_day(home, agent).items()):
        parts = [f"# {day}"]
        for title in _SECTIONS:
            if title in sections:
                parts.append(f"\n## {title}\n\n" + "\n".join(sections[title]))
        path = f"memory/{channel}/{day}.md"
        yield "memory/*/*.md", path, "\n".join(parts)


def _lines_by_day(
    home: Home, agent: str | None = None
) -> dict[tuple[str, str], dict[str, list[str]]]:
    """Return the lines of each section, by channel and day (of the setting timezone).

    A line is `- HH:MM who: what`.
    """
    days: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(
        lambda: defaultdict(list)
    )
    settings = fact_settings(home)
    for event in home.journal.tail(0, kinds=_SAID):
        body = event.body
        text = folded(str(body.get("text") or body.get("message") or ""))
        if not text or agent not in (None, event.agent) or body.get("subagent"):
            continue
        time = local_day(event.at, settings)
        speaker = "user" if event.kind == "prompt" else event.agent
        section = _SECTION_OF.get(body.get("type", ""), _SECTIONS[0])
        channel = _channel_folder(body.get("project", ""))
        day = days[channel, f"{time:%Y-%m-%d}"]
        day[section].append(f"- {time:%H:%M} {speaker}: {text}")
    return days


def _channel_folder(project: str) -> str:
    """Return the folder of a channel's days.

    It stands between underscores where its name is that of no channel's.
    """
    if not project:
        return _MAIN
    return f"_{project}_" if project == _MAIN else portable(project)


def self_documents(home: Home, agent: str | None = None) -> Iterator[Document]:
    """Yield MEMORY.md and SOUL.md, where they have lines."""
    for file in notes.FILES:
        text = notes.document(home, file, agent=agent)
        if text:
            yield f"{file}.md", f"{file}.md", text


def _notes(folder: str, folder_notes: list[Note]) -> Iterator[Document]:
    """Yield a file for each note, and their index."""
    pattern = f"{folder}/*.json"
    for note in folder_notes:
        yield pattern, f"{folder}/{note.id}.json", _in_json(note.to_dict())
    if folder_notes:
        name = folder.partition("/")[2]
        index = {
            name: [note.id for note in folder_notes],
            "lastId": folder_notes[-1].id,
        }
        yield pattern, f"{folder}/index.json", _in_json(index)
