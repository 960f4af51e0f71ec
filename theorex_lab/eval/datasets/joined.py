"""Several logs as one, so that a memory is tried on what it may mix up."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from operator import attrgetter

from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.adapters.protocol import EvalLog, EvalQuery, SessionLine
from theorex_lab.journal.event import FIELDS, Event

_NAME_CHARACTERS = 40
_DIGEST_CHARACTERS = 8
_SESSION_CHARACTERS = 128  # of an id that maintenance takes
_NO_NAME_SIGNS = re.compile(r"[^A-Za-z0-9._-]+")


def joined_log(logs: Iterable[EvalLog], name: str = "together") -> EvalLog:
    """Return several logs as one, in which each is a project of its own.

    What is asked in one log is asked in its project, so that a comparison scores
    `bleed`: the share of what a memory gives that rests on other projects. Needs are
    left out: they are scored log by log.

    Args:
        logs: The logs, two at least.
        name: The name of the new log.

    Returns:
        The events, questions and lines of all logs in the order of their times. The
        ids of sessions begin with the project.

    Raises:
        InvalidInput: It is one log, or two logs have an event in common.

    >>> joined_log([EvalLog("shop", []), EvalLog("yard", [])]).name
    'together'
    """
    events: list[Event] = []
    probes: list[EvalQuery] = []
    lines: list[SessionLine] = []
    project_by_event: dict[str, str] = {}
    projects: set[str] = set()
    for log in logs:
        project = _project_of(log.name)
        if project in projects:
            raise InvalidInput(
                f"got the log {log.name!r} twice; allowed are different logs"
            )
        projects.add(project)
        for event in log.events:
            other = project_by_event.setdefault(event.id, project)
            if other != project:
                raise InvalidInput(
                    f"got the event {event.id!r} in {other} and in {project}; allowed are"
                    " logs that have no event in common"
                )
            events.append(_in_project(event, project))
        probes += [probe._replace(project=project) for probe in log.probes]
        for line in log.lines:
            session = _session_in(project, line.session)
            lines.append(line._replace(session=session))
    if len(projects) < 2:
        raise InvalidInput(
            f"got {len(projects)} logs; allowed are two or more, each a project"
        )
    return EvalLog(
        name,
        sorted(events, key=attrgetter("at")),
        sorted(probes, key=attrgetter("at")),
        sorted(lines, key=attrgetter("at")),
    )


def _project_of(log_name: str) -> str:
    """Return the project that a log is, by a name that is within the rule."""
    name = _NO_NAME_SIGNS.sub("-", log_name)
    if name == log_name and len(name) <= _NAME_CHARACTERS:
        return name
    digits = hashlib.sha256(log_name.encode()).hexdigest()[:_DIGEST_CHARACTERS]
    return f"{name[:_NAME_CHARACTERS]}-{digits}"


def _in_project(event: Event, project: str) -> Event:
    """Return an event as one of a project, where its kind can be of one."""
    session = _session_in(project, event.session)
    fields = FIELDS.get(event.kind, {})
    body = event.body
    if not fields or "project" in fields or "project?" in fields:
        body = {**body, "project": project}
    return event._replace(session=session, body=body)


def _session_in(project: str, session: str) -> str:
    """Return the id of a session that no other log has; '' stays."""
    if not session:
        return ""
    own_id = f"{project}:{session}"
    if len(own_id) <= _SESSION_CHARACTERS:
        return own_id
    digest = hashlib.sha256(session.encode()).hexdigest()
    return f"{project}:{digest}"
