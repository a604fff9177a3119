import base64
import math

import cv2
import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.trainer.serving.conftest import brightness_model, exported
from tests.trainer.serving.images import image, image_input, of_file, seen
from trainer import images
from trainer.exporting.images.convert import convert
from trainer.serving.errors import ModelFailureError
from trainer.serving.images import inspect
from trainer.serving.model import Model, ModelError
from trainer.serving.parameters import Explain
from trainer.serving.rows import Row
from trellis_contracts.dataset_features import Feature

BLACK, WHITE = (Row((np.full((8, 8, 1), grey, np.uint8),)) for grey in (0, 255))


@pytest.fixture(scope="module")
def model(model_folder):
    return Model.load(model_folder)


def test_a_prediction_names_the_classes(model):
    white, black = model.predict([WHITE, BLACK])
    assert white["label"] == "light"
    assert black["label"] == "dark"
    assert list(white["probabilities"]) == ["dark", "light"]
    assert white["probabilities"]["light"] == pytest.approx(1 / (1 + math.exp(-4)))


def test_images_of_any_size_and_kind_in_one_batch(model):
    files = [image(255, (1, 1)), image(0, (300, 200), ".jpg"), image(255, (5, 90), ".bmp")]
    labels = [p["label"] for p in model.predict([seen(model, file) for file in files])]
    assert labels == ["light", "dark", "light"]


def test_it_sees_of_a_file_what_the_export_stores(model):
    photo = image(200, (300, 200), ".jpg")
    np.testing.assert_array_equal(image_input(model).pixels(photo), images.pixels(photo, (8, 8, 1)))


@pytest.mark.parametrize("how", ["letterbox", "crop"])
def test_it_resizes_a_file_as_the_export_did(tmp_path, how):
    feature = Feature("image", "image", "uint8", "png", (8, 8, 1), resize=how)
    folder = exported(brightness_model, (feature,), tmp_path / "model")
    wide = cv2.imencode(".png", np.arange(200, dtype=np.uint8).reshape(5, 40))[1].tobytes()
    served = image_input(Model.load(folder)).pixels(wide)
    np.testing.assert_array_equal(served, images.pixels(wide, (8, 8, 1), how))


@pytest.mark.parametrize("scale", ["full", "range:200,3900", "percentiles:1,99"])
def test_it_scales_a_deep_file_as_the_export_did(tmp_path, scale):
    feature = Feature("image", "image", "uint16", "png", (8, 8, 1), scale=scale)
    model = Model.load(exported(brightness_model, (feature,), tmp_path / "model"))
    camera = np.random.default_rng(0).integers(200, 3900, (9, 40)).astype(np.uint16)
    for extension in (".png", ".tif"):
        data = cv2.imencode(extension, camera)[1].tobytes()
        stored, _ = convert(data, feature, "test")
        served = image_input(model).pixels(inspect(data).data)
        np.testing.assert_array_equal(served, image_input(model).stored(stored))
    model.warm_up(2)
    pixels = np.full((8, 8, 1), 65535, np.uint16), np.zeros_like(served)
    white, black = model.predict([Row((image,)) for image in pixels])
    assert white["probabilities"]["light"] == pytest.approx(1 / (1 + math.exp(-4)))
    assert black["label"] == "dark"


def test_it_says_what_the_bare_savedmodel_says(model, model_folder):
    files = [image(value) for value in range(0, 256, 5)]
    bare = tf.saved_model.load(str(model_folder)).signatures["serving_default"]
    expected = bare(image=tf.constant(files))["probabilities"].numpy()
    served = model.predict([seen(model, file) for file in files])
    rows = np.array([list(p["probabilities"].values()) for p in served])
    np.testing.assert_allclose(rows, expected, atol=1e-6)


@pytest.mark.parametrize("baseline", ["black", "grey", "white"])
def test_pixels_are_explained_at_the_size_that_the_model_sees(model, baseline):
    """With a model that looks at the mean only, every pixel's share is as large as its distance."""
    pixels = np.arange(0, 256, 4, np.uint8).reshape(8, 8)
    example = of_file(cv2.imencode(".png", pixels)[1].tobytes())
    (prediction,) = model.predict([Row((pixels[..., np.newaxis],))])
    found = model.explainer.explain(example, 1, Explain(baseline=baseline, steps=100))
    assert found["score"] == pytest.approx(prediction["probabilities"]["light"], abs=1e-6)
    assert found["attributions"] == pytest.approx(
        {"image": found["score"] - found["baseline_score"]}, abs=1e-6
    )
    found = found["pixels"]["image"]
    png = base64.b64decode(found["attributions"]["b64"])
    shares = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_UNCHANGED)
    assert (shares.dtype, shares.shape) == (np.uint16, (8, 8))
    shares = (shares - 32768.0) / 32767 * found["attributions"]["scale"]
    moved = found["score"] - found["baseline_score"]
    assert abs(shares.sum() - moved) == pytest.approx(found["approximation_error"], abs=1e-6)
    assert found["approximation_error"] < 1e-3
    distances = pixels.astype(float) - {"black": 0, "grey": 127, "white": 255}[baseline]
    assert shares == pytest.approx(moved * distances / distances.sum(), abs=1e-4)


def test_an_image_of_any_size_is_explained_as_it_was_predicted(model):
    for file in (image(255), image(200, (31, 17), ".jpg"), image(9, (3, 3), ".bmp")):
        (prediction,) = model.predict([seen(model, file)])
        found = model.explainer.explain(of_file(file), 0, Explain())
        assert found["score"] == pytest.approx(prediction["probabilities"]["dark"], abs=1e-6)


def test_a_model_that_answers_nan_is_said_to(model, monkeypatch):
    def diverged(image):
        return {
            "probabilities": np.array([[0.5, 0.5], [math.nan, math.nan]], np.float32),
            "label": np.array([b"dark", b"dark"], object),
        }

    monkeypatch.setattr(model, "_serve", diverged)
    good, bad = model.predict([BLACK, WHITE])
    assert good["label"] == "dark"
    assert isinstance(bad, ModelFailureError)


def test_a_folder_without_a_savedmodel(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"no protocol buffer")
    with pytest.raises(ModelError, match="no readable SavedModel"):
        Model.load(tmp_path)


def test_a_savedmodel_from_elsewhere(tmp_path):
    inputs = keras.Input((3,))
    keras.Model(inputs, keras.layers.Dense(1)(inputs)).export(tmp_path, verbose=False)
    with pytest.raises(ModelError, match="expected serving_default, features, ordinary"):
        Model.load(tmp_path)
