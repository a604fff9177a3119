"""Whole objects in and out: gs:// through the Cloud Storage client that Beam builds, paths as
files.

Beam's FileSystems would do for a few large files; for many small ones it does not. Each of its
opens builds a client, an authorized session and a connection, and asks for the metadata before the
content: 7 ms of CPU and two or three requests for a 100-byte image. One client per thread, with
Beam's credentials and options, and one request per object take a sixth of that.
"""

import threading
from collections.abc import Sequence
from pathlib import Path

from apache_beam.io.gcp.gcsio import create_storage_client
from apache_beam.options.pipeline_options import PipelineOptions
from google.api_core import exceptions
from google.auth.exceptions import GoogleAuthError

from trainer import storage
from trainer.exporting import ExportError


class Objects:
    """Reads and writes objects by address. Safe to share between threads; not picklable.

    beam_flags: the pipeline's command line flags (they may name a project, an account to
    impersonate). Temporary failures are retried by the client for two minutes, then raised: Beam
    retries the element.
    """

    def __init__(self, beam_flags: Sequence[str] = ()):
        self._beam_options = PipelineOptions(list(beam_flags))
        self._local = threading.local()

    def read(self, uri: str) -> bytes:
        """Content of an object. FileNotFoundError if there is none, ExportError without access."""
        if "://" not in uri:
            return _read_file(Path(uri))
        try:
            return self._blob(uri).download_as_bytes()
        except exceptions.NotFound as error:
            raise FileNotFoundError(uri) from error
        except (exceptions.Forbidden, exceptions.Unauthorized, GoogleAuthError) as error:
            raise _no_access(uri, "read", error) from error

    def write(self, uri: str, data: bytes) -> None:
        """Write an object. No reader ever sees a part of it; writing it again replaces it."""
        if "://" not in uri:
            storage.write_bytes(uri, data)
            return
        try:
            self._blob(uri).upload_from_string(data, content_type="application/octet-stream")
        except exceptions.NotFound as error:
            raise ExportError(_no_bucket(uri)) from error
        except (exceptions.Forbidden, exceptions.Unauthorized, GoogleAuthError) as error:
            raise _no_access(uri, "write", error) from error

    def require_bucket(self, uri: str) -> None:
        """Raise ExportError if the bucket of a gs:// address does not exist."""
        if "://" not in uri:
            return
        bucket, _ = storage.split_uri(uri)
        try:
            # Listing needs no more than the right to read objects; asking for the bucket's metadata
            # does.
            next(iter(self._client().list_blobs(bucket, max_results=1)), None)
        except exceptions.NotFound as error:
            raise ExportError(_no_bucket(uri)) from error
        except exceptions.Forbidden:
            pass  # it exists; whether its objects can be read or written shows soon enough

    def _client(self):
        if not hasattr(self._local, "client"):
            self._local.client = create_storage_client(self._beam_options)
        return self._local.client

    def _blob(self, uri: str):
        bucket, name = storage.split_uri(uri)
        return self._client().bucket(bucket).blob(name)


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (IsADirectoryError, NotADirectoryError) as error:
        raise FileNotFoundError(str(path)) from error


def _no_bucket(uri: str) -> str:
    bucket, _ = storage.split_uri(uri)
    return (
        f"bucket gs://{bucket} does not exist (asked for by {uri}); create it or correct its name"
    )


def _no_access(uri: str, verb: str, error: Exception) -> ExportError:
    return ExportError(
        f"no access to {verb} {uri}: {error}. Grant the job's service account Storage Object "
        f"{'Viewer' if verb == 'read' else 'User'} on the bucket"
    )
