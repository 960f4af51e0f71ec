"""Logs out of data sets: what was captured when and with which trust, what is asked,
and that two loads agree.
"""

from __future__ import annotations

import os
import subprocess
import warnings
from collections import Counter
from pathlib import Path

import pytest
from shared_logs import SharedLogs, reading_once

from theorex_lab import InvalidInput, StorageError
from theorex_lab.core.ids import derived_event_id
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.datasets import dataset_files, sources
from theorex_lab.eval.datasets.dataset_files import LicenceNotice
from theorex_lab.eval.datasets.dataset_table import DATASETS
from theorex_lab.eval.datasets.logs import GIVEN, LOGS, load_logs
from theorex_lab.eval.metrics.sessions import scenes

needs_data = pytest.mark.skipif(
    not os.environ.get(sources.DATA_VARIABLE),
    reason=f"{sources.DATA_VARIABLE} names no folder with the public sets",
)
pytestmark = pytest.mark.filterwarnings(
    "ignore::theorex_lab.eval.datasets.dataset_files.LicenceNotice"
)


def texts(log: EvalLog, ids: frozenset[str]) -> set[str]:
    """What the events of these ids say."""
    found = (event.body for event in log.events if event.id in ids)
    return {
        str(body.get("text") or body.get("message") or body.get("input"))
        for body in found
    }


def test_an_unknown_name_is_refused_with_the_known() -> None:
    for name in ("locomoo", "gitt:x", "no/where"):
        with pytest.raises(
            InvalidInput, match="allowed are coding_sessions, locomo.*git:PATH"
        ):
            load_logs(name)


def test_the_packaged_simulation_asks_for_fixes_that_held_and_facts_that_changed() -> (
    None
):
    (log,), (again,) = load_logs("simulated_team"), load_logs("simulated_team")
    assert [event.id for event in log.events] == [event.id for event in again.events]
    assert log.probes == again.probes
    assert sorted(event.at for event in log.events) == [
        event.at for event in log.events
    ]
    fact = next(probe for probe in log.probes if probe.query == "Builds run on")
    assert fact.words == ("four shared runners",)
    assert all(
        "Builds run on four shared runners" in text for text in texts(log, fact.answers)
    )
    assert not any("on four" in text for text in texts(log, fact.stale))
    again_failed = next(
        probe for probe in log.probes if probe.stale and not probe.words
    )
    told = {event.id: event for event in log.events}
    assert all(
        told[event].body["type"] == "trace_fix"
        for event in again_failed.answers | again_failed.stale
    )
    assert all(told[event].at <= again_failed.at for event in again_failed.answers)
    trust = Counter((event.kind, event.body["source"]) for event in log.events)
    assert set(trust) == {
        ("tool_used", "tool"),
        ("turn_ended", "agent"),
        ("observation", "agent"),
    }


def git(folder: Path, *words: str, at: int = 1_700_000_000) -> None:
    dated = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"{at} +0000")
    person = dict.fromkeys(
        ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "a"
    ) | dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "a@b.example")
    subprocess.run(
        ["git", "-C", str(folder), *words],
        check=True,
        env={**os.environ, **dated, **person},
    )


def test_a_git_repository_is_days_of_edits_and_last_messages(tmp_path: Path) -> None:
    folder = tmp_path / "mill"
    folder.mkdir()
    git(folder, "init", "-q")
    for day in range(7):
        (folder / "wheel.py").write_text(f"{day}")
        (folder / f"part{day}.py").write_text("x")
        git(folder, "add", "-A")
        git(
            folder,
            "commit",
            "-q",
            "-m",
            f"Turn the wheel {day}",
            at=1_700_000_000 + 86_400 * day,
        )
    (log,) = load_logs(str(folder))
    assert log.name == "git/mill"
    assert [event.id for event in log.events] == [
        event.id for event in load_logs(f"git:{folder}")[0].events
    ]
    first, said = log.events[:2]
    assert (first.kind, first.body["paths"]["edited"], first.session) == (
        "tool_used",
        ["part0.py", "wheel.py"],
        "2023-11-14",
    )
    assert (said.kind, said.body["message"], said.at - first.at) == (
        "turn_ended",
        "Turn the wheel 0",
        1,
    )
    assert [(scene.session, sorted(scene.files)) for scene in scenes(log)] == [
        ("2023-11-19", ["wheel.py"]),
        ("2023-11-20", ["wheel.py"]),
    ]


def test_a_set_without_a_public_address_says_where_it_must_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(sources.DATA_VARIABLE, raising=False)
    monkeypatch.setattr(dataset_files, "cache_folder", lambda: tmp_path)
    with pytest.raises(
        StorageError,
        match="no public address.*set THEOREX_DATA to a folder that holds fact_updates/",
    ):
        load_logs("fact_updates")


# The published sets.

Counts = dict[str, float]


def counts_of(name: str, logs: list[EvalLog]) -> Counts:
    """The logs, what they hold and what is asked, under the names of the table."""
    events = sum(len(log.events) for log in logs)
    probes = sum(len(log.probes) for log in logs)
    found: dict[str, Counts] = {
        "locomo": {"turns": events, "questions": probes},
        "qmsum": {"turns": events, "questions": probes},
        "precisionmembench": {"beliefs": events, "cases": probes},
        "fact_updates": {"statements": events, "questions": probes},
    }
    return {"logs": len(logs), **found[name]}


@needs_data
@pytest.mark.parametrize(
    "name", ["locomo", "qmsum", "precisionmembench", "fact_updates"]
)
def test_counts_are_those_published(name: str, logs_of_this_run: SharedLogs) -> None:
    # Other tests of a run read the same logs of thousands of turns.
    with reading_once(logs_of_this_run):
        logs = load_logs(name)
    assert counts_of(name, logs) == DATASETS[name].counts
    ids = [event.id for log in logs for event in log.events]
    assert len(ids) == len(set(ids))
    known = set(ids)
    assert all(
        probe.answers | probe.stale <= known for log in logs for probe in log.probes
    )


@needs_data
def test_a_set_for_research_only_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_files, "_noticed", set())
    with pytest.warns(LicenceNotice, match="locomo: CC BY-NC 4.0.*research use only"):
        (log,) = load_logs("locomo/conv-26")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (again,) = load_logs("locomo/conv-26")
    assert (log.name, log.events[0].id) == (
        "locomo/conv-26",
        derived_event_id("log", "locomo/conv-26", "D1:1"),
    )
    assert [event.id for event in again.events] == [event.id for event in log.events]
    assert all(event.body["source"] == "user" for event in log.events)
    assert texts(log, log.probes[0].answers) == {
        "Caroline: I went to a LGBTQ support group yesterday and it was so powerful."
    }


@needs_data
def test_runs_of_agents_keep_their_trust_and_their_end() -> None:
    (tau,), (failed,), (lessons,) = (
        load_logs(name)
        for name in ("taubench_airline", "whoandwhen", "reflexion_alfworld")
    )
    trust = {(event.kind, event.body["source"]) for event in tau.events}
    assert trust == {
        ("prompt", "user"),
        ("turn_ended", "agent"),
        ("tool_used", "tool"),
        ("outcome", "tool"),
    }
    ends = [event for event in tau.events if event.kind == "outcome"]
    assert (len(ends), sum(event.body["success"] for event in ends)) == (200, 84)
    assert {event.body["ok"] for event in tau.events if event.kind == "tool_used"} == {
        True,
        False,
    }
    assert Counter(
        event.kind
        for event in failed.events
        if event.kind.startswith(("trace", "outcome"))
    ) == {
        "trace_started": 126,
        "trace_ended": 126,
        "outcome": 126,
    }
    assert [len(probe.answers) for probe in failed.probes] == [1] * 126
    told = {event.id: event for event in lessons.events}
    assert all(
        told[event].at < probe.at for probe in lessons.probes for event in probe.answers
    )
    assert len(lessons.probes) == 200


@needs_data
def test_outdated_statements_and_beliefs_are_stale() -> None:
    (facts,) = load_logs("fact_updates/1k")
    probe = facts.probes[0]
    assert (probe.query, probe.words) == (
        "Which company does Sofia Monmon work for?",
        ("Vana Labs",),
    )
    assert all("Vana Labs" in text for text in texts(facts, probe.answers))
    assert not any("Vana Labs" in text for text in texts(facts, probe.stale))
    (beliefs,) = load_logs("precisionmembench")
    chain = next(
        probe
        for probe in beliefs.probes
        if probe.query == "ESLint rules and TSLint configuration"
    )
    assert {"Replaced by ESLint." in text for text in texts(beliefs, chain.stale)} == {
        True,
        False,
    }
    assert not chain.answers & chain.stale


def test_each_set_is_found_by_its_name() -> None:
    public = {name for name in LOGS if not name.startswith("simulated_")}
    assert public <= {*DATASETS}
    assert not {*LOGS} & {*GIVEN}
