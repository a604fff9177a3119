import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.trainer.serving.images import image
from trainer.exporting.images.convert import ImageError
from trainer.serving.errors import ModelFailureError
from trainer.serving.images import inspect
from trainer.serving.model import Model, ModelError

BLACK, WHITE = inspect(image(0)), inspect(image(255))
CUT = inspect(image(0, (512, 512), ".jpg")[:-100])  # its header is whole


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
    labels = [p["label"] for p in model.predict([inspect(file).as_plain() for file in files])]
    assert labels == ["light", "dark", "light"]


def test_it_says_what_the_bare_savedmodel_says(model, model_folder):
    files = [image(value) for value in range(0, 256, 5)]
    bare = tf.saved_model.load(str(model_folder)).signatures["serving_default"]
    expected = bare(image_bytes=tf.constant(files))["probabilities"].numpy()
    served = model.predict([inspect(file) for file in files])
    rows = np.array([list(p["probabilities"].values()) for p in served])
    np.testing.assert_allclose(rows, expected, atol=1e-6)


def test_a_damaged_image_leaves_the_others_of_its_batch_their_answers(model):
    black, cut, white = model.predict([BLACK, CUT, WHITE])
    assert (black["label"], white["label"]) == ("dark", "light")
    assert isinstance(cut, ImageError)
    assert "cannot be decoded" in str(cut)
    assert "JPEG" in str(cut)
    assert "node" not in str(cut)


def test_a_model_that_answers_nan_is_said_to(model, monkeypatch):
    def diverged(image_bytes):
        return {
            "probabilities": tf.constant([[0.5, 0.5], [math.nan, math.nan]]),
            "label": tf.constant(["dark", "dark"]),
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
    with pytest.raises(ModelError, match="expected serving_default and classes"):
        Model.load(tmp_path)


def test_a_model_that_does_not_take_images(tmp_path):
    module = tf.Module()

    @tf.function(input_signature=[tf.TensorSpec([None, 3], name="radius")])
    def serve(radius):
        return {"value": radius}

    @tf.function(input_signature=[])
    def classes():
        return {"classes": tf.constant(["a"])}

    signatures = {"serving_default": serve, "classes": classes}
    module.serve, module.classes = serve, classes
    tf.saved_model.save(module, str(tmp_path), signatures)
    with pytest.raises(ModelError, match="takes radius; only models that take image_bytes"):
        Model.load(tmp_path)
