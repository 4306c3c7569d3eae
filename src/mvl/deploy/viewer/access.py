"""Access control of the viewer: only the page that it serves, and programs that are not browsers, may connect."""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio import server as websockets

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def is_allowed(origin: str | None, host: str | None, loopback: bool) -> bool:
    """Whether a request with these `Origin` and `Host` headers may be answered.

    Only browsers send an origin: the page that makes the request. It must be the page served here, so it must have the
    address that the request was sent to. A server at a loopback address only answers requests to `localhost` or an IP
    address, because the owner of any other name can make it resolve to this server (DNS rebinding).
    """
    if origin is None:
        return True
    try:
        page, server = urlsplit(origin), urlsplit(f"//{host}")
        same = page.netloc.lower() == server.netloc.lower()
        return same and (not loopback or _is_localhost_or_ip(server.hostname or ""))
    except ValueError:  # not an address
        return False


def _is_localhost_or_ip(name: str) -> bool:
    """Whether it is `localhost` or an IP address; ValueError for any other name."""
    return name == "localhost" or bool(ip_address(name))


@contextmanager
def own_page_only(host: str) -> Iterator[list[Any]]:
    """Websocket servers started in the block refuse foreign pages; yields the list of servers started so far.

    Viser starts its server in its constructor and has no setting for this, so the function that it calls is replaced.
    """
    serve, started = websockets.serve, list[Any]()

    def guarded(*arguments: Any, process_request: Any = None, **settings: Any) -> Any:
        def check(connection: Any, request: Any) -> Any:
            headers = request.headers
            if not is_allowed(headers.get("Origin"), headers.get("Host"), host in LOOPBACK):
                return connection.respond(HTTPStatus.FORBIDDEN, "This page may not connect here.\n")
            return process_request(connection, request) if process_request else None

        started.append(serve(*arguments, process_request=check, **settings))
        return started[-1]

    websockets.serve = guarded  # type: ignore[assignment,misc]
    try:
        yield started
    finally:
        websockets.serve = serve  # type: ignore[misc]
