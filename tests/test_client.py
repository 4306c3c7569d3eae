"""The client, which a robot's computer runs without JAX."""

import socket
import subprocess
import sys

import pytest

from mvl.client import Client

TRIED = ("python_socks", "org", "sitecustomize")
"""What websockets and Python itself import if it is there."""


def loaded_by(code):
    """Packages outside of Python's own library that the code imports."""
    done = subprocess.run([sys.executable, "-X", "importtime", "-c", code], capture_output=True, text=True, check=True)
    modules = [line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")]
    packages = {name.split(".")[0] for name in modules[1:]}
    return {name for name in packages if not name.startswith("_")} - sys.stdlib_module_names


def test_the_client_needs_numpy_msgpack_and_websockets_alone():
    loaded = loaded_by("import mvl.client")
    assert {"mvl", "numpy", "msgpack", "websockets"} <= loaded
    assert loaded <= {"mvl", "numpy", "msgpack", "websockets", *TRIED}


def test_the_control_loop_does_not_load_jax():
    loaded = loaded_by("import mvl.cli.robot, mvl.deploy.link, mvl.deploy.loop, mvl.deploy.robot")
    assert "numpy" in loaded
    assert not loaded & {"jax", "jaxlib", "optax", "mujoco", "gymnasium"}


def test_a_server_that_says_nothing_is_not_waited_for_long():
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(TimeoutError):
        Client(f"ws://127.0.0.1:{silent.getsockname()[1]}", timeout=0.1)
