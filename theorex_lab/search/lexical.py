"""Split texts into words, and search them by an incremental BM25 index.

The postings of the index are numpy columns.

Documents are numbered from 0 in the order of their adding. Occurrences of new words
wait in a short list, are sorted into a small segment, and segments of like size are
merged, as in O'Neil and others, "The log-structured merge-tree", Acta Informatica 33
(1996). One index is used by one thread at a time.
"""

import functools
import hashlib
import itertools
import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import Stemmer

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.sections import read_sections
from theorex_lab.journal.columns import Columns, Table
from theorex_lab.search.fuse import Ids, Mask, Scores, best_first, check_mask
from theorex_lab.text.line import LINE_CHARACTERS, folded, one_line

K1 = 1.5
BM25_B = 0.75
# A word that stands in half of the documents or more has an idf of 0 or less; this
# floor leaves it the say between otherwise equal documents, and no more.
IDF_FLOOR = 1e-9
# Sorting so many into a segment takes about as long as one query.
_RECENT_OCCURRENCES = 1024

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
# Scripts written without spaces: Thai, Lao, Tibetan, Burmese, Khmer, kana and Han; and
# Hangul, whose particles are written onto the noun.
_UNSPACED = (
    r"\u0e00-\u0eff"
    r"\u0f00-\u109f"
    r"\u1780-\u17ff"
    r"\u3005-\u3007"
    r"\u3041-\u30ff"
    r"\u3400-\u4dbf"
    r"\u4e00-\u9fff"
    r"\uac00-\ud7a3"
    r"\U00020000-\U0003fffd"
)
_CHUNK = lazy_pattern(rf"[\w{_MARKS}]+(?:[./\\]+[\w{_MARKS}]+)*")
_NUMBER = lazy_pattern(r"\d+(?:\.\d+)*")
# From the outside in: paths and dotted names, then underscores, then capitals.
_CAPITALS = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})"
_SPLITTERS = (
    lazy_pattern(r"[./\\]+"),
    lazy_pattern(r"_+"),
    lazy_pattern(_CAPITALS),
)
# A word that goes on in the next line.
_BROKEN_WORD = lazy_pattern(r"(?<![^\W\d_])[^\W\d_]+(?:[-\u2010]\n[ \t]*[^\W\d_]+)+")
_LINE_END_HYPHEN = lazy_pattern(r"[-\u2010]\n[ \t]*")
_SCRIPT_RUNS = lazy_pattern(rf"([{_UNSPACED}]+)")
_JOINERS = lazy_pattern(r"[\u200b-\u200d\u2060\u00ad]")
# Points of Hebrew and Arabic, and the stroke that lengthens: set or left out at will.
_POINTS = lazy_pattern(r"[\u0591-\u05bd\u05bf\u05c1-\u05c7\u0640\u064b-\u065f\u0670]")
# Accents on letters of Latin, Greek and Cyrillic, taken apart (NFKD).
_ACCENTED = lazy_pattern(r"([a-zα-ωе])[\u0300-\u036f]+")
_PLAIN_LETTERS = str.maketrans(
    {"ı": "i", "ł": "l", "ø": "o", "đ": "d", "أ": "ا", "إ": "ا", "آ": "ا", "ى": "ي"}
)
# The article of Arabic, with what is written onto it.
_ARABIC_ARTICLE = lazy_pattern(r"^(?:[وفبك]?ال|لل)(?=\w{3})")
# The stemmer of a script that one known language mostly uses, by its first letters.
_LANGUAGE_OF_SCRIPT = (
    (lazy_pattern(r"[\u0400-\u04ff]+"), "russian"),
    (lazy_pattern(r"[\u0370-\u03ff]+"), "greek"),
    (lazy_pattern(r"[\u0600-\u06ff]+"), "arabic"),
    (lazy_pattern(r"[\u0530-\u058f]+"), "armenian"),
    (lazy_pattern(r"[\u0900-\u097f]+"), "hindi"),
    (lazy_pattern(r"[\u0b80-\u0bff]+"), "tamil"),
)
_HEBREW = lazy_pattern(r"[\u05d0-\u05ea]{5,}")
_HEBREW_PREFIX = lazy_pattern(r"^[והבלמשכ]{1,2}(?=[\u05d0-\u05ea]{3})")
# A particle on a Korean noun of one syllable.
_ONE_SYLLABLE = lazy_pattern(r"([\uac00-\ud7a3])[은는이가을를에도의와과로만]")


_Hashes = npt.NDArray[np.uint64]
_Numbers = npt.NDArray[np.int32]
_Postings = tuple[_Numbers, _Numbers]


class _Segment(NamedTuple):
    """Postings of a range of documents.

    Those of terms[i] stand at offsets[i] to offsets[i + 1], by document.
    """

    terms: _Hashes
    offsets: npt.NDArray[np.int64]
    documents: _Numbers
    counts: _Numbers

    def postings(self, row: int) -> _Postings:
        """Return the documents that hold terms[row], and how often each does."""
        start = self.offsets[row]
        end = self.offsets[row + 1]
        return self.documents[start:end], self.counts[start:end]


def tokenize(text: str) -> list[str]:
    r"""Return the stems of a text's words, in order, without English stop words.

    Words are Unicode's, normalised (NFKC) and case-folded. An identifier gives itself
    and its parts, at underscores, dots, slashes and capitals. Scripts without spaces
    give pairs of neighbouring characters. A word with a hyphen at the end of a line
    gives its halves and, behind the other words, itself.

    >>> tokenize("Running tests of parse_config")
    ['run', 'test', 'parse_config', 'pars', 'config']
    >>> tokenize("src/HttpClient.py")
    ['src/httpclient.pi', 'src', 'httpclient', 'http', 'client', 'py']
    >>> tokenize("東京都")
    ['東京', '京都']
    >>> tokenize("noctur-\nnal")
    ['noctur', 'nal', 'nocturn']
    """
    normal = text if text.isascii() else unicodedata.normalize("NFKC", text)
    tokens: list[str] = []
    for chunk in _CHUNK.findall(normal):
        tokens += _chunk_tokens(chunk)
    tokens += _joined_tokens(normal)
    return tokens


def _joined_tokens(text: str) -> list[str]:
    """Return the tokens of words that go on behind a hyphen in the next line."""
    tokens: list[str] = []
    if "-\n" not in text and "\u2010\n" not in text:
        return tokens
    for broken_word in _BROKEN_WORD.findall(text):
        word = _LINE_END_HYPHEN.sub("", broken_word)
        tokens += _chunk_tokens(word)
    return tokens


def matching_part(text: str, query: str, limit: int = LINE_CHARACTERS) -> str:
    """Return the part of a text that holds most of the query's words, on one line.

    It is the text's beginning where no part holds any.

    Args:
        text: The text.
        query: The query.
        limit: How many characters the line has at most.

    >>> matching_part(
    ...     "Long ago it rained. " * 9 + "The cache went stale at noon.",
    ...     "stale caches",
    ...     40,
    ... )
    '…rained. The cache went stale at noon.'
    """
    line = folded(text)
    if len(line) <= limit:
        return one_line(line, limit)
    query_words = set(tokenize(query))
    reach = limit * 3 // 4
    starts = []
    for word in _CHUNK.finditer(line):
        tokens = tokenize(word[0])
        if not query_words.isdisjoint(tokens):
            starts.append(word.start())

    def n_query_words(start: int) -> int:
        tokens = tokenize(line[start : start + reach])
        return len(query_words.intersection(tokens))

    best = max(starts, key=n_query_words, default=0)
    n_before = limit // 4
    if best <= n_before:
        return one_line(line, limit)
    start = line.rfind(" ", 0, best - n_before) + 1
    if not start:
        return one_line(line, limit)
    return "…" + one_line(line[start:], limit - 1)


def saturated(
    counts: npt.NDArray[Any],
    lengths: npt.NDArray[Any],
    mean_length: float,
) -> Scores:
    """Return what occurrences of a token add to the score of a document.

    Args:
        counts: By document, how often it holds the token.
        lengths: By document, how many tokens it has.
        mean_length: How many tokens a document has on average.

    Returns:
        By document, a share of the most that they could add.
    """
    relative_lengths = BM25_B * lengths / mean_length
    penalty = K1 * (1 - BM25_B + relative_lengths)
    return np.asarray(counts / (counts + penalty))


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
        """Append documents, each a sequence of tokens, all or none.

        An empty one counts too.

        Raises:
            InvalidInput: A document is a string.
        """
        batch = list(documents)
        if any(isinstance(document, str) for document in batch):
            raise InvalidInput(
                "got a document that is a string; allowed is its list of tokens, as"
                " tokenize() gives it"
            )
        n_documents = len(batch)
        lengths = np.fromiter(map(len, batch), dtype=np.int32, count=n_documents)
        first = len(self)
        numbers = np.arange(first, first + n_documents, dtype=np.int32)
        tokens = itertools.chain.from_iterable(batch)
        n_tokens = int(lengths.sum())
        terms = _term_hashes(tokens, n_tokens)
        if len(terms):
            documents_of_terms = np.repeat(numbers, lengths)
            self._recent.append((terms, documents_of_terms))
        self._recent_count += len(terms)
        self._recent_segment = None
        where = self._documents.grow(n_documents)
        # Without a batch, the column may be that of a file, which cannot be written to.
        if batch:
            self._documents["length"][where] = lengths
        self._total_length += len(terms)
        if self._recent_count >= _RECENT_OCCURRENCES:
            self._settle()

    def search(
        self,
        tokens: Sequence[str],
        allowed: Mask | None = None,
        limit: int = 10,
    ) -> tuple[Ids, Scores]:
        """Return documents that hold any of the tokens, and their scores, best first.

        Of equal scores the newer document comes first. The cost grows with the postings
        of the tokens, not with the index.

        Args:
            tokens: The tokens; one given twice counts twice.
            allowed: A mask of shape (documents,); None for all.
            limit: The greatest number of documents.

        Raises:
            InvalidInput: The tokens are a string, the mask has another shape, or the
                limit is below 0.
        """
        check_mask(allowed, len(self))
        scores = self.scores(tokens)
        candidate_scores = scores
        if allowed is not None:
            candidate_scores = scores * allowed
        candidates = np.flatnonzero(candidate_scores)
        return best_first(candidates, scores[candidates], limit)

    def scores(self, tokens: Sequence[str]) -> Scores:
        """Return the score of every document, shape (documents,).

        The score is 0 for a document without any of the tokens.
        """
        n_documents = len(self)
        document_parts = [np.zeros(0, np.int32)]
        count_parts = [np.zeros(0, np.int32)]
        weights = [0.0]
        for documents, counts, weight in self.matches(tokens):
            document_parts.append(documents)
            count_parts.append(counts)
            weights.append(weight)
        # All tokens at once: a few operations in place of a few for each of them.
        holding = np.concatenate(document_parts)
        n_tokens = max(self._total_length, 1)
        shares = saturated(
            np.concatenate(count_parts),
            self.lengths[holding],
            n_tokens / max(n_documents, 1),
        )
        part_sizes = [len(part) for part in document_parts]
        shares *= np.repeat(weights, part_sizes)
        scores = np.bincount(holding, shares, n_documents)
        return np.asarray(scores, np.float64)

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        """The number of tokens of each document, (documents,)."""
        return self._documents["length"]

    def matches(
        self,
        tokens: Sequence[str],
        echo: Mask | None = None,
    ) -> list[tuple[_Numbers, _Numbers, float]]:
        """Return by token which documents hold it, how often, and its weight.

        Args:
            tokens: The tokens. Repeated ones have one entry.
            echo: A mask of documents that do not count in how rare a token is.

        Returns:
            By token, the documents in rising order, how often each holds it, and its
            idf x repeats x (k1 + 1).

        Raises:
            InvalidInput: The tokens are a string.
        """
        if isinstance(tokens, str):
            raise InvalidInput(
                "got a string as query; allowed is its list of tokens, as tokenize()"
                " gives it"
            )
        repeats = Counter(tokens)
        terms = _term_hashes(repeats, len(repeats))
        postings = self._postings(terms)
        n_counted = len(self)
        if echo is not None:
            n_counted -= int(np.count_nonzero(echo))
        matches = []
        for posting, n_repeats in zip(postings, repeats.values(), strict=True):
            documents, counts = posting
            n_holding = len(documents)
            if echo is not None:
                n_holding -= int(np.count_nonzero(echo[documents]))
            weight = _idf(n_counted, n_holding) * n_repeats * (K1 + 1)
            matches.append((documents, counts, weight))
        return matches

    def _postings(self, terms: _Hashes) -> list[_Postings]:
        """Return the postings of each term, over all segments."""
        parts: list[list[_Postings]] = [[] for _ in terms]
        for segment in self._searched():
            last_row = len(segment.terms) - 1
            rows = np.searchsorted(segment.terms, terms)
            rows = np.minimum(rows, last_row)
            is_held = segment.terms[rows] == terms
            for term in np.flatnonzero(is_held).tolist():
                postings = segment.postings(rows[term])
                parts[term].append(postings)
        return [_joined(of_term) for of_term in parts]

    def columns(self) -> Columns:
        """Return the whole index as named arrays, for `from_columns`.

        Its segments are merged first, in O(index).
        """
        self._settle()
        while len(self._segments) > 1:
            newer = self._segments.pop()
            older = self._segments.pop()
            self._segments.append(_merged(older, newer))
        segment = self._segments[0] if self._segments else _segment_of([])
        columns: Columns = segment._asdict()
        columns["lengths"] = self._documents["length"]
        columns["total_length"] = np.array([self._total_length], dtype=np.int64)
        return columns

    @classmethod
    def from_columns(cls, columns: Columns) -> Self:
        """Return the index that `columns()` described.

        The arrays may be read-only memory maps and are not copied.
        """
        arrays = {name: np.asarray(array) for name, array in columns.items()}
        index = cls()
        segment = _Segment(
            terms=arrays["terms"],
            offsets=arrays["offsets"],
            documents=arrays["documents"],
            counts=arrays["counts"],
        )
        index._segments = [segment]
        document_columns = {"document.length": arrays["lengths"]}
        index._documents.load("document", document_columns)
        index._total_length = int(arrays["total_length"][0])
        return index

    def _searched(self) -> list[_Segment]:
        """Return the segments that hold anything, with the recent occurrences last."""
        if self._recent_segment is None:
            self._recent_segment = _segment_of(self._recent)
        segments = [*self._segments, self._recent_segment]
        return [segment for segment in segments if len(segment.terms)]

    def _settle(self) -> None:
        """Turn the recent occurrences into a segment.

        It is merged with the one before while that is not twice as large.
        """
        newer = self._recent_segment or _segment_of(self._recent)
        self._recent = []
        self._recent_count = 0
        self._recent_segment = None
        while self._segments:
            older = self._segments[-1]
            if len(older.documents) >= 2 * len(newer.documents):
                break
            self._segments.pop()
            newer = _merged(older, newer)
        if len(newer.documents):
            self._segments.append(newer)


def _idf(n_documents: int, n_holding: int) -> float:
    """Return how rare a token is that so many of the documents hold."""
    odds = (n_documents - n_holding + 0.5) / (n_holding + 0.5)
    return max(math.log(odds), IDF_FLOOR)


def _joined(postings: Sequence[_Postings]) -> _Postings:
    """Return the postings of a term in several segments as one."""
    if not postings:
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    if len(postings) == 1:
        return postings[0]
    documents = np.concatenate([part[0] for part in postings])
    counts = np.concatenate([part[1] for part in postings])
    return documents, counts


def _segment_of(occurrences: Sequence[tuple[_Hashes, _Numbers]]) -> _Segment:
    """Return the segment of words and their documents.

    Args:
        occurrences: Words and their documents, in the order of documents.
    """
    term_parts = [np.zeros(0, dtype=np.uint64)]
    document_parts = [np.zeros(0, dtype=np.int32)]
    for part_terms, part_documents in occurrences:
        term_parts.append(part_terms)
        document_parts.append(part_documents)
    terms = np.concatenate(term_parts)
    documents = np.concatenate(document_parts)
    order = np.argsort(terms, kind="stable")
    terms = terms[order]
    documents = documents[order]
    begins_term = np.ones(len(order), dtype=np.bool_)
    begins_term[1:] = terms[1:] != terms[:-1]
    begins_posting = begins_term.copy()
    begins_posting[1:] |= documents[1:] != documents[:-1]
    starts = np.flatnonzero(begins_posting)
    offsets = np.flatnonzero(begins_term[starts])
    offsets = np.append(offsets, len(starts))
    ends = np.append(starts, len(order))
    counts = np.diff(ends)
    return _Segment(
        terms=terms[begins_term],
        offsets=offsets.astype(np.int64),
        documents=documents[starts],
        counts=counts.astype(np.int32),
    )


def _merged(older: _Segment, newer: _Segment) -> _Segment:
    """Return one segment of two; each document of `newer` is above all of `older`."""
    older_terms = np.repeat(older.terms, np.diff(older.offsets))
    newer_terms = np.repeat(newer.terms, np.diff(newer.offsets))
    occurrences = np.concatenate([older_terms, newer_terms])
    documents = np.concatenate([older.documents, newer.documents])
    counts = np.concatenate([older.counts, newer.counts])
    order = np.argsort(occurrences, kind="stable")  # of two sorted runs one merge
    terms, starts = np.unique(occurrences[order], return_index=True)
    offsets = np.append(starts, len(order))
    return _Segment(
        terms=terms,
        offsets=offsets.astype(np.int64),
        documents=documents[order],
        counts=counts[order],
    )


def _term_hashes(tokens: Iterable[str], count: int) -> _Hashes:
    """Return the hashes of so many tokens."""
    return np.fromiter(map(_term_hash, tokens), dtype=np.uint64, count=count)


@functools.lru_cache(maxsize=65_536)
def _term_hash(token: str) -> int:
    """Return the 64-bit hash of a token."""
    content = token.encode(errors="surrogatepass")
    digest = hashlib.blake2b(content, digest_size=8).digest()
    return int.from_bytes(digest, "little")


@functools.lru_cache(maxsize=65_536)
def _chunk_tokens(chunk: str) -> tuple[str, ...]:
    """Return the tokens of one word, identifier, path or number."""
    if _NUMBER.fullmatch(chunk):
        return (chunk,)
    # A stemmer is not safe to share between threads, and making one costs less than a
    # microsecond.
    stem = Stemmer.Stemmer("english", 0).stemWord
    tokens: list[str] = []
    for part in _with_parts(chunk):
        word = part.casefold()
        if word not in STOP_WORDS:
            tokens += _word_tokens(word, stem)
    return tuple(tokens)


def _with_parts(name: str, level: int = 0) -> list[str]:
    """Return a name and its parts, each of these with its own parts.

    A name without parts stands alone.
    """
    if level == len(_SPLITTERS):
        return [name]
    splitter = _SPLITTERS[level]
    pieces = [piece for piece in splitter.split(name) if piece]
    parts: list[str] = []
    for piece in pieces:
        parts += _with_parts(piece, level + 1)
    if len(pieces) > 1:
        return [name.strip("_"), *parts]
    return parts


def _word_tokens(word: str, stem: Callable[[str], str]) -> list[str]:
    """Return the tokens of a word.

    They are its stem or, of a run in a script without spaces, the pairs of neighbours,
    or its only character.
    """
    tokens: list[str] = []
    for index, run in enumerate(_SCRIPT_RUNS.split(word)):
        is_unspaced = index % 2 == 1  # a split by a captured group alternates
        if is_unspaced:
            tokens += _pairs_of(run)
        elif run.isascii():
            tokens += [stem(run)] if run else []
        else:
            tokens.append(_stem_of_script(run, stem))
    return tokens


def _pairs_of(run: str) -> list[str]:
    """Return the pairs of neighbours of a run, or its only character."""
    if len(run) == 1:
        return [run]
    tokens: list[str] = []
    for start in range(len(run) - 1):
        pair = run[start : start + 2]
        tokens.append(pair)
    noun = _ONE_SYLLABLE.fullmatch(run)
    if noun:
        tokens.append(noun[1])
    return tokens


def _stem_of_script(word: str, stem: Callable[[str], str]) -> str:
    """Return the stem of a word that is not of ASCII letters alone.

    Accents, points and joiners are taken off. A script that several languages use has
    the stemmer of one of them, which serves the others as well as it may.
    """
    pointless = _POINTS.sub("", word)
    plain = _JOINERS.sub("", pointless)
    apart = unicodedata.normalize(
        "NFKD",
        plain,
    )
    bare = _ACCENTED.sub(r"\1", apart)
    plain = unicodedata.normalize(
        "NFKC",
        bare,
    )
    plain = plain.translate(_PLAIN_LETTERS)
    if plain.isascii():
        return stem(plain)
    for script, language in _LANGUAGE_OF_SCRIPT:
        if script.match(plain):
            if language == "arabic":
                plain = _ARABIC_ARTICLE.sub("", plain)
            return str(Stemmer.Stemmer(language, 0).stemWord(plain))
    if _HEBREW.fullmatch(plain):
        return _HEBREW_PREFIX.sub("", plain)
    return plain
