"""Give briefings what agents kept: observations, relations and passages of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from theorex_lab.designs.dropin.file_view import MemoryFiles
from theorex_lab.designs.dropin.graph_view import GraphEntries, KnowledgeGraph
from theorex_lab.designs.dropin.items import (
    observed_statement,
    related_statement,
)
from theorex_lab.designs.dropin.passages import (
    file_number,
    passage_ids,
    passages_of,
)
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import ContextLine, ContextRequest, Home
from theorex_lab.text.line import folded, one_line

GRAPH_LINE = "graph"
FILE_LINE = "memory_file"
_LINE_CHARACTERS = 400
_MOST_LINES = 1_000
_MOST_FILES = 100


def kept_lines(home: Home, request: ContextRequest) -> Iterator[ContextLine]:
    """Yield what agents kept in the home's project and in none, the newest first.

    Args:
        home: Where it is kept.
        request: What the briefing is made for; what is dated ahead of it is left out.
    """
    lines = [*_graph_lines(home), *_file_lines(home)]
    lines.sort(key=lambda line: -line.at)
    past = (line for line in lines if line.at <= request.now)
    yield from islice(past, _MOST_LINES)


def agents_who_kept(home: Home) -> Iterable[str]:
    """Return the agents who have a graph or a file."""
    agents: dict[str, None] = {}
    with home.views.reading(GraphEntries) as graphs:
        agents.update(dict.fromkeys(agent for agent, _ in graphs.owners()))
    with home.views.reading(MemoryFiles) as files:
        agents.update(dict.fromkeys(agent for agent, _ in files.owners()))
    return list(agents)


def _graph_lines(home: Home) -> Iterator[ContextLine]:
    with home.views.reading(GraphEntries) as view:
        graphs = {owner: view.graph_of(*owner) for owner in view.owners(home.projects)}
    for (agent, _), graph in graphs.items():
        yield from _lines_of_graph(agent, graph)


def _lines_of_graph(agent: str, graph: KnowledgeGraph) -> Iterator[ContextLine]:
    why = "an agent kept it in its knowledge graph"
    for entity in graph.entities.values():
        for entry in entity.observations:
            text = observed_statement(entity.name, entry.text)
            yield _line(GRAPH_LINE, agent, text, entry.event_id, entry.at, why)
    for relation in graph.relations:
        text = related_statement(relation.source, relation.relation, relation.target)
        yield _line(GRAPH_LINE, agent, text, relation.event_id, relation.at, why)


def _file_lines(home: Home) -> Iterator[ContextLine]:
    with home.views.reading(MemoryFiles) as view:
        seqs: list[int] = []
        for owner in view.owners(home.projects):
            seqs += [entry.seq for entry in view.tree(*owner).values()]
    newest = sorted(seqs)[-_MOST_FILES:]
    for event in home.journal.read(seqs=newest):
        yield from _lines_of_file(event)


def _lines_of_file(event: Event) -> Iterator[ContextLine]:
    body = event.body
    passages = passages_of(body["text"])
    number = file_number(event.agent, body.get("project", ""), body["path"])
    ids = passage_ids(number, passages)
    why = f"an agent keeps it in {body['path']}"
    for item_id, passage in zip(ids, passages, strict=True):
        line = _line(FILE_LINE, event.agent, passage.text, item_id, event.at, why)
        yield line._replace(events=(event.id,))


def _line(
    kind: str, agent: str, text: str, item_id: str, at: int, why: str
) -> ContextLine:
    return ContextLine(
        kind,
        agent,
        one_line(text, _LINE_CHARACTERS),
        items=(item_id,),
        why=why,
        statement=folded(text),
        at=at,
    )
