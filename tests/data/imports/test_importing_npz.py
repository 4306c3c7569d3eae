"""Importing `.npz` and Minari."""

import json
import zipfile

import h5py
import numpy as np
import pytest
from layouts import made, same, write_minari, write_npz_file, write_npz_folder

from mvl.data.imports.importing import import_data
from mvl.data.signals import Signal
from mvl.data.sources import minari
from mvl.data.sources.episodes import ColumnNames
from mvl.data.sources.kinds import kind_of
from mvl.data.sources.npz import load
from mvl.errors import DataError, UsageError


def test_one_file(tmp_path):
    write_npz_file(tmp_path / "flat.npz", made())
    import_data(tmp_path / "flat.npz", tmp_path / "out.npz", held_out=0.2)
    assert same(tmp_path / "out.npz", made())


def test_a_folder(tmp_path):
    write_npz_folder(tmp_path / "folder", made(12))  # 10.npz comes after 9.npz
    import_data(tmp_path / "folder", tmp_path / "out.npz", held_out=1 / 12)
    assert same(tmp_path / "out.npz", made(12))


def test_files_with_several_episodes_each(tmp_path):
    (tmp_path / "folder").mkdir()
    write_npz_file(tmp_path / "folder" / "a.npz", made()[:2])
    write_npz_file(tmp_path / "folder" / "b.npz", made()[2:])
    names = ColumnNames(ends="terminals")
    import_data(tmp_path / "folder", tmp_path / "out.npz", columns=names, held_out=0.2)
    assert same(tmp_path / "out.npz", made())


def test_names_and_rate(tmp_path):
    write_npz_file(tmp_path / "flat.npz", made())
    with np.load(tmp_path / "flat.npz") as file:
        np.savez(tmp_path / "timed.npz", **file, clock=np.arange(60) / 30)
    import_data(tmp_path / "timed.npz", tmp_path / "out.npz", columns=ColumnNames(time="clock"))
    signals = load(tmp_path / "out.npz").signals
    assert signals.actions == (Signal("actions", ("actions_0", "actions_1")),)
    assert signals.hz == 30


def test_damaged_files(tmp_path):
    write_npz_file(tmp_path / "flat.npz", made())
    content = (tmp_path / "flat.npz").read_bytes()
    for damaged in (b"no", content[:-20], content[:200] + b"??" + content[202:]):
        (tmp_path / "flat.npz").write_bytes(damaged)
        with pytest.raises(DataError, match="flat.npz: not a readable .npz file"):
            import_data(tmp_path / "flat.npz", tmp_path / "out.npz")
    np.savez(tmp_path / "open.npz", observations=np.zeros((4, 1)), actions=np.zeros((4, 1)), terminals=[0, 1, 0, 0])
    with pytest.raises(DataError, match="terminals does not mark the last row; .* name it with --ends"):
        import_data(tmp_path / "open.npz", tmp_path / "out.npz")
    np.savez(tmp_path / "unmarked.npz", observations=np.zeros((4, 1)), actions=np.zeros((4, 1)))
    with pytest.raises(DataError, match="unmarked.npz: does not say where episodes end; name .* It has actions, obs"):
        import_data(tmp_path / "unmarked.npz", tmp_path / "out.npz")


def test_archives_that_trick_are_refused(tmp_path):
    np.savez(tmp_path / "pickled.npz", observations=np.array([{}, 1], object), actions=np.zeros((2, 1)), terminals=[0, 1])
    with pytest.raises(DataError, match=r"pickled.npz: not a readable .npz file of plain arrays"):
        import_data(tmp_path / "pickled.npz", tmp_path / "out.npz")
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("observations.npy", b"\0" * 40_000_000)
    monster = tmp_path / "monster.npz"
    monster.write_bytes((tmp_path / "bomb.npz").read_bytes().replace((40_000_000).to_bytes(4, "little"), b"\xf0\xff\xff\xff"))
    with pytest.raises(DataError, match=r"claims to unpack from \d+ to 4294967280 bytes; refused"):
        import_data(monster, tmp_path / "out.npz")
    with pytest.raises(DataError, match="refused"):
        load(monster)
    for name in ("../../evil.npy", "/evil.npy", "a/..\\evil.npy", "evil.txt"):
        with zipfile.ZipFile(tmp_path / "path.npz", "w") as archive:
            archive.writestr(name, b"x")
        with pytest.raises(DataError, match="which no array has; refused"):
            import_data(tmp_path / "path.npz", tmp_path / "out.npz")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A folder of Minari with five episodes; an action is missing at the end of each."""
    folder = tmp_path_factory.mktemp("minari")
    write_minari(folder / "walk", made())
    return folder / "walk-v0"


def padded(pairs):
    return [(states, np.concatenate([actions[:-1], actions[-2:-1]])) for states, actions in pairs]


@pytest.mark.filterwarnings("ignore")
def test_minari_by_folder_and_by_id(tmp_path, recorded, monkeypatch):
    assert kind_of(recorded) == "minari"
    import_data(recorded, tmp_path / "a.npz", held_out=0.2)
    assert same(tmp_path / "a.npz", padded(made()))
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(recorded.parent))
    assert len(list(minari.episodes(minari.Path("walk-v0"), minari.defaults(recorded)))) == 5
    signals = minari.source_signals(recorded, minari.defaults(recorded))
    assert signals.observations == (Signal("observations", ("observations_0", "observations_1")),)
    with pytest.raises(DataError, match="nothing-v0 is neither a folder of Minari nor at .*; fetch it with: minari download"):
        import_data(minari.Path("nothing-v0"), tmp_path / "b.npz", kind="minari")
    with pytest.raises(UsageError, match="Minari has separate episodes; leave --ends and --episode out"):
        import_data(recorded, tmp_path / "b.npz", columns=ColumnNames(ends="terminations"))


@pytest.mark.filterwarnings("ignore")
def test_minari_that_is_damaged_or_leads_elsewhere(tmp_path, recorded):
    import shutil

    folder = tmp_path / "walk-v0"
    shutil.copytree(recorded, folder)
    with h5py.File(folder / "data" / "main_data.hdf5", "a") as file:
        del file["episode_1/observations"]
        file["episode_1/observations"] = h5py.ExternalLink("/etc/hostname", "/")
    with pytest.raises(DataError, match=r"main_data\.hdf5: /episode_1/observations is a link out of the file"):
        import_data(folder, tmp_path / "out.npz")
    with h5py.File(folder / "data" / "main_data.hdf5", "a") as file:
        del file["episode_1/observations"]
    with pytest.raises(DataError, match="walk-v0: Minari cannot read it"):
        import_data(folder, tmp_path / "out.npz")
    metadata = json.loads((folder / "data" / "metadata.json").read_text())
    (folder / "data" / "metadata.json").write_text(json.dumps({**metadata, "observation_space": "{"}))
    with pytest.raises(DataError, match="walk-v0: Minari cannot read it"):
        import_data(folder, tmp_path / "out.npz")
