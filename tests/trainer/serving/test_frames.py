"""A frame of the source's rows gets the answers of the endpoint: a server of the same model."""

import datetime
import decimal
import re
import zoneinfo

import cv2
import keras
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trainer.serving.conftest import brightness_model, exported
from tests.trainer.serving.images import seen, sent
from tests.trainer.serving.served import served
from trainer.models import inputs
from trainer.serving import frames
from trainer.serving.frames import FrameError
from trainer.serving.model import Model
from trellis_contracts.dataset_features import Feature, Label, Statistics
from trellis_contracts.tasks import MULTILABEL, REGRESSION


@pytest.fixture(scope="module")
def folder(row_models):
    return row_models("binary_classification")


@pytest.fixture(scope="module")
def model(folder):
    return Model.load(folder)


@pytest.fixture(scope="module")
def endpoint(folder):
    """A function: instances -> the predictions of a server of the same model."""
    with served(folder) as ask:
        yield lambda instances: answered(ask, instances)


def answered(ask, instances):
    status, document = ask(*instances)
    assert status == 200, document
    return document["predictions"]


def predict(model, frame):
    return frames.predict(model, frame, fetch=None)


def agree(found, predictions):
    """Check that a frame of predictions is what the endpoint answered."""
    assert len(found) == len(predictions)
    assert list(found["predicted"]) == [p["label"] for p in predictions]
    for name in predictions[0]["probabilities"]:
        told = [p["probabilities"][name] for p in predictions]
        np.testing.assert_allclose(found[f"p.{name}"], told, atol=1e-6)


PLAIN = {
    "size": 1e6,
    "class": 0.5,
    "smoker": True,
    "site": "rechts",
    "_ward": "w7",
    "taken": "2024-02-29T12:00:00Z",
    "pulse": [61.0, 58.5, None],
    "note": "kein Befund",
}
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
NOON = datetime.datetime(2024, 2, 29, 12)
UTC = "2024-02-29T12:00:00Z"
MIDNIGHT = "2024-02-29T00:00:00Z"


@pytest.mark.parametrize(
    ("name", "column", "instances"),
    [
        ("taken", pd.Series([NOON, pd.NaT]).astype("datetime64[s]"), [UTC, None]),
        ("taken", pd.Series([NOON, pd.NaT]).astype("datetime64[ms]"), [UTC, None]),
        ("taken", pd.Series([NOON, pd.NaT]).astype("datetime64[us]"), [UTC, None]),
        ("taken", pd.Series([NOON, pd.NaT]).astype("datetime64[ns]"), [UTC, None]),
        (
            "taken",
            pd.Series([NOON, None]).dt.tz_localize(BERLIN),
            ["2024-02-29T12:00:00+01:00", None],
        ),
        ("taken", pd.Series([NOON, None]).dt.tz_localize("UTC").dt.tz_convert(BERLIN), [UTC, None]),
        ("taken", pd.Series([NOON.date(), None], dtype=object), [MIDNIGHT, None]),
        ("taken", pd.Series([NOON, UTC], dtype=object), [UTC, UTC]),
        ("taken", pd.Series([np.datetime64(NOON, "ns"), None], dtype=object), [UTC, None]),
        (
            "taken",
            pd.Series(np.array(["0001-01-01", "9999-12-31"], "datetime64[s]")),
            ["0001-01-01", "9999-12-31"],
        ),
        ("size", pd.Series([decimal.Decimal("999999.5"), None]), ["999999.5", None]),
        ("size", pd.Series([1000004, None], dtype="Int64"), [1000004, None]),
        ("size", pd.Series([1000004, 999999], dtype="int32"), [1000004, 999999]),
        ("size", pd.Series([0.5, np.nan], dtype="float32"), [0.5, None]),
        ("size", pd.Series(["1000004.5", None], dtype=object), ["1000004.5", None]),
        ("smoker", pd.Series([False, None], dtype=object), [False, None]),
        ("smoker", pd.Series([False, None], dtype="boolean"), [False, None]),
        ("smoker", pd.Series([False, True]), [False, True]),
        ("site", pd.Series(["links", None]), ["links", None]),
        ("site", pd.Series(["links", None], dtype="category"), ["links", None]),
        ("site", pd.Series(["", "never seen"]), ["", "never seen"]),
        ("_ward", pd.Series([30, None]), ["30", None]),
        ("_ward", pd.Series([30, 7]), ["30", "7"]),
        ("pulse", pd.Series([np.array([60.0, np.nan]), None], dtype=object), [[60, None], None]),
        ("pulse", pd.Series([(60, 70), []], dtype=object), [[60, 70], []]),
        ("pulse", pd.Series([[decimal.Decimal(60)], np.nan], dtype=object), [[60], None]),
        ("note", pd.Series(["Größe 2,5 cm", None]), ["Größe 2,5 cm", None]),
    ],
)
def test_each_kind_of_value_is_what_the_endpoint_takes(model, endpoint, name, column, instances):
    frame = pd.DataFrame({key: [value] * 2 for key, value in PLAIN.items() if key != name})
    frame[name] = column
    found = predict(model, frame)
    agree(found, endpoint([PLAIN | {name: value} for value in instances]))


moments = st.datetimes(timezones=st.timezones() | st.none()) | st.dates() | st.none()


@settings(max_examples=40)
@given(st.lists(moments, min_size=1, max_size=20))
def test_any_moment_is_the_one_that_a_request_writes(model, moments):
    """By the model's reader: what the endpoint makes of the ISO text."""
    column = pd.Series(moments, dtype=object)
    field = next(field for field in model.rows.fields if field.name == "taken")
    wrong = []
    found = frames._values(field, column, wrong)
    texts = [None if moment is None else moment.isoformat() for moment in moments]
    assert (found, wrong) == ([field.read(text) for text in texts], [])


def test_the_frame_keeps_its_index_and_may_have_other_columns(model):
    frame = pd.DataFrame([PLAIN] * 300, index=[f"k{n}" for n in range(300)])
    frame = frame.assign(key="x", label=1, other=None)[::-1]
    frame.columns = [name.upper() for name in frame.columns]
    found = predict(model, frame)
    assert found.index.equals(frame.index)
    assert found.isna().sum().sum() == 0


def test_a_frame_without_rows_has_no_predictions(model):
    found = predict(model, pd.DataFrame([PLAIN])[:0])
    assert len(found) == 0
    assert "predicted" in found


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"taken": 1709208000}, "row 0, taken: expected a time"),
        ({"smoker": 1.0}, "row 0, smoker: expected true, false or null"),
        ({"site": 1.5}, "row 0, site: expected a string"),
        ({"site": b"links"}, "row 0, site: a value of type bytes is none of a categorical feature"),
        ({"size": True}, "row 0, size: expected a number"),
        ({"size": float("inf")}, "row 0, size: inf is out of the range"),
        ({"note": 5}, "row 0, note: expected a string"),
        ({"taken": pd.Timedelta(1)}, "row 0, taken: "),
    ],
)
def test_a_value_that_the_endpoint_refuses_is_named(model, changed, message):
    with pytest.raises(FrameError, match=re.escape(message)):
        predict(model, pd.DataFrame([PLAIN | changed]))


def test_columns_that_are_not_there_or_twice_are_named(model):
    frame = pd.DataFrame([PLAIN]).rename(columns={"smoker": "smokr"})
    with pytest.raises(FrameError, match=r"'smoker'.*'smokr'"):
        predict(model, frame)
    with pytest.raises(FrameError, match="2 columns are called 'size'"):
        predict(model, pd.DataFrame([PLAIN | {"SIZE": 1}]))


def test_the_raw_signature_takes_what_the_page_says(model):
    """docs/how-to/results.md: microseconds, 0 and 1, and each kind's own NULL."""
    known = {"size": 1e6, "class": np.nan, "smoker": 1.0, "site": b"rechts", "_ward": b"\xff"}
    known |= {"taken": 1709208000 * 10**6, "pulse": [61.0], "note": b"\xff"}
    unknown = known | {"size": np.nan, "smoker": np.nan, "taken": -(2**63), "note": b"kein Befund"}
    inputs = {
        field.input: np.array([known[field.name], unknown[field.name]])
        for field in model.rows.fields
    }
    answers = model.answers(inputs)
    null = dict.fromkeys(("class", "_ward", "note"))
    rows = [PLAIN | null | {"pulse": [61.0]}]
    rows.append(rows[0] | {"size": None, "smoker": None, "taken": None, "note": "kein Befund"})
    found = predict(model, pd.DataFrame(rows))
    np.testing.assert_allclose(answers["probabilities"], found[["p.0", "p.1"]], atol=1e-6)
    assert found["p.0"].diff().abs().iloc[1] > 1e-4


def test_several_classes_are_a_tuple(tmp_path):
    image = Feature("image", "image", "uint8", "png", (8, 8, 1))
    folder = exported(brightness_model, (image,), tmp_path / "model", MULTILABEL)
    files = [
        cv2.imencode(".png", np.full((8, 8), grey, np.uint8))[1].tobytes() for grey in (0, 255)
    ]
    model = Model.load(folder)
    found = frames.predict(model, pd.DataFrame({"image": files}, index=["a", "b"]), None)
    (dark, light) = model.predict([seen(model, data) for data in files])
    assert list(found["predicted"]) == [tuple(dark["labels"]), tuple(light["labels"])]
    assert found["predicted"]["b"] != found["predicted"]["a"]
    assert found.loc["b", "p.light"] == light["probabilities"]["light"]


def test_a_regression_has_the_value_that_the_model_answers(tmp_path):
    def brightness(dataset):
        row = inputs.table(dataset, embedding=1)
        x = keras.layers.GlobalAveragePooling2D()(row.images["image"])
        return keras.Model(row.inputs, keras.layers.Dense(1, kernel_initializer="ones")(x))

    image = Feature("image", "image", "uint8", "png", (8, 8, 1))
    # From -1 to 1 standard deviations.
    label = Label(statistics=Statistics(9, 0, 40.0, 5.0, 30.0, 50.0, ()))
    model = Model.load(exported(brightness, (image,), tmp_path / "model", REGRESSION, label))
    files = [
        cv2.imencode(".png", np.full((8, 8), grey, np.uint8))[1].tobytes() for grey in (0, 255)
    ]
    found = frames.predict(model, pd.DataFrame({"image": files}, index=["a", "b"]), None)
    told = model.predict([seen(model, data) for data in files])
    assert found.to_dict("index") == {
        name: {"predicted": answer["value"]} for name, answer in zip("ab", told, strict=True)
    }
    assert found["predicted"].to_list() == pytest.approx([35, 45])


def test_images_by_bytes_and_by_address(model_folder):
    model = Model.load(model_folder)
    random = np.random.default_rng(0)
    kinds = (".png", ".jpeg", ".tiff", ".webp")
    files = [
        cv2.imencode(kind, random.integers(0, 256, (30, 40, 3), dtype=np.uint8))[1].tobytes()
        for kind in kinds
    ]
    bucket = {f"gs://b/{number}": data for number, data in enumerate(files)}
    with served(model_folder) as ask:
        told = answered(ask, [sent(data) for data in files])
    for frame in (
        pd.DataFrame({"image": files}),
        pd.DataFrame({"Image": list(bucket)}),
        pd.DataFrame({"image": [*bucket][:2] + files[2:]}),
    ):
        agree(frames.predict(model, frame, bucket.__getitem__), told)
    for frame, message in (
        (pd.DataFrame({"file": files}), "there is no column 'image'"),
        (pd.DataFrame({"image": ["seven.png"]}), "row 0, image: .*No such file"),
        (pd.DataFrame({"image": [b"GIF"]}), "row 0, image: not an image"),
    ):
        with pytest.raises(FrameError, match=message):
            frames.predict(model, frame, bucket.__getitem__)
