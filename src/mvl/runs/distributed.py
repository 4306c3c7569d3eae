"""Several processes that train one run together, usually on several hosts: how they connect, synchronize and end.

All of them train; the first one also evaluates and writes files. They exchange messages through JAX's coordinator, which
runs in the first process. Collectives of the devices are not used for that: they may time out during a long evaluation.
"""

import itertools
import os
import re
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import jax
from jax._src import distributed  # the coordinator's key-value store is not in JAX's public interface
from jax.experimental.multihost_utils import broadcast_one_to_all

from mvl.errors import MvlError, UsageError

POLL_MS = 1000
"""How long to wait for a message before Ctrl-C is checked for."""
SHUTDOWN_SECONDS = 10.0
"""How long a process that fails waits for the others to learn of it."""
LOST = ("Gloo", "NCCL", "UNAVAILABLE", "ABORTED", "CANCELLED")
"""Words in JAX's errors that mean that another process has ended."""

_exchanges = itertools.count()
"""Numbers the calls of `exchange`, equally in all processes. Global, because the coordinator keeps keys of earlier runs."""


class OtherProcessError(MvlError):
    """Another process ended the run."""


class Team:
    """The processes that train a run together, as seen by one of them; a single process is a team of one."""

    def __init__(self) -> None:
        self.count, self.index = jax.process_count(), jax.process_index()
        self.first = self.index == 0

    def exchange(self, message: str = "") -> list[str]:
        """Barrier: the messages of all processes in order, once all have sent theirs; all must call this equally often."""
        if self.count == 1:
            return [message]
        number = next(_exchanges)
        _send(number, self.index, "message", message)
        return [_receive(number, process) for process in range(self.count)]

    def broadcast_first(self, tree: Any) -> Any:
        """The arrays of the first process, in every process."""
        return broadcast_one_to_all(tree) if self.count > 1 else tree


@contextmanager
def joined(coordinator: str | None, processes: int | None, process_id: int | None) -> Iterator[bool]:
    """Train together with other processes within the block; without a coordinator, alone. Yields whether this is the first.

    An error in one process ends the others with an error message. A process that the others no longer answer exits at
    once, because JAX's own shutdown would wait for them and then abort.
    """
    if coordinator is None:
        if processes is not None or process_id is not None:
            raise UsageError("--processes and --process-id need --coordinator HOST:PORT, the address of the first process.")
        yield True
        return
    _join(coordinator, processes, process_id)
    team = Team()
    try:
        yield team.first
    except BaseException as error:
        readable = _readable(error)
        if not _notify_all(team, str(readable) or "interrupted"):
            _exit(readable)
        _disconnect()
        if readable is error:
            raise
        raise readable from None
    _disconnect()


def _join(coordinator: str, processes: int | None, process_id: int | None) -> None:
    """Connect to the other processes; returns when all are connected."""
    address = re.fullmatch(r"\S+:\d+", coordinator)
    if coordinator != "auto" and (address is None or processes is None or process_id is None):
        raise UsageError(
            "to train with other processes, give each --coordinator HOST:PORT (the first one's address), --processes and "
            "--process-id; or --coordinator auto under SLURM or Open MPI."
        )
    if processes is not None and process_id is not None and not 0 <= process_id < processes:
        raise UsageError(f"--process-id counts from 0 to {processes - 1}, it cannot be {process_id}.")
    print(f"waiting for all processes at coordinator {coordinator}", file=sys.stderr)
    try:
        jax.distributed.initialize(None if coordinator == "auto" else coordinator, processes, process_id)
    except (ValueError, RuntimeError) as error:
        raise MvlError(f"the processes could not connect at {coordinator} ({_first_line(error)}); check the address.") from None


def _disconnect() -> None:
    """JAX's shutdown, which waits for the other processes."""
    jax.distributed.shutdown()  # type: ignore[no-untyped-call]


def _client() -> Any:
    return distributed.global_state.client


def _send(number: int, process: int, kind: str, text: str) -> None:
    """Send this process's message of an exchange; `kind` is "message", or "end" if the process has failed."""
    _client().key_value_set(f"mvl/{number}/{process}", f"{kind}:{text}")


def _get(key: str) -> str | None:
    """The text under a key, or None if there is none within POLL_MS."""
    try:
        return str(_client().blocking_key_value_get(key, POLL_MS))
    except jax.errors.JaxRuntimeError as error:
        if "DEADLINE_EXCEEDED" in str(error):
            return None
        raise


def _receive(number: int, process: int) -> str:
    """Wait for the message of a process in an exchange; raises OtherProcessError if that process has failed."""
    sent = None
    while sent is None:
        sent = _get(f"mvl/{number}/{process}")
    kind, text = sent.split(":", 1)
    if kind == "end":
        raise OtherProcessError(f"process {process} ended the run: {text}")
    return text


def _readable(error: BaseException) -> BaseException:
    """OtherProcessError in place of an error of JAX that means a lost process; any other error unchanged."""
    if isinstance(error, jax.errors.JaxRuntimeError | ValueError) and any(word in str(error) for word in LOST):
        return OtherProcessError(
            f"another process has ended ({_first_line(error)}); continue from the last checkpoint with --resume."
        )
    return error


def _notify_all(team: Team, sentence: str) -> bool:
    """Send the others, at their next exchange, why this process ends; returns whether all have ended too, in time."""
    with suppress(jax.errors.JaxRuntimeError, ValueError):
        _send(next(_exchanges), team.index, "end", sentence)
        _client().key_value_set(f"mvl/bye/{team.index}", "")
        until = time.monotonic() + SHUTDOWN_SECONDS
        while time.monotonic() < until:
            if all(_get(f"mvl/bye/{process}") is not None for process in range(team.count)):
                return True
    return False


def _exit(error: BaseException) -> None:
    """Print the error and end this process now, without JAX's shutdown."""
    if isinstance(error, MvlError):
        print(f"mvl: {error}", file=sys.stderr, flush=True)
    elif not isinstance(error, KeyboardInterrupt):
        traceback.print_exception(error)
    os._exit(error.exit_code if isinstance(error, MvlError) else 1)


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0].rstrip(".")[:300]
