"""Judge what a new statement means for those that hold.

It replaces, ends, repeats or contradicts them, or adds to them.

Statements are compared where they are about the same subject; what a subject has is
found by its relation, so that one statement costs the same among a hundred and among a
hundred thousand.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from theorex_lab.memory.assertions import (
    Assertion,
    Relation,
    kinds_of_value,
    read_assertion,
    relation_group,
    relation_names,
)
from theorex_lab.memory.distinct_things import hold_side_by_side

# Statements that hold, by their ids, in the order in which they came.
Held = dict[str, Assertion]
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

    statement: Assertion
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
        self._held: Held = {}
        self._texts: dict[str, str] = {}
        # By subject and relation.
        self._groups: dict[tuple[str, Relation], Held] = defaultdict(dict)
        # By subject and word of the relation.
        self._words: dict[tuple[str, str], Held] = defaultdict(dict)
        # By subject and value.
        self._valued: dict[tuple[str, str], Held] = defaultdict(dict)
        # Of a value: words of relations that it was stated with.
        self._kinds: dict[str, set[str]] = defaultdict(set)
        self._many: Counter[Relation] = Counter()
        self._one: Counter[Relation] = Counter()

    def active(self) -> list[str]:
        """Ids of the statements that hold, in the order in which they came."""
        return list(self._held)

    def add(self, id: str, text: str) -> Judgement:
        """Judge a statement as `judge` does, and take it in; `id` is its own."""
        return self.hold(id, text, replacing=True)

    def hold(self, id: str, text: str, *, replacing: bool = False) -> Judgement:
        """Take in a statement that holds whatever it means for the others.

        Args:
            id: Its id.
            text: The statement.
            replacing: Whether what it replaces is taken out.

        Returns:
            What it means for the others.
        """
        judged = self.judge(text)
        self._learn(judged)
        if replacing:
            for old_id in judged.replaced:
                self.remove(old_id)
        if not self._is_spent(judged):
            self._texts[id] = text
            for entry in self._entries(judged.statement):
                entry[id] = judged.statement
        return judged

    def remove(self, id: str) -> None:
        """Take a statement out of those that hold; one that does not hold is let be."""
        statement = self._held.get(id)
        if statement is None:
            return
        self._texts.pop(id, None)
        for entry in list(self._entries(statement)):
            entry.pop(id, None)

    def judge(self, text: str) -> Judgement:
        """Return what a statement would mean for those that hold; nothing changes."""
        new = read_assertion(text)
        if not new.subject:
            return Judgement(new)
        if not new.value:
            return Judgement(new)
        if new.cue == "ends":
            ended_ids = self._of_same_thing(text, self._ended(new))
            return Judgement(new, ends=ended_ids)
        judged = self._compare(new)
        superseded = self._of_same_thing(text, judged.supersedes)
        duplicates = self._of_same_thing(text, judged.duplicates)
        contradicts = self._of_same_thing(text, judged.contradicts)
        compared_ids = [*judged.supersedes, *judged.duplicates]
        beside = list(judged.adds_to)
        for id in compared_ids:
            if id not in superseded and id not in duplicates:
                beside.append(id)
        return judged._replace(
            supersedes=superseded,
            duplicates=duplicates,
            contradicts=contradicts,
            adds_to=tuple(beside),
        )

    def _of_same_thing(self, text: str, ids: Iterable[str]) -> tuple[str, ...]:
        """Return the ids of the statements that do not hold beside a text anyway."""
        same: list[str] = []
        for id in ids:
            other = self._texts[id]
            if hold_side_by_side(
                text,
                other,
            ):
                continue
            same.append(id)
        return tuple(same)

    def _compare(self, new: Assertion) -> Judgement:
        """Return what a statement that ends nothing means for those of its relation."""
        group = self._group_of(new)
        many = self.holds_many(new)
        superseded: list[str] = []
        duplicates: list[str] = []
        beside: list[str] = []
        for id in self._compared_ids(new, group):
            old = group[id]
            is_over = old.cue == "ends"
            if old.value == new.value and not is_over:
                duplicates.append(id)
            elif is_over or (not many and self._gives_way(old, new)):
                superseded.append(id)
            else:
                beside.append(id)
        doubtful: list[str] = []
        if not many:
            doubtful += self._doubtful(new)
        return Judgement(
            new,
            supersedes=tuple(superseded),
            duplicates=tuple(duplicates),
            contradicts=tuple(doubtful),
            adds_to=tuple(beside),
        )

    def _group_of(self, statement: Assertion) -> Held:
        """Return what holds of the statement's subject by its relation."""
        group = relation_group(statement.relation)
        return self._groups.get((statement.subject, group), {})

    def _compared_ids(self, new: Assertion, group: Held) -> Iterable[str]:
        """Return the statements of a group with the same value, then the newest ones."""
        same_value = self._valued.get((new.subject, new.value), {})
        ids = [id for id in same_value if id in group]
        newest_first = reversed(group)
        ids += islice(newest_first, _LOOKED_AT)
        return dict.fromkeys(ids)

    def holds_many(self, statement: Assertion) -> bool:
        """Return whether a subject may have several values of a relation at once.

        Statements may have shown it; else it is as English has it.
        """
        group = relation_group(statement.relation)
        n_many = self._many[group]
        n_one = self._one[group]
        was_learned = max(n_many, n_one) >= _LEARNED
        if was_learned and n_many != n_one:
            return n_many > n_one
        if statement.holds == "many":
            return True
        return statement.cue == "adds"

    def _gives_way(self, old: Assertion, new: Assertion) -> bool:
        """Return whether an old value gives way to a new one.

        Of relations that are open to any kind of thing, only a value of the same kind
        does.
        """
        if new.holds != "open":
            return True
        if new.cue == "replaces":
            return True
        if old.cue == "ends":
            return True
        old_kinds = self._kinds[old.value]
        new_kinds = self._kinds[new.value]
        if old_kinds & new_kinds:
            return True
        return not kinds_of_value(old).isdisjoint(kinds_of_value(new))

    def _ended(self, new: Assertion) -> list[str]:
        """Return what holds of the subject with that value.

        It is what holds by the same relation, or by any where the words name no known
        one.
        """
        same_value = self._valued.get((new.subject, new.value), {})
        group = relation_group(new.relation)
        same_relation: list[str] = []
        for id, old in same_value.items():
            if relation_group(old.relation) == group:
                same_relation.append(id)
        if same_relation:
            return same_relation
        names_relation = bool(relation_names(new.relation))
        ids: list[str] = []
        for id, old in same_value.items():
            is_known = names_relation and old.holds
            if old.cue != "ends" and not is_known:
                ids.append(id)
        return ids

    def _doubtful(self, new: Assertion) -> Iterator[str]:
        """Yield statements with another value whose relation is called alike.

        Their relation is not the same.
        """
        candidates = set[str]()
        for word in new.relation:
            named_so = self._words.get((new.subject, word), {})
            newest_first = reversed(named_so)
            candidates.update(islice(newest_first, _LOOKED_AT))
        group = relation_group(new.relation)
        for id in sorted(candidates):
            old = self._held[id]
            if old.value == new.value:
                continue
            if relation_group(old.relation) == group:
                continue
            n_shared = len(old.relation & new.relation)
            n_words = len(old.relation | new.relation)
            if n_shared / n_words >= _SIMILAR:
                yield id

    def _learn(self, judged: Judgement) -> None:
        """Learn of a relation whether it holds several values at once, or one.

        It is learnt where the statement itself says so.
        """
        new = judged.statement
        if new.holds == "open":
            self._kinds[new.value] |= kinds_of_value(new)
        group = relation_group(new.relation)
        if new.cue == "replaces":
            self._one[group] += 1
        elif new.cue == "adds":
            self._many[group] += 1
        elif new.cue == "ends":
            # What was not stated last held on beside what was stated after it.
            for id in judged.ends:
                ended = self._held[id]
                ended_group = relation_group(ended.relation)
                newest_first = reversed(self._groups[new.subject, ended_group])
                latest_id = next(newest_first, id)
                if latest_id != id:
                    self._many[ended_group] += 1

    def _is_spent(self, judged: Judgement) -> bool:
        """Return whether a statement says only that something ended.

        Other values of the relation still hold then.
        """
        new = judged.statement
        if new.cue != "ends":
            return False
        if not judged.ends:
            return False
        group = self._group_of(new)
        return any(old.cue != "ends" for old in group.values())

    def _entries(self, statement: Assertion) -> Iterator[Held]:
        """Yield the tables that a statement stands in."""
        yield self._held
        subject = statement.subject
        value = statement.value
        if not (subject and value):
            return
        group = relation_group(statement.relation)
        yield self._groups[subject, group]
        yield self._valued[subject, value]
        for word in statement.relation:
            yield self._words[subject, word]
