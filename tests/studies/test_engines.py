"""The same jobs by Ray on two nodes and by submitit: the same cells as on this machine alone."""

import os
import signal
import warnings
from pathlib import Path

import pytest
from made_runs import TINY, experiment, write_walks

from mvl.errors import MvlError, UsageError
from mvl.studies.engines import local, slurm
from mvl.studies.engines import ray as on_ray
from mvl.studies.job import Job, folder_of
from mvl.studies.store import runs_of, with_seeds

SMALL = {name.replace(".", "__"): text for name, text in TINY.items()}


def jobs(store: Path, data: Path, seeds: int = 2) -> list[Job]:
    of = experiment("bc", **SMALL)
    return [Job(with_seeds(of, (seed,), data), folder_of(of, store) / f"seeds-{seed}") for seed in range(seeds)]


def cells(store: Path) -> dict[int, tuple]:
    found = runs_of(experiment("bc", **SMALL), store, None).finished
    return {number: (seed.overall, seed.tasks, seed.validation) for number, seed in found.items()}


def starter_of(run: Path) -> int | None:
    """The process that waits for a run's training."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().decode().split("\0")
            if any("mvl.studies.process" in word for word in words) and str(run) in words:
                return int((place / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    return None


@pytest.fixture
def two_nodes(monkeypatch):
    """A cluster of two nodes with a core each, on this machine."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray's own: deprecations, and pipes it leaves to the collector
        from ray.cluster_utils import Cluster

        size = {"num_cpus": 1, "object_store_memory": 80 * 1024**2}
        cluster = Cluster(initialize_head=True, head_node_args={**size, "include_dashboard": False})
        cluster.add_node(**size)
        yield cluster
        cluster.shutdown()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_two_nodes_and_submitit_give_the_same_cells_though_a_worker_is_killed(tmp_path, two_nodes):
    data = write_walks(tmp_path / "data")
    killed: list[int] = []

    def kill_one(running, ended) -> None:
        for job in running:
            starter = starter_of(job.run)
            if not killed and starter and (job.run / "checkpoint.safetensors").exists():
                os.kill(starter, signal.SIGKILL)
                killed.append(starter)

    assert on_ray.run(jobs(tmp_path / "ray", data), kill_one, address=two_nodes.address) == {}
    assert killed
    sessions = [job.clock.read_text().count("began") for job in jobs(tmp_path / "ray", data)]
    assert sorted(sessions) == [1, 2]  # the one that was killed went on, once

    here, by_slurm = jobs(tmp_path / "alone", data)
    assert local.run([here], lambda running, ended: None, local.places("cpu", 1, 1)) == {}
    settings = {"timeout_min": "60"}
    assert slurm.run([by_slurm], lambda running, ended: None, tmp_path / "slurm", settings=settings, cluster="debug") == {}
    assert cells(tmp_path / "ray") == cells(tmp_path / "alone")
    assert cells(tmp_path / "ray").keys() == {0, 1}
    for one, other in zip(jobs(tmp_path / "ray", data), (here, by_slurm), strict=True):
        for name in ("metrics.jsonl", "evaluations.jsonl"):
            assert (one.run / name).read_bytes() == (other.run / name).read_bytes()


def test_slurm_is_asked_for_where_it_is_not(tmp_path):
    with pytest.raises(MvlError, match="sbatch is not on this machine"):
        slurm.run([], lambda running, ended: None, tmp_path)


def test_a_store_whose_name_would_add_lines_to_a_script_is_refused(tmp_path):
    with pytest.raises(UsageError, match="a character that cannot be printed"):
        slurm.run([], lambda running, ended: None, tmp_path / "store\n#SBATCH --exclusive")
