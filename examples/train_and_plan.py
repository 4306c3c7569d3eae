"""Train on a maze, and reach its goals with and without a plan. Needs the extra `sim`.

python examples/train_and_plan.py --to runs/maze            # some minutes
python examples/train_and_plan.py --to runs/maze --quick    # little data and few steps, to see that it works
"""

import argparse
from pathlib import Path

import numpy as np

import mvl
from mvl.cli import main as command

TASK = "pointmaze-medium-navigate-v0"
FULL = {"steps": 20_000, "eval_every": 20_000}
QUICK = {"steps": 200, "eval_every": 200, "log_every": 200, "save_every": 200, "eval_episodes": 1, "workers": 1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, required=True, help="new folder for the run; the data goes beside it")
    parser.add_argument("--quick", action="store_true", help="little data and few steps")
    options = parser.parse_args()

    data = options.to.parent / "data"
    few = ["--episodes", "5", "--workers", "1"] if options.quick else []
    if not (data / f"{TASK}-val.npz").exists():
        command(["data", "generate", TASK, "--data", str(data), *few])
    # Evaluations of this training do not plan, so it ends with the success of the policy alone.
    settings = {**QUICK, "plan_nodes": 100} if options.quick else FULL
    run = mvl.train(TASK, "gcivl-slope", data=data, run=options.to, plan="none", **settings)

    amount = {"episodes": 1, "workers": 1} if options.quick else {"episodes": 20}
    played = mvl.evaluate(run, plan="graph", **amount)
    print("with a plan, success by task:", np.round(played.per_task[0], 2))

    policy = mvl.load_policy(run, plan="graph")
    here, goal = np.array([0.0, 0.0]), np.array([20.0, 16.0])
    print("action", policy.act(here, goal), "value", policy.value(here, goal), "there is a path:", policy.reachable)


if __name__ == "__main__":
    main()
