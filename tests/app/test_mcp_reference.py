"""The reference memory server's tools, and the own search, as clients meet them."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Meanings
from faults import opened
from mcp import Client, StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from test_mcp import environment

from theorex_lab import Lab, ObservationEntry
from theorex_lab.app.server.mcp import ToolSet, build_server
from theorex_lab.text.line import count_tokens

NINE = [
    "create_entities",
    "create_relations",
    "add_observations",
    "delete_entities",
    "delete_observations",
    "delete_relations",
    "read_graph",
    "search_nodes",
    "open_nodes",
]
OWN = ["status", "search", "write", "boot-inject", "promote"]
ANN = {"name": "Ann", "entityType": "person", "observations": ["Keeps the till"]}
TILL = {"name": "till", "entityType": "program", "observations": ["listens on 8080"]}
WROTE = {"from": "Ann", "to": "till", "relationType": "wrote"}
Calls = Callable[[Client], Awaitable[None]]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with opened(tmp_path / "home") as lab:
        yield lab


def with_client(lab: Lab, calls: Calls, tools: ToolSet = "reference") -> None:
    async def run() -> None:
        async with Client(build_server(lab, tools=tools)) as client:
            await calls(client)

    asyncio.run(run())


async def answer(client: Client, tool: str, arguments: dict[str, Any]) -> Any:
    """The structured result of a call; the text is the same, or its rows, as JSON."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    (block,) = result.content
    structured = result.structured_content
    assert isinstance(structured, dict)
    if "message" in structured:
        assert block.text == structured["message"]
    elif set(structured) == {"entities", "relations"}:
        assert json.loads(block.text) == structured
    else:
        (rows,) = structured.values()
        assert json.loads(block.text) == rows
    return structured


@pytest.mark.parametrize(
    ("tools", "names"),
    [("own", OWN), ("reference", NINE), ("all", OWN + NINE)],
)
def test_an_option_says_which_tools_are_offered(
    lab: Lab, tools: ToolSet, names: list[str]
) -> None:
    listed = asyncio.run(build_server(lab, tools=tools).list_tools())
    assert [tool.name for tool in listed] == names


def test_the_nine_tools_cost_no_more_than_the_own_ones(lab: Lab) -> None:
    def cost(tools: ToolSet) -> int:
        """Tokens of what a model reads of the tools."""
        listed = asyncio.run(build_server(lab, tools=tools).list_tools())
        texts = [
            json.dumps([tool.name, tool.description, tool.input_schema])
            for tool in listed
        ]
        return sum(map(count_tokens, texts))

    assert cost("reference") < cost("own") < 1_500
    assert cost("all") == cost("own") + cost("reference")


def test_a_graph_goes_through_the_nine_tools(lab: Lab) -> None:
    async def calls(client: Client) -> None:
        shelf = {"name": "shelf", "entityType": "thing", "observations": []}
        made = await answer(
            client, "create_entities", {"entities": [ANN, TILL, shelf, ANN]}
        )
        assert made == {"entities": [ANN, TILL, shelf]}
        related = await answer(client, "create_relations", {"relations": [WROTE]})
        assert related == {"relations": [WROTE]}
        again = await answer(client, "create_relations", {"relations": [WROTE]})
        assert again == {"relations": []}
        new = {"entityName": "till", "contents": ["listens on 8080", "rounds half up"]}
        added = await answer(client, "add_observations", {"observations": [new]})
        assert added == {
            "results": [{"entityName": "till", "addedObservations": ["rounds half up"]}]
        }
        till = {**TILL, "observations": ["listens on 8080", "rounds half up"]}
        graph = await answer(client, "read_graph", {})
        assert graph == {"entities": [ANN, till, shelf], "relations": [WROTE]}
        match = await answer(client, "search_nodes", {"query": "HALF UP"})
        assert match == {"entities": [till], "relations": [WROTE]}
        fits = await answer(client, "search_nodes", {"query": "how is it rounded half"})
        assert fits["entities"] == [till]
        part = await answer(client, "open_nodes", {"names": ["shelf", "Ann", "x"]})
        assert part == {"entities": [ANN, shelf], "relations": [WROTE]}
        gone = {"entityName": "till", "observations": ["rounds half up", "never said"]}
        done = await answer(client, "delete_observations", {"deletions": [gone]})
        assert done == {
            "success": True,
            "message": "Observations deleted successfully",
        }
        await answer(client, "delete_relations", {"relations": [WROTE, WROTE]})
        await answer(client, "delete_entities", {"entityNames": ["Ann", "x"]})
        graph = await answer(client, "read_graph", {})
        assert graph == {"entities": [TILL, shelf], "relations": []}

    with_client(lab, calls)
    assert lab.verify().ok


def test_wrong_calls_are_refused_and_write_nothing(lab: Lab) -> None:
    async def calls(client: Client) -> None:
        missing = {"entityName": "nobody", "contents": ["x"]}
        result = await client.call_tool("add_observations", {"observations": [missing]})
        assert result.is_error
        assert "'nobody'" in result.content[0].text
        for tool, arguments in (
            ("create_entities", {}),
            ("create_entities", {"entities": [{"name": "a"}]}),
            ("create_entities", {"entities": "all"}),
            ("create_relations", {"relations": [{"from": "a", "to": "b"}]}),
            ("delete_entities", {"entityNames": [7]}),
            ("open_nodes", {"names": None}),
            ("search_nodes", {"question": "x"}),
            ("read_graph", {"all": True}),
            ("write", {"text": "of the other set"}),
        ):
            with pytest.raises(MCPError):
                await client.call_tool(tool, arguments)
        blank = {**ANN, "name": " "}
        assert (
            await client.call_tool("create_entities", {"entities": [blank]})
        ).is_error

    with_client(lab, calls)
    assert lab.journal.last_seq() == 0


def test_what_is_given_is_noted(lab: Lab) -> None:
    async def calls(client: Client) -> None:
        await answer(client, "create_entities", {"entities": [ANN, TILL]})
        await answer(client, "search_nodes", {"query": "8080"})
        await answer(client, "read_graph", {})

    with_client(lab, calls)
    noted = list(lab.journal.tail(0, kinds=["recalled"]))
    assert [event.body["how"] for event in noted] == [
        "mcp_search_nodes",
        "mcp_read_graph",
    ]
    assert noted[0].body["query"] == "8080"
    assert len(noted[0].body["items"]) == 2


def test_both_sets_serve_one_memory(lab: Lab) -> None:
    async def calls(client: Client) -> None:
        await answer(client, "create_entities", {"entities": [ANN, TILL]})
        found = await client.call_tool("search", {"query": "on which port is the till"})
        texts = [hit["text"] for hit in found.structured_content["hits"]]
        assert "till: listens on 8080" in texts
        briefing = await client.call_tool("boot-inject", {})
        assert "till: listens on 8080" in briefing.structured_content["text"]

    with_client(lab, calls, "all")


def test_an_agent_sees_its_own_graph_alone(lab: Lab) -> None:
    lab.write_all([ObservationEntry("bob is here", "bob")])

    async def write(client: Client) -> None:
        await answer(client, "create_entities", {"entities": [ANN]})

    async def read() -> None:
        async with Client(build_server(lab, agent="bob", tools="reference")) as client:
            assert await answer(client, "read_graph", {}) == {
                "entities": [],
                "relations": [],
            }
            fits = await answer(client, "search_nodes", {"query": "who keeps the till"})
            assert fits["entities"] == []

    with_client(lab, write)
    asyncio.run(read())


def test_the_command_serves_them_over_standard_input_and_output(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    server = StdioServerParameters(
        command=sys.executable,
        args=[
            *("-m", "theorex_lab", "--home", str(home), "mcp", "--stdio"),
            *("--tools", "reference", "--agent", "sage"),
        ],
        env=environment(),
        cwd=tmp_path,
    )

    async def run() -> None:
        async with Client(stdio_client(server)) as client:
            tools = await client.list_tools()
            assert [tool.name for tool in tools.tools] == NINE
            await answer(client, "create_entities", {"entities": [TILL]})

    asyncio.run(run())
    with opened(home) as lab:
        (entity, _) = lab.journal.tail(0, kinds=["graph_entity", "graph_observation"])
        assert entity.agent == "sage"


# The own search


WORDS = "till shelf port jar kettle drawer ledger invoice".split()


def filled(lab: Lab) -> None:
    """Write texts of two agents that resemble each other, and what a design keeps."""
    entries = [
        ObservationEntry(
            f"The {first} of the {second} holds number {number}.",
            "main" if number % 3 else "bob",
            session=f"s{number % 4}",
        )
        for number, first in enumerate(WORDS)
        for second in WORDS
    ]
    lab.write_all(entries)
    lab.design("dropin").memory_tool().create(
        "/memories/a.md",
        "\n\n".join(f"The {word} stands by the door" for word in WORDS),
    )


QUERIES = [
    *WORDS,
    "which drawer holds the ledger",
    "kettle by the door",
    "what holds number 3?",
    "nothing of this kind",
]


@pytest.mark.parametrize("embedder", [None, Meanings()], ids=["words", "meanings"])
def test_the_search_over_the_protocol_is_the_one_in_process(
    tmp_path: Path, embedder: Meanings | None
) -> None:
    """The same ids in the same order with the same scores, whatever is asked."""
    with opened(tmp_path / "home") as filling:
        filled(filling)
    options = {} if embedder is None else {"embedder": embedder}
    with Lab(tmp_path / "home", **options) as lab:
        if embedder is not None:
            lab.searcher.vectors.embed_pending()

        async def calls(client: Client) -> None:
            for query in QUERIES:
                expected = lab.agent("main").search(query)
                result = await client.call_tool("search", {"query": query})
                hits = result.structured_content["hits"]
                # Without a limit the tool gives more where they are short.
                assert [hit["id"] for hit in hits[: len(expected)]] == [
                    hit.id for hit in expected
                ], query
                for more in ({}, {"history": True}, {"kinds": ["observation"]}):
                    for limit in (1, 5, 25, 100):
                        expected = lab.agent("main").search(query, limit=limit, **more)
                        arguments = {"query": query, "limit": limit, **more}
                        result = await client.call_tool("search", arguments)
                        hits = result.structured_content["hits"]
                        assert [hit["id"] for hit in hits] == [
                            hit.id for hit in expected
                        ], arguments
                        assert [hit["text"] for hit in hits] == [
                            hit.text for hit in expected
                        ]

        with_client(lab, calls, "own")
