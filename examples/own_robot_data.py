"""From a lab's CSV files to a policy: import, train, judge without a robot, act by name. The core is enough.

python examples/own_robot_data.py --to arm            # about a minute; writes into the new folder arm/
python examples/own_robot_data.py --to arm --quick    # few steps, to see that it works
"""

import argparse
import csv
from pathlib import Path

import numpy as np

import mvl
from mvl.cli import main as command

QUICK = {"steps": 100, "log_every": 100, "eval_every": 100, "save_every": 100}
HEAD = ["time [s]", "shoulder [rad]", "elbow [rad]", "gripper", "shoulder_velocity", "elbow_velocity", "gripper_command"]


def record(folder: Path, episodes: int = 40, rows: int = 60) -> None:
    """Demonstrations of a two-jointed arm that moves to a place and closes its gripper there; your own files go here."""
    folder.mkdir(parents=True)
    for episode in range(episodes):
        draw = np.random.default_rng(episode)
        joints, target = draw.uniform(-1.5, 1.5, (2, 2))
        with open(folder / f"{episode}.csv", "w", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(HEAD)
            for row in range(rows):
                velocity = np.clip(3 * (target - joints) + draw.normal(0, 0.1, 2), -1, 1)
                close = float(np.linalg.norm(target - joints) < 0.1)
                lines.writerow([row / 20, *joints, close, *velocity, close])
                joints = joints + velocity / 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, required=True, help="new folder for everything")
    parser.add_argument("--quick", action="store_true", help="few steps")
    options = parser.parse_args()
    demos, data = options.to / "demos", options.to / "arm.npz"

    record(demos)
    columns = ["--observations", "shoulder", "elbow", "gripper", "--actions", "*_velocity", "gripper_command", "--time", "time"]
    command(["data", "import", str(demos), "--to", str(data), *columns])
    run = mvl.train(data, "gcivl-mvl", run=options.to / "run", **(QUICK if options.quick else {"steps": 10_000}))
    print(mvl.evaluate(run).of(0))  # measures on held-out episodes

    policy = mvl.load_policy(run)
    now = {"shoulder": 0.2, "elbow": -0.4, "gripper": 0.0}
    print("action", policy.act(now, goal={"shoulder": 1.0, "elbow": 0.5, "gripper": 1.0}))


if __name__ == "__main__":
    main()
