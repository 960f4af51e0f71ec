"""Theorex's own commands: its life cycle, what watches it, and moments."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from theorex_lab.core.ids import check_session
from theorex_lab.files.command_line import (
    command,
    emit,
    keeps_secrets,
    one_row,
    open_lab,
    options,
    reads_project,
    tends_project,
)
from theorex_lab.files.command_line.options import (
    ANY_AGENT,
    CONCEPT_ID,
    LIMIT,
    OWN_AGENT,
    SESSION,
    nearest,
    note,
    own_agent,
)
from theorex_lab.memory.contract import Home
from theorex_lab.search.items import MOMENT_TYPE


@command("scan")
@tends_project
@ANY_AGENT
def scan(agent: str | None) -> None:
    """A tier follows from how often and how recently an item was used.

    Items that have faded below the lowest tier fall asleep, and weak links are dropped.
    Running it twice at the same time of day changes nothing more. `theorex maintain`
    does it too.

    JSON: {tiers, changed, slept, links_dropped}
    """
    update = open_lab().theorex.scan(agents=None if agent is None else [agent])
    tiers = [f"{tier} {count}" for tier, count in update.tiers.items() if count]
    text = (
        f"{'  '.join(tiers) or 'nothing to scan'}\n{update.changed} changed tier,"
        f" {update.slept} fell asleep, {update.links_dropped} links dropped"
    )
    emit(update._asdict(), text)


@command("prune")
@tends_project
@ANY_AGENT
def prune(agent: str | None) -> None:
    """It removes concepts of the tier LESS that were unseen for pruneThresholdDays.

    They stay in the journal.

    JSON: {pruned}
    """
    count = open_lab().theorex.prune(agents=None if agent is None else [agent])
    emit({"pruned": count}, f"{count} concepts pruned")


@command("flush")
@tends_project
@OWN_AGENT
@click.option(
    "--session", help="The session to flush; default: all sessions of the agent."
)
def flush(agent: str | None, session: str | None) -> None:
    """Texts that scored at least flushThreshold are kept, the others are let go.

    What is let go stays in the journal. Then the briefings and the index of prompts are
    brought up to date. Repeating it changes nothing. The hook does this at the end of a
    session.

    With --session, and where the hook has recorded the size of the transcript, the
    context is first checked as `context-monitor` does. At the end, texts that wait for
    a vector get one, the newest first, for two seconds at most.

    JSON: {sessions, kept, let_go}
    """
    end = open_lab().end_session(session, agent=own_agent(agent))
    if end.problem:
        note(f"some texts wait for their vectors: {end.problem}")
    emit(
        {"sessions": end.sessions, "kept": end.kept, "let_go": end.let_go},
        f"{end.kept} events kept, {end.let_go} let go, in {end.sessions} sessions",
    )


@command("graduate")
@tends_project
@OWN_AGENT
def graduate(agent: str | None) -> None:
    """A concept graduates where its best score of a day is high enough on enough days.

    High enough is graduationThreshold; enough are graduationDays different UTC days
    within graduationWindowDays.

    JSON: {graduated: [label]}
    """
    labels = open_lab().theorex.graduate(agent=own_agent(agent))
    emit({"graduated": labels}, "\n".join(labels) or "nothing graduates")


@command("promote")
@tends_project
@OWN_AGENT
@click.option(
    "--force",
    type=CONCEPT_ID,
    multiple=True,
    metavar="ID",
    help="Promote the concept with this concept_id in any case; may be repeated.",
)
def promote(agent: str | None, force: tuple[int, ...]) -> None:
    """It publishes the concepts that score above promotionThreshold, and their links.

    Doing it twice changes nothing. `query-shared` shows the result.

    JSON: {concepts, links}
    """
    result = open_lab().theorex.promote(agent=own_agent(agent), force=force)
    emit(
        result._asdict(),
        f"{result.concepts} concepts and {result.links} links promoted or brought up to"
        " date",
    )


@command("query-shared")
@LIMIT
@click.argument("query", nargs=-1)
def query_shared(query: tuple[str, ...], limit: int) -> None:
    """Without QUERY it lists the best concepts of the shared web.

    The count of a concept is the sum of the counts of its agents.

    JSON: {hits: [{text, count, agent, tier}]}
    """
    concepts = open_lab().theorex.query_shared(" ".join(query), limit=limit)
    hits = []
    lines = []
    for concept in concepts:
        hits.append(
            {
                "text": concept.text,
                "count": concept.count,
                "agent": concept.agent,
                "tier": concept.tier,
            }
        )
        lines.append(
            f"{concept.tier:<8} x{concept.count:<4} {concept.text}  ({concept.agent})"
        )
    emit({"hits": hits}, "\n".join(lines) or "nothing found")


@command("flash-inject")
@reads_project
@OWN_AGENT
@click.option("--session", required=True, help="The id of the running session.")
def flash_inject(agent: str | None, session: str) -> None:
    """It shows up to ten ACTIVE concepts, and the five texts that were flushed last.

    JSON: {text}
    """
    theorex = open_lab().theorex
    name = own_agent(agent)
    context = theorex.flash_context(check_session(session), agent=name)
    _note_served(
        theorex.home, "flash_inject", context.items, context.tokens, name, session
    )
    emit({"text": context.text}, context.text.rstrip("\n"))


@command("boot-inject")
@reads_project
@click.option(
    "--output", metavar="F", help="The file; default: SHARED_CONTEXT.md in the home."
)
def boot_inject(output: str | None) -> None:
    """It replaces the whole file; the text is that of `theorex briefing`.

    The briefing of a project is also written into the home's folder contexts, where the
    project's sessions read it.

    JSON: {path, lines, tokens}
    """
    lab = open_lab()
    file = lab.context_file if output is None else Path(output)
    briefing = lab.save_briefing(file)
    n_lines = len(briefing.lines)
    emit(
        {"path": str(file), "lines": n_lines, "tokens": briefing.tokens},
        f"{file}: {n_lines} lines, {briefing.tokens} tokens",
    )


@command("boot-aware")
@reads_project
@OWN_AGENT
@click.option(
    "--model",
    default="default",
    help="The model, such as claude-sonnet, qwen3-32b or ministral-3b.",
)
def boot_aware(agent: str | None, model: str) -> None:
    """The budget depends on the model; an unknown model gets the default budget.

    JSON: {text, concepts, fixes, agents, tokens, items, model}
    """
    from theorex_lab.designs.theorex.sections import BUDGETS

    theorex = open_lab().theorex
    name = own_agent(agent)
    context = theorex.boot_aware(model, agent=name)
    _note_served(theorex.home, "boot_aware", context.items, context.tokens, name)
    models = [*BUDGETS, *theorex.home.settings.models]
    if model not in models:
        note(
            f"no model {model!r} is known, so it gets the default's budget; the nearest"
            f" is {nearest(model, models)!r}"
        )
    emit({**asdict(context), "model": model}, context.text.rstrip("\n"))


@command("moment")
@OWN_AGENT
@SESSION
@click.argument("story", nargs=-1, required=True)
@keeps_secrets
def moment(agent: str | None, session: str, story: tuple[str, ...]) -> None:
    """Its concepts become anchors: `drift` says whether they are still ACTIVE.

    Several words are one story.

    JSON: {event_id, concepts}
    """
    written = (
        open_lab()
        .agent(own_agent(agent))
        .write(" ".join(story), observation_type=MOMENT_TYPE, session=session)
    )
    concepts = ", ".join(written.concepts) or "none"
    emit(
        {"event_id": written.event_id, "concepts": written.concepts},
        f"{written.event_id}\nconcepts: {concepts}",
    )


@command("drift")
@OWN_AGENT
def drift(agent: str | None) -> None:
    """The anchors of an agent are the concepts of its moments.

    The coverage is the part of the anchors that are ACTIVE; `left` lists those that
    were ACTIVE and are no longer. A low coverage means that the agent has drifted from
    what mattered to it.

    JSON: {agent, coverage, state, anchors, active, left}
    """
    name = own_agent(agent)
    result = open_lab().theorex.drift(agent=name)
    text = (
        f"{name}: {result.state}, {result.active} of {result.anchors} anchors are"
        " ACTIVE"
    )
    if result.left:
        text += f"; no longer: {one_row(', '.join(result.left))}"
    emit(result.to_dict(), text)


@command("context-monitor")
@OWN_AGENT
@click.option(
    "--session", required=True, help="The id of the session whose context it is."
)
@click.option(
    "--context",
    "context_pct",
    type=options.PERCENT,
    metavar="N",
    help=(
        "How much of the context is in use, in percent; default: estimated from what"
        " was captured of the session."
    ),
)
def context_monitor(agent: str | None, session: str, context_pct: float | None) -> None:
    """At contextAlertPct percent it writes a summary of the session.

    It writes another one each time contextCooldownCalls more calls were made.

    JSON: {fired, context_pct, calls, written, …}
    """
    check = open_lab().theorex.check_context(
        session, context_pct, agent=own_agent(agent)
    )
    result = "not due"
    if check.written:
        result = f"summed up in {check.written}"
    elif check.fired:
        result = "nothing to sum up"
    about = "about " if check.estimated else ""
    emit(
        check.to_dict(),
        f"{about}{check.context_pct:g} % of the context, {check.calls} calls: {result}",
    )


def _note_served(
    home: Home,
    kind: str,
    items: Sequence[str],
    tokens: int,
    agent: str,
    session: str = "",
) -> None:
    """Record that a context was served; a failure is printed, not raised."""
    from theorex_lab.memory.retrieval_log import note_recalled

    problem = note_recalled(
        home, kind, items=items, tokens=tokens, agent=agent, session=session
    )
    if problem:
        note(problem)
