"""Rows with images from the export to the answers of the server, for their original files."""

import base64
import json
from pathlib import Path

import cv2
import keras
import numpy as np
import pytest

from testbed.predicting import predict
from tests.trainer.comparison.plans import plan_of
from tests.trainer.exporting.tables.helpers import feature, write_table
from trainer import dataset_description, export, models
from trainer.comparison import challenger
from trainer.comparison.run_folder import Contender, Run
from trainer.comparison.scoring import score
from trainer.prediction_forms.classification import Predictions
from trainer.serving.model import Model
from trainer.training import saved_model
from trellis_contracts.challenger import Challenger
from trellis_contracts.hyperparameters import Hyperparameters

BUCKET, ROWS = "lab-images", 300
PHOTO = {"size": [9, 12], "channels": 3, "encoding": "jpeg", "resize": "letterbox", "scale": None}
SCAN = {"size": [8, 8], "channels": 1, "encoding": "png", "resize": "crop", "scale": "range:0,4095"}
GONE = 7
"""Of every so many rows the photo is not there."""


def write_files(folder):
    """The images' files, of many kinds and sizes; their addresses by column."""
    random = np.random.default_rng(1)
    addresses = {"photo": [], "scan": []}
    for row in range(ROWS):
        side, kind = random.integers(5, 40, 2), (".png", ".jpg", ".webp")[row % 3]
        pixels = {
            f"photo-{row}{kind}": random.integers(0, 256, (*side, 3), np.uint8),
            f"scan-{row}{('.png', '.tif')[row % 2]}": random.integers(0, 4096, side, np.uint16),
        }
        for name, values in pixels.items():
            if not name.startswith("photo") or row % GONE:
                (folder / name).write_bytes(cv2.imencode(name[name.index(".") :], values)[1])
            addresses[name.partition("-")[0]].append(f"gs://{BUCKET}/{name}")
    return addresses


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run over an exported dataset with one training, whose model has random weights."""
    root = tmp_path_factory.mktemp("gcs")
    (root / BUCKET).mkdir()
    columns = {
        "key": [f"patient/{row}" for row in range(ROWS)],
        "label": ["ill" if row % 2 else "well" for row in range(ROWS)],
        "age": [float(row % 90) if row % 5 else None for row in range(ROWS)],
        "site": [("left", "right", None)[row % 3] for row in range(ROWS)],
        **write_files(root / BUCKET),
    }
    features = [
        feature("age", name="Alter (Jahre)"),
        feature("photo", "image", "STRING", "Foto") | {"image": PHOTO},
        feature("site", "categorical", "STRING"),
        feature("scan", "image", "STRING") | {"image": SCAN},
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GCS_ROOT", str(root))
        patch.setattr(
            "trainer.exporting.objects.Objects.read",
            lambda self, uri: (root / uri.removeprefix("gs://")).read_bytes(),
        )
        patch.setattr("trainer.exporting.objects.Objects.require_bucket", lambda self, uri: None)
        folder = root / BUCKET / "dataset"
        source = write_table(folder / "source", columns, features, max_rejected=0.5)
        flags = {"source": source, "output": folder, "fingerprint": "f", "shards": 3}
        assert export.main([f"--{name}={value}" for name, value in flags.items()]) == 0
        dataset = dataset_description.load(str(folder))
        keras.utils.set_random_seed(1)
        model = models.build("convolutional", dataset, Hyperparameters(blocks=2, filters=4))
        training = root / "run/training/1"
        saved_model.export(model, dataset, training / "model")
        told = predict(training / "model", str(folder), dataset, "test")
        contender = Contender(
            "training/1",
            "training",
            f"{training}/",
            predictions=Predictions(*_named(*told), dataset.classes),
        )
        yield Run(f"{root}/run/", plan_of(str(folder)), dataset, None, [contender])


def _named(keys, labels, probabilities):
    return keys, labels, probabilities


@pytest.fixture(scope="module")
def model(run):
    return Model.load(Path(run.contenders[0].uri, "model"))


def with_files(run, instance, images):
    """The instance with files in the place of addresses."""
    root = run.dataset_uri.partition(BUCKET)[0]

    def file(value):
        if not isinstance(value, str):
            return value
        with open(root + value.removeprefix("gs://"), "rb") as opened:
            return {"b64": base64.b64encode(opened.read()).decode()}

    return {**instance, **{name: file(instance[name]) for name in images}}


def test_the_answers_to_the_original_files_are_the_offline_predictions(run, model):
    (contender,) = run.contenders
    text = challenger.of(run, contender, ROWS).to_json("challenger.json")
    made = Challenger.parse(text, "challenger.json")
    assert made.images == ("Foto", "scan")
    assert len(made.examples) == len(contender.predictions.keys) > 20
    assert not any(int(example.key.partition("/")[2]) % GONE == 0 for example in made.examples)
    forms = {bool(made.addresses(example)) for example in made.examples}
    assert forms == {True, False}
    instances = [with_files(run, example.instance, made.images) for example in made.examples]
    body = json.dumps({"instances": instances[:200]}).encode()
    rows = [model.rows.decoded(row) for row in model.rows.read(body).instances]
    served = [answer["probabilities"]["ill"] for answer in model.predict(rows)]
    offline = [example.prediction["probabilities"]["ill"] for example in made.examples[:200]]
    np.testing.assert_allclose(served, offline, atol=1e-6)
    assert np.ptp(offline) > 1e-3


def test_a_served_model_is_scored_as_it_predicted(run):
    (contender,) = run.contenders
    found = score(contender.uri + "model", run.dataset_uri, run.dataset)
    known = contender.predictions
    order = [found.keys.tolist().index(key) for key in known.keys]
    assert found.labels[order].tolist() == known.labels.tolist()
    np.testing.assert_allclose(found.probabilities[order], known.probabilities, atol=1e-6)
