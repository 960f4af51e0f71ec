"""What a model client refuses before anything is sent, and that its refusals show no
secret.
"""

from __future__ import annotations

from typing import Any

import pytest
from hostile_server import HostileServer
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab import ConfigError, InvalidInput, Settings
from theorex_lab.core.settings import ModelSettings
from theorex_lab.dispatch.llm import ModelClient, ask
from theorex_lab.search.endpoint import endpoint_url, is_loopback, masked_url

LOCAL = "http://127.0.0.1:8080"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:8080",
        "ftp://127.0.0.1",
        "file:///etc/passwd",
        "http://",
        "http://[::1",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:0",
        "http://@127.0.0.1",
        "http://127.0.0.1:8080/v1?key=1",
        "http://example.com/v1",
        "https://127.0.0.1.example.com",
        "http://localhost.example.com",
        "http://localhost@example.com",
        "http://192.168.0.7:8080",
        "http://169.254.169.254/latest",
        "http://0.0.0.0:8080",
        "http://[::]:8080",
        "http://2130706433",
    ],
)
def test_an_address_is_a_loopback_address(url: str) -> None:
    with pytest.raises(ConfigError, match="model url"):
        ModelClient(url, "model")


@pytest.mark.parametrize(
    "url",
    [
        "http://user:hunter2@127.0.0.1:8080",
        "http://user:hunter2@example.com",
        "http://user:hun/ter2@hunter2@127.0.0.1",
        "http://hunter2@127.0.0.1",
        "http://127.0.0.1/v1?key=hunter2",
        "user:hunter2@host",
        "HTTPS://user:hunter2@[::1",
        "http://user:hunter2\n@host",
    ],
)
def test_a_refused_address_is_shown_without_its_secrets(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ModelClient(url, "model")
    assert "***" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    settings = Settings(models={"m": ModelSettings(tier="small", url=url)})
    assert "hunter2" not in str(ask(["m"], "hello", settings).attempts)


@given(st.text(), st.text(min_size=1))
def test_no_text_before_an_at_sign_is_ever_shown(before: str, host: str) -> None:
    assert "pass-word" not in masked_url(f"{before}pass-word@{host}")


@given(st.text())
def test_an_address_is_allowed_or_a_config_error(url: str) -> None:
    try:
        made = endpoint_url(url, "chat/completions", what="model")
    except ConfigError:
        return
    assert made.startswith(("http://", "https://"))


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("", False),
        ("localhost.", False),
        ("10.0.0.1", False),
        ("127.0.0.1.nip.io", False),
        ("0", False),
    ],
)
def test_hosts_of_this_machine(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


@pytest.mark.parametrize(
    "options",
    [
        {"model": ""},
        {"timeout_seconds": 0},
        {"timeout_seconds": -1.0},
        {"timeout_seconds": float("nan")},
        {"timeout_seconds": float("inf")},
        {"max_response_bytes": 0},
        {"attempts": 0},
        {"api_key": ""},
        {"api_key": "sk-hunter2\r\nX-Other: 1"},
        {"api_key": "sk-hunter2-ключ"},
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        ModelClient(LOCAL, **{"model": "model", **options})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "prompt",
    [
        [],
        None,
        42,
        {"role": "user", "content": "x"},
        ["hello"],
        [{"role": "user"}],
        [{"role": "root", "content": "x"}],
        [{"role": "user", "content": None}],
        [{"role": "user", "content": ["x"]}],
        [{"role": "user", "content": "x", "name": "y"}],
    ],
)
def test_a_prompt_of_another_shape_sends_nothing(prompt: Any) -> None:
    with HostileServer() as server:
        with (
            ModelClient(server.url, "model") as client,
            pytest.raises(InvalidInput, match="allowed|role"),
        ):
            client.complete(prompt)
        with pytest.raises(InvalidInput):
            ask(
                ["m"],
                prompt,
                Settings(models={"m": ModelSettings(tier="small", url=server.url)}),
            )
        assert server.requests == []


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "number-ish"},
        {"minimum": "low"},
        {"required": "score"},
        ["type"],
        "object",
        {"pattern": "("},
        {"properties": []},
        {"$ref": "#/nowhere"},
        {"$ref": "http://127.0.0.1:9/"},
        {"$ref": "file:///etc/hosts"},
    ],
)
def test_a_schema_that_is_none_sends_nothing(schema: Any) -> None:
    with HostileServer() as server:
        with (
            ModelClient(server.url, "model") as client,
            pytest.raises(InvalidInput, match="JSON schema that is none"),
        ):
            client.complete("hello", json_schema=schema)
        assert server.requests == []


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), 1e12])
def test_a_call_with_a_timeout_out_of_range_sends_nothing(seconds: float) -> None:
    with HostileServer() as server:
        with (
            ModelClient(server.url, "model") as client,
            pytest.raises(ConfigError, match="timeout"),
        ):
            client.complete("hello", timeout_seconds=seconds)
        assert server.requests == []
