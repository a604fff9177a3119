"""Versions of what experiments wait for, at no cost. Called by tasks only."""

from typing import Any

from trellis.workflow.contracts.aliases import CHAMPION
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.lookups import bigquery_source, versions
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform


def source(experiment: Experiment, platform: Platform) -> Any | None:
    """Version of the source. A manifest, or files: their generations; a table or query: the time of
    the last change and the rows of each table behind it. None if it does not exist yet.
    """
    try:
        return bigquery_source.changed(platform, experiment.source)
    except SourceError as error:
        print(error)
        return None


def champion(experiment: Experiment, platform: Platform) -> str | None:
    """The number of the version with this alias; None if there is none. A champion that another
    image serves is no new one.
    """
    found = versions.find(versions.versions(experiment, platform), CHAMPION)
    return found.first if found else None
