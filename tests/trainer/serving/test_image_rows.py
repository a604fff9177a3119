"""Images beside columns: a model alone, and behind a server that reads a bucket."""

import base64
import json

import cv2
import numpy as np
import pandas as pd
import pytest

from tests.trainer.serving.image_rows import ORDINARY, PHOTO, SCALE, SCAN, save
from tests.trainer.serving.served import served
from trainer import images
from trainer.images import Scale
from trainer.serving import frames
from trainer.serving.errors import InvalidRequestError
from trainer.serving.frames import FrameError
from trainer.serving.image_values import ImageAddress
from trainer.serving.limits import MAX_EXPLAINED_VALUES
from trainer.serving.model import Model
from trainer.serving.parameters import Explain

BUCKET = "serving-image-rows"
AGE = "Alter in Jahren"
DICE = np.random.default_rng(5)


def photo(size=PHOTO[:2], kind=".png"):
    return cv2.imencode(kind, DICE.integers(0, 256, (*size, 3), dtype=np.uint8))[1].tobytes()


def scan():
    return cv2.imencode(".png", DICE.integers(0, 4096, (9, 5), dtype=np.uint16))[1].tobytes()


def b64(data):
    return {"b64": base64.b64encode(data).decode()}


def parts(photo_file, scan_file, age, site):
    """What each column adds to the value, by the model's formula and the export's decoder."""
    of_photo = images.pixels(photo_file, PHOTO, "letterbox").astype(float).mean()
    of_scan = images.pixels(scan_file, SCAN, "stretch", Scale.parse(SCALE)).astype(float).mean()
    return {
        "photo": 3 * of_photo / 255,
        AGE: age / 10,
        "scan": 2 * of_scan / 65535,
        "site": 5.0 * (site == "left"),
    }


ORDINARY_PARTS = {
    "photo": 3 * ORDINARY["photo"] / 255,
    AGE: ORDINARY["age"] / 10,
    "scan": 2 * ORDINARY["scan"] / 65535,
    "site": 0.0,
}
EXAMPLES = [
    (photo(), scan(), 63.0, "left"),
    (photo((40, 90), ".jpg"), scan(), 20.0, "right"),
    (photo((3, 3), ".webp"), scan(), 7.5, "left"),
]


def instance(photo_file, scan_file, age, site):
    return {"photo": b64(photo_file), AGE: age, "scan": b64(scan_file), "site": site}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save(tmp_path_factory.mktemp("image_rows") / "model")


@pytest.fixture(scope="module")
def model(folder):
    return Model.load(folder)


@pytest.fixture(scope="module")
def ask(local_gcp, folder):
    """A function: instances, parameters -> status and document of a server."""
    bucket = local_gcp.buckets / BUCKET
    bucket.mkdir(exist_ok=True)
    for number, (data, *_) in enumerate(EXAMPLES):
        (bucket / f"{number}.png").write_bytes(data)
    (bucket / "text.png").write_bytes(b"no image at all")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in local_gcp.client_env.items():
            patch.setenv(name, value)
        with served(folder, (f"gs://{BUCKET}/",)) as ask:
            yield ask


def read(model, *instances):
    return model.rows.read(json.dumps({"instances": instances}).encode()).instances


def violations(model, *instances):
    with pytest.raises(InvalidRequestError) as raised:
        read(model, *instances)
    return {violation.field: violation.description for violation in raised.value.violations}


def test_a_row_has_the_files_of_its_images_or_their_addresses(model):
    example = instance(*EXAMPLES[0])
    (row,) = read(model, example | {"scan": "gs://bucket/scans/1.png"})
    data, age, address, site = row.values
    assert (data.data, age, address, site) == (
        EXAMPLES[0][0],
        63.0,
        ImageAddress("bucket", "scans/1.png"),
        b"left",
    )
    assert (data.path, address.path) == ("photo", "scan"), "as messages name them"


def test_a_row_costs_its_pixels_and_its_values(model):
    (row,) = read(model, instance(photo((20, 30)), scan(), 1, "x"))
    # A pixel of 16 bits takes as much memory as one of 8 bits and three colours.
    assert row.cost == 20 * 30 + 9 * 5 + 2


@pytest.mark.parametrize(
    ("changed", "field", "reason"),
    [
        ({"photo": None}, "photo", "got nothing"),
        ({"photo": 7}, "photo", "got the value 7"),
        ({"photo": {"image_bytes": {"b64": ""}}}, "photo", "with image_bytes"),
        ({"photo": {"b64": "no!"}}, "photo.b64", "not base64"),
        ({"photo": b64(b"text")}, "photo", "not an image"),
        ({"scan": ""}, "scan", "gs://"),
        ({"scan": "gs://bucket/folder/"}, "scan", "names a folder"),
        ({"scan": "https://x/y.png"}, "scan", "gs://"),
        ({"foto": "gs://bucket/1.png"}, "foto", "did you mean photo?"),
    ],
)
def test_what_is_wrong_with_an_image_is_said_of_its_field(model, changed, field, reason):
    good = instance(*EXAMPLES[0])
    found = violations(model, good, good | changed)
    assert reason in found[f"instances[1].{field}"]


def test_an_image_that_is_not_there_has_no_null_to_use(model):
    found = violations(model, {"photo": b64(EXAMPLES[0][0]), AGE: None})
    assert "null" in found["instances[0].site"]
    assert found["instances[0].scan"] == "missing"


def test_a_server_answers_by_the_pixels_and_the_columns(ask):
    status, document = ask(*(instance(*example) for example in EXAMPLES))
    assert status == 200, document
    values = [prediction["value"] for prediction in document["predictions"]]
    expected = [sum(parts(*example).values()) for example in EXAMPLES]
    np.testing.assert_allclose(values, expected, rtol=1e-6)
    assert np.ptp(values) > 0.1


def test_addresses_and_files_may_be_mixed(ask):
    by_address = [
        instance(*example) | {"photo": f"gs://{BUCKET}/{number}.png"}
        for number, example in enumerate(EXAMPLES)
    ]
    given = [instance(*EXAMPLES[0]), *by_address]
    status, document = ask(*given)
    assert status == 200, document
    first, *others = (prediction["value"] for prediction in document["predictions"])
    expected = [sum(parts(*example).values()) for example in EXAMPLES]
    np.testing.assert_allclose(others, expected, rtol=1e-6)
    assert first == others[0]


CUT = EXAMPLES[1][0][:-200]  # its header is whole


@pytest.mark.parametrize(
    ("changed", "fields"),
    [
        ({"photo": f"gs://{BUCKET}/none.png"}, ["photo"]),
        ({"photo": f"gs://{BUCKET}/text.png"}, ["photo"]),
        ({"scan": "gs://another/1.png"}, ["scan"]),
        ({"photo": f"gs://{BUCKET}/none.png", "scan": "gs://another/1.png"}, ["photo", "scan"]),
        ({"photo": b64(CUT)}, ["photo"]),
        ({"photo": b64(CUT), "scan": b64(CUT)}, ["photo", "scan"]),
    ],
)
def test_an_image_that_cannot_be_read_is_named(ask, changed, fields):
    good = instance(*EXAMPLES[0])
    status, document = ask(good, good | changed)
    assert status == 400
    found = document["error"]["details"][0]["fieldViolations"]
    assert [one["field"] for one in found] == [f"instances[1].{field}" for field in fields]
    status, document = ask(good, good | changed, each=True)
    assert status == 200
    kept, refused = document["predictions"]
    assert kept["value"] == pytest.approx(sum(parts(*EXAMPLES[0]).values()))
    assert all(field in refused["error"] for field in fields)


def shares(explanation):
    """Pixels' attributions of each image."""
    found = {}
    for name, one in explanation["pixels"].items():
        png = np.frombuffer(base64.b64decode(one["attributions"]["b64"]), np.uint8)
        values = cv2.imdecode(png, cv2.IMREAD_UNCHANGED).astype(float)
        found[name] = (values - 32768) / 32767 * one["attributions"]["scale"]
    return found


@pytest.mark.parametrize(
    ("how", "baseline"),
    [
        ({}, ORDINARY_PARTS),
        ({"baseline": "white"}, ORDINARY_PARTS | {"photo": 3, "scan": 2}),
        ({"paths": 4, "steps": 16, "baseline": "black"}, ORDINARY_PARTS | {"photo": 0, "scan": 0}),
    ],
)
def test_each_column_each_image_and_each_pixel_has_its_share_of_a_sum(ask, how, baseline):
    status, document = ask(instance(*EXAMPLES[0]), explain=how)
    assert status == 200, document
    (prediction,) = document["predictions"]
    found, own = prediction["explanation"], parts(*EXAMPLES[0])
    assert found["score"] == pytest.approx(prediction["value"])
    assert found["baseline_score"] == pytest.approx(sum(baseline.values()), abs=1e-3)
    expected = {name: own[name] - baseline[name] for name in own}
    assert found["attributions"] == pytest.approx(expected, abs=1e-3)
    assert list(found["attributions"]) == list(own)
    of_pixels = shares(found)
    assert [of_pixels[name].shape for name in ("photo", "scan")] == [PHOTO[:2], SCAN[:2]]
    for name, values in of_pixels.items():
        one = found["pixels"][name]
        assert one["score"] == pytest.approx(found["score"])
        # All else stays: what moves is the image's part alone.
        assert one["baseline_score"] == pytest.approx(found["score"] - expected[name], abs=1e-3)
        assert values.sum() == pytest.approx(expected[name], abs=2e-3)
        assert one["approximation_error"] < 2e-3


def test_pixels_have_the_share_of_their_distance(ask):
    """The model knows the mean alone: a pixel counts by how far it is from the baseline."""
    _, document = ask(instance(*EXAMPLES[0]), explain={})
    found = shares(document["predictions"][0]["explanation"])["photo"]
    seen = images.pixels(EXAMPLES[0][0], PHOTO, "letterbox").astype(float)
    distances = (seen - ORDINARY["photo"]).sum(axis=-1)
    np.testing.assert_allclose(found, 3 / 255 * distances / seen.size, atol=1e-4)


def test_an_options_value_that_no_explanation_has_is_refused(ask):
    status, document = ask(instance(*EXAMPLES[0]), explain={"path": 4})
    assert status == 400
    assert "class, paths, steps, baseline" in document["error"]["message"]


def test_the_work_of_an_explanation_is_of_its_pixels_too(model):
    (row,) = read(model, instance(*EXAMPLES[0]))
    pixels = PHOTO[0] * PHOTO[1] + SCAN[0] * SCAN[1]
    short, long = (model.explainer.work(row, Explain(steps=steps)) for steps in (16, 116))
    assert long - short == 4 * 100 * pixels
    few, many = (model.explainer.work(row, Explain(paths=paths)) for paths in (4, 24))
    assert many - few == 20 * 3 * (pixels + 2)
    assert many < MAX_EXPLAINED_VALUES


def test_a_frame_is_answered_as_by_the_endpoint(model, ask, tmp_path):
    paths = [tmp_path / f"{number}.png" for number in range(len(EXAMPLES))]
    for path, (data, *_) in zip(paths, EXAMPLES, strict=True):
        path.write_bytes(data)
    bucket = {f"gs://b/{number}": data for number, (data, *_) in enumerate(EXAMPLES)}
    _, document = ask(*(instance(*example) for example in EXAMPLES))
    told = [prediction["value"] for prediction in document["predictions"]]
    for photos in (list(bucket), paths, list(map(str, paths)), [data for data, *_ in EXAMPLES]):
        frame = pd.DataFrame(EXAMPLES, columns=["photo", "scan", AGE, "site"])
        frame = frame.assign(photo=photos, key=1)[::-1]
        found = frames.predict(model, frame, bucket.__getitem__)
        np.testing.assert_allclose(found["predicted"], told[::-1], rtol=1e-6)
        assert list(found.index) == list(frame.index)


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        (None, "no image"),
        (float("nan"), "no image"),
        (b"text", "not an image"),
        (7, "a value of type int"),
        ("nowhere.png", "No such file"),
    ],
)
def test_an_image_of_a_frame_that_cannot_be_read_is_named(model, cell, reason):
    frame = pd.DataFrame(EXAMPLES, columns=["photo", "scan", AGE, "site"])
    frame["photo"] = pd.Series([EXAMPLES[0][0], cell, EXAMPLES[0][0]], dtype=object)
    with pytest.raises(FrameError, match=f"row 1, photo: .*{reason}"):
        frames.predict(model, frame, {}.__getitem__)
