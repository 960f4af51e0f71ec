"""Search over the Model Context Protocol beside its two parts: the search itself, and an empty tool of the SDK's."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx2
import uvicorn
from anyio.from_thread import start_blocking_portal
from conftest import HomeOf
from corpus import NOW, texts
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server import MCPServer
from measure import compare
from pytest_benchmark.fixture import BenchmarkFixture
from test_bench_search import GivenVectors

from theorex_lab import FixedClock, Lab
from theorex_lab.serve.connections import server_settings
from theorex_lab.serve.mcp import http_application

ITEMS = 100_000
TOKEN = "a-token-for-tests-of-43-characters-in-length"


@contextmanager
def served(settings: uvicorn.Config) -> Iterator[str]:
    """The address of an application that a thread of this process serves."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(settings)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.005)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            thread.join()


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


def empty_server() -> Any:
    """The SDK's own server, answering in the same way, with one tool that does nothing."""
    server = MCPServer("empty", log_level="WARNING")

    @server.tool()
    def nothing(query: str) -> str:
        return query

    return server.streamable_http_app(json_response=True, stateless_http=True)


def test_search_over_the_protocol(benchmark: BenchmarkFixture, home_of: HomeOf) -> None:
    lab = Lab(home_of(ITEMS), clock=FixedClock(NOW), embedder=GivenVectors())
    lab.theorex.scan()
    lab.searcher.embed_pending()
    questions = itertools.cycle(texts(50, length=3, seed=5))
    with (
        served(server_settings(http_application(lab, TOKEN))) as ours,
        served(uvicorn.Config(empty_server(), log_level="warning", lifespan="on", ws="none")) as theirs,
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(connected(ours)) as memory,
        portal.wrap_async_context_manager(connected(theirs)) as empty,
    ):

        def over_the_protocol() -> Any:
            return portal.call(memory.call_tool, "search", {"query": next(questions)})

        def parts() -> Any:
            question = next(questions)
            portal.call(empty.call_tool, "nothing", {"query": question})
            return lab.search(question, agents=["main"], limit=10)

        assert len(over_the_protocol().structured_content["hits"]) == len(parts()) == 10
        compare(
            benchmark,
            f"search over MCP, {ITEMS:,} observations",
            over_the_protocol,
            parts,
            peer_name="the search + an empty tool of the SDK's",
            at_most=1.5,
            rounds=9,
            calls=20,
        )
    lab.close()
