"""Optional packages: which are missing, and how to install them."""

import importlib.util
import sys
from collections.abc import Iterable

from mvl.errors import MvlError

DM_CONTROL = "dm-control==1.0.44"
"""The release that is compatible with the MuJoCo version of the extra `sim` on Python 3.13."""
SIMULATORS = ("ogbench", "dm_control", "gymnasium", "mujoco")
TRACKERS = {"tensorboard": "tensorboardX", "wandb": "wandb", "trackio": "trackio"}
"""Trackers and the module that each needs."""


def missing(*modules: str) -> list[str]:
    """Those of the modules that are not installed; nothing is imported."""
    return [module for module in modules if importlib.util.find_spec(module) is None]


def check_simulators(what: str, modules: tuple[str, ...] = SIMULATORS) -> None:
    """Raise an error with the install command if a simulator module that `what` needs is not installed."""
    absent = missing(*modules)
    if absent:
        raise MvlError(
            f"{what} needs a simulator (not installed: {', '.join(absent)}); install it with: {how_to_install(absent)}"
        )


def check_server(what: str) -> None:
    """Raise an error with the install command if a package that `what` needs to talk over the network is not installed."""
    absent = missing("websockets", "msgpack")
    if absent:
        raise MvlError(f"{what} needs {' and '.join(absent)}; install with: pip install 'mollified-value-learning[serve]'")


def check_export() -> None:
    """Raise an error with the install command if a package that `mvl export` needs is not installed."""
    absent = missing("onnx", "onnxruntime")
    if absent:
        raise MvlError(f"mvl export needs {' and '.join(absent)}; install with: pip install 'mollified-value-learning[export]'")


def check_runtime(what: str) -> None:
    """Raise an error with the install command if onnxruntime, which runs the exported policy `what`, is not installed."""
    if missing("onnxruntime"):
        raise MvlError(
            f"{what} needs onnxruntime; install with: pip install onnxruntime, or pip install 'mollified-value-learning[export]'"
        )


def how_to_install(absent: list[str]) -> str:
    """Shell command that installs these simulator modules."""
    command = "pip install 'mollified-value-learning[sim]'"
    if sys.version_info >= (3, 13) and {"ogbench", "dm_control"} & set(absent):
        # dm_control requires labmaze, which cannot be installed here and is not used by OGBench.
        return f"{command} && pip install --no-deps ogbench {DM_CONTROL}"
    return command


def check_trackers(names: Iterable[str]) -> None:
    """Raise an error with the install command if the module of one of the trackers is not installed."""
    for name in names:
        if missing(TRACKERS[name]):
            raise MvlError(
                f"--track {name} needs the package {TRACKERS[name]}; install it with: "
                "pip install 'mollified-value-learning[trackers]', or train with --track none."
            )
