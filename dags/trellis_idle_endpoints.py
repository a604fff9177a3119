"""The Airflow DAG idle_endpoints, if platform.yaml asks for it."""

# Named here, the DAG processor imports Google's libraries once, not at every parsing.
import airflow.providers.google.cloud.hooks.vertex_ai.endpoint_service
import airflow.providers.google.cloud.operators.vertex_ai.custom_job  # noqa: F401

from trellis import dags

globals().update(dags.idle_endpoints(__file__))
