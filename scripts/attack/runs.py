"""Damaged run folders: each has to be restored as it was trained, or refused in one sentence that names the file."""

import shutil
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from attack.damage import damaged
from mvl.deploy import goals
from mvl.errors import MvlError
from mvl.planning.storage import load as load_graph
from mvl.results.planned import plans_of
from mvl.runs import metrics
from mvl.runs.folder import RunFolder
from mvl.runs.judging import saved_measures
from mvl.runs.restore import restore


def write(folder: Path) -> None:
    """Train a tiny run with a graph and a named goal."""
    from mvl import load_policy, train

    random = np.random.default_rng(0)
    for part, rows in (("", 120), ("-val", 40)):
        walk = np.cumsum(random.normal(size=(rows, 2)), axis=0).astype(np.float32)
        actions = random.uniform(-1, 1, (rows, 2)).astype(np.float32)
        np.savez(folder / f"walk{part}.npz", observations=walk, actions=actions, terminals=np.arange(rows) % 40 == 39)
    sizes: dict[str, Any] = {
        "value.widths": (8,),
        "policy.widths": (8,),
        "batch_size": 8,
        "steps_per_dispatch": 10,
        "plan_nodes": 20,
    }
    train(folder / "walk.npz", "gcivl-mvl", run=folder / "run", steps=20, eval_every=20, log_every=10, save_every=20, **sizes)
    goals.add_goal(folder / "run", "corner", np.zeros(2))
    load_policy(folder / "run", plan="graph")


def case(number: int, generator: np.random.Generator, written: Path, scratch: Path) -> str:
    """Outcome of one case: accepted, refused, or what went wrong."""
    folder = scratch / str(number)
    shutil.copytree(written / "run", folder)
    files = sorted(file for file in folder.iterdir() if file.suffix != ".png")
    file = files[number % len(files)]
    if number >= len(files):  # the first case of each file is intact
        file.write_bytes(damaged(file.read_bytes(), generator))
    try:
        read(folder)
        return "accepted"
    except MvlError as error:
        text = str(error)
        named = str(folder) in text and "\n" not in text
        return "refused" if named else f"refused without the file, or in several lines: {text}"
    except Exception:
        return f"foreign exception in {file.name}:\n{traceback.format_exc()}"
    finally:
        shutil.rmtree(folder)


def read(run: Path) -> None:
    """Read everything in a run folder, as the commands do."""
    folder = RunFolder(run)
    description, _, _ = restore(run)
    metrics.read(folder.metrics_file)
    metrics.read(folder.evaluations_file)
    if folder.graph_file.exists():
        load_graph(folder.graph_file)
    goals.load_goals(run, description)
    saved_measures(run)
    plans_of(run)
