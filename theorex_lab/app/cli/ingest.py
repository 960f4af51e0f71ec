"""Commands that read files into the memory, and those that sum a session up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from theorex_lab.app.cli.context import open_lab
from theorex_lab.files.command_line import (
    command,
    emit,
    fail,
    given_options,
    keeps_secrets,
    one_row,
    reads_project,
)
from theorex_lab.files.command_line.options import OWN_AGENT, SESSION, own_agent
from theorex_lab.files.ingest.folders import OTHER_KIND, UNREAD
from theorex_lab.memory.documents import SUMMED_UP, sum_up

if TYPE_CHECKING:
    from theorex_lab.files.ingest.documents import Ingested
    from theorex_lab.files.ingest.file_reader import FileReader
    from theorex_lab.memory.contract import Home

_MOST_PROBLEMS = 10
_MOST_LINES = 40
_MOST_KINDS = 8
_MOST_EXAMPLES = 3
# Files with the same problem that have a line each.
_FEW_FILES = 2

_TRUSTED = click.option(
    "--trusted",
    is_flag=True,
    help="Take the documents for your own word; only for texts that you wrote yourself.",
)
_EVERY = click.option(
    "--every",
    "every_seconds",
    type=click.FloatRange(1, 3_600),
    default=30.0,
    help="With --kind video: keep an image at least every this many seconds.",
)


class IngestRequest(NamedTuple):
    """Which files come in, and how.

    Attributes:
        paths: Files and folders.
        agent: Whose they are; None for the default.
        sync: Whether what is gone from the folders is hidden.
        yes: Whether that holds for many files too.
        dry_run: Whether nothing is kept.
    """

    paths: tuple[Path, ...]
    agent: str | None
    sync: bool
    yes: bool
    dry_run: bool


def _takes_files(function: Callable[..., None]) -> Callable[..., Any]:
    """Give a command the options of reading files."""
    options: list[Callable[[Any], Any]] = [
        reads_project,
        keeps_secrets,
        click.argument(
            "paths",
            nargs=-1,
            required=True,
            metavar="PATHS",
            type=click.Path(path_type=Path),
        ),
        OWN_AGENT,
        click.option(
            "--sync",
            is_flag=True,
            help="Hide what was read from these folders and is gone from them.",
        ),
        click.option(
            "--yes",
            is_flag=True,
            help="With --sync: hide it even where it is all, or much of what was read.",
        ),
        click.option(
            "--dry-run", is_flag=True, help="Show what would come in, and keep nothing."
        ),
    ]
    decorated: Callable[..., Any] = function
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def _take_in(
    request: IngestRequest, reader: FileReader, home: Home, *, trusted: bool = False
) -> None:
    """Take in files, and show what came in."""
    from theorex_lab.files.ingest.documents import ingest as take_in

    if request.yes and not request.sync:
        raise click.UsageError("Give --yes with --sync.")
    options = {
        "sync": request.sync,
        "yes": request.yes,
        "dry_run": request.dry_run,
    }
    if trusted:
        options["trusted"] = True
    report = take_in(
        home, request.paths, reader, agent=own_agent(request.agent), **options
    )
    _show_report(report, dry_run=request.dry_run)


def _show_report(report: Ingested, *, dry_run: bool) -> None:
    """Show what came in and what did not.

    The exit code is 1 where nothing came in, and where removals wait for --yes.
    """
    count_texts = _count_texts(report)
    result = asdict(report)
    left_out = left_out_lines(report)
    if not count_texts and not report.held_back:
        _check_something_came(report, left_out)
    summary = ", ".join(count_texts) or "nothing came in"
    lines = [
        f"{report.files} files: {summary}; {report.parts} parts, {report.links} links"
    ]
    if dry_run:
        lines.append("(a dry run: nothing was kept)")
    lines += problem_lines(report)
    lines += left_out
    lines += _character_lines(report)
    text = "\n".join(map(one_row, lines))
    if not report.held_back:
        emit(result, text)
        return
    options = given_options()
    if not options.get("as_json"):
        emit(result, text)
    fail(_held_back_text(report), **result)


def _count_texts(report: Ingested) -> list[str]:
    """Return how many files became what."""
    texts = []
    for count_name in ("new", "changed", "moved", "gone", "unchanged"):
        count = getattr(report, count_name)
        if count:
            texts.append(f"{count} {count_name}")
    return texts


def _check_something_came(report: Ingested, left_out: Sequence[str]) -> None:
    """End the command with 1 where files are there, and none of them is read."""
    problems = report.problems[:_MOST_PROBLEMS]
    reasons = [group.reason for group in report.left_out]
    if problems or OTHER_KIND in reasons:
        fail("; ".join([*problems, *left_out]), **asdict(report))


def _held_back_text(report: Ingested) -> str:
    """Return which removals wait for --yes, and what to do."""
    count = len(report.held_back)
    noun = "file" if count == 1 else "files"
    examples = _examples(report.held_back, count)
    return (
        f"held back: {count:,} {noun} would be taken out of the memory ({examples}),"
        " which is all or much of what was read from these folders. Nothing was taken"
        " out. Is the folder complete? If it is, give --sync --yes"
    )


def problem_lines(report: Ingested) -> list[str]:
    """Return the problems of a report, those of many files in one line."""
    files: dict[str, list[str]] = {}
    for problem in report.problems:
        name, _, why = problem.partition(": ")
        files.setdefault(why, []).append(name)
    lines = []
    for why, names in files.items():
        if len(names) <= _FEW_FILES:
            lines += [f"{name}: {why}" if why else name for name in names]
        else:
            lines.append(
                f"{len(names):,} files ({_examples(names, len(names))}): {why}"
            )
    if len(lines) > _MOST_LINES:
        n_more = len(lines) - _MOST_LINES
        lines = [*lines[:_MOST_LINES], f"{n_more:,} more lines; --json has all"]
    return lines


def left_out_lines(report: Ingested) -> list[str]:
    """Return a line on each reason for which files were left out, but for faults."""
    lines = []
    for group in report.left_out:
        if group.reason == UNREAD:
            continue
        examples = _examples(group.paths, group.count)
        if group.reason == OTHER_KIND:
            examples = _kinds_text(group.paths)
        lines.append(
            f"{_entries_text(group.paths)} left out: {group.reason} ({examples})"
        )
    return lines


def _entries_text(paths: Sequence[str]) -> str:
    """Return how many files and folders these are, with a verb."""
    n_folders = sum(path.endswith("/") for path in paths)
    n_files = len(paths) - n_folders
    texts = []
    for count, noun in ((n_files, "file"), (n_folders, "folder")):
        if count:
            texts.append(f"{count:,} {noun}{'s' if count > 1 else ''}")
    verb = "was" if len(paths) == 1 else "were"
    return f"{' and '.join(texts)} {verb}"


def _kinds_text(paths: Sequence[str]) -> str:
    """Return how many of these files end in what, the most frequent first."""
    endings = Counter[str]()
    for path in paths:
        endings[Path(path).suffix.lower() or "without an ending"] += 1
    texts = [
        f"{count:,} {ending}" for ending, count in endings.most_common(_MOST_KINDS)
    ]
    if len(endings) > _MOST_KINDS:
        texts.append("…")
    return ", ".join(texts)


def _character_lines(report: Ingested) -> list[str]:
    """Return a line on the characters of documents that are in no part.

    The marks of headings are passed over: every document has some.
    """
    from theorex_lab.files.ingest.text import HEADING_MARKS

    counts = Counter(report.characters_left_out)
    del counts[HEADING_MARKS]
    if not counts:
        return []
    texts = [f"{count:,} in {what}" for what, count in counts.most_common()]
    total = f"{counts.total():,} of {report.characters:,} characters"
    return [f"{total} were left out: {', '.join(texts)}"]


def _examples(paths: Sequence[str], count: int) -> str:
    """Return some of these paths, as seen from here."""
    texts = [_from_here(path) for path in paths[:_MOST_EXAMPLES]]
    if count > len(texts):
        texts.append("…")
    return ", ".join(texts)


def _from_here(path: str) -> str:
    """Return a path as seen from the current folder, where it lies below that."""
    here = f"{Path.cwd()}/"
    return path.removeprefix(here)


def _documents(_home: Home, _every_seconds: float) -> FileReader:
    from theorex_lab.files.ingest.text import DOCUMENTS

    return DOCUMENTS


def _code(_home: Home, _every_seconds: float) -> FileReader:
    from theorex_lab.files.ingest.code import CODE

    return CODE


def _images(home: Home, _every_seconds: float) -> FileReader:
    from theorex_lab.files.ingest.media import images

    return images(home)


def _videos(home: Home, every_seconds: float) -> FileReader:
    from theorex_lab.files.ingest.media import videos

    return videos(home, every_seconds)


_READERS = {
    "document": _documents,
    "code": _code,
    "image": _images,
    "video": _videos,
}


@command("ingest")
@_takes_files
@click.option(
    "--kind",
    type=click.Choice([*_READERS]),
    default="document",
    help="What the files are.",
)
@_TRUSTED
@_EVERY
@click.pass_context
def ingest(
    context: click.Context,
    paths: tuple[Path, ...],
    agent: str | None,
    sync: bool,
    yes: bool,
    dry_run: bool,
    kind: str,
    trusted: bool,
    every_seconds: float,
) -> None:
    """PATHS are files and folders; `theorex search` then finds what they say.

    Hidden files, and files that .gitignore leaves out, are skipped in folders; the
    report names all that was left out. An unchanged file is skipped; a changed one
    replaces what was read of it before. What comes in is untrusted unless --trusted is
    given. The exit code is 1 where nothing could be read.

    --sync hides what is gone from the folders. Where that is all that was read from
    them, or more than 10 files and more than a tenth, nothing is hidden and the exit
    code is 1: the folder may be unmounted or half copied. --yes hides it.

    document: Markdown (.md, .markdown, .mdown, .mkd, .mdx), plain text (.txt, .text),
    reStructuredText (.rst, .rest), AsciiDoc (.adoc, .asciidoc), Org (.org), HTML (.html,
    .htm, .xhtml), PDF, and notebooks without their outputs. Each is cut by headings,
    then by size. `theorex search --kind section` finds the parts. A text that is no
    UTF-8 is read in the encoding that fits best, and the report says which.

    code: Python, JavaScript, TypeScript, Go and Rust. Modules, classes, functions and
    methods come with their signature, comment, calls and imports; `theorex search
    --kind symbol` finds them. A moved file keeps the ids of its symbols. Of a file that
    does not parse, the readable part is kept.

    image: its metadata, its words (where tesseract is installed) and a description
    (where the setting visionModel names a model and visionTokens allows it).

    video: a timeline of images, one at each cut and one at each interval (--every).

    JSON: {files, new, changed, unchanged, moved, gone, parts, links, masked, problems,
    left_out: [{reason, count, paths}], held_back, characters, characters_left_out: {…}}
    """
    if trusted and kind != "document":
        raise click.UsageError("Give --trusted with --kind document.")
    source = context.get_parameter_source("every_seconds")
    if kind != "video" and source is click.core.ParameterSource.COMMANDLINE:
        raise click.UsageError("Give --every with --kind video.")
    request = IngestRequest(paths, agent, sync, yes, dry_run)
    home = open_lab().home
    reader = _READERS[kind](home, every_seconds)
    _take_in(request, reader, home, trusted=trusted)


@command("ingest-code")
@_takes_files
def ingest_code(
    paths: tuple[Path, ...], agent: str | None, sync: bool, yes: bool, dry_run: bool
) -> None:
    """The languages are Python, JavaScript, TypeScript, Go and Rust.

    It is the same as `theorex ingest --kind code`, whose help says more.

    JSON: {files, new, changed, unchanged, moved, gone, parts, links, masked, problems,
    left_out: [{reason, count, paths}], held_back, characters, characters_left_out: {…}}
    """
    home = open_lab().home
    request = IngestRequest(paths, agent, sync, yes, dry_run)
    _take_in(request, _code(home, 0), home)


@command("ingest-image")
@_takes_files
def ingest_image(
    paths: tuple[Path, ...], agent: str | None, sync: bool, yes: bool, dry_run: bool
) -> None:
    """It keeps the metadata, the words and a description of each image.

    It is the same as `theorex ingest --kind image`, whose help says more.

    JSON: {files, new, changed, unchanged, moved, gone, parts, links, masked, problems,
    left_out: [{reason, count, paths}], held_back, characters, characters_left_out: {…}}
    """
    home = open_lab().home
    request = IngestRequest(paths, agent, sync, yes, dry_run)
    _take_in(request, _images(home, 0), home)


@command("ingest-video")
@_takes_files
@_EVERY
def ingest_video(
    paths: tuple[Path, ...],
    agent: str | None,
    sync: bool,
    yes: bool,
    dry_run: bool,
    every_seconds: float,
) -> None:
    """It keeps an image at each cut and at each interval.

    It is the same as `theorex ingest --kind video`, whose help says more.

    JSON: {files, new, changed, unchanged, moved, gone, parts, links, masked, problems,
    left_out: [{reason, count, paths}], held_back, characters, characters_left_out: {…}}
    """
    home = open_lab().home
    request = IngestRequest(paths, agent, sync, yes, dry_run)
    _take_in(request, _videos(home, every_seconds), home)


@command("session-summary")
@OWN_AGENT
@SESSION
@click.option("--investigated", help="What the session looked into.")
@click.option("--learned", help="What the session found out.")
@click.option("--completed", help="What the session completed.")
@click.option("--next", help="What is to be done next.")
@keeps_secrets
def session_summary(agent: str | None, session: str, **texts: str | None) -> None:
    """At least one of the four texts is needed; they are written together.

    The next briefing shows them.

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
    """The model draws two to six lessons from TEXT and names their domain.

    Each lesson has its domain, outcome and confidence as tags. The lessons are kept
    beside the text as the model's word. Where no model answers, the text is kept alone.

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
