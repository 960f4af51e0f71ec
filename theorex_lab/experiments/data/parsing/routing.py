"""Scores, prices and times of language models: LLMRouter, RouteLLM and the leaderboards of aider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from theorex_lab.experiments.data.dataset_files import Content
from theorex_lab.experiments.data.parsing.fields import (
    Record,
    json_line_records,
    json_record,
    json_records,
    refused,
    table_rows,
    text_of,
)

if TYPE_CHECKING:
    import pandas as pd

WEAK_MODEL = "mistralai/Mixtral-8x7B-Instruct-v0.1"
STRONG_MODEL = "gpt-4-1106-preview"
BOARDS = {
    "polyglot": "polyglot_leaderboard.yml",
    "edit": "edit_leaderboard.yml",
    "refactor": "refactor_leaderboard.yml",
    "architect": "architect.yml",
}
_BOARD_TEXTS = ("dirname", "model", "edit_format", "editor_model")
_BOARD_NUMBERS = (
    "test_cases pass_rate_1 pass_rate_2 percent_cases_well_formed error_outputs num_malformed_responses syntax_errors "
    "indentation_errors lazy_comments user_asks exhausted_context_windows test_timeouts seconds_per_case total_cost "
    "prompt_tokens completion_tokens"
).split()


@dataclass(frozen=True)
class ScoredQueries:
    """queries: columns query, task, metric.  scores: shape (n_queries, n_models), 0 to 1."""

    queries: pd.DataFrame
    scores: NDArray[np.float64]


@dataclass(frozen=True)
class RouterScores:
    """models: names, the columns of the scores.  prices: a row a model, in this order; columns model, size,
    input_usd_per_million_tokens, output_usd_per_million_tokens."""

    models: tuple[str, ...]
    prices: pd.DataFrame
    train: ScoredQueries
    test: ScoredQueries
    licence: str


def llmrouter(files: Mapping[str, Content], licence: str) -> RouterScores:
    """Of scores and queries, which are joined by their text; a query listed under two tasks counts for the first."""
    train = json_records(files["routing_train.json"])
    models = tuple(sorted(train[0].record("scores").fields)) if train else ()
    return RouterScores(
        models=models,
        prices=_prices(json_record(files["default_llm.json"]), models),
        train=_scored(train, files["query_train.jsonl"], models),
        test=_scored(json_records(files["routing_test.json"]), files["query_test.jsonl"], models),
        licence=licence,
    )


def _prices(listed: Record, models: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for model in models:
        entry = listed.record(model)
        rows.append((model, entry.text("size"), entry.number("input_price"), entry.number("output_price")))
    columns = ["model", "size", "input_usd_per_million_tokens", "output_usd_per_million_tokens"]
    return pd.DataFrame(rows, columns=columns)


def _scored(scored: list[Record], described: Content, models: tuple[str, ...]) -> ScoredQueries:
    import pandas as pd

    tasks: dict[str, tuple[str, str]] = {}
    for each in json_line_records(described):
        tasks.setdefault(each.text("query"), (each.text("task_name"), each.text("metric")))
    rows = []
    for each in scored:
        query = each.text("question")
        if query not in tasks:
            raise refused(f"{each.place}: question", query, f"a query that {described.place} describes")
        rows.append((query, *tasks[query]))
    scores = np.array([_row_of_scores(each, models) for each in scored], dtype=np.float64)
    return ScoredQueries(
        queries=pd.DataFrame(rows, columns=["query", "task", "metric"]),
        scores=scores.reshape(len(scored), len(models)),
    )


def _row_of_scores(given: Record, models: tuple[str, ...]) -> list[float]:
    scores = given.record("scores")
    if set(scores.fields) != set(models):
        raise refused(scores.place, sorted(scores.fields), f"a score for each of {', '.join(models)}")
    row = [scores.number(model) for model in models]
    for model, score in zip(models, row, strict=True):
        if not 0.0 <= score <= 1.0:
            raise refused(f"{scores.place}: {model}", score, "a number from 0 to 1")
    return row


def routellm(files: Mapping[str, Content], subjects: Mapping[str, Content]) -> pd.DataFrame:
    """Of the files and of MMLU's members: columns benchmark (mmlu or gsm8k), subject, prompt, weak_correct,
    strong_correct, contaminated (the prompt is too near to the router's training data), weak_response and
    strong_response (None for mmlu)."""
    import pandas as pd

    columns = ("prompt", WEAK_MODEL, STRONG_MODEL)
    responses = (f"{WEAK_MODEL}_response", f"{STRONG_MODEL}_response")
    seen = {name: _contaminated(files[f"{name}_contaminated_prompts.jsonl"]) for name in ("mmlu", "gsm8k")}
    rows: list[tuple[Any, ...]] = []
    for name, content in subjects.items():
        subject = name.removeprefix("mmlu_").removesuffix(".csv")
        rows += [("mmlu", subject, *_answered(row, seen["mmlu"]), None, None) for row in table_rows(content, columns)]
    for row in table_rows(files["gsm8k_responses.csv"], columns + responses):
        rows.append(("gsm8k", "gsm8k", *_answered(row, seen["gsm8k"]), *(row.text(each) for each in responses)))
    answered = ["prompt", "weak_correct", "strong_correct", "contaminated"]
    return pd.DataFrame(rows, columns=["benchmark", "subject", *answered, "weak_response", "strong_response"])


def _contaminated(content: Content) -> set[str]:
    return {each.text("eval_prompt") for each in json_line_records(content)}


def _answered(row: Record, contaminated: set[str]) -> tuple[str, bool, bool, bool]:
    weak, strong = (row.choice(model, ("True", "False")) == "True" for model in (WEAK_MODEL, STRONG_MODEL))
    return row.text("prompt"), weak, strong, row.text("prompt") in contaminated


def aider(files: Mapping[str, Content]) -> pd.DataFrame:
    """Columns board (a key of BOARDS), dirname, model, edit_format, editor_model, date (of the run) and figures:
    pass_rate_1 and pass_rate_2 (percent solved at the first and second try), seconds_per_case, total_cost_usd (0 or
    NaN where it is not known), prompt_tokens, completion_tokens and counts of what went wrong; NaN where not reported."""
    import pandas as pd

    rows = [
        {"board": board, **_board_row(record)}
        for board, name in BOARDS.items()
        for record in _yaml_records(files[name])
    ]
    numbers = ["total_cost_usd" if name == "total_cost" else name for name in _BOARD_NUMBERS]
    frame = pd.DataFrame(rows, columns=["board", *_BOARD_TEXTS, "date", *numbers])
    return frame.astype({"date": "datetime64[s]"} | dict.fromkeys(numbers, "float64"))


def _board_row(given: Record) -> dict[str, Any]:
    from datetime import date

    if not isinstance(given.fields.get("date"), date):
        raise refused(f"{given.place}: date", given.fields.get("date"), "a date such as 2025-01-31")
    texts = {name: given.optional_text(name) for name in _BOARD_TEXTS} | {"model": given.text("model")}
    numbers = {name: given.number(name) if given.fields.get(name) is not None else None for name in _BOARD_NUMBERS}
    return {**texts, "date": given.fields["date"], **numbers, "total_cost_usd": numbers["total_cost"]}


def _yaml_records(content: Content) -> list[Record]:
    import yaml  # type: ignore[import-untyped]

    try:
        value = yaml.load(text_of(content), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise refused(f"{content.place}: {reason}", content.data[:40], "YAML") from error
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise refused(content.place, value, "a list of runs")
    return [Record(f"{content.place}, item {number}", each) for number, each in enumerate(value)]
