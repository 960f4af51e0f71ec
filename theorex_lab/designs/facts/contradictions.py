"""Pairs of active facts that may not hold side by side."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from theorex_lab.designs.facts.checks import check_entity
from theorex_lab.designs.facts.facts import Fact, facts_of
from theorex_lab.designs.facts.pairs import SharedWords, contradiction
from theorex_lab.home import Home

_NEAREST = 20


def contradicting(home: Home, entity: str | None = None, *, cross_entity: bool = False,
                  limit: int = 20) -> list[dict[str, Any]]:  # fmt: skip
    """Pairs of active facts that share two words and three tenths of their words, what speaks most for a contradiction first.

    entity: pairs with a fact of this one, None is of any.  cross_entity: with facts of other entities too, people included.
    [{facts: ids, texts, shared: words, jaccard, contradiction: 0..1}]
    """
    entity = None if entity is None else check_entity(entity)
    groups: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts_of(home, None if cross_entity else entity):
        groups["" if cross_entity else fact.entity].append(fact)
    pairs = [pair for group in groups.values() for pair in _pairs(group, entity)]
    return sorted(pairs, key=lambda pair: (-pair["contradiction"], -pair["jaccard"], pair["facts"]))[:limit]


def _pairs(facts: list[Fact], entity: str | None) -> Iterator[dict[str, Any]]:
    earlier, by_id = SharedWords(), dict[str, Fact]()
    for fact in facts:
        for other_id, jaccard, shared in earlier.near(fact.text, _NEAREST):
            other = by_id[other_id]
            if entity in (None, fact.entity, other.entity):
                yield {
                    "facts": [other.id, fact.id], "texts": [other.text, fact.text], "shared": shared,
                    "jaccard": round(jaccard, 3), "contradiction": round(contradiction(other.text, fact.text), 3)}  # fmt: skip
        earlier.add(fact.id, fact.text)
        by_id[fact.id] = fact
