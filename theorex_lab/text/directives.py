"""Find what a person tells an agent to do.

That are rules that stand, corrections and things to remember.
"""

import re
from functools import cache
from typing import Literal, NamedTuple

from theorex_lab.core.sections import read_sections
from theorex_lab.text import directive_patterns as patterns
from theorex_lab.text.spoken import Span, compiled, sentences_of

Signs = dict[str, re.Match[str]]
Kind = Literal["rule", "correction", "remember"]
Polarity = Literal["do", "dont"]
STANDING = 0.5  # from here on a directive holds beyond the task at hand
# Shares of words that two directives have in common, from which on they say the same,
# or are about the same.
_SAME_RULE_OVERLAP = 0.6
_SAME_SUBJECT_OVERLAP = 0.5
_BASE = {
    "always": 0.9,
    "never": 0.9,
    "remember": 0.75,
    "convention": 0.65,
    "must": 0.6,
    "dont": 0.5,
    "correction": 0.4,
    "do": 0.35,
}
# These words also stand in descriptions of what happens.
_USUAL_SIGNS = {"always", "never"}
_RULE_SIGNS = _USUAL_SIGNS | {"must"}
_POSITIVE_SIGNS = ("always", "must", "do")
_CORRECTION_REACH = 8  # characters after a correction in which a negation may stand
_STOP_KINDS = (
    "determiners",
    "prepositions",
    "pronouns",
    "modals",
    "auxiliaries",
    "relatives",
    "conjunctions",
    "coordinators",
    "adverbs",
)


class Directive(NamedTuple):
    """A sentence in which a person tells an agent what to do.

    Attributes:
        span: The sentence.
        kind: "rule", "correction" or "remember".
        polarity: "do" or "dont".
        standing: From 0 (for this moment) to 1 (for ever).
        subject: Stems of what it is about.
        replaces: Stems of what it puts something in the place of.
        renews: Whether it says that it was otherwise before.
    """

    span: Span
    kind: Kind
    polarity: Polarity
    standing: float
    subject: frozenset[str]
    replaces: frozenset[str] = frozenset()
    renews: bool = False

    @property
    def stands(self) -> bool:
        """Return whether it holds beyond the task at hand."""
        return self.standing >= STANDING


def directives(text: str) -> list[Directive]:
    """Return the directives of a person's prompt, in their order.

    See `sentences_of` for what is not the person's own word.

    >>> [
    ...     (directive.kind, directive.polarity, directive.stands)
    ...     for directive in directives("Never commit secrets. Don't commit yet.")
    ... ]
    [('rule', 'dont', True), ('rule', 'dont', False)]
    """
    sentences = sentences_of(text, by="user")
    candidates = map(directive_of, sentences)
    return [directive for directive in candidates if directive is not None]


def directive_of(span: Span) -> Directive | None:
    """Return the directive that a sentence is, or None.

    Questions, reports of what others want and descriptions are no directives.
    """
    sentence = _blanked(span.text)
    signs = _directive_signs(sentence)
    if not signs or is_asked(sentence) or _is_reported(sentence, signs):
        return None
    polarity: Polarity = "do"
    replacement = None
    if _is_negative(signs):
        polarity = "dont"
    else:
        replacement = _search("replaces", sentence)
    subject_text = span.text
    replaced_text = ""
    if replacement is not None:
        before = span.text[: replacement.start()]
        after = span.text[replacement.end() :]
        subject_text = before + after
        start, end = replacement.span(replacement.lastindex or 0)
        replaced_text = span.text[start:end]
    return Directive(
        span=span,
        kind=_kind_of(signs),
        polarity=polarity,
        standing=_standing(sentence, signs),
        subject=stems(subject_text),
        replaces=stems(replaced_text),
        renews=_search("renews", sentence) is not None,
    )


def _directive_signs(sentence: str) -> Signs:
    """Return the signs of a directive in a sentence, by their names."""
    signs: Signs = {}
    for name in _BASE:
        sign = _search(name, sentence)
        if sign is not None:
            signs[name] = sign
    is_usual = not signs.keys().isdisjoint(_USUAL_SIGNS)
    if is_usual and _search("describes", sentence):
        for name in _USUAL_SIGNS:
            signs.pop(name, None)
    return signs


def _kind_of(signs: Signs) -> Kind:
    """Return the kind of the directive that has these signs."""
    if "remember" in signs:
        return "remember"
    return "correction" if _is_correction(signs) else "rule"


def same_rule(a: Directive, b: Directive) -> bool:
    """Return whether two directives say the same, perhaps in other words."""
    if a.polarity != b.polarity:
        return False
    words_of_a = a.subject | a.replaces
    words_of_b = b.subject | b.replaces
    return _overlap(words_of_a, words_of_b) >= _SAME_RULE_OVERLAP


def reverses(new: Directive, old: Directive) -> bool:
    """Return whether `new` takes back `old`.

    It does where it has the same subject and the other polarity, or puts something else
    in the place of the old subject.

    >>> old, new = directives(
    ...     "Always use tabs for indentation. From now on use spaces instead of tabs."
    ... )
    >>> reverses(new, old), reverses(old, old)
    (True, False)
    """
    has_same_subject = _overlap(new.subject, old.subject) >= _SAME_SUBJECT_OVERLAP
    if new.polarity != old.polarity:
        return has_same_subject
    if _replaces_subject(new, old):
        return True
    if not new.renews or same_rule(new, old):
        return False
    return has_same_subject


def _replaces_subject(new: Directive, old: Directive) -> bool:
    """Return whether `new` puts something in the place of the subject of `old`."""
    if new.replaces & old.replaces:
        return False
    n_replaced = len(new.replaces & old.subject)
    return 2 * n_replaced > len(new.replaces)


def stems(text: str) -> frozenset[str]:
    """Return the informative words of a text without their endings, in lower case.

    >>> sorted(stems("Always use the named exports"))
    ['export', 'nam']
    """
    lower = text.lower().replace("ё", "е")
    words = compiled(r"[^\W_][\w.+#/-]*[\w+#]|[^\W_]").findall(lower)
    ignored = stop_words()
    return frozenset(_stem(word) for word in words if word not in ignored)


def _stem(word: str) -> str:
    """Return a word without its ending, and without the letter doubled before it."""
    if len(word) < 4 or not word.isalpha():
        return word
    root = compiled(patterns.ENDINGS).sub("", word)
    if len(root) <= 3:
        return root
    last = root[-1]
    if last in ("e", root[-2]):
        return root[:-1]
    return root


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the share of both sets together that is in both."""
    n_common = len(a & b)
    n_all = len(a | b)
    return n_common / max(1, n_all)


def is_asked(sentence: str) -> bool:
    """Return whether a sentence is a question.

    A request is none, nor is a statement that asks for a yes.

    >>> (
    ...     is_asked("Is it done?"),
    ...     is_asked("Can you always run it?"),
    ...     is_asked("We keep tabs, right?"),
    ... )
    (True, False, False)
    """
    if not sentence.rstrip().endswith("?"):
        return False
    if _search("asks", sentence):
        return True
    return _search("requests", sentence) is None


def _is_reported(sentence: str, signs: Signs) -> bool:
    """Return whether a sentence reports what others want, before the first sign."""
    report = _search("reported", sentence)
    if report is None:
        return False
    first_start = min(sign.start() for sign in signs.values())
    return report.start() <= first_start


def _is_correction(signs: Signs) -> bool:
    """Return whether signs are of a correction alone, and of no rule."""
    if "correction" not in signs:
        return False
    return signs.keys().isdisjoint(_RULE_SIGNS)


def _is_negative(signs: Signs) -> bool:
    """Return whether a directive says what is not to be done."""
    starts = {name: sign.start() for name, sign in signs.items()}
    if "never" in starts:
        start = starts["never"]
        return start <= starts.get("always", start)
    positive_starts = [starts[name] for name in _POSITIVE_SIGNS if name in starts]
    if "dont" in starts:
        start = starts["dont"]
        return start <= min(positive_starts, default=start)
    if "correction" not in starts or positive_starts:
        return False
    return _is_negative_correction(signs["correction"])


def _is_negative_correction(correction: re.Match[str]) -> bool:
    """Return whether a correction says "not", in itself or shortly after."""
    negation = compiled(r"(?i)n['o]?t\b|\bне\b")
    end = correction.end() + _CORRECTION_REACH
    match = negation.search(correction.string, correction.start(), end)
    return match is not None


def _standing(sentence: str, signs: Signs) -> float:
    """Return how far a directive holds beyond the task at hand, from 0.05 to 1."""
    score = max(_BASE[name] for name in signs)
    if _search("general", sentence):
        score = score + 0.1
    if _search("particular", sentence):
        score = score - 0.1
    if _search("for now", sentence):
        score = score * 0.3
    score = max(0.05, score)
    score = min(1.0, score)
    return round(score, 3)


def _blanked(text: str) -> str:
    """Return the sentence with quotes and code blanked, as long as it was.

    No word in quotes or code tells the agent anything.
    """
    quotes = compiled(
        r"`[^`]*`|\"[^\"]*\"|“[^”]*”|«[^»]*»|(?<!\w)'[^']{3,}'(?!\w)|https?://\S+"
    )
    straight = text.replace("’", "'")
    return quotes.sub(_blank, straight)


def _blank(quote: re.Match[str]) -> str:
    """Return as many blanks as a quote is long."""
    return "_" * len(quote[0])


def _search(section: str, sentence: str) -> re.Match[str] | None:
    """Return the first sign of a section in a sentence."""
    return _pattern(section, sentence.isascii()).search(sentence)


@cache
def _pattern(section: str, ascii_only: bool) -> re.Pattern[str]:
    """Return the pattern of a section's signs.

    A text in ASCII is searched without the Russian signs, which cannot stand in it.
    """
    signs: list[str] = []
    for line in patterns.PATTERNS[section]:
        if line.isascii() or not ascii_only:
            sign = line.replace("^^", patterns.CLAUSE)
            signs.append(f"(?:{sign})")
    return re.compile("|".join(signs), re.IGNORECASE)


@cache
def stop_words() -> frozenset[str]:
    """Return words that tell nothing of a subject.

    They are English and Russian, in lower case.
    """
    sections = read_sections(__file__, "lexicon.txt")
    listed = " ".join(sections[kind] for kind in _STOP_KINDS)
    return patterns.STOP_WORDS | frozenset(listed.split())
