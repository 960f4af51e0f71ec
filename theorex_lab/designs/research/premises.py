"""Suggest which theorems a new one will probably use.

They are those that statements like it use, those like it, and those that much uses.
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
_TINY = 1e-9  # what nothing is divided by less than


def signs_of(statement: str) -> list[str]:
    """Return a statement's signs, and up to three of them in a row.

    In mathematics a sign is a word.

    >>> signs_of("a =< b")
    ['a', '=<', 'b', 'a =<', '=< b', 'a =< b']
    """
    words = statement.split()
    signs = []
    for size in range(1, _GRAMS + 1):
        last_start = len(words) - size
        for start in range(last_start + 1):
            gram = words[start : start + size]
            signs.append(" ".join(gram))
    return signs


class _Texts:
    """Compare texts by their signs: the cosine in which rare signs weigh more (tf-idf).

    The likest text has the likeness 1.
    """

    def __init__(self) -> None:
        # By sign: the number of each text that holds it, and its weight there.
        self._postings = dict[str, list[tuple[int, float]]]()
        self._lengths = list[float]()

    def add(self, signs: Iterable[str]) -> None:
        """Add a text under the next number."""
        number = len(self._lengths)
        counts = Counter(signs)
        squares = []
        for sign, count in counts.items():
            weight = _weight(count)
            squares.append(weight**2)
            postings = self._postings.setdefault(sign, [])
            postings.append((number, weight))
        square = sum(squares)
        length = math.sqrt(square)
        self._lengths.append(length)

    def likeness(self, signs: Iterable[str]) -> Floats:
        """Return how like each text is to one with these signs, 0..1."""
        n_texts = len(self._lengths)
        products = np.zeros(n_texts)
        for sign, count in Counter(signs).items():
            postings = self._postings.get(sign)
            if not postings:
                continue
            table = np.array(postings)
            numbers = table[:, 0]
            weights = table[:, 1]
            texts = numbers.astype(np.int64)
            weight = _weight(count)
            n_holding = len(postings)
            rarity = math.log((n_texts + 1) / n_holding)
            products[texts] += weights * weight * rarity**2
        lengths = np.array(self._lengths)
        products /= np.maximum(lengths, _TINY)
        return _scaled(products)


def _weight(count: int) -> float:
    """Return how much a sign weighs that a text holds so often (log-scaled)."""
    return 1 + math.log(count)


def _scaled(numbers: Floats) -> Floats:
    """Return numbers from 0, divided by the greatest."""
    greatest = float(numbers.max(initial=0.0))
    divisor = max(greatest, _TINY)
    return numbers / divisor


class PremiseIndex:
    """Hold theorems in the order in which they were told, and what each uses.

    Each has a number from 0.

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
        """Add a theorem under the next number.

        Args:
            statement: What it says.
            used: The numbers of the theorems that it uses.
            comment: What is said beside it.
        """
        signs = signs_of(statement)
        self._statements.add(signs)
        comment_signs = signs_of(comment.lower())
        self._comments.add(comment_signs)
        self._used.append(list(used))

    def uses(self) -> Floats:
        """Return how often each theorem is used."""
        numbers = list(chain.from_iterable(self._used))
        counts = np.bincount(numbers, minlength=len(self))
        return counts.astype(float)

    def likeness(self, statement: str, comment: str = "") -> Floats:
        """Return how like each theorem is to a statement, and its comment, 0..1."""
        signs = signs_of(statement)
        by_statement = self._statements.likeness(signs)
        if not comment:
            return by_statement
        comment_signs = signs_of(comment.lower())
        by_comment = self._comments.likeness(comment_signs)
        part_of_statement = (1 - _COMMENTS) * by_statement
        part_of_comment = _COMMENTS * by_comment
        return part_of_statement + part_of_comment

    def votes(self, statement: str, comment: str = "") -> Floats:
        """Return how much theorems like this one use each, 0..1.

        Those told recently count more: it probably belongs to them.

        Args:
            statement: What the new theorem says.
            comment: What is said beside it.
        """
        n_theorems = len(self)
        votes = np.zeros(n_theorems)
        recency = self._recency()
        ageing = 1 - _AGED + _AGED * recency
        likeness = self.likeness(statement, comment)
        likeness = likeness * ageing
        order = np.argsort(-likeness, kind="stable")
        nearest = order[:_NEAREST]
        for neighbour in nearest.tolist():
            premises = self._used[neighbour]
            vote = likeness[neighbour] ** _SHARPNESS
            votes[premises] += vote
        return _scaled(votes)

    def _recency(self) -> Floats:
        """Return 1 for the theorem that was told last, less for each before it."""
        last = len(self) - 1
        n_later = np.arange(last, -1, -1.0)
        recency: Floats = _AGEING**n_later
        return recency

    def suggest(
        self, statement: str, k: int = 10, comment: str = ""
    ) -> list[tuple[int, float]]:
        """Return the k theorems that one with this statement will most probably use.

        Each is a number with its score; the best comes first.

        Args:
            statement: What the new theorem says.
            k: How many at most.
            comment: What is said beside it.
        """
        votes = self.votes(statement, comment)
        likeness = self.likeness(statement, comment)
        recency = self._recency()
        scores = votes + _OWN * likeness
        scores = scores + _LATELY * recency
        order = np.argsort(-scores, kind="stable")
        suggestions = []
        for number in order[:k].tolist():
            score = float(scores[number])
            suggestions.append((number, score))
        return suggestions


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
        chosen = view.chosen(home, domain)
        rows = chosen.tolist()
        premises_of = _premises(view, rows)
        nodes = view.nodes(rows)
    index = PremiseIndex()
    for node, premises in zip(nodes, premises_of, strict=True):
        index.add(node.formal_statement, premises)
    suggestions = []
    for number, score in index.suggest(statement, k):
        node = nodes[number]
        suggestions.append((node, score))
    return suggestions


def _premises(view: Theorems, rows: list[int]) -> list[list[int]]:
    """Return the premises of the theorem in each row.

    They are indices in `rows`.
    """
    index_by_row = dict[int, int]()
    premises = list[list[int]]()
    for index, row in enumerate(rows):
        index_by_row[row] = index
        premises.append([])
    uses = RELATIONS.index("uses")
    links = view.links
    is_use = links["relation"] == uses
    starts = links["start"][is_use].tolist()
    ends = links["end"][is_use].tolist()
    for start, end in zip(starts, ends, strict=True):
        user = index_by_row.get(start)
        premise = index_by_row.get(end)
        if user is None or premise is None:
            continue
        premises[user].append(premise)
    return premises
