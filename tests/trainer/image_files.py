"""Image files of the kinds that callers send, the same ones whenever they are made.

Their pictures are parts of scikit-learn's two photographs and its digits, in sizes from 9 to 1,400
pixels a side, with noise, so that decoders and resizers have details to disagree about.
"""

import functools
import io
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from PIL import Image
from sklearn.datasets import load_digits, load_sample_images

from tests.trainer.images.dicom import dicom

_ORIENTATION = 0x0112  # the EXIF tag

CLASSES = ("china", "digit", "flower")


@dataclass(frozen=True)
class ImageFile:
    """One file. kind: how it is encoded, a key of KINDS or DEEP_KINDS; label: what it shows, one
    of CLASSES.
    """

    name: str
    kind: str
    label: str
    data: bytes


def image_files(count: int, deep: bool = False) -> Iterator[ImageFile]:
    """So many files, the kinds of KINDS in turn; deep: those of DEEP_KINDS too."""
    kinds = KINDS | DEEP_KINDS if deep else KINDS
    for number, kind in zip(range(count), itertools.cycle(kinds), strict=False):
        random = np.random.default_rng(number)
        label = CLASSES[random.integers(len(CLASSES))]
        extension, encode = kinds[kind]
        large = kind == "large jpeg"
        data = encode(_picture(label, random, large), random)
        yield ImageFile(f"{number:05d}.{extension}", kind, label, data)


@functools.cache
def _sources() -> dict[str, np.ndarray]:
    china, flower = load_sample_images().images
    digits = (load_digits().images * 255 / 16).astype(np.uint8)
    return {"china": china, "flower": flower, "digit": digits}


def _picture(label: str, random: np.random.Generator, large: bool) -> Image.Image:
    """An RGB picture of any size and shape; large: above 1,000 pixels a side."""
    source = _sources()[label]
    if label == "digit":
        tile = Image.fromarray(source[random.integers(len(source))]).convert("RGB")
    else:
        height, width = random.integers(150, 420, 2)
        top, left = random.integers(0, [source.shape[0] - height + 1, source.shape[1] - width + 1])
        tile = Image.fromarray(source[top : top + height, left : left + width])
    low, high = (1000, 1400) if large else (9, 320)
    size = tuple(random.integers(low, high, 2).tolist())
    pixels = np.asarray(tile.resize(size, Image.Resampling.BICUBIC)).astype(np.int16)
    noise = random.integers(-12, 13, pixels.shape)
    return Image.fromarray((pixels + noise).clip(0, 255).astype(np.uint8))


def _saved(image: Image.Image, image_format: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, image_format, **options)
    return buffer.getvalue()


def _jpeg(
    mode: str = "RGB", rotated: bool = False, **options: Any
) -> Callable[[Image.Image, np.random.Generator], bytes]:
    def encode(image: Image.Image, random: np.random.Generator) -> bytes:
        told = {"exif": _rotation(random)} if rotated else {}
        quality = int(random.integers(60, 98))
        return _saved(image.convert(mode), "JPEG", quality=quality, **options, **told)

    return encode


def _plain(
    image_format: str, mode: str = "RGB", **options: Any
) -> Callable[[Image.Image, np.random.Generator], bytes]:
    return lambda image, random: _saved(image.convert(mode), image_format, **options)


def _rotation(random: np.random.Generator) -> Image.Exif:
    exif = Image.Exif()
    exif[_ORIENTATION] = int(random.integers(2, 9))
    return exif


def _rotated_png(image: Image.Image, random: np.random.Generator) -> bytes:
    return _saved(image, "PNG", exif=_rotation(random))


def _transparent(
    image_format: str, mode: str = "RGBA", **options: Any
) -> Callable[[Image.Image, np.random.Generator], bytes]:
    def encode(image: Image.Image, random: np.random.Generator) -> bytes:
        alpha = Image.linear_gradient("L").resize(image.size)
        seen = image.convert(mode[:-1])
        seen.putalpha(alpha)
        return _saved(seen, image_format, **options)

    return encode


def _palette(
    image_format: str, transparent: bool = False
) -> Callable[[Image.Image, np.random.Generator], bytes]:
    def encode(image: Image.Image, random: np.random.Generator) -> bytes:
        few = image.quantize(int(random.integers(4, 200)), Image.Quantize.FASTOCTREE)
        return _saved(few, image_format, **({"transparency": 1} if transparent else {}))

    return encode


def _animated(image_format: str) -> Callable[[Image.Image, np.random.Generator], bytes]:
    def encode(image: Image.Image, random: np.random.Generator) -> bytes:
        if image_format == "GIF":
            image = image.quantize(64, Image.Quantize.FASTOCTREE)
        later = [image.transpose(Image.Transpose.ROTATE_180)]
        return _saved(image, image_format, save_all=True, append_images=later, duration=40)

    return encode


def _deep(extension: str, colour: bool) -> Callable[[Image.Image, np.random.Generator], bytes]:
    """16 bits a channel. Pillow cannot write them in colour."""

    def encode(image: Image.Image, random: np.random.Generator) -> bytes:
        pixels = np.asarray(image if colour else image.convert("L")).astype(np.uint16) * 256
        pixels += random.integers(0, 256, pixels.shape).astype(np.uint16)
        return cv2.imencode(extension, pixels[..., ::-1] if colour else pixels)[1].tobytes()

    return encode


def _float(image: Image.Image, random: np.random.Generator) -> bytes:
    pixels = np.asarray(image.convert("L")).astype(np.float32) * 257
    return _saved(Image.fromarray(pixels + random.random(pixels.shape, np.float32)), "TIFF")


def _dicom(image: Image.Image, random: np.random.Generator) -> bytes:
    """12 bits as a scanner has them, in a unit of their own."""
    pixels = np.asarray(image.convert("L")).astype(np.uint16) * 16
    rescale = {"RescaleSlope": "0.5", "RescaleIntercept": "-1024"}
    return dicom(
        pixels + random.integers(0, 16, pixels.shape).astype(np.uint16), bits=12, **rescale
    )


# Extension, and (RGB picture, random) -> file.
KINDS: dict[str, tuple[str, Callable[[Image.Image, np.random.Generator], bytes]]] = {
    "jpeg": ("jpg", _jpeg()),
    "jpeg 4:4:4": ("jpg", _jpeg(subsampling=0)),
    "large jpeg": ("jpg", _jpeg()),
    "progressive jpeg": ("jpg", _jpeg(progressive=True)),
    "rotated jpeg": ("jpg", _jpeg(rotated=True)),
    "grey jpeg": ("jpg", _jpeg("L")),
    "cmyk jpeg": ("jpg", _jpeg("CMYK")),
    "png": ("png", _plain("PNG")),
    "grey png": ("png", _plain("PNG", "L")),
    "black and white png": ("png", _plain("PNG", "1")),
    "transparent png": ("png", _transparent("PNG")),
    "transparent grey png": ("png", _transparent("PNG", "LA")),
    "palette png": ("png", _palette("PNG")),
    "transparent palette png": ("png", _palette("PNG", transparent=True)),
    "rotated png": ("png", _rotated_png),
    "animated png": ("png", _animated("PNG")),
    "gif": ("gif", _palette("GIF")),
    "transparent gif": ("gif", _palette("GIF", transparent=True)),
    "animated gif": ("gif", _animated("GIF")),
    "bmp": ("bmp", _plain("BMP")),
    "webp": ("webp", _plain("WEBP")),
    "transparent webp": ("webp", _transparent("WEBP", lossless=True)),
    "tiff": ("tif", _plain("TIFF")),
}

# Those with more than 8 bits per channel, which take a scale.
DEEP_KINDS: dict[str, tuple[str, Callable[[Image.Image, np.random.Generator], bytes]]] = {
    "16-bit png": ("png", _deep(".png", colour=True)),
    "16-bit grey png": ("png", _deep(".png", colour=False)),
    "16-bit grey tiff": ("tif", _deep(".tif", colour=False)),
    "16-bit tiff": ("tif", _deep(".tif", colour=True)),
    "float tiff": ("tif", _float),
    "dicom": ("dcm", _dicom),
}
