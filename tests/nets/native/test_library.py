"""Compiling: once, for this machine, into a private cache, and what happens where it cannot be done."""

import os
import shutil
from pathlib import Path

import jax
import pytest

from mvl.nets.mlp import apply_mlp, init_mlp
from mvl.nets.native import library

FAKE = """#!/bin/sh
echo ran >> {log}
for word in "$@"; do last="$word"; done
head -c 5000 /dev/zero | tr '\\0' x > "$last"
chmod 777 "$last"
"""


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """Nothing compiled yet, nothing decided."""
    monkeypatch.setattr(library, "folder", lambda: tmp_path / "native")
    monkeypatch.delenv("MVL_NATIVE", raising=False)
    monkeypatch.delenv("MVL_KERNELS", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(library, "disabled_reason", library.disabled_reason.__wrapped__)
    return tmp_path


@pytest.fixture
def loaded(fresh, monkeypatch):
    """Loads the library that a fast compiler stand-in makes; returns its path and bytes, and how often it was compiled."""
    script, log = fresh / "fake-c++", fresh / "log"
    script.write_text(FAKE.format(log=log))
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    opened: list[tuple[Path, bytes]] = []
    monkeypatch.setattr("ctypes.CDLL", lambda path: opened.append((Path(os.path.realpath(path)), Path(path).read_bytes())))

    def load() -> tuple[Path, bytes, int]:
        library.load()
        return *opened[-1], log.read_text().count("ran")

    return load


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("c++"), reason="no compiler")
def test_compiled_once(fresh, capfd):
    first = library.load()
    assert all(hasattr(first, name) for name in library.TARGETS)
    assert "once" in capfd.readouterr().err
    (file,) = (fresh / "native").iterdir()
    written = file.stat().st_mtime_ns
    assert library.load()._handle == first._handle
    assert file.stat().st_mtime_ns == written
    assert capfd.readouterr().err == ""
    assert list((fresh / "native").iterdir()) == [file]


def test_the_cache_is_private_whatever_the_umask(loaded, fresh):
    before = os.umask(0)
    try:
        file, content, count = loaded()
    finally:
        os.umask(before)
    assert (content, count) == (5000 * b"x", 1)
    assert (fresh / "native").stat().st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o777 == 0o600
    assert list((fresh / "native").iterdir()) == [file]


@pytest.mark.parametrize("damage", [b"", 2500 * b"x", 2500 * b"x" + b"y" + 2499 * b"x"], ids=["empty", "truncated", "flipped"])
def test_a_damaged_library_is_compiled_again(loaded, damage, capfd):
    file, content, _ = loaded()
    file.write_bytes(damage)
    assert loaded() == (file, content, 2)
    assert f"since {file.name} is damaged" in capfd.readouterr().err
    assert loaded() == (file, content, 2)


def test_a_library_that_others_can_write_is_compiled_again(loaded, capfd):
    file, content, _ = loaded()
    file.chmod(0o666)
    assert loaded() == (file, content, 2)
    assert f"since {file.name} is writable by others" in capfd.readouterr().err
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_link_in_the_cache_is_not_followed(loaded, fresh):
    file, content, _ = loaded()
    elsewhere = fresh / "elsewhere.so"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    assert loaded() == (file, content, 2)
    assert not file.is_symlink()


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_folder_that_others_can_write_is_refused(loaded, fresh, mode, capfd):
    loaded()
    (fresh / "native").chmod(mode)
    assert library.disabled_reason() == f"{fresh / 'native'} is writable by others; delete it, or make it yours with mode 700"
    assert library.disabled_reason() in capfd.readouterr().err


def test_a_folder_of_another_user_is_refused(loaded, fresh, monkeypatch):
    loaded()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert library.disabled_reason().startswith(f"{fresh / 'native'} belongs to another user;")


def test_a_folder_that_is_a_link_is_refused(loaded, fresh):
    (fresh / "elsewhere").mkdir(mode=0o700)
    (fresh / "native").symlink_to(fresh / "elsewhere")
    assert library.disabled_reason() == f"{fresh / 'native'} is a symbolic link; replace it by a folder"


def test_the_compiler_may_be_several_words(loaded, monkeypatch):
    monkeypatch.setenv("CXX", f"env '{os.environ['CXX']}'")
    assert loaded()[1:] == (5000 * b"x", 1)


@pytest.mark.parametrize(("chosen", "reason"), [("no-such-c++ -x", "there is no command no-such-c++"), ("c++ '", "No closing")])
def test_a_compiler_that_is_no_command_is_named(fresh, monkeypatch, chosen, reason):
    monkeypatch.setenv("CXX", chosen)
    assert reason in library.disabled_reason()
    assert repr(chosen) in library.disabled_reason()


def test_without_a_compiler_networks_run_all_the_same(fresh, monkeypatch, key):
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert library.disabled_reason() == "it could not be compiled: there is no C++ compiler; install g++ or clang"
    monkeypatch.setattr("mvl.nets.native.calls.disabled_reason", library.disabled_reason)
    net = init_mlp(key, 2, (8,), 1, norm=True)
    assert "mvl_mlp" not in jax.jit(lambda x: apply_mlp(net, x)).lower(jax.numpy.ones((3, 2))).as_text()


def test_a_compiler_that_fails_is_quoted(fresh, monkeypatch):
    bad = fresh / "c++"
    bad.write_text("#!/bin/sh\necho 'In file included from entry_points.cc:' >&2\necho 'error: no such target' >&2\nexit 1\n")
    bad.chmod(0o755)
    monkeypatch.setenv("CXX", str(bad))
    assert library.disabled_reason() == "it could not be compiled: error: no such target"
    assert not list(Path(fresh / "native").glob("*.so"))


@pytest.mark.parametrize("name", ["MVL_NATIVE", "MVL_KERNELS"])
def test_it_can_be_turned_off(fresh, monkeypatch, name):
    monkeypatch.setenv(name, "0")
    assert library.disabled_reason() == "MVL_NATIVE is 0"
