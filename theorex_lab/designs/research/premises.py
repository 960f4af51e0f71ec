"""Which theorems a new one will probably use: those that statements like it use, those like it, those that much uses."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from theorex_lab.designs.research import RELATIONS
from theorex_lab.designs.research.theorems import KnowledgeNode, Theorems
from theorex_lab.home import Home

Floats = NDArray[np.float64]
_GRAMS = 3  # signs in a row, at most
# Weights of what neighbours use, likeness of the premise itself, how often it is used, and how lately it was told or used.
WEIGHTS = (1.0, 0.15, 0.1, 0.25)
_NEAREST, _SHARPNESS = 40, 3.0


def signs_of(statement: str) -> list[str]:
    """A statement's signs, and up to three of them in a row: in mathematics a sign is a word.

    >>> signs_of("a =< b")
    ['a', '=<', 'b', 'a =<', '=< b', 'a =< b']
    """
    words = statement.split()
    return [" ".join(words[at : at + size]) for size in range(1, _GRAMS + 1) for at in range(len(words) - size + 1)]


class PremiseIndex:
    """Theorems in the order in which they were told, with the numbers of those that each uses.

    >>> index = PremiseIndex()
    >>> for statement, used in (("a v b", []), ("b v a", []), ("a v b = b v a", [0, 1])):
    ...     index.add(statement, used)
    >>> [number for number, _ in index.suggest("b v a = a v b", 2)]
    [1, 0]
    """

    def __init__(self) -> None:
        self._postings: dict[str, list[tuple[int, int]]] = {}  # by sign in a row: number of a theorem, and how often
        self._lengths: list[float] = []
        self._used: list[list[int]] = []
        self._uses = Counter[int]()

    def __len__(self) -> int:
        return len(self._used)

    def add(self, statement: str, used: Iterable[int] = ()) -> None:
        """Add a theorem under the next number, with the numbers of those that it uses."""
        number, counts = len(self), Counter(signs_of(statement))
        for sign, count in counts.items():
            self._postings.setdefault(sign, []).append((number, count))
        self._lengths.append(math.sqrt(sum((1 + math.log(count)) ** 2 for count in counts.values())))
        self._used.append(list(used))
        self._uses.update(self._used[-1])

    def likeness(self, statement: str) -> Floats:
        """Of each theorem the cosine of its signs to these, rare ones weighing more (tf-idf), 0..1."""
        n, found = len(self), np.zeros(len(self))
        for sign, count in Counter(signs_of(statement)).items():
            if held := self._postings.get(sign):
                rows = np.array(held)
                weight = (1 + math.log(count)) * math.log((n + 1) / len(held)) ** 2
                found[rows[:, 0]] += weight * (1 + np.log(rows[:, 1]))
        found /= np.maximum(np.array(self._lengths), 1e-9)
        return found / max(float(found.max(initial=0.0)), 1e-9)

    def suggest(self, statement: str, k: int = 10, weights: Sequence[float] = WEIGHTS) -> list[tuple[int, float]]:
        """The numbers of the k theorems that one with this statement will most probably use, with their scores, best first."""
        if not len(self):
            return []
        like, votes, lately = self.likeness(statement), np.zeros(len(self)), np.zeros(len(self))
        for neighbour in np.argsort(-like, kind="stable")[:_NEAREST].tolist():
            votes[self._used[neighbour]] += like[neighbour] ** _SHARPNESS
        often = np.zeros(len(self))
        for number, count in self._uses.items():
            often[number] = math.log1p(count)
        for age, neighbour in enumerate(range(len(self) - 1, max(len(self) - _NEAREST, 0) - 1, -1)):
            lately[self._used[neighbour]] += 0.9**age
        scores = sum(weight * part / max(float(part.max()), 1e-9)
                     for weight, part in zip(weights, (votes, like, often, lately), strict=True))  # fmt: skip
        best = np.argsort(-np.asarray(scores), kind="stable")[:k].tolist()
        return [(number, float(np.asarray(scores)[number])) for number in best]


def suggest_premises(
    home: Home, statement: str, k: int = 10, *, domain: str | None = None
) -> list[tuple[KnowledgeNode, float]]:
    """The k theorems of a domain, or of any, that a new one will most probably use, each with its score, best first."""
    with home.views.reading(Theorems) as view:
        rows = view.chosen(home, domain)
        place = {row: number for number, row in enumerate(rows.tolist())}
        used: list[list[int]] = [[] for _ in place]
        links = view.links["relation"] == RELATIONS.index("uses")
        for start, end in zip(view.links["start"][links].tolist(), view.links["end"][links].tolist(), strict=True):
            if start in place and end in place:
                used[place[start]].append(place[end])
        nodes = [view.node(row) for row in place]
    index = PremiseIndex()
    for node, premises in zip(nodes, used, strict=True):
        index.add(node.formal_statement, premises)
    return [(nodes[number], score) for number, score in index.suggest(statement, k)]
