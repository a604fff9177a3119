"""Pictures of 12 bits in 16, whose classes 8 bits do not tell apart: manifest to server."""

import json
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
import tifffile

from testbed.manifests import export_flags
from testbed.trainings import arguments
from tests.trainer.images.dicom import dicom
from tests.trainer.serving.images import image_input, of_file, seen
from trainer import dataset_description, export, images, predictions
from trainer.comparison import originals, scoring
from trainer.estimators import run
from trainer.images import ImageError, Scale
from trainer.serving.model import Model
from trainer.serving.parameters import Explain
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags

PICTURES, SIDE = 160, 12
SCALE = "range:2000,2300"
# Of each pixel: both are 8 in the upper 8 bits.
MEANS = {"well": 2100, "ill": 2160}


def write(folder):
    """A manifest and its pictures, in turn of each kind of file."""
    random = np.random.default_rng(0)
    lines = []
    (folder / "files").mkdir()
    for number in range(PICTURES):
        label = list(MEANS)[number % 2]
        pixels = random.integers(-10, 11, (SIDE, SIDE)) + MEANS[label]
        name = f"files/{number:03d}"
        match number // 2 % 5:
            case 0:
                name += ".png"
                cv2.imwrite(str(folder / name), pixels.astype(np.uint16))
            case 1:
                name += ".tif"
                tifffile.imwrite(folder / name, pixels.astype(np.float32))
            case 2:
                name += ".tiff"
                options = {"photometric": "miniswhite", "byteorder": ">"}
                tifffile.imwrite(folder / name, (65535 - pixels).astype(np.uint16), **options)
            case 3:
                name += ".tif"
                pages = np.stack([pixels, pixels * 0]).astype(np.uint16)
                tifffile.imwrite(folder / name, pages, photometric="minisblack")
            case 4:
                name += ".dcm"
                stored, unit = pixels + 1024, {"RescaleSlope": "1", "RescaleIntercept": "-1024"}
                (folder / name).write_bytes(dicom(stored.astype(np.uint16), bits=12, **unit))
        lines.append(f"{name},{label}\n")
    (folder / "manifest.csv").write_text("".join(lines))


def exported(folder, **changed):
    form = {"image_size": SIDE, "channels": 1, "shards": 2, "split_fractions": (60, 20, 20)}
    form |= {"task": "binary_classification"} | changed
    source, output = folder / "manifest.csv", folder / "dataset"
    return export.main(export_flags(source, output, "f00d", **form))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("camera")
    write(folder)
    assert exported(folder, scale=SCALE, pages="first") == 0
    address, output = str(folder / "dataset"), folder / "training"
    flags = {"task": "binary_classification", "epochs": 15, "batch_size": 16}
    argv = arguments(address, output=output, model="dense", augment=True, **flags)
    settings = parse_flags(argv, "")
    assert run.train(settings, checked_dataset(settings)) == 0
    return SimpleNamespace(
        address=address,
        dataset=dataset_description.load(address),
        metrics=json.loads(settings.places.metrics.read_text()),
        predicted=predictions.read(output / "predictions.parquet"),
        model=Model.load(output / "model"),
        folder=output / "model",
    )


def test_the_model_sees_what_8_bits_do_not_hold(trained):
    assert trained.metrics["test"]["accuracy"] == 1


def test_the_dataset_says_how_and_what_was_left_out(trained):
    (feature,) = trained.dataset.features
    assert (feature.dtype, feature.encoding, feature.scale) == ("uint16", "png", SCALE)
    pages, rounded = trained.dataset.warnings
    assert pages.startswith(f"{PICTURES // 5} of {PICTURES} images have further frames or pages")
    assert rounded.startswith(f"{PICTURES // 5} of {PICTURES} images have finer values")


def test_the_answers_to_the_original_files_are_the_offline_predictions(trained):
    offline = dict(zip(trained.predicted.keys, trained.predicted.probabilities, strict=True))
    asked = list(originals.of_test_split(trained.address, trained.dataset))
    uris = [image.uri for example in asked for image in example.images.values()]
    assert {uri.rpartition(".")[2] for uri in uris} == {"png", "tif", "tiff", "dcm"}
    for example in asked:
        (image,) = example.images.values()
        row = seen(trained.model, image.original())
        np.testing.assert_array_equal(
            row.values[0], image_input(trained.model).stored(image.stored)
        )
        (served,) = trained.model.predict([row])
        found = [served["probabilities"][name] for name in trained.predicted.classes]
        np.testing.assert_allclose(found, offline[example.key], atol=1e-6)


def test_a_served_model_is_scored_on_stored_images_as_on_files(trained):
    again = scoring.score(str(trained.folder), trained.address, trained.dataset)
    order = [again.keys.tolist().index(key) for key in trained.predicted.keys]
    np.testing.assert_allclose(
        again.probabilities[order], trained.predicted.probabilities, atol=1e-6
    )


def test_pixels_are_explained_in_their_own_unit(trained):
    example = next(originals.of_test_split(trained.address, trained.dataset))
    (image,) = example.images.values()
    asked = of_file(image.original())
    found = trained.model.explainer.explain(asked, 1, Explain(baseline="grey"))
    assert found["score"] != pytest.approx(found["baseline_score"], abs=0.01)
    assert found["approximation_error"] < 0.1


def test_without_a_scale_the_export_is_refused(tmp_path, capsys):
    write(tmp_path)
    assert exported(tmp_path) == 1
    assert "source.scale" in capsys.readouterr().err
    # Not even begun: there is only what the refusal says of rows.
    assert [path.name for path in (tmp_path / "dataset").iterdir()] == ["examples"]


def test_a_model_of_8_bits_refuses_a_deep_file(tmp_path):
    write(tmp_path)
    data = (tmp_path / "files/000.png").read_bytes()
    with pytest.raises(ImageError, match="16 bits per channel"):
        images.pixels(data, (SIDE, SIDE, 1))
    assert len(np.unique(images.pixels(data, (SIDE, SIDE, 1), scale=Scale("full")))) > 10
