"""The results of a plan as a table: for the terminal, Markdown, CSV and LaTeX."""

import csv
import io
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from mvl.experiment import Experiment
from mvl.files import atomic
from mvl.recipes.families import canonical
from mvl.results.aggregate import MEANING, across
from mvl.results.results import Result
from mvl.studies.display import duration
from mvl.studies.plan import Plan
from mvl.studies.store import spent

AGREEMENT = (
    "Success in percent, mean over seeds with a 95 % interval (Student's), each seed the mean of its last three evaluations. "
    "Agreement: = where the interval and the paper's mean ± std overlap, > where ours lies above, < below, "
    "? where one seed cannot say."
)


def compute(found: list[Result]) -> str:
    """All the work behind the table."""
    runs = {seed.run for result in found for seed in result.seeds}
    return f"{len(runs)} finished runs, {duration(sum(spent(run) for run in runs))} of process time in all"


def text(plan: Plan, found: list[Result]) -> str:
    """For the terminal: a line per cell, rows of the table apart."""
    head = ("", "", "ours", "paper", "", "seeds", "steps")
    lines, before = [head], ""
    for result in found:
        cell = result.cell
        row = cell.row if cell.part == "overall" else f"{cell.row} {cell.part}"
        numbers = (str(len(result.seeds)), str(result.steps)) if result.seeds else ("", "")
        shown = "" if row == before else row
        lines.append((shown, cell.column, result.ours, result.theirs(plan.name), result.agreement, *numbers))
        before = row
    whole = [("", "interquartile mean", ""), *((line.column, *line.words) for line in across(found))]
    also = [*aligned(whole), "", textwrap.fill(MEANING, 100), ""] if len(whole) > 1 else []
    meaning = [textwrap.fill(AGREEMENT, 100), ""]
    return "\n".join([f"{plan.name}: {plan.title}", *aligned(lines), "", *meaning, *also, f"{compute(found)}."])


def aligned(lines: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns of words below each other."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def markdown(plan: Plan, found: list[Result]) -> str:
    """A line per cell, as GitHub shows it."""
    head = f"## {plan.name}: {plan.title}\n\n{AGREEMENT}\n\n| row | column | ours | paper | | seeds | steps |\n"
    head += "|---|---|---|---|---|---|---|\n"
    lines = []
    for result in found:
        cell = result.cell
        row = cell.row if cell.part == "overall" else f"{cell.row} {cell.part}"
        mark = result.agreement.replace("<", "\\<").replace(">", "\\>")
        numbers = f"{len(result.seeds)} | {result.steps if result.seeds else ''}"
        lines.append(f"| {row} | {cell.column} | {result.ours} | {result.theirs(plan.name)} | {mark} | {numbers} |")
    whole = [f"| {line.column} | {' | '.join(line.words)} |" for line in across(found)]
    also = (
        "\n".join(["", "", MEANING, "", "| column | interquartile mean | probability |", "|---|---|---|", *whole])
        if whole
        else ""
    )
    return head + "\n".join(lines) + also + f"\n\n{compute(found)}.\n"


def as_csv(plan: Plan, found: list[Result]) -> str:
    text = io.StringIO()
    names = ["row", "part", "column", "task", "recipe", "changes", "preset", "steps", "seeds", "mean", "low", "high"]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [*names, "per_seed", "per_task", "paper_mean", "paper_std", "paper_table", "agreement", "data_sha256", "seconds"]
    )
    for result in found:
        cell, experiment, paper = result.cell, result.cell.experiment, result.cell.paper
        what = (
            [str(experiment.task), canonical(experiment.recipe_name), _changes(experiment), experiment.preset]
            if experiment
            else [""] * 4
        )
        numbers = [f"{value:.2f}" for value in result.estimate] if result.estimate else ["", "", ""]
        published = [paper.mean, paper.std, paper.table] if paper else ["", "", ""]
        data = " ".join(sorted({seed.data[:12] for seed in result.seeds}))
        seconds = round(sum(spent(run) for run in {seed.run for seed in result.seeds}))
        per_seed = " ".join(f"{value:.2f}" for value in result.values)
        place = [cell.row, cell.part, cell.column, *what, result.steps, len(result.seeds)]
        tasks = np.mean([seed.tasks for seed in result.seeds], axis=0) if result.seeds else []
        per_task = " ".join(f"{100 * value:.2f}" for value in tasks)
        writer.writerow([*place, *numbers, per_seed, per_task, *published, result.agreement, data, seconds])
    return text.getvalue()


def _changes(experiment: Experiment) -> str:
    return " ".join(f"{name}={value.replace(' ', ',')}" for name, value in experiment.changes().items())


def latex(plan: Plan, found: list[Result]) -> str:
    """A tabular of the paper's shape: rows by columns, ours above the paper's."""
    columns = list(dict.fromkeys(result.cell.column for result in found))
    rows = list(dict.fromkeys((result.cell.row, result.cell.part) for result in found))
    by_place = {(result.cell.row, result.cell.part, result.cell.column): result for result in found}
    escape = lambda text: (
        text.replace("_", r"\_").replace("%", r"\%").replace("±", r"$\pm$").replace("<", "$<$").replace(">", "$>$")
    )
    lines = [
        rf"\begin{{tabular}}{{l{'r' * len(columns)}}}",
        r"\hline",
        " & ".join(["", *map(escape, columns)]) + r" \\",
        r"\hline",
    ]
    for row, part in rows:
        cells = [by_place[row, part, column] for column in columns]
        label = row if part == "overall" else f"{row} {part}"
        ours = [f"{cell.ours if cell.seeds else '--'} {cell.agreement}".strip() for cell in cells]
        lines.append(escape(" & ".join([label, *ours])) + r" \\")
        lines.append(escape(" & ".join([r"\quad paper", *(cell.theirs(plan.name) for cell in cells)])) + r" \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}", f"% {AGREEMENT}".replace("±", "+-")]) + "\n"


def write(plan: Plan, found: list[Result], folder: Path) -> list[Path]:
    """NAME.md, NAME.csv and NAME.tex, anew."""
    return write_texts(folder, plan.name, {"md": markdown(plan, found), "csv": as_csv(plan, found), "tex": latex(plan, found)})


def write_texts(folder: Path, name: str, texts: Mapping[str, str]) -> list[Path]:
    """A file for each text, by its ending."""
    paths = []
    for ending, text in texts.items():
        paths.append(folder / f"{name}.{ending}")
        with atomic(paths[-1]) as partial:
            partial.write_text(text)
    return paths


def piped(head: tuple[str, ...], lines: Sequence[tuple[str, ...]]) -> str:
    """A table as GitHub shows it."""
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ("---",) * len(head), *lines])
