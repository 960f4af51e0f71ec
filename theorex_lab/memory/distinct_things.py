"""Tell whether two statements are about different things, so that both hold.

This is the one judgement that every door asks before a statement replaces another,
repeats it or contradicts it: the briefing, the writing of facts, the notes on them.

Two statements are about different things where what differs stands in the subject
("the left motor", "order 4711", "Bob's dog"): they hold side by side, whatever is said
of them. They tell different events where each says what somebody did once ("met Ann",
"met Bob"). Where the value alone differs, they are about the same thing, and the newer
one may be an update.

Scripts other than the Latin one have no list of verbs here: there a name or a number
tells where it stands, not the words around it.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.remembering import remembered
from theorex_lab.core.sections import read_sections
from theorex_lab.memory.claims import clause_of, denies, is_bound
from theorex_lab.text import lexicon
from theorex_lab.text.wording import stem

_SECTIONS = read_sections(
    __file__,
    "distinct_things.txt",
)
_WORDS = {name: frozenset(text.split()) for name, text in _SECTIONS.items()}
# Words that may stand beside a subject and tell nothing of which thing it is.
_FILLERS = _WORDS["fillers"]
# Properties of a thing: "the port of the till" and "the till" are one subject.
_PROPERTIES = _WORDS["properties"]
_POSSESSIVES = _WORDS["possessives"]
_ADVERBS = _WORDS["adverbs"]
_PRONOUNS = _WORDS["pronouns"]
_SPEAKERS = _WORDS["speakers"]
_EVENTS = _WORDS["events"]
_LISTING = _WORDS["listing"]
_EXCLUSIVE = _WORDS["exclusive"]
_BEFORE_ROLE = _WORDS["before role"]
# "Bo leads the team": one does; "Bo Kim runs Orla": so does who has a full name.
_ROLE_VERBS = _WORDS["role verbs"]
_HOLDERS = _WORDS["holders"]
_VERBS = _WORDS["verbs"]
_PLACE_OR_TIME = _WORDS["place or time"]
_TOPIC_ENDINGS = ("은", "는", "이", "가", "は", "が", "も")
# Signs of Han, kana, Thai, Lao, Tibetan, Burmese and Khmer: each is a token of its own.
_UNSPACED = (
    r"\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
)
_TOKEN = lazy_pattern(
    rf"[{_UNSPACED}]|`[^`]+`|[^\s,;!?\"“”()\[\]{{}}«»、。{_UNSPACED}]+"
)
_TOPIC_SIGNS = frozenset("はが")
_SIGN = lazy_pattern(f"[{_UNSPACED}]")
_LEADING = lazy_pattern(
    r"(?i)^(?:(?:correction|update|news|note|fyi|from now on|as of (?:now|today)"
    r"|currently|now|today|these days)[,:]?\s+)+"
)
_POSSESSIVE_END = lazy_pattern(r"['’]s?$")
_IS = frozenset("is are was were".split())
_COUNT = lazy_pattern(r"\d+%?")
_NUMBER_WORDS = frozenset(
    "two three four five six seven eight nine ten eleven twelve".split()
)
_ORDINAL = lazy_pattern(r"\d+(?:st|nd|rd|th)")
_LEAST_TAIL = 2  # words after a difference, by which it is known to stand in a subject
_LATEST_START = 2  # words before it, where no verb is known


class _Parts(NamedTuple):
    """What is compared of a statement.

    Attributes:
        tokens: Its words.
        subject: Those before the verb that tell which thing is meant.
        identifiers: Those of the subject that are names by their form.
        names: These, and those with a capital.
        verb: The main verb; '' where none is known.
        n_before: How many words stand before the verb; 0 where none is known.
        n_names: How many words the subject has where all of them have a capital, else 0.
    """

    tokens: tuple[str, ...]
    subject: frozenset[str]
    identifiers: frozenset[str]
    names: frozenset[str]
    verb: str
    n_before: int
    n_names: int


class _Difference(NamedTuple):
    """The one run of words in which two statements differ.

    Attributes:
        start: How many words stand before it.
        new: The run in the newer statement.
        old: The run in the older one.
        tail: The words behind it, which are the same.
    """

    start: int
    new: Sequence[str]
    old: Sequence[str]
    tail: Sequence[str]


def hold_side_by_side(
    newer: str,
    older: str,
) -> bool:
    """Return whether two statements hold side by side, whatever they say.

    They are about different things, or tell different events. The order of the two
    makes no difference.

    >>> hold_side_by_side("Order 4712 was shipped.", "Order 4711 was shipped.")
    True
    >>> hold_side_by_side("Ann met Captain Bo.", "Ann met Captain Cy.")
    True
    >>> hold_side_by_side("The till runs Postgres 15.", "The till runs Postgres 14.")
    False
    """
    return (
        are_of_different_things(
            newer,
            older,
        )
        or are_different_events(
            newer,
            older,
        )
        or _are_of_different_places(
            newer,
            older,
        )
    )


@remembered(1 << 12)
def are_of_different_things(
    newer: str,
    older: str,
) -> bool:
    """Return whether the subjects of two statements are different things.

    >>> are_of_different_things("His phone is blue.", "Her phone is blue.")
    True
    >>> are_of_different_things("Three tests fail.", "Nine tests fail.")
    False
    """
    new = _parts(newer)
    old = _parts(older)
    if new.tokens == old.tokens:
        return False
    if _names_holder(
        new,
        old,
    ) or _names_holder(
        old,
        new,
    ):
        return False
    if _subjects_differ(
        new,
        old,
    ):
        return True
    return _differs_before_verb(
        new,
        old,
    )


def are_different_events(
    newer: str,
    older: str,
) -> bool:
    """Return whether two statements tell what somebody did at different times.

    A state gives way to another one; what was done stays done.

    >>> are_different_events("Ann called Bob.", "Ann called Cy.")
    True
    >>> are_different_events("Ann moved to Bath.", "Ann moved to York.")
    False
    """
    new = _parts(newer)
    old = _parts(older)
    if not new.verb or new.verb != old.verb:
        return False
    if denies(newer) or denies(older):
        return False
    if new.verb not in _EVENTS and new.verb not in _LISTING:
        return False
    new_object = _object_words(new) - _object_words(old)
    old_object = _object_words(old) - _object_words(new)
    return bool(new_object and old_object)


def _are_of_different_places(
    newer: str,
    older: str,
) -> bool:
    """Return whether two statements end in the places that they hold in.

    "The proxy uses port 80 in staging" says nothing of production. "It runs in staging"
    gives the place itself as the value.
    """
    new = _parts(newer)
    old = _parts(older)
    new_place = new.tokens[-1:]
    old_place = old.tokens[-1:]
    if new_place == old_place or not {*new_place, *old_place} <= _ENVIRONMENTS:
        return False
    for parts in (new, old):
        preposition = parts.tokens[-2:-1]
        has_value = bool(parts.verb) and len(parts.tokens) - parts.n_before > _SHORTEST
        if preposition not in (("in",), ("on",), ("for",)) or not has_value:
            return False
    return new.subject == old.subject


@remembered(1 << 13)
def _parts(text: str) -> _Parts:
    """Return what is compared of a statement."""
    sentence = _LEADING.sub(
        "",
        text.strip().rstrip(".!。"),
    )
    tokens = tuple(_TOKEN.findall(sentence))
    lower = tuple(
        _bare(
            token,
            index,
        )
        for index, token in enumerate(tokens)
    )
    n_before, verb = _before_verb(
        sentence,
        lower,
    )
    telling = _telling_words(
        tokens[:n_before],
        lower[:n_before],
    )
    if n_before == 1 and verb.endswith("s"):
        # The verb is of one thing, so that an s at the end of its name is no plural.
        telling = list(lower[:1])
    identifiers = {word for word in telling if _is_identifier(word)}
    return _Parts(
        tokens=tuple(word for word in lower if word),
        subject=frozenset(telling),
        identifiers=frozenset(identifiers),
        names=frozenset(identifiers | _capitalized(tokens[1:n_before])),
        verb=verb,
        n_before=n_before,
        n_names=_number_of_names(tokens[:n_before]),
    )


def _bare(token: str, index: int = 0) -> str:
    """Return a word in the form in which it is compared.

    A single capital is a name, but for the first word: "shard A".
    """
    bare = token.strip("`'’*_.:")
    if index and len(bare) == 1:
        return bare
    return bare.casefold()


def _before_verb(
    sentence: str,
    lower: Sequence[str],
) -> tuple[int, str]:
    """Return how many words stand before the main verb, and the verb.

    Both are empty for an order, and for what is said under a condition.
    """
    if is_bound(sentence):
        return 0, ""
    index = _known_verb(lower)
    if index:
        verb = "" if lower[index] in _TOPIC_SIGNS else lower[index]
        return _without_adverbs(
            lower,
            index,
        ), verb
    return _before_read_verb(
        sentence,
        lower,
    )


def _known_verb(lower: Sequence[str]) -> int:
    """Return the index of the first word that is surely a verb; 0 for none.

    The sign of a topic in Japanese ends a subject as a verb does.
    """
    for index in range(
        1,
        len(lower),
    ):
        word = lower[index]
        is_verb = word in _VERBS and lower[index - 1] not in _BEFORE_NOUN
        if is_verb or word in _TOPIC_SIGNS:
            return index
    return 0


def _before_read_verb(
    sentence: str,
    lower: Sequence[str],
) -> tuple[int, str]:
    """Return how many words stand before the verb that a clause is read to have."""
    clause = clause_of(sentence)
    if clause is not None and clause.subject and not clause.is_order:
        n_before = len(_TOKEN.findall(clause.subject))
        verb_words = clause.verb.casefold().split()
        return n_before, verb_words[-1]
    if lower and lower[0] in _EVENTS:
        return 0, lower[0]
    return 0, ""


def _without_adverbs(
    lower: Sequence[str],
    end: int,
) -> int:
    """Return the end of a subject before the adverbs that stand before its verb."""
    while end > 1 and lower[end - 1] in _FILLERS:
        end -= 1
    return end


def _telling_words(
    tokens: Sequence[str],
    lower: Sequence[str],
) -> list[str]:
    """Return the words of a subject that tell which thing is meant."""
    telling: list[str] = []
    for index, token in enumerate(tokens):
        word = lower[index]
        following = tokens[index + 1 : index + 2]
        if index == 0 and following == ("of",):
            following = ("people",)
        is_count = _is_count(
            word,
            following,
        )
        if not word or word in _FILLERS or is_count:
            continue
        owner = _POSSESSIVE_END.sub(
            "",
            token.strip("`*_"),
        )
        word = _bare(
            owner,
            index,
        )
        is_plain = word.isalpha() and word.isascii() and len(word) > 1
        telling.append(stem(word) if is_plain else word)
    return telling


def _number_of_names(tokens: Sequence[str]) -> int:
    """Return how many words a subject has that is a proper name, else 0."""
    for token in tokens:
        is_capitalized = token[:1].isupper() and token.isalpha()
        if not is_capitalized or token.casefold() in lexicon.word_kinds():
            return 0
    return len(tokens)


def _capitalized(tokens: Sequence[str]) -> set[str]:
    """Return the words with a capital, in the form in which they are compared."""
    names: set[str] = set()
    for token in tokens:
        if token[:1].isupper():
            names.update(
                _telling_words(
                    [token],
                    [
                        _bare(
                            token,
                            1,
                        )
                    ],
                )
            )
    return names


def _is_count(
    word: str,
    following: Sequence[str],
) -> bool:
    """Return whether a word tells how many there are: "12 tests", and not "room 12"."""
    if not (_COUNT.fullmatch(word) or word in _NUMBER_WORDS):
        return False
    if word.endswith("%"):
        return True
    next_word = following[0].casefold() if following else ""
    return next_word.endswith("s") or next_word in ("people", "percent")


def _is_identifier(word: str) -> bool:
    """Return whether a word is a name by its form: a number, a code, a single letter."""
    if len(word) == 1:
        return word.isalnum()
    if any(sign.isdigit() for sign in word):
        return True
    return any(sign in word[1:-1] for sign in "-_/.@:#")


def _subjects_differ(
    new: _Parts,
    old: _Parts,
) -> bool:
    """Return whether each subject has a word that the other statement lacks."""
    if not (new.subject and old.subject):
        return False
    only_new = _only_in(
        new,
        old,
    )
    only_old = _only_in(
        old,
        new,
    )
    if not (only_new and only_old):
        return False
    if _is_vague(new) or _is_vague(old):
        return False
    return not _are_reworded(
        new,
        old,
        only_new,
        only_old,
    )


def _only_in(
    parts: _Parts,
    other: _Parts,
) -> set[str]:
    """Return the words of a subject that the other subject lacks."""
    only = parts.subject - other.subject
    return {
        word
        for word in only
        if not _has_akin(
            word,
            other.subject,
        )
    }


def _has_akin(
    word: str,
    others: frozenset[str],
) -> bool:
    """Return whether one of other words is another writing of a word: v2, 2."""
    plain = re.sub(
        r"[-_ ]",
        "",
        word,
    )
    return any(
        re.sub(
            r"[-_ ]",
            "",
            other,
        )
        == plain
        for other in others
    )


def _is_vague(parts: _Parts) -> bool:
    """Return whether a subject names nothing by itself: "it", "this", "we"."""
    return parts.subject <= _PRONOUNS | _SPEAKERS


def _are_reworded(
    new: _Parts,
    old: _Parts,
    only_new: set[str],
    only_old: set[str],
) -> bool:
    """Return whether two subjects may name one thing in different words.

    What one names stands in the rest of the other, one names a property where
    the other names the thing, or one says "her" where the other says the name.
    """
    if _is_behind_verb(
        only_new,
        old,
    ) or _is_behind_verb(
        only_old,
        new,
    ):
        return True
    new_properties = only_new <= _PROPERTIES
    old_properties = only_old <= _PROPERTIES
    if new_properties != old_properties and not (new.identifiers & old.identifiers):
        return not (new.identifiers and old.identifiers)
    shared_names = new.names & old.names
    if shared_names and not _are_aligned(
        new,
        old,
    ):
        return True
    has_owner = only_new <= _POSSESSIVES, only_old <= _POSSESSIVES
    return any(has_owner) and not all(has_owner)


def _are_aligned(
    new: _Parts,
    old: _Parts,
) -> bool:
    """Return whether two subjects are the same but for one run of as many words."""
    new_subject = new.tokens[: new.n_before]
    old_subject = old.tokens[: old.n_before]
    if len(new_subject) != len(old_subject):
        return False
    return (
        _only_difference(
            new_subject,
            old_subject,
        )
        is not None
    )


def _is_behind_verb(
    words: set[str],
    other: _Parts,
) -> bool:
    """Return whether one of some words stands behind the verb of another statement."""
    behind = _object_words(other)
    return not behind.isdisjoint(words)


def _object_words(parts: _Parts) -> set[str]:
    """Return the words behind the verb of a statement that say something."""
    words: set[str] = set()
    behind = parts.tokens[parts.n_before :]
    for index, word in enumerate(behind):
        if _is_count(
            word,
            behind[index + 1 : index + 2],
        ):
            continue
        if word in _FILLERS or word in _PLACE_OR_TIME or word == parts.verb:
            continue
        bare = _POSSESSIVE_END.sub(
            "",
            word,
        )
        is_plain = bare.isalpha() and bare.isascii() and len(bare) > 1
        words.add(stem(bare) if is_plain else bare)
    return words


def _names_holder(
    parts: _Parts,
    other: _Parts,
) -> bool:
    """Return whether a statement names who holds a role, which has one holder.

    "Ann is the mayor of Bath" and "Bo runs the till" tell who does, so that the value
    stands before the verb. A thing with a number or a sign is no such holder.
    """
    if parts.n_before == 0:
        return False
    if parts.verb in _IS:
        return _is_role(parts.tokens[parts.n_before + 1 :])
    if parts.identifiers or other.identifiers or parts.n_names == 0:
        return False
    is_full_name = parts.n_names > 1
    return parts.verb in _ROLE_VERBS or (parts.verb in _HOLDERS and is_full_name)


def _is_role(words: Sequence[str]) -> bool:
    """Return whether the words after "is" name a role: "the owner", "mayor of"."""
    behind = [word for word in words if word not in _ADVERBS]
    if not behind:
        return False
    if behind[0] in _BEFORE_ROLE or behind[0] in _EXCLUSIVE:
        return True
    return behind[1:2] == ["of"]


def _differs_before_verb(
    new: _Parts,
    old: _Parts,
) -> bool:
    """Return whether two statements are the same but for a word of their subject.

    It is for statements in which no verb is known.
    """
    if new.subject and old.subject:
        return False
    difference = _only_difference(
        new.tokens,
        old.tokens,
    )
    if difference is None or not _may_be_subject(
        new.tokens,
        difference.start,
    ):
        return False
    differing = {*difference.new, *difference.old}
    if not differing.isdisjoint(_FILLERS | _PRONOUNS) or _has_counts(difference):
        return False
    if _has_topic_endings(difference):
        return bool(difference.tail)
    if len(difference.tail) < _LEAST_TAIL:
        return False
    return difference.start <= 1 or all(
        map(
            _is_identifier,
            differing,
        )
    )


def _has_topic_endings(difference: _Difference) -> bool:
    """Return whether both runs end as the topic of a sentence in Korean does."""
    new_ending = difference.new[-1]
    old_ending = difference.old[-1]
    return new_ending.endswith(_TOPIC_ENDINGS) and old_ending.endswith(_TOPIC_ENDINGS)


def _may_be_subject(
    tokens: Sequence[str],
    start: int,
) -> bool:
    """Return whether a subject may reach to a word: few and no verb stand before it."""
    before = tokens[:start]
    n_words = start - sum(
        map(
            _is_within_run,
            before,
            before[1:],
        )
    )
    return n_words <= _LATEST_START and not _has_verb(before)


def _is_within_run(
    sign: str,
    following: str,
) -> bool:
    """Return whether two neighbours are signs of a word that is written without spaces."""
    return bool(_SIGN.fullmatch(sign) and _SIGN.fullmatch(following))


def _has_counts(difference: _Difference) -> bool:
    """Return whether two statements differ in how many there are: "3 tests"."""
    for words in (difference.new, difference.old):
        if len(words) != 1 or not _is_count(
            words[0],
            difference.tail[:1],
        ):
            return False
    return True


def _only_difference(
    new: Sequence[str],
    old: Sequence[str],
) -> _Difference | None:
    """Return the one run of words in which two statements differ.

    It is None where they differ in more, or in length alone.
    """
    matcher = SequenceMatcher(
        None,
        new,
        old,
        autojunk=False,
    )
    changes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    if len(changes) != 1 or changes[0][0] != "replace":
        return None
    _, start, end, old_start, old_end = changes[0]
    return _Difference(
        start,
        new[start:end],
        old[old_start:old_end],
        new[end:],
    )


def _has_verb(words: Sequence[str]) -> bool:
    """Return whether one of some words is known as a verb of English."""
    kinds = lexicon.word_kinds()
    verbs = (lexicon.VERB, lexicon.AUXILIARY, lexicon.MODAL, lexicon.STRONG)
    return any(kinds.get(word) in verbs or word in _VERBS for word in words)


_ENVIRONMENTS = _WORDS["environments"]
_SHORTEST = 3  # words from a verb to the end: the verb, a preposition and a place
_BEFORE_NOUN = frozenset("the a an this that these those of for in at".split())
