"""Data flows one way: a module imports only from what lies to its left."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import mvl

SOURCE = Path(mvl.__file__).parent
PARTS = {"representations", "regularizers", "values", "policies", "encoders"}
ORDER = [
    "errors",
    "checks",
    "xla_flags",
    "processes",
    "files",
    "extras",
    "machine",
    "batches",
    "types",
    "registry",
    "data",
    "units",
    "nets",
    "parts",
    "tasks",
    "recipes",
    "settings",
    "experiment",
    "learn",
    "planning",
    "runtime",
    "evaluation",
    "runs",
    "studies",
    "results",
    "plots",
    "report",
    "toy",
    "deploy",
    "client",
    "bench",
    "cli",
]
OPTIONAL = {"ogbench", "dm_control", "gymnasium", "gymnasium_robotics", "mujoco", "h5py", "pyarrow", "minari", "imageio_ffmpeg"}
OPTIONAL |= {
    "huggingface_hub",
    "mink",
    "mujoco_menagerie",
    "viser",
    "trimesh",
    "skfmm",
    "ray",
    "submitit",
    "imageio",
    "tensorboardX",
    "wandb",
    "trackio",
    "websockets",
    "msgpack",
    "onnx",
    "onnxruntime",
}
MODULES = sorted(SOURCE.rglob("*.py"))


def rank(module: str) -> int:
    top = module.split(".")[1]
    return ORDER.index("parts" if top in PARTS else top)


def imports(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("mvl"):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.startswith("mvl.")]
    return [name for name in found if name != "mvl.__version__"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_left(path):
    name = ".".join(["mvl", *path.relative_to(SOURCE).with_suffix("").parts])
    if name in ("mvl.__init__", "mvl.__main__"):
        return
    for other in imports(path):
        assert rank(other) <= rank(name), f"{name} imports {other}, which lies to its right"
        component = name.startswith("mvl.representations.") and other.startswith("mvl.values.")
        if rank(other) == rank(name) == ORDER.index("parts") and not component:
            pytest.fail(f"{name} imports {other}: parts do not know each other, but a representation may contain a value")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_and_functions_stay_small(path):
    text = path.read_text()
    assert text.count("\n") <= 300
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            documented = len((ast.get_docstring(node, clean=False) or "").splitlines())
            assert (node.end_lineno or 0) - node.lineno - documented < 50, f"{node.name} is long"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_optional_packages_are_imported_where_they_are_used(path):
    """Every module can be imported with the core alone, but for the viewer and the server, whose commands check first."""
    if path.parent.name == "viewer" or path.name in ("server.py", "messages.py", "client.py"):
        return
    for node in ast.parse(path.read_text()).body:
        found = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        found += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        assert not {name.split(".")[0] for name in found} & OPTIONAL, f"line {node.lineno}"


def test_public_names_exist_and_are_what_type_checkers_see():
    for name in mvl.__all__:
        assert getattr(mvl, name) is not None
    assert sorted(mvl.__all__) == sorted(mvl._MODULES)
    (block,) = [node for node in ast.parse((SOURCE / "__init__.py").read_text()).body if isinstance(node, ast.If)]
    assert {alias.name: node.module for node in block.body for alias in node.names} == mvl._MODULES
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = mvl.nothing


def test_the_package_shows_itself():
    assert {name for name in dir(mvl) if not name.startswith("_")} == set(mvl.__all__)
    for function in (mvl.train, mvl.train_more, mvl.evaluate, mvl.load_policy):
        about = inspect.getdoc(function)
        described = re.findall(r"^    \**(\w+): ", about.partition("Args:")[2].partition("Returns:")[0], re.M)
        assert described == list(inspect.signature(function).parameters)
        assert "Returns:" in about
        assert ">>> " in about
    for name in mvl.__all__:
        assert inspect.getdoc(getattr(mvl, name)), name


def test_the_command_and_the_workers_do_not_load_jax():
    import subprocess
    import sys

    code = (
        "import sys, mvl.cli, mvl.evaluation.environments, mvl.data.generation, mvl.tasks.datasets;"
        "import mvl.data.check.card, mvl.data.sources.npz;"
        "sys.exit('jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
