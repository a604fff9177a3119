"""One image file -> the encoded image that a dataset stores.

Validation and test are PNG whatever the train split is: their pixels, which choose and score a
model, are then those that its server makes of the same file (trainer.images).
"""

import cv2
import numpy as np

from trainer import images
from trainer.images import ImageError, Scale, View
from trellis_contracts.dataset_features import Feature

_JPEG_QUALITY = 95


def convert(data: bytes, feature: Feature, split: str) -> tuple[bytes, View]:
    """The image in `data`, shaped as `feature` says and encoded as its split is; and what is seen
    of the file. Raises ImageError.
    """
    scale = None if feature.scale is None else Scale.parse(feature.scale)
    seen = images.view(data, feature.image_shape, feature.image_resize, scale, feature.pages)
    encode = _jpeg if feature.encoding_of(split) == "jpeg" else _png
    return encode(seen.pixels), seen


def _png(pixels: np.ndarray) -> bytes:
    return _encoded(".png", pixels)


def _jpeg(pixels: np.ndarray) -> bytes:
    return _encoded(".jpg", pixels, (cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY))


def _encoded(extension: str, pixels: np.ndarray, options: tuple[int, ...] = ()) -> bytes:
    """pixels: (height, width, channels), RGB if there are three; OpenCV takes BGR."""
    ordered = cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR) if pixels.shape[2] == 3 else pixels
    encoded, buffer = cv2.imencode(extension, ordered, options)
    if not encoded:
        raise ImageError(f"OpenCV cannot encode {pixels.shape} pixels as {extension}")
    return buffer.tobytes()
