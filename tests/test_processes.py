"""Child processes do not import from the current folder; what the caller has put on its path they do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mvl
from mvl import machine
from mvl.errors import MvlError
from mvl.evaluation.environments import Environments, Start
from mvl.processes import import_path, python, python_module
from mvl.studies.engines import slurm
from mvl.studies.probe import Probe
from mvl.studies.process import JobSpec, train
from mvl.tasks import find_task
from mvl.tasks.datasets import generate

SOURCE = str(Path(mvl.__file__).parents[1])
TRAPS = ("mujoco", "numpy", "ogbench", "jax", "runpy", "multiprocessing", "mvl")


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """The current folder, with modules in it that leave a mark if they are imported."""
    folder = tmp_path / "trap"
    folder.mkdir()
    for name in TRAPS:
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'a').write('{name} '); raise SystemExit(9)")
    monkeypatch.chdir(folder)
    return tmp_path / "sprung"


def test_a_trap_springs_where_python_is_started_plainly(trap):
    subprocess.run([sys.executable, "-c", "import numpy"])
    assert trap.read_text() == "numpy "


def evaluate(folder):
    with Environments(find_task("pointmaze-medium-navigate-v0"), 1) as environments:
        assert environments.reset([Start(1, 0)])[0].shape == (1, 2)


def make_data(folder):
    assert generate(find_task("pointmaze-medium-stitch-v0"), folder, episodes=1, workers=1)[0].exists()


def call_in_a_child(folder):
    """As a worker of Ray does, which puts the folder on its path in which the sweep was started."""
    command = ("train", "pointmaze-medium-navigate-v0", "--help")
    sys.path.insert(0, os.getcwd())
    assert train(JobSpec(str(folder / "run"), command, str(folder / "log"), str(folder / "clock")), os.getcwd()) == 0


def look_for_a_renderer(folder):
    machine.rendering()


def time_a_task(folder):
    with Probe() as probe:
        assert probe.machine.rate > 0
        assert probe.ask(task="pointmaze-medium-navigate-v0")["tasks"] == 5


@pytest.mark.parametrize("start", [evaluate, make_data, call_in_a_child, look_for_a_renderer, time_a_task])
def test_children_do_not_import_from_the_current_folder(start, trap, tmp_path):
    start(tmp_path)
    assert not trap.exists()


def in_child(command, **settings) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True, **settings).stdout.split()


SHOW = "from mvl.processes import import_path; print(*import_path(), sep='\\n')"


def test_what_python_itself_puts_on_the_path_is_not_passed_on(tmp_path):
    (tmp_path / "script.py").write_text(SHOW)
    by_itself = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": SOURCE}}
    for command in (["-c", SHOW], ["script.py"], ["-m", "script"]):
        found = in_child([sys.executable, *command], **by_itself)
        assert str(tmp_path) not in found
        assert found[0] == SOURCE
        added = {**by_itself["env"], "PYTHONPATH": f"{tmp_path}:{SOURCE}"}
        assert in_child([sys.executable, *command], cwd=tmp_path, env=added)[0] == str(tmp_path)


def test_a_package_that_lies_in_the_current_folder_is_found_last(tmp_path):
    (tmp_path / "mvl").symlink_to(Path(mvl.__file__).parent)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    assert in_child([sys.executable, "-S", "-c", SHOW], cwd=tmp_path, env=environment)[-1] == str(tmp_path)


def test_the_callers_own_entries_are_passed_on(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("print('mine')")
    monkeypatch.syspath_prepend(tmp_path)
    assert in_child(python("import mine")) == ["mine"]
    assert in_child(python_module("mine", "argument")) == ["mine"]
    monkeypatch.setattr(sys, "path", ["", ".", "./", *sys.path])
    assert import_path()[0] == str(tmp_path)


def test_slurm_starts_python_safely(tmp_path, monkeypatch):
    pytest.importorskip("submitit")
    (tmp_path / "srun").write_text("")
    (tmp_path / "srun").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert slurm._executor(tmp_path, None)._executor._submitit_command_str.startswith(f"{sys.executable} -P -u -m ")


def test_a_worker_that_cannot_start_says_why(tmp_path, monkeypatch):
    (tmp_path / "numpy.py").write_text("raise ImportError('this NumPy is broken')")
    monkeypatch.syspath_prepend(tmp_path)
    task = find_task("pointmaze-medium-navigate-v0")
    with Environments(task, 1) as environments, pytest.raises(MvlError, match="NumPy is broken"):
        environments.reset([Start(1, 0)])
