"""Checks bucket and object names, and maps them to paths: ROOT/BUCKET/OBJECT.

Names follow https://cloud.google.com/storage/docs/buckets#naming and
https://cloud.google.com/storage/docs/objects#naming. A file system allows fewer names than Cloud
Storage; other names are refused with the reason, never stored under another name.
"""

from __future__ import annotations

import re
from pathlib import Path

from local_gcp.rest import ApiError, not_emulated

_BUCKET = re.compile(r"[a-z0-9][a-z0-9_.-]{1,220}[a-z0-9]")
_MAX_OBJECT_BYTES = 1024
_MAX_SEGMENT_BYTES = 255  # the limit of common file systems


def bucket_path(root: Path, bucket: str) -> Path:
    """The folder of `bucket`, which need not exist; raises ApiError 400 for an invalid name."""
    if not _BUCKET.fullmatch(bucket) or ".." in bucket:
        raise ApiError(
            400,
            f"Invalid bucket name: {bucket!r}. Use 3 to 63 characters of a-z, 0-9, '-', '_' and "
            "'.', with a letter or digit first and last.",
        )
    return root / bucket


def object_path(root: Path, bucket: str, name: str) -> Path:
    """The file of an object, or the folder of a placeholder object, whose name ends in a slash."""
    if not 0 < len(name.encode("utf-8", "surrogatepass")) <= _MAX_OBJECT_BYTES:
        raise ApiError(400, f"Object names have 1 to {_MAX_OBJECT_BYTES} bytes, not {name!r}.")
    problem = None
    for segment in name.removesuffix("/").split("/"):
        if segment in ("", ".", ".."):
            problem = f"the path segment {segment!r}"
        elif len(segment.encode("utf-8", "surrogatepass")) > _MAX_SEGMENT_BYTES:
            problem = f"a path segment longer than {_MAX_SEGMENT_BYTES} bytes"
    if any(character in name for character in "\r\n"):
        raise ApiError(400, f"Object names have no line breaks, not {name!r}.")
    if "\0" in name:
        problem = "a control character"
    if problem:
        # Cloud Storage has such names.
        raise not_emulated(
            f"objects with {problem} in their names ({name!r}): they are plain files"
        )
    return bucket_path(root, bucket) / name


def is_placeholder(name: str) -> bool:
    """Return whether the object represents a folder: tools create an empty `folder/` to show
    one.
    """
    return name.endswith("/")
