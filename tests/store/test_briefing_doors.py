"""One briefing through every door: a lab, the command, the hook, MCP and REST give the
same text, at a session's start and at a prompt.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import NOW, Run

from theorex_lab import FixedClock, HashedNgramEmbedder, Lab
from theorex_lab.app import hook
from theorex_lab.app.server.mcp import build_server
from theorex_lab.app.server.rest import RestServer
from theorex_lab.core.clock import to_iso
from theorex_lab.journal.sqlite import store
from theorex_lab.memory.contract import Home
from theorex_lab.store.lifecycle import SessionHome, take_event

HOUR = 3_600_000_000
TOKEN = "a-token-of-these-tests-alone"
PROMPT = "Why does the receipt printer of the till stop after the second page?"
SESSIONS = {
    "monday": (
        "Never commit to git by yourself. Move the receipt printer into printer.go",
        "Moved the receipt printer of the till into `printer.go`, all tests pass.",
        "The printer stops after one page where its paper sensor in `sensor.go` is dirty.",
    ),
    "tuesday": (
        "Remember: never commit to git. Add a second till to the shop in shop.go",
        "Added the second till: `shop.go` now opens tills by their number.",
        "The receipt of the second till is printed on page two of the ledger.",
    ),
    "wednesday": (
        "Paint the door of the shop green in door.go",
        "Painted the door: `door.go` has the colour of the awning now.",
        "The awning is blue in winter, since the shop is closed on Sundays.",
    ),
}


def taken(home: SessionHome, folder: Path, session: str, **event: Any) -> None:
    place = {"session_id": session, "cwd": str(folder)}
    take_event(home, {**place, **event}, agent="main")


def record(home: Path, folder: Path) -> None:
    """Record the sessions of a shop, an hour apart, as hooks do."""
    for number, (session, (asked, *said)) in enumerate(SESSIONS.items()):
        at = NOW - (10 - number) * HOUR
        recorded = SessionHome(str(home), clock=FixedClock(at))
        prompt = {"hook_event_name": "UserPromptSubmit", "prompt": asked}
        taken(recorded, folder, session, **prompt)
        call = {
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "go test ./..."},
            "tool_response": {"stdout": "ok", "exit_code": 0},
        }
        taken(recorded, folder, session, **call)
        for text in said:
            answer = {"hook_event_name": "Stop", "last_assistant_message": text}
            taken(recorded, folder, session, **answer)
        recorded.close()


class Doors:
    """A home with recorded sessions, and what each of its doors gives."""

    def __init__(self, lab: Lab, folder: Path, run: Run, printed: list[bytes]) -> None:
        """Open the doors.

        Args:
            lab: The lab of the shop's project.
            folder: The folder of the shop.
            run: Runs a command.
            printed: What the hook printed.
        """
        self.lab = lab
        self.folder = folder
        self._run = run
        self._printed = printed
        self._server = build_server(lab)

    def command(self, *words: str) -> str:
        where = ("--home", str(self.lab.folder), "--now", to_iso(NOW), "--json")
        scope = ("--project", self.lab.home.project)
        ended = self._run(*where, "briefing", *scope, *words)
        assert ended.code == 0, ended
        text: str = ended.json["text"]
        return text

    def hook(self, name: str, **event: str) -> str:
        self._printed.clear()
        place = {"session_id": "now", "cwd": str(self.folder)}
        payload = {**place, "hook_event_name": name, **event}
        assert hook.take(json.dumps(payload).encode(), str(self.lab.folder)) == ""
        return b"".join(self._printed).decode()

    def tool(self, **arguments: str) -> str:
        answer = asyncio.run(self._server.call_tool("boot-inject", arguments))
        text: str = answer.structured_content["text"]
        return text

    def resource(self) -> str:
        (content,) = asyncio.run(self._server.read_resource("theorex://context"))
        return str(content.content)

    def rest(self, **query: str | int) -> str:
        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(app=RestServer(self.lab, TOKEN))
            right = {"Authorization": f"Bearer {TOKEN}"}
            async with httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1", headers=right
            ) as client:
                return await client.get("/briefing", params=query)

        answer = asyncio.run(asked())
        assert answer.status_code == 200, answer.text
        text: str = answer.json()["text"]
        return text


@pytest.fixture
def doors(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Doors]:
    folder = tmp_path / "shop"
    folder.mkdir()
    home = tmp_path / "home"
    record(home, folder)
    printed: list[bytes] = []
    monkeypatch.setenv("THEOREX_HOME", str(home))
    monkeypatch.setattr(store, "SystemClock", lambda: FixedClock(NOW))
    monkeypatch.setattr(hook, "_print", printed.append)
    monkeypatch.setattr(hook, "_start", lambda _home, _words: None)
    monkeypatch.chdir(tmp_path)
    # By words alone, as an agent's hook compares.
    offline = (HashedNgramEmbedder(), "the test says so")
    monkeypatch.setattr(Home, "chosen_embedder", offline)
    with Lab(home, clock=FixedClock(NOW)) as lab:
        yield Doors(lab.in_project(folder), folder, run, printed)


def test_a_session_starts_with_one_text_through_every_door(doors: Doors) -> None:
    briefing = doors.lab.briefing()
    assert len(briefing.lines) >= 4
    assert {"Standing rules", "Recent work"} <= {
        line.section for line in briefing.lines
    }
    given = {
        "hook, made now": doors.hook("SessionStart", source="startup"),
        "command": doors.command(),
        "saved": doors.command("--save"),
        "hook, as saved": doors.hook("SessionStart", source="clear"),
        "boot-inject": doors.tool(),
        "resource": doors.resource(),
        "rest": doors.rest(),
    }
    assert given == dict.fromkeys(given, briefing.text)
    assert doors.lab.context_file.read_text() == briefing.text


def test_a_prompt_brings_one_text_through_every_door(doors: Doors) -> None:
    doors.lab.save_briefing()
    doors.lab.end_session("wednesday")
    started = doors.hook("SessionStart", source="startup")
    briefing = doors.lab.briefing(PROMPT)
    assert any("sensor.go" in line.text for line in briefing.lines)
    assert not any(line.text in started for line in briefing.lines)
    given = {
        "command": doors.command("--query", PROMPT),
        "boot-inject": doors.tool(query=PROMPT),
        "rest": doors.rest(query=PROMPT),
        # last: what is asked is recorded, and is then part of the project
        "hook": doors.hook("UserPromptSubmit", prompt=PROMPT),
    }
    assert given == dict.fromkeys(given, briefing.text)


def test_a_smaller_budget_is_the_same_for_the_command_and_rest(doors: Doors) -> None:
    for tokens in (60, 150, 2_000):
        text = doors.lab.briefing(tokens=tokens).text
        assert doors.command("--tokens", str(tokens)) == text
        assert doors.rest(tokens=tokens) == text
        asked = doors.lab.briefing(PROMPT, tokens=tokens).text
        assert doors.command("--query", PROMPT, "--tokens", str(tokens)) == asked
        assert doors.rest(query=PROMPT, tokens=tokens) == asked


def test_each_door_notes_what_it_gave(doors: Doors) -> None:
    items = list(doors.lab.briefing().items)
    before = doors.lab.journal.last_seq()
    doors.hook("SessionStart", source="startup")
    doors.tool()
    doors.resource()
    doors.rest()
    recalled = [
        event for event in doors.lab.journal.tail(before) if event.kind == "recalled"
    ]
    assert [event.body["how"] for event in recalled] == [
        "session_start",
        "mcp_boot_inject",
        "mcp_context",
        "http_briefing",
    ]
    assert [event.body["items"] for event in recalled] == [items] * 4


def test_no_door_gives_another_project_anything_of_it(
    doors: Doors, tmp_path: Path
) -> None:
    mill = tmp_path / "mill"
    mill.mkdir()
    assert doors.hook("SessionStart", cwd=str(mill), session_id="m") == ""
    asked = {"cwd": str(mill), "session_id": "m", "prompt": PROMPT}
    assert doors.hook("UserPromptSubmit", **asked) == ""
    project = doors.lab.in_project(mill).home.project
    assert project != doors.lab.home.project
    for text in (
        doors.tool(project=project),
        doors.rest(project=project),
        doors.rest(project=project, query=PROMPT),
    ):
        assert "\n- " not in text
    assert "\n- " in doors.rest(), "of its own there is something"
