"""What can be installed where: the metadata, the lock, `make setup` and the continuous integration agree."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from mvl.cli import main
from mvl.errors import MvlError
from mvl.extras import DM_CONTROL, how_to_install
from mvl.machine import rendering
from mvl.tasks import find_task

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
SUPPORTED = ["3.11", "3.12", "3.13"]
LOCK = [Requirement(line) for line in (ROOT / "requirements.lock").read_text().splitlines()]


def locked(python: str) -> dict[str, str]:
    """What the lock installs on Linux with that Python: versions by name."""
    where = {
        "python_version": python,
        "python_full_version": f"{python}.1",
        "sys_platform": "linux",
        "platform_machine": "x86_64",
    }
    return {one.name: str(one.specifier) for one in LOCK if one.marker is None or one.marker.evaluate(where)}


def test_metadata_makefile_and_ci_name_the_same_pythons():
    range_ = SpecifierSet(PROJECT["requires-python"])
    assert [f"3.{minor}" for minor in range(30) if f"3.{minor}" in range_] == SUPPORTED
    assert [name[-4:] for name in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", name)] == SUPPORTED
    bounds = re.findall(r"\((3), (\d+)\)", (ROOT / "Makefile").read_text())
    assert [".".join(bound) for bound in bounds] == [SUPPORTED[0], SUPPORTED[-1]]
    assert f"for wanted in {' '.join(SUPPORTED)}; do" in (ROOT / ".ci" / "run").read_text()


def test_the_lock_has_one_version_of_everything_on_every_python():
    for python in SUPPORTED:
        assert all(version.startswith("==") for version in locked(python).values())
        assert len(locked(python)) == len({one.name for one in LOCK} - absent(python))


def absent(python: str) -> set[str]:
    """Packages that are of other platforms, or that have no wheel for that Python and are not missed."""
    return {"httpx2-jsfetch"} | ({"labmaze"} if python == "3.13" else set())


def make(*words: object) -> "subprocess.CompletedProcess[str]":
    """As a user calls it, also where these tests are run by make."""
    if shutil.which("make") is None:
        pytest.skip("there is no make here")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(["make", *map(str, words)], cwd=ROOT, env=environment, capture_output=True, text=True)


def script(path: Path, text: str) -> Path:
    """An executable in place of a Python."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_make_setup_refuses_a_python_that_is_not_supported(tmp_path):
    """In one sentence, and before an environment is made."""
    old = script(tmp_path / "python3.10", "exit 1")  # what the check of its version ends with
    done = make("setup", f"PYTHON={old}", f"VENV={tmp_path / 'venv'}")
    assert done.returncode != 0
    assert done.stdout == f"mvl supports Python 3.11 to 3.13, and {old} is not one of them; try: make PYTHON=python3.12\n"
    assert not (tmp_path / "venv").exists()


def test_make_does_not_take_one_pythons_environment_for_anothers(tmp_path):
    venv = tmp_path / "venv"
    made = script(venv / "bin" / "python", "echo Python 3.11.7")
    asked = script(tmp_path / "asked", "echo Python 3.12.1")
    (venv / ".ready").touch()
    done = make("setup", f"PYTHON={asked}", f"VENV={venv}")
    assert done.returncode != 0
    assert "was made by Python 3.11.7, not Python 3.12.1; give that one its own" in done.stdout
    assert made.exists()
    assert make("setup", f"PYTHON={made}", f"VENV={venv}").returncode == 0


@pytest.fixture
def no_simulators(monkeypatch):
    for name in ("ogbench", "dm_control", "gymnasium", "mujoco"):
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed


@pytest.mark.parametrize(
    "command",
    [
        ["train", "pointmaze-medium-navigate-v0"],
        ["train", "cube-single-play-v0"],
        ["data", "generate", "antmaze-medium-navigate-v0", "--data", "data"],
        ["data", "expert", "ant", "--to", "walker.safetensors"],
        ["demo", "--run", "run", "--data", "data"],
        ["view", "run"],
    ],
    ids=lambda words: "-".join(words[:2]),
)
def test_what_needs_a_simulator_says_so_in_one_sentence(command, capsys, tmp_path, monkeypatch, no_simulators):
    monkeypatch.chdir(tmp_path)
    assert main(command) == 1
    said = capsys.readouterr().err
    assert "needs a simulator (not installed: " in said
    assert "install it with: pip install 'mollified-value-learning[sim]'" in said
    assert said.count("\n") == 1
    assert not list(tmp_path.rglob("*"))


def test_a_value_over_a_maze_says_that_it_needs_a_simulator(no_simulators):
    with pytest.raises(MvlError, match="pointmaze-medium-navigate-v0 needs a simulator"):
        find_task("pointmaze-medium-navigate-v0").make_env()


def test_doctor_says_what_rendering_lacks(no_simulators):
    assert rendering() == ["needs a simulator: pip install 'mollified-value-learning[sim]'"]


def test_ogbench_is_installed_without_what_python_313_cannot_install(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 13, 0))
    both = f"pip install 'mollified-value-learning[sim]' && pip install --no-deps ogbench {DM_CONTROL}"
    assert how_to_install(["ogbench", "gymnasium"]) == both
    assert how_to_install(["mujoco"]) == "pip install 'mollified-value-learning[sim]'"
    assert f"dm-control{locked('3.13')['dm-control']}" == DM_CONTROL
    (mujoco,) = (one for one in map(Requirement, EXTRAS["sim"]) if one.name == "mujoco" and "<" in str(one.specifier))
    assert locked("3.13")["mujoco"][2:] in mujoco.specifier


def test_the_core_is_installed_without_simulators():
    core = {Requirement(text).name for text in PROJECT["dependencies"]}
    assert core == {"jax", "optax", "safetensors", "numpy", "scipy", "tyro", "rich", "matplotlib"}


def test_the_wheel_holds_more_than_python_files(tmp_path):
    """Type information, kernels, the walker, the paper's tables and the page's template."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path], cwd=ROOT, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith("mvl/")}
    source = [path.relative_to(ROOT / "src") for path in (ROOT / "src").rglob("*") if path.is_file()]
    assert {str(path) for path in source if "__pycache__" not in path.parts} <= held
    assert "mvl/py.typed" in held
