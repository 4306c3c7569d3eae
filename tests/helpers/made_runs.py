"""Run folders as training writes them, made without training; and the flags of a very small training."""

import json
from dataclasses import replace
from pathlib import Path

from conftest import walk, write_npz
from mvl.experiment import Experiment
from mvl.runs.folder import Description, RunFolder
from mvl.types import Shapes

TASK = "pointmaze-medium-navigate-v0"
STEPS = 1200
TINY = {
    **{"steps": f"{STEPS}", "eval_every": "400", "save_every": "100", "log_every": "100", "eval_episodes": "1"},
    **{"batch_size": "16", "policy.widths": "8 8"},
}
TINY_FLAGS = [word for name, text in TINY.items() for word in (f"--{name.replace('_', '-')}", *text.split())]


def experiment(recipe: str = "gcivl", preset: str = "cpu", task: str = TASK, **settings: str) -> Experiment:
    """An experiment with these settings; `value__widths` stands for `value.widths`."""
    changes = {name.replace("__", "."): text for name, text in settings.items()}
    return Experiment.from_preset(task, recipe, preset).with_settings(changes)


def made_run(path: Path, of: Experiment, seeds: list[int], success: float = 0.5, until: int | None = None) -> Path:
    """A run with all scheduled evaluations, up to its last step or to step `until`."""
    origin = {"path": "walk.npz", "sha256": "f" * 64}
    description = Description(replace(of, seeds=tuple(seeds)), of.recipe, Shapes(2, 2, 2), origin)
    folder = RunFolder.create(path, description)
    steps = of.schedule.steps
    rows = [
        {"step": step, "seed": seed, "overall": success, "tasks": [success] * 4 + [1.0], "validation/value/loss": success}
        for step in range(of.schedule.eval_every, (until or steps) + 1, of.schedule.eval_every)
        for seed in seeds
    ]
    folder.evaluations_file.write_text("".join(json.dumps(row | {"validation/policy/loss": 1.0}) + "\n" for row in rows))
    times = [{"step": step, "steps_per_second": 1.0, "time": 1000.0 + step} for step in (0, until or steps)]
    folder.timing_file.write_text("".join(json.dumps(row) + "\n" for row in times))
    return path


def write_walks(folder: Path, task: str = TASK) -> Path:
    """Random walks as the training and validation files of a task."""
    for name, seed in ((f"{task}.npz", 0), (f"{task}-val.npz", 1)):
        write_npz(folder / name, walk(seed=seed))
    return folder
