"""What a dispatch costs beside the bare call of its model, and what a routing decision costs of a quick one."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from measure import note, processor_seconds
from pytest_benchmark.fixture import BenchmarkFixture

from theorex_lab import Lab
from theorex_lab.config import Settings, check_settings
from theorex_lab.dispatch.worker import DispatchTask
from theorex_lab.memory.evidence import EvidenceTable
from theorex_lab.routing.energy import Power
from theorex_lab.routing.router import route

TASK = "refactor the python function that raises a TypeError in the billing worker"
CALLS = 60
ADDED_MS = 5.0
QUICK_CALL_MS, ROUTING_SHARE = 20.0, 0.01
# Answers every request at once, on a connection that stays open.
SERVER = """
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
choice = {"index": 0, "message": {"role": "assistant", "content": "Check the type before the call."}, "finish_reason": "stop"}
answer = json.dumps({"choices": [choice], "usage": {"prompt_tokens": 20, "completion_tokens": 8}}).encode()
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        head = f"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: {len(answer)}\\r\\n\\r\\n".encode()
        self.wfile.write(head + answer)
    def log_message(self, *_):
        pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"""


@pytest.fixture
def url() -> Iterator[str]:
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.kill()


def test_dispatch_adds(benchmark: BenchmarkFixture, tmp_path: Path, url: str) -> None:
    """Processor time of this process for one dispatch, less that of the bare call of the same body, turn by turn."""
    models = {name: {"tier": "medium", "url": url} for name in ("qwen3-32b", "ministral-3b")}
    settings = check_settings({"models": models, "roles": []})
    body = {
        "model": "qwen3-32b",
        "messages": [{"role": "user", "content": TASK}],
        "max_tokens": 1024,
        "temperature": 0.3,
    }
    added_ms: list[float] = []
    with Lab(tmp_path / "home", settings=settings) as lab, httpx.Client(trust_env=False) as client:
        dispatcher = lab.dispatcher

        def ours() -> None:
            assert dispatcher.dispatch(DispatchTask("1", "main", TASK)).written_to_axon

        def bare() -> None:
            reply = client.post(f"{url}/v1/chat/completions", content=json.dumps(body))
            assert reply.json()["choices"]

        ours(), bare()

        def one_round() -> None:
            call_seconds = processor_seconds(bare)
            added_ms.append((processor_seconds(ours) - call_seconds) * 1_000)

        benchmark.pedantic(one_round, rounds=CALLS)
    ratios = [each / ADDED_MS for each in added_ms]
    note(benchmark, "dispatch, beside the bare call", "5 ms of processor time", ratios, at_most=1)


@pytest.mark.parametrize("half_life_days", [None, 30.0])
def test_route(benchmark: BenchmarkFixture, half_life_days: float | None) -> None:
    """Four query types and five models: 20 cells of evidence."""
    tiers = ("small", "medium", "medium", "large", "large")
    models = {f"model-{number}": {"tier": tier, "url": "http://localhost:1"} for number, tier in enumerate(tiers)}
    settings = check_settings({"models": models, "roles": [], "matrixHalfLifeDays": half_life_days})
    table = EvidenceTable()
    for number in range(400):
        query_type = ("code", "math", "retrieval", "general")[number % 4]
        table.add(
            f"query_type/{query_type}",
            f"model-{number // 4 % 5}",
            number % 7 > 0,
            at=number,
            latency_ms=number % 90 + 1,
        )
    assert len(table) == 20
    decide = _decision(settings, table)
    decide()
    milliseconds: list[float] = []

    def one_round() -> None:
        started = time.process_time()
        for _ in range(100):
            decide()
        milliseconds.append((time.process_time() - started) * 10)

    benchmark.pedantic(one_round, rounds=15)
    shares = [each / (QUICK_CALL_MS * ROUTING_SHARE) for each in milliseconds]
    ageing = "" if half_life_days is None else ", evidence that ages"
    note(benchmark, f"route, 20 cells of evidence{ageing}", "1 % of a call of 20 ms", shares, at_most=1)


def _decision(settings: Settings, table: EvidenceTable) -> Callable[[], object]:
    power = Power(percent=None, on_battery=False)
    return lambda: route(TASK, settings, evidence=table, power=power, now=1_000, agent="main")
