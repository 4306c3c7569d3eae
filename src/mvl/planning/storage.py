"""A graph as a file of the run folder: nodes, calibration pairs and edges, so that a copied folder plans without its data."""

from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from mvl.errors import DamagedError
from mvl.learn import checkpoint
from mvl.planning.graph import Places
from mvl.planning.roadmap import Graph, Roadmap


class Stored(NamedTuple):
    """What a graph file holds."""

    graph: Graph
    places: Places
    roadmaps: list[Roadmap]
    """One for each seed of the run."""
    step: int
    """Training step of the values that the edges were computed with."""


def save(path: Path, stored: Stored) -> None:
    arrays: dict[str, np.ndarray] = dict(stored.places._asdict())
    for seed, roadmap in enumerate(stored.roadmaps):
        edges = roadmap.edges
        arrays |= {f"lengths{seed}": edges.data.astype(np.float32), f"columns{seed}": edges.indices.astype(np.int32)}
        arrays |= {f"bounds{seed}": edges.indptr.astype(np.int32), f"unit{seed}": np.array([roadmap.unit])}
    checkpoint.save(path, arrays, {"graph": asdict(stored.graph), "seeds": len(stored.roadmaps), "step": stored.step})


def load(path: Path) -> Stored:
    arrays, notes = checkpoint.load_arrays(path)
    try:
        places = Places(*(arrays[name] for name in Places._fields))
        roadmaps = [_roadmap(places, arrays, seed) for seed in range(notes["seeds"])]
        return Stored(Graph(**notes["graph"]), places, roadmaps, int(notes["step"]))
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedError(f"{path}: not a readable graph ({error!r}); remove it, and it is made again from the data.") from None


def _roadmap(places: Places, arrays: dict[str, np.ndarray], seed: int) -> Roadmap:
    count = len(places.observations)
    parts = arrays[f"lengths{seed}"], arrays[f"columns{seed}"], arrays[f"bounds{seed}"]
    return Roadmap(places.observations, places.goals, csr_matrix(parts, shape=(count, count)), float(arrays[f"unit{seed}"][0]))
