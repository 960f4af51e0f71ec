"""Read the folders of the facts design, Engram's or our own.

Each record becomes the events that would have made it. A record that cannot be read is
reported, and the others are read; the text of every file is kept beside, see
`designs.facts.kept_files`. Reading a folder twice changes nothing: a record has one
event id, its own where it was exported here, else one derived from what it says. An id
that another record has already becomes the next free one.
"""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from theorex_lab.core.clock import to_microseconds
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import UUID, check_agent, derived_event_id
from theorex_lab.core.project import check_project
from theorex_lab.designs.facts import channels, domains, notes
from theorex_lab.designs.facts.facts import Fact, Facts, facts_of
from theorex_lab.designs.facts.files import (
    DAY_SECTIONS,
    DAYS,
    MAIN_CHANNEL,
    ROTATED_LINES,
    channel_folder,
    day_line,
    documents,
    lines_by_day,
)
from theorex_lab.designs.facts.folder_json import (
    chain_problems,
    decoded,
    entity_at,
    facts_document,
    free_id,
    parsed,
    read_bounded,
    renamed_members,
    upgraded,
)
from theorex_lab.designs.facts.folder_records import FolderFact, FolderNote
from theorex_lab.designs.facts.kept_files import (
    check_kept_path,
    kept_files,
    page_digest,
)
from theorex_lab.designs.facts.note_view import Notes
from theorex_lab.designs.facts.pairs import fact_hash, same_fact
from theorex_lab.designs.facts.settings import fact_settings
from theorex_lab.designs.facts.summaries import zone_of
from theorex_lab.designs.facts.writing import check_entity, check_line
from theorex_lab.files.formats.flat_files import (
    ImportRemark,
    append_new,
    each_noted,
    without_nulls,
)
from theorex_lab.files.formats.reports import ImportOptions, Reports, each_file
from theorex_lab.files.formats.schema import checked
from theorex_lab.journal.event import Body, Event, new_event
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import (
    DEFAULT_TYPE,
    FIX_TYPE,
    ObservationEntry,
    new_observation,
)
from theorex_lab.text.redact.redaction_scope import kept_value

MOST_ACCESSES = 1_000  # of a fact, that are taken from a file
MOST_FILES = 50_000  # of a folder
_ORIGIN_CHARACTERS = 200
_RECORDS = "facts.jsonl"  # stands beside what the toolkit itself exported
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_SAID = re.compile(r"(\d\d:\d\d) ([a-z0-9][a-z0-9._-]{0,63}): (\S.*)")
_AGENT_FOLDER = re.compile(r"agent-([a-z0-9][a-z0-9._-]{0,63})")
_ARCHIVE = re.compile(r"changelog-\d{4}\.md")
_CHAT = re.compile(r"([a-z][a-z]{0,31})-(\d{1,31})")
_DOMAIN_PATH = 4  # parts of memory/domains/NAME/FILE
_TYPE_OF = dict(
    zip(
        DAY_SECTIONS,
        (DEFAULT_TYPE, "decision", FIX_TYPE),
        strict=True,
    )
)
_PATTERNS = (
    "life/*/*/items.json",
    "ops/observations/*.json",
    "ops/tensions/*.json",
    "memory/*.md",
    "memory/*/*.md",
    "memory/*/*/*.md",
    "memory/domains/*/archives/*.md",
    "memory/domains/registry.json",
    "life/*/*/summary.md",
)
_SPACES = ("life", "memory", "ops")
# An event, and how many records it stands for.
Events = Iterator[tuple[Event, int]]


def folder_files(path: Path) -> list[Path]:
    """Return the files of an Engram folder that are read, facts first.

    An items.json that is given is one too. Nothing is read beside `facts.jsonl`: the
    toolkit itself wrote the folder, and tells more in that file.
    """
    if not path.is_dir():
        is_file = path.name == "items.json" and path.is_file()
        return [path] if is_file else []
    is_export = (path / _RECORDS).is_file()
    if is_export or not any((path / space).is_dir() for space in _SPACES):
        return []
    files = dict.fromkeys(islice(_files_below(path), MOST_FILES))
    return [*files]


def _files_below(path: Path) -> Iterator[Path]:
    for pattern in _PATTERNS:
        for file in sorted(path.glob(pattern)):
            if _reader_of(file.relative_to(path).parts) and file.is_file():
                yield file
    for name in notes.FILES:
        file = path / f"{name}.md"
        if file.is_file():
            yield file


def _reader_of(parts: Sequence[str]) -> str:
    """Return what reads a file, by the parts of its path; '' for nothing."""
    name = parts[-1]
    stem = name.rpartition(".")[0]
    if parts[0] in ("life", "ops"):
        by_name = {"items.json": "facts", "summary.md": "page", "index.json": "page"}
        return by_name.get(name, "note" if parts[0] == "ops" else "")
    if parts[0] != "memory":
        return "self"
    if parts[:2] == ("memory", "domains"):
        if len(parts) == _DOMAIN_PATH and stem in domains.DOMAIN_FILES:
            return "domain"
        # A changelog is read with its archives, and the registry with the domains.
        return "page"
    return "day" if _DAY.fullmatch(stem) else ""


def import_folder(
    home: Home,
    _searcher: object,
    path: Path,
    *,
    agent: str = "main",
    trusted: bool = False,
) -> Reports:
    """Read a folder, or one items.json.

    Args:
        home: Where it is taken in.
        path: The folder or the file.
        agent: Whose the records are that name nobody.
        trusted: Keep the sources that the files state, and take MEMORY.md, SOUL.md and
            domains, which agents obey. Otherwise all has the source `import`, and
            nothing that is here from another source is superseded.

    Raises:
        StorageError: The disk is full.
    """
    options = ImportOptions(
        home.settings, home.clock.now(), check_agent(agent), trusted
    )
    reading = _FolderReading(
        home,
        options,
        path,
    )
    reports = each_file(
        path,
        folder_files(path),
        reading.take,
    )
    reading.keep_files()
    reading.keep_channels()
    return reports


def import_domains(
    home: Home,
    folder: Path,
    *,
    agent: str = "main",
    trusted: bool = False,
) -> Reports:
    """Read the domains of a folder that were edited by hand.

    What differs takes the place of what is here.

    Args:
        home: Where they are taken in.
        folder: The folder that memory/domains/ is in.
        agent: Who takes them in.
        trusted: Whether they come from someone who may change them.

    Raises:
        InvalidInput: They are not trusted, or there is none.
    """
    if not trusted:
        raise InvalidInput(
            "got domains without --trusted; subagents obey them: add --trusted where"
            " you have read them"
        )
    files = []
    for file in _files_below(folder):
        if _reader_of(file.relative_to(folder).parts) == "domain":
            files.append(file)
    if not files:
        raise InvalidInput(
            f"got {folder}, which has no memory/domains/*/*.md; allowed is a folder"
            " that `theorex facts domain render` wrote"
        )
    options = ImportOptions(
        home.settings,
        home.clock.now(),
        check_agent(agent),
        True,
    )
    reading = _FolderReading(
        home,
        options,
        folder,
        replaces=True,
    )
    return each_file(
        folder,
        files,
        reading.take,
    )


@dataclass
class _ReadFile:
    """A file that was read.

    Attributes:
        path: Its path in the folder, with slashes.
        ours: The path at which the toolkit would write what it says.
        text: Its text.
        event_ids: The ids of the events that were read from it.
        ids: The ids that its records have here, by those that they have in it.
        is_read: Whether it could be read.
        is_erased: Whether something of it was erased here.
        channel: The channel that it is the day of; '' for none.
    """

    path: str
    ours: str
    text: str
    event_ids: list[str] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)
    is_read: bool = False
    is_erased: bool = False
    channel: str = ""


class _FactEntry(NamedTuple):
    """A fact of a file: as it stands there, checked, and its event.

    Attributes:
        known_id: The id of the fact that is here already; '' for none.
    """

    raw: Body
    record: FolderFact
    event_id: str
    known_id: str


@dataclass
class _FolderReading:
    """Read one folder.

    Attributes:
        home: Where it is taken in.
        options: How far it is trusted, and whose it is.
        root: The folder.
        replaces: Whether domains take the place of those that are here.
        ids: The ids that facts and notes have here, by those of the files.
        files: What was read so far.
    """

    home: Home
    options: ImportOptions
    root: Path
    replaces: bool = False
    ids: dict[str, str] = field(default_factory=dict)
    files: list[_ReadFile] = field(default_factory=list)
    made_domains: set[str] = field(default_factory=set)
    new_projects: dict[str, bool] = field(default_factory=dict)

    @cached_property
    def days_here(self) -> dict[tuple[str, str], Counter[str]]:
        """The lines that are here already, by channel and day."""
        days = {}
        for channel_and_day, sections in lines_by_day(self.home).items():
            lines = Counter[str]()
            for section in sections.values():
                lines.update(section)
            days[channel_and_day] = lines
        return days

    @cached_property
    def domains_here(self) -> dict[str, domains.Domain]:
        """The domains that are here already."""
        return domains.domains_of(self.home, everywhere=True)

    def take(
        self,
        file: Path,
        problems: list[str],
    ) -> tuple[int, int]:
        """Read one file in one transaction; return how many records were new and known."""
        parts = self._parts(file)
        text = decoded(read_bounded(self._folder, file))
        entry = _ReadFile(
            "/".join(parts),
            "/".join(parts),
            text,
        )
        readers: dict[str, Callable[[_ReadFile, list[str]], Events]] = {
            "facts": self._facts,
            "note": self._note,
            "day": self._day,
            "domain": self._domain,
            "self": self._self,
            "page": lambda _entry, _problems: iter(()),
        }
        self.files.append(entry)
        events = readers[_reader_of(parts)](entry, problems)
        counts = append_new(self.home.journal, self._noted(entry, events))
        entry.is_read = True
        return counts

    def _noted(
        self,
        entry: _ReadFile,
        events: Events,
    ) -> Events:
        """Yield events, and note whose file they are of."""
        for event, n_records in events:
            entry.event_ids.append(event.id)
            entry.is_erased |= self._is_erased(event.id)
            yield event, n_records

    def _is_erased(self, event_id: str) -> bool:
        events = self.home.journal.read(ids=[event_id], erased=True)
        return any(event.erased for event in events)

    @property
    def _folder(self) -> Path:
        return self.root if self.root.is_dir() else self.root.parent

    def _parts(self, file: Path) -> tuple[str, ...]:
        """Return the parts of a file's path in its folder."""
        if self.root.is_dir():
            return file.relative_to(self.root).parts
        names = file.absolute().parts[-4:]
        return ("life", *names[-3:])

    def _event(
        self,
        kind: str,
        body: Body,
        at: int | None,
        event_id: str,
        *,
        agent: str = "",
        lineage: Sequence[str] = (),
    ) -> Event:
        body = kept_value({"project": self.home.project, **body})
        time = self.options.now if at is None else min(at, self.options.latest)
        return new_event(
            kind,
            body,
            agent=agent or self.options.agent,
            at=time,
            event_id=event_id,
            lineage=lineage,
        )

    def _source(self, raw: Body) -> str:
        return self.options.source(
            raw,
            "trust",
            "agent",
        )

    def _id_now(self, stated: str) -> str:
        return self.ids.get(stated, stated)

    # Facts

    def _facts(
        self,
        entry: _ReadFile,
        problems: list[str],
    ) -> Events:
        document = parsed(entry.text)
        entity = entity_at(entry.path.split("/"), document)
        entry.ours = f"life/{entity}/items.json"
        numbered = []
        for number, raw in enumerate(facts_document(document).records, 1):
            numbered.append((f"fact {number}", raw))
        records = [
            pair
            for _, pair in each_noted(
                problems,
                numbered,
                self._fact_record,
            )
        ]
        with self.home.views.reading(Facts) as view:
            taken = set(view.ids)
        successors = {record.id: record.superseded_by for _, record in records}
        broken = chain_problems(successors, taken)
        for fact_id, problem in broken.items():
            remark = f": {fact_id}: {problem}; nothing stands in its place"
            problems.append(ImportRemark(remark))
        entries = self._settled(
            entity,
            records,
            taken,
        )
        for fact in entries:
            entry.ids[fact.record.id] = self.ids[fact.record.id]
        for fact in entries:
            yield self._fact_event(entity, fact), 1
        yield from self._chains(entries, broken)

    def _fact_record(self, raw: Any) -> tuple[Body, FolderFact]:
        record = upgraded(renamed_members(without_nulls(raw)))
        if "entity" in record:
            check_entity(record["entity"])
        record["trust"] = self._source(record)
        return record, checked(FolderFact, record)

    def _settled(
        self,
        entity: str,
        records: list[tuple[Body, FolderFact]],
        taken: set[str],
    ) -> list[_FactEntry]:
        """Return the facts of a file; each gets its id in this home."""
        here: dict[str, list[Fact]] = {}
        for fact in facts_of(self.home, entity):
            here.setdefault(fact_hash(fact.text), []).append(fact)
        stated_ids = {record.id for _, record in records}
        entries = []
        for raw, record in records:
            event_id = self._event_id(
                "fact",
                raw,
                entity,
                record.id,
                record.fact,
            )
            known_id = self._known_id(event_id, "fact_id")
            if not known_id:
                known_id, event_id = _same_here(
                    here,
                    record,
                    event_id,
                )
            if known_id:
                self.ids[record.id] = known_id
            else:
                self._give_id(
                    record.id,
                    taken,
                    stated_ids,
                )
            taken.add(self.ids[record.id])
            entries.append(
                _FactEntry(
                    raw,
                    record,
                    event_id,
                    known_id,
                )
            )
        return entries

    def _give_id(
        self,
        stated: str,
        taken: set[str],
        others: Container[str],
    ) -> None:
        """Give a record its own id, or the next free one."""
        self.ids[stated] = stated
        if stated in taken:
            self.ids[stated] = free_id(
                stated,
                taken,
                others,
            )

    def _event_id(self, kind: str, raw: Body, *parts: str) -> str:
        """Return the id of a record's event: its own, or one of what it says.

        A file cannot pass its record for another event that is here.
        """
        derived = derived_event_id(
            "engram",
            kind,
            *parts,
        )
        stated = str(raw.get("event", ""))
        if not re.fullmatch(UUID, stated):
            return derived
        for event in self.home.journal.read(ids=[stated], erased=True):
            is_same = event.erased or event.body.get("text") == parts[-1]
            if event.kind != kind or not is_same:
                return derived
        return stated

    def _known_id(
        self,
        event_id: str,
        member: str,
    ) -> str:
        """Return the id of the record that is here by this event; '' for none."""
        for event in self.home.journal.read(ids=[event_id], erased=True):
            return str(event.body.get(member) or event_id)
        return ""

    def _fact_event(
        self,
        entity: str,
        fact: _FactEntry,
    ) -> Event:
        for event in self.home.journal.read(ids=[fact.event_id], erased=True):
            return event
        record = fact.record
        body = {
            "fact_id": self.ids[record.id],
            "entity": entity,
            "text": record.fact,
            "category": record.category,
            "confidence": float(record.confidence),
            "abstraction": record.abstraction_level,
            "tags": record.tags,
            "source": fact.raw["trust"],
            "origin": record.source[:_ORIGIN_CHARACTERS],
            "supersedes": [self._id_now(old) for old in record.supersedes],
            "valid_from": record.valid_from,
            "valid_to": record.valid_to,
            "project": record.project or self.home.project,
        }
        return self._event(
            "fact",
            body,
            record.timestamp,
            fact.event_id,
        )

    def _chains(
        self,
        entries: Sequence[_FactEntry],
        broken: Container[str],
    ) -> Events:
        """Yield what became of the facts of a file.

        Of those that were here it is only what an import may say of them.
        """
        active = {fact.id: fact for fact in facts_of(self.home)}
        for entry in entries:
            record = entry.record
            fact_id = self.ids[record.id]
            if record.status == "superseded" and self._may_end(
                entry, active.get(fact_id)
            ):
                stated = "" if record.id in broken else record.superseded_by
                by = self._id_now(stated)
                event_id = derived_event_id(
                    "superseded",
                    entry.event_id,
                    by,
                )
                body = {
                    "facts": [fact_id],
                    "by": by,
                    "why": "a file says so",
                    "undo": False,
                }
                at = record.superseded_at or record.timestamp
                yield (
                    self._event(
                        "fact_superseded",
                        body,
                        at,
                        event_id,
                    ),
                    0,
                )
            if record.access_count and not entry.known_id:
                n_uses = min(record.access_count, MOST_ACCESSES)
                event_id = derived_event_id("accessed", entry.event_id)
                at = record.last_accessed or record.timestamp
                body = {"facts": [fact_id] * n_uses}
                yield (
                    self._event(
                        "facts_accessed",
                        body,
                        at,
                        event_id,
                    ),
                    0,
                )

    def _may_end(
        self,
        entry: _FactEntry,
        fact: Fact | None,
    ) -> bool:
        """Return whether a file may say that a fact holds no more."""
        if not entry.known_id:
            return True
        if fact is None:
            return False
        return self.options.trusted or fact.source == "import"

    # Notes

    def _note(
        self,
        entry: _ReadFile,
        _problems: list[str],
    ) -> Events:
        raw = without_nulls(parsed(entry.text))
        raw["trust"] = self._source(raw)
        record = checked(FolderNote, raw)
        is_tension = entry.path.startswith("ops/tensions/")
        text = record.tension if is_tension else record.observation
        prefix = "tension" if is_tension else "obs"
        is_named = record.id.startswith(f"{prefix}-")
        if not text or not is_named or (is_tension and not record.fact_refs):
            wanted = "tension and factRefs" if is_tension else "observation"
            raise InvalidInput(
                f"got the note {record.id}, which lacks what it must have; allowed is an"
                f" id such as {prefix}-0001 with {wanted}"
            )
        kind = "tension_noted" if is_tension else "friction_noted"
        event_id = self._event_id(
            kind,
            raw,
            record.id,
            text,
        )
        known_id = self._known_id(event_id, "note_id")
        if known_id:
            self.ids[record.id] = known_id
        else:
            with self.home.views.reading(Notes) as view:
                self._give_id(
                    record.id,
                    set(view.ids),
                    (),
                )
        entry.ids[record.id] = self.ids[record.id]
        folder = entry.path.rpartition("/")[0]
        entry.ours = f"{folder}/{self.ids[record.id]}.json"
        yield from self._note_events(
            entry,
            record,
            raw,
            (kind, event_id),
        )

    def _note_events(
        self,
        entry: _ReadFile,
        record: FolderNote,
        raw: Body,
        named: tuple[str, str],
    ) -> Events:
        """Yield a note, and what became of it."""
        kind, event_id = named
        for event in self.home.journal.read(ids=[event_id], erased=True):
            yield event, 1
            return
        body: Body = {
            "note_id": entry.ids[record.id],
            "text": record.tension or record.observation,
            "source": raw["trust"],
            "project": record.project or self.home.project,
        }
        if kind == "tension_noted":
            body["facts"] = [self._id_now(fact_id) for fact_id in record.fact_refs]
        else:
            body["category"] = record.note_category
        agent = record.given("agent", "")
        yield (
            self._event(
                kind,
                body,
                record.created_at,
                event_id,
                agent=agent,
            ),
            1,
        )
        if record.status == "pending":
            return
        review = {
            "note_id": entry.ids[record.id],
            "status": record.status,
            "fact": self._id_now(record.fact),
            "undo": False,
            "project": body["project"],
        }
        at = record.updated_at or record.created_at
        review_id = derived_event_id("reviewed", event_id)
        yield (
            self._event(
                "note_reviewed",
                review,
                at,
                review_id,
                agent=agent,
            ),
            0,
        )

    # Days

    def _day(
        self,
        entry: _ReadFile,
        problems: list[str],
    ) -> Events:
        day_place = self._day_place(entry.path.split("/"))
        day = day_place.day
        channel = channel_folder(day_place.project or self.home.project)
        entry.ours = f"{DAYS}/{channel}/{day}.md"
        if self._is_new_project(day_place.project):
            entry.channel = day_place.project
        here = Counter(self.days_here.get((channel, day), {}))
        repeated = Counter[str]()
        for number, section, line in _day_lines(entry.text):
            if here[line] > 0:
                here[line] -= 1
                continue
            repeated[line] += 1
            noted = each_noted(
                problems, [(number, line)], self._said_event, section, day_place
            )
            for _, event in noted:
                event_id = derived_event_id(
                    "engram-day", channel, day, line, repeated[line]
                )
                yield event._replace(id=event_id), 1

    def _day_place(self, parts: Sequence[str]) -> "_DayPlace":
        """Return the day of a page, by the parts of its path."""
        folders = [*parts[1:-1]]
        agent = self.options.agent
        match = _AGENT_FOLDER.fullmatch(folders[0]) if folders else None
        if match:
            folders = folders[1:]
            if match[1] != MAIN_CHANNEL:
                agent = match[1]
        project = ""
        if folders and folders[-1] != MAIN_CHANNEL:
            name = folders[-1].removeprefix("_").removesuffix("_")
            project = check_project(name)
        return _DayPlace(
            parts[-1].removesuffix(".md"),
            project,
            agent,
        )

    def _is_new_project(self, project: str) -> bool:
        """Return whether nothing was here of a project before the folder was read.

        A folder does not isolate a project that is in use.
        """
        if project not in self.new_projects:
            events = self.home.journal.tail(0, projects=[project])
            self.new_projects[project] = next(events, None) is None
        return self.new_projects[project]

    def _said_event(
        self,
        line: str,
        section: str,
        place: "_DayPlace",
    ) -> Event:
        """Return what a line of a day says."""
        text = line.strip().removeprefix("- ").removeprefix("* ")
        time = "00:00"
        speaker = place.agent
        match = _SAID.fullmatch(text)
        if match:
            time, speaker, text = match.groups()
        try:
            moment = datetime.fromisoformat(f"{place.day}T{time}")
        except ValueError as error:
            raise InvalidInput(
                f"got the time {place.day} {time}, which is none; allowed is"
                " YYYY-MM-DD and HH:MM"
            ) from error
        zone = zone_of(fact_settings(self.home))
        at = min(to_microseconds(moment.replace(tzinfo=zone)), self.options.latest)
        if speaker == "user":
            source = "user" if self.options.trusted else "import"
            body = {"text": text, "source": source, "project": place.project}
            return self._event(
                "prompt",
                body,
                at,
                "",
            )
        entry = ObservationEntry(
            text,
            speaker,
            at,
            observation_type=_TYPE_OF.get(section, DEFAULT_TYPE),
            source="agent" if self.options.trusted else "import",
            project=place.project or self.home.project,
        )
        return new_observation(
            entry,
            self.home.settings,
            self.options.now,
        )[0]

    # Domains, MEMORY.md and SOUL.md

    def _check_trusted(self, what: str) -> None:
        if not self.options.trusted:
            raise InvalidInput(
                f"got {what} from a file, which agents obey; it is taken with"
                " --trusted alone, and kept as it stands till then"
            )

    def _self(
        self,
        entry: _ReadFile,
        _problems: list[str],
    ) -> Events:
        file = entry.path.removesuffix(".md")
        self._check_trusted(f"lines of {entry.path}")
        here = notes.self_lines(self.home, file)
        for stated in _self_lines(file, entry.text):
            line = check_line(
                self.home,
                stated,
                "agent",
            )
            if line in here:
                continue
            body = {"file": file, "text": line, "undo": False, "source": "agent"}
            yield (
                self._event(
                    "self_added",
                    body,
                    None,
                    derived_event_id(
                        "engram-self",
                        file,
                        line,
                    ),
                ),
                1,
            )

    def _domain(
        self,
        entry: _ReadFile,
        problems: list[str],
    ) -> Events:
        self._check_trusted("a domain")
        _, _, name, file_name = entry.path.split("/")
        file = file_name.removesuffix(".md")
        domain = self.domains_here.get(name)
        source = {"by": "hand", "source": "agent"}
        if domain is None and name not in self.made_domains:
            about = self._registered(name, problems)
            body: Body = {
                "domain": name,
                "file": domains.ABOUT,
                "text": "",
                **about._asdict(),
                **source,
            }
            self.made_domains.add(name)
            event_id = derived_event_id("engram-domain", name)
            yield (
                self._event(
                    "domain_written",
                    body,
                    None,
                    event_id,
                ),
                1,
            )
        text = self._domain_text(
            entry,
            name,
            file,
        )
        change = self._domain_body(
            domain,
            file,
            text,
            problems,
        )
        if change is None:
            return
        last_event = domain.last_event if domain else ""
        event_id = derived_event_id(
            "engram-domain",
            name,
            file,
            last_event,
            text,
        )
        written = {"domain": name, "file": file, **change, **source}
        yield (
            self._event(
                "domain_written",
                written,
                None,
                event_id,
            ),
            1,
        )

    def _domain_body(
        self,
        domain: domains.Domain | None,
        file: str,
        text: str,
        problems: list[str],
    ) -> Body | None:
        """Return what is written of a domain's file; None where nothing is."""
        here = ""
        if domain is not None:
            here = domain.files.get(file, "").rstrip("\n")
        if domain is not None and here == text.rstrip("\n"):
            return None
        if here and text.startswith(f"{here}\n"):
            added = text.removeprefix(here).removeprefix("\n")
            return {"text": added, "append": True}
        if here and not self.replaces:
            problems.append(
                ": it differs from what is here, which stays; `theorex facts domain"
                " import` lets it take that place"
            )
            return None
        return {"text": text, "append": False}

    def _domain_text(
        self,
        entry: _ReadFile,
        name: str,
        file: str,
    ) -> str:
        """Return the text of a domain's file, with what our own archives hold of it."""
        parts = []
        if file == "changelog":
            folder = self._folder / "memory" / "domains" / name / "archives"
            for archive in sorted(folder.glob("changelog-*.md")):
                content = decoded(read_bounded(self._folder, archive))
                lines = content.removesuffix("\n").split("\n")
                is_ours = _ARCHIVE.fullmatch(archive.name) is not None
                if is_ours and len(lines) == ROTATED_LINES:
                    parts += lines
        parts.append(entry.text.removesuffix("\n"))
        return "\n".join(parts)

    def _registered(
        self,
        name: str,
        problems: list[str],
    ) -> domains.DomainFacts:
        """Return what the registry says of a domain, the defaults where it says nothing."""
        registry = self._folder / "memory" / "domains" / "registry.json"
        stated: Any = {}
        if registry.is_file():
            stated = parsed(decoded(read_bounded(self._folder, registry)))
        for key in ("domains", name):
            stated = stated.get(key) if isinstance(stated, dict) else None
        if not isinstance(stated, dict):
            return domains.check_domain(name, {})
        if "kgEntity" in stated:
            stated = {"entity": stated["kgEntity"], **stated}
        try:
            return domains.check_domain(name, stated)
        except InvalidInput as error:
            remark = f": registry.json: {error}; it is taken as a cron-task"
            problems.append(ImportRemark(remark))
            return domains.check_domain(name, {})

    # The files themselves

    def keep_files(self) -> None:
        """Keep the text of each file that the memory does not hold as it stands."""
        computed = {path: text for _, path, text in documents(self.home)}
        earlier = kept_files(self.home)
        events: list[tuple[Event, int]] = []
        for file in self.files:
            before = earlier.get(file.path)
            is_known = before is not None and before.text == file.text
            text = computed.get(file.ours)
            if not is_known and self._is_worth_keeping(file, text):
                events.append((self._kept_event(file, text), 0))
        append_new(self.home.journal, events)

    def _is_worth_keeping(
        self,
        file: _ReadFile,
        computed: str | None,
    ) -> bool:
        """Return whether a file says more than the memory does.

        What was erased here is not kept again. A page stands for what is here only
        where all of that is from it.
        """
        is_summary = file.path.endswith("/summary.md")
        folder = file.path.rpartition("/")[0]
        if file.is_erased or (is_summary and folder in self._erased_folders()):
            return False
        if computed is None or not file.is_read:
            return True
        if computed.rstrip("\n") == file.text.rstrip("\n"):
            return False
        return self._stands_for_all(file, computed)

    def _stands_for_all(
        self,
        file: _ReadFile,
        computed: str,
    ) -> bool:
        """Return whether all that the memory says at a file's place is from the file."""
        reader = _reader_of(file.path.split("/"))
        if reader == "note":
            return file.ours == file.path
        if reader == "self":
            name = file.path.removesuffix(".md")
            lines = {line.rstrip() for line in notes.self_lines(self.home, name)}
            return lines == set(_self_lines(name, file.text))
        if file.path.endswith("/summary.md"):
            facts = facts_of(
                self.home,
                self._entity_of(file),
                active=None,
            )
            fact_ids = {fact.id for fact in facts}
            return fact_ids <= set(self.ids.values())
        if file.path.endswith("/index.json"):
            return _registered_ids(file.text) == _registered_ids(computed)
        return True

    def _erased_folders(self) -> set[str]:
        """Return the folders of entities that lost something by an erasure here."""
        return {
            file.path.rpartition("/")[0]
            for file in self.files
            if file.is_erased and file.path.startswith("life/")
        }

    def _entity_of(self, file: _ReadFile) -> str:
        return check_entity(file.path.removesuffix("/summary.md"))

    def _kept_event(
        self,
        file: _ReadFile,
        computed: str | None,
    ) -> Event:
        """Return the event that keeps a file."""
        body = {
            "path": check_kept_path(file.path),
            "ours": file.ours,
            "text": file.text,
            "digest": "" if computed is None else page_digest(computed),
            "ids": file.ids,
            "lines": self._lines_of(file),
            "is_read": file.is_read,
        }
        event_id = derived_event_id(
            "engram-file",
            file.path,
            page_digest(file.text),
            self.home.journal.last_seq(),
        )
        lineage = self._lineage(file)
        return self._event(
            "file_kept",
            body,
            None,
            event_id,
            lineage=lineage,
        )

    def keep_channels(self) -> None:
        """Make a channel of each chat whose days were read, so that it is isolated."""
        silos = channels.silos(self.home)
        for name in dict.fromkeys(file.channel for file in self.files):
            match = _CHAT.fullmatch(name)
            if match and name not in silos:
                channels.add_channel(
                    self.home,
                    match[1],
                    match[2],
                    group=True,
                )

    def _lineage(self, file: _ReadFile) -> list[str]:
        """Return the ids of the events that a file tells of."""
        if not file.path.endswith("/summary.md"):
            return list(dict.fromkeys(file.event_ids))
        try:
            facts = facts_of(
                self.home,
                self._entity_of(file),
                active=None,
            )
        except InvalidInput:
            return []
        return [fact.event_id for fact in facts]

    def _lines_of(self, file: _ReadFile) -> list[str]:
        """Return what the lines of a day's page are here."""
        if _reader_of(file.path.split("/")) != "day":
            return []
        settings = fact_settings(self.home)
        by_id: Mapping[str, Event] = {
            event.id: event for event in self.home.journal.read(ids=file.event_ids)
        }
        lines = []
        for event_id in file.event_ids:
            line = day_line(by_id[event_id], settings) if event_id in by_id else None
            if line:
                lines.append(line)
        _, channel, day = file.ours.rsplit("/", 2)
        here = self.days_here.get((channel, day.removesuffix(".md")), Counter())
        for _, _, stated in _day_lines(file.text):
            if stated in here:
                lines.append(stated)
        return lines


class _DayPlace(NamedTuple):
    """The day of a page, its project, and whose the lines are that name nobody."""

    day: str
    project: str
    agent: str


def _same_here(
    here: Mapping[str, list[Fact]],
    record: FolderFact,
    event_id: str,
) -> tuple[str, str]:
    """Return the id and the event of an active fact that says exactly the same."""
    for fact in here.get(fact_hash(record.fact), []):
        if record.status == "active" and same_fact(fact.text, record.fact):
            return fact.id, fact.event_id
    return "", event_id


def _day_lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the number, the section and the text of each line that says something."""
    section = DAY_SECTIONS[0]
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("## "):
            section = line.removeprefix("## ").strip()
        is_mark = line.startswith(("#", "<!--"))
        if not is_mark and line.strip(" -*"):
            yield number, section, line


def _self_lines(file: str, text: str) -> list[str]:
    """Return the lines of MEMORY.md or SOUL.md, without its title and remarks."""
    lines = []
    for line in text.splitlines():
        stripped = line.strip()
        is_title = stripped == f"# {file}"
        is_remark = stripped.startswith("<!--") and stripped.endswith("-->")
        if stripped and not is_title and not is_remark:
            lines.append(stripped.removeprefix("- "))
    return lines


def _registered_ids(text: str) -> list[str]:
    """Return the ids that an index.json lists."""
    try:
        document = parsed(text)
    except InvalidInput:
        return []
    if not isinstance(document, dict):
        return []
    all_ids: list[str] = []
    for note_ids in document.values():
        if isinstance(note_ids, list):
            all_ids += map(str, note_ids)
    return all_ids
