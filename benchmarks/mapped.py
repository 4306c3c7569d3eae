"""Speed and memory of training on data that stays on disk, twenty times the usual size, against the usual size in memory.

Both datasets have the dimensions of antmaze (29 and 8) and are written to `--folder`; each is trained on in its own process.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np

EPISODES, ROWS, OBSERVATION, ACTION = 1000, 1001, 29, 8
MAX_BYTES, MAX_LOSS = 2e9, 0.10
"""The bars: most resident bytes, and the most speed that training from disk may lose, as a fraction."""


def write(path: Path, times: int) -> None:
    """Write a dataset of a thousand random walks, repeated `times` times; their content does not matter for speed."""
    generator = np.random.default_rng(0)
    actions = generator.uniform(-1, 1, (EPISODES * ROWS, ACTION)).astype(np.float32)
    steps = generator.normal(0, 0.1, (EPISODES, ROWS, OBSERVATION))
    observations = steps.cumsum(axis=1).reshape(-1, OBSERVATION).astype(np.float32)
    terminals = np.arange(EPISODES * ROWS) % ROWS == ROWS - 1
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in (("observations", observations), ("actions", actions), ("terminals", terminals)):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                shape = (times * len(array), *array.shape[1:])
                head = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(member, head)
                for _ in range(times):
                    member.write(array.tobytes())


def child(path: Path, mapped: bool, steps: int, runs: Path) -> None:
    """Train, and print the peak of resident bytes and the steps per second of the middle half (compiled, still reading data)."""
    from mvl.runs import metrics
    from mvl.runs.training import train

    began = time.monotonic()
    run = train(
        path, "gcivl", run=runs, mapped=mapped, held_out=0.01, steps=steps, eval_every=steps, save_every=steps, log_every=500
    )
    first, *_, last = [row for row in metrics.read(run / "timing.jsonl") if steps / 4 <= row["step"] <= 3 * steps / 4]
    speed = (last["step"] - first["step"]) / (last["time"] - first["time"])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"speed": speed, "bytes": peak, "seconds": round(time.monotonic() - began, 1)}))


def measure(path: Path, mapped: bool, options: argparse.Namespace) -> dict[str, float]:
    """Speed, peak memory and seconds of a training in its own process."""
    runs = options.folder / f"run-{path.stem}-{time.time_ns()}"
    flags = ["--child", str(path), "--steps", str(options.steps), "--folder", str(runs)]
    command = [sys.executable, __file__, *flags, *(["--mapped"] if mapped else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("runs/mapped"), help="about 10 GB are written here")
    parser.add_argument("--steps", type=int, default=12_000)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--mapped", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.mapped, options.steps, options.folder)
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    usual, large = options.folder / "usual.npz", options.folder / "large.npz"
    for path, times in ((usual, 1), (large, options.times)):
        if not path.exists():
            write(path, times)
    measure(large, True, options)  # the first training unpacks the file
    in_memory, on_disk = measure(usual, False, options), measure(large, True, options)
    loss = 1 - on_disk["speed"] / in_memory["speed"]
    for name, found in (("in memory", in_memory), (f"on disk, {options.times} times as much", on_disk)):
        print(
            f"{name:<30}{found['speed']:>8.1f} steps/s{found['bytes'] / 1e9:>8.2f} GB resident at peak{found['seconds']:>8.1f} s"
        )
    print(f"speed lost    {loss:.1%} (bar {MAX_LOSS:.0%}): {'passes' if loss <= MAX_LOSS else 'falls short'}")
    passes = on_disk["bytes"] <= MAX_BYTES
    print(f"resident      {on_disk['bytes'] / 1e9:.2f} GB (bar 2 GB): {'passes' if passes else 'falls short'}")


if __name__ == "__main__":
    main()
