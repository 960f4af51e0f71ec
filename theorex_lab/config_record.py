"""Records of settings: plain objects that start fast; pydantic is loaded only to check values that were handed in.

The method names are those of a pydantic model; a record is its light counterpart.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import copy
from typing import Any, ClassVar, NamedTuple, NoReturn, Self, dataclass_transform

REQUIRED: Any = object()


class Tunable(NamedTuple):
    """One field: its default (REQUIRED where it must be given), what it is, its unit, pydantic's bounds on it, and the
    record that its values are made of, where they are."""

    default: Any
    what: str = ""
    unit: str = ""
    bounds: Mapping[str, Any] = {}
    inner: type[SettingsRecord] | None = None
    annotation: str = ""


def tunable(default: Any = REQUIRED, what: str = "", unit: str = "", *, inner: Any = None, **bounds: Any) -> Any:
    """A field of a record; `unit` and `what` are shown by `theorex config`."""
    return Tunable(default, what, unit, bounds, inner)


@dataclass_transform(kw_only_default=True, frozen_default=True)
class SettingsRecord:
    """Base of a record: subclasses annotate their fields, and give each but the required ones a `tunable`.

    `SettingsRecord(**values)` checks the values, under snake_case or camelCase names; it raises ConfigError naming all
    that is wrong. Records never change, and are equal where all their values are.
    """

    tunables: ClassVar[dict[str, Tunable]]
    model_fields_set: frozenset[str]  # names of the fields that were given, rather than left at their defaults

    def __init_subclass__(cls) -> None:
        fields = {name: vars(cls).get(name, Tunable(REQUIRED)) for name in cls.__annotations__}
        found = {name: field for name, field in fields.items() if isinstance(field, Tunable)}
        cls.tunables = {name: field._replace(annotation=cls.__annotations__[name]) for name, field in found.items()}

    def __init__(self, **values: Any) -> None:
        if values or any(tunable.default is REQUIRED for tunable in self.tunables.values()):
            from theorex_lab.config_schema import validated

            values = validated(type(self), values)
        self._take(values)

    @classmethod
    def of_checked(cls, given: Mapping[str, Any]) -> Self:
        """From values that were checked before: plain data under snake_case names, as `config_schema.validated` returns."""
        record = cls.__new__(cls)
        record._take(given)
        return record

    def _take(self, given: Mapping[str, Any]) -> None:
        held = vars(self)
        for name, field in self.tunables.items():
            own = copy(field.default)  # so that no record can change another's
            held[name] = _built(field.inner, given[name]) if name in given else own
        held["model_fields_set"] = frozenset(given)

    def is_set(self, name: str) -> bool:
        """Whether a field was given, rather than left at its default."""
        return name in self.model_fields_set

    def source(self, name: str) -> str:
        """Where a value comes from: `config.json` or `default`."""
        return "config.json" if self.is_set(name) else "default"

    def model_copy(self, *, update: Mapping[str, Any]) -> Self:
        """The same with other values, which are not checked and count as given."""
        copy = type(self).__new__(type(self))
        vars(copy).update({**vars(self), **update, "model_fields_set": self.model_fields_set | set(update)})
        return copy

    def model_dump(self, *, by_alias: bool = False, exclude_unset: bool = False,
                   include: Collection[str] | None = None) -> dict[str, Any]:  # fmt: skip
        """The values as JSON holds them; with `by_alias` under camelCase names."""
        held = self.model_fields_set if exclude_unset else self.tunables
        names = [name for name in self.tunables if name in held and (include is None or name in include)]
        values = (dumped(getattr(self, name), by_alias, exclude_unset) for name in names)
        return dict(zip(map(to_camel, names) if by_alias else names, values, strict=True))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(getattr(other, name) == getattr(self, name) for name in self.tunables)

    __hash__ = None  # type: ignore[assignment]

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"got {name} to set; a {type(self).__name__} never changes: use model_copy(update=...)")

    def __repr__(self) -> str:
        given = (f"{name}={getattr(self, name)!r}" for name in self.tunables if name in self.model_fields_set)
        return f"{type(self).__name__}({', '.join(given)})"


def to_camel(name: str) -> str:
    """A snake_case name as config.json spells it.

    >>> to_camel("half_life_days")
    'halfLifeDays'
    """
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def to_snake(key: str) -> str:
    """A camelCase or snake_case name as attributes are spelt.

    >>> to_snake("halfLifeDays")
    'half_life_days'
    """
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)


def _built(inner: type[SettingsRecord] | None, value: Any) -> Any:
    """The value, its parts made into the records that they stand for."""
    if inner is None:
        return value
    if isinstance(value, dict):
        return {name: inner.of_checked(part) for name, part in value.items()}
    return [inner.of_checked(part) for part in value]


def dumped(value: Any, by_alias: bool, exclude_unset: bool) -> Any:
    """The value with each record in it as what `model_dump` gives of it."""
    if isinstance(value, SettingsRecord):
        return value.model_dump(by_alias=by_alias, exclude_unset=exclude_unset)
    if isinstance(value, dict):
        return {name: dumped(part, by_alias, exclude_unset) for name, part in value.items()}
    return [dumped(part, by_alias, exclude_unset) for part in value] if isinstance(value, list) else value
