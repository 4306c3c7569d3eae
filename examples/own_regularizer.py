"""A regularizer of your own, compared with ours on the same data. The core is enough.

python examples/own_regularizer.py --to runs/compared            # about two minutes
python examples/own_regularizer.py --to runs/compared --quick    # few steps, to see that it works
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import mvl

QUICK = {"steps": 100, "log_every": 100, "eval_every": 100, "save_every": 100}
FULL = {"steps": 5_000, "eval_every": 5_000}


@dataclass(frozen=True)
class Pairwise:
    """Mean of max(0, V(s', g) - V(s, g) - c |s' - s|)^2, where s' is another state of the batch."""

    weight: float = 1.0
    """Factor on the penalty."""
    cost: float = 1.0
    """c: cost per unit of distance."""

    def __call__(self, field: mvl.Field, key: jax.Array) -> tuple[jax.Array, dict[str, jax.Array]]:
        others = jax.random.permutation(key, field.points)
        rise = field.at(others, field.goals) - field.here  # (heads, batch)
        excess = jax.nn.relu(rise - self.cost * jnp.linalg.norm(others - field.points, axis=-1))
        return self.weight * jnp.square(excess).mean(), {"active": (excess > 0).mean()}


def walks(episodes: int = 60, rows: int = 80) -> mvl.Dataset:
    """Random walks in the plane."""
    draw = np.random.default_rng(0)
    actions = draw.uniform(-1, 1, (episodes, rows, 2))
    states = draw.normal(size=(episodes, 1, 2)) + np.cumsum(0.1 * actions, axis=1) - 0.1 * actions
    return mvl.Dataset.from_episodes(list(zip(states, actions, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, required=True, help="folder for the runs")
    parser.add_argument("--quick", action="store_true", help="few steps")
    options = parser.parse_args()
    for regularizer in (Pairwise(weight=0.1), mvl.Mollified(fraction=0.25)):
        name = type(regularizer).__name__
        settings = QUICK if options.quick else FULL
        run = mvl.train(walks(), "gcivl", regularizer=regularizer, run=options.to / name, **settings)
        last = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
        print(name, {key: value for key, value in last.items() if key.startswith("regularizer/")})


if __name__ == "__main__":
    main()
