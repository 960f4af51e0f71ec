"""Time as an argument: nothing else in the package reads the wall clock."""

from __future__ import annotations

import time

from theorex_lab.core.errors import InvalidInput

# what type checkers take for true; `typing` would cost every start of the hook 4 ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime, timedelta
    from typing import Protocol
else:
    Protocol = object

_SECONDS_PER_DAY = 86_400
MICROSECONDS_PER_HOUR = 3_600_000_000
MICROSECONDS_PER_DAY = 86_400_000_000
# What datetime can hold, so that every stored time can be shown again.
EARLIEST = -62_135_596_800_000_000
LATEST = 253_402_300_799_999_999


class Clock(Protocol):
    """Anything that tells the time in microseconds since 1970-01-01 UTC.

    >>> from theorex_lab import FixedClock, Lab
    >>> with Lab.temporary(clock=FixedClock.at("2026-01-01T00:00:00Z")) as lab:
    ...     lab.clock.now()
    1767225600000000
    """

    def now(self) -> int:
        """Return the present, in microseconds UTC."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        """Return the present, in microseconds UTC."""
        return time.time_ns() // 1000


class FixedClock:
    """A clock that stands until it is moved; experiments and tests run on it.

    Args:
        microseconds: The time that it shows (µs UTC).

    >>> clock = FixedClock.at("2026-01-01T00:00:00+00:00")
    >>> clock.advance(days=1)
    >>> to_iso(clock.now())
    '2026-01-02T00:00:00.000000Z'
    """

    def __init__(self, microseconds: int) -> None:
        self.microseconds = microseconds

    @classmethod
    def at(cls, when: str | datetime) -> FixedClock:
        """Return a clock standing at an ISO 8601 time or an aware datetime.

        Args:
            when: The time.
        """
        return cls(to_microseconds(when))

    def now(self) -> int:
        """Return the time at which the clock stands, in microseconds UTC."""
        return self.microseconds

    def advance(self, *, days: float = 0.0, seconds: float = 0.0) -> None:
        """Move the clock forward (or back, when negative).

        Args:
            days: How many days.
            seconds: How many seconds; added to the days.
        """
        self.microseconds += round((days * 86_400 + seconds) * 1_000_000)


def to_microseconds(when: str | datetime) -> int:
    """Return the microseconds since 1970-01-01 UTC of a time.

    Args:
        when: An aware datetime, or an ISO 8601 text with its offset.

    Raises:
        InvalidInput: The time is naive, since without an offset nobody can tell when it
            was; or its offset takes it out of the years 1 to 9999.

    >>> to_microseconds("1970-01-01T01:00:00+01:00")
    0
    """
    # A hook names no time, and would wait a millisecond for this.
    import datetime

    if isinstance(when, str):
        try:
            parsed = datetime.datetime.fromisoformat(when)
        except ValueError as error:
            allowed = "ISO 8601 with an offset, such as 2026-01-31T09:00:00Z"
            raise InvalidInput(
                f"got the time {when!r}; allowed is {allowed}"
            ) from error
    else:
        parsed = when
    if parsed.tzinfo is None:
        advice = "add one (a Z for UTC, or +02:00), or tzinfo to the datetime"
        raise InvalidInput(f"got the time {when!s} without an offset; {advice}")
    elapsed = parsed - _start_of_time()
    seconds = elapsed.days * _SECONDS_PER_DAY + elapsed.seconds
    microseconds = seconds * 1_000_000 + elapsed.microseconds
    if not EARLIEST <= microseconds <= LATEST:
        raise InvalidInput(
            f"got the time {when!s}; allowed are the years 1 to 9999 of UTC: choose one in between"
        )
    return microseconds


def to_datetime(microseconds: int) -> datetime:
    """Return the aware UTC datetime of a stored time."""
    return _start_of_time() + int(microseconds) * _microsecond


def _start_of_time() -> datetime:
    """Return the beginning of 1970 in UTC, which is made once."""
    global _start, _microsecond
    if _start is None:
        # Imported here: a hook shows no time, and would wait a millisecond for it.
        from datetime import UTC, datetime, timedelta

        _microsecond = timedelta(microseconds=1)
        _start = datetime(1970, 1, 1, tzinfo=UTC)
    return _start


_start: datetime | None = None
_microsecond: timedelta  # is there once the start of time is


def to_iso(microseconds: int) -> str:
    """Return a stored time in ISO 8601, with microseconds and a Z.

    >>> to_iso(0)
    '1970-01-01T00:00:00.000000Z'
    """
    return (
        to_datetime(microseconds)
        .replace(tzinfo=None)
        .isoformat(timespec="microseconds")
        + "Z"
    )
