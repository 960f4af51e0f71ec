"""Tell what a statement is about: the thing, role or person that its subject names."""

import re
from typing import NamedTuple

from theorex_lab.designs.facts import statement_cues as cues
from theorex_lab.text import lexicon
from theorex_lab.text.lexicon import kind_by_form, singular, word_kinds

_WORD = re.compile(r"`[^`]+`|[^\s,;:!?\"“”()]+")
_POSSESSIVE = re.compile(r"(?P<owner>.+?)['’]s\s+(?P<property>.+)")
_OF = re.compile(r"(?P<property>.+?)\s+(?:of|for|in)\s+(?P<owner>.+)")
_RELATIVE = frozenset("that which who whose where when if and or to not".split())
_DETERMINERS = frozenset("the a an our all".split())
_PRONOUNS = frozenset("it they them he she we you i what there here some any".split())
_ADVERBS = frozenset("now also only always then still already explicitly not".split())
_SHORT_LY = 4
_VERB_KINDS = (
    lexicon.VERB,
    lexicon.PARTICIPLE,
    lexicon.GERUND,
    lexicon.STRONG,
    lexicon.STRONG_S,
    lexicon.MIDDLE_S,
    lexicon.ADVERB,
    lexicon.MODAL,
    lexicon.PREPOSITION,
    lexicon.CONJUNCTION,
    lexicon.RELATIVE,
)
_BASE_KINDS = (lexicon.MIDDLE, lexicon.WEAK, lexicon.WEAK_S)
_OBJECT_STARTS = frozenset("the a an some all any each no it its this that".split())
_PLACEHOLDER = re.compile(r"\s*(?:<[^<>]*>|\[[^\[\]]*\]|--?[\w-]+=?\S*)")
_MOST_WORDS = 7
_PLACED = re.compile(
    r"(?:are|live|go|stay|run)\b(?: \w+)? (?:in|at|under|on|from|to|by|with|as)\b", re.I
)
_METHOD = re.compile(r"^(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\s+")
_PATH_PARAMETER = re.compile(r"/?\{[^{}]*\}|/?:\w+|/?<[^<>]*>")
_EXPRESSION = re.compile(r"[=|{}]|\(.")
_IDENTIFIER = re.compile(r"[^\W\d][\w.-]*\w")
_TEST = re.compile(r"[Tt]est_?[A-Z_]|.*[._]test\.")
_LETTER = re.compile(r"[^\W\d_]")
_FILE_ENDING = re.compile(r"\.[a-z]{1,5}$")
# Files that stand in many folders: the folder tells which one is meant.
_COMMON_FILES = re.compile(
    r"(?:index|main|mod|lib|__init__|readme|types|utils|config|test|package)\b", re.I
)
_PERSON = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)?")


class Subject(NamedTuple):
    """What a statement is about.

    Attributes:
        name: Its name as it is written, without "the"; '' for the project as a whole.
        kind: "thing", "person" or "project".
    """

    name: str
    kind: str


def subject_named(phrase: str, predicate: str = "") -> Subject | None:
    """Return what a subject names; None where it names nothing by itself.

    Args:
        phrase: The words before the verb.
        predicate: The verb and what follows, by which persons are known.

    >>> subject_named("The default port of the till"), subject_named("The fix")
    (Subject(name='till', kind='thing'), None)
    >>> subject_named("Ann", "owns the parser"), subject_named("We", "use pnpm")
    (Subject(name='Ann', kind='person'), Subject(name='', kind='project'))
    """
    words = _without_adverbs(_WORD.findall(phrase))
    phrase = " ".join(words)
    lower = [word.lower() for word in words]
    if "we" in lower and len(words) == 1:
        return Subject("", "project")
    if not words or len(words) > _MOST_WORDS or not _RELATIVE.isdisjoint(lower):
        return None
    if not cues.NO_OPENING.isdisjoint(lower[:1]) or not _PRONOUNS.isdisjoint(lower):
        return None
    if lower[0] == "all" and lower[1:2] and lower[1] in cues.NO_OPENING:
        return None
    if _begins_with_verb(lower):
        return None
    if _PERSON.fullmatch(phrase) and cues.OF_PERSONS.match(predicate):
        return Subject(phrase, "person")
    owner = _owner_in(phrase)
    if owner:
        return subject_named(owner, predicate)
    if _names_project(_WORD.findall(phrase.lower())):
        return Subject("", "project")
    bare = [word for word in words if word.lower() not in _DETERMINERS]
    if cues.EXACT_NAME.search(phrase):
        name = _exact_name_in(bare)
        if not _tells_which(name):
            return None
        return Subject(name, "thing")
    return _common_subject(words) or _plural_subject(lower, predicate)


def _without_adverbs(words: list[str]) -> list[str]:
    """Return the words of a subject without adverbs at its end: "the till now"."""
    words = list(words)
    while len(words) > 1 and _is_adverb(words[-1].lower()):
        words.pop()
    return words


def _is_adverb(word: str) -> bool:
    if word in _ADVERBS:
        return True
    return word.endswith("ly") and len(word) > _SHORT_LY


def _begins_with_verb(lower: list[str]) -> bool:
    """Return whether a phrase is no noun but begins with a verb or an adverb."""
    first = lower[0]
    if first in _DETERMINERS or not first.isalpha():
        return False
    kind = word_kinds().get(first, kind_by_form(first))
    if kind in _VERB_KINDS:
        return True
    return kind in _BASE_KINDS and len(lower) > 1 and lower[1] in _OBJECT_STARTS


def _tells_which(name: str) -> bool:
    """Return whether an exact name is of something of the project, and no test."""
    first_word = name.lower().partition(" ")[0]
    if name.lower() in cues.NO_NAMES or first_word in cues.GENERAL_TOOLS:
        return False
    if _TEST.match(name):
        return False
    return len(_LETTER.findall(name)) > 1


def _owner_in(phrase: str) -> str:
    """Return whose property a phrase names: of "the till's port" the till; else ''."""
    match = _POSSESSIVE.fullmatch(phrase) or _OF.fullmatch(phrase)
    if match is None:
        return ""
    last = singular(_WORD.findall(match["property"])[-1].lower())
    if last in cues.PROPERTIES or last in cues.GENERIC_NOUNS:
        return match["owner"]
    return ""


def _names_project(lower: list[str]) -> bool:
    bare = [word for word in lower if word not in _DETERMINERS and word != "this"]
    return len(bare) == 1 and bare[0] in cues.PROJECT_NOUNS


def _exact_name_in(words: list[str]) -> str:
    """Return the exact name of a subject, with the folder of a common file."""
    for word in words:
        if not cues.EXACT_NAME.search(word):
            continue
        bare = word.strip("`'’*_()")
        name = re.sub(r"['’]s$", "", bare).strip("`")
        if not name.strip(".-"):
            continue
        name = _METHOD.sub("", name)
        if name.startswith("/"):
            return _PATH_PARAMETER.sub("", name)
        if _EXPRESSION.search(name):
            first = _IDENTIFIER.search(name)
            return first[0] if first else ""
        if " " in name:
            return _PLACEHOLDER.sub("", name).strip() or name
        return _short_path(name)
    return " ".join(words)


def _short_path(name: str) -> str:
    """Return a path without its folders, but for the last one of a common file."""
    parts = [part for part in name.strip("/.").split("/") if part]
    if len(parts) < 2 or not _FILE_ENDING.search(parts[-1]):
        return name
    if _COMMON_FILES.match(parts[-1]):
        return "/".join(parts[-2:])
    return parts[-1]


def _common_subject(words: list[str]) -> Subject | None:
    """Return the subject that ordinary words name: "the session record"."""
    kinds = word_kinds()
    nouns = [word for word in words if word.lower() not in cues.VAGUE_ADJECTIVES]
    if not nouns:
        return None
    head = singular(nouns[-1].lower())
    if head in cues.EMPTY_HEADS or head in cues.CODE_HEADS:
        return None
    telling = [
        word for word in nouns if singular(word.lower()) not in cues.GENERIC_NOUNS
    ]
    is_definite = words[0].lower() in _DETERMINERS
    is_compound = len(nouns) > 1
    if head in cues.ROLES and is_definite:
        return Subject(" ".join(nouns), "person")
    if is_compound and (telling or is_definite):
        return Subject(_joined(nouns), "thing")
    if is_definite and telling:
        return Subject(_joined(nouns), "thing")
    # A capital at the beginning: a name, where it is no ordinary word.
    is_ordinary = nouns[0].lower() in kinds or nouns[0].lower().endswith("s")
    if not is_compound and nouns[0][:1].isupper() and not is_ordinary:
        return Subject(nouns[0], "thing")
    return None


def _plural_subject(lower: list[str], predicate: str) -> Subject | None:
    """Return what a bare plural names where its predicate is exact.

    "Tasks live in `tasks.md`" is understood by itself.
    """
    bare = [word for word in lower if word not in _DETERMINERS]
    if len(bare) != 1 or bare[0] in cues.NO_OPENING:
        return None
    head = singular(bare[0])
    is_plural = head != bare[0] and bare[0].isalpha()
    if not is_plural or head in cues.EMPTY_HEADS:
        return None
    is_exact = cues.EXACT_VALUE.search(predicate) is not None
    if not is_exact or _PLACED.match(predicate) is None:
        return None
    return Subject(head, "thing")


def _joined(nouns: list[str]) -> str:
    """Return nouns as a name, the last one in the singular."""
    *before, head = nouns
    return " ".join([*before, singular(head.lower())])
