"""Theorex's own commands: its life cycle, what watches it, and moments."""

from __future__ import annotations

from copy import copy
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from theorex_lab.console import command as declared
from theorex_lab.console import emit, keeps_secrets, one_row, open_lab, reads_project, tends_project
from theorex_lab.console.agents import agent_option, nearest, note, own_agent
from theorex_lab.console.number import CONCEPT_ID, PERCENT, RESULTS
from theorex_lab.designs.theorex.command_names import COMMANDS
from theorex_lab.errors import InvalidInput
from theorex_lab.ids import check_session
from theorex_lab.memory.transcript import keep_messages

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from theorex_lab.console import Command
    from theorex_lab.designs.theorex.face import Theorex
    from theorex_lab.memory.context import Context

_AGENT = agent_option("The agent; default $THEOREX_AGENT, else main.")
_ANY_AGENT = agent_option("The agent's id; default: all agents.")


def command(name: str) -> Callable[[Callable[..., Any]], Command]:
    """Declare the function below as the command `name` of the table."""
    return declared(name, COMMANDS[name])


def _alias(known: Command, name: str) -> Command:
    """The same command under another name of the table."""
    made = copy(known)
    made.name, made.short_help = name, COMMANDS[name]
    made.help = f"{COMMANDS[name]}\n\n{known.help}"
    return made


def _theorex() -> Theorex:
    found: Theorex = open_lab().theorex
    return found


@command("scan")
@tends_project
@_ANY_AGENT
def scan(agent: str | None) -> None:
    """Running it twice at one time changes nothing."""
    found = _theorex().scan(agents=None if agent is None else [agent])
    tiers = "  ".join(f"{tier} {count}" for tier, count in found.tiers.items() if count) or "nothing to scan"
    text = f"{tiers}\n{found.changed} changed tier, {found.slept} fell asleep, {found.links_dropped} links dropped"
    emit(found._asdict(), text)


@command("prune")
@tends_project
@_ANY_AGENT
def prune(agent: str | None) -> None:
    """Takes LESS concepts unseen for longer than pruneThresholdDays; what they were stays in the journal."""
    count = _theorex().prune(agents=None if agent is None else [agent])
    emit({"pruned": count}, f"{count} concepts pruned")


scan_agent, prune_agent = _alias(scan, "scan-agent"), _alias(prune, "prune-agent")


@command("flush")
@tends_project
@_AGENT
@click.option("--session", default=None, help="The session; default: all of the agent's.")
@click.option(
    "--transcript", metavar="F", help="Keep last messages that its turns lack from this file; with --session."
)
def flush(agent: str | None, session: str | None, transcript: str | None) -> None:
    """What scored below flushThreshold is let go; it stays in the journal. Repeating changes nothing.

    With --session, where the hook has noted the size of the session's transcript, the session is first checked as
    `context-monitor` does it.
    """
    theorex, name = _theorex(), own_agent(agent)
    if session is not None:
        theorex.check_turns(check_session(session), agent=name)
    if transcript is not None:
        if not session:
            raise InvalidInput("got --transcript without --session; name the session that the transcript is of")
        keep_messages(theorex.home, Path(transcript), agent=name, session=check_session(session))
    sessions = theorex.sessions(agent=name) if session is None else [check_session(session)]
    done = [theorex.flush(each, agent=name) for each in sessions]
    result = {
        "sessions": len(done),
        "kept": sum(each.kept for each in done),
        "let_go": sum(each.discarded for each in done),
    }
    emit(result, f"{result['kept']} events kept, {result['let_go']} let go, in {result['sessions']} sessions")


@command("graduate")
@tends_project
@_AGENT
def graduate(agent: str | None) -> None:
    """Seven UTC days in a row with a best score of at least graduationThreshold, within the last fourteen."""
    labels = _theorex().graduate(agent=own_agent(agent))
    emit({"graduated": labels}, "\n".join(labels) or "nothing graduates")


@command("promote")
@tends_project
@_AGENT
@click.option(
    "--force", "forced", type=CONCEPT_ID, multiple=True, metavar="ID", help="Promote this concept_id in any case."
)
def promote(agent: str | None, forced: tuple[int, ...]) -> None:
    """Concepts above promotionThreshold; doing it twice changes nothing."""
    done = _theorex().promote(agent=own_agent(agent), force=forced)
    emit(done._asdict(), f"{done.concepts} concepts and {done.links} links promoted or brought up to date")


@command("query-shared")
@click.option("-k", "limit", type=RESULTS, default=10, show_default=True, help="How many results at most.")
@click.argument("query", nargs=-1)
def query_shared(query: tuple[str, ...], limit: int) -> None:
    """Counts are the sum of what the agents counted themselves. Without a query the best of all are listed."""
    found = _theorex().query_shared(" ".join(query), limit=limit)
    hits = [{"text": each.text, "count": each.count, "agent": each.agent, "tier": each.tier} for each in found]
    lines = [f"{each.tier:<8} x{each.count:<4} {each.text}  ({each.agent})" for each in found]
    emit({"hits": hits}, "\n".join(lines) or "nothing found")


@command("flash-inject")
@reads_project
@_AGENT
@click.option("--session", required=True, help="The running session.")
def flash_inject(agent: str | None, session: str) -> None:
    """Up to ten ACTIVE concepts and the five that flushes kept last."""
    theorex, name = _theorex(), own_agent(agent)
    context = theorex.flash_context(check_session(session), agent=name)
    _note_given(theorex, "flash_inject", context, name, session)
    emit({"text": context.text}, context.text.rstrip("\n"))


@command("boot-aware")
@reads_project
@_AGENT
@click.option("--model", default="default", show_default=True, help="Such as claude-sonnet, qwen3-32b, ministral-3b.")
def boot_aware(agent: str | None, model: str) -> None:
    """A model without a budget of its own gets the default's."""
    from theorex_lab.designs.theorex.context import BUDGETS

    theorex, name = _theorex(), own_agent(agent)
    context = theorex.boot_aware(model, agent=name)
    _note_given(theorex, "boot_aware", context, name)
    known = [*BUDGETS, *theorex.home.settings.models]
    if model not in known:
        note(
            f"no model {model!r} is known, so that it gets the default's budget; the nearest is {nearest(model, known)!r}"
        )
    emit({**asdict(context), "model": model}, context.text.rstrip("\n"))


@command("confirm")
@click.argument("observation_id", metavar="ID")
def confirm(observation_id: str) -> None:
    """ID is what the context shows of it, or whole. From the next context on it stands among the known fixes."""
    found = _theorex().confirm(observation_id)
    emit(found._asdict(), f"{found.observation_id}\nconfirmed: {one_row(found.text)}")


@command("moment")
@_AGENT
@click.option("--ref", "refs", multiple=True, metavar="FILE:LINE", help="A place it tells of; may be given several times.")  # fmt: skip
@click.option("--git", is_flag=True, help="Refer to the files that `git diff` names in this folder too.")
@click.option("--session", default="", help="The session it belongs to.")
@click.argument("story", nargs=-1, required=True)
@keeps_secrets
def moment(agent: str | None, refs: tuple[str, ...], git: bool, session: str, story: tuple[str, ...]) -> None:
    """Several words are one story. It never fades from the moments of `flash-inject`; its concepts anchor `drift`."""
    from theorex_lab.designs.theorex.moments import changed_files, check_refs

    places = check_refs([*refs, *(changed_files(Path.cwd()) if git else [])])
    done = _theorex().moment(" ".join(story), agent=own_agent(agent), refs=places, session=session)
    concepts = ", ".join(done.concepts) or "none"
    emit(
        {"event_id": done.event_id, "concepts": done.concepts, "refs": places},
        f"{done.event_id}\nconcepts: {concepts}\nrefs: {len(places)}",
    )


@command("drift")
@_AGENT
def drift(agent: str | None) -> None:
    """Coverage is the share of the concepts of the agent's moments that are still ACTIVE."""
    name = own_agent(agent)
    found = _theorex().drift(agent=name)
    text = f"{name}: {found.state}, {found.active} of {found.anchors} anchors are ACTIVE"
    emit(found.to_dict(), text + (f"; left: {one_row(', '.join(found.left))}" if found.left else ""))


@command("context-monitor")
@_AGENT
@click.option("--session", required=True, help="The session whose context it is.")
@click.option(
    "--context",
    "context_pct",
    type=PERCENT,
    default=None,
    metavar="N",
    help="Percent of the context in use; default: estimated from what was captured of the session.",
)
def context_monitor(agent: str | None, session: str, context_pct: float | None) -> None:
    """From contextAlertPct on the session is summed up: at once, and again each time contextCooldownCalls have passed."""
    found = _theorex().check_context(session, context_pct, agent=own_agent(agent))
    done = f"summed up in {found.written}" if found.written else "nothing to sum up" if found.fired else "not due"
    about = "about " if found.estimated else ""
    emit(found.to_dict(), f"{about}{found.context_pct:g} % of the context, {found.calls} calls: {done}")


def _note_given(theorex: Theorex, how: str, context: Context, agent: str, session: str = "") -> None:
    from theorex_lab.memory.giving import note_recalled

    problem = note_recalled(theorex.home, how, items=context.items, tokens=context.tokens, agent=agent, session=session)
    if problem:
        note(problem)
