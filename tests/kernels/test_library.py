"""Compiling: once, for this machine, and what happens where it cannot be done."""

import shutil
from pathlib import Path

import jax
import pytest

from mvl.kernels import library
from mvl.nets.mlp import apply_mlp, init_mlp


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """Nothing compiled yet, nothing decided."""
    monkeypatch.setattr(library, "folder", lambda: tmp_path / "kernels")
    monkeypatch.delenv("MVL_KERNELS", raising=False)
    monkeypatch.setattr(library, "why_not", library.why_not.__wrapped__)
    return tmp_path


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("c++"), reason="no compiler")
def test_compiled_once(fresh, capfd):
    first = library.compiled()
    assert first.stat().st_size > 1000
    assert "once" in capfd.readouterr().err
    written = first.stat().st_mtime_ns
    assert library.compiled() == first
    assert first.stat().st_mtime_ns == written
    assert capfd.readouterr().err == ""
    assert [path.name for path in first.parent.iterdir()] == [first.name]


def test_without_a_compiler_networks_run_all_the_same(fresh, monkeypatch, key):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert library.why_not() == "they could not be compiled: there is no C++ compiler; install g++ or clang"
    monkeypatch.setattr("mvl.kernels.calls.why_not", library.why_not)
    net = init_mlp(key, 2, (8,), 1, norm=True)
    assert "mvl_mlp" not in jax.jit(lambda x: apply_mlp(net, x)).lower(jax.numpy.ones((3, 2))).as_text()


def test_a_compiler_that_fails_is_quoted(fresh, monkeypatch):
    bad = fresh / "c++"
    bad.write_text("#!/bin/sh\necho 'error: no such target' >&2\nexit 1\n")
    bad.chmod(0o755)
    monkeypatch.setenv("CXX", str(bad))
    assert library.why_not() == "they could not be compiled: error: no such target"
    assert not list(Path(fresh / "kernels").glob("*.so"))


def test_they_can_be_turned_off(fresh, monkeypatch):
    monkeypatch.setenv("MVL_KERNELS", "0")
    assert library.why_not() == "MVL_KERNELS is 0"
