"""The demo's choices: what it trains, that it goes on with its own data and run, and that it leaves others alone."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import walk, write_npz
from mvl.cli import demo
from mvl.data import generation
from mvl.data.episodes import Size
from mvl.data.sources.npz import load
from mvl.errors import MvlError, StoppedError, UsageError
from mvl.runs.folder import RunFolder
from mvl.runs.training import train as really_train
from mvl.tasks import find_task


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """Training and reporting replaced by notes of how they were asked for; data is at hand."""
    for name, seed in ((f"{demo.TASK}.npz", 0), (f"{demo.TASK}-val.npz", 1)):
        write_npz(tmp_path / name, walk(seed=seed))
    made: list[tuple] = []
    monkeypatch.setattr("mvl.runs.training.train", lambda *args, **settings: made.append(("train", args, settings)))
    monkeypatch.setattr("mvl.runs.training.resume", lambda *args, **settings: made.append(("resume", args, settings)))
    monkeypatch.setattr("mvl.plots.finish.finish", lambda path: "finished")
    return made


def run_demo(tmp_path: Path, *more: str) -> None:
    demo.run(["--data", str(tmp_path), "--run", str(tmp_path / "demo"), *more])


def test_it_trains_a_regularized_recipe(calls, tmp_path, capsys):
    run_demo(tmp_path)
    ((kind, args, settings),) = calls
    assert (kind, args) == ("train", (demo.TASK, demo.RECIPE))
    assert demo.RECIPE.endswith(("-mvl", "-slope"))
    assert settings["steps"] == demo.SCHEDULE["steps"]
    assert capsys.readouterr().out == "finished\n"


def test_steps_are_the_user_s_also_when_an_earlier_demo_goes_on(calls, tmp_path, monkeypatch):
    run_demo(tmp_path, "--steps", "500")
    assert calls[0][2]["steps"] == 500
    (tmp_path / "demo").mkdir()
    earlier = SimpleNamespace(task=find_task(demo.TASK), experiment=SimpleNamespace(recipe_name=demo.RECIPE))
    monkeypatch.setattr(RunFolder, "open", lambda path: (None, earlier))
    run_demo(tmp_path, "--steps", "900")
    assert calls[1] == ("resume", (tmp_path / "demo",), {"steps": 900})


@pytest.fixture
def tiny(monkeypatch):
    """Two episodes to train on and one to validate with, where a thousand and a hundred would be generated."""
    generate = generation.generate
    small = lambda name, generator, size, *args, **options: generate(name, generator, Size(2, 1001, 1), *args, **options)
    monkeypatch.setattr(generation, "generate", small)


@pytest.mark.parametrize("part", ["", "-val"])
def test_half_a_dataset_of_others_is_left_alone(calls, tiny, tmp_path, part):
    other = tmp_path / f"{demo.TASK}{'-val' if not part else ''}.npz"
    other.unlink()
    path = tmp_path / f"{demo.TASK}{part}.npz"
    content = path.read_bytes()
    with pytest.raises(MvlError, match=f"{path.name} exists already; give --overwrite to mvl data generate .* --data"):
        run_demo(tmp_path)
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert calls == []


def test_data_interrupted_between_its_two_files_is_completed(calls, tiny, tmp_path, monkeypatch):
    replace, paths = os.replace, [tmp_path / f"{demo.TASK}{part}.npz" for part in ("", "-val")]
    for path in paths:
        path.unlink()

    def interrupted(source, target):
        if target == paths[1]:
            raise KeyboardInterrupt
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        with pytest.raises(StoppedError):
            run_demo(tmp_path)
    assert [path.exists() for path in paths] == [True, False]
    run_demo(tmp_path)
    assert [len(load(path).ends) for path in paths] == [2, 1]
    assert [kind for kind, _, _ in calls] == ["train"]


def test_another_run_in_its_place_is_left_alone(calls, tmp_path):
    sizes = {"steps": 10, "steps_per_dispatch": 10, "log_every": 10, "eval_every": 10, "save_every": 10, "batch_size": 8}
    really_train(walk(), "bc", run=tmp_path / "demo", **sizes)
    with pytest.raises(UsageError, match="is not the run of a demo; choose another folder with --run"):
        run_demo(tmp_path)
    assert calls == []
