"""challenger.json against the model that it is about, asked as its server would."""

import base64
import dataclasses
import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from testbed.predicting import predict
from testbed.tables import mixed_rows
from testbed.untrained import as_if_trained
from tests.trainer.comparison.plans import plan_of
from tests.trainer.raw_tables import write_with_source
from tests.withheld import refuses
from trainer import dataset_description, predictions
from trainer.comparison import challenger, originals
from trainer.comparison.raw_examples import RawExamplesError
from trainer.comparison.run_folder import Contender, Run
from trainer.metrics.decision import Threshold
from trainer.prediction_forms.classification import Predictions
from trainer.prediction_forms.regression import Values
from trainer.serving.model import Model
from trainer.training import saved_model
from trellis_contracts import documents
from trellis_contracts.baseline import Baseline

FILES = {"train": [120], "validation": [5], "test": [25, 15]}
# What an endpoint's answers may differ by from the offline predictions.
TOLERANCE = 1e-4


@pytest.fixture(scope="module", params=["binary_classification", "regression"])
def trained(request, tmp_path_factory):
    """A run with one training, and the folder of its model; of classes on columns of all kinds."""
    folder = tmp_path_factory.mktemp("challenger")
    columns, labels = mixed_rows(165)
    if request.param == "regression":
        columns = {name: column for name, column in columns.items() if column[0] == "numeric"}
    address = write_with_source(
        folder / "dataset", columns, labels, FILES, task=request.param, vocabulary=5
    )
    dataset = dataset_description.load(address)
    training = folder / "run" / "training" / "1"
    saved_model.export(as_if_trained("dense", dataset), dataset, training / "model")
    told = predict(training / "model", address, dataset, "test")
    predicted = Values(*told) if dataset.is_regression else Predictions(*told, dataset.classes)
    predictions.write(training / "predictions.parquet", predicted)
    contender = Contender(
        "training/1",
        "training",
        f"{training}/",
        parameters={"units": 64},
        predictions=predictions.read(training / "predictions.parquet"),
    )
    run = Run(f"{folder}/run/", plan_of(address), dataset, None, [contender])
    return run, contender, training / "model"


def numbers(prediction):
    return list(prediction.get("probabilities", prediction).values())


def difference(document, folder):
    """The largest between the document's predictions and what the model in a folder answers."""
    model = Model.load(folder)
    examples = document["examples"]
    body = json.dumps({"instances": [example["instance"] for example in examples]}).encode()
    answers = [numbers(answer) for answer in model.predict(model.rows.read(body).instances)]
    expected = [numbers(example["prediction"]) for example in examples]
    return np.abs(np.array(answers, float) - expected).max()


def test_the_model_answers_its_examples_as_predicted(trained):
    run, contender, folder = trained
    document = json.loads(challenger.of(run, contender, 30).to_json("challenger.json"))
    assert len({example["key"] for example in document["examples"]}) == 30
    assert difference(document, folder) < TOLERANCE / 50
    if not run.dataset.is_regression:
        for example in document["examples"]:
            shares = example["prediction"]["probabilities"]
            assert list(shares) == ["0", "1"]
            assert example["prediction"]["label"] == max(shares, key=shares.get)


def test_serving_with_other_statistics_is_seen(trained, tmp_path):
    """The weights are the same behind the normalisation of other rows, a little off."""
    run, contender, _ = trained
    if run.dataset.is_regression:
        pytest.skip("once is enough")
    columns, labels = mixed_rows(165, seed=9)
    task = run.dataset.task
    other = write_with_source(tmp_path / "d", columns, labels, FILES, task=task, vocabulary=5)
    skewed = as_if_trained("dense", dataset_description.load(other))
    skewed.set_weights(as_if_trained("dense", run.dataset).get_weights())
    saved_model.export(skewed, run.dataset, tmp_path / "model")
    document = challenger.of(run, contender, 20).to_document()
    assert difference(document, tmp_path / "model") > 10 * TOLERANCE


def test_the_same_examples_whenever_it_is_written(trained):
    run, contender, _ = trained
    document = challenger.of(run, contender, 5).to_document()
    assert document == challenger.of(run, contender, 5).to_document()
    assert [len(challenger.of(run, contender, n).examples) for n in (0, 999)] == [0, 40]


def test_labels_are_those_of_the_threshold_which_it_names(trained):
    run, contender, _ = trained
    plain = challenger.of(run, contender, 20).to_document()
    assert "threshold" not in plain
    if run.dataset.is_regression:
        return
    above = float(np.median(contender.predictions.probabilities[:, 1]))
    predicted = dataclasses.replace(contender.predictions, threshold=Threshold(above))
    document = challenger.of(
        run, dataclasses.replace(contender, predictions=predicted), 20
    ).to_document()
    documents.check("challenger", document, "challenger.json")
    first, second = run.dataset.classes
    assert document["threshold"] == {"class": second, "above": above}
    told = [example["prediction"] for example in document["examples"]]
    shares = [prediction["probabilities"][second] for prediction in told]
    assert [p["label"] for p in told] == [
        second if np.float32(share) > above else first for share in shares
    ]
    assert [p["label"] for p in told] != [e["prediction"]["label"] for e in plain["examples"]]


def test_it_leads_back_to_where_the_model_comes_from(trained):
    run, contender, folder = trained
    document = challenger.of(run, contender, 1).to_document()
    assert document["schema"] == 1
    assert document["contender"] == "training/1"
    assert document["model"] == f"{folder}/"
    assert document["hyperparameters"] == {"units": 64}
    provenance = document["provenance"]
    assert (provenance["run"], provenance["dataset"]) == (run.uri, run.dataset.fingerprint)
    assert "tensorflow" in provenance["versions"]


def test_raw_rows_of_another_dataset(trained, tmp_path):
    run, contender, _ = trained
    columns, labels = mixed_rows(20)
    files = {"train": [10], "validation": [5], "test": [5]}
    other = write_with_source(tmp_path / "d", columns, labels, files, task=run.dataset.task)
    wrong = Run(run.uri, plan_of(other), run.dataset, None, [contender])
    with refuses(RawExamplesError, match=r"lack 6 of 6 keys of the test split, such as '1"):
        challenger.of(wrong, contender, 6)


@pytest.fixture
def of_images(run_folder):
    """A function: stored images -> a run whose training takes all for light, and their keys."""

    def make(images):
        labels = np.arange(len(images)) % 2
        folder = run_folder(labels, ["dark", "light"], images=images)
        folder.contender(1, np.tile([[0.1, 0.9]], (len(images), 1)))
        dataset = dataset_description.load(str(folder.dataset))
        predicted = predictions.read(folder.path / "training/1/predictions.parquet")
        training = Contender("training/1", "training", "gs://b/training/1/", predictions=predicted)
        run = Run(folder.uri, plan_of(str(folder.dataset)), dataset, None, [training])
        return run, folder.keys

    return make


def gray(level, side=8):
    """A PNG of one gray level."""
    return cv2.imencode(".png", np.full((side, side, 1), level, np.uint8))[1].tobytes()


def large(seed, side):
    """A PNG of noise, about as many bytes as pixels."""
    pixels = np.random.default_rng(seed).integers(0, 256, (side, side), np.uint8)
    return cv2.imencode(".png", pixels)[1].tobytes()


def test_images_are_sent_as_the_files_that_they_were_made_of(of_images):
    files = [gray(i) for i in range(6)]
    run, keys = of_images(files)
    document = challenger.of(run, run.contenders[0], 4).to_document()
    assert document["model"] == "gs://b/training/1/model/"
    assert len(document["examples"]) == 4
    for example in document["examples"]:
        data = base64.b64decode(example["instance"]["image"]["b64"])
        assert data == files[keys.index(example["key"])]
        expected = {"label": "light", "probabilities": {"dark": 0.1, "light": 0.9}}
        assert example["prediction"] == expected


def test_some_images_of_a_bucket_are_named_by_their_address(of_images, monkeypatch):
    run, _ = of_images([gray(i) for i in range(8)])
    # The same files, behind a mount.
    monkeypatch.setenv("GCS_ROOT", str(Path(run.dataset_uri).parent))
    bucket = f"gs://{Path(run.dataset_uri).name}"
    in_bucket = {
        example.key: dataclasses.replace(
            example,
            images={
                name: dataclasses.replace(image, uri=f"{bucket}/originals/{example.key}")
                for name, image in example.images.items()
            },
        )
        for example in originals.of_test_split(run.dataset_uri, run.dataset)
    }
    monkeypatch.setattr(originals, "of_test_split", lambda *_: iter(in_bucket.values()))
    examples = challenger.of(run, run.contenders[0], 8).to_document()["examples"]
    forms = [type(example["instance"]["image"]) for example in examples]
    assert forms == [dict, str, dict, dict] * 2
    assert examples[1]["instance"] == {"image": in_bucket[examples[1]["key"]].images["image"].uri}


def original(folder, key):
    return Path(folder, "originals", key)


def test_an_image_whose_file_is_gone_or_another_is_left_out(of_images):
    run, keys = of_images([gray(i) for i in range(4)])
    original(run.dataset_uri, keys[0]).unlink()
    original(run.dataset_uri, keys[2]).write_bytes(gray(99))
    examples = challenger.of(run, run.contenders[0], 4).to_document()["examples"]
    assert [example["key"] for example in examples] == [keys[1], keys[3]]


def test_without_any_original_file_the_challenger_cannot_be_tried(of_images):
    run, keys = of_images([gray(i) for i in range(2)])
    for key in keys:
        original(run.dataset_uri, key).unlink()
    with refuses(RawExamplesError, match=r"none of 2 examples .*: the file cannot be read"):
        challenger.of(run, run.contenders[0], 2)


def test_an_image_that_no_request_can_carry_is_left_out(of_images):
    run, keys = of_images([large(0, 900), large(1, 1400)])
    (contender,) = run.contenders
    assert [e["key"] for e in challenger.of(run, contender, 2).to_document()["examples"]] == keys[
        :1
    ]
    assert len(challenger.of(run, contender, 2, private=True).to_document()["examples"]) == 2


def test_a_challenger_that_no_request_can_try(of_images):
    run, _ = of_images([large(seed, 1400) for seed in range(2)])
    with refuses(RawExamplesError, match=r"none of 2 .*: 2\.0 MB are too many"):
        challenger.of(run, run.contenders[0], 2)


def test_an_instance_of_a_service_has_the_columns_that_it_learned_from(trained):
    run, contender, _ = trained
    left_out, *learned = run.dataset.features
    types = {f.column: "INT64" if f.kind == "numeric" else "STRING" for f in run.dataset.features}
    table = {"features": [{"column": column, "type": kind} for column, kind in types.items()]}
    plan = dataclasses.replace(run.plan, table=table)
    baseline = Baseline(
        "automl",
        "automl",
        "succeeded",
        model="projects/p/locations/l/models/7",
        features_left_out=(left_out.name,),
    )
    theirs = dataclasses.replace(
        contender, name="baselines/automl", kind="automl", baseline=baseline, parameters={}
    )
    found = challenger.of(dataclasses.replace(run, plan=plan), theirs, 5)
    assert (found.service, found.model) == ("automl", baseline.model)
    for example in found.examples:
        assert example.instance.keys() == {feature.column for feature in learned}
        numbers = [example.instance[f.column] for f in learned if f.kind == "numeric"]
        assert all(value is None or str(int(value)) == value for value in numbers)
    assert challenger.of(run, contender, 5).service is None


def test_an_instance_of_automls_model_of_images_is_the_file(of_images):
    files = [gray(i) for i in range(6)]
    run, keys = of_images(files)
    (contender,) = run.contenders
    baseline = Baseline("automl", "automl", "succeeded", model="projects/p/locations/l/models/7")
    theirs = dataclasses.replace(contender, kind="automl", baseline=baseline)
    found = challenger.of(run, theirs, 6)
    sent = {example.key: example.instance for example in found.examples}
    expected = dict(zip(keys, files, strict=True))
    assert sent == {
        key: {"content": base64.b64encode(file).decode()} for key, file in expected.items()
    }
    assert found.images == ()
