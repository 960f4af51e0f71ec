"""Commands of a home: backup, restore, salvage, verify, erase."""

import secrets
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from theorex_lab.cli import open_lab
from theorex_lab.console import command, emit, fail, named_clock, named_home, tends_project
from theorex_lab.console.agents import agent_option


@command("verify")
@tends_project
def verify() -> None:
    """Exit code 1 where anything is wrong.

    JSON: {ok, events, views, kinds, vectors}
    """
    lab = open_lab()
    report = lab.verify()
    views = {name: not columns for name, columns in report.views.items()}
    result: dict[str, Any] = {"ok": report.ok, "events": report.events, "views": views, "kinds": report.kinds}
    if not report.ok:
        fail("; ".join(report.problems), **result)
    result["vectors"] = lab.searcher.vectors.coverage()
    emit(result, f"ok: {report.events} events; views {', '.join(views)} equal the fold of the journal")


@command("backup")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--replace", is_flag=True, help="Replace FILE where it is there.")
def backup(file: Path, replace: bool) -> None:
    """Journal, archived segments and settings, read again before the file counts. `theorex restore FILE` puts it back.

    JSON: {file, events, segments, bytes}
    """
    done = open_lab().backup(file, replace=replace)
    emit(done._asdict(), f"{done.events} events, {done.segments} segments, {done.bytes:,} bytes: {done.file}")


@command("restore")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
def restore(file: Path) -> None:
    """Every event of FILE is checked first. What was in the home is not deleted: it is set aside in a folder of it.

    Processes that have the home open must open it again; they are told so when they write.

    JSON: {file, events, set_aside}
    """
    from theorex_lab.journal.sqlite.backup import restore as put_back

    done = put_back(_home(), file.expanduser(), aside=_aside())
    _render_context()
    kept = f"; what was there lies in {done.set_aside}" if done.set_aside else ""
    emit(done._asdict(), f"{done.events} events are back in {done.file}{kept}")


@command("salvage")
def salvage() -> None:
    """Where the home is sound, nothing is changed. Lost events are listed, here and in the journal.

    The damaged files, snapshots and vectors are set aside in a folder of the home, and not deleted.

    JSON: {events, lost, set_aside, problems}
    """
    from theorex_lab.journal.sqlite.salvage import salvage as keep_sound

    done = keep_sound(_home(), aside=_aside(), at=named_clock().now())
    if not done.set_aside:
        emit(done._asdict(), f"the home is sound: {done.events} events; nothing was changed")
        return
    _render_context()
    lost = sum(last - first + 1 for first, last in done.lost)
    text = [f"{done.events} events are kept, {lost} are lost{_ranges(done.lost)}", f"damaged files: {done.set_aside}"]
    emit(done._asdict(), "\n".join([*text, *done.problems]))


def _ranges(ranges: Sequence[tuple[int, int]], most: int = 10) -> str:
    shown = ", ".join(f"{first}" if first == last else f"{first}–{last}" for first, last in ranges[:most])
    more = f" and {len(ranges) - most} ranges more" if len(ranges) > most else ""
    return f" ({shown}{more})" if ranges else ""


def _home() -> Path:
    return Path(named_home()).expanduser().absolute()


def _aside() -> str:
    from theorex_lab.clock import to_iso

    return f"set-aside-{to_iso(named_clock().now())[:19].replace(':', '')}-{secrets.token_hex(2)}"


def _render_context() -> None:
    """The contexts and reminders that lay in the home were set aside with what they were made of."""
    from theorex_lab.evolution.boot import refresh

    refresh(open_lab(all_projects=True).home, most_projects=0)


@command("erase")
@tends_project
@click.argument("ids", nargs=-1)
@agent_option("Everything of this agent.")
@click.option("--match", help="Everything whose body or session id holds this text.")
@click.option("--dry-run", is_flag=True, help="Only show which events would be erased.")
def erase(ids: tuple[str, ...], agent: str | None, match: str | None, dry_run: bool) -> None:
    """By event id, agent or text; with --project what all that is given applies to. It follows lineage to what was derived,
    and cannot be undone.

    JSON: {erased, selected}
    """
    from theorex_lab.journal.sqlite.erase import select
    from theorex_lab.journal.sqlite.store import in_file

    lab = open_lab()
    erase_them = partial(select, in_file(lab.journal)) if dry_run else lab.erase
    reached = erase_them(ids=ids, agent=agent, match=match, project=lab.home.project or None)
    text = f"{len(reached)} events {'would be' if dry_run else 'were'} erased; exports, backups and folders set aside are not reached"
    emit({"erased": [] if dry_run else reached, "selected": reached}, "\n".join([text, *reached]))
