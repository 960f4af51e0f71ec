"""Whether a tool call failed, and what kind of check a command runs: read from what was printed, by rules."""

import re

from theorex_lab.journal.event import Event
from theorex_lab.text.sections import read_sections

_SECTIONS = read_sections(__file__, "checks.txt")
_CHECK = re.compile(_SECTIONS["check"].replace("\n", ""))
_EXIT = re.compile(r"\s*(?:Exit code|exit status|Process exited with code)[: ]+(\d+)", re.I)
_NAMED = (line.split(": ", 1) for line in _SECTIONS["classes"].splitlines())
_CLASSES = [(name, re.compile(sign)) for name, sign in _NAMED]
_SIGNS = r"FAIL(?:ED)?\b|panic:|Traceback \(most|error(?:\[|:)|E   "
_ERRORS = re.compile(rf"^\s*(?:-+ ?)?(?:{_SIGNS})|\b\d+ (?:failed|errors?)\b", re.M)
_TELLING, _DULL = (re.compile(_SECTIONS[name].replace("\n", "")) for name in ("telling", "dull"))


def family_of(command: str) -> str:
    """The kind of check that a command runs, '' for any other command.

    >>> family_of("cd cli && go test -v ./... 2>&1 | head"), family_of("go help test")
    ('go test', '')
    """
    found = _CHECK.search(command)
    return found[1] if found else ""


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


def error_line(response: str) -> str:
    """The line of what was printed that tells most of an error: the first that reads like one, else the first that tells
    more than progress; '' without one.

    >>> error_line("Exit code 1\\nok  pkg/a\\n--- FAIL: TestSync (0.00s)\\nFAIL")
    '--- FAIL: TestSync (0.00s)'
    >>> error_line("Exit code 127\\n(eval):1: command not found: goreleaser")
    '(eval):1: command not found: goreleaser'
    """
    lines = [line.strip() for line in _EXIT.sub("", response, count=1).splitlines()]
    lines = [line for line in lines if line and not _DULL.match(line)]
    found = next((line for line in lines if _TELLING.search(line)), None)
    return found if found is not None else next(iter(lines), "")
