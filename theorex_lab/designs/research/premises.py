"""Suggest which theorems a new one will probably use: those that statements like it use,
those like it, those that much uses.
"""

import math
from collections import Counter
from collections.abc import Iterable
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from theorex_lab.designs.research import RELATIONS
from theorex_lab.designs.research.theorems import KnowledgeNode, Theorems
from theorex_lab.memory.contract import Home

Floats = NDArray[np.float64]
_GRAMS = 3  # signs in a row, at most
_NEAREST = 150  # neighbours that vote
_SHARPNESS = 3.0  # how much more a nearer one says
# Of likeness the share of comments; of a neighbour the part that ages, by the theorem;
# weights of the premise's own likeness, of use of late.
_COMMENTS = 0.23
_AGED = 0.3
_AGEING = 0.8
_OWN = 0.4
_LATELY = 0.1


def signs_of(statement: str) -> list[str]:
    """Return a statement's signs, and up to three of them in a row.

    In mathematics a sign is a word.

    >>> signs_of("a =< b")
    ['a', '=<', 'b', 'a =<', '=< b', 'a =< b']
    """
    words = statement.split()
    signs = []
    for size in range(1, _GRAMS + 1):
        for start in range(len(words) - size + 1):
            signs.append(" ".join(words[start : start + size]))
    return signs


class _Texts:
    """Compare texts by their signs: the cosine in which rare signs weigh more (tf-idf).

    The likest text has the likeness 1.
    """

    def __init__(self) -> None:
        # By sign: the number of each text that holds it, and its weight there.
        self._postings: dict[str, list[tuple[int, float]]] = {}
        self._lengths: list[float] = []

    def add(self, signs: Iterable[str]) -> None:
        """Add a text under the next number."""
        number = len(self._lengths)
        weights = {sign: 1 + math.log(n) for sign, n in Counter(signs).items()}
        for sign, weight in weights.items():
            self._postings.setdefault(sign, []).append((number, weight))
        squares = sum(weight**2 for weight in weights.values())
        self._lengths.append(math.sqrt(squares))

    def likeness(self, signs: Iterable[str]) -> Floats:
        """Return how like each text is to one with these signs, 0..1."""
        n_texts = len(self._lengths)
        products = np.zeros(n_texts)
        for sign, count in Counter(signs).items():
            postings = self._postings.get(sign)
            if not postings:
                continue
            table = np.array(postings)
            numbers = table[:, 0].astype(np.int64)
            rarity = math.log((n_texts + 1) / len(postings))
            products[numbers] += table[:, 1] * (1 + math.log(count)) * rarity**2
        products /= np.maximum(np.array(self._lengths), 1e-9)
        return products / max(float(products.max(initial=0.0)), 1e-9)


class PremiseIndex:
    """Theorems in the order in which they were told, with the numbers of those that
    each uses.

    >>> index = PremiseIndex()
    >>> for statement, used in (
    ...     ("a v b", []),
    ...     ("b v a", []),
    ...     ("a v b = b v a", [0, 1]),
    ... ):
    ...     index.add(statement, used)
    >>> sorted(number for number, _ in index.suggest("b v a = a v b", 2))
    [0, 1]
    """

    def __init__(self) -> None:
        self._statements = _Texts()
        self._comments = _Texts()
        self._used: list[list[int]] = []

    def __len__(self) -> int:
        return len(self._used)

    def add(self, statement: str, used: Iterable[int] = (), comment: str = "") -> None:
        """Add a theorem under the next number, with the numbers of those that it uses."""
        self._statements.add(signs_of(statement))
        self._comments.add(signs_of(comment.lower()))
        self._used.append(list(used))

    def uses(self) -> Floats:
        """Return how often each theorem is used."""
        numbers = list(chain.from_iterable(self._used))
        return np.bincount(numbers, minlength=len(self)).astype(float)

    def likeness(self, statement: str, comment: str = "") -> Floats:
        """Return how like each theorem is to a statement, and its comment, 0..1."""
        by_statement = self._statements.likeness(signs_of(statement))
        if not comment:
            return by_statement
        by_comment = self._comments.likeness(signs_of(comment.lower()))
        return (1 - _COMMENTS) * by_statement + _COMMENTS * by_comment

    def votes(self, statement: str, comment: str = "") -> Floats:
        """Return how much theorems like this one use each, 0..1.

        Those told recently count more: it probably belongs to them.
        """
        votes = np.zeros(len(self))
        ageing = 1 - _AGED + _AGED * self._recency()
        likeness = self.likeness(statement, comment) * ageing
        nearest = np.argsort(-likeness, kind="stable")[:_NEAREST]
        for neighbour in nearest.tolist():
            votes[self._used[neighbour]] += likeness[neighbour] ** _SHARPNESS
        return votes / max(float(votes.max(initial=0.0)), 1e-9)

    def _recency(self) -> Floats:
        """Return 1 for the theorem that was told last, less for each before it."""
        recency: Floats = _AGEING ** np.arange(len(self) - 1, -1, -1.0)
        return recency

    def suggest(
        self, statement: str, k: int = 10, comment: str = ""
    ) -> list[tuple[int, float]]:
        """Return the k theorems that one with this statement will most probably use.

        Each is a number with its score; the best comes first.
        """
        scores = (
            self.votes(statement, comment)
            + _OWN * self.likeness(statement, comment)
            + _LATELY * self._recency()
        )
        order = np.argsort(-scores, kind="stable")[:k].tolist()
        return [(number, float(scores[number])) for number in order]


def suggest_premises(
    home: Home, statement: str, k: int = 10, *, domain: str | None = None
) -> list[tuple[KnowledgeNode, float]]:
    """Return the k theorems that a new one will most probably use, best first.

    Args:
        home: Where they are kept.
        statement: What the new one says.
        k: How many at most.
        domain: Only of this domain; default: of any.

    Returns:
        Each theorem with its score.
    """
    with home.views.reading(Theorems) as view:
        rows = view.chosen(home, domain).tolist()
        numbers = {row: number for number, row in enumerate(rows)}
        used: list[list[int]] = [[] for _ in rows]
        is_use = view.links["relation"] == RELATIONS.index("uses")
        starts = view.links["start"][is_use].tolist()
        ends = view.links["end"][is_use].tolist()
        for start, end in zip(starts, ends, strict=True):
            if start in numbers and end in numbers:
                used[numbers[start]].append(numbers[end])
        nodes = [view.node(row) for row in rows]
    index = PremiseIndex()
    for node, premises in zip(nodes, used, strict=True):
        index.add(node.formal_statement, premises)
    return [(nodes[number], score) for number, score in index.suggest(statement, k)]
