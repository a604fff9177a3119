"""The SavedModel of rows with images: files or pixels in, answers and gradients out."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from testbed.predicting import predict
from testbed.tables import mixed_rows, png, write_table
from trainer import dataset_description, models
from trainer.training import records, saved_model
from trellis_contracts.dataset_features import IMAGE, NUMERIC
from trellis_contracts.hyperparameters import Hyperparameters

COUNT = 40
PHOTO, SCAN = (16, 12, 3), (8, 8, 1)


@pytest.fixture(scope="module")
def raw():
    """Columns of five kinds, images of 8 and 16 bits, and a column by a name that is in use."""
    random = np.random.default_rng(5)
    columns, labels = mixed_rows(COUNT)
    columns = {name: columns[name] for name in ("site", "taken", "pulse", "note")}
    photos = random.integers(0, 256, (COUNT, *PHOTO), np.uint8)
    scans = random.integers(0, 65_536, (COUNT, *SCAN), np.uint16)
    columns |= {"photo": (IMAGE, list(photos)), "scan": (IMAGE, list(scans))}
    columns["index"] = (NUMERIC, random.normal(0, 1, COUNT).tolist())
    return columns, labels


@pytest.fixture(scope="module")
def address(raw, tmp_path_factory):
    files = {"train": [30], "validation": [4], "test": [6]}
    return write_table(tmp_path_factory.mktemp("d") / "rows", *raw, files=files)


@pytest.fixture(scope="module")
def dataset(address):
    return dataset_description.load(address)


@pytest.fixture(
    scope="module", params=["convolutional", pytest.param("dense", marks=pytest.mark.slow)]
)
def exported(request, dataset, tmp_path_factory):
    """A model, and the signatures of its SavedModel."""
    keras.utils.set_random_seed(1)
    model = models.build(request.param, dataset, Hyperparameters(blocks=2, filters=4))
    folder = tmp_path_factory.mktemp("export") / "model"
    saved_model.export(model, dataset, folder)
    return model, tf.saved_model.load(str(folder))


def stored(address, dataset):
    (path,) = dataset.uris(address, "test")
    return tf.constant([record.numpy() for record in tf.data.TFRecordDataset(path)])


def requested(raw, dataset, loaded, *, files):
    """The test split's rows as the signatures take them."""
    nulls = {"numeric": np.nan, "boolean": np.nan, "timestamp": -(2**63)}
    known = {name: value.numpy() for name, value in loaded.signatures["features"]().items()}
    found = {}
    for column, kind, name in zip(known["column"], known["kind"], known["input"], strict=True):
        values = raw[0][column.decode()][1][34:]
        kind, name = kind.decode(), name.decode()
        if kind == "image":
            found[name] = tf.constant([png(v) for v in values] if files else np.stack(values))
        elif kind == "sequence":
            longest = max(len(value or []) for value in values)
            padded = [[*(v or []), *[np.nan] * (longest - len(v or []))] for v in values]
            found[name] = tf.constant(padded, tf.float64)
        elif kind in ("categorical", "text"):
            found[name] = tf.constant([b"\xff" if v is None else v.encode() for v in values])
        else:
            dtype = tf.int64 if kind == "timestamp" else tf.float64
            found[name] = tf.constant([nulls[kind] if v is None else v for v in values], dtype)
    return found


def test_files_pixels_and_records_of_a_row_have_one_answer(exported, raw, dataset, address):
    model, loaded = exported
    signatures, examples = loaded.signatures, stored(address, dataset)
    inputs = records.Records(dataset, [t.name for t in model.inputs]).parse(examples)[0]
    wanted = tf.nn.softmax(model(inputs)).numpy()
    answers = [
        signatures["stored"](examples=examples),
        signatures["serving_default"](**requested(raw, dataset, loaded, files=True)),
        signatures["pixels"](**requested(raw, dataset, loaded, files=False)),
    ]
    for answer in answers:
        np.testing.assert_allclose(answer["probabilities"], wanted, atol=1e-6)


def test_predictions_of_a_split_are_the_models(exported, dataset, address):
    model, _ = exported
    inputs = records.Records(dataset, [t.name for t in model.inputs]).parse(
        stored(address, dataset)
    )[0]
    keys, _, probabilities = predict(model, address, dataset, "test")
    assert keys.tolist() == [str(row) for row in range(34, 40)]
    np.testing.assert_allclose(probabilities, tf.nn.softmax(model(inputs)), atol=1e-6)


def test_it_tells_how_files_become_the_pixels_of_each_image_column(exported):
    _, loaded = exported
    images = {name: value.numpy() for name, value in loaded.signatures["images"]().items()}
    assert images["input"].tolist() == [b"photo", b"scan"]
    assert images["resize"].tolist() == [b"stretch", b"stretch"]
    assert images["scale"].tolist() == [b"", b"full"]
    specs = loaded.signatures["pixels"].structured_input_signature[1]
    assert (specs["photo"].shape.as_list(), specs["photo"].dtype) == ([None, *PHOTO], tf.uint8)
    assert (specs["scan"].shape.as_list(), specs["scan"].dtype) == ([None, *SCAN], tf.uint16)
    assert "index" not in specs


def test_the_ordinary_row_has_black_images(exported):
    _, loaded = exported
    row = loaded.signatures["ordinary"]()
    assert not row["photo"].numpy().any()
    assert row["photo"].shape == (1, *PHOTO)
    assert loaded.signatures["pixels"](**row)["probabilities"].shape == (1, 2)


def test_a_gradient_predicts_what_a_small_change_of_an_image_does(exported, raw, dataset):
    model, loaded = exported
    ask = loaded.signatures["gradient"]
    row = requested(raw, dataset, loaded, files=False)
    row |= {name: tf.cast(row[name], tf.float32) for name in ("photo", "scan")}
    index = tf.constant([1, 0, 1, 0, 1, 0], tf.int64)
    found = ask(index=index, **row)
    for name, unit in (("photo", 0.02), ("scan", 4.0)):  # of 255, and of 65,535
        slope = found[f"gradient/{name}"].numpy()
        if f"image_{name}" not in {tensor.name for tensor in model.inputs}:
            assert not slope.any()
            continue
        way = unit * np.sign(slope)
        ahead = ask(index=index, **{**row, name: row[name] + way})["score"]
        behind = ask(index=index, **{**row, name: row[name] - way})["score"]
        rise = (slope * 2 * way).sum(axis=(1, 2, 3))
        np.testing.assert_allclose(ahead - behind, rise, rtol=0.1, atol=5e-7)
