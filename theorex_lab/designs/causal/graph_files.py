"""Write the files of a memory graph, as the document has them.

- memory_graph.jsonl: signals, hypotheses, attempts, outcomes and candidates, one a
  line, in the journal's order. After an outcome of this home stands what it makes of
  the confidence in its gene.
- genes.json and capsules.json: the assets, each as it was told last.
- memory_graph_state.json: the last attempt, and whether it is closed.
- evolution_narrative.md: the last outcomes in words.

What came from such a file is written as it was read.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from theorex_lab.core.clock import EARLIEST
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import derived_event_id
from theorex_lab.designs.causal.capture import EVENT_TYPE, document_form, in_ms
from theorex_lab.designs.causal.items import runs_of
from theorex_lab.designs.causal.narrative import narrative
from theorex_lab.designs.causal.settings import causal_settings
from theorex_lab.files.formats.flat_files import write_lines
from theorex_lab.files.formats.reports import Exported
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import Home

JsonObject = dict[str, Any]
GRAPH_FILE = "memory_graph.jsonl"
STATE_FILE = "memory_graph_state.json"
NARRATIVE_FILE = "evolution_narrative.md"
# The type of the assets that each file lists, under the name of the file.
ASSET_FILES = {"genes.json": "Gene", "capsules.json": "Capsule"}
# Kinds as lines call them, and as the journal does.
LINE_KINDS = {
    "signal": "signal_snapshot",
    "hypothesis": "hypothesis",
    "attempt": "attempt",
    "outcome": "attempt_closed",
    "external_candidate": "external_candidate",
}
DERIVED_KINDS = ("confidence_edge", "confidence_gene_outcome")
# Holds what such a file says and no other event does.
KEPT_KIND = "graph_kept"
# What a session's folder is named after, and what of it no name of a folder has.
_SCOPES_FOLDER = "scopes"
_NOT_IN_SCOPE = re.compile(r"[^A-Za-z0-9_.-]")
_SCOPE_CHARACTERS = 128


def scope_folder(folder: Path, scope: str) -> Path:
    """Return the folder that the document's program gives to one session's files.

    Signs that no such name has become `_`, and 128 of them are read.

    >>> scope_folder(Path("evolution"), "night shift/7").as_posix()
    'evolution/scopes/night_shift_7'

    Args:
        folder: The folder of all sessions.
        scope: The name of the session, as EVOLVER_SESSION_SCOPE has it.

    Raises:
        InvalidInput: The name is empty, is a dot, or has two dots in a row.
    """
    name = _NOT_IN_SCOPE.sub("_", scope.strip())[:_SCOPE_CHARACTERS]
    if name in ("", ".") or ".." in name:
        raise InvalidInput(
            f"got the scope {scope!r:.80}; allowed is the name of a session, without"
            " two dots in a row"
        )
    return folder / _SCOPES_FOLDER / name


def export_graph(home: Home, folder: Path) -> Exported:
    """Write the files of the home's project, or of all projects, into a folder.

    Each file is replaced as a whole.

    Raises:
        StorageError: A file cannot be written.
    """
    exported = Exported(folder)
    exported.write(GRAPH_FILE, graph_lines(home))
    for name in ASSET_FILES:
        exported.write(name, [asset_document(home, name)])
    exported.write(STATE_FILE, [state_document(home)])
    lines = narrative(home).splitlines()
    exported.files[NARRATIVE_FILE] = write_lines(folder / NARRATIVE_FILE, lines)
    return exported


def _projects(home: Home) -> tuple[str, ...] | None:
    """Return the projects whose events are written; None for all."""
    return None if home.projects is None else ("", *home.projects)


def graph_lines(home: Home) -> Iterator[JsonObject]:
    """Yield the lines of memory_graph.jsonl."""
    confidence = _Confidence(home)
    projects = _projects(home)
    kinds = [*LINE_KINDS.values(), KEPT_KIND]
    for event in home.journal.tail(0, kinds=kinds, projects=projects):
        if event.kind == KEPT_KIND:
            if event.body["file"] == GRAPH_FILE:
                yield event.body["record"]
            continue
        line = event.body.get("line")
        yield line or document_form(event)
        if event.kind == LINE_KINDS["outcome"]:
            derived = confidence.after(event)
            # A file has its own lines of confidence, or it had none.
            if not line:
                yield from derived


class _Confidence:
    """Sum what outcomes make of the confidence in genes, when nothing has aged."""

    def __init__(self, home: Home) -> None:
        settings = causal_settings(home)
        self._half_lives = (
            settings.edge_half_life_days,
            settings.gene_half_life_days,
        )
        self._sums: dict[tuple[str, str], list[int]] = defaultdict(
            lambda: [0, 0, EARLIEST]
        )

    def after(self, event: Event) -> list[JsonObject]:
        """Return the lines after an outcome: of its signals, and of any signals."""
        lines = []
        runs = runs_of(event)
        zipped = zip(DERIVED_KINDS, self._half_lives, runs, strict=False)
        for kind, half_life_days, run in zipped:
            sums = self._sums[run.key, run.option]
            index = 0 if run.success else 1
            sums[index] += 1
            sums[2] = max(sums[2], event.at)
            stats = _stats(sums, half_life_days)
            line = _confidence_line(kind, event, stats)
            lines.append(line)
        return lines


def _stats(sums: list[int], half_life_days: float | None) -> JsonObject:
    """Return the figures of a line of confidence.

    Args:
        sums: How many successes and failures, and when the last was (µs UTC).
        half_life_days: In how many days they count half.
    """
    n_successes, n_failures, last = sums
    attempts = n_successes + n_failures
    p = (n_successes + 1) / (attempts + 2)
    return {
        "success": n_successes,
        "fail": n_failures,
        "attempts": attempts,
        "p": p,
        "decay_weight": 1.0,
        "value": p,
        "half_life_days": half_life_days,
        "updated_at": in_ms(last),
    }


def _confidence_line(kind: str, event: Event, stats: JsonObject) -> JsonObject:
    """Return a line of confidence that follows an outcome."""
    signal_key = event.body["signal"]["key"]
    gene = event.body["gene"]
    edge = {"signal_key": signal_key, "gene_id": gene["id"]}
    if kind != DERIVED_KINDS[0]:
        del edge["signal_key"]
    return {
        "type": EVENT_TYPE,
        "kind": kind,
        "id": derived_event_id(kind, event.id),
        "ts": in_ms(event.at),
        "signal": {"key": signal_key},
        "gene": gene,
        "edge": edge,
        "stats": stats,
        "derived_from": {"outcome_event_id": event.id},
    }


def asset_document(home: Home, file: str) -> JsonObject:
    """Return what a file of genes or capsules holds.

    Args:
        home: Where they are kept.
        file: The name of the file, of those in `ASSET_FILES`.
    """
    projects = _projects(home)
    last_by_id: dict[str, Event] = {}
    for event in home.journal.tail(0, kinds=["asset"], projects=projects):
        asset = event.body["asset"]
        if asset["type"] == ASSET_FILES[file]:
            last_by_id[asset["id"]] = event
    assets = [asset_record(event) for event in last_by_id.values()]
    document = _last_kept(home, file) or {"version": 1}
    list_name = file.removesuffix(".json")
    return {**document, list_name: assets}


def asset_record(event: Event) -> JsonObject:
    """Return an asset as a file has it: as it was read, or with its asset_id."""
    line: JsonObject | None = event.body.get("line")
    if line:
        return line
    asset = dict(event.body["asset"])
    if "asset_id" in event.body:
        asset["asset_id"] = event.body["asset_id"]
    return asset


def _last_kept(home: Home, file: str) -> JsonObject | None:
    """Return what was kept last of a file that is one object; None without it."""
    projects = _projects(home)
    record: JsonObject | None = None
    for event in home.journal.tail(0, kinds=[KEPT_KIND], projects=projects):
        if event.body["file"] == file:
            record = event.body["record"]
    return record


def state_document(home: Home) -> JsonObject:
    """Return what memory_graph_state.json holds: `last_action`.

    It is the last attempt that is no import's word. A state that was read stays as it
    was, as long as it tells of this attempt and of its being open or closed.
    """
    attempt = _last_attempt(home)
    read_state = _last_kept(home, STATE_FILE)
    if attempt is None:
        return read_state or {"last_action": None}
    action_id = attempt.body["action"]["id"]
    outcome = _outcome_of_action(home, action_id)
    if read_state and _tells_of(read_state, action_id, is_closed=outcome is not None):
        return read_state
    return {"last_action": _last_action(attempt, outcome)}


def _last_attempt(home: Home) -> Event | None:
    """Return the last attempt that is no import's word; None without one."""
    projects = _projects(home)
    last = None
    for event in home.journal.tail(0, kinds=["attempt"], projects=projects):
        if event.body["source"] != "import":
            last = event
    return last


def _outcome_of_action(home: Home, action_id: str) -> Event | None:
    """Return the event that closes an attempt; None where it is open."""
    outcome_id = derived_event_id("attempt_closed", action_id)
    outcomes = home.journal.read(ids=[outcome_id])
    return outcomes[0] if outcomes else None


def _tells_of(state: JsonObject, action_id: str, *, is_closed: bool) -> bool:
    """Return whether a state tells of an action, and rightly whether it is closed."""
    last_action = state.get("last_action")
    if not isinstance(last_action, dict):
        return False
    if last_action.get("action_id") != action_id:
        return False
    is_recorded = bool(last_action.get("outcome_recorded"))
    return is_recorded == is_closed


def _last_action(attempt: Event, outcome: Event | None) -> JsonObject:
    """Return an attempt as the state file has it."""
    body = attempt.body
    mutation = body.get("mutation") or {}
    personality = body.get("personality") or {}
    gene = body.get("gene") or {}
    hypothesis = body.get("hypothesis") or {}
    capsules = body.get("capsules") or {}
    return {
        "action_id": body["action"]["id"],
        "signal_key": body["signal"]["key"],
        "signals": body["signal"]["signals"],
        "mutation_id": mutation.get("id"),
        "mutation_category": mutation.get("category"),
        "mutation_risk_level": mutation.get("risk_level"),
        "personality_key": personality.get("key"),
        "personality_state": personality.get("state"),
        "gene_id": gene.get("id"),
        "gene_category": gene.get("category"),
        "hypothesis_id": hypothesis.get("id"),
        "capsules_used": capsules.get("used") or [],
        "had_error": body["had_error"],
        "created_at": in_ms(attempt.at),
        "outcome_recorded": outcome is not None,
        "outcome_recorded_at": in_ms(outcome.at) if outcome else None,
        "baseline_observed": body.get("observed"),
    }
