"""Find the stored texts that newer stored texts replace.

A text is replaced where each of its sentences is: a newer text gives what it says
another value ("port 9090 now" after "port 8080"). A text that says one thing more
stands, and so does one that is said again in the same words.

Texts are compared within one project. What comes from somebody of less trust replaces
nothing: an imported page cannot take the place of what the user said.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from theorex_lab.memory.claims import read_claim
from theorex_lab.memory.superseding import DatedStatement, gives_new_value, superseded
from theorex_lab.text.statements import sentences_in

LONGEST_STATED = 60  # words; a longer text says more than a statement
_MOST_SENTENCES = 4
# Signs of lists and tables: what stands between them is no sentence.
_LISTING_SIGNS = frozenset("—|;→✅❌☑✓✗")
_READER = frozenset({"you"})  # the subject of an order


class StoredText(NamedTuple):
    """A stored text, and what decides whether another one may replace it.

    Attributes:
        text: The text.
        at: When it was made (µs UTC).
        project: The project that it is of, '' for none.
        trust: How far its source is trusted, see `memory.observation.TRUST`.
    """

    text: str
    at: int
    project: str = ""
    trust: int = 0


class NewestFirst(NamedTuple):
    """The rows of a ranking, each newer text before those that it replaces.

    Attributes:
        rows: The rows in their new order.
        scores: The score of each; a newer text has the best one of those it replaces.
        newer: By row of a replaced text, the row of the one in its place.
    """

    rows: list[int]
    scores: list[float]
    newer: dict[int, int]


class _Sentence(NamedTuple):
    """A sentence, and the index of the text that it is of."""

    text: str
    owner: int


def replaced_texts(texts: Sequence[StoredText]) -> list[int | None]:
    """Return for each text the index of the newest one that replaces it.

    Among texts of the same time the later in the sequence is the newer one.

    Args:
        texts: The texts, in any order.

    Returns:
        An index for each; None for a text that stands.

    >>> replaced_texts(
    ...     [
    ...         StoredText("The till listens on port 8080.", 1),
    ...         StoredText("The till listens on port 9090 now, not 8080.", 2),
    ...         StoredText("The till listens on port 8080.", 1, project="shop"),
    ...     ]
    ... )
    [1, None, None]
    """
    replaced_by: list[int | None] = [None] * len(texts)
    by_project: dict[str, list[int]] = defaultdict(list)
    for index, text in enumerate(texts):
        by_project[text.project].append(index)
    for indexes in by_project.values():
        for level in {texts[index].trust for index in indexes}:
            replaced = _replaced_at_level(texts, indexes, level)
            for index, newer in replaced.items():
                replaced_by[index] = newer
    return replaced_by


def _replaced_at_level(
    texts: Sequence[StoredText],
    indexes: Sequence[int],
    level: int,
) -> dict[int, int]:
    """Return those texts of a level of trust that are replaced, each with the newest.

    All that are trusted as far or further may replace them.
    """
    judged = [index for index in indexes if texts[index].trust >= level]
    if len(judged) < 2:
        return {}
    replaced = _replaced_among(
        texts,
        judged,
    )
    return {
        index: newer for index, newer in replaced.items() if texts[index].trust == level
    }


def _replaced_among(
    texts: Sequence[StoredText],
    indexes: Sequence[int],
) -> dict[int, int]:
    """Return those of some texts that one of them replaces, each with the newest."""
    sentences = list(
        _sentences(
            texts,
            indexes,
        )
    )
    statements = [
        DatedStatement(
            sentence.text,
            texts[sentence.owner].at,
        )
        for sentence in sentences
    ]
    newer_texts: dict[int, int] = {}
    standing_texts: set[int] = set()
    for sentence, newest in zip(
        sentences,
        superseded(statements),
        strict=True,
    ):
        newer = None if newest is None else sentences[newest]
        if newer is None or not _is_replaced(sentence, newer):
            standing_texts.add(sentence.owner)
        elif newer.owner != sentence.owner:
            newer_texts[sentence.owner] = newer.owner
    return {
        index: newer
        for index, newer in newer_texts.items()
        if index not in standing_texts
    }


def _sentences(
    texts: Sequence[StoredText],
    indexes: Sequence[int],
) -> Iterator[_Sentence]:
    """Yield the sentences of some texts."""
    for index in indexes:
        for text in _sentences_of(texts[index].text):
            yield _Sentence(
                text,
                index,
            )


def _is_replaced(
    sentence: _Sentence,
    newer: _Sentence,
) -> bool:
    """Return whether a sentence holds no longer, as the newer one says.

    Where the newer one says the same, it still holds.
    """
    if newer.owner == sentence.owner:
        return True
    if _is_another_order(
        newer.text,
        sentence.text,
    ):
        return False
    return gives_new_value(
        newer.text,
        sentence.text,
    )


def _is_another_order(
    newer: str,
    older: str,
) -> bool:
    """Return whether two orders are carried out each by itself.

    "Run it 5 times" takes nothing back of "Run it 3 times"; "Use jq instead of grep"
    says what it takes back.
    """
    new = read_claim(newer)
    old = read_claim(older)
    if new is None or old is None or not new.subject == old.subject == _READER:
        return False
    takes_back = new.given_up or new.is_news or new.is_negative != old.is_negative
    return not takes_back


def _sentences_of(text: str) -> list[str]:
    """Return the sentences of a short text; of a longer one none is compared."""
    is_listing = not _LISTING_SIGNS.isdisjoint(text)
    if is_listing or len(text.split()) > LONGEST_STATED:
        return []
    sentences = sentences_in(text)
    if len(sentences) > _MOST_SENTENCES:
        return []
    return sentences


def newest_first(
    scores: Sequence[float],
    replaced_by: Mapping[int, int],
    *,
    history: bool = False,
) -> NewestFirst:
    """Put each newer text in the place of the best one that it replaces.

    Args:
        scores: Those of a ranking, best first.
        replaced_by: By row of the ranking, the row that replaces it.
        history: Whether replaced texts follow the newer one; if not, they are left out.

    >>> newest_first([0.9, 0.8, 0.7], {0: 2})
    NewestFirst(rows=[2, 1], scores=[0.9, 0.8], newer={0: 2})
    >>> newest_first([0.9, 0.8, 0.7], {0: 2}, history=True).rows
    [2, 0, 1]
    """
    order: dict[int, float] = {}
    newer: dict[int, int] = {}
    for row, score in enumerate(scores):
        newest = row
        while newest in replaced_by:
            newest = replaced_by[newest]
        order.setdefault(newest, score)
        if newest != row:
            newer[row] = newest
            if history:
                order[row] = score
    return NewestFirst(
        list(order),
        list(order.values()),
        newer,
    )
