"""Chunks executed open loop and blended, by hand, for many episodes at once."""

import numpy as np
import pytest

from mvl.learn.execution import DECAY, Blended, OpenLoop


class Counting:
    """A policy that answers the number of the question, then steps of it: 10, 11, 12; 20, 21, 22; ..."""

    def __init__(self, steps: int) -> None:
        self.asked, self.steps = 0, steps

    def __call__(self) -> np.ndarray:
        self.asked += 1
        chunk = 10.0 * self.asked + np.arange(self.steps)
        return np.stack([chunk, -chunk])[..., None].astype(np.float32)  # (2 episodes, steps, 1)


def taken(execution, policy, count: int) -> list[float]:
    actions = [execution.next(policy) for _ in range(count)]
    assert all((action[0] == -action[1]).all() for action in actions)
    return [float(action[0, 0]) for action in actions]


def test_open_loop_takes_every_action_of_a_chunk_in_turn():
    policy = Counting(3)
    execution = OpenLoop(3)
    assert taken(execution, policy, 5) == [10, 11, 12, 20, 21]
    execution.reset()
    assert taken(execution, policy, 2) == [30, 31]
    assert policy.asked == 3


def test_blended_actions_are_means_of_all_predictions_for_the_same_step():
    policy, weights = Counting(3), np.exp(-DECAY * np.arange(3))
    execution = Blended(3)
    two, three = (weights[:n] / weights[:n].sum() for n in (2, 3))
    expected = [10.0, two @ [11, 20], three @ [12, 21, 30], three @ [22, 31, 40]]
    assert taken(execution, policy, 4) == pytest.approx(expected)
    execution.reset()
    assert taken(execution, policy, 1) == [50.0]


@pytest.mark.parametrize("kind", [OpenLoop, Blended])
def test_without_chunks_the_policy_is_asked_at_every_step(kind):
    assert taken(kind(1), Counting(1), 3) == [10, 20, 30]
