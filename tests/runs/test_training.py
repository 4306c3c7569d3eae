"""Training from data files without a simulator: run folders, exact resume, interruption, failure."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import jax
import numpy as np
import pytest
from untrained import MEDIUM

import mvl
from conftest import small_recipe, walk, write_npz
from mvl.errors import DataError, MvlError, StoppedError, UsageError
from mvl.learn.loop import NonFiniteLossError
from mvl.processes import Worker
from mvl.recipes.recipe import Learning
from mvl.regularizers.mollified import Mollified
from mvl.runs import metrics
from mvl.runs.folder import RunFolder
from mvl.runs.restore import restore
from mvl.runs.training import resume, train

SCHEDULE = {"steps": 40, "log_every": 10, "eval_every": 20, "save_every": 20, "steps_per_dispatch": 10}


def files(path):
    return {name: (path / name).read_bytes() for name in ("checkpoint.safetensors", "metrics.jsonl", "evaluations.jsonl")}


def small_train(data_file, run, **changes):
    return train(data_file, small_recipe(), run=run, **{**SCHEDULE, **changes})


def test_a_run_folder_tells_everything(data_file, tmp_path):
    path = small_train(data_file, tmp_path / "run", seeds=2, first_seed=5)
    folder, description = RunFolder.open(path)
    assert description.experiment.seeds == (5, 6)
    assert description.fitted == small_recipe(learning=Learning(batch_size=16, normalize=True))
    raw = json.loads(folder.description_file.read_text())
    assert raw["versions"]["jax"] == jax.__version__
    assert raw["git"] is None or len(raw["git"]["commit"]) == 40
    assert len(raw["data"]["sha256"]) == 64
    rows = metrics.read(folder.metrics_file)
    assert [(row["step"], row["seed"]) for row in rows] == [(s, seed) for s in (10, 20, 30, 40) for seed in (5, 6)]
    assert {"value/loss", "policy/loss", "regularizer/loss", "regularizer/active"} <= rows[0].keys()
    evaluations = metrics.read(folder.evaluations_file)
    assert [row["step"] for row in evaluations] == [20, 20, 40, 40]
    assert "validation/value/loss" in evaluations[0]


def test_killed_and_resumed_equals_unbroken_bit_for_bit(data_file, tmp_path):
    """2N steps at once == N steps, process killed with more already written, then resumed to 2N."""
    whole = small_train(data_file, tmp_path / "whole", seeds=2)
    script = (
        "import sys, os, mvl.runs.session as s, mvl.runs.training as t\n"
        "sys.path.insert(0, sys.argv[3]); from conftest import small_recipe\n"
        "after = s.Session._after_dispatch\n"
        "def dying(self, state, step, *rest):\n"
        "    after(self, state, step, *rest)\n"
        "    if step == 30: os.kill(os.getpid(), 9)\n"
        "s.Session._after_dispatch = dying\n"
        f"t.train(sys.argv[1], small_recipe(), run=sys.argv[2], seeds=2, **{SCHEDULE!r})\n"
    )
    tests = os.path.dirname(os.path.dirname(__file__))
    broken = tmp_path / "broken"
    killed = subprocess.run([sys.executable, "-c", script, str(data_file), str(broken), tests], capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    assert len(metrics.read(broken / "metrics.jsonl")) == 6  # steps 10, 20 and 30, though the checkpoint is of 20
    assert int(restore(broken)[2].step[0]) == 20
    resume(broken)
    assert files(broken) == files(whole)


def test_longer_resume_equals_longer_run(data_file, tmp_path):
    whole = small_train(data_file, tmp_path / "whole")
    short = small_train(data_file, tmp_path / "short", steps=20)
    resume(short, steps=40)
    assert files(short) == files(whole)


def test_a_run_is_never_shortened(data_file, tmp_path):
    run = small_train(data_file, tmp_path / "run", steps=20)
    with pytest.raises(UsageError, match="planned for 20 steps; --steps can only lengthen it"):
        resume(run, steps=10)
    assert RunFolder.open(run)[1].experiment.schedule.steps == 20


def test_resume_before_the_first_checkpoint_starts_over(data_file, tmp_path):
    whole = small_train(data_file, tmp_path / "whole")
    other = small_train(data_file, tmp_path / "other")
    (other / "checkpoint.safetensors").unlink()
    resume(other)
    assert files(other) == files(whole)


def test_ctrl_c_saves_and_says_how_to_go_on(data_file, tmp_path):
    before, run = signal.getsignal(signal.SIGINT), tmp_path / "run"

    def interrupt():
        while not (run / "metrics.jsonl").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(StoppedError, match=f"mvl train --resume {run}") as caught:
        small_train(data_file, run, steps=100_000, eval_every=100_000, save_every=100_000)
    thread.join()
    assert caught.value.exit_code == 130
    assert int(restore(run)[2].step[0]) >= 10
    assert signal.getsignal(signal.SIGINT) is before


def test_a_run_whose_workers_die_is_saved_and_goes_on_as_unbroken(tmp_path, monkeypatch):
    """The evaluation that failed, here the last one, is done when the run is continued."""
    for name, seed in ((f"{MEDIUM}.npz", 0), (f"{MEDIUM}-val.npz", 1)):
        write_npz(tmp_path / name, walk(seed=seed))
    settings = {**SCHEDULE, "steps": 20, "eval_episodes": 1, "data": tmp_path, "workers": 1}
    whole = train(MEDIUM, small_recipe("bc"), run=tmp_path / "whole", **settings)
    run, start = tmp_path / "broken", Worker._start

    def start_and_kill(worker):
        start(worker)
        worker.process.kill()

    monkeypatch.setattr(Worker, "_start", start_and_kill)
    with pytest.raises(MvlError) as caught:
        train(MEDIUM, small_recipe("bc"), run=run, **settings)
    monkeypatch.undo()
    assert caught.value.exit_code == 1
    assert str(caught.value) == (
        f"step 20 is saved (continue with: mvl train --resume {run}), but cannot be evaluated: "
        "a worker process died, and so did its replacement (killed by signal 9; is there enough memory?)"
    )
    assert int(restore(run)[2].step[0]) == 20
    resume(run, workers=1)
    assert files(run) == files(whole)


def test_non_finite_loss_stops_and_keeps_the_last_good_checkpoint(data_file, tmp_path):
    run = tmp_path / "run"
    recipe = small_recipe(regularizer=Mollified(viscosity=1e76))
    with pytest.raises(NonFiniteLossError, match="the loss of the regularizer became non-finite at step 1"):
        train(data_file, recipe, run=run, **SCHEDULE)
    good = small_train(data_file, tmp_path / "good", steps=20)
    before = (good / "checkpoint.safetensors").read_bytes()
    raw = json.loads((good / "run.json").read_text())
    raw["fitted"]["regularizer"]["viscosity"] = 1e76
    (good / "run.json").write_text(json.dumps(raw))
    with pytest.raises(NonFiniteLossError, match="the last checkpoint is kept"):
        resume(good, steps=40)
    assert (good / "checkpoint.safetensors").read_bytes() == before


def test_nothing_is_overwritten(data_file, tmp_path):
    run = small_train(data_file, tmp_path / "run")
    before = files(run)
    with pytest.raises(MvlError, match=r"exists already and is not empty; continue it with: mvl train --resume"):
        small_train(data_file, run)
    assert files(run) == before
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    with pytest.raises(MvlError, match="choose another"):
        small_train(data_file, other)
    assert [file.name for file in other.iterdir()] == ["thesis.txt"]


def test_a_folder_in_use_is_refused(data_file, tmp_path):
    run = small_train(data_file, tmp_path / "run")
    hold = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, 2); print('held', flush=True); input()"
    command = [sys.executable, "-c", hold, str(run / ".lock")]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout.readline()
    with pytest.raises(MvlError, match="in use by another process"):
        resume(run)
    holder.communicate(b"\n")


def test_other_data_is_refused_on_resume(data_file, tmp_path):
    run = small_train(data_file, tmp_path / "run", steps=20)
    write_npz(data_file, walk(seed=9))
    with pytest.raises(MvlError, match="is not the file"):
        resume(run, steps=40)


def test_arrays_train_without_files_or_simulator(tmp_path, dataset):
    run = train(dataset, small_recipe(), run=tmp_path / "run", **SCHEDULE)
    policy = mvl.load_policy(run)
    action = policy.act(dataset.observations[0], dataset.observations[5])
    assert action.shape == (2,)
    assert np.abs(action).max() <= 1
    with pytest.raises(UsageError, match="trained on arrays"):
        resume(run, steps=60)
    resume(run, steps=60, data=dataset)
    assert int(restore(run)[2].step[0]) == 60
    with pytest.raises(UsageError, match="was trained on arrays"):
        mvl.evaluate(run)


def test_settings_from_python(data_file, tmp_path):
    with pytest.raises(UsageError, match="no setting named 'step'; did you mean steps"):
        train(data_file, "gcivl", run=tmp_path / "run", step=10)
    with pytest.raises(UsageError, match="multiple of 100"):
        train(data_file, "gcivl", run=tmp_path / "run", steps=150)
    assert not (tmp_path / "run").exists()
    run = train(data_file, small_recipe(), run=tmp_path / "run", regularizer=mvl.Mollified(cost="auto"), **SCHEDULE)
    _, description = RunFolder.open(run)
    assert description.experiment.recipe.regularizer.cost == "auto"
    assert description.fitted.regularizer.cost == pytest.approx(1 / walk().statistics.scaled_step)


def test_held_out_episodes_replace_a_missing_validation_file(data_file, tmp_path):
    data_file.with_name("walk-val.npz").unlink()
    with pytest.raises(MvlError, match=r"walk-val.npz is missing .* --held-out 0.1"):
        small_train(data_file, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    run = small_train(data_file, tmp_path / "run", held_out=0.2)
    assert json.loads((run / "run.json").read_text())["data"]["held_out"] == 0.2


def test_a_value_that_looks_ahead_needs_longer_episodes(tmp_path):
    short = walk(episodes=20, rows=2)
    with pytest.raises(DataError, match="no episode has more than one transition; value transitive needs a goal ahead"):
        train(short, "trl", run=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_training_on_mapped_data_is_training(data_file, tmp_path):
    """The same batches and losses as in memory, to float tolerance; resumed from disk, exactly the same."""
    held = small_train(data_file, tmp_path / "held", seeds=2)
    mapped = small_train(data_file, tmp_path / "mapped", seeds=2, out_of_core=True)
    for name in ("metrics.jsonl", "evaluations.jsonl"):
        for one, other in zip(metrics.read(held / name), metrics.read(mapped / name), strict=True):
            assert one == pytest.approx(other, rel=1e-4)
    short = small_train(data_file, tmp_path / "short", seeds=2, steps=20, out_of_core=True)
    resume(short, steps=40)
    assert files(short) == files(mapped)


def test_data_that_does_not_fit_is_mapped(data_file, tmp_path, monkeypatch):
    monkeypatch.setattr("mvl.runs.training.free_memory", lambda: 100)
    run = small_train(data_file, tmp_path / "run", steps=10)
    assert RunFolder.open(run)[1].experiment.data.out_of_core is True
    assert (data_file.parent / f".{data_file.stem}.unpacked" / "observations.npy").exists()
    monkeypatch.setattr("mvl.runs.training.free_memory", lambda: 10**9)
    assert RunFolder.open(small_train(data_file, tmp_path / "other", steps=10))[1].experiment.data.out_of_core is False
