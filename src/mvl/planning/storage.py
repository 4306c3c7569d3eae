"""A graph as a file of the run folder: nodes, calibration pairs and edges, so that a copied folder plans without its data."""

from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from mvl.errors import DamagedError, UsageError
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
    data: tuple[str, ...] = ()
    """SHA-256 of the data files that the places are from; empty if they are not known."""
    values: tuple[str, ...] = ()
    """Checksums of the parameters of those values, one for each seed; empty if they are not known."""


def save(path: Path, stored: Stored) -> None:
    arrays: dict[str, np.ndarray] = dict(stored.places._asdict())
    for seed, roadmap in enumerate(stored.roadmaps):
        edges = roadmap.edges
        arrays |= {f"lengths{seed}": edges.data.astype(np.float32), f"columns{seed}": edges.indices.astype(np.int32)}
        arrays |= {f"bounds{seed}": edges.indptr.astype(np.int32), f"unit{seed}": np.array([roadmap.unit])}
    notes = {"graph": asdict(stored.graph), "seeds": len(stored.roadmaps)}
    checkpoint.save(path, arrays, {**notes, **{name: getattr(stored, name) for name in ("step", "data", "values")}})


def load(path: Path) -> Stored:
    arrays, notes = checkpoint.load_arrays(path)
    try:
        places = Places(*(_rows(arrays[name], name) for name in Places._fields))
        if len(places.observations) != len(places.goals) or len(places.starts) != len(places.ends):
            raise ValueError("its places differ in number")
        roadmaps = [_roadmap(places, arrays, seed) for seed in range(notes["seeds"])]
        origin = tuple(notes.get("data", ())), tuple(notes.get("values", ()))
        return Stored(Graph(**notes["graph"]), places, roadmaps, int(notes["step"]), *origin)
    except (KeyError, TypeError, ValueError, IndexError, UsageError) as error:
        raise unusable(path, f"not a readable graph ({error!r})") from None


def unusable(path: Path, reason: str) -> DamagedError:
    """The error for a graph file that a run cannot plan with."""
    return DamagedError(f"{path}: {reason}; remove it, and it is made again from the data.")


def _rows(array: np.ndarray, name: str) -> np.ndarray:
    if array.ndim != 2 or not array.size or array.dtype.kind != "f" or not np.isfinite(array).all():
        raise ValueError(f"{name} are not rows of numbers")
    return array


def _roadmap(places: Places, arrays: dict[str, np.ndarray], seed: int) -> Roadmap:
    """A graph of one seed; lengths and indices are checked, because SciPy's shortest paths crash or hang on wrong ones."""
    count = len(places.observations)
    lengths, unit = arrays[f"lengths{seed}"], float(arrays[f"unit{seed}"][0])
    edges = csr_matrix((lengths, arrays[f"columns{seed}"], arrays[f"bounds{seed}"]), shape=(count, count))
    edges.check_format(full_check=True)
    if not all(np.isfinite(numbers).all() and (np.asarray(numbers) > 0).all() for numbers in (lengths, unit)):
        raise ValueError("a length is not a positive number")
    return Roadmap(places.observations, places.goals, edges, unit)
