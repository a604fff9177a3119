"""Small files in Cloud Storage, through the provider's hook. Called by tasks only."""

import contextlib
import functools
import json
import re
from collections.abc import Container, Iterator
from typing import Any

from airflow.providers.google.cloud.hooks.gcs import GCSHook
from google.cloud.exceptions import Forbidden, NotFound, PreconditionFailed
from google.cloud.storage import Blob, Client

from trellis.workflow.spec.platform import Platform, PlatformError


def blob(platform: Platform, uri: str) -> Blob:
    """The object at a gs:// address, whether it exists or not."""
    return _blob(platform.connection, uri)


def write_json(platform: Platform, uri: str, content: Any) -> None:
    """Write a JSON file in one request, so that no reader sees a part of it. Idempotent."""
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    blob(platform, uri).upload_from_string(text, content_type="application/json")


def write_once(platform: Platform, uri: str, content: bytes) -> None:
    """Write an object whose address follows from its content, unless it is there already."""
    with contextlib.suppress(PreconditionFailed):
        blob(platform, uri).upload_from_string(content, if_generation_match=0)


def copy_folder(connection: str, source: str, target: str, leave: str, last: str) -> None:
    """Copy a folder within Cloud Storage; what is there already stays.

    source, target: gs://.../. leave: a pattern of the names below the folder that are not copied;
    last: of those copied after all others. Repeating it after a kill completes the copy.
    """
    client = _client(connection)
    bucket, _, prefix = source.removeprefix("gs://").partition("/")
    to_bucket, _, to_prefix = target.removeprefix("gs://").partition("/")
    blobs = client.list_blobs(bucket, prefix=prefix)
    found = {blob.name.removeprefix(prefix): blob for blob in blobs}
    names = [name for name in found if not re.search(leave, name)]
    for name in sorted(names, key=lambda name: (re.search(last, name) is not None, name)):
        _copy(found[name], client.bucket(to_bucket).blob(f"{to_prefix}{name}"))


def copy(connection: str, source: str, target: str) -> None:
    """Copy an object, gs://..., within Cloud Storage; what is there already stays. Raises NotFound
    if there is no source.
    """
    _copy(_blob(connection, source), _blob(connection, target))


def _copy(source: Blob, target: Blob) -> None:
    token = None
    with contextlib.suppress(PreconditionFailed):
        while True:  # a large object in parts
            token, *_ = target.rewrite(source, token=token, if_generation_match=0)
            if token is None:
                break


def read_json(platform: Platform, uri: str) -> Any:
    """Raises google.cloud.exceptions.NotFound if there is no such object."""
    return read_json_by(platform.connection, uri)


def read_json_by(connection: str, uri: str) -> Any:
    """Read a JSON object with the Airflow connection alone."""
    return json.loads(_blob(connection, uri).download_as_text())


def exists(connection: str, uri: str) -> bool:
    """Return whether the object exists."""
    return bool(_blob(connection, uri).exists())


def checksum(platform: Platform, uri: str) -> str:
    """CRC32C of an object. Raises google.cloud.exceptions.NotFound."""
    found = blob(platform, uri)
    found.reload()
    return str(found.crc32c)


def check_bucket(platform: Platform) -> None:
    """Raises PlatformError if the group's bucket is missing or not visible to this project."""
    try:
        # Needs only permission to list objects; reading the bucket itself needs another one.
        next(iter(_client(platform.connection).list_blobs(platform.bucket, max_results=1)), None)
    except NotFound:
        raise PlatformError(
            f"There is no bucket gs://{platform.bucket} (platform.yaml: bucket). Create it in "
            f"{platform.region}, or name the group's."
        ) from None
    except Forbidden as error:
        raise PlatformError(
            f"This project may not list gs://{platform.bucket} (platform.yaml: bucket): "
            f"{error.message}"
        ) from None


def blobs(platform: Platform, prefix: str) -> list[Blob]:
    """The objects whose gs:// addresses start with the prefix, in order."""
    return list(each_blob(platform, prefix))


def client(platform: Platform) -> Client:
    """The client of Airflow's connection to Google Cloud."""
    return _client(platform.connection)


def matching(client: Client, bucket: str, pattern: str) -> list[Blob]:
    """The objects of a bucket by a pattern, in which * stands for any characters but /, ** for any:
    https://cloud.google.com/storage/docs/json_api/v1/objects/list#list-objects-and-prefixes-using-glob
    """
    try:
        return list(client.list_blobs(bucket, match_glob=pattern))
    except (NotFound, Forbidden):
        return []


def each_blob(platform: Platform, prefix: str) -> Iterator[Blob]:
    """List the objects page by page."""
    bucket, _, name = prefix.removeprefix("gs://").partition("/")
    return iter(_client(platform.connection).list_blobs(bucket, prefix=name))


def newest_before(
    platform: Platform, uri: str, pattern: str, among: Container[str]
) -> tuple[bool, str | None]:
    """Return whether the object exists, and the newest other one of the pattern and of `among`
    older than it.

    uri: gs://... of the object. pattern: names in the group's bucket, with a * for a folder.
    among: addresses.
    """
    found = _client(platform.connection).list_blobs(platform.bucket, match_glob=pattern)
    created = {f"gs://{platform.bucket}/{blob.name}": blob.time_created for blob in found}
    own = created.pop(uri, None)
    before = [
        other for other in created if other in among and (own is None or created[other] < own)
    ]
    return own is not None, max(before, key=created.__getitem__, default=None)


def _blob(connection: str, uri: str) -> Blob:
    bucket, _, name = uri.removeprefix("gs://").partition("/")
    return _client(connection).bucket(bucket).blob(name)


@functools.cache
def _client(connection: str) -> Client:
    """One for all files of a task: each new client reads the key and requests a token."""
    return GCSHook(gcp_conn_id=connection).get_conn()
