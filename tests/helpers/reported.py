"""Run folders for tests of reports, with metrics, evaluations and a picture that no training made."""

import json
from pathlib import Path

from matplotlib.figure import Figure
from untrained import untrained, with_evaluations

from conftest import small_recipe


def reported_run(path: Path, recipe: str = "gcivl-mvl", seeds: int = 2, **changes) -> Path:
    """An untrained run with metrics and evaluations of 3000 steps."""
    run = untrained(path, small_recipe(recipe), seeds=seeds, **changes)
    with_evaluations(run, {step: [[0.1 * step / 1000 + 0.1 * seed] * 5 for seed in range(seeds)] for step in (1000, 2000, 3000)})
    rows = [
        {"step": step, "seed": seed, "value/loss": 1000 / step + seed, "policy/loss": 2.0, "value/mean": float("nan")}
        for step in (1000, 2000, 3000)
        for seed in range(seeds)
    ]
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    figure = Figure(figsize=(8, 2))
    figure.subplots().plot([0, 1])
    figure.savefig(run / "value.png")
    return run
