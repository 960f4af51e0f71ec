"""A journal as one file of events, for programs that read tables."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import DAY, NOW, Run

from theorex_lab import FixedClock, InvalidInput, Lab
from theorex_lab.dispatch.bus import End, Start, ToolUse
from theorex_lab.dispatch.llm import Attempt
from theorex_lab.errors import FilesThere, StorageError
from theorex_lab.evolution.policy import snapshot
from theorex_lab.ids import concept_id, derived_event_id
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.recalled import recalled_event
from theorex_lab.search.embed import HashedNgramEmbedder

WORDS = "harbour quartz lantern meadow copper violet engine saddle pepper anchor".split()


def lab_at(folder: Path, now: int = NOW) -> Lab:
    return Lab(folder, clock=FixedClock(now), embedder=HashedNgramEmbedder(16))


def raw(kind: str, session: str, at: int, **body: Any) -> Event:
    return new_event(kind, body, agent="main", session=session, at=at)


def run_of(trace_id: str, at: int, *, success: bool = True, outcome_id: str | None = None) -> list[Event]:
    start = Start(trace_id, "main", at, "mend the quartz parser", "code", "acme-7b", "deep-session", ("urgent",), outcome_id=outcome_id)  # fmt: skip
    tool = ToolUse(trace_id, at + 1, "Bash", "make test", "2 failed")
    attempts = (Attempt("acme-7b", success, 800.0 if success else None, 120),)
    end = End(trace_id, at + 2, success, "acme-7b", 120, 800.0, None, "it is mended", attempts)
    return [start.event(), tool.event(start), end.event(start)]


def live(lab: Lab) -> Lab:
    """Let a home live: every kind of event that one comes by in some days."""
    main, clock = lab.agent("main"), lab.clock
    assert isinstance(clock, FixedClock)
    clock.microseconds = NOW - 60 * DAY
    for number in range(30):
        clock.advance(days=1)
        one, two = WORDS[number % 10], WORDS[(number + number // 10) % 10]
        kind = "trace_fix" if number % 4 == 0 else "decision"
        main.write(f"The {one} pump feeds the {two} valve", observation_type=kind, tags=[one])
        lab.agent("sage").write(f"A {two} gauge broke – größer als 日本 {number}", source="tool")
    own = main.write("The erased plan of the walrus").event_id
    lab.journal.append(
        [
            raw("prompt", "deep-session", clock.now(), text="mend the violet lock in /home/ada/locks.py", source="user"),
            raw("tool_used", "deep-session", clock.now(), tool="Bash", input='{"command":"make"}', response="ok", source="tool", ok=None, paths={"read": [], "edited": ["locks.py"]}, command="make", project=""),
            turn := raw("turn_ended", "deep-session", clock.now(), message="", source="agent", subagent=False, project=""),
            said_of(turn, "the violet lock holds"),
            raw("compacting", "deep-session", clock.now(), trigger="auto", project="quartz-shop-01234567"),
            recalled_event("search", query="copper saddle", items=[own, str(concept_id("copper")), turn.id], tokens=7, agent="main", at=clock.now()),
            raw("session_ended", "deep-session", clock.now()),
        ]
    )  # fmt: skip
    lab.theorex.flush("deep-session")
    good = lab.outcomes.record("main", "use copper", "it holds", success=True, tags=["metal"])
    bad = lab.outcomes.record("main", "use pepper", "it burst", success=False, tags=["metal"])
    lab.outcomes.correct(good.outcome_id, judge_score=0.9, reason="neat work")
    for number in range(3):
        lab.journal.append(run_of(f"run-{number}", clock.now() + number, success=number > 0, outcome_id=bad.outcome_id))
    task = lab.tasks.send("main", "sage", "review", {"where": "the lantern file", "deep": [2**60 + 1, {"x": None}]})
    lab.tasks.claim("sage")
    lab.tasks.complete(task, {"answer": "fine"})
    lab.erase(ids=[own])
    lab.nightly(reviewer="heuristic")
    snapshot(lab.journal, {"halfLifeDays": 7.0}, at=clock.now(), reason="by hand")
    clock.microseconds = NOW
    lab.theorex.scan()
    lab.theorex.prune()
    lab.archive(NOW - DAY)
    return lab


def said_of(turn: Event, text: str) -> Event:
    """A message of a turn, as it is taken from a transcript."""
    body = {"turn": turn.id, "text": text, "source": "agent", "project": ""}
    made = derived_event_id("turn_message", turn.id)
    return new_event("turn_message", body, agent="main", session="s", at=turn.at, lineage=[turn.id], event_id=made)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with lab_at(tmp_path_factory.mktemp("lived")) as lab:
        yield live(lab)


def rows(path: Path) -> list[dict[str, Any]]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("name", ["all.jsonl", "all.jsonl.gz"])
def test_every_event_is_a_line_and_the_same_events_give_the_same_bytes(lived: Lab, tmp_path: Path, name: str) -> None:
    file, again = tmp_path / name, tmp_path / f"again-{name}"
    assert lived.export_events(file) == lived.export_events(again) == lived.journal.last_seq()
    assert file.read_bytes() == again.read_bytes()
    told = [{**row, "lineage": tuple(row["lineage"].split()), "body": json.loads(row["body"])} for row in rows(file)]
    shown = [
        (each._replace(session="", body={"erased": 1}) if each.erased else each)._asdict()
        for each in lived.journal.tail(0, erased=True)
    ]
    assert told == shown
    assert any(row["body"] == {"erased": 1} for row in told), "what was erased keeps its place"


def test_tables_read_it_as_it_is(lived: Lab, tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl.gz"
    lived.export_events(file)
    table = pd.read_json(file, lines=True)
    assert list(table.columns) == ["seq", "id", "at", "agent", "session", "kind", "lineage", "body"]
    assert table["seq"].tolist() == list(range(1, lived.journal.last_seq() + 1))
    assert not table.isna().any(axis=None)
    kinds = {name: {type(row[name]) for row in rows(file)} for name in table.columns}
    assert {name for name, types in kinds.items() if types == {int}} == {"seq", "at"}
    assert all(types in ({int}, {str}) for types in kinds.values()), "one type a column, whatever line comes first"
    sent = json.loads(table[table["kind"] == "task_submitted"]["body"].item())
    assert sent["payload"]["deep"] == [2**60 + 1, {"x": None}]


def test_an_agent_alone(lived: Lab, tmp_path: Path) -> None:
    file = tmp_path / "sage.jsonl"
    told: list[int] = []
    count = lived.export_events(file, agent="sage", progress=told.append)
    assert count < told[-1] == lived.journal.last_seq()
    assert {row["agent"] for row in rows(file)} == {"sage"}


def test_no_file_is_replaced_unasked(lived: Lab, tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    file.write_text("mine")
    with pytest.raises(FilesThere):
        lived.export_events(file)
    assert file.read_text() == "mine"
    lived.export_events(file, replace=True)
    assert len(rows(file)) == lived.journal.last_seq()
    with pytest.raises(InvalidInput, match=r"\.jsonl or \.jsonl\.gz"):
        lived.export_events(tmp_path / "all.json")
    assert [path.name for path in tmp_path.iterdir()] == ["all.jsonl"], "no draft is left"


def test_what_is_erased_meanwhile_is_not_exported(tmp_path: Path) -> None:
    with lab_at(tmp_path / "home") as lab:
        event_id = lab.agent("main").write("the walrus").event_id
        lab.agent("main").write("the carpenter")

        def erase(done: int) -> None:
            if done == 2:
                lab.erase(ids=[event_id])

        with pytest.raises(StorageError, match="export again"):
            lab.export_events(tmp_path / "all.jsonl", progress=erase)
    assert not (tmp_path / "all.jsonl").exists()


def test_an_export_does_without_pydantic(tmp_path: Path) -> None:
    code = """
import sys
from theorex_lab import Lab
from theorex_lab.exchange.home_files import export_home
with Lab(sys.argv[1]) as lab:
    lab.agent("main").write("the lamp is out")
    lab.export_events(lab.folder / "all.jsonl")
    export_home(lab.home, lab.searcher, lab.folder / "files")
print(sorted({"pydantic"} & set(sys.modules)))
"""
    command = [sys.executable, "-c", code, str(tmp_path / "home")]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "[]\n"


def test_commands(run: Run, tmp_path: Path) -> None:
    run("write", "the lamp is out", "--agent", "main")
    file = tmp_path / "all.jsonl.gz"
    done = run("export", "--events", str(file), "--json")
    assert (done.code, done.json["events"]) == (0, 1)
    assert run("export", "--events", str(file)).code == 1
    assert run("export", "--events", str(file), "--replace").code == 0
    assert run("export", str(tmp_path / "dir"), "--events", str(file)).code == 2
    assert run("import", "--dry-run").code == 2
