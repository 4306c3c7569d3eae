"""The command as a user meets it: right commands, wrong commands, bad files; never a traceback."""

import errno
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from conftest import walk, write_npz
from mvl.cli import COMMANDS, main
from mvl.cli import recipes as recipes

SMALL = [
    *["--value.widths", "8", "8", "--policy.widths", "8", "--batch-size", "16", "--steps", "40", "--steps-per-dispatch", "10"],
    *["--log-every", "10", "--eval-every", "20", "--save-every", "20"],
]


def mvl(*args: str) -> list[str]:
    return [sys.executable, "-m", "mvl", *args]


def answer(capsys, *args: object) -> tuple[int, str, str]:
    code = main([str(arg) for arg in args])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_help_is_quick_and_lists_every_command():
    began = time.monotonic()
    done = subprocess.run(mvl("--help"), capture_output=True, text=True)
    took = time.monotonic() - began
    assert done.returncode == 0
    assert all(f"  {command} " in done.stdout for command in COMMANDS)
    assert took < 2.0  # 0.5 s on a quiet machine; tests share theirs


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["trian"], "no command named 'trian'; did you mean train"),
        (["train"], "which task?"),
        (["train", "pointmaze-medum-navigate-v0"], "did you mean pointmaze-medium-navigate-v0"),
        (["train", "pointmaze-medium-navigate-v0", "--recipe", "gcivl-mvp"], "did you mean gcivl-mvl"),
        (["train", "pointmaze-medium-navigate-v0", "--preset", "desktop"], "choose from cpu, laptop, paper"),
        (["train", "pointmaze-medium-navigate-v0", "--regularizer", "mollify"], "did you mean mollified"),
        (["train", "pointmaze-medium-navigate-v0", "--seeds", "two"], "must be a whole number of at least 1, not 'two'"),
        (["train", "pointmaze-medium-navigate-v0", "--regularizer.fraction", "7"], "fraction must be a number above 0"),
        (["train", "pointmaze-medium-navigate-v0", "--steps", "150"], "positive multiple"),
        (["eval", "a", "b"], "unexpected argument 'b'"),
        (["eval"], "the following arguments are required: RUN"),
        (["data", "generat"], "did you mean generate"),
        (["data", "generate", "pointmaze-medium-navigate-v0", "--sed", "1"], "no option named '--sed'; did you mean --seed"),
        (["data", "generate", "antsoccer-arena-navigate-v0"], "cannot be generated; these can: antmaze"),
    ],
)
def test_wrong_commands_get_one_sentence_and_code_2(capsys, args, message):
    code, _, err = answer(capsys, *args)
    assert code == 2
    assert message in err
    assert err.startswith("mvl: ")
    assert len(err.strip().splitlines()) == 1


def test_an_unknown_field_names_the_closest():
    done = subprocess.run(
        mvl("train", "pointmaze-medium-navigate-v0", "--regularizer.wieght", "3"), capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "--regularizer.weight" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_missing_dataset_says_where_it_looked_and_how_to_make_it(capsys, tmp_path, monkeypatch):
    code, _, err = answer(capsys, "train", "pointmaze-large-stitch-v0", "--data", tmp_path)
    assert code == 1
    assert str(tmp_path) in err
    assert f"mvl data generate pointmaze-large-stitch-v0 --data {tmp_path}" in err
    monkeypatch.setenv("MVL_DATA", str(tmp_path / "mine"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    _, _, err = answer(capsys, "data", "check", "pointmaze-large-stitch-v0")
    assert str(tmp_path / "mine") in err
    assert ".ogbench" in err


def broken_files(folder):
    good = write_npz(folder / "good.npz", walk()).read_bytes()
    dataset = walk()
    flags = np.isin(np.arange(len(dataset.observations)), dataset.ends)
    arrays = {"observations": dataset.observations, "actions": dataset.actions, "terminals": flags}

    def variant(name, **changes):
        np.savez(folder / name, **{**arrays, **changes})

    (folder / "cut.npz").write_bytes(good[: len(good) // 2])
    (folder / "text.npz").write_text("not an archive")
    (folder / "empty.npz").write_bytes(b"")
    variant("nan.npz", observations=np.where(np.arange(2) == 1, np.nan, dataset.observations))
    variant("range.npz", actions=3 * dataset.actions)
    variant("shape.npz", actions=dataset.actions[:-3])
    variant("objects.npz", observations=dataset.observations.astype(object))
    np.savez(folder / "fields.npz", observations=dataset.observations)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cut.npz", "not a readable .npz file"),
        ("text.npz", "not a readable .npz file"),
        ("empty.npz", "not a readable .npz file"),
        ("nan.npz", "observations is nan at row 0, dimension 1"),
        ("range.npz", "actions must lie in [-1, 1]"),
        ("shape.npz", "they must be equally long"),
        ("objects.npz", "not a readable .npz file"),
        ("fields.npz", "has no actions and no terminals; it has observations"),
        ("absent.npz", "does not exist"),
    ],
)
@pytest.mark.parametrize("command", ["check", "train"])
def test_bad_files_get_one_sentence_and_leave_nothing(capsys, tmp_path, name, message, command):
    broken_files(tmp_path)
    run = tmp_path / "run"
    path = tmp_path / name
    args = ["data", "check", path] if command == "check" else ["train", path, "--run", run, "--held-out", "0.2"]
    code, _, err = answer(capsys, *args)
    assert code == 1
    assert message in err
    assert name in err
    assert len(err.strip().splitlines()) == 1
    assert not run.exists()


def test_a_missing_validation_file(capsys, tmp_path):
    code, _, err = answer(capsys, "train", write_npz(tmp_path / "walk.npz", walk()), "--run", tmp_path / "run")
    assert code == 1
    assert "walk-val.npz is missing next to walk.npz" in err
    assert not (tmp_path / "run").exists()


def test_train_check_resume_and_a_folder_in_use(capsys, tmp_path, data_file):
    run = tmp_path / "run"
    code, out, _ = answer(capsys, "train", data_file, "--run", run, "--recipe", "gcivl-mvl", "--seeds", "2", *SMALL)
    assert code == 0
    assert "no environment to evaluate in" in out
    recipe = json.loads((run / "run.json").read_text())["recipe"]
    assert recipe["value"]["widths"] == [8, 8]
    code, _, err = answer(capsys, "train", data_file, "--run", run, *SMALL)
    assert code == 1
    assert f"continue it with: mvl train --resume {run}" in err
    code, _, _ = answer(capsys, "train", "--resume", run, "--steps", "60")
    assert code == 0
    assert json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])["step"] == 60
    code, _, err = answer(capsys, "train", "--resume", run, "--lenght", "60")
    assert code == 2
    code, out, _ = answer(capsys, "eval", run)
    assert code == 0
    assert "reached" in out  # without an environment it is judged on held-out data
    code, _, err = answer(capsys, "eval", tmp_path / "nowhere")
    assert code == 1
    assert "is not a run folder" in err


def test_no_space_left(capsys, tmp_path, data_file, monkeypatch):
    def full(source, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("mvl.files.os.replace", full)
    code, _, err = answer(capsys, "train", data_file, "--run", tmp_path / "run", *SMALL)
    assert code == 1
    assert "no space left" in err
    assert not (tmp_path / "run" / "run.json").exists()


def test_ctrl_c_ends_with_130_and_the_command_to_resume(tmp_path, data_file):
    run = tmp_path / "run"
    long = [*SMALL, "--steps", "1000000"]
    process = subprocess.Popen(mvl("train", str(data_file), "--run", str(run), *long), stderr=subprocess.PIPE, text=True)
    while not (run / "metrics.jsonl").exists():
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"mvl train --resume {run}" in err
    assert "Traceback" not in err
    assert (run / "checkpoint.safetensors").exists()


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("closed", [1, 2])
def test_output_that_nobody_reads_ends_it_quietly(closed, unbuffered):
    """As in `mvl recipes | head -1`: the reader is gone before anything is written."""
    ours, theirs = os.pipe()
    os.close(ours)
    where = "stdout" if closed == 1 else "stderr"
    printing = f"cli.overview = lambda: print('words', file=sys.{where}) or ''"
    code = f"import sys; from mvl import cli; {printing}; sys.exit(cli.main(['-h']))"
    outputs = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, where: theirs}
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONUNBUFFERED": unbuffered}, **outputs)
    os.close(theirs)
    assert done.returncode == 0
    assert not done.stderr
    assert not done.stdout


def test_another_broken_pipe_is_no_closed_output(monkeypatch):
    """A pipe to a child process, say: such an error must not end a command as if all was well."""

    def fail(argv):
        raise BrokenPipeError

    monkeypatch.setattr("mvl.cli.recipes.run", fail)
    with pytest.raises(BrokenPipeError):
        main(["recipes"])


def test_data_check_reports(capsys, tmp_path):
    data = walk()
    data.observations[:, 1] = 4.0
    data.observations[30] += 9
    code, out, _ = answer(capsys, "data", "check", write_npz(tmp_path / "walk.npz", data))
    assert code == 0
    assert "episodes      6" in out
    assert "transitions   120 (20 per episode" in out
    assert "observation dimensions that never change: 1" not in out  # the jump moved it
    assert "times the median, first at row 29" in out


def test_train_help_explains_every_setting(capsys):
    code, out, _ = answer(capsys, "train", "pointmaze-medium-navigate-v0", "--recipe", "gcivl-mvl", "--help")
    assert code == 0
    for flag in (
        "--recipe",
        "--seeds",
        "--resume",
        "--regularizer.weight",
        "--value.expectile",
        "--policy.alpha",
        "--steps",
        "--batch-size",
    ):
        assert flag in out
    assert "Neighbors per state" in out


def test_help_shows_defaults_that_are_numbers_and_not_those_that_are_empty(capsys):
    with pytest.raises(SystemExit):
        main(["reproduce", "--help"])
    out = " ".join(capsys.readouterr().out.split())
    assert "--gpus-per-run GPUS_PER_RUN GPUs per run (Ray, SLURM); such a run trains all seeds (default: 0)" in out
    assert "default: []" not in out
    assert "default: False" not in out


def test_recipes_lists_parts_and_presets(capsys):
    code, out, _ = answer(capsys, "recipes")
    assert code == 0
    for word in ("gcivl-mvl", "eik (eikonal)", "mollified", "implicit_v", "advantage_weighted", "cpu", "paper"):
        assert word in out
    for family in ("tdp", "coe"):
        (line,) = [line for line in out.splitlines() if line.startswith(f"{family} ")]
        assert line.endswith("(a reconstruction)")


def test_doctor_reports_devices_and_rendering(capsys, monkeypatch):
    monkeypatch.setattr("mvl.machine._renders", lambda backend: backend == "osmesa")
    code, out, _ = answer(capsys, "doctor")
    assert code == 0
    assert "cpu" in out
    assert "ogbench" in out
    assert "osmesa  works" in out
    monkeypatch.setattr("mvl.machine._renders", lambda backend: False)
    assert "install libegl1" in answer(capsys, "doctor")[1]


def test_flags_that_xla_does_not_know_are_named(monkeypatch, capsys):
    """XLA would end this very process; nothing may reach JAX."""
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false --xla_nonsense=1 --xla_more=2")
    code, _, err = answer(capsys, "doctor")
    assert code == 1
    assert "Unknown flags: --xla_nonsense=1 --xla_more=2" in err
    monkeypatch.setenv("XLA_FLAGS", "--xla_backend_optimization_level=high")
    assert "Couldn't interpret value high for flag xla_backend_optimization_level" in answer(capsys, "doctor")[2]


def test_tests_refuse_flags_that_xla_does_not_know():
    """Such a flag would end pytest while it holds back all output: no word, exit code 1."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", __file__, "-k", "help_is_quick"]
    done = subprocess.run(command, env={**os.environ, "XLA_FLAGS": "--xla_nonsense=1"}, capture_output=True, text=True)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "Unknown flag: --xla_nonsense=1" in done.stderr
