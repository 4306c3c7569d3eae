"""Downloads against a server of our own: order of sources, resuming, damage, and nothing half-written."""

import hashlib
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from conftest import walk, write_npz
from mvl import files
from mvl.cli import main
from mvl.data import download
from mvl.errors import DataError, MvlError, UsageError
from mvl.tasks import find_task

TASK = find_task("pointmaze-large-navigate-v0")


class Server:
    """Serves files from a dictionary; can cut answers short, and be as wrong about versions and ranges as servers are."""

    def __init__(self):
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[str, str | None]] = []
        self.sent = 0
        self.cut_after: int | None = None
        self.resumes = True
        self.heeds_if_range = True
        self.goes_on = threading.Event()  # answers end when it is set
        self.goes_on.set()
        self.validator = "ETag"
        self.modified = 1e9
        self.shift = 0  # bytes by which partial answers start too early, as their Content-Range says
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self)

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def version(self, body: bytes) -> dict[str, str]:
        """The header a body's version is known by."""
        if self.validator == "Last-Modified":
            return {"Last-Modified": formatdate(self.modified, usegmt=True)}
        tag = f'"{hashlib.md5(body).hexdigest()}"'
        return {"ETag": {"ETag": tag, "weak": f"W/{tag}"}[self.validator]} if self.validator else {}

    def answer(self, handler):
        name, wanted = handler.path.lstrip("/"), handler.headers.get("Range")
        self.asked.append((name, wanted))
        if name not in self.files:
            handler.send_error(404)
            return
        body, start = self.files[name], 0
        version = self.version(body)
        same = handler.headers.get("If-Range") in (None, *version.values()) or not self.heeds_if_range
        if wanted and self.resumes and same:
            start = int(wanted.removeprefix("bytes=").rstrip("-")) - self.shift
            if start >= len(body):
                handler.send_error(416)
                return
        handler.send_response(206 if start else 200)
        for key, value in version.items():
            handler.send_header(key, value)
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        handler.send_header("Content-Length", str(len(body) - start))
        handler.end_headers()
        self.sent += handler.wfile.write(body[start : self.cut_after or start + 1000])
        assert self.goes_on.wait(30)
        if self.cut_after is None:
            self.sent += handler.wfile.write(body[start + 1000 :])


@pytest.fixture
def servers(tmp_path):
    """Makes servers with both files of the task, random walks from a seed: equally long, and different."""
    running = []

    def serve(seed: int) -> Server:
        running.append(Server())
        for part in ("", "-val"):
            path = write_npz(tmp_path / f"origin{seed}" / f"{TASK}{part}.npz", walk(seed=seed + len(part)))
            running[-1].files[path.name] = path.read_bytes()
        return running[-1]

    yield serve
    for server in running:
        server.http.shutdown()
        server.http.server_close()


@pytest.fixture
def server(servers):
    return servers(0)


def fetch(path, *servers):
    download.fetch(path, [server.address for server in servers], lambda done, total: None)


def interrupted(path, server):
    """A download of which the first 1000 bytes arrived."""
    server.cut_after = 1000
    with pytest.raises(MvlError, match=r"could not be fetched .*(ended after 1000 of \d+ bytes|IncompleteRead)"):
        fetch(path, server)
    assert not path.exists()
    assert path.with_name(f"{path.name}.part").read_bytes() == server.files[path.name][:1000]
    server.cut_after, server.sent = None, 0


def is_whole(path, body: bytes) -> bool:
    """Whether a file and what is noted of it are those of a body, with no temporary files left beside it."""
    known = json.loads((path.parent / download.CHECKSUMS).read_text())[path.name]
    assert sorted(file.name for file in path.parent.iterdir()) == sorted([path.name, download.CHECKSUMS])
    return path.read_bytes() == body and known == {"size": len(body), "sha256": hashlib.sha256(body).hexdigest()}


def test_both_files_arrive_with_progress_and_are_known_afterwards(server, tmp_path):
    seen = []
    paths = download.pull(TASK, tmp_path / "data", [server.address], lambda name: lambda *count: seen.append((name, *count)))
    assert [path.read_bytes() for path in paths] == list(server.files.values())
    assert seen[-1] == (paths[1].name, len(server.files[paths[1].name]), len(server.files[paths[1].name]))
    known = json.loads((tmp_path / "data" / download.CHECKSUMS).read_text())
    assert known[paths[0].name]["size"] == paths[0].stat().st_size
    asked = len(server.asked)
    assert download.pull(TASK, tmp_path / "data", [server.address]) == paths  # at hand: nothing is asked for
    assert len(server.asked) == asked
    paths[0].write_bytes(b"changed")
    with pytest.raises(DataError, match="is not the file that was fetched"):
        download.pull(TASK, tmp_path / "data", [server.address])


@pytest.mark.parametrize("validator", ["ETag", "Last-Modified"])
def test_the_same_version_is_resumed(server, tmp_path, validator):
    path = tmp_path / "data" / f"{TASK}.npz"
    server.validator = validator
    interrupted(path, server)
    fetch(path, server)
    assert server.asked == [(path.name, None), (path.name, "bytes=1000-")]
    assert server.sent == len(server.files[path.name]) - 1000
    assert is_whole(path, server.files[path.name])


NOT_RESUMABLE = {
    "no ranges": {"resumes": False},
    "another range": {"shift": 10},
    "no validator": {"validator": None},
    "a weak tag": {"validator": "weak"},
    "a date too young to be sure": {"validator": "Last-Modified", "modified": None},
}


@pytest.mark.parametrize("setting", NOT_RESUMABLE)
def test_what_cannot_be_resumed_starts_over(server, tmp_path, setting):
    path = tmp_path / "data" / f"{TASK}.npz"
    vars(server).update(NOT_RESUMABLE[setting])
    interrupted(path, server)
    fetch(path, server)
    assert server.asked[1] == (path.name, "bytes=1000-" if setting in ("no ranges", "another range") else None)
    assert is_whole(path, server.files[path.name])


def test_a_part_of_unknown_origin_is_not_used(server, tmp_path):
    path = tmp_path / f"{TASK}.npz"
    path.with_name(f"{path.name}.part").write_bytes(b"x" * 1000)
    fetch(path, server)
    assert path.read_bytes() == server.files[path.name]


def test_another_source_starts_over(servers, tmp_path):
    first, second = servers(0), servers(5)
    path, body = tmp_path / "data" / f"{TASK}.npz", second.files[f"{TASK}.npz"]
    assert len(first.files[path.name]) == len(body)
    first.cut_after = 1000
    fetch(path, first, second)
    assert second.asked == [(path.name, None)]
    assert is_whole(path, body)
    path.unlink()
    fetch(path, second)  # the right file is not refused later
    path.unlink()
    interrupted(path, first)
    del second.files[path.name]
    with pytest.raises(MvlError, match="Not Found"):
        fetch(path, second)
    assert path.with_name(f"{path.name}.part").stat().st_size == 1000  # a source without the file costs nothing


CHANGES = {
    "noticed by the source": {},
    "ignored by the source": {"heeds_if_range": False},
    "known by its date": {"validator": "Last-Modified"},
    "known by its date, ignored by the source": {"validator": "Last-Modified", "heeds_if_range": False},
    "known by nothing": {"validator": None},
}


@pytest.mark.parametrize("shorter", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changed_meanwhile_starts_over(server, tmp_path, change, shorter):
    path = tmp_path / "data" / f"{TASK}.npz"
    vars(server).update(CHANGES[change])
    interrupted(path, server)
    server.modified += 60
    other = walk(seed=5, episodes=1, rows=2) if shorter else walk(seed=5)
    body = server.files[path.name] = write_npz(tmp_path / "other.npz", other).read_bytes()
    assert (len(body) < 1000) == shorter
    fetch(path, server)
    assert is_whole(path, body)


def test_a_download_stopped_after_its_last_byte_is_whole(server, tmp_path, monkeypatch):
    path = tmp_path / "data" / f"{TASK}.npz"
    with monkeypatch.context() as patch:
        patch.setattr(download, "finish", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            fetch(path, server)
    fetch(path, server)
    assert len(server.asked) == 1
    assert is_whole(path, server.files[path.name])


def test_two_processes_do_not_write_the_same_part(server, tmp_path, monkeypatch, capsys):
    path = tmp_path / "data" / f"{TASK}.npz"
    monkeypatch.setattr(files, "PATIENCE", 0.05)
    server.goes_on.clear()
    with ThreadPoolExecutor() as pool:  # a lock keeps threads apart just as it does processes
        both = [pool.submit(fetch, path, server) for _ in range(2)]
        shown = ""
        while "mvl: waiting for another process that fetches" not in shown:
            assert not any(one.done() for one in both)
            shown += capsys.readouterr().err
            time.sleep(0.01)
        server.goes_on.set()
        for one in both:
            one.result(30)
    assert len(server.asked) == 1
    assert is_whole(path, server.files[path.name])


def test_a_damaged_archive_is_not_kept_and_not_remembered(server, tmp_path):
    path = tmp_path / "data" / f"{TASK}.npz"
    body = server.files[path.name]
    server.files[path.name] = body[:500] + bytes([body[500] ^ 1]) + body[501:]
    with pytest.raises(MvlError, match="what it sent is no dataset .*observations.npy is damaged"):
        fetch(path, server)
    assert not list(path.parent.iterdir())
    server.files[path.name] = body
    fetch(path, server)
    assert is_whole(path, body)


def test_sources_are_tried_in_order(server, tmp_path, monkeypatch):
    monkeypatch.setenv("MVL_SOURCES", f"{server.address}/, ")
    places = download.sources(["http://127.0.0.1:9"])
    assert places == ["http://127.0.0.1:9", server.address, download.OGBENCH]
    download.pull(TASK, tmp_path / "data", places[:2])
    assert (tmp_path / "data" / f"{TASK}-val.npz").exists()
    with pytest.raises(UsageError, match="http or https address, not ftp://x"):
        download.sources(["ftp://x"])


def test_what_is_no_archive_is_not_kept(server, tmp_path):
    server.files[f"{TASK}.npz"] = b"<html>moved</html>"
    with pytest.raises(MvlError, match="what it sent is no dataset"):
        download.pull(TASK, tmp_path / "data", [server.address])
    assert not list((tmp_path / "data").glob("*.npz*"))


def test_another_file_under_the_same_name_is_refused(server, tmp_path):
    paths = download.pull(TASK, tmp_path / "data", [server.address])
    paths[0].unlink()
    server.files[paths[0].name] = write_npz(tmp_path / "other.npz", walk(seed=5)).read_bytes()
    with pytest.raises(DataError, match="the download differs from an earlier one"):
        download.pull(TASK, tmp_path / "data", [server.address])
    assert not paths[0].exists()


def test_the_commands(server, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MVL_DATA", str(tmp_path / "own"))
    monkeypatch.setattr(download, "OGBENCH", "http://127.0.0.1:9")
    folder = str(tmp_path / "data")
    assert main(["data", "pull", str(TASK), "--data", folder, "--source", server.address]) == 0
    assert "pointmaze-large-navigate-v0.npz" in capsys.readouterr().out
    assert main(["data", "pull", "antmaze-large-navigate-v0", "--data", folder]) == 1
    error = capsys.readouterr().err
    assert "antmaze-large-navigate-v0.npz could not be fetched" in error
    assert "Connection refused" in error
    assert main(["data", "list", "--data", folder]) == 0
    lines = capsys.readouterr().out.splitlines()
    (here,) = [line for line in lines if line.startswith(f"{TASK} ")]
    assert "cached" in here
    (there,) = [line for line in lines if line.startswith("antmaze-large-navigate-v0 ")]
    assert "download" in there
    assert "cached" not in there
    assert np.isclose(float(here.split()[-2]), sum(map(len, server.files.values())) / 1e6, atol=0.1)
