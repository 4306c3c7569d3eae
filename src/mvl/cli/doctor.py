"""`mvl doctor`: devices, versions, datasets and renderers of this machine."""

import shutil
from pathlib import Path

from mvl.cli.parser import Parser


def run(argv: list[str]) -> None:
    Parser(prog="mvl doctor", description="Show devices, versions and the rendering back end.").parse_all(argv)
    print(report())


def report() -> str:
    """Versions, devices, datasets and renderers, as text."""
    import jax

    from mvl.data.sources.npz import folders
    from mvl.machine import cores, rendering
    from mvl.nets.native.library import disabled_reason
    from mvl.runs.folder import git_state, versions
    from mvl.xla_flags import check_flags

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
    last = folders()[-1]
    lines += [f"  {shutil.disk_usage(_existing(last)).free / 1e9:.0f} GB free for {last}"]
    return "\n".join([*lines, "rendering (needed for videos only)", *[f"  {line}" for line in rendering()]])


def _existing(path: Path) -> Path:
    """The path, or its nearest parent folder that exists."""
    return path if path.exists() else _existing(path.parent)
