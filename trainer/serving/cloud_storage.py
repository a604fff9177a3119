"""Reads Cloud Storage objects through its API: a serving container on Vertex AI has no /gcs.

Uses application default credentials: on an endpoint, those of its service account, to which
Vertex AI has granted read access to AIP_STORAGE_URI.
"""

from pathlib import Path

import requests
from google.api_core import exceptions
from google.auth.exceptions import GoogleAuthError
from google.cloud import storage
from google.cloud.storage import transfer_manager
from google.cloud.storage.retry import DEFAULT_RETRY

# For one image of a request; Vertex AI's limit for the request is 60 seconds.
_TIMEOUT_SECONDS = 10
_RETRY = DEFAULT_RETRY.with_timeout(10)

_UNREACHABLE = (exceptions.GoogleAPIError, GoogleAuthError, requests.RequestException)


class ObjectError(Exception):
    """An object cannot be read, and a retry would not help."""


class UnreachableError(Exception):
    """Cloud Storage did not answer, or there are no credentials."""


class CloudStorage:
    """Reads objects; thread-safe."""

    def __init__(self):
        try:
            # Reading needs no project, but without this argument the client requires one.
            self._client = storage.Client(project=None)
        except GoogleAuthError as error:
            raise UnreachableError(f"no credentials for Cloud Storage: {error}") from error

    def read(self, bucket: str, name: str, limit: int) -> bytes:
        """The object's bytes, at most `limit`. Raises ObjectError, UnreachableError."""
        try:
            data = (
                self._client.bucket(bucket)
                .blob(name)
                .download_as_bytes(
                    end=limit,  # inclusive: one byte more than allowed
                    raw_download=True,  # decompressing a gzipped object could exceed the limit
                    timeout=_TIMEOUT_SECONDS,
                    retry=_RETRY,
                )
            )
        except exceptions.RequestRangeNotSatisfiable:
            return b""
        except (exceptions.NotFound, exceptions.Forbidden, exceptions.Unauthorized) as error:
            # One message: a caller must not learn which objects there are that others own.
            raise ObjectError(
                f"gs://{bucket}/{name} is not there, or the server's service account may not read "
                "it: it needs the role Storage Object Viewer on the bucket"
            ) from error
        except _UNREACHABLE as error:
            raise UnreachableError(f"gs://{bucket}/{name}: {error}") from error
        if len(data) > limit:
            raise ObjectError(f"gs://{bucket}/{name} has more than {limit >> 20} MB")
        return data

    def download(self, bucket: str, folder: str, target: Path) -> int:
        """Copy all objects below a folder into a directory; returns their number.

        Raises ObjectError, UnreachableError.
        """
        prefix = folder.rstrip("/") + "/"
        try:
            names = [
                blob.name.removeprefix(prefix)
                for blob in self._client.list_blobs(bucket, prefix=prefix)
                if not blob.name.endswith("/")
            ]
            transfer_manager.download_many_to_path(
                self._client.bucket(bucket),
                names,
                destination_directory=str(target),
                blob_name_prefix=prefix,
                worker_type=transfer_manager.THREAD,
                raise_exception=True,
            )
        except exceptions.NotFound as error:
            raise ObjectError(f"there is no bucket {bucket}") from error
        except (exceptions.Forbidden, exceptions.Unauthorized) as error:
            raise ObjectError(f"gs://{bucket}/{prefix} may not be read: {error}") from error
        except _UNREACHABLE as error:
            raise UnreachableError(f"gs://{bucket}/{prefix}: {error}") from error
        return len(names)
