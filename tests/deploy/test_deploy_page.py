"""The commands of docs/deploy.md, in their order, on a few small episodes."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from serving import serving

from mvl.cli import main, serve

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "deploy.md").read_text()
SMALL = "--steps 20 --eval-every 20 --save-every 20 --log-every 10 --steps-per-dispatch 10 --batch-size 16 --plan-nodes 100"
SMALL += " --value.widths 8 --policy.widths 8 --regularizer none"
SHORT = "--hz 50 --seconds 0.3"


def ran(code):
    """The names that a block of the page defines."""
    names = {}
    exec(code, names)
    return names


def command(words):
    """Run a command of the page, smaller."""
    if words[0] == "python":
        few = ["6" if word == "100" else word for word in words[2:]]
        subprocess.run([sys.executable, ROOT / words[1], *few], check=True, stdout=subprocess.DEVNULL)
    elif words[0] == "mvl":
        assert main([*words[1:], *(SMALL.split() if words[1] == "train" else [])]) == 0


def test_the_page_leads_from_files_to_a_served_and_exported_policy(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(sh|python)\n(.*?)```", TEXT, re.S)
    lines = [shlex.split(line, comments=True) for language, text in blocks if language == "sh" for line in text.splitlines()]
    (client, runtime, plain) = (text for language, text in blocks if language == "python")
    ((_, _, *served),) = (words for words in lines if words[1] == "serve")
    (robot,) = (words for words in lines if words[1] == "robot")
    for words in lines:
        if words not in (robot, ["mvl", "serve", *served]):
            command(words)
    with serving(serve._served(serve._parser().parse_all(served))) as address:
        assert main([*robot[1:], "--server", address, *SHORT.split()]) == 0
        answered = ran(client.replace("ws://127.0.0.1:8000", address))
    assert "rows replayed" in capsys.readouterr().out
    assert answered["about"] == (8, 20.0)
    acted, found = ran(runtime), ran(plain)
    assert acted["policy"]._follower is not None, "it plans"
    assert acted["action"].shape == answered["action"].shape == (8,)
    assert found["actions"].shape == (2, 1, 8)
    assert sorted(file.name for file in tmp_path.glob("policy*")) == ["policy.onnx", "policy.plan.npz", "policy.value.onnx"]
    named = re.findall(r"`(\w+)`", TEXT.split("**Metadata**")[1].split("\n\n")[0])
    assert named == ["mvl", *found["about"]]
