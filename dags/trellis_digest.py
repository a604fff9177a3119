"""The Airflow DAG digest, if platform.yaml asks for it."""

# Named here, the DAG processor imports Google's libraries once, not at every parsing.
import airflow.providers.google.cloud.hooks.gcs  # noqa: F401

from trellis import dags

globals().update(dags.digest(__file__))
