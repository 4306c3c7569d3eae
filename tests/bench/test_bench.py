"""The benchmark: its formula and bars by hand, each kind of measurement once at toy size, files and pictures."""

import json
import shutil
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from matplotlib.image import imread

from mvl.bench import bars, growth, measures, serving
from mvl.bench.bars import Bar
from mvl.bench.machine import matmul_rate, million_rows, plain_operations, random_walk
from mvl.bench.measures import measure, step
from mvl.cli import main
from mvl.runs.folder import RunFolder


def test_operations_of_a_plain_step_by_hand():
    """17 passes of 10 rows through 4 - 8 - 8 - 1."""
    assert plain_operations(10, 4, (8, 8)) == 17 * 10 * 2 * (4 * 8 + 8 * 8 + 8)


def test_a_bar_passes_on_its_side_of_the_bound():
    assert Bar("a", 0.9, 0.8, at_least=True).passes
    assert not Bar("a", 0.7, 0.8, at_least=True).passes
    assert Bar("a", 1.4, 1.5).passes
    assert str(Bar("a step", 1.6, 1.5, unit="x")).split() == ["a", "step", "1.60x", "at", "most", "1.5x", "falls", "short"]


def test_a_step_is_timed_at_the_size_that_was_asked_for(monkeypatch):
    times = iter([9.0, 8.0, 7.0, 7.5])  # the first call compiles, the fastest of the others counts
    monkeypatch.setattr("mvl.bench.measures._timed", lambda function: (function(), next(times))[1])
    found = step("gcivl-mvl", batch=32, width=8, dimensions=3, rows=2002, seeds=2, steps=5, samples=2)
    assert found["seconds"] == 7.0 / 5
    assert found["operations"] == 2 * plain_operations(32, 6, (8, 8, 8))
    assert found["compile_seconds"] == 2.0
    assert found["bytes"] > 1e8


def test_data_of_the_usual_size(tmp_path, monkeypatch):
    monkeypatch.setattr("mvl.bench.machine.random_walk", lambda dimensions, rows: random_walk(dimensions, 5005))
    path = million_rows(tmp_path)
    assert main(["data", "check", str(path)]) == 0
    assert len(random_walk(2, 5005).ends) == 5


@pytest.mark.slow
def test_measurements_run_in_processes_of_their_own():
    import os

    core = {min(os.sched_getaffinity(0))}
    assert 1e8 < measure("rate", cores=core)["flops"] < 1e13
    words = measure("command", "--help")
    assert words["failed"] == 0
    assert 0 < words["seconds"] < 5
    assert measure("command", "nothing")["failed"] == 1


def test_rates_are_those_of_the_best_size(monkeypatch):
    times = iter([1.0, 1.0, 1.0, 0.5, 1.0])
    monkeypatch.setattr("mvl.bench.machine.best_time", lambda function: (function(), next(times))[1])
    assert matmul_rate() == pytest.approx(2e10, rel=0.2)


def test_evaluation_is_compared_with_one_step_at_a_time():
    found = measures.evaluation(episodes=1)
    assert found["seconds"] > 0
    assert found["slow_seconds"] > 0
    assert found["episodes_per_second"] == pytest.approx(5 / found["seconds"])


def test_a_step_on_images_is_timed():
    found = measures.image_step(steps=1, episodes=1, batch_size=2, **{"encoder.size": 8})
    assert found["operations"] < 2e9
    assert min(found["seconds"], found["alone"], found["in_loop"]) > 0


def stand_in(kind, *arguments, cores=None, **settings):
    """Plausible numbers without measuring."""
    return {
        "rate": {"flops": 1e11, "seconds": 0.01},
        "step": {"seconds": 0.006 * settings.get("seeds", 1) ** 0.5, "operations": 8e8, "compile_seconds": 1.0, "bytes": 1e8},
        "image_step": {"seconds": 0.05, "operations": 2e9, "alone": 0.01, "in_loop": 0.011},
        "evaluation": {"seconds": 1.0, "slow_seconds": 9.0, "episodes_per_second": 250.0},
        "command": {"seconds": 0.2 if "4" not in arguments else 0.4, "failed": 0.0},
        "training_memory": {"bytes": 2e9},
        "arriving": {"seconds": 70.0, "until_0.6": 5.0, "until_0.95": 20.0, "build": 4.0, "act": 0.001, "replan": 0.01}
        | {"served_p99": 0.001, "served_planned_p99": 0.003, "plain_act": 0.0002, "exported_act": 0.0001}
        | {"exported_planned_act": 0.001, "exported_planned_replan": 0.02},
    }[kind]


def test_every_bar_is_taken_written_drawn_and_compared(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bars, "measure", stand_in)
    monkeypatch.setattr(growth, "measure", stand_in)
    monkeypatch.setattr("mvl.bench.machine.random_walk", lambda dimensions, rows: random_walk(dimensions, 5005))
    result, picture = tmp_path / "one.json", tmp_path / "one.png"
    assert main(["bench", "--to", str(result), "--picture", str(picture)]) == 0
    out = capsys.readouterr().out
    figures = json.loads(result.read_text())
    assert len(figures["bars"]) == 29
    verdicts = {bar["name"].split(",")[0]: bar["passes"] for bar in figures["bars"] if "GCIVL" not in bar["name"]}
    assert [name for name, passes in verdicts.items() if not passes] == ["memory"]
    assert out.count("passes") + out.count("falls short") == 29
    assert set(figures["growth"]) == set(growth.GROWTH)
    assert figures["behind"]["images"]["image step"]["share"] == pytest.approx(0.4)
    assert "hiql-mvl" in figures["recipes"]
    assert imread(picture).shape[1] > 900
    assert main(["bench", "--compare", str(result), str(result)]) == 0
    assert capsys.readouterr().out.count("+0%") == 29
    (tmp_path / "no.json").write_text("{}")
    capsys.readouterr()
    assert main(["bench", "--table", str(result)]) == 0
    assert "| mvl --help | 0.20 s | at most 0.50 s | passes |" in capsys.readouterr().out.splitlines()
    assert main(["bench", "--compare", str(result), str(tmp_path / "no.json")]) == 1
    assert "not the figures of a benchmark (it has no bars)" in capsys.readouterr().err


@pytest.mark.slow
def test_time_to_success_and_planning_are_measured(monkeypatch):
    """On a few episodes and steps: nothing arrives, but the graph is built and asked."""
    monkeypatch.setattr("mvl.bench.serving.latency", lambda run, plan: {"p99": len(plan)})
    found = measures.arriving(60, 2_000, "--episodes", "4")
    assert found["until_0.95"] >= found["until_0.6"] > 0
    assert 0 < found["act"] < found["replan"] < 10
    assert 0 < found["exported_act"] < found["exported_planned_replan"] < 10
    assert 0 < found["build"] < 60
    assert (found["served_p99"], found["served_planned_p99"]) == (4, 5)


def test_answers_of_a_server_process_are_timed(served_run, tmp_path, monkeypatch):
    described = json.loads((served_run / "run.json").read_text())
    described["data"]["observations"] = {"low": [0, 0], "high": [20, 20], "std": [5, 5]}
    for file in ("checkpoint.safetensors", "graph.safetensors"):
        shutil.copy(served_run / file, tmp_path)
    (tmp_path / "run.json").write_text(json.dumps(described))
    for name, value in {"REQUESTS": 20, "EPISODE": 10, "HZ": 200.0}.items():
        monkeypatch.setattr(serving, name, value)
    found = serving.latency(tmp_path, "graph")
    assert 0 < found["p50"] <= found["p99"] <= found["max"] < 5


def test_episodes_lead_from_one_place_in_the_data_to_another(served_run, monkeypatch):
    description = replace(RunFolder.open(served_run)[1], data={"observations": {"low": [0, 5], "high": [1, 6], "std": [1, 1]}})
    monkeypatch.setattr(RunFolder, "open", lambda run: (None, description))
    first, second = islice(serving.episodes(served_run, seed=0), 2)
    assert len(first) == serving.EPISODE
    assert np.allclose(first[-1]["observation"], first[0]["goal"])
    assert not np.allclose(first[0]["goal"], second[0]["goal"])
    states = np.array([message["observation"] for message in first + second])
    assert (states >= [0, 5]).all()
    assert (states <= [1, 6]).all()
