"""The paper's number for a task and a recipe (tables 1, 2 and 10)."""

import csv
from dataclasses import replace
from functools import cache
from pathlib import Path

from mvl.data.names import TaskName
from mvl.recipes import families

TABLES = Path(families.__file__).parent / "paper_tables"

# column: recipe
_ON_GCIVL = {"ORIG": "gcivl", "ORIG-MVL": "gcivl-mvl"}
_ON_GCIVL |= {name: name.lower() for name in ("VIB", "VIB-MVL", "VIP", "TRA", "BYOL", "DUAL", "DUAL-MVL")}
_ABLATION = {"EIK-HIQL": "hiql-eik", "HIQL+MVL": "hiql-mvl", "DUAL+EIK": "dual-eik", "DUAL+MVL": "dual-mvl"}
_ORACLE = {name: name.lower() for name in ("BC", "FBC", "CRL", "QRL", "TDP", "COE", "TRL")}
_ORACLE |= {"IVL": "gcivl", "MVL": "gcivl-mvl"}
COLUMNS = {"table1": _ON_GCIVL, "table2": _ABLATION, "table10": _ORACLE}

# what the tables call a family, in table 1 and in table 2
_LONG = {"humanoidmaze": "humanoid", "kitchen": "D4RL/kitchen"}
_SHORT = {"pointmaze": "point", "antmaze": "ant", "antsoccer": "soccer"}


def paper_cell(task: str, recipe: str) -> tuple[float, float] | None:
    """Mean and standard deviation of the success over all of a task's goals, as shares; table 1 first, then 2 and 10."""
    name = TaskName.parse(task)
    found = (_cells(table).get((row, families.canonical(recipe))) for table, row in _rows(name).items())
    return next((cell for cell in found if cell), None)


def _rows(task: TaskName) -> dict[str, str]:
    """What the tables call a task. In a point maze an oracle says what is observed anyway, so table 10 holds for both."""
    family, variant, kind = task.family, task.variant, task.kind
    rows = {}
    if not task.oracle or family == "pointmaze":
        if kind in ("navigate", "play", ""):
            rows["table1"] = f"{_LONG.get(family, family)}-{variant or kind}"
        words = (_SHORT[family], kind.replace("navigate", "nav"), variant) if family in _SHORT else (family, variant, kind)
        rows["table2"] = "-".join(filter(None, words))
    if task.oracle or family == "pointmaze":
        rows["table10"] = str(replace(task, oracle=True))
    return rows


@cache
def _cells(table: str) -> dict[tuple[str, str], tuple[float, float]]:
    """By row and recipe."""
    with open(TABLES / f"{table}.csv", newline="") as file:
        lines = [line for line in csv.DictReader(file) if table != "table10" or line["task"] == "overall"]
    columns = COLUMNS[table]
    return {(line["env"], columns[line["method"]]): (float(line["mean"]) / 100, float(line["std"]) / 100) for line in lines}
