"""The viewer answers its own page alone, and shows what a run folder says as text."""

import socket
from types import SimpleNamespace

import pytest

pytest.importorskip("viser")
pytest.importorskip("trimesh")

import viser
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from mvl.deploy.viewer import page
from mvl.deploy.viewer.access import is_allowed
from mvl.deploy.viewer.page import serving
from mvl.errors import MvlError


@pytest.mark.parametrize(
    ("origin", "host", "loopback", "allowed"),
    [
        ("http://127.0.0.1:8080", "127.0.0.1:8080", True, True),
        ("http://LOCALHOST:9000", "localhost:9000", True, True),  # another port, through a tunnel
        ("http://[::1]:8080", "[::1]:8080", True, True),
        ("https://robot.lab", "robot.lab", False, True),
        (None, "127.0.0.1:8080", True, True),  # not a browser
        ("http://evil.example", "127.0.0.1:8080", True, False),
        ("http://127.0.0.1:8081", "127.0.0.1:8080", True, False),  # another program's page
        ("http://localhost:8080", "127.0.0.1:8080", True, False),
        ("http://evil.example:8080", "evil.example:8080", True, False),  # a name that was made to point here
        ("http://evil.example:8080", "robot.lab:8080", False, False),
        ("null", "127.0.0.1:8080", True, False),
        ("http://[", "127.0.0.1:8080", True, False),
        ("", "", True, False),
        ("null", None, False, False),
    ],
)
def test_an_origin_is_compared_with_the_host(origin, host, loopback, allowed):
    assert is_allowed(origin, host, loopback) is allowed


def opened(port, **settings):
    """A websocket as the page opens it; what the server says first."""
    protocol = [f"viser-v{viser.__version__}"]
    with connect(f"ws://{settings.pop('host', '127.0.0.1')}:{port}", subprotocols=protocol, **settings) as connection:
        return connection.recv(timeout=30)


def test_only_the_own_page_may_open_a_websocket():
    with serving("127.0.0.1", 0) as server:
        port = server.get_port()
        assert opened(port, origin=f"http://127.0.0.1:{port}")
        assert opened(port)
        for origin, host in (("http://evil.example", "127.0.0.1"), ("null", "127.0.0.1"), (f"http://evil.example:{port}",) * 2):
            with socket.create_connection(("127.0.0.1", port)) as ours, pytest.raises(InvalidStatus) as caught:
                opened(port, origin=origin, host=host.removeprefix("http://").removesuffix(f":{port}"), sock=ours)
            assert caught.value.response.status_code == 403


def test_a_viser_that_cannot_be_guarded_is_refused(monkeypatch):
    fake = SimpleNamespace(ViserServer=lambda **_: SimpleNamespace(stop=lambda: None), __version__="9.9")
    monkeypatch.setattr(page, "viser", fake)
    with pytest.raises(MvlError, match="viser 9.9 cannot be kept from answering foreign pages"), serving("127.0.0.1", 0):
        pass


def test_names_are_text():
    about = SimpleNamespace(experiment=SimpleNamespace(recipe_name="<script>alert(1)</script> & ![x](y)"))
    legend = page._legend(SimpleNamespace(name="<img src=x onerror=alert(1)>'\"", description=about, mollified=True))
    assert legend == (
        "<b style='color:#009e73'>&lt;img src=x onerror=alert(1)&gt;&#x27;&quot;</b>: "
        "&lt;script&gt;alert(1)&lt;/script&gt; &amp; ![x](y) (teal: mollified value)"
    )
