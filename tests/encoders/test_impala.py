"""Sizes of the image encoder, counted by hand."""

import jax
import jax.numpy as jnp
import pytest

from mvl.encoders.impala import Impala
from mvl.errors import UsageError

PAIR = (32, 32, 12)
"""Powderworld's observation and goal."""


def numbers(encoder: Impala, shape) -> int:
    made = jax.eval_shape(lambda: encoder.init(jax.random.key(0), shape))
    return sum(leaf.size for leaf in jax.tree.leaves(made))


def convolution(inputs: int, outputs: int) -> int:
    return 9 * inputs * outputs + outputs


def test_the_published_size_counted_by_hand():
    stacks = sum(convolution(a, b) + 2 * convolution(b, b) for a, b in ((12, 16), (16, 32), (32, 32)))
    assert numbers(Impala(), PAIR) == stacks + 4 * 4 * 32 * 512 + 512 == 319_920
    products = sum(
        before**2 * 9 * a * b + 2 * (before // 2) ** 2 * 9 * b * b for before, a, b in ((32, 12, 16), (16, 16, 32), (8, 32, 32))
    )
    assert Impala().operations(PAIR) == 2 * (products + 512 * 512)


def test_the_size_for_a_cpu_counted_by_hand():
    small = Impala((16, 32), 128, patch=4)
    first = 4 * 4 * 12 * 16 + 16 + 2 * convolution(16, 16)
    second = convolution(16, 32) + 2 * convolution(32, 32)
    assert numbers(small, PAIR) == first + second + 4 * 4 * 32 * 128 + 128 == 96_528
    assert small.operations(PAIR) < Impala().operations(PAIR) / 5


@pytest.mark.parametrize("shape", [(8, 8, 3), (7, 9, 1)])
@pytest.mark.parametrize("patch", [0, 2])
def test_images_of_any_size_become_vectors(key, shape, patch):
    encoder = Impala((4, 8), 5, patch=patch)
    images = jax.random.randint(key, (3, *shape), 0, 256).astype(jnp.uint8)
    found = encoder.encode(encoder.init(key, shape), images)
    assert found.shape == (3, 5)
    assert jnp.isfinite(found).all()
    assert jnp.array_equal(found, encoder.encode(encoder.init(key, shape), images.astype(jnp.float32)))


def test_an_encoder_without_stacks_is_refused():
    with pytest.raises(UsageError, match="at least one stack"):
        Impala(())
