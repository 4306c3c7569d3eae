"""How far a goal representation z moves while the value is trained on it, for trained runs of pointmaze tasks.

Prints, over goals of the validation data: the root mean square error of a linear regression from z to the position (fitted on one
half of the goals, measured on the other), and how far z moves in some more training steps, relative to its standard deviation.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from mvl.data.goals import on_device
from mvl.data.sources import npz
from mvl.learn.learner import Learner, State
from mvl.runs.restore import restore


def encode(learner: Learner, state: State, goals: np.ndarray) -> np.ndarray:
    """z of each goal, seen from the goal itself: (goals, size of z)."""
    representation, states = learner.recipe.representation, jnp.asarray(goals)
    return np.asarray(representation.encode(state.params.representation, states, states, jax.random.key(0)))


def regression_error(z: np.ndarray, goals: np.ndarray) -> float:
    """Root mean square error of a linear map from z to the goals, on the half that it was not fitted to."""
    half, inputs = len(z) // 2, np.c_[z, np.ones(len(z))]
    weights = np.linalg.lstsq(inputs[:half], goals[:half], rcond=None)[0]
    return float(np.sqrt(np.square(inputs[half:] @ weights - goals[half:]).mean()))


def movement(before: np.ndarray, after: np.ndarray) -> float:
    """Root mean square distance that z moved, relative to its standard deviation."""
    length: Callable[[np.ndarray], float] = lambda array: np.sqrt(np.square(array).sum(axis=1).mean())
    return float(length(after - before) / length(before - before.mean(axis=0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--steps", type=int, default=500)
    options = parser.parse_args()
    for run in options.runs:
        description, learner, states = restore(run)
        path = Path(description.data["path"])
        data = npz.load(path.with_name(f"{path.stem}-val.npz"))
        state, goals, rows = jax.tree.map(lambda leaf: leaf[0], states), data.observations[::50], on_device(data)
        later, _ = jax.jit(learner.steps, static_argnums=2)(state, rows, options.steps)
        before, after = encode(learner, state, goals), encode(learner, later, goals)
        print(
            f"{run.name}: regression error {regression_error(before, goals):.2f}, moved {movement(before, after):.2f} deviations",
            flush=True,
        )


if __name__ == "__main__":
    main()
