"""The parameters of the decay laws with their ranges: what `memory.decay` computes with and what config.json may say."""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from theorex_lab.errors import InvalidInput
from theorex_lab.text.sections import read_sections


@dataclass(frozen=True)
class Parameter:
    """A law's parameter: its default, the range allowed (bounds inclusive) and its unit."""

    default: float
    low: float
    high: float
    unit: str = ""

    @property
    def allowed(self) -> str:
        """The range in words."""
        return f"{self.low:g} to {self.high:g} {self.unit}".rstrip()


# By law, in `config_laws.txt`.
_LAWS = map(str.splitlines, read_sections(__file__, "config_laws.txt")["laws"].split("\n\n"))
LAW_PARAMETERS = {
    law: {name: Parameter(float(at), float(low), float(high), *unit) for name, at, low, high, *unit in map(str.split, lines)}
    for law, *lines in _LAWS}  # fmt: skip
DEFAULT_HALF_LIFE_DAYS = LAW_PARAMETERS["product"]["half_life_days"].default


def check_params(law: str, allowed: Mapping[str, Parameter], given: Mapping[str, Any]) -> None:
    """Raises InvalidInput naming every parameter that `law` does not have, and every value outside its range."""
    wrong = []
    for name, value in given.items():
        if (spec := allowed.get(name)) is None:
            wrong.append(f"{name} = {value!r} (allowed names: {', '.join(allowed) or 'none'})")
        elif isinstance(value, bool) or not isinstance(value, Real):
            wrong.append(f"{name} = {value!r} (allowed: a number, {spec.allowed})")
        elif not spec.low <= float(value) <= spec.high:
            wrong.append(f"{name} = {value!r} (allowed: {spec.allowed})")
    if wrong:
        raise InvalidInput(f"law {law!r} got {'; '.join(wrong)}")
