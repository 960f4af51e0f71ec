"""Give a session what earlier ones taught, in the document's blocks.

`<memories>` holds insights, and `<skills>` holds how something is done. Each entry is
whole, and a block without entries is none. That they were given is noted, so that their
use can be counted.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.research.insights import Insight, distinct, ranked
from theorex_lab.designs.research.settings import research_settings
from theorex_lab.designs.research.skills import Skill, skills_of
from theorex_lab.memory.briefing.token_budget import count_tokens
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import TRUST
from theorex_lab.memory.retrieval_log import note_recalled
from theorex_lab.text.line import NOTICE, fence, folded

# What would open or close a block inside one.
_TAG = re.compile(r"<(/?(?:memories|skills))", re.IGNORECASE)
_OPENED = r"< \1"
# Skills that failed more often than they worked are not given.
_LEAST_RANK = 0.5


class _Entry(NamedTuple):
    """What a block holds of one item: its id, and its lines."""

    item_id: str
    lines: list[str]


def load_for_injection(
    home: Home,
    domain: str | None = None,
    k: int | None = None,
    query: str = "",
    *,
    tokens: int = 2_000,
    agent: str = "main",
    session: str = "",
) -> str:
    """Return the insights that fit what a session is about, in <memories>.

    They are whole ones within a budget. Without a query one is given of those that say
    much of the same.

    Args:
        home: Where they are kept.
        domain: Only of this domain; default: of all. The domain of a captured session
            is its project, unless it was told another.
        k: How many at most; default: the setting injectK.
        query: What the session is about.
        tokens: The budget.
        agent: To whom they are given.
        session: In which session.

    Returns:
        The text; '' where nothing fits.

    Raises:
        InvalidInput: k is negative.
    """
    most = _checked_most(k, research_settings(home).inject_k)
    entries = (
        _insight_entry(insight) for insight, _ in distinct(ranked(home, query, domain))
    )
    block = _block("memories", entries, most, tokens)
    _note(home, block, query=query, agent=agent, session=session)
    return block.text


def skills_for_injection(
    home: Home,
    role: str | None = None,
    stage: str | None = None,
    k: int | None = None,
    *,
    tokens: int = 2_000,
    agent: str = "main",
    session: str = "",
) -> str:
    """Return the skills for a role and a stage, the best first, in <skills>.

    They are whole ones within a budget. A skill that failed more often than it worked
    is left out. How a session went that was given a skill counts for the skill.

    Args:
        home: Where they are kept.
        role: Those for this role; default: for any.
        stage: Those for this stage; default: for any.
        k: How many at most; default: the setting skillsK.
        tokens: The budget.
        agent: To whom they are given.
        session: In which session.

    Returns:
        The text; '' where nothing fits.

    Raises:
        InvalidInput: k is negative.
    """
    most = _checked_most(k, research_settings(home).skills_k)
    entries = []
    for skill in skills_of(home, role, stage):
        if skill.rank >= _LEAST_RANK:
            entries.append(_skill_entry(skill))
    block = _block("skills", entries, most, tokens)
    _note(home, block, query="", agent=agent, session=session)
    return block.text


def _checked_most(k: int | None, default: int) -> int:
    """Return how many entries are given at most.

    Raises:
        InvalidInput: It is negative.
    """
    most = default if k is None else k
    if most < 0:
        raise InvalidInput(f"got k={k}; allowed are whole numbers from 0")
    return most


def _insight_entry(insight: Insight) -> _Entry:
    """Return an insight for a prompt, on a line that closes nothing."""
    line = f"- {insight.category}: {insight.text} ({insight.created_at:%Y-%m-%d})"
    lines = _untrusted_fenced([line], insight.agent, insight.source)
    return _Entry(insight.insight_id, lines)


def _skill_entry(skill: Skill) -> _Entry:
    """Return a skill for a prompt: what it is for, how it is done, how it went."""
    first = f"- {skill.name}: {skill.description}"
    if skill.usage_count:
        first += f" (worked {skill.successes} of {skill.usage_count} times)"
    steps = [f"  {line}" for line in skill.body.splitlines() if line.strip()]
    lines = _untrusted_fenced([first, *steps], skill.agent, skill.source)
    return _Entry(skill.skill_id, lines)


def _untrusted_fenced(lines: Iterable[str], agent: str, source: str) -> list[str]:
    """Return lines that close no block.

    They stand in a fence where they are not an agent's or a person's own word.
    """
    closed_lines = []
    for line in lines:
        text = line.lstrip()
        indent = line.removesuffix(text)
        closed_text = _TAG.sub(_OPENED, folded(text))
        closed_lines.append(indent + closed_text)
    if TRUST[source] >= TRUST["agent"]:
        return closed_lines
    return fence(closed_lines, f"{agent}/{source}")


class _Block(NamedTuple):
    """A block of a prompt, '' without entries, and the ids of what it holds."""

    text: str
    item_ids: list[str]


def _block(tag: str, entries: Iterable[_Entry], most: int, tokens: int) -> _Block:
    """Return the first entries that fit a budget, between the tags of a block."""
    lines = [f"<{tag}>", NOTICE]
    item_ids: list[str] = []
    left = tokens - count_tokens(f"<{tag}>\n{NOTICE}\n</{tag}>")
    for entry in entries:
        size = count_tokens("\n".join(entry.lines) + "\n")
        if len(item_ids) < most and size <= left:
            lines += entry.lines
            left -= size
            item_ids.append(entry.item_id)
    if not item_ids:
        return _Block("", [])
    lines.append(f"</{tag}>")
    return _Block("\n".join(lines), item_ids)


def _note(home: Home, block: _Block, *, query: str, agent: str, session: str) -> None:
    """Note that what a block holds was given."""
    if not block.item_ids:
        return
    note_recalled(
        home,
        "injection",
        query=query,
        items=block.item_ids,
        tokens=count_tokens(block.text),
        agent=agent,
        session=session,
    )
