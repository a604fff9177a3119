"""The Airflow DAG undeploy_previous, for all experiments that deploy models."""

# Named here, the DAG processor imports Google's libraries once, not at every parsing.
import airflow.providers.google.cloud.hooks.bigquery
import airflow.providers.google.cloud.operators.vertex_ai.custom_job
import airflow.providers.google.cloud.operators.vertex_ai.endpoint_service
import airflow.providers.google.cloud.operators.vertex_ai.model_service
import airflow.providers.standard.operators.trigger_dagrun  # noqa: F401

from trellis import dags

globals().update(dags.undeploy_previous(__file__))
