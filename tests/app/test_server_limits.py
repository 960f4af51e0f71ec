"""What a server bounds, so that those who hold on or flood keep the owner out of nothing."""

from __future__ import annotations

import logging
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from conftest import NOW
from faults import opened
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from test_mcp import PLAIN, TOKEN

from theorex_lab import FixedClock, HashedNgramEmbedder, Lab
from theorex_lab.app.server.connections import LOGGER, Connections
from theorex_lab.app.server.limits import LimitedServer, ServerLimits
from theorex_lab.app.server.line_budget import BoundedLog, LineBudget
from theorex_lab.app.server.listening import server_settings
from theorex_lab.app.server.mcp import http_application
from theorex_lab.app.server.memory_page.keys import PageKeys
from theorex_lab.app.server.rest import UVICORN, RestServer
from theorex_lab.core.settings import check_settings

OWNER = "the-token-of-the-owner-of-this-home"
AGENTS = {"Authorization": f"Bearer {TOKEN}"}
OWNERS = {"Authorization": f"Bearer {OWNER}"}
PATIENT = {
    "serverConnections": 128,
    "serverHeadSeconds": 60,
    "serverBodySeconds": 60,
    "serverAnswerSeconds": 60,
}
HASTY = PATIENT | {
    "serverHeadSeconds": 0.05,
    "serverBodySeconds": 0.05,
    "serverAnswerSeconds": 0.05,
}
SERVERS = ["serve", "mcp"]
SOCKET_HEAD = (
    b"GET /ws/dream HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\n"
    b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
)
SOCKET_KEY = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"


def application(lab: Lab, server: str, rate: float = 1e6) -> LimitedServer:
    """The application that a command serves."""
    if server == "mcp":
        return http_application(lab, TOKEN, rate=rate)
    return RestServer(lab, TOKEN, keys=PageKeys(OWNER), rate=rate)


@contextmanager
def listening(
    folder: Path, server: str, settings: dict[str, Any], rate: float = 1e6
) -> Iterator[int]:
    """The port of a server in this process."""
    lab = Lab(
        folder / "home",
        settings=check_settings(settings),
        embedder=HashedNgramEmbedder(),
        clock=FixedClock(NOW),
    )
    options = UVICORN if server == "serve" else {}
    with lab, socket.create_server(("127.0.0.1", 0)) as listener:
        running = uvicorn.Server(
            server_settings(application(lab, server, rate), options)
        )
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not running.started:
                assert thread.is_alive()
                time.sleep(0.005)
            yield listener.getsockname()[1]
        finally:
            running.should_exit = True
            running.force_exit = True
            thread.join()


@contextmanager
def sent(port: int, content: bytes, times: int) -> Iterator[list[socket.socket]]:
    """Connections on each of which something was sent."""
    with ExitStack() as at_end:
        connections: list[socket.socket] = []
        for _ in range(times):
            connection = socket.create_connection(("127.0.0.1", port), timeout=60)
            at_end.enter_context(connection)
            connection.sendall(content)
            connections.append(connection)
        yield connections


def status(port: int, path: str, **headers: str) -> int:
    url = f"http://127.0.0.1:{port}{path}"
    return httpx.get(url, headers=headers, timeout=60, verify=PLAIN).status_code


def ends(connection: socket.socket) -> bytes:
    """What comes on a connection until the server closes it."""
    content = bytearray()
    try:
        while part := connection.recv(65_536):
            content += part
    except ConnectionError:
        pass
    return bytes(content)


def owner_is_served(port: int, server: str) -> bool:
    """Whether the owner is: with the key of the page, or the server's only token."""
    if server == "mcp":
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        answer = httpx.post(
            f"http://127.0.0.1:{port}/mcp",
            json=ping,
            headers={**AGENTS, "Accept": "application/json, text/event-stream"},
            timeout=60,
            verify=PLAIN,
        )
        return answer.status_code == 200
    return status(port, "/memory/projects", **OWNERS) == 200


HALF = [
    b"",
    b"G",
    b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ",
    b"\r\n",
    b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",  # whole, and then idle
    SOCKET_HEAD,
]


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("content", HALF, ids=repr)
def test_connections_that_ask_nothing_keep_nobody_out(
    tmp_path: Path, server: str, content: bytes
) -> None:
    with (
        listening(tmp_path, server, PATIENT) as port,
        sent(port, content, 90),
    ):
        assert status(port, "/health") == 200
        assert owner_is_served(port, server)


@pytest.mark.parametrize("server", SERVERS)
def test_a_head_that_does_not_come_ends_its_connection(
    tmp_path: Path, server: str
) -> None:
    with (
        listening(tmp_path, server, HASTY) as port,
        sent(port, b"GET /health HTTP/1.1\r\nHost: 1", 5) as connections,
    ):
        assert [ends(connection) for connection in connections] == [b""] * 5
        assert status(port, "/health") == 200


def post_head(path: str, credential: str = "") -> bytes:
    """The head of a request whose body is announced and does not come whole."""
    key = f"Authorization: Bearer {credential}\r\n" if credential else ""
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{key}"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    ).encode()


SLOW_BODIES = [
    ("serve", post_head("/memory/open")),
    ("serve", post_head("/traces", TOKEN)),
    ("serve", post_head("/memory/erase", OWNER)),
    ("mcp", post_head("/mcp", TOKEN)),
]


@pytest.mark.parametrize(("server", "content"), SLOW_BODIES)
def test_a_body_that_does_not_come_is_answered_and_ends_its_connection(
    tmp_path: Path, server: str, content: bytes
) -> None:
    with (
        listening(tmp_path, server, HASTY | {"serverHeadSeconds": 60}) as port,
        sent(port, content, 3) as connections,
    ):
        for connection in connections:
            answer = ends(connection)
            assert answer.startswith(b"HTTP/1.1 408 ")
            assert b"the body was not there within 0.05 seconds" in answer


@pytest.mark.parametrize(
    ("server", "content"),
    [each for each in SLOW_BODIES if OWNER.encode() not in each[1]],
)
def test_bodies_that_do_not_come_keep_the_owner_out_of_nothing(
    tmp_path: Path, server: str, content: bytes
) -> None:
    with listening(tmp_path, server, PATIENT) as port, sent(port, content, 100):
        assert status(port, "/health") == 200
        if server == "serve":
            assert owner_is_served(port, server)


def test_slow_strangers_keep_a_link_of_the_owner_open(tmp_path: Path) -> None:
    slow = post_head("/memory/open")
    with listening(tmp_path, "serve", PATIENT) as port, sent(port, slow, 100):
        answer = httpx.post(
            f"http://127.0.0.1:{port}/memory/open",
            json={"code": "used"},
            timeout=60,
            verify=PLAIN,
        )
        assert (answer.status_code, "this link was used" in answer.text) == (401, True)
        assert status(port, "/") == 200


def test_a_flood_of_wrong_keys_is_bounded_and_the_owner_served(tmp_path: Path) -> None:
    with listening(tmp_path, "serve", PATIENT, rate=5) as port:
        wrong = {"Authorization": "Bearer guessed"}
        codes = [status(port, "/memory/projects", **wrong) for _ in range(13)]
        assert codes == [401] * 10 + [429] * 3
        for _ in range(13):
            assert owner_is_served(port, "serve")
            assert status(port, "/") == 200
        assert status(port, "/domains", **AGENTS) == 200


def test_an_agent_that_floods_keeps_the_owner_out_of_nothing(tmp_path: Path) -> None:
    with listening(tmp_path, "serve", PATIENT, rate=2) as port:
        codes = [status(port, "/domains", **AGENTS) for _ in range(6)]
        assert codes == [200] * 4 + [429] * 2
        assert all(owner_is_served(port, "serve") for _ in range(6))


def test_the_rate_holds_over_mcp_too(tmp_path: Path) -> None:
    with listening(tmp_path, "mcp", PATIENT, rate=1) as port:
        assert [status(port, "/mcp") for _ in range(3)] == [401, 401, 429]


def open_socket(port: int) -> socket.socket:
    """A web socket with the agent's token, on which nothing is sent."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    credential = f"Authorization: Bearer {TOKEN}\r\n\r\n".encode()
    connection.sendall(SOCKET_HEAD + SOCKET_KEY + credential)
    return connection


def test_web_sockets_of_one_token_are_bounded(tmp_path: Path) -> None:
    allowed = PATIENT["serverConnections"] // 8
    with listening(tmp_path, "serve", PATIENT) as port, ExitStack() as at_end:
        answers: list[bytes] = []
        for _ in range(allowed + 4):
            connection = at_end.enter_context(open_socket(port))
            answers.append(connection.recv(65_536))
        codes = [answer.split(b" ")[1] for answer in answers]
        assert codes == [b"101"] * allowed + [b"429"] * 4
        assert owner_is_served(port, "serve")


def test_a_web_socket_that_says_nothing_is_told_so_and_ended(tmp_path: Path) -> None:
    with (
        listening(tmp_path, "serve", HASTY | {"serverHeadSeconds": 60}) as port,
        open_socket(port) as connection,
    ):
        answer = connection.recv(65_536)
        while b"the body was not there within 0.05 seconds" not in answer:
            part = connection.recv(65_536)
            assert part, answer
            answer += part


def test_an_answer_that_nobody_reads_ends_its_connection(tmp_path: Path) -> None:
    settings = HASTY | {"serverHeadSeconds": 60, "serverBodySeconds": 60}
    head = b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with listening(tmp_path, "serve", settings) as port, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.settimeout(60)
        connection.connect(("127.0.0.1", port))
        until = time.monotonic() + 60
        is_ended = False
        while not is_ended:  # the server ends what is left unread
            assert time.monotonic() < until
            try:
                connection.sendall(head)
            except ConnectionError:
                is_ended = True


@pytest.mark.parametrize("server", SERVERS)
def test_what_a_command_serves_has_limits(tmp_path: Path, server: str) -> None:
    with opened(tmp_path / "home") as lab:
        config = server_settings(application(lab, server))
    assert isinstance(config.connections, Connections)
    assert config.limit_concurrency is None  # uvicorn's counts idle connections


def test_an_application_without_limits_is_not_served() -> None:
    async def bare(*_: Any) -> None:
        raise AssertionError

    with pytest.raises(TypeError, match="allowed is a LimitedServer"):
        server_settings(bare)  # type: ignore[arg-type]


def test_nothing_is_served_beside_the_one_place() -> None:
    package = Path(__file__).parents[2] / "theorex_lab"
    other_ways = re.compile(
        r"uvicorn\.(run|Config|Server)\b|import hypercorn|HTTPServer\("
        r"|start_server\(|create_server\("
    )
    users = {
        file.relative_to(package).as_posix()
        for file in package.rglob("*.py")
        if other_ways.search(file.read_text(encoding="utf-8"))
    }
    assert users == {
        "app/server/connections.py",
        "app/server/listening.py",
    }


def test_every_request_passes_the_limits() -> None:
    for server in LimitedServer.__subclasses__():
        assert "__call__" not in vars(server)


class Transport:
    """A transport that is only closed."""

    closed = False

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return False


class Client:
    """A connection as the limits see it."""

    def __init__(self, is_serving: bool = False) -> None:
        self.transport: Any = Transport()
        self.is_serving = is_serving


def test_the_connection_that_waits_longest_makes_room() -> None:
    now = [0.0]
    limits = ServerLimits(connections=4)
    connections = Connections(limits, lambda: now[0])
    clients = [Client(is_serving=number == 0) for number in range(3)]
    for number, client in enumerate(clients):
        now[0] = float(number)
        connections.add(client, ("10.0.0.1", number))
    # Two of one address; the one that is answered stays.
    assert [client.transport.closed for client in clients] == [False, True, False]
    assert len(connections) == 2


def test_a_connection_too_many_is_closed_where_all_others_are_answered() -> None:
    connections = Connections(ServerLimits(connections=4), lambda: 0.0)
    clients = [Client(is_serving=True) for _ in range(3)]
    for client in clients:
        connections.add(client, ("10.0.0.1", 1))
    assert not any(client.transport.closed for client in clients)
    for _ in range(2):
        clients.append(Client(is_serving=True))
        connections.add(clients[-1], ("10.0.0.1", 1))
    assert [client.transport.closed for client in clients] == [False] * 4 + [True]


@given(
    st.lists(
        st.tuples(st.sampled_from(["10.0.0.1", "10.0.0.2", "::1"]), st.booleans()),
        max_size=40,
    )
)
@hypothesis_settings(max_examples=60)
def test_no_more_connections_are_held_than_allowed(
    arrivals: Sequence[tuple[str, bool]],
) -> None:
    limits = ServerLimits(connections=8)
    connections = Connections(limits, lambda: 0.0)
    clients: list[tuple[str, Client]] = []
    for address, is_serving in arrivals:
        client = Client(is_serving)
        clients.append((address, client))
        connections.add(client, (address, 1))
    still = [address for address, client in clients if not client.transport.closed]
    assert len(connections) == len(still) <= limits.connections
    for each in set(still):
        of_address = [
            client.is_serving
            for address, client in clients
            if address == each and not client.transport.closed
        ]
        # Beside those that are answered the newest may wait.
        n_waiting = of_address.count(False)
        assert len(of_address) <= limits.of_an_address or n_waiting <= 1
    for _, client in clients:
        connections.remove(client)
    assert len(connections) == 0


def test_a_connection_is_closed_at_its_time_by_the_clock() -> None:
    now = [0.0]
    told: list[str] = []
    connections = Connections(ServerLimits(), lambda: now[0], tell=told.append)
    waits, asks, reads_nothing = Client(), Client(is_serving=True), Client()
    for client in (waits, asks, reads_nothing):
        connections.add(client, ("10.0.0.1", 1))
    connections.unread(reads_nothing, True)
    closed: Callable[[], list[bool]] = lambda: [  # noqa: E731 - read three times
        client.transport.closed for client in (waits, asks, reads_nothing)
    ]
    now[0] = 10.0
    connections.sweep()
    assert closed() == [False, False, False]
    now[0] = 10.1
    connections.sweep()
    assert closed() == [True, False, False]
    now[0] = 60.1
    connections.sweep()
    assert closed() == [True, False, True]
    assert told == [
        "a client did not send a whole request in time",
        "a client did not read its answer in time",
    ]


def test_refused_web_sockets_write_a_bounded_number_of_lines(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    refused = SOCKET_HEAD + SOCKET_KEY + b"\r\n"
    with listening(tmp_path, "serve", PATIENT) as port:
        logger = logging.getLogger(LOGGER)
        logger.addHandler(caplog.handler)  # uvicorn's loggers hand nothing on
        for _ in range(40):
            with sent(port, refused, 1) as (connection,):
                assert ends(connection).startswith(b"HTTP/1.1 401 ")
        (log,) = [each for each in logger.filters if isinstance(each, BoundedLog)]
        assert all(record.exc_info is None for record in caplog.records)
        before = len(caplog.records)
        log.summarise(at_end=True)
        logger.removeHandler(caplog.handler)
    assert before == 3
    assert re.fullmatch(
        r"37 more since \d\d:\d\d:\d\d UTC: a web socket was refused",
        caplog.records[-1].getMessage(),
    )


def test_held_lines_are_told_when_their_time_is_over() -> None:
    now = [0.0]
    budget = LineBudget(lambda: now[0], lines=2, window=60.0)
    assert [budget.admits("a"), budget.admits("b")] == [True, True]
    assert [budget.admits("a") for _ in range(4)] == [True, False, False, False]
    assert budget.summaries() == []
    now[0] = 60.0
    assert budget.summaries() == ["3 more since 00:00:00 UTC: a"]
    assert budget.admits("a")


@given(st.lists(st.sampled_from([str(each) for each in range(90)]), max_size=200))
@hypothesis_settings(max_examples=25)
def test_every_line_is_shown_or_counted(kinds: list[str]) -> None:
    budget = LineBudget(lambda: 0.0, lines=1)
    shown = sum(budget.admits(kind) for kind in kinds)
    held = sum(int(line.split()[0]) for line in budget.summaries(at_end=True))
    assert shown + held == len(kinds)
    assert shown <= 65
