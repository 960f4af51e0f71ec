"""The simulation of coding sessions: its file, what it says of itself, what is refused;
and that it is read as a log.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest
import simulate as simulation
from simulate import main
from simulate_sessions import save_sessions, simulate_sessions
from simulation_words import lines, topics

from theorex_lab import Event, FixedClock, InvalidInput, Lab, StorageError
from theorex_lab.core.errors import NewerVersion
from theorex_lab.designs.sessions.digests import (
    Check,
    checks_in,
    edited,
    fixed_in,
    read,
)
from theorex_lab.eval.datasets.logs import load_logs, simulated_sessions_log
from theorex_lab.eval.datasets.sources import describe_source, load, packaged
from theorex_lab.text.wording import content_words, overlap

SHIPPED = packaged("simulated_sessions.jsonl.gz")
HEADER = {
    "simulation": True,
    "of": "coding sessions",
    "seed": 1,
    "days": 1,
    "version": 1,
}
LINE = {
    "session_id": "a",
    "at": "2026-01-05T08:00:00Z",
    "hook_event_name": "UserPromptSubmit",
    "prompt": "Go on.",
}


@pytest.fixture(scope="module")
def sessions() -> dict[str, list[Event]]:
    """The captures of each session of the packaged file."""
    found: dict[str, list[Event]] = defaultdict(list)
    for event in load_logs("simulated_sessions")[0].events:
        found[event.session].append(event)
    return found


def _prompts(sessions: dict[str, list[Event]]) -> list[tuple[str, str]]:
    return [
        (name, event.body["text"])
        for name, events in sessions.items()
        for event in events
        if event.kind == "prompt"
    ]


def _claimed(what: str) -> int:
    """A number that datasets/README.md states."""
    found = re.search(
        rf"(\d+) {re.escape(what)}", packaged("README.md").read_text(encoding="utf-8")
    )
    assert found, f"datasets/README.md names no number of {what}"
    return int(found[1])


def test_packaged_file_is_regenerated_byte_for_byte(tmp_path: Path) -> None:
    output = tmp_path / "again.jsonl.gz"
    command = (
        "python tests/helpers/simulate.py --of sessions --seed 7 --days 120 --output"
        " datasets/simulated_sessions.jsonl.gz"
    )
    assert command in packaged("README.md").read_text(encoding="utf-8")
    given = [
        "--of",
        "sessions",
        "--seed",
        "7",
        "--days",
        "120",
        "--output",
        str(output),
    ]
    done = subprocess.run(
        [sys.executable, simulation.__file__, *given],
        env={**os.environ, "PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "simulation of" in done.stdout
    assert output.read_bytes() == SHIPPED.read_bytes()
    assert SHIPPED.stat().st_size < 400_000


def test_same_seed_same_sessions_and_other_seeds_differ() -> None:
    assert simulate_sessions(seed=3, days=40) == simulate_sessions(seed=3, days=40)
    assert simulate_sessions(seed=3, days=40) != simulate_sessions(seed=4, days=40)
    assert all(
        len({line["session_id"] for line in simulate_sessions(seed=n)}) > 90
        for n in range(3)
    )


def test_what_the_readme_says_is_in_the_file(sessions: dict[str, list[Event]]) -> None:
    checks: list[Check] = [
        check for events in sessions.values() for check in checks_in(events)
    ]
    assert len(sessions) == _claimed("sessions on one invented project")
    assert len(checks) == _claimed("runs of a check")
    assert sum(not check.passed for check in checks) == _claimed("of them failing")
    assert sum(
        any(True for _ in fixed_in(events)) for events in sessions.values()
    ) == _claimed("sessions go from red to green")
    again = re.compile("Again |It came back|.*, once more")
    assert sum(bool(again.match(text)) for _, text in _prompts(sessions)) == _claimed(
        "times an error comes back"
    )


def test_rules_are_given_again_in_the_same_words_and_in_others(
    sessions: dict[str, list[Event]],
) -> None:
    wordings: list[set[str]] = []
    given = 0
    where = set()
    for rule in lines("rules"):
        said = [
            (name, text)
            for name, prompt in _prompts(sessions)
            for text in rule.split(" | ")
            if text in prompt
        ]
        wordings.append({text for _, text in said})
        given += len(said)
        where |= {name for name, _ in said[1:]}
    assert (len(wordings), given) == (
        _claimed("standing rules"),
        _claimed("times in all"),
    )
    assert len(where) == _claimed("sessions repeat one")
    assert all(said for said in wordings), "each rule is given at least once"
    assert sum(len(said) > 1 for said in wordings) >= 5


def test_files_return_and_failures_come_back_with_the_same_words(
    sessions: dict[str, list[Event]],
) -> None:
    touched = Counter(
        path
        for events in sessions.values()
        for path in {p for e in events for p in (*read(e), *edited(e))}
    )
    assert len(touched) == _claimed("files")
    assert sum(count > 1 for count in touched.values()) > len(touched) / 2
    symptoms = {failure.symptom for topic in topics() for failure in topic.failures}
    printed = [
        event.body["response"]
        for events in sessions.values()
        for event in events
        if event.kind == "tool_used"
    ]
    assert any(
        sum(f"AssertionError: {symptom}" in text for text in printed) > 1
        for symptom in symptoms
    )


def test_sessions_do_not_overlap_and_begin_and_end() -> None:
    made = simulate_sessions(seed=7, days=120)
    names = [line["session_id"] for line in made]
    assert len(set(names)) == sum(
        name != before for name, before in zip(names, ["", *names], strict=False)
    )
    kinds = Counter(line["hook_event_name"] for line in made)
    assert kinds["SessionStart"] == kinds["SessionEnd"] == len(set(names))
    assert kinds["UserPromptSubmit"] == kinds["Stop"]
    assert [line["at"] for line in made] == sorted(line["at"] for line in made)


def test_it_is_called_a_simulation_wherever_it_is_shown(tmp_path: Path) -> None:
    told = (
        "a simulation of coding sessions (simulated_sessions.jsonl.gz, seed 7, 120"
        " days), not recorded work."
    )
    assert describe_source(SHIPPED) == f"Data: {told}"
    copy = tmp_path / "mine.jsonl.gz"
    copy.write_bytes(SHIPPED.read_bytes())
    assert "a simulation of coding sessions (mine.jsonl.gz" in describe_source(copy)


def test_the_next_session_is_told_a_rule_that_was_given_twice() -> None:
    with Lab.temporary(clock=FixedClock.at("2026-05-06T00:00:00Z")) as lab:
        report = lab.import_transcripts(SHIPPED, trusted=True)
        assert (report.problems, report.sessions) == (
            [],
            _claimed("sessions on one invented project"),
        )
        said = {text for rule in lines("rules") for text in rule.split(" | ")}
        project = lab.projects()[0]["project"]
        given = lab.in_project(project).briefing(tokens=500).lines
        rules = [line for line in given if line.section == "Standing rules"]
        again = [
            line for line in rules if re.search(r"\(\d+ sessions, last", line.text)
        ]
        wishes = [content_words(text) for text in said]
        told = []
        for line in again:
            words = content_words(line.text.partition(" (")[0])
            if any(overlap(words, wish) > 0.5 for wish in wishes):
                told.append(line.text)
        assert len(told) >= 5, [line.text for line in again]


def _write(path: Path, *rows: object) -> Path:
    text = "".join(
        (row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows
    )
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    return path


@pytest.mark.parametrize(
    "header",
    [
        "",
        "{",
        "[]",
        LINE,
        {**HEADER, "of": "a team"},
        {**HEADER, "simulation": 2},
        {**HEADER, "version": "1"},
    ],
)
def test_another_header_is_refused(tmp_path: Path, header: object) -> None:
    with pytest.raises(InvalidInput, match="line 1"):
        simulated_sessions_log(_write(tmp_path / "sessions.jsonl.gz", header, LINE))


def test_the_files_of_the_two_simulations_are_not_mistaken_for_each_other() -> None:
    with pytest.raises(InvalidInput, match="coding sessions"):
        simulated_sessions_log(packaged("simulated_team.jsonl.gz"))
    with pytest.raises(InvalidInput, match="damaged lines"):
        load(SHIPPED)


@pytest.mark.parametrize("line", ["{", "[1]", '"text"'])
def test_a_damaged_line_is_refused_with_its_number(tmp_path: Path, line: str) -> None:
    with pytest.raises(InvalidInput, match=r"1 damaged lines.*line 3"):
        simulated_sessions_log(
            _write(tmp_path / "sessions.jsonl.gz", HEADER, LINE, line, LINE)
        )


def test_a_newer_version_and_a_broken_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NewerVersion, match="version 2"):
        simulated_sessions_log(
            _write(tmp_path / "newer.jsonl.gz", {**HEADER, "version": 2})
        )
    broken = tmp_path / "broken.jsonl.gz"
    broken.write_bytes(SHIPPED.read_bytes()[:-100])
    with pytest.raises(InvalidInput, match=r"broken\.jsonl\.gz"):
        simulated_sessions_log(broken)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"seed": -1}, "seed"),
        ({"seed": True}, "seed"),
        ({"days": 0}, "1 to 3650"),
        ({"days": 1.5}, "days"),
    ],
)
def test_the_program_refuses(arguments: dict[str, object], part: str) -> None:
    with pytest.raises(InvalidInput, match=part):
        simulate_sessions(**{"seed": 7, **arguments})  # type: ignore[arg-type]


def test_saving_and_the_command_name_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "missing" / "sessions.jsonl.gz"
    with pytest.raises(StorageError, match="cannot be written"):
        save_sessions([], missing, seed=1, days=1)
    with pytest.raises(SystemExit):
        main(
            ["--of", "sessions", "--seed", "1", "--days", "0", "--output", str(missing)]
        )
    assert "1 to 3650" in capsys.readouterr().err
