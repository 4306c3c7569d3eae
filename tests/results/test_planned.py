"""The table of plain and planned success: played once per checkpoint, kept with the run, and absent where nothing can plan."""

import json

import numpy as np
import pytest
from made_runs import TASK, experiment, made_run
from scipy.sparse import csr_matrix
from untrained import untrained_by_name

from mvl.errors import UsageError
from mvl.planning.roadmap import Roadmap
from mvl.results import planned
from mvl.results.planned import measure_plans, parts_of, planned_table, plans_of, through_walls
from mvl.results.results import Result
from mvl.runs.folder import RunFolder
from mvl.studies.job import folder_of
from mvl.studies.plan import Cell
from mvl.studies.store import runs_of
from mvl.tasks.maze import Maze

MEASURED = {"plain": [0.4], "planned": [0.9], "edges": [12.5], "unit": [0.3], "walls": [0.125], "parts": [3], "build": [2.0]}


def test_what_was_measured_is_shown_with_intervals(tmp_path):
    of = experiment()
    for seed, success in ((0, 0.4), (1, 0.6)):
        run = made_run(folder_of(of, tmp_path) / f"seeds-{seed}", of, [seed])
        (run / "plans.json").write_text(json.dumps(MEASURED | {"plain": [success]}))
    result = Result(Cell("medium", "overall", "gcivl", of), tuple(runs_of(of, tmp_path, None).finished.values()))
    table = planned_table([result], lambda line: None)
    assert "50 [0, 100]" in table.text()
    assert "90 [90, 90]" in table.text()
    assert " 12.5 " in table.text()
    assert "40.00 60.00" in table.csv()


def test_a_run_is_played_once_for_its_checkpoint(tmp_path, monkeypatch):
    run, played = untrained_by_name(tmp_path / "run", TASK), []
    monkeypatch.setattr(planned, "measure_plans", lambda run: played.append(run) or MEASURED)
    assert plans_of(run) == plans_of(run) == MEASURED
    assert played == [run]


@pytest.mark.parametrize("recipe", ["bc", "crl"])
def test_a_value_that_counts_no_steps_is_left_out(recipe, tmp_path):
    assert measure_plans(untrained_by_name(tmp_path / "run", TASK, recipe)) is None


def test_edges_through_walls_are_told_from_edges_along_them():
    """Two corridors with a wall between them, joined at their left end; the nodes lie at their right ends."""
    walls = np.array([[1, 1, 1, 1, 1], [1, 0, 0, 0, 1], [1, 0, 1, 1, 1], [1, 0, 0, 0, 1], [1, 1, 1, 1, 1]])
    maze = Maze(walls, 1.0, (0.0, 0.0))
    places = np.array([[3.0, 1.0], [2.0, 1.0], [3.0, 3.0]], np.float32)
    along, across = np.zeros((3, 3)), np.zeros((3, 3))
    along[0, 1] = along[1, 0] = across[0, 1] = across[0, 2] = 1.0
    assert through_walls(Roadmap(places, places, csr_matrix(along), 1.0), maze) == 0.0
    assert through_walls(Roadmap(places, places, csr_matrix(across), 1.0), maze) == 0.5


def test_parts_are_joined_by_short_edges_in_both_directions():
    places = np.zeros((4, 2))
    edges = np.zeros((4, 4))
    edges[0, 1] = edges[1, 0] = edges[1, 2] = 5.0
    edges[2, 1] = 30.0  # a longer edge, which does not count
    edges[2, 3] = edges[3, 2] = 5.0
    assert parts_of(Roadmap(places, places, csr_matrix(edges), 1.0), 10) == 2
    assert parts_of(Roadmap(places, places, csr_matrix(edges), 1.0), 30) == 1


def test_a_graph_that_cannot_be_built_again_is_kept(tmp_path):
    """Without its data a run cannot be measured, but plans on as before."""
    run = untrained_by_name(tmp_path / "run", TASK)
    file = RunFolder(run).graph_file
    file.write_bytes(b"a graph")
    with pytest.raises(UsageError, match="was trained on arrays"):
        measure_plans(run)
    assert file.read_bytes() == b"a graph"
