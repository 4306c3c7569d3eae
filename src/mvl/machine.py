"""What this machine has: cores, free memory, and what MuJoCo can render with."""

import os
import resource
import subprocess
import sys
from pathlib import Path

from mvl.errors import MvlError
from mvl.extras import how_to_install, missing
from mvl.processes import python

RENDERERS = "libegl1 and libgl1-mesa-dri, or libosmesa6"

_PROBE = (
    "import mujoco; m = mujoco.MjModel.from_xml_string('<mujoco><worldbody><light/><geom size=\"1\"/></worldbody></mujoco>');"
    "d = mujoco.MjData(m); mujoco.mj_forward(m, d); r = mujoco.Renderer(m, 16, 16); r.update_scene(d); assert r.render().any()"
)


def core_numbers() -> list[int]:
    """Numbers of the cores that this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def cores() -> int:
    """Number of cores that this process may use."""
    return len(core_numbers())


def largest_memory() -> int:
    """Largest memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def free_memory() -> int | None:
    """Bytes free on the device that trains; None if unknown."""
    import jax

    device = jax.local_devices()[0]
    if device.platform != "cpu":
        memory = device.memory_stats() or {}
        return memory["bytes_limit"] - memory["bytes_in_use"] if "bytes_limit" in memory else None
    meminfo = Path("/proc/meminfo")
    lines = meminfo.read_text().splitlines() if meminfo.exists() else []
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable")), None)


def rendering() -> list[str]:
    """Lines on which of MuJoCo's rendering back ends work. Each is tried in a child process, which a failing one may end."""
    if missing("mujoco"):
        return [f"needs a simulator: {how_to_install(['mujoco'])}"]
    chosen = os.environ.get("MUJOCO_GL")
    lines = [f"MUJOCO_GL is {chosen!r}" if chosen else "MUJOCO_GL is not set"]
    for backend in ("egl", "osmesa", "glfw"):
        lines.append(f"{backend:<8}{'works' if _renders(backend) else 'does not work'}")
    if all(line.endswith("not work") for line in lines[1:]):
        lines.append(f"install {RENDERERS}")
    return lines


def renderer() -> str:
    """A rendering back end of MuJoCo that works here: that of MUJOCO_GL if set, else glfw (with a display), egl or osmesa."""
    chosen = os.environ.get("MUJOCO_GL")
    display = sys.platform != "linux" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    for backend in [chosen] if chosen else [*(["glfw"] if display else []), "egl", "osmesa"]:
        if _renders(backend):
            return backend
    if chosen:
        raise MvlError(f"MUJOCO_GL is {chosen!r}, which cannot render here; unset it, or install {RENDERERS}.")
    raise MvlError(f"nothing here can render; install {RENDERERS} (Debian's names).")


def _renders(backend: str) -> bool:
    environment = {**os.environ, "MUJOCO_GL": backend}
    try:
        done = subprocess.run(python(_PROBE), env=environment, capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0
