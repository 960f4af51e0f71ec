"""Score how glad or angry a text sounds, as VADER does.

VADER (Hutto and Gilbert 2014) looks, for each word of its lexicon, at three words before
it and two behind it, and for that makes all words of the text lower-case again, up to
eight times. Here its rules are shown those words alone, and only where one of them may
change the score, so that the score is the same and the time grows with the length of the
text.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

_WORDS_BEFORE = 3  # that a rule of VADER looks at
_WORDS_BEHIND = 2
_CONTRACTED_NOT = "n't"
# Words that the rules of VADER name in their code, besides its tables.
_NAMED_BY_RULES = frozenset({"least", "never", "no", "so", "this", "without"})


class _WordsAround(NamedTuple):
    """A part of VADER's words of a text, under VADER's names."""

    words_and_emoticons: list[str]
    is_cap_diff: bool


def compound_score(text: str, analyzer: SentimentIntensityAnalyzer) -> float:
    """Return VADER's compound score of a text, from -1 to 1; 0 is neutral or unknown.

    It equals `analyzer.polarity_scores(text)["compound"]`.

    Args:
        text: The text.
        analyzer: Its lexicon and its rules.
    """
    from vaderSentiment.vaderSentiment import SentiText

    described = _with_described_emojis(text, analyzer.emojis)
    words = SentiText(described)
    scores = _word_scores(words, analyzer)
    if not any(scores):
        return 0.0
    weighed = analyzer._but_check(words.words_and_emoticons, scores)
    valences = analyzer.score_valence(weighed, described)
    return float(valences["compound"])


def _with_described_emojis(text: str, emojis: dict[str, str]) -> str:
    """Return a text with VADER's words for its emojis."""
    if emojis.keys().isdisjoint(text):
        return text.strip()
    parts: list[str] = []
    follows_space = True
    for character in text:
        description = emojis.get(character)
        if description is None:
            parts.append(character)
            follows_space = character == " "
            continue
        if not follows_space:
            parts.append(" ")
        parts.append(description)
        follows_space = False
    return "".join(parts).strip()


def _word_scores(words: Any, analyzer: SentimentIntensityAnalyzer) -> list[float]:
    """Return the score of each word of a text, by the words around it.

    Args:
        words: VADER's words of the text.
        analyzer: Its lexicon and its rules.
    """
    all_words = words.words_and_emoticons
    lowered = [word.lower() for word in all_words]
    scores: list[float] = [0] * len(all_words)
    lexicon = analyzer.lexicon
    for index, word in enumerate(lowered):
        if word not in lexicon:
            continue
        first = max(0, index - _WORDS_BEFORE)
        end = index + _WORDS_BEHIND + 1
        is_shouted = words.is_cap_diff and all_words[index].isupper()
        if not is_shouted and _stay_as_they_are(lowered[first:end]):
            scores[index] = lexicon[word]
            continue
        around = _WordsAround(
            all_words[first:end],
            words.is_cap_diff,
        )
        scores[index] = _score_among(
            around,
            index - first,
            analyzer,
        )
    return scores


def _stay_as_they_are(lowered: list[str]) -> bool:
    """Return whether no rule of VADER changes the score of a word among these."""
    if not _changing_words().isdisjoint(lowered):
        return False
    return _CONTRACTED_NOT not in " ".join(lowered)


def _score_among(
    around: _WordsAround,
    index: int,
    analyzer: SentimentIntensityAnalyzer,
) -> float:
    """Return the score of a word by VADER's rules.

    Args:
        around: The word, with those that a rule may look at.
        index: Where it stands among them.
        analyzer: Its lexicon and its rules.
    """
    from vaderSentiment.vaderSentiment import BOOSTER_DICT

    words = around.words_and_emoticons
    word = words[index]
    lowered = [each.lower() for each in words]
    if lowered[index] in BOOSTER_DICT:
        return 0
    if lowered[index : index + 2] == ["kind", "of"]:
        return 0
    scores: list[float] = analyzer.sentiment_valence(
        0,
        around,
        word,
        index,
        [],
    )
    return scores[0]


@cache
def _changing_words() -> frozenset[str]:
    """Return words one of which stands wherever a rule of VADER changes a score.

    A phrase of its tables stands only where the longest of its words stands.
    """
    from vaderSentiment.vaderSentiment import BOOSTER_DICT, NEGATE, SPECIAL_CASES

    words = set(_NAMED_BY_RULES)
    for phrase in (*BOOSTER_DICT, *NEGATE, *SPECIAL_CASES):
        longest = max(phrase.split(), key=len)
        words.add(longest)
    return frozenset(words)
