"""Versions of what experiments wait for, at no cost. Called by tasks only."""

from typing import Any

from google.cloud.exceptions import NotFound

from trellis.workflow.contracts.aliases import CHAMPION
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.lookups import bigquery_source, storage, versions
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform


def source(experiment: Experiment, platform: Platform) -> Any | None:
    """Version of the source. A manifest: its generation and checksum; a table or query: the time of
    the last change and the rows of each table behind it. None if it does not exist yet.
    """
    if experiment.source.kind == "image":
        manifest = storage.blob(platform, platform.uri(experiment.image_source.images))
        try:
            manifest.reload()
        except NotFound:
            return None
        return {"generation": manifest.generation, "crc32c": manifest.crc32c}
    try:
        return bigquery_source.changed(platform, experiment.row_source)
    except SourceError as error:
        print(error)
        return None


def champion(experiment: Experiment, platform: Platform) -> str | None:
    """The number of the version with this alias; None if there is none."""
    found = versions.find(versions.versions(experiment, platform), CHAMPION)
    return found.number if found else None
