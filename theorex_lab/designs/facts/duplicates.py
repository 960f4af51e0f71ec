"""Find facts that say exactly the same, by the hash of their text."""

from typing import Any

from theorex_lab.designs.facts.facts import Fact, facts_of
from theorex_lab.designs.facts.pairs import fact_hash, same_fact
from theorex_lab.designs.facts.writing import check_entity
from theorex_lab.memory.contract import Home


def seed(home: Home) -> dict[str, Any]:
    """Return how many facts hold, and which of them say the same.

    Returns:
        {seeded: facts, entities: of how many entities, hashes: how many differ,
        duplicates: the ids of facts of one entity that say the same}.
    """
    facts = facts_of(home)
    groups: dict[tuple[str, str], list[list[Fact]]] = {}
    for fact in facts:
        key = (fact.entity, fact_hash(fact.text))
        _add_to(groups.setdefault(key, []), fact)
    duplicates = []
    for same_hash in groups.values():
        for group in same_hash:
            if len(group) > 1:
                duplicates.append([fact.id for fact in group])
    return {
        "seeded": len(facts),
        "entities": len({fact.entity for fact in facts}),
        "hashes": len({text_hash for _, text_hash in groups}),
        "duplicates": duplicates,
    }


def _add_to(groups: list[list[Fact]], fact: Fact) -> None:
    """Add a fact to the group that says the same, signs included, or to a new one."""
    for group in groups:
        if same_fact(group[0].text, fact.text):
            group.append(fact)
            return
    groups.append([fact])


def duplicate_of(home: Home, entity: str, text: str) -> dict[str, Any]:
    """Return whether an entity has a fact that says exactly the same.

    Returns:
        {duplicate: whether it has, id: of that fact, existingEntity: its entity (both
        None where there is none), hash: of the text}.
    """
    path = check_entity(entity)
    same_id = None
    for fact in facts_of(home, path):
        if same_fact(fact.text, text):
            same_id = fact.id
            break
    return {
        "duplicate": same_id is not None,
        "id": same_id,
        "existingEntity": path if same_id else None,
        "hash": fact_hash(text),
    }
