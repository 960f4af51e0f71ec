"""The commands of facts: `theorex fact …`."""

from typing import Any

import click

from theorex_lab.console import command, emit, group, keeps_secrets, one_row, open_lab, reads_project
from theorex_lab.console.agents import own_agent
from theorex_lab.console.options import OWN_AGENT
from theorex_lab.designs.facts import ABSTRACTIONS, CATEGORIES
from theorex_lab.memory.observation import TRUST

_ENTITY = click.option("--entity", required=True, metavar="PATH", help="people/NAME, projects/NAME or archives/NAME.")


@command("signal")
@click.option("--text", required=True, help="The message.")
def fact_signal(text: str) -> None:
    """high: a preference, decision, correction, milestone, instruction or identity. low: work in progress. none: the rest.

    JSON: {signal, categories, confidence, keywords}
    """
    from theorex_lab.designs.facts.signals import signal_of

    found = signal_of(text)
    emit(found._asdict(), f"{found.signal} {', '.join(found.categories)} ({found.confidence:.2f})")


@command("write")
@reads_project
@keeps_secrets
@OWN_AGENT
@_ENTITY
@click.option("--fact", "--text", "text", required=True, help="The fact, up to 500 characters.")
@click.option("--category", type=click.Choice(CATEGORIES), default="context", help="What kind of fact it is.")
@click.option("--confidence", type=float, default=0.8, help="How sure it is, 0 to 1.")
@click.option("--abstraction", type=click.Choice(ABSTRACTIONS), default="episode", help="How general it is.")
@click.option("--trust", type=click.Choice([*TRUST]), default="agent", help="Who it is from.")
@click.option("--source", "origin", default="", help="Where it is from, in words.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag; may be given several times.")
@click.option("--supersedes", multiple=True, metavar="ID", help="A fact in whose place it stands.")
@click.option("--valid-from", metavar="ISO", help="Since when it is true.")
@click.option("--valid-to", metavar="ISO", help="Until when it is true.")
@click.option("--semantic-check/--no-semantic-check", default=True, help="Leave out what is nearly the same.")
def fact_write(agent: str | None, entity: str, text: str, semantic_check: bool, trust: str, **given: Any) -> None:
    """An exact duplicate within the entity is not written again; what it replaces is superseded, never deleted; a nearly
    equal fact is left out; what contradicts becomes a tension.

    JSON: {id, action, of, tension, likeness, event_id}
    """
    found = open_lab().facts.write(entity, text, semantic=semantic_check, agent=own_agent(agent), source=trust, **given)
    others = f" ({', '.join(found.of)})" if found.of and found.of != (found.id,) else ""
    emit(found._asdict(), f"{found.id}: {found.action}{others}")


@command("list")
@reads_project
@click.option("--entity", metavar="PATH", help="Only of this entity.")
@click.option("--as-of", metavar="ISO", help="What was believed at that time.")
@click.option("--all", "everything", is_flag=True, help="With what was superseded.")
def fact_list(entity: str | None, as_of: str | None, everything: bool) -> None:
    """With --as-of the fold of what was written until then, without what was no longer true by then.

    JSON: {facts: [{id, entity, fact, category, confidence, status, …}]}
    """
    facts = open_lab().facts
    found = facts.list(entity, as_of=as_of, active=None if everything else True)
    told = {"facts": [{**fact.to_dict(), "tier": facts.tier(fact)} for fact in found]}
    emit(told, "\n".join(map(_row, found)) or "no facts")


def _row(fact: Any) -> str:
    ended = "" if fact.active else f" [superseded{f' by {fact.superseded_by}' if fact.superseded_by else ''}]"
    return f"{fact.id:<16} {one_row(fact.text)} ({fact.entity}, {fact.category}, {fact.confidence:.2f}){ended}"


@command("show")
@click.argument("fact_id", metavar="ID")
def fact_show(fact_id: str) -> None:
    """Oldest first.

    JSON: {fact, chain: [{id, fact, status, supersededBy, …}]}
    """
    facts = open_lab().facts
    fact, chain = facts.show(fact_id), facts.chain(fact_id)
    told = {**fact.to_dict(), "tier": facts.tier(fact)}
    emit({"fact": told, "chain": [link.to_dict() for link in chain]}, "\n".join(map(_row, chain)))


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
    emit({"id": old, "status": fact.to_dict()["status"], "supersededBy": fact.superseded_by or None}, _row(fact))


@command("access")
@click.option("--id", "fact_ids", multiple=True, required=True, metavar="ID", help="A fact; may be repeated.")
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
@click.option("--cross-entity", is_flag=True, help="Across entities too, people included.")
@click.option("-k", "limit", type=click.IntRange(1, 1_000), default=20, help="How many at most.")
def fact_contradict(entity: str | None, cross_entity: bool, limit: int) -> None:
    """Active facts that share words, what speaks most for a contradiction first.

    JSON: {candidates: [{facts, texts, shared, jaccard, contradiction}]}
    """
    found = open_lab().facts.contradict(entity, cross_entity=cross_entity, limit=limit)
    lines = [f"{pair['contradiction']:.2f}  {' | '.join(one_row(text) for text in pair['texts'])}" for pair in found]
    emit({"candidates": found}, "\n".join(lines) or "nothing contradicts")


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


@command("add", "Make a chat a channel of its own.")
@click.option("--platform", required=True, help="Such as telegram.")
@click.option("--id", "id", required=True, help="The chat's id there.")
@click.option("--group", "is_group", is_flag=True, help="More than two take part: its facts stay in it.")
def fact_session_add(platform: str, id: str, is_group: bool) -> None:
    """What is written with `--project PLATFORM-ID` reaches no other project; facts do, unless it is a group's.

    JSON: {platform, id, channel, group, project, added}
    """
    found = open_lab().facts.add_channel(platform, id, group=is_group)
    emit(found, f"{found['channel']}: write and read in it with --project {found['channel']}")


fact_session = group("session", "", fact_session_add)
