"""The kernels as a library: compiled for this processor when first needed, and kept."""

import ctypes
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import jax

HERE = Path(__file__).parent
FLAGS = ("-std=c++17", "-O3", "-march=native", "-fno-math-errno", "-shared", "-fPIC")
TARGETS = ("mvl_mlp_forward", "mvl_mlp_backward", "mvl_adam")


@functools.cache
def why_not() -> str:
    """Why the kernels are not used here; nothing where they are."""
    if os.environ.get("MVL_KERNELS", "1") == "0":
        return "MVL_KERNELS is 0"
    if jax.default_backend() != "cpu":
        return f"networks run on a {jax.default_backend()}"
    try:
        library = ctypes.CDLL(str(compiled()))
    except (OSError, subprocess.CalledProcessError) as error:
        said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[0]
        print(f"mvl: going on without kernels, which could not be compiled: {said}", file=sys.stderr)
        return f"they could not be compiled: {said}"
    for name in TARGETS:
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(library, name)), platform="cpu")
    return ""


def compiled() -> Path:
    """The library's file; a few seconds the first time on a machine."""
    compiler = os.environ.get("CXX") or next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    if compiler is None:
        raise OSError("there is no C++ compiler; install g++ or clang")
    library = folder() / f"kernels-{_fingerprint(compiler)}.so"
    if not library.exists():
        print("mvl: compiling the network kernels for this processor, once", file=sys.stderr)
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent) as work:  # others may be compiling it too
            made = Path(work) / library.name
            source = [str(HERE / "kernels.cc"), "-isystem", jax.ffi.include_dir(), "-o", str(made)]
            subprocess.run([compiler, *FLAGS, *source], check=True, capture_output=True, text=True)
            os.replace(made, library)
    return library


def folder() -> Path:
    return Path("~/.cache/mvl/kernels").expanduser()


def _fingerprint(compiler: str) -> str:
    """Of all that the library depends on: its source, JAX's interface, the compiler, and what the processor can do."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else []
    abilities = next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())
    sources = [path.read_text() for path in sorted(HERE.glob("*.[ch]*"))]
    parts = [*sources, *FLAGS, jax.__version__, compiler, platform.machine(), abilities]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
