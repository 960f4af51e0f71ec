"""The lease: one process at a time tends a home, be it a night or a heartbeat.

Taking, renewing and giving back are events, numbered 1, 2, 3, … by their ids: whichever
process appends number n holds the lease or has given it back, and the newest is found
without reading the others. A process that was killed gives nothing back; what it held
ends with its expiry.
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
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.contract import Home

_SECOND = 1_000_000  # µs
_MOST_EVENTS = 1 << 30


class LeaseLost(TheorexError):
    """Another process holds the lease by now; whoever gets this appends nothing more."""


class LeaseHolder(NamedTuple):
    """Who holds a lease, as `what/process/token`, and until when (µs UTC)."""

    owner: str
    expires_at: int

    @property
    def what(self) -> str:
        """What is under way: nightly or heartbeat."""
        return self.owner.partition("/")[0]

    def to_dict(self) -> dict[str, str]:
        """The holder as JSON holds it."""
        return {"held_by": self.owner, "until": to_iso(self.expires_at)}

    def __str__(self) -> str:
        return f"held by {self.owner} until {to_iso(self.expires_at)}"


class Lease:
    """The lease of a home, for one who asks for it. holder: who had it when it was
    asked for last, None for nobody.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     one, other = Lease(lab.home, "nightly"), Lease(lab.home, "tour")
    ...     one.take(), other.take(), other.holder.what
    (True, False, 'nightly')
    """

    def __init__(self, home: Home, what: str) -> None:
        self.home, self.holder = home, lease_holder(home)
        self.owner = f"{what}/{os.getpid()}/{new_event_id(home.clock.now())[-8:]}"

    @property
    def held(self) -> bool:
        """Whether it is ours, as far as is known."""
        return self.holder is not None and self.holder.owner == self.owner

    def take(self) -> bool:
        """Take it where nobody has it; False where another has, who is the holder then."""
        with self.home.journal.exclusive() as append:
            number, last = _newest(self.home.journal)
            self.holder = _holder(last, self.home.clock.now())
            if self.holder is None:
                append(self._event(number + 1))
        return self.held

    def renew(self) -> None:
        """Make sure that it is ours still, and restart it once a quarter of it has
        passed. Raises LeaseLost.
        """
        with self.home.journal.exclusive() as append:
            number, last = self._own()
            if (
                self.home.clock.now()
                >= last.at + (last.body["expires_at"] - last.at) // 4
            ):
                append(self._event(number + 1))

    def append(self, events: Sequence[Event]) -> None:
        """Append events while it is ours, so that nothing comes from who has lost it.
        Raises LeaseLost.
        """
        with self.home.journal.exclusive() as append:
            self._own()
            for event in events:
                append(event)

    def release(self) -> None:
        """Give it back; where it was lost there is nothing to give."""
        with suppress(LeaseLost), self.home.journal.exclusive() as append:
            append(self._event(self._own()[0] + 1, released=True))
        self.holder = None

    def _own(self) -> tuple[int, Event]:
        number, last = _newest(self.home.journal)
        if (
            last is None
            or last.erased
            or last.body["released"]
            or last.body["owner"] != self.owner
        ):
            self.holder = _holder(last, self.home.clock.now())
            told = (
                f"{self.owner} has lost the lease of {self.home.folder}"
                f" ({self.holder or 'it was given back'})"
            )
            raise LeaseLost(
                f"{told}; it stops here and appends nothing more: run it again when no"
                " other is under way"
            )
        return number, last

    def _event(self, number: int, *, released: bool = False) -> Event:
        now = self.home.clock.now()
        length = 0 if released else round(self.home.settings.lease_seconds * _SECOND)
        expires_at = min(now + length, LATEST)
        body = {"owner": self.owner, "expires_at": expires_at, "released": released}
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
    """Hold the lease inside, renewed from a thread however long a step takes; `held` of
    what is yielded says whether it is ours.
    """
    lease = Lease(home, what)
    ended = threading.Event()

    def renewing() -> None:
        while not ended.wait(home.settings.lease_seconds / 3):
            with suppress(TheorexError):  # the owner hears of it at its next step
                lease.renew()

    if not lease.take():
        yield lease
        return
    thread = threading.Thread(target=renewing, daemon=True)
    thread.start()
    try:
        yield lease
    finally:
        ended.set()
        thread.join()
        lease.release()


def lease_holder(home: Home) -> LeaseHolder | None:
    """Who holds the lease of a home now, None for nobody."""
    return _holder(_newest(home.journal)[1], home.clock.now())


def _holder(event: Event | None, now: int) -> LeaseHolder | None:
    """Who holds the lease that an event took, unless it is over.

    Over it is also where it would last from now on for more than twice its length: it
    was taken by a clock that has been set back since, and would otherwise keep everyone
    out until that clock comes round again.
    """
    if event is None or event.erased or event.body["released"]:
        return None
    expires_at = event.body["expires_at"]
    return (
        LeaseHolder(event.body["owner"], expires_at)
        if now < expires_at <= now + 2 * (expires_at - event.at)
        else None
    )


def _newest(journal: Journal) -> tuple[int, Event | None]:
    """The number of the newest event of the lease, 0 for none, and that event; found by
    halving.
    """
    number = bisect_left(
        range(_MOST_EVENTS), True, key=lambda number: not _read(journal, number + 1)
    )
    return number, _read(journal, number)[0] if number else None


def _read(journal: Journal, number: int) -> list[Event]:
    return journal.read(ids=[derived_event_id("lease", number)], erased=True)
