"""A copy of each model version's files, as Vertex AI makes one at upload.

The copy is served (AIP_STORAGE_URI), since the original folder may change or be deleted. It is in a
bucket of its own, as on Google Cloud (there in a project that customers do not see).
"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

from local_gcp import names
from local_gcp.vertex import gcs

BUCKET = "caip-tenant-local-gcp"


class Artifacts:
    """See the module. `buckets`: the folder of Cloud Storage."""

    def __init__(self, buckets: Path):
        self._buckets = buckets

    def copy(self, uri: str) -> str:
        """Copy the folder `uri`; returns the gs:// folder of the copy, "" for ""."""
        if not uri:
            return ""
        copy = f"gs://{BUCKET}/{names.new_id()}/artifacts"
        shutil.copytree(gcs.local_path(self._buckets, uri), gcs.local_path(self._buckets, copy))
        return copy

    def delete(self, copy: str) -> None:
        """Remove a copy; "" is none."""
        if copy:
            folder = gcs.local_path(self._buckets, copy).parent
            shutil.rmtree(folder, ignore_errors=True)

    def sweep(self, kept: Collection[str]) -> None:
        """Remove copies without a model: the server was killed before it registered the model."""
        for folder in (self._buckets / BUCKET).glob("*"):
            copy = f"gs://{BUCKET}/{folder.name}/artifacts"
            if copy not in kept:
                self.delete(copy)
