"""The Airflow provider's CustomJob operators in one DAG run: `provider_custom_jobs.py BUCKET`.

Prints, as JSON, the state of each task, what the jobs returned, and the errors of those that fail.
"""

import io
import json
import logging
import os
import sys
import tempfile
import zipfile

os.environ |= {
    "AIRFLOW_HOME": tempfile.mkdtemp(prefix="airflow-"),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
}

from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
from airflow.providers.google.cloud.operators.vertex_ai.custom_job import (
    CreateCustomJobOperator,
    CreateCustomPythonPackageTrainingJobOperator,
)
from airflow.sdk import DAG
from airflow.utils.db import initdb
from google.cloud import storage

BUCKET = sys.argv[1]
IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
WHERE = {"project_id": "local-gcp", "region": "us-central1"}
PACKAGE = f"gs://{BUCKET}/trainer-0.1-py3-none-any.whl"


def create(task_id, code, workers=0, **changes):
    pool = {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        "container_spec": {
            "image_uri": IMAGE,
            "command": ["python", "-c", code],
            "args": ["{{ dag.dag_id }}"],
            "env": [{"name": "RUN", "value": "{{ run_id }}"}],
        },
    }
    pools = [pool, {**pool, "replica_count": workers}] if workers else [pool]
    return CreateCustomJobOperator(
        task_id=task_id,
        **WHERE,
        custom_job={
            "display_name": task_id,
            "labels": {"team": "vision"},
            "job_spec": {
                "worker_pool_specs": pools,
                "scheduling": {
                    "timeout": {"seconds": 3600},
                    "strategy": "SPOT",
                    "restart_job_on_worker_restart": True,
                },
                "service_account": "local@local-gcp.iam.gserviceaccount.com",
                "base_output_directory": {"output_uri_prefix": f"gs://{BUCKET}/{task_id}"},
                "enable_web_access": True,
            },
        },
        poll_interval=1,
        **changes,
    )


with DAG("provider_custom_jobs", schedule=None) as dag:
    create("wait", "import sys; print(sys.argv[1:])")
    create("deferred", "import os; print(os.environ['TF_CONFIG'])", workers=2, deferrable=True)
    create("fails", "raise SystemExit('no such column')")
    create("fails_deferred", "raise SystemExit('no such column')", deferrable=True)
    CreateCustomPythonPackageTrainingJobOperator(
        task_id="package",
        **WHERE,
        staging_bucket=f"gs://{BUCKET}/staging",
        base_output_dir=f"gs://{BUCKET}/package",
        display_name="package",
        python_package_gcs_uri=PACKAGE,
        python_module_name="trainer.task",
        container_uri=IMAGE,
        args=["--epochs=2"],
        replica_count=1,
        machine_type="n1-standard-4",
        deferrable=True,
        poll_interval=1,
    )

if __name__ == "__main__":
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("trainer/__init__.py", "")
        archive.writestr("trainer/task.py", "import sys; print('trained', sys.argv[1:])")
    bucket = storage.Client().create_bucket(BUCKET)
    bucket.blob(PACKAGE.rpartition("/")[2]).upload_from_string(wheel.getvalue())
    initdb()
    DagBundlesManager().sync_bundles_to_db()
    bag = DagBag(os.devnull, collect_dags=False)
    bag.bag_dag(dag)
    sync_bag_to_db(bag, "dags-folder", None)
    logging.disable(logging.CRITICAL)  # the two that fail are to fail
    run = dag.test()
    tasks = run.get_task_instances()
    returned = {ti.task_id: ti.xcom_pull(ti.task_id) for ti in tasks}
    answer = {"states": {ti.task_id: ti.state for ti in tasks}, "returned": returned}
    print(json.dumps(answer, default=str), flush=True)
    os._exit(0)  # the SDK's thread behind `package` would sleep on for a while
