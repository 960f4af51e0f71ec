"""A journal as one file of events, and back; the file is that of `exchange.events_file`.

With `trust_own` the file is taken as it is, and into an empty home gives the same journal: seqs, ids, times, lineage.
Where other events are there already, new ones get the seqs that follow: seqs in bodies are rewritten (erasure.first_seqs,
salvaged.lost, and those of the designs, `design.EventsPart`), and ids that are derived from seqs become others, for an own
step would find its id taken. The names of segments in `archived` stay as they were: bodies come whole, and no segment is
needed. Without `trust_own` sentences come in alone, with the source `import`. Settings and vectors are not in the file.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import chain, count, islice
from pathlib import Path
from tempfile import TemporaryDirectory

from theorex_lab.design import Design
from theorex_lab.errors import InvalidInput, StorageError
from theorex_lab.exchange.events_file import Header, read_events, read_header, write_events
from theorex_lab.exchange.files import Importing, heard_id, refuse_to_replace
from theorex_lab.exchange.flat_files import merged, without_nulls
from theorex_lab.home import Home
from theorex_lab.ids import check_agent, derived_event_id
from theorex_lab.journal.event import Event
from theorex_lab.text.doors import door

_MOST_PROBLEMS = 10_000
_AT_ONCE = 1_000
Progress = Callable[[int], None]


@dataclass
class EventsReport:
    """What became of a file's events: taken in, there already, left out by kind; and what was refused, by event."""

    file: str
    dry_run: bool = False
    imported: int = 0
    known: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def leave_out(self, kind: str) -> None:
        """Count an event that is not taken in."""
        self.left_out[kind] = self.left_out.get(kind, 0) + 1

    def refused(self, event: Event, reason: str) -> None:
        """Note why an event was not taken in."""
        self.leave_out(event.kind)
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(f"{self.file}:{event.seq}: {reason}")


def export_events(
    home: Home, path: Path, *, agent: str | None = None, replace: bool = False, progress: Progress | None = None
) -> Header:
    """Write all events of the journal, or an agent's, into one file; what was erased is a stub without its body.

    In a home of a project those of it, and what they alone led to; what was erased is left out there.

    progress: called with the number of events done.  Raises FilesThere where the file is there, unless `replace` is given,
    InvalidInput for a name that ends otherwise than in .jsonl or .jsonl.gz, StorageError where it cannot be written, or
    where something was erased meanwhile.
    """
    if not replace:
        refuse_to_replace([path])
    owner = None if agent is None else check_agent(agent)
    return write_events(path, _stored(home, owner, progress))


def _stored(home: Home, agent: str | None, progress: Progress | None) -> Iterator[Event]:
    """The events as the file has them."""
    journal = home.journal
    last = journal.last_seq()
    is_wanted = _of_project(home.project)
    for event in journal.tail(0, upto=last, erased=True):
        if is_wanted(event) and agent in (None, event.agent):
            yield event._replace(session="", body={"erased": 1}) if event.erased else event
        if progress:
            progress(event.seq)
    if any(journal.tail(last, kinds=["erasure"], erased=True)):
        raise StorageError("something was erased while it was exported; nothing was written: export again")


def _of_project(project: str) -> Callable[[Event], bool]:
    """Whether an event, asked of in journal order, is of the project: it says so, or all that it was derived from is. Of '' all are."""
    if not project:
        return lambda _: True
    kept: set[str] = set()

    def is_wanted(event: Event) -> bool:
        derived = "project" not in event.body and bool(event.lineage) and kept.issuperset(event.lineage)
        if event.erased or not (derived or event.body.get("project") == project):
            return False
        kept.add(event.id)
        return True

    return is_wanted


@contextmanager
def narrowed(home: Home) -> Iterator[Home]:
    """A home of its own, gone afterwards, that holds only what is of the project of this one."""
    with TemporaryDirectory(prefix="theorex-") as folder:
        file = Path(folder) / "events.jsonl"
        export_events(home, file)
        other = Home(
            Path(folder) / "home", settings=home.settings, clock=home.clock, embedder=home.embedder,
            designs=lambda: home.designs,
        )  # fmt: skip
        try:
            import_events(other, file, trust_own=True)
            yield other
        finally:
            other.journal.close()


def import_events(
    home: Home, path: Path, *, trust_own: bool = False, dry_run: bool = False, keep_secrets: bool = False,
    progress: Progress | None = None,
) -> EventsReport:  # fmt: skip
    """Take in the events of a file; those that are there already stay as they are.

    The file is read to its end and checked first. Then each thousand of its events is one transaction, so that who else
    writes waits for no more than these; an import that was killed is repeated, and does the rest. What is erased here
    stays so, and what rests on it is not taken in. A `dry_run` writes nothing.

    Raises InvalidInput for a file that is damaged, cut or no file of events, or that `trust_own` is asked for though it has
    no header, and NewerVersion for events of a later release; nothing was written then. Raises StorageError on a full disk.
    """
    header = read_header(path)
    if trust_own and header is None:
        raise InvalidInput(
            f"got {path} without the header of an export, so that nobody can tell whether it is whole; leave out --trust-own"
        )
    report = EventsReport(path.name, dry_run)
    taken = _Import(home, trust_own, report, progress or (lambda _: None))  # from here on the designs' kinds are known
    for _ in read_events(path, header):
        pass  # what is damaged is refused before anything is written
    events, seqs = read_events(path, header), count(home.journal.last_seq() + 1)
    with door(keep_secrets=keep_secrets):
        for first in events:
            with nullcontext(lambda _: next(seqs)) if dry_run else home.journal.exclusive() as append:
                taken.some(chain([first], islice(events, _AT_ONCE - 1)), append)
    report.problems = merged(report.problems)
    return report


class _Import:
    """Takes events in, one by one, and tells how many are done."""

    def __init__(self, home: Home, trust_own: bool, report: EventsReport, progress: Progress) -> None:
        self._journal, self._designs, self._report, self._progress = home.journal, home.designs, report, progress
        self._taking = Own(home.designs) if trust_own else Heard(home)
        self._gone: set[str] = set()  # ids of what was erased here
        self._stubs: set[str] = set()  # ids of what was erased in one's own file: what rests on it came after
        self._looked = self._done = 0

    def some(self, events: Iterable[Event], append: Callable[[Event], int]) -> None:
        """Take in these events."""
        for erasure in self._journal.tail(self._looked, kinds=["erasure"]):
            self._gone.update(erasure.body["ids"])
        self._looked = self._journal.last_seq()
        for event in events:
            self._one(event, append)
            self._done += 1
            self._progress(self._done)

    def _one(self, event: Event, append: Callable[[Event], int]) -> None:
        if event.erased and isinstance(self._taking, Own):
            self._stubs.add(event.id)
        here = self._journal.read(ids=[event.id], erased=True)
        if here and _same(event, here[0]):
            self._report.known += 1
            self._taking.noted(event, here[0])
            return
        try:
            made = self._taking.made(event)
        except InvalidInput as error:
            self._report.refused(event, str(error))
            return
        if made is None:
            self._report.leave_out(event.kind)
            return
        others = {made.id, moved_id(event, self._designs)} - {event.id}
        if here := here or (self._journal.read(ids=sorted(others), erased=True) if others else []):
            _compare(event, made, here[0], self._report)
            if here[0].kind == made.kind:
                self._taking.noted(event, here[0])
        elif self._gone.intersection((*event.lineage, *made.lineage)) - self._stubs:
            self._report.refused(event, "it rests on what was erased here")
        else:
            self._taking.noted(event, made._replace(seq=append(made)))
            self._report.imported += 1


def _compare(event: Event, made: Event, here: Event, report: EventsReport) -> None:
    """Count an event whose id is there already, or say that it differs."""
    if _same(made._replace(at=here.at), here):  # a time ahead of the clock was the clock's
        report.known += 1
    elif event.erased:
        report.refused(event, f"{here.id} was erased there and is whole here; `theorex erase {here.id}` erases it")
    else:
        report.refused(event, f"{here.id} is there already with another content, which stays")


def _same(event: Event, here: Event) -> bool:
    """Whether an event says what is here already, or was erased here."""
    return here.erased or (event[2:7] == here[2:7] and event.body == here.body)


class Heard:
    """Takes sentences of a file that anybody may have made, rebuilt from members that are checked, with the source `import`.

    Nothing else in it is taken: what its home captured, decided or was given is no experience of this one. An id that was
    drawn by chance is kept; another would keep a step of this home that derives the same id from ever being noted.
    """

    def __init__(self, home: Home) -> None:
        self._how = Importing(home.settings, home.clock.now())

    def made(self, event: Event) -> Event | None:
        """What is appended of it; None for what is left out. Raises InvalidInput for what it must not hold."""
        from theorex_lab.exchange import records, schema  # an export does without pydantic

        if event.kind != "observation" or event.erased:
            return None
        stated = schema.checked(records.Observation, without_nulls(event.body))
        at = min(event.at, self._how.latest)
        made = records.observation_of(stated, self._how, event.agent, at, event.session, "import")
        lineage = tuple(map(heard_id, event.lineage))
        made = made._replace(id=heard_id(event.id), lineage=lineage, body={**made.body, "project": stated.project})
        self._how.check_size(made)
        return made

    def noted(self, event: Event, made: Event) -> None:
        """Nothing that follows depends on what is there now."""


def moved_id(event: Event, designs: Iterable[Design]) -> str:
    """The id of an event that was appended under another seq, where its own is derived from the seq."""
    is_named = any(event.kind in design.events.named_by_seq for design in designs)
    return derived_event_id("moved", event.id) if is_named else event.id


class Own:
    """Takes events in as they are, and knows under which seqs."""

    def __init__(self, designs: Sequence[Design]) -> None:
        self._designs = designs
        self._members = {kind: names for design in designs for kind, names in design.events.seqs.items()}
        self._starts: list[int] = []  # the first seq in the file of each run of events that moved equally far
        self._runs: list[tuple[int, int]] = []  # the last seq of it in the file, and how far it moved

    def made(self, event: Event) -> Event | None:
        """What is appended of it."""
        if event.erased or not any(shift for _, shift in self._runs):
            return event
        return event._replace(id=moved_id(event, self._designs), body={**event.body, **self._seqs(event)})

    def noted(self, event: Event, made: Event) -> None:
        """It is there now, as `made`, under that one's seq."""
        shift = made.seq - event.seq
        if self._runs and self._runs[-1] == (event.seq - 1, shift):
            self._runs[-1] = event.seq, shift
        else:
            self._starts.append(event.seq)
            self._runs.append((event.seq, shift))

    def _seqs(self, event: Event) -> dict[str, object]:
        body = event.body
        if event.kind == "erasure" and body["first_seqs"] is not None:
            return {"first_seqs": {kind: self._seq(seq) for kind, seq in body["first_seqs"].items()}}
        if event.kind == "salvaged":
            return {"lost": [[self._seq(seq) for seq in gap] for gap in body["lost"]]}
        held = {name: body.get(name) for name in self._members.get(event.kind, ())}
        return {name: self._seq(seq) for name, seq in held.items() if seq is not None}

    def _seq(self, seq: int) -> int:
        """The seq here of an event of the file; one above all of them stands for whatever comes."""
        place = bisect_right(self._starts, seq) - 1
        if place < 0 or seq > self._runs[-1][0]:
            return seq
        last, shift = self._runs[place]
        return min(seq, last) + shift
