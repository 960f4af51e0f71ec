"""Say what was done about a failure, by the kind of act.

It is the edit of the file that the error names, of a test or of other code; the
installation of what was missing; a command that was run first; the same command with
other options or on other files; other arguments of a tool; or the same call again.
"""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Any

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.designs.causal.failing import program_in
from theorex_lab.journal.event import Event
from theorex_lab.memory.briefing.command_roles import (
    FILE_MARK,
    FORMAT,
    INSTALL,
    PATH_MARK,
    arguments_of,
    program_of,
    role_of,
)
from theorex_lab.memory.briefing.step_words import step_in_words
from theorex_lab.memory.briefing.tool_failures import cut_commands
from theorex_lab.memory.checks import family_of, has_failed
from theorex_lab.text.line import one_line

EDIT_NAMED = "edit the file that the error names"
EDIT_TEST = "edit the test"
EDIT_CODE = "edit code that the error does not name"
EDIT_CONFIG = "edit the configuration"
_EDITS = (EDIT_NAMED, EDIT_TEST, EDIT_CODE, EDIT_CONFIG)
AGAIN = "make the same call again"
WITHOUT = "go on without it"
_ON_OTHERS = "on something else"
_ASKS_FOR_FORMAT = lazy_pattern(r"format|gofmt|goimports|prettier|whitespace", re.I)
_ASKS_FOR_INSTALL = lazy_pattern(
    r"not found|cannot find|no module|modulenotfound|missing|not installed|no required",
    re.I,
)
_ACT_CHARACTERS = 120
_MOST_EDITS = 2
_MOST_OPTIONS = 2
_READ_CHARACTERS = 8_000
_EVERYTHING = frozenset((".", "./", "./...", "..."))
_PROSE = (".md", ".mdc", ".mdx", ".txt", ".rst")
_CONFIG = (".toml", ".yaml", ".yml", ".ini", ".cfg", ".lock", ".mod", ".env")
_CONFIG_NAMES = frozenset(
    ("package.json", "tsconfig.json", "dockerfile", "makefile", "justfile")
)
_BUILDS = "Build"
_VERSIONS = ("Commit", "Push", "Merge", "Stash", "Pull", "Rebase", "Make a branch")


def acts_in_words(failed: Event, between: Sequence[Event]) -> list[str]:
    """Return what was done between a failure and the next call of its kind, by kind.

    An edit tells, and a command that installs or formats; another command that was run
    first tells where there was none of these.

    Args:
        failed: The call that failed.
        between: The calls after it, which did their work and did more than look.
    """
    named = _names_in(failed)
    edits: list[str] = []
    mendings: list[str] = []
    commands = []
    for event in between:
        if has_failed(event):
            continue
        edits += _edits_of(event, named)
        command = event.body.get("command", "")
        if not command:
            continue
        mending = _mending_in(command)
        if mending:
            mendings.append(mending)
        elif not family_of(command):
            commands += _run_first(failed, command)
    for mending in mendings:
        if _is_called_for(mending, failed):
            return [mending]
    kinds = sorted(set(edits), key=_EDITS.index)
    acts = mendings[:1] + kinds[:_MOST_EDITS]
    return acts or commands[-1:]


def _is_called_for(mending: str, failed: Event) -> bool:
    """Return whether an error asks for what was installed or formatted."""
    response = failed.body.get("response", "")
    asks_for = _ASKS_FOR_INSTALL
    if mending.startswith("format"):
        asks_for = _ASKS_FOR_FORMAT
    return asks_for.search(response) is not None


def changes_in_words(failed: Event, again: Event, program: str = "") -> list[str]:
    """Return how the call that followed differs from the one that failed.

    Args:
        failed: The call that failed.
        again: The call that followed.
        program: The program of the line that failed.
    """
    command = again.body.get("command", "")
    failed_command = failed.body.get("command", "")
    mending = _mending_in(command)
    if mending and mending != _mending_in(failed_command):
        return [mending]
    if family_of(command):
        return []
    if command:
        return _command_changes(failed_command, command, program)
    old = arguments_in(failed.body.get("input", ""))
    new = arguments_in(again.body.get("input", ""))
    tool = failed.body["tool"]
    names = dict.fromkeys([*old, *new])
    changes = []
    for name in names:
        if old.get(name) == new.get(name):
            continue
        changes.append(f"call {tool} with another {name}")
    return changes


def covers(again: Event, failed: Event, program: str) -> bool:
    """Return whether a check that runs again checks what failed, or all.

    Any other call covers one of its kind.

    Args:
        again: The call that runs the program again.
        failed: The call that failed.
        program: The check or the program that failed.
    """
    if not family_of(program):
        return True
    targets = _targets(failed.body.get("command", ""), program)
    targets_again = _targets(again.body.get("command", ""), program)
    if not targets_again:
        return True
    return bool(targets) and targets <= targets_again


def _targets(command: str, check: str) -> set[str]:
    """Return the files and packages that a check of a line names; none for all."""
    targets = set()
    for simple in cut_commands(command):
        if family_of(simple.text) != check:
            continue
        for word in arguments_of(simple.words):
            is_option = word.startswith("-")
            if is_option or word in _EVERYTHING:
                continue
            target = word.removeprefix("./")
            targets.add(target)
    return targets


def _names_in(failed: Event) -> str:
    """Return the text in which a failure names files: its output and its command."""
    response = failed.body.get("response", "")
    command = failed.body.get("command", "")
    text = "\n".join([response, command])
    return text[:_READ_CHARACTERS]


def _edits_of(event: Event, named: str) -> Iterable[str]:
    """Yield the kinds of the edits of a call."""
    paths = event.body.get("paths") or {}
    edited = paths.get("edited") or ()
    for path in edited:
        kind = _edit_kind(path, named)
        if kind:
            yield kind


def _edit_kind(path: str, named: str) -> str:
    """Return the kind of an edit of a file; '' for a text, which mends no failure."""
    file = PurePosixPath(path)
    if file.name and file.name in named:
        return EDIT_NAMED
    name = file.name.lower()
    ending = file.suffix.lower()
    if ending in _PROSE:
        return ""
    if ending in _CONFIG or name in _CONFIG_NAMES:
        return EDIT_CONFIG
    if "test" in name or "spec" in name:
        return EDIT_TEST
    return EDIT_CODE


def _mending_in(command: str) -> str:
    """Return the installation or formatting that a line holds, in words; '' for none."""
    for simple in cut_commands(command):
        role = role_of(simple.words)
        if role in (INSTALL, FORMAT):
            step = step_in_words(simple.text).replace(FILE_MARK, PATH_MARK)
            return one_line(_lower(step), _ACT_CHARACTERS)
    return ""


def _run_first(failed: Event, command: str) -> list[str]:
    """Return that a command was run first, in words.

    Before a check, only a build can have mended anything.
    """
    step = step_in_words(command)
    if not step:
        return []
    failed_command = failed.body.get("command", "").lstrip()
    is_check = bool(family_of(failed_command))
    if is_check and not step.startswith(_BUILDS):
        return []
    keeps_versions = step.startswith(_VERSIONS)
    if keeps_versions and not failed_command.startswith("git"):
        return []
    act = f"{_lower(step)} first"
    return [one_line(act, _ACT_CHARACTERS)]


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def says_what_helped(act: str) -> bool:
    """Return whether an act tells what to do, not only that something was done.

    The same call that then works, or one on something else, tells nothing to repeat.

    >>> says_what_helped("edit the test"), says_what_helped("make the same call again")
    (True, False)
    """
    if act in (AGAIN, WITHOUT):
        return False
    return not act.endswith(_ON_OTHERS)


def _command_changes(old: str, new: str, failed_program: str) -> list[str]:
    """Return how a command differs from the one before, in words."""
    if old.split() == new.split():
        return []
    before = _words_of(old, failed_program)
    for words in _words_of(new, failed_program):
        program = program_of(words)
        for old_words in before:
            if program == program_of(old_words):
                return _argument_changes(old_words, words)
    step = step_in_words(new)
    if not step:
        return []
    act = f"{_lower(step)} instead"
    return [one_line(act, _ACT_CHARACTERS)]


def _words_of(command: str, program: str) -> list[tuple[str, ...]]:
    """Return the words of each command of a line that runs a program."""
    words = []
    for simple in cut_commands(command):
        if program_in(simple.text) == program:
            words.append(simple.words)
    return words


def _argument_changes(old: tuple[str, ...], new: tuple[str, ...]) -> list[str]:
    """Return the options that were added or left out, else that the target changed."""
    program = program_of(new)
    added = _options_beyond(new, old)
    left_out = _options_beyond(old, new)
    if added:
        shown = " ".join(added[:_MOST_OPTIONS])
        act = f"run `{program}` with `{shown}`"
    elif left_out:
        shown = " ".join(left_out[:_MOST_OPTIONS])
        act = f"run `{program}` without `{shown}`"
    elif arguments_of(old) != arguments_of(new):
        act = f"run `{program}` {_ON_OTHERS}"
    else:
        return []
    return [one_line(act, _ACT_CHARACTERS)]


def _options_beyond(words: tuple[str, ...], others: tuple[str, ...]) -> list[str]:
    """Return the options of a command that another one does not have."""
    options = []
    for word in arguments_of(words):
        is_option = word.startswith("-")
        if is_option and word not in others:
            options.append(word)
    return options


def arguments_in(text: str) -> dict[str, Any]:
    """Return the arguments that the preview of a call's input holds.

    Of the one at which the preview was cut it is what is left of it.
    """
    read = json.JSONDecoder().raw_decode
    arguments = {}
    position = 1
    while position < len(text) - 1:
        try:
            name, end = read(text, position)
            arguments[str(name)] = text[end + 1 :]
            arguments[str(name)], position = read(text, end + 1)
        except (ValueError, RecursionError):  # cut here, or no JSON
            break
        position += 1
    return arguments
