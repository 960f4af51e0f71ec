"""The folders of the facts design, ours and Engram's, taken in: each record becomes the events that would have made it.

A record that cannot be read is named and the others come in. Taking in the same twice changes nothing: a record has one
event id, its own where it was exported here, else one made of what it says. An id that another record has already becomes
the next free one. Where a domain's file differs from what is here, `theorex import` only adds to it.
"""

import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from datetime import datetime, tzinfo
from functools import cached_property
from pathlib import Path
from typing import Any

from theorex_lab.clock import to_microseconds
from theorex_lab.designs.facts import checks, domains, items, notes, self_notes, summaries, tree_records
from theorex_lab.designs.facts.facts import Facts, facts_of
from theorex_lab.designs.facts.tree_write import MAIN, REGISTRY, SECTIONS, said_by_day, title_of
from theorex_lab.errors import InvalidInput
from theorex_lab.exchange.files import Importing, Reports, each_file
from theorex_lab.exchange.flat_files import append_new, each_noted, without_nulls
from theorex_lab.exchange.schema import checked
from theorex_lab.home import Home
from theorex_lab.ids import derived_event_id
from theorex_lab.journal.event import Body, Event, new_event
from theorex_lab.journal.foreign import check_inside, read_file
from theorex_lab.memory.observation import DEFAULT_TYPE, FIX_TYPE, Entry, new_observation
from theorex_lab.project import check_project
from theorex_lab.text.doors import kept_value

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_SAID = re.compile(r"(\d\d:\d\d) ([a-z0-9][a-z0-9._-]{0,63}): (\S.*)")
_DRAWN = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_TYPE_OF = dict(zip(SECTIONS, (DEFAULT_TYPE, "decision", FIX_TYPE), strict=True))  # of what stands in a section
Events = Iterator[tuple[Event, int]]
_FoundFact = tuple[Body, tree_records.FactRecord, str, Event | None]  # as it stands, its event's id, that if it is here


def import_tree(home: Home, _: object, path: Path, *, agent: str = "main", trust_own: bool = False) -> Reports:
    """Take in a folder, or one items.json; see the module.

    `agent` has the records that name nobody. Unless `trust_own`, everything has the source `import`, and nothing that is here
    from another source is superseded. Raises StorageError on a full disk.
    """
    how = Importing(home.settings, home.clock.now(), agent, trust_own)
    return each_file(path, tree_files(path), _Taking(home, how, path).take)


def import_domains(home: Home, folder: Path, *, agent: str = "main", trust_own: bool = False) -> Reports:
    """Take in what was edited by hand below memory/domains/ of a folder: it stands in the place of what is here."""
    how = Importing(home.settings, home.clock.now(), agent, trust_own)
    files = [file for file in tree_files(folder) if _reader(file) == "_domain"]
    return each_file(folder, files, _Taking(home, how, folder, replace=True).take)


def tree_files(path: Path) -> list[Path]:
    """The files below a folder that are read, facts first; an items.json is its own."""
    if not path.is_dir():
        return [path] if path.name == "items.json" and path.is_file() else []
    patterns = ("life/*/*/items.json", "ops/*/*.json", *("memory/" + "*/" * depth + "*.md" for depth in range(4)))
    found = dict.fromkeys(file for pattern in patterns for file in sorted(path.glob(pattern)) if _reader(file))
    return [*found, *(file for name in self_notes.FILES if (file := path / f"{name}.md").is_file())]


def _reader(file: Path) -> str:
    """The method that reads a file, by its place; '' for none."""
    if file.name == "items.json":
        return "_facts"
    if file.parent.name in ("observations", "tensions"):
        return "" if file.name == "index.json" else "_note"
    if file.parent.parent.name == "domains":
        return "_domain" if file.stem in domains.FILES else ""
    return "_self" if file.stem in self_notes.FILES else "_day" if _DAY.fullmatch(file.stem) else ""


class _Taking:
    """Taking in one folder. ids: of facts and notes that had to be given others, by those of the files."""

    def __init__(self, home: Home, how: Importing, root: Path, *, replace: bool = False) -> None:
        self.home, self.how, self.root, self.replace, self.ids = home, how, root, replace, dict[str, str]()
        self.source = "agent" if how.trust_own else "import"

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
        own = stated if stated not in taken else tree_records.free_like(stated, taken, others)
        self.ids[stated] = here.body.get(key, stated) if here else own
        taken.add(self.ids[stated])
        return here

    def _facts(self, file: Path, problems: list[str]) -> Events:
        document, _ = tree_records.read_marked_json(file)
        entity, records = entity_of(file, document), tree_records.facts_in(document)[0]
        numbered = ((f"fact {number}", record) for number, record in enumerate(records, 1))
        read = [given for _, given in each_noted(problems, numbered, self._fact_record)]
        with self.home.views.reading(Facts) as view:
            taken = set(view.ids)
        broken = tree_records.chain_problems({record.id: record.superseded_by for _, record in read}, taken)
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
                body = {"facts": [fact_id] * min(record.access_count, tree_records.MOST_ACCESSES)}
                at = record.last_accessed or record.timestamp
                yield self._event("facts_accessed", body, at, derived_event_id("accessed", event_id)), 0

    def _fact_record(self, raw: Any) -> tuple[Body, tree_records.FactRecord]:
        record = tree_records.upgraded(without_nulls(raw))
        if "entity" in record:
            checks.check_entity(record["entity"])
        record["trust"] = self.how.source(record, "trust", self.source)
        return record, checked(tree_records.FactRecord, record)

    def _fact_body(self, entity: str, raw: dict[str, Any], record: tree_records.FactRecord) -> Body:
        return {
            "fact_id": self.ids[record.id], "entity": entity, "text": record.fact, "category": record.category,
            "confidence": float(record.confidence), "abstraction": record.abstraction_level, "tags": record.tags,
            "source": raw["trust"], "origin": record.source[:200],
            "supersedes": [*map(self._now, record.supersedes)], "valid_from": record.valid_from,
            "valid_to": record.valid_to, "project": record.project or self.home.project}  # fmt: skip

    def _note(self, file: Path, _problems: list[str]) -> Events:
        raw = without_nulls(tree_records.read_marked_json(file)[0])
        record, tension = checked(tree_records.NoteRecord, raw), file.parent.name == "tensions"
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
        here = self_notes.self_lines(self.home, file.stem)
        for line in self_notes.lines_in(file.stem, self._text(file)):
            body = {"file": file.stem, "text": line, "undo": False, "source": self.source}
            if line not in here:
                yield self._event("self_added", body, None, derived_event_id("self-file", file.stem, line)), 1

    def _domain(self, file: Path, problems: list[str]) -> Events:
        name, kind = file.parent.name, file.stem
        domain = self._domains.get(name)
        body = {"domain": name, "by": "hand", "source": self.source, "append": False, "text": ""}
        if domain is None:
            about = {"file": "domain", **domains.check_stated(name, self._stated(file.parent.parent / REGISTRY, name))}
            yield self._event("domain_written", {**body, **about}, None, derived_event_id("domain-file", name)), 1
        parts = [*sorted(file.parent.glob(f"archives/{kind}-*.md")), file]
        lines = [line for part in parts for line in _untitled(name, kind, self._text(part))]
        here = domain.files[kind] if domain else []
        adds = lines[: len(here)] == here
        if lines == here:
            return
        if not adds and not self.replace:
            problems.append(": it differs from what is here; `theorex fact domain import` takes it in its place")
            return
        text = "\n".join(lines[len(here) :] if adds else lines)
        event_id = derived_event_id("domain-file", name, kind, domain.last_event if domain else "", text)
        yield self._event("domain_written", {**body, "file": kind, "text": text, "append": adds}, None, event_id), 1

    def _stated(self, registry: Path, name: str) -> dict[str, Any]:
        """What the registry says of a domain; nothing where it has another shape."""
        check_inside(self.root, registry)
        found = tree_records.read_marked_json(registry)[0] if registry.is_file() else {}
        for key in ("domains", name):
            found = found.get(key) if isinstance(found, dict) else None
        return found if isinstance(found, dict) else {}

    def _day(self, file: Path, problems: list[str]) -> Events:
        folder, day, section = file.parent.name, file.stem, SECTIONS[0]
        project = "" if folder in (MAIN, "memory") else check_project(folder.removeprefix("_").removesuffix("_"))
        here = Counter(line for lines in self._said.get((folder, day), {}).values() for line in lines)
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
            at = to_microseconds(datetime.fromisoformat(f"{day}T{time}").replace(tzinfo=self._zone))
        except ValueError as error:
            raise InvalidInput(f"got the time {day} {time}, which is none; allowed is YYYY-MM-DD and HH:MM") from error
        if who == "user":
            body = {"text": text, "source": "user" if self.how.trust_own else "import", "project": project}
            return self._event("prompt", body, at, "")
        kind = _TYPE_OF.get(section, DEFAULT_TYPE)
        at = min(at, self.how.latest)
        entry = Entry(text, who, at, observation_type=kind, source=self.source, project=project)
        return new_observation(entry, self.home.settings, self.how.now)[0]

    @cached_property
    def _zone(self) -> tzinfo:
        return summaries.zone_of(items.fact_settings(self.home))

    @cached_property
    def _domains(self) -> dict[str, domains.Domain]:
        return domains.domains_of(self.home, everywhere=True)

    @cached_property
    def _said(self) -> dict[tuple[str, str], dict[str, list[str]]]:
        return said_by_day(self.home)


def entity_of(file: Path, document: Any) -> str:
    """The entity that an items.json is of: by its folders, else as it says itself. Raises InvalidInput for none."""
    space, slug = file.absolute().parts[-3:-1]
    stated = document.get("entity", "") if isinstance(document, dict) else ""
    return checks.check_entity(f"{space}/{slug}" if file.absolute().parts[-4] == "life" else stated)


def _event_id(raw: dict[str, Any], *parts: str) -> str:
    """The id that a record's event had, where that was drawn by chance; else one made of what it says."""
    stated = str(raw.get("event", ""))
    return stated if _DRAWN.fullmatch(stated) else derived_event_id("facts-file", *parts)


def _untitled(name: str, kind: str, text: str) -> list[str]:
    lines = text.strip("\n").splitlines()
    return lines[2:] if lines[:1] == [title_of(name, kind)] else lines
