"""`theorex doctor`: a sound home, and homes that are broken in each way that it looks
at.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import Run

from theorex_lab import Lab, new_event
from theorex_lab.app.cli.hooks import install
from theorex_lab.core.clock import SystemClock

DAY = 86_400_000_000
Look = Callable[..., dict[str, tuple[str, str, str]]]


@pytest.fixture
def hooks(tmp_path: Path) -> Path:
    program = tmp_path / "theorex-hook"
    program.touch(mode=0o700)
    file = tmp_path / "settings.json"
    file.write_text(install(None, str(program)))
    return file


@pytest.fixture
def look(run: Run, hooks: Path) -> Look:
    """What the doctor finds: by what it is about, the level, what is said and what to
    do.
    """

    def look(*options: str, code: int = 0) -> dict[str, tuple[str, str, str]]:
        ended = run("doctor", "--settings", str(hooks), "--json", *options)
        assert (ended.code, ended.json["ok"]) == (code, code == 0), ended.out
        return {
            row["what"]: (row["level"], row["said"], row["do"])
            for row in ended.json["findings"]
        }

    return look


@pytest.fixture
def lived(run: Run, tmp_path: Path) -> Path:
    """A home that is as it should be."""
    home = tmp_path / "home"
    with Lab(home, project="shop-11111111") as lab:
        lab.agent("main").write("The harbour opens at six.")
        lab.maintain(reviewer="heuristic")
    return home


def test_a_sound_home(look: Look, lived: Path, run: Run, hooks: Path) -> None:
    found = look()
    assert {level for level, _, _ in found.values()} == {"ok"}
    assert {*found} >= {
        "hooks",
        "permissions",
        "disk",
        "journal",
        "maintenance",
        "models",
    }
    assert all(do == "" for _, _, do in found.values())
    shown = run("doctor", "--settings", str(hooks)).out
    assert "ok       hooks: 8 of 8 hooks are in" in shown


def test_no_home_is_made_by_looking(look: Look, tmp_path: Path) -> None:
    assert look()["home"][0] == "warning"
    assert not (tmp_path / "home").exists()


@pytest.mark.usefixtures("lived")
class TestHooks:
    def test_none(self, look: Look, hooks: Path) -> None:
        hooks.unlink()
        level, said, do = look()["hooks"]
        assert (level, said[:6]) == ("warning", "0 of 8")
        assert do == f"theorex install-hooks --settings {hooks}"

    def test_some_are_missing(self, look: Look, hooks: Path) -> None:
        settings = json.loads(hooks.read_text())
        del settings["hooks"]["PreCompact"]
        hooks.write_text(json.dumps(settings))
        assert look()["hooks"][:2] == (
            "warning",
            f"7 of 8 hooks are in {hooks}; missing: PreCompact",
        )

    def test_the_program_is_gone(self, look: Look, tmp_path: Path) -> None:
        (tmp_path / "theorex-hook").unlink()
        assert (
            look(code=1)["hooks"][1]
            == f"the program {tmp_path / 'theorex-hook'} is missing or cannot be run"
        )

    @pytest.mark.parametrize("text", ["{", "[]", '{"hooks": 1}'])
    def test_the_file_is_broken_and_the_rest_is_looked_at(
        self, look: Look, hooks: Path, text: str
    ) -> None:
        hooks.write_text(text)
        found = look(code=1)
        assert (found["hooks"][0], found["journal"][0]) == ("problem", "ok")

    def test_a_command_that_no_shell_would_read(self, look: Look, hooks: Path) -> None:
        hooks.write_text(install(None, "X='half theorex-hook"))
        assert look(code=1)["hooks"][0] == "problem"


class TestFiles:
    def test_open_to_others(self, look: Look, lived: Path) -> None:
        (lived / "theorex.db").chmod(0o644)
        level, said, do = look()["permissions"]
        assert (level, said) == (
            "warning",
            f"other users can open {lived / 'theorex.db'}",
        )
        assert do == f"chmod -R go= {lived}"
        lived.chmod(0o755)
        assert look(code=1)["permissions"][0] == "problem"

    @pytest.mark.parametrize(
        ("free", "level"),
        [(50 << 20, "problem"), (500 << 20, "warning"), (5 << 30, "ok")],
    )
    @pytest.mark.usefixtures("lived")
    def test_little_room(
        self, look: Look, monkeypatch: pytest.MonkeyPatch, free: int, level: str
    ) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
        assert look(code=int(level == "problem"))["disk"][0] == level

    def test_a_damaged_journal(self, look: Look, lived: Path) -> None:
        os.truncate(lived / "theorex.db", 5_000)
        level, said, _ = look(code=1)["home"]
        assert (level, "salvage" in said) == ("problem", True)

    def test_an_event_that_was_changed_behind_its_back(
        self, look: Look, lived: Path
    ) -> None:
        from theorex_lab.journal.sqlite.connection import connect

        connection = connect(lived / "theorex.db")
        connection.execute("DROP TRIGGER events_are_not_changed")
        connection.execute(
            "UPDATE events SET body = replace(body, 'harbour', 'castle!')"
        )
        connection.close()
        assert "problem" in {level for level, _, _ in look(code=1).values()}

    def test_broken_settings(self, look: Look, lived: Path) -> None:
        (lived / "config.json").write_text('{"halfLifeDays": "soon"}')
        assert look(code=1)["home"][0] == "problem"


class TestMaintenance:
    def record_run(
        self, home: Path, *, at: int, ok: bool = True, later: bool = True
    ) -> None:
        with Lab(home) as lab:
            body = {
                "steps": [{"name": "scan", "ok": ok, "seconds": 0.1, "detail": ""}],
                "fixes": 0,
                "gate": [],
            }
            lab.journal.append([new_event("nightly", body, agent="scanner", at=at)])
            if later:
                lab.agent("main").write("something happened since")

    def test_none_yet(self, look: Look, tmp_path: Path) -> None:
        with Lab(tmp_path / "home") as lab:
            lab.agent("main").write("a first sentence")
        assert look()["maintenance"] == (
            "warning",
            "it has never run",
            "theorex maintain --schedule cron",
        )

    def test_long_ago(self, look: Look, tmp_path: Path) -> None:
        self.record_run(tmp_path / "home", at=SystemClock().now() - 5 * DAY)
        assert look()["maintenance"] == (
            "warning",
            "it last ran 5.0 days ago",
            "theorex maintain --schedule cron",
        )

    def test_long_ago_and_nothing_since(self, look: Look, tmp_path: Path) -> None:
        self.record_run(
            tmp_path / "home", at=SystemClock().now() - 5 * DAY, later=False
        )
        assert look()["maintenance"][0] == "ok"

    def test_failed(self, look: Look, tmp_path: Path) -> None:
        self.record_run(tmp_path / "home", at=SystemClock().now(), ok=False)
        assert look()["maintenance"] == (
            "warning",
            "it last ran 0.0 days ago; these steps failed: scan",
            "theorex maintain",
        )


class TestModels:
    def url(self, home: Path, port: int) -> None:
        (home / "config.json").write_text(
            json.dumps(
                {
                    "models": {
                        "own": {"tier": "small", "url": f"http://127.0.0.1:{port}"}
                    }
                }
            )
        )

    def test_asked_only_online(self, look: Look, lived: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.url(lived, server.getsockname()[1])
            server.setblocking(False)
            assert look()["model own"] == (
                "ok",
                "has a url; --online tries to connect",
                "",
            )
            with pytest.raises(BlockingIOError):
                server.accept()
            assert look("--online")["model own"][:2] == ("ok", "accepts connections")
        assert look("--online")["model own"] == (
            "warning",
            "accepts no connection",
            "start it, or unset models.own.url",
        )
