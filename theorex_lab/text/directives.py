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
STANDING = 0.5  # from here on a directive holds beyond the task at hand
_BASE = {
    "always": 0.9,
    "never": 0.9,
    "remember": 0.75,
    "convention": 0.65,
    "must": 0.6,
    "dont": 0.5,
}
_BASE |= {"correction": 0.4, "do": 0.35}
# These words also stand in descriptions of what happens.
_USUAL_SIGNS = {"always", "never"}
_STOP_KINDS = (
    "determiners prepositions pronouns modals auxiliaries relatives conjunctions"
    " coordinators adverbs".split()
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
    polarity: Literal["do", "dont"]
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
    return [
        directive for directive in map(directive_of, sentences) if directive is not None
    ]


def directive_of(span: Span) -> Directive | None:
    """Return the directive that a sentence is, or None.

    Questions, reports of what others want and descriptions are no directives.
    """
    sentence = _blanked(span.text)
    signs = _directive_signs(sentence)
    if not signs or is_asked(sentence) or _is_reported(sentence, signs):
        return None
    polarity: Literal["do", "dont"] = "dont" if _is_negative(signs) else "do"
    subject = stems(span.text)
    replaces = frozenset[str]()
    replacement = _search("replaces", sentence) if polarity == "do" else None
    if replacement is not None:
        subject = stems(
            span.text[: replacement.start()] + span.text[replacement.end() :]
        )
        start, end = replacement.span(replacement.lastindex or 0)
        replaces = stems(span.text[start:end])
    return Directive(
        span,
        _kind_of(signs),
        polarity,
        _standing(sentence, signs),
        subject,
        replaces,
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
    return (
        a.polarity == b.polarity
        and _overlap(a.subject | a.replaces, b.subject | b.replaces) >= 0.6
    )


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
    if new.polarity != old.polarity:
        return _overlap(new.subject, old.subject) >= 0.5
    if not new.replaces & old.replaces and 2 * len(new.replaces & old.subject) > len(
        new.replaces
    ):
        return True
    return (
        new.renews
        and not same_rule(new, old)
        and _overlap(new.subject, old.subject) >= 0.5
    )


def stems(text: str) -> frozenset[str]:
    """Return the informative words of a text without their endings, in lower case.

    >>> sorted(stems("Always use the named exports"))
    ['export', 'nam']
    """
    words = compiled(r"[^\W_][\w.+#/-]*[\w+#]|[^\W_]").findall(
        text.lower().replace("ё", "е")
    )
    return frozenset(_stem(word) for word in words if word not in stop_words())


def _stem(word: str) -> str:
    """Return a word without its ending, and without the letter doubled before it."""
    if len(word) < 4 or not word.isalpha():
        return word
    root = compiled(patterns.ENDINGS).sub("", word)
    is_last_dropped = len(root) > 3 and root[-1] in root[-2] + "e"
    return root[:-1] if is_last_dropped else root


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the share of both sets together that is in both."""
    return len(a & b) / max(1, len(a | b))


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
    return report.start() <= min(sign.start() for sign in signs.values())


def _is_correction(signs: Signs) -> bool:
    """Return whether signs are of a correction alone, and of no rule."""
    return "correction" in signs and not signs.keys() & (_USUAL_SIGNS | {"must"})


def _is_negative(signs: Signs) -> bool:
    """Return whether a directive says what is not to be done."""
    starts = {name: sign.start() for name, sign in signs.items()}
    if "never" in starts:
        return starts["never"] <= starts.get("always", starts["never"])
    if "dont" in starts:
        start = starts["dont"]
        return start <= min(
            starts.get(name, start) for name in ("always", "must", "do")
        )
    if "correction" not in starts or starts.keys() & {"do", "always", "must"}:
        return False
    correction = signs["correction"]
    negation = compiled(r"(?i)n['o]?t\b|\bне\b")
    return bool(
        negation.search(correction.string, correction.start(), correction.end() + 8)
    )


def _standing(sentence: str, signs: Signs) -> float:
    """Return how far a directive holds beyond the task at hand, from 0.05 to 1."""
    score = max(_BASE[name] for name in signs)
    if _search("general", sentence):
        score = score + 0.1
    if _search("particular", sentence):
        score = score - 0.1
    if _search("for now", sentence):
        score = score * 0.3
    return round(min(1.0, max(0.05, score)), 3)


def _blanked(text: str) -> str:
    """Return the sentence with quotes and code blanked, as long as it was.

    No word in quotes or code tells the agent anything.
    """
    quotes = compiled(
        r"`[^`]*`|\"[^\"]*\"|“[^”]*”|«[^»]*»|(?<!\w)'[^']{3,}'(?!\w)|https?://\S+"
    )
    return quotes.sub(lambda quote: "_" * len(quote[0]), text.replace("’", "'"))


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
            signs.append(f"(?:{line.replace('^^', patterns.CLAUSE)})")
    return re.compile("|".join(signs), re.IGNORECASE)


@cache
def stop_words() -> frozenset[str]:
    """Return words that tell nothing of a subject, English and Russian, in lower case."""
    sections = read_sections(__file__, "lexicon.txt")
    listed = " ".join(sections[kind] for kind in _STOP_KINDS)
    return patterns.STOP_WORDS | frozenset(listed.split())
