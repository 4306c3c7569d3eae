"""Mollified value learning: goal-reaching policies from logged data.

Names are imported when first used, so that the command line answers before JAX is loaded.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers; the table below says the same at run time
    from mvl.data.dataset import Dataset
    from mvl.deploy.policy import LoadedPolicy, load_policy
    from mvl.experiment import Experiment
    from mvl.recipes.recipe import Recipe
    from mvl.regularizers.eikonal import Eikonal
    from mvl.regularizers.mollified import Mollified
    from mvl.regularizers.slope import Slope
    from mvl.runs.judging import evaluate
    from mvl.runs.more import train_more
    from mvl.runs.training import train
    from mvl.tasks.task import Task
    from mvl.types import Field

_MODULES = {
    "train": "mvl.runs.training",
    "train_more": "mvl.runs.more",
    "evaluate": "mvl.runs.judging",
    "load_policy": "mvl.deploy.policy",
    "LoadedPolicy": "mvl.deploy.policy",
    "Dataset": "mvl.data.dataset",
    "Experiment": "mvl.experiment",
    "Recipe": "mvl.recipes.recipe",
    "Task": "mvl.tasks.task",
    "Field": "mvl.types",
    "Mollified": "mvl.regularizers.mollified",
    "Slope": "mvl.regularizers.slope",
    "Eikonal": "mvl.regularizers.eikonal",
}
__all__ = [
    "Dataset",
    "Eikonal",
    "Experiment",
    "Field",
    "LoadedPolicy",
    "Mollified",
    "Recipe",
    "Slope",
    "Task",
    "evaluate",
    "load_policy",
    "train",
    "train_more",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'mvl' has no attribute '{name}'")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    """The public names, also those that are not imported yet."""
    return [*__all__, "__version__"]
