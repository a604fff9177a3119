"""Stored form of an image file: pixels of trainer.images, encoded as its split is."""

import io

import cv2
import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from tests.trainer.image_files import DEEP_KINDS, KINDS, image_files
from trainer import images, preprocessing
from trainer.exporting.images.convert import convert
from trainer.images import ImageError, Scale
from trellis_contracts.dataset import SPLITS
from trellis_contracts.dataset_features import Feature

FILES = list(image_files(len(KINDS)))
DEEP_FILES = list(image_files(len(KINDS | DEEP_KINDS), deep=True))


def feature(encoding="jpeg", shape=(30, 40, 3)):
    return Feature("image", "image", "uint8", encoding, shape)


@pytest.mark.parametrize("encoding", ["png", "jpeg"])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("split", SPLITS)
def test_train_is_stored_as_asked_and_the_splits_that_score_as_png(encoding, channels, split):
    data, seen = convert(FILES[0].data, feature(encoding, (30, 40, channels)), split)
    assert seen.lost == (("colour",) if channels == 1 else ())
    stored = Image.open(io.BytesIO(data))
    assert stored.format == ("JPEG" if (split, encoding) == ("train", "jpeg") else "PNG")
    assert stored.size == (40, 30)
    assert stored.mode == {1: "L", 3: "RGB"}[channels]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.kind)
@pytest.mark.parametrize("shape", [(48, 48, 3), (30, 40, 1)])
def test_what_scores_a_model_is_to_the_bit_what_its_server_sees(file, shape):
    served = images.pixels(file.data, shape)
    stored, _ = convert(file.data, feature(shape=shape), "test")
    in_training = tf.io.decode_image(stored, channels=shape[2]).numpy()
    np.testing.assert_array_equal(in_training, served)
    # As when the served model is scored on the dataset.
    np.testing.assert_array_equal(images.pixels(stored, shape), served)


@pytest.mark.parametrize("file", DEEP_FILES, ids=lambda file: file.kind)
@pytest.mark.parametrize("shape", [(48, 48, 3), (30, 40, 1)])
@pytest.mark.parametrize("split", ["train", "test"])
def test_deep_images_keep_their_16_bits_in_the_dataset(file, shape, split):
    scale = "range:200,39000"
    described = Feature("image", "image", "uint16", "png", shape, scale=scale)
    served = images.pixels(file.data, shape, scale=Scale.parse(scale))
    stored, _ = convert(file.data, described, split)
    in_training = preprocessing.decode(tf.constant([stored]), described)[0].numpy()
    assert in_training.dtype == np.uint16
    np.testing.assert_array_equal(in_training, served)


def test_jpeg_is_close_to_the_pixels():
    stored, _ = convert(FILES[0].data, feature(), "train")
    pixels = cv2.cvtColor(cv2.imdecode(np.frombuffer(stored, np.uint8), 1), cv2.COLOR_BGR2RGB)
    error = np.abs(pixels.astype(int) - images.pixels(FILES[0].data, (30, 40, 3)))
    assert 0 < error.mean() < 4


def test_a_file_that_is_no_image():
    with pytest.raises(ImageError, match="a web page, which is not read"):
        convert(b"<html>404</html>", feature(), "train")
