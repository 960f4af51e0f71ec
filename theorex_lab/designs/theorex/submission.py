"""Fire and forget: a task is handed to a process of its own, which asks the model.

The id of its trace is known before the call begins. The task waits in a file of the
home's folder `calls` until that process has taken it.
"""

import json
import os
from dataclasses import fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.files import FILE_MODE, open_private, told, write_atomically
from theorex_lab.core.processes import start_in_background
from theorex_lab.dispatch.worker import Dispatcher, DispatchResult, DispatchTask
from theorex_lab.memory.contract import Home

_FOLDER = "calls"
_LOG = "submit.log"
_NAME_CHARACTERS = 32
_PROJECT = "project"  # beside the members of the task


def submit(home: Home, dispatcher: Dispatcher, task: DispatchTask) -> str | None:
    """Start a process that dispatches the task, and return without waiting for it.

    Args:
        home: The home of the trace.
        dispatcher: Says whether the task can be dispatched.
        task: The task; its check must be a text, since another process reads it.

    Returns:
        The id of its trace; None where nothing is called because too little of the
        context is in use.

    Raises:
        InvalidInput: For a task outside the rules.
        StorageError: Where the task cannot be written.
    """
    if callable(task.check):
        raise InvalidInput(
            f"got the check {task.check!r}; allowed is not_empty, json or regex:PATTERN"
        )
    ready = dispatcher.checked_task(task)
    if ready.context_pct < home.settings.dispatch_context_pct:
        return None
    assert ready.trace_id is not None
    file = _task_file(home, ready.trace_id)
    document = _as_document(ready, home.project)
    with told(f"cannot write {file}", "make the folder one that can be written"):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, document, mode=FILE_MODE)
    _start(home, ready.trace_id)
    return ready.trace_id


def run_submitted(home: Home, trace_id: str) -> DispatchResult:
    """Dispatch the task that was submitted under this id, in its project.

    Raises:
        InvalidInput: No task waits under this id.
        StorageError: The trace cannot be written.
    """
    file = _task_file(home, trace_id)
    document = _take(file, trace_id)
    project = document.pop(_PROJECT)
    dispatcher = Dispatcher(home.in_project(project))
    task = replace(DispatchTask("", "", ""), **document)
    try:
        return dispatcher.dispatch(task)
    finally:
        dispatcher.close()


def _as_document(task: DispatchTask, project: str) -> bytes:
    """Return a task and its project as JSON."""
    document: dict[str, Any] = {_PROJECT: project}
    for member in fields(task):
        document[member.name] = getattr(task, member.name)
    document["tags"] = list(task.tags)
    return json.dumps(document).encode()


def _task_file(home: Home, trace_id: str) -> Path:
    """Return where a submitted task waits; an id may hold what no file's name may."""
    digest = sha256(trace_id.encode()).hexdigest()
    name = digest[:_NAME_CHARACTERS]
    return home.folder / _FOLDER / f"{name}.task.json"


def _take(file: Path, trace_id: str) -> dict[str, Any]:
    """Return what a file holds, and remove it: of two processes one gets the task."""
    taken = file.with_suffix(f".{os.getpid()}")
    try:
        file.rename(taken)
    except FileNotFoundError as error:
        raise InvalidInput(
            f"got the trace id {trace_id!r}, under which no task waits; `theorex tiers"
            " submit` prints the ids of those that do"
        ) from error
    text = taken.read_text(encoding="utf-8")
    taken.unlink()
    document: dict[str, Any] = json.loads(text)
    return document


def _start(home: Home, trace_id: str) -> None:
    """Start the process that dispatches the task; what it prints goes to a log."""
    folder = str(home.folder)
    words = ["tiers", "submit", "--run", trace_id, "--home", folder]
    log = home.folder / _FOLDER / _LOG
    with open(log, "ab", opener=open_private) as stream:
        start_in_background(words, folder, stream)
