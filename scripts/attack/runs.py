"""Damaged run folders: each has to be restored as it was trained, or refused in one sentence that names the file."""

import json
import shutil
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from attack.damage import damaged
from attack.experiments import changed
from mvl.deploy import goals
from mvl.errors import MvlError
from mvl.learn import checkpoint
from mvl.planning.following import Follower
from mvl.planning.storage import Stored
from mvl.planning.storage import load as load_graph
from mvl.results.planned import plans_of
from mvl.runs import metrics
from mvl.runs.folder import Description, RunFolder
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
        change(file, generator)
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


def change(file: Path, generator: np.random.Generator) -> None:
    """Damage a file, or write an odd one: JSON with other entries, arrays with other numbers and a correct checksum."""
    made = bool(generator.integers(2))
    if made and file.suffix == ".json":
        file.write_text(json.dumps(changed(json.loads(file.read_bytes()), generator)))
    elif made and file.suffix == ".safetensors":
        arrays, notes = checkpoint.load_arrays(file)
        name = sorted(arrays)[generator.integers(len(arrays))]
        arrays[name] = odd(arrays[name], generator)
        checkpoint.save(file, arrays, {key: note for key, note in notes.items() if key not in ("format", "sha256")})
    else:
        file.write_bytes(damaged(file.read_bytes(), generator))


def odd(array: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """An array with one number, its sign, order, length, shape or type changed."""
    made = array.copy()
    numbers = np.array([0, -1, 7, 1e9, np.inf, np.nan])
    with np.errstate(invalid="ignore", over="ignore"):
        number = generator.choice(numbers if made.dtype.kind == "f" else numbers[:4]).astype(made.dtype)
    made.reshape(-1)[generator.integers(max(1, made.size)) :][:1] = number
    choices = [made, made, made, array[..., None], array.reshape(-1), array.astype(np.float64), array.astype(np.int8)]
    if array.ndim:
        choices += [array[::-1], array[:-1], array[:0], np.concatenate([array, array])]
    return np.ascontiguousarray(choices[generator.integers(len(choices))])


def read(run: Path) -> None:
    """Read everything in a run folder, as the commands do."""
    folder = RunFolder(run)
    description, _, _ = restore(run)
    metrics.read(folder.metrics_file)
    metrics.read(folder.evaluations_file)
    if folder.graph_file.exists():
        plan(load_graph(folder.graph_file), description)
    goals.load_goals(run, description)
    saved_measures(run)
    plans_of(run)


def plan(stored: Stored, description: Description) -> None:
    """Plan on a graph that fits its run, with steps as the crow flies: a child process cannot compute the value's."""
    sizes = [array.shape[1] for array in stored.places]
    if sizes != [description.shapes.observation, description.shapes.goal] * 2:
        return
    straight = lambda observations, goals: np.linalg.norm(observations - goals, axis=-1)
    for roadmap in stored.roadmaps:
        follower = Follower(stored.graph, roadmap, straight, warn=lambda text: None)
        follower.begin(roadmap.observations[:2], roadmap.goals[-2:])
        follower.path(0)
