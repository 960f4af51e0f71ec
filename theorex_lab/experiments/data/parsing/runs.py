"""EventLog runs of agents: tau-bench airline, Who&When and Reflexion on ALFWorld."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorex_lab.experiments.data.dataset_files import Content
from theorex_lab.experiments.data.parsing.fields import Record, json_record, json_records, refused

ROLES = ("system", "user", "assistant", "tool")
_TRIAL = re.compile(r"(base|reflexion)_run_logs/env_results_trial_(\d{1,3})\.json\Z")


@dataclass(frozen=True)
class Action:
    """A tool's name and its arguments; result: what the tool gave back, None for an action of the gold list."""

    name: str
    arguments: dict[str, Any]
    result: str | None = None


@dataclass(frozen=True)
class Message:
    """role: of ROLES.  text: empty where an assistant only called a tool."""

    role: str
    text: str


@dataclass(frozen=True)
class TauRun:
    """One trial of a task. reward: 0 or 1.  actions: taken, in order.  gold_actions: what would have been right.
    outputs: texts that the answer must hold.  user_cost_usd: of the model that played the user, NaN where it is not known."""

    task: int
    trial: int
    reward: float
    user: str
    instruction: str
    gold_actions: tuple[Action, ...]
    outputs: tuple[str, ...]
    actions: tuple[Action, ...]
    messages: tuple[Message, ...]
    user_cost_usd: float


@dataclass(frozen=True)
class TauBench:
    """rewards: shape (n_tasks, n_trials), NaN where a trial is missing."""

    runs: tuple[TauRun, ...]
    rewards: NDArray[np.float64]
    licence: str


def taubench(content: Content, licence: str) -> TauBench:
    """Of a list of runs. Raises InvalidInput also where a trial of a task comes twice."""
    records = json_records(content)
    runs = tuple(_tau_run(each) for each in records)
    shape = (1 + max((run.task for run in runs), default=-1), 1 + max((run.trial for run in runs), default=-1))
    rewards = np.full(shape, np.nan)
    for run, record in zip(runs, records, strict=True):
        if not np.isnan(rewards[run.task, run.trial]):
            raise refused(record.place, f"task {run.task}, trial {run.trial} again", "each trial once")
        rewards[run.task, run.trial] = run.reward
    return TauBench(runs, rewards, licence)


def _tau_run(given: Record) -> TauRun:
    info = given.record("info")
    task, messages = info.record("task"), given.records("traj")
    return TauRun(
        task=given.whole("task_id", below=100_000),
        trial=given.whole("trial", below=1_000),
        reward=given.number("reward"),
        user=task.text("user_id"),
        instruction=task.text("instruction"),
        gold_actions=tuple(Action(each.text("name"), each.record("kwargs").fields) for each in task.records("actions")),
        outputs=task.texts("outputs"),
        actions=_actions(messages),
        messages=tuple(Message(each.choice("role", ROLES), each.optional_text("content") or "") for each in messages),
        user_cost_usd=math.nan if info.fields.get("user_cost") is None else info.number("user_cost"),
    )


def _actions(messages: list[Record]) -> tuple[Action, ...]:
    results = {
        each.text("tool_call_id"): each.text("content") for each in messages if each.fields.get("role") == "tool"
    }
    actions = []
    for message in messages:
        for call in message.records("tool_calls") if message.fields.get("tool_calls") else ():
            called = call.record("function")
            try:
                arguments = json.loads(called.text("arguments"))
            except ValueError as error:
                raise refused(f"{called.place}: {error}", called.text("arguments"), "JSON") from error
            if not isinstance(arguments, dict):
                raise refused(f"{called.place}: arguments", arguments, "an object")
            actions.append(Action(called.text("name"), arguments, results.get(call.text("id"))))
    return tuple(actions)


@dataclass(frozen=True, slots=True)
class Step:
    """agent: who spoke.  role: as the framework saw it, user or assistant in most."""

    agent: str
    role: str
    text: str


@dataclass(frozen=True)
class FailedRun:
    """A failed run and what people found to be its cause.

    id: the file's number.  agents: system prompt of each agent by name, where they are known.  mistake_step: position
    in `steps`.  mistake_agent: in a few runs not the agent of that step; so it was labelled.
    """

    id: str
    question_id: str
    question: str
    ground_truth: str
    level: str
    agents: dict[str, str]
    steps: tuple[Step, ...]
    mistake_agent: str
    mistake_step: int
    mistake_reason: str


@dataclass(frozen=True)
class WhoAndWhen:
    """Failed runs in the order of their numbers."""

    runs: tuple[FailedRun, ...]
    licence: str


def whoandwhen(members: Mapping[str, Content], licence: str) -> WhoAndWhen:
    """Of the files of an archive, a run each."""
    runs = [_failed_run(name.removesuffix(".json"), json_record(content)) for name, content in members.items()]
    return WhoAndWhen(tuple(sorted(runs, key=lambda run: (len(run.id), run.id))), licence)


def _failed_run(name: str, given: Record) -> FailedRun:
    agents = given.record("system_prompt") if "system_prompt" in given.fields else Record(given.place, {})
    steps = [Step(_speaker(each), each.text("role"), each.text("content")) for each in given.records("history")]
    return FailedRun(
        id=name,
        question_id=given.text("question_ID"),
        question=given.text("question"),
        ground_truth=given.text("ground_truth"),
        level=given.optional_text("level") or "",
        agents={agent: agents.text(agent) for agent in agents.fields},
        steps=tuple(steps),
        mistake_agent=given.text("mistake_agent"),
        mistake_step=given.whole("mistake_step", below=len(steps)),
        mistake_reason=given.text("mistake_reason"),
    )


def _speaker(step: Record) -> str:
    """The name of who spoke; where there is none the role, which may tell to whom: `Orchestrator (-> WebSurfer)`."""
    return step.text("name") if "name" in step.fields else step.text("role").split(" (")[0]


@dataclass(frozen=True, slots=True)
class Reflection:
    """A written lesson. environment: position.  after_trial: the failed trial it was written after, from 0."""

    environment: int
    after_trial: int
    text: str


@dataclass(frozen=True)
class Reflexion:
    """success: shape (n_trials, n_environments), with reflections; base_success: alike, without passing them on.

    reflections: of the first, in order of trial and environment.
    """

    environments: tuple[str, ...]
    success: NDArray[np.bool_]
    base_success: NDArray[np.bool_]
    reflections: tuple[Reflection, ...]
    licence: str


def reflexion(members: Mapping[str, Content], licence: str) -> Reflexion:
    """Of the files of an archive, a trial each. Raises InvalidInput also for missing trials and shrinking memories."""
    trials: dict[str, dict[int, list[Record]]] = {"base": {}, "reflexion": {}}
    for name, content in members.items():
        match = _TRIAL.match(name)
        if not match:
            raise refused(content.place, name, "a name such as base_run_logs/env_results_trial_0.json")
        trials[match[1]][int(match[2])] = json_records(content)
    for kind, found in trials.items():
        if not found or sorted(found) != list(range(len(found))):
            place = next(iter(members.values())).place if members else kind
            raise refused(place, sorted(found), f"the {kind} trials 0, 1, 2, … without a gap")
    names = tuple(each.text("name") for each in trials["reflexion"][0])
    success = {kind: _successes(found, names) for kind, found in trials.items()}
    return Reflexion(names, success["reflexion"], success["base"], _reflections(trials["reflexion"]), licence)


def _successes(trials: dict[int, list[Record]], names: tuple[str, ...]) -> NDArray[np.bool_]:
    rows = []
    for trial in range(len(trials)):
        found = tuple(each.text("name") for each in trials[trial])
        if found != names:
            place = trials[trial][0].place if trials[trial] else f"trial {trial}"
            raise refused(place, found, f"the {len(names)} environments of the first trial, in its order")
        rows.append([each.flag("is_success") for each in trials[trial]])
    return np.array(rows, dtype=np.bool_)


def _reflections(trials: dict[int, list[Record]]) -> tuple[Reflection, ...]:
    """A trial's record holds every reflection so far, the one written after that trial being the last."""
    found, known = [], [0] * len(trials[0])
    for trial in range(len(trials)):
        for environment, record in enumerate(trials[trial]):
            memory = record.texts("memory")
            if len(memory) < known[environment]:
                raise refused(
                    f"{record.place}: memory", len(memory), f"at least {known[environment]} reflections, as before"
                )
            found += [Reflection(environment, trial, text) for text in memory[known[environment] :]]
            known[environment] = len(memory)
    return tuple(found)
