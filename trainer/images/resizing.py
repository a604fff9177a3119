"""An image as one of another size.

- INTER_AREA where an axis shrinks (each pixel is the mean of those it covers: no aliasing),
  bilinear where it grows
- an image of another shape than the requested one: stretch changes its proportions; letterbox keeps
  them and all of the image, between black bars, as TensorFlow's resize_with_pad does; crop keeps
  them, and of the image the largest part around its middle, as Keras's smart_resize does
- a mask, whose values have no mean: each pixel takes the value of the nearest one
"""

from collections.abc import Callable

import cv2
import numpy as np

from trellis_contracts.dataset_features import Resize


def resize(
    decoded: np.ndarray, height: int, width: int, how: Resize = "stretch", nearest: bool = False
) -> np.ndarray:
    """An image as one of (height, width); the module's docstring has the three ways. nearest: it is
    a mask.
    """
    stretch: Callable[[np.ndarray, int, int], np.ndarray] = _nearest if nearest else _stretch
    if how == "crop":
        part = largest_within(decoded.shape[:2], (height, width))
        return stretch(_middle(decoded, *part), height, width)
    if how == "letterbox":
        inner = largest_within((height, width), decoded.shape[:2])
        return _with_bars(stretch(decoded, *inner), height, width)
    return stretch(decoded, height, width)


def largest_within(size: tuple[int, int], proportions: tuple[int, int]) -> tuple[int, int]:
    """The largest (height, width) of these proportions within `size`; at least one pixel."""
    height, width = size
    h, w = proportions
    return max(1, min(height, width * h // w)), max(1, min(width, height * w // h))


def _middle(decoded: np.ndarray, height: int, width: int) -> np.ndarray:
    top, left = (decoded.shape[0] - height) // 2, (decoded.shape[1] - width) // 2
    return decoded[top : top + height, left : left + width]


def _with_bars(decoded: np.ndarray, height: int, width: int) -> np.ndarray:
    above, before = (height - decoded.shape[0]) // 2, (width - decoded.shape[1]) // 2
    below, after = height - decoded.shape[0] - above, width - decoded.shape[1] - before
    return cv2.copyMakeBorder(decoded, above, below, before, after, cv2.BORDER_CONSTANT, value=0)


def _stretch(decoded: np.ndarray, height: int, width: int) -> np.ndarray:
    """Resize to (height, width): area means where an axis shrinks, bilinear where it grows."""
    smaller = min(decoded.shape[0], height), min(decoded.shape[1], width)
    if decoded.shape[:2] != smaller:
        decoded = cv2.resize(decoded, smaller[::-1], interpolation=cv2.INTER_AREA)
    if decoded.shape[:2] == (height, width):
        return decoded
    if decoded.dtype == np.uint8:
        return cv2.resize(decoded, (width, height), interpolation=cv2.INTER_LINEAR)
    # OpenCV's result for 16 bits depends on the processor's instructions.
    between = _between(_between(decoded, height, 0), width, 1)
    return np.rint(between).astype(decoded.dtype)


def _nearest(values: np.ndarray, height: int, width: int) -> np.ndarray:
    """Resize to (height, width): the pixel whose middle is the nearest, of two the later."""
    for axis, size in enumerate((height, width)):
        places = (2 * np.arange(size) + 1) * values.shape[axis] // (2 * size)
        values = values.take(places, axis)
    return values


def _between(values: np.ndarray, size: int, axis: int) -> np.ndarray:
    """Values along an axis as so many, float64: linear between the middles of pixels."""
    known = values.shape[axis]
    places = np.clip((np.arange(size) + 0.5) * (known / size) - 0.5, 0, known - 1)
    before = places.astype(int)
    after = np.minimum(before + 1, known - 1)
    share = np.expand_dims(places - before, tuple(n for n in range(values.ndim) if n != axis))
    first, second = (values.take(index, axis).astype(np.float64) for index in (before, after))
    return first * (1 - share) + second * share
