"""A model that is served, scored on the test split of a later run."""

import dataclasses
import functools
import shutil

import cv2
import numpy as np
import pytest

from testbed.predicting import predict
from testbed.tables import mixed_rows
from testbed.untrained import as_if_trained
from tests.trainer.raw_tables import write_with_source
from tests.trainer.serving.conftest import CLASSES, brightness_model
from tests.wording import says
from trainer import dataset_description
from trainer.comparison.scoring import ScoreError, score
from trainer.images import pixels
from trainer.serving.model import Model
from trainer.training import saved_model
from trellis_contracts import dataset_features
from trellis_contracts.dataset import Counts, DatasetDescription, Split
from trellis_contracts.withheld import shown

TEST = 100
FILES = {"train": [120], "validation": [5], "test": [TEST - 15, 15]}
ROWS = 125 + TEST


@pytest.fixture(scope="module", autouse=True)
def each_model_is_loaded_once():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Model, "load", functools.cache(Model.load))
        yield


def tables(task):
    """Two tables: other rows to train on, the same rows (with the same keys) to test on. Of classes
    with columns of all kinds.
    """
    columns, labels = mixed_rows(ROWS, seed=1)
    if task == "regression":
        columns = {name: columns[name] for name in ("size", "class", "_ward", "pulse")}
    others, other_labels = mixed_rows(ROWS, seed=2)
    mixed = {
        name: (kind, others[name][1][: ROWS - TEST] + values[ROWS - TEST :])
        for name, (kind, values) in reversed(columns.items())
    }
    return (columns, labels), (mixed, other_labels[: ROWS - TEST] + labels[ROWS - TEST :])


@pytest.fixture(scope="module", params=["binary_classification", "regression"])
def served(request, tmp_path_factory):
    """A model, the dataset that it knows, and a later one: their addresses."""
    folder = tmp_path_factory.mktemp("scoring")
    (columns, labels), (later, later_labels) = tables(request.param)
    options = {"files": FILES, "task": request.param}
    own = write_with_source(folder / "own", columns, labels, vocabulary=5, **options)
    new = write_with_source(folder / "new", later, later_labels, vocabulary=30, **options)
    dataset = dataset_description.load(own)
    saved_model.export(as_if_trained("dense", dataset), dataset, folder / "model")
    return str(folder / "model"), own, new


@pytest.fixture(scope="module")
def image_model(tmp_path_factory):
    return brightness(tmp_path_factory.mktemp("image_model"), "stretch")


def brightness(folder, resize):
    """A model that tells dark images from light ones; its classes are CLASSES."""
    images = dataset_features.Feature("image", "image", "uint8", "png", (8, 8, 1), resize=resize)
    dataset = DatasetDescription(
        fingerprint="f00d",
        source={},
        split=Split("column ML_USE"),
        features=(images,),
        classes=CLASSES,
        counts={"validation": Counts(2, dict.fromkeys(CLASSES, 1))},
        files={},
        rejected=0,
    )
    saved_model.export(brightness_model(dataset), dataset, folder)
    return str(folder)


def test_it_says_of_later_data_what_it_said_of_the_same_rows_before(served):
    model, own, new = served
    datasets = [dataset_description.load(address) for address in (own, new)]
    assert datasets[0].features != datasets[1].features
    told = predict(model, own, datasets[0], "test")
    before = {key: known for key, *known in zip(*told, strict=True)}
    for address, dataset in zip((own, new), datasets, strict=True):
        scored = score(model, address, dataset)
        assert set(scored.keys) == set(before)
        labels, answers = zip(*(before[key] for key in scored.keys), strict=True)
        assert scored.labels.tolist() == list(labels)
        found = scored.values if dataset.is_regression else scored.probabilities
        np.testing.assert_allclose(found, answers, rtol=0, atol=1e-6)


def test_images_of_another_size_and_classes_in_another_order(image_model, run_folder):
    labels = np.arange(70) % 2
    images = [
        cv2.imencode(".png", np.full((5, 9, 1), 20 + 200 * (label == 0) + i % 30, np.uint8))[1]
        for i, label in enumerate(labels)
    ]
    classes = ["light", "dark"]
    run = run_folder(labels, classes, images=[image.tobytes() for image in images])
    dataset = dataset_description.load(str(run.dataset))
    scored = score(image_model, str(run.dataset), dataset)
    assert scored.classes == ("light", "dark")
    told = dict(zip(scored.keys, scored.labels.tolist(), strict=True))
    assert told == dict(zip(run.keys, labels.tolist(), strict=True))
    assert (scored.probabilities.argmax(axis=1) == scored.labels).all()


def test_images_that_its_dataset_has_resized_otherwise(tmp_path, run_folder):
    """A model that crops sees the middle; stretched, as it is stored, the rest outweighs it."""
    labels = np.arange(70) % 2
    wide = np.full((70, 8, 40, 1), 255 * (labels == 0)[:, None, None, None], np.uint8)
    wide[:, :, 16:24] = 255 - wide[:, :, 16:24]
    files = [cv2.imencode(".png", image)[1].tobytes() for image in wide]
    stored = [cv2.imencode(".png", pixels(file, (8, 8, 1)))[1].tobytes() for file in files]
    run = run_folder(labels, list(CLASSES), images=stored, files=files)
    dataset = dataset_description.load(str(run.dataset))
    model = brightness(tmp_path / "model", "crop")
    scored = score(model, str(run.dataset), dataset)
    assert (scored.probabilities.argmax(axis=1) == scored.labels).all()


def refusal(model, address, **changed):
    """Return why the model cannot be scored on the dataset with some fields changed."""
    dataset = dataclasses.replace(dataset_description.load(address), **changed)
    with pytest.raises(ScoreError) as refused:
        score(model, address, dataset)
    return shown(refused.value.text)


def test_a_dataset_with_other_features(served):
    model, _, new = served
    features = dataset_description.load(new).features
    fewer = tuple(f for f in features if f.column not in ("pulse", "_ward"))
    said = refusal(model, new, features=fewer)
    assert model in said
    assert "no feature _ward, which the model needs; the dataset has no feature pulse" in said
    other = tuple(
        dataclasses.replace(f, kind="categorical") if f.column == "size" else f for f in features
    )
    assert says(refusal(model, new, features=other), "size", "numeric", "categorical")


def test_a_dataset_with_another_label(served):
    model, _, new = served
    if dataset_description.load(new).is_regression:
        said = refusal(model, new, task="binary_classification", classes=("0", "1"))
        assert "label has classes" in said
    else:
        said = refusal(model, new, classes=("0", "1", "2"))
        assert says(said, "'0', '1', ", "'0', '1', '2'")
        said = refusal(model, new, task="regression", classes=())
        assert "label has values" in said


def test_images_are_no_rows(served, image_model, run_folder):
    model, _, new = served
    said = refusal(image_model, new)
    assert "no feature image" in said
    run = run_folder([0, 1], ["0", "1"])
    assert "no feature pulse" in refusal(model, str(run.dataset))


def test_a_model_that_is_gone_or_broken(tmp_path, served):
    _, _, new = served
    assert says(refusal("gs://nobody/model/", new), "gs://nobody/model/", "deleted")
    (tmp_path / "saved_model.pb").write_bytes(b"no protocol buffer")
    assert "holds no readable SavedModel" in refusal(str(tmp_path), new)
    assert "s3://b/model" in refusal("s3://b/model", new)


def test_raw_rows_that_are_gone(tmp_path, served):
    model, _, new = served
    with pytest.raises(ScoreError, match=r"no rows-\*.parquet"):
        score(model, str(tmp_path), dataset_description.load(new))


def test_a_model_of_another_size_is_scored_on_the_original_files(image_model, run_folder):
    """From stored images, resized a second time, it would see other pixels than in a request."""
    black = cv2.imencode(".png", np.zeros((5, 9, 1), np.uint8))[1].tobytes()
    white = cv2.imencode(".png", np.full((64, 64), 255, np.uint8))[1].tobytes()
    stored = {"images": [black, black], "files": [white, white]}
    for shape, seen in (((5, 9, 1), "light"), ((8, 8, 1), "dark")):
        run = run_folder([0, 1], list(CLASSES), shape=shape, **stored)
        scored = score(image_model, str(run.dataset), dataset_description.load(str(run.dataset)))
        assert {scored.classes[i] for i in scored.probabilities.argmax(axis=1)} == {seen}
        shutil.rmtree(run.dataset)


def test_an_original_file_that_is_gone_is_named(image_model, run_folder):
    image = cv2.imencode(".png", np.zeros((5, 9, 1), np.uint8))[1].tobytes()
    run = run_folder([0, 1], list(CLASSES), images=[image, image], shape=(5, 9, 1))
    (run.dataset / "originals" / run.keys[1]).unlink()
    assert f"{run.keys[1]!r}: the file cannot be read" in refusal(image_model, str(run.dataset))


def test_an_image_that_cannot_be_decoded_is_named(image_model, run_folder):
    image = cv2.imencode(".png", np.zeros((64, 64, 1), np.uint8))[1].tobytes()
    run = run_folder([0, 1, 1], list(CLASSES), images=[image, image, image[:60]])
    assert "images/00002.png" in refusal(image_model, str(run.dataset))
