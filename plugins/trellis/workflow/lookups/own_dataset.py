"""The group's dataset in BigQuery, which holds snapshots, loaded files and models. Called by tasks
only.
"""

from typing import Any

from airflow.providers.google.cloud.hooks.bigquery import BigQueryHook
from google.api_core import exceptions
from google.cloud.bigquery import Dataset, EncryptionConfiguration, QueryJobConfig

from trellis.bigquery.outcome import may_pass, message_of
from trellis.bigquery.submission import JOB_TIMEOUT_MS
from trellis.workflow.pricing import queries
from trellis.workflow.spec.platform import Platform, PlatformError


def client(platform: Platform) -> Any:
    """A google.cloud.bigquery.Client of the group's project and location, whose queries have a
    time limit.
    """
    hook = BigQueryHook(gcp_conn_id=platform.connection, use_legacy_sql=False)
    made = hook.get_client(project_id=platform.project, location=platform.location)
    made.default_query_job_config = QueryJobConfig(job_timeout_ms=JOB_TIMEOUT_MS)
    return made


def create(platform: Platform, by: Any = None) -> None:
    """Get or create the group's dataset of snapshots and models. It costs nothing.

    by: google.cloud.bigquery.Client; None for that of Airflow's connection. Raises PlatformError if
    it cannot be created, or is in another location.
    """
    by = by or client(platform)
    name = f"{platform.project}.{platform.dataset}"
    try:
        try:
            # A caller may have the permission to use an existing dataset, but not to create one.
            found = by.get_dataset(name)
        except exceptions.NotFound:
            wanted = Dataset(name)
            wanted.location = platform.location
            if platform.encryption_key:
                # Also of what others write there: AutoML's predictions, BigQuery's own tables.
                wanted.default_encryption_configuration = EncryptionConfiguration(
                    platform.encryption_key
                )
            found = by.create_dataset(wanted, exists_ok=True)
    except exceptions.Forbidden as error:
        if may_pass(error):
            raise
        raise PlatformError(
            f"This project may not use or create the dataset {name} (platform.yaml: dataset): "
            f"{message_of(error)}"
        ) from None
    if found.location and found.location.lower() != platform.location.lower():
        raise PlatformError(
            f"The dataset {name} is in {found.location}, not in {platform.location} "
            "(platform.yaml: dataset, location): name another, or its location"
        )


def read_limit(platform: Platform, *names: str) -> dict[str, str]:
    """The field of a query job that limits it to one read of tables as they are now.

    names: PROJECT.DATASET.TABLE. Raises google.api_core.exceptions.
    """
    by = client(platform)
    size = sum(by.get_table(name).num_bytes or 0 for name in names)
    return queries.limit(queries.planned(size, len(names), 0))


def bounded(platform: Platform, *names: str) -> Any:
    """The google.cloud.bigquery.QueryJobConfig of a query with that limit."""
    return QueryJobConfig.from_api_repr({"query": read_limit(platform, *names)})


def is_there(platform: Platform, name: str) -> bool:
    """Return whether the table exists."""
    try:
        client(platform).get_table(name)
    except exceptions.NotFound:
        return False
    return True
