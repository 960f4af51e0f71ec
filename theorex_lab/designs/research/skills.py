"""Hold skills: how something is done, as text.

It also holds how the sessions went that were given one.

A skill is data: nothing in it is ever run, and where it comes back it is shown as what
was recorded.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from theorex_lab.core.clock import to_datetime
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent, check_session, derived_event_id
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.designs.research import ORIGINS
from theorex_lab.designs.research.items import skill_id_of
from theorex_lab.designs.research.records import checked_source, chosen_domain
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

SKILL_NAME = lazy_pattern(r"[a-z0-9][a-z0-9_-]{0,63}")
_DESCRIPTION_CHARACTERS = 500
_BODY_CHARACTERS = 20_000
_MOST_ROLES = 32
_PRIOR = 2  # outcomes, half of them good, that a rate is shrunk by
_MEMBERS = (
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


@dataclass(frozen=True)
class Skill:
    """Hold a skill, and how the sessions went that were given it.

    Attributes:
        skill_id: The id of its name.
        name: Its name.
        version: As its author counts.
        description: What it is for.
        body: How it is done.
        tags: Its tags.
        agent_roles: The roles that it is for; none: for all.
        pipeline_stages: The stages that it is for; none: for all.
        origin: One of ORIGINS.
        source: Whose word it is.
        agent: Who recorded it.
        created_at: When it was first recorded.
        success_rate: A moving average in which the last outcome weighs most; None
            untried.
        usage_count: How many outcomes it has.
        successes: How many of them are good.
        ci_low: The lower end of the interval of its success (Wilson, 95 %).
        ci_high: The upper end.
        rank: Its rate, shrunk to ½ by two outcomes.
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
    ci_low: float
    ci_high: float
    rank: float


class Skills(View):
    """Hold skills by project and name, a row each.

    Attributes:
        names: The project and the name of each, with a NUL between.
        rows: seq: of the event that told it last. at: when it was first told. rate,
            uses: what an import said of it.
        outcomes: In order, the row and whether it succeeded.
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
        """Return the row of an event's skill, which is added where there is none."""
        project = event.body.get("project", "")
        row = self.names.number(f"{project}\0{event.body['name']}")
        if row == len(self.rows):
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
        """Return the rows of skills of the home's projects or of none.

        Of several with one name it is the project's own.
        """
        by_name: dict[str, int] = {}
        for row in np.flatnonzero(self.rows["seq"] > 0).tolist():
            project, _, name = self.names[row].partition("\0")
            is_allowed = home.projects is None or project in ("", *home.projects)
            if is_allowed and (project or name not in by_name):
                by_name[name] = row
        return list(by_name.values())


def moving_average(
    outcomes: Collection[bool], alpha: float, start: float | None = None
) -> float | None:
    """Return a success rate that forgets.

    It starts with the first outcome; of each further one it takes the share alpha,
    beside what it was.

    Args:
        outcomes: In order.
        alpha: The weight of the last.
        start: The rate before them; None: they are the first.

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
    """Return the event of a skill as it is from now on.

    Args:
        home: Whose project it belongs to.
        name: 1 to 64 of a-z 0-9 - _.
        description: What it is for.
        body: How it is done.
        version: As its author counts.
        tags: Its tags.
        agent_roles: The roles that it is for; none: for all.
        pipeline_stages: The stages that it is for; none: for all.
        origin: One of ORIGINS.
        stats: success_rate and usage_count that an import says of it.
        agent: Who records it.
        source: Whose word it is.
        lineage: Ids of the events that it rests on.
        at: When, in µs UTC; default: now.

    Raises:
        InvalidInput: The name, the origin or a text is outside the rules.
    """
    if not isinstance(name, str) or not SKILL_NAME.fullmatch(name):
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
    members: Body = {
        "name": name,
        "version": str(version)[:32],
        "body": body,
        "description": one_line(description, _DESCRIPTION_CHARACTERS),
        "tags": check_tags(tags),
        "agent_roles": [*agent_roles],
        "pipeline_stages": [*pipeline_stages],
        "origin": origin,
        "source": checked_source(source),
        "project": home.project,
    }
    if stats:
        members["stats"] = stats
    return new_event(
        "skill",
        kept_value(members),
        agent=check_agent(agent),
        at=home.clock.now() if at is None else at,
        lineage=lineage,
    )


def record_skill(
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
    agent: str = "main",
    source: str = "agent",
    lineage: Sequence[str] = (),
) -> Skill:
    """Keep a skill as it is from now on; one that is known just so is not kept again.

    Args:
        home: Where it is kept.
        name: 1 to 64 of a-z 0-9 - _.
        description: What it is for.
        body: How it is done.
        version: As its author counts.
        tags: Its tags.
        agent_roles: The roles that it is for; none: for all.
        pipeline_stages: The stages that it is for; none: for all.
        origin: One of ORIGINS.
        agent: Who records it.
        source: Whose word it is.
        lineage: Ids of the events that it rests on.

    Raises:
        InvalidInput: As `skill_event` raises it.
    """
    event = skill_event(
        home,
        name,
        description,
        body,
        version=version,
        tags=tags,
        agent_roles=agent_roles,
        pipeline_stages=pipeline_stages,
        origin=origin,
        agent=agent,
        source=source,
        lineage=lineage,
    )
    if not is_known(home, event):
        home.journal.append([event])
    return skill_named(home, name)


def is_known(home: Home, event: Event) -> bool:
    """Return whether a skill is there just as an event says it."""
    with home.views.reading(Skills) as view:
        row = view.names.find(f"{event.body['project']}\0{event.body['name']}")
        seq = 0 if row is None else int(view.rows["seq"][row])
    return bool(seq and home.journal.read(seqs=[seq])[0].body == event.body)


def skills_of(
    home: Home,
    role: str | None = None,
    stage: str | None = None,
    *,
    chosen: Collection[str] = (),
    k: int | None = None,
) -> list[Skill]:
    """Return skills: those that a person chose first, then by rank, use and name.

    Args:
        home: Where they are kept.
        role: Those for this role; default: for any.
        stage: Those for this stage; default: for any.
        chosen: The names that a person chose.
        k: How many at most; default: all.
    """
    skills = []
    for skill in _read(home):
        fits_stage = _fits(stage, skill.pipeline_stages)
        if fits_stage and _fits(role, skill.agent_roles):
            skills.append(skill)

    def best_first(skill: Skill) -> tuple[bool, float, int, str]:
        return (
            skill.name not in chosen,
            -skill.rank,
            -skill.usage_count,
            skill.name,
        )

    skills.sort(key=best_first)
    return skills if k is None else skills[:k]


def skill_named(home: Home, name: str) -> Skill:
    """Return the skill of this name.

    Raises:
        InvalidInput: There is none. The nearest name is told.
    """
    by_name = {skill.name: skill for skill in _read(home)}
    if name not in by_name:
        near = f", such as {nearest(name, by_name)}" if by_name else ""
        raise InvalidInput(
            f"got the skill {name!r:.100}; allowed is the name of one{near}"
        )
    return by_name[name]


def update_stats(
    home: Home,
    name: str,
    success: bool,
    *,
    session_id: str = "",
    domain: str = "",
    agent: str = "main",
) -> Skill:
    """Say how a session with a skill went; of a session that is named, once.

    Args:
        home: Where the skill is.
        name: The skill.
        success: Whether the session went well.
        session_id: The session.
        domain: What it was about; '' is the session's domain, else `general`.
        agent: Who tells it.

    Raises:
        InvalidInput: The skill is unknown.
    """
    skill_named(home, name)
    outcome = skill_outcome_event(
        home, name, success, session_id=session_id, domain=domain, agent=agent
    )
    append_once(home.journal, [outcome])
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
    """Return the event of an outcome of a skill; a named session has one id for it.

    Args:
        home: Where the skill is.
        name: The skill.
        success: Whether the session went well.
        session_id: The session; '' for one that is not named.
        domain: What it was about.
        agent: Who tells it.
        source: Whose word it is.
        lineage: Ids of the events that it rests on.
    """
    body: Body = {
        "name": name,
        "success": bool(success),
        "domain": chosen_domain(home, domain, session_id),
        "session_id": check_session(session_id),
        "source": source,
        "project": home.project,
    }
    event_id = ""
    if session_id:
        event_id = derived_event_id("skill_outcome", home.project, name, session_id)
    return new_event(
        "skill_outcome",
        body,
        agent=agent,
        session=session_id,
        at=home.clock.now(),
        event_id=event_id,
        lineage=lineage,
    )


def _fits(name: str | None, names: Sequence[str]) -> bool:
    """Return whether a name is listed; without a name or a list anything fits."""
    return name is None or not names or name in names


def _read(home: Home) -> list[Skill]:
    """Return the skills of the home's projects or of none, with their statistics."""
    settings = research_settings(home)
    with home.views.reading(Skills) as view:
        rows = view.chosen(home)
        columns = {
            name: view.rows[name][rows].tolist()
            for name in ("seq", "rate", "uses", "at")
        }
        events = {event.seq: event for event in home.journal.read(seqs=columns["seq"])}
        succeeded = view.outcomes["success"]
        outcomes = [succeeded[view.outcomes["row"] == row].tolist() for row in rows]
    skills = []
    for index, seq in enumerate(columns["seq"]):
        if seq in events:
            skills.append(
                _skill(
                    events[seq],
                    outcomes[index],
                    columns["rate"][index],
                    columns["uses"][index],
                    columns["at"][index],
                    settings,
                )
            )
    return skills


def _skill(
    event: Event,
    outcomes: list[bool],
    rate: float,
    uses: int,
    at: int,
    settings: ResearchSettings,
) -> Skill:
    """Return a skill with its statistics.

    Args:
        event: What tells it.
        outcomes: Its outcomes here, in order.
        rate: The success rate with which an import begins it.
        uses: How many uses that rate rests on; 0 without an import.
        at: When it was first told.
        settings: The settings of the design.
    """
    average = moving_average(outcomes, settings.success_alpha, rate if uses else None)
    n_outcomes = len(outcomes) + uses
    successes = sum(outcomes) + round(rate * uses)
    ci_low, ci_high = wilson_of_one(successes, n_outcomes)
    members = {name: event.body[name] for name in _MEMBERS}
    rank = ((average or 0.0) * n_outcomes + _PRIOR / 2) / (n_outcomes + _PRIOR)
    return Skill(
        skill_id_of(event.body["name"]),
        **members,
        agent=event.agent,
        created_at=to_datetime(at),
        success_rate=average,
        usage_count=n_outcomes,
        successes=successes,
        ci_low=ci_low,
        ci_high=ci_high,
        rank=rank,
    )
