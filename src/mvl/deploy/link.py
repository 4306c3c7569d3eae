"""The robot's link to a policy server: a thread that asks, waits and connects again, so that the control loop never has to."""

import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from mvl.errors import MvlError

RETRY = 0.2
"""Seconds from a lost connection to the next attempt."""


class Asks(Protocol):
    """A connection to a policy server, such as `mvl.client.Client`."""

    def infer(self, message: Mapping[str, Any]) -> dict[str, Any]: ...

    def close(self) -> None: ...


class Link:
    """Asks a server for actions. Only the answer to the newest message counts; late answers are dropped."""

    def __init__(self, connect: Callable[[], Asks]) -> None:
        """`connect` makes a connection, whose `infer` must not wait forever."""
        self.connect, self.problem = connect, ""
        self._changed = threading.Condition()
        self._asked: dict[str, Any] | None = None
        self._answer: tuple[int, np.ndarray] | None = None
        self._number, self._closing = 0, False
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> "Link":
        """Connects for the first time; raises what that raises."""
        self._connection: Asks | None = self.connect()
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(2)

    def ask(self, message: dict[str, Any], seconds: float) -> np.ndarray | None:
        """The server's action for a message, (a,); None if it does not come within `seconds`: then `problem` may say why."""
        with self._changed:
            self._number += 1
            number, self._asked = self._number, message
            self._changed.notify_all()
            answered = self._changed.wait_for(lambda: self._answer is not None and self._answer[0] == number, seconds)
            if not answered:
                self._asked = None  # it must not be sent later, when it is old
                return None
            assert self._answer is not None
            return self._answer[1]

    def _work(self) -> None:
        """Of the thread: converse; after an error, connect again."""
        while not self._closing:
            try:
                connection = self._connection or self.connect()
                self._connection = None
                try:
                    self._converse(connection)
                finally:
                    connection.close()
            except Exception as error:  # whatever it is, the robot holds until it is over
                self.problem = str(error) or type(error).__name__
                with self._changed:
                    self._changed.wait_for(lambda: self._closing, RETRY)

    def _converse(self, connection: Asks) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._asked is not None or self._closing)
                if self._closing:
                    return
                number, message, self._asked = self._number, self._asked, None
            assert message is not None
            action = first_action(connection.infer(message))
            with self._changed:
                self._answer, self.problem = (number, action), ""
                self._changed.notify_all()


def first_action(answer: Mapping[str, Any]) -> np.ndarray:
    """The first of the actions in a server's answer; raises if there is none that can be sent to a robot."""
    actions = answer.get("actions")
    if not isinstance(actions, np.ndarray) or actions.dtype.kind != "f" or actions.ndim != 2 or not actions.size:
        raise MvlError("the server's answer has no actions (steps, a); is it a policy server?")
    if not np.isfinite(actions).all():
        raise MvlError("the server's actions are not finite")
    action: np.ndarray = actions[0]
    return action
