"""Read what a sentence of working prose claims: subject, attribute and value.

The subject is what stands before the verb, the attribute is the verb with its
preposition, and the value is the rest of the clause. "The team deploys on Tuesdays"
claims "tuesdays" as the "deploy on" of "team". English: its words stand in this module
alone, so that another language can be added beside them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.remembering import remembered
from theorex_lab.text import lexicon
from theorex_lab.text.wording import STOP_WORDS, stem

# Attributes that several verbs name.
PLACE = "=place"
NAME = "=name"
BE = "be"
USE = "use"

# Where the clause ends that holds the value: a reason or a second clause follows.
_CLAUSE_END = lazy_pattern(
    r"(?:[;—–(]|\s-\s|,\s|\s(?:because|since|so that|so|as it|but|and|while|which)\b)"
)
# What is claimed under a condition, or after a label, is not claimed of the subject.
_CONDITION = lazy_pattern(
    r"(?i)(?:if|when|whenever|unless|once|after|before|while|until|where)\b"
)
_LABEL = lazy_pattern(r"[^\s:][^:]{0,60}:\s")
# Words that say that what follows is new.
_NEWS = lazy_pattern(
    r"(?i)\b(?:from now on|as of (?:now|today)|going forward|these days|right now|now"
    r"|currently|instead(?! of)|correction|update)\b[,:]?"
)
# Words that say nothing of what is claimed.
_EMPTY_ADVERBS = frozenset(
    "always still also already just actually really usually generally typically please"
    " only then".split()
)
# What is named as given up: "instead of npm", "rather than npm".
_GIVEN_UP = lazy_pattern(
    r"(?i),?\s*\b(?:instead of|rather than|in place of|replacing|and not|not)"
    r"\s+(?P<old>[^,;.()]+)"
)
_NEGATION = lazy_pattern(
    r"(?i)\b(?:no longer|not|never|cannot|without|any ?more|\w+n['’]t)\b"
)
_NEGATION_WORDS = frozenset({"not", "never", "no", "longer", "any", "more", "anymore"})
_AUXILIARIES = frozenset(
    "is are was were be been being am has have had does do did can could will would"
    " shall should may might must cannot isn't aren't wasn't weren't hasn't haven't"
    " doesn't don't didn't can't won't mustn't shouldn't gets get got".split()
)
_FORMS_OF_BE = frozenset(
    "is are was were be been being am isn't aren't wasn't weren't".split()
)
_FORMS_OF_HAVE = frozenset("has have had hasn't haven't".split())
_FORMS_OF_GET = frozenset("get gets got".split())
_PAST_FORMS = frozenset({"was", "were", "wasn't", "weren't", "did", "didn't", "had"})
_IRREGULAR_PASTS = frozenset(
    "took ran wrote found made went gave came saw got sent built broke led left kept"
    " lost met put held told thought began chose".split()
)
_PLACE_PREPOSITIONS = frozenset({"in", "at", "under", "inside", "within"})
_PREPOSITIONS = _PLACE_PREPOSITIONS | frozenset(
    "on to with by from for as via through over into against of".split()
)
_PLACE_VERBS = frozenset(
    "live lives lived living sit sits lie lies located stored kept defined reside"
    " resides stand stands placed".split()
)
_NAME_VERBS = frozenset({"called", "named"})
# Verbs that the lexicon does not list as such.
_OTHER_VERBS = frozenset({"points", "point", "reads", "writes"})
# Verbs of a change, and the attribute that has another value afterwards.
_CHANGES = {
    "moved": PLACE,
    "relocated": PLACE,
    "renamed": NAME,
    "switched": USE,
    "migrated": USE,
    "upgraded": USE,
    "downgraded": USE,
    "changed": BE,
    "set": BE,
    "raised": BE,
    "lowered": BE,
    "increased": BE,
    "reduced": BE,
    "bumped": BE,
}
_CHANGE_VERB = "|".join(_CHANGES)
_FROM_TO = r"(?:from\s+(?P<old>\S.*?)\s+)?to\s+(?P<value>\S.*)"
# "The config has moved to conf/b.toml", "We switched from npm to pnpm".
_CHANGED = lazy_pattern(
    rf"(?i)(?P<subject>\S.*?)\s+(?:(?:was|were|is|are|has|have|been|got)\s+)*"
    rf"(?P<verb>{_CHANGE_VERB})\s+{_FROM_TO}"
)
# "We moved the config to conf/b.toml", "Raised the timeout to 60 seconds".
_CHANGED_BY = lazy_pattern(
    rf"(?i)(?:(?:we|i|you|they)\s+(?:have\s+)?)?(?P<verb>{_CHANGE_VERB})\s+"
    rf"(?P<subject>(?!from\b|to\b)\S.*?)\s+{_FROM_TO}"
)
_THIRD_PERSONS = (lexicon.STRONG_S, lexicon.MIDDLE_S, lexicon.WEAK_S)
# Base forms that may be a noun as well.
_BASE_FORMS = (lexicon.STRONG, lexicon.MIDDLE, lexicon.WEAK)
# Base forms that are seldom a noun.
_BASE_FORMS_OF_VERBS = (lexicon.VERB, lexicon.STRONG, lexicon.MIDDLE)
_TOKEN = lazy_pattern(r"`[^`]+`|[^\s,;:!?\"“”()]+")
_DETERMINERS = frozenset({"the", "a", "an", "this", "that", "these", "those"})
POINTING_BACK = frozenset(
    "it its this that these those they their he she there which what".split()
)
# What they claim is of the moment.
SPEAKERS = frozenset("i i'm i'd i'll i've me my let's you your".split())
# Subjects that say little without what was spoken of before.
_GENERAL = POINTING_BACK | frozenset(
    "code file files function change changes issue problem bug error result output"
    " value option thing everything all one".split()
)
# Those who speak for the project are one subject.
_WE = frozenset({"we", "team", "our", "us"})
_BEFORE_ORDER = frozenset({"never", "do", "not", "don't", "don’t"})
# The subject of an order is who reads it.
_READER = frozenset({"you"})
_NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {word: str(value) for value, word in enumerate(_NUMBER_WORDS.split())}
# What stands before a number that is a name: "issue 12" is no amount.
_BEFORE_REFERENCE = frozenset(
    "issue issues pr prs pull request ticket bug task commit line step case room order"
    " section table figure chapter".split()
)
_KINDS = (
    ("<time>", lazy_pattern(r"\d{1,2}:\d{2}(?::\d{2})?")),
    ("<number>", lazy_pattern(r"v?\d+(?:[.,]\d+)*%?")),
    (
        "<day>",
        lazy_pattern(r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"),
    ),
    (
        "<month>",
        lazy_pattern(
            r"january|february|march|april|june|july|august|september|october"
            r"|november|december"
        ),
    ),
    ("<size>", lazy_pattern(r"[kmgt]i?b|bytes?")),
    ("<duration>", lazy_pattern(r"ms|milliseconds?|seconds?|minutes?|hours?|min")),
)
_AMOUNT = lazy_pattern(r"(\d+(?:\.\d+)?)(ms|s|min|h|[kmgt]i?b)")
_DURATIONS = frozenset({"ms", "s", "min", "h"})
# States of one thing that exclude each other.
STATES = (
    frozenset("open closed merged draft".split()),
    frozenset("green red passing failing broken".split()),
    frozenset("enabled disabled on off".split()),
    frozenset("required optional mandatory".split()),
    frozenset("allowed forbidden".split()),
    frozenset("true false".split()),
    frozenset("blocked unblocked done pending finished unfinished".split()),
)
_STATE_KINDS: dict[str, str] = {}
for _number, _states in enumerate(STATES):
    _STATE_KINDS.update(dict.fromkeys(_states, f"<state {_number}>"))


@dataclass(frozen=True, slots=True)
class Claim:
    """What one sentence claims.

    Attributes:
        subject: The words that say what it is about.
        attribute: The stem of its verb with the preposition after it, or a name that
            several verbs share, such as PLACE.
        value: The words of the value, in order.
        form: The value with a kind in the place of each amount, day or state.
        is_negative: Whether it denies the value.
        is_news: Whether it says that the value is new.
        given_up: The words of a value that it says holds no more.
        is_event: Whether it states something that happened once.
    """

    subject: frozenset[str]
    attribute: str
    value: tuple[str, ...]
    form: tuple[str, ...]
    is_negative: bool = False
    is_news: bool = False
    given_up: tuple[str, ...] = ()
    is_event: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    """The parts of a sentence's first clause, as they are written.

    Attributes:
        subject: What stands before the verb; '' for an order.
        verb: The verbs.
        rest: What stands after the verb.
        attribute: The name under which the verb is compared.
        is_event: Whether it states something that happened once.
        is_order: Whether it begins with its verb, as an order does.
    """

    subject: str
    verb: str
    rest: str
    attribute: str
    is_event: bool = False
    is_order: bool = False


@dataclass(frozen=True, slots=True)
class _VerbGroup:
    """Where the verbs of a clause stand: from `start` up to before `end`.

    An order ("use pnpm", "don't push") begins with its verbs.
    """

    start: int
    end: int
    attribute: str
    is_event: bool = False
    is_order: bool = False


@remembered(1 << 12)
def read_claim(text: str, subject: str = "") -> Claim | None:
    """Return what a sentence claims; None where its subject or its verb is unclear.

    Args:
        text: The sentence.
        subject: What it is about where its own words do not say so.

    >>> claim = read_claim("The team deploys on Thursdays now.")
    >>> claim.attribute, claim.value, claim.form, claim.is_news
    ('deploy on', ('thursdays',), ('<day>',), True)
    """
    sentence = text.strip().rstrip(".!")
    clause, given_up = _without_given_up(sentence)
    is_news = bool(given_up) or _NEWS.search(clause) is not None
    clause = _NEWS.sub(" ", clause).strip(" ,:")
    clause = _first_clause(clause)
    if is_bound(clause):
        return None
    change = _CHANGED.fullmatch(clause) or _CHANGED_BY.fullmatch(clause)
    if change:
        return _claim_of_change(change, subject, given_up)
    tokens = _TOKEN.findall(clause)
    group = _verb_group(tokens)
    if group is None:
        return None
    subject_words = _READER
    if not group.is_order:
        subject_words = _subject_of(tokens[: group.start], subject)
    if not subject_words:
        return None
    attribute, value_tokens = _with_preposition(group.attribute, tokens[group.end :])
    value = _value_words(value_tokens)
    return Claim(
        subject=subject_words,
        attribute=attribute,
        value=value,
        form=_form(value),
        is_negative=_NEGATION.search(clause) is not None,
        is_news=is_news,
        given_up=given_up,
        is_event=group.is_event,
    )


def clause_of(text: str) -> Clause | None:
    """Return the parts of a sentence's first clause; None where it has no verb.

    >>> clause = clause_of("The till rounds each line, so totals are even.")
    >>> clause.subject, clause.verb, clause.rest
    ('The till', 'rounds', 'each line')
    """
    clause = _first_clause(text.strip().rstrip(".!"))
    matches = list(_TOKEN.finditer(clause))
    tokens = [match[0] for match in matches]
    group = _group_after_owner(tokens)
    if group is None or group.end == group.start:
        return None
    if _is_plural_before_verb(tokens, group):
        group = _group_from(tokens, group.end)
    verb_start = matches[group.start].start()
    verb_end = matches[group.end - 1].end()
    return Clause(
        subject="" if group.is_order else clause[:verb_start].strip(),
        verb=clause[verb_start:verb_end],
        rest=clause[verb_end:].strip(),
        attribute=group.attribute,
        is_event=group.is_event,
        is_order=group.is_order,
    )


def _group_after_owner(tokens: Sequence[str]) -> _VerbGroup | None:
    """Return the first group of verbs that is no noun with an owner: "till's port"."""
    group = _verb_group(tokens)
    if group is None or group.start == 0:
        return group
    if not tokens[group.start - 1].endswith(("'s", "’s")):
        return group
    for index in range(group.start + 1, len(tokens)):
        if _is_verb(tokens, index):
            return _group_from(tokens, index)
    return None


def _is_plural_before_verb(tokens: Sequence[str], group: _VerbGroup) -> bool:
    """Return whether the verb found is a plural noun: "session records live in …"."""
    kinds = lexicon.word_kinds()
    is_single = group.end == group.start + 1
    if not is_single or group.end >= len(tokens):
        return False
    word = tokens[group.start].lower()
    following = _next_after_adverbs(tokens, group.end)
    if following in _AUXILIARIES:
        # "The intermediate results are stored in …".
        return _is_third_person(word)
    if kinds.get(word) not in (lexicon.WEAK_S, lexicon.MIDDLE_S):
        return False
    is_base = kinds.get(following) in _BASE_FORMS_OF_VERBS
    return is_base and not _is_third_person(following) and not _is_past(following)


def _next_after_adverbs(tokens: Sequence[str], start: int) -> str:
    """Return the first word from `start` on that is no adverb; '' for none."""
    for token in tokens[start:]:
        word = token.lower()
        if word not in _EMPTY_ADVERBS:
            return word
    return ""


def is_bound(text: str) -> bool:
    """Return whether a text speaks under a condition, or after a label.

    >>> is_bound("If the cache is cold, it waits"), is_bound("Line 12: renamed")
    (True, True)
    """
    return bool(_CONDITION.match(text) or _LABEL.match(text))


def denies(text: str) -> bool:
    """Return whether a text denies something.

    >>> denies("Never push"), denies("Push, not pull"), denies("Push")
    (True, True, False)
    """
    return _NEGATION.search(text) is not None


def value_given_up(text: str) -> tuple[str, ...]:
    """Return the words of a value that a sentence says holds no more; () for none.

    >>> value_given_up("9090 now, not 8080.")
    ('8080',)
    """
    _, given_up = _without_given_up(text.strip().rstrip(".!"))
    return given_up


def _without_given_up(sentence: str) -> tuple[str, tuple[str, ...]]:
    """Return a sentence without "instead of X", and the words of X."""
    match = _GIVEN_UP.search(sentence)
    if match is None:
        return sentence, ()
    word = match[0].strip(" ,").lower()
    is_denial = word.startswith("not ")
    if is_denial and not match[0].startswith(","):
        # "does not support X" denies its own value, and gives up none.
        return sentence, ()
    words = _value_words(_TOKEN.findall(match["old"]))
    rest = sentence[: match.start()] + sentence[match.end() :]
    return rest, words


def _first_clause(sentence: str) -> str:
    """Return a sentence up to the reason or the second clause that follows."""
    end = _CLAUSE_END.search(sentence, 1)
    if end is None:
        return sentence
    return sentence[: end.start()].strip()


def _claim_of_change(
    change: re.Match[str], subject: str, given_up: tuple[str, ...]
) -> Claim | None:
    """Return the claim of "S moved from A to B"; None where the subject is unclear.

    What it gives up is A, else what the sentence says elsewhere: "…, not A".
    """
    subject_words = _subject_of(_TOKEN.findall(change["subject"]), subject)
    value = _value_words(_TOKEN.findall(change["value"]))
    if not subject_words or not value:
        return None
    old_tokens = _TOKEN.findall(change["old"] or "")
    verb = change["verb"].lower()
    return Claim(
        subject=subject_words,
        attribute=_CHANGES[verb],
        value=value,
        form=_form(value),
        is_news=True,
        given_up=_value_words(old_tokens) or given_up,
    )


def _subject_of(tokens: Sequence[str], subject: str) -> frozenset[str]:
    """Return the words of a subject, or of the given one where the own ones lack it."""
    lower = [token.lower() for token in tokens]
    left_out = _DETERMINERS | _EMPTY_ADVERBS | _NEGATION_WORDS
    words = [word for word in lower if word not in left_out]
    if not SPEAKERS.isdisjoint(words) and words != ["you"]:
        return frozenset()
    points_back = not POINTING_BACK.isdisjoint(lower)
    if points_back or set(words) <= _GENERAL:
        if not subject:
            return frozenset()
        words += _TOKEN.findall(subject)
    return frozenset(_subject_word(word) for word in words)


def _subject_word(word: str) -> str:
    """Return the form under which a word of a subject is compared."""
    lower = word.lower().strip("`'’*_")
    if lower in _WE:
        return "we"
    return stem(lower)


def _verb_group(tokens: Sequence[str]) -> _VerbGroup | None:
    """Return the first group of verbs of a clause."""
    first = _first_after_adverbs(tokens)
    if _is_order(tokens, first):
        return _group_of_order(tokens, first)
    for index in range(len(tokens)):
        if _is_verb(tokens, index):
            return _group_from(tokens, index)
    return None


def _first_after_adverbs(tokens: Sequence[str]) -> int:
    """Return the index of the first token that is no adverb and no "do not"."""
    for index, token in enumerate(tokens):
        word = token.lower()
        if word not in _EMPTY_ADVERBS and word not in _BEFORE_ORDER:
            return index
    return len(tokens)


def _is_order(tokens: Sequence[str], index: int) -> bool:
    """Return whether an order begins at a token: a base form without a subject.

    What an auxiliary soon follows is a subject: "Commit messages are short".
    """
    if index >= len(tokens):
        return False
    if tokens[0].lower() == "not":
        return False
    verb = tokens[index].lower()
    kind = lexicon.word_kinds().get(verb)
    if kind not in _BASE_FORMS_OF_VERBS or _is_past(verb):
        return False
    return not any(_is_verb(tokens, after) for after in range(index + 1, index + 3))


def _group_of_order(tokens: Sequence[str], index: int) -> _VerbGroup:
    """Return the verbs of an order whose main verb is given."""
    verb = tokens[index].lower()
    return _VerbGroup(0, index + 1, _attribute(verb), is_order=True)


def _is_verb(tokens: Sequence[str], index: int) -> bool:
    """Return whether a token stands as a verb; one after the last does not."""
    if index >= len(tokens):
        return False
    word = tokens[index].lower()
    if word in _AUXILIARIES:
        return True
    if index == 0:
        return _begins_with_verb(tokens)
    previous = tokens[index - 1].lower()
    if previous in _DETERMINERS or previous in _PREPOSITIONS:
        return False
    kind = lexicon.word_kinds().get(word)
    if kind in _BASE_FORMS:
        return _takes_base_form(previous)
    return _is_third_person(word) or kind in (lexicon.VERB, lexicon.PARTICIPLE)


def _begins_with_verb(tokens: Sequence[str]) -> bool:
    """Return whether a clause begins with a verb in the third person.

    "Tests are green" begins with a noun, and so does "lines 9 to 12"; "uses Postgres"
    begins with a verb.
    """
    if not _is_third_person(tokens[0].lower()):
        return False
    is_count = len(tokens) > 1 and tokens[1][0].isdigit()
    return not is_count and not _is_verb(tokens, 1)


def _is_third_person(word: str) -> bool:
    """Return whether a word may be a verb in the third person."""
    return lexicon.word_kinds().get(word) in _THIRD_PERSONS or word in _OTHER_VERBS


def _takes_base_form(word: str) -> bool:
    """Return whether the verb of a subject that ends in a word has no ending."""
    return word.endswith("s") or lexicon.word_kinds().get(word) == lexicon.PRONOUN


def _group_from(tokens: Sequence[str], start: int) -> _VerbGroup:
    """Return the group of verbs that begins at `start`."""
    end = start
    auxiliaries: list[str] = []
    while end < len(tokens) and _may_stand_in_group(tokens[end]):
        auxiliaries.append(tokens[end].lower())
        end += 1
    is_past = not _PAST_FORMS.isdisjoint(auxiliaries)
    if end < len(tokens) and _is_main_verb(tokens[end], auxiliaries):
        verb = tokens[end].lower()
        is_active_past = not auxiliaries and _is_past(verb)
        is_event = is_past or is_active_past
        return _VerbGroup(start, end + 1, _attribute(verb), is_event)
    return _VerbGroup(start, end, _attribute_of_auxiliaries(auxiliaries), is_past)


def _attribute_of_auxiliaries(auxiliaries: Sequence[str]) -> str:
    """Return the name under which a group without a main verb is compared."""
    if not _FORMS_OF_BE.isdisjoint(auxiliaries):
        return BE
    if auxiliaries and auxiliaries[-1] in _FORMS_OF_GET:
        return "get"
    return BE if _FORMS_OF_HAVE.isdisjoint(auxiliaries) else "have"


def _may_stand_in_group(token: str) -> bool:
    """Return whether a token may stand before the main verb of a group."""
    word = token.lower()
    return word in _AUXILIARIES or word in _NEGATION_WORDS or word in _EMPTY_ADVERBS


def _is_main_verb(token: str, auxiliaries: Sequence[str]) -> bool:
    """Return whether the token after the auxiliaries is the main verb.

    A participle that names a state ("is merged") is the value of "to be".
    """
    word = token.lower()
    if not auxiliaries:
        return True
    if word in _STATE_KINDS:
        return False
    kind = lexicon.word_kinds().get(word)
    is_be = not _FORMS_OF_BE.isdisjoint(auxiliaries)
    if is_be:
        return kind == lexicon.PARTICIPLE or word in _PLACE_VERBS | _NAME_VERBS
    if auxiliaries[-1] in _FORMS_OF_HAVE | _FORMS_OF_GET:
        # "Gets merged" is passive; "gets a task" is not.
        return kind == lexicon.PARTICIPLE
    return True


def _is_past(verb: str) -> bool:
    """Return whether a verb without an auxiliary is in the past."""
    return verb.endswith("ed") or verb in _IRREGULAR_PASTS


def _attribute(verb: str) -> str:
    """Return the name under which a verb is compared."""
    if verb in _PLACE_VERBS:
        return PLACE
    if verb in _NAME_VERBS:
        return NAME
    stemmed = stem(verb)
    if stemmed in ("use", "run", "us"):
        return USE
    return stemmed


def _with_preposition(
    attribute: str, tokens: Sequence[str]
) -> tuple[str, Sequence[str]]:
    """Return an attribute with the preposition after the verb, and the rest."""
    first = tokens[0].lower() if tokens else ""
    if first not in _PREPOSITIONS:
        return attribute, tokens
    rest = tokens[1:]
    is_place = attribute in (PLACE, BE) and first in _PLACE_PREPOSITIONS
    if is_place:
        return PLACE, rest
    if attribute in (PLACE, NAME, USE):
        return attribute, rest
    return f"{attribute} {first}", rest


def _value_words(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a value as they are compared."""
    words: list[str] = []
    for token in tokens:
        lower = token.lower().strip("`'’*_.")
        amount = _AMOUNT.fullmatch(lower)
        if amount:
            words += amount.groups()
        elif lower in _NUMBERS:
            words.append(_NUMBERS[lower])
        elif _says_something(lower):
            words.append(lower)
    return tuple(words)


def _says_something(word: str) -> bool:
    """Return whether a word of a value is one that is compared."""
    if not word or word in _EMPTY_ADVERBS or word in _NEGATION_WORDS:
        return False
    return word in _STATE_KINDS or word not in STOP_WORDS


def _form(value: Sequence[str]) -> tuple[str, ...]:
    """Return a value with a kind in the place of each amount, day and state."""
    form: list[str] = []
    previous = ""
    for word in value:
        if previous in _BEFORE_REFERENCE:
            form.append(word)
        else:
            form.append(_kind_of(word))
        previous = word
    return tuple(form)


def _kind_of(word: str) -> str:
    """Return the kind of a word of a value, or its stem where it has none."""
    if word in _STATE_KINDS:
        return _STATE_KINDS[word]
    if word in _DURATIONS:
        return "<duration>"
    for kind, pattern in _KINDS:
        if pattern.fullmatch(word):
            return kind
    return stem(word)
