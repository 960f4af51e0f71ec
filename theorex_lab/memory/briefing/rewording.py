"""Check a model's wording of a card's lines against the lines that it stands for.

A wording may say less than its sources, and never more: every number, name, path, code
and quotation of it occurs in them, no denial, doubt or condition is lost or won, and
nothing is reported as done that was only asked. The checks refuse rather too much, since a
refused wording costs nothing: the extracted line stays. The words are English.
Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from theorex_lab.core.patterns import lazy_pattern
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
_MOST_NEW_WORDS = 0.2
_FEWEST_NEW_WORDS = 1

_CODE = lazy_pattern(r"`([^`]*)`")
_CODE_OR_RUN = lazy_pattern(r"`[^`]*`|[^\s`]+")
_QUOTED = lazy_pattern(r"\"([^\"]+)\"|“([^”]+)”|«([^»]+)»|(?<!\w)'([^']+)'(?!\w)")
# What Markdown or HTML would take for its own.
_MARKUP = lazy_pattern(
    r"\*\*|__\w|``|\]\(|^\s*(?:[#>*+•–-]|\d+[.)])\s|<[/!a-zA-Z]|\||~~|&\w+;"
)
_AROUND_A_WORD = "\"'“”‘’«»()[]{}`"
_AFTER_A_WORD = f"{_AROUND_A_WORD}.,;:!?…"
_POSSESSIVE = lazy_pattern(r"['’]s$")
# Makes a run of signs a name: a digit, a sign within it, a capital after its first
# letter.
_MARK_OF_A_NAME = lazy_pattern(r"\d|[^\w'’]|_|(?<=.)[A-Z]")
_CUT_ENDS = (",", ";", "…", "-", "...")
_SENTENCE_ENDS = (".", "!", "?", ":", ";")
_NUMBER = lazy_pattern(r"\d+(?:[.,:]\d+)*")
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
_NEGATION = lazy_pattern(
    r"\b(?:no|not|never|none|nobody|nothing|nowhere|neither|nor|without|cannot|unable"
    r"|(?:do|does|did|is|was|wo|ca|should|must)nt)\b|n['’]t\b",
    re.I,
)
# What a wording has exactly where one of its sources has it.
_KEPT_CUES = {
    "a doubt": lazy_pattern(
        r"\b(?:may|might|maybe|perhaps|probabl[ey]|possibl[ey]|likely|unlikely|seem\w*"
        r"|appear\w*|could|should|would|assum\w*|suspect\w*|unclear|unverified"
        r"|untested)\b",
        re.I,
    ),
    "a condition": lazy_pattern(r"\b(?:if|unless|only|except|until|otherwise)\b", re.I),
    "a failure": lazy_pattern(
        r"\b(?:fail\w*|brok\w+|break\w*|crash\w*|wrong\w*|reject\w*|refus\w*)\b", re.I
    ),
    "something open": CUES["open"],
}
# What a wording has only where one of its sources has it.
_WON_CUES = {
    "a success": lazy_pattern(
        r"\b(?:pass(?:es|ed|ing)?|succe\w+|works|worked|working|clean|green|verified)\b",
        re.I,
    ),
    "a report of something done": CUES["done"],
    "a reason": CUES["why"],
}
# Words on which the sense of a line hangs: none of them is won, and how much is meant
# is not lost either.
_LIMITS = frozenset("all any each every few many most only several some".split())
_WEIGHTY = _LIMITS | frozenset(
    "after again almost already before earlier formerly instead last later less more"
    " nearly now off once over previously still under".split()
)
# Words that say the contrary of each other.
_OPPOSITES = tuple(
    frozenset(map(stem, pair.split("/")))
    for pair in (
        "accept/reject add/remove allow/block allow/forbid correct/wrong decrease/increase"
        " disable/enable down/up exclude/include false/true fast/slow faster/slower first/last"
        " hide/show high/low higher/lower input/output left/right local/remote lower/raise"
        " maximum/minimum new/old open/close optional/required private/public pull/push"
        " read/write start/stop"
    ).split()
)
_SHORTEST_CONTRARY = 3  # letters of a stem that a prefix turns
_CONTRARY_PREFIXES = ("un", "in", "im", "ir", "dis", "de", "non", "mis", "a")
# Words by which a text turns to its reader, as an instruction does.
_TO_THE_READER = lazy_pattern(
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
    checks = (
        _problem_of_cues,
        _problem_of_names,
        _problem_of_numbers,
        _problem_of_sense,
        _problem_of_new_words,
    )
    problem = _problem_of_form(text, sources)
    problem = problem or _problem_of_instructions(text, sources)
    for check in checks:
        problem = problem or check(text, words)
    return problem


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
    names = list(_names_in(text, vocabulary))
    for name in names:
        if not vocabulary.holds(name):
            return f"it has the name {name!r}, which its sources do not have"
    if not vocabulary.holds_in_order(_exact_names(text)):
        return "its names stand in another order than those of its sources"
    return ""


def _spans_of(text: str) -> Iterator[str]:
    """Yield the code and the quotations of a text."""
    yield from _CODE.findall(text)
    for quotation in _QUOTED.findall(text.replace("`", "")):
        yield "".join(quotation)


def _exact_names(text: str) -> Iterator[str]:
    """Yield the names of a text, told by their signs or as code, but no numbers."""
    for part in _CODE_OR_RUN.findall(text):
        for run in _runs_of(part):
            is_name = part.startswith("`") or _MARK_OF_A_NAME.search(run)
            if is_name and not _NUMBER.fullmatch(run):
                yield run


class _Vocabulary:
    """The words of lines, in which names are looked up as wholes."""

    def __init__(self, words: Sequence[str]) -> None:
        runs = " \n ".join(" ".join(_runs_of(line)) for line in words)
        self._text = "\n".join(words)
        self._runs = f" {runs} "
        self._stems = {stem(run) for run in runs.split()}

    def holds(self, name: str) -> bool:
        """Return whether the lines have a name, letter by letter."""
        runs = _runs_of(name)
        if not runs:
            return name in self._text
        return f" {' '.join(runs)} " in self._runs

    def holds_in_order(self, names: Iterable[str]) -> bool:
        """Return whether the lines have these names one after the other."""
        position = 0
        for name in names:
            position = self._runs.find(f" {name} ", position)
            if position < 0:
                return False
            position += len(name) + 1
        return True

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


def _problem_of_sense(text: str, words: Sequence[str]) -> str:
    """Return which weighty or contrary word a text has that its sources do not have."""
    own_words = _lower_words(text)
    source_words = _lower_words("\n".join(words))
    won_words = (own_words - source_words) & _WEIGHTY
    lost_words = (source_words - own_words) & _LIMITS
    if won_words or lost_words:
        return f"it changes the sense by {min(won_words | lost_words)!r}"
    source_stems = frozenset(map(stem, source_words))
    for word in sorted(own_words - source_words):
        if stem(word) in source_stems:
            continue
        if _is_contrary(word, source_words) or _is_contrary(stem(word), source_stems):
            return f"it has {word!r}, the contrary of what its sources have"
    return ""


def _lower_words(text: str) -> frozenset[str]:
    """Return the words of letters alone, in lower case."""
    return frozenset(re.findall(r"[^\W\d_]+", text.lower()))


def _is_contrary(word: str, others: frozenset[str]) -> bool:
    """Return whether the contrary of a stem is among others."""
    for pair in _OPPOSITES:
        if word in pair and pair & others:
            return True
    if len(word) < _SHORTEST_CONTRARY:
        return False
    for prefix in _CONTRARY_PREFIXES:
        if f"{prefix}{word}" in others or word.removeprefix(prefix) in others:
            return True
    return False


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
    openings = set().union(*map(_openings_of, words))
    if sources[0].kind in _WISHES:
        openings |= _lower_words("\n".join(words))
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
