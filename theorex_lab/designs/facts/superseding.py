"""Judge which of the statements that hold a new one replaces, ends, repeats,
contradicts or adds to.

Statements are compared where they are about the same subject; what a subject has is
found by its relation, so that one statement costs the same among a hundred and among a
hundred thousand.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from theorex_lab.designs.facts.statements import Statement, read_statement

# Statements of one subject that share a relation, or a word of it: the newest.
_LOOKED_AT = 64
_SIMILAR = 0.5
# statements that must say so before a relation is held to be of one value, or of many
_LEARNED = 2


class Judgement(NamedTuple):
    """What a statement means for those that hold, by their ids.

    Attributes:
        supersedes: Those in whose place it stands.
        ends: Those that hold no more, as it says.
        duplicates: Those that say the same.
        contradicts: Those that may not be true beside it.
        adds_to: Values of the same relation that hold beside it.
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
        # Of a value: words of relations that it was stated with.
        self._kinds: dict[str, set[str]] = defaultdict(set)
        self._many: Counter[frozenset[str]] = Counter()
        self._one: Counter[frozenset[str]] = Counter()

    def active(self) -> list[str]:
        """Ids of the statements that hold, in the order in which they came."""
        return list(self._held)

    def add(self, id: str, text: str) -> Judgement:
        """Judge a statement as `judge` does, and take it in; `id` is its own."""
        return self.hold(id, text, replacing=True)

    def hold(self, id: str, text: str, *, replacing: bool = False) -> Judgement:
        """Take in a statement that holds whatever it means for the others.

        The others stay unless it is `replacing` them.
        """
        judged = self.judge(text)
        self._learn(judged)
        if replacing:
            for old_id in judged.replaced:
                self.remove(old_id)
        if not self._is_spent(judged):
            for entry in self._entries(judged.statement):
                entry[id] = judged.statement
        return judged

    def remove(self, id: str) -> None:
        """Take a statement out of those that hold; one that does not hold is let be."""
        statement = self._held.get(id)
        if statement is None:
            return
        for entry in list(self._entries(statement)):
            entry.pop(id, None)

    def judge(self, text: str) -> Judgement:
        """Return what a statement would mean for those that hold; nothing changes."""
        new = read_statement(text)
        if not (new.subject and new.value):
            return Judgement(new)
        if new.cue == "ends":
            return Judgement(new, ends=tuple(self._ended(new)))
        group = self._groups.get((new.subject, _group(new.relation)), {})
        many = self.holds_many(new)
        superseded: list[str] = []
        duplicates: list[str] = []
        beside: list[str] = []
        for id in self._compared_ids(new, group):
            old = group[id]
            if old.value == new.value and old.cue != "ends":
                duplicates.append(id)
            elif old.cue == "ends" or (not many and self._gives_way(old, new)):
                superseded.append(id)
            else:
                beside.append(id)
        return Judgement(
            new,
            supersedes=tuple(superseded),
            duplicates=tuple(duplicates),
            contradicts=() if many else tuple(self._doubtful(new)),
            adds_to=tuple(beside),
        )

    def _compared_ids(
        self, new: Statement, group: dict[str, Statement]
    ) -> Iterable[str]:
        """Return the statements of a group with the same value, then the newest ones."""
        same_value = self._valued.get((new.subject, new.value), {})
        ids = [id for id in same_value if id in group]
        ids += islice(reversed(group), _LOOKED_AT)
        return dict.fromkeys(ids)

    def holds_many(self, statement: Statement) -> bool:
        """Return whether a subject may have several values of a relation at once.

        Statements may have shown it; else it is as English has it.
        """
        group = _group(statement.relation)
        n_many = self._many[group]
        n_one = self._one[group]
        if max(n_many, n_one) >= _LEARNED and n_many != n_one:
            return n_many > n_one
        return statement.holds == "many" or statement.cue == "adds"

    def _gives_way(self, old: Statement, new: Statement) -> bool:
        """Return whether an old value gives way to a new one.

        Of relations that are open to any kind of thing, only a value of the same kind
        does.
        """
        if new.holds != "open" or new.cue == "replaces" or old.cue == "ends":
            return True
        if self._kinds[old.value] & self._kinds[new.value]:
            return True
        return not _kinds_of(old).isdisjoint(_kinds_of(new))

    def _ended(self, new: Statement) -> list[str]:
        """Return what holds of the subject with that value.

        It is what holds by the same relation, or by any where the words name no known one.
        """
        same_value = self._valued.get((new.subject, new.value), ())
        group = _group(new.relation)
        same_relation = [
            id for id in same_value if _group(self._held[id].relation) == group
        ]
        if same_relation:
            return same_relation
        names_relation = any(word.startswith("=") for word in new.relation)
        ids: list[str] = []
        for id in same_value:
            old = self._held[id]
            if old.cue != "ends" and not (names_relation and old.holds):
                ids.append(id)
        return ids

    def _doubtful(self, new: Statement) -> Iterator[str]:
        """Yield statements with another value whose relation is called alike.

        Their relation is not the same.
        """
        candidates = set[str]()
        for word in new.relation:
            named_so = self._words.get((new.subject, word), {})
            candidates.update(islice(reversed(named_so), _LOOKED_AT))
        for id in sorted(candidates):
            old = self._held[id]
            if old.value == new.value or _group(old.relation) == _group(new.relation):
                continue
            n_shared = len(old.relation & new.relation)
            if n_shared / len(old.relation | new.relation) >= _SIMILAR:
                yield id

    def _learn(self, judged: Judgement) -> None:
        """Learn of a relation whether it holds several values at once, or one.

        It is learnt where the statement itself says so.
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
                ended_group = _group(self._held[id].relation)
                latest = next(reversed(self._groups[new.subject, ended_group]), id)
                self._many[ended_group] += latest != id

    def _is_spent(self, judged: Judgement) -> bool:
        """Return whether a statement says only that something ended.

        Other values of the relation still hold then.
        """
        new = judged.statement
        if new.cue != "ends" or not judged.ends:
            return False
        group = self._groups.get((new.subject, _group(new.relation)), {})
        return any(old.cue != "ends" for old in group.values())

    def _entries(self, statement: Statement) -> Iterator[dict[str, Statement]]:
        """Yield the tables that a statement stands in."""
        yield self._held
        if statement.subject and statement.value:
            yield self._groups[statement.subject, _group(statement.relation)]
            yield self._valued[statement.subject, statement.value]
            for word in statement.relation:
                yield self._words[statement.subject, word]


def _group(relation: frozenset[str]) -> frozenset[str]:
    """Return what two relations share that are the same.

    It is the known relations and how they are told apart, else all their words.
    """
    names = frozenset(word for word in relation if word.startswith("="))
    return names | relation & {"as", "in", "on", "at"} if names else relation


def _kinds_of(statement: Statement) -> set[str]:
    """Return the words of a relation that tell which kind of thing its value is.

    "editor" and "editing" are one.
    """
    words = {
        word
        for word in statement.relation
        if not word.startswith("=") and len(word) > 2
    }
    return {word.removesuffix("or").removesuffix("er") for word in words}
