"""Findings about actions that are not what leads from one observation to the next: positions, repetitions, swapped columns."""

import numpy as np

from mvl.data.check.lags import Following, explained, following, rows_with_next, velocities
from mvl.data.check.subject import View, some

EXPLAINED, UNEXPLAINED = 0.9, 0.5
"""Observations whose steps are not UNEXPLAINED by actions, or that are not EXPLAINED as steps of the actions, are not swapped."""
SMOOTHER = 4.0
"""Swapped columns are told by this, too: positions change this many times more smoothly than the steps between them."""
MOST = 200
"""Dimensions beyond which columns are not compared: they are images, which have a finding of their own."""


def positions_as_actions(view: View) -> str | None:
    """Actions that are the position to go to, which a policy then has to copy from the observation but for a small difference."""
    found = {action: one for action, one in _followed(view).items() if one.lag >= 0}
    same = [action for action, one in found.items() if one.lag == 0 and one.equal]
    if same:
        names = [view.observations[found[action].observation] for action in same]
        return (
            f"actions that only repeat the observation of their row ({some(view.actions[i] for i in same)}): "
            f"take the changes instead with --actions-from {' '.join(names[:4])}{' ...' if len(names) > 4 else ''}"
        )
    if not found:
        return None
    action, one = next(iter(found.items()))
    which = f"{some(view.actions[i] for i in found)}: {view.actions[action]} is where {view.observations[one.observation]} goes"
    return f"actions that are the next position rather than a change of it ({which}): use --deltas"


def swapped(view: View) -> str | None:
    """Observations that are what the actions should be: they lead from one action to the next."""
    followed = _followed(view)
    if any(one.lag < 0 for one in followed.values()) and all(one.lag < 0 for one in followed.values()):
        return SWAPPED.format(_pair(view, followed))
    if followed or not _comparable(view):
        return None
    rows = rows_with_next(view.sample.ends)
    states, moves = view.sample.observations.astype(float), view.sample.actions[:, view.continuous].astype(float)
    steps, next_moves = (array[rows + 1] - array[rows] for array in (states, moves))
    integrates = np.median(explained(next_moves, states[rows])) > EXPLAINED
    leads = np.median(explained(steps[:, view.changing], moves[rows])) > UNEXPLAINED
    smoother = np.quantile(_roughness(states[:, view.changing], rows), 0.25) > SMOOTHER * np.median(_roughness(moves, rows))
    return SWAPPED.format("observations are the changes of actions") if integrates and not leads and smoother else None


SWAPPED = "observations and actions seem swapped ({}): exchange --observations and --actions"


def _pair(view: View, followed: dict[int, Following]) -> str:
    action, one = next(iter(followed.items()))
    return f"{view.actions[action]} is what {view.observations[one.observation]} was before"


def _comparable(view: View) -> bool:
    return len(view.observations) <= MOST and bool(view.continuous.any()) and len(view.sample.transitions) > 10


def _followed(view: View) -> dict[int, Following]:
    """Positions among the observations that actions follow, in the units of the source."""
    if not _comparable(view):
        return {}
    data, limits = view.sample, view.data.action_range
    actions = data.actions if limits is None else limits[0] + (data.actions + 1) / 2 * (limits[1] - limits[0])
    found = following(data.observations, actions, data.ends, velocities(data.observations.astype(float), data.ends))
    return {action: one for action, one in found.items() if view.continuous[action]}


def _roughness(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Mean square of a step relative to the variance, of each dimension: near 0 if smooth, 2 if there is no relation."""
    squares = np.square(values[rows + 1] - values[rows]).mean(axis=0)
    return np.asarray(squares / np.maximum(values.var(axis=0), 1e-12))
