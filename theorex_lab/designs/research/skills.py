"""Skills: how something is done, as text; and how the sessions went that were given
one.

A skill is data: nothing in it is ever run, and where it comes back it is shown as what
was recorded.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from theorex_lab.core.clock import to_datetime
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent, check_session, derived_event_id
from theorex_lab.designs.research import GENERAL, ORIGINS
from theorex_lab.designs.research.items import checked_domain, skill_id_of
from theorex_lab.designs.research.records import checked_source, domain_of
from theorex_lab.designs.research.settings import ResearchSettings, research_settings
from theorex_lab.files.command_line.options import nearest
from theorex_lab.journal.base import append_once
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Body, Event, new_event
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import Home
from theorex_lab.memory.intervals import wilson_of_one
from theorex_lab.memory.observation import check_tags
from theorex_lab.text.line import one_line
from theorex_lab.text.redact.redaction_scope import kept_value

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_DESCRIPTION_CHARACTERS = 500
_BODY_CHARACTERS = 20_000
_MOST_ROLES = 32
_PRIOR = 2  # outcomes, half of them good, that a rate is shrunk by


@dataclass(frozen=True)
class Skill:
    """A skill. origin: of ORIGINS.  success_rate: a moving average, the last outcome
    weighing most, None untried.

    usage_count, successes: its outcomes.  low, high: the interval of its success
    (Wilson, 95 %).  rank: its rate, shrunk to ½ by two outcomes.
    """

    skill_id: str
    name: str
    version: str
    description: str
    body: str
    tags: list[str]
    agent_roles: list[str]
    pipeline_stages: list[str]
    origin: str
    source: str
    agent: str
    created_at: datetime
    success_rate: float | None
    usage_count: int
    successes: int
    low: float
    high: float
    rank: float


class Skills(View):
    """Skills by project and name, a row each: seq of what was said last, when it was
    first, and what it brought along: rate and uses.

    outcomes: in order, the row and whether it succeeded.
    """

    name = "research_skills"
    code = 1
    kinds = ("skill", "skill_outcome")

    def __init__(self) -> None:
        super().__init__()
        self.names = Names()
        self.projects = Names()
        self.rows = Table(seq="i8", at="i8", project="i4", rate="f8", uses="i8")
        self.outcomes = Table(row="i4", success="?")

    def _number(self, event: Event) -> int:
        project = event.body.get("project", "")
        if (row := self.names.number(f"{project}\0{event.body['name']}")) == len(
            self.rows
        ):
            self.rows.add(at=event.at, project=self.projects.number(project))
        return row

    def _skill(self, event: Event) -> None:
        row = self._number(event)
        stats = event.body.get("stats") or {}
        self.rows.put(row, seq=event.seq)
        if stats:
            self.rows.put(row, rate=stats["success_rate"], uses=stats["usage_count"])

    def _skill_outcome(self, event: Event) -> None:
        self.outcomes.add(row=self._number(event), success=event.body["success"])

    def chosen(self, home: Home) -> list[int]:
        """The rows of skills of the home's projects or of none, by name one: the
        project's own.
        """
        found: dict[str, int] = {}
        for row in np.flatnonzero(self.rows["seq"] > 0).tolist():
            project, _, name = self.names[row].partition("\0")
            if (home.projects is None or project in ("", *home.projects)) and (
                project or name not in found
            ):
                found[name] = row
        return list(found.values())


def moving_average(
    outcomes: Collection[bool], alpha: float, start: float | None = None
) -> float | None:
    """The first outcome, then of each the share alpha beside what was: a success rate
    that forgets.

    >>> [
    ...     round(moving_average([True, False, True, True][:n], 0.3), 3)
    ...     for n in (1, 2, 3, 4)
    ... ]
    [1.0, 0.7, 0.79, 0.853]
    """
    rate = start
    for outcome in outcomes:
        rate = float(outcome) if rate is None else (1 - alpha) * rate + alpha * outcome
    return rate


def skill_event(
    home: Home,
    name: str,
    description: str,
    body: str = "",
    *,
    version: str = "1",
    tags: Sequence[str] = (),
    agent_roles: Sequence[str] = (),
    pipeline_stages: Sequence[str] = (),
    origin: str = "manual",
    stats: dict[str, Any] | None = None,
    agent: str = "main",
    source: str = "agent",
    lineage: Sequence[str] = (),
    at: int | None = None,
) -> Event:
    """The event of a skill as it is from now on. Raises InvalidInput for a name, origin
    or texts outside the rules.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInput(
            f"got the skill {name!r:.100}; allowed are 1 to 64 of a-z 0-9 - _, such as"
            " tool-pattern-tests"
        )
    if origin not in ORIGINS:
        raise InvalidInput(
            f"got the origin {origin!r:.60}; allowed are {', '.join(ORIGINS)}"
        )
    if (
        not description.strip()
        or len(body) > _BODY_CHARACTERS
        or max(len(agent_roles), len(pipeline_stages)) > _MOST_ROLES
    ):
        allowed = (
            f"a description, a body of up to {_BODY_CHARACTERS:,} characters, up to"
            f" {_MOST_ROLES} roles and stages"
        )
        raise InvalidInput(
            f"got the skill {name!r} with {len(description)} and {len(body)}"
            f" characters; allowed are {allowed}"
        )
    told: Body = {"name": name, "version": str(version)[:32], "body": body}
    told["description"] = one_line(description, _DESCRIPTION_CHARACTERS)
    told |= {
        "tags": check_tags(tags),
        "agent_roles": [*agent_roles],
        "pipeline_stages": [*pipeline_stages],
        "origin": origin,
    }
    told |= {
        "source": checked_source(source),
        "project": home.project,
        **({"stats": stats} if stats else {}),
    }
    when = home.clock.now() if at is None else at
    return new_event(
        "skill", kept_value(told), agent=check_agent(agent), at=when, lineage=lineage
    )


def record_skill(
    home: Home, name: str, description: str, body: str = "", **about: Any
) -> Skill:
    """Keep a skill as it is from now on; one that is known just so is not kept again.
    about: as `skill_event`, which raises what this does.
    """
    event = skill_event(home, name, description, body, **about)
    if not is_known(home, event):
        home.journal.append([event])
    return skill_named(home, name)


def is_known(home: Home, event: Event) -> bool:
    """Whether a skill is there just as an event says it."""
    with home.views.reading(Skills) as view:
        row = view.names.find(f"{event.body['project']}\0{event.body['name']}")
        seq = 0 if row is None else int(view.rows["seq"][row])
    return bool(seq and home.journal.read(seqs=[seq])[0].body == event.body)


def skills_of(
    home: Home,
    role: str | None = None,
    stage: str | None = None,
    chosen: Collection[str] = (),
    k: int | None = None,
) -> list[Skill]:
    """The skills for a role and a stage, those that a person chose first, then by rank,
    how often and name; k: how many at most.
    """
    found = [
        skill
        for skill in _read(home)
        if _fits(role, skill.agent_roles) and _fits(stage, skill.pipeline_stages)
    ]
    found.sort(
        key=lambda skill: (
            skill.name not in chosen,
            -skill.rank,
            -skill.usage_count,
            skill.name,
        )
    )
    return found if k is None else found[:k]


def skill_named(home: Home, name: str) -> Skill:
    """The skill of this name. Raises InvalidInput where there is none, naming the
    nearest.
    """
    known = {skill.name: skill for skill in _read(home)}
    if name not in known:
        near = f", such as {nearest(name, known)}" if known else ""
        raise InvalidInput(
            f"got the skill {name!r:.100}; allowed is the name of one{near}"
        )
    return known[name]


def update_stats(
    home: Home,
    name: str,
    success: bool,
    *,
    session_id: str = "",
    domain: str = "",
    agent: str = "main",
) -> Skill:
    """Say how a session with a skill went; of a session that is named, once. Raises
    InvalidInput for an unknown skill.
    """
    skill_named(home, name)
    append_once(
        home.journal,
        [
            skill_outcome_event(
                home, name, success, session_id=session_id, domain=domain, agent=agent
            )
        ],
    )
    return skill_named(home, name)


def skill_outcome_event(
    home: Home,
    name: str,
    success: bool,
    *,
    session_id: str = "",
    domain: str = "",
    agent: str = "main",
    source: str = "agent",
    lineage: Sequence[str] = (),
) -> Event:
    """The event of an outcome of a skill."""
    where = checked_domain(domain) or domain_of(home, session_id) or GENERAL
    body: Body = {
        "name": name,
        "success": bool(success),
        "domain": where,
        "session_id": check_session(session_id),
    }
    body |= {"source": source, "project": home.project}
    made = (
        derived_event_id("skill_outcome", home.project, name, session_id)
        if session_id
        else ""
    )
    now = home.clock.now()
    return new_event(
        "skill_outcome",
        body,
        agent=agent,
        session=session_id,
        at=now,
        event_id=made,
        lineage=lineage,
    )


def _fits(wanted: str | None, listed: Sequence[str]) -> bool:
    return wanted is None or not listed or wanted in listed


def _read(home: Home) -> list[Skill]:
    settings = research_settings(home)
    with home.views.reading(Skills) as view:
        rows = view.chosen(home)
        outcomes = view.outcomes
        lived = {
            row: outcomes["success"][outcomes["row"] == row].tolist() for row in rows
        }
        events = {
            event.seq: event
            for event in home.journal.read(
                seqs=[int(view.rows["seq"][row]) for row in rows]
            )
        }
        told = [
            (
                events.get(int(view.rows["seq"][row])),
                row,
                float(view.rows["rate"][row]),
                int(view.rows["uses"][row]),
                int(view.rows["at"][row]),
            )
            for row in rows
        ]
    return [
        _skill(event, lived[row], rate, uses, at, settings)
        for event, row, rate, uses, at in told
        if event is not None
    ]


def _skill(
    event: Event,
    lived: list[bool],
    rate: float,
    uses: int,
    at: int,
    settings: ResearchSettings,
) -> Skill:
    """A skill with its statistics; rate, uses: what an import said of it, with which it
    begins.
    """
    average = moving_average(lived, settings.success_alpha, rate if uses else None)
    n = len(lived) + uses
    successes = sum(lived)
    successes += round(rate * uses)
    low, high = wilson_of_one(successes, n)
    names = (
        "name",
        "version",
        "description",
        "body",
        "tags",
        "agent_roles",
        "pipeline_stages",
        "origin",
        "source",
    )
    told = {name: event.body[name] for name in names}
    rank = ((average or 0.0) * n + _PRIOR / 2) / (n + _PRIOR)
    return Skill(
        skill_id_of(event.body["name"]),
        **told,
        agent=event.agent,
        created_at=to_datetime(at),
        success_rate=average,
        usage_count=n,
        successes=successes,
        low=low,
        high=high,
        rank=rank,
    )
