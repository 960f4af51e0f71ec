"""Commands by which files come in, and what a session says of itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from theorex_lab.app.cli.context import open_lab
from theorex_lab.files.command_line import (
    Command,
    command,
    emit,
    fail,
    keeps_secrets,
    one_row,
    reads_project,
)
from theorex_lab.files.command_line.options import OWN_AGENT, SESSION, own_agent
from theorex_lab.memory.documents import SUMMED_UP, sum_up

if TYPE_CHECKING:
    from theorex_lab.files.ingest.documents import FileReader, Ingested
    from theorex_lab.memory.contract import Home

_PATHS = click.argument(
    "paths", nargs=-1, required=True, metavar="PATHS", type=click.Path(path_type=Path)
)
_SYNC = click.option(
    "--sync", is_flag=True, help="Hide what is in these folders no more."
)
_DRY_RUN = click.option(
    "--dry-run", is_flag=True, help="Say what would come in; nothing is kept."
)
_TRUSTED = click.option(
    "--trusted", is_flag=True, help="You wrote them: take them for your own word."
)


def _taking(
    reader: Callable[..., FileReader], *options: Callable[[Any], Any]
) -> Callable[[Callable[[], None]], Command]:
    """Make a command of a function's name and help.

    It takes in the files that a reader reads.
    """

    def declare(function: Callable[[], None]) -> Command:
        def run(
            paths: tuple[Path, ...],
            agent: str | None,
            every_seconds: float | None = None,
            **settings: bool,
        ) -> None:
            from theorex_lab.files.ingest.documents import ingest

            home = open_lab().home
            chosen = (
                reader(home) if every_seconds is None else reader(home, every_seconds)
            )
            _tell(
                ingest(home, paths, chosen, agent=own_agent(agent), **settings),
                settings["dry_run"],
            )

        run.__doc__ = function.__doc__
        for option in (*options, _DRY_RUN, _SYNC, OWN_AGENT, _PATHS):
            run = option(run)
        return command(function.__name__.replace("_", "-"))(
            reads_project(keeps_secrets(run))
        )

    return declare


def _tell(report: Ingested, dry_run: bool) -> None:
    """What came in and what did not; exit code 1 where nothing did."""
    counts = ("new", "changed", "moved", "gone", "unchanged")
    count_texts = []
    for count_name in counts:
        count = getattr(report, count_name)
        if count:
            count_texts.append(f"{count} {count_name}")
    summary = ", ".join(count_texts) or "nothing came in"
    lines = [
        f"{report.files} files: {summary}; {report.parts} parts, {report.links} links"
    ]
    lines += ["(a dry run: nothing was kept)"] * dry_run + [
        one_row(problem) for problem in report.problems
    ]
    if report.problems and not any(
        getattr(report, count_name) for count_name in counts
    ):
        fail("; ".join(report.problems[:10]), **asdict(report))
    emit(asdict(report), "\n".join(lines))


def _documents(_home: Home) -> FileReader:
    from theorex_lab.files.ingest.text import DOCUMENTS

    return DOCUMENTS


def _code(_home: Home) -> FileReader:
    from theorex_lab.files.ingest.code import CODE

    return CODE


def _images(home: Home) -> FileReader:
    from theorex_lab.files.ingest.media import images

    return images(home)


def _videos(home: Home, every_seconds: float) -> FileReader:
    from theorex_lab.files.ingest.media import videos

    return videos(home, every_seconds)


@_taking(_documents, _TRUSTED)
def ingest() -> None:
    """Markdown, plain text, reStructuredText, HTML, PDF and notebooks.

    Notebooks come without outputs. All are cut by headings, then by size; found by
    `search --kind section`. Hidden files and what .gitignore leaves out stay out of
    folders.

    An unchanged file is skipped, a changed one takes the place of what was read of it
    before. What comes in is hearsay, unless --trusted. Exit code 1 where nothing
    could be read.

    JSON: {files, new, changed, unchanged, moved, gone, parts, links, masked, problems}
    """


@_taking(_code)
def ingest_code() -> None:
    """Python, JavaScript, TypeScript, Go and Rust.

    Modules, classes, functions and methods come with signature, comment, calls and
    imports; found by `search --kind symbol`. A file that was moved keeps its symbols'
    ids.

    Only what changed is read again. Of a file that does not parse what is readable is
    kept.

    JSON: {files, new, changed, unchanged, moved, gone, parts, links, masked, problems}
    """


@_taking(_images)
def ingest_image() -> None:
    """What a picture's file says of it, the words in it, and a description.

    Words are read where tesseract is installed; it is described where the setting
    visionModel names a model and visionTokens allows it. Found by `search --kind
    section`. All of it is hearsay.

    JSON: {files, new, changed, unchanged, moved, gone, parts, links, masked, problems}
    """


_EVERY = click.option(
    "--every",
    "every_seconds",
    type=click.FloatRange(1, 3_600),
    default=30.0,
    help="A frame at least every so many seconds.",
)


@_taking(_videos, _EVERY)
def ingest_video() -> None:
    """A timeline: a frame at each cut and each interval.

    Each is read as `ingest-image` reads a picture.

    JSON: {files, new, changed, unchanged, moved, gone, parts, links, masked, problems}
    """


@command("session-summary")
@OWN_AGENT
@SESSION
@click.option("--investigated", help="What was looked into.")
@click.option("--learned", help="What is known now.")
@click.option("--completed", help="What is done.")
@click.option("--next", help="What comes next.")
@keeps_secrets
def session_summary(agent: str | None, session: str, **texts: str | None) -> None:
    """At least one of the four; all in one transaction.

    The next context shows them as the last session's summary.

    JSON: {event_ids}
    """
    summary = {}
    for name in SUMMED_UP:
        text = texts[name]
        if text:
            summary[name] = text
    if not summary:
        raise click.UsageError(
            f"Give at least one of {', '.join(f'--{name}' for name in SUMMED_UP)}."
        )
    entries = sum_up(open_lab().home, summary, agent=own_agent(agent), session=session)
    ids = [entry.event_id for entry in entries]
    emit({"event_ids": ids}, "\n".join(ids))


@command("synthesize")
@OWN_AGENT
@SESSION
@click.argument("text", nargs=-1, required=True)
@keeps_secrets
def synthesize(agent: str | None, session: str, text: tuple[str, ...]) -> None:
    """Two to six lessons, each with domain, outcome and confidence as tags.

    They are kept beside the text as the model's word. Where no model answers, the text
    is kept alone.

    JSON: {event_id, lessons: [[event_id, text]], model, problem}
    """
    from theorex_lab.files.ingest.lessons import synthesize as draw

    lessons = draw(
        open_lab().home, " ".join(text), agent=own_agent(agent), session=session
    )
    drawn = [f"{number}  {lesson}" for number, lesson in lessons.lessons] or [
        f"the text is kept alone: {lessons.problem}"
    ]
    emit(lessons._asdict(), "\n".join([lessons.event_id, *drawn]))
