"""Random and damaged frames over a real socket: every one gets an answer or a refusal, and the server goes on.

MVL_FUZZ_FRAMES=20000 sends more than the suite does.
"""

import os
import random
import socket

import numpy as np
import pytest
from attack.frames import ARM, POINT, frame
from serving import arm_run, served, serving
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from mvl.client import Client
from mvl.deploy.messages import unpack

FRAMES = int(os.environ.get("MVL_FUZZ_FRAMES", "300"))
HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: MTIzNDU2Nzg5MDEyMzQ1Ng==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


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
            connection.send(frame(draw, valid))
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
