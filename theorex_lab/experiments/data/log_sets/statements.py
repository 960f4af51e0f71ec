"""Statements written in time, of which later ones correct earlier ones; what is asked must find the one that holds now."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from theorex_lab.clock import to_microseconds
from theorex_lab.experiments.data.dataset_files import DATASETS, Content, read_files, read_json, read_json_lines
from theorex_lab.experiments.data.log_sets.conversations import content
from theorex_lab.experiments.data.log_sets.recorder import MINUTE, UNDATED, Parts, Recorder, informative, part

_STATEMENT = re.compile(r"(?m)^(\d+)\. (.+?)\.?\s*$")
_EVERY = 15 * MINUTE  # between two statements


class _Fact(BaseModel):
    n: int
    text: str


class _Asked(BaseModel):
    question: str
    answers: list[str]
    evidence: list[int]
    stale: list[int]


class _Row(BaseModel):
    fact: _Fact | None = None
    probe: _Asked | None = None


def fact_updates() -> Parts:
    """Invented statements, a quarter of an hour apart: 1,000 and 8,000, with 150 and 1,200 questions at the end."""
    for file, text in read_files(DATASETS["fact_updates"]).items():
        yield part(f"fact_updates/{file.removeprefix('facts-').removesuffix('.jsonl')}", _facts, text)


def _facts(log: Recorder, text: Content) -> None:
    rows = read_json_lines(text, _Row)
    facts = [row.fact for row in rows if row.fact]
    for fact in facts:
        log.wrote(fact.n, UNDATED + fact.n * _EVERY, fact.text)
    last = UNDATED + (len(facts) + 1) * _EVERY
    for asked in (row.probe for row in rows if row.probe):
        log.probe(last, asked.question, asked.evidence, tuple(asked.answers), asked.stale)


class _Belief(BaseModel):
    id: Annotated[str, Field(alias="_id")]
    user_id: str
    canonical_name: str
    aliases: list[str]
    content: str
    why_it_matters: str
    pinned: bool
    created_at: str


class _Returned(BaseModel):
    must: Annotated[list[str], Field(alias="mustInclude", default_factory=list)]
    only: Annotated[list[str] | None, Field(alias="shouldOnlyInclude", default=None)]
    never: Annotated[list[str], Field(alias="mustExclude", default_factory=list)]


class _Case(BaseModel):
    query: str
    expect: dict[str, _Returned]  # by part, such as pinnedFacts and relevantBeliefs
    user: Annotated[str, Field(alias="userId", default="")]


def precisionmembench(*, searched: bool = False) -> Parts:
    """precisionMemBench: 35 beliefs of a person, and what must come back for each of its cases and what must not.

    Where a case lists all that is relevant, every other belief is stale but the pinned ones, which may always stand
    there. searched: only what search must find counts as wanted, not what stands in every context. The one case of a user
    without beliefs is left out: nobody tells a memory here who asks.
    """
    files = read_files(DATASETS["precisionmembench"])
    beliefs, cases = files["beliefs.seed.json"], files["retrieval.cases.json"]
    yield part("precisionmembench", _beliefs, beliefs, cases, searched)


def _beliefs(log: Recorder, beliefs: Content, cases: Content, searched: bool = False) -> None:
    known = read_json(beliefs, list[_Belief])
    for number, belief in enumerate(known):
        named = ", ".join([belief.canonical_name, *belief.aliases])
        text = f"{named}: {belief.content} {belief.why_it_matters}"
        agent = "main" if belief.user_id == "test-user" else belief.user_id
        log.wrote(belief.id, to_microseconds(belief.created_at) + number, text, agent=agent)
    last, loose = max(event.at for event in log.events) + 1, {belief.id for belief in known if not belief.pinned}
    for case in read_json(cases, list[_Case]):
        if not case.user:
            relevant = case.expect.get("relevantBeliefs")
            parts = [relevant] if searched and relevant else [] if searched else case.expect.values()
            wanted = {belief for part in parts for belief in [*part.must, *(part.only or ())]}
            never = {belief for part in parts for belief in part.never}
            never |= loose if relevant and relevant.only is not None else set()
            log.probe(last, case.query, wanted, (), never - wanted)


class _About(BaseModel):
    source: str = ""


class _Context(BaseModel):
    context: str
    questions: list[str]
    answers: list[list[str]]
    metadata: _About = _About()


def factconsolidation(path: Path) -> Parts:
    """FactConsolidation of MemoryAgentBench: a JSON list of rows of its split Conflict_Resolution (context, questions, …).

    Statements are numbered, and of two that differ in their end alone the later holds. The set names no evidence: it is
    the last statement that ends with the answer and begins as the question asks; questions over several statements
    (`_mh_`) have words alone.
    """
    for number, row in enumerate(read_json(content(path), list[_Context])):
        yield part(f"factconsolidation/{row.metadata.source or number}", _consolidation, row)


def _consolidation(log: Recorder, row: _Context) -> None:
    stated = [(int(number), text) for number, text in _STATEMENT.findall(row.context)]
    for number, text in stated:
        log.wrote(number, UNDATED + number * _EVERY, f"{text}.")
    last = UNDATED + (stated[-1][0] + 1) * _EVERY
    for question, answers in zip(row.questions, row.answers, strict=True):
        right, stale = ([], []) if "_mh_" in log.name else _told(stated, question, answers)
        log.probe(last, question, right, tuple(answers[:1]), stale)


def _told(stated: Sequence[tuple[int, str]], question: str, answers: Sequence[str]) -> tuple[list[int], list[int]]:
    """The statement that answers a question, and those that begin like it and end otherwise."""
    begun: dict[str, list[int]] = defaultdict(list)
    for number, text in stated:
        if end := next((answer for answer in answers if text.endswith(f" {answer}")), ""):
            begun[text.removesuffix(end)].append(number)
    shared = {start: len({*informative(start)} - {*informative(start, question)}) for start in begun}
    best = max(begun, key=lambda start: (shared[start], begun[start][-1]), default="")
    if not shared.get(best):
        return [], []
    right = begun[best][-1:]
    return right, [number for number, text in stated if text.startswith(best) and number not in begun[best]]
