"""Time of a training step in two source trees, for the plain, mollified and Eikonal recipes at the `cpu` preset.

`python benchmarks/steps.py --against REV` compares this tree with a git revision, or with another tree given by its folder.
Each tree has a process that compiles a recipe once and then trains a few steps on request. The two processes take turns, so
that other load on the machine slows both alike. Also reports whether both trees compute the same numbers.
"""

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

HERE = Path(__file__).parents[1]
RECIPES = ("gcivl", "gcivl-mvl", "gcivl-eik")
ROWS, DIMENSIONS, COMPARED_STEPS = 100_000, 2, 50
"""Size of the random data, and the number of first steps whose metrics are compared."""


def child(recipe: str, steps: int) -> None:
    """Compile, print the metrics of the first steps, then for every input line train some steps and print their seconds."""
    from mvl.bench.machine import random_walk
    from mvl.data.goals import on_device
    from mvl.learn.learner import Learner
    from mvl.learn.loop import dispatches, initial_state
    from mvl.recipes.presets import named_recipe
    from mvl.types import Shapes

    data = random_walk(DIMENSIONS, ROWS)
    learner = Learner(named_recipe(recipe, "cpu")[0].fit(data.statistics), Shapes(DIMENSIONS, DIMENSIONS, DIMENSIONS))
    rows = on_device(data)
    _, metrics = next(dispatches(learner, initial_state(learner, [0]), rows, COMPARED_STEPS, COMPARED_STEPS))
    calls = dispatches(learner, initial_state(learner, [0]), rows, 10**9, steps)
    next(calls)
    print(json.dumps({name: column.tolist() for name, column in metrics.items()}), flush=True)
    for _ in sys.stdin:
        began = time.perf_counter()
        next(calls)
        print(time.perf_counter() - began, flush=True)


class Tree:
    """A process that trains one recipe with the code of one source tree."""

    def __init__(self, folder: Path, recipe: str, steps: int, cores: int) -> None:
        command = [sys.executable, __file__, "--child", recipe, "--steps", str(steps)]
        if cores:
            command = ["taskset", "-c", f"0-{cores - 1}", *command]
        environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.steps = steps
        self.metrics: dict[str, list[list[float]]] = json.loads(self.answer())

    def answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a tree's process ended early; its message is above")
        return line

    def milliseconds(self) -> float:
        """Train some steps; returns the milliseconds per step."""
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return 1000 * float(self.answer()) / self.steps

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def unpacked(against: str, to: Path) -> Path:
    """The other tree: a folder, or the sources of a git revision."""
    if (Path(against) / "src" / "mvl").is_dir():
        return Path(against).resolve()
    archive = subprocess.run(["git", "archive", against, "src"], cwd=HERE, stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(to, filter="data")
    return to


def difference(one: Tree, other: Tree) -> str:
    """The largest difference in the metrics of the first steps, relative to the largest value of each metric."""
    if one.metrics == other.metrics:
        return "the same numbers, bit for bit"
    worst = 0.0
    for name, (column,) in one.metrics.items():
        (other_column,) = other.metrics[name]
        scale = max(map(abs, column)) or 1.0
        worst = max(worst, *(abs(a - b) / scale for a, b in zip(column, other_column, strict=True)))
    return f"numbers differ by at most {worst:.1e} of the largest"


def compare(recipe: str, other_folder: Path, options: argparse.Namespace) -> float:
    """The median over rounds of this tree's time per step / the other's; a round's time is its median, or its least."""
    one, other = (Tree(folder, recipe, options.steps, options.cores) for folder in (HERE, other_folder))
    summarize: Callable[[Iterable[float]], float] = min if options.least else statistics.median
    ratios: list[float] = []
    times: list[tuple[float, float]] = []
    for _ in range(options.rounds):
        pairs = []
        for turn in range(options.turns):
            order = (one, other) if turn % 2 else (other, one)
            measured = {tree: tree.milliseconds() for tree in order}
            pairs.append((measured[one], measured[other]))
        this_time, other_time = (summarize(side) for side in zip(*pairs, strict=True))
        ratios.append(this_time / other_time)
        times.append((this_time, other_time))
    this_time, other_time = (statistics.median(side) for side in zip(*times, strict=True))
    ratio = statistics.median(ratios)
    extremes = f"{min(ratios):.3f} to {max(ratios):.3f}"
    print(
        f"{recipe:<12}{this_time:>8.2f} ms{other_time:>8.2f} ms{ratio:>8.3f}  ({extremes}; {difference(one, other)})", flush=True
    )
    one.close()
    other.close()
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", default="HEAD", help="git revision, or folder of another tree")
    parser.add_argument("--recipes", nargs="+", default=RECIPES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turns", type=int, default=20, help="turns of each tree per round")
    parser.add_argument("--steps", type=int, default=20, help="training steps per turn")
    parser.add_argument("--cores", type=int, default=0, help="number of cores to use (default: all)")
    parser.add_argument("--least", action="store_true", help="take the least time of a round instead of its median")
    parser.add_argument("--bar", type=float, default=1.05, help="fail if a ratio is higher")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.steps)
        return
    with tempfile.TemporaryDirectory() as folder:
        other = unpacked(options.against, Path(folder))
        print(f"{'':<12}{'this tree':>11}{'other tree':>11}{'ratio':>8}", flush=True)
        worst = max(compare(recipe, other, options) for recipe in options.recipes)
    if worst > options.bar:
        raise SystemExit(f"a step takes {worst:.3f} times as long as in the other tree; the limit is {options.bar}")


if __name__ == "__main__":
    main()
