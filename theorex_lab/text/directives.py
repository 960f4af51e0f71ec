"""What a person told an agent to do: rules that stand, corrections and things to
remember, found by their words.
"""

import re
from functools import cache
from typing import Literal, NamedTuple

from theorex_lab.core.sections import read_sections
from theorex_lab.text import directive_patterns as patterns
from theorex_lab.text.spoken import Span, compiled, sentences_of

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
_USUALLY = {"always", "never"}  # also in descriptions of what happens
_STOP_KINDS = (
    "determiners prepositions pronouns modals auxiliaries relatives conjunctions"
    " coordinators adverbs".split()
)


class Directive(NamedTuple):
    """A sentence in which a person tells an agent what to do.

    polarity: "do" or "dont".  standing: 0 (for this moment) to 1 (for ever).  subject:
    stems of what it is about. replaces: stems of what it puts something in the place
    of.  renews: whether it says that it was otherwise before.
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
        """Whether it holds beyond the task at hand."""
        return self.standing >= STANDING


def directives(text: str) -> list[Directive]:
    """The directives of a person's prompt, in their order; see `sentences_of` for what
    is not their own word.

    >>> [
    ...     (found.kind, found.polarity, found.stands)
    ...     for found in directives("Never commit secrets. Don't commit yet.")
    ... ]
    [('rule', 'dont', True), ('rule', 'dont', False)]
    """
    return [
        found for span in sentences_of(text, by="user") if (found := directive_of(span))
    ]


def directive_of(span: Span) -> Directive | None:
    """The directive that a sentence is, or None: questions, reports of others and
    descriptions are none.
    """
    said = _blanked(span.text)
    signs = {
        name: found
        for name in _BASE
        if (found := _pattern(name, said.isascii()).search(said))
    }
    if signs.keys() & _USUALLY and _pattern("describes", said.isascii()).search(said):
        signs = {name: found for name, found in signs.items() if name not in _USUALLY}
    if not signs or is_asked(said) or _is_reported(said, signs):
        return None
    kind: Kind = (
        "remember"
        if "remember" in signs
        else "correction"
        if _is_correction(signs)
        else "rule"
    )
    polarity: Literal["do", "dont"] = "dont" if _is_negative(signs) else "do"
    subject = stems(span.text)
    replaces = frozenset[str]()
    text = span.text
    if polarity == "do" and (
        found := _pattern("replaces", said.isascii()).search(said)
    ):
        subject = stems(text[: found.start()] + text[found.end() :])
        replaces = stems(text[slice(*found.span(found.lastindex or 0))])
    renews = bool(_pattern("renews", said.isascii()).search(said))
    return Directive(
        span, kind, polarity, _standing(said, signs), subject, replaces, renews
    )


def same_rule(a: Directive, b: Directive) -> bool:
    """Whether two directives say the same, in other words perhaps."""
    return (
        a.polarity == b.polarity
        and _overlap(a.subject | a.replaces, b.subject | b.replaces) >= 0.6
    )


def reverses(new: Directive, old: Directive) -> bool:
    """Whether `new` takes back `old`: the same subject with the other polarity, or
    something else put in its place.

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
    """The informative words of a text without their endings, in lower case.

    >>> sorted(stems("Always use the named exports"))
    ['export', 'nam']
    """
    words = compiled(r"[^\W_][\w.+#/-]*[\w+#]|[^\W_]").findall(
        text.lower().replace("ё", "е")
    )
    return frozenset(_stem(word) for word in words if word not in stop_words())


def _stem(word: str) -> str:
    if len(word) < 4 or not word.isalpha():
        return word
    root = compiled(patterns.ENDINGS).sub("", word)
    return root[:-1] if len(root) > 3 and root[-1] in root[-2] + "e" else root


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    """The share of both sets together that is in both."""
    return len(a & b) / max(1, len(a | b))


def is_asked(said: str) -> bool:
    """Whether a sentence is a question, and neither a request nor a statement that asks
    for a yes.

    >>> (
    ...     is_asked("Is it done?"),
    ...     is_asked("Can you always run it?"),
    ...     is_asked("We keep tabs, right?"),
    ... )
    (True, False, False)
    """
    asks, requests = (
        _pattern(name, said.isascii()).search(said) for name in ("asks", "requests")
    )
    return said.rstrip().endswith("?") and (asks is not None or requests is None)


def _is_reported(said: str, signs: dict[str, re.Match[str]]) -> bool:
    reported = _pattern("reported", said.isascii()).search(said)
    return reported is not None and reported.start() <= min(
        found.start() for found in signs.values()
    )


def _is_correction(signs: dict[str, re.Match[str]]) -> bool:
    return "correction" in signs and not signs.keys() & (_USUALLY | {"must"})


def _is_negative(signs: dict[str, re.Match[str]]) -> bool:
    first = {name: found.start() for name, found in signs.items()}
    if "never" in first:
        return first["never"] <= first.get("always", first["never"])
    if "dont" in first:
        return first["dont"] <= min(
            first.get(name, first["dont"]) for name in ("always", "must", "do")
        )
    if "correction" not in first or first.keys() & {"do", "always", "must"}:
        return False
    found = signs["correction"]
    return bool(
        compiled(r"(?i)n['o]?t\b|\bне\b").search(
            found.string, found.start(), found.end() + 8
        )
    )


def _standing(said: str, signs: dict[str, re.Match[str]]) -> float:
    score = max(_BASE[name] for name in signs)
    found = {
        name
        for name in ("general", "particular", "for now")
        if _pattern(name, said.isascii()).search(said)
    }
    score = score + 0.1 * ("general" in found) - 0.1 * ("particular" in found)
    return round(min(1.0, max(0.05, score * (0.3 if "for now" in found else 1.0))), 3)


def _blanked(text: str) -> str:
    """The sentence, as long as it was, with quotes and code blanked, in which no word
    tells the agent anything.
    """
    quotes = compiled(
        r"`[^`]*`|\"[^\"]*\"|“[^”]*”|«[^»]*»|(?<!\w)'[^']{3,}'(?!\w)|https?://\S+"
    )
    return quotes.sub(lambda found: "_" * len(found[0]), text.replace("’", "'"))


@cache
def _pattern(section: str, ascii_only: bool) -> re.Pattern[str]:
    """The signs of a section; of a text in ASCII without those in Russian, which cannot
    stand in it.
    """
    lines = [
        line for line in patterns.PATTERNS[section] if line.isascii() or not ascii_only
    ]
    return re.compile(
        "|".join(f"(?:{line.replace('^^', patterns.CLAUSE)})" for line in lines),
        re.IGNORECASE,
    )


@cache
def stop_words() -> frozenset[str]:
    """Words that tell nothing of a subject, English and Russian, in lower case."""
    sections = read_sections(__file__, "lexicon.txt")
    listed = " ".join(sections[kind] for kind in _STOP_KINDS)
    return patterns.STOP_WORDS | frozenset(listed.split())
