"""Machines that share a journal: what one decides holds on the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import NOW, Meanings
from shared_file import SharedFile, spooled
from test_gate import TOKENS, _days, _history, _memory, _new

from theorex_lab import FixedClock, InvalidInput, Lab, StorageError
from theorex_lab.core.project import checkout_root, repository_of
from theorex_lab.evolution.acceptance import (
    policies,
    policy_base,
    policy_settings,
    rollback,
    snapshot,
)
from theorex_lab.evolution.lease import Lease, LeaseLost, lease_holder
from theorex_lab.evolution.syncing import sync_if_shared
from theorex_lab.journal.identity import project_in
from theorex_lab.journal.spool import SpooledJournal
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.memory.policy_file import POLICY_FILE

Machine = Callable[..., Lab]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """Return a function that opens a machine's home; all share one journal."""
    labs: list[Lab] = []

    def opened(name: str, **settings: Any) -> Lab:
        home = tmp_path / name
        home.mkdir(exist_ok=True)
        if settings:
            (home / "config.json").write_text(json.dumps(settings), encoding="utf-8")
        clock = FixedClock(NOW)
        journal = spooled(home, tmp_path / "shared.db", clock)
        lab = Lab(home, clock=clock, journal=journal, embedder=Meanings())
        labs.append(lab)
        return lab

    yield opened
    for lab in labs:
        lab.close()


def _holding(folder: Path, text: bytes) -> list[str]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [path.name for path in files if text in path.read_bytes()]


def test_what_one_machine_writes_another_finds(machine: Machine) -> None:
    first, second = machine("a"), machine("b")
    first.agent("main").write("TTL invalidation prevents cache stampedes")
    second.agent("main").write("The till rounds half up")
    report = first.sync()
    assert (report.sent, report.erased, report.merged) == (1, 0, 0)
    assert [hit.text for hit in second.search("stampede", limit=1)] == [
        "TTL invalidation prevents cache stampedes"
    ]
    assert [hit.text for hit in first.search("till", limit=1)] == [
        "The till rounds half up"
    ]
    assert first.sync().sent == 0
    assert first.verify().ok
    assert second.verify().ok


def test_a_home_of_its_own_has_nothing_to_sync(lab: Lab) -> None:
    assert sync_if_shared(lab.home) is None
    with pytest.raises(InvalidInput, match="shares no journal; set journalUrl"):
        lab.sync()
    assert lab.spool_status() is None


def test_an_erasure_on_one_machine_leaves_no_byte_on_the_other(
    machine: Machine, tmp_path: Path
) -> None:
    first, second = (
        machine("a", snapshotAfterEvents=1),
        machine("b", snapshotAfterEvents=1),
    )
    text = "zebrastripes are the word for the rollout"
    second.agent("main").write(text)
    second.agent("main").write("The till rounds half up")
    for lab in (second, first):
        lab.search("zebrastripes rollout")
        lab.searcher.vectors.embed_pending()
        lab.maintain()
    names = _holding(tmp_path / "b", b"zebrastripes")
    assert {"SHARED_CONTEXT.md", "briefing.db", "theorex.db-wal"} <= {*names}
    (vectors,) = (tmp_path / "b" / "vectors").glob("*.vectors")
    size = vectors.stat().st_size
    (erased_id,) = first.erase(match="zebrastripes")
    assert _holding(tmp_path / "a", b"zebrastripes") == []
    first.close()
    report = second.sync()
    assert report.erased >= 1
    second.close()
    assert _holding(tmp_path, b"zebrastripes") == []
    assert vectors.stat().st_size < size
    (left,) = second.journal.local.read(ids=[erased_id], erased=True)
    assert left.erased
    assert [hit.text for hit in second.search("till", limit=1)] == [
        "The till rounds half up"
    ]
    assert second.verify().ok


def test_an_erasure_that_was_killed_on_the_way_is_finished_by_the_next_sync(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = machine("a"), machine("b")
    second.agent("main").write("zebrastripes")
    second.maintain()
    first.erase(match="zebrastripes")
    for step in ("erase_as_noted", "forget_erased", "wipe"):
        module = "theorex_lab.evolution.syncing"

        def killed(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(f"{module}.{step}", killed)
            with pytest.raises(KeyboardInterrupt):
                second.sync()
    second.sync()
    second.close()
    first.close()
    assert _holding(tmp_path, b"zebrastripes") == []


def test_snapshots_of_the_journal_before_are_dropped_at_the_first_sync(
    machine: Machine, tmp_path: Path
) -> None:
    home = tmp_path / "a"
    with Lab(home, clock=FixedClock(NOW)) as alone:
        alone.agent("main").write("zebrastripes")
        alone.maintain()
    other = machine("b")
    other.agent("main").write("The till rounds half up")
    other.sync()
    joined = machine("a")
    assert joined.sync().sent >= 1
    joined.erase(match="zebrastripes")
    joined.close()
    other.sync()
    other.close()
    assert _holding(tmp_path, b"zebrastripes") == []


def test_one_machine_at_a_time_is_maintained(machine: Machine) -> None:
    first, second = machine("a"), machine("b")
    first.agent("main").write("The till rounds half up")
    lease = Lease(first.home, "nightly")
    assert lease.take()
    report = second.maintain()
    assert not report.ran
    assert report.holder == lease_holder(first.home)
    assert report.holder is not None
    assert report.holder.owner == lease.owner
    assert isinstance(second.clock, FixedClock)
    second.clock.advance(seconds=601)
    assert second.maintain().ran
    with pytest.raises(LeaseLost):
        lease.renew()
    reports = second.journal.tail(0, kinds=["nightly"])
    assert len([*reports]) == 1
    assert [*second.journal.local.tail(0, kinds=["lease", "nightly"])] == []


def test_the_policy_of_one_machine_is_in_force_on_the_other(
    machine: Machine, tmp_path: Path
) -> None:
    first, second = machine("a"), machine("b")
    owned = machine("c", halfLifeDays=9.0)
    kept = {**policy_settings(first.settings), "halfLifeDays": 120.0}
    kept["contextTokens"] = TOKENS
    snapshot(first.journal, kept, at=NOW)
    assert first.sync().policy == 1
    rng = np.random.default_rng(20260301)
    first.journal.append([*_history(rng, 20), *_days(rng, _new, 24)])
    accepted = _memory(first)
    assert accepted.decision == "accept"
    newest = policies(first.journal)[-1]
    assert policy_settings(first.settings) == newest.settings
    assert newest.settings["halfLifeDays"] < 120 or "decayLaw" in accepted.proposed
    assert not first.config_file.exists()
    for lab in (second, owned):
        assert lab.sync().policy == newest.number
    assert policy_settings(second.settings) == newest.settings
    assert not second.config_file.exists()
    assert owned.settings.half_life_days == 9.0
    assert json.loads(owned.config_file.read_text()) == {"halfLifeDays": 9.0}
    # What the owner of a machine set goes into no policy.
    assert policy_settings(policy_base(owned.home)) == newest.settings
    again = machine("b")
    assert again.journal.local is not again.journal
    assert policy_settings(again.settings) == newest.settings
    rollback(second.journal, policy_base(second.home), second.folder, 1, at=NOW)
    first.sync()
    assert first.settings.half_life_days == 120.0
    assert _memory(first).repeated
    assert first.settings.half_life_days == 120.0
    first.sync()
    assert first.settings.half_life_days == 120.0


def test_a_policy_that_does_not_fit_what_the_owner_set_is_not_in_force_there(
    machine: Machine,
) -> None:
    first, second = machine("a"), machine("b", mildThreshold=0.55)
    kept = {**policy_settings(first.settings), "activeThreshold": 0.5}
    snapshot(first.journal, kept, at=NOW)
    first.sync()
    second.sync()
    assert first.settings.active_threshold == 0.5
    assert second.settings.active_threshold == 0.6
    assert "mildThreshold is 0.55" in second.home.policy_problem


def test_a_damaged_copy_of_the_policy_is_fetched_again(machine: Machine) -> None:
    first = machine("a")
    kept = {**policy_settings(first.settings), "halfLifeDays": 3.0}
    snapshot(first.journal, kept, at=NOW)
    first.sync()
    (first.folder / POLICY_FILE).write_text("{", encoding="utf-8")
    again = machine("a")
    assert again.settings.half_life_days == 14.0
    again.sync()
    assert again.settings.half_life_days == 3.0


def _repository(folder: Path) -> Path:
    folder.mkdir(parents=True)
    who = ["-c", "user.name=n", "-c", "user.email=e@example.com"]
    for words in (["init", "-q"], [*who, "commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def _project(lab: Lab, folder: Path) -> str:
    repository = repository_of(checkout_root(str(folder)))
    return project_in(lab.journal, repository, bind=True)


def test_projects_with_one_first_commit_are_joined_for_all_machines(
    machine: Machine, tmp_path: Path
) -> None:
    shop = _repository(tmp_path / "one" / "shop")
    clone = tmp_path / "two" / "shop"
    subprocess.run(["git", "clone", "-q", shop, clone], check=True)
    first, second = machine("a"), machine("b")
    old, new = _project(first, shop), _project(second, clone)
    assert old != new
    first.in_project(old).agent("main").write("The till rounds half up")
    first.sync()
    report = second.sync()
    # Both folders are on this machine, but each is one machine's own.
    hints = [(hint.old, hint.new) for hint in report.hints]
    assert hints == [(old, new)]
    second.merge_projects(old, new)
    assert _project(first, shop) == old
    assert first.sync().merged == 1
    assert _project(first, shop) == new
    assert first.sync().merged == 0
    hits = second.in_project(new).search("till", limit=1)
    assert [hit.text for hit in hits] == ["The till rounds half up"]
    assert first.verify().ok
    assert first.sync().hints == []


def test_a_folder_is_what_its_own_machine_says(
    machine: Machine, tmp_path: Path
) -> None:
    """Two machines may have repositories at the same path."""
    shop = _repository(tmp_path / "shop")
    first, second = machine("a"), machine("b")
    ids = [_project(lab, shop) for lab in (first, second)]
    for lab in (first, second):
        lab.sync()
    assert [_project(lab, shop) for lab in (first, second)] == ids
    assert ids[0] != ids[1]


class Away:
    """A server that is away as long as it says so."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_away = True
        self.connections = 0

    def connect(self) -> SharedFile:
        self.connections += 1
        if self.is_away:
            raise StorageError("db.example accepts no connection")
        return SharedFile(self.path)


def test_a_server_that_is_away_costs_a_write_nothing_and_loses_nothing(
    tmp_path: Path,
) -> None:
    server = Away(tmp_path / "shared.db")
    home = tmp_path / "home"
    home.mkdir()
    spool = SqliteJournal(home / "theorex.db", clock=FixedClock(NOW))
    journal = SpooledJournal(spool, server.connect)
    with Lab(home, clock=FixedClock(NOW), journal=journal) as lab:
        event = lab.agent("main").write("The till rounds half up")
        assert server.connections == 0
        for act in (lab.sync, lab.maintain, lambda: lab.search("till")):
            with pytest.raises(StorageError, match="1 events wait in"):
                act()
        status = lab.spool_status()
        assert status is not None
        assert status["waiting"] == 1
        assert "accepts no connection" in status["problem"]
        server.is_away = False
        assert lab.sync().sent == 1
        assert lab.spool_status() == {"waiting": 0, "refused": {}, "problem": ""}
        assert lab.search("till")[0].id == event.event_id


TOOL = {
    "hook_event_name": "PostToolUse",
    "session_id": "s",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_response": {"stdout": "x"},
}
PROMPT = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "Why?"}


@pytest.mark.parametrize("event", [TOOL, PROMPT], ids=["tool", "prompt"])
def test_a_hook_of_a_shared_home_does_the_same_work(
    tmp_path: Path, event: dict[str, Any]
) -> None:
    """It imports what it imports otherwise, and opens no connection."""
    program = (
        "import json, os, sys; before = set(sys.modules); calls = []\n"
        "sys.addaudithook(lambda name, _: calls.append(name))\n"
        "from theorex_lab.app import hook\n"
        "hook.run()\n"
        "new = sorted(set(sys.modules) - before)\n"
        "asked = [name for name in calls if name.startswith('socket.')]\n"
        "print(json.dumps([new, asked, calls.count('open')]))"
    )

    def work_of_hook(home: Path) -> Any:
        done = subprocess.run(
            [sys.executable, "-c", program],
            input=json.dumps({**event, "cwd": str(tmp_path)}).encode(),
            stdout=subprocess.PIPE,
            env={**os.environ, "THEOREX_HOME": str(home), "PYTHONHASHSEED": "0"},
            check=True,
        )
        return json.loads(done.stdout)

    works = []
    for name, settings in [
        ("own", {"keepMessages": True}),
        ("shared", {"journalUrl": "postgresql://team@127.0.0.1:1/memory"}),
    ]:
        home = tmp_path / name
        home.mkdir()
        (home / "config.json").write_text(json.dumps(settings), encoding="utf-8")
        for _ in range(2):  # the first makes the journal
            work_of_hook(home)
        works.append(work_of_hook(home))
        assert not (home / "hook.log").exists()
    assert works[0] == works[1]
    modules, asked, _ = works[1]
    assert asked == []
    assert not {"psycopg", "socket", "theorex_lab.journal.spool"} & set(modules)
