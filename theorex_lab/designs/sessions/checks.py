"""Commands that check work (tests, builds, linters) in a session: which failed, and what turned them from red to green."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from theorex_lab.journal.event import Event
from theorex_lab.memory.checks import error_of, family_of, has_failed
from theorex_lab.text.paths import shown_path


class Check(NamedTuple):
    """A check that was run: its event's place among the session's, its command's family, and whether it passed.

    error: its class where it failed, else ''.
    """

    place: int
    family: str
    passed: bool
    error: str


class Fixed(NamedTuple):
    """From red to green: a check's family, the class of its error, the files edited between, and the events of it all."""

    family: str
    error: str
    files: tuple[str, ...]
    events: tuple[Event, ...]


def checks_in(events: Sequence[Event]) -> Iterator[Check]:
    """The checks of a session, in order: one whose end is not known is left out."""
    for place, event in enumerate(events):
        if event.kind == "tool_used" and (family := family_of(event.body.get("command", ""))):
            failed = has_failed(event)
            if failed is not None:
                yield Check(place, family, not failed, error_of(event.body.get("response", "")) if failed else "")


def fixed_in(events: Sequence[Event]) -> Iterator[Fixed]:
    """Each failure of a family of checks that later passed in the session, with edits of files between."""
    red: dict[str, Check] = {}
    for check in checks_in(events):
        if not check.passed:
            red.setdefault(check.family, check)
        elif failed := red.pop(check.family, None):
            between = [event for event in events[failed.place : check.place] if event.kind == "tool_used"]
            edits = [event for event in between if edited(event)]
            if edits:
                files = tuple(dict.fromkeys(path for event in edits for path in edited(event)))
                yield Fixed(check.family, failed.error, files, (events[failed.place], *edits, events[check.place]))


def edited(event: Event) -> list[str]:
    """The project's paths that a tool call edited, as far as they may be shown."""
    return _paths(event, "edited") if event.body.get("ok") is not False else []


def read(event: Event) -> list[str]:
    """The project's paths that a tool call read, as far as they may be shown."""
    return _paths(event, "read")


def _paths(event: Event, use: str) -> list[str]:
    return [path for path in (event.body.get("paths") or {}).get(use, ()) if path and shown_path(path) == path]
