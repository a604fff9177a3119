"""Maps gs:// addresses to files of mounted buckets, for training and comparison.

Vertex AI mounts every bucket that the job may read at /gcs/BUCKET (Cloud Storage FUSE). So a
program that trains needs no storage client: gs://BUCKET/OBJECT is the file $GCS_ROOT/BUCKET/OBJECT,
where GCS_ROOT is /gcs unless the environment says otherwise. The mount is not POSIX: a file appears
when it is closed, a directory cannot be renamed, there are no locks.

Dataflow workers have no such mount: trainer.export reads and writes gs:// with Beam's client.
"""

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

DEFAULT_ROOT = "/gcs"

# The main rules of https://cloud.google.com/storage/docs/buckets#naming.
_GS_URI = re.compile(
    r"gs://(?P<bucket>[a-z0-9][a-z0-9._-]{1,220}[a-z0-9])(?:/(?P<name>.*))?", re.DOTALL
)


class StorageError(ValueError):
    """An invalid address; the message says what is wrong with it."""


def split_uri(uri: str) -> tuple[str, str]:
    """gs://BUCKET/OBJECT as (bucket, object name, which may be empty). Raises StorageError."""
    match = _GS_URI.fullmatch(uri)
    if not match:
        raise StorageError(f"{uri!r} is not a Cloud Storage address: expected gs://BUCKET/OBJECT")
    return match["bucket"], match["name"] or ""


def local_path(uri: str | os.PathLike) -> Path:
    """The local path of a gs:// address; a plain path is returned unchanged.

    Raises StorageError for another scheme (s3://, https://), a malformed bucket name, and object
    names with a ".." segment, which would leave the bucket's folder.
    """
    text = os.fspath(uri)
    if "://" not in text:
        return Path(text)
    bucket, name = split_uri(text)
    if ".." in name.split("/"):
        raise StorageError(
            f"{text!r} has a '..' segment; a mounted bucket cannot hold such an object"
        )
    return Path(os.environ.get("GCS_ROOT") or DEFAULT_ROOT, bucket, name)


def join(directory: str, *names: str) -> str:
    """The address of an object below a folder's address, with one slash between the parts."""
    return "/".join([directory.rstrip("/"), *(name.strip("/") for name in names)])


def write_text(path: str | os.PathLike, text: str) -> None:
    """write_bytes of the text in UTF-8."""
    write_bytes(path, text.encode())


def write_bytes(path: str | os.PathLike, data: bytes) -> None:
    """Write a file (a gs:// address or a path) so that no reader ever sees a part of it."""
    with writing(path) as stream:
        stream.write(data)


def copy_folder(source: Path, target: Path, last: str) -> None:
    """Copy a folder's files one by one. last: the name of the one that is copied last, without
    which the folder is not whole.
    """
    files = [path for path in source.rglob("*") if path.is_file()]
    for path in sorted(files, key=lambda path: path.relative_to(source) == Path(last)):
        destination = target / path.relative_to(source)
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, destination)


@contextlib.contextmanager
def writing(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """A stream that becomes the file (a gs:// address or a path) when the block ends without error.

    Creates missing folders. The bucket mount already works like this. In a plain folder, the stream
    writes a temporary file first, so that a kill does not leave half a document.
    """
    target = local_path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(
        prefix=f".{target.name}.", suffix=".partial", dir=target.parent
    )
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        os.chmod(partial, 0o644)  # mkstemp's 0600 would deny other users to read it
        os.replace(partial, target)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
