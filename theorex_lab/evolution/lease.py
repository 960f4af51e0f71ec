"""The lease: one process at a time maintains a home.

Taking, renewing and giving back are events, numbered 1, 2, 3, … by their ids: whichever
process appends number n holds the lease or has given it back, and the newest is found
without reading the others. A process that was killed gives nothing back; what it held
ends with its expiry, and on its own machine at once: see `lease_files`.
"""

import os
import threading
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from theorex_lab.core.clock import LATEST, to_iso
from theorex_lab.core.errors import TheorexError
from theorex_lab.core.ids import SCANNER, derived_event_id, new_event_id
from theorex_lab.evolution import lease_files
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.spool import SpooledJournal
from theorex_lab.memory.contract import Home

_SECOND = 1_000_000  # µs
_MOST_EVENTS = 1 << 30


# What the journal calls it -> what people read.
_SHOWN = {"nightly": "maintenance"}


def _shown(owner: str) -> str:
    """Return an owner with the word that people read in place of the stored one."""
    what, slash, process = owner.partition("/")
    shown = _SHOWN.get(what, what)
    return f"{shown}{slash}{process}"


class LeaseLost(TheorexError):
    """Another process holds the lease by now; who gets this error appends nothing."""


class LeaseHolder(NamedTuple):
    """Who holds a lease, as `what/process/token`, and until when (µs UTC)."""

    owner: str
    expires_at: int

    @property
    def what(self) -> str:
        """Return which work is under way, such as maintenance."""
        return self.shown_owner.partition("/")[0]

    @property
    def shown_owner(self) -> str:
        """Return the owner with the word that people read in place of the stored one."""
        return _shown(self.owner)

    def to_dict(self) -> dict[str, str]:
        """Return the holder as JSON holds it."""
        return {"held_by": self.shown_owner, "until": to_iso(self.expires_at)}

    def __str__(self) -> str:
        return f"held by {self.shown_owner} until {to_iso(self.expires_at)}"


class Lease:
    """The lease of a home, for one process that asks for it.

    Attributes:
        holder: Who had it when it was asked for last, None for nobody.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     maintenance = Lease(lab.home, "nightly")
    ...     tour = Lease(lab.home, "tour")
    ...     maintenance.take(), tour.take(), tour.holder.what
    (True, False, 'maintenance')
    """

    def __init__(self, home: Home, what: str) -> None:
        self.home = home
        self.holder = lease_holder(home)
        self._token = new_event_id(home.clock.now())[-8:]
        self.owner = f"{what}/{os.getpid()}/{self._token}"

    @property
    def held(self) -> bool:
        """Return whether this process had it when it was read last."""
        return self.holder is not None and self.holder.owner == self.owner

    def take(self) -> bool:
        """Take it where nobody has it; False where another has, who is the holder then.

        What a process of this machine held that is gone, nobody has.
        """
        journal = self.home.journal
        lease_files.lock_for(self.home.folder, self._token)
        is_taken = False
        is_refused = False
        try:
            with journal.exclusive() as append:
                number, last = _newest(journal)
                self.holder = _holder(self.home, last)
                if self.holder is None:
                    append(self._event(number + 1))
            is_taken = self.held
            is_refused = not is_taken
        finally:
            if not is_taken:
                lease_files.unlock(self.home.folder, self._token, is_over=is_refused)
        if is_taken:
            lease_files.remove_abandoned(self.home.folder)
        return is_taken

    def renew(self) -> None:
        """Make sure that it is ours still, and restart it after a quarter of its time.

        Raises:
            LeaseLost: Where another process has it.
        """
        with self.home.journal.exclusive() as append:
            number, last = self._held_event()
            length = last.body["expires_at"] - last.at
            renewed_from = last.at + length // 4
            if _now(self.home) >= renewed_from:
                append(self._event(number + 1))

    def append(self, events: Sequence[Event]) -> list[int]:
        """Append events while it is ours, so that nothing comes from who has lost it.

        Returns:
            Their seqs.

        Raises:
            LeaseLost: Where another process has it.
        """
        with self.home.journal.exclusive() as append:
            self._held_event()
            seqs = []
            for event in events:
                seq = append(event)
                seqs.append(seq)
            return seqs

    def release(self) -> None:
        """Give it back; where it was lost there is nothing to give.

        Where the journal cannot be written, it is free on this machine all the same.
        """
        is_over = False
        try:
            with suppress(LeaseLost), self.home.journal.exclusive() as append:
                number, _ = self._held_event()
                append(self._event(number + 1, released=True))
            is_over = True
        finally:
            lease_files.unlock(self.home.folder, self._token, is_over=is_over)
        self.holder = None

    def _held_event(self) -> tuple[int, Event]:
        """Return the number and the event by which this process holds the lease.

        Raises:
            LeaseLost: Where another process has it.
        """
        number, last = _newest(self.home.journal)
        if last is not None and self._is_held_by(last):
            return number, last
        self.holder = _holder(self.home, last)
        holder = self.holder or "it was given back"
        raise LeaseLost(
            f"{_shown(self.owner)} has lost the lease of {leased_memory(self.home)}"
            f" ({holder}); it stops here and appends nothing more: run it again when no"
            " other is under way"
        )

    def _is_held_by(self, event: Event) -> bool:
        """Return whether the newest event says that this process holds the lease."""
        if event.erased or event.body["released"]:
            return False
        return bool(event.body["owner"] == self.owner)

    def _event(self, number: int, *, released: bool = False) -> Event:
        """Return the event that takes the lease, or gives it back."""
        now = _now(self.home)
        expires_at = now
        if not released:
            length = round(self.home.settings.lease_seconds * _SECOND)
            expires_at = min(now + length, LATEST)
        body = {
            "owner": self.owner,
            "expires_at": expires_at,
            "released": released,
        }
        self.holder = LeaseHolder(self.owner, expires_at)
        return new_event(
            "lease",
            body,
            agent=SCANNER,
            at=now,
            event_id=derived_event_id("lease", number),
        )


@contextmanager
def leased(home: Home, what: str) -> Iterator[Lease]:
    """Hold the lease inside, renewed from a thread however long a step takes.

    `held` of the lease that is yielded says whether it is ours.
    """
    lease = Lease(home, what)
    ended = threading.Event()

    def renew_until_ended() -> None:
        interval = home.settings.lease_seconds / 3
        while not ended.wait(interval):
            with suppress(TheorexError):  # the owner learns of it at its next step
                lease.renew()

    if not lease.take():
        yield lease
        return
    thread = threading.Thread(target=renew_until_ended, daemon=True)
    thread.start()
    try:
        yield lease
    finally:
        ended.set()
        thread.join()
        lease.release()


def leased_memory(home: Home) -> str:
    """Return for people what a lease of a home keeps others from tending."""
    if isinstance(home.journal, SpooledJournal):
        return f"the memory that {home.folder} shares with other machines"
    return str(home.folder)


def lease_holder(home: Home) -> LeaseHolder | None:
    """Return who holds the lease of a home now, None for nobody."""
    _, last = _newest(home.journal)
    return _holder(home, last)


def _now(home: Home) -> int:
    """Return the time by which leases end, the same on all machines (µs UTC)."""
    return home.journal.rows_of.shared_time()


def _holder(home: Home, event: Event | None) -> LeaseHolder | None:
    """Return who holds the lease that an event took, unless it is over.

    It is over where its process was one of this machine, and is gone. It is over too
    where it would last from now on for more than twice its length. Then
    it was taken by a clock that has been set back since, and would otherwise keep
    everyone out until that clock comes round again.
    """
    if event is None or event.erased:
        return None
    if event.body["released"]:
        return None
    owner = event.body["owner"]
    expires_at = event.body["expires_at"]
    now = _now(home)
    latest = now + 2 * (expires_at - event.at)
    if not now < expires_at <= latest:
        return None
    token = owner.rpartition("/")[2]
    if lease_files.is_abandoned(home.folder, token):
        return None
    return LeaseHolder(owner, expires_at)


def _newest(journal: Journal) -> tuple[int, Event | None]:
    """Return the number of the newest event of the lease, and that event.

    They are 0 and None without one. A bound is looked for by doubling, and then the
    event by halving, so that few leases take few reads.
    """

    def is_missing(index: int) -> bool:
        return not _read(journal, index + 1)

    bound = 1
    while bound < _MOST_EVENTS and not is_missing(bound - 1):
        bound *= 2
    # The event of half the bound was read, and that of the bound is missing.
    number = bisect_left(range(bound), True, lo=bound // 2, key=is_missing)
    if not number:
        return 0, None
    (newest,) = _read(journal, number)
    return number, newest


def _read(journal: Journal, number: int) -> list[Event]:
    event_id = derived_event_id("lease", number)
    return journal.read(ids=[event_id], erased=True)
