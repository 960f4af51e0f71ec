"""Hold the words that concept extraction knows.

Those are English function words, verbs, adjectives, plurals and aliases.

A word that stands in no list and has no telling ending counts as a noun, so the lists
of `lexicon.txt` name what is *not* a noun, and what may be either. Verbs are listed by
their base form; `word_kinds` inflects them when first asked.

>>> word_kinds()["prevents"] == VERB and word_kinds()["cache"] == WEAK
True
"""

import re
from functools import cache

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.sections import read_sections
from theorex_lab.text.lexicon_tables import ALIASES, IRREGULAR_PLURALS, SENTIMENTS

# Kinds of tokens. From NOUN on, a token may stand inside a noun phrase.
(
    SENTENCE,
    COMMA,
    MARK,
    ADVERB,
    CONJUNCTION,
    COORDINATOR,
    DETERMINER,
    PREPOSITION,
    TO,
    PRONOUN,
) = range(10)
(
    MODAL,
    AUXILIARY,
    RELATIVE,
    VERB,
    PARTICIPLE,
    GERUND,
    GENERIC,
    NUMBER,
    STOP_NOUN,
) = range(10, 19)
(
    NOUN,
    GERUND_NOUN,
    ADJECTIVE,
    ATOM,
    STRONG,
    MIDDLE,
    WEAK,
    STRONG_S,
    MIDDLE_S,
    WEAK_S,
) = range(20, 30)

_SECTIONS = read_sections(__file__, "lexicon.txt")


def _words(section: str) -> list[str]:
    """Return the words of a section of the lists."""
    return _SECTIONS[section].split()


STOP_NOUNS = frozenset(_words("stop nouns"))
SHORT_TECHNICAL = frozenset(_words("short technical"))
SPECIAL_NAMES = frozenset({"c++", "c#", "f#", "g++", ".net"})
COMMIT_TYPES = frozenset(
    "feat fix chore docs doc refactor perf ci build style test tests revert wip"
    " deps".split()
)

_SAME_IN_PLURAL = frozenset(_words("same in plural"))
FOREIGN_STOP_WORDS = frozenset(_words("foreign stop words"))
SENTIMENT_WORDS: dict[str, float] = {}
for _score, _scored_words in SENTIMENTS.items():
    SENTIMENT_WORDS.update(dict.fromkeys(_scored_words.split(), _score))

_VOWELS = "aeiou"


def inflections(base: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return the third person, the regular pasts and the gerunds of a verb.

    Both spellings are there where a letter may double.

    >>> inflections("evict")
    ('evicts', ('evicted',), ('evicting',))
    """
    third = _third_person(base)
    if base.endswith("e"):
        stem = base if base.endswith(("ee", "oe", "ye")) else base[:-1]
        return third, (base + "d",), (stem + "ing",)
    if _ends_in_changing_y(base):
        return third, (base[:-1] + "ied",), (base + "ing",)
    stems = [base]
    if _may_double(base):
        stems.append(base + base[-1])
    pasts = tuple(stem + "ed" for stem in stems)
    gerunds = tuple(stem + "ing" for stem in stems)
    return third, pasts, gerunds


def _third_person(base: str) -> str:
    """Return the third person of a verb."""
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return base + "es"
    if _ends_in_changing_y(base):
        return base[:-1] + "ies"
    return base + "s"


def _ends_in_changing_y(base: str) -> bool:
    """Return whether a verb ends in a y that becomes an i: not after a vowel."""
    return base.endswith("y") and base[-2:-1] not in _VOWELS


def _may_double(base: str) -> bool:
    """Return whether the last letter of a verb may double: that of "stop" does."""
    if len(base) <= 2 or base[-1] in "aeiouwxy":
        return False
    return base[-2] in _VOWELS and base[-3] not in _VOWELS


def _add_verbs(
    kinds: dict[str, int],
    words: list[str],
    base_kind: int,
    third_kind: int,
) -> None:
    """Add verbs in all their forms to the kinds of words.

    Args:
        kinds: The kinds by word, to which they are added.
        words: The base forms.
        base_kind: The kind of the base forms.
        third_kind: The kind of the third persons.
    """
    for base in words:
        third, pasts, gerunds = inflections(base)
        kinds[base] = base_kind
        kinds[third] = third_kind
        kinds.update(dict.fromkeys(pasts, PARTICIPLE))
        kinds.update(dict.fromkeys(gerunds, GERUND))


_KIND_OF_SECTION = {
    "gerund nouns": GERUND_NOUN,
    "adjectives": ADJECTIVE,
    "generic adjectives": GENERIC,
    "adverbs": ADVERB,
    "conjunctions": CONJUNCTION,
    "coordinators": COORDINATOR,
    "prepositions": PREPOSITION,
    "pronouns": PRONOUN,
    "determiners": DETERMINER,
    "modals": MODAL,
    "auxiliaries": AUXILIARY,
    "relatives": RELATIVE,
}


@cache
def word_kinds() -> dict[str, int]:
    """Return every listed word and inflected verb with its kind.

    About 6,000 words; the table is built at the first call.
    """
    kinds = dict.fromkeys(_words("short nouns") + _words("nouns"), NOUN)
    _add_verbs(kinds, _words("verbs"), VERB, VERB)
    _add_verbs(kinds, _words("weak"), WEAK, WEAK_S)
    _add_verbs(kinds, _words("middle"), MIDDLE, MIDDLE_S)
    _add_verbs(kinds, _words("strong"), STRONG, STRONG_S)
    kinds.update(dict.fromkeys(_words("irregular past"), PARTICIPLE))
    for section, kind in _KIND_OF_SECTION.items():
        kinds.update(dict.fromkeys(_words(section), kind))
    for noun in STOP_NOUNS:
        kinds[noun] = STOP_NOUN
        kinds[noun + "s"] = STOP_NOUN
    kinds.update((noun, STOP_NOUN) for noun in _words("stop noun plurals"))
    kinds["to"] = TO
    for modal in [word for word in kinds if word.endswith("n't")]:
        kinds.setdefault(modal.replace("'", ""), MODAL)
    return kinds


@cache
def everyday_nouns() -> frozenset[str]:
    """Return the nouns that are said of any software, in the singular."""
    return frozenset(_words("everyday nouns"))


@cache
def alias_starts() -> dict[str, list[tuple[tuple[str, ...], str]]]:
    """Return the aliases by the first word of each.

    Returns:
        By first word, the words of the alias and the canonical form of the concept.
    """
    starts: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for short, phrase in ALIASES.items():
        hyphenated = phrase.replace(" ", "-", 1)
        for form in (short, phrase, hyphenated):
            words = tuple(form.split())
            aliases = starts.setdefault(words[0], [])
            aliases.append((words, phrase))
    return starts


@cache
def to_takers() -> frozenset[str]:
    """Return the verbs after whose object "to" leads to a place and not to a verb.

    They are there in all their forms.
    """
    forms: set[str] = set()
    for base in _words("to takers"):
        third, pasts, gerunds = inflections(base)
        forms.update((base, third, *pasts, *gerunds))
    return frozenset(forms)


_SUFFIX_KINDS = {
    "n't": MODAL,
    "'re": MODAL,
    "'ve": MODAL,
    "'ll": MODAL,
    "'d": MODAL,
    "'m": MODAL,
    "ly": ADVERB,
    "ing": GERUND_NOUN,
    "ed": PARTICIPLE,
    "able": ADJECTIVE,
    "ible": ADJECTIVE,
    "ful": ADJECTIVE,
    "less": ADJECTIVE,
    "ous": ADJECTIVE,
    "ize": VERB,
    "izes": VERB,
    "ify": VERB,
    "ifies": VERB,
}
_SHORTEST_DERIVED = 5
_PREFIXED = lazy_pattern(r"(?:re|un|pre|mis|over|de|auto)(.{4,})")


def kind_by_form(word: str) -> int:
    """Return the kind of a lower-case word that is in no list.

    Its ending tells it, or the verb after its prefix.

    >>> kind_by_form("frobnicated") == PARTICIPLE
    True
    >>> kind_by_form("reindex") == WEAK
    True
    >>> kind_by_form("zebra") == NOUN
    True
    """
    if len(word) >= _SHORTEST_DERIVED or "'" in word:
        for suffix, kind in _SUFFIX_KINDS.items():
            if word.endswith(suffix):
                return kind
    prefixed = _PREFIXED.fullmatch(word)
    if prefixed is None:
        return NOUN
    kind = word_kinds().get(prefixed[1], NOUN)
    return kind if kind >= VERB else NOUN


def singular(word: str) -> str:
    """Return the singular of a lower-case English noun.

    A word that is no plural comes back as it is.

    >>> [
    ...     singular(word)
    ...     for word in ("caches", "queries", "indices", "redis", "classes", "status")
    ... ]
    ['cache', 'query', 'index', 'redis', 'class', 'status']
    """
    irregular = IRREGULAR_PLURALS.get(word)
    if irregular is not None:
        return irregular
    if len(word) <= 3 or not word.endswith("s"):
        return word
    if word.endswith(("ss", "us", "is", "'s")) or word in _SAME_IN_PLURAL:
        return word
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-3] + "y"
    if word.endswith(("ches", "shes", "xes", "sses", "oes")):
        return word[:-2]
    return word[:-1]


# Other scripts

# Letters with the combining marks that \w leaves out (Arabic, Hebrew, Indic and
# South-East Asian vowel signs).
WORD_CHARACTER = (
    r"[\w\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u0670\u06d6-\u06ed"
    r"\u0900-\u0963\u0966-\u0dff\u0e00-\u0edf\u0f71-\u0fbc\u1000-\u109f\u1780-\u17d3]"
)
_HAN_PARTICLES = lazy_pattern(
    "[的了是在和与與我你他她它们們这這那也都就很把被吗嗎呢吧]"
)
_HANGUL_PARTICLE = lazy_pattern("(?:에서|에게|으로|을|를|은|는)$")
_VOWEL_POINTS = lazy_pattern("[\u0640\u064b-\u0652]")
_LONGEST_SPACED_WORD = 64
_WHOLE_AND_GRAM_LETTERS = {
    "han": (6, 2),
    "hiragana": (6, 2),
    "unspaced": (24, 4),
    "katakana": (24, 4),
}

# Runs of one script; white space does not count. <<word>> stands for a sign of a word.
_SCRIPT_RUN = r"""
    (?P<han>[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3005\U00020000-\U0003ffff]++)
    |(?P<katakana>[\u30a1-\u30ff\u31f0-\u31ff]++)
    |(?P<hiragana>[\u3041-\u309f]++)
    |(?P<unspaced>[<<unspaced>>]++)
    |(?P<hangul>[\uac00-\ud7a3\u1100-\u11ff]++)
    |(?P<latin>[A-Za-z0-9_\u00c0-\u024f]++)
    |(?P<spaced>(?>(?:(?![\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3<<unspaced>>])<<word>>)+))
"""


_UNSPACED_LETTERS = r"\u0e00-\u0edf\u1000-\u109f\u1780-\u17d3"


@cache
def _script_run() -> re.Pattern[str]:
    """Return the pattern of one run of letters of one script.

    It is compiled when a text first needs it.
    """
    pattern = _SCRIPT_RUN.replace("<<word>>", WORD_CHARACTER)
    pattern = pattern.replace("<<unspaced>>", _UNSPACED_LETTERS)
    return re.compile(pattern, re.VERBOSE)


def cut_other_script(piece: str) -> list[tuple[str, bool]]:
    """Return the concepts of a piece with letters outside the Latin script.

    Returns:
        Each concept, and whether the part is Latin after all.

    >>> cut_other_script("デプロイ後にキャッシュ")
    [('デプロイ', False), ('キャッシュ', False)]
    """
    parts: list[tuple[str, bool]] = []
    for match in _script_run().finditer(piece):
        run = match[0]
        script = str(match.lastgroup)
        if script == "latin":
            parts.append((run, True))
        elif script in ("spaced", "hangul"):
            parts += [(word, False) for word in _spaced_word(run, script)]
        elif script != "hiragana" or run == piece:
            is_alone = run == piece
            grams = _grams_of(run, script, is_alone)
            parts += [(gram, False) for gram in grams]
    return parts


def _grams_of(run: str, script: str, alone: bool) -> list[str]:
    """Return the concepts of a run of a script without spaces, cut at particles."""
    is_cut = script == "han" and len(run) > 2
    pieces = _HAN_PARTICLES.split(run) if is_cut else [run]
    grams: list[str] = []
    for piece in pieces:
        grams += _whole_or_grams(piece, script, alone)
    return grams


def without_marks(word: str) -> str:
    """Return the word without Arabic vowel points and lengthening strokes.

    Writers set them or leave them out at will.
    """
    return _VOWEL_POINTS.sub("", word)


def _whole_or_grams(run: str, script: str, alone: bool) -> list[str]:
    """Return the run as one concept while it is short, else its overlapping grams.

    One letter counts only when alone.
    """
    whole_letters, gram_letters = _WHOLE_AND_GRAM_LETTERS[script]
    if len(run) <= whole_letters:
        shortest = 1 if alone else 2
        return [run] if len(run) >= shortest else []
    n_grams = len(run) - gram_letters + 1
    return [run[start : start + gram_letters] for start in range(n_grams)]


def _spaced_word(run: str, script: str) -> list[str]:
    """Return the word that a run of a script with spaces is, if it is one."""
    word = run
    if script == "hangul":
        stem = _HANGUL_PARTICLE.sub("", run)
        if len(stem) >= 2:
            word = stem
    letters = without_marks(word)
    shortest = 3 if script == "spaced" else 2
    if len(letters) < shortest or len(run) > _LONGEST_SPACED_WORD:
        return []
    if letters.lower() in FOREIGN_STOP_WORDS:
        return []
    return [word]
