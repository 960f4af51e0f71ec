"""Find the statements that a newer statement replaces.

A newer statement about the same subject and attribute replaces an older one: "deploys
on Thursdays now" replaces "deploys on Tuesdays". Statements about different things
(another number, name, host, side) hold side by side. Among statements that say the same
the newest wording holds.

Two statements are judged by themselves, without the others. So the result does not
depend on the order, and judging it again changes nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.remembering import remembered
from theorex_lab.memory.assertions import (
    Assertion,
    Relation,
    kinds_of_value,
    read_assertion,
    relation_group,
)
from theorex_lab.memory.claims import (
    BE,
    NAME,
    PLACE,
    POINTING_BACK,
    SPEAKERS,
    STATES,
    Claim,
    denies,
    is_bound,
    read_claim,
    value_given_up,
)
from theorex_lab.memory.distinct_things import hold_side_by_side
from theorex_lab.memory.unique_values import unique_value
from theorex_lab.text.wording import content_words, specifics

# Words that two statements share, of all words of both, from which they say the same.
_SAME_WORDS = 0.7
_FEWEST_WORDS = 3  # that both have, where one has more
# Longer statements are about more than one relation.
_LONGEST_ASSERTION = 14  # words
# What a thing has one of, so that another value takes the place of the last.
_ONE_OF = frozenset(
    "default current name version port branch url address path owner deadline limit"
    " format language license status state title host database model timeout budget"
    " threshold".split()
)
# Attributes with a value each, whatever the subject.
_ONE_VALUED = (NAME, "point to", "default to", "belong to", "listen on", "deploy to")
# Verbs that one subject has many objects of.
_MANY_VALUED = frozenset(
    "support include contain accept handle cover mention call import depend need know"
    " speak fix close add see read write test show list have".split()
)
_LONGEST_PLACE = 2  # words of a place that is named as a whole
_LONGEST_LABEL = 3  # words of a value with its name and no verb: "port 8080"
# Words that tell two things of one kind apart.
_TELLING_APART = (
    frozenset("his her their its my your our".split()),
    frozenset("left right upper lower top bottom front back".split()),
    frozenset("morning noon afternoon evening night".split()),
    frozenset("staging production development local remote".split()),
    frozenset("north south east west".split()),
    frozenset("first second third last".split()),
    frozenset("input output client server frontend backend".split()),
)
_ALL_TELLING_APART = frozenset[str]().union(
    *_TELLING_APART,
    *STATES,
)
# Known relations of one value: what a person has, and whom a thing has.
_OF_PERSONS = frozenset(
    "=residence =birthplace =employer =spouse =citizen =age =birthday =preference".split()
)
_BY_PERSONS = frozenset({"=leader", "=mayor", "=owner"})
_OF_THINGS = frozenset({"=headquarters", "=version", "=port", "=capital"})
_KNOWN_ONE_VALUED = _OF_PERSONS | _BY_PERSONS | _OF_THINGS
# Subjects that name nothing by themselves.
_NO_NAMES = POINTING_BACK | SPEAKERS
_LETTERS = lazy_pattern(r"[^\W\d_]+")
_CAPITALIZED = lazy_pattern(r"[^\W\d_a-z][^\W\d_A-Z]+(?:['’]s)?")


@dataclass(
    frozen=True,
    slots=True,
)
class DatedStatement:
    """A statement, and when it was made.

    Attributes:
        text: One sentence.
        at: When it was made (µs UTC).
        subject: What it is about where its own words do not say so, such as its
            heading.
    """

    text: str
    at: int
    subject: str = ""


@dataclass(
    frozen=True,
    slots=True,
)
class _Reading:
    """What is compared of a statement."""

    text: str
    subject: str
    claim: Claim | None
    assertion: Assertion
    group: Relation  # of the assertion's relation, see `relation_group`
    words: frozenset[str]
    telling_apart: frozenset[str]
    details: frozenset[str]  # what statements that say the same have in common
    folded_text: str
    is_bound: bool
    given_up: tuple[str, ...]  # an exact value that it says holds no more
    exact_words: tuple[str, ...]  # that hold a number, each as often as it stands there


def superseded(statements: Sequence[DatedStatement]) -> list[int | None]:
    """Return for each statement the index of the newest one that replaces it.

    Among statements of the same time the later in the sequence is the newer one.

    Args:
        statements: The statements, in any order.

    Returns:
        An index for each; None for a statement that nothing replaces.

    >>> superseded(
    ...     [
    ...         DatedStatement("The team deploys on Tuesdays.", 1),
    ...         DatedStatement("The team deploys on Thursdays now.", 2),
    ...         DatedStatement("Server db-1 runs Postgres 14.", 1),
    ...         DatedStatement("Server db-2 runs Postgres 14.", 2),
    ...     ]
    ... )
    [1, None, None, None]
    """
    if len(statements) < 2:
        return [None] * len(statements)
    readings = [
        _reading(
            statement.text,
            statement.subject,
        )
        for statement in statements
    ]
    newest_first = sorted(
        range(len(statements)),
        key=lambda index: (statements[index].at, index),
        reverse=True,
    )
    ranks_by_key: dict[Hashable, list[int]] = defaultdict(list)
    frequency = _frequency(readings)
    replaced_by: list[int | None] = [None] * len(statements)
    for rank, index in enumerate(newest_first):
        reading = readings[index]
        keys = list(
            _keys(
                reading,
                frequency,
            )
        )
        for newer_rank in _candidates(
            ranks_by_key,
            [*keys, *_keys_of_values(reading)],
        ):
            newer_index = newest_first[newer_rank]
            if _replaces(
                readings[newer_index],
                reading,
            ):
                replaced_by[index] = newer_index
                break
        for key in keys:
            ranks_by_key[key].append(rank)
        if reading.given_up:
            ranks_by_key["given up", reading.given_up[-1]].append(rank)
    return replaced_by


def gives_new_value(newer: str, older: str) -> bool:
    """Return whether a statement gives the attribute of an older one another value.

    >>> gives_new_value("The till listens on port 8081.", "The till listens on port 80.")
    True
    >>> gives_new_value("The till rounds totals.", "The till listens on port 80.")
    False
    """
    new = _reading(newer)
    old = _reading(older)
    if hold_side_by_side(newer, older):
        return False
    if _has_other_unique_value(new, old):
        return True
    if _has_new_value(new.claim, old.claim) or _takes_back(new, old):
        return not _are_told_apart(new, old)
    return _has_new_known_value(new, old)


@remembered(1 << 12)  # a search reads the same statements again
def _reading(
    text: str,
    subject: str = "",
) -> _Reading:
    """Return what is compared of a statement."""
    telling_apart = _words_telling_apart(text)
    exact_words = {word.strip("`\"'").lower() for word in specifics(text)}
    details = telling_apart | exact_words
    if text.rstrip().endswith("?"):
        details |= {"?"}
    if denies(text):
        details |= {"not"}
    folded_words = text.lower().split()
    folded_text = " ".join(folded_words).rstrip(".")
    claim = read_claim(
        text,
        subject,
    )
    given_up = value_given_up(text) if claim is None else claim.given_up
    assertion = read_assertion(text)
    return _Reading(
        text=text,
        subject=subject,
        claim=claim,
        assertion=assertion,
        group=relation_group(assertion.relation),
        words=content_words(text),
        telling_apart=telling_apart,
        details=details,
        folded_text=folded_text,
        is_bound=is_bound(text),
        given_up=given_up if _is_exact(given_up) else (),
        exact_words=tuple(filter(_is_exact, folded_text.split())),
    )


def _is_exact(value: Sequence[str]) -> bool:
    """Return whether the words of a value hold a number, as a port or a version does."""
    return any(map(str.isdigit, "".join(value)))


def _words_telling_apart(text: str) -> frozenset[str]:
    """Return the words of a text that tell two things of one kind apart."""
    words = {word.lower() for word in _LETTERS.findall(text)}
    return frozenset(words & _ALL_TELLING_APART)


def _frequency(readings: Sequence[_Reading]) -> Counter[str]:
    """Return of how many statements each word is."""
    frequency: Counter[str] = Counter()
    for reading in readings:
        frequency.update(reading.words)
    return frequency


def _keys(
    reading: _Reading,
    frequency: Counter[str],
) -> Iterator[Hashable]:
    """Yield keys of which two statements share one where one may replace the other."""
    yield "text", reading.folded_text
    unique = unique_value(reading.text)
    if unique is not None:
        yield "unique", unique.frame
    claim = reading.claim
    if claim is not None:
        yield "claim", claim.subject, claim.attribute
    assertion = reading.assertion
    if assertion.holds or assertion.cue == "ends":
        yield "relation", assertion.subject, reading.group
    # Sets of words with such a share in common share one of their rarest words.
    rarest_first = sorted(
        reading.words,
        key=lambda word: (frequency[word], word),
    )
    n_rarest = len(rarest_first) - int(_SAME_WORDS * len(rarest_first)) + 1
    for word in rarest_first[:n_rarest]:
        yield "word", word


def _keys_of_values(reading: _Reading) -> Iterator[Hashable]:
    """Yield the keys under which statements stand that take an exact value back."""
    for word in reading.exact_words:
        yield "given up", word


def _candidates(
    ranks_by_key: dict[Hashable, list[int]], keys: Sequence[Hashable]
) -> list[int]:
    """Return the ranks of the newer statements that share a key, the newest first."""
    ranks: set[int] = set()
    for key in keys:
        ranks.update(
            ranks_by_key.get(
                key,
                (),
            )
        )
    return sorted(ranks)


def _replaces(
    newer: _Reading,
    older: _Reading,
) -> bool:
    """Return whether a statement stands in the place of an older one."""
    is_replaced = (
        _says_the_same(newer, older)
        or _has_new_value(newer.claim, older.claim)
        or _has_new_known_value(newer, older)
        or _takes_back(newer, older)
        or _has_other_unique_value(newer, older)
    )
    return is_replaced and not hold_side_by_side(newer.text, older.text)


def _says_the_same(
    newer: _Reading,
    older: _Reading,
) -> bool:
    """Return whether two statements say the same in other words.

    The words of one are all in the other. A statement with other names or numbers, or
    a denial, says something else.
    """
    if newer.subject != older.subject:
        return False
    if newer.folded_text == older.folded_text:
        return True
    if newer.details != older.details:
        return False
    if _claim_of_another(
        newer.claim,
        older.claim,
    ):
        return False
    if not (newer.words <= older.words or older.words <= newer.words):
        return False
    n_shared = len(newer.words & older.words)
    n_words = len(newer.words | older.words)
    is_short = n_shared < _FEWEST_WORDS and newer.words != older.words
    return not is_short and n_shared >= _SAME_WORDS * n_words


def _claim_of_another(
    newer: Claim | None,
    older: Claim | None,
) -> bool:
    """Return whether two claims are known to be about different subjects."""
    if newer is None or older is None:
        return False
    return newer.subject != older.subject


def _has_new_value(
    newer: Claim | None,
    older: Claim | None,
) -> bool:
    """Return whether a claim gives another value to the same attribute."""
    if newer is None or older is None:
        return False
    if not _are_of_one_attribute(
        newer,
        older,
    ):
        return False
    if newer.is_negative != older.is_negative:
        return set(newer.value) == set(older.value)
    if newer.value == older.value:
        return False
    if newer.given_up and _gives_up(
        newer,
        older,
    ):
        return True
    if newer.is_negative:
        return False
    return _has_other_amount(
        newer,
        older,
    ) or _is_one_valued(
        newer,
        older,
    )


def _are_of_one_attribute(
    newer: Claim,
    older: Claim,
) -> bool:
    """Return whether two claims tell the state of the same attribute of one subject."""
    if newer.is_event or older.is_event:
        return False
    return newer.subject == older.subject and newer.attribute == older.attribute


def _gives_up(
    newer: Claim,
    older: Claim,
) -> bool:
    """Return whether a claim names the value of an older one as given up."""
    n_words = len(newer.given_up)
    return older.value[:n_words] == newer.given_up


def _has_other_unique_value(
    newer: _Reading,
    older: _Reading,
) -> bool:
    """Return whether two statements name another one of what there is one of."""
    new = unique_value(newer.text)
    old = unique_value(older.text)
    if new is None or old is None:
        return False
    return new.frame == old.frame and new.value != old.value


def _takes_back(
    newer: _Reading,
    older: _Reading,
) -> bool:
    """Return whether a statement names the exact value of an older one as given up.

    "We moved the service to 9090, not 8080" takes back "the service runs on port 8080",
    whatever the verbs. One without a subject takes back what has none either.
    """
    value = newer.given_up
    if not value or older.is_bound:
        return False
    new = newer.claim
    old = older.claim
    if old is None:
        return _is_label_of(older, newer)
    if new is None or old.is_event or old.is_negative:
        return False
    is_value = old.value[-len(value) :] == value
    return is_value and new.subject == old.subject


def _is_label_of(older: _Reading, newer: _Reading) -> bool:
    """Return whether a text is a value with its name, as "port 8080", that is given up.

    The newer statement has the same name, or none.
    """
    words = older.folded_text.split()
    value = newer.given_up[-1]
    if len(words) > _LONGEST_LABEL or value not in words:
        return False
    if newer.claim is None:
        return True
    name = set(words) - {value}
    return name <= set(newer.folded_text.split())


def _has_other_amount(
    newer: Claim,
    older: Claim,
) -> bool:
    """Return whether two values are the same but for an amount, a day or a state.

    A newer one that says so itself may add a condition.
    """
    newer_kinds = _kinds(newer)
    if not newer_kinds or newer_kinds != _kinds(older):
        return False
    verb, _, _ = newer.attribute.partition(" ")
    is_count = newer.form[0] == "<number>" and len(newer.form) > 1
    if verb in _MANY_VALUED and not is_count:
        return False
    if newer.form == older.form:
        return True
    return newer.is_news and set(older.form) <= set(newer.form)


def _kinds(claim: Claim) -> list[str]:
    """Return the kinds in a value, in their order."""
    return [word for word in claim.form if word.startswith("<")]


def _is_one_valued(
    newer: Claim,
    older: Claim,
) -> bool:
    """Return whether the attribute of two claims has one value at a time."""
    if not newer.value or not older.value:
        return False
    is_short = (
        max(
            len(newer.value),
            len(older.value),
        )
        <= _LONGEST_PLACE
    )
    if newer.attribute == PLACE:
        return newer.is_news or is_short
    if not is_short:
        return False
    if newer.attribute in _ONE_VALUED:
        return True
    return newer.attribute == BE and not _ONE_OF.isdisjoint(newer.subject)


def _has_new_known_value(
    newer: _Reading,
    older: _Reading,
) -> bool:
    """Return whether two statements give a known relation different values."""
    new = newer.assertion
    old = older.assertion
    if not _are_of_one_relation(
        newer,
        older,
    ):
        return False
    if "ends" in (new.cue, old.cue):
        return new.cue != old.cue and new.value == old.value and bool(new.value)
    group = newer.group
    if new.value == old.value or group.isdisjoint(_KNOWN_ONE_VALUED):
        return False
    if "=preference" in group and kinds_of_value(new).isdisjoint(kinds_of_value(old)):
        # Of each kind of thing one is preferred.
        return False
    return _is_of_known_kind(newer) and _is_of_known_kind(older)


def _are_of_one_relation(
    newer: _Reading,
    older: _Reading,
) -> bool:
    """Return whether two statements are about the same relation of one subject."""
    new = newer.assertion
    old = older.assertion
    if not new.subject or new.subject != old.subject or new.subject in _NO_NAMES:
        return False
    if newer.is_bound or older.is_bound:
        return False
    if newer.group != older.group:
        return False
    return not _are_told_apart(
        newer,
        older,
    )


def _are_told_apart(
    newer: _Reading,
    older: _Reading,
) -> bool:
    """Return whether words tell the things of two statements apart: left and right."""
    if not newer.telling_apart or not older.telling_apart:
        return False
    for group in _TELLING_APART:
        newer_words = newer.telling_apart & group
        older_words = older.telling_apart & group
        if newer_words and older_words and newer_words != older_words:
            return True
    return False


def _is_of_known_kind(reading: _Reading) -> bool:
    """Return whether a known relation is between what it is known of.

    A verb such as "runs" names it of persons alone.
    """
    assertion = reading.assertion
    text = reading.text
    if len(text.split()) > _LONGEST_ASSERTION:
        return False
    group = reading.group
    if not group.isdisjoint(_OF_PERSONS):
        return _is_full_name(
            text,
            assertion.subject,
        )
    if not group.isdisjoint(_BY_PERSONS):
        return _is_full_name(
            text,
            assertion.value,
        )
    if "=headquarters" in group or "=capital" in group:
        return _is_name(
            text,
            assertion.subject,
        )
    return assertion.value[:1].isdigit()


def _is_full_name(
    text: str,
    phrase: str,
) -> bool:
    """Return whether a phrase of a text is a name of two words or more."""
    return " " in phrase and _is_name(
        text,
        phrase,
    )


def _is_name(
    text: str,
    phrase: str,
) -> bool:
    """Return whether a phrase, found in a text in lower case, is a name in it."""
    start = text.lower().find(phrase)
    if start < 0:
        return False
    words = text[start : start + len(phrase)].split()
    return all(_CAPITALIZED.fullmatch(word) for word in words)
