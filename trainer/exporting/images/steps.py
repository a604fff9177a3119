"""The steps of an export of images; `local` and `pipeline` run them."""

import dataclasses
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from trainer import storage
from trainer.exporting import ExportError
from trainer.exporting.images import commit, shards
from trainer.exporting.images.assignment import Plan, Work, make_plan
from trainer.exporting.images.manifest import Manifest, parse
from trainer.exporting.images.shards import ShardResult
from trainer.exporting.objects import Objects
from trainer.exporting.refusal import step
from trainer.exporting.settings import ImageExportSettings

# Concurrent reads per step: Cloud Storage answers after some 50 ms, an image takes about 2 ms of
# CPU.
_READERS = 16


class Steps:
    """The steps, with what they need to read and write objects; not picklable."""

    def __init__(self, settings: ImageExportSettings, objects: Objects):
        self._settings = settings
        self._objects = objects
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="images")

    def close(self) -> None:
        """Stop the threads that read and convert."""
        self._readers.shutdown()

    @step
    def plan(self, sha256: str) -> tuple[Manifest, Plan]:
        """Read the manifest again; raises ExportError if it has not this SHA-256."""
        source = self._settings.source
        content = self._objects.read(source)
        settings = self._settings
        manifest = parse(content, source, settings.split_by, settings.task, settings.days)
        if manifest.sha256 != sha256:
            raise ExportError(f"{source} changed while the export began; start it again")
        return dataclasses.replace(manifest, rows=()), make_plan(manifest, self._settings)

    @step
    def write_shard(self, work: Work) -> ShardResult:
        """Write a TFRecord file."""
        return shards.write_shard(
            work, self._settings.image, self._objects.read, self._write, self._readers
        )

    @step
    def commit(self, manifest: Manifest, plan: Plan, results: Iterable[ShardResult]) -> None:
        """Write rejected.jsonl and dataset.json, or raise ExportError."""
        commit.commit(self._settings, manifest, plan, results, self._write)

    def _write(self, name: str, data: bytes) -> None:
        self._objects.write(storage.join(self._settings.output, name), data)
