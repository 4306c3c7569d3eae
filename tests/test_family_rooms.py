"""Which families of tasks exist is known in `tasks/` alone, besides the paper's tables, the benchmark and the demo."""

import ast
import pkgutil
from pathlib import Path

import pytest

import mvl
from mvl import tasks

SOURCE = Path(mvl.__file__).parent
ALLOWED = ("tasks/", "bench/", "recipes/paper.py", "cli/demo.py")
NAMES = sorted({name.partition("-")[0] for name in tasks.task_names()} | {"ant"})
FILES = [module.name for module in pkgutil.iter_modules(tasks.__path__) if module.name in NAMES or module.name == "manipulation"]
MODULES = [path for path in sorted(SOURCE.rglob("*.py")) if not str(path.relative_to(SOURCE)).startswith(ALLOWED)]


def test_the_families_are_found():
    assert {"pointmaze", "antmaze", "humanoidmaze", "antsoccer", "manipulation", "kitchen", "panda", "powderworld"} == set(FILES)
    assert {"cube", "scene", "puzzle", "kitchen", "pointmaze"} < set(NAMES)


def compared(tree: ast.AST) -> list[str]:
    """Texts that something is compared with, looked up by, or tested to begin or end with."""
    nodes: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            nodes += [node.left, *node.comparators]
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("startswith", "endswith", "get")
        ):
            nodes += node.args
        if isinstance(node, ast.Subscript):
            nodes.append(node.slice)
        if isinstance(node, ast.Dict):
            nodes += [key for key in node.keys if key]
    texts = [leaf.value for node in nodes for leaf in ast.walk(node) if isinstance(leaf, ast.Constant)]
    return [text for text in texts if isinstance(text, str)]


def imported(tree: ast.AST) -> list[str]:
    modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return modules + [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_other_module_knows_a_family(path):
    tree = ast.parse(path.read_text())
    for text in compared(tree):
        assert text.partition("-")[0] not in NAMES, f"compares with {text!r}"
    for module in imported(tree):
        assert not any(module.startswith(f"mvl.tasks.{name}") for name in FILES), f"imports {module}"
