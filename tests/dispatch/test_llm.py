"""Calls of a language model, each against a real server on loopback."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hostile_server import (
    FAILURES,
    HostileServer,
    after,
    close_at_once,
    completion,
    completion_body,
    cut_off,
    gzip_bomb,
    gzipped,
    hang,
    huge,
    redirect,
    reply,
    reset,
    slowly,
    status,
    trickle_body,
    trickle_headers,
)

from theorex_lab import ConfigError, ModelUnavailable, Settings
from theorex_lab.core.settings import ModelSettings, check_settings
from theorex_lab.dispatch.llm import Attempt, ModelClient, ask, client_for

SCORE = {
    "type": "object",
    "properties": {"score": {"type": "integer", "minimum": 0, "maximum": 100}},
    "required": ["score"],
    "additionalProperties": False,
}


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with HostileServer() as running:
        yield running


class Sleeper:
    """Takes the place of time.sleep and keeps what it was asked for."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)


def asked(server: HostileServer, **options: Any) -> ModelClient:
    return ModelClient(
        server.url, "model", **{"timeout_seconds": 60.0, "sleep": Sleeper(), **options}
    )


def refused(server: HostileServer, *, named: str, **options: Any) -> float:
    """Ask, expect ModelUnavailable with `named` in it, and give the seconds that it
    took.
    """
    with asked(server, **options) as client:
        started = time.monotonic()
        with pytest.raises(ModelUnavailable, match=named):
            client.complete("hello")
        return time.monotonic() - started


def test_a_call_sends_what_the_endpoint_expects_and_reads_its_answer(
    server: HostileServer,
) -> None:
    with asked(server, api_key="sk-secret", max_tokens=64) as client:
        answer = client.complete("hello", temperature=0.0, seed=7)
    assert (
        answer.text,
        answer.model,
        answer.prompt_tokens,
        answer.completion_tokens,
    ) == ("yes", "model", 12, 3)
    assert answer.tokens == 15
    assert not answer.cut
    assert answer.data is None
    assert 0 < answer.latency_ms < 5_000
    request = server.requests[0]
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer sk-secret"
    assert request.headers["accept-encoding"] == "identity"
    assert request.body == {
        "model": "model",
        "messages": [{"role": "user", "content": "hello"}],
        "max_tokens": 64,
        "temperature": 0.0,
        "seed": 7,
    }


def test_messages_are_sent_as_they_are_but_for_lone_surrogates(
    server: HostileServer,
) -> None:
    messages = [
        {"role": "system", "content": "Be brief. 你好"},
        {"role": "user", "content": "a\ud800b\x00"},
    ]
    with asked(server) as client:
        client.complete(messages)
    assert server.requests[0].body["messages"] == [
        messages[0],
        {"role": "user", "content": "a?b\x00"},
    ]
    assert "authorization" not in server.requests[0].headers


def test_calls_share_a_connection(server: HostileServer) -> None:
    with asked(server) as client:
        for _ in range(5):
            client.complete("hello")
    assert server.connections == 1


def test_an_answer_that_was_cut_says_so(server: HostileServer) -> None:
    server.then(completion("It was a dark and", finish_reason="length"))
    with asked(server) as client:
        assert client.complete("hello").cut


@pytest.mark.parametrize(
    "usage",
    [
        [],
        "12",
        {"prompt_tokens": "12"},
        {"prompt_tokens": -1},
        {"prompt_tokens": True},
        {"prompt_tokens": 2**60},
        {},
    ],
)
def test_token_counts_that_make_no_sense_are_none(
    server: HostileServer, usage: Any
) -> None:
    server.then(completion(usage=usage))
    with asked(server) as client:
        answer = client.complete("hello")
    assert (answer.prompt_tokens, answer.completion_tokens, answer.tokens) == (
        None,
        None,
        None,
    )


def test_a_lone_surrogate_of_the_answer_is_replaced(server: HostileServer) -> None:
    server.then(completion("a\ud800b"))
    with asked(server) as client:
        assert client.complete("hello").text == "a?b"


def test_proxies_of_the_environment_are_not_used(
    server: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with asked(server) as client:
        assert client.complete("hello").text == "yes"


# Time.


@pytest.mark.parametrize(
    "behaviour", [hang, trickle_headers, trickle_body], ids=lambda each: each.__name__
)
def test_a_reply_that_does_not_end_is_cut_at_the_deadline(
    server: HostileServer, behaviour: Any
) -> None:
    server.then(behaviour)
    # What the server sends has no end: without the deadline this would have none
    # either.
    assert (
        refused(
            server,
            named=r"no whole reply within 0.5 s: \w*Timeout",
            timeout_seconds=0.5,
        )
        > 0.45
    )
    assert len(server.requests) <= 1


def test_a_server_that_reads_nothing_is_cut_at_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with (
            ModelClient(url, "model", timeout_seconds=1.0) as client,
            pytest.raises(ModelUnavailable, match="within 1 s: "),
        ):
            client.complete("a" * (16 << 20))


def test_a_handshake_that_does_not_end_is_cut_at_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"https://127.0.0.1:{listening.getsockname()[1]}"
        with (
            ModelClient(url, "model", timeout_seconds=0.5) as client,
            pytest.raises(ModelUnavailable, match="within 0.5 s: "),
        ):
            client.complete("hello")


def test_localhost_is_found_where_only_one_of_its_addresses_listens(
    server: HostileServer,
) -> None:
    with ModelClient(
        f"http://localhost:{server.port}", "model", timeout_seconds=60.0
    ) as client:
        assert client.complete("hello").text == "yes"


def test_a_call_may_have_a_deadline_of_its_own(server: HostileServer) -> None:
    server.then(hang)
    with asked(server) as client, pytest.raises(ModelUnavailable, match="within 0.2 s"):
        client.complete("hello", timeout_seconds=0.2)


def test_slow_but_within_the_limit_is_fine(server: HostileServer) -> None:
    server.then(slowly(0.3, completion()))
    with asked(server) as client:
        assert client.complete("hello").latency_ms >= 290


def test_overlapping_calls_keep_their_own_deadlines(server: HostileServer) -> None:
    """Two threads on one client: the one is cut early, the other waits until it has its
    answer.
    """
    release = threading.Event()
    server.then(hang, after(release, completion()))
    outcomes: dict[str, str] = {}
    with asked(server) as client:

        def call(name: str, seconds: float) -> None:
            try:
                outcomes[name] = client.complete("hello", timeout_seconds=seconds).text
            except ModelUnavailable as error:
                outcomes[name] = str(error)

        threads = [threading.Thread(target=call, args=("short", 0.4))]
        threads[0].start()
        while not server.requests:
            time.sleep(0.005)
        threads.append(threading.Thread(target=call, args=("long", 60.0)))
        threads[1].start()
        threads[0].join()
        release.set()
        threads[1].join()
    assert "within 0.4 s" in outcomes["short"]
    assert outcomes["long"] == "yes"


# Size.


@pytest.mark.parametrize(
    ("behaviour", "most"),
    [(huge(50), 8 << 20), (gzip_bomb, 256 << 20)],
    ids=["50 MB", "a gzip bomb"],
)
def test_a_reply_past_the_limit_is_given_up_with_little_memory(
    server: HostileServer, behaviour: Any, most: int
) -> None:
    server.then(behaviour)
    with asked(server, max_response_bytes=1 << 20) as client:
        with pytest.raises(ModelUnavailable, match="more than 1048576 bytes"):
            client.complete("warm: the bomb itself is packed in this process")
        tracemalloc.start()
        with pytest.raises(ModelUnavailable, match="more than 1048576 bytes"):
            client.complete("hello")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < most


def test_a_reply_of_just_the_limit_is_read(server: HostileServer) -> None:
    content = json.dumps(completion_body("a" * 200_000)).encode()
    server.then(reply(content), gzipped(content))
    with asked(server, max_response_bytes=len(content)) as client:
        assert len(client.complete("hello").text) == 200_000
        assert len(client.complete("hello").text) == 200_000
    refused(server, named="more than", max_response_bytes=len(content) - 1)


def test_gzip_that_is_broken_cut_off_or_of_another_kind_is_refused(
    server: HostileServer,
) -> None:
    packed = gzip.compress(json.dumps(completion_body("a long answer " * 50)).encode())
    for content, encoding, named in [
        (b"not packed", "gzip", "broken content"),
        (packed[: len(packed) // 2], "gzip", "answered with"),
        (packed, "br", "answered with"),
    ]:
        server.then(reply(content, headers={"Content-Encoding": encoding}))
        refused(server, named=named)


# Trying again.


@pytest.mark.parametrize(
    "failure",
    [status(429), status(500), status(503), reset, close_at_once, cut_off],
    ids=lambda each: each.__name__,
)
def test_what_may_pass_is_tried_again(server: HostileServer, failure: Any) -> None:
    server.then(failure, failure, completion())
    sleeper = Sleeper()
    with asked(server, sleep=sleeper) as client:
        assert client.complete("hello").text == "yes"
    assert len(server.requests) == 3
    first, second = sleeper.waits
    assert 0.125 <= first <= 0.375
    assert 0.25 <= second <= 0.75


def test_the_wait_that_the_endpoint_asks_for_is_kept(server: HostileServer) -> None:
    server.then(
        status(429, Retry_After="2"),
        status(503, Retry_After="Fri, 31 Dec 1999 23:59:59 GMT"),
        completion(),
    )
    sleeper = Sleeper()
    with asked(server, sleep=sleeper) as client:
        assert client.complete("hello").text == "yes"
    assert sleeper.waits[0] == 2.0
    assert sleeper.waits[1] <= 0.75


def test_a_wait_past_the_deadline_is_not_begun(server: HostileServer) -> None:
    server.then(status(429, Retry_After="60"))
    sleeper = Sleeper()
    refused(server, named=r"status 429.*it asks for 60 s \(try 1\)", sleep=sleeper)
    assert sleeper.waits == []
    assert len(server.requests) == 1


def test_tries_end_after_the_last(server: HostileServer) -> None:
    server.then(status(500, "model is loading"))
    refused(server, named=r"status 500: 'model is loading' \(try 3\)")
    assert len(server.requests) == 3
    refused(server, named=r"\(try 1\)", attempts=1)


def test_waits_stay_within_the_deadline(
    server: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.then(status(500))
    sleeper = Sleeper()
    late = SimpleNamespace(monotonic=lambda: time.monotonic() + sum(sleeper.waits))
    monkeypatch.setattr("theorex_lab.search.wire.time", late)
    refused(
        server, named="status 500", timeout_seconds=1_000.0, attempts=100, sleep=sleeper
    )
    assert 200 < sum(sleeper.waits) < 1_000, (
        "each is about twice as long as the last; the next would have been too long"
    )
    assert len(server.requests) == len(sleeper.waits) + 1


@pytest.mark.parametrize("code", [204, 304, 400, 401, 403, 404, 422])
def test_what_will_not_pass_is_not_tried_again(
    server: HostileServer, code: int
) -> None:
    server.then(reply(b"" if code in (204, 304) else b"no such model", code))
    refused(server, named=f"status {code}")
    assert len(server.requests) == 1


def test_nobody_listening_is_told_at_once() -> None:
    server = HostileServer()
    with server:
        pass
    sleeper = Sleeper()
    refused(server, named="ConnectError", sleep=sleeper)
    assert sleeper.waits == []


# What an answer may be.


def test_redirects_are_not_followed(server: HostileServer) -> None:
    for code in (301, 302, 303, 307, 308):
        server.then(redirect("http://169.254.169.254/latest/meta-data/", code))
        refused(server, named="redirects, which are not followed")
    server.then(redirect(f"{server.url}/elsewhere"))
    refused(server, named="redirects")
    assert len(server.requests) == 6


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "other than a chat completion: ''"),
        (b"<html>Sign in</html>", "<html>Sign in"),
        (b"\xff\xfe\xfd", "other than"),
        (b"[]", "other than"),
        (b"null", "other than"),
        (b"[" * 100_000, "other than"),
        (b"9" * 10_000, "other than"),
        (b'{"choices": []}', "other than"),
        (b'{"choices": {}}', "other than"),
        (b'{"choices": ["yes"]}', "other than"),
        (b'{"choices": [{"message": "yes"}]}', "other than"),
        (b'{"choices": [{"text": "yes"}]}', "other than"),
        (json.dumps(completion_body(42)).encode(), "no text"),
        (json.dumps(completion_body(["yes"])).encode(), "no text"),
        (json.dumps(completion_body(None)).encode(), "an empty text"),
        (json.dumps(completion_body("")).encode(), "an empty text"),
        (json.dumps(completion_body(" \n")).encode(), "an empty text"),
        (
            json.dumps(completion_body("", finish_reason="length")).encode(),
            "an empty text, cut at max_tokens",
        ),
    ],
)
def test_a_reply_that_is_no_answer_is_refused(
    server: HostileServer, content: bytes, named: str
) -> None:
    server.then(reply(content))
    refused(server, named=named)
    assert len(server.requests) == 1


def test_an_answer_to_a_schema_comes_parsed(server: HostileServer) -> None:
    server.then(completion(' {"score": 42}\n'))
    with asked(server) as client:
        answer = client.complete("hello", json_schema=SCORE)
    assert answer.data == {"score": 42}
    assert server.requests[0].body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": SCORE},
    }


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"score": "42"}', r"'type' of the schema at 'data.score'"),
        ('{"score": true}', "'type'"),
        ('{"score": 42.5}', "'type'"),
        ('{"score": null}', "'type'"),
        ('{"score": 101}', "'maximum'"),
        ('{"score": -1}', "'minimum'"),
        ('{"score": 42, "note": "x"}', "'additionalProperties'"),
        ("{}", "'required'"),
        ("[42]", "'type'"),
        ("42", "'type'"),
        ('{"score": 42, "score": 0}', "other than JSON"),
        ('{"score": NaN}', "other than JSON"),
        ('{"score": 1e999}', "other than JSON"),
        ('{"\\ud800": 1}', "other than JSON"),
        ('```json\n{"score": 42}\n```', "other than JSON"),
        ('The score is {"score": 42}', "other than JSON"),
        ("[" * 100_000, "other than JSON"),
    ],
)
def test_an_answer_that_breaks_its_schema_is_refused(
    server: HostileServer, text: str, named: str
) -> None:
    server.then(completion(text))
    with asked(server) as client, pytest.raises(ModelUnavailable, match=named):
        client.complete("hello", json_schema=SCORE)


def test_json_that_was_cut_is_said_to_be(server: HostileServer) -> None:
    server.then(completion('{"score": ', finish_reason="length"))
    with (
        asked(server) as client,
        pytest.raises(ModelUnavailable, match=r"cut at max_tokens"),
    ):
        client.complete("hello", json_schema=SCORE)


def test_errors_show_a_short_escaped_excerpt_and_no_key(server: HostileServer) -> None:
    key = "sk-short"
    server.then(
        status(
            401,
            f"bad key {key}, or Bearer abc, or ghp_{'a1' * 18}\x1b[2J" + "x" * 5_000,
        )
    )
    with (
        asked(server, api_key=key) as client,
        pytest.raises(ModelUnavailable) as caught,
    ):
        client.complete("hello")
    message = str(caught.value)
    assert "bad key ***, or Bearer ***" in message
    assert "ghp_" not in message
    assert "\x1b" not in message
    assert len(message) < 300


# Settings and the chain.


def settings_for(**urls: str | None) -> Settings:
    models = {
        name: ModelSettings(tier="small", url=url, cost_per_million_tokens=2.0)
        for name, url in urls.items()
    }
    return Settings(
        models=models, model_timeout_seconds=60.0, max_response_bytes=65_536
    )


def test_a_client_has_the_limits_and_the_key_of_the_settings(
    server: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = {"tier": "small", "url": server.url, "apiKeyEnv": "SOME_KEY"}
    settings = check_settings({"models": {"m": model}, "maxResponseBytes": 2_048})
    monkeypatch.setenv("SOME_KEY", " sk-1\n")
    server.then(completion(), completion("a" * 4_000), hang)
    with client_for("m", settings) as client:
        client.complete("hello")
        assert server.requests[0].headers["authorization"] == "Bearer sk-1"
        with pytest.raises(ModelUnavailable, match="more than 2048 bytes"):
            client.complete("hello")
    hasty = check_settings({"models": {"m": model}, "modelTimeoutSeconds": 0.2})
    with (
        client_for("m", hasty) as client,
        pytest.raises(ModelUnavailable, match=r"within 0.2 s"),
    ):
        client.complete("hello")
    monkeypatch.delenv("SOME_KEY")
    with pytest.raises(ModelUnavailable, match="SOME_KEY, which is not set"):
        client_for("m", settings)


def test_a_host_of_config_json_may_be_remote_and_a_default_may_not() -> None:
    remote = {"m": {"tier": "large", "url": "https://models.example.com"}}
    with client_for("m", check_settings({"models": remote})) as client:
        assert client.url == "https://models.example.com/v1/chat/completions"
    models = {"m": ModelSettings(tier="large", url="https://models.example.com")}
    by_default = Settings(models=models)
    vars(by_default).update(_given=frozenset())
    with pytest.raises(ConfigError, match="not on this machine"):
        client_for("m", by_default)


def test_the_chain_goes_on_until_one_answers(server: HostileServer) -> None:
    settings = settings_for(
        none=None,
        dead="http://127.0.0.1:1",
        broken="ftp://host",
        good=server.url,
        next=server.url,
    )
    answer = ask(
        ["none", "dead", "unknown", "broken", "good", "next"],
        "hello",
        settings,
        temperature=0.0,
    )
    assert answer.completion is not None
    assert answer.completion.text == "yes"
    assert [(attempt.model, attempt.success) for attempt in answer.attempts] == [
        ("none", False),
        ("dead", False),
        ("unknown", False),
        ("broken", False),
        ("good", True),
    ]
    assert answer.kinds == {
        "none": "refused",
        "dead": "silent",
        "unknown": "refused",
        "broken": "refused",
    }
    for failed, named in zip(
        answer.attempts,
        ["no url", "ConnectError", "known are", r"ftp://host"],
        strict=False,
    ):
        assert named in str(failed.error)
        assert (failed.latency_ms, failed.tokens, failed.cost) == (None, None, None)
    good = answer.attempts[-1]
    assert good == Attempt(
        "good",
        True,
        answer.completion.latency_ms,
        15,
        15 * 2.0 / 1e6,
        None,
        False,
        12,
        3,
    )
    assert server.requests[0].body["temperature"] == 0.0


ENDLESS = {
    "hangs",
    "trickles headers",
    "trickles the body",
}  # the rest answers at once, on a busy machine somewhat later
KINDS = {
    "silent": {
        "hangs",
        "trickles headers",
        "trickles the body",
        "cuts off",
        "closes at once",
        "resets",
        "no HTTP at all",
    },
    "busy": {"status 500", "status 429 for long"},
    "bad_reply": {
        "50 MB",
        "a gzip bomb",
        "a text that is none",
        "an empty text",
        "blanks",
        "no text",
    },
}


@pytest.mark.parametrize("name", FAILURES)
def test_every_way_of_failing_is_one_failed_attempt_and_falls_back(
    server: HostileServer, name: str
) -> None:
    with HostileServer(FAILURES[name]) as bad:
        settings = settings_for(bad=bad.url, good=server.url)
        patience = 0.3 if name in ENDLESS else 30
        clients = {
            "bad": ModelClient(
                bad.url, "bad", timeout_seconds=patience, sleep=Sleeper()
            )
        }
        answer = ask(["bad", "good"], "hello", settings, clients=clients)
        for client in clients.values():
            client.close()
    assert [attempt.success for attempt in answer.attempts] == [False, True]
    assert answer.attempts[0].latency_ms is None
    assert answer.attempts[0].error
    kind = next((kind for kind, names in KINDS.items() if name in names), "refused")
    assert answer.kinds == {"bad": kind}
    assert answer.attempts[0].unavailable is (kind != "bad_reply")
    assert sorted(clients) == ["bad", "good"]


def test_clients_are_kept_until_their_model_moves(server: HostileServer) -> None:
    clients: dict[str, ModelClient] = {}
    for _ in range(2):
        assert (
            ask(["m"], "hello", settings_for(m=server.url), clients=clients).completion
            is not None
        )
    assert server.connections == 1
    with HostileServer(completion("moved")) as other:
        answer = ask(["m"], "hello", settings_for(m=other.url), clients=clients)
    assert answer.completion is not None
    assert answer.completion.text == "moved"
    assert [client.url for client in clients.values()] == [
        f"{other.url}/v1/chat/completions"
    ]
    clients["m"].close()


def test_nobody_answers(server: HostileServer) -> None:
    server.then(completion(" "))
    answer = ask(["a", "a"], "hello", settings_for(a=server.url))
    assert answer.completion is None
    assert len(answer.attempts) == 1
    assert ask([], "hello", settings_for()).attempts == []
