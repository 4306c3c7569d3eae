"""Messages byte by byte, and what is refused instead of read."""

import msgpack
import numpy as np
import pytest

from mvl.deploy.messages import pack, unpack
from mvl.errors import UsageError

OBSERVATION = (
    b"\x82\xb1observation/state\x84\xc4\x0b__ndarray__\xc3\xc4\x04data\xc4\x08\x00\x00\x80?\x00\x00\x00\xc0"
    b"\xc4\x05dtype\xa3<f4\xc4\x05shape\x91\x02\xa6prompt\xa6corner"
)
ACTIONS = (
    b"\x81\xa7actions\x84\xc4\x0b__ndarray__\xc3\xc4\x04data\xc4\x08\x00\x00\x00?\x00\x00\x80\xbe"
    b"\xc4\x05dtype\xa3<f4\xc4\x05shape\x92\x01\x02"
)
"""What openpi-client 0.1.2 sends and expects."""


def array(data=b"1234", dtype="<f4", shape=(1,)):
    """A message with an array whose description may be wrong."""
    return msgpack.packb({"observation": {b"__ndarray__": True, b"data": data, b"dtype": dtype, b"shape": shape}})


def test_bytes_are_those_of_openpis_client():
    message = unpack(OBSERVATION)
    assert message["prompt"] == "corner"
    assert message["observation/state"].dtype == np.float32
    assert message["observation/state"].tolist() == [1.0, -2.0]
    assert pack({"observation/state": np.array([1, -2], np.float32), "prompt": "corner"}) == OBSERVATION
    assert pack({"actions": np.array([[0.5, -0.25]], np.float32)}) == ACTIONS


def test_numbers_of_every_type_come_back():
    sent = {"a": np.arange(6, dtype=">i2").reshape(2, 3), "b": np.float32(0.5), "c": np.bool_(True), "d": [1, 2.5], "e": "text"}
    found = unpack(pack(sent))
    assert found["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (found["b"], found["c"], found["d"], found["e"]) == (0.5, True, [1, 2.5], "text")
    assert type(found["b"]) is np.float32


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "incomplete input"),
        (b"\xc1", "not msgpack"),
        (OBSERVATION[:-3], "incomplete input"),
        (OBSERVATION + b"\x00", "extra data"),
        ("text", "is text; send a binary"),
        (msgpack.packb([1, 2]), "not a map"),
        (msgpack.packb({b"key": 1}), "not a map with text"),
        (msgpack.packb({"a": {7: 1}}), "int is not allowed for map key"),
        (b"\x81\xa1\xff\x01", "codec can't decode"),
        (b"\x90" * 3000, "extra data"),
        (b"\x91" * 3000, "cannot be read"),
        (b"\xdd\x7f\xff\xff\xff", "exceeds max_array_len"),
        (b"\x81\xa1a\xc7\x05\x01abcde", "exceeds max_ext_len"),
        (array(dtype="O"), "type 'O', which is not one of numbers"),
        (array(dtype="<c8", data=b"12345678"), "type '<c8'"),
        (array(dtype="V4"), "type 'V4'"),
        (array(dtype="f4,f4", data=b"12345678"), "type 'f4,f4'"),
        (array(dtype=7), "type '7'"),
        (array(dtype="f3"), "'f3'"),
        (array(shape=[2]), r"4 bytes cannot have shape \(2,\)"),
        (array(shape=[-1]), "no shape"),
        (array(shape="1"), "no shape"),
        (array(shape=[0] * 65, data=b""), "maximum supported dimension"),
        (array(shape=[0, 2**62], data=b""), "too big"),
        (array(data="1234"), "no bytes"),
        (msgpack.packb({"a": {b"__ndarray__": True}}), "type 'None'"),
        (msgpack.packb({"a": {b"__npgeneric__": True, b"data": "x", b"dtype": "<f4"}}), "could not convert"),
        (msgpack.packb({"a": {b"__npgeneric__": True, b"data": 2**40, b"dtype": "i1"}}), "out of bounds"),
    ],
)
def test_what_is_not_a_message_is_refused(data, said):
    with pytest.raises(UsageError, match=said):
        unpack(data)


def test_objects_are_not_sent():
    with pytest.raises(UsageError, match="cannot have a object"):
        pack({"a": np.array([None])})
    with pytest.raises(UsageError, match="cannot have a set"):
        pack({"a": {1}})
