"""A policy server that speaks openpi's websocket protocol.

One thread answers all clients in turn: a policy's action takes less time than handing it to another thread would save.
"""

import asyncio
import hmac
import logging
import sys
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from time import perf_counter
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from mvl.deploy.messages import pack
from mvl.deploy.session import Served, Session
from mvl.deploy.viewer.access import LOOPBACK
from mvl.errors import MvlError, UsageError

INTERNAL_ERROR = 1011
"""Close code after an error, as in openpi's server."""
QUEUE = 4
"""Messages of a client that are read before the first of them is answered; more stay in the network."""


@asynccontextmanager
async def listening(served: Served, host: str, port: int, token: str = "") -> AsyncIterator[Server]:
    """A server of the policy within the block; port 0 takes any free one."""
    check_token(host, token)
    gate = Gate(served, token)
    quiet = logging.getLogger(f"{__name__}.quiet")  # handshakes that fail are the business of who sent them
    quiet.addHandler(logging.NullHandler())
    quiet.propagate = False
    try:
        server = await serve(
            gate.talk,
            host,
            port,
            process_request=gate.admit,
            origins=[None],  # only browsers name an origin, and no page has business here
            compression=None,
            max_size=served.limits.max_bytes,
            max_queue=QUEUE,
            close_timeout=1,
            logger=quiet,
        )
    except OSError as error:
        raise MvlError(f"cannot listen at {host}:{port} ({error.strerror}); choose another --port or --host.") from None
    async with server:
        yield server


def check_token(host: str, token: str) -> None:
    """Refuse to listen where other machines can connect, unless they need a token."""
    if host not in LOOPBACK and not token:
        raise UsageError(f"{host} can be reached from other machines, so clients need a token; give one with --token FILE.")


def address(server: Server) -> str:
    """Where clients connect to."""
    host, port = next(iter(server.sockets)).getsockname()[:2]
    return f"ws://[{host}]:{port}" if ":" in host else f"ws://{host}:{port}"


class Gate:
    """Admits clients and talks with each of them."""

    def __init__(self, served: Served, token: str) -> None:
        self.served, self.token, self.clients = served, token, 0

    def admit(self, connection: ServerConnection, request: Request) -> Response | None:
        """None for a client that may connect; otherwise the answer to its request."""
        if request.path == "/healthz":
            return connection.respond(HTTPStatus.OK, "OK\n")
        given = request.headers.get("Authorization", "")
        if self.token and not hmac.compare_digest(given.encode(errors="surrogateescape"), f"Api-Key {self.token}".encode()):
            return connection.respond(HTTPStatus.UNAUTHORIZED, "Send the header Authorization: Api-Key KEY.\n")
        if self.clients >= self.served.limits.max_clients:
            text = f"There are {self.clients} clients already, and no more are allowed.\n"
            return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, text)
        return None

    async def talk(self, connection: ServerConnection) -> None:
        """Answer one client until it leaves or sends something wrong."""
        self.clients += 1
        try:
            await self._answer_all(connection)
        except ConnectionClosed:
            pass
        except MvlError as error:
            await self._refuse(connection, str(error))
        except Exception:
            traceback.print_exc()
            await self._refuse(connection, "the server failed; its own output has the reason.")
        finally:
            self.clients -= 1

    async def _answer_all(self, connection: ServerConnection) -> None:
        session = Session(self.served)
        await connection.send(pack(session.metadata))
        previous = None
        while True:
            message = await connection.recv()
            began = perf_counter()
            answer: dict[str, Any] = session.answer(message)
            if previous is not None and "server_timing" in answer:
                answer["server_timing"]["prev_total_ms"] = 1000 * previous
            await connection.send(pack(answer))
            previous = perf_counter() - began
            await asyncio.sleep(0)  # a client that sends without waiting for answers must not keep others waiting

    async def _refuse(self, connection: ServerConnection, sentence: str) -> None:
        shown = "".join(letter if letter.isprintable() else "?" for letter in sentence)  # it may quote what the client sent
        print(f"mvl: refused client {_name(connection)}: {shown}", file=sys.stderr)
        try:
            await connection.send(sentence)
            await connection.close(INTERNAL_ERROR, "see the text message before")
        except ConnectionClosed:
            pass


def _name(connection: ServerConnection) -> str:
    peer = connection.remote_address
    return f"{peer[0]}:{peer[1]}" if peer else "that has left"
