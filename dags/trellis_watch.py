"""The Airflow DAG watch, if an experiment waits for new data or another's champion."""

# Named here, the DAG processor imports Google's libraries once, not at every parsing.
import airflow.providers.google.cloud.hooks.bigquery
import airflow.providers.google.cloud.hooks.vertex_ai.model_service
import airflow.providers.google.cloud.operators.vertex_ai.custom_job  # noqa: F401

from trellis import dags

globals().update(dags.watch(__file__))
