"""Bad input: one sentence that names the file, nothing written, whatever is in the files."""

import os
import shutil
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from forking import run_script
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from layouts import (
    made,
    write_aloha,
    write_csv_file,
    write_csv_folder,
    write_lerobot,
    write_minari,
    write_npz_file,
    write_robomimic,
    write_streams,
)

from mvl.cli import main
from mvl.data.imports.importing import import_data
from mvl.data.sources import table
from mvl.data.sources.episodes import Clock, ColumnNames, checked
from mvl.data.sources.reading import Listener
from mvl.errors import DataError, MvlError

TABLE = ColumnNames(observations=("q0", "q1"), actions=("u*",), time="t")
STREAMS = ColumnNames(("joint_states/position_*",), ("cmd/velocity_*",), clock=Clock(20.0))


def refused(capsys, *words):
    """The one sentence with which a command ends."""
    assert main(["data", "import", *map(str, words)]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("mvl: ")
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    return captured.err


def test_a_path_that_does_not_exist(tmp_path, capsys):
    for words in ((), ("--kind", "csv"), ("--kind", "hdf5"), ("--kind", "streams", "--hz", "20")):
        missing = tmp_path / "nothing.csv"
        assert f"{missing} does not exist; check the path" in refused(capsys, missing, "--to", tmp_path / "out.npz", *words)
    os.mkfifo(tmp_path / "pipe.csv")
    assert "pipe.csv is neither a file nor a folder" in refused(capsys, tmp_path / "pipe.csv", "--to", tmp_path / "out.npz")


def test_a_target_that_cannot_be_written(tmp_path, capsys, monkeypatch):
    write_npz_file(tmp_path / "a.npz", made())
    (tmp_path / "link.npz").symlink_to(tmp_path / "elsewhere.npz")
    assert "link.npz is a symbolic link" in refused(capsys, tmp_path / "a.npz", "--to", tmp_path / "link.npz")
    (tmp_path / "folder.npz").mkdir()
    assert "folder.npz exists already" in refused(capsys, tmp_path / "a.npz", "--to", tmp_path / "folder.npz", "--overwrite")
    monkeypatch.setattr("mvl.data.sources.archive.episodes", lambda *args: pytest.fail("it began"))
    for place in (Path("/proc/self/out.npz"), tmp_path / "a.npz" / "out.npz"):
        refused(capsys, tmp_path / "a.npz", "--to", place)


def test_a_folder_of_several_formats(tmp_path, capsys):
    write_csv_folder(tmp_path / "demos", made(3))
    write_npz_file(tmp_path / "demos" / "x.npz", made())
    told = refused(capsys, tmp_path / "demos", "--to", tmp_path / "out.npz")
    assert "has 3 .csv files and 1 .npz file; say which with --kind npz|csv|hdf5|lerobot|minari|streams" in told
    names = ["--observations", "q0", "q1", "--actions", "u*"]
    assert main(["data", "import", str(tmp_path / "demos"), "--to", str(tmp_path / "out.npz"), "--kind", "csv", *names]) == 0


def test_a_folder_without_files_of_the_format(tmp_path, capsys):
    (tmp_path / "demos").mkdir()
    for kind in ("npz", "csv", "hdf5"):
        assert "demos: has no ." in refused(capsys, tmp_path / "demos", "--to", tmp_path / "out.npz", "--kind", kind)
    assert "not a LeRobot dataset" in refused(capsys, tmp_path / "demos", "--to", tmp_path / "out.npz", "--kind", "lerobot")


BOMBS = """
import resource, sys, time
from pathlib import Path
import h5py, pyarrow.parquet
from mvl.data.imports.importing import import_data
from mvl.errors import DataError

peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
for source in sys.argv[2:]:
    began = time.process_time()
    try:
        import_data(Path(source), Path(sys.argv[1]) / "out.npz")
    except DataError as error:
        assert "bytes of numbers in a file of" in str(error), error
    else:
        raise AssertionError(f"{source} was imported")
    assert time.process_time() - began < 1, source
assert peak() - before < 200e6, peak() - before
"""


def test_files_that_claim_too_much_take_no_memory(tmp_path):
    rows = 30_000_000
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name in ("observations", "actions", "terminals"):
            file.create_dataset(name, (300 * rows, 1), np.float32, chunks=(1000, 1))
    zeros = np.zeros((rows, 1), np.uint8)
    np.savez_compressed(tmp_path / "b.npz", observations=zeros, actions=zeros, terminals=zeros)
    write_lerobot(tmp_path / "c", made(2), per_file=2)
    (file,) = (tmp_path / "c" / "data").rglob("*.parquet")
    wide = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(24 * 500_000, np.uint8)), 500_000)
    parquet.write_table(parquet.read_table(file).set_column(0, "observation.state", wide), file, compression="zstd")
    run_script(BOMBS, tmp_path, tmp_path / "a.h5", tmp_path / "b.npz", tmp_path / "c")


def write_v2(path, pairs):
    write_lerobot(path, pairs, "v2.1")


SOURCES = {
    "a.npz": (write_npz_file, None, None),
    "a.csv": (write_csv_file, TABLE._replace(episode="episode"), None),
    "table": (write_csv_folder, TABLE, None),
    "aloha": (write_aloha, None, None),
    "robomimic.hdf5": (write_robomimic, None, None),
    "v2": (write_v2, None, None),
    "v3": (write_lerobot, None, None),
    "streams": (write_streams, STREAMS, "streams"),
    "minari-v0": (lambda path, pairs: write_minari(path.with_name("minari"), pairs), None, None),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Three episodes in every layout."""
    folder = tmp_path_factory.mktemp("written")
    for name, (write, _, _) in SOURCES.items():
        write(folder / name, made(3, rows=6))
    return folder


def files_of(source: Path) -> list[Path]:
    return sorted(file for file in source.rglob("*") if file.is_file()) if source.is_dir() else [source]


def copied(written, name, to):
    """A copy of a layout, and its files."""
    source = to / name
    (shutil.copytree if (written / name).is_dir() else shutil.copy)(written / name, source)
    return source


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SOURCES)
def test_a_file_that_changes_while_it_is_read(tmp_path, written, name):
    source, (_, columns, kind) = copied(written, name, tmp_path), SOURCES[name]
    last = max(files_of(source), key=lambda file: (file.suffix != ".json", file))

    def change(done, total):
        os.utime(last, ns=(1, 1))

    with pytest.raises(DataError, match=f"{last.name} was changed while it was read; import it again"):
        import_data(source, tmp_path / "out.npz", columns=columns, kind=kind, listener=Listener(progress=change))
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_row_that_is_added_while_a_file_is_read_is_no_short_episode(tmp_path):
    file, columns = tmp_path / "all.csv", TABLE._replace(episode="episode")
    write_csv_file(file, made(2))
    file.write_text(file.read_text() + "9,1,1,0,0,demo_2\n")
    found = checked(table.episodes(file, columns), columns)
    next(found)
    os.utime(file, ns=(1, 1))
    with pytest.raises(DataError, match="all.csv was changed while it was read; import it again"):
        list(found)
    with pytest.raises(DataError, match="all.csv, episode 2: has 1 row; an episode needs at least two"):
        list(checked(table.episodes(file, columns), columns))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SOURCES)
@settings(
    max_examples=30, derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_file_makes_it_crash(tmp_path_factory, written, name, data):
    """Files with some bytes changed, cut or replaced are imported or refused in one sentence that names the source."""
    folder = tmp_path_factory.mktemp("damaged", numbered=True)
    source, (_, columns, kind) = copied(written, name, folder), SOURCES[name]
    file = data.draw(st.sampled_from(files_of(source)))
    content = bytearray(file.read_bytes())
    first = data.draw(st.integers(0, len(content) - 1))
    last = data.draw(st.integers(first, min(len(content), first + 64)))
    content[first:last] = data.draw(
        st.binary(max_size=64) | st.text("0123456789.,-naife;\n\t\"'qut[]{}:", max_size=64).map(str.encode)
    )
    file.write_bytes(content[: data.draw(st.integers(0, len(content)) | st.just(len(content)))])
    outcome = ""
    try:
        import_data(source, folder / "out.npz", columns=columns, kind=kind)
    except MvlError as error:
        outcome = str(error)
    found = {path.name for path in folder.iterdir()}
    shutil.rmtree(folder)
    assert str(folder) in outcome or not outcome
    assert found == ({name} if outcome else {name, "out.npz", "out-val.npz"})
