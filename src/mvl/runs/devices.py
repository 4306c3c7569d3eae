"""What this machine has: devices, versions, where data lies, whether it can render."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from mvl.data.sources.npz import folders
from mvl.errors import MvlError
from mvl.extras import how_to_install, missing
from mvl.learn.spread import cores
from mvl.nets.native.library import disabled_reason
from mvl.processes import python
from mvl.runs.folder import git_state, versions
from mvl.xla_flags import check_flags

RENDERERS = "libegl1 and libgl1-mesa-dri, or libosmesa6"

_PROBE = (
    "import mujoco; m = mujoco.MjModel.from_xml_string('<mujoco><worldbody><light/><geom size=\"1\"/></worldbody></mujoco>');"
    "d = mujoco.MjData(m); mujoco.mj_forward(m, d); r = mujoco.Renderer(m, 16, 16); r.update_scene(d); assert r.render().any()"
)


def report() -> str:
    import jax

    check_flags()
    lines = ["versions"]
    lines += [f"  {name:<26}{value}" for name, value in versions().items()]
    state = git_state()
    lines += [f"  {'source':<26}{state['commit'][:12]}{' with changes' if state['changed'] else ''}"] if state else []
    lines += ["devices", f"  cores                     {cores()}"]
    lines += [f"  {device.platform:<26}{device.device_kind}" for device in jax.devices()]
    reason = disabled_reason()
    lines += [f"  {'native networks':<26}{f'not used: {reason}' if reason else 'compiled for this processor'}"]
    lines += ["datasets"]
    for folder in folders():
        files = sorted(folder.glob("*.npz")) if folder.is_dir() else []
        lines.append(f"  {folder}: {len(files)} files" if files else f"  {folder}: none")
    lines += [f"  {shutil.disk_usage(_existing(folders()[-1])).free / 1e9:.0f} GB free there"]
    return "\n".join([*lines, "rendering (needed for videos only)", *[f"  {line}" for line in rendering()]])


def room() -> int | None:
    """Bytes free on the device that trains, where that can be known."""
    import jax

    device = jax.local_devices()[0]
    if device.platform != "cpu":
        memory = device.memory_stats() or {}
        return memory["bytes_limit"] - memory["bytes_in_use"] if "bytes_limit" in memory else None
    told = Path("/proc/meminfo")
    lines = told.read_text().splitlines() if told.exists() else []
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable")), None)


def _existing(path: Path) -> Path:
    return path if path.exists() else _existing(path.parent)


def rendering() -> list[str]:
    """Try each of MuJoCo's back ends in a process of its own: a failing one may end the process."""
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
    """What MuJoCo can render with here: as MUJOCO_GL asks, else on the display if there is one, else without."""
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
