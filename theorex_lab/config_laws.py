"""The parameters of the decay laws with their ranges: what `memory.decay` computes with and what config.json may say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from theorex_lab.errors import InvalidInput

DEFAULT_HALF_LIFE_DAYS = 14.0


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


HALF_LIFE = Parameter(DEFAULT_HALF_LIFE_DAYS, 0.01, 36_500.0, "days")
_SATURATION = Parameter(100.0, 1.0, 1e9, "mentions")


def _weight(default: float) -> Parameter:
    return Parameter(default, 0.0, 1_000.0)


LAW_PARAMETERS: dict[str, dict[str, Parameter]] = {
    "product": {"half_life_days": HALF_LIFE},
    "weighted_sum": {
        "half_life_days": HALF_LIFE,
        "recency_weight": Parameter(0.40, 0.0, 1.0),
        "count_weight": Parameter(0.35, 0.0, 1.0),
        "link_weight": Parameter(0.25, 0.0, 1.0),
        "saturation_count": _SATURATION,
    },
    "power": {
        "exponent": Parameter(0.5, 0.1, 1.0),
        "logistic_midpoint": Parameter(-1.293, -100.0, 100.0),
        "logistic_slope": Parameter(2.86, 0.0, 100.0),
    },
    "constant": {"level": Parameter(0.5, 0.0, 1.0)},
    "recency": {"half_life_days": HALF_LIFE},
    "frequency": {"saturation_count": _SATURATION},
    "multi_scale": {
        "weight_0_1_days": _weight(2.0),
        "weight_0_5_days": _weight(0.3),
        "weight_2_days": _weight(0.4),
        "weight_7_days": _weight(0.5),
        "weight_30_days": _weight(0.4),
        "weight_120_days": _weight(0.2),
        "weight_count": _weight(0.0),
        "weight_new": _weight(0.3),
        "weight_linked": _weight(0.3),
        "weight_group": _weight(0.0),
        "logistic_midpoint": Parameter(0.55, -1_000.0, 1_000.0),
        "logistic_slope": Parameter(3.0, 0.0, 100.0),
    },
}


def check_params(law: str, allowed: Mapping[str, Parameter], given: Mapping[str, Any]) -> None:
    """Raises InvalidInput naming every parameter that `law` does not have, and every value outside its range."""
    wrong = []
    for name, value in given.items():
        spec = allowed.get(name)
        if spec is None:
            wrong.append(f"{name} = {value!r} (allowed names: {', '.join(allowed) or 'none'})")
        elif isinstance(value, bool) or not isinstance(value, Real):
            wrong.append(f"{name} = {value!r} (allowed: a number, {spec.allowed})")
        elif not spec.low <= float(value) <= spec.high:
            wrong.append(f"{name} = {value!r} (allowed: {spec.allowed})")
    if wrong:
        raise InvalidInput(f"law {law!r} got {'; '.join(wrong)}")
