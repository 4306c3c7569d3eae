"""Writing files: never through symbolic links, and lines that stay whole."""

import pytest

from mvl.errors import MvlError
from mvl.files import append_line, open_unlinked


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
