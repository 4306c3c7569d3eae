"""Random and damaged frames over a real socket: every one gets an answer or a refusal, and the server goes on.

MVL_FUZZ_FRAMES=20000 sends more than the suite does.
"""

import os
import random
import socket

import msgpack
import numpy as np
import pytest
from serving import arm_run, served, serving
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from mvl.client import Client
from mvl.deploy.messages import pack, unpack

FRAMES = int(os.environ.get("MVL_FUZZ_FRAMES", "300"))
POINT = {"observation": np.float32([1, 2]), "goal": np.float32([3, 4]), "prompt": "corner"}
ARM = {"observation/joint_position": np.float64([1000, 0]), "observation/gripper": 1, "goal": np.array([1000, 0, 1])}
KEYS = ["observation", "observation/state", "observation/joint_position", "observation/gripper", "observation/x"]
KEYS += ["goal", "goal/joint_position", "goal/gripper", "prompt", "timestamp", "reset", ""]
DTYPES = ["<f4", ">f8", "|u1", "<i8", "|b1", "O", "<c8", "|V8", "<U3", "f4,f4", "(2,)f4", "<f3", "", "<f4" * 9]
SIMPLE = [None, True, False, 0, -1, 2**63, 1e308, np.nan, -np.inf, "", "corner", "\0", b"\xff", [], {}, [[]], [0.5, 0.5]]
NUMBERS = [0.0, 1.0, -5.0, np.nan, np.inf, 1e30]
HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: MTIzNDU2Nzg5MDEyMzQ1Ng==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def damaged(draw, valid):
    """A valid message with bytes changed, removed and inserted."""
    frame = bytearray(pack(valid))
    for _ in range(draw.randint(1, 6)):
        place = draw.randrange(len(frame))
        change = draw.randrange(3)
        frame[place : place + (change != 0)] = b"" if change == 1 else draw.randbytes(1)
    return bytes(frame)


def thing(draw, depth=0):
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


def packed(draw, valid):
    """A valid message or none, with some entries that are anything."""
    message = {**draw.choice([valid, {}]), **{draw.choice(KEYS): thing(draw) for _ in range(draw.randrange(4))}}
    array = lambda one: {b"__ndarray__": True, b"data": one.tobytes(), b"dtype": one.dtype.str, b"shape": list(one.shape)}
    return msgpack.packb(message, default=array)


def text(draw, valid):
    return "".join(chr(draw.randrange(0xD800)) for _ in range(draw.randrange(20)))


def noise(draw, valid):
    return draw.randbytes(draw.randrange(200))


def check_answer(answer, actions):
    """An answer is an action that a robot can carry out, or that the reset is done; anything else is a sentence."""
    if isinstance(answer, str):
        assert answer.endswith((".", "?", "..."))
        assert "server failed" not in answer
        return
    message = unpack(answer)
    if message != {"reset": True}:
        assert message["actions"].shape == (1, actions)
        assert np.isfinite(message["actions"]).all()


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    """A policy with named parts, an origin, levels, a history and chunks."""
    return served(arm_run(tmp_path_factory.mktemp("arm") / "run", history=2, chunk=3))


@pytest.mark.parametrize(("policy", "valid"), [("offered", POINT), ("arm", ARM)])
def test_random_frames_are_answered_or_refused(policy, valid, request, capsys):
    offered = request.getfixturevalue(policy)
    draw, answered, refused, connection = random.Random(0), 0, 0, None
    with serving(offered) as address:
        for _ in range(FRAMES):
            if connection is None:
                connection = connect(address, compression=None)
                connection.recv(timeout=10)
            make = draw.choice([damaged, packed, packed, text, noise])
            connection.send(make(draw, valid))
            answer = connection.recv(timeout=10)
            check_answer(answer, offered.actions)
            answered += isinstance(answer, bytes)
            if isinstance(answer, str):
                refused, connection = refused + 1, closed(connection)
        with Client(address) as client:
            assert "actions" in client.infer(valid)
    assert answered > FRAMES / 20
    assert refused > FRAMES / 5
    assert "Traceback" not in capsys.readouterr().err


def closed(connection):
    """After a refusal the server closes with code 1011."""
    with pytest.raises(ConnectionClosed) as ended:
        connection.recv(timeout=10)
    assert ended.value.rcvd.code == 1011


def test_bytes_that_are_no_frames_end_only_their_connection(offered, capsys):
    draw = random.Random(1)
    with serving(offered) as address:
        host, port = address.removeprefix("ws://").split(":")
        for number in range(max(20, FRAMES // 20)):
            with socket.create_connection((host, int(port)), timeout=10) as plain:
                plain.sendall(HANDSHAKE if number % 2 else draw.randbytes(40) + b"\r\n\r\n")
                plain.sendall(draw.randbytes(draw.randrange(1, 300)))
        with Client(address) as client:
            assert "actions" in client.infer({"observation": np.zeros(2), "goal": np.ones(2)})
    assert "Traceback" not in capsys.readouterr().err
