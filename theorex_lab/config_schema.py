"""The check of settings: pydantic models built from the fields of `config`. Imported only where something is checked."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from theorex_lab import config
from theorex_lab.config import ModelTier, PresetName, QueryType, Weight
from theorex_lab.config_record import REQUIRED, SettingsRecord, dumped, to_camel, to_snake
from theorex_lab.errors import ConfigError

_STRICT = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", strict=True, allow_inf_nan=False)


_MODELS: dict[type[SettingsRecord], type[BaseModel]] = {}


def _model(kind: type[SettingsRecord]) -> type[BaseModel]:
    """The pydantic model of a record; annotations are texts, which pydantic reads among the names of this module."""
    if kind not in _MODELS:
        fields: dict[str, Any] = {name: (held.annotation, Field(... if held.default is REQUIRED else None, **held.bounds))
                                  for name, held in kind.tunables.items()}  # fmt: skip
        _MODELS[kind] = create_model(kind.__name__, __config__=_STRICT, __module__=__name__, **fields)
    return _MODELS[kind]


# Names that annotations use; those of the records inside another stand here for their pydantic models.
_NAMES = (Literal, PresetName, QueryType, ModelTier, Weight)
ModelSettings = _model(config.ModelSettings)
RoleSettings = _model(config.RoleSettings)


def validated(kind: type[SettingsRecord], values: Mapping[str, Any], *, where: str = "settings") -> dict[str, Any]:
    """The values of a record, under snake_case names, as plain data; those not given are not in it.

    `values` may be under camelCase or snake_case names and may hold records. Raises ConfigError naming all that is
    wrong, each with its value and what is allowed.
    """
    _check_spelt_once(kind, values, where)
    try:
        checked = _model(kind).model_validate({name: dumped(value, False, True) for name, value in values.items()})
    except ValidationError as error:
        complaints = (_complaint(kind, dict(item)) for item in error.errors())
        raise ConfigError(f"{where}: {'; '.join(complaints)}") from error
    return checked.model_dump(exclude_unset=True)


def allowed(kind: type[SettingsRecord], name: str) -> str:
    """The range of a field in words."""
    schema = _model(kind).model_json_schema(by_alias=False)["properties"][name]
    if "enum" in schema:
        return " | ".join(schema["enum"])
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    if low is None:
        return " or ".join(str(kind.get("type", "any")) for kind in schema.get("anyOf", [schema]))
    return f"{'above ' if 'exclusiveMinimum' in schema else ''}{low} to {high}"


def _check_spelt_once(kind: type[SettingsRecord], values: Mapping[str, Any], where: str) -> None:
    """Raises ConfigError where a key stands there as camelCase and as snake_case, here or in a record inside."""
    names = {to_snake(key): key for key in values}
    if len(names) < len(values):
        twice = next(key for key in values if names[to_snake(key)] != key)
        raise ConfigError(f"{where}: {twice} stands there twice, also as {names[to_snake(twice)]}; keep one of them")
    for key, value in values.items():
        field = kind.tunables.get(to_snake(key))
        if field is not None and field.inner is not None:
            parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
            for name, part in parts:
                if isinstance(part, dict):
                    _check_spelt_once(field.inner, part, f"{where}: {key}.{name}")


def _complaint(kind: type[SettingsRecord], item: dict[str, Any]) -> str:
    key = ".".join(str(part) for part in item["loc"])
    field = kind.tunables.get(to_snake(str(item["loc"][0])))
    inner = field.inner if field is not None and len(item["loc"]) > 1 else None
    if item["type"] == "extra_forbidden":
        near = config.nearest_key(str(item["loc"][-1]), inner or kind)
        return f"{key} is {item['input']!r}, but there is no such setting; the nearest is {near}"
    if inner is not None or item["type"] == "missing":
        return f"{key}: {item['msg'].lower()}; got {item['input']!r}"
    name = to_snake(str(item["loc"][0]))
    return f"{key} is {item['input']!r}; allowed is {allowed(kind, name)} ({item['msg'].lower()})"
