"""google.protobuf.Value as JSON."""

import contextlib
import json

import pytest
from google.protobuf import json_format, struct_pb2
from hypothesis import given
from hypothesis import strategies as st

from local_gcp.vertex.endpoints import values

JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_there_and_back(plain):
    assert values.to_json(values.from_json(plain)) == plain


@given(JSON)
def test_it_is_what_protobuf_itself_makes_of_it(plain):
    expected = struct_pb2.Value()
    json_format.ParseDict(plain, expected)
    assert values.from_json(plain) == expected


def test_whole_numbers_have_no_point():
    assert json.dumps(values.to_json(values.from_json([3.0, 0.5, 2.0**60]))) == (
        "[3, 0.5, 1.152921504606847e+18]"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            b'{"instances": [{"a": 1}, {"a": [0, NaN]}]}',
            r"^instances\[1\]\.a\[1\]: NaN is not a number",
        ),
        (b'{"instances": [-Infinity]}', r"^instances\[0\]: -Infinity is not a number"),
        (b'{"instances": [1e999]}', r"^instances\[0\]: Infinity is not a number"),
        (b"NaN", "^the body: NaN is not a number"),
        (b"9" * 5000, "^a number has more than 4300 digits$"),
    ],
)
def test_what_json_cannot_say_is_refused_and_named(text, words):
    with pytest.raises(ValueError, match=words):
        values.parse(text)


@pytest.mark.parametrize("depth", [100, 900, 990, 1000, 100_000])
def test_whatever_is_parsed_is_not_too_deep_to_be_looked_at(depth):
    with contextlib.suppress(RecursionError):
        json.dumps(values.parse(b"[" * depth + b"]" * depth))
