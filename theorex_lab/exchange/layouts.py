"""Every layout of files: those of the designs, and the substrate's own, which are registered here."""

from __future__ import annotations

from pathlib import Path

from theorex_lab.design import FileLayout
from theorex_lab.exchange import history, runs
from theorex_lab.home import Home

# In the order in which a folder is read: a review rests on outcomes and traces.
OWN = (
    FileLayout(
        names="traces/*.json, outcomes/*.json, outcomes.jsonl",
        export=runs.export_runs,
        files_of=runs.run_files,
        take=runs.import_runs,
        places=runs.places,
        export_places=runs.export_outcomes,
        in_places=runs.outcomes_in_places,
    ),
    FileLayout(
        names=", ".join(history.FILES),
        export=history.export_history,
        files_of=history.history_files,
        take=history.import_history,
    ),
)


def layouts(home: Home) -> list[FileLayout]:
    """The designs' layouts, built-in designs last, then the home's own."""
    return [*(layout for design in reversed(home.designs) for layout in design.files), *OWN]


def layouts_of(home: Home, path: Path) -> list[FileLayout]:
    """Those that have files at the path: of a folder all. Of a file the first that knows it; built-in designs take any."""
    found = layouts(home) if path.is_dir() else [*OWN, *layouts(home)]
    return [layout for layout in found if layout.files_of(path)][: None if path.is_dir() else 1]


def places_of(home: Home) -> list[tuple[FileLayout, Path]]:
    """Each layout with each of the places that it has beside the home; also those where nothing is."""
    found = [(layout, layout.places) for layout in layouts(home) if layout.places is not None]
    return [(layout, place) for layout, places in found for place in places(home.settings)]
