import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mvl.nets.mlp import MLP, Dense, Norm, apply_ensemble, apply_mlp, dense, init_ensemble, init_mlp, normalized_dense


def test_layer_is_dense_then_gelu_then_norm(key):
    """OGBench's order, written once more in NumPy."""
    mlp = init_mlp(key, 3, (4,), 2, norm=True)
    x = np.asarray(jax.random.normal(key, (5, 3)))
    hidden = x @ np.asarray(mlp.hidden[0].kernel)
    hidden = 0.5 * hidden * (1 + np.tanh(np.sqrt(2 / np.pi) * (hidden + 0.044715 * hidden**3)))
    hidden = (hidden - hidden.mean(1, keepdims=True)) / np.sqrt(hidden.var(1, keepdims=True) + 1e-6)
    assert np.allclose(apply_mlp(mlp, x), hidden @ np.asarray(mlp.output.kernel), atol=1e-5)


def test_without_norm_there_are_no_norm_parameters(key):
    mlp = init_mlp(key, 3, (4, 4), 2, norm=False)
    assert mlp.norms == ()


def plain(norm, layer, x):
    """LayerNorm as its definition reads, then the layer."""
    spread = jnp.sqrt(x.var(-1, keepdims=True) + 1e-6)
    return dense(layer, (x - x.mean(-1, keepdims=True)) / spread * norm.scale + norm.shift)


def test_a_normalized_layer_by_hand():
    norm, layer = Norm(jnp.array([3.0, 2.0]), jnp.array([1.0, 0.5])), Dense(jnp.array([[1.0], [10.0]]), jnp.array([0.25]))
    out = normalized_dense(norm, layer, jnp.array([[-1.0, 1.0], [4.0, 8.0]]))  # (-3 + 1) + 10 (2 + 0.5) + 0.25
    assert np.allclose(out, 23.25, atol=1e-4)


def test_a_normalized_layer_is_a_layer_after_a_norm_and_so_are_its_slopes(key):
    keys = jax.random.split(key, 5)
    norm = Norm(1 + 0.3 * jax.random.normal(keys[0], (6,)), jax.random.normal(keys[1], (6,)))
    layer = Dense(jax.random.normal(keys[2], (6, 3)), jnp.arange(3.0))
    x = 2 + jax.random.normal(keys[3], (4, 6))
    assert np.allclose(normalized_dense(norm, layer, x), plain(norm, layer, x), atol=1e-4)
    total = lambda function: lambda *args: jnp.sin(function(*args)).sum()
    slopes = [jax.grad(total(f), argnums=(0, 1, 2))(norm, layer, x) for f in (normalized_dense, plain)]
    bends = [
        jax.grad(lambda y, f=f: jnp.square(jax.grad(total(f), argnums=2)(norm, layer, y)).sum())(x)
        for f in (normalized_dense, plain)
    ]
    for one, other in zip(jax.tree.leaves([slopes[0], bends[0]]), jax.tree.leaves([slopes[1], bends[1]]), strict=True):
        assert np.allclose(one, other, atol=1e-3)


def test_rows_without_spread_are_finite(key):
    norm, layer = Norm(jnp.ones(4), jnp.zeros(4)), Dense(jax.random.normal(key, (4, 2)), jnp.zeros(2))
    flat = jnp.full((3, 4), 0.7)
    assert np.allclose(normalized_dense(norm, layer, flat), 0, atol=1e-2)
    assert np.isfinite(jax.grad(lambda x: normalized_dense(norm, layer, x).sum())(flat)).all()


def test_initial_sizes_are_glorot(key):
    """Uniform in +-sqrt(6 / (in + out)); biases zero."""
    mlp = init_mlp(key, 100, (300,), 1, norm=False)
    bound = np.sqrt(6 / 400)
    kernel = np.asarray(mlp.hidden[0].kernel)
    assert np.abs(kernel).max() == pytest.approx(bound, rel=0.01)
    assert kernel.std() == pytest.approx(bound / np.sqrt(3), rel=0.02)
    assert not np.asarray(mlp.hidden[0].bias).any()


def test_several_inputs_are_as_good_as_one(key):
    layer = Dense(jax.random.normal(key, (5, 3)), jnp.arange(3.0))
    left, right = jax.random.normal(key, (4, 2)), jax.random.normal(key, (4, 3))
    together = jnp.concatenate([left, right], axis=1) @ layer.kernel + layer.bias
    assert np.allclose(dense(layer, left, right), together, atol=1e-6)


def test_a_shared_input_is_broadcast(key):
    mlp = init_mlp(key, 5, (4,), 1, norm=True)
    many, shared = jax.random.normal(key, (7, 4, 2)), jax.random.normal(key, (4, 3))
    spread = jnp.broadcast_to(shared, (7, 4, 3))
    assert np.allclose(apply_mlp(mlp, many, shared), apply_mlp(mlp, many, spread), atol=1e-6)


def test_wrong_input_size_is_refused(key):
    with pytest.raises(ValueError, match="takes 5 inputs, was given 4"):
        apply_mlp(init_mlp(key, 5, (4,), 1, norm=True), jnp.zeros((2, 4)))


def test_ensemble_heads_are_independent_networks(key):
    heads = init_ensemble(key, 2, 3, (4,), 1, norm=True)
    x = jax.random.normal(key, (5, 3))
    out = apply_ensemble(heads, x)
    assert out.shape == (2, 5, 1)
    for head in range(2):
        alone: MLP = jax.tree.map(lambda leaf: leaf[head], heads)  # noqa: B023
        assert np.allclose(out[head], apply_mlp(alone, x), atol=1e-6)
    assert not np.allclose(out[0], out[1])
