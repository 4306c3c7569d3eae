"""Writing files: never through symbolic links, and lines that stay whole."""

import subprocess
import sys

import pytest

from mvl.errors import MvlError
from mvl.files import append_line, atomic, open_unlinked, scratch_folder


@pytest.mark.parametrize("mode", ["ab", "r+b", "wb"])
def test_a_link_is_not_opened(tmp_path, mode):
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    if mode != "r+b":
        with pytest.raises(MvlError, match="link is a symbolic link"):
            open_unlinked(link, mode)
        assert not target.exists()
    target.write_text("mine")
    with pytest.raises(MvlError, match="link is a symbolic link"):
        open_unlinked(link, mode)
    assert target.read_text() == "mine"


def test_other_files_are_opened_and_their_absence_is_told(tmp_path):
    with open_unlinked(tmp_path / "file", "ab") as file:
        file.write(b"a row")
    assert (tmp_path / "file").read_bytes() == b"a row"
    with pytest.raises(FileNotFoundError):
        open_unlinked(tmp_path / "gone", "r+b")


def test_a_line_behind_an_unfinished_one_is_a_line_of_its_own(tmp_path):
    file = tmp_path / "log"
    append_line(file, "one")
    append_line(file, "two")
    assert file.read_bytes() == b"one\ntwo\n"
    file.write_bytes(b"one\ntw")
    append_line(file, "three")
    append_line(file, "four")
    assert file.read_bytes() == b"one\ntw\nthree\nfour\n"


KILLED = """
import sys, os, signal
from pathlib import Path
from mvl.files import atomic, scratch_folder
place = Path(sys.argv[1])
with atomic(place / "result.json") as partial, scratch_folder(place, ".work-") as folder:
    partial.write_text("half of")
    (Path(folder) / "model.xml").touch()
    print("ready", flush=True)
    if sys.argv[2] == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdin.read()
"""


def test_what_killed_processes_leave_is_removed_by_the_next_and_what_is_in_use_is_kept(tmp_path):
    for name in (".result.json.swp", ".result.json.notes123.txt"):
        (tmp_path / name).write_text("mine")
    (tmp_path / ".work-mine").mkdir()
    (tmp_path / ".result.json.linked01.json").symlink_to(tmp_path / ".result.json.swp")
    own = {path.name for path in tmp_path.iterdir()}
    begin = lambda what: subprocess.Popen(
        [sys.executable, "-c", KILLED, tmp_path, what], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with begin("die") as killed:
        killed.wait(20)
        assert killed.stdout.readline() == "ready\n"
    left = {path.name for path in tmp_path.iterdir()} - own
    assert len(left) == 2
    with begin("wait") as living:
        assert living.stdout.readline() == "ready\n"
        used = {path.name for path in tmp_path.iterdir()} - own
        assert len(used) == 2
        assert not used & left
        with atomic(tmp_path / "result.json") as partial, scratch_folder(tmp_path, ".work-"):
            partial.write_text("whole")
        assert {path.name for path in tmp_path.iterdir()} == own | used | {"result.json"}
        living.communicate("")
    assert {path.name for path in tmp_path.iterdir()} == own | {"result.json"}
    assert (tmp_path / "result.json").read_text() == "half of"  # the living one has ended last
