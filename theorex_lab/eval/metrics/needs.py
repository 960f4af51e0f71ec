"""Score contexts by what sessions needed to know: how much of it do they cover?

A reader of recorded sessions wrote down what an agent would have wanted to be told when
a session began (`eval.datasets.session_needs`). A context is what a memory gives there:
a text at the start, and a further one, of the same budget, once the first prompt is
known. The rules:

* A text is cut at four bytes a token. What a cut leaves of a character is dropped.
* Of its lines those are read that say something by themselves: blank lines, code
  fences, headings (`#`), quotes (`>`), markup (`<`), and titles (shorter than 60
  characters, with a colon at the end) are passed over.
* A line tells a need where its first 240 bytes hold all strings of one of the need's
  alternatives. White space, case, and Markdown's escapes make no difference.
* A line is a wall of names where more than two of its words, and more than half, are
  names (files, identifiers, code in backticks, each span one). It tells nothing.
* A line tells at most two needs: of those that no line above it tells, the gravest, and
  of equally grave ones those that the reader wrote first.

The figures of a session:

* start: the grades of the needs that the start's text covers, of those known to be
  needed before the first prompt, as a share of all their grades.
* all: the same of all needs, by both texts together.
* useful: the share of the bytes read that stand in lines which could tell a need, or in
  names of files that the session reads or edits.
* tokens: the bytes read, a quarter of them.
* wall: the most names of files in one line.

Figures are means over the sessions that have such needs, with bootstrap intervals over
sessions. Coverage by kind of need is the share by grade of that kind's needs, as a mean
over the sessions that have some.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from theorex_lab.eval.datasets.needs_rows import START, Need
from theorex_lab.text.line import BYTES_PER_TOKEN

LINE_BYTES = 240
NEEDS_A_LINE = 2
START_COVERED = "start"
ALL_COVERED = "all"
USEFUL = "useful"
TOKENS = "tokens"
WALL = "wall"
FIGURES = (START_COVERED, ALL_COVERED, USEFUL, TOKENS, WALL)
RESAMPLES = 2_000
_TITLE_CHARACTERS = 60
_FEW_NAMES = 2
# What a line begins with that says nothing by itself.
_NO_STATEMENT = re.compile(r"\s*(?:```|#|>|<)")
_ESCAPE = re.compile(r"\\([\\`*_\[\]<>#|~!.+-])")
_SPACE = re.compile(r"\s+")
_PATH_SIGN = r"[\w@.+\-/\[\]()~%]"
_FILE_NAME = re.compile(rf"{_PATH_SIGN}*\.[A-Za-z]\w{{0,7}}\b")
_NAME_SIGN = r"[\w@.+\-/\[\]()~%$:]"
# What makes a word a name: a capital after a small letter or digit, an underscore, a
# slash, a dot within, or two colons.
_NAME_MARK = r"(?:[a-z0-9][A-Z]|_|/|\w\.\w|::)"
_NAME = re.compile(rf"`[^`]*`|{_NAME_SIGN}*{_NAME_MARK}{_NAME_SIGN}*")
_PLAIN_WORD = re.compile(r"[^\W\d_]{2,}")

Match = tuple[tuple[str, ...], ...]


class ContextTexts(NamedTuple):
    """What a memory gives for one session within a budget.

    Attributes:
        start: What it gives at the start.
        asked: What it gives further once the first prompt is known.
    """

    start: str = ""
    asked: str = ""


class ToldNeed(NamedTuple):
    """A need and the line that tells it, '' where none does."""

    need: Need
    line: str = ""


@dataclass(frozen=True)
class ContextScore:
    """The figures of one context.

    Attributes:
        figures: By their names; NaN where nothing of the kind is needed or given.
        start_kinds: By kind of need, the share that the start's text covers of the
            needs known before the first prompt.
        all_kinds: By kind of need, the share that both texts cover of all needs.
        start_needs: The needs known before the first prompt, with the lines of the
            start's text that tell them.
        all_needs: All needs, with the lines of both texts that tell them.
    """

    figures: dict[str, float]
    start_kinds: dict[str, float]
    all_kinds: dict[str, float]
    start_needs: tuple[ToldNeed, ...]
    all_needs: tuple[ToldNeed, ...]


class SessionMean(NamedTuple):
    """A mean with its 95 % bootstrap interval, over `n` sessions; NaN without any."""

    value: float
    ci_low: float
    ci_high: float
    n: int


def score_context(
    context: ContextTexts,
    needs: Sequence[Need],
    tokens: int,
    *,
    touched_files: Collection[str] = (),
) -> ContextScore:
    """Return how much of a session's needs a context covers.

    Args:
        context: What was given.
        needs: What the session needed.
        tokens: The budget of each of the two texts.
        touched_files: The paths that the session reads or edits, in lower case.
    """
    start_lines = statement_lines(context.start, tokens)
    all_lines = start_lines + statement_lines(context.asked, tokens)
    known_at_start = [need for need in needs if need.when == START]
    start_needs = match_lines(start_lines, known_at_start)
    all_needs = match_lines(all_lines, needs)
    n_bytes = 0
    n_useful_bytes = 0
    for line in all_lines:
        n_bytes += _byte_size(line)
        n_useful_bytes += _useful_bytes(line, needs, touched_files)
    figures = {
        START_COVERED: _covered_share(start_needs),
        ALL_COVERED: _covered_share(all_needs),
        USEFUL: _share(n_useful_bytes, n_bytes),
        TOKENS: n_bytes / BYTES_PER_TOKEN,
        WALL: float(longest_wall(all_lines)),
    }
    return ContextScore(
        figures=figures,
        start_kinds=_covered_by_kind(start_needs),
        all_kinds=_covered_by_kind(all_needs),
        start_needs=tuple(start_needs),
        all_needs=tuple(all_needs),
    )


def statement_lines(text: str, tokens: int) -> list[str]:
    r"""Return the lines of a text that are read, as far as the budget reaches.

    >>> statement_lines("# Rules\n\nNever commit.\nRecent work:\n", 500)
    ['Never commit.']
    """
    beginning = _first_bytes(text, BYTES_PER_TOKEN * tokens)
    lines = []
    for line in beginning.splitlines():
        if _is_statement(line):
            lines.append(line)
    return lines


def _first_bytes(text: str, n_bytes: int) -> str:
    """Return the beginning of a text, without the rest of a cut character."""
    content = text.encode("utf-8", "replace")
    beginning = content[:n_bytes]
    return beginning.decode("utf-8", "ignore")


def _is_statement(line: str) -> bool:
    """Return whether a line says something by itself."""
    if not line.strip() or _NO_STATEMENT.match(line):
        return False
    is_short = len(line) < _TITLE_CHARACTERS
    is_title = is_short and line.rstrip().endswith(":")
    return not is_title


def match_lines(lines: Iterable[str], needs: Sequence[Need]) -> list[ToldNeed]:
    """Return each need with the first line that tells it.

    Args:
        lines: The lines in the order in which they are read.
        needs: The needs; their ids differ.
    """
    line_by_need: dict[str, str] = {}
    for line in lines:
        fitting = []
        for need in needs:
            if need.id not in line_by_need and is_told(line, need):
                fitting.append(need)
        # The sort is stable: of equal grades those written first come first.
        fitting.sort(key=lambda need: -need.grade)
        for need in fitting[:NEEDS_A_LINE]:
            line_by_need[need.id] = line
    told_needs = []
    for need in needs:
        line = line_by_need.get(need.id, "")
        told_needs.append(ToldNeed(need, line))
    return told_needs


def is_told(line: str, need: Need) -> bool:
    """Return whether a line tells a need."""
    text = _readable_beginning(line)
    if not holds_match(text, need):
        return False
    return not is_wall(line)


def holds_match(text: str, need: Need) -> bool:
    """Return whether a comparable text holds all strings of one alternative."""
    alternatives = comparable_match(need.match)
    return any(_holds_all(text, parts) for parts in alternatives)


def _holds_all(text: str, parts: Iterable[str]) -> bool:
    """Return whether a text holds all of these strings."""
    return all(part in text for part in parts)


def comparable(text: str) -> str:
    r"""Return a text without what makes no difference.

    That is white space, case, and Markdown's escapes.

    >>> comparable("  Use\t`go_test` \\*always\\* ")
    'use `go_test` *always*'
    """
    plain_text = _ESCAPE.sub(r"\1", text)
    return _SPACE.sub(" ", plain_text).strip().lower()


@lru_cache(1 << 14)
def _readable_beginning(line: str) -> str:
    """Return the beginning of a line that is read, to be compared."""
    beginning = _first_bytes(line, LINE_BYTES)
    return comparable(beginning)


@lru_cache(1 << 12)
def comparable_match(match: Match) -> Match:
    """Return the alternatives of a need, to be compared."""
    alternatives = []
    for parts in match:
        comparable_parts = [comparable(part) for part in parts]
        alternatives.append(tuple(comparable_parts))
    return tuple(alternatives)


def is_wall(line: str) -> bool:
    """Return whether a line is mostly names.

    >>> is_wall("src/a.py, src/b.py, src/c.py and others")
    True
    >>> is_wall("Run `make test` before `git push`, always.")
    False
    """
    n_names = len(_NAME.findall(line))
    if n_names <= _FEW_NAMES:
        return False
    other_text = _NAME.sub(" ", line)
    n_words = n_names + len(_PLAIN_WORD.findall(other_text))
    return n_names > n_words / 2


def longest_wall(lines: Iterable[str]) -> int:
    """Return the most names of files that stand in one line."""
    longest = 0
    for line in lines:
        n_names = len(_FILE_NAME.findall(line))
        longest = max(longest, n_names)
    return longest


def _useful_bytes(
    line: str, needs: Iterable[Need], touched_files: Collection[str]
) -> int:
    """Return how many bytes of a line are of use to the session."""
    n_bytes = _byte_size(line)
    if any(is_told(line, need) for need in needs):
        return n_bytes
    n_named_bytes = 0
    for name in _FILE_NAME.findall(line):
        if _is_touched(name, touched_files):
            n_named_bytes += _byte_size(name) + 1  # with what parts it from the next
    return min(n_bytes, n_named_bytes)


def _is_touched(name: str, touched_files: Collection[str]) -> bool:
    """Return whether the end of a file's path is this name."""
    end = name.lower().lstrip("./~")
    return any(path.endswith(end) for path in touched_files)


def _byte_size(text: str) -> int:
    """Return the number of bytes of a text."""
    return len(text.encode("utf-8", "replace"))


def _covered_share(told_needs: Sequence[ToldNeed]) -> float:
    """Return the share by grade of needs that a line tells; NaN without needs."""
    covered = 0
    total = 0
    for row in told_needs:
        total += row.need.grade
        if row.line:
            covered += row.need.grade
    return _share(covered, total)


def _covered_by_kind(told_needs: Sequence[ToldNeed]) -> dict[str, float]:
    """Return the share by grade of each kind of need."""
    by_kind: dict[str, list[ToldNeed]] = defaultdict(list)
    for row in told_needs:
        by_kind[row.need.kind].append(row)
    return {kind: _covered_share(rows) for kind, rows in by_kind.items()}


def _share(part: float, whole: float) -> float:
    """Return the share that a part is of the whole; NaN where there is none."""
    if not whole:
        return math.nan
    return part / whole


def mean_interval(values: Iterable[float], *, seed: int = 0) -> SessionMean:
    """Return the mean of values, without the NaN, with its interval.

    Args:
        values: A value a session.
        seed: Draws the resamples.
    """
    return mean_of_groups([values], seed=seed)


def mean_of_groups(groups: Iterable[Iterable[float]], *, seed: int = 0) -> SessionMean:
    """Return the mean of the groups' means; each group counts the same.

    Sessions are resampled within their group.

    Args:
        groups: The values of each project's sessions; NaN is left out, and so is a
            group without values.
        seed: Draws the resamples.
    """
    samples = []
    for values in groups:
        present = [value for value in values if not math.isnan(value)]
        if present:
            samples.append(np.asarray(present))
    if not samples:
        return SessionMean(
            value=math.nan,
            ci_low=math.nan,
            ci_high=math.nan,
            n=0,
        )
    generator = np.random.default_rng(seed)
    resampled_means = []
    for sample in samples:
        n_values = len(sample)
        draws = generator.integers(0, n_values, (RESAMPLES, n_values))
        resamples = sample[draws]
        resampled_means.append(resamples.mean(axis=1))
    means = np.mean(resampled_means, axis=0)
    ci_low, ci_high = np.percentile(means, [2.5, 97.5])
    value = np.mean([sample.mean() for sample in samples])
    n_sessions = sum(len(sample) for sample in samples)
    return SessionMean(
        value=float(value),
        ci_low=float(ci_low),
        ci_high=float(ci_high),
        n=n_sessions,
    )
