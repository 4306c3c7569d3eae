"""How well held-out measures rank policies: Kendall's tau with success, for runs that were evaluated in a simulator.

`--work FOLDER` trains the policies of docs/results/held-out/study.toml first, in that folder; the same command continues after a
stop. `--runs FOLDER ...` takes all runs below some folders instead. Writes ranking.md, ranking.csv and policies.csv.
"""

import argparse
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import kendalltau

from mvl import registry
from mvl.evaluation.held_out.measures import MEASURES, Measure
from mvl.results.table import Table
from mvl.runs import metrics
from mvl.runs.folder import RunFolder
from mvl.runs.judging import measures_of

ROOT = Path(__file__).resolve().parents[1]
STUDY = ROOT / "docs" / "results" / "held-out" / "study.toml"
RESAMPLES = 2000
MEANING = (
    "tau: Kendall's rank correlation of a measure with success in the simulator, over policies, with a 95 % bootstrap interval; "
    "1 if the measure orders them as success does. picked: success in percent of the policy that the measure ranks first; best: "
    "the highest success of any. A measure of the value leaves out recipes that learn none."
)


@dataclass(frozen=True)
class PolicySet:
    """Policies of one task to train: an entry of the study."""

    name: str
    task: str
    policies: list[str]
    """Recipe and number of steps, separated by a space."""
    prepare: list[str] = field(default_factory=list)
    """Commands that make the data file `task`, unless it exists."""
    arguments: str = ""
    """Of `mvl sweep`."""
    settings: str = ""
    """Of `mvl train`."""

    def commands(self, work: Path) -> list[list[str]]:
        """The commands to run in the root of the repository; {work} stands for the folder."""
        task = self.task.format(work=work)
        made = [] if Path(task).exists() else [shlex.split(command.format(work=work)) for command in self.prepare]
        recipes = ["{0}+steps={1}+eval_every={1}".format(*policy.split()) for policy in self.policies]
        words = ["mvl", "sweep", "--name", self.name, "--tasks", task, "--recipes", *recipes, "--preset", "cpu"]
        words += ["--store", str(work / self.name), *shlex.split(self.arguments)]
        return [*made, [*words, "--", *shlex.split(self.settings)]]


class Policy(NamedTuple):
    """A trained policy with its success and its measures."""

    task: str
    name: str
    """Recipe and steps."""
    seed: int
    success: float
    """From 0 to 1, at the last evaluation."""
    measures: dict[str, float]


class Ranking(NamedTuple):
    """How well a measure ranks policies."""

    tau: float
    low: float
    high: float
    policies: int
    picked: float
    """Success of the policy that it ranks first."""


def ranking(measure: Measure, policies: Sequence[Policy], seed: int = 0) -> Ranking:
    """Kendall's tau of a measure with success, over the policies that have the measure; 0 where all of them are equal."""
    known = [policy for policy in policies if measure.name in policy.measures]
    scores = np.array([policy.measures[measure.name] for policy in known]) * (1 if measure.higher_is_better else -1)
    success = np.array([policy.success for policy in known])
    drawn = np.random.default_rng(seed).integers(len(known), size=(RESAMPLES, len(known)))
    low, high = np.quantile([tau(scores[rows], success[rows]) for rows in drawn], [0.025, 0.975])
    return Ranking(tau(scores, success), float(low), float(high), len(known), float(success[scores.argmax()]))


def tau(scores: np.ndarray, success: np.ndarray) -> float:
    """Kendall's rank correlation; 0 if one of the two is constant."""
    found = float(kendalltau(scores, success).statistic)
    return 0.0 if np.isnan(found) else found


def policies_of(run: Path) -> list[Policy]:
    """The seeds of a run, empty unless its checkpoint was evaluated in an environment."""
    folder, description = RunFolder.open(run)
    rows = {row["seed"]: row for row in metrics.read(folder.evaluations_file) if "overall" in row}
    if not rows or not folder.checkpoint_file.exists():
        return []
    judged, experiment = measures_of(run), description.experiment
    assert judged is not None, "there is a checkpoint"
    last = {seed: row for seed, row in rows.items() if row["step"] == judged.step}
    name = f"{experiment.recipe_name} {judged.step}"
    return [Policy(description.task.label, name, seed, row["overall"], judged.of(seed)) for seed, row in last.items()]


def tables(policies: Sequence[Policy]) -> tuple[Table, Table]:
    """The measures of every task, best first, and all policies."""
    rows, csv_rows = [], []
    for task in dict.fromkeys(policy.task for policy in policies):
        own = [policy for policy in policies if policy.task == task]
        best = max(policy.success for policy in own)
        found = {name: ranking(measure, own) for name, measure in MEASURES.items() if any(name in one.measures for one in own)}
        for name, ranked in sorted(found.items(), key=lambda item: -item[1].tau):
            interval = f"{ranked.tau:.2f} [{ranked.low:.2f}, {ranked.high:.2f}]"
            rows.append([task, name, interval, ranked.policies, f"{100 * ranked.picked:.0f}", f"{100 * best:.0f}"])
            csv_rows.append([task, name, *(f"{value:.6g}" for value in (*ranked, best))])
    numbers = Table(["task", "measure", *Ranking._fields, "best"], csv_rows)
    shown = Table(["task", "measure", "tau", "policies", "picked", "best"], rows, notes=[MEANING], as_csv=numbers)
    each = [[*policy[:3], policy.success, *(policy.measures.get(name, "") for name in MEASURES)] for policy in policies]
    return shown, Table(["task", "policy", "seed", "success", *MEASURES], each)


def run(words: list[str]) -> None:
    """Run a command of this Python's environment in the root of the repository; ends this script if it fails."""
    program = [sys.executable, "-m", "mvl"] if words[0] == "mvl" else [sys.executable]
    done = subprocess.run([*program, *words[1:]], cwd=ROOT)
    if done.returncode:
        sys.exit(f"'{shlex.join(words)}' stopped with exit code {done.returncode}; the same command continues.")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--work", type=Path, help="folder in which the policies of the study are trained")
    what.add_argument("--runs", type=Path, nargs="+", help="folders with runs, instead of the study's")
    parser.add_argument("--only", nargs="+", default=[], metavar="SET", help="train these sets of the study only")
    parser.add_argument("--at-once", default="2", help="runs at the same time")
    parser.add_argument("--parts", action="append", default=["examples/arm/env.py"], help="modules that runs need")
    parser.add_argument("--to", type=Path, default=STUDY.parent, help="folder of the tables")
    options = parser.parse_args(argv)
    if options.work:
        work = options.work.resolve()
        for entry in tomllib.loads(STUDY.read_text())["set"]:
            if not options.only or entry["name"] in options.only:
                for words in PolicySet(**entry).commands(work):
                    run([*words[:2], "--at-once", options.at_once, *words[2:]] if words[:2] == ["mvl", "sweep"] else words)
    for module in options.parts:
        registry.import_module(str(ROOT / module) if module.endswith(".py") else module)
    folders = [options.work] if options.work else options.runs
    found = sorted(file.parent for folder in folders for file in folder.rglob("run.json"))
    policies = [policy for path in found for policy in policies_of(path)]
    shown, each = tables(policies)
    print(shown.text())
    shown.write(options.to, "ranking", ("md", "csv"))
    each.write(options.to, "policies", ("csv",))


if __name__ == "__main__":
    main()
