"""What a memory mixes in from other projects, where several logs are replayed as one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from conftest import DAY, NOW, Run

from theorex_lab import Event, InvalidInput, Item, new_event
from theorex_lab.eval import EvalLog, EvalQuery, SessionLine, compare, joined_log
from theorex_lab.eval.replay.trials import score_probe

PORTS = {"shop": "8080", "yard": "9090"}


def log_of(name: str, n_days: int = 8) -> EvalLog:
    """Return a project in which one port is said on the first day, and asked later."""
    events = []
    lines = []
    for day in range(n_days):
        at = NOW + day * DAY
        text = f"The service listens on port {PORTS[name]}" if not day else f"day {day}"
        body = {"text": f"{text} in the {name}", "source": "user"}
        event_id = f"{name}-{day}"
        session = f"s{day}"
        event = new_event(
            "prompt", body, agent="main", session=session, at=at, event_id=event_id
        )
        events.append(event)
        lines.append(SessionLine(at, session, prompt=body["text"]))
    question = EvalQuery(
        NOW + n_days * DAY,
        "On which port does the service listen?",
        frozenset({f"{name}-0"}),
    )
    return EvalLog(name, events, (question,), lines)


@pytest.fixture
def both() -> EvalLog:
    return joined_log([log_of("shop"), log_of("yard")])


class Forgetful:
    """Gives all that was said, of whatever project."""

    def __init__(self) -> None:
        self.items: list[Item] = []

    def observe(self, events: Sequence[Event]) -> None:
        for event in events:
            self.items.append(Item(event.body["text"], (event.id,)))

    def consolidate(self, now: int) -> None:
        pass

    def inject(self, now: int, tokens: int) -> Sequence[Item]:
        return self.items

    def retrieve(self, query: str, now: int, tokens: int) -> Sequence[Item]:
        return self.items


class Entering(Forgetful):
    """Gives what was said in the project that it was told."""

    def __init__(self) -> None:
        super().__init__()
        self.entered: list[str] = []

    def enter(self, project: str) -> None:
        self.entered.append(project)

    def retrieve(self, query: str, now: int, tokens: int) -> Sequence[Item]:
        return [
            item for item in self.items if item.events[0].startswith(self.entered[-1])
        ]

    def inject(self, now: int, tokens: int) -> Sequence[Item]:
        return self.retrieve("", now, tokens)


def test_logs_become_projects_of_one(both: EvalLog) -> None:
    assert [event.at for event in both.events] == sorted(
        event.at for event in both.events
    )
    assert {event.body["project"] for event in both.events} == {"shop", "yard"}
    assert {probe.project for probe in both.probes} == {"shop", "yard"}
    sessions = {event.session for event in both.events}
    assert sessions == {line.session for line in both.lines}
    assert "shop:s0" in sessions
    assert len(both.events) == 16


def test_the_same_log_twice_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'shop' twice"):
        joined_log([log_of("shop"), log_of("shop")])
    with pytest.raises(InvalidInput, match="got 1 logs"):
        joined_log([log_of("shop")])
    other = replace(log_of("shop"), name="other")
    with pytest.raises(InvalidInput, match="'shop-0' in shop and in other"):
        joined_log([log_of("shop"), other])


@pytest.mark.parametrize("name", ["locomo/conv-26", "x" * 90, "a b", "Ä"])
def test_any_name_of_a_log_becomes_a_project(name: str) -> None:
    log = replace(log_of("shop"), name=name)
    both = joined_log([log, log_of("yard")])
    projects = {event.body["project"] for event in both.events}
    assert len(projects) == 2
    assert all(len(project) <= 64 and project.isascii() for project in projects)


def test_every_session_of_long_ids_can_be_maintained() -> None:
    log = log_of("shop")
    events = [event._replace(session="s" * 128) for event in log.events]
    both = joined_log([replace(log, events=events), log_of("yard")])
    compared = compare([both], ["sessions"], budgets=(500,), progress=False)
    assert compared.trials[0].problems == {}


def test_what_is_mixed_up_is_a_score(both: EvalLog) -> None:
    compared = compare(
        [both],
        {"all": Forgetful, "told": Entering},
        budgets=(2_000,),
        progress=False,
    )
    bleed = {
        design: compared.value(design, "retrieve", 2_000, "bleed").value
        for design in ("all", "told")
    }
    assert bleed["told"] == 0
    assert bleed["all"] > 0.4
    difference = compared.difference(
        "told", "all", mode="retrieve", budget=2_000, score="bleed"
    )
    assert difference.value < 0
    assert difference.verdict in ("better", "not enough evidence")
    assert compared.value("all", "inject", 2_000, "bleed").value > 0.4


@pytest.mark.parametrize("name", ["sessions", "fts5", "bm25"])
def test_a_memory_that_knows_the_project_gives_nothing_of_others(
    name: str, both: EvalLog
) -> None:
    compared = compare([both], [name], budgets=(500,), progress=False)
    bleed = compared.value(name, "retrieve", 500, "bleed").value
    recall = compared.value(name, "retrieve", 500, "evidence_recall").value
    assert compared.trials[0].problems == {}
    assert recall == 1, "both ports are found, each in its project"
    # A baseline is not told the project, and shows what that costs.
    assert (bleed > 0) == (name == "bm25")


def test_a_log_of_one_project_has_no_such_score() -> None:
    compared = compare([log_of("shop")], ["bm25"], budgets=(500,), progress=False)
    assert not [cell for cell in compared.cells if cell[3] == "bleed"]


def test_precision_counts_items_that_rest_on_an_answer() -> None:
    probe = EvalQuery(0, "where?", frozenset({"a", "b"}))
    items = [Item("x", ("a", "c")), Item("y", ("b",)), Item("z", ("c",)), Item("w")]
    assert score_probe(probe, items)["precision"] == 0.5
    assert math.isnan(score_probe(probe, [])["precision"])
    assert math.isnan(score_probe(EvalQuery(0, "why?"), items)["precision"])


@pytest.mark.usefixtures("shared_logs")
def test_the_command_replays_all_logs_as_one(run: Run) -> None:
    words = ["compare", "--log", "simulated_team", "--log", "simulated_sessions"]
    words += ["--design", "nothing", "--budgets", "60", "--together"]
    ended = run(*words, "--json")
    assert ended.code == 0, ended.err
    assert ended.json["logs"] == ["together"]
    ended = run(*words[:3], *words[5:])
    assert ended.code == 1
    assert "two or more" in ended.err
