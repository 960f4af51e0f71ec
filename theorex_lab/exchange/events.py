"""A journal as one file of events, and back; the file is that of `exchange.events_file`.

With `trust_own` the file is taken as it is, and into an empty home gives the same journal: seqs, ids, times, lineage.
Where other events are there already, new ones get the seqs that follow; see `exchange.moved_seqs`. Without `trust_own`
see `exchange.heard`. Settings and vectors are not in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from theorex_lab.design import Design
from theorex_lab.errors import InvalidInput, StorageError
from theorex_lab.exchange.events_file import Header, read_events, read_header, write_events
from theorex_lab.exchange.files import refuse_to_replace
from theorex_lab.exchange.importing import Importing
from theorex_lab.exchange.moved_seqs import Own, moved_id
from theorex_lab.exchange.problems import merged
from theorex_lab.exchange.redact import Redactor
from theorex_lab.home import Home
from theorex_lab.ids import check_agent
from theorex_lab.journal.event import Event
from theorex_lab.text.doors import door

_MOST_PROBLEMS = 10_000
_AT_ONCE = 1_000
Progress = Callable[[int], None]


@dataclass
class EventsReport:
    """What became of a file's events: taken in, there already, left out by kind; and what was refused, by event."""

    file: str
    redacted: bool = False
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


class _Taking(Protocol):
    """A way to take events in."""

    def made(self, event: Event) -> Event | None:
        """What would be appended, None for what is left out. Raises InvalidInput for what must not be."""

    def noted(self, event: Event, made: Event) -> None:
        """It is there now, as `made`."""


def export_events(
    home: Home,
    path: Path,
    *,
    redact: bool = False,
    redact_seed: str | None = None,
    agent: str | None = None,
    replace: bool = False,
    progress: Progress | None = None,
) -> Header:
    """Write all events of the journal, or an agent's, into one file; what was erased is a stub without its body.

    In a home of a project those of it, and what they alone led to; what was erased is left out there.

    redact: replace texts and names by tokens, see `exchange.redact`; with `redact_seed` the same ones each time.  progress:
    called with the number of events done.  Raises FilesThere where the file is there, unless `replace` is given,
    InvalidInput for a name that ends otherwise than in .jsonl or .jsonl.gz, StorageError where it cannot be written, or
    where something was erased meanwhile.
    """
    if not replace:
        refuse_to_replace([path])
    owner = None if agent is None else check_agent(agent)
    designs = home.designs  # from here on their kinds are known
    redactor = Redactor(redact_seed, designs) if redact or redact_seed is not None else None
    return write_events(path, _stored(home, owner, redactor, progress), redacted=redactor is not None)


def _stored(home: Home, agent: str | None, redactor: Redactor | None, progress: Progress | None) -> Iterator[Event]:
    """The events as the file has them."""
    journal = home.journal
    last = journal.last_seq()
    is_wanted = _of_project(home.project)
    for event in journal.tail(0, upto=last, erased=True):
        if is_wanted(event) and agent in (None, event.agent):
            shown = event._replace(session="", body={"erased": 1}) if event.erased else event
            yield redactor.event(shown) if redactor else shown
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
    home: Home,
    path: Path,
    *,
    trust_own: bool = False,
    dry_run: bool = False,
    keep_secrets: bool = False,
    progress: Progress | None = None,
) -> EventsReport:
    """Take in the events of a file; those that are there already stay as they are.

    The file is read to its end and checked first. Then each thousand of its events is one transaction, so that who else
    writes waits for no more than these; an import that was killed is repeated, and does the rest. What is erased here
    stays so, and what rests on it is not taken in. A `dry_run` writes nothing.

    Raises InvalidInput for a file that is damaged, cut or no file of events, or that `trust_own` is asked for though it has
    no header, and NewerVersion for events of a later release; nothing was written then. Raises StorageError on a full disk.
    """
    designs = home.designs  # from here on their kinds are known
    header = read_header(path)
    if trust_own and header is None:
        raise InvalidInput(
            f"got {path} without the header of an export, so that nobody can tell whether it is whole; leave out --trust-own"
        )
    for _ in read_events(path, header):
        pass  # what is damaged is refused before anything is written
    report = EventsReport(path.name, header is not None and header.redacted, dry_run)
    how = Importing(home.settings, home.clock.now(), trust_own=trust_own)
    taken = _Import(home, _taking(how, designs), report, progress)
    events = read_events(path, header)
    with door(keep_secrets=keep_secrets):
        if dry_run:
            seqs = count(home.journal.last_seq() + 1)
            taken.some(events, lambda _: next(seqs))
        else:
            while taken.a_thousand(events):
                pass
    report.problems = merged(report.problems)
    return report


class _Import:
    """Takes events in, one by one, a thousand in a transaction."""

    def __init__(self, home: Home, taking: _Taking, report: EventsReport, progress: Progress | None) -> None:
        self._journal, self._designs = home.journal, home.designs
        self._taking, self._report, self._progress = taking, report, progress
        self._gone: set[str] = set()  # ids of what was erased here
        self._stubs: set[str] = set()  # ids of what was erased in one's own file: what rests on it came after
        self._looked = self._done = 0

    def a_thousand(self, events: Iterator[Event]) -> bool:
        """Take in the next events in one transaction; False where there were none."""
        with self._journal.exclusive() as append:
            return self.some(islice(events, _AT_ONCE), append)

    def some(self, events: Iterable[Event], append: Callable[[Event], int]) -> bool:
        """Take in these events; False where there are none."""
        for erasure in self._journal.tail(self._looked, kinds=["erasure"]):
            self._gone.update(erasure.body["ids"])
        before, self._looked = self._done, self._journal.last_seq()
        for event in events:
            self._done += 1
            self._one(event, append)
            if self._progress:
                self._progress(self._done)
        return self._done > before

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
        elif any(
            event_id in self._gone and event_id not in self._stubs for event_id in (*event.lineage, *made.lineage)
        ):
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


def _taking(how: Importing, designs: Sequence[Design]) -> _Taking:
    if how.trust_own:
        return Own(designs)
    from theorex_lab.exchange.heard import Hearsay  # an export does without pydantic

    return Hearsay(how)
