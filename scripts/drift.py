"""How far does a representation move while the value learns to read it? For trained runs of pointmaze tasks.

Prints, over goals of the validation data: how well the position can be read off z linearly (root mean square error on the half it
was not fitted to), and how far z moves in some more steps of training, relative to its spread.
"""

import argparse
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from mvl.data.goals import on_device
from mvl.data.sources import npz
from mvl.learn.learner import Learner, State
from mvl.runs.restore import restore


def represented(learner: Learner, state: State, goals: np.ndarray) -> np.ndarray:
    rep, told = learner.recipe.representation, jnp.asarray(goals)
    return np.asarray(rep.encode(state.params.representation, told, told, jax.random.key(0)))


def read_off(z: np.ndarray, goals: np.ndarray) -> float:
    half, inputs = len(z) // 2, np.c_[z, np.ones(len(z))]
    weights = np.linalg.lstsq(inputs[:half], goals[:half], rcond=None)[0]
    return float(np.sqrt(np.square(inputs[half:] @ weights - goals[half:]).mean()))


def moved(before: np.ndarray, after: np.ndarray) -> float:
    length = lambda array: np.sqrt(np.square(array).sum(axis=1).mean())
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
        before, after = represented(learner, state, goals), represented(learner, later, goals)
        print(
            f"{run.name}: read off with error {read_off(before, goals):.2f}, moved {moved(before, after):.2f} spreads", flush=True
        )


if __name__ == "__main__":
    main()
