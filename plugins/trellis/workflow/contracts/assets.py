"""Airflow's Assets of an experiment: what other DAGs can be scheduled on.

Their URIs name folders and no objects; the extra of an event says which version it is of. The names
have the group's prefix: in one Airflow, no two Assets may have the same.
"""

from airflow.sdk import Asset

from trellis.workflow.spec.platform import Platform


def source(experiment: str, platform: Platform) -> Asset:
    """The source of an experiment: its table, its query's tables or its manifest. Extra:
    {"version"}, as `watched` has it.
    """
    return _asset("source", experiment, platform)


def dataset(experiment: str, platform: Platform) -> Asset:
    """The newest dataset of an experiment. Extra: {"uri", "fingerprint"}."""
    return _asset("dataset", experiment, platform)


def champion(experiment: str, platform: Platform) -> Asset:
    """The version of its model with this alias. Extra: {"version"}."""
    return _asset("champion", experiment, platform)


def _asset(what: str, experiment: str, platform: Platform) -> Asset:
    return Asset(
        name=f"{platform.dag_id(experiment)} {what}",
        uri=f"gs://{platform.bucket}/{experiment}/{what}s",
        group=what,
    )
