"""Commands of the memory itself, and those that steer what comes back of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from theorex_lab.app.cli.context import open_lab, project_folder
from theorex_lab.core.clock import to_datetime, to_iso
from theorex_lab.core.collector import collector_paused
from theorex_lab.files.command_line import (
    command,
    emit,
    keeps_secrets,
    one_row,
    reads_project,
    tends_project,
)
from theorex_lab.files.command_line.options import (
    ANY_AGENT,
    LIMIT,
    SESSION,
    TOKENS,
    agent_option,
    nearest,
    note,
    own_agent,
)
from theorex_lab.memory.observation import TYPES
from theorex_lab.text.line import one_line

if TYPE_CHECKING:
    from theorex_lab.memory.briefing.briefing import Briefing
    from theorex_lab.memory.embedded import EmbeddedTexts
    from theorex_lab.memory.retrieve import Hit, Hits, VectorUse
    from theorex_lab.store.lab import Lab

_ABOUT_CHARACTERS = 100
_MOST_EVENTS_SHOWN = 3


@command("write")
@agent_option("The agent that remembers it; default: $THEOREX_AGENT, else main.")
@click.option(
    "--type",
    "observation_type",
    default="discovery",
    help="What kind of text it is, such as decision, discovery or trace_fix.",
)
@click.option(
    "--source",
    default="agent",
    help="Who said it: user, agent, model, tool or import.",
)
@SESSION
@click.option(
    "--tag", "tags", multiple=True, help="A tag of the text; may be repeated."
)
@click.argument("text", nargs=-1, required=True)
@keeps_secrets
def write(
    agent: str | None,
    observation_type: str,
    source: str,
    session: str,
    tags: tuple[str, ...],
    text: tuple[str, ...],
) -> None:
    """The text can be searched at once, and may come back in a briefing.

    Several words are one text. A text that begins with a dash goes after `--`. The
    output names the event, which `theorex erase` removes, and the concepts that were
    found in the text.

    JSON: {event_id, concepts}
    """
    lab = open_lab()
    types = [observation_type]
    if observation_type not in TYPES:
        types = [*TYPES, *lab.theorex.observation_types()]
    entry = lab.agent(own_agent(agent)).write(
        " ".join(text),
        observation_type=observation_type,
        source=source,
        tags=tags,
        session=session,
    )
    if observation_type not in types:
        note(
            f"the type {observation_type!r} is new here; the nearest that is known is"
            f" {nearest(observation_type, types)!r}"
        )
    concepts = ", ".join(entry.concepts) or "none"
    emit(
        {"event_id": entry.event_id, "concepts": entry.concepts},
        f"{entry.event_id}\nconcepts: {concepts}",
    )


@command("search")
@reads_project
@agent_option("The agent whose memory is searched; default: $THEOREX_AGENT, else main.")
@click.option(
    "--all-agents",
    is_flag=True,
    help="Search what all agents remember, not only one agent's items and the shared ones.",
)
@LIMIT
@click.option("--cold", is_flag=True, help="Find archived items too.")
@click.option("--tag", help="Only find items with this tag.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    help="Only find items of this kind, such as concept; may be repeated.",
)
@click.option(
    "--spread", is_flag=True, help="Also find items that are linked with the best hits."
)
@click.option(
    "--vectors",
    type=click.Choice(["auto", "always", "never"]),
    help="Whether vectors are used; default: the setting searchVectors.",
)
@click.option(
    "--history",
    is_flag=True,
    help="Also show older statements that a newer one replaces.",
)
@click.option("--why", is_flag=True, help="Show what each signal adds to a score.")
@click.argument("query", nargs=-1, required=True)
def search(
    agent: str | None,
    all_agents: bool,
    limit: int,
    cold: bool,
    tag: str | None,
    kinds: tuple[str, ...],
    spread: bool,
    vectors: VectorUse | None,
    history: bool,
    why: bool,
    query: tuple[str, ...],
) -> None:
    """It searches the agent's own items and the shared ones, in this folder's project.

    Several words are one query. A hit is a text; with --kind concept it is a concept.
    Each line has the score, the day, the agent, the kind and the id. `theorex pin`,
    `dismiss`, `correct` and `trust` take that id.

    JSON: {hits: [{id, kind, text, agent, score, subject, timestamp,
    replaced_at, signals}], notes};
    with --why {hits: [{id, kind, text, agent, score, subject, timestamp,
    replaced_at, signals, why}], notes}
    """
    if all_agents and agent is not None:
        raise click.UsageError("Give one of --agent and --all-agents.")
    name = own_agent(agent)
    text = " ".join(query)
    # Most of what a search from the command line does is to import: nothing of it is
    # garbage.
    with collector_paused():
        lab = open_lab()
        hits = lab.search(
            text,
            agents=None if all_agents else [name],
            limit=limit,
            cold=cold,
            tag=tag,
            spread=spread,
            kinds=kinds or None,
            vectors=vectors or lab.settings.search_vectors,
            history=history,
        )
    notes = list(hits.notes)
    if not all_agents:
        notes += _absent_writer(lab, name, hits)
    is_an_agents = agent is not None or bool(os.environ.get("THEOREX_AGENT"))
    if is_an_agents:
        notes += _note_given(lab, name, text, hits)
    rows, lines = _rows_of(hits, text, why=why)
    lines += [f"({note})" for note in notes]
    emit({"hits": rows, "notes": notes}, "\n".join(lines))


def _note_given(lab: Lab, agent: str, query: str, hits: Hits) -> list[str]:
    """Note in the journal what an agent is given; return what stood in the way."""
    from theorex_lab.memory.retrieval_log import given, note_recalled

    problem = note_recalled(lab.home, "search", query=query, agent=agent, **given(hits))
    return [problem] if problem else []


def _rows_of(
    hits: Hits, query: str, *, why: bool
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the hits as rows of the result, and as lines for people."""
    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    columns = (hits, hits.to_dict(), hits.signals, hits.why)
    for hit, row, signals, shares in zip(*columns, strict=True):
        row["signals"] = list(signals)
        found_by = ", ".join(signals)
        if why:
            row["why"] = dict(shares)
            found_by = ", ".join(
                f"{name} {share:+.2f}" for name, share in shares.items()
            )
        rows.append(row)
        lines.append(_line(hit, query, found_by))
    return rows, lines or ["nothing found"]


def _absent_writer(lab: Lab, name: str, hits: Hits) -> list[str]:
    """Return a note where the agent has written nothing yet, else nothing."""
    if any(hit.agent == name for hit in hits):
        return []
    # To ask the designs imports all of them, which takes longer than the search.
    if lab.views.get(lab.home.item_view).allowed(agents=[name]).any():
        return []
    writers = lab.agents()
    if name in writers:
        return []
    if writers:
        near = f"the nearest who has is {nearest(name, writers)!r}"
    else:
        near = "no other agent has either"
    return [f"the agent {name!r} has written nothing yet; {near}"]


def _line(hit: Hit, query: str, found_by: str = "") -> str:
    """Return a hit for a reader.

    The line has score, day, whose it is and of what kind, its id, what of the text
    matched, what it is about, and what found it. Of texts that were kept with their secrets it
    shows none.
    """
    from theorex_lab.search.lexical import matching_part
    from theorex_lab.text.redact.masking import mask

    part = matching_part(mask(hit.text), query)
    about = one_line(mask(hit.subject), _ABOUT_CHARACTERS)
    line = (
        f"{hit.score:.2f}  {to_datetime(hit.timestamp):%Y-%m-%d}  {hit.agent} {hit.kind} "
        f" {hit.id}  {part}"
    )
    line += f"  [{about}]" if about else ""
    if hit.replaced_at is not None:
        line += f"  (until {to_datetime(hit.replaced_at):%Y-%m-%d})"
    return f"{line}  ({found_by})" if found_by else line


# How many events that no search has read yet a status reads, to count texts with vectors.
_READ_FOR_STATUS = 2_000


@command("status")
@tends_project
@ANY_AGENT
def status(agent: str | None) -> None:
    """It counts what there is, what waits, and the concepts in each tier.

    After → stands the command that does what something waits for. A concept is a name
    that texts share; a text was written into the memory. A tier says how present a
    concept is: ACTIVE is the highest. The output also names the law of decay and the
    model that computes vectors.

    An event that cannot be used is set aside and listed with the command that erases
    it. A home that shares a journal also shows how many events wait to be forwarded and
    which the shared journal refused, in JSON as spool with waiting, refused and
    problem; that is all while the server is away.

    JSON: {home, project, events, active, facts, dreams, causal, research, concepts,
    observations, agents: [{agent, concepts, tiers, top}], decay_law, holds: [{what, n}],
    waits: [{what, n, do}], bad_events: [{seq, id, kind, why, do}], embedder, vectors}
    """
    from theorex_lab.journal.view import BadEvent

    lab = open_lab()
    spool = lab.spool_status()
    if _is_told_while_away(lab, spool):
        return
    result = lab.status(agent=agent)
    if lab.views.n_behind(lab.home.item_view) <= _READ_FOR_STATUS:
        vectors = lab.searcher.vectors
        result["vectors"] = vectors.told()
        result["waits"] += _waiting_vectors(vectors)
    else:
        result["vectors"] = "texts with vectors are counted after the next search"
    lines = [f"home      {result['home']}", f"events    {result['events']}"]
    lines += _spool_lines(result, spool)
    for row in result["holds"]:
        lines.append(f"{row['n']:8d}  {row['what']}")
    lines.append(f"active    {', '.join(result['active'])}{_other_designs(lab)}")
    for row in result["waits"]:
        lines.append(f"waits     {row['n']} {row['what']} → {row['do']}")
    lines.append(f"law       {result['decay_law']}")
    lines.append(
        f"embedder  {result['embedder']['id']} ({result['embedder']['reason']});"
        f" {result['vectors']}"
    )
    for row in result["agents"]:
        tiers = (
            "  ".join(
                f"{tier} {count}" for tier, count in row["tiers"].items() if count
            )
            or "nothing yet"
        )
        lines += [f"{row['agent']}: {tiers}", f"    hottest: {', '.join(row['top'])}"]
    lines += [BadEvent(**row).told for row in result["bad_events"]]
    emit(result, "\n".join(lines))


def _is_told_while_away(lab: Lab, spool: dict[str, Any] | None) -> bool:
    """Print what can be told while the shared journal cannot be reached.

    Returns:
        Whether that is so.
    """
    if spool is None or not spool["problem"]:
        return False
    result: dict[str, Any] = {"home": str(lab.folder)}
    lines = _spool_lines(result, spool)
    emit(result, "\n".join(lines))
    return True


def _spool_lines(result: dict[str, Any], spool: dict[str, Any] | None) -> list[str]:
    """Return how many events wait to be forwarded, and why; add it to the answer."""
    if spool is None:
        return []
    result["spool"] = spool
    line = f"spool     {spool['waiting']} events wait to be forwarded → theorex sync"
    if spool["problem"]:
        line = f"{line} ({spool['problem']})"
    refused = [
        f"refused   {event_id!r} stays in this machine's spool: {reason}"
        for event_id, reason in spool["refused"].items()
    ]
    return [line, *refused]


def _other_designs(lab: Lab) -> str:
    """Return which designs learn only when asked, and how; '' where all are active."""
    active = lab.home.active
    others = [design.name for design in lab.home.designs if design not in active]
    if not others:
        return ""
    listed = ", ".join(others)
    return f" (only when asked, by `theorex maintain --design NAME`: {listed})"


def _waiting_vectors(vectors: EmbeddedTexts) -> list[dict[str, Any]]:
    """Return how many texts wait for a vector, and the command that computes them."""
    # An endpoint that has not been asked yet is not asked for a status.
    is_known = getattr(vectors.embedder, "is_sized", True)
    n_texts = vectors.coverage()["queued"] if is_known else 0
    if not n_texts:
        return []
    return [{"what": "texts without a vector", "n": n_texts, "do": "theorex embed"}]


@command("embed")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    help="Compute at most this many; default: all.",
)
@click.option(
    "--all", "sentences", is_flag=True, help="Also compute those of all sentences."
)
def embed(limit: int | None, *, sentences: bool) -> None:
    """A vector lets the search find a text that says the same in other words.

    The newest texts come first. `theorex maintain` does this too, and the first search
    of a small memory computes what it needs, so the command is rarely necessary. A
    sentence of a session gets its vector where a search comes near it; maintenance
    computes those of the newest 500 that have none.

    JSON: {embedded, covered, queued, note}
    """
    vectors = open_lab().searcher.vectors
    report: dict[str, Any] = {
        "embedded": vectors.embed_pending(limit, n_on_demand=None if sentences else 0),
        **vectors.coverage(),
        "note": vectors.no_vectors,
    }
    emit(
        report,
        report["note"] or "{embedded} embedded, {queued} still queued".format(**report),
    )


@command("briefing")
@reads_project
@click.option(
    "--query",
    default="",
    show_default=False,
    help="Show what this prompt would be given instead of a session's start.",
)
@click.option(
    "--tokens",
    type=TOKENS,
    help="The budget in tokens; default: the setting contextTokens, with --query recallTokens.",
)
@click.option(
    "--why",
    is_flag=True,
    help="Show the id of each line, why it is there, and the events it rests on.",
)
@click.option(
    "--save",
    is_flag=True,
    help="Also write it into the file that the project's next session reads.",
)
@click.option(
    "--given",
    is_flag=True,
    help="Show which briefings agents were given before, and which lines they used.",
)
@LIMIT
def briefing(
    query: str,
    tokens: int | None,
    why: bool,
    save: bool,
    given: bool,
    limit: int,
) -> None:
    """A briefing holds what an agent should know: rules, open work, recent decisions.

    Without options it is the one that a session of this folder's project starts with.
    It needs no maintenance before it, and it writes nothing without --save. A project
    without a recorded session gets lines from its git history.

    --why shows the ids that `theorex pin`, `dismiss`, `correct` and `trust` take.

    --given shows the latest briefings that agents were given (--limit of them). A line
    counts as used where the session then touched a file that the line names, or
    contained at least half of its words.

    JSON: {text, tokens, problem, lines: [{id, section, text, why, timestamp, events}]};
    with --given {before: [{timestamp, how, agent, session, query, tokens, items,
    used}], given, used}
    """
    asks_for_one = bool(query) or tokens is not None
    _check_choice(given=given, save=save, why=why, asks_for_one=asks_for_one)
    lab = open_lab()
    if given:
        _show_given(lab, limit)
        return
    if save:
        made = _saved_briefing(lab)
    else:
        budget = tokens or _default_tokens(lab, query)
        made = lab.briefing(query, tokens=budget, folder=project_folder())
    _note_other_projects(lab)
    _show_briefing(made, why=why)


def _note_other_projects(lab: Lab) -> None:
    """Say which other projects have something, where this one has nothing."""
    from theorex_lab.memory.projects import note_of_other_projects

    others = note_of_other_projects(lab.home)
    if others:
        note(others)


def _check_choice(*, given: bool, save: bool, why: bool, asks_for_one: bool) -> None:
    """Refuse options that say different things of what is shown."""
    if given and (asks_for_one or save or why):
        raise click.UsageError("Give --given alone, or with --limit.")
    if save and asks_for_one:
        raise click.UsageError("Give --save without --query and --tokens.")


def _saved_briefing(lab: Lab) -> Briefing:
    """Write the briefing for the next session, and note how the project is known."""
    from theorex_lab.app.cli.projects import note_roots

    briefing = lab.save_briefing()
    note_roots(lab)
    return briefing


def _default_tokens(lab: Lab, query: str) -> int:
    """Return the budget that hooks have at a session's start, or at a prompt."""
    if not query:
        return lab.settings.context_tokens
    from theorex_lab.memory.briefing.briefing import FEWEST_TOKENS

    return max(FEWEST_TOKENS, lab.settings.recall_tokens)


def _show_briefing(made: Briefing, *, why: bool) -> None:
    """Print a briefing, or each of its lines with the reason for it."""
    if made.problem:
        note(made.problem)
    rows = [
        {**asdict(line), "timestamp": to_iso(line.timestamp)} for line in made.lines
    ]
    text = _explained(rows) if why else made.text.rstrip("\n")
    result = {
        "text": made.text,
        "tokens": made.tokens,
        "problem": made.problem,
        "lines": rows,
    }
    emit(result, text)


def _show_given(lab: Lab, limit: int) -> None:
    """Show which briefings agents were given before, and which lines they used."""
    from theorex_lab.memory.given_before import given_before

    before = given_before(lab.home, limit)
    judged = [row for row in before if row["used"] is not None]
    total = sum(row["items"] for row in judged)
    used = sum(row["used"] for row in judged)
    share = "no use is known yet"
    if judged:
        share = f"of {total} lines given in known sessions {used} were used then"
    lines = [*map(_given_row, before), share]
    emit({"before": before, "given": total, "used": used}, "\n".join(lines))


def _explained(rows: Sequence[dict[str, Any]]) -> str:
    """Return each line of a briefing with its id, its reason and its first events."""
    texts = []
    for row in rows:
        event_ids = ", ".join(row["events"][:_MOST_EVENTS_SHOWN])
        reason = f"{row['why']}; {event_ids}" if event_ids else row["why"]
        texts.append(f"{row['id']}  {row['section']}: {row['text']}")
        texts.append(f"    {reason}")
    return "\n".join(texts) or "no line is worth its tokens"


@command("pin")
@reads_project
@click.argument("item", metavar="ID")
@click.option("--undo", is_flag=True, help="Take the pin back.")
def pin(item: str, undo: bool) -> None:
    """ID is the id of a line or an item, or a prefix that no other id has.

    `theorex briefing --why` shows the ids of lines, `theorex search` those of items. A
    line is pinned in its own project only.

    JSON: {item}
    """
    _emit(
        open_lab().pin(item, undo=undo),
        "no longer comes first" if undo else "comes first from now on",
    )


@command("dismiss")
@reads_project
@click.argument("item", metavar="ID")
@click.option("--undo", is_flag=True, help="Show it again.")
def dismiss(item: str, undo: bool) -> None:
    """ID is the id of a line or an item, or a prefix that no other id has.

    The briefing also leaves out lines that say the same in other words. The item stays
    in the memory: `theorex search --cold` finds it, and `theorex erase` removes it.

    JSON: {item}
    """
    _emit(
        open_lab().dismiss(item, undo=undo),
        "is shown again" if undo else "is shown no more",
    )


@command("correct")
@reads_project
@click.argument("item", metavar="ID")
@click.argument("text", nargs=-1)
@click.option("--undo", is_flag=True, help="Bring the former text back.")
def correct(item: str, text: tuple[str, ...], undo: bool) -> None:
    """ID is the id of a line or an item, or a prefix that no other id has.

    TEXT takes the place of the old text under the same id, as the word of the user.
    Several words are one text. The old text stays in the journal, so --undo brings it
    back.

    JSON: {item}
    """
    if undo == bool(text):
        raise click.UsageError("Give one of TEXT and --undo.")
    _emit(
        open_lab().correct(item, " ".join(text), undo=undo),
        "has its own words again" if undo else "is corrected",
    )


@command("trust")
@reads_project
@click.argument("item", metavar="ID")
@click.option("--undo", is_flag=True, help="Take the trust back.")
def trust(item: str, undo: bool) -> None:
    """ID is the id of a statement or a fix, or a prefix that no other id has.

    A statement that was pasted or imported is untrusted at first. Trusted, it counts as
    the user's word and stands among the standing rules of the briefing.

    A fix that a review wrote becomes a known fix; `theorex review --json` shows its ID.

    JSON: {item}
    """
    from theorex_lab.designs.theorex.sections import fix_id

    lab = open_lab()
    trusted = lab.trust(item, undo=undo)
    if fix_id(lab.home, trusted):
        _emit(trusted, "is a known fix from now on")
    elif undo:
        _emit(trusted, "is no standing rule any more")
    else:
        _emit(trusted, "is a standing rule from now on")


def _emit(item: str, change: str) -> None:
    emit({"item": item}, f"{item} {change}")


def _given_row(row: Mapping[str, Any]) -> str:
    """Return one time that an agent was given something, for people."""
    used = "" if row["used"] is None else f", {row['used']} used"
    return one_row(
        f"{row['timestamp']:.16}  {row['how']:<13}  {row['agent']} {row['session']} "
        f" {row['tokens']} tokens, {row['items']} lines{used}"
    )
