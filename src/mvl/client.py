"""A client of `mvl serve`, and of every server that speaks openpi's protocol. Needs numpy, msgpack and websockets alone."""

from collections.abc import Mapping
from typing import Any

from websockets.sync.client import connect

from mvl.deploy.messages import pack, unpack
from mvl.errors import MvlError


class ServerError(MvlError):
    """The server refused a message; the text is its own. It has closed the connection."""


class Client:
    """A connection to a policy server, whose policy has a state (path, chunks) for it alone."""

    def __init__(self, address: str = "ws://127.0.0.1:8000", token: str = "", timeout: float = 5.0) -> None:
        """Connects; no answer within `timeout` seconds raises TimeoutError, here and in the methods."""
        headers = {"Authorization": f"Api-Key {token}"} if token else None
        self._socket = connect(
            address,
            compression=None,
            max_size=None,
            additional_headers=headers,
            open_timeout=timeout,
            close_timeout=1,
            proxy=None,
        )
        self._timeout = timeout
        try:
            self.metadata = self._receive()
        except BaseException:
            self.close()
            raise

    def infer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a message: `{"observation": ..., "goal": ...}` is answered with `actions`, (steps, a)."""
        self._socket.send(pack(message))
        return self._receive()

    def reset(self) -> None:
        """A new episode begins: the server forgets the path to the last goal and the last action."""
        self.infer({"reset": True})

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _receive(self) -> dict[str, Any]:
        answer = self._socket.recv(timeout=self._timeout)
        if isinstance(answer, str):
            raise ServerError(answer)
        return unpack(answer)
