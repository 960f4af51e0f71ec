"""Strangers at the MCP server: an agent who asks for another's memory, arguments of a
wrong type, floods of connections.
"""

from __future__ import annotations

import http.client
import json
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import observation
from faults import opened
from test_invalid_mcp import PARAMS, error_of
from test_mcp import (
    PLAIN,
    PROGRAM,
    call,
    environment,
    headers,
    post,
    request,
    served,
    started,
)

from theorex_lab import InvalidInput, Lab
from theorex_lab.app.server.auth import check_token_file, token_file

SECRET = "the harbour alarm code is a private matter"


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with opened(tmp_path_factory.mktemp("mcp") / "home") as lab:
        lab.journal.append(
            [observation(SECRET, labels=["harbour alarm"], agent="alice")]
        )
        yield lab


@pytest.fixture(scope="module")
def url(memory: Lab) -> Iterator[str]:
    """A server that was started for bob."""
    with served(memory, agent="bob") as address:
        yield address


OF_ALICE = [
    call("status", agent_id="alice"),
    call("search", query="harbour alarm", agent_id="alice"),
    call("write", text="the harbour alarm is off", agent_id="alice"),
    call("promote", agent_id="alice"),
    call("boot-inject", agent_id="alice"),
]


@pytest.mark.parametrize(
    "content", OF_ALICE, ids=lambda content: content["params"]["name"]
)
def test_a_token_opens_no_other_agents_memory(
    url: str, memory: Lab, content: dict[str, Any]
) -> None:
    before = memory.journal.last_seq()
    result = post(url, content).json()["result"]
    assert result["isError"] is True
    assert "got the agent 'alice'; allowed is 'bob'" in result["content"][0]["text"]
    assert "--any-agent" in result["content"][0]["text"]
    assert SECRET not in json.dumps(result)
    assert memory.journal.last_seq() == before


def test_nor_does_it_through_a_resource(url: str) -> None:
    answer = post(
        url, request("resources/read", uri="theorex://context/alice/claude-sonnet")
    )
    assert error_of(answer)["code"] == PARAMS
    assert "harbour" not in answer.text
    for own in ("bob", "-"):
        answer = post(
            url, request("resources/read", uri=f"theorex://context/{own}/claude-sonnet")
        )
        assert "[Boot: claude-sonnet" in answer.json()["result"]["contents"][0]["text"]
        assert "harbour" not in answer.text


def test_without_a_name_a_search_is_the_own_agents(url: str) -> None:
    answer = post(url, call("search", query="harbour alarm code"))
    assert answer.json()["result"]["structuredContent"]["hits"] == []


def test_a_server_for_any_agent_takes_every_name(memory: Lab) -> None:
    with served(memory, agent="bob", any_agent=True) as address:
        found = post(
            address, call("search", query="harbour alarm", agent_id="alice")
        ).json()["result"]
        assert SECRET in {hit["text"] for hit in found["structuredContent"]["hits"]}
        resource = post(
            address,
            request("resources/read", uri="theorex://context/alice/claude-sonnet"),
        )
        assert "Harbour Alarm" in resource.json()["result"]["contents"][0]["text"]


WRONG_TYPES = [
    call("search", query="x", limit="5.5"),
    call("search", query="x", limit="five"),
    call("search", query="x", limit=True),
    call("search", query="x", limit=5.5),
    call("search", query="x", cold="yes"),
    call("search", query="x", cold=1),
    call("search", query=None),
    call("search", query=True),
    call("write", text="x y", tags={"a": 1}),
    call("write", text="x y", tags=[1]),
    call("status", agent_id=["bob"]),
    call("write", text=["x"]),
]


@pytest.mark.parametrize(
    "content",
    WRONG_TYPES,
    ids=lambda content: json.dumps(content["params"]["arguments"]),
)
def test_what_only_looks_like_the_right_type_is_refused(
    url: str, memory: Lab, content: dict[str, Any]
) -> None:
    before = memory.journal.last_seq()
    error = error_of(post(url, content))
    assert error["code"] == PARAMS
    assert error["message"].startswith(f"{content['params']['name']}: ")
    assert memory.journal.last_seq() == before


def test_what_has_the_right_type_passes(url: str) -> None:
    given: list[dict[str, Any]] = [
        {},
        {"limit": 5, "cold": True},
        {"limit": 1, "agent_id": None},
        {"agent_id": "bob"},
    ]
    for more in given:
        assert (
            post(url, call("search", query="harbour", **more)).json()["result"][
                "isError"
            ]
            is False
        )


def test_each_agent_has_a_token_of_its_own(tmp_path: Path) -> None:
    home = tmp_path / "home"
    tokens = {}
    for agent in ("alice", "bob"):
        with started(home, "--agent", agent) as (_, info):
            file = home / f"mcp-token-{agent}"
            assert (Path(info["token_file"]), stat.S_IMODE(file.stat().st_mode)) == (
                file,
                0o600,
            )
            tokens[agent] = file.read_text().strip()
            answers = {
                name: post(
                    info["url"], request("ping"), Authorization=f"Bearer {token}"
                ).status_code
                for name, token in tokens.items()
            }
            assert answers == {name: 200 if name == agent else 401 for name in tokens}
    assert tokens["alice"] != tokens["bob"]


@pytest.mark.parametrize("name", ["mcp-token", "mcp-token-alice"])
def test_a_server_is_not_given_another_agents_token(tmp_path: Path, name: str) -> None:
    home = tmp_path / "home"
    assert (
        check_token_file(token_file(home, "bob"), home, "bob") == home / "mcp-token-bob"
    )
    assert check_token_file(tmp_path / name, home, "bob") == tmp_path / name
    with pytest.raises(
        InvalidInput, match="not of agent 'bob'; allowed are mcp-token-bob"
    ):
        check_token_file(home / name, home, "bob")


def test_over_standard_input_another_agent_is_refused_too(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with opened(home) as lab:
        lab.journal.append(
            [observation(SECRET, labels=["harbour alarm"], agent="alice")]
        )
    for more, is_open in (([], False), (["--any-agent"], True)):
        start = request(
            "initialize",
            1,
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo={"name": "x", "version": "1"},
        )
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        asked = call("search", 2, query="harbour alarm", agent_id="alice")
        command = [
            *PROGRAM,
            "--home",
            str(home),
            "mcp",
            "--stdio",
            "--agent",
            "bob",
            *more,
        ]
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        ) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write("\n".join(map(json.dumps, (start, ready, asked))) + "\n")
            server.stdin.flush()
            lines = [server.stdout.readline() for _ in range(2)]
            server.stdin.close()
            assert server.wait(60) == 0
        answers = {answer["id"]: answer for answer in map(json.loads, lines)}
        assert answers[2]["result"]["isError"] is not is_open
        assert (SECRET in lines[1]) is is_open


def test_refused_connections_leave_no_line(tmp_path: Path) -> None:
    with started(tmp_path / "home") as (process, info):
        port = httpx.URL(info["url"]).port or 0
        for _ in range(200):
            with socket.create_connection(
                ("127.0.0.1", port), timeout=60
            ) as connection:
                connection.sendall(b"no request at all\r\n\r\n")
                assert connection.recv(4_096).startswith(b"HTTP/1.1 400 ")
        process.send_signal(signal.SIGTERM)
        errors = process.communicate(timeout=60)[1]
    assert errors == ""


def test_a_wrong_token_leaves_no_line(
    memory: Lab, capfd: pytest.CaptureFixture[str]
) -> None:
    with served(memory) as address:
        connection = http.client.HTTPConnection(
            "127.0.0.1", httpx.URL(address).port or 0, timeout=60
        )
        for _ in range(150):
            connection.request(
                "POST", "/mcp", body=b"{}", headers=headers(Authorization="Bearer x")
            )
            assert connection.getresponse().read()
        connection.close()
        assert (
            httpx.get(address.removesuffix("mcp") + "health", verify=PLAIN).status_code
            == 200
        )
    assert capfd.readouterr().err == ""
