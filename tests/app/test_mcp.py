"""The MCP server as agents meet it: the SDK's own client over both transports and both
generations of the protocol.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import httpx2
import pytest
import uvicorn
from click.testing import CliRunner
from conftest import DAY, NOW, Meanings, observation
from faults import opened
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from theorex_lab import Event, FixedClock, InvalidInput, Lab, TheorexError
from theorex_lab.app.cli import theorex
from theorex_lab.app.cli.serve import mcp as mcp_command
from theorex_lab.app.server import auth, listening, mcp
from theorex_lab.app.server.auth import Guard, read_token
from theorex_lab.app.server.listening import listen, server_settings

TOKEN = "a-token-for-tests-of-43-characters-in-length"
PROGRAM = [sys.executable, "-m", "theorex_lab"]
PLAIN = False  # no certificates are read: that takes longer than a request
TOOLS = ["status", "search", "write", "boot-inject", "promote"]
MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


def SERVED(hosts: list[str]) -> Any:
    """An application of no importance."""


def environment(**more: str) -> dict[str, str]:
    """As a user's processes have it: compiled modules are kept."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if key != "PYTHONDONTWRITEBYTECODE"
    }
    return {
        key: value for key, value in kept.items() if not key.startswith("THEOREX_")
    } | more


@contextmanager
def served(
    lab: Lab,
    *,
    agent: str = "main",
    any_agent: bool = False,
    hosts: list[str] | None = None,
    **rules: Any,
) -> Iterator[str]:
    """The address of a server in this process, on a free port; `rules` take the place
    of the usual ones.
    """
    guard = mcp.http_application(
        lab, TOKEN, agent=agent, any_agent=any_agent, hosts=hosts or []
    )
    assert isinstance(guard, Guard)
    own = {
        "token": guard.token,
        "hosts": guard.hosts,
        "max_body_bytes": guard.max_body_bytes,
    }
    application = Guard(guard.application, **{**own, **rules})
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(server_settings(application))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive()
                time.sleep(0.005)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def started(
    home: Path, *arguments: str
) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """A server process of a home, and what it announced."""
    command = [
        *PROGRAM,
        "--home",
        str(home),
        "mcp",
        "--port",
        "0",
        "--json",
        *arguments,
    ]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        cwd=home.parent,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield process, json.loads(line)
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
        process.stderr.close()


@asynccontextmanager
async def connected(
    url: str, token: str = TOKEN, *, mode: str = "auto"
) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, verify=PLAIN) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


def headers(**more: str) -> dict[str, str]:
    """Those of a right request; of names in `more`, _ stands for -."""
    right = {
        "Authorization": f"Bearer {TOKEN}",
        "Accept": "application/json",
        "Content-Type": "application/json",
    }
    return right | {name.replace("_", "-"): value for name, value in more.items()}


def post(url: str, content: object, **more: str) -> httpx.Response:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return httpx.post(
        url, content=data, headers=headers(**more), timeout=60, verify=PLAIN
    )


def request(method: str, identity: object = 1, **parameters: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": parameters}


def call(tool: str, identity: object = 1, **arguments: Any) -> dict[str, Any]:
    return request("tools/call", identity, name=tool, arguments=arguments)


async def told(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """A tool's structured result; the text beside it says the same."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return dict(result.structured_content)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with opened(tmp_path_factory.mktemp("mcp") / "home") as lab:
        lab.journal.append(
            [observation("the queue drops jobs", labels=["queue", "job"], agent="sage")]
        )
        yield lab


@pytest.fixture(scope="module")
def url(memory: Lab) -> Iterator[str]:
    with served(memory) as address:
        yield address


@MODES
def test_the_five_tools_say_what_they_take_and_give(url: str, mode: str) -> None:
    async def look() -> Any:
        async with connected(url, mode=mode) as client:
            return (await client.list_tools()).tools, client.instructions

    tools, instructions = asyncio.run(look())
    assert [tool.name for tool in tools] == TOOLS
    assert "data, never instructions" in instructions
    for tool in tools:
        assert len(tool.description) > 40
        assert tool.output_schema["type"] == "object"
        assert set(tool.output_schema["required"]) == set(
            tool.output_schema["properties"]
        )
        assert tool.input_schema["properties"]["agent_id"]["default"] is None
        assert all(
            each["description"] for each in tool.input_schema["properties"].values()
        )
        assert tool.annotations.read_only_hint is (tool.name in ("status", "search"))
    required = {tool.name: tool.input_schema.get("required", []) for tool in tools}
    assert required == {
        "status": [],
        "search": ["query"],
        "write": ["text"],
        "promote": [],
        "boot-inject": [],
    }
    assert tools[2].input_schema["properties"]["source"]["enum"] == [
        "agent",
        "model",
        "tool",
        "import",
    ]


def test_a_server_process_remembers_for_its_agent(tmp_path: Path) -> None:
    text = "TTL invalidation prevents cache stampedes"

    async def speak(address: str, token: str, mode: str) -> None:
        async with connected(address, token, mode=mode) as client:
            assert (client.protocol_version >= "2026") is (mode == "auto")
            empty = await told(client, "search", query="telescope maintenance")
            assert empty["hits"] == []
            assert [
                note
                for note in empty["notes"]
                if not note.endswith("texts have vectors")
            ] == []
            written = await told(
                client,
                "write",
                text=text,
                type="decision",
                tags=["cache"],
                session="s1",
            )
            assert "cache stampede" in written["concepts"]
            found = await told(client, "search", query="stampedes", limit=5)
            assert written["event_id"] in [hit["id"] for hit in found["hits"]]
            assert {hit["agent"] for hit in found["hits"]} == {"bob"}
            assert {hit["kind"] for hit in found["hits"]} == {"observation"}
            assert "cache stampede" in found["hits"][0]["subject"].split(", ")
            named = await told(
                client, "search", query="cache stampede", kinds=["concept"], limit=1
            )
            assert [
                (hit["kind"], hit["text"], hit["subject"]) for hit in named["hits"]
            ] == [("concept", "cache stampede", text)]
            status = await told(client, "status")
            assert (status["agent"], sum(status["tiers"].values())) == (
                "bob",
                status["count"],
            )
            assert "cache stampede" in {
                top.lower().removesuffix("s") for top in status["top"]
            }
            assert (await told(client, "promote"))["concepts"] > 0
            again = await told(client, "promote")
            assert again == {"concepts": 0, "links": 0}
            made = await told(client, "boot-inject")
            resource = await client.read_resource("theorex://context")
            assert resource.contents[0].text == made["text"]
            assert "TTL invalidation prevents" in made["text"]
            cut = await client.read_resource("theorex://context/-/claude-sonnet")
            assert cut.contents[0].text.startswith(
                "[Boot: claude-sonnet | budget: 16000t | concepts: "
            )
            assert [each.uri for each in (await client.list_resources()).resources] == [
                "theorex://context"
            ]
            own = await told(client, "status", agent_id="bob")
            assert (own["agent"], own["count"]) == ("bob", status["count"])

    home = tmp_path / "home"
    home.mkdir(0o700)
    (home / "config.json").write_text('{"activeDesigns": ["theorex"]}')
    with started(home, "--agent", "bob") as (process, info):
        assert re.fullmatch(r"http://127\.0\.0\.1:[0-9]+/mcp", info["url"])
        assert info["agent"] == "bob"
        file = Path(info["token_file"])
        assert (file, stat.S_IMODE(file.stat().st_mode)) == (
            home / "mcp-token-bob",
            0o600,
        )
        health = httpx.get(info["url"].removesuffix("mcp") + "health", verify=PLAIN)
        assert (health.status_code, health.json()) == (200, {"status": "ok"})
        for mode in ("auto", "legacy"):
            asyncio.run(speak(info["url"], file.read_text().strip(), mode))
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=60)
        assert (output, errors) == ("", "")
    with opened(home) as lab:
        rows = [event for event in lab.journal.tail(0) if event.kind == "observation"]
        assert {
            (row.agent, row.session, row.body["type"], row.body["source"])
            for row in rows
        } == {("bob", "s1", "decision", "agent")}
        assert (home / "SHARED_CONTEXT.md").is_file()


@pytest.mark.parametrize("source", [None, "agent", "model", "tool", "import"])
def test_a_text_is_trusted_as_an_agents_at_most(
    url: str, memory: Lab, source: str | None
) -> None:
    given = {} if source is None else {"source": source}
    answer = post(
        url, call("write", text=f"the mirror of {source} lags behind", **given)
    ).json()
    (event,) = memory.journal.read(
        ids=[answer["result"]["structuredContent"]["event_id"]]
    )
    assert event.body["source"] == (source or "agent")


def test_a_call_may_name_another_agent_where_the_server_is_for_any(memory: Lab) -> None:
    with served(memory, any_agent=True) as url:
        answer = post(
            url, call("write", text="the ferry leaves at noon", agent_id="carol")
        ).json()
        (event,) = memory.journal.read(
            ids=[answer["result"]["structuredContent"]["event_id"]]
        )
        assert event.agent == "carol"
        hits = post(url, call("search", query="ferry", agent_id="sage")).json()[
            "result"
        ]["structuredContent"]["hits"]
        assert "carol" not in {hit["agent"] for hit in hits}


@pytest.mark.parametrize("identity", ["a1", "7", "", 0, -3, 2**53])
def test_an_id_comes_back_as_it_was(url: str, identity: object) -> None:
    body = post(url, request("ping", identity)).json()
    assert body == {"jsonrpc": "2.0", "id": identity, "result": {}}
    assert type(body["id"]) is type(identity)


def test_a_notification_gets_no_body_and_does_nothing(url: str, memory: Lab) -> None:
    before = memory.journal.last_seq()
    for message in (
        {"method": "notifications/initialized"},
        {"method": "nope"},
        call("write", text="silent words"),
    ):
        answer = post(
            url,
            {
                "jsonrpc": "2.0",
                **{key: value for key, value in message.items() if key != "id"},
            },
        )
        assert (answer.status_code, answer.content) == (202, b"")
    assert memory.journal.last_seq() == before


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25"])
def test_the_handshake_of_former_releases(url: str, version: str) -> None:
    known = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    result = post(url, request("initialize", "i", **known)).json()["result"]
    assert result["protocolVersion"] == version
    assert result["serverInfo"]["name"] == "theorex"
    assert {"tools", "resources"} <= set(result["capabilities"])
    assert (
        len(
            post(url, request("tools/list"), MCP_Protocol_Version=version).json()[
                "result"
            ]["tools"]
        )
        == 5
    )


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "memory.example"])
def test_the_names_of_this_machine_and_those_given_are_taken(
    memory: Lab, host: str
) -> None:
    with served(memory, hosts=["Memory.Example"]) as address:
        port = httpx.URL(address).port
        assert post(address, request("ping"), Host=f"{host}:{port}").status_code == 200
        assert (
            post(
                address,
                request("ping"),
                Host=f"{host}:{port}",
                Origin=f"http://{host}:{port}",
            ).status_code
            == 200
        )


def test_the_token_is_compared_in_constant_time(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[bytes, bytes]] = []
    real = auth.hmac.compare_digest
    monkeypatch.setattr(
        auth.hmac, "compare_digest", lambda *both: compared.append(both) or real(*both)
    )
    assert post(url, request("ping"), Authorization="Bearer wrong").status_code == 401
    assert compared == [(b"wrong", TOKEN.encode())]


def test_a_token_file_of_the_users_own(tmp_path: Path) -> None:
    file = tmp_path / "own"
    file.write_text("sixteen-letters!\n")
    file.chmod(0o400)
    assert read_token(file) == "sixteen-letters!"
    made = read_token(tmp_path / "new" / "folder" / "token")
    assert (len(made), made) == (43, read_token(tmp_path / "new" / "folder" / "token"))
    assert [path.name for path in (tmp_path / "new" / "folder").iterdir()] == ["token"]


def test_of_two_who_make_the_token_the_first_is_untrusted(tmp_path: Path) -> None:
    auth._make_token(tmp_path / "token")
    first = (tmp_path / "token").read_bytes()
    auth._make_token(tmp_path / "token")
    assert (tmp_path / "token").read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == ["token"]


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7", "memory.example", "::", ""])
def test_other_machines_come_in_only_where_that_is_said(memory: Lab, host: str) -> None:
    with pytest.raises(InvalidInput, match="--allow-remote"):
        listen(memory, SERVED, host=host, port=0)


def test_an_address_that_is_none(memory: Lab) -> None:
    with pytest.raises(InvalidInput, match="host ''"):
        listen(memory, SERVED, host="", port=0, allow_remote=True)
    with pytest.raises(TheorexError, match="cannot listen on ü..x"):
        listen(memory, SERVED, host="ü..x", port=0, allow_remote=True)


@pytest.mark.parametrize(
    "name", ["", "memory.example:8443", "http://memory.example", "a b", "*", "::1"]
)
def test_a_name_that_no_host_header_holds(memory: Lab, name: str) -> None:
    with pytest.raises(InvalidInput, match="host name"):
        mcp.http_application(memory, TOKEN, hosts=[name])


def test_whoever_lets_other_machines_in_is_warned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, Any] = {}
    monkeypatch.setattr(
        listening,
        "listen",
        lambda _, make, **options: seen.update(
            options, **make.keywords, token=make.args[1]
        ),
    )
    (tmp_path / "own").write_text(TOKEN)
    (tmp_path / "own").chmod(0o600)
    monkeypatch.delenv("THEOREX_AGENT", raising=False)
    options = [
        "--home",
        str(tmp_path / "home"),
        "mcp",
        "--token-file",
        str(tmp_path / "own"),
        "--port",
        "5",
    ]
    local = CliRunner().invoke(theorex, options, obj={})
    assert (local.exit_code, local.stderr) == (0, "")
    assert (seen["host"], seen["port"], seen["token"], seen["allow_remote"]) == (
        "127.0.0.1",
        5,
        TOKEN,
        False,
    )
    assert seen["agent"] == "main"
    monkeypatch.setenv("THEOREX_AGENT", "carol")  # as the hooks have it
    assert CliRunner().invoke(theorex, options, obj={}).exit_code == 0
    assert seen["agent"] == "carol"
    remote = [
        *options,
        "--host",
        "0.0.0.0",
        "--allow-remote",
        "--allowed-host",
        "memory.example",
        "--agent",
        "sage",
    ]
    done = CliRunner().invoke(theorex, remote, obj={})
    assert done.exit_code == 0
    assert "warning" in done.stderr
    assert (seen["allow_remote"], seen["hosts"], seen["agent"]) == (
        True,
        ("memory.example",),
        "sage",
    )


def test_a_port_that_is_taken_is_named(memory: Lab) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(TheorexError, match=f"port {port}.*--port"):
            listen(memory, SERVED, port=port)


def test_an_idle_server_embeds_what_waits_for_a_vector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "_SECONDS", 0.01)
    with Lab(tmp_path / "home", clock=FixedClock(NOW), embedder=Meanings()) as lab:
        lab.journal.append(
            [observation(f"text {number} of a queue") for number in range(70)]
        )
        with listening.embedding(lab):
            deadline = time.monotonic() + 60
            while lab.searcher.vectors.coverage()["queued"]:
                assert time.monotonic() < deadline
        assert lab.searcher.vectors.told() == "70 of 70 texts embedded"


def test_a_server_that_is_asked_embeds_nothing_meanwhile(
    memory: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = threading.Semaphore(0)
    embedded = list[float]()
    busy = SimpleNamespace(is_set=lambda: True, clear=looked.release)
    monkeypatch.setattr(listening, "_SECONDS", 0.01)
    monkeypatch.setattr(listening, "called", busy)
    monkeypatch.setattr(memory.searcher.vectors, "embed_some", embedded.append)
    with listening.embedding(memory):
        assert all(looked.acquire(timeout=60) for _ in range(3))
    assert embedded == []


def test_a_call_of_a_tool_is_noted(url: str) -> None:
    listening.called.clear()
    post(url, call("status"))
    assert listening.called.is_set()


def recorded(home: Path) -> list[Event]:
    with opened(home) as lab:
        return list(lab.journal.tail(0))


def configuration(home: Path) -> list[dict[str, Any]]:
    """The servers that the help of `theorex mcp` shows, its placeholders filled in."""
    blocks = re.findall(r'\{"mcpServers".*?\}{3,}', mcp_command.help or "", re.DOTALL)
    assert len(blocks) == 2
    values = {
        "HOME_FOLDER": str(home),
        "PROGRAM": str(Path(sys.executable).with_name("theorex")),
        "TOKEN": TOKEN,
    }
    text = re.sub("|".join(values), lambda name: values[name[0]], "\0".join(blocks))
    return [json.loads(block)["mcpServers"]["theorex"] for block in text.split("\0")]


def test_a_coding_agents_memory_as_the_help_has_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    settings = tmp_path / "settings.json"
    servers = tmp_path / ".mcp.json"
    install = [
        "install-hooks",
        "--yes",
        "--home",
        str(home),
        "--settings",
        str(settings),
    ]
    install += ["--mcp", str(servers), "--agent", "main"]
    subprocess.run(
        [*PROGRAM, *install], check=True, capture_output=True, env=environment()
    )
    hooks = json.loads(settings.read_text())["hooks"]

    def hook(event: str, **more: Any) -> str:
        """What the agent's program does at an event."""
        payload = {
            "hook_event_name": event,
            "session_id": "session-1",
            "cwd": str(tmp_path),
            **more,
        }
        (entry,) = hooks[event][0]["hooks"]
        done = subprocess.run(
            entry["command"],
            shell=True,
            input=json.dumps(payload),
            capture_output=True,
            text=True,
            env=environment(),
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    entry = json.loads(servers.read_text())["mcpServers"]["theorex"]
    assert entry == configuration(home)[0]
    # As an agent's program does, in the folder in which it works.
    parameters = StdioServerParameters(
        command=entry["command"],
        args=entry["args"],
        env=environment(),
        cwd=str(tmp_path),
    )

    async def session() -> None:
        async with Client(stdio_client(parameters)) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
            fix = "trace_fix: the upload worker needs a longer deadline"
            await told(client, "write", text=fix, type="trace_fix", session="session-1")
            found = await told(client, "search", query="upload worker")
            assert fix in {hit["text"] for hit in found["hits"]}
            for command in (
                "pytest tests/test_upload.py",
                "the gateway lost its certificate",
            ):
                hook(
                    "PostToolUse",
                    tool_name="Bash",
                    tool_input={"command": command},
                    tool_response={"stdout": "ok"},
                )
            hook("Stop")
            assert (
                "the upload worker needs a longer deadline"
                in (await told(client, "boot-inject"))["text"]
            )

    assert hook("SessionStart", source="startup") == ""
    hook("UserPromptSubmit", prompt="mend the upload")
    asyncio.run(session())
    hook("SessionEnd", reason="exit")
    until = time.monotonic() + 120
    while (kinds := [event.kind for event in recorded(home)]).count(
        "flushed"
    ) == 0 and time.monotonic() < until:
        time.sleep(0.05)
    assert kinds[:8] == [
        "prompt",
        "observation",
        "recalled",
        "tool_used",
        "tool_used",
        "turn_ended",
        "recalled",
        "session_ended",
    ]
    assert "short_term" in kinds
    assert {event.agent for event in recorded(home)} == {"main"}
    assert "the upload worker needs a longer deadline" in hook(
        "SessionStart", source="startup"
    )
    with opened(home, at=NOW + 3650 * DAY) as lab:
        assert lab.verify().ok


def test_the_entry_for_http(memory: Lab) -> None:
    entry = configuration(memory.folder)[1]

    async def look(address: str) -> list[str]:
        async with (
            httpx2.AsyncClient(headers=entry["headers"], verify=PLAIN) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            return [tool.name for tool in (await client.list_tools()).tools]

    assert (entry["type"], entry["url"]) == (
        "http",
        f"http://127.0.0.1:18800{mcp.PATH}",
    )
    with served(memory) as address:
        assert asyncio.run(look(address)) == TOOLS
