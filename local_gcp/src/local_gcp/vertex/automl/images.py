"""Converts images to small squares of numbers for classical models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

SIDE = 16
"""Pixels; 16 x 16 RGB are 768 numbers."""


class ImageError(Exception):
    """A file that is not an image."""


def pixels(path: Path) -> np.ndarray:
    """float32[768] from -1 to 1; ImageError for a file that cannot be decoded."""
    try:
        with Image.open(path) as image:
            small = image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BOX)
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError, ValueError) as error:
        raise ImageError(str(error)) from None
    return np.asarray(small, dtype=np.float32).ravel() / 127.5 - 1
