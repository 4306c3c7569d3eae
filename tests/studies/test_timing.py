"""What is timed to say how long a plan takes, and what is guessed before."""

import json
from dataclasses import replace

import pytest
from made_runs import TASK, experiment, made_run
from probes import StandIn

from mvl.experiment import Experiment
from mvl.studies import known_times, timing
from mvl.studies.costs import SHARE_OF_RATE, work
from mvl.studies.job import Job, folder_of
from mvl.studies.known_times import KnownTimes
from mvl.studies.probe import Machine
from mvl.studies.timing import Estimate, Estimator, finished_times, remaining_times, step_times

CPU = Machine("cpu", 1, "cpu", 1e11)


@pytest.fixture
def stand_in(monkeypatch):
    monkeypatch.setattr(timing, "Probe", StandIn)


def times(*settings):
    experiments = [Experiment.from_preset(TASK, "gcivl-mvl").with_settings(wanted) for wanted in settings]
    return [round(1e3 * seconds, 9) for seconds in step_times(experiments, None, lambda *_: None).values()]


def test_variants_that_differ_in_a_factor_are_timed_once(stand_in):
    weights = [{"regularizer.weight": "1"}, {"regularizer.weight": "100"}, {"regularizer.viscosity": "0.1"}]
    assert times(*weights, {"regularizer.samples": "7"}) == [1, 1, 1, 2]
    assert Experiment.from_json(StandIn.asked[1]["experiment"]).changes() == {"regularizer.samples": "7"}


def test_times_are_remembered_for_every_store(stand_in):
    assert times({}, {"regularizer.fraction": "1.0"}) == [1, 2]
    assert times({"regularizer.fraction": "1.0"}) == [2]
    assert not StandIn.asked


def test_a_damaged_file_of_times_is_measured_anew(stand_in):
    times({})
    (file,) = known_times.folder().iterdir()
    file.write_text(file.read_text()[:-5])
    assert times({}) == [1]
    assert json.loads(file.read_text())


def test_times_that_cannot_be_written_are_said_once(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setattr(known_times, "folder", lambda: blocked)
    said = []
    known = KnownTimes(said.append)
    known.add("a", {"play": 1.0})
    known.add("b", {"play": 2.0})
    assert set(known.entries) == {"a", "b"}
    assert len(said) == 1
    assert "measured times are not kept for the next time" in said[0]


def test_processes_that_measure_at_the_same_time_keep_each_other_s_times():
    first, second = KnownTimes(pytest.fail), KnownTimes(pytest.fail)
    first.add("a", {"play": 1.0})
    second.add("b", {"play": 2.0})
    assert set(KnownTimes(pytest.fail).entries) == {"a", "b"}


def test_a_step_is_guessed_from_the_rate_of_matrix_products_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("MVL_DATA", str(tmp_path))  # without the task's data, whose sizes are guessed too
    of = experiment("gcivl", "paper")
    guessed = Estimator(CPU, None).step(of)
    assert guessed == Estimate(work(of, 32) / (SHARE_OF_RATE * 1e11), True)
    assert Estimator(Machine("gpu", 1, "a GPU", 1e13), None).step(of) is None


def test_a_step_is_guessed_from_the_nearest_that_was_measured():
    estimator = Estimator(CPU, None)
    small, large = experiment("gcivl", "cpu"), experiment("gcivl", "paper")
    for of, seconds in ((small, 0.002), (large, 0.5)):
        (question, *_) = estimator.questions([of])
        estimator.known.add(question.key, {"step": seconds, **question.notes})
    between = experiment("dual", "paper")
    expected = 0.5 * work(between, 32) / work(large, 32)
    assert estimator.step(between) == Estimate(pytest.approx(expected), True)
    assert estimator.step(large) == Estimate(0.5, False)


def test_a_measured_step_counts_for_data_of_other_dimensions_by_its_work():
    estimator = Estimator(CPU, None)
    here, there = experiment(), experiment(task="antmaze-medium-navigate-v0")
    estimator.sizes = {here.task: (2, 2), there.task: (29, 8)}
    (question, *_) = estimator.questions([here])
    estimator.known.add(question.key, {"step": 0.01, **question.notes})
    assert estimator.step(there) == Estimate(pytest.approx(0.01 * work(there, 29) / work(here, 2)), False)


def test_an_episode_is_guessed_from_one_of_the_same_family():
    estimator = Estimator(CPU, None)
    task = experiment(task="antmaze-large-navigate-v0").task
    assert estimator.episode(task) == Estimate(0.9, True)
    estimator.known.add("antmaze-medium-navigate-v0", {"play": 0.002, "length": 1000, "tasks": 5})
    assert estimator.episode(task) == Estimate(2.0, True)
    assert estimator.episode(experiment(task="antmaze-medium-navigate-v0").task) == Estimate(2.0, False)


def test_all_steps_and_evaluations_of_a_seed_are_counted():
    estimator = Estimator(CPU, None)
    of = experiment(steps="1000", eval_every="400", eval_episodes="20")
    step, episode = estimator.questions([of])
    estimator.known.add(step.key, {"step": 0.01, **step.notes})
    estimator.known.add(episode.key, {"play": 0.001, "length": 1000, "tasks": 5})
    assert estimator.seed(of) == Estimate(pytest.approx(1000 * 0.01 + 3 * 5 * 20 * 1.0), False)
    assert estimator.questions([of]) == []


def test_finished_runs_of_the_same_experiment_are_believed_first(tmp_path):
    of = experiment()
    made_run(folder_of(of, tmp_path) / "seeds-0-1", of, [0, 1])  # its clock runs for a second per step
    job = Job(replace(of, seeds=(2,)), folder_of(of, tmp_path) / "seeds-2")
    finished = finished_times([job], tmp_path)
    assert remaining_times([job], finished, Estimator(CPU, None)) == {job: Estimate(of.schedule.steps / 2, False)}


def test_what_cannot_be_measured_stays_a_guess(monkeypatch):
    estimator = Estimator(CPU, None)
    of = experiment()
    monkeypatch.setattr(StandIn, "ask", lambda self, **_: {})
    for question in estimator.questions([of]):
        estimator.measure(question, StandIn())
    assert estimator.seed(of).guessed
    assert len(estimator.questions([of])) == 2
