"""Several clients of one policy server at a fixed rate each: is any answer lost, late or another client's?

    python benchmarks/clients.py RUN --clients 4 --hz 50 --minutes 10

Every client has episodes of its own, knows the actions that the policy alone gives in them, and sends a reset after each.
Needs a run whose policy draws nothing at random, and whose run.json has ranges of observations.
"""

import argparse
import sys
import threading
import time
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np

from mvl.bench.serving import episodes, paced, server
from mvl.client import Client
from mvl.deploy.policy import LoadedPolicy, load_policy

Message = dict[str, np.ndarray]
DIFFERENT = 4
"""Episodes of each client, which it repeats."""


@dataclass
class Worker:
    """One client with its messages and the actions that must come back."""

    address: str
    expected: list[list[tuple[Message, np.ndarray]]]
    times: list[float] = field(default_factory=list)
    wrong: int = 0
    error: str = ""

    def work(self, hz: float, seconds: float) -> None:
        end, pace, number = time.monotonic() + seconds, paced(hz), 0
        try:
            with Client(self.address) as client:
                while time.monotonic() < end:
                    client.reset()
                    for message, action in self.expected[number % DIFFERENT]:
                        next(pace)
                        began = time.perf_counter()
                        answer = client.infer(message)["actions"][0]
                        self.times.append(time.perf_counter() - began)
                        self.wrong += not np.array_equal(answer, action)
                    number += 1
        except Exception as error:
            self.error = repr(error)


def answered(policy: LoadedPolicy, messages: list[Message]) -> list[tuple[Message, np.ndarray]]:
    """Messages with the policy's actions."""
    policy.reset()
    return [(message, policy.act(message["observation"], message["goal"])) for message in messages]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--hz", type=float, default=50.0)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--plan", choices=("none", "graph"), default="none")
    options = parser.parse_args()
    policy = load_policy(options.run, plan=options.plan)
    own = [islice(episodes(options.run, seed), DIFFERENT) for seed in range(options.clients)]
    known = [[answered(policy, messages) for messages in some] for some in own]
    with server(options.run, options.plan) as address:
        began = time.monotonic()
        workers = [Worker(address, expected) for expected in known]
        threads = [threading.Thread(target=worker.work, args=(options.hz, 60 * options.minutes)) for worker in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        elapsed = time.monotonic() - began
    times = np.concatenate([worker.times for worker in workers])
    p50, p99 = 1000 * np.percentile(times, [50, 99])
    wrong, errors = sum(worker.wrong for worker in workers), [worker.error for worker in workers if worker.error]
    rate = len(times) / len(workers) / elapsed
    print(
        f"{len(times)} answers to {len(workers)} clients, {rate:.1f} per second each: {wrong} wrong, {len(errors)} clients lost"
    )
    print(f"p50 {p50:.2f} ms, p99 {p99:.2f} ms, longest {1000 * times.max():.1f} ms")
    sys.exit(f"failed: {wrong} wrong answers, {errors}" if wrong or errors else 0)


if __name__ == "__main__":
    main()
