"""The C++ code as a shared library, compiled for this processor on first use and cached."""

import ctypes
import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

from mvl.files import scratch_folder
from mvl.nets.native.cache import find, path_in, private_folder, store

HERE = Path(__file__).parent
FLAGS = ("-std=c++17", "-O3", "-march=native", "-fno-math-errno", "-shared", "-fPIC")
TARGETS = ("mvl_mlp_forward", "mvl_mlp_backward", "mvl_adam")


@functools.cache
def disabled_reason() -> str:
    """Reason native networks are disabled; empty if they are enabled."""
    if os.environ.get("MVL_NATIVE", os.environ.get("MVL_KERNELS", "1")) == "0":  # MVL_KERNELS is its old name
        return "MVL_NATIVE is 0"
    if jax.default_backend() != "cpu":
        return f"networks run on a {jax.default_backend()}"
    try:
        library = load()
    except OSError as error:
        print(f"mvl: networks run without native code: {error}", file=sys.stderr)
        return str(error)
    capsule: Callable[[object], Any] = jax.ffi.pycapsule
    for name in TARGETS:
        jax.ffi.register_ffi_target(name, capsule(getattr(library, name)), platform="cpu")
    return ""


def load() -> ctypes.CDLL:
    """The library from the cache, compiled if the cache has no intact one; raises OSError if that is impossible."""
    with private_folder(folder()) as cache:
        return ctypes.CDLL(str(path_in(cache, folder(), cached(cache))))


def cached(cache: int) -> str:
    """Name of the library in the cache (a descriptor of its folder), compiled if missing, which takes a few seconds."""
    command = compiler()
    stem = f"native-{_fingerprint(command)}"
    name, defect = find(cache, stem)
    if name:
        return name
    print(f"mvl: compiling native networks for this processor, {f'since {defect}' if defect else 'once'}", file=sys.stderr)
    return store(cache, stem, compiled(command))


def compiled(command: list[str]) -> bytes:
    """Content of the library, compiled with this command."""
    with scratch_folder() as work:
        library = Path(work) / "library.so"
        source = [str(HERE / "entry_points.cc"), "-isystem", jax.ffi.include_dir(), "-o", str(library)]
        done = subprocess.run([*command, *FLAGS, *source], capture_output=True, text=True)
        if done.returncode or not library.exists():
            lines = [line.strip() for line in done.stderr.splitlines() if line.strip()] or [
                f"{command[0]} gave {done.returncode}"
            ]
            raise OSError(f"it could not be compiled: {next((line for line in lines if 'error' in line), lines[0])}")
        return library.read_bytes()


def compiler() -> list[str]:
    """Command of the C++ compiler: that of CXX, which may have several words, or the first compiler found."""
    given = os.environ.get("CXX", "")
    try:
        chosen = shlex.split(given) or [name for name in ("c++", "g++", "clang++") if shutil.which(name)][:1]
    except ValueError as error:
        raise OSError(f"CXX is {given!r}, which is not a command ({error}); set it to a C++ compiler, or unset it") from None
    if not chosen:
        raise OSError("it could not be compiled: there is no C++ compiler; install g++ or clang")
    if not shutil.which(chosen[0]):
        raise OSError(f"CXX is {given!r}, but there is no command {chosen[0]}; set it to a C++ compiler, or unset it")
    return chosen


def folder() -> Path:
    """Folder of the cached libraries."""
    return Path("~/.cache/mvl/native").expanduser()


def _fingerprint(command: list[str]) -> str:
    """Hash of everything the library depends on: its source, the JAX version, the compiler, and the processor's features."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    features = next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())
    sources = [path.read_text() for path in sorted(HERE.glob("*.[ch]*"))]
    parts = [*sources, *FLAGS, jax.__version__, *command, platform.machine(), features]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
