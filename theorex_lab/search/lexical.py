"""Words and an incremental BM25 index whose postings are numpy columns.

Documents are numbered from 0 in the order of their adding. Occurrences of new words
wait in a short list, are sorted into a small segment, and segments of like size are
merged, as in O'Neil and others, "The log-structured merge-tree", Acta Informatica 33
(1996). One index is used by one thread at a time.
"""

import functools
import hashlib
import itertools
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import Stemmer

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.sections import read_sections
from theorex_lab.journal.columns import Columns, Table
from theorex_lab.search.fuse import Ids, Mask, Scores, best_first, check_mask
from theorex_lab.text.line import LINE_CHARACTERS, folded, one_line

K1 = 1.5
BM25_B = 0.75
# A word that stands in half of the documents or more has an idf of 0 or less; this
# floor leaves it the say
# between otherwise equal documents, and no more.
IDF_FLOOR = 1e-9
_RECENT_OCCURRENCES = (
    1024  # sorting so many into a segment takes about as long as one query
)

_SECTIONS = read_sections(__file__, "lexical.txt")
STOP_WORDS = frozenset(_SECTIONS["stop words"].split())
# Combining marks (which \w leaves out) of Latin, Hebrew, Arabic, the Indic scripts,
# Thai to Khmer, and the joiners.
_MARKS = (
    r"\u0300-\u036f"
    r"\u0483-\u0487"
    r"\u0591-\u05c7"
    r"\u0610-\u061a"
    r"\u064b-\u065f"
    r"\u0670"
    r"\u06d6-\u06ed"
    r"\u0900-\u0963"
    r"\u0966-\u0dff"
    r"\u0e31-\u0e4e"
    r"\u0eb1-\u0ece"
    r"\u0f18-\u0fbc"
    r"\u102b-\u109d"
    r"\u17b4-\u17d3"
    r"\u200c"
    r"\u200d"
)
# Scripts written without spaces: Thai, Lao, Tibetan, Burmese, Khmer, kana and Han.
_UNSPACED = (
    r"\u0e00-\u0eff"
    r"\u0f00-\u109f"
    r"\u1780-\u17ff"
    r"\u3005-\u3007"
    r"\u3041-\u30ff"
    r"\u3400-\u4dbf"
    r"\u4e00-\u9fff"
    r"\U00020000-\U0003fffd"
)
_CHUNK = re.compile(rf"[\w{_MARKS}]+(?:[./\\]+[\w{_MARKS}]+)*")
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
# From the outside in: paths and dotted names, then underscores, then capitals.
_CAPITALS = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})"
_SPLITTERS = tuple(map(re.compile, (r"[./\\]+", r"_+", _CAPITALS)))
_SCRIPT_RUNS = re.compile(rf"([{_UNSPACED}]+)")


_Hashes = npt.NDArray[np.uint64]
_Numbers = npt.NDArray[np.int32]
_Postings = tuple[_Numbers, _Numbers]


class _Segment(NamedTuple):
    """Postings of a range of documents: those of terms[i] stand at offsets[i] to
    offsets[i + 1], by document.
    """

    terms: _Hashes
    offsets: npt.NDArray[np.int64]
    documents: _Numbers
    counts: _Numbers


def tokenize(text: str) -> list[str]:
    """The stems of a text's words, in order, without English stop words.

    Words are Unicode's, normalised (NFKC) and case-folded. An identifier gives itself
    and its parts, at underscores, dots, slashes and capitals. Scripts without spaces
    give pairs of neighbouring characters.

    >>> tokenize("Running tests of parse_config in src/HttpClient.py")
    ['run', 'test', 'parse_config', 'pars', 'config', 'src/httpclient.pi', 'src', 'httpclient', 'http', 'client', 'py']
    >>> tokenize("東京都")
    ['東京', '京都']
    """  # noqa: E501
    normal = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return [token for chunk in _CHUNK.findall(normal) for token in _chunk_tokens(chunk)]


def matching_part(text: str, query: str, limit: int = LINE_CHARACTERS) -> str:
    """Of a text on one line the part of at most `limit` characters that holds most of
    the query's words; its beginning where none does.

    >>> matching_part(
    ...     "Long ago it rained. " * 9 + "The cache went stale at noon.",
    ...     "stale caches",
    ...     40,
    ... )
    '…rained. The cache went stale at noon.'
    """
    line = folded(text)
    wanted = set(tokenize(query))
    reach = limit * 3 // 4
    words = _CHUNK.finditer(line) if len(line) > limit else ()
    found = [word.start() for word in words if wanted.intersection(tokenize(word[0]))]
    first = max(
        found,
        key=lambda at: len(wanted.intersection(tokenize(line[at : at + reach]))),
        default=0,
    )
    start = (
        line.rfind(" ", 0, max(first - limit // 4, 0)) + 1 if first > limit // 4 else 0
    )
    return ("…" if start else "") + one_line(line[start:], limit - bool(start))


def saturated(
    counts: npt.NDArray[Any], lengths: npt.NDArray[Any], mean_length: float
) -> Scores:
    """What occurrences of a token add to the score of a document, as a share of the
    most that they could.
    """
    return np.asarray(
        counts
        / (counts + K1 * (1 - BM25_B + BM25_B * lengths / mean_length)).astype(float)
    )


class LexicalIndex:
    """BM25 over documents that keep arriving; scores count every document added so far.

    Scores are those of BM25Okapi (Robertson and others, "Okapi at TREC-3", 1994): idf
    ln((N - n + .5) / (n + .5)), never below `IDF_FLOOR`, k1 = 1.5, b = .75. Words are
    kept as 64-bit hashes, so that no text stands in the index.

    >>> index = LexicalIndex()
    >>> index.add(
    ...     [
    ...         tokenize("cache stampede"),
    ...         tokenize("retry with jitter"),
    ...         tokenize("cold start"),
    ...     ]
    ... )
    >>> documents, scores = index.search(tokenize("stampedes"), limit=10)
    >>> documents.tolist()
    [0]
    """

    def __init__(self) -> None:
        self._segments: list[_Segment] = []
        self._recent: list[tuple[_Hashes, _Numbers]] = []
        self._recent_count = 0
        self._recent_segment: _Segment | None = None
        self._documents = Table(length="i4")
        self._total_length = 0

    def __len__(self) -> int:
        return len(self._documents)

    def add(self, documents: Iterable[Sequence[str]]) -> None:
        """Append documents, each a sequence of tokens, all or none; an empty one counts
        too.

        Raises InvalidInput for a document that is a string.
        """
        batch = list(documents)
        if any(isinstance(document, str) for document in batch):
            raise InvalidInput(
                "got a document that is a string; allowed is its list of tokens, as"
                " tokenize() gives it"
            )
        lengths = np.fromiter(map(len, batch), dtype=np.int32, count=len(batch))
        numbers = np.arange(len(self), len(self) + len(batch), dtype=np.int32)
        terms = _term_hashes(itertools.chain.from_iterable(batch), int(lengths.sum()))
        if len(terms):
            self._recent.append((terms, np.repeat(numbers, lengths)))
        self._recent_count += len(terms)
        self._recent_segment = None
        where = self._documents.grow(len(batch))
        # else what was loaded from a file is still there, which cannot be written to
        if batch:
            self._documents["length"][where] = lengths
        self._total_length += len(terms)
        if self._recent_count >= _RECENT_OCCURRENCES:
            self._settle()

    def search(
        self, tokens: Sequence[str], allowed: Mask | None = None, limit: int = 10
    ) -> tuple[Ids, Scores]:
        """Documents that hold any of the tokens, best first, at most `limit`; of equal
        scores the newer first.

        `allowed` is a mask of shape (documents,). A token given twice counts twice. The
        cost grows with the postings of the tokens, not with the index.

        Raises InvalidInput for a string, a mask of another shape, and a limit below 0.
        """
        check_mask(allowed, len(self))
        scores = self.scores(tokens)
        candidates = np.flatnonzero(scores if allowed is None else scores * allowed)
        return best_first(candidates, scores[candidates], limit)

    def scores(self, tokens: Sequence[str]) -> Scores:
        """The score of every document, shape (documents,); 0 for one without any of the
        tokens.
        """
        scores = np.zeros(len(self))
        mean = max(self._total_length, 1) / max(len(self), 1)
        for documents, counts, weight in self.matches(tokens):
            scores[documents] += weight * saturated(
                counts, self.lengths[documents], mean
            )
        return scores

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        """Of each document, how many tokens it has, (documents,)."""
        return self._documents["length"]

    def matches(
        self, tokens: Sequence[str], echo: Mask | None = None
    ) -> list[tuple[_Numbers, _Numbers, float]]:
        """By token, the documents that hold it in rising order, how often each does,
        and its idf x repeats x (k1 + 1).

        A token that no document holds has none. Documents in the mask `echo` do not
        count in how rare a token is. Raises InvalidInput for a string.
        """
        if isinstance(tokens, str):
            raise InvalidInput(
                "got a string as query; allowed is its list of tokens, as tokenize()"
                " gives it"
            )
        repeats = Counter(tokens)
        terms = _term_hashes(repeats, len(repeats))
        found: dict[int, list[_Postings]] = {}
        for segment in self._searched():
            places = np.minimum(
                np.searchsorted(segment.terms, terms), len(segment.terms) - 1
            )
            for which in np.flatnonzero(segment.terms[places] == terms).tolist():
                span = slice(
                    segment.offsets[places[which]], segment.offsets[places[which] + 1]
                )
                found.setdefault(which, []).append(
                    (segment.documents[span], segment.counts[span])
                )
        times = list(repeats.values())
        echo = np.zeros(len(self), bool) if echo is None else echo
        all_counted = len(self) - int(echo.sum())
        matches = []
        nothing = np.zeros(0, np.int32), np.zeros(0, np.int32)
        for which in range(len(terms)):
            parts = found.get(which, [nothing])
            documents, counts = (
                parts[0]
                if len(parts) == 1
                else map(np.concatenate, zip(*parts, strict=True))
            )
            holding = len(documents) - int(echo[documents].sum())
            idf = math.log((all_counted - holding + 0.5) / (holding + 0.5))
            matches.append(
                (documents, counts, max(idf, IDF_FLOOR) * times[which] * (K1 + 1))
            )
        return matches

    def columns(self) -> Columns:
        """The whole index as named arrays, for `from_columns`; merges its segments
        first, in O(index).
        """
        self._settle()
        while len(self._segments) > 1:
            newer = self._segments.pop()
            self._segments[-1] = _merged(self._segments[-1], newer)
        segment = self._segments[0] if self._segments else _segment_of([])
        total = np.array([self._total_length], dtype=np.int64)
        return {
            **segment._asdict(),
            "lengths": self._documents["length"],
            "total_length": total,
        }

    @classmethod
    def from_columns(cls, columns: Columns) -> Self:
        """The index that `columns()` described; arrays may be read-only memory maps and
        are not copied.
        """
        index = cls()
        index._segments = [
            _Segment(*(np.asarray(columns[name]) for name in _Segment._fields))
        ]
        index._documents.load(
            "document", {"document.length": np.asarray(columns["lengths"])}
        )
        index._total_length = int(columns["total_length"][0])
        return index

    def _searched(self) -> list[_Segment]:
        if self._recent_segment is None:
            self._recent_segment = _segment_of(self._recent)
        return [
            segment
            for segment in (*self._segments, self._recent_segment)
            if len(segment.terms)
        ]

    def _settle(self) -> None:
        """Turn the recent occurrences into a segment, and merge while the one before is
        not twice as large.
        """
        newer = self._recent_segment or _segment_of(self._recent)
        self._recent = []
        self._recent_count = 0
        self._recent_segment = None
        while self._segments and len(self._segments[-1].documents) < 2 * len(
            newer.documents
        ):
            newer = _merged(self._segments.pop(), newer)
        if len(newer.documents):
            self._segments.append(newer)


def _segment_of(occurrences: Sequence[tuple[_Hashes, _Numbers]]) -> _Segment:
    """The segment of words and their documents, given in the order of documents."""
    terms = np.concatenate(
        [np.zeros(0, dtype=np.uint64), *(terms for terms, _ in occurrences)]
    )
    documents = np.concatenate(
        [np.zeros(0, dtype=np.int32), *(documents for _, documents in occurrences)]
    )
    order = np.argsort(terms, kind="stable")
    terms = terms[order]
    documents = documents[order]
    new_term = np.ones(len(order), dtype=np.bool_)
    new_term[1:] = terms[1:] != terms[:-1]
    new_posting = new_term.copy()
    new_posting[1:] |= documents[1:] != documents[:-1]
    starts = np.flatnonzero(new_posting)
    offsets = np.append(np.flatnonzero(new_term[starts]), len(starts)).astype(np.int64)
    counts = np.diff(np.append(starts, len(order))).astype(np.int32)
    return _Segment(terms[new_term], offsets, documents[starts], counts)


def _merged(older: _Segment, newer: _Segment) -> _Segment:
    """One segment of two; each document of `newer` is above all of `older`."""
    terms = np.concatenate(
        [
            np.repeat(segment.terms, np.diff(segment.offsets))
            for segment in (older, newer)
        ]
    )
    order = np.argsort(terms, kind="stable")  # of two sorted runs one merge
    known, starts = np.unique(terms[order], return_index=True)
    documents, counts = (
        np.concatenate(columns)[order]
        for columns in zip(older[2:], newer[2:], strict=True)
    )
    return _Segment(
        known, np.append(starts, len(order)).astype(np.int64), documents, counts
    )


def _term_hashes(tokens: Iterable[str], count: int) -> _Hashes:
    return np.fromiter(map(_term_hash, tokens), dtype=np.uint64, count=count)


@functools.lru_cache(maxsize=65_536)
def _term_hash(token: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(token.encode(errors="surrogatepass"), digest_size=8).digest(),
        "little",
    )


@functools.lru_cache(maxsize=65_536)
def _chunk_tokens(chunk: str) -> tuple[str, ...]:
    """The tokens of one word, identifier, path or number."""
    if _NUMBER.fullmatch(chunk):
        return (chunk,)
    # A stemmer is not safe to share between threads, and making one costs less than a
    # microsecond.
    stem = Stemmer.Stemmer("english", 0).stemWord
    words = (word.casefold() for word in _with_parts(chunk))
    return tuple(
        token
        for word in words
        if word not in STOP_WORDS
        for token in _word_tokens(word, stem)
    )


def _with_parts(name: str, level: int = 0) -> list[str]:
    """A name and, where it has several parts, each of these with its own parts."""
    if level == len(_SPLITTERS):
        return [name]
    pieces = [piece for piece in _SPLITTERS[level].split(name) if piece]
    parts = [part for piece in pieces for part in _with_parts(piece, level + 1)]
    return [name.strip("_"), *parts] if len(pieces) > 1 else parts


def _word_tokens(word: str, stem: Callable[[str], str]) -> list[str]:
    """The stem of a word; of a run in a script without spaces the pairs of neighbours,
    or its only character.
    """
    tokens: list[str] = []
    for place, run in enumerate(_SCRIPT_RUNS.split(word)):
        if place % 2:  # a split by a captured group alternates: this one is unspaced
            tokens += [run[start : start + 2] for start in range(len(run) - 1)] or [run]
        elif run:
            tokens.append(stem(run))
    return tokens
