"""Writes the policy of a run as files that other programs run."""

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np

from mvl import __version__
from mvl.deploy.about import about_policy
from mvl.deploy.export.check import check
from mvl.deploy.export.onnx_file import as_onnx
from mvl.deploy.export.plan import as_npz
from mvl.deploy.export.policy import Trained, has_value, policy_network, value_network
from mvl.deploy.export.stablehlo import as_stablehlo
from mvl.errors import UsageError
from mvl.extras import check_export
from mvl.files import atomic, new_files
from mvl.planning.following import Follower
from mvl.recipes.presets import PlannerName
from mvl.runs.planning import followers, planner_of
from mvl.runs.restore import chosen_seed, restore
from mvl.runtime import FORMAT, Model, companions


def export_onnx(
    run: Path, policy_file: Path, seed: int | None = None, plan: PlannerName | None = None, overwrite: bool = False
) -> list[Path]:
    """Write a policy, its value if it has one, and its planner if it plans; returns the files.

    Nothing is written unless all of them compute what the run computes. A planner or a value of an earlier export with
    the same name is removed with `overwrite`.
    """
    check_export()
    every = new_files([policy_file, *companions(policy_file)], overwrite)
    trained, planner = _trained(run, seed, plan)
    contents = _contents(trained, planner, _about(run, trained))
    for file, content in zip(reversed(every), reversed(contents), strict=True):  # a policy comes last: without it, none is used
        if content is None:
            file.unlink(missing_ok=True)
        else:
            _write(file, content)
    return [file for file, content in zip(every, contents, strict=True) if content is not None]


def export_stablehlo(run: Path, file: Path, seed: int | None = None, overwrite: bool = False) -> list[Path]:
    """Write a policy as StableHLO, and what its arrays mean as JSON beside it."""
    every = new_files([file, file.with_suffix(".json")], overwrite)
    trained, _ = _trained(run, seed, "none")
    content, inputs = as_stablehlo(trained)
    about = json.dumps({**_about(run, trained), "inputs": inputs}, indent=1) + "\n"
    for one, data in zip(every, (content, about.encode()), strict=True):
        _write(one, data)
    return every


def _write(file: Path, content: bytes) -> None:
    with atomic(file) as partial:
        partial.write_bytes(content)


def _trained(run: Path, seed: int | None, plan: PlannerName | None) -> tuple[Trained, Follower | None]:
    description, learner, state = restore(run)
    if description.shapes.image:
        raise UsageError(f"{run} learned from images, which are not exported; act with mvl.load_policy instead.")
    index = chosen_seed(run, description, seed)
    params = jax.tree.map(lambda leaf: np.asarray(leaf[index]), state.params)
    graph = planner_of(description.experiment.schedule, plan)
    planner = followers(run, description, learner, state, graph)[index] if graph else None
    return Trained(description, learner, params), planner


def _about(run: Path, trained: Trained) -> dict[str, Any]:
    """What the metadata of an exported file says."""
    description = trained.description
    return {
        "format": FORMAT,
        "version": __version__,
        **about_policy(run, description),
        "observation_size": trained.size("observation"),
        "goal_size": trained.size("goal"),
        "history": trained.history,
        "chunk": description.shapes.chunk,
        "execute": description.experiment.schedule.execute,
    }


def _contents(trained: Trained, planner: Follower | None, about: dict[str, Any]) -> tuple[bytes, bytes | None, bytes | None]:
    """The files of the policy, of its value and of its planner."""
    policy = _policy(trained, about)
    model = Model(policy, "the exported policy")
    value = _value(trained, {**about, "policy": model.digest}) if has_value(trained) else None
    check(trained, model, Model(value, "the exported value") if value else None)
    return policy, value, as_npz(trained, planner, model.digest) if planner else None


def _policy(trained: Trained, about: dict[str, Any]) -> bytes:
    network, actions = policy_network(trained)
    axes = {name: ["batch", given.size] for name, given in network.inputs.items()}
    axes["actions"] = ["batch", about["chunk"], about["action_size"]]
    return as_onnx(network, {"actions": actions}, axes, about, "Actions of a goal-conditioned policy, in the units of its data.")


def _value(trained: Trained, about: dict[str, Any]) -> bytes:
    network, found = value_network(trained)
    axes = {name: [f"{name}_rows", given.size] for name, given in network.inputs.items()}
    axes |= {name: ["rows", 1] for name in found}
    return as_onnx(network, found, axes, about, "The value of observations and goals, and the steps between them.")
