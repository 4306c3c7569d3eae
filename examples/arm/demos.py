"""Write demonstrations of the arm as a laboratory would have them: one CSV or HDF5 file per episode; README.md imports them."""

import argparse
import csv
from pathlib import Path

import numpy as np
from arm import JOINTS, RATE
from demonstrator import Demonstration, demonstrate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition(";")[0])
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER", help="new folder for the files")
    parser.add_argument("--kind", choices=("csv", "hdf5"), default="csv")
    parser.add_argument("--degrees", action="store_true", help="joints in degrees instead of radians")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first episode; each has its own")
    options = parser.parse_args()
    options.to.mkdir(parents=True)
    write = write_hdf5 if options.kind == "hdf5" else write_csv
    for number in range(options.episodes):
        columns = as_columns(demonstrate(np.random.default_rng(options.seed + number)), options.degrees)
        write(options.to / f"episode_{number:03}.{options.kind}", columns)
    print(f"{options.episodes} demonstrations in {options.to}")


def as_columns(found: Demonstration, degrees: bool) -> dict[str, np.ndarray]:
    """What is recorded of a demonstration, by name."""
    unit = np.rad2deg(1.0) if degrees else 1.0
    return {
        "time": np.arange(len(found.actions)) / RATE,
        "joint_positions": unit * found.observations[:, :JOINTS],
        "gripper": found.observations[:, JOINTS:],
        "joint_deltas": unit * found.actions[:, :JOINTS],
        "gripper_command": found.actions[:, JOINTS:],
    }


def write_hdf5(path: Path, columns: dict[str, np.ndarray]) -> None:
    import h5py

    with h5py.File(path, "x") as file:
        file.update(columns)


def write_csv(path: Path, columns: dict[str, np.ndarray]) -> None:
    """One column per number; columns of several numbers are counted from 1: joint_positions_1, ..."""
    names, values = [], []
    for name, column in columns.items():
        wide = column.reshape(len(column), -1)
        names += [name] if wide.shape[1] == 1 else [f"{name}_{number}" for number in range(1, wide.shape[1] + 1)]
        values.append(wide)
    with open(path, "x", newline="") as file:
        csv.writer(file).writerows([names, *np.concatenate(values, axis=1).round(6).tolist()])


if __name__ == "__main__":
    main()
