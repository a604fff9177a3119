"""The Airflow provider's BigQuery operators in one DAG run: `provider_operators.py BUCKET DATASET`.

Prints, as JSON, the state of each task and what some of them returned.
"""

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
from airflow.providers.google.cloud.transfers.bigquery_to_gcs import (
    BigQueryToGCSOperator,
)
from airflow.providers.google.cloud.transfers.gcs_to_bigquery import (
    GCSToBigQueryOperator,
)
from airflow.sdk import DAG
from airflow.utils.db import initdb

BUCKET, DATASET = sys.argv[1:]
PROJECT = "local-gcp"
WHERE = {"project_id": PROJECT}


def query(task_id, text, **changes):
    configuration = {"query": {"query": text, "useLegacySql": False}, "labels": {"team": "vision"}}
    return operators.BigQueryInsertJobOperator(
        task_id=task_id,
        configuration=configuration,
        job_id=f"{DATASET}_{task_id}",
        force_rerun=False,
        location="US",
        **WHERE,
        **changes,
    )


with DAG("provider", schedule=None, template_searchpath=None) as dag:
    made = operators.BigQueryCreateEmptyDatasetOperator(
        task_id="create_dataset", dataset_id=DATASET, location="US", exists_ok=True, **WHERE
    )
    table = operators.BigQueryCreateTableOperator(
        task_id="create_table",
        dataset_id=DATASET,
        table_id="empty",
        table_resource={
            "schema": {"fields": [{"name": "x", "type": "INTEGER", "mode": "REQUIRED"}]},
            "labels": {"team": "vision"},
        },
        **WHERE,
    )
    loaded = GCSToBigQueryOperator(
        task_id="load",
        bucket=BUCKET,
        source_objects=["in/*.csv"],
        destination_project_dataset_table=f"{PROJECT}.{DATASET}.samples",
        schema_fields=[
            {"name": "key", "type": "STRING"},
            {"name": "value", "type": "FLOAT"},
            {"name": "day", "type": "DATE"},
        ],
        time_partitioning={"type": "DAY", "field": "day"},
        skip_leading_rows=1,
        write_disposition="WRITE_TRUNCATE",
        project_id=PROJECT,
    )
    snapshot = query(
        "snapshot",
        f"CREATE OR REPLACE TABLE {DATASET}.snapshot AS SELECT key, value * 2 AS value "
        f"FROM {DATASET}.samples WHERE day = '2024-01-03'",
    )
    deferred = query(
        "deferred",
        f"SELECT COUNT(*) AS n FROM {DATASET}.samples",
        deferrable=True,
        poll_interval=1,
    )
    check = operators.BigQueryCheckOperator(
        task_id="check",
        sql=f"SELECT COUNT(*) = 2 FROM {DATASET}.snapshot",
        use_legacy_sql=False,
        location="US",
    )
    got = operators.BigQueryGetDataOperator(
        task_id="get_data",
        dataset_id=DATASET,
        table_id="snapshot",
        table_project_id=PROJECT,
        max_results=10,
        use_legacy_sql=False,
    )
    exported = BigQueryToGCSOperator(
        task_id="export",
        source_project_dataset_table=f"{PROJECT}.{DATASET}.snapshot",
        destination_cloud_storage_uris=[f"gs://{BUCKET}/out/rows-*.parquet"],
        export_format="PARQUET",
        compression="SNAPPY",
        project_id=PROJECT,
    )
    exported_deferred = BigQueryToGCSOperator(
        task_id="export_deferred",
        source_project_dataset_table=f"{PROJECT}.{DATASET}.snapshot",
        destination_cloud_storage_uris=[f"gs://{BUCKET}/out/rows.csv"],
        export_format="CSV",
        project_id=PROJECT,
        deferrable=True,
    )
    updated = operators.BigQueryUpdateTableOperator(
        task_id="update_table",
        dataset_id=DATASET,
        table_id="snapshot",
        fields=["description"],
        table_resource={"description": "frozen"},
        **WHERE,
    )
    changed = operators.BigQueryUpdateDatasetOperator(
        task_id="update_dataset",
        dataset_id=DATASET,
        dataset_resource={"description": "research"},
        fields=["description"],
        **WHERE,
    )
    removed = operators.BigQueryDeleteTableOperator(
        task_id="delete_table", deletion_dataset_table=f"{PROJECT}.{DATASET}.empty"
    )
    ended = operators.BigQueryDeleteDatasetOperator(
        task_id="delete_dataset", dataset_id=DATASET, delete_contents=True, **WHERE
    )
    made >> table >> loaded >> snapshot >> [check, deferred, got] >> exported
    exported >> exported_deferred >> updated >> changed >> removed >> ended


if __name__ == "__main__":
    initdb()
    DagBundlesManager().sync_bundles_to_db()
    bag = DagBag(os.devnull, collect_dags=False)
    bag.bag_dag(dag)
    sync_bag_to_db(bag, "dags-folder", None)
    run = dag.test()
    tasks = run.get_task_instances()
    answer = {
        "states": {ti.task_id: ti.state for ti in tasks},
        "returned": {ti.task_id: ti.xcom_pull(ti.task_id) for ti in tasks},
    }
    print(json.dumps(answer, default=str), flush=True)
    os._exit(0)
