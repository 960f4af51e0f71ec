"""One session through every door: the hook, the commands, the MCP server and a lab
take the same steps, so they leave the same events and the same briefing.
"""

from __future__ import annotations

import ast
import asyncio
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, Run

from theorex_lab import (
    Design,
    Event,
    FixedClock,
    InvalidInput,
    Lab,
    Settings,
    installed,
)
from theorex_lab.app import hook
from theorex_lab.app.server.mcp import build_server
from theorex_lab.core.clock import to_iso
from theorex_lab.journal.sqlite import store
from theorex_lab.memory.contract import CapturesPart, FlushResult
from theorex_lab.store import lifecycle

PACKAGE = Path(lifecycle.__file__).parents[1]
PROMPT = "Why is the rounding of the ledger off by one cent?"
AGAIN = "The rounding of the ledger is off again by one cent."
RULE = "Always round the ledger half to even, never half up."


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def tool(shop: Path) -> dict[str, Any]:
    return {
        "hook_event_name": "PostToolUse",
        "session_id": "s",
        "cwd": str(shop),
        "tool_name": "Edit",
        "tool_input": {"file_path": str(shop / "ledger.py"), "new_string": RULE},
        "tool_response": {"filePath": str(shop / "ledger.py")},
    }


def turn(shop: Path) -> dict[str, Any]:
    return {
        "hook_event_name": "Stop",
        "session_id": "s",
        "cwd": str(shop),
        "last_assistant_message": "The ledger rounds half to even now.",
    }


def over(shop: Path) -> dict[str, Any]:
    return {"hook_event_name": "SessionEnd", "session_id": "s", "cwd": str(shop)}


class LabDoor:
    """The steps as a program takes them."""

    def __init__(self, home: Path, shop: Path) -> None:
        self.lab = Lab(home, clock=FixedClock(NOW))
        self.shop = shop

    def start(self, session: str = "s") -> str:
        return self.lab.start_session(session, folder=self.shop)

    def prompt(self, text: str) -> str:
        return self.lab.take_prompt(text, session="s", folder=self.shop)

    def take(self, event: dict[str, Any]) -> None:
        self.lab.take_event(event)

    def end(self) -> None:
        self.lab.take_event(over(self.shop))
        self.lab.end_session("s")

    def maintain(self) -> None:
        assert self.lab.maintain(reviewer="heuristic").ok

    def close(self) -> None:
        self.lab.close()


class HookDoor:
    """The steps as a coding agent takes them: by its hook, and the commands that the
    hook starts; the maintenance by `theorex maintain`.
    """

    def __init__(
        self, home: Path, shop: Path, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.home = home
        self.shop = shop
        self.run = run
        self.printed: list[bytes] = []
        monkeypatch.setenv("THEOREX_HOME", str(home))
        monkeypatch.setattr(store, "SystemClock", lambda: FixedClock(NOW))
        monkeypatch.setattr(hook, "_print", self.printed.append)
        monkeypatch.setattr(hook, "_start", self._started)
        monkeypatch.chdir(home.parent)

    def _started(self, home: str, words: list[str]) -> None:
        assert home == str(self.home)
        if words[:2] == ["tiers", "flush"]:
            self._command(*words)

    def _command(self, *words: str) -> None:
        ended = self.run("--now", to_iso(NOW), *words)
        assert ended.code == 0, ended

    def take(self, event: dict[str, Any]) -> None:
        assert hook.take(json.dumps(event).encode(), str(self.home)) == ""

    def _printed(self, event: dict[str, Any]) -> str:
        self.printed.clear()
        self.take({"session_id": "s", "cwd": str(self.shop), **event})
        return b"".join(self.printed).decode()

    def start(self, session: str = "s") -> str:
        return self._printed(
            {
                "hook_event_name": "SessionStart",
                "source": "startup",
                "session_id": session,
            }
        )

    def prompt(self, text: str) -> str:
        return self._printed({"hook_event_name": "UserPromptSubmit", "prompt": text})

    def end(self) -> None:
        self.take(over(self.shop))

    def maintain(self) -> None:
        self._command("maintain", "--reviewer", "heuristic")

    def close(self) -> None:
        """Nothing is open."""


class CommandDoor(LabDoor):
    """A program's steps, but what ends a session and tends the home are commands."""

    def __init__(self, home: Path, shop: Path, run: Run) -> None:
        super().__init__(home, shop)
        self.run = run

    def _command(self, *words: str) -> None:
        named = ("--home", str(self.lab.folder), "--now", to_iso(NOW))
        ended = self.run(*named, *words)
        assert ended.code == 0, ended

    def end(self) -> None:
        self.lab.take_event(over(self.shop))
        self._command("tiers", "flush", "--session", "s")

    def maintain(self) -> None:
        self._command("maintain", "--reviewer", "heuristic")


Door = LabDoor | HookDoor


def lived(door: Door, shop: Path) -> list[str]:
    """What an agent is given in a session, at a prompt of the next, and after the
    maintenance.
    """
    given = [door.start(), door.prompt(f"{RULE} {PROMPT}")]
    door.take(tool(shop))
    door.take(turn(shop))
    door.end()
    given += [door.start("t"), door.prompt(AGAIN)]
    door.maintain()
    given.append(door.start("u"))
    door.close()
    return given


def left(home: Path) -> list[tuple[str, str, str, str]]:
    """The events of a home, each id as the number of its event, without who held a
    lease.
    """
    with Lab(home, clock=FixedClock(NOW)) as lab:
        events: list[Event] = list(lab.journal.tail(0))
    rows = []
    for event in events:
        body = json.dumps(event.body, sort_keys=True)
        for other in events:
            body = body.replace(other.id, f"#{other.seq}")
        body = re.sub(r"nightly/\d+/[0-9a-f]+", "nightly", body)
        rows.append((event.kind, event.agent, event.session, body))
    return rows


def briefings(home: Path) -> dict[str, str]:
    files = [home / "SHARED_CONTEXT.md", *(home / "contexts").glob("[!.]*.md")]
    return {file.name: file.read_text(encoding="utf-8") for file in files}


def test_a_session_through_hook_commands_and_lab_leaves_the_same_events_and_briefing(
    tmp_path: Path, shop: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes = {name: tmp_path / name / "home" for name in ("lab", "hook", "commands")}
    for home in homes.values():
        home.mkdir(parents=True)
    given = {
        "lab": lived(LabDoor(homes["lab"], shop), shop),
        "commands": lived(CommandDoor(homes["commands"], shop, run), shop),
        "hook": lived(HookDoor(homes["hook"], shop, run, monkeypatch), shop),
    }
    assert given["lab"][2], "the second session starts with a briefing"
    assert given["hook"] == given["commands"] == given["lab"]
    events = {name: left(home) for name, home in homes.items()}
    assert events["commands"] == events["lab"]
    assert events["hook"] == events["lab"]
    kinds = [kind for kind, *_ in events["lab"]]
    assert {"prompt", "tool_used", "turn_ended", "session_ended"} <= set(kinds)
    assert {"recalled", "flushed", "nightly"} <= set(kinds)
    rendered = briefings(homes["lab"])
    assert any("half to even" in text for text in rendered.values())
    assert briefings(homes["commands"]) == rendered
    assert briefings(homes["hook"]) == rendered


def test_the_server_for_agents_gives_the_briefing_that_a_session_left(
    tmp_path: Path, shop: Path
) -> None:
    door = LabDoor(tmp_path / "home", shop)
    door.prompt(f"{RULE} {PROMPT}")
    door.take(tool(shop))
    door.end()
    server = build_server(door.lab)
    (content,) = asyncio.run(server.read_resource("theorex://context"))
    assert content.content == briefings(tmp_path / "home")["SHARED_CONTEXT.md"]
    asyncio.run(server.call_tool("boot-inject", {}))
    assert content.content == briefings(tmp_path / "home")["SHARED_CONTEXT.md"]
    door.close()


def test_a_prompt_is_kept_before_what_fits_it_is_given_and_noted(
    tmp_path: Path, shop: Path
) -> None:
    door = LabDoor(tmp_path / "home", shop)
    door.prompt(f"{RULE} {PROMPT}")
    door.take(tool(shop))
    door.end()
    text = door.lab.take_prompt(AGAIN, session="t", folder=shop)
    prompt, recalled = list(door.lab.journal.tail(0))[-2:]
    assert (prompt.kind, prompt.body["text"]) == ("prompt", AGAIN)
    assert (recalled.kind, recalled.body["how"]) == ("recalled", "prompt")
    assert "half to even" in text
    assert recalled.body["items"]
    door.close()


def test_nothing_is_given_at_a_prompt_where_the_settings_say_so(
    tmp_path: Path, shop: Path
) -> None:
    door = LabDoor(tmp_path / "home", shop)
    door.prompt(f"{RULE} {PROMPT}")
    door.end()
    door.lab.settings = Settings(recall_on_prompt=False)
    assert door.lab.take_prompt(AGAIN, session="t", folder=shop) == ""
    assert [*door.lab.journal.tail(0)][-1].kind == "prompt"
    door.close()


def test_an_event_with_an_unknown_name_is_refused_by_a_lab(tmp_path: Path) -> None:
    with (
        Lab(tmp_path / "home") as lab,
        pytest.raises(InvalidInput, match="'Lunch'; allowed are PostToolUse"),
    ):
        lab.take_event({"hook_event_name": "Lunch"})


class Diary:
    """Two designs that note what is asked of them: one holds captures, one does not."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def holding(self) -> Design:
        def waiting(_home: Any, _agent: str) -> list[str]:
            return ["a", "b"]

        return Design(
            "holding",
            captures=CapturesPart(waiting=waiting, check=self.noting("check")),
            flush=self.noting("hold", FlushResult(2, 1)),
        )

    def other(self) -> Design:
        return Design("other", flush=self.noting("other", object()))

    def noting(self, word: str, result: object = None) -> Callable[..., object]:
        def note(_home: Any, agent: str, session: str) -> object:
            self.lines.append(f"{word} {agent} {session}")
            return result

        return note


@pytest.fixture
def diary(tmp_path: Path) -> Iterator[tuple[Diary, Lab]]:
    diary = Diary()
    designs = [diary.other(), diary.holding()]
    with Lab(tmp_path / "home", designs=designs) as lab:
        yield diary, lab


def test_designs_that_hold_captures_take_a_session_in_before_the_others(
    diary: tuple[Diary, Lab],
) -> None:
    notes, lab = diary
    end = lab.end_session("s", agent="ann")
    assert notes.lines == ["check ann s", "hold ann s", "other ann s"]
    assert end == (1, 2, 1, end.problem)


def test_without_a_name_the_sessions_that_wait_are_ended_and_none_is_checked(
    diary: tuple[Diary, Lab],
) -> None:
    notes, lab = diary
    end = lab.end_session()
    assert notes.lines == [
        "hold main a",
        "hold main b",
        "other main a",
        "other main b",
    ]
    assert end[:3] == (2, 4, 2)


def test_a_session_outside_the_rule_is_refused_and_no_design_is_asked(
    diary: tuple[Diary, Lab],
) -> None:
    notes, lab = diary
    with pytest.raises(InvalidInput):
        lab.end_session("not a session")
    assert notes.lines == []


def test_theorex_ends_sessions_through_the_seam_that_every_design_has(
    tmp_path: Path, shop: Path
) -> None:
    door = LabDoor(tmp_path / "home", shop)
    door.take(tool(shop))
    (theorex,) = [design for design in installed() if design.name == "theorex"]
    assert theorex.flush is not None
    result = theorex.flush(door.lab.home, "main", "s")
    assert isinstance(result, FlushResult)
    assert result.kept + result.discarded == 1
    assert door.lab.end_session("s")[:3] == (1, 0, 0), "repeating changes nothing"
    door.close()


@pytest.mark.parametrize(
    ("module", "function", "called"),
    [
        ("app/hook.py", "_start_session", "start_session"),
        ("app/hook.py", "_take_event", "take_prompt"),
        ("app/hook.py", "_take_event", "take_event"),
        ("designs/theorex/commands.py", "flush", "end_session"),
        ("app/cli/learn.py", "_run_maintenance", "maintain"),
        ("store/lab.py", "start_session", "start_session"),
        ("store/lab.py", "take_prompt", "take_prompt"),
        ("store/lab.py", "take_event", "take_event"),
        ("store/lab.py", "end_session", "end_session"),
        ("store/lab.py", "maintain", "maintain"),
    ],
)
def test_each_door_calls_the_step_by_its_name(
    module: str, function: str, called: str
) -> None:
    tree = ast.parse((PACKAGE / module).read_text(encoding="utf-8"))
    (body,) = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == function
    ]
    names = set()
    for node in ast.walk(body):
        if isinstance(node, ast.Call):
            names.add(getattr(node.func, "id", getattr(node.func, "attr", "")))
    assert called in names


def test_nobody_but_the_homes_flush_calls_a_designs_flush() -> None:
    callers = []
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            is_call = isinstance(node, ast.Call) and isinstance(
                node.func, ast.Attribute
            )
            if is_call and ast.unparse(node.func) == "design.flush":
                callers.append(file.relative_to(PACKAGE).as_posix())
    assert callers == ["memory/contract.py"]
