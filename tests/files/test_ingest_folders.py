"""Every file below a folder is read or named as left out; `sync` holds much back."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from conftest import Run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ingested import folder, found

from theorex_lab import Lab
from theorex_lab.files.ingest import documents
from theorex_lab.files.ingest.documents import Ingested
from theorex_lab.files.ingest.folders import FolderWalk


def left_out(report: Ingested) -> dict[str, list[str]]:
    """By the reason, the names of what was left out."""
    names = {}
    for group in report.left_out:
        assert group.count == len(group.paths)
        names[group.reason] = [
            path.rstrip("/").rpartition("/")[2] for path in group.paths
        ]
    return names


def notes(root: Path, count: int) -> Path:
    return folder(root, {f"{number}.md": f"lamp {number}" for number in range(count)})


# What is left out


def test_each_reason_is_reported(lab: Lab, tmp_path: Path) -> None:
    docs = folder(
        tmp_path / "docs",
        {
            "page.mdx": "# Mooring\n\nThe fee is nine.",
            "a.png": "",
            "b.PNG": "",
            "c.zip": "",
            "LICENSE": "free",
            ".env": "",
            ".cache/x.md": "hidden",
            "draft.md": "ignored",
            "build/y.md": "ignored",
            ".gitignore": "draft.md\nbuild/\n",
            "broken.pdf": "no pdf",
            "empty.md": "",
        },
    )
    (docs / "again.md").symlink_to(docs / "page.mdx")
    (docs / "nothing.md").symlink_to(docs / "nothing at all")
    (docs / "out.md").symlink_to("/etc/hostname")
    os.mkfifo(docs / "pipe.md")
    report = lab.ingest(docs)
    assert left_out(report) == {
        "hidden": [".cache", ".env", ".gitignore"],
        "of kinds that are not read": ["LICENSE", "a.png", "b.PNG", "c.zip"],
        "links within the folder": ["again.md"],
        "named by .gitignore": ["build", "draft.md"],
        "links to nothing": ["nothing.md"],
        "links that lead out of the folder": ["out.md"],
        "no regular files": ["pipe.md"],
        "could not be read": ["broken.pdf"],
    }
    assert report.files == report.new + 1
    assert [problem.partition(": ")[2] for problem in report.problems] == [
        "a link that leads out of the folder; name what it leads to",
        report.problems[1].partition(": ")[2],
        "there is no text in it",
    ]


def test_the_report_groups_them_for_people(run: Run, tmp_path: Path) -> None:
    pictures = {f"{number}.png": "" for number in range(9)}
    others = {"a.md": "lamp", "x.zip": "", "y.zip": "", ".git/HEAD": "", "README": ""}
    docs = folder(tmp_path / "docs", {**pictures, **others})
    shown = run("ingest", str(docs))
    assert shown.code == 0
    assert (
        "12 files were left out: of kinds that are not read"
        " (9 .png, 2 .zip, 1 without an ending)" in shown.out
    )
    assert "1 folder was left out: hidden (" in shown.out
    assert len(shown.out.splitlines()) == 3
    told = run("ingest", str(docs), "--json").json
    (kinds,) = (group for group in told["left_out"] if group["count"] == 12)
    assert len(kinds["paths"]) == 12


def test_a_folder_of_which_nothing_is_read_is_a_failure(
    run: Run, tmp_path: Path
) -> None:
    ended = run("ingest", str(folder(tmp_path / "docs", {"a.png": ""})))
    assert ended.code == 1
    assert "1 file was left out: of kinds that are not read (1 .png)" in ended.err
    (tmp_path / "empty").mkdir()
    assert run("ingest", str(tmp_path / "empty")).code == 0


def test_characters_are_counted_for_people_where_some_are_left_out(
    run: Run, tmp_path: Path
) -> None:
    docs = folder(tmp_path / "docs", {"a.html": "<!-- later --><h1>Lamp</h1><p>Red."})
    shown = run("ingest", str(docs))
    assert "5 of 13 characters were left out: 5 in comments\n" in shown.out
    told = run("ingest", str(docs), "--agent", "sage", "--json").json
    assert (told["characters"], told["characters_left_out"]) == (13, {"comments": 5})


NAMES = st.sampled_from(
    ["a.md", "b.txt", "c.png", ".d.md", "e", "draft.md", "sub", ".f"]
)
TREES = st.recursive(
    st.just("lamp"),
    lambda inner: st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=10,
)


def build(root: Path, tree: object) -> None:
    if isinstance(tree, dict):
        root.mkdir()
        for name, inner in tree.items():
            build(root / name, inner)
    else:
        root.write_text(str(tree))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(NAMES, TREES, max_size=5))
def test_each_file_is_read_or_left_out(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[str, object]
) -> None:
    root = tmp_path_factory.mktemp("trees") / "docs"
    build(root, tree)
    (root / ".gitignore").write_text("draft.md\n")
    walk = FolderWalk((".md", ".txt"))
    read = {str(path) for path in walk.files(root, root)}
    skipped = [path for _, path in walk.left_out]
    folders = tuple(path for path in skipped if path.endswith("/"))
    for path in root.rglob("*"):
        if not path.is_file():
            continue
        is_below = str(path).startswith(folders) if folders else False
        assert (str(path) in read) + (str(path) in skipped) + is_below == 1
    shutil.rmtree(root)


# Removals


def test_an_emptied_folder_is_held_back(run: Run, lab: Lab, tmp_path: Path) -> None:
    docs = notes(tmp_path / "docs", 6)
    run("ingest", str(docs))
    for file in docs.iterdir():
        file.unlink()
    last = lab.journal.last_seq()
    ended = run("ingest", str(docs), "--sync")
    assert ended.code == 1
    assert "held back: 6 files would be taken out of the memory" in ended.err
    assert "give --sync --yes" in ended.err
    told = run("ingest", str(docs), "--sync", "--json")
    assert (told.code, told.json["gone"], len(told.json["held_back"])) == (1, 0, 6)
    dry = run("ingest", str(docs), "--sync", "--dry-run", "--json")
    assert (dry.code, len(dry.json["held_back"])) == (1, 6)
    assert lab.journal.last_seq() == last
    done = run("ingest", str(docs), "--sync", "--yes", "--json")
    assert (done.code, done.json["gone"], done.json["held_back"]) == (0, 6, [])


@pytest.mark.parametrize(
    ("count", "removed", "is_held"),
    [(1, 1, True), (2, 1, False), (40, 10, False), (40, 11, True), (120, 12, False)],
)
def test_more_than_ten_files_and_a_tenth_are_held_back(
    count: int, removed: int, is_held: bool, lab: Lab, tmp_path: Path
) -> None:
    docs = notes(tmp_path / "docs", count)
    lab.ingest(docs)
    for number in range(removed):
        (docs / f"{number}.md").unlink()
    folder(docs, {"new.md": "door"})
    report = lab.ingest(docs, sync=True)
    assert (report.new, report.gone) == (1, 0 if is_held else removed)
    assert len(report.held_back) == (removed if is_held else 0)
    assert len(found(lab, "door")) == 1, "what is new comes in all the same"


def test_files_that_were_moved_are_no_removals(lab: Lab, tmp_path: Path) -> None:
    docs = notes(tmp_path / "docs", 20)
    lab.ingest(docs)
    (docs / "old").mkdir()
    for number in range(20):
        (docs / f"{number}.md").rename(docs / f"old/{number}.md")
    for dry_run in (True, False):
        report = lab.ingest(docs, sync=True, dry_run=dry_run)
        assert (report.moved, report.gone, report.held_back) == (20, 0, [])


def test_a_folder_that_is_not_there_takes_nothing_out(
    run: Run, lab: Lab, tmp_path: Path
) -> None:
    disk = notes(tmp_path / "disk", 3)
    (tmp_path / "docs").symlink_to(disk)
    run("ingest", str(tmp_path / "docs"))
    last = lab.journal.last_seq()
    disk.rename(tmp_path / "elsewhere")
    ended = run("ingest", str(tmp_path / "docs"), "--sync", "--yes")
    assert ended.code == 1
    assert "which is no file or folder" in ended.err
    assert lab.journal.last_seq() == last


def test_what_lies_behind_a_broken_link_is_not_gone(lab: Lab, tmp_path: Path) -> None:
    docs = folder(tmp_path / "docs", {"a.md": "lamp", "sub/b.md": "door"})
    lab.ingest(docs)
    shutil.rmtree(docs / "sub")
    (docs / "sub").symlink_to(tmp_path / "unmounted")
    report = lab.ingest(docs, sync=True, yes=True)
    assert (report.gone, report.unchanged) == (0, 1)
    assert len(found(lab, "door")) == 1


def test_what_cannot_be_looked_at_is_not_gone(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = folder(tmp_path / "docs", {"a.md": "lamp", "sub/b.md": "door"})
    lab.ingest(docs)
    scan = os.scandir
    look = os.lstat

    def refusing_scan(path: str) -> object:
        if path.endswith("/sub"):
            raise PermissionError(13, "Permission denied")
        return scan(path)

    def refusing_look(path: Path) -> os.stat_result:
        if "/sub/" in str(path):
            raise PermissionError(13, "Permission denied")
        return look(path)

    monkeypatch.setattr(os, "scandir", refusing_scan)
    first = lab.ingest(docs, sync=True, yes=True)
    monkeypatch.setattr(documents.os, "lstat", refusing_look)
    second = lab.ingest(docs, sync=True, yes=True)
    monkeypatch.undo()
    for report in (first, second):
        assert (report.gone, report.held_back) == (0, [])
        assert left_out(report)["not to be listed"] == ["sub"]
        assert report.problems[0].endswith("/sub: Permission denied")
    assert len(found(lab, "door")) == 1


def test_yes_is_of_sync(run: Run, tmp_path: Path) -> None:
    ended = run("ingest", str(tmp_path), "--yes")
    assert ended.code == 2
    assert "Give --yes with --sync" in ended.err
