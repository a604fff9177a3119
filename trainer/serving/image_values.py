"""An image of an instance: the file itself in base64, or its address in a bucket.

    {"b64": BASE64}        the image file; standard alphabet, padded, no line breaks, as TensorFlow
                           Serving and Vertex AI's prebuilt containers read it
    "gs://BUCKET/OBJECT"   an image file that the server's service account may read

Files are JPEG, PNG, BMP, GIF, WEBP or TIFF of up to 33.6 megapixels.
"""

import binascii
from dataclasses import dataclass, field
from typing import Any

from trainer import storage
from trainer.images import ImageError
from trainer.serving.errors import InvalidFieldError
from trainer.serving.images import EncodedImage, inspect
from trainer.serving.instances import kind_of

# https://cloud.google.com/storage/docs/objects#naming: 1024 bytes, and 222 for a bucket's name.
_LONGEST_ADDRESS = 1300

_FILE = '{"b64": "..."}'
_ADDRESS = "gs://BUCKET/OBJECT"


@dataclass(frozen=True)
class ImageAddress:
    """An image that is still in a bucket. path: the field of the instance that names it."""

    bucket: str
    name: str
    path: str = field(default="", compare=False)

    def __str__(self):
        return f"gs://{self.bucket}/{self.name}"


def read(value: Any, path: str) -> EncodedImage | ImageAddress:
    """Either form. path: the field of the instance that holds it.

    Raises InvalidFieldError, its path relative to the value.
    """
    if isinstance(value, str):
        return address(value, path)
    if not isinstance(value, dict):
        reason = f'expected an image, {_FILE} or "{_ADDRESS}", got {kind_of(value)}'
        raise InvalidFieldError("", reason)
    return file(value, path)


def file(value: Any, path: str) -> EncodedImage:
    """A file in base64; see `read`."""
    if not isinstance(value, dict) or list(value) != ["b64"] or not isinstance(value["b64"], str):
        raise InvalidFieldError("", f"expected {_FILE}, got {kind_of(value)}")
    try:
        data = binascii.a2b_base64(value["b64"], strict_mode=True)
    except ValueError as error:  # binascii.Error, or a character that is not ASCII
        reason = f"not base64 (RFC 4648, standard alphabet, padded, no line breaks): {error}"
        raise InvalidFieldError(".b64", reason) from error
    try:
        return inspect(data, path)
    except ImageError as error:
        raise InvalidFieldError("", str(error)) from error


def address(value: Any, path: str) -> ImageAddress:
    """An address; see `read`."""
    if not isinstance(value, str) or len(value) > _LONGEST_ADDRESS:
        raise InvalidFieldError("", f"expected {_ADDRESS}, got {kind_of(value)}")
    try:
        bucket, name = storage.split_uri(value)
    except storage.StorageError as error:
        raise InvalidFieldError("", str(error)) from error
    if not name or name.endswith("/"):
        raise InvalidFieldError("", f"{value!r} names a folder, not an image")
    return ImageAddress(bucket, name, path)
