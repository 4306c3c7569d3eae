"""Does it learn? Recipes on a task at the `cpu` preset: regularizers, representations, families, or value against imitation.

Trains every row of a table, all seeds of a row in one process, one process per core; goes on where it was stopped.
Writes the table and the numbers behind it to docs/results/.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

import numpy as np

from mvl.learn.spread import cores
from mvl.report.statistics import estimate
from mvl.runs import metrics
from mvl.runs.evaluation import reported
from mvl.runs.folder import RunFolder

RESULTS = Path(__file__).parents[1] / "docs" / "results"

REGULARIZERS: dict[str, list[str]] = {
    "none": ["--recipe", "gcivl"],
    "eikonal, weight 1": ["--recipe", "gcivl-eik"],
    **{
        f"mollified, weight {weight}, cost {cost}": [
            *["--recipe", "gcivl-mvl", "--regularizer.weight", str(weight), "--regularizer.cost", str(cost)],
        ]
        for cost in ("1.0", "auto")
        for weight in (1, 10, 100)
    },
}
REPRESENTATIONS = {name: ["--recipe", name] for name in ("vib", "vip", "tra", "byol", "dual")}
REPRESENTATIONS |= {name: ["--recipe", name] for name in ("vib-mvl", "vib-eik", "dual-mvl", "dual-eik")}
FAMILIES = {name: ["--recipe", name] for name in ("gcivl", "gcivl-mvl", "hiql", "hiql-mvl", "hiql-eik")}
FAMILIES |= {name: ["--recipe", name] for name in ("gciql", "crl", "qrl", "trl", "tdp", "coe", "bc", "fbc")}
SHORT = ["--eval-every", "10000"]
IMITATION = {"gcivl": ["--recipe", "gcivl", *SHORT], "bc": ["--recipe", "bc", "--steps", "60000", "--eval-every", "20000"]}
TABLES = {"regularizers": REGULARIZERS, "representations": REPRESENTATIONS, "families": FAMILIES, "imitation": IMITATION}

PAPER: dict[str, dict[str, str]] = {
    "pointmaze-medium-navigate": {
        **{"none": "0.78", "gcivl": "0.78", "mollified, weight 1, cost 1.0": "0.70", "gcivl-mvl": "0.70"},
        **{"vib": "0.69", "vip": "0.00", "tra": "0.03", "byol": "0.37", "dual": "0.76"},
        **{"vib-mvl": "0.92", "dual-mvl": "0.96", "dual-eik": "0.92", "hiql-eik": "0.93", "hiql-mvl": "0.95"},
    },
    "pointmaze-large-navigate": {
        **{"gcivl": "0.52, 0.48", "gcivl-mvl": "0.48, 0.79", "hiql-eik": "0.83", "hiql-mvl": "0.89"},
        **{"crl": "0.33", "qrl": "0.07", "trl": "0.33", "tdp": "0.30", "coe": "0.34", "bc": "0.25", "fbc": "0.71"},
    },
    **{"antmaze-medium-navigate": {"gcivl": "0.71"}, "cube-single-play": {"gcivl": "0.52"}},
    **{"scene-play": {"gcivl": "0.46"}, "puzzle-3x3-play": {"gcivl": "0.05"}},
}
"""Table 1 (the paper gives no weight), table 2 for dual-eik and hiql, and for large mazes table 10, whose oracle goals are
the same inputs; where both have a cell, table 1 comes first."""


def train(row: str, flags: list[str], folder: Path, core: int, options: argparse.Namespace) -> Path:
    """One row, pinned to one core."""
    run = folder / row.replace(", ", "_").replace(" ", "-")
    new = [options.task, *flags, "--preset", "cpu", "--run", str(run), "--seeds", str(options.seeds)]
    new += ["--data", str(options.data), "--workers", "1", *options.flags]
    command = ["--resume", str(run), "--workers", "1"] if (run / "run.json").exists() else new
    log = folder / f"{run.name}.log"
    with open(log, "a") as output:
        done = subprocess.run(
            [sys.executable, "-m", "mvl", "train", *command],
            stdout=output,
            stderr=output,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        )
    if done.returncode:
        raise SystemExit(f"{row} failed; see {log}")
    print(f"done: {row}", flush=True)
    return run


def summary(row: str, run: Path, task: str) -> dict[str, object]:
    """The numbers of one row: success over seeds, the share of active terms, the mean value."""
    folder, description = RunFolder.open(run)
    result = reported(metrics.read(folder.evaluations_file))
    last = [m for m in metrics.read(folder.metrics_file) if m["step"] == description.schedule.steps]
    tasks = np.mean([seed["tasks"] for seed in result.values()], axis=0)
    return {
        "recipe": row,
        "paper": PAPER.get(task, {}).get(row, ""),
        "per_seed": json.dumps([round(seed["overall"], 4) for seed in result.values()]),
        **dict(zip(("mean", "low", "high"), np.round(estimate([s["overall"] for s in result.values()]), 4), strict=True)),
        **{f"task{i + 1}": round(float(value), 3) for i, value in enumerate(tasks)},
        "active": round(float(np.mean([m.get("regularizer/active", np.nan) for m in last])), 4),
        "value_mean": round(float(np.mean([m.get("value/mean", np.nan) for m in last])), 2),
        "steps": description.schedule.steps,
        "seeds": len(result),
    }


def markdown(rows: list[dict[str, object]]) -> str:
    head = "| recipe | success [95 % interval] | task 1 | 2 | 3 | 4 | 5 | active | steps | paper (1M steps, width 512) |\n"
    lines = [head + "|---|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        tasks = " | ".join(f"{row[f'task{i}']:.2f}" for i in range(1, 6))
        active = "" if np.isnan(float(str(row["active"]))) else f"{row['active']:.3f}"
        interval = f" [{row['low']:.2f}, {row['high']:.2f}]" if int(str(row["seeds"])) > 1 else ""
        success = f"{row['mean']:.2f}{interval}"
        lines.append(f"| {row['recipe']} | {success} | {tasks} | {active} | {row['steps']} | {row['paper']} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--task", default="pointmaze-medium-navigate", help="without its version")
    parser.add_argument("--episodes", type=int, help="training episodes to generate, if there is no data yet")
    parser.add_argument("--runs", type=Path, help="folder of the runs (default: runs/TASK)")
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--table", choices=list(TABLES), default="regularizers")
    parser.add_argument("--rows", nargs="*", help="only these rows")
    parser.add_argument("flags", nargs="*", help="more flags for mvl train, after --")
    options = parser.parse_args()
    rows_of = TABLES[options.table]
    names = options.rows or list(rows_of)
    task, options.runs = options.task, options.runs or Path(f"runs/{options.task}")
    if not (options.data / f"{task}-v0.npz").exists():
        fewer = ["--episodes", str(options.episodes)] if options.episodes else []
        subprocess.run([sys.executable, "-m", "mvl", "data", "generate", task, "--data", str(options.data), *fewer], check=True)
    options.runs.mkdir(parents=True, exist_ok=True)

    free: Queue[int] = Queue()
    for core in sorted(os.sched_getaffinity(0)):
        free.put(core)

    def on_free_core(row: str) -> Path:
        core = free.get()
        try:
            return train(row, rows_of[row], options.runs, core, options)
        finally:
            free.put(core)

    with ThreadPoolExecutor(cores()) as pool:
        runs = list(pool.map(on_free_core, names))
    rows = [summary(row, run, task) for row, run in zip(names, runs, strict=True)]
    options.results.mkdir(parents=True, exist_ok=True)
    name = f"{task.removesuffix('-navigate').removesuffix('-play')}-{options.table}"
    with open(options.results / f"{name}.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    (options.results / f"{name}.md").write_text(markdown(rows) + "\n")
    print(markdown(rows))


if __name__ == "__main__":
    main()
