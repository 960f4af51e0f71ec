"""Find the sentences that a person or an agent wrote, and how far each is worth keeping.

What they only pasted or quoted, and what a program handed to them, is left out.
"""

import math
import re
import string
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from functools import cache
from operator import itemgetter
from typing import Literal, NamedTuple

from theorex_lab.text import spoken_patterns as patterns
from theorex_lab.text import worth_signs
from theorex_lab.text.caseless import CaselessTest, caseless_test, lower_case

Speaker = Literal["user", "agent"]
SHORTEST = 15  # characters of a sentence
LONGEST = 400
_LONGEST_ABBREVIATED = 12  # characters that are looked at before a stop
WRAPPED_CHARACTERS = 60  # a line this long that ends in no stop goes on in the next
_ABBREVIATIONS = frozenset(
    "e.g i.e eg ie etc vs cf approx resp incl no fig mr mrs dr st"
    " т.е т.д т.п напр см".split()
)
# The signs of ASCII that `str` calls letters, and digits and white space.
_LETTERS = string.ascii_letters.encode()
_DIGITS_AND_BLANKS = b"0123456789 \t\n\v\f\r\x1c\x1d\x1e\x1f"
_Interval = tuple[int, int]  # start and end in a text
_Tags = list[tuple[str, int]]  # the name of each tag that is open, and its start
# What is worth keeping.
_WORTH_KINDS = (
    "decision",
    "discovery",
    "feature",
    "change",
)
KEPT = 0.4  # the score from which a sentence is worth keeping
_BIAS: dict[Speaker, float] = {
    "user": -1.8,
    "agent": -2.5,
}
_HIGHEST_LOG_ODDS = 50.0


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
    text: str,
    by: Speaker = "agent",
    *,
    doubtful: bool = False,
    short: bool = False,
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
    if by == "user" and _is_foreign_message(text):
        return []
    # Where the user's own words seem to end.
    ends = [len(text)]
    reader = _LineReader(
        text,
        hidden=_hidden_spans(text),
        by=by,
        ends=ends if doubtful else [],
    )
    spans: list[Span] = []
    for start, end in _units(text, reader.read()):
        spans += _sentences(text, start, end, short)
    own_end = min(ends)
    for index, span in enumerate(spans):
        if span.start >= own_end:
            spans[index] = span._replace(own=False)
    return spans


def own_lines(text: str) -> frozenset[int]:
    r"""Return the numbers, from 0, of the lines of a prompt that are its user's own.

    The lines are those of `str.splitlines`. Left out is what `sentences_of` leaves out,
    and all that follows something pasted. A line that announces what was pasted is the
    user's own.

    >>> sorted(own_lines("It fails.\n\nThe output is:\nDone\nUse it"))
    [0, 2]
    """
    if _is_foreign_message(text):
        return frozenset()
    ends = [len(text)]
    hidden = _hidden_spans(text)
    reader = _LineReader(
        text,
        hidden=hidden,
        by="user",
        ends=ends,
    )
    spoken: list[_Interval] = []
    for interval in reader.read():
        if interval is not None:
            spoken.append(interval)
    own_end = min(ends)
    numbers: set[int] = set()
    start = 0
    for number, line in enumerate(text.splitlines(keepends=True)):
        is_before_end = start < own_end or _introduces(line.strip())
        if start <= own_end and is_before_end and _is_in(spoken, start):
            numbers.add(number)
        start += len(line)
    return frozenset(numbers)


def _is_in(intervals: list[_Interval], index: int) -> bool:
    """Return whether an index lies in one of some intervals, which are in order."""
    position = bisect_right(intervals, index, key=itemgetter(0)) - 1
    if position < 0:
        return False
    _, end = intervals[position]
    return index <= end


def _is_foreign_message(text: str) -> bool:
    """Return whether nothing in a user's message is the user's own word."""
    beginning = text.lstrip()[:LONGEST]
    return _pattern(patterns.WHOLE_MESSAGE).match(beginning) is not None


def _hidden_spans(text: str) -> list[_Interval]:
    """Return where fenced code, tagged blocks and comments lie, in order."""
    spans: list[_Interval] = []
    if "<!--" in text or "/*" in text:
        comments = compiled(r"(?:<!--|(?m:^[ \t]*/\*))[\s\S]*?(?:-->|\*/|\Z)")
        for comment in comments.finditer(text):
            span = comment.span()
            spans.append(span)
    if "```" in text or "~~~" in text:
        spans += _fenced(text)
    if "<" in text:
        spans += _tagged(text)
    return sorted(spans)


@cache
def _pattern(lines: tuple[str, ...], *, ignore_case: bool = True) -> re.Pattern[str]:
    """Return the pattern that any of the lines fits, compiled at its first use."""
    flags = re.IGNORECASE if ignore_case else 0
    any_line = "|".join(f"(?:{line})" for line in lines)
    return re.compile(any_line, flags)


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
    fences = compiled(r"`{3,}|(?m:^[ \t]{0,12}~{3,})")
    for fence in fences.finditer(text):
        ticks = fence[0].strip()
        info = _info_after(text, fence.end())
        names_language = info and "`" not in info
        if _closes_fence(ticks, info, opened):
            _, start = opened.pop()
            if not opened:
                yield start, fence.end()
        elif not opened or names_language:
            opened.append((ticks, fence.start()))
    if opened:
        _, outer_start = opened[0]
        yield outer_start, len(text)


def _info_after(text: str, start: int) -> str:
    """Return what stands on the line after a fence, such as its language."""
    line_end = text.find("\n", start)
    if line_end < 0:
        rest = text[start:]
        return rest.strip()
    info_end = min(line_end, start + LONGEST)
    return text[start:info_end].strip()


def _closes_fence(
    ticks: str,
    info: str,
    opened: list[tuple[str, int]],
) -> bool:
    """Return whether a fence closes the last that was opened."""
    if not opened:
        return False
    opening, _ = opened[-1]
    if ticks[0] != opening[0]:
        return False
    if len(ticks) < len(opening):
        return False
    if not info or " " in info:
        return True
    return info[0] in ".,;:)"


def _tagged(text: str) -> Iterator[_Interval]:
    """Yield the blocks between a tag and its end.

    A tag that is never closed reaches to the end where a program writes such tags.
    """
    opened: _Tags = []
    n_opened: Counter[str] = Counter()
    mention_starts = {element.start() for element in _mentions(text)}
    tags = compiled(
        r"<(?P<slash>/?)"
        r"(?P<name>[A-Za-z][\w:-]{0,60}+)"
        r"(?P<rest>[^<>\n]{0,300}+)>"
    )
    for tag in tags.finditer(text):
        name = tag["name"].lower()
        is_end = bool(tag["slash"])
        is_whole = tag["rest"].endswith("/")
        if is_end and n_opened[name]:
            start = _close_tag(name, opened, n_opened)
            if start not in mention_starts:
                yield start, tag.end()
        elif not is_end and not is_whole:
            opened.append((name, tag.start()))
            n_opened[name] += 1
    rest_start = _hidden_rest(text, opened)
    if rest_start is not None:
        yield rest_start, len(text)


def _close_tag(
    name: str,
    opened: _Tags,
    n_opened: Counter[str],
) -> int:
    """Take out the last tag of this name and those within it; return its start."""
    while True:
        closed_name, start = opened.pop()
        n_opened[closed_name] -= 1
        if closed_name == name:
            return start


def _hidden_rest(text: str, opened: _Tags) -> int | None:
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
    elements = compiled(f"(?i){patterns.MENTIONED_ELEMENT}")
    for element in elements.finditer(text):
        start = element.start()
        line_start = text.rfind("\n", 0, start) + 1
        first = max(line_start, start - LONGEST)
        before = text[first:start]
        if any(map(str.isalnum, before)):
            yield element


def _hides_rest(
    text: str,
    name: str,
    start: int,
    alone_on_line: re.Pattern[str],
) -> bool:
    """Return whether a tag that is never closed hides what follows.

    It does where it is alone on its line, or a program's tag that starts a line. Within
    a sentence a tag is a word that the sentence is about.
    """
    if alone_on_line.match(text, start):
        return True
    if not name.startswith(patterns.MACHINE_TAGS):
        return False
    word = compiled(r"<[^<>\n]*>[ \t.,:;?!'\"`)]")
    if word.match(text, start):
        return False
    first = max(0, start - LONGEST)
    before = text[first:start].rstrip(" \t")
    if not before:
        return start <= LONGEST
    return before.endswith("\n")


class _LineReader:
    """Finds the lines of a text in which someone speaks."""

    def __init__(
        self,
        text: str,
        *,
        hidden: list[_Interval],
        by: Speaker,
        ends: list[int],
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
            end = self._line_end(start)
            self._pass_hidden(end)
            read_end = min(end, start + 4 * LONGEST)
            line = self._text[start:read_end]
            bare = line.strip()
            if self._is_user and self._begins_pasted(bare, end):
                if self._is_end(bare):
                    return
                self._ends.append(start)
            is_spoken = self._is_spoken(line)
            is_hidden = self._hidden_to > start
            if is_hidden or not is_spoken:
                yield None
            else:
                yield start, end
            start = end + 1

    def _line_end(self, start: int) -> int:
        """Return where the line ends that begins at `start`."""
        end = self._text.find("\n", start)
        if end < 0:
            return len(self._text)
        return end

    def _pass_hidden(self, line_end: int) -> None:
        """Pass the hidden spans that begin before the end of the line."""
        while self._n_passed < len(self._hidden):
            start, end = self._hidden[self._n_passed]
            if start >= line_end:
                break
            self._hidden_to = max(self._hidden_to, end)
            self._n_passed += 1

    def _begins_pasted(self, bare: str, line_end: int) -> bool:
        """Return whether what follows the line looks pasted."""
        if not bare:
            return False
        beginning = bare[:LONGEST]
        if _pattern(patterns.TO_THE_END).match(beginning):
            return True
        return _introduces(bare) and not self._is_before_hidden(line_end)

    def _is_before_hidden(self, line_end: int) -> bool:
        """Return whether a hidden span follows the line, with white space between."""
        if self._n_passed >= len(self._hidden):
            return False
        hidden_start, _ = self._hidden[self._n_passed]
        blanks = compiled(r"\s*").match(self._text, line_end)
        return blanks is not None and blanks.end() == hidden_start

    def _is_end(self, bare: str) -> bool:
        """Return whether nothing after a line that begins something pasted is read."""
        if not self._ends:
            return True
        beginning = bare[:LONGEST]
        return _pattern(patterns.GIVEN_BACK).match(beginning) is not None

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
        is_quote = bare[0] == ">"
        is_log = is_machine and " " in bare and not is_quote
        self._in_log = continues_log or is_log
        if is_machine or continues_log:
            return False
        if not self._is_user:
            return True
        return _pattern(patterns.NOT_OWN).match(line) is None


def _is_machine_line(line: str, bare: str) -> bool:
    """Return whether a line is a quote, a row of a table, or written by a program."""
    is_quote_or_row = bare[0] in ">|"
    if is_quote_or_row or bare.count("|") > 2:
        return True
    machine_line = _pattern(patterns.MACHINE_LINE, ignore_case=False)
    return machine_line.match(line) is not None


def _introduces(bare: str) -> bool:
    """Return whether a line says that something pasted follows."""
    if not bare.endswith(":"):
        return False
    end = bare[-LONGEST // 2 : -1]
    return _pattern(patterns.INTRODUCTION).search(end) is not None


def _units(text: str, lines: Iterator[_Interval | None]) -> Iterator[_Interval]:
    """Yield the lines, those put together that were wrapped."""
    unit: _Interval | None = None
    for line in [*lines, None]:
        if unit and line and _goes_on_in(text, unit, line):
            start, _ = unit
            _, end = line
            unit = (start, end)
            continue
        if unit:
            yield unit
        unit = line


def _goes_on_in(text: str, unit: _Interval, line: _Interval) -> bool:
    """Return whether lines were wrapped, and the next line goes on with them."""
    start, end = unit
    line_start, _ = line
    if end - start < WRAPPED_CHARACTERS:
        return False
    last_char = text[end - 1]
    if last_char in ".!?:":
        return False
    return text[line_start].islower()


def _sentences(
    text: str,
    start: int,
    end: int,
    short: bool,
) -> Iterator[Span]:
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
    stop_start, stop_end = stop.span()
    next_chars = text[stop_end : stop_end + 2].strip()
    if stop[0].startswith(("..", "…")) and next_chars.islower():
        return True
    if stop[0] != ".":
        return False
    first = max(start, stop_start - _LONGEST_ABBREVIATED)
    words = text[first:stop_start].split()
    if not words:
        return False
    return _is_abbreviated(words[-1], stop_start - start)


def _is_abbreviated(word: str, length: int) -> bool:
    """Return whether the stop after a word is that of an abbreviation or a number.

    Args:
        word: The word before the stop.
        length: How many characters the sentence has before it.
    """
    plain = word.lstrip("(").lower()
    if plain in _ABBREVIATIONS:
        return True
    return word.isdigit() and length < 5


def _whole(
    text: str,
    start: int,
    end: int,
    short: bool,
) -> Iterator[Span]:
    """Yield the sentence in text[start:end] where it is one that can be read."""
    part = text[start:end]
    sentence = part.strip()
    n_blanks = len(part) - len(part.lstrip())
    sentence_start = start + n_blanks
    shortest = 1 if short else SHORTEST
    if not shortest <= len(sentence) <= LONGEST:
        return
    if _is_readable(sentence, short):
        sentence_end = sentence_start + len(sentence)
        with_single_spaces = " ".join(sentence.split())
        yield Span(sentence_start, sentence_end, with_single_spaces)


def _is_readable(sentence: str, short: bool) -> bool:
    """Return whether a sentence is made of words."""
    is_heading = sentence[0] == "#"
    if is_heading or sentence[-1] == ":":
        return False
    if sentence.count("`") % 2:
        return False
    if not _is_worded(sentence, short):
        return False
    if "</" in sentence:
        mentions = f"(?i){patterns.MENTIONED_ELEMENT}|{patterns.MENTIONED_TAG}"
        sentence = compiled(mentions).sub("x", sentence)
    if not _may_be_unreadable(sentence):
        return True
    return not _pattern(patterns.UNREADABLE).search(sentence)


def _may_be_unreadable(sentence: str) -> bool:
    """Return whether a sentence has a sign or a long word, as each unreadable one has.

    Most sentences have neither: that is seen sooner than that no pattern fits.
    """
    if sentence[-1] == "(":
        return True
    if compiled(patterns.UNREADABLE_SIGN).search(sentence):
        return True
    words = sentence.split()
    longest = max(map(len, words))
    return longest >= patterns.SHORTEST_UNREADABLE


def _is_worded(sentence: str, short: bool) -> bool:
    """Return whether enough of a sentence is letters, and it has enough words."""
    code_or_address = compiled(r"`[^`\n]*`|https?://\S+")
    words = code_or_address.sub("x", sentence)
    n_letters, n_spoken = _spoken_signs(words)
    least_letters = 0.4 if short else 0.6
    if n_letters < least_letters * len(words):
        return False
    if n_spoken < 0.8 * len(words):
        return False
    if short or len(words.split()) >= 3:
        return True
    unspaced_letters = compiled("[\u3040-\u9fff\u0e00-\u0eff]").findall(words)
    return len(unspaced_letters) >= SHORTEST // 2


def _spoken_signs(words: str) -> tuple[int, int]:
    """Return how many signs are letters, and how many letters, digits and blanks."""
    if words.isascii():
        signs = words.encode()
        others = signs.translate(None, _LETTERS)
        n_letters = len(signs) - len(others)
        unspoken = others.translate(None, _DIGITS_AND_BLANKS)
        n_spoken = len(signs) - len(unspoken)
        return n_letters, n_spoken
    n_letters = sum(map(str.isalpha, words))
    n_blanks = sum(map(str.isspace, words))
    n_spoken = sum(map(str.isalnum, words)) + n_blanks
    return n_letters, n_spoken


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
    odds = []
    for kind in _WORTH_KINDS:
        log_odds = shared + _weight(kind, sentence)
        log_odds = min(_HIGHEST_LOG_ODDS, log_odds)
        odds.append(math.exp(log_odds))
    probability = 1 - 1 / (1 + sum(odds))
    return round(probability, 3)


def _weight(section: str, sentence: str) -> float:
    """Return the sum of the weights of a section's signs in a sentence."""
    lower = lower_case(sentence)
    weights = []
    for weight, sign in _signs(section):
        if sign.is_in(sentence, lower):
            weights.append(weight)
    return sum(weights)


@cache
def _signs(section: str) -> list[tuple[float, CaselessTest]]:
    """Return the signs of a section with their weights, compiled at the first use."""
    signs = []
    for weight, sign in worth_signs.SIGNS[section]:
        signs.append((weight, caseless_test(sign)))
    return signs
