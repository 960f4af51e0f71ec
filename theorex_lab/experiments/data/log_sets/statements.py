"""Statements written in time, of which later ones correct earlier ones; what is asked must find the one that holds now."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from theorex_lab.clock import to_microseconds
from theorex_lab.experiments.data.dataset_files import Content, read_files
from theorex_lab.experiments.data.dataset_table import DATASETS
from theorex_lab.experiments.data.log_sets.recorder import MINUTE, UNDATED, Parts, Recorder, part
from theorex_lab.experiments.data.parsing.fields import read_json, read_json_lines

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
