"""One run of an experiment on a table, under OpenLineage's listener; a stand-in trains.

whole_run.py EXPERIMENT BUCKET DATASET.TABLE
    with the environment that leads to an empty Airflow home, a transport and a local_gcp

The second baseline fails, and the run does without AutoML. Prints as its last line
{"run": its id, "states": {TASK: state}, "links": [{"task", "index", "name", "url", "labels"}]}, the
last for each link in the UI of a task or its copy; url: None if it is empty; labels: see
follow_links.py.

A program of its own, because Airflow reads the listener's settings once.
"""

import json
import os
import sys
from pathlib import Path

from airflow.api_fastapi.core_api.routes.public.extra_links import get_extra_links
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
from airflow.models.dagbag import DBDagBag
from airflow.sdk.execution_time import supervisor
from airflow.sdk.lineage import get_hook_lineage_collector
from airflow.utils.db import initdb
from airflow.utils.session import create_session
from google.cloud import bigquery

from tests.end_to_end.follow_links import shown
from trellis import waiting
from trellis.workflow.assembly import training
from trellis.workflow.spec import platform
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import bqml
from trellis.workflow.validation.file import load, with_changes

ROOT = Path(__file__).resolve().parents[2]


def make_table(table):
    """Make a table of 400 rows that can be learned."""
    client = bigquery.Client(project="local-gcp", location="US")
    client.create_dataset(table.partition(".")[0], exists_ok=True)
    client.query_and_wait(
        f"""
        CREATE TABLE {table} PARTITION BY measured_on AS
        SELECT
          CONCAT('s', CAST(n AS STRING)) AS sample_id,
          MOD(n, 2) = 0 AS malignant,
          SIN(n) + MOD(n, 2) AS radius,
          DATE_ADD(DATE '2024-01-01', INTERVAL MOD(n, 4) DAY) AS measured_on
        FROM UNNEST(GENERATE_ARRAY(1, 400)) AS n
        """
    )


def a_dag(name, bucket, table):
    """The DAG of the experiment."""
    values = platform.load(ROOT / "dags").model_dump(mode="json", exclude_none=True)
    own = {"bucket": bucket, "registry": "example.com/stand-in", "retry_seconds": 1}
    changes = {
        ("source", "bigquery"): table,
        ("schedule",): "manual",
        ("until",): None,
        ("tune", "maximize"): "accuracy",
        ("tune", "trials"): 2,
        ("train", "top"): 2,
        ("deploy",): {"gate": {"require": {"accuracy": 1e-9}}, "canary": [100]},
    }
    experiment = with_changes(load(ROOT / "dags/experiments/breast-cancer.yaml"), changes)
    group = Platform.model_validate(values | own)
    return training.build(experiment.model_copy(update={"name": name}), group)


def _failing(script):
    def fail(plan, platform, name, part=None):
        if name == "boosted_tree_classifier":
            return "SELECT CAST('no model' AS INT64) AS x"
        return script(plan, platform, name)

    return fail


def _alone(run):
    def alone(**arguments):
        """Run a task as in a process of its own: without what earlier tasks have collected."""
        get_hook_lineage_collector.cache_clear()
        return run(**arguments)

    return alone


def links(run):
    """See the module; as the UI gets the links, from what the run has stored."""
    with create_session() as session:
        for ti in run.get_task_instances(session=session):
            place = {"dag_id": run.dag_id, "dag_run_id": run.run_id, "task_id": ti.task_id}
            answer = get_extra_links(
                **place, session=session, dag_bag=DBDagBag(), map_index=ti.map_index
            )
            for name, url in answer.extra_links.items():
                if not url or url.startswith("https:"):
                    task = {"task": ti.task_id, "index": ti.map_index}
                    yield task | {"name": name, "url": url, "labels": shown(url) if url else None}


if __name__ == "__main__":
    initdb()
    DagBundlesManager().sync_bundles_to_db()
    make_table(sys.argv[3])
    supervisor.run_task_in_process = _alone(supervisor.run_task_in_process)
    # Every wait is the triggerer's: what ends a task is not what began it.
    waiting.IN_TASK_SECONDS = waiting.FIRST_POLL_SECONDS = 0.0
    bqml.script = _failing(bqml.script)
    dag = a_dag(*sys.argv[1:])
    bag = DagBag(os.devnull, collect_dags=False)
    bag.bag_dag(dag)
    sync_bag_to_db(bag, "dags-folder", None)
    run = dag.test(logical_date=None, run_conf={"automl": False})
    states = {ti.task_id: str(ti.state) for ti in run.get_task_instances()}
    print(json.dumps({"run": run.run_id, "states": states, "links": list(links(run))}))
