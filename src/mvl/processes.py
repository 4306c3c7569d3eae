"""Child processes: how Python is started, and workers that answer requests over a pipe and are replaced if they die."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

from mvl.errors import MvlError

Answer = Callable[[Any], Any]
"""Called in the worker with each request; returns the answer."""


def python(code: str, *arguments: str, options: Sequence[str] = ()) -> list[str]:
    """Command that runs `code` in a Python child process, which does not import from the current folder.

    By itself `python -c` puts the current folder first on the import path, so a file `numpy.py` in it would run. The child
    gets the import path of this process instead, without the entry that Python itself put first.
    """
    return [sys.executable, *options, "-P", "-c", f"import sys; sys.path[:] = {import_path()!r}; {code}", *arguments]


def python_module(name: str, *arguments: str, options: Sequence[str] = ()) -> list[str]:
    """Command that runs a module as `python -m` does, but with the import path described at `python`."""
    return python(f"import runpy; runpy.run_module({name!r}, run_name='__main__', alter_sys=True)", *arguments, options=options)


def import_path() -> list[str]:
    """`sys.path` without the current folder and the script's folder, which Python itself may put first.

    An absolute path that the caller has added is kept. The folder of this package is always included, last if it was removed.
    """
    entries = [entry for entry in sys.path if isinstance(entry, str) and os.path.normpath(entry) != "."]
    first = _first_entry()
    if first in entries:
        entries.remove(first)
    home = str(Path(__file__).parents[1])
    return entries if home in entries else [*entries, home]


def _first_entry() -> str | None:
    """What Python itself puts first on `sys.path`: the current folder with `-m`, else the script's; nothing with `-P`."""
    main = sys.modules["__main__"]
    if sys.flags.safe_path:
        return None
    if getattr(main, "__spec__", None):
        return os.getcwd()
    script = getattr(main, "__file__", None)
    return os.path.dirname(os.path.realpath(script)) if script else None


class Worker:
    """A child process that runs `make(*arguments)` and then answers each request with the function this returned.

    A worker that dies is replaced once per round: its replacement gets all requests of the round again, so answers must
    depend only on those. If the replacement dies too, `answer` raises an error. It is not a process of `multiprocessing`,
    which would import the caller's script again.
    """

    def __init__(
        self, make: Callable[..., Answer], *arguments: Any, log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        """`log` is a file for what the process prints to standard error; `environment` holds additional variables."""
        self.log, self.environment = log, {**os.environ, **(environment or {})}
        self.setup, self.requests, self.replaced = pickle.dumps((make, arguments)), list[bytes](), False
        self._start()

    def ask(self, request: Any, new_round: bool) -> None:
        """Send a request; `answer` must be called before the next one."""
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
        self.pipe, child_end = Pipe()
        command = python(f"from {__name__} import _serve; _serve({child_end.fileno()})", options=("-W", "ignore"))
        with child_end, open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, pass_fds=[child_end.fileno()], env=self.environment, stderr=log)
        with contextlib.suppress(OSError):
            self.pipe.send_bytes(self.setup)

    def _answer_of_replacement(self) -> Any:
        how = self._how_it_ended()
        if self.replaced:
            raise _dead(how)
        self.replaced = True
        print(f"mvl: a worker process died ({how}); a new one repeats its work.", file=sys.stderr)
        try:
            self._start()
            for request in self.requests:
                self.pipe.send_bytes(request)
                answer = self.pipe.recv()
        except (EOFError, OSError):
            raise _dead(self._how_it_ended()) from None
        return answer

    def _how_it_ended(self) -> str:
        """Why the process ended: a signal, or its exit code and the last line of its log."""
        self.pipe.close()
        code = self._wait(10.0)
        if code < 0:
            return f"killed by signal {-code}{'; is there enough memory?' if -code == signal.SIGKILL else ''}"
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return f"exit code {code}{f': {lines[-1]}' if lines else ''}"

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
        answer = _result_or_error(make, *arguments)
        while True:
            request = pipe.recv()
            pipe.send(answer if isinstance(answer, MvlError) else _result_or_error(answer, request))


def _result_or_error(function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function returns, or the error that the parent process will raise."""
    try:
        return function(*arguments)
    except MvlError as error:
        return error
    except ImportError as error:
        return MvlError(f"a worker process cannot import what it needs ({error})")
    except Exception:
        return MvlError(f"a worker process failed:\n{traceback.format_exc()}")
