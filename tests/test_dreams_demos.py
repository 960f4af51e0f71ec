"""The demos: tools with their traps, agents that know nothing but their prompt, and what a dream in between is worth."""

from __future__ import annotations

import json
import random
from typing import Any

import httpx
import pytest

from tests.conftest import Meanings
from theorex_lab.config import Settings
from theorex_lab.dispatch.llm import ModelClient
from theorex_lab.errors import ConfigError, InvalidInput, ModelUnavailable
from theorex_lab.experiments.demos import run, run_demo
from theorex_lab.experiments.demos.tools import DATA, issue_refund, python_calc, sales_db_query, stripe_charges_api


def shown(name: str, **how: Any) -> dict[str, Any]:
    return run_demo(name, embedder=Meanings(), **how).result()


@pytest.mark.parametrize("name", ["sql", "stripe"])
def test_with_its_memory_an_agent_makes_none_of_the_errors_again(name: str) -> None:
    found = shown(name)
    without, given = found["without"], found["with"]
    assert without["tool_errors"] >= 3
    assert (given["tool_errors"], given["success"]) == (0, True)
    assert given["steps"] <= without["steps"] / 2
    assert given["tokens"] < without["tokens"]
    assert found["change"]["tool_errors"] == -1
    assert found["document"]["without"]["steps"] in (6, 11)


def test_the_first_day_of_the_reconciliation_fails_and_the_second_finds_all_charges() -> None:
    found = shown("stripe")
    assert (found["without"]["success"], found["with"]["success"]) == (False, True)
    assert "starting_after" in found["memory"]
    assert "Stripe-Cursor" in found["memory"]
    assert "succeeded 0 of 1 times" in found["memory"]
    assert any("$34,949.00 does not follow" in note for note in found["notes"])


def shuffled(text: str) -> str:
    words = text.split()
    random.Random(1).shuffle(words)
    return " ".join(words)


@pytest.mark.parametrize("given", [lambda _: "", shuffled, lambda _: "1. help() → Use more coffee with a Cursor\n" * 9])
def test_an_agent_whose_memory_is_empty_or_nonsense_does_as_badly_as_without(given: Any) -> None:
    reconciled, asked, refunded = (shown(name, given=given) for name in ("stripe", "sql", "isa"))
    assert reconciled["with"]["success"] is False
    assert reconciled["with"]["tool_errors"] == reconciled["without"]["tool_errors"]
    assert asked["with"]["tool_errors"] == asked["without"]["tool_errors"]
    assert asked["with"]["steps"] == asked["without"]["steps"]
    assert refunded["with"]["success"] is False


def test_a_migration_that_fails_is_tried_again_and_adds_what_the_new_rules_ask_for() -> None:
    found = shown("isa")
    assert (found["without"]["success"], found["with"]["success"]) == (False, True)
    assert "[risk_level: high]" in found["memory"]
    stays = next(place for place, note in enumerate(found["notes"]) if "stays at 1.0" in note)
    assert found["notes"][stays + 1 :][-1] in ("migration: 1 strategies", "migration: 2 strategies")
    without_it = shown("isa", given=lambda text: text.replace("risk_level: high", ""))
    assert without_it["with"]["success"] is False


def test_a_report_is_a_table_a_frame_and_json() -> None:
    found = run_demo("sql", embedder=Meanings())
    assert found.frame.set_index("measure").loc["steps"].tolist() == [7, 3, -0.571, 6, 3, -0.5]
    assert "tool_errors" in str(found)
    assert json.loads(json.dumps(found.result()))["demo"] == "sql"
    with pytest.raises(InvalidInput, match="allowed are sql, stripe, isa"):
        run_demo("chess")


def test_the_sales_are_the_documents_and_are_only_read() -> None:
    assert len(sales_db_query("SELECT * FROM ventas_q3").text.splitlines()) == 2 + 18
    assert sales_db_query("SELECT revenue FROM ventas_q3").text == "SQL Error: no such column: revenue"
    assert sales_db_query("SELECT * FROM ventas_q3 WHERE id > 99").text == "Query returned 0 rows."
    many = sales_db_query("SELECT a.id FROM ventas_q3 a, ventas_q3 b").text
    assert many.count("\n") == 2 + 50
    for statement in (
        "DELETE FROM ventas_q3", "DROP TABLE ventas_q3", "ATTACH 'x.db' AS x", "PRAGMA writable_schema = 1", "SELECT 1; SELECT 2",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n", "SELECT zeroblob(1 << 30)", "\ud800",
    ):  # fmt: skip
        assert sales_db_query(statement).ok is False
    assert sales_db_query("SELECT count(*) FROM ventas_q3").text.endswith("18")


@pytest.mark.parametrize(
    ("code", "told"),
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
def test_the_calculator_reaches_nothing_but_the_standard_library(code: str, told: str) -> None:
    found = python_calc(code)
    assert (found.ok, told in found.text) == (False, True)


def test_the_calculator_calculates_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import math, statistics, json, csv, datetime\nprint(statistics.mean([1, 2]), 'é')"
    assert python_calc(code) == ("1.5 é", True)
    monkeypatch.setattr("theorex_lab.experiments.demos.tools._SECONDS", 1)
    assert "did not end" in python_calc("while True: pass").text or not python_calc("while True: pass").ok


def test_the_charges_are_the_documents_and_pages_are_named_in_a_header_alone() -> None:
    charges, url = [], "/v1/charges/"
    for count, more in ((5, True), (5, True), (4, False)):
        reply = json.loads(stripe_charges_api(url).text)
        body = reply["body"]
        assert (reply["status"], len(body["data"]), body["has_more"], sorted(body)) == (
            200,
            count,
            more,
            ["data", "has_more", "object", "url"],
        )
        charges += body["data"]
        url = f"/v1/charges?starting_after={reply['headers'].get('Stripe-Cursor')}"
    assert sum(charge["amount"] for charge in charges) == 33_949_00
    assert sum(charge["amount"] for charge in charges[:5]) == 8_871_00
    disputed = [charge["amount"] for charge in charges if charge["disputed"]]
    assert (len(disputed), sum(disputed), sum(charge["refunded"] for charge in charges)) == (2, 2_898_00, 1)
    for wrong in DATA["stripe"]["refused"]:
        assert "Use 'starting_after'" in stripe_charges_api(f"/v1/charges?{wrong}=2").text
    first = stripe_charges_api("/v1/charges")
    assert all(
        stripe_charges_api(f"/v1/charges?{silent}") == first
        for silent in ("cursor=cur_page2_8f3a", "limit=100", "page")
    )
    assert not any(stripe_charges_api(wrong).ok for wrong in ("/v1/charges?starting_after=x", "/v2", "http://[", ""))
    assert not any(issue_refund(wrong).ok for wrong in ("", "[1]", "7", '{"charge": "ch_01"}'))


def scripted_server(monkeypatch: pytest.MonkeyPatch, answers: list[object]) -> list[list[dict[str, str]]]:
    """A model's endpoint that gives these answers in turn, then the last again; what it was asked."""
    asked: list[list[dict[str, str]]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(json.loads(request.content)["messages"])
        said = answers[min(len(asked), len(answers)) - 1]
        text = said if isinstance(said, str) else json.dumps(said)
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        return httpx.Response(200, json={"choices": [{"message": {"content": text}}], "usage": usage})

    client = ModelClient("http://localhost:1", "m", transport=httpx.MockTransport(answer))
    monkeypatch.setattr(run, "client_for", lambda *_: client)
    return asked


def test_a_model_plays_the_agent_and_what_is_no_call_is_a_step_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    look = {"thought": "all of it", "tool": "stripe_charges_api", "input": "/v1/charges"}
    answers = [
        "Sure! Let me look.",
        look,
        {"thought": "", "tool": "rm", "input": "-rf"},
        {**look, "tool": "answer", "input": "$8,871.00"},
    ]
    asked = scripted_server(monkeypatch, answers)
    found = shown("stripe", model="m")
    figures = {name: found["without"][name] for name in ("steps", "tool_calls", "tool_errors", "success")}
    assert figures == {"steps": 4, "tool_calls": 1, "tool_errors": 0, "success": False}
    assert found["without"]["tokens"] > 330  # those that the endpoint told, and an estimate of the answer that was none
    assert "Stripe-Cursor" in asked[2][-1]["content"]
    assert "one JSON object of thought, tool and input" in asked[1][-1]["content"]
    assert not any("script" in note for note in found["notes"])
    assert "Sure!" not in found["memory"]


def test_a_model_that_never_answers_ends_after_eleven_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted_server(monkeypatch, [{"thought": "", "tool": "python_calc", "input": "SELECT 1"}])
    monkeypatch.setitem(run.TOOLS, "python_calc", sales_db_query)
    found = shown("sql", model="m")
    assert found["without"] == {"steps": 11, "tool_calls": 11, "tool_errors": 0, "tokens": 1210, "success": False}


def test_a_model_without_an_address_is_an_error() -> None:
    with pytest.raises(ModelUnavailable, match="has no url"):
        run_demo("sql", model="ministral-3b", settings=Settings())


def test_the_waking_model_of_the_settings_plays_where_none_is_named() -> None:
    settings = Settings(designs={"dreams": {"wakingModel": "nobody-9b"}})
    with pytest.raises(ConfigError, match="nobody-9b"):
        run_demo("sql", embedder=Meanings(), settings=settings)
