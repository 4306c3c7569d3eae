import re

import numpy as np
import pytest

from mvl.report.charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Series, curves, success_mark
from mvl.results.statistics import estimate

STEPS = np.array([500.0, 1000.0])


def points(svg: str, kind: str) -> np.ndarray:
    (text,) = re.findall(rf'class="{kind} c0" points="([^"]*)"', svg)
    return np.array([pair.split(",") for pair in text.split()], float)


def test_a_line_runs_through_its_means():
    """Success on a fixed scale: half way at half the height, the last step at the right edge."""
    svg = curves("success", [Series("run", "c0", STEPS, np.array([[0.0, 1.0], [1.0, 1.0]]))], (0.0, 1.0))
    middle = LEFT + (WIDTH - LEFT - RIGHT) / 2
    assert points(svg, "line") == pytest.approx(np.array([[middle, (TOP + HEIGHT - BOTTOM) / 2], [WIDTH - RIGHT, TOP]]))
    band = points(svg, "band")  # along the upper edge, then back along the lower one
    assert band[0] == pytest.approx((middle, TOP))
    assert band[-1] == pytest.approx((middle, HEIGHT - BOTTOM))
    assert 'aria-label="success over steps: run ends at 1"' in svg


def test_one_seed_has_no_band_and_constants_have_room():
    svg = curves("loss", [Series("run", "c0", STEPS, np.array([[3.0, 3.0]]))])
    assert "band" not in svg
    assert points(svg, "line")[:, 1] == pytest.approx((TOP + HEIGHT - BOTTOM) / 2, abs=0.1)


def test_texts_are_escaped():
    svg = curves("<b>", [Series('"x"', "c0", STEPS, np.array([[1.0, 2.0]]))])
    assert "<b>" not in svg
    assert "&quot;x&quot; ends at 2" in svg


def test_a_mark_shows_what_is_known():
    both = success_mark(estimate([0.4, 0.6]), True, 0.75)
    assert 'class="mean" cx="60.0"' in both
    assert 'd="M87.0 3' in both
    assert "whisker" in both
    alone = success_mark(estimate([0.5]), False, None)
    assert "whisker" not in alone
    assert "paper" not in alone
