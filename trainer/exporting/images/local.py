"""Exports images on this machine; the steps are those of the Beam pipeline.

In one process, whose threads convert on all cores: OpenCV works without Python's lock. Two
processes on two cores were not faster.
"""

import contextlib
import dataclasses

from trainer.exporting.images.steps import Steps
from trainer.exporting.objects import Objects
from trainer.exporting.settings import ImageExportSettings


def run(settings: ImageExportSettings, sha256: str) -> None:
    """Export images. sha256: of the manifest that was checked. Raises ExportError."""
    with contextlib.closing(Steps(settings, Objects())) as steps:
        manifest, plan = steps.plan(sha256)
        results = [steps.write_shard(work) for work in plan.work]
        steps.commit(manifest, dataclasses.replace(plan, work=()), results)
