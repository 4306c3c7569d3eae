"""Worker processes: child processes that answer requests over a pipe, and are replaced if they die."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

from mvl.errors import MvlError

Answer = Callable[[Any], Any]
"""Called in the worker with each request; returns the answer."""


class Worker:
    """A child process that runs `make(*arguments)` and then answers each request with the function this returned.

    A worker that dies is replaced once per round: its replacement gets all requests of the round again, so answers must
    depend only on those. If the replacement dies too, `answer` raises an error. Not a process of `multiprocessing`, which
    would run the caller's script once more.
    """

    def __init__(
        self, make: Callable[..., Answer], *arguments: Any, log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        """`log` is a file for what the process prints to standard error; `environment` holds additional variables."""
        self.log, self.environment = log, {**os.environ, **(environment or {})}
        self.setup, self.requests, self.replaced = pickle.dumps((make, arguments)), list[bytes](), False
        self._start()

    def ask(self, request: Any, new_round: bool) -> None:
        """Send a request; its answer has to be taken with `answer` before the next one."""
        if new_round:
            self.requests, self.replaced = [], False
        self.requests.append(pickle.dumps(request))
        with contextlib.suppress(OSError):  # a dead worker is noticed when no answer comes
            self.pipe.send_bytes(self.requests[-1])

    def answer(self) -> Any:
        """The answer to the last request; an error raised in the worker is raised here."""
        try:
            answer = self.pipe.recv()
        except (EOFError, OSError):
            answer = self._answer_of_replacement()
        if isinstance(answer, MvlError):
            raise answer
        return answer

    def close(self, patience: float = 10.0) -> None:
        """End the process; kill it after `patience` seconds."""
        self.pipe.close()
        self._wait(patience)

    def _start(self) -> None:
        self.pipe, theirs = Pipe()
        code = f"from {__name__} import _serve; _serve({theirs.fileno()})"
        command = [sys.executable, "-W", "ignore", "-c", code]
        with theirs, open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=self.environment, stderr=log)
        with contextlib.suppress(OSError):
            self.pipe.send_bytes(self.setup)

    def _answer_of_replacement(self) -> Any:
        how = self._how_it_ended()
        if self.replaced:
            raise _dead(how)
        self.replaced = True
        print(f"mvl: a worker process died ({how}); a new one does its work again.", file=sys.stderr)
        try:
            self._start()
            for request in self.requests:
                self.pipe.send_bytes(request)
                answer = self.pipe.recv()
        except (EOFError, OSError):
            raise _dead(self._how_it_ended()) from None
        return answer

    def _how_it_ended(self) -> str:
        self.pipe.close()
        code = self._wait(10.0)
        if code < 0:
            return f"killed by signal {-code}{'; is there enough memory?' if -code == signal.SIGKILL else ''}"
        said = self.log.read_text(errors="replace").strip().splitlines()
        return f"exit code {code}{f': {said[-1]}' if said else ''}"

    def _wait(self, patience: float) -> int:
        try:
            return self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def _dead(how: str) -> MvlError:
    return MvlError(f"a worker process died, and so did its replacement ({how})")


def _serve(handle: int) -> None:
    """Main function of a worker process: answers until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    with contextlib.suppress(EOFError, ConnectionError), Connection(handle) as pipe:
        make, arguments = pipe.recv()
        answer = _tried(make, *arguments)
        while True:
            request = pipe.recv()
            pipe.send(answer if isinstance(answer, MvlError) else _tried(answer, request))


def _tried(function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function returns, or the error that the parent is to raise."""
    try:
        return function(*arguments)
    except MvlError as error:
        return error
    except ImportError as error:
        return MvlError(f"a worker process cannot import what it needs ({error})")
    except Exception:
        return MvlError(f"a worker process failed:\n{traceback.format_exc()}")
