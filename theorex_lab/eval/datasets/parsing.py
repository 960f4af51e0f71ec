"""Read public sets into types.

The sets are runs of agents (tau-bench airline, Who&When, Reflexion on ALFWorld), whose
fields say where in the JSON they stand, and scores, prices and times of language models
(LLMRouter, RouteLLM).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    Field,
    Json,
    TypeAdapter,
)

from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.datasets.dataset_files import (
    FileContent,
    read_json,
    read_json_lines,
    refused,
)

if TYPE_CHECKING:
    import pandas as pd


_AgentName = Annotated[str, AfterValidator(lambda name: name.split(" (")[0])]
_Word = Annotated[str, Field(coerce_numbers_to_str=True)]
_TRIAL = re.compile(r"(base|reflexion)_run_logs/env_results_trial_(\d{1,3})\.json\Z")


@dataclass(frozen=True)
class Action:
    """A tool's name and its arguments.

    Attributes:
        result: What the tool gave back; None for an action of the gold list.
    """

    name: str
    arguments: Annotated[dict[str, Any], Field(alias="kwargs")]
    result: str | None = None


@dataclass(frozen=True)
class RunMessage:
    """role: who spoke.  text: empty where an assistant only called a tool."""

    role: Literal["system", "user", "assistant", "tool"]
    text: Annotated[
        str,
        Field(alias="content", default=""),
        BeforeValidator(lambda text: text or ""),
    ]


class _Call(BaseModel):
    id: str
    name: Annotated[str, Field(validation_alias=AliasPath("function", "name"))]
    arguments: Annotated[
        Json[dict[str, Any]], Field(validation_alias=AliasPath("function", "arguments"))
    ]


class _Turn(BaseModel):
    content: str | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None


def _actions(messages: Any) -> tuple[Action, ...]:
    """Return the tool calls of a run, each with what the tool gave back."""
    turns = TypeAdapter(list[_Turn]).validate_python(messages)
    actions = []
    for number, turn in enumerate(turns):
        for call in turn.tool_calls or ():
            # Ids of calls come back within a run: a call's answer is the first after it
            # that bears its id.
            answers = (
                later.content
                for later in turns[number:]
                if later.tool_call_id == call.id
            )
            actions.append(
                Action(
                    call.name,
                    call.arguments,
                    next(answers, None),
                )
            )
    return tuple(actions)


@dataclass(frozen=True)
class TauRun:
    """One trial of a task.

    Attributes:
        reward: 0 or 1.
        actions: The actions that the agent took, in order.
        gold_actions: What would have been right.
    """

    task: Annotated[int, Field(alias="task_id", ge=0, lt=100_000)]
    trial: Annotated[int, Field(ge=0, lt=1_000)]
    reward: Annotated[float, Field(ge=0, le=1)]
    gold_actions: Annotated[
        tuple[Action, ...], Field(validation_alias=AliasPath("info", "task", "actions"))
    ]
    actions: Annotated[
        tuple[Action, ...], Field(alias="traj"), BeforeValidator(_actions)
    ]
    messages: Annotated[tuple[RunMessage, ...], Field(alias="traj")]


class TauBench(NamedTuple):
    """rewards: shape (n_tasks, n_trials), NaN where a trial is missing."""

    runs: tuple[TauRun, ...]
    rewards: NDArray[np.float64]
    licence: str


def taubench(content: FileContent, licence: str) -> TauBench:
    """Return the runs of a list.

    Raises:
        InvalidInput: The list is not as it should be, or a trial of a task comes twice.
    """
    runs = read_json(content, tuple[TauRun, ...])
    shape = (
        1 + max((run.task for run in runs), default=-1),
        1 + max((run.trial for run in runs), default=-1),
    )
    rewards = np.full(shape, np.nan)
    for run in runs:
        if not np.isnan(rewards[run.task, run.trial]):
            raise refused(
                content.place,
                f"task {run.task}, trial {run.trial} again",
                "allowed is each trial once",
            )
        rewards[run.task, run.trial] = run.reward
    return TauBench(runs, rewards, licence)


def _text_of_content(content: object) -> object:
    """Return a message's text: '' for none, the texts of one in parts."""
    if content is None:
        return ""
    if not isinstance(content, list):
        return content
    texts = []
    for part in content:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            texts.append(text)
    return "\n".join(texts)


def _rows_of_history(rows: object) -> object:
    """Return rows of a run in which the role says who spoke, and to whom.

    Algorithm-generated runs hold a name beside the role `assistant`, hand-crafted ones
    a role alone, `Orchestrator (-> WebSurfer)`. Some frameworks write a name that is
    null, or put the bracket into the name.
    """
    if not isinstance(rows, list):
        return rows
    plain: list[object] = []
    for row in rows:
        if not isinstance(row, dict):
            plain.append(row)
            continue
        name = row.get("name")
        if not name:
            row = {key: value for key, value in row.items() if key != "name"}
        elif isinstance(name, str) and " (" in name:
            row = {**row, "role": name}
        plain.append(row)
    return plain


@dataclass(frozen=True, slots=True)
class LabelledStep:
    """A step of a failed run.

    Attributes:
        agent: Who spoke; without a name the role, which may tell to whom: `Orchestrator
            (-> WebSurfer)`.
        role: The role as the framework saw it, user or assistant in most.
    """

    agent: Annotated[_AgentName, Field(validation_alias=AliasChoices("name", "role"))]
    role: str
    text: Annotated[
        str, Field(alias="content", default=""), BeforeValidator(_text_of_content)
    ]


@dataclass(frozen=True)
class FailedRun:
    """A failed run and what people found to be its cause.

    id: the file's number.  agents: system prompt of each agent by name, where they are
    known.  mistake_step: position in `steps`.  mistake_agent: in a few runs not the
    agent of that step; so it was labelled.
    """

    id: Annotated[str, Field(default="")]
    question_id: Annotated[str, Field(alias="question_ID", default="")]
    question: str
    ground_truth: Annotated[
        _Word, Field(validation_alias=AliasChoices("ground_truth", "groundtruth"))
    ]
    level: Annotated[_Word, Field(default="")]
    agents: Annotated[
        dict[str, str], Field(alias="system_prompt", default_factory=dict)
    ]
    steps: Annotated[tuple[LabelledStep, ...], Field(alias="history")]
    mistake_agent: _AgentName
    mistake_step: Annotated[int, Field(ge=0)]
    mistake_reason: Annotated[
        str, Field(default=""), BeforeValidator(lambda text: text or "")
    ]


class WhoAndWhen(NamedTuple):
    """Failed runs in the order of their numbers."""

    runs: tuple[FailedRun, ...]
    licence: str


class LoadedRuns(NamedTuple):
    """Failed runs of files, and why others are left out.

    Attributes:
        runs: The runs in the order of their numbers.
        damaged: For each file that holds no usable run, its name and the reason.
    """

    runs: tuple[FailedRun, ...]
    damaged: tuple[str, ...]


def whoandwhen(members: Mapping[str, FileContent], licence: str) -> WhoAndWhen:
    """Return the files of an archive, a run each."""
    runs = [
        _failed_run(name.removesuffix(".json"), content)
        for name, content in members.items()
    ]
    return WhoAndWhen(
        tuple(sorted(runs, key=lambda run: (len(run.id), run.id))), licence
    )


def readable_runs(members: Mapping[str, FileContent]) -> LoadedRuns:
    """Return the files that hold a run, and the reason for each that does not."""
    runs = []
    damaged = []
    for name, content in members.items():
        try:
            runs.append(_failed_run(name.removesuffix(".json"), content))
        except InvalidInput as error:
            damaged.append(str(error))
    runs.sort(key=lambda run: (len(run.id), run.id))
    return LoadedRuns(tuple(runs), tuple(damaged))


def _failed_run(name: str, content: FileContent) -> FailedRun:
    members = read_json(content, dict[str, Any])
    members["history"] = _rows_of_history(members.get("history"))
    plain = FileContent(content.place, json.dumps(members).encode())
    run = read_json(plain, FailedRun)
    if run.mistake_step >= len(run.steps):
        raise refused(
            f"{content.place}: mistake_step",
            run.mistake_step,
            f"allowed is 0 to {len(run.steps) - 1}",
        )
    return replace(run, id=name)


class Reflection(NamedTuple):
    """A written lesson.

    Attributes:
        environment: The position of the environment.
        after_trial: The failed trial that it was written after, from 0.
    """

    environment: int
    after_trial: int
    text: str


class Reflexion(NamedTuple):
    """The trials of Reflexion on ALFWorld, with reflections and without.

    Attributes:
        success: Shape (n_trials, n_environments), with reflections.
        base_success: The same shape, without passing them on.
        reflections: Those of the first, in order of trial and environment.
    """

    environments: tuple[str, ...]
    success: NDArray[np.bool_]
    base_success: NDArray[np.bool_]
    reflections: tuple[Reflection, ...]
    licence: str


class _TaskTrial(BaseModel):
    name: str
    memory: list[str]
    is_success: bool


def reflexion(members: Mapping[str, FileContent], licence: str) -> Reflexion:
    """Return what the files of an archive hold, each of which is a trial.

    Raises:
        InvalidInput: A trial is missing, or a memory shrinks; or a file is not as its
            type says.
    """
    trials = _trials_by_kind(members)
    archive = next((content.place for content in members.values()), "the archive")
    for kind, trials_of_kind in trials.items():
        numbers = sorted(trials_of_kind)
        if not numbers or numbers != list(range(len(numbers))):
            raise refused(
                archive,
                numbers,
                f"allowed are the {kind} trials 0, 1, 2, … without a gap",
            )
    names = tuple(task.name for task in trials["reflexion"][0])
    for trial in (*trials["base"].values(), *trials["reflexion"].values()):
        if tuple(task.name for task in trial) != names:
            raise refused(
                archive,
                "trials of several lists",
                f"allowed are the {len(names)} environments of the first",
            )
    return Reflexion(
        names,
        _successes(trials["reflexion"]),
        _successes(trials["base"]),
        tuple(_reflections(archive, trials["reflexion"])),
        licence,
    )


def _trials_by_kind(
    members: Mapping[str, FileContent],
) -> dict[str, dict[int, list[_TaskTrial]]]:
    """Return the trials by kind, base or reflexion, and number."""
    trials: dict[str, dict[int, list[_TaskTrial]]] = {"base": {}, "reflexion": {}}
    for name, content in members.items():
        match = _TRIAL.match(name)
        if not match:
            raise refused(
                content.place,
                name,
                "allowed is a name such as base_run_logs/env_results_trial_0.json",
            )
        trials[match[1]][int(match[2])] = read_json(content, list[_TaskTrial])
    return trials


def _successes(trials: Mapping[int, Sequence[_TaskTrial]]) -> NDArray[np.bool_]:
    """Return what each trial solved, shape (n_trials, n_environments)."""
    rows = []
    for number in range(len(trials)):
        rows.append([task.is_success for task in trials[number]])
    return np.array(rows, dtype=np.bool_)


def _reflections(archive: str, trials: dict[int, list[_TaskTrial]]) -> list[Reflection]:
    """Return the reflections by trial and environment.

    The record of a trial holds every reflection so far; the one written after that
    trial is the last.
    """
    reflections = list[Reflection]()
    n_written = [0] * len(trials[0])
    for trial in range(len(trials)):
        for environment, tried in enumerate(trials[trial]):
            if len(tried.memory) < n_written[environment]:
                raise refused(
                    f"{archive}: memory",
                    len(tried.memory),
                    f"allowed are {n_written[environment]}, as before",
                )
            reflections += [
                Reflection(environment, trial, text)
                for text in tried.memory[n_written[environment] :]
            ]
            n_written[environment] = len(tried.memory)
    return reflections


WEAK_MODEL = "mistralai/Mixtral-8x7B-Instruct-v0.1"
STRONG_MODEL = "gpt-4-1106-preview"
Files = Mapping[str, FileContent]


class ScoredQueries(NamedTuple):
    """Queries, and the score of each model on them.

    Attributes:
        queries: Columns query, task, metric.
        scores: Shape (n_queries, n_models), 0 to 1.
    """

    queries: pd.DataFrame
    scores: NDArray[np.float64]


class RouterScores(NamedTuple):
    """The scores and prices of models on a set of queries.

    Attributes:
        models: Names, the columns of the scores.
        prices: A row a model, in this order; columns model, size,
            input_usd_per_million_tokens, output_usd_per_million_tokens.
    """

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
    input_usd_per_million_tokens: Annotated[
        float, Field(alias="input_price", allow_inf_nan=False)
    ]
    output_usd_per_million_tokens: Annotated[
        float, Field(alias="output_price", allow_inf_nan=False)
    ]


def llmrouter(files: Mapping[str, FileContent], licence: str) -> RouterScores:
    """Return scores joined with their queries by the text.

    A query listed under two tasks counts for the first.
    """
    import pandas as pd

    prices = read_json(files["default_llm.json"], dict[str, _Priced])
    parts = {
        part: read_json(files[f"routing_{part}.json"], list[_Scored])
        for part in ("train", "test")
    }
    models = tuple(sorted(parts["train"][0].scores)) if parts["train"] else ()
    if unpriced := sorted(set(models) - set(prices)):
        raise refused(
            files["default_llm.json"].place,
            sorted(prices),
            f"allowed is a price for {', '.join(unpriced)}",
        )
    train, test = (
        _joined(files, part, scored, models) for part, scored in parts.items()
    )
    table = pd.DataFrame([{"model": model, **vars(prices[model])} for model in models])
    return RouterScores(models, table, train, test, licence)


def _joined(
    files: Files, part: str, scored: list[_Scored], models: tuple[str, ...]
) -> ScoredQueries:
    import pandas as pd

    source = files[f"routing_{part}.json"].place
    described = files[f"query_{part}.jsonl"]
    queries = read_json_lines(described, _Described)
    by_query = {
        query.query: query for query in reversed(queries)
    }  # the first of several stays
    for number, row in enumerate(scored):
        if row.question not in by_query:
            raise refused(
                f"{source}: {number}",
                row.question,
                f"allowed is a query that {described.place} describes",
            )
        if set(row.scores) != set(models):
            raise refused(
                f"{source}: {number}: scores",
                [*row.scores],
                f"allowed is one of {', '.join(models)} each",
            )
    table = pd.DataFrame(
        [vars(by_query[row.question]) for row in scored],
        columns=["query", "task", "metric"],
    )
    scores = [[row.scores[model] for model in models] for row in scored]
    return ScoredQueries(
        table, np.array(scores, dtype=np.float64).reshape(len(scored), len(models))
    )


def routellm(
    files: Mapping[str, FileContent], subjects: Mapping[str, FileContent]
) -> pd.DataFrame:
    """Return whether both models answered, from the files and MMLU's members.

    The columns are benchmark (mmlu or gsm8k), subject, prompt, weak_correct and
    strong_correct.
    """
    import pandas as pd

    mmlu = {
        name[len("mmlu_") : -len(".csv")]: content for name, content in subjects.items()
    }
    tables = [
        _answers(content).assign(benchmark="mmlu", subject=name)
        for name, content in mmlu.items()
    ]
    tables.append(
        _answers(files["gsm8k_responses.csv"]).assign(
            benchmark="gsm8k", subject="gsm8k"
        )
    )
    return pd.concat(tables, ignore_index=True)


def _answers(content: FileContent) -> pd.DataFrame:
    """Return whether both models were right, for each prompt.

    Raises:
        InvalidInput: The file is no such table.
    """
    import pandas as pd

    source = content.place
    names = {
        "prompt": "prompt",
        WEAK_MODEL: "weak_correct",
        STRONG_MODEL: "strong_correct",
    }
    types = {"prompt": str, WEAK_MODEL: bool, STRONG_MODEL: bool}
    try:
        table = pd.read_csv(
            BytesIO(content.data),
            dtype=types,
            keep_default_na=False,
            on_bad_lines="error",
        )
    except ValueError as error:  # no UTF-8, no table, or neither True nor False
        raise refused(
            f"{source}: {error}",
            content.data[:40],
            f"allowed are columns {', '.join(names)}",
        ) from error
    if list(table.columns)[: len(names)] != [*names]:
        raise refused(
            source, list(table.columns), f"allowed is the header {', '.join(names)}"
        )
    return table[[*names]].rename(columns=names)
