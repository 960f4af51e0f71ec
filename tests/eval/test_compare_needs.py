"""A comparison says first what systems cover of the needs that readers wrote down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from test_needs import LOG, ROWS, write_project  # noqa: F401  # a fixture

from theorex_lab.app.cli import theorex
from theorex_lab.eval import Comparison, compare, load_session_needs, score_needs
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.datasets import logs as eval_logs
from theorex_lab.eval.datasets.needs_rows import LogNeeds, ProjectNeeds
from theorex_lab.eval.replay.baselines import text_of
from theorex_lab.eval.replay.design_systems import ALL_DESIGNS, PUBLISHED
from theorex_lab.eval.replay.memory_contexts import readable_lines
from theorex_lab.eval.replay.needs import NEEDS_COLUMNS
from theorex_lab.eval.replay.needs_systems import needs_systems
from theorex_lab.journal.event import Event
from theorex_lab.memory.briefing.token_budget import items_within
from theorex_lab.memory.contract import Item

pytestmark = pytest.mark.usefixtures("shared_logs")

assert LOG
assert ROWS


@pytest.fixture
def project(write_project: Callable[..., Path]) -> ProjectNeeds:  # noqa: F811
    folder = write_project()
    [read] = load_session_needs(path=str(folder / "session_needs"))
    return read


@pytest.fixture
def log(project: ProjectNeeds) -> EvalLog:
    return replace(project.log, needs=LogNeeds(project.sessions, project.touched_files))


def test_a_comparison_has_the_figures_of_eval_needs(
    log: EvalLog, project: ProjectNeeds, tmp_path: Path
) -> None:
    compared = compare([log], ["nothing"], budgets=(150,))
    assert list(dict.fromkeys(row.system for row in compared.needs)) == [
        *needs_systems()
    ]
    result = score_needs([project]).result()["projects"][project.name]["systems"]
    for row in compared.needs:
        figure, budget = NEEDS_COLUMNS[row.column]
        assert result[row.system][str(budget)][figure] == {
            "value": row.value,
            "ci_low": row.ci_low,
            "ci_high": row.ci_high,
            "n": row.n,
        }
    values = {
        (row.system, row.column): row.value
        for row in compared.needs
        if row.system in ("nothing", "best_lines")
    }
    assert values["nothing", "start@500"] == 0.0
    assert values["best_lines", "all@500+500"] == 1.0
    compared.save(tmp_path / "kept.json")
    kept = Comparison.load(tmp_path / "kept.json")
    assert kept.needs == compared.needs
    assert kept.of(log.name).needs == compared.needs
    assert kept.of("another").needs == ()
    assert "port 8123" not in (tmp_path / "kept.json").read_text(), "quotes stay out"


def test_each_published_design_is_a_system_and_so_are_all_together() -> None:
    assert {*PUBLISHED, ALL_DESIGNS, "briefing"} <= set(needs_systems())


def test_a_design_alone_gives_what_it_made_of_the_sessions(
    project: ProjectNeeds,
) -> None:
    score = score_needs([project], ["facts", "causal"], budgets=(500,))
    texts = {
        row.system: row.context.start for row in score.results if row.session == "s3"
    }
    assert "Never commit by yourself" in texts["facts"]
    assert texts["causal"] == ""
    covered = score.columns("facts", project=project.name)
    assert covered["start@500"].value > 0
    assert "start@150" not in covered, "that budget was not scored"


def test_a_log_without_needs_has_no_such_figures(project: ProjectNeeds) -> None:
    compared = compare([project.log], ["nothing"], budgets=(150,))
    assert compared.needs == ()
    assert compared.to_dict()["needs"] == {}
    assert compared.needs_frame.empty


def test_the_command_shows_needs_first(
    log: EvalLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(name: str) -> list[EvalLog]:
        return [log] if name == log.name else []

    monkeypatch.setattr(eval_logs, "load_logs", load)
    words = f"compare --log {log.name} --design nothing --budgets 150".split()
    shown = CliRunner().invoke(theorex, words)
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    assert lines[0] == f"{log.name}: recall of what the sessions needed to know"
    assert lines[1].split() == [*NEEDS_COLUMNS]
    systems = [line.split()[0] for line in lines[3 : 3 + len(needs_systems())]]
    assert systems == [*needs_systems()]
    assert shown.stdout.index("start@150") < shown.stdout.index("for diagnosis")


def test_a_log_of_coding_sessions_brings_its_needs(
    write_project: Callable[..., Path],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = write_project()
    monkeypatch.setenv("THEOREX_DATA", str(folder))
    path: Any = folder / "coding_sessions" / "shop.jsonl.gz"
    read = eval_logs._log_with_needs("coding_sessions", path)
    assert read.needs is not None
    assert [row.session for row in read.needs.sessions] == ["s3", "s4"]
    monkeypatch.delenv("THEOREX_DATA")
    assert eval_logs._log_with_needs("coding_sessions", path).needs is None


class Parrot:
    """A memory that gives back all that it observed, and counts what it is asked."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def observe(self, events: Sequence[Event]) -> None:
        self.events += events

    def consolidate(self, now: int) -> None:
        assert all(event.at <= now for event in self.events), (
            "no event is in the future"
        )

    def inject(self, now: int, tokens: int) -> list[Item]:
        assert all(event.at < now for event in self.events)
        items = [Item(text_of(event), (event.id,)) for event in self.events]
        return list(items_within(reversed(items), tokens, 0))

    def retrieve(self, query: str, now: int, tokens: int) -> list[Item]:
        return self.inject(now, tokens) if query else []


class Unopened(Parrot):
    """A memory that cannot be opened."""

    def __init__(self) -> None:
        raise ValueError("no such store")


def test_a_memory_of_ones_own_is_scored_by_needs_too(log: EvalLog) -> None:
    compared = compare([log], {"parrot": Parrot, "unopened": Unopened}, budgets=(150,))
    values = {(row.system, row.column): row.value for row in compared.needs}
    assert 0 < values["parrot", "all@500+500"] <= values["best_lines", "all@500+500"]
    assert not [row for row in compared.needs if row.system == "unopened"]
    [problem] = compared.trials[1].problems
    assert "no such store" in problem


def test_needs_of_a_memory_are_kept_with_its_trial(
    log: EvalLog, tmp_path: Path
) -> None:
    first = compare([log], ["fts5"], budgets=(150,), out=tmp_path)
    assert {row.system for row in first.needs} == {*needs_systems(), "fts5"}
    again = compare([log], ["fts5"], budgets=(150,), out=tmp_path)
    assert again.needs == first.needs
    assert again.n_taken_over == len(needs_systems()) + 2


def test_a_long_message_is_read_on_lines_of_their_own() -> None:
    message = "The port is 8080. " * 40 + "w" * 300
    lines = list(readable_lines(message))
    assert " ".join(lines) == message
    assert [len(line) <= 240 for line in lines] == [True] * (len(lines) - 1) + [False]
