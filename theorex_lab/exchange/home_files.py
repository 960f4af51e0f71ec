"""A home in files: what each design writes of its memory, and the runs beside it; and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from theorex_lab.design import FileLayout
from theorex_lab.errors import InvalidInput
from theorex_lab.evolution.outcomes import OutcomeLog
from theorex_lab.exchange.files import Exported, FileReport, refuse_to_replace
from theorex_lab.exchange.importing import Importing
from theorex_lab.exchange.runs import (
    OUTCOMES,
    TRACES,
    file_name,
    import_outcomes,
    import_traces,
    outcome_record,
    run_files,
    trace_records,
    write_runs,
)
from theorex_lab.home import Home
from theorex_lab.ids import check_agent
from theorex_lab.memory.retrieve import Searcher
from theorex_lab.text.doors import door


def _layouts(home: Home) -> list[FileLayout]:
    """Those of the designs; the built-in ones, which take any file for theirs, come last."""
    return [layout for design in reversed(home.designs) for layout in design.files]


def export_home(
    home: Home,
    searcher: Searcher,
    folder: Path | None,
    *,
    agent: str | None = None,
    replace: bool = False,
) -> Exported:
    """Write the files of each design's memory, and a file a trace and an outcome, of all agents or of one.

    Without a folder to the original system's places; outcomes then to the setting outcomesDir.
    A trace that was erased, or the outcome, has no file; one of an earlier export stays in the folder. It is no backup:
    decisions, tasks and the history are not in it. Raises FilesThere, with nothing written, for a folder that is not
    empty, or where a file would be replaced at those places, unless `replace` is given.
    """
    chosen = OutcomeLog(home).outcomes(agent=agent)
    outcomes = (outcome_record(home.journal, each) for each in chosen)
    if folder is None:
        own = home.settings.path("outcomes_dir")
        if not replace:
            refuse_to_replace(own / file_name(each.outcome_id) for each in chosen)
        done = Exported(own)
        for layout in _layouts(home):
            if layout.export_places is not None:
                done = layout.export_places(home, agent=agent, replace=replace).add(done)
        write_runs(own, outcomes, f"{own}/*.json", done)
        return done
    if not replace and folder.is_dir():
        refuse_to_replace(sorted(folder.iterdir()))
    done = Exported(folder)
    for layout in _layouts(home):
        done.add(layout.export(home, searcher, folder, agent=agent))
    write_runs(folder / TRACES, trace_records(home.views, agent), f"{TRACES}/*.json", done)
    write_runs(folder / OUTCOMES, outcomes, f"{OUTCOMES}/*.json", done)
    return done


def import_home(
    home: Home,
    searcher: Callable[[], Searcher],
    path: Path | None,
    *,
    agent: str = "main",
    trust_own: bool = False,
    keep_secrets: bool = False,
) -> list[FileReport]:
    """Import the files of memory, then outcomes/*.json and traces/*.json, or one such file.

    Without a path from those of the original system's places, the settings agentAxonDir, sharedAxonPath,
    coldStorePath and outcomesDir, that are there; InvalidInput where none is.

    The outcomes together, and then the traces, are one transaction; a damaged file is reported and the others are
    imported. Of traces that failed or were lost no latency is kept. A trace of the original system belongs to the
    outcome that names it, where the two are imported together. What looks like a secret is masked, unless
    `keep_secrets` is given.
    """
    with door(keep_secrets=keep_secrets):
        return _import_home(home, searcher, path, agent, trust_own)


def _import_home(
    home: Home,
    searcher: Callable[[], Searcher],
    path: Path | None,
    agent: str,
    trust_own: bool,
) -> list[FileReport]:
    how = Importing(home.settings, home.clock.now(), check_agent(agent), trust_own)
    if path is not None:
        outcomes, traces = run_files(path)
        memory = _of_path(home, path, needed=not (outcomes or traces))
    else:
        outcomes, traces = sorted(home.settings.path("outcomes_dir").glob("*.json")), []
        memory = [(layout, place) for layout, place in _places(home) if place.exists() and layout.files_of(place)]
    reports: list[FileReport] = []
    for layout, place in memory:
        reports += layout.take(home, searcher, place, agent=agent, trust_own=trust_own)
    # A call names its outcome at its start; so the outcomes are read first.
    links: dict[str, str] = {}
    if outcomes:
        reports.append(import_outcomes(home.journal, outcomes, how, links, path))
    if traces:
        reports.append(import_traces(home.journal, traces, how, links, path))
    if not reports:
        looked = ", ".join(map(str, [*(place for _, place in _places(home)), home.settings.path("outcomes_dir")]))
        raise InvalidInput(f"got no path, and nothing is in {looked}; give a folder that was exported, or one file")
    return reports


def _places(home: Home) -> list[tuple[FileLayout, Path]]:
    found = [(layout, layout.places) for layout in _layouts(home) if layout.places is not None]
    return [(layout, place) for layout, places in found for place in places(home.settings)]


def _of_path(home: Home, path: Path, *, needed: bool) -> list[tuple[FileLayout, Path]]:
    """The layouts that have files at the path: of a folder all, of a file the first. Raises InvalidInput where one is needed."""
    found = [(layout, path) for layout in _layouts(home) if (needed or path.is_dir()) and layout.files_of(path)]
    if needed and not found:
        names = ", ".join([*(layout.names for layout in _layouts(home)), f"{TRACES}/*.json", f"{OUTCOMES}/*.json"])
        raise InvalidInput(
            f"got {path}, which is no file and holds none of {names}; give a folder that was exported, or one such file"
        )
    return found if path.is_dir() else found[:1]
