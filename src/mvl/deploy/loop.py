"""The control loop of a robot: a fixed rate, a hold when no answer comes in time, and a stop that always wins."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Protocol

import numpy as np

from mvl.deploy.robot import Robot

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that stop the robot."""
PATIENCE = 0.8
"""Part of a period that is waited for an answer; the rest is for the command."""

Say = Callable[[str], None]


class Answers(Protocol):
    """Where actions come from, such as `mvl.deploy.link.Link`."""

    problem: str

    def ask(self, message: dict[str, Any], seconds: float) -> np.ndarray | None: ...


@dataclass
class Summary:
    """What happened in a control loop."""

    period: float
    sent: int = 0
    held: int = 0
    late: list[float] = field(default_factory=list)
    """Of every period: seconds from when it should have begun to when it did."""
    waited: list[float] = field(default_factory=list)
    """Of every answer that came in time: seconds that it took."""

    def __str__(self) -> str:
        parts = [f"{len(self.late)} periods of {1000 * self.period:.3g} ms: {self.sent} with an action, {self.held} held"]
        for name, seconds in (("begun late by", self.late), ("answered after", self.waited)):
            if seconds:
                p50, p99 = 1000 * np.percentile(seconds, [50, 99])
                parts.append(f"{name} {p50:.2f} ms (p50), {p99:.2f} ms (p99)")
        return "; ".join(parts)


def drive(
    robot: Robot,
    answers: Answers,
    summary: Summary,
    seconds: float | None = None,
    goal: str | None = None,
    stopped: Callable[[], bool] = lambda: False,
    say: Say = print,
) -> None:
    """Drive a robot until it is finished, `seconds` have passed, or `stopped` says so; then, or after any error, stop it.

    Every period the robot is read and the server is asked. If the answer comes in time it is sent, otherwise the robot holds.
    `goal` is the name of a goal, which replaces the robot's own. The robot's `stop` may be called twice.
    """
    try:
        try:
            _loop(robot, answers, summary, seconds, goal, stopped, say)
        finally:
            robot.stop()
    except KeyboardInterrupt:  # which may have come just before that stop, or in the middle of it; it comes only once
        robot.stop()
        raise


def _loop(
    robot: Robot,
    answers: Answers,
    summary: Summary,
    seconds: float | None,
    goal: str | None,
    stopped: Callable[[], bool],
    say: Say,
) -> None:
    holding = ""
    for late in periods(summary.period, seconds):
        summary.late.append(late)
        began = time.monotonic()
        reading = robot.read()
        if reading is None or stopped():
            return
        action = answers.ask(message_of(reading, goal), PATIENCE * summary.period)
        if stopped():
            return
        if action is not None:
            robot.send(action)
            summary.sent += 1
            summary.waited.append(time.monotonic() - began)
            reason = ""
        else:
            robot.hold()
            summary.held += 1
            reason = answers.problem or "the answer is late"
        if reason != holding:
            say(f"holding: {reason}" if reason else "the server answers again")
        holding = reason


def message_of(reading: dict[str, Any], goal: str | None) -> dict[str, Any]:
    """The message to the server for what a robot read; with `goal`, that is asked for by name instead of the robot's own."""
    message = {**reading, "timestamp": time.time()}
    if goal is not None:
        message = {name: value for name, value in message.items() if name.split("/")[0] != "goal"} | {"prompt": goal}
    return message


def periods(period: float, seconds: float | None) -> Iterator[float]:
    """Yields at a fixed rate, how late it is; periods that were missed are left out, never made up for."""
    began, number = time.monotonic(), 0
    while seconds is None or number * period < seconds:
        wait = began + number * period - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        now = time.monotonic() - began
        yield now - number * period
        number = max(number + 1, int((time.monotonic() - began) / period))


@contextmanager
def stopping_on_signals() -> Iterator[None]:
    """Ctrl-C, SIGTERM and SIGHUP raise KeyboardInterrupt once in the block; later ones cannot disturb the stop."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        for one in SIGNALS:
            signal.signal(one, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {one: signal.signal(one, interrupt) for one in SIGNALS}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
