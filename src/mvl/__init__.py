"""Mollified value learning: goal-reaching policies from logged data.

Names are imported when first used, so that the command line answers before JAX is loaded.
"""

import importlib
from typing import Any

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
__all__ = list(_MODULES)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'mvl' has no attribute '{name}'")
    return getattr(importlib.import_module(_MODULES[name]), name)
