"""Signs of a training that goes wrong: each is found in rows that show it, said once, and not found in rows that do not."""

import math

import pytest

from conftest import small_recipe, walk, write_npz
from mvl.runs.health import Watch, findings
from mvl.runs.training import train


def rows(name: str, values: list[float], seed: int = 0) -> list[dict]:
    return [{"step": 10 * (i + 1), "seed": seed, name: value} for i, value in enumerate(values)]


@pytest.mark.parametrize(
    ("name", "values", "sentence"),
    [
        ("value/loss", [1.0, 2.0, 3e9], "value/loss explodes: it is 3e+09 at step 30"),
        ("policy/loss", [-2e10, 0.1], "policy/loss explodes: it is -2e+10 at step 10"),
        ("value/loss", [1.0, math.nan], "value/loss is not a finite number from step 20 on"),
        ("regularizer/active", [0.3, 0, 0, 0, 0, 0], "the regularizer has no effect"),
        ("regularizer/active", [1.0] * 5, "the regularizer is active everywhere"),
    ],
)
def test_a_sign_is_found(name, values, sentence):
    (found,) = findings(rows(name, values))
    assert found.startswith(sentence)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("value/loss", [1.0, 300.0, 0.1]),
        ("policy/loss", [90.0, 1e5]),
        ("regularizer/active", [0.0] * 4),
        ("regularizer/active", [0, 0, 0, 0, 0.001]),
        ("regularizer/slope", [0.0] * 9),
    ],
)
def test_rows_of_a_working_run_show_none(name, values):
    assert findings(rows(name, values)) == []


def test_a_policy_at_its_limits_is_found_unless_the_data_is_there_too():
    made = lambda policy, data: [row | {"validation/data_at_limits": data} for row in rows("validation/at_limits", policy)]
    assert findings(made([0.2, 0.99, 0.99], 0.1))[0].startswith("the policy is stuck")
    assert findings(made([0.99, 0.99], 0.995)) == findings(made([0.99, 0.5], 0.1)) == []


def test_what_was_said_is_not_said_again_with_other_numbers():
    watch = Watch()
    assert len(watch.notice(rows("value/loss", [1.0, 1e9]))) == 1
    assert watch.notice([{"step": 30, "seed": 1, "value/loss": 1.0}, {"step": 40, "seed": 1, "value/loss": 1e12}]) == []
    assert len(watch.notice(rows("policy/loss", [1.0, math.inf]))) == 1


def test_a_training_that_explodes_says_so(tmp_path, capsys):
    data = write_npz(tmp_path / "walk.npz", walk())
    schedule = {"steps": 60, "log_every": 10, "eval_every": 60, "save_every": 60, "steps_per_dispatch": 10}
    train(data, small_recipe(), run=tmp_path / "run", held_out=0.3, learning_rate=1e3, **schedule)
    assert "warning: value/loss" in capsys.readouterr().err
