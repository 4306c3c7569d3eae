"""The held-out measures by name: how good a policy is, computed from a run and its validation data, without a simulator."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr

from mvl.data.memory_map import take
from mvl.evaluation.held_out.rollouts import reached
from mvl.evaluation.held_out.trial import Pairs, Trial

EPISODES = 50
"""Held-out episodes in which values are ranked, at most."""


class Measure(NamedTuple):
    """A number for each policy of a trial."""

    name: str
    compute: Callable[[Trial], np.ndarray]
    """Trial -> (seeds,)."""
    higher_is_better: bool
    meaning: str
    """One sentence."""
    needs_value: bool = False
    is_share: bool = False
    """Whether it lies between 0 and 1."""


def model_success(trial: Trial) -> np.ndarray:
    """Share of rollouts in the learned model that end near their goal, any held-out state, from any other."""
    return reached(trial, trial.anywhere)


def model_success_ahead(trial: Trial) -> np.ndarray:
    """The same with goals that lie ahead in the held-out episode in which a rollout begins."""
    return reached(trial, trial.ahead)


def action_error(trial: Trial) -> np.ndarray:
    """Mean squared difference of the policy's action and the logged one, towards later states of the same episode."""
    return np.asarray(_errors(trial).mean(axis=1))


def advantage_error(trial: Trial) -> np.ndarray:
    """The same over the logged steps after which the run's own value is higher."""
    better = _rises(trial)
    return np.asarray((better * _errors(trial)).sum(axis=1) / np.maximum(better.sum(axis=1), 1))


def value_rises(trial: Trial) -> np.ndarray:
    """Share of the logged steps after which the value towards a later state of the same episode is higher."""
    return np.asarray(_rises(trial).mean(axis=1))


def value_rank(trial: Trial) -> np.ndarray:
    """Rank correlation of V(s, end of the episode) with time, the mean over held-out episodes."""
    data = trial.held_out
    chosen = np.linspace(0, len(data.ends) - 1, min(EPISODES, len(data.ends))).astype(int)
    episodes = [np.arange(data.starts[episode], data.ends[episode]) for episode in chosen]
    rows = np.concatenate(episodes)
    bounds = np.cumsum([len(episode) for episode in episodes])[:-1]
    values = np.split(trial.values(Pairs(rows, data.final_goals[rows])), bounds, axis=1)
    return np.asarray(np.mean([_correlations(part, np.arange(part.shape[1])) for part in values], axis=0))


def value_rank_across(trial: Trial) -> np.ndarray:
    """Rank correlation of V(s, g) with minus the steps from s to g, over pairs from all held-out episodes together."""
    pairs = trial.ahead
    return _correlations(trial.values(pairs), pairs.states - pairs.goals)


def _errors(trial: Trial) -> np.ndarray:
    """Squared differences of the policies' actions and the logged ones, (seeds, pairs)."""
    logged = take(trial.held_out.actions, trial.ahead.states)
    return np.asarray(np.square(trial.actions(trial.ahead) - logged).mean(axis=-1))


def _rises(trial: Trial) -> np.ndarray:
    """Whether the value rises in the logged step, (seeds, pairs)."""
    pairs = trial.ahead
    return trial.values(Pairs(pairs.states + 1, pairs.goals)) > trial.values(pairs)


def _correlations(values: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Spearman's correlation of each seed's values (seeds, n) with times (n,); 0 where all values are equal."""
    constant = np.ptp(values, axis=1) == 0
    return np.array([0.0 if flat else spearmanr(row, times).statistic for flat, row in zip(constant, values, strict=True)])


MEASURES = {
    measure.name: measure
    for measure in (
        Measure("model-success", model_success, True, "goals anywhere reached in rollouts in a learned model", is_share=True),
        Measure("model-success-ahead", model_success_ahead, True, "the same, goals ahead in the same episode", is_share=True),
        Measure("value-rises", value_rises, True, "steps of held-out episodes in which the value rises", True, True),
        Measure("value-rank", value_rank, True, "rank correlation of the value with time within held-out episodes", True),
        Measure("value-rank-across", value_rank_across, True, "rank correlation of the value with the steps to go", True),
        Measure("advantage-error", advantage_error, False, "action error over steps in which the value rises", True),
        Measure("action-error", action_error, False, "squared error of the actions of held-out episodes"),
    )
}
"""All measures by name."""
BEST = "model-success"
"""The measure that ranks policies best (docs/choosing.md)."""


def measured(trial: Trial, names: Sequence[str] = tuple(MEASURES)) -> dict[str, np.ndarray]:
    """Measures by name, (seeds,) each, without those that need a value if the recipe learns none."""
    chosen = [MEASURES[name] for name in names]
    return {measure.name: measure.compute(trial) for measure in chosen if trial.has_value or not measure.needs_value}
