"""No Airflow DAG: reports experiment files that are wrong as this file's import error."""

# Named here, the DAG processor imports Google's libraries once, not at every parsing.
import airflow.providers.google.cloud.hooks.gcs
import airflow.providers.google.cloud.operators.bigquery
import airflow.providers.google.cloud.operators.dataflow
import airflow.providers.google.cloud.operators.vertex_ai.auto_ml
import airflow.providers.google.cloud.operators.vertex_ai.batch_prediction_job
import airflow.providers.google.cloud.operators.vertex_ai.custom_job
import airflow.providers.google.cloud.operators.vertex_ai.dataset
import airflow.providers.google.cloud.operators.vertex_ai.endpoint_service
import airflow.providers.google.cloud.operators.vertex_ai.hyperparameter_tuning_job
import airflow.providers.google.cloud.operators.vertex_ai.model_service
import airflow.providers.standard.operators.trigger_dagrun  # noqa: F401

from trellis import dags

dags.check(__file__)
