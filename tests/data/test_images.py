"""Image files: what their card says, and that nothing trains on them."""

import numpy as np
import pytest

from mvl.cli import main
from mvl.data.sources import images, npz
from mvl.errors import DataError, UsageError
from mvl.recipes.presets import named_recipe
from mvl.tasks import find_task


@pytest.fixture
def arrays():
    """Two episodes of seven rows."""
    generator = np.random.default_rng(0)
    return {
        "observations": generator.integers(0, 200, (14, 4, 4, 3), dtype=np.uint8),
        "actions": np.tile([1, 4, 7, 0, 4, 3, 1], 2).astype(np.int32),
        "terminals": np.arange(14) % 7 == 6,
    }


def answer(capsys, *args) -> tuple[int, str, str]:
    code = main([str(arg) for arg in args])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def line(text: str, start: str) -> list[str]:
    (found,) = [line for line in text.splitlines() if line.startswith(start)]
    return found.removeprefix(start).split()


def test_the_card_of_images(capsys, tmp_path, monkeypatch, arrays):
    monkeypatch.setattr(images, "CHUNK", 5)  # pieces that end inside of episodes
    arrays["observations"][..., 2] = 9
    arrays["observations"][4] = arrays["observations"][5]
    arrays["observations"][6] = arrays["observations"][7]  # the end of an episode is no transition
    np.savez_compressed(tmp_path / "a.npz", **arrays)
    code, out, _ = answer(capsys, "data", "check", tmp_path / "a.npz")
    assert code == 0
    assert line(out, "episodes") == ["2"]
    assert line(out, "transitions") == ["12", "(6", "per", "episode,", "median", "6)"]
    assert line(out, "observations") == ["images", "of", "4", "x", "4", "x", "3,", "bytes"]
    assert line(out, "memory")[:2] == ["0.0", "MB"]
    assert line(out, "channel 2") == ["9", "9", "9"]
    assert line(out, "channel 0")[2] == f"{arrays['observations'][..., 0].mean():.4g}"
    assert line(out, "action 1") == ["66.7%", "0.0%", "0.0%"]
    assert line(out, "action 4") == ["0.0%", "100.0%", "0.0%"]
    assert "! 1 transitions leave the image as it is" in out
    assert "! places that are never painted along x and y" in out


def test_nothing_trains_on_images(capsys, tmp_path, arrays):
    path = tmp_path / "powderworld-easy-play-v0.npz"
    np.savez_compressed(path, **arrays)
    for task in (path, "powderworld-easy-play"):
        code, _, err = answer(capsys, "train", task, "--data", tmp_path, "--held-out", 0.5, "--run", tmp_path / "run")
        assert code in (1, 2)
        assert "images" in err
        assert "learns from yet" in err
        assert len(err.strip().splitlines()) == 1
        assert not (tmp_path / "run").exists()
    with pytest.raises(DataError, match="observations are images"):
        npz.load(path)
    for preset in ("cpu", "paper"):
        with pytest.raises(UsageError, match="powderworld-hard-play-v0 has images and discrete actions"):
            named_recipe("hiql", preset, find_task("powderworld-hard-play-v0"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"observations": np.zeros((14, 4, 4, 3))}, "images are bytes, row by row"),
        ({"actions": np.zeros((14, 5), np.float32)}, "one whole number per row; these have shape (14, 5)"),
        ({"actions": np.zeros(13, int)}, "14, 13 and 14 rows; they must be equally long"),
        ({"terminals": np.zeros(14, bool)}, "the last row does not end an episode"),
        ({"terminals": None}, "has no terminals; it has observations, actions"),
        ({"actions": np.array([None] * 14)}, "not a readable .npz file"),
    ],
)
def test_bad_image_files_get_one_sentence(capsys, tmp_path, arrays, changes, message):
    kept = {name: array for name, array in {**arrays, **changes}.items() if array is not None}
    np.savez(tmp_path / "a.npz", **kept)
    code, _, err = answer(capsys, "data", "check", tmp_path / "a.npz")
    assert code == 1
    assert message in err
    assert "a.npz" in err
    assert len(err.strip().splitlines()) == 1


def test_a_damaged_image_is_reported(capsys, tmp_path, arrays):
    path = tmp_path / "a.npz"
    np.savez(path, **arrays)
    raw = bytearray(path.read_bytes())
    middle = bytes(raw).index(arrays["observations"][7].tobytes())
    raw[middle] ^= 1
    path.write_bytes(raw)
    code, _, err = answer(capsys, "data", "check", path)
    assert code == 1
    assert "not a readable .npz file" in err
