"""The context that a session starts with, and where it is written.

What failed before is part of it.
"""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.evolution.outcomes import Outcomes
from theorex_lab.journal.event import Event
from theorex_lab.journal.identity import UNSEEN_DIGITS
from theorex_lab.memory.annotations import find_item, mark
from theorex_lab.memory.briefing.candidates import dated, fits_a_line
from theorex_lab.memory.briefing.context import ChosenLines, Context, choose, render
from theorex_lab.memory.briefing.context_file import (
    CONTEXT_FILE,
    CONTEXTS_FOLDER,
    NO_PROJECT,
    project_context,
    remove_context,
    write_context,
)
from theorex_lab.memory.briefing.prompt_cache import fill_cache
from theorex_lab.memory.briefing.token_budget import age_in_words
from theorex_lab.memory.contract import ContextLine, ContextRequest, Home
from theorex_lab.memory.documents import DOCUMENTS, SUMMARY
from theorex_lab.memory.observation import TRUST, owner_of
from theorex_lab.memory.projects import known_projects
from theorex_lab.text.line import LINE_CHARACTERS, folded, one_line

FAILURE = "failure"  # the kind of a line about a failure
AGE_DAYS = 7
MOST_FAILURES = 10
_DECISION_CHARACTERS = LINE_CHARACTERS // 2
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def boot_context(home: Home, *, tokens: int | None = None, query: str = "") -> Context:
    """Render what the next session is given now.

    Args:
        home: The home whose memory is rendered.
        tokens: The budget, by default the setting contextTokens.
        query: What the session is about, '' where that is not known.
    """
    return render(
        home,
        home.clock.now(),
        more=MORE,
        tokens=tokens,
        query=query,
    )


def boot_lines(
    home: Home, *, tokens: int | None = None, query: str = ""
) -> ChosenLines:
    """Return the lines that make up `boot_context`.

    Args:
        home: The home.
        tokens: The budget, None for the setting's.
        query: What the session is about, '' where nobody says.
    """
    return choose(
        home,
        home.clock.now(),
        more=MORE,
        tokens=tokens,
        query=query,
    )


def boot_inject(home: Home, output: Path) -> Context:
    """Render the context into `output`, which is replaced as a whole.

    In a project it is rendered into the project's own file too. What is of no project
    is rendered as well, for the sessions of those without a file.

    Raises:
        StorageError: Where a file cannot be written.
    """
    rendered = write_context(output, home.views.folder, lambda: boot_context(home))
    is_named = home.project and not home.project.endswith(UNSEEN_DIGITS)
    boot_projects(home, [home.project] if is_named else [])
    return rendered


def boot_projects(home: Home, projects: Sequence[str]) -> None:
    """Render the context of each project into its own file.

    What is of no project is rendered too, for those that have no file.

    Raises:
        StorageError: Where a file cannot be written.
    """
    for project in [*projects, NO_PROJECT]:
        project_home = home.in_project(project)
        write_context(
            project_context(home.folder, project),
            home.views.folder,
            partial(boot_context, project_home),
        )


def mark_item(
    home: Home, kind: str, item_prefix: str, *, text: str = "", undo: bool = False
) -> str:
    """Append what a person says of an item, and render every context again.

    Args:
        home: The home that holds the item.
        kind: pinned, dismissed or corrected.
        item_prefix: The item's id, or the beginning that it alone has.
        text: Its correction.
        undo: Take the mark back.

    Returns:
        The item's id.

    Raises:
        InvalidInput: As `find_item` and `mark`.
        StorageError: Where a context cannot be written.
    """
    item = find_item(home, item_prefix, lambda: boot_context(home).items)
    mark(home, kind, item, text=text, undo=undo)
    render_again(home)
    return item.id


def render_again(home: Home) -> None:
    """Render every context that lies in the home again.

    The context of a project that was merged into another is removed.

    Raises:
        StorageError: Where a file cannot be written or removed.
    """
    for project in home.journal.places().merged:
        path = project_context(home.folder, project)
        remove_context(path, home.views.folder)
    file = home.folder / CONTEXT_FILE
    if file.exists():
        boot_inject(home.in_project(""), file)
    folder = home.folder / CONTEXTS_FOLDER
    projects = sorted(file.stem for file in folder.glob("[!.]*.md"))
    if projects:
        boot_projects(home, [name for name in projects if name != NO_PROJECT])


def refresh(home: Home, most_projects: int) -> tuple[Context, int]:
    """Bring everything up to date that hooks give.

    These are the reminders, the context of all, and those of the projects that were
    active last. In a home of a project it is that project's context.

    Args:
        home: The home.
        most_projects: How many projects are rendered.

    Returns:
        The context of all, and how many projects were rendered.

    Raises:
        StorageError: Where a file cannot be written.
    """
    projects = home.projects or known_projects(home)[:most_projects]
    fill_cache(home)
    context = write_context(
        home.folder / CONTEXT_FILE,
        home.views.folder,
        partial(boot_context, home.in_project("")),
    )
    boot_projects(home, projects)
    return context, len(projects)


def what_failed(home: Home, request: ContextRequest) -> list[ContextLine]:
    """Return the recent failures that wait for a review, newest first.

    They are of the last seven days before the request's time, of the home's project or
    of none. Each stands once. Ten trusted ones at most come first, then ten untrusted
    ones at most. A failure that a later outcome calls a success is none.
    """
    trusted: list[Event] = []
    untrusted: list[Event] = []
    for event in _distinct_failures(_recent_failures(home, request.now)):
        if _is_trusted(event):
            trusted.append(event)
        else:
            untrusted.append(event)
    chosen = trusted[:MOST_FAILURES] + untrusted[:MOST_FAILURES]
    return [_line(event, request.now) for event in chosen]


def _recent_failures(home: Home, now: int) -> list[Event]:
    """Return the outcomes of the last seven days that wait for a review.

    They are of the home's project or of none.
    """
    earliest = now - AGE_DAYS * MICROSECONDS_PER_DAY
    with home.views.reading(Outcomes) as view:
        rows = view.queue(threshold=home.settings.review_threshold)
        at = view.rows["at"][rows]
        is_recent = (at >= earliest) & (at <= now)
        event_seqs = view.rows["seq"][rows[is_recent]].tolist()
    events = home.journal.read(seqs=event_seqs)
    if not home.project:
        return list(events)
    projects = ("", home.project)
    return [event for event in events if event.body.get("project", "") in projects]


def _distinct_failures(events: Sequence[Event]) -> list[Event]:
    """Return the failures newest first, the newest of those in the same words."""
    newest: dict[tuple[str, ...], Event] = {}
    for event in sorted(events, key=_time_of, reverse=True):
        words = (
            event.agent,
            event.body["source"],
            event.body["decision"],
            event.body["result"],
        )
        newest.setdefault(words, event)
    return list(newest.values())


def _time_of(event: Event) -> tuple[int, int]:
    return event.at, event.seq


def _is_trusted(event: Event) -> bool:
    """Return whether an outcome comes from an agent or from a person."""
    return TRUST[event.body["source"]] >= TRUST["agent"]


def _line(event: Event, now: int) -> ContextLine:
    """Return the line of one failure."""
    body = event.body
    decision = one_line(body["decision"]).rstrip(".")
    if len(decision) > _DECISION_CHARACTERS:
        decision = decision[:_DECISION_CHARACTERS].rstrip()
        decision += "…"
    text = one_line(f"{decision}. It ended with: {body['result']}")
    age_days = (now - event.at) / MICROSECONDS_PER_DAY
    source = None
    if not _is_trusted(event):
        source = (event.agent, TRUST[body["source"]])
    return ContextLine(
        FAILURE,
        owner_of(event),
        f"{text} ({age_in_words(age_days)})",
        source,
        (event.id,),
        statement=_failed_statement(body["decision"], body["result"]),
        at=event.at,
    )


def _failed_statement(decision: str, result: str) -> str:
    """Return what failed and how it ended, as far as that fits on a line.

    >>> _failed_statement("Deploy to staging.", "The token had expired.")
    'Deploy to staging failed: The token had expired'
    """
    subject = folded(decision).rstrip(".")
    first_sentence = _SENTENCE_END.split(folded(result), maxsplit=1)[0]
    for ending in (folded(result), first_sentence):
        statement = f"{subject} failed: {ending.rstrip('.')}"
        if fits_a_line(dated(statement, 0)):
            return statement
    return f"{subject} failed"


# What every context has beside the designs' sections.
MORE = (SUMMARY, DOCUMENTS)
