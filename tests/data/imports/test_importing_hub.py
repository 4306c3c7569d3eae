"""Importing a LeRobot dataset by its name on the hub, from a server on this machine that answers as the hub does."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from layouts import made, same, write_lerobot

from mvl.data.imports.importing import import_data
from mvl.errors import MvlError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = "someone/walk"


@pytest.fixture
def hub(tmp_path):
    """Address of a hub with one dataset, and the paths that were asked for."""
    folder, asked = tmp_path / "served", []
    write_lerobot(folder, made())
    (folder / "videos").mkdir()
    (folder / "videos" / "top.mp4").write_bytes(b"large")

    class Hub(BaseHTTPRequestHandler):
        def answer(self, body: bool) -> None:
            path = urlsplit(self.path).path
            asked.append(path)
            resolved, api = f"/datasets/{NAME}/resolve/{COMMIT}/", f"/api/datasets/{NAME}"
            files = [file for file in folder.rglob("*") if file.is_file()]
            found = {resolved + str(file.relative_to(folder)): file.read_bytes() for file in files}
            found[f"{api}/revision/main"] = json.dumps({"id": NAME, "sha": COMMIT}).encode()
            listed = [{"type": "file", "path": str(f.relative_to(folder)), "size": f.stat().st_size, "oid": "0"} for f in files]
            found[f"{api}/tree/{COMMIT}"] = json.dumps(listed).encode()
            content = found.get(path, b"")
            self.send_response(200 if path in found else 404)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
            if path not in found:
                self.send_header("X-Error-Code", "RepoNotFound")
            self.end_headers()
            self.wfile.write(content if body else b"")

        def do_GET(self):
            self.answer(True)

        def do_HEAD(self):
            self.answer(False)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


def run(tmp_path, address, name):
    """The command in a process of its own: huggingface_hub reads its settings when it is imported."""
    settings = {
        "HF_ENDPOINT": address,
        "HF_HOME": str(tmp_path / "cache"),
        "NO_PROXY": "127.0.0.1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
    }
    command = [
        sys.executable,
        "-m",
        "mvl",
        "data",
        "import",
        name,
        "--kind",
        "lerobot",
        "--to",
        str(tmp_path / "out.npz"),
        "--held-out",
        "0.2",
    ]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **settings}, timeout=60, cwd=tmp_path)


def test_a_dataset_by_its_name(tmp_path, hub):
    address, asked = hub
    done = run(tmp_path, address, NAME)
    assert done.returncode == 0, done.stderr
    assert "5 episodes" in done.stdout
    assert same(tmp_path / "out.npz", made())
    assert any(path.endswith("file-001.parquet") for path in asked)
    assert not any(path.endswith(".mp4") for path in asked)


def test_a_name_that_the_hub_does_not_have(tmp_path, hub):
    address, _ = hub
    done = run(tmp_path, address, "someone/else")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("mvl: someone/else is no folder here and could not be fetched from the hub (")
    assert "Traceback" not in done.stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"served", "cache"}


def test_a_path_that_is_no_name(tmp_path):
    with pytest.raises(
        MvlError, match="no/such/folder does not exist; check the path, or name a dataset of the hub as organization"
    ):
        import_data(Path("no/such/folder"), tmp_path / "out.npz", kind="lerobot")
