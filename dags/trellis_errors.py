"""No Airflow DAG: reports experiment files that are wrong as this file's import error."""

from trellis import dags

dags.check(__file__)
