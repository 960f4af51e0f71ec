"""Which theorems a new one will probably use: those that statements like it use, those
like it, those that much uses.
"""

import math
from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from theorex_lab.designs.research import RELATIONS
from theorex_lab.designs.research.theorems import KnowledgeNode, Theorems
from theorex_lab.memory.contract import Home

Floats = NDArray[np.float64]
_GRAMS = 3  # signs in a row, at most
_NEAREST, _SHARPNESS = (
    150,
    3.0,
)  # neighbours that vote, and how much more a nearer one says
# Of likeness the share of comments; of a neighbour the part that ages, by the theorem;
# weights of the premise's own likeness, of use of late.
_COMMENTS = 0.23
_AGED = 0.3
_AGEING = 0.8
_OWN = 0.4
_LATELY = 0.1


def signs_of(statement: str) -> list[str]:
    """A statement's signs, and up to three of them in a row: in mathematics a sign is a
    word.

    >>> signs_of("a =< b")
    ['a', '=<', 'b', 'a =<', '=< b', 'a =< b']
    """
    words = statement.split()
    return [
        " ".join(words[at : at + size])
        for size in range(1, _GRAMS + 1)
        for at in range(len(words) - size + 1)
    ]


class _Texts:
    """Texts as signs, and how like each is to another: the cosine with rare signs
    weighing more (tf-idf), the likest 1.
    """

    def __init__(self) -> None:
        self._postings: dict[
            str, list[tuple[int, float]]
        ] = {}  # by sign: number of a text, and its weight there
        self._lengths: list[float] = []

    def add(self, signs: Iterable[str]) -> None:
        counts = Counter(signs)
        for sign, count in counts.items():
            self._postings.setdefault(sign, []).append(
                (len(self._lengths), 1 + math.log(count))
            )
        self._lengths.append(
            math.sqrt(sum((1 + math.log(count)) ** 2 for count in counts.values()))
        )

    def likeness(self, signs: Iterable[str]) -> Floats:
        n = len(self._lengths)
        found = np.zeros(n)
        for sign, count in Counter(signs).items():
            if held := self._postings.get(sign):
                rows = np.array(held)
                found[rows[:, 0].astype(np.int64)] += (
                    rows[:, 1]
                    * (1 + math.log(count))
                    * math.log((n + 1) / len(held)) ** 2
                )
        found /= np.maximum(np.array(self._lengths), 1e-9)
        return found / max(float(found.max(initial=0.0)), 1e-9)


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
        """How often each theorem is used."""
        return np.bincount(
            [number for used in self._used for number in used], minlength=len(self)
        ).astype(float)

    def likeness(self, statement: str, comment: str = "") -> Floats:
        """How like each theorem is to a statement, and its comment, 0..1."""
        like = self._statements.likeness(signs_of(statement))
        return (
            (1 - _COMMENTS) * like
            + _COMMENTS * self._comments.likeness(signs_of(comment.lower()))
            if comment
            else like
        )

    def votes(self, statement: str, comment: str = "") -> Floats:
        """How much theorems like this one use each, 0..1: those told of late, which it
        probably belongs to, count more.
        """
        late = _AGEING ** np.arange(len(self) - 1, -1, -1.0)
        votes = np.zeros(len(self))
        like = self.likeness(statement, comment) * (1 - _AGED + _AGED * late)
        for neighbour in np.argsort(-like, kind="stable")[:_NEAREST].tolist():
            votes[self._used[neighbour]] += like[neighbour] ** _SHARPNESS
        return votes / max(float(votes.max(initial=0.0)), 1e-9)

    def suggest(
        self, statement: str, k: int = 10, comment: str = ""
    ) -> list[tuple[int, float]]:
        """The numbers of the k theorems that one with this statement will most probably
        use, with their scores, best first.
        """
        late = _AGEING ** np.arange(len(self) - 1, -1, -1.0)
        scores = (
            self.votes(statement, comment)
            + _OWN * self.likeness(statement, comment)
            + _LATELY * late
        )
        return [
            (number, float(scores[number]))
            for number in np.argsort(-scores, kind="stable")[:k].tolist()
        ]


def suggest_premises(
    home: Home, statement: str, k: int = 10, *, domain: str | None = None
) -> list[tuple[KnowledgeNode, float]]:
    """The k theorems of a domain, or of any, that a new one will most probably use,
    each with its score, best first.
    """
    with home.views.reading(Theorems) as view:
        rows = view.chosen(home, domain)
        place = {row: number for number, row in enumerate(rows.tolist())}
        used: list[list[int]] = [[] for _ in place]
        links = view.links["relation"] == RELATIONS.index("uses")
        for start, end in zip(
            view.links["start"][links].tolist(),
            view.links["end"][links].tolist(),
            strict=True,
        ):
            if start in place and end in place:
                used[place[start]].append(place[end])
        nodes = [view.node(row) for row in place]
    index = PremiseIndex()
    for node, premises in zip(nodes, used, strict=True):
        index.add(node.formal_statement, premises)
    return [(nodes[number], score) for number, score in index.suggest(statement, k)]
