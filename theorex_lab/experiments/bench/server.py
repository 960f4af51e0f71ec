"""The processor time of the MCP server itself, whatever its client takes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil

from theorex_lab.clock import FixedClock
from theorex_lab.errors import TheorexError
from theorex_lab.experiments.bench import measure
from theorex_lab.experiments.bench.made import NOW, as_installed, lay_home, texts
from theorex_lab.experiments.bench.measure import Amounts, Ground, Round
from theorex_lab.lab import Lab

_CALLS = 200
_TICK_SECONDS = 0.01  # in which the machine counts the time of other processes
_EMPTY = """
import json, socket
import uvicorn
from mcp.server import MCPServer
server = MCPServer("empty", log_level="WARNING")
@server.tool()
def nothing(query: str) -> str:
    return query
application = server.streamable_http_app(json_response=True, stateless_http=True)
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(json.dumps({"url": f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"}), flush=True)
    settings = uvicorn.Config(application, log_level="warning", lifespan="on", ws="none", access_log=False)
    uvicorn.Server(settings).run(sockets=[listener])
"""


class _Served:
    """A server process, its client, and one tool of it."""

    def __init__(self, process: subprocess.Popen[str], tool: str) -> None:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        token = Path(said["token_file"]).read_text().strip() if "token_file" in said else "none"
        self.process, self.tool, self.url = psutil.Process(process.pid), tool, said["url"]
        self.client = httpx.Client(
            headers={"Authorization": f"Bearer {token}", "Accept": "application/json"}, trust_env=False, timeout=60
        )

    def call(self, query: str) -> None:
        """Call the tool. Raises HTTPStatusError, KeyError where it gives no result, TheorexError where that is a failure."""
        parameters = {"name": self.tool, "arguments": {"query": query}}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
        if (answer := self.client.post(self.url, json=asked).raise_for_status().json()["result"]).get("isError"):
            raise TheorexError(f"{self.url} failed: {answer}")

    def seconds(self, queries: list[str], calls: int) -> float:
        """Processor time of the server for so many calls."""
        before = self.process.cpu_times()
        ask = measure.in_turn(self.call, queries)
        for _ in range(calls):
            ask()
        after = self.process.cpu_times()
        return max(float(after.user + after.system - before.user - before.system), _TICK_SECONDS)


@contextmanager
def served(tool: str, *command: str, cwd: Path) -> Iterator[_Served]:
    """A server that prints its address as JSON, until the end of the block."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=measure.environment(), cwd=cwd)
    try:
        made = _Served(process, tool)
        with made.client:
            yield made
    finally:
        process.terminate()
        process.communicate()


@measure.row("mcp-search", "the MCP server's own time for a search", "the server's own time for an empty tool")
def _search(ground: Ground) -> Iterator[Round]:
    home, queries = lay_home(ground.folder, ground.rows, as_installed()), texts(50, length=3, seed=5)
    command = measure.theorex(home, "mcp-start", "--port", "0", "--json")
    calls = min(_CALLS, ground.rows)
    with (
        served("search", *command, cwd=ground.folder) as ours,
        served("nothing", measure.PYTHON, "-c", _EMPTY, cwd=ground.folder) as empty,
        Lab(home, clock=FixedClock(NOW)) as lab,
    ):
        search = measure.in_turn(lambda query: lab.search(query, agents=["main"]), queries)

        def one_round() -> Iterator[Amounts]:
            nothing, found = empty.seconds(queries, calls), ours.seconds(queries, calls)
            alone = measure.processor_seconds(lambda: [search() for _ in range(calls)])
            yield Amounts(found, nothing, "an empty tool of the SDK")
            yield Amounts(found, nothing + alone, "that and the search in a process")

        yield one_round
