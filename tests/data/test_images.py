"""Image files: what their card says, and the data and the settings that training makes of them."""

import numpy as np
import pytest

from mvl import registry
from mvl.cli import main
from mvl.data.memory_map import file_of
from mvl.data.sources import images, npz
from mvl.errors import UsageError
from mvl.recipes.presets import named_recipe
from mvl.runs.data import shapes_of
from mvl.tasks import find_task
from mvl.types import Shapes


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


def test_a_file_of_images_becomes_rows_of_bytes_and_levels(tmp_path, arrays):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, **arrays)
    for out_of_core in (False, True):
        found = npz.load(path, out_of_core=out_of_core)
        assert found.image == (4, 4, 3)
        assert found.observations.dtype == np.uint8
        assert np.array_equal(found.observations.reshape(14, 4, 4, 3), arrays["observations"])
        assert found.actions.ravel().tolist() == arrays["actions"].tolist()
        assert shapes_of(found)._replace(plain=True) == Shapes(48, 8, 48, levels=(8,), image=(4, 4, 3))
        assert (file_of(found.observations) is not None) == out_of_core
    assert npz.bytes_of(path) == 14 * 48 + 14 * 4 + 14 * 16


def test_images_need_an_encoder_and_fit_their_validation_data(capsys, tmp_path, arrays):
    np.savez(tmp_path / "a.npz", **arrays)
    given = ["train", tmp_path / "a.npz", "--run", tmp_path / "run"]
    code, _, err = answer(capsys, *given, "--held-out", 0.5, "--encoder", "identity")
    assert code == 2
    assert "observations of the data are images, which encoder identity does not take; choose --encoder impala" in err
    np.savez(tmp_path / "a-val.npz", **{**arrays, "observations": arrays["observations"].reshape(14, 2, 8, 3)})
    code, _, err = answer(capsys, *given)
    assert code == 1
    assert "differ in the dimensions of their observations" in err
    assert not (tmp_path / "run").exists()


def test_the_sizes_of_a_preset_and_the_settings_of_a_task_with_images():
    task = find_task("powderworld-hard-play-v0")
    recipe, schedule = named_recipe("gcivl-pixel-mvl", "cpu", task)
    assert registry.name_of("encoder", recipe.encoder) == "impala"
    assert (recipe.policy.alpha, schedule.eval_temperature, recipe.encoder.augment) == (3.0, 0.3, 0.5)
    assert (recipe.learning.batch_size, schedule.steps_per_dispatch, schedule.plan) == (64, 20, "none")
    paper, long = named_recipe("bc", "paper", task)
    assert (paper.learning.batch_size, long.steps, paper.encoder.channels) == (256, 500_000, (16, 32, 32))
    assert recipe == named_recipe("gcivl-mvl", "cpu", task)[0]
    with pytest.raises(UsageError, match="gcivl-pixel learns from images; .* or the recipe gcivl"):
        named_recipe("gcivl-pixel", "cpu", find_task("pointmaze-medium-navigate-v0"))


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
