"""The demos: tools with their traps, agents that know nothing but their prompt, and
what a dream in between is worth; and the adapter of any agent loop.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from tests.conftest import NOW, Meanings
from theorex_lab import FixedClock, InvalidInput, Lab
from theorex_lab.designs.dreams.agent_adapter import MEMORY_MARK, turn_of
from theorex_lab.designs.dreams.demos import tools
from theorex_lab.designs.dreams.demos.run import DemoReport, run_demo
from theorex_lab.designs.dreams.demos.tools import (
    DATA,
    issue_refund,
    paginated_api_fetch,
    python_calc,
    sales_db_query,
    stripe_charges_api,
)
from theorex_lab.dispatch import llm
from theorex_lab.dispatch.llm import ModelClient


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=FixedClock(NOW), embedder=Meanings()) as opened:
        yield opened


def shown(name: str, **options: Any) -> DemoReport:
    return run_demo(name, embedder=Meanings(), **options)


@pytest.mark.parametrize("name", ["sql", "stripe"])
def test_with_its_memory_an_agent_makes_none_of_the_errors_again(name: str) -> None:
    report = shown(name)
    assert report.without.tool_errors >= 3
    assert (report.with_memory.tool_errors, report.with_memory.success) == (0, True)
    assert report.with_memory.steps <= report.without.steps / 2
    assert report.with_memory.tokens < report.without.tokens
    assert report.document["without"]["steps"] in (6, 11)
    assert "tool errors" in str(report)
    assert "The document's figures:" in str(report)


def test_the_first_day_of_the_reconciliation_fails_and_the_second_finds_all() -> None:
    report = shown("beeai_distillation.py")
    assert (report.without.success, report.with_memory.success) == (False, True)
    assert "starting_after" in report.memory
    assert "Stripe-Cursor" in report.memory
    assert "succeeded 0 of 1 times" in report.memory
    assert any("$34,949.00 does not follow" in note for note in report.notes)


def shuffled(text: str) -> str:
    words = text.split()
    random.Random(1).shuffle(words)
    return " ".join(words)


def empty(_: str) -> str:
    return ""


def nonsense(_: str) -> str:
    return "1. help() → Use more coffee with a Cursor\n" * 9


@pytest.mark.parametrize("change", [empty, shuffled, nonsense])
def test_an_agent_whose_memory_is_nonsense_does_as_badly_as_without(
    change: Callable[[str], str],
) -> None:
    reconciled = shown("stripe", change_memory=change)
    assert not reconciled.with_memory.success
    assert reconciled.with_memory.tool_errors == reconciled.without.tool_errors
    asked = shown("sql", change_memory=change)
    assert asked.with_memory.tool_errors == asked.without.tool_errors
    assert asked.with_memory.steps == asked.without.steps
    assert not shown("isa", change_memory=change).with_memory.success


def test_a_migration_adds_what_the_new_rules_ask_for() -> None:
    report = shown("isa_lifecycle")
    assert (report.without.success, report.with_memory.success) == (False, True)
    assert "[risk_level: high]" in report.memory
    stays = [note for note in report.notes if "stays at 1.0" in note]
    assert len(stays) == 1
    assert report.notes[-1].startswith("migration: 1 strategies migrated, 1 enriched")

    def without_risk(text: str) -> str:
        return text.replace("risk_level: high", "")

    assert not shown("isa", change_memory=without_risk).with_memory.success


def test_another_demo_is_refused() -> None:
    with pytest.raises(InvalidInput, match="allowed are sql, stripe, isa"):
        run_demo("chess")


def test_the_sales_are_the_documents_and_are_only_read() -> None:
    everything = sales_db_query("SELECT * FROM ventas_q3").text
    assert len(everything.splitlines()) == 2 + 18
    wrong = sales_db_query("SELECT revenue FROM ventas_q3")
    assert wrong.text == "SQL Error: no such column: revenue"
    none = sales_db_query("SELECT * FROM ventas_q3 WHERE id > 99")
    assert none.text == "Query returned 0 rows."
    many = sales_db_query("SELECT a.id FROM ventas_q3 a, ventas_q3 b").text
    assert many.count("\n") == 2 + 50


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM ventas_q3",
        "DROP TABLE ventas_q3",
        "ATTACH 'x.db' AS x",
        "PRAGMA writable_schema = 1",
        "SELECT 1; SELECT 2",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
        " SELECT count(*) FROM n",
        "SELECT zeroblob(1 << 30)",
        "\ud800",
    ],
)
def test_other_statements_are_refused(statement: str) -> None:
    assert not sales_db_query(statement).ok


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import pandas", "No module named 'pandas'"),
        ("import socket; socket.create_connection(('127.0.0.1', 1))", "out of reach"),
        ("import subprocess; subprocess.run(['id'])", "out of reach"),
        ("import os; os.system('id')", "out of reach"),
        ("print(open('/etc/passwd').read())", "out of reach"),
        ("open('x', 'w')", "out of reach"),
        ("import ctypes", "out of reach"),
        ("1 / 0", "ZeroDivisionError"),
        ("x = 'a' * (1 << 40)", "MemoryError"),
    ],
)
def test_the_calculator_reaches_nothing_but_the_standard_library(
    code: str, message: str
) -> None:
    answer = python_calc(code)
    assert not answer.ok
    assert message in answer.text


def test_the_calculator_calculates_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import statistics, json\nprint(statistics.mean([1, 2]), 'é')"
    assert python_calc(code) == ("1.5 é", True)
    monkeypatch.setattr(tools, "CALC_SECONDS", 1)
    assert not python_calc("while True: pass").ok


def test_the_charges_are_the_documents_and_a_header_alone_names_pages() -> None:
    charges: list[dict[str, Any]] = []
    url = "/v1/charges/"
    for count, has_more in ((5, True), (5, True), (4, False)):
        reply = json.loads(stripe_charges_api(url).text)
        body = reply["body"]
        assert sorted(body) == ["data", "has_more", "object", "url"]
        assert (len(body["data"]), body["has_more"]) == (count, has_more)
        charges += body["data"]
        url = f"/v1/charges?starting_after={reply['headers'].get('Stripe-Cursor')}"
    assert sum(charge["amount"] for charge in charges) == 33_949_00
    assert sum(charge["amount"] for charge in charges[:5]) == 8_871_00
    disputed = [charge["amount"] for charge in charges if charge["disputed"]]
    assert (len(disputed), sum(disputed)) == (2, 2_898_00)
    assert sum(charge["refunded"] for charge in charges) == 1
    for wrong in DATA["stripe"]["refused"]:
        text = stripe_charges_api(f"/v1/charges?{wrong}=2").text
        assert "Use 'starting_after'" in text
    first = stripe_charges_api("/v1/charges")
    for silent in ("cursor=cur_page2_8f3a", "limit=100", "page"):
        assert stripe_charges_api(f"/v1/charges?{silent}") == first
    for wrong in ("/v1/charges?starting_after=x", "/v2", "http://[", ""):
        assert not stripe_charges_api(wrong).ok
    for wrong in ("", "[1]", "7", '{"charge": "ch_01"}'):
        assert not issue_refund(wrong).ok


def test_the_employees_stand_on_three_pages() -> None:
    n_employees = 0
    for token, count in (("", 5), ("page_alpha", 5), ("page_beta", 3)):
        reply = json.loads(paginated_api_fetch(f"/api/employees?token={token}").text)
        assert len(reply["body"]["employees"]) == count
        n_employees += count
    assert n_employees == 13
    assert "X-Next-Page" not in reply["headers"]
    assert not paginated_api_fetch("/api/employees?page=2").ok


def serve(monkeypatch: pytest.MonkeyPatch, answers: list[object]) -> list[Any]:
    """A model's endpoint that gives these answers in turn, then the last again."""
    asked: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(json.loads(request.content)["messages"])
        value = answers[min(len(asked), len(answers)) - 1]
        text = value if isinstance(value, str) else json.dumps(value)
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        choices = [{"message": {"content": text}}]
        return httpx.Response(200, json={"choices": choices, "usage": usage})

    client = ModelClient(
        "http://localhost:1", "m", transport=httpx.MockTransport(answer)
    )
    monkeypatch.setattr(llm, "client_for", lambda *_: client)
    return asked


def test_a_model_plays_and_what_is_no_call_is_a_step_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    look = {"thought": "all", "tool": "stripe_charges_api", "input": "/v1/charges"}
    answers = [
        "Sure! Let me look.",
        look,
        {"thought": "", "tool": "rm", "input": "-rf"},
        {**look, "tool": "answer", "input": "$8,871.00"},
    ]
    asked = serve(monkeypatch, answers)
    report = shown("stripe", model="m")
    metrics = report.without
    assert (metrics.steps, metrics.tool_calls, metrics.tool_errors) == (4, 1, 0)
    assert not metrics.success
    assert "Stripe-Cursor" in asked[2][-1]["content"]
    assert "one JSON object of thought, tool and input" in asked[1][-1]["content"]
    assert not any("script" in note for note in report.notes)


class Iteration:
    """As a framework has it."""

    def __init__(self, thought: str, tool: str, argument: str, output: str) -> None:
        self.state = SimpleNamespace(
            thought=thought, tool_name=tool, tool_input=argument, tool_output=output
        )


def test_any_agent_loop_is_captured_and_gets_its_memory(lab: Lab) -> None:
    adapter = lab.dreams.adapter(domain="shop")
    iterations = [
        Iteration("look it up", "get_charge", "ch_1", "12 dollars"),
        Iteration("pay it back", "refund", "ch_1", "done"),
        {"thought": "that is all"},
    ]
    goal = "refund the charge of Ann"
    assert adapter.enhance(goal) == goal
    captured = adapter.capture(goal, iterations, answer="refunded")
    trajectory = lab.dreams.trajectory(captured)
    assert [action.reasoning for action in trajectory.actions] == [
        "look it up",
        "pay it back",
    ]
    assert trajectory.actions[1].action == 'refund("ch_1")'
    assert (trajectory.domain, trajectory.outcome) == ("shop", "success")
    lab.dreams.dream()
    prompt = adapter.enhance(goal)
    assert prompt.startswith(f"{MEMORY_MARK}\nIMPORTANT")
    assert prompt.endswith(f"\n\n{goal}")
    assert 'refund("ch_1")' in prompt
    with pytest.raises(InvalidInput, match="allowed is a mapping or an object"):
        turn_of("look it up")
