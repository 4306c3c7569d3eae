"""Trackers show the rows of a run, each once, and never stop the training."""

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import time

import pytest
from made_runs import experiment, made_run

import mvl.extras
from conftest import small_recipe, walk, write_npz
from mvl.cli import main
from mvl.errors import MvlError, UsageError
from mvl.runs import metrics
from mvl.runs.folder import RunFolder
from mvl.runs.trackers.tensorboard import TensorBoard
from mvl.runs.tracking import CLASSES, Tracking, chosen, flat
from mvl.runs.training import resume, train

SCHEDULE = {"steps": 40, "log_every": 10, "eval_every": 20, "save_every": 20, "steps_per_dispatch": 10}
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def events(run) -> list[tuple[int, str, float]]:
    """Step, name and value of every number in a run's TensorBoard files, in the format of TFRecord."""
    from tensorboardX.proto.event_pb2 import Event

    found = []
    for file in sorted((run / "tensorboard").iterdir()):
        content, place = file.read_bytes(), 0
        while place < len(content):
            (length,) = struct.unpack_from("<Q", content, place)
            event = Event.FromString(content[place + 12 : place + 12 + length])
            found += [(event.step, value.tag, value.simple_value) for value in event.summary.value]
            place += 16 + length
    return found


def wandb_rows(run) -> list[dict[str, float]]:
    """The rows in a run's offline files of Weights & Biases, whose records are cut into blocks of 32 kB as those of LevelDB."""
    from wandb.proto.wandb_internal_pb2 import Record

    rows = []
    for file in sorted((run / "wandb").glob("offline-run-*/*.wandb")):
        content, place, record = file.read_bytes(), 7, b""
        while place + 7 <= len(content):
            if 32768 - place % 32768 < 7:
                place += 32768 - place % 32768
                continue
            _, length, kind = struct.unpack_from("<IHB", content, place)
            record += content[place + 7 : place + 7 + length]
            place += 7 + length
            if kind in (1, 4):  # whole, or the last part
                items = Record.FromString(record).history.item
                rows += [{(i.key or "/".join(i.nested_key)): json.loads(i.value_json) for i in items}] if items else []
                record = b""
    return rows


def trackio_rows(run) -> list[dict[str, float]]:
    from trackio.sqlite_storage import SQLiteStorage

    name = json.loads((run / "tracking.json").read_text())["trackio"]["identity"]
    return SQLiteStorage.get_logs("mvl", name)


@pytest.fixture
def alone(monkeypatch):
    """No connection but to this machine."""
    connect = socket.socket.connect

    def checked(self, address):
        assert self.family == socket.AF_UNIX or address[0] in LOOPBACK, f"connects to {address}"
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", checked)


def small_train(data_file, run, **changes):
    return train(data_file, small_recipe(), run=run, **{**SCHEDULE, **changes})


def rows_of(step: int, seeds=(0,)) -> list[dict]:
    return [{"step": step, "seed": seed, "value/loss": step / 1000 + seed} for seed in seeds]


def tracked(run, *names) -> Tracking:
    folder, description = RunFolder.open(run)
    return Tracking(names, folder, description)


@pytest.fixture
def run(tmp_path):
    """A run without rows."""
    path = made_run(tmp_path / "run", experiment(), [0])
    (path / "evaluations.jsonl").unlink()
    return path


def test_numbers_have_the_names_of_the_rows_and_success_its_tasks():
    rows = [{"step": 5, "seed": 3, "value/loss": 0.5}]
    rows += [{"step": 5, "seed": 3, "episodes": 2, "overall": 0.75, "tasks": [0.5, 1.0], "mean_length": 7, "validation/x": 2}]
    expected = {"value/loss": 0.5, "validation/x": 2.0, "evaluation/mean_length": 7.0, "evaluation/success": 0.75}
    assert flat(rows, 1) == {**expected, "evaluation/success_task1": 0.5, "evaluation/success_task2": 1.0}
    named = flat(rows, 2, ("slide cabinet", "kettle"))
    assert named["evaluation/success_slide_cabinet/seed3"] == 0.5
    assert named["value/loss/seed3"] == 0.5


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A training that is tracked by TensorBoard, and its data."""
    folder = tmp_path_factory.mktemp("tracked")
    write_npz(folder / "walk-val.npz", walk(seed=1))
    data = write_npz(folder / "walk.npz", walk())
    return small_train(data, folder / "run", seeds=2, track="tensorboard"), data


def test_tensorboard_gets_every_number_of_a_training(whole):
    run, _ = whole
    rows = [row for file in ("metrics.jsonl", "evaluations.jsonl") for row in metrics.read(run / file)]
    expected = {(row["step"], f"{name}/seed{row['seed']}"): row[name] for row in rows for name in row.keys() - {"step", "seed"}}
    found = events(run)
    assert len(found) == len(expected)
    assert {(step, name): value for step, name, value in found} == pytest.approx(expected)


def test_results_do_not_depend_on_tracking(whole, tmp_path):
    run, data = whole
    plain = small_train(data, tmp_path / "plain", seeds=2)
    for file in ("run.json", "metrics.jsonl", "evaluations.jsonl", "checkpoint.safetensors"):
        assert (plain / file).read_bytes() == (run / file).read_bytes()
    assert not (plain / "tracking.json").exists()


def test_a_killed_run_continues_without_repeating_a_row(whole, tmp_path, capsys):
    """It was killed after step 30, with a checkpoint of step 20; its trackers are those of the folder."""
    run, data = whole
    broken = small_train(data, tmp_path / "broken", seeds=2, steps=20, track=["tensorboard"])
    later = tracked(broken, "tensorboard")
    later.start(print)
    later.log(30, [row for row in metrics.read(run / "metrics.jsonl") if row["step"] == 30])
    later.finish()
    resume(broken, steps=40)
    assert f"tracking with tensorboard; look at it with: tensorboard --logdir {broken}/tensorboard" in capsys.readouterr().err
    assert events(broken) == events(run)


def test_a_tracker_that_joins_later_gets_the_rows_before(whole, tmp_path):
    run = shutil.copytree(whole[0], tmp_path / "run", ignore=shutil.ignore_patterns("tensorboard", "tracking.json"))
    tracking = tracked(run, "tensorboard")
    tracking.start(lambda line: None)
    tracking.finish()
    assert events(run) == events(whole[0])


def test_weights_and_biases_stays_on_this_machine_and_continues_the_same_run(run, alone, monkeypatch):
    import wandb

    monkeypatch.delenv("WANDB_MODE", raising=False)
    said = []
    for steps in ((100, 200), (200, 300)):
        tracking = tracked(run, "wandb")
        tracking.start(said.append)
        for step in steps:
            tracking.log(step, rows_of(step))
        tracking.finish()
        time.sleep(1.1)  # its files are named by the second
    wandb.teardown()  # ends its own process
    assert [(row["_step"], row["value/loss"]) for row in wandb_rows(run)] == [(100, 0.1), (200, 0.2), (300, 0.3)]
    assert len({file.name for file in run.glob("wandb/offline-run-*/*.wandb")}) == 1  # the name is that of the run
    assert all(line.startswith(f"tracking with wandb; upload it with: wandb sync {run}/wandb/offline-run-") for line in said)


def test_trackio_continues_the_same_run(run, alone, monkeypatch, tmp_path):
    import trackio

    for module in (trackio.sqlite_storage, trackio.utils, trackio):
        monkeypatch.setattr(module, "TRACKIO_DIR", tmp_path / "trackio")
    for steps in ((100, 200), (200, 300)):
        tracking = tracked(run, "trackio")
        tracking.start(lambda line: None)
        for step in steps:
            tracking.log(step, rows_of(step))
        tracking.finish()
    assert [(row["step"], row["value/loss"]) for row in trackio_rows(run)] == [(100, 0.1), (200, 0.2), (300, 0.3)]


class Broken:
    """A tracker that fails at one of its methods."""

    where = "nowhere"

    def __init__(self, method: str) -> None:
        self.method, self.calls = method, []

    def _do(self, method: str) -> None:
        self.calls.append(method)
        if method == self.method:
            raise OSError("no space left\non the device")

    def start(self, *_):
        self._do("start")
        return "x"

    def log(self, step, row):
        self._do("log")

    def finish(self):
        self._do("finish")


@pytest.mark.parametrize(("method", "calls"), [("start", 1), ("log", 2), ("finish", 4)])
def test_a_tracker_that_fails_is_turned_off_with_one_warning(method, calls, run, monkeypatch):
    broken, said = Broken(method), []
    monkeypatch.setattr("mvl.runs.trackers.tensorboard.TensorBoard", lambda: broken)
    tracking = tracked(run, "tensorboard")
    tracking.start(said.append)
    tracking.log(1, rows_of(1))
    tracking.log(2, rows_of(2))
    tracking.finish()
    assert said[-1] == "tensorboard is off from here on, and training continues: no space left"
    assert len([line for line in said if "is off" in line]) == 1
    assert len(broken.calls) == calls


def test_training_goes_on_without_a_tracker_that_fails(data_file, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("mvl.runs.trackers.tensorboard.TensorBoard", lambda: Broken("log"))
    path = small_train(data_file, tmp_path / "run", track="tensorboard")
    assert [row["step"] for row in metrics.read(path / "metrics.jsonl")] == [10, 20, 30, 40]
    assert "tensorboard is off from here on, and training continues: no space left" in capsys.readouterr().err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that takes no byte")
def test_a_full_disk_does_not_block_tensorboard(run):
    tracker = TensorBoard()
    tracker.start(run, None, None, 0)
    tracker.finish()
    with open("/dev/full", "wb", buffering=0) as full:
        tracker.writer._py_recordio_writer._writer = full
        with pytest.raises(OSError, match="No space left"):
            tracker.log(1, {"loss": 1.0})


def test_a_missing_package_is_named_before_anything_is_written(data_file, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(mvl.extras, "missing", lambda *modules: list(modules))
    words = ["train", str(data_file), "--run", str(tmp_path / "run"), "--track", "wandb"]
    assert main(words) == 1
    assert capsys.readouterr().err == (
        "mvl: --track wandb needs the package wandb; install it with: pip install 'mollified-value-learning[trackers]', "
        "or train with --track none.\n"
    )
    assert not (tmp_path / "run").exists()


def test_unknown_and_contradicting_trackers_are_refused(tmp_path):
    with pytest.raises(UsageError, match="no tracker named 'tensorbord'; did you mean tensorboard"):
        chosen("tensorbord", tmp_path)
    with pytest.raises(UsageError, match="none stands alone"):
        chosen(["none", "wandb"], tmp_path)
    assert chosen(["wandb", "wandb"], tmp_path) == ["wandb"]
    assert chosen("none", tmp_path) == []


def test_a_folder_that_names_a_tracker_can_be_continued_where_it_is_not_installed(run, monkeypatch):
    (run / "tracking.json").write_text('{"wandb": {"identity": "x", "step": 3}}')
    monkeypatch.setattr(mvl.extras, "missing", lambda *modules: list(modules))
    with pytest.raises(MvlError, match="needs the package wandb"):
        chosen(None, run)
    assert chosen(["none"], run) == []


def test_a_tracker_is_imported_only_if_it_is_used():
    code = (
        "import sys, mvl.runs.training, mvl.runs.trackers.wandb, mvl.runs.trackers.trackio, mvl.runs.trackers.tensorboard;"
        "sys.exit(bool({'tensorboardX', 'wandb', 'trackio'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    assert set(CLASSES) == set(mvl.extras.TRACKERS)
