"""Importing HDF5: ALOHA, robomimic and flat files, and files that lead elsewhere or claim too much."""

import time
import zlib
from itertools import pairwise

import h5py
import numpy as np
import pytest
from layouts import made, same, write_aloha, write_hdf5_file, write_robomimic

from mvl.data.imports.importing import import_data
from mvl.data.signals import Signal
from mvl.data.sources import hdf5
from mvl.data.sources.episodes import ColumnNames
from mvl.data.sources.kinds import kind_of
from mvl.data.sources.npz import load
from mvl.data.sources.reading import Listener
from mvl.errors import DataError


@pytest.fixture
def notes():
    return []


def test_aloha(tmp_path, notes):
    write_aloha(tmp_path / "demos", made(12))  # episode_10 comes after episode_9
    assert kind_of(tmp_path / "demos") == "hdf5"
    import_data(tmp_path / "demos", tmp_path / "out.npz", held_out=1 / 12, listener=Listener(notes.append))
    assert same(tmp_path / "out.npz", made(12))
    assert notes == [
        "observations: observations/qpos; actions: action",
        "images that are not used: observations/images/top",
        "arrays that are not used: observations/qvel",
    ]


def test_aloha_with_velocities(tmp_path):
    write_aloha(tmp_path / "demos", made(), images=False)
    names = ColumnNames(observations=("observations/qpos", "observations/qvel"))
    import_data(tmp_path / "demos", tmp_path / "out.npz", columns=names)
    assert load(tmp_path / "out.npz").observations.shape == (48, 4)


def test_robomimic(tmp_path, notes):
    write_robomimic(tmp_path / "demos.hdf5", made(12))
    import_data(tmp_path / "demos.hdf5", tmp_path / "out.npz", held_out=1 / 12, listener=Listener(notes.append))
    assert same(tmp_path / "out.npz", made(12))
    assert notes[0] == "observations: obs/a_joints, obs/b_gripper; actions: actions"
    assert notes[1] == "images that are not used: obs/camera_image"


def test_masks_decide_what_is_held_out(tmp_path, notes):
    pairs = made()
    write_robomimic(tmp_path / "demos.hdf5", pairs, valid=[0, 2])
    import_data(tmp_path / "demos.hdf5", tmp_path / "out.npz", held_out=0.2, listener=Listener(notes.append))
    assert same(tmp_path / "out.npz", [pairs[index] for index in (1, 3, 4, 0, 2)], held=2)
    assert notes[-1] == "held out as the file's masks say: 3 episodes for training, 2 for validation"


MASKS = {
    "overlapping": ([b"demo_0", b"demo_4"], "demo_4 are both in mask/train and in mask/valid"),
    "unknown": ([b"demo_0", b"demo_9"], "demo_9 are in its masks, but not in its data"),
    "empty": (np.array([], "S1"), "marks no episode for training"),
    "numbers": ([1, 2], "1, 2 are in its masks, but not in its data"),
}


@pytest.mark.parametrize("mistake", MASKS)
def test_bad_masks(tmp_path, mistake):
    train, message = MASKS[mistake]
    write_robomimic(tmp_path / "demos.hdf5", made(), valid=[3, 4])
    with h5py.File(tmp_path / "demos.hdf5", "a") as file:
        del file["mask/train"]
        file["mask/train"] = train
    with pytest.raises(DataError, match=message):
        import_data(tmp_path / "demos.hdf5", tmp_path / "out.npz")


def test_episodes_in_neither_mask_are_left_out(tmp_path):
    write_robomimic(tmp_path / "demos.hdf5", made(), valid=[4])
    with h5py.File(tmp_path / "demos.hdf5", "a") as file:
        del file["mask/train"]
        file["mask/train"] = [b"demo_0", b"demo_1"]
    assert import_data(tmp_path / "demos.hdf5", tmp_path / "out.npz").episodes == 3


def test_groups_at_the_root(tmp_path):
    with h5py.File(tmp_path / "demos.h5", "w") as file:
        for index, (states, actions) in enumerate(made()):
            file[f"episode_{index}/observations"], file[f"episode_{index}/actions"] = states, actions
    import_data(tmp_path / "demos.h5", tmp_path / "out.npz", held_out=0.2)
    assert same(tmp_path / "out.npz", made())


def test_flat_files(tmp_path):
    write_hdf5_file(tmp_path / "flat.h5", made())
    import_data(tmp_path / "flat.h5", tmp_path / "a.npz", held_out=0.2)
    assert same(tmp_path / "a.npz", made())
    with h5py.File(tmp_path / "flat.h5", "a") as file:
        del file["terminals"]
        file["number"] = np.repeat(2**24 + np.arange(5), 12)
    import_data(tmp_path / "flat.h5", tmp_path / "b.npz", held_out=0.2, columns=ColumnNames(episode="number"))
    assert same(tmp_path / "b.npz", made())
    with pytest.raises(DataError, match="has one episode, .* tells them apart"):
        import_data(tmp_path / "flat.h5", tmp_path / "c.npz")


def test_names_units_and_rate(tmp_path):
    write_aloha(tmp_path / "demos", made())
    signals = hdf5.source_signals(tmp_path / "demos", hdf5.defaults(tmp_path / "demos"))
    labels = ("observations/qpos_0", "observations/qpos_1")
    assert signals.observations == (Signal("observations/qpos", labels, "rad"),)
    assert signals.hz is None
    write_robomimic(tmp_path / "demos.hdf5", made())
    names = hdf5.defaults(tmp_path / "demos.hdf5")._replace(observations=("obs/b_gripper",))
    signals = hdf5.source_signals(tmp_path / "demos.hdf5", names)
    assert signals.observations == (Signal("obs/b_gripper", ("obs/b_gripper",)),)
    assert signals.hz == 20


def positions(data):
    """Replaces the positions of an ALOHA file."""

    def replace(file):
        del file["observations/qpos"]
        file["observations/qpos"] = data

    return replace


def links_to_a_link_out(file):
    file["aside"] = h5py.ExternalLink("other.hdf5", "/")
    positions(h5py.SoftLink("/aside/qpos"))(file)


def virtual(file):
    layout = h5py.VirtualLayout((12, 2), np.float32)
    layout[:] = h5py.VirtualSource("other.hdf5", "qpos", (12, 2))
    del file["observations/qpos"]
    file.create_virtual_dataset("observations/qpos", layout)


def external(file):
    del file["observations/qpos"]
    file.create_dataset("observations/qpos", (12, 2), np.uint8, external=[("/etc/hostname", 0, 24)])


def cyclic(file):
    file["observations/again"] = file["/"]


def branching(file):
    """Thirty groups of two links each to the next one: a billion paths."""
    groups = [file.create_group(f"observations/level_{level}") for level in range(30)]
    for above, below in pairwise(groups):
        above["left"], above["right"] = below, below


def claiming(shape, chunks):
    def make(file):
        del file["observations/qpos"]
        file.create_dataset("observations/qpos", shape, np.float32, chunks=chunks, maxshape=(None, None))

    return make


def inflating(file):
    """A chunk that unpacks to a thousand times its size, twelve rows of which would be used."""
    del file["observations/qpos"]
    array = file.create_dataset("observations/qpos", (12, 2), np.float32, chunks=(12, 2), compression="gzip")
    array.id.write_direct_chunk((0, 0), zlib.compress(bytes(80_000_000)))


MISTAKES = {
    "no rows": (positions(np.zeros((0, 2))), "has 0 rows; an episode needs at least two"),
    "infinite": (positions(np.full((12, 2), np.inf)), "observations/qpos is inf at row 0, dimension 0"),
    "large": (positions(np.full((12, 2), 1e39)), "observations/qpos is 1e.39 at row 0, dimension 0, which is more than float32"),
    "no dimensions": (positions(np.zeros((12, 0))), r"observations/qpos has shape \(12, 0\)"),
    "text": (positions(np.array([b"x"] * 12)), "observations/qpos has type |S1; numbers are needed"),
    "strings": (positions(["x"] * 12), "observations/qpos has type object; numbers are needed"),
    "a number": (positions(1.0), "has no column observations/qpos; it has action"),
    "external link": (positions(h5py.ExternalLink("other.hdf5", "/qpos")), "observations/qpos is a link out of the file"),
    "dangling link": (positions(h5py.SoftLink("/nothing")), "[^/]/observations/qpos is a link out of the file, or to nothing"),
    "two links": (links_to_a_link_out, "is a link out of the file"),
    "virtual": (virtual, "observations/qpos is stored in another file"),
    "external": (external, "observations/qpos is stored in another file"),
    "cyclic": (cyclic, "is a group inside itself, or linked twice"),
    "branching": (branching, "is a group inside itself, or linked twice"),
    "36 GB": (claiming((4_500_000_000, 2), (1000, 2)), "claims 360000000.. bytes of numbers in a file of"),
    "a chunk that inflates": (inflating, r"claims 80\d+ bytes of numbers in a file of"),
    "a chunk of 8 GB": (claiming((12, 2), (1_000_000_000, 2)), "claims 80000000.. bytes of numbers in a file of"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_bad_files_are_refused_at_once(tmp_path, mistake):
    change, message = MISTAKES[mistake]
    write_aloha(tmp_path / "demos", made(3), images=False)
    with h5py.File(tmp_path / "demos" / "other.hdf5", "w") as file:
        file["observations/qpos"], file["qpos"], file["action"] = (np.zeros((12, 2), np.float32) for _ in range(3))
    with h5py.File(tmp_path / "demos" / "episode_1.hdf5", "a") as file:
        change(file)
    began = time.process_time()
    with pytest.raises(DataError, match=rf"episode_1\.hdf5.*{message}"):
        import_data(tmp_path / "demos", tmp_path / "out.npz")
    assert time.process_time() - began < 1
    assert [path.name for path in tmp_path.iterdir()] == ["demos"]


def test_links_within_the_file_are_followed(tmp_path):
    pairs = made()
    write_aloha(tmp_path / "demos", pairs)
    for file in (tmp_path / "demos").iterdir():
        with h5py.File(file, "a") as root:
            root.move("observations/qpos", "joints")
            root["observations/qpos"] = h5py.SoftLink("../joints")
    import_data(tmp_path / "demos", tmp_path / "out.npz", held_out=0.2)
    assert same(tmp_path / "out.npz", pairs)


def test_large_compressed_chunks_are_read(tmp_path):
    rows = np.random.default_rng(0).normal(size=(20_000, 2)).astype(np.float32)
    with h5py.File(tmp_path / "demos.h5", "w") as file:
        for episode in ("a", "b"):
            file.create_dataset(
                f"{episode}/observations", data=rows, chunks=rows.shape, compression="gzip", shuffle=True, fletcher32=True
            )
            file[f"{episode}/actions"] = np.zeros((20_000, 1))
    import_data(tmp_path / "demos.h5", tmp_path / "out.npz")
    assert np.array_equal(load(tmp_path / "out.npz").observations, rows)


def test_files_without_arrays(tmp_path):
    for name in ("a.h5", "b.h5"):
        h5py.File(tmp_path / name, "w").close()
    with pytest.raises(DataError, match=r"a\.h5: has no arrays"):
        import_data(tmp_path, tmp_path / "out.npz")
