"""Small datasets and recipes for all tests."""

import itertools
import os
from pathlib import Path

# Tests compile many small programs: a cache on disk compiles each only once.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

from dataclasses import replace

import jax
import numpy as np
import pytest

from mvl.data.dataset import Dataset
from mvl.data.goals import on_device
from mvl.data.signals import Signal, Signals
from mvl.errors import MvlError
from mvl.recipes.presets import named_recipe
from mvl.recipes.recipe import Learning, Recipe
from mvl.registry import AXES
from mvl.studies import known_times
from mvl.xla_flags import check_flags, rejection_reason

# Tests run each program briefly, so XLA optimizes little. Two test processes share the cores, so each uses one thread.
# XLA reads the flags when the first program is compiled; child processes inherit them.
WANTED_FLAGS = (
    "--xla_cpu_multi_thread_eigen=false",
    "--xla_backend_optimization_level=0",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
)
rejection = "" if "XLA_FLAGS" in os.environ else rejection_reason(" ".join(WANTED_FLAGS))
unknown_flags = [flag for flag in WANTED_FLAGS if flag in rejection]
unchecked = "XLA_FLAGS" in os.environ or bool(rejection)
os.environ.setdefault("XLA_FLAGS", " ".join(flag for flag in WANTED_FLAGS if flag not in unknown_flags))


def pytest_configure(config):
    """Refuse flags with which XLA would abort the process: pytest would hide its message."""
    if unchecked and not hasattr(config, "workerinput"):  # the workers of pytest-xdist inherit what was checked here
        try:
            check_flags()
        except MvlError as error:
            raise pytest.UsageError(str(error)) from None


def pytest_terminal_summary(terminalreporter):
    if unknown_flags:
        terminalreporter.write_line(f"not set, because this jaxlib does not know it: {' '.join(unknown_flags)}")


@pytest.fixture(scope="session", autouse=True)
def one_device():
    """Initialize JAX with one device before the first test; tests of several devices start their own process."""
    jax.devices()


TESTS = itertools.count()


@pytest.fixture(autouse=True)
def no_known_times(monkeypatch, tmp_path_factory):
    """No test knows times that were measured before it."""
    folder = tmp_path_factory.getbasetemp() / f"times-{next(TESTS)}"  # made only if something is measured
    monkeypatch.setattr(known_times, "folder", lambda: folder)


@pytest.fixture
def key():
    return jax.random.key(0)


def walk(episodes: int = 6, rows: int = 21, dimensions: int = 2, seed: int = 0) -> Dataset:
    """Random walks whose steps are a tenth of the action."""
    generator = np.random.default_rng(seed)
    made = []
    for _ in range(episodes):
        actions = generator.uniform(-1, 1, (rows, dimensions))
        states = np.concatenate([np.zeros((1, dimensions)), np.cumsum(0.1 * actions[:-1], axis=0)])
        made.append((states + generator.normal(size=dimensions), actions))
    return Dataset.from_episodes(made)


def discrete(data: Dataset, levels: tuple[int, ...], seed: int = 0) -> Dataset:
    """The same walks with other actions: so many levels in each dimension, 0 for a continuous one."""
    generator, count = np.random.default_rng(seed), len(data.observations)
    columns = [generator.integers(n, size=count) if n else generator.uniform(-1, 1, count) for n in levels]
    signals = Signals(actions=tuple(Signal(f"a{i}", (f"a{i}",), "", tuple(map(float, range(n)))) for i, n in enumerate(levels)))
    return replace(data, actions=np.stack(columns, axis=1).astype(np.float32), signals=signals)


@pytest.fixture
def dataset() -> Dataset:
    return walk()


@pytest.fixture
def rows(dataset):
    return on_device(dataset)


def small_recipe(name: str = "gcivl-mvl", **parts) -> Recipe:
    """A named recipe at toy size."""
    recipe, _ = named_recipe(name, "cpu")
    learning = Learning(batch_size=16)
    small = {"widths": (16,), "size": 6, "latent": 16, "subgoals": 4, "subgoal_steps": 3}

    def shrunk(part):
        return replace(part, **{name: value for name, value in small.items() if hasattr(part, name)})

    sized = {axis: shrunk(getattr(recipe, axis)) for axis in AXES}
    return replace(recipe, **{**sized, "learning": learning, **parts})


def write_npz(path: Path, dataset: Dataset) -> Path:
    """A dataset in OGBench's layout."""
    path.parent.mkdir(parents=True, exist_ok=True)
    terminals = np.zeros(len(dataset.observations), bool)
    terminals[dataset.ends] = True
    np.savez(path, observations=dataset.observations, actions=dataset.actions, terminals=terminals)
    return path


@pytest.fixture
def data_file(tmp_path, dataset) -> Path:
    """Training and validation files of the random walks."""
    write_npz(tmp_path / "walk-val.npz", walk(seed=1))
    return write_npz(tmp_path / "walk.npz", dataset)


@pytest.fixture(scope="session")
def served_run(tmp_path_factory):
    """A run with an untrained policy, a graph and a named goal, for tests of the server and the robots."""
    from serving import with_graph
    from untrained import untrained_by_name

    from mvl.deploy.goals import add_goal

    run = with_graph(untrained_by_name(tmp_path_factory.mktemp("served") / "run", "pointmaze-medium-navigate-v0"))
    add_goal(run, "corner", np.array([20.0, 16.0]))
    return run


@pytest.fixture(scope="session")
def offered(served_run):
    """The policy of that run as a server offers it, compiled."""
    from serving import served

    made = served(served_run)
    made.warm_up()
    return made
