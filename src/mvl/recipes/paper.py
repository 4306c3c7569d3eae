"""The paper's tables: the task of each row, the recipe of each column, and the published numbers (`paper_tables/`).

Numbers are percent, mean and standard deviation over the paper's seeds. Table 1's columns without MVL and table 2's EIK-HIQL
are identical to tables of other publications, which used other numbers of seeds.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from mvl.errors import unknown
from mvl.recipes.families import canonical
from mvl.tasks import find_task


class Published(NamedTuple):
    """A number of the paper, in percent."""

    table: str
    mean: float
    std: float

    def __str__(self) -> str:
        return f"{self.mean:g} ± {self.std:g}"


class Column(NamedTuple):
    """A column: a recipe, and settings that differ from its preset's."""

    recipe: str
    changes: dict[str, str] = {}


_GOALS = {name: Column(name.lower()) for name in ("VIB", "VIB-MVL", "VIP", "TRA", "BYOL", "DUAL", "DUAL-MVL")}
_TABLE_1 = {"ORIG": Column("gcivl"), "ORIG-MVL": Column("gcivl-mvl"), **_GOALS}
_TABLE_2 = {"EIK-HIQL": Column("hiql-eik"), "HIQL+MVL": Column("hiql-mvl")}
_DUALS = {"DUAL+EIK": Column("dual-eik"), "DUAL+MVL": Column("dual-mvl")}


# N is the number of neighbors. The paper calls delta a radius, a deviation and a variance; it is read as algorithm 1's viscosity,
# whose value in table 5 is the 1e-2 of this ablation (docs/parts.md).
# Each ablation keeps the other setting at the paper's value and draws neighbors independently, whatever the preset.
def _ablated(samples: int = 10, viscosity: float = 0.01) -> Column:
    settings = {"samples": samples, "viscosity": viscosity, "antithetic": False}
    return Column("dual-mvl", {f"regularizer.{name}": str(value) for name, value in settings.items()})


_NEIGHBORS = {f"N={count}": _ablated(samples=count) for count in (1, 5, 10, 20, 25)}
_RADII = {f"delta={text}": _ablated(viscosity=float(text)) for text in ("1e-4", "1e-3", "1e-2", "1e-1", "1e1")}
_PIXELS = {"GCIVL-PIXEL": "gcivl", "GCIVL-PIXEL-EIK": "gcivl-eik", "GCIVL-PIXEL+MVL (OURS)": "gcivl-mvl"}
_FAMILIES = {name: Column(name.lower()) for name in ("BC", "FBC", "CRL", "QRL", "TDP", "COE", "TRL")}


@dataclass(frozen=True)
class Table:
    """A table of the paper."""

    title: str
    columns: dict[str, Column]
    setting: bool = False
    """Whether the column `task` of the CSV file names the setting, which is the column of the table."""
    parts: bool = False
    """Whether every row has a line for each of its tasks or subtasks."""
    average: str = ""
    """Name of the row with the averages over all others; empty if there is none."""
    in_points: bool = False
    """Whether cells are highlighted within 5 points of the best in their row, rather than within 5 percent of it."""
    source: frozenset[str] = field(default_factory=frozenset)
    """Recipes whose numbers were published first by the work that the paper compares with, under a protocol of its own."""


TABLES = {
    "table1": Table("Representations on GCIVL", _TABLE_1, average="AVERAGE"),
    "table2": Table(
        "Mollified and Eikonal, on HIQL and on dual goals",
        {**_TABLE_2, **_DUALS},
        in_points=True,
        source=frozenset({"hiql", "hiql-eik"}),
    ),
    "table3a": Table("Mollified and Eikonal on noisy data", _DUALS),
    "table3b": Table("Neighbors N and radius delta on pointmaze", {**_NEIGHBORS, **_RADII}, setting=True),
    "table7": Table(
        "Powderworld from pixels",
        {name: Column(recipe) for name, recipe in _PIXELS.items()},
    ),
    "table8": Table("Neighbors N and radius delta", {**_NEIGHBORS, **_RADII}, setting=True),
    "table9": Table("Kitchen, subtask by subtask", {**_TABLE_1}, parts=True),
    "table10": Table("Oracle goals", {**_FAMILIES, "IVL": Column("gcivl"), "MVL": Column("gcivl-mvl")}, parts=True),
}

TASKS = {
    **{name: f"{name}-navigate-v0" for name in ("pointmaze-medium", "pointmaze-large", "antmaze-medium", "antmaze-large")},
    **{f"humanoid-{size}": f"humanoidmaze-{size}-navigate-v0" for size in ("medium", "large")},
    "antsoccer-arena": "antsoccer-arena-navigate-v0",
    **{name: f"{name}-play-v0" for name in ("cube-single", "cube-double", "puzzle-3x3", "puzzle-4x4")},
    **{name: f"{name}-v0" for name in ("cube-single-play", "scene-play")},
    **{f"D4RL/kitchen-{name}": f"kitchen-{name}-v2" for name in ("partial", "mixed", "complete")},
    **{f"D4RL/Kitchen-{name.title()}": f"kitchen-{name}-v2" for name in ("partial", "mixed", "complete")},
    **{f"point-nav-{size}": f"pointmaze-{size}-navigate-v0" for size in ("medium", "large", "giant", "teleport")},
    **{f"point-stitch-{size}": f"pointmaze-{size}-stitch-v0" for size in ("medium", "teleport")},
    **{f"ant-nav-{size}": f"antmaze-{size}-navigate-v0" for size in ("medium", "large", "giant", "teleport")},
    **{f"soccer-{kind}-{size}": f"antsoccer-{size}-{full}-v0" for kind, full in (("nav", "navigate"), ("stitch", "stitch"))
       for size in ("arena", "medium")},
    **{f"{name}-noisy": f"{name}-noisy-v0" for name in ("scene", "cube-single", "cube-double", "puzzle-4x4", "puzzle-4x5")},
    **{f"powderworld-{size}": f"powderworld-{size}-play-v0" for size in ("easy", "medium", "hard")},
}  # fmt: skip
"""Tasks by the paper's names; table 10 uses OGBench's names."""


SOURCE_STEPS = 100_000
"""Steps of EIK-HIQL on point mazes in the work that published it."""


class Place(NamedTuple):
    """Place of a number in a table: the row, the part of the row (`overall` or a task's name), the column."""

    row: str
    part: str
    column: str


@cache
def cells(table: str) -> dict[Place, Published]:
    """All numbers of a table as in the paper, by place."""
    about = named(table)
    with open(Path(__file__).parent / "paper_tables" / f"{table}.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    found = {}
    columns = {name.upper(): name for name in about.columns}  # table 9 writes Orig for ORIG
    for line in lines:
        column = line["task"] if about.setting else columns[line["method"].upper()]
        part = line["task"] if about.parts else "overall"
        found[Place(line["env"], part, column)] = Published(table, float(line["mean"]), float(line["std"]))
    return found


def named(table: str) -> Table:
    """The table of this name; raises if there is none."""
    if table not in TABLES:
        raise unknown("table", table, TABLES)
    return TABLES[table]


def rows(table: str) -> list[str]:
    """Names of the rows of a table, in the paper's order."""
    return list(dict.fromkeys(place.row for place in cells(table) if place.row != named(table).average))


def parts(table: str, row: str) -> list[str]:
    """Parts of a row: `overall`, and in some tables each of its tasks."""
    return list(dict.fromkeys(place.part for place in cells(table) if place.row == row)) or ["overall"]


def task_of(row: str) -> str:
    """Name of the task of a row; the row itself if the paper uses the name of the task."""
    return TASKS.get(row, row)


def cell(table: str, row: str, column: str, part: str = "overall") -> Published | None:
    """The paper's number at this place; None if there is none."""
    return cells(table).get(Place(row, part, column))


def average(table: str, rows_of_column: Sequence[str], column: str) -> Published | None:
    """The paper's average of a column over some rows: the mean of their means, and the mean of their deviations.

    Over all rows it is the number that the paper prints. None if the paper lacks one of the rows or has no averages.
    """
    about, found = named(table), [cell(table, row, column) for row in rows_of_column]
    if not about.average or not found or None in found:
        return None
    if set(rows_of_column) == set(rows(table)):
        return cell(table, about.average, column)
    known = [published for published in found if published]
    means, deviations = zip(*((published.mean, published.std) for published in known), strict=True)
    return Published(table, round(fmean(means)), round(fmean(deviations)))


def source_settings(recipe: str, table: str, task: str, steps: int) -> dict[str, str] | None:
    """Settings of the protocol under which a column was published first; None if that is the paper's own.

    EIK-HIQL was trained for 100k steps on point mazes, evaluated every 10k (its repository), and elsewhere as in the paper; a
    preset with fewer steps keeps its own.
    """
    if canonical(recipe) not in named(table).source:
        return None
    shorter = find_task(task).world.startswith("pointmaze") and steps > SOURCE_STEPS
    return {"steps": str(SOURCE_STEPS), "eval_every": str(SOURCE_STEPS // 10)} if shorter else {}


def cells_for(task: str, recipe: str) -> list[Published]:
    """All overall numbers of the paper for a task and a recipe with the settings of its preset."""
    wanted, usual = _equivalent(task), Column(canonical(recipe))
    return [
        published
        for table, about in TABLES.items()
        for place, published in cells(table).items()
        if place.part == "overall" and place.row != about.average
        if _equivalent(task_of(place.row)) == wanted and about.columns[place.column] == usual
    ]


def _equivalent(task: str) -> str:
    """The task's name; in a point maze oracle goals equal observations, so both tasks have the same results."""
    found = find_task(task)
    return found.dataset if found.world.startswith("pointmaze") else found.name
