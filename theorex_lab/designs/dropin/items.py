"""Tell search the observations, relations and names of a graph, and passages of files."""

from __future__ import annotations

from collections.abc import Iterable

from theorex_lab.designs.dropin.passages import (
    file_number,
    file_passages,
    passage_ids,
)
from theorex_lab.designs.dropin.trust import is_agents_word
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import ItemKind, ItemText

OBSERVED = "graph_observation"
RELATED = "graph_relation"
PASSAGE = "memory_file"


def name_as_words(name: str) -> str:
    """Return a name as words.

    >>> name_as_words("works_at"), name_as_words("John_Smith"), name_as_words("till.py")
    ('works at', 'John Smith', 'till.py')
    """
    return " ".join(name.replace("_", " ").split())


def observed_statement(entity: str, text: str) -> str:
    """Return an observation as a reader understands it by itself.

    The entity's name stands in front where the text does not say it.

    >>> observed_statement("John_Smith", "Speaks fluent Spanish")
    'John Smith: Speaks fluent Spanish'
    >>> observed_statement("till", "The till rounds half up")
    'The till rounds half up'
    """
    words = name_as_words(entity)
    lower_text = text.lower()
    if words.lower() in lower_text:
        return text
    if entity.lower() in lower_text:
        return text
    return f"{words}: {text}"


def related_statement(source: str, relation: str, target: str) -> str:
    """Return a relation as a sentence.

    >>> related_statement("John_Smith", "works_at", "Anthropic")
    'John Smith works at Anthropic'
    """
    return " ".join(name_as_words(part) for part in (source, relation, target))


def _entity(event: Event) -> Iterable[ItemText]:
    body = event.body
    yield ItemText(
        event.id,
        body["name"],
        subject=body["entity_type"],
    )


def _observation(event: Event) -> Iterable[ItemText]:
    body = event.body
    entity = body["entity"]
    text = observed_statement(entity, body["text"])
    yield ItemText(
        event.id,
        text,
        subject=entity,
    )


def _relation(event: Event) -> Iterable[ItemText]:
    body = event.body
    source = body["from"]
    text = related_statement(
        source,
        body["relation"],
        body["to"],
    )
    yield ItemText(
        event.id,
        text,
        subject=source,
    )


def _removed(event: Event) -> Iterable[str]:
    """Return what a deletion hides: nothing where it is trusted less than an agent."""
    ids: list[str] = event.body["ids"] if is_agents_word(event) else []
    return ids


def _number_of(event: Event) -> str:
    body = event.body
    project = body.get("project", "")
    return file_number(
        event.agent,
        project,
        body["path"],
    )


def _passages(event: Event) -> Iterable[ItemText]:
    body = event.body
    passages = file_passages(body["text"])
    file_id = _number_of(event)
    ids = passage_ids(file_id, passages)
    added = set(body["added"])
    n_replaced = len(body["gone"])
    for number, passage in enumerate(passages):
        if number not in added:
            continue
        # A passage in the place of an earlier one makes no word more common, however
        # often the file is edited. No item has the id of the file.
        echo = file_id if n_replaced > 0 else ""
        n_replaced -= 1
        subject = body["path"]
        if passage.heading:
            subject = f"{subject} › {passage.heading}"
        yield ItemText(
            ids[number],
            passage.text,
            subject=subject,
            echo=echo,
        )


def _gone(event: Event) -> Iterable[str]:
    """Return the passages that a file holds no more; they are never another file's."""
    prefix = f"{_number_of(event)}."
    ids: list[str] = []
    if not is_agents_word(event):
        return ids
    for item_id in event.body["gone"]:
        if item_id.startswith(prefix):
            ids.append(item_id)
    return ids


_HIDES = {"graph_removed": _removed}
ENTITY = ItemKind(
    "entity",
    {"graph_entity": _entity},
    label=True,
    hides=_HIDES,
)
GRAPH_OBSERVATION = ItemKind(
    OBSERVED,
    {OBSERVED: _observation},
    hides=_HIDES,
)
GRAPH_RELATION = ItemKind(
    RELATED,
    {RELATED: _relation},
    hides=_HIDES,
)
MEMORY_FILE = ItemKind(
    PASSAGE,
    {PASSAGE: _passages},
    hides={PASSAGE: _gone, "memory_file_removed": _gone},
)
