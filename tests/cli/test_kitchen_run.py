"""A kitchen the whole way at toy size: from Minari's store to files, a trained policy, and its scores by name."""

import json

from kitchen_demos import needs_kitchen, record

from mvl.cli import main

needs_kitchen()
SMALL = [
    *["--value.widths", "8", "--policy.widths", "8", "--batch-size", "16", "--steps", "20", "--steps-per-dispatch", "10"],
    *["--log-every", "10", "--eval-every", "20", "--save-every", "20", "--eval-episodes", "1", "--workers", "1"],
]


def test_pull_train_and_evaluate(tmp_path, monkeypatch, capsys):
    record(tmp_path / "minari", monkeypatch)
    monkeypatch.setenv("MVL_DATA", str(tmp_path / "data"))
    run = tmp_path / "run"
    assert main(["data", "pull", "kitchen-partial"]) == 0
    assert main(["train", "kitchen-partial", "--recipe", "gcivl", "--run", str(run), *SMALL]) == 0
    shown = capsys.readouterr()
    assert "(microwave 0.00, kettle 0.00, light switch 0.00, slide cabinet 0.00)" in shown.err
    heads, row = shown.out.splitlines()[-4:-2]
    assert heads.split() == ["microwave", "kettle", "light", "switch", "slide", "cabinet", "overall"]
    assert row.split() == ["seed", "0", "0.00", "0.00", "0.00", "0.00", "0.000"]
    assert len(heads) == len(row)
    (evaluated,) = map(json.loads, (run / "evaluations.jsonl").read_text().splitlines())
    assert (evaluated["overall"], evaluated["tasks"], evaluated["mean_length"]) == (0.0, [0.0] * 4, 280.0)
    shapes = json.loads((run / "run.json").read_text())["shapes"]
    assert (shapes["observation"], shapes["action"], shapes["goal"]) == (30, 9, 30)
    assert main(["eval", str(run), "--episodes", "1", "--workers", "1"]) == 0
    assert capsys.readouterr().out.splitlines() == [heads, row]


def test_a_kitchen_that_cannot_be_played_is_not_trained_in(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("mvl.tasks.kitchen.version", lambda name: "4.0.0")
    assert main(["train", "kitchen-mixed", "--run", str(tmp_path / "run"), *SMALL]) == 1
    assert "the kitchen needs gymnasium-robotics and mujoco below 3.12" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
