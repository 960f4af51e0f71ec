"""Answer questions from the newest of many statements, over several of them.

"Who is the head of state of the country of citizenship of the author of X?" is resolved
from the inside out. It begins at the name that stands in the question, and follows one
statement at a time: the newest of its subject and relation. A step is allowed where
words of the question name its relation, and each word names one step. The path that
uses up the words of the question best gives the answer.
"""

import heapq
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from theorex_lab.core.sections import read_sections
from theorex_lab.memory.fact_statements import FactStatement, read_facts
from theorex_lab.memory.relation_senses import (
    SENSES,
    RelationSense,
    fits_kind,
    kinds_by_stem,
    name_key,
    patterns_by_stem,
    relation_stem,
)

NOT_KNOWN = "not known"
_WORDS = {
    name: frozenset(text.split())
    for name, text in read_sections(
        __file__,
        "fact_words.txt",
    ).items()
}
_FUNCTION = _WORDS["function"] | _WORDS["question function"]
_PREPOSITIONS = _WORDS["prepositions"]
_TOKEN = re.compile(r"[^\s,;:?!()\"“”„«»]+")
_POSSESSIVE = re.compile(r"(?:['’]s|(?<=s)['’])$")
_WINDOW = 7  # tokens within which the words of one relation stand
_LONGEST_NAME = 24  # tokens
_MOST_NAMES = 6  # names of a question from which paths begin
_MOST_STEPS = 5
_BEAM = 48
_MOST_INVERSE = 12  # newest statements of one value that are followed backwards
_STEP_COST = 0.35
_UNUSED_COST = 0.9  # for each weight of a word that names no step
_ORDER_COST = 0.5
_BACKWARDS_COST = 1.0
_KIND_FITS = 0.7
_KIND_FAILS = 1.6
_GROUP_WEIGHT = 0.55  # of a word that names a sense of the same wider one
_GENERAL_WEIGHT = 0.9  # of one for which the relation of a statement stands
_PART_WEIGHT = 0.8  # of one of many words of a statement
_LEAST_WEIGHT = 0.4  # of a word that names a relation, such as "where"
_KIND_WEIGHT = 0.45  # of a word such as "country"
_NAME_WEIGHT = 2.0  # of a word with a capital that stands in no name
_LEAST_TRIGGER = 0.4
_LEAST_VALUE = -0.6  # of a path that answers; chosen on the development sets
_KINDS_OF_QUESTION = {
    "who": "person",
    "whom": "person",
    "whose": "person",
    "where": "place",
}


class AnswerFromStatements(NamedTuple):
    """What is answered.

    Attributes:
        text: The answer, "not known" where nothing is read.
        path: The indices of the statements that it rests on, in the order in which
            they are followed.
    """

    text: str
    path: tuple[int, ...] = ()


class _Edge(NamedTuple):
    statement: int  # its index
    fact: FactStatement
    is_backwards: bool

    @property
    def end(self) -> str:
        """The name to which it leads."""
        return self.fact.subject if self.is_backwards else self.fact.value


class _Trigger(NamedTuple):
    """Words of a question that name a relation, as a set of bits, and what they say."""

    mask: int
    weight: float
    distance: int  # tokens from the name


class _Span(NamedTuple):
    """Words of a question by their positions, and what share of them counts."""

    positions: tuple[int, ...]
    factor: float


class _NameInQuestion(NamedTuple):
    key: str
    start: int
    end: int


class _Path(NamedTuple):
    """A path so far.

    Attributes:
        score: How well its steps are named.
        mask: The words of the question that it uses, as bits.
        distance: Of the words of its last step from the name.
        edges: Its steps.
    """

    score: float
    mask: int
    distance: int
    edges: tuple[_Edge, ...]

    @property
    def end(self) -> str:
        return name_key(self.edges[-1].end)


class StatementChains:
    """Statements, oldest first, of which questions are answered.

    Example:
        >>> chains = StatementChains(
        ...     [
        ...         "The author of Salt Lanterns is Ida Holm.",
        ...         "Ida Holm is a citizen of Norway.",
        ...         "The capital of Norway is Bergen.",
        ...         "The capital of Norway is Oslo.",
        ...     ]
        ... )
        >>> chains.answer("What is the capital of Norway?").text
        'Oslo'
        >>> chains.answer(
        ...     "What is the capital of the country of citizenship of the author of"
        ...     " Salt Lanterns?"
        ... )
        AnswerFromStatements(text='Oslo', path=(0, 1, 3))
        >>> chains.answer("Who is the spouse of Ida Holm?").text
        'not known'
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.facts = read_facts(texts)
        self._edges: dict[str, dict[str, _Edge]] = defaultdict(dict)
        self._backwards: dict[str, list[_Edge]] = defaultdict(list)
        self._spellings: dict[str, str] = {}
        for index, fact in enumerate(self.facts):
            if fact is not None:
                self._add(
                    index,
                    fact,
                )
        self._add_backwards()

    def _add(
        self,
        index: int,
        fact: FactStatement,
    ) -> None:
        """Add a statement, which takes the place of an older one."""
        subject = name_key(fact.subject)
        relations = self._edges[subject]
        if fact.has_ended:
            older = relations.get(fact.relation)
            if older and name_key(older.fact.value) == name_key(fact.value):
                del relations[fact.relation]
            return
        relations.pop(
            fact.relation,
            None,
        )
        relations[fact.relation] = _Edge(
            index,
            fact,
            is_backwards=False,
        )

    def _add_backwards(self) -> None:
        """Add the ways from values to subjects, of the statements that hold."""
        for relations in self._edges.values():
            for edge in relations.values():
                value = name_key(edge.fact.value)
                backwards = _Edge(
                    edge.statement,
                    edge.fact,
                    is_backwards=True,
                )
                self._backwards[value].append(backwards)

    def current(self) -> frozenset[int]:
        """Return the indices of the statements that hold, and of those not read.

        >>> StatementChains(["Oslo is big.", "Ann is in Bath.", "Ann is in York."]).current()
        frozenset({0, 2})
        """
        indices = {index for index, fact in enumerate(self.facts) if fact is None}
        for relations in self._edges.values():
            indices.update(edge.statement for edge in relations.values())
        return frozenset(indices)

    def answer(self, question: str) -> AnswerFromStatements:
        """Return the answer to a question, and the statements that it rests on.

        Args:
            question: One question in English, with a name that statements have.

        Returns:
            The answer; its text is "not known" where no path of statements is named by
            the question.
        """
        reading = _Question(question)
        best: _Path | None = None
        best_rank = (_LEAST_VALUE, -1)
        for name in self._names_in(reading.tokens):
            for path in self._paths(reading, name):
                # Of paths that are named as well as each other the newest counts.
                score = round(reading.value_of(path), 1)
                rank = (score, path.edges[-1].statement)
                if rank > best_rank:
                    best = path
                    best_rank = rank
        if best is None:
            return AnswerFromStatements(NOT_KNOWN)
        indices = tuple(edge.statement for edge in best.edges)
        return AnswerFromStatements(
            best.edges[-1].end,
            indices,
        )

    def _names_in(self, tokens: Sequence[str]) -> list[_NameInQuestion]:
        """Return the names of statements that stand in a question, the longest first."""
        names: list[_NameInQuestion] = []
        for start in range(len(tokens)):
            last = min(
                len(tokens),
                start + _LONGEST_NAME,
            )
            for end in range(
                start + 1,
                last + 1,
            ):
                key = self._name_of(tokens[start:end])
                if key:
                    names.append(
                        _NameInQuestion(
                            key,
                            start,
                            end,
                        )
                    )
        names.sort(
            key=lambda name: (
                _n_capitals(
                    tokens,
                    name,
                ),
                name.end - name.start,
            )
        )
        names.reverse()
        whole: list[_NameInQuestion] = []
        for name in names:
            if not any(
                _is_inside(
                    name,
                    other,
                )
                for other in whole
            ):
                whole.append(name)
        return whole[:_MOST_NAMES]

    def _name_of(self, tokens: Sequence[str]) -> str:
        """Return the key of the name that tokens are, '' for none."""
        text = " ".join(tokens)
        key = name_key(text)
        if self._is_name(key):
            return key
        key = name_key(
            _POSSESSIVE.sub(
                "",
                text,
            )
        )
        return key if self._is_name(key) else ""

    def _is_name(self, key: str) -> bool:
        return bool(key) and (key in self._edges or key in self._backwards)

    def _paths(
        self,
        question: "_Question",
        name: _NameInQuestion,
    ) -> Iterator[_Path]:
        """Yield the paths of steps that a question names, from one of its names on."""
        start_mask = question.mask_of_name(name)
        paths = [
            _Path(
                0.0,
                start_mask,
                0,
                (),
            )
        ]
        for _ in range(_MOST_STEPS):
            longer: list[_Path] = []
            for path in paths:
                longer += self._longer(
                    question,
                    name,
                    path,
                )
            if not longer:
                return
            yield from longer
            paths = heapq.nlargest(
                _BEAM,
                longer,
                key=lambda path: path.score,
            )

    def _longer(
        self,
        question: "_Question",
        name: _NameInQuestion,
        path: _Path,
    ) -> Iterator[_Path]:
        """Yield the paths that are longer by one step."""
        key = path.end if path.edges else name.key
        used_indices = {edge.statement for edge in path.edges}
        for edge in self._edges_from(key):
            if edge.statement in used_indices or _turns_back(
                path,
                edge,
            ):
                continue
            for trigger in question.triggers(
                edge.fact,
                name,
            ):
                if trigger.mask & path.mask:
                    continue
                yield _longer_path(
                    path,
                    edge,
                    trigger,
                )

    def _edges_from(self, key: str) -> Iterator[_Edge]:
        """Yield the steps from a name: forwards, then the newest ones backwards."""
        yield from self._edges.get(
            key,
            {},
        ).values()
        backwards = self._backwards.get(
            key,
            (),
        )
        yield from heapq.nlargest(
            _MOST_INVERSE,
            backwards,
            key=lambda edge: edge.statement,
        )


def _n_capitals(
    tokens: Sequence[str],
    name: _NameInQuestion,
) -> int:
    """Return how many words of a name have a capital or a digit."""
    words = tokens[name.start : name.end]
    return sum(not word[:1].islower() for word in words)


def _is_inside(
    name: _NameInQuestion,
    other: _NameInQuestion,
) -> bool:
    return other.start <= name.start and name.end <= other.end


def _turns_back(
    path: _Path,
    edge: _Edge,
) -> bool:
    """Return whether a step leads back by the relation of the last one."""
    if not path.edges:
        return False
    last = path.edges[-1]
    return edge.is_backwards and edge.fact.relation == last.fact.relation


def _longer_path(
    path: _Path,
    edge: _Edge,
    trigger: _Trigger,
) -> _Path:
    """Return a path with another step."""
    score = path.score + trigger.weight - _STEP_COST
    if path.edges and trigger.distance < path.distance:
        score -= _ORDER_COST
    if edge.is_backwards:
        score -= _BACKWARDS_COST * (2 if path.edges else 1)
    return _Path(
        score,
        path.mask | trigger.mask,
        trigger.distance,
        (*path.edges, edge),
    )


class _Question:
    """The words of a question, and what they may name."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = _TOKEN.findall(text.strip())
        self.words = [
            _POSSESSIVE.sub(
                "",
                token,
            ).lower()
            for token in self.tokens
        ]
        self.words = [word.strip(".") for word in self.words]
        self.stems = [relation_stem(word) for word in self.words]
        self.kinds = {
            index: kinds_by_stem()[stem]
            for index, stem in enumerate(self.stems)
            if stem in kinds_by_stem()
        }
        self.positions = self._positions()
        self.weights = [self._weight(index) for index in range(len(self.tokens))]
        self.kind = self._kind()
        self._triggers: dict[object, list[_Trigger]] = {}

    def _positions(self) -> dict[str, list[int]]:
        """Return where each stem stands, and each preposition behind "@"."""
        positions: dict[str, list[int]] = defaultdict(list)
        for index, word in enumerate(self.words):
            if word not in _FUNCTION:
                positions[self.stems[index]].append(index)
            if word in _PREPOSITIONS:
                positions[f"@{word}"].append(index)
            if word == "where":
                positions["where"].append(index)
                positions["@in"].append(index)
        return positions

    def _weight(self, index: int) -> float:
        """Return how much of a question a word says."""
        word = self.words[index]
        if word in _FUNCTION:
            return 0.0
        token = self.tokens[index]
        if index and (token[:1].isupper() or token[:1].isdigit()):
            return _NAME_WEIGHT
        is_behind_which = index > 0 and self.words[index - 1] in ("which", "what")
        if is_behind_which or self.stems[index] in kinds_by_stem():
            return _KIND_WEIGHT
        return 1.0

    def _kind(self) -> str:
        """Return the kind of thing that is asked for, '' where it is not said."""
        for index, word in enumerate(self.words):
            kind = _KINDS_OF_QUESTION.get(word)
            if kind and index < 3:
                return kind
            if word in ("which", "what") and index < 3:
                return self._kind_behind(index)
        return ""

    def _kind_behind(self, index: int) -> str:
        """Return the kind that the first noun behind "which" or "what is the" names."""
        for stem, word in zip(
            self.stems[index + 1 : index + 6],
            self.words[index + 1 :],
            strict=False,
        ):
            kind = kinds_by_stem().get(stem)
            if kind:
                return kind
            if word not in _FUNCTION:
                return ""
        return ""

    def mask_of_name(self, name: _NameInQuestion) -> int:
        """Return the bits of the words of a name."""
        return sum(
            1 << index
            for index in range(
                name.start,
                name.end,
            )
        )

    def value_of(self, path: _Path) -> float:
        """Return how well a whole path answers."""
        unused = 0.0
        for index, weight in enumerate(self.weights):
            if weight and not path.mask >> index & 1:
                unused += weight
        score = path.score - _UNUSED_COST * unused
        last = path.edges[-1]
        sense = last.fact.sense
        if sense is None or not self.kind or last.is_backwards:
            return score
        if fits_kind(
            sense.kind,
            self.kind,
        ):
            return score + (_KIND_FITS if sense.kind else 0.0)
        return score - _KIND_FAILS

    def triggers(
        self,
        fact: FactStatement,
        name: _NameInQuestion,
    ) -> list[_Trigger]:
        """Return the words of the question that may name the relation of a fact."""
        key = (fact.relation, fact.stems, name.start, name.end)
        triggers = self._triggers.get(key)
        if triggers is None:
            triggers = list(
                self._new_triggers(
                    fact,
                    name,
                )
            )
            self._triggers[key] = triggers
        return triggers

    def _new_triggers(
        self,
        fact: FactStatement,
        name: _NameInQuestion,
    ) -> Iterator[_Trigger]:
        """Yield the triggers of a fact, each set of words once, with its best worth."""
        weight_by_mask: dict[int, float] = {}
        for span in self._all_spans(fact):
            if any(name.start <= index < name.end for index in span.positions):
                continue
            mask = sum(1 << index for index in set(span.positions))
            weight = span.factor * self._weight_of(span.positions)
            best = weight_by_mask.get(
                mask,
                0.0,
            )
            weight_by_mask[mask] = max(
                best,
                weight,
            )
        for mask, weight in weight_by_mask.items():
            if weight >= _LEAST_TRIGGER:
                yield _Trigger(
                    mask,
                    weight,
                    _distance(
                        mask,
                        name,
                    ),
                )

    def _weight_of(self, positions: Sequence[int]) -> float:
        """Return how much words say that name a relation together."""
        return sum(
            max(
                self.weights[index],
                _LEAST_WEIGHT,
            )
            for index in positions
        )

    def _all_spans(self, fact: FactStatement) -> Iterator[_Span]:
        """Yield the words that may name a relation, and their worth."""
        kind = fact.sense.kind if fact.sense else ""
        for span in self._named_spans(fact):
            yield span
            yield from self._with_kind(
                span,
                kind,
            )
        for index, word_kind in self.kinds.items():
            is_place = kind == "place" and fits_kind(word_kind, kind)
            if is_place or (kind and word_kind == kind):
                yield _Span((index,), 1.0)

    def _named_spans(self, fact: FactStatement) -> Iterator[_Span]:
        """Yield the words that name the sense of a fact, itself or one like it."""
        yield from self._sense_spans(
            fact.sense,
            1.0,
        )
        yield from self._stem_spans(fact.stems)
        for sense in _senses_like(fact.sense):
            is_general = sense.group == fact.relation
            factor = _GENERAL_WEIGHT if is_general else _GROUP_WEIGHT
            yield from self._sense_spans(sense, factor)

    def _with_kind(
        self,
        span: _Span,
        kind: str,
    ) -> Iterator[_Span]:
        """Yield a span with a word near it that names the kind of the value."""
        first = span.positions[0]
        for index, word_kind in self.kinds.items():
            if not kind or not fits_kind(
                word_kind,
                kind,
            ):
                continue
            is_near = (
                self._between(
                    index,
                    first,
                )
                <= _WINDOW
            )
            if is_near and index not in span.positions:
                yield _Span(
                    (*span.positions, index),
                    span.factor,
                )

    def _sense_spans(
        self,
        sense: RelationSense | None,
        factor: float,
    ) -> Iterator[_Span]:
        """Yield the words that name a sense."""
        if sense is None:
            return
        for stem in list(self.positions):
            for pattern in patterns_by_stem().get(
                stem,
                (),
            ):
                if pattern.sense is not sense:
                    continue
                words = (*pattern.stems, *pattern.prepositions)
                for positions in self._near_each_other(
                    stem,
                    words,
                ):
                    yield _Span(
                        tuple(positions),
                        factor,
                    )

    def _stem_spans(self, stems: Sequence[str]) -> Iterator[_Span]:
        """Yield the words that a statement has itself.

        They are worth less where others of its words are missing.
        """
        content = [stem for stem in stems if not stem.startswith("@")]
        telling = [stem for stem in content if stem not in kinds_by_stem()]
        for stem in telling or content:
            for index in self.positions.get(
                stem,
                (),
            ):
                positions = [index]
                positions += self._near_words(
                    content,
                    index,
                )
                for some in ([index], positions):
                    share = len(some) / len(content)
                    factor = _PART_WEIGHT + (1 - _PART_WEIGHT) * share
                    yield _Span(
                        tuple(some),
                        factor,
                    )

    def _near_words(
        self,
        stems: Sequence[str],
        index: int,
    ) -> list[int]:
        """Return where words stand near another one, each once."""
        positions: list[int] = []
        for stem in stems:
            if stem == self.stems[index]:
                continue
            near = self._nearest(
                stem,
                index,
            )
            if near >= 0:
                positions.append(near)
        return positions

    def _near_each_other(
        self,
        stem: str,
        words: Iterable[str],
    ) -> Iterator[list[int]]:
        """Yield the positions of words near each occurrence of one of them."""
        others = [word for word in words if word != stem]
        for index in self.positions[stem]:
            positions = [index]
            for other in others:
                near = self._nearest(
                    other,
                    index,
                )
                if near >= 0:
                    positions.append(near)
            if len(positions) == len(others) + 1:
                yield positions

    def _nearest(
        self,
        stem: str,
        index: int,
    ) -> int:
        """Return the nearest position of a word within the window, -1 for none."""
        best = -1
        for other in self.positions.get(
            stem,
            (),
        ):
            distance = self._between(
                other,
                index,
            )
            if distance > _WINDOW:
                continue
            if best < 0 or distance < self._between(
                best,
                index,
            ):
                best = other
        return best

    def _between(
        self,
        one_index: int,
        other_index: int,
    ) -> int:
        """Return how many tokens stand between two words.

        The end of a question is near its start: "which city did … work in?".
        """
        distance = abs(one_index - other_index)
        return min(
            distance,
            len(self.tokens) - distance,
        )


def _senses_like(sense: RelationSense | None) -> list[RelationSense]:
    """Return the other senses of the same group."""
    if sense is None or not sense.group:
        return []
    return [
        other for other in SENSES if other.group == sense.group and other is not sense
    ]


def _distance(
    mask: int,
    name: _NameInQuestion,
) -> int:
    """Return how many tokens the nearest word of a mask stands from a name."""
    distances: list[int] = []
    index = 0
    while mask >> index:
        if mask >> index & 1:
            distances.append(
                max(
                    name.start - index,
                    index - name.end + 1,
                )
            )
        index += 1
    return min(distances)
