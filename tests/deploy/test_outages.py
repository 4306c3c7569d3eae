"""A simulated arm and a real server: whatever fails between them, the arm holds within one period, and goes on afterwards."""

import re
import subprocess
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from serving import Proxy, StubRobot, serving

from conftest import walk, write_npz
from mvl.cli import main
from mvl.client import Client
from mvl.deploy.limits import Limits
from mvl.deploy.link import Link
from mvl.deploy.loop import Summary, drive
from mvl.deploy.robot import SimulatedRobot
from mvl.processes import python_module
from mvl.tasks import find_task
from mvl.tasks.simulator import Start

PERIOD = 0.4


class Arm(StubRobot):
    """The point of a maze, which notes what it is told."""

    def __init__(self, on_read, most):
        super().__init__(on_read, most)
        self.simulator = SimulatedRobot(find_task("pointmaze-medium-navigate-v0"), Start(1, 0))

    def __enter__(self):
        self.simulator.__enter__()
        return self

    def __exit__(self, *exception):
        self.simulator.__exit__(*exception)

    def read(self):
        return self.simulator.read() if super().read() else None

    def send(self, action):
        super().send(action)
        self.simulator.send(action)

    def hold(self):
        super().hold()
        before = self.simulator.read()["observation"]
        self.simulator.hold()
        assert np.linalg.norm(self.simulator.read()["observation"] - before) < 0.3


def driven(address, on_read, most, goal=None):
    """An arm that was driven for that many periods, and what was said meanwhile."""
    said = []
    with Arm(on_read, most) as arm, Link(lambda: Client(address, timeout=1.0)) as link:
        drive(arm, link, Summary(PERIOD), goal=goal, say=said.append)
    return arm, said


def test_a_network_that_stalls(offered):
    """The third reading never arrives at the server. When the network is back, so are the actions."""
    with serving(offered) as address, Proxy(address) as proxy:
        begin_end = {3: proxy.stalled.set, 5: proxy.stalled.clear}
        arm, said = driven(proxy.address, lambda count: begin_end.get(count, lambda: None)(), 9)
    assert arm.kinds[:2] == ["send", "send"]
    assert arm.kinds[2:4] == ["hold", "hold"]
    assert arm.kinds[-2:] == ["send", "stop"]
    assert arm.slowest < PERIOD
    assert said[0] == "holding: the answer is late"
    assert said[-1] == "the server answers again"


def test_a_server_that_is_killed(served_run):
    """The process of `mvl serve`, in the middle of the third period."""
    with server_process(served_run) as (process, address):
        arm, said = driven(address, lambda count: (process.kill(), process.wait()) if count == 3 else None, 5, "corner")
    assert arm.kinds == ["send"] * 2 + ["hold"] * 3 + ["stop"]
    assert said[0].startswith("holding: ")
    assert arm.slowest < PERIOD


@contextmanager
def server_process(run):
    words = python_module("mvl", "serve", str(run), "--port", "0", "--plan", "none")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, re.match(r"(ws://\S+) serves", process.stdout.readline())[1]
        finally:
            process.kill()


def test_a_server_that_refuses_is_heard_and_the_arm_holds(offered):
    with serving(offered) as address:
        arm, said = driven(address, lambda count: None, 3, "nowhere")
    assert arm.kinds == ["hold"] * 3 + ["stop"]
    assert said[0].startswith("holding: no goal named 'nowhere'")


def test_one_client_that_vanishes_does_not_disturb_another(offered):
    with serving(replace(offered, limits=Limits(max_clients=3))) as address, Proxy(address) as proxy:
        doomed = Client(proxy.address)

        def vanish(count):
            if count == 2:
                proxy.__exit__()  # cuts the connection

        arm, _ = driven(address, vanish, 4)
        doomed.close()
    assert arm.kinds == ["send"] * 4 + ["stop"]


@pytest.fixture
def address(offered):
    with serving(offered) as address:
        yield address


def run(capsys, *words, code=0):
    assert main(["robot", "run", *map(str, words)]) == code
    return capsys.readouterr()


def test_a_log_is_driven_and_recorded(address, tmp_path, capsys):
    log, record = write_npz(tmp_path / "log.npz", walk(episodes=1, rows=4)), tmp_path / "record.npz"
    words = ["--robot", f"log:{log}", "--server", address, "--hz", 5, "--record", record]
    printed = run(capsys, *words, "--goal", "corner").out
    assert "4 with an action, 0 held" in printed
    assert "4 of 4 rows replayed" in printed
    with np.load(record) as found:
        assert found["action"].shape == (4, 2)
        assert found["observation"].shape == (4, 2)
    assert "exists already" in run(capsys, *words, "--goal", "corner", code=1).err


def test_a_simulator_is_driven_to_its_own_goal(address, capsys):
    done = run(capsys, "--robot", "sim:pointmaze-medium-navigate-v0", "--server", address, "--hz", 20, "--seconds", 0.25)
    assert " periods of 50 ms: " in done.out
    assert "pointmaze-medium-navigate-v0: did not reach its goal" in done.out


def test_a_dry_run_prints_and_sends_nothing(address, tmp_path, capsys):
    log = write_npz(tmp_path / "log.npz", walk(episodes=1, rows=2))
    printed = run(capsys, "--robot", f"log:{log}", "--server", address, "--goal", "corner", "--hz", 5, "--dry-run").out
    assert printed.count("-> action [") == 2
    assert "dry run: nothing was sent" in printed


def test_a_file_stops_the_robot(address, tmp_path, capsys, monkeypatch):
    stop = tmp_path / "stop"
    log = write_npz(tmp_path / "log.npz", walk())
    words = ["--robot", f"log:{log}", "--server", address, "--goal", "corner", "--stop-file", stop]
    monkeypatch.setattr("mvl.deploy.robot.LoggedRobot.send", lambda *_: stop.touch())
    stopped = run(capsys, *words, code=130)
    assert f"stopped, because {stop} exists" in stopped.err
    assert "1 with an action" in stopped.out
    assert "remove it first" in run(capsys, *words, code=2).err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (
            ["--server", "ws://127.0.0.1:1"],
            1,
            "Connection refused); is `mvl serve` running there?",
        ),
        (["--server", "nowhere"], 1, "nowhere cannot be reached"),
        (["--record", "x.csv"], 2, "must end in .npz"),
        (["--hz", "0"], 2, "must be a number above 0"),
    ],
)
def test_what_cannot_be_driven_is_told(tmp_path, capsys, words, code, said):
    log = write_npz(tmp_path / "log.npz", walk(episodes=1, rows=2))
    assert said in run(capsys, "--robot", f"log:{log}", "--goal", "corner", *words, code=code).err


def test_a_log_needs_a_goal(capsys):
    assert (
        "a log has no goal of its own; name one of the served run with --goal" in run(capsys, "--robot", "log:x.npz", code=2).err
    )


def test_wrong_words_are_told(capsys):
    assert main(["robot", "walk"]) == 2
    assert "no robot action named 'walk'" in capsys.readouterr().err
