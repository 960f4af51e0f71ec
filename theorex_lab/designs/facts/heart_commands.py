"""The commands of the heartbeat: `theorex fact heartbeat`, `theorex fact handoff …`, and a phase by itself."""

import re
import signal
import sys
from itertools import count
from threading import Event
from typing import IO, Any, NoReturn

import click

from theorex_lab.console import command, emit, fail, group, one_row, open_lab
from theorex_lab.designs.facts.handoff import MOST_CHARACTERS, PHASES, read_handoff

_PHASE = click.argument("phase", type=click.Choice(PHASES))
waiting = Event()  # nobody sets it: a signal ends the wait


@command("heartbeat")
@click.option("--once", is_flag=True, help="One heartbeat, as for cron; the default.")
@click.option("--every", is_flag=False, flag_value="", metavar="30m", help="Go on; default heartbeatMinutes.")
@click.option("--limit-beats", type=click.IntRange(1), metavar="N", help="With --every: stop after so many.")
def fact_heartbeat(once: bool, every: str | None, limit_beats: int | None) -> None:
    """Reads new captures for facts, on Mondays sums up entities, scans domains, validates, and reports; of all projects. Where
    a night or a heartbeat is under way, nothing is done. Exit code 1 where a phase of the last one failed.

    JSON: {ran, ok, phases: [{name, status, summary, stats, alerts, seconds}], heartbeat}, held_by and until where it did not run
    """
    from theorex_lab.designs.facts.items import fact_settings

    if (every is None and limit_beats) or (once and every is not None):
        raise click.UsageError("Give --once alone, or --every, which --limit-beats may end.")
    facts = open_lab().facts
    seconds = 60 * (_minutes(every) if every else fact_settings(facts.home).heartbeat_minutes)
    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, _stop)
    last = 1 if every is None else limit_beats
    for number in count(1):
        ok = _told(facts.beat())
        if number == last:
            sys.exit(not ok)
        waiting.wait(seconds)


def _told(done: Any) -> bool:
    mark = {"ok": "ok", "idle": "-", "error": "FAILED"}
    lines = [f"{mark[phase.status]:<6} {phase.name:<10} {one_row(phase.summary)}" for phase in done.phases]
    lines += [f"ALERT  {one_row(alert)}" for alert in done.alerts]
    if done.holder:
        lines.append(f"a {done.holder.what} is under way, {done.holder}; nothing was done")
    emit(done.to_dict(), "\n".join([*lines, done.word]))
    sys.stdout.flush()
    return bool(done.ok)


def _stop(*_: object) -> NoReturn:
    """End in order: what is under way gives the lease back, and its process is ended."""
    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, signal.SIG_IGN)
    sys.exit(0)


def _minutes(every: str) -> int:
    found = re.fullmatch(r"(\d{1,4})([mh]?)", every)
    minutes = int(found[1]) * (60 if found[2] == "h" else 1) if found else 0
    if not 1 <= minutes <= 1_440:
        raise click.BadParameter(f"got {every!r}; allowed are 1m to 1440m, or 1h to 24h", param_hint="--every")
    return minutes


@command("phase")
@_PHASE
def fact_phase(phase: str) -> None:
    """It keeps no watermark: that is the heartbeat's, which starts this as a process of its own.

    JSON: {phase, status, summary, stats, observations, tensions, alerts, problem, text}
    """
    from theorex_lab.designs.facts.heartbeat import done_here

    found = done_here(open_lab().home, phase)
    emit({**found._asdict(), "text": str(found)}, str(found))


@command("parse", "Read the first hand-off block of a text.")
@click.option("--file", type=click.File("r", "utf-8-sig", "replace"), default="-", help="Default: standard input.")
def fact_handoff_parse(file: IO[str]) -> None:
    """Exit code 0 for a sound block, and where there is none; 1 for an error or one that cannot be read; 2 where it has alerts.

    JSON: {found, phase, status, summary, stats, observations, tensions, alerts, problem}
    """
    found = read_handoff(file.read(MOST_CHARACTERS))
    if found is None:
        emit({"found": False}, "no hand-off block")
        return
    told = {"found": True, **found._asdict()}
    if found.status == "error":
        fail(found.problem or f"{found.phase} failed: {found.summary}", **told)
    emit(told, "\n".join([f"{found.phase}: {found.summary}", *(f"ALERT  {alert}" for alert in found.alerts)]))
    if found.alerts:
        sys.exit(2)


@command("template", "Show what an agent is told that does a phase.")
@_PHASE
def fact_handoff_template(phase: str) -> None:
    """It ends with the block that the agent is to hand over.

    JSON: {phase, text}
    """
    from theorex_lab.text.sections import read_sections

    parts = read_sections(__file__, "templates.txt")
    stats = dict(line.split(": ", 1) for line in parts["stats"].splitlines())
    block = parts["handoff"].replace("{PHASE}", phase.upper()).replace("{STATS}", stats[phase])
    text = f"{parts[phase]}\n\n{block}"
    emit({"phase": phase, "text": text}, text)


fact_handoff = group("handoff", "", fact_handoff_parse, fact_handoff_template)
