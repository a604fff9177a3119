"""The Airflow provider's operators for datasets, AutoML and batch prediction, in one DAG run:
`provider_automl.py BUCKET`. BUCKET also names a BigQuery dataset.

Prints, as JSON, the state of each task and what it returned.
"""

import csv
import io
import json
import logging
import os
import random
import sys
import tempfile

os.environ |= {
    "AIRFLOW_HOME": tempfile.mkdtemp(prefix="airflow-"),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
}

from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
from airflow.providers.google.cloud.operators.vertex_ai.auto_ml import (
    CreateAutoMLTabularTrainingJobOperator,
)
from airflow.providers.google.cloud.operators.vertex_ai.batch_prediction_job import (
    CreateBatchPredictionJobOperator,
    DeleteBatchPredictionJobOperator,
)
from airflow.providers.google.cloud.operators.vertex_ai.dataset import (
    CreateDatasetOperator,
    DeleteDatasetOperator,
    ImportDataOperator,
)
from airflow.sdk import DAG
from airflow.utils.db import initdb
from google.cloud import bigquery, storage

BUCKET = sys.argv[1]
WHERE = {"project_id": "local-gcp", "region": "us-central1"}
SCHEMA = "gs://google-cloud-aiplatform/schema/dataset"
MODEL = "{{ ti.xcom_pull('train')['name'] }}"


def create(task_id, kind, metadata=None):
    return CreateDatasetOperator(
        task_id=task_id,
        **WHERE,
        dataset={
            "display_name": task_id,
            "metadata_schema_uri": f"{SCHEMA}/metadata/{kind}_1.0.0.yaml",
            "metadata": metadata,
        },
    )


def dataset_id(task_id):
    return f"{{{{ ti.xcom_pull('{task_id}', key='dataset_id') }}}}"


with DAG("provider_automl", schedule=None) as dag:
    source = {"input_config": {"bigquery_source": {"uri": f"bq://local-gcp.{BUCKET}.cells"}}}
    train = CreateAutoMLTabularTrainingJobOperator(
        task_id="train",
        **WHERE,
        display_name="cells",
        dataset_id=dataset_id("cells"),
        target_column="label",
        optimization_prediction_type="classification",
        column_specs={"size": "numeric", "shape": "categorical"},
        predefined_split_column_name="ml_use",
        budget_milli_node_hours=1000,
        model_display_name="cells",
        export_evaluated_data_items=True,
        export_evaluated_data_items_bigquery_destination_uri=(f"bq://local-gcp:{BUCKET}:evaluated"),
    )
    predictions = [
        CreateBatchPredictionJobOperator(
            task_id=f"predict_{name}",
            **WHERE,
            job_display_name=name,
            model_name=MODEL,
            instances_format="bigquery",
            predictions_format="bigquery",
            bigquery_source=f"bq://local-gcp.{BUCKET}.cells",
            bigquery_destination_prefix=f"bq://local-gcp.{BUCKET}",
            labels={"run": name},
            deferrable=name == "deferred",
            poll_interval=1,
        )
        for name in ("wait", "deferred")
    ]
    create("cells", "tabular", source) >> train >> predictions
    delete = DeleteBatchPredictionJobOperator(
        task_id="delete_prediction",
        **WHERE,
        batch_prediction_job_id=(
            "{{ ti.xcom_pull('predict_deferred', key='batch_prediction_job_id') }}"
        ),
    )
    predictions >> delete
    delete >> DeleteDatasetOperator(
        task_id="delete_dataset", **WHERE, dataset_id=dataset_id("cells")
    )
    create("pictures", "image") >> ImportDataOperator(
        task_id="import",
        **WHERE,
        dataset_id=dataset_id("pictures"),
        import_configs=[
            {
                "gcs_source": {"uris": [f"gs://{BUCKET}/manifest.csv"]},
                "import_schema_uri": (
                    f"{SCHEMA}/ioformat/image_classification_single_label_io_format_1.0.0.yaml"
                ),
            }
        ],
    )


def fill():
    """A view of 80 cells, and a manifest of two pictures."""
    bucket = storage.Client().create_bucket(BUCKET)
    dice, text = random.Random(1), io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["key", "size", "shape", "label", "ml_use"])
    for n in range(80):
        size = dice.uniform(0, 10)
        use = ("training", "training", "validation", "test")[n % 4]
        label = "malignant" if size + dice.gauss(0, 0.5) > 5 else "benign"
        writer.writerow([f"k{n}", size, dice.choice("ab"), label, use])
    bucket.blob("cells.csv").upload_from_string(text.getvalue())
    for name in ("a.png", "b.png"):
        bucket.blob(name).upload_from_string("pixels")
    manifest = "".join(f"gs://{BUCKET}/{name},{name[0]}\n" for name in ("a.png", "b.png"))
    bucket.blob("manifest.csv").upload_from_string(manifest)
    tables = bigquery.Client()
    tables.create_dataset(BUCKET)
    config = bigquery.LoadJobConfig(source_format="CSV", autodetect=True)
    tables.load_table_from_uri(
        f"gs://{BUCKET}/cells.csv", f"{BUCKET}.rows", job_config=config
    ).result()
    tables.query(f"CREATE VIEW {BUCKET}.cells AS SELECT * FROM {BUCKET}.rows").result()
    return tables


def read(tables, name):
    """The columns that are not the source's, of up to 80 rows."""
    known = ("size", "shape", "ml_use")
    rows = [dict(row) for row in tables.list_rows(f"{BUCKET}.{name}", max_results=80)]
    return [{key: value for key, value in row.items() if key not in known} for row in rows]


if __name__ == "__main__":
    tables = fill()
    initdb()
    DagBundlesManager().sync_bundles_to_db()
    bag = DagBag(os.devnull, collect_dags=False)
    bag.bag_dag(dag)
    sync_bag_to_db(bag, "dags-folder", None)
    logging.disable(logging.ERROR)
    tasks = dag.test().get_task_instances()
    returned = {ti.task_id: ti.xcom_pull(ti.task_id) for ti in tasks}
    there = [table.table_id for table in tables.list_tables(BUCKET)]
    answer = {
        "states": {ti.task_id: ti.state for ti in tasks},
        "returned": returned,
        # AutoML names the table of a batch prediction.
        "predicted": [read(tables, name) for name in there if name.startswith("predictions_")],
        "evaluated": read(tables, "evaluated"),
    }
    print(json.dumps(answer, default=str), flush=True)
    os._exit(0)  # threads of the SDK would sleep on for a while
