"""Leave lines out of a briefing that newer lines replace."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from theorex_lab.core.remembering import remembered
from theorex_lab.memory.briefing.candidates import Candidate
from theorex_lab.memory.replaced_texts import StoredText, replaced_texts
from theorex_lab.text.wording import overlap

# The share of their words from which two lines may give one thing different values.
_LIKE_OVERLAP = 0.5
_SHARED_WORDS = 2
_MOST_COMPARED = 60  # the newest
_MOST_REMEMBERED = 4  # sets of lines


def standing_lines(
    candidates: Sequence[Candidate],
    statements: Sequence[StoredText],
) -> list[Candidate]:
    """Return the lines that no newer one replaces, in their order.

    Only the newest lines that share half of their words are compared, so that a
    session's start reads few of them.

    Args:
        candidates: The lines.
        statements: What each of them says, when, and how far it is trusted.
    """
    words = tuple(candidate.words for candidate in candidates)
    replaced = _replaced(words, tuple(statements))
    return [
        candidate for index, candidate in enumerate(candidates) if index not in replaced
    ]


# A maintenance asks this of the same notes for each project.
@remembered(_MOST_REMEMBERED)
def _replaced(
    words: tuple[frozenset[str], ...], statements: tuple[StoredText, ...]
) -> frozenset[int]:
    """Return the indexes of the lines that a newer one replaces.

    Args:
        words: The words of each line.
        statements: As `standing_lines` takes them.
    """
    indexes = sorted(
        _like_another(words),
        key=lambda index: (statements[index].at, index),
    )[-_MOST_COMPARED:]
    replaced_by = replaced_texts([statements[index] for index in indexes])
    replaced: set[int] = set()
    for index, newer in zip(
        indexes,
        replaced_by,
        strict=True,
    ):
        if newer is not None:
            replaced.add(index)
    return frozenset(replaced)


def _like_another(words: Sequence[frozenset[str]]) -> set[int]:
    """Return the indexes of the lines that share half of their words with another."""
    holders: dict[str, list[int]] = defaultdict(list)
    like: set[int] = set()
    for index, words_of_line in enumerate(words):
        n_shared: Counter[int] = Counter()
        for word in words_of_line:
            n_shared.update(holders[word])
            holders[word].append(index)
        for other, count in n_shared.items():
            share = overlap(words_of_line, words[other])
            if count >= _SHARED_WORDS and share >= _LIKE_OVERLAP:
                like.update((index, other))
    return like
