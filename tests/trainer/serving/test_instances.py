import contextlib
import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trainer.serving.images import image, sent
from trainer.serving import instances
from trainer.serving.errors import (
    InvalidFieldError,
    InvalidInstanceError,
    InvalidRequestError,
    ModelFailureError,
)
from trainer.serving.image_values import ImageAddress
from trainer.serving.images import EncodedImage, ImageInput
from trainer.serving.rows import Field, RowReader

READER = RowReader([Field("image", "image", "image", 0, "image", ImageInput((8, 8, 1)))])
GOOD = sent(image(9))
FORM = 'expected {"image": ...}'
IMAGE = "instances[0].image"


def read(*of_request, **others):
    body = json.dumps({"instances": of_request, **others}).encode()
    return [image for row in READER.read(body).instances for image in row.values]


def violations(body):
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    with pytest.raises(InvalidRequestError) as raised:
        READER.read(body)
    return {violation.field: violation.description for violation in raised.value.violations}


def test_both_forms_of_an_image():
    first, second = read(GOOD, {"image": "gs://flowers/red/1.jpg"})
    assert first == EncodedImage(image(9), 64)
    assert second == ImageAddress("flowers", "red/1.jpg")
    # As batch prediction sends the files of a list.
    assert read(GOOD["image"]) == [first]


def test_a_file_alone_is_an_instance_of_a_model_of_one_image_only():
    image_, age = READER.fields[0], Field("age", "numeric", "age", 0, "age")
    named = dataclasses.replace(image_, name="b64", column="b64")
    for fields, instance in (([image_, age], GOOD["image"]), ([named], {"b64": GOOD["image"]})):
        reader, body = RowReader(fields), json.dumps({"instances": [instance]}).encode()
        if len(fields) == 1:
            assert reader.read(body).instances[0].values == (EncodedImage(image(9), 64),)
        else:
            with pytest.raises(InvalidRequestError, match="b64: not a feature"):
                reader.read(body)


@pytest.mark.parametrize("parameters", [None, {}])
def test_googles_clients_send_parameters_that_say_nothing(parameters):
    assert len(read(GOOD, parameters=parameters)) == 1


@pytest.mark.parametrize(
    ("body", "field", "description"),
    [
        (b"", "body", "not JSON"),
        (b"label=7", "body", "not JSON"),
        (b"\xff\xfe", "body", "not JSON"),
        (b'{"instances": [], "parameters": {"t": NaN}}', "parameters.t", "NaN is not a JSON"),
        (b'{"instances": [{"image": "", "image": ""}]}', IMAGE, "twice"),
        (b'{"instances": ' + b"[" * 500_000 + b"]" * 500_000 + b"}", "body", "not JSON"),
        ([GOOD], "body", 'expected {"instances": [...]}, got a list of 1'),
        ({}, "instances", "got nothing"),
        ({"instances": GOOD}, "instances", "got an object with image"),
        ({"instances": []}, "instances", "expected 1 to 256 instances, got 0"),
        ({"instances": [GOOD] * 2000}, "instances", "expected 1 to 256 instances, got 2000"),
        ({"instances": [GOOD], "instance": 1}, "instance", "unknown"),
        ({"instances": [GOOD], "parameters": [1]}, "parameters", "expected an object, such as"),
        ({"instances": [GOOD], "parameters": {"k": 3}}, "parameters.k", "expected explain, each"),
        ({"instances": [GOOD], "parameters": {"explain": 1}}, "parameters.explain", "an object"),
        ({"instances": [], "parameters": {"explain": {"k": 4}}}, "parameters.explain.k", "class,"),
        ({"instances": [7]}, "instances[0]", f"{FORM}, got the value 7"),
        ({"instances": [None]}, "instances[0]", f"{FORM}, got nothing"),
        ({"instances": [[0.5] * 64]}, "instances[0]", f"{FORM}, got a list of 64"),
        ({"instances": [{}]}, IMAGE, "missing"),
        ({"instances": [GOOD | {"image_uri": "gs://b/o"}]}, "instances[0].image_uri", "no"),
        ({"instances": [GOOD | {"key": "a"}]}, "instances[0].key", "not a feature"),
        ({"instances": [{"image": "iVBO"}]}, IMAGE, "gs://BUCKET/OB"),
        ({"instances": [{"image": {"b64": 1}}]}, IMAGE, "with b64"),
        ({"instances": [sent(b"text")]}, IMAGE, "not an image"),
        ({"instances": [sent(b"")]}, IMAGE, "the file is empty"),
        ({"instances": [{"b64": "text"}]}, IMAGE, "not an image"),
        ({"instances": [{"b64": "no!"}]}, f"{IMAGE}.b64", "not base64"),
        ({"instances": [{"b64": "iVBO", "key": "a"}]}, "instances[0].b64", "not a feature"),
        ({"instances": [{"image": 7}]}, IMAGE, "the value 7"),
        ({"instances": [{"image": None}]}, IMAGE, "got nothing"),
        ({"instances": [{"image": "s3://b/o"}]}, IMAGE, "gs://BUCKET/OB"),
        ({"instances": [{"image": "gs://bucket/a/"}]}, IMAGE, "a folder"),
        ({"instances": [{"image": "g" * 9999}]}, IMAGE, "of 9999 char"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(body, field, description):
    assert description in violations(body)[field]


@pytest.mark.parametrize("text", ["%%%%", "iVBOR", "iVBO\niVBO", "-_-_", "ü"])
def test_base64_has_one_form(text):
    found = violations({"instances": [{"image": {"b64": text}}]})
    assert "not base64" in found[f"{IMAGE}.b64"]


def test_all_wrong_instances_are_named_by_their_index():
    assert list(violations({"instances": [GOOD, 1, GOOD, {}]})) == [
        "instances[1]",
        "instances[3].image",
    ]


def test_a_message_stays_short():
    many = {"instances": [{"x" * 10_000: 1}] * 200, "y" * 10_000: 1}
    with pytest.raises(InvalidRequestError) as raised:
        READER.read(json.dumps(many).encode())
    assert len(str(raised.value)) < 3000
    assert "and 190 more" in str(_error({"instances": [1] * 200}))


def _error(document):
    with pytest.raises(InvalidRequestError) as raised:
        READER.read(json.dumps(document).encode())
    return raised.value


def test_what_became_of_the_instances():
    predictions = [{"label": "light"}, {"label": "dark"}]
    assert instances.checked(predictions) == predictions
    wrong = [
        InvalidInstanceError([InvalidFieldError("image", "cut")]),
        {},
        InvalidInstanceError([InvalidFieldError(name, "missing") for name in ("left", "right")]),
    ]
    with pytest.raises(InvalidRequestError, match=r"instances\[0\]\.image: cut") as raised:
        instances.checked(wrong)
    fields = [violation.field for violation in raised.value.violations[1:]]
    assert fields == ["instances[2].left", "instances[2].right"]
    with pytest.raises(ModelFailureError):
        instances.checked([{}, ModelFailureError("NaN")])


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
NAMES = st.sampled_from(["instances", "parameters", "image", "b64", "x"])
DOCUMENTS = st.recursive(
    SCALARS | st.just(GOOD),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
)


@given(DOCUMENTS.map(json.dumps).map(str.encode) | st.binary(max_size=200))
def test_whatever_comes_is_read_or_refused(body):
    with contextlib.suppress(InvalidRequestError):
        assert READER.read(body).instances
