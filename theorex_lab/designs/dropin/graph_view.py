"""Fold the events of a knowledge graph, and give the graph of one agent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from theorex_lab.designs.dropin.trust import is_agents_word
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event
from theorex_lab.journal.view import View

if TYPE_CHECKING:
    import networkx as nx

ENTITY_ROW, OBSERVATION_ROW, RELATION_ROW = range(3)


class EntryText(NamedTuple):
    """A text of a graph, with the event that says it.

    Attributes:
        text: The text.
        event_id: The id of the event.
        at: When it was said (µs UTC).
    """

    text: str
    event_id: str
    at: int


@dataclass
class GraphEntity:
    """An entity.

    Attributes:
        name: By which it is known.
        entity_type: What it is, such as person.
        event_id: The id of the event that made it.
        observations: What was observed of it, in this order.
        repeats: The ids of further events that made an entity of this name, as an import
            may bring them.
    """

    name: str
    entity_type: str
    event_id: str
    observations: list[EntryText] = field(default_factory=list)
    repeats: list[str] = field(default_factory=list)

    def texts(self) -> list[str]:
        """Return the texts of its observations."""
        return [observation.text for observation in self.observations]


class GraphRelation(NamedTuple):
    """A relation, from one name to another.

    Attributes:
        source: The name from which it leads.
        target: The name to which it leads.
        relation: What it is, in active voice, such as works_at.
        event_id: The id of the event that made it.
        at: When it was made (µs UTC).
    """

    source: str
    target: str
    relation: str
    event_id: str
    at: int = 0

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes it one relation: both names, and how they are related."""
        return self.source, self.target, self.relation


@dataclass
class KnowledgeGraph:
    """A knowledge graph.

    Attributes:
        entities: The entities by their names, in the order in which they were made.
        relations: The relations, likewise; their names need not be those of entities.

    >>> graph = KnowledgeGraph()
    >>> graph.entities["Ann"] = GraphEntity("Ann", "person", "event-1")
    >>> graph.relations.append(GraphRelation("Ann", "till", "wrote", "event-2"))
    >>> len(graph.around(["Ann"]).relations), graph.around(["Bob"]).relations
    (1, [])
    """

    entities: dict[str, GraphEntity] = field(default_factory=dict)
    relations: list[GraphRelation] = field(default_factory=list)

    def around(self, names: Iterable[str]) -> KnowledgeGraph:
        """Return the entities with these names, and every relation of one of them."""
        part = self._of(names)
        for relation in self.relations:
            if relation.source in part.entities or relation.target in part.entities:
                part.relations.append(relation)
        return part

    def _of(self, names: Iterable[str]) -> KnowledgeGraph:
        """Return the entities with these names, in the order of the names."""
        entities: dict[str, GraphEntity] = {}
        for name in names:
            if name in self.entities:
                entities[name] = self.entities[name]
        return KnowledgeGraph(entities)

    def to_networkx(self) -> nx.MultiDiGraph:
        """Return it as a networkx MultiDiGraph.

        A node is a name, with `entity_type` and `observations` where it is an entity's;
        an edge has its `relation` as its key.
        """
        import networkx as nx

        graph = nx.MultiDiGraph()
        for entity in self.entities.values():
            graph.add_node(
                entity.name,
                entity_type=entity.entity_type,
                observations=entity.texts(),
            )
        for relation in self.relations:
            graph.add_edge(relation.source, relation.target, key=relation.relation)
        return graph


class GraphEntries(View):
    """A row an entity, observation or relation that an agent or person wrote.

    `ids` has the ids of their events, in the order of the rows. What is trusted less
    than an agent is no part of a graph, since its readers are told no sources.

    Attributes:
        rows: kind (ENTITY_ROW, …), numbers of names for agent, project, name and other,
            a number of `texts`, at (µs), and whether it was removed. `other` is the type
            of an entity and the target of a relation.
    """

    name = "graph_entries"
    code = 2
    kinds = ("graph_entity", "graph_observation", "graph_relation", "graph_removed")

    def __init__(self) -> None:
        super().__init__()
        self.ids = Names()
        self.names = Names()
        self.texts = Names()
        self.rows = Table(
            kind="i1",
            agent="i4",
            project="i4",
            name="i4",
            other="i4",
            text="i4",
            at="i8",
            removed="?",
        )

    def _graph_entity(self, event: Event) -> None:
        body = event.body
        self._add(event, ENTITY_ROW, body["name"], other=body["entity_type"])

    def _graph_observation(self, event: Event) -> None:
        body = event.body
        self._add(event, OBSERVATION_ROW, body["entity"], text=body["text"])

    def _graph_relation(self, event: Event) -> None:
        body = event.body
        self._add(
            event,
            RELATION_ROW,
            body["from"],
            other=body["to"],
            text=body["relation"],
        )

    def _graph_removed(self, event: Event) -> None:
        if not is_agents_word(event):
            return
        agent = self.names.number(event.agent)
        for row in self.ids.numbers(*event.body["ids"]):
            if self.rows["agent"][row] == agent:
                self.rows["removed"][row] = True

    def _add(
        self, event: Event, kind: int, name: str, *, other: str = "", text: str = ""
    ) -> None:
        """Add a row; what is not trusted has none."""
        if not is_agents_word(event):
            return
        body = event.body
        self.ids.number(event.id)
        self.rows.add(
            kind=kind,
            agent=self.names.number(event.agent),
            project=self.names.number(body.get("project", "")),
            name=self.names.number(name),
            other=self.names.number(other),
            text=self.texts.number(text),
            at=event.at,
        )

    def owners(self, projects: Sequence[str] | None = None) -> list[tuple[str, str]]:
        """Return whose graphs there are: each agent and project, once.

        Args:
            projects: Only those of these projects and of none; None for all.
        """
        is_kept = ~self.rows["removed"]
        agent_numbers = self.rows["agent"][is_kept].tolist()
        project_numbers = self.rows["project"][is_kept].tolist()
        pairs = dict.fromkeys(zip(agent_numbers, project_numbers, strict=True))
        owners: list[tuple[str, str]] = []
        for agent, project in pairs:
            owner = (self.names[agent], self.names[project])
            if projects is None or owner[1] in ("", *projects):
                owners.append(owner)
        return owners

    def graph_of(self, agent: str, project: str) -> KnowledgeGraph:
        """Return the graph of an agent in a project.

        Of entities with one name the first stands for all of them.

        Args:
            agent: The agent.
            project: The id of the project, '' for none.
        """
        graph = KnowledgeGraph()
        for row in self._rows_of(agent, project):
            kind = self.rows["kind"][row]
            if kind == ENTITY_ROW:
                self._add_entity(graph, row)
            elif kind == OBSERVATION_ROW:
                self._add_observation(graph, row)
            else:
                self._add_relation(graph, row)
        return graph

    def _rows_of(self, agent: str, project: str) -> list[int]:
        """Return the rows of a graph, in the order of the journal."""
        agent_number = self.names.find(agent)
        project_number = self.names.find(project)
        if agent_number is None or project_number is None:
            return []
        is_of_graph = self.rows["agent"] == agent_number
        is_of_graph &= self.rows["project"] == project_number
        is_of_graph &= ~self.rows["removed"]
        rows: list[int] = np.flatnonzero(is_of_graph).tolist()
        return rows

    def _name(self, row: int, column: str) -> str:
        return self.names[int(self.rows[column][row])]

    def _add_entity(self, graph: KnowledgeGraph, row: int) -> None:
        """Add an entity; one whose name is there already is a repeat of it."""
        name = self._name(row, "name")
        if name in graph.entities:
            graph.entities[name].repeats.append(self.ids[row])
            return
        entity_type = self._name(row, "other")
        graph.entities[name] = GraphEntity(name, entity_type, self.ids[row])

    def _add_observation(self, graph: KnowledgeGraph, row: int) -> None:
        """Add an observation to its entity; one without an entity is passed over."""
        entity = graph.entities.get(self._name(row, "name"))
        if entity is None:
            return
        text = self.texts[int(self.rows["text"][row])]
        at = int(self.rows["at"][row])
        entity.observations.append(EntryText(text, self.ids[row], at))

    def _add_relation(self, graph: KnowledgeGraph, row: int) -> None:
        relation = GraphRelation(
            self._name(row, "name"),
            self._name(row, "other"),
            self.texts[int(self.rows["text"][row])],
            self.ids[row],
            int(self.rows["at"][row]),
        )
        graph.relations.append(relation)
