"""What a home did, a line an event, in files beside those of the memory: tasks, policies and reviews.

tasks.jsonl      steps of tasks (task_submitted, task_claimed, task_ended), task by task in the order they were sent
policies.jsonl   policies that were kept (policy), by their numbers
evolution.jsonl  nights (nightly): their steps, the fixes that they wrote, what the gate said
reviews.jsonl    failures that were reviewed (reviewed), and what no reviewer could say of others (review_failed)

A line is a JSON object: id, kind, timestamp (ISO 8601), agent_id, session_id, lineage, and the members of the event's
body with its version v. No file holds what was erased, a task with an erased step, or a task from or to an agent that
was erased as a whole. An export of one agent holds its reviews and the tasks sent to it.

Imported with `trust_own` they are what they were: a task that waits can be claimed, a policy can be restored (none comes
into force by being imported), a failure that was reviewed waits no more; ids stay, so that repeating it adds nothing, and
an event that is there already under the same id stays as it is. Imported without it each is history, an event `heard`
that holds what was said and that no view takes in: no task can be claimed, no policy restored, no failure counts as
reviewed, and the fix itself comes with observations.jsonl as hearsay. History is exported again as such, with the source
`import`, and stays history wherever it is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from theorex_lab.clock import to_iso
from theorex_lab.errors import InvalidInput
from theorex_lab.evolution.policy import numbered_events
from theorex_lab.exchange.files import Exported, FileReport, Importing, each_file
from theorex_lab.exchange.flat_files import FlatRecord, append_new, each_noted, first_record, read_lines
from theorex_lab.home import Home
from theorex_lab.ids import check_agent, derived_event_id
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import Event, encode, new_event
from theorex_lab.journal.view import ERASURE

# Name of a file -> the kinds of its events. Tasks and policies first: a review names outcomes and sentences alone.
FILES = {
    "tasks.jsonl": ("task_submitted", "task_claimed", "task_ended"),
    "policies.jsonl": ("policy",),
    "reviews.jsonl": ("reviewed", "review_failed"),
    "evolution.jsonl": ("nightly",),
}
_KINDS = frozenset(kind for kinds in FILES.values() for kind in kinds)
_HEARD = "heard"


def export_history(home: Home, _searcher: object, folder: Path, *, agent: str | None = None) -> Exported:
    """Write the files of history into `folder`, each replaced as a whole. Raises StorageError where one cannot be written."""
    done, gone = Exported(folder), _gone(home.journal)
    for name, kinds in FILES.items():
        heard = ([event] for event in _heard(home.journal, kinds) if _is_wanted([event], agent, gone))
        chosen = (line_of(event) for steps in (*own_events(home.journal, name, agent), *heard) for event in steps)
        done.write(name, chosen)
    return done


def own_events(journal: Journal, name: str, agent: str | None) -> list[list[Event]]:
    """The home's own events of a file, those of one task together; of all agents, or of one as an export has it."""
    gone = _gone(journal)
    return [steps for steps in _own(journal, name, FILES[name]) if _is_wanted(steps, agent, gone)]


def history_files(path: Path) -> list[Path]:
    """The files of history in a folder, or the file itself where its name or its first line says that it is one."""
    if path.is_file():
        return [path] if path.name in FILES or str(first_record(path).get("kind")) in _KINDS else []
    return [path / name for name in FILES if (path / name).exists()]


def import_history(
    home: Home, _searcher: object, path: Path, *, agent: str = "main", trust_own: bool = False
) -> list[FileReport]:
    """Import files of history; each is one transaction, and what is damaged is reported by line. Raises StorageError."""
    how = Importing(home.settings, home.clock.now(), check_agent(agent), trust_own)
    return each_file(
        path,
        history_files(path),
        lambda file, problems: append_new(home.journal, taken(home.journal, read_lines(file, problems), how, problems)),
    )


def line_of(event: Event) -> FlatRecord:
    """An event as a line of a file; what was only heard has the source `import`."""
    source = {}
    if event.kind == _HEARD:
        heard = event.body
        event = event._replace(kind=heard["kind"], id=heard["id"], body=heard["said"])
        source = {"source": "import"}
    head = {"id": event.id, "kind": event.kind, "timestamp": to_iso(event.at), "agent_id": event.agent}
    if event.kind == "nightly":  # the document's name of it
        head["time"] = head["timestamp"]
    return {**head, "session_id": event.session, "lineage": list(event.lineage), **source, **event.body}


def _own(journal: Journal, name: str, kinds: tuple[str, ...]) -> Iterator[list[Event]]:
    """The events of a file, grouped by task; tasks with an erased step are left out."""
    events = journal.tail(0, kinds=kinds)
    if name != "tasks.jsonl":
        yield from ([event] for event in events)
        return
    tasks: dict[str, list[Event]] = {}
    for event in events:
        tasks.setdefault(event.body["task_id"], []).append(event)
    after = [derived_event_id("task", task_id, len(steps)) for task_id, steps in tasks.items()]
    there = {event.id for event in journal.read(ids=after, erased=True)}
    for next_id, steps in zip(after, tasks.values(), strict=True):
        if next_id not in there and [event.body["step"] for event in steps] == [*range(len(steps))]:
            yield steps


def _heard(journal: Journal, kinds: tuple[str, ...]) -> list[Event]:
    """What was imported as history, but for what came in as itself since."""
    found = [event for event in journal.tail(0, kinds=[_HEARD]) if event.body["kind"] in kinds]
    there = {event.id for event in journal.read(ids=[event.body["id"] for event in found], erased=True)}
    return [event for event in found if event.body["id"] not in there]


def _is_wanted(steps: list[Event], agent: str | None, gone: set[str]) -> bool:
    """Whether these events of one thing are the agent's, a task that of whom it was sent to, and name nobody who is gone."""
    body = steps[0].body.get("said", steps[0].body)
    named = {*(event.agent for event in steps), *(body[name] for name in ("from", "to") if name in body)}
    return gone.isdisjoint(named) and agent in (None, body.get("to", steps[0].agent))


def _gone(journal: Journal) -> set[str]:
    """Agents of whom events were erased and nothing is left."""
    ids = [event_id for event in journal.tail(0, kinds=[ERASURE]) for event_id in event.body["ids"]]
    gone = {event.agent for event in journal.read(ids=ids, erased=True)}
    for event in journal.tail(0) if gone else ():
        if event.kind != ERASURE:
            gone.discard(event.agent)
            if not gone:
                break
    return gone


def _event(record: FlatRecord, how: Importing, journal: Journal) -> tuple[Event, bool]:
    from theorex_lab.exchange.history_records import event_of

    event, own = event_of(record, how)
    known = journal.read(ids=[event.id]) if own else []
    if known and known[0].body != event.body:
        raise InvalidInput(f"another {event.kind} is here under the id {event.id}; it stays")
    return event, own


def taken(
    journal: Journal, lines: Iterable[tuple[int | str, FlatRecord]], how: Importing, problems: list[str]
) -> Iterator[tuple[Event, int]]:
    """What lines become, each given with its place; what is wrong with one is noted."""
    policies = len([*numbered_events(journal, "policy")])
    for place, (event, own) in each_noted(problems, lines, _event, how, journal):
        if own and event.kind == "policy":
            own = event.body["number"] <= policies + 1  # they are found by counting, none after a gap
            policies = max(policies, event.body["number"] if own else 0)
        yield how.believed(event if own else _as_heard(event), problems, place), 1


def _as_heard(event: Event) -> Event:
    body = {"kind": event.kind, "id": event.id, "said": event.body}
    made = derived_event_id(_HEARD, event.agent, event.at, encode(body))
    return new_event(
        _HEARD, body, agent=event.agent, session=event.session, at=event.at, lineage=event.lineage, event_id=made
    )
