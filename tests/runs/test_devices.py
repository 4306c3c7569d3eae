"""Training on several devices, of one process and of two, is training on one device; to float tolerance."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file

from conftest import small_recipe, walk
from mvl.cli import main
from mvl.data.goals import on_device
from mvl.errors import UsageError
from mvl.learn.devices import BatchSharding
from mvl.learn.learner import Learner
from mvl.regularizers.mollified import Mollified
from mvl.runs import metrics
from mvl.runs.distributed import Team, joined
from mvl.runs.restore import restore
from mvl.runs.training import resume, train
from mvl.types import Shapes

SCHEDULE = {"steps": 20, "log_every": 10, "eval_every": 20, "save_every": 20, "steps_per_dispatch": 10}
TESTS = str(Path(__file__).parents[1])


def recipe():
    """The regularizer looks at the first five of sixteen states, all of which lie on the first of two devices."""
    made = small_recipe(regularizer=Mollified(samples=3, fraction=0.3))
    return replace(made, value=replace(made.value, widths=(8,)), policy=replace(made.policy, widths=(8,)))


def assert_same_metrics(one, other, seeds=(0, 1)):
    for name in ("metrics.jsonl", "evaluations.jsonl"):
        rows, theirs = ([row for row in metrics.read(path / name) if row["seed"] in seeds] for path in (one, other))
        for row, its in zip(rows, theirs, strict=True):
            assert row == pytest.approx(its, rel=1e-3, abs=1e-5)


def assert_same_training(one, other):
    assert_same_metrics(one, other)
    arrays, theirs = (load_file(path / "checkpoint.safetensors") for path in (one, other))
    assert arrays.keys() == theirs.keys()
    for name, array in arrays.items():
        assert np.allclose(array, theirs[name], rtol=1e-3, atol=1e-4), name


def traced_steps():
    """Records for each time that a step is traced how many native calls it makes: none where the compiler partitions it."""
    steps, calls, update, call = [], [], Learner.update, jax.ffi.ffi_call

    def traced(*args):
        before = len(calls)
        out = update(*args)
        steps.append(len(calls) - before)
        return out

    def counted(*args, **settings):
        calls.append(args[0])
        return call(*args, **settings)

    Learner.update, jax.ffi.ffi_call = traced, counted
    return steps


def train_on_two(data_file, folder):
    """What the process with two devices does: data in memory and on disk, and every batch in halves."""
    sharding = BatchSharding.over(2, 16)
    learner, rows = Learner(recipe(), Shapes(2, 2, 2)), on_device(walk())
    batches = jax.jit(lambda: sharding.constrain(learner.draw(rows, 0, jax.numpy.arange(3))))()
    assert [part.data.shape for part in batches.value_goals.vectors.addressable_shards] == [(3, 8, 2)] * 2
    steps = traced_steps()
    train(data_file, recipe(), run=folder / "held", devices=2, seeds=2, **SCHEDULE)
    train(data_file, recipe(), run=folder / "mapped", devices=2, out_of_core=True, **SCHEDULE)
    assert len(steps) >= 2
    assert not any(steps)


@pytest.mark.slow
def test_two_virtual_devices_train_as_one(data_file, tmp_path):
    """One seed and two; then one device goes on where two have stopped."""
    script = (
        f"import sys; from pathlib import Path; sys.path.insert(0, {TESTS!r})\n"
        "from runs.test_devices import train_on_two; train_on_two(*map(Path, sys.argv[1:]))"
    )
    command = [sys.executable, "-c", script, str(data_file), str(tmp_path)]
    subprocess.run(command, check=True, env={**os.environ, "JAX_NUM_CPU_DEVICES": "2"})
    two, mapped = tmp_path / "held", tmp_path / "mapped"
    one = train(data_file, recipe(), run=tmp_path / "one", seeds=2, **SCHEDULE)
    assert_same_training(one, two)
    assert_same_metrics(one, mapped, seeds=(0,))
    assert_same_training(resume(one, steps=40), resume(two, steps=40))


def flags(**settings):
    return [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]


def together(*arguments, **settings):
    """The command in two processes that train together."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    where = flags(coordinator=address, processes=2)
    command = [sys.executable, "-m", "mvl", "train", *map(str, arguments), *flags(**settings), *where]
    return [
        subprocess.Popen([*command, f"--process-id={index}"], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for index in (0, 1)
    ]


def ended(processes):
    """Exit codes and what was said; never waits forever."""
    try:
        said = [process.communicate(timeout=300) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    return [process.returncode for process in processes], [out + err for out, err in said]


SMALL = ["--value.widths=8", "--policy.widths=8", "--regularizer.samples=3", "--regularizer.fraction=0.3"]
IMITATION = ["--recipe=bc", "--policy.widths=8"]


@pytest.mark.slow
def test_two_processes_train_as_one(data_file, tmp_path):
    """Through the command: training, the picture that the first draws alone, and going on."""
    settings = {"batch_size": 16, **SCHEDULE}
    codes, said = ended(together(data_file, *SMALL, run=tmp_path / "two", **settings))
    assert codes == [0, 0], said
    assert "shown by process 0" in said[1]
    assert "policy: mvl.load_policy" in said[0]
    assert "policy: mvl.load_policy" not in said[1]
    assert main(["train", str(data_file), *SMALL, *flags(run=tmp_path / "one", **settings)]) == 0
    assert_same_training(tmp_path / "one", tmp_path / "two")
    codes, said = ended(together(resume=tmp_path / "two", steps=40))
    assert codes == [0, 0], said
    assert_same_training(resume(tmp_path / "one", steps=40), tmp_path / "two")


@pytest.mark.slow
def test_ctrl_c_at_one_process_stops_both(data_file, tmp_path):
    run = tmp_path / "run"
    long = {**SCHEDULE, "steps": 1_000_000, "eval_every": 1_000_000, "save_every": 1_000_000}
    processes = together(data_file, *IMITATION, run=run, batch_size=16, **long)
    while not (run / "metrics.jsonl").exists() and processes[0].poll() is None:
        time.sleep(0.05)
    processes[1].send_signal(signal.SIGINT)
    codes, said = ended(processes)
    assert codes == [130, 130], said
    first, second = (re.search(r"stopped at step (\d+) and saved; continue with: mvl train --resume", text) for text in said)
    assert first[1] == second[1]
    assert int(restore(run)[2].step[0]) == int(first[1])


def test_an_error_at_one_process_ends_both_with_a_sentence(data_file, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    codes, said = ended(together(data_file, *IMITATION, run=tmp_path, batch_size=16, **SCHEDULE))
    assert codes == [1, 1], said
    assert "exists already and is not empty" in said[0]
    assert "mvl: process 0 ended the run:" in said[1]
    assert "exists already and is not empty" in said[1]


def test_what_cannot_be_split_is_refused(data_file, tmp_path):
    with pytest.raises(UsageError, match="a batch of 16 cannot be split evenly over 3 devices; change --batch-size"):
        train(data_file, recipe(), run=tmp_path / "run", devices=3, **SCHEDULE)
    with pytest.raises(UsageError, match=r"2 devices were asked for, but there is only 1 here \(JAX_NUM_CPU_DEVICES=2"):
        train(data_file, recipe(), run=tmp_path / "run", devices=2, **SCHEDULE)
    with pytest.raises(UsageError, match="at least 1, not 0"):
        train(data_file, recipe(), run=tmp_path / "run", devices=0, **SCHEDULE)
    assert not (tmp_path / "run").exists()
    assert BatchSharding.over(1, 16) is BatchSharding.over(None, 16) is None


def test_processes_with_other_settings_are_refused_before_anything_is_written(data_file, tmp_path, monkeypatch):
    """The second process has more steps."""

    def exchange(self, message):
        other = json.loads(message)
        other["schedule"]["steps"] += 10
        return [message, json.dumps(other)]

    monkeypatch.setattr(Team, "exchange", exchange)
    with pytest.raises(UsageError, match="process 1 has a different schedule than process 0"):
        train(data_file, recipe(), run=tmp_path / "run", **SCHEDULE)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ((None, 2, 0), "need --coordinator HOST:PORT"),
        (("here", 2, 0), "--coordinator HOST:PORT .* or --coordinator auto"),
        (("here:1", None, 0), "--processes and --process-id"),
        (("here:1", 2, 2), "counts from 0 to 1, it cannot be 2"),
    ],
)
def test_flags_that_do_not_go_together_are_refused(flags, words):
    with pytest.raises(UsageError, match=words), joined(*flags):
        pass
