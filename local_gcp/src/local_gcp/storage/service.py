"""Cloud Storage as a service of local_gcp."""

from __future__ import annotations

from local_gcp.service import Context, Service
from local_gcp.storage.app import storage_app
from local_gcp.storage.catalog import Catalog
from local_gcp.storage.store import ObjectStore
from local_gcp.storage.upload_api import UploadApi


class Storage(Service):
    """The JSON API, and reads of objects through the XML API's URLs.

    HOME/buckets holds the objects; HOME/storage the catalog, unfinished resumable uploads, and the
    bytes of current requests.
    """

    # www.googleapis.com: the JSON API's first address, which TensorFlow still uses.
    hosts = ("storage.googleapis.com", "www.googleapis.com")

    def __init__(self, context: Context):
        folder = context.home.storage
        catalog = Catalog(folder / "catalog.db")
        store = ObjectStore(context.home.buckets, catalog, folder / "requests")
        self._uploads = UploadApi(store, folder / "uploads")
        self.rest = storage_app(store, self._uploads)

    def start(self) -> None:
        self._uploads.sessions.expire()
