"""Reviewers of failures: by rules, or by a language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from theorex_lab.errors import ConfigError, InvalidInput, ModelUnavailable
from theorex_lab.evolution.cases import Case, Panel, Reviewer, ReviewVerdict
from theorex_lab.evolution.decisive import Finding, RunStep, find_decisive
from theorex_lab.evolution.failure_signs import read_run
from theorex_lab.evolution.model_review import ModelReviewer
from theorex_lab.evolution.rule_fix import rule_fix

if TYPE_CHECKING:
    from theorex_lab.config import Settings

HEURISTIC = "heuristic"
KINDS = ("auto", HEURISTIC, "model")
_NO_TRACE = "no trace was kept of this run, and rules read nothing else; what failed stands in the context"
_NOTHING_FOUND = "the rules find nothing in the trace that would help the next run; what failed stands in the context"
_CONNECT_SECONDS = 1.0
# How often the first unmended call was the step labelled in tau-bench's failures (8 of 11; tests/decisive_standins.py).
UNMENDED_SHARE = 0.7
SURE = 0.5  # below it, a fix says that its cause is probable


class HeuristicReviewer:
    """Reviews offline, by rules: the decisive step of the run and a fix by the class of its error."""

    names = (HEURISTIC,)

    def review(self, case: Case) -> ReviewVerdict:
        """The first tool call that failed and was not mended decides; without one, what `find_decisive` finds.

        Without a trace, or where no model answered and no tool was used, there is a problem in place of a fix: that
        an endpoint was silent says nothing of the failure that it was asked about.
        """
        if case.trace is None:
            return ReviewVerdict(0.0, "", HEURISTIC, problem=_NO_TRACE)
        found = _finding(case)
        fix = "" if _is_unanswered(case) else rule_fix(found, case.steps)
        if fix and found.confidence < SURE:
            fix = f"Probably the cause: {fix[0].lower()}{fix[1:]}"
        about = f"{case.outcome.decision}\n{case.outcome.result}"
        told = found.step, found.failure_class.value, None if fix else _NOTHING_FOUND
        return ReviewVerdict(found.confidence, fix, HEURISTIC, *told, about=about, confidence=found.confidence)


def _is_unanswered(case: Case) -> bool:
    return case.trace is not None and case.trace.success is False and not case.trace.events


def _finding(case: Case) -> Finding:
    start = _first_unmended(case.steps)
    if start is None:
        return find_decisive(case.steps[1:]) if _is_unanswered(case) else find_decisive(case.steps, task=case.task)
    return replace(find_decisive(case.steps[start : start + 2]), confidence=UNMENDED_SHARE)


def _first_unmended(steps: Sequence[RunStep]) -> int | None:
    """The position of the first tool call that failed and after which no like call succeeded; None without one."""
    readings = read_run(steps)
    calls = [k for k in range(len(steps) - 1) if steps[k].tool is None and steps[k + 1].tool is not None]
    like = {k: (steps[k + 1].tool, *readings[k].text.strip("`\n{").split(maxsplit=1)[:1]) for k in calls}
    mended_until = {like[k]: k for k in calls if not readings[k + 1].failed}
    return next((k for k in calls if readings[k + 1].failed and mended_until.get(like[k], -1) < k), None)


def choose_reviewer(kind: str, settings: Settings) -> tuple[Reviewer, str]:
    """The reviewer of a kind (auto, heuristic, model), and why it.

    auto: the model, where one of the setting `reviewers` has a url in config.json (or runs offline) that accepts a
    connection now, else the heuristic one.
    Raises InvalidInput for another kind.

    >>> from theorex_lab.config import Settings
    >>> choose_reviewer("heuristic", Settings())[1]
    'heuristic: it was asked for'
    """
    if kind not in KINDS:
        raise InvalidInput(f"got the reviewer {kind!r}; allowed are {', '.join(KINDS)}")
    asked = settings.reviewers if kind == "auto" else ()
    reached = next((name for name in asked if is_reached(name, settings)), None)
    if kind == HEURISTIC:
        return HeuristicReviewer(), "heuristic: it was asked for"
    if kind == "auto" and reached is None:
        return HeuristicReviewer(), f"heuristic: of the models that review, {_why_none(settings)}"
    why = "it was asked for" if reached is None else f"{reached} accepts connections"
    return ModelReviewer(Panel(settings)), f"model: {why}; asked in turn are {', '.join(settings.reviewers) or 'none'}"


def _why_none(settings: Settings) -> str:
    if not settings.reviewers:
        return "none is set"
    named = [name for name in settings.reviewers if name in settings.models and settings.models[name].url is not None]
    if not named:
        names = ", ".join(settings.reviewers)
        return f"none of {names} has a url; set models.{settings.reviewers[0]}.url in config.json to let it review"
    return f"none of {', '.join(named)} accepts a connection"


def is_reached(name: str, settings: Settings) -> bool:
    """Whether the model has an address that may be called, and something accepts a connection there."""
    import socket
    from urllib.parse import urlsplit

    from theorex_lab.dispatch.llm import client_for

    try:
        with client_for(name, settings) as client:
            address = urlsplit(client.url)
        port = address.port or (443 if address.scheme == "https" else 80)
        with socket.create_connection((address.hostname or "", port), timeout=_CONNECT_SECONDS):
            return True
    except (ModelUnavailable, ConfigError, OSError):
        return False
