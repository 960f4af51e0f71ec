"""The door: a short design, in a package of its own, takes part in everything
with no edit of the toolkit.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import notes_design
import pytest
from conftest import NOW

import theorex_lab
from theorex_lab import (
    ConfigError,
    Event,
    FixedClock,
    HashedNgramEmbedder,
    InvalidInput,
    Lab,
    designs,
    installed,
    new_event,
)
from theorex_lab.core.clock import MICROSECONDS_PER_DAY as DAY
from theorex_lab.core.clock import to_iso
from theorex_lab.eval.adapters.protocol import EvalLog, EvalQuery
from theorex_lab.eval.replay.baselines import ReplayAdapter
from theorex_lab.eval.replay.trials import Plan, try_out
from theorex_lab.evolution.audit import audit
from theorex_lab.journal.event import register_kinds
from theorex_lab.memory.evidence import evidence_view
from theorex_lab.memory.projects import known_projects

SOURCE = Path(notes_design.__file__)
NOTES = notes_design.NOTES


pytestmark = pytest.mark.usefixtures("forgets_kinds")


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Lab]]:
    labs: list[Lab] = []

    def open_lab(name: str = "home", *, days: float = 0.0) -> Lab:
        clock = FixedClock(NOW + int(days * DAY))
        labs.append(
            Lab(
                tmp_path / name,
                clock=clock,
                embedder=HashedNgramEmbedder(),
                designs=[*installed(), NOTES],
            )
        )
        return labs[-1]

    yield open_lab
    for lab in labs:
        lab.close()


def found(lab: Lab, query: str = "cache", **more: Any) -> list[str]:
    return [hit.text for hit in lab.search(query, kinds=["note"], **more)]


def test_the_design_has_a_hundred_and_twenty_lines_at_most() -> None:
    assert len(SOURCE.read_text(encoding="utf-8").splitlines()) <= 120


def test_a_note_is_written_found_and_superseded(opened: Callable[..., Lab]) -> None:
    lab = opened()
    lab.design("notes").write("cache", "The cache lives for an hour")
    assert found(lab) == ["The cache lives for an hour"]
    lab.design("notes").write("cache", "The cache lives for a day")
    lab.design("notes").write("cache", "Another agent's cache", "sage")
    assert sorted(found(lab)) == ["Another agent's cache", "The cache lives for a day"]
    assert found(lab, agents=["main"]) == ["The cache lives for a day"]


def test_a_secret_in_a_note_is_masked(opened: Callable[..., Lab]) -> None:
    lab = opened()
    lab.design("notes").write("cache", "password=hunter2hunter2 opens the cache")
    assert found(lab) == ["password=[masked] opens the cache"]


def test_old_notes_sleep_in_the_maintenance_as_the_designs_own_setting_says(
    opened: Callable[..., Lab], tmp_path: Path
) -> None:
    opened().design("notes").write("cache", "The cache lives for an hour")
    assert "0 notes archived" in str(opened(days=60).maintain().to_dict())
    (tmp_path / "home" / "config.json").write_text(
        '{"designs": {"notes": {"sleepAfterDays": 30}}}'
    )
    later = opened(days=60)
    assert "1 notes archived" in str(later.maintain().to_dict())
    assert (found(later), found(later, cold=True)) == (
        [],
        ["The cache lives for an hour"],
    )
    assert "0 notes archived" in str(later.maintain().to_dict())


def test_a_wrong_setting_of_a_design_is_named(
    opened: Callable[..., Lab], tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.json").write_text(
        '{"designs": {"notes": {"sleepAfterDay": 3, "sleepAfterDays": 0}}}'
    )
    lab = opened()
    with pytest.raises(
        ConfigError, match=r"designs\.notes: .*nearest is sleepAfterDays"
    ):
        lab.home.settings_of(NOTES)
    assert opened("other").home.settings_of(NOTES).sleep_after_days == 90.0


def test_it_stands_in_the_briefing_the_status_the_evidence_and_the_audit_log(
    opened: Callable[..., Lab],
) -> None:
    lab = opened()
    lab.design("notes").write("cache", "The cache lives for an hour")
    (line,) = lab.briefing().lines
    assert (line.section, line.why) == ("Decisions", "a note of yours")
    assert line.text == "The cache lives for an hour (1 Mar)."
    assert (lab.status()["notes"], lab.status(agent="sage")["notes"]) == (1, 0)
    assert [each.detail["entity"] for each in audit(lab.home, kinds=["note"])] == [
        "cache"
    ]
    evidence = lab.views.get(evidence_view(lab.home)).table.cells("notes/")
    assert (evidence.keys, evidence.options, evidence.successes.tolist()) == (
        ["notes/entity/cache"],
        ["main"],
        [1.0],
    )


def test_no_room_below_the_designs_names_a_kind_of_theirs() -> None:
    rooms = "core text journal search memory routing dispatch evolution files".split()
    sources = [
        file
        for room in rooms
        for file in (Path(theorex_lab.__file__).parent / room).rglob("*.py")
    ]
    kinds = {kind for design in installed() for kind in design.kinds} - {
        "graduated",
        "attempt",
    }  # also a type of observations, and a number of a claim
    named = {
        (file.name, kind)
        for file in sources
        for kind in kinds
        if f'"{kind}"' in file.read_text(encoding="utf-8")
    }
    words = {
        ("words.py", "skill"),
        ("lexicon_tables.py", "hypothesis"),
        ("speech_acts.py", "fact"),
    }
    assert named - words == set()


def test_the_help_asks_only_other_packages_for_commands() -> None:
    assert [design.name for design in installed() if design.commands is not None] == []
    assert "theorex_lab.designs.theorex.design" not in _modules_of("--help")


def _modules_of(*words: str) -> str:
    command = [sys.executable, "-X", "importtime", "-m", "theorex_lab", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr


def test_it_is_erased_and_verified(opened: Callable[..., Lab]) -> None:
    lab = opened()
    note = lab.design("notes").write("cache", "The cache lives for an hour")["event_id"]
    assert lab.verify().ok
    lab.erase(ids=[note])
    assert (found(lab, cold=True), lab.status()["notes"]) == ([], 0)
    assert lab.verify().ok


def test_it_knows_the_project_that_it_is_of(opened: Callable[..., Lab]) -> None:
    lab = opened()
    shop = lab.in_project("shop-11111111", new=True)
    shop.design("notes").write("cache", "The cache lives for an hour")
    lab.in_project("mill-22222222", new=True).design("notes").write(
        "wheel", "No cache turns the wheel"
    )
    assert (found(shop), len(found(lab))) == (["The cache lives for an hour"], 2)
    assert known_projects(lab.home) == ["mill-22222222", "shop-11111111"]
    assert lab.verify().ok


def test_an_unknown_design_is_refused_with_the_known(
    opened: Callable[..., Lab],
) -> None:
    with pytest.raises(
        InvalidInput,
        match=(
            "got the design 'diaries'; allowed are sessions, theorex, facts, dreams,"
            " causal, research, dropin, notes"
        ),
    ):
        opened().design("diaries")


def _noted(entity: str, text: str, day: int) -> Event:
    return new_event(
        "note",
        {"entity": entity, "text": text, "source": "agent"},
        agent="main",
        at=NOW + day * DAY,
    )


def test_it_is_driven_over_a_log() -> None:
    register_kinds(NOTES.kinds)
    events = [
        _noted("cache", "The cache lives for an hour", 0),
        _noted("queue", "The queue holds ten jobs", 1),
        _noted("cache", "The cache lives for a day", 2),
        _noted("cache", "No cache any more", 300),
    ]
    ids = [event.id for event in events]
    probes = [
        EvalQuery(
            NOW + DAY // 2,
            "how long does the cache live",
            frozenset(ids[:1]),
            ("hour",),
        ),
        EvalQuery(
            NOW + 3 * DAY,
            "how long does the cache live",
            frozenset(ids[2:3]),
            ("day",),
            frozenset(ids[:1]),
        ),
        EvalQuery(NOW + 200 * DAY, "how long does the cache live"),
    ]
    log = EvalLog("notes", events, probes)
    trial = try_out(
        log,
        "notes",
        lambda: ReplayAdapter([NOTES], embedder=HashedNgramEmbedder()),
        Plan((500,)),
    )
    assert trial.problems == {}
    recall = {
        mode: [
            given.scores["evidence_recall"]
            for given in trial.given
            if given.mode == mode
        ][:2]
        for mode in ("inject", "retrieve")
    }
    assert recall == {
        "inject": [1.0, 1.0],
        "retrieve": [1.0, 1.0],
    }, "superseded on day 2"
    words = [
        given.scores["answer_words"]
        for given in trial.given
        if given.mode == "retrieve"
    ][:2]
    assert words == [1.0, 1.0]
    assert [given.scores["stale"] for given in trial.given if given.mode == "retrieve"][
        1
    ] == 0.0
    last = [
        given.scores["tokens"] for given in trial.given if given.mode == "retrieve"
    ][2]
    assert last == 0.0, "asleep after ninety days"


def test_a_budget_bounds_what_is_retrieved() -> None:
    register_kinds(NOTES.kinds)
    events = [
        _noted(f"cache {n}", f"Cache number {n} lives for an hour", 0)
        for n in range(20)
    ]
    with closing(ReplayAdapter([NOTES], embedder=HashedNgramEmbedder())) as memory:
        memory.observe(events)
        memory.consolidate(NOW + DAY)
        for tokens, most in ((0, 0), (20, 2), (10_000, 20)):
            assert len(memory.retrieve("cache", NOW + DAY, tokens)) == most


# In a package of its own, found by its entry point.


@pytest.fixture
def theorex(tmp_path: Path) -> Callable[..., Any]:
    site = tmp_path / "site"
    home = tmp_path / "home"
    info = site / "notes_design-1.0.dist-info"
    info.mkdir(parents=True)
    shutil.copy(SOURCE, site)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: notes-design\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text(
        "[theorex_lab.designs]\nnotes = notes_design:NOTES\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(site), "THEOREX_HOME": str(home)}

    def run(*words: str) -> Any:
        command = [
            sys.executable,
            "-m",
            "theorex_lab",
            "--json",
            "--now",
            to_iso(NOW),
            *words,
        ]
        done = subprocess.run(
            command,
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.startswith("{") else done.stdout

    run.environment = environment  # type: ignore[attr-defined]
    return run


def test_the_command_line_finds_its_entry_point(
    theorex: Callable[..., Any], tmp_path: Path
) -> None:
    with Lab(
        tmp_path / "home", clock=FixedClock(NOW), designs=[*installed(), NOTES]
    ) as lab:
        lab.design("notes").write("cache", "The cache lives for an hour")
    assert "Commands of the design notes." in theorex("--help")
    assert theorex("notes", "list") == {
        "notes": {"cache": "The cache lives for an hour"}
    }
    assert [
        hit["kind"] for hit in theorex("search", "--kind", "note", "cache")["hits"]
    ] == ["note"]
    assert theorex("status")["notes"] == 1
    assert theorex("config", "notes.sleepAfterDays", "5")["setting"]["value"] == 5.0
    assert {"notes.sleepAfterDays"} <= {
        row["key"] for row in theorex("config")["settings"]
    }
    assert (
        theorex("config", "--unset", "notes.sleepAfterDays")["setting"]["source"]
        == "default"
    )
    assert (
        theorex("audit", "--kind", "note")["entries"][0]["detail"]["entity"] == "cache"
    )


def test_agents_call_its_tool_over_mcp(theorex: Callable[..., Any]) -> None:
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "theorex_lab", "mcp", "--stdio"],
        env=theorex.environment,  # type: ignore[attr-defined]
    )

    async def call() -> tuple[list[str], str]:
        async with Client(stdio_client(server)) as client:
            await client.call_tool(
                "note", {"entity": "cache", "text": "The cache lives for an hour"}
            )
            hits = await client.call_tool("search", {"query": "cache"})
            tools = [tool.name for tool in (await client.list_tools()).tools]
            return tools, str(hits.structured_content)

    tools, hits = asyncio.run(call())
    assert "note" in tools
    assert "The cache lives for an hour" in hits


def test_a_package_that_comes_later_is_found_and_the_others_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def counted(path: str) -> bool:
        read.append(path)
        return b"theorex_lab.designs" in Path(path).read_bytes()

    monkeypatch.setattr(designs, "_names_group", counted)
    monkeypatch.syspath_prepend(tmp_path)
    os.utime(tmp_path, ns=(0, 0))
    assert not designs._may_have_others()
    before = len(read)
    assert not designs._may_have_others()
    assert len(read) == before > 0
    info = tmp_path / "later-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text("[theorex_lab.designs]\nlater = later:L\n")
    assert designs._may_have_others()
    shutil.rmtree(info)
    assert not designs._may_have_others()
