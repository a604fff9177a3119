"""Images that all need a scale are refused before any is exported."""

import cv2
import numpy as np
import pytest

from trainer.exporting import ExportError
from trainer.exporting.tables.probe import refuse_deep
from trellis_contracts.dataset_features import Feature

FEATURE = Feature("image", "image", "uint8", "png", (4, 4, 1))
SCALED = Feature("image", "image", "uint16", "png", (4, 4, 1), scale="full")
DEEP = cv2.imencode(".png", np.zeros((4, 4), np.uint16))[1].tobytes()
SHALLOW = cv2.imencode(".png", np.zeros((4, 4), np.uint8))[1].tobytes()


def probe(files, feature=FEATURE):
    """Count the files that were read. files: contents, None where there is none."""
    asked = []

    def read(uri):
        asked.append(uri)
        data = files[int(uri.rpartition("/")[2])]
        if data is None:
            raise FileNotFoundError(uri)
        return data

    refuse_deep([f"gs://bkt/{number}" for number in range(len(files))], feature, read)
    return len(asked)


def test_deep_images_are_refused_at_once():
    for count in (1, 3, 1000):
        with pytest.raises(ExportError, match=r"an image is a PNG image with 16 bits .*scale"):
            probe([DEEP] * count)


@pytest.mark.parametrize("other", [SHALLOW, None, b"corrupt"])
def test_others_are_left_to_the_export(other):
    assert probe([other] * 1000) == 1
    assert probe([DEEP, other]) == 2


def test_with_a_scale_nothing_is_refused():
    assert probe([DEEP] * 1000, SCALED) == 1
