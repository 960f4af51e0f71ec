"""Write and read the knowledge graph of an agent.

Each write is decided and appended while nobody else writes, so that processes that
write at once lose nothing. A deletion is an event too: what was deleted is gone from
the graph, from search and from briefings, and stays in the journal until it is erased.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent
from theorex_lab.designs.dropin.graph_view import (
    EntryText,
    GraphEntity,
    GraphEntries,
    GraphRelation,
    KnowledgeGraph,
)
from theorex_lab.designs.dropin.items import OBSERVED, RELATED
from theorex_lab.journal.event import Body, Event, new_event
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import check_text
from theorex_lab.text.redact.redaction_scope import kept_id, kept_text

NAME_CHARACTERS = 500
_NAME_BYTES = 4 * NAME_CHARACTERS
_MOST_HITS = 20


class NewEntity(NamedTuple):
    """An entity to be made.

    Attributes:
        name: Its name.
        entity_type: What it is, such as person.
        observations: What is observed of it.
    """

    name: str
    entity_type: str
    observations: Sequence[str] = ()


class NewRelation(NamedTuple):
    """A relation to be made, or to be deleted.

    Attributes:
        source: The name from which it leads.
        target: The name to which it leads.
        relation: What it is, in active voice, such as works_at.
    """

    source: str
    target: str
    relation: str


class EntityTexts(NamedTuple):
    """Texts of observations of an entity.

    Attributes:
        name: The entity's name.
        texts: The texts.
    """

    name: str
    texts: Sequence[str]


def graph_of_agent(home: Home, agent: str = "main") -> KnowledgeGraph:
    """Return the graph of an agent in the home's project.

    Args:
        home: Where it is kept.
        agent: The agent.

    Raises:
        InvalidInput: The agent is outside the rule.
    """
    owner = kept_id(check_agent(agent))
    with home.views.reading(GraphEntries) as view:
        return view.graph_of(owner, home.project)


def create_entities(
    home: Home, entities: Iterable[NewEntity], agent: str = "main"
) -> list[GraphEntity]:
    """Make those of the entities whose names are new, with their observations.

    Args:
        home: Where the graph is kept.
        entities: The entities.
        agent: Whose graph it is.

    Returns:
        Those that were made.

    Raises:
        InvalidInput: A name or text is outside the rules; then nothing was written.
    """
    checked = [_checked_entity(home, entity) for entity in entities]
    made: list[GraphEntity] = []
    with _writing(home, agent) as graph:
        for entity in checked:
            if entity.name not in graph.entities:
                made.append(graph.add_entity(entity))
    return made


def create_relations(
    home: Home, relations: Iterable[NewRelation], agent: str = "main"
) -> list[GraphRelation]:
    """Make those of the relations that are new.

    Args:
        home: Where the graph is kept.
        relations: The relations; their names need not be those of entities.
        agent: Whose graph it is.

    Returns:
        Those that were made.

    Raises:
        InvalidInput: A name is outside the rules; then nothing was written.
    """
    checked = [_checked_relation(relation) for relation in relations]
    made: list[GraphRelation] = []
    with _writing(home, agent) as graph:
        for relation in checked:
            if relation not in graph.relations:
                made.append(graph.add_relation(relation))
    return made


def add_observations(
    home: Home, additions: Iterable[EntityTexts], agent: str = "main"
) -> list[EntityTexts]:
    """Add those observations that their entities do not have yet.

    Args:
        home: Where the graph is kept.
        additions: The observations.
        agent: Whose graph it is.

    Returns:
        For each addition the texts that were added.

    Raises:
        InvalidInput: There is no such entity, or a text is outside the rules; then
            nothing was written.
    """
    checked = [_checked_texts(home, addition) for addition in additions]
    results: list[EntityTexts] = []
    with _writing(home, agent) as graph:
        for name, texts in checked:
            if name not in graph.entities:
                raise InvalidInput(
                    f"got the entity {name[:80]!r}, which is not in the graph; allowed"
                    " is one that create_entities has made"
                )
            added: list[str] = []
            for text in texts:
                if graph.add_observation(name, text):
                    added.append(text)
            results.append(EntityTexts(name, added))
    return results


def delete_entities(home: Home, names: Iterable[str], agent: str = "main") -> int:
    """Delete entities with their observations and all of their relations.

    Args:
        home: Where the graph is kept.
        names: The names; a name without an entity is passed over.
        agent: Whose graph it is.

    Returns:
        How many entities were deleted.

    Raises:
        InvalidInput: A name is outside the rules.
    """
    checked = {_checked_name(name, "a name") for name in names}
    with _writing(home, agent) as graph:
        return graph.remove_entities(checked)


def delete_observations(
    home: Home, deletions: Iterable[EntityTexts], agent: str = "main"
) -> int:
    """Delete observations; one that is not there is passed over.

    Args:
        home: Where the graph is kept.
        deletions: The observations, by their whole texts.
        agent: Whose graph it is.

    Returns:
        How many observations were deleted.

    Raises:
        InvalidInput: A name or text is outside the rules.
    """
    checked = [_checked_texts(home, deletion) for deletion in deletions]
    with _writing(home, agent) as graph:
        return graph.remove_observations(checked)


def delete_relations(
    home: Home, relations: Iterable[NewRelation], agent: str = "main"
) -> int:
    """Delete relations; one that is not there is passed over.

    Args:
        home: Where the graph is kept.
        relations: The relations.
        agent: Whose graph it is.

    Returns:
        How many relations were deleted.

    Raises:
        InvalidInput: A name is outside the rules.
    """
    checked = {_checked_relation(relation) for relation in relations}
    with _writing(home, agent) as graph:
        return graph.remove_relations(checked)


def open_nodes(home: Home, names: Iterable[str], agent: str = "main") -> KnowledgeGraph:
    """Return the entities with these names, and every relation of one of them.

    Args:
        home: Where the graph is kept.
        names: The names; a name without an entity is passed over.
        agent: Whose graph it is.

    Raises:
        InvalidInput: A name is outside the rules.
    """
    wanted = {_checked_name(name, "a name") for name in names}
    graph = graph_of_agent(home, agent)
    names = [name for name in graph.entities if name in wanted]
    return graph.around(names)


def search_nodes(
    home: Home, searcher: Callable[[], Any], query: str, agent: str = "main"
) -> KnowledgeGraph:
    """Return the entities that fit a query, and all of their relations.

    Those fit whose name, type or observations hold the query, whatever its case. Where
    there are none, those fit that the search by words and meaning finds, best first.

    Args:
        home: Where the graph is kept.
        searcher: Gives what searches the home.
        query: The query.
        agent: Whose graph it is.

    Raises:
        InvalidInput: The query is no text, or the agent is outside the rule.
    """
    if not isinstance(query, str):
        raise InvalidInput(f"got {query!r:.60} for a query; allowed is a text")
    graph = graph_of_agent(home, agent)
    part = kept_text(query).lower()
    names: list[str] = []
    for name, entity in graph.entities.items():
        if _holds(entity, part):
            names.append(name)
    if not names and part.strip():
        # What is in no project is found beside that of the project.
        projects: list[str] = []
        if home.project:
            projects.append(home.project)
        owner = kept_id(agent)
        hits = searcher().search(
            query,
            agents=[owner],
            projects=projects,
            kinds=[OBSERVED, RELATED],
            limit=_MOST_HITS,
        )
        event_ids = [hit.id for hit in hits]
        names = _names_of(graph, event_ids)
    return graph.around(names)


def _holds(entity: GraphEntity, part: str) -> bool:
    """Return whether a name, a type or an observation holds a text in lower case."""
    texts = (entity.name, entity.entity_type, *entity.texts())
    return any(part in text.lower() for text in texts)


def _names_of(graph: KnowledgeGraph, event_ids: Sequence[str]) -> list[str]:
    """Return the entities that events speak of, each once, in the order of the events."""
    names_by_event: dict[str, tuple[str, ...]] = {}
    for entity in graph.entities.values():
        for observation in entity.observations:
            names_by_event[observation.event_id] = (entity.name,)
    for relation in graph.relations:
        names_by_event[relation.event_id] = (relation.source, relation.target)
    names: dict[str, None] = {}
    for event_id in event_ids:
        event_names = names_by_event.get(event_id, ())
        names.update(dict.fromkeys(event_names))
    return list(names)


class _GraphWriter:
    """A graph while it is written: what it holds, and what was done to it."""

    def __init__(self, home: Home, agent: str, graph: KnowledgeGraph) -> None:
        self.events: list[Event] = []
        self.entities = graph.entities
        self.relations: dict[NewRelation, list[GraphRelation]] = {}
        self._home = home
        self._agent = agent
        for relation in graph.relations:
            self.relations.setdefault(NewRelation(*relation.key), []).append(relation)

    def add_entity(self, new: NewEntity) -> GraphEntity:
        """Add an entity whose name is new, with its observations."""
        body = {"name": new.name, "entity_type": new.entity_type}
        event = self._note("graph_entity", body)
        entity = GraphEntity(new.name, new.entity_type, event.id)
        self.entities[new.name] = entity
        for text in new.observations:
            self._observe(entity, text)
        return entity

    def add_observation(self, name: str, text: str) -> bool:
        """Add an observation; return False where the entity has it."""
        entity = self.entities[name]
        if text in entity.texts():
            return False
        self._observe(entity, text)
        return True

    def _observe(self, entity: GraphEntity, text: str) -> None:
        body = {"entity": entity.name, "text": text}
        event = self._note(OBSERVED, body, lineage=[entity.event_id])
        entity.observations.append(EntryText(text, event.id, event.at))

    def add_relation(self, new: NewRelation) -> GraphRelation:
        """Add a relation that is new."""
        body = {"from": new.source, "to": new.target, "relation": new.relation}
        lineage: list[str] = []
        for name in dict.fromkeys((new.source, new.target)):
            if name in self.entities:
                entity = self.entities[name]
                lineage.append(entity.event_id)
        event = self._note(RELATED, body, lineage=lineage)
        relation = GraphRelation(*new, event.id, event.at)
        self.relations.setdefault(new, []).append(relation)
        return relation

    def remove_entities(self, names: set[str]) -> int:
        """Remove entities with what was said of them; return how many they are."""
        ids: list[str] = []
        removed = [name for name in self.entities if name in names]
        for name in removed:
            entity = self.entities.pop(name)
            ids.append(entity.event_id)
            ids += entity.repeats
            ids += [observation.event_id for observation in entity.observations]
        for key, relations in self.relations.items():
            if not names.isdisjoint((key.source, key.target)):
                ids += [relation.event_id for relation in relations]
        self._remove(ids)
        return len(removed)

    def remove_observations(self, deletions: Sequence[EntityTexts]) -> int:
        """Remove observations; return how many they are."""
        ids: dict[str, None] = {}
        for name, texts in deletions:
            entity = self.entities.get(name)
            if entity is None:
                continue
            for observation in entity.observations:
                if observation.text in texts:
                    ids[observation.event_id] = None
        self._remove(list(ids))
        return len(ids)

    def remove_relations(self, relations: set[NewRelation]) -> int:
        """Remove relations; return how many they are."""
        ids: list[str] = []
        removed = [key for key in self.relations if key in relations]
        for key in removed:
            ids += [relation.event_id for relation in self.relations[key]]
        self._remove(ids)
        return len(removed)

    def _remove(self, ids: list[str]) -> None:
        if ids:
            self._note("graph_removed", {"ids": ids})

    def _note(self, kind: str, body: Body, *, lineage: Sequence[str] = ()) -> Event:
        """Make the next event."""
        said_by = {"source": "agent", "project": self._home.project}
        event = new_event(
            kind,
            {**body, **said_by},
            agent=self._agent,
            lineage=lineage,
            at=self._home.clock.now(),
        )
        self.events.append(event)
        return event


@contextmanager
def _writing(home: Home, agent: str) -> Iterator[_GraphWriter]:
    """Yield the graph while nobody else writes; append at the end what was done."""
    owner = kept_id(check_agent(agent))
    with home.journal.exclusive() as append:
        writer = _GraphWriter(home, owner, graph_of_agent(home, owner))
        yield writer
        for event in writer.events:
            append(event)


def _checked_name(name: str, what: str) -> str:
    """Return a name as it is kept.

    Raises:
        InvalidInput: It is no text, blank or too long.
    """
    text = check_text(name, _NAME_BYTES)
    if len(text) > NAME_CHARACTERS:
        raise InvalidInput(
            f"got {what} of {len(text)} characters; allowed are 1 to {NAME_CHARACTERS}"
        )
    return kept_text(text)


def _checked_type(entity_type: str) -> str:
    """Return the type of an entity as it is kept; '' is one too."""
    if entity_type == "":
        return ""
    return _checked_name(entity_type, "a type")


def _checked_text(home: Home, text: str) -> str:
    """Return the text of an observation as it is kept."""
    return kept_text(check_text(text, home.settings.max_text_bytes))


def _checked_entity(home: Home, entity: NewEntity) -> NewEntity:
    name = _checked_name(entity.name, "a name")
    entity_type = _checked_type(entity.entity_type)
    texts = [_checked_text(home, text) for text in entity.observations]
    return NewEntity(
        name,
        entity_type,
        texts,
    )


def _checked_texts(home: Home, addition: EntityTexts) -> EntityTexts:
    name = _checked_name(addition.name, "a name")
    texts = [_checked_text(home, text) for text in addition.texts]
    return EntityTexts(name, texts)


def _checked_relation(relation: NewRelation) -> NewRelation:
    source = _checked_name(relation.source, "a name")
    target = _checked_name(relation.target, "a name")
    name = _checked_name(relation.relation, "a relation")
    return NewRelation(
        source,
        target,
        name,
    )


def graph_document(graph: KnowledgeGraph) -> dict[str, Any]:
    """Return a graph in the members of the reference memory server."""
    entities: list[dict[str, Any]] = []
    for entity in graph.entities.values():
        entry = entity_document(entity)
        entities.append(entry)
    # A relation that an import brought once more is one relation still.
    by_key: dict[tuple[str, str, str], GraphRelation] = {}
    for relation in graph.relations:
        by_key[relation.key] = relation
    relations: list[dict[str, str]] = []
    for relation in by_key.values():
        document = relation_document(relation)
        relations.append(document)
    return {
        "entities": entities,
        "relations": relations,
    }


def entity_document(entity: GraphEntity) -> dict[str, Any]:
    """Return an entity in the members of the reference memory server."""
    return {
        "name": entity.name,
        "entityType": entity.entity_type,
        "observations": entity.texts(),
    }


def relation_document(relation: GraphRelation) -> dict[str, str]:
    """Return a relation in the members of the reference memory server."""
    return {
        "from": relation.source,
        "to": relation.target,
        "relationType": relation.relation,
    }
