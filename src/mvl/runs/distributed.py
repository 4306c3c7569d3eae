"""Several processes that train one run together, usually on several hosts: how they join, wait for each other, and part.

The first of them evaluates and writes; all of them train. What they have to tell each other goes through jax's coordinator,
which lives in the first one: a collective of the devices may not be kept waiting while many episodes are played.
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
from jax._src import distributed  # the coordinator's words are not in jax's public interface
from jax.experimental.multihost_utils import broadcast_one_to_all

from mvl.errors import MvlError, UsageError

LISTEN_MS = 1000
"""How long to listen before looking whether Ctrl-C was pressed."""
PARTING_SECONDS = 10.0
"""How long one who ends early waits for the others to hear of it."""
LOST = ("Gloo", "NCCL", "UNAVAILABLE", "ABORTED", "CANCELLED")
"""Words in jax's errors when another process is gone."""

_meetings = itertools.count()  # all processes count alike; the coordinator lives as long as the process, and so does this


class ElsewhereError(MvlError):
    """Another process ended the run."""


class Team:
    """The processes of a run, from one of them; one process alone is a team too."""

    def __init__(self) -> None:
        self.count, self.index = jax.process_count(), jax.process_index()
        self.first = self.index == 0

    def exchange(self, word: str = "") -> list[str]:
        """Everyone's words in order, as soon as all have said theirs; all must come here equally often."""
        if self.count == 1:
            return [word]
        meeting = next(_meetings)
        _say(meeting, self.index, "word", word)
        return [_heard(meeting, process) for process in range(self.count)]

    def given_by_first(self, tree: Any) -> Any:
        """The first process's arrays, for all."""
        return broadcast_one_to_all(tree) if self.count > 1 else tree


@contextmanager
def joined(coordinator: str | None, processes: int | None, process_id: int | None) -> Iterator[bool]:
    """Train together with other processes within the block; it is told whether this is the first. Without coordinator, alone.

    An error in one process ends the others with a sentence. One who gets no answer from the others any more leaves without
    them and at once: jax's own farewell would wait for them, and then abort.
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
        told = _as_told(error)
        if not _heard_by_all(team, str(told) or "interrupted"):
            _leave(told)
        jax.distributed.shutdown()
        if told is error:
            raise
        raise told from None
    jax.distributed.shutdown()


def _join(coordinator: str, processes: int | None, process_id: int | None) -> None:
    address = re.fullmatch(r"\S+:\d+", coordinator)
    if coordinator != "auto" and (address is None or processes is None or process_id is None):
        raise UsageError(
            "to train with other processes, give each --coordinator HOST:PORT (the first one's address), --processes and "
            "--process-id; or --coordinator auto where SLURM or Open MPI knows them."
        )
    if processes is not None and process_id is not None and not 0 <= process_id < processes:
        raise UsageError(f"--process-id counts from 0 to {processes - 1}, it cannot be {process_id}.")
    print(f"waiting for all processes at coordinator {coordinator}", file=sys.stderr)
    try:
        jax.distributed.initialize(None if coordinator == "auto" else coordinator, processes, process_id)
    except (ValueError, RuntimeError) as error:
        raise MvlError(f"the processes did not come together at {coordinator}: {_first_line(error)}") from None


def _client() -> Any:
    return distributed.global_state.client


def _say(meeting: int, process: int, kind: str, text: str) -> None:
    _client().key_value_set(f"mvl/{meeting}/{process}", f"{kind}:{text}")


def _get(key: str) -> str | None:
    """What was said there, if it is heard in time."""
    try:
        return _client().blocking_key_value_get(key, LISTEN_MS)
    except jax.errors.JaxRuntimeError as error:
        if "DEADLINE_EXCEEDED" in str(error):
            return None
        raise


def _heard(meeting: int, process: int) -> str:
    said = None
    while said is None:
        said = _get(f"mvl/{meeting}/{process}")
    kind, text = said.split(":", 1)
    if kind == "end":
        raise ElsewhereError(f"process {process} ended this: {text}")
    return text


def _as_told(error: BaseException) -> BaseException:
    """An error of jax that means a lost process, as a sentence; any other as it is."""
    if isinstance(error, jax.errors.JaxRuntimeError | ValueError) and any(word in str(error) for word in LOST):
        return ElsewhereError(f"another process is gone ({_first_line(error)}); go on from the last checkpoint with --resume.")
    return error


def _heard_by_all(team: Team, sentence: str) -> bool:
    """Say how it ended here, at the meeting the others come to next; they hear it unless they are stuck or gone."""
    with suppress(jax.errors.JaxRuntimeError, ValueError):
        _say(next(_meetings), team.index, "end", sentence)
        _client().key_value_set(f"mvl/bye/{team.index}", "")
        until = time.monotonic() + PARTING_SECONDS
        while time.monotonic() < until:
            if all(_get(f"mvl/bye/{process}") is not None for process in range(team.count)):
                return True
    return False


def _leave(error: BaseException) -> None:
    """End this process now."""
    if isinstance(error, MvlError):
        print(f"mvl: {error}", file=sys.stderr, flush=True)
    elif not isinstance(error, KeyboardInterrupt):
        traceback.print_exception(error)
    os._exit(error.exit_code if isinstance(error, MvlError) else 1)


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0].rstrip(".")[:300]
