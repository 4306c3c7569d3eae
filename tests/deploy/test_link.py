"""The link from robot to server: only the newest answer counts, and every failure is survived."""

import threading

import numpy as np
import pytest

from mvl.deploy.link import Link, first_action
from mvl.errors import MvlError


class Connection:
    """Answers with the number of the message, after `gate` allows it."""

    def __init__(self, gate=None, error=None):
        self.gate, self.error, self.closed = gate, error, False

    def infer(self, message):
        if self.gate:
            self.gate.wait(5)
        if self.error:
            raise self.error
        return {"actions": np.array([[message["n"], 0.0]], np.float32)}

    def close(self):
        self.closed = True


def test_an_action_is_the_answer_to_its_own_message():
    made = Connection()
    with Link(lambda: made) as link:
        for number in range(50):
            assert link.ask({"n": number}, 5.0)[0] == number
    assert made.closed


def test_a_late_answer_is_dropped_and_the_next_message_is_answered():
    gate = threading.Event()
    with Link(lambda: Connection(gate)) as link:
        assert link.ask({"n": 1}, 0.02) is None
        assert link.ask({"n": 2}, 0.02) is None  # waits behind the first, and is never sent
        gate.set()
        assert link.ask({"n": 3}, 5.0)[0] == 3


def test_a_lost_connection_is_made_again(monkeypatch):
    monkeypatch.setattr("mvl.deploy.link.RETRY", 0.01)
    made = iter([Connection(error=ConnectionResetError("gone")), Connection(error=MvlError("refused")), Connection()])
    opened = []
    with Link(lambda: opened.append(next(made)) or opened[-1]) as link:
        for reason in ("gone", "refused"):
            assert link.ask({"n": 1}, 0.3) is None
            assert link.problem == reason
        assert link.ask({"n": 2}, 5.0)[0] == 2
        assert link.problem == ""
    assert all(connection.closed for connection in opened)


def test_a_server_that_is_not_there_at_first_is_an_error():
    def refuse():
        raise MvlError("nobody is there")

    with pytest.raises(MvlError, match="nobody is there"), Link(refuse):
        pass


@pytest.mark.parametrize(
    "actions",
    [None, [[0.0]], np.zeros(2), np.zeros((0, 2)), np.zeros((1, 2), int), np.array([[np.nan]]), np.array([[0], [np.inf]])],
)
def test_an_answer_without_actions_that_can_be_sent_is_refused(actions):
    with pytest.raises(MvlError, match="the server's"):
        first_action({"actions": actions})
