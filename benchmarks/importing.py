"""Time and memory of `mvl data import` for a LeRobot dataset of a gigabyte of Parquet, written to `--folder`."""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

JOINTS, ROWS, RATE = 14, 300, 50
"""Joints of two arms, rows per episode and rows per second, as ALOHA records."""
EPISODES_PER_FILE = 3000
MAX_SECONDS, MAX_BYTES = 60, 1e9
"""The bars."""


def write(folder: Path, size: float) -> None:
    """Write random walks of version 3 until the Parquet files have `size` bytes; random numbers cannot be compressed."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    generator, first, number = np.random.default_rng(0), 0, 0
    data = folder / "data" / "chunk-000"
    data.mkdir(parents=True)
    while sum(file.stat().st_size for file in data.iterdir()) < size:
        shape = EPISODES_PER_FILE, ROWS, JOINTS
        actions = generator.uniform(-1, 1, shape).astype(np.float32)
        states = (0.05 * actions).cumsum(axis=1, dtype=np.float32)
        frames = np.tile(np.arange(ROWS), EPISODES_PER_FILE)
        episodes = np.repeat(np.arange(first, first + EPISODES_PER_FILE), ROWS)
        vectors = [pa.FixedSizeListArray.from_arrays(pa.array(array.ravel()), JOINTS) for array in (states, actions)]
        columns = {"observation.state": vectors[0], "action": vectors[1], "timestamp": (frames / RATE).astype(np.float32)}
        columns |= {"frame_index": frames, "episode_index": episodes, "index": np.arange(len(frames)) + first * ROWS}
        parquet.write_table(pa.table(columns), data / f"file-{number:03d}.parquet")
        first, number = first + EPISODES_PER_FILE, number + 1
    names = [f"joint_{joint}" for joint in range(JOINTS)]
    features = {name: {"dtype": "float32", "shape": [JOINTS], "names": names} for name in ("observation.state", "action")}
    info = {"codebase_version": "v3.0", "fps": RATE, "total_episodes": first, "total_frames": first * ROWS, "features": features}
    (folder / "meta").mkdir()
    (folder / "meta" / "info.json").write_text(json.dumps(info))


def measure(source: Path, to: Path) -> tuple[float, float, float]:
    """Seconds, seconds of computation, and peak of resident bytes of an import in its own process."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "mvl", "data", "import", str(source), "--to", str(to), "--overwrite"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    computed = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - began, computed, after.ru_maxrss * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("runs/importing"), help="about 4 GB are written here")
    parser.add_argument("--bytes", type=float, default=1e9, help="size of the Parquet files")
    options = parser.parse_args()
    source = options.folder / "robot"
    if not (source / "meta" / "info.json").exists():
        shutil.rmtree(source, ignore_errors=True)
        write(source, options.bytes)
    size = sum(file.stat().st_size for file in source.rglob("*.parquet"))
    seconds, computed, resident = measure(source, options.folder / "out.npz")
    print(f"{size / 1e9:.2f} GB of Parquet, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    passes = "passes" if seconds <= MAX_SECONDS else "falls short"
    print(f"time          {seconds:.1f} s, {computed:.1f} s of computation (bar {MAX_SECONDS} s): {passes}")
    passes = "passes" if resident <= MAX_BYTES else "falls short"
    print(f"resident      {resident / 1e9:.2f} GB (bar {MAX_BYTES / 1e9:g} GB): {passes}")


if __name__ == "__main__":
    main()
