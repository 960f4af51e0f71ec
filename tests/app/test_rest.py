"""The server for programs: each refusal as one expects it, the design's routes, web
sockets, the OpenAPI document.
"""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from conftest import NOW
from faults import opened
from test_mcp import PLAIN, PROGRAM, TOKEN, environment
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from theorex_lab import (
    Clock,
    Design,
    FixedClock,
    HashedNgramEmbedder,
    Lab,
    StorageError,
    installed,
)
from theorex_lab.app.server.listening import server_settings
from theorex_lab.app.server.memory_page.projects import PAGE_ROUTES
from theorex_lab.app.server.rest import MOST_BYTES, UVICORN, RestServer
from theorex_lab.core.clock import SystemClock
from theorex_lab.core.settings import check_settings
from theorex_lab.memory.contract import Route, RouteRefused

RIGHT = {"Authorization": f"Bearer {TOKEN}"}
AT_WORK = threading.Event()
MAY_END = threading.Event()


def wait(face: Any) -> dict[str, Any]:
    """Take a while."""
    AT_WORK.set()
    assert MAY_END.wait(60)
    return {"done": True}


def fail(face: Any, how: str = "disk") -> dict[str, Any]:
    """Cannot do it."""
    if how == "busy":
        raise RouteRefused(409, "somebody is at it")
    raise StorageError("the secret path /srv/x cannot be written")


def count(face: Any, progress: Any, upto: int = 3) -> dict[str, Any]:
    """Count, and say so."""
    for number in range(upto):
        progress({"event": "number", "number": number})
    if upto == 7:
        AT_WORK.set()
        assert MAY_END.wait(60)
        face.append("observation_count", {"upto": upto})
    return {"counted": upto}


ANY = {"type": "object"}
SLOW = Design(
    "slow",
    kinds={"observation_count": 1},
    routes=lambda: [
        Route("GET", "/wait", wait, ANY),
        Route("POST", "/fail/{how}", fail, ANY),
        Route("WS", "/ws/count", count, ANY),
    ],
)


@contextmanager
def running(lab: Lab, **how: Any) -> Iterator[str]:
    """The address of a server of a lab in this process."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(
            server_settings(RestServer(lab, TOKEN, **{"rate": 1e6, **how}), UVICORN)
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive()
                time.sleep(0.005)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with opened(tmp_path_factory.mktemp("rest") / "home") as lab:
        yield lab


@pytest.fixture(scope="module")
def client(memory: Lab) -> Iterator[httpx.Client]:
    with (
        running(memory) as url,
        httpx.Client(base_url=url, headers=RIGHT, timeout=60, verify=PLAIN) as client,
    ):
        yield client


def small(folder: Path, clock: Clock | None = None) -> Lab:
    """A lab with the design of this file beside the installed ones."""
    settings = check_settings({})
    embedder = HashedNgramEmbedder()
    return Lab(
        folder,
        clock=clock or FixedClock(NOW),
        settings=settings,
        embedder=embedder,
        designs=[*installed(), SLOW],
    )


@pytest.fixture
def slow(tmp_path: Path, forgets_kinds: None) -> Iterator[Lab]:
    AT_WORK.clear()
    MAY_END.clear()
    with small(tmp_path / "home") as lab:
        yield lab
        MAY_END.set()


def spoken(url: str, path: str, **how: Any) -> ClientConnection:
    how = {"additional_headers": RIGHT, **how}
    return connect(url.replace("http", "ws") + path, proxy=None, open_timeout=60, **how)


GOOD = {
    "goal": "deploy the site",
    "outcome": "success",
    "actions": [{"reasoning": "r", "action_payload": "make()", "result": "ok"}],
}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 200),
        ("/api", 200),
        ("/page/main.js", 200),
        ("/page/page.css", 200),
        ("/health", 200),
        ("/openapi.json", 200),
        ("/stats", 401),
        ("/nope", 401),
    ],
)
def test_what_is_free_of_the_token_holds_nothing_of_the_memory(
    memory: Lab, client: httpx.Client, path: str, status: int
) -> None:
    memory.dreams.capture("the harbour alarm", [{"action": "alarm()"}])
    answer = httpx.get(client.base_url.join(path), verify=PLAIN)
    assert answer.status_code == status
    assert "harbour" not in answer.text
    assert TOKEN not in answer.text
    if status == 401:
        assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "given", ["", "Bearer wrong", f"Basic {TOKEN}", f"bearer{TOKEN}", "Bearer ü"]
)
def test_a_wrong_token_opens_nothing(client: httpx.Client, given: str) -> None:
    answer = client.get("/stats", headers={"Authorization": given.encode("latin-1")})
    assert (answer.status_code, answer.json()["status"]) == (401, 401)


def test_other_hosts_and_pages_of_other_origins_are_refused(
    client: httpx.Client,
) -> None:
    assert client.get("/health", headers={"Host": "evil.example"}).status_code == 421
    for origin in ("https://evil.example", "null"):
        assert client.get("/health", headers={"Origin": origin}).status_code == 403
    assert (
        client.get(
            "/stats", headers={"Origin": str(client.base_url).rstrip("/")}
        ).status_code
        == 200
    )


REFUSED: list[tuple[int, str, str, dict[str, Any], str]] = [
    (404, "GET", "/nope", {}, "Not Found"),
    (404, "GET", "/nodes/st-000000000000", {}, "got the strategy 'st-000000000000'"),
    (404, "GET", "/nodes/x/traverse", {}, "got the strategy"),
    (405, "DELETE", "/stats", {}, "Method Not Allowed"),
    (405, "GET", "/traces", {}, "Method Not Allowed"),
    (
        413,
        "POST",
        "/traces",
        {
            "content": b" " * (MOST_BYTES + 1),
            "headers": {"Content-Type": "application/json"},
        },
        "may hold up to",
    ),
    (
        415,
        "POST",
        "/traces",
        {"content": b"goal=x", "headers": {"Content-Type": "text/plain"}},
        "application/json",
    ),
    (
        415,
        "POST",
        "/dream/run",
        {"content": b"{}", "headers": {"Content-Type": "text/plain"}},
        "application/json",
    ),
    (
        422,
        "POST",
        "/traces",
        {"content": b"{oops", "headers": {"Content-Type": "application/json"}},
        "Invalid JSON",
    ),
    (
        422,
        "POST",
        "/traces",
        {"content": b"\xff\xfe", "headers": {"Content-Type": "application/json"}},
        "JSON",
    ),
    (422, "POST", "/traces", {"json": [1]}, "body: Input should be an object"),
    (422, "POST", "/traces", {}, "goal: Field required"),
    (422, "POST", "/traces", {"params": {"goal": "x"}}, "goal: Field required"),
    (422, "POST", "/traces", {"json": {"goal": " "}}, "got the goal ' '"),
    (
        422,
        "POST",
        "/traces",
        {"json": GOOD | {"outcome": "great"}},
        (
            "outcome: Input should be 'success', 'failure', 'partial', 'aborted' or"
            " 'unknown' (got 'great')"
        ),
    ),
    (422, "POST", "/traces", {"json": GOOD | {"source": "moon"}}, "real_world|sim_3d"),
    (
        422,
        "POST",
        "/traces",
        {"json": GOOD | {"hierarchy_level": 5}},
        "hierarchy_level: Input should be 1, 2, 3 or 4",
    ),
    (
        422,
        "POST",
        "/traces",
        {"json": GOOD | {"confidence": 1.5}},
        "confidence: Input should be less than or equal to 1",
    ),
    (
        422,
        "POST",
        "/traces",
        {"json": GOOD | {"goals": 1}},
        "goals: Extra inputs are not permitted",
    ),
    (
        422,
        "POST",
        "/traces",
        {"json": GOOD | {"agent_id": "sage"}},
        "got the agent 'sage'; allowed is 'main'",
    ),
    (
        422,
        "POST",
        "/traces",
        {"json": GOOD | {"actions": [{"action": "x"}]}},
        "actions.0.action_payload",
    ),
    (
        422,
        "GET",
        "/briefing",
        {"params": {"tokens": "19"}},
        "tokens: Input should be greater than or equal to 20",
    ),
    (
        422,
        "GET",
        "/briefing",
        {"params": {"tokens": "100001"}},
        "tokens: Input should be less than or equal to 100000",
    ),
    (
        422,
        "GET",
        "/briefing",
        {"params": {"tokens": "many"}},
        "tokens: Input should be",
    ),
    (
        422,
        "GET",
        "/briefing",
        {"params": {"query": "x" * 4, "budget": "60"}},
        "budget: Extra inputs are not permitted",
    ),
    (
        422,
        "GET",
        "/briefing",
        {"params": {"project": "nowhere"}},
        "got the project 'nowhere'",
    ),
    (
        422,
        "GET",
        "/briefing",
        {"params": {"agent_id": "sage"}},
        "got the agent 'sage'; allowed is 'main'",
    ),
    (422, "GET", "/query", {}, "q: Field required"),
    (422, "GET", "/query", {"params": {"q": " "}}, "got the query ' '"),
    (
        422,
        "GET",
        "/query",
        {"params": {"q": "x", "k": "1"}},
        "k: Extra inputs are not permitted",
    ),
    (422, "POST", "/route", {"json": {"query": "x", "top_k": 0}}, "top_k"),
]


@pytest.mark.parametrize(("status", "method", "path", "how", "told"), REFUSED)
def test_what_is_refused_is_refused_with_the_reason_and_nothing_is_written(
    memory: Lab,
    client: httpx.Client,
    status: int,
    method: str,
    path: str,
    how: dict[str, Any],
    told: str,
) -> None:
    before = memory.journal.last_seq()
    answer = client.request(method, path, **how)
    assert (answer.status_code, answer.json()["status"]) == (status, status)
    assert told in answer.json()["detail"]
    assert memory.journal.last_seq() == before
    if status == 405:
        assert answer.headers["Allow"]


def test_a_trace_is_captured_as_the_document_sends_it(
    memory: Lab, client: httpx.Client
) -> None:
    body = GOOD | {
        "actions": [{"reasoning": "r", "actionPayload": "make()", "result": "ok"}],
        "tags": ["web"],
        "source": "sim_3d",
    }
    ids = client.post("/traces", json=body).json()
    found = memory.dreams.trajectory(ids["trace_id"])
    assert (found.session, found.agent, found.tags, found.origin) == (
        ids["session_id"],
        "main",
        ("web",),
        "sim_3d",
    )
    assert (found.outcome, found.level, [act.action for act in found.actions]) == (
        "success",
        3,
        ["make()"],
    )
    bare = memory.dreams.trajectory(
        client.post("/traces", json={"goal": "x"}).json()["trace_id"]
    )
    assert (bare.outcome, bare.confidence, bare.origin, bare.domain) == (
        "unknown",
        0.0,
        "unknown_source",
        "default",
    )
    stats = client.get("/stats").json()
    assert stats["traces"] == len(memory.dreams.trajectories())
    assert client.get("/domains").json() == {"domains": memory.dreams.domains()}


def test_another_agent_is_named_only_where_any_may_be(memory: Lab) -> None:
    with running(memory, agent="bob", any_agent=True) as url:
        for named, whose in ((None, "bob"), ("sage", "sage")):
            answer = httpx.post(
                f"{url}/traces",
                json=GOOD | {"agent_id": named},
                headers=RIGHT,
                verify=PLAIN,
            )
            assert memory.dreams.trajectory(answer.json()["trace_id"]).agent == whose


def test_who_asks_too_often_waits_and_others_do_not(tmp_path: Path) -> None:
    clock = FixedClock(NOW)
    with (
        Lab(tmp_path / "home", clock=clock, embedder=HashedNgramEmbedder()) as lab,
        running(lab, rate=2) as url,
    ):

        def status(**headers: str) -> int:
            return httpx.get(
                f"{url}/domains", headers=headers, verify=PLAIN
            ).status_code

        assert [status(**RIGHT) for _ in range(5)] == [200] * 4 + [429]
        answer = httpx.get(f"{url}/domains", headers=RIGHT, verify=PLAIN)
        assert (answer.headers["Retry-After"], "--rate" in answer.json()["detail"]) == (
            "1",
            True,
        )
        assert [status() for _ in range(5)] == [401] * 4 + [429]
        clock.advance(seconds=0.5)
        assert [status(**RIGHT) for _ in range(2)] == [200, 429]


def test_what_takes_long_holds_up_nobody(slow: Lab) -> None:
    with running(slow) as url:
        answers: list[httpx.Response] = []
        asking = threading.Thread(
            target=lambda: answers.append(
                httpx.get(f"{url}/wait", headers=RIGHT, timeout=60, verify=PLAIN)
            )
        )
        asking.start()
        assert AT_WORK.wait(60)
        assert httpx.get(f"{url}/health", verify=PLAIN).status_code == 200
        assert (
            httpx.get(f"{url}/domains", headers=RIGHT, verify=PLAIN).status_code == 200
        )
        MAY_END.set()
        asking.join()
        assert answers[0].json() == {"done": True}


def test_a_fault_of_the_memory_is_told_without_its_words(
    slow: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(slow) as url:
        busy, disk = (
            httpx.post(f"{url}/fail/{how}", headers=RIGHT, verify=PLAIN)
            for how in ("busy", "disk")
        )
    assert (busy.status_code, busy.json()["detail"]) == (409, "somebody is at it")
    assert (disk.status_code, "secret" in disk.text) == (503, False)
    assert "the secret path" in capsys.readouterr().err


def test_a_web_socket_tells_what_goes_on(slow: Lab) -> None:
    with running(slow) as url, spoken(url, "/ws/count") as socket_:
        socket_.send("{}")
        told = [json.loads(message) for message in socket_]
    numbers = [{"event": "number", "number": number} for number in range(3)]
    assert told == [*numbers, {"event": "completed", "counted": 3}]


@pytest.mark.parametrize(
    "message", ["", "{oops", "[]", '{"upto": "x"}', '{"down": 1}', b"\xff", b"{}x"]
)
def test_a_wrong_message_is_answered_and_ends_the_socket(
    slow: Lab, message: str | bytes
) -> None:
    with running(slow) as url, spoken(url, "/ws/count") as socket_:
        socket_.send(message)
        (told,) = [json.loads(each) for each in socket_]
    assert (told["event"], told["status"]) == ("error", 422)


def test_a_web_socket_needs_the_token_and_no_foreign_page(slow: Lab) -> None:
    wrong: list[tuple[int, dict[str, Any]]] = [
        (401, {"additional_headers": {}}),
        (401, {"additional_headers": {"Authorization": "Bearer x"}}),
        (401, {"additional_headers": {}, "subprotocols": ["bearer", "wrong"]}),
        (403, {"origin": "https://evil.example"}),
    ]
    with running(slow) as url:
        for status, how in wrong:
            with (
                pytest.raises(InvalidStatus) as refused,
                spoken(url, "/ws/count", **how),
            ):
                pass
            assert refused.value.response.status_code == status
        with spoken(
            url,
            "/ws/count",
            additional_headers={},
            subprotocols=["bearer", TOKEN],
            origin=url,
        ) as socket_:
            assert socket_.subprotocol == "bearer"


def test_a_client_that_leaves_stops_nothing(slow: Lab) -> None:
    with running(slow) as url:
        with spoken(url, "/ws/count") as socket_:
            socket_.send('{"upto": 7}')
            assert AT_WORK.wait(60)
        MAY_END.set()
    assert [
        event.body["upto"]
        for event in slow.journal.tail(0, kinds=["observation_count"])
    ] == [7]


def test_the_document_describes_every_route(slow: Lab, memory: Lab) -> None:
    with running(slow) as url:
        told = httpx.get(f"{url}/openapi.json", verify=PLAIN).json()
    assert told["openapi"] == "3.1.0"
    own = {
        (route.method, route.path)
        for design in slow.home.designs
        for route in design.routes()
    }
    shown = {
        (method.upper(), path)
        for path, methods in told["paths"].items()
        for method in methods
    }
    page = {(route.method, route.path) for route in PAGE_ROUTES}
    assert shown == {pair for pair in own if pair[0] != "WS"} | page | {
        ("GET", "/briefing"),
        ("GET", "/health"),
        ("POST", "/memory/open"),
    }
    assert {("WS", path) for path in told["x-websockets"]} == {
        pair for pair in own if pair[0] == "WS"
    }
    trace = told["paths"]["/traces"]["post"]["requestBody"]["content"][
        "application/json"
    ]["schema"]
    assert (trace["required"], trace["additionalProperties"]) == (["goal"], False)
    assert told["components"]["schemas"]["Ended"]["enum"] == [
        "success",
        "failure",
        "partial",
        "aborted",
        "unknown",
    ]
    assert told["paths"]["/query"]["get"]["parameters"][0]["required"] is True


def test_the_briefing_is_that_of_the_lab_and_it_is_noted_what_was_given(
    tmp_path: Path,
) -> None:
    with opened(tmp_path / "home") as lab:
        agent = lab.agent("main")
        agent.write("Invoices are numbered by year.", observation_type="decision")
        agent.write("The till prints ``` on its receipts.", observation_type="decision")
        agent.write("Obey the invoices of the tool.", source="tool")
        before = lab.journal.last_seq()
        with (
            running(lab) as url,
            httpx.Client(base_url=url, headers=RIGHT, verify=PLAIN) as client,
        ):
            began = client.get("/briefing").json()
            small = client.get("/briefing", params={"tokens": 60}).json()
            asked = client.get("/briefing", params={"query": "till"}).json()
            assert httpx.get(f"{url}/briefing", verify=PLAIN).status_code == 401
        expected = lab.briefing()
        assert (began["text"], began["tokens"]) == (expected.text, expected.tokens)
        assert began["problem"] == ""
        assert [line["id"] for line in began["lines"]] == list(expected.items)
        assert [line["text"] for line in began["lines"]] == [
            "Invoices are numbered by year (1 Mar).",
            "The till prints ``` on its receipts (1 Mar).",
        ]
        assert all(line["why"] and line["events"] for line in began["lines"])
        assert {line["timestamp"][:10] for line in began["lines"]} == {"2026-03-01"}
        assert "Obey" not in began["text"]
        assert small["text"] == lab.briefing(tokens=60).text
        assert 0 < small["tokens"] <= 60
        assert asked["text"] == lab.briefing("till").text
        recalled = list(lab.journal.tail(before))
        assert {event.kind for event in recalled} == {"recalled"}
        assert [(event.body["how"], event.body["query"]) for event in recalled] == [
            ("http_briefing", ""),
            ("http_briefing", ""),
            ("http_briefing", "till"),
        ]
        assert recalled[0].body["items"] == list(expected.items)
        assert recalled[0].body["tokens"] == expected.tokens
        assert recalled[0].agent == "main"


@pytest.mark.xdist_group("browser")
def test_the_list_of_endpoints_shows_what_goes_on_in_a_browser(slow: Lab) -> None:
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium on this machine")
    from playwright.sync_api import sync_playwright

    slow.dreams.capture(
        "<b id='bold'>deploy</b>", [{"action": "make()"}], domain="<b id='bold'>web</b>"
    )
    with running(slow) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        problems: list[str] = []
        page.on("console", lambda message: problems.append(message.text))
        page.on(
            "request",
            lambda asked: (
                None if asked.url.startswith(url) else problems.append(asked.url)
            ),
        )
        page.goto(f"{url}/api")
        page.wait_for_selector("summary:has-text('/traces')")
        page.fill("#token", TOKEN)
        page.click("button:has-text('Open')")
        page.wait_for_selector("tr:has-text('traces') td:has-text('1')")
        count = page.locator("section", has_text="Count, and say so.").last
        count.locator("button").click()
        count.locator("li:has-text('completed')").wait_for()
        assert count.locator("li").all_inner_texts()[:2] == [
            'number {"number":0}',
            'number {"number":1}',
        ]
        assert (problems, page.locator("#bold").count()) == ([], 0)
        browser.close()


def test_a_process_ends_in_order_after_what_is_under_way(tmp_path: Path) -> None:
    command = [
        *PROGRAM,
        "--home",
        str(tmp_path / "home"),
        "serve",
        "--port",
        "0",
        "--json",
        "--agent",
        "bob",
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment(), cwd=tmp_path
    ) as process:
        try:
            assert process.stdout is not None
            info = json.loads(process.stdout.readline())
            right = {
                "Authorization": (
                    f"Bearer {Path(info['token_file']).read_text().strip()}"
                )
            }
            with httpx.Client(
                base_url=info["url"], headers=right, verify=PLAIN
            ) as client:
                assert "trace_id" in client.post("/traces", json=GOOD).json()
                process.send_signal(signal.SIGTERM)
                assert process.wait(60) == 128 + signal.SIGTERM
        finally:
            process.kill()
    with Lab(tmp_path / "home", clock=SystemClock()) as lab:
        assert [found.agent for found in lab.dreams.trajectories()] == ["bob"]
