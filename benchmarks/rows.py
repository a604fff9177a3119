"""The rows of `python -m benchmarks`, in the order of its table."""

from benchmarks.data_rows import DATA
from benchmarks.measuring import Aim, Row
from benchmarks.model_rows import MODELS

ROWS = (
    Row(
        "dag-build",
        "build the DAGs of 10 experiments",
        "DAGs of as many EmptyOperators",
        "",
        "ms a DAG",
        False,
        Aim("figure", 5),
        "airflow",
        "dags:build",
    ),
    Row(
        "dag-serialize",
        "serialize the DAGs of 10 experiments",
        "DAGs of as many EmptyOperators",
        "",
        "ms a DAG",
        False,
        Aim("figure", 5),
        "airflow",
        "dags:serialize",
    ),
    *DATA,
    *MODELS,
    Row(
        "storage-up",
        "local_gcp Storage, 200 MB up",
        "",
        "the client, and a server that drops the bytes",
        "MB/s",
        True,
        Aim("figure", 400),
        "local_gcp",
        "storage:up",
    ),
    Row(
        "storage-down",
        "local_gcp Storage, 200 MB down",
        "",
        "the client, and a server that only sends",
        "MB/s",
        True,
        Aim("limit", 1),
        "local_gcp",
        "storage:down",
    ),
)
