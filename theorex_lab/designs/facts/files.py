"""The folders of the facts design, as Engram has them, written from the memory; they
are not read back.

life/<people|projects|archives>/<slug>/items.json, summary.md    the facts of an entity,
and its page memory/<channel>/YYYY-MM-DD.md                                   what was
said on a day in a channel (main: in none), a line each ops/observations/, ops/tensions/
notes of the work, a file each, and index.json MEMORY.md, SOUL.md
lines that are known always
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

Document = tuple[
    str, str, str
]  # how its like are told, its path in the folder, its text


def export_tree(
    home: Home, _searcher: object, folder: Path, *, agent: str | None = None
) -> Exported:
    """Write the folders of all agents, or of one without summaries; nothing where the
    design was never used.

    Each file is replaced as a whole; others are left alone. Raises StorageError where
    one cannot be written.
    """
    used = next(home.journal.tail(0, kinds=_USED), None) is not None
    return write_documents(folder, documents(home, agent) if used else ())


def write_documents(folder: Path, found: Iterable[Document]) -> Exported:
    """Write these files below a folder. Raises StorageError."""
    done = Exported(folder)
    for told, name, text in found:
        write_lines(folder / name, text.splitlines())
        done.files[told] = done.files.get(told, 0) + 1
    return done


def documents(home: Home, agent: str | None = None) -> Iterator[Document]:
    """Every file, of all agents or of one."""
    yield from _life(home, agent)
    yield from _days(home, agent)
    for name, tensions in (("ops/observations", False), ("ops/tensions", True)):
        yield from _notes(
            name,
            [
                note
                for note in notes_of(home, tensions=tensions)
                if agent in (None, note.agent)
            ],
        )
    yield from self_documents(home, agent)


def _in_json(value: object) -> str:
    """As these files have it: indented, in plain letters."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def _life(home: Home, agent: str | None) -> Iterator[Document]:
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
        if agent is None and (active := [fact for fact in facts if fact.active]):
            page = summary(entity, active, home.clock.now(), fact_settings(home))
            yield "life/*/*/summary.md", f"life/{entity}/summary.md", page


def _days(home: Home, agent: str | None) -> Iterator[Document]:
    for (channel, day), sections in sorted(_said_by_day(home, agent).items()):
        parts = [
            f"\n## {title}\n\n" + "\n".join(sections[title])
            for title in _SECTIONS
            if title in sections
        ]
        yield (
            "memory/*/*.md",
            f"memory/{channel}/{day}.md",
            "\n".join([f"# {day}", *parts]),
        )


def _said_by_day(
    home: Home, agent: str | None = None
) -> dict[tuple[str, str], dict[str, list[str]]]:
    """By channel and day (of the setting timezone), the lines of each section: `- HH:MM
    who: what`.
    """
    found: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(
        lambda: defaultdict(list)
    )
    settings = fact_settings(home)
    for event in home.journal.tail(0, kinds=_SAID):
        text = folded(str(event.body.get("text") or event.body.get("message") or ""))
        if text and agent in (None, event.agent) and not event.body.get("subagent"):
            when = local_day(event.at, settings)
            who = "user" if event.kind == "prompt" else event.agent
            section = _SECTION_OF.get(event.body.get("type", ""), _SECTIONS[0])
            day = found[
                _channel_folder(event.body.get("project", "")), f"{when:%Y-%m-%d}"
            ]
            day[section].append(f"- {when:%H:%M} {who}: {text}")
    return found


def _channel_folder(project: str) -> str:
    """The folder of a channel's days; between underscores where its name is that of no
    channel's.
    """
    return (
        f"_{project}_" if project == _MAIN else portable(project) if project else _MAIN
    )


def self_documents(home: Home, agent: str | None = None) -> Iterator[Document]:
    """MEMORY.md and SOUL.md, where they have lines."""
    for file in notes.FILES:
        if text := notes.document(home, file, agent=agent):
            yield f"{file}.md", f"{file}.md", text


def _notes(folder: str, found: list[Note]) -> Iterator[Document]:
    yield from (
        (f"{folder}/*.json", f"{folder}/{note.id}.json", _in_json(note.to_dict()))
        for note in found
    )
    if found:
        index = {
            folder.partition("/")[2]: [note.id for note in found],
            "lastId": found[-1].id,
        }
        yield f"{folder}/*.json", f"{folder}/index.json", _in_json(index)
