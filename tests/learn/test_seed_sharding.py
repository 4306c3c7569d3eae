"""Seeds on cores of their own train as they do one after another, to float tolerance; a resumed run equals an unbroken one."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from mvl.learn.devices import SeedSharding, cores, equal_groups, share_cores
from mvl.runs.training import train
from runs.test_devices import SCHEDULE, assert_same_training, recipe

TESTS = str(Path(__file__).parents[1])


def test_equal_groups_only():
    assert [equal_groups(seeds, 2) for seeds in (1, 2, 3, 4)] == [1, 2, 1, 2]
    assert equal_groups(6, 4) == 3
    assert equal_groups(4, 0) == 1


def test_no_effect_after_jax_has_initialized():
    jax.devices()
    share_cores(2 * cores())
    assert len(jax.devices()) == 1
    assert SeedSharding.over(4) is None


@pytest.mark.skipif(cores() < 2, reason="needs two cores")
def test_two_seeds_on_two_cores_are_two_seeds_in_turn(data_file, tmp_path):
    script = (
        "import sys, jax; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path; from runs.test_devices import SCHEDULE, recipe\n"
        "from mvl.learn.devices import SeedSharding; from mvl.runs.training import resume, train\n"
        "to = Path(sys.argv[3])\n"
        "train(sys.argv[2], recipe(), run=to / 'whole', seeds=2, **{**SCHEDULE, 'steps': 40})\n"
        "assert SeedSharding.over(2) is not None\n"
        "train(sys.argv[2], recipe(), run=to / 'parts', seeds=2, **SCHEDULE)\n"
        "resume(to / 'parts', steps=40)\n"
        "train(sys.argv[2], recipe(), run=to / 'mapped', seeds=2, out_of_core=True, **{**SCHEDULE, 'steps': 40})\n"
    )
    command = [sys.executable, "-c", script, TESTS, str(data_file), str(tmp_path)]
    subprocess.run(command, check=True, env={name: value for name, value in os.environ.items() if name != "JAX_NUM_CPU_DEVICES"})
    in_turn = train(data_file, recipe(), run=tmp_path / "in-turn", seeds=2, **{**SCHEDULE, "steps": 40})
    assert_same_training(in_turn, tmp_path / "whole")
    assert_same_training(in_turn, tmp_path / "mapped")
    for name in ("metrics.jsonl", "evaluations.jsonl"):  # the checkpoint also tells the size of its files, and the schedule
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes()
