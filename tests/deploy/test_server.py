"""The policy server over a real socket, byte by byte."""

import socket
import time
import urllib.request
from contextlib import contextmanager, suppress
from dataclasses import replace

import msgpack
import numpy as np
import pytest
from serving import served, serving
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from mvl.cli import main
from mvl.client import Client, ServerError
from mvl.deploy.limits import Limits
from mvl.deploy.messages import pack, unpack

HERE, GOAL = np.float32([1.0, 2.0]), np.float32([20.0, 16.0])
ASK = {"observation": HERE, "goal": GOAL}
HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: MTIzNDU2Nzg5MDEyMzQ1Ng==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


@pytest.fixture(scope="module")
def where(offered):
    """The address of a server that all tests share that do not change it."""
    with serving(offered) as address:
        yield address


@contextmanager
def limited(offered, token="", **limits):
    with serving(replace(offered, limits=Limits(**limits)), token) as address:
        yield address


def close_code(connection):
    with pytest.raises(ConnectionClosed) as closed:
        connection.recv(timeout=5)
    return closed.value.rcvd.code


def test_the_protocol_byte_by_byte(where):
    """Metadata first, then a map with `actions` and `server_timing` for every observation, as openpi's client wants them."""
    with connect(where, compression=None) as connection:
        metadata = msgpack.unpackb(connection.recv(timeout=5))
        assert metadata["action_size"] == 2
        message = {b"__ndarray__": True, b"data": HERE.tobytes(), b"dtype": "<f4", b"shape": [2]}
        for count in range(2):
            connection.send(msgpack.packb({"observation/state": message, "prompt": "corner"}))
            answer = msgpack.unpackb(connection.recv(timeout=5))
            actions = answer["actions"]
            assert (actions[b"__ndarray__"], actions[b"dtype"], actions[b"shape"]) == (True, "<f4", [1, 2])
            assert len(actions[b"data"]) == 8
            assert set(answer["server_timing"]) == {"infer_ms"} | ({"prev_total_ms"} if count else set())


def test_the_client_gets_the_policys_actions(where, offered):
    with Client(where) as client:
        assert client.metadata["goals"] == ["corner"]
        assert client.infer(ASK)["actions"][0].tolist() == offered.policy.copy().act(HERE, GOAL).tolist()
        client.reset()
        assert client.infer({"observation": HERE, "prompt": "corner"})["actions"].shape == (1, 2)


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (b"", "cannot be read"),
        (b"\xc1", "cannot be read"),
        ("text", "is text"),
        (pack({"observation": HERE}), "has no goal"),
        (pack({"observation": HERE.astype(">f8")[:1], "goal": GOAL}), "observation has shape (1,)"),
        (pack({"observation": HERE * np.nan, "goal": GOAL}), "not finite"),
        (pack({"observation": HERE, "prompt": "nowhere"}), "no goal named 'nowhere'"),
    ],
)
def test_an_error_is_a_text_frame_and_close_code_1011(where, frame, said):
    with connect(where, compression=None) as connection:
        connection.recv(timeout=5)
        connection.send(frame)
        sentence = connection.recv(timeout=5)
        assert isinstance(sentence, str)
        assert said in sentence
        assert close_code(connection) == 1011
    with Client(where) as client:  # and the server goes on
        assert "actions" in client.infer(ASK)


def test_what_a_client_sent_is_printed_without_control_characters(where, capsys):
    with Client(where) as client, pytest.raises(ServerError, match="no goal named"):
        client.infer({"observation": HERE, "prompt": "\x1b[2J\n"})
    printed = capsys.readouterr().err
    assert "no goal named '?[2J?'" in printed
    assert "\x1b" not in printed


def test_a_failure_of_the_server_is_told_without_its_reason(offered, capsys):
    class Failing:
        shapes = offered.policy.shapes

        def copy(self):
            raise RuntimeError("a secret")

    with serving(replace(offered, policy=Failing())) as address, pytest.raises(ServerError, match="the server failed"):
        Client(address)
    assert "a secret" in capsys.readouterr().err


def test_health_is_told_over_http(where):
    with urllib.request.urlopen(where.replace("ws", "http", 1) + "/healthz", timeout=5) as answer:
        assert (answer.status, answer.read()) == (200, b"OK\n")


def test_a_token_is_asked_for(offered):
    with serving(offered, "a long key") as address:
        for wrong in ("", "a long", "another"):
            with pytest.raises(InvalidStatus, match="401"):
                Client(address, wrong)
        with Client(address, "a long key") as client:
            assert "actions" in client.infer(ASK)


def test_a_page_in_a_browser_may_not_connect(where):
    with pytest.raises(InvalidStatus, match="403"):
        connect(where, origin="http://evil.example")


def test_more_clients_than_allowed_are_turned_away_until_one_leaves(offered):
    with limited(offered, max_clients=1) as address:
        with Client(address) as client:
            with pytest.raises(InvalidStatus, match="503"):
                Client(address)
            assert "actions" in client.infer(ASK)
        eventually(lambda: Client(address).close())


def test_a_client_that_vanishes_leaves_its_place(offered):
    with limited(offered, max_clients=1) as address:
        host, port = address.removeprefix("ws://").split(":")
        with socket.create_connection((host, int(port))) as plain:
            plain.sendall(HANDSHAKE)
            assert b"101 Switching Protocols" in plain.recv(4096)
            with pytest.raises(InvalidStatus, match="503"):
                Client(address)
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset instead of a farewell
        eventually(lambda: Client(address).close())


def eventually(attempt, seconds=5.0):
    """Try until it does not raise."""
    end = time.monotonic() + seconds
    while True:
        try:
            return attempt()
        except InvalidStatus:
            assert time.monotonic() < end
            time.sleep(0.02)


def test_a_message_that_is_too_long_is_refused(offered):
    with limited(offered, max_bytes=1000) as address, connect(address, compression=None) as connection:
        connection.recv(timeout=5)
        connection.send(bytes(2000))
        assert close_code(connection) == 1009


def test_a_client_that_floods_is_refused_and_others_are_answered(offered):
    with limited(offered, max_rate=20.0) as address, Client(address) as patient:
        with connect(address, compression=None) as flooding:
            with suppress(ConnectionClosed):
                for _ in range(500):
                    flooding.send(pack(ASK))
            assert "actions" in patient.infer(ASK)
            answers = []
            with suppress(ConnectionClosed):
                while True:
                    answers.append(flooding.recv(timeout=5))
        assert 20 < len(answers) < 500
        assert "more than 20 messages in a second" in answers[-1]


def test_clients_at_the_same_time_get_their_own_answers(served_run):
    """With paths, which the server remembers for each client alone; requests overlap."""
    offered = served(served_run, plan="graph")
    goals = np.float32([[20, 4], [1, 7], [19, 19]])
    walks = np.linspace(np.zeros((3, 2)), goals, 15, dtype=np.float32)  # (steps, clients, 2)
    alone = []
    for number, goal in enumerate(goals):
        policy = offered.policy.copy()
        alone.append([policy.act(state, goal).tolist() for state in walks[:, number]])
    with serving(offered) as address:
        connections = [connect(address, compression=None) for _ in goals]
        for connection in connections:
            connection.recv(timeout=5)
        answers = []
        for states in walks:
            for connection, state, goal in zip(connections, states, goals, strict=True):
                connection.send(pack({"observation": state, "goal": goal}))
            answers.append([unpack(connection.recv(timeout=5))["actions"][0].tolist() for connection in connections])
        for connection in connections:
            connection.close()
    assert [list(column) for column in zip(*answers, strict=True)] == alone


def test_a_goal_can_be_added_while_the_server_runs(where, served_run):
    from mvl.deploy.goals import add_goal, remove_goal

    add_goal(served_run, "later", GOAL)
    with Client(where) as client:
        assert client.metadata["goals"] == ["corner", "later"]
        assert "actions" in client.infer({"observation": HERE, "prompt": "later"})
    remove_goal(served_run, "later")


def test_a_damaged_file_of_goals_is_told_to_the_client(where, served_run):
    before = (served_run / "goals.json").read_text()
    (served_run / "goals.json").write_text("{")
    try:
        with pytest.raises(ServerError, match="goals.json: cannot be read"):
            Client(where)
    finally:
        (served_run / "goals.json").write_text(before)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "0.0.0.0"], "so clients need a token; give one with --token FILE"),
        (["--seed", "7"], "has seeds 0, not 7"),
        (["--strict"], "which --strict needs"),
        (["--max-action", "1", "2", "3"], "max_action has 3 numbers"),
        (["--max-age", "0"], "must be a number above 0"),
        (["--token", "EMPTY"], "is empty; put a long random key into it"),
    ],
)
def test_what_cannot_be_served_is_told(served_run, tmp_path, capsys, monkeypatch, words, said):
    (tmp_path / "EMPTY").touch()
    monkeypatch.chdir(tmp_path)
    assert main(["serve", str(served_run), "--port", "0", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_run_without_a_checkpoint_is_told(served_run, tmp_path, capsys):
    (tmp_path / "run.json").write_bytes((served_run / "run.json").read_bytes())
    assert main(["serve", str(tmp_path)]) == 2
    assert "has no checkpoint yet; train it with" in capsys.readouterr().err


def test_a_port_that_is_taken_is_told(served_run, where, capsys):
    port = where.rsplit(":", 1)[1]
    assert main(["serve", str(served_run), "--port", port]) == 1
    assert f"cannot listen at 127.0.0.1:{port}" in capsys.readouterr().err
