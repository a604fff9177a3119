"""Images as data URIs, small enough for a page that is sent by mail."""

import base64
import io
from collections.abc import Sequence

import cv2
import numpy as np
from PIL import Image

from trainer.comparison.held_out_split import HeldOutSplit
from trellis_contracts.dataset_features import IMAGE, Feature

# Larger pictures are scaled down to this many pixels: 24 of them then stay under half a megabyte.
_LARGEST_BYTES = 12_000
_THUMBNAIL_SIDE = 128
_SMOOTHED_SIDE = 64
_OVERLAY_SIDE = 256

# The palette of the confusion matrix: the accents of style.css, between its light and dark variant.
_RIGHT = (44, 130, 190)
_WRONG = (222, 106, 32)


def image_of(features: Sequence[Feature]) -> Feature | None:
    """The first image among a dataset's features; None without images."""
    return next((feature for feature in features if feature.kind == IMAGE), None)


def is_small(image: Feature) -> bool:
    """Return whether a page should show its pixels as squares, not smoothed."""
    return max(image.image_shape[:2]) < _SMOOTHED_SIDE


def of_example(split: HeldOutSplit, index: int, image: Feature | None) -> str:
    """This image of a test example as a data URI; "" without images."""
    return "" if image is None else data_uri(split.feature(index, image.record_name))


def data_uri(png: bytes) -> str:
    """A PNG file as a data URI, scaled down if it is large.

    An image that cannot be decoded is embedded as it is: the browser shows it as broken.
    """
    encoded, encoding = _thumbnail(png) if len(png) > _LARGEST_BYTES else (png, "png")
    return _data_uri(encoded, encoding)


def _data_uri(encoded: bytes, encoding: str) -> str:
    return f"data:image/{encoding};base64,{base64.b64encode(encoded).decode('ascii')}"


def _thumbnail(png: bytes) -> tuple[bytes, str]:
    image = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_UNCHANGED)
    if image is None:
        return png, "png"
    scale = min(1.0, _THUMBNAIL_SIDE / max(image.shape[:2]))
    if image.dtype == np.uint16:
        image = (image // 257).astype(np.uint8)
    size = [max(1, round(side * scale)) for side in image.shape[1::-1]]
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    done, jpeg = cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, 85])
    return (jpeg.tobytes(), "jpeg") if done else (png, "png")


def overlaid(png: bytes, true: np.ndarray, predicted: np.ndarray) -> str:
    """An image with a true and a predicted mask (height, width) over it, as a data URI; "" if it
    cannot be decoded. What is found stands out in one colour, what is wrong in another: pixels of a
    class that are missed, or predicted and not there, or of another class. A white line is the
    boundary of the true mask's regions.
    """
    image = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_UNCHANGED)
    if image is None:
        return ""
    grey = (image // 257 if image.dtype == np.uint16 else image).astype(np.uint8)
    if grey.ndim == 2:
        grey = np.asarray(cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR), np.uint8)
    scale = _OVERLAY_SIDE / max(true.shape)
    size = [max(1, round(side * scale)) for side in true.shape[::-1]]
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_NEAREST
    picture = np.asarray(cv2.resize(grey[..., :3], size, interpolation=how), np.float32)
    true, predicted = (
        np.asarray(cv2.resize(mask, size, interpolation=cv2.INTER_NEAREST))
        for mask in (true, predicted)
    )
    for where, colour in (
        ((true == predicted) & (true > 0), _RIGHT),
        (true != predicted, _WRONG),
    ):
        picture[where] = 0.55 * picture[where] + 0.45 * np.array(colour[::-1], np.float32)
    # A pixel is on a boundary if its neighbour to the right or below has another class.
    edge = np.zeros(true.shape, bool)
    edge[:, :-1] |= true[:, :-1] != true[:, 1:]
    edge[:-1] |= true[:-1] != true[1:]
    picture[edge] = 255
    done, jpeg = cv2.imencode(".jpg", np.rint(picture), [cv2.IMWRITE_JPEG_QUALITY, 88])
    return _data_uri(jpeg.tobytes(), "jpeg") if done else ""


def heatmap(shares: np.ndarray) -> str:
    """A square matrix of shares in [0, 1] as a PNG data URI, one pixel per cell.

    The diagonal in one colour, the rest in another; the share is the opacity (its square root, so
    that single mistakes stay visible), which suits a light and a dark page.
    """
    pixels = np.empty((*shares.shape, 4), dtype=np.uint8)
    pixels[..., :3] = _WRONG
    pixels[np.arange(len(shares)), np.arange(len(shares)), :3] = _RIGHT
    pixels[..., 3] = np.rint(255 * np.sqrt(shares))
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="png")
    return data_uri_of_png(buffer.getvalue())


def data_uri_of_png(png: bytes) -> str:
    """A PNG made here as a data URI, never scaled."""
    return _data_uri(png, "png")
