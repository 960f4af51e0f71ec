"""Show the page of an entity as the heartbeat wrote it in a week."""

from datetime import date, timedelta
from typing import NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.facts.channels import open_projects
from theorex_lab.designs.facts.writing import check_entity
from theorex_lab.memory.contract import Home


class WeeklyPage(NamedTuple):
    """The page of an entity in a week.

    Attributes:
        week: The Monday with which the week begins.
    """

    entity: str
    week: str
    text: str


def weekly_pages(home: Home, entity: str) -> list[WeeklyPage]:
    """Return the pages of an entity, the oldest first.

    A week whose page was erased, or was written before pages were kept, has none.

    Raises:
        InvalidInput: It is no path of an entity.
    """
    path = check_entity(entity)
    pages = []
    events = home.journal.tail(0, kinds=["summarized"], projects=open_projects(home))
    for event in events:
        text = event.body.get("text")
        if text and event.body["entity"] == path:
            pages.append(WeeklyPage(path, event.body["week"], text))
    return pages


def weekly_page(home: Home, entity: str, day: str = "") -> WeeklyPage:
    """Return the page of the week that a day lies in; '' is the last page.

    Raises:
        InvalidInput: There is none.
    """
    pages = {page.week: page for page in weekly_pages(home, entity)}
    week = _monday(day) if day else max(pages, default="")
    if week not in pages:
        weeks = (
            ", ".join(sorted(pages)[-10:]) or "none: a heartbeat of a Monday writes it"
        )
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
    return (stated - timedelta(days=stated.weekday())).isoformat()
