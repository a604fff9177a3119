"""Masks of images as files: PNGs of one channel of 8 bits, whose pixels are indices of classes."""

from collections.abc import Sequence

import cv2
import numpy as np


class MaskError(ValueError):
    """A file is no mask; the message says why."""


def encode(mask: np.ndarray) -> bytes:
    """The file of a mask (height, width) uint8."""
    done, png = cv2.imencode(".png", mask)
    assert done
    encoded: bytes = png.tobytes()
    return encoded


def decode(png: bytes, classes: int) -> np.ndarray:
    """The mask (height, width) uint8 of a file. classes: their number. Raises MaskError."""
    mask = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_UNCHANGED) if png else None
    if mask is None or mask.ndim != 2 or mask.dtype != np.uint8:
        raise MaskError("it is no picture of one channel of 8 bits")
    if (highest := int(mask.max())) >= classes:
        raise MaskError(f"it has the index {highest}, and there are {classes} classes")
    return mask


def pixels(masks: Sequence[np.ndarray] | np.ndarray, classes: int) -> np.ndarray:
    """(n, classes) int64: the pixels of each class in each of n masks."""
    counts = [np.bincount(np.ravel(mask), minlength=classes) for mask in masks]
    return np.array(counts, np.int64).reshape(len(counts), classes)
