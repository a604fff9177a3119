"""Maps gs:// addresses to the files that loads read and extracts write.

HOME/buckets/BUCKET/OBJECT is the object (see `local_gcp.storage.store`).
"""

from __future__ import annotations

import fnmatch
import os
import re
from pathlib import Path

from local_gcp.storage.catalog import Catalog as StorageCatalog
from local_gcp.storage.naming import bucket_path, object_path
from local_gcp.storage.resources import bucket_places

from . import locations
from .errors import BigQueryError, invalid

_GZIP_MAGIC = b"\x1f\x8b"


class Files:
    """Objects of Cloud Storage below `buckets`. Raises ApiError for invalid names.

    `catalog`: Cloud Storage's, which has the buckets' locations.
    """

    def __init__(self, buckets: Path, catalog: StorageCatalog):
        self._buckets, self._catalog = buckets, catalog

    def check_source(self, uri: str, location: str) -> None:
        """Raise BigQueryError(invalid) unless a load in `location` can read the URI's bucket."""
        name, places = self._places(uri)
        if not locations.fits(location, places):
            raise locations.too_far(name, location)

    def check_destination(self, uri: str, location: str) -> None:
        """Raise BigQueryError(invalid) unless an extract in `location` can write to the bucket."""
        name, places = self._places(uri)
        if not locations.fits(location, places):
            raise locations.too_far(location, name)

    def _places(self, uri: str) -> tuple[str, list[str]]:
        """The location of the URI's bucket as BigQuery writes it, and the regions in it."""
        row = self._catalog.bucket(split_uri(uri)[0])
        name, regions = bucket_places(row.fields if row else {})
        return (name if name in locations.MULTI_REGIONS else name.lower()), regions

    def matching(self, uris: list[str]) -> list[tuple[str, Path]]:
        """(uri, file) of each object that the URIs match; each has at most one `*`.

        Raises BigQueryError(notFound) if a URI matches no object.
        """
        found: list[tuple[str, Path]] = []
        for uri in uris:
            bucket, name = split_uri(uri)
            if name.count("*") > 1:
                raise invalid(f"Invalid source URI {uri}: at most one wildcard is allowed.")
            folder = bucket_path(self._buckets, bucket)
            if not folder.is_dir():
                raise BigQueryError("notFound", f"Not found: Bucket {bucket}")
            if "*" in name:
                matches = sorted(_objects(folder, name))
            else:
                path = object_path(self._buckets, bucket, name)
                matches = [name] if path.is_file() else []
            if not matches:
                raise BigQueryError("notFound", f"Not found: URI {uri}")
            found += [(f"gs://{bucket}/{match}", folder / match) for match in matches]
        return found

    def path(self, uri: str) -> Path:
        """The object's file, which may not exist; raises BigQueryError(notFound) for the bucket."""
        bucket, name = split_uri(uri)
        if not bucket_path(self._buckets, bucket).is_dir():
            raise BigQueryError("notFound", f"Not found: Bucket {bucket}")
        return object_path(self._buckets, bucket, name)

    def publish(self, file: Path, uri: str) -> None:
        """Move `file` to the object's path, on the same file system: an atomic rename."""
        path = self.path(uri)
        path.parent.mkdir(parents=True, exist_ok=True)
        os.replace(file, path)


def split_uri(uri: str) -> tuple[str, str]:
    """(bucket, object name) of gs://BUCKET/OBJECT; raises BigQueryError(invalid)."""
    match = re.fullmatch(r"gs://([^/]+)/(.+)", uri, re.DOTALL)
    if not match:
        raise invalid(f"Invalid URI {uri!r}: expected gs://BUCKET/OBJECT.")
    return match[1], match[2]


def is_gzip(path: Path) -> bool:
    """Return whether the first bytes are gzip's: objects may have any name."""
    with path.open("rb") as file:
        return file.read(2) == _GZIP_MAGIC


def _objects(folder: Path, pattern: str) -> list[str]:
    prefix = pattern.partition("*")[0]
    # BigQuery's `*` matches slashes too, so all folders below the pattern's prefix are searched.
    start = folder / prefix.rpartition("/")[0]
    escaped = re.sub(r"([\[?])", r"[\1]", pattern)
    names = (
        path.relative_to(folder).as_posix()
        for path in (start.rglob("*") if start.is_dir() else ())
        if path.is_file()
    )
    return [name for name in names if fnmatch.fnmatchcase(name, escaped)]
