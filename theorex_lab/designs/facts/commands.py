"""The commands `theorex facts …`.

They are of facts, their heartbeat, notes of the work, MEMORY.md and SOUL.md, and of
folders.
"""

import re
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from theorex_lab.core.clock import to_iso
from theorex_lab.designs.facts import (
    ABSTRACTIONS,
    CATEGORIES,
    NOTE_CATEGORIES,
    STATUSES,
    note_view,
    notes,
)
from theorex_lab.designs.facts.facts import Fact
from theorex_lab.designs.facts.files import Document, self_documents, write_documents
from theorex_lab.designs.facts.kept_files import with_last_line_ended
from theorex_lab.designs.facts.note_view import Note
from theorex_lab.files.command_line import (
    Command,
    command,
    emit,
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
# Signals that ask a heartbeat to end.
_ENDING = (signal.SIGTERM, signal.SIGINT)
# The result of a command, and the text for people.
Output = tuple[dict[str, Any], str]
_PATH = click.Path(file_okay=False, path_type=Path)
_FOLDER = click.argument("folder", metavar="DIR", type=_PATH)
_TEXT = click.option(
    "--text", "--observation", "text", required=True, help="The text of the note."
)
_FROM = click.option(
    "--trust",
    "source",
    type=click.Choice([*TRUST]),
    default="agent",
    help="Who said it, which decides how far it is trusted.",
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
        """DIR gets the files; a file that exists is replaced.

        JSON: {files}
        """
        ended = with_last_line_ended(documents(home))
        files = write_documents(folder, ended).files
        lines = [f"{count:8d}  {name}" for name, count in files.items()]
        return {"files": files}, "\n".join(lines) or "nothing yet"

    return run


def _observe(
    home: Home, *, text: str, category: str, source: str, agent: str
) -> Output:
    """A note is a remark on how the work goes.

    `review` decides later what becomes of it, and `notes` lists all notes. A note that
    repeats an open one is not kept.

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
    """A tension is a pair of facts that perhaps do not both hold.

    Without options the tensions that wait for a review are listed. `review` accepts or
    rejects a tension.

    JSON: {id, repeats}; without facts {notes, alerts}
    """
    if fact1 is None and fact2 is None and not text:
        return _listed(home, note_view.notes_of(home, "pending", tensions=True))
    if fact1 is None or fact2 is None:
        raise click.UsageError(
            "A tension is between two facts: give their ids with --fact1 and --fact2."
        )
    result = notes.note_tension(home, fact1, fact2, text, source=source, agent=agent)
    return _noted(result)


def _notes(home: Home, status: str | None) -> Output:
    """An alert is added where too many notes or tensions wait for a review.

    JSON: {notes: [{id, category, status, …}], alerts}; a note has observation or
    tension too
    """
    return _listed(home, note_view.notes_of(home, status))


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
    """NOTE is an id that `notes` shows; VERDICT is one of the following.

    \b
    promote  The note becomes a fact of --entity.
    resolve  The note is dealt with.
    archive  The note is put away.
    accept   Of a tension: the newest fact replaces the others.
    reject   Of a tension: all of its facts stay.
    undo     The last verdict is taken back.

    JSON: {id, status, fact, …}
    """  # noqa: D301 - click takes \b for a paragraph that it leaves as it is
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


_PATHS = "The entity: people/NAME, projects/NAME or archives/NAME."
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
        help="The kind of note.",
    ),
)
fact_tension = _made(
    "tension",
    _tension,
    OWN_AGENT,
    _FROM,
    click.option("--fact1", metavar="ID", help="The id of a fact."),
    click.option(
        "--fact2",
        metavar="ID",
        help="The id of a fact that may not hold together with it.",
    ),
    click.option(
        "--text",
        "--tension",
        "text",
        default="",
        help="What does not fit together, in words.",
    ),
)
fact_notes = _made(
    "notes",
    _notes,
    click.option("--status", type=click.Choice(STATUSES), help="Only this status."),
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
        help="With promote: how general the fact is.",
    ),
)
fact_self = group(
    "self",
    "",
    _made(
        "add",
        _writing(
            notes.add_line,
            "The line is --text, or the text of the fact --fact, which is promoted.\n\n"
            "MEMORY.md holds what the agent always knows, SOUL.md who it is. What they"
            " hold comes from notes and facts, and never the other way round.",
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
            help="The file that gets the line.",
        ),
        click.option("--text", default="", help="The text of the line."),
        click.option(
            "--fact", default="", metavar="ID", help="The id of a fact to promote."
        ),
        click.option("--undo", is_flag=True, help="Take the line out again."),
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
@click.option(
    "--once",
    is_flag=True,
    help="Run one heartbeat, as a cron job does; this is the default.",
)
@click.option(
    "--every",
    is_flag=False,
    flag_value="",
    metavar="30m",
    help=(
        "Run a heartbeat again after this time, such as 30m or 2h; default:"
        " heartbeatMinutes."
    ),
)
@click.option(
    "--limit-beats",
    type=click.IntRange(1),
    metavar="N",
    help="With --every: stop after this many heartbeats.",
)
def fact_heartbeat(once: bool, every: str | None, limit_beats: int | None) -> None:
    """It reads new captures of all projects for facts, checks the chains, and reports.

    On Mondays it also writes the page of each entity, which `summary --week` shows. It
    alerts to domains that nobody wrote to for too long, and to their proposals. With
    --every it goes on until it is stopped. Where maintenance or another heartbeat is
    under way, nothing is done. The exit code is 1 where a phase of the last heartbeat
    failed.

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
    last = 1 if every is None else limit_beats
    with _stopped_by_signals():
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


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Let a signal that asks to end do so in order: what is under way gives the lease back."""

    def stop(*_: object) -> NoReturn:
        for sign in _ENDING:
            signal.signal(sign, signal.SIG_IGN)
        sys.exit(0)

    handlers = {sign: signal.signal(sign, stop) for sign in _ENDING}
    try:
        yield
    finally:
        for sign, handler in handlers.items():
            signal.signal(sign, handler)


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
@click.option("--text", required=True, help="The text of the message.")
def fact_signal(text: str) -> None:
    """The answer is high, low or none, with categories and a confidence.

    high: the message has a preference, decision, correction, milestone, instruction or
    identity (who someone is). low: it tells of work in progress. none: anything else.

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
    "--fact",
    "--text",
    "text",
    required=True,
    help="The statement, in up to 500 characters.",
)
@click.option(
    "--category",
    type=click.Choice(CATEGORIES),
    default="context",
    help="The kind of fact.",
)
@click.option(
    "--confidence", type=float, default=0.8, help="How sure it is, from 0 to 1."
)
@click.option(
    "--abstraction",
    type=click.Choice(ABSTRACTIONS),
    default="episode",
    help="How general it is: an episode happened once, a pattern often, a principle holds always.",
)
@click.option(
    "--trust",
    type=click.Choice([*TRUST]),
    default="agent",
    help="Who said it, which decides how far it is trusted.",
)
@click.option("--source", "origin", default="", help="Where it is from, in your words.")
@click.option(
    "--tag",
    "tags",
    multiple=True,
    metavar="TAG",
    help="A tag; may be repeated.",
)
@click.option(
    "--supersedes",
    multiple=True,
    metavar="ID",
    help="The id of a fact that this one replaces; may be repeated.",
)
@click.option("--valid-from", metavar="ISO", help="The time from which it is true.")
@click.option("--valid-to", metavar="ISO", help="The time until which it is true.")
@click.option(
    "--semantic-check/--no-semantic-check",
    default=True,
    help="Do not write a fact that says nearly the same as another.",
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
    """A fact is one statement about an entity: a person or a project.

    The same statement about the entity is not written again, nor is one that says
    nearly the same. A statement that replaces another supersedes it; the older one is
    kept in its chain. One that seems to contradict another is written, and a tension
    records the two.

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
@click.option("--entity", metavar="PATH", help="Only facts of this entity.")
@click.option("--as-of", metavar="ISO", help="Show what was believed at this time.")
@click.option(
    "--all", "everything", is_flag=True, help="Also list facts that were superseded."
)
def fact_list(entity: str | None, as_of: str | None, everything: bool) -> None:
    """Each line has the id, the fact, its entity, its category and its confidence.

    With --as-of it lists what was believed at that time: the facts written until then,
    without those that had ended by then.

    JSON: {facts: [{id, entity, fact, attribute, value, category, confidence, status,
    …}]}
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
@reads_project
@click.argument("fact_id", metavar="ID")
def fact_show(fact_id: str) -> None:
    """It prints the parts of the fact, then its chain from the oldest to the newest.

    The parts are its subject, what it says of it (the attribute), the value, and the
    date from which it was known.

    JSON: {fact, chain: [{id, fact, status, supersededBy, …}]}
    """
    facts = open_lab().facts
    fact = facts.show(fact_id)
    chain = facts.chain(fact_id)
    document = {**fact.to_dict(), "tier": facts.tier(fact)}
    emit(
        {"fact": document, "chain": [link.to_dict() for link in chain]},
        "\n".join([*_parts(fact), *map(_row, chain)]),
    )


def _parts(fact: Fact) -> list[str]:
    """Return lines with what a fact is about, what it says of it, and since when."""
    parts = {
        "subject": fact.entity,
        "attribute": fact.attribute,
        "value": one_row(fact.value),
        "since": to_iso(fact.at)[:10],
    }
    return [f"{name:<16} {value}" for name, value in parts.items() if value]


@command("supersede")
@reads_project
@click.argument("old", metavar="OLD")
@click.argument("by", metavar="[NEW]", required=False, default="")
@click.option("--why", default="", help="The reason, in your words.")
@click.option("--undo", is_flag=True, help="Let OLD hold again.")
def fact_supersede(old: str, by: str, why: str, undo: bool) -> None:
    """OLD and NEW are ids of facts; without NEW the fact OLD ends.

    Nothing is deleted; --undo takes it back.

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
@reads_project
@click.option(
    "--id",
    "fact_ids",
    multiple=True,
    required=True,
    metavar="ID",
    help="The id of a fact that was used; may be repeated.",
)
def fact_access(fact_ids: tuple[str, ...]) -> None:
    """A fact that is used often stays warm, so that summaries keep showing it.

    JSON: {accessed}
    """
    count = open_lab().facts.access(*fact_ids)
    emit({"accessed": count}, f"{count} facts")


@command("archive")
@click.argument("entity", metavar="ENTITY")
def fact_archive(entity: str) -> None:
    """Its facts are kept, under the new path that is printed.

    JSON: {entity, to}
    """
    to = open_lab().facts.archive(entity)
    emit({"entity": entity, "to": to}, to)


@command("contradict")
@reads_project
@click.option("--entity", metavar="PATH", help="Only facts of this entity.")
@click.option(
    "--cross-entity",
    is_flag=True,
    help="Also compare facts of different entities, people included.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 1_000),
    default=20,
    help="Show at most this many pairs.",
)
def fact_contradict(entity: str | None, cross_entity: bool, limit: int) -> None:
    """It compares active facts that share words.

    The likeliest contradiction stands first. Next: `tension` records a pair, and
    `supersede` replaces a fact of it.

    JSON: {candidates: [{facts, texts, shared, jaccard, contradiction}]}
    """
    pairs = open_lab().facts.contradict(entity, cross_entity=cross_entity, limit=limit)
    lines = []
    for pair in pairs:
        texts = " | ".join(map(one_row, pair["texts"]))
        lines.append(f"{pair['contradiction']:.2f}  {texts}")
    emit(
        {"candidates": pairs},
        "\n".join(lines) or "no two facts seem to contradict each other",
    )


@command("render")
@click.option(
    "--output",
    required=True,
    metavar="DIR",
    help="The folder below which the pages are written.",
)
def fact_render(output: str) -> None:
    """The page of an entity is the file life/ENTITY/summary.md below --output.

    JSON: {files}
    """
    files = [str(file) for file in open_lab().facts.render(output)]
    emit({"files": files}, "\n".join(files) or "no entity has facts")


@command("summary")
@reads_project
@click.argument("entity", metavar="ENTITY")
@click.option(
    "--week",
    is_flag=False,
    flag_value="last",
    metavar="[DAY]",
    help="The page as the heartbeat wrote it in the week of this day, or last.",
)
def fact_summary(entity: str, week: str | None) -> None:
    """The page has the hot and the warm facts, and the cold ones that are principles.

    Hot facts were used very recently, warm ones recently or often; the rest is cold. A
    heartbeat writes the page of each entity once a week; --week shows it.

    JSON: {entity, week, text, tokens}
    """
    from theorex_lab.designs.facts.weekly import weekly_page
    from theorex_lab.text.line import count_tokens

    facts = open_lab().facts
    monday = ""
    if week is None:
        text = facts.summary(entity)
    else:
        page = weekly_page(facts.home, entity, "" if week == "last" else week)
        monday = page.week
        text = page.text
    result = {
        "entity": entity,
        "week": monday,
        "text": text,
        "tokens": count_tokens(text),
    }
    emit(result, text)


@command("add-session")
@click.option(
    "--platform", required=True, help="The platform of the chat, such as telegram."
)
@click.option("--id", "id", required=True, help="The id of the chat on the platform.")
@click.option(
    "--group",
    "is_group",
    is_flag=True,
    help="More than two people take part, so its facts stay in the channel.",
)
def fact_session_add(platform: str, id: str, is_group: bool) -> None:
    """A channel is a project for one chat; the output says its name.

    What is written with `--project PLATFORM-ID` belongs to that project. Its facts also
    reach other projects, unless the chat is a group's.

    JSON: {platform, id, channel, group, project, added}
    """
    result = open_lab().facts.add_channel(platform, id, group=is_group)
    channel = result["channel"]
    emit(result, f"{channel}: write and read in it with --project {channel}")
