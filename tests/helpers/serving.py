"""A policy server in a thread of the test, and a proxy before it that can stall."""

import asyncio
import threading
from contextlib import contextmanager

import numpy as np

from mvl.deploy.limits import Limits
from mvl.deploy.policy import load_policy
from mvl.deploy.server import address, listening
from mvl.deploy.session import Served
from mvl.planning.graph import Graph, Places, build
from mvl.planning.storage import Stored, save
from mvl.runs.folder import RunFolder


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
