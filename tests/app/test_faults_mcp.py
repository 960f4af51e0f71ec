"""The MCP server with slow and vanishing clients, a broken journal, many writers at
once, and killed while it writes.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from faults import opened
from test_mcp import (
    PLAIN,
    PROGRAM,
    call,
    connected,
    environment,
    headers,
    post,
    request,
    served,
    started,
    told,
)

from theorex_lab import Lab

SLOW_SECONDS = 0.3
HEAD_SECONDS = 1.0  # long enough for a whole request on a busy machine


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Lab]:
    with opened(tmp_path / "home") as lab:
        yield lab


def head(length: int) -> bytes:
    lines = [
        f"{name}: {value}"
        for name, value in (headers() | {"Host": "localhost"}).items()
    ]
    return "\r\n".join(
        ["POST /mcp HTTP/1.1", *lines, f"Content-Length: {length}", "", ""]
    ).encode()


def connection_to(url: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", httpx.URL(url).port or 0), timeout=60)


def closed(connection: socket.socket) -> bool:
    """Whether the server has ended a connection on which it says nothing; waits for
    that a minute at most.
    """
    connection.settimeout(60)
    try:
        return connection.recv(4_096) == b""
    except ConnectionError:
        return True


def test_clients_that_vanish(memory: Lab) -> None:
    content = json.dumps(call("write", text="the ferry leaves at noon")).encode()
    with served(memory) as url:
        for sent in (
            b"",
            b"POST /mcp",
            head(100),
            head(len(content)) + content[:-5],
            head(len(content)) + content,
        ):
            with connection_to(url) as vanishing:
                vanishing.sendall(sent)
        for _ in range(200):
            connection_to(url).close()
        assert post(url, request("ping")).status_code == 200
    # What arrived whole may have been written; of the others nothing.
    assert memory.journal.last_seq() <= 1
    assert memory.verify().ok


def test_a_broken_journal_is_told_without_its_path(
    memory: Lab, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "home" / "theorex.db"
    with served(memory) as url:
        assert (
            post(url, call("write", text="the ferry leaves at noon")).json()["result"][
                "isError"
            ]
            is False
        )
        for path in (
            file,
            file.with_name("theorex.db-wal"),
            file.with_name("theorex.db-shm"),
        ):
            if path.exists():
                path.write_bytes(b"broken " * 2_000)
        answers = [
            post(url, call("write", text="the next one leaves at one")),
            post(url, call("search", query="ferry")),
        ]
        answers += [
            post(url, call("status")),
            post(url, request("resources/read", uri="theorex://context")),
        ]
        assert post(url, request("ping")).status_code == 200
    assert answers[0].json()["result"]["isError"] is True
    for answer in answers:
        assert answer.status_code == 200
        for word in (str(tmp_path), "theorex.db", "Traceback", "sqlite"):
            assert word not in answer.text
    assert "theorex.db" in capfd.readouterr().err


def test_two_servers_at_once_share_a_token_and_lose_no_write(tmp_path: Path) -> None:
    """Two hundred writes of eight clients, to two processes that are started at the
    same time in a new home.
    """
    home = tmp_path / "home"
    with ExitStack() as servers, ThreadPoolExecutor(2) as threads:
        infos = list(
            threads.map(
                lambda _: servers.enter_context(started(home, "--any-agent"))[1],
                range(2),
            )
        )
        addresses = [info["url"] for info in infos]
        token = (home / "mcp-token-main").read_text().strip()
        assert len(set(addresses)) == 2
        assert [path.name for path in home.iterdir() if "token" in path.name] == [
            "mcp-token-main"
        ]
        for url in addresses:
            assert (
                post(url, request("ping"), Authorization=f"Bearer {token}").status_code
                == 200
            )
            assert post(url, request("ping")).status_code == 401
        acknowledged = asyncio.run(_written_by_eight(addresses, token))
    assert len(acknowledged) == 200
    with opened(home) as lab:
        found = {event.id: event.body["text"] for event in lab.journal.tail(0)}
        assert found == acknowledged
        assert sum(event.agent == "client-3" for event in lab.journal.tail(0)) == 25
        report = lab.verify()
        assert report.ok, report.problems


async def _written_by_eight(addresses: list[str], token: str) -> dict[str, str]:
    """What eight clients at once were told is written: texts by event."""

    async def write(number: int) -> dict[str, str]:
        mode = ("auto", "legacy")[number // 2 % 2]
        async with connected(addresses[number % 2], token, mode=mode) as client:
            texts = [f"sensor {number} reads value {value}" for value in range(25)]
            agent = f"client-{number}"
            return {
                (await told(client, "write", text=text, agent_id=agent))[
                    "event_id"
                ]: text
                for text in texts
            }

    parts = await asyncio.gather(*(write(number) for number in range(8)))
    return {identity: text for part in parts for identity, text in part.items()}


def test_a_server_killed_while_it_writes_keeps_what_it_acknowledged(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    acknowledged: list[tuple[str, str]] = []
    enough = threading.Event()

    def write(writer: int, url: str, sent: dict[str, str]) -> None:
        with httpx.Client(headers=sent, verify=PLAIN) as client:
            for number in range(10_000):
                text = f"writer {writer} counts to {number}"
                try:
                    answer = client.post(url, json=call("write", text=text)).json()
                except httpx.HTTPError:
                    return  # the server is gone
                acknowledged.append(
                    (answer["result"]["structuredContent"]["event_id"], text)
                )
                if len(acknowledged) >= 40:
                    enough.set()

    with started(home) as (process, info):
        sent = headers(
            Authorization=f"Bearer {(home / 'mcp-token-main').read_text().strip()}"
        )
        writers = [
            threading.Thread(target=write, args=(number, info["url"], sent))
            for number in range(4)
        ]
        for writer in writers:
            writer.start()
        assert enough.wait(60)
        process.send_signal(signal.SIGKILL)
        for writer in writers:
            writer.join()
        assert process.wait() == -signal.SIGKILL
    with opened(home) as lab:
        found = {event.id: event.body["text"] for event in lab.journal.tail(0)}
        assert [
            (identity, found.get(identity)) for identity, _ in acknowledged
        ] == acknowledged
        # Of each writer at most the one write on its way was not acknowledged.
        assert 40 <= len(acknowledged) <= len(found) <= len(acknowledged) + 4
        report = lab.verify()
        assert report.ok, report.problems
        assert lab.search("writer counts", agents=["main"]).hits


def test_interrupting_the_server_of_a_terminal_ends_it(tmp_path: Path) -> None:
    command = [*PROGRAM, "--home", str(tmp_path / "home"), "mcp", "--stdio"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        known = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        }
        opening = [
            request("initialize", "i", **known),
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
        ]
        messages = [*opening, call("write", "w", text="the ferry leaves at noon")]
        process.stdin.write(
            "".join(json.dumps(each) + "\n" for each in messages).encode()
        )
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == -signal.SIGINT
        assert process.stderr.read() == b""
    with opened(tmp_path / "home") as lab:
        (event,) = lab.journal.tail(0, kinds=["observation"])
        assert event.id == answers[1]["result"]["structuredContent"]["event_id"]
