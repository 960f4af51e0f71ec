"""A home in files: what each layout, the designs' and the substrate's own, writes of it, and back."""

from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

from theorex_lab.design import FileLayout
from theorex_lab.errors import InvalidInput
from theorex_lab.exchange import history
from theorex_lab.exchange.files import Exported, Reports, refuse_to_replace
from theorex_lab.home import Home
from theorex_lab.ids import check_agent
from theorex_lab.memory.retrieve import Searcher
from theorex_lab.text.doors import door

OWN = FileLayout(
    "traces/*.json, outcomes/*.json", history.export_runs, history.run_files, history.import_runs,
    places=history.places, export_places=history.export_outcomes, in_places=history.outcomes_in_places)  # fmt: skip


def layouts(home: Home) -> list[FileLayout]:
    """The designs' layouts, then the home's own."""
    return [*(layout for design in home.designs for layout in design.files), OWN]


def layouts_of(home: Home, path: Path) -> list[FileLayout]:
    """Those that have files at the path: of a folder all. Of a file one: the home's own, else the last design that knows it."""
    last_first = [layout for design in reversed(home.designs) for layout in design.files]
    found = layouts(home) if path.is_dir() else [OWN, *last_first]
    return [layout for layout in found if layout.files_of(path)][: None if path.is_dir() else 1]


def places_of(home: Home) -> list[tuple[FileLayout, Path]]:
    """Each layout with each of the places that it has beside the home; also those where nothing is."""
    found = [(layout, layout.places) for layout in layouts(home) if layout.places is not None]
    return [(layout, place) for layout, places in found for place in places(home.settings)]


def export_home(home: Home, searcher: Searcher, folder: Path | None, *, agent: str | None = None,
                replace: bool = False) -> Exported:  # fmt: skip
    """Write the files of every layout, each design's and the home's own, of all agents or of one.

    Without a folder to the original system's places, and outcomes to the setting outcomesDir.
    A trace that was erased, or the outcome, has no file; one of an earlier export stays in the folder. It is no backup:
    tasks, policies, reviews, what the night decided, the prompts and the like are not in it. Raises FilesThere,
    with nothing written, for a folder that is not empty, or where a file would be replaced at those places, unless
    `replace` is given. What is of any project is written.
    """
    if folder is None:
        placed = [(write, layout.in_places) for layout in layouts(home) if (write := layout.export_places) is not None]
        if not replace:
            refuse_to_replace(path for _, in_places in placed for path in in_places(home, agent=agent))
        written = [write(home, agent=agent) for write, _ in placed]
    else:
        if not replace and folder.is_dir():
            refuse_to_replace(sorted(folder.iterdir()))
        written = [layout.export(home, searcher, folder, agent=agent) for layout in layouts(home)]
    return reduce(Exported.add, written, Exported(written[0].folder))


def import_home(home: Home, searcher: Callable[[], Searcher], path: Path | None, *, agent: str = "main",
                trust_own: bool = False, keep_secrets: bool = False) -> Reports:  # fmt: skip
    """Import the files that any layout has at the path, a folder or one file: memory first, then runs.

    Without a path from those of the original system's places, the settings agentAxonDir, sharedAxonPath,
    coldStorePath and outcomesDir, that are there; InvalidInput where none is.

    A damaged file is reported and the others are imported. What looks like a secret is masked, unless `keep_secrets` is
    given.
    """
    check_agent(agent)
    if path is None:
        found = [(layout, place) for layout, place in places_of(home) if place.exists()]
    else:
        found = [(layout, path) for layout in layouts_of(home, path)]
    how: Any = {"agent": agent, "trust_own": trust_own}
    with door(keep_secrets=keep_secrets):
        reports = [report for layout, place in found for report in layout.take(home, searcher, place, **how)]
    if not reports:
        raise _nothing_at(home, path)
    return reports


def _nothing_at(home: Home, path: Path | None) -> InvalidInput:
    if path is None:
        looked = ", ".join(str(place) for _, place in places_of(home))
        return InvalidInput(f"got no path, and nothing is in {looked}; give a folder that was exported, or one file")
    wrong = f"is no file and holds none of {', '.join(layout.names for layout in layouts(home))}"
    return InvalidInput(f"got {path}, which {wrong}; give a folder that was exported, or one such file")
