"""The provider's deferrable BigQuery operators and sensors in one DAG run; prints their states."""

import json
import os
import sys
import tempfile

os.environ |= {
    "AIRFLOW_HOME": tempfile.mkdtemp(prefix="airflow-"),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
}

from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
from airflow.providers.google.cloud.operators import bigquery as operators
from airflow.providers.google.cloud.sensors import bigquery as sensors
from airflow.sdk import DAG
from airflow.utils.db import initdb
from google.cloud import bigquery

PROJECT = "local-gcp"
TABLE = {"project_id": PROJECT, "dataset_id": "research", "table_id": "t"}
DEFERRED = {"deferrable": True}
CHECK = {**DEFERRED, "use_legacy_sql": False, "location": "US", "poll_interval": 1}

bigquery.Client().query_and_wait(
    "CREATE SCHEMA research;"
    "CREATE TABLE research.t (x INT64, day DATE) PARTITION BY day;"
    "INSERT research.t VALUES (7, '2024-01-02')"
)

with DAG("deferred", schedule=None) as dag:
    sensors.BigQueryTableExistenceSensor(task_id="table", poke_interval=1, **TABLE, **DEFERRED)
    sensors.BigQueryTablePartitionExistenceSensor(
        task_id="partition", partition_id="20240102", poke_interval=1, **TABLE, **DEFERRED
    )
    operators.BigQueryCheckOperator(task_id="check", sql="SELECT x FROM research.t", **CHECK)
    operators.BigQueryValueCheckOperator(
        task_id="value_check", sql="SELECT x FROM research.t", pass_value=7, **CHECK
    )
    operators.BigQueryIntervalCheckOperator(
        task_id="interval_check",
        table="research.t",
        metrics_thresholds={"COUNT(*)": 2},
        date_filter_column="DATE '2024-01-02'",
        days_back=0,
        **CHECK,
    )
    operators.BigQueryGetDataOperator(
        task_id="get_data",
        dataset_id="research",
        table_id="t",
        table_project_id=PROJECT,
        use_legacy_sql=False,
        poll_interval=1,
        **DEFERRED,
    )
    operators.BigQueryInsertJobOperator(
        task_id="insert_job",
        configuration={"query": {"query": "SELECT 1", "useLegacySql": False}},
        location="US",
        project_id=PROJECT,
        poll_interval=1,
        **DEFERRED,
    )

initdb()
DagBundlesManager().sync_bundles_to_db()
bag = DagBag(os.devnull, collect_dags=False)
bag.bag_dag(dag)
sync_bag_to_db(bag, "dags-folder", None)
tasks = dag.test().get_task_instances()
states = {task.task_id: task.state for task in tasks}
got = next(task for task in tasks if task.task_id == "get_data").xcom_pull("get_data")
print(json.dumps({"states": states, "got": got}, default=str), flush=True)
sys.stdout.flush()
os._exit(set(states.values()) != {"success"})
