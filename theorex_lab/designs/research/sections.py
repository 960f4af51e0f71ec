"""What comes back of research tiers at a session's start: pitfalls, what worked, what
is known and open, and the skills that did well.
"""

from collections.abc import Iterator
from itertools import islice

from theorex_lab.core.clock import MICROSECONDS_PER_DAY, to_microseconds
from theorex_lab.designs.research.insights import Insight, distinct, ranked
from theorex_lab.designs.research.settings import research_settings
from theorex_lab.designs.research.skills import Skill, skills_of
from theorex_lab.memory.briefing.token_budget import age_in_words
from theorex_lab.memory.contract import ContextLine, ContextRequest, Home
from theorex_lab.memory.observation import TRUST
from theorex_lab.text.line import one_line

_LINE_CHARACTERS = 500
_MOST_INSIGHTS = 40
_SKILLED_FROM = 0.5  # rank from which a skill is told


def insight_lines(home: Home, wanted: ContextRequest) -> Iterator[ContextLine]:
    """The insights that fit what is asked, else the newest; then the skills that did
    well. What says much of the same comes once.
    """
    found = [*islice(distinct(ranked(home, wanted.query)), _MOST_INSIGHTS)]
    if not wanted.query:  # that something worked says least of what to do
        found.sort(key=lambda pair: pair[0].category == "proof_strategy")
    for insight, likeness in found:
        yield _line(
            insight,
            wanted.now,
            "the newest" if likeness is None else f"alike {likeness:.2f}",
        )
    for skill in skills_of(home, k=research_settings(home).skills_k):
        if skill.rank >= _SKILLED_FROM:
            yield _skill_line(skill)


def _line(insight: Insight, now: int, why: str) -> ContextLine:
    age = age_in_words(
        (now - to_microseconds(insight.created_at)) / MICROSECONDS_PER_DAY
    )
    text = one_line(f"{insight.text} ({age})", _LINE_CHARACTERS)
    heard = None if insight.trusted else (insight.agent, TRUST[insight.source])
    return ContextLine(
        insight.category, insight.agent, text, heard, (insight.insight_id,), (), why
    )


def _skill_line(skill: Skill) -> ContextLine:
    often = (
        f" (worked {skill.successes} of {skill.usage_count} times)"
        if skill.usage_count
        else ""
    )
    told = f"{skill.description}: {skill.body}{often}"
    heard = (
        None
        if TRUST[skill.source] >= TRUST["agent"]
        else (skill.agent, TRUST[skill.source])
    )
    return ContextLine(
        "skill",
        skill.agent,
        one_line(told, _LINE_CHARACTERS),
        heard,
        (skill.skill_id,),
        (),
        f"rank {skill.rank:.2f}",
    )
