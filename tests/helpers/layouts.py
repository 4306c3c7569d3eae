"""Writes the same episodes in every layout that can be imported, each with the format's own library."""

import csv
import json
import os
import warnings
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from mvl.data.sources.npz import load

Pairs = list[tuple[np.ndarray, np.ndarray]]
"""Observations (rows, 2) and actions (rows, 2) of each episode."""


def made(count: int = 5, rows: int = 12, seed: int = 0) -> Pairs:
    """Random walks whose steps are a tenth of the action, as float32."""
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        actions = generator.uniform(-1, 1, (rows, 2))
        states = generator.normal(size=2) + np.concatenate([np.zeros((1, 2)), np.cumsum(0.1 * actions[:-1], axis=0)])
        found.append((states.astype(np.float32), actions.astype(np.float32)))
    return found


def write_csv(path, states, actions, heads=("t", "q0", "q1", "u0", "u1"), separator=",", extra=()):
    """One episode; `extra` are columns of text, each a head and its cells."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow([*heads, *(head for head, _ in extra)])
        for row, numbers in enumerate(np.column_stack([states, actions])):
            cells = [f"{number:.9g}" for number in (row / 20, *numbers)]
            writer.writerow([*cells, *(column[row] for _, column in extra)])


def write_csv_folder(path, pairs):
    for index, pair in enumerate(pairs):
        write_csv(path / f"{index}.csv", *pair)


def write_csv_file(path, pairs, **options):
    """All episodes in one file, told apart by a column `episode`."""
    labels = [f"demo_{index}" for index, (states, _) in enumerate(pairs) for _ in states]
    states, actions = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    write_csv(path, states, actions, extra=[("episode", labels)], **options)


def write_npz_file(path, pairs):
    states, actions = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    ends = np.concatenate([np.arange(len(states)) == len(states) - 1 for states, _ in pairs])
    np.savez(path, observations=states, actions=actions, terminals=ends)


def write_npz_folder(path, pairs):
    path.mkdir(parents=True)
    for index, (states, actions) in enumerate(pairs):
        np.savez(path / f"{index}.npz", observations=states, actions=actions)


def write_aloha(path, pairs, images=True):
    """A file per episode: positions and velocities of the joints, a camera and the action."""
    path.mkdir(parents=True)
    for index, (states, actions) in enumerate(pairs):
        with h5py.File(path / f"episode_{index}.hdf5", "w") as file:
            file.attrs["sim"] = True
            file["observations/qpos"], file["observations/qvel"] = states, np.gradient(states, axis=0)
            file["observations/qpos"].attrs["units"] = "rad"
            if images:
                file.create_dataset(
                    "observations/images/top", data=np.zeros((len(states), 4, 6, 3), np.uint8), compression="gzip"
                )
            file["action"] = actions


def write_robomimic(path, pairs, valid=()):
    """A group per episode, with observations by key; `valid` are the numbers of episodes for validation."""
    with h5py.File(path, "w") as file:
        file.create_group("data").attrs["env_args"] = json.dumps({"env_name": "Lift", "env_kwargs": {"control_freq": 20}})
        for index, (states, actions) in enumerate(pairs):
            group = file.create_group(f"data/demo_{index}")
            group.attrs["num_samples"] = len(states)
            group["obs/a_joints"], group["obs/b_gripper"] = states[:, :1], states[:, 1]
            group["obs/camera_image"] = np.zeros((len(states), 4, 4, 3), np.uint8)
            group["actions"], group["dones"] = actions, np.zeros(len(states), np.int64)
        names = [f"demo_{index}" for index in range(len(pairs))]
        if valid:
            file["mask/valid"] = np.array([names[index] for index in valid], dtype="S")
            file["mask/train"] = np.array([name for index, name in enumerate(names) if index not in valid], dtype="S")


def write_hdf5_file(path, pairs):
    states, actions = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    with h5py.File(path, "w") as file:
        file["observations"], file["actions"] = states, actions
        file["terminals"] = np.concatenate([np.arange(len(states)) == len(states) - 1 for states, _ in pairs])


def lerobot_info(pairs, version):
    names = {"observation.state": {"motors": ["shoulder", "elbow"]}, "action": ["shoulder", "elbow"]}
    features = {name: {"dtype": "float32", "shape": [2], "names": labels} for name, labels in names.items()}
    features["observation.images.top"] = {"dtype": "video", "shape": [4, 6, 3], "names": ["height", "width", "channels"]}
    totals = {"total_episodes": len(pairs), "total_frames": sum(len(states) for states, _ in pairs)}
    return {"codebase_version": version, "fps": 20, **totals, "features": features}


def lerobot_table(pairs, first):
    """Rows of episodes with LeRobot's columns, lists of fixed size as the `datasets` library writes them."""
    lengths = [len(states) for states, _ in pairs]
    vectors = [
        pa.FixedSizeListArray.from_arrays(pa.array(np.concatenate(parts).ravel()), 2) for parts in zip(*pairs, strict=True)
    ]
    frames = np.concatenate([np.arange(length) for length in lengths])
    return pa.table(
        {
            "observation.state": vectors[0],
            "action": vectors[1],
            "timestamp": (frames / 20).astype(np.float32),
            "frame_index": frames,
            "episode_index": np.repeat(np.arange(first, first + len(pairs)), lengths),
            "task": ["reach"] * len(frames),
        }
    )


def write_lerobot(path, pairs, version="v3.0", per_file=3):
    """Version 2 has a file per episode, version 3 several episodes in a file."""
    (path / "meta").mkdir(parents=True)
    (path / "meta" / "info.json").write_text(json.dumps(lerobot_info(pairs, version)))
    folder = path / "data" / "chunk-000"
    folder.mkdir(parents=True)
    step, name = (1, "episode_{:06d}.parquet") if version < "v3" else (per_file, "file-{:03d}.parquet")
    for index, first in enumerate(range(0, len(pairs), step)):
        parquet.write_table(lerobot_table(pairs[first : first + step], first), folder / name.format(index), row_group_size=7)


def write_streams(path, pairs):
    """A folder per episode: joint states at 100 Hz, commands at 20 Hz, in nanoseconds since 1970."""
    for index, (states, actions) in enumerate(pairs):
        folder = path / f"episode_{index}"
        folder.mkdir(parents=True)
        start = 1_700_000_000_000_000_000 + index * 10**12
        for topic, numbers, head, every in (("joint_states", states, "position", 5), ("cmd", actions, "velocity", 1)):
            with open(folder / f"{topic}.csv", "w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(["%time", "frame_id", f"{head}_0 [rad]", f"{head}_1 [rad]"])
                for row in range(every * (len(numbers) - 1) + 1):
                    time = start + row * 50_000_000 // every
                    writer.writerow([time, "base", *(f"{number:.9g}" for number in numbers[row // every])])


def write_minari(path: Path, pairs: Pairs) -> None:
    """A dataset recorded by Minari in an environment that plays the episodes back."""
    import gymnasium
    import minari

    before = os.environ.get("MINARI_DATASETS_PATH")
    os.environ["MINARI_DATASETS_PATH"] = str(path.parent)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            env = minari.DataCollector(gymnasium.wrappers.TimeLimit(_playback(pairs), 10_000))
            for index, (_, actions) in enumerate(pairs):
                env.reset(options={"episode": index})
                for action in actions[:-1]:
                    env.step(action)
            about = dict.fromkeys(("algorithm_name", "author", "author_email", "code_permalink"), "none")
            env.create_dataset(f"{path.name}-v0", **about)
    finally:
        os.environ.pop("MINARI_DATASETS_PATH")
        os.environ.update({} if before is None else {"MINARI_DATASETS_PATH": before})


def _playback(pairs: Pairs):
    import gymnasium

    class Playback(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
        action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)

        def reset(self, *, seed=None, options=None):
            self.rows = iter(pairs[(options or {"episode": 0})["episode"]][0])
            return next(self.rows), {}

        def step(self, action):
            state = next(self.rows)
            return state, 0.0, False, self.rows.__length_hint__() == 0, {}

    return Playback()


def same(path: Path, pairs: Pairs, held: int = 1) -> bool:
    """Whether the training and the validation file have these episodes, in order, the last `held` ones in the second."""
    for file, wanted in ((path, pairs[:-held]), (path.with_name(f"{path.stem}-val.npz"), pairs[-held:])):
        found = load(file)
        for array, place in ((found.observations, 0), (found.actions, 1)):
            if not np.allclose(array, np.concatenate([pair[place] for pair in wanted]), atol=1e-6):
                return False
        if found.lengths.tolist() != [len(states) for states, _ in wanted]:
            return False
    return True
