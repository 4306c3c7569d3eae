"""What docs/serve.md shows works, as far as it can be tried without a robot."""

import re
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from conftest import walk, write_npz
from mvl.cli import main, robot, serve
from mvl.deploy.loop import Summary, drive

TEXT = (Path(__file__).parents[2] / "docs" / "serve.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.S)


def commands(name):
    """Words of the commands shown, without `mvl` and the name."""
    lines = [shlex.split(line, comments=True) for block in blocks("sh") for line in block.splitlines()]
    return [words[2:] for words in lines if words[:2] == ["mvl", name]]


def test_its_options_exist():
    (shown,) = commands("serve")
    assert serve._parser().parse_all(shown).run == Path("runs/mine")
    parsed = [robot._parser().parse_all(words[1:]) for words in commands("robot")]
    assert [options.robot.split(":")[0] for options in parsed] == ["sim", "log", "my_arm"]
    table = re.findall(r"`(--[a-z-]+)", TEXT.split("## Limits")[1].split("## The robot loop")[0])
    known = serve._parser()._option_string_actions
    assert {"--strict", "--max-age", "--token"} <= set(table) <= set(known)


def test_its_limits_have_the_values_it_names():
    options = serve._parser().parse_all(["run"])
    assert (options.margin, options.max_age, options.max_rate, options.max_bytes, options.max_clients) == (0.1, 1, 1000, 4e6, 8)


def test_its_goal_can_be_added(served_run, tmp_path, monkeypatch, capsys):
    (words,) = commands("goals")
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    (tmp_path / "runs" / "mine" / "run.json").write_bytes((served_run / "run.json").read_bytes())
    write_npz(tmp_path / "demos.npz", walk(episodes=60))
    monkeypatch.chdir(tmp_path)
    assert main(["goals", *words]) == 0
    assert capsys.readouterr().out.startswith("above the cup: ")


class Arm:
    """Stands for the driver of the documented robot."""

    moves, stopped = [], 0

    def __init__(self, address):
        self.joints, self.gripper, self.close = (lambda: np.zeros(7)), (lambda: 1.0), (lambda: None)

    def move(self, joints, gripper=None):
        self.moves.append(joints.tolist())

    def stop(self):
        Arm.stopped += 1


def test_its_robot_can_be_driven(monkeypatch):
    monkeypatch.setitem(sys.modules, "my_driver", SimpleNamespace(Arm=Arm))
    (source,) = [block for block in blocks("python") if "class MyArm" in block]
    names = {}
    exec(source, names)
    answers = iter([np.arange(8.0), None])
    link = SimpleNamespace(problem="", ask=lambda message, seconds: (len(message["observation"]) == 8) and next(answers))
    with names["make"]() as arm:
        drive(arm, link, Summary(0.001), stopped=lambda: len(Arm.moves) == 2, say=lambda line: None)
    assert Arm.moves == [[0, 1, 2, 3, 4, 5, 6], [0] * 7]
    assert Arm.stopped == 1


def test_its_node_is_python():
    (node,) = [block for block in blocks("python") if "rclpy" in block]
    compile(node, "node", "exec")
