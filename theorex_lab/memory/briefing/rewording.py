"""Check a model's wording of a card's lines against the lines that it stands for.

A wording may say less than its sources, and never more: every number, name, path, code
and quotation of it occurs in them, no denial, doubt or condition is lost or won, and
nothing is told as done that was only asked. The checks refuse rather too much, since a
refused wording costs nothing: the extracted line stays. The words are English.
Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from theorex_lab.memory.briefing.candidates import (
    Candidate,
    dated,
    fits_a_line,
    short_date,
)
from theorex_lab.memory.briefing.cards import INTERRUPTED, REQUESTED, UNANSWERED
from theorex_lab.memory.briefing.line_features import (
    CUES,
    has_open_subject,
    is_process,
    is_usable,
)
from theorex_lab.text.line import folded
from theorex_lab.text.statements import sentences_in
from theorex_lab.text.wording import STOP_WORDS, content_words, stem

MOST_SOURCES = 3  # lines that one wording may stand for
_WISHES = ("asked", "interrupted")
_LABELS = (REQUESTED, INTERRUPTED, UNANSWERED)
# The share of a wording's content words that its sources need not have.
_MOST_NEW_WORDS = 0.34
_FEWEST_NEW_WORDS = 1

_CODE = re.compile(r"`([^`]*)`")
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|«([^»]+)»|(?<!\w)'([^']+)'(?!\w)")
# What Markdown or HTML would take for its own.
_MARKUP = re.compile(
    r"\*\*|__\w|``|\]\(|^\s*(?:[#>*+•–-]|\d+[.)])\s|<[/!a-zA-Z]|\||~~|&\w+;"
)
_AROUND_A_WORD = "\"'“”‘’«»()[]{}`"
_AFTER_A_WORD = f"{_AROUND_A_WORD}.,;:!?…"
_POSSESSIVE = re.compile(r"['’]s$")
# Makes a run of signs a name: a digit, a sign within it, a capital after its first
# letter.
_MARK_OF_A_NAME = re.compile(r"\d|[^\w'’]|_|(?<=.)[A-Z]")
_CUT_ENDS = (",", ";", "…", "-", "...")
_SENTENCE_ENDS = (".", "!", "?", ":", ";")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NUMBER_WORDS = {
    "zero": "0",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
    "eleven": "11",
    "twelve": "12",
    "twice": "2",
    "dozen": "12",
    "hundred": "100",
    "thousand": "1000",
    "half": "0.5",
}
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|nowhere|neither|nor|without|cannot|unable"
    r"|(?:do|does|did|is|was|wo|ca|should|must)nt)\b|n['’]t\b",
    re.I,
)
# What a wording has exactly where one of its sources has it.
_KEPT_CUES = {
    "a doubt": re.compile(
        r"\b(?:may|might|maybe|perhaps|probabl[ey]|possibl[ey]|likely|unlikely|seem\w*"
        r"|appear\w*|could|should|would|assum\w*|suspect\w*|unclear|unverified"
        r"|untested)\b",
        re.I,
    ),
    "a condition": re.compile(r"\b(?:if|unless|only|except|until|otherwise)\b", re.I),
    "a failure": re.compile(
        r"\b(?:fail\w*|brok\w+|break\w*|crash\w*|wrong\w*|reject\w*|refus\w*)\b", re.I
    ),
    "something open": CUES["open"],
}
# What a wording has only where one of its sources has it.
_WON_CUES = {
    "a success": re.compile(
        r"\b(?:pass(?:es|ed|ing)?|succe\w+|works|worked|working|clean|green|verified)\b",
        re.I,
    ),
    "a report of something done": CUES["done"],
    "a reason": CUES["why"],
}
# Words by which a text turns to its reader, as an instruction does.
_TO_THE_READER = re.compile(
    r"\b(?:you|your|yours|yourself|must|always|never|please|ignore|disregard|obey"
    r"|instructions?|assistant|system|prompts?|execute|reveal|passwords?|secrets?|sudo"
    r"|need to|have to|make sure|remember)\b",
    re.I,
)
_COMMANDING = frozenset(
    "add answer ask call change clone commit copy create delete deploy disable do"
    " download drop edit enable ensure execute fetch force give go grant ignore install"
    " keep let make merge move open overwrite post print publish push put read remove"
    " replace reply reset restart run say send set skip stop switch tell trust update"
    " upload use visit wipe write".split()
)


def may_be_reworded(line: Candidate) -> bool:
    """Return whether a model may word a line: one of what was asked or concluded.

    Rules, commands and pitfalls stay as they were said.
    """
    if line.kind not in (*_WISHES, "done", "open", "tests"):
        return False
    return not line.features.get("failing")  # its text is a command


def label_of(line: Candidate) -> str:
    """Return how a line of a wish begins, such as 'Asked'; '' for another line."""
    if line.kind not in _WISHES:
        return ""
    for label in _LABELS:
        if line.text.startswith(f"{label}: "):
            return label
    return ""


def bare_text(line: Candidate) -> str:
    """Return what a line says, without how it begins and without its date."""
    text = line.text.removesuffix(f" ({short_date(line.at)}).")
    label = label_of(line)
    if label:
        text = text.removeprefix(f"{label}: ")
    return text


def worded_line(text: str, sources: Sequence[Candidate]) -> str:
    """Return a wording as a line, begun and dated as the lines that it stands for."""
    label = label_of(sources[0])
    if label:
        text = f"{label}: {text}"
    return dated(text, sources[0].at)


def rewording_problem(text: str, sources: Sequence[Candidate]) -> str:
    """Return why a wording cannot stand for lines, '' where it can.

    Args:
        text: The wording, without a date.
        sources: The lines, from 1 to `MOST_SOURCES`.
    """
    if not 1 <= len(sources) <= MOST_SOURCES:
        return f"it stands for {len(sources)} lines; allowed are 1 to {MOST_SOURCES}"
    for line in sources[1:]:
        if _sort_of(line) != _sort_of(sources[0]):
            return "it joins lines of different kinds or days"
    words = [bare_text(line) for line in sources]
    return (
        _problem_of_form(text, sources)
        or _problem_of_cues(text, words)
        or _problem_of_instructions(text, sources)
        or _problem_of_names(text, words)
        or _problem_of_numbers(text, words)
        or _problem_of_new_words(text, words)
    )


def _sort_of(line: Candidate) -> tuple[str, str, str]:
    """Return what lines that are joined have in common."""
    return line.kind, label_of(line), short_date(line.at)


def _problem_of_form(text: str, sources: Sequence[Candidate]) -> str:
    """Return why a text is no line of whole sentences in plain words."""
    if text != folded(text):
        return "it is not one line of visible characters"
    if not fits_a_line(worded_line(text, sources)):
        return "it is too long for a line"
    if _MARKUP.search(_CODE.sub(" ", text)):
        return "it has markup"
    if text.count("`") % 2 or text.count("(") != text.count(")"):
        return "it has a bracket or code that is not closed"
    if not is_usable(text) or text.endswith(_CUT_ENDS):
        return "it is no whole statement in words"
    if not _stands_alone(text):
        return "it does not stand alone"
    return ""


def _stands_alone(text: str) -> bool:
    """Return whether a text has its own subject and is about the work."""
    if has_open_subject(text) or is_process(text):
        return False
    return not CUES["meta"].search(text)


def _problem_of_names(text: str, words: Sequence[str]) -> str:
    """Return which name, path, code or quotation of a text its sources do not have."""
    vocabulary = _Vocabulary(words)
    for span in _spans_of(text):
        if not vocabulary.holds(span):
            return f"it has {span!r}, which its sources do not have"
    for name in _names_in(text, vocabulary):
        if not vocabulary.holds(name):
            return f"it has the name {name!r}, which its sources do not have"
    return ""


def _spans_of(text: str) -> Iterator[str]:
    """Yield the code and the quotations of a text."""
    yield from _CODE.findall(text)
    for quotation in _QUOTED.findall(_CODE.sub(" ", text)):
        yield "".join(quotation)


class _Vocabulary:
    """The words of lines, in which names are looked up as wholes."""

    def __init__(self, words: Sequence[str]) -> None:
        runs = " \n ".join(" ".join(_runs_of(line)) for line in words)
        self._runs = f" {runs} "
        self._stems = {stem(run) for run in runs.split()}

    def holds(self, name: str) -> bool:
        """Return whether the lines have a name, letter by letter."""
        runs = _runs_of(name)
        return bool(runs) and f" {' '.join(runs)} " in self._runs

    def holds_word(self, word: str) -> bool:
        """Return whether the lines have a plain word in any of its forms."""
        return stem(word) in self._stems


def _runs_of(text: str) -> list[str]:
    """Return the runs of signs between a text's spaces, without punctuation."""
    runs: list[str] = []
    for raw in text.replace("`", " ").split():
        run = _bare_run(raw)
        if run:
            runs.append(run)
    return runs


def _bare_run(raw: str) -> str:
    """Return a run of signs without the punctuation around it.

    A call keeps its brackets.
    """
    run = raw.rstrip(".,;:!?…")
    if not run.endswith("()"):
        run = run.rstrip(_AFTER_A_WORD)
    run = run.lstrip(_AROUND_A_WORD)
    return _POSSESSIVE.sub("", run)


def _names_in(text: str, vocabulary: _Vocabulary) -> Iterator[str]:
    """Yield the names of a text outside its code: paths, identifiers, proper names."""
    begins_sentence = True
    for raw in _CODE.sub(" x ", text).split():
        run = _bare_run(raw)
        if not any(map(str.isalnum, run)):
            continue
        if _MARK_OF_A_NAME.search(run):
            yield run
        elif run[0].isupper():
            is_plain = begins_sentence and (
                run.lower() in STOP_WORDS or vocabulary.holds_word(run)
            )
            if not is_plain:
                yield run
        begins_sentence = raw.endswith(_SENTENCE_ENDS)


def _problem_of_numbers(text: str, words: Sequence[str]) -> str:
    """Return which number of a text is not in its sources in that order."""
    rest = iter(_numbers_in("\n".join(words)))
    for number in _numbers_in(text):
        if number not in rest:
            return f"its number {number} is not that of its sources"
    return ""


def _numbers_in(text: str) -> list[str]:
    """Return the numbers of a text in their order, those in words as digits."""
    numbers: list[str] = []
    for run in re.findall(r"\d+(?:[.,:]\d+)*|[A-Za-z]+", text):
        if _NUMBER.fullmatch(run):
            numbers.append(run)
        elif run.lower() in _NUMBER_WORDS:
            numbers.append(_NUMBER_WORDS[run.lower()])
    return numbers


def _problem_of_cues(text: str, words: Sequence[str]) -> str:
    """Return which denial, doubt, condition or outcome was lost or won."""
    joined = "\n".join(words)
    if len(_NEGATION.findall(text)) != len(_NEGATION.findall(joined)):
        return "it denies something else than its sources"
    for what, cue in _KEPT_CUES.items():
        is_in_sources = bool(cue.search(joined))
        if bool(cue.search(text)) != is_in_sources:
            change = "loses" if is_in_sources else "adds"
            return f"it {change} {what}"
    for what, cue in _WON_CUES.items():
        if cue.search(text) and not cue.search(joined):
            return f"it adds {what}"
    return _problem_of_change(text, content_words(joined))


def _problem_of_change(text: str, source_words: frozenset[str]) -> str:
    """Return which verb of a change a text has that its sources do not have."""
    for change in CUES["done"].findall(text):
        if content_words(change) - source_words:
            return f"it tells of another change: {change!r}"
    return ""


def _problem_of_new_words(text: str, words: Sequence[str]) -> str:
    """Return whether a text has many words that its sources do not have."""
    source_words = content_words("\n".join(words))
    own_words = content_words(text)
    n_new = len(own_words - source_words)
    if n_new > max(_FEWEST_NEW_WORDS, _MOST_NEW_WORDS * len(own_words)):
        return "it has too many words that its sources do not have"
    return ""


def _problem_of_instructions(text: str, sources: Sequence[Candidate]) -> str:
    """Return what in a text tells its reader to do something that no source tells."""
    words = [bare_text(line) for line in sources]
    addressed = _lower_matches(_TO_THE_READER, "\n".join(words))
    for word in _TO_THE_READER.findall(text):
        if word.lower() not in addressed:
            return f"it turns to its reader by {word!r}"
    if sources[0].kind in _WISHES:
        return ""
    openings = set().union(*map(_openings_of, words))
    for opening in _openings_of(text):
        if opening in _COMMANDING and opening not in openings:
            return f"it commands by {opening!r}"
    return ""


def _lower_matches(pattern: re.Pattern[str], text: str) -> set[str]:
    return {match.lower() for match in pattern.findall(text)}


def _openings_of(text: str) -> Iterator[str]:
    """Yield the first word of each clause of a text, in lower case."""
    for sentence in sentences_in(text):
        for clause in re.split(r"[,;:]\s+(?:and\s+|then\s+)?", sentence):
            runs = _runs_of(clause)
            if runs:
                yield runs[0].lower()
