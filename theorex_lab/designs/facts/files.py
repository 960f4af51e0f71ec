"""Write the folders of the facts design, as Engram has them, from the memory.

`designs.facts.folder_read` reads them. They lack much that the memory holds: see
`designs.facts.exchange`.

- `life/<people|projects|archives>/<slug>/items.json` and `summary.md`: the facts of an
  entity, and its page
- `memory/agent-main/<channel>/YYYY-MM-DD.md`: what was said on a day in a channel
  (main: in none), a line each
- `memory/domains/<domain>/`: the files of a domain; `registry.json` says what each is
- `ops/observations/` and `ops/tensions/`: notes of the work, a file each, and
  index.json
- `MEMORY.md` and `SOUL.md`: lines that are known always
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from theorex_lab.core.files import FILE_MODE, make_folder, write_atomically, writing
from theorex_lab.designs.facts import KINDS, notes
from theorex_lab.designs.facts.domains import domains_of
from theorex_lab.designs.facts.facts import Fact, facts_of, split_id
from theorex_lab.designs.facts.kept_files import with_kept, with_last_line_ended
from theorex_lab.designs.facts.note_view import Note, notes_of
from theorex_lab.designs.facts.settings import FactSettings, fact_settings
from theorex_lab.designs.facts.summaries import local_day, summary
from theorex_lab.files.formats.reports import Exported, portable
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import AVOID_TYPE, FIX_TYPE
from theorex_lab.text.line import folded

_SAID = ("prompt", "observation", "turn_ended", "turn_message")
DAYS = "memory/agent-main"
MAIN_CHANNEL = "main"  # the folder of what was said in no channel and no project
_UPKEEP = ("extracted", "summarized", "heartbeat")  # kinds that say no use
_USED = tuple(kind for kind in KINDS if kind not in _UPKEEP)
_SECTION_OF = {"decision": "Decisions", FIX_TYPE: "Learnings", AVOID_TYPE: "Learnings"}
DAY_SECTIONS = ("Events", "Decisions", "Learnings")
DOMAINS = "memory/domains"
REGISTRY = f"{DOMAINS}/registry.json"
ROTATED_LINES = 1_000  # of a changelog; those before stand in archives/

# The pattern of its path, its path in the folder, its text.
Document = tuple[str, str, str]
# By channel and day: the lines of each section, by its title.
DaySections = dict[tuple[str, str], dict[str, list[str]]]


def export_tree(
    home: Home,
    _searcher: object,
    folder: Path,
    *,
    agent: str | None = None,
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
    files = with_last_line_ended(documents(home, agent))
    if agent is None:
        files = with_kept(home, files)
    return write_documents(folder, files)


def write_documents(folder: Path, documents: Iterable[Document]) -> Exported:
    """Write these files below a folder, each as a whole and character by character.

    Raises:
        StorageError: A file cannot be written.
    """
    exported = Exported(folder)
    counts = exported.files
    advice = "what was there is untouched: make room, or choose another folder"
    for pattern, name, text in documents:
        file = folder / name
        with writing(file, advice):
            make_folder(str(file.parent))
            write_atomically(
                file,
                text.encode(),
                mode=FILE_MODE,
            )
        n_written = counts.get(pattern, 0)
        counts[pattern] = n_written + 1
    return exported


def documents(home: Home, agent: str | None = None) -> Iterator[Document]:
    """Yield every file, of all agents or of one."""
    yield from _life(home, agent)
    yield from _days(home, agent)
    if agent is None:
        yield from domain_documents(home)
    observations = notes_of(home, tensions=False)
    own_observations = _of_agent(observations, agent)
    yield from _notes("ops/observations", own_observations)
    tensions = notes_of(home, tensions=True)
    own_tensions = _of_agent(tensions, agent)
    yield from _notes("ops/tensions", own_tensions)
    yield from self_documents(home, agent)


def _of_agent(all_notes: Iterable[Note], agent: str | None) -> list[Note]:
    """Return the notes of an agent, or all of them for None."""
    if agent is None:
        return list(all_notes)
    return [note for note in all_notes if note.agent == agent]


def _in_json(value: object) -> str:
    """Return a value as these files have it: indented, in plain letters."""
    return json.dumps(
        value,
        ensure_ascii=False,
        indent=2,
    )


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
            page = summary(
                entity,
                active,
                now,
                fact_settings(home),
            )
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
    days = lines_by_day(home, agent)
    for channel, day in sorted(days):
        sections = days[channel, day]
        parts = [f"# {day}"]
        for title in DAY_SECTIONS:
            lines = sections.get(title)
            if lines:
                parts.append(f"\n## {title}\n")
                parts += lines
        path = f"{DAYS}/{channel}/{day}.md"
        page = "\n".join(parts)
        yield f"{DAYS}/*/*.md", path, page


def lines_by_day(home: Home, agent: str | None = None) -> DaySections:
    """Return the lines of each section, by channel and day (of the setting timezone).

    A line is `- HH:MM who: what`.
    """
    days: DaySections = {}
    settings = fact_settings(home)
    for event in home.journal.tail(0, kinds=_SAID):
        if agent not in (None, event.agent) or event.body.get("subagent"):
            continue
        line = day_line(event, settings)
        if line is None:
            continue
        time = local_day(event.at, settings)
        project = event.body.get("project", "")
        channel = channel_folder(project)
        day = f"{time:%Y-%m-%d}"
        sections = days.setdefault((channel, day), {})
        observation_type = event.body.get("type", "")
        title = _SECTION_OF.get(observation_type, DAY_SECTIONS[0])
        sections.setdefault(title, []).append(line)
    return days


def day_line(event: Event, settings: FactSettings) -> str | None:
    """Return what was said as a line of its day; None where nothing was."""
    body = event.body
    message = body.get("text") or body.get("message") or ""
    text = folded(str(message))
    if not text:
        return None
    time = local_day(event.at, settings)
    speaker = "user" if event.kind == "prompt" else event.agent
    return f"- {time:%H:%M} {speaker}: {text}"


def channel_folder(project: str) -> str:
    """Return the folder of a channel's days.

    It stands between underscores where its name is that of no channel's.
    """
    if not project:
        return MAIN_CHANNEL
    if project == MAIN_CHANNEL:
        return f"_{project}_"
    return portable(project)


def domain_documents(home: Home) -> Iterator[Document]:
    """Yield the files of every domain, and the registry."""
    domains = domains_of(home)
    for name, domain in domains.items():
        for file, text in domain.files.items():
            for path, part in _domain_parts(file, text):
                yield f"{DOMAINS}/*/*.md", f"{DOMAINS}/{name}/{path}", part
    if domains:
        registry = {}
        for name, domain in domains.items():
            registry[name] = {**domain.about._asdict(), "project": domain.project}
        yield REGISTRY, REGISTRY, _in_json({"domains": registry})


def _domain_parts(file: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield a file of a domain, and of a long changelog what stands in archives/.

    The changelog itself holds what follows its last full thousand lines.
    """
    lines = text.removesuffix("\n").split("\n")
    n_archives = 0
    if file == "changelog":
        n_archives = (len(lines) - 1) // ROTATED_LINES
    for number in range(n_archives):
        start = number * ROTATED_LINES
        part = lines[start : start + ROTATED_LINES]
        yield f"archives/{file}-{number + 1:04d}.md", "\n".join(part)
    yield f"{file}.md", "\n".join(lines[n_archives * ROTATED_LINES :])


def self_documents(home: Home, agent: str | None = None) -> Iterator[Document]:
    """Yield MEMORY.md and SOUL.md, where they have lines."""
    for file in notes.FILES:
        text = notes.document(
            home,
            file,
            agent=agent,
        )
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
            "lastId": max(split_id(note.id)[1] for note in folder_notes),
        }
        path = f"{folder}/index.json"
        yield pattern, path, _in_json(index)
