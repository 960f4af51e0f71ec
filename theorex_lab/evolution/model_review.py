"""A failure reviewed by a language model: what it is asked, and what of its reply is taken."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from theorex_lab.evolution.cases import (
    FIX_CHARACTERS,
    PROMPTS,
    WORDS_CHARACTERS,
    Case,
    Panel,
    ReviewVerdict,
    fenced_outcome,
    why_none,
)
from theorex_lab.evolution.decisive import FailureClass, RunStep
from theorex_lab.evolution.failure_signs import says
from theorex_lab.evolution.fix_words import plain_names
from theorex_lab.memory.context import fence
from theorex_lab.search.endpoint import excerpt
from theorex_lab.text.line import one_line

if TYPE_CHECKING:
    from theorex_lab.dispatch.llm import ChainAnswer

UNAVAILABLE = "unavailable"
_PROMPT_STEPS, _STEP_CHARACTERS, _SHOWN_CHARACTERS = 24, 500, 120
# A usable reply begins with its object; a model that is still talking here has answered something else.
_READ_CHARACTERS = 20_000
Ask = Callable[[str], "ChainAnswer"]


class ModelReviewer:
    """Asks a language model. `ask`: takes a prompt to the first endpoint that answers, as `dispatch.llm.ask` does."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.names = ask.names if isinstance(ask, Panel) else ()

    def review(self, case: Case) -> ReviewVerdict:
        """The model's review; a problem where none answered, or the reply holds no usable JSON object.

        Models that have tried this failure before are not asked.
        """
        ask = self._ask.without(case.tried) if isinstance(self._ask, Panel) else self._ask
        answer = ask(review_prompt(case))
        done = answer.completion
        if done is None:
            return ReviewVerdict(0.0, "", UNAVAILABLE, problem=why_none(answer))
        verdict = read_reply(done.text, done.model, len(case.steps))
        if verdict.problem and done.cut:
            return replace(verdict, problem=f"{verdict.problem} (it was cut at its longest)")
        return verdict


def review_prompt(case: Case) -> str:
    """What a model is asked: the outcome, its call and its steps, each cut and fenced as data."""
    trace = case.trace
    lines = [PROMPTS["review"], *fenced_outcome(case.outcome)]
    if trace is None:
        lines.append("No trace was kept of this run: judge by the outcome alone.")
    else:
        told = [
            f"model: {trace.model or 'none'}",
            f"tokens: {'unknown' if trace.total_tokens is None else trace.total_tokens}",
            f"latency: {'unknown' if trace.latency_ms is None else f'{trace.latency_ms:.0f} ms'}",
            f"error: {one_line(trace.error or 'none', WORDS_CHARACTERS)}",
        ]
        lines += ["The call:", *fence(told, "call"), "Its steps:", *fence(_told_steps(case.steps), "steps")]
    classes = ", ".join(member.value for member in FailureClass)
    return "\n".join([*lines, PROMPTS["review_answer"].format(classes=classes)])


def _told_steps(steps: Sequence[RunStep]) -> list[str]:
    half, few = _PROMPT_STEPS // 2, len(steps) <= _PROMPT_STEPS
    told = [(step, f"{'tool ' if step.tool else ''}{one_line(step.agent, 64)}") for step in steps]
    lines = [f"step {step.index}, {who}: {one_line(step.text, _STEP_CHARACTERS)}" for step, who in told]
    lines = lines if few else [*lines[:half], *lines[-half:]]
    return lines if few else [*lines[:half], f"({len(steps) - 2 * half} steps are left out)", *lines[half:]]


def read_reply(text: str, model: str, step_count: int) -> ReviewVerdict:
    """The review in a model's reply: its first balanced JSON object with a numeric score and a fix that is not blank.

    A reply without one gives a review with a `problem` that says what was wrong.

    >>> read_reply('Sure: {"score": 1.7, "fix_description": "Use {braces}."}', "qwen", 3).score
    1.0
    >>> read_reply('{"score": "high", "fix_description": "Retry."}', "qwen", 3).problem
    "the score is 'high'; allowed is a number, 0 to 1"
    """
    problems: list[str] = []
    for found in _objects(text[:_READ_CHARACTERS]):
        verdict = checked_verdict(found, model, step_count)
        if verdict.problem is None:
            return verdict
        if found.keys() & {"score", "fix_description"}:
            problems.append(verdict.problem)
    problem = problems[0] if problems else "the reply holds no JSON object with a score and a fix_description"
    return ReviewVerdict(0.0, "", model, problem=problem, reply=excerpt(text.encode(errors="replace")))


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every JSON object in the text, also those inside others, in the order of their opening braces."""
    decoder = json.JSONDecoder()
    for brace in re.finditer(r"\{", text):
        try:
            found, _ = decoder.raw_decode(text, brace.start())
        # ValueError: not balanced, or a number of thousands of digits.
        except (ValueError, RecursionError):
            continue
        yield found


def checked_verdict(found: dict[str, Any], model: str, step_count: int) -> ReviewVerdict:
    """A review from untrusted members, the score cut to 0..1 and the fix to one line; or one that says what is wrong.

    A step that is not there becomes None, an unknown class `other`.
    """
    score, fix = found.get("score"), found.get("fix_description")
    empty = ReviewVerdict(0.0, "", model)
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(min(max(score, -1), 2)):
        return replace(empty, problem=f"the score is {_shown(score)}; allowed is a number, 0 to 1")
    line = one_line(plain_names(fix.strip().removeprefix("trace_fix:")), FIX_CHARACTERS) if isinstance(fix, str) else ""
    if not re.search(r"\w", line):
        return replace(empty, problem=f"the fix_description is {_shown(fix)}; allowed is a sentence")
    if says("orders", line):
        problem = f"the fix_description {_shown(line)} gives orders to its reader; allowed is a fix"
        return replace(empty, problem=problem)
    step, kind = found.get("decisive_step"), found.get("failure_class")
    known = isinstance(step, int) and not isinstance(step, bool) and 0 <= step < step_count
    kind = kind if isinstance(kind, str) and kind in set(FailureClass) else FailureClass.OTHER.value
    return ReviewVerdict(float(min(1, max(0, score))), line, model, step if known else None, kind)


def _shown(value: object) -> str:
    """A wrong member, as an error may show it."""
    if value is None:
        return "missing"
    return repr(value[:_SHOWN_CHARACTERS]) if isinstance(value, str) else f"of the type {type(value).__name__}"
