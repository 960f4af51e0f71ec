"""Events as Parquet files: all of them, erased as erased, whole or not at all."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import DAY, NOW, Run
from pyarrow import dataset, parquet

from theorex_lab import InvalidInput, Lab, StorageError, new_event
from theorex_lab.core.errors import FilesThere
from theorex_lab.files.formats import event_tables
from theorex_lab.files.formats.folder_lock import export_folder
from theorex_lab.journal.event import Event

N_EVENTS = 40
SECRET = "sk-ant-api03-" + "k3yQ" * 20


def said(number: int, project: str, text: str) -> Event:
    body = {"text": text, "source": "user", "project": project}
    at = NOW - (100 - number) * 5 * DAY
    return new_event("prompt", body, agent="main", session=f"s{number}", at=at)


@pytest.fixture
def lab() -> Any:
    """Give a lab with events of two projects and none, over some months."""
    with Lab.temporary() as made:
        projects = ("till", "scales", "")
        events = [
            said(number, projects[number % 3], f"the port is {8000 + number}")
            for number in range(N_EVENTS)
        ]
        made.journal.append(events)
        yield made


def table_of(folder: Path) -> Any:
    read = dataset.dataset(folder, format="parquet", partitioning="hive")
    return read.to_table().sort_by("seq")


def test_every_event_is_there_as_the_journal_has_it(lab: Lab, tmp_path: Path) -> None:
    exported = lab.export_events(tmp_path / "events")
    events = list(lab.journal.tail(0))
    rows = table_of(tmp_path / "events").to_pylist()
    assert [row["seq"] for row in rows] == [event.seq for event in events]
    for row, event in zip(rows, events, strict=True):
        assert json.loads(row["body"]) == event.body
        assert (row["id"], row["kind"], row["session"]) == (
            event.id,
            event.kind,
            event.session,
        )
        assert row["at"].timestamp() == pytest.approx(event.at / 1e6)
        assert row["project"] == (event.body.get("project") or None)
        assert row["month"] == row["at"].strftime("%Y-%m")
        assert row["lineage"] == list(event.lineage)
    assert sum(exported.files.values()) == len(events)


def test_a_partition_is_a_project_and_a_month(lab: Lab, tmp_path: Path) -> None:
    lab.export_events(tmp_path / "events")
    read = dataset.dataset(tmp_path / "events", format="parquet", partitioning="hive")
    wanted = dataset.field("project") == "till"
    fragments = list(read.get_fragments(filter=wanted))
    assert {fragment.path.split("/")[-3] for fragment in fragments} == {"project=till"}
    months = {row["month"] for row in table_of(tmp_path / "events").to_pylist()}
    assert len(months) >= 5
    n_of_till = sum(
        event.body.get("project") == "till" for event in lab.journal.tail(0)
    )
    assert read.to_table(filter=wanted).num_rows == n_of_till


def test_what_was_erased_is_erased_and_secrets_are_masked(
    lab: Lab, tmp_path: Path
) -> None:
    first = next(iter(lab.journal.tail(0, kinds=["prompt"])))
    lab.erase(ids=[first.id])
    # As --keep-secrets lets it in.
    lab.journal.append([said(90, "till", f"the key is {SECRET}")])
    lab.export_events(tmp_path / "events")
    rows = {row["id"]: row for row in table_of(tmp_path / "events").to_pylist()}
    erased = rows[first.id]
    assert erased["erased"]
    assert erased["project"] is None
    assert set(json.loads(erased["body"])) == {"erased", "hmac_sha256"}
    for file in (tmp_path / "events").rglob("*.parquet"):
        table = parquet.read_table(file, partitioning=None)
        text = str(table.to_pylist())
        assert "the port is 8000" not in text
        assert SECRET not in text


def test_the_batches_are_small_whatever_the_length(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_tables, "_EVENTS_AT_ONCE", 7)
    monkeypatch.setattr(event_tables, "_OPEN_FILES", 3)
    lab.export_events(tmp_path / "events")
    seqs = [row["seq"] for row in table_of(tmp_path / "events").to_pylist()]
    assert seqs == [event.seq for event in lab.journal.tail(0)]


KILLED = """
import os, signal, sys
from theorex_lab import Lab
from theorex_lab.files.formats import event_tables
from theorex_lab.files.formats.folder_lock import export_folder

rows = event_tables._row
count = [0]

def dying(event):
    count[0] += 1
    if count[0] == 30:
        os.kill(os.getpid(), signal.SIGKILL)
    return rows(event)

event_tables._EVENTS_AT_ONCE = 5
event_tables._row = dying
with Lab(sys.argv[1]) as lab:
    lab.export_events(sys.argv[2])
"""


def test_a_killed_export_leaves_no_folder_that_looks_whole(tmp_path: Path) -> None:
    home = tmp_path / "home"
    target = tmp_path / "events"
    with Lab(home) as lab:
        lab.journal.append([said(n, "till", f"port {n}") for n in range(N_EVENTS)])
    command = [sys.executable, "-c", KILLED, str(home), str(target)]
    ended = subprocess.run(command, check=False, env=dict(os.environ))
    assert ended.returncode == -signal.SIGKILL
    assert not target.exists()
    assert (tmp_path / ".events.unfinished").exists()
    with Lab(home) as lab:
        lab.export_events(target)
        assert table_of(target).num_rows == len(list(lab.journal.tail(0)))
    assert not (tmp_path / ".events.unfinished").exists()


# A limit on the size of files refuses what is written as a full disk does.
FULL = """
import resource, sys
from theorex_lab import Lab
from theorex_lab.core.errors import StorageError

with Lab(sys.argv[1]) as lab:
    lab.status()
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, most))
    try:
        lab.export_events(sys.argv[2], replace=True)
    except StorageError as error:
        print(error)
        sys.exit(3)
"""


def test_a_disk_without_room_ends_an_export_and_leaves_the_earlier_one(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    target = tmp_path / "events"
    with Lab(home) as lab:
        lab.journal.append([said(n, "till", f"port {n}") for n in range(N_EVENTS)])
        lab.export_events(target)
        earlier = table_of(target)
        drawn = random.Random(5)
        texts = [drawn.randbytes(1_000).hex() for _ in range(300)]
        lab.journal.append([said(7, "scales", text) for text in texts])
    command = [sys.executable, "-c", FULL, str(home), str(target)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ended.returncode == 3, ended
    assert "make room" in ended.stdout
    assert table_of(target).equals(earlier)
    assert list((tmp_path / ".events.unfinished").iterdir()) == []


def test_only_an_earlier_export_is_replaced(lab: Lab, tmp_path: Path) -> None:
    target = tmp_path / "events"
    lab.export_events(target)
    with pytest.raises(FilesThere, match="give --replace"):
        lab.export_events(target)
    lab.journal.append([said(91, "till", "one more")])
    lab.export_events(target, replace=True)
    assert table_of(target).num_rows == len(list(lab.journal.tail(0)))
    (target / "mine.txt").write_text("mine")
    with pytest.raises(FilesThere, match="it is no export of events"):
        lab.export_events(target, replace=True)
    assert (target / "mine.txt").read_text() == "mine"


def test_without_pyarrow_it_is_said_what_to_install(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InvalidInput, match=r"theorex-lab\[parquet\]"):
        lab.export_events(tmp_path / "events")


def test_the_command_writes_and_says_what_it_wrote(run: Run, tmp_path: Path) -> None:
    run("write", "The till rounds half up")
    target = tmp_path / "events"
    ended = run("export", "--events", "--parquet", str(target), "--json")
    assert ended.code == 0, ended.err
    assert table_of(target).num_rows == sum(ended.json["files"].values())
    for words in (["--events", "x"], ["--parquet", "x"], ["--events", "--parquet"]):
        assert "allowed are both together" in run("export", *words).err


@pytest.mark.parametrize("can_exchange", [True, False])
def test_an_export_takes_the_place_of_an_earlier_one_at_once(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_exchange: bool
) -> None:
    """Where the system can exchange two names, there is no moment without a folder."""
    target = tmp_path / "events"
    lab.export_events(target)
    lab.journal.append([said(91, "till", "one more")])
    rename = Path.rename
    was_missing: list[bool] = []

    def watched(path: Path, new: Path) -> Path:
        moved = rename(path, new)
        was_missing.append(not target.exists())
        return moved

    monkeypatch.setattr(Path, "rename", watched)
    if not can_exchange:
        monkeypatch.setattr(event_tables, "exchange", lambda *_: False)
    lab.export_events(target, replace=True)
    assert table_of(target).num_rows == len(list(lab.journal.tail(0)))
    assert [path.name for path in tmp_path.iterdir()] == ["events"]
    if can_exchange and sys.platform == "linux":
        assert not any(was_missing)


def test_what_an_export_without_exchange_left_is_put_right_by_the_next(
    lab: Lab, tmp_path: Path
) -> None:
    target = tmp_path / "events"
    lab.export_events(target)
    target.rename(tmp_path / ".events.former")
    lab.export_events(target)
    assert table_of(target).num_rows == len(list(lab.journal.tail(0)))
    assert [path.name for path in tmp_path.iterdir()] == ["events"]


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be locked there")
def test_one_export_at_a_time_writes_into_a_folder(lab: Lab, tmp_path: Path) -> None:
    """The one that is under way is not disturbed, and the other says so."""
    events = tmp_path / "events"
    files = tmp_path / "files"
    with export_folder(tmp_path / ".events.unfinished"), export_folder(files):
        (tmp_path / ".events.unfinished" / "written").touch()
        for export, folder in ((lab.export_events, events), (lab.export_files, files)):
            with pytest.raises(StorageError, match="another export writes into") as no:
                export(folder, replace=True)
            assert str(folder) in str(no.value)
        assert (tmp_path / ".events.unfinished" / "written").exists()
        assert [*files.iterdir()] == []
    lab.export_events(events)
    lab.export_files(files)
    assert table_of(events).num_rows == len(list(lab.journal.tail(0)))


def test_a_folder_that_was_moved_to_its_place_meanwhile_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits to hold it does not hold what an export has just finished."""
    folder = tmp_path / "unfinished"
    opened = os.open
    moved: list[int] = []

    def moving(path: Any, *arguments: Any) -> int:
        descriptor = opened(path, *arguments)
        if path == folder and not moved:
            moved.append(descriptor)
            folder.rename(tmp_path / "finished")
        return descriptor

    monkeypatch.setattr(os, "open", moving)
    with export_folder(folder):
        assert folder.is_dir()
        with pytest.raises(StorageError), export_folder(folder):
            pass
    assert moved
