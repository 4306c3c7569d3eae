import numpy as np
import pytest
from scipy.sparse import csr_matrix

from mvl.errors import DamagedError, MvlError
from mvl.planning.graph import Places
from mvl.planning.roadmap import Graph, Roadmap
from mvl.planning.storage import Stored, load, save


def stored() -> Stored:
    random = np.random.default_rng(0)
    places = Places(*(random.normal(size=(5, width)).astype(np.float32) for width in (3, 2, 3, 2)))
    edges = csr_matrix(np.triu(np.arange(1, 26, dtype=np.float32).reshape(5, 5)))
    roadmaps = [Roadmap(places.observations, places.goals, edges * factor, 0.3 * factor) for factor in (1, 2)]
    return Stored(Graph(nodes=5, steps=4), places, roadmaps, 700)


def test_what_is_written_is_read(tmp_path):
    save(tmp_path / "graph.safetensors", stored())
    found, expected = load(tmp_path / "graph.safetensors"), stored()
    assert (found.graph, found.step) == (expected.graph, 700)
    assert all(np.array_equal(a, b) for a, b in zip(found.places, expected.places, strict=True))
    for one, other in zip(found.roadmaps, expected.roadmaps, strict=True):
        assert np.allclose(one.edges.toarray(), other.edges.toarray())
        assert one.unit == pytest.approx(other.unit)


def test_a_file_that_is_no_graph_is_refused(tmp_path):
    from mvl.learn import checkpoint

    file = tmp_path / "graph.safetensors"
    checkpoint.save(file, {"step": np.zeros(1)}, {})
    with pytest.raises(DamagedError, match="not a readable graph"):
        load(file)
    file.write_bytes(b"nothing")
    with pytest.raises(MvlError, match="graph.safetensors: not a readable"):
        load(file)


DAMAGES = {
    "an edge to a node that is none": ("columns0", lambda columns: columns + 5, "indices must be < 5"),
    "an edge to a negative node": ("columns0", lambda columns: -columns - 1, "indices must be >= 0"),
    "bounds backwards": ("bounds0", lambda bounds: bounds[::-1].copy(), "index pointer"),
    "a negative length": ("lengths0", lambda lengths: -lengths, "a length is not a positive number"),
    "a length that is no number": ("lengths1", lambda lengths: lengths * np.nan, "a length is not a positive number"),
    "no unit": ("unit0", lambda unit: 0 * unit, "a length is not a positive number"),
    "fewer goals": ("goals", lambda goals: goals[:4].copy(), "its places differ in number"),
    "places that are no numbers": ("starts", lambda starts: starts * np.inf, "starts are not rows of numbers"),
    "places without dimensions": ("ends", lambda ends: ends[:, 0].copy(), "ends are not rows of numbers"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_graph_on_which_paths_would_crash_or_hang_is_refused(damage, tmp_path):
    """With a correct checksum, as in a file that somebody made."""
    from mvl.learn import checkpoint

    file = tmp_path / "graph.safetensors"
    save(file, stored())
    name, change, reason = DAMAGES[damage]
    arrays, notes = checkpoint.load_arrays(file)
    kept = {key: note for key, note in notes.items() if key not in ("format", "sha256")}
    checkpoint.save(file, {**arrays, name: change(arrays[name])}, kept)
    with pytest.raises(DamagedError, match=f"graph.safetensors: not a readable graph .*{reason}.*; remove it"):
        load(file)
