"""How the page of one's memory is opened: the link, the browser, and what is left of
them.
"""

from __future__ import annotations

import os
import pty
import re
import signal
import stat
import subprocess
import time
from pathlib import Path

import httpx
import pytest
from faults import opened
from page_memory import remember
from test_mcp import PLAIN, PROGRAM, environment

from theorex_lab.app.server.memory_page import opening
from theorex_lab.app.server.memory_page.opening import opened_page
from theorex_lab.core.processes import open_in_browser

ADDRESS = "http://127.0.0.1:8420"


def test_the_browser_gets_a_file_that_its_owner_alone_can_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files: list[str] = []
    monkeypatch.setattr(opening, "open_in_browser", files.append)
    with opened(tmp_path / "home") as lab:
        remember(lab)
        with opened_page(lab, prints_link=True, opens_browser=True) as page:
            told = page.start(ADDRESS)
            link = re.search(r"http://\S+#(\S+)", told)
            assert link is not None
            file = Path(files[0])
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert link[0] in file.read_text()
            assert page.keys.is_open_to(page.keys.key_for(link[1]))
            assert page.token_file.read_text().strip() not in told + file.read_text()
        assert not file.exists()


@pytest.mark.parametrize("opens_browser", [True, False])
def test_without_a_terminal_no_link_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opens_browser: bool
) -> None:
    files: list[str] = []
    monkeypatch.setattr(opening, "open_in_browser", files.append)
    with (
        opened(tmp_path / "home") as lab,
        opened_page(lab, prints_link=False, opens_browser=opens_browser) as page,
    ):
        told = page.start(ADDRESS)
    assert ("#" in told, "page-token" in told, files) == (False, True, [])


def test_the_token_stays_the_same_and_is_its_owners_alone(tmp_path: Path) -> None:
    tokens = []
    for _ in range(2):
        with (
            opened(tmp_path / "home") as lab,
            opened_page(lab, prints_link=False, opens_browser=False) as page,
        ):
            tokens.append(page.token_file.read_text())
            assert stat.S_IMODE(page.token_file.stat().st_mode) == 0o600
    assert tokens[0] == tokens[1]


@pytest.mark.skipif(os.name == "nt", reason="a script is no program there")
def test_a_browser_is_started_by_the_desktop_alone_and_from_no_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "told"
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("xdg-open", "open"):
        program = programs / name
        program.write_text(f'#!/bin/sh\necho "$1 $PWD" > {told}.new\n')
        program.write_text(program.read_text() + f"mv {told}.new {told}\n")
        program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    assert open_in_browser("/srv/page.html")
    end = time.monotonic() + 60
    while not told.exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert told.read_text() == "/srv/page.html /\n"
    monkeypatch.setenv("PATH", "programs:.")
    monkeypatch.chdir(tmp_path)
    assert not open_in_browser("/srv/page.html"), "an own folder names no program"


def test_in_a_terminal_the_command_prints_a_link_that_opens_the_page(
    tmp_path: Path,
) -> None:
    ours, theirs = pty.openpty()
    command = [*PROGRAM, "--home", str(tmp_path / "home"), "serve", "--port", "0"]
    with subprocess.Popen(
        [*command, "--no-browser"], stdout=theirs, env=environment(), cwd=tmp_path
    ) as process:
        try:
            told = ""
            while (link := re.search(r"(http://\S+)/#(\S+)\s", told)) is None:
                told += os.read(ours, 4_096).decode()
            answer = httpx.post(
                f"{link[1]}/memory/open", json={"code": link[2]}, verify=PLAIN
            )
            by_key = {"Authorization": f"Bearer {answer.json()['key']}"}
            projects = httpx.get(
                f"{link[1]}/memory/projects", headers=by_key, verify=PLAIN
            )
            assert projects.json()["projects"] == []
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 128 + signal.SIGTERM
        finally:
            process.kill()
    assert not list((tmp_path / "home").glob("open-page*"))
