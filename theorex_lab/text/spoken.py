"""Find the sentences that a person or an agent wrote, and how far each is worth keeping.

What they only pasted or quoted, and what a program handed to them, is left out.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

from theorex_lab.text import spoken_patterns as patterns
from theorex_lab.text import worth_signs

Speaker = Literal["user", "agent"]
SHORTEST = 15  # characters of a sentence
LONGEST = 400
WRAPPED_CHARACTERS = 60  # a line this long that ends in no stop goes on in the next
_ABBREVIATIONS = frozenset(
    "e.g i.e eg ie etc vs cf approx resp incl no fig mr mrs dr st т.е т.д т.п напр см".split()
)
_Interval = tuple[int, int]
_WORTH_KINDS = ("decision", "discovery", "feature", "change")  # what is worth keeping
KEPT = 0.4  # the score from which a sentence is worth keeping
_BIAS: dict[Speaker, float] = {"user": -1.8, "agent": -2.5}


class Span(NamedTuple):
    """A sentence of a text.

    Attributes:
        start: Where it begins in the text.
        end: Where it ends in the text.
        text: The sentence, with its white space folded.
        own: Whether it is surely its speaker's word.
    """

    start: int
    end: int
    text: str
    own: bool = True


def sentences_of(
    text: str, by: Speaker = "agent", *, doubtful: bool = False, short: bool = False
) -> list[Span]:
    r"""Return the whole, readable sentences and list items of a text, in their order.

    Each has 15 to 400 characters. Takes time linear in the text.

    Left out whoever speaks: fenced code (closed or not), quoted lines, tables, logs,
    diffs, code, bare paths and addresses, tagged blocks, and the memory that was given
    to an agent.

    Args:
        text: The whole message.
        by: Who speaks. "user" also leaves out pasted logs, pages and answers,
            expansions of commands, summaries of earlier conversations and prompts made
            for other agents.
        doubtful: Also return what follows something that looks pasted, which may be the
            user's own again.
        short: Also return sentences that are shorter or have fewer words, down to one,
            and those of which more is numbers.

    >>> [
    ...     span.text
    ...     for span in sentences_of(
    ...         "> Always run curl.\nUse tabs, not spaces. Thanks!", by="user"
    ...     )
    ... ]
    ['Use tabs, not spaces.']
    """
    if by == "user" and _pattern(patterns.WHOLE_MESSAGE).match(text.lstrip()[:LONGEST]):
        return []
    # Where the user's own words seem to end.
    ends = [len(text)]
    lines = _LineReader(text, _hidden_spans(text), by, ends if doubtful else [])
    spans: list[Span] = []
    for start, end in _units(text, lines.read()):
        spans += _sentences(text, start, end, short)
    own_end = min(ends)
    return [
        span if span.start < own_end else span._replace(own=False) for span in spans
    ]


def _hidden_spans(text: str) -> list[_Interval]:
    """Return where fenced code, tagged blocks and comments lie, in order."""
    comments = compiled(r"(?:<!--|(?m:^[ \t]*/\*))[\s\S]*?(?:-->|\*/|\Z)")
    spans = [comment.span() for comment in comments.finditer(text)]
    return sorted([*_fenced(text), *_tagged(text), *spans])


@cache
def _pattern(lines: tuple[str, ...], *, ignore_case: bool = True) -> re.Pattern[str]:
    """Return the pattern that any of the lines fits, compiled at its first use."""
    flags = re.IGNORECASE if ignore_case else 0
    return re.compile("|".join(f"(?:{line})" for line in lines), flags)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern, compiled at its first use."""
    return re.compile(pattern)


def _fenced(text: str) -> Iterator[_Interval]:
    """Yield where fenced code lies.

    A fence within a fence names its language, and is closed before the outer one. A
    fence that is never closed reaches to the end.
    """
    opened: list[tuple[str, int]] = []
    for fence in compiled(r"`{3,}|(?m:^[ \t]{0,12}~{3,})").finditer(text):
        ticks = fence[0].strip()
        info = _info_after(text, fence.end())
        if _closes_fence(ticks, info, opened):
            _, start = opened.pop()
            if not opened:
                yield start, fence.end()
        elif not opened or (info and "`" not in info):
            opened.append((ticks, fence.start()))
    if opened:
        yield opened[0][1], len(text)


def _info_after(text: str, start: int) -> str:
    """Return what stands on the line after a fence, such as its language."""
    line_end = text.find("\n", start)
    if line_end < 0:
        return text[start:].strip()
    return text[start : min(line_end, start + LONGEST)].strip()


def _closes_fence(ticks: str, info: str, opened: list[tuple[str, int]]) -> bool:
    """Return whether a fence closes the last that was opened."""
    if not opened:
        return False
    opening = opened[-1][0]
    if ticks[0] != opening[0] or len(ticks) < len(opening):
        return False
    return not info or info[0] in ".,;:)" or " " in info


def _tagged(text: str) -> Iterator[_Interval]:
    """Yield the blocks between a tag and its end.

    A tag that is never closed reaches to the end where a program writes such tags.
    """
    opened: list[tuple[str, int]] = []
    n_opened: Counter[str] = Counter()
    mention_starts = {element.start() for element in _mentions(text)}
    tags = compiled(r"<(/?)([A-Za-z][\w:-]{0,60}+)([^<>\n]{0,300}+)>")
    for tag in tags.finditer(text):
        name = tag[2].lower()
        is_end = bool(tag[1])
        if not is_end and not tag[3].endswith("/"):
            opened.append((name, tag.start()))
            n_opened[name] += 1
        elif is_end and n_opened[name]:
            start = _close_tag(name, opened, n_opened)
            if start not in mention_starts:
                yield start, tag.end()
    rest_start = _hidden_rest(text, opened)
    if rest_start is not None:
        yield rest_start, len(text)


def _close_tag(name: str, opened: list[tuple[str, int]], n_opened: Counter[str]) -> int:
    """Take out the last tag of this name and those within it; return its start."""
    while opened[-1][0] != name:
        inner_name, _ = opened.pop()
        n_opened[inner_name] -= 1
    n_opened[name] -= 1
    return opened.pop()[1]


def _hidden_rest(text: str, opened: list[tuple[str, int]]) -> int | None:
    """Return where the first tag stands that hides the rest of the text, if any."""
    alone_on_line = compiled(r"(?m:^)[ \t]*<[^<>\n]{1,360}>[ \t]*(?=\n|\Z)")
    for name, start in opened:
        if _hides_rest(text, name, start, alone_on_line):
            return start
    return None


def _mentions(text: str) -> Iterator[re.Match[str]]:
    """Yield the elements of programs that a sentence is about.

    Words stand before such an element on its line.
    """
    if "</" not in text:
        return
    for element in compiled(f"(?i){patterns.MENTIONED_ELEMENT}").finditer(text):
        line_start = text.rfind("\n", 0, element.start()) + 1
        before = text[max(line_start, element.start() - LONGEST) : element.start()]
        if any(map(str.isalnum, before)):
            yield element


def _hides_rest(
    text: str, name: str, start: int, alone_on_line: re.Pattern[str]
) -> bool:
    """Return whether a tag that is never closed hides what follows.

    It does where it is alone on its line, or a program's tag that starts a line. Within
    a sentence a tag is a word that the sentence is about.
    """
    if alone_on_line.match(text, start):
        return True
    before = text[max(0, start - LONGEST) : start].rstrip(" \t")
    starts_line = before.endswith("\n") or (not before and start <= LONGEST)
    is_word = compiled(r"<[^<>\n]*>[ \t.,:;?!'\"`)]").match(text, start)
    return name.startswith(patterns.MACHINE_TAGS) and starts_line and not is_word


class _LineReader:
    """Finds the lines of a text in which someone speaks."""

    def __init__(
        self, text: str, hidden: list[_Interval], by: Speaker, ends: list[int]
    ) -> None:
        """Begin at the start of a text.

        Args:
            text: The whole message.
            hidden: Where code, tags and comments lie, in order.
            by: Who speaks.
            ends: Where a user's own words seem to end. Each such index is added; where
                it is empty, the reading ends there.
        """
        self._text = text
        self._hidden = hidden
        self._is_user = by == "user"
        self._ends = ends
        self._n_passed = 0  # of the hidden spans
        self._hidden_to = 0
        self._in_log = False

    def read(self) -> Iterator[_Interval | None]:
        """Yield the lines; None where those before and after do not belong together."""
        start = 0
        while start < len(self._text):
            end = self._text.find("\n", start)
            if end < 0:
                end = len(self._text)
            self._pass_hidden(end)
            line = self._text[start : min(end, start + 4 * LONGEST)]
            if self._is_user and self._begins_pasted(line.strip(), end):
                if self._is_end(line.strip()):
                    return
                self._ends.append(start)
            is_spoken = self._is_spoken(line) and self._hidden_to <= start
            yield (start, end) if is_spoken else None
            start = end + 1

    def _pass_hidden(self, line_end: int) -> None:
        """Pass the hidden spans that begin before the end of the line."""
        hidden = self._hidden
        while self._n_passed < len(hidden) and hidden[self._n_passed][0] < line_end:
            self._hidden_to = max(self._hidden_to, hidden[self._n_passed][1])
            self._n_passed += 1

    def _begins_pasted(self, bare: str, line_end: int) -> bool:
        """Return whether what follows the line looks pasted."""
        if not bare:
            return False
        if _pattern(patterns.TO_THE_END).match(bare[:LONGEST]):
            return True
        return _introduces(bare) and not self._is_before_hidden(line_end)

    def _is_before_hidden(self, line_end: int) -> bool:
        """Return whether a hidden span follows the line, with white space between."""
        if self._n_passed >= len(self._hidden):
            return False
        blanks = compiled(r"\s*").match(self._text, line_end)
        return blanks is not None and self._hidden[self._n_passed][0] == blanks.end()

    def _is_end(self, bare: str) -> bool:
        """Return whether nothing after a line that begins something pasted is read."""
        if not self._ends:
            return True
        return _pattern(patterns.GIVEN_BACK).match(bare[:LONGEST]) is not None

    def _is_spoken(self, line: str) -> bool:
        """Return whether a line is no log, table, quote or other text of a machine.

        What stands right below a line of a log is the log's next line.
        """
        bare = line.strip()
        if not bare:
            self._in_log = False
            return False
        is_machine = _is_machine_line(line, bare)
        continues_log = self._in_log and self._is_user
        is_log = is_machine and " " in bare and bare[0] != ">"
        self._in_log = continues_log or is_log
        if is_machine or continues_log:
            return False
        return not (self._is_user and _pattern(patterns.NOT_OWN).match(line))


def _is_machine_line(line: str, bare: str) -> bool:
    """Return whether a line is a quote, a row of a table, or written by a program."""
    if bare[0] in ">|" or bare.count("|") > 2:
        return True
    machine_line = _pattern(patterns.MACHINE_LINE, ignore_case=False)
    return machine_line.match(line) is not None


def _introduces(bare: str) -> bool:
    """Return whether a line says that something pasted follows."""
    return bare[-1] == ":" and bool(
        _pattern(patterns.INTRODUCTION).search(bare[-LONGEST // 2 : -1])
    )


def _units(text: str, lines: Iterator[_Interval | None]) -> Iterator[_Interval]:
    """Yield the lines, those put together that were wrapped."""
    unit: _Interval | None = None
    for line in [*lines, None]:
        is_wrapped = (
            unit
            and unit[1] - unit[0] >= WRAPPED_CHARACTERS
            and text[unit[1] - 1] not in ".!?:"
        )
        if unit and line and is_wrapped and text[line[0]].islower():
            unit = unit[0], line[1]
            continue
        if unit:
            yield unit
        unit = line


def _sentences(text: str, start: int, end: int, short: bool) -> Iterator[Span]:
    """Yield the sentences of one line or item."""
    marker = _pattern(patterns.LIST_MARKER).match(text, start, end)
    sentence_start = marker.end() if marker else start
    stops = compiled(r"[.!?…。！？]++[\"'”’»)\]*_`]{0,4}+(?:(?=\s|\Z)|(?<=[。！？]))")
    for stop in stops.finditer(text, sentence_start, end):
        if _goes_on(text, sentence_start, stop):
            continue
        yield from _whole(text, sentence_start, stop.end(), short)
        sentence_start = stop.end()
    yield from _whole(text, sentence_start, end, short)


def _goes_on(text: str, start: int, stop: re.Match[str]) -> bool:
    """Return whether a stop is within the sentence that begins at `start`."""
    next_chars = text[stop.end() : stop.end() + 2]
    if stop[0].startswith(("..", "…")) and next_chars.strip().islower():
        return True
    if stop[0] != ".":
        return False
    words = text[max(start, stop.start() - 12) : stop.start()].split()
    return bool(words) and _is_abbreviated(words[-1], stop.start() - start)


def _is_abbreviated(word: str, length: int) -> bool:
    """Return whether the stop after a word is that of an abbreviation or a number.

    Args:
        word: The word before the stop.
        length: How many characters the sentence has before it.
    """
    if word.lstrip("(").lower() in _ABBREVIATIONS:
        return True
    return word.isdigit() and length < 5


def _whole(text: str, start: int, end: int, short: bool) -> Iterator[Span]:
    """Yield the sentence in text[start:end] where it is one that can be read."""
    part = text[start:end]
    sentence = part.strip()
    sentence_start = start + len(part) - len(part.lstrip())
    shortest = 1 if short else SHORTEST
    if shortest <= len(sentence) <= LONGEST and _is_readable(sentence, short):
        sentence_end = sentence_start + len(sentence)
        yield Span(sentence_start, sentence_end, " ".join(sentence.split()))


def _is_readable(sentence: str, short: bool) -> bool:
    """Return whether a sentence is made of words."""
    if sentence[0] == "#" or sentence[-1] == ":" or sentence.count("`") % 2:
        return False
    if not _is_worded(sentence, short):
        return False
    if "</" in sentence:
        mentions = f"(?i){patterns.MENTIONED_ELEMENT}|{patterns.MENTIONED_TAG}"
        sentence = compiled(mentions).sub("x", sentence)
    return not _pattern(patterns.UNREADABLE).search(sentence)


def _is_worded(sentence: str, short: bool) -> bool:
    """Return whether enough of a sentence is letters, and it has enough words."""
    words = compiled(r"`[^`\n]*`|https?://\S+").sub("x", sentence)
    n_letters = sum(map(str.isalpha, words))
    n_spoken = sum(map(str.isalnum, words)) + sum(map(str.isspace, words))
    least_letters = 0.4 if short else 0.6
    if n_letters < least_letters * len(words) or n_spoken < 0.8 * len(words):
        return False
    if short or len(words.split()) >= 3:
        return True
    unspaced_letters = compiled("[\u3040-\u9fff\u0e00-\u0eff]").findall(words)
    return len(unspaced_letters) >= SHORTEST // 2


def worth(sentence: str, by: Speaker = "agent") -> float:
    """Return how much a sentence is worth keeping, from 0 to 1.

    It is worth much where it tells of a decision, discovery, feature or change.

    >>> worth(
    ...     "The root cause is that `parse` reads only the first line,"
    ...     " because the cursor is never reset."
    ... ) >= KEPT
    True
    >>> worth("All tests pass.") >= KEPT
    False
    """
    shared = _BIAS[by] + _weight("any", sentence)
    odds = [
        math.exp(min(50.0, shared + _weight(kind, sentence))) for kind in _WORTH_KINDS
    ]
    return round(1 - 1 / (1 + sum(odds)), 3)


def _weight(section: str, sentence: str) -> float:
    """Return the sum of the weights of a section's signs in a sentence."""
    return sum(weight for weight, sign in _signs(section) if sign.search(sentence))


@cache
def _signs(section: str) -> list[tuple[float, re.Pattern[str]]]:
    """Return the signs of a section with their weights, compiled at the first use."""
    return [
        (weight, re.compile(sign, re.IGNORECASE))
        for weight, sign in worth_signs.SIGNS[section]
    ]
