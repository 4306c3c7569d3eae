"""Data that stays on disk: the same rows, in the same batches, in little memory."""

import time
import zipfile
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from forking import run_script

from conftest import small_recipe, walk, write_npz
from mvl import files
from mvl.batches import BatchRequest, GoalMix
from mvl.data import dataset as dataset_module
from mvl.data import memory_map as mapping
from mvl.data import unpacking as unpacked
from mvl.data.check.card import card, memory
from mvl.data.dataset import Dataset
from mvl.data.goals import on_device, sample
from mvl.data.out_of_core import Mapped
from mvl.data.sources import npz
from mvl.data.unpacking import unpack
from mvl.errors import DataError
from mvl.learn import prefetch as reading
from mvl.learn.learner import Learner
from mvl.learn.prefetch import prefetch, read_batches
from mvl.types import Shapes

EVERYTHING = BatchRequest(goals=GoalMix(0.1, 0.4, 0.5), windows=True, midpoints=True, waypoint_steps=3, chunk=4)


def uneven() -> Dataset:
    """Episodes of 2, 3, 9 and 2 rows, told by an oracle."""
    lengths = (2, 3, 9, 2, 5)
    generator = np.random.default_rng(0)
    rows = sum(lengths)
    terminals = np.isin(np.arange(rows), np.cumsum(lengths) - 1)
    actions = generator.uniform(-1, 1, (rows, 2))
    return Dataset.from_arrays(generator.normal(size=(rows, 3)), actions, terminals, oracle=generator.normal(size=(rows, 1)))


def test_numbers_of_episodes_stand_for_lists_of_rows():
    data = uneven()
    listed, told = on_device(data), Mapped.of(data).rows
    for name in ("transitions", "early"):
        rows = getattr(listed, name)
        assert getattr(told, name).shape[0] == len(rows)
        assert (getattr(told, name)[jnp.arange(len(rows))] == rows).all()
    for name in ("first_rows", "final_goals"):
        assert (getattr(told, name)[jnp.arange(len(data.observations))] == getattr(listed, name)).all()


@pytest.mark.parametrize("data", [uneven(), walk()], ids=["oracle", "plain"])
def test_a_looked_up_batch_is_the_drawn_one(data, key):
    streams, mapped = (GoalMix(), GoalMix(0.0, 1.0, 0.0, False)), Mapped.of(data)
    draw = lambda rows: sample(key, rows, 64, streams, EVERYTHING, 0.9)
    whole, found = draw(on_device(data)), mapped.look_up(jax.jit(lambda: draw(mapped.rows))())
    assert jax.tree.structure(whole) == jax.tree.structure(found)
    for one, other in zip(jax.tree.leaves(whole), jax.tree.leaves(found), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("pass_bytes", [1, 10_000, reading.PASS_BYTES])
def test_read_batches_are_those_of_the_steps(monkeypatch, pass_bytes):
    monkeypatch.setattr(reading, "PASS_BYTES", pass_bytes)
    data = walk()
    learner = Learner(small_recipe().fit(data.statistics), Shapes(2, 2, 2))
    made = list(read_batches(learner, Mapped.of(data), np.array([4, 7], np.uint32), range(10, 22, 3)))
    assert len(made) == 4
    for call, step in ((0, 12), (3, 21)):
        alone = learner.sample(on_device(data), learner.keys(np.uint32(7), np.int32(step))[0])
        for many, one in zip(jax.tree.leaves(made[call]), jax.tree.leaves(alone), strict=True):
            assert np.array_equal(many[1, 2], one)


def test_prefetch_keeps_order_runs_ahead_and_passes_errors_on():
    begun = []
    stream = prefetch(lambda value: begun.append(value) or 1 / value, [4, 2, 1, 0, 5])
    assert [next(stream), next(stream)] == [0.25, 0.5]
    assert begun[:3] == [4, 2, 1][: len(begun)]
    assert len(begun) >= 2
    assert next(stream) == 1
    with pytest.raises(ZeroDivisionError):
        next(stream)


def test_files_are_unpacked_once_and_anew_when_they_change(tmp_path):
    first, second = walk(seed=1), walk(seed=2)
    path = write_npz(tmp_path / "d.npz", first)
    mapped = npz.load(path, out_of_core=True)
    assert mapping.file_of(mapped.observations) is not None
    assert np.array_equal(mapped.observations, first.observations)
    assert np.array_equal(mapped.ends, first.ends)
    assert mapped.statistics == first.statistics
    unpacked = tmp_path / ".d.unpacked" / "observations.npy"
    stamp = unpacked.stat().st_mtime_ns
    npz.load(path, out_of_core=True)
    assert unpacked.stat().st_mtime_ns == stamp
    write_npz(path, second)
    assert np.array_equal(npz.load(path, out_of_core=True).observations, second.observations)
    train, held = npz.load(path, out_of_core=True).split(0.4)
    assert mapping.file_of(held.actions) is not None
    pieces = [part.copy() for _, part in mapping.chunks(train.observations)]
    assert np.array_equal(np.concatenate(pieces), second.split(0.4)[0].observations)
    assert np.array_equal(train.observations, second.split(0.4)[0].observations)  # what was let go comes back


LOAD_AT_ONCE = """
import multiprocessing, sys
from pathlib import Path
from mvl.data.sources import npz

fork = multiprocessing.get_context("fork")

def load(start, sums, index):
    start.wait()
    data = npz.load(path, out_of_core=True)
    sums[index] = float(data.observations.sum()) + float(data.actions.sum())

for path in map(Path, sys.argv[1:]):
    start, sums = fork.Barrier(8), fork.Array("d", 8)
    loading = [fork.Process(target=load, args=(start, sums, index)) for index in range(8)]
    for process in loading:
        process.start()
    for process in loading:
        process.join()
    assert [process.exitcode for process in loading] == [0] * 8
    expected = npz.load(path)
    assert list(sums) == [float(expected.observations.sum()) + float(expected.actions.sum())] * 8
"""


def test_processes_that_load_a_fresh_file_at_once_all_get_it(tmp_path):
    paths = [write_npz(tmp_path / f"{name}.npz", walk(episodes=500)) for name in "abcd"]
    run_script(LOAD_AT_ONCE, *paths)
    assert sorted(file.name for file in tmp_path.glob(".*")) == [f".{name}.unpacked" for name in "abcd"]
    arrays = ["actions.npy", "observations.npy", "of.json", "terminals.npy"]
    assert sorted(file.name for file in (tmp_path / ".a.unpacked").iterdir()) == arrays


KILLED = """
import itertools, shutil, sys
from pathlib import Path
from forking import killed_before
from mvl.data.sources import npz

origin, cut_off = Path(sys.argv[1]), 0
expected = npz.load(origin)
for call in itertools.count(1):
    path = origin.parent / str(call) / "d.npz"
    path.parent.mkdir()
    shutil.copy(origin, path)
    if not killed_before(call, lambda: npz.load(path, out_of_core=True)):
        break
    folder = path.with_name(".d.unpacked")
    cut_off += len(list(folder.glob(".*.npy")))
    data = npz.load(path, out_of_core=True)
    assert (data.observations == expected.observations).all() and (data.actions == expected.actions).all(), call
    assert sorted(file.name for file in folder.iterdir()) == ["actions.npy", "observations.npy", "of.json", "terminals.npy"], call
assert cut_off >= 3  # killed in the middle of each array
"""


def test_after_a_killed_unpacking_the_next_start_succeeds(tmp_path):
    run_script(KILLED, write_npz(tmp_path / "d.npz", walk()))


def test_waiting_for_another_process_is_said_after_a_while(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(files, "PATIENCE", 0.1)
    path = write_npz(tmp_path / "d.npz", walk())
    with ThreadPoolExecutor() as pool:
        with files.locked(tmp_path / ".d.unpacked.lock", "not said"):
            loading = pool.submit(npz.load, path, out_of_core=True)
            time.sleep(0.3)
            assert not loading.done()
        assert len(loading.result(30).ends) == 6
    assert capsys.readouterr().err == f"mvl: waiting for another process that unpacks {path}\n"
    npz.load(path, out_of_core=True)
    assert capsys.readouterr().err == ""


def test_a_file_replaced_while_it_is_unpacked_is_not_mixed(tmp_path, monkeypatch):
    path = write_npz(tmp_path / "d.npz", walk(seed=1))
    unpack_one = unpacked._unpack

    def replace_then_unpack(path, field, target):
        if field == "actions":
            write_npz(path, walk(seed=2))
        unpack_one(path, field, target)

    monkeypatch.setattr(unpacked, "_unpack", replace_then_unpack)
    with pytest.raises(DataError, match="d.npz was replaced while it was unpacked; try again"):
        npz.load(path, out_of_core=True)
    monkeypatch.undo()
    assert np.array_equal(npz.load(path, out_of_core=True).observations, walk(seed=2).observations)


@pytest.mark.parametrize("chunk", [1, 100, mapping.CHUNK])
def test_rows_are_read_from_files_through_any_view(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(mapping, "CHUNK", chunk)
    data = npz.load(write_npz(tmp_path / "d.npz", walk()), out_of_core=True)
    for array in (data.observations, data.observations[21:], data.split(0.5)[1].actions):
        rows = np.random.default_rng(0).integers(len(array), size=(3, 11))
        assert mapping.file_of(array) is not None
        assert np.array_equal(mapping.take(array, rows), np.array(array)[rows])


def test_what_is_asked_for_twice_is_read_once(monkeypatch, key):
    asked = []
    monkeypatch.setattr("mvl.data.out_of_core.take", lambda array, rows: asked.append(rows) or array[rows])
    mapped = Mapped.of(walk())
    drawn = sample(key, mapped.rows, 8, (GoalMix(), GoalMix(0.0, 1.0, 0.0)), BatchRequest(), 0.9)
    mapped.look_up(drawn)
    assert sorted(rows.shape for rows in asked) == [(8,), (4 * 8,)]  # actions; states, next states, two kinds of goals


def test_doubles_are_kept_as_floats_and_checked_piece_by_piece(tmp_path, monkeypatch):
    monkeypatch.setattr(mapping, "CHUNK", 64)
    data = walk()
    states, terminals = data.observations.astype(np.float64), np.isin(np.arange(len(data.observations)), data.ends)
    np.savez_compressed(tmp_path / "d.npz", observations=states, actions=data.actions, terminals=terminals)
    mapped = npz.load(tmp_path / "d.npz", out_of_core=True)
    assert mapped.observations.dtype == np.float32
    assert np.array_equal(mapped.observations, data.observations)
    states[77, 1] = np.nan
    np.savez_compressed(tmp_path / "e.npz", observations=states, actions=data.actions, terminals=terminals)
    with pytest.raises(DataError, match=r"e.npz: observations is nan at row 77, dimension 1; remove that episode"):
        npz.load(tmp_path / "e.npz", out_of_core=True)
    np.savez_compressed(tmp_path / "f.npz", observations=data.observations, actions=2 * data.actions, terminals=terminals)
    with pytest.raises(DataError, match=r"f.npz: actions must lie in \[-1, 1\], but dimension"):
        npz.load(tmp_path / "f.npz", out_of_core=True)


def test_what_cannot_be_mapped_is_refused(tmp_path):
    plain = {"actions": np.zeros((2, 1)), "terminals": np.array([False, True])}
    np.savez(tmp_path / "o.npz", observations=np.array([{}], object), **plain)
    with pytest.raises(DataError, match="o.npz: observations is an array of object, which cannot be mapped"):
        npz.load(tmp_path / "o.npz", out_of_core=True)
    np.savez(tmp_path / "c.npz", observations=np.asfortranarray(np.arange(6.0).reshape(2, 3)), **plain)
    with pytest.raises(DataError, match="c.npz: observations is an array of float64 by columns, which cannot be mapped"):
        npz.load(tmp_path / "c.npz", out_of_core=True)
    assert npz.load(tmp_path / "c.npz").observations[1].tolist() == [3, 4, 5]
    path = write_npz(tmp_path / "d.npz", walk())
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "cut.npz", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content[:-40] if name == "actions.npy" else content)
    with pytest.raises(DataError, match="cut.npz: actions is cut short"):
        unpack(tmp_path / "cut.npz", ("observations", "actions"))
    assert not (tmp_path / ".cut.unpacked" / "actions.npy").exists()
    (tmp_path / "no.npz").write_bytes(b"nothing")
    with pytest.raises(DataError, match="no.npz: not a readable .npz file"):
        npz.bytes_of(tmp_path / "no.npz")


def test_what_training_needs_is_told_before_it_starts(tmp_path):
    data = walk()
    path = write_npz(tmp_path / "d.npz", data)
    rows = 6 * 21
    assert npz.bytes_of(path) == data.bytes == rows * (4 * (2 + 2) + 16)
    assert f"needs {data.bytes} bytes" in card(data)
    assert memory(1_000_000, 3_000_000).endswith("for the data")
    assert "more than half of the 3 MB free: it will be read from disk" in memory(1_600_000, 3_000_000)
    assert mapping.fits(10, None)


def test_statistics_of_very_much_data_are_of_evenly_spaced_episodes(monkeypatch):
    data = walk(episodes=40)
    whole = data.statistics
    monkeypatch.setattr(dataset_module, "MANY_ROWS", 500)
    monkeypatch.setattr(dataset_module, "SAMPLED_ROWS", 200)
    thin = Dataset(data.observations, data.actions, data.ends)
    assert len(thin.sampled.ends) == 10
    assert np.array_equal(thin.sampled.observations[21:42], data.observations[84:105])
    assert thin.statistics.step == pytest.approx(whole.step, rel=0.2)
    assert thin.statistics != whole
    assert "(of 10 evenly spaced episodes)" in card(thin)
