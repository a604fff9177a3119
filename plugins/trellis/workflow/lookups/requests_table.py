"""The table with a sample of an endpoint's requests. Called by tasks only."""

from datetime import timedelta

from google.cloud.bigquery import (
    EncryptionConfiguration,
    SchemaField,
    Table,
    TimePartitioning,
)

from trellis.workflow.contracts.prediction_layout import requests_table
from trellis.workflow.lookups import own_dataset
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform

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


def create(experiment: Experiment, platform: Platform) -> None:
    """Make the table before Vertex AI does, which would keep requests for ever: each day's rows are
    deleted after `keep`, and it has the group's key. Of one that is there, the time is set.

    Nothing if the experiment keeps no requests. Raises PlatformError as own_dataset.create.
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
    if made.time_partitioning and made.time_partitioning.expiration_ms != milliseconds:
        made.time_partitioning = table.time_partitioning
        client.update_table(made, ["time_partitioning"])
