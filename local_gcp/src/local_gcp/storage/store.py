"""Objects as plain files, which other processes read and write at the same time.

- An object is the file ROOT/BUCKET/OBJECT; its generation is the file's modification time in
  microseconds. So a file that a training job writes there is an object immediately.
- Writes through the API are atomic: bytes go to a temporary file, which is then renamed. One lock
  guards the check of preconditions and the rename: of several writers with ifGenerationMatch=0
  exactly one succeeds. (This does not hold for programs that write the files themselves.)
- Two limits of a file system: `a` and `a/b` cannot both exist (409), and only the live generation
  of an object is kept.
"""

from __future__ import annotations

import dataclasses
import mimetypes
import os
import shutil
import stat
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from local_gcp.rest import ApiError, not_emulated
from local_gcp.storage.catalog import Catalog, ObjectRow
from local_gcp.storage.checksums import Checksums, checksums
from local_gcp.storage.naming import bucket_path, is_placeholder, object_path
from local_gcp.storage.preconditions import Preconditions
from local_gcp.storage.stored_object import StoredObject

_SETTLED_SECONDS = 0.1
"""Resolution of file times: two writes within it can have the same time."""


class ObjectStore:
    """Reads and changes objects. Thread-safe; methods block, so call them from threads.

    Every method raises ApiError 400 for invalid names and 404 for missing buckets.
    """

    def __init__(self, root: Path, catalog: Catalog, temporary: Path):
        self.root, self.catalog, self._temporary = root, catalog, temporary
        self._lock = threading.Lock()
        shutil.rmtree(temporary, ignore_errors=True)  # left by requests that a kill interrupted
        temporary.mkdir(parents=True)

    def need_bucket(self, bucket: str) -> Path:
        """The bucket's folder; raises ApiError 404 if there is none."""
        path = bucket_path(self.root, bucket)
        if not path.is_dir():
            raise ApiError(404, "The specified bucket does not exist.", "notFound")
        return path

    def find(self, bucket: str, name: str) -> StoredObject | None:
        """The object, or None."""
        self.need_bucket(bucket)
        path = object_path(self.root, bucket, name)
        if is_placeholder(name):
            row = self.catalog.placeholder(bucket, name)
            return _of_row(row, size=0) if row and path.is_dir() else None
        try:
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return self._describe(bucket, name, status) if stat.S_ISREG(status.st_mode) else None

    def get(self, bucket: str, name: str, generation: int | None = None) -> StoredObject:
        """The object; raises ApiError 404 if it does not exist in this `generation`."""
        found = self.find(bucket, name)
        if found is None or generation not in (None, found.generation):
            suffix = "" if generation is None else f"#{generation}"
            raise ApiError(404, f"No such object: {bucket}/{name}{suffix}", "notFound")
        return found

    def open(
        self, bucket: str, name: str, generation: int | None = None
    ) -> tuple[BinaryIO, StoredObject]:
        """(file, object) of one generation, despite concurrent writes. Close the file."""
        found = self.get(bucket, name, generation)
        if is_placeholder(name):
            return open(os.devnull, "rb"), found
        try:
            file = object_path(self.root, bucket, name).open("rb")
        except FileNotFoundError:  # deleted meanwhile
            raise ApiError(404, f"No such object: {bucket}/{name}", "notFound") from None
        return file, self._describe(bucket, name, os.fstat(file.fileno()))

    def summed(self, found: StoredObject) -> StoredObject:
        """`found` with its checksums, computed once for a file of another program."""
        if found.checksums:
            return found
        file, now = self.open(found.bucket, found.name)
        with file:
            now = dataclasses.replace(now, checksums=checksums(file))
            unchanged = _generation(os.fstat(file.fileno())) == now.generation
        if unchanged and time.time() - now.generation / 1e6 > _SETTLED_SECONDS:
            self.catalog.remember_object(_row(now))
        return now

    def temporary(self) -> Path:
        """A new path for incoming bytes, on the same file system as the store."""
        return self._temporary / uuid.uuid4().hex

    def put(
        self,
        source: Path,
        bucket: str,
        name: str,
        fields: dict[str, Any],
        sums: Checksums,
        conditions: Preconditions,
        upload: str | None = None,
    ) -> StoredObject:
        """Move the file `source` to the object's path as its new generation.

        Raises ApiError 412 if `conditions` do not hold, 409 if the name conflicts with another
        object's folder. `source` is not moved then.
        """
        size = source.stat().st_size
        if is_placeholder(name) and size:
            raise not_emulated(f"objects with bytes whose names end with a slash ({name!r})")
        with self._lock:
            current = self.find(bucket, name)
            conditions.check(current)
            path = object_path(self.root, bucket, name)
            self._make_room(bucket, name, path)
            live = current.generation if current else None
            generation = max(_now(), (live or 0) + 1)
            fields = {**self._inherited(bucket), **fields}
            new = StoredObject(bucket, name, generation, 1, size, fields, generation, sums)
            if is_placeholder(name):
                self.catalog.put_object(_row(new, upload), live=None)
                source.unlink()
            else:
                self.catalog.put_object(_row(new, upload), live)
                os.utime(source, ns=(generation * 1000, generation * 1000))
                source.replace(path)
            return new

    def _inherited(self, bucket: str) -> dict[str, Any]:
        """Return the fields that an object has from its bucket, unless its request sets them."""
        row = self.catalog.bucket(bucket)
        found = row.fields if row else {}
        inherited = {
            "kmsKeyName": (found.get("encryption") or {}).get("defaultKmsKeyName"),
            "storageClass": found.get("storageClass"),
        }
        if (found.get("autoclass") or {}).get("enabled"):
            inherited["storageClass"] = "STANDARD"
        return {name: value for name, value in inherited.items() if value}

    def update(
        self,
        bucket: str,
        name: str,
        change: Callable[[dict[str, Any]], dict[str, Any]],
        conditions: Preconditions,
        generation: int | None = None,
    ) -> StoredObject:
        """Replace the object's fields by `change(fields)`; the bytes and generation stay."""
        with self._lock:
            current = self.get(bucket, name, generation)
            conditions.check(current)
            new = dataclasses.replace(
                self.summed(current),
                fields=change(current.fields),
                metageneration=current.metageneration + 1,
                updated=_now(),
            )
            self.catalog.put_object(_row(new), live=None)
            return new

    def delete(
        self, bucket: str, name: str, conditions: Preconditions, generation: int | None = None
    ) -> None:
        """Remove the object, and the folders that become empty."""
        with self._lock:
            conditions.check(self.get(bucket, name, generation))
            path = object_path(self.root, bucket, name)
            if not is_placeholder(name):
                path.unlink(missing_ok=True)
            self.catalog.delete_object(bucket, name)
            self._prune(bucket, path if is_placeholder(name) else path.parent)

    def copy(self, source: StoredObject) -> Path:
        """A temporary file with the bytes of `source`; raises ApiError 404 if it was replaced."""
        target = self.temporary()
        file, _ = self.open(source.bucket, source.name, source.generation)
        with file, target.open("xb") as out:
            shutil.copyfileobj(file, out, 1 << 20)
        return target

    def _describe(self, bucket: str, name: str, status: os.stat_result) -> StoredObject:
        generation = _generation(status)
        row = self.catalog.object(bucket, name, generation)
        if row:
            return _of_row(row, status.st_size)
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        fields = {"contentType": kind}
        return StoredObject(
            bucket, name, generation, 1, status.st_size, fields, generation, checksums=None
        )

    def _make_room(self, bucket: str, name: str, path: Path) -> None:
        folder = path if is_placeholder(name) else path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise ApiError(
                409,
                f"local_gcp keeps objects as plain files: {bucket}/{name} cannot exist beside an "
                "object whose name is one of its parent folders.",
                "conflict",
            ) from None
        if path.is_dir() and not is_placeholder(name):
            try:
                path.rmdir()  # an empty folder is not an object
            except OSError:
                raise ApiError(
                    409,
                    f"local_gcp keeps objects as plain files: {bucket}/{name} cannot exist beside "
                    f"the objects {bucket}/{name}/...",
                    "conflict",
                ) from None

    def _prune(self, bucket: str, folder: Path) -> None:
        top = bucket_path(self.root, bucket)
        while folder != top:
            name = folder.relative_to(top).as_posix() + "/"
            if self.catalog.placeholder(bucket, name):
                return
            try:
                folder.rmdir()
            except OSError:  # not empty
                return
            folder = folder.parent


def _now() -> int:
    return time.time_ns() // 1000


def _generation(status: os.stat_result) -> int:
    return status.st_mtime_ns // 1000


def _row(found: StoredObject, upload: str | None = None) -> ObjectRow:
    assert found.checksums
    return ObjectRow(
        *(found.bucket, found.name, found.generation, found.metageneration, found.fields),
        *(found.checksums, found.updated, upload),
    )


def _of_row(row: ObjectRow, size: int) -> StoredObject:
    return StoredObject(
        *(row.bucket, row.name, row.generation, row.metageneration, size, row.fields),
        *(row.updated, row.checksums),
    )
