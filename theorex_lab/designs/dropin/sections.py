"""Give briefings what agents kept: observations, relations and passages of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from theorex_lab.designs.dropin.file_view import MemoryFiles
from theorex_lab.designs.dropin.graph_view import (
    EntryText,
    GraphEntries,
    KnowledgeGraph,
)
from theorex_lab.designs.dropin.items import (
    observed_statement,
    related_statement,
)
from theorex_lab.designs.dropin.passages import (
    file_number,
    file_passages,
    passage_ids,
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
        for agent, _ in graphs.owners():
            agents[agent] = None
    with home.views.reading(MemoryFiles) as files:
        for agent, _ in files.owners():
            agents[agent] = None
    return list(agents)


def _graph_lines(home: Home) -> Iterator[ContextLine]:
    with home.views.reading(GraphEntries) as view:
        owners = view.owners(home.projects)
        graphs = [view.graph_of(*owner) for owner in owners]
    for (agent, _), graph in zip(owners, graphs, strict=True):
        yield from _lines_of_graph(agent, graph)


def _lines_of_graph(agent: str, graph: KnowledgeGraph) -> Iterator[ContextLine]:
    why = "an agent kept it in its knowledge graph"
    for entity in graph.entities.values():
        for entry in entity.observations:
            text = observed_statement(entity.name, entry.text)
            observed = entry._replace(text=text)
            yield _line(GRAPH_LINE, agent, observed, why)
    for relation in graph.relations:
        text = related_statement(
            relation.source,
            relation.relation,
            relation.target,
        )
        related = EntryText(text, relation.event_id, relation.at)
        yield _line(GRAPH_LINE, agent, related, why)


def _file_lines(home: Home) -> Iterator[ContextLine]:
    with home.views.reading(MemoryFiles) as view:
        seqs: list[int] = []
        for owner in view.owners(home.projects):
            tree = view.tree(*owner)
            seqs += [entry.seq for entry in tree.values()]
    newest = sorted(seqs)[-_MOST_FILES:]
    for event in home.journal.read(seqs=newest):
        yield from _lines_of_file(event)


def _lines_of_file(event: Event) -> Iterator[ContextLine]:
    body = event.body
    passages = file_passages(body["text"])
    project = body.get("project", "")
    number = file_number(
        event.agent,
        project,
        body["path"],
    )
    ids = passage_ids(number, passages)
    why = f"an agent keeps it in {body['path']}"
    for item_id, passage in zip(ids, passages, strict=True):
        line = _line(
            FILE_LINE,
            event.agent,
            EntryText(passage.text, item_id, event.at),
            why,
        )
        yield line._replace(events=(event.id,))


def _line(kind: str, agent: str, entry: EntryText, why: str) -> ContextLine:
    """Return a line; the id of the entry is that of its item."""
    return ContextLine(
        kind,
        agent,
        one_line(entry.text, _LINE_CHARACTERS),
        items=(entry.event_id,),
        why=why,
        statement=folded(entry.text),
        at=entry.at,
    )
