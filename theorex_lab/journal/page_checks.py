"""Checks of the events of a page, member by member.

A fold from nothing reads thousands of events at once. To ask of each value of each body
whether it is sound took as long as to decode it. Here one question is asked of all
values of a member. Where that does not say that all bodies of a kind are sound, each is
checked by itself, so that what is wrong is told in the same words.
"""

from __future__ import annotations

from itertools import chain

from theorex_lab.journal.event import FIELDS, VERSIONS, readable
from theorex_lab.journal.shapes import FieldRule, Row, check_of

TYPE_CHECKING = False  # what type checkers take for true
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Any

    from theorex_lab.journal.event import Body, Event
    from theorex_lab.journal.shapes import Shape

    # Whether many values, or bodies, are all sound.
    _Test = Callable[[Sequence[Any]], bool]
    _TestOfEach = Callable[[Collection[Any]], bool]

_LISTS = frozenset((list, tuple))
_NUMBERS = frozenset((int, float))
# The types of values of which a few come again and again, by the shape that allows
# these.
_TEXTS = frozenset((str,))
_WHOLE_NUMBERS = frozenset((int,))
_TYPES: dict[Any, frozenset[type]] = {
    str: _TEXTS,
    int: _WHOLE_NUMBERS,
    float: _NUMBERS,
}
# Those whose type tells all.
_PLAIN_TYPES: dict[Any, type] = {str: str, bool: bool, None: type(None)}
_LEAST_WHOLE = -(2**63)
_GREATEST_WHOLE = 2**63 - 1

# By kind its fields, and the test that was made of them.
_tests: dict[str, tuple[dict[str, Shape], _Test]] = {}


def readable_page(events: Sequence[Event]) -> list[Event]:
    """Return events as readers are given them, see `event.readable`.

    Args:
        events: The events, as they are stored.

    Raises:
        NewerVersion: A newer release wrote one of them.
    """
    bodies_of: dict[str, list[Body]] = {}
    for event in events:
        body: object = event.body
        if type(body) is dict and "erased" not in body:
            bodies_of.setdefault(event.kind, []).append(body)
    sound_kinds = set[str]()
    for kind, bodies in bodies_of.items():
        if _are_sound(kind, bodies):
            sound_kinds.add(kind)
    readable_events: list[Event] = []
    for event in events:
        if _is_sound(event, sound_kinds):
            readable_events.append(event)
        else:
            readable_events.append(readable(event))
    return readable_events


def _is_sound(event: Event, sound_kinds: set[str]) -> bool:
    """Return whether an event is of a kind all of whose bodies are sound.

    Those that were erased, or are no objects, are not among these.
    """
    if event.kind not in sound_kinds:
        return False
    body: object = event.body
    return type(body) is dict and "erased" not in body


def _are_sound(kind: str, bodies: Sequence[Body]) -> bool:
    """Return whether nothing is wrong with any of the bodies of a kind."""
    if not _are_current(kind, bodies):
        return False
    test = _test_of_kind(kind)
    return test(bodies)


def _are_current(kind: str, bodies: Sequence[Body]) -> bool:
    """Return whether all bodies are of the version that this release writes."""
    version = VERSIONS.get(kind)
    versions = [body.get("v") for body in bodies]
    types = set(map(type, versions))
    if types != {int}:
        return False
    distinct = set(versions)
    return distinct == {version}


def _test_of_kind(kind: str) -> _Test:
    """Return the test of the bodies of a kind, as it is declared now."""
    fields = FIELDS.get(kind, {})
    made = _tests.get(kind)
    if made is not None:
        tested_fields, test = made
        if tested_fields is fields:
            return test
    test = bodies_test(fields)
    _tests[kind] = (fields, test)
    return test


def bodies_test(fields: dict[str, Shape]) -> _Test:
    """Return what tells whether all bodies of a shape are sound.

    Args:
        fields: The shape, see `shapes`.

    >>> are_sound = bodies_test({"text": str, "tags?": [str]})
    >>> are_sound([{"text": "TTL"}, {"text": "", "tags": ["cache"]}])
    True
    >>> are_sound([{"text": "TTL"}, {"text": "", "tags": ["cache", 1]}])
    False
    """
    needed: dict[str, _Test] = {}
    optional: dict[str, _Test] = {}
    for field, shape in fields.items():
        name = field.removesuffix("?")
        members = needed if name == field else optional
        members[name] = _test_of(shape)

    def are_sound(bodies: Sequence[Body]) -> bool:
        if not _have_needed(bodies, needed):
            return False
        return _have_sound(bodies, optional)

    return are_sound


def _have_needed(
    bodies: Sequence[Body],
    tests: dict[str, _Test],
) -> bool:
    """Return whether all bodies have members that are needed, and sound ones."""
    for name, test in tests.items():
        try:
            values = [body[name] for body in bodies]
        except KeyError:
            return False
        if not test(values):
            return False
    return True


def _have_sound(
    bodies: Sequence[Body],
    tests: dict[str, _Test],
) -> bool:
    """Return whether members that may be left out are sound where they are there."""
    for name, test in tests.items():
        values = [body[name] for body in bodies if name in body]
        if values and not test(values):
            return False
    return True


def _test_of(shape: Shape) -> _Test:
    """Return what tells whether all of many values are sound."""
    if isinstance(shape, FieldRule):
        return _rule_test(shape)
    if isinstance(shape, Row):
        return _rows_test(shape)
    if isinstance(shape, list):
        return _lists_test(shape[0])
    if isinstance(shape, dict):
        return _objects_test(shape)
    if isinstance(shape, tuple):
        return _either_test(shape)
    if shape is object:
        return _anything
    if shape is int:
        return _are_whole
    if shape is float:
        return _distinct_test(shape, _NUMBERS)
    return _types_test([shape])


def _anything(_values: Sequence[Any]) -> bool:
    """Any JSON does."""
    return True


def _are_whole(values: Sequence[Any]) -> bool:
    """Return whether all values are whole numbers of 64 bits."""
    if not values:
        return True
    types = set(map(type, values))
    if types != {int}:
        return False
    least = min(values)
    greatest = max(values)
    return bool(least >= _LEAST_WHOLE and greatest <= _GREATEST_WHOLE)


def _types_test(shapes: Sequence[Shape]) -> _Test:
    """Return the test of values whose types tell all."""
    types = set[type]()
    for shape in shapes:
        plain_type = _PLAIN_TYPES[shape]
        types.add(plain_type)

    def test(values: Sequence[Any]) -> bool:
        types_here = map(type, values)
        return types.issuperset(types_here)

    return test


def _each_test(shape: Shape) -> _TestOfEach:
    """Return the test that checks one value after the other."""
    check = check_of(shape)

    def test(values: Collection[Any]) -> bool:
        problems = (check(value, "") for value in values)
        return not any(problems)

    return test


def _distinct_test(shape: Shape, types: frozenset[type]) -> _Test:
    """Return the test that checks each value once, however often it comes.

    Args:
        shape: The shape of the values.
        types: Their types.
    """
    test_each = _each_test(shape)

    def test(values: Sequence[Any]) -> bool:
        types_here = set(map(type, values))
        if not types.issuperset(types_here):
            return False
        # A number of one type may be sound, and an equal one of another may not.
        if len(types_here) > 1:
            return test_each(values)
        distinct = set(values)
        return test_each(distinct)

    return test


def _rule_test(rule: FieldRule) -> _Test:
    """Return the test of values that must pass a test of their own."""
    for shape, types in _TYPES.items():
        if rule.shape is shape:
            return _distinct_test(rule, types)
    return _each_test(rule)


def _lists_test(shape: Shape) -> _Test:
    """Return the test of lists of values of a shape."""
    test_parts = _test_of(shape)

    def test(values: Sequence[Any]) -> bool:
        types_here = map(type, values)
        if not _LISTS.issuperset(types_here):
            return False
        parts = list(chain.from_iterable(values))
        return not parts or test_parts(parts)

    return test


def _rows_test(row: Row) -> _Test:
    """Return the test of rows, which looks through them place by place."""
    tests = [_test_of(shape) for shape in row.shapes]
    n_places = len(tests)

    def test(rows: Sequence[Any]) -> bool:
        types_here = map(type, rows)
        if not _LISTS.issuperset(types_here):
            return False
        # There are as many as the shortest row has.
        places = list(zip(*rows, strict=False))
        if len(places) < n_places:
            return False
        pairs = zip(
            tests,
            places,
            strict=False,
        )
        results = (test_place(values) for test_place, values in pairs)
        return all(results)

    return test


def _objects_test(shape: dict[Any, Shape]) -> _Test:
    """Return the test of objects of a shape."""
    if str in shape:
        return _each_test(shape)
    test_members = bodies_test(shape)

    def test(values: Sequence[Any]) -> bool:
        types_here = set(map(type, values))
        return types_here == {dict} and test_members(values)

    return test


def _either_test(shapes: tuple[Shape, ...]) -> _Test:
    """Return the test of values of one of several shapes."""
    plain_shapes = [shape for shape in shapes if _is_plain(shape)]
    are_plain = _types_test(plain_shapes)
    test_each = _each_test(shapes)

    def test(values: Sequence[Any]) -> bool:
        if are_plain(values):
            return True
        return test_each(values)

    return test


def _is_plain(shape: Shape) -> bool:
    """Return whether the type of a value of a shape tells all."""
    return shape is None or shape is str or shape is bool
