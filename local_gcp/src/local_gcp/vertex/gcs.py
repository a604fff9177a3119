"""Maps gs:// addresses to files; programs of jobs see the same folders as buckets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from local_gcp.field_errors import REQUIRED, invalid_field
from local_gcp.wire import failed_precondition

_WILDCARDS = re.compile(r"[*?\[]")


def local_path(buckets: Path, uri: str, field: str = "uri") -> Path:
    """The file or folder at gs://BUCKET/OBJECT; INVALID_ARGUMENT for another form."""
    bucket, _, name = uri.removeprefix("gs://").partition("/")
    # An object may be called a/../b; a path below the buckets must not leave them.
    if not uri.startswith("gs://") or not bucket or ".." in uri.split("/"):
        raise invalid_field(field, f"{uri!r} is not gs://BUCKET/OBJECT.")
    return buckets / bucket / name


def uri_of(buckets: Path, path: Path) -> str:
    """The gs:// address of a file below the buckets."""
    return f"gs://{path.relative_to(buckets).as_posix()}"


def matching(buckets: Path, uris: Iterable[str], field: str) -> list[Path]:
    """The files that match the addresses, each once, in order of their names.

    An address may have wildcards (https://cloud.google.com/storage/docs/wildcards): * stays within
    a folder, ** does not. INVALID_ARGUMENT for no address or a bad one, FAILED_PRECONDITION for one
    that matches nothing.
    """
    found: set[Path] = set()
    for uri in uris:
        path = local_path(buckets, uri, field)
        if not _WILDCARDS.search(uri):
            files = [path] if path.is_file() else []
        else:
            files = [file for file in buckets.glob(uri.removeprefix("gs://")) if file.is_file()]
        if not files:
            raise failed_precondition(f"{field}: there is no file at {uri}.")
        found.update(files)
    if not found:
        raise invalid_field(field, f"{REQUIRED} Name one or more gs://BUCKET/OBJECT.")
    return sorted(found)


def check_folder(uri: str, field: str) -> str:
    """gs://BUCKET/FOLDER/ with its slash at the end; INVALID_ARGUMENT for another form."""
    if not re.fullmatch(r"gs://[^/]+(/.*)?", uri) or ".." in uri.split("/"):
        raise invalid_field(field, f"{uri!r} is not gs://BUCKET/FOLDER.")
    return uri.rstrip("/") + "/"
