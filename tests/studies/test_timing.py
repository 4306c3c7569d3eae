"""What is timed to say how long a plan takes."""

from made_runs import TASK

from mvl.experiment import Experiment
from mvl.studies import timing as estimate


class StandIn:
    """A probe whose steps take a second more with every question."""

    machine = {"backend": "cpu", "devices": 1}
    asked: list[dict]

    def __enter__(self):
        StandIn.asked = []
        return self

    def __exit__(self, *_):
        pass

    def ask(self, **question):
        self.asked.append(question)
        return {"step": float(len(self.asked))}


def times(store, *settings):
    experiments = [Experiment.from_preset(TASK, "gcivl-mvl").with_settings(wanted) for wanted in settings]
    return list(estimate.step_times(experiments, None, store, lambda *_: None).values())


def test_variants_that_differ_in_a_factor_are_timed_once(tmp_path, monkeypatch):
    monkeypatch.setattr(estimate, "Probe", StandIn)
    weights = [{"regularizer.weight": "1"}, {"regularizer.weight": "100"}, {"regularizer.viscosity": "0.1"}]
    assert times(tmp_path, *weights, {"regularizer.samples": "7"}) == [1, 1, 1, 2]
    assert Experiment.from_json(StandIn.asked[1]["experiment"]).changes() == {"regularizer.samples": "7"}


def test_the_store_remembers_times(tmp_path, monkeypatch):
    monkeypatch.setattr(estimate, "Probe", StandIn)
    assert times(tmp_path, {}, {"regularizer.fraction": "1.0"}) == [1, 2]
    assert times(tmp_path, {"regularizer.fraction": "1.0"}) == [2]
    assert not StandIn.asked
