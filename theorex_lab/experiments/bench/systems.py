"""One system that keeps texts with given vectors, filled or searched, as a process: `systems NAME fill|find FOLDER ROWS`.

Of each the defaults, on disk. None computes a vector or calls a model. Ours and FTS5 find by words, all but FTS5 by vectors.
"""

import json
import os
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from theorex_lab.experiments.bench.measure import DIMENSIONS, GivenVectors, Matrix, processor_seconds, texts, unit_rows
from theorex_lab.lab import Lab
from theorex_lab.memory.observation import Entry

BATCH = 1_000
_SEARCHES, _ADDED = 50, 5


class System(Protocol):
    """What is measured of a system."""

    def add(self, texts: Sequence[str], vectors: Matrix) -> None:
        """Keep these texts, so that they are found, also after the process has ended."""

    def search(self, text: str, vector: Matrix) -> Sequence[str]:
        """The texts of the ten best."""

    def close(self) -> None:
        """End; all is on disk then."""
        return


class TheorexSystem:
    """Ours: extraction, words and vectors."""

    def __init__(self, folder: Path) -> None:
        self.embedder = GivenVectors()
        self.lab = Lab(folder / "home", embedder=self.embedder)

    def add(self, texts: Sequence[str], vectors: Matrix) -> None:
        """One transaction; then the vectors."""
        self.embedder.known.update(zip(texts, vectors, strict=True))
        self.lab.write_all([Entry(text, "main") for text in texts])
        self.lab.searcher.vectors.embed_pending()
        self.embedder.known.clear()

    def search(self, text: str, vector: Matrix) -> Sequence[str]:
        """By words and vectors, observations alone."""
        self.embedder.known[text] = vector
        return [hit.text for hit in self.lab.search(text, kinds=["observation"])]

    def close(self) -> None:
        """Close the home."""
        self.lab.close()


class Fts5:
    """Words by FTS5; the vectors lie beside the texts and are not searched."""

    def __init__(self, folder: Path) -> None:
        self.connection = sqlite3.connect(folder / "fts5.db", isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = FULL")
        columns = "text, vector UNINDEXED, tokenize = 'porter'"
        self.connection.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5({columns})")

    def add(self, texts: Sequence[str], vectors: Matrix) -> None:
        """One transaction."""
        self.connection.execute("BEGIN IMMEDIATE")
        rows = zip(texts, map(bytes, vectors), strict=True)
        self.connection.executemany("INSERT INTO texts VALUES (?, ?)", rows)
        self.connection.execute("COMMIT")

    def search(self, text: str, vector: Matrix) -> Sequence[str]:  # noqa: ARG002 - words alone
        """By any of the words, ranked by BM25."""
        words = " OR ".join(f'"{word}"' for word in text.split())
        sql = "SELECT text FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 10"
        return [found for (found,) in self.connection.execute(sql, (words,))]

    def close(self) -> None:
        """Close the connection, which writes the log into the file."""
        self.connection.close()


class Chroma(System):
    """Chroma's persistent client."""

    def __init__(self, folder: Path) -> None:
        chromadb = import_module("chromadb")
        settings = import_module("chromadb.config").Settings(anonymized_telemetry=False)
        self.client = chromadb.PersistentClient(path=str(folder), settings=settings)
        self.collection: Any = self.client.get_or_create_collection("texts", embedding_function=None)

    def add(self, texts: Sequence[str], vectors: Matrix) -> None:
        """One call."""
        first = self.collection.count()
        ids = [str(first + number) for number in range(len(texts))]
        self.collection.add(ids=ids, documents=list(texts), embeddings=vectors)

    def search(self, text: str, vector: Matrix) -> Sequence[str]:  # noqa: ARG002 - vectors alone
        """By the vector."""
        found: list[str] = self.collection.query(query_embeddings=[vector], n_results=10)["documents"][0]
        return found


class Mem0:
    """mem0 with faiss; many texts go straight into its store, since one by one it writes the whole index each time."""

    def __init__(self, folder: Path) -> None:
        os.environ["MEM0_DIR"] = str(folder)
        mem0, self.given = import_module("mem0"), GivenVectors()
        unused = {"provider": "openai", "config": {"api_key": "none"}}
        store = {"collection_name": "texts", "path": str(folder / "faiss"), "embedding_model_dims": DIMENSIONS}
        self.memory: Any = mem0.Memory.from_config({
            "vector_store": {"provider": "faiss", "config": store}, "llm": unused, "embedder": unused,
            "history_db_path": str(folder / "history.db"),
        })  # fmt: skip
        self.memory.embedding_model = self

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002 - as mem0 calls it
        """The given vector of a text."""
        vector: list[float] = self.given.embed([text])[0].tolist()
        return vector

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:  # noqa: ARG002
        """The given vectors of texts."""
        vectors: list[list[float]] = self.given.embed(texts).tolist()
        return vectors

    def add(self, texts: Sequence[str], vectors: Matrix) -> None:
        """One text as a user adds it, without a model; more of them as the store takes them."""
        if len(texts) == 1:
            self.given.known[texts[0]] = vectors[0]
            self.memory.add(texts[0], user_id="main", infer=False)
        else:
            payloads = [{"data": text, "user_id": "main"} for text in texts]
            self.memory.vector_store.insert(vectors=vectors.tolist(), payloads=payloads)

    def search(self, text: str, vector: Matrix) -> Sequence[str]:
        """By the vector."""
        self.given.known[text] = vector
        return [hit["memory"] for hit in self.memory.search(text, filters={"user_id": "main"}, top_k=10)["results"]]

    def close(self) -> None:
        """Close the history."""
        self.memory.close()


SYSTEMS: dict[str, Callable[[Path], System]] = {"theorex": TheorexSystem, "fts5": Fts5, "chroma": Chroma, "mem0": Mem0}


def batches(rows: int) -> Iterator[tuple[list[str], Matrix]]:
    """Texts with their vectors, so many in all; made batch by batch, so that they take no room."""
    for number in range(0, rows, BATCH):
        size = min(BATCH, rows - number)
        yield texts(size, seed=100 + number), unit_rows(size, seed=100 + number)


def fill(system: System, folder: Path, rows: int) -> dict[str, float]:
    """Add, search, add and find, close; what it took. Raises LookupError where what was added is not found."""
    took = {"add": 0.0}
    for batch, vectors in batches(rows):
        took["add"] += processor_seconds(lambda: system.add(batch, vectors))  # noqa: B023 - called at once
    queries, directions = texts(_SEARCHES, length=3, seed=5), unit_rows(_SEARCHES, seed=5)
    system.search(queries[0], directions[0])
    took["search"] = processor_seconds(lambda: [*map(system.search, queries, directions)])
    fresh, near = texts(_ADDED, seed=6), unit_rows(_ADDED, seed=6)
    took["add one and find it"] = processor_seconds(lambda: [*map(partial(_add_and_find, system), fresh, near)])
    system.close()
    took["bytes on disk"] = float(sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()))
    took["peak memory, process"] = peak_bytes()
    return took


def _add_and_find(system: System, text: str, vector: Matrix) -> None:
    system.add([text], vector[None])
    if text not in system.search(text, vector):
        raise LookupError(f"{type(system).__name__} did not find what was just added: {text}")


def peak_bytes() -> float:
    """The most memory that this process held. Not ru_maxrss where /proc tells: that starts at the parent's."""
    status = Path("/proc/self/status")
    if status.exists() and (found := re.search(r"VmHWM:\s+(\d+) kB", status.read_text())):
        return 1_024.0 * int(found[1])
    import resource

    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * (1 if sys.platform == "darwin" else 1_024)


def main() -> None:
    """Do as the arguments say; the last line printed is what it took, as JSON."""
    name, act, folder, rows = sys.argv[1:]
    system = SYSTEMS[name](Path(folder))
    if act == "fill":
        print(json.dumps(fill(system, Path(folder), int(rows))))  # noqa: T201
    else:
        print(len(system.search(texts(1, length=3, seed=5)[0], unit_rows(1, seed=5)[0])))  # noqa: T201
        system.close()


if __name__ == "__main__":
    main()
