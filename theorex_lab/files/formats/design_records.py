"""The records of a design as lines of one file, and back.

The layouts that documents print lack much of what a design knows: who replaced what, in
which project, what was merged. So each design also has a file of our own in an export,
such as `facts.jsonl`. A line is one entry of the design in the journal:

    {"kind": "…", "id": "…", "timestamp": "…", "agent_id": "main", "session_id": "",
     "lineage": ["…"], "body": {…}}

Entries of the journal are numbered, and some bodies name such a number (`upto`). Other
homes number otherwise, so a number in the file says how many of its lines are meant.

A record that comes in keeps its id, its time, its agent, its session and its project.
It may speak of what came in with it, and of nothing else: a file never changes what is
here already.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent
from theorex_lab.files.formats.flat_files import (
    FlatRecord,
    each_noted,
    read_lines,
)
from theorex_lab.files.formats.reports import (
    Exported,
    ImportOptions,
    Reports,
    each_file,
)
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import (
    FIELDS,
    Body,
    Event,
    check_event,
    encode,
    new_event,
    readable,
)
from theorex_lab.memory.contract import Design, FileLayout, Home
from theorex_lab.text.redact.redaction_scope import kept_value

_LOOKED_UP_AT_ONCE = 500
_ID_CHARACTERS = 400
# A thing of a design: what sort of thing it is, such as a fact, and its id.
Thing = tuple[str, str]
Numbers = Callable[[int], int]


class OwnThing(NamedTuple):
    """The thing that a record makes, or states again.

    Attributes:
        sort: What sort of thing it is, such as a fact.
        id_of: Returns its id.
        with_id: Returns the body with another id of it, None where the id may not be
            changed.
    """

    sort: str
    id_of: Callable[[Event], str]
    with_id: Callable[[Body, str], Body] | None = None


def member_id(sort: str, member: str, *, can_change: bool = False) -> OwnThing:
    """Return the thing whose id is a member of the body.

    Args:
        sort: What sort of thing it is.
        member: The member; of one inside of another both names, with a dot between.
        can_change: Whether another id is given where this one is taken.
    """
    names = member.split(".")

    def id_of(event: Event) -> str:
        value: Any = event.body
        for name in names:
            value = value[name]
        return str(value)

    def with_id(body: Body, thing_id: str) -> Body:
        return {**body, member: thing_id}

    return OwnThing(sort, id_of, with_id if can_change else None)


@dataclass(frozen=True)
class RecordKind:
    """How records of one kind are written and read.

    Attributes:
        thing: The thing that such a record makes or states again.
        read: Checks a body that comes in, and returns it with the things that it may
            speak of; None where nothing of it is left.
        needs_trust: Whether it comes in with --trusted alone.
        renumber: Returns a body with other numbers of entries.
    """

    thing: OwnThing | None = None
    read: Callable[["RecordReading", Event], Body | None] | None = None
    needs_trust: bool = False
    renumber: Callable[[Body, Numbers], Body] | None = None


RecordKinds = Mapping[str, RecordKind]


@dataclass(frozen=True)
class DesignRecords:
    """What an export holds of a design.

    Attributes:
        kinds: The kinds of its records.
        events: Returns the entries that are written; None for all of these kinds.
    """

    kinds: RecordKinds
    events: Callable[[Home], Iterable[Event]] | None = None


def record_layout(design: Design) -> FileLayout:
    """Return the file of a design's records."""
    name = _file_name(design)
    return FileLayout(
        name,
        export=partial(export_records, design=design),
        files_of=partial(_files_of, name),
        take=partial(import_records, design=design),
    )


def _file_name(design: Design) -> str:
    return f"{design.name}.jsonl"


def _files_of(name: str, path: Path) -> list[Path]:
    """Return the file of this name in a folder, or the file itself."""
    file = path / name if path.is_dir() else path
    if file.name == name and file.exists():
        return [file]
    return []


def _records_of(design: Design) -> DesignRecords:
    assert design.records is not None
    records: DesignRecords = design.records()
    return records


def export_records(
    home: Home,
    _searcher: object,
    folder: Path,
    *,
    design: Design,
    agent: str | None = None,
) -> Exported:
    """Write the records of a design; nothing where it has none.

    Args:
        home: Whose records they are.
        folder: Where the file goes.
        design: The design.
        agent: Only the records of this agent; None: of all.

    Raises:
        StorageError: The file cannot be written.
    """
    exported = Exported(folder)
    records = _records_of(design)
    lines = _record_lines(home, records, agent)
    first = next(lines, None)
    if first is not None:
        exported.write(_file_name(design), chain([first], lines))
    return exported


def _record_lines(
    home: Home, records: DesignRecords, agent: str | None
) -> Iterator[FlatRecord]:
    """Yield the records, in the order of the journal."""
    if records.events is None:
        events: Iterable[Event] = home.journal.tail(0, kinds=[*records.kinds])
    else:
        events = records.events(home)
    seqs: list[int] = []
    for event in events:
        if agent not in (None, event.agent):
            continue
        body = event.body
        renumber = records.kinds[event.kind].renumber
        if renumber is not None:
            body = renumber(body, partial(bisect_right, seqs))
        seqs.append(event.seq)
        yield {
            "kind": event.kind,
            "id": event.id,
            "timestamp": to_iso(event.at),
            "agent_id": event.agent,
            "session_id": event.session,
            "lineage": list(event.lineage),
            "body": body,
        }


def import_records(
    home: Home,
    _searcher: object,
    path: Path,
    *,
    design: Design,
    agent: str = "main",
    trusted: bool = False,
) -> Reports:
    """Import the records of a design, in one transaction.

    Lines that cannot be read are reported, and the others are imported. References to
    entries that are neither here nor in the file are left out and counted.

    Args:
        home: Where the records go.
        path: The folder, or the file.
        design: The design.
        agent: Whose the records are that name nobody.
        trusted: Whether sources are kept. Otherwise all has the source `import`.

    Raises:
        StorageError: The records cannot be written.
    """
    options = ImportOptions(
        home.settings, home.clock.now(), check_agent(agent), trusted
    )
    kinds = _records_of(design).kinds
    n_unlinked = 0

    def take(file: Path, problems: list[str]) -> tuple[int, int]:
        nonlocal n_unlinked
        reading = RecordReading(home, kinds, options, problems)
        counts = reading.take(file)
        n_unlinked += reading.n_unlinked
        return counts

    reports = each_file(path, _files_of(_file_name(design), path), take)
    for report in reports:
        report.unlinked = n_unlinked
    return reports


class RecordReading:
    """Read the records of a design.

    Attributes:
        home: Where they go.
        options: How far the file is believed.
        n_unlinked: How many references were left out.
    """

    def __init__(
        self,
        home: Home,
        kinds: RecordKinds,
        options: ImportOptions,
        problems: list[str],
    ) -> None:
        self.home = home
        self.options = options
        self.n_unlinked = 0
        self._kinds = kinds
        self._problems = problems
        # What is here, and whether only an import told it.
        self._here: dict[Thing, bool] = {}
        # By its id in the file, the id here of what came in; '' where it may not be
        # changed.
        self._ids: dict[Thing, str] = {}
        # The ids that are taken by names without their numbers.
        self._last_numbers: dict[Thing, int] = {}
        self._line_numbers: list[int] = []
        self._seqs: list[int] = []
        self._last_seq = 0

    @property
    def trusted(self) -> bool:
        """Whether the file is the reader's own."""
        return self.options.trusted

    def link(self, sort: str, thing_id: str) -> str:
        """Return the id here of a thing of the file; '' for what did not come in."""
        if not thing_id:
            return ""
        linked = self._ids.get((sort, thing_id), "")
        if not linked:
            self.n_unlinked += 1
        return linked

    def links(self, sort: str, thing_ids: Iterable[str]) -> list[str]:
        """Return the ids here of those things of the file that came in."""
        linked = [self.link(sort, thing_id) for thing_id in thing_ids]
        return [thing_id for thing_id in linked if thing_id]

    def need(self, sort: str, thing_id: str) -> str:
        """Return the id here of a thing of the file.

        Raises:
            InvalidInput: It did not come in with this file.
        """
        linked = self._ids.get((sort, thing_id), "")
        if not linked:
            raise InvalidInput(
                f"it speaks of a {sort} that did not come in with this file; it is left"
                " out"
            )
        return linked

    def mention(self, sort: str, thing_id: str) -> str:
        """Return the id here of a thing; with trust it may be here already."""
        if self.trusted and (sort, thing_id) not in self._ids:
            return thing_id
        return self.link(sort, thing_id)

    def take(self, file: Path) -> tuple[int, int]:
        """Append the new records; return how many are new, and how many were here.

        Raises:
            StorageError: They cannot be written.
        """
        lines = read_lines(file, self._problems)
        events = list(each_noted(self._problems, lines, self._event))
        journal = self.home.journal
        n_known = 0
        n_new = 0
        with journal.exclusive() as append:
            self._last_seq = journal.last_seq()
            self._look_around()
            ids = [event.id for _, event in events]
            stored = _stored(journal, ids)
            linkable = _stored(journal, _lineage_ids(events))
            for where, event in events:
                if event.id in stored:
                    n_known += 1
                    self._note_stored(where, event, stored[event.id])
                    continue
                taken = self._taken(where, event, linkable)
                if taken is None:
                    continue
                seq = append(taken)
                n_new += 1
                recorded = taken._replace(seq=seq)
                stored[event.id] = recorded
                linkable[event.id] = recorded
                self._note_seq(where, seq)
        return n_new, n_known

    def _event(self, record: FlatRecord) -> Event:
        """Return the entry that a line states.

        Raises:
            InvalidInput: The line is outside the rules.
            NewerVersion: A later release wrote it.
        """
        from theorex_lab.files.formats.records import StatedRecord
        from theorex_lab.files.formats.schema import checked

        encode(record)  # refuses numbers and texts that no entry can hold
        stated = checked(StatedRecord, record)
        if stated.kind not in self._kinds:
            raise InvalidInput(
                f"kind is {stated.kind!r:.60}; allowed are {', '.join(self._kinds)}"
            )
        if "erased" in stated.body:
            raise InvalidInput("body has the member erased; allowed is none so named")
        body = self._sourced(stated.kind, kept_value(stated.body))
        event = Event(
            seq=0,
            id=stated.id,
            at=stated.timestamp,
            agent=stated.given("agent_id", self.options.agent),
            session=stated.session_id,
            kind=stated.kind,
            lineage=tuple(stated.lineage),
            body=body,
        )
        current = readable(event)
        if current.erased:
            raise InvalidInput(f"in the body {current.set_aside}")
        self._check_id(current)
        return current

    def _sourced(self, kind: str, body: Body) -> Body:
        """Return the body with the source `import`, unless the file is trusted."""
        fields = FIELDS.get(kind, {})
        has_source = "source" in fields or "source?" in fields
        if self.trusted or not has_source:
            return body
        return {**body, "source": "import"}

    def _check_id(self, event: Event) -> None:
        """Raise InvalidInput where the id of the event's thing is outside the rules."""
        thing = self._thing_of(event)
        if thing is None:
            return
        sort, thing_id = thing
        plain = thing_id.replace("\0", "")
        if not plain.isprintable() or not 0 < len(thing_id) <= _ID_CHARACTERS:
            raise InvalidInput(
                f"the id of the {sort} is {thing_id!r:.60}; allowed are 1 to"
                f" {_ID_CHARACTERS} printable characters"
            )

    def _thing_of(self, event: Event) -> Thing | None:
        """Return the thing that an entry makes or states again."""
        own_thing = self._kinds[event.kind].thing
        if own_thing is None:
            return None
        return own_thing.sort, own_thing.id_of(event)

    def _look_around(self) -> None:
        """Note which things are here already."""
        kinds = [name for name, kind in self._kinds.items() if kind.thing is not None]
        for event in self.home.journal.tail(0, kinds=kinds):
            thing = self._thing_of(event)
            if thing is not None:
                is_import = event.body.get("source") == "import"
                self._here[thing] = is_import and self._here.get(thing, True)
                self._note_number(thing)

    def _note_number(self, thing: Thing) -> None:
        """Note the number at the end of the id of a thing."""
        sort, thing_id = thing
        name, _, digits = thing_id.rpartition("-")
        if digits.isdecimal():
            key = (sort, name)
            self._last_numbers[key] = max(self._last_numbers.get(key, 0), int(digits))

    def _note_stored(self, where: int | str, event: Event, stored: Event) -> None:
        """Note under which id the thing of a record that is here stands here."""
        self._note_seq(where, stored.seq)
        thing = self._thing_of(event)
        if thing is None or stored.kind != event.kind or stored.erased:
            return
        stored_thing = self._thing_of(stored)
        assert stored_thing is not None
        may_change = self.trusted or self._here.get(stored_thing, True)
        self._ids[thing] = stored_thing[1] if may_change else ""

    def _note_seq(self, where: int | str, seq: int) -> None:
        """Note which line of the file became which entry."""
        assert isinstance(where, int)
        self._line_numbers.append(where)
        self._seqs.append(seq)
        self._last_seq = max(self._last_seq, seq)

    def _number(self, n_lines: int) -> int:
        """Return the number of the last entry before the line that follows so many."""
        position = bisect_right(self._line_numbers, n_lines)
        if position == len(self._seqs):
            return self._last_seq
        return self._seqs[position] - 1

    def _taken(
        self, where: int | str, event: Event, linkable: Mapping[str, Event]
    ) -> Event | None:
        """Return a new record as it is kept here; None where it is left out."""
        pairs = each_noted(self._problems, [(where, event)], self._adopted, linkable)
        for _, adopted in pairs:
            return self.options.believed(adopted, self._problems, where)
        return None

    def _adopted(self, event: Event, linkable: Mapping[str, Event]) -> Event | None:
        """Return a new record as it is kept here.

        Raises:
            InvalidInput: It is left out.
        """
        kind = self._kinds[event.kind]
        if kind.needs_trust and not self.trusted:
            raise InvalidInput(
                f"records of the kind {event.kind} come in with --trusted alone"
            )
        lineage = self._lineage(event, linkable)
        body: Body | None = event.body
        if kind.renumber is not None:
            body = kind.renumber(event.body, self._number)
            event = event._replace(body=body)
        if kind.read is not None:
            body = kind.read(self, event)
        if body is None:
            return None
        if kind.thing is not None:
            body = self._claimed(kind.thing, event, body)
        adopted = new_event(
            event.kind,
            body,
            agent=event.agent,
            at=event.at,
            session=event.session,
            lineage=lineage,
            event_id=event.id,
        )
        check_event(adopted)
        return adopted

    def _lineage(self, event: Event, linkable: Mapping[str, Event]) -> list[str]:
        """Return the references of a record to entries that are here.

        Raises:
            InvalidInput: One of these was erased.
        """
        lineage = [event_id for event_id in event.lineage if event_id in linkable]
        self.n_unlinked += len(event.lineage) - len(lineage)
        for event_id in lineage:
            is_erased = linkable[event_id].erased
            if is_erased and not linkable[event_id].set_aside:
                raise InvalidInput("it rests on what was erased here; it is left out")
        return lineage

    def _claimed(self, own_thing: OwnThing, event: Event, body: Body) -> Body:
        """Return the body with an id for its thing that no other thing here has.

        Raises:
            InvalidInput: The thing is here already, and not from this file.
        """
        thing = (own_thing.sort, own_thing.id_of(event))
        if thing in self._ids:
            if not self._ids[thing]:
                raise InvalidInput(
                    f"the {own_thing.sort} that it changes is here already, and not from a"
                    " file; with --trusted it comes in"
                )
            thing_id = self._ids[thing]
        elif thing not in self._here:
            thing_id = thing[1]
        elif own_thing.with_id is None:
            raise InvalidInput(
                f"a {own_thing.sort} of its id is here already, and stays as it is"
            )
        else:
            thing_id = self._free_id(thing)
        self._ids[thing] = thing_id
        self._here[own_thing.sort, thing_id] = not self.trusted
        self._note_number((own_thing.sort, thing_id))
        if thing_id != thing[1] and own_thing.with_id is not None:
            return own_thing.with_id(body, thing_id)
        return body

    def _free_id(self, thing: Thing) -> str:
        """Return the next free id of those that differ in their number alone."""
        sort, thing_id = thing
        name, _, digits = thing_id.rpartition("-")
        number = self._last_numbers[sort, name] + 1
        return f"{name}-{number:0{len(digits)}d}"


def _lineage_ids(events: Iterable[tuple[object, Event]]) -> list[str]:
    """Return the ids that lineages name, each once."""
    ids: dict[str, None] = {}
    for _, event in events:
        ids.update(dict.fromkeys(event.lineage))
    return list(ids)


def _stored(journal: Journal, ids: list[str]) -> dict[str, Event]:
    """Return by id those of these entries that are here."""
    stored: dict[str, Event] = {}
    for start in range(0, len(ids), _LOOKED_UP_AT_ONCE):
        batch = ids[start : start + _LOOKED_UP_AT_ONCE]
        for event in journal.read(ids=batch, erased=True):
            stored[event.id] = event
    return stored
