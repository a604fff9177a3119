"""Nearest neighbours of grey pictures, in an image that knows nothing of Trellis: no TensorFlow."""

import io
from collections.abc import Iterable

import numpy as np
from PIL import Image


def columns(files: Iterable[bytes]) -> dict[str, np.ndarray]:
    """The pixels of encoded pictures of one size, a column for each."""
    pixels = np.stack([np.array(Image.open(io.BytesIO(file)).convert("L")) for file in files])
    rows = pixels.reshape(len(pixels), -1)
    return {str(place): rows[:, place] for place in range(rows.shape[1])}
