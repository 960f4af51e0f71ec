"""Which of the statements that hold a new one replaces, ends, repeats, contradicts or
adds to.

Statements are compared where they are about the same subject; what a subject has is
found by its relation, so that one statement costs the same among a hundred and among a
hundred thousand.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from theorex_lab.designs.facts.statements import Statement, read_statement

_LOOKED_AT = (
    64  # statements of one subject that share a relation, or a word of it: the newest
)
_SIMILAR = 0.5
# statements that must say so before a relation is held to be of one value, or of many
_LEARNED = 2


class Judgement(NamedTuple):
    """What a statement means for those that hold, by their ids.

    supersedes: it stands in their place.  ends: it says that they hold no more.
    duplicates: it says the same. contradicts: they may not both be true.  adds_to:
    values of the same relation that hold beside it.
    """

    statement: Statement
    supersedes: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    adds_to: tuple[str, ...] = ()

    @property
    def replaced(self) -> tuple[str, ...]:
        """All that hold no more once it is taken in."""
        return (*self.supersedes, *self.ends, *self.duplicates)


class Superseding:
    """Statements in their order, and which of them hold.

    >>> facts = Superseding()
    >>> for number, text in enumerate(
    ...     [
    ...         "Ann lives in Bath.",
    ...         "Ann speaks Welsh.",
    ...         "Ann speaks Greek.",
    ...         "Ann's home is in York.",
    ...     ]
    ... ):
    ...     judged = facts.add(str(number), text)
    >>> judged.supersedes, facts.active()
    (('0',), ['1', '2', '3'])
    """

    def __init__(self) -> None:
        self._held: dict[str, Statement] = {}
        self._groups: dict[tuple[str, frozenset[str]], dict[str, Statement]] = (
            defaultdict(dict)
        )
        self._words: dict[tuple[str, str], dict[str, Statement]] = defaultdict(dict)
        self._valued: dict[tuple[str, str], dict[str, Statement]] = defaultdict(dict)
        self._kinds: dict[str, set[str]] = defaultdict(
            set
        )  # of a value: words of relations that it was stated with
        self._many: Counter[frozenset[str]] = Counter()
        self._one: Counter[frozenset[str]] = Counter()

    def active(self) -> list[str]:
        """Ids of the statements that hold, in the order in which they came."""
        return list(self._held)

    def add(self, id: str, text: str) -> Judgement:
        """Judge a statement as `judge` does, and take it in; `id` is its own."""
        return self.hold(id, text, replacing=True)

    def hold(self, id: str, text: str, *, replacing: bool = False) -> Judgement:
        """Take in a statement that holds whatever it means for the others, which stay
        unless it is `replacing` them.
        """
        judged = self.judge(text)
        self._learn(judged)
        for old in judged.replaced if replacing else ():
            self.remove(old)
        if not self._is_spent(judged):
            for entry in self._entries(judged.statement):
                entry[id] = judged.statement
        return judged

    def remove(self, id: str) -> None:
        """Take a statement out of those that hold; one that does not hold is let be."""
        for entry in [*self._entries(self._held[id])] if id in self._held else ():
            entry.pop(id, None)

    def judge(self, text: str) -> Judgement:
        """What a statement would mean for those that hold; nothing changes."""
        new = read_statement(text)
        if not (new.subject and new.value):
            return Judgement(new)
        if new.cue == "ends":
            return Judgement(new, ends=tuple(self._ended(new)))
        group = self._groups.get((new.subject, _group(new.relation)), {})
        valued = self._valued.get((new.subject, new.value), {})
        near = dict.fromkeys(
            [
                *(id for id in valued if id in group),
                *islice(reversed(group), _LOOKED_AT),
            ]
        )
        duplicates = tuple(
            id
            for id in near
            if group[id].value == new.value and group[id].cue != "ends"
        )
        others = [id for id in near if id not in duplicates]
        many = self.holds_many(new)
        ended = tuple(
            id
            for id in others
            if (group[id].cue == "ends" if many else self._gives_way(group[id], new))
        )
        beside = tuple(id for id in others if id not in ended)
        return Judgement(
            new,
            ended,
            (),
            duplicates,
            () if many else tuple(self._doubtful(new)),
            beside,
        )

    def holds_many(self, statement: Statement) -> bool:
        """Whether a subject may have several values of a relation at once: as
        statements showed, else as English has it.
        """
        group = _group(statement.relation)
        many = self._many[group]
        one = self._one[group]
        if max(many, one) >= _LEARNED and many != one:
            return many > one
        return statement.holds == "many" or statement.cue == "adds"

    def _gives_way(self, old: Statement, new: Statement) -> bool:
        """Of relations that are open to any kind of thing, only a value of the same
        kind gives way.
        """
        if new.holds != "open" or new.cue == "replaces" or old.cue == "ends":
            return True
        return bool(
            self._kinds[old.value] & self._kinds[new.value]
            or _kinds_of(old) & _kinds_of(new)
        )

    def _ended(self, new: Statement) -> list[str]:
        """What holds of the subject with that value: of the same relation, or of any
        where the words name no known one.
        """
        at = {
            id: self._held[id] for id in self._valued.get((new.subject, new.value), ())
        }
        group = _group(new.relation)
        same = [id for id, old in at.items() if _group(old.relation) == group]
        named = any(word.startswith("=") for word in new.relation)
        return same or [
            id
            for id, old in at.items()
            if old.cue != "ends" and not (named and old.holds)
        ]

    def _doubtful(self, new: Statement) -> Iterator[str]:
        """Statements with another value whose relation is called alike, though not the
        same.
        """
        named = (self._words.get((new.subject, word), {}) for word in new.relation)
        for id in sorted(
            {id for ids in named for id in islice(reversed(ids), _LOOKED_AT)}
        ):
            old = self._held[id]
            shared = len(old.relation & new.relation) / len(old.relation | new.relation)
            if (
                shared >= _SIMILAR
                and _group(old.relation) != _group(new.relation)
                and old.value != new.value
            ):
                yield id

    def _learn(self, judged: Judgement) -> None:
        """Several values at once, or one in another's place, where the statement itself
        says so.
        """
        new = judged.statement
        if new.holds == "open":
            self._kinds[new.value] |= _kinds_of(new)
        group = _group(new.relation)
        if new.cue == "replaces":
            self._one[group] += 1
        elif new.cue == "adds":
            self._many[group] += 1
        elif new.cue == "ends":
            # What was not stated last held on beside what was stated after it.
            for id in judged.ends:
                of = _group(self._held[id].relation)
                self._many[of] += (
                    next(reversed(self._groups[new.subject, of]), id) != id
                )

    def _is_spent(self, judged: Judgement) -> bool:
        """Whether it says only that something ended while other values of the relation
        still hold.
        """
        new = judged.statement
        left = self._groups.get((new.subject, _group(new.relation)), {}).values()
        return (
            new.cue == "ends"
            and bool(judged.ends)
            and any(old.cue != "ends" for old in left)
        )

    def _entries(self, statement: Statement) -> Iterator[dict[str, Statement]]:
        """Where a statement is found."""
        yield self._held
        if statement.subject and statement.value:
            yield self._groups[statement.subject, _group(statement.relation)]
            yield self._valued[statement.subject, statement.value]
            yield from (
                self._words[statement.subject, word] for word in statement.relation
            )


def _group(relation: frozenset[str]) -> frozenset[str]:
    """What two relations share that are the same: the known ones and how they are told
    apart, else all their words.
    """
    known = frozenset(word for word in relation if word.startswith("="))
    return known | relation & {"as", "in", "on", "at"} if known else relation


def _kinds_of(statement: Statement) -> set[str]:
    """The words of a relation that tell which kind of thing its value is: "editor" and
    "editing" are one.
    """
    words = {
        word
        for word in statement.relation
        if not word.startswith("=") and len(word) > 2
    }
    return {word.removesuffix("or").removesuffix("er") for word in words}
