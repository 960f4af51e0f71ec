"""Measure by size what finds the vectors nearest to a query: all of them compared,
signs, or a graph of neighbours. Decision record 040 holds a run.

`python -m benchmarks.nearest FILE.npz 12000 50000 100000` reads vectors of length one
from the array `V` of the file, (texts, dimensions), and those of queries from `Q`. More
than there are come from those, with noise added, so that no vector repeats.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from theorex_lab.search import vectors
from theorex_lab.search.vectors import VectorCache

Matrix = NDArray[np.float32]
Search = Callable[[Matrix], NDArray[np.int64]]
_QUERIES = 200
_WANTED = 200  # as a search wants of each signal
_SHOWN = 10
_NOISE = 0.6  # length of what is added to a vector
_REPEATS = 3


def grown(matrix: Matrix, count: int) -> Matrix:
    """Return so many vectors: these, then these with noise, of length one again."""
    if count <= len(matrix):
        return matrix[:count]
    generator = np.random.default_rng(11)
    n_more = count - len(matrix)
    dimensions = matrix.shape[1]
    rows = generator.integers(0, len(matrix), n_more)
    noise = generator.standard_normal((n_more, dimensions), dtype=np.float32)
    more = matrix[rows] + noise * np.float32(_NOISE / np.sqrt(dimensions))
    more /= np.linalg.norm(more, axis=1, keepdims=True)
    return np.concatenate([matrix, more])


def milliseconds(search: Search, queries: Matrix) -> float:
    """Return how much CPU time a query takes, the least of several runs."""
    seconds = []
    for _ in range(_REPEATS):
        start = time.process_time()
        for query in queries:
            search(query)
        seconds.append(time.process_time() - start)
    return min(seconds) / len(queries) * 1e3


def recall(search: Search, matrix: Matrix, queries: Matrix) -> float:
    """Return the share of the ten nearest vectors that a search finds."""
    n_found = 0
    for query in queries:
        exact = np.argsort(-(matrix @ query))[:_SHOWN]
        n_found += len(np.intersect1d(search(query), exact))
    return n_found / (_SHOWN * len(queries))


def measure(matrix: Matrix, queries: Matrix, folder: Path) -> None:
    """Print a line for each way to find the nearest of these vectors."""
    count, dimensions = matrix.shape
    numbers = np.arange(count)
    cache = VectorCache(folder, "measured", dimensions)
    keys = np.stack([numbers, numbers], axis=1).astype(np.uint64)
    cache.add(keys, matrix)

    def exact(query: Matrix) -> NDArray[np.int64]:
        scores = matrix @ query
        return np.argpartition(-scores, _SHOWN)[:_SHOWN]

    def by_cache(query: Matrix) -> NDArray[np.int64]:
        likely = cache.likely(numbers, query, _WANTED)
        _, read = cache.read(likely)
        order = np.argsort(-(read @ query))[:_SHOWN]
        return likely[order]

    searches = {"exact": exact, "signs": by_cache}
    for name, search in searches.items():
        show(name, search, matrix, queries)
    vectors.GRAPH_FROM = 0
    start = time.process_time()
    cache.update_graph()
    vectors._GRAPH_AFTER = 0
    built = time.process_time() - start
    size = cache.graph_path.stat().st_size / 1e6
    show(f"graph (built in {built:.0f} s, {size:.0f} MB)", by_cache, matrix, queries)


def show(name: str, search: Search, matrix: Matrix, queries: Matrix) -> None:
    """Print what a search costs and finds."""
    cost = milliseconds(search, queries)
    found = recall(search, matrix, queries)
    line = f"{len(matrix):>8} {name:<36} {cost:6.2f} ms  recall@10 {found:.4f}\n"
    sys.stdout.write(line)
    sys.stdout.flush()


def main() -> None:
    """Measure at each size that is asked for."""
    file, *sizes = sys.argv[1:]
    arrays = np.load(file)
    graph_from = vectors.GRAPH_FROM
    for size in sizes:
        matrix = grown(arrays["V"].astype(np.float32), int(size))
        vectors.GRAPH_FROM = sys.maxsize
        with tempfile.TemporaryDirectory() as folder:
            measure(matrix, arrays["Q"][:_QUERIES].astype(np.float32), Path(folder))
    vectors.GRAPH_FROM = graph_from


if __name__ == "__main__":
    main()
