import json
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save as serialized

from mvl.errors import DamagedError, MvlError
from mvl.learn.checkpoint import load, save


class Tree(NamedTuple):
    weights: tuple
    step: object


TREE = Tree((jnp.arange(6.0).reshape(2, 3), jnp.array([1, 2], jnp.uint32)), jnp.array(7))


def test_round_trip_keeps_every_bit_and_type(tmp_path):
    odd = TREE._replace(weights=(jnp.array([1e-40, -0.0, jnp.inf], jnp.float32), jnp.array([2**32 - 1], jnp.uint32)))
    save(tmp_path / "c.safetensors", odd, {"sizes": {"a": 3}})
    back, notes = load(tmp_path / "c.safetensors", odd)
    assert isinstance(back, Tree)
    for a, b in zip(odd.weights, back.weights, strict=True):
        assert a.dtype == b.dtype
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
    assert notes["sizes"] == {"a": 3}


def test_names_say_where_an_array_belongs(tmp_path):
    save(tmp_path / "c.safetensors", TREE, {})
    with safe_open(tmp_path / "c.safetensors", framework="numpy") as file:
        assert sorted(file.keys()) == ["step", "weights.0", "weights.1"]
        assert json.loads(file.metadata()["mvl"])["format"] == 1


def test_a_failed_save_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "c.safetensors"
    save(path, TREE, {})
    before = path.read_bytes()

    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", fail)
    with pytest.raises(MvlError, match="no space left"):
        save(path, TREE, {})
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["c.safetensors"]


def test_what_does_not_fit_is_refused(tmp_path):
    path = tmp_path / "c.safetensors"
    save(path, TREE, {})
    with pytest.raises(MvlError, match=r"weights.0 has shape \(2, 3\), the recipe makes \(9,\)"):
        load(path, TREE._replace(weights=(jnp.zeros(9), TREE.weights[1])))
    with pytest.raises(MvlError, match="is in only one of the two"):
        load(path, TREE._replace(weights=TREE.weights[:1]))


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "c.safetensors"
    save(path, TREE, {})
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(MvlError, match="not a readable checkpoint"):
        load(path, TREE)


def test_one_flipped_bit_is_refused(tmp_path):
    path = tmp_path / "c.safetensors"
    save(path, TREE, {})
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedError, match="its content has changed since it was written"):
        load(path, TREE)


def test_arrays_of_another_type_are_refused(tmp_path):
    save(tmp_path / "c.safetensors", TREE._replace(step=jnp.array(7.0)), {})
    with pytest.raises(MvlError, match="step has type float32, the recipe makes int32"):
        load(tmp_path / "c.safetensors", TREE)


def test_a_file_without_a_checksum_is_read(tmp_path):
    """Version 0.1 wrote none."""
    arrays = {"step": np.array(7, np.int32)}
    (tmp_path / "c.safetensors").write_bytes(serialized(arrays, {"mvl": json.dumps({"format": 1})}))
    assert load(tmp_path / "c.safetensors", {"step": jnp.array(7)})[0] == {"step": 7}
