"""Documents of the original system, a JSON file each: what sessions hold that was not flushed, tasks, and policies.

flash/<session>.json              tool events and prompts that wait for a flush, each with its score now, as many as a flash
                                  holds; not those of a call of a model, which stand in its trace
a2a/<to>/<task>.json              a task as it stands; `events` holds its steps as the lines of tasks.jsonl do
policy-snapshots/<number>.json    a policy that was kept, with the members of its line in policies.jsonl

With `trust_own` they come back as what they were. Without it flash is heard, and tasks and policies are left out, as the
module `exchange.history` says; so is a policy of the original system, which never tells its settings.
"""

from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from theorex_lab.clock import to_iso, to_microseconds
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.flash import Flash, held_by_day, score
from theorex_lab.designs.theorex.scores import importance_by_concept
from theorex_lab.dispatch.tasks import TaskBoard
from theorex_lab.dispatch.traces import Traces
from theorex_lab.errors import InvalidInput
from theorex_lab.exchange.files import Exported, Importing, Read, Reports, file_name, portable, read_group
from theorex_lab.exchange.flat_files import FlatRecord, Lines, each_noted
from theorex_lab.exchange.history import line_of, own_events, taken
from theorex_lab.home import Home
from theorex_lab.ids import check_agent, derived_event_id
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import Event, encode

FLASH, TASKS, POLICIES = "flash", "a2a", "policy-snapshots"
_PATTERNS = {FLASH: f"{FLASH}/*.json", TASKS: f"{TASKS}/*/*.json", POLICIES: f"{POLICIES}/*.json"}
_LINES = {TASKS: "tasks.jsonl", POLICIES: "policies.jsonl"}  # where these lie in a folder too, they say all
# Members of a flash event, and of the body that they are of.
PREVIEWS = {"tool_name": "tool", "tool_input_preview": "input", "tool_response_preview": "response"}
_SCORE_DIGITS = 6


def export_documents(home: Home, _searcher: object, folder: Path, *, agent: str | None = None) -> Exported:
    """Write a file a session, a task and a policy into `folder`; of one agent its sessions and the tasks sent to it."""
    done = Exported(folder)
    for name, documents in ((FLASH, _sessions), (TASKS, _tasks), (POLICIES, _policies)):
        done.write_each(name, documents(home, agent), _PATTERNS[name])
    return done


def document_files(path: Path) -> list[Path]:
    """The documents below a folder that no file of lines there holds, policies by their numbers; or the file itself where it lies in a folder of that name."""
    if path.is_file():
        return [path] if path.suffix == ".json" and _folder_of(path) else []
    wanted = [pattern for name, pattern in _PATTERNS.items() if not (path / _LINES.get(name, name)).is_file()]
    return sorted((file for pattern in wanted for file in path.glob(pattern)), key=_number)


def import_documents(home: Home, _: object, path: Path, *, agent: str = "main", trust_own: bool = False) -> Reports:
    """Import documents, those of each folder in one transaction; a damaged one is reported. Raises StorageError."""
    how = Importing(home.settings, home.clock.now(), check_agent(agent), trust_own)
    files = document_files(path)
    readers = {FLASH: _captures, TASKS: _task_lines, POLICIES: taken}
    groups = {name: found for name in readers if (found := [file for file in files if _folder_of(file) == name])}
    read = {name: partial(readers[name], home.journal, how) for name in groups}
    return [read_group(home.journal, _PATTERNS[name], groups[name], path, read[name]) for name in groups]


def _folder_of(file: Path) -> str:
    parents = {FLASH: file.parent.name, TASKS: file.parent.parent.name, POLICIES: file.parent.name}
    return next((name for name, parent in parents.items() if parent == name), "")


def _number(file: Path) -> tuple[int, str]:
    return (int(file.stem) if file.stem.isascii() and file.stem.isdecimal() else 0), file.name


def _sessions(home: Home, agent: str | None) -> Iterator[tuple[str, FlatRecord]]:
    flash, axon, traces = home.views.get(Flash), home.views.get(Axon), home.views.get(Traces)
    sessions: dict[str, list[FlatRecord]] = {}
    with traces.lock:
        traced = set(traces.tools["seq"].tolist())
    for name in [agent] if agent is not None else list(flash.agents):
        with flash.lock, axon.lock:
            pending = {session: flash.pending(name, session) for session in flash.sessions_of(name)}
            importance = importance_by_concept(axon, home.clock.now(), home.settings, agent=name)
        weight = home.settings.source_weight(name)
        for session, seqs in pending.items():
            waiting = home.journal.read(seqs=sorted({*seqs} - traced))
            held = held_by_day(score(event, importance, weight) for event in waiting)
            sessions.setdefault(session, []).extend(_flash_record(scored.event, scored.score) for scored in held)
    for session, events in sessions.items():
        if events:
            yield file_name(session), {"session_id": session, "events": events}


def _flash_record(event: Event, significance: float) -> FlatRecord:
    body = dict(event.body)
    return {
        **{member: body.pop(name) for member, name in PREVIEWS.items() if name in body}, "timestamp": to_iso(event.at),
        "significance_score": round(significance, _SCORE_DIGITS), "id": event.id, "kind": event.kind, "agent_id": event.agent,
        "body": body,
    }  # fmt: skip


def _tasks(home: Home, agent: str | None) -> Iterator[tuple[str, FlatRecord]]:
    board = TaskBoard(home)
    for steps in own_events(home.journal, "tasks.jsonl", agent):
        task = board.task(steps[0].body["task_id"])
        document = {
            "id": task.id, "from_agent": task.sender, "to_agent": task.to, "task_type": task.type, "payload": task.payload,
            "status": task.state, "submitted_at": to_iso(task.created_at),
            "completed_at": None if task.completed_at is None else to_iso(task.completed_at), "result": task.result,
        }  # fmt: skip
        told = {name: value for name, value in document.items() if value is not None or name == "payload"}
        yield f"{portable(task.to)}/{file_name(task.id)}", {**told, "events": [line_of(event) for event in steps]}


def _policies(home: Home, agent: str | None) -> Iterator[tuple[str, FlatRecord]]:
    for (event,) in own_events(home.journal, "policies.jsonl", agent):
        digest, number = sha256(encode(event.body["settings"]).encode()).hexdigest(), event.body["number"]
        yield f"{number}.json", {"version": number, "config_hash": digest, **line_of(event)}


def _captures(_: Journal, how: Importing, documents: Lines, problems: list[str]) -> Read:
    """What was captured, as heard; with `trust_own` under its own id and source."""
    from theorex_lab.designs.theorex.exchange_read import captured

    for place, document in documents:
        session, events = document.get("session_id", ""), document.get("events")
        numbered = enumerate(events if isinstance(events, list) else [])
        placed = ((f"{place}: event {number}", record) for number, record in numbered)
        yield from ((event, 1) for _, event in each_noted(problems, placed, captured, session, how))


def _task_lines(journal: Journal, how: Importing, documents: Lines, problems: list[str]) -> Read:
    lines = [(place, step) for place, document in documents for step in _steps_of(place, document, problems)]
    return taken(journal, how, lines, problems)


def _steps_of(place: int | str, document: FlatRecord, problems: list[str]) -> list[FlatRecord]:
    """The steps of a task, as its document states them or, in the original system's, as it must have gone through them."""
    if isinstance(document.get("events"), list):
        return list(document["events"])
    sender, to, state = (document.get(name) for name in ("from_agent", "to_agent", "status"))
    sent = {"from": sender, "to": to, "type": document.get("task_type"), "payload": document.get("payload")}
    steps: list[tuple[str, Any, Any, FlatRecord]] = [("task_submitted", sender, document.get("submitted_at"), sent)]
    if state in ("completed", "failed"):
        ended, held = document.get("completed_at", document.get("submitted_at")), {"worker": str(to)}
        try:
            until = to_microseconds(str(ended))
        except InvalidInput:
            problems.append(f"{place}: completed_at is {ended!r:.80}; allowed is an ISO 8601 time with an offset")
            return []
        steps.append(("task_claimed", to, ended, {**held, "attempt": 1, "lease_until": until}))
        steps.append(("task_ended", to, ended, {**held, "state": state, "result": document.get("result")}))
    number = document.get("id")
    return [
        {"id": derived_event_id("task", number, step), "kind": kind, "timestamp": at, "agent_id": agent, "task_id": number}
        | {"step": step, **body} for step, (kind, agent, at, body) in enumerate(steps)
    ]  # fmt: skip
