"""Commands that check work (tests, builds, linters) in a session: which failed, and what turned them from red to green."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from theorex_lab.journal.event import Event
from theorex_lab.text.paths import shown_path
from theorex_lab.text.sections import read_sections

_SECTIONS = read_sections(__file__, "signs.txt")
_CHECK = re.compile(_SECTIONS["check"].replace("\n", ""))
_EXIT = re.compile(r"\s*(?:Exit code|exit status|Process exited with code)[: ]+(\d+)", re.I)
_NAMED = (line.split(": ", 1) for line in _SECTIONS["classes"].splitlines())
_CLASSES = [(name, re.compile(sign)) for name, sign in _NAMED]
_SIGNS = r"FAIL(?:ED)?\b|panic:|Traceback \(most|error(?:\[|:)|E   "
_ERRORS = re.compile(rf"^\s*(?:-+ ?)?(?:{_SIGNS})|\b\d+ (?:failed|errors?)\b", re.M)


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


def family_of(command: str) -> str:
    """The kind of check that a command runs, '' for any other command.

    >>> family_of("cd cli && go test -v ./... 2>&1 | head"), family_of("go help test")
    ('go test', '')
    """
    found = _CHECK.search(command)
    return found[1] if found else ""


def checks_in(events: Sequence[Event]) -> Iterator[Check]:
    """The checks of a session, in order: one whose end is not known is left out."""
    for place, event in enumerate(events):
        if event.kind == "tool_used" and (family := family_of(event.body.get("command", ""))):
            failed = has_failed(event)
            if failed is not None:
                yield Check(place, family, not failed, error_of(event.body.get("response", "")) if failed else "")


def has_failed(event: Event) -> bool | None:
    """Whether a command failed, by its exit code, by `ok`, or by what a check printed; None where that is open."""
    body, ok = event.body, event.body.get("ok")
    code = _EXIT.match(body.get("response", ""))
    if ok is None or ok is False or code:
        return None if ok is None else bool(ok is False or (code and int(code[1])))
    return bool(family_of(body.get("command", "")) and _ERRORS.search(body.get("response", "")))


def error_of(response: str) -> str:
    """The class of an error by what was printed; nothing of the text itself, which may be anybody's.

    >>> error_of("--- FAIL: TestSync (0.00s)")
    'a failed test'
    >>> error_of("E   AssertionError: 2 != 3"), error_of("E   TypeError: no such argument")
    ('a failed test', 'a type or build error')
    """
    return next((name for name, sign in _CLASSES if sign.search(response)), "an error")


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
