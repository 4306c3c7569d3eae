"""A policy server in a thread of the test, a proxy before it that can stall, and a robot that notes what it is told."""

import asyncio
import json
import socket
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace

import numpy as np
from untrained import untrained

from conftest import small_recipe
from mvl.data.actions import ActionUnits
from mvl.data.inputs import Inputs
from mvl.data.signals import Signal, Signals
from mvl.deploy.limits import Limits
from mvl.deploy.policy import load_policy
from mvl.deploy.server import address, listening
from mvl.deploy.session import Served
from mvl.planning.graph import Places, build
from mvl.planning.roadmap import Graph
from mvl.planning.storage import Stored, save
from mvl.runs.folder import RunFolder

FAR = np.array([1e6, 0.0])

STATE = (Signal("joint_position", ("joint_1", "joint_2"), "rad"), Signal("gripper", ("gripper",)))
MOVES = (Signal("delta", ("delta_1", "delta_2"), "rad"), Signal("close", ("close",), levels=(10.0, 20.0)))
INPUTS = Inputs(Signals(STATE, MOVES, hz=20.0), (1000.0, 0.0, 0.0), (1000.0, 0.0, 0.0))
UNITS = ActionUnits(((-0.5, -0.5, 0.0), (0.5, 0.5, 1.0)), ((), (), (10.0, 20.0)))
RANGES = {"observations": {"low": [-1.0, -1.0, 0.0], "high": [1.0, 1.0, 1.0], "std": [0.5, 0.5, 0.5]}}


def straight(observations, goals):
    """Steps as the crow flies, 0.2 long."""
    return np.linalg.norm(observations - goals, axis=-1) / 0.2


def with_graph(run, nodes=500):
    """Give a run of two-dimensional states a graph of straight distances."""
    places = np.random.default_rng(0).uniform(0, 20, (nodes, 2)).astype(np.float32)
    graph = Graph()
    drawn = Places(places, places, places[:5], places[:5] + np.float32([2, 0]))
    save(RunFolder(run).graph_file, Stored(Graph(), drawn, [build(graph, drawn, straight)], 0))
    return run


def served(run, limits=None, plan="none"):
    return Served(run, RunFolder.open(run)[1], load_policy(run, plan=plan), limits or Limits())


@contextmanager
def serving(offered, token=""):
    """Yields the address of a server in a thread, which is stopped afterwards."""
    started, done = threading.Event(), []

    async def main():
        async with listening(offered, "127.0.0.1", 0, token) as server:
            stop = asyncio.Event()
            done.extend([address(server), asyncio.get_running_loop(), stop])
            started.set()
            await stop.wait()

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    assert started.wait(10)
    try:
        yield done[0]
    finally:
        done[1].call_soon_threadsafe(done[2].set)
        thread.join(10)
        assert not thread.is_alive()


def arm_run(path, history=1, chunk=1):
    """A run of an arm whose data has names, an origin, and a gripper with two levels."""
    recipe = small_recipe("bc")
    recipe = replace(recipe, learning=replace(recipe.learning, history=history, chunk=chunk))
    shapes = (3 * history, 3, 3, 0, history == 1, (0, 0, 2), chunk)
    data = {**INPUTS.to_json(), **UNITS.to_json(), **RANGES}
    return untrained(path, recipe, task="arm.npz", simulated=False, shapes=shapes, data=data)


def write_far(path, data):
    """A dataset of two dimensions as an import writes one that is far from zero."""
    signals = Signals((Signal("place", ("x", "y")),), (Signal("move", ("u", "v")),))
    terminals = np.isin(np.arange(len(data.observations)), data.ends)
    arrays = {"observations": data.observations, "actions": data.actions, "terminals": terminals}
    np.savez(path, **arrays, origin=FAR, signals=json.dumps(signals.to_json()))
    return path


class Proxy:
    """Forwards one address to another; while `stalled`, bytes stay where they are, as on a network that is interrupted."""

    def __init__(self, address):
        self.target, self.stalled = address.removeprefix("ws://").split(":"), threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address, self.open = f"ws://127.0.0.1:{self.listener.getsockname()[1]}", []

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *exception):
        for one in (self.listener, *self.open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self):
        with suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.create_connection((self.target[0], int(self.target[1])))
                self.open += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, source, to):
        with suppress(OSError):
            while data := source.recv(65536):
                while self.stalled.is_set():
                    time.sleep(0.005)
                to.sendall(data)
            to.shutdown(socket.SHUT_WR)


class StubRobot:
    """A robot that notes what it was told, and how long after a read; `on_read` runs at each of its `most` reads."""

    def __init__(self, on_read=lambda count: None, most=1000):
        self.on_read, self.most, self.reads, self.told, self.read_at = on_read, most, 0, [], 0.0

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.note("exit")

    def note(self, kind):
        self.told.append((kind, time.monotonic() - self.read_at))

    def read(self):
        self.read_at = time.monotonic()
        if self.reads == self.most:
            return None
        self.reads += 1
        self.on_read(self.reads)
        self.read_at = time.monotonic()
        return {"observation": np.zeros(2, np.float32), "goal": np.ones(2, np.float32)}

    def send(self, action):
        self.note("send")

    def hold(self):
        self.note("hold")

    def stop(self):
        self.note("stop")

    @property
    def kinds(self):
        return [kind for kind, _ in self.told]

    @property
    def slowest(self):
        """Longest time from a read to its command."""
        return max(seconds for kind, seconds in self.told if kind in ("send", "hold"))
