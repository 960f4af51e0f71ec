"""Write Theorex's data folder as its document prints it.

Beside what `designs.theorex.files` writes it has

    flash/<session>.json            what sessions hold that was not flushed, each event
                                    with its score now
    a2a/<to>/<task>.json            a task as it stands
    policy-snapshots/<number>.json  a policy that was kept
    evolution.jsonl                 a line a maintenance: when, its steps, how many fixes
                                    it wrote, what the acceptance test decided
    traces/<id>.json                a call of a model, named by the id that it was given
    outcomes/<id>.json              how something went

The folder is for programs that read the document's files. The first four are not read
back: `theorex backup` moves them to another home.
"""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from theorex_lab.core.clock import to_iso
from theorex_lab.designs.theorex import scores
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.files import export_files
from theorex_lab.designs.theorex.flash import Flash, score
from theorex_lab.dispatch.tasks import Task, TaskBoard, Tasks
from theorex_lab.files.formats.flat_files import FlatRecord
from theorex_lab.files.formats.home_files import export_runs
from theorex_lab.files.formats.reports import (
    Exported,
    file_name,
    portable,
    refuse_to_replace,
)
from theorex_lab.journal.event import Event, encode
from theorex_lab.memory.contract import Home

FLASH = "flash"
A2A = "a2a"
POLICY_SNAPSHOTS = "policy-snapshots"
EVOLUTION = "evolution.jsonl"
_SCORE_DIGITS = 6
_INPUT_CHARACTERS = 300
_RESPONSE_CHARACTERS = 500
# The name of a prompt among the tools of a session's flash.
_PROMPT = "prompt"


def export_document(
    home: Home, folder: Path, *, agent: str | None = None, replace: bool = False
) -> Exported:
    """Write the document's data folder.

    Args:
        home: Whose memory it is.
        folder: Where the files go.
        agent: Whose memory is written: its concepts, sessions, traces, outcomes and the
            tasks that were sent to it. None: all agents', the policies and the
            maintenances too.
        replace: Whether a folder that is not empty is written into.

    Returns:
        The folder, and how many lines each file has.

    Raises:
        FilesThere: The folder is not empty, and `replace` is not given.
        InvalidInput: The agent's name is outside the rule.
        StorageError: A file cannot be written.
    """
    if folder.is_dir() and not replace:
        refuse_to_replace(sorted(folder.iterdir()))
    home = home.in_project("")  # what is of any project is written
    exported = export_files(home, None, folder, agent=agent)
    exported.files |= export_runs(home, None, folder, agent=agent).files
    exported.write_each(FLASH, _sessions(home, agent))
    exported.write_each(A2A, _tasks(home, agent), f"{A2A}/*/*.json")
    if agent is None:
        exported.write_each(POLICY_SNAPSHOTS, _policies(home))
        exported.write(EVOLUTION, _maintenances(home))
    return exported


def _sessions(home: Home, agent: str | None) -> Iterator[tuple[str, FlatRecord]]:
    """Yield a document a session that has events which were not flushed."""
    flash = home.views.get(Flash)
    with flash.lock:
        agents = [agent] if agent is not None else list(flash.agents)
    events_of: dict[str, list[FlatRecord]] = {}
    for owner in agents:
        for event, significance in _scored_events(home, owner):
            record = _flash_record(event, significance)
            events_of.setdefault(event.session, []).append(record)
    for session, records in events_of.items():
        document: FlatRecord = {"session_id": session, "events": records}
        yield file_name(session), document


def _scored_events(home: Home, agent: str) -> Iterator[tuple[Event, float]]:
    """Yield what an agent's sessions hold, each event with its score now."""
    with home.views.reading(Axon) as axon:
        importance = scores.importance_by_concept(
            axon, home.clock.now(), home.settings, agent=agent
        )
    weight = home.settings.source_weight(agent)
    with home.views.reading(Flash) as flash:
        seqs: list[int] = []
        for session, _ in flash.waiting(home, agent):
            seqs += flash.pending(agent, session)
    for event in home.journal.read(seqs=seqs):
        yield event, score(event, importance, weight).score


def _flash_record(event: Event, significance: float) -> FlatRecord:
    """Return an event of a session as the document has it.

    A prompt, which the document does not have, stands as the input of a tool `prompt`.
    """
    body = event.body
    text = str(body.get("input", body.get("text", "")))
    response = str(body.get("response", ""))
    return {
        "id": event.id,
        "agent_id": event.agent,
        "tool_name": body.get("tool", _PROMPT),
        "tool_input_preview": text[:_INPUT_CHARACTERS],
        "tool_response_preview": response[:_RESPONSE_CHARACTERS],
        "timestamp": to_iso(event.at),
        "significance_score": round(significance, _SCORE_DIGITS),
    }


def _tasks(home: Home, agent: str | None) -> Iterator[tuple[str, FlatRecord]]:
    """Yield a document a task, in the folder of the agent that it was sent to."""
    board = TaskBoard(home)
    with home.views.reading(Tasks) as view:
        agents = [agent] if agent is not None else list(view.agents)
    for recipient in agents:
        for task in board.tasks(recipient):
            yield f"{portable(task.to)}/{file_name(task.id)}", _task_record(task)


def _task_record(task: Task) -> FlatRecord:
    record: FlatRecord = {
        "id": task.id,
        "from_agent": task.sender,
        "to_agent": task.to,
        "task_type": task.type,
        "payload": task.payload,
        "status": task.state,
        "submitted_at": to_iso(task.created_at),
    }
    if task.completed_at is not None:
        record["completed_at"] = to_iso(task.completed_at)
    if task.result is not None:
        record["result"] = task.result
    return record


def _policies(home: Home) -> Iterator[tuple[str, FlatRecord]]:
    """Yield a document a policy that was kept, by its number."""
    for event in home.journal.tail(0, kinds=["policy"]):
        body = event.body
        settings = encode(body["settings"])
        document: FlatRecord = {
            "version": body["number"],
            "timestamp": to_iso(event.at),
            "metrics": body["metrics"],
            "config_hash": sha256(settings.encode()).hexdigest(),
            "settings": body["settings"],
            "reason": body["reason"],
            "parent": body["parent"],
        }
        yield f"{body['number']}.json", document


def _maintenances(home: Home) -> Iterator[FlatRecord]:
    """Yield a line a maintenance, from the oldest to the newest."""
    for event in home.journal.tail(0, kinds=["nightly"]):
        body = event.body
        yield {
            "timestamp": to_iso(event.at),
            "steps": body["steps"],
            "fixes": body["fixes"],
            "gate": body["gate"],
        }
