"""Tell contexts of research tiers.

At a session's start come back pitfalls, what worked, what is known and open, and the
skills that did well.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from theorex_lab.core.clock import MICROSECONDS_PER_DAY, to_microseconds
from theorex_lab.designs.research.insights import Insight, distinct, ranked
from theorex_lab.designs.research.settings import research_settings
from theorex_lab.designs.research.skills import Skill, skills_of
from theorex_lab.memory.briefing.token_budget import age_in_words
from theorex_lab.memory.contract import ContextLine, ContextRequest, Home
from theorex_lab.memory.observation import TRUST
from theorex_lab.text.line import folded, one_line

_LINE_CHARACTERS = 500
_DISTILLED = "distilled"  # the origin of a skill that was made of recorded sessions
_MOST_INSIGHTS = 40
_SKILLED_FROM = 0.5  # rank from which a skill is told


def insight_lines(home: Home, request: ContextRequest) -> Iterator[ContextLine]:
    """Yield the insights that fit a request, then skills that did well.

    Without a query they are the newest insights. What says much of the same comes once.
    """
    ranking = [*islice(distinct(ranked(home, request.query)), _MOST_INSIGHTS)]
    if not request.query:  # that something worked says least of what to do
        ranking.sort(key=lambda pair: pair[0].category == "proof_strategy")
    learned_ids = _learned(home, [insight.insight_id for insight, _ in ranking])
    for insight, likeness in ranking:
        why = "the newest" if likeness is None else f"alike {likeness:.2f}"
        line = _line(insight, request.now, why)
        yield line._replace(automatic=insight.insight_id in learned_ids)
    for skill in skills_of(home, k=research_settings(home).skills_k):
        if skill.rank >= _SKILLED_FROM:
            yield _skill_line(skill)


def _learned(home: Home, insight_ids: Sequence[str]) -> set[str]:
    """Return those of these insights that were learned from recorded sessions."""
    events = home.journal.read(ids=list(insight_ids))
    return {event.id for event in events if event.lineage}


def _line(insight: Insight, now: int, why: str) -> ContextLine:
    """Return the line of an insight, with its age."""
    days = (now - to_microseconds(insight.created_at)) / MICROSECONDS_PER_DAY
    age = age_in_words(days)
    text = one_line(f"{insight.text} ({age})", _LINE_CHARACTERS)
    untrusted = None
    if not insight.trusted:
        untrusted = (insight.agent, TRUST[insight.source])
    return ContextLine(
        insight.category,
        insight.agent,
        text,
        untrusted,
        (insight.insight_id,),
        (insight.insight_id,),
        why,
        statement=folded(insight.text),
        at=to_microseconds(insight.created_at),
    )


def _skill_line(skill: Skill) -> ContextLine:
    """Return the line of a skill, with how often it worked."""
    text = f"{skill.description}: {skill.body}"
    if skill.usage_count:
        text += f" (worked {skill.successes} of {skill.usage_count} times)"
    untrusted = None
    if TRUST[skill.source] < TRUST["agent"]:
        untrusted = (skill.agent, TRUST[skill.source])
    return ContextLine(
        "skill",
        skill.agent,
        one_line(text, _LINE_CHARACTERS),
        untrusted,
        (skill.skill_id,),
        (),
        f"rank {skill.rank:.2f}",
        statement=folded(text),
        at=to_microseconds(skill.created_at),
        automatic=skill.origin == _DISTILLED,
    )
