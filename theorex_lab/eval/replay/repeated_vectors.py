"""Compute the vectors of the same texts once, for all designs of a comparison.

Designs that replay one log store the same texts at the same times, and are asked
the same questions. The model is most of what that costs.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from theorex_lab.core.settings import Settings
from theorex_lab.eval.replay.spared_time import spare
from theorex_lab.search.embed import Matrix, OnnxEmbedder, bundled_embedder

# A vector has 384 numbers of four bytes, so that these take 31 MB at most.
MOST_VECTORS = 20_000


class _Result(NamedTuple):
    """The vectors of a call, and the processor time that they took."""

    matrix: Matrix
    seconds: float


class VectorMemo:
    """The vectors of calls of a model, those of the calls that came last.

    A text's vector differs a little with the texts that are computed beside it. So a
    call gets the vectors of another only where it has the same texts in the same order.

    Attributes:
        n_vectors: How many vectors it holds.
    """

    def __init__(self, most: int = MOST_VECTORS) -> None:
        """Make an empty memo.

        Args:
            most: How many vectors it holds at most.
        """
        self._most = most
        self.n_vectors = 0
        self._results: OrderedDict[bytes, _Result] = OrderedDict()
        # An executor of threads runs several trials in one process.
        self._lock = threading.Lock()

    def get(self, call: bytes) -> Matrix | None:
        """Return the vectors of a call, and note what they took; None without them."""
        with self._lock:
            result = self._results.get(call)
            if result is None:
                return None
            self._results.move_to_end(call)
        spare(result.seconds)
        return result.matrix.copy()

    def add(self, call: bytes, matrix: Matrix, seconds: float) -> None:
        """Hold the vectors of a call, and let go of those that were not asked for.

        Args:
            call: The key of the call.
            matrix: Its vectors.
            seconds: The processor time that they took.
        """
        with self._lock:
            former = self._results.pop(call, None)
            if former is not None:
                self.n_vectors -= len(former.matrix)
            self._results[call] = _Result(matrix.copy(), seconds)
            self.n_vectors += len(matrix)
            while self.n_vectors > self._most:
                _, oldest = self._results.popitem(last=False)
                self.n_vectors -= len(oldest.matrix)


# Of the bundled model, for all homes of this process.
_memo = VectorMemo()


class RepeatingModel(OnnxEmbedder):
    """The bundled model, which computes a call once in a process."""

    def _vectors(self, texts: Sequence[str]) -> Matrix:
        call = call_key(texts)
        matrix = _memo.get(call)
        if matrix is None:
            begun = time.thread_time()
            matrix = super()._vectors(texts)
            _memo.add(call, matrix, time.thread_time() - begun)
        return matrix


def call_key(texts: Sequence[str]) -> bytes:
    """Return a hash of texts in their order.

    >>> call_key(["a", "b"]) == call_key(["a", "b"])
    True
    >>> call_key(["a", "b"]) == call_key(["ab"])
    False
    """
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.digest()


def repeating_model(settings: Settings) -> OnnxEmbedder | None:
    """Return the model that a home with these settings takes, computing calls once.

    Args:
        settings: Those of the home.

    Returns:
        The model; None where the home asks an endpoint, or no model is installed.
    """
    if settings.is_set("lm_studio_url"):
        return None
    return bundled_embedder(threads=settings.embed_threads, make=RepeatingModel)
