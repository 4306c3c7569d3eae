"""A regularizer and an environment of the user's own, from a script to a resumed, evaluated and loaded run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = '''
"""A part and an environment in one file; importing it leaves a trace."""
import sys
from dataclasses import dataclass
from pathlib import Path

import gymnasium
import jax.numpy as jnp
import numpy as np

Path(__file__).with_name("imported").touch()


@dataclass(frozen=True)
class Small:
    """Keeps values near zero."""

    weight: float = 1.0
    """Factor on the penalty."""

    def __call__(self, field, key):
        penalty = jnp.square(field.here).mean()
        return self.weight * penalty, {"penalty": penalty}


class Walk(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-9, 9, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.goal = self.np_random.normal(size=(2, 2)).astype(np.float32)
        return self.place, {"goal": self.goal}

    def step(self, action):
        self.place = self.place + 0.1 * np.asarray(action, np.float32)
        return self.place, 0.0, False, False, {"success": bool(np.linalg.norm(self.place - self.goal) < 0.5)}


def make_env():
    return gymnasium.wrappers.TimeLimit(Walk(), 20)


if __name__ == "__main__":
    import mvl

    task = mvl.Task(env=make_env, data="walk.npz")
    short = {"steps_per_dispatch": 10, "eval_every": 20, "log_every": 10, "save_every": 10, "eval_episodes": 3, "batch_size": 16}
    small = {"value.widths": (8,), "policy.widths": (8,)}
    mvl.train(task, "gcivl", regularizer=Small(weight=0.5), run="run", steps=20, workers=1, **short, **small)
'''


@pytest.fixture
def folder(tmp_path, data_file) -> Path:
    """A folder with data and a script that has trained in it."""
    (tmp_path / "my_idea.py").write_text(SCRIPT)
    run(tmp_path, sys.executable, "my_idea.py")
    (tmp_path / "imported").unlink()
    return tmp_path


def run(folder: Path, *words: str, code: int = 0) -> str:
    done = subprocess.run(words, cwd=folder, env=dict(os.environ), capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def mvl(folder: Path, command: str, code: int = 0) -> str:
    return run(folder, sys.executable, "-P", "-m", "mvl", *command.split(), code=code)


def test_a_part_of_a_script_is_trained_resumed_evaluated_and_loaded(folder):
    described = json.loads((folder / "run" / "run.json").read_text())
    assert described["recipe"]["regularizer"] == {"name": "my_idea:Small", "weight": 0.5}
    assert described["own_task"]["env"] == "my_idea:make_env"
    (first,) = map(json.loads, (folder / "run" / "evaluations.jsonl").read_text().splitlines())
    assert (first["step"], len(first["tasks"]), first["mean_length"]) == (20, 1, 20.0)

    for command in ("train --resume run --steps 40", "eval run", "report run -o page.html --no-videos"):
        refused = mvl(folder, command, code=2)
        assert "'my_idea:Small' is your own code and is not imported; name its module with --parts my_idea" in refused
        assert not (folder / "imported").exists()  # a run folder alone makes no foreign code run

    mvl(folder, "train --resume run --steps 40 --parts my_idea --workers 1")
    steps = [json.loads(line)["step"] for line in (folder / "run" / "evaluations.jsonl").read_text().splitlines()]
    assert steps == [20, 40]
    (row,) = json.loads(mvl(folder, "eval run --episodes 4 --json --workers 1 --parts my_idea.py").splitlines()[-1])
    assert (row["step"], row["episodes"], row["mean_length"]) == (40, 4, 20.0)
    code = "import my_idea, mvl; print(mvl.load_policy('run').act([0.0, 0.0], [1.0, 1.0]).shape)"
    assert "(2,)" in run(folder, sys.executable, "-c", code)


def test_a_data_file_with_an_environment_is_a_task_for_every_command(folder):
    flags = "--steps 20 --steps-per-dispatch 10 --eval-every 10 --log-every 10 --save-every 10 --eval-episodes 2 --batch-size 16"
    small = f"{flags} --value.widths 8 --policy.widths 8"
    printed = mvl(folder, f"train walk.npz --env my_idea:make_env --regularizer my_idea:Small --run other --workers 1 {small}")
    assert "success, mean of the evaluations" in printed
    table = mvl(folder, f"sweep --tasks walk.npz --env my_idea:make_env --recipes gcivl --store store -- {small}")
    assert "1 finished runs" in table
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    way = "--env ../my_idea.py:make_env --goals 2 --store store --seeds 1"
    tuned = mvl(elsewhere, f"tune ../walk.npz {way} --recipe gcivl --knob discount=0.9,0.99 -- {small}")
    assert "chosen on" in tuned
    (evaluated, *_) = elsewhere.glob("store/*/walk.npz/*/*/evaluations.jsonl")
    assert len(json.loads(evaluated.read_text().splitlines()[-1])["tasks"]) == 2
    mvl(folder, "report other -o page.html --no-videos --parts my_idea")
    assert "walk.npz" in (folder / "page.html").read_text()
    assert "simulated by MuJoCo" in mvl(folder, "view other --parts my_idea", code=2)
    assert "--env is for data files" in mvl(folder, "train pointmaze-medium-navigate-v0 --env my_idea:make_env", code=2)


def test_a_data_file_alone_is_a_task_for_every_command(tmp_path, data_file):
    flags = "--steps 20 --steps-per-dispatch 10 --eval-every 20 --log-every 10 --save-every 20 --batch-size 16"
    store = "--store store --seeds 1"
    refused = mvl(tmp_path, f"tune walk.npz --recipes gcivl bc --by success {store}", code=2)
    assert "has no environment to succeed in; name one with --env, or choose --by model-success" in refused
    assert "nothing to choose from" in mvl(tmp_path, f"tune walk.npz --recipes gcivl {store}", code=2)
    assert not (tmp_path / "store").exists()
    tuned = mvl(tmp_path, f"tune walk.npz --recipes gcivl bc {store} -- {flags} --policy.widths 8")
    assert "choosing by model-success" in tuned
    assert "chosen on" in tuned
    runs = " ".join(str(path.parent) for path in tmp_path.glob("store/*/walk.npz/*/*/held_out.json"))
    assert len(runs.split()) == 2
    swept = mvl(tmp_path, f"sweep --tasks walk.npz --recipes gcivl bc {store} --to table -- {flags} --policy.widths 8")
    assert "0 runs are left to do" in swept
    assert {path.name for path in (tmp_path / "table").iterdir()} == {f"sweep.{ending}" for ending in ("md", "csv", "tex", "png")}
    mvl(tmp_path, f"report {runs} -o page.html --no-videos")
    assert "Highest model-success" in (tmp_path / "page.html").read_text()
