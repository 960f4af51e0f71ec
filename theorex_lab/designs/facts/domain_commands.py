"""The commands `theorex facts add-domain`, `domain` and `handoff`."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any

import click

from theorex_lab.core.clock import to_iso
from theorex_lab.designs.facts import domains, handoff
from theorex_lab.designs.facts.files import domain_documents, write_documents
from theorex_lab.designs.facts.kept_files import with_last_line_ended
from theorex_lab.files.command_line import (
    Command,
    emit,
    fail,
    group,
    home_command,
    one_row,
)
from theorex_lab.files.command_line.options import OWN_AGENT
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import TRUST

# The result of a command, and the text for people.
_Output = tuple[dict[str, Any], str]
_DIRECTORY = click.Path(file_okay=False, path_type=Path)


def _add(
    home: Home,
    *,
    name: str,
    named: str,
    description: str,
    type: str,
    entity: str,
    interval: float,
    agent: str,
) -> _Output:
    """A domain is what a subagent that forgets everything works from.

    Its files are decisions and workflow, which the main agent writes, and status and
    changelog, which subagents write. A cron-task may run every --interval minutes. A
    dev-project belongs to an entity.

    JSON: {domain, type, description, entity, interval, warning, event_id}
    """
    chosen = named or name
    if not chosen or (named and name):
        raise click.UsageError("Give the name of one domain: --domain NAME.")
    about = domains.DomainFacts(type, description, entity, interval)
    event = domains.add_domain(home, chosen, about, agent)
    members = ("type", "description", "entity", "interval")
    result: dict[str, Any] = {"domain": chosen}
    for member in members:
        result[member] = event.body[member]
    n_domains = len(domains.domains_of(home))
    result["warning"] = ""
    if n_domains > domains.MANY_DOMAINS:
        result["warning"] = (
            f"there are {n_domains} domains; up to {domains.MANY_DOMAINS} are advised"
        )
    result["event_id"] = event.id
    text = f"{chosen}: {event.body['type']}"
    return result, "\n".join(filter(None, [text, result["warning"]]))


def _list(home: Home) -> _Output:
    """A domain is stale where nobody wrote to it for two intervals, or for a week.

    JSON: {domains: [{name, type, description, entity, interval, paused, stale,
    written_at}]}
    """
    now = home.clock.now()
    rows = []
    lines = []
    for domain in domains.domains_of(home).values():
        is_stale = domain.is_stale(now)
        written_at = to_iso(domain.written_at)
        row = {"name": domain.name, **domain.about._asdict()}
        rows.append({**row, "stale": is_stale, "written_at": written_at})
        marks = ["paused"] if domain.about.paused else []
        marks += ["stale"] if is_stale else []
        words = [domain.name, domain.about.type, *marks, domain.about.description]
        lines.append("  ".join(filter(None, map(one_row, words))))
    text = "\n".join(lines) or "no domain; `theorex facts add-domain` makes one"
    return {"domains": rows}, text


def _show(home: Home, name: str) -> _Output:
    """It prints decisions, workflow, status and changelog.

    JSON: {name, type, description, entity, interval, paused, files: {decisions,
    workflow, status, changelog}}
    """
    domain = domains.domain_called(home, name)
    parts = [f"[{file}.md]\n{text}" for file, text in domain.files.items()]
    texts = {file: domain.files.get(file, "") for file in domains.DOMAIN_FILES}
    result = {"name": name, **domain.about._asdict(), "files": texts}
    return result, "\n\n".join(parts) or "nothing is written"


def _write(
    home: Home,
    name: str,
    file: str,
    *,
    text: str,
    by: str,
    source: str,
    append: bool,
    agent: str,
) -> _Output:
    """FILE is decisions, workflow, status or changelog.

    It is written as a whole, with --append at its end; a line of the changelog is
    always added, with its time. A subagent may write status and changelog alone.

    JSON: {domain, file, text, event_id}
    """
    written = domains.DomainText(text=text, append=append, by=by, source=source)
    event = domains.write_domain(home, name, file, written, agent=agent)
    return _written(event.body, event.id)


def _propose(home: Home, name: str, *, text: str, by: str, agent: str) -> _Output:
    """It adds a line PROPOSAL: … to the changelog, and a heartbeat alerts to it.

    JSON: {domain, file, text, event_id}
    """
    event = domains.propose(home, name, text, by=by, agent=agent)
    return _written(event.body, event.id)


def _written(body: dict[str, Any], event_id: str) -> _Output:
    result = {name: body[name] for name in ("domain", "file", "text")}
    return {**result, "event_id": event_id}, f"{body['domain']}/{body['file']}.md"


def _scan(home: Home) -> _Output:
    """It lists the stale domains, and the proposals that wait for a verdict.

    JSON: {domains, stale, proposals: [{id, domain, text, event_id, source}]}
    """
    scan = domains.scan_domains(home)
    lines = [f"{name}: stale" for name in scan.stale]
    for proposal in scan.proposals:
        text = one_row(proposal.text)
        lines.append(f"{proposal.id}  {proposal.domain}: PROPOSAL: {text}")
    result = scan._asdict()
    result["proposals"] = [proposal._asdict() for proposal in scan.proposals]
    return result, "\n".join(lines) or f"{scan.domains} domains, and none needs you"


def _judge(
    home: Home, name: str, proposal_id: str, *, agent: str, accept: bool
) -> _Output:
    """PROPOSAL is the id that `domain scan` shows.

    An accepted proposal becomes a decision, and of a dev-project a fact of its entity
    too.

    JSON: {id, domain, text, event_id, source}
    """
    proposal = domains.judge_proposal(
        home, name, proposal_id, accept=accept, agent=agent
    )
    verdict = "accepted" if accept else "rejected"
    return proposal._asdict(), f"{verdict}: {one_row(proposal.text)}"


def _pause(home: Home, name: str, *, paused: bool, agent: str) -> _Output:
    """A domain that rests is never stale.

    JSON: {domain, paused, event_id}
    """
    event = domains.pause_domain(home, name, paused=paused, agent=agent)
    result = {"domain": name, "paused": paused, "event_id": event.id}
    return result, f"{name}: {'rests' if paused else 'goes on'}"


def _render(home: Home, folder: Path) -> _Output:
    """DIR gets memory/domains/; a file that exists is replaced.

    JSON: {files}
    """
    documents = with_last_line_ended(domain_documents(home))
    files = write_documents(folder, documents).files
    lines = [f"{count:8d}  {name}" for name, count in files.items()]
    return {"files": files}, "\n".join(lines) or "no domain"


def _import(home: Home, folder: Path, *, trusted: bool, agent: str) -> _Output:
    """DIR is the folder that memory/domains/ is in.

    A file that differs takes the place of what is here; nothing is deleted.

    JSON: {files: [{file, imported, skipped, problems, left_out, changed}]}
    """
    from theorex_lab.designs.facts.folder_read import import_domains

    rows = []
    lines = []
    for report in import_domains(home, folder, agent=agent, trusted=trusted):
        rows.append(
            {
                "file": report.file,
                "imported": report.imported,
                "skipped": report.skipped,
                "problems": report.problems,
                "left_out": report.left_out,
                "changed": report.changed,
            }
        )
        lines.append(f"{report.imported:8d} new  {report.file}")
        lines += report.problems
    return {"files": rows}, "\n".join(lines)


_NAME = click.argument("name", metavar="DOMAIN")
_PROPOSAL = click.argument("proposal_id", metavar="PROPOSAL")
_FOLDER = click.argument("folder", metavar="DIR", type=_DIRECTORY)
_TEXT = click.option("--text", required=True, help="The text.")
_TRUST = click.option(
    "--trust",
    "source",
    type=click.Choice([*TRUST]),
    default="agent",
    help="Who said it, which decides how far it is trusted.",
)
# The options of adding a domain, as the document prints them.
_ADDING = (
    OWN_AGENT,
    click.argument("name", metavar="[DOMAIN]", default=""),
    click.option("--domain", "named", default="", help="The same as DOMAIN."),
    click.option("--description", default="", help="What it is for."),
    click.option(
        "--type",
        type=click.Choice(domains.DOMAIN_TYPES),
        default=domains.DOMAIN_TYPES[0],
        help="A task that runs by the clock, or a project that is developed.",
    ),
    click.option(
        "--kg-entity",
        "--entity",
        "entity",
        default="",
        metavar="PATH",
        help="The entity of a dev-project, as projects/NAME.",
    ),
    click.option(
        "--interval",
        type=float,
        default=0,
        metavar="MINUTES",
        help="The time between two runs; 0: it has none.",
    ),
)


def _by(default: str) -> Callable[..., Any]:
    return click.option(
        "--by",
        type=click.Choice(domains.WRITERS),
        default=default,
        help="The agent that writes: the main one, or a subagent.",
    )


def _verdict(name: str, about: str, *, accept: bool) -> Command:
    run = partial(_judge, accept=accept)
    run.__doc__ = _judge.__doc__
    return home_command(name, about, run, OWN_AGENT, _NAME, _PROPOSAL)


fact_add_domain = home_command("add-domain", "", _add, *_ADDING)
fact_domain = group(
    "domain",
    "",
    home_command("list", "List the domains.", _list),
    home_command("show", "Show the files of a domain.", _show, _NAME),
    home_command(
        "write",
        "Write a file of a domain.",
        _write,
        OWN_AGENT,
        _NAME,
        click.argument("file", metavar="FILE"),
        _TEXT,
        _by("main"),
        _TRUST,
        click.option("--append", is_flag=True, help="Add to the end."),
    ),
    home_command(
        "propose",
        "Ask for a decision of a domain.",
        _propose,
        OWN_AGENT,
        _NAME,
        _TEXT,
        _by("subagent"),
    ),
    home_command("scan", "Show stale domains, and proposals.", _scan),
    _verdict("accept", "Accept a proposal.", accept=True),
    _verdict("reject", "Reject a proposal.", accept=False),
    home_command(
        "pause",
        "Let a domain rest.",
        _pause,
        OWN_AGENT,
        _NAME,
        click.option("--paused/--undo", default=True, help="Rest, or go on."),
    ),
    home_command("render", "Write the domains as files.", _render, _FOLDER),
    home_command(
        "import",
        "Read domain files that were edited by hand.",
        _import,
        OWN_AGENT,
        _FOLDER,
        click.option(
            "--trusted", is_flag=True, help="You have read them: subagents obey them."
        ),
    ),
)


def _parse(home: Home, *, file: IO[str], keep: bool) -> _Output:
    """The block stands between `=== HB-EXTRACT HANDOFF ===` and `=== END ===`.

    With --keep what an ok block says is taken over: how far captures were read moves
    forwards, and its observations become notes. No part of a block is ever run.

    The exit code is 0 for a sound block, and where there is none; 1 for an error, or a
    block that cannot be read; 2 where it has alerts.

    JSON: {found, phase, status, summary, stats, observations, tensions, alerts,
    problem, kept}
    """
    from theorex_lab.designs.facts.handoff_taking import take_handoff

    block = handoff.read_handoff(file.read(handoff.MOST_HANDOFF_CHARACTERS))
    if block is None:
        block = handoff.Handoff(status="none")
        return {"found": False, **block.to_dict(), "kept": {}}, "no hand-off block"
    result: dict[str, Any] = {"found": True, **block.to_dict(), "kept": {}}
    if block.status == "error":
        fail(block.problem or f"{block.phase} failed: {block.summary}", **result)
    if keep:
        result["kept"] = take_handoff(home, block)
    alerts = [f"ALERT  {one_row(alert)}" for alert in block.alerts]
    text = "\n".join([f"{block.phase}: {block.summary}", *alerts])
    if block.alerts:
        emit(result, text)
        sys.exit(2)
    return result, text


def _template(
    home: Home, phase: str, *, folder: Path | None, is_filled: bool
) -> _Output:
    """It ends with the block that the subagent hands over.

    With --from the template is DIR/HB-EXTRACT.md and the like, as `init` writes them
    into references/. Names in braces are filled with what waits, unless --raw is given.

    JSON: {phase, text}
    """
    from theorex_lab.designs.facts.handoff_taking import phase_values, template_from

    text = handoff.template(phase)
    if folder is not None:
        text = template_from(folder, phase)
    if is_filled:
        text = handoff.filled_template(text, phase_values(home))
    return {"phase": phase, "text": text}, text


def _phase(home: Home, phase: str) -> _Output:
    """It does the phase and prints its hand-off block; it keeps no watermark.

    `handoff parse --keep` reads the block, and keeps it.

    JSON: {phase, status, summary, stats, observations, tensions, alerts, problem, text}
    """
    from theorex_lab.designs.facts.heartbeat import run_phase

    block = run_phase(home, phase)
    return {**block.to_dict(), "text": block.to_block()}, block.to_block()


def _waiting(home: Home, limit: int) -> _Output:
    """A line has the number of the note, its time, who said it, and what.

    JSON: {notes: [{seq, timestamp, speaker, text}], waiting}
    """
    from theorex_lab.designs.facts.handoff_taking import waiting_notes

    rows, n_waiting = waiting_notes(home, limit)
    lines = []
    for row in rows:
        text = one_row(row["text"])
        lines.append(f"L{row['seq']}  {row['timestamp']}  {row['speaker']}: {text}")
    return {"notes": rows, "waiting": n_waiting}, "\n".join(lines) or "nothing waits"


_PHASE = click.argument("phase", type=click.Choice(handoff.HANDOFF_PHASES))
fact_handoff = group(
    "handoff",
    "",
    home_command(
        "parse",
        "Read the first hand-off block of a text.",
        _parse,
        click.option(
            "--file",
            type=click.File("r", "utf-8-sig", "replace"),
            default="-",
            help="The file with the text; default: standard input.",
        ),
        click.option("--keep", is_flag=True, help="Take over what it says."),
    ),
    home_command(
        "template",
        "Show what a subagent is told that does a phase.",
        _template,
        _PHASE,
        click.option(
            "--from",
            "folder",
            metavar="DIR",
            type=_DIRECTORY,
            help="The folder of your own templates.",
        ),
        click.option(
            "--filled/--raw",
            "is_filled",
            default=True,
            help="Fill the names in braces, or show them.",
        ),
    ),
    home_command("run", "Do a phase, and print its block.", _phase, _PHASE),
    home_command(
        "notes",
        "List the captures that no extraction has read.",
        _waiting,
        click.option(
            "--limit",
            type=click.IntRange(1, 10_000),
            default=100,
            help="Show at most this many.",
        ),
    ),
)
