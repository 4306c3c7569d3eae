"""Run scripts in a new process without JAX, which can therefore fork, and kill its forks at chosen points."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from mvl.errors import MvlError


def run_script(code: str, *args: object) -> None:
    """Run Python code, which may import from the tests, in a new process; fails if the code raises."""
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-c", code, *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr


def killed_before(call: int, run: Callable[[], object]) -> bool:
    """Run a function in a fork that is killed before its n-th rename or removal of a file; false if there are fewer calls."""
    child = os.fork()
    if child:
        status = os.waitpid(child, 0)[1]
        assert status in (0, signal.SIGKILL)
        return status == signal.SIGKILL
    calls = []

    def counted(change):
        def counting(*args, **settings):
            calls.append(args)
            if len(calls) == call:
                os.kill(os.getpid(), signal.SIGKILL)
            return change(*args, **settings)

        return counting

    for name in ("replace", "unlink", "rmdir"):
        setattr(os, name, counted(getattr(os, name)))
    try:
        run()
    except BaseException as error:
        print(error, file=sys.stderr)
        os._exit(1)
    os._exit(0)


def check_every_kill(folder: Path, names: list[str], run: Callable[[Path], object]) -> None:
    """Kill a function that writes two files at every point, run it again, and compare the files with an uninterrupted run.

    `folder / "start"` has the files that exist before. Running it again may be refused, because the files exist, only if both
    are complete.
    """
    shutil.copytree(folder / "start", folder / "whole")
    run(folder / "whole")
    seen, call = set(), 1
    while True:
        here = folder / str(call)
        shutil.copytree(folder / "start", here)
        if not killed_before(call, lambda here=here: run(here)):
            break
        present = tuple((here / name).exists() for name in names)
        seen.add(present)
        refused = ""
        try:
            run(here)
        except MvlError as error:
            refused = str(error)
        if refused:
            assert "exists already" in refused
            assert present == (True, True)
        else:
            assert sorted(os.listdir(here)) == sorted(os.listdir(folder / "whole")), call
        assert [(here / name).read_bytes() for name in names] == [(folder / "whole" / name).read_bytes() for name in names], call
        call += 1
    assert seen == {(False, False), (True, False), (True, True)}
