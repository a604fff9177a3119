"""No Airflow DAG: reports experiment files that are wrong as this file's import error."""

# Named here, the DAG processor imports Google's libraries once, not at every parsing.
import airflow.providers.google.cloud.hooks.bigquery
import airflow.providers.google.cloud.hooks.dataflow
import airflow.providers.google.cloud.operators.vertex_ai.custom_job
import airflow.providers.standard.operators.trigger_dagrun  # noqa: F401

from trellis import dags

dags.check(__file__)
