"""One Airflow DAG for every file in experiments/: what research/workflow.py makes of it.

A file that is wrong makes no DAG and harms no other; check_experiments.py reports it.
"""

from pathlib import Path

# The DAG processor imports the Airflow modules that it finds named in this file once, before it
# forks a process for each parsing. Named only where they are used, they would be imported, with
# Google's libraries behind them, at every parsing: 10 s of CPU instead of a fraction of one.
import airflow.providers.google.cloud.hooks.bigquery
import airflow.providers.google.cloud.hooks.dataflow
import airflow.providers.google.cloud.hooks.gcs
import airflow.providers.google.cloud.hooks.vertex_ai.custom_job
import airflow.providers.google.cloud.hooks.vertex_ai.dataset
import airflow.providers.google.cloud.hooks.vertex_ai.endpoint_service
import airflow.providers.google.cloud.hooks.vertex_ai.model_service
import airflow.providers.google.cloud.hooks.vertex_ai.prediction_service
import airflow.providers.google.cloud.operators.dataflow
import airflow.providers.google.cloud.operators.vertex_ai.custom_job
import airflow.providers.google.cloud.triggers.dataflow
import airflow.providers.standard.operators.empty
import airflow.providers.standard.operators.trigger_dagrun
import airflow.providers.standard.triggers.temporal
import airflow.providers.standard.utils.skipmixin  # noqa: F401
from airflow.sdk import get_parsing_context

from research import platform, workflow
from research.experiment import load
from research.problems import FileError

EXPERIMENTS = Path(__file__).parent / "experiments"

# In a task's process only that task's DAG is made: tasks start fast beside many experiments.
wanted = get_parsing_context().dag_id
group = platform.load()

for file in sorted(EXPERIMENTS.glob("*.yaml")):
    if wanted not in (None, file.stem):
        continue
    try:
        experiment = load(file)
    except FileError:
        continue
    globals()[experiment.name] = workflow.build(experiment, group)
