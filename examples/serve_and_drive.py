"""Serve a policy, and drive a simulated arm with it over the network. Needs the extras `serve` and `sim`.

python examples/serve_and_drive.py --to runs/served            # some minutes
python examples/serve_and_drive.py --to runs/served --quick    # few demonstrations and steps, to see that it works
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

import mvl
from mvl.client import Client

sys.path.append(str(Path(__file__).parent / "arm"))
from demonstrator import demonstrate
from env import make

QUICK = {"steps": 100, "log_every": 100, "eval_every": 100, "save_every": 100}
FULL = {"steps": 12_000, "eval_every": 12_000}


def train(run: Path, quick: bool) -> np.ndarray:
    """Train on scripted demonstrations (your own: own_robot_data.py), and return the largest actions."""
    shown = [demonstrate(np.random.default_rng(seed)) for seed in range(10 if quick else 200)]
    largest = np.abs(np.concatenate([one.actions for one in shown])).max(axis=0)
    data = mvl.Dataset.from_episodes([(one.observations, one.actions / largest) for one in shown])
    mvl.train(data, "gcivl-mvl", run=run, **(QUICK if quick else FULL))
    return largest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, required=True, help="new folder for the run")
    parser.add_argument("--quick", action="store_true", help="few demonstrations and steps")
    options = parser.parse_args()
    largest, env = train(options.to, options.quick), make()
    words = [sys.executable, "-m", "mvl", "serve", str(options.to), "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = next(found[0] for line in server.stdout if (found := re.search(r"ws://\S+", line)))
            with Client(address, timeout=60) as client:
                for episode in range(1 if options.quick else 10):
                    observation, about = env.reset(seed=episode, options={"task_id": 2})
                    client.reset()
                    success = ended = False
                    while not success and not ended:
                        answer = client.infer({"observation": observation, "goal": about["goal"]})
                        observation, _, _, ended, told = env.step(answer["actions"][0] * largest)
                        success = told["success"]
                    print(f"episode {episode}: {'reached' if success else 'not reached'}")
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
