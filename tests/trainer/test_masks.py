import cv2
import numpy as np
import pytest

from trainer import masks


def test_a_mask_is_the_same_after_its_file():
    mask = np.random.default_rng(0).integers(0, 200, (7, 5), np.uint8)
    assert np.array_equal(masks.decode(masks.encode(mask), 200), mask)


@pytest.mark.parametrize(
    ("picture", "why"),
    [
        (np.zeros((4, 4, 3), np.uint8), "no picture of one channel of 8 bits"),
        (np.zeros((4, 4), np.uint16), "no picture of one channel of 8 bits"),
        (np.full((4, 4), 2, np.uint8), "has the index 2, and there are 2 classes"),
        (None, "no picture of one channel of 8 bits"),
    ],
)
def test_another_file_is_refused(picture, why):
    data = b"text" if picture is None else cv2.imencode(".png", picture)[1].tobytes()
    with pytest.raises(masks.MaskError, match=why):
        masks.decode(data, 2)


def test_the_pixels_of_every_class_are_counted():
    two = np.array([[[0, 0], [1, 3]], [[2, 2], [2, 2]]], np.uint8)
    assert masks.pixels(two, 4).tolist() == [[2, 1, 0, 1], [0, 0, 4, 0]]
