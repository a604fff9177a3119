"""Reads and writes objects: gs:// addresses through Cloud Storage's client, paths as files.

Beam's FileSystems is too slow for many small files. Each open creates a client, an authorized
session and a connection, and requests the metadata before the content: 7 ms of CPU and two or
three requests for a 100-byte image. One client per thread and one request per object take a sixth.
"""

import contextlib
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from google.api_core import exceptions
from google.auth.exceptions import GoogleAuthError
from google.cloud.storage import Blob, Client

from trainer import storage
from trainer.exporting import ExportError

_CONTENT_TYPE = "application/octet-stream"

# Bytes buffered of an object that is read in parts; Parquet reads one column at a time.
_CHUNK_BYTES = 8 << 20


class Objects:
    """Reads and writes objects by address. Thread-safe; not picklable.

    create_client: makes a client for a thread, by default one with the application default
    credentials. The client retries temporary failures for two minutes, then raises them.
    """

    def __init__(self, create_client: Callable[[], Client] = Client):
        self._create_client = create_client
        self._local = threading.local()

    def read(self, uri: str) -> bytes:
        """Content of an object. Raises FileNotFoundError, or ExportError if access is denied."""
        if "://" not in uri:
            return _read_file(Path(uri))
        try:
            return self._blob(uri).download_as_bytes()
        except exceptions.NotFound as error:
            raise FileNotFoundError(uri) from error
        except (exceptions.Forbidden, exceptions.Unauthorized, GoogleAuthError) as error:
            raise _no_access(uri, "read", error) from error

    def read_range(self, uri: str, start: int, size: int) -> bytes:
        """`size` bytes of an object from byte `start` on. Raises the errors of `read`."""
        if "://" not in uri:
            with open(uri, "rb") as file:
                file.seek(start)
                return file.read(size)
        try:
            return self._blob(uri).download_as_bytes(start=start, end=start + size - 1)
        except exceptions.NotFound as error:
            raise FileNotFoundError(uri) from error

    def open(self, uri: str) -> BinaryIO:
        """An object as a seekable file, for objects too large to be read whole."""
        if "://" not in uri:
            return Path(uri).open("rb")
        return self._blob(uri).open("rb", chunk_size=_CHUNK_BYTES)

    @contextlib.contextmanager
    def writing(self, uri: str) -> Iterator[BinaryIO]:
        """A file that becomes the object when the block ends; after an error there is no object.

        For content too large for memory. Raises the errors of `write`.
        """
        if "://" not in uri:
            with storage.writing(uri) as file:
                yield file
            return
        with tempfile.TemporaryFile() as file:
            yield file
            file.seek(0)
            with _write_errors(uri):
                self._blob(uri).upload_from_file(file, content_type=_CONTENT_TYPE)

    def list(self, folder: str) -> list[str]:
        """Addresses of all objects below a folder, sorted; [] if there are none."""
        folder = folder.rstrip("/") + "/"
        if "://" not in folder:
            files = (path for path in Path(folder).rglob("*") if path.is_file())
            return sorted(folder + path.relative_to(folder).as_posix() for path in files)
        bucket, prefix = storage.split_uri(folder)
        try:
            names = [blob.name for blob in self._client().list_blobs(bucket, prefix=prefix)]
        except exceptions.NotFound:
            return []
        except (exceptions.Forbidden, exceptions.Unauthorized, GoogleAuthError) as error:
            raise _no_access(folder, "list", error) from error
        return sorted(f"gs://{bucket}/{name}" for name in names)

    def remove_folder(self, folder: str) -> None:
        """Remove all objects below a folder; those already removed are ignored."""
        if "://" not in folder:
            shutil.rmtree(folder, ignore_errors=True)
            return
        for uri in self.list(folder):
            with contextlib.suppress(exceptions.NotFound):
                self._blob(uri).delete()

    def write(self, uri: str, data: bytes) -> None:
        """Write or replace an object; readers see all of it or nothing.

        Raises ExportError if the bucket does not exist or access is denied.
        """
        if "://" not in uri:
            storage.write_bytes(uri, data)
            return
        with _write_errors(uri):
            self._blob(uri).upload_from_string(data, content_type=_CONTENT_TYPE)

    def require_bucket(self, uri: str) -> None:
        """Raise ExportError if the bucket of a gs:// address does not exist."""
        if "://" not in uri:
            return
        bucket, _ = storage.split_uri(uri)
        try:
            # Listing needs only the right to read objects; the bucket's metadata needs more.
            next(iter(self._client().list_blobs(bucket, max_results=1)), None)
        except exceptions.NotFound as error:
            raise ExportError(_no_bucket(uri)) from error
        except exceptions.Forbidden:
            pass  # it exists; reading and writing check access

    def _client(self) -> Client:
        if not hasattr(self._local, "client"):
            self._local.client = self._create_client()
        return self._local.client

    def _blob(self, uri: str) -> Blob:
        bucket, name = storage.split_uri(uri)
        return self._client().bucket(bucket).blob(name)


@contextlib.contextmanager
def _write_errors(uri: str) -> Iterator[None]:
    """Turns errors of a write that the user can correct into ExportError."""
    try:
        yield
    except exceptions.NotFound as error:
        raise ExportError(_no_bucket(uri)) from error
    except (exceptions.Forbidden, exceptions.Unauthorized, GoogleAuthError) as error:
        raise _no_access(uri, "write", error) from error


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (IsADirectoryError, NotADirectoryError) as error:
        raise FileNotFoundError(str(path)) from error


def _no_bucket(uri: str) -> str:
    bucket, _ = storage.split_uri(uri)
    return f"bucket gs://{bucket} does not exist (needed for {uri}); create it or correct its name"


def _no_access(uri: str, verb: str, error: Exception) -> ExportError:
    return ExportError(
        f"no access to {verb} {uri}: {error}. Grant the job's service account Storage Object "
        f"{'User' if verb == 'write' else 'Viewer'} on the bucket"
    )
