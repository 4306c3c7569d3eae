"""Scripts in a process of their own, which may fork because it has not loaded jax, and whose forks may be killed."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from mvl.errors import MvlError


def run_script(code: str, *args: object) -> None:
    """Run Python code that may import from the tests; it fails by an exception."""
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-c", code, *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr


def killed_before(call: int, run: Callable[[], object]) -> bool:
    """Run something in a fork that is killed before its n-th renaming or removal of a file; false if it has fewer."""
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


def killed_everywhere(folder: Path, names: list[str], run: Callable[[Path], object]) -> None:
    """Run something in a folder that writes two files, kill it at every point, run it again, and compare with an unbroken run.

    The folder has to hold `start`, with what is there before. Only after the files are complete may running it again be
    refused because they exist.
    """
    shutil.copytree(folder / "start", folder / "whole")
    run(folder / "whole")
    seen, call = set(), 1
    while True:
        here = folder / str(call)
        shutil.copytree(folder / "start", here)
        if not killed_before(call, lambda here=here: run(here)):
            break
        there = tuple((here / name).exists() for name in names)
        seen.add(there)
        refused = ""
        try:
            run(here)
        except MvlError as error:
            refused = str(error)
        if refused:
            assert "exists already" in refused
            assert there == (True, True)
        else:
            assert sorted(os.listdir(here)) == sorted(os.listdir(folder / "whole")), call
        assert [(here / name).read_bytes() for name in names] == [(folder / "whole" / name).read_bytes() for name in names], call
        call += 1
    assert seen == {(False, False), (True, False), (True, True)}
