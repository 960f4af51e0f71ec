"""Write the folders of the facts design, as Engram has them, from the memory.

They are not read back, since they lack much: see `designs.facts.exchange`.

- `life/<people|projects|archives>/<slug>/items.json` and `summary.md`: the facts of an
  entity, and its page
- `memory/<channel>/YYYY-MM-DD.md`: what was said on a day in a channel (main: in none),
  a line each
- `ops/observations/` and `ops/tensions/`: notes of the work, a file each, and
index.json - `MEMORY.md` and `SOUL.md`: lines that are known always
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
_UPKEEP = ("extracted", "summarized", "heartbeat")  # kinds that say no use
_USED = tuple(kind for kind in KINDS if kind not in _UPKEEP)
_SECTION_OF = {"decision": "Decisions", FIX_TYPE: "Learnings", AVOID_TYPE: "Learnings"}
_SECTIONS = ("Events", "Decisions", "Learnings")

# The pattern of its path, its path in the folder, its text.
Document = tuple[str, str, str]
# By channel and day: the lines of each section, by its title.
DaySections = dict[tuple[str, str], dict[str, list[str]]]


def export_tree(
    home: Home, _searcher: object, folder: Path, *, agent: str | None = None
) -> Exported:
    """Write the folders of all agents, or of one without summaries.

    Nothing is written where the design was never used. Each file is replaced as a
    whole; others are left alone.

    Raises:
        StorageError: A file cannot be written.
    """
    uses = home.journal.tail(0, kinds=_USED)
    first_use = next(uses, None)
    if first_use is None:
        return Exported(folder)
    return write_documents(folder, documents(home, agent))


def write_documents(folder: Path, documents: Iterable[Document]) -> Exported:
    """Write these files below a folder.

    Raises:
        StorageError: A file cannot be written.
    """
    exported = Exported(folder)
    counts = exported.files
    for pattern, name, text in documents:
        lines = text.splitlines()
        write_lines(folder / name, lines)
        n_written = counts.get(pattern, 0)
        counts[pattern] = n_written + 1
    return exported


def documents(home: Home, agent: str | None = None) -> Iterator[Document]:
    """Yield every file, of all agents or of one."""
    yield from _life(home, agent)
    yield from _days(home, agent)
    observations = notes_of(home, tensions=False)
    yield from _notes("ops/observations", _of_agent(observations, agent))
    tensions = notes_of(home, tensions=True)
    yield from _notes("ops/tensions", _of_agent(tensions, agent))
    yield from self_documents(home, agent)


def _of_agent(all_notes: Iterable[Note], agent: str | None) -> list[Note]:
    """Return the notes of an agent, or all of them for None."""
    if agent is None:
        return list(all_notes)
    return [note for note in all_notes if note.agent == agent]


def _in_json(value: object) -> str:
    """Return a value as these files have it: indented, in plain letters."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def _life(home: Home, agent: str | None) -> Iterator[Document]:
    """Yield the facts and the page of each entity."""
    entities: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts_of(home, active=None):
        if agent in (None, fact.agent):
            entities[fact.entity].append(fact)
    for entity in sorted(entities):
        facts = entities[entity]
        yield _items_document(entity, facts)
        active = [fact for fact in facts if fact.active]
        if active and agent is None:
            now = home.clock.now()
            page = summary(entity, active, now, fact_settings(home))
            path = f"life/{entity}/summary.md"
            yield "life/*/*/summary.md", path, page


def _items_document(entity: str, facts: Iterable[Fact]) -> Document:
    """Return the file of an entity's facts."""
    document = {
        "schemaVersion": 2,
        "entity": entity,
        "facts": [fact.to_dict() for fact in facts],
    }
    path = f"life/{entity}/items.json"
    return "life/*/*/items.json", path, _in_json(document)


def _days(home: Home, agent: str | None) -> Iterator[Document]:
    """Yield the page of each day in each channel."""
    days = _lines_by_day(home, agent)
    for channel, day in sorted(days):
        sections = days[channel, day]
        parts = [f"# {day}"]
        for title in _SECTIONS:
            lines = sections.get(title)
            if lines:
                parts.append(f"\n## {title}\n")
                parts += lines
        path = f"memory/{channel}/{day}.md"
        page = "\n".join(parts)
        yield "memory/*/*.md", path, page


def _lines_by_day(home: Home, agent: str | None = None) -> DaySections:
    """Return the lines of each section, by channel and day (of the setting timezone).

    A line is `- HH:MM who: what`.
    """
    days: DaySections = {}
    settings = fact_settings(home)
    for event in home.journal.tail(0, kinds=_SAID):
        body = event.body
        if agent not in (None, event.agent):
            continue
        if body.get("subagent"):
            continue
        message = body.get("text") or body.get("message") or ""
        text = folded(str(message))
        if not text:
            continue
        time = local_day(event.at, settings)
        speaker = event.agent
        if event.kind == "prompt":
            speaker = "user"
        project = body.get("project", "")
        channel = _channel_folder(project)
        day = f"{time:%Y-%m-%d}"
        sections = days.setdefault((channel, day), {})
        observation_type = body.get("type", "")
        title = _SECTION_OF.get(observation_type, _SECTIONS[0])
        lines = sections.setdefault(title, [])
        line = f"- {time:%H:%M} {speaker}: {text}"
        lines.append(line)
    return days


def _channel_folder(project: str) -> str:
    """Return the folder of a channel's days.

    It stands between underscores where its name is that of no channel's.
    """
    if not project:
        return _MAIN
    if project == _MAIN:
        return f"_{project}_"
    return portable(project)


def self_documents(home: Home, agent: str | None = None) -> Iterator[Document]:
    """Yield MEMORY.md and SOUL.md, where they have lines."""
    for file in notes.FILES:
        text = notes.document(home, file, agent=agent)
        if text:
            name = f"{file}.md"
            yield name, name, text


def _notes(folder: str, folder_notes: list[Note]) -> Iterator[Document]:
    """Yield a file for each note, and their index."""
    pattern = f"{folder}/*.json"
    for note in folder_notes:
        path = f"{folder}/{note.id}.json"
        yield pattern, path, _in_json(note.to_dict())
    if folder_notes:
        _, _, name = folder.partition("/")
        index = {
            name: [note.id for note in folder_notes],
            "lastId": folder_notes[-1].id,
        }
        path = f"{folder}/index.json"
        yield pattern, path, _in_json(index)
