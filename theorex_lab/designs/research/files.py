"""The folders of research tiers, as EurekaClaw has them, written from the memory.

memory/persistent.json         records by key
memory/knowledge_graph.json    theorems by id, and their links
memories/DOMAIN/               an insight a file, YYYYMMDD_title.md with front matter; _index.json has fingerprints and vectors
skills/NAME/SKILL.md           a skill with front matter, its statistics among it
runs/SESSION/post_run.json     what was learnt from a session

What these files have no member for (whose it was, its project and source) stands in the member `theorex`.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from theorex_lab.config import Settings
from theorex_lab.designs.research import KINDS, RELATIONS
from theorex_lab.designs.research.insights import Insight, insights_of
from theorex_lab.designs.research.items import domain_slug
from theorex_lab.designs.research.records import all_records
from theorex_lab.designs.research.skills import skills_of
from theorex_lab.designs.research.theorems import Theorems
from theorex_lab.exchange.files import Exported, portable
from theorex_lab.exchange.flat_files import write_lines
from theorex_lab.home import Home
from theorex_lab.journal.event import Event
from theorex_lab.memory.retrieve import Searcher

RECORDS, GRAPH, INDEX, SKILL = "memory/persistent.json", "memory/knowledge_graph.json", "_index.json", "SKILL.md"
FOLDERS = ("memory", "memories", "skills", "runs")
VARIABLE = "EUREKACLAW_DIR"
_TITLE_CHARACTERS, _FINGERPRINT = 40, 4
Document = tuple[str, str, str]  # as it is told, its name, its text


def export_tiers(home: Home, _searcher: object, folder: Path, *, agent: str | None = None) -> Exported:
    """Write the folders of all agents, or of one; nothing where the design was never used. Raises StorageError."""
    done = Exported(folder)
    for told, name, text in tier_documents(home, agent) if _used(home, agent) else ():
        write_lines(folder / name, text.splitlines())
        done.files[told] = done.files.get(told, 0) + 1
    return done


def export_named_tiers(home: Home, *, agent: str | None = None) -> Exported:
    """Write the folders where EUREKACLAW_DIR says. Raises StorageError."""
    place = named_folder()
    return export_tiers(home, None, place, agent=agent) if place else Exported(Path())


def named_tier_files(home: Home, *, agent: str | None = None) -> list[Path]:
    """The files that `export_named_tiers` writes."""
    place = named_folder()
    return [place / name for _, name, _ in tier_documents(home, agent)] if place and _used(home, agent) else []


def places(_settings: Settings) -> list[Path]:
    """Where others keep such folders, by the environment."""
    return [named_folder()] if named_folder() else []  # type: ignore[list-item]


def named_folder() -> Path | None:
    """The folder that EUREKACLAW_DIR names; None where it is not set."""
    return Path(found).expanduser() if (found := os.environ.get(VARIABLE)) else None


def _used(home: Home, agent: str | None) -> bool:
    return any(agent in (None, event.agent) for event in home.journal.tail(0, kinds=[*KINDS]))


def tier_documents(home: Home, agent: str | None = None) -> Iterator[Document]:
    """Every file, of all agents or of one."""
    last = {event.body["record_id"]: event for event in home.journal.tail(0, kinds=["record"])}
    told = [(record, last[record.record_id]) for record in all_records(home) if agent in (None, last[record.record_id].agent)]  # fmt: skip
    keys = [record.key for record, _ in told]
    named = {record.key if keys.count(record.key) == 1 else f"{_about(event)['project']}:{record.key}": {**record.to_dict(), "theorex": _about(event)}
             for record, event in told}  # fmt: skip
    yield RECORDS, RECORDS, _in_json(named)
    yield GRAPH, GRAPH, _in_json(_graph(home, agent))
    yield from _insights(home, [one for one in insights_of(home) if agent in (None, one.agent)])
    for skill in skills_of(home):
        if agent in (None, skill.agent):
            names = (
                "name",
                "version",
                "tags",
                "agent_roles",
                "pipeline_stages",
                "description",
                "origin",
                "usage_count",
                "success_rate",
            )
            told_of = {name: getattr(skill, name) for name in names}
            about = {"created_at": skill.created_at.isoformat(), "theorex": {"agent": skill.agent, "source": skill.source}}  # fmt: skip
            text = f"{front_matter({**told_of, 'source': told_of.pop('origin'), **about})}\n{skill.body}"
            yield f"skills/*/{SKILL}", f"skills/{portable(skill.name)}/{SKILL}", text
    for event in home.journal.tail(0, kinds=["post_run"]):
        if agent in (None, event.agent) and event.session:
            run = {**{name: event.body[name] for name in ("session_id", "status", "domain", "learnt")}, "theorex": _about(event)}  # fmt: skip
            yield "runs/*/post_run.json", f"runs/{portable(event.session)}/post_run.json", _in_json(run)


def _about(event: Event) -> dict[str, str]:
    return {"agent": event.agent, "project": event.body.get("project", ""), "source": event.body["source"]}


def _graph(home: Home, agent: str | None) -> dict[str, Any]:
    events = {event.id: event for event in home.journal.tail(0, kinds=["theorem"]) if agent in (None, event.agent)}
    with home.views.reading(Theorems) as view:
        rows = [row for row in view.chosen(home).tolist() if view.ids[row] in events]
        nodes = {view.ids[row]: {**view.node(row).to_dict(), "theorex": _about(events[view.ids[row]])} for row in rows}
        ends = zip(*(view.links[name].tolist() for name in ("start", "end", "relation")), strict=True)
        edges = [[view.ids[start], view.ids[end], RELATIONS[relation]] for start, end, relation in ends]
    for node in nodes.values():
        del node["distance"]
    return {"nodes": nodes, "edges": [edge for edge in edges if edge[0] in nodes and edge[1] in nodes]}


def _insights(home: Home, found: list[Insight]) -> Iterator[Document]:
    """A file an insight, and of each domain the index."""
    events = {event.id: event for event in home.journal.read(ids=[one.insight_id for one in found])}
    vectors, index, taken = _vectors(home, found), dict[str, dict[str, Any]](), set[str]()
    for one in found:
        slug = domain_slug(one.domain)
        base = f"{one.created_at:%Y%m%d}_{_slug(one.title or one.content)}"
        name = f"{base}.md" if f"{slug}/{base}".lower() not in taken else f"{base}_{one.fingerprint[:_FINGERPRINT]}.md"
        name = name if f"{slug}/{name}".lower() not in taken else f"{base}_{one.insight_id}.md"
        taken |= {f"{slug}/{base}".lower(), f"{slug}/{name}".lower()}
        told: dict[str, Any] = {
            "category": one.category,
            "title": one.title,
            "domain": one.domain,
            "confidence": f"{one.confidence:.2f}",
        }
        told |= {"created_at": one.created_at.isoformat(), "insight_id": one.insight_id, "theorex": _about(events[one.insight_id])}  # fmt: skip
        yield (
            f"memories/{slug}/*.md",
            f"memories/{slug}/{name}",
            f"{front_matter(told)}\n# {one.title or base}\n\n{one.content}",
        )
        entry = {"fingerprint": one.fingerprint, "created_at": told["created_at"], "embedding": vectors.get(one.insight_id)}  # fmt: skip
        index.setdefault(slug, {})[name] = {**entry, "category": one.category}
    for slug, entries in index.items():
        yield f"memories/{slug}/{INDEX}", f"memories/{slug}/{INDEX}", _in_json(entries)


def _vectors(home: Home, found: Iterable[Insight]) -> dict[str, list[float]]:
    """By id the vectors that insights have by now."""
    texts = Searcher(home).vectors
    if texts.no_vectors or not getattr(texts.embedder, "is_sized", True):
        return {}
    with home.views.reading(home.item_view) as index:
        texts.follow(index)
        rows = {one.insight_id: index.rows_of(one.insight_id) for one in found}
        held = {named: texts.of(row[-1:]) for named, row in rows.items() if len(row)}
    return {named: [round(float(value), 6) for value in matrix[0]] for named, (has, matrix) in held.items() if has[0]}


def _slug(title: str) -> str:
    return re.sub(r"\W+", "_", title.lower()).strip("_")[:_TITLE_CHARACTERS].strip("_") or "insight"


def front_matter(told: dict[str, Any]) -> str:
    """Members between two lines of `---`, as YAML; JSON is YAML, so that no text can end it."""
    return "\n".join(["---", *(f"{name}: {json.dumps(value, ensure_ascii=True)}" for name, value in told.items()), "---", ""])  # fmt: skip


def _in_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
