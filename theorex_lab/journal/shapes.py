"""Shapes: what the body of an event must hold.

They are declared in plain Python and checked at every door. A shape is one of:

- `str`, `bool`, `int` (a whole number of 64 bits), `float` (a finite number), `None`,
  `object` (any JSON);
- `[shape]`, a list of such values;
- `{"name": shape, "other?": shape}`, an object with these members; one with `?` may be
  left out, others may be there too;
- `{str: shape}`, an object whose members have any names, and such values;
- `row(shape, shape)`, a list that begins with such values, in this order;
- `(shape, shape)`, one of these;
- a `FieldRule`, which asks more of a value than its type.

Standard library only, and cheap to import: agents start a process for every event. A
shape becomes functions when the first body of its kind is checked.
"""

from __future__ import annotations

from itertools import chain

TYPE_CHECKING = False  # what type checkers take for true
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Shape = Any
    # What is wrong with a value, '' where nothing is: it begins with the value's place.
    Check = Callable[[Any, str], str]
    # The names and the types of the members of a body.
    Form = tuple[tuple[str, ...], tuple[type, ...]]

_LEAST_WHOLE = -(2**63)
_GREATEST_WHOLE = 2**63 - 1
_INFINITE = float("inf")
# Those whose type alone tells whether they fit.
_BY_TYPE: dict[Any, str] = {str: "a text", bool: "true or false", None: "null"}
_IN_WORDS: dict[Any, str] = {
    **_BY_TYPE,
    int: "a whole number of 64 bits",
    float: "a finite number",
    object: "any JSON",
}
# What JSON has as a list: a body that is about to be written may hold a tuple.
_LISTS = frozenset((list, tuple))
_SHOWN_CHARACTERS = 60
_MOST_KEPT = 1_000  # forms, or texts, that a check keeps in memory


class FieldRule:
    """A shape whose values must pass a test as well.

    It says what is allowed as an error puts it.
    """

    __slots__ = ("says", "shape", "test")

    def __init__(self, shape: Shape, says: str, test: Callable[[Any], bool]) -> None:
        self.shape = shape
        self.says = says
        self.test = test


class Row:
    """A list that begins with values of these shapes."""

    __slots__ = ("shapes",)

    def __init__(self, shapes: tuple[Shape, ...]) -> None:
        self.shapes = shapes


class Kind:
    """A kind of events as it is declared.

    Attributes:
        version: The version of the bodies that this release writes.
        says: What such an event tells.
        fields: The members of a body beside `v`, as a shape.
        paths: The member that holds paths, which are kept character by character, ''
            where none does.
    """

    __slots__ = ("fields", "paths", "says", "version")

    def __init__(
        self, version: int, says: str, fields: dict[str, Shape], paths: str = ""
    ) -> None:
        self.version = version
        self.says = says
        self.fields = fields
        self.paths = paths

    def __repr__(self) -> str:
        return f"Kind({self.version}, {self.says!r})"


def one_of(*words: str) -> FieldRule:
    """Return the shape of one of these texts."""
    allowed = frozenset(words)
    says = " or ".join(map(repr, words))
    return FieldRule(str, says, lambda text: text in allowed)


def one_of_numbers(*numbers: int) -> FieldRule:
    """Return the shape of one of these whole numbers."""
    says = " or ".join(map(str, numbers))
    return FieldRule(int, says, lambda number: number in numbers)


def between(least: float, most: float) -> FieldRule:
    """Return the shape of a number from `least` to `most`."""
    return FieldRule(
        float,
        f"a number from {least} to {most}",
        lambda number: least <= number <= most,
    )


def row(*shapes: Shape) -> Row:
    """Return the shape of a list that begins with such values, in this order.

    More may follow.
    """
    return Row(shapes)


# A text that says something.
FILLED = FieldRule(str, "a text that is not empty", bool)
# How many there are; sums of such numbers stay exact.
COUNT = FieldRule(int, "a whole number from 0", lambda number: 0 <= number <= 2**53)
# The seq of an event of the same journal, up to which something was done; greater than
# any where all there is was done.
SEQ = FieldRule(int, "a whole number from 0", lambda number: number >= 0)
# A finite number from 0.
AMOUNT = FieldRule(float, "a number from 0", lambda number: number >= 0)
# How sure, how alike, how good.
SHARE = between(0, 1)
# Microseconds since 1970 in UTC, of the years 1 to 9999: see `theorex_lab.core.clock`.
TIME = FieldRule(
    int,
    "a time in microseconds of the years 1 to 9999",
    lambda at: -62_135_596_800_000_000 <= at <= 253_402_300_799_999_999,
)


def names_seqs(shape: Shape) -> bool:
    """Return whether values of a shape may hold the seq of an event, see `SEQ`.

    >>> names_seqs({"upto?": (SEQ, None)}), names_seqs({"events": COUNT})
    (True, False)
    """
    if shape is SEQ:
        return True
    parts: Sequence[Shape] = ()
    if isinstance(shape, Row):
        parts = shape.shapes
    elif isinstance(shape, list | tuple):
        parts = shape
    elif isinstance(shape, dict):
        parts = list(shape.values())
    return any(map(names_seqs, parts))


def with_seqs(value: Any, shape: Shape, change: Callable[[int], int]) -> Any:
    """Return a value with each seq in it changed that its shape declares.

    >>> with_seqs({"passed": [["t-1", 7, "short"]]}, {"passed": [row(str, SEQ)]}, abs)
    {'passed': [['t-1', 7, 'short']]}
    """
    if value is None or not names_seqs(shape):
        return value
    if shape is SEQ:
        return change(value)
    if isinstance(shape, dict):
        return _members_with_seqs(value, shape, change)
    if isinstance(shape, tuple):
        (declared,) = filter(names_seqs, shape)
        return with_seqs(value, declared, change)
    parts = list(value)
    shapes: Sequence[Shape] = ()
    if isinstance(shape, list):
        shapes = shape * len(parts)
    if isinstance(shape, Row):
        shapes = shape.shapes
    for index, declared in enumerate(shapes):
        part = parts[index]
        changed = with_seqs(part, declared, change)
        parts[index] = changed
    return parts


def _members_with_seqs(
    members: dict[str, Any], fields: dict[Any, Shape], change: Callable[[int], int]
) -> dict[str, Any]:
    """Return an object with each seq in its members changed."""
    shapes: dict[str, Shape] = {}
    for field, shape in fields.items():
        if field is str:
            shapes = dict.fromkeys(members, shape)
            break
        name = field.removesuffix("?")
        shapes[name] = shape
    changed_members = {}
    for name, value in members.items():
        shape = shapes.get(name)
        changed = with_seqs(value, shape, change)
        changed_members[name] = changed
    return changed_members


def body_check(fields: dict[str, Shape]) -> Callable[[Any], str]:
    """Return what tells what is wrong with a body of this shape, '' where nothing is.

    >>> check = body_check({"text": str, "tags?": [str]})
    >>> check({"text": "TTL", "tags": []})
    ''
    >>> check({"tags": [1]})
    "the field 'text' is missing; allowed is a text"
    >>> check({"text": "TTL", "tags": [1]})
    "the field 'tags[0]' is 1; allowed is a text"
    """
    check_whole = _members_check(fields)
    checks = _deep_checks(fields)
    # By the names and types of members that were sound once: the checks of those whose
    # types do not tell all.
    plans: dict[Form, list[tuple[str, Check]]] = {}

    def check(body: Any) -> str:
        names = tuple(body)
        types = tuple(map(type, body.values()))
        form = (names, types)
        plan = plans.get(form)
        if plan is None:
            problem = check_whole(body, "")
            if not problem and len(plans) < _MOST_KEPT:
                plans[form] = [(name, checks[name]) for name in names if name in checks]
            return problem
        for name, check_one in plan:
            if problem := check_one(body[name], name):
                return problem
        return ""

    return check


def _deep_checks(fields: dict[str, Shape]) -> dict[str, Check]:
    """Return by name the checks of the members whose types do not tell all."""
    checks: dict[str, Check] = {}
    for field, shape in fields.items():
        if not _is_plain(shape):
            name = field.removesuffix("?")
            checks[name] = _check_of(shape)
    return checks


def shape_text(shape: Shape) -> str:
    """Return what a shape allows, in words.

    >>> shape_text((str, None)), shape_text([int])
    ('a text or null', 'a list of whole numbers of 64 bits')
    """
    if isinstance(shape, FieldRule):
        return shape.says
    if isinstance(shape, Row):
        texts = [shape_text(part) for part in shape.shapes]
        return f"a list of {', '.join(texts)}"
    if isinstance(shape, tuple):
        return " or ".join(map(shape_text, shape))
    if isinstance(shape, list):
        (part,) = shape
        if part is int:
            return "a list of whole numbers of 64 bits"
        return f"a list, each {shape_text(part)}"
    if isinstance(shape, dict):
        return "an object"
    return _IN_WORDS[shape]


def _is_plain(shape: Shape) -> bool:
    """Return whether the type of a value tells all."""
    shapes = shape if isinstance(shape, tuple) else (shape,)
    for part in shapes:
        # A list or an object is no key of a dictionary.
        if isinstance(part, list | dict | FieldRule | Row):
            return False
        if part is not object and part not in _BY_TYPE:
            return False
    return True


def _check_of(shape: Shape) -> Check:
    """Return the function that checks values against a shape."""
    if isinstance(shape, FieldRule):
        return _rule_check(shape)
    if isinstance(shape, Row):
        return _row_check(shape)
    if isinstance(shape, tuple):
        return _either_check(shape)
    if isinstance(shape, list):
        return _list_check(shape[0])
    if isinstance(shape, dict):
        if str in shape:
            return _values_check(shape[str])
        return _object_check(shape)
    return _type_check(shape)


def _wrong(value: Any, place: str, shape: Shape) -> str:
    shown = repr(value)
    if len(shown) > _SHOWN_CHARACTERS:
        shown = f"{shown[:_SHOWN_CHARACTERS]}…"
    return f"the field {place!r} is {shown}; allowed is {shape_text(shape)}"


def _type_check(shape: Shape) -> Check:
    wanted = type(None) if shape is None else shape
    fits: Callable[[Any], bool]
    if shape is object:
        return _nothing_wrong
    if shape is int:
        fits = _is_whole
    elif shape is float:
        fits = _is_number
    else:

        def fits(value: Any) -> bool:
            return type(value) is wanted

    def check(value: Any, place: str) -> str:
        return "" if fits(value) else _wrong(value, place, shape)

    return check


def _is_whole(value: Any) -> bool:
    return type(value) is int and _LEAST_WHOLE <= value <= _GREATEST_WHOLE


def _is_number(value: Any) -> bool:
    if type(value) is float:
        return -_INFINITE < value < _INFINITE
    return _is_whole(value)


def _nothing_wrong(_value: Any, _place: str) -> str:
    """Any JSON does: a body was read from it, or is about to be written as such."""
    return ""


def _rule_check(rule: FieldRule) -> Check:
    check_shape = _check_of(rule.shape)
    test = rule.test
    # Texts that passed once: names of sources, projects and the like come again and
    # again.
    sound: set[str] = set()

    def check(value: Any, place: str) -> str:
        if type(value) is str and value in sound:
            return ""
        if check_shape(value, place) or not test(value):
            return _wrong(value, place, rule)
        if type(value) is str and len(value) <= _SHOWN_CHARACTERS:
            _keep(sound, value)
        return ""

    return check


def _keep(sound: set[Any], value: Any) -> None:
    """Note what was sound, as long as there is room."""
    if len(sound) < _MOST_KEPT:
        sound.add(value)


def _types_of_plain(shapes: Sequence[Shape]) -> set[type]:
    """Return the types that are allowed whatever the value is.

    They are asked first, and all at once. Each shape that does not fit would make a
    message, which costs more than the check and which nobody reads.
    """
    types: set[type] = set()
    if None in shapes:
        types.add(type(None))
    if str in shapes:
        types.add(str)
    if bool in shapes:
        types.add(bool)
    return types


def _nested_check(shapes: Sequence[Shape]) -> Check | None:
    """Return what checks the first list or object among shapes, where there is one.

    What is wrong inside of it says more than that a value is none of the others.
    """
    for shape in shapes:
        if isinstance(shape, list | dict | Row):
            return _check_of(shape)
    return None


def _either_check(shapes: Sequence[Shape]) -> Check:
    plain_types = _types_of_plain(shapes)
    checks = [_check_of(shape) for shape in shapes]
    check_nested = _nested_check(shapes)

    def check(value: Any, place: str) -> str:
        if type(value) in plain_types:
            return ""
        for check_one in checks:
            if not check_one(value, place):
                return ""
        if check_nested and isinstance(value, list | dict):
            return check_nested(value, place)
        return _wrong(value, place, tuple(shapes))

    return check


def _list_check(shape: Shape) -> Check:
    check_one = _check_of(shape)
    are_sound = _test_of_all(shape)

    def check(values: Any, place: str) -> str:
        if type(values) not in _LISTS:
            return _wrong(values, place, [shape])
        if are_sound is not None and are_sound(values):
            return ""
        for number, value in enumerate(values):
            if check_one(value, place):
                return check_one(value, f"{place}[{number}]")
        return ""

    return check


def _test_of_all(shape: Shape) -> Callable[[Sequence[Any]], bool] | None:
    """Return what says of many values at once that all of them are sound.

    Where it denies that, each is checked. None where each is checked in any case.
    """
    if shape is int:
        return _are_whole
    if shape is str or shape is bool:
        plain = {shape}
        return lambda values: plain.issuperset(map(type, values))
    if not isinstance(shape, Row):
        return None
    for part in shape.shapes:
        if part is not int:
            return None
    width = len(shape.shapes)
    return lambda rows: _are_whole_rows(rows, width)


def _are_whole(values: Sequence[Any]) -> bool:
    """Return whether all values are whole numbers of 64 bits."""
    if not values:
        return True
    if set(map(type, values)) != {int}:
        return False
    least = min(values)
    greatest = max(values)
    if not _is_whole(least):
        return False
    return _is_whole(greatest)


def _are_whole_rows(rows: Sequence[Any], width: int) -> bool:
    """Return whether all rows are lists of so many whole numbers."""
    types = set(map(type, rows))
    if not types <= _LISTS:
        return False
    lengths = set(map(len, rows))
    lengths.discard(width)
    if lengths:
        return False
    numbers = list(chain.from_iterable(rows))
    return _are_whole(numbers)


def _row_check(row: Row) -> Check:
    checks = [_check_of(shape) for shape in row.shapes]
    # The places whose types do not tell all, and the types of rows that were sound
    # once.
    deep = [
        (number, checks[number])
        for number, shape in enumerate(row.shapes)
        if not _is_plain(shape)
    ]
    sound: set[tuple[type, ...]] = set()

    def check(values: Any, place: str) -> str:
        if type(values) not in _LISTS:
            return _wrong(values, place, row)
        types = tuple(map(type, values))
        if types not in sound:
            problem = _row_problem(row, checks, values, place)
            if not problem:
                _keep(sound, types)
            return problem
        for number, check_one in deep:
            if check_one(values[number], place):
                return check_one(values[number], f"{place}[{number}]")
        return ""

    return check


def _row_problem(
    row: Row, checks: Sequence[Check], values: Sequence[Any], place: str
) -> str:
    """Return what is wrong with a row, by all checks of its places."""
    if len(values) < len(checks):
        return _wrong(values, place, row)
    for number, check_one in enumerate(checks):
        problem = check_one(values[number], f"{place}[{number}]")
        if problem:
            return problem
    return ""


def _values_check(shape: Shape) -> Check:
    check_one = _check_of(shape)

    def check(values: Any, place: str) -> str:
        if not isinstance(values, dict):
            return _wrong(values, place, {str: shape})
        for name, value in values.items():
            problem = check_one(value, f"{place}.{name}")
            if problem:
                return problem
        return ""

    return check


def _object_check(shape: dict[str, Shape]) -> Check:
    check_members = _members_check(shape)

    def check(value: Any, place: str) -> str:
        if not isinstance(value, dict):
            return _wrong(value, place, shape)
        return check_members(value, f"{place}.")

    return check


def _members_check(shape: dict[str, Shape]) -> Check:
    """Return what checks the members of a value that is an object already.

    The `place` that it is called with is what stands before their names.
    """
    members = []
    # Those that are needed come first.
    for field in sorted(shape, key=_is_optional):
        member = shape[field]
        name = field.removesuffix("?")
        members.append((name, _check_of(member), member, _is_optional(field)))

    def check(value: Any, place: str) -> str:
        for name, check_one, member, is_optional in members:
            if name in value:
                problem = check_one(value[name], place + name)
                if problem:
                    return problem
            elif not is_optional:
                allowed = shape_text(member)
                return f"the field {place + name!r} is missing; allowed is {allowed}"
        return ""

    return check


def _is_optional(field: str) -> bool:
    """Return whether a member of an object may be left out."""
    return field.endswith("?")
