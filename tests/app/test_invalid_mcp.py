"""What the MCP server refuses: each error in its place, with the code that the standard
gives it, and nothing written.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from faults import opened
from hypothesis import given, settings
from hypothesis import strategies as st
from test_mcp import PLAIN, TOKEN, call, headers, post, request, served

from theorex_lab import InvalidInput, Lab, ModelUnavailable, StorageError
from theorex_lab.app.server.auth import RequestRefused, check_message, read_token
from theorex_lab.app.server.mcp import build_server
from theorex_lab.core.errors import NewerVersion
from theorex_lab.core.settings import ConfigError

PARSE = -32700
INVALID = -32600
METHOD = -32601
PARAMS = -32602
INTERNAL = -32603
MODERN = {"MCP_Protocol_Version": "2026-07-28"}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with opened(tmp_path_factory.mktemp("mcp") / "home") as lab:
        yield lab


@pytest.fixture(scope="module")
def url(memory: Lab) -> Iterator[str]:
    with served(memory) as address:
        yield address


@pytest.fixture(autouse=True)
def nothing_is_written(memory: Lab) -> Iterator[None]:
    before = memory.journal.last_seq()
    yield
    assert memory.journal.last_seq() == before


def deep(levels: int) -> bytes:
    return (
        json.dumps(call("write", text="DEEP"))
        .replace('"DEEP"', "[" * levels + "]" * levels)
        .encode()
    )


NO_JSON = [
    b"",
    b" ",
    b"{oops",
    b"{}{}",
    b"\xff\xfe",
    b'{"jsonrpc":"2.0","id":"\xff","method":"ping"}',
    b"'a'",
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}',
    b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
    json.dumps(request("ping")).encode("utf-16"),
    b"\xef\xbb\xbf" + json.dumps(request("ping")).encode(),
    deep(250),
    deep(1_000),
    deep(100_000),
    b"[" * 100_000,
    b'{"a":' * 50_000,
]
NO_REQUEST: list[Any] = [
    [],
    [request("ping")],
    None,
    1,
    "ping",
    {},
    {"jsonrpc": "2.0"},
    {"jsonrpc": "2.0", "id": 3},
    {"jsonrpc": "2.0", "id": 3, "method": 5},
    {"id": 3, "method": "ping"},
    {"jsonrpc": "1.0", "id": 3, "method": "ping"},
    {"jsonrpc": 2.0, "id": 3, "method": "ping"},
    {"jsonrpc": "2.0", "id": 3, "method": "ping", "params": "x"},
    {"jsonrpc": "2.0", "id": 3, "method": "ping", "params": None},
    {"jsonrpc": "2.0", "id": 3, "result": {}},
    {"jsonrpc": "2.0", "id": 3, "error": {"code": 1, "message": "x"}},
    request("ping", None),
    request("ping", 1.5),
    request("ping", True),
    request("ping", [1]),
    request("ping", {}),
]


def error_of(answer: httpx.Response) -> dict[str, Any]:
    """The error of an answer, which is one whole JSON-RPC message and tells nothing of
    this machine.
    """
    body = answer.json()
    assert set(body) == {"jsonrpc", "id", "error"}
    assert body["jsonrpc"] == "2.0"
    assert "Traceback" not in answer.text
    assert ".py" not in answer.text
    return dict(body["error"])


@pytest.mark.parametrize("more", [{}, MODERN], ids=["handshake", "modern"])
@pytest.mark.parametrize("content", NO_JSON, ids=lambda content: repr(content[:20]))
def test_what_is_no_json(url: str, content: bytes, more: dict[str, str]) -> None:
    answer = post(url, content, **more)
    assert (answer.status_code, answer.json()["id"], error_of(answer)["code"]) == (
        400,
        None,
        PARSE,
    )


@pytest.mark.parametrize("more", [{}, MODERN], ids=["handshake", "modern"])
@pytest.mark.parametrize("content", NO_REQUEST, ids=repr)
def test_what_is_no_request(url: str, content: Any, more: dict[str, str]) -> None:
    answer = post(url, content, **more)
    known = isinstance(content, dict) and content.get("id") == 3
    assert (answer.status_code, answer.json()["id"], error_of(answer)["code"]) == (
        400,
        3 if known else None,
        INVALID,
    )


@pytest.mark.parametrize("identity", [7, "7", "a-b"])
@pytest.mark.parametrize("method", ["nope", "", "tools/", "ping ", "Ping", "__init__"])
def test_an_unknown_method(url: str, method: str, identity: object) -> None:
    answer = post(url, request(method, identity))
    assert (error_of(answer)["code"], answer.json()["id"]) == (METHOD, identity)


WRONG_PARAMETERS: list[dict[str, Any]] = [
    {**request("ping"), "params": [1]},
    request("tools/call"),
    request("tools/call", name=3),
    request("tools/call", name="status", arguments=[1]),
    call("nope"),
    call("STATUS"),
    call("boot_inject"),
    call("\n"),
    call("search"),
    call("write"),
    call("search", query=5),
    call("search", query="x", limit=0),
    call("search", query="x", limit=101),
    call("search", query="x", limit=2.5),
    call("search", query="x", surplus=1),
    call("status", agent="main"),
    call("status", agent_id=3),
    call("status", agent_id="a" * 65),
    call("write", text="x y", source="user"),
    call("write", text="x y", source=""),
    call("write", text="x y", tags=5),
    call("write", text="x y", tags=["t"] * 33),
    call("write", text="x y", tags=["t" * 65]),
    call("write", text="x y", type="t" * 33),
    call("write", text="x y", session="s" * 129),
    call("promote", force=[3]),
    request("resources/read"),
    request("resources/read", uri=3),
    request("resources/read", uri="theorex://nope"),
    request("resources/read", uri="file:///etc/passwd"),
    request("resources/read", uri="theorex://context/../x/claude-sonnet"),
    request("resources/read", uri="theorex://context/..%2Fx/claude-sonnet"),
    request("resources/read", uri="theorex://context/UPPER/claude-sonnet"),
    request("initialize"),
    request("prompts/get", name="x"),
]


@pytest.mark.parametrize(
    "content", WRONG_PARAMETERS, ids=lambda content: json.dumps(content["params"])[:60]
)
def test_wrong_parameters(url: str, content: dict[str, Any]) -> None:
    error = error_of(post(url, content))
    assert error["code"] == PARAMS
    assert len(error["message"]) < 300


def test_a_wrong_argument_is_named_with_what_is_taken(url: str) -> None:
    assert error_of(post(url, call("nope")))["message"] == (
        "there is no tool 'nope'; the tools are status, search, write, boot-inject, promote"
    )
    assert error_of(post(url, call("search", query="x", top=3)))["message"] == (
        "search has no argument 'top'; it takes query, limit, agent_id, cold, kinds, project,"
        " history"
    )
    assert "query" in error_of(post(url, call("search")))["message"]


REFUSED_BY_THE_MEMORY = [
    *(
        call("status", agent_id=name)
        for name in (
            "../x",
            "..",
            "a..b",
            "/etc",
            "A",
            "",
            ".a",
            "a/b",
            "a\n",
            "a'; --",
        )
    ),
    *(
        call(tool, **more, agent_id="../x")
        for tool, more in (
            ("search", {"query": "x"}),
            ("write", {"text": "x y"}),
            ("promote", {}),
            ("boot-inject", {}),
        )
    ),
    call("write", text=""),
    call("write", text=" \n"),
    call("write", text="a\0b"),
    call("write", text="x" * 65_537),
    call("write", text="x y", type="../a"),
    call("write", text="x y", session="a/b"),
    call("write", text="x y", tags=[" "]),
    call("search", query=""),
    call("search", query="a\0b"),
    call("search", query="x" * 65_537),
]


@pytest.mark.parametrize(
    "content",
    REFUSED_BY_THE_MEMORY,
    ids=lambda content: json.dumps(content["params"])[:60],
)
def test_what_the_memory_refuses_is_told_to_the_model(
    url: str, content: dict[str, Any], memory: Lab
) -> None:
    result = post(url, content).json()["result"]
    assert result["isError"] is True
    (told,) = result["content"]
    assert told["text"].startswith(
        f"Error executing tool {content['params']['name']}: got "
    )
    assert "allowed" in told["text"] or "write a sentence" in told["text"]
    assert str(memory.folder) not in told["text"]
    assert len(told["text"]) < 300


WRONG_TOKENS = [
    "",
    "Bearer",
    "Bearer wrong",
    f"Bearer {TOKEN}x",
    f"Bearer {TOKEN[:-1]}",
    TOKEN,
    f"Basic {TOKEN}",
    "Bearer té",
]


@pytest.mark.parametrize("given", [None, *WRONG_TOKENS])
def test_a_missing_or_wrong_token(url: str, given: str | None) -> None:
    sent = [
        (name, value.encode())
        for name, value in headers().items()
        if name != "Authorization"
    ]
    sent += [] if given is None else [("Authorization", given.encode("latin-1"))]
    for path in ("", "x", "/../health"):
        answer = httpx.post(url + path, json=call("status"), headers=sent, verify=PLAIN)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (
            401,
            "Bearer",
        )
        assert error_of(answer)["code"] == INVALID
        assert TOKEN not in answer.text


FOREIGN_ORIGINS = [
    "null",
    "http://evil.example",
    "https://evil.example:18800",
    "http://127.0.0.1.evil.example",
    "file://",
    "http://localhost@evil.example",
    "chrome-extension://abc",
    "localhost",
    "",
    "ftp://localhost",
    "http://[::2]",
]
FOREIGN_HOSTS = [
    "evil.example",
    "evil.example:18800",
    "127.0.0.1.evil.example",
    "localhost.evil.example:80",
    "",
    "127.0.0.1:evil",
    "[::2]:80",
]


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
def test_a_page_of_another_origin(url: str, origin: str) -> None:
    answer = post(url, call("status"), Origin=origin)
    assert (answer.status_code, error_of(answer)["code"]) == (403, INVALID)


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_a_name_that_was_bound_to_this_machine_elsewhere(url: str, host: str) -> None:
    answer = post(url, call("status"), Host=host)
    assert "--allowed-host" in answer.text
    assert (answer.status_code, error_of(answer)["code"]) == (421, INVALID)
    health = httpx.get(
        url.removesuffix("mcp") + "health", headers={"Host": host}, verify=PLAIN
    )
    assert health.status_code == 421


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "",
        "application/x-www-form-urlencoded",
        "application/jsonp",
        "text/json",
    ],
)
def test_a_form_may_not_post(url: str, kind: str) -> None:
    answer = post(url, call("status"), Content_Type=kind)
    assert (answer.status_code, error_of(answer)["code"]) == (415, INVALID)


@pytest.mark.parametrize(
    "method", ["GET", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"]
)
def test_other_methods(url: str, method: str) -> None:
    answer = httpx.request(
        method,
        url,
        headers=headers(Accept="text/event-stream"),
        timeout=60,
        verify=PLAIN,
    )
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


@pytest.mark.parametrize("path", ["/", "/mcp/", "/MCP", "/mcp/x", "//mcp", "/health"])
def test_other_paths(url: str, path: str) -> None:
    assert post(url.removesuffix("/mcp") + path, call("status")).status_code == 404


@pytest.mark.parametrize("chunked", [False, True])
def test_ten_megabytes(url: str, chunked: bool) -> None:
    """By a client that sends all before it reads, as most do: it must get the answer,
    not a broken connection.
    """
    connection = http.client.HTTPConnection(
        "127.0.0.1", httpx.URL(url).port or 0, timeout=60
    )
    parts = (b" " * 100_000 for _ in range(100)) if chunked else b" " * 10_000_000
    connection.request(
        "POST", "/mcp", body=parts, headers=headers(), encode_chunked=chunked
    )
    answer = connection.getresponse()
    body = json.loads(answer.read())
    connection.close()
    assert (answer.status, body["error"]["code"], body["id"]) == (413, INVALID, None)
    assert post(url, request("ping")).status_code == 200


def test_the_largest_text_passes(url: str, memory: Lab) -> None:
    """Whatever its characters need in JSON, what the setting allows reaches the memory,
    which here refuses the last.
    """
    content = json.dumps(call("write", text="\x01" * 65_535 + "\0")).encode()
    assert len(content) > 6 * 65_536
    assert "NUL" in post(url, content).json()["result"]["content"][0]["text"]


SECRET = "/srv/private/theorex.db"
ERRORS = [
    StorageError(SECRET),
    NewerVersion(SECRET),
    ModelUnavailable(SECRET),
    ConfigError(SECRET),
    RuntimeError(SECRET),
    OSError(5, SECRET),
    RecursionError(SECRET),
    MemoryError(SECRET),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_what_breaks_inside_stays_inside(
    url: str,
    memory: Lab,
    error: Exception,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise error

    for name in ("search", "status", "save_briefing", "agent", "briefing"):
        monkeypatch.setattr(memory, name, broken)
    monkeypatch.setattr("theorex_lab.designs.theorex.lifecycle.promote", broken)
    calls = [
        call("search", query="x"),
        call("status"),
        call("boot-inject"),
        call("boot-inject", query="x"),
        call("promote"),
        call("write", text="x y"),
    ]
    for content in calls:
        answer = post(url, content)
        assert answer.json()["result"]["isError"] is True
        assert SECRET not in answer.text
    resource = post(url, request("resources/read", uri="theorex://context"))
    assert error_of(resource)["code"] == INTERNAL
    assert SECRET not in resource.text


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"short",
        b"x" * 513,
        b"with a blank inside",
        "umlaut-ä-token-long".encode(),
        b"\xff" * 20,
        b"tab\tin the middle",
    ],
)
def test_a_file_that_holds_no_token(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "token").write_bytes(content)
    (tmp_path / "token").chmod(0o600)
    with pytest.raises((InvalidInput, StorageError), match="token"):
        read_token(tmp_path / "token")


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o602, 0o777])
def test_a_token_that_others_may_read_or_write_is_none(
    tmp_path: Path, mode: int
) -> None:
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(mode)
    with pytest.raises(InvalidInput, match=f"mode {mode:o}.*allowed is 600") as refused:
        read_token(tmp_path / "token")
    assert TOKEN not in str(refused.value)


def test_a_token_file_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="--token-file"):
        read_token(tmp_path / "file" / "token")
    with pytest.raises(StorageError, match="--token-file"):
        read_token(tmp_path)


@pytest.mark.parametrize("name", ["../x", "", "A", "a/b", "a" * 65])
def test_a_server_for_a_wrong_agent(memory: Lab, name: str) -> None:
    with pytest.raises(InvalidInput, match="agent id"):
        build_server(memory, agent=name)


def test_the_check_of_a_message_keeps_its_id() -> None:
    with pytest.raises(RequestRefused) as refused:
        check_message('{"jsonrpc": "2.0", "id": "x", "method": "ping", "params": [1]}')
    assert refused.value.answer()["id"] == "x"
    assert refused.value.answer()["error"]["code"] == PARAMS


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)
MEMBERS = {
    "jsonrpc": st.just("2.0") | JSON,
    "id": JSON,
    "method": st.text(max_size=6) | JSON,
    "params": JSON,
}


@settings(max_examples=100, deadline=None)
@given(
    st.binary()
    | (st.fixed_dictionaries({}, optional=MEMBERS) | JSON).map(
        lambda value: json.dumps(value).encode()
    )
)
def test_any_bytes_are_a_request_or_refused(content: bytes) -> None:
    try:
        check_message(content)
    except RequestRefused as error:
        refusal = error.answer()
    else:
        message = json.loads(content)
        assert message["jsonrpc"] == "2.0"
        assert isinstance(message["method"], str)
        assert isinstance(message.get("params", {}), dict)
        return
    assert refusal["error"]["code"] in (PARSE, INVALID, PARAMS)
    json.dumps(refusal, allow_nan=False)


LINES: list[tuple[bytes, object]] = [
    (b"{oops", (None, PARSE)),
    (b"\xff\xfe", (None, PARSE)),
    (deep(250), (None, PARSE)),
    (b"[" * 100_000, (None, PARSE)),
    (
        b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"write","arguments":{"text":"a\\ud800"}}}',
        (None, PARSE),
    ),
    (b"[]", (None, INVALID)),
    (b'{"jsonrpc":"2.0","id":"q"}', ("q", INVALID)),
    (b'{"jsonrpc":"2.0","id":"r","result":{}}', ("r", INVALID)),
    (b" " * 300_000 + b"x" * 300_000, (None, INVALID)),
    (b"", None),
    (b" \t\r", None),
    (b'{"jsonrpc":"2.0","id":"p","method":"ping","params":[1]}', ("p", PARAMS)),
    (b'{"jsonrpc":"2.0","method":"ping","params":[1]}', None),
    (b'{"jsonrpc":"2.0","method":"nope"}', None),
    (b'{"jsonrpc":"2.0","id":"last","method":"ping"}', ("last", 0)),
]
