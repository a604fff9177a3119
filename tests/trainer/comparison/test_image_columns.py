"""Images beside columns: examples as callers send them, and a served model on a later dataset."""

import base64
import dataclasses
import json
import re
import shutil
from pathlib import Path

import cv2
import google_crc32c
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tensorflow as tf

from tests.trainer.comparison.plans import plan_of
from tests.trainer.raw_tables import write_with_source
from tests.trainer.serving.image_rows import PHOTO, SCALE, SCAN, save
from tests.withheld import refuses
from trainer import dataset_description, images
from trainer.comparison import challenger, importance, originals
from trainer.comparison.held_out_split import read_held_out_split
from trainer.comparison.raw_examples import RawExamplesError
from trainer.comparison.run_folder import Contender, Run
from trainer.comparison.scoreboard import metric_named
from trainer.comparison.scoring import ScoreError, score
from trainer.images import Scale
from trainer.prediction_forms.regression import Values
from trellis_contracts.challenger import Challenger
from trellis_contracts.tasks import REGRESSION

BUCKET = "image-columns"
ROWS, TEST = 30, 12
FILES = {"train": [13], "validation": [5], "test": [8, 4]}
KEYS = [str(row) for row in range(ROWS - TEST, ROWS)]
DICE = np.random.default_rng(3)


def picture(shape, top, type_):
    """A PNG file of noise, dark or bright."""
    brightest = DICE.integers(top // 16, top)
    return cv2.imencode(".png", DICE.integers(0, brightest, shape, dtype=type_))[1].tobytes()


def png(pixels):
    order = cv2.COLOR_RGB2BGR if pixels.shape[-1] == 3 else None
    return cv2.imencode(".png", pixels if order is None else cv2.cvtColor(pixels, order))[
        1
    ].tobytes()


FORMS = {"photo": (PHOTO, "letterbox", None), "scan": (SCAN, "stretch", SCALE)}


def seen(name, data):
    """An image as the dataset stores it."""
    shape, resize, scale = FORMS[name]
    return images.pixels(data, shape, resize, Scale.parse(scale) if scale else None)


def value(files, age, site):
    """The answer of tests.trainer.serving.image_rows."""
    photo, scan = (seen(name, files[name]).astype(float).mean() for name in FORMS)
    return 3 * photo / 255 + 2 * scan / 65535 + age / 10 + 5 * (site == "left")


class Dataset:
    """A dataset of the columns age and site, and two columns of images, in a mounted bucket.

    files: by row, then by column. sizes: of the photos in the dataset.
    """

    def __init__(self, root, name="d", photo=PHOTO):
        self.root = root
        folder = root / BUCKET
        ages = [float(age) for age in DICE.integers(1, 99, ROWS)]
        sites = [("left", "right")[row % 2] for row in range(ROWS)]
        self.files = [
            {
                "photo": picture((9 + row, 20, 3), 256, np.uint8),
                "scan": picture((7, 5), 4096, np.uint16),
            }
            for row in range(ROWS)
        ]
        self.values = [value(*row) for row in zip(self.files, ages, sites, strict=True)]
        columns = {"age": ("numeric", ages), "site": ("categorical", sites)}
        self.address = write_with_source(
            folder / name, columns, self.values, FILES, task="regression"
        )
        self.uris = [
            {column: f"gs://{BUCKET}/{name}-files/{row}-{column}.png" for column in FORMS}
            for row in range(ROWS)
        ]
        for row in range(ROWS):
            for column, data in self.files[row].items():
                path = self.path(row, column)
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(data)
        self._add_images(Path(self.address), photo)

    def path(self, row, column):
        return self.root / self.uris[row][column].removeprefix("gs://")

    def _add_images(self, folder, photo):
        """Add the images to the table's records, rows and description."""
        for path in folder.glob("test-*-of-*"):
            records = [
                tf.train.Example.FromString(r.numpy()) for r in tf.data.TFRecordDataset(path)
            ]
            with tf.io.TFRecordWriter(str(path)) as writer:
                for record in records:
                    self._add(record.features.feature)
                    writer.write(record.SerializeToString())
        for path in folder.glob("source/rows-*.parquet"):
            rows = pq.read_table(path)
            keys = list(map(int, rows["key"].to_pylist()))
            for column in FORMS:
                uris = [self.uris[key][column] for key in keys]
                rows = rows.append_column(column, pa.array(uris, pa.string()))
            pq.write_table(rows, path)
        described = json.loads((folder / "dataset.json").read_text())
        for column, (shape, resize, scale) in FORMS.items():
            feature = {"name": column, "column": column, "kind": "image", "encoding": "png"}
            feature |= {"rule": 2, "dtype": "uint16" if scale else "uint8", "resize": resize}
            size = photo if column == "photo" else shape
            feature |= {"shape": list(size)} | ({"scale": scale} if scale else {})
            described["features"].append(feature)
        age = next(one for one in described["features"] if one["column"] == "age")
        age["name"] = "Alter in Jahren"
        (folder / "dataset.json").write_text(json.dumps(described))

    def _add(self, features):
        row = int(features["key"].bytes_list.value[0])
        for column, data in self.files[row].items():
            stored = png(seen(column, data))
            features[f"image/{column}"].bytes_list.value.append(stored)
            features[f"uri/{column}"].bytes_list.value.append(self.uris[row][column].encode())
            features[f"crc32c/{column}"].int64_list.value.append(google_crc32c.value(data))

    @property
    def description(self):
        return dataset_description.load(self.address)

    def run(self):
        """A run with one training that is always right."""
        predicted = Values(np.array(KEYS, object), *[np.array(self.values[-TEST:])] * 2)
        training = Contender("training/1", "training", "gs://b/training/1/", predictions=predicted)
        return Run("gs://b/run/", plan_of(self.address), self.description, None, [training])


@pytest.fixture
def dataset(tmp_path, monkeypatch):
    monkeypatch.setenv("GCS_ROOT", str(tmp_path))
    return Dataset(tmp_path)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(save(tmp_path_factory.mktemp("model") / "model"))


def of(dataset, count=TEST):
    run = dataset.run()
    return Challenger.parse(challenger.of(run, run.contenders[0], count).to_json("c"), "c")


def test_examples_have_their_columns_and_the_files_of_their_images(dataset):
    made = of(dataset)
    assert [example.key for example in made.examples] == sorted(KEYS)
    assert made.images == ("photo", "scan")
    by_address = []
    for example in made.examples:
        row = int(example.key)
        assert example.instance["site"] == ("left", "right")[row % 2]
        assert example.instance["Alter in Jahren"] > 0
        assert example.prediction == {"value": dataset.values[row]}
        addresses = made.addresses(example)
        by_address.append(bool(addresses))
        if addresses:
            assert addresses == list(dataset.uris[row].values())
            continue
        for column, data in dataset.files[row].items():
            assert base64.b64decode(example.instance[column]["b64"]) == data
    assert by_address == [False, True, False, False] * (TEST // 4)


def test_an_example_one_of_whose_files_is_another_is_left_out(dataset):
    dataset.path(20, "scan").write_bytes(dataset.files[21]["scan"])
    dataset.path(23, "photo").unlink()
    assert {example.key for example in of(dataset).examples} == {*KEYS} - {"20", "23"}
    for key in KEYS:
        dataset.path(int(key), "photo").unlink(missing_ok=True)
    with pytest.raises(RawExamplesError, match=r"none of 12 examples .*: the file"):
        of(dataset)


def test_an_example_that_no_request_can_carry_is_named_by_its_addresses(dataset, monkeypatch):
    monkeypatch.setattr(challenger, "_LARGEST", 600)
    made = of(dataset)
    assert len(made.examples) == TEST
    assert all(made.addresses(example) for example in made.examples)


def test_images_are_found_by_key_in_any_order(dataset):
    found = originals.ImagesByKey(dataset.address, dataset.description)
    for key in reversed(KEYS):
        images_ = found[key].images
        assert {name: image.uri for name, image in images_.items()} == dataset.uris[int(key)]
        assert {name: image.original() for name, image in images_.items()} == dataset.files[
            int(key)
        ]


def test_a_model_is_scored_by_the_stored_images_and_the_columns(dataset, model):
    for path in (dataset.root / BUCKET / "d-files").iterdir():
        path.unlink()
    found = score(model, dataset.address, dataset.description)
    order = np.argsort(found.keys)
    np.testing.assert_allclose(found.values[order], dataset.values[-TEST:], rtol=1e-6)


def test_a_row_that_the_export_has_rejected_is_no_example(dataset, model):
    (path, *_) = Path(dataset.address).glob("test-*-of-*")
    kept = [record.numpy() for record in tf.data.TFRecordDataset(str(path))][1:]
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in kept:
            writer.write(record)
    found = score(model, dataset.address, dataset.description)
    assert len(found.keys) == TEST - 1
    expected = {key: dataset.values[int(key)] for key in KEYS}
    assert found.values.tolist() == pytest.approx([expected[key] for key in found.keys])


def test_each_column_matters_to_a_sum_by_its_spread(dataset, model, tmp_path):
    run = dataset.run()
    (training,) = run.contenders
    folder = tmp_path / "training"
    shutil.copytree(model, folder / "model")
    training = dataclasses.replace(training, uri=f"{folder}/")
    split = read_held_out_split(dataset.address, run.dataset)
    found = importance.measure(run, training, split, metric_named("rmse", REGRESSION))
    values = {one.feature: one.value for one in found.features}
    assert {*list(values)[:2]} == {"Alter in Jahren", "site"}
    assert {*values} == {"photo", "scan", "Alter in Jahren", "site"}
    assert min(values.values()) > 0


def test_of_another_size_it_is_scored_by_the_files(tmp_path, monkeypatch, model):
    monkeypatch.setenv("GCS_ROOT", str(tmp_path))
    dataset = Dataset(tmp_path, photo=(4, 4, 3))
    found = score(model, dataset.address, dataset.description)
    order = np.argsort(found.keys)
    np.testing.assert_allclose(found.values[order], dataset.values[-TEST:], rtol=1e-6)
    dataset.path(25, "photo").unlink()
    with refuses(ScoreError, match=re.escape("'25'")):
        score(model, dataset.address, dataset.description)
