"""The C++ functions refuse arrays that do not fit together, instead of reading beyond them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mvl.nets.native.library import disabled_reason

pytestmark = pytest.mark.skipif(bool(disabled_reason()), reason=f"not native: {disabled_reason()}")

ROWS, PERIOD, INPUTS, HEADS, WIDTH, OUTPUTS = 5, 1, 3, 2, 8, 1
X, BASE, FIRST = (ROWS, INPUTS), (HEADS, PERIOD, WIDTH), (HEADS, INPUTS, WIDTH)
LAYER = ((HEADS, WIDTH, OUTPUTS), (HEADS, OUTPUTS), (HEADS, WIDTH), (HEADS, WIDTH))
HIDDEN, OUT = (HEADS, ROWS, WIDTH), (HEADS, ROWS, OUTPUTS)
FORWARD = ([X, BASE, FIRST, *LAYER], [OUT, HIDDEN])
BACKWARD = ([X, BASE, FIRST, *LAYER, HIDDEN, OUT, OUT], [HIDDEN, BASE, FIRST, *LAYER])
LEAVES = [(3, 2), (4,)]
ADAM = ([(6,), *LEAVES, *LEAVES, *LEAVES, *LEAVES, (4,)], [*LEAVES, *LEAVES, *LEAVES, (4,)])


def run(target, arguments, results, dtypes=None, aliases=None, **settings):
    """The function on zeros of these shapes, with arrays of these types at some places."""
    arrays = [jnp.zeros(shape, (dtypes or {}).get(i, jnp.float32)) for i, shape in enumerate(arguments)]
    made = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in results]
    call = jax.ffi.ffi_call(target, made, input_output_aliases=aliases)
    return jax.block_until_ready(call(*arrays, **settings))


def changed(shapes, index, shape):
    return [*shapes[:index], *([shape] if shape else []), *shapes[index + 1 :]]


def network(name, arguments, results, **settings):
    return run(f"mvl_mlp_{name}", arguments, results, **{"norm": True, "devices": 1, **settings})


def adam(arguments, results, copies=(-1, 0), aliased=True, **settings):
    aliases = {3 + i: i for i in range(len(results))} if aliased else None
    return run("mvl_adam", arguments, results, aliases=aliases, copies=np.asarray(copies, np.int64), **{"devices": 1, **settings})


def test_what_fits_is_computed():
    assert [array.shape for array in network("forward", *FORWARD)] == FORWARD[1]
    assert [array.shape for array in network("backward", *BACKWARD)] == BACKWARD[1]
    assert [array.shape for array in adam(*ADAM)] == ADAM[1]


WRONG = [
    ("forward", 0, (ROWS, INPUTS + 1), "the first layer has shape (2, 3, 8), expected (2, 4, 8)"),
    ("forward", 0, (ROWS,), "x has rank 1, expected 2"),
    ("forward", 1, (HEADS, 0, WIDTH), "without heads, units or base rows"),
    ("forward", 1, (HEADS, PERIOD, WIDTH + 1), "base has shape (2, 1, 9), expected (2, 1, 8)"),
    ("forward", 2, (HEADS, INPUTS), "the first layer has rank 2, expected 3"),
    ("forward", 2, (0, INPUTS, WIDTH), "without heads, units or base rows"),
    ("forward", 3, (HEADS, WIDTH - 1, OUTPUTS), "the weights of layer 1 has shape (2, 7, 1), expected (2, 8, 1)"),
    ("forward", 3, (HEADS, WIDTH, 0), "layer 1 has no outputs"),
    ("forward", 4, (HEADS - 1, OUTPUTS), "the bias of layer 1 has shape (1, 1), expected (2, 1)"),
    ("forward", 5, (HEADS,), "the scale of layer 1 has shape (2), expected (2, 8)"),
    ("forward", 6, (HEADS, WIDTH + 8), "the shift of layer 1 has shape (2, 16), expected (2, 8)"),
    ("forward", 6, None, "3 arrays are not whole layers of 4"),
    ("backward", 7, (HEADS, ROWS - 1, WIDTH), "hidden layer 0 has shape (2, 4, 8), expected (2, 5, 8)"),
    ("backward", 8, (HEADS, ROWS, 2), "hidden layer 1 has shape (2, 5, 2), expected (2, 5, 1)"),
    ("backward", 9, (HEADS, 1, OUTPUTS), "the outputs' gradient has shape (2, 1, 1), expected (2, 5, 1)"),
    ("backward", 9, None, "6 arrays are not whole layers of 4"),
]


@pytest.mark.parametrize(("name", "index", "shape", "words"), WRONG)
def test_networks_refuse_wrong_arguments(name, index, shape, words):
    arguments, results = FORWARD if name == "forward" else BACKWARD
    with pytest.raises(jax.errors.JaxRuntimeError) as caught:
        network(name, changed(arguments, index, shape), results)
    assert f"INVALID_ARGUMENT: mvl_mlp_{name}: " in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "index", "shape", "words"),
    [
        ("forward", 0, (HEADS, ROWS - 1, OUTPUTS), "the output has shape (2, 4, 1), expected (2, 5, 1)"),
        ("forward", 1, (HEADS, ROWS, 1), "hidden layer 0 has shape (2, 5, 1), expected (2, 5, 8)"),
        ("backward", 0, (HEADS, ROWS, 1), "the gradient of hidden layer 0 has shape (2, 5, 1), expected (2, 5, 8)"),
        ("backward", 1, (HEADS, PERIOD, 1), "the gradient of base has shape (2, 1, 1), expected (2, 1, 8)"),
        ("backward", 2, (HEADS, INPUTS, 1), "the gradient of the first layer has shape (2, 3, 1), expected (2, 3, 8)"),
        ("backward", 5, (HEADS, 1), "gradient 3 has shape (2, 1), expected (2, 8)"),
        ("backward", 6, None, "4 gradients of layers were given, expected 5"),
    ],
)
def test_networks_refuse_wrong_results(name, index, shape, words):
    arguments, results = FORWARD if name == "forward" else BACKWARD
    with pytest.raises(jax.errors.JaxRuntimeError) as caught:
        network(name, arguments, changed(results, index, shape))
    assert f"INVALID_ARGUMENT: mvl_mlp_{name}: " in str(caught.value)
    assert words in str(caught.value)


def refused(function, *given, **settings):
    with pytest.raises(jax.errors.JaxRuntimeError) as caught:
        function(*given, **settings)
    assert "INVALID_ARGUMENT" in str(caught.value)
    return str(caught.value)


def test_networks_refuse_other_settings_and_types():
    assert "2 hidden layers were given, expected 1" in refused(network, "forward", FORWARD[0], [*FORWARD[1], HIDDEN])
    assert "the scale" not in refused(network, "forward", *FORWARD, norm=False)
    assert "devices is 0" in refused(network, "forward", *FORWARD, devices=0)
    assert "F32" in refused(network, "forward", *FORWARD, dtypes={0: jnp.int32})
    assert "array 1: " in refused(network, "backward", *BACKWARD, dtypes={4: jnp.bfloat16})


def test_adam_refuses_arrays_that_do_not_fit():
    arguments, results = ADAM
    assert "rates has shape (5), expected (6)" in refused(adam, changed(arguments, 0, (5,)), results)
    assert "an array of parameter 0 has shape (3, 2), expected (3, 3)" in refused(adam, changed(arguments, 1, (3, 3)), results)
    assert "9 arrays are too few for 3 parameters" in refused(adam, arguments, results, copies=(-1, 0, -1))
    assert "6 results were given, expected 7" in refused(adam, arguments, results[:-1], copies=(-1, -1))
    assert "result 0 is not aliased to its argument" in refused(adam, arguments, results, aliased=False)
    assert "array 1: " in refused(adam, arguments, results, dtypes={2: jnp.int32})


def test_adam_refuses_copies_that_do_not_fit():
    assert "the copy of parameter 1 is number 1 of 1" in refused(adam, *ADAM, copies=(-1, 1))
    assert "the copy of parameter 0 has shape (4), expected (3, 2)" in refused(adam, *ADAM, copies=(0, -1))
    assert "also belongs to another one" in refused(adam, [(6,), *[(4,)] * 9], [(4,)] * 7, copies=(0, 0))
