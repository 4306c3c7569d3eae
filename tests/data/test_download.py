"""Downloads against a server of our own: order of sources, resuming, damage, and nothing half-written."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from conftest import walk, write_npz
from mvl.cli import main
from mvl.data import download
from mvl.data.names import TaskName
from mvl.errors import DataError, MvlError, UsageError

TASK = TaskName.parse("pointmaze-large-navigate-v0")


class Server:
    """Serves files from a dictionary; may cut answers short, and may refuse to resume."""

    def __init__(self):
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[str, str | None]] = []
        self.cut_after: int | None = None
        self.resumes = True
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self)

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def answer(self, handler):
        name, wanted = handler.path.lstrip("/"), handler.headers.get("Range")
        self.asked.append((name, wanted))
        if name not in self.files:
            handler.send_error(404)
            return
        body, start = self.files[name], 0
        if wanted and self.resumes:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(body):
                handler.send_error(416)
                return
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(body) - start))
        handler.end_headers()
        handler.wfile.write(body[start : self.cut_after])


@pytest.fixture
def server(tmp_path):
    made = Server()
    for part, seed in (("", 0), ("-val", 1)):
        path = write_npz(tmp_path / "origin" / f"{TASK}{part}.npz", walk(seed=seed))
        made.files[path.name] = path.read_bytes()
    yield made
    made.http.shutdown()
    made.http.server_close()


def test_both_files_arrive_with_progress_and_are_known_afterwards(server, tmp_path):
    seen = []
    paths = download.pull(TASK, tmp_path / "data", [server.address], lambda name: lambda *count: seen.append((name, *count)))
    assert [path.read_bytes() for path in paths] == list(server.files.values())
    assert seen[-1] == (paths[1].name, len(server.files[paths[1].name]), len(server.files[paths[1].name]))
    known = json.loads((tmp_path / "data" / download.KNOWN).read_text())
    assert known[paths[0].name]["size"] == paths[0].stat().st_size
    asked = len(server.asked)
    assert download.pull(TASK, tmp_path / "data", [server.address]) == paths  # at hand: nothing is asked for
    assert len(server.asked) == asked
    paths[0].write_bytes(b"changed")
    with pytest.raises(DataError, match="is not the file that was fetched"):
        download.pull(TASK, tmp_path / "data", [server.address])


@pytest.mark.parametrize("resumes", [True, False])
def test_it_goes_on_where_it_stopped(server, tmp_path, resumes):
    path = tmp_path / "data" / f"{TASK}.npz"
    server.cut_after = 1000
    with pytest.raises(MvlError, match=r"could not be fetched .*ended after 1000 of \d+ bytes|IncompleteRead"):
        download.fetch(path, [server.address], lambda done, total: None)
    assert not path.exists()
    assert (tmp_path / "data" / f"{TASK}.npz.part").stat().st_size == 1000
    server.cut_after, server.resumes = None, resumes
    download.fetch(path, [server.address], lambda done, total: None)
    assert server.asked[-1] == (path.name, "bytes=1000-")
    assert path.read_bytes() == server.files[path.name]
    assert not path.with_name(f"{path.name}.part").exists()


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
    with pytest.raises(DataError, match="differs from what it was before"):
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
