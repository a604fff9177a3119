"""Answers of a segmentation: masks, and shares of classes."""

import base64

import cv2
import keras
import numpy as np
import pandas as pd
import pytest

from tests.trainer.serving.conftest import exported
from tests.trainer.serving.images import image, seen
from trainer import masks
from trainer.serving import explaining, frames, limits, prediction_service
from trainer.serving.errors import InvalidRequestError, ModelFailureError, TooLargeError
from trainer.serving.model import Model
from trainer.serving.parameters import Explain
from trainer.serving.rows import Row
from trellis_contracts.dataset_features import Feature

HALF = np.repeat(np.array([[0, 255]], np.uint8), 4, axis=1).repeat(8, axis=0)
"""Dark on the left, light on the right, 8 x 8."""


def pixel_model(dataset):
    """A pixel is light if its value is above the middle."""
    taken = keras.Input((8, 8, 1), dtype="uint8", name="image")
    logits = keras.layers.Conv2D(2, 1)(keras.layers.Rescaling(2 / 255, -1)(taken))
    model = keras.Model(taken, logits)
    model.set_weights([np.array([[[[-2.0, 2.0]]]]), np.zeros(2)])
    return model


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    feature = Feature("image", "image", "uint8", "png", (8, 8, 1))
    folder = tmp_path_factory.mktemp("masks") / "model"
    return Model.load(exported(pixel_model, (feature,), folder, "segmentation"))


def mask_of(answer):
    return masks.decode(base64.b64decode(answer["mask"]["b64"]), 2)


def test_an_image_is_answered_with_the_mask_of_its_pixels_and_the_shares_of_the_classes(model):
    (answer,) = model.predict([Row((HALF[..., None],))])
    assert mask_of(answer).tolist() == (HALF > 127).astype(int).tolist()
    assert answer["shares"] == {"dark": 0.5, "light": 0.5}
    assert set(answer) == {"mask", "shares"}


def test_a_mask_has_the_size_that_the_model_sees(model):
    wide = cv2.imencode(".png", cv2.resize(HALF, (400, 80), interpolation=cv2.INTER_NEAREST))[1]
    answers = model.predict([seen(model, wide.tobytes()), seen(model, image(255, (3, 5)))])
    assert [mask_of(answer).shape for answer in answers] == [(8, 8), (8, 8)]
    assert [float(answer["shares"]["light"]) for answer in answers] == [0.5, 1.0]


def test_many_images_are_asked_in_several_calls_of_bounded_size(model, monkeypatch):
    sizes = []
    serve = model._serve

    def counting(**inputs):
        sizes.append(len(inputs["image"]))
        return serve(**inputs)

    monkeypatch.setattr(model, "_serve", counting)
    monkeypatch.setattr(model, "_at_once", 2)
    found = model.predict(
        [Row((np.full((8, 8, 1), value, np.uint8),)) for value in range(0, 250, 50)]
    )
    assert sizes == [2, 2, 1]
    assert [float(answer["shares"]["light"]) for answer in found] == [0, 0, 0, 1, 1]


def test_as_many_pixels_are_in_one_call_as_the_limit_says(model):
    assert model._at_once == limits.MAX_MASK_PIXELS // 64


def test_a_model_that_diverged_answers_no_mask(model, monkeypatch):
    def diverged(image):
        whole = np.zeros((2, 8, 8), np.uint8)
        return {"mask": whole, "shares": np.array([[1, 0], [np.nan, np.nan]], np.float32)}

    monkeypatch.setattr(model, "_serve", diverged)
    good, bad = model.predict([Row((HALF[..., None],))] * 2)
    assert good["shares"]["dark"] == 1
    assert isinstance(bad, ModelFailureError)


def test_an_explanation_of_a_mask_is_refused_by_name(model):
    with pytest.raises(
        InvalidRequestError, match=r"parameters\.explain: this model answers with masks"
    ):
        explaining.check(model, Explain(), [Row((HALF[..., None],))])


def test_masks_that_no_response_can_carry_are_refused_with_the_figures():
    large = {"mask": {"b64": "A" * (limits.MAX_MASK_BYTES // 2)}}
    prediction_service._check_masks([large, large])
    with pytest.raises(TooLargeError, match=r"masks of 3 instances have 15\.7 MB.* may have 10\.5"):
        prediction_service._check_masks([large] * 3)


def test_a_frame_of_images_becomes_masks_and_shares(model):
    png = cv2.imencode(".png", HALF)[1].tobytes()
    found = frames.predict(model, pd.DataFrame({"image": [png]}, index=["a"]), None)
    assert np.array_equal(found.loc["a", "mask"], HALF > 127)
    assert found.loc["a", "share.light"] == 0.5
