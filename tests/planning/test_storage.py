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
    edges = csr_matrix(np.triu(np.arange(25, dtype=np.float32).reshape(5, 5)))
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
