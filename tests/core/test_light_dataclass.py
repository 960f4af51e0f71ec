"""Light dataclasses do what those of the standard library do."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from typing import Any

import pytest

from theorex_lab.core import settings
from theorex_lab.core.light_dataclass import dataclass as light
from theorex_lab.memory import contract, observation
from theorex_lab.search import items

# Type checkers take both for one; here each test is asked of both.
DECORATORS = {"standard": dataclasses.dataclass, "light": light}
Decorator = Callable[..., Callable[[type], Any]]


@pytest.fixture(params=DECORATORS)
def decorator(request: pytest.FixtureRequest) -> Any:
    """A decorator."""
    return DECORATORS[request.param]


@light(frozen=True)
class Till:
    """A till."""

    name: str
    lanes: int = 1
    notes: list[str] = field(default_factory=list)
    place: str = field(default="", compare=False, repr=False)


@dataclasses.dataclass(frozen=True)
class StandardTill:
    """The same till, as the standard library makes it."""

    name: str
    lanes: int = 1
    notes: list[str] = field(default_factory=list)
    place: str = field(default="", compare=False, repr=False)


def _till(decorator: Decorator, **options: bool) -> Any:
    """Return a class with a field of each kind."""

    class Counter:
        """A counter."""

        name: str
        lanes: int = 1
        notes: tuple[str, ...] = field(default_factory=tuple)

    return decorator(frozen=True, **options)(Counter)


def test_fields_come_by_position_and_by_name(decorator: Decorator) -> None:
    counter = _till(decorator)
    for record in (counter("a", 2), counter(name="a", lanes=2), counter("a", lanes=2)):
        assert vars(record) == {"name": "a", "lanes": 2, "notes": ()}
        assert list(vars(record)) == ["name", "lanes", "notes"]


def test_a_default_is_made_anew() -> None:
    first = Till("a")
    assert first.notes == []
    assert first.notes is not Till("a").notes


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ((), {}),
        ((), {"lanes": 2}),
        (("a",), {"name": "b"}),
        (("a",), {"unknown": 1}),
        (("a", 1, (), 2), {}),
        (("a", 1, (), 2), {"name": "b"}),
    ],
)
def test_wrong_values_are_refused(
    decorator: Decorator, args: tuple[Any, ...], named: dict[str, Any]
) -> None:
    counter = _till(decorator)
    with pytest.raises(TypeError, match="Counter"):
        counter(*args, **named)


@pytest.mark.parametrize(
    ("args", "named", "words"),
    [
        ((), {}, r"Till\(\) missing 1 required argument\(s\): 'name'"),
        (("a",), {"name": "b"}, "multiple values for argument 'name'"),
        (("a",), {"x": 1}, "unexpected keyword argument 'x'"),
        (("a", 1, [], "", 5), {}, "got 5; allowed are 4 values by position"),
    ],
)
def test_an_error_says_what_is_wrong(
    args: tuple[Any, ...], named: dict[str, Any], words: str
) -> None:
    make: Any = Till
    with pytest.raises(TypeError, match=words):
        make(*args, **named)


def test_fields_by_name_alone(decorator: Decorator) -> None:
    counter = _till(decorator, kw_only=True)
    assert counter(lanes=3, name="a").lanes == 3
    with pytest.raises(TypeError):
        counter("a")


def test_an_instance_cannot_be_changed(decorator: Decorator) -> None:
    record = _till(decorator)("a")
    for name in ("name", "other"):
        with pytest.raises(FrozenInstanceError, match="cannot assign to field"):
            setattr(record, name, 1)
        with pytest.raises(FrozenInstanceError, match="cannot delete field"):
            delattr(record, name)


def test_a_plain_subclass_has_attributes_of_its_own(decorator: Decorator) -> None:
    subclass: Any = type("Special", (_till(decorator),), {})
    record = subclass("a")
    record.colour = "red"
    del record.colour
    with pytest.raises(FrozenInstanceError):
        record.name = "b"


def test_equality_and_hash(decorator: Decorator) -> None:
    counter = _till(decorator)
    assert counter("a") == counter("a", 1)
    assert counter("a") != counter("b")
    assert counter("a") != "a"
    assert hash(counter("a")) == hash(counter("a", 1))
    by_identity = _till(decorator, eq=False)
    assert by_identity("a") != by_identity("a")
    assert by_identity.__hash__ is object.__hash__


def test_a_field_may_be_left_out_of_equality_and_repr() -> None:
    assert Till("a", place="here") == Till("a", place="there")
    assert repr(Till("a", place="here")) == "Till(name='a', lanes=1, notes=[])"
    with pytest.raises(TypeError, match="unhashable"):
        hash(Till("a"))


def test_own_methods_stay(decorator: Decorator) -> None:
    class Lane:
        """A lane."""

        number: int

        def __repr__(self) -> str:
            return "a lane"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

    lane = decorator(frozen=True)(Lane)
    assert repr(lane(1)) == "a lane"
    assert lane(1) == lane(2)
    assert hash(lane(1)) == 7


def test_an_own_equality_gets_a_hash_of_the_fields(decorator: Decorator) -> None:
    class Lane:
        """A lane."""

        number: int

        def __eq__(self, other: object) -> bool:
            return True

    lane = decorator(frozen=True)(Lane)
    assert hash(lane(1)) == hash((1,))


def test_a_repr_of_itself_ends(decorator: Decorator) -> None:
    notes: list[Any] = []
    record = _till(decorator)("a", notes=notes)
    notes.append(record)
    assert "..." in repr(record)


def test_a_check_sees_all_fields(decorator: Decorator) -> None:
    class Lane:
        """A lane."""

        number: int = 0

        def __post_init__(self) -> None:
            if self.number < 0:
                raise ValueError("below 0")

    lane = decorator(frozen=True)(Lane)
    assert lane(1).number == 1
    with pytest.raises(ValueError, match="below 0"):
        lane(-1)


def test_a_subclass_has_more_fields(decorator: Decorator) -> None:
    base = _till(decorator)

    class Special(base):
        """A special one."""

        lanes: int = 5
        colour: str = "red"

    special = decorator(frozen=True)(Special)
    record = special("a")
    assert list(vars(record)) == ["name", "lanes", "notes", "colour"]
    assert record.lanes == 5
    assert record != base("a", 5)


def test_what_the_standard_library_does_with_dataclasses() -> None:
    record = Till("a", notes=["open"])
    assert [field.name for field in fields(record)] == [
        "name",
        "lanes",
        "notes",
        "place",
    ]
    assert replace(record, lanes=4) == Till("a", 4, ["open"])
    assert asdict(record)["notes"] == ["open"]
    assert dataclasses.is_dataclass(record)
    for twin in (
        copy.copy(record),
        copy.deepcopy(record),
        pickle.loads(pickle.dumps(record)),
    ):
        assert twin == record
        assert vars(twin) == vars(record)
    match record:
        case Till(name, lanes):
            assert (name, lanes) == ("a", 1)


def test_the_signature_is_that_of_the_standard_library() -> None:
    standard = str(inspect.signature(StandardTill))
    expected = standard.replace("<factory>", "...")
    assert str(inspect.signature(Till)) == expected
    assert "notes: list[str] = ..." in expected
    of_light = inspect.signature(_till(light, kw_only=True))
    of_standard = inspect.signature(_till(dataclasses.dataclass, kw_only=True))
    assert str(of_light) == str(of_standard).replace("<factory>", "...")


def test_what_is_not_done_here_is_refused() -> None:
    with pytest.raises(TypeError, match="standard library"):
        light(frozen=False)
    for wrong in (field(default=1, init=False), field(default=1, hash=True)):
        members = {"__annotations__": {"number": int}, "number": wrong}
        with pytest.raises(TypeError, match="number with init or hash"):
            light(frozen=True)(type("Lane", (), members))


def test_a_field_without_a_default_stands_first(decorator: Decorator) -> None:
    members = {"__annotations__": {"lanes": int, "name": str}, "lanes": 1}
    with pytest.raises(TypeError, match="name"):
        decorator(frozen=True)(type("Lane", (), members))


def test_no_code_is_written_for_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    sources: list[str] = []

    def note(source: str, *scopes: dict[str, Any]) -> None:
        sources.append(source)
        exec(source, *scopes)

    monkeypatch.setattr(dataclasses, "exec", note, raising=False)
    _till(light)
    assert not any("lanes" in source for source in sources)
    _till(dataclasses.dataclass)
    assert any("lanes" in source for source in sources)


def test_what_every_command_imports_is_made_so() -> None:
    for module in (settings, contract, items, observation):
        for value in vars(module).values():
            if isinstance(value, type) and dataclasses.is_dataclass(value):
                assert hasattr(value, "__light_form__"), value
