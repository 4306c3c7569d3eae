"""Restores the learner of a run from its folder. Imports nothing that is only needed to train, evaluate or plot."""

from pathlib import Path

import jax

from mvl.errors import UsageError
from mvl.learn.checkpoint import load
from mvl.learn.learner import Learner, State
from mvl.learn.loop import initial_state
from mvl.runs.folder import Description, RunFolder


def learner_of(description: Description) -> Learner:
    """The learner that a run trains."""
    return Learner(description.fitted, description.shapes, description.normalization)


def restore(path: Path | str) -> tuple[Description, Learner, State]:
    """The description, the learner and the last checkpoint of a run; its data is not needed."""
    folder, description = RunFolder.open(Path(path))
    if not folder.checkpoint_file.exists():
        raise UsageError(f"{path} has no checkpoint yet; train it with: mvl train --resume {path}")
    learner = learner_of(description)
    like = jax.eval_shape(lambda: initial_state(learner, description.experiment.seeds))
    state, _ = load(folder.checkpoint_file, like)
    return description, learner, state


def chosen_seed(path: Path | str, description: Description, seed: int | None) -> int:
    """The place of a seed among those of a run; of none, the first."""
    seeds = description.experiment.seeds
    if seed is not None and seed not in seeds:
        raise UsageError(f"{path} has seeds {', '.join(map(str, seeds))}, not {seed}.")
    return 0 if seed is None else seeds.index(seed)
