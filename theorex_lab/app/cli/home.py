"""Commands of the home: verify, backup, restore, erase, export, import, config."""

from __future__ import annotations

import json
import re
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from theorex_lab.app.cli.context import open_lab
from theorex_lab.app.cli.replays import replay_lines
from theorex_lab.core.clock import to_iso, to_microseconds
from theorex_lab.core.errors import ConfigError, FilesThere, InvalidInput, StorageError
from theorex_lab.core.progress import working
from theorex_lab.core.settings import (
    Settings,
    describe_settings,
    load_settings,
    read_value,
    save_part,
    to_camel,
    to_snake,
)
from theorex_lab.files.command_line import (
    command,
    confirm,
    emit,
    fail,
    keeps_secrets,
    named_clock,
    named_home,
    one_row,
    tends_project,
)
from theorex_lab.files.command_line.options import (
    FURTHER_DESIGNS,
    NO_VECTORS,
    agent_option,
    nearest,
    note,
    printable,
)
from theorex_lab.text.redact.redaction_scope import secrets_stay

if TYPE_CHECKING:
    from theorex_lab.core.settings import SettingsRecord
    from theorex_lab.files.formats.reports import Exported, FileReport
    from theorex_lab.files.transcripts.importing import Imported
    from theorex_lab.journal.event import Event
    from theorex_lab.store.lab import Lab

NO_BACKUP = (
    "This is no backup: `theorex backup FILE` makes one, with the whole history."
)
_PATH = click.Path(path_type=Path)
_EVENT_LETTERS = 80  # of an event that would be erased
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@command("verify")
@tends_project
@click.option(
    "--salvage",
    "salvages",
    is_flag=True,
    help="Make a damaged home usable again without a backup.",
)
def verify(salvages: bool) -> None:
    """It reads the whole journal, computes every view again and compares.

    The journal is the list of all events; a view is what the memory computes from it.
    The exit code is 1 where anything is wrong. An event whose body does not fit its
    kind is set aside: nothing is read from it, and `theorex erase ID` erases it. Others
    may write meanwhile: `upto` is the number of the newest event at the beginning.

    --salvage keeps the events that are sound, and lists the lost ones here and in the
    journal. It moves the damaged files, snapshots and vectors into a folder of the home
    and deletes nothing. Where the home is sound it changes nothing.

    JSON: {ok, events, upto, views, kinds, bad_events: [{seq, id, kind, why, do}],
    vectors}; with --salvage {events, lost, set_aside, problems, bad_events}
    """
    if salvages:
        _salvage()
    else:
        _verify()


def _verify() -> None:
    """Check the journal and the views."""
    lab = open_lab()
    with working("reads the whole journal, and computes every view again"):
        report = lab.verify()
    views = {name: not columns for name, columns in report.views.items()}
    result: dict[str, Any] = {
        "ok": report.ok,
        "events": report.events,
        "upto": report.upto,
        "views": views,
        "kinds": report.kinds,
    }
    result["bad_events"] = [event._asdict() for event in report.bad_events]
    if not report.ok:
        fail("; ".join(report.problems), **result)
    result["vectors"] = lab.searcher.vectors.coverage()
    emit(
        result,
        f"ok: {report.events} events; the journal gives the views {', '.join(views)}"
        " as they are",
    )


@command("backup")
@click.argument("file", metavar="FILE", type=_PATH)
@click.option("--replace", is_flag=True, help="Replace FILE if it exists.")
def backup(file: Path, replace: bool) -> None:
    """The file holds the journal, the archived events and the settings.

    It is read again before it counts as made. `theorex restore FILE` puts it back.
    Events that were set aside are copied as they are, and counted as `bad_events`.

    JSON: {file, events, segments, bytes, bad_events}
    """
    lab = open_lab(all_projects=True)
    with working("copies the journal, and reads the copy"):
        report = lab.backup(file, replace=replace)
    bad = len(lab.bad_events())
    text = (
        f"{report.events} events, {report.segments} segments, {report.bytes:,} bytes:"
        f" {report.file}"
    )
    if bad:
        text += f"\n{bad} of the events are set aside; `theorex verify` lists them"
    emit({**report._asdict(), "bad_events": bad}, text)


@command("restore")
@click.argument("file", metavar="FILE", type=_PATH)
def restore(file: Path) -> None:
    """Every event of FILE is checked before anything changes.

    What was in the home is not deleted: it is moved into a folder of the home. A
    program that has the home open must open it again; it gets an error that says so
    when it writes.

    JSON: {file, events, set_aside}
    """
    from theorex_lab.journal.sqlite.backup import restore as put_back

    _refuse_database("put a backup back with pg_restore or psql")
    with working("checks every event of the backup"):
        report = put_back(_home(), file.expanduser(), aside=_aside())
    _render_context()
    aside_note = (
        f"; what was there is now in {report.set_aside}" if report.set_aside else ""
    )
    emit(
        report._asdict(),
        f"{report.events} events are restored in {report.file}{aside_note}",
    )


def _salvage() -> None:
    """Keep what is sound of a damaged home."""
    from theorex_lab.journal.sqlite.salvage import salvage as keep_sound

    _refuse_database("put a backup back where `theorex verify` finds damage")
    report = keep_sound(_home(), aside=_aside(), at=named_clock().now())
    if report.set_aside:
        _render_context()
    bad = open_lab(all_projects=True).bad_events()
    result = {**report._asdict(), "bad_events": [event._asdict() for event in bad]}
    event_lines = [event.told for event in bad]
    if not report.set_aside:
        sound = f"the home is sound: {report.events} events; nothing was changed"
        emit(result, "\n".join([sound, *event_lines]))
        return
    lost = sum(last - first + 1 for first, last in report.lost)
    ranges = ", ".join(f"{first}–{last}" for first, last in report.lost)
    text = [
        f"{report.events} events are kept, {lost} are lost ({ranges})",
        f"damaged files: {report.set_aside}",
    ]
    emit(result, "\n".join([*text, *report.problems, *event_lines]))


def _refuse_database(instead: str) -> None:
    """Refuse what works on the SQLite file of a home, where the setting names another.

    Args:
        instead: What is done there.

    Raises:
        StorageError: The home's journal is in a PostgreSQL database.
    """
    url = ""
    with suppress(ConfigError):  # a broken file may be what is put back
        url = load_settings(_home() / "config.json").journal_url
    if url:
        raise StorageError(
            f"this home's journal is in {url}; allowed here is one in an SQLite file:"
            f" {instead}"
        )


def _home() -> Path:
    return Path(named_home()).expanduser().absolute()


def _aside() -> str:
    return f"set-aside-{to_iso(named_clock().now())[:19].replace(':', '')}-{secrets.token_hex(2)}"


def _render_context() -> None:
    """Write the briefings of a home, and the index of prompts, again.

    Those that lay in it were set aside with what they were made of.
    """
    from theorex_lab.evolution.briefing import refresh

    refresh(open_lab(all_projects=True).home, most_projects=0)


@command("erase")
@tends_project
@click.argument("ids", nargs=-1)
@agent_option("Erase the events of this agent.")
@click.option(
    "--match", help="Erase the events whose body or session id contains this text."
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show which events would be erased, and erase nothing.",
)
def erase(
    ids: tuple[str, ...], agent: str | None, match: str | None, dry_run: bool
) -> None:
    """It erases each event that one of IDS, --agent and --match fits.

    With --project it erases only events of that project, those that all of the given
    ones fit; --project alone erases the whole project.

    Everything that was derived from an erased event is erased too. This cannot be
    undone: see first with --dry-run what it reaches. Exports, backups and folders that
    were set aside keep their copies.

    JSON: {erased, selected}
    """
    from theorex_lab.journal.erasing import select

    lab = open_lab()
    erase_them = partial(select, lab.journal) if dry_run else lab.erase
    reached = erase_them(
        ids=ids, agent=agent, match=match, project=lab.home.project or None
    )
    noun = "event" if len(reached) == 1 else "events"
    if dry_run:
        lines = [f"{len(reached)} {noun} would be erased:"]
        lines += _lines_of_events(lab, reached)
    else:
        lines = [f"{len(reached)} {noun} erased:", *reached]
    lines.append("Exports, backups and folders set aside keep what they hold.")
    emit(
        {"erased": [] if dry_run else reached, "selected": reached},
        "\n".join(lines),
    )


def _lines_of_events(lab: Lab, ids: Sequence[str]) -> list[str]:
    """Return a line for each event: its id, its day, and how its text begins."""
    lines = []
    unsent = _unsent_events(lab, ids)
    unsent_ids = {event.id for event in unsent}
    sent_ids = [event_id for event_id in ids if event_id not in unsent_ids]
    for event in [*lab.journal.read(ids=sent_ids), *unsent]:
        texts = [event.body.get(field) for field in ("text", "message", "tool")]
        text = next((text for text in texts if isinstance(text, str)), "")
        shown = printable(one_row(text))[:_EVENT_LETTERS]
        lines.append(f"{event.id}  {to_iso(event.at)[:10]}  {shown}".rstrip())
    return lines


def _unsent_events(lab: Lab, ids: Sequence[str]) -> list[Event]:
    """Return those of the events that stay in this machine's spool for good."""
    from theorex_lab.journal.spool import SpooledJournal

    if not isinstance(lab.journal, SpooledJournal):
        return []
    refused = lab.journal.refused()
    return lab.journal.local.read(
        ids=[event_id for event_id in ids if event_id in refused]
    )


_EVENTS_NEED = (
    "got --events or --parquet; allowed are both together, with a folder and without"
    " --agent: theorex export --events --parquet DIR"
)


@command("export")
@agent_option("Only this agent's memory; default: all agents.")
@click.option(
    "--replace",
    is_flag=True,
    help="Replace existing files without asking.",
)
@click.option(
    "--events",
    is_flag=True,
    help="Write the events of the journal instead; needs --parquet and DIR.",
)
@click.option(
    "--parquet",
    is_flag=True,
    help="With --events: as Parquet files; needs the extra parquet.",
)
@click.argument(
    "folder",
    metavar="[DIR]",
    required=False,
    type=click.Path(file_okay=False, path_type=Path),
)
def export(
    folder: Path | None, agent: str | None, replace: bool, events: bool, parquet: bool
) -> None:
    """The files are for other programs; `theorex backup FILE` makes a backup.

    DIR gets the concepts (axon.json), the short-term records (stm.jsonl), the texts
    (observations.jsonl), the briefing, and a file for each trace and each outcome
    (traces/ID.json, …). `theorex import DIR` reads them.

    It also gets what each design knows, an entry a line, in a file of the design's
    name: facts.jsonl (facts and notes), causal.jsonl (attempts and fix templates),
    research.jsonl (insights, skills, theorems, records), sessions.jsonl (summaries and
    fixes) and so on; `upto` in them counts lines. Pages for people are beside them:
    life, ops, the days in memory, memories, skills.

    Prompts, tool calls, tasks, policies and pins are not in it.

    Without DIR the files go where agentAxonDir, sharedAxonPath and outcomesDir in
    config.json say.

    The command asks before it writes into a DIR that is not empty or replaces a file;
    other files there are left alone. Where nobody can be asked the exit code is 1,
    unless --replace is given.

    --events --parquet writes the events themselves into DIR, partitioned by project and
    month, for DuckDB, Polars and pandas: all or none. Erased bodies stay erased, and
    secrets masked.

    JSON: {folder, files}
    """
    if events or parquet:
        write = _events_writer(folder, agent=agent, is_whole=events and parquet)
    else:
        lab = open_lab(all_projects=True)
        write = partial(lab.export_files, folder, agent=agent)
    try:
        with working("writes the files"):
            exported = write(replace=replace)
    except FilesThere as error:
        if not sys.stdin.isatty():
            raise
        click.echo(printable(str(error)), err=True)
        if not confirm("Replace them?", default=False, err=True):
            fail("nothing was exported")
        exported = write(replace=True)
    lines = [f"{count:8d}  {name}" for name, count in exported.files.items()]
    if not events:
        lines.append(NO_BACKUP)
    emit({"folder": str(exported.folder), "files": exported.files}, "\n".join(lines))


def _events_writer(
    folder: Path | None, *, agent: str | None, is_whole: bool
) -> Callable[..., Exported]:
    """Return what writes the events into a folder.

    Raises:
        InvalidInput: An option is missing, or one is given that does not fit.
    """
    if folder is None or agent is not None or not is_whole:
        raise InvalidInput(_EVENTS_NEED)
    return partial(open_lab(all_projects=True).export_events, folder)


@command("import")
@agent_option("The agent of records that name none.", default="main")
@click.option(
    "--trusted",
    is_flag=True,
    help="Believe who said what in the files; only for files of your own.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="End with exit code 1 where anything could not be read.",
)
@click.option(
    "--transcripts",
    metavar="PATH",
    type=_PATH,
    help="Import recorded conversations: a file or a folder.",
)
@click.option(
    "--project",
    metavar="P",
    default="",
    help="With --transcripts: the project of sessions that name no folder.",
)
@click.option(
    "--since",
    metavar="ISO",
    help="With --transcripts: leave out what is earlier than this time.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="With --transcripts: show what would come in, and keep nothing.",
)
@click.option(
    "--replay",
    is_flag=True,
    help="With --transcripts: then run maintenance for each day, as of that day.",
)
@NO_VECTORS
@FURTHER_DESIGNS
@click.argument("path", metavar="[PATH]", required=False, type=_PATH)
@keeps_secrets
def import_(
    path: Path | None,
    agent: str,
    trusted: bool,
    strict: bool,
    transcripts: Path | None,
    project: str,
    since: str | None,
    dry_run: bool,
    replay: bool,
    no_vectors: bool,
    designs: tuple[str, ...],
) -> None:
    """PATH is a folder that `theorex export` wrote, or one file of it.

    Files of the original Theorex system are read too. Without PATH the files are looked
    for where agentAxonDir, sharedAxonPath and outcomesDir in config.json say.

    What designs know comes in with its times, agents, projects and ids; references to
    what is neither in the files nor here are left out and counted. A fact or note whose
    id is taken gets the next one. Anything else that is here already stays as it is.
    Without --trusted, lines of MEMORY.md and SOUL.md, channels, archived entities,
    outcomes of skills, personalities and trusted fixes do not come in.

    --transcripts PATH reads sessions of Claude Code, Codex, Gemini CLI and SpecStory,
    exports of ChatGPT, Langfuse, LangSmith and mem0, OpenTelemetry spans, inspect_ai
    logs, MCP's memory.jsonl, messages of OpenAI's or Anthropic's form, or lines in a
    hook's form. Secrets in them are always masked. With --trusted the prompts count as
    your own word; without it they are untrusted, as notes of other memories always are.

    With --replay maintenance then runs for each day, as `theorex maintain --replay` does
    it. The memory is then as if it had been there from the first day.

    Importing twice imports once. Imported runs of models do not decide where `theorex
    route` sends a query, unless --trusted is given.

    An Engram folder (life, memory, ops, MEMORY.md, SOUL.md) is read too, unless
    facts.jsonl is in it, which holds more. What cannot be read is reported, and
    `export` writes it back as it stood. Domains come in with --trusted alone.
    EurekaClaw's folders, Evolving Memory's database and a GEP memory graph are read too.

    The exit code is 1 where nothing could be read, and with --strict where anything
    could not.

    Next: `theorex briefing` shows what an agent would read now.

    JSON: {files: [{file, imported, skipped, problems, unlinked, left_out, changed}],
    imported, skipped}; with --transcripts {files, sessions, events, already, skipped,
    projects, problems, trusted, lines, with_captures, left_out, …}, where there are any
    also replayed (events of another session that this one repeats), retold (events that
    another form of the transcript tells), doubled (sessions that came in twice), unread
    (lines), substituted (lines), other_files and guessed, the number of times by how
    each was guessed: neighbour, file, future, number, leap_second, backwards; with
    --replay {files, sessions, events, already, skipped, projects, problems, trusted,
    lines, with_captures, left_out, replay: {ran, ok, days, evenings, events, results,
    failed, steps: [{name, ok, seconds, detail}]}, …}
    """
    _check_replay(transcripts, replay=replay, dry_run=dry_run, no_vectors=no_vectors)
    if designs and not replay:
        raise click.UsageError("Give --design with --replay.")
    if transcripts is not None:
        if path is not None or secrets_stay():
            raise click.UsageError(
                "Give --transcripts PATH without another PATH and without --keep-secrets."
            )
        _import_transcripts(
            transcripts,
            strict=strict,
            trusted=trusted,
            agent=agent,
            project=project,
            since=since,
            dry_run=dry_run,
            replay=replay,
            vectors=not no_vectors,
            designs=designs,
        )
        return
    if project or since or dry_run:
        raise click.UsageError(
            "Give --project, --since and --dry-run with --transcripts PATH."
        )
    with working("reads the files"):
        reports = open_lab().import_files(path, agent=agent, trusted=trusted)
    _tell_imported(reports, strict=strict)


def _check_replay(
    transcripts: Path | None, *, replay: bool, dry_run: bool, no_vectors: bool
) -> None:
    """Refuse options that say nothing without others.

    Raises:
        UsageError: One is there without the other, or with --dry-run.
    """
    if replay and (transcripts is None or dry_run):
        raise click.UsageError(
            "Give --replay with --transcripts PATH and without --dry-run."
        )
    if no_vectors and not replay:
        raise click.UsageError("Give --no-vectors with --replay.")


def _tell_imported(reports: list[FileReport], *, strict: bool) -> None:
    """Tell what came in of files; end the command with 1 where nothing could."""
    imported = sum(report.imported for report in reports)
    skipped = sum(report.skipped for report in reports)
    result = {
        "files": [asdict(report) for report in reports],
        "imported": imported,
        "skipped": skipped,
    }
    problems = []
    for report in reports:
        problems += report.problems
    lines = _report_lines(reports)
    # Without a new or a known event, every line of the files was refused.
    _tell(result, lines, problems, failed=strict or not imported + skipped)


def _report_lines(reports: Iterable[FileReport]) -> list[str]:
    """Return what became of the files, a line each.

    Those of a folder in which nothing is new share one.
    """
    lines = []
    n_files = Counter[str]()
    n_known = Counter[str]()
    for report in reports:
        folder = report.file.rpartition("/")[0]
        is_plain = not (report.unlinked or report.left_out or report.changed)
        if folder and not report.imported and is_plain:
            n_files[folder] += 1
            n_known[folder] += report.skipped
            continue
        line = _counts_line(report.imported, report.skipped, report.file)
        lines.append(line + _remarks(report))
    for folder, count in n_files.items():
        lines.append(_counts_line(0, n_known[folder], f"{folder} ({count} files)"))
    return lines


def _remarks(report: FileReport) -> str:
    """Return what of a file did not come in as it stands there, '' where all did."""
    remarks = ""
    if report.unlinked:
        remarks += f" ({report.unlinked} references to what is not here were left out)"
    if report.left_out:
        remarks += f", {report.left_out} left out"
    if report.changed:
        remarks += f", {report.changed} changed"
    return remarks


def _counts_line(n_new: int, n_known: int, name: str) -> str:
    return f"{n_new:8d} new, {n_known} there already  {name}"


def _tell(
    result: dict[str, Any], lines: list[str], problems: list[str], *, failed: bool
) -> None:
    """Tell what came in and what did not.

    Where problems mean that it `failed`, the command ends with them.
    """
    if problems and failed:
        fail("; ".join(problems), **result)
    emit(result, "\n".join([*lines, *problems]))


# How a time came about that no line of a transcript states plainly.
_GUESSES = {
    "neighbour": "missing: the times of neighbouring lines were taken",
    "file": "missing, also in neighbouring lines: the file's last change was taken",
    "future": (
        "in the future: the times of neighbouring lines were taken, or the present"
    ),
    "number": (
        "given as numbers: their size decided between seconds, milliseconds and smaller"
        " parts"
    ),
    "leap_second": "in a leap second: the second after it was taken",
    "backwards": "more than a minute before the line above: they were left as they are",
}


def _import_transcripts(
    path: Path,
    *,
    strict: bool,
    trusted: bool,
    agent: str,
    project: str,
    since: str | None,
    dry_run: bool,
    replay: bool,
    vectors: bool,
    designs: Collection[str],
) -> None:
    """Take in transcripts, and tell what came in."""
    earliest = None if since is None else _moment(since)
    lab = open_lab()
    report = lab.import_transcripts(
        path,
        project=project,
        since=earliest,
        trusted=trusted,
        dry_run=dry_run,
        agent=agent,
    )
    if report.suggestion:
        note(report.suggestion)
    lines = _imported_lines(report)
    if dry_run:
        lines.append("(a dry run: nothing was kept)")
    result = report.to_dict()
    problems = list(report.problems)
    is_failed = strict
    if replay:
        # What came in is of its own projects, not of this folder's.
        replayed = lab.in_project("").replay(vectors=vectors, designs=designs)
        result["replay"] = replayed.to_dict()
        lines += replay_lines(replayed)
        problems += [
            f"a step of the replay failed: {name}" for name in replayed.failed_steps
        ]
        is_failed = strict or not replayed.ok
    _tell(result, lines, problems, failed=is_failed)


def _imported_lines(report: Imported) -> list[str]:
    """Return what came in of transcripts, for people."""
    totals = (
        f"{report.events} new events of {report.files} transcripts,"
        f" {report.already} there already"
    )
    if report.replayed:
        totals += f", {report.replayed} repeated by another session"
    if report.retold:
        totals += f", {report.retold} told by another form of the same session"
    if report.skipped:
        totals += f", {report.skipped} recorded by the hook"
    if report.earlier:
        totals += f", {report.earlier} before the time of --since"
    lines = [totals]
    for name, counts in sorted(report.projects.items()):
        by_label = ", ".join(f"{count} {label}" for label, count in counts.items())
        lines.append(f"    {name}: {by_label}")
    for guess, count in sorted(report.guessed.items()):
        lines.append(f"    {count} times {_GUESSES[guess]}")
    if report.events and not report.trusted:
        lines.append(
            "    they count as another's: no rule, command or pitfall comes of them"
            " (with --trusted they count as your own)"
        )
    return [*lines, *_left_out_lines(report)]


def _left_out_lines(report: Imported) -> list[str]:
    """Return what became of the lines of transcripts, and what was left out."""
    n_left_out = sum(report.left_out.values())
    line = f"    {report.lines} lines: {report.with_captures} with captures"
    if n_left_out:
        line += f", {n_left_out} without ({_most_common(report.left_out)})"
    if report.unread:
        line += f", {report.unread} that could not be read"
    lines = [line]
    if report.substituted:
        lines.append(
            f"    {report.substituted} lines hold characters that no text has:"
            " ? or \ufffd stands for them"
        )
    if report.other_files:
        n_files = sum(report.other_files.values())
        lines.append(
            f"    {n_files} files are no transcripts by their name"
            f" ({_most_common(report.other_files)})"
        )
    if report.doubled:
        lines.append(
            f"    {report.doubled} sessions came in from transcripts of two forms that"
            " share no prompt: they may count twice"
        )
    return lines


def _most_common(counts: dict[str, int]) -> str:
    """Return counts as words, the largest first; the smaller ones share one."""
    words = [f"{count} {name}" for name, count in counts.items()]
    others = list(counts.values())[_KINDS_SHOWN:]
    if not others:
        return ", ".join(words)
    rest = f"{sum(others)} of {len(others)} other kinds"
    return ", ".join([*words[:_KINDS_SHOWN], rest])


_KINDS_SHOWN = 6


@command("archive")
@tends_project
@click.option(
    "--before",
    required=True,
    metavar="DATE",
    help="A day, or a time with its offset; events before it are moved.",
)
def archive(before: str) -> None:
    """It moves raw events of sessions that have ended into files of the home.

    The search, `theorex verify` and every replay read them as before.

    JSON: {events, segments}
    """
    lab = open_lab()
    report = lab.archive(
        to_microseconds(_moment(before)), project=lab.home.project or None
    )
    emit(
        report._asdict(),
        "\n".join([f"{report.events} events archived", *report.segments]),
    )


def _moment(moment: str) -> str:
    """Return a day's beginning in UTC, or the time itself."""
    return f"{moment}T00:00:00Z" if _DAY.fullmatch(moment) else moment


@command("config")
@click.argument("key", metavar="[KEY]", required=False)
@click.argument("value", metavar="[VALUE]", required=False, type=click.UNPROCESSED)
@click.option(
    "--unset",
    metavar="KEY",
    help="Take a setting out of config.json; its default then holds again.",
)
def config(key: str | None, value: str | None, unset: str | None) -> None:
    """Without KEY it shows every setting with its value, default, range and unit.

    With KEY it shows that setting; with KEY and VALUE it sets it. KEY is written like
    searchVectors or search_vectors, and DESIGN.KEY for a setting of a design. VALUE is
    a number or a text; lists and objects are JSON. A value that is not allowed is not
    written.

    The settings are in config.json in the home. The file is replaced as a whole, and
    what else stands in it stays. --unset also takes out a KEY that is no setting.

    JSON: {file, settings: [{key, value, default, range, unit, source, description}]};
    with VALUE or --unset {file, setting}
    """
    if unset is not None and key is not None:
        raise click.UsageError("Give one of KEY and --unset.")
    if unset is not None:
        _change(unset, None)
    elif key is not None and value is not None:
        _change(key, value)
    else:
        _show_settings(key)


def _show_settings(key: str | None) -> None:
    """Show every setting with its value, default, range and unit, or one of them."""
    lab = open_lab()
    rows = describe_settings(lab.settings)
    for design in (
        design for design in lab.home.designs if design.settings is not None
    ):
        rows += describe_settings(
            lab.home.settings_of(design), before=f"{design.name}."
        )
    if key is not None:
        rows = [_row_of(key, rows)]
    lines = [f"# {lab.config_file}"]
    for row in rows:
        lines += [_line(row), f"    {row['description']}"]
    emit({"file": str(lab.config_file), "settings": rows}, "\n".join(lines))


def _row_of(key: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the row of a setting.

    Raises:
        InvalidInput: There is no setting of that name.
    """
    rows_by_key = {row["key"]: row for row in rows}
    row = rows_by_key.get(_camel(key))
    if row is None:
        raise InvalidInput(
            f"got the setting {key!r}; the nearest is"
            f" {nearest(_camel(key), rows_by_key)!r}, and `theorex config` lists all"
        )
    return row


def _camel(key: str) -> str:
    """Return the name of a setting in camelCase; a design's has its name ahead."""
    design, dot, member = key.rpartition(".")
    return f"{design}{dot}{to_camel(to_snake(member))}"


def _file() -> Path:
    from theorex_lab.core.files import make_folder

    # No lab is opened: where config.json is wrong, none can be, and this is how it is
    # put right.
    make_folder(str(_home()))
    return _home() / "config.json"


def _change(key: str, value: str | None) -> None:
    """Set a setting of the home, or for DESIGN.KEY one of that design.

    A value None takes it out.
    """
    part, _, member = key.partition(".")
    kind = _settings_of(part) if member else None
    inner = member
    before = f"{part}."
    if kind is None:
        kind = Settings
        part = ""
        inner = key
        before = ""
    changes: dict[str, Any] = {}
    unset: list[str] = []
    if value is None:
        unset.append(inner)
    else:
        changes[inner] = read_value(inner, value, kind)
    settings = save_part(_file(), part, kind, changes, unset=unset)
    rows = {row["key"]: row for row in describe_settings(settings, before=before)}
    row = rows.get(to_camel(to_snake(key)))
    text = f"{key} is taken out" if row is None else _line(row)
    emit({"file": str(_file()), "setting": row}, text)


def _settings_of(name: str) -> type[SettingsRecord] | None:
    """Return the settings of a design, None where no design of this name has any."""
    from theorex_lab.designs import installed

    for design in installed():
        if design.name == name:
            return design.settings
    return None


def _line(row: dict[str, Any]) -> str:
    unit = f" {row['unit']}" if row["unit"] else ""
    default = json.dumps(row["default"])
    return (
        f"{row['key']} = {json.dumps(row['value'])}{unit}   ({row['source']}; default"
        f" {default}; {row['range']})"
    )


# A value such as -1 is a value, and refused as one, not taken for an option.
config.context_settings["ignore_unknown_options"] = True
