"""Airflow reads this module when any of its processes starts.

A commit to SQLite's write-ahead log does not wait for the disk: what is written outlives every
killed process, and a power cut may only take the last commits, of a database that is made anew.

The scheduler of a LocalExecutor forks a process for every task, the DAG processor one for every
parsing of a DAG file, each minute. The provider's modules take seconds of CPU to import, and
Trellis' own tenths of a second; imported here, once, before they fork, no task and no parsing pays
for them again. They are those that the DAG files name, the operators that stages import, and what
builds the DAGs. Changed code takes effect when both start again.

An eighth of an Airflow process' start was the garbage collector's, which looks through all modules
again and again: it runs after 100,000 new objects instead of 700.
"""

import gc
import sys
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine

gc.set_threshold(100_000, 20, 100)


@event.listens_for(Engine, "connect")
def _without_waiting(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.close()


if sys.argv[1:2] in (["scheduler"], ["dag-processor"]):
    import airflow.providers.google.cloud.hooks.bigquery
    import airflow.providers.google.cloud.hooks.gcs
    import airflow.providers.google.cloud.operators.dataflow
    import airflow.providers.google.cloud.operators.vertex_ai.custom_job
    import airflow.providers.google.cloud.operators.vertex_ai.hyperparameter_tuning_job
    import airflow.providers.standard.decorators.python
    import airflow.providers.standard.operators.empty
    import airflow.providers.standard.operators.trigger_dagrun  # noqa: F401
    from airflow.sdk.providers_manager_runtime import ProvidersManagerTaskRuntime

    import trellis.dags
    import trellis.vertex.datasets
    import trellis.workflow.assembly.prediction
    import trellis.workflow.assembly.reserve
    import trellis.workflow.assembly.rollback
    import trellis.workflow.assembly.training
    import trellis.workflow.assembly.undeploy_previous
    import trellis.workflow.assembly.watch
    import trellis.workflow.labels.names
    import trellis.workflow.labels.sets
    import trellis.workflow.labels.time
    import trellis.workflow.stages.automl_images
    import trellis.workflow.stages.deploy.tasks
    import trellis.workflow.stages.ended
    import trellis.workflow.stages.prediction.masks
    import trellis.workflow.stages.prediction.requests  # noqa: F401

    # Which provider normalizes which assets' addresses: an outlet's address asks for it.
    _ = ProvidersManagerTaskRuntime().asset_uri_handlers
