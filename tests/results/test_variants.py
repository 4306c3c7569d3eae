"""The table of success in variants of a task: each run is played once, what lacks a variant is played again."""

from types import SimpleNamespace

import numpy as np
import pytest
from made_runs import TASK, experiment, made_run
from untrained import untrained_by_name

from mvl.cli import main
from mvl.errors import UsageError
from mvl.results import variants
from mvl.results.results import Result
from mvl.results.variants import variant_of, variant_table, variants_of
from mvl.studies.job import folder_of
from mvl.studies.plan import Cell
from mvl.studies.store import runs_of
from mvl.tasks import find_task


def test_a_variant_is_a_task_with_the_word_in_its_name():
    assert variant_of(find_task("panda-pick-place-object"), "disturbed").name == "panda-pick-place-object-disturbed-v0"
    with pytest.raises(UsageError, match="pointmaze-medium-navigate-windy-v0"):
        variant_of(find_task("pointmaze-medium-navigate"), "windy")


@pytest.fixture
def played(monkeypatch):
    """The environments that were played, in which every policy succeeds less often than in the one before."""
    names: list[str | None] = []

    def evaluate(run, episodes, task):
        names.append(task)
        return SimpleNamespace(overall=np.array([1.0 / len(names)]))

    monkeypatch.setattr(variants, "evaluate", evaluate)
    monkeypatch.setattr(variants, "variant_of", lambda task, word: SimpleNamespace(name=f"{task.name} {word}"))
    return names


def test_a_run_is_played_once_and_again_for_another_variant(tmp_path, played):
    run = untrained_by_name(tmp_path / "run", TASK)
    found = variants_of(run, ["windy"])
    assert found == variants_of(run, ["windy"]) == {"": [1.0], "windy": [0.5]}
    assert played == [None, f"{TASK} windy"]
    assert variants_of(run, ["icy"]) == {"": [0.333333], "icy": [0.25]}
    (run / "checkpoint.safetensors").unlink()  # as in records: only what was saved is known
    assert variants_of(run, ["icy"]) is not None
    assert variants_of(run, ["windy"]) is None


def test_success_is_shown_with_intervals(tmp_path):
    of = experiment()
    for seed, success in ((0, 0.4), (1, 0.6)):
        run = made_run(folder_of(of, tmp_path) / f"seeds-{seed}", of, [seed])
        (run / "variants.json").write_text(f'{{"": [{success}], "windy": [0.2]}}')
    result = Result(Cell("medium", "overall", "gcivl", of), tuple(runs_of(of, tmp_path, None).finished.values()))
    table = variant_table([result], ["windy"], lambda line: None)
    assert table.rows == [["medium", "gcivl", "50 [0, 100]", "20 [20, 20]", 2]]
    assert "medium,gcivl,itself,2,50.0," in table.csv()
    assert table.csv().rstrip().endswith("20.00 20.00")


def test_a_variant_that_does_not_exist_is_refused_before_anything_runs(tmp_path, capsys):
    words = ["sweep", "--tasks", TASK, "--recipes", "gcivl", "--store", str(tmp_path / "store"), "--variants", "windy"]
    assert main(words) != 0
    assert "windy" in capsys.readouterr().err
    assert not (tmp_path / "store").exists()
