"""The command that checks what the memory needs.

That is hooks, files, journal, maintenance and models; `status` names the embedder.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from theorex_lab.app.cli.context import open_lab
from theorex_lab.app.cli.hooks import EVENTS, installed_commands
from theorex_lab.core.clock import MICROSECONDS_PER_DAY, to_iso
from theorex_lab.core.errors import TheorexError
from theorex_lab.core.processes import find_program
from theorex_lab.evolution.failures import is_reached
from theorex_lab.evolution.maintained import last_maintenance, waiting_for_maintenance
from theorex_lab.files.command_line import command, emit, named_home
from theorex_lab.store.lab import Lab

Found = dict[
    str, str
]  # level (ok, warning, problem), what it is about, what is said of it, what to do

_OTHERS = 0o077
_STALE_DAYS = 2.0  # one missed day is no reason to worry
_CHECKED_EVENTS = 1_000
_LITTLE_BYTES = 1 << 30
_FULL_BYTES = 100 << 20


@command("doctor")
@click.option(
    "--settings",
    metavar="F",
    default="~/.claude/settings.json",
    help="The coding agent's settings file.",
)
@click.option(
    "--online", is_flag=True, help="Also try to connect to the endpoints of models."
)
def doctor(settings: str, online: bool) -> None:
    """It checks hooks, files, disk, readers, journal, maintenance and models.

    Each line has a level (ok, warning or problem), what was checked and what was found;
    after → stands the command that helps. The exit code is 1 where there is a problem.
    A warning means that something is not used or not set up. No model is asked
    anything, and nothing is changed.

    JSON: {ok, findings: [{level, what, said, do}]}
    """
    folder = Path(named_home()).expanduser().absolute()
    findings = [
        *_findings_until_error("hooks", partial(_hooks, settings)),
        *_findings_until_error("files", partial(_files, folder)),
    ]
    findings += [
        *_forms(),
        *_findings_until_error("home", partial(_home, folder, online)),
    ]
    ok = all(finding["level"] != "problem" for finding in findings)
    lines = (
        "{level:<8} {what}: {said}".format(**row) + f" → {row['do']}" * bool(row["do"])
        for row in findings
    )
    emit({"ok": ok, "findings": findings}, "\n".join(lines))
    sys.exit(not ok)


def _finding(
    subject: str,
    text: str,
    do: str = "",
    *,
    problem: bool = False,
    warning: bool = False,
) -> Found:
    level = "ok"
    if problem:
        level = "problem"
    elif warning:
        level = "warning"
    return {
        "level": level,
        "what": subject,
        "said": text,
        "do": "" if level == "ok" else do,
    }


def _findings_until_error(
    subject: str, look: Callable[[], Iterable[Found]]
) -> Iterator[Found]:
    """Yield what was found until something broke, and what its error says to do."""
    try:
        yield from look()
    except (TheorexError, OSError, ValueError) as error:
        yield _finding(subject, str(error), problem=True)


def _hooks(settings: str) -> Iterator[Found]:
    commands = installed_commands(settings)
    do = f"theorex install-hooks --settings {shlex.quote(settings)}"
    missing = [event for event in EVENTS if not commands[event]]
    text = f"{len(EVENTS) - len(missing)} of {len(EVENTS)} hooks are in {settings}"
    yield _finding(
        "hooks",
        f"{text}; missing: {', '.join(missing)}" if missing else text,
        do,
        warning=bool(missing),
    )
    programs = set[str]()
    for shells in commands.values():
        programs |= {shlex.split(shell)[-1] for shell in shells}
    for program in sorted(name for name in programs if shutil.which(name) is None):
        yield _finding(
            "hooks",
            f"the program {program} is missing or cannot be run",
            do,
            problem=True,
        )


def _files(folder: Path) -> Iterator[Found]:
    """Yield who may read the home, and how much room there is."""
    paths = (
        [folder, *(path for path in folder.rglob("*") if not path.is_symlink())]
        if folder.is_dir()
        else []
    )
    open_paths = [
        path for path in paths if path.stat().st_mode & _OTHERS and os.name != "nt"
    ]
    text = (
        f"other users can open {', '.join(map(str, open_paths[:3]))}"
        if open_paths
        else "only the owner can open the home"
    )
    do = f"chmod -R go= {shlex.quote(str(folder))}"
    yield _finding(
        "permissions", text, do, problem=folder in open_paths, warning=bool(open_paths)
    )
    free = shutil.disk_usage(folder if paths else folder.anchor).free
    text = (
        f"the home takes {sum(path.stat().st_size for path in paths) >> 20} MB,"
        f" {free >> 20} MB are free"
    )
    do = "free some space, or move old events out with `theorex archive`"
    yield _finding(
        "disk", text, do, problem=free < _FULL_BYTES, warning=free < _LITTLE_BYTES
    )


# By what can be taken in: the packages that it needs, and the extra that brings them.
_FORMS = {
    "documents": (
        "markdown_it docutils bs4 pypdf pathspec charset_normalizer",
        "ingest",
    ),
    "source code": (
        (
            "tree_sitter tree_sitter_python tree_sitter_javascript"
            " tree_sitter_typescript tree_sitter_go tree_sitter_rust"
        ),
        "ingest",
    ),
    "pictures and films": ("PIL pytesseract av", "media"),
}


def _forms() -> Iterator[Found]:
    """Yield what is missing for each kind of file."""
    for form, (packages, extra) in _FORMS.items():
        missing = [name for name in packages.split() if find_spec(name) is None]
        text = (
            f"cannot be read without {', '.join(missing)}" if missing else "can be read"
        )
        yield _finding(
            form, text, f'pip install "theorex-lab[{extra}]"', warning=bool(missing)
        )
    text = (
        "are read"
        if find_program("tesseract")
        else "are not read: the program tesseract is missing"
    )
    yield _finding(
        "words in pictures",
        text,
        "install tesseract (Debian: tesseract-ocr)",
        warning="not" in text,
    )


def _home(folder: Path, online: bool) -> Iterator[Found]:
    if not folder.is_dir():
        yield _finding(
            "home",
            f"there is no memory at {folder} yet",
            "theorex install-hooks, or write something with theorex write",
            warning=True,
        )
        return
    lab = open_lab(all_projects=True)
    spool = lab.spool_status()
    if spool is not None:
        yield _shared_journal(lab, spool)
        if spool["problem"]:
            return
    yield from _findings_until_error("home", partial(_journal, lab))
    yield from _findings_until_error("home", partial(_models, lab, online))


def _shared_journal(lab: Lab, spool: dict[str, Any]) -> Found:
    """Return whether the shared journal can be reached, and whether its policy fits."""
    waiting = f"{spool['waiting']} events wait to be forwarded"
    if spool["problem"]:
        return _finding(
            "shared journal", spool["problem"], "theorex sync", problem=True
        )
    if spool["refused"]:
        refused = ", ".join(map(repr, spool["refused"]))
        text = f"it can be reached; {waiting}; it refused {refused}"
        return _finding("shared journal", text, "theorex status", warning=True)
    if lab.home.policy_problem:
        text = f"it can be reached; {waiting}; {lab.home.policy_problem}"
        return _finding("shared journal", text, "theorex policy", warning=True)
    return _finding("shared journal", f"it can be reached; {waiting}")


def _journal(lab: Lab) -> Iterator[Found]:
    last = lab.journal.last_seq()
    n_read = sum(
        1 for _ in lab.journal.tail(max(last - _CHECKED_EVENTS, 0), erased=True)
    )  # raises for a damaged one
    yield _finding(
        "journal",
        f"{last} events; the last {n_read} are sound; `theorex verify` checks all",
    )
    for event in lab.bad_events():
        text = f"{event.seq} ({event.kind}, {event.id}) is set aside: {event.why}"
        yield _finding("event", text, event.do, problem=True)
    yield _last_maintenance(lab, last)


def _last_maintenance(lab: Lab, last_seq: int) -> Found:
    """Return how the last maintenance went, and whether the next is late."""
    schedule = "theorex maintain --schedule cron"
    last_run = last_maintenance(lab.home)
    waiting = waiting_for_maintenance(lab.home)
    if last_run is None:
        text = "it has never run"
        if not waiting.n:
            return _finding("maintenance", text, schedule, warning=True)
        text += f"; {waiting.n} events wait"
        return _finding("maintenance", text, waiting.do, warning=True)
    days = max(lab.clock.now() - last_run.at, 0) / MICROSECONDS_PER_DAY
    text = f"it last ran {days:.1f} days ago"
    if last_run.replayed_to is not None:
        last_day = to_iso(last_run.replayed_to)[:10]
        text += f" and replayed the days up to {last_day}"
    if waiting.n:
        text += f"; {waiting.n} events wait"
    if last_run.failed:
        text += f"; these steps failed: {', '.join(last_run.failed)}"
    is_late = days > _STALE_DAYS and last_seq > last_run.seq
    do = schedule if is_late else waiting.do
    return _finding("maintenance", text, do, warning=is_late or bool(last_run.failed))


def _models(lab: Lab, online: bool) -> Iterator[Found]:
    settings = lab.settings
    vision_model = settings.vision_model if settings.vision_tokens else None
    yield _finding(
        "descriptions",
        (
            f"{vision_model} describes pictures"
            if vision_model
            else "no model describes pictures: set visionModel and visionTokens"
        ),
    )
    named = [name for name, model in settings.models.items() if model.url is not None]
    for name in named:
        silent = online and not is_reached(name, settings)
        if silent:
            text = "accepts no connection"
        elif online:
            text = "accepts connections"
        else:
            text = "has a url; --online tries to connect"
        yield _finding(
            f"model {name}",
            text,
            f"start it, or unset models.{name}.url",
            warning=silent,
        )
    if not named:
        yield _finding("models", "none has a url, so rules review failures")
