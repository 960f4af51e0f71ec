"""Write the page of an entity for a week, and show it again.

It is the entity's page, with what was learnt and what was replaced in the week.
"""

from collections.abc import Iterable
from datetime import date, timedelta
from typing import NamedTuple

from theorex_lab.core.clock import MICROSECONDS_PER_DAY, to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.facts.channels import open_projects
from theorex_lab.designs.facts.facts import Fact
from theorex_lab.designs.facts.settings import fact_settings
from theorex_lab.designs.facts.summaries import summary
from theorex_lab.designs.facts.writing import check_entity
from theorex_lab.memory.contract import Home
from theorex_lab.text.line import one_line

_DAYS = 7
_MOST_LINES = 50  # of what was learnt in a week
_LINE_CHARACTERS = 240
_NAMED_IDS = 3
_NAMED_WEEKS = 10


class WeeklyPage(NamedTuple):
    """The page of an entity in a week.

    Attributes:
        week: The Monday with which the week begins.
    """

    entity: str
    week: str
    text: str


def weekly_pages(
    home: Home,
    entity: str,
) -> list[WeeklyPage]:
    """Return the pages of an entity, the oldest first.

    A week whose page was erased, or was written before pages were kept, has none.

    Raises:
        InvalidInput: It is no path of an entity.
    """
    path = check_entity(entity)
    pages = []
    events = home.journal.tail(
        0,
        kinds=["summarized"],
        projects=open_projects(home),
    )
    for event in events:
        text = event.body.get("text")
        if text and event.body["entity"] == path:
            page = WeeklyPage(path, event.body["week"], text)
            pages.append(page)
    return pages


def weekly_page(
    home: Home,
    entity: str,
    day: str = "",
) -> WeeklyPage:
    """Return the page of the week that a day lies in; '' is the last page.

    Raises:
        InvalidInput: There is none.
    """
    pages = {}
    for page in weekly_pages(home, entity):
        pages[page.week] = page
    week = max(pages, default="")
    if day:
        week = _monday(day)
    if week not in pages:
        weeks = ", ".join(sorted(pages)[-_NAMED_WEEKS:])
        if not weeks:
            weeks = "none: a heartbeat of a Monday writes it"
        raise InvalidInput(
            f"got the week {day or 'last'!r}; the weeks of {entity} are {weeks}"
        )
    return pages[week]


def _monday(day: str) -> str:
    """Return the Monday of the week that a day lies in."""
    try:
        stated = date.fromisoformat(day)
    except ValueError as error:
        raise InvalidInput(
            f"got the week {day!r:.40}; allowed is a day such as 2026-03-02"
        ) from error
    monday = stated - timedelta(days=stated.weekday())
    return monday.isoformat()


def weekly_text(
    home: Home,
    entity: str,
    facts: Iterable[Fact],
) -> str:
    """Return the page of an entity with what happened in the last seven days.

    Args:
        home: Whose entity it is.
        entity: The entity.
        facts: All its facts, those that were replaced too.
    """
    all_facts = list(facts)
    now = home.clock.now()
    active = [fact for fact in all_facts if fact.active]
    page = summary(
        entity,
        active,
        now,
        fact_settings(home),
    )
    lines = _week_lines(
        all_facts,
        now - _DAYS * MICROSECONDS_PER_DAY,
    )
    if not lines:
        lines = ["Nothing is new, and nothing was replaced."]
    n_more = len(lines) - _MOST_LINES
    if n_more > 0:
        lines[_MOST_LINES:] = [f"- {n_more} more"]
    head, _, footer = page.rstrip("\n").rpartition("\n")
    parts = [head.rstrip("\n"), "", "## This Week", "", *lines, "", footer, ""]
    return "\n".join(parts)


def _week_lines(
    facts: list[Fact],
    since: int,
) -> list[str]:
    """Return which facts came, and what was replaced or ended, since a time (µs).

    What came is hot, so that the page has its text already.
    """
    new_ids = []
    for fact in facts:
        is_new = fact.at >= since and not fact.supersedes
        if fact.active and is_new:
            new_ids.append(fact.id)
    lines = []
    if new_ids:
        lines.append(f"- New: {_listed_ids(new_ids)}")
    return lines + _replaced_lines(
        facts,
        since,
    )


def _replaced_lines(
    facts: list[Fact],
    since: int,
) -> list[str]:
    """Return what was replaced or ended since a time (µs)."""
    by_id = {fact.id: fact for fact in facts}
    lines = []
    for fact in facts:
        if fact.superseded_at is None or fact.superseded_at < since:
            continue
        successor = by_id.get(fact.superseded_by)
        before = _shown(fact)
        if successor is None:
            lines.append(f"- No longer: {before}")
        else:
            after = _shown(successor)
            lines.append(f"- Changed: {after}; before: {before}")
    return lines


def _shown(fact: Fact) -> str:
    """Return a fact on one line, with its day."""
    text = one_line(
        fact.text,
        _LINE_CHARACTERS,
    )
    day = to_iso(fact.at)[:10]
    return f"{text} ({day}, {fact.id})"


def _listed_ids(ids: list[str]) -> str:
    """Return ids in a sentence; of many the first and the last.

    >>> _listed_ids(["ann-001", "ann-002"]), _listed_ids(["a-1", "a-2", "a-3", "a-4"])
    ('ann-001, ann-002', '4 facts, from a-1 to a-4')
    """
    if len(ids) <= _NAMED_IDS:
        return ", ".join(ids)
    return f"{len(ids)} facts, from {ids[0]} to {ids[-1]}"
