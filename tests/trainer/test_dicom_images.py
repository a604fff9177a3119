"""pydicom's own samples, of scanners and with names and identifiers, from manifest to answers."""

import base64
import json
from types import SimpleNamespace

import numpy as np
import pydicom
import pytest

from testbed.manifests import export_flags
from testbed.trainings import arguments
from tests.trainer.conftest import RunFolder
from tests.trainer.images.dicom import SAMPLES, texts
from tests.trainer.serving.images import image_input
from tests.trainer.serving.served import served
from trainer import compare, dataset_description, export, predictions
from trainer.comparison import originals
from trainer.estimators import run
from trainer.serving.model import Model
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags

COPIES, SIDE = 4, 16


def write(folder):
    """A manifest of the samples that have pixels, each under several names."""
    (folder / "files").mkdir()
    lines = []
    for number, path in enumerate(sorted(SAMPLES.glob("*.dcm")) * COPIES):
        data = path.read_bytes()
        if not data.startswith(b"DICM", 128):
            continue
        dataset = pydicom.dcmread(path, specific_tags=["SamplesPerPixel"])
        if "SamplesPerPixel" in dataset:
            (folder / f"files/{number:03d}.dcm").write_bytes(data)
            label = "colour" if dataset.SamplesPerPixel == 3 else "grey"
            lines.append(f"files/{number:03d}.dcm,{label}\n")
    (folder / "manifest.csv").write_text("".join(lines))
    return len(lines)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scanners")
    files = write(folder)
    form = {"image_size": SIDE, "channels": 1, "scale": "percentiles:1,99", "pages": "first"}
    form |= {"task": "binary_classification", "split_fractions": (50, 20, 30), "max_rejected": 0.5}
    flags = export_flags(folder / "manifest.csv", folder / "dataset", "f00d", shards=2, **form)
    assert export.main(flags) == 0
    address, output = str(folder / "dataset"), folder / "runs/r/training/1"
    told = {"task": "binary_classification", "epochs": 4, "batch_size": 16}
    settings = parse_flags(arguments(address, output=output, model="dense", **told), "")
    assert run.train(settings, checked_dataset(settings)) == 0
    return SimpleNamespace(
        folder=folder,
        address=address,
        files=files,
        dataset=dataset_description.load(address),
        output=output,
        model=Model.load(output / "model"),
    )


def rejected(trained):
    lines = (trained.folder / "dataset/rejected.jsonl").read_text().splitlines()
    return [json.loads(line)["reason"] for line in lines]


def test_what_is_not_read_is_rejected_by_its_reason(trained):
    reasons = rejected(trained)
    assert 0.1 < len(reasons) / trained.files < 0.4
    known = ("transfer syntax", "corrupt or truncated", "usable NumberOfFrames", "percentiles")
    assert not [reason for reason in reasons if not any(part in reason for part in known)]
    (feature,) = trained.dataset.features
    assert (feature.scale, feature.pages) == ("percentiles:1,99", "first")
    assert any("further frames or pages" in warning for warning in trained.dataset.warnings)


@pytest.fixture(scope="module")
def ask(trained):
    """Asks a server for files; returns the status and the answer."""
    with served(trained.output / "model") as ask:

        def of_file(data, **parameters):
            return ask({"image": {"b64": base64.b64encode(data).decode()}}, **parameters)

        yield of_file


def test_a_file_is_answered_as_it_was_scored(trained, ask):
    offline = predictions.read(trained.output / "predictions.parquet")
    scored = dict(zip(offline.keys, offline.probabilities, strict=True))
    asked = list(originals.of_test_split(trained.address, trained.dataset))
    assert len(asked) > 30
    for example in asked:
        (image,) = example.images.values()
        seen = image_input(trained.model)
        assert np.array_equal(seen.pixels(image.original()), seen.stored(image.stored))
        status, answer = ask(image.original())
        assert status == 200
        (served,) = answer["predictions"]
        found = [served["probabilities"][name] for name in offline.classes]
        np.testing.assert_allclose(found, scored[example.key], atol=1e-6)


@pytest.mark.usefixtures("few_resamples")
def test_who_the_patients_are_is_nowhere(trained, ask, capfd, caplog):
    """In no file of the dataset and of the run, report and logs included, and in no answer."""
    plan = RunFolder(trained.folder / "other", [0, 1], ["a", "b"])
    plan.path = trained.folder / "runs/r"
    dataset = {"uri": f"{trained.address}/", "fingerprint": "f00d"}
    plan.plan({"dataset": dataset, "configuration": {"task": "binary_classification"}})
    assert compare.main(["--run", plan.uri, "--metric", "accuracy"]) == 0
    flags = export_flags(
        trained.folder / "manifest.csv",
        trained.folder / "again",
        "f00d",
        **{"image_size": SIDE, "scale": "window", "max_rejected": 1.0},
    )
    export.main(flags)
    example = next(originals.of_test_split(trained.address, trained.dataset))
    (image,) = example.images.values()
    answers = [ask(image.original()), ask(image.original(), explain={})]
    answers += [ask(path.read_bytes()) for path in sorted(SAMPLES.glob("*.dcm"))]
    assert {status for status, _ in answers} == {200, 400}
    said = [*capfd.readouterr(), caplog.text, json.dumps(answers)]
    places = [
        path
        for name in ("dataset", "dataset-source", "again", "runs")
        for path in (trained.folder / name).rglob("*")
        if path.is_file()
    ]
    assert {"report.html", "rejected.jsonl"} <= {path.name for path in places}
    contents = {path: path.read_bytes() for path in places}
    contents |= {f"said {number}": text.encode() for number, text in enumerate(said)}
    known = {name for path in SAMPLES.glob("*.dcm") for name in texts(path)}
    assert {"CompressedSamples^CT1", "Lestrade^G"} <= known
    found = [
        (name, place) for place, held in contents.items() for name in known if name.encode() in held
    ]
    assert not found
