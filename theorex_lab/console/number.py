"""Numbers of options: what is out of range is wrong usage (exit code 2), whichever command is given it."""

import math
from typing import Any

import click

RESULTS = click.IntRange(1, 1_000)  # as memory.retrieve.MAX_RESULTS, whose module imports numpy
TOKENS = click.IntRange(min=0)
CONCEPT_ID = click.IntRange(0, (1 << 53) - 1)


class NumberType(click.FloatRange):
    """A number in a range; NaN, which no comparison refuses, is refused too."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return found


PERCENT = NumberType(0, 100)
DAYS = NumberType(min=0, min_open=True, max=36_500)
LEASE_SECONDS = NumberType(min=0, min_open=True, max=864_000)  # as dispatch.tasks.MAX_LEASE_SECONDS
