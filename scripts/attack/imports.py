"""Damaged files of every layout: each has to be imported, or refused in one sentence that names the file."""

import shutil
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from attack.damage import damaged
from mvl.data.imports.importing import import_data
from mvl.data.sources.episodes import Clock, ColumnNames
from mvl.errors import MvlError

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "helpers"))

TABLE = ColumnNames(observations=("q0", "q1"), actions=("u*",), time="t")
STREAMS = ColumnNames(("joint_states/position_*",), ("cmd/velocity_*",), clock=Clock(20.0))


def layouts() -> dict[str, tuple[Any, ColumnNames | None, str | None]]:
    """By name: how a layout is written, the names of its columns and its format, where they have to be given."""
    import layouts as write  # type: ignore[import-not-found]

    return {
        "a.npz": (write.write_npz_file, None, None),
        "npz": (write.write_npz_folder, None, None),
        "a.csv": (write.write_csv_file, TABLE._replace(episode="episode"), None),
        "csv": (write.write_csv_folder, TABLE, None),
        "aloha": (write.write_aloha, None, None),
        "robomimic.hdf5": (lambda path, pairs: write.write_robomimic(path, pairs, valid=[1]), None, None),
        "flat.h5": (write.write_hdf5_file, None, None),
        "lerobot2": (lambda path, pairs: write.write_lerobot(path, pairs, "v2.1"), None, None),
        "lerobot3": (write.write_lerobot, None, None),
        "streams": (write.write_streams, STREAMS, "streams"),
        "minari-v0": (lambda path, pairs: write.write_minari(path.with_name("minari"), pairs), None, None),
    }


def write(folder: Path) -> None:
    """Write an intact source of every layout."""
    import layouts as write

    for name, (function, _, _) in layouts().items():
        function(folder / name, write.made(3, rows=6))


def case(number: int, generator: np.random.Generator, written: Path, scratch: Path) -> str:
    """Outcome of one case: accepted, refused, or what went wrong."""
    kinds = layouts()
    name = sorted(kinds)[number % len(kinds)]
    _, columns, kind = kinds[name]
    folder = scratch / str(number)
    folder.mkdir()
    source = folder / name
    (shutil.copytree if (written / name).is_dir() else shutil.copy)(written / name, source)
    files = sorted(file for file in source.rglob("*") if file.is_file()) if source.is_dir() else [source]
    if number >= len(kinds):  # the first case of each layout is intact
        file = files[generator.integers(len(files))]
        file.write_bytes(damaged(file.read_bytes(), generator))
    outcome = "accepted"
    try:
        import_data(source, folder / "out.npz", columns=columns, kind=kind)
    except MvlError as error:
        text = str(error)
        outcome = (
            "refused" if str(folder) in text and "\n" not in text else f"refused without the file, or in several lines: {text}"
        )
    except Exception:
        outcome = f"foreign exception:\n{traceback.format_exc()}"
    expected = {name, "out.npz", "out-val.npz"} if outcome == "accepted" else {name}
    if {path.name for path in folder.iterdir()} != expected:
        outcome = f"left files behind: {sorted(path.name for path in folder.iterdir())}"
    shutil.rmtree(folder)
    return outcome
