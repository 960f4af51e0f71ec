"""The commands `theorex facts …`.

They are of facts, their heartbeat, notes of the work, MEMORY.md and SOUL.md, and of
folders.
"""

import re
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from theorex_lab.designs.facts import (
    ABSTRACTIONS,
    CATEGORIES,
    NOTE_CATEGORIES,
    STATUSES,
    notes,
)
from theorex_lab.designs.facts.facts import Fact, check_home
from theorex_lab.designs.facts.files import Document, self_documents, write_documents
from theorex_lab.designs.facts.note_view import Note
from theorex_lab.files.command_line import (
    Command,
    command,
    emit,
    fail,
    group,
    keeps_secrets,
    one_row,
    open_lab,
    reads_project,
)
from theorex_lab.files.command_line.options import OWN_AGENT, own_agent
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import TRUST

if TYPE_CHECKING:
    from theorex_lab.designs.facts.heartbeat import HeartbeatReport
# The result of a command, and the text for people.
Output = tuple[dict[str, Any], str]
_PATH = click.Path(file_okay=False, path_type=Path)
_FOLDER = click.argument("folder", metavar="DIR", type=_PATH)
_TEXT = click.option(
    "--text", "--observation", "text", required=True, help="What is written."
)
_FROM = click.option(
    "--trust",
    "source",
    type=click.Choice([*TRUST]),
    default="agent",
    help="Who it is from.",
)


def _made(
    name: str, run: Callable[..., Output], *options: Callable[..., Any], about: str = ""
) -> Command:
    """Return the command of this name.

    What it returns is a Click callback, so that the names of its values are open: they
    are those of the options.

    Args:
        name: The command's name.
        run: It gets the home and what the options give; its docstring is the help.
        *options: Decorators of Click.
        about: The short help.
    """

    def body(agent: str | None = None, **values: Any) -> None:
        if OWN_AGENT in options:
            values["agent"] = own_agent(agent)
        emit(*run(open_lab().facts.home, **values))

    body.__doc__ = getattr(run, "func", run).__doc__
    for option in reversed(options):
        body = option(body)
    if OWN_AGENT in options:
        body = keeps_secrets(body)
    return command(name, about)(reads_project(body))


def _writing(
    write: Callable[..., Event], details: str, *keys: str
) -> Callable[..., Output]:
    """Return a command's function that appends an event.

    It is a Click callback: its values are those that the options of `write` give.

    Args:
        write: What appends the event.
        details: The beginning of the help.
        *keys: The members of the event's body that the result has.
    """

    def run(home: Home, **values: Any) -> Output:
        event = write(home, **values)
        result = {key: event.body[key] for key in keys}
        words = []
        for key, value in result.items():
            if value:
                words.append(key if value is True else str(value))
        return {**result, "event_id": event.id}, one_row("  ".join(words))

    run.__doc__ = f"{details}\n\nJSON: {{{', '.join(keys)}, event_id}}"
    return run


def _rendering(
    documents: Callable[[Home], Iterable[Document]],
) -> Callable[..., Output]:
    """Return a command's function that writes files."""

    def run(home: Home, folder: Path) -> Output:
        """A file that is there is replaced.

        JSON: {files}
        """
        files = write_documents(folder, documents(home)).files
        lines = [f"{count:8d}  {name}" for name, count in files.items()]
        return {"files": files}, "\n".join(lines) or "nothing yet"

    return run


def _observe(
    home: Home, *, text: str, category: str, source: str, agent: str
) -> Output:
    """One that repeats an open note is not kept.

    JSON: {id, repeats}
    """
    result = notes.observe(home, text, category, source=source, agent=agent)
    return _noted(result)


def _noted(result: notes.NoteResult) -> Output:
    """Return what became of a note."""
    return result._asdict(), result.id or f"not kept: it repeats {result.repeats}"


def _tension(
    home: Home,
    *,
    fact1: str | None,
    fact2: str | None,
    text: str,
    source: str,
    agent: str,
) -> Output:
    """Without facts, those that are pending.

    JSON: {id, repeats}; without facts {notes, alerts}
    """
    if fact1 is None or fact2 is None:
        return _listed(home, notes.notes_of(home, "pending", tensions=True))
    result = notes.note_tension(home, fact1, fact2, text, source=source, agent=agent)
    return _noted(result)


def _notes(home: Home, status: str | None) -> Output:
    """Tensions too, and an alert where too many are pending.

    JSON: {notes: [{id, category, status, …}], alerts}; a note has observation or
    tension too
    """
    return _listed(home, notes.notes_of(home, status))


def _listed(home: Home, listed: list[Note]) -> Output:
    """Return notes, and alerts where too many are pending."""
    alerts = notes.alerts(home)
    lines = [
        f"{note.id}  {note.status}  {note.category}: {one_row(note.text)}"
        for note in listed
    ]
    if not lines:
        lines = ["no notes"]
    result = {"notes": [note.to_dict() for note in listed], "alerts": alerts}
    return result, "\n".join([*lines, *alerts])


def _review(
    home: Home,
    *,
    note_id: str,
    verdict: str,
    entity: str,
    abstraction: str,
    agent: str,
) -> Output:
    """promote: it becomes a fact of --entity. resolve, archive: it is done with.

    Of a tension: accept, the newest fact stands in the place of the others; reject, all
    stay. undo takes the last verdict back.

    JSON: {id, status, fact, …}
    """
    note = notes.review(
        home,
        note_id,
        verdict,
        entity=entity,
        abstraction=abstraction,
        agent=agent,
    )
    fact = f": {note.fact}" if note.fact else ""
    return note.to_dict(), f"{note.id} {note.status}{fact}"


def _validate(home: Home) -> Output:
    """That the chains of the facts are complete and without a circle.

    Exit code 1 where something is wrong.

    JSON: {facts, problems}
    """
    check = check_home(home)
    if check.problems:
        fail("\n".join(check.problems), **check._asdict())
    return check._asdict(), f"{check.facts} facts are well"


_PATHS = "people/NAME, projects/NAME or archives/NAME."
_ANY_ENTITY = click.option(
    "--entity", "--kg-entity", "entity", default="", metavar="PATH", help=_PATHS
)
fact_observe = _made(
    "observe",
    _observe,
    OWN_AGENT,
    _FROM,
    _TEXT,
    click.option(
        "--category",
        type=click.Choice(NOTE_CATEGORIES),
        default="friction",
        help="What kind of note it is.",
    ),
)
fact_tension = _made(
    "tension",
    _tension,
    OWN_AGENT,
    _FROM,
    click.option("--fact1", metavar="ID", help="A fact."),
    click.option("--fact2", metavar="ID", help="A fact that may not hold beside it."),
    click.option(
        "--text", "--tension", "text", default="", help="What does not fit together."
    ),
)
fact_notes = _made(
    "notes",
    _notes,
    click.option("--status", type=click.Choice(STATUSES), help="Only these."),
)
fact_review = _made(
    "review",
    _review,
    OWN_AGENT,
    click.argument("note_id", metavar="NOTE"),
    click.argument("verdict", metavar="VERDICT", type=click.Choice([*notes.VERDICTS])),
    _ANY_ENTITY,
    click.option(
        "--abstraction",
        type=click.Choice(["pattern", "principle"]),
        default="pattern",
        help="Of the fact.",
    ),
)
fact_validate = _made("validate", _validate)
fact_self = group(
    "self",
    "",
    _made(
        "add",
        _writing(
            notes.add_line,
            "A line of --text, or of --fact, which this promotes. Content flows from"
            " notes to facts to these files, never back.",
            "file",
            "text",
            "undo",
        ),
        OWN_AGENT,
        _FROM,
        click.option(
            "--file",
            type=click.Choice(notes.FILES),
            default="MEMORY",
            help="Which file.",
        ),
        click.option("--text", default="", help="The line."),
        click.option("--fact", default="", metavar="ID", help="A fact to promote."),
        click.option("--undo", is_flag=True, help="Take the line out."),
        about="Add a line to MEMORY.md or SOUL.md.",
    ),
    _made(
        "render",
        _rendering(self_documents),
        _FOLDER,
        about="Write MEMORY.md and SOUL.md.",
    ),
)


waiting = threading.Event()  # nobody sets it: a signal ends the wait


@command("heartbeat")
@click.option("--once", is_flag=True, help="One heartbeat, as for cron; the default.")
@click.option(
    "--every",
    is_flag=False,
    flag_value="",
    metavar="30m",
    help="Go on; default heartbeatMinutes.",
)
@click.option(
    "--limit-beats",
    type=click.IntRange(1),
    metavar="N",
    help="With --every: stop after so many.",
)
def fact_heartbeat(once: bool, every: str | None, limit_beats: int | None) -> None:
    """Reads new captures for facts, of all projects, validates, and reports.

    On Mondays it sums up entities. Where maintenance or a heartbeat is under way, nothing
    is done. Exit code 1 where a phase of the last one failed.

    JSON: {ran, ok, phases: [{name, status, summary, stats, alerts, seconds}],
    heartbeat}, held_by and until where it did not run
    """
    from theorex_lab.designs.facts.settings import fact_settings

    if (every is None and limit_beats) or (once and every is not None):
        raise click.UsageError(
            "Give --once alone, or --every, which --limit-beats may end."
        )
    facts = open_lab().facts
    seconds = 60 * (
        _minutes(every) if every else fact_settings(facts.home).heartbeat_minutes
    )
    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, _stop)
    last = 1 if every is None else limit_beats
    for number in count(1):
        ok = _emit_report(facts.beat())
        if number == last:
            sys.exit(not ok)
        waiting.wait(seconds)


def _emit_report(report: "HeartbeatReport") -> bool:
    """Print a heartbeat; return whether no phase failed."""
    mark = {"ok": "ok", "idle": "-", "error": "FAILED"}
    lines = [
        f"{mark[phase.status]:<6} {phase.name:<10} {one_row(phase.summary)}"
        for phase in report.phases
    ]
    lines += [f"ALERT  {one_row(alert)}" for alert in report.alerts]
    if report.holder:
        lines.append(
            f"{report.holder.what} is under way, {report.holder}; nothing was done"
        )
    emit(report.to_dict(), "\n".join([*lines, report.word]))
    sys.stdout.flush()
    return report.ok


def _stop(*_: object) -> NoReturn:
    """End in order: what is under way gives the lease back."""
    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, signal.SIG_IGN)
    sys.exit(0)


def _minutes(every: str) -> int:
    """Return the minutes of a time such as 30m or 2h."""
    match = re.fullmatch(r"(\d{1,4})([mh]?)", every)
    minutes = 0
    if match:
        minutes = int(match[1]) * (60 if match[2] == "h" else 1)
    if not 1 <= minutes <= 1_440:
        raise click.BadParameter(
            f"got {every!r}; allowed are 1m to 1440m, or 1h to 24h",
            param_hint="--every",
        )
    return minutes


_ENTITY = click.option("--entity", required=True, metavar="PATH", help=_PATHS)


@command("signal")
@click.option("--text", required=True, help="The message.")
def fact_signal(text: str) -> None:
    """high: a preference, decision, correction, milestone, instruction or identity.

    low: work in progress. none: the rest.

    JSON: {signal, categories, confidence, keywords}
    """
    from theorex_lab.designs.facts.signals import signal_of

    message = signal_of(text)
    categories = ", ".join(message.categories)
    emit(
        message._asdict(),
        f"{message.signal} {categories} ({message.confidence:.2f})",
    )


@command("write")
@reads_project
@keeps_secrets
@OWN_AGENT
@_ENTITY
@click.option(
    "--fact", "--text", "text", required=True, help="The fact, up to 500 characters."
)
@click.option(
    "--category",
    type=click.Choice(CATEGORIES),
    default="context",
    help="What kind of fact it is.",
)
@click.option("--confidence", type=float, default=0.8, help="How sure it is, 0 to 1.")
@click.option(
    "--abstraction",
    type=click.Choice(ABSTRACTIONS),
    default="episode",
    help="How general it is.",
)
@click.option(
    "--trust", type=click.Choice([*TRUST]), default="agent", help="Who it is from."
)
@click.option("--source", "origin", default="", help="Where it is from, in words.")
@click.option(
    "--tag",
    "tags",
    multiple=True,
    metavar="TAG",
    help="A tag; may be given several times.",
)
@click.option(
    "--supersedes", multiple=True, metavar="ID", help="A fact in whose place it stands."
)
@click.option("--valid-from", metavar="ISO", help="Since when it is true.")
@click.option("--valid-to", metavar="ISO", help="Until when it is true.")
@click.option(
    "--semantic-check/--no-semantic-check",
    default=True,
    help="Leave out what is nearly the same.",
)
def fact_write(
    *,
    agent: str | None,
    entity: str,
    text: str,
    category: str,
    confidence: float,
    abstraction: str,
    trust: str,
    origin: str,
    tags: Sequence[str],
    supersedes: Sequence[str],
    valid_from: str | None,
    valid_to: str | None,
    semantic_check: bool,
) -> None:
    """An exact duplicate within the entity is not written again.

    What it replaces is superseded, never deleted; a nearly equal fact is left out; what
    contradicts becomes a tension.

    JSON: {id, action, of, tension, likeness, event_id}
    """
    result = open_lab().facts.write(
        entity,
        text,
        semantic=semantic_check,
        agent=own_agent(agent),
        source=trust,
        category=category,
        confidence=confidence,
        abstraction=abstraction,
        origin=origin,
        tags=tags,
        supersedes=supersedes,
        valid_from=valid_from,
        valid_to=valid_to,
    )
    others = ""
    if result.of and result.of != (result.id,):
        others = f" ({', '.join(result.of)})"
    emit(result._asdict(), f"{result.id}: {result.action}{others}")


@command("list")
@reads_project
@click.option("--entity", metavar="PATH", help="Only of this entity.")
@click.option("--as-of", metavar="ISO", help="What was believed at that time.")
@click.option("--all", "everything", is_flag=True, help="With what was superseded.")
def fact_list(entity: str | None, as_of: str | None, everything: bool) -> None:
    """With --as-of it lists what was believed at that time.

    That is the fold of what was written until then, without what was no longer true by
    then.

    JSON: {facts: [{id, entity, fact, category, confidence, status, …}]}
    """
    facts = open_lab().facts
    listed = facts.list(entity, as_of=as_of, active=None if everything else True)
    documents = [{**fact.to_dict(), "tier": facts.tier(fact)} for fact in listed]
    emit({"facts": documents}, "\n".join(map(_row, listed)) or "no facts")


def _row(fact: Fact) -> str:
    """Return a fact as a line of a listing."""
    ended = ""
    if not fact.active:
        by = f" by {fact.superseded_by}" if fact.superseded_by else ""
        ended = f" [superseded{by}]"
    return (
        f"{fact.id:<16} {one_row(fact.text)} ({fact.entity}, {fact.category},"
        f" {fact.confidence:.2f}){ended}"
    )


@command("show")
@click.argument("fact_id", metavar="ID")
def fact_show(fact_id: str) -> None:
    """Oldest first.

    JSON: {fact, chain: [{id, fact, status, supersededBy, …}]}
    """
    facts = open_lab().facts
    fact = facts.show(fact_id)
    chain = facts.chain(fact_id)
    document = {**fact.to_dict(), "tier": facts.tier(fact)}
    emit(
        {"fact": document, "chain": [link.to_dict() for link in chain]},
        "\n".join(map(_row, chain)),
    )


@command("supersede")
@click.argument("old", metavar="OLD")
@click.argument("by", metavar="[NEW]", required=False, default="")
@click.option("--why", default="", help="Why.")
@click.option("--undo", is_flag=True, help="Let OLD hold again.")
def fact_supersede(old: str, by: str, why: str, undo: bool) -> None:
    """Without NEW the fact ends. Nothing is deleted.

    JSON: {id, status, supersededBy}
    """
    facts = open_lab().facts
    if undo:
        facts.undo_supersede(old)
    else:
        facts.supersede(old, by, why=why)
    fact = facts.show(old)
    emit(
        {
            "id": old,
            "status": fact.to_dict()["status"],
            "supersededBy": fact.superseded_by or None,
        },
        _row(fact),
    )


@command("access")
@click.option(
    "--id",
    "fact_ids",
    multiple=True,
    required=True,
    metavar="ID",
    help="A fact; may be repeated.",
)
def fact_access(fact_ids: tuple[str, ...]) -> None:
    """A fact that is used often stays warm.

    JSON: {accessed}
    """
    count = open_lab().facts.access(*fact_ids)
    emit({"accessed": count}, f"{count} facts")


@command("archive")
@click.argument("entity", metavar="ENTITY")
def fact_archive(entity: str) -> None:
    """Its facts stay, under its new path.

    JSON: {entity, to}
    """
    to = open_lab().facts.archive(entity)
    emit({"entity": entity, "to": to}, to)


@command("contradict")
@reads_project
@click.option("--entity", metavar="PATH", help="Only of this entity.")
@click.option(
    "--cross-entity", is_flag=True, help="Across entities too, people included."
)
@click.option(
    "--limit", type=click.IntRange(1, 1_000), default=20, help="How many at most."
)
def fact_contradict(entity: str | None, cross_entity: bool, limit: int) -> None:
    """Active facts that share words, what speaks most for a contradiction first.

    JSON: {candidates: [{facts, texts, shared, jaccard, contradiction}]}
    """
    pairs = open_lab().facts.contradict(entity, cross_entity=cross_entity, limit=limit)
    lines = []
    for pair in pairs:
        texts = " | ".join(map(one_row, pair["texts"]))
        lines.append(f"{pair['contradiction']:.2f}  {texts}")
    emit({"candidates": pairs}, "\n".join(lines) or "nothing contradicts")


@command("render")
@click.option("--output", required=True, metavar="DIR", help="Below which folder.")
def fact_render(output: str) -> None:
    """Each is life/ENTITY/summary.md.

    JSON: {files}
    """
    files = [str(file) for file in open_lab().facts.render(output)]
    emit({"files": files}, "\n".join(files) or "no entity has facts")


@command("summary")
@reads_project
@click.argument("entity", metavar="ENTITY")
def fact_summary(entity: str) -> None:
    """What is hot, warm, and of what is cold the principles.

    JSON: {entity, text, tokens}
    """
    from theorex_lab.text.line import count_tokens

    text = open_lab().facts.summary(entity)
    emit({"entity": entity, "text": text, "tokens": count_tokens(text)}, text)


@command("add-session")
@click.option("--platform", required=True, help="Such as telegram.")
@click.option("--id", "id", required=True, help="The chat's id there.")
@click.option(
    "--group",
    "is_group",
    is_flag=True,
    help="More than two take part: its facts stay in it.",
)
def fact_session_add(platform: str, id: str, is_group: bool) -> None:
    """What is written with `--project PLATFORM-ID` stays in that project.

    Facts reach other projects too, unless the chat is a group's.

    JSON: {platform, id, channel, group, project, added}
    """
    result = open_lab().facts.add_channel(platform, id, group=is_group)
    channel = result["channel"]
    emit(result, f"{channel}: write and read in it with --project {channel}")
