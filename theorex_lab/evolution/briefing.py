"""The briefings that sessions start with, and where they are written.

What failed before is part of it.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.collector import give_back_memory
from theorex_lab.core.lazy import LazyModule
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.remembering import forget_texts
from theorex_lab.evolution.outcomes import Outcomes
from theorex_lab.journal.event import Event
from theorex_lab.journal.identity import UNSEEN_DIGITS
from theorex_lab.memory.briefing.briefing import (
    Briefing,
    briefing_of_repository,
    make_briefing,
)
from theorex_lab.memory.briefing.briefing_file import (
    CONTEXT_FILE,
    CONTEXTS_FOLDER,
    project_briefing,
    remove_briefing,
    write_briefing,
)
from theorex_lab.memory.briefing.candidates import dated, fits_a_line
from theorex_lab.memory.briefing.token_budget import age_in_words
from theorex_lab.memory.contract import ContextLine, ContextRequest, Home
from theorex_lab.memory.observation import TRUST, owner_of
from theorex_lab.memory.projects import known_projects
from theorex_lab.text.line import LINE_CHARACTERS, folded, one_line

# What no briefing needs, only who marks a line of one or writes all again.
if TYPE_CHECKING:
    from theorex_lab.memory.briefing import marking, prompt_index
else:
    marking = LazyModule("theorex_lab.memory.briefing.marking")
    prompt_index = LazyModule("theorex_lab.memory.briefing.prompt_index")

FAILURE = "failure"  # the kind of a line about a failure
AGE_DAYS = 7
MOST_FAILURES = 10
_DECISION_CHARACTERS = LINE_CHARACTERS // 2
# From how many events on views and remembered texts are let go before each project. In
# a home of a million events they take 200 MB. In one of 100,000 all fits in 300 MB, and to
# read the texts again takes a tenth of the time.
_MANY_EVENTS = 300_000
_SENTENCE_END = lazy_pattern(r"(?<=[.!?])\s+")


def save_briefing(home: Home, file: Path) -> Briefing:
    """Write the home's briefing into a file, which is replaced as a whole.

    In a project it is written into the project's own file too, for its sessions.

    Args:
        home: The home.
        file: The file.

    Returns:
        The briefing.

    Raises:
        StorageError: A file cannot be written.
    """
    briefing = write_briefing(file, home.views.folder, partial(_briefing_of, home))
    is_named = home.project and not home.project.endswith(UNSEEN_DIGITS)
    save_projects(home, [home.project] if is_named else [])
    return briefing


def save_projects(home: Home, projects: Sequence[str]) -> None:
    """Write the briefing of each project into its own file.

    Args:
        home: The home.
        projects: The projects, by their ids.

    Raises:
        StorageError: A file cannot be written.
    """
    for project in projects:
        write_briefing(
            project_briefing(home.folder, project),
            home.views.folder,
            partial(_briefing_of, home.in_project(project)),
        )


def first_briefing(home: Home | None, folder: str, now: int) -> Briefing:
    """Make the briefing of a project for which none was written, and write it.

    For a project without an id it is only made, and so it is without a home.

    Args:
        home: The home of the project, or of all; None where nothing was recorded yet.
        folder: The root of the project's repository, '' where it has none.
        now: The time (µs UTC).

    Returns:
        The briefing.

    Raises:
        StorageError: The file cannot be written.
    """
    if home is None:
        return briefing_of_repository(folder, now)
    if home.project.endswith(UNSEEN_DIGITS):
        return _briefing_of(home, folder)
    file = home.folder / CONTEXT_FILE
    if home.project:
        file = project_briefing(home.folder, home.project)
    return write_briefing(
        file,
        home.views.folder,
        partial(_briefing_of, home, folder),
    )


def _briefing_of(home: Home, folder: str | None = None) -> Briefing:
    """Return what a session of the home's project starts with."""
    return make_briefing(home, tokens=home.settings.context_tokens, folder=folder)


def mark_item(
    home: Home, kind: str, item_prefix: str, *, text: str = "", undo: bool = False
) -> str:
    """Append what a person says of an item or a line, and write every briefing again.

    Args:
        home: The home that holds the item.
        kind: pinned, dismissed, corrected or trusted.
        item_prefix: The id of the item, or of a line of a briefing, or the beginning
            that it alone has.
        text: Its correction.
        undo: Take the mark back.

    Returns:
        The whole id.

    Raises:
        InvalidInput: As `mark_by_id`.
        StorageError: A briefing cannot be written.
    """
    marked_id = marking.mark_by_id(
        home,
        kind,
        item_prefix,
        text=text,
        undo=undo,
        also=lambda: _briefing_of(home).items,
    )
    save_again(home)
    return marked_id


def save_again(home: Home) -> None:
    """Write every briefing that lies in the home again.

    The briefing of a project that was merged into another is removed.

    Raises:
        StorageError: A file cannot be written or removed.
    """
    for project in home.journal.places().merged:
        path = project_briefing(home.folder, project)
        remove_briefing(path, home.views.folder)
    file = home.folder / CONTEXT_FILE
    if file.exists():
        save_briefing(home.in_project(""), file)
    folder = home.folder / CONTEXTS_FOLDER
    projects = sorted(file.stem for file in folder.glob("[!.]*.md"))
    if projects:
        save_projects(home, projects)


def refresh(home: Home, most_projects: int) -> tuple[Briefing, int]:
    """Bring everything up to date that hooks give.

    This is the briefing of all, what prompts are matched with, and the briefings of the
    projects that were active last. In a home of a project it is that project's. One
    project comes after the other, so that the sessions of few are in memory.

    Args:
        home: The home.
        most_projects: For how many projects a briefing is written.

    Returns:
        The briefing of all, and for how many projects one was written.

    Raises:
        StorageError: A file cannot be written.
    """
    is_large = home.journal.last_seq() >= _MANY_EVENTS
    projects = home.projects or known_projects(home)[:most_projects]
    if is_large:
        home.views.whole.let_go()
        _forget_and_give_back()
    # The largest comes first, while little else is in memory.
    briefing = write_briefing(
        home.folder / CONTEXT_FILE,
        home.views.folder,
        partial(_briefing_of, home.in_project("")),
    )
    for project in projects:
        if is_large:
            _forget_and_give_back()
        prompt_index.write_prompt_index(home, [project])
        save_projects(home, [project])
    prompt_index.write_prompt_index(home)
    return briefing, len(projects)


def _forget_and_give_back() -> None:
    """Drop what functions remember of texts, which is of little use to what follows."""
    forget_texts()
    give_back_memory()


def what_failed(home: Home, request: ContextRequest) -> list[ContextLine]:
    """Return the recent failures that wait for a review, newest first.

    They are of the last seven days before the request's time, of the home's project or
    of none. Each stands once. Ten trusted ones at most come first, then ten untrusted
    ones at most. A failure that a later outcome calls a success does not count.
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
