"""Read public sets on which routing is scored, in one form.

The form is training and test queries, models, and costs.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.datasets import recorded_runs
from theorex_lab.eval.datasets.dataset_table import PUBLISHED
from theorex_lab.eval.datasets.repeats import RepeatedQueries, repeated_queries
from theorex_lab.eval.datasets.sources import packaged, read_header

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SIMULATED_CALLS = "simulated_calls"
ROUTING_SETS = (
    "llmrouter",
    "routellm",
    "routellm_mmlu",
    "routellm_gsm8k",
    SIMULATED_CALLS,
)
TEST_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class Queries:
    """What a policy may know of queries before they are answered.

    texts    one a query tasks    one a query: the kind of work, any text; the key under
    which evidence is pooled
    """

    texts: Sequence[str]
    tasks: Sequence[str]

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.tasks):
            raise InvalidInput(
                f"got {len(self.texts)} texts and {len(self.tasks)} tasks; allowed is one of each"
            )

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: Ints) -> Queries:
        """Return the queries of these rows, in their order."""
        return Queries(
            [self.texts[row] for row in rows], [self.tasks[row] for row in rows]
        )


@dataclass(frozen=True, eq=False)
class TrainingScores:
    """Queries and how every model scored on them: (queries, models), 0 to 1.

    Attributes:
        queries: The queries.
        scores: How each model scored.
        latency_ms: How long each answer took, of the same shape; None where that is not
            known.
        at: When each query was asked (µs UTC); None where that is not known.
    """

    queries: Queries
    scores: Floats
    latency_ms: Floats | None = None
    at: Ints | None = None

    def __post_init__(self) -> None:
        shape = self.scores.shape
        if len(shape) != 2 or shape[0] != len(self.queries) or not min(shape):
            got = f"got scores {shape} of {len(self.queries)} queries"
            raise InvalidInput(
                f"{got}; allowed is (queries, models), one or more of each"
            )
        if not (
            np.isfinite(self.scores).all()
            and self.scores.min() >= 0.0
            and self.scores.max() <= 1.0
        ):
            raise InvalidInput(
                "got a score that is not a number from 0 to 1; scale scores into that range"
            )

    def take(self, rows: Ints) -> TrainingScores:
        """Return the training queries of these rows, in their order."""
        latencies = None if self.latency_ms is None else self.latency_ms[rows]
        times = None if self.at is None else self.at[rows]
        queries = self.queries.take(rows)
        return TrainingScores(queries, self.scores[rows], latencies, times)


@dataclass(frozen=True, eq=False)
class RoutingSet:
    """Queries with the scores of every model on them, split for training and test.

    Attributes:
        name: The name of the set.
        models: The names of the models, the columns of the scores.
        costs: What a query costs with each model, shape (models,), in `cost_unit`.
        cost_unit: The unit of the costs.
        sizes: Shape (models,): the order of the models by price, then by parameters.
        train: The queries and scores to learn from.
        test: Those to be scored on.
        published: Figures that others had on the same set.
        licence: The licence of the set.
        notes: What was left out when it was read, a sentence each.
    """

    name: str
    models: tuple[str, ...]
    costs: Floats
    cost_unit: str
    sizes: Floats
    train: TrainingScores
    test: TrainingScores
    published: Mapping[str, float]
    licence: str
    notes: tuple[str, ...] = ()

    @cached_property
    def repeats(self) -> RepeatedQueries:
        """Return the queries that stand in the training and in the test."""
        return repeated_queries(self.train.queries.texts, self.test.queries.texts)

    @property
    def repeated(self) -> Ints:
        """Return the rows of the training whose text is also a test query."""
        return self.repeats.training_rows

    @cached_property
    def train_without_repeats(self) -> TrainingScores:
        """Return the training without the queries that are also in the test.

        Raises:
            InvalidInput: Every training query is also in the test.
        """
        rows = np.setdiff1d(np.arange(len(self.train.scores)), self.repeated)
        if not len(rows):
            raise InvalidInput(
                f"got a training of {len(self.train.scores)} queries of {self.name} that"
                " all stand in the test; allowed is one with queries of its own"
            )
        return self.train.take(rows)

    @property
    def repeat_note(self) -> str:
        """Return in a sentence how many test queries the training held."""
        n_test = len(self.test.scores)
        n_repeated = len(self.repeats.test_rows)
        if not n_repeated:
            return f"none of {n_test:,} test queries stands in the training"
        return (
            f"{n_repeated:,} of {n_test:,} test queries stand in the training;"
            f" {len(self.repeated):,} queries were left out of the training"
        )


def load_routing_set(name: str, *, seed: int = 0) -> RoutingSet:
    """Return a set by its name, one of ROUTING_SETS.

    Args:
        name: The set; `routellm` is both of its benchmarks, and `simulated_calls`
            comes with the package.
        seed: Splits routellm and the simulation in halves.

    Returns:
        The queries of training and test, with the scores (0 to 1) and costs of every
        model.

    Raises:
        InvalidInput: The name is another, or a file is not the published one.
        StorageError: A file is nowhere and cannot be downloaded.
    """
    if name not in ROUTING_SETS:
        raise InvalidInput(
            f"got the set {name!r}; allowed are {', '.join(ROUTING_SETS)}"
        )
    if name == SIMULATED_CALLS:
        return _simulated_calls(seed)
    return _llmrouter(name) if name == "llmrouter" else _routellm(name, seed)


def _llmrouter(name: str) -> RoutingSet:
    scores = recorded_runs.fetch_llmrouter()
    prices = scores.prices
    costs = (
        prices.input_usd_per_million_tokens + prices.output_usd_per_million_tokens
    ).to_numpy() / 2
    parameters = np.array([float(size.rstrip("Bb")) for size in prices["size"]])
    train, test = (
        _training(part.queries, "query", "task", part.scores)
        for part in (scores.train, scores.test)
    )
    unit = "USD per million tokens (mean list price of input and output)"
    sizes = np.lexsort((parameters, costs)).argsort().astype(np.float64)
    return RoutingSet(
        name,
        scores.models,
        costs,
        unit,
        sizes,
        train,
        test,
        PUBLISHED[name],
        scores.licence,
    )


def _routellm(name: str, seed: int) -> RoutingSet:
    table = recorded_runs.fetch_routellm()
    if name != "routellm":
        table = table[table.benchmark == name.removeprefix("routellm_")]
    order = np.random.default_rng(seed).permutation(len(table))
    cut = round(len(table) * TEST_SHARE)
    test, train = (
        _training(
            part,
            "prompt",
            "subject",
            part[["weak_correct", "strong_correct"]].to_numpy(dtype=np.float64),
        )
        for part in (table.iloc[order[:cut]], table.iloc[order[cut:]])
    )
    costs = np.array([0.0, 1.0])
    licence = str(table.attrs.get("licence", ""))
    unit = "share sent to the strong model"
    published = PUBLISHED.get(name, {})
    return RoutingSet(
        name, ("weak", "strong"), costs, unit, costs, train, test, published, licence
    )


def _simulated_calls(seed: int) -> RoutingSet:
    """Return the packaged simulation: made-up models, each with its strengths."""
    path = packaged(f"{SIMULATED_CALLS}.jsonl.gz")
    header = read_header(path, of="calls of models")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file][1:]
    models = tuple(header["models"])
    # Millionths of a dollar for a thousand tokens are thousandths for a million.
    costs = np.array([header["models"][model] / 1_000 for model in models])
    scores = np.array([_answers(row, models, 0) for row in rows])
    latencies = np.array([_answers(row, models, 1) for row in rows], np.float64)
    queries = Queries([row["text"] for row in rows], [row["type"] for row in rows])
    days = np.array([row["day"] for row in rows], np.int64)
    training = TrainingScores(
        queries, scores.astype(np.float64), latencies, days * MICROSECONDS_PER_DAY
    )
    order = np.random.default_rng(seed).permutation(len(rows))
    cut = round(len(rows) * TEST_SHARE)
    return RoutingSet(
        SIMULATED_CALLS,
        models,
        costs,
        "USD per million tokens (made up)",
        costs.argsort().argsort().astype(np.float64),
        training.take(order[cut:]),
        training.take(order[:cut]),
        {},
        "MIT, as the project",
    )


def _answers(row: Mapping[str, Any], models: Sequence[str], column: int) -> list[int]:
    """Return of each model's answer whether it was right (0), or its latency (1)."""
    return [row["answers"][model][column] for model in models]


def _training(
    queries: Any,
    text: str,
    task: str,
    scores: Floats,
) -> TrainingScores:
    return TrainingScores(
        Queries(queries[text].tolist(), queries[task].tolist()), scores
    )
