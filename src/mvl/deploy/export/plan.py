"""A planner as a small file beside an exported policy, which `mvl.runtime` reads without JAX and SciPy."""

import io
import json
from dataclasses import asdict

import numpy as np

from mvl.deploy.export.policy import Trained
from mvl.planning.following import Follower
from mvl.runtime import FORMAT


def as_npz(trained: Trained, planner: Follower, policy: str) -> bytes:
    """The file of a planner: nodes in the units of the source and edges; `policy` is the digest of the policy's file."""
    about = {"format": FORMAT, "policy": policy, "graph": asdict(planner.graph), "unit": planner.map.unit}
    inputs, count, edges = trained.description.inputs, len(planner.map.goals), planner.map.edges
    frames = planner.map.observations.reshape(count, trained.history, -1)
    file = io.BytesIO()
    np.savez_compressed(
        file,
        about=json.dumps(about),
        observations=inputs.original(frames, "observation").astype(trained.dtype("observation")).reshape(count, -1),
        goals=inputs.original(planner.map.goals, "goal").astype(trained.dtype("goal")),
        lengths=edges.data.astype(np.float32),
        columns=edges.indices.astype(np.int32),
        bounds=edges.indptr.astype(np.int32),
    )
    return file.getvalue()
