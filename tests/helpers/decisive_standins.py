"""tau-bench's failures as runs with a decisive step: the first writing call that the
gold list does not hold.

Where no call was wrong but one is missing, the last step of the agent decides: then it
gave up. The label is derived, not given by people. Reflexion's set holds no steps and
the recorded local runs one each, so that neither can tell.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from theorex_lab.eval.datasets.dataset_files import read_files
from theorex_lab.eval.datasets.dataset_table import DATASETS
from theorex_lab.evolution.failure_signs import RunStep

READING = (
    "get_user_details search_direct_flight search_onestop_flight calculate think"
    " get_reservation_details list_all_airports transfer_to_human_agents"
).split()


def airline_failures() -> Iterator[tuple[str, list[RunStep], int]]:
    """Instruction, steps and decisive step of each trial with the reward 0."""
    for run in json.loads(
        read_files(DATASETS["taubench_airline"])["gpt-4o-airline.json"].data
    ):
        if run["reward"] < 1:
            task = run["info"]["task"]
            gold = [
                _key(action["name"], action["kwargs"]) for action in task["actions"]
            ]
            turns = [turn for turn in run["traj"] if turn["role"] != "system"]
            steps = [_step(k, turn) for k, turn in enumerate(turns)]
            yield task["instruction"], steps, _decisive(turns, gold)


def _step(k: int, turn: dict[str, Any]) -> RunStep:
    if turn["role"] == "tool":
        return RunStep(k, turn["name"], turn["content"] or "", tool=turn["name"])
    calls = [
        f"```\n{call['function']['name']} {call['function']['arguments']}\n```"
        for call in _calls(turn)
    ]
    return RunStep(
        k, turn["role"], "\n".join([turn.get("content") or "", *calls]).strip()
    )


def _decisive(turns: list[dict[str, Any]], gold: list[str]) -> int:
    left = list(gold)
    for k, turn in enumerate(turns):
        for call in _calls(turn):
            key = _key(
                call["function"]["name"], json.loads(call["function"]["arguments"])
            )
            if key in left:
                left.remove(key)
            elif call["function"]["name"] not in READING:
                return k
    return max(k for k, turn in enumerate(turns) if turn["role"] == "assistant")


def _calls(turn: dict[str, Any]) -> list[dict[str, Any]]:
    return turn.get("tool_calls") or []


def _key(name: str, arguments: dict[str, Any]) -> str:
    return f"{name} {json.dumps(arguments, sort_keys=True)}"
