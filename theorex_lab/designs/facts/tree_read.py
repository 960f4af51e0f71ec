"""The folders of the facts design, ours and Engram's, taken in: each record becomes the events that would have made it.

A record that cannot be read is named and the others come in. Taking in the same twice changes nothing: a record has one
event id, its own where it was exported here, else one made of what it says. An id that another record has already becomes
the next free one.

First comes what a record must hold, at last what is wrong with folders and with the memory itself, and what can be mended.
"""

import json
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import count
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from theorex_lab.clock import to_microseconds
from theorex_lab.designs.facts import ABSTRACTIONS, CATEGORIES, NOTE_CATEGORIES, notes
from theorex_lab.designs.facts.facts import Facts, facts_of
from theorex_lab.designs.facts.items import fact_settings
from theorex_lab.designs.facts.summaries import zone_of
from theorex_lab.designs.facts.tree_write import MAIN, SECTIONS, said_by_day
from theorex_lab.designs.facts.writing import check_entity
from theorex_lab.errors import InvalidInput
from theorex_lab.exchange import schema
from theorex_lab.exchange.files import Importing, Reports, each_file
from theorex_lab.exchange.flat_files import append_new, each_noted, without_nulls
from theorex_lab.home import Home
from theorex_lab.ids import derived_event_id
from theorex_lab.journal.event import Body, Event, new_event
from theorex_lab.journal.foreign import check_inside, read_file
from theorex_lab.memory.observation import DEFAULT_TYPE, FIX_TYPE, Entry, check_tags, new_observation
from theorex_lab.project import check_project
from theorex_lab.text.doors import kept_value

MOST_ACCESSES = 1_000  # that are taken from a file
_CONFIDENCE = 0.7  # of facts from before confidence was noted
_PATTERNS = ("preference", "relationship")  # categories whose facts were patterns before abstractions were noted


def _whole_time(stated: Any) -> Any:
    """A day stands for its beginning in UTC."""
    return f"{stated}T00:00:00Z" if isinstance(stated, str) and len(stated) == len("2026-01-31") else stated


def _among(names: Sequence[str]) -> FieldInfo:
    return _like(f"^({'|'.join(names)})$", f"one of {', '.join(names)}")


def _like(pattern: str, what: str) -> FieldInfo:
    found: FieldInfo = Field(pattern=pattern, description=what)
    return found


_Day = Field(description="a day, or an ISO 8601 time with an offset")
_Time = Annotated[schema.Time | None, BeforeValidator(_whole_time), _Day]
_Text = Annotated[str, _like(r"(?s)^.{0,500}$", "a text of up to 500 characters")]
_Ids = Annotated[list[str], Field(default_factory=list, description="a list of ids")]
_Tags = Annotated[list[str], AfterValidator(check_tags), Field(description="a list of up to 32 texts")]


class _Record(schema.FileRecord):
    model_config = ConfigDict(alias_generator=to_camel)
    project: Annotated[str, AfterValidator(check_project), Field(description="a project")] = ""


class FactRecord(_Record):
    """A fact of items.json, of the second version."""

    id: Annotated[str, _like(r"^[a-z0-9][a-z0-9-]{0,63}-\d{1,9}$", "a name and a number, such as ann-001")]
    fact: Annotated[str, _like(r"(?s)^.{1,500}$", "a text of 1 to 500 characters")]
    category: Annotated[str, _among(CATEGORIES)] = "context"
    confidence: schema.Share
    abstraction_level: Annotated[str, _among(ABSTRACTIONS)]
    tags: _Tags
    timestamp: _Time = None
    status: Annotated[str, _among(("active", "superseded"))] = "active"
    superseded_by: schema.Text = ""
    superseded_at: _Time = None
    supersedes: _Ids
    access_count: Annotated[int, schema.whole(0)] = 0
    last_accessed: _Time = None
    valid_from: _Time = None
    valid_to: _Time = None
    source: schema.Text = ""


class NoteRecord(_Record):
    """A note of ops/observations or ops/tensions."""

    id: Annotated[str, _like(r"^(obs|tension)-\d{1,9}$", "such as obs-0001 or tension-0001")]
    observation: _Text = ""
    tension: _Text = ""
    category: schema.Text = ""
    status: Annotated[str, _among(notes.STATUSES)] = "pending"
    fact_refs: _Ids
    fact: schema.Text = ""
    created_at: _Time = None
    updated_at: _Time = None
    agent: schema.Agent = "main"

    @property
    def noted(self) -> str:
        """The category of an observation; Engram's code calls `pattern` what its description calls quality."""
        return self.category if self.category in NOTE_CATEGORIES else "quality"


def read_json(path: Path) -> Any:
    """What a JSON file holds, after a byte order mark too. Raises InvalidInput where it is no JSON."""
    try:
        return json.loads(read_file(path).decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not JSON: {error}") from error


def facts_in(document: Any) -> list[Any]:
    """The records of an items.json; the first version was a bare list. Raises InvalidInput for neither."""
    found = document.get("facts", document.get("items")) if isinstance(document, dict) else document
    if not isinstance(found, list):
        raise InvalidInput('got no facts; allowed is a list, or an object with the list "facts"')
    return found


def upgraded(record: dict[str, Any]) -> dict[str, Any]:
    """The record of a fact as the second version has it: with confidence, abstractionLevel and tags where it lacks them."""
    abstraction = "pattern" if record.get("category") in _PATTERNS else "episode"
    new = {"confidence": _CONFIDENCE, "abstractionLevel": abstraction, "tags": list[str]()}
    return {**record, **{key: value for key, value in new.items() if record.get(key) is None}}


def free_like(stated: str, *taken: Container[str]) -> str:
    """The first id with another number, as wide as that of the one that is given, which none of these holds.

    >>> free_like("ann-001", {"ann-001", "ann-002"}, ["ann-003"])
    'ann-004'
    """
    name, _, digits = stated.rpartition("-")
    numbered = (f"{name}-{number:0{len(digits)}d}" for number in count(1))
    return next(id for id in numbered if not any(id in known for known in taken))


def chain_problems(successors: Mapping[str, str], known: Container[str] = ()) -> dict[str, str]:
    """What is wrong with chains of facts, by a fact's id; each has a successor, '' for none. known: ids beside these."""
    found = {}
    for fact_id, successor in successors.items():
        if successor and successor not in successors and successor not in known:
            found[fact_id] = f"supersededBy is {successor!r}, which is no fact that is there"
        members, at = [fact_id], successor
        while at and at not in members:
            members.append(at)
            at = successors.get(at, "")
        if at == fact_id == min(members):
            found[fact_id] = f"the chain {' → '.join([*members, fact_id])} is a circle"
    return found


_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_SAID = re.compile(r"(\d\d:\d\d) ([a-z0-9][a-z0-9._-]{0,63}): (\S.*)")
_DRAWN = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_TYPE_OF = dict(zip(SECTIONS, (DEFAULT_TYPE, "decision", FIX_TYPE), strict=True))  # of what stands in a section
Events = Iterator[tuple[Event, int]]
_FoundFact = tuple[Body, FactRecord, str, Event | None]  # as it stands, its event's id, that if it is here


def import_tree(home: Home, _: object, path: Path, *, agent: str = "main", trust_own: bool = False) -> Reports:
    """Take in a folder, or one items.json; see the module.

    `agent` has the records that name nobody. Unless `trust_own`, everything has the source `import`, and nothing that is here
    from another source is superseded. Raises StorageError on a full disk.
    """
    how = Importing(home.settings, home.clock.now(), agent, trust_own)
    return each_file(path, tree_files(path), _Taking(home, how, path).take)


def tree_files(path: Path) -> list[Path]:
    """The files below a folder that are read, facts first; an items.json is its own."""
    if not path.is_dir():
        return [path] if path.name == "items.json" and path.is_file() else []
    patterns = ("life/*/*/items.json", "ops/*/*.json", *("memory/" + "*/" * depth + "*.md" for depth in range(4)))
    found = dict.fromkeys(file for pattern in patterns for file in sorted(path.glob(pattern)) if _reader(file))
    return [*found, *(file for name in notes.FILES if (file := path / f"{name}.md").is_file())]


def _reader(file: Path) -> str:
    """The method that reads a file, by its place; '' for none."""
    if file.name == "items.json":
        return "_facts"
    if file.parent.name in ("observations", "tensions"):
        return "" if file.name == "index.json" else "_note"
    return "_self" if file.stem in notes.FILES else "_day" if _DAY.fullmatch(file.stem) else ""


class _Taking:
    """Taking in one folder. ids: of facts and notes that had to be given others, by those of the files."""

    def __init__(self, home: Home, how: Importing, root: Path) -> None:
        self.home, self.how, self.root, self.ids = home, how, root, dict[str, str]()
        self.source = "agent" if how.trust_own else "import"
        self.zone, self.said = cache(lambda: zone_of(fact_settings(home))), cache(lambda: said_by_day(home))

    def take(self, file: Path, problems: list[str]) -> tuple[int, int]:
        """Take in one file, in one transaction; how many records were new, and how many known."""
        return append_new(self.home.journal, getattr(self, _reader(file))(file, problems))

    def _event(self, kind: str, body: Body, at: int | None, event_id: str, agent: str = "") -> Event:
        body = kept_value({"project": self.home.project, **body})
        at = min(self.how.now if at is None else at, self.how.latest)
        return new_event(kind, body, agent=agent or self.how.agent, at=at, event_id=event_id)

    def _text(self, file: Path) -> str:
        try:
            check_inside(self.root, file)
            return read_file(file).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidInput(f"not UTF-8: {error}") from error

    def _settle(self, stated: str, event_id: str, key: str, taken: set[str], others: Container[str]) -> Event | None:
        """Give a record its id in this home, its own unless that is taken; its event where it is here already."""
        here = next(iter(self.home.journal.read(ids=[event_id], erased=True)), None)
        own = stated if stated not in taken else free_like(stated, taken, others)
        self.ids[stated] = here.body.get(key, stated) if here else own
        taken.add(self.ids[stated])
        return here

    def _facts(self, file: Path, problems: list[str]) -> Events:
        entity = entity_of(file, document := read_json(file))
        numbered = ((f"fact {number}", record) for number, record in enumerate(facts_in(document), 1))
        read = [given for _, given in each_noted(problems, numbered, self._fact_record)]
        with self.home.views.reading(Facts) as view:
            taken = set(view.ids)
        broken = chain_problems({record.id: record.superseded_by for _, record in read}, taken)
        problems += [f": {fact_id}: {problem}; nothing stands in its place" for fact_id, problem in broken.items()]
        found, stated = [], {record.id for _, record in read}
        for raw, record in read:
            event_id = _event_id(raw, entity, record.id, record.fact)
            found.append((raw, record, event_id, self._settle(record.id, event_id, "fact_id", taken, stated)))
        for raw, record, event_id, here in found:
            body = {} if here else self._fact_body(entity, raw, record)
            yield here or self._event("fact", body, record.timestamp, event_id), 1
        yield from self._chains(found, broken)

    def _chains(self, found: Sequence[_FoundFact], broken: Container[str]) -> Events:
        """What became of the facts of a file. Of those that were here only what an import may say of them."""
        active = {fact.id: fact for fact in facts_of(self.home)}
        times = {record.id: record.timestamp for _, record, *_ in found}
        for _, record, event_id, known in found:
            fact_id, by = self.ids[record.id], "" if record.id in broken else record.superseded_by
            fact = active.get(fact_id) if known else None
            may_end = not known or (fact and (self.how.trust_own or fact.source == "import"))
            if record.status == "superseded" and may_end:
                body = {"facts": [fact_id], "by": self._now(by), "why": "a file says so", "undo": False}
                at, agent = record.superseded_at or times.get(by), fact.agent if fact else ""
                yield self._event("fact_superseded", body, at, derived_event_id("superseded", event_id, by), agent), 0
            if record.access_count and not known:
                body = {"facts": [fact_id] * min(record.access_count, MOST_ACCESSES)}
                at = record.last_accessed or record.timestamp
                yield self._event("facts_accessed", body, at, derived_event_id("accessed", event_id)), 0

    def _fact_record(self, raw: Any) -> tuple[Body, FactRecord]:
        record = upgraded(without_nulls(raw))
        if "entity" in record:
            check_entity(record["entity"])
        record["trust"] = self.how.source(record, "trust", self.source)
        return record, schema.checked(FactRecord, record)

    def _fact_body(self, entity: str, raw: dict[str, Any], record: FactRecord) -> Body:
        return {
            "fact_id": self.ids[record.id], "entity": entity, "text": record.fact, "category": record.category,
            "confidence": float(record.confidence), "abstraction": record.abstraction_level, "tags": record.tags,
            "source": raw["trust"], "origin": record.source[:200],
            "supersedes": [*map(self._now, record.supersedes)], "valid_from": record.valid_from,
            "valid_to": record.valid_to, "project": record.project or self.home.project}  # fmt: skip

    def _note(self, file: Path, _problems: list[str]) -> Events:
        raw = without_nulls(read_json(file))
        record, tension = schema.checked(NoteRecord, raw), file.parent.name == "tensions"
        text = record.tension if tension else record.observation
        if not text or record.id.startswith("tension") != tension or (tension and not record.fact_refs):
            raise InvalidInput(f"got the note {record.id} without a text, or a tension without factRefs; give both")
        event_id = _event_id(raw, record.id, text)
        with self.home.views.reading(notes.Notes) as view:
            known = self._settle(record.id, event_id, "note_id", set(view.ids), ())
        about: Body = {"facts": [*map(self._now, record.fact_refs)]} if tension else {"category": record.noted}
        about |= {"note_id": self.ids[record.id], "project": record.project or self.home.project}
        body = {**about, "text": text, "source": self.how.source(raw, "trust", self.source)}
        kind = "tension_noted" if tension else "friction_noted"
        yield self._event(kind, body, record.created_at, event_id, record.agent), 1
        if record.status != "pending" and not known:
            body = {**about, "status": record.status, "fact": self._now(record.fact), "undo": False}
            reviewed_id = derived_event_id("reviewed", event_id)
            yield self._event("note_reviewed", body, record.updated_at, reviewed_id, record.agent), 0

    def _now(self, stated: str) -> str:
        return self.ids.get(stated, stated)

    def _self(self, file: Path, _problems: list[str]) -> Events:
        here = notes.self_lines(self.home, file.stem)
        for line in notes.lines_in(file.stem, self._text(file)):
            body = {"file": file.stem, "text": line, "undo": False, "source": self.source}
            if line not in here:
                yield self._event("self_added", body, None, derived_event_id("self-file", file.stem, line)), 1

    def _day(self, file: Path, problems: list[str]) -> Events:
        folder, day, section = file.parent.name, file.stem, SECTIONS[0]
        project = "" if folder in (MAIN, "memory") else check_project(folder.removeprefix("_").removesuffix("_"))
        here = Counter(line for lines in self.said().get((folder, day), {}).values() for line in lines)
        seen = Counter[str]()
        for number, line in enumerate(self._text(file).splitlines(), 1):
            if line.startswith(("#", "<!--")) or not line.strip(" -*"):
                section = line.removeprefix("## ").strip() if line.startswith("## ") else section
            elif here[line] > 0:
                here[line] -= 1
            else:
                seen[line] += 1
                for _, event in each_noted(problems, [(number, line)], self._said_event, section, day, project):
                    yield event._replace(id=derived_event_id("day-file", folder, day, line, seen[line])), 1

    def _said_event(self, line: str, section: str, day: str, project: str) -> Event:
        text = line.strip().removeprefix("- ").removeprefix("* ")
        found = _SAID.fullmatch(text)
        time, who, text = found.groups() if found else ("00:00", self.how.agent, text)
        try:
            at = to_microseconds(datetime.fromisoformat(f"{day}T{time}").replace(tzinfo=self.zone()))
        except ValueError as error:
            raise InvalidInput(f"got the time {day} {time}, which is none; allowed is YYYY-MM-DD and HH:MM") from error
        if who == "user":
            body = {"text": text, "source": "user" if self.how.trust_own else "import", "project": project}
            return self._event("prompt", body, at, "")
        kind = _TYPE_OF.get(section, DEFAULT_TYPE)
        at = min(at, self.how.latest)
        entry = Entry(text, who, at, observation_type=kind, source=self.source, project=project)
        return new_observation(entry, self.home.settings, self.how.now)[0]


def entity_of(file: Path, document: Any) -> str:
    """The entity that an items.json is of: by its folders, else as it says itself. Raises InvalidInput for none."""
    space, slug = file.absolute().parts[-3:-1]
    stated = document.get("entity", "") if isinstance(document, dict) else ""
    return check_entity(f"{space}/{slug}" if file.absolute().parts[-4] == "life" else stated)


def _event_id(raw: dict[str, Any], *parts: str) -> str:
    """The id that a record's event had, where that was drawn by chance; else one made of what it says."""
    stated = str(raw.get("event", ""))
    return stated if _DRAWN.fullmatch(stated) else derived_event_id("facts-file", *parts)


class TreeCheck(NamedTuple):
    """How many facts were read, and what is wrong."""

    facts: int
    problems: list[str]


def check_home(home: Home) -> TreeCheck:
    """Check that the chains of the facts here are complete and without a circle."""
    facts = facts_of(home, active=None)
    links = {fact.id: fact.superseded_by for fact in facts}
    found = [f"{fact_id}: {problem}" for fact_id, problem in chain_problems(links).items()]
    lost = [(fact.id, old) for fact in facts for old in fact.supersedes if old not in links]
    found += [f"{fact_id}: it supersedes {old!r}, which is no fact that is there" for fact_id, old in lost]
    return TreeCheck(len(facts), found)
