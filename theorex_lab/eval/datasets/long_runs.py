"""Short failed runs, made into long ones that a conductor leads.

Nobody ran the result. It tests whether what reads a failed run depends on its length
and on names: the labelled mistake stays the same step, among plans, ledgers,
instructions and harmless browsing, in the form that Magentic-One writes.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np

from theorex_lab.eval.datasets.parsing import FailedRun, LabelledStep
from theorex_lab.evolution.failure_signs import RunStep, read_run

CONDUCTOR = "Orchestrator"
_TERMINAL = "ComputerTerminal"
_BROWSER = "WebSurfer"
_WORKERS = ("Assistant", "Coder", "FileSurfer", _BROWSER)
_MOST_DETOUR_ROUNDS = 3
_QUERY_WORDS = 5
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")


def lengthen_run(run: FailedRun, *, seed: int = 0) -> FailedRun:
    """Return the run as a long one that an orchestrator leads.

    The opening becomes the orchestrator's plan. A ledger and an instruction stand
    before each step of an agent, and rounds of harmless browsing between them. Agents
    get the names of Magentic-One's.

    Args:
        run: The run, with its labelled step.
        seed: Draws the rounds of browsing.

    Returns:
        A run with the same question and the same mistake, at its new position.
    """
    # A seed for each run, so that the order of runs changes nothing.
    letters = [ord(letter) for letter in run.question_id or run.id]
    return _LongRun(run, np.random.default_rng([seed, *letters])).build()


class _LongRun:
    """A long run, as it is written."""

    def __init__(self, run: FailedRun, random: np.random.Generator) -> None:
        self.run = run
        self.random = random
        self.steps: list[LabelledStep] = []
        self.renamed: dict[str, str] = {}
        plain_steps = []
        for position, step in enumerate(run.steps):
            plain_step = RunStep(position, step.agent, step.text)
            plain_steps.append(plain_step)
        self.readings = read_run(plain_steps, run.question)

    def build(self) -> FailedRun:
        """Return the long run."""
        run = self.run
        self._add("human", run.question)
        self._add(f"{CONDUCTOR} (thought)", f"Initial plan:\n\n{run.steps[0].text}")
        positions = {0: len(self.steps) - 1}
        for position in range(1, len(run.steps)):
            self._browse()
            self._add_original(position)
            positions[position] = len(self.steps) - 1
        mistake_step = positions[run.mistake_step]
        return replace(
            run,
            steps=tuple(self.steps),
            agents={},
            mistake_step=mistake_step,
            mistake_agent=self.steps[mistake_step].agent,
        )

    def _add(self, role: str, text: str) -> None:
        self.steps.append(LabelledStep(role.split(" (")[0], role, text))

    def _add_original(self, position: int) -> None:
        """Add a step of the short run, and what the orchestrator writes before it."""
        step = self.run.steps[position]
        reading = self.readings[position]
        if reading.is_page:
            self._add(_BROWSER, step.text)
            return
        if reading.is_result:
            self._add(_TERMINAL, step.text)
            return
        worker = self._worker(step.agent)
        before = self.readings[position - 1]
        self._direct(
            worker,
            "go on with the next part of the plan",
            not before.failed,
        )
        self._add(worker, step.text)

    def _worker(self, agent: str) -> str:
        """Return the new name of an agent: those that come first differ."""
        if agent not in self.renamed:
            n_renamed = len(self.renamed)
            last = len(_WORKERS) - 1
            number = min(n_renamed, last)
            self.renamed[agent] = _WORKERS[number]
        return self.renamed[agent]

    def _direct(self, worker: str, order: str, is_progress: bool) -> None:
        """Add a ledger and the instruction that follows from it."""
        instruction = f"{worker}, please {order}, and tell what it gives."
        answers = {
            "is_request_satisfied": False,
            "is_in_loop": False,
            "is_progress_being_made": is_progress,
            "next_speaker": worker,
            "instruction_or_question": instruction,
        }
        ledger = {}
        for question, answer in answers.items():
            ledger[question] = {
                "reason": "So the last step reads.",
                "answer": answer,
            }
        text = json.dumps(ledger, indent=2)
        self._add(f"{CONDUCTOR} (thought)", f"Updated Ledger:\n{text}")
        self._add(f"{CONDUCTOR} (-> {worker})", instruction)

    def _browse(self) -> None:
        """Add some rounds of browsing that neither help nor harm."""
        words = _LONG_WORD.findall(self.run.question)
        n_words = min(_QUERY_WORDS, len(words))
        n_rounds = int(self.random.integers(_MOST_DETOUR_ROUNDS))
        for _ in range(n_rounds):
            drawn = self.random.permutation(words)
            query = " ".join(drawn[:n_words])
            percent = int(self.random.integers(10, 100))
            self._direct(_BROWSER, f"look for “{query}”", True)
            self._add(
                _BROWSER,
                f"I typed '{query}' into the browser search bar.\n\nHere is a"
                f" screenshot of [{query} - Search](https://search.invalid/). The"
                f" viewport shows {percent}% of the webpage, and is positioned at the"
                " top of the page.",
            )
