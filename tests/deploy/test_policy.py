import subprocess
import sys

import jax
import numpy as np
import pytest

import mvl
from conftest import small_recipe
from mvl.errors import MvlError, UsageError


@pytest.fixture
def run(dataset, tmp_path):
    schedule = {"steps": 20, "log_every": 10, "eval_every": 20, "save_every": 20, "steps_per_dispatch": 10}
    return mvl.train(dataset, small_recipe(), run=tmp_path / "run", seeds=2, first_seed=3, **schedule)


def test_a_run_folder_alone_rebuilds_the_policy(run):
    from mvl.runs.restore import restore

    _, learner, state = restore(run)
    policy = mvl.load_policy(run, seed=4)
    observations, goals = np.random.default_rng(0).normal(size=(2, 7, 2)).astype(np.float32)
    params = jax.tree.map(lambda leaf: leaf[1], state.params)
    expected = learner.act(params, observations, goals, jax.random.key(0), 0.0)
    assert np.allclose(policy.act(observations, goals), expected, atol=1e-6)
    assert np.allclose(policy.act(observations[0], goals[0]), expected[0], atol=1e-6)
    assert policy.value(observations, goals).shape == (7,)
    assert not np.allclose(policy.act(observations, goals), mvl.load_policy(run).act(observations, goals))


def test_bad_calls_are_refused(run, tmp_path):
    policy = mvl.load_policy(run)
    with pytest.raises(UsageError, match=r"observation has shape \(3,\); its last axis must have length 2"):
        policy.act(np.zeros(3), np.zeros(2))
    with pytest.raises(UsageError, match="goal has a value that is not finite"):
        policy.act(np.zeros(2), np.array([0, np.nan]))
    with pytest.raises(UsageError, match="has seeds 3, 4, not 0"):
        mvl.load_policy(run, seed=0)
    with pytest.raises(MvlError, match="not a run folder"):
        mvl.load_policy(tmp_path)


USE = """
import sys, numpy, mvl
print(mvl.load_policy(sys.argv[1]).act(numpy.zeros(2), numpy.ones(2)).shape)
print(*sorted(sys.modules))
"""


def test_a_policy_is_loaded_without_simulators_plots_or_generators(run):
    done = subprocess.run([sys.executable, "-c", USE, str(run)], capture_output=True, text=True, check=True)
    shape, loaded = done.stdout.splitlines()
    assert shape == "(2,)"
    needless = ("ogbench", "dm_control", "gymnasium", "mujoco", "matplotlib", "tyro", "rich", "h5py", "pyarrow", "minari")
    needless += ("mvl.data.generation", "mvl.evaluation", "mvl.studies", "mvl.results", "mvl.plots", "mvl.report", "mvl.cli")
    needless += ("mvl.tasks.walker.training",)
    assert [name for name in loaded.split() if name.startswith(tuple(f"{part}." for part in needless)) or name in needless] == []
    assert "mvl.deploy.policy" in loaded.split()
