"""Random and damaged frames of policy clients: each has to be answered with an action, or refused in one sentence.

Here a session gets them directly, with a policy that does not compute; tests/deploy/test_fuzz.py sends them over a real socket.
"""

import random
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import numpy as np

from mvl.deploy.messages import pack
from mvl.errors import MvlError

sys.path[:0] = [str(Path(__file__).parents[2] / "tests" / name) for name in ("helpers", "")]

Message = dict[str, Any]
POINT: Message = {"observation": np.array([1, 2], "f"), "goal": np.array([3, 4], "f"), "prompt": "corner"}
ARM: Message = {
    "observation/joint_position": np.array([1000.0, 0]),
    "observation/gripper": 1,
    "goal": np.array([1000, 0, 1]),
}
KEYS = ["observation", "observation/state", "observation/joint_position", "observation/gripper", "observation/x"]
KEYS += ["goal", "goal/joint_position", "goal/gripper", "prompt", "timestamp", "reset", ""]
DTYPES = ["<f4", ">f8", "|u1", "<i8", "|b1", "O", "<c8", "|V8", "<U3", "f4,f4", "(2,)f4", "<f3", "", "<f4" * 9]
SIMPLE: list[Any] = [None, True, False, 0, -1, 2**63, 1e308, np.nan, -np.inf]
SIMPLE += ["", "corner", "\0", b"\xff", [], {}, [[]], [0.5, 0.5]]
NUMBERS = [0.0, 1.0, -5.0, np.nan, np.inf, 1e30]


def damaged(draw: random.Random, valid: Message) -> bytes:
    """A valid message with bytes changed, removed and inserted."""
    frame = bytearray(pack(valid))
    for _ in range(draw.randint(1, 6)):
        place = draw.randrange(len(frame))
        change = draw.randrange(3)
        frame[place : place + (change != 0)] = b"" if change == 1 else draw.randbytes(1)
    return bytes(frame)


def thing(draw: random.Random, depth: int = 0) -> Any:
    """Any value that msgpack can hold, and descriptions of arrays that need not be true."""
    kind = draw.randrange(5 if depth < 4 else 3)
    if kind == 0:
        return draw.choice(SIMPLE)
    if kind == 1:
        shape = [draw.choice([0, 1, 2, 3, -1, 2**40]) for _ in range(draw.randrange(4))]
        data = draw.choice([draw.randbytes(draw.choice([0, 4, 8, 16])), "text", 7])
        marker = draw.choice([b"__ndarray__", b"__npgeneric__"])
        return {marker: True, b"data": data, b"dtype": draw.choice(DTYPES), b"shape": shape}
    if kind == 2:
        return np.array([draw.choice(NUMBERS) for _ in range(draw.choice([1, 2, 2, 2, 3]))], draw.choice("fd"))
    if kind == 3:
        return [thing(draw, depth + 1) for _ in range(draw.randrange(4))]
    return {draw.choice(KEYS): thing(draw, depth + 1) for _ in range(draw.randrange(3))}


def packed(draw: random.Random, valid: Message) -> bytes:
    """A valid message or none, with some entries that are anything."""
    message = {**draw.choice([valid, {}]), **{draw.choice(KEYS): thing(draw) for _ in range(draw.randrange(4))}}
    array = lambda one: {b"__ndarray__": True, b"data": one.tobytes(), b"dtype": one.dtype.str, b"shape": list(one.shape)}
    made: bytes = msgpack.packb(message, default=array)
    return made


def text(draw: random.Random, valid: Message) -> str:
    """Text, which no client sends."""
    return "".join(chr(draw.randrange(0xD800)) for _ in range(draw.randrange(20)))


def noise(draw: random.Random, valid: Message) -> bytes:
    """Random bytes."""
    return draw.randbytes(draw.randrange(200))


def frame(draw: random.Random, valid: Message) -> bytes | str:
    """Any frame: a damaged one, one with odd entries, text or noise."""
    kinds: list[Callable[[random.Random, Message], bytes | str]] = [damaged, packed, packed, text, noise]
    return draw.choice(kinds)(draw, valid)


class Still:
    """A policy whose actions are zeros."""

    reachable = True

    def __init__(self, shapes: Any) -> None:
        self.shapes, self.signals = shapes, None

    def copy(self) -> "Still":
        return self

    def reset(self) -> None: ...

    def act(self, observation: Any, goal: Any) -> np.ndarray:
        return np.zeros(3, np.float32)


def write(folder: Path) -> None:
    """Write a run of an arm whose data has names, an origin and levels."""
    import serving  # type: ignore[import-not-found]

    serving.arm_run(folder / "run")


def case(number: int, generator: np.random.Generator, written: Path, scratch: Path) -> str:
    """Outcome of one case: accepted, refused, or what went wrong."""
    from mvl.deploy.limits import Limits
    from mvl.deploy.session import Served, Session
    from mvl.runs.folder import RunFolder

    description = RunFolder.open(written / "run")[1]
    policy: Any = Still(description.shapes)
    session = Session(Served(written / "run", description, policy, Limits()))
    data = frame(random.Random(int(generator.integers(2**63))), ARM)
    try:
        answer = session.answer(data if number else pack(ARM))
        good = answer == {"reset": True} or np.isfinite(pack_and_unpack(answer)["actions"]).all()
        return "accepted" if good else f"answered {answer}"
    except MvlError as error:
        return "refused" if "\n" not in str(error) else f"refused in several lines: {error}"
    except Exception:
        return f"foreign exception for {data!r}:\n{traceback.format_exc()}"


def pack_and_unpack(answer: Message) -> Message:
    """The answer as a client gets it."""
    from mvl.deploy.messages import unpack

    return unpack(pack(answer))
