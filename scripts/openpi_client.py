"""openpi's published client, installed from its package into a temporary environment, talks to `mvl serve RUN`.

It sends random observations with a goal of the run by name, and a goal that does not exist. The actions must be those of
`mvl.load_policy`, and the error must arrive as the client expects errors. Needs access to a package index.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import mvl
from mvl.deploy.goals import load_goals
from mvl.processes import python_module
from mvl.runs.folder import RunFolder

CLIENT = """
import json, sys
import numpy as np
from openpi_client import websocket_client_policy

address, goal = sys.argv[1:3]
host, port = address.removeprefix("ws://").split(":")
states = np.array(json.loads(sys.argv[3]), np.float32)
policy = websocket_client_policy.WebsocketClientPolicy(host=host, port=int(port))
answers = [policy.infer({"observation/state": state, "prompt": goal}) for state in states]
try:
    policy.infer({"observation/state": states[0], "prompt": "no such goal"})
    error = ""
except RuntimeError as raised:
    error = str(raised)
print(json.dumps({
    "metadata": policy.get_server_metadata(),
    "actions": [answer["actions"].tolist() for answer in answers],
    "timing": answers[-1]["server_timing"],
    "error": error,
}))
"""


@contextmanager
def environment() -> Iterator[Path]:
    """The Python of a temporary environment with openpi-client."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = Path(folder) / "bin" / "python"
        packages = "openpi-client", "typing-extensions"  # the first imports the second without requiring it
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        yield python


@contextmanager
def server(run: Path) -> Iterator[str]:
    """The address of a server of the run."""
    command = python_module("mvl", "serve", str(run), "--port", "0", "--plan", "none")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[0]
        finally:
            process.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="run folder with a named goal (mvl goals add RUN NAME ...)")
    options = parser.parse_args()
    policy = mvl.load_policy(options.run, plan="none")
    name, goal = next(iter(load_goals(options.run, RunFolder.open(options.run)[1]).items()))
    states = np.random.default_rng(0).normal(size=(20, policy.shapes.observation)).astype(np.float32)
    with environment() as python, server(options.run) as address:
        words = [str(python), "-c", CLIENT, address, name, json.dumps(states.tolist())]
        found = json.loads(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout)
    expected = np.array([policy.act(state, goal)[None] for state in states])
    assert np.array_equal(np.array(found["actions"], np.float32), expected), "actions differ"
    assert "no goal named 'no such goal'" in found["error"], found["error"]
    print(f"metadata: {found['metadata']}\n{len(states)} actions equal; timing {found['timing']}\nerror: {found['error']!r}")


if __name__ == "__main__":
    main()
