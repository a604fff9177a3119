"""The table with a sample of an endpoint's requests. Called by tasks only."""

from datetime import timedelta

from google.api_core.exceptions import NotFound
from google.cloud.bigquery import (
    EncryptionConfiguration,
    SchemaField,
    Table,
    TimePartitioning,
)

from trellis.workflow.contracts.prediction_layout import requests_table
from trellis.workflow.lookups import own_dataset
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform, PlatformError

SCHEMA = (
    SchemaField("endpoint", "STRING"),
    SchemaField("deployed_model_id", "STRING"),
    SchemaField("logging_time", "TIMESTAMP"),
    SchemaField("request_id", "NUMERIC"),
    SchemaField("request_payload", "STRING", mode="REPEATED"),
    SchemaField("response_payload", "STRING", mode="REPEATED"),
)
"""Columns that Vertex AI writes:
https://cloud.google.com/vertex-ai/docs/predictions/online-prediction-logging"""


def require(experiment: Experiment, platform: Platform) -> None:
    """Raises PlatformError if the table is there, without a key though the group has one: BigQuery
    exchanges a table's key, but gives it none later.
    """
    kept = experiment.deploy is not None and experiment.deploy.requests is not None
    if not kept or platform.encryption_key is None:
        return
    name = requests_table(experiment, platform)
    try:
        found = own_dataset.client(platform).get_table(name)
    except NotFound:
        return
    _encrypted(found, platform)


def create(experiment: Experiment, platform: Platform) -> None:
    """Make the table before Vertex AI does, which would keep requests for ever: each day's rows are
    deleted after `keep`, and it has the group's key. Of one that is there, both are set.

    Nothing if the experiment keeps no requests. Raises PlatformError as own_dataset.create and
    `require`.
    """
    requests = experiment.deployment.requests
    if requests is None:
        return
    own_dataset.create(platform)
    client = own_dataset.client(platform)
    table = Table(requests_table(experiment, platform), schema=SCHEMA)
    milliseconds = int(requests.keep / timedelta(milliseconds=1))
    table.time_partitioning = TimePartitioning(field="logging_time", expiration_ms=milliseconds)
    table.description = f"A sample of what the endpoint of {experiment.name} was asked"
    if platform.encryption_key:
        table.encryption_configuration = EncryptionConfiguration(platform.encryption_key)
    made = client.create_table(table, exists_ok=True)
    changed = []
    if made.time_partitioning and made.time_partitioning.expiration_ms != milliseconds:
        changed.append("time_partitioning")
    if platform.encryption_key and _encrypted(made, platform) != platform.encryption_key:
        changed.append("encryption_configuration")
    for field in changed:
        setattr(made, field, getattr(table, field))
    if changed:
        client.update_table(made, changed)


def _encrypted(table: Table, platform: Platform) -> str:
    """The table's key. Raises PlatformError if it has none."""
    found = table.encryption_configuration
    if found is not None and found.kms_key_name:
        return str(found.kms_key_name)
    name = f"{table.project}.{table.dataset_id}.{table.table_id}"
    place = name.replace(".", ":", 1)
    raise PlatformError(
        f"{name}, which keeps a sample of the endpoint's requests, was made without a key, and the "
        "group has one (platform.yaml: encryption_key), which BigQuery does not add to a table. "
        f"Delete it, or copy it onto itself with the key: `bq cp -f --destination_kms_key "
        f"{platform.encryption_key} {place} {place}`"
    )
