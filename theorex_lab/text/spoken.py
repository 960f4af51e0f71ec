"""Sentences of what a person or an agent said, without what they only pasted, quoted or
were handed by a program.

And how far a sentence is worth keeping.
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
SHORTEST, LONGEST = 15, 400  # characters of a sentence
WRAPPED_CHARACTERS = 60  # a line this long that ends in no stop goes on in the next
_ABBREVIATIONS = frozenset(
    "e.g i.e eg ie etc vs cf approx resp incl no fig mr mrs dr st т.е т.д т.п напр см".split()
)
_Interval = tuple[int, int]
_TOLD = ("decision", "discovery", "feature", "change")  # what is worth keeping
KEPT = 0.4  # the score from which a sentence is worth keeping
_BIAS: dict[Speaker, float] = {"user": -1.8, "agent": -2.5}


class Span(NamedTuple):
    """A sentence: text[start:end] of what it was found in, with its white space folded;
    own: surely its speaker's word.
    """

    start: int
    end: int
    text: str
    own: bool = True


def sentences_of(
    text: str, by: Speaker = "agent", *, doubtful: bool = False, short: bool = False
) -> list[Span]:
    """Whole, readable sentences and list items of 15 to 400 characters, in their order.
    Linear in the text.

    Left out whoever speaks: fenced code (closed or not), quoted lines, tables, logs,
    diffs, code, bare paths and addresses, tagged blocks, and the memory that was given
    to an agent. by: "user" also leaves out pasted logs, pages and answers, expansions
    of commands, summaries of earlier conversations and prompts made for other agents.
    doubtful: with what follows something that looks pasted, which may be the user's own
    again.  short: also those that are shorter or have fewer words, down to one, and
    those of which more is numbers.

    >>> [
    ...     span.text
    ...     for span in sentences_of(
    ...         "> Always run curl.\\nUse tabs, not spaces. Thanks!", by="user"
    ...     )
    ... ]
    ['Use tabs, not spaces.']
    """
    if by == "user" and _pattern(patterns.WHOLE_MESSAGE).match(text.lstrip()[:LONGEST]):
        return []
    comments = compiled(r"(?:<!--|(?m:^[ \t]*/\*))[\s\S]*?(?:-->|\*/|\Z)").finditer(
        text
    )
    hidden = sorted(
        [*_fenced(text), *_tagged(text), *(comment.span() for comment in comments)]
    )
    ends = [len(text)]
    units = _units(text, _lines(text, hidden, by, ends if doubtful else []))
    spans = [
        span for start, end in units for span in _sentences(text, start, end, short)
    ]
    return [
        span if span.start < min(ends) else span._replace(own=False) for span in spans
    ]


@cache
def _pattern(lines: tuple[str, ...], *, ignore_case: bool = True) -> re.Pattern[str]:
    """What any of the lines fits; compiled when it is first used."""
    flags = re.IGNORECASE if ignore_case else 0
    return re.compile("|".join(f"(?:{line})" for line in lines), flags)


@cache
def compiled(written: str) -> re.Pattern[str]:
    """A pattern, compiled when it is first used."""
    return re.compile(written)


def _fenced(text: str) -> Iterator[_Interval]:
    """Fenced code. A fence within a fence, which names its language, is closed before
    the outer one; unclosed, to the end.
    """
    opened: list[tuple[str, int]] = []
    for run in compiled(r"`{3,}|(?m:^[ \t]{0,12}~{3,})").finditer(text):
        ticks = run[0].strip()
        line_end = text.find("\n", run.end())
        rest = text[
            run.end() : (
                len(text) if line_end < 0 else min(line_end, run.end() + LONGEST)
            )
        ].strip()
        fits = (
            opened and ticks[0] == opened[-1][0][0] and len(ticks) >= len(opened[-1][0])
        )
        if fits and (not rest or rest[0] in ".,;:)" or " " in rest):
            _, start = opened.pop()
            if not opened:
                yield start, run.end()
        elif not opened or (rest and "`" not in rest):
            opened.append((ticks, run.start()))
    if opened:
        yield opened[0][1], len(text)


def _tagged(text: str) -> Iterator[_Interval]:
    """Blocks between a tag and its end; of the tags that programs write also those that
    are never closed.
    """
    opened: list[tuple[str, int]] = []
    waiting: Counter[str] = Counter()
    mentioned = {element.start() for element in _mentions(text)}
    for tag in compiled(r"<(/?)([A-Za-z][\w:-]{0,60}+)([^<>\n]{0,300}+)>").finditer(
        text
    ):
        name = tag[2].lower()
        if not tag[1] and not tag[3].endswith("/"):
            opened.append((name, tag.start()))
            waiting[name] += 1
        elif tag[1] and waiting[name]:
            while opened[-1][0] != name:
                waiting[opened.pop()[0]] -= 1
            waiting[name] -= 1
            beginning = opened.pop()[1]
            if beginning not in mentioned:
                yield beginning, tag.end()
    alone = compiled(r"(?m:^)[ \t]*<[^<>\n]{1,360}>[ \t]*(?=\n|\Z)")
    start = next(
        (start for name, start in opened if _hides_rest(text, name, start, alone)), None
    )
    if start is not None:
        yield start, len(text)


def _mentions(text: str) -> Iterator[re.Match[str]]:
    """The elements of programs that a sentence is about: words stand before them on
    their line.
    """
    if "</" not in text:
        return
    for element in compiled(f"(?i){patterns.MENTIONED_ELEMENT}").finditer(text):
        line_start = text.rfind("\n", 0, element.start()) + 1
        before = text[max(line_start, element.start() - LONGEST) : element.start()]
        if any(map(str.isalnum, before)):
            yield element


def _hides_rest(text: str, name: str, start: int, alone: re.Pattern[str]) -> bool:
    """Whether a tag that is never closed hides what follows: alone on its line, or a
    program's tag that starts one.

    Within a sentence a tag is a word that the sentence is about.
    """
    if alone.match(text, start):
        return True
    before = text[max(0, start - LONGEST) : start].rstrip(" \t")
    starts_line = before.endswith("\n") or (not before and start <= LONGEST)
    is_word = compiled(r"<[^<>\n]*>[ \t.,:;?!'\"`)]").match(text, start)
    return name.startswith(patterns.MACHINE_TAGS) and starts_line and not is_word


def _lines(
    text: str, hidden: list[_Interval], by: Speaker, ends: list[int]
) -> Iterator[_Interval | None]:
    """The lines in which someone speaks; None where the lines before and after do not
    belong together.

    ends: where a user's own words seem to end, to which each such place is added;
    empty: there they do end.
    """
    hidden_to = 0
    place = 0
    start = 0
    in_log = False
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        while place < len(hidden) and hidden[place][0] < end:
            hidden_to = max(hidden_to, hidden[place][1])
            place = place + 1
        line = text[start : min(end, start + 4 * LONGEST)]
        bare = line.strip()
        if by == "user" and bare:
            following = compiled(r"\s*").match(text, end)
            delimited = (
                place < len(hidden)
                and following is not None
                and hidden[place][0] == following.end()
            )
            if _pattern(patterns.TO_THE_END).match(bare[:LONGEST]) or (
                _introduces(bare) and not delimited
            ):
                if not ends or _pattern(patterns.GIVEN_BACK).match(bare[:LONGEST]):
                    return
                ends.append(start)
        machine = bool(bare) and (
            bare[0] in ">|"
            or bare.count("|") > 2
            or bool(_pattern(patterns.MACHINE_LINE, ignore_case=False).match(line))
        )
        follows = (
            in_log and by == "user"
        )  # what stands right below a line of a log is its next line
        in_log = bool(bare) and (
            follows or (machine and " " in bare and bare[0] != ">")
        )
        aside = (
            machine
            or follows
            or (by == "user" and _pattern(patterns.NOT_OWN).match(line))
        )
        yield None if not bare or aside or hidden_to > start else (start, end)
        start = end + 1


def _introduces(bare: str) -> bool:
    return bare[-1] == ":" and bool(
        _pattern(patterns.INTRODUCTION).search(bare[-LONGEST // 2 : -1])
    )


def _units(text: str, lines: Iterator[_Interval | None]) -> Iterator[_Interval]:
    """The lines, those put together that were wrapped."""
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
    marker = _pattern(patterns.LIST_MARKER).match(text, start, end)
    begun = marker.end() if marker else start
    for stop in compiled(
        r"[.!?…。！？]++[\"'”’»)\]*_`]{0,4}+(?:(?=\s|\Z)|(?<=[。！？]))"
    ).finditer(text, begun, end):
        word = text[max(begun, stop.start() - 12) : stop.start()].split()
        goes_on = (
            stop[0].startswith(("..", "…"))
            and text[stop.end() : stop.end() + 2].strip().islower()
        )
        if goes_on or (
            stop[0] == "." and word and _is_abbreviated(word[-1], stop.start() - begun)
        ):
            continue
        yield from _whole(text, begun, stop.end(), short)
        begun = stop.end()
    yield from _whole(text, begun, end, short)


def _is_abbreviated(word: str, length: int) -> bool:
    return word.lstrip("(").lower() in _ABBREVIATIONS or (word.isdigit() and length < 5)


def _whole(text: str, start: int, end: int, short: bool) -> Iterator[Span]:
    """The sentence in text[start:end] where it is one that can be read."""
    found = text[start:end]
    start += len(found) - len(found.lstrip())
    said = found.strip()
    if (1 if short else SHORTEST) <= len(said) <= LONGEST and _is_readable(said, short):
        yield Span(start, start + len(said), " ".join(said.split()))


def _is_readable(said: str, short: bool) -> bool:
    words = compiled(r"`[^`\n]*`|https?://\S+").sub("x", said)
    letters = sum(map(str.isalpha, words))
    spoken = sum(map(str.isalnum, words)) + sum(map(str.isspace, words))
    unspaced = len(compiled("[\u3040-\u9fff\u0e00-\u0eff]").findall(words))
    is_plain = said[0] != "#" and said[-1] != ":" and said.count("`") % 2 == 0
    is_worded = letters >= (0.4 if short else 0.6) * len(words) and spoken >= 0.8 * len(
        words
    )
    is_long = short or len(words.split()) >= 3 or unspaced >= SHORTEST // 2
    if "</" in said:
        said = compiled(
            f"(?i){patterns.MENTIONED_ELEMENT}|{patterns.MENTIONED_TAG}"
        ).sub("x", said)
    return (
        is_plain
        and is_worded
        and is_long
        and not _pattern(patterns.UNREADABLE).search(said)
    )


def worth(sentence: str, by: Speaker = "agent") -> float:
    """How much a sentence is worth keeping, 0 to 1: whether it tells of a decision,
    discovery, feature or change.

    >>> worth(
    ...     "The root cause is that `parse` reads only the first line, because the cursor is never reset."
    ... ) >= KEPT
    True
    >>> worth("All tests pass.") >= KEPT
    False
    """
    shared = _BIAS[by] + _weight("any", sentence)
    odds = (math.exp(min(50.0, shared + _weight(kind, sentence))) for kind in _TOLD)
    return round(1 - 1 / (1 + sum(odds)), 3)


def _weight(section: str, sentence: str) -> float:
    return sum(weight for weight, sign in _signs(section) if sign.search(sentence))


@cache
def _signs(section: str) -> list[tuple[float, re.Pattern[str]]]:
    return [
        (weight, re.compile(sign, re.IGNORECASE))
        for weight, sign in worth_signs.SIGNS[section]
    ]
