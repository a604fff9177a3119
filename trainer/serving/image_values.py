"""An image of an instance: the file itself in base64, or its address in a bucket.

    {"b64": BASE64}        the image file; standard alphabet, padded, no line breaks, as TensorFlow
                           Serving and Vertex AI's prebuilt containers read it
    "gs://BUCKET/OBJECT"   an image file that the server's service account may read

Files are JPEG, PNG, BMP, GIF, WEBP, TIFF or DICOM of up to 33.6 megapixels.
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
        return _address(value, path)
    if not is_file(value):
        reason = f'expected an image, {_FILE} or "{_ADDRESS}", got {kind_of(value)}'
        raise InvalidFieldError("", reason)
    return _file(value, path)


def is_file(value: Any) -> bool:
    """Return whether a value has the form of a file in base64."""
    return isinstance(value, dict) and list(value) == ["b64"] and isinstance(value["b64"], str)


def _file(value: Any, path: str) -> EncodedImage:
    try:
        data = binascii.a2b_base64(value["b64"], strict_mode=True)
    except ValueError as error:  # binascii.Error, or a character that is not ASCII
        reason = f"not base64 (RFC 4648, standard alphabet, padded, no line breaks): {error}"
        raise InvalidFieldError(".b64", reason) from error
    try:
        return inspect(data, path)
    except ImageError as error:
        raise InvalidFieldError("", str(error)) from error


def _address(value: str, path: str) -> ImageAddress:
    if len(value) > _LONGEST_ADDRESS:
        raise InvalidFieldError("", f"expected {_ADDRESS}, got {kind_of(value)}")
    try:
        bucket, name = storage.split_uri(value)
    except storage.StorageError as error:
        raise InvalidFieldError("", str(error)) from error
    if not name or name.endswith("/"):
        raise InvalidFieldError("", f"{value!r} names a folder, not an image")
    return ImageAddress(bucket, name, path)
