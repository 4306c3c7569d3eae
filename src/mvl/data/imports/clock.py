"""Time stamps of episodes: their unit, their rate, and whether it is steady."""

import numpy as np

from mvl.errors import UsageError, unknown

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""Units of time stamps, in seconds."""
RATES = (0.5, 5000.0)
"""Rows per second of data on movements; other rates mean that time stamps are not in seconds."""
FASTER = 1.2
"""Rows may be taken at a rate that is this many times that of the data: the rate of an unsteady clock is known roughly."""
UNSTEADY, SHARE = 0.2, 0.05
"""A clock is unsteady if more than this SHARE of its steps differ from the median by more than UNSTEADY of it."""


def seconds(unit: str) -> float:
    """Length of a unit of time stamps in seconds; stamps without a unit are in seconds."""
    if unit and unit not in UNITS:
        raise unknown("unit of time", unit, UNITS)
    return UNITS[unit or "s"]


def rate(times: list[np.ndarray]) -> float | None:
    """Rows per second of time stamps in seconds, by the median step; None if it cannot be one."""
    found = 1 / float(np.median(_steps(times)))
    near = round(found)
    if not RATES[0] <= found <= RATES[1]:
        return None
    return float(near) if near and abs(found - near) < 0.005 * near else float(f"{found:.4g}")


def check_rate(times: list[np.ndarray], name: str, hz: float) -> None:
    """Raise if rows cannot be taken at this rate: time stamps are not in seconds, or there are too few."""
    if (found := rate(times)) is None:
        raise UsageError(f"{_advances(times, name)}; say in which they are with --unit {name}=ms, us or ns.")
    if hz > FASTER * found:
        raise UsageError(f"--hz {hz:g} is more than the {found:g} rows per second of the data; choose at most that.")


def looks_wrong(times: list[np.ndarray], name: str) -> list[str]:
    """One line if time stamps are not in seconds or do not advance steadily."""
    if (found := rate(times)) is None:
        return [f"{_advances(times, name)}: say in which they are with --unit {name}=ms, us or ns"]
    steps = _steps(times)
    middle = np.median(steps)
    share = (np.abs(steps - middle) > UNSTEADY * middle).mean()
    if share <= SHARE:
        return []
    low, high = np.quantile(steps, (0.01, 0.99))
    span = f"{low:.3g} to {high:.3g} s, median {middle:.3g}"
    return [f"the time between rows varies ({name}: {span}): take rows at a steady rate with --hz {found:g}"]


def _advances(times: list[np.ndarray], name: str) -> str:
    return f"{name} advances by {np.median(_steps(times)):.3g} from row to row, which are no seconds"


def _steps(times: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.diff(time) for time in times])
