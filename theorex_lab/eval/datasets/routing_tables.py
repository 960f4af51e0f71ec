"""Read tables of models' results on queries, such as those of LLMRouterBench.

Two forms are read, in CSV, JSON, JSON lines and Parquet:

- long: a row is a query and a model. Columns name the query (an id, a text or both), the
  task, the model, the score, and where they are known cost, tokens and latency. Results
  of agents have this form, too: an instance, a model, whether it is resolved, a cost.
- wide: a row is a query. Columns name the query and the task; each model has a column
  with its score, and where it is known one with its cost: `NAME|total_cost`,
  `NAME_cost`, `cost_NAME`.

The columns are found by their names. A row that is damaged is left out and counted.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.datasets.repeats import same_text
from theorex_lab.eval.datasets.routing_sets import (
    TEST_SHARE,
    Floats,
    Ints,
    Queries,
    RoutingSet,
    TrainingScores,
)
from theorex_lab.eval.datasets.table_rows import DamagedRows, TableRow, read_rows

# The names that each column may have; the first that is there is taken.
COLUMN_NAMES: dict[str, tuple[str, ...]] = {
    "text": (
        "query",
        "prompt",
        "question",
        "origin_query",
        "text",
        "input",
        "problem_statement",
        "instruction",
    ),
    "id": (
        "query_id",
        "sample_id",
        "question_id",
        "prompt_id",
        "instance_id",
        "qid",
        "index",
        "id",
        "task_id",
    ),
    "task": (
        "task",
        "task_name",
        "dataset",
        "dataset_name",
        "dataset_id",
        "benchmark",
        "eval_name",
        "subject",
        "category",
        "repo",
    ),
    "model": ("model", "model_name", "model_id", "llm", "system", "agent"),
    "score": (
        "score",
        "performance",
        "resolved",
        "correct",
        "is_correct",
        "accuracy",
        "success",
        "reward",
        "passed",
    ),
    "cost": ("cost", "total_cost", "cost_usd", "instance_cost", "price", "usd"),
    "tokens": ("tokens", "total_tokens", "token_num", "completion_tokens"),
    "latency": ("latency_ms", "latency", "response_time", "seconds", "duration"),
}
# What stands for a cost where the table has none, and its unit.
_COST_COLUMNS = (("cost", "as the table has it"), ("tokens", "tokens"))
_LATENCY_UNIT = "latency, as the table has it"
_COST_AFFIXES = (
    ("", "|total_cost"),
    ("", "|cost"),
    ("", "_total_cost"),
    ("", "_cost"),
    ("cost_", ""),
)
_WORDS_FOR_SCORES = {
    "true": 1.0,
    "yes": 1.0,
    "resolved": 1.0,
    "pass": 1.0,
    "passed": 1.0,
    "false": 0.0,
    "no": 0.0,
    "unresolved": 0.0,
    "fail": 0.0,
    "failed": 0.0,
}
_NO_TASK = "all"
LEAST_SHARE = 0.5  # of the queries that a model must have answered to be compared
LEAST_QUERIES = 4


class ModelResult(NamedTuple):
    """How a model did on a query; NaN is not known."""

    score: float
    cost: float
    tokens: float
    latency: float


@dataclass
class RoutingTable:
    """The results of models on queries.

    Attributes:
        queries: The text of each query (its id where it has none), by its key.
        tasks: The task of each query, by its key.
        results: How models did, by the key of the query, then by model.
        damaged: The rows that were left out.
        form: long or wide.
        scale: By what scores were divided: 1, or 100 for percentages.
    """

    queries: dict[str, str] = field(default_factory=dict)
    tasks: dict[str, str] = field(default_factory=dict)
    results: dict[str, dict[str, ModelResult]] = field(default_factory=dict)
    damaged: DamagedRows = field(default_factory=DamagedRows)
    form: str = "long"
    scale: float = 1.0

    def add(self, row: _QueryRow, model: str, result: ModelResult) -> None:
        """Add how a model did on a query."""
        self.queries.setdefault(row.key, row.text)
        self.tasks.setdefault(row.key, row.task)
        self.results.setdefault(row.key, {})[model] = result


class _QueryRow(NamedTuple):
    """The query of a row."""

    key: str
    text: str
    task: str


def read_routing_table(path: str | Path) -> RoutingTable:
    """Return the results of models on queries in a file, or in a folder of files.

    Raises:
        InvalidInput: There is no such file, or its columns are not found.
    """
    table = RoutingTable()
    placed_rows = list(read_rows(Path(path), table.damaged))
    if not placed_rows:
        raise InvalidInput(
            f"got {path} without a row that can be read; {table.damaged}"
        )
    names: dict[str, None] = {}
    for _, row in placed_rows:
        names.update(dict.fromkeys(row))
    columns = _columns_in(names)
    if not {"text", "id"} & columns.keys():
        raise InvalidInput(_missing(path, names, ("text", "id")))
    if "model" in columns:
        if "score" not in columns:
            raise InvalidInput(_missing(path, names, ("score",)))
        _read_long(table, placed_rows, columns)
    else:
        table.form = "wide"
        _read_wide(table, placed_rows, columns, names)
    if not table.results:
        raise InvalidInput(f"got {path} without a result; {table.damaged}")
    _scale_percentages(table)
    return table


def load_routing_table(
    path: str | Path, *, name: str | None = None, seed: int = 0
) -> RoutingSet:
    """Return a table of one's own as a set on which routing is scored.

    Models that answered less than half of the queries are left out, then the queries
    that not all others answered. Queries are split in halves; those of the same text
    come into the same half.

    Args:
        path: The file or folder; see `read_routing_table`.
        name: The name of the set, None for that of the file.
        seed: Splits the queries.

    Returns:
        The set; its `notes` say what was left out.

    Raises:
        InvalidInput: As `read_routing_table`; or too little is left to be split, or
            neither a cost nor tokens nor latency are known.
    """
    table = read_routing_table(path)
    models = _models_of(table)
    keys = [key for key, row in table.results.items() if row.keys() >= set(models)]
    if len(models) < 2 or len(keys) < LEAST_QUERIES:
        raise InvalidInput(
            f"got {path} with {len(keys)} queries that {len(models)} models answered;"
            f" allowed are {LEAST_QUERIES} or more, and 2 models or more"
        )
    costs, unit = _costs_of(table, keys, models)
    scores = np.zeros((len(keys), len(models)))
    for row, key in enumerate(keys):
        results = table.results[key]
        scores[row] = [results[model].score for model in models]
    texts = [table.queries[key] for key in keys]
    training = TrainingScores(
        Queries(texts, [table.tasks[key] for key in keys]), scores
    )
    train_rows, test_rows = _halves(texts, seed)
    return RoutingSet(
        name or Path(path).stem,
        tuple(models),
        costs,
        unit,
        costs.argsort().argsort().astype(np.float64),
        training.take(train_rows),
        training.take(test_rows),
        {},
        "",
        notes=_notes_on(table, models, len(keys)),
    )


def _columns_in(names: Collection[str]) -> dict[str, str]:
    """Return which column holds what, by the names of the columns."""
    by_plain_name: dict[str, str] = {}
    for name in names:
        by_plain_name.setdefault(name.strip().casefold().replace(" ", "_"), name)
    columns = {}
    for meaning, allowed in COLUMN_NAMES.items():
        for plain_name in allowed:
            if plain_name in by_plain_name:
                columns[meaning] = by_plain_name[plain_name]
                break
    return columns


def _missing(path: str | Path, names: Collection[str], meanings: Sequence[str]) -> str:
    """Return the message for a table in which columns are not found."""
    allowed: list[str] = []
    for meaning in meanings:
        allowed += COLUMN_NAMES[meaning]
    what = " or ".join(meanings)
    return (
        f"got {path} with the columns {', '.join(names):.300}; none of them is the"
        f" {what}: rename one to {', '.join(allowed)}"
    )


def _read_long(
    table: RoutingTable,
    placed_rows: Iterable[tuple[str, TableRow]],
    columns: dict[str, str],
) -> None:
    """Read rows of a query and a model."""
    for position, row in placed_rows:
        query = _query_of(row, columns)
        model = _text_of(row.get(columns["model"]))
        score = _score_of(row.get(columns["score"]))
        if query is None or not model:
            table.damaged.add(position, "no query or no model")
        elif math.isnan(score):
            got = row.get(columns["score"])
            table.damaged.add(position, f"the score {got!r:.40} is no number from 0")
        else:
            amounts = (
                _amount_of(row.get(columns.get(meaning, "")))
                for meaning in ("cost", "tokens", "latency")
            )
            table.add(query, model, ModelResult(score, *amounts))


def _read_wide(
    table: RoutingTable,
    placed_rows: Sequence[tuple[str, TableRow]],
    columns: dict[str, str],
    names: Collection[str],
) -> None:
    """Read rows of a query, whose columns are models.

    A column is a model's where no other meaning is known of it and most of its values
    are scores.

    Raises:
        InvalidInput: There are less than two such columns.
    """
    cost_columns = _cost_columns(names)
    taken = {*columns.values(), *cost_columns.values()}
    models = []
    for name in names:
        if name not in taken and _holds_scores(name, placed_rows):
            models.append(name)
    if len(models) < 2:
        listed = ", ".join(names)
        raise InvalidInput(
            f"got a table with the columns {listed:.300}; allowed are a column `model`"
            " and one `score`, or two columns or more that hold models' scores"
        )
    for position, row in placed_rows:
        query = _query_of(row, columns)
        scores = {model: _score_of(row.get(model)) for model in models}
        problem = _problem_of(query, scores, row)
        if query is None or problem:
            table.damaged.add(position, problem)
            continue
        for model, score in scores.items():
            cost = _amount_of(row.get(cost_columns.get(model, "")))
            table.add(query, model, ModelResult(score, cost, math.nan, math.nan))


def _problem_of(
    query: _QueryRow | None, scores: Mapping[str, float], row: TableRow
) -> str:
    """Return what is wrong with a row of a wide table, '' for nothing."""
    if query is None:
        return "no query"
    for model, score in scores.items():
        if math.isnan(score):
            got = row.get(model)
            return f"the score {got!r:.40} of {model}"
    return ""


def _cost_columns(names: Collection[str]) -> dict[str, str]:
    """Return the column of the cost of each column that has one."""
    cost_columns: dict[str, str] = {}
    for name in names:
        for before, after in _COST_AFFIXES:
            cost_name = f"{before}{name}{after}"
            if cost_name in names:
                cost_columns.setdefault(name, cost_name)
    return cost_columns


def _holds_scores(name: str, placed_rows: Sequence[tuple[str, TableRow]]) -> bool:
    """Return whether most values of a column are scores."""
    n_scores = 0
    for _, row in placed_rows:
        score = _score_of(row.get(name))
        n_scores += score <= 100.0  # NaN is not
    return n_scores > len(placed_rows) / 2


def _query_of(row: TableRow, columns: dict[str, str]) -> _QueryRow | None:
    """Return the query of a row, None where it has none."""
    text = _text_of(row.get(columns.get("text", "")))
    identity = _text_of(row.get(columns.get("id", "")))
    task = _text_of(row.get(columns.get("task", ""))) or _NO_TASK
    if not text and not identity:
        return None
    key = f"{task}\n{identity or same_text(text)}"
    return _QueryRow(key, text or identity, task)


def _text_of(value: Any) -> str:
    """Return a value as a text, '' where there is none."""
    if value is None or isinstance(value, dict | list):
        return ""
    return str(value).strip()


def _score_of(value: Any) -> float:
    """Return a score, NaN where it is none."""
    if isinstance(value, str):
        word = value.strip().casefold()
        if word in _WORDS_FOR_SCORES:
            return _WORDS_FOR_SCORES[word]
    return _amount_of(value)


def _amount_of(value: Any) -> float:
    """Return a finite number from 0, NaN where a value is none."""
    if value is None or isinstance(value, dict | list):
        return math.nan
    try:
        number = float(value)
    except (TypeError, ValueError):
        return math.nan
    return number if 0.0 <= number < math.inf else math.nan


def _scale_percentages(table: RoutingTable) -> None:
    """Divide scores by 100 where they go to 100.

    Raises:
        InvalidInput: A score is above 100.
    """
    largest = 0.0
    for row in table.results.values():
        largest = max(largest, *(result.score for result in row.values()))
    if largest <= 1.0:
        return
    if largest > 100.0:
        raise InvalidInput(
            f"got a score of {largest:g}; allowed are scores from 0 to 1, or to 100"
        )
    table.scale = 100.0
    for row in table.results.values():
        for model, result in row.items():
            row[model] = result._replace(score=result.score / table.scale)


def _models_of(table: RoutingTable) -> list[str]:
    """Return the models that answered enough queries, by name."""
    n_answered: dict[str, int] = {}
    for row in table.results.values():
        for model in row:
            n_answered[model] = n_answered.get(model, 0) + 1
    least = LEAST_SHARE * len(table.results)
    return sorted(model for model, n in n_answered.items() if n >= least)


def _costs_of(
    table: RoutingTable, keys: Sequence[str], models: Sequence[str]
) -> tuple[Floats, str]:
    """Return what a query costs with each model, and the unit of that.

    Raises:
        InvalidInput: Neither costs nor tokens nor latencies are known of every model.
    """
    for name, unit in (*_COST_COLUMNS, ("latency", _LATENCY_UNIT)):
        means = []
        for model in models:
            amounts = [getattr(table.results[key][model], name) for key in keys]
            stated = [amount for amount in amounts if not math.isnan(amount)]
            means.append(sum(stated) / len(stated) if stated else math.nan)
        if not any(map(math.isnan, means)):
            return np.array(means), unit
    allowed = ", ".join(COLUMN_NAMES["cost"])
    raise InvalidInput(
        f"got a table without a cost of every model; allowed is a column {allowed}, one"
        " of tokens, or one of latency; a wide table names it NAME_cost"
    )


def _halves(texts: Sequence[str], seed: int) -> tuple[Ints, Ints]:
    """Return the rows of training and test; those of the same text stay together."""
    _, groups = np.unique([same_text(text) for text in texts], return_inverse=True)
    n_groups = int(groups.max()) + 1
    order = np.random.default_rng(seed).permutation(n_groups)
    n_test = max(1, round(n_groups * TEST_SHARE))
    is_test = np.isin(groups, order[:n_test])
    return np.flatnonzero(~is_test), np.flatnonzero(is_test)


def _notes_on(
    table: RoutingTable, models: Sequence[str], n_queries: int
) -> tuple[str, ...]:
    """Return what was read and what was left out, a sentence each."""
    all_models: set[str] = set()
    for row in table.results.values():
        all_models.update(row)
    notes = [f"a {table.form} table: {n_queries:,} queries, {len(models)} models"]
    left_out = sorted(all_models - set(models))
    if left_out:
        notes.append(
            f"left out: {len(left_out)} models that answered less than"
            f" {LEAST_SHARE:.0%} of the queries ({', '.join(left_out):.200})"
        )
    n_partial = len(table.results) - n_queries
    if n_partial:
        notes.append(f"left out: {n_partial:,} queries that not every model answered")
    if table.scale != 1.0:
        notes.append(f"scores go beyond 1 and were divided by {table.scale:g}")
    notes.append(str(table.damaged))
    return tuple(notes)
