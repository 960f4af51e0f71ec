"""Documents of the original system, a JSON file each: what sessions hold that was not flushed, tasks, and policies.

flash/<session>.json              tool events and prompts that wait for a flush, each with its score now, as many as a flash
                                  holds; not those of a call of a model, which stand in its trace
a2a/<to>/<task>.json              a task as it stands
policy-snapshots/<number>.json    a policy that was kept

Flash is read back: heard, or with `trust_own` as what it was. Tasks and policies are not; a backup moves them with the home.
"""

from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path

from theorex_lab.clock import to_iso
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.flash import Flash, held_by_day, score
from theorex_lab.designs.theorex.scores import importance_by_concept
from theorex_lab.dispatch.tasks import TaskBoard, Tasks
from theorex_lab.dispatch.traces import Traces
from theorex_lab.evolution.policy import policies
from theorex_lab.exchange.files import Exported, Importing, Read, Reports, file_name, portable, read_group
from theorex_lab.exchange.flat_files import FlatRecord, Lines, each_noted
from theorex_lab.home import Home
from theorex_lab.ids import check_agent
from theorex_lab.journal.event import Event, encode

FLASH, TASKS, POLICIES = "flash", "a2a", "policy-snapshots"
_PATTERNS = {FLASH: f"{FLASH}/*.json", TASKS: f"{TASKS}/*/*.json", POLICIES: f"{POLICIES}/*.json"}
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
    """The files of flash below a folder, or the file itself where it lies in a folder of that name."""
    if path.is_file():
        return [path] if path.suffix == ".json" and path.parent.name == FLASH else []
    return sorted(path.glob(_PATTERNS[FLASH]))


def import_documents(home: Home, _: object, path: Path, *, agent: str = "main", trust_own: bool = False) -> Reports:
    """Import what was captured, in one transaction; a damaged document is reported. Raises StorageError."""
    how = Importing(home.settings, home.clock.now(), check_agent(agent), trust_own)
    files = document_files(path)
    return [read_group(home.journal, _PATTERNS[FLASH], files, path, partial(_captures, how))] if files else []


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
    with home.views.reading(Tasks) as view:
        agents = [*view.agents] if agent is None else [agent]
    for task in (task for to in agents for task in TaskBoard(home).tasks(to)):
        document = {
            "id": task.id, "from_agent": task.sender, "to_agent": task.to, "task_type": task.type, "payload": task.payload,
            "status": task.state, "submitted_at": to_iso(task.created_at),
            "completed_at": None if task.completed_at is None else to_iso(task.completed_at), "result": task.result,
        }  # fmt: skip
        told = {name: value for name, value in document.items() if value is not None or name == "payload"}
        yield f"{portable(task.to)}/{file_name(task.id)}", told


def _policies(home: Home, agent: str | None) -> Iterator[tuple[str, FlatRecord]]:
    for policy in policies(home.journal) if agent is None else ():
        kept = {name: getattr(policy, name) for name in ("settings", "metrics", "reason", "parent")}
        digest = sha256(encode(policy.settings).encode()).hexdigest()
        yield f"{policy.number}.json", {"version": policy.number, "timestamp": policy.at, "config_hash": digest, **kept}


def _captures(how: Importing, documents: Lines, problems: list[str]) -> Read:
    """What was captured, as heard; with `trust_own` under its own id and source."""
    from theorex_lab.designs.theorex.exchange_read import captured

    for place, document in documents:
        session, events = document.get("session_id", ""), document.get("events")
        numbered = enumerate(events if isinstance(events, list) else [])
        placed = ((f"{place}: event {number}", record) for number, record in numbered)
        yield from ((event, 1) for _, event in each_noted(problems, placed, captured, session, how))
