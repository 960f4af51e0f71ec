"""The files of the memory graph, as they are kept elsewhere too, written from the memory and taken in again.

memory_graph.jsonl         signals, hypotheses, attempts, outcomes and candidates, a line each, in the journal's order; after an
                           outcome what it makes of the confidence in its gene, for these signals and for any
genes.json, capsules.json  the genes and capsules, each as it was told last
evolution_narrative.md     the last outcomes in words

What a line of elsewhere has no member for (whose it was, its session, project and source) stands in its member `theorex`.
"""

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from theorex_lab.clock import EARLIEST
from theorex_lab.config import Settings
from theorex_lab.designs.causal import KINDS
from theorex_lab.designs.causal.capture import EVENT_TYPE, LINES, document_form, in_ms
from theorex_lab.designs.causal.items import causal_settings, runs_of
from theorex_lab.designs.causal.narrative import narrative
from theorex_lab.errors import InvalidInput
from theorex_lab.exchange.files import Exported
from theorex_lab.exchange.flat_files import write_lines
from theorex_lab.home import Home
from theorex_lab.ids import derived_event_id
from theorex_lab.journal.event import Event, encode

Told = dict[str, Any]
GRAPH, NARRATIVE = "memory_graph.jsonl", "evolution_narrative.md"
ASSETS = {"genes.json": "Gene", "capsules.json": "Capsule"}  # the type of what each holds
DERIVED = ("confidence_edge", "confidence_gene_outcome")
ABOUT = {"agent": "main", "session": "", "source": "agent", "project": ""}  # with what is not said
_NAMES = (GRAPH, *ASSETS, NARRATIVE)
_SCOPE_CHARACTERS = 128


def export_graph(home: Home, _searcher: object, folder: Path, *, agent: str | None = None) -> Exported:
    """Write the files of all agents, or of one, into a folder; nothing where the design was never used.

    Each file is replaced as a whole. Raises StorageError where one cannot be written.
    """
    return _write(home, agent, folder, {name: folder / name for name in _NAMES})


def export_named(home: Home, *, agent: str | None = None) -> Exported:
    """Write the files where `named_places` has them. Raises as `export_graph`, InvalidInput as `named_places`."""
    named = named_places()
    done = _write(home, agent, next(iter(named.values()), Path()).parent, named)
    done.files = {str(named[name]): count for name, count in done.files.items()}
    return done


def named_files(home: Home, *, agent: str | None = None) -> list[Path]:
    """The files that `export_named` writes."""
    return [*named_places().values()] if _used(home, agent) else []


def places(_settings: Settings) -> list[Path]:
    """Where others keep the files that are taken in, also what is not there. Raises as `named_places`."""
    return [path for name, path in named_places().items() if name in (GRAPH, *ASSETS)]


def named_places() -> dict[str, Path]:
    """The files by name where others keep them, by the variables of the environment: empty where they say nothing.

    EVOLUTION_DIR is the folder, else `evolution` in MEMORY_DIR; EVOLVER_SESSION_SCOPE names one in its `scopes`; MEMORY_GRAPH_PATH
    is the file of lines. Raises InvalidInput for a scope that would lead elsewhere.
    """
    memory, graph = os.environ.get("MEMORY_DIR"), os.environ.get("MEMORY_GRAPH_PATH")
    base = os.environ.get("EVOLUTION_DIR") or (memory and str(Path(memory) / "evolution"))
    folder = Path(base or "").expanduser() / _scope_folder(os.environ.get("EVOLVER_SESSION_SCOPE", "").strip())
    found = {name: folder / name for name in _NAMES} if base else {}
    return found | ({GRAPH: Path(graph).expanduser()} if graph else {})


def _scope_folder(scope: str) -> str:
    if ".." in scope or scope == ".":
        raise InvalidInput(f"got EVOLVER_SESSION_SCOPE={scope!r:.100}; allowed is a name without '..', such as team-a")
    return f"scopes/{re.sub(r'[^A-Za-z0-9_.-]', '_', scope)[:_SCOPE_CHARACTERS]}" if scope else ""


def _used(home: Home, agent: str | None) -> bool:
    return any(agent in (None, event.agent) for event in home.journal.tail(0, kinds=[*KINDS]))


def _write(home: Home, agent: str | None, folder: Path, named: Mapping[str, Path]) -> Exported:
    lines: dict[str, Iterable[str]] = {name: _assets(home, agent, name) for name in ASSETS}
    lines |= {GRAPH: map(encode, graph_lines(home, agent)), NARRATIVE: narrative(home, agent=agent).splitlines()}
    used = _used(home, agent)
    return Exported(folder, {name: write_lines(path, lines[name]) for name, path in named.items() if used})


def _assets(home: Home, agent: str | None, name: str) -> Iterator[str]:
    """The genes or the capsules, each as it was told last, in the order in which they came; beside them whose they are."""
    found: dict[str, Event] = {}
    for event in home.journal.tail(0, kinds=["asset"]):
        if agent in (None, event.agent) and event.body["asset"]["type"] == ASSETS[name]:
            found[event.body["asset"]["id"]] = event
    told = [{**event.body["asset"], "asset_id": event.body["asset_id"]} for event in found.values()]
    about = {named: said["theorex"] for named, event in found.items() if (said := _about(event))}
    yield encode({"version": 1, name.removesuffix(".json"): told, **({"theorex": about} if about else {})})


def graph_lines(home: Home, agent: str | None = None) -> Iterator[Told]:
    """The lines of memory_graph.jsonl, of all agents or of one."""
    sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, EARLIEST])
    for event in home.journal.tail(0, kinds=[*LINES.values()]):
        if agent in (None, event.agent):
            line = document_form(event)
            line["id"] = line.pop("line_id", event.id)
            yield {**line, **_about(event)}
            yield from _confidence(home, event, line, sums) if event.kind == LINES["outcome"] else ()


def _about(event: Event) -> Told:
    """The member that says whose an event is, where it is not what is taken for granted."""
    said = {"agent": event.agent, "session": event.session, **event.body}
    differing = {name: said[name] for name, default in ABOUT.items() if said.get(name, "") != default}
    return {"theorex": differing} if differing else {}


def _confidence(home: Home, event: Event, line: Told, sums: dict[tuple[str, str], list[int]]) -> Iterator[Told]:
    """What was expected of a gene after this outcome, when nothing of it had aged: for its signals, and for any."""
    settings, key = causal_settings(home), line["signal"]["key"]
    days_of = (settings.edge_half_life_days, settings.gene_half_life_days)
    for kind, edge, days, run in zip(DERIVED, ({"signal_key": key}, {}), days_of, runs_of(event), strict=False):
        success, fail, last = sums[run.key, run.option]
        success, fail, last = success + run.success, fail + (not run.success), max(last, event.at)
        sums[run.key, run.option] = [success, fail, last]
        p = (success + 1) / (success + fail + 2)
        yield {
            "type": EVENT_TYPE, "kind": kind, "id": derived_event_id(kind, event.id), "ts": line["ts"], "signal": {"key": key},
            "gene": line["gene"], "edge": {**edge, "gene_id": run.option}, "derived_from": {"outcome_event_id": line["id"]},
            "stats": {"success": success, "fail": fail, "attempts": success + fail, "p": p, "decay_weight": 1.0, "value": p,
                      "half_life_days": days, "updated_at": in_ms(last)}}  # fmt: skip


def graph_files(path: Path) -> list[Path]:
    """The files of lines, genes and capsules in a folder, or the one that is given, by its name."""
    if path.is_dir():
        return [path / name for name in (GRAPH, *ASSETS) if (path / name).is_file()]
    return [path] * (path.name in ASSETS or path.match(f"*{GRAPH}"))
