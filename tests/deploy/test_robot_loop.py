"""The control loop: rate, hold, and a stop that always wins."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from serving import StubRobot

from mvl.deploy import loop
from mvl.deploy.loop import Summary, drive, message_of, periods, stopping_on_signals

PERIOD = 0.01


class Server:
    """Answers at once, or never while `down`."""

    def __init__(self, down=lambda count: False):
        self.down, self.asked, self.problem = down, [], "no server"

    def ask(self, message, seconds):
        self.asked.append(message)
        if self.down(len(self.asked)):
            time.sleep(seconds)
            return None
        return np.zeros(2, np.float32)


def test_every_period_has_an_action_or_a_hold_and_the_end_a_stop():
    robot, said = StubRobot(most=7), []
    summary = Summary(PERIOD)
    drive(robot, Server(down=lambda count: count in (3, 4)), summary, say=said.append)
    assert robot.kinds == ["send"] * 2 + ["hold"] * 2 + ["send"] * 3 + ["stop"]
    assert (summary.sent, summary.held, len(summary.late), len(summary.waited)) == (5, 2, 8, 5)
    assert said == ["holding: no server", "the server answers again"]


def test_a_late_answer_is_a_hold_within_the_period():
    robot = StubRobot()
    drive(robot, Server(down=lambda count: True), Summary(0.1), seconds=0.05, say=lambda line: None)
    assert robot.kinds == ["hold", "stop"]


def test_a_robot_that_is_finished_ends_the_loop():
    robot = StubRobot(most=0)
    drive(robot, Server(), Summary(PERIOD))
    assert robot.kinds == ["stop"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_at_once_and_nothing_is_sent_after(number):
    robot = StubRobot(on_read=lambda count: signal.raise_signal(number) if count == 3 else None)
    with pytest.raises(KeyboardInterrupt), stopping_on_signals():
        drive(robot, Server(), Summary(PERIOD))
    assert robot.kinds == ["send", "send", "stop", "stop"]


def test_a_signal_stops_while_an_answer_is_awaited():
    robot = StubRobot()
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), stopping_on_signals():
        drive(robot, Server(down=lambda count: True), Summary(10.0), say=lambda line: None)
    assert time.monotonic() - began < 5
    assert set(robot.kinds) == {"stop"}


def test_further_signals_do_not_disturb_the_stop():
    class Slow(StubRobot):
        def stop(self):
            signal.raise_signal(signal.SIGINT)
            super().stop()

    robot = Slow(on_read=lambda count: signal.raise_signal(signal.SIGINT) if count == 2 else None)
    with pytest.raises(KeyboardInterrupt), stopping_on_signals():
        drive(robot, Server(), Summary(PERIOD))
    assert robot.kinds == ["send", "stop", "stop"]


def test_a_signal_within_the_last_stop_does_not_prevent_it():
    class Interrupted(StubRobot):
        def stop(self):
            signal.raise_signal(signal.SIGINT)
            super().stop()

    robot = Interrupted()
    with pytest.raises(KeyboardInterrupt), stopping_on_signals():
        drive(robot, Server(), Summary(PERIOD), seconds=PERIOD)
    assert robot.kinds == ["send", "stop"]


def test_signals_mean_afterwards_what_they_meant_before():
    before = signal.getsignal(signal.SIGTERM)
    with stopping_on_signals():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("when", [1, 2])
def test_a_request_to_stop_wins_before_and_after_the_answer(when):
    asked = []
    robot = StubRobot()
    drive(robot, Server(), Summary(PERIOD), stopped=lambda: asked.append(0) or len(asked) >= when)
    assert robot.kinds == ["stop"]


@pytest.mark.parametrize("method", ["read", "send", "hold"])
def test_a_robot_that_fails_is_stopped(method):
    robot = StubRobot()

    def fail(*_):
        raise OSError("the cable is loose")

    setattr(robot, method, fail)
    with pytest.raises(OSError, match="the cable"):
        drive(robot, Server(down=lambda count: method == "hold"), Summary(PERIOD))
    assert robot.kinds == ["stop"]


def test_missed_periods_are_left_out(monkeypatch):
    clock = Clock(monkeypatch)
    begun = []
    for late in periods(1.0, 10.0):
        begun.append((clock.now, late))
        clock.now += 2.5 if len(begun) == 2 else 0.1
    assert begun == [(0, 0), (1, 0), (3.5, 0.5), (4, 0), (5, 0), (6, 0), (7, 0), (8, 0), (9, 0)]


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(loop, "time", self)

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now = round(self.now + seconds, 6)


def test_a_named_goal_replaces_the_robots_own():
    reading = {"observation": 1, "goal": 2, "goal/joints": 3}
    assert set(message_of(reading, None)) == {"observation", "goal", "goal/joints", "timestamp"}
    named = message_of(reading, "corner")
    assert set(named) == {"observation", "prompt", "timestamp"}
    assert named["prompt"] == "corner"


def test_the_summary_has_the_percentiles_in_milliseconds():
    summary = Summary(0.05, sent=2, held=1, late=[0.001, 0.001, 0.001], waited=[0.002, 0.002])
    text = str(summary)
    assert "3 periods of 50 ms: 2 with an action, 1 held" in text
    assert "begun late by 1.00 ms (p50), 1.00 ms (p99)" in text
    assert "answered after 2.00 ms (p50), 2.00 ms (p99)" in text
