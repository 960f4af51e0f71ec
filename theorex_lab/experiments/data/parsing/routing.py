"""Scores, prices and times of language models: LLMRouter and RouteLLM."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from theorex_lab.experiments.data.dataset_files import Content, read_json, read_json_lines, refused

if TYPE_CHECKING:
    import pandas as pd

WEAK_MODEL = "mistralai/Mixtral-8x7B-Instruct-v0.1"
STRONG_MODEL = "gpt-4-1106-preview"
Files = Mapping[str, Content]


class ScoredQueries(NamedTuple):
    """queries: columns query, task, metric.  scores: shape (n_queries, n_models), 0 to 1."""

    queries: pd.DataFrame
    scores: NDArray[np.float64]


class RouterScores(NamedTuple):
    """models: names, the columns of the scores.  prices: a row a model, in this order; columns model, size,
    input_usd_per_million_tokens, output_usd_per_million_tokens."""

    models: tuple[str, ...]
    prices: pd.DataFrame
    train: ScoredQueries
    test: ScoredQueries
    licence: str


class _Scored(BaseModel):
    question: str
    scores: dict[str, Annotated[float, Field(ge=0, le=1)]]


class _Described(BaseModel):
    query: str
    task: Annotated[str, Field(alias="task_name")]
    metric: str


class _Priced(BaseModel):
    size: str
    input_usd_per_million_tokens: Annotated[float, Field(alias="input_price", allow_inf_nan=False)]
    output_usd_per_million_tokens: Annotated[float, Field(alias="output_price", allow_inf_nan=False)]


def llmrouter(files: Mapping[str, Content], licence: str) -> RouterScores:
    """Of scores and queries, which are joined by their text; a query listed under two tasks counts for the first."""
    import pandas as pd

    prices = read_json(files["default_llm.json"], dict[str, _Priced])
    parts = {part: read_json(files[f"routing_{part}.json"], list[_Scored]) for part in ("train", "test")}
    models = tuple(sorted(parts["train"][0].scores)) if parts["train"] else ()
    if unpriced := sorted(set(models) - set(prices)):
        raise refused(files["default_llm.json"].place, sorted(prices), f"allowed is a price for {', '.join(unpriced)}")
    train, test = (_joined(files, part, scored, models) for part, scored in parts.items())
    table = pd.DataFrame([{"model": model, **vars(prices[model])} for model in models])
    return RouterScores(models, table, train, test, licence)


def _joined(files: Files, part: str, scored: list[_Scored], models: tuple[str, ...]) -> ScoredQueries:
    import pandas as pd

    place, described = files[f"routing_{part}.json"].place, files[f"query_{part}.jsonl"]
    queries = read_json_lines(described, _Described)
    by_query = {query.query: query for query in reversed(queries)}  # the first of several stays
    for number, row in enumerate(scored):
        if row.question not in by_query:
            raise refused(f"{place}: {number}", row.question, f"allowed is a query that {described.place} describes")
        if set(row.scores) != set(models):
            raise refused(f"{place}: {number}: scores", [*row.scores], f"allowed is one of {', '.join(models)} each")
    table = pd.DataFrame([vars(by_query[row.question]) for row in scored], columns=["query", "task", "metric"])
    scores = [[row.scores[model] for model in models] for row in scored]
    return ScoredQueries(table, np.array(scores, dtype=np.float64).reshape(len(scored), len(models)))


class _Prompt(BaseModel):
    eval_prompt: str


def routellm(files: Mapping[str, Content], subjects: Mapping[str, Content]) -> pd.DataFrame:
    """Of the files and of MMLU's members: columns benchmark (mmlu or gsm8k), subject, prompt, weak_correct,
    strong_correct, contaminated (the prompt is too near to the router's training data), weak_response and
    strong_response (NaN for mmlu)."""
    import pandas as pd

    mmlu = [_answers(content).assign(subject=name[len("mmlu_") : -len(".csv")]) for name, content in subjects.items()]
    gsm8k = _answers(files["gsm8k_responses.csv"], responses=True).assign(subject="gsm8k")
    benchmarks = {"mmlu": pd.concat(mmlu), "gsm8k": gsm8k}
    for name, table in benchmarks.items():
        seen = read_json_lines(files[f"{name}_contaminated_prompts.jsonl"], _Prompt)
        table["contaminated"] = table["prompt"].isin([prompt.eval_prompt for prompt in seen])
        table["benchmark"] = name
    columns = ["benchmark", "subject", "prompt", "weak_correct", "strong_correct", "contaminated"]
    return pd.concat(benchmarks.values(), ignore_index=True)[[*columns, "weak_response", "strong_response"]]


def _answers(content: Content, *, responses: bool = False) -> pd.DataFrame:
    """Whether both models were right, for each prompt. Raises InvalidInput for what is no such table."""
    import pandas as pd

    place, data = content.place, content.data
    names = {"prompt": "prompt", WEAK_MODEL: "weak_correct", STRONG_MODEL: "strong_correct"}
    if responses:
        names |= {f"{WEAK_MODEL}_response": "weak_response", f"{STRONG_MODEL}_response": "strong_response"}
    types = {name: bool if new.endswith("correct") else str for name, new in names.items()}
    try:
        table = pd.read_csv(BytesIO(data), dtype=types, keep_default_na=False, on_bad_lines="error")
    except ValueError as error:  # no UTF-8, no table, or neither True nor False
        raise refused(f"{place}: {error}", data[:40], f"allowed are columns {', '.join(names)}") from error
    if list(table.columns) != list(names):
        raise refused(place, list(table.columns), f"allowed is the header {', '.join(names)}")
    return table.rename(columns=names)
