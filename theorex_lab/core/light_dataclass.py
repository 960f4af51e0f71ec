"""Frozen dataclasses whose class is made in a twentieth of the time.

The decorator of the standard library writes and compiles code for each class, which
takes it about a millisecond. Every command of ours is a process of its own that makes
dozens of classes, and calls few of them. Here all classes share the same methods,
which look up the fields when they are called. `fields`, `replace`, `asdict` and `copy`
work as they do with any dataclass, and type checkers take one for the other.

To make a small instance takes up to twice as long here, and to compare two some ten
times as long. So a class of very many instances, which has slots, takes the decorator
of the standard library.
"""

from __future__ import annotations

import dataclasses
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from inspect import Signature

__all__ = ["dataclass"]

_FORM = "__light_form__"
_MISSING = dataclasses.MISSING


class _Form(NamedTuple):
    """What the shared methods know of a class.

    Attributes:
        owner: The class.
        template: By field its default, `MISSING` where it has none or a new one is made.
        positional: The fields that may be given by position, in order.
        factories: By field what makes its default.
        required: The fields without a default.
        compared: The fields by which instances are equal and have one hash.
        is_checked: Whether the class has a `__post_init__`.
    """

    owner: type
    template: Mapping[str, Any]
    positional: tuple[str, ...]
    factories: Mapping[str, Callable[[], Any]]
    required: tuple[str, ...]
    compared: tuple[str, ...]
    is_checked: bool


def _light_dataclass(
    *,
    frozen: bool,
    eq: bool = True,
    repr: bool = True,
    kw_only: bool = False,
) -> Callable[[type], type]:
    """Return what makes a class a frozen dataclass; see `dataclasses.dataclass`.

    Args:
        frozen: It is to be true: others are made by the standard library.
        eq: Whether instances are equal whose fields are, and have a hash of them.
        repr: Whether the class gets a repr of its fields.
        kw_only: Whether fields are given by name alone.

    Raises:
        TypeError: The class is not to be frozen, a field has `init` or `hash`, or one
            without a default follows one with a default.
    """
    if not frozen:
        raise TypeError("got frozen=False; take the dataclass of the standard library")
    names = ["__init__", "__setattr__", "__delattr__"]
    if repr:
        names.append("__repr__")
    if eq:
        names.append("__eq__")

    def decorate(cls: type) -> type:
        # It notes the fields and writes no code.
        note_fields = dataclasses.dataclass(
            init=False,
            repr=False,
            eq=False,
            kw_only=kw_only,
        )
        made: type = note_fields(cls)
        setattr(made, _FORM, _form_of(made))
        for name in names:
            if name not in made.__dict__:
                setattr(made, name, _METHODS[name])
        # A class that has an equality of its own has None in its place.
        if eq and made.__dict__.get("__hash__") is None:
            setattr(made, "__hash__", _hash)  # noqa: B010 - mypy refuses the other form
        setattr(made, "__signature__", _SIGNATURE)  # noqa: B010
        return made

    return decorate


def _form_of(cls: type) -> _Form:
    """Return what the shared methods are to know of a class."""
    template: dict[str, Any] = {}
    positional: list[str] = []
    factories: dict[str, Callable[[], Any]] = {}
    required: list[str] = []
    compared: list[str] = []
    for field in dataclasses.fields(cls):
        _check_field(field)
        template[field.name] = field.default
        if field.default_factory is not _MISSING:
            factories[field.name] = field.default_factory
        elif field.default is _MISSING:
            required.append(field.name)
        if not field.kw_only:
            positional.append(field.name)
        if field.compare:
            compared.append(field.name)
    _check_order(cls, positional, required)
    return _Form(
        owner=cls,
        template=template,
        positional=tuple(positional),
        factories=factories,
        required=tuple(required),
        compared=tuple(compared),
        is_checked=hasattr(cls, "__post_init__"),
    )


def _check_field(field: dataclasses.Field[Any]) -> None:
    """Refuse what the shared methods do not look at."""
    if not field.init or field.hash is not None:
        raise TypeError(
            f"got the field {field.name} with init or hash; allowed are default,"
            " default_factory, repr, compare, metadata and kw_only"
        )


def _check_order(cls: type, positional: list[str], required: list[str]) -> None:
    """Refuse a field without a default behind one with a default."""
    previous = ""
    for name in positional:
        if name not in required:
            previous = name
        elif previous:
            raise TypeError(
                f"{cls.__name__} has the field {name} without a default behind"
                f" {previous}, which has one; change their order"
            )


def _init(self: Any, /, *args: Any, **named: Any) -> None:
    """Set the fields; see the class."""
    form: _Form = getattr(type(self), _FORM)
    values = dict(form.template)
    if args:
        by_position = form.positional[: len(args)]
        if len(args) > len(by_position) or not named.keys().isdisjoint(by_position):
            raise TypeError(_mistake(form, args, named))
        values.update(zip(by_position, args, strict=True))
    values.update(named)
    if len(values) > len(form.template):
        raise TypeError(_mistake(form, args, named))
    for name in form.required:
        if values[name] is _MISSING:
            raise TypeError(_mistake(form, args, named))
    for name, make_default in form.factories.items():
        if values[name] is _MISSING:
            values[name] = make_default()
    self.__dict__.update(values)
    if form.is_checked:
        self.__post_init__()


def _mistake(form: _Form, args: tuple[Any, ...], named: Mapping[str, Any]) -> str:
    """Return what is wrong with the values that an instance was to be made of."""
    called = f"{form.owner.__qualname__}()"
    by_position = form.positional[: len(args)]
    if len(args) > len(by_position):
        allowed = f"{len(by_position)} values by position"
        return f"{called} got {len(args)}; allowed are {allowed}"
    for name in named:
        if name in by_position:
            return f"{called} got multiple values for argument {name!r}"
        if name not in form.template:
            return f"{called} got an unexpected keyword argument {name!r}"
    given_names = {*by_position, *named}
    missing = [repr(name) for name in form.required if name not in given_names]
    listed = ", ".join(missing)
    return f"{called} missing {len(missing)} required argument(s): {listed}"


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    """Refuse to change an instance."""
    if _is_frozen(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_to_delete(self: Any, name: str) -> None:
    """Refuse to change an instance."""
    if _is_frozen(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _is_frozen(record: Any, name: str) -> bool:
    """Return whether an attribute cannot be changed.

    A subclass that is no dataclass may have attributes of its own.
    """
    form: _Form = getattr(type(record), _FORM)
    return form.owner is type(record) or name in form.template


@recursive_repr()
def _repr(self: Any) -> str:
    """Return the class and its fields."""
    parts: list[str] = []
    for field in dataclasses.fields(self):
        if field.repr:
            value = getattr(self, field.name)
            parts.append(f"{field.name}={value!r}")
    listed = ", ".join(parts)
    return f"{type(self).__qualname__}({listed})"


def _is_equal(self: Any, other: object) -> Any:
    """Return whether another one is of the same class and has equal fields."""
    if other.__class__ is not self.__class__:
        return NotImplemented
    form: _Form = getattr(type(self), _FORM)
    return _values(self, form.compared) == _values(other, form.compared)


def _hash(self: Any) -> int:
    """Return a hash of the fields."""
    form: _Form = getattr(type(self), _FORM)
    return hash(_values(self, form.compared))


def _values(record: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
    """Return the values of these fields."""
    return tuple([getattr(record, name) for name in names])


class _Factory:
    """Stands in a signature for a default that is new each time.

    It is shown as in a stub file: what the standard library shows, `<factory>`, is no
    Python, and documentation of many parameters could not be made of it.
    """

    def __repr__(self) -> str:
        return "..."


class _SignatureOfFields:
    """What a class is called with, made where somebody asks for it."""

    def __get__(self, instance: Any, cls: type) -> Signature:
        from inspect import Parameter, Signature

        form: _Form = getattr(cls, _FORM)
        types = _types_of(cls)
        parameters: list[Parameter] = []
        for field in dataclasses.fields(cls):
            default = field.default
            if field.name in form.factories:
                default = _Factory()
            elif default is _MISSING:
                default = Parameter.empty
            parameter = Parameter(
                field.name,
                Parameter.POSITIONAL_OR_KEYWORD,
                default=default,
                annotation=types.get(field.name, field.type),
            )
            if field.kw_only:
                parameter = parameter.replace(kind=Parameter.KEYWORD_ONLY)
            parameters.append(parameter)
        parameters.sort(key=lambda parameter: parameter.kind)
        return Signature(parameters, return_annotation=None)


def _types_of(cls: type) -> dict[str, Any]:
    """Return the types of fields; none where one is known to type checkers alone."""
    try:
        return get_type_hints(cls)
    except NameError:
        return {}


_SIGNATURE = _SignatureOfFields()
_METHODS: Mapping[str, Callable[..., Any]] = {
    "__init__": _init,
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__repr__": _repr,
    "__eq__": _is_equal,
}

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _light_dataclass
