"""Operations on images, against those of JAX and by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mvl.nets.images import convolve, init_convolution, max_pool, shifted, squares


@pytest.mark.parametrize(("height", "width"), [(6, 6), (5, 4)])
def test_convolution_and_pooling_are_those_of_jax(key, height, width):
    x = jax.random.normal(key, (2, height, width, 3))
    layer = init_convolution(key, 3, 4)
    layer = layer._replace(bias=jnp.arange(4.0))
    kernel, order = layer.kernel.reshape(3, 3, 3, 4), ("NHWC", "HWIO", "NHWC")
    expected = jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=order) + layer.bias
    assert np.allclose(convolve(layer, x), expected, atol=1e-5)
    pooled = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    assert np.array_equal(max_pool(x), pooled)


def test_the_weights_of_a_convolution_have_the_range_of_its_whole_window(key):
    layer = init_convolution(key, 8, 16)
    bound = np.sqrt(6 / (9 * 8 + 9 * 16))
    assert 0.95 * bound < np.abs(layer.kernel).max() <= bound


def test_squares_are_places_with_all_their_numbers():
    x = jnp.arange(2 * 4 * 6 * 3).reshape(2, 4, 6, 3)
    found = squares(x, 2)
    assert found.shape == (2, 2, 3, 12)
    assert np.array_equal(found[1, 1, 2], x[1, 2:4, 4:6].ravel())
    assert squares(x, 4).shape == (2, 1, 2, 48)
    assert not squares(x, 4)[:, :, 1].reshape(2, 4, 4, 3)[:, :, 2:].any()


def test_shifts_repeat_the_edge():
    x = np.random.default_rng(0).integers(0, 255, (3, 5, 6, 2), dtype=np.uint8)
    offsets = np.array([[0, 0], [-3, 2], [1, -1]])
    padded = np.pad(x, ((0, 0), (3, 3), (3, 3), (0, 0)), mode="edge")
    expected = [padded[n, 3 + i : 8 + i, 3 + j : 9 + j] for n, (i, j) in enumerate(offsets)]
    found = shifted(jnp.asarray(x), jnp.asarray(offsets))
    assert found.dtype == jnp.uint8
    assert np.array_equal(found, expected)
