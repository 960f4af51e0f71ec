"""Export and import without a folder: the places where the original system keeps its
files, as the settings name them.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import DAY, NOW, Meanings, Run, observation

from theorex_lab import FixedClock, InvalidInput, Lab, StorageError
from theorex_lab.core.errors import FilesThere
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.evolution.outcomes import OutcomeLog
from theorex_lab.files.formats.home_files import export_home, import_home
from theorex_lab.files.formats.reports import Exported, FileReport
from theorex_lab.memory.decay import Tier

Open = Callable[[str], Lab]


@pytest.fixture
def home(tmp_path: Path) -> Open:
    """Opens a home by its name; all of them have their places in the folder `places`."""
    places = tmp_path / "places"
    named = {
        "agentAxonDir": "agents",
        "sharedAxonPath": "shared.json",
        "outcomesDir": "went",
    }

    def opened(name: str) -> Lab:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(
            json.dumps({key: str(places / each) for key, each in named.items()})
        )
        return Lab(folder, clock=FixedClock(NOW), embedder=Meanings(16))

    return opened


def export(lab: Lab, **options: Any) -> Exported:
    return export_home(lab.home, lab.searcher, None, **options)


def take(lab: Lab, path: Path | None = None) -> list[FileReport]:
    return import_home(lab.home, lambda: lab.searcher, path)


def tiers(lab: Lab) -> dict[tuple[str, str], tuple[int, str]]:
    axon = lab.views.get(Axon)
    table = axon.concepts
    return {
        (axon.agents[table["agent"][row]], axon.labels[row]): (
            int(table["count"][row]),
            Tier(table["tier"][row]).name,
        )
        for row in axon.rows_of().tolist()
    }


def filled(lab: Lab) -> Lab:
    """Two agents, something that sleeps, something shared, a failure."""
    old = [
        observation("a lock", labels=["lock"], at=NOW - 300 * DAY),
        observation("a lock", labels=["lock"], at=NOW - 301 * DAY),
    ]
    lab.journal.append(
        [
            *old,
            observation("a queue", labels=["queue"]),
            observation("a ttl", labels=["ttl"], agent="sage"),
        ]
    )
    lab.theorex.scan()
    lab.theorex.promote()
    OutcomeLog(lab.home).record(
        agent="main", decision="retry", result="timeout", success=False
    )
    return lab


def test_what_was_exported_there_is_found_there(home: Open, tmp_path: Path) -> None:
    with filled(home("mine")) as lab:
        done = export(lab)
        expected = tiers(lab)
        assert expected[("main", "lock")] == (2, "SLEEPING")
    names = {
        str(path.relative_to(tmp_path / "places"))
        for path in (tmp_path / "places").rglob("*")
        if path.is_file()
    }
    assert {
        "agents/main/theorex/axon.json",
        "agents/sage/theorex/axon.json",
        "shared.json",
    } < names
    assert {
        str(tmp_path / "places" / name) for name in names if "went" not in name
    } < set(done.files)
    with home("other") as lab:
        assert [report.problems for report in take(lab)] == [[]] * 4
        assert tiers(lab) == expected
        assert [each.decision for each in OutcomeLog(lab.home).outcomes()] == ["retry"]
        assert {each.text for each in lab.theorex.query_shared("queue")} == {"Queue"}
        assert sum(report.imported for report in take(lab)) == 0, (
            "importing twice imports once"
        )


def test_files_that_are_there_are_replaced_only_when_asked(
    home: Open, tmp_path: Path
) -> None:
    theirs = tmp_path / "places" / "agents" / "main" / "theorex" / "axon.json"
    theirs.parent.mkdir(parents=True)
    theirs.write_text('{"nodes": []}')
    with filled(home("mine")) as lab:
        with pytest.raises(InvalidInput, match=r"axon\.json; import them first"):
            export(lab)
        assert [
            path for path in (tmp_path / "places").rglob("*") if path.is_file()
        ] == [theirs]
        export(lab, agent="sage")
        assert theirs.read_text() == '{"nodes": []}'
        export(lab, replace=True)
        (outcome,) = (tmp_path / "places").glob("went/*.json")
        for path in (
            *(tmp_path / "places").rglob("axon.json"),
            tmp_path / "places" / "shared.json",
        ):
            path.unlink()
        outcome.write_text("theirs")
        with pytest.raises(FilesThere, match=outcome.name):
            export(lab)
        assert (
            outcome.read_text(),
            list((tmp_path / "places").rglob("axon.json")),
        ) == ("theirs", [])
        export(lab, replace=True)
    assert "queue" in theirs.read_text()


def test_a_folder_that_is_not_empty_is_asked_about(
    run: Run, home: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(home("mine")).close()
    folder = tmp_path / "out"
    folder.mkdir()
    export = ["export", str(folder), "--home", str(tmp_path / "mine")]
    first = run(*export)
    assert (first.code, "no backup: `theorex backup FILE` makes one" in first.out) == (
        0,
        True,
    )
    (folder / "shared-axon.json").unlink()
    (folder / "mine.txt").write_text("mine")
    refused = run(*export, "--json")
    assert (refused.code, "--replace" in refused.json["error"]) == (1, True)
    for said, code in (("n\n", 1), ("\n", 1), ("", 1), ("y\n", 0)):
        assert not (folder / "shared-axon.json").exists()
        stdin = io.StringIO(said)
        monkeypatch.setattr(stdin, "isatty", lambda: True)
        monkeypatch.setattr(sys, "stdin", stdin)
        answered = run(*export, "--json")
        assert (answered.code, "Replace them?" in answered.err) == (code, True)
        assert len(answered.json) == (1 if code else 2)
    assert (folder / "shared-axon.json").exists()
    assert (folder / "mine.txt").read_text() == "mine"
    assert run(*export, "--replace").code == 0


def test_where_nothing_is_or_nothing_can_be_written(home: Open, tmp_path: Path) -> None:
    with home("mine") as lab:
        with pytest.raises(
            InvalidInput, match=r"got no path, and nothing is in .*shared\.json.*went"
        ):
            take(lab)
        (tmp_path / "places").write_text("a file where the folder should be")
        with pytest.raises(StorageError, match="cannot be written"):
            export(lab)


def test_the_commands(run: Run, home: Open, tmp_path: Path) -> None:
    filled(home("mine")).close()
    home("other").close()
    assert run("export", "--home", str(tmp_path / "mine"), "--json").code == 0
    again = run("export", "--home", str(tmp_path / "mine"), "--json")
    assert (again.code, "are there already" in again.json["error"]) == (1, True)
    assert run("export", "--home", str(tmp_path / "mine"), "--replace").code == 0
    assert (
        run("import", "--home", str(tmp_path / "other"), "--json").json["imported"] > 3
    )


def test_an_export_does_without_pydantic(tmp_path: Path) -> None:
    code = """
import sys
from theorex_lab import Lab
from theorex_lab.files.formats.home_files import export_home
with Lab(sys.argv[1]) as lab:
    lab.agent("main").write("the lamp is out")
    export_home(lab.home, lab.searcher, lab.folder / "files")
print(sorted({"pydantic"} & set(sys.modules)))
"""
    command = [sys.executable, "-c", code, str(tmp_path / "home")]
    assert (
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
        == "[]\n"
    )
