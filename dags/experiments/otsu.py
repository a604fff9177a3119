"""Otsu's threshold: each image parted at the brightness that separates its pixels best."""

import json

import cv2
import numpy as np

INPUTS = ["image"]


def fit(data, hyperparameters, report):
    """Find out, on the train split, whether what is sought is the bright or the dark part."""
    if len(data.classes) != 2:
        raise ValueError(f"Otsu's threshold parts two classes, and there are {len(data.classes)}")
    found = {bright: Otsu(bright).predict(data.train) for bright in (True, False)}
    hits = {bright: (masks == data.train.labels).mean() for bright, masks in found.items()}
    return Otsu(bool(hits[True] >= hits[False]))


def load(folder):
    """The threshold that `save` wrote."""
    return Otsu(json.loads((folder / "otsu.json").read_text())["bright"])


class Otsu:
    """The threshold; nothing of it is learned but the side. bright: that of the second class."""

    def __init__(self, bright):
        self.bright = bright

    def predict(self, batch):
        """Class indices, (n, height, width)."""
        images = batch.images().mean(axis=-1)
        if batch.images().dtype == np.uint16:
            images = images / 257
        kind = cv2.THRESH_BINARY if self.bright else cv2.THRESH_BINARY_INV
        grey = images.round().astype(np.uint8)
        return np.stack([cv2.threshold(one, 0, 1, kind | cv2.THRESH_OTSU)[1] for one in grey])

    def save(self, folder):
        """Write the side into an empty folder."""
        (folder / "otsu.json").write_text(json.dumps({"bright": self.bright}))
