"""Say what an export holds of trajectories and strategies, and how an import reads it.

Only trajectories that were captured by hand are in it: those of sessions are captures.
"""

from collections.abc import Iterator
from typing import Any

from theorex_lab.designs.dreams.strategy_view import Strategies
from theorex_lab.files.formats.design_records import (
    DesignRecords,
    Numbers,
    RecordKind,
    RecordReading,
    member_id,
)
from theorex_lab.journal.event import Body, Event
from theorex_lab.memory.contract import Home

_STRATEGY = "strategy"
_TRAJECTORY = "trajectory"


def _sourced_state(reading: RecordReading, state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a strategy with the source `import`, unless it is trusted."""
    if reading.trusted or not state:
        return state
    return {**state, "source": "import"}


def _started(reading: RecordReading, event: Event) -> Body:
    body = event.body
    if not body.get("parent_id"):
        return body
    return {**body, "parent_id": reading.mention(_TRAJECTORY, body["parent_id"])}


def _of_trajectory(reading: RecordReading, event: Event) -> Body:
    trajectory_id = reading.need(_TRAJECTORY, event.body["trajectory_id"])
    return {**event.body, "trajectory_id": trajectory_id}


def _strategy(reading: RecordReading, event: Event) -> Body:
    body = event.body
    return {
        **body,
        "state": _sourced_state(reading, body["state"]),
        "trajectory": reading.mention(_TRAJECTORY, body["trajectory"]),
    }


def _changed(reading: RecordReading, event: Event) -> Body:
    body = event.body
    changed = {
        **body,
        "strategy_id": reading.need(_STRATEGY, body["strategy_id"]),
        "state": _sourced_state(reading, body["state"]),
    }
    if body.get("trajectory"):
        changed["trajectory"] = reading.mention(_TRAJECTORY, body["trajectory"])
    return changed


def _merged(reading: RecordReading, event: Event) -> Body:
    absorbed = event.body["absorbed"]
    is_of_trajectory = absorbed == event.body.get("trajectory")
    sort = _TRAJECTORY if is_of_trajectory else _STRATEGY
    body = _changed(reading, event)
    return {**body, "absorbed": reading.mention(sort, absorbed)}


def _constraint(reading: RecordReading, event: Event) -> Body:
    body = event.body
    return {
        **body,
        "strategy_id": reading.need(_STRATEGY, body["strategy_id"]),
        "trajectory": reading.mention(_TRAJECTORY, body["trajectory"]),
    }


def _linked(reading: RecordReading, event: Event) -> Body:
    # The id of a step is its strategy's, a dot and its number.
    for name in ("from_id", "to_id"):
        strategy_id, _, _ = event.body[name].partition(".")
        reading.need(_STRATEGY, strategy_id)
    return event.body


def _dream(reading: RecordReading, event: Event) -> Body:
    passed = []
    for trajectory_id, *more in event.body["passed"]:
        linked = reading.mention(_TRAJECTORY, trajectory_id)
        if linked:
            passed.append([linked, *more])
    return {**event.body, "passed": passed}


def _recalled(reading: RecordReading, event: Event) -> Body | None:
    items = reading.links(_STRATEGY, event.body["items"])
    if not items:
        return None
    return {**event.body, "items": items}


def _renumbered(body: Body, number: Numbers) -> Body:
    if "upto" not in body:
        return body
    return {**body, "upto": number(body["upto"])}


def _renumbered_rows(body: Body, number: Numbers) -> Body:
    passed = []
    for trajectory_id, upto, *more in body["passed"]:
        passed.append([trajectory_id, number(upto), *more])
    return {**body, "passed": passed}


def _entries(home: Home) -> Iterator[Event]:
    """Yield the entries of an export; of what was recalled the strategies alone."""
    with home.views.reading(Strategies) as view:
        strategy_ids = set(view.ids)
    for event in home.journal.tail(0, kinds=[*_KINDS]):
        if event.kind != "recalled":
            yield event
            continue
        items = [item for item in event.body["items"] if item in strategy_ids]
        if items:
            yield event._replace(body={**event.body, "items": items})


_OF_TRAJECTORY = member_id(_TRAJECTORY, "trajectory_id")
_OF_STRATEGY = member_id(_STRATEGY, "strategy_id")
_KINDS = {
    "trajectory_started": RecordKind(_OF_TRAJECTORY, _started),
    "acted": RecordKind(read=_of_trajectory),
    "trajectory_ended": RecordKind(read=_of_trajectory),
    "strategy": RecordKind(_OF_STRATEGY, _strategy, renumber=_renumbered),
    "strategy_merged": RecordKind(read=_merged, renumber=_renumbered),
    "constraint": RecordKind(read=_constraint),
    "strategy_linked": RecordKind(read=_linked),
    "strategy_compacted": RecordKind(read=_changed),
    "strategy_migrated": RecordKind(read=_changed),
    "dream": RecordKind(read=_dream, renumber=_renumbered_rows),
    "recalled": RecordKind(read=_recalled),
    # They may hold whatever a stranger's file holds.
    "sqlite_rows": RecordKind(needs_trust=True),
}
RECORDS = DesignRecords(_KINDS, _entries)
