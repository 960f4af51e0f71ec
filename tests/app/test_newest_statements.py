"""Of statements about one thing every door gives the newest, and the same of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import DAY, NOW, Run
from mcp import Client

from theorex_lab import Lab
from theorex_lab.app.server import mcp
from theorex_lab.app.server.memory_page.entries import search_page

OLD = "The till service listens on port 8080."
NEW = "The till service listens on port 9090 now, not 8080."
OTHER = "The kiosk listens on port 8081."
QUERY = "which port does the till service listen on"
NOTE = "1 older statement left out; history shows it"


@pytest.fixture
def lab(lab: Lab) -> Iterator[Lab]:
    main = lab.agent("main")
    main.write(OLD, at=NOW - 5 * DAY)
    main.write(NEW, at=NOW - 2 * DAY)
    main.write(OTHER, at=NOW - DAY)
    return lab


def from_mcp(lab: Lab, **arguments: Any) -> dict[str, Any]:
    async def call() -> Any:
        async with Client(mcp.build_server(lab)) as client:
            answer = await client.call_tool("search", arguments)
            return answer.structured_content

    content: dict[str, Any] = asyncio.run(call())
    return content


def texts(hits: Any) -> list[str]:
    return [hit["text"] for hit in hits]


def test_a_search_leaves_the_older_statement_out_and_says_so(lab: Lab) -> None:
    hits = lab.search(QUERY)
    assert [hit.text for hit in hits] == [NEW, OTHER]
    assert hits.notes[-1] == NOTE
    assert [hit.text for hit in lab.agent("main").search(QUERY)] == [NEW, OTHER]


def test_history_brings_it_marked_behind_the_newer_one(lab: Lab) -> None:
    hits = lab.search(QUERY, history=True)
    assert [hit.text for hit in hits] == [NEW, OLD, OTHER]
    assert [hit.replaced_at for hit in hits] == [None, NOW - 2 * DAY, None]
    assert NOTE not in hits.notes
    assert hits[0].score >= hits[1].score


def test_a_setting_turns_it_off(lab: Lab) -> None:
    lab.settings = lab.settings.replaced(search_superseding=False)
    hits = lab.search(QUERY)
    assert {hit.text for hit in hits} == {OLD, NEW, OTHER}
    assert {hit.replaced_at for hit in hits} == {None}


def test_what_is_imported_replaces_nothing_that_was_written(lab: Lab) -> None:
    lab.agent("main").write(
        "The till service listens on port 6666 now.", source="import"
    )
    assert NEW in {hit.text for hit in lab.search(QUERY)}


def test_a_dismissed_statement_replaces_nothing(lab: Lab) -> None:
    newest = lab.search(QUERY)[0]
    lab.dismiss(newest.id)
    assert [hit.text for hit in lab.search(QUERY)] == [OLD, OTHER]


@pytest.mark.parametrize("history", [False, True])
def test_mcp_and_the_page_give_what_python_gives(lab: Lab, history: bool) -> None:
    rows = lab.search(QUERY, agents=["main"], history=history).to_dict()
    answer = from_mcp(lab, query=QUERY, history=history)
    names = ["id", "text", "timestamp", "replaced_at", "score"]
    assert [[hit[name] for name in names] for hit in answer["hits"]] == [
        [row[name] for name in names] for row in rows
    ]
    assert (NOTE in answer["notes"]) is not history
    page = search_page(lab, query=QUERY, history=history)
    for name in ("id", "text", "timestamp", "replaced_at"):
        assert [hit[name] for hit in page["hits"]] == [row[name] for row in rows]


def test_mcp_gives_more_of_short_texts_than_ten_and_in_the_same_order(
    lab: Lab,
) -> None:
    for number in range(40):
        lab.agent("main").write(f"Shelf {number} holds tins.", at=NOW - number)
    in_process = lab.search("which shelf holds tins", agents=["main"], limit=50)
    unasked = from_mcp(lab, query="which shelf holds tins")
    asked = from_mcp(lab, query="which shelf holds tins", limit=12)
    expected = [hit.text for hit in in_process]
    n_unasked = len(unasked["hits"])
    assert 10 < n_unasked <= 50
    assert texts(unasked["hits"]) == expected[:n_unasked]
    assert texts(asked["hits"]) == expected[:12]


def test_mcp_gives_ten_long_texts(lab: Lab) -> None:
    for number in range(12):
        lab.agent("main").write(f"Report {number} on tins: " + "they rust. " * 60)
    assert len(from_mcp(lab, query="report on tins")["hits"]) == 10


def test_mcp_writes_at_a_time(lab: Lab) -> None:
    async def write(**arguments: Any) -> Any:
        async with Client(mcp.build_server(lab)) as client:
            return await client.call_tool("write", arguments)

    text = "The till service listens on port 7070 now."
    asyncio.run(write(text=text, timestamp="2020-01-01T00:00:00Z"))
    (older,) = [hit for hit in lab.search(QUERY, history=True) if hit.text == text]
    assert older.replaced_at is not None
    ahead = asyncio.run(write(text=text, timestamp="2999-01-01T00:00:00Z"))
    assert ahead.is_error


def test_the_command_marks_the_older_statement(run: Run) -> None:
    run("write", OLD, "--now", "2026-03-01T09:00:00Z")
    run("write", NEW, "--now", "2026-03-03T09:00:00Z")
    now = ("--now", "2026-03-04T09:00:00Z")
    answer = run("search", QUERY, "--json", *now).json
    assert (texts(answer["hits"]), answer["notes"]) == ([NEW], [NOTE])
    rows = run("search", QUERY, "--history", "--json", *now).json["hits"]
    assert [row["replaced_at"] for row in rows] == [None, "2026-03-03T09:00:00.000000Z"]
    assert "(until 2026-03-03)" in run("search", QUERY, "--history", *now).out


def test_a_briefing_gives_the_newer_statement_alone(lab: Lab) -> None:
    text = lab.briefing().text
    assert "9090 now" in text
    assert "port 8080 (" not in text
    assert "8081" in text
