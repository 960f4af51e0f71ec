"""The context that a session starts with, what failed before among it, and where it is
written.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.evolution.outcomes import Outcomes
from theorex_lab.journal.event import Event
from theorex_lab.journal.identity import UNSEEN_DIGITS
from theorex_lab.memory.annotations import find_item, mark
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
from theorex_lab.memory.contract import ContextLine, ContextRequest, Home, Section
from theorex_lab.memory.documents import DOCUMENTS, SUMMARY
from theorex_lab.memory.observation import TRUST, owner_of
from theorex_lab.memory.projects import known_projects
from theorex_lab.text.line import LINE_CHARACTERS, one_line

FAILURE = "failure"  # the kind of a line that tells of a failure
AGE_DAYS = 7
MOST_FAILURES = 10
_DECISION_CHARACTERS = LINE_CHARACTERS // 2


def boot_context(home: Home, *, tokens: int | None = None, query: str = "") -> Context:
    """What the next session is given now, within `tokens` (default: the setting
    contextTokens).
    """
    return render(home, home.clock.now(), more=MORE, tokens=tokens, query=query)


def boot_lines(
    home: Home, *, tokens: int | None = None, query: str = ""
) -> ChosenLines:
    """The lines that make up `boot_context`."""
    return choose(home, home.clock.now(), more=MORE, tokens=tokens, query=query)


def boot_inject(home: Home, output: Path) -> Context:
    """Render the context into `output`, which is replaced as a whole, and in a project
    into its own file too.

    What is of no project is rendered as well, for the sessions of those without a file.
    Raises StorageError where that fails.
    """
    rendered = write_context(output, home.views.folder, lambda: boot_context(home))
    is_known = home.project and not home.project.endswith(UNSEEN_DIGITS)
    boot_projects(home, [home.project] if is_known else [])
    return rendered


def boot_projects(home: Home, projects: Sequence[str]) -> None:
    """Render the context of each project into its own file, and what is of none for
    those that have no file.

    Raises StorageError where that fails.
    """
    for project in [*projects, NO_PROJECT]:
        there = home.in_project(project)
        write_context(
            project_context(home.folder, project),
            home.views.folder,
            partial(boot_context, there),
        )


def mark_item(
    home: Home, kind: str, given: str, *, text: str = "", undo: bool = False
) -> str:
    """Append what a person says of an item, and render every context that lies in the
    home again; returns the item's id.

    kind: pinned, dismissed or corrected.  given: the item's id, or the beginning that
    it alone has.  text: its correction. Raises InvalidInput as `find_item` and `mark`,
    and StorageError.
    """
    found = find_item(home, given, lambda: boot_context(home).items)
    mark(home, kind, found, text=text, undo=undo)
    render_again(home)
    return found.id


def render_again(home: Home) -> None:
    """Render every context that lies in the home again; one of a project that was
    merged into another is removed.

    Raises StorageError where that fails.
    """
    merged = home.journal.places().merged
    for project in merged:
        remove_context(project_context(home.folder, project), home.views.folder)
    if (file := home.folder / CONTEXT_FILE).exists():
        boot_inject(home.in_project(""), file)
    if rendered := sorted((home.folder / CONTEXTS_FOLDER).glob("[!.]*.md")):
        boot_projects(home, [file.stem for file in rendered if file.stem != NO_PROJECT])


def refresh(home: Home, most_projects: int) -> tuple[Context, int]:
    """Bring all up to date that hooks give: the reminders, the context of all, and
    those of the projects that were active last.

    Of a home of a project that project's. Returns the context of all, and of how many
    projects one was rendered. Raises StorageError where a file cannot be written.
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


def what_failed(home: Home, wanted: ContextRequest) -> list[ContextLine]:
    """The failures of the last seven days that wait for a review at that time, newest
    first, each once, ten at most.

    Of the home's project, or of none.

    One that a later outcome calls a success is none.
    """
    with home.views.reading(Outcomes) as view:
        rows = view.queue(threshold=home.settings.review_threshold)
        at = view.rows["at"][rows]
        recent = (at >= wanted.now - AGE_DAYS * MICROSECONDS_PER_DAY) & (
            at <= wanted.now
        )
        seqs = view.rows["seq"][rows[recent]].tolist()
    found = home.journal.read(seqs=seqs)
    failed = [
        event
        for event in found
        if not home.project or event.body.get("project", "") in ("", home.project)
    ]
    once: dict[tuple[str, ...], Event] = {}
    for event in sorted(failed, key=lambda event: (event.at, event.seq), reverse=True):
        once.setdefault(
            (
                event.agent,
                *(event.body[name] for name in ("source", "decision", "result")),
            ),
            event,
        )
    chosen = [
        [event for event in once.values() if _is_trusted(event) is way][:MOST_FAILURES]
        for way in (True, False)
    ]
    return [_line(event, wanted.now) for event in [*chosen[0], *chosen[1]]]


def _is_trusted(event: Event) -> bool:
    return TRUST[event.body["source"]] >= TRUST["agent"]


def _line(event: Event, now: int) -> ContextLine:
    body = event.body
    decision = one_line(body["decision"]).rstrip(".")
    if len(decision) > _DECISION_CHARACTERS:
        decision = decision[:_DECISION_CHARACTERS].rstrip() + "…"
    text = one_line(f"{decision}. It ended with: {body['result']}")
    age = age_in_words((now - event.at) / MICROSECONDS_PER_DAY)
    heard_from = None if _is_trusted(event) else (event.agent, TRUST[body["source"]])
    return ContextLine(
        FAILURE, owner_of(event), f"{text} ({age})", heard_from, (event.id,)
    )


WHAT_FAILED = Section(what_failed, {FAILURE: "What failed"})
# What every context has beside the designs' sections.
MORE = (SUMMARY, WHAT_FAILED, DOCUMENTS)
