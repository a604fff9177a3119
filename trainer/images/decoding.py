"""Decodes an image file: upright samples, as the file has them or with 8 bits per channel.

OpenCV decodes: two to four times faster than Pillow on PNG and on large JPEG, equal otherwise
(benchmarks/speed/images.py). Pillow decodes transparent images, which OpenCV gets wrong.
"""

from collections.abc import Sequence

import cv2
import numpy as np
from PIL import ExifTags, Image, ImageOps

from trainer.images import dicom, tiff
from trainer.images import pages as pages_
from trainer.images.errors import DeepImageError, ImageError
from trainer.images.header import MOST_PIXELS, Header
from trainer.images.losses import Loss
from trainer.images.scale import EIGHT_BITS, WHITE, Scale
from trainer.images.tiff import Samples
from trellis_contracts.dataset_features import Pages

# libjpeg decodes at 1/2, 1/4 or 1/8 of the size in a fraction of the time.
_REDUCED = {
    (1, 1): cv2.IMREAD_GRAYSCALE,
    (1, 2): cv2.IMREAD_REDUCED_GRAYSCALE_2,
    (1, 4): cv2.IMREAD_REDUCED_GRAYSCALE_4,
    (1, 8): cv2.IMREAD_REDUCED_GRAYSCALE_8,
    (3, 1): cv2.IMREAD_COLOR_BGR,
    (3, 2): cv2.IMREAD_REDUCED_COLOR_2,
    (3, 4): cv2.IMREAD_REDUCED_COLOR_4,
    (3, 8): cv2.IMREAD_REDUCED_COLOR_8,
}

Decoded = tuple[np.ndarray, tuple[Loss, ...]]

# Callers have threads of their own, and report faults of a file themselves.
cv2.setNumThreads(1)
cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)


def decode(
    data: bytes,
    header: Header,
    shape: tuple[int, int, int],
    scale: Scale | None,
    pages: Pages | None,
) -> Decoded:
    """Upright pixels, (h, w) for 1 channel, (h, w, 3) in BGR order for 3, uint8, or uint16 by the
    scale; and what is lost beside header.lost.

    shape: (height, width, channels) that are needed; a large JPEG may be decoded at reduced size,
    never below. Raises ImageError.
    """
    if header.deep is not None and scale is None:
        raise DeepImageError(
            f"a {header.format} image with {header.deep}, which 0 to 255 cannot hold; say in "
            "source.scale how they become pixels: full, range, percentiles, or a DICOM file's "
            "window"
        )
    lost: list[Loss] = []
    if "frames" in header.lost and pages not in (None, "first", "1"):
        raise ImageError(
            f"a {header.format} image with further frames, of which only the first is read: "
            "source.pages is first, or left out"
        )
    indexes: Sequence[int] = pages_.chosen(pages, header.pages, header.format)
    size = header.size[0] * header.size[1]
    if size * len(indexes) > MOST_PIXELS:
        # Read one after the other, they take no more memory than one, but the time of all.
        raise ImageError(
            f"too large for a mean: {len(indexes)} times {size:,} pixels; at most {MOST_PIXELS:,}"
        )
    if header.pages > len(indexes):
        lost.append("frames")
    if header.format == "DICOM":
        found, more = _of_dicom(data, header, scale, indexes)
    else:
        if header.pages > 1:
            indexes = tiff.places(data, indexes)
        if header.deep is None:
            found, more = _shallow(data, header, shape, scale, indexes)
        else:
            assert scale is not None
            found, more = _deep(data, header, scale, indexes)
    return _as_channels(found, shape[2]), (*lost, *more)


def _as_channels(found: np.ndarray, channels: int) -> np.ndarray:
    """(h, w) or (h, w, 3) BGR of so many channels."""
    if found.ndim == 2:
        return found if channels == 1 else cv2.cvtColor(found, cv2.COLOR_GRAY2BGR)
    return cv2.cvtColor(found, cv2.COLOR_BGR2GRAY) if channels == 1 else found


def _shallow(
    data: bytes,
    header: Header,
    shape: tuple[int, int, int],
    scale: Scale | None,
    indexes: Sequence[int],
) -> Decoded:
    """Pixels of a file whose values 8 bits hold."""
    lost: list[Loss] = []

    def page(index: int) -> np.ndarray:
        found, more = _page(data, header, shape, index)
        lost.extend(loss for loss in more if loss not in lost)
        return found

    decoded = pages_.mean(indexes, page)
    if scale is None:
        return _in_bytes(decoded), tuple(lost)
    scaled, more = scale.apply(decoded, EIGHT_BITS)
    return scaled, (*lost, *more)


def _in_bytes(values: np.ndarray) -> np.ndarray:
    """Values as uint8; those of one page mostly are, and rounding them would take as long as
    decoding.
    """
    return values if values.dtype == np.uint8 else np.rint(values).astype(np.uint8)


def _page(data: bytes, header: Header, shape: tuple[int, int, int], index: int) -> Decoded:
    """uint8 pixels of a page."""
    assert header.opened is not None
    height, width, channels = shape
    if index:
        _seek(header.opened, index)
    if header.opened.has_transparency_data:
        return _composed(header.opened, channels)
    if index:
        return _pillow(header.opened, channels), ()
    reduction = 1
    if header.format in ("JPEG", "MPO"):
        # The header has the size before rotation: compare its short side with the longer target,
        # so that either orientation leaves enough pixels.
        reduction = _reduction(min(header.size), max(height, width))
    try:
        return _opencv(data, header, _REDUCED[channels, reduction]), ()
    except ImageError:
        if header.format != "TIFF":
            raise
    # Samples of 2 and 4 bits, tiles with filled ends, and some ways of compression.
    return _pillow(header.opened, channels), ()


def _seek(opened: Image.Image, index: int) -> None:
    try:
        opened.seek(index)
    except Exception as error:  # as in read_header: readers raise exceptions of their own
        raise ImageError(f"a TIFF file whose page {index + 1} cannot be read") from error


def _of_dicom(data: bytes, header: Header, scale: Scale | None, indexes: Sequence[int]) -> Decoded:
    file = dicom.Frames(data)
    first = file.read(indexes[0])
    found = pages_.mean(
        indexes, lambda index: (first if index == indexes[0] else file.read(index)).values
    )
    lost = first.lost
    if scale is None:
        pixels = _in_bytes(found)
    else:
        # The window of a mean is its first frame's.
        pixels, more = scale.apply(found, first.ends)
        lost = (*lost, *more)
    if header.inverted:
        pixels = np.invert(pixels)
    if pixels.ndim == 3:
        pixels = cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR)
    return pixels, lost


def _deep(data: bytes, header: Header, scale: Scale, indexes: Sequence[int]) -> Decoded:
    """uint16 pixels of a file with deep samples by the scale."""
    samples = header.deep
    assert samples is not None
    opacity: list[np.ndarray] = []

    def values(index: int) -> np.ndarray:
        if header.format == "TIFF":
            colours, alpha = tiff.decode(data, samples, index)
        else:
            colours, alpha = _deep_png(data, header, samples)
        opacity.extend(() if alpha is None else (_shares(alpha, samples),))
        return colours

    pixels, lost = scale.apply(pages_.mean(indexes, values), samples.ends)
    if opacity and (opaque := pages_.mean(range(len(opacity)), opacity.__getitem__)).min() < 1:
        lost += ("transparency",)
        opaque = opaque if pixels.ndim == 2 else opaque[..., np.newaxis]
        mixed = pixels * opaque + WHITE * (1 - opaque)
        pixels = np.rint(mixed).astype(np.uint16)
    if pixels.ndim == 3:
        pixels = cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR)
    return pixels, lost


def _shares(alpha: np.ndarray, samples: Samples) -> np.ndarray:
    """Opacity of pixels, from 0 to 1."""
    if samples.kind == "u":
        return alpha / (2**samples.bits - 1)
    raise ImageError(f"alpha of {samples}; save the image without it")


def _deep_png(
    data: bytes, header: Header, samples: Samples
) -> tuple[np.ndarray, np.ndarray | None]:
    """Decode like tiff.decode."""
    assert header.opened is not None
    found = _opencv(data, header, cv2.IMREAD_UNCHANGED)
    if found.ndim == 2:
        found = found[..., np.newaxis]
    alpha: np.ndarray | None = None
    if found.shape[2] == 4:
        found, alpha = found[..., :3], found[..., 3]
    # OpenCV has grey with alpha as four channels, in the order blue, green, red, alpha.
    colours = found[..., ::-1] if samples.colours == 3 else found[..., :1]
    key = header.opened.info.get("transparency")
    if key is not None:
        # One value, or one colour, is transparent (tRNS).
        alpha = np.where((colours == np.array(key)).all(axis=-1), 0, WHITE).astype(np.uint16)
    turn = header.opened.getexif().get(ExifTags.Base.Orientation, 1)
    upright = tiff.upright(colours if samples.colours == 3 else colours[..., 0], turn)
    return upright, None if alpha is None else tiff.upright(alpha, turn)


def _opencv(data: bytes, header: Header, flags: int) -> np.ndarray:
    try:
        decoded = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    except cv2.error as error:
        raise ImageError(f"corrupt {header.format} image: {error.err}") from error
    if decoded is None:
        raise ImageError(f"corrupt or truncated {header.format} image")
    return decoded


def _reduction(short_side: int, needed: int) -> int:
    return next((factor for factor in (8, 4, 2) if short_side // factor >= needed), 1)


def _pillow(opened: Image.Image, channels: int) -> np.ndarray:
    try:
        upright = ImageOps.exif_transpose(opened)
        found = np.asarray(upright.convert("L" if upright.mode in ("1", "L") else "RGB"))
    except Exception as error:  # as in read_header: readers raise exceptions of their own
        method = opened.info.get("compression", "raw")
        raise ImageError(
            f"a TIFF image that cannot be decompressed ({method}): corrupt or truncated, or a "
            "method that is not read"
        ) from error
    if found.ndim == 2:
        return found if channels == 1 else cv2.cvtColor(found, cv2.COLOR_GRAY2BGR)
    return cv2.cvtColor(found, cv2.COLOR_RGB2GRAY if channels == 1 else cv2.COLOR_RGB2BGR)


def _composed(opened: Image.Image, channels: int) -> Decoded:
    try:
        upright = ImageOps.exif_transpose(opened).convert("RGBA")
    except Exception as error:  # as in read_header: readers raise exceptions of their own
        raise ImageError(f"corrupt or truncated {opened.format} image") from error
    composed = Image.alpha_composite(Image.new("RGBA", upright.size, "white"), upright)
    conversion = cv2.COLOR_RGBA2GRAY if channels == 1 else cv2.COLOR_RGBA2BGR
    opaque = np.asarray(upright)[..., 3].min() == 255
    decoded: np.ndarray = cv2.cvtColor(np.asarray(composed), conversion)
    return decoded, () if opaque else ("transparency",)
