"""Robots: what a control loop reads from and sends to. A simulator is one, a recorded log another."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from mvl.data.sources import npz
from mvl.errors import UsageError
from mvl.files import atomic
from mvl.registry import import_module, imported
from mvl.tasks import Task, find_task
from mvl.tasks.simulator import Start, quiet_simulators


class Robot(Protocol):
    """Something that can be driven. It is used as a context manager; its methods should return at once."""

    def read(self) -> dict[str, Any] | None:
        """What is known now, as entries of a message to the server (`observation`, perhaps `goal`); None at the end."""
        ...

    def send(self, action: np.ndarray) -> None:
        """Carry out an action, (a,)."""
        ...

    def hold(self) -> None:
        """Carry out the safest command while no action is known: usually, stay where you are."""
        ...

    def stop(self) -> None:
        """Come to rest for good: nothing is sent afterwards. May be called twice."""
        ...

    def __enter__(self) -> "Robot": ...

    def __exit__(self, *exception: object) -> None: ...


class SimulatedRobot:
    """An episode of a task in its simulator, which advances by one step for each command."""

    def __init__(self, task: Task, start: Start) -> None:
        self.task, self.start = task, start

    def __enter__(self) -> "SimulatedRobot":
        with ExitStack() as stack:
            stack.enter_context(quiet_simulators())
            self.simulator = self.task.make_simulator()
            _, self.goal = self.simulator.reset(self.start)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stack.close()

    def read(self) -> dict[str, Any] | None:
        return None if self.simulator.done else {"observation": self.simulator.observation, "goal": self.goal}

    def send(self, action: np.ndarray) -> None:
        self.simulator.step(self.task.action_units.normalized(action))

    def hold(self) -> None:
        """The environment's `hold_action()` if it has one, otherwise zeros."""
        env = self.simulator.env.unwrapped
        zeros: Callable[[], np.ndarray] = lambda: np.zeros(env.action_space.shape or 1, np.float32)
        self.send(getattr(env, "hold_action", zeros)())

    def stop(self) -> None:
        """Nothing to do: a simulator rests unless it is stepped."""

    def __str__(self) -> str:
        return f"{self.task}: {'reached its goal' if all(self.simulator.success) else 'did not reach its goal'}"


class LoggedRobot:
    """The observations of a data file, row by row; what is sent goes nowhere."""

    def __init__(self, file: Path) -> None:
        self.file, self.row = file, 0
        data = npz.load(file)
        self.observations = data.observations if data.origin is None else data.observations + data.origin

    def __enter__(self) -> "LoggedRobot":
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def read(self) -> dict[str, Any] | None:
        self.row += 1
        return {"observation": self.observations[self.row - 1]} if self.row <= len(self.observations) else None

    def send(self, action: np.ndarray) -> None:
        pass

    def hold(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def __str__(self) -> str:
        return f"{self.file}: {min(self.row, len(self.observations))} of {len(self.observations)} rows replayed"


class RecordedRobot:
    """Another robot, with everything that is read from it and sent to it kept."""

    def __init__(self, robot: Robot) -> None:
        self.robot, self.rows = robot, list[dict[str, Any]]()

    def __enter__(self) -> "RecordedRobot":
        self.robot.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self.robot.__exit__(*exception)

    def read(self) -> dict[str, Any] | None:
        self.reading = self.robot.read()
        return self.reading

    def send(self, action: np.ndarray) -> None:
        self.robot.send(action)
        self.rows.append({**(self.reading or {}), "time": time.time(), "action": action})

    def hold(self) -> None:
        self.robot.hold()
        self.rows.append({**(self.reading or {}), "time": time.time(), "action": None})

    def stop(self) -> None:
        self.robot.stop()

    def __str__(self) -> str:
        return str(self.robot)

    def save(self, file: Path) -> None:
        """Write an .npz file with a row for each period; where the robot was held, `action` is NaN."""
        size = next((len(row["action"]) for row in self.rows if row["action"] is not None), 0)
        rows = [{**row, "action": np.full(size, np.nan) if row["action"] is None else row["action"]} for row in self.rows]
        columns: dict[str, Any] = {name: np.array([row[name] for row in rows]) for name in (rows[0] if rows else ())}
        with atomic(file) as partial:
            np.savez(partial, **columns)


class DryRobot:
    """Another robot that is only read from; actions are printed instead of sent, and it is neither held nor stopped."""

    def __init__(self, robot: Robot, say: Callable[[str], None] = print) -> None:
        self.robot, self.say = robot, say

    def __enter__(self) -> "DryRobot":
        self.robot.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self.robot.__exit__(*exception)

    def read(self) -> dict[str, Any] | None:
        self.reading = self.robot.read()
        return self.reading

    def send(self, action: np.ndarray) -> None:
        read = "  ".join(f"{name} {np.round(value, 4)}" for name, value in (self.reading or {}).items())
        self.say(f"{read} -> action {np.round(action, 4)}")

    def hold(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def __str__(self) -> str:
        return f"dry run: nothing was sent to {self.robot}"


def make_robot(name: str, start: Start) -> Robot:
    """The robot that `sim:TASK`, `log:FILE.npz` or `module:function` names; `start` is for simulators."""
    kind, _, rest = name.partition(":")
    if not rest:
        raise UsageError(f"there is no robot '{name}'; give sim:TASK, log:FILE.npz, or module:function of your own.")
    if kind == "log":
        return LoggedRobot(Path(rest))
    if kind == "sim":
        task = find_task(rest)
        if start.goal > task.goals:
            raise UsageError(f"{task} has goals 1 to {task.goals}, not {start.goal}.")
        return SimulatedRobot(task, start)
    import_module(kind)
    made: Robot = imported(name)()
    return made
