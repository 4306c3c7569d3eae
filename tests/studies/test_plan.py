"""What is wanted, what is there, what is left: on run folders made by hand."""

import json
from dataclasses import replace

import pytest
from made_runs import TASK, TINY, experiment, made_run

from mvl.errors import MvlError, UsageError
from mvl.experiment import Experiment
from mvl.studies.job import Job, folder_name, folder_of
from mvl.studies.plan import Plan, Wanted, paper_cells, parse_grid, sweep_cells
from mvl.studies.store import process_seconds, remaining, runs_of


def left(of: Experiment, seeds: list[int], store, together=False) -> list[tuple[str, tuple[int, ...]]]:
    return [(job.run.name, job.experiment.seeds) for job in remaining(of, seeds, store, None, together)]


def test_seeds_count_wherever_they_were_made(tmp_path):
    of = experiment()
    made_run(folder_of(of, tmp_path) / "by-hand", of, [0, 1], 0.4)
    made_run(folder_of(of, tmp_path) / "seeds-1", of, [1], 0.8)  # the same seed again
    made_run(folder_of(of, tmp_path) / "seeds-2", of, [2], 0.6, until=20)
    there = runs_of(of, tmp_path, None)
    assert {seed: round(found.overall, 6) for seed, found in there.finished.items()} == {0: 0.4, 1: 0.4}
    assert left(of, [0, 1, 2, 3], tmp_path) == [("seeds-2", (2,)), ("seeds-3", (3,))]


def test_seeds_are_trained_together_where_that_is_asked_for(tmp_path):
    of = experiment()
    made_run(folder_of(of, tmp_path) / "seeds-1", of, [1])
    assert left(of, [0, 1, 2, 3], tmp_path, together=True) == [("seeds-0", (0,)), ("seeds-2-3", (2, 3))]


def test_a_run_with_other_settings_is_not_counted_and_not_touched(tmp_path):
    of = experiment()
    made_run(folder_of(of, tmp_path) / "by-hand", experiment(steps="10000"), [0])
    assert runs_of(of, tmp_path, None).finished == {}
    made_run(folder_of(of, tmp_path) / "seeds-0", experiment(discount="0.9"), [0])
    with pytest.raises(MvlError, match="trained with other settings"):
        remaining(of, [0], tmp_path, None, False)


def test_a_row_that_is_being_written_is_not_read(tmp_path):
    of = experiment()
    run = made_run(folder_of(of, tmp_path) / "seeds-0", of, [0])
    file = run / "evaluations.jsonl"
    file.write_text(file.read_text()[:-30])
    assert left(of, [0], tmp_path) == [("seeds-0", (0,))]


def test_a_folder_whose_making_was_killed_is_made_again(tmp_path):
    run = tmp_path / "seeds-0"
    run.mkdir()
    (run / ".lock").touch()
    made_run(run, experiment(), [0])
    with pytest.raises(MvlError, match="exists already and is not empty"):
        made_run(run, experiment(), [0])


def test_folders_tell_what_was_changed():
    assert folder_name(experiment("dual-mvl", regularizer__samples="1")) == "dual-mvl+regularizer.samples=1"
    assert folder_name(experiment("dual-mvl", regularizer__samples="4", log_every="100")) == "dual-mvl"
    long = experiment(**{name: text for name, text in TINY.items() if "." not in name}, value__widths=" ".join(["8"] * 60))
    assert len(folder_name(long)) < 140


def test_a_job_is_a_command_anyone_can_type(tmp_path):
    job = Job(replace(experiment("dual-mvl", regularizer__samples="1"), seeds=(2, 3)), tmp_path / "seeds-2-3")
    assert " ".join(job.command()) == (
        f"train {TASK} --recipe dual-mvl --preset cpu --regularizer.samples 1 --seeds 2 --first-seed 2 "
        f"--run {tmp_path}/seeds-2-3 --workers 1"
    )


def test_cells_with_equal_settings_share_their_runs(tmp_path):
    """N = 10 and delta = 1e-2 are one setting, which at this preset is not that of the recipe itself."""
    cells = paper_cells("table3b", [], ["N=10", "delta=1e-2", "dual-mvl", "N=1"], "cpu", Wanted())
    plan = Plan("table3b", "", cells, [0, 1], tmp_path, None, False)
    assert [cell.column for cell in cells] == ["N=10", "delta=1e-2", "dual-mvl", "N=1"]
    apart = "dual-mvl+regularizer.antithetic=False+regularizer.samples"
    assert [folder_name(one) for one in plan.experiments] == [f"{apart}=10", "dual-mvl", f"{apart}=1"]
    assert [(folder_name(job.experiment), job.experiment.seeds) for job in plan.jobs()][:4] == [
        (f"{apart}=10", (0,)),
        ("dual-mvl", (0,)),
        (f"{apart}=1", (0,)),
        (f"{apart}=10", (1,)),
    ]


def test_rows_and_columns_may_be_others_than_the_papers():
    cells = paper_cells("table1", ["pointmaze-medium-navigate", "point-nav-giant"], ["ORIG", "dual-eik"], "cpu", Wanted())
    assert [(cell.row, cell.column, str(cell.paper)) for cell in cells] == [
        ("pointmaze-medium", "ORIG", "78 ± 8"),
        ("pointmaze-medium", "dual-eik", "92 ± 1"),  # table 2 has it
        ("point-nav-giant", "ORIG", "None"),
        ("point-nav-giant", "dual-eik", "73 ± 3"),
    ]
    with pytest.raises(UsageError, match="no row named 'pointmaze-medum'; did you mean pointmaze-medium"):
        paper_cells("table1", ["pointmaze-medum"], [], "cpu", Wanted())
    with pytest.raises(UsageError, match="no column named 'ORIGG'; did you mean ORIG"):
        paper_cells("table1", [], ["ORIGG"], "cpu", Wanted())


def test_a_recipe_may_bring_settings_of_its_own():
    """Spelled as the store names its folder."""
    folder = "dual-mvl+regularizer.antithetic=False+regularizer.samples=10"
    cells = sweep_cells([TASK], ["dual", "dual-mvl", folder], "cpu", {}, Wanted())
    assert [folder_name(cell.experiment) for cell in cells] == ["dual", "dual-mvl", folder]
    assert [cell.column for cell in cells] == ["dual", "dual-mvl", folder]
    with pytest.raises(UsageError, match="dual has no setting 'regularizer.samples'"):
        sweep_cells([TASK], ["dual+regularizer.samples=10"], "cpu", {}, Wanted())
    with pytest.raises(UsageError, match="a setting is given as SETTING=VALUE"):
        sweep_cells([TASK], ["dual-mvl+regularizer.samples"], "cpu", {}, Wanted())


def test_the_table_of_images_trains_an_encoder_of_the_pair():
    cells = paper_cells("table7", [], [], "cpu", Wanted())
    assert len(cells) == 9
    assert {cell.experiment.recipe.encoder.fusion for cell in cells} == {"early"}
    assert {cell.experiment.schedule.eval_temperature for cell in cells} == {0.3}
    assert {cell.experiment.recipe_name for cell in cells} == {"gcivl", "gcivl-eik", "gcivl-mvl"}


def test_settings_reach_the_recipes_that_have_them():
    cells = paper_cells(
        "table1", ["pointmaze-medium"], ["ORIG", "DUAL-MVL"], "cpu", Wanted({"mollified.weight": "3", "steps": "200"})
    )
    assert [folder_name(cell.experiment) for cell in cells] == ["gcivl+steps=200", "dual-mvl+regularizer.weight=3.0+steps=200"]
    with pytest.raises(UsageError, match="no recipe here has a setting 'weigth'"):
        paper_cells("table1", ["pointmaze-medium"], ["ORIG"], "cpu", Wanted({"weigth": "3"}))


def test_a_grid_is_every_combination():
    cells = sweep_cells([TASK], ["gcivl-mvl"], "cpu", parse_grid(["regularizer.weight=1,10", "discount=0.9,0.99"]), Wanted())
    assert [cell.column for cell in cells][:2] == [
        "gcivl-mvl regularizer.weight=1 discount=0.9",
        "gcivl-mvl regularizer.weight=1 discount=0.99",
    ]
    assert [cell.paper for cell in cells][:3] == [None, None, None]
    assert str(cells[3].paper) == "70 ± 2"  # the preset's own settings
    with pytest.raises(UsageError, match="not 'weight'"):
        parse_grid(["weight"])


def test_settings_are_written_as_for_training():
    words = ["--steps", "100", "--steps", "200", "--value.widths", "8", "8", "--discount=0.9", "--regularizer.no-antithetic"]
    wanted = Wanted(flags=words)
    cells = paper_cells("table1", ["pointmaze-medium"], ["ORIG", "ORIG-MVL"], "cpu", wanted)
    plain, mollified = (cell.experiment.changes() for cell in cells)
    assert plain == {"steps": "200", "value.widths": "8 8", "discount": "0.9"}
    assert mollified == {**plain, "regularizer.antithetic": "False"}
    with pytest.raises(UsageError, match="no recipe here has a setting 'regularizer.no-antithetic'"):
        paper_cells("table1", ["pointmaze-medium"], ["ORIG"], "cpu", wanted)
    with pytest.raises(UsageError, match="not '200'"):
        Wanted(flags=["200"])


def test_time_spent_is_that_of_all_sessions(tmp_path):
    of = experiment(steps="5000")
    run = made_run(folder_of(of, tmp_path) / "seeds-0", of, [0])
    assert process_seconds(run) == 5000  # made by hand: from its rows alone
    events = [("began", 900.0), ("ended", 1000.0), ("began", 5000.0), ("began", 7000.0), ("ended", 7010.0)]
    clock = run.with_name("seeds-0.clock.jsonl")
    clock.write_text("".join(json.dumps({"event": event, "time": time}) + "\n" for event, time in events))
    assert process_seconds(run) == 100 + 1000 + 10  # the second was killed, and its last row is from 6000
