"""What a machine does to a command: too little memory, disks that fail, clocks at the
ends of time, signals; and who may read.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Run

from theorex_lab import FixedClock, InvalidInput
from theorex_lab.app import cli
from theorex_lab.core.clock import to_microseconds

posix = pytest.mark.skipif(os.name == "nt", reason="needs signals, modes and limits")
FIRST = "0001-01-01T00:00:00Z"
LAST = "9999-12-31T23:59:59.999999Z"
# Every command that takes a time, in an order in which each has something to do; OUT
# stands for a folder.
DAY_OF_COMMANDS = """
write the cache went stale --session s1 | status | search cache | search cache --cold | tiers query-shared cache | tiers scan | tiers prune
tiers flush --session s1 | tiers graduate | tiers promote | tiers flash-inject --session s1 | tiers boot-aware --model claude-sonnet | tiers boot-inject | embed
briefing | briefing --query cache | briefing --save --all-projects | briefing --given
route hello | tiers role-route hello | tiers roles | tiers energy-check | dispatch hello --context 10 | traces | tiers matrix-build | matrix
outcome --decision x --result y --fail | outcome --decision x --result y --success | outcomes --judge | outcomes
review --reviewer heuristic | tiers evolve-review | policy --snapshot | policy | policy --rollback 1 | policy --test | maintain
tiers moment a story of the cache | tiers drift | audit | tiers context-monitor --session s1 --context 90
tiers a2a-send --to sage --type summary x | tiers a2a-tasks --agent sage | tiers a2a-claim --agent sage | tiers a2a-tasks --agent sage
export OUT --replace | import OUT | archive --before 2026-01-01 | erase --match stale --dry-run | erase --match stale
backup OUT/backup.db | verify
"""


def commands(out: Path) -> list[list[str]]:
    lines = DAY_OF_COMMANDS.strip().replace("OUT", str(out)).splitlines()
    return [command.split() for line in lines for command in line.split("|")]


@pytest.mark.parametrize("now", [FIRST, LAST])
@pytest.mark.parametrize("written", ["", "2026-03-01T09:00:00Z"])
def test_every_command_works_at_the_ends_of_time(
    run: Run, tmp_path: Path, now: str, written: str
) -> None:
    if written:
        for text in ("the cache went stale", "a queue is full"):
            assert run("write", text, "--session", "s1", "--now", written).code == 0
        assert (
            run(
                "outcome",
                "--decision",
                "a",
                "--result",
                "b",
                "--fail",
                "--now",
                written,
            ).code
            == 0
        )
    for command in commands(tmp_path / "out"):
        ended = run(*command, "--json", "--now", now)
        assert ended.code == 0, (command, ended)
        assert "Error" not in ended.err, (command, ended)


@pytest.mark.parametrize(
    "time",
    [
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-00:01",
        "9999-12-31T23:59:59-14:00",
    ],
)
def test_a_time_that_its_offset_takes_out_of_the_years_is_refused(
    run: Run, time: str
) -> None:
    with pytest.raises(InvalidInput, match="years 1 to 9999"):
        to_microseconds(time)
    for command in (["status"], ["write", "x"], ["tour"]):
        ended = run(*command, "--json", "--now", time)
        assert (ended.code, "years 1 to 9999" in ended.json["error"]) == (1, True)
    assert FixedClock.at("0001-01-01T14:00:00+14:00").now() == to_microseconds(FIRST)


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]) << 20,) * 2)
sys.argv[1:] = sys.argv[2:]
from theorex_lab.app.cli import main
main()
"""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "too little memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "too little memory"),
        (RuntimeError("can't start new thread"), "too little memory"),
        (
            ImportError("libx.so: failed to map segment from shared object"),
            "too little memory",
        ),
        (OSError(errno.EIO, "Input/output error", "/x/y"), "/x/y: Input/output error"),
        (PermissionError(errno.EACCES, "Permission denied"), "Permission denied"),
    ],
)
def test_what_the_machine_refuses_is_told(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    def failing(**_: Any) -> None:
        raise error

    monkeypatch.setattr(cli.theorex, "main", failing)
    ended = run("status", "--json")
    assert (ended.code, said in ended.json["error"], ended.err.count("\n")) == (
        1,
        True,
        1,
    )


@pytest.mark.parametrize(
    "error", [RuntimeError("a fault"), ImportError("no module named x")]
)
def test_a_fault_of_the_program_is_not_hidden(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def failing(**_: Any) -> None:
        raise error

    monkeypatch.setattr(cli.theorex, "main", failing)
    monkeypatch.setattr(sys, "argv", ["theorex", "status"])
    with pytest.raises(type(error)):
        cli.main()


FAILING = """
import errno, os, sys
def fails(event, arguments):
    if event in ("os.remove", "os.rename", "os.rmdir", "shutil.rmtree") and str(arguments[0]).startswith(sys.argv[1]):
        raise OSError(errno.EIO, "Input/output error", str(arguments[0]))
sys.addaudithook(fails)
sys.argv[1:] = sys.argv[2:]
from theorex_lab.app.cli import main
main()
"""


def test_a_disk_on_which_nothing_can_be_removed_or_renamed(
    run: Run, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    assert run("write", "the cache went stale").code == 0
    assert run("tiers", "boot-inject").code == 0
    for command in (
        ["tiers", "boot-inject"],
        ["briefing", "--save", "--all-projects"],
        ["export", str(tmp_path / "out")],
        ["erase", "--match", "stale"],
        ["maintain"],
    ):
        call = [
            sys.executable,
            "-c",
            FAILING,
            str(tmp_path),
            *command,
            "--json",
            "--home",
            str(home),
        ]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode in (0, 1)
        json.loads(done.stdout)
    assert run("verify").code == 0


@posix
def test_what_is_made_is_its_owners_alone(run: Run, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        for command in commands(tmp_path / "home" / "out"):
            run(*command)
        assert run("search", "cache").code == 0
    finally:
        os.umask(before)
    made = list((tmp_path / "home").rglob("*"))
    names = {path.name for path in made}
    assert {"SHARED_CONTEXT.md", "briefing.db", "theorex.db"} <= names
    others = {
        str(path): oct(path.stat().st_mode)
        for path in made
        if stat.S_IMODE(path.stat().st_mode) & 0o077
    }
    assert others == {}
