"""Ranges by hand."""

import math

import numpy as np
import pytest

from mvl.checks import COUNT, FRACTION, INSIDE_UNIT, NOT_NEGATIVE, POSITIVE, SEED, UNIT, Range
from mvl.errors import UsageError


@pytest.mark.parametrize(
    ("allowed", "inside", "outside", "words"),
    [
        (COUNT, [1, 10**20, np.int64(3)], [0, -1, 1.0, True, "1", math.nan], "a whole number of at least 1"),
        (SEED, [0, 2**32 - 1], [-1, 2**32], "a whole number of at least 0 and at most 4294967295"),
        (NOT_NEGATIVE, [0, 0.0, 3, np.float32(0.1)], [-1e-9, math.nan, math.inf, None], "a number of at least 0"),
        (POSITIVE, [1e-300], [0, -1.0], "a number above 0"),
        (UNIT, [0, 1], [-0.1, 1.1, math.nan], "a number of at least 0 and at most 1"),
        (FRACTION, [0.1, 1], [0, 1.1], "a number above 0 and at most 1"),
        (INSIDE_UNIT, [0.5], [0, 1, math.nan], "a number above 0 and below 1"),
    ],
)
def test_ranges(allowed: Range, inside, outside, words):
    assert all(value in allowed for value in inside)
    assert not any(value in allowed for value in outside)
    assert str(allowed) == words


def test_none_is_a_default_and_passes():
    COUNT.check(workers=None, seeds=1)
    with pytest.raises(UsageError, match="^seeds must be a whole number of at least 1, not 0.$"):
        COUNT.check(workers=None, seeds=0)
