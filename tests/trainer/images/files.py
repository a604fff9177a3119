"""A file of each kind that docs/how-to/image-files.md lists, all of one picture."""

import io
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
import tifffile
from PIL import Image, ImageCms

from tests.trainer.images.dicom import dicom, sample

HEIGHT, WIDTH = 24, 32
ORIENTATION = 0x0112


def colours() -> np.ndarray:
    """(HEIGHT, WIDTH, 3) uint8: smooth, so that lossy formats stay close, without any symmetry."""
    coarse = np.random.default_rng(0).integers(0, 256, (4, 5, 3), dtype=np.uint8)
    return cv2.resize(coarse, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC)


def camera() -> np.ndarray:
    """(HEIGHT, WIDTH) uint16: what a 12-bit camera leaves in 16 bits."""
    return np.random.default_rng(1).integers(200, 3900, (HEIGHT, WIDTH)).astype(np.uint16)


RGB, GREY = colours(), colours()[..., 0].copy()
DEEP, DEEP_RGB = camera(), colours().astype(np.uint16) * 251 + 13
ALPHA = np.full((HEIGHT, WIDTH), 255, np.uint8)
HALF = np.where(np.arange(WIDTH) < WIDTH // 2, 0, ALPHA).astype(np.uint8)


@dataclass(frozen=True)
class File:
    """data: the file. seen: upright, what a model of 8 bits sees of it, or, of a deep file, its
    values; None: nobody does. tolerance: of a lossy format.
    """

    data: bytes
    seen: np.ndarray | None = None
    tolerance: float = 0


def pillow(pixels: np.ndarray | Image.Image, kind: str, **options) -> bytes:
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def tiff(pixels: np.ndarray, order: str = "<", big: bool = False, **options) -> bytes:
    buffer = io.BytesIO()
    with tifffile.TiffWriter(buffer, byteorder=order, bigtiff=big) as writer:
        writer.write(pixels, **{"photometric": "minisblack", **options})
    return buffer.getvalue()


def png(pixels: np.ndarray, *chunks: tuple[bytes, bytes], interlaced: bool = False) -> bytes:
    """Grey or RGB of 8 or 16 bits; chunks before the pixels."""
    kind = {2: 0, 3: 2}[pixels.ndim]
    header = (pixels.shape[1], pixels.shape[0], pixels.itemsize * 8, kind, 0, 0, int(interlaced))
    # https://www.w3.org/TR/png-3/#8Interlace: first column and row, and steps, of each pass.
    adam7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2)]
    passes = [*adam7, (0, 1, 1, 2)] if interlaced else [(0, 0, 1, 1)]
    rows = [row for x, y, right, down in passes for row in pixels[y::down, x::right]]
    lines = b"".join(b"\0" + row.astype(row.dtype.newbyteorder(">")).tobytes() for row in rows)
    parts = [(b"IHDR", struct.pack(">IIBBBBB", *header)), *chunks]
    parts += [(b"IDAT", zlib.compress(lines)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", zlib.crc32(name + content))
        for name, content in parts
    )


def frames(kind: str) -> bytes:
    first = Image.fromarray(RGB)
    first = first.quantize(64) if kind == "GIF" else first
    other = first.transpose(Image.Transpose.ROTATE_180)
    options = {"lossless": True} if kind == "WEBP" else {}
    return pillow(first, kind, save_all=True, append_images=[other], **options)


def rotated(kind: str, **options) -> bytes:
    """Turned once to the left, which orientation 6 undoes."""
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    return pillow(np.rot90(RGB), kind, exif=exif, **options)


def packed(pixels: np.ndarray, bits: int, *more: tuple[int, int], colour: int = 1) -> bytes:
    """A grey TIFF file with samples of a few bits. more: tags of type LONG. colour: its
    photometric interpretation.
    """
    digits = ["".join(f"{value:0{bits}b}" for value in row) for row in pixels]
    rows = [int(row.ljust(-(-len(row) // 8) * 8, "0"), 2) for row in digits]
    content = b"".join(row.to_bytes(-(-pixels.shape[1] * bits // 8), "big") for row in rows)
    height, width = pixels.shape
    tags = [(256, width), (257, height), (258, bits), (259, 1), (262, colour), (277, 1)]
    tags = sorted([*tags, (278, height), (279, len(content)), *more])
    start = 8 + 2 + 12 * (len(tags) + 1) + 4
    entries = [struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags]
    place = sum(tag < 273 for tag, _ in tags)
    entries.insert(place, struct.pack("<HHII", 273, 4, 1, start))
    header = b"II*\0" + struct.pack("<IH", 8, len(entries))
    return header + b"".join(entries) + bytes(4) + content


def adobe_rgb_of_a_camera() -> bytes:
    """EXIF alone says it (DCF 2.0): the colour space is none that EXIF names, the rule R03."""
    pointer = struct.pack("<HHHII", 1, 0x8769, 4, 1, 26) + bytes(4)
    exif = struct.pack("<HHHII", 2, 0xA001, 3, 1, 0xFFFF)
    exif += struct.pack("<HHII", 0xA005, 4, 1, 56) + bytes(4)
    rule = struct.pack("<HHHI4s", 1, 1, 2, 4, b"R03\0") + bytes(4)
    header = b"Exif\0\0II*\0" + struct.pack("<I", 8)
    options = {"quality": 95, "subsampling": 0, "exif": header + pointer + exif + rule}
    return pillow(RGB, "JPEG", **options)


def gif_with_a_profile() -> bytes:
    data = pillow(Image.fromarray(RGB).quantize(64), "GIF")
    place = 13 + 3 * 64  # behind the header and its palette
    extension = b"!\xff\x0bICCRGBG1012\x04ICC \0"
    return b"GIF89a" + data[6:place] + extension + data[place:]


def bmp(alpha: np.ndarray, colours: bytes = b" niW") -> bytes:
    """32 bits with a BITMAPV5HEADER. colours: its colour space."""
    content = np.dstack([RGB[..., ::-1], alpha])[::-1].tobytes()
    header = struct.pack("<IiiHHIIiiII", 124, WIDTH, HEIGHT, 1, 32, 3, len(content), 0, 0, 0, 0)
    header += struct.pack("<IIII", 0xFF0000, 0xFF00, 0xFF, 0xFF000000) + colours + bytes(64)
    start = 14 + len(header)
    return b"BM" + struct.pack("<IHHI", start + len(content), 0, 0, start) + header + content


def with_another_page(first: dict, second: dict) -> bytes:
    buffer = io.BytesIO()
    with tifffile.TiffWriter(buffer) as writer:
        writer.write(**first)
        writer.write(**second)
    return buffer.getvalue()


def profile(name: str) -> bytes:
    return ImageCms.ImageCmsProfile(ImageCms.createProfile(name)).tobytes()


def imagej() -> bytes:
    buffer = io.BytesIO()
    tifffile.imwrite(buffer, np.stack([DEEP, DEEP[::-1]]), imagej=True)
    return buffer.getvalue()


def palette(entry: Callable[[int], int]) -> bytes:
    entries = [entry(value) for value in range(256)]
    return tiff(GREY, photometric="palette", colormap=np.array([entries] * 3, np.uint16))


def twelve_bit_jpeg() -> bytes:
    data = bytearray(pillow(GREY, "JPEG"))
    data[data.index(b"\xff\xc0") + 4] = 12
    return bytes(data)


def planes(pixels: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(pixels, -1, 0))


def over_white(alpha: np.ndarray) -> np.ndarray:
    return np.where(alpha[..., np.newaxis] == 0, 255, RGB)


def image(pixels: np.ndarray, mode: str) -> Image.Image:
    return Image.fromarray(pixels).convert(mode)


def image_array(pixels: np.ndarray, mode: str) -> np.ndarray:
    return np.array(image(pixels, mode))


def dicom_palette(bits: int) -> bytes:
    """Each of 256 colours is a grey. PS3.3, C.7.6.3.1.5: entries, the first value, bits."""
    entries = np.arange(256, dtype=np.uint8 if bits == 8 else np.uint16)
    content = (entries if bits == 8 else entries * 256 + 100).tobytes()
    names = [f"{colour}PaletteColorLookupTable" for colour in ("Red", "Green", "Blue")]
    tables = {f"{name}Descriptor": [256, 0, bits] for name in names}
    return dicom(GREY, "PALETTE COLOR", **tables, **{f"{name}Data": content for name in names})


_TRANSPARENT = np.dstack([RGB, HALF])
_OPAQUE = np.dstack([RGB, ALPHA])
_BLACK_OR_WHITE = np.where(GREY > 127, 255, 0).astype(np.uint8)
_FOUR_DEEP = np.dstack([DEEP_RGB, np.full_like(DEEP, 65535)])
_QUANTIZED = np.asarray(Image.fromarray(RGB).quantize(64).convert("RGB"))
_INDICES = np.asarray(Image.fromarray(RGB).quantize(64))[..., np.newaxis]
_ONE_TRANSPARENT = np.where(_INDICES == 3, 255, _QUANTIZED)
_PAGE = {"data": RGB, "photometric": "rgb"}
_THUMBNAIL = {"data": RGB[::2, ::2].copy(), "photometric": "rgb", "subfiletype": 1}

FILES: dict[str, File] = {
    "JPEG": File(pillow(RGB, "JPEG", quality=95, subsampling=0), RGB, 4),
    "JPEG, progressive": File(pillow(RGB, "JPEG", quality=95, progressive=True), RGB, 8),
    "JPEG, grey": File(pillow(GREY, "JPEG", quality=95), GREY, 4),
    "JPEG, rotated by EXIF": File(rotated("JPEG", quality=95, subsampling=0), RGB, 4),
    "JPEG with an sRGB profile": File(
        pillow(RGB, "JPEG", quality=95, subsampling=0, icc_profile=profile("sRGB")), RGB, 4
    ),
    "JPEG with another profile": File(
        pillow(RGB, "JPEG", quality=95, subsampling=0, icc_profile=profile("XYZ")), RGB, 4
    ),
    "JPEG in Adobe RGB by EXIF alone": File(adobe_rgb_of_a_camera(), RGB, 4),
    "JPEG, CMYK": File(pillow(image(RGB, "CMYK"), "JPEG", quality=95), RGB, 8),
    "JPEG with further images (MPO)": File(frames("MPO"), RGB, 12),
    "JPEG, 12 bits": File(twelve_bit_jpeg()),
    "PNG": File(pillow(RGB, "PNG"), RGB),
    "PNG, interlaced": File(png(RGB, interlaced=True), RGB),
    "PNG, grey": File(pillow(GREY, "PNG"), GREY),
    "PNG, 1 bit": File(pillow(GREY > 127, "PNG"), _BLACK_OR_WHITE),
    "PNG, palette": File(pillow(Image.fromarray(RGB).quantize(64), "PNG"), _QUANTIZED),
    "PNG, palette with alpha": File(
        pillow(Image.fromarray(RGB).quantize(64), "PNG", transparency=3), _ONE_TRANSPARENT
    ),
    "PNG, rotated by EXIF": File(rotated("PNG"), RGB),
    "PNG with alpha, all opaque": File(pillow(_OPAQUE, "PNG"), RGB),
    "PNG, partly transparent": File(pillow(_TRANSPARENT, "PNG"), over_white(HALF)),
    "PNG with another profile": File(pillow(RGB, "PNG", icc_profile=profile("LAB")), RGB),
    "PNG with another gamma": File(png(RGB, (b"gAMA", struct.pack(">I", 100_000))), RGB),
    "PNG with other primaries or transfer (cICP)": File(png(RGB, (b"cICP", b"\x09\x10\0\1")), RGB),
    "PNG, animated": File(frames("PNG"), RGB),
    "PNG, 16 bits": File(png(DEEP_RGB), DEEP_RGB),
    "PNG, 16 bits, grey": File(png(DEEP), DEEP),
    "PNG, 16 bits, interlaced": File(png(DEEP, interlaced=True), DEEP),
    "PNG, 16 bits, one value transparent": File(
        png(DEEP, (b"tRNS", struct.pack(">H", int(DEEP[0, 0])))),
        np.where(DEEP[0, 0] == DEEP, 65535, DEEP),
    ),
    "GIF": File(pillow(Image.fromarray(RGB).quantize(64), "GIF"), _QUANTIZED),
    "GIF, partly transparent": File(
        pillow(Image.fromarray(RGB).quantize(64), "GIF", transparency=3), _ONE_TRANSPARENT
    ),
    "GIF with a profile": File(gif_with_a_profile(), _QUANTIZED),
    "GIF, animated": File(frames("GIF"), _QUANTIZED),
    "BMP": File(pillow(RGB, "BMP"), RGB),
    "BMP, palette": File(pillow(Image.fromarray(RGB).quantize(64), "BMP"), _QUANTIZED),
    "BMP, partly transparent": File(bmp(HALF), over_white(HALF)),
    "BMP with a profile": File(bmp(ALPHA, b"DEBM"), RGB),
    "WebP": File(pillow(RGB, "WEBP", lossless=True), RGB),
    "WebP, partly transparent": File(
        pillow(_TRANSPARENT, "WEBP", lossless=True, exact=True), over_white(HALF)
    ),
    "WebP, rotated by EXIF": File(rotated("WEBP", lossless=True), RGB),
    "WebP with another profile": File(
        pillow(RGB, "WEBP", lossless=True, icc_profile=profile("LAB")), RGB
    ),
    "WebP, animated": File(frames("WEBP"), RGB),
    "TIFF": File(tiff(RGB, photometric="rgb"), RGB),
    "TIFF, big-endian": File(tiff(RGB, ">", photometric="rgb"), RGB),
    "BigTIFF": File(tiff(RGB, big=True, photometric="rgb"), RGB),
    "TIFF, compressed (LZW)": File(pillow(RGB, "TIFF", compression="tiff_lzw"), RGB),
    "TIFF, tiles": File(tiff(RGB, photometric="rgb", tile=(32, 32)), RGB),
    "TIFF, tiles with a filled end": File(tiff(RGB, photometric="rgb", tile=(16, 16)), RGB),
    "TIFF, compressed (LZMA)": File(tiff(RGB, photometric="rgb", compression="lzma"), RGB),
    "TIFF, a plane for each channel": File(
        tiff(planes(RGB), photometric="rgb", planarconfig="separate"), RGB
    ),
    "TIFF, rotated": File(
        tiff(np.rot90(RGB).copy(), photometric="rgb", extratags=[(274, "H", 1, 6, True)]), RGB
    ),
    "TIFF, rotated, partly transparent": File(
        tiff(
            np.rot90(_TRANSPARENT).copy(),
            photometric="rgb",
            extrasamples=["unassalpha"],
            extratags=[(274, "H", 1, 6, True)],
        ),
        over_white(HALF),
    ),
    "TIFF with another profile": File(pillow(RGB, "TIFF", icc_profile=profile("LAB")), RGB),
    "TIFF, 1 bit": File(tiff(GREY > 127), _BLACK_OR_WHITE),
    "TIFF, 4 bits": File(packed(GREY >> 4, 4), (GREY >> 4) * 17),
    "TIFF, 4 bits, rotated": File(packed(np.rot90(GREY >> 4), 4, (274, 6)), (GREY >> 4) * 17),
    "TIFF, 4 bits, 0 is white": File(packed(15 - (GREY >> 4), 4, colour=0), (GREY >> 4) * 17),
    "TIFF, 6 bits": File(packed(GREY >> 2, 6)),
    "TIFF, 12 bits": File(packed(DEEP & 4095, 12)),
    "TIFF, 0 is white": File(tiff(255 - GREY, photometric="miniswhite"), GREY),
    "TIFF, palette": File(palette(lambda value: value * 257), np.dstack([GREY] * 3)),
    "TIFF, palette of 16 bits": File(
        palette(lambda value: value * 256 + 100), np.dstack([GREY] * 3)
    ),
    "TIFF, partly transparent": File(
        tiff(_TRANSPARENT, photometric="rgb", extrasamples=["unassalpha"]), over_white(HALF)
    ),
    "TIFF, RGB and another channel": File(
        tiff(_TRANSPARENT, photometric="rgb", extrasamples=["unspecified"]), RGB
    ),
    "TIFF, grey and another channel": File(tiff(np.dstack([GREY, GREY]), planarconfig="contig")),
    "TIFF, 5 channels": File(tiff(np.dstack([RGB, GREY, GREY]), planarconfig="contig")),
    "TIFF, CMYK": File(pillow(image(RGB, "CMYK"), "TIFF"), RGB, 4),
    "TIFF, YCbCr": File(pillow(image(RGB, "YCbCr"), "TIFF"), RGB, 4),
    "TIFF, CIELAB": File(pillow(image(RGB, "LAB"), "TIFF")),
    "TIFF, several pages": File(tiff(np.stack([GREY, GREY[::-1]]))),
    "TIFF with a thumbnail": File(with_another_page(_PAGE, _THUMBNAIL), RGB),
    "TIFF with a mask": File(with_another_page(_PAGE, {"data": GREY > 127, "subfiletype": 4})),
    "TIFF of which another page is not read": File(
        with_another_page(_PAGE, {"data": DEEP.astype(np.complex64)})
    ),
    "TIFF that begins with a thumbnail": File(with_another_page(_THUMBNAIL, _PAGE)),
    "TIFF of one reduced page": File(packed(GREY, 8, (254, 1)), GREY),
    "TIFF, volume": File(tiff(np.stack([GREY] * 2), volumetric=True, tile=(2, 16, 16))),
    "TIFF, 16 bits": File(tiff(DEEP), DEEP),
    "TIFF, 16 bits, RGB": File(tiff(DEEP_RGB, photometric="rgb"), DEEP_RGB),
    "TIFF, 16 bits, tiles": File(tiff(DEEP, tile=(16, 16)), DEEP),
    "TIFF, 16 bits, big-endian": File(tiff(DEEP, ">"), DEEP),
    "TIFF, 16 bits, compressed (LZW)": File(pillow(DEEP, "TIFF", compression="tiff_lzw"), DEEP),
    "TIFF, 16 bits, 0 is white": File(tiff(65535 - DEEP, photometric="miniswhite"), DEEP),
    "TIFF, 16 bits, a plane for each channel": File(
        tiff(planes(DEEP_RGB), photometric="rgb", planarconfig="separate"), DEEP_RGB
    ),
    "TIFF, 16 bits, compressed planes": File(
        tiff(planes(DEEP_RGB), photometric="rgb", planarconfig="separate", compression="zlib")
    ),
    "TIFF, 16 bits, alpha": File(
        tiff(_FOUR_DEEP, photometric="rgb", extrasamples=["unassalpha"]), DEEP_RGB
    ),
    "TIFF, 16 bits, alpha multiplied in": File(
        tiff(_FOUR_DEEP, photometric="rgb", extrasamples=["assocalpha"])
    ),
    "TIFF, 16 bits, ImageJ's stack": File(imagej()),
    "TIFF, signed 8 bits": File(tiff((GREY.astype(int) - 128).astype(np.int8)), GREY - 128.0),
    "TIFF, signed 16 bits": File(tiff(DEEP.astype(np.int16) - 1000), DEEP - 1000.0),
    "TIFF, 32-bit integers": File(tiff(DEEP.astype(np.uint32)), DEEP),
    "TIFF, floats of 16 bits": File(tiff(DEEP.astype(np.float16)), DEEP.astype(np.float16)),
    "TIFF, floats of 32 bits": File(tiff(DEEP.astype(np.float32)), DEEP),
    "TIFF, floats of 64 bits": File(tiff(DEEP.astype(np.float64)), DEEP),
    "TIFF, floats with NaN": File(tiff(np.where(DEEP > 2000, np.nan, DEEP).astype(np.float32))),
    "TIFF, complex numbers": File(tiff(DEEP.astype(np.complex64))),
    "TIFF, a sensor's raw values": File(packed(DEEP, 16, colour=32803)),
    "ICO": File(pillow(RGB, "ICO", sizes=[(16, 16)])),
    "PNM (PPM, PGM)": File(pillow(RGB, "PPM")),
    "JPEG 2000": File(pillow(RGB, "JPEG2000")),
    "AVIF, HEIC": File(pillow(RGB, "AVIF")),
    "DICOM": File(dicom(GREY), GREY),
    "DICOM, 4 bits": File(dicom(GREY >> 4, bits=4), (GREY >> 4) * 17),
    "DICOM, RGB": File(dicom(RGB, "RGB"), RGB),
    "DICOM, YBR": File(dicom(image_array(RGB, "YCbCr"), "YBR_FULL"), RGB, 4),
    "DICOM, palette": File(dicom_palette(8), np.dstack([GREY] * 3)),
    "DICOM, palette of 16 bits": File(dicom_palette(16), np.dstack([GREY] * 3)),
    "DICOM, 0 is white": File(dicom(255 - GREY, "MONOCHROME1")),
    "DICOM with text in its pixels": File(dicom(GREY, BurnedInAnnotation="YES"), GREY),
    "DICOM with another profile": File(dicom(RGB, "RGB", ICCProfile=profile("LAB")), RGB),
    "DICOM, 16 bits": File(dicom(DEEP), DEEP),
    "DICOM, 16 bits, RGB": File(dicom(DEEP_RGB, "RGB"), DEEP_RGB),
    "DICOM, 12 bits in 16": File(dicom(DEEP, bits=12)),
    "DICOM, signed 16 bits": File(dicom(DEEP.astype(np.int16) - 1000), DEEP - 1000.0),
    "DICOM, rescaled": File(
        dicom(DEEP, RescaleSlope="2", RescaleIntercept="-1024"), DEEP * 2.0 - 1024
    ),
    "DICOM, rescaled by a fraction": File(
        dicom(DEEP, RescaleSlope="0.5", RescaleIntercept="-400"), DEEP * 0.5 - 400
    ),
    "DICOM, 32-bit integers": File(dicom(DEEP.astype(np.uint32)), DEEP),
    "DICOM, big-endian": File(sample("MR_small_expb")),
    "DICOM, compressed (RLE)": File(sample("MR_small_RLE")),
    "DICOM, compressed (JPEG)": File(sample("SC_rgb_jpeg_dcmtk")),
    "DICOM, compressed (JPEG 2000)": File(sample("SC_rgb_gdcm_KY")),
    "DICOM, compressed (JPEG without loss)": File(sample("SC_rgb_jpeg_gdcm")),
    "DICOM, compressed (JPEG of 12 bits)": File(sample("JPEG-lossy")),
    "DICOM, compressed (JPEG-LS)": File(sample("MR_small_jpeg_ls_lossless")),
    "DICOM, deflated": File(sample("image_dfl")),
    "DICOM, several frames": File(dicom(np.stack([GREY, GREY]), frames=2)),
    "DICOM without an image": File(sample("waveform_ecg")),
    "NIfTI": File(b"\\\1\0\0".ljust(344, b"\0") + b"n+1\0" + bytes(100)),
    "SVG, PDF and others": File(b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
}
