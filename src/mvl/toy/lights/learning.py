"""Goal-conditioned DQN on random play of Lights-Out, on distances to anchors and on the lights themselves."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import spearmanr

from mvl.data.dataset import Dataset
from mvl.data.goals import on_device
from mvl.data.normalization import Normalization
from mvl.evaluation.acting import as_act, batched_act
from mvl.experiment import Experiment
from mvl.learn.devices import share_cores
from mvl.learn.learner import Learner, State
from mvl.learn.loop import dispatches, initial_state
from mvl.results.geometry import correlation_of
from mvl.runs.data import shapes_of, statistics_of
from mvl.tasks import Task
from mvl.toy.lights.board import Board
from mvl.toy.lights.play import See, as_dataset, play, random_play, views

EPISODES, PRESSES = 4000, 25
"""Size of the random play."""
ANCHORS = 64
TASKS, PER_TASK = 5, 15
"""Evaluation tasks, which are distances of the goal (fewer on the smallest boards), and episodes of each."""
PAIRS = 2000
"""Pairs of boards on which values are compared with distances; all distances are equally likely."""
STEPS_PER_CALL = 100
SETTINGS: dict[str, Any] = {
    "discount": 0.95,
    "batch_size": 256,
    "learning_rate": 3e-3,
    "target_rate": 0.02,
    "value.widths": (128, 128, 128),
}
"""Chosen among a few by the success of seed 0 on the lights of 3x3 alone (docs/results/lights.md)."""


class Puzzle(NamedTuple):
    """What is the same for all seeds and both ways to see a board."""

    board: Board
    views: dict[str, See]
    boards: np.ndarray  # (episodes, presses + 1) of random play
    buttons: np.ndarray  # (episodes, presses)
    tasks: np.ndarray  # (tasks,) distances
    episodes: tuple[np.ndarray, np.ndarray]  # starts and goals (tasks * per_task,) of the evaluation
    pairs: tuple[np.ndarray, np.ndarray]  # boards and goals (PAIRS,)


class Learned(NamedTuple):
    """What came of learning with one way to see a board."""

    success: np.ndarray  # (seeds, tasks)
    rank_correlation: np.ndarray  # (seeds,) Spearman's, of values and minus the exact distances
    values: np.ndarray  # (seeds, pairs)
    boards: np.ndarray  # (buttons + 1, seeds, episodes) of the evaluation


def puzzle(board: Board, seed: int = 0) -> Puzzle:
    """The data and the evaluation of a board, determined by the seed."""
    generator = np.random.default_rng(seed)
    seen = views(board, ANCHORS, generator)
    played = random_play(board, EPISODES, PRESSES, generator)
    tasks = np.unique(np.rint(board.buttons * np.arange(1, TASKS + 1) / TASKS).astype(int))
    return Puzzle(
        board,
        seen,
        *played,
        tasks,
        _apart(board, np.repeat(tasks, PER_TASK), generator),
        _apart(board, generator.integers(board.buttons + 1, size=PAIRS), generator),
    )


def _apart(board: Board, distances: np.ndarray, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Random boards, and others at these distances from them."""
    starts = board.random(generator, len(distances))
    return starts, starts ^ board.random_at(generator, distances)


def all_learned(made: Puzzle, seeds: Sequence[int], steps: int, report: Callable[[int, int], None]) -> dict[str, Learned]:
    """Every way to see a board by its name; `report` is called with the (done, total) steps of all seeds' training."""
    total = steps * len(made.views)
    report(0, total)
    share_cores(len(seeds))
    found: dict[str, Learned] = {}
    for view in made.views:
        before = steps * len(found)
        found[view] = learn(made, view, seeds, steps, partial(_report_after, report, before, total))
    return found


def _report_after(report: Callable[[int, int], None], before: int, total: int, done: int) -> None:
    report(before + done, total)


def learn(made: Puzzle, view: str, seeds: Sequence[int], steps: int, report: Callable[[int], None]) -> Learned:
    """Train and evaluate all seeds; `report` is called with the steps done."""
    see = made.views[view]
    data = as_dataset(made.boards, made.buttons, see, made.board.buttons)
    learner, state = _trained(data, seeds, steps, report)
    act = as_act(batched_act(learner, len(seeds), temperature=0.0), state.params)
    boards = play(act, made.board, see, *made.episodes, len(seeds))
    reached = boards[-1] == made.episodes[1]
    states, goals = made.pairs
    exact = made.board.distances[states ^ goals]
    values = _values(learner, state, see(states), see(goals))
    ranks = np.array([correlation_of(spearmanr, found, -exact.astype(float)) for found in values])
    return Learned(reached.reshape(len(seeds), -1, PER_TASK).mean(axis=2), ranks, values, boards)


def _trained(data: Dataset, seeds: Sequence[int], steps: int, report: Callable[[int], None]) -> tuple[Learner, State]:
    """The recipe of `mvl train` with the value discrete_q and the policy greedy, trained in memory."""
    parts = {"value": "discrete_q", "policy": "greedy"}
    experiment = Experiment.from_preset(Task(data=data), "gcivl", "cpu", parts=parts, seeds=seeds).with_settings(SETTINGS)
    recipe, normalization = experiment.recipe, Normalization.of(data)
    learner = Learner(recipe.fit(statistics_of(data, normalization)), shapes_of(data, recipe.learning), normalization)
    state = before = initial_state(learner, seeds)
    for state, _ in dispatches(learner, before, on_device(data, normalization), steps, STEPS_PER_CALL):
        report(int(state.step[0]))
    return learner, state


def _values(learner: Learner, state: State, states: np.ndarray, goals: np.ndarray) -> np.ndarray:
    """Values of the pairs for each seed, (seeds, pairs)."""
    value = jax.jit(lambda params: learner.values(params, jnp.asarray(states), jnp.asarray(goals), jax.random.key(0)))
    each = [jax.tree.map(lambda leaf, i=i: leaf[i], state.params) for i in range(len(state.step))]
    return np.stack([np.asarray(value(params)) for params in each])
