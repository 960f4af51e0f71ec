"""Commands of the life cycle: flush, graduate, promote, query-shared, flash-inject, boot-aware."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from theorex_lab.cli import command, emit, open_lab, reads_project, tends_project
from theorex_lab.cli.agents import agent_option, nearest, note, own_agent
from theorex_lab.cli.number import CONCEPT_ID, RESULTS
from theorex_lab.ids import check_session

if TYPE_CHECKING:
    from theorex_lab.lab import Lab
    from theorex_lab.memory.context import Context

_AGENT = agent_option("The agent; default $THEOREX_AGENT, else main.")


@command("flush")
@tends_project
@_AGENT
@click.option("--session", default=None, help="The session; default: all of the agent's.")
def flush(agent: str | None, session: str | None) -> None:
    """What scored below flushThreshold is let go; it stays in the journal. Repeating changes nothing."""
    lab, name = open_lab(), own_agent(agent)
    sessions = lab.sessions(agent=name) if session is None else [check_session(session)]
    done = [lab.flush(each, agent=name) for each in sessions]
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
    labels = open_lab().graduate(agent=own_agent(agent))
    emit({"graduated": labels}, "\n".join(labels) or "nothing graduates")


@command("promote")
@tends_project
@_AGENT
@click.option(
    "--force", "forced", type=CONCEPT_ID, multiple=True, metavar="ID", help="Promote this concept_id in any case."
)
def promote(agent: str | None, forced: tuple[int, ...]) -> None:
    """Concepts above promotionThreshold; doing it twice changes nothing."""
    done = open_lab().promote(agent=own_agent(agent), force=forced)
    emit(done._asdict(), f"{done.concepts} concepts and {done.links} links promoted or brought up to date")


@command("query-shared")
@click.option("-k", "limit", type=RESULTS, default=10, show_default=True, help="How many results at most.")
@click.argument("query", nargs=-1, required=True)
def query_shared(query: tuple[str, ...], limit: int) -> None:
    """Counts are the sum of what the agents counted themselves."""
    found = open_lab().query_shared(" ".join(query), limit=limit)
    hits = [{"text": each.text, "count": each.count, "agent": each.agent, "tier": each.tier} for each in found]
    lines = [f"{each.tier:<8} x{each.count:<4} {each.text}  ({each.agent})" for each in found]
    emit({"hits": hits}, "\n".join(lines) or "nothing found")


@command("flash-inject")
@reads_project
@_AGENT
@click.option("--session", required=True, help="The running session.")
def flash_inject(agent: str | None, session: str) -> None:
    """Up to ten ACTIVE concepts and the five that flushes kept last."""
    lab, name = open_lab(), own_agent(agent)
    context = lab.flash_context(check_session(session), agent=name)
    _note_given(lab, "flash_inject", context, name, session)
    emit({"text": context.text}, context.text.rstrip("\n"))


@command("boot-aware")
@reads_project
@_AGENT
@click.option("--model", default="default", show_default=True, help="Such as claude-sonnet, qwen3-32b, ministral-3b.")
def boot_aware(agent: str | None, model: str) -> None:
    """A model without a budget of its own gets the default's."""
    from theorex_lab.designs.theorex.context import BUDGETS

    lab, name = open_lab(), own_agent(agent)
    context = lab.boot_aware(model, agent=name)
    _note_given(lab, "boot_aware", context, name)
    known = [*BUDGETS, *lab.settings.models]
    if model not in known:
        note(
            f"no model {model!r} is known, so that it gets the default's budget; the nearest is {nearest(model, known)!r}"
        )
    emit({**asdict(context), "model": model}, context.text.rstrip("\n"))


def _note_given(lab: Lab, how: str, context: Context, agent: str, session: str = "") -> None:
    from theorex_lab.memory.recalled import note_recalled

    problem = note_recalled(
        lab.home, how, items=context.items, tokens=context.tokens, agent=agent, session=session
    )  # fmt: skip
    if problem:
        note(problem)
