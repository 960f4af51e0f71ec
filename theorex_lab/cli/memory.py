"""Commands of the memory itself: write, search, status, scan, prune, boot-inject, embed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from theorex_lab.cli import command, emit, open_lab
from theorex_lab.ids import check_agent

_AGENT = click.option("--agent", default=None, help="The agent's id; default: all agents.")


@command("write")
@click.option("--agent", default=None, help="Who remembers; default $THEOREX_AGENT, else main.")
@click.option("--type", "observation_type", default="discovery", help="Such as decision, discovery, trace_fix.")
@click.option("--source", default="agent", help="Where the text came from: user, agent, model, tool, import.")
@click.option("--session", default="", help="The session it belongs to.")
@click.option("--tag", "tags", multiple=True, help="A tag; may be given several times.")
@click.argument("text", nargs=-1, required=True)
def write(agent: str | None, text: tuple[str, ...], **details: Any) -> None:
    """Several words are one text. A text that begins with a dash goes after `--`."""
    writer = open_lab().agent(agent or os.environ.get("THEOREX_AGENT") or "main")
    written = writer.write(" ".join(text), **details)
    concepts = ", ".join(written.concepts) or "none"
    emit(written._asdict(), f"{written.event_id}\nconcepts: {concepts}")


@command("search")
@_AGENT
@click.option("-k", "limit", default=10, show_default=True, help="How many results at most.")
@click.option("--cold", is_flag=True, help="Find sleeping items too.")
@click.option("--tag", default=None, help="Only what carries this tag.")
@click.option("--spread", is_flag=True, help="Let activation run over links, to what belongs to the finds.")
@click.argument("query", nargs=-1, required=True)
def search(agent: str | None, query: tuple[str, ...], **details: Any) -> None:
    """Several words are one query. With --agent, its own items and the shared web, never what another keeps."""
    agents = None if agent is None else [check_agent(agent)]
    hits = open_lab().search(" ".join(query), agents=agents, **details)
    lines = [f"{hit.score:7.3f}  {hit.agent}  {hit.kind}  {hit.id}\n         {hit.text}" for hit in hits]
    lines += [f"({note})" for note in hits.notes]
    result = {"hits": [hit._asdict() for hit in hits], "notes": list(hits.notes)}
    emit(result, "\n".join(lines) or "nothing found")


@command("status")
@_AGENT
def status(agent: str | None) -> None:
    """Tiers are those of now; a scan writes them down."""
    result = open_lab().status(agent=agent)
    lines = [
        f"home      {result['home']}",
        f"events    {result['events']}   observations {result['observations']}   concepts {result['concepts']}",
        f"law       {result['decay_law']}",
        f"embedder  {result['embedder']['id']} ({result['embedder']['reason']}), {result['embedder']['search']}",
    ]
    for row in result["agents"]:
        tiers = "  ".join(f"{tier} {count}" for tier, count in row["tiers"].items() if count) or "nothing yet"
        lines += [f"{row['agent']}: {tiers}", f"    hottest: {', '.join(row['top'])}"]
    emit(result, "\n".join(lines))


@command("scan")
@_AGENT
def scan(agent: str | None) -> None:
    """Running it twice at one time changes nothing."""
    found = open_lab().scan(agents=None if agent is None else [check_agent(agent)])
    tiers = "  ".join(f"{tier} {count}" for tier, count in found.tiers.items() if count) or "nothing to scan"
    text = f"{tiers}\n{found.changed} changed tier, {found.slept} fell asleep, {found.links_dropped} links dropped"
    emit(found._asdict(), text)


@command("prune")
@_AGENT
def prune(agent: str | None) -> None:
    """Takes LESS concepts unseen for longer than pruneThresholdDays; what they were stays in the journal."""
    count = open_lab().prune(agents=None if agent is None else [check_agent(agent)])
    emit({"pruned": count}, f"{count} concepts pruned")


@command("boot-inject")
@click.option("--output", metavar="F", default=None, help="The file; default SHARED_CONTEXT.md in the home.")
def boot_inject(output: str | None) -> None:
    """The file is replaced as a whole."""
    lab = open_lab()
    file = Path(output) if output is not None else lab.context_file
    context = lab.boot_inject(file)
    result = {
        "path": str(file),
        "concepts": context.concepts,
        "fixes": context.fixes,
        "agents": context.agents,
        "tokens": context.tokens,
    }
    emit(result, f"{file}: {context.concepts} concepts, {context.fixes} fixes, {context.tokens} tokens")


@command("embed")
@click.option("--limit", type=click.IntRange(min=0), default=None, help="At most so many; default: all.")
def embed(limit: int | None) -> None:
    """A search computes a few of them by itself; this computes the rest."""
    searcher = open_lab().searcher
    done = searcher.embed_pending(limit)
    coverage = searcher.coverage()
    emit({"embedded": done, **coverage}, f"{done} embedded, {coverage['queued']} still queued")
