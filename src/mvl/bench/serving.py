"""The policy server, measured from a client on the same machine."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mvl.client import Client
from mvl.processes import python_module
from mvl.runs.folder import RunFolder

HZ, REQUESTS, EPISODE = 50.0, 1000, 250
"""Requests per second, requests, and requests to the same goal."""


@contextmanager
def server(run: Path, plan: str) -> Iterator[str]:
    """The address of an `mvl serve` process."""
    command = python_module("mvl", "serve", str(run), "--port", "0", "--plan", plan, "--max-clients", "100")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[0]
        finally:
            process.terminate()


def episodes(run: Path, seed: int) -> Iterator[list[dict[str, np.ndarray]]]:
    """Messages of episodes that lead straight from one random place to another, in the range of the run's data."""
    description, draw = RunFolder.open(run)[1], np.random.default_rng(seed)
    shapes, ranges = description.shapes, description.data["observations"]
    while True:
        start, end = draw.uniform(ranges["low"], ranges["high"], (2, shapes.observation)).astype(np.float32)
        goal = end if shapes.goal == shapes.observation else draw.normal(size=shapes.goal).astype(np.float32)
        states = np.linspace(start, end, EPISODE, dtype=np.float32)
        yield [{"observation": state, "goal": goal} for state in states]


def paced(hz: float) -> Iterator[None]:
    """Yields at a fixed rate; what is late is made up for."""
    began, number = time.monotonic(), 0
    while True:
        time.sleep(max(0.0, began + number / hz - time.monotonic()))
        number += 1
        yield


def latency(run: Path, plan: str) -> dict[str, float]:
    """Seconds from a request to its answer, of one client: half of them take at most `p50`, 99 in 100 at most `p99`."""
    times, pace = list[float](), paced(HZ)
    with server(run, plan) as address, Client(address) as client:
        for messages in episodes(run, seed=0):
            for message in messages:
                next(pace)
                times.append(_timed(client, message))
            if len(times) >= REQUESTS:
                break
    return {"p50": float(np.percentile(times, 50)), "p99": float(np.percentile(times, 99)), "max": max(times)}


def _timed(client: Client, message: dict[str, Any]) -> float:
    began = time.perf_counter()
    client.infer(message)
    return time.perf_counter() - began
