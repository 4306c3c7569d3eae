"""Numeric ranges of settings and arguments; a value outside its range raises a one-sentence UsageError."""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from mvl.errors import UsageError


@dataclass(frozen=True)
class Range:
    """Finite numbers from `low` to `high`."""

    low: float
    high: float = math.inf
    above: bool = False
    """Whether `low` itself is excluded."""
    below: bool = False
    """Whether `high` itself is excluded."""
    whole: bool = False
    """Whether only integers are allowed."""

    def __contains__(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            return False
        number: Any = value
        high_enough = number > self.low if self.above else number >= self.low  # false for nan
        low_enough = number < self.high if self.below or math.isinf(self.high) else number <= self.high
        return bool(high_enough and low_enough)

    def __str__(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        least = f"above {self.low}" if self.above else f"of at least {self.low}"
        if math.isinf(self.high):
            return f"{kind} {least}"
        return f"{kind} {least} and {'below' if self.below else 'at most'} {self.high}"

    def check(self, **values: Any) -> None:
        """Raise if one of the values, given by name, is outside the range; None stands for a default and is accepted."""
        for name, value in values.items():
            if value is not None and value not in self:
                raise UsageError(f"{name} must be {self}, not {value}.")


COUNT = Range(1, whole=True)
NATURAL = Range(0, whole=True)
SEED = Range(0, 2**32 - 1, whole=True)
"""Seeds are stored as 32-bit numbers."""
NOT_NEGATIVE = Range(0)
POSITIVE = Range(0, above=True)
UNIT = Range(0, 1)
FRACTION = Range(0, 1, above=True)
INSIDE_UNIT = Range(0, 1, above=True, below=True)


def check_settings(thing: Any, **ranges: Range) -> None:
    """Raise if a setting (a field of the dataclass `thing`) is outside its range; of a tuple, every element is checked."""
    for name, allowed in ranges.items():
        value = getattr(thing, name)
        for number in value if isinstance(value, tuple | list) else (value,):
            if number not in allowed:
                raise UsageError(f"{type(thing).__name__}.{name} must be {allowed}, not {number}.")
