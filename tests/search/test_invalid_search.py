"""Inputs that the search floor refuses, each before anything is changed or sent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from theorex_lab import ConfigError, HashedNgramEmbedder, InvalidInput
from theorex_lab.search.embed import HttpEmbedder, OnnxEmbedder, choose_embedder
from theorex_lab.search.fuse import best_first, fuse_reciprocal_rank
from theorex_lab.search.lexical import LexicalIndex
from theorex_lab.search.vectors import VectorCache, text_key

LOCAL = "http://127.0.0.1:8080"


@pytest.fixture
def lexical() -> LexicalIndex:
    index = LexicalIndex()
    index.add([["rowan", "plum"], ["rowan"]])
    return index


def test_documents_and_queries_are_lists_of_tokens(lexical: LexicalIndex) -> None:
    with pytest.raises(InvalidInput, match="tokenize"):
        lexical.add([["oak"], "a plain string"])
    with pytest.raises(InvalidInput, match="tokenize"):
        lexical.search("rowan")
    with pytest.raises(InvalidInput, match="tokenize"):
        lexical.scores("rowan")
    assert len(lexical) == 2
    assert lexical.search(["oak"])[0].tolist() == []


@pytest.mark.parametrize(
    "mask", [np.ones(1, bool), np.ones(3, bool), np.ones(2, int), np.ones((2, 1), bool)]
)
def test_a_mask_has_one_truth_value_a_document(
    lexical: LexicalIndex, mask: np.ndarray
) -> None:
    with pytest.raises(InvalidInput, match=r"bool\(2,\)"):
        lexical.search(["rowan"], mask)


def test_a_refused_limit_leaves_the_index_as_it_was(lexical: LexicalIndex) -> None:
    with pytest.raises(InvalidInput, match="-1"):
        lexical.search(["rowan"], limit=-1)
    assert lexical.scores(["plum"])[1] == 0
    assert lexical.search(["rowan"], limit=0)[0].tolist() == []


def test_limits_and_dimensions_have_a_floor() -> None:
    with pytest.raises(InvalidInput, match="limit -2"):
        best_first(np.arange(2), np.ones(2), -2)
    for make in (
        HashedNgramEmbedder,
        lambda number: VectorCache("folder", "model", number),
    ):
        with pytest.raises(InvalidInput, match="0 dimensions"):
            make(0)
    with pytest.raises(InvalidInput, match="''"):
        VectorCache("folder", "", 3)


def test_the_cache_takes_keys_of_16_bytes_and_finite_vectors_that_fit(
    tmp_path: Path,
) -> None:
    cache = VectorCache(tmp_path, "model", 2)
    keys = [text_key("a"), text_key("b")]
    vectors = np.eye(2, dtype=np.float32)
    for bad_keys, bad_vectors in (
        ([b"short", keys[1]], vectors),
        (keys[:1], vectors),
        (keys, vectors[:, :1]),
        (keys, vectors * np.float32(np.nan)),
    ):
        with pytest.raises(InvalidInput):
            cache.add(bad_keys, bad_vectors)
    with pytest.raises(InvalidInput, match="16 bytes"):
        cache.get([b"short"])
    assert list(tmp_path.glob("*.vectors")) == []


def test_reciprocal_rank_takes_no_negative_k() -> None:
    with pytest.raises(InvalidInput, match="-1"):
        fuse_reciprocal_rank([], k=-1)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:8080",
        "ftp://127.0.0.1/v1",
        "file:///etc/passwd",
        "http://",
        "http://[::1",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:0",
        "http://user:secret@127.0.0.1:8080",
        "http://127.0.0.1:8080/v1?key=1",
        "http://example.com/v1",
        "https://127.0.0.1.example.com",
        "http://localhost.example.com",
        "http://192.168.0.7:8080",
        "http://0.0.0.0:8080",
    ],
)
def test_an_endpoint_is_a_loopback_address(url: str) -> None:
    with pytest.raises(ConfigError, match="embedding url"):
        HttpEmbedder(url, "model")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080",
        "http://127.8.8.8",
        "http://localhost:1",
        "https://[::1]:8080",
    ],
)
def test_loopback_addresses_are_allowed_and_others_when_asked(url: str) -> None:
    assert HttpEmbedder(url, "model").url == f"{url}/v1/embeddings"
    assert (
        HttpEmbedder("https://example.com", "model", allow_remote=True).url
        == "https://example.com/v1/embeddings"
    )


def test_settings_of_embedders_are_checked() -> None:
    with pytest.raises(ConfigError, match="model name"):
        HttpEmbedder(LOCAL, "")
    with pytest.raises(ConfigError, match="timeout"):
        HttpEmbedder(LOCAL, "model", timeout_seconds=0)
    with pytest.raises(ConfigError, match="limit"):
        HttpEmbedder(LOCAL, "model", response_limit_bytes=0)


@pytest.mark.parametrize("half", [{"url": LOCAL}, {"model": "m"}])
def test_half_of_a_pair_of_settings_is_refused(half: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="both or neither"):
        choose_embedder(**half)


def test_a_string_is_not_a_list_of_texts() -> None:
    for embedder in (
        HashedNgramEmbedder(),
        HttpEmbedder(LOCAL, "m"),
        OnnxEmbedder(Path("m"), Path("t")),
    ):
        with pytest.raises(InvalidInput, match="one string"):
            embedder.embed("text")
